//! Learned schedulers: *Scale*, the paper's PPO actor-critic with the hierarchical action (node, then new container or
//! reuse; section IV, Algorithm 1), and its baseline m-DQN.
//!
//! Nothing is here yet but what both rest on, and that stands in other crates on purpose: an agent is a
//! [`Scheduler`](scale_model::Scheduler) that remembers what [`observe`](scale_model::Scheduler::observe) tells it, and
//! it trains on the simulator itself ([`scale_sim::simulate()`], or [`scale_sim::Simulation`] step by step for a learner
//! that wants to hold the reins), over the days that a scenario lists as `train_days`. There is no second environment.
