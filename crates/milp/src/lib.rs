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
//! # What it says while it runs
//! [`Milp::solve_telling`] tells how far a solve is, and can be cancelled from there; so can every solve by
//! [`Budget::cancel`](scale_model::Budget). The log of HiGHS goes to `tracing`, level debug, target
//! `scale_milp::highs::log`; nothing is ever printed.
//!
//! # Without a placement
//! Under [`Slo::Hard`](scale_model::Slo::Hard) a batch may have no placement. The error then names the requests that no
//! node could serve in time even if it were empty; if there are none, [`conflict()`] names a set of requests and nodes that
//! conflict, none of which can be left out.
//!
//! # Another solver
//! Nothing here has to be taken on trust. [`LinearProgram::of`](scale_model::linear::LinearProgram::of) writes a batch,
//! Eqs. (4)-(8) line by line, as free MPS or in the LP format, and any solver's optimum of it must be ours:
//!
//! ```text
//! scale export paper --batch 100 --to batch.json      # the batch
//! scale export paper --batch 100 --to batch.mps       # the same as a program
//! scale solve batch.json --solver milp                # our optimum
//! highs --options_file=gap.txt batch.mps              # gap.txt: mip_rel_gap = 0, mip_abs_gap = 0
//! scip -c "read batch.mps optimize display solution quit"
//! cbc batch.mps ratioGap 0 allowableGap 0 solve solution batch.sol
//! glpsol --freemps batch.mps -o batch.sol
//! ```
//!
//! Three things to know. Solvers stop at a gap of 1e-4 and call it optimal: set it to zero. Column `one` is fixed at 1 and
//! carries the constant of (4), so the objective is J with no offset to add. Row `slo_k` holds up to the solver's
//! tolerance (1e-6 of a ms) and has a big-M, while here pairs are compared exactly: a batch in which a latency lies within
//! that of its SLO can differ by the price of being late. `tests/another_solver.rs` does it with microlp, a solver in
//! Rust that shares no code with HiGHS.
//!
//! # Reading order
//! 1. [`paper`]: Eqs. (4)-(8), constraint by constraint, as a [`Solver`](scale_model::Solver).
//! 2. [`compact`]: the same optimum, much faster; the course of the search and what is proved.
//! 3. `batch.rs`: the compact form of a batch, and what is left out of it.
//! 4. [`bounds`]: capacity-free, LP (column generation) and Lagrangian bound. `ascent.rs`: where the LP starts.
//! 5. `cuts.rs`: what whole requests say of a node's room beyond (6) and (7), as rows for the LP.
//! 6. `knapsack.rs`: the bound over patterns of a node, and the solutions found on the way. `items.rs`: the best
//!    pattern of one node.
//! 7. `start.rs`: regret, annealing and descent.
//! 8. `conflict.rs`: why there is no placement. `progress.rs`: what a solve says while it runs.
//! 9. [`highs`](mod@highs): any model in MPS format. `raw.rs`: the C interface, the only `unsafe` of the workspace.

mod ascent;
mod batch;
pub mod bounds;
pub mod compact;
mod conflict;
mod cuts;
pub mod highs;
mod items;
mod knapsack;
#[cfg(test)]
mod oracle;
pub mod paper;
mod progress;
mod raw;
mod start;

pub use conflict::{Conflict, conflict};
pub use paper::{Formulation, Milp};
pub use progress::Progress;

pub use self::highs::{HighsOptions, MilpError, ModelStatus, MpsSolution, solve_mps};
