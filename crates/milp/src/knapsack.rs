//! The knapsack bound (Dantzig and Wolfe): for batches of which a node holds only a few requests.
//!
//! The bounds in [`bounds`](crate::bounds) let a node hold half a request. Here each node holds a *pattern*, a set of
//! requests that fits; what is relaxed is that each request is in one pattern. At prices pi_g of requests the bound is
//! sum of n_g pi_g - sum over the nodes of the most that a pattern is worth, sum of (pi_g - cost) over its requests.
//! Valid for any prices. Good prices are the duals of an LP over patterns, made by column generation.
//!
//! A node's best pattern is found by depth-first search. Prices of the node's cores and memory, chosen for each search,
//! bound what is left: the price of the room plus what the items are worth beyond theirs. Where the search takes too many
//! steps, that bound stands in for it.

use std::collections::BTreeMap;

use crate::batch::{Batch, UNLIMITED, gcd};
use crate::bounds::Limits;
use crate::highs::{MilpError, ModelStatus};
use crate::raw::{Columns, Rows};
use crate::start::Slots;

/// Steps of one search at most.
const STEPS: u64 = 200_000;

/// A request of a group in a slot, as an item of its node's knapsack.
#[derive(Clone, Copy, Debug)]
struct Item {
    g: usize,
    slot: usize,
    cost: f64,
    cores: u32,
    memory: u32,
    function: usize,
    worth: f64,
    /// The price of an idle container in the first relaxation, if it takes a limited one. Only a guide.
    toll: f64,
    /// Its worth less the price of its room.
    reduced: f64,
}

/// The items of a node: those of a group stand together, groups by their best reduced worth, the highest first.
struct Items {
    list: Vec<Item>,
    /// Prices of a thousandth of a core and of a MB on the node.
    cores: f64,
    memory: f64,
    /// At `i`, the most that the items from `i` on can have in reduced worth together.
    rest: Vec<f64>,
    /// The best reduced worth in the group of each item.
    lead: Vec<f64>,
    /// Which table of `tables` bounds the items from each one on.
    class: Vec<usize>,
    grid: Grid,
    /// The most that the groups from one on are worth in each room, a table for each; empty if `grid` is.
    tables: Vec<f64>,
}

/// Room in steps. Needs are rounded down, so what fits in truth fits on the grid.
#[derive(Clone, Copy)]
struct Grid {
    core_step: u32,
    memory_step: u32,
    /// Points in each direction.
    wide: usize,
    high: usize,
}

/// Points of a grid in each direction, and numbers in all tables of a node, at most.
const POINTS: u32 = 64;
const NUMBERS: usize = 2_000_000;

impl Grid {
    fn new(list: &[Item], cores: u32, memory: u32) -> Grid {
        // A grid finer than the common divisor is no better; a coarser one is used where that has too many points.
        let step = |need: fn(&Item) -> u32, have: u32| {
            let divisor = list.iter().fold(0, |divisor, item| gcd(divisor, need(item)));
            divisor.max(have / POINTS + 1)
        };
        let (core_step, memory_step) = (step(|item| item.cores, cores), step(|item| item.memory, memory));
        let (wide, high) = ((cores / core_step) as usize + 1, (memory / memory_step) as usize + 1);
        Grid { core_step, memory_step, wide, high }
    }

    fn point(&self, cores: u32, memory: u32) -> usize {
        (cores / self.core_step) as usize * self.high + (memory / self.memory_step) as usize
    }
}

