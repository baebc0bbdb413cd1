//! m-DQN, the paper's second baseline: multi-step Q-learning with experience replay and a target network (Mampage,
//! Karunasekera, Buyya, 2023), on the paper's own state, action and reward.
//!
//! Stable-Baselines3, which the paper names, has DQN for flat actions only, so the action is flattened: 2 N numbers, a new
//! container or a reuse on each node. Its defaults stand in [`DqnConfig::paper`], with n = 3 steps.
//!
//! The target of a decision is
//! y = sum over k < m of gamma^k r(t + k) + gamma^m Q'(s(t + m), a*),
//! where m is n or less if the episode, or what is stored, ends before; a* is the best *valid* action of s(t + m) by the
//! target network Q' or, with `double`, by Q; and the last summand is absent if the episode terminated.
//!
//! # Deviations from Stable-Baselines3
//! - Masks: exploration draws from the valid actions only, and a* is one of them.
//! - The buffer holds each observation once and finds the next one beside it; so the newest decision is drawn only once
//!   its successor is there. It has room for 100,000 decisions and not for 10^6: those would take 2.5 GB for 125 nodes.
//! - `double` and `dueling` are switches, off by default; dueling subtracts the mean over valid actions only, so that the
//!   values of masked ones do not leak in.
//! - Several environments have a part of the buffer each.
//!
//! Decisions are drawn evenly, as the library does; there is no prioritised replay, so the faults of sum trees (row 17 of the
//! table of public bugs that the `bug_` tests follow) have no place to be in.

use crate::adam::{Adam, Rates, clip_norm};
use crate::agent::{Head, Network, best_value};
use crate::draw::Draw;
use crate::env::{self, End, Env, Report, fit, shape};
use crate::error::{LearnError, require};
use crate::math::all_finite;
use crate::net::{Activation, Mlp, Pass};
use crate::observe::{Action, Mask, Open};
use scale_model::Seed;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Trains a Q network for `config.total_steps` decisions in all environments together.
///
/// # Errors
/// A configuration or environments that make no sense, what the environments say, or a number that is not finite.
pub fn train<E: Env>(
    config: &DqnConfig,
    envs: &mut [E],
    seed: Seed,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Learner, LearnError> {
    let (width, nodes) = shape(envs)?;
    let mut learner = Learner::new(config, width, nodes, seed)?;
    learner.learn(envs, progress)?;
    Ok(learner)
}

/// Everything that a DQN training depends on besides environments and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DqnConfig {
    /// Decisions to train for.
    pub total_steps: u64,
    /// n of the n-step returns.
    pub n_steps: usize,
    /// Whether Q chooses the action that Q' values.
    pub double: bool,
    /// Whether the network gives V and A instead of Q.
    pub dueling: bool,
    /// Decisions that the replay buffer holds, over all environments.
    pub buffer: usize,
    /// Decisions before learning starts.
    pub learning_starts: u64,
    /// Decisions in a mini-batch.
    pub batch: usize,
    /// Decisions between updates, over all environments.
    pub train_every: u64,
    /// Steps of the optimiser in each update.
    pub gradient_steps: usize,
    /// Decisions between copies of Q to Q'.
    pub target_every: u64,
    /// Step size of Adam.
    pub learning_rate: f64,
    /// Adam's epsilon.
    pub adam_epsilon: f64,
    /// gamma of Eq. (11).
    pub gamma: f64,
    /// Share of random decisions at the beginning.
    pub epsilon_first: f64,
    /// The same from `epsilon_share` of the training on; linear in between.
    pub epsilon_last: f64,
    /// Share of the training in which it falls.
    pub epsilon_share: f64,
    /// Largest norm of the gradient.
    pub max_gradient_norm: f64,
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// Decisions between two reports of progress.
    pub report_every: u64,
    /// All environments begin anew, with an empty buffer, after so many decisions; 0: never. A training is resumed at such
    /// a point.
    pub restart_steps: u64,
}

