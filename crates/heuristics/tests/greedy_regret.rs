//! greedy-regret against brute force, against itself without the shortcuts, and on batches whose answer is known.

mod common;

use common::{Shape, busy, idle, instance, platform, random, request};
use proptest::prelude::*;
use scale_heuristics::{GreedyLatency, GreedyRegret};
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, Decision, Instance, Milliseconds, NodeId, Objective,
    OneByOne, Placement, RequestId, Slo, SolveError, Solver, evaluate, violations,
};

fn solve(instance: &Instance) -> Result<scale_model::Solution, SolveError> {
    GreedyRegret.solve(&instance.problem(), &Budget::default())
}

/// What one decision adds to J, by the model's own sum.
fn cost(problem: &BatchProblem<'_>, k: usize, decision: Decision) -> f64 {
    let alone = BatchProblem { requests: &problem.requests[k..=k], ..*problem };
    evaluate(&alone, &Placement { decisions: vec![decision] }).objective
}

const CONTAINERS: [Container; 2] = [Container::Reuse, Container::New];

/// Every decision that is allowed for request k in a state, nodes in order, deferral last.
fn options(problem: &BatchProblem<'_>, state: &ClusterState, k: usize) -> Vec<Decision> {
    let function = problem.requests[k].function;
    let mut options = Vec::new();
    for node in problem.platform.node_ids() {
        let allowed = |&&container: &&Container| state.allows(problem.platform, function, node, container);
        options.extend(CONTAINERS.iter().filter(allowed).map(|&container| Decision::Run { node, container }));
    }
    options.push(Decision::Defer);
    options
}

/// The rule as its docs say it, everything computed anew at every step.
fn reference(problem: &BatchProblem<'_>) -> Placement {
    let mut state = problem.state.clone();
    let mut decisions = vec![None; problem.requests.len()];
    while decisions.contains(&None) {
        let mut most: Option<(f64, usize, Decision)> = None;
        for k in (0..decisions.len()).filter(|&k| decisions[k].is_none()) {
            let mut ranked: Vec<(f64, Decision)> = options(problem, &state, k)
                .into_iter()
                .map(|option| (cost(problem, k, option), option))
                .collect();
            // Stable: reuse before new, low nodes before high, deferral last.
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
            let regret = ranked.get(1).map_or(f64::INFINITY, |second| second.0) - ranked[0].0;
            if most.is_none_or(|(highest, ..)| regret > highest) {
                most = Some((regret, k, ranked[0].1));
            }
        }
        let (_, k, decision) = most.expect("a request that is not decided");
        if let Decision::Run { node, container } = decision {
            state.start(problem.platform, problem.requests[k].function, node, container);
        }
        decisions[k] = Some(decision);
    }
    Placement { decisions: decisions.into_iter().flatten().collect() }
}

/// The least J over all placements without violations, by trying all of them.
fn brute_force(problem: &BatchProblem<'_>) -> Option<f64> {
    fn extend(
        problem: &BatchProblem<'_>,
        state: &ClusterState,
        decisions: &mut Vec<Decision>,
        least: &mut Option<f64>,
    ) {
        let k = decisions.len();
        if k == problem.requests.len() {
            let placement = Placement { decisions: decisions.clone() };
            if violations(problem, &placement).is_empty() {
                let objective = evaluate(problem, &placement).objective;
                *least = Some(least.map_or(objective, |least| least.min(objective)));
            }
            return;
        }
        for option in options(problem, state, k) {
            let mut state = state.clone();
            if let Decision::Run { node, container } = option {
                state.start(problem.platform, problem.requests[k].function, node, container);
            }
            decisions.push(option);
            extend(problem, &state, decisions, least);
            decisions.pop();
        }
    }
    let mut least = None;
    extend(problem, problem.state, &mut Vec::new(), &mut least);
    least
}

fn cases(nodes: usize, requests: usize) -> impl Strategy<Value = Instance> {
    (any::<u64>(), 1..=nodes, 1..5_usize, 1..=requests, 0.0..1.0, 0..3_usize).prop_map(
        |(seed, nodes, functions, requests, load, idle)| {
            random(seed, Shape { nodes, functions, requests, load, idle })
        },
    )
}

