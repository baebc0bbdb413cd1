//! The preset `scale`: a policy with foresight, and its training.
//!
//! A training goes on in generations. What one is, the [`Method`] says: [`evolution`](mod@crate::evolution) strategies,
//! which the roster's `scale` is trained by, and, to compare with, [`imitation`](mod@crate::imitation) of a solver and the
//! policy [`gradient`](mod@crate::gradient). Weights, features, days and step sizes are the same for all three.
//!
//! Which scorer is best is decided on days that the training does not see: every `check_every` generations the present
//! weights are played on the validation days, and the best so far are kept. Greedy, with which a training begins, is one of
//! them: a training that finds nothing better ends where it began.

use crate::adam::{Adam, Rates};
use crate::draw::Draw;
use crate::env::Day;
use crate::error::{LearnError, require};
use crate::evolution::{self, Evolution};
use crate::features::{FEATURES, Features, NAMES, Options};
use crate::gradient::{self, Gradient};
use crate::imitation::{self, Imitation};
use crate::scorer::Scorer;
use rayon::prelude::*;
use scale_model::{
    BatchProblem, Budget, ClusterState, Decision, Milliseconds, Outcome, Placement, Request, Seed, Solution,
    SolveError, Solver, Time,
};
use scale_sim::{Observer, Policy, Rejection, SimError, Simulation, Summary, simulate};
use serde::{Deserialize, Serialize};

/// The policy. It decides a batch request by request: first, in the batch's order, those that some candidate still serves in
/// time, then those that are late on all of them.
///
/// # Why the late ones come last
/// A request that is late on every candidate mostly waits for a cold start or goes to a far node, and holds cores for longer than
/// others do. In the batch's order it takes them from requests that could be in time, which makes more of these late: near full
/// load the cluster tips over, as with every rule that decides in order (`experiments/load.toml`). Late it is anyway; last it only
/// takes what is left.
///
/// # Platforms
/// Tables of the platform and what is remembered are kept from batch to batch. A batch of another platform
/// ([`Features::are_of`] says what is recognised) begins anew, as a fresh policy would.
#[derive(Clone, Debug)]
pub struct Scale {
    pub(crate) scorer: Scorer,
    /// Made at the first batch of a platform.
    pub(crate) features: Option<Features>,
    pub(crate) options: Options,
}

impl Scale {
    /// A policy that has seen no request yet.
    pub fn new(scorer: Scorer) -> Scale {
        Scale { scorer, features: None, options: Options::none() }
    }
}

impl Solver for Scale {
    /// The budget is not looked at: the rule ends by itself.
    fn solve(&mut self, problem: &BatchProblem<'_>, _budget: &Budget) -> Result<Solution, SolveError> {
        let Scale { scorer, features, options } = self;
        let features = Features::kept(features, problem.platform);
        let placement = decide(features, options, problem, |_, _, options| {
            scorer.best(options).map(|best| options.decisions[best])
        });
        Solution::feasible(problem, placement)
    }
}

/// Goes through a batch in the order of [`Scale`]. `take` is told a request, the state and its options, of which there is at
/// least one, and says which decision it gets; without one it is deferred.
pub(crate) fn decide(
    features: &mut Features,
    options: &mut Options,
    problem: &BatchProblem<'_>,
    mut take: impl FnMut(usize, &ClusterState, &Options) -> Option<Decision>,
) -> Placement {
    features.begin(problem);
    let mut state = problem.state.clone();
    let mut decisions = vec![Decision::Defer; problem.requests.len()];
    // Functions that no node has room for: room only shrinks.
    let mut full = vec![false; problem.platform.functions.len()];
    let mut left: Vec<usize> = (0..problem.requests.len()).collect();
    for last in [false, true] {
        left.retain(|&k| {
            let request = &problem.requests[k];
            let full = &mut full[request.function.index()];
            if !*full {
                features.look(problem, &state, k, options);
                *full = options.len == 0;
            }
            if !*full {
                if !last && options.late(request) {
                    return true;
                }
                if let Some(decision @ Decision::Run { node, container }) = take(k, &state, options) {
                    decisions[k] = decision;
                    state.start(problem.platform, request.function, node, container);
                }
            }
            features.decided(problem, k);
            false
        });
    }
    Placement { decisions }
}

