//! Plays a workload against a scheduler or a solver, batch by batch.
//!
//! # Semantics
//! - Requests that arrive at one instant, and those deferred earlier, are one batch and are decided together.
//! - A container is busy from the decision until T_cold + T_comp + T_comm later and then idle. It serves one request at
//!   a time. Busy containers hold cores and memory, idle ones memory only.
//! - A reuse takes the container of the function that became idle last. An idle container goes once `keep_alive` has
//!   passed since it became idle, or, least recently used first, when a batch that is committed needs its memory.
//! - A deferred request joins the next decision: the next arrival, or the next completion if that is sooner.
//!   Completions at an instant come before the decision at it. A request that no node has room for is not put to
//!   anyone, since it can only be deferred: it waits and joins the first decision at which some node has.
//! - A request is rejected, and counted, if no node could hold it even empty, if it has waited for `patience`, or if it
//!   still waits when nothing is left that could change the state.
//!
//! # Reading order
//! [`simulate`](mod@simulate) is the loop and [`Simulation`] one step of it, for learners that want to hold the reins;
//! [`pool`] keeps the idle containers; [`summary`] is what is counted, streaming; [`replay`] plays a finished placement.

pub mod pool;
pub mod replay;
pub mod simulate;
pub mod summary;

pub use replay::Replay;
pub use simulate::{Observer, Policy, Rejection, SimConfig, SimError, Simulation, simulate};
pub use summary::{Histogram, Summary};
