//! The preset `paper`: Algorithm 1, PPO with a clipped objective on a flat state vector, from top to bottom.
//!
//! Where the paper is silent (it names no width, rate, discount or batch), Stable-Baselines3's defaults stand in
//! [`PpoConfig::paper`], since that is the library that it names. Where it contradicts itself, lambda decides:
//! Eq. (14) is a one-step advantage, r + gamma V(s') - V(s), which is GAE with lambda = 0; Algorithm 1 takes
//! rewards-to-go, which is lambda = 1; the library's default is 0.95.
//!
//! # Deviations
//! From the paper:
//! - The action's two parts have one exact joint mask ([`hierarchy`](mod@crate::hierarchy)); the paper says only that the
//!   constraint is built in.
//! - A request that fits nowhere is deferred without asking the agent.
//! - Eq. (15), a gradient step of the critic, and Algorithm 1's regression are the same step here: the mean squared
//!   error to the returns, with the objective's and the entropy's, in one clipped gradient.
//!
//! From Stable-Baselines3: the mask; a rollout goes on where the last stopped, but every `restart_rollouts` rollouts all
//! environments begin anew, where a training can be resumed; sums over a mini-batch are taken in another order.
//!
//! Everything runs on one thread and depends on configuration, environments and seed alone.

use crate::adam::{Adam, Rates, clip_norm};
use crate::agent::{Head, Network};
use crate::draw::Draw;
use crate::env::{End, Env, Report, Tally, fit, shape};
use crate::error::{LearnError, require};
use crate::hierarchy::Row;
use crate::math::all_finite;
use crate::net::{Activation, Mlp, Pass};
use crate::observe::{Action, Mask, Open};
use scale_model::Seed;
use serde::{Deserialize, Serialize};

/// Algorithm 1. Trains an agent for `config.total_steps` decisions in all environments together.
///
/// # Errors
/// A configuration or environments that make no sense, what the environments say, or a number that is not finite.
pub fn train<E: Env>(
    config: &PpoConfig,
    envs: &mut [E],
    seed: Seed,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Learner, LearnError> {
    let (width, nodes) = shape(envs)?;
    let mut learner = Learner::new(config, width, nodes, seed)?; // Line 1: initialise theta and phi.
    learner.learn(envs, progress)?;
    Ok(learner)
}

/// Everything that a PPO training depends on besides environments and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PpoConfig {
    /// Decisions to train for, rounded up to whole rollouts.
    pub total_steps: u64,
    /// Decisions of each environment between two updates.
    pub rollout_steps: usize,
    /// Decisions in a mini-batch.
    pub minibatch: usize,
    /// Times that a rollout is gone through.
    pub epochs: usize,
    /// Step size of Adam.
    pub learning_rate: f64,
    /// Whether the step size falls linearly to 0 over `total_steps`.
    pub anneal: bool,
    /// Adam's epsilon.
    pub adam_epsilon: f64,
    /// gamma of Eq. (11).
    pub gamma: f64,
    /// lambda of GAE: 0 is Eq. (14), 1 the rewards-to-go of Algorithm 1.
    pub gae_lambda: f64,
    /// epsilon of Eq. (13).
    pub clip_range: f64,
    /// The same for the critic, around its prediction in the rollout.
    pub clip_range_value: Option<f64>,
    /// Weight of the entropy in the objective.
    pub entropy_coefficient: f64,
    /// Weight of the critic's error in the objective.
    pub value_coefficient: f64,
    /// Largest norm of the gradient of actor and critic together.
    pub max_gradient_norm: f64,
    /// Ends an update when the policy has moved 1.5 times this far (KL divergence, nats).
    pub target_kl: Option<f64>,
    /// Whether advantages are standardised in each mini-batch.
    pub normalize_advantage: bool,
    /// Widths of the hidden layers, of actor and critic each.
    pub hidden: Vec<usize>,
    /// All environments begin anew after so many rollouts; 0: never. A training is resumed at such a point.
    pub restart_rollouts: u64,
}

impl PpoConfig {
    /// The paper's method with Stable-Baselines3's defaults.
    pub fn paper(total_steps: u64) -> PpoConfig {
        PpoConfig {
            total_steps,
            rollout_steps: 2048,
            minibatch: 64,
            epochs: 10,
            learning_rate: 3e-4,
            anneal: false,
            adam_epsilon: 1e-5,
            gamma: 0.99,
            gae_lambda: 0.95,
            clip_range: 0.2,
            clip_range_value: None,
            entropy_coefficient: 0.0,
            value_coefficient: 0.5,
            max_gradient_norm: 0.5,
            target_kl: None,
            normalize_advantage: true,
            hidden: vec![64, 64],
            restart_rollouts: 0,
        }
    }

