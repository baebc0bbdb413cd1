//! Platforms and batches for tests and benches: by hand from tables, or at random from a seed.
#![allow(dead_code)] // Each test binary uses its own part.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scale_model::{
    ClusterState, Container, CoreMilliseconds, Cores, Function, FunctionId, Gigahertz, Instance, Links,
    Megabytes, MegabytesPerSecond, Memory, Milliseconds, Node, NodeId, Objective, Platform, Position,
    Request, RequestId, Time, Topology,
};

/// A node with so many thousandths of a core and so much memory, registry at 100 MB/s.
pub(crate) fn node(index: usize, milli: u32, mb: u32) -> Node {
    Node {
        name: format!("node-{index}"),
        kind: 0,
        position: Position { latitude: 0.0, longitude: 0.0 },
        frequency: Gigahertz(3.0),
        cores: Cores { milli },
        memory: Memory { mb },
        registry_bandwidth: MegabytesPerSecond(100.0),
    }
}

/// A function with so many thousandths of a core, so much memory and such an image; 80 ms to initialise.
pub(crate) fn function(index: usize, milli: u32, mb: u32, image_mb: f64) -> Function {
    Function {
        name: format!("function-{index}"),
        image: Megabytes(image_mb),
        init: Milliseconds(80.0),
        memory: Memory { mb },
        cores: Cores { milli },
    }
}

/// Nodes as (milli-cores, MB), functions as (milli-cores, MB, image MB), all links at 25 MB/s.
pub(crate) fn platform(nodes: &[(u32, u32)], functions: &[(u32, u32, f64)]) -> Platform {
    let links = Links::from_fn(nodes.len(), |_, _| MegabytesPerSecond(25.0)).expect("positive rates");
    Platform {
        topology: Topology {
            nodes: nodes.iter().enumerate().map(|(index, &(milli, mb))| node(index, milli, mb)).collect(),
            links,
        },
        functions: functions
            .iter()
            .enumerate()
            .map(|(index, &(milli, mb, image))| function(index, milli, mb, image))
            .collect(),
    }
}

/// A request of a function that enters at node 0 at time 0: 75 core-milliseconds, 0.5 MB, SLO 300 ms.
pub(crate) fn request(id: u32, function: u32) -> Request {
    Request {
        id: RequestId(id),
        function: FunctionId(function),
        source: NodeId(0),
        arrival: Time(0.0),
        cpu_time: CoreMilliseconds(75.0),
        input: Megabytes(0.5),
        slo: Milliseconds(300.0),
    }
}

/// A batch on an empty cluster under the elastic objective.
pub(crate) fn instance(platform: Platform, requests: Vec<Request>) -> Instance {
    let state = ClusterState::empty(&platform);
    Instance { platform, state, requests, objective: Objective::ELASTIC }
}

/// `count` busy containers of a function on a node.
pub(crate) fn busy(instance: &mut Instance, function: u32, node: u32, count: u32) {
    for _ in 0..count {
        instance.state.start(&instance.platform, FunctionId(function), NodeId(node), Container::New);
    }
}

/// `count` idle containers of a function on a node.
pub(crate) fn idle(instance: &mut Instance, function: u32, node: u32, count: u32) {
    instance.state.add_idle(&instance.platform, FunctionId(function), NodeId(node), count);
}

/// Size of a random instance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) nodes: usize,
    pub(crate) functions: usize,
    pub(crate) requests: usize,
    /// Mean share of the cores that is busy, about; that of a node is anything from 0 to twice as much.
    pub(crate) load: f64,
    /// Idle containers for each node, about.
    pub(crate) idle: usize,
}

/// A random instance like the paper's: nodes of 2.4 to 3.6 cores and 10 to 30 GB, functions of 0.45, 0.95 or 1.95
/// cores, SLOs of 200 to 400 ms, popular functions first. Some requests have waited already. Values are coarse, so
/// ties occur.
pub(crate) fn random(seed: u64, shape: Shape) -> Instance {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut platform = platform(&vec![(1, 1); shape.nodes], &vec![(1, 1, 0.0); shape.functions]);
    for node in &mut platform.topology.nodes {
        node.cores = Cores { milli: rng.random_range(24..=36) * 100 };
        node.memory = Memory { mb: rng.random_range(10..=30) * 1000 };
        node.registry_bandwidth = MegabytesPerSecond(f64::from(rng.random_range(12..=25) * 5));
    }
    platform.topology.links =
        Links::from_fn(shape.nodes, |_, _| MegabytesPerSecond(f64::from(rng.random_range(1..=20) * 5)))
            .expect("positive rates");
    for function in &mut platform.functions {
        function.cores = Cores { milli: [450, 950, 1950][rng.random_range(0..3_usize)] };
        function.memory = Memory { mb: [128, 256, 512, 1024, 4096][rng.random_range(0..5_usize)] };
        function.image = Megabytes(f64::from(rng.random_range(1..=60)));
        function.init = Milliseconds(f64::from(rng.random_range(2..=20) * 10));
    }
    let mut state = ClusterState::empty(&platform);
    state.time = Time(1000.0);
    // A square makes low ids popular.
    let popular = |rng: &mut ChaCha8Rng| {
        let share: f64 = rng.random();
        FunctionId((share * share * shape.functions as f64) as u32)
    };
    for node in platform.node_ids() {
        let share: f64 = 2.0 * shape.load * rng.random::<f64>();
        while state.used_cores(node).as_f64() < share * platform.node(node).cores.as_f64() {
            let function = popular(rng);
            if !state.fits(&platform, function, node) {
                break;
            }
            state.start(&platform, function, node, Container::New);
        }
        for _ in 0..shape.idle {
            let function = popular(rng);
            let memory =
                state.used_memory(node) + state.idle_memory(node) + platform.function(function).memory;
            if memory <= platform.node(node).memory {
                state.add_idle(&platform, function, node, 1);
            }
        }
    }
    let mut requests = Vec::with_capacity(shape.requests);
    for id in 0..shape.requests as u32 {
        let function = popular(rng);
        // 80 to 180 ms of computation, whatever the function's share of a node.
        let comp = Milliseconds(f64::from(rng.random_range(8..=18) * 10));
        requests.push(Request {
            id: RequestId(id),
            function,
            source: NodeId(rng.random_range(0..shape.nodes as u32)),
            arrival: if rng.random_range(0..8) == 0 { Time(700.0) } else { Time(1000.0) },
            cpu_time: platform.function(function).cores * comp,
            input: Megabytes(f64::from(rng.random_range(0..=20)) / 10.0),
            slo: Milliseconds(f64::from(rng.random_range(20..=40) * 10)),
        });
    }
    Instance { platform, state, requests, objective: Objective::ELASTIC }
}