/// Everything that a training depends on besides days and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleConfig {
    /// Generations.
    pub generations: u64,
    /// Training days of a generation.
    pub days: usize,
    /// Step size of Adam in the first generation; it falls linearly to a tenth.
    pub learning_rate: f64,
    /// What a late or rejected request costs, in ms.
    pub slo_penalty_ms: f64,
    /// Hidden units of the scorer; 0: linear.
    pub hidden: usize,
    /// Features that it does not see, by [name](NAMES): for ablations.
    pub without: Vec<String>,
    /// Generations between two looks at the validation days.
    pub check_every: u64,
    /// What a generation is.
    pub method: Method,
}

/// How the weights are moved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Method {
    /// By playing days with scorers around the present one.
    Evolution(Evolution),
    /// Towards the placements of a solver.
    Imitation(Imitation),
    /// Towards the decisions of its own that turned out well.
    Gradient(Gradient),
}

impl ScaleConfig {
    fn validate(&self) -> Result<(), LearnError> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let above = "a finite number above 0";
        require(self.days > 0, "days", self.days, "at least 1")?;
        require(self.check_every > 0, "check_every", self.check_every, "at least 1")?;
        require(positive(self.learning_rate), "learning_rate", self.learning_rate, above)?;
        let penalty = self.slo_penalty_ms;
        require(
            penalty >= 0.0 && penalty.is_finite(),
            "slo_penalty_ms",
            penalty,
            "a finite number of at least 0",
        )?;
        match &self.method {
            Method::Evolution(settings) => settings.validate()?,
            Method::Imitation(settings) => settings.validate()?,
            Method::Gradient(settings) => settings.validate()?,
        }
        match self.without.iter().find(|name| !NAMES.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => require(false, "without", name, "names of features"),
        }
    }

    /// Whether each weight is trained: those of features that are left out stay zero.
    pub(crate) fn trained(&self) -> Vec<bool> {
        let seen: Vec<bool> =
            NAMES.iter().map(|name| !self.without.iter().any(|without| without == name)).collect();
        let mut trained = seen.clone();
        for _ in 0..self.hidden {
            trained.extend(&seen);
            trained.extend([true, true]);
        }
        trained
    }
}

/// What one generation was like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Generations so far, this one included.
    pub generation: u64,
    /// Decisions played so far.
    pub decisions: u64,
    /// Mean cost of what the generation played, ms a request.
    pub cost_ms: f64,
    /// What a method by gradient makes small: mean cross-entropy (imitation), negated clipped objective (gradient).
    pub loss: Option<f64>,
    /// Euclidean norm of the weights.
    pub norm: f64,
    /// What the weights reach on the validation days, where they were looked at.
    pub validation: Option<Validation>,
}

/// What a scorer reaches on the validation days.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    /// Mean latency plus penalty, ms a request.
    pub cost_ms: f64,
    /// Mean latency, ms.
    pub latency_ms: f64,
    /// Share of the requests that miss their SLO.
    pub late_rate: f64,
}

/// A training: what [`train`] returns, and what a checkpoint holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Learner {
    /// The configuration.
    pub config: ScaleConfig,
    /// The seed.
    pub seed: Seed,
    /// The weights now.
    pub scorer: Scorer,
    /// The best on the validation days so far: what is put to work.
    pub best: Scorer,
    /// Adam's moments.
    pub adam: Adam,
    /// What greedy, the scorer before the first generation, reaches on the validation days.
    pub greedy: Option<Validation>,
    /// One entry a generation.
    pub curve: Vec<Progress>,
    /// The random stream.
    pub(crate) draw: Draw,
}

/// What one generation found.
pub(crate) struct Lesson {
    pub(crate) decisions: u64,
    pub(crate) cost_ms: f64,
    pub(crate) loss: Option<f64>,
}

/// Trains a scorer. Only imitation looks at the teacher.
///
/// # Errors
/// A configuration that makes no sense, no days, or what the simulator or the teacher says.
pub fn train(
    config: &ScaleConfig,
    training: &[Day],
    validation: &[Day],
    teacher: &mut dyn Solver,
    seed: Seed,
    progress: &mut dyn FnMut(&Learner),
) -> Result<Learner, LearnError> {
    let mut learner = Learner::new(config, seed)?;
    learner.learn(training, validation, teacher, progress)?;
    Ok(learner)
}