impl Items {
    /// Prices the room so that the bound on the best pattern is low, whatever the bound is for. `idle` has the idle
    /// containers of each function on the node.
    fn new(mut list: Vec<Item>, left: &[u32], idle: &[u32], cores: u32, memory: u32) -> Items {
        let room = (cores, memory);
        let counts: Vec<f64> = list.iter().map(|item| f64::from(left[item.g])).collect();
        let (have_cores, have_memory) = (f64::from(cores), f64::from(memory));
        let needs: Vec<(f64, f64)> =
            list.iter().map(|item| (f64::from(item.cores), f64::from(item.memory))).collect();
        let value = |a: f64, b: f64| {
            let items = list.iter().zip(&needs).zip(&counts);
            let sum: f64 = items
                .map(|((item, need), n)| n * (item.worth - item.toll - a * need.0 - b * need.1).max(0.0))
                .sum();
            a * have_cores + b * have_memory + sum
        };
        let mut best = (f64::INFINITY, 0.0, 0.0);
        for first in [0, 1] {
            let (mut a, mut b) = (0.0, 0.0);
            for pass in 0..6 {
                let ratios = list.iter().zip(&needs).zip(&counts);
                if (pass + first) % 2 == 0 {
                    a = break_even(
                        ratios.map(|((item, need), n)| (item.worth - item.toll - b * need.1, need.0, *n)),
                        have_cores,
                    );
                } else {
                    b = break_even(
                        ratios.map(|((item, need), n)| (item.worth - item.toll - a * need.0, need.1, *n)),
                        have_memory,
                    );
                }
            }
            let now = value(a, b);
            if now < best.0 {
                best = (now, a, b);
            }
        }
        let (_, cores, memory) = best;
        for (item, need) in list.iter_mut().zip(&needs) {
            item.reduced = item.worth - cores * need.0 - memory * need.1;
        }
        let mut leads: BTreeMap<usize, f64> = BTreeMap::new();
        for item in &list {
            let lead = leads.entry(item.g).or_insert(item.reduced);
            *lead = lead.max(item.reduced);
        }
        list.sort_unstable_by(|x, y| {
            leads[&y.g].total_cmp(&leads[&x.g]).then((x.g, x.slot).cmp(&(y.g, y.slot)))
        });
        let lead = list.iter().map(|item| leads[&item.g]).collect();
        let mut class: Vec<usize> = Vec::with_capacity(list.len());
        for (i, item) in list.iter().enumerate() {
            let next = match i {
                0 => 0,
                _ => class[i - 1] + usize::from(list[i - 1].g != item.g),
            };
            class.push(next);
        }
        let grid = Grid::new(&list, room.0, room.1);
        let tables = tables(&list, &class, &grid, left);
        // From the end: every request in a new container, and beyond that the reuses that gain most by it, as many as
        // there are idle containers.
        let mut rest = vec![0.0; list.len() + 1];
        let mut new: BTreeMap<usize, f64> = BTreeMap::new();
        let mut reuses: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (i, item) in list.iter().enumerate().rev() {
            let (worth, count) = (item.reduced.max(0.0), left[item.g]);
            let mut more = 0.0;
            if item.slot % 2 == 1 {
                new.insert(item.g, worth);
                more = worth * f64::from(count);
            } else {
                let gain = worth - new.get(&item.g).copied().unwrap_or(0.0);
                let limit = idle[item.function];
                if limit == UNLIMITED {
                    more = gain * f64::from(count);
                } else {
                    let gains = reuses.entry(item.function).or_default();
                    for _ in 0..count.min(limit) {
                        let place = gains.partition_point(|other| *other >= gain);
                        gains.insert(place, gain);
                        more += gain;
                        if gains.len() > limit as usize {
                            more -= gains.pop().unwrap_or(0.0);
                        }
                    }
                }
            }
            rest[i] = rest[i + 1] + more;
        }
        Items { list, cores, memory, rest, lead, class, grid, tables }
    }

    /// The most that a pattern can be worth with at least one item from `from` on.
    fn most(&self, from: usize, cores: u32, memory: u32) -> f64 {
        let room = self.cores * f64::from(cores) + self.memory * f64::from(memory);
        let Some(&lead) = self.lead.get(from) else { return 0.0 };
        let priced = room + if lead > 0.0 { self.rest[from] } else { lead };
        if self.tables.is_empty() {
            return priced;
        }
        let table = self.class[from] * self.grid.wide * self.grid.high;
        priced.min(self.tables[table + self.grid.point(cores, memory)])
    }
}

