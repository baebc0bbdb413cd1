//! What an experiment says, in two sentences computed from its records. Words such as `lower` stand only where an interval
//! leaves out zero; where it does not, the sentence says so.

use super::tables::{gap_difference, mean_gap, trace_gap, within};
use super::{
    Block, Estimate, ReportInput, Style, Subject, duration_value, estimate_value, is_measured, judged, label,
    paired, verdict,
};
use crate::batches::BatchRecords;
use crate::draw::over_seeds;
use crate::experiment::{Metric, Sweep};
use crate::record::{Cell, Records};
use crate::report::paper::{CLAIMS, RELATIONS, SCALE, Verdict};
use crate::reproduce::ratio;
use crate::roster;

/// The answer of a block; `None` as long as nothing is measured. `records` are its own.
pub(super) fn of(input: &ReportInput, block: &Block, records: &Records) -> Option<String> {
    match &block.subject {
        Subject::Runs => runs(input, block, records),
        Subject::Tradeoff => tradeoff(input, records),
        Subject::Sweeps(sweeps) => {
            let answers: Vec<String> =
                sweeps.iter().filter_map(|sweep| over_sweep(input, sweep, records)).collect();
            (!answers.is_empty()).then(|| answers.join(" "))
        }
        Subject::Ratios { algorithms, sweeps } => ratios(input, algorithms, sweeps, records),
        Subject::Batches(batches) if batches.traces.is_empty() => gaps(input, batches),
        Subject::Batches(batches) => convergence(input, batches),
    }
}

fn latency(cell: &Cell) -> Option<f64> {
    cell.row.latency_ms_mean
}

fn violations(cell: &Cell) -> Option<f64> {
    Metric::Violations.of(cell)
}

fn text(estimate: Option<Estimate>, digits: usize) -> String {
    estimate_value(estimate, digits, false).text
}

fn signed(estimate: Estimate, digits: usize) -> String {
    estimate_value(Some(estimate), digits, true).text
}

/// Those of the roster that have records at a point.
fn present<'a>(input: &'a ReportInput, records: &Records, sweep: &str) -> Vec<&'a Style> {
    input.styles.iter().filter(|style| is_measured(records, &style.algorithm, sweep)).collect()
}

/// Who has the least of a value, and how much.
fn least<'a>(
    styles: &[&'a Style],
    value: impl Fn(&Style) -> Option<Estimate>,
) -> Option<(&'a Style, Estimate)> {
    let all = styles.iter().filter_map(|style| value(style).map(|estimate| (*style, estimate)));
    all.min_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
}

/// Who is best, and by how much the yardstick and the best other differ.
fn runs(input: &ReportInput, block: &Block, records: &Records) -> Option<String> {
    let sweep = records.sweeps().first().copied()?;
    let of =
        |style: &Style, value: fn(&Cell) -> Option<f64>| over_seeds(records, &style.algorithm, sweep, value);
    let present = present(input, records, sweep);
    let (best, mean) = least(&present, |style| of(style, latency))?;
    let fastest =
        least(&present, |style| over_seeds(records, &style.algorithm, sweep, |c| c.timing.decision_us_mean));
    let fastest = fastest.map_or(String::new(), |(fastest, time)| {
        format!(
            "; {} decides fastest, in {} per request on this machine, with a mean latency of {} ms",
            fastest.label,
            duration_value(time, 1.0),
            text(of(fastest, latency), 1)
        )
    });
    let mut sentences = vec![format!(
        "Of {}, {} has the lowest mean latency, {} ms, and {} % of its requests miss their SLO{fastest}.",
        counted(present.len(), "algorithm"),
        best.label,
        text(Some(mean), 1),
        text(of(best, violations), 2)
    )];
    sentences.extend(against_yardstick(input, records, sweep, &present));
    if block.figures.iter().any(|figure| figure.name.ends_with("pareto")) {
        sentences.extend(tradeoff(input, records));
    }
    if block.compare_with_paper {
        sentences.extend(papers_agent(input, records, sweep));
        sentences.push(claims_held(records, sweep));
        sentences.extend(missing(records, sweep));
    }
    Some(sentences.join(" "))
}

/// Where the paper's agent stands against the yardsticks.
fn papers_agent(input: &ReportInput, records: &Records, sweep: &str) -> Option<String> {
    let of = |yardstick: &String| {
        let ratio = ratio(records, (SCALE, yardstick), sweep, Metric::Latency)?;
        Some(format!("{} times that of {}", text(Some(ratio), 3), label(input, yardstick)))
    };
    let ratios: Vec<String> = input.yardsticks.iter().filter_map(of).collect();
    let who = label(input, SCALE);
    (!ratios.is_empty()).then(|| format!("The mean latency of {who} is {}.", ratios.join(" and ")))
}

/// How many of the paper's statements hold.
fn claims_held(records: &Records, sweep: &str) -> String {
    let (mut held, mut failed, mut open) = (0, 0, 0);
    for relation in RELATIONS {
        match judged(&relation, records, sweep).1 {
            Verdict::Reproduced(_) => held += 1,
            Verdict::NotReproduced(_) => failed += 1,
            Verdict::Open(_) => open += 1,
        }
    }
    format!(
        "Of the {} ratios that the paper states between its algorithms, {held} are reproduced here, {failed} are not, and \
         {open} cannot be judged.",
        RELATIONS.len()
    )
}

