//! Every number that the paper reports, once, with its place in it.
//!
//! Chen, Jia, Sabbioni, Farahani, Jiao: "Scale: Deep Reinforcement Learning for Container Scheduling in Serverless Edge
//! Computing", arXiv:2605.15704v1, May 2026, section V.

use crate::record::Cell;
use crate::stats::Estimate;

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Mean end-to-end latency, ms.
    LatencyMean,
    /// Median end-to-end latency, ms.
    LatencyP50,
    /// 95th percentile of the end-to-end latency, ms.
    LatencyP95,
    /// 99th percentile of the end-to-end latency, ms.
    LatencyP99,
    /// SLO violation rate, percent.
    SloViolations,
    /// Mean decision time per request, s.
    DecisionTime,
}

impl Quantity {
    /// Its name, with the unit.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::LatencyMean => "mean latency (ms)",
            Quantity::LatencyP50 => "P50 latency (ms)",
            Quantity::LatencyP95 => "P95 latency (ms)",
            Quantity::LatencyP99 => "P99 latency (ms)",
            Quantity::SloViolations => "SLO violations (%)",
            Quantity::DecisionTime => "decision time per request",
        }
    }

    /// What a cell measured of it, in the same unit.
    pub fn of(self, cell: &Cell) -> Option<f64> {
        match self {
            Quantity::LatencyMean => cell.row.latency_ms_mean,
            Quantity::LatencyP50 => cell.row.latency_ms_p50,
            Quantity::LatencyP95 => cell.row.latency_ms_p95,
            Quantity::LatencyP99 => cell.row.latency_ms_p99,
            Quantity::SloViolations => cell.row.slo_violation_rate.map(|rate| 100.0 * rate),
            Quantity::DecisionTime => cell.timing.decision_us_mean.map(|us| us / 1e6),
        }
    }
}

/// What the paper says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    /// A number.
    Is(f64),
    /// A number that the paper itself calls approximate.
    About(f64),
    /// The least and the most over the Midaco budgets; which budget has which is not said.
    From(f64, f64),
    /// At most so many times the value of [`MIDACO_200K`]; the number itself is only in a figure.
    TimesMidaco(f64),
    /// The worst of all; the number itself is only in a figure.
    Worst,
    /// Only in a figure, without a number.
    InFigure,
}

/// One thing that the paper claims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// The paper's name of the algorithm.
    pub who: &'static str,
    /// Our roster names for it: one, or the three budgets.
    pub algorithms: &'static [&'static str],
    /// Of what.
    pub quantity: Quantity,
    /// What the paper says.
    pub said: Said,
    /// Where in the paper.
    pub source: &'static str,
}

/// Roster name of the Midaco-style solver with 50,000 evaluations.
pub const MIDACO_50K: &str = "midaco-50k";
/// Roster name of the Midaco-style solver with 100,000 evaluations.
pub const MIDACO_100K: &str = "midaco-100k";
/// Roster name of the Midaco-style solver with 200,000 evaluations.
pub const MIDACO_200K: &str = "midaco-200k";
/// Roster name of the paper's own agent.
pub const SCALE: &str = "scale-ppo";
/// Roster name of the paper's second baseline.
pub const M_DQN: &str = "m-dqn";

const ALL_MIDACO: &[&str] = &[MIDACO_50K, MIDACO_100K, MIDACO_200K];
const FIGURE_2: &str = "Fig. 2, V (ii)";
const FIGURE_3: &str = "Fig. 3, V (iii)";
const FIGURE_4: &str = "Fig. 4, V (iv)";
const FIGURE_5: &str = "Fig. 5, V (v)";