/// What the groups from each one on are worth in each room, if idle containers are not counted: dynamic programming from
/// the last group to the first. Nothing if the tables would be too large.
fn tables(list: &[Item], class: &[usize], grid: &Grid, left: &[u32]) -> Vec<f64> {
    let size = grid.wide * grid.high;
    let count = class.last().map_or(0, |last| last + 1);
    if count * size > NUMBERS {
        return Vec::new();
    }
    let mut tables = vec![0.0; (count + 1) * size];
    let mut first = list.len();
    for k in (0..count).rev() {
        let end = first;
        while first > 0 && class[first - 1] == k {
            first -= 1;
        }
        let items = &list[first..end];
        let worth = items.iter().fold(0.0_f64, |worth, item| worth.max(item.worth));
        let (before, after) = tables.split_at_mut((k + 1) * size);
        let table = &mut before[k * size..];
        table.copy_from_slice(&after[..size]);
        let Some(item) = items.first() else { continue };
        let (wide, high) =
            ((item.cores / grid.core_step) as usize, (item.memory / grid.memory_step) as usize);
        if worth <= 0.0 || wide >= grid.wide || high >= grid.high {
            continue;
        }
        for _ in 0..left[item.g].min(POINTS) {
            let mut changed = false;
            for x in (wide..grid.wide).rev() {
                for y in (high..grid.high).rev() {
                    let with = table[(x - wide) * grid.high + y - high] + worth;
                    let place = &mut table[x * grid.high + y];
                    if with > *place {
                        *place = with;
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        // More copies than the loop has tried, of something that takes no room on the grid.
        if left[item.g] > POINTS {
            table.iter_mut().for_each(|value| *value += worth * f64::from(left[item.g] - POINTS));
        }
    }
    tables
}

/// The price of room at which what is worth it just fits: items are (worth, need, how many).
fn break_even(items: impl Iterator<Item = (f64, f64, f64)>, mut room: f64) -> f64 {
    let mut ratios: Vec<(f64, f64)> =
        items.filter(|item| item.0 > 0.0).map(|(worth, need, count)| (worth / need, need * count)).collect();
    ratios.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    for (ratio, need) in ratios {
        room -= need;
        if room < 0.0 {
            return ratio;
        }
    }
    0.0
}

/// What a node holds: (group, slot), with repetitions.
type Pattern = Vec<(usize, usize)>;

/// What the bound has come to.
pub(crate) struct Knapsacks {
    /// The bound.
    pub(crate) bound: f64,
    /// Its prices, one for each group.
    pub(crate) prices: Vec<f64>,
    /// The worth of each node's best pattern at these prices.
    pub(crate) worth: Vec<f64>,
    /// Patterns that were worth something at some prices, with their nodes.
    patterns: Vec<(usize, Pattern)>,
    tolls: Vec<f64>,
}

struct Dive<'a> {
    items: &'a Items,
    /// Requests left of each group.
    left: &'a mut [u32],
    /// Idle containers left of each function on the node.
    idle: &'a mut [u32],
    taken: Vec<usize>,
    best: f64,
    /// The best patterns in the order in which they were found.
    found: Vec<Vec<usize>>,
    steps: u64,
}

impl Dive<'_> {
    fn run(&mut self, from: usize, cores: u32, memory: u32, worth: f64) {
        if worth > self.best + 1e-9 {
            self.best = worth;
            self.found.push(self.taken.clone());
        }
        for i in from..self.items.list.len() {
            if self.steps >= STEPS {
                return;
            }
            self.steps += 1;
            let item = self.items.list[i];
            if worth + self.items.most(i, cores, memory) <= self.best + 1e-9 {
                return;
            }
            if !self.fits(&item, cores, memory) {
                continue;
            }
            let warm = item.slot.is_multiple_of(2) && self.idle[item.function] != UNLIMITED;
            self.left[item.g] -= 1;
            self.idle[item.function] -= u32::from(warm);
            self.taken.push(i);
            self.run(i, cores - item.cores, memory - item.memory, worth + item.worth);
            self.taken.pop();
            self.idle[item.function] += u32::from(warm);
            self.left[item.g] += 1;
        }
    }

    fn fits(&self, item: &Item, cores: u32, memory: u32) -> bool {
        item.cores <= cores
            && item.memory <= memory
            && self.left[item.g] > 0
            && (item.slot % 2 == 1 || self.idle[item.function] > 0)
    }
}

/// All nodes' items, and what the searches share.
struct Nodes<'a> {
    batch: &'a Batch,
    items: Vec<Vec<Item>>,
    left: Vec<u32>,
    idle: Vec<u32>,
}

impl<'a> Nodes<'a> {
    /// `tolls` are the prices of idle containers in a first relaxation.
    fn new(batch: &'a Batch, tolls: &[f64]) -> Nodes<'a> {
        let mut items: Vec<Vec<Item>> = vec![Vec::new(); batch.nodes];
        for (g, group) in batch.groups.iter().enumerate() {
            let need = batch.functions[group.function];
            for (slot, &cost) in batch.row(g).iter().enumerate() {
                let v = slot / 2;
                if cost.is_finite() {
                    items[v].push(Item {
                        g,
                        slot,
                        cost,
                        cores: need.cores,
                        memory: need.memory,
                        function: group.function,
                        worth: 0.0,
                        toll: if slot % 2 == 0 { tolls[batch.idle_row(g, v)] } else { 0.0 },
                        reduced: 0.0,
                    });
                }
            }
        }
        let left = batch.groups.iter().map(|group| group.members.len() as u32).collect();
        Nodes { batch, items, left, idle: vec![0; batch.functions.len()] }
    }

    /// At most this is the worth of a pattern of the node at these prices; and patterns, the best last.
    fn best(&mut self, v: usize, prices: &[f64]) -> (f64, Vec<Pattern>) {
        let items = self.worthy(v, prices, 0.0);
        self.search(v, &items, &[])
    }

    /// The items that are worth more than this.
    fn worthy(&mut self, v: usize, prices: &[f64], least: f64) -> Items {
        let priced = self.items[v].iter().map(|item| Item { worth: prices[item.g] - item.cost, ..*item });
        let list: Vec<Item> = priced.filter(|item| item.worth > least).collect();
        self.enter(v);
        Items::new(list, &self.left, &self.idle, self.batch.cores[v], self.batch.memory[v])
    }

    /// Takes the requests of a pattern if there are enough.
    fn take(&mut self, pattern: &Pattern) -> bool {
        for (index, &(g, _)) in pattern.iter().enumerate() {
            if self.left[g] == 0 {
                pattern[..index].iter().for_each(|&(g, _)| self.left[g] += 1);
                return false;
            }
            self.left[g] -= 1;
        }
        true
    }

    /// Sets the idle containers of a node.
    fn enter(&mut self, v: usize) {
        for (j, idle) in self.idle.iter_mut().enumerate() {
            *idle = self.batch.idle[j * self.batch.nodes + v];
        }
    }

    /// The same with some items taken already, whose worth is not counted.
    fn search(&mut self, v: usize, items: &Items, taken: &[Item]) -> (f64, Vec<Pattern>) {
        self.enter(v);
        let (mut cores, mut memory) = (self.batch.cores[v], self.batch.memory[v]);
        for item in taken {
            self.left[item.g] -= 1;
            if item.slot.is_multiple_of(2) && self.idle[item.function] != UNLIMITED {
                self.idle[item.function] -= 1;
            }
            (cores, memory) = (cores - item.cores, memory - item.memory);
        }
        let mut dive = Dive {
            items,
            left: &mut self.left,
            idle: &mut self.idle,
            taken: Vec::new(),
            best: 0.0,
            found: Vec::new(),
            steps: 0,
        };
        dive.run(0, cores, memory, 0.0);
        // Rounding must not make the bound lower than the truth.
        let worth =
            1e-9 + if dive.steps >= STEPS { items.most(0, cores, memory).max(0.0) } else { dive.best };
        let patterns = dive.found;
        for item in taken {
            self.left[item.g] += 1;
        }
        let pattern =
            |taken: Vec<usize>| taken.into_iter().map(|i| (items.list[i].g, items.list[i].slot)).collect();
        (worth, patterns.into_iter().map(pattern).collect())
    }
}

/// Rounds of column generation at most, and the share of the objective that ends it.
const ROUNDS: usize = 150;
const CLOSE: f64 = 1e-5;

/// The bound, from prices of a first relaxation and the patterns of known solutions. Gives up early if it is out of
/// time: what it has then is valid too.
pub(crate) fn bound(
    batch: &Batch,
    first: &[f64],
    tolls: &[f64],
    known: &[&Slots],
    limits: &Limits<'_>,
) -> Result<Knapsacks, MilpError> {
    let mut nodes = Nodes::new(batch, tolls);
    let groups = batch.groups.len();
    let mut lp = limits.instance()?;
    let mut patterns: Vec<(usize, Pattern)> = Vec::new();
    let mut columns = Columns::default();
    for (g, group) in batch.groups.iter().enumerate() {
        columns.push(group.defer, group.members.len() as f64, [(g, 1.0)]);
    }
    patterns.extend(known.iter().flat_map(|slots| patterns_of(batch, slots)));
    let clamped = |prices: &[f64]| -> Vec<f64> {
        prices.iter().zip(&batch.groups).map(|(&price, group)| price.min(group.defer)).collect()
    };
    let mut best = priced(batch, &mut nodes, clamped(first), &mut |v, pattern| patterns.push((v, pattern)));
    ascend(batch, &mut nodes, &mut best, &mut patterns, limits);
    patterns.sort_unstable();
    patterns.dedup();
    for (v, pattern) in &patterns {
        push(batch, *v, pattern, &mut columns);
    }
    if patterns.len() > MOST_FOR_LP || limits.out_of_time() {
        best.patterns = patterns;
        best.tolls = tolls.to_vec();
        return Ok(best);
    }
    lp.pass(&rows(batch), &columns, false)?;
    let mut smooth = 0.5;
    for round in 0..ROUNDS {
        if limits.out_of_time() || limits.cancelled() {
            break;
        }
        lp.run()?;
        if round == 0 {
            lp.set_text("presolve", c"presolve", c"off")?;
            lp.set_int("simplex_strategy", c"simplex_strategy", 4)?;
        }
        if lp.status() != ModelStatus::Optimal {
            break;
        }
        let objective = lp.objective();
        tracing::trace!(round, objective, bound = best.bound, patterns = patterns.len(), "patterns");
        if objective - best.bound <= CLOSE * objective.abs() {
            break;
        }
        let duals = lp.row_duals()?;
        let mixed: Vec<f64> =
            (0..groups).map(|g| smooth * best.prices[g] + (1.0 - smooth) * duals[g]).collect();
        let mut columns = Columns::default();
        let now = priced(batch, &mut nodes, clamped(&mixed), &mut |v, pattern| {
            let cost: f64 = pattern.iter().map(|&(g, slot)| batch.cost(g, slot) - duals[g]).sum();
            if cost - duals[groups + v] < -1e-7 {
                push(batch, v, &pattern, &mut columns);
                patterns.push((v, pattern));
            }
        });
        if now.bound > best.bound {
            best = now;
            smooth = (smooth + 0.1_f64).min(0.9);
        } else {
            smooth = (smooth - 0.1_f64).max(0.0);
        }
        if columns.len() == 0 {
            if smooth == 0.0 {
                break;
            }
            smooth = 0.0;
            continue;
        }
        lp.add(&columns)?;
    }
    best.patterns = patterns;
    best.tolls = tolls.to_vec();
    Ok(best)
}

/// Steps of the ascent at most, and after how many without a better bound they become shorter.
const ASCENT: usize = 150;
const PATIENCE: usize = 4;
/// Patterns up to which an LP over them is solved. Beyond it takes too long for what it adds.
const MOST_FOR_LP: usize = 5000;

/// Raises the bound by steps along its subgradient (Held and Karp; the step is Polyak's): a request that too few patterns
/// want becomes dearer, one that too many want cheaper.
fn ascend(
    batch: &Batch,
    nodes: &mut Nodes<'_>,
    best: &mut Knapsacks,
    patterns: &mut Vec<(usize, Pattern)>,
    limits: &Limits<'_>,
) {
    let mut prices = best.prices.clone();
    let (mut length, mut waited) = (1.0, 0);
    for _ in 0..ASCENT {
        if limits.out_of_time() || limits.cancelled() || length < 0.02 {
            return;
        }
        let mut missing: Vec<f64> = batch.groups.iter().map(|group| group.members.len() as f64).collect();
        let mut last: Option<usize> = None;
        // The first pattern that is told of a node is its best.
        let now = priced(batch, nodes, prices.clone(), &mut |v, pattern| {
            if last != Some(v) {
                last = Some(v);
                pattern.iter().for_each(|&(g, _)| missing[g] -= 1.0);
            }
            patterns.push((v, pattern));
        });
        // A request at the price of deferral may be missing.
        for ((missing, price), group) in missing.iter_mut().zip(&prices).zip(&batch.groups) {
            if *missing > 0.0 && *price >= group.defer {
                *missing = 0.0;
            }
        }
        let size: f64 = missing.iter().map(|missing| missing * missing).sum();
        let bound = now.bound;
        if bound > best.bound {
            *best = now;
            waited = 0;
        } else {
            waited += 1;
            if waited == PATIENCE {
                (length, waited) = (length / 2.0, 0);
                prices.clone_from(&best.prices);
                continue;
            }
        }
        if size == 0.0 {
            return;
        }
        let step = length * (best.bound - bound + AHEAD * best.bound.abs()) / size;
        for ((price, missing), group) in prices.iter_mut().zip(&missing).zip(&batch.groups) {
            *price = (*price + step * missing).min(group.defer);
        }
    }
}

/// How far above the bound the ascent aims, as a share of it.
const AHEAD: f64 = 0.003;

/// The bound at prices; tells every pattern that it comes across.
fn priced(
    batch: &Batch,
    nodes: &mut Nodes<'_>,
    prices: Vec<f64>,
    found: &mut dyn FnMut(usize, Pattern),
) -> Knapsacks {
    let (mut bound, mut size) = (0.0, 0.0);
    let mut add = |value: f64| {
        bound += value;
        size += value.abs();
    };
    for (price, group) in prices.iter().zip(&batch.groups) {
        add(price * group.members.len() as f64);
    }
    let mut worths = Vec::with_capacity(batch.nodes);
    for v in 0..batch.nodes {
        let (worth, patterns) = nodes.best(v, &prices);
        add(-worth);
        worths.push(worth);
        for pattern in patterns.into_iter().rev().take(3) {
            found(v, pattern);
        }
    }
    Knapsacks { bound: bound - 1e-11 * size, prices, worth: worths, patterns: Vec::new(), tolls: Vec::new() }
}

/// Patterns whose value in the LP is at least this are fixed together.
const NEARLY: f64 = 0.8;
/// Rounds of column generation after each fixing.
const AGAIN: usize = 3;

/// A solution by diving: fix the patterns that the LP is most sure of, make new ones for what is left, and so on.
pub(crate) fn dive(
    batch: &Batch,
    knapsacks: &Knapsacks,
    limits: &Limits<'_>,
) -> Result<Option<Slots>, MilpError> {
    let mut nodes = Nodes::new(batch, &knapsacks.tolls);
    let groups = batch.groups.len();
    let mut patterns: Vec<(usize, Pattern)> = Vec::new();
    let mut columns = Columns::default();
    for (g, group) in batch.groups.iter().enumerate() {
        columns.push(group.defer, group.members.len() as f64, [(g, 1.0)]);
    }
    for (v, pattern) in &knapsacks.patterns {
        if pattern.iter().all(|&(g, slot)| batch.cost(g, slot).is_finite()) {
            push(batch, *v, pattern, &mut columns);
            patterns.push((*v, pattern.clone()));
        }
    }
    let mut lp = limits.instance()?;
    lp.pass(&rows(batch), &columns, false)?;
    let mut open = vec![true; batch.nodes];
    let mut chosen: Vec<usize> = Vec::new();
    let mut first = true;
    loop {
        for _ in 0..AGAIN {
            if limits.out_of_time() || limits.cancelled() {
                return Ok(None);
            }
            lp.run()?;
            if lp.status() != ModelStatus::Optimal {
                return Ok(None);
            }
            if first {
                lp.set_text("presolve", c"presolve", c"off")?;
                first = false;
            }
            let duals = lp.row_duals()?;
            let mut columns = Columns::default();
            for v in (0..batch.nodes).filter(|&v| open[v]) {
                let (_, found) = nodes.best(v, &duals[..groups]);
                for pattern in found.into_iter().rev().take(2) {
                    let cost: f64 = pattern.iter().map(|&(g, slot)| batch.cost(g, slot) - duals[g]).sum();
                    if cost - duals[groups + v] < -1e-6 {
                        push(batch, v, &pattern, &mut columns);
                        patterns.push((v, pattern));
                    }
                }
            }
            if columns.len() == 0 {
                break;
            }
            lp.add(&columns)?;
        }
        lp.run()?;
        if lp.status() != ModelStatus::Optimal {
            return Ok(None);
        }
        let values = lp.values()?;
        let mut order: Vec<usize> =
            (0..patterns.len()).filter(|&p| open[patterns[p].0] && values[groups + p] > 1e-6).collect();
        order.sort_by(|&a, &b| values[groups + b].total_cmp(&values[groups + a]));
        let mut fixed = 0;
        for p in order {
            if fixed > 0 && values[groups + p] < NEARLY {
                break;
            }
            let (v, pattern) = &patterns[p];
            if open[*v] && nodes.take(pattern) {
                open[*v] = false;
                chosen.push(p);
                lp.fix(groups + p)?;
                fixed += 1;
            }
        }
        if fixed == 0 {
            break;
        }
    }
    let mut slots: Slots = nodes.left.iter().map(|&left| vec![batch.deferral(); left as usize]).collect();
    for (g, slot) in chosen.into_iter().flat_map(|p| patterns[p].1.clone()) {
        slots[g].push(slot);
    }
    Ok(Some(slots))
}

impl Knapsacks {
    /// How much dearer than the bound every solution with this pattern on this node is.
    fn loss(&self, batch: &Batch, v: usize, pattern: &Pattern) -> f64 {
        let own: f64 = pattern.iter().map(|&(g, slot)| self.prices[g] - batch.cost(g, slot)).sum();
        self.worth[v] - own
    }

    /// The columns that no solution of cost at most `limit` can use.
    pub(crate) fn useless(&self, batch: &Batch, limit: f64) -> Vec<(usize, usize)> {
        let mut nodes = Nodes::new(batch, &self.tolls);
        let mut useless = Vec::new();
        for v in 0..batch.nodes {
            let items = nodes.worthy(v, &self.prices, 0.0);
            for item in nodes.items[v].clone() {
                let own = self.prices[item.g] - item.cost;
                // Without a search: what goes with the item is worth no more than the best pattern.
                if self.bound - own > limit {
                    useless.push((item.g, item.slot));
                    continue;
                }
                let (rest, _) = nodes.search(v, &items, &[item]);
                if self.bound + self.worth[v] - rest - own > limit {
                    useless.push((item.g, item.slot));
                }
            }
        }
        useless
    }

    /// All patterns that a solution of cost at most `limit` can use; `None` if there are more than `most`.
    fn all_patterns(&self, batch: &Batch, limit: f64, most: usize) -> Option<Vec<(usize, Pattern)>> {
        let mut nodes = Nodes::new(batch, &self.tolls);
        let mut patterns = Vec::new();
        let slack = limit - self.bound;
        for v in 0..batch.nodes {
            let items = nodes.worthy(v, &self.prices, -slack);
            nodes.enter(v);
            let mut all = All {
                dive: Dive {
                    items: &items,
                    left: &mut nodes.left,
                    idle: &mut nodes.idle,
                    taken: Vec::new(),
                    best: 0.0,
                    found: Vec::new(),
                    steps: 0,
                },
                least: self.worth[v] - slack,
                most: most - patterns.len(),
            };
            all.run(0, batch.cores[v], batch.memory[v], 0.0);
            let found = all.dive.found;
            if found.len() > most - patterns.len() || all.dive.steps >= MOST_STEPS {
                return None;
            }
            let named = |taken: Vec<usize>| {
                taken.into_iter().map(|i| (items.list[i].g, items.list[i].slot)).collect()
            };
            patterns.extend(found.into_iter().map(|taken| (v, named(taken))));
        }
        Some(patterns)
    }
}

/// Steps of the search for all patterns of a node at most.
const MOST_STEPS: u64 = 2_000_000;

/// Finds every pattern that is worth at least `least`.
struct All<'a> {
    dive: Dive<'a>,
    least: f64,
    most: usize,
}

impl All<'_> {
    fn run(&mut self, from: usize, cores: u32, memory: u32, worth: f64) {
        if worth >= self.least && !self.dive.taken.is_empty() {
            self.dive.found.push(self.dive.taken.clone());
        }
        for i in from..self.dive.items.list.len() {
            if self.dive.steps >= MOST_STEPS || self.dive.found.len() > self.most {
                return;
            }
            self.dive.steps += 1;
            let item = self.dive.items.list[i];
            if worth + self.dive.items.most(i, cores, memory) < self.least - 1e-9 {
                return;
            }
            if !self.dive.fits(&item, cores, memory) {
                continue;
            }
            let warm = item.slot.is_multiple_of(2) && self.dive.idle[item.function] != UNLIMITED;
            self.dive.left[item.g] -= 1;
            self.dive.idle[item.function] -= u32::from(warm);
            self.dive.taken.push(i);
            self.run(i, cores - item.cores, memory - item.memory, worth + item.worth);
            self.dive.taken.pop();
            self.dive.idle[item.function] += u32::from(warm);
            self.dive.left[item.g] += 1;
        }
    }
}

