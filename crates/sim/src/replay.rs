//! Plays finished placements: the closed form and the simulator must agree on them.

use scale_model::{BatchProblem, ClusterState, Decision, Placement, Scheduler};
use std::collections::VecDeque;

/// A scheduler that follows placements made elsewhere, one a batch, and defers whatever comes after them.
pub struct Replay {
    placements: VecDeque<Placement>,
    /// That of the batch at hand.
    current: Placement,
}

impl Replay {
    /// Follows one placement a batch.
    #[must_use]
    pub fn new(placements: impl IntoIterator<Item = Placement>) -> Replay {
        Replay { placements: placements.into_iter().collect(), current: Placement { decisions: Vec::new() } }
    }
}

impl Scheduler for Replay {
    fn decide(&mut self, _batch: &BatchProblem<'_>, _state: &ClusterState, next: usize) -> Decision {
        // The last request of a batch may not be asked for, as no node has room; the first always is.
        if next == 0 {
            self.current = self.placements.pop_front().unwrap_or(Placement { decisions: Vec::new() });
        }
        self.current.decisions.get(next).copied().unwrap_or(Decision::Defer)
    }
}
