//! Reports from records that were made up: what must stand in them, and what never may.

use super::*;
use crate::draw::PALETTE;
use crate::record::tests::cell;

fn input(compare_with_paper: bool) -> ReportInput {
    let names = ["greedy-latency", "nearest", "midaco-200k", "scale-ppo", "hermod"];
    let style = |(mark, name): (usize, &str)| Style {
        algorithm: name.to_string(),
        label: format!("The {name} <rule>"),
        color: PALETTE[mark],
        mark,
    };
    ReportInput {
        title: "A & B".to_string(),
        introduction: vec!["Why.".to_string()],
        blocks: vec![Block {
            experiment: "paper".to_string(),
            question: "Does it?".to_string(),
            subject: Subject::Runs,
            data: vec!["embedded".to_string()],
            commands: vec!["scale measure experiments/paper.toml".to_string()],
            parameters: vec![Parameter {
                name: "window_ms".to_string(),
                value: "50".to_string(),
                source: "chosen".to_string(),
            }],
            figures: Vec::new(),
            figure_folder: "figures".to_string(),
            compare_with_paper,
            against: None,
        }],
        styles: names.into_iter().enumerate().map(style).collect(),
        yardsticks: vec!["greedy-latency".to_string(), "milp".to_string()],
        notes: vec!["A note.".to_string()],
    }
}

/// One cell a seed; the latency of a seed is `ms` plus its number.
fn cells(algorithm: &str, seeds: u64, ms: f64) -> impl Iterator<Item = Cell> {
    (1..=seeds).map(move |seed| {
        let mut cell = cell(algorithm, "", seed);
        cell.row.latency_ms_mean = Some(ms + seed as f64);
        cell.row.latency_ms_p99 = Some(2.0 * ms);
        cell
    })
}

fn table_row<'a>(page: &'a str, start: &str) -> Vec<&'a str> {
    let line = page.lines().find(|line| line.starts_with(start));
    line.unwrap_or_else(|| panic!("no `{start}` in {page}"))
        .trim_matches('|')
        .split('|')
        .map(str::trim)
        .collect()
}

