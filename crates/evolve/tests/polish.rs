//! [`Polish`] against the solver that it polishes and against the judge.

mod common;

use common::planted;
use scale_evolve::Polish;
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, Decision, OneByOne, Scheduler, Seed, Solution, SolveError,
    Solver, Stop, violations,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The first node that fits.
struct FirstFit;

impl Scheduler for FirstFit {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let function = batch.requests[next].function;
        let mut nodes = batch.platform.node_ids();
        match nodes.find(|&node| state.allows(batch.platform, function, node, Container::New)) {
            Some(node) => Decision::Run { node, container: Container::New },
            None => Decision::Defer,
        }
    }
}

/// With no move it is the first solver's placement, with more of them never worse, and a thousand a request go a long way.
#[test]
fn more_moves_are_never_worse() {
    for seed in 1..=20 {
        let instance = planted(seed, 40, 0.3);
        let problem = instance.problem();
        let objective = |evaluations_a_request: u64| {
            let mut polish = Polish { first: OneByOne(FirstFit), evaluations_a_request, seed: Seed(seed) };
            let solution = polish.solve(&problem, &Budget::default()).expect("a placement");
            assert_eq!(violations(&problem, &solution.placement), []);
            solution.objective
        };
        let first = OneByOne(FirstFit).solve(&problem, &Budget::default()).expect("a placement").objective;
        assert_eq!(objective(0), first);
        assert!(objective(10) <= first, "batch {seed}");
        assert!(objective(1_000) < 0.8 * first, "batch {seed}: {} of {first}", objective(1_000));
    }
}

/// [`FirstFit`], which takes its time and says that it has proved something.
struct Slow(Duration);

impl Solver for Slow {
    fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
        std::thread::sleep(self.0);
        let solution = OneByOne(FirstFit).solve(problem, budget)?;
        Ok(Solution { bound: Some(1.0), stop: Stop::Gap, ..solution })
    }
}

/// The moves end with the budget of the whole, and say why.
#[test]
fn the_budget_holds_for_the_moves_too() {
    let instance = planted(1, 40, 0.3);
    let problem = instance.problem();
    let first = OneByOne(FirstFit).solve(&problem, &Budget::default()).expect("a placement").objective;
    let check =
        |takes: u64, limit: Option<u64>, cancelled: bool, evaluations: u64, moves: bool, stop: Stop| {
            let milliseconds = Duration::from_millis;
            let budget = Budget {
                time_limit: limit.map(milliseconds),
                cancel: Some(Arc::new(AtomicBool::new(cancelled))),
                ..Budget::default()
            };
            let slow = Slow(milliseconds(takes));
            let mut polish = Polish { first: slow, evaluations_a_request: evaluations, seed: Seed(1) };
            let solution = polish.solve(&problem, &budget).expect("a placement");
            assert_eq!(violations(&problem, &solution.placement), []);
            let found = (solution.objective < first, solution.stop, solution.bound);
            assert_eq!(found, (moves, stop, Some(1.0)), "{takes} of {limit:?} ms, {cancelled}");
        };
    check(0, None, false, 1_000, true, Stop::Gap);
    check(0, Some(600_000), false, 1_000, true, Stop::Gap);
    check(0, None, true, 1_000, false, Stop::Cancelled);
    check(0, Some(0), false, 1_000, false, Stop::Time);
    // What the first solver has used up is gone; what is left is used.
    check(30, Some(10), false, 1_000, false, Stop::Time);
    check(0, Some(100), false, u64::MAX, true, Stop::Time);
}
