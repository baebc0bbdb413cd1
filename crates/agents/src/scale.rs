//! The preset `scale`: a scheduler with foresight, and its training by evolution strategies (Salimans et al. 2017).
//!
//! # Why not by the policy gradient
//! What greedy lacks is foresight over thousands of requests: a cold start near the demand costs one request 200 ms and
//! saves many later ones 20 ms each. A policy gradient has to find that saving among the noise of everything else that
//! happens in between, and the noise grows with the horizon. Here the weights are moved, not the actions: a whole stretch
//! of a day is played with each of a few dozen scorers beside the present one, on the *same* arrivals, and the differences
//! are what it learns from. The horizon costs nothing, the policy that is measured is the one that is used (it always takes
//! its best option), and with a few dozen weights few plays are enough.
//!
//! # One generation
//! 1. Draw `pairs` directions e from the standard normal distribution and `days` training days.
//! 2. Play each of the 2 `pairs` scorers w + sigma e and w - sigma e on these days; their cost is the mean latency plus
//!    `slo_penalty_ms` times the rate of SLO violations, ms a request.
//! 3. Replace costs by centred ranks, so that one bad outlier counts no more than its place.
//! 4. The estimate of the gradient is the mean over pairs of (rank+ - rank-) e / (2 sigma); Adam takes a step against it.
//!
//! Which scorer is best is decided on days that the training does not see: every `check_every` generations the present
//! weights are played on the validation days, and the best so far are kept.

use crate::adam::{Adam, Rates};
use crate::draw::Draw;
use crate::env::Day;
use crate::error::{LearnError, require};
use crate::features::{FEATURES, Features, NAMES, Options};
use crate::scorer::Scorer;
use rayon::prelude::*;
use scale_model::{BatchProblem, ClusterState, Decision, Scheduler, Seed};
use scale_sim::{Policy, SimError, Summary, simulate};
use serde::{Deserialize, Serialize};

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Scale {
    scorer: Scorer,
    /// Made at the first decision, when the platform is known.
    features: Option<Features>,
    options: Options,
}

impl Scale {
    /// A scheduler that has seen no request yet.
    pub fn new(scorer: Scorer) -> Scale {
        Scale { scorer, features: None, options: Options::none() }
    }
}

impl Scheduler for Scale {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let features = self.features.get_or_insert_with(|| Features::new(batch.platform));
        features.look(batch, state, next, &mut self.options);
        self.scorer.best(&self.options).map_or(Decision::Defer, |best| self.options.decisions[best])
    }
}

/// Everything that a training depends on besides days and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleConfig {
    /// Generations.
    pub generations: u64,
    /// Pairs of opposite directions in a generation.
    pub pairs: usize,
    /// Training days that each scorer of a generation plays.
    pub days: usize,
    /// Length of a perturbation in every weight (standard deviation).
    pub sigma: f64,
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
}

impl ScaleConfig {
    fn validate(&self) -> Result<(), LearnError> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let above = "a finite number above 0";
        require(self.pairs > 0, "pairs", self.pairs, "at least 1")?;
        require(self.days > 0, "days", self.days, "at least 1")?;
        require(self.check_every > 0, "check_every", self.check_every, "at least 1")?;
        require(positive(self.sigma), "sigma", self.sigma, above)?;
        require(positive(self.learning_rate), "learning_rate", self.learning_rate, above)?;
        let penalty = self.slo_penalty_ms;
        require(
            penalty >= 0.0 && penalty.is_finite(),
            "slo_penalty_ms",
            penalty,
            "a finite number of at least 0",
        )?;
        match self.without.iter().find(|name| !NAMES.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => require(false, "without", name, "names of features"),
        }
    }

    /// Whether each weight is trained: those of features that are left out stay zero.
    fn trained(&self) -> Vec<bool> {
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
    /// Mean cost of the generation's scorers on its days, ms a request.
    pub cost_ms: f64,
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
    /// One entry a generation.
    pub curve: Vec<Progress>,
    /// The random stream.
    pub(crate) draw: Draw,
}

/// Trains a scorer.
///
/// # Errors
/// A configuration that makes no sense, no days, or what the simulator says.
pub fn train(
    config: &ScaleConfig,
    training: &[Day],
    validation: &[Day],
    seed: Seed,
    progress: &mut dyn FnMut(&Learner),
) -> Result<Learner, LearnError> {
    let mut learner = Learner::new(config, seed)?;
    learner.learn(training, validation, progress)?;
    Ok(learner)
}

/// Mean latency plus penalty, ms a request.
fn cost(summaries: &[Summary], slo_penalty_ms: f64) -> Validation {
    let mean =
        |of: fn(&Summary) -> f64| summaries.iter().map(of).sum::<f64>() / summaries.len().max(1) as f64;
    let latency_ms = mean(|summary| summary.latency_mean().map_or(0.0, |mean| mean.0));
    let late_rate = mean(|summary| summary.violation_rate().unwrap_or(0.0));
    Validation { cost_ms: latency_ms + slo_penalty_ms * late_rate, latency_ms, late_rate }
}

