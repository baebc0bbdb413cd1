//! Functions and how their requests behave, drawn from stated distributions.
//!
//! # Where numbers come from
//! The values stand in `experiments/*.toml`. What is published (see `datasets/README`):
//!
//! | field | source |
//! |---|---|
//! | `pools` | Huawei private trace, `cpu_limit`: 0.45, 0.95 and 1.95 cores (of the nine functions in the published head and tail 2, 4 and 3). Memory to go with them from the pools of Huawei Region 2 (EuroSys 2025): 400 m with 256 MB, 1000 m with 1024, 1800 m with 2048 |
//! | `comp_ms` | mean execution time by function, Huawei R1: median 92 ms, quartiles 9 and 317 ms, q90 1.7 s; R2: median 30 ms |
//! | `image_mb` | faas-sim (Raith 2021), 77 measurements: 20 to 88 MB for plain functions, 108 to 400 MB with TensorFlow Lite, 0.7 to 4.1 GB with a full framework. A few to tens of MB assume that the base layers are cached on every node |
//! | `init_ms_at_128_mb` | the paper: inversely proportional to memory. SeBS does not bear it out: on AWS the median start-up of six benchmarks is 12 to 187 ms, the same at every size from 128 to 3008 MB. So the constant is a choice |
//! | `rate` | Huawei private trace: median 25 a minute, sigma 4.2 (see [`generator`](crate::generator)) |
//! | `burstiness` | Huawei private trace: median 0.3, sigma 0.65 (see [`generator`](crate::generator)) |

use crate::error::{WorkloadError, require};
use crate::random::{normal, stream};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use scale_model::{Cores, Function, Megabytes, Memory, Milliseconds, Seed};
use serde::{Deserialize, Serialize};

/// Draws the functions of a platform and the profiles of their requests.
///
/// Every function and every attribute has a stream of its own: more functions, or other images, change nothing else.
///
/// # Errors
/// The first value of the specification that makes no sense.
pub fn catalogue(spec: &CatalogueSpec, seed: Seed) -> Result<Catalogue, WorkloadError> {
    spec.validate()?;
    let weights: f64 = spec.pools.iter().map(|pool| pool.weight).sum();
    let (mut functions, mut profiles) = (Vec::new(), Vec::new());
    for number in 0..spec.count {
        let draw = |label: &str| stream(seed.derive(label, u64::from(number)));
        let pool = pick(&spec.pools, weights * draw("catalogue.pool").random::<f64>());
        functions.push(Function {
            name: format!("synthetic-{number:03}"),
            image: Megabytes(spec.image_mb.sample(&mut draw("catalogue.image"))),
            init: Milliseconds(spec.init_ms_at_128_mb * 128.0 / pool.memory.as_f64()),
            memory: pool.memory,
            cores: pool.cores,
        });
        profiles.push(Profile {
            mean_comp_ms: spec.comp_ms.sample(&mut draw("catalogue.comp")),
            comp_request_cv: spec.comp_request_cv,
            mean_input_mb: spec.input_mb.sample(&mut draw("catalogue.input")),
            input_request_cv: spec.input_request_cv,
            rate_per_minute: spec.rate.sample(&mut draw("catalogue.rate")),
            burstiness: spec.burstiness.sample(&mut draw("catalogue.burstiness")),
        });
    }
    Ok(Catalogue { functions, profiles })
}

/// Functions with their profiles; both are indexed by [`FunctionId`](scale_model::FunctionId).
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    /// What the platform knows of each function.
    pub functions: Vec<Function>,
    /// How the requests of each function behave.
    pub profiles: Vec<Profile>,
}

/// How the requests of one function behave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Mean execution time on the function's own cores, in ms.
    pub mean_comp_ms: f64,
    /// Coefficient of variation of a request's execution time around that mean.
    pub comp_request_cv: f64,
    /// Mean input of a request, in MB.
    pub mean_input_mb: f64,
    /// Coefficient of variation of a request's input around that mean.
    pub input_request_cv: f64,
    /// Mean requests per minute over a week; the generator starts from it, a trace replaces it.
    pub rate_per_minute: f64,
    /// Coefficient of variation of the rate around its daily course.
    pub burstiness: f64,
}

