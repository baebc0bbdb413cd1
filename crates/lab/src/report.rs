//! The report: what was asked, what came out, how sure it is, and how it compares with the paper.
//!
//! It computes no latency and draws no figure: it puts [`Records`] and [`Figure`]s on one page, as Markdown and as a
//! self-contained HTML file, with every table as CSV and LaTeX beside it. Each block opens with its question and ends with
//! an answer made from the numbers. Reading order: [`ReportInput`], [`render`], [`Report::write`], then [`paper`].

mod answer;
mod page;
pub mod paper;
mod tables;

use crate::batches::BatchRecords;
use crate::draw::{BOOTSTRAP_SEED, DrawError, Figure, Style, duration, over_seeds};
use crate::experiment::{Metric, Sweep};
use crate::record::{Cell, RecordError, Records, write_atomically};
use crate::stats::{Estimate, LEVEL, RESAMPLES, paired_difference, paired_ratio};
use page::{Piece, Table, Value};
use paper::{CLAIMS, Claim, Quantity, RELATIONS, REMARKS, Relation, Said, TOLERANCE, Verdict};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All that a report says besides the records.
#[derive(Clone, Debug)]
pub struct ReportInput {
    /// Its title.
    pub title: String,
    /// What it is about, one paragraph each.
    pub introduction: Vec<String>,
    /// One block an experiment, in this order.
    pub blocks: Vec<Block>,
    /// All algorithms of the roster, in its order: rows of tables follow it.
    pub styles: Vec<Style>,
    /// The algorithms that all others are compared with, by roster name. The first, `greedy-latency`, is the one that
    /// answers speak of.
    pub yardsticks: Vec<String>,
    /// Remarks at the end.
    pub notes: Vec<String>,
}

/// One experiment of a report.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its name, as in the records.
    pub experiment: String,
    /// The question that it answers.
    pub question: String,
    /// What it has measured, and so which tables and which answer it gets.
    pub subject: Subject,
    /// Where its data comes from.
    pub data: Vec<String>,
    /// The commands that make it again.
    pub commands: Vec<String>,
    /// The scenario.
    pub parameters: Vec<Parameter>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Path from the report to the folder with the figures' files, for Markdown: `.`, `figures`, `paper/figures`.
    pub figure_folder: String,
    /// Whether its results stand beside the paper's, at its first sweep point.
    pub compare_with_paper: bool,
    /// The algorithm that all others are held against, beside the yardsticks, and of which the answer speaks.
    pub against: Option<String>,
}

/// What an experiment has measured.
#[derive(Clone, Debug)]
pub enum Subject {
    /// Whole runs of one scenario.
    Runs,
    /// The same, to weigh quality against decision time.
    Tradeoff,
    /// Whole runs over the values of sweeps.
    Sweeps {
        /// The sweeps.
        sweeps: Vec<Sweep>,
        /// What of each point is of interest.
        metrics: Vec<Metric>,
    },
    /// Ratios of the other algorithms to the first, while sweeps change one choice after the other.
    Ratios {
        /// Roster names.
        algorithms: Vec<String>,
        /// The choices.
        sweeps: Vec<Sweep>,
    },
    /// Single batches and their optimum.
    Batches(BatchRecords),
}

/// One parameter of a scenario.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name, with the unit as the last word.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where the value comes from.
    pub source: String,
}

/// A finished report.
#[derive(Clone, Debug)]
pub struct Report {
    /// As Markdown.
    pub markdown: String,
    /// As a self-contained HTML page.
    pub html: String,
    /// Each table, as (file name, content): CSV with a column for each end of an interval, and LaTeX for `booktabs`.
    pub tables: Vec<(String, String)>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A figure cannot be rendered.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] RecordError),
}

