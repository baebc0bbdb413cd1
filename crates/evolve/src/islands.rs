//! What both presets share when a search is large: how many islands, how often they look at each other, and what ends
//! them early.

use scale_model::{Budget, Stop};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Islands of a large search. Their number does not depend on that of the threads, so neither does the answer.
pub const ISLANDS: u64 = 4;
/// Evaluations from which on a search of `midaco` is large. One island makes more of few evaluations.
pub const LARGE: u64 = 4_000_000;
/// Evaluations a request from which on a search of `hybrid` is large: one island is then cold long before its end, and
/// four find what one misses.
pub const LARGE_A_REQUEST: u64 = 4_000;
/// Times that the islands look at each other.
pub const EPOCHS: u64 = 8;

/// Islands of a search with so many evaluations, if it is large from `large` on.
pub(crate) fn count(evaluations: u64, large: u64) -> u64 {
    if evaluations < large { 1 } else { ISLANDS }
}

/// The share of one island: all get the same, and the first what does not divide evenly.
pub(crate) fn share(evaluations: u64, islands: u64, index: u64) -> u64 {
    evaluations / islands + if index == 0 { evaluations % islands } else { 0 }
}

/// How many of its evaluations an island has made when an epoch, from 1 on, is over.
pub(crate) fn end_of(epoch: u64, budget: u64) -> u64 {
    (u128::from(budget) * u128::from(epoch) / u128::from(EPOCHS)) as u64
}

/// Joins what islands have noted, as (evaluations of the island, what it found), into the trace of the whole search: an
/// island at its own e evaluations has made the whole search spend islands times e. `better` says whether the first is
/// better than the second.
pub(crate) fn join<T: Copy>(
    traces: &[&[(u64, T)]],
    evaluations: u64,
    better: impl Fn(T, T) -> bool,
) -> Vec<(u64, T)> {
    let islands = traces.len() as u64;
    let mut steps: Vec<(u64, T)> = traces
        .iter()
        .flat_map(|trace| {
            trace.iter().map(|&(at, found)| (at.saturating_mul(islands).min(evaluations), found))
        })
        .collect();
    steps.sort_by_key(|&(at, _)| at);
    let mut joined: Vec<(u64, T)> = Vec::with_capacity(steps.len());
    for (at, found) in steps {
        if joined.last().is_none_or(|&(_, last)| better(found, last)) {
            joined.pop_if(|last| last.0 == at);
            joined.push((at, found));
        }
    }
    joined
}

/// What ends a search before its evaluations are spent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    deadline: Option<Instant>,
    cancel: Option<Arc<AtomicBool>>,
}

impl Watch {
    /// From now on. Without a limit on time nothing here looks at a clock.
    #[expect(clippy::disallowed_methods, reason = "a limit on time needs a clock")]
    pub(crate) fn new(time_limit: Option<Duration>, cancel: Option<Arc<AtomicBool>>) -> Watch {
        // A limit beyond the end of time is none.
        Watch { deadline: time_limit.and_then(|time| Instant::now().checked_add(time)), cancel }
    }

    pub(crate) fn of(budget: &Budget) -> Watch {
        Watch::new(budget.time_limit, budget.cancel.clone())
    }

    /// Whether someone asked to stop.
    #[inline]
    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// Why to stop, if there is a reason.
    #[expect(clippy::disallowed_methods, reason = "a limit on time needs a clock")]
    pub(crate) fn reason(&self) -> Option<Stop> {
        if self.cancelled() {
            return Some(Stop::Cancelled);
        }
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(Stop::Time)
    }
}

/// Why a search ended whose islands were cut short for these reasons, if they were.
pub(crate) fn stop(reasons: impl Iterator<Item = Option<Stop>>) -> Stop {
    let mut stop = Stop::Evaluations;
    for reason in reasons.flatten() {
        if stop != Stop::Cancelled {
            stop = reason;
        }
    }
    stop
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_epochs_add_up() {
        for evaluations in [0, 1, 7, 8, 1_000_003, u64::MAX] {
            let sum: u64 = (0..ISLANDS).map(|index| share(evaluations, ISLANDS, index)).sum();
            assert_eq!(sum, evaluations);
            assert_eq!(end_of(EPOCHS, evaluations), evaluations);
            assert!((1..EPOCHS).all(|epoch| end_of(epoch, evaluations) <= end_of(epoch + 1, evaluations)));
        }
        assert_eq!((count(LARGE - 1, LARGE), count(LARGE, LARGE)), (1, ISLANDS));
    }

    #[test]
    fn joined_traces_only_go_down() {
        let lower = |a: i32, b: i32| a < b;
        let (one, two) = ([(1, 9), (3, 4), (5, 2)], [(1, 8), (2, 7), (5, 3)]);
        // Island evaluations 1, 2, 3, 5 are 2, 4, 6, 10 of the whole; of two steps at once the better one stays.
        assert_eq!(join(&[&one, &two], 9, lower), [(2, 8), (4, 7), (6, 4), (9, 2)]);
        assert_eq!(join(&[&one], 5, lower), one);
        assert_eq!(join::<i32>(&[], 5, lower), []);
    }

    #[test]
    fn the_reason_is_the_strongest() {
        let of = |reasons: &[Option<Stop>]| stop(reasons.iter().copied());
        assert_eq!(of(&[None, None]), Stop::Evaluations);
        assert_eq!(of(&[None, Some(Stop::Time)]), Stop::Time);
        assert_eq!(of(&[Some(Stop::Cancelled), Some(Stop::Time)]), Stop::Cancelled);
        assert_eq!(Watch::default().reason(), None);
        let late = Watch::new(Some(Duration::ZERO), None);
        assert_eq!(late.reason(), Some(Stop::Time));
        let both = Watch::new(Some(Duration::ZERO), Some(Arc::new(AtomicBool::new(true))));
        assert_eq!(both.reason(), Some(Stop::Cancelled));
        assert_eq!(Watch::new(Some(Duration::MAX), None).reason(), None);
    }
}
