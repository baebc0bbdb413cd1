//! Plays finished placements: the closed form and the simulator must agree on them.

use scale_model::{BatchProblem, ClusterState, Decision, Placement, Scheduler};
use std::collections::VecDeque;

/// A scheduler that follows placements made elsewhere, one a batch, and defers whatever comes after them.
pub struct Replay {
    placements: VecDeque<Placement>,
}

impl Replay {
    /// Follows one placement a batch.
    pub fn new(placements: impl IntoIterator<Item = Placement>) -> Replay {
        Replay { placements: placements.into_iter().collect() }
    }
}

impl Scheduler for Replay {
    fn decide(&mut self, batch: &BatchProblem<'_>, _state: &ClusterState, next: usize) -> Decision {
        let decision = self.placements.front().and_then(|placement| placement.decisions.get(next).copied());
        if next + 1 == batch.requests.len() {
            self.placements.pop_front();
        }
        decision.unwrap_or(Decision::Defer)
    }
}
