//! The knapsack bound (Dantzig and Wolfe): for batches of which a node holds only a few requests.
//!
//! The bounds in [`bounds`](crate::bounds) let a node hold half a request. Here each node holds a *pattern*, a set of
//! requests that fits; what is relaxed is that each request is in one pattern. At prices pi_g of requests the bound is
//! sum of n_g pi_g - sum over the nodes of the most that a pattern is worth, sum of (pi_g - cost) over its requests.
//! Valid for any prices. Good prices are the duals of an LP over patterns, made by column generation.
//!
//! A node's best pattern is found by depth-first search (`items.rs`). Where it takes too many steps, a bound stands in.

use crate::batch::Batch;
use crate::bounds::Limits;
use crate::highs::{MilpError, ModelStatus};
use crate::items::{Item, Items, Left, Search};
use crate::raw::{Columns, Highs, Rows};
use crate::start::{Random, Slots};

/// Steps of one search at most.
const STEPS: u64 = 200_000;

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
    /// The solution of the LP over patterns, if it splits no request.
    pub(crate) whole: Option<Slots>,
    /// Patterns that were worth something at some prices, with their nodes.
    patterns: Vec<(usize, Pattern)>,
    tolls: Vec<f64>,
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
                        idle: batch.idle[batch.idle_row(g, v)],
                        count: 0,
                        toll: if slot % 2 == 0 { tolls[batch.idle_row(g, v)] } else { 0.0 },
                        worth: 0.0,
                        reduced: 0.0,
                        lead: 0.0,
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
        self.search(v, &items, None)
    }

    /// The items that are worth more than this.
    fn worthy(&self, v: usize, prices: &[f64], least: f64) -> Items {
        let priced = self.items[v].iter().map(|item| Item {
            worth: prices[item.g] - item.cost,
            count: self.left[item.g],
            ..*item
        });
        let list = priced.filter(|item| item.worth > least && item.count > 0).collect();
        Items::new(list, self.batch.cores[v], self.batch.memory[v])
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

    /// What a search of these items begins with.
    fn all_left(&mut self, items: &Items) -> Left<'_> {
        for item in &items.list {
            self.idle[item.function] = item.idle;
        }
        Left { requests: &mut self.left, idle: &mut self.idle }
    }

    /// The same as [`Nodes::best`] with one item taken already, whose worth is not counted.
    fn search(&mut self, v: usize, items: &Items, taken: Option<&Item>) -> (f64, Vec<Pattern>) {
        let (mut cores, mut memory) = (self.batch.cores[v], self.batch.memory[v]);
        let left = self.all_left(items);
        if let Some(item) = taken {
            left.requests[item.g] -= 1;
            if item.takes_idle() {
                left.idle[item.function] = item.idle - 1;
            }
            (cores, memory) = (cores - item.cores, memory - item.memory);
        }
        let (worth, found) = Search::best(items, left, cores, memory, STEPS);
        if let Some(item) = taken {
            self.left[item.g] += 1;
        }
        (worth, found.into_iter().map(|taken| named(items, taken)).collect())
    }
}

/// The pattern of these places in a list.
fn named(items: &Items, taken: Vec<usize>) -> Pattern {
    taken.into_iter().map(|i| (items.list[i].g, items.list[i].slot)).collect()
}

/// The LP over patterns: which pattern on which node, and who is deferred. A node may hold parts of patterns.
struct Master<'a, 'w> {
    batch: &'a Batch,
    lp: Highs<'w>,
    /// The columns after those of deferral.
    patterns: Vec<(usize, Pattern)>,
    /// Columns that the next run adds.
    new: Columns,
    /// Whether it has run.
    solved: bool,
}