/// What a catalogue is drawn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueSpec {
    /// How many functions.
    pub count: u32,
    /// Container sizes; cores and memory come in pairs.
    pub pools: Vec<Pool>,
    /// Mean execution time of a function on its own cores, in ms.
    pub comp_ms: Lognormal,
    /// Coefficient of variation of a request's execution time around its function's mean.
    pub comp_request_cv: f64,
    /// Size of a function's container image, in MB.
    pub image_mb: Lognormal,
    /// Mean input of a function's requests, in MB.
    pub input_mb: Lognormal,
    /// Coefficient of variation of a request's input around its function's mean.
    pub input_request_cv: f64,
    /// Time to initialise a container of 128 MB, in ms; one of m MB takes this times 128 / m.
    pub init_ms_at_128_mb: f64,
    /// Mean requests per minute of a function.
    pub rate: Lognormal,
    /// Coefficient of variation of a function's rate around its daily course.
    pub burstiness: Lognormal,
}

/// A container size, and how many functions have it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// f_k, in cores.
    pub cores: Cores,
    /// c_k, in MB.
    #[serde(rename = "memory_mb")]
    pub memory: Memory,
    /// Share of the functions, relative to the weights of the other pools.
    pub weight: f64,
}

/// A lognormal distribution, truncated to `[min, max]` (a draw outside is drawn again).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lognormal {
    /// Median before the truncation, in the unit of the field that holds the distribution.
    pub median: f64,
    /// Standard deviation of the natural logarithm, without a unit. 0: always the median.
    pub sigma: f64,
    /// Smallest value, in the unit of the median.
    pub min: f64,
    /// Largest value, in the unit of the median.
    pub max: f64,
}

impl Catalogue {
    /// Checks that there is a profile for each function, and every number of the profiles. The functions are checked
    /// with their [`Platform`](scale_model::Platform).
    pub(crate) fn validate(&self) -> Result<(), WorkloadError> {
        let (functions, profiles) = (self.functions.len(), self.profiles.len());
        require(functions == profiles, "catalogue.profiles", profiles, "as many as there are functions")?;
        for (index, profile) in self.profiles.iter().enumerate() {
            let Profile {
                mean_comp_ms,
                comp_request_cv,
                mean_input_mb,
                input_request_cv,
                rate_per_minute,
                burstiness,
            } = *profile;
            for (name, value) in [
                ("mean_comp_ms", mean_comp_ms),
                ("comp_request_cv", comp_request_cv),
                ("mean_input_mb", mean_input_mb),
                ("input_request_cv", input_request_cv),
                ("rate_per_minute", rate_per_minute),
            ] {
                let field = || format!("catalogue.profiles[{index}].{name}");
                require(value.is_finite() && value >= 0.0, field(), value, "a number of at least 0")?;
            }
            let field = format!("catalogue.profiles[{index}].burstiness");
            require((0.0..=MAX_BURSTINESS).contains(&burstiness), field, burstiness, "a number from 0 to 3")?;
        }
        Ok(())
    }
}

/// The approximation behind the bursts is good up to here.
const MAX_BURSTINESS: f64 = 3.0;

