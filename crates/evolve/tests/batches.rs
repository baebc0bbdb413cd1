//! Both presets on batches: against brute force, against the judge, and at the edges.

mod common;

use common::{brute_force, planted, tiny};
use proptest::prelude::*;
use scale_evolve::{BlackBox, Fitted, Hybrid, Midaco, Problem, Settings, minimise_on_islands};
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, Decision, Instance, Objective, Scheduler, Seed, Slo,
    SolveError, Solver, Stop, decide_batch, evaluate, latency, violations,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn budget(evaluations: u64) -> Budget {
    Budget { evaluations: Some(evaluations), ..Budget::default() }
}

/// The objective of a solver's answer, judged; `None` if it found nothing.
fn judged(
    name: &str,
    problem: &BatchProblem<'_>,
    answer: Result<scale_model::Solution, SolveError>,
) -> Option<f64> {
    match answer {
        Ok(solution) => {
            assert_eq!(violations(problem, &solution.placement), [], "{name}");
            assert_eq!(solution.objective, evaluate(problem, &solution.placement).objective, "{name}");
            Some(solution.objective)
        }
        Err(SolveError::NothingFound) => None,
        Err(error) => panic!("{name}: {error}"),
    }
}

#[test]
fn tiny_batches_are_solved() {
    let mut close = 0;
    for seed in 0..300 {
        let objective = if seed % 3 == 0 { Objective::HARD } else { Objective::ELASTIC };
        let instance = tiny(seed, objective);
        let problem = instance.problem();
        let optimum = brute_force(&problem);
        let hybrid = Hybrid { evaluations: 20_000, seed: Seed(seed) }.solve(&problem, &Budget::default());
        let found = judged("hybrid", &problem, hybrid);
        match (found, optimum) {
            (Some(found), Some(optimum)) => {
                assert!(found <= optimum + 1e-4, "hybrid, batch {seed}: {found} for {optimum}");
            }
            (found, optimum) => assert_eq!(found, optimum, "hybrid, batch {seed}"),
        }
        let midaco = Midaco { evaluations: 20_000, seed: Seed(seed) }.solve(&problem, &Budget::default());
        let found = judged("midaco", &problem, midaco);
        let same = match (found, optimum) {
            (Some(found), Some(optimum)) => {
                assert!(found >= optimum - 1e-6, "midaco, batch {seed}: {found} below {optimum}");
                found <= optimum + 1e-6
            }
            (found, optimum) => found == optimum,
        };
        close += u32::from(same);
    }
    assert!(close >= 290, "midaco reached the optimum of {close} of 300");
}

#[test]
fn the_hybrid_is_never_worse_than_its_seeds_and_better_with_time() {
    for load in [0.3, 0.95] {
        let instance = planted(5, 80, load);
        let problem = instance.problem();
        let hybrid = Hybrid { evaluations: 100_000, seed: Seed(1) };
        let seeds = hybrid.run(&problem, &budget(0));
        assert_eq!(seeds.evaluations, 160);
        let run = hybrid.run(&problem, &Budget::default());
        // Chains have half of them, or 150 a request, and end when there is none left.
        assert_eq!(run.stop, Stop::Finished);
        assert!((88_000..100_000).contains(&run.evaluations), "{}", run.evaluations);
        assert!((2..600).all(|few| hybrid.run(&problem, &budget(few)).evaluations <= few.max(160)));
        assert_eq!(run.trace[0], seeds.trace[0]);
        for pair in run.trace.windows(2) {
            assert!(pair[0].evaluations <= pair[1].evaluations);
            assert!(pair[0].value.objective > pair[1].value.objective);
        }
        let objective = evaluate(&problem, &run.placement).objective;
        let last = run.trace[run.trace.len() - 1].value.objective;
        assert!((objective - last).abs() < 1e-3, "{objective} {last}");
        assert!(objective <= evaluate(&problem, &seeds.placement).objective);
        assert!((run.oracle.omega - last).abs() < 1e-9);
    }
}

