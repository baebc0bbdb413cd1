//! One batch to decide, and what a decision costs.

use crate::ids::{NodeId, RequestId};
use crate::latency;
use crate::placement::Container;
use crate::platform::Platform;
use crate::state::ClusterState;
use crate::units::{Milliseconds, Time};
use crate::validate::{Invalid, not_negative, require};
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
    #[must_use]
    pub fn now(&self) -> Time {
        self.state.time
    }

    /// The requests that no node could serve within their SLO, (8), even if it were empty of all others, (6) and (7), its
    /// idle containers kept. Under [`Slo::Hard`] one of them is enough to prove that the batch has no placement.
    ///
    /// ```
    /// # use scale_model::*;
    /// # let node = |name: &str| Node { name: name.into(), kind: 0, position: Position { latitude: 0.0, longitude: 0.0 },
    /// #     frequency: Gigahertz(3.0), cores: Cores { milli: 1000 }, memory: Memory { mb: 1000 },
    /// #     registry_bandwidth: MegabytesPerSecond(100.0) };
    /// # let links = Links::from_fn(2, |_, _| MegabytesPerSecond(25.0)).unwrap();
    /// # let platform = Platform {
    /// #     topology: Topology { nodes: vec![node("a"), node("b")], links },
    /// #     functions: vec![Function { name: "f".into(), image: Megabytes(15.0), init: Milliseconds(80.0),
    /// #         memory: Memory { mb: 128 }, cores: Cores { milli: 500 } }],
    /// # };
    /// # let mut state = ClusterState::empty(&platform);
    /// # state.add_idle(&platform, FunctionId(0), NodeId(1), 1);
    /// # let request = |id, slo| Request { id: RequestId(id), function: FunctionId(0), source: NodeId(0),
    /// #     arrival: Time(0.0), cpu_time: CoreMilliseconds(75.0), input: Megabytes(0.5), slo: Milliseconds(slo) };
    /// // Requests enter at node a. A new container there takes 230 ms to start and 150 ms to compute: 380 ms. On node b one
    /// // is idle, and the input takes 20 ms to get there: 170 ms. The last request cannot wait for that.
    /// let requests = [request(7, 380.0), request(8, 170.0), request(9, 169.0)];
    /// # let problem =
    /// #     BatchProblem { platform: &platform, state: &state, requests: &requests, objective: Objective::HARD };
    /// assert_eq!(problem.hopeless(), [RequestId(9)]);
    /// ```
    #[must_use]
    pub fn hopeless(&self) -> Vec<RequestId> {
        let in_time = |request: &Request, id: NodeId| {
            // A reuse never takes longer than a new container.
            let container = match self.state.idle(request.function, id) {
                0 => Container::New,
                _ => Container::Reuse,
            };
            self.platform.node(id).holds(self.platform.function(request.function))
                && latency::predict(self.platform, request, id, container, self.now()).total() <= request.slo
        };
        let hopeless = |request: &&Request| !self.platform.node_ids().any(|id| in_time(request, id));
        self.requests.iter().filter(hopeless).map(|request| request.id).collect()
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
    #[must_use]
    pub fn total(&self, latency: Milliseconds, late: usize, deferred: usize) -> f64 {
        let late_penalty = match self.slo {
            Slo::Hard => 0.0,
            Slo::Elastic { penalty_ms } => penalty_ms.0,
        };
        latency.0 + late_penalty * late as f64 + self.defer_penalty.0 * deferred as f64
    }

    /// What a placement with latency T_k adds to J, Eq. (4) with its penalty: T_k, and if T_k > O_k what a late request
    /// costs. Under [`Slo::Hard`] that is infinite, as (8) forbids it.
    ///
    /// ```
    /// use scale_model::{Milliseconds, Objective};
    /// // 380 ms are in time for an SLO of 380 ms, and late for one of 300 ms: 1000 ms more.
    /// let cost = |objective: Objective, slo| objective.cost_of(Milliseconds(380.0), Milliseconds(slo));
    /// assert_eq!((cost(Objective::ELASTIC, 380.0), cost(Objective::ELASTIC, 300.0)), (380.0, 1380.0));
    /// assert_eq!((cost(Objective::HARD, 380.0), cost(Objective::HARD, 300.0)), (380.0, f64::INFINITY));
    /// ```
    #[inline]
    #[must_use]
    pub fn cost_of(&self, latency: Milliseconds, slo: Milliseconds) -> f64 {
        match self.slo {
            _ if latency <= slo => latency.0,
            Slo::Hard => f64::INFINITY,
            Slo::Elastic { penalty_ms } => latency.0 + penalty_ms.0,
        }
    }

    /// What deferring a request that has waited for `waited` so far adds to J: the wait, which may be late already, and
    /// the penalty for deferring. Under [`Slo::Hard`] that is infinite, as (5) forbids it.
    ///
    /// ```
    /// use scale_model::{Milliseconds, Objective};
    /// // 5 ms and 2000 ms; a wait of 301 ms is late for an SLO of 300 ms: 1000 ms more.
    /// let cost = |waited| Objective::ELASTIC.cost_of_deferral(Milliseconds(waited), Milliseconds(300.0));
    /// assert_eq!((cost(5.0), cost(301.0)), (2005.0, 3301.0));
    /// assert_eq!(Objective::HARD.cost_of_deferral(Milliseconds(5.0), Milliseconds(300.0)), f64::INFINITY);
    /// ```
    #[inline]
    #[must_use]
    pub fn cost_of_deferral(&self, waited: Milliseconds, slo: Milliseconds) -> f64 {
        match self.slo {
            Slo::Hard => f64::INFINITY,
            Slo::Elastic { .. } => self.cost_of(waited, slo) + self.defer_penalty.0,
        }
    }

    /// Checks the penalties.
    ///
    /// # Errors
    /// The first that is negative or no finite number.
    pub fn validate(&self) -> Result<(), Invalid> {
        let check = |name: &str, penalty: Milliseconds| {
            let field = || format!("objective.{name}");
            require(not_negative(penalty.0), field, penalty.0, "a number of at least 0")
        };
        check("defer_penalty_ms", self.defer_penalty)?;
        match self.slo {
            Slo::Hard => Ok(()),
            Slo::Elastic { penalty_ms } => check("slo.penalty_ms", penalty_ms),
        }
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