/// Mean latency plus penalty, ms a request.
pub(crate) fn cost(summaries: &[Summary], slo_penalty_ms: f64) -> Validation {
    let mean =
        |of: fn(&Summary) -> f64| summaries.iter().map(of).sum::<f64>() / summaries.len().max(1) as f64;
    let latency_ms = mean(|summary| summary.latency_mean().map_or(0.0, |mean| mean.0));
    let late_rate = mean(|summary| summary.violation_rate().unwrap_or(0.0));
    Validation { cost_ms: latency_ms + slo_penalty_ms * late_rate, latency_ms, late_rate }
}

pub(crate) fn play(scorer: &Scorer, day: &Day) -> Result<Summary, SimError> {
    let mut scale = Scale::new(scorer.clone());
    let policy = Policy::Solver(&mut scale, Budget::default());
    simulate(&day.platform, &day.workload, &day.sim, policy, &mut ())
}

impl Learner {
    /// A training that has not begun. Hidden units begin with random inputs and no output, so the scorer is greedy.
    ///
    /// # Errors
    /// A configuration that makes no sense.
    pub fn new(config: &ScaleConfig, seed: Seed) -> Result<Learner, LearnError> {
        config.validate()?;
        let mut draw = Draw::new(seed.derive("scale", 0));
        let mut scorer = Scorer::greedy(config.hidden);
        let trained = config.trained();
        for (unit, seen) in scorer.weights[FEATURES..]
            .chunks_exact_mut(FEATURES + 2)
            .zip(trained[FEATURES..].chunks(FEATURES + 2))
        {
            for (weight, &seen) in unit[..FEATURES].iter_mut().zip(seen) {
                let value = draw.normal() / (FEATURES as f64).sqrt();
                *weight = if seen { value as f32 } else { 0.0 };
            }
        }
        let adam = Adam::new(scorer.weights.len());
        Ok(Learner {
            config: config.clone(),
            seed,
            best: scorer.clone(),
            scorer,
            adam,
            greedy: None,
            curve: Vec::new(),
            draw,
        })
    }

    /// Goes on to the end of the training. Told after each generation, the callback may save what it is given: a training
    /// that is resumed from there ends with the same bytes.
    ///
    /// # Errors
    /// No days, or what the simulator says.
    pub fn learn(
        &mut self,
        training: &[Day],
        validation: &[Day],
        teacher: &mut dyn Solver,
        progress: &mut dyn FnMut(&Learner),
    ) -> Result<(), LearnError> {
        if training.is_empty() || validation.is_empty() {
            return Err(LearnError::NothingToDecide { days: 0 });
        }
        if self.greedy.is_none() {
            self.greedy = Some(self.validate(validation)?);
        }
        while (self.curve.len() as u64) < self.config.generations {
            self.generation(training, validation, teacher)?;
            progress(self);
        }
        Ok(())
    }

    fn generation(
        &mut self,
        training: &[Day],
        validation: &[Day],
        teacher: &mut dyn Solver,
    ) -> Result<(), LearnError> {
        let Lesson { decisions, cost_ms, loss } = match self.config.method.clone() {
            Method::Evolution(settings) => evolution::step(self, &settings, training)?,
            Method::Imitation(settings) => imitation::step(self, &settings, training, teacher)?,
            Method::Gradient(settings) => gradient::step(self, &settings, training)?,
        };
        let decisions = decisions + self.curve.last().map_or(0, |last| last.decisions);
        let norm = self.scorer.weights.iter().map(|&weight| f64::from(weight).powi(2)).sum::<f64>().sqrt();
        if !norm.is_finite() {
            return Err(LearnError::NotFinite { what: "a weight", steps: decisions });
        }

        let generation = self.curve.len() as u64 + 1;
        let Learner { config, .. } = self;
        let look = generation.is_multiple_of(config.check_every) || generation == config.generations;
        let reached = if look { Some(self.validate(validation)?) } else { None };
        if let Some(reached) = reached {
            let earlier = self.curve.iter().filter_map(|entry| entry.validation).chain(self.greedy);
            if earlier.map(|entry| entry.cost_ms).fold(f64::INFINITY, f64::min) > reached.cost_ms {
                self.best = self.scorer.clone();
            }
        }
        self.curve.push(Progress { generation, decisions, cost_ms, loss, norm, validation: reached });
        Ok(())
    }

