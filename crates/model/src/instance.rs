//! A batch as a file: everything that a [`BatchProblem`] borrows, owned, in JSON.

use crate::platform::Platform;
use crate::problem::{BatchProblem, Objective};
use crate::state::{ClusterState, StateFile};
use crate::validate::{Invalid, require};
use crate::workload::Request;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// A batch that owns its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Nodes, links, functions.
    pub platform: Platform,
    /// The state before the batch.
    pub state: ClusterState,
    /// The batch.
    pub requests: Vec<Request>,
    /// What to minimise.
    pub objective: Objective,
}

/// Why a text is not an instance.
#[derive(Debug, Error)]
pub enum InstanceError {
    /// Not the JSON of an instance; the message of the parser names line and column.
    #[error("not an instance: {0}")]
    Json(#[from] serde_json::Error),
    /// A value that makes no sense.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// What is read first, so that a file of another version is refused as such and not for the first field that differs.
#[derive(Deserialize)]
struct Head {
    format: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InstanceFile {
    format: String,
    objective: Objective,
    requests: Vec<Request>,
    state: StateFile,
    platform: Platform,
}

const FORMAT: &str = "scale-instance-1";

impl Instance {
    /// A copy of a batch.
    #[must_use]
    pub fn of(problem: &BatchProblem<'_>) -> Instance {
        Instance {
            platform: problem.platform.clone(),
            state: problem.state.clone(),
            requests: problem.requests.to_vec(),
            objective: problem.objective,
        }
    }

    /// The batch.
    #[must_use]
    pub fn problem(&self) -> BatchProblem<'_> {
        let Instance { platform, state, requests, objective } = self;
        BatchProblem { platform, state, requests, objective: *objective }
    }

    /// The instance as JSON, numbers in full precision.
    #[must_use]
    pub fn to_json(&self) -> String {
        let file = InstanceFile {
            format: FORMAT.into(),
            objective: self.objective,
            requests: self.requests.clone(),
            state: StateFile::of(&self.state, &self.platform),
            platform: self.platform.clone(),
        };
        serde_json::to_string_pretty(&file).expect("numbers, strings and lists can be written")
    }

    /// Reads an instance and checks every value in it.
    ///
    /// # Errors
    /// A text that is not the JSON of an instance, or a value that makes no sense.
    pub fn from_json(text: &str) -> Result<Instance, InstanceError> {
        let Head { format } = serde_json::from_str(text)?;
        require(format == FORMAT, || "format".into(), format, FORMAT)?;
        let file: InstanceFile = serde_json::from_str(text)?;
        file.platform.validate()?;
        let mut ids = BTreeMap::new();
        for (index, request) in file.requests.iter().enumerate() {
            if let Some(first) = ids.insert(request.id, index) {
                return Err(InstanceError::Invalid(Invalid {
                    field: format!("requests[{index}].id"),
                    value: format!("{}, the id of requests[{first}] too", request.id.0),
                    expected: "an id of its own",
                }));
            }
            request.validate(index, &file.platform)?;
            require(
                request.arrival.0 <= file.state.time_ms,
                || format!("requests[{index}].arrival_ms"),
                request.arrival.0,
                "at most state.time_ms, the instant of the decision",
            )?;
        }
        file.objective.validate()?;
        let state = file.state.build(&file.platform)?;
        Ok(Instance { platform: file.platform, state, requests: file.requests, objective: file.objective })
    }
}