/// The program over patterns: which pattern on which node.
pub(crate) struct Choice {
    pub(crate) rows: Rows,
    pub(crate) columns: Columns,
    /// The columns after those of deferral.
    patterns: Vec<(usize, Pattern)>,
    /// Where the search starts.
    pub(crate) start: Vec<f64>,
}

impl Choice {
    /// With the patterns that column generation has come across and a solution of cost at most `limit` can use: quick,
    /// and mostly good.
    pub(crate) fn known(batch: &Batch, knapsacks: &Knapsacks, best: &Slots, limit: f64) -> Choice {
        let can = |(v, pattern): &&(usize, Pattern)| {
            knapsacks.bound + knapsacks.loss(batch, *v, pattern) <= limit
                && pattern.iter().all(|&(g, slot)| batch.cost(g, slot).is_finite())
        };
        Choice::of(batch, knapsacks.patterns.iter().filter(can).cloned().collect(), best)
    }

    /// With all patterns that a solution of cost at most `limit` can use: exact. `None` if there are too many.
    pub(crate) fn all(
        batch: &Batch,
        knapsacks: &Knapsacks,
        best: &Slots,
        limit: f64,
        most: usize,
    ) -> Option<Choice> {
        Some(Choice::of(batch, knapsacks.all_patterns(batch, limit, most)?, best))
    }