#[test]
fn the_planted_assignment_is_nearly_found_at_every_load() {
    for load in [0.3, 0.7, 0.95] {
        let instance = planted(11, 60, load);
        let problem = instance.problem();
        let answer = Hybrid { evaluations: 400_000, seed: Seed(2) }.solve(&problem, &Budget::default());
        let found = judged("hybrid", &problem, answer).expect("deferral is always allowed");
        // An assignment that defers nobody exists; each deferred request would cost 2000 ms.
        assert!(found < 400.0 * 60.0, "{found}");
    }
}

#[test]
fn midaco_is_feasible_on_a_batch_of_the_size_of_the_paper() {
    let instance = planted(3, 50, 0.3);
    let problem = instance.problem();
    let (_, run) = Midaco { evaluations: 50_000, seed: Seed(1) }.run(&problem, &Budget::default());
    assert!(run.best.as_ref().is_some_and(|best| best.value.feasible()));
    let answer = Midaco { evaluations: 50_000, seed: Seed(1) }.solve(&problem, &Budget::default());
    let found = judged("midaco", &problem, answer);
    assert_eq!(found, run.best.map(|best| best.value.objective));
}

#[test]
fn same_seed_same_answer_for_any_number_of_threads() {
    let instance = planted(7, 30, 0.7);
    let problem = instance.problem();
    let with = |threads: usize, seed: u64, evaluations: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
        pool.install(|| Hybrid { evaluations, seed: Seed(seed) }.run(&problem, &Budget::default()))
    };
    // Enough evaluations for islands.
    let large = 30 * scale_evolve::islands::LARGE_A_REQUEST;
    assert_eq!(with(1, 1, large), with(4, 1, large));
    assert_ne!(with(1, 1, 20_000).trace, with(1, 2, 20_000).trace);
    let midaco =
        |seed: u64| Midaco { evaluations: 5_000, seed: Seed(seed) }.run(&problem, &Budget::default()).1;
    assert_eq!(midaco(1), midaco(1));
    assert_ne!(midaco(1), midaco(2));
    // Islands of the black box: as many as there are copies.
    let islands = |threads: usize, copies: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
        let mut copies = vec![BlackBox::of(&problem); copies];
        let settings = Settings { evaluations: 20_001, seed: Seed(1), cancel: None, time_limit: None };
        pool.install(|| minimise_on_islands(&mut copies, &settings))
    };
    let three = islands(1, 3);
    assert_eq!((three.evaluations, three.stop), (20_001, Stop::Evaluations));
    assert_eq!(three, islands(4, 3));
    assert_ne!(three, islands(1, 1));
    assert_eq!(three.trace.last().map(|step| step.value), three.best.as_ref().map(|best| best.value));
    for pair in three.trace.windows(2) {
        let [before, after] = [pair[0], pair[1]];
        assert!(before.evaluations < after.evaluations && after.evaluations <= three.evaluations);
        assert!(!before.value.feasible() || after.value.objective < before.value.objective);
    }
}

/// What `greedy-latency` decides, on the model's own types: the oracle for the first seed of the hybrid.
struct Greedy;

impl Scheduler for Greedy {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let (platform, request) = (batch.platform, &batch.requests[next]);
        let mut best = (f64::INFINITY, Decision::Defer);
        for node in platform.node_ids() {
            for container in [Container::Reuse, Container::New] {
                if state.allows(platform, request.function, node, container) {
                    let latency = latency::predict(platform, request, node, container, batch.now());
                    if latency.total().0 < best.0 {
                        best = (latency.total().0, Decision::Run { node, container });
                    }
                }
            }
        }
        best.1
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_hybrid_is_never_worse_than_greedy(seed in 0_u64..1_000_000, requests in 1_usize..40, load in 0.2..1.0, small: bool, evaluations in 0_u64..2_000) {
        let instance = if small { tiny(seed, Objective::ELASTIC) } else { planted(seed, requests, load) };
        let problem = instance.problem();
        let decisions = decide_batch(&problem, &mut Greedy).expect("allowed");
        let greedy = evaluate(&problem, &decisions).objective;
        let answer = Hybrid { evaluations, seed: Seed(seed) }.solve(&problem, &Budget::default());
        let found = judged("hybrid", &problem, answer).expect("deferral is always allowed");
        // Not by a rounding error either.
        prop_assert!(found <= greedy, "{} for {}", found, greedy);
    }
}

