//! `warm-first-fit`: the first node that fits and has an idle container of the function, else the first that fits.
//! Source: the basic scheduler of DSLab FaaS.

use crate::scan::Scan;
use scale_model::{BatchProblem, ClusterState, Decision, Scheduler};

/// The first node that fits and has an idle container of the function, else the first that fits.
#[derive(Clone, Copy, Debug, Default)]
pub struct WarmFirstFit;

impl Scheduler for WarmFirstFit {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let scan = Scan::of(batch, state, next);
        let warm = batch.platform.node_ids().find(|&node| scan.warm(node) && scan.fits(node));
        scan.decision(warm.or_else(|| scan.fitting().next()))
    }
}