    fn of(batch: &Batch, mut patterns: Vec<(usize, Pattern)>, best: &Slots) -> Choice {
        patterns.extend(patterns_of(batch, best));
        for (_, pattern) in &mut patterns {
            pattern.sort_unstable();
        }
        patterns.sort_unstable();
        patterns.dedup();
        let rows = rows(batch);
        let mut columns = Columns::default();
        let mut start = Vec::new();
        for (g, group) in batch.groups.iter().enumerate() {
            columns.push(group.defer, group.members.len() as f64, [(g, 1.0)]);
            start.push(best[g].iter().filter(|slot| **slot == batch.deferral()).count() as f64);
        }
        let mut used: Vec<Pattern> = vec![Vec::new(); batch.nodes];
        for (v, mut pattern) in patterns_of(batch, best) {
            pattern.sort_unstable();
            used[v] = pattern;
        }
        for (v, pattern) in &patterns {
            push(batch, *v, pattern, &mut columns);
            start.push(f64::from(u8::from(used[*v] == *pattern)));
        }
        Choice { rows, columns, patterns, start }
    }

    /// The solution that the values of the columns mean.
    pub(crate) fn slots(&self, batch: &Batch, values: &[f64]) -> Slots {
        let (defer, chosen) = values.split_at(batch.groups.len());
        let mut slots: Slots =
            defer.iter().map(|&count| vec![batch.deferral(); count.round() as usize]).collect();
        for ((_, pattern), &value) in self.patterns.iter().zip(chosen) {
            if value > 0.5 {
                for &(g, slot) in pattern {
                    slots[g].push(slot);
                }
            }
        }
        slots
    }
}

