//! The two traits of every algorithm, and what an optimiser says of its answer.

use crate::check::{Violation, violations};
use crate::evaluate::evaluate;
use crate::ids::RequestId;
use crate::latency::Latency;
use crate::placement::{Container, Decision, Placement};
use crate::problem::BatchProblem;
use crate::state::ClusterState;
use crate::workload::Request;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use thiserror::Error;

/// Decides request by request, in the batch's order.
///
/// What it may know is in its signature: the batch at hand, the state with the batch's earlier decisions applied, and
/// which request is next. It never sees a later batch.
pub trait Scheduler {
    /// Decides request `next` of the batch. `batch.state` is the state before the batch, `state` the one with the
    /// earlier decisions of this batch applied; [`ClusterState::allows`] says what is allowed in it.
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision;

    /// Told after each batch what became of it, one outcome for each request; a learner overrides it.
    fn observe(&mut self, _batch: &BatchProblem<'_>, _outcomes: &[Outcome]) {}
}

impl<S: Scheduler + ?Sized> Scheduler for Box<S> {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        (**self).decide(batch, state, next)
    }

    fn observe(&mut self, batch: &BatchProblem<'_>, outcomes: &[Outcome]) {
        (**self).observe(batch, outcomes);
    }
}

/// What became of one request in one batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The request.
    pub request: Request,
    /// What was decided.
    pub decision: Decision,
    /// Its latency; of a deferred request only the wait so far.
    pub latency: Latency,
}

impl Outcome {
    /// Whether the request was placed and ends later than its SLO allows.
    #[must_use]
    pub fn late(&self) -> bool {
        self.decision != Decision::Defer && self.latency.total() > self.request.slo
    }

    /// Whether the request was placed in a new container.
    #[must_use]
    pub fn cold(&self) -> bool {
        matches!(self.decision, Decision::Run { container: Container::New, .. })
    }
}

/// Decides a whole batch at once.
pub trait Solver {
    /// Finds a placement without violations and says what is proved of it.
    ///
    /// # Errors
    /// See [`SolveError`].
    fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError>;
}

impl<S: Solver + ?Sized> Solver for Box<S> {
    fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
        (**self).solve(problem, budget)
    }
}

/// When an optimiser must stop. In anything that a figure shows it is evaluations, nodes or gap, never seconds.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// Evaluations of the objective.
    pub evaluations: Option<u64>,
    /// Nodes of a branch-and-bound tree.
    pub nodes: Option<u64>,
    /// Stop when (objective - bound) / |objective| is at most this. Zero: prove optimality.
    pub relative_gap: f64,
    /// Wall time.
    pub time_limit: Option<Duration>,
    /// Set from outside to stop early.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Budget {
    /// Whether someone asked to stop.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }
}

/// An answer of an optimiser.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Solution {
    /// The placement; [`violations`] of it is empty.
    pub placement: Placement,
    /// J of the placement, equal to [`evaluate`]'s.
    pub objective: f64,
    /// A proven lower bound on J over all placements, if there is one.
    pub bound: Option<f64>,
    /// What is proved.
    pub proof: Proof,
    /// Why the search ended.
    pub stop: Stop,
}

/// What is proved of a solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// No placement is better.
    Optimal,
    /// No placement is better than `bound`.
    Bounded,
    /// It is allowed, nothing more.
    Feasible,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A rule that ends by itself, or a search that found nothing more to try.
    Finished,
    /// The gap asked for is proved.
    Gap,
    /// Out of evaluations.
    Evaluations,
    /// Out of nodes.
    Nodes,
    /// Out of time.
    Time,
    /// Asked to stop.
    Cancelled,
}

/// ```
/// use scale_model::Proof;
/// let words = [Proof::Optimal, Proof::Bounded, Proof::Feasible].map(|proof| proof.to_string());
/// assert_eq!(words, ["optimal", "bounded", "feasible"]);
/// ```
impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Proof::Optimal => "optimal",
            Proof::Bounded => "bounded",
            Proof::Feasible => "feasible",
        })
    }
}

