//! `least-loaded`: lexicographic by (can start now, load, warm). Source: the least-loaded scheduler of DSLab FaaS,
//! with the order of the three criteria made strict.
//!
//! *Can start now* is constraints (6) and (7), *load* the share of the node's cores in use (not the number of
//! invocations: nodes and functions differ in size), *warm* an idle container of the function.

use crate::scan::Scan;
use scale_model::{BatchProblem, ClusterState, Decision, NodeId, Scheduler};

/// The node that fits with the least share of its cores in use; of equal ones a warm one, then the lowest id.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeastLoaded;

impl Scheduler for LeastLoaded {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let scan = Scan::of(batch, state, next);
        scan.decision(least_loaded(&scan))
    }
}

/// The rule itself, which Hermod falls back on.
#[inline]
pub(crate) fn least_loaded(scan: &Scan<'_>) -> Option<NodeId> {
    scan.least(|node| (scan.load(node), !scan.warm(node)))
}
