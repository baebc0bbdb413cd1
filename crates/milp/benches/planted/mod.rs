//! Batches with a planted placement: the load is met on every node, on cores and on memory.
//!
//! Nodes lie in the unit square; a link's rate falls with the distance. Functions and sources are drawn by Zipf's law.
//! Each request gets a random node where it ends in time (an idle container first), and each node's free cores and
//! memory are what its requests need, divided by the load. So load = CPU demand of the batch over free cores, and at 0.95
//! a placement of all requests in time exists but is hard to find. Nodes without a planted request have no room.
//! A harder case than one in a simulation: there, free memory is at least that of the idle containers.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use scale_model::{
    ClusterState, Container, CoreMilliseconds, Cores, Function, FunctionId, Gigahertz, Instance, Links,
    Megabytes, MegabytesPerSecond, Memory, Milliseconds, Node, NodeId, Objective, Platform, Position,
    Request, RequestId, Time, Topology, latency,
};

/// What to draw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planted {
    /// Seed of all draws.
    pub(crate) seed: u64,
    /// Number of nodes.
    pub(crate) nodes: usize,
    /// Number of functions.
    pub(crate) functions: usize,
    /// Number of requests.
    pub(crate) requests: usize,
    /// CPU demand of the batch over free cores.
    pub(crate) load: f64,
    /// What to minimise.
    pub(crate) objective: Objective,
}

struct Draw(ChaCha8Rng);

impl Draw {
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, count: usize) -> usize {
        ((self.unit() * count as f64) as usize).min(count - 1)
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// An index by weight.
    fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut left = self.unit() * weights.iter().sum::<f64>();
        for (index, weight) in weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 {
                return index;
            }
        }
        weights.len() - 1
    }

    fn poisson(&mut self, mean: f64) -> u32 {
        let (limit, mut product, mut count) = ((-mean).exp(), self.unit(), 0);
        while product > limit {
            product *= self.unit();
            count += 1;
        }
        count
    }
}

fn zipf(count: usize, exponent: f64) -> Vec<f64> {
    (1..=count).map(|rank| (rank as f64).powf(-exponent)).collect()
}

/// Draws a batch.
pub(crate) fn planted(what: &Planted) -> Instance {
    let Planted { seed, nodes, functions: kinds, requests: count, load, objective } = *what;
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(seed));
    let places: Vec<(f64, f64)> = (0..nodes).map(|_| (draw.unit(), draw.unit())).collect();
    let bandwidth: Vec<f64> = (0..nodes).map(|_| 125.0 * [1.0, 2.0, 4.0, 10.0][draw.below(4)]).collect();
    let links = Links::from_fn(nodes, |s, v| {
        let ((x, y), (u, w)) = (places[s.index()], places[v.index()]);
        MegabytesPerSecond(60.0 / (1.0 + 6.0 * (x - u).hypot(y - w)))
    });
    let functions: Vec<Function> = (0..kinds)
        .map(|index| Function {
            name: format!("f{index}"),
            image: Megabytes(draw.between(10.0, 80.0)),
            init: Milliseconds(draw.between(20.0, 120.0)),
            memory: Memory { mb: [128, 256, 512, 1024, 2048][draw.below(5)] },
            cores: Cores { milli: [250, 500, 1000, 2000, 4000][draw.weighted(&[3.0, 4.0, 4.0, 2.0, 1.0])] },
        })
        .collect();
    let durations: Vec<f64> = (0..kinds).map(|_| draw.between(60.0, 160.0)).collect();
    let slos: Vec<f64> = durations.iter().map(|comp| comp + draw.between(100.0, 240.0)).collect();
    let popular = zipf(kinds, 1.0);
    let node = |index: usize| Node {
        name: format!("n{index}"),
        kind: 0,
        position: Position { latitude: places[index].0, longitude: places[index].1 },
        frequency: Gigahertz(3.0),
        cores: Cores { milli: 1 },
        memory: Memory { mb: 1 },
        registry_bandwidth: MegabytesPerSecond(bandwidth[index]),
    };
    let mut platform = Platform {
        topology: Topology { nodes: (0..nodes).map(node).collect(), links: links.expect("rates above 0") },
        functions,
    };
    let mut state = ClusterState::empty(&platform);
    for j in platform.function_ids() {
        for v in platform.node_ids() {
            let mean = 2.0 * (popular[j.index()] * 10.0).min(1.0) * 0.5;
            state.add_idle(&platform, j, v, draw.poisson(mean));
        }
    }
    let sources = zipf(nodes, 0.8);
    let requests: Vec<Request> = (0..count as u32)
        .map(|id| {
            let j = draw.weighted(&popular);
            let factor = draw.between(0.8, 1.2);
            Request {
                id: RequestId(id),
                function: FunctionId(j as u32),
                source: NodeId(draw.weighted(&sources) as u32),
                arrival: Time(0.0),
                cpu_time: CoreMilliseconds(
                    (durations[j] * factor).round() * platform.functions[j].cores.as_f64(),
                ),
                input: Megabytes((draw.between(0.1, 2.0) * 10.0).round() / 10.0),
                slo: Milliseconds(slos[j].round()),
            }
        })
        .collect();
    let (mut cores, mut memory) = (vec![0.0; nodes], vec![0.0; nodes]);
    let mut idle = state.clone();
    for request in &requests {
        let mut choices: Vec<(NodeId, Container)> = Vec::new();
        for container in [Container::Reuse, Container::New] {
            for v in platform.node_ids() {
                let free = container == Container::New || idle.idle(request.function, v) > 0;
                let parts = latency::predict(&platform, request, v, container, Time(0.0));
                if free && parts.total() <= request.slo {
                    choices.push((v, container));
                }
            }
        }
        let (v, container) = match choices.len() {
            0 => (request.source, Container::New),
            len => choices[draw.below(len)],
        };
        if container == Container::Reuse {
            idle.evict(&platform, request.function, v);
        }
        let need = platform.function(request.function);
        cores[v.index()] += f64::from(need.cores.milli);
        memory[v.index()] += f64::from(need.memory.mb);
    }
    for (v, node) in platform.topology.nodes.iter_mut().enumerate() {
        node.cores = Cores { milli: ((cores[v] / load).ceil() as u32).max(1) };
        node.memory = Memory { mb: ((memory[v] / load).ceil() as u32).max(1) };
    }
    Instance { platform, state, requests, objective }
}