impl Report {
    /// Writes the report as `<stem>.md` and `<stem>.html` into `folder` and the tables into `tables` there, and returns the paths
    /// of the report.
    pub fn write(&self, folder: &Path, stem: &str) -> Result<[PathBuf; 2], ReportError> {
        for (name, content) in &self.tables {
            write_atomically(&folder.join("tables").join(name), content.as_bytes())?;
        }
        let paths = ["md", "html"].map(|ending| folder.join(format!("{stem}.{ending}")));
        for (path, content) in paths.iter().zip([&self.markdown, &self.html]) {
            write_atomically(path, content.as_bytes())?;
        }
        Ok(paths)
    }
}

/// Makes the report.
pub fn render(input: &ReportInput, records: &Records) -> Result<Report, ReportError> {
    let mut pieces = vec![Piece::Heading(1, input.title.clone())];
    pieces.extend(input.introduction.iter().cloned().map(Piece::Paragraph));
    let records: Vec<Records> =
        input.blocks.iter().map(|block| records.of_experiment(&block.experiment)).collect();
    let blocks = || input.blocks.iter().zip(&records);
    let answers: Vec<Option<String>> =
        blocks().map(|(block, records)| answer::of(input, block, records)).collect();
    let summary = || input.blocks.iter().zip(&answers).filter_map(|(b, a)| a.as_ref().map(|a| (b, a)));
    if summary().next().is_some() {
        pieces.push(Piece::Heading(2, "Summary".to_string()));
        pieces.extend(summary().map(|(block, answer)| {
            Piece::Paragraph(format!("{} ({}) {answer}", block.question, block.experiment))
        }));
        pieces.push(Piece::Paragraph(
            "Brackets hold 95 % intervals, of a mean over seeds unless another quantity is named."
                .to_string(),
        ));
    }
    for ((block, records), answer) in blocks().zip(&answers) {
        block_pieces(&mut pieces, input, block, records, answer.as_deref());
    }
    if !input.notes.is_empty() {
        pieces.push(Piece::Heading(2, "Notes".to_string()));
        pieces.push(Piece::List(input.notes.clone()));
    }
    pieces.push(Piece::Heading(2, "How to read the numbers".to_string()));
    pieces.push(Piece::List(READING.map(str::to_string).to_vec()));
    let tables = pieces.iter().filter_map(|piece| match piece {
        Piece::Table(table) => Some(table),
        _ => None,
    });
    let tables = tables.flat_map(|table| {
        [
            (format!("{}.csv", table.name), page::csv(table)),
            (format!("{}.tex", table.name), page::latex(table)),
        ]
    });
    Ok(Report {
        markdown: page::markdown(&pieces),
        html: page::html(&input.title, &pieces)?,
        tables: tables.collect(),
    })
}

const READING: [&str; 8] = [
    "Percentiles are Hyndman-Fan type 7 of the finished requests of one seed; tables show their mean over seeds.",
    "Brackets hold the 95 % percentile-bootstrap interval of that mean (10,000 resamples, fixed seed). One seed has no \
     interval.",
    "Below about ten seeds such an interval is too narrow: of three values it is the range, which covers a symmetric mean \
     in 75 % of the cases.",
    "The latency is cold start + computation + communication + waiting; a rejected request has no latency and counts as an \
     SLO violation.",
    "A request is on its cheapest node if no other would have given it less latency, were it alone in its batch. CPU use \
     is the mean share of the cluster's cores that is busy; memory use is the mean share of its memory that busy \
     containers hold.",
    "Seed s of an agent is played by its training 1 + (s - 1) mod 5. Where two seeds share a training their values are not quite \
     independent, and the interval is somewhat too narrow.",
    "Differences to an algorithm are taken seed by seed, because all algorithms play the same requests on one seed; so \
     they are known better than the two values themselves.",
    "Decision times are of this machine and differ from run to run; everything else has the same bytes on every run of one \
     revision.",
];

