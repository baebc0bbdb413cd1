//! Good prices without an LP: where the column generation of large batches starts.
//!
//! The Lagrangian bound is a concave function of the prices, and what the cheapest columns need too much of a row is its
//! slope there. Each price takes steps along its own slope, divided by the root of the sum of its squares (AdaGrad,
//! Duchi et al. 2011). The steps see only a few columns of each group, those that were the cheapest when all columns were
//! last priced; the bound at the mean of the prices since then is at least the mean of the bounds.

use crate::batch::{Batch, UNLIMITED};
use crate::bounds::{Limits, Prices, Pricing, Tolls, cheapest, price};

/// How long an ascent goes on.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// How often all columns are priced at most, and steps between.
    rounds: usize,
    steps: usize,
    /// Columns of a group that the steps see.
    seen: usize,
    /// The first step, as a share of the mean cost of a request at its cheapest, and its decay by round.
    first: f64,
    decay: f64,
    /// Whether steps keep their length while rounds go on to gain about as much as the one before.
    patient: bool,
}

/// Where the simplex method does the rest. From the prices of 16 rounds it needs least time in all, of 4 to 60 that were
/// tried on batches of 1000 and 5000 requests.
pub(crate) const SHORT: Pace =
    Pace { rounds: 16, steps: 24, seen: 20, first: 1.6, decay: 0.75, patient: true };
/// Where the simplex method alone takes minutes: of 10,000 requests on 1000 nodes it stops 0.06 % below the LP after 5 s of
/// CPU time. Patience makes it slower there.
pub(crate) const LONG: Pace =
    Pace { rounds: 20, steps: 60, seen: 40, first: 0.4, decay: 0.85, patient: false };
/// A round gains about as much as the one before from this share of it on.
const STEADY: f64 = 0.7;

/// What a round keeps of the sums of squares.
const KEPT: f64 = 0.25;
/// The share of the bound by which a round must raise it for another one.
const ENOUGH: f64 = 2e-4;

/// A column that the steps see.
#[derive(Clone, Copy)]
struct Seen {
    node: u32,
    /// Its row of idle containers, if it takes a limited one.
    idle: u32,
    cost: f64,
}

/// No row.
const NO_ROW: u32 = u32::MAX;

/// Prices with a high bound, and what all columns are worth at them.
pub(crate) fn ascend(batch: &Batch, pace: Pace, limits: &Limits<'_>) -> (Prices, Pricing) {
    let mut prices = Prices::free(batch);
    let mut best = (prices.clone(), price(batch, &Tolls::of(batch, &prices)));
    let requests = batch.requests().max(1) as f64;
    let mut length = pace.first * best.1.bound.abs() / requests;
    // In units of one mean request, so that the three kinds of rows take like steps.
    let mean = |need: fn(&crate::batch::Need) -> u32| {
        let sum: f64 = batch.functions.iter().map(|f| f64::from(need(f)) * f64::from(f.requests)).sum();
        (sum / requests).max(1.0)
    };
    let (core_unit, memory_unit) = (mean(|need| need.cores), mean(|need| need.memory));
    let mut slopes = Prices::free(batch);
    let mut last_gain = 0.0;
    for round in 0..pace.rounds {
        if limits.out_of_time() || limits.cancelled() {
            break;
        }
        let seen = look(batch, &prices, pace.seen);
        let mut sum = Prices::free(batch);
        for list in [&mut slopes.cores, &mut slopes.memory, &mut slopes.idle] {
            list.iter_mut().for_each(|slope| *slope *= KEPT);
        }
        for _ in 0..pace.steps {
            let over = excess(batch, &prices, &seen);
            step(&mut prices.cores, &over.cores, &mut slopes.cores, core_unit, length, &mut sum.cores);
            step(&mut prices.memory, &over.memory, &mut slopes.memory, memory_unit, length, &mut sum.memory);
            step(&mut prices.idle, &over.idle, &mut slopes.idle, 1.0, length, &mut sum.idle);
        }
        let share = 1.0 / pace.steps as f64;
        for list in [&mut sum.cores, &mut sum.memory, &mut sum.idle] {
            list.iter_mut().for_each(|price| *price *= share);
        }
        let now = price(batch, &Tolls::of(batch, &sum));
        tracing::trace!(round, bound = now.bound, length, "ascent");
        let gain = now.bound - best.1.bound;
        if gain > 0.0 {
            best = (sum.clone(), now);
        } else {
            // Too long: the steps leave the columns that they see behind.
            length *= pace.decay;
        }
        prices = sum;
        if !pace.patient || gain <= 0.0 || gain < STEADY * last_gain {
            length *= pace.decay;
        }
        last_gain = gain;
        if (0.0..ENOUGH * best.1.bound.abs()).contains(&gain) {
            break;
        }
    }
    best
}

/// One step of each price of a kind, in its unit; adds the new prices to `sum`.
fn step(prices: &mut [f64], over: &[f64], slopes: &mut [f64], unit: f64, length: f64, sum: &mut [f64]) {
    for (((price, &over), slope), sum) in prices.iter_mut().zip(over).zip(slopes).zip(sum) {
        let over = over / unit;
        // A price of nothing does not fall.
        if over > 0.0 || *price > 0.0 {
            *slope += over * over;
            if *slope > 0.0 {
                *price = (*price + length / unit * over / slope.sqrt()).max(0.0);
            }
        }
        *sum += *price;
    }
}

/// The cheapest columns of each group at these prices.
fn look(batch: &Batch, prices: &Prices, count: usize) -> Vec<Vec<Seen>> {
    let tolls = Tolls::of(batch, prices);
    let group = |g: usize| {
        let column = |slot: usize| {
            let row = batch.idle_row(g, slot / 2);
            let limited = slot.is_multiple_of(2) && batch.idle[row] != UNLIMITED;
            let idle = if limited { row as u32 } else { NO_ROW };
            Seen { node: (slot / 2) as u32, idle, cost: batch.cost(g, slot) }
        };
        cheapest(batch, &tolls, g, count, f64::INFINITY).into_iter().map(column).collect()
    };
    (0..batch.groups.len()).map(group).collect()
}

/// What the cheapest columns take of each row beyond its side.
fn excess(batch: &Batch, prices: &Prices, seen: &[Vec<Seen>]) -> Prices {
    let side = |side: &u32| -f64::from(*side);
    let idle = |idle: &u32| if *idle == UNLIMITED { 0.0 } else { side(idle) };
    let mut over = Prices {
        cores: batch.cores.iter().map(side).collect(),
        memory: batch.memory.iter().map(side).collect(),
        idle: batch.idle.iter().map(idle).collect(),
    };
    for (group, seen) in batch.groups.iter().zip(seen) {
        let need = batch.functions[group.function];
        let (cores, memory) = (f64::from(need.cores), f64::from(need.memory));
        let (mut least, mut chosen) = (group.defer, None);
        for column in seen {
            let v = column.node as usize;
            let mut cost = column.cost + prices.cores[v] * cores + prices.memory[v] * memory;
            if column.idle != NO_ROW {
                cost += prices.idle[column.idle as usize];
            }
            if cost < least {
                (least, chosen) = (cost, Some(*column));
            }
        }
        if let Some(column) = chosen {
            let (v, count) = (column.node as usize, group.members.len() as f64);
            over.cores[v] += cores * count;
            over.memory[v] += memory * count;
            if column.idle != NO_ROW {
                over.idle[column.idle as usize] += count;
            }
        }
    }
    over
}
