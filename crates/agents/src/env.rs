//! The environment: `reset`, `step`, `mask`, as Gym has them, around the simulator itself. [`SimEnv`] plays training days;
//! anything else that a learner is tried on implements [`Env`].
//!
//! One step is one decision of the agent. Who has no room anywhere is not put to it: the request is deferred, as it is in
//! [`simulate`](mod@scale_sim::simulate).

use crate::error::{LearnError, require};
use crate::observe::{self, Action, Mask, Reward};
use scale_model::{Decision, Platform, Workload};
use scale_sim::{SimConfig, Simulation};
use serde::{Deserialize, Serialize};

/// What a learner plays.
pub trait Env {
    /// Length of an observation.
    fn width(&self) -> usize;
    /// N: an action is a node and a container.
    fn nodes(&self) -> usize;
    /// Goes to a beginning that depends on `index` alone, whatever was played before. It makes trainings resumable.
    ///
    /// # Errors
    /// What the environment says.
    fn restart(&mut self, index: u64) -> Result<(), LearnError>;
    /// Begins the next episode; called after a step that ended one.
    ///
    /// # Errors
    /// What the environment says.
    fn reset(&mut self) -> Result<(), LearnError>;
    /// Writes the observation. After [`End::Truncated`] it is that of the state which the episode was cut off in; after
    /// [`End::Terminated`] there is no state, and nobody asks.
    fn observe(&self, out: &mut [f32]);
    /// Writes which actions are valid; at least one is.
    fn mask(&self, mask: &mut Mask);
    /// Takes an action.
    ///
    /// # Errors
    /// What the environment says, for instance that the action is not valid.
    fn step(&mut self, action: Action) -> Result<Step, LearnError>;
}

/// What a step brings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// r(t).
    pub reward: f64,
    /// Whether the episode ends with it, and how.
    pub end: Option<End>,
    /// Latency of the request that was decided, in ms; 0 where there are no requests.
    pub latency_ms: f64,
    /// Whether it will miss its SLO.
    pub late: bool,
}

/// How an episode ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing comes after it: the return ends here.
    Terminated,
    /// It was cut off: the return goes on with the value of the state reached.
    Truncated,
}

/// What the decisions since the last report were like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Episodes that ended.
    pub episodes: u64,
    /// Their mean undiscounted return; `None` if there were none.
    pub episode_return: Option<f64>,
    /// Mean reward of a decision.
    pub reward: f64,
    /// Mean latency, ms.
    pub latency_ms: f64,
    /// Share of the decisions that miss the SLO.
    pub late_rate: f64,
}

/// Sums since the last report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tally {
    decisions: u64,
    episodes: u64,
    episode_returns: f64,
    rewards: f64,
    latency_ms: f64,
    late: u64,
    /// Returns of the unfinished episodes, one for each environment.
    returns: Vec<f64>,
}

impl Tally {
    /// The environments begin anew: nothing is unfinished.
    pub(crate) fn restart(&mut self, envs: usize) {
        self.returns = vec![0.0; envs];
    }

    pub(crate) fn envs(&self) -> usize {
        self.returns.len()
    }

    pub(crate) fn count(&mut self, env: usize, step: &Step) {
        self.decisions += 1;
        self.rewards += step.reward;
        self.latency_ms += step.latency_ms;
        self.late += u64::from(step.late);
        self.returns[env] += step.reward;
        if step.end.is_some() {
            self.episodes += 1;
            self.episode_returns += std::mem::take(&mut self.returns[env]);
        }
    }

    /// The means, and all but the unfinished episodes from the beginning.
    pub(crate) fn report(&mut self) -> Report {
        let returns = self.returns.clone();
        let sums = std::mem::replace(self, Tally { returns, ..Tally::default() });
        let count = sums.decisions.max(1) as f64;
        Report {
            episodes: sums.episodes,
            episode_return: (sums.episodes > 0).then(|| sums.episode_returns / sums.episodes as f64),
            reward: sums.rewards / count,
            latency_ms: sums.latency_ms / count,
            late_rate: sums.late as f64 / count,
        }
    }
}

/// Width and nodes that all environments share.
pub(crate) fn shape<E: Env>(envs: &[E]) -> Result<(usize, usize), LearnError> {
    let shared = envs.first().map_or((0, 0), |first| (first.width(), first.nodes()));
    fit(envs, shared)?;
    Ok(shared)
}

/// Refuses no environments at all, and any whose width and nodes are not the expected ones.
pub(crate) fn fit<E: Env>(envs: &[E], (width, nodes): (usize, usize)) -> Result<(), LearnError> {
    if envs.is_empty() {
        return Err(LearnError::Shape { index: 0, what: "environments", found: 0, expected: 1 });
    }
    for (index, env) in envs.iter().enumerate() {
        for (what, found, expected) in
            [("numbers in an observation", env.width(), width), ("nodes", env.nodes(), nodes)]
        {
            if found != expected {
                return Err(LearnError::Shape { index, what, found, expected });
            }
        }
    }
    Ok(())
}

