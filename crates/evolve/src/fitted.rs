//! A platform that has to place something: what to do where a black-box search ends without an allowed placement.

use scale_model::{
    BatchProblem, Budget, ClusterState, Decision, Placement, Scheduler, Slo, Solution, SolveError, Solver,
    decide_batch,
};

use crate::Midaco;

/// [`Midaco`] on a platform. Where its best point breaks a capacity, the requests are started in the batch's order as long
/// as they fit, and the others wait for the next batch; a request that waits is deferred, which only
/// [`Slo::Elastic`] allows.
#[derive(Clone, Debug)]
pub struct Fitted(pub Midaco);

/// A placement as a rule: its decision where the state allows it, else deferral.
struct AsFarAsItFits(Placement);

impl Scheduler for AsFarAsItFits {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        match self.0.decisions[next] {
            Decision::Run { node, container }
                if !state.allows(batch.platform, batch.requests[next].function, node, container) =>
            {
                Decision::Defer
            }
            decision => decision,
        }
    }
}

impl Solver for Fitted {
    /// As that of [`Midaco`], but under [`Slo::Elastic`] it finds something wherever it looked at one point.
    fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
        let (batch, run) = self.0.run(problem, budget);
        let Some(best) = run.best else { return Err(SolveError::NothingFound) };
        let mut placement = batch.placement(&best.point);
        if !best.value.feasible() {
            if problem.objective.slo == Slo::Hard {
                return Err(SolveError::NothingFound);
            }
            placement =
                decide_batch(problem, &mut AsFarAsItFits(placement)).map_err(|(index, decision)| {
                    SolveError::Backend(format!("request {index} of the batch: {decision:?} does not fit"))
                })?;
        }
        Ok(Solution { stop: run.stop, ..Solution::feasible(problem, placement)? })
    }
}