/// From any placement, with any number of evaluations: allowed if the start is, never worse, the same for the same seed.
#[test]
fn improving_is_never_worse() {
    let mut better = 0;
    for seed in 0..60 {
        let objective = if seed % 4 == 3 { Objective::HARD } else { Objective::ELASTIC };
        let load = [0.3, 0.7, 0.95][seed as usize % 3];
        let mut instance = if seed % 5 == 0 { tiny(seed, objective) } else { planted(seed, 40, load) };
        instance.objective = objective;
        let problem = instance.problem();
        let waiting = scale_model::Placement { decisions: vec![Decision::Defer; problem.requests.len()] };
        let greedy = decide_batch(&problem, &mut Greedy).expect("allowed");
        let long = Hybrid { evaluations: 50_000, seed: Seed(seed) }.run(&problem, &Budget::default());
        for start in [waiting, greedy, long.placement] {
            let key = |placement: &scale_model::Placement| {
                (!violations(&problem, placement).is_empty(), evaluate(&problem, placement).objective)
            };
            for evaluations in [0, 1, 100, 3_000] {
                let hybrid = Hybrid { evaluations, seed: Seed(seed) };
                let found = hybrid.improve(&problem, &start, &Budget::default());
                assert!(key(&found) <= key(&start), "batch {seed}, {evaluations}");
                assert_eq!(found, hybrid.improve(&problem, &start, &Budget::default()));
                assert!(evaluations > 0 || found == start);
                better += u32::from(key(&found) < key(&start));
            }
        }
    }
    assert!(better >= 240, "{better} of 720");
}

/// What is no placement of the batch, or more than a node holds, comes back as it is.
#[test]
fn what_cannot_be_improved_comes_back() {
    let instance = planted(3, 20, 0.7);
    let problem = instance.problem();
    let all = |node, count| scale_model::Placement {
        decisions: vec![Decision::Run { node: scale_model::NodeId(node), container: Container::New }; count],
    };
    for start in [all(0, 20), all(0, 19), all(125, 20)] {
        let hybrid = Hybrid { evaluations: 1_000, seed: Seed(1) };
        assert_eq!(hybrid.improve(&problem, &start, &Budget::default()), start);
    }
}

#[test]
fn out_of_time() {
    let instance = planted(1, 50, 0.3);
    let problem = instance.problem();
    let within = |milliseconds: u64| Budget {
        time_limit: Some(Duration::from_millis(milliseconds)),
        ..Budget::default()
    };
    let mut hybrid = Hybrid { evaluations: u64::MAX, seed: Seed(1) };
    let mut midaco = Midaco { evaluations: u64::MAX, seed: Seed(1) };
    // No time: the hybrid has its seeds, midaco has nothing.
    assert_eq!(hybrid.solve(&problem, &within(0)).map(|solution| solution.stop), Ok(Stop::Time));
    assert_eq!(midaco.solve(&problem, &within(0)), Err(SolveError::NothingFound));
    let run = midaco.run(&problem, &within(0)).1;
    assert_eq!((run.evaluations, run.stop), (0, Stop::Time));
    // Some time: both have made evaluations and say why they ended.
    let run = hybrid.run(&problem, &within(100));
    assert!(run.stop == Stop::Time && run.evaluations > 100);
    let run = midaco.run(&problem, &within(100)).1;
    assert!(run.stop == Stop::Time && run.evaluations > 0);
    // The same for what only improves a placement: without time it comes back as it is, and it does not run for ever.
    let start = decide_batch(&problem, &mut Greedy).expect("allowed");
    let objective = |placement| evaluate(&problem, placement).objective;
    assert_eq!(hybrid.improve(&problem, &start, &within(0)), start);
    assert!(objective(&hybrid.improve(&problem, &start, &within(100))) < objective(&start));
    // More time than the evaluations take changes nothing.
    midaco.evaluations = 2_000;
    hybrid.evaluations = 2_000;
    assert_eq!(midaco.run(&problem, &within(600_000)).1, midaco.run(&problem, &Budget::default()).1);
    assert_eq!(hybrid.run(&problem, &within(600_000)), hybrid.run(&problem, &Budget::default()));
}