    fn validate(&self) -> Result<(), LearnError> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let share = |x: f64| (0.0..=1.0).contains(&x);
        let weight = |x: f64| x >= 0.0 && x.is_finite();
        let above = "a finite number above 0";
        let between = "a number from 0 to 1";
        let least = "a finite number of at least 0";
        require(self.rollout_steps > 0, "rollout_steps", self.rollout_steps, "at least 1")?;
        require(self.minibatch > 0, "minibatch", self.minibatch, "at least 1")?;
        require(self.epochs > 0, "epochs", self.epochs, "at least 1")?;
        require(positive(self.learning_rate), "learning_rate", self.learning_rate, above)?;
        require(positive(self.adam_epsilon), "adam_epsilon", self.adam_epsilon, above)?;
        require(share(self.gamma), "gamma", self.gamma, between)?;
        require(share(self.gae_lambda), "gae_lambda", self.gae_lambda, between)?;
        require(positive(self.clip_range), "clip_range", self.clip_range, above)?;
        let value = self.clip_range_value.unwrap_or(1.0);
        require(positive(value), "clip_range_value", value, above)?;
        require(weight(self.entropy_coefficient), "entropy_coefficient", self.entropy_coefficient, least)?;
        require(weight(self.value_coefficient), "value_coefficient", self.value_coefficient, least)?;
        require(positive(self.max_gradient_norm), "max_gradient_norm", self.max_gradient_norm, above)?;
        let kl = self.target_kl.unwrap_or(1.0);
        require(positive(kl), "target_kl", kl, above)?;
        let width = self.hidden.iter().copied().min().unwrap_or(1);
        require(width > 0, "hidden", width, "layers of at least 1")
    }
}

/// What one iteration (rollout and update) was like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Iterations so far, this one included.
    pub iteration: u64,
    /// Decisions so far.
    pub steps: u64,
    /// What the rollout was like.
    pub play: Report,
    /// Mean entropy of the policy over the update, nats.
    pub entropy: f64,
    /// How far the policy moved: mean of (ratio - 1) - log ratio over the last epoch, nats.
    pub kl: f64,
    /// Share of the samples whose ratio was outside the clip range.
    pub clip_fraction: f64,
    /// Mean clipped objective, negated.
    pub policy_loss: f64,
    /// Mean squared error of the critic.
    pub value_loss: f64,
    /// 1 - Var(returns - V) / Var(returns) in the rollout; `None` if the returns do not vary.
    pub explained_variance: Option<f64>,
    /// Mean norm of the gradient before it was clipped.
    pub gradient_norm: f64,
    /// Steps of the optimiser in this update.
    pub updates: u64,
}

/// A training: the networks, the optimiser, the random streams and the curve so far.
#[derive(Clone, Debug)]
pub struct Learner {
    /// The configuration.
    pub config: PpoConfig,
    /// The seed.
    pub seed: Seed,
    /// pi_theta: from the observation to 2 N logits.
    pub actor: Mlp,
    /// V_phi.
    pub critic: Mlp,
    /// theta, then phi.
    pub parameters: Vec<f32>,
    /// The optimiser of both.
    pub adam: Adam,
    /// Decisions so far.
    pub steps: u64,
    /// One entry for each iteration.
    pub curve: Vec<Progress>,
    pub(crate) nodes: usize,
    pub(crate) actions: Draw,
    pub(crate) order: Draw,
    tally: Tally,
    /// Whether the environments still stand where the last rollout stopped.
    pub(crate) running: bool,
    rollout: Rollout,
    update: Update,
}

impl Learner {
    /// Before the first step: orthogonal weights, gain 0.01 for the last layer of the actor, so that the first policy is
    /// nearly uniform, and 1 for the critic's.
    ///
    /// # Errors
    /// A configuration that makes no sense.
    pub fn new(config: &PpoConfig, width: usize, nodes: usize, seed: Seed) -> Result<Learner, LearnError> {
        config.validate()?;
        let mlp = |outputs| Mlp {
            inputs: width,
            hidden: config.hidden.clone(),
            outputs,
            activation: Activation::Tanh,
        };
        let (actor, critic) = (mlp(2 * nodes), mlp(1));
        let mut draw = Draw::new(seed.derive("init", 0));
        let mut parameters = actor.orthogonal(0.01, &mut draw);
        parameters.extend(critic.orthogonal(1.0, &mut draw));
        Ok(Learner {
            config: config.clone(),
            seed,
            adam: Adam::new(parameters.len()),
            actor,
            critic,
            parameters,
            steps: 0,
            curve: Vec::new(),
            nodes,
            actions: Draw::new(seed.derive("actions", 0)),
            order: Draw::new(seed.derive("order", 0)),
            tally: Tally::default(),
            running: false,
            rollout: Rollout::default(),
            update: Update::default(),
        })
    }