/// The yardstick against the best of the others: how much is there to gain?
fn against_yardstick(
    input: &ReportInput,
    records: &Records,
    sweep: &str,
    present: &[&Style],
) -> Option<String> {
    let yardstick = input.yardsticks.first()?;
    let others: Vec<&Style> = present.iter().filter(|style| style.algorithm != *yardstick).copied().collect();
    let (other, _) = least(&others, |style| over_seeds(records, &style.algorithm, sweep, latency))?;
    let difference = |value| paired(records, sweep, (&other.algorithm, yardstick), value);
    let (latency, violations) = (difference(latency)?, difference(violations)?);
    Some(format!(
        "On the same {}, the mean latency of {} differs from that of {} by {} ms ({}), its SLO violations by {} percentage \
         points ({}).",
        counted(latency.n, "seed"),
        other.label,
        label(input, yardstick),
        signed(latency, 2),
        verdict(Some(latency)),
        signed(violations, 2),
        verdict(Some(violations))
    ))
}

/// The fastest that is good enough.
fn tradeoff(input: &ReportInput, records: &Records) -> Option<String> {
    let sweep = records.sweeps().first().copied()?;
    let present = present(input, records, sweep);
    let of = |style: &Style| over_seeds(records, &style.algorithm, sweep, latency);
    let time =
        |style: &Style| over_seeds(records, &style.algorithm, sweep, |cell| cell.timing.decision_us_mean);
    let (best, mean) = least(&present, of)?;
    let close: Vec<&Style> = present
        .iter()
        .filter(|style| of(style).is_some_and(|estimate| estimate.mean <= 1.01 * mean.mean))
        .copied()
        .collect();
    let (fastest, fast) = least(&close, time)?;
    let slowest = present
        .iter()
        .filter_map(|style| time(style).map(|time| (style, time)))
        .max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
    let difference = paired(records, sweep, (&fastest.algorithm, &best.algorithm), latency);
    let same = match difference.filter(|_| fastest.algorithm != best.algorithm) {
        Some(difference) => format!(
            "its mean latency differs from the best, that of {}, by {} ms ({})",
            best.label,
            signed(difference, 2),
            verdict(Some(difference))
        ),
        None => "it also has the best mean latency".to_string(),
    };
    Some(format!(
        "The lowest mean latency is that of {}, {} ms, in {} per request; within 1 % of it {} decides fastest, in {}. On the \
         same seeds {same}, while the slowest decision, that of {}, takes {} and its mean latency is {} ms.",
        best.label,
        text(Some(mean), 1),
        time(best).map_or("an unknown time".into(), |time| duration_value(time, 1.0)),
        fastest.label,
        duration_value(fast, 1.0),
        slowest.0.label,
        duration_value(slowest.1, 1.0),
        text(of(slowest.0), 1)
    ))
}

/// What the yardstick does from end to end, and where the best other differs from it.
fn over_sweep(input: &ReportInput, sweep: &Sweep, records: &Records) -> Option<String> {
    let yardstick = input.yardsticks.first()?;
    let mut values = sweep.values.clone();
    values.sort_by(f64::total_cmp);
    let (low, high) = (*values.first()?, *values.last()?);
    let at = |value: f64, metric: Metric| {
        over_seeds(records, yardstick, &sweep.label(value), |cell| metric.of(cell))
    };
    let title = sweep.title().split(" (").next().unwrap_or_default();
    let first = format!(
        "From {low} to {high} ({title}), the mean latency of {} goes from {} to {} ms and its SLO violations from {} to {} %.",
        label(input, yardstick),
        text(Some(at(low, Metric::Latency)?), 1),
        text(at(high, Metric::Latency), 1),
        text(at(low, Metric::Violations), 2),
        text(at(high, Metric::Violations), 2),
    );
    // The other that is ahead at most of the points.
    let difference = |style: &Style, value: f64| {
        paired(records, &sweep.label(value), (&style.algorithm, yardstick), latency)
    };
    let count = |style: &Style, wanted: &str| {
        values.iter().filter(|value| verdict(difference(style, **value)) == wanted).count()
    };
    let others: Vec<&Style> = present(input, records, &sweep.label(low))
        .into_iter()
        .filter(|style| style.algorithm != *yardstick)
        .collect();
    let other = others.into_iter().max_by_key(|style| count(style, "lower"));
    let Some(other) = other else { return Some(first) };
    let (lower, higher) = (count(other, "lower"), count(other, "higher"));
    let largest = values
        .iter()
        .filter_map(|value| difference(other, *value).map(|difference| (value, difference)))
        .max_by(|a, b| a.1.mean.abs().total_cmp(&b.1.mean.abs()))?;
    Some(format!(
        "{first} Seed by seed, the mean latency of {} is lower at {lower} of {} points, higher at {higher} and not \
         distinguishable at {}; the largest difference is {} ms, at {}.",
        other.label,
        values.len(),
        values.len() - lower - higher,
        signed(largest.1, 2),
        largest.0
    ))
}

