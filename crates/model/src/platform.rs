//! What never changes during a run: the edge network G = (V, E) and the functions that it serves.

use crate::ids::{FunctionId, NodeId};
use crate::units::{Cores, Gigahertz, Megabytes, MegabytesPerSecond, Memory, Milliseconds};
use crate::validate::{Invalid, not_negative, positive, require};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The edge network and the functions that it serves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    /// Nodes and links.
    pub topology: Topology,
    /// Functions, indexed by [`FunctionId`].
    pub functions: Vec<Function>,
}

/// The edge network G = (V, E) of the paper, section III.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Nodes, indexed by [`NodeId`].
    pub nodes: Vec<Node>,
    /// Transmission rates between them.
    pub links: Links,
}

/// One edge node v.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// A name for people; the id is the index.
    pub name: String,
    /// Number of the node's hardware type, from 0 (the paper has ten types).
    pub kind: u16,
    /// Where it stands.
    pub position: Position,
    /// Clock frequency of its processors. It enters no equation; see [`Node::cores`].
    #[serde(rename = "frequency_ghz")]
    pub frequency: Gigahertz,
    /// F_v: capacity in cores.
    #[serde(deserialize_with = "cores")]
    pub cores: Cores,
    /// C_v: memory capacity.
    #[serde(rename = "memory_mb", deserialize_with = "memory_mb")]
    pub memory: Memory,
    /// B_v: bandwidth to the image registry.
    #[serde(rename = "registry_bandwidth_mb_s")]
    pub registry_bandwidth: MegabytesPerSecond,
}

/// A place on the earth, in degrees (WGS 84).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Degrees north.
    #[serde(rename = "latitude_deg")]
    pub latitude: f64,
    /// Degrees east.
    #[serde(rename = "longitude_deg")]
    pub longitude: f64,
}

/// eps_{s,v}: the transmission rate from every source node s to every node v. Local execution (s = v) needs no
/// transfer: the rate is infinite. In JSON a list of rows, one a source, with `null` on the diagonal.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    nodes: usize,
    /// Row-major, `nodes` squared; private because `rate` relies on the length and on the infinite diagonal.
    rates: Vec<MegabytesPerSecond>,
}

/// A function: what all of its requests share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// A name for people; the id is the index.
    pub name: String,
    /// s_k: size of its container image.
    #[serde(rename = "image_mb")]
    pub image: Megabytes,
    /// alpha_k: time to initialise a new container once its image is there.
    #[serde(rename = "init_ms")]
    pub init: Milliseconds,
    /// c_k: memory of one container.
    #[serde(rename = "memory_mb", deserialize_with = "memory_mb")]
    pub memory: Memory,
    /// f_k: cores of one container.
    #[serde(deserialize_with = "cores")]
    pub cores: Cores,
}

/// Reads the field `cores`, whose name the type of its value does not know.
fn cores<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cores, D::Error> {
    Cores::deserialize(deserializer).map_err(|error| de::Error::custom(format_args!("cores: {error}")))
}

/// Reads the field `memory_mb`.
fn memory_mb<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Memory, D::Error> {
    Memory::deserialize(deserializer).map_err(|error| de::Error::custom(format_args!("memory_mb: {error}")))
}

/// Most thousandths of a core or megabytes of one node or container: far above any machine, and low enough that what
/// is busy, what is idle and one container more never exceed `u32` together.
const MOST: u32 = 1_000_000_000;

impl Platform {
    /// The function with this id.
    #[inline]
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.index()]
    }

    /// The node with this id.
    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.topology.nodes[id.index()]
    }

    /// Ids of all nodes, in order.
    pub fn node_ids(&self) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        (0..self.topology.nodes.len() as u32).map(NodeId)
    }

    /// Ids of all functions, in order.
    pub fn function_ids(&self) -> impl ExactSizeIterator<Item = FunctionId> + Clone + use<> {
        (0..self.functions.len() as u32).map(FunctionId)
    }

    /// Whether some node, if it were empty, could hold one container of the function.
    #[must_use]
    pub fn can_ever_run(&self, id: FunctionId) -> bool {
        let function = self.function(id);
        self.topology.nodes.iter().any(|node| node.holds(function))
    }

    /// Checks every field.
    ///
    /// # Errors
    /// The first field that makes no sense: no node, a capacity of zero, a rate that is not positive, a name twice.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.topology.validate()?;
        let bound = u32::MAX as usize;
        require(
            self.functions.len() <= bound,
            || "functions".into(),
            self.functions.len(),
            "fewer than 2^32",
        )?;
        for (index, function) in self.functions.iter().enumerate() {
            let field = |name: &str| format!("functions[{index}] ({}).{name}", function.name);
            require(
                not_negative(function.image.0),
                || field("image_mb"),
                function.image.0,
                "a number of at least 0",
            )?;
            require(
                not_negative(function.init.0),
                || field("init_ms"),
                function.init.0,
                "a number of at least 0",
            )?;
            require(
                (1..=MOST).contains(&function.cores.milli),
                || field("cores"),
                function.cores.as_f64(),
                "a number above 0 and at most 1000000",
            )?;
            require(
                (1..=MOST).contains(&function.memory.mb),
                || field("memory_mb"),
                function.memory.mb,
                "a number above 0 and at most 1000000000",
            )?;
        }
        unique("functions", self.functions.iter().map(|function| function.name.as_str()))
    }
}