    /// What the present weights reach.
    fn validate(&self, validation: &[Day]) -> Result<Validation, SimError> {
        let summaries: Result<Vec<Summary>, SimError> =
            validation.par_iter().map(|day| play(&self.scorer, day)).collect();
        Ok(cost(&summaries?, self.config.slo_penalty_ms))
    }

    /// How far the training is, from 0 to 1.
    pub(crate) fn done(&self) -> f64 {
        self.curve.len() as f64 / self.config.generations as f64
    }

    /// Makes a loss of decisions smaller, mini-batch by mini-batch, and returns its mean in the last epoch. An example is the
    /// options of a decision and the option that was taken; `loss` is told ln pi of that option, and says what it costs and
    /// the derivative of the cost by ln pi.
    pub(crate) fn fit<T>(
        &mut self,
        passes: &Passes,
        examples: &[T],
        example: impl Fn(&T) -> (&Options, usize),
        loss: impl Fn(&T, f32) -> (f64, f64),
    ) -> Option<f64> {
        let mut order: Vec<usize> = (0..examples.len()).collect();
        let mut mean = None;
        for _ in 0..passes.epochs {
            self.draw.shuffle(&mut order);
            let mut sum = 0.0;
            for batch in order.chunks(passes.minibatch) {
                let mut gradient = vec![0.0; self.scorer.weights.len()];
                for one in batch.iter().map(|&index| &examples[index]) {
                    let (options, choice) = example(one);
                    let log_probs = self.scorer.log_probs(options, passes.temperature);
                    let (value, slope) = loss(one, log_probs[choice]);
                    sum += value;
                    let slope = (slope / batch.len() as f64) as f32;
                    self.scorer.add_gradient(
                        options,
                        &log_probs,
                        choice,
                        passes.temperature,
                        slope,
                        &mut gradient,
                    );
                }
                self.descend(&mut gradient);
            }
            mean = (!examples.is_empty()).then(|| sum / examples.len() as f64);
        }
        mean
    }

    /// A step of Adam against the gradient, of the weights that are trained.
    pub(crate) fn descend(&mut self, gradient: &mut [f32]) {
        let learning_rate = self.config.learning_rate * (1.0 - 0.9 * self.done());
        for (slope, trained) in gradient.iter_mut().zip(self.config.trained()) {
            *slope = if trained { *slope } else { 0.0 };
        }
        let rates = Rates { learning_rate, beta1: 0.9, beta2: 0.99, epsilon: 1e-8 };
        self.adam.step(&rates, &mut self.scorer.weights, gradient);
    }
}

/// How [`Learner::fit`] goes through its examples.
pub(crate) struct Passes {
    epochs: usize,
    /// Examples of one step.
    minibatch: usize,
    /// Of the softmax over scores, in units of 100 ms.
    pub(crate) temperature: f32,
}

impl Passes {
    /// From what a method's table says.
    pub(crate) fn new(epochs: usize, minibatch: usize, temperature_ms: f64) -> Passes {
        Passes { epochs, minibatch, temperature: temperature_ms as f32 / 100.0 }
    }
}

/// A stretch of a day from a batch after its warm-up on, drawn so that `length` requests come after it where the day has as
/// many: the day played up to there, and the costs of these requests, of which none is decided. `None` if the day ends before.
pub(crate) fn stretch<'a>(
    day: &'a Day,
    length: usize,
    slo_penalty_ms: f64,
    scale: &mut Scale,
    draw: &mut Draw,
) -> Result<Option<(Simulation<'a>, Costs<'a>)>, LearnError> {
    let requests = &day.workload.requests;
    let warm = requests.partition_point(|request| request.arrival < day.sim.warmup_until);
    let first = warm + draw.below(requests.len().saturating_sub(warm + length).max(1));
    let asked = requests.iter().skip(first).take(length).count();
    let Some(begin) = requests.get(first).map(|request| request.arrival) else { return Ok(None) };
    let mut costs = Costs::new(&requests[first..first + asked], day, slo_penalty_ms);
    let mut simulation = Simulation::new(&day.platform, &day.workload, day.sim)?;
    while simulation.advance(&mut costs) {
        if simulation.problem().now() >= begin {
            return Ok(Some((simulation, costs)));
        }
        simulation.play(&mut Policy::Solver(scale, Budget::default()), &mut ())?;
    }
    Ok(None)
}

