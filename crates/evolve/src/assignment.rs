//! One individual of the preset `hybrid`: a column for each request, and all that makes the value of a move O(1).

use crate::ranks::{Cost, Ranks};
use scale_model::{BatchProblem, Container, Decision, Milliseconds, NodeId, Placement, latency};

/// A column for each request, feasible or not, with its value.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    /// Column by request.
    pub(crate) place: Vec<u32>,
    /// Sum of costs in ticks.
    pub(crate) cost: i64,
    /// Cores and memory too much, summed over nodes: (thousandths, MB).
    pub(crate) over: (i64, i64),
    groups: Vec<Group>,
    rooms: Vec<Room>,
    /// Requests on each column, in any order, and where each request stands.
    on: Vec<Vec<u32>>,
    at: Vec<u32>,
}

/// Requests of one function on one column.
#[derive(Clone, Copy, Debug)]
struct Group {
    cold: i32,
    idle: u32,
    count: u32,
    warm_only: u32,
}

impl Group {
    /// What one request more adds.
    #[inline(always)]
    fn add(&self, cost: Cost, late: i64) -> i64 {
        let mut delta = cost.warm();
        delta += if self.count >= self.idle { i64::from(self.cold) } else { 0 };
        delta + if cost.warm_only() && self.warm_only >= self.idle { late } else { 0 }
    }

    /// What one request less saves.
    #[inline(always)]
    fn remove(&self, cost: Cost, late: i64) -> i64 {
        let mut delta = cost.warm();
        delta += if self.count > self.idle { i64::from(self.cold) } else { 0 };
        delta + if cost.warm_only() && self.warm_only > self.idle { late } else { 0 }
    }

    /// What it adds if one request takes the place of another.
    #[inline(always)]
    fn replace(&self, out: Cost, into: Cost, late: i64) -> i64 {
        let delta = into.warm() - out.warm();
        match (out.warm_only(), into.warm_only()) {
            (false, true) if self.warm_only >= self.idle => delta + late,
            (true, false) if self.warm_only > self.idle => delta - late,
            _ => delta,
        }
    }
}

/// What a column has left.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// Thousandths of a core and megabytes; below 0 if it is overfull.
    free: (i64, i64),
    /// What one of each too much weighs, in ticks.
    weights: (f64, f64),
}

/// What a move changes: cost in ticks, cores and memory too much.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Change {
    pub(crate) cost: i64,
    pub(crate) cores: i64,
    pub(crate) memory: i64,
    /// What the change of both weighs.
    pub(crate) weight: f64,
}

impl Change {
    /// Cost and capacity in one number, in ticks.
    #[inline(always)]
    pub(crate) fn value(&self) -> f64 {
        self.cost as f64 + self.weight
    }

    #[inline(always)]
    fn load(&mut self, assignment: &Assignment, column: u32, cores: i64, memory: i64) {
        let Room { free, weights: (core, mb) } = assignment.rooms[column as usize];
        let cores = (cores - free.0).max(0) - (-free.0).max(0);
        let memory = (memory - free.1).max(0) - (-free.1).max(0);
        self.cores += cores;
        self.memory += memory;
        self.weight += cores as f64 * core + memory as f64 * mb;
    }
}

impl Assignment {
    /// Every request deferred.
    pub(crate) fn deferred(ranks: &Ranks) -> Assignment {
        let count = ranks.requests.len();
        let group = |&(cold, idle): &(i64, u32)| Group { cold: cold as i32, idle, count: 0, warm_only: 0 };
        let mut assignment = Assignment {
            place: vec![ranks.defer(); count],
            cost: 0,
            over: (0, 0),
            groups: ranks.groups.iter().map(group).collect(),
            rooms: ranks.free.iter().map(|&free| Room { free, weights: (0.0, 0.0) }).collect(),
            on: vec![Vec::new(); ranks.columns],
            at: (0..count as u32).collect(),
        };
        assignment.on[ranks.columns - 1] = (0..count as u32).collect();
        for (k, need) in ranks.requests.iter().enumerate() {
            assignment.cost += ranks.cost(k, ranks.defer()).warm();
            assignment.groups[need.row + ranks.columns - 1].count += 1;
            let free = &mut assignment.rooms[ranks.columns - 1].free;
            *free = (free.0 - need.cores, free.1 - need.memory);
        }
        assignment
    }

    /// The assignment with these columns.
    pub(crate) fn of(ranks: &Ranks, place: &[u32]) -> Assignment {
        let mut assignment = Assignment::deferred(ranks);
        assignment.become_like(ranks, place);
        assignment
    }

