//! Random choices: one stream with a specified output (ChaCha8) for each rule that draws.

use crate::scan::Scan;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scale_model::{NodeId, Seed};

/// The stream of a seed.
#[derive(Clone, Debug)]
pub(crate) struct Draw(ChaCha8Rng);

impl Draw {
    pub(crate) fn new(seed: Seed) -> Draw {
        Draw(ChaCha8Rng::seed_from_u64(seed.0))
    }

    /// A number below `count`, all equally likely.
    #[inline]
    pub(crate) fn below(&mut self, count: u32) -> u32 {
        self.0.random_range(0..count)
    }

    /// A node that fits, all equally likely: counted first, so that one number is drawn and not one a node.
    #[inline]
    pub(crate) fn fitting(&mut self, scan: &Scan<'_>) -> Option<NodeId> {
        let count = scan.fitting().count() as u32;
        if count == 0 {
            return None;
        }
        let index = self.below(count) as usize;
        scan.fitting().nth(index)
    }
}
