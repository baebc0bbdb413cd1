//! Room for those that wait, for the preset `hybrid`: an ejection pool.
//!
//! Where next to nothing is left free, a deferred request often needs several others to make way at once, some of which cost more
//! wherever they go, and no annealing at a sensible temperature goes there. Here only those costs are looked at that choose
//! between equals. The deferred requests are the pool. The last one in goes to the cheapest node that has room. If none has, it takes the
//! place of one or two requests of a node, which go into the pool; those that were hard to place before stay. Then some requests change
//! places at random. The idea is that of Nagata and Braysy, "A powerful route minimization heuristic for the vehicle routing
//! problem with time windows", Operations Research Letters 37 (2009), with nodes for routes.
//!
//! At load 0.95 that places all of 50 requests within some 10,000 evaluations and all of 200 within some 30,000, at a cost that is 10 to 20 %
//! too high: the search has to go on from there.

use crate::assignment::Assignment;
use crate::draw::Draw;
use crate::ranks::Ranks;

/// Trials of random moves after each step. With a few the pool goes round in circles; many cost evaluations and, since
/// next to no move has room, change little.
const SHAKES: usize = 20;
/// Temperature of those moves and of the choice between equals, ms: some per cent of a request's latency. Without costs the search that
/// follows has to repair more than it has evaluations for (200 requests); at a tenth of this the pool often stays full (50 requests).
const HEAT: f64 = 30.0;

/// Places requests that wait in a feasible assignment, which stays feasible, until none does or the evaluations are spent. Says
/// how many that were: a column that is looked at is one, a set of requests that might make way, or a random move. A request for which no two can make
/// way stays out.
pub(crate) fn empty(state: &mut Assignment, ranks: &Ranks, draw: &mut Draw, evaluations: u64) -> u64 {
    let waiting = state.on(ranks.defer()).to_vec();
    let hard = vec![0; ranks.requests.len()];
    let mut pool = Pool { state, ranks, draw, waiting, hard, spent: 0 };
    while pool.spent < evaluations {
        let Some(k) = pool.waiting.pop() else { break };
        // A request that could be in time on some node is made late only if it does not get there at any price.
        let placed =
            pool.settle(k as usize) || pool.push_out(k as usize, false) || pool.push_out(k as usize, true);
        if placed && !pool.waiting.is_empty() {
            pool.shake();
        }
    }
    pool.spent
}

struct Pool<'a> {
    state: &'a mut Assignment,
    ranks: &'a Ranks,
    draw: &'a mut Draw,
    /// The requests that still wait, the last one in last.
    waiting: Vec<u32>,
    /// How often each request did not find room.
    hard: Vec<u32>,
    spent: u64,
}

