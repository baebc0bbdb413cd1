//! [`Polish`] against the solver that it polishes and against the judge.

mod common;

use common::planted;
use scale_evolve::Polish;
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, Decision, OneByOne, Scheduler, Seed, Solver, violations,
};

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
