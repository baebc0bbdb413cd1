//! Answers: one decision for each request of a batch.

use crate::ids::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;

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

/// ```
/// use scale_model::{Container, Decision, NodeId};
/// let run = |container| Decision::Run { node: NodeId(3), container };
/// assert_eq!(run(Container::New).to_string(), "new on node 3");
/// assert_eq!(run(Container::Reuse).to_string(), "reuse on node 3");
/// assert_eq!(Decision::Defer.to_string(), "defer");
/// ```
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decision::Run { node, container } => write!(f, "{container} on {node}"),
            Decision::Defer => f.write_str("defer"),
        }
    }
}

/// ```
/// use scale_model::Container;
/// assert_eq!([Container::Reuse, Container::New].map(|container| container.to_string()), ["reuse", "new"]);
/// assert_eq!(format!("{:<6}|", Container::New), "new   |");
/// ```
impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Container::Reuse => "reuse",
            Container::New => "new",
        })
    }
}
