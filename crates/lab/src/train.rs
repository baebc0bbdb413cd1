//! Trains the agents of the roster, and keeps them: an agent is trained once for what it depends on.
//!
//! # What an agent depends on
//! Its table in `experiments/agents.toml`, the scenario that it is trained on with its data, and a training seed. The file
//! it is kept in is named after all of them, so that a change of any trains anew. A workload's seed chooses the training
//! seed: 1 + (seed - 1) mod [`SEEDS`], so that ten workloads are met by five trainings, two each, and intervals over the
//! workloads hold the spread of the trainings too.
//!
//! # Days
//! The scenario's `train_days` that have enough days before them for the warm-up. The last of them is for validation, the
//! others for training; the day that is played is never among them (the scenario refuses that). Workloads for training are
//! drawn from seeds of their own.

use crate::experiment::Experiment;
use crate::record;
use crate::roster::{self, Player};
use crate::scenario::Scenario;
use anyhow::{Context, Result, anyhow, ensure};
use rayon::prelude::*;
use scale_agents::checkpoint;
use scale_agents::dqn::{self, DqnConfig};
use scale_agents::ppo::{self, PpoConfig};
use scale_agents::scale::{self, Scale, ScaleConfig};
use scale_agents::{Agent, Day, Network, Report, Reward, SimEnv};
use scale_milp::{Formulation, Milp};
use scale_model::{Budget, Platform, Seed};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many trainings the workloads of an experiment are spread over.
pub const SEEDS: u64 = 5;
/// Counted up when the same table and seed would give another agent.
fn version(learned: Learned) -> u32 {
    match learned {
        // Who waits or is rejected costs too.
        Learned::ScaleGradient => 2,
        _ => 1,
    }
}
/// How the agents are trained.
const TABLES: &str = include_str!("../../../experiments/agents.toml");

/// An agent of the roster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Learned {
    /// The project's own.
    Scale,
    /// The same with hidden units.
    ScaleMlp,
    /// The same without what is remembered.
    ScaleBlind,
    /// The same without what is known of the batch.
    ScaleAlone,
    /// The same, trained by imitation of the optimum of every batch.
    ScaleImitation,
    /// The same, trained by the policy gradient.
    ScaleGradient,
    /// The paper's method.
    Ppo,
    /// The paper's learned baseline.
    MDqn,
}

impl Learned {
    /// Its name in the roster and in `agents.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Learned::Scale => "scale",
            Learned::ScaleMlp => "scale-mlp",
            Learned::ScaleBlind => "scale-blind",
            Learned::ScaleAlone => "scale-alone",
            Learned::ScaleImitation => "scale-imitation",
            Learned::ScaleGradient => "scale-gradient",
            Learned::Ppo => "scale-ppo",
            Learned::MDqn => "m-dqn",
        }
    }
}

/// The file `agents.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tables {
    /// The project's own.
    pub scale: Trained<ScaleConfig>,
    /// Its ablations: what differs.
    pub scale_mlp: Ablation,
    /// Without what is remembered.
    pub scale_blind: Ablation,
    /// Without what is known of the batch.
    pub scale_alone: Ablation,
    /// Trained by imitation.
    pub scale_imitation: Trained<ScaleConfig>,
    /// Trained by the policy gradient.
    pub scale_gradient: Trained<ScaleConfig>,
    /// The paper's method.
    pub scale_ppo: Trained<PpoConfig>,
    /// The paper's learned baseline.
    pub m_dqn: Trained<DqnConfig>,
}

/// How an ablation of the preset `scale` differs from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ablation {
    /// Hidden units.
    pub hidden: usize,
    /// Features that it does not see.
    pub without: Vec<String>,
}

/// What is played in training, and how it is learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trained<C> {
    /// Minutes played before anything counts; fewer where the scenario has fewer.
    pub warmup_minutes: u32,
    /// Minutes that count; fewer where the scenario has fewer.
    pub minutes: u32,
    /// Workloads drawn from each training day.
    pub workloads: u64,
    /// For learners that go step by step.
    pub steps: Option<Steps>,
    /// The learner's own configuration.
    pub learner: C,
}

