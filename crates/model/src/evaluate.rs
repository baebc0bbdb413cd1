//! What a placement costs, in closed form.

use crate::latency::{self, Latency};
use crate::placement::{Decision, Placement};
use crate::problem::BatchProblem;
use crate::units::Milliseconds;

/// The cost of a placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The latency of each request, in the batch's order. For a deferred request all parts are zero except `wait`,
    /// the time that it has waited so far.
    pub latencies: Vec<Latency>,
    /// Eq. (4): the sum of T_k.
    pub latency: Milliseconds,
    /// |{k: T_k > O_k}|.
    pub late: usize,
    /// |{k deferred}|.
    pub deferred: usize,
    /// J, see [`Objective::total`](crate::Objective::total).
    pub objective: f64,
}

/// Eq. (4) with the penalties of [`Objective`](crate::Objective), summed in the batch's order.
///
/// Whether the placement is allowed is not asked here: see [`violations`](crate::violations).
///
/// # Panics
/// If the placement has not one decision for each request, or names a node that does not exist.
///
/// ```
/// # use scale_model::*;
/// # let node = |name: &str| Node { name: name.into(), kind: 0, position: Position { latitude: 0.0, longitude: 0.0 },
/// #     frequency: Gigahertz(3.0), cores: Cores { milli: 1000 }, memory: Memory { mb: 1000 },
/// #     registry_bandwidth: MegabytesPerSecond(100.0) };
/// # let links = Links::from_fn(2, |_, _| MegabytesPerSecond(25.0)).unwrap();
/// # let platform = Platform {
/// #     topology: Topology { nodes: vec![node("a"), node("b")], links },
/// #     functions: vec![Function { name: "f".into(), image: Megabytes(15.0), init: Milliseconds(80.0),
/// #         memory: Memory { mb: 128 }, cores: Cores { milli: 500 } }],
/// # };
/// # let mut state = ClusterState::empty(&platform);
/// # state.add_idle(&platform, FunctionId(0), NodeId(1), 1);
/// # let request = |id| Request { id: RequestId(id), function: FunctionId(0), source: NodeId(0), arrival: Time(0.0),
/// #     cpu_time: CoreMilliseconds(75.0), input: Megabytes(0.5), slo: Milliseconds(300.0) };
/// # let requests = [request(0), request(1), request(2)];
/// # let problem =
/// #     BatchProblem { platform: &platform, state: &state, requests: &requests, objective: Objective::ELASTIC };
/// // Three equal requests enter at node a. The first starts a container there: 230 + 150 + 0 = 380 ms, late (300).
/// // The second takes the idle container on node b: 0 + 150 + 20 = 170 ms. The third waits.
/// let placement = Placement { decisions: vec![
///     Decision::Run { node: NodeId(0), container: Container::New },
///     Decision::Run { node: NodeId(1), container: Container::Reuse },
///     Decision::Defer,
/// ] };
/// let evaluation = evaluate(&problem, &placement);
/// assert_eq!(evaluation.latency, Milliseconds(550.0));
/// assert_eq!((evaluation.late, evaluation.deferred), (1, 1));
/// assert_eq!(evaluation.objective, 550.0 + 1000.0 + 2000.0);
/// ```
#[must_use]
pub fn evaluate(problem: &BatchProblem<'_>, placement: &Placement) -> Evaluation {
    assert_eq!(placement.decisions.len(), problem.requests.len(), "one decision for each request");
    let now = problem.now();
    let mut evaluation = Evaluation {
        latencies: Vec::with_capacity(problem.requests.len()),
        latency: Milliseconds(0.0),
        late: 0,
        deferred: 0,
        objective: 0.0,
    };
    for (request, decision) in problem.requests.iter().zip(&placement.decisions) {
        let latency = match *decision {
            Decision::Run { node, container } => {
                latency::predict(problem.platform, request, node, container, now)
            }
            Decision::Defer => {
                evaluation.deferred += 1;
                Latency { wait: now - request.arrival, ..Latency::default() }
            }
        };
        let total = latency.total();
        evaluation.latency += total;
        evaluation.late += usize::from(total > request.slo);
        evaluation.latencies.push(latency);
    }
    evaluation.objective = problem.objective.total(evaluation.latency, evaluation.late, evaluation.deferred);
    evaluation
}
