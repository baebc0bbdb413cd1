//! Random numbers: a ChaCha8 stream and the few distributions that the searches need. They are written out here so
//! that the bytes of an answer do not depend on how a library samples.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scale_model::Seed;

/// The stream of a seed.
#[derive(Clone, Debug)]
pub(crate) struct Draw(ChaCha8Rng);

impl Draw {
    pub(crate) fn new(seed: Seed) -> Draw {
        Draw(ChaCha8Rng::seed_from_u64(seed.0))
    }

    /// 32 random bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn wide(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number below `count`, which is above 0. The bias of at most 2^-32 is not worth a second draw.
    #[inline]
    pub(crate) fn below(&mut self, count: usize) -> usize {
        ((u64::from(self.0.next_u32()) * count as u64) >> 32) as usize
    }

    /// A number from [0, 1).
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A standard normal number (Box and Muller; the second of the pair is dropped).
    #[inline]
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// An exponential number of mean 1.
    #[inline]
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// A standard Cauchy number.
    #[inline]
    pub(crate) fn cauchy(&mut self) -> f64 {
        (std::f64::consts::PI * (self.unit() - 0.5)).tan()
    }

    /// How many failures come before a success of this probability.
    #[inline]
    pub(crate) fn gap(&mut self, rate: f64) -> usize {
        if rate <= 0.0 {
            return usize::MAX / 2;
        }
        // 1 - u is above 0, so the logarithm is finite; a rate of 1 makes the divisor infinite and the gap 0.
        ((1.0 - self.unit()).ln() / (-rate).ln_1p()) as usize
    }
}
