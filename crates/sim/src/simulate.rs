//! The loop: advance to the next decision, decide the batch, commit it.

use crate::pool::{Idle, IdlePool};
use crate::summary::Summary;
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, Decision, FunctionId, Invalid, Latency, Milliseconds,
    NodeId, Objective, Outcome, Placement, Platform, Request, RequestId, Scheduler, SolveError, Solver, Time,
    Violation, Workload, evaluate, latency, violations,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use thiserror::Error;

/// Plays a workload from an empty cluster.
///
/// # Errors
/// See [`SimError`].
pub fn simulate(
    platform: &Platform,
    workload: &Workload,
    config: &SimConfig,
    mut policy: Policy<'_>,
    observer: &mut dyn Observer,
) -> Result<Summary, SimError> {
    let mut simulation = Simulation::new(platform, workload, *config)?;
    while simulation.advance(observer) {
        simulation.play(&mut policy, observer)?;
    }
    Ok(simulation.into_summary())
}

/// Who decides.
pub enum Policy<'a> {
    /// Request by request.
    Scheduler(&'a mut dyn Scheduler),
    /// Batch by batch, each within a budget.
    Solver(&'a mut dyn Solver, Budget),
}

/// What a run depends on besides platform and workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimConfig {
    /// How long an idle container stays.
    pub keep_alive: Milliseconds,
    /// How long a request waits before it is rejected; `None`: for ever.
    pub patience: Option<Milliseconds>,
    /// Requests that arrive before this are played but not measured.
    pub warmup_until: Time,
    /// What optimisers minimise.
    pub objective: Objective,
    /// Check all invariants after every batch. Debug builds always do.
    pub verify: bool,
}

impl SimConfig {
    /// Checks the times, which may be infinite, and the penalties, which may not.
    fn validate(&self) -> Result<(), Invalid> {
        let check = |field: &str, value: f64| match value >= 0.0 {
            true => Ok(()),
            // NaN comes here too.
            false => Err(Invalid {
                field: field.into(),
                value: value.to_string(),
                expected: "a number of at least 0",
            }),
        };
        check("keep_alive_ms", self.keep_alive.0)?;
        check("patience_ms", self.patience.map_or(0.0, |patience| patience.0))?;
        check("warmup_until_ms", self.warmup_until.0)?;
        self.objective.validate()
    }
}

/// How many containers are busy.
fn running(platform: &Platform, state: &ClusterState) -> u64 {
    platform.node_ids().map(|node| u64::from(state.running(node))).sum()
}

/// Between batches, busy and idle containers together fit on every node.
fn room_for_idle(platform: &Platform, state: &ClusterState) -> Result<(), Invalid> {
    for node in platform.node_ids() {
        if state.used_memory(node) + state.idle_memory(node) > platform.node(node).memory {
            return Err(Invalid {
                field: format!("state.nodes[{}].idle_memory_mb", node.0),
                value: state.idle_memory(node).to_string(),
                expected: "no more than what busy containers leave of the node",
            });
        }
    }
    Ok(())
}

/// Sees what happens. All methods do nothing unless overridden.
pub trait Observer {
    /// A batch is decided and about to be committed. `measured` if it is after the warm-up.
    fn batch(&mut self, _problem: &BatchProblem<'_>, _outcomes: &[Outcome], _measured: bool) {}
    /// A request was placed. `measured` if it arrived after the warm-up.
    fn placed(&mut self, _outcome: &Outcome, _measured: bool) {}
    /// A request was rejected. `measured` if it arrived after the warm-up.
    fn rejected(&mut self, _request: &Request, _why: Rejection, _measured: bool) {}
}

/// Sees nothing.
impl Observer for () {}

/// Why a request is never placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// No node could hold it even if it were empty.
    TooLarge,
    /// It waited for as long as the scenario allows.
    Patience,
    /// It was deferred although nothing was left that could change the state.
    Starved,
}

