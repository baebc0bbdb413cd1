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
        Subject::Runs | Subject::Tradeoff if block.against.is_some() => held_against(input, block, records),
        Subject::Runs => runs(input, block, records),
        Subject::Tradeoff => tradeoff(input, records, true),
        Subject::Sweeps { sweeps, metrics } => {
            let answer = |sweep| over_sweep(input, sweep, metrics, records);
            let answers: Vec<String> = sweeps.iter().filter_map(answer).collect();
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

/// What each of the others changes against one.
fn held_against(input: &ReportInput, block: &Block, records: &Records) -> Option<String> {
    let sweep = records.sweeps().first().copied()?;
    let one = block.against.as_deref()?;
    let present = present(input, records, sweep);
    let style = present.iter().find(|style| style.algorithm == one)?;
    let change = |style: &&Style| {
        let pair = (style.algorithm.as_str(), one);
        let difference = paired(records, sweep, pair, latency)?;
        let late = paired(records, sweep, pair, violations)?;
        Some((
            difference.mean,
            format!("{} {} ms and {}", style.label, signed(difference, 2), signed(late, 2)),
        ))
    };
    let mut changes: Vec<(f64, String)> =
        present.iter().filter(|style| style.algorithm != one).filter_map(change).collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let changes: Vec<String> = changes.into_iter().map(|(_, text)| text).collect();
    let of = |value: fn(&Cell) -> Option<f64>| over_seeds(records, one, sweep, value);
    (!changes.is_empty()).then(|| {
        format!(
            "{} has a mean latency of {} ms, and {} % of its requests miss their SLO. On the same seeds the others differ from it by, in \
             mean latency and in percentage points of violations: {}.",
            style.label,
            text(of(latency), 1),
            text(of(violations), 2),
            changes.join("; ")
        )
    })
}

/// Who is best, and by how much the yardstick and the best other differ.
fn runs(input: &ReportInput, block: &Block, records: &Records) -> Option<String> {
    let sweep = records.sweeps().first().copied()?;
    let of =
        |style: &Style, value: fn(&Cell) -> Option<f64>| over_seeds(records, &style.algorithm, sweep, value);
    let present = present(input, records, sweep);
    let (best, mean) = least(&present, |style| of(style, latency))?;
    let weighed = block.figures.iter().any(|figure| figure.name.ends_with("pareto"));
    let mut sentences = vec![format!(
        "Of {}, {} has the lowest mean latency, {} ms, and {} % of its requests miss their SLO.",
        counted(present.len(), "algorithm"),
        best.label,
        text(Some(mean), 1),
        text(of(best, violations), 2)
    )];
    if weighed {
        sentences.extend(tradeoff(input, records, false));
    } else {
        sentences.extend(fastest(records, sweep, &present));
    }
    sentences.extend(against_yardstick(input, records, sweep, &present));
    if block.compare_with_paper {
        sentences.extend(papers_agent(input, records, sweep));
        sentences.push(claims_held(records, sweep));
        sentences.extend(missing(records, sweep));
    }
    Some(sentences.join(" "))
}

/// Who decides fastest, and what that costs.
fn fastest(records: &Records, sweep: &str, present: &[&Style]) -> Option<String> {
    let of =
        |style: &Style, value: fn(&Cell) -> Option<f64>| over_seeds(records, &style.algorithm, sweep, value);
    let (fastest, time) = least(present, |style| of(style, |cell| cell.timing.decision_us_mean))?;
    Some(format!(
        "{} decides fastest, in {} per request on this machine, with a mean latency of {} ms.",
        fastest.label,
        duration_value(time, 1.0),
        text(of(fastest, latency), 1)
    ))
}

/// Where the paper's agent stands against the yardsticks.
fn papers_agent(input: &ReportInput, records: &Records, sweep: &str) -> Option<String> {
    let of = |yardstick: &String| {
        let ratio = ratio(records, (SCALE, yardstick), sweep, Metric::Latency)?;
        Some(format!("{} times that of {}", text(Some(ratio), 3), label(input, yardstick)))
    };
    let ratios: Vec<String> = input.yardsticks.iter().filter_map(of).collect();
    let who = label(input, SCALE);
    (!ratios.is_empty()).then(|| format!("The mean latency of {who} is {}.", ratios.join(", ")))
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
        "Of the {} ratios that the paper states between its algorithms, reproduced here: {held}; not reproduced: {failed}; cannot \
         be judged: {open}.",
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

/// The best, the fastest that is good enough, and the slowest. Where the `best` is named before, it is not named again.
fn tradeoff(input: &ReportInput, records: &Records, name_best: bool) -> Option<String> {
    let sweep = records.sweeps().first().copied()?;
    let present = present(input, records, sweep);
    let of = |style: &Style| over_seeds(records, &style.algorithm, sweep, latency);
    let time =
        |style: &Style| over_seeds(records, &style.algorithm, sweep, |cell| cell.timing.decision_us_mean);
    let in_time =
        |style: &Style| time(style).map_or("an unknown time".into(), |time| duration_value(time, 1.0));
    let (best, mean) = least(&present, of)?;
    let close: Vec<&Style> = present
        .iter()
        .filter(|style| of(style).is_some_and(|estimate| estimate.mean <= 1.01 * mean.mean))
        .copied()
        .collect();
    let (fastest, _) = least(&close, time)?;
    let (slowest, _) = present
        .iter()
        .filter_map(|style| time(style).map(|time| (style, time)))
        .max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
    let mut sentences = Vec::new();
    if name_best {
        let mean = text(Some(mean), 1);
        sentences.push(format!("The lowest mean latency is that of {}, {mean} ms.", best.label));
    }
    let difference = paired(records, sweep, (&fastest.algorithm, &best.algorithm), latency);
    sentences.push(match difference.filter(|_| fastest.algorithm != best.algorithm) {
        Some(difference) => format!(
            "Within 1 % of it {} decides fastest, in {} where {} takes {}; on the same seeds its mean latency differs by {} ms ({}).",
            fastest.label,
            in_time(fastest),
            best.label,
            in_time(best),
            signed(difference, 2),
            verdict(Some(difference))
        ),
        None => format!("It decides in {}, and none within 1 % of it decides faster.", in_time(best)),
    });
    sentences.push(format!(
        "The slowest decision, that of {}, takes {}, for a mean latency of {} ms.",
        slowest.label,
        in_time(slowest),
        text(of(slowest), 1)
    ));
    Some(sentences.join(" "))
}

/// What the sweep does to the yardstick, in the metrics of the figure; where the agents and the best other rule differ from
/// it; and who keeps its SLOs where.
fn over_sweep(input: &ReportInput, sweep: &Sweep, metrics: &[Metric], records: &Records) -> Option<String> {
    let yardstick = input.yardsticks.first()?;
    let own = input.styles.iter().find(|style| style.algorithm == *yardstick)?;
    let mut values = sweep.values.clone();
    values.sort_by(f64::total_cmp);
    let swept = Swept { sweep, metrics, records, own, values };
    let first = swept.end_to_end()?;
    let at = sweep.label(swept.low());
    let (agents, rules): (Vec<&Style>, Vec<&Style>) = present(input, records, &at)
        .into_iter()
        .filter(|style| style.algorithm != *yardstick)
        .partition(|style| is_learned(style));
    let rule = rules.into_iter().rev().max_by_key(|style| swept.count(style, "lower"));
    let others: Vec<&Style> = agents.into_iter().chain(rule).collect();
    let compared: Vec<String> = others.iter().filter_map(|style| swept.against_yardstick(style)).collect();
    let second = (!compared.is_empty())
        .then(|| format!("Seed by seed against its mean latency, {}.", compared.join("; ")));
    let third = swept.who_keeps_slos(&others);
    Some([Some(first), second, third].into_iter().flatten().collect::<Vec<String>>().join(" "))
}

/// A sweep with its records.
struct Swept<'a> {
    sweep: &'a Sweep,
    metrics: &'a [Metric],
    records: &'a Records,
    /// The yardstick.
    own: &'a Style,
    /// The points, ascending; at least one.
    values: Vec<f64>,
}

impl Swept<'_> {
    fn low(&self) -> f64 {
        self.values.first().copied().unwrap_or(f64::NAN)
    }

    fn high(&self) -> f64 {
        self.values.last().copied().unwrap_or(f64::NAN)
    }

    fn at(&self, style: &Style, value: f64, metric: Metric) -> Option<Estimate> {
        over_seeds(self.records, &style.algorithm, &self.sweep.label(value), |cell| metric.of(cell))
    }

    fn difference(&self, style: &Style, value: f64) -> Option<Estimate> {
        let pair = (style.algorithm.as_str(), self.own.algorithm.as_str());
        paired(self.records, &self.sweep.label(value), pair, latency)
    }

    /// At how many points the difference to the yardstick is of this kind.
    fn count(&self, style: &Style, wanted: &str) -> usize {
        self.values.iter().filter(|value| verdict(self.difference(style, **value)) == wanted).count()
    }

    /// What the yardstick does; `None` if it was not measured.
    fn end_to_end(&self) -> Option<String> {
        self.at(self.own, self.low(), Metric::Latency)?;
        let change = |metric: &Metric| {
            let (quantity, unit) = metric.words();
            let digits = if unit == "%" { 2 } else { 1 };
            let of = |value| text(self.at(self.own, value, *metric), digits);
            format!("{quantity} {} to {} {unit}", of(self.low()), of(self.high()))
        };
        let changes: Vec<String> = self.metrics.iter().map(change).collect();
        let title = self.sweep.title().split(" (").next().unwrap_or_default();
        let (low, high, who) = (self.low(), self.high(), &self.own.label);
        Some(format!("From {low} to {high} ({title}), {who}: {}.", changes.join(", ")))
    }

    /// Where the mean latency of another differs from that of the yardstick, and how far.
    fn against_yardstick(&self, style: &Style) -> Option<String> {
        let difference = |&value: &f64| Some((value, self.difference(style, value)?));
        let differences: Vec<(f64, Estimate)> = self.values.iter().filter_map(difference).collect();
        let by_mean = |a: &&(f64, Estimate), b: &&(f64, Estimate)| a.1.mean.total_cmp(&b.1.mean);
        let (least, most) = (differences.iter().min_by(by_mean)?, differences.iter().max_by(by_mean)?);
        let end = |(value, estimate): &(f64, Estimate)| format!("{} ms at {value}", signed(*estimate, 2));
        let time = |value| text(self.at(style, value, Metric::DecisionTime), 1);
        let time = match self.metrics.contains(&Metric::DecisionTime) {
            true => format!(", with {} and {} µs a decision", time(self.low()), time(self.high())),
            false => String::new(),
        };
        Some(format!(
            "that of {} is lower at {} and higher at {} of {} points, from {} to {}{time}",
            style.label,
            self.count(style, "lower"),
            self.count(style, "higher"),
            self.values.len(),
            end(least),
            end(most),
        ))
    }

    /// Where the yardstick and others keep their SLOs, if that changes on the way for any of them.
    fn who_keeps_slos(&self, others: &[&Style]) -> Option<String> {
        let kept = |style: &Style| -> Vec<bool> {
            let late = |value: &f64| self.at(style, *value, Metric::Violations).map(|late| late.mean);
            self.values.iter().map(|value| late(value).is_some_and(|late| late <= MOST_LATE)).collect()
        };
        let all: Vec<(&Style, Vec<bool>)> =
            [self.own].into_iter().chain(others.iter().copied()).map(|style| (style, kept(style))).collect();
        let changes = |kept: &[bool]| kept.contains(&true) && kept.contains(&false);
        let of =
            |(style, kept): &(&Style, Vec<bool>)| format!("{} {}", style.label, range(&self.values, kept));
        let ranges: Vec<String> = all.iter().map(of).collect();
        all.iter()
            .any(|(_, kept)| changes(kept))
            .then(|| format!("At most {MOST_LATE} % of the requests are late with: {}.", ranges.join("; ")))
    }
}

