//! `round-robin`: the first node that fits after the one that got the last request, in a circle. Source: folklore.

use crate::scan::Scan;
use scale_model::{BatchProblem, ClusterState, Decision, NodeId, Scheduler};

/// The first node that fits after the one that got the last request, in a circle, starting with node 0.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    /// Where the next search starts.
    start: u32,
}

impl RoundRobin {
    /// Starts with node 0.
    #[must_use]
    pub fn new() -> RoundRobin {
        RoundRobin::default()
    }
}

impl Scheduler for RoundRobin {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let scan = Scan::of(batch, state, next);
        let nodes = scan.len();
        // A smaller platform than last time may follow.
        let start = if self.start < nodes { self.start } else { 0 };
        let node = (start..nodes).chain(0..start).map(NodeId).find(|&node| scan.fits(node));
        if let Some(node) = node {
            self.start = node.0 + 1;
        }
        scan.decision(node)
    }
}