    /// Becomes the assignment with these columns; costs O(1) for each request that differs.
    pub(crate) fn become_like(&mut self, ranks: &Ranks, place: &[u32]) {
        for (k, &to) in place.iter().enumerate() {
            self.shift(ranks, k, to);
        }
    }

    #[inline(always)]
    pub(crate) fn feasible(&self) -> bool {
        self.over == (0, 0)
    }

    /// Whether more cores or memory are in use on a column than it has.
    #[inline(always)]
    pub(crate) fn overfull(&self, column: usize) -> bool {
        let (cores, memory) = self.rooms[column].free;
        cores < 0 || memory < 0
    }

    /// Sets what a thousandth of a core and a megabyte too much weigh on a column.
    #[inline(always)]
    pub(crate) fn weigh(&mut self, column: usize, weights: (f64, f64)) {
        self.rooms[column].weights = weights;
    }

    /// Requests on a column.
    #[inline(always)]
    pub(crate) fn on(&self, column: u32) -> &[u32] {
        &self.on[column as usize]
    }

    /// Whether the column has cores and memory left for a request that is not there.
    #[inline(always)]
    pub(crate) fn fits(&self, ranks: &Ranks, k: usize, column: u32) -> bool {
        let (need, free) = (&ranks.requests[k], self.rooms[column as usize].free);
        need.cores <= free.0 && need.memory <= free.1
    }

    /// Whether a request that is not there has room on a column if some of those leave that are.
    #[inline(always)]
    pub(crate) fn makes_room(
        &self,
        ranks: &Ranks,
        k: usize,
        column: u32,
        leaving: impl Iterator<Item = usize>,
    ) -> bool {
        let (need, mut free) = (&ranks.requests[k], self.rooms[column as usize].free);
        for other in leaving {
            let other = &ranks.requests[other];
            free = (free.0 + other.cores, free.1 + other.memory);
        }
        need.cores <= free.0 && need.memory <= free.1
    }

    /// Whether a request that is not there would start a container although others of its function have idle ones.
    #[inline(always)]
    pub(crate) fn crowded(&self, ranks: &Ranks, k: usize, column: u32) -> bool {
        let group = &self.groups[ranks.requests[k].row + column as usize];
        group.idle > 0 && group.count >= group.idle
    }

    /// What a request adds to a column where it is not.
    #[inline(always)]
    pub(crate) fn price(&self, ranks: &Ranks, k: usize, column: u32) -> i64 {
        let group = &self.groups[ranks.requests[k].row + column as usize];
        group.add(ranks.cost(k, column), ranks.late)
    }

    /// What a request costs on a column where it comes first: the least that it can cost there.
    #[inline(always)]
    pub(crate) fn first(&self, ranks: &Ranks, k: usize, column: u32) -> i64 {
        let group = &self.groups[ranks.requests[k].row + column as usize];
        Group { count: 0, warm_only: 0, ..*group }.add(ranks.cost(k, column), ranks.late)
    }

    /// What a request would save by leaving.
    #[inline(always)]
    pub(crate) fn saving(&self, ranks: &Ranks, k: usize) -> i64 {
        let column = self.place[k];
        let group = &self.groups[ranks.requests[k].row + column as usize];
        group.remove(ranks.cost(k, column), ranks.late)
    }

    /// What changes if request k moves to another column.
    #[inline(always)]
    pub(crate) fn change(&self, ranks: &Ranks, k: usize, to: u32) -> Change {
        let need = &ranks.requests[k];
        let from = self.place[k];
        let mut change =
            Change { cost: self.price(ranks, k, to) - self.saving(ranks, k), ..Change::default() };
        change.load(self, from, -need.cores, -need.memory);
        change.load(self, to, need.cores, need.memory);
        change
    }

    /// What changes if request k moves to where request `other` is, and that one to a third column or to k's.
    #[inline(always)]
    pub(crate) fn change_of_two(&self, ranks: &Ranks, k: usize, other: usize, third: u32) -> Change {
        let (from, to) = (self.place[k], self.place[other]);
        let (need, needed) = (&ranks.requests[k], &ranks.requests[other]);
        let mut change = Change::default();
        if need.row == needed.row {
            let group = |column: u32| &self.groups[need.row + column as usize];
            let late = ranks.late;
            change.cost = group(to).replace(ranks.cost(other, to), ranks.cost(k, to), late);
            if third == from {
                change.cost += group(from).replace(ranks.cost(k, from), ranks.cost(other, from), late);
                return change;
            }
            change.cost += self.price(ranks, other, third) - self.saving(ranks, k);
            change.load(self, from, -need.cores, -need.memory);
            change.load(self, third, need.cores, need.memory);
            return change;
        }
        change.cost = self.price(ranks, k, to) - self.saving(ranks, k) + self.price(ranks, other, third)
            - self.saving(ranks, other);
        let (cores, memory) = (need.cores - needed.cores, need.memory - needed.memory);
        change.load(self, to, cores, memory);
        if third == from {
            change.load(self, from, -cores, -memory);
        } else {
            change.load(self, from, -need.cores, -need.memory);
            change.load(self, third, needed.cores, needed.memory);
        }
        change
    }