/// ```
/// use scale_sim::Rejection;
/// let words = [Rejection::TooLarge, Rejection::Patience, Rejection::Starved].map(|why| why.to_string());
/// assert_eq!(words, ["too large for every node", "out of patience", "starved"]);
/// ```
impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Rejection::TooLarge => "too large for every node",
            Rejection::Patience => "out of patience",
            Rejection::Starved => "starved",
        })
    }
}

/// Why a run ends early.
#[derive(Debug, Error)]
pub enum SimError {
    /// The scheduler broke a rule.
    #[error("{time}: {request}: {decision:?} is not allowed: {why}")]
    Decision {
        /// When.
        time: Time,
        /// Which request.
        request: RequestId,
        /// What was decided.
        decision: Decision,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The solver gave up.
    #[error("{time}: a batch of {requests} requests: {cause}")]
    Solver {
        /// When.
        time: Time,
        /// Size of the batch.
        requests: usize,
        /// Why.
        cause: SolveError,
    },
    /// The solver broke a rule.
    #[error("{time}: the solver's placement is not allowed: {violation}")]
    NotAllowed {
        /// When.
        time: Time,
        /// The first rule that it breaks.
        violation: Violation,
    },
    /// The solver claims another objective than its placement has.
    #[error("{time}: the solver claims an objective of {claimed} ms, its placement has {actual} ms")]
    Objective {
        /// When.
        time: Time,
        /// What the solver says.
        claimed: f64,
        /// What [`evaluate`](scale_model::evaluate()) says.
        actual: f64,
    },
    /// The input makes no sense.
    #[error(transparent)]
    Input(#[from] Invalid),
    /// An invariant of the simulator is broken: a defect of ours.
    #[error("{time}: broken invariant: {what}")]
    Invariant {
        /// When.
        time: Time,
        /// Which one.
        what: String,
    },
}

/// A run, step by step: [`advance`](Self::advance), then [`play`](Self::play), or one [`apply`](Self::apply) for each
/// request of [`problem`](Self::problem), [`commit`](Self::commit) and [`settle`](Self::settle). A clone is a fork: the
/// same state with the same arrivals to come, to be played on in another way.
#[derive(Clone)]
pub struct Simulation<'a> {
    platform: &'a Platform,
    config: SimConfig,
    arrivals: &'a [Request],
    /// Requests that arrived so far.
    arrived: usize,
    /// The state before the batch, and the one with its decisions so far. Kept in step by `settle`, because copying
    /// one into the other for every batch would cost more than the decisions.
    before: ClusterState,
    current: ClusterState,
    pool: IdlePool,
    completions: BinaryHeap<Reverse<Completion>>,
    started: u64,
    /// Containers of the given state that are busy for ever.
    stuck: u64,
    /// In order of arrival.
    waiting: Vec<Request>,
    room: Room,
    batch: Vec<Request>,
    outcomes: Vec<Outcome>,
    can_ever_run: Vec<bool>,
    last_arrival: Time,
    summary: Summary,
}

/// A busy container that becomes idle; ordered by time, then by when it started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Completion {
    time: Time,
    sequence: u64,
    function: FunctionId,
    node: NodeId,
}

