//! Chains of moves for the preset `hybrid`: the best way to let several requests change places at once.
//!
//! Where little is left free, a request finds a better place only if another one makes way, for which a third must make way,
//! and so on. A chain is a path (k goes to where i is, i to where j is, ..., the last one to where there is room) or the same
//! closed to a cycle. No node is touched twice, so the change of each node is exact by itself and the changes add up: the
//! cheapest chain is a shortest path over requests, whose arc from i to j costs what changes on j's node if i comes and j
//! goes (multi-exchange neighbourhoods: Ahuja, Orlin, Sharma 2000; for generalised assignment: Yagiura, Ibaraki, Glover
//! 2006). It is found layer by layer with one label a request, which may miss a chain that would have to cross itself, but
//! never makes one up.
//!
//! # What makes it cheap
//! An arc is an evaluation: the exact value of what one or two moves change. Most need none.
//!
//! - *Gain.* Of a chain that is worth anything, all who have moved so far have gained together, at every step: a path could leave
//!   out a beginning that has not, and a cycle can begin elsewhere (Lin and Kernighan 1973). Costs of a request on a node where it comes
//!   first are in a table and bound its arcs to there from below, so columns are looked at from the cheapest on until that bound
//!   says that nothing is left to gain.
//! - *Memory.* The value of an arc depends on two groups, the requests of i's function and of j's on that node. It is kept until
//!   one of them changes. A chain changes a few of some thousand.
//! - *Width.* At first only the cheapest columns of every request; when they yield nothing any more, twice as many. A late request could
//!   gain so much that it would look everywhere at once.

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

/// Chains for one assignment.
pub(crate) struct Chains<'a> {
    ranks: &'a Ranks,
    /// What is known was worked out at some time, and holds if none of its groups has changed since. Times by group.
    changed: Vec<u32>,
    now: u32,
    /// Of each request: what it saves by leaving where it is.
    savings: Vec<(u32, i64)>,
    /// Of each request, by rank: what it costs there if nobody makes way.
    prices: Vec<Vec<(u32, i64)>>,
    /// Of each request, by rank: what changes there if it comes and another one, the first entry, goes.
    arcs: Vec<Vec<Vec<(u32, u32, i64)>>>,
    /// By number of moves and request: what those before it have gained, if it has to make way; and who takes its place.
    labels: Vec<(i64, u32)>,
    spent: u64,
    limit: u64,
}

/// Chains that lower the cost, each more than the one before: what it changes, and where each request goes.
#[derive(Default)]
struct Found(Vec<(i64, Vec<(usize, u32)>)>);

impl Found {
    fn best(&self) -> i64 {
        self.0.last().map_or(0, |chain| chain.0)
    }

    /// A chain, the last request first, which goes to a column; each other one goes to where the one after it is.
    fn offer(&mut self, total: i64, state: &Assignment, chain: &[usize], to: u32) {
        if total < self.best() {
            let places = chain.iter().map(|&moved| state.place[moved]);
            let to = std::iter::once(to).chain(places);
            self.0.push((total, chain.iter().copied().zip(to).collect()));
        }
    }
}

impl<'a> Chains<'a> {
    /// Chains for so many evaluations.
    pub(crate) fn new(ranks: &'a Ranks, limit: u64) -> Chains<'a> {
        let count = ranks.requests.len();
        Chains {
            ranks,
            changed: vec![1; ranks.groups.len()],
            now: 1,
            savings: vec![(0, 0); count],
            prices: vec![Vec::new(); count],
            arcs: vec![Vec::new(); count],
            labels: Vec::new(),
            spent: 0,
            limit,
        }
    }

    /// Makes chains that lower the cost of a feasible assignment, which stays feasible, while there are any and evaluations are
    /// left. `note` hears of every assignment and of the evaluations spent so far. Why it was cut short, if it was.
    pub(crate) fn descend(
        &mut self,
        state: &mut Assignment,
        watch: &Watch,
        mut note: impl FnMut(u64, &Assignment),
    ) -> Option<Stop> {
        let mut width = NARROW;
        while self.spent < self.limit {
            let cut = watch.reason();
            if cut.is_some() {
                return cut;
            }
            let moved = self.improve(state, width);
            note(self.spent, state);
            if !moved {
                if width >= self.ranks.columns {
                    break;
                }
                width *= 2;
            }
        }
        None
    }

    /// Evaluations spent.
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }

    /// Makes the best chain, and of those found on the way to it the ones that touch other nodes; `false` if there is none.
    fn improve(&mut self, state: &mut Assignment, width: usize) -> bool {
        let found = self.search(state, width);
        let mut touched = vec![false; self.ranks.columns];
        let deferral = self.ranks.columns - 1;
        self.now += 1;
        for (_, moves) in found.0.iter().rev() {
            let nodes = moves.iter().flat_map(|&(k, to)| [state.place[k] as usize, to as usize]);
            if nodes.clone().any(|node| node != deferral && touched[node]) {
                continue;
            }
            nodes.for_each(|node| touched[node] = true);
            for &(k, to) in moves {
                let row = self.ranks.requests[k].row;
                self.changed[row + state.place[k] as usize] = self.now;
                self.changed[row + to as usize] = self.now;
                state.shift(self.ranks, k, to);
            }
        }
        !found.0.is_empty()
    }

    /// Looks for chains among the first `width` columns of every request; the last of a chain may go anywhere.
    fn search(&mut self, state: &Assignment, width: usize) -> Found {
        let (ranks, count) = (self.ranks, self.ranks.requests.len());
        for k in 0..count {
            if self.spent >= self.limit {
                return Found::default();
            }
            if self.savings[k].0 < self.changed[ranks.requests[k].row + state.place[k] as usize] {
                self.savings[k] = (self.now, state.saving(ranks, k));
                self.spent += 1;
            }
        }
        self.labels.clear();
        self.labels.resize(count, (0, u32::MAX));
        self.labels.resize(LONGEST * count, (NEVER, u32::MAX));
        let mut found = Found::default();
        let mut touched = vec![usize::MAX; ranks.columns];
        let mut chain = Vec::with_capacity(LONGEST);
        for at in 0..LONGEST * count {
            let (layer, k) = (at / count, at % count);
            // Wherever k goes, it costs what its first rank does at least.
            if self.labels[at].0 + ranks.first[k] - self.savings[k].1 >= found.best() {
                continue;
            }
            chain.clear();
            chain.push(k);
            for upper in (1..=layer).rev() {
                chain.push(self.labels[upper * count + chain[chain.len() - 1]].1 as usize);
            }
            chain.iter().for_each(|&moved| touched[state.place[moved] as usize] = at);
            touched[ranks.columns - 1] = usize::MAX;
            self.extend(state, &chain, width, |column| touched[column as usize] == at, &mut found);
        }
        found
    }

    /// Ends a chain, the last request first, where that makes it the best, and makes it longer where it might become that.
    fn extend(
        &mut self,
        state: &Assignment,
        chain: &[usize],
        width: usize,
        touched: impl Fn(u32) -> bool,
        found: &mut Found,
    ) {
        let (ranks, count) = (self.ranks, self.ranks.requests.len());
        let (k, first) = (chain[0], chain[chain.len() - 1]);
        let home = state.place[first];
        let gain = self.labels[(chain.len() - 1) * count + k].0 - self.savings[k].1;
        for (rank, (&to, &least)) in ranks.row(k).iter().zip(ranks.firsts(k)).enumerate() {
            let least = gain + i64::from(least);
            let longer = rank < width && chain.len() < LONGEST;
            if least >= if longer { 0 } else { found.best() } {
                break;
            }
            let closes = to == home && chain.len() > 1 && home != ranks.defer();
            if closes && least < found.best() {
                let total = gain + self.arc(state, k, rank, first) + self.savings[first].1;
                found.offer(total, state, chain, home);
            }
            if touched(to) || to == state.place[k] {
                continue;
            }
            if least < found.best() && state.fits(ranks, k, to) {
                found.offer(gain + self.price(state, k, rank), state, chain, to);
            }
            if !longer || to == ranks.defer() {
                continue;
            }
            for &j in state.on(to) {
                let (j, next) = (j as usize, chain.len() * count + j as usize);
                let bound = self.labels[next].0.min(0);
                // Wherever j goes, it costs what its first rank does at least.
                if least < bound && least + ranks.first[j] - self.savings[j].1 < found.best() {
                    let total = gain + self.arc(state, k, rank, j) + self.savings[j].1;
                    if total < bound {
                        self.labels[next] = (total, k as u32);
                    }
                }
            }
        }
    }

    /// What k costs at a rank where nobody makes way.
    fn price(&mut self, state: &Assignment, k: usize, rank: usize) -> i64 {
        let (ranks, known) = (self.ranks, &mut self.prices[k]);
        let to = ranks.row(k)[rank];
        if known.len() <= rank {
            known.resize(rank + 1, (0, NEVER));
        }
        if known[rank].0 < self.changed[ranks.requests[k].row + to as usize] {
            if self.spent >= self.limit {
                return NEVER;
            }
            self.spent += 1;
            known[rank] = (self.now, state.price(ranks, k, to));
        }
        known[rank].1
    }