    /// Goes on until `total_steps`.
    ///
    /// # Errors
    /// See [`iterate`](Self::iterate).
    pub fn learn<E: Env>(
        &mut self,
        envs: &mut [E],
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(), LearnError> {
        while self.steps < self.config.total_steps {
            progress(self.iterate(envs)?);
        }
        Ok(())
    }

    /// One episode of Algorithm 1: a rollout and an update.
    ///
    /// # Errors
    /// No environments, some that do not fit, what they say, or a number that is not finite.
    pub fn iterate<E: Env>(&mut self, envs: &mut [E]) -> Result<&Progress, LearnError> {
        self.restart(envs)?;
        let mut progress = self.collect(envs)?; // Line 3: collect trajectories with the current policy.
        self.rollout.estimate(&self.config); // Lines 4 and 5: rewards-to-go and advantages.
        progress.explained_variance = self.rollout.explained_variance();
        self.improve(&mut progress)?; // Lines 6 and 7: gradient ascent on Eq. (13), regression of V_phi.
        self.curve.push(progress);
        Ok(&self.curve[self.curve.len() - 1])
    }

    /// What is put to work: the actor.
    pub fn network(&self) -> Network {
        let parameters = self.parameters[..self.actor.parameters()].to_vec();
        Network { mlp: self.actor.clone(), parameters, head: Head::Policy, nodes: self.nodes }
    }

    /// Begins the environments anew at the first iteration, after a resumption and where the configuration says so.
    fn restart<E: Env>(&mut self, envs: &mut [E]) -> Result<(), LearnError> {
        fit(envs, (self.actor.inputs, self.nodes))?;
        let done = self.curve.len() as u64;
        let every = self.config.restart_rollouts;
        let due = every > 0 && done.is_multiple_of(every);
        if self.running && !due && self.tally.envs() == envs.len() {
            return Ok(());
        }
        let segment = done.checked_div(every).unwrap_or(done);
        let count = envs.len() as u64;
        for (index, env) in (0..).zip(envs.iter_mut()) {
            env.restart(segment * count + index)?;
        }
        self.tally.restart(envs.len());
        self.running = true;
        Ok(())
    }

    /// Plays `rollout_steps` decisions in every environment.
    fn collect<E: Env>(&mut self, envs: &mut [E]) -> Result<Progress, LearnError> {
        let Learner { config, actor, critic, parameters, rollout, nodes, .. } = self;
        let nodes = *nodes;
        let (theta, phi) = parameters.split_at(actor.parameters());
        rollout.clear(envs.len(), actor.inputs, nodes);
        let mut scratch = vec![0.0; actor.scratch()];
        let mut value_scratch = vec![0.0; critic.scratch()];
        let mut weights = vec![0.0; nodes];
        let mut mask = Mask::closed(nodes);
        let mut terminal = vec![0.0; actor.inputs];
        for _ in 0..config.rollout_steps {
            for (index, env) in envs.iter_mut().enumerate() {
                let observation = rollout.push_observation(|out| env.observe(out));
                if !all_finite(observation) {
                    return Err(LearnError::NotFinite { what: "an observation", steps: self.steps });
                }
                env.mask(&mut mask);
                let value = critic.forward(phi, observation, &mut value_scratch)[0];
                let logits = actor.forward(theta, observation, &mut scratch);
                if !all_finite(logits) || !value.is_finite() {
                    return Err(LearnError::NotFinite { what: "an output", steps: self.steps });
                }
                let row = Row::new(logits, mask.open(), &mut weights)
                    .ok_or(LearnError::Closed { index, steps: self.steps })?;
                let action = row.sample(self.actions.unit(), self.actions.unit());
                let log_prob = row.log_prob(action);
                let step = env.step(action)?;
                if !step.reward.is_finite() {
                    return Err(LearnError::NotFinite { what: "a reward", steps: self.steps });
                }
                self.steps += 1;
                self.tally.count(index, &step);
                let mut reward = step.reward;
                if step.end == Some(End::Truncated) {
                    // The episode was cut off, the return is not: the value of the state reached stands for the rest.
                    env.observe(&mut terminal);
                    let rest = critic.forward(phi, &terminal, &mut value_scratch)[0];
                    reward += config.gamma * f64::from(rest);
                }
                if step.end.is_some() {
                    env.reset()?;
                }
                rollout.push(&mask, action, log_prob, value, reward, step.end.is_some());
            }
        }
        for env in envs.iter() {
            env.observe(&mut terminal);
            rollout.last_values.push(critic.forward(phi, &terminal, &mut value_scratch)[0]);
        }
        Ok(Progress {
            iteration: self.curve.len() as u64 + 1,
            steps: self.steps,
            play: self.tally.report(),
            entropy: 0.0,
            kl: 0.0,
            clip_fraction: 0.0,
            policy_loss: 0.0,
            value_loss: 0.0,
            explained_variance: None,
            gradient_norm: 0.0,
            updates: 0,
        })
    }

    /// `epochs` times through the rollout in random order, one optimiser step for each mini-batch.
    fn improve(&mut self, progress: &mut Progress) -> Result<(), LearnError> {
        let Learner { config, actor, critic, parameters, adam, rollout, update, order, .. } = self;
        let left = (1.0 - (self.steps as f64 / config.total_steps.max(1) as f64)).max(0.0);
        let rates = Rates {
            learning_rate: config.learning_rate * if config.anneal { left } else { 1.0 },
            beta1: 0.9,
            beta2: 0.999,
            epsilon: config.adam_epsilon,
        };
        let mut rows: Vec<usize> = (0..rollout.len()).collect();
        let mut total = Losses::default();
        let mut batches = 0.0;
        let (mut norms, mut kl, mut kl_batches) = (0.0, 0.0, 0.0);
        'update: for _ in 0..config.epochs {
            order.shuffle(&mut rows);
            (kl, kl_batches) = (0.0, 0.0);
            for chosen in rows.chunks(config.minibatch) {
                let losses = update.gradient(config, (actor, critic), parameters, rollout, chosen);
                batches += 1.0;
                kl += losses.kl;
                kl_batches += 1.0;
                total.add(&losses);
                if config.target_kl.is_some_and(|target| losses.kl > 1.5 * target) {
                    break 'update;
                }
                let norm = clip_norm(&mut update.gradient, config.max_gradient_norm);
                if !norm.is_finite() || !losses.policy.is_finite() || !losses.value.is_finite() {
                    return Err(LearnError::NotFinite { what: "a loss or its gradient", steps: self.steps });
                }
                norms += norm;
                progress.updates += 1;
                adam.step(&rates, parameters, &update.gradient);
            }
        }
        progress.policy_loss = total.policy / batches;
        progress.value_loss = total.value / batches;
        progress.entropy = total.entropy / batches;
        progress.clip_fraction = total.clipped / batches;
        progress.kl = kl / kl_batches;
        progress.gradient_norm = norms / progress.updates.max(1) as f64;
        Ok(())
    }
}