#[test]
fn tables_say_mean_interval_and_difference() {
    let records = Records::new(cells("greedy-latency", 3, 100.0).chain(cells("nearest", 3, 90.0)).collect());
    let page = render(&input(false), &records).expect("a report").markdown;
    let row = table_row(&page, r"| The greedy-latency \<rule\> | 3");
    assert_eq!(row[2], r"102.0 \[101.0, 103.0\]");
    assert_eq!(row[5], r"200.0 \[200.0, 200.0\]");
    // Seeds differ by 1 ms each, but the difference of every pair is -10 ms: no spread at all.
    let difference = page.split("Against The greedy-latency").nth(1).expect("the table");
    let row = table_row(difference, r"| The nearest \<rule\>");
    assert_eq!(row[1], r"-10.00 \[-10.00, -10.00\]");
    assert_eq!(row[3], r"0.000 \[0.000, 0.000\]");
    assert_eq!(row[4..], ["3", "lower"]);
    // An algorithm of the roster without records has no row, and no yardstick against itself.
    assert!(!page.contains("hermod") && !difference.contains("| The greedy-latency"));
    assert!(!page.contains("The paper and ours") && !page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn an_ablation_is_held_against_its_whole() {
    let all =
        cells("nearest", 3, 90.0).chain(cells("greedy-latency", 3, 100.0)).chain(cells("hermod", 3, 80.0));
    let mut input = input(false);
    input.blocks[0].against = Some("nearest".to_string());
    let page = render(&input, &Records::new(all.collect())).expect("a report").markdown;
    // 90 ms and the numbers 1 to 3 of the seeds; 10 ms less and more in every pair, the better first.
    assert!(page.contains(r"The nearest \<rule\> has a mean latency of 92.0 \[91.0, 93.0\] ms"), "{page}");
    assert!(page.contains(
        r"The hermod \<rule\> -10.00 \[-10.00, -10.00\] ms and 0.00 \[0.00, 0.00\]; The greedy-latency"
    ));
    let table = page.split("Against The nearest").nth(1).expect("its table");
    assert_eq!(table_row(table, r"| The hermod \<rule\>")[1], r"-10.00 \[-10.00, -10.00\]");
}

#[test]
fn one_seed_has_no_interval() {
    let records = Records::new(cells("greedy-latency", 1, 100.0).chain(cells("nearest", 1, 90.0)).collect());
    let page = render(&input(false), &records).expect("a report").markdown;
    assert_eq!(table_row(&page, r"| The greedy-latency \<rule\> | 1")[2], "101.0");
    assert!(page.contains("one seed, so no interval") && page.contains("not decidable with one seed"));
}

#[test]
fn the_paper_stands_beside_ours_or_beside_nothing() {
    let mut all: Vec<Cell> = cells("scale-ppo", 2, 200.0).collect();
    let page = |all: &[Cell]| render(&input(true), &Records::new(all.to_vec())).expect("a report").markdown;
    let without = page(&all);
    assert_eq!(table_row(&without, "| m-DQN | mean latency")[2..4], ["320.82", "not measured"]);
    assert_eq!(table_row(&without, "| Scale | mean latency")[2..4], ["208.93", r"201.50 \[201.00, 202.00\]"]);
    assert_eq!(
        table_row(&without, "| Midaco, 50k to 200k | P50")[2..4],
        ["188.42 to 199.71", "not measured"]
    );
    let headline = "| Scale's latency is 1.11 to 1.15 times Midaco's";
    assert_eq!(table_row(&without, headline)[4..7], ["not measured", "0", "cannot be judged: not measured"]);
    assert_eq!(table_row(&without, "| Scale | mean latency")[4], "reproduced: -3.6 %");
    assert!(without.contains("m-DQN does not fit itself"));
    for claim in CLAIMS {
        assert!(without.contains(claim.source));
    }

    all.extend(cells("midaco-200k", 2, 160.0));
    let with = page(&all);
    // 201.5 / 161.5, of pairs at 201 / 161 and 202 / 162.
    let row = table_row(&with, headline);
    assert!(
        row[4].starts_with("1.248 ") && row[6].starts_with("not reproduced: the interval lies outside"),
        "{row:?}"
    );
    assert_eq!(table_row(&with, "| Midaco, 50k to 200k | P50")[3], r"midaco-200k: 90.00 \[90.00, 90.00\]");
    assert!(with.contains("Of the 16 ratios that the paper states between its algorithms, "));
}

#[test]
fn no_record_disappears_without_a_word() {
    let records = Records::new(cells("old-rule", 1, 100.0).collect());
    let page = render(&input(false), &records).expect("a report").markdown;
    assert!(page.contains("no longer in the roster and so in no table: old-rule."), "{page}");
}

#[test]
fn nothing_measured_is_said() {
    let report = render(&input(true), &Records::default()).expect("a report");
    for page in [&report.markdown, &report.html] {
        assert!(
            page.contains("Nothing is measured yet")
                && page.contains("not measured")
                && !page.contains("NaN")
        );
    }
    assert!(report.html.contains("<title>A &amp; B</title>"));
}

#[test]
fn provenance_and_files() {
    let records = Records::new(cells("greedy-latency", 2, 100.0).collect());
    let report = render(&input(false), &records).expect("a report");
    for text in [
        "Revision: abc",
        "Toolchain: rustc 1.95.0",
        "Scenario: 0123456789abcdef",
        "Cells: 2; decisions timed for 0.5 s",
        "Seeds: 1, 2",
    ] {
        assert!(report.markdown.contains(text) && report.html.contains(text), "{text}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let paths = report.write(&folder.path().join("new"), "report").expect("written");
    let pages: Vec<String> = paths.iter().map(|path| std::fs::read_to_string(path).expect("there")).collect();
    assert_eq!(pages, [report.markdown, report.html]);
    assert!(!report.tables.is_empty());
    for (name, content) in &report.tables {
        let path = folder.path().join("new/tables").join(name);
        assert_eq!(&std::fs::read_to_string(path).expect("there"), content);
    }
}

#[test]
fn figures_are_inside_the_page() {
    let (records, mut input) = (Records::new(cells("greedy-latency", 2, 100.0).collect()), input(false));
    let series = crate::draw::series(&records, "", &input.styles);
    let caption = crate::draw::Caption { experiment: "paper".to_string(), data: "embedded".to_string() };
    input.blocks[0].figures.push(crate::draw::violations(&series, &caption).expect("a figure"));
    let report = render(&input, &records).expect("a report");
    assert!(report.markdown.contains("](figures/figure-4-slo-violations.svg)"));
    assert!(
        report.html.contains("<svg width=\"480\"")
            && report.html.contains("<figcaption>Figure 4 (paper). SLO violation rate.")
    );
    // `SCALE_DRAW_TESTS=<folder>` keeps the page, to be looked at.
    if let Some(folder) = std::env::var_os("SCALE_DRAW_TESTS") {
        report.write(Path::new(&folder), "report").expect("written");
    }
}

#[test]
fn the_summary_comes_from_the_records() {
    let all =
        cells("greedy-latency", 3, 100.0).chain(cells("nearest", 3, 90.0)).chain(cells("hermod", 3, 95.0));
    let summary = |all: Vec<Cell>, compare| {
        let page = render(&input(compare), &Records::new(all)).expect("a report").markdown;
        page.split("## Summary").nth(1).map(|rest| rest.split("\n## ").next().unwrap_or_default().to_string())
    };
    let text = summary(all.collect(), true).expect("a summary");
    for part in [
        r"Of 3 algorithms, The nearest \<rule\> has the lowest mean latency, 92.0 \[91.0, 93.0\] ms",
        r"On the same 3 seeds, the mean latency of The nearest \<rule\> differs from that of The greedy-latency \<rule\> by \
          -10.00 \[-10.00, -10.00\] ms (lower)",
        "decides fastest, in",
        "not measured here: Midaco, 50k; Midaco, 200k; Scale; m-DQN.",
    ] {
        let part = part.replace("\\\n          ", "");
        assert!(text.contains(&part), "{part}: {text}");
    }
    // With the yardstick alone there is no difference, and without the paper no word about it.
    let text = summary(cells("greedy-latency", 1, 100.0).collect(), false).expect("a summary");
    assert!(
        text.contains("Of 1 algorithm, The") && !text.contains("differs") && !text.contains("paper's"),
        "{text}"
    );
    assert_eq!(summary(Vec::new(), true), None);
}

#[test]
fn decision_times_stand_beside_the_papers() {
    let records = Records::new(cells("nearest", 2, 90.0).chain(cells("scale-ppo", 2, 90.0)).collect());
    let page = render(&input(true), &records).expect("a report").markdown;
    let table = page.split("Decision time per request on this machine").nth(1).expect("the table");
    assert_eq!(table_row(table, r"| The nearest")[4], "not in the paper");
    assert_eq!(table_row(table, r"| The scale-ppo")[4], "about 0.02 s");
    assert_eq!(
        table_row(table, "| Midaco, 200k (paper)")[1..],
        ["not measured", "not measured", "not measured", "12.58 s"]
    );
    assert!(!table.contains("Scale (paper)"));
    let page = render(&input(false), &records).expect("a report").markdown;
    assert!(page.contains("| algorithm | mean (µs) | P50 (µs) | P99 (µs) |\n"));
}

/// The answer of a block, and the page.
fn answered(subject: Subject, records: &Records) -> (String, String) {
    let mut input = input(false);
    input.blocks[0].subject = subject;
    let page = render(&input, records).expect("a report").markdown;
    let answer = page.split("### Answer\n\n").nth(1).expect("an answer").lines().next().expect("a line");
    (answer.replace('\\', ""), page)
}

fn sweep(parameter: &str) -> Sweep {
    Sweep {
        parameter: parameter.into(),
        values: vec![1.0, 2.0],
        scale: vec!["x".into()],
        axis: None,
        logarithmic: false,
    }
}

fn swept(algorithm: &'static str, at: &'static str, ms: f64) -> impl Iterator<Item = Cell> {
    cells(algorithm, 3, ms).map(move |mut cell| {
        cell.row.sweep = at.into();
        cell
    })
}

#[test]
fn a_sweep_is_answered_point_by_point() {
    let all = swept("greedy-latency", "load=1", 100.0)
        .chain(swept("greedy-latency", "load=2", 200.0))
        .chain(swept("nearest", "load=1", 90.0))
        .chain(swept("nearest", "load=2", 230.0))
        .chain(swept("scale-ppo", "load=1", 100.0))
        .chain(swept("scale-ppo", "load=2", 150.0))
        .map(|mut cell| {
            let late =
                if cell.row.sweep == "load=2" && cell.row.algorithm != "scale-ppo" { 0.2 } else { 0.05 };
            cell.row.slo_violation_rate = Some(late);
            cell.timing.decision_us_mean = Some(if cell.row.sweep == "load=1" { 1.5 } else { 3.0 });
            cell
        });
    let metrics = vec![Metric::Latency, Metric::Violations, Metric::DecisionTime];
    let subject = Subject::Sweeps { sweeps: vec![sweep("load")], metrics };
    let (answer, page) = answered(subject, &Records::new(all.collect()));
    for part in [
        "From 1 to 2 (load), The greedy-latency <rule>: mean latency 102.0 [101.0, 103.0] to 202.0 [201.0, 203.0] ms, \
         SLO violations 5.00 [5.00, 5.00] to 20.00 [20.00, 20.00] %, decision time 1.5 [1.5, 1.5] to 3.0",
        "Seed by seed against its mean latency, that of The scale-ppo <rule> is lower at 1 and higher at 0 of 2 points, from \
         -50.00 [-50.00, -50.00] ms at 2 to 0.00 [0.00, 0.00] ms at 1, with 1.5 [1.5, 1.5] and 3.0 [3.0, 3.0] µs a \
         decision; that of The nearest <rule> is lower at 1 and higher at 1",
        "At most 10 % of the requests are late with: The greedy-latency <rule> at 1; The scale-ppo <rule> from 1 to 2; The nearest \
         <rule> at 1.",
    ] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert_eq!(table_row(&page, r"| load | 2 | The nearest \<rule\> | 232.0")[2], r"The nearest \<rule\>");
    assert!(page.contains(r"| load | 2 | The nearest \<rule\> | +30.00"), "{page}");
}

#[test]
fn ratios_say_what_they_rest_on() {
    let all = swept("greedy-latency", "", 100.0)
        .chain(swept("nearest", "", 150.0))
        .chain(swept("greedy-latency", "a=1", 100.0))
        .chain(swept("nearest", "a=1", 140.0))
        .chain(swept("greedy-latency", "a=2", 100.0))
        .chain(swept("nearest", "a=2", 60.0));
    let algorithms = vec!["greedy-latency".to_string(), "nearest".to_string()];
    let subject = Subject::Ratios { algorithms, sweeps: vec![sweep("a")] };
    let (answer, page) = answered(subject, &Records::new(all.collect()));
    // (151 + 152 + 153) / (101 + 102 + 103) = 1.490; 142 / 102 = 1.392; 62 / 102 = 0.608.
    for part in
        ["is 1.490 [", "moves most, to 0.608 [", "with a at 2 times", "above 1 in 1 of 2 cases, below 1 in 1"]
    {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert!(page.contains("| a | 1 | 1.392"), "{page}");
}

#[test]
fn gaps_are_means_over_seeds() {
    let row = |algorithm: &str, seed: u64, batch: u64, objective: f64| crate::batches::GapRow {
        experiment: "paper".into(),
        scenario: "0".into(),
        algorithm: algorithm.into(),
        parameters: String::new(),
        seed,
        batch,
        requests: 3,
        data: "embedded".into(),
        revision: "r".into(),
        toolchain: "t".into(),
        objective: Some(objective),
        bound: 1000.0,
        proved: true,
    };
    let mut batches = BatchRecords::default();
    for seed in [1, 2] {
        for batch in [0, 1] {
            batches.gaps.push(row("greedy-latency", seed, batch, 1020.0));
            batches.gaps.push(row("nearest", seed, batch, 1000.0 + 4.0 * batch as f64));
            batches.gaps.push(row(crate::batches::LP, seed, batch, 990.0));
        }
    }
    let (answer, page) = answered(Subject::Batches(batches), &Records::default());
    for part in [
        "On 4 batches, 4 of them solved to proven optimality, The nearest <rule> comes closest, with a mean gap of 0.200",
        "100.0 [100.0, 100.0] % of the batches within 1 %",
        "The mean gap of The greedy-latency <rule> is 2.000 [2.000, 2.000] %",
        "differs from it by -1.800 [-1.800, -1.800] points (lower)",
    ] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert_eq!(table_row(&page, "| bound: LP relaxation")[3], r"-1.000 \[-1.000, -1.000\]");
}