    /// What changes at a rank of k if k comes and j goes; [`NEVER`] if that is not room enough, or no evaluation is left to find out.
    fn arc(&mut self, state: &Assignment, k: usize, rank: usize, j: usize) -> i64 {
        let (ranks, to) = (self.ranks, state.place[j]);
        if !state.makes_room(ranks, k, to, std::iter::once(j)) {
            return NEVER;
        }
        let changed = [k, j].map(|k| self.changed[ranks.requests[k].row + to as usize]);
        let known = &mut self.arcs[k];
        if known.len() <= rank {
            known.resize(rank + 1, Vec::new());
        }
        let known = &mut known[rank];
        let at = known.iter().position(|arc| arc.0 == j as u32);
        if let Some(at) = at
            && known[at].1 >= changed[0].max(changed[1])
        {
            return known[at].2;
        }
        if self.spent >= self.limit {
            return NEVER;
        }
        self.spent += 1;
        let arc = (j as u32, self.now, state.replace(ranks, k, j).unwrap_or(NEVER));
        match at {
            Some(at) => known[at] = arc,
            None => known.push(arc),
        }
        arc.2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::tests::instance;

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

    /// What is kept from earlier rounds is still true: each chain changes what it says, and when no more are found, a search that
    /// remembers nothing finds none either.
    #[test]
    fn chains_change_what_they_say_and_none_is_forgotten() {
        let mut made = 0;
        for seed in 0..300 {
            let instance = instance(seed);
            let ranks = Ranks::of(&instance.problem());
            let mut state = Assignment::deferred(&ranks);
            let mut chains = Chains::new(&ranks, u64::MAX);
            let all = ranks.columns;
            loop {
                for (total, moves) in chains.search(&state, all).0 {
                    let mut after = state.clone();
                    moves.iter().for_each(|&(k, to)| after.shift(&ranks, k, to));
                    assert_eq!(after.cost - state.cost, total, "batch {seed}: {moves:?}");
                    assert!(after.feasible(), "batch {seed}: {moves:?}");
                    made += 1;
                }
                if !chains.improve(&mut state, all) {
                    break;
                }
            }
            assert!(Chains::new(&ranks, u64::MAX).search(&state, all).0.is_empty(), "batch {seed}");
        }
        assert!(made > 3000, "{made}");
    }

    #[test]
    fn no_more_evaluations_than_allowed() {
        for seed in 0..50 {
            let instance = instance(seed);
            let ranks = Ranks::of(&instance.problem());
            let run = |limit| {
                let mut state = Assignment::deferred(&ranks);
                let mut chains = Chains::new(&ranks, limit);
                chains.descend(&mut state, &Watch::default(), |_, _| {});
                assert!(state.feasible(), "batch {seed}, {limit}");
                (chains.spent(), state.cost)
            };
            let whole = run(u64::MAX);
            assert!(whole.0 > 12, "batch {seed}");
            (0..whole.0).for_each(|limit| assert!(run(limit).0 <= limit));
            assert_eq!(run(whole.0 + 1), whole, "batch {seed}");
        }
    }

    /// Six requests on three tight nodes, from all deferred: every chain lowers the cost by what it says and stays feasible,
    /// no single move is left that would, and mostly the end is the optimum.
    #[test]
    fn chains_end_where_no_move_helps_and_mostly_at_the_optimum() {
        let mut optimal = 0;
        for seed in 0..300 {
            let mut instance = instance(seed);
            instance.requests.truncate(6);
            let ranks = Ranks::of(&instance.problem());
            let mut state = Assignment::deferred(&ranks);
            let mut before = state.cost;
            let mut chains = Chains::new(&ranks, u64::MAX);
            chains.descend(&mut state, &Watch::default(), |_, state| {
                assert!(state.cost <= before && state.feasible(), "batch {seed}");
                assert_eq!(state.cost, Assignment::of(&ranks, &state.place).cost, "batch {seed}");
                before = state.cost;
            });
            for k in 0..6 {
                for &to in ranks.row(k).iter().filter(|&&to| to != state.place[k]) {
                    let better = state.fits(&ranks, k, to) && state.change(&ranks, k, to).cost < 0;
                    assert!(!better, "batch {seed}: {k} should go to {to}");
                }
            }
            let optimum = least(&mut Assignment::deferred(&ranks), &ranks, 0);
            assert!(state.cost >= optimum, "batch {seed}");
            optimal += u32::from(state.cost == optimum);
        }
        println!("{optimal} of 300");
        assert!(optimal >= 270, "{optimal} of 300");
    }
}