impl DqnConfig {
    /// The paper's baseline with Stable-Baselines3's defaults and n = 3.
    pub fn paper(total_steps: u64) -> DqnConfig {
        DqnConfig {
            total_steps,
            n_steps: 3,
            double: false,
            dueling: false,
            buffer: 100_000,
            learning_starts: 100,
            batch: 32,
            train_every: 4,
            gradient_steps: 1,
            target_every: 10_000,
            learning_rate: 1e-4,
            adam_epsilon: 1e-8,
            gamma: 0.99,
            epsilon_first: 1.0,
            epsilon_last: 0.05,
            epsilon_share: 0.1,
            max_gradient_norm: 10.0,
            hidden: vec![64, 64],
            report_every: 2048,
            restart_steps: 0,
        }
    }

    fn validate(&self) -> Result<(), LearnError> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let share = |x: f64| (0.0..=1.0).contains(&x);
        let (above, between) = ("a finite number above 0", "a number from 0 to 1");
        require(self.n_steps > 0, "n_steps", self.n_steps, "at least 1")?;
        require(self.buffer > 0, "buffer", self.buffer, "at least 1")?;
        require(self.batch > 0, "batch", self.batch, "at least 1")?;
        require(self.train_every > 0, "train_every", self.train_every, "at least 1")?;
        require(self.target_every > 0, "target_every", self.target_every, "at least 1")?;
        require(self.report_every > 0, "report_every", self.report_every, "at least 1")?;
        require(positive(self.learning_rate), "learning_rate", self.learning_rate, above)?;
        require(positive(self.adam_epsilon), "adam_epsilon", self.adam_epsilon, above)?;
        require(positive(self.max_gradient_norm), "max_gradient_norm", self.max_gradient_norm, above)?;
        require(share(self.gamma), "gamma", self.gamma, between)?;
        require(share(self.epsilon_first), "epsilon_first", self.epsilon_first, between)?;
        require(share(self.epsilon_last), "epsilon_last", self.epsilon_last, between)?;
        require(share(self.epsilon_share), "epsilon_share", self.epsilon_share, between)?;
        let width = self.hidden.iter().copied().min().unwrap_or(1);
        require(width > 0, "hidden", width, "layers of at least 1")
    }

    /// Share of random decisions after `steps`.
    ///
    /// ```
    /// use scale_agents::dqn::DqnConfig;
    /// let config = DqnConfig::paper(1000);
    /// // From 1 to 0.05 in the first hundred decisions.
    /// assert_eq!(config.epsilon(0), 1.0);
    /// assert!((config.epsilon(50) - 0.525).abs() < 1e-12);
    /// assert_eq!(config.epsilon(100), 0.05);
    /// assert_eq!(config.epsilon(900), 0.05);
    /// ```
    pub fn epsilon(&self, steps: u64) -> f64 {
        let span = self.epsilon_share * self.total_steps as f64;
        let done = if span > 0.0 { (steps as f64 / span).min(1.0) } else { 1.0 };
        if done >= 1.0 {
            return self.epsilon_last;
        }
        self.epsilon_first + (self.epsilon_last - self.epsilon_first) * done
    }
}

/// What the decisions since the last report were like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Decisions so far.
    pub steps: u64,
    /// What they were like.
    pub play: Report,
    /// Share of random decisions now.
    pub epsilon: f64,
    /// Mean Huber loss of the updates; `None` if there was none.
    pub loss: Option<f64>,
    /// Mean Q of the decisions in them.
    pub value: Option<f64>,
    /// Mean norm of the gradient before it was clipped.
    pub gradient_norm: Option<f64>,
}

/// A training.
#[derive(Clone, Debug)]
pub struct Learner {
    /// The configuration.
    pub config: DqnConfig,
    /// The seed.
    pub seed: Seed,
    /// Shape of Q and Q'.
    pub mlp: Mlp,
    /// Q.
    pub parameters: Vec<f32>,
    /// Q'.
    pub target: Vec<f32>,
    /// The optimiser of Q.
    pub adam: Adam,
    /// Decisions so far.
    pub steps: u64,
    /// The reports so far.
    pub curve: Vec<Progress>,
    pub(crate) nodes: usize,
    pub(crate) actions: Draw,
    pub(crate) samples: Draw,
    pub(crate) replay: Vec<Replay>,
    pub(crate) tally: Tally,
    running: bool,
    update: Update,
}

