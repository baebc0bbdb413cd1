//! A batch as a black box: what the preset `midaco` sees of the scheduling problem.
//!
//! The point has two whole coordinates a request, side by side: the paper's a1, the index of the node, and a2, the
//! container: 0 to reuse an idle one *if one is left*, else and for 1 a new one. Under [`Slo::Elastic`] the index after
//! the last node stands for deferral.
//!
//! # Why "if one is left"
//! The requests are read in the batch's order, and each finds what those before it left, as on the platform, where a
//! request whose container is gone starts a new one. Every allowed placement still has its point (its own nodes and
//! containers), so nothing of the two-part action is lost; but a point that asks for a container too many has a meaning
//! instead of a residual. With a residual there, half of all moves of a node break something until the flag follows,
//! and the same search ends several times as far from the optimum: 25 % instead of 5 % with 200 requests at load 0.3.
//!
//! The objective is that of [`evaluate`](scale_model::evaluate()), to the bit. The residual is what is missing, in the
//! objective's unit: 1000 ms for a core (6) and for a gigabyte of memory (7), and under [`Slo::Hard`] the milliseconds
//! by which requests are late (8).

use crate::problem::{Problem, Value, Variable};
use scale_model::{BatchProblem, Container, Decision, NodeId, Objective, Placement, Slo, latency};

/// A batch as a vector of whole numbers.
#[derive(Clone, Debug)]
pub struct BlackBox {
    variables: Vec<Variable>,
    requests: Vec<Need>,
    objective: Objective,
    /// Nodes and, as the last column, deferral.
    columns: usize,
    /// T_k by (request, column, 0 for reuse and 1 for new).
    totals: Vec<[f64; 2]>,
    /// What each node has left before the batch; the column of deferral has more than any batch needs.
    free: Vec<Free>,
    /// Idle containers by (function of the batch, column).
    idle: Vec<i32>,
    // Working memory of `evaluate`, equal to `free` and `idle` between two calls.
    left: Vec<Free>,
    idle_left: Vec<i32>,
}

/// What a request needs.
#[derive(Clone, Copy, Debug)]
struct Need {
    cores: i64,
    memory: i64,
    /// T_k above this is late.
    slo: f64,
    /// Where the row of its function starts in the table of idle containers.
    row: usize,
}

/// What a node has left, in thousandths of a core and megabytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Free {
    cores: i64,
    memory: i64,
}

impl BlackBox {
    /// The tables of a batch.
    pub fn of(problem: &BatchProblem<'_>) -> BlackBox {
        let platform = problem.platform;
        let nodes = platform.topology.nodes.len();
        let columns = nodes + 1;
        let last = if problem.objective.slo == Slo::Hard { nodes.saturating_sub(1) } else { nodes };
        let count = problem.requests.len();
        let variables = [Variable::whole(0, last as i32), Variable::whole(0, 1)].repeat(count);

        let mut functions: Vec<_> = problem.requests.iter().map(|request| request.function).collect();
        functions.sort_unstable();
        functions.dedup();
        let plenty = Free { cores: i64::MAX / 2, memory: i64::MAX / 2 };
        let mut free: Vec<Free> = platform
            .node_ids()
            .map(|id| {
                let (node, state) = (platform.node(id), problem.state);
                Free {
                    cores: i64::from(node.cores.milli) - i64::from(state.used_cores(id).milli),
                    memory: i64::from(node.memory.mb) - i64::from(state.used_memory(id).mb),
                }
            })
            .collect();
        free.push(plenty);
        let mut idle = Vec::with_capacity(functions.len() * columns);
        for &function in &functions {
            idle.extend(problem.state.idle_row(function).iter().map(|&n| n.min(i32::MAX as u32) as i32));
            idle.push(i32::MAX);
        }
        let mut requests = Vec::with_capacity(count);
        let mut totals = Vec::with_capacity(count * columns);
        for request in problem.requests {
            let function = platform.function(request.function);
            let row = functions.partition_point(|&other| other < request.function) * columns;
            requests.push(Need {
                cores: i64::from(function.cores.milli),
                memory: i64::from(function.memory.mb),
                slo: request.slo.0,
                row,
            });
            let total = |node, container| {
                latency::predict(platform, request, node, container, problem.now()).total().0
            };
            let both = |node| [total(node, Container::Reuse), total(node, Container::New)];
            totals.extend(platform.node_ids().map(both));
            totals.push([(problem.now() - request.arrival).0; 2]);
        }
        BlackBox {
            variables,
            requests,
            objective: problem.objective,
            columns,
            totals,
            left: free.clone(),
            free,
            idle_left: idle.clone(),
            idle,
        }
    }

    /// The placement that a point stands for: idle containers go to whom they are left for, in the batch's order.
    pub fn placement(&self, point: &[f64]) -> Placement {
        let mut left = self.idle.clone();
        let decision = |(need, &[node, flag]): (&Need, &[f64; 2])| {
            let column = node as usize;
            if column + 1 == self.columns {
                return Decision::Defer;
            }
            let idle = &mut left[need.row + column];
            let reuse = flag < 0.5 && *idle > 0;
            *idle -= i32::from(reuse);
            let container = if reuse { Container::Reuse } else { Container::New };
            Decision::Run { node: NodeId(node as u32), container }
        };
        Placement { decisions: self.requests.iter().zip(point.as_chunks().0).map(decision).collect() }
    }
}

impl Problem for BlackBox {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn evaluate(&mut self, point: &[f64]) -> Value {
        let (point, _) = point.as_chunks::<2>();
        let mut latency = 0.0;
        let (mut late, mut deferred, mut tardy) = (0, 0, 0.0);
        for ((need, row), &[node, flag]) in
            self.requests.iter().zip(self.totals.chunks_exact(self.columns)).zip(point)
        {
            // By way of i32, which the processor converts to in one step.
            let column = node as i32 as usize;
            let idle = &mut self.idle_left[need.row + column];
            let new = flag >= 0.5 || *idle == 0;
            *idle -= i32::from(!new);
            let total = row[column][usize::from(new)];
            latency += total;
            late += usize::from(total > need.slo);
            tardy += (total - need.slo).max(0.0);
            deferred += usize::from(column + 1 == self.columns);
            let left = &mut self.left[column];
            left.cores -= need.cores;
            left.memory -= need.memory;
        }
        let mut residual = 0;
        for (left, &free) in self.left.iter_mut().zip(&self.free) {
            residual += (-left.cores).max(0) + (-left.memory).max(0);
            *left = free;
        }
        for (need, &[node, _]) in self.requests.iter().zip(point) {
            let place = need.row + node as i32 as usize;
            self.idle_left[place] = self.idle[place];
        }
        let mut residual = residual as f64;
        if self.objective.slo == Slo::Hard {
            residual += tardy;
        }
        let objective = self.objective.total(scale_model::Milliseconds(latency), late, deferred);
        Value { objective, residual }
    }
}