/// How a learner that goes step by step meets its environments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// Environments that are played side by side.
    pub environments: usize,
    /// Decisions in an episode.
    pub episode: u64,
    /// How latency becomes reward.
    pub reward: Reward,
}

impl Tables {
    /// The tables that come with the program.
    ///
    /// # Errors
    /// A text that is not what it should be, with line and column.
    pub fn built_in() -> Result<Tables> {
        Tables::parse(TABLES)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// A text that is not what it should be, with line and column.
    pub fn parse(text: &str) -> Result<Tables> {
        toml::from_str(text).context("agents.toml")
    }

    /// The table of the preset `scale` or of one of its ablations; `None` for the other agents.
    fn scale_of(&self, learned: Learned) -> Option<Trained<ScaleConfig>> {
        let ablation = match learned {
            Learned::Scale => return Some(self.scale.clone()),
            Learned::ScaleImitation => return Some(self.scale_imitation.clone()),
            Learned::ScaleGradient => return Some(self.scale_gradient.clone()),
            Learned::ScaleMlp => &self.scale_mlp,
            Learned::ScaleBlind => &self.scale_blind,
            Learned::ScaleAlone => &self.scale_alone,
            Learned::Ppo | Learned::MDqn => return None,
        };
        let Ablation { hidden, without } = ablation.clone();
        let mut table = self.scale.clone();
        table.learner = ScaleConfig { hidden, without, ..table.learner };
        Some(table)
    }
}

/// The training seed of a workload's seed.
///
/// ```
/// use scale_lab::train::training_seed;
/// assert_eq!([1, 2, 5, 6, 10].map(training_seed), [1, 2, 5, 1, 5]);
/// ```
pub fn training_seed(seed: u64) -> u64 {
    1 + (seed.max(1) - 1) % SEEDS
}

/// What a training left: ready to make schedulers.
#[derive(Clone, Debug)]
enum Ready {
    Scale(scale_agents::scorer::Scorer),
    Network(Network),
}

/// The agents that an experiment needs, trained.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    ready: BTreeMap<(Learned, u64), Arc<Ready>>,
    /// The file of each, by agent and training seed.
    pub files: BTreeMap<(Learned, u64), PathBuf>,
}

impl Agents {
    /// No agents: for what needs none.
    pub fn none() -> Agents {
        Agents::default()
    }

    /// Trains or finds in `folder` the agents that these cells of an experiment need, as (algorithm, seed of the workload),
    /// on the scenario that the experiment says.
    ///
    /// # Errors
    /// A scenario without days to train on, or whatever keeps a training from its end.
    pub fn prepare(
        experiment: &Experiment,
        cells: &[(&str, u64)],
        folder: &Path,
        threads: usize,
    ) -> Result<Agents> {
        let wanted = wanted(cells)?;
        if wanted.is_empty() {
            return Ok(Agents::none());
        }
        let scenario = experiment.training_scenario()?;
        let school = School::new(&scenario, &Tables::built_in()?)?;
        std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build()?;
        let ready: Result<Vec<_>> = pool.install(|| {
            // Those that use all threads one after the other, the others side by side.
            let (together, apart): (Vec<_>, Vec<_>) =
                wanted.iter().partition(|(learned, _)| !matches!(learned, Learned::Ppo | Learned::MDqn));
            let one = |&&(learned, seed): &&(Learned, u64)| -> Result<_> {
                let path = school.train(learned, seed, folder)?;
                Ok(((learned, seed), load(learned, &path)?, path))
            };
            let mut ready: Vec<_> = together.iter().map(one).collect::<Result<_>>()?;
            ready.extend(apart.par_iter().map(one).collect::<Result<Vec<_>>>()?);
            Ok(ready)
        });
        let mut agents = Agents::none();
        for (key, ready, path) in ready? {
            agents.ready.insert(key, Arc::new(ready));
            agents.files.insert(key, path);
        }
        Ok(agents)
    }