/// Sums since the last report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tally {
    play: env::Tally,
    updates: u64,
    losses: f64,
    values: f64,
    norms: f64,
}

impl Learner {
    /// Before the first step, with PyTorch's initial weights.
    ///
    /// # Errors
    /// A configuration that makes no sense.
    pub fn new(config: &DqnConfig, width: usize, nodes: usize, seed: Seed) -> Result<Learner, LearnError> {
        config.validate()?;
        let mlp = Mlp {
            inputs: width,
            hidden: config.hidden.clone(),
            outputs: 2 * nodes + usize::from(config.dueling),
            activation: Activation::Relu,
        };
        let parameters = mlp.uniform(&mut Draw::new(seed.derive("init", 0)));
        Ok(Learner {
            config: config.clone(),
            seed,
            target: parameters.clone(),
            adam: Adam::new(parameters.len()),
            mlp,
            parameters,
            steps: 0,
            curve: Vec::new(),
            nodes,
            actions: Draw::new(seed.derive("actions", 0)),
            samples: Draw::new(seed.derive("samples", 0)),
            replay: Vec::new(),
            tally: Tally::default(),
            running: false,
            update: Update::default(),
        })
    }

    /// What is put to work: Q.
    pub fn network(&self) -> Network {
        Network {
            mlp: self.mlp.clone(),
            parameters: self.parameters.clone(),
            head: if self.config.dueling { Head::Dueling } else { Head::Values },
            nodes: self.nodes,
        }
    }

