//! Evolution strategies (Salimans et al. 2017): how the preset [`scale`](mod@crate::scale) is trained.
//!
//! # Why not by the policy gradient
//! What greedy lacks is foresight over thousands of requests: a cold start near the demand costs one request 200 ms and
//! saves many later ones 20 ms each. A policy gradient has to find that saving among the noise of everything else that
//! happens in between, and the noise grows with the horizon. Here the weights are moved, not the actions: a whole stretch
//! of a day is played with each of a few dozen scorers beside the present one, on the *same* arrivals, and the differences
//! are what it learns from. The horizon costs nothing, the policy that is measured is the one that is used (it always takes
//! its best option), and with a few dozen weights few plays are enough. METHODOLOGY.md has both measured.
//!
//! # One generation
//! 1. Draw `pairs` directions e from the standard normal distribution and `days` training days.
//! 2. Play each of the 2 `pairs` scorers w + sigma e and w - sigma e on these days; their cost is the mean latency plus
//!    `slo_penalty_ms` times the rate of SLO violations, ms a request.
//! 3. Replace costs by centred ranks, so that one bad outlier counts no more than its place.
//! 4. The estimate of the gradient is the mean over pairs of (rank+ - rank-) e / (2 sigma); Adam takes a step against it.

use crate::env::Day;
use crate::error::{LearnError, require};
use crate::scale::{Learner, Lesson, cost, play};
use rayon::prelude::*;
use scale_sim::SimError;
use serde::{Deserialize, Serialize};

/// What the method depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evolution {
    /// Pairs of opposite directions in a generation.
    pub pairs: usize,
    /// Length of a perturbation in every weight (standard deviation).
    pub sigma: f64,
}

impl Evolution {
    pub(crate) fn validate(&self) -> Result<(), LearnError> {
        let sigma = self.sigma;
        require(self.pairs > 0, "pairs", self.pairs, "at least 1")?;
        require(sigma > 0.0 && sigma.is_finite(), "sigma", sigma, "a finite number above 0")
    }
}

/// One generation.
pub(crate) fn step(
    learner: &mut Learner,
    settings: &Evolution,
    training: &[Day],
) -> Result<Lesson, LearnError> {
    let Learner { config, scorer, draw, .. } = learner;
    let &Evolution { pairs, sigma } = settings;
    let trained = config.trained();
    let directions: Vec<Vec<f32>> = (0..pairs)
        .map(|_| trained.iter().map(|&trained| if trained { draw.normal() as f32 } else { 0.0 }).collect())
        .collect();
    let days: Vec<&Day> = (0..config.days).map(|_| &training[draw.below(training.len())]).collect();

    let played: Result<Vec<(f64, u64)>, SimError> = (0..2 * pairs)
        .into_par_iter()
        .map(|index| {
            let step = if index % 2 == 0 { sigma } else { -sigma } as f32;
            let mut moved = scorer.clone();
            for (weight, direction) in moved.weights.iter_mut().zip(&directions[index / 2]) {
                *weight += step * direction;
            }
            let summaries = days.iter().map(|day| play(&moved, day)).collect::<Result<Vec<_>, _>>()?;
            let decisions = summaries.iter().map(|summary| summary.decisions).sum();
            Ok((cost(&summaries, config.slo_penalty_ms).cost_ms, decisions))
        })
        .collect();
    let played = played?;
    let costs: Vec<f64> = played.iter().map(|&(cost, _)| cost).collect();

    let ranks = centred_ranks(&costs);
    let scale = 1.0 / (2.0 * sigma * pairs as f64);
    let mut gradient: Vec<f32> = (0..trained.len())
        .map(|weight| {
            let sum: f64 = (0..pairs)
                .map(|pair| (ranks[2 * pair] - ranks[2 * pair + 1]) * f64::from(directions[pair][weight]))
                .sum();
            (sum * scale) as f32
        })
        .collect();
    learner.descend(&mut gradient);
    Ok(Lesson {
        decisions: played.iter().map(|&(_, decisions)| decisions).sum(),
        cost_ms: costs.iter().sum::<f64>() / costs.len() as f64,
        loss: None,
    })
}

/// Ranks from -0.5 (least) to 0.5 (most); equal values share the mean of their ranks.
///
/// ```
/// use scale_agents::evolution::centred_ranks;
/// assert_eq!(centred_ranks(&[3.0, 1.0, 2.0]), [0.5, -0.5, 0.0]);
/// assert_eq!(centred_ranks(&[7.0, 7.0, 1.0]), [0.25, 0.25, -0.5]);
/// assert_eq!(centred_ranks(&[7.0, 7.0]), [0.0, 0.0]);
/// ```
pub fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let last = (values.len() as f64 - 1.0).max(1.0);
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let equal = order[start..].iter().take_while(|&&index| values[index] == values[order[start]]).count();
        let rank = (start as f64 + (equal as f64 - 1.0) / 2.0) / last - 0.5;
        for &index in &order[start..start + equal] {
            ranks[index] = rank;
        }
        start += equal.max(1);
    }
    ranks
}
