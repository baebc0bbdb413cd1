//! One batch to decide, and what a decision costs.

use crate::platform::Platform;
use crate::state::ClusterState;
use crate::units::{Milliseconds, Time};
use crate::workload::Request;
use serde::{Deserialize, Serialize};

/// The requests K at one instant, and all that a decision may depend on.
#[derive(Clone, Copy, Debug)]
pub struct BatchProblem<'a> {
    /// Nodes, links, functions.
    pub platform: &'a Platform,
    /// The state before the batch.
    pub state: &'a ClusterState,
    /// The batch: requests deferred earlier first, then the new ones, each group in order of arrival.
    pub requests: &'a [Request],
    /// What to minimise.
    pub objective: Objective,
}

impl BatchProblem<'_> {
    /// The instant of the decision.
    #[inline]
    pub fn now(&self) -> Time {
        self.state.time
    }
}

/// What an optimiser minimises over a batch:
/// J = sum of T_k + slo penalty * |{k: T_k > O_k}| + defer penalty * |{k deferred}|,
/// where T_k of a deferred request is the time that it has waited so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// How the SLO (8) binds.
    pub slo: Slo,
    /// What deferring one request costs. Above the dearest placement, so that whoever fits is placed.
    #[serde(rename = "defer_penalty_ms")]
    pub defer_penalty: Milliseconds,
}

/// How constraint (8), T_k <= O_k, binds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "SloFile", into = "SloFile")]
pub enum Slo {
    /// As the paper prints it: every request is placed, and in time. A batch can then be infeasible.
    Hard,
    /// Each request that ends late costs a penalty, and a request may be deferred.
    Elastic {
        /// What one late request costs, in milliseconds of latency.
        penalty_ms: Milliseconds,
    },
}

/// [`Slo`] as it stands in a file. The braces of `Hard` make serde refuse a penalty beside it, which it would
/// otherwise ignore.
#[derive(Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
enum SloFile {
    Hard {},
    Elastic { penalty_ms: Milliseconds },
}

impl From<SloFile> for Slo {
    fn from(file: SloFile) -> Slo {
        match file {
            SloFile::Hard {} => Slo::Hard,
            SloFile::Elastic { penalty_ms } => Slo::Elastic { penalty_ms },
        }
    }
}

impl From<Slo> for SloFile {
    fn from(slo: Slo) -> SloFile {
        match slo {
            Slo::Hard => SloFile::Hard {},
            Slo::Elastic { penalty_ms } => SloFile::Elastic { penalty_ms },
        }
    }
}

impl Objective {
    /// J of a batch whose latencies sum to `latency`, of which `late` requests are late and `deferred` are deferred.
    /// Under [`Slo::Hard`] lateness has no price: the judge forbids it.
    ///
    /// ```
    /// use scale_model::{Milliseconds, Objective};
    /// // 550 ms of latency, one late request at 1000 ms, two deferred ones at 2000 ms.
    /// assert_eq!(Objective::ELASTIC.total(Milliseconds(550.0), 1, 2), 5550.0);
    /// assert_eq!(Objective::HARD.total(Milliseconds(550.0), 1, 2), 4550.0);
    /// ```
    #[inline]
    pub fn total(&self, latency: Milliseconds, late: usize, deferred: usize) -> f64 {
        let late_penalty = match self.slo {
            Slo::Hard => 0.0,
            Slo::Elastic { penalty_ms } => penalty_ms.0,
        };
        latency.0 + late_penalty * late as f64 + self.defer_penalty.0 * deferred as f64
    }

    /// The elastic objective that all optimisers share unless told otherwise: 1000 ms for a late request, 2000 ms for
    /// a deferred one.
    pub const ELASTIC: Objective = Objective {
        slo: Slo::Elastic { penalty_ms: Milliseconds(1000.0) },
        defer_penalty: Milliseconds(2000.0),
    };

    /// Eqs. (4)-(8) as printed.
    pub const HARD: Objective = Objective { slo: Slo::Hard, defer_penalty: Milliseconds(2000.0) };
}