    /// Goes on until `total_steps`.
    ///
    /// # Errors
    /// No environments, some that do not fit, what they say, or a number that is not finite.
    pub fn learn<E: Env>(
        &mut self,
        envs: &mut [E],
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(), LearnError> {
        while self.steps < self.config.total_steps {
            let reported = self.curve.len();
            self.iterate(envs)?;
            if let Some(report) = self.curve.get(reported) {
                progress(report);
            }
        }
        Ok(())
    }

    /// One decision in every environment, and the updates that are due.
    ///
    /// # Errors
    /// See [`learn`](Self::learn).
    pub fn iterate<E: Env>(&mut self, envs: &mut [E]) -> Result<(), LearnError> {
        self.restart(envs)?;
        let mut scratch = vec![0.0; self.mlp.scratch()];
        let mut mask = Mask::closed(self.nodes);
        let before = self.steps;
        for (index, env) in envs.iter_mut().enumerate() {
            self.act(index, env, &mut mask, &mut scratch)?;
        }
        let due = |every: u64| self.steps / every > before / every;
        let (train, copy, report) =
            (due(self.config.train_every), due(self.config.target_every), due(self.config.report_every));
        if train && self.steps > self.config.learning_starts {
            for _ in 0..self.config.gradient_steps {
                self.improve()?;
            }
        }
        if copy {
            self.target.copy_from_slice(&self.parameters);
        }
        if report {
            self.report();
        }
        Ok(())
    }

    fn restart<E: Env>(&mut self, envs: &mut [E]) -> Result<(), LearnError> {
        let every = self.config.restart_steps;
        // The number of decisions jumps over a multiple if the environments do not divide it.
        let count = envs.len() as u64;
        let segment = |steps: u64| steps.checked_div(every).unwrap_or(0);
        let due = segment(self.steps) != segment(self.steps.saturating_sub(count));
        if self.running && !due && self.replay.len() == envs.len() {
            return Ok(());
        }
        fit(envs, (self.mlp.inputs, self.nodes))?;
        for (index, env) in envs.iter_mut().enumerate() {
            env.restart(segment(self.steps) * count + index as u64)?;
        }
        let capacity = (self.config.buffer / envs.len()).max(1);
        self.replay = (0..envs.len()).map(|_| Replay::new(capacity, self.mlp.inputs, self.nodes)).collect();
        self.tally.play.restart(envs.len());
        self.running = true;
        Ok(())
    }

    /// One decision: random with probability epsilon, otherwise the best.
    fn act<E: Env>(
        &mut self,
        index: usize,
        env: &mut E,
        mask: &mut Mask,
        scratch: &mut [f32],
    ) -> Result<(), LearnError> {
        let replay = &mut self.replay[index];
        env.mask(mask);
        let slot = replay.push_state(|out| env.observe(out), mask);
        if !all_finite(replay.observation(slot)) {
            return Err(LearnError::NotFinite { what: "an observation", steps: self.steps });
        }
        let closed = LearnError::Closed { index, steps: self.steps };
        let action = match self.actions.unit() < self.config.epsilon(self.steps) {
            true => random(mask.open(), &mut self.actions),
            false => {
                let out = self.mlp.forward(&self.parameters, replay.observation(slot), scratch);
                if !all_finite(out) {
                    return Err(LearnError::NotFinite { what: "an output", steps: self.steps });
                }
                best_value(&out[..2 * self.nodes], mask.open())
            }
        };
        let action = action.ok_or(closed)?;
        let step = env.step(action)?;
        if !step.reward.is_finite() {
            return Err(LearnError::NotFinite { what: "a reward", steps: self.steps });
        }
        self.steps += 1;
        replay.decide(slot, action, step.reward, step.end);
        self.tally.play.count(index, &step);
        if let Some(end) = step.end {
            if end == End::Truncated {
                // The state that the episode was cut off in: nobody decides in it, but its value is asked for.
                env.mask(mask);
                replay.push_state(|out| env.observe(out), mask);
            }
            env.reset()?;
        }
        Ok(())
    }

    /// One step of the optimiser.
    fn improve(&mut self) -> Result<(), LearnError> {
        let Learner { config, mlp, parameters, target, adam, replay, samples, update, .. } = self;
        let chosen = match draw_samples(replay, config, samples) {
            Some(chosen) => chosen,
            None => return Ok(()),
        };
        let (loss, value) = update.gradient(config, mlp, parameters, target, replay, &chosen);
        let norm = clip_norm(&mut update.gradient, config.max_gradient_norm);
        if !loss.is_finite() || !norm.is_finite() {
            return Err(LearnError::NotFinite { what: "the loss or its gradient", steps: self.steps });
        }
        let rates = Rates {
            learning_rate: config.learning_rate,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: config.adam_epsilon,
        };
        adam.step(&rates, parameters, &update.gradient);
        self.tally.updates += 1;
        self.tally.losses += loss;
        self.tally.values += value;
        self.tally.norms += norm;
        Ok(())
    }

    fn report(&mut self) {
        let report = self.tally.play.report();
        let play = self.tally.play.clone();
        let tally = std::mem::replace(&mut self.tally, Tally { play, ..Tally::default() });
        let mean = |sum: f64, count: u64| (count > 0).then(|| sum / count as f64);
        self.curve.push(Progress {
            steps: self.steps,
            play: report,
            epsilon: self.config.epsilon(self.steps),
            loss: mean(tally.losses, tally.updates),
            value: mean(tally.values, tally.updates),
            gradient_norm: mean(tally.norms, tally.updates),
        });
    }
}

/// Any valid action, all equally likely; `None` if there is none.
fn random(mask: Open<'_>, draw: &mut Draw) -> Option<Action> {
    let flat = || mask.new.iter().chain(mask.reuse).enumerate().filter(|(_, open)| **open);
    let count = flat().count();
    if count == 0 {
        return None;
    }
    let (chosen, _) = flat().nth(draw.below(count))?;
    Some(Action::of_flat(chosen, mask.new.len()))
}

/// What one environment lived through: a ring of states in order, each with the decision taken in it. A state without a
/// decision is the last of a truncated episode, or the newest.
#[derive(Clone, Debug)]
pub struct Replay {
    capacity: usize,
    width: usize,
    nodes: usize,
    observations: Vec<f32>,
    /// First the new containers of each node, then the reuses.
    masks: Vec<bool>,
    decided: VecDeque<Decided>,
    /// States pushed so far; state number i lies in slot i % capacity.
    pushed: usize,
}

/// What was decided in a state.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Decided {
    action: Option<Action>,
    reward: f64,
    end: Option<End>,
}