impl<'a, 'w> Master<'a, 'w> {
    fn new(
        batch: &'a Batch,
        patterns: Vec<(usize, Pattern)>,
        limits: &Limits<'w>,
    ) -> Result<Master<'a, 'w>, MilpError> {
        let mut columns = Columns::default();
        for (g, group) in batch.groups.iter().enumerate() {
            columns.push(group.defer, group.members.len() as f64, [(g, 1.0)]);
        }
        for (v, pattern) in &patterns {
            push(batch, *v, pattern, &mut columns);
        }
        let mut lp = limits.instance()?;
        lp.pass(&rows(batch), &columns, false)?;
        Ok(Master { batch, lp, patterns, new: Columns::default(), solved: false })
    }

    /// Solves it with the new columns; whether there is an optimum.
    fn run(&mut self) -> Result<bool, MilpError> {
        if self.new.len() > 0 {
            self.lp.add(&std::mem::take(&mut self.new))?;
        }
        self.lp.run()?;
        if !self.solved {
            // It pays for the first run only: the others start from the last basis.
            self.lp.set_text("presolve", c"presolve", c"off")?;
            self.solved = true;
        }
        Ok(self.lp.status() == ModelStatus::Optimal)
    }

    /// Takes a pattern if its reduced cost is below `-least`.
    fn offer(&mut self, v: usize, pattern: Pattern, duals: &[f64], least: f64) {
        let cost: f64 = pattern.iter().map(|&(g, slot)| self.batch.cost(g, slot) - duals[g]).sum();
        if cost - duals[self.batch.groups.len() + v] < -least {
            push(self.batch, v, &pattern, &mut self.new);
            self.patterns.push((v, pattern));
        }
    }

    /// The solution of the last run, if it splits nothing.
    fn whole(&self) -> Result<Option<Slots>, MilpError> {
        let values = self.lp.values()?;
        if values.iter().any(|value| (value - value.round()).abs() >= SPLIT) {
            return Ok(None);
        }
        let (defer, chosen) = values.split_at(self.batch.groups.len());
        Ok(Some(slots_of(self.batch, defer, &self.patterns, chosen)))
    }
}

/// A value of the LP that is so far from a whole number splits a request; the tolerance of HiGHS.
pub(crate) const SPLIT: f64 = 1e-6;

/// The solution that the values of the columns of deferral and of patterns mean.
fn slots_of(batch: &Batch, defer: &[f64], patterns: &[(usize, Pattern)], chosen: &[f64]) -> Slots {
    let mut slots: Slots =
        defer.iter().map(|&count| vec![batch.deferral(); count.round() as usize]).collect();
    for ((_, pattern), &value) in patterns.iter().zip(chosen) {
        if value > 0.5 {
            pattern.iter().for_each(|&(g, slot)| slots[g].push(slot));
        }
    }
    slots
}

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
    let mut patterns: Vec<(usize, Pattern)> =
        known.iter().flat_map(|slots| patterns_of(batch, slots)).collect();
    let first = no_more_than_deferral(batch, first.iter().copied());
    let mut best = priced(batch, &mut nodes, first, &mut |v, pattern| patterns.push((v, pattern)));
    ascend(batch, &mut nodes, &mut best, &mut patterns, limits);
    patterns.sort_unstable();
    patterns.dedup();
    if patterns.len() <= MOST_FOR_LP && !limits.out_of_time() {
        let mut master = Master::new(batch, patterns, limits)?;
        generate(&mut master, &mut nodes, &mut best, limits)?;
        patterns = master.patterns;
    }
    best.patterns = patterns;
    best.tolls = tolls.to_vec();
    Ok(best)
}

/// Patterns up to which an LP over them is solved. Beyond it takes seconds a round, for what it adds.
const MOST_FOR_LP: usize = 5000;
/// Rounds of column generation at most. Most end after ten to thirty.
const ROUNDS: usize = 150;
/// The share of the objective up to which a bound is close enough: where the LP is split, a tree comes after it anyway;
/// where it is not, its solution is optimal, and the bound should prove that.
const CLOSE: f64 = 1e-5;
const CLOSE_IF_WHOLE: f64 = 1e-11;
/// The least reduced cost that counts, ms: the tolerance of the duals of HiGHS.
const REDUCED: f64 = 1e-7;
/// The weight of the best prices so far in those that are looked at next (Wentges 1997): at first, its change with every
/// round, and at most. The duals alone swing.
const WEIGHT: f64 = 0.5;
const WEIGHT_STEP: f64 = 0.1;
const MOST_WEIGHT: f64 = 0.9;