#[test]
fn no_request_and_one_request() {
    for objective in [Objective::ELASTIC, Objective::HARD] {
        let mut instance = planted(1, 1, 0.5);
        instance.objective = objective;
        let problem = instance.problem();
        let options = problem.platform.node_ids().flat_map(|node| {
            [Container::Reuse, Container::New].map(|container| Decision::Run { node, container })
        });
        let optimum = options
            .map(|decision| scale_model::Placement { decisions: vec![decision] })
            .filter(|placement| violations(&problem, placement).is_empty())
            .map(|placement| evaluate(&problem, &placement).objective)
            .fold(f64::INFINITY, f64::min);
        let hybrid = Hybrid { evaluations: 1_000, seed: Seed(1) }.solve(&problem, &Budget::default());
        assert_eq!(judged("hybrid", &problem, hybrid), Some(optimum));
        let midaco = Midaco { evaluations: 20_000, seed: Seed(1) }.solve(&problem, &Budget::default());
        assert_eq!(judged("midaco", &problem, midaco), Some(optimum));

        instance.requests.clear();
        let problem = instance.problem();
        let hybrid = Hybrid { evaluations: 1_000, seed: Seed(1) }.solve(&problem, &Budget::default());
        assert_eq!(judged("hybrid", &problem, hybrid), Some(0.0));
        let midaco = Midaco { evaluations: 1_000, seed: Seed(1) }.solve(&problem, &Budget::default());
        assert_eq!(judged("midaco", &problem, midaco), Some(0.0));
    }
}

#[test]
fn a_batch_that_cannot_be_feasible() {
    let mut instance = planted(2, 20, 0.9);
    instance.requests[7].slo.0 = 1e-3;
    instance.objective = Objective::HARD;
    let problem = instance.problem();
    let nothing = Err(SolveError::NothingFound);
    assert_eq!(Hybrid { evaluations: 20_000, seed: Seed(1) }.solve(&problem, &Budget::default()), nothing);
    assert_eq!(Midaco { evaluations: 20_000, seed: Seed(1) }.solve(&problem, &Budget::default()), nothing);
    // The same batch, elastic: one more is late.
    instance.objective = Objective::ELASTIC;
    let problem = instance.problem();
    let answer = Hybrid { evaluations: 20_000, seed: Seed(1) }.solve(&problem, &Budget::default());
    assert!(judged("hybrid", &problem, answer).is_some());
}

/// On a platform: what fits of a point that breaks capacities is started, and no request waits that would have fitted.
#[test]
fn a_point_that_breaks_capacities_is_fitted() {
    let (mut broken, mut waiting) = (0, 0);
    for seed in 1..=8 {
        let mut instance = planted(seed, 60, 0.95);
        let midaco = Midaco { evaluations: if seed % 2 == 0 { 500 } else { 20_000 }, seed: Seed(seed) };
        let problem = instance.problem();
        let (batch, run) = midaco.run(&problem, &Budget::default());
        let best = run.best.expect("it looked at points");
        let wanted = batch.placement(&best.point);
        let fitted = Fitted(midaco).solve(&problem, &Budget::default()).expect("all may wait");
        assert_eq!(violations(&problem, &fitted.placement), []);
        assert_eq!(best.value.feasible(), fitted.placement == wanted);
        assert_eq!(best.value.feasible(), { midaco }.solve(&problem, &Budget::default()).is_ok());
        broken += usize::from(!best.value.feasible());
        // With the first that waits in its place, and nothing after it, a constraint breaks.
        let waits = |(ours, wanted): (&Decision, &Decision)| *ours == Decision::Defer && ours != wanted;
        let decisions = fitted.placement.decisions.iter().zip(&wanted.decisions);
        if let Some(first) = decisions.clone().position(waits) {
            waiting += decisions.filter(|pair| waits(*pair)).count();
            let mut decisions = wanted.decisions[..=first].to_vec();
            decisions.resize(wanted.decisions.len(), Decision::Defer);
            assert!(!violations(&problem, &scale_model::Placement { decisions }).is_empty());
        }
        instance.objective = Objective::HARD;
        let hard = Fitted(midaco).solve(&instance.problem(), &Budget::default());
        judged("hard", &instance.problem(), hard);
    }
    assert!(broken >= 3 && waiting >= broken, "{broken} broken, {waiting} waiting");
}

