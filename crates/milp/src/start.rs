//! Where the exact search starts: regret, then annealing by delta moves, then descent.
//!
//! Every step works on the compact batch, where a solution is one slot a request and costs are numbers in a table. Regret
//! places, of all groups, always a request of the one that loses most if it does not get its best column now. Annealing
//! moves one request, or two that change places, and looks at what changes only. It may leave (6), (7) and the idle
//! containers for a while: the excess has a weight, which grows while there is one and shrinks while there is none.
//! Only placements without an excess are kept.

use crate::batch::{Batch, UNLIMITED};
use crate::bounds::{self, Limits, Tolls};

/// A solution: for each group a slot for each of its requests.
pub(crate) type Slots = Vec<Vec<usize>>;

/// The best solution found, and its cost.
pub(crate) fn search(batch: &Batch, seed: u64, moves: u64, limits: &Limits<'_>) -> Slots {
    let mut search = Search::new(batch, seed);
    search.regret(&vec![false; search.group.len()]);
    search.descend();
    search.keep();
    search.anneal(moves, HOT, limits);
    search.restore();
    search.descend();
    search.slots()
}

/// The first solution of a large batch, in little time: the LP is the better guide there.
pub(crate) fn rush(batch: &Batch) -> Slots {
    let mut search = Search::new(batch, 0);
    let regret = |&g: &usize| {
        let costs = |rank: usize| batch.cost(g, search.cheapest[g][rank.min(search.cheapest[g].len() - 1)]);
        costs(1) - costs(0)
    };
    let mut order: Vec<(f64, usize)> = (0..batch.groups.len()).map(|g| (regret(&g), g)).collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut first = vec![0; batch.groups.len()];
    for (unit, &g) in search.group.iter().enumerate().rev() {
        first[g] = unit;
    }
    for (_, g) in order {
        for unit in (first[g]..).take(batch.groups[g].members.len()) {
            let slot = search.options(g).best;
            search.place(unit, slot);
        }
    }
    search.descend();
    search.slots()
}

/// Completes a solution in which some requests have slots, the first of each group, and improves it; with prices of
/// the room, moves go where they say.
pub(crate) fn complete(
    batch: &Batch,
    some: &Slots,
    tolls: Option<&Tolls>,
    seed: u64,
    moves: u64,
    limits: &Limits<'_>,
) -> Slots {
    let mut search = Search::new(batch, seed);
    if let Some(tolls) = tolls {
        (search.rank, search.anywhere) = (2.5, 12);
        search.propose(|g| bounds::cheapest(batch, tolls, g, LOOKED_AT, f64::INFINITY));
    }
    let mut placed = vec![false; search.group.len()];
    let mut first = 0;
    for (slots, group) in some.iter().zip(&batch.groups) {
        for (unit, &slot) in (first..).zip(slots) {
            if search.fits(search.group[unit], slot) {
                search.place(unit, slot);
                placed[unit] = true;
            }
        }
        first += group.members.len();
    }
    search.regret(&placed);
    search.descend();
    search.keep();
    search.anneal(moves, WARM, limits);
    search.restore();
    search.descend();
    search.slots()
}

/// Moves at one temperature: the clock and the weight of the excess are looked at so often.
const EPOCH: u64 = 1024;
/// How the weight of the excess changes with an epoch that ends with one, and without. It grows faster than it shrinks, so
/// that placements without an excess come up often.
const HEAVIER: f64 = 1.03;
const LIGHTER: f64 = 0.98;
/// Moves after which the cost is summed anew, so that rounding does not add up.
const SUM_AGAIN: u64 = 1 << 20;
/// Where annealing starts and ends, as shares of the mean cost of a request at its cheapest: hot from a greedy start,
/// warm from a solution that is good already.
const HOT: f64 = 0.12;
const WARM: f64 = 0.02;
const COLD: f64 = 0.002;

