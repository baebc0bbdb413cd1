//! Rules of thumb for placing containers, one file each: the yardsticks that a learned policy has to beat.
//!
//! All of them share four habits, so that they differ in the choice of the node and in nothing else:
//! they choose among nodes that still have the cores and the memory, constraints (6) and (7); on the chosen node they
//! take an idle container of the function if there is one and start a new one if not; a request that fits nowhere is
//! deferred; and the same seed gives the same decisions.
//!
//! | rule | the node it takes | knows latency | knows warmth |
//! |---|---|---|---|
//! | [`RandomFeasible`] | any that fits, all equally likely | | |
//! | [`RoundRobin`] | the next that fits, in a circle | | |
//! | [`PowerOfTwo`] | the less loaded of two drawn at random | | |
//! | [`Nearest`] | the source, else the best link | in part | |
//! | [`WarmFirstFit`] | the first with an idle container, else the first | | yes |
//! | [`LeastLoaded`] | the least share of cores in use, then a warm one | | as a tie-break |
//! | [`OpenWhiskSharding`] | the function's home, then in coprime steps | | by affinity |
//! | [`Hermod`] | packs while there are spare cores, then balances | | yes |
//! | [`K8sDefault`] | kube-scheduler's three resource scores | | as image locality |
//! | [`GreedyLatency`] | the least latency of this request | yes | yes |
//! | [`GreedyRegret`] | a whole batch: first the request with most to lose | yes | yes |
//!
//! # Reading order
//! `scan` (private) holds the loops that all rules share; then any rule, [`GreedyLatency`] first.

mod draw;
mod greedy_latency;
mod greedy_regret;
mod hermod;
mod k8s_default;
mod least_loaded;
mod nearest;
mod openwhisk_sharding;
mod power_of_two;
mod random_feasible;
mod round_robin;
mod scan;
mod warm_first_fit;

pub use greedy_latency::GreedyLatency;
pub use greedy_regret::GreedyRegret;
pub use hermod::Hermod;
pub use k8s_default::K8sDefault;
pub use least_loaded::LeastLoaded;
pub use nearest::Nearest;
pub use openwhisk_sharding::OpenWhiskSharding;
pub use power_of_two::PowerOfTwo;
pub use random_feasible::RandomFeasible;
pub use round_robin::RoundRobin;
pub use warm_first_fit::WarmFirstFit;