/// A training day.
#[derive(Clone, Debug)]
pub struct Day {
    /// Nodes, links, functions.
    pub platform: Platform,
    /// The day's requests.
    pub workload: Workload,
    /// How it is played.
    pub sim: SimConfig,
}

/// Training days in the simulator, one after the other and round again.
///
/// An episode is `episode` decisions of a day and then truncated; the next goes on from there, with the containers as they
/// are, so that the agent meets the loaded cluster and not only the empty one. The last request of a day terminates.
pub struct SimEnv<'a> {
    days: &'a [Day],
    day: usize,
    simulation: Simulation<'a>,
    /// Decisions in an episode; 0: the whole day.
    episode: u64,
    steps: u64,
    reward: Reward,
    /// Whether a request waits for the agent's decision.
    at_decision: bool,
}

impl<'a> SimEnv<'a> {
    /// At the first decision of day `first % days.len()`.
    ///
    /// # Errors
    /// No day, days with different numbers of nodes, days without any decision, or what the simulator says of them.
    pub fn new(
        days: &'a [Day],
        first: usize,
        episode: u64,
        reward: Reward,
    ) -> Result<SimEnv<'a>, LearnError> {
        let unit = reward.unit.0;
        require(unit > 0.0 && unit.is_finite(), "reward.unit_ms", unit, "a finite number above 0")?;
        let Some(model) = days.first() else { return Err(LearnError::NothingToDecide { days: 0 }) };
        let expected = model.platform.topology.nodes.len();
        for (index, day) in days.iter().enumerate() {
            let found = day.platform.topology.nodes.len();
            if found != expected {
                return Err(LearnError::Shape { index, what: "nodes of the day", found, expected });
            }
        }
        let day = first % days.len();
        let mut env = SimEnv {
            days,
            day,
            simulation: start(&days[day])?,
            episode,
            steps: 0,
            reward,
            at_decision: false,
        };
        env.restart(first as u64)?;
        Ok(env)
    }

    /// Which day is played.
    pub fn day(&self) -> usize {
        self.day
    }

    /// The simulator, as far as it is.
    pub fn simulation(&self) -> &Simulation<'a> {
        &self.simulation
    }

    /// Begins the first day from `day` on that has something to decide.
    fn begin(&mut self, day: usize) -> Result<(), LearnError> {
        for offset in 0..self.days.len() {
            self.day = (day + offset) % self.days.len();
            self.simulation = start(&self.days[self.day])?;
            self.at_decision = seek(&mut self.simulation)?;
            if self.at_decision {
                return Ok(());
            }
        }
        Err(LearnError::NothingToDecide { days: self.days.len() })
    }
}

fn start(day: &Day) -> Result<Simulation<'_>, LearnError> {
    Ok(Simulation::new(&day.platform, &day.workload, day.sim)?)
}

/// Goes to the next request that some node has room for. `false`: the day is over.
fn seek(simulation: &mut Simulation<'_>) -> Result<bool, LearnError> {
    loop {
        while simulation.outcomes().len() < simulation.problem().requests.len() {
            if simulation.has_room() {
                return Ok(true);
            }
            simulation.apply(Decision::Defer)?;
        }
        // Before the first batch there is nothing to commit, and an empty one changes nothing.
        if !simulation.problem().requests.is_empty() {
            simulation.commit(&mut ());
            simulation.settle()?;
        }
        if !simulation.advance(&mut ()) {
            return Ok(false);
        }
    }
}

impl Env for SimEnv<'_> {
    fn width(&self) -> usize {
        observe::width(self.nodes())
    }

    fn nodes(&self) -> usize {
        self.days[self.day].platform.topology.nodes.len()
    }

    fn restart(&mut self, index: u64) -> Result<(), LearnError> {
        self.steps = 0;
        self.begin((index % self.days.len() as u64) as usize)
    }

    fn reset(&mut self) -> Result<(), LearnError> {
        self.steps = 0;
        if self.at_decision {
            return Ok(());
        }
        self.begin(self.day + 1)
    }

    fn observe(&self, out: &mut [f32]) {
        let next = self.simulation.outcomes().len();
        observe::observe(&self.simulation.problem(), self.simulation.state(), next, out);
    }

    fn mask(&self, mask: &mut Mask) {
        let problem = self.simulation.problem();
        let function = problem.requests[self.simulation.outcomes().len()].function;
        mask.look(problem.platform, self.simulation.state(), function);
    }

    fn step(&mut self, action: Action) -> Result<Step, LearnError> {
        self.simulation.apply(action.decision())?;
        let outcome = *self.simulation.outcomes().last().expect("a decision was just applied");
        self.at_decision = seek(&mut self.simulation)?;
        self.steps += 1;
        let end = match self.at_decision {
            false => Some(End::Terminated),
            true => (self.episode > 0 && self.steps >= self.episode).then_some(End::Truncated),
        };
        let reward = self.reward.of(&outcome.latency);
        Ok(Step { reward, end, latency_ms: outcome.latency.total().0, late: outcome.late() })
    }
}