/// A solution improved by descent only.
pub(crate) fn descend(batch: &Batch, slots: &Slots) -> Slots {
    let mut search = Search::new(batch, 0);
    let all = slots.iter().flatten();
    for (unit, &slot) in all.enumerate() {
        search.place(unit, slot);
    }
    search.descend();
    search.slots()
}

/// Columns that a request looks at while annealing.
const LOOKED_AT: usize = 48;

struct Search<'a> {
    batch: &'a Batch,
    /// The group of each request; requests of a group stand together.
    group: Vec<usize>,
    /// The slot of each request.
    slot: Vec<usize>,
    /// What each request costs there.
    paid: Vec<f64>,
    /// Cheapest slots of each group, cheapest first, deferral last.
    cheapest: Vec<Vec<usize>>,
    /// What a move tries, the best first: those of a group stand together, from `first` on.
    proposals: Vec<u32>,
    first: Vec<u32>,
    /// The mean rank of what a move tries; one in so many tries anything.
    rank: f64,
    anywhere: usize,
    cores: Vec<i64>,
    memory: Vec<i64>,
    /// Idle containers left, at `j * nodes + v`.
    idle: Vec<i64>,
    /// Requests on each node, and the place of each request in its list.
    on: Vec<Vec<usize>>,
    place_on: Vec<usize>,
    /// What one request too many is in cores and memory.
    core_unit: f64,
    memory_unit: f64,
    cost: f64,
    excess: f64,
    /// Nodes and pairs that are over, counted: the excess is a sum of floats and never exactly zero again.
    over: usize,
    best: Vec<usize>,
    best_cost: f64,
    random: Random,
}