/// Plays on from the batch at hand until the requests whose costs are asked for have arrived, and charges those that then still
/// wait.
pub(crate) fn go_on(
    simulation: &mut Simulation<'_>,
    solver: &mut dyn Solver,
    costs: &mut Costs<'_>,
) -> Result<(), SimError> {
    let mut policy = Policy::Solver(solver, Budget::default());
    while costs.concern(simulation.problem().requests) {
        simulation.play(&mut policy, costs)?;
        if !simulation.advance(costs) {
            break;
        }
    }
    costs.close(simulation.problem().now());
    Ok(())
}

/// What the requests of a stretch cost, in ms: latency, plus the penalty if late. Of one that is rejected it is what it waited and
/// the penalty; of one that still waits at the end, the wait so far, and the penalty if that alone is longer than its SLO. So it
/// costs something to let a request wait, whether or not there was room to offer it to anyone.
#[derive(Clone)]
pub(crate) struct Costs<'a> {
    /// The requests, by number without a gap.
    requests: &'a [Request],
    /// By request: its cost.
    pub(crate) of: Vec<f64>,
    /// By request: whether it is placed or rejected, so that nothing more is charged.
    pub(crate) done: Vec<bool>,
    pub(crate) decisions: u64,
    slo_penalty_ms: f64,
    /// How long a request waits before it is rejected.
    patience: Milliseconds,
    /// Of the last batch.
    now: Time,
}

impl<'a> Costs<'a> {
    /// Of consecutive requests of a day, none of which is decided.
    pub(crate) fn new(requests: &'a [Request], day: &Day, slo_penalty_ms: f64) -> Costs<'a> {
        Costs {
            requests,
            of: vec![0.0; requests.len()],
            done: vec![false; requests.len()],
            decisions: 0,
            slo_penalty_ms,
            patience: day.sim.patience.unwrap_or(Milliseconds(f64::INFINITY)),
            now: Time(0.0),
        }
    }

    /// Number of the first request.
    pub(crate) fn first(&self) -> u32 {
        self.requests.first().map_or(0, |request| request.id.0)
    }

    /// Whether some request of a batch is one of these, or came before them: if none is, all of these have arrived.
    pub(crate) fn concern(&self, batch: &[Request]) -> bool {
        let last = self.requests.last().map(|request| request.id);
        last.is_some_and(|last| batch.iter().any(|request| request.id <= last))
    }

    fn settle(&mut self, request: &Request, latency: Milliseconds, late: bool) {
        let place = request.id.0.checked_sub(self.first()).map(|place| place as usize);
        if let Some(place) = place.filter(|&place| place < self.requests.len()) {
            self.of[place] = latency.0 + if late { self.slo_penalty_ms } else { 0.0 };
            self.done[place] = true;
        }
    }

    /// The end: who has arrived by now and still waits has waited so long.
    pub(crate) fn close(&mut self, now: Time) {
        for (place, request) in self.requests.iter().enumerate() {
            if !self.done[place] && request.arrival <= now {
                let wait = now - request.arrival;
                self.of[place] = wait.0 + if wait > request.slo { self.slo_penalty_ms } else { 0.0 };
            }
        }
    }
}

impl Observer for Costs<'_> {
    fn batch(&mut self, problem: &BatchProblem<'_>, outcomes: &[Outcome], _measured: bool) {
        self.now = problem.now();
        self.decisions += outcomes.len() as u64;
    }

    fn placed(&mut self, outcome: &Outcome, _measured: bool) {
        self.settle(&outcome.request, outcome.latency.total(), outcome.late());
    }

