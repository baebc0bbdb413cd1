//! Mixed-integer evolutionary optimisation: the paper's baseline "Midaco-solver", and what the same idea can do when it
//! may look at the problem.
//!
//! Two presets, both [`Solver`](scale_model::Solver)s, seeded, cancellable, anytime:
//!
//! - [`Midaco`], the faithful baseline: a black-box search over a vector of whole numbers. It knows bounds, objective
//!   and residual. One evaluation is one evaluation of the whole vector.
//! - [`Hybrid`], ours: the same operators on the encoding that the problem suggests, one or two requests at a time. One
//!   evaluation is the exact value of one candidate, which costs O(1) instead of O(requests).
//!
//! # Reading order
//! 1. [`problem`]: what a black box is. [`oracle`]: how objective and residual become one number.
//! 2. [`midaco`]: the black-box search, generic over [`Problem`]. [`batch`]: a batch as a [`Problem`]. [`Fitted`]: the search
//!    on a platform that has to place something.
//! 3. `ranks`: costs in whole numbers and the encoding by rank. `assignment`: the exact value of a move in O(1).
//!    `start`: greedy and regret. `exchange`: chains of moves. `pool`: room for who waits. [`hybrid`]: the search on
//!    top of them. [`Polish`]: a few moves of it after another algorithm.

mod assignment;
pub mod batch;
mod draw;
mod exchange;
mod fitted;
pub mod hybrid;
pub mod islands;
pub mod midaco;
pub mod oracle;
mod polish;
mod pool;
pub mod problem;
mod ranks;
mod start;

pub use batch::BlackBox;
pub use fitted::Fitted;
pub use hybrid::{Hybrid, HybridRun};
pub use midaco::{Found, Midaco, Run, Settings, Step, minimise, minimise_on_islands};
pub use oracle::Oracle;
pub use polish::Polish;
pub use problem::{Problem, Value, Variable};