impl<'a> Search<'a> {
    fn new(batch: &'a Batch, seed: u64) -> Search<'a> {
        let group: Vec<usize> = (0..batch.groups.len())
            .flat_map(|g| std::iter::repeat_n(g, batch.groups[g].members.len()))
            .collect();
        let slot = vec![batch.deferral(); group.len()];
        let cheapest = (0..batch.groups.len()).map(|g| cheapest(batch, g)).collect();
        let count = group.len().max(1) as f64;
        let mean = |need: fn(&crate::batch::Need) -> u32| {
            let sum: f64 = batch.functions.iter().map(|f| f64::from(need(f)) * f64::from(f.requests)).sum();
            (sum / count).max(1.0)
        };
        let mut search = Search {
            cost: 0.0,
            cores: batch.cores.iter().map(|&free| i64::from(free)).collect(),
            memory: batch.memory.iter().map(|&free| i64::from(free)).collect(),
            idle: batch
                .idle
                .iter()
                .map(|&idle| if idle == UNLIMITED { i64::MAX } else { i64::from(idle) })
                .collect(),
            on: vec![Vec::new(); batch.nodes],
            place_on: vec![0; group.len()],
            core_unit: mean(|need| need.cores),
            memory_unit: mean(|need| need.memory),
            excess: 0.0,
            over: 0,
            best: Vec::new(),
            best_cost: f64::INFINITY,
            random: Random::new(seed),
            batch,
            paid: group.iter().map(|&g| batch.groups[g].defer).collect(),
            group,
            slot,
            cheapest,
            proposals: Vec::new(),
            first: Vec::new(),
            rank: 4.0,
            anywhere: 4,
        };
        search.cost = search.group.iter().map(|&g| batch.groups[g].defer).sum();
        search
    }

    fn slots(&self) -> Slots {
        let mut slots: Slots =
            self.batch.groups.iter().map(|group| Vec::with_capacity(group.members.len())).collect();
        for (&g, &slot) in self.group.iter().zip(&self.slot) {
            slots[g].push(slot);
        }
        slots
    }

    /// Whether a slot has room for one more request of the group.
    fn fits(&self, g: usize, slot: usize) -> bool {
        if slot == self.batch.deferral() {
            return true;
        }
        let (v, need) = (slot / 2, self.batch.functions[self.batch.groups[g].function]);
        self.cores[v] >= i64::from(need.cores)
            && self.memory[v] >= i64::from(need.memory)
            && (slot % 2 == 1 || self.idle[self.batch.idle_row(g, v)] > 0)
    }

    /// Moves a request, whatever the room.
    fn place(&mut self, unit: usize, slot: usize) {
        let old = self.slot[unit];
        self.shift(unit, slot);
        self.enlist(unit, old);
    }

    /// Moves a request, but leaves the lists of who is on which node as they are.
    fn shift(&mut self, unit: usize, slot: usize) {
        let (g, old) = (self.group[unit], self.slot[unit]);
        let deferral = self.batch.deferral();
        let cost = self.batch.cost(g, slot);
        self.cost += cost - self.paid[unit];
        self.paid[unit] = cost;
        self.slot[unit] = slot;
        if old != deferral {
            self.take(g, old, 1);
        }
        if slot != deferral {
            self.take(g, slot, -1);
        }
    }

    /// Brings the lists up to date for a request that was in slot `old`.
    fn enlist(&mut self, unit: usize, old: usize) {
        let (slot, deferral) = (self.slot[unit], self.batch.deferral());
        if old != deferral {
            let list = &mut self.on[old / 2];
            let place = self.place_on[unit];
            list.swap_remove(place);
            if let Some(&moved) = list.get(place) {
                self.place_on[moved] = place;
            }
        }
        if slot != deferral {
            self.place_on[unit] = self.on[slot / 2].len();
            self.on[slot / 2].push(unit);
        }
    }

    /// Gives (1) or takes (-1) the room of one request.
    fn take(&mut self, g: usize, slot: usize, sign: i64) {
        let need = self.batch.functions[self.batch.groups[g].function];
        let v = slot / 2;
        let mut change = |left: &mut i64, by: i64, unit: f64| {
            let before = *left;
            *left += by * sign;
            self.excess += ((-*left).max(0) - (-before).max(0)) as f64 / unit;
            self.over += usize::from(*left < 0);
            self.over -= usize::from(before < 0);
        };
        change(&mut self.cores[v], i64::from(need.cores), self.core_unit);
        change(&mut self.memory[v], i64::from(need.memory), self.memory_unit);
        if slot.is_multiple_of(2) {
            let left = &mut self.idle[self.batch.groups[g].function * self.batch.nodes + v];
            if *left != i64::MAX {
                change(left, 1, 1.0);
            }
        }
    }

    /// Places the others, always a request of the group that loses most if it does not get its best column now.
    fn regret(&mut self, placed: &[bool]) {
        let count = self.batch.groups.len();
        let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (unit, &g) in self.group.iter().enumerate().rev().filter(|(unit, _)| !placed[*unit]) {
            waiting[g].push(unit);
        }
        let mut options: Vec<Options> = vec![Options::NONE; count];
        for g in (0..count).filter(|&g| !waiting[g].is_empty()) {
            options[g] = self.options(g);
        }
        loop {
            let mut most: Option<(f64, usize)> = None;
            for g in (0..count).filter(|&g| !waiting[g].is_empty()) {
                let regret = options[g].second_cost - options[g].best_cost;
                if most.is_none_or(|(highest, _)| regret > highest) {
                    most = Some((regret, g));
                }
            }
            let Some((_, g)) = most else { return };
            let Some(unit) = waiting[g].pop() else { return };
            let taken = options[g].best;
            self.place(unit, taken);
            for other in (0..count).filter(|&other| !waiting[other].is_empty()) {
                let Options { best, second, .. } = options[other];
                if taken / 2 == best / 2 || taken / 2 == second / 2 {
                    options[other] = self.options(other);
                }
            }
        }
    }

    /// The two cheapest columns of a group that have room.
    fn options(&self, g: usize) -> Options {
        let (defer, defer_cost) = (self.batch.deferral(), self.batch.groups[g].defer);
        let none = Options { best: defer, best_cost: defer_cost, second: defer, second_cost: defer_cost };
        let mut found = none;
        let mut seen = 0;
        for &slot in &self.cheapest[g] {
            if self.fits(g, slot) {
                seen += 1;
                let cost = self.batch.cost(g, slot);
                if seen == 1 {
                    (found.best, found.best_cost) = (slot, cost);
                } else {
                    (found.second, found.second_cost) = (slot, cost);
                    break;
                }
            }
        }
        if self.cheapest[g].len() <= LOOKED_AT || (seen >= 2 && found.second != defer) {
            return found;
        }
        // The list is at its end: look at all.
        found = none;
        for (slot, &cost) in self.batch.row(g).iter().enumerate() {
            if cost < found.second_cost && self.fits(g, slot) {
                if cost < found.best_cost {
                    (found.second, found.second_cost) = (found.best, found.best_cost);
                    (found.best, found.best_cost) = (slot, cost);
                } else {
                    (found.second, found.second_cost) = (slot, cost);
                }
            }
        }
        found
    }

    /// Moves single requests to cheaper columns with room until there are none.
    fn descend(&mut self) {
        let mut improved = true;
        while improved {
            improved = false;
            for unit in 0..self.group.len() {
                let g = self.group[unit];
                let old = self.slot[unit];
                let mut cost = self.batch.cost(g, old);
                self.place(unit, self.batch.deferral());
                let mut best = old;
                for (slot, &other) in self.batch.row(g).iter().enumerate() {
                    if other < cost && self.fits(g, slot) {
                        (best, cost) = (slot, other);
                    }
                }
                self.place(unit, best);
                improved |= best != old;
            }
        }
    }

    fn keep(&mut self) {
        if self.over == 0 && self.cost < self.best_cost {
            self.best_cost = self.cost;
            self.best.clone_from(&self.slot);
        }
    }

    fn restore(&mut self) {
        for unit in 0..self.best.len() {
            self.place(unit, self.best[unit]);
        }
    }

    fn anneal(&mut self, moves: u64, hot: f64, limits: &Limits<'_>) {
        if self.group.is_empty() {
            return;
        }
        if self.proposals.is_empty() {
            self.propose_cheapest();
        }
        let mean = self.cheapest.iter().enumerate().map(|(g, list)| self.batch.cost(g, list[0])).sum::<f64>()
            / self.cheapest.len() as f64;
        let mean = mean.max(1e-3);
        let mut weight = mean;
        let (hot, cold) = (hot * mean, COLD * mean);
        let cooling = (cold / hot).powf(EPOCH as f64 / moves.max(EPOCH) as f64);
        let mut temperature = hot;
        for step in 0..moves {
            if step % EPOCH == EPOCH - 1 {
                if limits.out_of_time() || limits.cancelled() {
                    return;
                }
                temperature *= cooling;
                let factor = if self.over > 0 { HEAVIER } else { LIGHTER };
                weight = (weight * factor).clamp(1e-3 * mean, 1e3 * mean);
                if step % SUM_AGAIN == SUM_AGAIN - 1 {
                    self.cost = self.paid.iter().sum();
                }
            }
            self.try_move(temperature, weight);
        }
    }

    /// Proposes the cheapest columns of each group.
    fn propose_cheapest(&mut self) {
        let mut cheapest = std::mem::take(&mut self.cheapest);
        // Deferral stands at the end of each list and comes again.
        cheapest.iter_mut().for_each(|list| list.truncate(list.len() - 1));
        self.propose(|g| cheapest[g].clone());
        cheapest.iter_mut().for_each(|list| list.push(self.batch.deferral()));
        self.cheapest = cheapest;
    }

    /// Moves a random request, and in every other case one that is where it goes; takes it back unless the rule of Metropolis
    /// lets it stay.
    #[inline]
    fn try_move(&mut self, temperature: f64, weight: f64) {
        let before = self.cost + weight * self.excess;
        let a = self.random.below(self.group.len());
        let old_a = self.slot[a];
        let new_a = self.proposal(a);
        if new_a == old_a {
            return;
        }
        let mut other = None;
        if new_a != self.batch.deferral() && self.random.below(2) == 0 {
            let list = &self.on[new_a / 2];
            if !list.is_empty() {
                let b = list[self.random.below(list.len())];
                if b != a {
                    other = Some((b, self.slot[b]));
                }
            }
        }
        self.shift(a, new_a);
        if let Some((b, _)) = other {
            let target = self.exchange(b, old_a);
            self.shift(b, target);
        }
        let delta = self.cost + weight * self.excess - before;
        if delta <= 0.0 || self.random.unit() < (-delta / temperature).exp() {
            self.enlist(a, old_a);
            if let Some((b, old_b)) = other {
                self.enlist(b, old_b);
            }
            if self.over == 0 && self.cost < self.best_cost - 1e-9 {
                self.keep();
            }
        } else {
            if let Some((b, old_b)) = other {
                self.shift(b, old_b);
            }
            self.shift(a, old_a);
        }
    }

    /// Moves try these slots of each group, and deferral.
    fn propose(&mut self, slots: impl Fn(usize) -> Vec<usize>) {
        (self.proposals, self.first) = (Vec::new(), vec![0]);
        for g in 0..self.batch.groups.len() {
            self.proposals.extend(slots(g).into_iter().map(|slot| slot as u32));
            self.proposals.push(self.batch.deferral() as u32);
            self.first.push(self.proposals.len() as u32);
        }
    }

    /// A slot for a request: mostly one of the cheapest.
    fn proposal(&mut self, unit: usize) -> usize {
        let g = self.group[unit];
        let list = &self.proposals[self.first[g] as usize..self.first[g + 1] as usize];
        let rank = if self.random.below(self.anywhere) == 0 {
            self.random.below(list.len())
        } else {
            let rank = (-self.rank * (1.0 - self.random.unit()).ln()) as usize;
            rank.min(list.len() - 1)
        };
        list[rank] as usize
    }

    /// Where the other request of an exchange goes: to the place that was left, or to one of its own.
    fn exchange(&mut self, unit: usize, left: usize) -> usize {
        let g = self.group[unit];
        if left == self.batch.deferral() {
            return self.proposal(unit);
        }
        let (reuse, new) = (left & !1, left | 1);
        if self.batch.cost(g, reuse).is_finite() && self.idle[self.batch.idle_row(g, left / 2)] > 0 {
            reuse
        } else if self.batch.cost(g, new).is_finite() {
            new
        } else {
            self.proposal(unit)
        }
    }
}

#[derive(Clone, Copy)]
struct Options {
    best: usize,
    best_cost: f64,
    second: usize,
    second_cost: f64,
}

impl Options {
    const NONE: Options = Options { best: 0, best_cost: 0.0, second: 0, second_cost: 0.0 };
}

fn cheapest(batch: &Batch, g: usize) -> Vec<usize> {
    let row = batch.row(g);
    let mut slots: Vec<usize> = (0..row.len()).filter(|&slot| row[slot].is_finite()).collect();
    let by_cost = |a: &usize, b: &usize| row[*a].total_cmp(&row[*b]).then(a.cmp(b));
    if slots.len() > LOOKED_AT {
        slots.select_nth_unstable_by(LOOKED_AT, by_cost);
        slots.truncate(LOOKED_AT);
    }
    slots.sort_unstable_by(by_cost);
    slots.push(batch.deferral());
    slots
}

/// xorshift64* (Vigna 2016): small, fast and good enough for annealing.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `count`.
    fn below(&mut self, count: usize) -> usize {
        (((self.next() >> 32) * count as u64) >> 32) as usize
    }

    /// A number in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
