//! A page before it has a format: headings, paragraphs, tables and figures, rendered as Markdown and as HTML.

use crate::draw::{DrawError, Figure, escape};
use crate::stats::Interval;
use std::fmt::Write as _;

/// A piece of a page. Texts are plain: each renderer escapes what its format reserves.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Heading(u8, String),
    Paragraph(String),
    List(Vec<String>),
    Commands(Vec<String>),
    Table(Table),
    /// Figures with their captions, and the folder of their files as seen from the page.
    Figures(Vec<(Figure, String)>, String),
}

/// A table; in HTML its columns can be sorted.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The name of its files, without ending.
    pub(super) name: String,
    pub(super) caption: String,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<Value>>,
}

/// What a table holds in one place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) text: String,
    /// What it sorts by, and why it stands at the right.
    pub(super) number: Option<f64>,
    /// What its brackets say.
    pub(super) interval: Option<Interval>,
}

impl Value {
    pub(super) fn text(text: impl Into<String>) -> Value {
        Value { text: text.into(), number: None, interval: None }
    }

    pub(super) fn number(text: impl Into<String>, number: f64) -> Value {
        Value { text: text.into(), number: Some(number), interval: None }
    }
}

/// The page as Markdown.
pub(super) fn markdown(pieces: &[Piece]) -> String {
    let mut page = String::new();
    for piece in pieces {
        match piece {
            Piece::Heading(level, text) => {
                let marks = "#".repeat(usize::from(*level));
                let _ = writeln!(page, "{marks} {}\n", plain(text));
            }
            Piece::Paragraph(text) => {
                let _ = writeln!(page, "{}\n", plain(text));
            }
            Piece::List(items) => {
                for item in items {
                    let _ = writeln!(page, "- {}", plain(item));
                }
                page.push('\n');
            }
            Piece::Commands(commands) => {
                let _ = writeln!(page, "```sh\n{}\n```\n", commands.join("\n"));
            }
            Piece::Table(table) => markdown_table(&mut page, table),
            Piece::Figures(figures, folder) => {
                for (figure, caption) in figures {
                    let _ = writeln!(page, "![{}]({folder}/{}.svg)\n", plain(&figure.alt), figure.name);
                    let _ = writeln!(page, "{}\n", plain(caption));
                }
            }
        }
    }
    page
}

fn markdown_table(page: &mut String, table: &Table) {
    let _ = writeln!(page, "{}\n", plain(&table.caption));
    let _ = writeln!(page, "| {} |", table.header.iter().map(|h| plain(h)).collect::<Vec<_>>().join(" | "));
    let rule = (0..table.header.len()).map(|column| if is_numeric(table, column) { "---:" } else { "---" });
    let _ = writeln!(page, "| {} |", rule.collect::<Vec<_>>().join(" | "));
    for row in &table.rows {
        let _ = writeln!(page, "| {} |", row.iter().map(|v| plain(&v.text)).collect::<Vec<_>>().join(" | "));
    }
    page.push('\n');
}

fn is_numeric(table: &Table, column: usize) -> bool {
    table.rows.iter().any(|row| row.get(column).is_some_and(|value| value.number.is_some()))
}

/// Text in which Markdown finds nothing to format. Characters that mean something only at odd places stay readable.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '$' => {
                plain.push('\\');
                plain.push(c);
            }
            '&' => plain.push_str("&amp;"),
            '\n' => plain.push(' '),
            other => plain.push(other),
        }
    }
    plain
}

