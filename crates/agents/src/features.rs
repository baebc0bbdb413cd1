//! What the preset `scale` looks at: a few candidate nodes for the request at hand, and for each of them what the
//! equations say, what the batch still holds, and what the past says about the demand to come.
//!
//! # Candidates
//! Nodes are walked from the source outwards, fastest link first. The first [`WARM`] that fit and have an idle container
//! of the function are candidates for a reuse, the first [`COLD`] that fit and have none for a new container; the last of
//! these gives its place to a node farther away that starts the container so much faster that the request ends sooner. So
//! what greedy takes is always among them, no allocation is made, and the scorer looks at a bounded neighbourhood whatever
//! the size of the network. Without the last rule a scorer without weights lost 3 % against greedy where cold starts are
//! dear: the nearest nodes may all have slow registries.
//!
//! # Memory
//! What is remembered comes from requests that are in a batch at the instant at which they arrive. Each adds, for its function, a
//! weight to every node: [`NEAR_MS`] / ([`NEAR_MS`] + T_comm of one megabyte), 1 at its source and less the farther away. Weights
//! decay with the number of requests that are remembered, not with time, over [`MEMORY`] of them, so the numbers mean the same in a
//! calm hour and in a busy one.
//!
//! Who finds no room on arrival is never remembered: the simulator puts such a request into no batch until some node has room, and by
//! then nothing tells it from one that was deferred, which was remembered when it arrived. So demand, popularity and pressure say what is asked
//! of the cluster as long as it has room for every function, and too little of it under overload. The weights of [`VERSION`] are
//! trained on memories of this kind.
//!
//! # Scale
//! What is the same for all options of a decision would cancel out of a linear scorer, so it comes as a product with what
//! differs: how popular the function is counts where a container would be started, how full the cluster is counts by the
//! core-time that an option holds beyond the computation itself. Times are divided by 100 ms, counts are taken relative to capacity or in logarithms: no feature depends on the number
//! of nodes or functions, which is why weights trained on one network serve another.

use scale_model::{
    BatchProblem, ClusterState, Container, Decision, Latency, Megabytes, MegabytesPerSecond, NodeId,
    Platform, Request, latency,
};

/// Candidates for a reuse.
pub const WARM: usize = 8;
/// Candidates for a new container.
pub const COLD: usize = 8;
/// Options of one decision at most.
pub const OPTIONS: usize = WARM + COLD;
/// Features of an option, in the order of [`NAMES`].
pub const FEATURES: usize = NAMES.len();
/// Requests over which the memory fades: after so many, what is remembered counts 1 / e.
pub const MEMORY: f32 = 20_000.0;
/// T_comm of one megabyte at which a node counts half as near as the source, in ms.
pub const NEAR_MS: f32 = 20.0;
/// Version of the features and of the order of decisions: weights of another version are refused.
pub const VERSION: u32 = 3;

/// Names of the features.
pub const NAMES: [&str; 25] = [
    "cold",
    "comm",
    "late",
    "slack",
    "hopeless",
    "regret",
    "load",
    "crowded",
    "slots",
    "evicts",
    "memory",
    "idle",
    "busy",
    "local",
    "demand",
    "containers",
    "popularity",
    "pressure",
    "cluster-load",
    "overload",
    "cold-demand",
    "batch-cores",
    "batch-function",
    "saving",
    "return",
];

/// The options of one decision.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many there are; 0: the request must be deferred.
    pub len: usize,
    /// What each option is.
    pub decisions: [Decision; OPTIONS],
    /// What each takes.
    pub latencies: [Latency; OPTIONS],
    /// T_cold + T_comm in units of 100 ms: what greedy compares. Infinite where there is no option.
    pub costs: [f32; OPTIONS],
    /// One row a feature, one column an option; zero where there is no option.
    pub rows: [[f32; OPTIONS]; FEATURES],
}

impl Options {
    /// No option.
    pub fn none() -> Options {
        Options {
            len: 0,
            decisions: [Decision::Defer; OPTIONS],
            latencies: [Latency::default(); OPTIONS],
            costs: [f32::INFINITY; OPTIONS],
            rows: [[0.0; OPTIONS]; FEATURES],
        }
    }

    /// Whether every option ends later than the request's SLO allows.
    pub fn late(&self, request: &Request) -> bool {
        hopeless(&self.latencies[..self.len], request)
    }
}