/// What a rollout saw and did; row t E + e is step t of environment e of E.
#[derive(Clone, Debug, Default)]
struct Rollout {
    envs: usize,
    width: usize,
    nodes: usize,
    observations: Vec<f32>,
    new: Vec<bool>,
    reuse: Vec<bool>,
    actions: Vec<Action>,
    log_probs: Vec<f32>,
    values: Vec<f32>,
    rewards: Vec<f64>,
    ends: Vec<bool>,
    last_values: Vec<f32>,
    /// A(t).
    advantages: Vec<f32>,
    /// What V_phi is fitted to.
    targets: Vec<f32>,
}

impl Rollout {
    fn clear(&mut self, envs: usize, width: usize, nodes: usize) {
        (self.envs, self.width, self.nodes) = (envs, width, nodes);
        self.observations.clear();
        self.new.clear();
        self.reuse.clear();
        self.actions.clear();
        self.log_probs.clear();
        self.values.clear();
        self.rewards.clear();
        self.ends.clear();
        self.last_values.clear();
    }

    fn push_observation(&mut self, write: impl FnOnce(&mut [f32])) -> &[f32] {
        let start = self.observations.len();
        self.observations.resize(start + self.width, 0.0);
        write(&mut self.observations[start..]);
        &self.observations[start..]
    }

    fn push(&mut self, mask: &Mask, action: Action, log_prob: f32, value: f32, reward: f64, end: bool) {
        self.new.extend_from_slice(&mask.new);
        self.reuse.extend_from_slice(&mask.reuse);
        self.actions.push(action);
        self.log_probs.push(log_prob);
        self.values.push(value);
        self.rewards.push(reward);
        self.ends.push(end);
    }

    fn len(&self) -> usize {
        self.actions.len()
    }

    fn observation(&self, row: usize) -> &[f32] {
        &self.observations[row * self.width..][..self.width]
    }

    fn mask(&self, row: usize) -> Open<'_> {
        let at = row * self.nodes;
        Open { new: &self.new[at..][..self.nodes], reuse: &self.reuse[at..][..self.nodes] }
    }

    /// Advantages, and returns = advantages + values.
    fn estimate(&mut self, config: &PpoConfig) {
        let length = self.len();
        self.advantages.resize(length, 0.0);
        self.targets.resize(length, 0.0);
        for env in 0..self.envs {
            let rows = (env..length).step_by(self.envs);
            let rewards: Vec<f64> = rows.clone().map(|row| self.rewards[row]).collect();
            let values: Vec<f64> = rows.clone().map(|row| f64::from(self.values[row])).collect();
            let ends: Vec<bool> = rows.clone().map(|row| self.ends[row]).collect();
            let last = f64::from(self.last_values[env]);
            let advantages = gae(&rewards, &values, &ends, last, config.gamma, config.gae_lambda);
            for ((row, advantage), value) in rows.zip(advantages).zip(values) {
                self.advantages[row] = advantage as f32;
                self.targets[row] = (advantage + value) as f32;
            }
        }
    }

    fn explained_variance(&self) -> Option<f64> {
        let variance = |numbers: &mut dyn Iterator<Item = f64>| {
            let numbers: Vec<f64> = numbers.collect();
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / numbers.len() as f64
        };
        let all = variance(&mut self.targets.iter().map(|&x| f64::from(x)));
        let rest =
            variance(&mut self.targets.iter().zip(&self.values).map(|(t, v)| f64::from(*t) - f64::from(*v)));
        (all > 0.0).then(|| 1.0 - rest / all)
    }
}

/// Generalised advantage estimation (Schulman et al., 2016):
/// A(t) = delta(t) + gamma lambda A(t + 1) with delta(t) = r(t) + gamma V(t + 1) - V(t), and neither A nor V taken from
/// beyond the end of an episode. lambda = 0 is Eq. (14) of the paper; with lambda = 1, A(t) + V(t) is the rewards-to-go.
/// `last` is the value of the state after the last step. A truncated episode counts as ended; its last reward must
/// contain gamma V(state reached) already.
///
/// ```
/// use scale_agents::ppo::gae;
/// // Two steps of reward 1, gamma 1/2, the episode goes on into a state of value 4.
/// let (rewards, values) = ([1.0, 1.0], [2.0, 3.0]);
/// // delta = (1 + 3/2 - 2, 1 + 4/2 - 3) = (1/2, 0).
/// assert_eq!(gae(&rewards, &values, &[false, false], 4.0, 0.5, 0.0), [0.5, 0.0]);
/// // Rewards-to-go: 1 + 1/2 (1 + 4/2) = 5/2 and 1 + 4/2 = 3.
/// assert_eq!(gae(&rewards, &values, &[false, false], 4.0, 0.5, 1.0), [2.5 - 2.0, 3.0 - 3.0]);
/// // The first step ends an episode: nothing flows back to it.
/// assert_eq!(gae(&rewards, &values, &[true, false], 4.0, 0.5, 1.0), [1.0 - 2.0, 0.0]);
/// ```
pub fn gae(rewards: &[f64], values: &[f64], ends: &[bool], last: f64, gamma: f64, lambda: f64) -> Vec<f64> {
    let mut advantages = vec![0.0; rewards.len()];
    let (mut next_value, mut next_advantage) = (last, 0.0);
    for t in (0..rewards.len()).rev() {
        let (after, carried) = if ends[t] { (0.0, 0.0) } else { (next_value, next_advantage) };
        let delta = rewards[t] + gamma * after - values[t];
        advantages[t] = delta + gamma * lambda * carried;
        (next_value, next_advantage) = (values[t], advantages[t]);
    }
    advantages
}

