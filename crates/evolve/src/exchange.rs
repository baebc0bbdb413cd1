//! Chains of moves for the preset `hybrid`: the best way to let several requests change places at once.
//!
//! Where little is left free, a request finds a better place only if another one makes way, for which a third must make
//! way, and so on. A chain is a path (k goes to where i is, i to where j is, ..., the last one to where there is room) or
//! the same closed to a cycle. No node is touched twice, so the change of each node is exact by itself and the changes add
//! up: the cheapest chain is a shortest path over requests, whose arc from i to j costs what changes on j's node if i comes
//! and j goes (multi-exchange neighbourhoods: Ahuja, Orlin, Sharma 2000; for generalised assignment: Yagiura, Ibaraki,
//! Glover 2006). Only deferral, where there is room for all, may be left and reached by one chain. It is found layer by
//! layer with one label a request, which may miss a chain but never makes one up.
//!
//! # What makes it cheap
//! An arc is an evaluation: the exact value of what one or two moves change. Most need none.
//!
//! - *Gain.* Only chains are followed whose moves so far lower the cost together, after every step. A path loses nothing by
//!   that: a beginning that does not can be left out. A cycle can begin elsewhere (Lin and Kernighan 1973). What a request
//!   costs on a node where it comes first is in a table, and is the least that it can cost there. So columns are looked at
//!   from the cheapest on, until nothing is left to gain.
//! - *Memory.* The value of an arc depends on two groups, the requests of i's function and of j's on that node. It is kept
//!   until one of them changes. A chain changes a few of some thousand.
//! - *Width.* At first only the cheapest columns of every request; when they yield nothing any more, twice as many. A late
//!   request could gain so much that it would look everywhere at once.
//! - *Best.* Once a chain is found, only requests are followed whose own end could beat it. That may miss a better chain, but
//!   never the last one.

use crate::assignment::Assignment;
use crate::islands::Watch;
use crate::ranks::Ranks;
use scale_model::Stop;

/// The most requests that a chain moves.
const LONGEST: usize = 6;
/// How many columns of each request are looked at to begin with.
const NARROW: usize = 4;
/// The cost of what does not fit or is not known.
const NEVER: i64 = i64::MAX / 4;
/// Chains that are made longer between two looks at the clock.
const LOOK: usize = 1024;

/// A search for chains.
pub(crate) struct Chains<'a> {
    ranks: &'a Ranks,
    /// The assignment that it makes better, always feasible.
    pub(crate) state: Assignment,
    /// Evaluations spent, and how many there are. What is looked up again is none.
    pub(crate) spent: u64,
    limit: u64,
    round: u32,
    /// The round in which each group last changed. A value is good if it is not older than its groups.
    changed: Vec<u32>,
    /// Of each request: what it saves by leaving where it is.
    savings: Vec<Known>,
    /// Of each request, by column: what it costs there if nobody makes way.
    prices: Vec<Kept>,
    /// Of each request, by another one: what changes on that one's column if it comes and the other goes.
    arcs: Vec<Kept>,
    /// By moves made and request j: what changes so far, as if j stayed; and who comes to j's place.
    labels: Vec<(i64, u32)>,
}

/// A value and the round in which it was worked out; round 0 for none.
#[derive(Clone, Copy, Default)]
struct Known {
    round: u32,
    value: i64,
}

/// Values by column or by request. An ordered map takes a third longer for the whole search.
#[expect(clippy::disallowed_types, reason = "looked up only, never gone through")]
type Kept = std::collections::HashMap<u32, Known>;

/// A chain: what it changes, and each request with where it was and where it goes.
type Chain = (i64, Vec<(usize, u32, u32)>);

