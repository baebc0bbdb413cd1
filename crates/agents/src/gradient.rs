//! The policy gradient with an input-driven baseline (Mao et al. 2019) and PPO's clip: one of the ways to train
//! [`scale`](mod@crate::scale), to compare with. It begins with greedy, since a scorer without weights is greedy.
//!
//! # One generation
//! 1. `days` training days are played up to a random batch. From there `replicas` copies of the simulation go on with the
//!    *same* arrivals, each drawing its decisions from the softmax of the scores.
//! 2. A decision's return is minus what the `horizon` requests from its own on cost: latency, plus the penalty if late; of one
//!    that is rejected, or still waits when all of the stretch have arrived, the wait takes the place of latency.
//!    Its baseline is the mean return, at the same request, of the other replicas: whatever the arrivals cost anyone drops
//!    out, and what is left is noise of decisions only.
//! 3. Some epochs of Adam on the clipped objective of [`Surrogate`], with advantages in units of their own deviation.

use crate::draw::Draw;
use crate::env::Day;
use crate::error::{LearnError, require};
use crate::features::{Features, OPTIONS, Options};
use crate::ppo::Surrogate;
use crate::scale::{Costs, Learner, Lesson, Passes, Scale, decide, go_on, stretch};
use rayon::prelude::*;
use scale_model::{BatchProblem, Budget, Solution, SolveError, Solver};
use serde::{Deserialize, Serialize};

/// What the method depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gradient {
    /// Copies that meet the same arrivals.
    pub replicas: usize,
    /// Requests of a stretch whose decisions are learned from.
    pub requests: usize,
    /// Requests whose cost a decision answers for, its own first.
    pub horizon: usize,
    /// Difference of scores at which the better option is e times as likely, in ms.
    pub temperature_ms: f64,
    /// epsilon of the clip.
    pub clip_range: f64,
    /// Times that the decisions of a generation are gone through.
    pub epochs: usize,
    /// Decisions in a mini-batch.
    pub minibatch: usize,
}

impl Gradient {
    pub(crate) fn validate(&self) -> Result<(), LearnError> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let above = "a finite number above 0";
        require(self.replicas > 1, "replicas", self.replicas, "at least 2")?;
        require(self.requests > 0, "requests", self.requests, "at least 1")?;
        require(self.horizon > 0, "horizon", self.horizon, "at least 1")?;
        require(positive(self.temperature_ms), "temperature_ms", self.temperature_ms, above)?;
        require(positive(self.clip_range), "clip_range", self.clip_range, above)?;
        require(self.minibatch > 0, "minibatch", self.minibatch, "at least 1")
    }
}

/// A decision that was drawn.
struct Drawn {
    options: Options,
    choice: usize,
    log_prob: f32,
    /// Its request, counted from the first of the stretch.
    place: usize,
    advantage: f64,
}

/// Draws its decisions, and keeps those of the stretch.
struct Actor {
    scale: Scale,
    temperature: f32,
    draw: Draw,
    first: u32,
    requests: usize,
    drawn: Vec<Drawn>,
}

impl Solver for Actor {
    fn solve(&mut self, problem: &BatchProblem<'_>, _budget: &Budget) -> Result<Solution, SolveError> {
        let Actor { scale: Scale { scorer, features, options }, temperature, draw, first, requests, drawn } =
            self;
        let features = Features::kept(features, problem.platform);
        let placement = decide(features, options, problem, |k, _, options| {
            let log_probs = scorer.log_probs(options, *temperature);
            let choice = choose(&log_probs, options.len, draw.unit());
            let place = problem.requests[k].id.0.checked_sub(*first).map(|place| place as usize);
            if let Some(place) = place.filter(|&place| place < *requests && options.len > 1) {
                let (options, log_prob) = (options.clone(), log_probs[choice]);
                drawn.push(Drawn { options, choice, log_prob, place, advantage: 0.0 });
            }
            Some(options.decisions[choice])
        });
        Solution::feasible(problem, placement)
    }
}

/// The option at which the sum of probabilities passes `unit`, from [0, 1).
fn choose(log_probs: &[f32; OPTIONS], len: usize, unit: f64) -> usize {
    let mut left = unit;
    let passed = log_probs[..len].iter().position(|log_prob| {
        left -= f64::from(log_prob.exp());
        left < 0.0
    });
    // Rounding may leave the sum a little below 1.
    passed.unwrap_or(len - 1)
}