/// A table as CSV, numbers in full precision; a column with intervals becomes three.
pub(super) fn csv(table: &Table) -> String {
    let has_interval =
        |column: usize| table.rows.iter().any(|row| row.get(column).is_some_and(|v| v.interval.is_some()));
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let mut header = Vec::new();
    for (column, title) in table.header.iter().enumerate() {
        header.push(quoted(title));
        if has_interval(column) {
            header.extend(["low", "high"].map(|end| quoted(&format!("{title}, {end}"))));
        }
    }
    let mut text = line(header);
    for row in &table.rows {
        let mut cells = Vec::new();
        for (column, value) in row.iter().enumerate() {
            cells.push(value.number.map_or(quoted(&value.text), |number| number.to_string()));
            if has_interval(column) {
                let ends = value.interval.map_or([String::new(), String::new()], |interval| {
                    [interval.low, interval.high].map(|end| end.to_string())
                });
                cells.extend(ends);
            }
        }
        text += &line(cells);
    }
    text
}

/// A table for LaTeX with the package `booktabs`.
pub(super) fn latex(table: &Table) -> String {
    let columns: String =
        (0..table.header.len()).map(|column| if is_numeric(table, column) { 'r' } else { 'l' }).collect();
    // Braces around each cell: a bracket after \\ would be read as an option.
    let line = |cells: Vec<String>| {
        cells.iter().map(|cell| format!("{{{}}}", tex(cell))).collect::<Vec<_>>().join(" & ") + " \\\\\n"
    };
    let mut text = format!(
        "% Needs \\usepackage{{booktabs}}.\n\\begin{{table}}\n\\caption{{{}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n",
        tex(&table.caption)
    );
    text += &line(table.header.clone());
    text += "\\midrule\n";
    for row in &table.rows {
        text += &line(row.iter().map(|value| value.text.clone()).collect());
    }
    text + "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
}

/// Text in which LaTeX finds no command.
fn tex(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("\\textless{}"),
            '>' => escaped.push_str("\\textgreater{}"),
            'µ' => escaped.push_str("\\textmu{}"),
            '≤' => escaped.push_str("$\\leq$"),
            '\u{202f}' | '\u{a0}' => escaped.push('~'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The page as one HTML file that needs nothing else.
pub(super) fn html(title: &str, pieces: &[Piece]) -> Result<String, DrawError> {
    let (mut body, mut contents) = (String::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Heading(2, text) => {
                let id = contents.len() + 1;
                contents.push(format!("<a href=\"#part-{id}\">{}</a>", escape(text)));
                let _ = writeln!(body, "<h2 id=\"part-{id}\">{}</h2>", escape(text));
            }
            Piece::Heading(level, text) => {
                let _ = writeln!(body, "<h{level}>{}</h{level}>", escape(text));
            }
            Piece::Paragraph(text) => {
                let _ = writeln!(body, "<p>{}</p>", escape(text));
            }
            Piece::List(items) => {
                let items: Vec<String> =
                    items.iter().map(|item| format!("<li>{}</li>", escape(item))).collect();
                let _ = writeln!(body, "<ul>\n{}\n</ul>", items.join("\n"));
            }
            Piece::Commands(commands) => {
                let _ = writeln!(body, "<pre><code>{}</code></pre>", escape(&commands.join("\n")));
            }
            Piece::Table(table) => html_table(&mut body, table),
            Piece::Figures(figures, _) => {
                body.push_str("<div class=\"figures\">\n");
                for (figure, caption) in figures {
                    let (svg, caption) = (figure.svg()?, escape(caption));
                    let _ = writeln!(body, "<figure>\n{svg}<figcaption>{caption}</figcaption>\n</figure>");
                }
                body.push_str("</div>\n");
            }
        }
    }
    let head = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n",
        escape(title)
    );
    let contents = if contents.len() > 1 {
        format!("<nav aria-label=\"Contents\">{}</nav>\n", contents.join(" "))
    } else {
        String::new()
    };
    Ok(format!(
        "{head}<body>\n{contents}<main>\n{body}</main>\n<script>\n{SORT}</script>\n</body>\n</html>\n"
    ))
}