/// ```
/// use scale_model::Stop;
/// let words = |stops: [Stop; 3]| stops.map(|stop| stop.to_string());
/// assert_eq!(words([Stop::Finished, Stop::Gap, Stop::Evaluations]), ["finished", "gap", "evaluations"]);
/// assert_eq!(words([Stop::Nodes, Stop::Time, Stop::Cancelled]), ["nodes", "time", "cancelled"]);
/// ```
impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Stop::Finished => "finished",
            Stop::Gap => "gap",
            Stop::Evaluations => "evaluations",
            Stop::Nodes => "nodes",
            Stop::Time => "time",
            Stop::Cancelled => "cancelled",
        })
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SolveError {
    /// Under [`Slo::Hard`](crate::Slo::Hard): no placement keeps (5)-(8).
    #[error("no placement keeps (5)-(8){}", hopeless_text(.hopeless))]
    Infeasible {
        /// Requests that no node could serve in time even if it were empty of all others, see
        /// [`BatchProblem::hopeless`]; may be none.
        hopeless: Vec<RequestId>,
    },
    /// The budget, or the rule, ended before any placement was found; there may be one. So ends a rule that defers a
    /// request, or lets it be late, where [`Slo::Hard`](crate::Slo::Hard) forbids that.
    #[error("no placement was found; there may be one")]
    NothingFound,
    /// The algorithm broke a rule that binds under any objective: a defect of its own.
    #[error("the placement is not allowed: {0}")]
    NotAllowed(Violation),
    /// The back end failed.
    #[error("{0}")]
    Backend(String),
}

fn hopeless_text(hopeless: &[RequestId]) -> String {
    if hopeless.is_empty() {
        return String::new();
    }
    let names: Vec<String> = hopeless.iter().map(|id| id.0.to_string()).collect();
    format!("; no node can serve in time: requests {}", names.join(", "))
}

/// Lets a scheduler decide a whole batch, one request after the other.
///
/// # Errors
/// The first decision that is not allowed, as (index in the batch, decision).
pub fn decide_batch(
    problem: &BatchProblem<'_>,
    scheduler: &mut dyn Scheduler,
) -> Result<Placement, (usize, Decision)> {
    let mut state = problem.state.clone();
    let mut decisions = Vec::with_capacity(problem.requests.len());
    for (index, request) in problem.requests.iter().enumerate() {
        let decision = scheduler.decide(problem, &state, index);
        if let Decision::Run { node, container } = decision {
            let known = node.index() < problem.platform.topology.nodes.len();
            if !known || !state.allows(problem.platform, request.function, node, container) {
                return Err((index, decision));
            }
            state.start(problem.platform, request.function, node, container);
        }
        decisions.push(decision);
    }
    Ok(Placement { decisions })
}

/// A scheduler as a solver: it decides one by one and proves nothing.
pub struct OneByOne<S>(
    /// The scheduler.
    pub S,
);

impl<S: Scheduler> Solver for OneByOne<S> {
    fn solve(&mut self, problem: &BatchProblem<'_>, _budget: &Budget) -> Result<Solution, SolveError> {
        let placement = decide_batch(problem, &mut self.0).map_err(|(index, decision)| {
            SolveError::Backend(format!(
                "request {index} of the batch: {decision:?} is not allowed in its state"
            ))
        })?;
        Solution::feasible(problem, placement)
    }
}

impl Solution {
    /// A placement of which nothing is proved but that it is allowed, judged here.
    ///
    /// # Errors
    /// [`SolveError::NotAllowed`] with the first violation that is one under any objective. [`SolveError::NothingFound`]
    /// if only [`Slo::Hard`](crate::Slo::Hard) forbids the placement, as a request is deferred, (5), or late, (8).
    pub fn feasible(problem: &BatchProblem<'_>, placement: Placement) -> Result<Solution, SolveError> {
        let (unserved, broken): (Vec<Violation>, Vec<Violation>) = violations(problem, &placement)
            .into_iter()
            .partition(|violation| matches!(violation, Violation::NotPlaced { .. } | Violation::Late { .. }));
        if let Some(violation) = broken.into_iter().next() {
            return Err(SolveError::NotAllowed(violation));
        }
        if !unserved.is_empty() {
            return Err(SolveError::NothingFound);
        }
        let objective = evaluate(problem, &placement).objective;
        Ok(Solution { placement, objective, bound: None, proof: Proof::Feasible, stop: Stop::Finished })
    }
}
