//! What an agent sees, may do and gets: the state of Eq. (9) as a flat vector, the masks of the action a = [a1, a2], and
//! the reward of Eq. (10). Shapes and scales stand here and nowhere else; [`LAYOUT`] numbers them.
//!
//! # The vector
//! For N nodes it has 5 N + 9 numbers; counts c are written as c / (1 + c), so that they stay below 1.
//!
//! | at | what | paper | scale |
//! |---|---|---|---|
//! | 0 N + v | free cores of node v | U_v(t) | share of the node's cores |
//! | 1 N + v | memory of node v that busy containers leave | U_v(t) | share of the node's memory |
//! | 2 N + v | idle containers of the request's function on v | w_v^k(t) | c / (1 + c) |
//! | 3 N + v | busy containers of the request's function on v | w_v^k(t) | c / (1 + c) |
//! | 4 N + v | 1 if the request enters the network at v | K: source | 0 or 1 |
//! | 5 N + 0 | f_k | K: container's resources | cores |
//! | 5 N + 1 | c_k | K: container's resources | 1000 MB |
//! | 5 N + 2 | s_k | K: container | 100 MB |
//! | 5 N + 3 | alpha_k | K: container | 100 ms |
//! | 5 N + 4 | p_k | K | 100 core-ms |
//! | 5 N + 5 | d_k | K | MB |
//! | 5 N + 6 | O_k | K | 100 ms |
//! | 5 N + 7 | time that it has waited | (none in the paper) | w / (1 + w), w in 100 ms |
//! | 5 N + 8 | requests of the batch after this one | K | c / (1 + c) |
//!
//! The paper's K is all requests of the instant; a flat network has a fixed width, so the request at hand is described
//! and the others are counted. What is not a share is cut off at [`MOST`]. Rates, bandwidths and capacities of the nodes
//! never change, so this network has to learn them as part of its weights, as the paper's had to.

use scale_model::{
    BatchProblem, ClusterState, Container, Decision, FunctionId, Latency, Milliseconds, NodeId, Platform,
};
use serde::{Deserialize, Serialize};

/// Version of the vector and of the order of actions. A checkpoint of another version is refused.
pub const LAYOUT: u32 = 1;

/// Numbers for each node.
const PER_NODE: usize = 5;
/// Numbers for the request.
const REQUEST: usize = 9;
/// What is not a share is cut off here.
pub const MOST: f32 = 10.0;

/// How many numbers the observation of `nodes` nodes has.
///
/// ```
/// assert_eq!(scale_agents::observe::width(125), 634);
/// ```
pub const fn width(nodes: usize) -> usize {
    PER_NODE * nodes + REQUEST
}

/// Eq. (9): S(t) = {U_v(t), w_v^k(t), K} for request `next` of the batch, in the table's order.
///
/// # Panics
/// If `out` has not [`width`] numbers.
pub fn observe(batch: &BatchProblem<'_>, state: &ClusterState, next: usize, out: &mut [f32]) {
    let platform = batch.platform;
    let nodes = platform.topology.nodes.len();
    assert_eq!(out.len(), width(nodes), "an observation of {nodes} nodes");
    let request = &batch.requests[next];
    let function = platform.function(request.function);
    let (per_node, rest) = out.split_at_mut(PER_NODE * nodes);
    let mut blocks = per_node.chunks_exact_mut(nodes);
    let mut block = || blocks.next().expect("as many blocks as the table has");
    for (out, node) in block().iter_mut().zip(platform.node_ids()) {
        *out = 1.0 - state.used_cores(node).milli as f32 / platform.node(node).cores.milli as f32;
    }
    for (out, node) in block().iter_mut().zip(platform.node_ids()) {
        *out = 1.0 - state.used_memory(node).mb as f32 / platform.node(node).memory.mb as f32;
    }
    for (out, &idle) in block().iter_mut().zip(state.idle_row(request.function)) {
        *out = share(idle as f32);
    }
    for (out, node) in block().iter_mut().zip(platform.node_ids()) {
        *out = share(state.busy(request.function, node) as f32);
    }
    let source = block();
    source.fill(0.0);
    source[request.source.index()] = 1.0;
    let waited = (batch.now() - request.arrival).0;
    let values: [f64; REQUEST] = [
        function.cores.as_f64(),
        function.memory.as_f64() / 1000.0,
        function.image.0 / 100.0,
        function.init.0 / 100.0,
        request.cpu_time.0 / 100.0,
        request.input.0,
        request.slo.0 / 100.0,
        f64::from(share((waited / 100.0) as f32)),
        f64::from(share((batch.requests.len() - next - 1) as f32)),
    ];
    for (out, value) in rest.iter_mut().zip(values) {
        *out = (value as f32).min(MOST);
    }
}

