//! A batch as the compact program sees it: groups of identical requests, and the columns that can be in an optimum.
//!
//! A *slot* is a node with a kind of container: `2 v` is "an idle container on node v", `2 v + 1` "a new container on
//! node v", and `2 |V|` is deferral. A column is a group and a slot; its cost is what one request of the group adds to
//! J there, with the price of being late in it: a late pair is dearer, no row is needed for it.
//!
//! # What is left out, and why nothing is lost
//! - A pair that does not fit on the node alone, and under [`Slo::Hard`] a pair that is late.
//! - A column that costs no less than deferral: deferral takes no room.
//! - A reuse that is as slow as a new container: the new container takes no idle one.
//! - New containers on (v, j) where at least as many containers are idle as requests of j can be on v at all.
//! - Idle containers beyond those that can be used; and their row, where (5), (6) or (7) says as much even if requests
//!   are split.
//! - Room that no set of requests can fill: the sides of (6) and (7) are lowered to the largest sum of needs below them.
//!
//! Under [`Slo::Hard`] deferral stands for "no place": it costs more than any placement could save, so an optimum that
//! uses it proves the batch infeasible.

use std::collections::BTreeMap;

use scale_model::{BatchProblem, Container, Decision, FunctionId, NodeId, Placement, Request, Slo, latency};

/// No column: the cost of what is not allowed.
pub(crate) const NONE: f64 = f64::INFINITY;

/// Requests that no solution needs to tell apart.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Their indices in the batch.
    pub(crate) members: Vec<usize>,
    /// Index of their function in [`Batch::functions`].
    pub(crate) function: usize,
    /// What deferring one of them costs.
    pub(crate) defer: f64,
}

/// A function of the batch, and what one container of it needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    pub(crate) id: FunctionId,
    pub(crate) cores: u32,
    pub(crate) memory: u32,
    /// How many requests of it there are.
    pub(crate) requests: u32,
}

impl Need {
    /// The most requests of the function that can be on a node with so much room.
    fn most(&self, cores: u32, memory: u32) -> u32 {
        // Needs are at least 1.
        self.requests.min(cores / self.cores).min(memory / self.memory)
    }
}

/// The compact form of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) groups: Vec<Group>,
    pub(crate) functions: Vec<Need>,
    pub(crate) nodes: usize,
    /// Whether deferral means "no place".
    pub(crate) hard: bool,
    /// Thousandths of a core that can be filled, a node.
    pub(crate) cores: Vec<u32>,
    /// MB that can be filled, a node.
    pub(crate) memory: Vec<u32>,
    /// Idle containers of function j on node v that can be used, at `j * nodes + v`; [`UNLIMITED`] where other rows say
    /// as much.
    pub(crate) idle: Vec<u32>,
    /// Cost of column (g, slot) at `2 * (g * nodes) + slot`; [`NONE`] where there is none.
    costs: Vec<f64>,
}

/// So many idle containers that they need no row.
pub(crate) const UNLIMITED: u32 = u32::MAX;

/// What makes requests identical, as bits.
type Key = (FunctionId, NodeId, u64, u64, u64, u64);

fn key(problem: &BatchProblem<'_>, request: &Request) -> Key {
    let waited = problem.now() - request.arrival;
    let bits = f64::to_bits;
    let Request { function, source, cpu_time, input, slo, .. } = *request;
    (function, source, bits(cpu_time.0), bits(input.0), bits(slo.0), bits(waited.0))
}

impl Batch {
    pub(crate) fn new(problem: &BatchProblem<'_>) -> Batch {
        let platform = problem.platform;
        let nodes = platform.topology.nodes.len();
        let mut indices: BTreeMap<FunctionId, usize> = BTreeMap::new();
        let mut functions: Vec<Need> = Vec::new();
        let mut keys: BTreeMap<Key, usize> = BTreeMap::new();
        let mut groups: Vec<Group> = Vec::new();
        for (k, request) in problem.requests.iter().enumerate() {
            let j = *indices.entry(request.function).or_insert_with(|| {
                let need = platform.function(request.function);
                let (cores, memory) = (need.cores.milli, need.memory.mb);
                functions.push(Need { id: request.function, cores, memory, requests: 0 });
                functions.len() - 1
            });
            functions[j].requests += 1;
            let g = *keys.entry(key(problem, request)).or_insert_with(|| {
                groups.push(Group {
                    members: Vec::new(),
                    function: j,
                    // Under a hard SLO infinite until `price_no_place`.
                    defer: problem.objective.cost_of_deferral(problem.now() - request.arrival, request.slo),
                });
                groups.len() - 1
            });
            groups[g].members.push(k);
        }
        let free = |v: NodeId| {
            let (node, state) = (platform.node(v), problem.state);
            (
                node.cores.milli.saturating_sub(state.used_cores(v).milli),
                node.memory.mb.saturating_sub(state.used_memory(v).mb),
            )
        };
        let (cores, memory): (Vec<u32>, Vec<u32>) = platform.node_ids().map(free).unzip();
        let mut idle = Vec::with_capacity(functions.len() * nodes);
        for need in &functions {
            let usable = |(v, &idle): (usize, &u32)| idle.min(need.most(cores[v], memory[v]));
            idle.extend(problem.state.idle_row(need.id).iter().enumerate().map(usable));
        }
        let hard = problem.objective.slo == Slo::Hard;
        let mut batch = Batch { groups, functions, nodes, hard, cores, memory, idle, costs: Vec::new() };
        batch.fill_costs(problem);
        if hard {
            batch.price_no_place();
        }
        batch.lower_sides();
        batch.drop_idle_rows();
        batch
    }

