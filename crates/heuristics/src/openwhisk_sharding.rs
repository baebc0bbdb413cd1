//! `openwhisk-sharding`: the function's home node, then on in a fixed coprime step until one fits. Source: Apache
//! OpenWhisk, `ShardingContainerPoolBalancer`.
//!
//! h is the hash of the function; home = h mod N; the steps are the numbers up to N that are coprime to N and
//! pairwise coprime; step = steps[h mod their number]. A step coprime to N visits every node once, and different
//! functions with the same home part ways at the second node. The hash is OpenWhisk's: |hash(namespace) xor
//! hash(action)| with Java's string hash; we have no namespace, so it is that of the function's name.
//!
//! When every node is full OpenWhisk overcommits a random one. Constraints (6) and (7) forbid that, so the request is
//! deferred.

use crate::scan::Scan;
use scale_model::{BatchProblem, ClusterState, Decision, NodeId, Scheduler};

/// The function's home node, then on in a fixed coprime step until one fits.
#[derive(Clone, Debug, Default)]
pub struct OpenWhiskSharding {
    /// For how many nodes `steps` was made.
    nodes: u32,
    steps: Vec<u32>,
}

impl OpenWhiskSharding {
    /// Learns the number of nodes from the first batch.
    #[must_use]
    pub fn new() -> OpenWhiskSharding {
        OpenWhiskSharding::default()
    }
}

impl Scheduler for OpenWhiskSharding {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let scan = Scan::of(batch, state, next);
        if self.nodes != scan.len() {
            self.nodes = scan.len();
            self.steps = coprime_steps(scan.len());
        }
        let hash = java_hash(&scan.function.name).unsigned_abs();
        scan.decision(probes(self.nodes, &self.steps, hash).find(|&node| scan.fits(node)))
    }
}

/// The nodes in the order in which they are asked: each exactly once.
fn probes(nodes: u32, steps: &[u32], hash: u32) -> impl Iterator<Item = NodeId> {
    let home = hash % nodes;
    let step = steps[hash as usize % steps.len()];
    let onward = move |&node: &u32| Some(((u64::from(node) + u64::from(step)) % u64::from(nodes)) as u32);
    std::iter::successors(Some(home), onward).take(nodes as usize).map(NodeId)
}

/// The numbers up to `nodes`, ascending, that are coprime to it and to those before them. Always starts with 1.
fn coprime_steps(nodes: u32) -> Vec<u32> {
    let mut steps: Vec<u32> = Vec::new();
    for candidate in 1..=nodes {
        if gcd(candidate, nodes) == 1 && steps.iter().all(|&step| gcd(step, candidate) == 1) {
            steps.push(candidate);
        }
    }
    steps
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `String.hashCode` of Java: 31 h + c over the UTF-16 units, modulo 2^32.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of OpenWhisk's own documentation: 10 nodes, hash 13.
    #[test]
    fn the_documented_example() {
        let steps = coprime_steps(10);
        assert_eq!(steps, [1, 3, 7]);
        let order: Vec<u32> = probes(10, &steps, 13).map(|node| node.0).collect();
        assert_eq!(order, [3, 6, 9, 2, 5, 8, 1, 4, 7, 0]);
    }

    /// The cases of OpenWhisk's unit test of `pairwiseCoprimeNumbersUntil`, and sizes of ours.
    #[test]
    fn coprime_steps_of_small_clusters() {
        let table: [(u32, &[u32]); 5] = [(1, &[1]), (2, &[1]), (3, &[1, 2]), (4, &[1, 3]), (5, &[1, 2, 3])];
        for (nodes, expected) in table {
            assert_eq!(coprime_steps(nodes), expected, "{nodes} nodes");
        }
        assert_eq!(coprime_steps(125)[..6], [1, 2, 3, 7, 11, 13]);
    }

    #[test]
    fn every_probe_order_visits_every_node_once() {
        for nodes in 1..60 {
            let steps = coprime_steps(nodes);
            for hash in (0..200).chain([u32::MAX - 1, u32::MAX]) {
                let mut order: Vec<u32> = probes(nodes, &steps, hash).map(|node| node.0).collect();
                order.sort();
                assert!(order.into_iter().eq(0..nodes), "{nodes} nodes, hash {hash}");
            }
        }
    }

    /// Values of Java's `String.hashCode`.
    #[test]
    fn java_hashes() {
        for (text, expected) in [("", 0), ("a", 97), ("hello", 99_162_322), ("polygenelubricants", i32::MIN)]
        {
            assert_eq!(java_hash(text), expected, "{text}");
        }
    }
}