/// Means over a mini-batch.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    policy: f64,
    value: f64,
    entropy: f64,
    kl: f64,
    clipped: f64,
}

impl Losses {
    fn add(&mut self, other: &Losses) {
        self.policy += other.policy;
        self.value += other.value;
        self.entropy += other.entropy;
        self.kl += other.kl;
        self.clipped += other.clipped;
    }
}

/// Buffers of an update, and the gradient that it leaves.
#[derive(Clone, Debug, Default)]
struct Update {
    input: Vec<f32>,
    actor: Pass,
    critic: Pass,
    weights: Vec<f32>,
    /// Of theta, then of phi.
    gradient: Vec<f32>,
}

impl Update {
    /// The gradient of
    /// -mean(min(r A, clip(r, 1 - epsilon, 1 + epsilon) A)) - c_H mean(H) + c_V mean((V - target)^2)
    /// over the chosen rows, Eqs. (12) and (13) with r the ratio of new to old probability. Left in `gradient`.
    fn gradient(
        &mut self,
        config: &PpoConfig,
        (actor, critic): (&Mlp, &Mlp),
        parameters: &[f32],
        rollout: &Rollout,
        chosen: &[usize],
    ) -> Losses {
        let (theta, phi) = parameters.split_at(actor.parameters());
        self.input.clear();
        for &row in chosen {
            self.input.extend_from_slice(rollout.observation(row));
        }
        self.gradient.resize(parameters.len(), 0.0);
        let mut losses = Losses::default();
        self.of_actor(config, actor, theta, rollout, chosen, &mut losses);
        self.of_critic(config, critic, phi, rollout, chosen, &mut losses);
        let n = chosen.len() as f64;
        Losses {
            policy: losses.policy / n,
            value: losses.value / n,
            entropy: losses.entropy / n,
            kl: losses.kl / n,
            clipped: losses.clipped / n,
        }
    }

    /// The part by theta: objective and entropy. Their sums are added to the losses.
    fn of_actor(
        &mut self,
        config: &PpoConfig,
        actor: &Mlp,
        theta: &[f32],
        rollout: &Rollout,
        chosen: &[usize],
        losses: &mut Losses,
    ) {
        let (count, nodes) = (chosen.len(), rollout.nodes);
        self.weights.resize(nodes, 0.0);
        self.actor.forward(actor, theta, &self.input, count);
        let (logits, back) = self.actor.ends();
        let (mean, deviation) = match config.normalize_advantage && count > 1 {
            true => standard(chosen.iter().map(|&row| f64::from(rollout.advantages[row]))),
            false => (0.0, 1.0),
        };
        let pairs = logits.chunks_exact(2 * nodes).zip(back.chunks_exact_mut(2 * nodes));
        for (&row, (logits, back)) in chosen.iter().zip(pairs) {
            let Some(policy) = Row::new(logits, rollout.mask(row), &mut self.weights) else {
                back.fill(0.0);
                continue;
            };
            let advantage = (f64::from(rollout.advantages[row]) - mean) / deviation;
            let action = rollout.actions[row];
            let log_ratio = f64::from(policy.log_prob(action)) - f64::from(rollout.log_probs[row]);
            let surrogate = Surrogate::of(log_ratio, advantage, config.clip_range);
            losses.policy -= surrogate.value;
            losses.kl += log_ratio.exp() - 1.0 - log_ratio;
            losses.clipped += f64::from(u8::from(surrogate.clipped));
            losses.entropy += f64::from(policy.entropy());
            let share = 1.0 / count as f64;
            let for_log_prob = -surrogate.slope * share;
            policy.gradient(action, for_log_prob as f32, -(config.entropy_coefficient * share) as f32, back);
        }
        self.actor.backward(actor, theta, &self.input, &mut self.gradient[..theta.len()]);
    }

    /// The part by phi: the critic's error. Its sum of squares is added to the losses.
    fn of_critic(
        &mut self,
        config: &PpoConfig,
        critic: &Mlp,
        phi: &[f32],
        rollout: &Rollout,
        chosen: &[usize],
        losses: &mut Losses,
    ) {
        let count = chosen.len();
        self.critic.forward(critic, phi, &self.input, count);
        let (values, back) = self.critic.ends();
        for ((&row, &value), back) in chosen.iter().zip(values).zip(back) {
            let (error, slope) = match config.clip_range_value {
                None => (value - rollout.targets[row], 1.0),
                Some(range) => {
                    // As in Stable-Baselines3: only the clipped prediction counts.
                    let (old, range) = (rollout.values[row], range as f32);
                    let moved = value - old;
                    let inside = moved.abs() <= range;
                    (old + moved.clamp(-range, range) - rollout.targets[row], f32::from(u8::from(inside)))
                }
            };
            losses.value += f64::from(error) * f64::from(error);
            *back = (config.value_coefficient * 2.0 / count as f64) as f32 * error * slope;
        }
        let theta = self.gradient.len() - phi.len();
        self.critic.backward(critic, phi, &self.input, &mut self.gradient[theta..]);
    }
}

/// Eq. (13) for one sample: min(r A, clip(r) A) with r = e^(log ratio), and its derivative by log r.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surrogate {
    /// The objective.
    pub value: f64,
    /// Its derivative by log pi.
    pub slope: f64,
    /// Whether the ratio is outside the clip range.
    pub clipped: bool,
}

