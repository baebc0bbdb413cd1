//! Requests K, in order of arrival.

use crate::ids::{FunctionId, NodeId, RequestId};
use crate::platform::Platform;
use crate::units::{CoreMilliseconds, Megabytes, Milliseconds, Time};
use crate::validate::{Invalid, not_negative, positive, require, require_known};
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
    /// Checks every field against the platform; `index` is where the request stands in its list, for the message.
    ///
    /// # Errors
    /// The first field that makes no sense: an unknown function or node, a negative time.
    pub fn validate(&self, index: usize, platform: &Platform) -> Result<(), Invalid> {
        let field = |name: &str| format!("requests[{index}].{name}");
        let functions = platform.functions.len();
        require_known(self.function.0, functions, || field("function"), "a known function")?;
        let nodes = platform.topology.nodes.len();
        require_known(self.source.0, nodes, || field("source"), "a known node")?;
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
            request.validate(index, platform)?;
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
    ///
    /// Window and arrivals are whole microseconds, or are rounded to them: in milliseconds no grid of, say, 0.1 would be
    /// exact, and an arrival on it might move again. A window that rounds to zero changes nothing.
    ///
    /// ```
    /// use scale_model::{Milliseconds, Workload};
    /// # let workload = Workload { requests: vec![] };
    /// let once = workload.windowed(Milliseconds(0.1));
    /// assert_eq!(once.clone().windowed(Milliseconds(0.1)), once);
    /// ```
    #[must_use]
    pub fn windowed(mut self, window: Milliseconds) -> Workload {
        // Whole numbers in an `f64`, so that what is not a number stays so for `validate` to find. Below 2^53 (285
        // years) no quotient of two of them rounds to a whole number unless it is one, so `ceil` is right.
        let microseconds = |ms: f64| (ms * 1000.0).round();
        let window = microseconds(window.0);
        if window > 0.0 {
            for request in &mut self.requests {
                let end = (microseconds(request.arrival.0) / window).ceil() * window;
                request.arrival = Time(end / 1000.0);
            }
        }
        self
    }
}