/// All of them, in the order of the paper's figures.
pub const CLAIMS: [Claim; 20] = {
    use Quantity::*;
    use Said::*;
    [
        claim("Midaco, 50k", &[MIDACO_50K], LatencyMean, Is(197.97), FIGURE_2),
        claim("Midaco, 200k", &[MIDACO_200K], LatencyMean, Is(191.87), FIGURE_2),
        claim("Scale", &[SCALE], LatencyMean, Is(208.93), FIGURE_2),
        claim("m-DQN", &[M_DQN], LatencyMean, Is(320.82), FIGURE_2),
        claim("Midaco, 200k", &[MIDACO_200K], LatencyP95, Is(284.41), FIGURE_2),
        claim("Scale", &[SCALE], LatencyP95, Is(302.29), FIGURE_2),
        claim("m-DQN", &[M_DQN], LatencyP95, Is(341.29), FIGURE_2),
        claim("Midaco, 50k to 200k", ALL_MIDACO, LatencyP50, From(188.42, 199.71), FIGURE_3),
        claim("Scale", &[SCALE], LatencyP50, Is(210.50), FIGURE_3),
        claim("m-DQN", &[M_DQN], LatencyP50, Is(230.63), FIGURE_3),
        claim("Midaco, 50k to 200k", ALL_MIDACO, LatencyP99, InFigure, FIGURE_3),
        claim("Scale", &[SCALE], LatencyP99, TimesMidaco(1.15), FIGURE_3),
        claim("m-DQN", &[M_DQN], LatencyP99, Worst, FIGURE_3),
        claim("Midaco, 50k to 200k", ALL_MIDACO, SloViolations, From(1.6, 4.2), FIGURE_4),
        claim("Scale", &[SCALE], SloViolations, Is(4.9), FIGURE_4),
        claim("m-DQN", &[M_DQN], SloViolations, Is(4.6), FIGURE_4),
        claim("Midaco, 50k", &[MIDACO_50K], DecisionTime, Is(2.98), FIGURE_5),
        claim("Midaco, 200k", &[MIDACO_200K], DecisionTime, Is(12.58), FIGURE_5),
        claim("Scale", &[SCALE], DecisionTime, About(0.02), FIGURE_5),
        claim("m-DQN", &[M_DQN], DecisionTime, About(0.02), FIGURE_5),
    ]
};

const fn claim(
    who: &'static str,
    algorithms: &'static [&'static str],
    quantity: Quantity,
    said: Said,
    source: &'static str,
) -> Claim {
    Claim { who, algorithms, quantity, said, source }
}

/// What the paper says of two of its algorithms: a ratio, which unlike milliseconds can be held against other parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relation {
    /// What it says.
    pub says: &'static str,
    /// Roster names of the two whose ratio it is.
    pub pair: (&'static str, &'static str),
    /// The ratio of what.
    pub quantity: Quantity,
    /// The ratio in the paper, as it stands there or from its numbers.
    pub paper: &'static str,
    /// It holds if the ratio lies between these.
    pub within: (f64, f64),
    /// Where in the paper.
    pub source: &'static str,
}

const HEADLINE: &str = "abstract, VI";