fn block_pieces(
    pieces: &mut Vec<Piece>,
    input: &ReportInput,
    block: &Block,
    records: &Records,
    answer: Option<&str>,
) {
    pieces.push(Piece::Heading(2, format!("Experiment: {}", block.experiment)));
    pieces.push(Piece::Paragraph(block.question.clone()));
    pieces.extend(block.data.iter().map(|line| Piece::Paragraph(sentence(line))));
    if !block.commands.is_empty() {
        pieces.push(Piece::Commands(block.commands.clone()));
    }
    let figure = |figure: &Figure| {
        let caption = format!(
            "Figure {} ({}). {}. {}",
            figure.number(),
            block.experiment,
            figure.title,
            figure.reading
        );
        (figure.clone(), caption)
    };
    if !block.figures.is_empty() {
        let figures = block.figures.iter().map(figure).collect();
        pieces.push(Piece::Figures(figures, block.figure_folder.clone()));
    }
    let known = |name: &&str| input.styles.iter().any(|style| style.algorithm == **name);
    let unknown: Vec<&str> = records.algorithms().into_iter().filter(|name| !known(name)).collect();
    if !unknown.is_empty() {
        let text =
            format!("Measured, but no longer in the roster and so in no table: {}.", unknown.join(", "));
        pieces.push(Piece::Paragraph(text));
    }
    match &block.subject {
        Subject::Batches(batches) if batches.gaps.is_empty() => {
            pieces.push(Piece::Paragraph("Nothing is measured yet.".to_string()));
        }
        Subject::Batches(batches) => {
            pieces.push(Piece::Heading(3, "Results".to_string()));
            pieces.extend(tables::batches(input, block, batches).into_iter().map(Piece::Table));
        }
        _ if records.cells.is_empty() => {
            pieces.push(Piece::Paragraph("Nothing is measured yet.".to_string()));
        }
        Subject::Runs | Subject::Tradeoff => runs(pieces, input, block, records),
        Subject::Sweeps { .. } => {
            pieces.push(Piece::Heading(3, "Results".to_string()));
            pieces.push(Piece::Table(tables::points(input, block, records)));
            for (yardstick, table) in tables::point_differences(input, block, records) {
                pieces.push(Piece::Heading(3, format!("Against {}", label(input, yardstick))));
                pieces.push(Piece::Table(table));
            }
        }
        Subject::Ratios { algorithms, sweeps } => {
            pieces.push(Piece::Heading(3, "Results".to_string()));
            pieces.push(Piece::Table(tables::ratios(input, block, records, algorithms, sweeps)));
        }
    }
    if block.compare_with_paper {
        pieces.push(Piece::Heading(3, "The paper and ours".to_string()));
        let sweep = records.sweeps().first().copied().unwrap_or("");
        if CLAIMS.iter().flat_map(|claim| claim.algorithms).all(|name| !is_measured(records, name, sweep)) {
            pieces.push(Piece::Paragraph(NO_PAPER_ALGORITHM.to_string()));
        }
        pieces.push(Piece::Table(against_paper(input, block, records, sweep)));
        pieces.push(Piece::Table(relations(input, block, records, sweep)));
        pieces.push(Piece::List(REMARKS.map(str::to_string).to_vec()));
    }
    if !block.parameters.is_empty() {
        pieces.push(Piece::Heading(3, "Scenario".to_string()));
        let row = |p: &Parameter| [&p.name, &p.value, &p.source].map(Value::text).to_vec();
        pieces.push(Piece::Table(Table {
            name: format!("{}-scenario", block.experiment),
            caption: "Parameters of the scenario.".to_string(),
            header: ["parameter", "value", "source"].map(str::to_string).to_vec(),
            rows: block.parameters.iter().map(row).collect(),
        }));
    }
    pieces.push(Piece::Heading(3, "Provenance".to_string()));
    pieces.push(Piece::List(match &block.subject {
        Subject::Batches(batches) => tables::batch_provenance(batches),
        _ => provenance(records),
    }));
    if let Some(answer) = answer {
        pieces.push(Piece::Heading(3, "Answer".to_string()));
        pieces.push(Piece::Paragraph(answer.to_string()));
    }
}