impl Surrogate {
    /// ```
    /// use scale_agents::ppo::Surrogate;
    /// // Ratio 2, clipped to 1.2: of a good action only 1.2 A counts, and it is not pushed further.
    /// let good = Surrogate::of(2.0_f64.ln(), 1.0, 0.2);
    /// assert_eq!((good.value, good.slope, good.clipped), (1.2, 0.0, true));
    /// // Of a bad one all of it.
    /// let bad = Surrogate::of(2.0_f64.ln(), -1.0, 0.2);
    /// assert_eq!((bad.value, bad.slope, bad.clipped), (-2.0, -2.0, true));
    /// ```
    pub fn of(log_ratio: f64, advantage: f64, range: f64) -> Surrogate {
        let ratio = log_ratio.exp();
        let plain = ratio * advantage;
        let cut = ratio.clamp(1.0 - range, 1.0 + range) * advantage;
        let clipped = (ratio - 1.0).abs() > range;
        let slope = if plain <= cut { plain } else { 0.0 };
        Surrogate { value: plain.min(cut), slope, clipped }
    }
}

/// Mean, and standard deviation (with n - 1) plus 10^-8.
fn standard(numbers: impl ExactSizeIterator<Item = f64> + Clone) -> (f64, f64) {
    let n = numbers.len() as f64;
    let mean = numbers.clone().sum::<f64>() / n;
    let square = numbers.map(|x| (x - mean) * (x - mean)).sum::<f64>();
    (mean, (square / (n - 1.0)).sqrt() + 1e-8)
}

#[cfg(all(test, feature = "candle"))]
mod tests {
    use super::*;
    use crate::autograd::{log_prob_and_entropy, tensors};
    use crate::env::Step;
    use candle_core::{Device, Tensor, Var};
    use proptest::prelude::*;

    /// Random observations and masks; every `length` steps an episode ends, by turns cut off and for good.
    struct Noise {
        draw: Draw,
        width: usize,
        nodes: usize,
        length: u64,
        steps: u64,
        now: Vec<f32>,
        mask: Mask,
    }

    impl Noise {
        fn new(width: usize, nodes: usize, length: u64, seed: u64) -> Noise {
            let (draw, mask) = (Draw::new(Seed(seed)), Mask::closed(nodes));
            let mut noise = Noise { draw, width, nodes, length, steps: 0, now: vec![0.0; width], mask };
            noise.next();
            noise
        }

        fn next(&mut self) {
            self.now.iter_mut().for_each(|x| *x = self.draw.normal() as f32);
            for v in 0..self.nodes {
                self.mask.new[v] = self.draw.unit() < 0.6;
                self.mask.reuse[v] = self.draw.unit() < 0.4;
            }
            let sure = self.draw.below(self.nodes);
            self.mask.new[sure] = true;
        }
    }

    impl Env for Noise {
        fn width(&self) -> usize {
            self.width
        }
        fn nodes(&self) -> usize {
            self.nodes
        }
        fn restart(&mut self, index: u64) -> Result<(), LearnError> {
            *self = Noise::new(self.width, self.nodes, self.length, index);
            Ok(())
        }
        fn reset(&mut self) -> Result<(), LearnError> {
            self.next();
            Ok(())
        }
        fn observe(&self, out: &mut [f32]) {
            out.copy_from_slice(&self.now);
        }
        fn mask(&self, mask: &mut Mask) {
            mask.clone_from(&self.mask);
        }
        fn step(&mut self, action: Action) -> Result<Step, LearnError> {
            assert!(self.mask.open().allows(action), "an invalid action");
            let reward = self.draw.normal() + f64::from(self.now[0]);
            self.next();
            self.steps += 1;
            let ends = self.steps.is_multiple_of(self.length);
            let odd = (self.steps / self.length) % 2 == 1;
            let end = ends.then_some(if odd { End::Truncated } else { End::Terminated });
            Ok(Step { reward, end, latency_ms: 0.0, late: false })
        }
    }

    fn small() -> PpoConfig {
        PpoConfig { rollout_steps: 32, minibatch: 16, epochs: 2, hidden: vec![8, 8], ..PpoConfig::paper(256) }
    }

