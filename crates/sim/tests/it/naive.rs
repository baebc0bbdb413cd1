//! A simulator written from DESIGN.md, section 2, with nothing in common with ours: every container is an entry of a
//! list, everything is found by looking through it. Both must tell the same story and count the same.

use crate::common::{
    CONFIG, Event, Recorder, Rule, arrivals, erratic, first_fit, half, node, pick, platform, play, random,
};
use proptest::prelude::*;
use scale_model::{
    BatchProblem, ClusterState, Container, Decision, Latency, Milliseconds, NodeId, Outcome, Platform,
    Request, Scheduler, Slo, Workload,
};
use scale_sim::{Policy, Rejection, SimConfig, Simulation, Summary};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Use {
    Busy { until: f64 },
    Idle { since: f64 },
}

#[derive(Clone, Copy, Debug)]
struct Box {
    node: usize,
    function: usize,
    /// Number of the service that it gives or gave last: breaks ties of time.
    service: u64,
    at: Use,
}

struct Naive<'a> {
    platform: &'a Platform,
    boxes: Vec<Box>,
}

impl Naive<'_> {
    fn busy(&self, node: usize) -> (u32, u32) {
        let on_it = self.boxes.iter().filter(|b| b.node == node && matches!(b.at, Use::Busy { .. }));
        let functions = on_it.map(|b| &self.platform.functions[b.function]);
        functions.fold((0, 0), |(cores, memory), f| (cores + f.cores.milli, memory + f.memory.mb))
    }

    fn idle(&self, function: usize, node: usize) -> usize {
        let of = |b: &&Box| b.node == node && b.function == function && matches!(b.at, Use::Idle { .. });
        self.boxes.iter().filter(of).count()
    }

    /// What is allowed when the batch has these decisions so far (function, node, reuse).
    fn options(&self, function: usize, so_far: &[(usize, usize, bool)]) -> Vec<Decision> {
        let mut options = Vec::new();
        for (v, node) in self.platform.topology.nodes.iter().enumerate() {
            let (mut cores, mut memory) = self.busy(v);
            for &(j, ..) in so_far.iter().filter(|(_, w, _)| *w == v).chain([&(function, v, false)]) {
                cores += self.platform.functions[j].cores.milli;
                memory += self.platform.functions[j].memory.mb;
            }
            if cores > node.cores.milli || memory > node.memory.mb {
                continue;
            }
            let taken = so_far.iter().filter(|&&(j, w, reuse)| (j, w, reuse) == (function, v, true)).count();
            let at = NodeId(v as u32);
            if self.idle(function, v) > taken {
                options.push(Decision::Run { node: at, container: Container::Reuse });
            }
            options.push(Decision::Run { node: at, container: Container::New });
        }
        options
    }

    /// Index of the idle container on the node that became idle last (or first), of one function or of any.
    fn by_age(&self, node: usize, function: Option<usize>, last: bool) -> Option<usize> {
        let mut found: Option<(f64, u64, usize)> = None;
        for (index, b) in self.boxes.iter().enumerate() {
            let Use::Idle { since } = b.at else { continue };
            if b.node != node || function.is_some_and(|function| function != b.function) {
                continue;
            }
            let better = found.is_none_or(|(s, n, _)| ((since, b.service) > (s, n)) == last);
            if better {
                found = Some((since, b.service, index));
            }
        }
        found.map(|(.., index)| index)
    }
}

/// How long a request is served, from the paper's formulas.
fn service(platform: &Platform, request: &Request, node: usize, container: Container) -> Latency {
    let (target, function) = (&platform.topology.nodes[node], &platform.functions[request.function.index()]);
    let pull = function.image.0 / target.registry_bandwidth.0 * 1000.0;
    let cold = if container == Container::New { pull + function.init.0 } else { 0.0 };
    let rate = platform.topology.links.rate(request.source, NodeId(node as u32)).0;
    let comm = if request.source.index() == node { 0.0 } else { request.input.0 / rate * 1000.0 };
    Latency {
        cold: Milliseconds(cold),
        comp: Milliseconds(request.cpu_time.0 / (f64::from(function.cores.milli) / 1000.0)),
        comm: Milliseconds(comm),
        wait: Milliseconds(0.0),
    }
}