/// The tables of whole runs, point by point.
fn runs(pieces: &mut Vec<Piece>, input: &ReportInput, block: &Block, records: &Records) {
    for sweep in records.sweeps() {
        let at = if sweep.is_empty() { String::new() } else { format!(" at {sweep}") };
        let name = |what: &str| match sweep {
            "" => format!("{}-{what}", block.experiment),
            sweep => format!("{}-{what}-{sweep}", block.experiment),
        };
        pieces.push(Piece::Heading(3, format!("Results{at}")));
        pieces.push(Piece::Table(results(name("results"), input, records, sweep)));
        pieces.push(Piece::Table(parts(name("parts"), input, records, sweep)));
        pieces.push(Piece::Table(decision_times(
            name("decision-times"),
            input,
            records,
            sweep,
            block.compare_with_paper,
        )));
        let first = block.against.iter().filter(|name| !input.yardsticks.contains(name));
        for (index, yardstick) in first.chain(&input.yardsticks).enumerate() {
            let table = differences(name(&format!("against-{yardstick}")), input, records, yardstick, sweep);
            if !table.rows.is_empty() {
                pieces.push(Piece::Heading(3, format!("Against {}{at}", label(input, yardstick))));
                pieces.push(Piece::Table(table));
            } else if index == 0 {
                pieces.push(Piece::Heading(3, format!("Against {}{at}", label(input, yardstick))));
                let text = format!(
                    "There is nothing to compare: {} and another algorithm are not both measured.",
                    label(input, yardstick)
                );
                pieces.push(Piece::Paragraph(text));
            }
        }
    }
}

const NO_PAPER_ALGORITHM: &str = "None of the paper's own algorithms is measured here, so the table has the paper's numbers \
    without their counterpart; beside them stands what the algorithm measured here that others are compared with does.";

/// The label of an algorithm; its name if the roster does not have it.
fn label<'a>(input: &'a ReportInput, algorithm: &'a str) -> &'a str {
    let style = input.styles.iter().find(|style| style.algorithm == algorithm);
    style.map_or(algorithm, |style| &style.label)
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", chars.as_str())
}

