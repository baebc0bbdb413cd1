//! What must not pass: decisions and placements that break a rule, and inputs that make no sense.

use crate::common::{CONFIG, Rule, arrivals, first_fit, half, node, platform, play, request, workload};
use scale_model::Container::{New, Reuse};
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, Decision, FunctionId, Milliseconds, NodeId, Objective,
    Placement, Platform, Proof, RequestId, Slo, Solution, SolveError, Solver, Stop, Time, Workload,
};
use scale_sim::{Policy, SimConfig, Simulation, simulate};

fn run(node: u32, container: Container) -> Decision {
    Decision::Run { node: NodeId(node), container }
}

fn two_nodes() -> Platform {
    platform(vec![node(500, 1000), node(1000, 150)], vec![half()])
}

/// Answers with a fixed list, whatever the problem.
struct Fixed(Result<Vec<Decision>, SolveError>);

impl Solver for Fixed {
    fn solve(&mut self, _problem: &BatchProblem<'_>, _budget: &Budget) -> Result<Solution, SolveError> {
        let placement = Placement { decisions: self.0.clone()? };
        Ok(Solution { placement, objective: 0.0, bound: None, proof: Proof::Feasible, stop: Stop::Finished })
    }
}

#[test]
fn decisions_that_break_a_rule() {
    let check = |decisions: &[Decision], expected: &str| {
        let mut list = decisions.iter().copied();
        let mut rule = Rule(|_: &BatchProblem<'_>, _: &ClusterState, _| list.next().unwrap());
        let error = play(&two_nodes(), &arrivals(&[5.0, 5.0]), &CONFIG, &mut rule).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(
        &[run(2, New)],
        "t = 5 ms: request 0: Run { node: NodeId(2), container: New } is not allowed: there is no such node",
    );
    check(
        &[run(0, Reuse)],
        "t = 5 ms: request 0: Run { node: NodeId(0), container: Reuse } is not allowed: \
         no container of the function is idle there",
    );
    // By cores on node 0, by memory on node 1.
    for node in [0, 1] {
        check(
            &[run(node, New), run(node, New)],
            &format!(
                "t = 5 ms: request 1: Run {{ node: NodeId({node}), container: New }} is not allowed: \
                 the node has not enough free cores or memory"
            ),
        );
    }
}

#[test]
fn one_idle_container_serves_one_request() {
    // It is idle at 300. The first reuse may take it, the second not, though the node has room.
    let platform = platform(vec![node(2000, 1000)], vec![half()]);
    let mut rule = Rule(
        |batch: &BatchProblem<'_>, _: &ClusterState, _| {
            if batch.now() == Time(0.0) { run(0, New) } else { run(0, Reuse) }
        },
    );
    let error = play(&platform, &arrivals(&[0.0, 300.0, 300.0]), &CONFIG, &mut rule).unwrap_err().to_string();
    assert!(error.starts_with("t = 300 ms: request 2: ") && error.ends_with("is idle there"), "{error}");
}

#[test]
fn placements_that_break_a_rule() {
    let check = |answer, objective, expected: &str| {
        let mut solver = Fixed(answer);
        let policy = Policy::Solver(&mut solver, Budget::default());
        let config = SimConfig { objective, ..CONFIG };
        let error = simulate(&two_nodes(), &arrivals(&[5.0, 5.0]), &config, policy, &mut ()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let elastic = Objective::ELASTIC;
    let not_allowed = "t = 5 ms: the solver's placement is not allowed: ";
    check(Ok(vec![Decision::Defer]), elastic, &format!("{not_allowed}1 decisions for 2 requests"));
    check(
        Ok(vec![run(0, New); 2]),
        elastic,
        &format!("{not_allowed}(6): node 0 would hold 1 cores of 0.5 cores"),
    );
    check(
        Ok(vec![run(1, New); 2]),
        elastic,
        &format!("{not_allowed}(7): node 1 would hold 200 MB of 150 MB"),
    );
    check(
        Ok(vec![run(0, New), Decision::Defer]),
        Objective::HARD,
        &format!("{not_allowed}(5): request 1 of the batch is not placed"),
    );
    // One waits: 200 ms for the first and the penalty of 2000, not what `Fixed` claims.
    check(
        Ok(vec![run(0, New), Decision::Defer]),
        elastic,
        "t = 5 ms: the solver claims an objective of 0 ms, its placement has 2200 ms",
    );
    check(
        Err(SolveError::Infeasible { hopeless: vec![RequestId(0), RequestId(1)] }),
        Objective::HARD,
        "t = 5 ms: a batch of 2 requests: no placement keeps (5)-(8); \
         no node can serve in time: requests 0, 1",
    );
    check(
        Err(SolveError::NothingFound),
        elastic,
        &format!("t = 5 ms: a batch of 2 requests: {}", SolveError::NothingFound),
    );
}

#[test]
fn a_rule_that_broke_can_be_asked_again() {
    let (platform, workload) = (two_nodes(), arrivals(&[5.0]));
    let mut simulation = Simulation::new(&platform, &workload, CONFIG).unwrap();
    assert!(simulation.advance(&mut ()));
    assert!(simulation.apply(run(0, Reuse)).is_err());
    assert_eq!(simulation.outcomes(), []);
    simulation.apply(run(0, New)).unwrap();
    simulation.commit(&mut ());
    simulation.settle().unwrap();
    assert!(!simulation.advance(&mut ()));
    assert_eq!((simulation.summary().placed, simulation.summary().rejected), (1, [0; 3]));
}

#[test]
fn inputs_that_make_no_sense() {
    let check = |platform: &Platform, workload: &Workload, config: &SimConfig, expected: &str| {
        let error = play(platform, workload, config, &mut first_fit()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let good = two_nodes();
    check(
        &good,
        &workload(vec![request(5.0, 0), request(4.0, 0)]),
        &CONFIG,
        "requests[1].arrival_ms: 4: expected not to be before the request before it",
    );
    let swapped = Workload { requests: vec![request(0.0, 0), request(0.0, 0)] };
    check(&good, &swapped, &CONFIG, "requests[1].id: 0: expected its index in order of arrival");
    check(
        &good,
        &workload(vec![request(0.0, 1)]),
        &CONFIG,
        "requests[0].function: 1 (there is only 0): expected a known function",
    );
    let nowhere = platform(vec![], vec![half()]);
    check(&nowhere, &arrivals(&[]), &CONFIG, "topology.nodes: 0: expected at least one node");
    let keep_alive = |ms| SimConfig { keep_alive: Milliseconds(ms), ..CONFIG };
    let expected = |value| format!("keep_alive_ms: {value}: expected a number of at least 0");
    check(&good, &arrivals(&[0.0]), &keep_alive(-1.0), &expected("-1"));
    check(&good, &arrivals(&[0.0]), &keep_alive(f64::NAN), &expected("NaN"));
    let patience = SimConfig { patience: Some(Milliseconds(f64::NAN)), ..CONFIG };
    check(&good, &arrivals(&[0.0]), &patience, "patience_ms: NaN: expected a number of at least 0");
    let warmup = SimConfig { warmup_until: Time(f64::NAN), ..CONFIG };
    check(&good, &arrivals(&[0.0]), &warmup, "warmup_until_ms: NaN: expected a number of at least 0");
    // A sum with such a penalty in it would be no number, or reward what it should cost.
    for (value, text) in [(f64::NAN, "NaN"), (-1.0, "-1"), (f64::INFINITY, "inf")] {
        let penalty = Milliseconds(value);
        for (field, objective) in [
            ("defer_penalty_ms", Objective { defer_penalty: penalty, ..Objective::ELASTIC }),
            ("defer_penalty_ms", Objective { defer_penalty: penalty, ..Objective::HARD }),
            ("slo.penalty_ms", Objective { slo: Slo::Elastic { penalty_ms: penalty }, ..Objective::ELASTIC }),
        ] {
            let expected = format!("objective.{field}: {text}: expected a number of at least 0");
            check(&good, &arrivals(&[0.0]), &SimConfig { objective, ..CONFIG }, &expected);
        }
    }
}

#[test]
fn states_that_make_no_sense() {
    let (platform, workload) = (two_nodes(), arrivals(&[5.0]));
    let check = |state: ClusterState, expected: Option<&str>| {
        let error = Simulation::from_state(&platform, &workload, CONFIG, state).err().map(|e| e.to_string());
        assert_eq!(error.as_deref(), expected);
    };
    let mut state = ClusterState::empty(&platform);
    check(state.clone(), None);
    state.time = Time(5.0);
    check(state.clone(), None);
    // The clock would go back.
    state.time = Time(6.0);
    check(state.clone(), Some("requests[0].arrival_ms: 5: expected not to be before the state's time"));
    state.time = Time(0.0);
    state.add_idle(&platform, FunctionId(0), NodeId(1), 2);
    check(
        state,
        Some(
            "state.nodes[1].idle_memory_mb: 200 MB: expected no more than what busy containers leave of the node",
        ),
    );
}

#[test]
fn busy_containers_of_a_given_state_stay_busy_and_idle_ones_age() {
    let platform = platform(vec![node(1000, 1000)], vec![half()]);
    let mut state = ClusterState::empty(&platform);
    state.time = Time(100.0);
    state.start(&platform, FunctionId(0), NodeId(0), New);
    state.add_idle(&platform, FunctionId(0), NodeId(0), 1);
    // Idle since 100: there at 1099, gone at 1100. Half a core stays busy for ever: the second of a pair waits, and its
    // turn comes when the first is done.
    for (arrival, first) in [(1099.0, Reuse), (1100.0, New)] {
        let workload = arrivals(&[arrival, arrival]);
        let mut simulation = Simulation::from_state(&platform, &workload, CONFIG, state.clone()).unwrap();
        assert!(simulation.advance(&mut ()));
        assert_eq!(simulation.state().idle(FunctionId(0), NodeId(0)), u32::from(first == Reuse));
        simulation.apply(run(0, first)).unwrap();
        assert!(simulation.apply(run(0, New)).is_err());
        simulation.apply(Decision::Defer).unwrap();
        simulation.commit(&mut ());
        simulation.settle().unwrap();
        assert!(simulation.advance(&mut ()));
        let service = if first == Reuse { 100.0 } else { 200.0 };
        assert_eq!(simulation.problem().now(), Time(arrival + service));
        assert_eq!(simulation.state().running(NodeId(0)), 1);
    }
}