impl<'a> Simulation<'a> {
    /// A run from an empty cluster.
    ///
    /// # Errors
    /// [`SimError::Input`] if platform or workload make no sense.
    pub fn new(
        platform: &'a Platform,
        workload: &'a Workload,
        config: SimConfig,
    ) -> Result<Simulation<'a>, SimError> {
        Simulation::from_state(platform, workload, config, ClusterState::empty(platform))
    }

    /// A run from a given state: its idle containers became idle at the state's time, its busy ones stay busy for ever.
    ///
    /// # Errors
    /// [`SimError::Input`] if platform, workload or state make no sense.
    pub fn from_state(
        platform: &'a Platform,
        workload: &'a Workload,
        config: SimConfig,
        state: ClusterState,
    ) -> Result<Simulation<'a>, SimError> {
        platform.validate()?;
        workload.validate(platform)?;
        state.validate(platform)?;
        config.validate()?;
        room_for_idle(platform, &state)?;
        if let Some(first) = workload.requests.first()
            && first.arrival < state.time
        {
            return Err(SimError::Input(Invalid {
                field: "requests[0].arrival_ms".into(),
                value: first.arrival.0.to_string(),
                expected: "not to be before the state's time",
            }));
        }
        let mut pool = IdlePool::new(platform);
        for function in platform.function_ids() {
            for node in platform.node_ids() {
                for _ in 0..state.idle(function, node) {
                    pool.push(Idle { node, function, since: state.time });
                }
            }
        }
        let stuck = running(platform, &state);
        let last_arrival = workload.requests.last().map_or(config.warmup_until, |request| request.arrival);
        let span = (last_arrival - config.warmup_until).0.max(0.0);
        Ok(Simulation {
            platform,
            config,
            arrivals: &workload.requests,
            arrived: 0,
            before: state.clone(),
            current: state,
            pool,
            completions: BinaryHeap::new(),
            started: 0,
            stuck,
            waiting: Vec::new(),
            room: Room::new(platform),
            batch: Vec::new(),
            outcomes: Vec::new(),
            can_ever_run: platform.function_ids().map(|id| platform.can_ever_run(id)).collect(),
            last_arrival,
            summary: Summary { span: Milliseconds(span), ..Summary::default() },
        })
    }

    /// Moves to the next instant at which something can be decided. `false`: the run is over.
    #[must_use]
    pub fn advance(&mut self, observer: &mut dyn Observer) -> bool {
        loop {
            let arrival = self.arrivals.get(self.arrived).map(|request| request.arrival);
            let completion = match self.waiting.is_empty() {
                true => None,
                false => self.completions.peek().map(|Reverse(completion)| completion.time),
            };
            let Some(now) = arrival.into_iter().chain(completion).min() else {
                for request in std::mem::take(&mut self.waiting) {
                    self.reject(&request, Rejection::Starved, observer);
                }
                return false;
            };
            self.complete(now);
            self.expire(now);
            self.before.time = now;
            self.current.time = now;
            self.gather(now, observer);
            if !self.batch.is_empty() {
                return true;
            }
        }
    }

    /// The batch to decide, or, after [`commit`](Self::commit), the one just decided.
    #[inline]
    pub fn problem(&self) -> BatchProblem<'_> {
        BatchProblem {
            platform: self.platform,
            state: &self.before,
            requests: &self.batch,
            objective: self.config.objective,
        }
    }

    /// The state with the batch's decisions so far applied.
    #[inline]
    pub fn state(&self) -> &ClusterState {
        &self.current
    }

    /// Whether some node still has room for the next request of the batch. If not, there is nothing to decide: it is
    /// deferred.
    ///
    /// # Panics
    /// If every request of the batch is decided.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        let function = self.batch[self.outcomes.len()].function;
        self.room.has(self.platform, &self.current, function)
    }

    /// The decisions of the batch so far, with what they cost.
    #[inline]
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Decides the next request of the batch.
    ///
    /// # Errors
    /// [`SimError::Decision`] if the decision is not allowed; the request is then still undecided.
    ///
    /// # Panics
    /// If every request of the batch is decided.
    #[inline]
    pub fn apply(&mut self, decision: Decision) -> Result<(), SimError> {
        let request = self.batch[self.outcomes.len()];
        let now = self.before.time;
        let latency = match decision {
            Decision::Defer => Latency { wait: now - request.arrival, ..Latency::default() },
            Decision::Run { node, container } => {
                if let Some(why) = self.why_not(&request, node, container) {
                    return Err(SimError::Decision { time: now, request: request.id, decision, why });
                }
                self.current.start(self.platform, request.function, node, container);
                latency::predict(self.platform, &request, node, container, now)
            }
        };
        self.outcomes.push(Outcome { request, decision, latency });
        Ok(())
    }

    fn why_not(&self, request: &Request, node: NodeId, container: Container) -> Option<&'static str> {
        if node.index() >= self.platform.topology.nodes.len() {
            return Some("there is no such node");
        }
        if !self.current.fits(self.platform, request.function, node) {
            return Some("the node has not enough free cores or memory");
        }
        let idle = self.current.idle(request.function, node);
        (container == Container::Reuse && idle == 0).then_some("no container of the function is idle there")
    }

    /// Lets someone decide the whole batch, and ends it: [`apply`](Self::apply), [`commit`](Self::commit) and
    /// [`settle`](Self::settle) in one.
    ///
    /// # Errors
    /// See [`SimError`].
    pub fn play(&mut self, policy: &mut Policy<'_>, observer: &mut dyn Observer) -> Result<(), SimError> {
        match policy {
            Policy::Scheduler(scheduler) => {
                for next in 0..self.batch.len() {
                    let decision = match self.has_room() {
                        true => scheduler.decide(&self.problem(), &self.current, next),
                        false => Decision::Defer,
                    };
                    self.apply(decision)?;
                }
            }
            Policy::Solver(solver, budget) => {
                let problem = self.problem();
                let solution = solver.solve(&problem, budget).map_err(|cause| SimError::Solver {
                    time: problem.now(),
                    requests: problem.requests.len(),
                    cause,
                })?;
                if let Some(violation) = violations(&problem, &solution.placement).into_iter().next() {
                    return Err(SimError::NotAllowed { time: problem.now(), violation });
                }
                let actual = evaluate(&problem, &solution.placement).objective;
                if solution.objective != actual {
                    let claimed = solution.objective;
                    return Err(SimError::Objective { time: problem.now(), claimed, actual });
                }
                for decision in solution.placement.decisions {
                    self.apply(decision)?;
                }
            }
        }
        self.commit(observer);
        if let Policy::Scheduler(scheduler) = policy {
            scheduler.observe(&self.problem(), &self.outcomes);
        }
        self.settle()
    }

    /// Makes the decisions of the whole batch happen: reuses are taken, placed requests will complete, deferred ones
    /// wait. The batch and the state before it can still be seen until [`settle`](Self::settle).
    ///
    /// # Panics
    /// If a request of the batch is undecided.
    pub fn commit(&mut self, observer: &mut dyn Observer) {
        assert_eq!(self.outcomes.len(), self.batch.len(), "every request of the batch is decided");
        let now = self.before.time;
        let measured_batch = now >= self.config.warmup_until;
        observer.batch(&self.problem(), &self.outcomes, measured_batch);
        let outcomes = std::mem::take(&mut self.outcomes);
        for outcome in &outcomes {
            if let Decision::Run { node, container: Container::Reuse } = outcome.decision {
                let taken = self.pool.reuse(outcome.request.function, node);
                debug_assert!(taken.is_some(), "the state counted an idle container");
            }
        }
        let mut latency = Milliseconds(0.0);
        let (mut late, mut deferred) = (0, 0);
        for outcome in &outcomes {
            let total = outcome.latency.total();
            latency += total;
            late += usize::from(total > outcome.request.slo);
            match outcome.decision {
                Decision::Run { node, .. } => self.start(outcome, node, observer),
                Decision::Defer => deferred += 1,
            }
        }
        self.wait(&outcomes);
        if measured_batch {
            self.summary.batches += 1;
            self.summary.decisions += outcomes.len() as u64;
            self.summary.deferrals += deferred as u64;
            self.summary.objective += self.config.objective.total(latency, late, deferred);
        }
        self.outcomes = outcomes;
    }

    /// Ends the batch: idle containers make room where it needs memory, and the state before it is forgotten.
    ///
    /// # Errors
    /// [`SimError::Invariant`] if something is wrong with this simulator, where it checks (see [`SimConfig::verify`]).
    pub fn settle(&mut self) -> Result<(), SimError> {
        let outcomes = std::mem::take(&mut self.outcomes);
        for outcome in &outcomes {
            if let Decision::Run { node, container } = outcome.decision {
                self.before.start(self.platform, outcome.request.function, node, container);
            }
        }
        for outcome in &outcomes {
            if let Decision::Run { node, .. } = outcome.decision {
                self.make_room(node);
            }
        }
        self.outcomes = outcomes;
        self.outcomes.clear();
        self.batch.clear();
        if cfg!(debug_assertions) || self.config.verify {
            self.verify()?;
        }
        Ok(())
    }

    /// Counts and sums so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Counts and sums.
    #[must_use]
    pub fn into_summary(self) -> Summary {
        self.summary
    }

    /// Containers that end by `now` become idle.
    fn complete(&mut self, now: Time) {
        while let Some(Reverse(next)) = self.completions.peek() {
            if next.time > now {
                break;
            }
            let Completion { time, function, node, .. } = *next;
            self.completions.pop();
            self.before.finish(self.platform, function, node);
            self.current.finish(self.platform, function, node);
            self.room.regain(self.platform, &self.current, node);
            self.pool.push(Idle { node, function, since: time });
        }
    }

    /// Containers idle for `keep_alive` by `now` go.
    fn expire(&mut self, now: Time) {
        while let Some(oldest) = self.pool.oldest() {
            let end = oldest.since + self.config.keep_alive;
            if end > now {
                break;
            }
            self.pool.expire();
            self.before.evict(self.platform, oldest.function, oldest.node);
            self.current.evict(self.platform, oldest.function, oldest.node);
            self.summary.expirations += u64::from(end >= self.config.warmup_until);
        }
    }

    /// The batch at `now`: who waits and who arrives, as far as some node has room for them. Whoever is out of patience,
    /// or could never run, is rejected.
    fn gather(&mut self, now: Time, observer: &mut dyn Observer) {
        if let Some(patience) = self.config.patience {
            let out_of_patience = |request: &Request| now - request.arrival >= patience;
            let gone = self.waiting.partition_point(out_of_patience);
            for request in self.waiting.drain(..gone).collect::<Vec<_>>() {
                self.room.waiting[request.function.index()] -= 1;
                self.reject(&request, Rejection::Patience, observer);
            }
        }
        if self.room.for_anyone_waiting(self.platform, &self.current) {
            let Simulation { platform, current, waiting, room, batch, .. } = self;
            waiting.retain(|request| {
                let offered = room.has(platform, current, request.function);
                if offered {
                    room.waiting[request.function.index()] -= 1;
                    batch.push(*request);
                }
                !offered
            });
        }
        while let Some(request) = self.arrivals.get(self.arrived).filter(|request| request.arrival == now) {
            self.arrived += 1;
            self.summary.offered += 1;
            if !self.can_ever_run[request.function.index()] {
                self.reject(request, Rejection::TooLarge, observer);
            } else if self.room.has(self.platform, &self.current, request.function) {
                self.batch.push(*request);
            } else {
                self.room.waiting[request.function.index()] += 1;
                self.waiting.push(*request);
            }
        }
    }

    /// The deferred requests of the batch wait among those that waited already, in order of arrival.
    fn wait(&mut self, outcomes: &[Outcome]) {
        let deferred = outcomes.iter().filter(|outcome| outcome.decision == Decision::Defer);
        let mut deferred = deferred.map(|outcome| outcome.request).peekable();
        if deferred.peek().is_none() {
            return;
        }
        let mut merged = Vec::with_capacity(self.waiting.len() + outcomes.len());
        let mut waiting = std::mem::take(&mut self.waiting).into_iter().peekable();
        while let (Some(request), earlier) = (deferred.peek(), waiting.peek()) {
            if earlier.is_some_and(|earlier| earlier.id < request.id) {
                merged.extend(waiting.next());
            } else {
                self.room.waiting[request.function.index()] += 1;
                merged.extend(deferred.next());
            }
        }
        merged.extend(waiting);
        self.waiting = merged;
    }

    fn reject(&mut self, request: &Request, why: Rejection, observer: &mut dyn Observer) {
        let measured = self.measured(request);
        self.summary.rejected[why as usize] += 1;
        self.summary.measured_rejected += u64::from(measured);
        observer.rejected(request, why, measured);
    }

    /// A placed request's container is busy from now until its service ends.
    fn start(&mut self, outcome: &Outcome, node: NodeId, observer: &mut dyn Observer) {
        let Outcome { request, latency, .. } = outcome;
        let now = self.before.time;
        let end = now + latency.service();
        let sequence = self.started;
        self.started += 1;
        self.completions.push(Reverse(Completion { time: end, sequence, function: request.function, node }));
        self.summary.placed += 1;
        let measured = self.measured(request);
        if measured {
            self.summary.place(outcome);
        }
        observer.placed(outcome, measured);
        let within = end.min(self.last_arrival) - now.max(self.config.warmup_until);
        if within.0 > 0.0 {
            let function = self.platform.function(request.function);
            self.summary.busy_core_ms += function.cores.as_f64() * within.0;
            self.summary.busy_mb_ms += function.memory.as_f64() * within.0;
        }
    }

    /// Evicts the least recently used containers of a node until busy and idle memory fit.
    fn make_room(&mut self, node: NodeId) {
        let capacity = self.platform.node(node).memory.mb;
        while self.current.used_memory(node).mb + self.current.idle_memory(node).mb > capacity {
            let Some(idle) = self.pool.evict(node) else { break };
            self.before.evict(self.platform, idle.function, node);
            self.current.evict(self.platform, idle.function, node);
            self.summary.evictions += u64::from(self.before.time >= self.config.warmup_until);
        }
    }

    fn measured(&self, request: &Request) -> bool {
        request.arrival >= self.config.warmup_until
    }

    /// Requests conserved and in order, capacities kept, counts in step with what they count.
    fn verify(&self) -> Result<(), SimError> {
        let time = self.before.time;
        let broken = |what: String| Err(SimError::Invariant { time, what });
        let rejected: u64 = self.summary.rejected.iter().sum();
        let waiting = self.waiting.len() as u64;
        let Summary { offered, placed, .. } = self.summary;
        if offered != placed + rejected + waiting {
            return broken(format!(
                "{offered} offered, {placed} placed, {rejected} rejected, {waiting} waiting"
            ));
        }
        for (name, state) in [("before", &self.before), ("current", &self.current)] {
            if let Err(invalid) = state.validate(self.platform) {
                return broken(format!("{name}: {invalid}"));
            }
        }
        if self.before != self.current {
            return broken("the two copies of the state differ".into());
        }
        for node in self.platform.node_ids() {
            let held = self.current.used_memory(node) + self.current.idle_memory(node);
            if held > self.platform.node(node).memory {
                return broken(format!("{node}: busy and idle containers hold {held}"));
            }
        }
        let idle: usize = self
            .platform
            .function_ids()
            .map(|function| {
                self.current.idle_row(function).iter().map(|&count| count as usize).sum::<usize>()
            })
            .sum();
        if idle != self.pool.len() {
            return broken(format!("{idle} idle containers counted, {} in the pool", self.pool.len()));
        }
        let busy = running(self.platform, &self.current);
        let ending = self.completions.len() as u64;
        if busy != ending + self.stuck {
            return broken(format!("{busy} containers are busy, {ending} end and {} never do", self.stuck));
        }
        if let Some(Reverse(next)) = self.completions.peek()
            && next.time < time
        {
            return broken(format!("a completion at {} is late", next.time));
        }
        if let Some(pair) = self.waiting.windows(2).find(|pair| pair[0].id >= pair[1].id) {
            return broken(format!("{} waits before {}", pair[0].id, pair[1].id));
        }
        // Who has arrived just now may be deferred once, however short the patience.
        let patient = |request: &&Request| {
            let patience = self.config.patience.unwrap_or(Milliseconds(f64::INFINITY));
            request.arrival == time || time - request.arrival < patience
        };
        if let Some(request) = self.waiting.iter().find(|request| !patient(request)) {
            return broken(format!("{} has lost patience and still waits", request.id));
        }
        self.room.verify(self.platform, &self.current, &self.waiting).or_else(broken)
    }
}

