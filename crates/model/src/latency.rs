//! Eqs. (1)-(3): what one request takes where. Nobody else writes these formulas.

use crate::ids::NodeId;
use crate::placement::Container;
use crate::platform::{Function, Node, Platform};
use crate::units::{MegabytesPerSecond, Milliseconds, Time};
use crate::workload::Request;
use serde::{Deserialize, Serialize};

/// The parts of a request's end-to-end latency, kept apart from the equation to the report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// T_cold, Eq. (1).
    #[serde(rename = "cold_ms")]
    pub cold: Milliseconds,
    /// T_comp, Eq. (2).
    #[serde(rename = "comp_ms")]
    pub comp: Milliseconds,
    /// T_comm, Eq. (3).
    #[serde(rename = "comm_ms")]
    pub comm: Milliseconds,
    /// T_wait: from the arrival to the decision that placed it. The paper has no such part: it
    /// arises when no node could take the request before.
    #[serde(rename = "wait_ms")]
    pub wait: Milliseconds,
}

impl Latency {
    /// T_k: the sum of the parts, the summand of Eq. (4).
    ///
    /// ```
    /// use scale_model::{Latency, Milliseconds};
    /// let latency = Latency {
    ///     cold: Milliseconds(250.0), comp: Milliseconds(150.0), comm: Milliseconds(20.0), wait: Milliseconds(5.0),
    /// };
    /// assert_eq!(latency.total(), Milliseconds(425.0));
    /// assert_eq!(latency.service(), Milliseconds(420.0));
    /// ```
    #[inline]
    #[must_use]
    pub fn total(&self) -> Milliseconds {
        // Destructured, so that a new part cannot be forgotten.
        let Latency { cold: _, comp: _, comm: _, wait } = *self;
        self.service() + wait
    }

    /// How long the container is busy with the request: all parts but the waiting.
    #[inline]
    #[must_use]
    pub fn service(&self) -> Milliseconds {
        let Latency { cold, comp, comm, wait: _ } = *self;
        cold + comp + comm
    }
}

/// Eq. (1): T_cold(k) = (s_k / B_v + alpha_k) z_kv.
///
/// ```
/// # use scale_model::*;
/// # let node = Node { name: "a".into(), kind: 0, position: Position { latitude: 0.0, longitude: 0.0 },
/// #     frequency: Gigahertz(3.0), cores: Cores { milli: 3000 }, memory: Memory { mb: 20_000 },
/// #     registry_bandwidth: MegabytesPerSecond(100.0) };
/// # let function = Function { name: "f".into(), image: Megabytes(15.0), init: Milliseconds(80.0),
/// #     memory: Memory { mb: 128 }, cores: Cores { milli: 500 } };
/// // An image of 15 MB from a registry at 100 MB/s takes 150 ms, the initialisation 80 ms.
/// assert_eq!(latency::cold(&function, &node, Container::New), Milliseconds(230.0));
/// assert_eq!(latency::cold(&function, &node, Container::Reuse), Milliseconds(0.0));
/// ```
#[inline]
#[must_use]
pub fn cold(function: &Function, node: &Node, container: Container) -> Milliseconds {
    match container {
        Container::Reuse => Milliseconds(0.0),
        Container::New => function.image / node.registry_bandwidth + function.init,
    }
}

/// Eq. (2): T_comp(k) = p_k / f_k.
///
/// ```
/// # use scale_model::*;
/// # let function = Function { name: "f".into(), image: Megabytes(15.0), init: Milliseconds(80.0),
/// #     memory: Memory { mb: 128 }, cores: Cores { milli: 500 } };
/// # let request = Request { id: RequestId(0), function: FunctionId(0), source: NodeId(0), arrival: Time(0.0),
/// #     cpu_time: CoreMilliseconds(75.0), input: Megabytes(0.5), slo: Milliseconds(300.0) };
/// // 75 core-milliseconds on half a core last 150 ms.
/// assert_eq!(latency::comp(&request, &function), Milliseconds(150.0));
/// ```
#[inline]
#[must_use]
pub fn comp(request: &Request, function: &Function) -> Milliseconds {
    request.cpu_time / function.cores
}

/// Eq. (3): T_comm(k) = d_k / eps_{s(k),v}. The way back is ignored, as in the paper.
///
/// ```
/// # use scale_model::*;
/// # let request = Request { id: RequestId(0), function: FunctionId(0), source: NodeId(0), arrival: Time(0.0),
/// #     cpu_time: CoreMilliseconds(75.0), input: Megabytes(0.5), slo: Milliseconds(300.0) };
/// // Half a megabyte at 25 MB/s takes 20 ms; within a node the rate is infinite.
/// assert_eq!(latency::comm(&request, MegabytesPerSecond(25.0)), Milliseconds(20.0));
/// assert_eq!(latency::comm(&request, MegabytesPerSecond(f64::INFINITY)), Milliseconds(0.0));
/// ```
#[inline]
#[must_use]
pub fn comm(request: &Request, rate: MegabytesPerSecond) -> Milliseconds {
    request.input / rate
}

/// All parts of Eqs. (1)-(3) for a request that is placed on a node now, and the time that it has waited.
#[inline]
#[must_use]
pub fn predict(
    platform: &Platform,
    request: &Request,
    node: NodeId,
    container: Container,
    now: Time,
) -> Latency {
    let function = platform.function(request.function);
    Latency {
        cold: cold(function, platform.node(node), container),
        comp: comp(request, function),
        comm: comm(request, platform.topology.links.rate(request.source, node)),
        wait: now - request.arrival,
    }
}
