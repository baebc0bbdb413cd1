//! What is busy and what is idle: U_v(t) and w_v^k(t) of the paper's Eq. (9).

use crate::ids::{FunctionId, NodeId};
use crate::placement::Container;
use crate::platform::Platform;
use crate::units::{Cores, Memory, Time};
use crate::validate::{Invalid, require, require_known};
use serde::{Deserialize, Serialize};

/// The state of every node at one instant.
///
/// Counts of containers are kept function by function (one row of nodes for each function), because every rule that
/// looks at all nodes does so for one function.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterState {
    /// The instant.
    pub time: Time,
    // Private: the sums below are kept in step with the counts by `start`, `finish` and `evict`.
    nodes: usize,
    used_cores: Vec<Cores>,
    used_memory: Vec<Memory>,
    idle_memory: Vec<Memory>,
    running: Vec<u32>,
    idle: Vec<u32>,
    busy: Vec<u32>,
}

impl ClusterState {
    /// No container anywhere, time zero.
    #[must_use]
    pub fn empty(platform: &Platform) -> ClusterState {
        let nodes = platform.topology.nodes.len();
        let pairs = nodes * platform.functions.len();
        ClusterState {
            time: Time(0.0),
            nodes,
            used_cores: vec![Cores::default(); nodes],
            used_memory: vec![Memory::default(); nodes],
            idle_memory: vec![Memory::default(); nodes],
            running: vec![0; nodes],
            idle: vec![0; pairs],
            busy: vec![0; pairs],
        }
    }

    /// Cores that busy containers hold on a node.
    #[inline]
    pub fn used_cores(&self, node: NodeId) -> Cores {
        self.used_cores[node.index()]
    }

    /// Memory that busy containers hold on a node. Idle containers are not in it: they never block a placement.
    #[inline]
    pub fn used_memory(&self, node: NodeId) -> Memory {
        self.used_memory[node.index()]
    }

    /// Memory that idle containers hold on a node.
    #[inline]
    pub fn idle_memory(&self, node: NodeId) -> Memory {
        self.idle_memory[node.index()]
    }

    /// Number of busy containers on a node, whatever their function.
    #[inline]
    pub fn running(&self, node: NodeId) -> u32 {
        self.running[node.index()]
    }

    /// Idle containers of a function on a node: how many reuses the node still allows.
    #[inline]
    pub fn idle(&self, function: FunctionId, node: NodeId) -> u32 {
        self.idle[function.index() * self.nodes + node.index()]
    }

    /// Idle containers of a function on every node.
    #[inline]
    pub fn idle_row(&self, function: FunctionId) -> &[u32] {
        &self.idle[function.index() * self.nodes..][..self.nodes]
    }

    /// Busy containers of a function on a node.
    #[inline]
    pub fn busy(&self, function: FunctionId, node: NodeId) -> u32 {
        self.busy[function.index() * self.nodes + node.index()]
    }

    /// Busy containers of a function on every node.
    #[inline]
    pub fn busy_row(&self, function: FunctionId) -> &[u32] {
        &self.busy[function.index() * self.nodes..][..self.nodes]
    }

    /// Whether constraints (6) and (7) leave room for one more busy container of the function on the node. The same
    /// for a new container and a reused one: idle memory does not count.
    #[inline]
    #[must_use]
    pub fn fits(&self, platform: &Platform, function: FunctionId, node: NodeId) -> bool {
        let (need, have) = (platform.function(function), platform.node(node));
        self.used_cores(node) + need.cores <= have.cores
            && self.used_memory(node) + need.memory <= have.memory
    }

    /// Whether the container may be taken: room on the node, and an idle container for a reuse.
    #[inline]
    #[must_use]
    pub fn allows(
        &self,
        platform: &Platform,
        function: FunctionId,
        node: NodeId,
        container: Container,
    ) -> bool {
        self.fits(platform, function, node) && (container == Container::New || self.idle(function, node) > 0)
    }

    /// A container becomes busy.
    ///
    /// # Panics
    /// If a reuse finds no idle container: a caller asks [`ClusterState::allows`] first.
    #[inline]
    pub fn start(&mut self, platform: &Platform, function: FunctionId, node: NodeId, container: Container) {
        let need = platform.function(function);
        let pair = function.index() * self.nodes + node.index();
        if container == Container::Reuse {
            self.idle[pair] = self.idle[pair].checked_sub(1).expect("an idle container to reuse");
            self.idle_memory[node.index()] -= need.memory;
        }
        self.busy[pair] += 1;
        self.running[node.index()] += 1;
        self.used_cores[node.index()] += need.cores;
        self.used_memory[node.index()] += need.memory;
    }

    /// A busy container becomes idle.
    ///
    /// # Panics
    /// If none is busy.
    #[inline]
    pub fn finish(&mut self, platform: &Platform, function: FunctionId, node: NodeId) {
        let need = platform.function(function);
        let pair = function.index() * self.nodes + node.index();
        self.busy[pair] = self.busy[pair].checked_sub(1).expect("a busy container to finish");
        self.running[node.index()] -= 1;
        self.used_cores[node.index()] -= need.cores;
        self.used_memory[node.index()] -= need.memory;
        self.add_idle(platform, function, node, 1);
    }

