//! Learned schedulers: [`scale`], our own; the paper's PPO actor-critic with the hierarchical action (node, then new container
//! or reuse; section IV, Algorithm 1); and the paper's baseline m-DQN.
//!
//! All train on the simulator itself ([`scale_sim::Simulation`]), over days that the caller lists. The paper's two act as a
//! [`Scheduler`](scale_model::Scheduler); our own decides whole batches, as a [`Solver`](scale_model::Solver). A training is a
//! pure function of configuration, environments and seed.
//!
//! # Reading order
//! 1. [`observe`]: what an agent sees (9), may do and gets (10). [`env`](mod@env): the simulator with `reset` and `step`.
//! 2. [`hierarchy`]: the masked distribution over (node, container).
//! 3. [`ppo`]: Algorithm 1. [`dqn`]: m-DQN. [`agent`]: a trained network at work.
//! 4. Beyond the paper: [`scale`], a policy with foresight; what it looks at ([`features`]) and its [`scorer`]. It is
//!    trained by [`evolution`] strategies; [`imitation`] and policy [`gradient`] are there to compare with.
//!    [`lookahead`] is no scheduler but a yardstick: it knows the arrivals to come.
//! 5. Underneath: [`net`] on `math`, [`adam`], [`draw`], [`checkpoint`], [`error`]. `autograd`: distribution and networks in candle.
//!
//! # Without candle
//! Nothing here acts or trains by candle. It is what the tests hold the rest against, and there for learners that differentiate
//! automatically: with `default-features = false` it is left out, and with it most of what there is to build.

pub mod adam;
pub mod agent;
#[cfg(feature = "candle")]
pub mod autograd;
pub mod checkpoint;
pub mod dqn;
pub mod draw;
pub mod env;
pub mod error;
pub mod evolution;
pub mod features;
pub mod gradient;
pub mod hierarchy;
pub mod imitation;
pub mod lookahead;
mod math;
pub mod net;
pub mod observe;
pub mod ppo;
pub mod scale;
pub mod scorer;

pub use agent::{Agent, Head, Network};
pub use env::{Day, End, Env, Report, SimEnv, Step};
pub use error::LearnError;
pub use observe::{Action, LAYOUT, Mask, Open, Reward};
