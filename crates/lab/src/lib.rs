//! Experiments as data: measure, record, draw, report. The library behind the binary `scale`.
//!
//! # Reading order
//! 1. [`experiment`]: one TOML file, one experiment. [`scenario`]: what it plays. [`roster`]: who plays.
//! 2. [`measure`]: plays it and writes [`record`]s; never draws. [`stats`]: what is computed from them.
//! 3. [`draw`]: figures from records; never simulates. [`report`]: figures and tables on one page.
//! 4. [`datasets`]: where the data is. [`mod@trace`]: what is in a trace, and other layouts for it. [`reproduce`]: all of the above in one go. [`clock`]: the one place that looks at
//!    a clock.

pub mod clock;
pub mod datasets;
pub mod draw;
pub mod experiment;
pub mod measure;
pub mod record;
pub mod report;
pub mod reproduce;
pub mod roster;
pub mod scenario;
pub mod stats;
pub mod trace;
