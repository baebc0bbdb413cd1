//! Answers: one decision for each request of a batch.

use crate::ids::NodeId;
use serde::{Deserialize, Serialize};

/// Where a request runs, or that it waits. The paper's action a(t) = [a1, a2]: node, then new container or reuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// x_kv = 1 for this node.
    Run {
        /// a1: the node.
        node: NodeId,
        /// a2: its container.
        container: Container,
    },
    /// No node for now: the request joins the next decision.
    Defer,
}

/// Whether a request gets a new container (z_kv = 1) or an idle one of its function (z_kv = 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Container {
    /// z_kv = 0: takes an idle container of the request's function on the node.
    Reuse,
    /// z_kv = 1: starts one.
    New,
}

/// One decision for each request of a batch, in the batch's order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Placement {
    /// The decisions.
    pub decisions: Vec<Decision>,
}
