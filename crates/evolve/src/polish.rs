//! A few moves after another algorithm: `scale+polish` of the roster.

use crate::Hybrid;
use crate::islands::Watch;
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
    /// Of the budget, the first solver looks at what it looks at; the moves after it end when its time, counted from the beginning, is
    /// over or somebody asks, and not by its evaluations. Bound and proof are those of the first solver, and so is the reason why the
    /// search ended, unless the moves were cut short.
    fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
        let watch = Watch::of(budget);
        let first = self.first.solve(problem, budget)?;
        let evaluations = self.evaluations_a_request.saturating_mul(problem.requests.len() as u64);
        let hybrid = Hybrid { evaluations, seed: self.seed };
        let (placement, cut) = hybrid.improve_while(problem, &first.placement, &watch);
        let polished = Solution::feasible(problem, placement)?;
        Ok(Solution { bound: first.bound, proof: first.proof, stop: cut.unwrap_or(first.stop), ..polished })
    }
}
