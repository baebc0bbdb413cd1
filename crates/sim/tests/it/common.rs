//! Small platforms and workloads, schedulers as closures, an observer that writes everything down.

use scale_model::{
    BatchProblem, ClusterState, Container, CoreMilliseconds, Cores, Decision, Function, FunctionId,
    Gigahertz, Links, Megabytes, MegabytesPerSecond, Memory, Milliseconds, Node, NodeId, Objective, Outcome,
    Platform, Position, Request, RequestId, Scheduler, Slo, Time, Topology, Workload,
};
use scale_sim::{Observer, Policy, Rejection, SimConfig, SimError, Summary, simulate};

pub(crate) const CONFIG: SimConfig = SimConfig {
    keep_alive: Milliseconds(1000.0),
    patience: None,
    warmup_until: Time(0.0),
    objective: Objective::ELASTIC,
    verify: true,
};

pub(crate) fn node(milli: u32, mb: u32) -> Node {
    Node {
        name: String::new(),
        kind: 0,
        position: Position { latitude: 0.0, longitude: 0.0 },
        frequency: Gigahertz(3.0),
        cores: Cores { milli },
        memory: Memory { mb },
        registry_bandwidth: MegabytesPerSecond(100.0),
    }
}

/// A cold start takes `image` times 10 ms at 100 MB/s, and `init`.
pub(crate) fn function(milli: u32, mb: u32, image: f64, init: f64) -> Function {
    Function {
        name: String::new(),
        image: Megabytes(image),
        init: Milliseconds(init),
        memory: Memory { mb },
        cores: Cores { milli },
    }
}

/// Half a core, 100 MB, cold start 50 + 50 = 100 ms.
pub(crate) fn half() -> Function {
    function(500, 100, 5.0, 50.0)
}

/// Nodes 50 MB/s apart; names from the indices.
pub(crate) fn platform(mut nodes: Vec<Node>, mut functions: Vec<Function>) -> Platform {
    nodes.iter_mut().enumerate().for_each(|(index, node)| node.name = format!("node{index}"));
    functions.iter_mut().enumerate().for_each(|(index, function)| function.name = format!("f{index}"));
    let links = Links::from_fn(nodes.len(), |_, _| MegabytesPerSecond(50.0)).unwrap();
    Platform { topology: Topology { nodes, links }, functions }
}

/// 50 core-milliseconds: 100 ms on half a core. Enters at node 0 with 1 MB: 20 ms to another node.
pub(crate) fn request(arrival: f64, function: u32) -> Request {
    Request {
        id: RequestId(0),
        function: FunctionId(function),
        source: NodeId(0),
        arrival: Time(arrival),
        cpu_time: CoreMilliseconds(50.0),
        input: Megabytes(1.0),
        slo: Milliseconds(250.0),
    }
}

/// Numbers the requests.
pub(crate) fn workload(mut requests: Vec<Request>) -> Workload {
    requests.iter_mut().enumerate().for_each(|(index, request)| request.id = RequestId(index as u32));
    Workload { requests }
}

/// Requests of function 0 at these times.
pub(crate) fn arrivals(times: &[f64]) -> Workload {
    workload(times.iter().map(|&time| request(time, 0)).collect())
}

/// A closure as a scheduler.
pub(crate) struct Rule<F>(pub(crate) F);

impl<F: FnMut(&BatchProblem<'_>, &ClusterState, usize) -> Decision> Scheduler for Rule<F> {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        self.0(batch, state, next)
    }
}

/// What is allowed: by node, reuse before new.
pub(crate) fn allowed(batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Vec<Decision> {
    let function = batch.requests[next].function;
    let mut options = Vec::new();
    for node in batch.platform.node_ids() {
        for container in [Container::Reuse, Container::New] {
            if state.allows(batch.platform, function, node, container) {
                options.push(Decision::Run { node, container });
            }
        }
    }
    options
}

/// The first node that allows it, an idle container before a new one there; none: waits.
pub(crate) fn first_allowed(batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
    allowed(batch, state, next).first().copied().unwrap_or(Decision::Defer)
}

pub(crate) fn first_fit() -> impl Scheduler {
    Rule(first_allowed)
}

/// Everything that an observer is told, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Batch { time: f64, outcomes: Vec<Outcome> },
    Placed(RequestId, bool),
    Rejected(RequestId, Rejection, bool),
}

#[derive(Default)]
pub(crate) struct Recorder(pub(crate) Vec<Event>);

impl Observer for Recorder {
    fn batch(&mut self, problem: &BatchProblem<'_>, outcomes: &[Outcome], _measured: bool) {
        problem.state.validate(problem.platform).unwrap();
        self.0.push(Event::Batch { time: problem.now().0, outcomes: outcomes.to_vec() });
    }
    fn placed(&mut self, outcome: &Outcome, measured: bool) {
        self.0.push(Event::Placed(outcome.request.id, measured));
    }
    fn rejected(&mut self, request: &Request, why: Rejection, measured: bool) {
        self.0.push(Event::Rejected(request.id, why, measured));
    }
}