    /// The whole loss in candle, by its formula, against the gradient by hand, to 1e-5; after some updates, so that ratios
    /// are not 1 and some are clipped.
    fn check_gradient(config: &PpoConfig, seed: u64) {
        let mut envs = [Noise::new(7, 5, 9, 1), Noise::new(7, 5, 9, 2)];
        let mut learner = Learner::new(config, 7, 5, Seed(seed)).expect("it makes sense");
        // Larger steps than usual, to leave the clip range.
        learner.config.learning_rate = 0.02;
        learner.iterate(&mut envs).expect("it learns");
        let Learner { actor, critic, parameters, rollout, update, .. } = &mut learner;
        let chosen: Vec<usize> = (0..rollout.len()).step_by(3).collect();
        let losses = update.gradient(config, (actor, critic), parameters, rollout, &chosen);
        assert!(losses.kl > 1e-4, "the policy has moved: {}", losses.kl);

        let loss = |flat: &Tensor| -> candle_core::Result<Tensor> {
            let device = Device::Cpu;
            let count = chosen.len();
            let input: Vec<f32> =
                chosen.iter().flat_map(|&row| rollout.observation(row).iter().copied()).collect();
            let input = Tensor::from_vec(input, (count, 7), &device)?;
            let column = |of: &dyn Fn(usize) -> f32| -> candle_core::Result<Tensor> {
                Tensor::from_vec(chosen.iter().map(|&row| of(row)).collect::<Vec<_>>(), count, &device)
            };
            let theta = flat.narrow(0, 0, actor.parameters())?;
            let phi = flat.narrow(0, actor.parameters(), critic.parameters())?;
            let logits = actor.candle(&theta, &input)?;
            let rows: Vec<_> = chosen.iter().map(|&row| (rollout.mask(row), rollout.actions[row])).collect();
            let [new, reuse, nodes, containers] = tensors(&rows, &device)?;
            let (log_prob, entropy) = log_prob_and_entropy(
                &logits.narrow(1, 0, 5)?,
                &logits.narrow(1, 5, 5)?,
                &new,
                &reuse,
                &nodes,
                &containers,
            )?;
            let advantage = column(&|row| rollout.advantages[row])?;
            let advantage = match config.normalize_advantage {
                false => advantage,
                true => {
                    let centred = advantage.broadcast_sub(&advantage.mean_all()?)?;
                    let variance = (centred.sqr()?.sum_all()? / (count as f64 - 1.0))?;
                    centred.broadcast_div(&(variance.sqrt()? + 1e-8)?)?
                }
            };
            let ratio = (log_prob - column(&|row| rollout.log_probs[row])?)?.exp()?;
            let cut = ratio.clamp(1.0 - config.clip_range, 1.0 + config.clip_range)?;
            let surrogate = (&ratio * &advantage)?.minimum(&(cut * &advantage)?)?;
            let value = critic.candle(&phi, &input)?.squeeze(1)?;
            let value = match config.clip_range_value {
                None => value,
                Some(range) => {
                    let old = column(&|row| rollout.values[row])?;
                    (&old + (value - &old)?.clamp(-range, range)?)?
                }
            };
            let error = (value - column(&|row| rollout.targets[row])?)?.sqr()?.mean_all()?;
            let policy = surrogate.mean_all()?.neg()?;
            ((policy - (entropy.mean_all()? * config.entropy_coefficient)?)?
                + (error * config.value_coefficient)?)?
                .sum_all()
        };
        let variable = Var::from_slice(parameters, parameters.len(), &Device::Cpu).expect("a variable");
        let store = loss(&variable).and_then(|loss| loss.backward()).expect("candle computes");
        let gradient = store.get(&variable).expect("a gradient reaches every parameter");
        let gradient: Vec<f32> = gradient.to_vec1().expect("one row");
        let size = gradient.iter().fold(1.0_f32, |most, g| most.max(g.abs()));
        for (index, (own, candle)) in update.gradient.iter().zip(&gradient).enumerate() {
            assert!((own - candle).abs() < 1e-5 * size, "{index}: {own} and {candle}");
        }
    }

    #[test]
    fn the_gradient_of_the_whole_loss_equals_candle() {
        for seed in 0..5 {
            check_gradient(&small(), seed);
            check_gradient(&PpoConfig { entropy_coefficient: 0.1, ..small() }, seed);
            check_gradient(&PpoConfig { normalize_advantage: false, ..small() }, seed);
            check_gradient(&PpoConfig { clip_range_value: Some(0.1), ..small() }, seed);
        }
    }

    /// Row 3 of the bug table (sb3-contrib#195, #247): the log-probability of the rollout is that of the update. Row by
    /// row, before anything has moved.
    #[test]
    fn bug_03_the_ratio_is_one_in_the_first_epoch() {
        let mut envs = [Noise::new(20, 50, 9, 1)];
        let mut learner = Learner::new(&small(), 20, 50, Seed(3)).expect("it makes sense");
        // Not nearly uniform, as the first policy is.
        learner.parameters.iter_mut().for_each(|p| *p *= 1.5);
        learner.restart(&mut envs).expect("it restarts");
        learner.collect(&mut envs).expect("it plays");
        learner.rollout.estimate(&learner.config);
        let Learner { config, actor, critic, parameters, rollout, update, .. } = &mut learner;
        for row in 0..rollout.len() {
            let losses = update.gradient(config, (actor, critic), parameters, rollout, &[row]);
            // kl = (r - 1) - log r = (r - 1)^2 / 2 near 1.
            assert!(losses.kl.abs() < 0.5e-12, "row {row}: {}", losses.kl);
            assert_eq!(losses.clipped, 0.0);
        }
    }

