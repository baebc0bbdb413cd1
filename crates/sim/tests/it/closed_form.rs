//! The simulator and the closed form `evaluate` agree bit for bit, on numbers that are not round at all.

use crate::common::{CONFIG, Tape, allowed, erratic, pick, play, random};
use proptest::prelude::*;
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, Decision, Instance, Milliseconds, OneByOne, Outcome,
    Placement, Platform, Seed, Time, Workload, evaluate, violations,
};
use scale_sim::simulate::placement_of;
use scale_sim::{Observer, Policy, Replay, SimConfig, Simulation, simulate};

/// A number in (0, most) from a seed, with all bits of the mantissa in use.
fn ragged(seed: u64, n: u64, most: f64) -> f64 {
    ((Seed(seed).derive("ragged", n).0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64 * most
}

/// The random case with ragged numbers in place of the round ones; arrivals that were equal stay so.
fn rough(tape: &[u8], seed: u64, most: usize) -> (Platform, Workload, SimConfig) {
    let (mut platform, mut workload, config) = random(tape, most);
    let mut n = 0;
    let mut next = |most| {
        n += 1;
        ragged(seed, n, most)
    };
    for function in &mut platform.functions {
        (function.image.0, function.init.0) = (next(30.0), next(100.0));
    }
    for node in &mut platform.topology.nodes {
        node.registry_bandwidth.0 = 50.0 + next(100.0);
    }
    for request in &mut workload.requests {
        request.arrival.0 *= 1.1;
        (request.cpu_time.0, request.input.0, request.slo.0) = (next(150.0), next(2.0), next(400.0));
    }
    (platform, workload, config)
}

/// Judges every batch as it passes by, and keeps it.
#[derive(Default)]
struct Judge {
    batches: Vec<(Instance, Vec<Outcome>)>,
    objective: f64,
}

impl Observer for Judge {
    fn batch(&mut self, problem: &BatchProblem<'_>, outcomes: &[Outcome], measured: bool) {
        let evaluation = evaluate(problem, &placement_of(outcomes));
        if measured {
            self.objective += evaluation.objective;
        }
        self.batches.push((Instance::of(problem), outcomes.to_vec()));
    }
}

fn bits(latency: &scale_model::Latency) -> [u64; 4] {
    [latency.cold, latency.comp, latency.comm, latency.wait].map(|part| part.0.to_bits())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_batch_of_a_run_is_allowed_and_costs_what_evaluate_says(
        tape in prop::collection::vec(any::<u8>(), 250),
        seed in any::<u64>(),
        defer_percent in prop::sample::select(vec![0_u64, 30, 70]),
    ) {
        let (platform, workload, mut config) = rough(&tape, seed, 40);
        config.objective = scale_model::Objective::ELASTIC;
        let mut judge = Judge::default();
        let mut scheduler = erratic(seed, defer_percent);
        let summary =
            simulate(&platform, &workload, &config, Policy::Scheduler(&mut scheduler), &mut judge).unwrap();
        prop_assert_eq!(summary.objective.to_bits(), judge.objective.to_bits());
        for (instance, outcomes) in &judge.batches {
            let (problem, placement) = (instance.problem(), placement_of(outcomes));
            prop_assert_eq!(violations(&problem, &placement), vec![]);
            let evaluation = evaluate(&problem, &placement);
            for (latency, outcome) in evaluation.latencies.iter().zip(outcomes) {
                prop_assert_eq!(bits(latency), bits(&outcome.latency));
            }
            // What a run meets can be written down and read again.
            prop_assert_eq!(&Instance::from_json(&instance.to_json()).unwrap(), instance);
        }
        // Twice the same.
        let again = play(&platform, &workload, &config, &mut erratic(seed, defer_percent)).unwrap();
        prop_assert_eq!(&again.0, &summary);
        // The placements of the run, played from a list, and decided a whole batch at a time, give the same run.
        let mut replay = Replay::new(judge.batches.iter().map(|(_, outcomes)| placement_of(outcomes)));
        let replayed = play(&platform, &workload, &config, &mut replay).unwrap();
        prop_assert_eq!(&replayed, &again);
        let mut solver = OneByOne(erratic(seed, defer_percent));
        let budget = Budget::default();
        let solved =
            simulate(&platform, &workload, &config, Policy::Solver(&mut solver, budget), &mut ()).unwrap();
        prop_assert_eq!(&solved, &summary);
    }

    #[test]
    fn a_replayed_placement_costs_what_evaluate_says(
        tape in prop::collection::vec(any::<u8>(), 250),
        seed in any::<u64>(),
        defer_percent in prop::sample::select(vec![0_u64, 10, 70]),
    ) {
        let (platform, mut workload, _) = rough(&tape, seed, 12);
        let now = Time(ragged(seed, 0, 1e6));
        let state = random_state(&platform, &tape, now);
        // Whoever has no room is not put to anyone.
        workload.requests.retain(|request| {
            platform.node_ids().any(|node| state.fits(&platform, request.function, node))
        });
        prop_assume!(!workload.requests.is_empty());
        workload.requests.iter_mut().for_each(|request| request.arrival = now);
        let workload = crate::common::workload(workload.requests);
        let config = SimConfig { keep_alive: Milliseconds(1.0), ..CONFIG };
        let problem =
            BatchProblem { platform: &platform, state: &state, requests: &workload.requests, objective: config.objective };
        // Any allowed placement: decided in a random order, so that it is not one of a first-come rule.
        let mut order: Vec<usize> = (0..workload.requests.len()).collect();
        order.sort_by_key(|&k| Seed(seed).derive("order", k as u64).0);
        let mut decisions = vec![Decision::Defer; order.len()];
        let mut at_hand = state.clone();
        for k in order {
            let decision = pick(seed, k as u64, &allowed(&problem, &at_hand, k), defer_percent);
            if let Decision::Run { node, container } = decision {
                at_hand.start(&platform, workload.requests[k].function, node, container);
            }
            decisions[k] = decision;
        }
        let placement = Placement { decisions };
        prop_assert_eq!(violations(&problem, &placement), vec![]);
        let evaluation = evaluate(&problem, &placement);

        let mut simulation = Simulation::from_state(&platform, &workload, config, state.clone()).unwrap();
        prop_assert!(simulation.advance(&mut ()));
        prop_assert_eq!(simulation.problem().state, &state);
        let mut replay = Replay::new([placement.clone()]);
        for next in 0..workload.requests.len() {
            let decision = scale_model::Scheduler::decide(
                &mut replay, &simulation.problem(), simulation.state(), next);
            simulation.apply(decision).unwrap();
        }
        prop_assert_eq!(simulation.state().running(scale_model::NodeId(0)), at_hand.running(scale_model::NodeId(0)));
        prop_assert_eq!(simulation.state(), &at_hand);
        prop_assert_eq!(placement_of(simulation.outcomes()), placement);
        for (latency, outcome) in evaluation.latencies.iter().zip(simulation.outcomes()) {
            prop_assert_eq!(bits(latency), bits(&outcome.latency));
        }
        simulation.commit(&mut ());
        simulation.settle().unwrap();
        let summary = simulation.summary();
        prop_assert_eq!(summary.objective.to_bits(), evaluation.objective.to_bits());
        prop_assert_eq!((summary.deferrals, summary.decisions), (evaluation.deferred as u64, workload.requests.len() as u64));
    }
}

/// Containers here and there, busy ones and idle ones, within every node's memory.
fn random_state(platform: &Platform, tape: &[u8], now: Time) -> ClusterState {
    let mut tape = Tape(&tape[tape.len() / 2..]);
    let mut state = ClusterState::empty(platform);
    state.time = now;
    for function in platform.function_ids() {
        for node in platform.node_ids() {
            for _ in 0..tape.below(3) {
                let memory =
                    state.used_memory(node) + state.idle_memory(node) + platform.function(function).memory;
                if memory > platform.node(node).memory {
                    continue;
                }
                match tape.below(2) {
                    0 if state.fits(platform, function, node) => {
                        state.start(platform, function, node, Container::New);
                    }
                    _ => state.add_idle(platform, function, node, 1),
                }
            }
        }
    }
    state
}