proptest! {
    #[test]
    fn it_does_what_its_docs_say_and_says_what_the_model_says(instance in cases(12, 24)) {
        let problem = instance.problem();
        let solution = solve(&instance).expect("an elastic batch has a placement");
        prop_assert_eq!(&solution.placement, &reference(&problem));
        prop_assert_eq!(violations(&problem, &solution.placement), []);
        prop_assert_eq!(solution.objective, evaluate(&problem, &solution.placement).objective);
    }

    #[test]
    fn a_cheap_deferral_is_an_option_like_any_other(mut instance in cases(6, 12), penalty in 0.0..400.0) {
        instance.objective = Objective {
            slo: Slo::Elastic { penalty_ms: Milliseconds(penalty) },
            defer_penalty: Milliseconds(penalty),
        };
        prop_assert_eq!(solve(&instance).expect("a placement").placement, reference(&instance.problem()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_beats_brute_force_and_errors_are_true(mut instance in cases(3, 4), hard in any::<bool>()) {
        if hard {
            instance.objective = Objective::HARD;
        }
        let least = brute_force(&instance.problem());
        match solve(&instance) {
            Ok(solution) => {
                prop_assert!(solution.objective >= least.expect("its placement is one"));
                prop_assert_eq!(violations(&instance.problem(), &solution.placement), []);
            }
            Err(SolveError::Infeasible { .. }) => prop_assert!(hard && least.is_none()),
            Err(SolveError::NothingFound) => prop_assert!(hard),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

/// Two requests, one idle container. A cold start takes 100 + 80 ms more, so the first request (SLO 400 ms) can bear
/// it and the second (SLO 300 ms) cannot: 330 ms. Greedy gives the container to the first.
fn warm_only() -> Instance {
    let mut case =
        instance(platform(&[(1000, 1000)], &[(500, 100, 10.0)]), vec![request(0, 0), request(1, 0)]);
    case.requests[0].slo = Milliseconds(400.0);
    idle(&mut case, 0, 0, 1);
    case
}

#[test]
fn a_warm_only_request_gets_the_idle_container() {
    let case = warm_only();
    let problem = case.problem();
    let greedy = OneByOne(GreedyLatency).solve(&problem, &Budget::default()).expect("a placement");
    assert_eq!(greedy.objective, 150.0 + 330.0 + 1000.0);
    let regret = solve(&case).expect("a placement");
    let run = |container| Decision::Run { node: NodeId(0), container };
    assert_eq!(regret.placement.decisions, [run(Container::New), run(Container::Reuse)]);
    assert_eq!(regret.objective, 330.0 + 150.0);
    assert_eq!(brute_force(&problem), Some(regret.objective));
}

#[test]
fn under_a_hard_slo_it_finds_the_only_placement() {
    let case = Instance { objective: Objective::HARD, ..warm_only() };
    assert_eq!(solve(&case).expect("a placement").objective, 480.0);
}

#[test]
fn under_a_hard_slo_it_says_why_there_is_none() {
    let hard = |instance: Instance| Instance { objective: Objective::HARD, ..instance };
    let one_node = || platform(&[(1000, 1000)], &[(1000, 100, 10.0)]);
    let patient = |id| scale_model::Request { slo: Milliseconds(400.0), ..request(id, 0) };

    // 75 ms of computation, 180 ms of cold start: one request can be in time, another not even alone.
    let hurried = scale_model::Request { slo: Milliseconds(200.0), ..request(7, 0) };
    let error = solve(&hard(instance(one_node(), vec![patient(3), hurried])));
    assert_eq!(error, Err(SolveError::Infeasible { hopeless: vec![RequestId(7)] }));

    // The node is taken by an earlier batch: no placement, but no request is hopeless.
    let mut taken = hard(instance(one_node(), vec![patient(3)]));
    busy(&mut taken, 0, 0, 1);
    assert_eq!(solve(&taken), Err(SolveError::Infeasible { hopeless: vec![] }));

    // Two requests for one place: each has an option at first, and the rule proves nothing.
    let crowded = hard(instance(one_node(), vec![patient(3), patient(4)]));
    assert_eq!(solve(&crowded), Err(SolveError::NothingFound));
}

#[test]
fn an_empty_batch_has_an_empty_answer() {
    let case = instance(platform(&[(1000, 1000)], &[(500, 100, 10.0)]), Vec::new());
    let solution = solve(&case).expect("a placement");
    assert_eq!((solution.placement.decisions.len(), solution.objective), (0, 0.0));
}