/// Raises the bound to that of the LP over all patterns, by column generation.
fn generate(
    master: &mut Master<'_, '_>,
    nodes: &mut Nodes<'_>,
    best: &mut Knapsacks,
    limits: &Limits<'_>,
) -> Result<(), MilpError> {
    let batch = master.batch;
    let (mut weight, mut last) = (WEIGHT, f64::INFINITY);
    for round in 0..ROUNDS {
        if limits.out_of_time() || limits.cancelled() || !master.run()? {
            break;
        }
        if round == 0 {
            // Primal: the last basis stays feasible when columns come.
            master.lp.set_int("simplex_strategy", c"simplex_strategy", 4)?;
        }
        let objective = master.lp.objective();
        tracing::trace!(round, objective, bound = best.bound, patterns = master.patterns.len(), "patterns");
        let whole = master.whole()?;
        let close = if whole.is_some() { CLOSE_IF_WHOLE } else { CLOSE };
        let stalled = whole.is_some() && last - objective <= close * objective.abs();
        best.whole = whole;
        if objective - best.bound <= close * objective.abs() {
            break;
        }
        if stalled {
            weight = 0.0;
        }
        last = objective;
        let duals = master.lp.row_duals()?;
        let mixed = best.prices.iter().zip(&duals).map(|(best, dual)| weight * best + (1.0 - weight) * dual);
        let prices = no_more_than_deferral(batch, mixed);
        let now = priced(batch, nodes, prices, &mut |v, pattern| master.offer(v, pattern, &duals, REDUCED));
        if now.bound > best.bound {
            let whole = best.whole.take();
            *best = Knapsacks { whole, ..now };
            weight = (weight + WEIGHT_STEP).min(MOST_WEIGHT);
        } else {
            weight = (weight - WEIGHT_STEP).max(0.0);
        }
        if master.new.len() == 0 {
            if weight == 0.0 {
                break;
            }
            weight = 0.0;
        }
    }
    Ok(())
}

/// Prices of requests, none above that of deferral: a dearer one only lowers the bound.
fn no_more_than_deferral(batch: &Batch, prices: impl Iterator<Item = f64>) -> Vec<f64> {
    prices.zip(&batch.groups).map(|(price, group)| price.min(group.defer)).collect()
}

/// Steps of an ascent before the LP over patterns: that gains more in the same time, and starts with the patterns that they come across.
const ASCENT: usize = 20;
/// After how many steps without a better bound they are halved, from the whole of Polyak's on, and below which length the ascent ends.
const PATIENCE: usize = 4;
const LEAST_LENGTH: f64 = 0.005;
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
        if limits.out_of_time() || limits.cancelled() || length < LEAST_LENGTH {
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
    Knapsacks {
        bound: bound - 1e-11 * size,
        prices,
        worth: worths,
        whole: None,
        patterns: Vec::new(),
        tolls: Vec::new(),
    }
}

/// Patterns whose value in the LP is at least this are fixed together, in the first dive and in all others. One at a time would be
/// better, and take as many LPs as there are nodes.
const NEARLY: [f64; 2] = [0.8, 0.95];
/// From the third dive on, split values count for less by up to this, drawn at random: the second again would end as it did.
const NOISE: f64 = 0.3;
/// Rounds of column generation after each fixing, and how many patterns of a node each makes. More change little.
const AGAIN: usize = 3;
const OF_A_NODE: usize = 2;