impl Pool<'_> {
    /// Whether a request may go to a column: not to wait, and if need be late.
    fn may(&self, k: usize, to: u32, late: bool) -> bool {
        let bar = self.ranks.first[k] + self.ranks.late / 2;
        to != self.ranks.defer() && (late || self.state.first(self.ranks, k, to) <= bar)
    }

    fn noise(&mut self) -> i64 {
        (HEAT * self.ranks.ticks * self.draw.exponential()) as i64
    }

    /// Moves a request to the cheapest node that has room for it, if there is one.
    fn settle(&mut self, k: usize) -> bool {
        let ranks = self.ranks;
        let row = ranks.row(k);
        self.spent += row.len() as u64;
        let room = row.iter().filter(|&&to| self.may(k, to, false) && self.state.fits(ranks, k, to));
        match room.min_by_key(|&&to| self.state.price(ranks, k, to)) {
            Some(&to) => self.state.shift(ranks, k, to),
            None => return false,
        }
        true
    }

    /// Moves a request to a node where one or two others make way, if there is one: those that were easiest to place, of
    /// equal ones those that make it cheapest, roughly.
    fn push_out(&mut self, k: usize, late: bool) -> bool {
        let ranks = self.ranks;
        self.hard[k] += 1;
        let mut least = (u32::MAX, 0);
        let mut best: Option<(u32, [Option<u32>; 2])> = None;
        for &to in ranks.row(k) {
            if !self.may(k, to, late) {
                continue;
            }
            let on = self.state.on(to).len();
            for one in 0..on {
                // Alone first: then no second has to go.
                for two in 0..=one {
                    self.spent += 1;
                    let on = self.state.on(to);
                    let out = [Some(on[one]), (two > 0).then(|| on[two - 1])];
                    let out_of = || out.iter().flatten().map(|&other| other as usize);
                    let hard = out_of().map(|other| self.hard[other]).sum();
                    if hard <= least.0 && self.state.makes_room(ranks, k, to, out_of()) {
                        let regained =
                            out_of().map(|other| self.state.saving(ranks, other) - ranks.first[other]);
                        let price = self.state.price(ranks, k, to) - regained.sum::<i64>();
                        let key = (hard, price + self.noise());
                        if key < least {
                            (least, best) = (key, Some((to, out)));
                        }
                        if two == 0 {
                            break;
                        }
                    }
                }
            }
        }
        let Some((to, out)) = best else { return false };
        for other in out.into_iter().flatten() {
            self.state.shift(ranks, other as usize, ranks.defer());
            self.waiting.push(other);
        }
        self.state.shift(ranks, k, to);
        true
    }

    /// Random moves and exchanges that keep the assignment feasible and are not much dearer.
    fn shake(&mut self) {
        let ranks = self.ranks;
        self.spent += SHAKES as u64;
        for _ in 0..SHAKES {
            let k = self.draw.below(ranks.requests.len());
            let row = ranks.row(k);
            let (from, to) = (self.state.place[k], row[self.draw.below(row.len())]);
            if from == ranks.defer() || from == to || !self.may(k, to, false) {
                continue;
            }
            let bar = self.noise();
            if self.state.fits(ranks, k, to) {
                let change = self.state.change(ranks, k, to);
                if change.cost <= bar {
                    self.state.accept(ranks, change, k, to);
                }
            } else if !self.state.on(to).is_empty() {
                let on = self.state.on(to);
                let other = on[self.draw.below(on.len())] as usize;
                let change = self.state.change_of_two(ranks, k, other, from);
                let fits = change.cores == 0 && change.memory == 0;
                if fits && change.cost <= bar && self.may(other, from, false) {
                    self.state.accept_two(ranks, change, k, other, from);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::tests::instance;
    use scale_model::Seed;

    /// Requests that wait in the best placement, one request after the other: the fewest of all feasible assignments.
    fn fewest(state: &mut Assignment, ranks: &Ranks, k: usize) -> usize {
        if k == ranks.requests.len() {
            return state.on(ranks.defer()).len();
        }
        let mut least = usize::MAX;
        for &to in ranks.row(k) {
            if to == ranks.defer() || state.fits(ranks, k, to) {
                state.shift(ranks, k, to);
                least = least.min(fewest(state, ranks, k + 1));
                state.shift(ranks, k, ranks.defer());
            }
        }
        least
    }

    /// From all deferred, on tight batches of eight requests: always feasible, and where there is room for all, mostly all find it
    /// (it moves at most two out of the way at once).
    #[test]
    fn whoever_can_be_placed_mostly_is() {
        let (mut possible, mut full) = (0, 0);
        for seed in 0..200 {
            let mut instance = instance(seed);
            instance.requests.truncate(8);
            let ranks = Ranks::of(&instance.problem());
            let mut state = Assignment::deferred(&ranks);
            let least = fewest(&mut state, &ranks, 0);
            let spent = empty(&mut state, &ranks, &mut Draw::new(Seed(seed)), 20_000);
            assert!(state.feasible() && spent <= 20_500, "batch {seed}: {spent}");
            let waiting = state.on(ranks.defer()).len();
            assert!(waiting >= least, "batch {seed}");
            possible += usize::from(least == 0);
            full += usize::from(waiting == 0);
        }
        assert!(possible >= 100 && 10 * full >= 8 * possible, "{full} of {possible}");
    }
}