/// c / (1 + c).
#[inline]
fn share(count: f32) -> f32 {
    count / (1.0 + count)
}

/// Which actions are valid: for each node a new container, and the reuse of an idle one. a2 depends on a1 exactly: each
/// pair (node, container) has its own entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Whether node v may start a new container.
    pub new: Vec<bool>,
    /// Whether node v may reuse an idle one.
    pub reuse: Vec<bool>,
}

/// A [`Mask`] that lies elsewhere, for instance in a buffer of many.
#[derive(Clone, Copy, Debug)]
pub struct Open<'a> {
    /// Whether node v may start a new container.
    pub new: &'a [bool],
    /// Whether node v may reuse an idle one.
    pub reuse: &'a [bool],
}

impl Mask {
    /// Nothing is valid on any node.
    pub fn closed(nodes: usize) -> Mask {
        Mask { new: vec![false; nodes], reuse: vec![false; nodes] }
    }

    /// Looks at every node with [`ClusterState::allows`].
    ///
    /// # Panics
    /// If the mask is for another number of nodes.
    pub fn look(&mut self, platform: &Platform, state: &ClusterState, function: FunctionId) {
        let nodes = platform.topology.nodes.len();
        assert_eq!((self.new.len(), self.reuse.len()), (nodes, nodes), "a mask of {nodes} nodes");
        let idle = state.idle_row(function);
        for (((new, reuse), node), &idle) in
            self.new.iter_mut().zip(&mut self.reuse).zip(platform.node_ids()).zip(idle)
        {
            *new = state.fits(platform, function, node);
            *reuse = *new && idle > 0;
        }
    }

    /// As a view.
    pub fn open(&self) -> Open<'_> {
        Open { new: &self.new, reuse: &self.reuse }
    }
}

impl Open<'_> {
    /// Whether any action is valid. If not, the request is deferred.
    pub fn any(&self) -> bool {
        self.new.iter().chain(self.reuse).any(|&open| open)
    }

    /// Whether node v takes the request at all.
    #[inline]
    pub fn node(&self, node: usize) -> bool {
        self.new[node] | self.reuse[node]
    }

    /// Whether the action is valid.
    #[inline]
    pub fn allows(&self, action: Action) -> bool {
        match action.container {
            Container::New => self.new[action.node.index()],
            Container::Reuse => self.reuse[action.node.index()],
        }
    }
}

/// The paper's a(t) = [a1, a2].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// a1.
    pub node: NodeId,
    /// a2.
    pub container: Container,
}

impl Action {
    /// Its number among 2 N: first a new container on each node, then the reuse on each.
    #[inline]
    pub fn flat(self, nodes: usize) -> usize {
        self.node.index() + if self.container == Container::Reuse { nodes } else { 0 }
    }

    /// The action with this number.
    #[inline]
    pub fn of_flat(flat: usize, nodes: usize) -> Action {
        let container = if flat < nodes { Container::New } else { Container::Reuse };
        Action { node: NodeId((flat % nodes) as u32), container }
    }

    /// As a decision.
    pub fn decision(self) -> Decision {
        Decision::Run { node: self.node, container: self.container }
    }
}

/// How latency becomes reward.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reward {
    /// The latency that counts as 1. The paper's rewards are of the order of hundreds (milliseconds), which a critic with
    /// a fresh network is slow to reach; a constant factor changes no optimum.
    #[serde(rename = "unit_ms")]
    pub unit: Milliseconds,
    /// Whether the time before the decision counts too. Not in Eq. (10).
    pub wait: bool,
}

impl Reward {
    /// Eq. (10) in seconds.
    pub const PAPER: Reward = Reward { unit: Milliseconds(1000.0), wait: false };

    /// Eq. (10): r(t) = -(T_cold + T_comp + T_comm), in [`unit`](Self::unit)s.
    ///
    /// ```
    /// use scale_agents::observe::Reward;
    /// use scale_model::{Latency, Milliseconds};
    /// let latency = Latency {
    ///     cold: Milliseconds(250.0), comp: Milliseconds(150.0), comm: Milliseconds(20.0), wait: Milliseconds(80.0),
    /// };
    /// assert_eq!(Reward::PAPER.of(&latency), -0.42);
    /// assert_eq!(Reward { wait: true, ..Reward::PAPER }.of(&latency), -0.5);
    /// ```
    #[inline]
    pub fn of(&self, latency: &Latency) -> f64 {
        let counted = if self.wait { latency.total() } else { latency.service() };
        -counted.0 / self.unit.0
    }
}
