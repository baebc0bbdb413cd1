//! The one place that looks at a clock: how long decisions take. Simulated time never depends on it.

use scale_model::{
    BatchProblem, Budget, ClusterState, Decision, Outcome, Scheduler, Solution, SolveError, Solver, Time,
};
use std::time::{Duration, Instant};

/// A point on the wall clock.
#[allow(clippy::disallowed_methods, reason = "this module is the exception that the ban on clocks allows")]
pub fn now() -> Instant {
    Instant::now()
}

/// A scheduler or a solver with a stopwatch around every decision.
pub struct Timed<'a, T: ?Sized> {
    inner: &'a mut T,
    /// Decisions before this are not timed: they find cold caches and untrained branch predictors.
    from: Time,
    /// One entry a request, nanoseconds. A solver's batch counts once for each request, with its time over their number.
    pub nanoseconds: Vec<f64>,
}

impl<'a, T: ?Sized> Timed<'a, T> {
    /// With the stopwatch at zero.
    pub fn new(inner: &'a mut T, from: Time) -> Timed<'a, T> {
        Timed { inner, from, nanoseconds: Vec::new() }
    }
}

impl Scheduler for Timed<'_, dyn Scheduler> {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let start = now();
        let decision = self.inner.decide(batch, state, next);
        let elapsed = start.elapsed();
        if batch.now() >= self.from {
            self.nanoseconds.push(elapsed.as_nanos() as f64);
        }
        decision
    }

    fn observe(&mut self, batch: &BatchProblem<'_>, outcomes: &[Outcome]) {
        self.inner.observe(batch, outcomes);
    }
}

impl Solver for Timed<'_, dyn Solver> {
    fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
        let start = now();
        let solution = self.inner.solve(problem, budget);
        let elapsed = start.elapsed();
        if problem.now() >= self.from {
            let requests = problem.requests.len();
            let each = elapsed.as_nanos() as f64 / requests as f64;
            self.nanoseconds.extend(std::iter::repeat_n(each, requests));
        }
        solution
    }
}

/// Holds this thread to one core, the last, where the system allows it: a decision of a microsecond should not pay for a move.
pub fn stay_on_one_core() {
    let core = core_affinity::get_core_ids().and_then(|cores| cores.last().copied());
    if !core.is_some_and(core_affinity::set_for_current) {
        tracing::info!("decisions are timed without being held to one core: the system does not allow it");
    }
}

/// What a decision that does nothing would be measured at: the median of many empty readings.
pub fn overhead() -> Duration {
    let mut readings: Vec<Duration> = (0..10_001).map(|_| now().elapsed()).collect();
    readings.sort();
    readings[readings.len() / 2]
}
