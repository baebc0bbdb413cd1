//! Requests K, in order of arrival.

use crate::ids::{FunctionId, NodeId, RequestId};
use crate::platform::Platform;
use crate::units::{CoreMilliseconds, Megabytes, Milliseconds, Time};
use crate::validate::{Invalid, not_negative, positive, require};
use serde::{Deserialize, Serialize};

/// One request k.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its number in the workload, in order of arrival.
    pub id: RequestId,
    /// The function that it calls.
    pub function: FunctionId,
    /// s(k): the node that it enters the network at.
    pub source: NodeId,
    /// When it arrives.
    #[serde(rename = "arrival_ms")]
    pub arrival: Time,
    /// p_k: CPU time that it needs.
    #[serde(rename = "cpu_time_core_ms")]
    pub cpu_time: CoreMilliseconds,
    /// d_k: data that it brings.
    #[serde(rename = "input_mb")]
    pub input: Megabytes,
    /// O_k: end-to-end latency that it may take.
    #[serde(rename = "slo_ms")]
    pub slo: Milliseconds,
}

/// All requests of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// In order of arrival; the id of each is its index.
    pub requests: Vec<Request>,
}

impl Request {
    /// Checks every field against the platform.
    ///
    /// # Errors
    /// The first field that makes no sense: an unknown function or node, a negative time.
    pub fn validate(&self, platform: &Platform) -> Result<(), Invalid> {
        let field = |name: &str| format!("requests[{}].{name}", self.id.0);
        let known = |index: usize, count: usize| index < count;
        let functions = platform.functions.len();
        require(
            known(self.function.index(), functions),
            || field("function"),
            self.function.0,
            "a known function",
        )?;
        let nodes = platform.topology.nodes.len();
        require(known(self.source.index(), nodes), || field("source"), self.source.0, "a known node")?;
        require(
            not_negative(self.arrival.0),
            || field("arrival_ms"),
            self.arrival.0,
            "a number of at least 0",
        )?;
        let work = self.cpu_time.0;
        require(not_negative(work), || field("cpu_time_core_ms"), work, "a number of at least 0")?;
        require(not_negative(self.input.0), || field("input_mb"), self.input.0, "a number of at least 0")?;
        require(positive(self.slo.0), || field("slo_ms"), self.slo.0, "a number above 0")
    }
}

impl Workload {
    /// Checks every request, their order and their numbers.
    ///
    /// # Errors
    /// The first field that makes no sense.
    pub fn validate(&self, platform: &Platform) -> Result<(), Invalid> {
        let mut last = Time(0.0);
        for (index, request) in self.requests.iter().enumerate() {
            let numbered = request.id.0 as usize == index;
            require(
                numbered,
                || format!("requests[{index}].id"),
                request.id.0,
                "its index in order of arrival",
            )?;
            request.validate(platform)?;
            let sorted = last <= request.arrival;
            let field = || format!("requests[{index}].arrival_ms");
            require(sorted, field, request.arrival.0, "not to be before the request before it")?;
            last = request.arrival;
        }
        Ok(())
    }

    /// The requests that arrive at one instant, batch by batch.
    pub fn batches(&self) -> impl Iterator<Item = &[Request]> {
        self.requests.chunk_by(|a, b| a.arrival == b.arrival)
    }

    /// Puts every arrival onto a grid of `window`: what arrives in (g - window, g] is decided together at g, and its
    /// latency counts from g. A window of zero changes nothing. Afterwards ids are still in order of arrival.
    pub fn windowed(mut self, window: Milliseconds) -> Workload {
        if window.0 > 0.0 {
            for request in &mut self.requests {
                request.arrival = Time((request.arrival.0 / window.0).ceil() * window.0);
            }
        }
        self
    }
}