    /// Idle containers appear: after a completion, or when a state is set up by hand.
    #[inline]
    pub fn add_idle(&mut self, platform: &Platform, function: FunctionId, node: NodeId, count: u32) {
        self.idle[function.index() * self.nodes + node.index()] += count;
        self.idle_memory[node.index()].mb += platform.function(function).memory.mb * count;
    }

    /// An idle container goes.
    ///
    /// # Panics
    /// If none is idle.
    #[inline]
    pub fn evict(&mut self, platform: &Platform, function: FunctionId, node: NodeId) {
        let pair = function.index() * self.nodes + node.index();
        self.idle[pair] = self.idle[pair].checked_sub(1).expect("an idle container to evict");
        self.idle_memory[node.index()] -= platform.function(function).memory;
    }

    /// Checks shape, sums and capacities: what must hold after every batch, before idle containers are evicted too
    /// except that busy and idle memory together may then exceed the node.
    ///
    /// # Errors
    /// The first node that breaks an invariant.
    pub fn validate(&self, platform: &Platform) -> Result<(), Invalid> {
        let shape = self.nodes == platform.topology.nodes.len()
            && self.idle.len() == self.nodes * platform.functions.len()
            && self.busy.len() == self.idle.len();
        require(
            shape,
            || "state".into(),
            format!("{} nodes", self.nodes),
            "as many nodes and functions as the platform",
        )?;
        for id in platform.node_ids() {
            let node = platform.node(id);
            let (mut cores, mut memory, mut idle, mut running) = (0u64, 0u64, 0u64, 0u64);
            for function in platform.function_ids() {
                let need = platform.function(function);
                let busy = u64::from(self.busy(function, id));
                running += busy;
                cores += busy * u64::from(need.cores.milli);
                memory += busy * u64::from(need.memory.mb);
                idle += u64::from(self.idle(function, id)) * u64::from(need.memory.mb);
            }
            let field = |name: &str| format!("state.nodes[{}].{name}", id.0);
            let sums = cores == u64::from(self.used_cores(id).milli)
                && memory == u64::from(self.used_memory(id).mb)
                && idle == u64::from(self.idle_memory(id).mb)
                && running == u64::from(self.running(id));
            require(
                sums,
                || field("used"),
                format!("{} and {}", self.used_cores(id), self.used_memory(id)),
                "the sum over its containers",
            )?;
            require(
                self.used_cores(id) <= node.cores,
                || field("used_cores"),
                self.used_cores(id),
                "at most the node's cores",
            )?;
            require(
                self.used_memory(id) <= node.memory,
                || field("used_memory_mb"),
                self.used_memory(id),
                "at most the node's memory",
            )?;
        }
        Ok(())
    }
}

/// A state as it stands in a file: only what is there, node by node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateFile {
    pub(crate) time_ms: f64,
    pub(crate) containers: Vec<ContainersFile>,
}

/// Containers of one function on one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContainersFile {
    pub(crate) node: NodeId,
    pub(crate) function: FunctionId,
    #[serde(default)]
    pub(crate) idle: u32,
    #[serde(default)]
    pub(crate) busy: u32,
}

impl StateFile {
    pub(crate) fn of(state: &ClusterState, platform: &Platform) -> StateFile {
        let mut containers = Vec::new();
        for node in platform.node_ids() {
            for function in platform.function_ids() {
                let (idle, busy) = (state.idle(function, node), state.busy(function, node));
                if idle + busy > 0 {
                    containers.push(ContainersFile { node, function, idle, busy });
                }
            }
        }
        StateFile { time_ms: state.time.0, containers }
    }

    pub(crate) fn build(&self, platform: &Platform) -> Result<ClusterState, Invalid> {
        let mut state = ClusterState::empty(platform);
        require(self.time_ms.is_finite(), || "state.time_ms".into(), self.time_ms, "a finite number")?;
        state.time = Time(self.time_ms);
        for (index, entry) in self.containers.iter().enumerate() {
            let field = |name: &str| format!("state.containers[{index}].{name}");
            require_known(entry.node.0, platform.topology.nodes.len(), || field("node"), "a known node")?;
            let functions = platform.functions.len();
            require_known(entry.function.0, functions, || field("function"), "a known function")?;
            let (need, have) = (platform.function(entry.function), platform.node(entry.node));
            let cores = Cores { milli: have.cores.milli - state.used_cores(entry.node).milli };
            require(
                entry.busy <= cores.milli / need.cores.milli,
                || field("busy"),
                format!("{} with {} each, while {cores} are free", entry.busy, need.cores),
                "no more busy containers than the node has cores for",
            )?;
            let held = state.used_memory(entry.node) + state.idle_memory(entry.node);
            let mut memory = Memory { mb: have.memory.mb - held.mb };
            require(
                entry.busy <= memory.mb / need.memory.mb,
                || field("busy"),
                format!("{} with {} each, while {memory} are free", entry.busy, need.memory),
                "no more busy containers than the node has memory for",
            )?;
            for _ in 0..entry.busy {
                state.start(platform, entry.function, entry.node, Container::New);
            }
            memory.mb -= entry.busy * need.memory.mb;
            require(
                entry.idle <= memory.mb / need.memory.mb,
                || field("idle"),
                format!("{} with {} each, while {memory} are free", entry.idle, need.memory),
                "no more idle containers than the node has memory for",
            )?;
            state.add_idle(platform, entry.function, entry.node, entry.idle);
        }
        Ok(state)
    }
}
