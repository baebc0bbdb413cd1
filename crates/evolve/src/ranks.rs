//! What a batch costs, in tables that the preset `hybrid` reads: for every request the columns (nodes, and deferral as
//! the last one) with their cost, and their order by cost, which is the encoding that it searches in.
//!
//! # Exact, and in whole numbers
//! Costs are whole multiples of a *tick*, a power of two of a millisecond chosen so that the dearest fits 30 bits: some
//! 10^-6 ms. Sums and differences of them are exact, so that a value kept up to date over millions of moves is still
//! the value. Against J it is off by at most half a tick a request; the answer's objective is `evaluate`'s.
//!
//! On a node v and a function j with n requests of which c are *warm-only* (late if cold, in time if warm), and w idle
//! containers, the cost is
//!
//! ```text
//! sum of warm costs + cold(j, v) max(0, n - w) + late penalty max(0, c - w)
//! ```
//!
//! since all requests of j on v have the same T_cold, Eq. (1), and the best use of the idle containers gives them to
//! warm-only requests first. So z is implied by x exactly, warm-only requests included, and two counts are all that a
//! state must keep for each (j, v).
//!
//! Under [`Slo::Hard`] lateness and deferral are priced above anything that latency can outweigh in practice; the
//! judge decides whether the answer is one.

use scale_model::{BatchProblem, Container, Decision, FunctionId, Request, Slo, latency};

/// Costs of a batch by request and column.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    pub(crate) requests: Vec<Need>,
    /// The least that each request can cost: that of its rank 0 if it comes first there.
    pub(crate) first: Vec<i64>,
    /// Nodes and, last, deferral.
    pub(crate) columns: usize,
    /// Ticks in a millisecond.
    pub(crate) ticks: f64,
    /// What one late request costs, in ticks.
    pub(crate) late: i64,
    /// T_k in ms by (request, node), on an idle container and on a new one.
    pub(crate) totals: Vec<[f64; 2]>,
    /// Cost by (request, column).
    pub(crate) costs: Vec<Cost>,
    /// Columns by (request, rank), cheapest first, the rank being the cost that the request has there if it comes
    /// first. Columns that cost as much as deferral or more are left out, and those without room for it.
    order: Vec<u32>,
    /// What the columns of `order` cost if the request comes first there: the least that it can cost on them.
    firsts: Vec<i32>,
    /// Ranks in use by request.
    lengths: Vec<u32>,
    /// Rank by (request, column); of a column that is left out, the last.
    pub(crate) rank_of: Vec<u32>,
    /// (cold cost in ticks, idle containers) by (function of the batch, column).
    pub(crate) groups: Vec<(i64, u32)>,
    /// (thousandths of a core, megabytes) that each column has left; deferral has room for all.
    pub(crate) free: Vec<(i64, i64)>,
}

/// What a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) cores: i64,
    pub(crate) memory: i64,
    /// Where the row of its function starts in `groups`.
    pub(crate) row: usize,
}

/// What a request costs on a column with an idle container, penalties included, and whether it is warm-only there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost(i32);

impl Cost {
    #[inline(always)]
    pub(crate) fn warm(self) -> i64 {
        i64::from(self.0 >> 1)
    }

    #[inline(always)]
    pub(crate) fn warm_only(self) -> bool {
        self.0 & 1 != 0
    }
}

/// Under [`Slo::Hard`], how often the dearest latency goes into the price of a late request; twice as often into the
/// price of a deferred one, so that a search that fails in part still says where.
const HARD: f64 = 50.0;

/// T_k in ms by (request, node), on an idle container and on a new one; and the longest.
fn totals(problem: &BatchProblem<'_>) -> (Vec<[f64; 2]>, f64) {
    let platform = problem.platform;
    let mut totals = Vec::with_capacity(problem.requests.len() * platform.topology.nodes.len());
    let mut longest = 0.0_f64;
    for request in problem.requests {
        for node in platform.node_ids() {
            let total =
                |container| latency::predict(platform, request, node, container, problem.now()).total().0;
            let both = [total(Container::Reuse), total(Container::New)];
            longest = longest.max(both[1]);
            totals.push(both);
        }
    }
    (totals, longest)
}

