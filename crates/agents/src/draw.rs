//! Random numbers: a ChaCha8 stream whose position can be saved, and the few distributions that learning needs. They
//! are written out here so that the bytes of a training do not depend on how a library samples.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scale_model::Seed;

/// The stream of a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    seed: Seed,
    stream: ChaCha8Rng,
}

impl Draw {
    /// The stream from its beginning.
    pub fn new(seed: Seed) -> Draw {
        Draw { seed, stream: ChaCha8Rng::seed_from_u64(seed.0) }
    }

    /// The stream from a [`position`](Self::position) on.
    ///
    /// ```
    /// use scale_agents::draw::Draw;
    /// use scale_model::Seed;
    /// let mut draw = Draw::new(Seed(7));
    /// draw.unit();
    /// let mut again = Draw::resume(Seed(7), draw.position());
    /// assert_eq!(draw.unit(), again.unit());
    /// ```
    pub fn resume(seed: Seed, position: u64) -> Draw {
        let mut draw = Draw::new(seed);
        draw.stream.set_word_pos(u128::from(position));
        draw
    }

    /// How many 32-bit words were drawn.
    pub fn position(&self) -> u64 {
        self.stream.get_word_pos() as u64
    }

    /// A whole number below `count`, which is above 0. The bias of at most 2^-32 is not worth a second draw.
    #[inline]
    pub fn below(&mut self, count: usize) -> usize {
        ((u64::from(self.stream.next_u32()) * count as u64) >> 32) as usize
    }

    /// A number from [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.stream.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A standard normal number (Box and Muller; the second of the pair is dropped).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Puts a list into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}