    /// What changes on the column of request `other` if request k comes from elsewhere and that one goes.
    #[inline(always)]
    pub(crate) fn replace(&self, ranks: &Ranks, k: usize, other: usize) -> i64 {
        let (need, needed) = (&ranks.requests[k], &ranks.requests[other]);
        let to = self.place[other];
        if need.row == needed.row {
            let group = &self.groups[need.row + to as usize];
            return group.replace(ranks.cost(other, to), ranks.cost(k, to), ranks.late);
        }
        self.price(ranks, k, to) - self.saving(ranks, other)
    }

    /// Moves request k to a column.
    #[inline]
    pub(crate) fn shift(&mut self, ranks: &Ranks, k: usize, to: u32) {
        if self.place[k] != to {
            let change = self.change(ranks, k, to);
            self.account(change);
            self.carry(ranks, k, to);
        }
    }

    /// Makes the move that [`Assignment::change`] has priced.
    #[inline]
    pub(crate) fn accept(&mut self, ranks: &Ranks, change: Change, k: usize, to: u32) {
        self.account(change);
        self.carry(ranks, k, to);
    }

    /// Makes the moves that [`Assignment::change_of_two`] has priced.
    #[inline]
    pub(crate) fn accept_two(&mut self, ranks: &Ranks, change: Change, k: usize, other: usize, third: u32) {
        self.account(change);
        self.carry(ranks, k, self.place[other]);
        self.carry(ranks, other, third);
    }

    #[inline(always)]
    fn account(&mut self, change: Change) {
        self.cost += change.cost;
        self.over = (self.over.0 + change.cores, self.over.1 + change.memory);
    }

    /// Moves request k to another column; the sums are the caller's.
    #[inline]
    fn carry(&mut self, ranks: &Ranks, k: usize, to: u32) {
        let from = self.place[k];
        let need = &ranks.requests[k];
        let group = &mut self.groups[need.row + from as usize];
        group.count -= 1;
        group.warm_only -= u32::from(ranks.cost(k, from).warm_only());
        let group = &mut self.groups[need.row + to as usize];
        group.count += 1;
        group.warm_only += u32::from(ranks.cost(k, to).warm_only());
        let free = &mut self.rooms[from as usize].free;
        *free = (free.0 + need.cores, free.1 + need.memory);
        let free = &mut self.rooms[to as usize].free;
        *free = (free.0 - need.cores, free.1 - need.memory);
        let (list, place) = (&mut self.on[from as usize], self.at[k]);
        list.swap_remove(place as usize);
        if let Some(&moved) = list.get(place as usize) {
            self.at[moved as usize] = place;
        }
        self.at[k] = self.on[to as usize].len() as u32;
        self.on[to as usize].push(k as u32);
        self.place[k] = to;
    }
}