    fn fill_costs(&mut self, problem: &BatchProblem<'_>) {
        let mut costs = vec![NONE; 2 * self.groups.len() * self.nodes];
        for (g, group) in self.groups.iter().enumerate() {
            let request = &problem.requests[group.members[0]];
            let need = self.functions[group.function];
            let row = &mut costs[2 * g * self.nodes..][..2 * self.nodes];
            for (v, pair) in row.chunks_mut(2).enumerate() {
                if need.cores > self.cores[v] || need.memory > self.memory[v] {
                    continue;
                }
                let cost = |container| {
                    let node = NodeId(v as u32);
                    let parts = latency::predict(problem.platform, request, node, container, problem.now());
                    Some(problem.objective.cost_of(parts.total(), request.slo))
                        .filter(|&cost| cost < group.defer)
                };
                let idle = self.idle[group.function * self.nodes + v];
                let most = need.most(self.cores[v], self.memory[v]);
                let new = if idle == most { None } else { cost(Container::New) };
                let reuse = if idle == 0 { None } else { cost(Container::Reuse) };
                let reuse = reuse.filter(|&reuse| new.is_none_or(|new| reuse < new));
                pair.copy_from_slice(&[reuse.unwrap_or(NONE), new.unwrap_or(NONE)]);
            }
        }
        self.costs = costs;
    }

    /// Makes deferral dearer than all that it could save.
    fn price_no_place(&mut self) {
        let mut spread = 1.0;
        let mut least = 0.0_f64;
        for g in 0..self.groups.len() {
            let finite = || self.row(g).iter().filter(|cost| cost.is_finite());
            let low = finite().fold(f64::INFINITY, |low, &cost| low.min(cost));
            let high = finite().fold(0.0_f64, |high, &cost| high.max(cost));
            if low.is_finite() {
                spread += (high - low) * self.groups[g].members.len() as f64;
                least = least.max(high);
            }
        }
        for group in &mut self.groups {
            group.defer = spread + least;
        }
    }

    /// Under [`Slo::Hard`]: no placement costs more, and "no place" for one request does.
    pub(crate) fn dearest(&self) -> f64 {
        let mut sum = 0.0;
        for (g, group) in self.groups.iter().enumerate() {
            let high = self
                .row(g)
                .iter()
                .filter(|cost| cost.is_finite())
                .fold(0.0_f64, |high, &cost| high.max(cost));
            sum += high * group.members.len() as f64;
        }
        sum * (1.0 + 1e-9)
    }

    /// Lowers the sides of (6) and (7) to what can be filled.
    fn lower_sides(&mut self) {
        let mut fitting = vec![0u32; self.functions.len()];
        for v in 0..self.nodes {
            fitting.fill(0);
            for (g, group) in self.groups.iter().enumerate() {
                if self.cost(g, 2 * v).is_finite() || self.cost(g, 2 * v + 1).is_finite() {
                    fitting[group.function] += group.members.len() as u32;
                }
            }
            let items = || self.functions.iter().zip(&fitting).filter(|(_, count)| **count > 0);
            self.cores[v] = largest_sum(self.cores[v], items().map(|(need, &count)| (need.cores, count)));
            self.memory[v] = largest_sum(self.memory[v], items().map(|(need, &count)| (need.memory, count)));
        }
    }

    /// Takes out the rows of idle containers that other rows imply.
    fn drop_idle_rows(&mut self) {
        for (row, idle) in self.idle.iter_mut().enumerate() {
            let (need, v) = (&self.functions[row / self.nodes], row % self.nodes);
            let covers = |need: u32, side: u32| u64::from(*idle) * u64::from(need) >= u64::from(side);
            let implied = covers(1, need.requests)
                || covers(need.cores, self.cores[v])
                || covers(need.memory, self.memory[v]);
            // Of none no request can take one, so there is nothing to limit.
            if *idle > 0 && implied {
                *idle = UNLIMITED;
            }
        }
    }

    /// Number of requests.
    pub(crate) fn requests(&self) -> usize {
        self.groups.iter().map(|group| group.members.len()).sum()
    }

