//! All placements of tiny batches: the judge and `evaluate` against a re-statement that places containers one by one,
//! in every order.

use crate::common::{latency_by_hand, orders, placements, tiny};
use proptest::prelude::*;
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, Decision, FunctionId, Instance, Milliseconds, NodeId,
    Objective, OneByOne, Placement, RequestId, Scheduler, Slo, Solution, SolveError, Solver, Violation,
    decide_batch, evaluate, violations,
};

/// A container of the re-statement: it is there or not, busy or not; nothing is counted or summed in advance.
#[derive(Clone, PartialEq)]
struct Box {
    node: NodeId,
    function: FunctionId,
    busy: bool,
}

/// (6), (7) and the rule on idle containers, by doing: take or start one container after the other in this order.
fn works_in_order(instance: &Instance, placement: &Placement, order: &[usize]) -> bool {
    let mut boxes = Vec::new();
    for function in instance.platform.function_ids() {
        for node in instance.platform.node_ids() {
            let of = |busy| Box { node, function, busy };
            boxes.extend(vec![of(true); instance.state.busy(function, node) as usize]);
            boxes.extend(vec![of(false); instance.state.idle(function, node) as usize]);
        }
    }
    for &index in order {
        let Decision::Run { node, container } = placement.decisions[index] else {
            continue;
        };
        let function = instance.requests[index].function;
        match container {
            Container::New => boxes.push(Box { node, function, busy: true }),
            Container::Reuse => match boxes.iter_mut().find(|b| **b == Box { node, function, busy: false }) {
                Some(idle) => idle.busy = true,
                None => return false,
            },
        }
        let busy_there = || boxes.iter().filter(|b| b.busy && b.node == node).map(|b| b.function);
        let needs = |j: FunctionId| &instance.platform.functions[j.index()];
        let cores: u32 = busy_there().map(|j| needs(j).cores.milli).sum();
        let memory: u32 = busy_there().map(|j| needs(j).memory.mb).sum();
        let capacity = &instance.platform.topology.nodes[node.index()];
        if cores > capacity.cores.milli || memory > capacity.memory.mb {
            return false;
        }
    }
    true
}

/// (5) and (8) where they bind.
fn serves_all_in_time(instance: &Instance, placement: &Placement) -> bool {
    instance.objective.slo != Slo::Hard
        || placement.decisions.iter().enumerate().all(|(index, &decision)| {
            decision != Decision::Defer
                && latency_by_hand(instance, index, decision) <= instance.requests[index].slo.0
        })
}

/// Follows a list.
struct Follow(Vec<Decision>);

impl Scheduler for Follow {
    fn decide(&mut self, _batch: &BatchProblem<'_>, _state: &ClusterState, next: usize) -> Decision {
        self.0[next]
    }
}