/// The placement that a batch got.
#[must_use]
pub fn placement_of(outcomes: &[Outcome]) -> Placement {
    Placement { decisions: outcomes.iter().map(|outcome| outcome.decision).collect() }
}

/// Which functions some node has room for, remembered from one question to the next: under overload most that wait have
/// none, and to look at every node for each of them at every completion would take most of the time.
#[derive(Clone)]
struct Room {
    /// By function: a node that had room when last asked; `None` while no node has.
    at: Vec<Option<NodeId>>,
    /// How many functions have none.
    lacking: usize,
    /// By function: how many requests wait.
    waiting: Vec<u32>,
}

impl Room {
    fn new(platform: &Platform) -> Room {
        let functions = platform.functions.len();
        // Any node will do to begin with: it is asked before it is believed.
        Room { at: vec![Some(NodeId(0)); functions], lacking: 0, waiting: vec![0; functions] }
    }

    /// Whether some node has room for the function.
    #[inline]
    fn has(&mut self, platform: &Platform, state: &ClusterState, function: FunctionId) -> bool {
        let at = &mut self.at[function.index()];
        match *at {
            None => false,
            Some(node) if state.fits(platform, function, node) => true,
            Some(NodeId(full)) => {
                // On from there: many rules fill the nodes from the first on, so those before it are full as well, and
                // the first that is not would be the next to fill.
                let nodes = platform.topology.nodes.len() as u32;
                let mut others = (full + 1..nodes).chain(0..full).map(NodeId);
                *at = others.find(|&node| state.fits(platform, function, node));
                self.lacking += usize::from(at.is_none());
                at.is_some()
            }
        }
    }

