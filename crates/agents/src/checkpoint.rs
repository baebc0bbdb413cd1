//! Trainings as files: safetensors with the weights by layer, the optimiser's moments, and in the header's metadata one
//! JSON text with everything else: configuration, seed, layout of the observation, positions of the random streams, curve.
//!
//! # Resuming
//! A training of the preset `scale` is saved after any generation and goes on from there as if it had not been interrupted.
//! PPO and m-DQN: environments are not saved. A training that is resumed begins them anew, and so does one that is not interrupted
//! wherever its configuration says so: after every `restart_rollouts` rollouts (PPO) or `restart_steps` decisions (m-DQN,
//! whose replay buffer also begins empty there). A file written at such a point, and only at such a point, leads to the
//! same bytes as the uninterrupted run.

use crate::adam::Adam;
use crate::agent::{Head, Network};
use crate::draw::Draw;
use crate::error::LearnError;
use crate::net::Mlp;
use crate::observe::LAYOUT;
use crate::{dqn, features, ppo, scale};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use scale_model::Seed;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const FORMAT: &str = "scale-agent-2";
const SCALE: &str = "scale-scorer-2";
/// Key of the JSON text in the header's metadata.
const KEY: &str = "scale";

/// What is read first, so that a file of another version is refused as such and not for the first field that differs.
#[derive(Deserialize)]
struct Version {
    format: String,
    layout: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta {
    format: String,
    layout: u32,
    width: usize,
    nodes: usize,
    seed: Seed,
    steps: u64,
    optimiser_steps: u64,
    /// Words drawn from the streams for actions and for batches.
    streams: [u64; 2],
    method: Method,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
enum Method {
    Ppo { config: ppo::PpoConfig, curve: Vec<ppo::Progress> },
    Dqn { config: dqn::DqnConfig, curve: Vec<dqn::Progress>, tally: dqn::Tally },
}

/// The same for the preset `scale`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScaleMeta {
    format: String,
    /// [`features::VERSION`].
    layout: u32,
    seed: Seed,
    optimiser_steps: u64,
    /// Words drawn from the stream.
    stream: u64,
    config: scale::ScaleConfig,
    greedy: Option<scale::Validation>,
    curve: Vec<scale::Progress>,
}

/// A tensor: name, shape, numbers.
type Part<'a> = (String, Vec<usize>, &'a [f32]);

impl scale::Learner {
    /// Writes the training to a file, after any generation.
    ///
    /// # Errors
    /// [`LearnError::Checkpoint`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), LearnError> {
        let meta = ScaleMeta {
            format: SCALE.into(),
            layout: features::VERSION,
            seed: self.seed,
            optimiser_steps: self.adam.steps,
            stream: self.draw.position(),
            config: self.config.clone(),
            greedy: self.greedy,
            curve: self.curve.clone(),
        };
        let shape = vec![self.scorer.weights.len()];
        let parts = vec![
            ("best".to_string(), shape.clone(), &self.best.weights[..]),
            ("scorer".to_string(), shape, &self.scorer.weights[..]),
        ];
        write(path, &meta, parts, &self.adam)
    }

    /// Reads a training.
    ///
    /// # Errors
    /// [`LearnError::Checkpoint`] if the file cannot be read, is cut off, is of another kind or of another version of the
    /// features, or does not fit together.
    pub fn load(path: &Path) -> Result<scale::Learner, LearnError> {
        let file = Opened::read(path)?;
        let ScaleMeta { seed, optimiser_steps, stream, config, greedy, curve, .. } =
            file.meta(SCALE, features::VERSION)?;
        let mut learner = scale::Learner::new(&config, seed)?;
        let length = learner.scorer.weights.len();
        learner.best.weights = file.tensor("best", &[length])?;
        learner.scorer.weights = file.tensor("scorer", &[length])?;
        learner.adam = file.adam(length, optimiser_steps)?;
        learner.draw = Draw::resume(seed.derive("scale", 0), stream);
        (learner.greedy, learner.curve) = (greedy, curve);
        Ok(learner)
    }
}