/// A decision with its return over m steps and where to go on from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Number of the state.
    pub state: usize,
    /// What was decided in it.
    pub action: Action,
    /// Sum over k < m of gamma^k r(t + k).
    pub reward: f64,
    /// gamma^m.
    pub discount: f64,
    /// Number of state t + m; `None` if the episode terminated before.
    pub next: Option<usize>,
}

impl Replay {
    /// Room for the states of `capacity` decisions.
    pub fn new(capacity: usize, width: usize, nodes: usize) -> Replay {
        // One more, so that even one decision has its successor beside it.
        Replay {
            capacity: capacity + 1,
            width,
            nodes,
            observations: Vec::new(),
            masks: Vec::new(),
            decided: VecDeque::new(),
            pushed: 0,
        }
    }

    /// A new state; returns its number. The oldest goes if there is no room.
    pub fn push_state(&mut self, observe: impl FnOnce(&mut [f32]), mask: &Mask) -> usize {
        let slot = self.pushed % self.capacity;
        if self.decided.len() == self.capacity {
            self.decided.pop_front();
        } else {
            // Grows as it fills: a short training needs no room for a long one.
            self.observations.resize((slot + 1) * self.width, 0.0);
            self.masks.resize((slot + 1) * 2 * self.nodes, false);
        }
        observe(&mut self.observations[slot * self.width..][..self.width]);
        let (new, reuse) = self.masks[slot * 2 * self.nodes..][..2 * self.nodes].split_at_mut(self.nodes);
        new.copy_from_slice(&mask.new);
        reuse.copy_from_slice(&mask.reuse);
        self.decided.push_back(Decided { action: None, reward: 0.0, end: None });
        self.pushed += 1;
        self.pushed - 1
    }

    /// What was decided in a state, and what it brought.
    ///
    /// # Panics
    /// If the state is no longer there.
    pub fn decide(&mut self, state: usize, action: Action, reward: f64, end: Option<End>) {
        let index = state - self.first();
        self.decided[index] = Decided { action: Some(action), reward, end };
    }

    /// Number of the oldest state.
    fn first(&self) -> usize {
        self.pushed - self.decided.len()
    }

    /// States that are there.
    pub fn len(&self) -> usize {
        self.decided.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.decided.is_empty()
    }

    /// The observation of a state.
    pub fn observation(&self, state: usize) -> &[f32] {
        &self.observations[state % self.capacity * self.width..][..self.width]
    }

    /// The mask of a state.
    pub fn mask(&self, state: usize) -> Open<'_> {
        let row = &self.masks[state % self.capacity * 2 * self.nodes..][..2 * self.nodes];
        let (new, reuse) = row.split_at(self.nodes);
        Open { new, reuse }
    }

    /// The decision in the state that is `offset` from the oldest, with its return over at most `n` steps. `None` if there
    /// was no decision, or its successor is not there yet.
    ///
    /// The sum stops at the end of the episode and at the newest state; it never goes on into another episode or across
    /// the head of the ring.
    pub fn sample(&self, offset: usize, n: usize, gamma: f64) -> Option<Sample> {
        let action = self.decided[offset].action?;
        let (mut reward, mut discount) = (0.0, 1.0);
        let mut at = offset;
        loop {
            let decided = self.decided[at];
            reward += discount * decided.reward;
            discount *= gamma;
            at += 1;
            if decided.end == Some(End::Terminated) {
                break;
            }
            // The successor: the next state, also the last one of a truncated episode.
            let successor = self.decided.get(at)?;
            let newest = at + 1 == self.decided.len();
            if newest || decided.end.is_some() || successor.action.is_none() || at - offset == n {
                break;
            }
        }
        let terminated = self.decided[at - 1].end == Some(End::Terminated);
        let state = self.first() + offset;
        let next = (!terminated).then_some(self.first() + at);
        Some(Sample { state, action, reward, discount, next })
    }
}

