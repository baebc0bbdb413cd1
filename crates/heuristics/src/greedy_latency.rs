//! `greedy-latency`: argmin over nodes and {reuse, new} of T_cold + T_comp + T_comm. Source: project; the yardstick
//! that the paper omits.
//!
//! Minimised is T_k = T_cold + T_comp + T_comm + T_wait of this one request over the nodes that satisfy constraints
//! (6) and (7); of equal ones the lowest node id wins. Meeting the SLO first, lexicographically by (T_k > O_k, T_k),
//! is the same minimum, because a request that is late at its least latency is late anywhere. Nor does a reuse ever
//! take longer than a new container on the same node, so one look at each node is enough. With [`Slo::Elastic`] the
//! choice therefore minimises the increment of J over all placements of this request, for any penalty of at least
//! zero. Deferring is not weighed against it: a request is deferred only if no node fits, also where its wait would
//! cost less than the placement (a penalty for deferring above the dearest placement rules that case out). Under
//! [`Slo::Hard`] it does the same; as (5) and (8) forbid deferring and being late, it then has found nothing.
//!
//! [`Slo::Elastic`]: scale_model::Slo::Elastic
//! [`Slo::Hard`]: scale_model::Slo::Hard

use crate::scan::Scan;
use scale_model::{BatchProblem, ClusterState, Decision, Scheduler};

/// The node where this request ends first.
#[derive(Clone, Copy, Debug, Default)]
pub struct GreedyLatency;

impl Scheduler for GreedyLatency {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let scan = Scan::of(batch, state, next);
        scan.decision(scan.least(|node| scan.latency(node, scan.container(node)).total()))
    }
}