/// Tables of the platform, and what is remembered of the requests so far.
#[derive(Clone, Debug)]
pub struct Features {
    nodes: usize,
    /// What the platform is recognised by.
    marks: Vec<[f64; 3]>,
    /// By source: all nodes, fastest link first, the source itself in front.
    order: Vec<u32>,
    /// By source and node: how near the node is, from 0 to 1.
    near: Vec<f32>,
    /// By function and node, its row's sum of what the requests of the function weigh there, times `gain`.
    demand: Vec<f32>,
    /// By function: its requests, times `gain`.
    popularity: Vec<f32>,
    /// By node: cores that requests near it asked for, over its own cores, times `gain`.
    pressure: Vec<f32>,
    /// Sum of `pressure`.
    pressure_total: f32,
    /// What a request counts now: grows instead of everything else shrinking.
    gain: f32,
    /// By node: 1 / thousandths of a core.
    per_milli: Vec<f32>,
    used_cores: f32,
    total_cores: f32,
    /// The fastest registry of all nodes.
    registry: MegabytesPerSecond,
    /// Requests of the batch that are not decided.
    left: usize,
    /// By node: cores that those from there ask for.
    batch_cores: Vec<f32>,
    /// By function and node: how many they are.
    batch_requests: Vec<u16>,
}

impl Features {
    /// Tables for a platform, and nothing remembered.
    pub fn new(platform: &Platform) -> Features {
        let nodes = platform.topology.nodes.len();
        let functions = platform.functions.len();
        let (mut order, mut near) = (Vec::with_capacity(nodes * nodes), Vec::with_capacity(nodes * nodes));
        for source in platform.node_ids() {
            let rates = platform.topology.links.row(source);
            let start = order.len();
            order.extend(0..nodes as u32);
            order[start..]
                .sort_by(|&a, &b| rates[b as usize].0.total_cmp(&rates[a as usize].0).then(a.cmp(&b)));
            near.extend(rates.iter().map(|&rate| {
                let ms = (Megabytes(1.0) / rate).0 as f32;
                NEAR_MS / (NEAR_MS + ms)
            }));
        }
        Features {
            nodes,
            marks: marks(platform).collect(),
            order,
            near,
            demand: vec![0.0; functions * nodes],
            popularity: vec![0.0; functions],
            pressure: vec![0.0; nodes],
            pressure_total: 0.0,
            gain: 1.0,
            per_milli: platform.topology.nodes.iter().map(|node| 1.0 / node.cores.milli as f32).collect(),
            used_cores: 0.0,
            total_cores: platform.topology.total_cores() as f32,
            registry: MegabytesPerSecond(
                platform.topology.nodes.iter().map(|node| node.registry_bandwidth.0).fold(0.0, f64::max),
            ),
            left: 0,
            batch_cores: vec![0.0; nodes],
            batch_requests: vec![0; functions * nodes],
        }
    }

    /// Whether this is the platform that the tables are of. Looked at are, for each node, its cores, its registry bandwidth and its
    /// link to the next node (the last one's to the first), and for each function its cores, image and initialisation: not all of
    /// the links, since this is asked for every batch. So every node has two of its links looked at, and a platform with other
    /// nodes, functions or places is not this one; one that differs in nothing but other links passes for it.
    pub fn are_of(&self, platform: &Platform) -> bool {
        self.nodes == platform.topology.nodes.len() && marks(platform).eq(self.marks.iter().copied())
    }

