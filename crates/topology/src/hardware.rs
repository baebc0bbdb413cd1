//! The ten node types of the paper, and which site gets which.
//!
//! # Where the numbers come from
//! - **Ten types, CPU frequency in [2.4, 3.6] GHz, memory in [10, 30] GB**: the paper, section V. It prints no table,
//!   so ours spreads both ranges from end to end, symmetric about their middles (mean 3.0 GHz and 20 GB). The two
//!   are correlated but not perfectly (Spearman's rho 0.59): newer machines tend to have more of both, and a
//!   scheduler that looks only at one of them must be able to go wrong.
//! - **Registry bandwidth from 62.5 to 125 MB/s** (B_v; open in the paper): access lines of 500 Mbit/s, *business*,
//!   and 1000 Mbit/s, *fibre*, in the edge topologies of `edgerun/ether`. Nearly independent of the CPU: the
//!   line belongs to the building, not to the machine.
//! - **Cores** (F_v; open in the paper): [`HardwareSpec::cores_per_ghz`] times the frequency. With 1.0 the paper's
//!   CPU range is read as the capacity itself, 2.4 to 3.6 core-equivalents of 1 GHz.

use crate::draw::Draw;
use scale_model::{Cores, Gigahertz, Invalid, MegabytesPerSecond, Memory, Seed};
use serde::{Deserialize, Serialize};

/// One type of node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeType {
    /// For legends: what distinguishes it.
    pub name: &'static str,
    /// CPU frequency.
    pub frequency: Gigahertz,
    /// C_v: memory.
    pub memory: Memory,
    /// B_v: bandwidth to the image registry.
    pub registry_bandwidth: MegabytesPerSecond,
}

/// The ten types, in order of frequency; the index is [`Node::kind`](scale_model::Node::kind).
pub const NODE_TYPES: [NodeType; 10] = [
    node_type("2.4 GHz, 14 GB", 2.4, 14, 97.5),
    node_type("2.5 GHz, 10 GB", 2.5, 10, 77.5),
    node_type("2.7 GHz, 22 GB", 2.7, 22, 117.5),
    node_type("2.8 GHz, 12 GB", 2.8, 12, 62.5),
    node_type("2.9 GHz, 28 GB", 2.9, 28, 82.5),
    node_type("3.1 GHz, 18 GB", 3.1, 18, 125.0),
    node_type("3.2 GHz, 30 GB", 3.2, 30, 70.0),
    node_type("3.3 GHz, 16 GB", 3.3, 16, 110.0),
    node_type("3.5 GHz, 24 GB", 3.5, 24, 90.0),
    node_type("3.6 GHz, 26 GB", 3.6, 26, 105.0),
];

const fn node_type(name: &'static str, ghz: f64, memory_gb: u32, registry_mb_s: f64) -> NodeType {
    NodeType {
        name,
        frequency: Gigahertz(ghz),
        memory: Memory { mb: memory_gb * 1000 },
        registry_bandwidth: MegabytesPerSecond(registry_mb_s),
    }
}

/// What a scenario says about the hardware.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareSpec {
    /// Cores of a node for each GHz of its frequency.
    pub cores_per_ghz: f64,
}

impl HardwareSpec {
    /// Checks every field.
    ///
    /// # Errors
    /// A number of cores that is not finite, not above zero, or too large to count.
    pub fn validate(&self) -> Result<(), Invalid> {
        NODE_TYPES.iter().try_for_each(|class| self.cores(class).map(|_| ()))
    }

    /// F_v of a node of this type, to the nearest thousandth of a core.
    ///
    /// # Errors
    /// As [`HardwareSpec::validate`].
    ///
    /// ```
    /// use scale_topology::{HardwareSpec, NODE_TYPES};
    /// // 2.4 GHz at 1.5 cores a GHz are 3.6 cores.
    /// let cores = HardwareSpec { cores_per_ghz: 1.5 }.cores(&NODE_TYPES[0])?;
    /// assert_eq!(cores.milli, 3600);
    /// # Ok::<(), scale_model::Invalid>(())
    /// ```
    pub fn cores(&self, class: &NodeType) -> Result<Cores, Invalid> {
        Cores::nearest(self.cores_per_ghz * class.frequency.0).filter(|cores| cores.milli > 0).ok_or_else(
            || Invalid {
                field: "hardware.cores_per_ghz".into(),
                value: self.cores_per_ghz.to_string(),
                expected: "a number above 0 that gives each node from 0.001 to 4294967.295 cores",
            },
        )
    }
}