/// The pattern of each node that is not empty in a solution.
fn patterns_of(batch: &Batch, slots: &Slots) -> Vec<(usize, Pattern)> {
    let mut patterns: Vec<Pattern> = vec![Vec::new(); batch.nodes];
    for (g, slots) in slots.iter().enumerate() {
        for &slot in slots.iter().filter(|slot| **slot != batch.deferral()) {
            patterns[slot / 2].push((g, slot));
        }
    }
    patterns.into_iter().enumerate().filter(|(_, pattern)| !pattern.is_empty()).collect()
}

/// Each request once, each node once.
fn rows(batch: &Batch) -> Rows {
    let mut rows = Rows::default();
    for group in &batch.groups {
        rows.lower.push(group.members.len() as f64);
        rows.upper.push(group.members.len() as f64);
    }
    for _ in 0..batch.nodes {
        rows.lower.push(f64::NEG_INFINITY);
        rows.upper.push(1.0);
    }
    rows
}

/// Adds the column of a pattern.
fn push(batch: &Batch, v: usize, pattern: &Pattern, columns: &mut Columns) {
    let mut entries: Vec<(usize, f64)> = Vec::with_capacity(pattern.len() + 1);
    let mut cost = 0.0;
    for &(g, slot) in pattern {
        cost += batch.cost(g, slot);
        match entries.iter_mut().find(|(row, _)| *row == g) {
            Some((_, count)) => *count += 1.0,
            None => entries.push((g, 1.0)),
        }
    }
    entries.push((batch.groups.len() + v, 1.0));
    columns.push(cost, 1.0, entries);
}
