//! Small instances, by hand and from a tape of bytes, and every placement of a batch.

use scale_model::{
    ClusterState, Container, CoreMilliseconds, Cores, Decision, Function, FunctionId, Gigahertz, Instance,
    Links, Megabytes, MegabytesPerSecond, Memory, Milliseconds, Node, NodeId, Objective, Placement, Platform,
    Position, Request, RequestId, Slo, Time, Topology,
};

pub(crate) fn node(name: &str, milli: u32, mb: u32, registry: f64) -> Node {
    Node {
        name: name.into(),
        kind: 0,
        position: Position { latitude: -37.8, longitude: 144.9 },
        frequency: Gigahertz(3.0),
        cores: Cores { milli },
        memory: Memory { mb },
        registry_bandwidth: MegabytesPerSecond(registry),
    }
}

pub(crate) fn function(name: &str, milli: u32, mb: u32, image: f64, init: f64) -> Function {
    Function {
        name: name.into(),
        image: Megabytes(image),
        init: Milliseconds(init),
        memory: Memory { mb },
        cores: Cores { milli },
    }
}

pub(crate) fn request(id: u32, function: u32, source: u32, cpu: f64, input: f64, slo: f64) -> Request {
    Request {
        id: RequestId(id),
        function: FunctionId(function),
        source: NodeId(source),
        arrival: Time(1000.0),
        cpu_time: CoreMilliseconds(cpu),
        input: Megabytes(input),
        slo: Milliseconds(slo),
    }
}

pub(crate) fn run(node: u32, container: Container) -> Decision {
    Decision::Run { node: NodeId(node), container }
}

/// Two nodes, two functions; worked by hand in the tests that use it.
///
/// Node a: 1 core, 300 MB, registry 100 MB/s. Node b: 2 cores, 200 MB, 50 MB/s. 25 MB/s between them.
/// Function f: half a core, 100 MB, image 10 MB, init 50 ms: a cold start takes 150 ms on a and 250 ms on b.
/// Function g: one core, 150 MB, image 5 MB, init 20 ms: 70 ms on a, 120 ms on b.
/// At 1000 ms one container of f is idle on a, none is busy.
pub(crate) fn by_hand(objective: Objective, requests: Vec<Request>) -> Instance {
    let platform = Platform {
        topology: Topology {
            nodes: vec![node("a", 1000, 300, 100.0), node("b", 2000, 200, 50.0)],
            links: Links::from_fn(2, |_, _| MegabytesPerSecond(25.0)).unwrap(),
        },
        functions: vec![function("f", 500, 100, 10.0, 50.0), function("g", 1000, 150, 5.0, 20.0)],
    };
    let mut state = ClusterState::empty(&platform);
    state.time = Time(1000.0);
    state.add_idle(&platform, FunctionId(0), NodeId(0), 1);
    Instance { platform, state, requests, objective }
}

/// Choices from bytes: a case that fails shrinks to short tapes of small numbers, thus to small instances.
pub(crate) struct Tape<'a>(pub(crate) &'a [u8]);

impl Tape<'_> {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        usize::from(*first) % bound
    }
    pub(crate) fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