/// The decisions that columns stand for, idle containers given where they save most: to warm-only requests first, and
/// among equals to the earlier one.
pub(crate) fn placement(problem: &BatchProblem<'_>, place: &[u32]) -> Placement {
    let platform = problem.platform;
    let nodes = platform.topology.nodes.len();
    let mut decisions = vec![Decision::Defer; place.len()];
    let mut placed = Vec::with_capacity(place.len());
    for (k, (&column, request)) in place.iter().zip(problem.requests).enumerate() {
        if (column as usize) < nodes {
            let node = NodeId(column);
            let total = |container| -> Milliseconds {
                latency::predict(platform, request, node, container, problem.now()).total()
            };
            let in_time = |container| total(container) <= request.slo;
            let warm_only = in_time(Container::Reuse) && !in_time(Container::New);
            placed.push((column, request.function, !warm_only, k));
        }
    }
    placed.sort_unstable();
    let mut left = 0;
    let mut last = None;
    for (column, function, _, k) in placed {
        let node = NodeId(column);
        if last != Some((column, function)) {
            last = Some((column, function));
            left = problem.state.idle(function, node);
        }
        let container = if left > 0 { Container::Reuse } else { Container::New };
        left = left.saturating_sub(1);
        decisions[k] = Decision::Run { node, container };
    }
    Placement { decisions }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::draw::Draw;
    use scale_model::{
        ClusterState, CoreMilliseconds, Cores, Function, FunctionId, Gigahertz, Instance, Links, Megabytes,
        MegabytesPerSecond, Memory, Node, Objective, Platform, Position, Request, RequestId, Seed, Time,
        Topology, evaluate, violations,
    };

    /// A batch of 12 requests on 3 nodes and 2 functions, tight, with idle containers and warm-only requests.
    pub(crate) fn instance(seed: u64) -> Instance {
        instance_of(seed, 3, 12)
    }

    /// The same with so many nodes and requests.
    pub(crate) fn instance_of(seed: u64, nodes: usize, requests: u32) -> Instance {
        let draw = &mut Draw::new(Seed(seed));
        let node = |draw: &mut Draw, index: usize| Node {
            name: format!("node-{index}"),
            kind: 0,
            position: Position { latitude: 0.0, longitude: 0.0 },
            frequency: Gigahertz(3.0),
            cores: Cores { milli: 500 * (1 + draw.below(5) as u32) },
            memory: Memory { mb: 256 * (1 + draw.below(5) as u32) },
            registry_bandwidth: MegabytesPerSecond(100.0),
        };
        let function = |draw: &mut Draw, index: usize| Function {
            name: format!("function-{index}"),
            image: Megabytes(1.0 + draw.below(20) as f64),
            init: Milliseconds(10.0 * draw.below(10) as f64),
            memory: Memory { mb: 128 },
            cores: Cores { milli: 250 * (1 + draw.below(3) as u32) },
        };
        let rates = [draw.below(20), draw.below(20), draw.below(20)];
        let platform = Platform {
            topology: Topology {
                nodes: (0..nodes).map(|index| node(draw, index)).collect(),
                links: Links::from_fn(nodes, |s, v| {
                    MegabytesPerSecond(5.0 + rates[(s.index() + v.index()) % 3] as f64)
                })
                .expect("positive rates"),
            },
            functions: (0..2).map(|index| function(draw, index)).collect(),
        };
        let mut state = ClusterState::empty(&platform);
        for node in platform.node_ids() {
            for function in platform.function_ids() {
                state.add_idle(&platform, function, node, draw.below(3) as u32);
            }
        }
        let requests = (0..requests)
            .map(|id| Request {
                id: RequestId(id),
                function: FunctionId(draw.below(2) as u32),
                source: NodeId(draw.below(nodes) as u32),
                arrival: Time(0.0),
                cpu_time: CoreMilliseconds(30.0 + draw.below(60) as f64),
                input: Megabytes(draw.below(20) as f64 / 10.0),
                slo: Milliseconds(100.0 + 10.0 * draw.below(30) as f64),
            })
            .collect();
        Instance { platform, state, requests, objective: Objective::ELASTIC }
    }

    #[test]
    fn differences_are_exact_and_the_value_is_that_of_the_model() {
        for seed in 0..50 {
            let instance = instance(seed);
            let problem = instance.problem();
            let ranks = Ranks::of(&problem);
            let mut state = Assignment::deferred(&ranks);
            let draw = &mut Draw::new(Seed(seed).derive("moves", 0));
            (0..ranks.columns).for_each(|column| state.weigh(column, (2.0, 3.0)));
            for _ in 0..300 {
                let (k, other) = (draw.below(12), draw.below(12));
                let (from, to) = (state.place[k], state.place[other]);
                let third = draw.below(ranks.columns) as u32;
                let before = state.clone();
                let change = if from != to && third != to {
                    let change = state.change_of_two(&ranks, k, other, third);
                    state.shift(&ranks, k, to);
                    state.shift(&ranks, other, third);
                    change
                } else if third != from {
                    let change = state.change(&ranks, k, third);
                    state.shift(&ranks, k, third);
                    change
                } else {
                    continue;
                };
                assert_eq!(state.cost - before.cost, change.cost);
                let over = (state.over.0 - before.over.0, state.over.1 - before.over.1);
                assert_eq!(over, (change.cores, change.memory));
                assert_eq!(change.weight, 2.0 * over.0 as f64 + 3.0 * over.1 as f64);
                let fresh = Assignment::of(&ranks, &state.place);
                assert_eq!((fresh.cost, fresh.over), (state.cost, state.over));

                let placement = placement(&problem, &state.place);
                let objective = evaluate(&problem, &placement).objective;
                assert!((state.cost as f64 / ranks.ticks - objective).abs() < 1e-3);
                assert_eq!(violations(&problem, &placement).is_empty(), state.feasible());
            }
        }
    }
}