    /// The return of the definition: the discounted sum up to the end of the episode, and the value beyond.
    fn rewards_to_go(rewards: &[f64], ends: &[bool], last: f64, gamma: f64) -> Vec<f64> {
        let tail = |t: usize| {
            let end = (t..rewards.len()).find(|&k| ends[k]);
            let until = end.unwrap_or(rewards.len() - 1);
            let sum: f64 = (t..=until).map(|k| gamma.powi((k - t) as i32) * rewards[k]).sum();
            sum + if end.is_none() { gamma.powi((rewards.len() - t) as i32) * last } else { 0.0 }
        };
        (0..rewards.len()).map(tail).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Rows 13 and 14 (rlevo#170, #342, cleanrl#198): GAE against its three closed forms: lambda = 1 is the rewards-to-go,
        /// lambda = 0 Eq. (14), and in between the weighted mean of all n-step advantages.
        #[test]
        fn bug_13_gae_equals_its_closed_forms(
            steps in prop::collection::vec((-2.0..2.0_f64, -2.0..2.0_f64, prop::bool::weighted(0.2)), 1..30),
            last in -2.0..2.0_f64, gamma in 0.0..1.0_f64, lambda in 0.0..0.99_f64,
        ) {
            let rewards: Vec<f64> = steps.iter().map(|step| step.0).collect();
            let values: Vec<f64> = steps.iter().map(|step| step.1).collect();
            let ends: Vec<bool> = steps.iter().map(|step| step.2).collect();
            let n = steps.len();
            let go = rewards_to_go(&rewards, &ends, last, gamma);
            for (t, advantage) in gae(&rewards, &values, &ends, last, gamma, 1.0).into_iter().enumerate() {
                prop_assert!((advantage - (go[t] - values[t])).abs() < 1e-9);
            }
            let value = |t: usize| if t < n { values[t] } else { last };
            for (t, advantage) in gae(&rewards, &values, &ends, last, gamma, 0.0).into_iter().enumerate() {
                let after = if ends[t] { 0.0 } else { gamma * value(t + 1) };
                prop_assert!((advantage - (rewards[t] + after - values[t])).abs() < 1e-12);
            }
            for (t, advantage) in gae(&rewards, &values, &ends, last, gamma, lambda).into_iter().enumerate() {
                // The horizon: the end of the episode, or of the rollout.
                let m = (t..n).find(|&k| ends[k]).map_or(n, |k| k + 1) - t;
                let n_step = |k: usize| {
                    let sum: f64 = (0..k).map(|i| gamma.powi(i as i32) * rewards[t + i]).sum();
                    let rest = if ends[t + k - 1] { 0.0 } else { gamma.powi(k as i32) * value(t + k) };
                    sum + rest - values[t]
                };
                let mixed: f64 = (1..m).map(|k| (1.0 - lambda) * lambda.powi(k as i32 - 1) * n_step(k)).sum();
                let exact = mixed + lambda.powi(m as i32 - 1) * n_step(m);
                prop_assert!((advantage - exact).abs() < 1e-9, "{t}: {advantage} and {exact}");
            }
        }
    }

    /// Row 14 (cleanrl#198, EmbodiChain#610): where an episode is cut off, the value of the state *reached* is added.
    #[test]
    fn bug_14_a_truncated_return_goes_on_from_the_state_reached() {
        let config = PpoConfig { rollout_steps: 20, gamma: 0.9, ..small() };
        let mut envs = [Noise::new(4, 3, 5, 0)];
        let mut learner = Learner::new(&config, 4, 3, Seed(1)).expect("it makes sense");
        learner.restart(&mut envs).expect("it restarts");
        learner.collect(&mut envs).expect("it plays");
        // The same again by hand: the environment draws the same numbers whatever is done in it.
        let mut twin = Noise::new(4, 3, 5, 0);
        twin.restart(0).expect("it restarts");
        let phi = &learner.parameters[learner.actor.parameters()..];
        let mut scratch = vec![0.0; learner.critic.scratch()];
        let (mut cut, mut ended) = (0, 0);
        for row in 0..20 {
            let action = learner.rollout.actions[row];
            let step = twin.step(action).expect("it is valid");
            let reached = twin.now.clone();
            let value = f64::from(learner.critic.forward(phi, &reached, &mut scratch)[0]);
            let expected = match step.end {
                Some(End::Truncated) => step.reward + 0.9 * value,
                _ => step.reward,
            };
            cut += usize::from(step.end == Some(End::Truncated));
            ended += usize::from(step.end == Some(End::Terminated));
            assert_eq!(learner.rollout.rewards[row], expected);
            assert_eq!(learner.rollout.ends[row], step.end.is_some());
            if step.end.is_some() {
                twin.reset().expect("it resets");
            }
        }
        assert_eq!((cut, ended), (2, 2));
    }

    /// Row 15 (SB3#325, #440): a last mini-batch of one sample has no standard deviation.
    #[test]
    fn bug_15_a_last_mini_batch_of_one_does_no_harm() {
        let config = PpoConfig { rollout_steps: 33, minibatch: 16, total_steps: 99, ..small() };
        let mut envs = [Noise::new(4, 3, 5, 0)];
        let learner = train(&config, &mut envs, Seed(1), &mut |_| ()).expect("it learns");
        assert!(all_finite(&learner.parameters));
        assert_eq!(learner.curve[0].updates, 3 * 2);
    }

    /// Row 8 (sb3-contrib#221): advantages that do not vary give a step of 0, not NaN.
    #[test]
    fn bug_08_equal_advantages_do_no_harm() {
        let (mean, deviation) = standard([2.0, 2.0, 2.0].into_iter());
        assert_eq!(((2.0 - mean) / deviation, deviation), (0.0, 1e-8));
    }

    /// Row 20 (candle#3752, #3011): every parameter of actor and critic gets a gradient and moves.
    #[test]
    fn bug_20_every_parameter_moves() {
        let mut envs = [Noise::new(7, 5, 9, 1)];
        // Long enough that every node is chosen where both of its containers are open.
        let config = PpoConfig { rollout_steps: 256, ..small() };
        let mut learner = Learner::new(&config, 7, 5, Seed(1)).expect("it makes sense");
        let before = learner.parameters.clone();
        learner.iterate(&mut envs).expect("it learns");
        let still = before.iter().zip(&learner.parameters).filter(|(a, b)| a == b).count();
        assert_eq!(still, 0, "of {} parameters", before.len());
    }

    #[test]
    fn a_kl_target_ends_the_update_before_the_step() {
        let config = PpoConfig { target_kl: Some(1e-9), epochs: 5, ..small() };
        let mut learner = Learner::new(&config, 7, 5, Seed(1)).expect("it makes sense");
        let progress = learner.iterate(&mut [Noise::new(7, 5, 9, 1)]).expect("it learns");
        assert_eq!(progress.updates, 1, "the first step starts at KL 0, the second is too far");
    }
}
