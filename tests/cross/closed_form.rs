//! The simulator and the closed form agree, bit for bit, on batches of the quick scenario.

use crate::common::{caught, decide, experiment, is_rule, play};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use scale_lab::roster::{ROSTER, find};
use scale_model::{
    BatchProblem, Container, Decision, Evaluation, Instance, Latency, Outcome, Placement, RequestId, Time,
    Workload, evaluate, violations,
};
use scale_sim::simulate::placement_of;
use scale_sim::{Observer, Policy, Replay, SimConfig, Simulation, simulate};

/// Keeps what a run decided, and J of the measured batches by the closed form.
#[derive(Default)]
struct Log {
    placements: Vec<Placement>,
    outcomes: Vec<Vec<Outcome>>,
    objective: f64,
}

impl Observer for Log {
    fn batch(&mut self, problem: &BatchProblem<'_>, outcomes: &[Outcome], measured: bool) {
        let placement = placement_of(outcomes);
        if measured {
            self.objective += evaluate(problem, &placement).objective;
        }
        self.placements.push(placement);
        self.outcomes.push(outcomes.to_vec());
    }
}

fn bits(latency: &Latency) -> [u64; 4] {
    let Latency { cold, comp, comm, wait } = *latency;
    [cold.0, comp.0, comm.0, wait.0].map(f64::to_bits)
}

/// What the simulator makes of one placement of a batch, from the batch's own state.
fn simulated(instance: &Instance, placement: &Placement) -> (Vec<Outcome>, f64) {
    let workload = Workload { requests: instance.requests.clone() };
    let config = SimConfig {
        keep_alive: scale_model::Milliseconds(60_000.0),
        patience: None,
        warmup_until: Time(0.0),
        objective: instance.objective,
        verify: true,
    };
    let mut simulation =
        Simulation::from_state(&instance.platform, &workload, config, instance.state.clone())
            .expect("an instance");
    let mut replay = Replay::new([placement.clone()]);
    let mut log = Log::default();
    assert!(simulation.advance(&mut log), "there is a batch");
    assert_eq!(simulation.problem().requests, instance.requests, "the same batch");
    for next in 0..instance.requests.len() {
        let decision =
            scale_model::Scheduler::decide(&mut replay, &simulation.problem(), simulation.state(), next);
        simulation.apply(decision).expect("allowed");
    }
    simulation.commit(&mut log);
    simulation.settle().expect("no invariant is broken");
    let objective = simulation.summary().objective;
    (log.outcomes.swap_remove(0), objective)
}

/// Any allowed placement: requests in order, each anywhere it fits, or deferred.
fn random_placement(instance: &Instance, rng: &mut ChaCha8Rng) -> Placement {
    let platform = &instance.platform;
    let mut state = instance.state.clone();
    let mut decisions = Vec::new();
    for request in &instance.requests {
        let mut choices = vec![Decision::Defer];
        for node in platform.node_ids() {
            for container in [Container::Reuse, Container::New] {
                if state.allows(platform, request.function, node, container) {
                    choices.push(Decision::Run { node, container });
                }
            }
        }
        let decision = choices[rng.random_range(0..choices.len())];
        if let Decision::Run { node, container } = decision {
            state.start(platform, request.function, node, container);
        }
        decisions.push(decision);
    }
    Placement { decisions }
}

#[test]
fn of_single_batches() {
    let mut scenario = experiment("quick").scenario;
    scenario.arrivals.warmup_minutes = 60;
    scenario.arrivals.minutes = Some(60);
    let mut instances = caught(&scenario, 1, 20..=1000, 25);
    assert_eq!(instances.len(), 25);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut different = 0;
    for (number, instance) in instances.iter_mut().enumerate() {
        // A run of its own: numbered from 0, and nobody has waited before it begins.
        for (id, request) in (0..).zip(&mut instance.requests) {
            request.id = RequestId(id);
            request.arrival = instance.state.time;
        }
        let problem = instance.problem();
        let greedy = decide(find("greedy-latency").expect("in the roster"), &problem);
        let mut placements = vec![greedy.expect("a placement").placement];
        placements.extend((0..8).map(|_| random_placement(instance, &mut rng)));
        placements.dedup();
        different += placements.len();
        for placement in &placements {
            assert_eq!(violations(&problem, placement), [], "batch {number}");
            let Evaluation { latencies, objective, .. } = evaluate(&problem, placement);
            let (outcomes, simulated) = simulated(instance, placement);
            assert_eq!(placement_of(&outcomes), *placement, "batch {number}");
            for (outcome, latency) in outcomes.iter().zip(&latencies) {
                assert_eq!(bits(&outcome.latency), bits(latency), "batch {number}, {}", outcome.request.id);
            }
            assert_eq!(simulated.to_bits(), objective.to_bits(), "batch {number}");
        }
    }
    // Where hardly a node has room, two random placements may be the same.
    assert!(different > 25 * 4, "{different} placements");
}

/// A whole run, replayed from its placements, is the same run: whoever decided it, and deferrals and waiting included.
#[test]
fn of_whole_runs() {
    let mut scenario = experiment("quick").scenario;
    scenario.arrivals.warmup_minutes = 60;
    scenario.arrivals.minutes = Some(120);
    scenario.arrivals.load = Some(0.24);
    scenario.cluster.patience_ms = Some(400.0);
    let built = scenario.build().expect("a scenario");
    let generated = built.workload(3).expect("requests");
    let config = built.sim(generated.warmup_until);
    let mut deferrals = 0;
    for entry in ROSTER.iter().filter(|entry| is_rule(entry.name)) {
        let mut first = Log::default();
        let summary = play(&built, &generated, &config, entry, 3, &mut first);
        let sum = first.objective;
        assert_eq!(sum.to_bits(), summary.objective.to_bits(), "{}: {sum}", entry.name);
        deferrals += summary.deferrals;

        let mut second = Log::default();
        let mut replay = Replay::new(first.placements.clone());
        let policy = Policy::Scheduler(&mut replay);
        let again = simulate(&built.platform, &generated.workload, &config, policy, &mut second)
            .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert_eq!(again, summary, "{}", entry.name);
        assert_eq!(second.outcomes, first.outcomes, "{}", entry.name);
    }
    assert!(deferrals > 1000, "{deferrals} deferrals: the load is too low to test them");
}