impl ppo::Learner {
    /// Writes the training to a file. See the [module](self) for where to do it.
    ///
    /// # Errors
    /// [`LearnError::Checkpoint`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), LearnError> {
        let meta = Meta {
            format: FORMAT.into(),
            layout: LAYOUT,
            width: self.actor.inputs,
            nodes: self.nodes,
            seed: self.seed,
            steps: self.steps,
            optimiser_steps: self.adam.steps,
            streams: [self.actions.position(), self.order.position()],
            method: Method::Ppo { config: self.config.clone(), curve: self.curve.clone() },
        };
        let (theta, phi) = self.parameters.split_at(self.actor.parameters());
        let networks = [("actor", &self.actor, theta), ("critic", &self.critic, phi)];
        write(path, &meta, parts_of(&networks), &self.adam)
    }

    /// Reads a training.
    ///
    /// # Errors
    /// [`LearnError::Checkpoint`] if the file cannot be read, is cut off, is of another kind or layout, or does not fit
    /// together.
    pub fn load(path: &Path) -> Result<ppo::Learner, LearnError> {
        let file = Opened::read(path)?;
        let Meta { width, nodes, seed, steps, optimiser_steps, streams, method, .. } =
            file.meta(FORMAT, LAYOUT)?;
        let Method::Ppo { config, curve } = method else {
            return Err(file.fault("it holds m-DQN, expected PPO"));
        };
        let mut learner = ppo::Learner::new(&config, width, nodes, seed)?;
        let mut parameters = file.network("actor", &learner.actor)?;
        parameters.extend(file.network("critic", &learner.critic)?);
        learner.adam = file.adam(parameters.len(), optimiser_steps)?;
        learner.parameters = parameters;
        learner.actions = Draw::resume(seed.derive("actions", 0), streams[0]);
        learner.order = Draw::resume(seed.derive("order", 0), streams[1]);
        (learner.steps, learner.curve) = (steps, curve);
        Ok(learner)
    }
}

impl dqn::Learner {
    /// Writes the training to a file. See the [module](self) for where to do it.
    ///
    /// # Errors
    /// [`LearnError::Checkpoint`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), LearnError> {
        let (config, curve, tally) = (self.config.clone(), self.curve.clone(), self.tally.clone());
        let meta = Meta {
            format: FORMAT.into(),
            layout: LAYOUT,
            width: self.mlp.inputs,
            nodes: self.nodes,
            seed: self.seed,
            steps: self.steps,
            optimiser_steps: self.adam.steps,
            streams: [self.actions.position(), self.samples.position()],
            method: Method::Dqn { config, curve, tally },
        };
        let networks = [("q", &self.mlp, &self.parameters[..]), ("target", &self.mlp, &self.target[..])];
        write(path, &meta, parts_of(&networks), &self.adam)
    }

    /// Reads a training.
    ///
    /// # Errors
    /// [`LearnError::Checkpoint`] if the file cannot be read, is cut off, is of another kind or layout, or does not fit
    /// together.
    pub fn load(path: &Path) -> Result<dqn::Learner, LearnError> {
        let file = Opened::read(path)?;
        let Meta { width, nodes, seed, steps, optimiser_steps, streams, method, .. } =
            file.meta(FORMAT, LAYOUT)?;
        let Method::Dqn { config, curve, tally } = method else {
            return Err(file.fault("it holds PPO, expected m-DQN"));
        };
        let mut learner = dqn::Learner::new(&config, width, nodes, seed)?;
        learner.parameters = file.network("q", &learner.mlp)?;
        learner.target = file.network("target", &learner.mlp)?;
        learner.adam = file.adam(learner.parameters.len(), optimiser_steps)?;
        learner.actions = Draw::resume(seed.derive("actions", 0), streams[0]);
        learner.samples = Draw::resume(seed.derive("samples", 0), streams[1]);
        (learner.steps, learner.curve, learner.tally) = (steps, curve, tally);
        Ok(learner)
    }
}

impl Network {
    /// Reads what is put to work from the file of a training of either kind.
    ///
    /// # Errors
    /// [`LearnError::Checkpoint`], as [`ppo::Learner::load`].
    pub fn load(path: &Path) -> Result<Network, LearnError> {
        let file = Opened::read(path)?;
        match file.meta::<Meta>(FORMAT, LAYOUT)?.method {
            Method::Ppo { .. } => Ok(ppo::Learner::load(path)?.network()),
            Method::Dqn { .. } => Ok(dqn::Learner::load(path)?.network()),
        }
    }

    /// What it is called in reports.
    pub fn name(&self) -> &'static str {
        match self.head {
            Head::Policy => "ppo",
            Head::Values | Head::Dueling => "m-dqn",
        }
    }
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The parameters of networks, part by part.
fn parts_of<'a>(networks: &[(&str, &Mlp, &'a [f32])]) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for &(network, mlp, parameters) in networks {
        for part in mlp.parts() {
            parts.push((format!("{network}.{}", part.name), part.shape, &parameters[part.range]));
        }
    }
    parts
}

