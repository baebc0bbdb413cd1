//! The best pattern of one node: a knapsack with two limits, cores and memory, and few items.
//!
//! A depth-first search takes or leaves the items in turn. What is left is bounded by prices of the node's cores and
//! memory: the price of the room plus what the items are worth beyond the price of theirs. A search that takes long
//! starts again with a second bound, from dynamic programming on a grid of rooms.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::batch::{UNLIMITED, gcd};

/// A request of a group in a slot, as an item of its node's knapsack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) g: usize,
    pub(crate) slot: usize,
    /// ms of J.
    pub(crate) cost: f64,
    /// Thousandths of a core, and MB.
    pub(crate) cores: u32,
    pub(crate) memory: u32,
    pub(crate) function: usize,
    /// Idle containers of the function on the node.
    pub(crate) idle: u32,
    /// Requests of the group.
    pub(crate) count: u32,
    /// The price of an idle container in the first relaxation, if it takes a limited one. Only a guide.
    pub(crate) toll: f64,
    /// The price of its request less its cost, ms.
    pub(crate) worth: f64,
    /// Its worth less the price of its room.
    pub(crate) reduced: f64,
    /// The best reduced worth in its group.
    pub(crate) lead: f64,
}

impl Item {
    /// Whether it takes one of the idle containers that can run out.
    pub(crate) fn takes_idle(&self) -> bool {
        self.slot.is_multiple_of(2) && self.idle != UNLIMITED
    }
}

/// The items of a node: those of a group stand together, groups by their best reduced worth, the highest first.
pub(crate) struct Items {
    pub(crate) list: Vec<Item>,
    /// Room of the node, thousandths of a core and MB, and their prices.
    cores: u32,
    memory: u32,
    core_price: f64,
    memory_price: f64,
    /// At `i`, the most that the items from `i` on can have in reduced worth together.
    rest: Vec<f64>,
    /// Made for searches that take long.
    tables: OnceCell<Tables>,
}

/// Passes of the pricing of room, cores and memory in turn: it hardly moves after them.
const PASSES: usize = 6;
/// Items up to which room has no price: the search is quicker than the pricing.
const FEW_ITEMS: usize = 5;

impl Items {
    /// Prices the room so that the bound on the best pattern is low, whatever the bound is for. The items come group by
    /// group.
    pub(crate) fn new(mut list: Vec<Item>, cores: u32, memory: u32) -> Items {
        let (core_price, memory_price) = match list.len() {
            0..=FEW_ITEMS => (0.0, 0.0),
            _ => price_of_room(&list, f64::from(cores), f64::from(memory)),
        };
        for item in &mut list {
            item.reduced =
                item.worth - core_price * f64::from(item.cores) - memory_price * f64::from(item.memory);
        }
        for group in list.chunk_by_mut(|x, y| x.g == y.g) {
            let lead = group.iter().fold(f64::NEG_INFINITY, |lead, item| lead.max(item.reduced));
            group.iter_mut().for_each(|item| item.lead = lead);
        }
        list.sort_unstable_by(|x, y| y.lead.total_cmp(&x.lead).then((x.g, x.slot).cmp(&(y.g, y.slot))));
        let rest = rest(&list);
        Items { list, cores, memory, core_price, memory_price, rest, tables: OnceCell::new() }
    }

    /// The most that a pattern can be worth with at least one item from `from` on, in a room.
    pub(crate) fn most(&self, from: usize, cores: u32, memory: u32) -> f64 {
        let Some(first) = self.list.get(from) else { return 0.0 };
        let room = self.core_price * f64::from(cores) + self.memory_price * f64::from(memory);
        let priced = room + if first.lead > 0.0 { self.rest[from] } else { first.lead };
        match self.tables.get() {
            Some(tables) => priced.min(tables.most(from, cores, memory)),
            None => priced,
        }
    }

