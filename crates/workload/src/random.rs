//! Streams of random numbers. Each has a label, so that changing how one is used never shifts another.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson, StandardNormal};
use scale_model::Seed;

/// The stream of a seed.
pub(crate) fn stream(seed: Seed) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed.0)
}

/// One draw from the standard normal distribution.
pub(crate) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// A count with the given mean; 0 for a mean that is not a number above 0.
pub(crate) fn poisson(mean: f64, rng: &mut ChaCha8Rng) -> u64 {
    // The conversion saturates: a mean beyond the range of u64 is no count, and callers bound it before.
    Poisson::new(mean).map_or(0, |distribution| distribution.sample(rng) as u64)
}

/// A lognormal factor of mean 1 with the given coefficient of variation.
#[derive(Clone, Copy)]
pub(crate) struct Around {
    sigma: f64,
}

impl Around {
    pub(crate) fn new(cv: f64) -> Around {
        Around { sigma: (1.0 + cv * cv).ln().sqrt() }
    }

    /// One draw. Without variation nothing is drawn from the stream.
    #[inline]
    pub(crate) fn sample(self, rng: &mut ChaCha8Rng) -> f64 {
        if self.sigma == 0.0 { 1.0 } else { (self.sigma * normal(rng) - 0.5 * self.sigma * self.sigma).exp() }
    }
}