/// Share of late requests, in percent, up to which an algorithm counts as keeping its SLOs: twice what the best have in
/// `paper`, and far below what a cluster that has tipped over has.
const MOST_LATE: f64 = 10.0;

/// The points at which something holds, in words.
fn range(values: &[f64], holds: &[bool]) -> String {
    let first = holds.iter().position(|&holds| holds);
    let last = holds.iter().rposition(|&holds| holds);
    match (first, last) {
        (Some(first), Some(last)) if first == last => format!("at {}", values[first]),
        (Some(first), Some(last)) if holds[first..=last].iter().all(|&holds| holds) => {
            format!("from {} to {}", values[first], values[last])
        }
        (Some(_), _) => {
            format!("at {} of {} points", holds.iter().filter(|&&holds| holds).count(), values.len())
        }
        _ => "nowhere".to_string(),
    }
}

/// Whether an algorithm has been trained.
fn is_learned(style: &Style) -> bool {
    roster::find(&style.algorithm).is_ok_and(|entry| entry.learned().is_some())
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
    let agent = styles.iter().filter(|style| is_learned(style)).find_map(|style| {
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
        // Every batch with a placement, and the whole interval, not only the mean.
        let close = |at: &&u64| {
            batches.all_placed(&style.algorithm, **at)
                && gap(**at).is_some_and(|e| e.interval.map_or(e.mean, |i| i.high) <= 1.0)
        };
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
