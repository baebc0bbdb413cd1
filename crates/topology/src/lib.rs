//! Edge topologies: where the sites stand, what hardware each one has, and how fast data moves between them.
//!
//! A topology is made in two steps: sites from a file ([`read_sites()`], in any format) or from a rule ([`rule`]), then
//! [`build()`], which gives each site a node type ([`hardware`]) and each pair of sites a rate ([`links`]).
//!
//! ```
//! use scale_model::Seed;
//! use scale_topology::{Area, HardwareSpec, LinkSpec, build, rule};
//! let sites = rule::sites(&Area::MELBOURNE_CBD, 125, Seed(1));
//! let hardware = HardwareSpec { cores_per_ghz: 1.0 };
//! let links = LinkSpec { line_mb_s: 100.0, hop_m: 500.0 };
//! let topology = build(&sites, &hardware, &links, Seed(1))?;
//! assert_eq!(topology.nodes.len(), 125);
//! # Ok::<(), scale_topology::TopologyError>(())
//! ```
//!
//! # Reading order
//! [`build`](mod@build), [`read`], [`eua`], [`geojson`], [`graphml`], [`rule`], [`hardware`], [`links`], [`describe`],
//! [`error`].

pub mod build;
pub mod describe;
mod draw;
pub mod error;
pub mod eua;
pub mod geojson;
pub mod graphml;
pub mod hardware;
mod input;
pub mod links;
pub mod read;
pub mod rule;

pub use build::{Given, MAX_SITES, Site, build};
pub use describe::{Distances, Statistics, to_metres};
pub use error::TopologyError;
pub use eua::ReadReport;
pub use hardware::{HardwareSpec, NODE_TYPES, NodeType};
pub use input::{MAX_BYTES, Unplaced};
pub use links::{LinkSpec, haversine};
pub use read::{Format, parse_sites, read_sites};
pub use rule::Area;