    /// Bounds from now on by tables too.
    fn tabulate(&self) {
        self.tables.get_or_init(|| Tables::new(&self.list, self.cores, self.memory));
    }
}

/// Prices of cores and memory at which the room and what the items are worth beyond theirs come to little: each is the
/// best for the other in turn, from both ends.
fn price_of_room(list: &[Item], cores: f64, memory: f64) -> (f64, f64) {
    // Worth, cores, memory and how many.
    let rows: Vec<[f64; 4]> = list
        .iter()
        .map(|item| [item.worth - item.toll, item.cores.into(), item.memory.into(), item.count.into()])
        .collect();
    let need = |kind: usize| rows.iter().map(|row| row[kind] * row[3]).sum::<f64>();
    if need(1) <= cores && need(2) <= memory {
        return (0.0, 0.0);
    }
    let value = |a: f64, b: f64| {
        let beyond =
            |[worth, cores, memory, count]: &[f64; 4]| count * (worth - a * cores - b * memory).max(0.0);
        a * cores + b * memory + rows.iter().map(beyond).sum::<f64>()
    };
    let mut ratios = Vec::with_capacity(rows.len());
    let mut best = (f64::INFINITY, 0.0, 0.0);
    for first in [0, 1] {
        let (mut a, mut b) = (0.0, 0.0);
        for pass in 0..PASSES {
            if (pass + first) % 2 == 0 {
                a = break_even(
                    rows.iter().map(|row| (row[0] - b * row[2], row[1], row[3])),
                    cores,
                    &mut ratios,
                );
            } else {
                b = break_even(
                    rows.iter().map(|row| (row[0] - a * row[1], row[2], row[3])),
                    memory,
                    &mut ratios,
                );
            }
        }
        let now = value(a, b);
        if now < best.0 {
            best = (now, a, b);
        }
    }
    (best.1, best.2)
}

/// The price of room at which what is worth it just fits: items are (worth, need, how many).
fn break_even(
    items: impl Iterator<Item = (f64, f64, f64)>,
    mut room: f64,
    ratios: &mut Vec<(f64, f64)>,
) -> f64 {
    ratios.clear();
    ratios.extend(items.filter(|item| item.0 > 0.0).map(|(worth, need, count)| (worth / need, need * count)));
    ratios.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    for &(ratio, need) in ratios.iter() {
        room -= need;
        if room < 0.0 {
            return ratio;
        }
    }
    0.0
}

/// At `i`, the most that the items from `i` on can have in reduced worth: every request in a new container, and beyond
/// that the reuses that gain most by it, as many as there are idle containers.
fn rest(list: &[Item]) -> Vec<f64> {
    let mut rest = vec![0.0; list.len() + 1];
    let mut reuses: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (i, item) in list.iter().enumerate().rev() {
        let (worth, count) = (item.reduced.max(0.0), item.count);
        let more = if item.slot % 2 == 1 {
            worth * f64::from(count)
        } else {
            // The item of a new container stands behind that of an idle one.
            let new = list.get(i + 1).filter(|next| next.g == item.g);
            let gain = worth - new.map_or(0.0, |new| new.reduced.max(0.0));
            match item.idle {
                UNLIMITED => gain * f64::from(count),
                limit => among_best(reuses.entry(item.function).or_default(), gain, count, limit),
            }
        };
        rest[i] = rest[i + 1] + more;
    }
    rest
}

/// Adds a gain `count` times to a list of the `limit` highest; by how much their sum grows.
fn among_best(gains: &mut Vec<f64>, gain: f64, count: u32, limit: u32) -> f64 {
    let mut more = 0.0;
    for _ in 0..count.min(limit) {
        let place = gains.partition_point(|other| *other >= gain);
        gains.insert(place, gain);
        more += gain;
        if gains.len() > limit as usize {
            more -= gains.pop().unwrap_or(0.0);
        }
    }
    more
}

