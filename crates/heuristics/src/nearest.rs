//! `nearest`: the source node if it fits, else the closest that fits, the one with the highest link rate. Source:
//! folklore of edge computing ("same node or nearest").

use crate::scan::Scan;
use scale_model::{BatchProblem, ClusterState, Decision, Scheduler};
use std::cmp::Reverse;

/// The source node if it fits, else the one that fits with the highest link rate; of equal ones the lowest id.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nearest;

impl Scheduler for Nearest {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let scan = Scan::of(batch, state, next);
        let source = scan.request.source;
        // The rate within a node is infinite: the maximum alone would be right too, but costs a scan of all nodes.
        let node = if scan.fits(source) { Some(source) } else { scan.least(|node| Reverse(scan.rate(node))) };
        scan.decision(node)
    }
}