impl<'a> Chains<'a> {
    /// For so many evaluations.
    pub(crate) fn new(ranks: &'a Ranks, state: Assignment, limit: u64) -> Chains<'a> {
        let count = ranks.requests.len();
        Chains {
            ranks,
            state,
            spent: 0,
            limit,
            round: 1,
            changed: vec![1; ranks.groups.len()],
            savings: vec![Known::default(); count],
            prices: vec![Kept::default(); count],
            arcs: vec![Kept::default(); count],
            labels: Vec::new(),
        }
    }

    /// Makes chains that lower the cost, while there are any and evaluations are left. `note` hears of every assignment and
    /// of the evaluations spent so far. Why it was cut short, if it was.
    pub(crate) fn descend(&mut self, watch: &Watch, mut note: impl FnMut(u64, &Assignment)) -> Option<Stop> {
        let mut width = NARROW;
        while self.spent < self.limit {
            let found = self.search(width, watch);
            let none = found.is_empty();
            self.make(found);
            note(self.spent, &self.state);
            let cut = watch.reason();
            if cut.is_some() {
                return cut;
            }
            if none {
                if width >= self.ranks.columns {
                    break;
                }
                width *= 2;
            }
        }
        None
    }

    /// Makes the last chain, and of the others those that touch nothing that has changed.
    fn make(&mut self, found: Vec<Chain>) {
        self.round += 1;
        let mut touched = vec![false; self.ranks.columns];
        for (_, moves) in found.into_iter().rev() {
            let deferral = self.ranks.defer();
            let changed = |&(k, from, to): &(usize, u32, u32)| {
                let on = |column: u32| column != deferral && touched[column as usize];
                self.state.place[k] != from || on(from) || on(to)
            };
            if moves.iter().any(changed) {
                continue;
            }
            for (k, from, to) in moves {
                for column in [from, to] {
                    touched[column as usize] = true;
                    self.changed[self.ranks.requests[k].row + column as usize] = self.round;
                }
                self.state.shift(self.ranks, k, to);
            }
        }
    }

    /// Chains that lower the cost, each more than the one before, through the first `width` columns of every request; the last
    /// of a chain may go anywhere.
    fn search(&mut self, width: usize, watch: &Watch) -> Vec<Chain> {
        let (ranks, count) = (self.ranks, self.ranks.requests.len());
        let mut found: Vec<Chain> = Vec::new();
        for k in 0..count {
            if self.spent >= self.limit {
                return found;
            }
            let group = ranks.requests[k].row + self.state.place[k] as usize;
            if self.savings[k].round < self.changed[group] {
                self.savings[k] = Known { round: self.round, value: self.state.saving(ranks, k) };
                self.spent += 1;
            }
        }
        self.labels.clear();
        self.labels.resize(count, (0, u32::MAX));
        self.labels.resize(LONGEST * count, (NEVER, u32::MAX));
        let mut touched = vec![usize::MAX; ranks.columns];
        let mut chain = Vec::with_capacity(LONGEST);
        for label in 0..LONGEST * count {
            if self.spent >= self.limit || label % LOOK == 0 && watch.reason().is_some() {
                break;
            }
            let (layer, k) = (label / count, label % count);
            // Wherever k goes, it costs what its first rank does at least.
            if self.labels[label].0 + ranks.first[k] - self.savings[k].value >= best(&found) {
                continue;
            }
            chain.clear();
            chain.push(k);
            for upper in (1..=layer).rev() {
                chain.push(self.labels[upper * count + chain[chain.len() - 1]].1 as usize);
            }
            chain.iter().for_each(|&moved| touched[self.state.place[moved] as usize] = label);
            touched[ranks.columns - 1] = usize::MAX;
            self.extend(&chain, width, |column| touched[column as usize] == label, &mut found);
        }
        found
    }

    /// Ends a chain, the last request first, where that makes it the best, and makes it longer where it might become that.
    fn extend(
        &mut self,
        chain: &[usize],
        width: usize,
        touched: impl Fn(u32) -> bool,
        found: &mut Vec<Chain>,
    ) {
        let ranks = self.ranks;
        let (k, head) = (chain[0], chain[chain.len() - 1]);
        let (here, home) = (self.state.place[k], self.state.place[head]);
        let so_far = self.labels[(chain.len() - 1) * ranks.requests.len() + k].0 - self.savings[k].value;
        for (rank, (&to, &floor)) in ranks.row(k).iter().zip(ranks.firsts(k)).enumerate() {
            let least = so_far + i64::from(floor);
            let longer = rank < width && chain.len() < LONGEST;
            let enough = if longer { 0 } else { best(found) };
            if least >= enough {
                break;
            }
            let closes = to == home && chain.len() > 1 && home != ranks.defer();
            if closes && least < best(found) {
                let total = so_far + self.arc(k, head) + self.savings[head].value;
                self.offer(total, chain, home, found);
            }
            if touched(to) || to == here {
                continue;
            }
            if least < best(found) && self.state.fits(ranks, k, to) {
                let total = so_far + self.price(k, to);
                self.offer(total, chain, to, found);
            }
            if longer && to != ranks.defer() {
                self.lengthen(chain, so_far, least, to, best(found));
            }
        }
    }

    /// A chain whose last request, the first here, goes to a column, and each other one to where the one before it here is.
    fn offer(&self, total: i64, chain: &[usize], to: u32, found: &mut Vec<Chain>) {
        if total < best(found) {
            let from = chain.iter().map(|&moved| self.state.place[moved]);
            let to = std::iter::once(to).chain(from.clone());
            found.push((
                total,
                chain.iter().zip(from.zip(to)).map(|(&k, (from, to))| (k, from, to)).collect(),
            ));
        }
    }

    /// Lets the last request of a chain, the first here, go to a column where others might make way: labels for those. It
    /// would make the change `least` at least.
    fn lengthen(&mut self, chain: &[usize], so_far: i64, least: i64, to: u32, best: i64) {
        let (ranks, k) = (self.ranks, chain[0]);
        for at in 0..self.state.on(to).len() {
            let j = self.state.on(to)[at] as usize;
            let (next, saving) = (chain.len() * ranks.requests.len() + j, self.savings[j].value);
            let bound = self.labels[next].0.min(0);
            if least < bound && least + ranks.first[j] - saving < best {
                let total = so_far + self.arc(k, j) + saving;
                if total < bound {
                    self.labels[next] = (total, k as u32);
                }
            }
        }
    }

    /// What k costs on a column where nobody makes way.
    fn price(&mut self, k: usize, to: u32) -> i64 {
        let known = self.prices[k].entry(to).or_default();
        if known.round < self.changed[self.ranks.requests[k].row + to as usize] {
            if self.spent >= self.limit {
                return NEVER;
            }
            self.spent += 1;
            *known = Known { round: self.round, value: self.state.price(self.ranks, k, to) };
        }
        known.value
    }

    /// What changes on j's column if k comes from elsewhere and j goes; [`NEVER`] if that is not room enough, or no evaluation
    /// is left to find out.
    fn arc(&mut self, k: usize, j: usize) -> i64 {
        let (ranks, to) = (self.ranks, self.state.place[j]);
        if !self.state.makes_room(ranks, k, to, std::iter::once(j)) {
            return NEVER;
        }
        let [one, other] = [k, j].map(|of| self.changed[ranks.requests[of].row + to as usize]);
        let known = self.arcs[k].entry(j as u32).or_default();
        if known.round < one.max(other) {
            if self.spent >= self.limit {
                return NEVER;
            }
            self.spent += 1;
            *known = Known { round: self.round, value: self.state.replace(ranks, k, j) };
        }
        known.value
    }
}

/// What the best chain changes, which is the last one.
fn best(found: &[Chain]) -> i64 {
    found.last().map_or(0, |chain| chain.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::tests::{instance, instance_of};
    use crate::draw::Draw;
    use scale_model::{Instance, Milliseconds, Seed};

    /// Batches of 3 and of 12 nodes, deferral dear in the even ones and cheap in the odd ones.
    fn instances(count: u64) -> impl Iterator<Item = (u64, Instance)> {
        (0..count).map(|seed| {
            let mut instance = if seed % 4 < 2 { instance(seed) } else { instance_of(seed, 12, 40) };
            if seed % 2 == 1 {
                instance.objective.defer_penalty = Milliseconds(50.0 + (seed % 7) as f64 * 25.0);
            }
            (seed, instance)
        })
    }

    /// Some requests on random nodes where they fit, the others deferred.
    fn start(ranks: &Ranks, seed: u64) -> Assignment {
        let mut state = Assignment::deferred(ranks);
        let draw = &mut Draw::new(Seed(seed).derive("start", 0));
        for k in 0..ranks.requests.len() {
            let to = draw.below(ranks.columns) as u32;
            if state.fits(ranks, k, to) {
                state.shift(ranks, k, to);
            }
        }
        state
    }

    /// What is kept from earlier rounds is still true: every chain changes what it says, those made together change at least
    /// what the best one does, and at the end no path of one or two requests is left.
    #[test]
    fn chains_change_what_they_say_and_leave_nothing() {
        let (mut made, mut together, mut longest) = (0, 0, 0);
        for (seed, instance) in instances(400) {
            let ranks = Ranks::of(&instance.problem());
            let mut chains = Chains::new(&ranks, start(&ranks, seed), u64::MAX);
            let width = 1 << (seed % 3);
            let mut widths = [width, ranks.columns].into_iter();
            let mut width = widths.next();
            while let Some(wide) = width {
                let found = chains.search(wide, &Watch::default());
                for (total, moves) in &found {
                    let mut after = chains.state.clone();
                    moves.iter().for_each(|&(k, _, to)| after.shift(&ranks, k, to));
                    assert_eq!(after.cost - chains.state.cost, *total, "batch {seed}: {moves:?}");
                    assert!(after.feasible(), "batch {seed}: {moves:?}");
                    longest = longest.max(moves.len());
                    made += 1;
                }
                let (before, least) = (chains.state.cost, best(&found));
                let none = found.is_empty();
                chains.make(found);
                assert!(chains.state.feasible() && chains.state.cost - before <= least, "batch {seed}");
                together += u32::from(chains.state.cost - before < least);
                if none {
                    width = widths.next();
                }
            }
            no_move_helps(&chains.state, &ranks, seed);
            let mut fresh = Chains::new(&ranks, chains.state, u64::MAX);
            assert!(fresh.search(ranks.columns, &Watch::default()).is_empty(), "batch {seed}");
        }
        assert!(made > 3000 && together > 100 && longest == LONGEST, "{made} {together} {longest}");
    }

    /// No request is better off elsewhere, alone or in the place of another one that goes to a third column. Two that swap may be
    /// missed: the label of one may come from a third request.
    fn no_move_helps(state: &Assignment, ranks: &Ranks, seed: u64) {
        let all = || 0..ranks.requests.len();
        let columns = || 0..ranks.columns as u32;
        let fits = |(cores, memory): (i64, i64)| cores <= 0 && memory <= 0;
        for k in all() {
            for to in columns().filter(|&to| to != state.place[k]) {
                let change = state.change(ranks, k, to);
                let better = fits((change.cores, change.memory)) && change.cost < 0;
                assert!(!better, "batch {seed}: {k} should go to {to}");
            }
            for j in all().filter(|&j| state.place[j] != state.place[k] && state.place[j] != ranks.defer()) {
                for third in columns().filter(|third| ![state.place[j], state.place[k]].contains(third)) {
                    let change = state.change_of_two(ranks, k, j, third);
                    let better = fits((change.cores, change.memory)) && change.cost < 0;
                    assert!(!better, "batch {seed}: {k} for {j}, that one to {third}");
                }
            }
        }
    }

    #[test]
    fn no_more_evaluations_than_allowed() {
        for (seed, instance) in instances(24) {
            let ranks = Ranks::of(&instance.problem());
            let run = |limit| {
                let mut chains = Chains::new(&ranks, start(&ranks, seed), limit);
                let before = chains.state.cost;
                chains.descend(&Watch::default(), |_, _| {});
                assert!(chains.state.feasible() && chains.state.cost <= before, "batch {seed}, {limit}");
                (chains.spent, chains.state.cost)
            };
            let whole = run(u64::MAX);
            (0..whole.0).for_each(|limit| assert!(run(limit).0 <= limit, "batch {seed}, {limit}"));
            assert_eq!(run(whole.0 + 1), whole, "batch {seed}");
        }
    }

    /// The least cost of all feasible assignments, one request after the other.
    fn least(state: &mut Assignment, ranks: &Ranks, k: usize) -> i64 {
        if k == ranks.requests.len() {
            return if state.feasible() { state.cost } else { i64::MAX };
        }
        let columns = 0..ranks.columns as u32;
        columns
            .map(|to| {
                state.shift(ranks, k, to);
                least(state, ranks, k + 1)
            })
            .min()
            .unwrap_or(i64::MAX)
    }

    /// Six requests on three tight nodes, from all deferred.
    #[test]
    fn mostly_the_end_is_the_optimum() {
        let mut optimal = 0;
        for seed in 0..300 {
            let mut instance = instance(seed);
            instance.requests.truncate(6);
            let ranks = Ranks::of(&instance.problem());
            let mut before = i64::MAX;
            let mut chains = Chains::new(&ranks, Assignment::deferred(&ranks), u64::MAX);
            chains.descend(&Watch::default(), |_, state| {
                assert!(state.cost <= before && state.feasible(), "batch {seed}");
                assert_eq!(state.cost, Assignment::of(&ranks, &state.place).cost, "batch {seed}");
                before = state.cost;
            });
            let optimum = least(&mut Assignment::deferred(&ranks), &ranks, 0);
            assert!(chains.state.cost >= optimum, "batch {seed}");
            optimal += u32::from(chains.state.cost == optimum);
        }
        println!("{optimal} of 300");
        assert!(optimal >= 270, "{optimal} of 300");
    }
}
