//! `k8s-default`: kube-scheduler's LeastAllocated + BalancedAllocation + ImageLocality, weight 1 each. Source:
//! Kubernetes, `pkg/scheduler/framework/plugins`, with its integer arithmetic.
//!
//! - **NodeResourcesFit** filters (constraints (6) and (7)) and scores *least allocated*: for cores and memory
//!   s = (capacity - requested) * 100 / capacity, and the mean of the two, both divisions rounding down.
//! - **NodeResourcesBalancedAllocation**: (1 - |f1 - f2| / 2) * 100, where f = requested / capacity, cut to a whole
//!   number. It is computed in floating point there too. Recent releases map the change that the pod makes instead;
//!   this is the form of the releases before.
//! - **ImageLocality**: image size * share of the nodes that have it, clamped to [23 MiB, 1000 MiB] and scaled to
//!   0..100; 0 on a node without it. An image below 23 MiB always scores 0.
//!
//! *Requested* is what busy containers hold and this request adds: idle containers make room here, so they are no
//! more a claim on the node for the score than for the filter. *Having the image* means a container of the function,
//! busy or idle: nodes keep no other images. All nodes are scored (`percentageOfNodesToScore: 100`). Ties go to one
//! of the best, all equally likely, by reservoir sampling as in `selectHost`.

use crate::draw::Draw;
use crate::scan::Scan;
use scale_model::{BatchProblem, ClusterState, Decision, NodeId, Scheduler, Seed};

/// The node with the highest sum of kube-scheduler's default resource scores; ties at random.
#[derive(Clone, Debug)]
pub struct K8sDefault {
    draw: Draw,
}

impl K8sDefault {
    /// Draws from the stream of `seed`.
    #[must_use]
    pub fn new(seed: Seed) -> K8sDefault {
        K8sDefault { draw: Draw::new(seed) }
    }
}

impl Scheduler for K8sDefault {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let scan = Scan::of(batch, state, next);
        let holders = batch.platform.node_ids().filter(|&node| has_image(&scan, node)).count() as u32;
        let image = image_locality(scan.function.image.0, holders, scan.len());
        let (mut best, mut highest, mut ties) = (None, 0, 0);
        for node in scan.fitting() {
            let score = resources(&scan, node) + if has_image(&scan, node) { image } else { 0 };
            if best.is_none() || score > highest {
                (best, highest, ties) = (Some(node), score, 1);
            } else if score == highest {
                ties += 1;
                if self.draw.below(ties) == 0 {
                    best = Some(node);
                }
            }
        }
        scan.decision(best)
    }
}

/// LeastAllocated + BalancedAllocation of a node, were the request there.
fn resources(scan: &Scan<'_>, node: NodeId) -> u64 {
    let capacity = scan.platform.node(node);
    let cores = (scan.state.used_cores(node) + scan.function.cores, capacity.cores);
    let memory = (scan.state.used_memory(node) + scan.function.memory, capacity.memory);
    let cores = Use { requested: cores.0.milli.into(), capacity: cores.1.milli.into() };
    let memory = Use { requested: memory.0.mb.into(), capacity: memory.1.mb.into() };
    least_allocated(cores, memory) + balanced_allocation(cores, memory)
}

/// One resource of a node: what is asked of it and what it has.
#[derive(Clone, Copy)]
struct Use {
    requested: u64,
    capacity: u64,
}

/// NodeResourcesFit with the strategy LeastAllocated, 0..100.
fn least_allocated(cores: Use, memory: Use) -> u64 {
    let score = |Use { requested, capacity }: Use| match capacity.checked_sub(requested) {
        Some(free) if capacity > 0 => free * 100 / capacity,
        _ => 0,
    };
    (score(cores) + score(memory)) / 2
}

/// NodeResourcesBalancedAllocation, 0..100.
fn balanced_allocation(cores: Use, memory: Use) -> u64 {
    let fraction = |of: Use| (of.requested as f64 / of.capacity as f64).min(1.0);
    let deviation = ((fraction(cores) - fraction(memory)) / 2.0).abs();
    ((1.0 - deviation) * 100.0) as u64
}

/// ImageLocality of a node that has the image, 0..100.
fn image_locality(image_mb: f64, holders: u32, nodes: u32) -> u64 {
    const MEBIBYTE: u64 = 1024 * 1024;
    const LEAST: u64 = 23 * MEBIBYTE;
    const MOST: u64 = 1000 * MEBIBYTE;
    let bytes = (image_mb * 1e6).trunc();
    let spread = f64::from(holders) / f64::from(nodes);
    ((bytes * spread) as u64).clamp(LEAST, MOST).abs_diff(LEAST) * 100 / (MOST - LEAST)
}

fn has_image(scan: &Scan<'_>, node: NodeId) -> bool {
    scan.warm(node) || scan.state.busy(scan.request.function, node) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand; every division rounds down.
    #[test]
    fn resource_scores() {
        // (cores requested, capacity), (memory requested, capacity), least allocated, balanced
        let table = [
            // Empty node: (100 + 100) / 2; no deviation.
            ((0, 4000), (0, 10_000), 100, 100),
            // 2500/4000 free = 62, 7000/10000 free = 70, mean 66; f = 0.375 and 0.3: 1 - 0.0375 = 0.9625.
            ((1500, 4000), (3000, 10_000), 66, 96),
            // 1/3 free = 33, full = 0, mean 16; f = 2/3 and 1: 1 - 1/6.
            ((2000, 3000), (500, 500), 16, 83),
            // Asked for more than there is: 0, and the fraction is cut at 1.
            ((5000, 4000), (0, 500), 50, 50),
        ];
        for ((cores, has_cores), (memory, has_memory), least, balanced) in table {
            let cores = Use { requested: cores, capacity: has_cores };
            let memory = Use { requested: memory, capacity: has_memory };
            assert_eq!(least_allocated(cores, memory), least);
            assert_eq!(balanced_allocation(cores, memory), balanced);
        }
    }

    #[test]
    fn image_scores() {
        // (MB, nodes with the image, nodes, score)
        let table = [
            (20.0, 125, 125, 0),   // below 23 MiB, everywhere
            (500.0, 1, 125, 0),    // 4 MB after scaling
            (500.0, 125, 125, 46), // (500.0 - 24.1) * 100 / (1048.6 - 24.1)
            (500.0, 50, 125, 17),  // 200 MB: (200.0 - 24.1) * 100 / 1024.5
            (5000.0, 125, 125, 100),
        ];
        for (image, holders, nodes, expected) in table {
            assert_eq!(image_locality(image, holders, nodes), expected, "{image} MB on {holders} of {nodes}");
        }
    }
}