/// Writes the file beside its place and moves it there, so that it is whole or not there. The name beside is this write's own: of
/// several processes that end the same training each writes a file, and the last to move one wins.
fn write<'a>(
    path: &Path,
    meta: &impl Serialize,
    mut parts: Vec<Part<'a>>,
    adam: &'a Adam,
) -> Result<(), LearnError> {
    parts.push(("adam.first".into(), vec![adam.first.len()], &adam.first));
    parts.push(("adam.second".into(), vec![adam.second.len()], &adam.second));
    let parts: Vec<(String, Vec<usize>, Vec<u8>)> =
        parts.into_iter().map(|(name, shape, numbers)| (name, shape, bytes(numbers))).collect();
    let mut views = Vec::with_capacity(parts.len());
    for (name, shape, bytes) in &parts {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
        views.push((name.as_str(), view.map_err(|error| caused(path, "", error))?));
    }
    let text = serde_json::to_string(meta).map_err(|error| caused(path, "", error))?;
    #[expect(
        clippy::disallowed_types,
        reason = "the library asks for one; with a single key it has one order"
    )]
    let header = std::collections::HashMap::from([(KEY.to_string(), text)]);
    let all = serialize(views, Some(header)).map_err(|error| caused(path, "", error))?;
    let beside = beside(path);
    let moved = std::fs::write(&beside, all).and_then(|()| std::fs::rename(&beside, path));
    moved.map_err(|error| {
        // What is left of it helps nobody; if it cannot go either, the first error says why.
        let _ = std::fs::remove_file(&beside);
        caused(path, "", error)
    })
}

/// A name that no other write uses, in this process or in another.
fn beside(path: &Path) -> PathBuf {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let write = WRITES.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{write}.part", std::process::id()))
}

/// Removes the file of a training that is no longer needed. If it is gone already, that is what was wanted: several processes may
/// have gone on with the same training.
///
/// # Errors
/// [`LearnError::Checkpoint`] if it is there and cannot be removed.
pub fn remove(path: &Path) -> Result<(), LearnError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(caused(path, "", error)),
        _ => Ok(()),
    }
}

/// A fault that another error caused, in its words after ours.
fn caused(path: &Path, what: &str, error: impl std::error::Error + Send + Sync + 'static) -> LearnError {
    let what = format!("{what}{error}");
    LearnError::Checkpoint { path: path.display().to_string(), what, cause: Some(Box::new(error)) }
}

/// A file that was read.
struct Opened {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Opened {
    fn read(path: &Path) -> Result<Opened, LearnError> {
        let bytes = std::fs::read(path).map_err(|error| caused(path, "", error))?;
        Ok(Opened { path: path.to_path_buf(), bytes })
    }

    fn fault(&self, what: impl ToString) -> LearnError {
        LearnError::Checkpoint { path: self.path.display().to_string(), what: what.to_string(), cause: None }
    }

    fn caused(&self, what: &str, error: impl std::error::Error + Send + Sync + 'static) -> LearnError {
        caused(&self.path, what, error)
    }

    /// What stands in the header, of this format and this layout of what the agent sees.
    fn meta<M: DeserializeOwned>(&self, expected: &str, expected_layout: u32) -> Result<M, LearnError> {
        let broken = |error| self.caused("not safetensors, or cut off: ", error);
        // The tensors too, so that a file that ends early is refused here.
        SafeTensors::deserialize(&self.bytes).map_err(broken)?;
        let (_, header) = SafeTensors::read_metadata(&self.bytes).map_err(broken)?;
        let text = header.metadata().as_ref().and_then(|all| all.get(KEY));
        let text = text.ok_or_else(|| self.fault(format!("no metadata under {KEY:?}: not an agent")))?;
        let unreadable = |error: serde_json::Error| self.caused("metadata: ", error);
        let Version { format, layout } = serde_json::from_str(text).map_err(unreadable)?;
        if format != expected {
            return Err(self.fault(format!("format: {format:?}: expected {expected:?}")));
        }
        if layout != expected_layout {
            return Err(
                self.fault(format!("layout of the observation: {layout}: expected {expected_layout}"))
            );
        }
        serde_json::from_str(text).map_err(unreadable)
    }

    /// The parameters of a network, part by part.
    fn network(&self, network: &str, mlp: &Mlp) -> Result<Vec<f32>, LearnError> {
        let mut parameters = Vec::with_capacity(mlp.parameters());
        for part in mlp.parts() {
            parameters.extend(self.tensor(&format!("{network}.{}", part.name), &part.shape)?);
        }
        Ok(parameters)
    }

    fn adam(&self, parameters: usize, steps: u64) -> Result<Adam, LearnError> {
        let first = self.tensor("adam.first", &[parameters])?;
        let second = self.tensor("adam.second", &[parameters])?;
        Ok(Adam { first, second, steps })
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, LearnError> {
        let all = SafeTensors::deserialize(&self.bytes).map_err(|error| self.caused("", error))?;
        let tensor = all.tensor(name).map_err(|error| self.caused("", error))?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
            let (kind, found) = (tensor.dtype(), tensor.shape());
            return Err(self.fault(format!("{name}: {kind:?} of shape {found:?}: expected F32 {shape:?}")));
        }
        let number = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let numbers: Vec<f32> = tensor.data().chunks_exact(4).map(number).collect();
        match numbers.iter().position(|number| !number.is_finite()) {
            None => Ok(numbers),
            Some(index) => {
                Err(self.fault(format!("{name}[{index}]: {}: expected a finite number", numbers[index])))
            }
        }
    }
}