/// What each column has left: deferral room for all.
fn free(problem: &BatchProblem<'_>) -> Vec<(i64, i64)> {
    let (platform, state) = (problem.platform, problem.state);
    let left = |id| {
        let node = platform.node(id);
        let cores = i64::from(node.cores.milli) - i64::from(state.used_cores(id).milli);
        (cores, i64::from(node.memory.mb) - i64::from(state.used_memory(id).mb))
    };
    platform.node_ids().map(left).chain([(i64::MAX / 4, i64::MAX / 4)]).collect()
}

impl Ranks {
    pub(crate) fn of(problem: &BatchProblem<'_>) -> Ranks {
        let columns = problem.platform.topology.nodes.len() + 1;
        let count = problem.requests.len();
        let mut functions: Vec<_> = problem.requests.iter().map(|request| request.function).collect();
        functions.sort_unstable();
        functions.dedup();

        let (totals, longest) = totals(problem);
        let (late_ms, defer_ms) = match problem.objective.slo {
            Slo::Hard => (HARD * (longest + 1.0), 2.0 * HARD * (longest + 1.0)),
            Slo::Elastic { penalty_ms } => (penalty_ms.0, problem.objective.defer_penalty.0),
        };
        let dearest = (longest + late_ms + defer_ms).max(1.0);
        let mut ranks = Ranks {
            requests: Vec::with_capacity(count),
            first: Vec::with_capacity(count),
            columns,
            // The largest power of two that keeps every cost below 2^30; one more bit says warm-only.
            ticks: 2.0_f64.powi(29 - dearest.log2().ceil() as i32),
            late: 0,
            totals,
            costs: Vec::with_capacity(count * columns),
            order: Vec::with_capacity(count * columns),
            firsts: Vec::with_capacity(count * columns),
            lengths: Vec::with_capacity(count),
            rank_of: vec![0; count * columns],
            groups: Vec::with_capacity(functions.len() * columns),
            free: free(problem),
        };
        ranks.late = ranks.exact(late_ms);
        for &id in &functions {
            ranks.add_function(problem, id);
        }
        let mut sorted: Vec<(i64, u32)> = Vec::with_capacity(columns);
        for request in problem.requests {
            let row = functions.partition_point(|&other| other < request.function) * columns;
            ranks.add(problem, request, row, defer_ms, &mut sorted);
        }
        ranks
    }

    /// Milliseconds in whole ticks.
    fn exact(&self, ms: f64) -> i64 {
        (ms * self.ticks).round() as i64
    }

    /// The next row of `groups`.
    fn add_function(&mut self, problem: &BatchProblem<'_>, id: FunctionId) {
        let platform = problem.platform;
        for node in platform.node_ids() {
            let cold = latency::cold(platform.function(id), platform.node(node), Container::New).0;
            self.groups.push((self.exact(cold), problem.state.idle(id, node)));
        }
        self.groups.push((0, u32::MAX));
    }