/// The type of each site: a balanced draw, so that any two types differ by at most one site (12 or 13 of 125).
/// Which types get the extra site is drawn too; else the slowest would always have it.
pub(crate) fn draw_kinds(sites: usize, seed: Seed) -> Vec<u16> {
    let mut draw = Draw::new(seed);
    let mut order: Vec<u16> = (0..NODE_TYPES.len() as u16).collect();
    draw.shuffle(&mut order);
    let mut kinds: Vec<u16> = order.into_iter().cycle().take(sites).collect();
    draw.shuffle(&mut kinds);
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The claims of the module docs.
    #[test]
    fn the_table_spans_the_ranges_of_the_paper() {
        let column = |value: fn(&NodeType) -> f64| NODE_TYPES.iter().map(value).collect::<Vec<f64>>();
        let frequency = column(|class| class.frequency.0);
        let memory = column(|class| class.memory.as_f64());
        let bandwidth = column(|class| class.registry_bandwidth.0);
        for (values, low, high) in [(&frequency, 2.4, 3.6), (&memory, 10e3, 30e3), (&bandwidth, 62.5, 125.0)]
        {
            let min = values.iter().copied().fold(f64::INFINITY, f64::min);
            let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert_eq!((min, max), (low, high));
            let mean = values.iter().sum::<f64>() / 10.0;
            assert!((mean - (low + high) / 2.0).abs() < 1e-9 * high, "{values:?}");
            for (index, value) in values.iter().enumerate() {
                assert!(!values[..index].contains(value), "{value} twice");
            }
        }
        assert!(frequency.is_sorted());
        let rounded = |value: f64| (value * 100.0).round() / 100.0;
        assert_eq!(rounded(spearman(&frequency, &memory)), 0.59);
        assert_eq!(rounded(spearman(&frequency, &bandwidth)), 0.16);
        for class in &NODE_TYPES {
            let name = format!("{:.1} GHz, {} GB", class.frequency.0, class.memory.mb / 1000);
            assert_eq!(class.name, name);
        }
    }

    /// Without ties: 1 - 6 sum d^2 / (n (n^2 - 1)).
    fn spearman(a: &[f64], b: &[f64]) -> f64 {
        let rank = |values: &[f64], value: f64| values.iter().filter(|&&other| other < value).count() as f64;
        let squares: f64 = a.iter().zip(b).map(|(&x, &y)| (rank(a, x) - rank(b, y)).powi(2)).sum();
        let n = a.len() as f64;
        1.0 - 6.0 * squares / (n * (n * n - 1.0))
    }

    #[test]
    fn types_are_balanced_and_no_type_is_favoured() {
        let mut extras = [0; 10];
        for seed in 0..400 {
            let kinds = draw_kinds(125, Seed(seed));
            for (kind, extra) in extras.iter_mut().enumerate() {
                let count = kinds.iter().filter(|&&k| usize::from(k) == kind).count();
                assert!(count == 12 || count == 13, "type {kind}: {count} times");
                *extra += count - 12;
            }
        }
        // Each type has a thirteenth site with probability 1/2: 200 of 400, give or take 5 standard deviations of 10.
        assert!(extras.iter().all(|extra| (150..=250).contains(extra)), "{extras:?}");
        assert!(draw_kinds(0, Seed(1)).is_empty());
    }

    #[test]
    fn a_spec_that_makes_no_sense_is_refused() {
        for (cores_per_ghz, value) in
            [(0.0, "0"), (-1.0, "-1"), (f64::NAN, "NaN"), (1e9, "1000000000"), (1e-5, "0.00001")]
        {
            let error = HardwareSpec { cores_per_ghz }.validate().expect_err(value);
            let expected = "a number above 0 that gives each node from 0.001 to 4294967.295 cores";
            assert_eq!(error.to_string(), format!("hardware.cores_per_ghz: {value}: expected {expected}"));
        }
        let typo = toml::from_str::<HardwareSpec>("cores_per_gz = 1.0").expect_err("cores_per_gz");
        assert!(
            typo.to_string().contains("unknown field `cores_per_gz`, expected `cores_per_ghz`"),
            "{typo}"
        );
    }
}