/// The choice that matters most, and whether the order ever turns.
fn ratios(input: &ReportInput, algorithms: &[String], sweeps: &[Sweep], records: &Records) -> Option<String> {
    let (first, other) = (algorithms.first()?, algorithms.get(1)?);
    let of = |at: &str, metric| ratio(records, (other, first), at, metric);
    let sentence = |metric: Metric, quantity: &str| {
        let base = of("", metric)?;
        let points: Vec<(&Sweep, f64, Estimate)> = sweeps
            .iter()
            .flat_map(|sweep| sweep.values.iter().map(move |&value| (sweep, value)))
            .filter_map(|(sweep, value)| of(&sweep.label(value), metric).map(|ratio| (sweep, value, ratio)))
            .collect();
        let moved = |point: &&(&Sweep, f64, Estimate)| (point.2.mean - base.mean).abs();
        let (sweep, value, most) =
            points.iter().max_by(|a, b| moved(a).total_cmp(&moved(b))).map(|p| (p.0, p.1, p.2))?;
        let above = points.iter().filter(|p| p.2.interval.is_some_and(|i| i.low > 1.0)).count();
        let below = points.iter().filter(|p| p.2.interval.is_some_and(|i| i.high < 1.0)).count();
        Some(format!(
            "The {quantity} of {} over that of {} is {} as chosen and moves most, to {}, with {} at {value} times; it is above 1 \
             in {above} of {} cases, below 1 in {below}, and in the others its interval holds 1.",
            label(input, other),
            label(input, first),
            text(Some(base), 3),
            text(Some(most), 3),
            sweep.title(),
            points.len()
        ))
    };
    let sentences =
        [sentence(Metric::Latency, "mean latency"), sentence(Metric::Violations, "rate of SLO violations")];
    let sentences: Vec<String> = sentences.into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// Who comes closest to the optimum, and how close the yardstick is.
fn gaps(input: &ReportInput, batches: &BatchRecords) -> Option<String> {
    let yardstick = input.yardsticks.first()?;
    let (all, proved) = batches.proved();
    // The optimum itself is no competitor.
    let exact: Vec<&str> = ["milp", "milp-paper"].to_vec();
    let styles: Vec<&Style> =
        input.styles.iter().filter(|style| !exact.contains(&style.algorithm.as_str())).collect();
    let (best, mean) = least(&styles, |style| mean_gap(batches, &style.algorithm))?;
    let own = mean_gap(batches, yardstick)?;
    let first = format!(
        "On {all} batches, {proved} of them solved to proven optimality, {} comes closest, with a mean gap of {} % and {} % of the \
         batches within 1 %.",
        best.label,
        text(Some(mean), 3),
        text(within(batches, &best.algorithm, 1.0), 1)
    );
    let difference = gap_difference(batches, &best.algorithm, yardstick);
    let compared = match difference.filter(|_| best.algorithm != *yardstick) {
        Some(difference) => format!(
            "; on the same batches that of {} differs from it by {} points ({})",
            best.label,
            signed(difference, 3),
            verdict(Some(difference))
        ),
        None => String::new(),
    };
    let midaco = mean_gap(batches, crate::report::paper::MIDACO_200K).map_or(String::new(), |gap| {
        format!("; that of the paper's baseline at 200k evaluations is {} %", text(Some(gap), 3))
    });
    // An agent stands only among batches of its own days.
    let learned =
        |style: &&&Style| roster::find(&style.algorithm).is_ok_and(|entry| entry.learned().is_some());
    let agent = styles.iter().filter(learned).find_map(|style| {
        let gap = mean_gap(batches, &style.algorithm)?;
        let words = format!(
            "; {}, whose own days these batches are from, ends {} %",
            style.label,
            text(Some(gap), 3)
        );
        Some(format!("{words} above the bound of each batch"))
    });
    Some(format!(
        "{first} The mean gap of {} is {} %{compared}{midaco}{}.",
        label(input, yardstick),
        text(Some(own), 3),
        agent.unwrap_or_default()
    ))
}

/// When each search is within 1 %, and where it ends.
fn convergence(input: &ReportInput, batches: &BatchRecords) -> Option<String> {
    let grid = batches.evaluations();
    let end = *grid.last()?;
    let traced =
        input.styles.iter().filter(|style| batches.traces.iter().any(|row| row.algorithm == style.algorithm));
    let mut sentences = Vec::new();
    for style in traced {
        let gap = |at: u64| trace_gap(batches, &style.algorithm, at);
        // Its whole interval, not only the mean.
        let close = |at: &&u64| gap(**at).is_some_and(|e| e.interval.map_or(e.mean, |i| i.high) <= 1.0);
        let when = match grid.iter().find(close) {
            Some(at) => format!("is within 1 % of the optimum after {at} evaluations at most"),
            None => format!("is not surely within 1 % of the optimum after {end} evaluations"),
        };
        let name = style.label.split(',').next().unwrap_or_default();
        sentences
            .push(format!("On average {name} {when}, and ends at a mean gap of {} %.", text(gap(end), 3)));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
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
