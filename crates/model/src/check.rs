//! The judge: constraints (5)-(8), one function each. It shares no code with the players beyond Eqs. (1)-(3).

use crate::ids::{FunctionId, NodeId};
use crate::latency;
use crate::placement::{Container, Decision, Placement};
use crate::problem::{BatchProblem, Slo};
use crate::units::{Cores, Memory, Milliseconds};
use crate::workload::Request;
use thiserror::Error;

/// One way in which a placement is not allowed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Violation {
    /// Not one decision for each request.
    #[error("{decisions} decisions for {requests} requests")]
    Length {
        /// How many decisions there are.
        decisions: usize,
        /// How many there should be.
        requests: usize,
    },
    /// A decision names a node that does not exist.
    #[error("request {index} of the batch runs on {node}, which does not exist")]
    UnknownNode {
        /// Index of the request in the batch.
        index: usize,
        /// The node.
        node: NodeId,
    },
    /// (5): under [`Slo::Hard`] every request is placed.
    #[error("(5): request {index} of the batch is not placed")]
    NotPlaced {
        /// Index of the request in the batch.
        index: usize,
    },
    /// (6): more cores than the node has.
    #[error("(6): {node} would hold {used} of {capacity}")]
    Cores {
        /// The node.
        node: NodeId,
        /// Cores held before the batch and by it.
        used: Cores,
        /// F_v.
        capacity: Cores,
    },
    /// (7): more memory than the node has.
    #[error("(7): {node} would hold {used} of {capacity}")]
    Memory {
        /// The node.
        node: NodeId,
        /// Memory held before the batch and by it.
        used: Memory,
        /// C_v.
        capacity: Memory,
    },
    /// (8): under [`Slo::Hard`] every request ends in time.
    #[error("(8): request {index} of the batch takes {latency}, more than its SLO of {slo}")]
    Late {
        /// Index of the request in the batch.
        index: usize,
        /// T_k.
        latency: Milliseconds,
        /// O_k.
        slo: Milliseconds,
    },
    /// What the paper implies: each idle container serves one request.
    #[error("{reuses} requests reuse a container of {function} on {node}, where {idle} are idle")]
    NoIdleContainer {
        /// The node.
        node: NodeId,
        /// The function.
        function: FunctionId,
        /// Reuses in the placement.
        reuses: u32,
        /// Idle containers before the batch.
        idle: u32,
    },
}

/// Every way in which a placement breaks (5)-(8) or the rule on idle containers. Empty: it is allowed.
///
/// If the number of decisions is wrong or a node does not exist, only that is reported.
#[must_use]
pub fn violations(problem: &BatchProblem<'_>, placement: &Placement) -> Vec<Violation> {
    let (decisions, requests) = (placement.decisions.len(), problem.requests.len());
    if decisions != requests {
        return vec![Violation::Length { decisions, requests }];
    }
    let unknown = unknown_nodes(problem, placement);
    if !unknown.is_empty() {
        return unknown;
    }
    let mut found = not_placed(problem, placement);
    found.extend(cores(problem, placement));
    found.extend(memory(problem, placement));
    found.extend(late(problem, placement));
    found.extend(idle_containers(problem, placement));
    found
}

/// The placed requests with their index, node and container.
fn placed<'a>(
    problem: &'a BatchProblem<'_>,
    placement: &'a Placement,
) -> impl Iterator<Item = (usize, &'a Request, NodeId, Container)> {
    problem.requests.iter().zip(&placement.decisions).enumerate().filter_map(
        |(index, (request, decision))| match *decision {
            Decision::Run { node, container } => Some((index, request, node, container)),
            Decision::Defer => None,
        },
    )
}

fn unknown_nodes(problem: &BatchProblem<'_>, placement: &Placement) -> Vec<Violation> {
    let nodes = problem.platform.topology.nodes.len();
    placed(problem, placement)
        .filter(|(_, _, node, _)| node.index() >= nodes)
        .map(|(index, _, node, _)| Violation::UnknownNode { index, node })
        .collect()
}

/// Constraint (5): sum over v of x_kv = 1. Under [`Slo::Elastic`] a request may be deferred instead.
fn not_placed(problem: &BatchProblem<'_>, placement: &Placement) -> Vec<Violation> {
    if problem.objective.slo != Slo::Hard {
        return Vec::new();
    }
    let deferred = |(_, decision): &(usize, &Decision)| **decision == Decision::Defer;
    placement
        .decisions
        .iter()
        .enumerate()
        .filter(deferred)
        .map(|(index, _)| Violation::NotPlaced { index })
        .collect()
}

/// Constraint (6): sum over k of f_k x_kv <= F_v, counting what is busy already.
fn cores(problem: &BatchProblem<'_>, placement: &Placement) -> Vec<Violation> {
    let mut used: Vec<Cores> =
        problem.platform.node_ids().map(|node| problem.state.used_cores(node)).collect();
    for (_, request, node, _) in placed(problem, placement) {
        // A batch may ask for more than `u32` holds.
        let used = &mut used[node.index()];
        *used = used.saturating_add(problem.platform.function(request.function).cores);
    }
    problem
        .platform
        .node_ids()
        .map(|node| (node, used[node.index()], problem.platform.node(node).cores))
        .filter(|(_, used, capacity)| used > capacity)
        .map(|(node, used, capacity)| Violation::Cores { node, used, capacity })
        .collect()
}

/// Constraint (7): sum over k of c_k x_kv <= C_v, counting what is busy already. Idle containers make room.
fn memory(problem: &BatchProblem<'_>, placement: &Placement) -> Vec<Violation> {
    let mut used: Vec<Memory> =
        problem.platform.node_ids().map(|node| problem.state.used_memory(node)).collect();
    for (_, request, node, _) in placed(problem, placement) {
        let used = &mut used[node.index()];
        *used = used.saturating_add(problem.platform.function(request.function).memory);
    }
    problem
        .platform
        .node_ids()
        .map(|node| (node, used[node.index()], problem.platform.node(node).memory))
        .filter(|(_, used, capacity)| used > capacity)
        .map(|(node, used, capacity)| Violation::Memory { node, used, capacity })
        .collect()
}

/// Constraint (8): T_k <= O_k. Under [`Slo::Elastic`] a late request costs a penalty instead.
fn late(problem: &BatchProblem<'_>, placement: &Placement) -> Vec<Violation> {
    if problem.objective.slo != Slo::Hard {
        return Vec::new();
    }
    placed(problem, placement)
        .map(|(index, request, node, container)| {
            let latency = latency::predict(problem.platform, request, node, container, problem.now()).total();
            (index, latency, request.slo)
        })
        .filter(|(_, latency, slo)| latency > slo)
        .map(|(index, latency, slo)| Violation::Late { index, latency, slo })
        .collect()
}

/// The constraint that the paper implies: on (v, j) at most as many reuses as there are idle containers.
fn idle_containers(problem: &BatchProblem<'_>, placement: &Placement) -> Vec<Violation> {
    let mut reuses = std::collections::BTreeMap::new();
    for (_, request, node, container) in placed(problem, placement) {
        if container == Container::Reuse {
            *reuses.entry((node, request.function)).or_insert(0) += 1;
        }
    }
    reuses
        .into_iter()
        .map(|((node, function), reuses)| (node, function, reuses, problem.state.idle(function, node)))
        .filter(|(_, _, reuses, idle)| reuses > idle)
        .map(|(node, function, reuses, idle)| Violation::NoIdleContainer { node, function, reuses, idle })
        .collect()
}