/// All of them.
pub const RELATIONS: [Relation; 16] = {
    use Quantity::*;
    const ANY: f64 = f64::INFINITY;
    let midaco = (SCALE, MIDACO_200K);
    let saved = "Scale saves up to 99 % of Midaco's decision time";
    [
        relation(
            "Scale's latency is 1.11 to 1.15 times Midaco's",
            midaco,
            LatencyMean,
            "1.11 to 1.15",
            (1.11, 1.15),
            HEADLINE,
        ),
        // In the text "within a factor of 1.11"; its numbers give 1.117.
        relation(
            "Scale's P50 is within 1.11 of Midaco's best",
            midaco,
            LatencyP50,
            "at most 1.11",
            (0.0, 1.12),
            FIGURE_3,
        ),
        relation(
            "Scale's P99 is within 1.15 of Midaco's",
            midaco,
            LatencyP99,
            "at most 1.15",
            (0.0, 1.15),
            FIGURE_3,
        ),
        relation(
            "Scale's P95 is at most 1.15 times Midaco's",
            midaco,
            LatencyP95,
            "1.06",
            (0.0, 1.15),
            FIGURE_2,
        ),
        relation(
            "more evaluations help",
            (MIDACO_200K, MIDACO_50K),
            LatencyMean,
            "0.97",
            (0.0, 1.0),
            FIGURE_2,
        ),
        relation(
            "from 50k to 200k they help by 3.08 %",
            (MIDACO_200K, MIDACO_50K),
            LatencyMean,
            "0.969",
            (0.96, 0.98),
            FIGURE_2,
        ),
        relation("m-DQN is slower than Scale", (M_DQN, SCALE), LatencyMean, "1.54", (1.0, ANY), FIGURE_2),
        relation("m-DQN is slower than Scale", (M_DQN, SCALE), LatencyP95, "1.13", (1.0, ANY), FIGURE_2),
        relation("m-DQN is slower than Scale", (M_DQN, SCALE), LatencyP50, "1.10", (1.0, ANY), FIGURE_3),
        relation("m-DQN has the longest tail", (M_DQN, SCALE), LatencyP99, "above 1", (1.0, ANY), FIGURE_3),
        relation(
            "Scale violates more SLOs than Midaco",
            midaco,
            SloViolations,
            "1.17 to 3.06",
            (1.0, ANY),
            FIGURE_4,
        ),
        relation(
            "Scale violates more SLOs than m-DQN",
            (SCALE, M_DQN),
            SloViolations,
            "1.07",
            (1.0, ANY),
            FIGURE_4,
        ),
        relation(saved, (SCALE, MIDACO_50K), DecisionTime, "0.007", (0.0, 0.01), FIGURE_5),
        relation(saved, (SCALE, MIDACO_200K), DecisionTime, "0.002", (0.0, 0.01), FIGURE_5),
        relation(
            "four times the evaluations take 4.2 times as long",
            (MIDACO_200K, MIDACO_50K),
            DecisionTime,
            "4.22",
            (3.8, 4.6),
            FIGURE_5,
        ),
        relation(
            "m-DQN decides as fast as Scale",
            (M_DQN, SCALE),
            DecisionTime,
            "about 1",
            (0.5, 2.0),
            FIGURE_5,
        ),
    ]
};

const fn relation(
    says: &'static str,
    pair: (&'static str, &'static str),
    quantity: Quantity,
    paper: &'static str,
    within: (f64, f64),
    source: &'static str,
) -> Relation {
    Relation { says, pair, quantity, paper, within, source }
}

/// Whether something that the paper says holds here, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Reproduced(String),
    /// It does not.
    NotReproduced(String),
    /// There is no telling.
    Open(String),
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Verdict::Reproduced(why) => write!(f, "reproduced: {why}"),
            Verdict::NotReproduced(why) => write!(f, "not reproduced: {why}"),
            Verdict::Open(why) => write!(f, "cannot be judged: {why}"),
        }
    }
}

/// A number of the paper counts as reproduced if the interval of ours comes within this share of it.
pub const TOLERANCE: f64 = 0.1;

impl Claim {
    /// Whether it holds, given the estimate of each of its algorithms that is measured.
    pub fn verdict(&self, ours: &[Estimate]) -> Verdict {
        let ends = |e: &Estimate| e.interval.map(|i| (i.low, i.high));
        let intervals: Option<Vec<(f64, f64)>> = ours.iter().map(ends).collect();
        let (low, high) = match self.said {
            _ if ours.is_empty() => return Verdict::Open("not measured".into()),
            Said::TimesMidaco(_) | Said::Worst => return Verdict::Open("a ratio: see the next table".into()),
            Said::InFigure => return Verdict::Open("the paper gives no number".into()),
            _ if self.quantity == Quantity::DecisionTime => {
                return Verdict::Open(
                    "another machine and language; its ratios are in the next table".into(),
                );
            }
            Said::Is(value) | Said::About(value) => (value, value),
            Said::From(low, high) => (low, high),
        };
        let Some(intervals) = intervals else { return Verdict::Open("one seed has no interval".into()) };
        // Of a range both ends are held against the least and the most of ours; of a number both are the same.
        let means: Vec<(f64, (f64, f64))> =
            ours.iter().map(|estimate| estimate.mean).zip(intervals).collect();
        let least = means.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let most = means.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let (Some(least), Some(most)) = (least, most) else { return Verdict::Open("not measured".into()) };
        let close = |(_, (from, to)): &(f64, (f64, f64)), paper: f64| {
            *from <= (1.0 + TOLERANCE) * paper && *to >= (1.0 - TOLERANCE) * paper
        };
        let off =
            |(mean, _): &(f64, (f64, f64)), paper: f64| format!("{:+.1} %", 100.0 * (mean / paper - 1.0));
        let why = match low == high {
            true => off(least, low),
            false => format!("{} and {}", off(least, low), off(most, high)),
        };
        if close(least, low) && close(most, high) {
            Verdict::Reproduced(why)
        } else {
            Verdict::NotReproduced(why)
        }
    }
}

