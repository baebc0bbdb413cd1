//! The paper in types and pure functions: its nouns, Eqs. (1)-(3), the objective (4), the constraints (5)-(8) as a
//! judge, and the two traits that every algorithm implements.
//!
//! The paper is "Scale: Deep Reinforcement Learning for Container Scheduling in Serverless Edge Computing"
//! (Chen, Jia, Sabbioni, Farahani, Jiao; arXiv:2605.15704v1, May 2026). Its symbols stand in the field docs.
//!
//! Nothing here reads a file, draws a random number or looks at a clock, and after validation nothing fails.
//!
//! # Reading order
//! 1. [`units`] and [`ids`]: quantities and names.
//! 2. [`platform`]: nodes, links and functions, which never change. [`workload`]: requests.
//! 3. [`state`]: what is busy and what is idle right now.
//! 4. [`problem`]: one batch to decide, and what it costs. [`placement`]: an answer.
//! 5. [`latency`]: Eqs. (1)-(3). [`evaluate`](mod@evaluate): what an answer costs. [`check`]: whether it is allowed.
//! 6. [`solve`]: the traits [`Scheduler`] and [`Solver`].
//! 7. [`instance`]: a batch as JSON. [`linear`]: a batch as a mixed-integer program, in MPS and LP format.

pub mod check;
pub mod evaluate;
pub mod ids;
pub mod instance;
pub mod latency;
pub mod linear;
pub mod placement;
pub mod platform;
pub mod problem;
pub mod seed;
pub mod solve;
pub mod state;
pub mod units;
pub mod validate;
pub mod workload;

pub use check::{Violation, violations};
pub use evaluate::{Evaluation, evaluate};
pub use ids::{FunctionId, NodeId, RequestId};
pub use instance::{Instance, InstanceError};
pub use latency::Latency;
pub use placement::{Container, Decision, Placement};
pub use platform::{Function, Links, Node, Platform, Position, Topology};
pub use problem::{BatchProblem, Objective, Slo};
pub use seed::Seed;
pub use solve::{
    Budget, OneByOne, Outcome, Proof, Scheduler, Solution, SolveError, Solver, Stop, decide_batch,
};
pub use state::ClusterState;
pub use units::{
    CoreMilliseconds, Cores, Gigahertz, Megabytes, MegabytesPerSecond, Memory, Milliseconds, Time,
};
pub use validate::Invalid;
pub use workload::{Request, Workload};