    /// An agent from a file that a training wrote.
    ///
    /// # Errors
    /// A file that is not one.
    pub fn from_file(learned: Learned, path: &Path) -> Result<Agents> {
        let ready = Arc::new(load(learned, path)?);
        let ready = (1..=SEEDS).map(|seed| ((learned, seed), ready.clone())).collect();
        Ok(Agents { ready, files: BTreeMap::new() })
    }

    /// The agent that plays the workload of a seed.
    ///
    /// # Errors
    /// If it was not prepared, or was trained for another number of nodes.
    pub fn player(&self, learned: Learned, platform: &Platform, seed: u64) -> Result<Player> {
        let ready = self.ready.get(&(learned, training_seed(seed))).with_context(|| {
            format!("{}: not trained here: `scale train` makes a file, --agent names it", learned.name())
        })?;
        Ok(match ready.as_ref() {
            Ready::Scale(scorer) => Player::Solver(Box::new(Scale::new(scorer.clone())), Budget::default()),
            Ready::Network(network) => {
                let agent = Agent::new(network.clone(), platform).with_context(|| learned.name())?;
                Player::Scheduler(Box::new(agent))
            }
        })
    }
}

/// A point of a learning curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Decisions so far.
    pub decisions: u64,
    /// Mean latency: on the validation days (`scale`), of the decisions since the last point (the others), in ms.
    pub latency_ms: f64,
    /// The same for the share of requests that miss their SLO.
    pub late_rate: f64,
}

/// The learning curves of agents, one after the other: (algorithm, curve).
pub type Curves = Vec<(String, Vec<CurvePoint>)>;

/// A row of `learning.csv`.
#[derive(Serialize, Deserialize)]
struct CurveRow {
    algorithm: String,
    training_seed: u64,
    decisions: u64,
    latency_ms: f64,
    late_rate: f64,
}

fn curve_table(out: &Path, experiment: &Experiment) -> PathBuf {
    record::folder(out, &experiment.name).join("learning.csv")
}

/// The learning curves of the agents that an experiment names, recorded as `learning.csv` beside its cells: read there, or
/// taken from the agents.
///
/// # Errors
/// As [`Agents::prepare`], or a table that cannot be read or written.
pub fn curves(experiment: &Experiment, out: &Path, threads: usize) -> Result<Curves> {
    let path = curve_table(out, experiment);
    if path.exists() {
        return recorded_curves(experiment, out);
    }
    let cells: Vec<(&str, u64)> = experiment
        .algorithms
        .iter()
        .flat_map(|name| experiment.seeds.iter().map(move |&seed| (name.as_str(), seed)))
        .collect();
    let agents = Agents::prepare(experiment, &cells, &out.join("agents"), threads)?;
    let mut table = csv::Writer::from_writer(Vec::new());
    for (&(learned, training_seed), file) in &agents.files {
        for CurvePoint { decisions, latency_ms, late_rate } in curve(file)? {
            let algorithm = learned.name().to_string();
            table.serialize(CurveRow { algorithm, training_seed, decisions, latency_ms, late_rate })?;
        }
    }
    let text = table.into_inner().map_err(|error| anyhow!("{}: {}", path.display(), error.error()))?;
    record::write_atomically(&path, &text)?;
    recorded_curves(experiment, out)
}

/// What [`curves`] has recorded.
///
/// # Errors
/// A table that is not there or cannot be read.
pub fn recorded_curves(experiment: &Experiment, out: &Path) -> Result<Curves> {
    let path = curve_table(out, experiment);
    let at = || format!("{}: the learning curves: run `scale measure` first", path.display());
    let mut reader = csv::Reader::from_path(&path).with_context(at)?;
    let mut curves: BTreeMap<(String, u64), Vec<CurvePoint>> = BTreeMap::new();
    for row in reader.deserialize() {
        let CurveRow { algorithm, training_seed, decisions, latency_ms, late_rate } = row.with_context(at)?;
        let curve = curves.entry((algorithm, training_seed)).or_default();
        curve.push(CurvePoint { decisions, latency_ms, late_rate });
    }
    Ok(curves.into_iter().map(|((algorithm, _), curve)| (algorithm, curve)).collect())
}