/// A column of a results table: its head, decimals, and the value of a cell.
type Column = (&'static str, usize, fn(&Cell) -> Option<f64>);

fn results(name: String, input: &ReportInput, records: &Records, sweep: &str) -> Table {
    let columns: [Column; 6] = [
        ("mean latency (ms)", 1, |cell| cell.row.latency_ms_mean),
        ("P50 (ms)", 1, |cell| cell.row.latency_ms_p50),
        ("P95 (ms)", 1, |cell| cell.row.latency_ms_p95),
        ("P99 (ms)", 1, |cell| cell.row.latency_ms_p99),
        ("SLO violations (%)", 2, |cell| cell.row.slo_violation_rate.map(|rate| 100.0 * rate)),
        ("rejected (%)", 2, |cell| share(cell.row.rejected, cell.row.requests)),
    ];
    let caption = format!("End-to-end latency and SLOs: {}.", over(records, sweep));
    estimates((name, caption), &columns, input, records, sweep)
}

fn parts(name: String, input: &ReportInput, records: &Records, sweep: &str) -> Table {
    let columns: [Column; 8] = [
        ("cold start (ms)", 1, |cell| cell.row.cold_ms_mean),
        ("computation (ms)", 1, |cell| cell.row.comp_ms_mean),
        ("communication (ms)", 1, |cell| cell.row.comm_ms_mean),
        ("waiting (ms)", 1, |cell| cell.row.wait_ms_mean),
        ("cold starts (%)", 1, |cell| cell.row.cold_start_rate.map(|rate| 100.0 * rate)),
        ("not on cheapest node (%)", 1, |cell| cell.row.not_cheapest_rate.map(|rate| 100.0 * rate)),
        ("CPU use (%)", 1, |cell| cell.row.cpu_utilisation.map(|share| 100.0 * share)),
        ("memory use (%)", 1, |cell| cell.row.memory_utilisation.map(|share| 100.0 * share)),
    ];
    let caption = format!(
        "Where the latency comes from, and what it costs: {}. Cold start, computation, communication and waiting \
         add up to the mean latency.",
        over(records, sweep)
    );
    estimates((name, caption), &columns, input, records, sweep)
}

/// Decision times in microseconds; on wish with the paper's, and with rows for those of its algorithms that are missing.
fn decision_times(
    name: String,
    input: &ReportInput,
    records: &Records,
    sweep: &str,
    with_paper: bool,
) -> Table {
    let columns: [fn(&Cell) -> Option<f64>; 3] = [
        |cell| cell.timing.decision_us_mean,
        |cell| cell.timing.decision_us_p50,
        |cell| cell.timing.decision_us_p99,
    ];
    let of_paper = |algorithm: &str| {
        let is = |claim: &&Claim| {
            claim.quantity == Quantity::DecisionTime && claim.algorithms.contains(&algorithm)
        };
        CLAIMS.iter().find(is)
    };
    let present = || input.styles.iter().filter(|style| is_measured(records, &style.algorithm, sweep));
    let mut rows: Vec<Vec<Value>> = present()
        .map(|style| {
            let mut row = vec![Value::text(&style.label)];
            row.extend(columns.iter().map(|value| {
                let time = over_seeds(records, &style.algorithm, sweep, value);
                let digits = time.map_or(0, |time| if time.mean < 100.0 { 3 } else { 0 });
                estimate_value(time, digits, false)
            }));
            if with_paper {
                row.push(Value::text(
                    of_paper(&style.algorithm).map_or("not in the paper".to_string(), said),
                ));
            }
            row
        })
        .collect();
    let mut header = vec!["algorithm", "mean (µs)", "P50 (µs)", "P99 (µs)"];
    if with_paper {
        header.push("the paper");
        let missing = |claim: &&Claim| {
            claim.quantity == Quantity::DecisionTime
                && claim.algorithms.iter().all(|algorithm| !is_measured(records, algorithm, sweep))
        };
        rows.extend(CLAIMS.iter().filter(missing).map(|claim| {
            let mut row = vec![Value::text(format!("{} (paper)", claim.who))];
            row.extend([ABSENT; 3].map(Value::text));
            row.push(Value::text(said(claim)));
            row
        }));
    }
    let units = if with_paper {
        " Note the units: the paper's times are seconds, on its own machine; 1 s is 1,000,000 µs."
    } else {
        ""
    };
    let caption = format!(
        "Decision time per request on this machine, one reading of the clock included: {}; at least {} timed decisions a seed.{units}",
        over(records, sweep),
        records
            .cells
            .iter()
            .filter(|c| c.row.sweep == sweep && c.timing.decisions > 0)
            .map(|c| c.timing.decisions)
            .min()
            .unwrap_or(0)
    );
    Table { name, caption, header: header.into_iter().map(str::to_string).collect(), rows }
}

fn estimates(
    (name, caption): (String, String),
    columns: &[Column],
    input: &ReportInput,
    records: &Records,
    sweep: &str,
) -> Table {
    let present = input.styles.iter().filter(|style| is_measured(records, &style.algorithm, sweep));
    let row = |style: &Style| {
        let seeds = records.cells_of(&style.algorithm, sweep).count();
        let mut row = vec![Value::text(&style.label), Value::number(seeds.to_string(), seeds as f64)];
        row.extend(columns.iter().map(|(_, digits, value)| {
            estimate_value(over_seeds(records, &style.algorithm, sweep, value), *digits, false)
        }));
        row
    };
    let header = ["algorithm", "seeds"].into_iter().chain(columns.iter().map(|(head, _, _)| *head));
    let header = header.map(str::to_string).collect();
    Table { name, caption, header, rows: present.map(row).collect() }
}

/// Each algorithm minus a yardstick, paired by seed.
fn differences(name: String, input: &ReportInput, records: &Records, yardstick: &str, sweep: &str) -> Table {
    let others = input.styles.iter().filter(|style| {
        let shared = is_measured(records, &style.algorithm, sweep) && is_measured(records, yardstick, sweep);
        shared && style.algorithm != yardstick
    });
    let row = |style: &Style| {
        let mut row = vec![Value::text(&style.label)];
        row.extend(difference_values(records, sweep, (&style.algorithm, yardstick)));
        row
    };
    let header = ["algorithm"].into_iter().chain(DIFFERENCES.map(|(head, _, _)| head));
    Table {
        name,
        caption: format!("Difference to {} {DIFFERENCE_NOTE}", label(input, yardstick)),
        header: header.chain(["pairs of seeds", "mean latency is"]).map(str::to_string).collect(),
        rows: others.map(row).collect(),
    }
}

const DIFFERENCE_NOTE: &str = "on the same seeds [95 % interval]; below 0 is better. The intervals are not corrected for their \
    number: among many, a few leave out 0 by chance.";

/// What is compared seed by seed.
const DIFFERENCES: [Column; 3] = [
    ("mean latency (ms)", 2, |cell| cell.row.latency_ms_mean),
    ("P99 latency (ms)", 2, |cell| cell.row.latency_ms_p99),
    ("SLO violations (percentage points)", 3, |cell| cell.row.slo_violation_rate.map(|rate| 100.0 * rate)),
];

/// The differences of two algorithms, the number of pairs, and the verdict on the mean latency.
fn difference_values(records: &Records, sweep: &str, pair: (&str, &str)) -> Vec<Value> {
    let difference = |value| paired(records, sweep, pair, value);
    let mut values: Vec<Value> = DIFFERENCES
        .iter()
        .map(|(_, digits, value)| estimate_value(difference(*value), *digits, true))
        .collect();
    let latency = difference(DIFFERENCES[0].2);
    let pairs = latency.map_or(0, |estimate| estimate.n);
    values.push(Value::number(pairs.to_string(), pairs as f64));
    values.push(Value::text(verdict(latency)));
    values
}

/// The first algorithm minus the second, paired by seed.
fn paired(
    records: &Records,
    sweep: &str,
    (ours, theirs): (&str, &str),
    value: fn(&Cell) -> Option<f64>,
) -> Option<Estimate> {
    let (ours, theirs) = (records.values(ours, sweep, value), records.values(theirs, sweep, value));
    paired_difference(&ours, &theirs, LEVEL, RESAMPLES, BOOTSTRAP_SEED)
}

fn verdict(difference: Option<Estimate>) -> &'static str {
    match difference.map(|d| d.interval) {
        None => "n/a",
        Some(None) => "not decidable with one seed",
        Some(Some(interval)) if interval.high < 0.0 => "lower",
        Some(Some(interval)) if interval.low > 0.0 => "higher",
        Some(Some(_)) => "not distinguishable",
    }
}

