//! `hermod`: packs while there are spare cores, balances when there are none. Source: Kaffes, Yadwadkar, Kozyrakis,
//! "Hermod: Principled and Practical Scheduling for Serverless Functions" (SoCC 2022), in the form of DSLab FaaS.
//!
//! Among nodes with fewer running invocations than cores: busy and warm before busy before empty and warm before
//! empty. If there is none, the least loaded. *Busy* is any running invocation, *warm* an idle container of the
//! function; within a class the lowest id. Only nodes that fit are looked at: Hermod would queue on a full one,
//! which constraints (6) and (7) forbid.

use crate::least_loaded::least_loaded;
use crate::scan::Scan;
use scale_model::{BatchProblem, ClusterState, Decision, NodeId, Scheduler};

/// Packs while a node has fewer running invocations than cores, then takes the least loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hermod;

/// How much a node is liked, best first; the last class is where packing ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    BusyWarm,
    Busy,
    EmptyWarm,
    Empty,
    Saturated,
}

fn class(scan: &Scan<'_>, node: NodeId) -> Class {
    let running = scan.state.running(node);
    if u64::from(running) * 1000 >= u64::from(scan.platform.node(node).cores.milli) {
        return Class::Saturated;
    }
    match (running > 0, scan.warm(node)) {
        (true, true) => Class::BusyWarm,
        (true, false) => Class::Busy,
        (false, true) => Class::EmptyWarm,
        (false, false) => Class::Empty,
    }
}

impl Scheduler for Hermod {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let scan = Scan::of(batch, state, next);
        let packed = scan.least(|node| class(&scan, node));
        let spare = packed.filter(|&node| class(&scan, node) != Class::Saturated);
        scan.decision(spare.or_else(|| least_loaded(&scan)))
    }
}