impl Relation {
    /// Whether it holds, given the ratio on common seeds.
    pub fn verdict(&self, ratio: Option<Estimate>) -> Verdict {
        let (low, high) = self.within;
        let Some(ratio) = ratio else { return Verdict::Open("not measured".into()) };
        let Some(interval) = ratio.interval else {
            return Verdict::Open("one common seed has no interval".into());
        };
        let range = match (low, high) {
            (low, f64::INFINITY) => format!("above {low}"),
            (0.0, high) => format!("below {high}"),
            (low, high) => format!("between {low} and {high}"),
        };
        if interval.low >= low && interval.high <= high {
            Verdict::Reproduced(format!("the interval lies {range}"))
        } else if interval.high < low || interval.low > high {
            Verdict::NotReproduced(format!("the interval lies outside, {range} is wanted"))
        } else {
            Verdict::Open(format!("the interval is partly outside, {range} is wanted"))
        }
    }
}

/// What a careful reader notices about these numbers; the report prints it under the table.
pub const REMARKS: [&str; 4] = [
    "The paper's m-DQN does not fit itself: with a median of 230.63 ms and a 95th percentile of 341.29 ms, a mean of \
     320.82 ms needs the slowest 5 % of the requests to average at least 1038 ms.",
    "The paper's headline factor of 1.11 to 1.15 is that of P50 (210.50 / 188.42 = 1.12) and P99; its means give \
     208.93 / 191.87 = 1.09, its 95th percentiles 302.29 / 284.41 = 1.06.",
    "The paper gives no intervals, no number of seeds, no simple heuristic and no proven optimum, and leaves most absolute \
     parameters open. Ours are chosen in METHODOLOGY.md, so the columns can agree in order and ratio, not in milliseconds.",
    "The paper's Midaco times (60 to 63 µs an evaluation) read like one run's time, whatever number of requests that run \
     decided; ours divide a batch's time by its requests.",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn said(who: &str, quantity: Quantity) -> f64 {
        let found = CLAIMS.iter().find(|claim| claim.who == who && claim.quantity == quantity);
        match found.expect("a claim").said {
            Said::Is(value) | Said::About(value) | Said::From(value, _) => value,
            other => panic!("{other:?} is no number"),
        }
    }

    #[test]
    fn remarks_follow_from_the_numbers() {
        // At most: half of the requests at the median, 45 % at P95, the rest above.
        let (p50, p95) = (said("m-DQN", Quantity::LatencyP50), said("m-DQN", Quantity::LatencyP95));
        let slowest = (said("m-DQN", Quantity::LatencyMean) - 0.5 * p50 - 0.45 * p95) / 0.05;
        assert_eq!(format!("{slowest:.0}"), "1038");
        let factor = |quantity, midaco| format!("{:.2}", said("Scale", quantity) / said(midaco, quantity));
        assert_eq!(factor(Quantity::LatencyMean, "Midaco, 200k"), "1.09");
        assert_eq!(factor(Quantity::LatencyP95, "Midaco, 200k"), "1.06");
        assert_eq!(factor(Quantity::LatencyP50, "Midaco, 50k to 200k"), "1.12");
    }

    /// The ratios that stand in the table are those of the numbers that stand in the other.
    #[test]
    fn relations_follow_from_the_numbers() {
        let of = |name: &str, quantity| {
            let one = CLAIMS.iter().find(|c| c.algorithms == [name] && c.quantity == quantity);
            let any = CLAIMS.iter().find(|c| c.algorithms.contains(&name) && c.quantity == quantity);
            one.or(any).and_then(|claim| match claim.said {
                Said::Is(value) | Said::About(value) => Some((value, value)),
                Said::From(low, high) => Some((low, high)),
                Said::TimesMidaco(_) | Said::Worst | Said::InFigure => None,
            })
        };
        let mut checked = 0;
        // The headline is not true of the paper's own means, as the remarks say.
        for relation in RELATIONS.into_iter().filter(|relation| relation.source != HEADLINE) {
            let (ours, theirs) = relation.pair;
            let ends = of(ours, relation.quantity).zip(of(theirs, relation.quantity));
            let Some((ours, theirs)) = ends else { continue };
            let (low, high) = (ours.0 / theirs.1, ours.1 / theirs.0);
            assert!(low <= relation.within.1 && high >= relation.within.0, "{relation:?}: {low} to {high}");
            let stated = match relation.paper.split(" to ").collect::<Vec<_>>()[..] {
                [one] => one.parse().map(|one: f64| (one, one)),
                [from, to] => from.parse().and_then(|from| to.parse().map(|to| (from, to))),
                _ => panic!("{}", relation.paper),
            };
            if let Ok((from, to)) = stated {
                assert!(
                    (low - from).abs() < 0.005 && (high - to).abs() < 0.005,
                    "{relation:?}: {low} to {high}"
                );
                checked += 1;
            }
        }
        assert_eq!(checked, 11);
    }

    #[test]
    fn verdicts_follow_from_intervals() {
        use crate::stats::Interval;
        let estimate =
            |low: f64, mean: f64, high: f64| Estimate { n: 10, mean, interval: Some(Interval { low, high }) };
        let single = Estimate { n: 1, mean: 1.12, interval: None };
        let check = |verdict: Verdict, wanted: &str| {
            let text = verdict.to_string();
            assert!(text.starts_with(wanted), "{text}, not {wanted}");
        };
        let headline = RELATIONS[0];
        check(headline.verdict(None), "cannot be judged: not measured");
        check(headline.verdict(Some(single)), "cannot be judged: one common seed");
        check(headline.verdict(Some(estimate(1.12, 1.13, 1.14))), "reproduced");
        check(headline.verdict(Some(estimate(1.16, 1.17, 1.18))), "not reproduced");
        check(headline.verdict(Some(estimate(1.14, 1.15, 1.16))), "cannot be judged: the interval is partly");
        let order = RELATIONS[6];
        check(order.verdict(Some(estimate(1.01, 1.02, 1.03))), "reproduced: the interval lies above 1");
        check(order.verdict(Some(estimate(0.97, 0.98, 0.99))), "not reproduced");

        let claim = |who: &str, quantity| {
            *CLAIMS.iter().find(|claim| claim.who == who && claim.quantity == quantity).expect("a claim")
        };
        let mean = claim("Scale", Quantity::LatencyMean);
        check(mean.verdict(&[]), "cannot be judged: not measured");
        check(mean.verdict(&[estimate(204.0, 205.0, 206.0)]), "reproduced: -1.9 %");
        check(mean.verdict(&[estimate(170.0, 172.0, 174.0)]), "not reproduced: -17.7 %");
        // The interval counts, and reaches 230.
        check(mean.verdict(&[estimate(229.0, 231.0, 233.0)]), "reproduced: +10.6 %");
        let budgets = claim("Midaco, 50k to 200k", Quantity::LatencyP50);
        check(budgets.verdict(&[single, estimate(189.0, 190.0, 191.0)]), "cannot be judged: one seed");
        // 190 / 188.42 and 198 / 199.71; then both ends by one that lies at neither.
        let both = [estimate(189.0, 190.0, 191.0), estimate(197.0, 198.0, 199.0)];
        check(budgets.verdict(&both), "reproduced: +0.8 % and -0.9 %");
        check(budgets.verdict(&[estimate(169.0, 170.0, 171.0)]), "not reproduced: -9.8 % and -14.9 %");
        check(claim("Scale", Quantity::DecisionTime).verdict(&[single]), "cannot be judged: another machine");
        check(claim("m-DQN", Quantity::LatencyP99).verdict(&[single]), "cannot be judged: a ratio");
    }
}