pub(crate) fn play(
    platform: &Platform,
    workload: &Workload,
    config: &SimConfig,
    scheduler: &mut dyn Scheduler,
) -> Result<(Summary, Vec<Event>), SimError> {
    let mut recorder = Recorder::default();
    let summary = simulate(platform, workload, config, Policy::Scheduler(scheduler), &mut recorder)?;
    Ok((summary, recorder.0))
}

/// One line an event: `200: 1w0+150=250 2-`: at 200 request 1 in a warm container of node 0 after 150 ms of waiting,
/// 250 ms in all; 2 deferred.
pub(crate) fn story(events: &[Event]) -> Vec<String> {
    let outcome = |outcome: &Outcome| {
        let (id, wait, total) = (outcome.request.id.0, outcome.latency.wait.0, outcome.latency.total().0);
        match outcome.decision {
            Decision::Defer => format!(" {id}-"),
            Decision::Run { node, container } => {
                let letter = if container == Container::New { 'c' } else { 'w' };
                let wait = if wait > 0.0 { format!("+{wait}") } else { String::new() };
                format!(" {id}{letter}{}{wait}={total}", node.0)
            }
        }
    };
    events
        .iter()
        .filter_map(|event| match event {
            Event::Batch { time, outcomes } => {
                Some(format!("{time}:{}", outcomes.iter().map(outcome).collect::<String>()))
            }
            Event::Placed(..) => None,
            Event::Rejected(id, why, _) => Some(format!("{} {why:?}", id.0)),
        })
        .collect()
}

/// Choices from bytes; what fails shrinks to small cases.
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

/// At most three nodes and functions and `most` requests. Integers whose quotients and sums are exact, so that
/// many things happen at one instant and equalities can be asked for.
pub(crate) fn random(tape: &[u8], most: usize) -> (Platform, Workload, SimConfig) {
    let mut tape = Tape(tape);
    let requests = tape.below(most + 1);
    let nodes: Vec<Node> = (0..1 + tape.below(3))
        .map(|_| {
            let mut node = node(tape.of(&[1000, 500, 1500, 2000]), tape.of(&[300, 200, 400, 100]));
            node.registry_bandwidth.0 = tape.of(&[100.0, 50.0]);
            node
        })
        .collect();
    let functions: Vec<Function> = (0..1 + tape.below(3))
        .map(|_| {
            let (cores, memory) = (tape.of(&[500, 1000, 500, 2000]), tape.of(&[100, 200]));
            function(cores, memory, tape.of(&[5.0, 0.0, 10.0]), tape.of(&[50.0, 0.0]))
        })
        .collect();
    let platform = platform(nodes, functions);
    let mut now = 0.0;
    let requests = (0..requests)
        .map(|_| {
            now += tape.of(&[0.0, 10.0, 0.0, 50.0, 100.0, 300.0, 0.0, 25.0]);
            let mut request = request(now, tape.below(platform.functions.len()) as u32);
            request.source = NodeId(tape.below(platform.topology.nodes.len()) as u32);
            request.cpu_time.0 = tape.of(&[50.0, 25.0, 0.0, 100.0]);
            request.input.0 = tape.of(&[0.0, 1.0, 2.0]);
            request.slo.0 = tape.of(&[250.0, 100.0, 150.0, 50.0]);
            request
        })
        .collect();
    let config = SimConfig {
        keep_alive: Milliseconds(tape.of(&[1000.0, 0.0, 50.0, 100.0, 150.0, f64::INFINITY])),
        patience: tape.of(&[
            None,
            Some(Milliseconds(100.0)),
            Some(Milliseconds(50.0)),
            Some(Milliseconds(0.0)),
            None,
        ]),
        warmup_until: Time(tape.of(&[0.0, 100.0, 0.0, 10_000.0])),
        objective: Objective {
            slo: tape.of(&[Slo::Hard, Slo::Elastic { penalty_ms: Milliseconds(1000.0) }]),
            defer_penalty: Milliseconds(tape.of(&[2000.0, 0.0])),
        },
        verify: true,
    };
    (platform, workload(requests), config)
}

/// A pure pick: which of the options, or to defer (with this percentage), for the n-th decision of a run.
pub(crate) fn pick(seed: u64, n: u64, options: &[Decision], defer_percent: u64) -> Decision {
    let z = scale_model::Seed(seed).derive("decision", n).0;
    if options.is_empty() || z % 100 < defer_percent {
        return Decision::Defer;
    }
    options[(z / 100) as usize % options.len()]
}

/// Takes any allowed option, often none.
pub(crate) fn erratic(seed: u64, defer_percent: u64) -> impl Scheduler {
    let mut n = 0;
    Rule(move |batch: &BatchProblem<'_>, state: &ClusterState, next| {
        let options = allowed(batch, state, next);
        // Not a choice: `OneByOne` asks although no node has room, the simulator does not.
        n += u64::from(!options.is_empty());
        pick(seed, n, &options, defer_percent)
    })
}