    /// The next request: its costs, and its columns in their order. `row` is where its function starts in `groups`, `sorted` working
    /// memory.
    fn add(
        &mut self,
        problem: &BatchProblem<'_>,
        request: &Request,
        row: usize,
        defer_ms: f64,
        sorted: &mut Vec<(i64, u32)>,
    ) {
        let (k, nodes, late) = (self.requests.len(), self.columns - 1, self.late);
        let function = problem.platform.function(request.function);
        let need =
            Need { cores: i64::from(function.cores.milli), memory: i64::from(function.memory.mb), row };
        sorted.clear();
        for v in 0..nodes {
            let [warm, cold] = self.totals[k * nodes + v];
            let (late_warm, late_cold) = (warm > request.slo.0, cold > request.slo.0);
            let warm_only = late_cold && !late_warm;
            let cost = self.exact(warm) + if late_warm { late } else { 0 };
            self.costs.push(Cost((cost << 1) as i32 | i32::from(warm_only)));
            let (cold_ticks, idle) = self.groups[row + v];
            let first = cost + if idle == 0 { cold_ticks + if warm_only { late } else { 0 } } else { 0 };
            let fits = need.cores <= self.free[v].0 && need.memory <= self.free[v].1;
            if fits {
                sorted.push((first, v as u32));
            }
        }
        let waited = (problem.now() - request.arrival).0;
        let defer = self.exact(waited + defer_ms) + if waited > request.slo.0 { late } else { 0 };
        self.costs.push(Cost((defer << 1) as i32));
        sorted.retain(|&(cost, _)| cost < defer);
        sorted.sort_unstable();
        sorted.push((defer, nodes as u32));
        let ranks = &mut self.rank_of[k * self.columns..][..self.columns];
        ranks.fill(sorted.len() as u32 - 1);
        for (rank, &(_, column)) in sorted.iter().enumerate() {
            ranks[column as usize] = rank as u32;
        }
        self.first.push(sorted[0].0);
        self.lengths.push(sorted.len() as u32);
        self.order.extend(sorted.iter().map(|&(_, column)| column));
        self.order.resize((k + 1) * self.columns, nodes as u32);
        self.firsts.extend(sorted.iter().map(|&(cost, _)| cost as i32));
        self.firsts.resize((k + 1) * self.columns, i32::MAX);
        self.requests.push(need);
    }

    /// The columns that decisions stand for.
    pub(crate) fn columns_of(&self, decisions: &[Decision]) -> Vec<u32> {
        let column = |decision: &Decision| match *decision {
            Decision::Run { node, .. } => node.0,
            Decision::Defer => self.defer(),
        };
        decisions.iter().map(column).collect()
    }

    /// What a mean request needs, in (thousandths of a core, MB).
    pub(crate) fn units(&self) -> (f64, f64) {
        let count = self.requests.len().max(1) as f64;
        let sum = |of: fn(&Need) -> i64| self.requests.iter().map(|need| of(need) as f64).sum::<f64>();
        ((sum(|need| need.cores) / count).max(1.0), (sum(|need| need.memory) / count).max(1.0))
    }

    /// Whether all nodes together have what all requests together need.
    pub(crate) fn might_hold_all(&self) -> bool {
        let needs = self.requests.iter().fold((0, 0), |sum, need| (sum.0 + need.cores, sum.1 + need.memory));
        let nodes = &self.free[..self.columns - 1];
        let free = nodes.iter().fold((0, 0), |sum, free| (sum.0 + free.0.max(0), sum.1 + free.1.max(0)));
        needs.0 <= free.0 && needs.1 <= free.1
    }

    /// The columns of a request, cheapest first, deferral last.
    #[inline(always)]
    pub(crate) fn row(&self, k: usize) -> &[u32] {
        &self.order[k * self.columns..][..self.lengths[k] as usize]
    }

    /// What each column of [`Ranks::row`] costs a request that comes first there.
    #[inline(always)]
    pub(crate) fn firsts(&self, k: usize) -> &[i32] {
        &self.firsts[k * self.columns..][..self.lengths[k] as usize]
    }

    #[inline(always)]
    pub(crate) fn cost(&self, k: usize, column: u32) -> Cost {
        self.costs[k * self.columns + column as usize]
    }

    #[inline(always)]
    pub(crate) fn rank(&self, k: usize, column: u32) -> u32 {
        self.rank_of[k * self.columns + column as usize]
    }

    /// The column of deferral.
    #[inline(always)]
    pub(crate) fn defer(&self) -> u32 {
        self.columns as u32 - 1
    }
}