/// Every number of the paper beside ours.
fn against_paper(input: &ReportInput, block: &Block, records: &Records, sweep: &str) -> Table {
    let yardstick = input.yardsticks.first().map_or("", String::as_str);
    let row = |claim: &Claim| {
        let of = |algorithm: &&str| over_seeds(records, algorithm, sweep, |cell| claim.quantity.of(cell));
        let estimates: Vec<Estimate> = claim.algorithms.iter().filter_map(of).collect();
        vec![
            Value::text(claim.who),
            Value::text(claim.quantity.name()),
            Value::text(said(claim)),
            ours(claim, records, sweep),
            Value::text(claim.verdict(&estimates).to_string()),
            measured(claim.quantity, yardstick, records, sweep),
            Value::text(claim.source),
        ]
    };
    let caption = format!(
        "Every result of the paper's section V, and ours: {}. A number counts as reproduced if the interval of ours comes \
         within {:.0} % of it; of a range both ends must. Most parameters behind these numbers are not in the paper, and ours were \
         chosen so that simple rules end near its milliseconds. So agreement in milliseconds says little for it and disagreement \
         little against it: the ratios in the next table say more.",
        over(records, sweep),
        100.0 * TOLERANCE
    );
    let comparison = format!("for comparison: {}", label(input, yardstick));
    let header = ["algorithm", "quantity", "paper", "ours", "verdict", &comparison, "place in the paper"];
    Table {
        name: format!("{}-paper-and-ours", block.experiment),
        caption,
        header: header.map(str::to_string).to_vec(),
        rows: CLAIMS.iter().map(row).collect(),
    }
}