/// Decisions of a mini-batch, all equally likely. `None` if there is not one yet.
fn draw_samples(replay: &[Replay], config: &DqnConfig, draw: &mut Draw) -> Option<Vec<(usize, Sample)>> {
    let total: usize = replay.iter().map(Replay::len).sum();
    let pick = |mut at: usize| {
        let env = replay.iter().position(|part| {
            let here = at < part.len();
            at -= if here { 0 } else { part.len() };
            here
        })?;
        Some((env, replay[env].sample(at, config.n_steps, config.gamma)?))
    };
    // Drawn again where a state has no sample: one must have.
    (0..total).find_map(pick)?;
    let mut chosen = Vec::with_capacity(config.batch);
    while chosen.len() < config.batch {
        chosen.extend(pick(draw.below(total)));
    }
    Some(chosen)
}

/// Buffers of an update, and the gradient that it leaves.
#[derive(Clone, Debug, Default)]
struct Update {
    input: Vec<f32>,
    next: Vec<f32>,
    online: Pass,
    ahead: Pass,
    behind: Pass,
    gradient: Vec<f32>,
}

impl Update {
    /// The gradient of the mean Huber loss of Q(s, a) - y. Returns the loss and the mean of Q(s, a).
    fn gradient(
        &mut self,
        config: &DqnConfig,
        mlp: &Mlp,
        parameters: &[f32],
        target: &[f32],
        replay: &[Replay],
        chosen: &[(usize, Sample)],
    ) -> (f64, f64) {
        let count = chosen.len();
        self.input.clear();
        self.next.clear();
        for (env, sample) in chosen {
            self.input.extend_from_slice(replay[*env].observation(sample.state));
            // Where nothing comes after, any state will do: it is not looked at.
            self.next.extend_from_slice(replay[*env].observation(sample.next.unwrap_or(sample.state)));
        }
        let next_q = self.behind.forward(mlp, target, &self.next, count);
        let choose_by = match config.double {
            true => self.ahead.forward(mlp, parameters, &self.next, count),
            false => next_q,
        };
        let mut targets = Vec::with_capacity(count);
        for (row, (env, sample)) in chosen.iter().enumerate() {
            let row = row * mlp.outputs..(row + 1) * mlp.outputs;
            let rest = sample.next.and_then(|next| {
                let mask = replay[*env].mask(next);
                // A state in which nothing is valid ends the return like a terminal one.
                let best =
                    best_value(&choose_by[row.clone()][..mlp.outputs - usize::from(config.dueling)], mask)?;
                Some(f64::from(value(&next_q[row], best, mask, config.dueling)))
            });
            // Not (1 - terminal) * value: 0 times infinity is not a number.
            targets.push(sample.reward + rest.map_or(0.0, |rest| sample.discount * rest));
        }
        self.online.forward(mlp, parameters, &self.input, count);
        let (out, back) = self.online.ends();
        back.fill(0.0);
        let (mut loss, mut mean) = (0.0, 0.0);
        for (row, ((env, sample), target)) in chosen.iter().zip(targets).enumerate() {
            let row = row * mlp.outputs..(row + 1) * mlp.outputs;
            let mask = replay[*env].mask(sample.state);
            let q = f64::from(value(&out[row.clone()], sample.action, mask, config.dueling));
            let error = q - target;
            loss += if error.abs() < 1.0 { 0.5 * error * error } else { error.abs() - 0.5 };
            mean += q;
            let slope = (error.clamp(-1.0, 1.0) / count as f64) as f32;
            push_back(&mut back[row], sample.action, mask, config.dueling, slope);
        }
        self.gradient.resize(parameters.len(), 0.0);
        self.online.backward(mlp, parameters, &self.input, &mut self.gradient);
        (loss / count as f64, mean / count as f64)
    }
}

