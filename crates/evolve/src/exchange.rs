//! Chains of moves for the preset `hybrid`: the best way to let several requests change places at once.
//!
//! Where little is left free, a deferred request finds room only if another one makes way, for which a third must make way,
//! and so on. A chain is a path (k goes to where i is, i to where j is, ..., the last one to where there is room) or the same
//! closed to a cycle. No node is touched twice, so the change of each node is exact by itself and the changes add up: the
//! cheapest chain is a shortest path over requests, whose arc from i to j costs what changes on j's node if i comes and j
//! goes (multi-exchange neighbourhoods: Ahuja, Orlin, Sharma 2000; for generalised assignment: Yagiura, Ibaraki, Glover
//! 2006). It is found layer by layer with one label a request, which may miss a chain that would have to cross itself, but
//! never makes one up.
//!
//! An arc is an evaluation: the exact value of what one or two moves change. A round of it prices them all.

use crate::assignment::Assignment;
use crate::ranks::Ranks;

/// The most requests that a chain moves.
const LONGEST: usize = 8;
/// The cost of what does not fit.
const NEVER: i64 = i64::MAX / 4;

/// Evaluations of one round.
pub(crate) fn price(ranks: &Ranks) -> u64 {
    let count = ranks.requests.len() as u64;
    count * (count + ranks.columns as u64)
}

/// Makes the best chain that lowers the cost of a feasible assignment; `false` if there is none.
pub(crate) fn improve(state: &mut Assignment, ranks: &Ranks) -> bool {
    let (count, columns) = (ranks.requests.len(), ranks.columns);
    let arcs: Vec<i64> = (0..count * count).map(|at| arc(state, ranks, at / count, at % count)).collect();
    let ends: Vec<Vec<(i64, u32)>> = (0..count).map(|k| ends(state, ranks, k)).collect();
    // For each number of moves and each request: the cheapest chain that ends with it having nowhere to go yet, and the request
    // before it. To have made way costs less than nothing.
    let mut layers = vec![(0..count).map(|k| (-state.saving(ranks, k), k)).collect::<Vec<(i64, usize)>>()];
    let mut best: (i64, Vec<(usize, u32)>) = (0, Vec::new());
    let mut touched = vec![usize::MAX; columns];
    let mut chain = Vec::new();
    for stamp in 0..LONGEST * count {
        let (layer, k) = (stamp / count, stamp % count);
        if k == 0 && layer + 1 < LONGEST {
            layers.push(vec![(NEVER, usize::MAX); count]);
        }
        let (cost, _) = layers[layer][k];
        if cost >= 0 {
            continue;
        }
        // The requests of the chain, the last one first.
        chain.clear();
        chain.push(k);
        for upper in (1..=layer).rev() {
            chain.push(layers[upper][chain[chain.len() - 1]].1);
        }
        chain.iter().for_each(|&moved| touched[state.place[moved] as usize] = stamp);
        touched[columns - 1] = usize::MAX;
        let mut offer = |total: i64, to: u32| {
            if total < best.0 {
                let places = chain.iter().map(|&moved| state.place[moved]);
                let to = std::iter::once(to).chain(places);
                best = (total, chain.iter().copied().zip(to).collect());
            }
        };
        if let Some(&(price, to)) = ends[k].iter().find(|(_, to)| touched[*to as usize] != stamp) {
            offer(cost + price, to);
        }
        let first = chain[chain.len() - 1];
        if layer > 0 && state.place[first] != ranks.defer() && arcs[k * count + first] < NEVER {
            offer(cost + state.saving(ranks, first) + arcs[k * count + first], state.place[first]);
        }
        if layer + 1 < LONGEST {
            let next = &mut layers[layer + 1];
            for (j, (&arc, label)) in arcs[k * count..][..count].iter().zip(next.iter_mut()).enumerate() {
                let total = cost + arc;
                if total < label.0.min(0) && touched[state.place[j] as usize] != stamp {
                    *label = (total, k);
                }
            }
        }
    }
    let (_, moves) = best;
    moves.iter().for_each(|&(k, to)| state.shift(ranks, k, to));
    !moves.is_empty()
}

/// Where request k could end a chain, cheapest first, as (price, column). A chain touches so many nodes at most that one of these is
/// not among them.
fn ends(state: &Assignment, ranks: &Ranks, k: usize) -> Vec<(i64, u32)> {
    let mut ends: Vec<(i64, u32)> = Vec::with_capacity(LONGEST + 2);
    for &to in ranks.row(k) {
        if ends.len() > LONGEST && state.first(ranks, k, to) > ends[LONGEST].0 {
            break;
        }
        if to != state.place[k] && state.fits(ranks, k, to) {
            let end = (state.price(ranks, k, to), to);
            let at = ends.partition_point(|other| *other < end);
            ends.insert(at, end);
            ends.truncate(LONGEST + 1);
        }
    }
    ends
}

/// What changes on the node of request j if i comes and j goes; [`NEVER`] if there is no room for that.
fn arc(state: &Assignment, ranks: &Ranks, i: usize, j: usize) -> i64 {
    let to = state.place[j];
    if to == ranks.defer() || to == state.place[i] {
        NEVER
    } else {
        state.replace(ranks, i, j).unwrap_or(NEVER)
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
            while improve(&mut state, &ranks) {
                assert!(state.cost < before && state.feasible(), "batch {seed}");
                assert_eq!(state.cost, Assignment::of(&ranks, &state.place).cost, "batch {seed}");
                before = state.cost;
            }
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
