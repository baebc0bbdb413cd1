//! Scenarios, a judge that shares no code with the product, and batches caught from real runs.

use scale_lab::experiment::{self, Experiment};
use scale_lab::measure;
use scale_lab::roster::Entry;
use scale_lab::scenario::{Built, Scenario, Sites};
use scale_lab::train::Agents;
use scale_model::{
    BatchProblem, Container, Decision, FunctionId, Instance, NodeId, Outcome, Platform, Seed, Solution,
    SolveError, Time, evaluate, violations,
};
use scale_sim::simulate::placement_of;
use scale_sim::{Observer, SimConfig, Summary};
use scale_workload::Generated;
use std::collections::BTreeMap;

/// A built-in experiment.
pub(crate) fn experiment(name: &str) -> Experiment {
    let text = experiment::built_in(name).expect("it is built in");
    Experiment::parse(text).expect("it parses")
}

/// The quick scenario with other numbers of nodes, functions and minutes.
pub(crate) fn small(nodes: u32, functions: u32, load: f64, minutes: u32) -> Scenario {
    let mut scenario = experiment("quick").scenario;
    scenario.sites = Sites::Rule(nodes);
    scenario.functions.count = functions;
    scenario.arrivals.load = Some(load);
    scenario.arrivals.warmup_minutes = 200;
    scenario.arrivals.minutes = Some(minutes);
    scenario
}

/// Whether an entry of the roster is a rule that decides in microseconds. The others search for milliseconds and more:
/// tests give them fewer batches.
pub(crate) fn is_rule(name: &str) -> bool {
    // Agents have to be trained first: they are tested where they are trained.
    !["milp", "midaco", "hybrid", "scale", "m-dqn"].iter().any(|search| name.starts_with(search))
}

/// Plays a roster entry exactly as `scale measure` does.
pub(crate) fn play(
    built: &Built,
    generated: &Generated,
    config: &SimConfig,
    entry: &Entry,
    seed: u64,
    observer: &mut dyn Observer,
) -> Summary {
    let played =
        measure::run(&built.platform, &generated.workload, config, entry, &Agents::none(), seed, observer);
    played.unwrap_or_else(|error| panic!("{}: {error}", entry.name))
}

/// One batch, decided by a roster entry.
pub(crate) fn decide(entry: &Entry, problem: &BatchProblem<'_>) -> Result<Solution, SolveError> {
    let player = entry.player(Seed(1), &Agents::none(), problem.platform, 1);
    let (mut solver, budget) = player.unwrap_or_else(|error| panic!("{error}")).solver();
    solver.solve(problem, &budget)
}

/// Keeps every seventh batch of a run that is not too small, cut to a size that can be solved.
pub(crate) struct Catch {
    pub(crate) sizes: std::ops::RangeInclusive<usize>,
    pub(crate) most: usize,
    pub(crate) seen: usize,
    pub(crate) caught: Vec<Instance>,
}

impl Observer for Catch {
    fn batch(&mut self, problem: &BatchProblem<'_>, _outcomes: &[Outcome], measured: bool) {
        let large = measured && problem.requests.len() >= *self.sizes.start();
        self.seen += usize::from(large);
        if large && self.seen.is_multiple_of(7) && self.caught.len() < self.most {
            let mut instance = Instance::of(problem);
            instance.requests.truncate(*self.sizes.end());
            self.caught.push(instance);
        }
    }
}

/// Batches of a run of greedy-latency, one seed.
pub(crate) fn caught(
    scenario: &Scenario,
    seed: u64,
    sizes: std::ops::RangeInclusive<usize>,
    most: usize,
) -> Vec<Instance> {
    let built = scenario.build().expect("a scenario");
    let generated = built.workload(seed).expect("requests");
    let entry = scale_lab::roster::find("greedy-latency").expect("in the roster");
    let mut catch = Catch { sizes, most, seen: 0, caught: Vec::new() };
    play(&built, &generated, &built.sim(generated.warmup_until), entry, seed, &mut catch);
    catch.caught
}

/// Holds every batch against the judge of the model, and against the books that it keeps itself: which containers exist,
/// until when each is busy, and what the busy ones hold. It knows Eqs. (1)-(3) only from the outcomes.
pub(crate) struct Auditor<'a> {
    platform: &'a Platform,
    batches: u64,
    /// By node: when each busy container ends and what it holds, (end, cores, memory).
    busy: Vec<Vec<(Time, u64, u64)>>,
    /// By function and node: when each container that was ever started is free again. Containers that the simulator
    /// has evicted stay in here, so a reuse is allowed too often, never too rarely.
    free: BTreeMap<(FunctionId, NodeId), Vec<Time>>,
    now: Time,
    pub(crate) objections: Vec<String>,
}

impl<'a> Auditor<'a> {
    pub(crate) fn new(platform: &'a Platform) -> Auditor<'a> {
        let busy = vec![Vec::new(); platform.topology.nodes.len()];
        Auditor { platform, batches: 0, busy, free: BTreeMap::new(), now: Time(0.0), objections: Vec::new() }
    }

    pub(crate) fn batches(&self) -> u64 {
        self.batches
    }

    fn audit(&mut self, now: Time, outcome: &Outcome) -> Result<(), String> {
        let Decision::Run { node, container } = outcome.decision else { return Ok(()) };
        let (request, latency) = (&outcome.request, outcome.latency);
        let end = now + latency.service();
        let containers = self.free.entry((request.function, node)).or_default();
        match container {
            Container::New => containers.push(end),
            Container::Reuse => match containers.iter_mut().find(|free| **free <= now) {
                Some(free) => *free = end,
                None => return Err(format!("{} reuses a container that is not there", request.id)),
            },
        }
        let function = self.platform.function(request.function);
        self.busy[node.index()].push((end, u64::from(function.cores.milli), u64::from(function.memory.mb)));
        Ok(())
    }

    fn capacities(&mut self, now: Time) -> Result<(), String> {
        for (node, busy) in self.platform.topology.nodes.iter().zip(&mut self.busy) {
            busy.retain(|(end, ..)| *end > now);
            let (cores, memory) = busy.iter().fold((0, 0), |(c, m), (_, cores, mb)| (c + cores, m + mb));
            if cores > u64::from(node.cores.milli) || memory > u64::from(node.memory.mb) {
                return Err(format!("{}: {cores} thousandths of a core and {memory} MB are busy", node.name));
            }
        }
        Ok(())
    }
}

impl Observer for Auditor<'_> {
    fn batch(&mut self, problem: &BatchProblem<'_>, outcomes: &[Outcome], _measured: bool) {
        self.batches += 1;
        let now = problem.now();
        if now < self.now {
            self.objections.push(format!("the clock went back from {} to {now}", self.now));
        }
        self.now = now;
        let placement = placement_of(outcomes);
        self.objections.extend(violations(problem, &placement).iter().map(|v| format!("{now}: {v}")));
        let closed = evaluate(problem, &placement);
        if !closed.latencies.iter().eq(outcomes.iter().map(|outcome| &outcome.latency)) {
            self.objections.push(format!("{now}: latencies differ from the closed form"));
        }
        // All reuses of a batch are of containers that were idle before it: those it starts end later than now.
        for outcome in outcomes {
            if let Err(objection) = self.audit(now, outcome) {
                self.objections.push(format!("{now}: {objection}"));
            }
        }
        if let Err(objection) = self.capacities(now) {
            self.objections.push(format!("{now}: {objection}"));
        }
    }
}
