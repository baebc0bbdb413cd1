//! Rounded rows: what whole requests say of a node's room beyond (6) and (7).
//!
//! On a node, (6) and (7) and any sum of them read: sum of w_g x_g <= C, where x_g counts the requests of group g there, in
//! whichever container, and is a whole number from 0 to n_g. Some groups are counted from above, by n_g - x_g; their part
//! of C is then spent, L = C - sum of w_g n_g is left, and their weights are -w_g. Mixed-integer rounding by a divisor D
//! (Nemhauser and Wolsey 1990; with complements Marchand and Wolsey 2001) turns that into
//!
//! sum of F(w_g) x_g + sum of F(-w_g) (n_g - x_g) <= floor(L / D), with
//! F(w) = floor(w / D) + max(0, (w mod D - L mod D) / (D - L mod D)),
//!
//! which whole requests keep and split ones need not. All numbers before the last division are integers; the sums after it are
//! floats, and what they round off is far below the margin of every bound that is made of them.
//!
//! A row holds for groups that were not looked at too: they are counted from below, and their coefficient follows from their
//! function. So a row prices every column, and the LP stays one by column generation.

use crate::batch::Batch;
use crate::bounds::Prices;

/// Sum of the coefficients of what a node holds <= side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cut {
    pub(crate) node: usize,
    /// Coefficient of a request, by function.
    weights: Vec<f64>,
    /// What the coefficients of groups that are counted from above have more, in the order of groups.
    pub(crate) more: Vec<(usize, f64)>,
    pub(crate) side: f64,
}

impl Cut {
    /// Coefficient of a request of a group.
    pub(crate) fn weight(&self, batch: &Batch, g: usize) -> f64 {
        let more = self.more.binary_search_by_key(&g, |&(group, _)| group).map_or(0.0, |at| self.more[at].1);
        self.weights[batch.groups[g].function] + more
    }

    /// The same as an entry of a program: HiGHS refuses coefficients that are almost zero, and without one the row holds too.
    pub(crate) fn entry(&self, batch: &Batch, g: usize) -> Option<f64> {
        Some(self.weight(batch, g)).filter(|weight| *weight > LEAST)
    }

    /// Coefficients by function, for groups that are counted from below.
    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }
}

/// The least coefficient of an entry.
const LEAST: f64 = 1e-7;
/// From these shares of a group on, it is counted from above; the first is none.
const FROM_ABOVE: [f64; 5] = [f64::INFINITY, 0.999, 0.75, 0.5, 0.25];
/// Divisors: the weights of what is there, whole, halves and quarters.
const PARTS: [i64; 3] = [1, 2, 4];
/// A node that is less full than this, as a share of its room, is not looked at.
const FULL: f64 = 0.98;
/// A row is worth it if what the LP holds is beyond it by this, in the length of its coefficients.
const BEYOND: f64 = 0.01;
/// Rows of a node from (6), from (7) and from their sum, each time.
const OF_EACH: usize = 2;
/// In the sum, the dearer of both has this weight for a thousandth of a core or a MB.
const SUM: f64 = 1000.0;
/// ms for a thousandth of a core or a MB: below, room is free.
const NO_PRICE: f64 = 1e-9;
/// F is no steeper than this in the divisor's unit: what such a row gains is less than what its large coefficients cost the LP.
const STEEPEST: i64 = 50;

/// Rows that a solution of the LP breaks by most, up to six a node: group, slot, how many requests, in this order. `prices` say
/// how to add (6) to (7).
pub(crate) fn separate(batch: &Batch, values: &[(usize, usize, f64)], prices: &Prices) -> Vec<Cut> {
    let mut nodes: Vec<Vec<(usize, f64)>> = vec![Vec::new(); batch.nodes];
    for &(g, slot, value) in values.iter().filter(|(_, slot, _)| *slot != batch.deferral()) {
        // Both kinds of container count, and stand together.
        match nodes[slot / 2].last_mut() {
            Some((last, sum)) if *last == g => *sum += value,
            _ => nodes[slot / 2].push((g, value)),
        }
    }
    let mut cuts = Vec::new();
    for (v, held) in nodes.iter().enumerate() {
        let (core, memory) = (prices.cores[v], prices.memory[v]);
        let unit = if core.max(memory) > NO_PRICE { SUM / core.max(memory) } else { 0.0 };
        let sum = ((core * unit).round() as i64, (memory * unit).round() as i64);
        let both = (sum.0 > 0 && sum.1 > 0).then_some(sum);
        for (a, b) in [(1, 0), (0, 1)].into_iter().chain(both) {
            let weights =
                batch.functions.iter().map(|f| a * i64::from(f.cores) + b * i64::from(f.memory)).collect();
            let room = a * i64::from(batch.cores[v]) + b * i64::from(batch.memory[v]);
            cuts.append(&mut Row { batch, v, held, weights, room }.best());
        }
    }
    cuts
}

