//! Batches for tests, benches and examples, from a seed, and a brute force for the small ones.
#![allow(dead_code)] // Each binary uses its own part.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scale_model::{
    BatchProblem, ClusterState, Container, CoreMilliseconds, Cores, Decision, Function, FunctionId,
    Gigahertz, Instance, Links, Megabytes, MegabytesPerSecond, Memory, Milliseconds, Node, NodeId, Objective,
    Placement, Platform, Position, Request, RequestId, Time, Topology, evaluate, latency, violations,
};

/// A node with so many thousandths of a core and so much memory.
fn node(index: usize, milli: u32, mb: u32, registry: f64) -> Node {
    Node {
        name: format!("node-{index}"),
        kind: 0,
        position: Position { latitude: 0.0, longitude: 0.0 },
        frequency: Gigahertz(3.0),
        cores: Cores { milli },
        memory: Memory { mb },
        registry_bandwidth: MegabytesPerSecond(registry),
    }
}

/// Draws an index with probability proportional to 1 / (index + 1)^exponent.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(count: usize, exponent: f64) -> Zipf {
        let mut sum = 0.0;
        Zipf(
            (0..count)
                .map(|index| {
                    sum += (index as f64 + 1.0).powf(-exponent);
                    sum
                })
                .collect(),
        )
    }

    fn total(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }

    fn draw(&self, rng: &mut ChaCha8Rng) -> usize {
        let ticket = rng.random::<f64>() * self.total();
        self.0.partition_point(|&sum| sum <= ticket).min(self.0.len() - 1)
    }
}

/// A batch whose nodes are as full as `load` says: a random assignment in time is drawn, and each node gets the cores
/// and the memory that the assignment uses, divided by `load`. So there is an assignment, and both resources bind on
/// every node. 125 nodes, 200 functions; popular functions have more idle containers. The recipe of the study that
/// the figures for other solvers come from.
pub(crate) fn planted(seed: u64, requests: usize, load: f64) -> Instance {
    const NODES: usize = 125;
    const FUNCTIONS: usize = 200;
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let places: Vec<(f64, f64)> = (0..NODES).map(|_| (rng.random(), rng.random())).collect();
    let registries: Vec<f64> = (0..10).map(|_| 125.0 * 10.0_f64.powf(rng.random::<f64>())).collect();
    let nodes = (0..NODES).map(|v| node(v, 1, 1, registries[rng.random_range(0..10)])).collect();
    let links = Links::from_fn(NODES, |s, v| {
        let ((x, y), (p, q)) = (places[s.index()], places[v.index()]);
        MegabytesPerSecond(5.0 + 95.0 * (-3.0 * ((x - p).powi(2) + (y - q).powi(2)).sqrt()).exp())
    })
    .expect("positive rates");
    let mut slos = Vec::new();
    let functions = (0..FUNCTIONS)
        .map(|index| {
            slos.push(200.0 + 200.0 * rng.random::<f64>());
            let memory = [128, 256, 512, 1024, 2048][rng.random_range(0..5)];
            Function {
                name: format!("function-{index}"),
                image: Megabytes(5.0 + 45.0 * rng.random::<f64>()),
                init: Milliseconds(1500.0 / f64::from(memory).sqrt()),
                memory: Memory { mb: memory },
                cores: Cores { milli: [250, 500, 1000, 2000, 4000][rng.random_range(0..5)] },
            }
        })
        .collect();
    let mut platform = Platform { topology: Topology { nodes, links }, functions };
    let popular = Zipf::new(FUNCTIONS, 1.0);
    let sources = Zipf::new(NODES, 0.8);

    let mut idle = vec![0_u32; FUNCTIONS * NODES];
    for j in 0..FUNCTIONS {
        let mean = (6.0 / (j as f64 + 1.0) / popular.total()).min(2.0);
        for count in &mut idle[j * NODES..][..NODES] {
            let mut product = rng.random::<f64>();
            while product > (-mean).exp() {
                *count += 1;
                product *= rng.random::<f64>();
            }
        }
    }
    let mut left = idle.clone();
    let mut used = vec![(0_u32, 0_u32); NODES];
    let mut batch = Vec::with_capacity(requests);
    for id in 0..requests as u32 {
        let j = popular.draw(rng);
        let function = FunctionId(j as u32);
        let comp = Milliseconds(60.0 + 120.0 * rng.random::<f64>());
        let request = Request {
            id: RequestId(id),
            function,
            source: NodeId(sources.draw(rng) as u32),
            arrival: Time(0.0),
            cpu_time: platform.function(function).cores * comp,
            input: Megabytes(0.1 + 2.0 * rng.random::<f64>()),
            slo: Milliseconds(slos[j]),
        };
        let container = |left: &[u32], v: usize| {
            if left[j * NODES + v] > 0 { Container::Reuse } else { Container::New }
        };
        let in_time: Vec<usize> = (0..NODES)
            .filter(|&v| {
                let node = NodeId(v as u32);
                latency::predict(&platform, &request, node, container(&left, v), Time(0.0)).total()
                    <= request.slo
            })
            .collect();
        let v = if in_time.is_empty() {
            rng.random_range(0..NODES)
        } else {
            in_time[rng.random_range(0..in_time.len())]
        };
        left[j * NODES + v] = left[j * NODES + v].saturating_sub(1);
        used[v].0 += platform.function(function).cores.milli;
        used[v].1 += platform.function(function).memory.mb;
        batch.push(request);
    }
    for (v, &(milli, mb)) in used.iter().enumerate() {
        // What idle containers hold fits too, as in any state that can be reached.
        let held: u32 = (0..FUNCTIONS).map(|j| idle[j * NODES + v] * platform.functions[j].memory.mb).sum();
        let node = &mut platform.topology.nodes[v];
        node.cores.milli = ((f64::from(milli) / load).ceil() as u32).max(1);
        node.memory.mb = ((f64::from(mb) / load).ceil() as u32).max(held).max(1);
    }
    let mut state = ClusterState::empty(&platform);
    for j in 0..FUNCTIONS {
        for v in 0..NODES {
            state.add_idle(&platform, FunctionId(j as u32), NodeId(v as u32), idle[j * NODES + v]);
        }
    }
    Instance { platform, state, requests: batch, objective: Objective::ELASTIC }
}