fn html_table(body: &mut String, table: &Table) {
    let caption = escape(&table.caption);
    // Short enough to stand on one printed page.
    let short = if table.rows.len() <= 30 { " short" } else { "" };
    let class = |column: usize, text: &str| match text.chars().count() {
        _ if is_numeric(table, column) => " class=\"number\"",
        LONG.. => " class=\"long\"",
        _ => "",
    };
    let _ = writeln!(
        body,
        "<div class=\"wide{short}\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n<table>\n\
         <caption><span>{caption}</span></caption>"
    );
    body.push_str("<thead><tr>");
    for (column, title) in table.header.iter().enumerate() {
        let (class, title) = (class(column, ""), escape(title));
        let _ = write!(body, "<th scope=\"col\"{class}><button type=\"button\">{title}</button></th>");
    }
    body.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        body.push_str("<tr>");
        for (column, value) in row.iter().enumerate() {
            let sort = value.number.map_or(String::new(), |number| format!(" data-sort=\"{number}\""));
            let _ = write!(body, "<td{}{sort}>{}</td>", class(column, &value.text), escape(&value.text));
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody>\n</table>\n</div>\n");
}

/// Characters from which on a text of a table may break into lines.
const LONG: usize = 48;

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1a1a1a; --faint: #595959; --page: #ffffff; --line: #d8d8d8; --band: #f4f4f1; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --faint: #b0b0b0; --page: #16181b; --line: #3b3f45; --band: #202327; }
}
body { margin: 0; background: var(--page); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main, nav { max-width: 76rem; margin: 0 auto; padding: 1rem; }
nav { padding-bottom: 0; }
nav a { display: inline-block; margin: .2rem 1rem .2rem 0; color: inherit; }
h1, h2, h3 { line-height: 1.2; margin: 2rem 0 .6rem; overflow-wrap: anywhere; }
p, li { max-width: 45rem; overflow-wrap: anywhere; }
pre { overflow-x: auto; padding: .6rem .8rem; background: var(--band); border: 1px solid var(--line); border-radius: 4px; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 28rem), 1fr)); gap: 1rem; align-items: start; margin: 1rem 0; }
figure { margin: 0; }
figure svg { box-sizing: border-box; width: 100%; height: auto; background: #ffffff; border: 1px solid var(--line); border-radius: 4px; }
figcaption { color: var(--faint); font-size: .9rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--faint); padding-bottom: .3rem; }
caption span { position: sticky; left: 0; display: inline-block; max-width: min(45rem, calc(100vw - 2rem)); }
th, td { padding: .25rem .35rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { vertical-align: bottom; }
td { white-space: nowrap; }
td.long { white-space: normal; min-width: 16rem; }
.number { text-align: right; }
tbody tr:nth-child(odd) > * { background: var(--page); }
tbody tr:nth-child(even) > * { background: var(--band); }
th:first-child, td:first-child { position: sticky; left: 0; z-index: 1; background: var(--page); }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:hover { text-decoration: underline; }
th button::after { content: '\\00a0\\2195'; color: var(--faint); font-weight: 400; }
th button:focus-visible { outline: 2px solid; }
th[aria-sort=ascending] button::after { content: '\\00a0\\25B2'; }
th[aria-sort=descending] button::after { content: '\\00a0\\25BC'; }
@media print {
  :root { --ink: #000000; --faint: #333333; --page: #ffffff; --line: #999999; --band: #ffffff; }
  main { max-width: none; padding: 0; }
  nav, th button::after { display: none; }
  .wide { overflow: visible; }
  table { font-size: 7pt; }
  th, td { padding: .15rem .35rem; }
  td.long { min-width: 0; }
  th:first-child, td:first-child, caption span { position: static; }
  caption span { max-width: none; }
  body { font-size: 10pt; }
  .short { break-inside: avoid; }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  figure, tr, pre { break-inside: avoid; }
  caption { break-after: avoid; }
  h1, h2, h3 { break-after: avoid; }
}
";

/// Sorts a table by the column whose head is pressed: by number where there is one, what has none last.
const SORT: &str = "\
for (const button of document.querySelectorAll('th button')) button.addEventListener('click', () => {
  const head = button.parentNode, body = head.closest('table').tBodies[0];
  const down = head.getAttribute('aria-sort') === 'ascending', sign = down ? -1 : 1;
  for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const key = row => row.cells[head.cellIndex], has = cell => 'sort' in cell.dataset;
  const numeric = [...body.rows].some(row => has(key(row)));
  const compare = (a, b) => !numeric ? sign * a.textContent.localeCompare(b.textContent, 'en', { numeric: true })
    : has(a) && has(b) ? sign * (a.dataset.sort - b.dataset.sort) : has(b) - has(a);
  body.append(...[...body.rows].sort((a, b) => compare(key(a), key(b))));
});
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        let nasty = "a|b <script>alert('x')</script> & *c* `d` _e_ [f](g) \"h\"".to_string();
        let table = Table {
            name: "nasty".to_string(),
            caption: nasty.clone(),
            header: vec!["x".to_string()],
            rows: vec![vec![Value::text(nasty.clone())]],
        };
        let pieces = [
            Piece::Heading(1, nasty.clone()),
            Piece::Paragraph(nasty.clone()),
            Piece::List(vec![nasty.clone()]),
            Piece::Commands(vec![nasty.clone()]),
            Piece::Table(table),
        ];
        let html = html(&nasty, &pieces).expect("no figure, no error");
        assert_eq!(html.matches("<script>").count(), 1, "only our own");
        assert!(!html.contains("alert('x')"));
        let markdown = markdown(&pieces);
        let row = markdown.lines().find(|line| line.starts_with("| a")).expect("the row");
        assert_eq!(row.replace("\\|", "").matches('|').count(), 2, "{row}");
        assert!(row.contains(r"\<script\>") && row.contains(r"\*c\*") && row.contains(r"\[f\]"), "{row}");
    }

    #[test]
    fn tables_leave_for_other_programs() {
        let value =
            Value { interval: Some(Interval { low: 1.0, high: 2.0 }), ..Value::number("1.5 [1, 2]", 1.53) };
        let table = Table {
            name: "t".to_string(),
            caption: "50 % & more".to_string(),
            header: vec!["who".to_string(), "time (µs)".to_string()],
            rows: vec![vec![Value::text("a_b, \"c\""), value], vec![Value::text("d"), Value::text("n/a")]],
        };
        assert_eq!(
            csv(&table),
            "\"who\",\"time (µs)\",\"time (µs), low\",\"time (µs), high\"\n\
             \"a_b, \"\"c\"\"\",1.53,1,2\n\"d\",\"n/a\",,\n"
        );
        let latex = latex(&table);
        for line in [
            r"\caption{50 \% \& more}",
            r"\begin{tabular}{lr}",
            r"{who} & {time (\textmu{}s)} \\",
            r#"{a\_b, "c"} & {1.5 [1, 2]} \\"#,
            r"\bottomrule",
        ] {
            assert!(latex.lines().any(|found| found == line), "{line}: {latex}");
        }
    }

    #[test]
    fn html_is_balanced_and_needs_nothing_else() {
        let table = Table {
            name: "c".to_string(),
            caption: "c".to_string(),
            header: vec!["algorithm".to_string(), "ms".to_string()],
            rows: vec![
                vec![Value::text("a"), Value::number("1.5 [1, 2]", 1.5)],
                vec![Value::text("b"), Value::text("n/a")],
            ],
        };
        let html = html("t", &[Piece::Table(table)]).expect("no figure, no error");
        for tag in [
            "html", "head", "body", "main", "table", "thead", "tbody", "tr", "td", "th", "button", "div",
            "script",
        ] {
            let open = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
            assert_eq!(open, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert!(!html.contains("http"), "no address to load from");
        assert!(html.contains(r#"<td class="number" data-sort="1.5">1.5 [1, 2]</td>"#));
        assert!(html.contains("prefers-color-scheme: dark") && html.contains("@media print"));
    }
}