/// Sum of weights <= room on node v, and what the LP holds there.
struct Row<'a> {
    batch: &'a Batch,
    v: usize,
    held: &'a [(usize, f64)],
    weights: Vec<i64>,
    room: i64,
}

impl Row<'_> {
    fn weight(&self, g: usize) -> i64 {
        self.weights[self.batch.groups[g].function]
    }

    fn count(&self, g: usize) -> i64 {
        self.batch.groups[g].members.len() as i64
    }

    /// The rounded rows that are broken by most.
    fn best(&self) -> Vec<Cut> {
        let full: f64 = self.held.iter().map(|&(g, value)| self.weight(g) as f64 * value).sum();
        if full < FULL * self.room as f64 {
            return Vec::new();
        }
        let mut divisors: Vec<i64> = self.held.iter().map(|&(g, _)| self.weight(g)).collect();
        divisors.sort_unstable();
        divisors.dedup();
        let mut found: Vec<(f64, Cut)> = Vec::new();
        for share in FROM_ABOVE {
            let above: Vec<bool> =
                self.held.iter().map(|&(g, value)| value >= share * self.count(g) as f64).collect();
            if share.is_finite() && !above.contains(&true) {
                continue;
            }
            for &divisor in &divisors {
                for part in PARTS {
                    found.extend(self.rounded(&above, divisor, part));
                }
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.dedup_by(|a, b| a.1 == b.1);
        found.into_iter().take(OF_EACH).map(|(_, cut)| cut).collect()
    }

    /// The row rounded by a part of a divisor, with some groups counted from above, and by how much it is broken.
    fn rounded(&self, above: &[bool], divisor: i64, part: i64) -> Option<(f64, Cut)> {
        let spent: i64 = self
            .held
            .iter()
            .zip(above)
            .filter(|(_, above)| **above)
            .map(|(&(g, _), _)| self.weight(g) * self.count(g))
            .sum();
        let rounding = Rounding::new(divisor, part, self.room - spent)?;
        let (mut side, mut value, mut size) = (rounding.side, 0.0, 0.0);
        let mut more = Vec::new();
        for (&(g, held), above) in self.held.iter().zip(above) {
            let below = rounding.of(self.weight(g));
            let mut weight = below;
            if *above {
                weight = -rounding.of(-self.weight(g));
                side += weight * self.count(g) as f64;
                if weight != below {
                    more.push((g, weight - below));
                }
            }
            value += weight * held;
            size += weight * weight;
        }
        let beyond = (value - side) / size.sqrt().max(1.0);
        if beyond <= BEYOND {
            return None;
        }
        let weights = self.weights.iter().map(|&weight| rounding.of(weight)).collect();
        Some((beyond, Cut { node: self.v, weights, more, side }))
    }
}

/// F for a divisor and what is left.
struct Rounding {
    /// Weights are multiplied by this, so that the divisor is whole.
    part: i64,
    divisor: i64,
    /// L mod D.
    rest: i64,
    /// floor(L / D).
    side: f64,
}

impl Rounding {
    /// By a part of a divisor; `None` if it hardly rounds.
    fn new(divisor: i64, part: i64, left: i64) -> Option<Rounding> {
        let (left, divisor) = (part * left, divisor.max(1));
        let rest = left.rem_euclid(divisor);
        let steep = STEEPEST * (divisor - rest) < divisor;
        (!steep).then(|| Rounding { part, divisor, rest, side: left.div_euclid(divisor) as f64 })
    }

    fn of(&self, weight: i64) -> f64 {
        let weight = self.part * weight;
        let (whole, rest) = (weight.div_euclid(self.divisor), weight.rem_euclid(self.divisor));
        let over = (rest - self.rest).max(0) as f64 / (self.divisor - self.rest) as f64;
        whole as f64 + over
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};
    use scale_model::{
        ClusterState, CoreMilliseconds, Cores, Function, FunctionId, Gigahertz, Instance, Links, Megabytes,
        MegabytesPerSecond, Memory, Milliseconds, Node, NodeId, Objective, Platform, Position, Request,
        RequestId, Time, Topology,
    };

    use super::*;

    #[test]
    fn rounding_by_hand() {
        // 600 x <= 1000 by 600: 1000 = 1 * 600 + 400. One request of 600 fits, whole ones of 1000 count 1 and what they are beyond
        // 400, (400 - 400) / 200 = 0, more; of 1100 that is (500 - 400) / 200.
        let f = Rounding::new(600, 1, 1000).expect("400 of 600 are rounded");
        assert_eq!((f.side, f.of(600), f.of(399), f.of(1000), f.of(1100)), (1.0, 1.0, 0.0, 1.0, 1.5));
        // From above: -600 is -1 whole time. -700 is -2 and 500 beyond, so -2 + 0.5.
        assert_eq!((f.of(-600), f.of(-700)), (-1.0, -1.5));
        // By a half of 600: 1000 = 3 * 300 + 100.
        let f = Rounding::new(600, 2, 1000).expect("100 of 300 are rounded");
        assert_eq!((f.side, f.of(600), f.of(350)), (3.0, 2.0, 1.0));
        // 1001 = 1 * 501 + 500: F would be steep.
        assert!(Rounding::new(501, 1, 1001).is_none());
    }

    /// A batch for one node, in which requests are the same in part.
    fn one_node(draw: &mut impl FnMut(u32, u32) -> u32) -> Instance {
        let node = Node {
            name: "a".into(),
            kind: 0,
            position: Position { latitude: 0.0, longitude: 0.0 },
            frequency: Gigahertz(3.0),
            cores: Cores { milli: draw(500, 3000) },
            memory: Memory { mb: draw(500, 3000) },
            registry_bandwidth: MegabytesPerSecond(50.0),
        };
        let functions = (0..4).map(|index| Function {
            name: index.to_string(),
            image: Megabytes(1.0),
            init: Milliseconds(1.0),
            memory: Memory { mb: draw(1, 900) },
            cores: Cores { milli: draw(1, 900) },
        });
        let functions: Vec<Function> = functions.collect();
        let links = Links::from_fn(1, |_, _| MegabytesPerSecond(1.0)).expect("a rate");
        let platform = Platform { topology: Topology { nodes: vec![node], links }, functions };
        let request = |id, kind: u32| Request {
            id: RequestId(id),
            function: FunctionId(kind % 4),
            source: NodeId(0),
            arrival: Time(0.0),
            // Two groups of each function.
            cpu_time: CoreMilliseconds(10.0 + f64::from(kind / 4)),
            input: Megabytes(0.0),
            slo: Milliseconds(1000.0),
        };
        let requests = (0..8).map(|id| request(id, draw(0, 7))).collect();
        let state = ClusterState::empty(&platform);
        Instance { platform, state, requests, objective: Objective::ELASTIC }
    }

    #[test]
    fn whole_requests_keep_every_row() {
        let (mut rows, mut tight, mut from_above) = (0, 0, 0);
        for seed in 0..2000 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut draw = |from: u32, to: u32| from + rng.next_u32() % (to - from + 1);
            let instance = one_node(&mut draw);
            let batch = Batch::new(&instance.problem());
            let counts: Vec<u32> = batch.groups.iter().map(|group| group.members.len() as u32).collect();
            // Some groups are not held at all; the others in twelfths, in a new container or in parts in an idle one.
            let mut values = Vec::new();
            for (g, &count) in counts.iter().enumerate().filter(|(g, _)| (seed >> g) % 4 != 0) {
                let value = f64::from(draw(1, 12 * count)) / 12.0;
                values.extend([(g, 0, value / 3.0), (g, 1, value * 2.0 / 3.0)]);
            }
            let prices = Prices {
                cores: vec![f64::from(draw(0, 3)) / 7.0],
                memory: vec![f64::from(draw(0, 3)) / 11.0],
                idle: Vec::new(),
            };
            let cuts = separate(&batch, &values, &prices);
            rows += cuts.len();
            let mut most = vec![f64::NEG_INFINITY; cuts.len()];
            // All that fits on the node.
            let all: u32 = counts.iter().map(|count| count + 1).product();
            for mut number in 0..all {
                let mut digit = |count: &u32| {
                    let digit = number % (count + 1);
                    number /= count + 1;
                    digit
                };
                let held: Vec<u32> = counts.iter().map(&mut digit).collect();
                let sum = |need: fn(&crate::batch::Need) -> u32| -> u32 {
                    let groups = batch.groups.iter().zip(&held);
                    groups.map(|(group, count)| need(&batch.functions[group.function]) * count).sum()
                };
                if sum(|need| need.cores) > batch.cores[0] || sum(|need| need.memory) > batch.memory[0] {
                    continue;
                }
                for (most, cut) in most.iter_mut().zip(&cuts) {
                    let of_group = |(g, count): (usize, &u32)| cut.weight(&batch, g) * f64::from(*count);
                    *most = most.max(held.iter().enumerate().map(of_group).sum());
                }
            }
            for (most, cut) in most.iter().zip(&cuts) {
                from_above += usize::from(!cut.more.is_empty());
                assert!(*most <= cut.side + 1e-9, "seed {seed}: {most} in {cut:?}");
                tight += usize::from(*most >= cut.side - 1e-9);
                let held: f64 = values.iter().map(|&(g, _, value)| cut.weight(&batch, g) * value).sum();
                assert!(held > cut.side, "seed {seed}: what is held keeps {cut:?}");
            }
        }
        // Rows that nothing reaches would prove little.
        assert!(rows > 2000 && 2 * tight > rows, "{tight} of {rows}");
        assert!(10 * from_above > rows, "{from_above} of {rows}");
    }
}