impl CatalogueSpec {
    fn validate(&self) -> Result<(), WorkloadError> {
        require(self.count > 0, "count", self.count, "at least one function")?;
        require(!self.pools.is_empty(), "pools", "[]", "at least one container size")?;
        for (index, pool) in self.pools.iter().enumerate() {
            let field = |name: &str| format!("pools[{index}].{name}");
            require(pool.cores.milli > 0, field("cores"), pool.cores.as_f64(), "a number above 0")?;
            require(pool.memory.mb > 0, field("memory_mb"), pool.memory.mb, "a number above 0")?;
            let weight = pool.weight;
            require(weight.is_finite() && weight > 0.0, field("weight"), weight, "a number above 0")?;
        }
        for (name, distribution) in [
            ("comp_ms", &self.comp_ms),
            ("image_mb", &self.image_mb),
            ("input_mb", &self.input_mb),
            ("rate", &self.rate),
            ("burstiness", &self.burstiness),
        ] {
            distribution.validate(name)?;
        }
        let most = self.burstiness.max;
        require(most <= MAX_BURSTINESS, "burstiness.max", most, "a number of at most 3")?;
        for (name, value) in [
            ("comp_request_cv", self.comp_request_cv),
            ("input_request_cv", self.input_request_cv),
            ("init_ms_at_128_mb", self.init_ms_at_128_mb),
        ] {
            require(value.is_finite() && value >= 0.0, name, value, "a number of at least 0")?;
        }
        Ok(())
    }
}

impl Lognormal {
    fn validate(&self, name: &str) -> Result<(), WorkloadError> {
        let Lognormal { median, sigma, min, max } = *self;
        let field = |part: &str| format!("{name}.{part}");
        require(min.is_finite() && min >= 0.0, field("min"), min, "a number of at least 0")?;
        require(max.is_finite() && max >= min, field("max"), max, "a number not below min")?;
        let inside = median > 0.0 && (min..=max).contains(&median);
        require(inside, field("median"), median, "a number above 0, from min to max")?;
        require(sigma.is_finite() && sigma >= 0.0, field("sigma"), sigma, "a number of at least 0")
    }

    fn sample(&self, rng: &mut ChaCha8Rng) -> f64 {
        // The median is inside, so a range of any width is hit soon; one that has none is its median.
        let draws = std::iter::repeat_with(|| self.median * (self.sigma * normal(rng)).exp());
        draws.take(1000).find(|draw| (self.min..=self.max).contains(draw)).unwrap_or(self.median)
    }
}