fn permuted(instance: &Instance, placement: &Placement, order: &[usize]) -> (Instance, Placement) {
    let mut other = instance.clone();
    other.requests = order.iter().map(|&index| instance.requests[index]).collect();
    (other, Placement { decisions: order.iter().map(|&index| placement.decisions[index]).collect() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_judge_agrees_with_doing_it(tape in prop::collection::vec(any::<u8>(), 80)) {
        let instance = tiny(&tape, 3, 3);
        let problem = instance.problem();
        for placement in placements(&instance) {
            let found = violations(&problem, &placement);
            let verdicts: Vec<bool> = orders(instance.requests.len())
                .iter()
                .map(|order| works_in_order(&instance, &placement, order))
                .collect();
            prop_assert!(verdicts.iter().all(|v| *v == verdicts[0]), "the order matters: {placement:?}");
            let accepted = verdicts[0] && serves_all_in_time(&instance, &placement);
            prop_assert_eq!(accepted, found.is_empty(), "{:?}: {:?}", placement, found);
            let about_nodes = found
                .iter()
                .filter(|v| !matches!(v, Violation::NotPlaced { .. } | Violation::Late { .. }))
                .count();
            prop_assert_eq!(verdicts[0], about_nodes == 0, "{:?}: {:?}", placement, found);
        }
    }

    #[test]
    fn one_by_one_equals_all_at_once(tape in prop::collection::vec(any::<u8>(), 80)) {
        let mut instance = tiny(&tape, 2, 3);
        instance.objective = Objective::ELASTIC;
        for placement in placements(&instance) {
            let allowed = violations(&instance.problem(), &placement).is_empty();
            let cost = evaluate(&instance.problem(), &placement);
            for order in orders(instance.requests.len()) {
                let (other, moved) = permuted(&instance, &placement, &order);
                let one_by_one = decide_batch(&other.problem(), &mut Follow(moved.decisions.clone()));
                prop_assert_eq!(one_by_one.is_ok(), allowed, "{:?} {:?}", order, one_by_one);
                if let Ok(same) = one_by_one {
                    prop_assert_eq!(&same, &moved);
                    // Sums of these integers are exact in any order.
                    prop_assert_eq!(evaluate(&other.problem(), &moved).objective, cost.objective);
                }
            }
        }
    }

    #[test]
    fn evaluate_agrees_with_the_printed_formulas(tape in prop::collection::vec(any::<u8>(), 80)) {
        let instance = tiny(&tape, 3, 2);
        for placement in placements(&instance) {
            let evaluation = evaluate(&instance.problem(), &placement);
            let latencies: Vec<f64> =
                (0..placement.decisions.len()).map(|k| latency_by_hand(&instance, k, placement.decisions[k])).collect();
            let late = (0..latencies.len()).filter(|&k| latencies[k] > instance.requests[k].slo.0).count();
            let deferred = placement.decisions.iter().filter(|d| **d == Decision::Defer).count();
            let price = match instance.objective.slo {
                Slo::Hard => 0.0,
                Slo::Elastic { penalty_ms } => penalty_ms.0,
            };
            let totals: Vec<f64> = evaluation.latencies.iter().map(|latency| latency.total().0).collect();
            prop_assert_eq!(&totals, &latencies);
            prop_assert_eq!(evaluation.latency.0, latencies.iter().sum::<f64>());
            prop_assert_eq!((evaluation.late, evaluation.deferred), (late, deferred));
            let defer_price = instance.objective.defer_penalty.0;
            let expected = latencies.iter().sum::<f64>() + price * late as f64 + defer_price * deferred as f64;
            prop_assert_eq!(evaluation.objective, expected);
        }
    }

    /// What a rule did is an answer, a defect, or, where only a hard SLO forbids it, nothing found.
    #[test]
    fn deferral_and_lateness_are_no_defects(tape in prop::collection::vec(any::<u8>(), 80)) {
        let instance = tiny(&tape, 2, 3);
        let problem = instance.problem();
        let all: Vec<usize> = (0..instance.requests.len()).collect();
        for placement in placements(&instance) {
            let works = works_in_order(&instance, &placement, &all);
            let verdict = Solution::feasible(&problem, placement.clone()).map(|solution| solution.objective);
            match (works, serves_all_in_time(&instance, &placement)) {
                (false, _) => prop_assert!(matches!(verdict, Err(SolveError::NotAllowed(_))), "{verdict:?}"),
                (true, false) => prop_assert_eq!(&verdict, &Err(SolveError::NothingFound)),
                (true, true) => prop_assert_eq!(&verdict, &Ok(evaluate(&problem, &placement).objective)),
            }
            if works {
                let rule = OneByOne(Follow(placement.decisions)).solve(&problem, &Budget::default());
                prop_assert_eq!(rule.map(|solution| solution.objective), verdict);
            }
        }
    }

    /// What one decision adds to J, by the printed formulas; infinite where a hard SLO forbids it.
    #[test]
    fn the_cost_of_one_decision_is_what_it_adds_to_j(tape in prop::collection::vec(any::<u8>(), 80)) {
        let whole = tiny(&tape, 3, 3);
        for index in 0..whole.requests.len() {
            let alone = Instance { requests: vec![whole.requests[index]], ..whole.clone() };
            let (objective, slo) = (alone.objective, alone.requests[0].slo);
            for placement in placements(&alone) {
                let decision = placement.decisions[0];
                let latency = Milliseconds(latency_by_hand(&alone, 0, decision));
                let cost = match decision {
                    Decision::Run { .. } => objective.cost_of(latency, slo),
                    Decision::Defer => objective.cost_of_deferral(latency, slo),
                };
                let expected = match serves_all_in_time(&alone, &placement) {
                    true => evaluate(&alone.problem(), &placement).objective,
                    false => f64::INFINITY,
                };
                prop_assert_eq!(cost, expected, "{:?}", decision);
            }
        }
    }

    /// A request is hopeless if it has no placement in time by itself, on nodes where nothing is busy.
    #[test]
    fn who_is_hopeless_has_no_placement_alone(tape in prop::collection::vec(any::<u8>(), 80)) {
        let instance = tiny(&tape, 3, 3);
        let mut calm = Instance { objective: Objective::HARD, ..instance.clone() };
        calm.state = ClusterState::empty(&instance.platform);
        calm.state.time = instance.state.time;
        for function in instance.platform.function_ids() {
            for node in instance.platform.node_ids() {
                calm.state.add_idle(&instance.platform, function, node, instance.state.idle(function, node));
            }
        }
        let hopeless = |request: &scale_model::Request| {
            let alone = Instance { requests: vec![*request], ..calm.clone() };
            !placements(&alone).any(|p| works_in_order(&alone, &p, &[0]) && serves_all_in_time(&alone, &p))
        };
        let expected: Vec<RequestId> =
            instance.requests.iter().filter(|request| hopeless(request)).map(|request| request.id).collect();
        prop_assert_eq!(instance.problem().hopeless(), expected);
    }
}

#[test]
fn the_first_decision_that_is_not_allowed_is_named() {
    let instance = tiny(&[0; 80], 1, 1);
    let over = Decision::Run { node: NodeId(1), container: Container::New };
    assert_eq!(decide_batch(&instance.problem(), &mut Follow(vec![over])), Err((0, over)));
}
