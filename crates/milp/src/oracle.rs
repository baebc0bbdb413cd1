//! What the tests of both programs share: tiny batches, and their optimum by trying all placements.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, CoreMilliseconds, Cores, Decision, Function, FunctionId,
    Gigahertz, Instance, Links, Megabytes, MegabytesPerSecond, Memory, Milliseconds, Node, NodeId, Objective,
    Placement, Platform, Position, Proof, Request, RequestId, SolveError, Solver, Stop, Time, Topology,
    evaluate, violations,
};

use crate::Milp;

/// A tiny batch on tight nodes. All numbers lie on a coarse grid, so that ties and T_k = O_k are frequent.
pub(crate) fn tiny(seed: u64, objective: Objective) -> Instance {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut pick = |from: u32, to: u32| from + rng.next_u32() % (to - from + 1);
    let count = pick(2, 3) as usize;
    let nodes = (0..count).map(|index| Node {
        name: index.to_string(),
        kind: 0,
        position: Position { latitude: 0.0, longitude: 0.0 },
        frequency: Gigahertz(3.0),
        cores: Cores { milli: 500 * pick(1, 6) },
        memory: Memory { mb: 128 * pick(1, 6) },
        registry_bandwidth: MegabytesPerSecond(50.0 * f64::from(pick(1, 2))),
    });
    let nodes = nodes.collect();
    let links = Links::from_fn(count, |_, _| MegabytesPerSecond(10.0 * f64::from(pick(1, 4))));
    let functions = (0..pick(1, 2)).map(|index| Function {
        name: index.to_string(),
        image: Megabytes(5.0 * f64::from(pick(0, 3))),
        init: Milliseconds(25.0 * f64::from(pick(0, 4))),
        memory: Memory { mb: 128 * pick(1, 2) },
        cores: Cores { milli: 500 * pick(1, 2) },
    });
    let functions = functions.collect();
    let platform = Platform { topology: Topology { nodes, links: links.expect("rates above 0") }, functions };
    let mut state = ClusterState::empty(&platform);
    state.time = Time(1000.0);
    for j in platform.function_ids() {
        for v in platform.node_ids() {
            state.add_idle(&platform, j, v, pick(0, 2));
            if pick(0, 3) == 0 && state.fits(&platform, j, v) {
                state.start(&platform, j, v, Container::New);
            }
        }
    }
    let requests = (0..pick(2, 4)).map(|id| Request {
        id: RequestId(id),
        function: FunctionId(pick(0, platform.functions.len() as u32 - 1)),
        source: NodeId(pick(0, count as u32 - 1)),
        // Most arrive now; some have waited, a few for longer than they may take.
        arrival: Time(1000.0 - [0.0, 0.0, 0.0, 0.0, 50.0, 250.0][pick(0, 5) as usize]),
        cpu_time: CoreMilliseconds(25.0 * f64::from(pick(1, 4))),
        input: Megabytes(0.5 * f64::from(pick(0, 2))),
        slo: Milliseconds(50.0 * f64::from(pick(2, 12))),
    });
    let requests = requests.collect();
    Instance { platform, state, requests, objective }
}

/// The least objective over all placements, by trying each; `None` if none is allowed.
pub(crate) fn brute_force(problem: &BatchProblem<'_>) -> Option<f64> {
    let mut choices = vec![Decision::Defer];
    for node in problem.platform.node_ids() {
        choices.extend([Container::Reuse, Container::New].map(|container| Decision::Run { node, container }));
    }
    let count = choices.len().pow(problem.requests.len() as u32);
    let placements = (0..count).map(|mut number| {
        let mut digit = || {
            let choice = choices[number % choices.len()];
            number /= choices.len();
            choice
        };
        Placement { decisions: problem.requests.iter().map(|_| digit()).collect() }
    });
    placements
        .filter(|placement| violations(problem, placement).is_empty())
        .map(|placement| evaluate(problem, &placement).objective)
        .min_by(f64::total_cmp)
}

/// Fails unless both are the same optimum, or both say that there is none.
pub(crate) fn agrees(case: &str, oracle: Option<f64>, found: Option<f64>) {
    match (oracle, found) {
        (None, None) => {}
        (Some(oracle), Some(found)) if (oracle - found).abs() <= 1e-6 => {}
        _ => panic!("{case}: {found:?}, but it should be {oracle:?}"),
    }
}

/// The optimum that a solver proves, `None` if it proves that there is none; all that it says of it is checked.
pub(crate) fn proven(case: &str, problem: &BatchProblem<'_>, mut solver: Milp) -> Option<f64> {
    match solver.solve(problem, &Budget::default()) {
        Ok(solution) => {
            assert_eq!(violations(problem, &solution.placement), [], "{case}");
            let objective = evaluate(problem, &solution.placement).objective;
            assert_eq!(solution.objective, objective, "{case}");
            assert_eq!(
                (solution.proof, solution.stop),
                (Proof::Optimal, Stop::Finished),
                "{case}: {solution:?}"
            );
            let bound = solution.bound.expect("a proof has a bound");
            assert!(bound <= objective && objective - bound <= 2e-6, "{case}: bound {bound} of {objective}");
            Some(objective)
        }
        Err(SolveError::Infeasible { hopeless }) => {
            // Whoever is hopeless stays so alone, with the whole batch out of the way.
            for id in hopeless {
                let alone: Vec<_> =
                    problem.requests.iter().filter(|request| request.id == id).copied().collect();
                let alone = BatchProblem { requests: &alone, ..*problem };
                assert_eq!(brute_force(&alone), None, "{case}: {id:?}");
            }
            None
        }
        Err(error) => panic!("{case}: {error}"),
    }
}