    /// The tables that are kept, if they [are of](Self::are_of) this platform; otherwise new ones, with nothing remembered.
    pub(crate) fn kept<'a>(kept: &'a mut Option<Features>, platform: &Platform) -> &'a mut Features {
        kept.take_if(|features| !features.are_of(platform));
        kept.get_or_insert_with(|| Features::new(platform))
    }

    /// A new batch: its requests are remembered, and counted as left. Call it once for each batch, in order.
    pub fn begin(&mut self, problem: &BatchProblem<'_>) {
        let platform = problem.platform;
        if self.left > 0 {
            self.batch_requests.fill(0);
        }
        self.batch_cores.fill(0.0);
        self.left = problem.requests.len();
        for request in problem.requests {
            let source = request.source.index();
            self.batch_cores[source] += platform.function(request.function).cores.milli as f32;
            self.batch_requests[request.function.index() * self.nodes + source] += 1;
            // Who waited is not remembered: of those the deferred ones were, when they arrived, and the ones that found no room then
            // never are (see the module).
            if request.arrival == problem.now() {
                self.remember(platform, request);
            }
        }
        self.pressure_total = self.pressure.iter().sum();
        let used = |node| problem.state.used_cores(node).as_f64() as f32;
        self.used_cores = platform.node_ids().map(used).sum();
    }

    /// The options of request `k` of the batch in this state, written over `options`.
    pub fn look(&self, problem: &BatchProblem<'_>, state: &ClusterState, k: usize, options: &mut Options) {
        let request = &problem.requests[k];
        self.find(problem, state, request, options);
        if options.len > 0 {
            self.describe(problem.platform, state, request, options);
        }
    }

    /// Request `k` is decided: it is no longer left. Call it once for each request of a batch, in any order.
    pub fn decided(&mut self, problem: &BatchProblem<'_>, k: usize) {
        let request = &problem.requests[k];
        let source = request.source.index();
        self.batch_cores[source] -= problem.platform.function(request.function).cores.milli as f32;
        self.batch_requests[request.function.index() * self.nodes + source] -= 1;
        self.left -= 1;
    }

    /// The candidates: see the module.
    fn find(&self, batch: &BatchProblem<'_>, state: &ClusterState, request: &Request, options: &mut Options) {
        let platform = batch.platform;
        let idle = state.idle_row(request.function);
        let function = platform.function(request.function);
        // No new container starts sooner than this.
        let start = function.image / self.registry + function.init;
        let (mut warm, mut cold, mut len) = (0, 0, 0);
        let (mut last_cold, mut least, mut cold_done) = (0, f64::INFINITY, false);
        for &node in &self.order[request.source.index() * self.nodes..][..self.nodes] {
            let id = NodeId(node);
            let container = if idle[node as usize] > 0 { Container::Reuse } else { Container::New };
            let new = container == Container::New;
            let full = if new { cold_done } else { warm == WARM };
            if full || !state.fits(platform, request.function, id) {
                continue;
            }
            let latency = latency::predict(platform, request, id, container, batch.now());
            let cost = (latency.cold + latency.comm).0;
            let slot = if new && cold == COLD {
                // T_comm only grows along the walk.
                cold_done = (latency.comm + start).0 >= least;
                if cost >= least {
                    continue;
                }
                last_cold
            } else {
                len += 1;
                len - 1
            };
            if new {
                cold = COLD.min(cold + 1);
                (last_cold, least) = (slot, least.min(cost));
            } else {
                warm += 1;
            }
            options.decisions[slot] = Decision::Run { node: id, container };
            options.latencies[slot] = latency;
            options.costs[slot] = cost as f32 / 100.0;
            if warm == WARM && cold_done {
                break;
            }
        }
        options.len = len;
        options.costs[len..].fill(f32::INFINITY);
    }

    /// The features of the options that were found.
    fn describe(&self, platform: &Platform, state: &ClusterState, request: &Request, options: &mut Options) {
        let function = platform.function(request.function);
        let Options { len, decisions, latencies, costs, rows } = options;
        let pairs = request.function.index() * self.nodes;
        let source = request.source.index();
        let best = costs[..*len].iter().copied().fold(f32::INFINITY, f32::min);
        let hopeless = hopeless(&latencies[..*len], request);
        // T_comm of the nearest idle container that fits: what a request like this one pays while nothing changes.
        let nearest_warm = (0..*len)
            .find(|&option| matches!(decisions[option], Decision::Run { container: Container::Reuse, .. }))
            .map(|option| latencies[option].comm.0 as f32);
        let known = 1.0 / self.gain;
        let rows_of = [state.idle_row(request.function), state.busy_row(request.function)];
        let containers = log1p(rows_of.map(|row| row.iter().sum::<u32>()).iter().sum::<u32>() as f32) / 6.0;
        let popularity = log1p(self.popularity[request.function.index()] * known) / 10.0;
        let cluster_load = self.used_cores / self.total_cores;
        let overload = ((cluster_load - 0.7) / 0.3).max(0.0);
        let cores = function.cores.as_f64() as f32;
        for row in rows.iter_mut() {
            row[*len..].fill(0.0);
        }
        for option in 0..*len {
            let Decision::Run { node, container } = decisions[option] else { continue };
            let v = node.index();
            let have = platform.node(node);
            let new = container == Container::New;
            let latency = &latencies[option];
            let (cold, comm) = (latency.cold.0 as f32 / 100.0, latency.comm.0 as f32 / 100.0);
            let slack = (request.slo.0 - latency.total().0) as f32 / 100.0;
            let capacity = have.cores.milli as f32;
            let free = capacity - state.used_cores(node).milli as f32;
            let left = free - function.cores.milli as f32;
            let load = 1.0 - left / capacity;
            let held = state.used_memory(node).mb
                + state.idle_memory(node).mb
                + if new { function.memory.mb } else { 0 };
            let memory = held as f32 / have.memory.mb as f32;
            let idle = state.idle(request.function, node) as f32 - if new { 0.0 } else { 1.0 };
            let demand = self.demand[pairs + v] * known;
            let pressure = self.nodes as f32 * self.pressure[v] / self.pressure_total.max(1e-6);
            let saving = match (new, nearest_warm) {
                (true, Some(warm)) => (warm / 100.0 - comm).clamp(-1.0, 3.0),
                (true, None) => 3.0,
                (false, _) => 0.0,
            };
            let mut feature = 0;
            let mut put = |value: f32| {
                rows[feature][option] = value;
                feature += 1;
            };
            put(cold);
            put(comm.min(5.0));
            put(f32::from(slack < 0.0));
            put(slack.clamp(-2.0, 2.0));
            put(if hopeless { costs[option].min(3.0) } else { 0.0 });
            put((costs[option] - best).min(3.0));
            put(load);
            put((load - 0.8).max(0.0) * 5.0);
            put((left / function.cores.milli as f32).min(8.0) / 8.0);
            put(f32::from(held > have.memory.mb));
            put(memory.min(2.0));
            put(idle.min(8.0) / 8.0);
            put((state.busy(request.function, node) as f32).min(8.0) / 8.0);
            put(f32::from(v == source));
            put(log1p(demand) / 8.0);
            put(if new { containers } else { 0.0 });
            put(if new { popularity } else { 0.0 });
            put((pressure.max(1e-3).ln() / 2.0).clamp(-2.0, 2.0));
            put(cores * costs[option].min(10.0) * cluster_load);
            put(cores * costs[option].min(10.0) * overload);
            put(cold * log1p(demand) / 8.0);
            let (own_cores, own) = if v == source { (function.cores.milli as f32, 1.0) } else { (0.0, 0.0) };
            put(((self.batch_cores[v] - own_cores) / left.max(1.0)).min(2.0));
            put((f32::from(self.batch_requests[pairs + v]) - own - idle).clamp(-4.0, 4.0) / 4.0);
            put(saving);
            put((saving * demand / 10.0).clamp(-2.0, 4.0));
        }
    }

    fn remember(&mut self, platform: &Platform, request: &Request) {
        self.gain *= 1.0 + 1.0 / MEMORY;
        if self.gain > 1e6 {
            let shrink = 1.0 / self.gain;
            for table in [&mut self.demand, &mut self.popularity, &mut self.pressure] {
                table.iter_mut().for_each(|value| *value *= shrink);
            }
            self.gain = 1.0;
        }
        let near = &self.near[request.source.index() * self.nodes..][..self.nodes];
        let demand = &mut self.demand[request.function.index() * self.nodes..][..self.nodes];
        let cores = platform.function(request.function).cores.milli as f32 * self.gain;
        for v in 0..self.nodes {
            demand[v] += near[v] * self.gain;
            self.pressure[v] += near[v] * cores * self.per_milli[v];
        }
        self.popularity[request.function.index()] += self.gain;
    }
}

/// What a platform is recognised by: see [`Features::are_of`].
fn marks(platform: &Platform) -> impl Iterator<Item = [f64; 3]> {
    let nodes = platform.node_ids().map(move |v| {
        let next = NodeId((v.0 + 1) % platform.topology.nodes.len() as u32);
        let node = platform.node(v);
        [f64::from(node.cores.milli), node.registry_bandwidth.0, platform.topology.links.rate(v, next).0]
    });
    let functions = platform.functions.iter();
    nodes.chain(functions.map(|f| [f64::from(f.cores.milli), f.image.0, f.init.0]))
}

/// Whether none of these is in time.
fn hopeless(latencies: &[Latency], request: &Request) -> bool {
    latencies.iter().all(|latency| latency.total() > request.slo)
}

/// ln(1 + x).
#[inline]
fn log1p(x: f32) -> f32 {
    x.ln_1p()
}