/// A batch small enough for [`brute_force`]: 1 to 3 nodes, 1 or 2 functions, so tight that some requests wait, so late
/// that some are late.
pub(crate) fn tiny(seed: u64, objective: Objective) -> Instance {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let count = rng.random_range(1..=3_usize);
    let nodes = (0..count)
        .map(|v| node(v, rng.random_range(1..=5) * 500, rng.random_range(1..=5) * 256, 100.0))
        .collect();
    let links = Links::from_fn(count, |_, _| MegabytesPerSecond(f64::from(rng.random_range(1..=10) * 5)))
        .expect("positive rates");
    let functions = (0..rng.random_range(1..=2_usize))
        .map(|index| Function {
            name: format!("function-{index}"),
            image: Megabytes(f64::from(rng.random_range(1..=30))),
            init: Milliseconds(f64::from(rng.random_range(2..=10) * 10)),
            memory: Memory { mb: [128, 256, 512][rng.random_range(0..3)] },
            cores: Cores { milli: [250, 500, 1000][rng.random_range(0..3)] },
        })
        .collect();
    let platform = Platform { topology: Topology { nodes, links }, functions };
    let mut state = ClusterState::empty(&platform);
    state.time = Time(1000.0);
    for node in platform.node_ids() {
        for function in platform.function_ids() {
            if rng.random_range(0..4) == 0 && state.fits(&platform, function, node) {
                state.start(&platform, function, node, Container::New);
            }
            if rng.random_range(0..2) == 0 {
                state.add_idle(&platform, function, node, rng.random_range(1..=2));
            }
        }
    }
    let requests = (0..rng.random_range(1..=5_u32))
        .map(|id| {
            let function = FunctionId(rng.random_range(0..platform.functions.len() as u32));
            Request {
                id: RequestId(id),
                function,
                source: NodeId(rng.random_range(0..count as u32)),
                arrival: Time([1000.0, 1000.0, 600.0][rng.random_range(0..3)]),
                cpu_time: CoreMilliseconds(
                    platform.function(function).cores.as_f64() * f64::from(rng.random_range(8..=18) * 10),
                ),
                input: Megabytes(f64::from(rng.random_range(0..=20)) / 10.0),
                slo: Milliseconds(f64::from(rng.random_range(20..=40) * 10)),
            }
        })
        .collect();
    Instance { platform, state, requests, objective }
}

/// The least objective over all placements without violations.
pub(crate) fn brute_force(problem: &BatchProblem<'_>) -> Option<f64> {
    let mut options = vec![Decision::Defer];
    for node in problem.platform.node_ids() {
        for container in [Container::Reuse, Container::New] {
            options.push(Decision::Run { node, container });
        }
    }
    let mut digits = vec![0_usize; problem.requests.len()];
    let mut best: Option<f64> = None;
    loop {
        let placement = Placement { decisions: digits.iter().map(|&digit| options[digit]).collect() };
        if violations(problem, &placement).is_empty() {
            let objective = evaluate(problem, &placement).objective;
            best = Some(best.map_or(objective, |best| best.min(objective)));
        }
        let Some(place) = digits.iter().position(|&digit| digit + 1 < options.len()) else {
            return best;
        };
        digits[place] += 1;
        digits[..place].fill(0);
    }
}