/// A copy after its play: what it decided, and what each request cost.
struct Replica<'a> {
    drawn: Vec<Drawn>,
    costs: Costs<'a>,
}

/// One generation.
pub(crate) fn step(
    learner: &mut Learner,
    settings: &Gradient,
    training: &[Day],
) -> Result<Lesson, LearnError> {
    let passes = Passes::new(settings.epochs, settings.minibatch, settings.temperature_ms);
    let mut replicas = play(learner, settings, passes.temperature, training)?;
    for together in replicas.chunks_mut(settings.replicas) {
        compare(together, settings.horizon);
    }
    let decisions = replicas.iter().map(|replica| replica.costs.decisions).sum();
    let of_requests = replicas.iter().flat_map(|replica| replica.costs.of.iter().take(settings.requests));
    let cost_ms = of_requests.sum::<f64>() / (replicas.len() * settings.requests).max(1) as f64;
    let mut drawn: Vec<Drawn> = replicas.into_iter().flat_map(|replica| replica.drawn).collect();
    let square = drawn.iter().map(|drawn| drawn.advantage.powi(2)).sum::<f64>();
    let deviation = (square / drawn.len().max(1) as f64).sqrt() + 1e-8;
    drawn.iter_mut().for_each(|drawn| drawn.advantage /= deviation);
    let loss = learner.fit(
        &passes,
        &drawn,
        |drawn| (&drawn.options, drawn.choice),
        |drawn, log_prob| {
            let log_ratio = f64::from(log_prob - drawn.log_prob);
            let surrogate = Surrogate::of(log_ratio, drawn.advantage, settings.clip_range);
            (-surrogate.value, -surrogate.slope)
        },
    );
    Ok(Lesson { decisions, cost_ms, loss })
}

/// Plays the stretches of a generation: `replicas` copies of each, one after the other.
fn play<'a>(
    learner: &mut Learner,
    settings: &Gradient,
    temperature: f32,
    training: &'a [Day],
) -> Result<Vec<Replica<'a>>, LearnError> {
    let length = settings.requests + settings.horizon;
    let penalty = learner.config.slo_penalty_ms;
    let mut forks = Vec::new();
    for _ in 0..learner.config.days {
        let Learner { scorer, draw, .. } = learner;
        let day = &training[draw.below(training.len())];
        let mut scale = Scale::new(scorer.clone());
        if let Some((simulation, costs)) = stretch(day, length, penalty, &mut scale, draw)? {
            forks.push((simulation, costs, scale));
        }
    }
    let noise = learner.seed.derive("gradient", learner.curve.len() as u64);
    (0..forks.len() * settings.replicas)
        .into_par_iter()
        .map(|index| {
            let (simulation, costs, scale) = &forks[index / settings.replicas];
            let mut costs = costs.clone();
            let mut actor = Actor {
                scale: scale.clone(),
                temperature,
                draw: Draw::new(noise.derive("replica", index as u64)),
                first: costs.first(),
                requests: settings.requests,
                drawn: Vec::new(),
            };
            go_on(&mut simulation.clone(), &mut actor, &mut costs)?;
            Ok(Replica { drawn: actor.drawn, costs })
        })
        .collect()
}

/// Gives every decision its advantage over the other replicas.
fn compare(replicas: &mut [Replica<'_>], horizon: usize) {
    let returns: Vec<Vec<f64>> = replicas.iter().map(|replica| returns(&replica.costs.of, horizon)).collect();
    let others = (replicas.len() - 1) as f64;
    for (index, replica) in replicas.iter_mut().enumerate() {
        for drawn in &mut replica.drawn {
            let own = returns[index][drawn.place];
            let all: f64 = returns.iter().map(|returns| returns[drawn.place]).sum();
            drawn.advantage = own - (all - own) / others;
        }
    }
}

/// By request: minus the cost of it and of those after it, `horizon` in all.
///
/// ```
/// use scale_agents::gradient::returns;
/// assert_eq!(returns(&[1.0, 2.0, 4.0, 8.0], 2), [-3.0, -6.0, -12.0, -8.0]);
/// ```
pub fn returns(costs: &[f64], horizon: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let mut returns = vec![0.0; costs.len()];
    for place in (0..costs.len()).rev() {
        sum += costs[place] - costs.get(place + horizon).unwrap_or(&0.0);
        returns[place] = -sum;
    }
    returns
}
