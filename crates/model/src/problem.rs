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
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum Slo {
    /// As the paper prints it: every request is placed, and in time. A batch can then be infeasible.
    Hard,
    /// Each request that ends late costs a penalty, and a request may be deferred.
    Elastic {
        /// What one late request costs, in milliseconds of latency.
        penalty_ms: Milliseconds,
    },
}

impl Objective {
    /// The elastic objective that all optimisers share unless told otherwise: 1000 ms for a late request, 2000 ms for
    /// a deferred one.
    pub const ELASTIC: Objective = Objective {
        slo: Slo::Elastic {
            penalty_ms: Milliseconds(1000.0),
        },
        defer_penalty: Milliseconds(2000.0),
    };

    /// Eqs. (4)-(8) as printed.
    pub const HARD: Objective = Objective {
        slo: Slo::Hard,
        defer_penalty: Milliseconds(2000.0),
    };
}
