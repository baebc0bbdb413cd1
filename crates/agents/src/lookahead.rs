//! The look-ahead oracle: what could be won over a day by whoever knew the arrivals to come. A yardstick, never a
//! competitor: it looks at what no scheduler may see.
//!
//! For every batch there are several placements to choose from: that of a base scorer, those of scorers with weights around
//! it, and those of any solvers given. Each is made in a fork of the simulation, which the base scorer then plays on with the
//! *true* arrivals; the placement after which the coming requests cost least is the one that is taken. It chooses among the
//! placements that it is shown, so it is a lower bound neither on the day nor on what foresight could win.

use crate::draw::Draw;
use crate::env::Day;
use crate::error::LearnError;
use crate::scale::{Costs, Scale, go_on};
use crate::scorer::Scorer;
use rayon::prelude::*;
use scale_model::{Budget, Placement, Seed, Solver};
use scale_sim::{Observer, Simulation, Summary};

/// What the oracle looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookAhead {
    /// Requests after the batch whose cost counts.
    pub horizon: usize,
    /// Scorers around the base one, drawn anew for every batch.
    pub around: usize,
    /// Length of their step away from it in every weight (standard deviation).
    pub sigma: f64,
    /// What a late request costs, in ms.
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
    while simulation.advance(observer) {
        let problem = simulation.problem();
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
        let costs: Result<Vec<f64>, LearnError> =
            shown.par_iter().map(|(_, placement)| future(&simulation, &scale, placement, look)).collect();
        let costs = costs?;
        let Some(best) = (0..costs.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b])) else { break };
        let (who, placement) = &shown[best];
        taken[*who] += 1;
        for &decision in &placement.decisions {
            simulation.apply(decision)?;
        }
        simulation.commit(observer);
        simulation.settle()?;
    }
    Ok(Reached { summary: simulation.into_summary(), taken })
}

/// What the batch and the requests after it cost if the batch is placed like this, in ms.
fn future(
    simulation: &Simulation<'_>,
    scale: &Scale,
    placement: &Placement,
    look: &LookAhead,
) -> Result<f64, LearnError> {
    let requests = simulation.problem().requests;
    let ids = requests.iter().map(|request| request.id.0);
    let (Some(first), Some(last)) = (ids.clone().min(), ids.max()) else { return Ok(0.0) };
    let mut costs = Costs::new(first, (last - first) as usize + 1 + look.horizon, look.slo_penalty_ms);
    let mut fork = simulation.clone();
    for &decision in &placement.decisions {
        fork.apply(decision)?;
    }
    fork.commit(&mut costs);
    fork.settle()?;
    if fork.advance(&mut ()) {
        go_on(&mut fork, &mut scale.clone(), &mut costs)?;
    }
    Ok(costs.of.iter().sum())
}
