//! Experiments as data: measure, record, draw, report. The library behind the binary `scale`.
//!
//! # Reading order
//! 1. [`experiment`]: one TOML file, one experiment. [`scenario`]: what it plays. [`roster`]: who plays.
//!    [`train`]: how agents learn to.
//! 2. [`measure`]: plays it and writes [`record`]s; never draws. [`batches`]: single batches instead of runs. [`stats`]:
//!    what is computed from them. [`merge`]: joins the records of several machines.
//! 3. [`draw`]: figures from records; never simulates. [`report`]: figures and tables on one page.
//! 4. [`datasets`]: where the data is. [`topology`]: what a file of sites holds. [`mod@trace`]: what is in a trace, and other
//!    layouts for it. [`reproduce`]: all of the above in one go. [`clock`]: the one place that looks at a clock.

pub mod batches;
pub mod clock;
pub mod datasets;
pub mod draw;
pub mod experiment;
pub mod measure;
pub mod merge;
pub mod record;
pub mod report;
pub mod reproduce;
pub mod roster;
pub mod scenario;
pub mod stats;
pub mod topology;
pub mod trace;
pub mod train;
