//! Edge topologies: where the sites stand, what hardware each one has, and how fast data moves between them.
//!
//! A topology is made in two steps: sites from a file ([`eua`]) or from a rule ([`rule`]), then [`build()`], which
//! gives each site a node type ([`hardware`]) and each pair of sites a rate ([`links`]).
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
//! [`build`](mod@build), [`eua`], [`rule`], [`hardware`], [`links`], [`describe`], [`error`].

pub mod build;
pub mod describe;
mod draw;
pub mod error;
pub mod eua;
pub mod hardware;
pub mod links;
pub mod rule;

pub use build::{Site, build};
pub use describe::{Distances, Statistics, to_metres};
pub use error::TopologyError;
pub use eua::ReadReport;
pub use hardware::{HardwareSpec, NODE_TYPES, NodeType};
pub use links::{LinkSpec, haversine};
pub use rule::Area;