/// A solution by diving: fix the patterns that the LP is most sure of, make new ones for what is left, and so on. The patterns
/// that it makes stay with the known ones, so that the next dive, by its `number`, begins with a better LP, and ends elsewhere.
pub(crate) fn dive(
    batch: &Batch,
    knapsacks: &mut Knapsacks,
    number: u64,
    limits: &Limits<'_>,
) -> Result<Option<Slots>, MilpError> {
    let mut nodes = Nodes::new(batch, &knapsacks.tolls);
    let allowed =
        |(_, pattern): &(usize, Pattern)| pattern.iter().all(|&(g, slot)| batch.cost(g, slot).is_finite());
    let patterns = std::mem::take(&mut knapsacks.patterns).into_iter().filter(allowed).collect();
    let mut master = Master::new(batch, patterns, limits)?;
    let mut open = vec![true; batch.nodes];
    let mut chosen: Vec<usize> = Vec::new();
    let mut random = Random::new(number);
    let mut doubt = || if number < 2 { 0.0 } else { NOISE * random.unit() };
    let nearly = NEARLY[usize::from(number > 0)];
    let whole = loop {
        if !patterns_for_the_rest(&mut master, &mut nodes, &open, limits)? || !master.run()? {
            break false;
        }
        let fixed = fix(&mut master, &mut nodes, &mut open, nearly, &mut doubt)?;
        if fixed.is_empty() {
            break true;
        }
        chosen.extend(fixed);
    };
    let mut slots: Slots = nodes.left.iter().map(|&left| vec![batch.deferral(); left as usize]).collect();
    for (g, slot) in chosen.into_iter().flat_map(|p| master.patterns[p].1.clone()) {
        slots[g].push(slot);
    }
    knapsacks.patterns = master.patterns;
    Ok(whole.then_some(slots))
}

/// Column generation for the nodes that are open, with the requests that are left. False if it has to end.
fn patterns_for_the_rest(
    master: &mut Master<'_, '_>,
    nodes: &mut Nodes<'_>,
    open: &[bool],
    limits: &Limits<'_>,
) -> Result<bool, MilpError> {
    for _ in 0..AGAIN {
        if limits.out_of_time() || limits.cancelled() || !master.run()? {
            return Ok(false);
        }
        let duals = master.lp.row_duals()?;
        for v in (0..open.len()).filter(|&v| open[v]) {
            let (_, found) = nodes.best(v, &duals);
            for pattern in found.into_iter().rev().take(OF_A_NODE) {
                master.offer(v, pattern, &duals, 10.0 * REDUCED);
            }
        }
        if master.new.len() == 0 {
            break;
        }
    }
    Ok(true)
}

/// Fixes the surest patterns, at least one if any is left; which. `doubt` is taken off each value that is split.
fn fix(
    master: &mut Master<'_, '_>,
    nodes: &mut Nodes<'_>,
    open: &mut [bool],
    nearly: f64,
    doubt: &mut dyn FnMut() -> f64,
) -> Result<Vec<usize>, MilpError> {
    let values = master.lp.values()?;
    let values = &values[master.batch.groups.len()..];
    let mut order: Vec<(f64, usize)> = (0..values.len())
        .filter(|&p| open[master.patterns[p].0] && values[p] > SPLIT)
        .map(|p| (if values[p] < 1.0 - SPLIT { values[p] - doubt() } else { values[p] }, p))
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut fixed = Vec::new();
    for (sure, p) in order {
        if !fixed.is_empty() && sure < nearly {
            break;
        }
        let (v, pattern) = &master.patterns[p];
        if open[*v] && nodes.take(pattern) {
            open[*v] = false;
            master.lp.fix(master.batch.groups.len() + p)?;
            fixed.push(p);
        }
    }
    Ok(fixed)
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
                let (rest, _) = nodes.search(v, &items, Some(&item));
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
            let left = nodes.all_left(&items);
            let limits = (MOST_STEPS, most - patterns.len());
            let (cores, memory) = (batch.cores[v], batch.memory[v]);
            let found = Search::all(&items, left, cores, memory, self.worth[v] - slack, limits)?;
            patterns.extend(found.into_iter().map(|taken| (v, named(&items, taken))));
        }
        Some(patterns)
    }
}

/// Steps of the search for all patterns of a node at most.
const MOST_STEPS: u64 = 2_000_000;

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
        slots_of(batch, defer, &self.patterns, chosen)
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