    /// Whether some node has room for a function that somebody waits for.
    fn for_anyone_waiting(&mut self, platform: &Platform, state: &ClusterState) -> bool {
        platform
            .function_ids()
            .any(|function| self.waiting[function.index()] > 0 && self.has(platform, state, function))
    }

    /// A container on the node has finished: functions without room may fit there now.
    fn regain(&mut self, platform: &Platform, state: &ClusterState, node: NodeId) {
        if self.lacking == 0 {
            return;
        }
        for function in platform.function_ids() {
            if self.at[function.index()].is_none() && state.fits(platform, function, node) {
                self.at[function.index()] = Some(node);
                self.lacking -= 1;
            }
        }
    }

    /// What is remembered is true.
    fn verify(&self, platform: &Platform, state: &ClusterState, waiting: &[Request]) -> Result<(), String> {
        let mut counts = vec![0; self.waiting.len()];
        waiting.iter().for_each(|request| counts[request.function.index()] += 1);
        if counts != self.waiting {
            return Err(format!("{:?} requests wait by function, counted as {:?}", counts, self.waiting));
        }
        let lacking = self.at.iter().filter(|at| at.is_none()).count();
        if lacking != self.lacking {
            return Err(format!("{lacking} functions have no room, counted as {}", self.lacking));
        }
        for function in platform.function_ids().filter(|function| self.at[function.index()].is_none()) {
            if let Some(node) = platform.node_ids().find(|&node| state.fits(platform, function, node)) {
                return Err(format!("{function} is said to have no room, and {node} has some"));
            }
        }
        Ok(())
    }
}