/// The most that the groups from one on are worth in each room of a grid, if idle containers are not counted.
struct Tables {
    /// Thousandths of a core and MB from point to point. Needs are rounded down, so what fits in truth fits on the grid.
    core_step: u32,
    memory_step: u32,
    /// Points in each direction.
    wide: usize,
    high: usize,
    /// Which table bounds the items from each one on.
    class: Vec<usize>,
    /// One table after the other; empty if they would be too large.
    values: Vec<f64>,
}

/// Points of a grid in each direction at most: finer ones cost more than their bound saves.
const POINTS: u32 = 64;
/// Numbers in all tables of a node at most, 16 MB.
const NUMBERS: usize = 2_000_000;

impl Tables {
    fn new(list: &[Item], cores: u32, memory: u32) -> Tables {
        // A grid finer than the common divisor is no better; a coarser one is used where that has too many points.
        let step = |need: fn(&Item) -> u32, have: u32| {
            let divisor = list.iter().fold(0, |divisor, item| gcd(divisor, need(item)));
            divisor.max(have / POINTS + 1)
        };
        let (core_step, memory_step) = (step(|item| item.cores, cores), step(|item| item.memory, memory));
        let (wide, high) = ((cores / core_step) as usize + 1, (memory / memory_step) as usize + 1);
        let groups: Vec<&[Item]> = list.chunk_by(|x, y| x.g == y.g).collect();
        let class = groups.iter().enumerate().flat_map(|(k, items)| items.iter().map(move |_| k)).collect();
        let mut tables = Tables { core_step, memory_step, wide, high, class, values: Vec::new() };
        if groups.len() * wide * high <= NUMBERS {
            tables.fill(&groups);
        }
        tables
    }

    /// Dynamic programming from the last group to the first.
    fn fill(&mut self, groups: &[&[Item]]) {
        let size = self.wide * self.high;
        self.values = vec![0.0; (groups.len() + 1) * size];
        for (k, items) in groups.iter().enumerate().rev() {
            let (before, after) = self.values.split_at_mut((k + 1) * size);
            let table = &mut before[k * size..];
            table.copy_from_slice(&after[..size]);
            let worth = items.iter().fold(0.0_f64, |worth, item| worth.max(item.worth));
            let (wide, high) =
                ((items[0].cores / self.core_step) as usize, (items[0].memory / self.memory_step) as usize);
            if worth <= 0.0 || wide >= self.wide || high >= self.high {
                continue;
            }
            let count = items[0].count;
            for _ in 0..count.min(POINTS) {
                if !add_one(table, (self.wide, self.high), (wide, high), worth) {
                    break;
                }
            }
            // More copies than the loop has tried, of something that takes no room on the grid.
            if count > POINTS {
                table.iter_mut().for_each(|value| *value += worth * f64::from(count - POINTS));
            }
        }
    }

    fn most(&self, from: usize, cores: u32, memory: u32) -> f64 {
        if self.values.is_empty() {
            return f64::INFINITY;
        }
        let point = (cores / self.core_step) as usize * self.high + (memory / self.memory_step) as usize;
        self.values[self.class[from] * self.wide * self.high + point]
    }
}

/// Offers each room of a table one more item of this size and worth; whether any takes it.
fn add_one(table: &mut [f64], (wide, high): (usize, usize), size: (usize, usize), worth: f64) -> bool {
    let mut changed = false;
    for x in (size.0..wide).rev() {
        for y in (size.1..high).rev() {
            let with = table[(x - size.0) * high + y - size.1] + worth;
            let place = &mut table[x * high + y];
            if with > *place {
                *place = with;
                changed = true;
            }
        }
    }
    changed
}

/// Steps after which a search starts again with tables: most end before, and tables take as long as thousands of steps.
const STEPS_BEFORE_TABLES: u64 = 1_000;
/// What two worths may differ by and still count as equal, ms: far above the rounding of their sums.
const EQUAL: f64 = 1e-9;