    fn rejected(&mut self, request: &Request, why: Rejection, _measured: bool) {
        let wait = match why {
            Rejection::TooLarge => Milliseconds(0.0),
            Rejection::Patience => self.patience,
            // Nothing has happened since the last batch.
            Rejection::Starved => self.now - request.arrival,
        };
        self.settle(request, wait, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scale_model::{
        CoreMilliseconds, Cores, Function, FunctionId, Gigahertz, Links, Megabytes, MegabytesPerSecond,
        Memory, Node, NodeId, Objective, Platform, Position, RequestId, Topology, Workload,
    };
    use scale_sim::SimConfig;

    /// Takes everyone, or nobody.
    struct Either(bool);

    impl Solver for Either {
        fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
            let nobody = Placement { decisions: vec![Decision::Defer; problem.requests.len()] };
            match self.0 {
                true => Scale::new(Scorer::greedy(0)).solve(problem, budget),
                false => Solution::feasible(problem, nobody),
            }
        }
    }

    /// One node of one core. Function 0 takes 0.75 cores, function 1 takes 0.25, function 2 more than there are. A new container
    /// takes 100 ms, all computation 300 ms. Each request is (arrival, function), its SLO 145 ms.
    fn day(requests: &[(f64, u32)], patience: Option<f64>) -> Day {
        let node = Node {
            name: "n".into(),
            kind: 0,
            position: Position { latitude: 0.0, longitude: 0.0 },
            frequency: Gigahertz(2.0),
            cores: Cores { milli: 1000 },
            memory: Memory { mb: 4096 },
            registry_bandwidth: MegabytesPerSecond(100.0),
        };
        let function = |milli: u32| Function {
            name: format!("f{milli}"),
            image: Megabytes(0.0),
            init: Milliseconds(100.0),
            memory: Memory { mb: 128 },
            cores: Cores { milli },
        };
        let links = Links::from_fn(1, |_, _| MegabytesPerSecond(1.0)).expect("there is none");
        let platform = Platform {
            topology: Topology { nodes: vec![node], links },
            functions: [750, 250, 2000].map(function).to_vec(),
        };
        let request = |(id, &(arrival, f)): (u32, &(f64, u32))| Request {
            id: RequestId(id),
            function: FunctionId(f),
            source: NodeId(0),
            arrival: Time(arrival),
            cpu_time: CoreMilliseconds(300.0 * platform.functions[f as usize].cores.as_f64()),
            input: Megabytes(0.0),
            slo: Milliseconds(145.0),
        };
        let requests = (0..).zip(requests).map(request).collect();
        let sim = SimConfig {
            keep_alive: Milliseconds(1e9),
            patience: patience.map(Milliseconds),
            warmup_until: Time(0.0),
            objective: Objective::ELASTIC,
            verify: true,
        };
        Day { platform, workload: Workload { requests }, sim }
    }

    /// The costs of the first so many requests, at a penalty of 1000 ms.
    #[test]
    fn whoever_waits_or_is_rejected_costs_too() {
        let check = |requests: &[(f64, u32)], asked: usize, patience, takes: bool, expected: &[f64]| {
            let day = day(requests, patience);
            let mut costs = Costs::new(&day.workload.requests[..asked], &day, 1000.0);
            let mut simulation =
                Simulation::new(&day.platform, &day.workload, day.sim).expect("it can be played");
            assert!(simulation.advance(&mut costs));
            go_on(&mut simulation, &mut Either(takes), &mut costs).expect("it plays");
            assert_eq!(costs.of, expected, "{requests:?}, patience {patience:?}");
        };
        // The first runs until 400 and is late. Two more find no room; the small one at 200 ends the stretch, when they have waited
        // 150 and 140 ms. They are in no batch.
        let full = [(0.0, 0), (50.0, 0), (60.0, 0), (200.0, 1)];
        check(&full, 3, None, true, &[1400.0, 1150.0, 140.0]);
        // At 200 both are out of patience. So is nobody who was placed.
        check(&full, 3, Some(100.0), true, &[1400.0, 1100.0, 1100.0]);
        // Nobody is asked about, or only those who are placed.
        check(&full, 1, None, true, &[1400.0]);
        check(&full, 0, None, true, &[]);
        // To the end: the second runs from 400 to 700 in the first one's container, the third after it to 1000.
        check(&full, 4, None, true, &[1400.0, 1650.0, 1940.0, 1400.0]);
        // Too large for any node: rejected at once.
        check(&[(0.0, 0), (10.0, 2), (20.0, 1)], 2, None, true, &[1400.0, 1000.0]);
        // Nobody is ever placed: at 50 the day is over.
        check(&[(0.0, 0), (50.0, 0)], 2, None, false, &[1050.0, 1000.0]);
        // Deferred in a batch, and still waiting at 200.
        check(&[(0.0, 0), (0.0, 0), (200.0, 1)], 2, None, true, &[1400.0, 1200.0]);
    }
}