fn naive(
    platform: &Platform,
    workload: &Workload,
    config: &SimConfig,
    mut choose: impl FnMut(&[Decision]) -> Decision,
) -> (Summary, Vec<Event>) {
    let mut world = Naive { platform, boxes: Vec::new() };
    let (mut events, mut summary) = (Vec::new(), Summary::default());
    let (mut waiting, mut arrived, mut services) = (Vec::<Request>::new(), 0, 0_u64);
    let warmup = config.warmup_until.0;
    let end = workload.requests.last().map_or(warmup, |request| request.arrival.0);
    summary.span = Milliseconds(if end > warmup { end - warmup } else { 0.0 });
    let reject = |request: &Request, why, summary: &mut Summary, events: &mut Vec<Event>| {
        let measured = request.arrival.0 >= warmup;
        let reason = match why {
            Rejection::TooLarge => 0,
            Rejection::Patience => 1,
            Rejection::Starved => 2,
        };
        summary.rejected[reason] += 1;
        summary.measured_rejected += u64::from(measured);
        events.push(Event::Rejected(request.id, why, measured));
    };
    loop {
        // Something must be decided at the next arrival, and while somebody waits at the next completion.
        let mut next = f64::INFINITY;
        if let Some(request) = workload.requests.get(arrived) {
            next = next.min(request.arrival.0);
        }
        if !waiting.is_empty() {
            for b in &world.boxes {
                if let Use::Busy { until } = b.at {
                    next = next.min(until);
                }
            }
        }
        if next == f64::INFINITY {
            waiting.iter().for_each(|request| reject(request, Rejection::Starved, &mut summary, &mut events));
            return (summary, events);
        }
        let now = next;
        for b in &mut world.boxes {
            match b.at {
                Use::Busy { until } if until <= now => b.at = Use::Idle { since: until },
                _ => {}
            }
        }
        world.boxes.retain(|b| match b.at {
            Use::Idle { since } if now - since >= config.keep_alive.0 => {
                summary.expirations += u64::from(since + config.keep_alive.0 >= warmup);
                false
            }
            _ => true,
        });
        let mut batch = Vec::new();
        for request in std::mem::take(&mut waiting) {
            match config.patience {
                Some(patience) if now - request.arrival.0 >= patience.0 => {
                    reject(&request, Rejection::Patience, &mut summary, &mut events);
                }
                _ => batch.push(request),
            }
        }
        while let Some(request) = workload.requests.get(arrived).filter(|request| request.arrival.0 == now) {
            arrived += 1;
            summary.offered += 1;
            let function = &platform.functions[request.function.index()];
            let room =
                |node: &&scale_model::Node| node.cores >= function.cores && node.memory >= function.memory;
            match platform.topology.nodes.iter().find(room) {
                Some(_) => batch.push(*request),
                None => reject(request, Rejection::TooLarge, &mut summary, &mut events),
            }
        }
        // Whoever has no option can only wait, and is not asked.
        (batch, waiting) =
            batch.into_iter().partition(|request| !world.options(request.function.index(), &[]).is_empty());
        if batch.is_empty() {
            continue;
        }
        let (mut so_far, mut outcomes) = (Vec::new(), Vec::new());
        for request in &batch {
            let options = world.options(request.function.index(), &so_far);
            let decision = if options.is_empty() { Decision::Defer } else { choose(&options) };
            let mut latency = Latency::default();
            if let Decision::Run { node, container } = decision {
                so_far.push((request.function.index(), node.index(), container == Container::Reuse));
                latency = service(platform, request, node.index(), container);
            }
            latency.wait = Milliseconds(now - request.arrival.0);
            outcomes.push(Outcome { request: *request, decision, latency });
        }
        events.push(Event::Batch { time: now, outcomes: outcomes.clone() });
        // Commit: all reuses, then new containers, then eviction where there is too much.
        for outcome in &outcomes {
            if let Decision::Run { node, container: Container::Reuse } = outcome.decision {
                let taken = world.by_age(node.index(), Some(outcome.request.function.index()), true).unwrap();
                world.boxes.swap_remove(taken);
            }
        }
        let (measured_batch, mut objective) = (now >= warmup, 0.0);
        for outcome in &outcomes {
            let Latency { cold, comp, comm, wait } = outcome.latency;
            let (request, total) = (&outcome.request, cold.0 + comp.0 + comm.0 + wait.0);
            objective += total;
            if let (true, Slo::Elastic { penalty_ms }) = (total > request.slo.0, config.objective.slo) {
                objective += penalty_ms.0;
            }
            let Decision::Run { node, container } = outcome.decision else {
                objective += config.objective.defer_penalty.0;
                waiting.push(*request);
                continue;
            };
            let measured = request.arrival.0 >= warmup;
            events.push(Event::Placed(request.id, measured));
            summary.placed += 1;
            let until = now + (total - wait.0);
            let at = Use::Busy { until };
            world.boxes.push(Box {
                node: node.index(),
                function: request.function.index(),
                service: services,
                at,
            });
            services += 1;
            let function = &platform.functions[request.function.index()];
            let within = f64::max(0.0, until.min(end) - now.max(warmup));
            summary.busy_core_ms += within * (f64::from(function.cores.milli) / 1000.0);
            summary.busy_mb_ms += within * f64::from(function.memory.mb);
            if measured {
                summary.measured += 1;
                summary.late += u64::from(total > request.slo.0);
                summary.cold_starts += u64::from(container == Container::New);
                summary.latency.cold += cold;
                summary.latency.comp += comp;
                summary.latency.comm += comm;
                summary.latency.wait += wait;
                summary.histogram.add(total);
                summary.latency_max_ms = summary.latency_max_ms.max(total);
            }
        }
        if measured_batch {
            summary.batches += 1;
            summary.decisions += outcomes.len() as u64;
            summary.deferrals += outcomes.iter().filter(|o| o.decision == Decision::Defer).count() as u64;
            summary.objective += objective;
        }
        waiting.sort_by_key(|request| request.id);
        for (v, node) in platform.topology.nodes.iter().enumerate() {
            let on_it = |b: &&Box| b.node == v;
            let held = |world: &Naive<'_>| -> u32 {
                world.boxes.iter().filter(on_it).map(|b| platform.functions[b.function].memory.mb).sum()
            };
            while held(&world) > node.memory.mb {
                let oldest = world.by_age(v, None, false).unwrap();
                world.boxes.swap_remove(oldest);
                summary.evictions += u64::from(measured_batch);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn ours_agrees_with_the_naive_one(
        tape in prop::collection::vec(any::<u8>(), 250),
        seed in any::<u64>(),
        defer_percent in prop::sample::select(vec![0_u64, 10, 60]),
    ) {
        let (platform, workload, config) = random(&tape, 40);
        let mut n = 0;
        let (expected, its_events) = naive(&platform, &workload, &config, |options| {
            n += 1;
            pick(seed, n, options, defer_percent)
        });
        let (summary, events) = play(&platform, &workload, &config, &mut erratic(seed, defer_percent)).unwrap();
        prop_assert_eq!(events, its_events);
        prop_assert_eq!(&summary, &expected);
        prop_assert_eq!(summary.offered, workload.requests.len() as u64);
        prop_assert_eq!(summary.offered, summary.placed + summary.rejected.iter().sum::<u64>());

        let (expected, its_events) =
            naive(&platform, &workload, &config, |options| options.first().copied().unwrap_or(Decision::Defer));
        let (summary, events) = play(&platform, &workload, &config, &mut first_fit()).unwrap();
        prop_assert_eq!(events, its_events);
        prop_assert_eq!(summary, expected);
    }

    /// A clone after any batch goes on as the original does, whatever is done with another clone in between.
    #[test]
    fn a_fork_goes_on_as_the_original(tape in prop::collection::vec(any::<u8>(), 0..150), at in 0..12usize) {
        let (platform, workload, config) = random(&tape, 25);
        let rest = |mut simulation: Simulation<'_>, scheduler: &mut dyn Scheduler| {
            let mut recorder = Recorder::default();
            while simulation.advance(&mut recorder) {
                simulation.play(&mut Policy::Scheduler(scheduler), &mut recorder).unwrap();
            }
            (simulation.into_summary(), recorder.0)
        };
        let (whole, events) = rest(Simulation::new(&platform, &workload, config).unwrap(), &mut first_fit());
        let mut simulation = Simulation::new(&platform, &workload, config).unwrap();
        let mut before = Recorder::default();
        for _ in 0..at {
            if simulation.advance(&mut before) {
                simulation.play(&mut Policy::Scheduler(&mut first_fit()), &mut before).unwrap();
            }
        }
        let (fork, other) = (simulation.clone(), simulation.clone());
        rest(other, &mut Rule(|_: &BatchProblem<'_>, _: &ClusterState, _: usize| Decision::Defer));
        let (summary, after) = rest(simulation, &mut first_fit());
        prop_assert_eq!(&rest(fork, &mut first_fit()), &(summary.clone(), after.clone()));
        prop_assert_eq!(summary, whole);
        before.0.extend(after);
        prop_assert_eq!(before.0, events);
    }
}

#[test]
fn the_naive_one_is_right_where_it_was_worked_by_hand() {
    let platform = platform(vec![node(500, 100)], vec![half()]);
    let workload = arrivals(&[0.0, 50.0, 1000.0]);
    let (summary, events) =
        naive(&platform, &workload, &CONFIG, |options| options.first().copied().unwrap_or(Decision::Defer));
    assert_eq!(crate::common::story(&events), ["0: 0c0=200", "200: 1w0+150=250", "1000: 2w0=100"]);
    assert_eq!((summary.cold_starts, summary.objective), (1, 200.0 + 250.0 + 100.0));
}
