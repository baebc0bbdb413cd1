//! Seeds are arguments, derived by label, so that adding a stream never shifts another.

use serde::{Deserialize, Serialize};

/// A seed for a random generator with a specified stream (ChaCha8). The model itself draws nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// A seed for the stream `label` with number `index`. Pure: the same three inputs give the same seed anywhere.
    ///
    /// ```
    /// use scale_model::Seed;
    /// let seed = Seed(7);
    /// assert_eq!(seed.derive("workload", 3), seed.derive("workload", 3));
    /// assert_ne!(seed.derive("workload", 3), seed.derive("workload", 4));
    /// assert_ne!(seed.derive("workload", 3), seed.derive("topology", 3));
    /// ```
    #[must_use]
    pub fn derive(self, label: &str, index: u64) -> Seed {
        // FNV-1a over the label, then SplitMix64's finaliser, twice: both are public, short and well tested.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in label.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Seed(mix(mix(self.0 ^ hash).wrapping_add(index)))
    }
}

fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
