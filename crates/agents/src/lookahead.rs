//! The look-ahead oracle: what could be won over a day by whoever knew the arrivals to come. A yardstick, never a
//! competitor: it looks at what no scheduler may see.
//!
//! For every batch there are several placements to choose from: that of a base scorer, those of scorers with weights around
//! it, and those of any solvers given. Each is made in a fork of the simulation, which the base scorer then plays on with the
//! *true* arrivals; the placement after which the requests of the batch, those that wait and those that come next cost least is the
//! one that is taken. It chooses among the placements that it is shown, so it is a lower bound neither on the day nor on what
//! foresight could win.
//!
//! What a request costs is its latency, plus the penalty if late. One that still waits at the end of a fork costs what it has waited
//! so far: less than its latency will be, so near the end of the horizon to let a request wait looks a little better than it is.

use crate::draw::Draw;
use crate::env::Day;
use crate::error::LearnError;
use crate::scale::{Costs, Scale, go_on};
use crate::scorer::Scorer;
use rayon::prelude::*;
use scale_model::{BatchProblem, Budget, Outcome, Placement, Request, Seed, Solver, Time};
use scale_sim::{Observer, Rejection, Simulation, Summary};

/// What the oracle looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookAhead {
    /// Requests to arrive after the batch whose cost counts, beside the batch itself and whoever waits.
    pub horizon: usize,
    /// Scorers around the base one, drawn anew for every batch.
    pub around: usize,
    /// Length of their step away from it in every weight (standard deviation).
    pub sigma: f64,
    /// What a late or rejected request costs, in ms.
    pub slo_penalty_ms: f64,
    /// Of the draws.
    pub seed: Seed,
}

/// What the oracle reached.
#[derive(Clone, Debug)]
pub struct Reached {
    /// Counts and sums of the day.
    pub summary: Summary,
    /// Batches in which the placement taken was the base scorer's, one of those around it, and of each of the solvers.
    pub taken: Vec<u64>,
}

/// Keeps in mind who is placed or rejected, and tells it all on.
struct Settled<'a> {
    /// By request of the day.
    done: Vec<bool>,
    /// Requests before this one are all done.
    first: usize,
    observer: &'a mut dyn Observer,
}

impl Settled<'_> {
    /// The costs to ask about at this instant: of all who have arrived and are not done, and of `horizon` after them.
    fn costs<'d>(&mut self, day: &'d Day, now: Time, look: &LookAhead) -> Costs<'d> {
        let requests = &day.workload.requests;
        self.first += self.done[self.first..].iter().take_while(|&&done| done).count();
        let arrived = requests.partition_point(|request| request.arrival <= now);
        let asked = self.first..arrived.saturating_add(look.horizon).min(requests.len());
        let mut costs = Costs::new(&requests[asked.clone()], day, look.slo_penalty_ms);
        costs.done.copy_from_slice(&self.done[asked]);
        costs
    }
}

impl Observer for Settled<'_> {
    fn batch(&mut self, problem: &BatchProblem<'_>, outcomes: &[Outcome], measured: bool) {
        self.observer.batch(problem, outcomes, measured);
    }

    fn placed(&mut self, outcome: &Outcome, measured: bool) {
        self.done[outcome.request.id.0 as usize] = true;
        self.observer.placed(outcome, measured);
    }

    fn rejected(&mut self, request: &Request, why: Rejection, measured: bool) {
        self.done[request.id.0 as usize] = true;
        self.observer.rejected(request, why, measured);
    }
}

/// Plays a day with the future in sight.
///
/// # Errors
/// What the simulator or a solver says.
pub fn play(
    day: &Day,
    base: &Scorer,
    solvers: &mut [Box<dyn Solver>],
    look: &LookAhead,
    observer: &mut dyn Observer,
) -> Result<Reached, LearnError> {
    let mut simulation = Simulation::new(&day.platform, &day.workload, day.sim)?;
    let mut scale = Scale::new(base.clone());
    let mut draw = Draw::new(look.seed);
    let mut taken = vec![0; 2 + solvers.len()];
    let mut settled = Settled { done: vec![false; day.workload.requests.len()], first: 0, observer };
    while simulation.advance(&mut settled) {
        let problem = simulation.problem();
        let costs = settled.costs(day, problem.now(), look);
        let before = scale.clone();
        let own =
            |scale: &mut Scale| scale.solve(&problem, &Budget::default()).map(|own| own.placement.decisions);
        let mut shown: Vec<(usize, Placement)> = Vec::new();
        let mut show = |who, decisions| {
            let placement = Placement { decisions };
            if shown.iter().all(|(_, other)| *other != placement) {
                shown.push((who, placement));
            }
        };
        show(0, own(&mut scale)?);
        for (index, solver) in solvers.iter_mut().enumerate() {
            show(2 + index, solver.solve(&problem, &Budget::default())?.placement.decisions);
        }
        for _ in 0..look.around {
            let mut other = before.clone();
            other.scorer.weights.iter_mut().for_each(|weight| *weight += (look.sigma * draw.normal()) as f32);
            show(1, own(&mut other)?);
        }
        let costs: Result<Vec<f64>, LearnError> = shown
            .par_iter()
            .map(|(_, placement)| future(&simulation, &scale, placement, costs.clone()))
            .collect();
        let costs = costs?;
        let Some(best) = (0..costs.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b])) else { break };
        let (who, placement) = &shown[best];
        taken[*who] += 1;
        for &decision in &placement.decisions {
            simulation.apply(decision)?;
        }
        simulation.commit(&mut settled);
        simulation.settle()?;
    }
    Ok(Reached { summary: simulation.into_summary(), taken })
}

/// What the requests that are asked about cost if the batch is placed like this, in ms.
fn future(
    simulation: &Simulation<'_>,
    scale: &Scale,
    placement: &Placement,
    mut costs: Costs<'_>,
) -> Result<f64, LearnError> {
    let mut fork = simulation.clone();
    for &decision in &placement.decisions {
        fork.apply(decision)?;
    }
    fork.commit(&mut costs);
    fork.settle()?;
    if fork.advance(&mut costs) {
        go_on(&mut fork, &mut scale.clone(), &mut costs)?;
    }
    Ok(costs.of.iter().sum())
}