fn play(scorer: &Scorer, day: &Day) -> Result<Summary, SimError> {
    let mut scale = Scale::new(scorer.clone());
    simulate(&day.platform, &day.workload, &day.sim, Policy::Scheduler(&mut scale), &mut ())
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
        progress: &mut dyn FnMut(&Learner),
    ) -> Result<(), LearnError> {
        if training.is_empty() || validation.is_empty() {
            return Err(LearnError::NothingToDecide { days: 0 });
        }
        while (self.curve.len() as u64) < self.config.generations {
            self.generation(training, validation)?;
            progress(self);
        }
        Ok(())
    }

    fn generation(&mut self, training: &[Day], validation: &[Day]) -> Result<(), LearnError> {
        let Learner { config, scorer, draw, .. } = self;
        let trained = config.trained();
        let directions: Vec<Vec<f32>> = (0..config.pairs)
            .map(|_| {
                trained.iter().map(|&trained| if trained { draw.normal() as f32 } else { 0.0 }).collect()
            })
            .collect();
        let days: Vec<&Day> = (0..config.days).map(|_| &training[draw.below(training.len())]).collect();

        let played: Result<Vec<(f64, u64)>, SimError> = (0..2 * config.pairs)
            .into_par_iter()
            .map(|index| {
                let step = if index % 2 == 0 { config.sigma } else { -config.sigma } as f32;
                let mut moved = scorer.clone();
                for (weight, direction) in moved.weights.iter_mut().zip(&directions[index / 2]) {
                    *weight += step * direction;
                }
                let summaries = days.iter().map(|day| play(&moved, day)).collect::<Result<Vec<_>, _>>()?;
                let decisions = summaries.iter().map(|summary| summary.decisions).sum();
                Ok((cost(&summaries, config.slo_penalty_ms).cost_ms, decisions))
            })
            .collect();
        let played = played?;
        let costs: Vec<f64> = played.iter().map(|&(cost, _)| cost).collect();
        let mut decisions = self.curve.last().map_or(0, |last| last.decisions);
        decisions += played.iter().map(|&(_, decisions)| decisions).sum::<u64>();

        let ranks = centred_ranks(&costs);
        let scale = 1.0 / (2.0 * config.sigma * config.pairs as f64);
        let gradient: Vec<f32> = (0..trained.len())
            .map(|weight| {
                let sum: f64 = (0..config.pairs)
                    .map(|pair| (ranks[2 * pair] - ranks[2 * pair + 1]) * f64::from(directions[pair][weight]))
                    .sum();
                (sum * scale) as f32
            })
            .collect();
        let done = self.curve.len() as f64 / config.generations as f64;
        let learning_rate = config.learning_rate * (1.0 - 0.9 * done);
        let rates = Rates { learning_rate, beta1: 0.9, beta2: 0.99, epsilon: 1e-8 };
        self.adam.step(&rates, &mut scorer.weights, &gradient);
        let norm = scorer.weights.iter().map(|&weight| f64::from(weight).powi(2)).sum::<f64>().sqrt();
        if !norm.is_finite() {
            return Err(LearnError::NotFinite { what: "a weight", steps: decisions });
        }

        let generation = self.curve.len() as u64 + 1;
        let look = generation.is_multiple_of(config.check_every) || generation == config.generations;
        let reached = match look {
            true => {
                let summaries: Result<Vec<Summary>, SimError> =
                    validation.par_iter().map(|day| play(scorer, day)).collect();
                Some(cost(&summaries?, config.slo_penalty_ms))
            }
            false => None,
        };
        if let Some(reached) = reached {
            let least = self.curve.iter().filter_map(|entry| entry.validation).map(|entry| entry.cost_ms);
            if least.fold(f64::INFINITY, f64::min) > reached.cost_ms {
                self.best = scorer.clone();
            }
        }
        let cost_ms = costs.iter().sum::<f64>() / costs.len() as f64;
        self.curve.push(Progress { generation, decisions, cost_ms, norm, validation: reached });
        Ok(())
    }
}

/// Ranks from -0.5 (least) to 0.5 (most); equal values share the mean of their ranks.
///
/// ```
/// use scale_agents::scale::centred_ranks;
/// assert_eq!(centred_ranks(&[3.0, 1.0, 2.0]), [0.5, -0.5, 0.0]);
/// assert_eq!(centred_ranks(&[7.0, 7.0, 1.0]), [0.25, 0.25, -0.5]);
/// assert_eq!(centred_ranks(&[7.0, 7.0]), [0.0, 0.0]);
/// ```
pub fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let last = (values.len() as f64 - 1.0).max(1.0);
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let equal = order[start..].iter().take_while(|&&index| values[index] == values[order[start]]).count();
        let rank = (start as f64 + (equal as f64 - 1.0) / 2.0) / last - 0.5;
        for &index in &order[start..start + equal] {
            ranks[index] = rank;
        }
        start += equal.max(1);
    }
    ranks
}
