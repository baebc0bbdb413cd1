//! Every number that the paper reports, once, with its place in it.
//!
//! Chen, Jia, Sabbioni, Farahani, Jiao: "Scale: Deep Reinforcement Learning for Container Scheduling in Serverless Edge
//! Computing", arXiv:2605.15704v1, May 2026, section V.

use crate::record::Cell;

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

/// "A factor of 1.11-1.15 of" the solver's latency: abstract and conclusion.
pub const HEADLINE_FACTOR: (f64, f64) = (1.11, 1.15);

/// "Reducing decision-making time by up to 99%": abstract.
pub const HEADLINE_TIME_SAVED_PERCENT: f64 = 99.0;

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
        let saved = 1.0 - said("Scale", Quantity::DecisionTime) / said("Midaco, 50k", Quantity::DecisionTime);
        assert!(100.0 * saved > HEADLINE_TIME_SAVED_PERCENT);
    }
}