/// The pool at `mark` of the weights laid end to end.
fn pick(pools: &[Pool], mut mark: f64) -> &Pool {
    let (last, others) = (&pools[pools.len() - 1], &pools[..pools.len() - 1]);
    for pool in others {
        if mark < pool.weight {
            return pool;
        }
        mark -= pool.weight;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{catalogue_spec, platform};

    fn draw(seed: u64) -> Catalogue {
        catalogue(&catalogue_spec(), Seed(seed)).expect("a catalogue")
    }

    #[test]
    fn a_catalogue_is_valid_and_follows_its_seed() {
        let drawn = draw(1);
        platform(1, &drawn.functions).validate().expect("a valid platform");
        drawn.validate().expect("valid profiles");
        assert_eq!((drawn.functions.len(), drawn.functions[17].name.as_str()), (200, "synthetic-017"));
        assert_eq!(drawn, draw(1));
        assert_ne!(drawn, draw(2));
    }

    /// Medians, ranges and shares of the pools are those of the specification.
    #[test]
    fn attributes_follow_their_distributions() {
        let spec = CatalogueSpec { count: 4000, ..catalogue_spec() };
        let drawn = catalogue(&spec, Seed(1)).expect("a catalogue");
        let median = |value: &dyn Fn(usize) -> f64| {
            let mut values: Vec<f64> = (0..4000).map(value).collect();
            values.sort_by(f64::total_cmp);
            (values[0], values[2000], values[3999])
        };
        // The bounds of each range cut about as much on both sides, so the median stays.
        let check = |name: &str, distribution: Lognormal, value: &dyn Fn(usize) -> f64| {
            let (smallest, middle, largest) = median(value);
            assert!(distribution.min <= smallest && largest <= distribution.max, "{name}");
            let ratio = (middle / distribution.median).ln() / distribution.sigma;
            assert!(ratio.abs() < 0.1, "{name}: median {middle}");
        };
        check("comp", spec.comp_ms, &|index| drawn.profiles[index].mean_comp_ms);
        check("image", spec.image_mb, &|index| drawn.functions[index].image.0);
        check("input", spec.input_mb, &|index| drawn.profiles[index].mean_input_mb);
        check("rate", spec.rate, &|index| drawn.profiles[index].rate_per_minute);
        check("burstiness", spec.burstiness, &|index| drawn.profiles[index].burstiness);
        for pool in &spec.pools {
            let members = drawn.functions.iter().filter(|function| function.cores == pool.cores);
            let members: Vec<&Function> = members.collect();
            assert!((members.len() as f64 / 4000.0 - pool.weight / 9.0).abs() < 0.03, "{pool:?}");
            // Cores and memory come together, and start-up is inversely proportional to memory.
            let init = 200.0 * 128.0 / pool.memory.as_f64();
            assert!(members.iter().all(|function| function.memory == pool.memory && function.init.0 == init));
        }
    }

    /// More functions, or other images, change nothing else.
    #[test]
    fn attributes_are_separate_streams() {
        let base = draw(1);
        let more =
            catalogue(&CatalogueSpec { count: 300, ..catalogue_spec() }, Seed(1)).expect("a catalogue");
        assert_eq!(more.functions[..200], base.functions);
        assert_eq!(more.profiles[..200], base.profiles);
        let image_mb = Lognormal { median: 60.0, sigma: 0.9, min: 20.0, max: 180.0 };
        let heavy = catalogue(&CatalogueSpec { image_mb, ..catalogue_spec() }, Seed(1)).expect("a catalogue");
        assert_eq!(heavy.profiles, base.profiles);
        for (heavy, base) in heavy.functions.iter().zip(&base.functions) {
            assert_eq!(Function { image: base.image, ..heavy.clone() }, *base);
        }
    }

    #[test]
    fn ranges_of_no_width_give_their_median() {
        let fixed = Lognormal { median: 7.0, sigma: 2.0, min: 7.0, max: 7.0 };
        let constant = Lognormal { median: 7.0, sigma: 0.0, min: 0.0, max: 100.0 };
        let mut rng = stream(Seed(1));
        assert_eq!((fixed.sample(&mut rng), constant.sample(&mut rng)), (7.0, 7.0));
    }

    #[test]
    fn senseless_values_are_refused() {
        type Edit = fn(&mut CatalogueSpec);
        let cases: [(Edit, &str); 12] = [
            (|s| s.count = 0, "count: 0: expected at least one function"),
            (|s| s.pools.clear(), "pools: []: expected at least one container size"),
            (|s| s.pools[1].cores.milli = 0, "pools[1].cores: 0: expected a number above 0"),
            (|s| s.pools[1].memory.mb = 0, "pools[1].memory_mb: 0: expected a number above 0"),
            (|s| s.pools[2].weight = f64::NAN, "pools[2].weight: NaN: expected a number above 0"),
            (|s| s.comp_ms.min = -1.0, "comp_ms.min: -1: expected a number of at least 0"),
            (|s| s.image_mb.max = 1.0, "image_mb.max: 1: expected a number not below min"),
            (|s| s.input_mb.median = 7.0, "input_mb.median: 7: expected a number above 0, from min to max"),
            (|s| s.rate.sigma = f64::INFINITY, "rate.sigma: inf: expected a number of at least 0"),
            (|s| s.burstiness.max = 4.0, "burstiness.max: 4: expected a number of at most 3"),
            (|s| s.comp_request_cv = -0.1, "comp_request_cv: -0.1: expected a number of at least 0"),
            (|s| s.init_ms_at_128_mb = f64::NAN, "init_ms_at_128_mb: NaN: expected a number of at least 0"),
        ];
        for (edit, expected) in cases {
            let mut spec = catalogue_spec();
            edit(&mut spec);
            assert_eq!(catalogue(&spec, Seed(1)).expect_err(expected).to_string(), expected);
        }
    }
}
