//! What the tests of this crate share: specifications with the published values, and a small cluster.

use crate::arrivals::ArrivalSpec;
use crate::catalogue::{Catalogue, CatalogueSpec, Lognormal, Pool, Profile};
use crate::generator::GeneratorSpec;
use scale_model::{
    Cores, Function, Gigahertz, Links, Megabytes, MegabytesPerSecond, Memory, Milliseconds, Node, Platform,
    Position, Topology,
};
use std::path::PathBuf;

pub(crate) fn catalogue_spec() -> CatalogueSpec {
    let pool = |milli, mb, weight| Pool { cores: Cores { milli }, memory: Memory { mb }, weight };
    CatalogueSpec {
        count: 200,
        pools: vec![pool(450, 256, 2.0), pool(950, 1024, 4.0), pool(1950, 2048, 3.0)],
        comp_ms: Lognormal { median: 150.0, sigma: 0.4, min: 30.0, max: 350.0 },
        comp_request_cv: 0.1,
        image_mb: Lognormal { median: 15.0, sigma: 0.7, min: 2.0, max: 180.0 },
        input_mb: Lognormal { median: 0.3, sigma: 1.0, min: 0.001, max: 6.0 },
        input_request_cv: 0.3,
        init_ms_at_128_mb: 200.0,
        rate: Lognormal { median: 25.0, sigma: 4.2, min: 0.0001, max: 4_000_000.0 },
        burstiness: Lognormal { median: 0.3, sigma: 0.65, min: 0.05, max: 2.0 },
    }
}

pub(crate) fn generator_spec() -> GeneratorSpec {
    GeneratorSpec {
        peak_to_trough: [7.0, 11.0],
        peak_hour: 16.5,
        peak_spread_hours: 0.8,
        weekend: [5, 6],
        weekend_factor: 0.8,
        day_cv: 0.07,
        burst_minutes: 15.0,
        burst_jitter: 0.1,
    }
}

/// One day without warm-up, in real time, as the trace counts it.
pub(crate) fn arrival_spec() -> ArrivalSpec {
    ArrivalSpec {
        day: 0,
        warmup_minutes: 0,
        minutes: None,
        minute_ms: 60_000.0,
        load: None,
        course: crate::Course::Trace,
        window_ms: 0.0,
        zipf_beta: 0.8,
        slo_ms: [200.0, 400.0],
    }
}

/// A cluster of equal nodes with three cores each.
pub(crate) fn platform(nodes: u32, functions: &[Function]) -> Platform {
    let node = |number| Node {
        name: format!("n{number}"),
        kind: 0,
        position: Position { latitude: 0.0, longitude: 0.0 },
        frequency: Gigahertz(3.0),
        cores: Cores { milli: 3000 },
        memory: Memory { mb: 16_000 },
        registry_bandwidth: MegabytesPerSecond(100.0),
    };
    let links = Links::from_fn(nodes as usize, |_, _| MegabytesPerSecond(50.0)).expect("positive rates");
    let topology = Topology { nodes: (0..nodes).map(node).collect(), links };
    Platform { topology, functions: functions.to_vec() }
}

/// Functions that are equal but for their rate and burstiness.
pub(crate) fn plain_catalogue(rates_and_bursts: &[(f64, f64)]) -> Catalogue {
    let function = |number| Function {
        name: format!("f{number}"),
        image: Megabytes(10.0),
        init: Milliseconds(100.0),
        memory: Memory { mb: 128 },
        cores: Cores { milli: 500 },
    };
    let profile = |&(rate_per_minute, burstiness)| Profile {
        mean_comp_ms: 150.0,
        comp_request_cv: 0.2,
        mean_input_mb: 0.5,
        input_request_cv: 0.3,
        rate_per_minute,
        burstiness,
    };
    Catalogue {
        functions: (0..rates_and_bursts.len()).map(function).collect(),
        profiles: rates_and_bursts.iter().map(profile).collect(),
    }
}

/// The Huawei folder of `SCALE_DATASETS`, if that is set.
pub(crate) fn huawei_folder() -> Option<PathBuf> {
    let folder = std::env::var_os("SCALE_DATASETS").map(|root| PathBuf::from(root).join("huawei"));
    if folder.is_none() {
        eprintln!("SCALE_DATASETS is not set: not compared with the real trace");
    }
    folder
}

/// Mean and coefficient of variation.
pub(crate) fn mean_and_cv(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt() / mean)
}

/// The Kolmogorov-Smirnov statistic times the root of the number of values: above 1.63 with probability 1 % if they
/// follow `cdf`.
pub(crate) fn kolmogorov_smirnov(mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let gap = |(index, &value): (usize, &f64)| {
        let (below, above) = (index as f64 / count, (index + 1) as f64 / count);
        (cdf(value) - below).abs().max((cdf(value) - above).abs())
    };
    values.iter().enumerate().map(gap).fold(0.0, f64::max) * count.sqrt()
}