/// The ratio of a relation on common seeds, and what it says of the relation.
fn judged(relation: &Relation, records: &Records, sweep: &str) -> (Option<Estimate>, Verdict) {
    let values = |algorithm| records.values(algorithm, sweep, |cell| relation.quantity.of(cell));
    let (ours, theirs) = (values(relation.pair.0), values(relation.pair.1));
    let ratio = paired_ratio(&ours, &theirs, LEVEL, RESAMPLES, BOOTSTRAP_SEED);
    (ratio, relation.verdict(ratio))
}

/// What the paper says of its algorithms among each other, and whether it holds.
fn relations(input: &ReportInput, block: &Block, records: &Records, sweep: &str) -> Table {
    let row = |relation: &Relation| {
        let (ratio, verdict) = judged(relation, records, sweep);
        let seeds = ratio.map_or(0, |ratio| ratio.n);
        let ratio = match ratio {
            // A millionth has no decimals.
            Some(ratio) if ratio.mean < 0.001 => Value::number(format!("{:.1e}", ratio.mean), ratio.mean),
            Some(ratio) => estimate_value(Some(ratio), 3, false),
            None => Value::text(ABSENT),
        };
        let (ours, theirs) = relation.pair;
        vec![
            Value::text(relation.says),
            Value::text(format!("{} / {}", label(input, ours), label(input, theirs))),
            Value::text(relation.quantity.name().split(" (").next().unwrap_or_default()),
            Value::text(relation.paper),
            ratio,
            Value::number(seeds.to_string(), seeds as f64),
            Value::text(verdict.to_string()),
            Value::text(relation.source),
        ]
    };
    let header =
        ["the paper says", "ratio", "of", "paper", "ours", "common seeds", "verdict", "place in the paper"];
    Table {
        name: format!("{}-claims", block.experiment),
        caption: "What the paper says of its algorithms among each other, as ratios on the same seeds [95 % interval].".into(),
        header: header.map(str::to_string).to_vec(),
        rows: RELATIONS.iter().map(row).collect(),
    }
}

/// What stands where an algorithm of the paper has no records.
const ABSENT: &str = "not measured";

fn said(claim: &Claim) -> String {
    let digits = |value: f64| match claim.quantity {
        Quantity::SloViolations => format!("{value:.1}"),
        Quantity::DecisionTime => format!("{value:.2} s"),
        _ => format!("{value:.2}"),
    };
    match claim.said {
        Said::Is(value) => digits(value),
        Said::About(value) => format!("about {}", digits(value)),
        Said::From(low, high) => format!("{} to {}", digits(low), digits(high)),
        Said::TimesMidaco(factor) => format!("at most {factor} times Midaco (bar without a number)"),
        Said::Worst => "the worst (bar without a number)".to_string(),
        Said::InFigure => "bar without a number".to_string(),
    }
}

fn ours(claim: &Claim, records: &Records, sweep: &str) -> Value {
    let of = |algorithm: &str| measured(claim.quantity, algorithm, records, sweep);
    match claim.algorithms {
        [single] => of(single),
        several => {
            let present = several.iter().filter(|algorithm| is_measured(records, algorithm, sweep));
            let texts: Vec<String> =
                present.map(|algorithm| format!("{algorithm}: {}", of(algorithm).text)).collect();
            Value::text(if texts.is_empty() { ABSENT.to_string() } else { texts.join("; ") })
        }
    }
}

/// What an algorithm measured of a quantity. Decision times range over eight decades, so they bring their unit.
fn measured(quantity: Quantity, algorithm: &str, records: &Records, sweep: &str) -> Value {
    if !is_measured(records, algorithm, sweep) {
        return Value::text(ABSENT);
    }
    let estimate = over_seeds(records, algorithm, sweep, |cell| quantity.of(cell));
    match (quantity, estimate) {
        (Quantity::DecisionTime, Some(time)) => Value::number(duration_value(time, 1e6), time.mean),
        _ => estimate_value(estimate, 2, false),
    }
}