#[test]
fn cancelled() {
    let instance = planted(1, 50, 0.7);
    let problem = instance.problem();
    let cancelled = Budget { cancel: Some(Arc::new(AtomicBool::new(true))), ..Budget::default() };
    let run = Hybrid { evaluations: u64::MAX, seed: Seed(1) }.run(&problem, &cancelled);
    assert_eq!((run.evaluations, run.stop), (100, Stop::Cancelled));
    let answer = Hybrid { evaluations: u64::MAX, seed: Seed(1) }.solve(&problem, &cancelled);
    assert!(judged("hybrid", &problem, answer).is_some(), "the seeds are there");
    let (_, run) = Midaco { evaluations: u64::MAX, seed: Seed(1) }.run(&problem, &cancelled);
    assert_eq!((run.evaluations, run.stop), (0, Stop::Cancelled));
}

/// The residual by the judge's rules, from the model's own types.
fn residual(problem: &BatchProblem<'_>, decisions: &[Decision]) -> f64 {
    let mut sum = 0.0;
    for node in problem.platform.node_ids() {
        let (mut cores, mut memory) = (
            i64::from(problem.state.used_cores(node).milli)
                - i64::from(problem.platform.node(node).cores.milli),
            i64::from(problem.state.used_memory(node).mb) - i64::from(problem.platform.node(node).memory.mb),
        );
        let mut reuses = vec![0_i64; problem.platform.functions.len()];
        for (request, decision) in problem.requests.iter().zip(decisions) {
            if let Decision::Run { node: on, container } = *decision
                && on == node
            {
                let function = problem.platform.function(request.function);
                cores += i64::from(function.cores.milli);
                memory += i64::from(function.memory.mb);
                reuses[request.function.index()] += i64::from(container == Container::Reuse);
            }
        }
        sum += cores.max(0) as f64 + memory.max(0) as f64;
        for function in problem.platform.function_ids() {
            let idle = i64::from(problem.state.idle(function, node));
            sum += 1000.0 * (reuses[function.index()] - idle).max(0) as f64;
        }
    }
    if problem.objective.slo == Slo::Hard {
        for (request, decision) in problem.requests.iter().zip(decisions) {
            if let Decision::Run { node, container } = *decision {
                let latency =
                    scale_model::latency::predict(problem.platform, request, node, container, problem.now());
                sum += (latency.total().0 - request.slo.0).max(0.0);
            }
        }
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_black_box_is_the_model(seed in 0_u64..1_000_000, digits in proptest::collection::vec(0_u32..1000, 10), hard: bool) {
        let instance: Instance = tiny(seed, if hard { Objective::HARD } else { Objective::ELASTIC });
        let problem = instance.problem();
        let mut batch = BlackBox::of(&problem);
        let point: Vec<f64> = batch
            .variables()
            .iter()
            .zip(digits.iter().cycle())
            .map(|(variable, digit)| f64::from(digit % (variable.upper as u32 + 1)))
            .collect();
        let placement = batch.placement(&point);
        let value = batch.evaluate(&point);
        prop_assert_eq!(value.objective, evaluate(&problem, &placement).objective);
        let expected = residual(&problem, &placement.decisions);
        prop_assert!((value.residual - expected).abs() < 1e-9, "{} {}", value.residual, expected);
        prop_assert_eq!(value.feasible(), violations(&problem, &placement).is_empty());
        // The working memory is as it was.
        prop_assert_eq!(batch.evaluate(&point), value);
    }
}