/// Removes them, because they are those of other agents.
///
/// # Errors
/// If they are there and cannot be removed.
pub(crate) fn forget_curves(out: &Path, experiment: &Experiment) -> Result<()> {
    let path = curve_table(out, experiment);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context(format!("{}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The learning curve that a training left in its file.
///
/// # Errors
/// A file that is not one.
pub fn curve(path: &Path) -> Result<Vec<CurvePoint>> {
    let stepped = |decisions: u64, play: &Report| CurvePoint {
        decisions,
        latency_ms: play.latency_ms,
        late_rate: play.late_rate,
    };
    Ok(match kind_of(path)? {
        Learned::Ppo => {
            let point = |p: &ppo::Progress| stepped(p.steps, &p.play);
            ppo::Learner::load(path)?.curve.iter().map(point).collect()
        }
        Learned::MDqn => {
            let point = |p: &dqn::Progress| stepped(p.steps, &p.play);
            dqn::Learner::load(path)?.curve.iter().map(point).collect()
        }
        _ => {
            let point = |p: &scale::Progress| {
                let reached = p.validation?;
                let (latency_ms, late_rate) = (reached.latency_ms, reached.late_rate);
                Some(CurvePoint { decisions: p.decisions, latency_ms, late_rate })
            };
            scale::Learner::load(path)?.curve.iter().filter_map(point).collect()
        }
    })
}

/// Which agent a file holds; the ablations of `scale` are of its kind.
///
/// # Errors
/// A file that holds none.
pub fn kind_of(path: &Path) -> Result<Learned> {
    // The file's header says which; each reader refuses the others' files.
    if let Ok(network) = Network::load(path) {
        return Ok(if network.name() == "ppo" { Learned::Ppo } else { Learned::MDqn });
    }
    scale::Learner::load(path)?;
    Ok(Learned::Scale)
}

fn load(learned: Learned, path: &Path) -> Result<Ready> {
    Ok(match learned {
        Learned::Ppo | Learned::MDqn => {
            let network = Network::load(path)?;
            let found = if network.name() == "ppo" { Learned::Ppo } else { Learned::MDqn };
            ensure!(
                found == learned,
                "{}: holds {}, expected {}",
                path.display(),
                found.name(),
                learned.name()
            );
            Ready::Network(network)
        }
        _ => Ready::Scale(scale::Learner::load(path)?.best),
    })
}

/// Whether the file is there, whole, and that of a training that came to its end.
fn finished(learned: Learned, path: &Path) -> bool {
    match learned {
        Learned::Ppo | Learned::MDqn => Network::load(path).is_ok(),
        _ => scale::Learner::load(path)
            .is_ok_and(|learner| learner.curve.len() as u64 == learner.config.generations),
    }
}

/// Keeps other processes out as long as the file is open. Where the file system has no locks nothing is kept out, which
/// costs time and no result: a training has the same bytes whoever does it.
fn lock(path: &Path) -> Result<std::fs::File> {
    let file = std::fs::File::create(path).with_context(|| format!("{}", path.display()))?;
    if let Err(error) = file.lock() {
        tracing::warn!("{}: no lock: {error}", path.display());
    }
    Ok(file)
}

/// The names of the files of the agents that cells need, as (algorithm, seed of the workload).
///
/// # Errors
/// As [`Agents::prepare`], but for the training itself.
pub(crate) fn files(experiment: &Experiment, cells: &[(&str, u64)]) -> Result<Vec<String>> {
    let wanted = wanted(cells)?;
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let school = School::new(&experiment.training_scenario()?, &Tables::built_in()?)?;
    wanted.into_iter().map(|(learned, seed)| school.file(learned, seed)).collect()
}

/// The agents that cells need, each with the seed of its training.
fn wanted(cells: &[(&str, u64)]) -> Result<BTreeSet<(Learned, u64)>> {
    let mut wanted = BTreeSet::new();
    for &(name, seed) in cells {
        let entry = roster::find(name).map_err(|error| anyhow!(error))?;
        wanted.extend(entry.learned().map(|learned| (learned, training_seed(seed))));
    }
    Ok(wanted)
}

/// A scenario to train on.
pub struct School {
    tables: Tables,
    scenario: Scenario,
    data: String,
    days: Vec<u32>,
}

impl School {
    /// Finds the days to train on.
    ///
    /// # Errors
    /// Fewer than two of them.
    pub fn new(scenario: &Scenario, tables: &Tables) -> Result<School> {
        let mut scenario = scenario.clone();
        let days: Vec<u32> = std::mem::take(&mut scenario.train_days)
            .into_iter()
            .filter(|&day| day >= scenario.arrivals.warmup_minutes.div_ceil(1440))
            .collect();
        ensure!(
            days.len() >= 2,
            "scenario.train_days: {} with enough days before them for the warm-up: expected at least 2, one of them for \
             validation",
            days.len()
        );
        scenario.arrivals.day = days[0];
        let data = scenario.build()?.data;
        Ok(School { tables: tables.clone(), scenario, data, days })
    }

    /// Trains an agent, or finds it trained, and returns its file. A training of the preset `scale` that was interrupted goes
    /// on; the others begin anew.
    ///
    /// # Errors
    /// Whatever keeps it from its end.
    pub fn train(&self, learned: Learned, seed: u64, folder: &Path) -> Result<PathBuf> {
        let path = folder.join(self.file(learned, seed)?);
        if finished(learned, &path) {
            return Ok(path);
        }
        // Shards that share a folder may want the same agent at once: one trains it, the others wait.
        let _lock = lock(&path.with_extension("lock"))?;
        if finished(learned, &path) {
            return Ok(path);
        }
        let name = format!("{} seed {seed}", learned.name());
        let start = crate::clock::now();
        match (self.tables.scale_of(learned), learned) {
            (Some(table), _) => self.train_scale(learned, &table, seed, &path),
            (None, Learned::MDqn) => self.train_dqn(seed, &path),
            (None, _) => self.train_ppo(seed, &path),
        }
        .with_context(|| format!("training {name}"))?;
        tracing::info!("{name}: trained in {:.0} s: {}", start.elapsed().as_secs_f64(), path.display());
        Ok(path)
    }

    /// The name of the file: agent, training seed, and a digest of all that it depends on.
    fn file(&self, learned: Learned, seed: u64) -> Result<String> {
        let (table, layout) = match (self.tables.scale_of(learned), learned) {
            (Some(table), _) => (serde_json::to_string(&table)?, scale_agents::features::VERSION),
            (None, Learned::MDqn) => (serde_json::to_string(&self.tables.m_dqn)?, scale_agents::LAYOUT),
            (None, _) => (serde_json::to_string(&self.tables.scale_ppo)?, scale_agents::LAYOUT),
        };
        let all = serde_json::to_vec(&(
            (version(learned), layout),
            table,
            &self.scenario,
            &self.days,
            &self.data,
            seed,
        ))?;
        let digest: String = Sha256::digest(all).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("{}-{seed}-{digest}.safetensors", learned.name()))
    }

    /// Training and validation days for one training.
    fn days<C>(&self, table: &Trained<C>, seed: u64) -> Result<(Vec<Day>, Vec<Day>)> {
        let mut scenario = self.scenario.clone();
        let arrivals = &mut scenario.arrivals;
        arrivals.warmup_minutes = arrivals.warmup_minutes.min(table.warmup_minutes);
        arrivals.minutes = Some(arrivals.minutes.unwrap_or(1440).min(table.minutes));
        let (training, validation) = self.days.split_at(self.days.len() - 1);
        let mut days = |which: &str, days: &[u32]| -> Result<Vec<Day>> {
            let mut all = Vec::new();
            for &day in days {
                scenario.arrivals.day = day;
                let built = scenario.build()?;
                for workload in 0..table.workloads {
                    let drawn = Seed(seed).derive(which, u64::from(day)).derive("workload", workload);
                    let generated = built.workload(drawn.0)?;
                    let sim = built.sim(generated.warmup_until);
                    all.push(Day { platform: built.platform.clone(), workload: generated.workload, sim });
                }
            }
            Ok(all)
        };
        Ok((days("training", training)?, days("validation", validation)?))
    }

    fn train_scale(
        &self,
        learned: Learned,
        table: &Trained<ScaleConfig>,
        seed: u64,
        path: &Path,
    ) -> Result<()> {
        let (training, validation) = self.days(table, seed)?;
        let beside = path.with_extension("unfinished");
        let mut learner = match beside.exists() {
            true => scale::Learner::load(&beside)?,
            false => scale::Learner::new(&table.learner, Seed(seed))?,
        };
        let mut fault = None;
        // For imitation: every batch solved to proven optimality.
        let mut teacher = Milp { formulation: Formulation::Compact, random_seed: 0 };
        learner.learn(&training, &validation, &mut teacher, &mut |learner| {
            let Some(last) = learner.curve.last() else { return };
            if let Some(reached) = last.validation {
                tracing::info!(
                    "{} seed {seed}: generation {} of {}: cost {:.2} ms, validation {:.2} ms and {:.2} % late",
                    learned.name(),
                    last.generation,
                    learner.config.generations,
                    last.cost_ms,
                    reached.latency_ms,
                    100.0 * reached.late_rate
                );
                fault = fault.take().or(learner.save(&beside).err());
            }
        })?;
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        learner.save(path)?;
        Ok(checkpoint::remove(&beside)?)
    }

    fn train_ppo(&self, seed: u64, path: &Path) -> Result<()> {
        let table = &self.tables.scale_ppo;
        let (days, _) = self.days(table, seed)?;
        let mut envs = envs(&days, table)?;
        let learner = ppo::train(&table.learner, &mut envs, Seed(seed), &mut |progress| {
            if progress.iteration.is_multiple_of(20) {
                tracing::info!(
                    "scale-ppo seed {seed}: {} decisions: reward {:.4}, {:.2} % late, entropy {:.2}, KL {:.4}",
                    progress.steps,
                    progress.play.reward,
                    100.0 * progress.play.late_rate,
                    progress.entropy,
                    progress.kl
                );
            }
        })?;
        Ok(learner.save(path)?)
    }

    fn train_dqn(&self, seed: u64, path: &Path) -> Result<()> {
        let table = &self.tables.m_dqn;
        let (days, _) = self.days(table, seed)?;
        let mut envs = envs(&days, table)?;
        let mut reports = 0u64;
        let learner = dqn::train(&table.learner, &mut envs, Seed(seed), &mut |progress| {
            reports += 1;
            if reports.is_multiple_of(20) {
                tracing::info!(
                    "m-dqn seed {seed}: {} decisions: reward {:.4}, {:.2} % late, epsilon {:.2}",
                    progress.steps,
                    progress.play.reward,
                    100.0 * progress.play.late_rate,
                    progress.epsilon
                );
            }
        })?;
        Ok(learner.save(path)?)
    }
}

fn envs<'a, C>(days: &'a [Day], table: &Trained<C>) -> Result<Vec<SimEnv<'a>>> {
    let steps =
        table.steps.context("agents.toml: expected a table `steps` for an agent that learns step by step")?;
    let Steps { environments, episode, reward } = steps;
    (0..environments).map(|first| Ok(SimEnv::new(days, first, episode, reward)?)).collect()
}