/// Q of an action: the output itself or, dueling, V + A(action) - mean of A over valid actions.
fn value(out: &[f32], action: Action, mask: Open<'_>, dueling: bool) -> f32 {
    let nodes = mask.new.len();
    let own = out[action.flat(nodes)];
    if !dueling {
        return own;
    }
    let (sum, count) = valid(mask).fold((0.0, 0.0), |(sum, count), flat| (sum + out[flat], count + 1.0));
    out[2 * nodes] + own - sum / count
}

/// The gradient of [`value`] times `slope`.
fn push_back(back: &mut [f32], action: Action, mask: Open<'_>, dueling: bool, slope: f32) {
    let nodes = mask.new.len();
    back[action.flat(nodes)] += slope;
    if dueling {
        back[2 * nodes] += slope;
        let share = slope / valid(mask).count() as f32;
        valid(mask).for_each(|flat| back[flat] -= share);
    }
}

/// Flat numbers of the valid actions.
fn valid(mask: Open<'_>) -> impl Iterator<Item = usize> {
    mask.new.iter().chain(mask.reuse).enumerate().filter(|(_, open)| **open).map(|(flat, _)| flat)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: usize = 2;

    /// A replay of one decision (new on node 0, reward 1, then another state or the end), a network without weights whose
    /// biases are the given Q values, and the loss of Q(s, a) = 0 against the target.
    fn loss(config: &DqnConfig, next: [bool; 4], end: Option<End>, online: &[f32], target: &[f32]) -> f64 {
        let outputs = 2 * NODES + usize::from(config.dueling);
        let mlp = Mlp { inputs: 1, hidden: vec![], outputs, activation: Activation::Relu };
        let constant = |q: &[f32]| {
            let mut parameters = vec![0.0; mlp.parameters()];
            parameters[outputs..].copy_from_slice(q);
            parameters
        };
        let mut replay = Replay::new(4, 1, NODES);
        let open = Mask { new: vec![true; 2], reuse: vec![true; 2] };
        let state = replay.push_state(|out| out.fill(1.0), &open);
        replay.decide(state, Action::of_flat(0, NODES), 1.0, end);
        let (new, reuse) = next.split_at(NODES);
        replay.push_state(|out| out.fill(1.0), &Mask { new: new.to_vec(), reuse: reuse.to_vec() });
        let sample = replay.sample(0, config.n_steps, config.gamma).expect("a sample");
        let (online, target) = (constant(online), constant(target));
        let (loss, _) = Update::default().gradient(config, &mlp, &online, &target, &[replay], &[(0, sample)]);
        loss
    }

    fn config() -> DqnConfig {
        DqnConfig { gamma: 0.5, ..DqnConfig::paper(100) }
    }

    /// Row 11 (tianshou#309, ray#47537): the best action of the next state is a valid one; the mask comes after the network.
    #[test]
    fn bug_11_the_next_action_is_a_valid_one() {
        let zero = [0.0; 4];
        // Valid: reuse on node 0 alone, Q' = 0.5 there and 100 elsewhere: y = 1 + 0.5 * 0.5.
        let next = [false, false, true, false];
        let y = 1.25;
        let found = loss(&config(), next, None, &zero, &[100.0, 100.0, 0.5, 100.0]);
        assert!((found - (y - 0.5)).abs() < 1e-6, "{found}");
        // Double: Q chooses reuse on node 1 among the valid ones, Q' values it: y = 1 + 0.5 * 3. Q(s, a) = 0 still.
        let double = DqnConfig { double: true, ..config() };
        let found =
            loss(&double, [false, false, true, true], None, &[0.0, 9.0, 1.0, 2.0], &[0.0, 0.0, 5.0, 3.0]);
        assert!((found - (2.5 - 0.5)).abs() < 1e-6, "{found}");
        // Without it Q' chooses: y = 1 + 0.5 * 5.
        let found =
            loss(&config(), [false, false, true, true], None, &[0.0, 9.0, 1.0, 2.0], &[0.0, 0.0, 5.0, 3.0]);
        assert!((found - (3.5 - 0.5)).abs() < 1e-6, "{found}");
        // Dueling: V = 2, A = 1 and 3 where valid and 100 where not: Q' = 2 + 3 - 2, y = 1 + 0.5 * 3.
        let dueling = DqnConfig { dueling: true, ..config() };
        let found =
            loss(&dueling, [false, false, true, true], None, &[0.0; 5], &[100.0, 100.0, 1.0, 3.0, 2.0]);
        assert!((found - (2.5 - 0.5)).abs() < 1e-6, "{found}");
    }

    /// Row 12 (rlevo#192): after the end, whatever the network says of the next state, infinity too, does not count; nor
    /// where nothing is valid in it.
    #[test]
    fn bug_12_nothing_counts_after_the_end() {
        for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e30] {
            let found = loss(&config(), [true; 4], Some(End::Terminated), &[0.0; 4], &[bad; 4]);
            assert_eq!(found, 0.5, "{bad}: y is the reward alone");
            let found = loss(&config(), [false; 4], None, &[0.0; 4], &[bad; 4]);
            assert_eq!(found, 0.5, "{bad}: a state without valid actions");
        }
    }

    /// The gradient by hand against central differences of the loss, for both heads.
    #[test]
    fn the_gradient_is_the_slope_of_the_loss() {
        for dueling in [false, true] {
            let config = DqnConfig { dueling, double: true, n_steps: 2, ..config() };
            let mut draw = Draw::new(Seed(3));
            let outputs = 2 * NODES + usize::from(dueling);
            let mlp = Mlp { inputs: 3, hidden: vec![5], outputs, activation: Activation::Relu };
            let mut parameters = mlp.uniform(&mut draw);
            let target = mlp.uniform(&mut draw);
            let mut replay = Replay::new(50, 3, NODES);
            for t in 0..40 {
                let mut mask = Mask::closed(NODES);
                mask.new.iter_mut().chain(&mut mask.reuse).for_each(|open| *open = draw.unit() < 0.7);
                mask.new[0] = true;
                let state =
                    replay.push_state(|out| out.iter_mut().for_each(|x| *x = draw.normal() as f32), &mask);
                let action = random(mask.open(), &mut draw).expect("one is valid");
                replay.decide(state, action, draw.normal(), (t % 7 == 6).then_some(End::Terminated));
            }
            let replay = [replay];
            let chosen: Vec<_> =
                (0..38).map(|at| (0, replay[0].sample(at, 2, 0.5).expect("a sample"))).collect();
            let mut update = Update::default();
            update.gradient(&config, &mlp, &parameters, &target, &replay, &chosen);
            let gradient = update.gradient.clone();
            // The target depends on Q only by which action it chooses: not within such small steps.
            for index in 0..parameters.len() {
                let mut at = |by: f32| {
                    let before = parameters[index];
                    parameters[index] += by;
                    let x = f64::from(parameters[index]);
                    let loss = update.gradient(&config, &mlp, &parameters, &target, &replay, &chosen).0;
                    parameters[index] = before;
                    (x, loss)
                };
                let ((x1, up), (x0, down)) = (at(1e-3), at(-1e-3));
                let slope = (up - down) / (x1 - x0);
                assert!((f64::from(gradient[index]) - slope).abs() < 2e-4, "{index}: {slope}");
            }
        }
    }

    #[test]
    fn exploration_draws_valid_actions_only_and_all_of_them() {
        let mask = Mask { new: vec![false, true, false], reuse: vec![true, true, false] };
        let mut draw = Draw::new(Seed(1));
        let mut counts = [0; 6];
        for _ in 0..3000 {
            counts[random(mask.open(), &mut draw).expect("three are valid").flat(3)] += 1;
        }
        let expected = [0, 1000, 0, 1000, 1000, 0];
        assert!(
            counts.iter().zip(expected).all(|(&found, e): (&i32, i32)| (found - e).abs() < 120),
            "{counts:?}"
        );
        assert!(random(Mask::closed(3).open(), &mut draw).is_none());
    }
}
