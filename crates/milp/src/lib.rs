//! Eqs. (4)-(8) solved by HiGHS, with a proof of what is optimal.
//!
//! # What the build needs
//! HiGHS is C++ and is compiled along (some five minutes on two cores, once for each profile): a C++ compiler with
//! `make`, **cmake** 3.15 or newer, and **libclang**, which generates the bindings. In this workspace
//! `cargo xtask` brings cmake and libclang where they are missing, and `eval "$(cargo xtask tools)"` makes them known
//! to a plain `cargo build`. A project that depends on this crate alone installs them (Debian: `g++ make cmake
//! libclang-dev`) or points the variables `CMAKE` and `LIBCLANG_PATH` at them.
//!
//! # Threads
//! HiGHS always runs on one thread here: its results are then the same on every machine, and solves on several threads
//! of one process do not meet in its scheduler. Two solves with different thread counts in one process are an error in
//! HiGHS, so nothing here makes the count a parameter.
//!
//! # Reading order
//! 1. [`paper`]: Eqs. (4)-(8), constraint by constraint, as a [`Solver`](scale_model::Solver).
//! 2. [`compact`]: the same optimum, much faster; the course of the search and what is proved.
//! 3. `batch.rs`: the compact form of a batch, and what is left out of it.
//! 4. [`bounds`]: capacity-free, LP (column generation) and Lagrangian bound.
//! 5. `knapsack.rs`: the bound over patterns of a node, and the solutions found on the way.
//! 6. `start.rs`: regret, annealing and descent.
//! 7. [`highs`](mod@highs): any model in MPS format. `raw.rs`: the C interface, the only `unsafe` of the workspace.

mod batch;
pub mod bounds;
pub mod compact;
pub mod highs;
mod knapsack;
#[cfg(test)]
mod oracle;
pub mod paper;
mod raw;
mod start;

pub use paper::{Formulation, Milp};

pub use self::highs::{HighsOptions, MilpError, ModelStatus, MpsSolution, solve_mps};
