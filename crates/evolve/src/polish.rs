//! A few moves after another algorithm: `scale+polish` of the roster.

use crate::Hybrid;
use scale_model::{BatchProblem, Budget, Seed, Solution, SolveError, Solver};

/// What another solver places, improved by [`Hybrid::improve`]: never a worse batch. A better batch is not yet a better day:
/// what the other one gave up in this batch for the sake of later ones is taken back.
///
/// ```
/// use scale_evolve::Polish;
/// use scale_model::{OneByOne, Seed};
/// # struct Mine;
/// # impl scale_model::Scheduler for Mine {
/// #     fn decide(&mut self, _: &scale_model::BatchProblem<'_>, _: &scale_model::ClusterState, _: usize) -> scale_model::Decision {
/// #         scale_model::Decision::Defer
/// #     }
/// # }
/// let polished = Polish { first: OneByOne(Mine), evaluations_a_request: 100, seed: Seed(1) };
/// ```
#[derive(Clone, Debug)]
pub struct Polish<S> {
    /// Who places first.
    pub first: S,
    /// Moves that are tried for each request of the batch. A hundred take about 10 microseconds, with what is worked out before
    /// the first.
    pub evaluations_a_request: u64,
    /// Of the search.
    pub seed: Seed,
}

impl<S: Solver> Solver for Polish<S> {
    fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
        let first = self.first.solve(problem, budget)?;
        let evaluations = self.evaluations_a_request * problem.requests.len() as u64;
        let placement = Hybrid { evaluations, seed: self.seed }.improve(problem, &first.placement);
        let polished = Solution::feasible(problem, placement)?;
        Ok(Solution { bound: first.bound, proof: first.proof, stop: first.stop, ..polished })
    }
}
