//! What an experiment says in a few sentences, computed from its records.

use super::{
    Block, Estimate, ReportInput, Style, duration_value, estimate_value, is_measured, label, paired, verdict,
};
use crate::draw::over_seeds;
use crate::record::{Cell, Records};
use crate::report::paper::CLAIMS;

/// The summary of a block at its first sweep point; `None` as long as there is no latency.
pub(super) fn of(input: &ReportInput, block: &Block, records: &Records) -> Option<String> {
    let records = records.of_experiment(&block.experiment);
    let sweep = records.sweeps().first().copied()?;
    let of =
        |style: &Style, value: fn(&Cell) -> Option<f64>| over_seeds(&records, &style.algorithm, sweep, value);
    let least = |styles: &[&Style], value: fn(&Cell) -> Option<f64>| {
        let all = styles.iter().filter_map(|style| of(style, value).map(|estimate| (*style, estimate)));
        all.min_by(|a, b| a.1.mean.total_cmp(&b.1.mean)).map(|(style, estimate)| (style.clone(), estimate))
    };
    let present: Vec<&Style> =
        input.styles.iter().filter(|style| is_measured(&records, &style.algorithm, sweep)).collect();
    let text = |estimate, digits| estimate_value(estimate, digits, false).text;

    let (best, latency) = least(&present, latency)?;
    let at = if sweep.is_empty() { String::new() } else { format!(" at {sweep}") };
    let mut sentences = vec![format!(
        "Experiment {}{at}: of {}, {} has the lowest mean latency, {} ms, and {} % of its requests miss their SLO.",
        block.experiment,
        counted(present.len(), "algorithm"),
        best.label,
        text(Some(latency), 1),
        text(of(&best, violations), 2)
    )];
    // The yardstick against the best of the others: how much is there to gain?
    let others: Vec<&Style> =
        present.iter().filter(|style| style.algorithm != input.yardstick).copied().collect();
    if let Some((other, _)) = least(&others, self::latency) {
        let difference = |value| paired(&records, sweep, (&other.algorithm, &input.yardstick), value);
        if let (Some(latency), Some(violations)) = (difference(self::latency), difference(violations)) {
            sentences.push(format!(
                "On the same {}, the mean latency of {} differs from that of {} by {} ms ({}), its SLO violations by {} \
                 percentage points ({}).",
                counted(latency.n, "seed"),
                other.label,
                label(input, &input.yardstick),
                signed(latency, 2),
                verdict(Some(latency)),
                signed(violations, 2),
                verdict(Some(violations))
            ));
        }
    }
    if let Some((fastest, time)) = least(&present, |cell| cell.timing.decision_us_mean) {
        sentences.push(format!(
            "{} decides fastest, in {} per request on this machine, with a mean latency of {} ms.",
            fastest.label,
            duration_value(time, 1.0),
            text(of(&fastest, self::latency), 1)
        ));
    }
    if block.compare_with_paper {
        sentences.extend(missing(&records, sweep));
    }
    Some(sentences.join(" "))
}

fn latency(cell: &Cell) -> Option<f64> {
    cell.row.latency_ms_mean
}

fn violations(cell: &Cell) -> Option<f64> {
    cell.row.slo_violation_rate.map(|rate| 100.0 * rate)
}

fn signed(estimate: Estimate, digits: usize) -> String {
    estimate_value(Some(estimate), digits, true).text
}

/// Which of the paper's algorithms have no records.
fn missing(records: &Records, sweep: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for claim in CLAIMS.iter().filter(|claim| claim.algorithms.len() == 1) {
        if !names.contains(&claim.who) && !is_measured(records, claim.algorithms[0], sweep) {
            names.push(claim.who);
        }
    }
    let text = format!("Of the paper's algorithms these are not measured here: {}.", names.join("; "));
    (!names.is_empty()).then_some(text)
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
