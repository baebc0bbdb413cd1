//! Tables of sweeps, ratios and batches.

use super::page::{Table, Value};
use super::{
    Block, Column, DIFFERENCE_NOTE, DIFFERENCES, ReportInput, difference_values, estimate_value, is_measured,
    label, over, share,
};
use crate::batches::{BatchRecords, CAPACITY_FREE, GapRow, LP};
use crate::draw::{BOOTSTRAP_SEED, over_seeds, percent};
use crate::experiment::{Metric, Sweep};
use crate::record::Records;
use crate::reproduce::{GAP_FLOOR, ratio};
use crate::stats::{Estimate, LEVEL, RESAMPLES, bootstrap_mean_ci, paired_difference, quantile_r7};
use std::collections::BTreeSet;

/// What a point without a label is called.
const UNCHANGED: &str = "as chosen";

/// Parameter and value of a point.
fn point(sweep: &str) -> [Value; 2] {
    match sweep.rsplit_once('=') {
        Some((parameter, value)) => {
            let number = value.parse().map(|number| Value::number(value, number));
            [Value::text(parameter), number.unwrap_or_else(|_| Value::text(value))]
        }
        None => [Value::text(UNCHANGED), Value::text("-")],
    }
}

/// Takes out columns in which nothing was measured, or nothing but zeros.
fn without_empty(header: &mut Vec<String>, rows: &mut [Vec<Value>]) {
    let empty = |value: &Value| value.text == "n/a" || value.text.chars().all(|c| !('1'..='9').contains(&c));
    for column in (0..header.len()).rev() {
        let number = |row: &Vec<Value>| row[column].number.is_some() || row[column].text == "n/a";
        if !rows.is_empty() && rows.iter().all(|row| number(row) && empty(&row[column])) {
            header.remove(column);
            rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
}

/// One row a point and algorithm.
pub(super) fn points(input: &ReportInput, block: &Block, records: &Records) -> Table {
    let columns: [Column; 8] = [
        ("mean latency (ms)", 1, |cell| cell.row.latency_ms_mean),
        ("P50 (ms)", 1, |cell| cell.row.latency_ms_p50),
        ("P99 (ms)", 1, |cell| cell.row.latency_ms_p99),
        ("SLO violations (%)", 2, |cell| Metric::Violations.of(cell)),
        ("rejected (%)", 2, |cell| share(cell.row.rejected, cell.row.requests)),
        ("cold starts (%)", 2, |cell| Metric::ColdStarts.of(cell)),
        ("CPU use (%)", 1, |cell| Metric::CpuUse.of(cell)),
        ("decision time (µs)", 2, |cell| Metric::DecisionTime.of(cell)),
    ];
    let mut rows = Vec::new();
    for sweep in records.sweeps() {
        for style in input.styles.iter().filter(|style| is_measured(records, &style.algorithm, sweep)) {
            let mut row = point(sweep).to_vec();
            row.push(Value::text(&style.label));
            row.extend(columns.iter().map(|(_, digits, value)| {
                estimate_value(over_seeds(records, &style.algorithm, sweep, value), *digits, false)
            }));
            rows.push(row);
        }
    }
    let header =
        ["parameter", "value", "algorithm"].into_iter().chain(columns.iter().map(|(head, _, _)| *head));
    let mut header: Vec<String> = header.map(str::to_string).collect();
    without_empty(&mut header, &mut rows);
    Table {
        name: format!("{}-results", block.experiment),
        caption: format!(
            "Every point of the sweep: {}. A column of nothing but zeros, or of nothing measured, is left out.",
            records.sweeps().first().map_or(String::new(), |sweep| over(records, sweep))
        ),
        header,
        rows,
    }
}

/// For each yardstick that is measured beside others: one row a point and other algorithm.
pub(super) fn point_differences<'a>(
    input: &'a ReportInput,
    block: &Block,
    records: &Records,
) -> Vec<(&'a str, Table)> {
    let mut tables = Vec::new();
    for yardstick in &input.yardsticks {
        let mut rows = Vec::new();
        for sweep in records.sweeps().into_iter().filter(|sweep| is_measured(records, yardstick, sweep)) {
            let others = input.styles.iter().filter(|style| {
                style.algorithm != *yardstick && is_measured(records, &style.algorithm, sweep)
            });
            for style in others {
                let mut row = point(sweep).to_vec();
                row.push(Value::text(&style.label));
                row.extend(difference_values(records, sweep, (&style.algorithm, yardstick)));
                rows.push(row);
            }
        }
        if !rows.is_empty() {
            let header =
                ["parameter", "value", "algorithm"].into_iter().chain(DIFFERENCES.map(|(head, _, _)| head));
            let table = Table {
                name: format!("{}-against-{yardstick}", block.experiment),
                caption: format!("Difference to {} {DIFFERENCE_NOTE}", label(input, yardstick)),
                header: header.chain(["pairs of seeds", "mean latency is"]).map(str::to_string).collect(),
                rows,
            };
            tables.push((yardstick.as_str(), table));
        }
    }
    tables
}

/// One row a choice and value: the ratios to the first algorithm.
pub(super) fn ratios(
    input: &ReportInput,
    block: &Block,
    records: &Records,
    algorithms: &[String],
    sweeps: &[Sweep],
) -> Table {
    let (first, others) =
        algorithms.split_first().map_or(("", &[][..]), |(first, others)| (first.as_str(), others));
    let mut header = vec!["choice".to_string(), "times".to_string()];
    for other in others {
        header
            .extend(["latency", "violations"].map(|what| format!("{what}, {} over it", label(input, other))));
    }
    let values = |at: &str| {
        let of = |other: &String| {
            [Metric::Latency, Metric::Violations]
                .map(|metric| estimate_value(ratio(records, (other, first), at, metric), 3, false))
        };
        others.iter().flat_map(of).collect::<Vec<Value>>()
    };
    let mut rows = vec![[vec![Value::text(UNCHANGED), Value::number("1", 1.0)], values("")].concat()];
    for sweep in sweeps {
        rows.extend(sweep.values.iter().map(|&value| {
            let row = vec![Value::text(sweep.title()), Value::number(value.to_string(), value)];
            [row, values(&sweep.label(value))].concat()
        }));
    }
    Table {
        name: format!("{}-ratios", block.experiment),
        caption: format!(
            "Ratios to {} on the same seeds [95 % interval of the ratio], with one choice changed at a time.",
            label(input, first)
        ),
        header,
        rows,
    }
}

/// Mean over seeds of the mean gap of a seed's batches.
pub(super) fn mean_gap(batches: &BatchRecords, algorithm: &str) -> Option<Estimate> {
    let values: Vec<f64> =
        batches.by_seed(algorithm, GapRow::gap).into_iter().map(|(_, value)| value).collect();
    bootstrap_mean_ci(&values, LEVEL, RESAMPLES, BOOTSTRAP_SEED)
}

/// The difference of two mean gaps, seed by seed.
pub(super) fn gap_difference(batches: &BatchRecords, ours: &str, theirs: &str) -> Option<Estimate> {
    let of = |algorithm| batches.by_seed(algorithm, GapRow::gap);
    paired_difference(&of(ours), &of(theirs), LEVEL, RESAMPLES, BOOTSTRAP_SEED)
}

/// The share of the batches that end within so many percent of the bound, in percent.
pub(super) fn within(batches: &BatchRecords, algorithm: &str, limit: f64) -> Option<Estimate> {
    let hit = |row: &GapRow| Some(f64::from(u8::from(row.gap().is_some_and(|gap| gap <= limit))) * 100.0);
    let values: Vec<f64> = batches.by_seed(algorithm, hit).into_iter().map(|(_, value)| value).collect();
    bootstrap_mean_ci(&values, LEVEL, RESAMPLES, BOOTSTRAP_SEED)
}

/// One row an algorithm, and the way of each search.
pub(super) fn batches(input: &ReportInput, block: &Block, batches: &BatchRecords) -> Vec<Table> {
    let yardstick = input.yardsticks.first().map_or("", String::as_str);
    let mut names: Vec<(&str, &str)> =
        input.styles.iter().map(|style| (style.algorithm.as_str(), style.label.as_str())).collect();
    names.extend([(LP, "bound: LP relaxation"), (CAPACITY_FREE, "bound: capacity-free")]);
    let mut rows = Vec::new();
    for (algorithm, label) in names {
        let gaps = batches.gaps_of(algorithm);
        let all = batches.gaps.iter().filter(|row| row.algorithm == algorithm).count();
        if all == 0 {
            continue;
        }
        let quantile = |q: f64| match quantile_r7(&gaps, q) {
            // A bound lies below, by an honest negative number.
            Some(gap) if gap < 0.0 => Value::number(format!("{gap:.2}"), gap),
            Some(gap) => Value::number(percent(gap, GAP_FLOOR), gap),
            None => Value::text("n/a"),
        };
        // Neither the yardstick nor a bound competes with the yardstick.
        let bound = [LP, CAPACITY_FREE].contains(&algorithm);
        let difference = match bound || algorithm == yardstick {
            true => Value::text("-"),
            false => estimate_value(gap_difference(batches, algorithm, yardstick), 3, true),
        };
        let close = match bound {
            true => Value::text("-"),
            false => estimate_value(within(batches, algorithm, 1.0), 1, false),
        };
        rows.push(vec![
            Value::text(label),
            Value::number(all.to_string(), all as f64),
            Value::number((all - gaps.len()).to_string(), (all - gaps.len()) as f64),
            estimate_value(mean_gap(batches, algorithm), 3, false),
            quantile(0.5),
            quantile(0.95),
            close,
            difference,
        ]);
    }
    let (all, proved) = batches.proved();
    let header = [
        "algorithm",
        "batches",
        "no placement found",
        "mean gap (%)",
        "median (%)",
        "P95 (%)",
        "within 1 % (% of batches)",
        &format!("mean gap less that of {}", label(input, yardstick)),
    ];
    let mut tables = vec![Table {
        name: format!("{}-gap", block.experiment),
        caption: format!(
            "Gap to the proven bound, (J - bound) / bound, of {all} batches, {proved} of them solved to proven optimality; \
             brackets: 95 % interval over seeds. Quantiles are of all batches."
        ),
        header: header.map(str::to_string).to_vec(),
        rows,
    }];
    if !batches.traces.is_empty() {
        tables.push(traces(input, block, batches));
    }
    tables
}

/// One row a number of evaluations, one column a search.
fn traces(input: &ReportInput, block: &Block, batches: &BatchRecords) -> Table {
    let traced =
        |algorithm: &str| batches.traces.iter().any(|row| row.algorithm == algorithm && row.gap().is_some());
    let searches: Vec<_> = input.styles.iter().filter(|style| traced(&style.algorithm)).collect();
    let mut header = vec!["evaluations".to_string()];
    for style in &searches {
        header.push(format!("mean gap of {} (%)", style.algorithm));
        header.push(format!("batches with a placement, {}", style.algorithm));
    }
    let row = |at: u64| {
        let mut row = vec![Value::number(at.to_string(), at as f64)];
        for style in &searches {
            row.push(estimate_value(trace_gap(batches, &style.algorithm, at), 3, false));
            let found = batches.traces.iter().filter(|trace| {
                (trace.algorithm.as_str(), trace.evaluations) == (style.algorithm.as_str(), at)
                    && trace.objective.is_some()
            });
            let found = found.count();
            row.push(Value::number(found.to_string(), found as f64));
        }
        row
    };
    Table {
        name: format!("{}-traces", block.experiment),
        caption: "Mean gap of the best placement so far [95 % interval over seeds], over the batches that have one.".into(),
        header,
        rows: batches.evaluations().into_iter().map(row).collect(),
    }
}

/// Mean over seeds of the mean gap after so many evaluations.
pub(super) fn trace_gap(batches: &BatchRecords, algorithm: &str, evaluations: u64) -> Option<Estimate> {
    let values: Vec<f64> =
        batches.traced_by_seed(algorithm, evaluations).into_iter().map(|(_, value)| value).collect();
    bootstrap_mean_ci(&values, LEVEL, RESAMPLES, BOOTSTRAP_SEED)
}

pub(super) fn batch_provenance(batches: &BatchRecords) -> Vec<String> {
    let all = |value: &dyn Fn(&GapRow) -> String| {
        let values: BTreeSet<String> = batches.gaps.iter().map(value).collect();
        values.into_iter().collect::<Vec<_>>().join(", ")
    };
    let parameters = batches.gaps.iter().filter(|row| !row.parameters.is_empty());
    let parameters: BTreeSet<String> =
        parameters.map(|row| format!("Parameters of {}: {}", row.algorithm, row.parameters)).collect();
    let mut lines = vec![
        format!("Revision: {}", all(&|row| row.revision.clone())),
        format!("Toolchain: {}", all(&|row| row.toolchain.clone())),
        format!("Data: {}", all(&|row| row.data.clone())),
        format!("Scenario: {}", all(&|row| row.scenario.clone())),
    ];
    lines.extend(parameters);
    lines
}