impl Topology {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that makes no sense.
    pub fn validate(&self) -> Result<(), Invalid> {
        require(!self.nodes.is_empty(), || "topology.nodes".into(), 0, "at least one node")?;
        require(
            self.links.nodes == self.nodes.len(),
            || "topology.links".into(),
            format!("{0} x {0} rates", self.links.nodes),
            "one row and one column for each node",
        )?;
        for (index, node) in self.nodes.iter().enumerate() {
            let field = |name: &str| format!("topology.nodes[{index}] ({}).{name}", node.name);
            let Position { latitude, longitude } = node.position;
            require(
                latitude.abs() <= 90.0,
                || field("position.latitude_deg"),
                latitude,
                "degrees from -90 to 90",
            )?;
            require(
                longitude.abs() <= 180.0,
                || field("position.longitude_deg"),
                longitude,
                "degrees from -180 to 180",
            )?;
            require(
                positive(node.frequency.0),
                || field("frequency_ghz"),
                node.frequency.0,
                "a number above 0",
            )?;
            require(
                (1..=MOST).contains(&node.cores.milli),
                || field("cores"),
                node.cores.as_f64(),
                "a number above 0 and at most 1000000",
            )?;
            require(
                (1..=MOST).contains(&node.memory.mb),
                || field("memory_mb"),
                node.memory.mb,
                "a number above 0 and at most 1000000000",
            )?;
            let bandwidth = node.registry_bandwidth.0;
            require(positive(bandwidth), || field("registry_bandwidth_mb_s"), bandwidth, "a number above 0")?;
        }
        unique("topology.nodes", self.nodes.iter().map(|node| node.name.as_str()))
    }

    /// F: all cores of the cluster together.
    #[must_use]
    pub fn total_cores(&self) -> f64 {
        self.nodes.iter().map(|node| node.cores.as_f64()).sum()
    }

    /// All memory of the cluster together, in MB.
    #[must_use]
    pub fn total_memory_mb(&self) -> f64 {
        self.nodes.iter().map(|node| node.memory.as_f64()).sum()
    }
}

impl Node {
    /// Whether the node, if it were empty, could hold one container of the function.
    #[inline]
    #[must_use]
    pub fn holds(&self, function: &Function) -> bool {
        function.cores <= self.cores && function.memory <= self.memory
    }
}

/// Whether all names differ.
fn unique<'a>(list: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Invalid> {
    let mut seen = std::collections::BTreeMap::new();
    for (index, name) in names.enumerate() {
        if let Some(first) = seen.insert(name, index) {
            return Err(Invalid {
                field: format!("{list}[{index}].name"),
                value: format!("{name:?}, the name of {list}[{first}] too"),
                expected: "a name of its own",
            });
        }
    }
    Ok(())
}

impl Links {
    /// Links from a rule: `rate(s, v)` for every pair of different nodes.
    ///
    /// # Errors
    /// The first rate that is not a finite number above zero.
    pub fn from_fn(
        nodes: usize,
        mut rate: impl FnMut(NodeId, NodeId) -> MegabytesPerSecond,
    ) -> Result<Links, Invalid> {
        let mut rates = Vec::with_capacity(nodes * nodes);
        for source in 0..nodes {
            for target in 0..nodes {
                if source == target {
                    rates.push(MegabytesPerSecond(f64::INFINITY));
                    continue;
                }
                let value = rate(NodeId(source as u32), NodeId(target as u32));
                let field = || format!("topology.links[{source}][{target}]");
                require(positive(value.0), field, value.0, "a rate in MB/s above 0")?;
                rates.push(value);
            }
        }
        Ok(Links { nodes, rates })
    }

    /// eps_{s,v}, infinite for s = v.
    #[inline]
    pub fn rate(&self, source: NodeId, target: NodeId) -> MegabytesPerSecond {
        self.row(source)[target.index()]
    }

    /// The rates from one source to every node.
    #[inline]
    pub fn row(&self, source: NodeId) -> &[MegabytesPerSecond] {
        &self.rates[source.index() * self.nodes..][..self.nodes]
    }
}

impl Serialize for Links {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = |rate: &MegabytesPerSecond| rate.0.is_finite().then_some(rate.0);
        // `chunks` of zero would panic; a topology without nodes is refused by `validate`, but may still be printed.
        let rows = self.rates.chunks(self.nodes.max(1)).map(|row| row.iter().map(value).collect::<Vec<_>>());
        serializer.collect_seq(rows)
    }
}

impl<'de> Deserialize<'de> for Links {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Links, D::Error> {
        use serde::de::Error;
        let rows = Vec::<Vec<Option<f64>>>::deserialize(deserializer)?;
        for (source, row) in rows.iter().enumerate() {
            if row.len() != rows.len() {
                let (found, expected) = (row.len(), rows.len());
                return Err(D::Error::custom(format!("links[{source}]: {found} rates: expected {expected}")));
            }
            if let Some(target) = (0..row.len()).find(|&target| target != source && row[target].is_none()) {
                return Err(D::Error::custom(format!(
                    "links[{source}][{target}]: null: expected a rate in MB/s above 0"
                )));
            }
            if let Some(rate) = row[source] {
                let text =
                    format!("links[{source}][{source}]: {rate}: expected null (no transfer within a node)");
                return Err(D::Error::custom(text));
            }
        }
        let rate = |s: NodeId, v: NodeId| MegabytesPerSecond(rows[s.index()][v.index()].unwrap_or(f64::NAN));
        Links::from_fn(rows.len(), rate).map_err(D::Error::custom)
    }
}
