//! `random-feasible`: any node that fits, all equally likely. Source: project; the floor under every other rule.

use crate::draw::Draw;
use crate::scan::Scan;
use scale_model::{BatchProblem, ClusterState, Decision, Scheduler, Seed};

/// Any node that fits, all equally likely.
#[derive(Clone, Debug)]
pub struct RandomFeasible {
    draw: Draw,
}

impl RandomFeasible {
    /// Draws from the stream of `seed`.
    #[must_use]
    pub fn new(seed: Seed) -> RandomFeasible {
        RandomFeasible { draw: Draw::new(seed) }
    }
}

impl Scheduler for RandomFeasible {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let scan = Scan::of(batch, state, next);
        scan.decision(self.draw.fitting(&scan))
    }
}
