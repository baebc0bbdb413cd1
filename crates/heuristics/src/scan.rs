//! The loops that every rule shares: which nodes fit one request, which of them is best by some measure, and what
//! the request would take there. Formulas come from [`scale_model::latency`]; what does not depend on the node is
//! taken out of the loop, in the same order of operations, so results equal `latency::predict` bit for bit.

use scale_model::{
    BatchProblem, ClusterState, Container, Cores, Decision, Function, Latency, MegabytesPerSecond,
    Milliseconds, NodeId, Platform, Request, latency,
};
use std::cmp::Ordering;

/// One request against all nodes of a state.
pub(crate) struct Scan<'a> {
    pub(crate) platform: &'a Platform,
    pub(crate) state: &'a ClusterState,
    pub(crate) request: &'a Request,
    pub(crate) function: &'a Function,
    /// Idle containers of the function on every node.
    idle: &'a [u32],
    /// Rates from the request's source to every node.
    rates: &'a [MegabytesPerSecond],
    comp: Milliseconds,
    pub(crate) wait: Milliseconds,
}

impl<'a> Scan<'a> {
    /// Request `index` of the batch against a state that some of the batch has been placed in.
    #[inline]
    pub(crate) fn of(batch: &BatchProblem<'a>, state: &'a ClusterState, index: usize) -> Scan<'a> {
        let request = &batch.requests[index];
        let function = batch.platform.function(request.function);
        Scan {
            platform: batch.platform,
            state,
            request,
            function,
            idle: state.idle_row(request.function),
            rates: batch.platform.topology.links.row(request.source),
            comp: latency::comp(request, function),
            wait: batch.now() - request.arrival,
        }
    }

    /// Number of nodes.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.idle.len() as u32
    }

    /// Whether the node has the cores and the memory.
    #[inline(always)]
    pub(crate) fn fits(&self, node: NodeId) -> bool {
        self.state.fits(self.platform, self.request.function, node)
    }

    /// Whether the node has an idle container of the function.
    #[inline]
    pub(crate) fn warm(&self, node: NodeId) -> bool {
        self.idle[node.index()] > 0
    }

    /// eps_{s,v} from the request's source.
    #[inline]
    pub(crate) fn rate(&self, node: NodeId) -> MegabytesPerSecond {
        self.rates[node.index()]
    }

    /// The container that the request gets on the node: an idle one wherever there is one.
    #[inline]
    pub(crate) fn container(&self, node: NodeId) -> Container {
        if self.warm(node) { Container::Reuse } else { Container::New }
    }

    /// What the request takes on the node: `latency::predict` with the parts outside the loop that can be.
    #[inline]
    pub(crate) fn latency(&self, node: NodeId, container: Container) -> Latency {
        Latency {
            cold: latency::cold(self.function, self.platform.node(node), container),
            comp: self.comp,
            comm: latency::comm(self.request, self.rate(node)),
            wait: self.wait,
        }
    }

    /// Share of the node's cores in use.
    #[inline]
    pub(crate) fn load(&self, node: NodeId) -> Load {
        Load { used: self.state.used_cores(node), capacity: self.platform.node(node).cores }
    }

    /// All nodes that fit, in order.
    #[inline]
    pub(crate) fn fitting(&self) -> Fitting<'_> {
        Fitting { scan: self, next: 0 }
    }

    /// The fitting node with the least key; of equal ones the first.
    #[inline]
    pub(crate) fn least<K: PartialOrd>(&self, key: impl Fn(NodeId) -> K) -> Option<NodeId> {
        let mut fitting = self.fitting();
        let mut best = fitting.next()?;
        let mut least = key(best);
        for node in fitting {
            let key = key(node);
            if key < least {
                (best, least) = (node, key);
            }
        }
        Some(best)
    }

    /// The decision for a chosen node; none: the request is deferred.
    #[inline]
    pub(crate) fn decision(&self, node: Option<NodeId>) -> Decision {
        node.map_or(Decision::Defer, |node| Decision::Run { node, container: self.container(node) })
    }
}

/// The nodes that fit, in order. Written out because the closure of a `filter` was called, not inlined, and the call
/// took longer than the test: greedy-latency ran at half its speed.
pub(crate) struct Fitting<'a> {
    scan: &'a Scan<'a>,
    next: u32,
}

impl Iterator for Fitting<'_> {
    type Item = NodeId;

    #[inline(always)]
    fn next(&mut self) -> Option<NodeId> {
        while self.next < self.scan.len() {
            let node = NodeId(self.next);
            self.next += 1;
            if self.scan.fits(node) {
                return Some(node);
            }
        }
        None
    }
}

/// The share of a node's cores that is in use, compared exactly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) used: Cores,
    pub(crate) capacity: Cores,
}

impl Ord for Load {
    #[inline]
    fn cmp(&self, other: &Load) -> Ordering {
        // used / capacity < used' / capacity' without a division; 32-bit factors cannot overflow 64 bits.
        let product = |a: Cores, b: Cores| u64::from(a.milli) * u64::from(b.milli);
        product(self.used, other.capacity).cmp(&product(other.used, self.capacity))
    }
}
impl PartialOrd for Load {
    #[inline]
    fn partial_cmp(&self, other: &Load) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Load {
    #[inline]
    fn eq(&self, other: &Load) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Load {}