/// An instance of at most three nodes, two functions and `most` requests, with warm containers and partly used nodes.
/// All its numbers are small integers whose sums and quotients are exact, so that equalities and boundaries are hit.
pub(crate) fn tiny(tape: &[u8], most_nodes: usize, most_requests: usize) -> Instance {
    let mut tape = Tape(tape);
    let requests = 1 + tape.below(most_requests);
    let nodes = 1 + tape.below(most_nodes);
    let functions = 1 + tape.below(2);
    let objective = Objective {
        slo: match tape.below(3) {
            0 => Slo::Hard,
            _ => Slo::Elastic { penalty_ms: Milliseconds(tape.of(&[1000.0, 100.0, 0.0])) },
        },
        defer_penalty: Milliseconds(tape.of(&[2000.0, 100.0, 0.0])),
    };
    let nodes = (0..nodes)
        .map(|v| {
            let (cores, memory) = (tape.of(&[1000, 500, 1500, 2000]), tape.of(&[300, 100, 200, 400]));
            node(&format!("node{v}"), cores, memory, tape.of(&[100.0, 50.0]))
        })
        .collect::<Vec<_>>();
    let functions = (0..functions)
        .map(|j| {
            let (cores, memory) = (tape.of(&[500, 1000]), tape.of(&[100, 200]));
            function(&format!("f{j}"), cores, memory, tape.of(&[10.0, 0.0, 20.0]), tape.of(&[50.0, 0.0]))
        })
        .collect::<Vec<_>>();
    let links =
        Links::from_fn(nodes.len(), |_, _| MegabytesPerSecond(tape.of(&[50.0, 25.0, 100.0]))).unwrap();
    let platform = Platform { topology: Topology { nodes, links }, functions };
    let requests = (0..requests)
        .map(|k| {
            let function = tape.below(platform.functions.len()) as u32;
            let source = tape.below(platform.topology.nodes.len()) as u32;
            let (cpu, input) = (tape.of(&[50.0, 25.0, 100.0, 0.0]), tape.of(&[0.0, 1.0, 2.0]));
            let mut request =
                request(k as u32, function, source, cpu, input, tape.of(&[100.0, 200.0, 300.0, 50.0]));
            request.arrival = Time(1000.0 - tape.of(&[0.0, 50.0, 150.0]));
            request
        })
        .collect();
    let mut state = ClusterState::empty(&platform);
    state.time = Time(1000.0);
    for function in platform.function_ids() {
        for node in platform.node_ids() {
            let held = |state: &ClusterState| state.used_memory(node).mb + state.idle_memory(node).mb;
            let room = |state: &ClusterState| {
                held(state) + platform.function(function).memory.mb <= platform.node(node).memory.mb
            };
            let (busy, idle) = (tape.of(&[0, 1, 0]), tape.of(&[0, 1, 2, 0]));
            for _ in 0..busy {
                if room(&state) && state.fits(&platform, function, node) {
                    state.start(&platform, function, node, Container::New);
                }
            }
            for _ in 0..idle {
                if room(&state) {
                    state.add_idle(&platform, function, node, 1);
                }
            }
        }
    }
    Instance { platform, state, requests, objective }
}

/// Every placement of the batch, allowed or not: for each request to defer, or any node with any container.
pub(crate) fn placements(instance: &Instance) -> impl Iterator<Item = Placement> + use<> {
    let nodes = instance.platform.topology.nodes.len();
    let (options, requests) = (1 + 2 * nodes, instance.requests.len());
    (0..options.pow(requests as u32)).map(move |mut code| {
        let decisions = (0..requests)
            .map(|_| {
                let option = code % options;
                code /= options;
                match option.checked_sub(1) {
                    None => Decision::Defer,
                    Some(i) if i % 2 == 0 => run((i / 2) as u32, Container::Reuse),
                    Some(i) => run((i / 2) as u32, Container::New),
                }
            })
            .collect();
        Placement { decisions }
    })
}

/// Every order of `n` things.
pub(crate) fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    orders(n - 1)
        .into_iter()
        .flat_map(|order| {
            (0..n).map(move |at| {
                let mut order = order.clone();
                order.insert(at, n - 1);
                order
            })
        })
        .collect()
}

/// T_k from the paper's printed formulas, without a line of `scale_model::latency`: in milliseconds, exact for `tiny`.
pub(crate) fn latency_by_hand(instance: &Instance, index: usize, decision: Decision) -> f64 {
    let request = &instance.requests[index];
    let waited = instance.state.time.0 - request.arrival.0;
    let Decision::Run { node, container } = decision else {
        return waited;
    };
    let function = &instance.platform.functions[request.function.index()];
    let target = &instance.platform.topology.nodes[node.index()];
    let pull = function.image.0 / target.registry_bandwidth.0 * 1000.0;
    let start = if container == Container::New { pull + function.init.0 } else { 0.0 };
    let compute = request.cpu_time.0 / (f64::from(function.cores.milli) / 1000.0);
    let rate = instance.platform.topology.links.rate(request.source, node).0;
    let send = if request.source == node { 0.0 } else { request.input.0 / rate * 1000.0 };
    waited + send + compute + start
}
