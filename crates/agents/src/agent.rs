//! A trained network at work: the greedy action, without candle and without allocating.

use crate::error::LearnError;
use crate::hierarchy::Row;
use crate::net::Mlp;
use crate::observe::{self, Action, Mask, Open};
use scale_model::{BatchProblem, ClusterState, Decision, Platform, Scheduler};
use serde::{Deserialize, Serialize};

/// What a training leaves: one network and what its outputs mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Its shape.
    pub mlp: Mlp,
    /// Its weights.
    pub parameters: Vec<f32>,
    /// What its outputs mean.
    pub head: Head,
    /// How many nodes it decides between.
    pub nodes: usize,
}

/// What the outputs of a network mean, for N nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Head {
    /// s_v and u_v of the hierarchical policy: 2 N numbers.
    Policy,
    /// Q of each action in [flat](Action::flat) order: 2 N numbers.
    Values,
    /// The advantage of each action in flat order and the value of the state: 2 N + 1 numbers.
    Dueling,
}

impl Network {
    /// The action that it thinks best, or `None` if none is valid. `scratch` has [`Mlp::scratch`] numbers and `weights` N.
    ///
    /// # Panics
    /// If a slice has the wrong length.
    pub fn best(
        &self,
        observation: &[f32],
        mask: Open<'_>,
        scratch: &mut [f32],
        weights: &mut [f32],
    ) -> Option<Action> {
        let out = self.mlp.forward(&self.parameters, observation, scratch);
        match self.head {
            Head::Policy => Row::new(out, mask, weights).map(|row| row.argmax()),
            // The value of the state is the same for all actions.
            Head::Values | Head::Dueling => best_value(&out[..2 * self.nodes], mask),
        }
    }
}

/// The valid action of the largest value, the first of equals.
pub(crate) fn best_value(values: &[f32], mask: Open<'_>) -> Option<Action> {
    let nodes = mask.new.len();
    let mut best: Option<(usize, f32)> = None;
    for (flat, (&value, &open)) in values.iter().zip(mask.new.iter().chain(mask.reuse)).enumerate() {
        if open && best.is_none_or(|(_, top)| value > top) {
            best = Some((flat, value));
        }
    }
    best.map(|(flat, _)| Action::of_flat(flat, nodes))
}

/// A [`Network`] as a scheduler: its best action, no exploration. It keeps nothing of a platform but the number of its nodes, so it
/// may go on from one platform to another of as many; [`Agent::new`] refuses any other, and a decision on one panics.
#[derive(Clone, Debug)]
pub struct Agent {
    network: Network,
    observation: Vec<f32>,
    mask: Mask,
    scratch: Vec<f32>,
    weights: Vec<f32>,
}

impl Agent {
    /// For a platform with as many nodes as the network was trained on.
    ///
    /// # Errors
    /// [`LearnError::Shape`] if it has another number of nodes, or the network's parts do not fit together.
    pub fn new(network: Network, platform: &Platform) -> Result<Agent, LearnError> {
        let nodes = network.nodes;
        let outputs = 2 * nodes + usize::from(network.head == Head::Dueling);
        let pairs = [
            ("nodes of the platform", platform.topology.nodes.len(), nodes),
            ("inputs of the network", network.mlp.inputs, observe::width(nodes)),
            ("outputs of the network", network.mlp.outputs, outputs),
            ("parameters of the network", network.parameters.len(), network.mlp.parameters()),
        ];
        for (what, found, expected) in pairs {
            if found != expected {
                return Err(LearnError::Shape { index: 0, what, found, expected });
            }
        }
        Ok(Agent {
            observation: vec![0.0; network.mlp.inputs],
            mask: Mask::closed(nodes),
            scratch: vec![0.0; network.mlp.scratch()],
            weights: vec![0.0; nodes],
            network,
        })
    }
}

impl Scheduler for Agent {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        observe::observe(batch, state, next, &mut self.observation);
        self.mask.look(batch.platform, state, batch.requests[next].function);
        let best =
            self.network.best(&self.observation, self.mask.open(), &mut self.scratch, &mut self.weights);
        best.map_or(Decision::Defer, Action::decision)
    }
}