/// `532 ns [514 ns, 550 ns]`, from a time in a unit of so many microseconds.
fn duration_value(time: Estimate, microseconds: f64) -> String {
    let write = |value: f64| duration(microseconds * value);
    let interval = time.interval.map_or(String::new(), |i| format!(" [{}, {}]", write(i.low), write(i.high)));
    format!("{}{interval}", write(time.mean))
}

fn provenance(records: &Records) -> Vec<String> {
    let all = |value: &dyn Fn(&Cell) -> String| {
        let values: BTreeSet<String> = records.cells.iter().map(value).collect();
        values.into_iter().collect::<Vec<_>>().join(", ")
    };
    let wall: f64 = records.cells.iter().filter_map(|cell| cell.timing.wall_s).sum();
    let timed = if wall > 0.0 { format!("; decisions timed for {wall:.1} s") } else { String::new() };
    let seeds: BTreeSet<u64> = records.cells.iter().map(|cell| cell.row.seed).collect();
    let mut lines = vec![
        format!("Revision: {}", all(&|cell| cell.row.revision.clone())),
        format!("Toolchain: {}", all(&|cell| cell.row.toolchain.clone())),
        format!("Data: {}", all(&|cell| cell.row.data.clone())),
        format!("Scenario: {}", all(&|cell| cell.row.scenario.clone())),
        format!("Machine: {}", all(&|cell| cell.timing.machine.clone())),
        format!("Threads: {}", all(&|cell| cell.timing.threads.to_string())),
        format!("Seeds: {}", seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
        format!("Measured requests of a cell: {}", requests(records)),
        format!("Cells: {}{timed}", records.cells.len()),
    ];
    let parameters = records.cells.iter().filter(|cell| !cell.row.parameters.is_empty());
    let parameters: BTreeSet<String> = parameters
        .map(|cell| format!("Parameters of {}: {}", cell.row.algorithm, cell.row.parameters))
        .collect();
    lines.extend(parameters);
    lines
}

/// The least and the most.
fn requests(records: &Records) -> String {
    let all = || records.cells.iter().map(|cell| cell.row.requests);
    match (all().min(), all().max()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => "none".to_string(),
    }
}

/// `mean over 10 seeds with its 95 % interval`, or what else is true.
fn over(records: &Records, sweep: &str) -> String {
    let counts: BTreeSet<usize> = records
        .algorithms()
        .into_iter()
        .map(|algorithm| records.cells_of(algorithm, sweep).count())
        .filter(|n| *n > 0)
        .collect();
    match (counts.first(), counts.last()) {
        (Some(1), Some(1)) => "one seed, so no interval".to_string(),
        (Some(least), Some(most)) if least == most => format!("mean over {most} seeds [95 % interval]"),
        (Some(least), Some(most)) => format!("mean over {least} to {most} seeds [95 % interval]"),
        _ => "nothing is measured yet".to_string(),
    }
}

fn is_measured(records: &Records, algorithm: &str, sweep: &str) -> bool {
    records.cells_of(algorithm, sweep).next().is_some()
}

fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| 100.0 * part as f64 / all as f64)
}

/// `171.2 [170.1, 172.4]`; without an interval the mean alone; `n/a` for nothing.
fn estimate_value(estimate: Option<Estimate>, digits: usize, signed: bool) -> Value {
    let Some(estimate) = estimate else {
        return Value::text("n/a");
    };
    // What rounds to a negative zero is a zero.
    let write = |value: f64| {
        let value = if value.abs() < 0.5 * 10f64.powi(-(digits as i32)) { 0.0 } else { value };
        if signed && value != 0.0 { format!("{value:+.digits$}") } else { format!("{value:.digits$}") }
    };
    let interval =
        estimate.interval.map_or(String::new(), |i| format!(" [{}, {}]", write(i.low), write(i.high)));
    Value {
        interval: estimate.interval,
        ..Value::number(format!("{}{interval}", write(estimate.mean)), estimate.mean)
    }
}

#[cfg(test)]
mod tests;