    /// The slot of deferral.
    pub(crate) fn deferral(&self) -> usize {
        2 * self.nodes
    }

    /// The costs of a group's columns, slot by slot without deferral.
    pub(crate) fn row(&self, g: usize) -> &[f64] {
        &self.costs[2 * g * self.nodes..][..2 * self.nodes]
    }

    /// The cost of a column.
    pub(crate) fn cost(&self, g: usize, slot: usize) -> f64 {
        if slot == self.deferral() { self.groups[g].defer } else { self.costs[2 * g * self.nodes + slot] }
    }

    /// Takes a column out.
    pub(crate) fn drop(&mut self, g: usize, slot: usize) {
        self.costs[2 * g * self.nodes + slot] = NONE;
    }

    /// Number of columns, deferral apart.
    pub(crate) fn columns(&self) -> usize {
        self.costs.iter().filter(|cost| cost.is_finite()).count()
    }

    /// Idle containers of a group's function on a node.
    pub(crate) fn idle_row(&self, g: usize, v: usize) -> usize {
        self.groups[g].function * self.nodes + v
    }

    /// Decisions from slots: one list of slots for each group, one slot for each member.
    pub(crate) fn placement(&self, slots: &[Vec<usize>]) -> Placement {
        let mut decisions = vec![Decision::Defer; self.requests()];
        for (group, slots) in self.groups.iter().zip(slots) {
            for (&k, &slot) in group.members.iter().zip(slots) {
                if slot < self.deferral() {
                    let node = NodeId((slot / 2) as u32);
                    let container = if slot % 2 == 0 { Container::Reuse } else { Container::New };
                    decisions[k] = Decision::Run { node, container };
                }
            }
        }
        Placement { decisions }
    }

    /// The sum of the costs.
    pub(crate) fn total(&self, slots: &[Vec<usize>]) -> f64 {
        let group =
            |(g, slots): (usize, &Vec<usize>)| slots.iter().map(|&slot| self.cost(g, slot)).sum::<f64>();
        slots.iter().enumerate().map(group).sum()
    }
}

/// Bits of a set of sums above which looking for the largest one is not worth the time.
const MOST_SUMS: u32 = 1 << 16;

/// The largest sum of items (size, how many there are) that is at most `limit`.
fn largest_sum(limit: u32, items: impl Iterator<Item = (u32, u32)> + Clone) -> u32 {
    let step = items.clone().fold(0, |step, (size, _)| gcd(step, size));
    if step == 0 {
        return 0;
    }
    let all: u64 = items.clone().map(|(size, count)| u64::from(size) * u64::from(count)).sum();
    if all <= u64::from(limit) {
        return limit;
    }
    let units = limit / step;
    if units > MOST_SUMS {
        return units * step;
    }
    let mut sums = Bits { words: vec![0; units as usize / 64 + 1] };
    sums.words[0] = 1;
    for (size, count) in items {
        let size = size / step;
        // Each power of two and the rest: every count up to `count` is a sum of them.
        let (mut left, mut part) = (count.min(units / size), 1);
        while left > 0 {
            let take = part.min(left);
            sums.or_shifted(size as usize * take as usize);
            (left, part) = (left - take, part * 2);
        }
    }
    (0..=units).rev().find(|&sum| sums.has(sum)).unwrap_or(0) * step
}

struct Bits {
    words: Vec<u64>,
}

impl Bits {
    fn has(&self, bit: u32) -> bool {
        self.words[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    /// Adds `by` to every member, and keeps the members. From the top, so that what is added is not shifted again.
    fn or_shifted(&mut self, by: usize) {
        let (words, bits) = (by / 64, by % 64);
        for to in (words..self.words.len()).rev() {
            let low = self.words[to - words] << bits;
            let high = match (bits, to - words) {
                (0, _) | (_, 0) => 0,
                (_, from) => self.words[from - 1] >> (64 - bits),
            };
            self.words[to] |= low | high;
        }
    }
}

/// The greatest common divisor; of zero and a number, the number.
pub(crate) fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_sum_is_that_of_trying_all() {
        for limit in 0..200 {
            for items in [
                vec![(7, 2), (30, 1), (64, 3)],
                vec![(70, 5)],
                vec![],
                vec![(3, 1), (200, 1)],
                vec![(10, 4), (25, 4)],
            ] {
                let mut sums = vec![0u32];
                for &(size, count) in &items {
                    sums = sums.iter().flat_map(|sum| (0..=count).map(move |n| sum + n * size)).collect();
                }
                let all = sums.iter().max().copied().unwrap_or(0);
                let found = largest_sum(limit, items.iter().copied());
                if items.is_empty() || all > limit {
                    let expected = sums.into_iter().filter(|sum| *sum <= limit).max();
                    assert_eq!(Some(found), expected, "{limit} {items:?}");
                } else {
                    assert_eq!(found, limit);
                }
            }
        }
    }
}
