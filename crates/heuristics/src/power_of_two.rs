//! `power-of-two`: of two nodes drawn at random, the less loaded. Source: Mitzenmacher, "The Power of Two Choices in
//! Randomized Load Balancing" (2001).
//!
//! The two are different nodes, drawn uniformly from *all* nodes, whether they fit or not: looking only at nodes that
//! fit would need the state of every node, which is what the rule is made to avoid. Load is the share of cores in
//! use. If only one of the two fits it is taken; of equal loads the one drawn first. The paper's constraints allow no
//! queue on a node, so where the original would queue (neither fits), any node that fits is taken, all equally
//! likely.

use crate::draw::Draw;
use crate::scan::Scan;
use scale_model::{BatchProblem, ClusterState, Decision, NodeId, Scheduler, Seed};

/// The less loaded of two different nodes drawn at random; if neither fits, any node that does.
#[derive(Clone, Debug)]
pub struct PowerOfTwo {
    draw: Draw,
}

impl PowerOfTwo {
    /// Draws from the stream of `seed`.
    #[must_use]
    pub fn new(seed: Seed) -> PowerOfTwo {
        PowerOfTwo { draw: Draw::new(seed) }
    }

    /// Two different nodes; with a single node, that one twice.
    fn two(&mut self, nodes: u32) -> [NodeId; 2] {
        let first = self.draw.below(nodes);
        if nodes == 1 {
            return [NodeId(first); 2];
        }
        let second = self.draw.below(nodes - 1);
        [NodeId(first), NodeId(second + u32::from(second >= first))]
    }
}

impl Scheduler for PowerOfTwo {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let scan = Scan::of(batch, state, next);
        let two = self.two(scan.len()).into_iter().filter(|&node| scan.fits(node));
        let node = two.min_by_key(|&node| scan.load(node)).or_else(|| self.draw.fitting(&scan));
        scan.decision(node)
    }
}