/// What a search goes on with: requests left of each group, idle containers left of each function on the node.
pub(crate) struct Left<'a> {
    pub(crate) requests: &'a mut [u32],
    pub(crate) idle: &'a mut [u32],
}

/// A depth-first search over the patterns of a node.
pub(crate) struct Search<'a> {
    items: &'a Items,
    left: Left<'a>,
    taken: Vec<usize>,
    /// Only patterns that are worth more count.
    floor: f64,
    /// Whether every pattern that counts raises the floor.
    rising: bool,
    /// Steps and patterns after which the search gives up.
    most_steps: u64,
    most_found: usize,
    steps: u64,
    /// Places of the items of each pattern in the list.
    found: Vec<Vec<usize>>,
}

impl<'a> Search<'a> {
    /// An upper bound on the worth of the best pattern, and patterns on the way to it, the best last. After `most_steps` the
    /// bound on what is left stands in for the rest of the search.
    pub(crate) fn best(
        items: &'a Items,
        left: Left<'a>,
        cores: u32,
        memory: u32,
        most_steps: u64,
    ) -> (f64, Vec<Vec<usize>>) {
        let mut search = Search {
            items,
            left,
            taken: Vec::new(),
            floor: EQUAL,
            rising: true,
            most_steps: most_steps.min(STEPS_BEFORE_TABLES),
            most_found: usize::MAX,
            steps: 0,
            found: Vec::new(),
        };
        search.run(0, cores, memory, 0.0);
        if search.given_up() && search.most_steps < most_steps {
            items.tabulate();
            search.found.clear();
            (search.floor, search.steps, search.most_steps) = (EQUAL, 0, most_steps);
            search.run(0, cores, memory, 0.0);
        }
        // The floor is above the best worth by what counts as equal, so rounding does not make the bound too low.
        let worth =
            if search.given_up() { EQUAL + items.most(0, cores, memory).max(0.0) } else { search.floor };
        (worth, search.found)
    }

    /// All patterns that are worth at least `least`; `None` after `most_steps`, or if there are more than `most`.
    pub(crate) fn all(
        items: &'a Items,
        left: Left<'a>,
        cores: u32,
        memory: u32,
        least: f64,
        (most_steps, most): (u64, usize),
    ) -> Option<Vec<Vec<usize>>> {
        let mut search = Search {
            items,
            left,
            taken: Vec::new(),
            floor: least - EQUAL,
            rising: false,
            most_steps,
            most_found: most,
            steps: 0,
            found: Vec::new(),
        };
        items.tabulate();
        search.run(0, cores, memory, 0.0);
        if search.given_up() { None } else { Some(search.found) }
    }

    fn given_up(&self) -> bool {
        self.steps >= self.most_steps || self.found.len() > self.most_found
    }

    fn run(&mut self, from: usize, cores: u32, memory: u32, worth: f64) {
        if worth > self.floor && !self.taken.is_empty() {
            self.found.push(self.taken.clone());
            if self.rising {
                self.floor = worth + EQUAL;
            }
        }
        for i in from..self.items.list.len() {
            if self.given_up() {
                return;
            }
            self.steps += 1;
            if worth + self.items.most(i, cores, memory) <= self.floor {
                return;
            }
            let item = self.items.list[i];
            if !self.fits(&item, cores, memory) {
                continue;
            }
            let takes = u32::from(item.takes_idle());
            self.left.requests[item.g] -= 1;
            self.left.idle[item.function] -= takes;
            self.taken.push(i);
            self.run(i, cores - item.cores, memory - item.memory, worth + item.worth);
            self.taken.pop();
            self.left.idle[item.function] += takes;
            self.left.requests[item.g] += 1;
        }
    }

    fn fits(&self, item: &Item, cores: u32, memory: u32) -> bool {
        item.cores <= cores
            && item.memory <= memory
            && self.left.requests[item.g] > 0
            && (item.slot % 2 == 1 || self.left.idle[item.function] > 0)
    }
}
