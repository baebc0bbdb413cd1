//! Fits a generator to the requests per minute of one function, and compares what it makes with the real series.
//!
//! The model: the count of minute t is Poisson with mean `m p(t) exp(Z(t) - v / 2)`, where
//! - m is the mean and p the daily course, a trigonometric polynomial of mean 1,
//! - Z is a sum of independent normal processes that forget themselves after 1, 2, 4, ... minutes up to some days, with the
//!   variances v_k of sum v: a lognormal rate whose autocorrelation is free.
//!
//! The fit needs no search. A day's Fourier coefficients give p, each shrunk by how much it differs between days, so that
//! noise is not taken for a course (the positive part of 1 - s² / (D a²) under the root, for D days with variance s²
//! around the amplitude a). As `E[X(t) X(t + h)] = m² p(t) p(t + h) exp(γ(h))`, the ratio of sums over the series gives
//! γ, the autocovariance of Z; at lag 0 `X (X - 1)` takes the Poisson noise out. The v_k are the nonnegative least
//! squares fit to γ. What [`GeneratorSpec`](crate::GeneratorSpec) makes is not changed by any of this.
//!
//! Every draw belongs to a point of a grid over absolute time, so a day is the same whatever other days are made.

use crate::counts::{DayCounts, MAX_COUNT, MINUTES, MinuteCounts};
use crate::error::{WorkloadError, require};
use crate::generator::SlowNormal;
use crate::random::{poisson, stream};
use scale_model::Seed;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// What one function's requests per minute are drawn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// Name of the function.
    pub name: String,
    /// Mean requests per minute.
    pub mean_per_minute: f64,
    /// The daily course: factors of cos and sin of 1, 2, 3, ... turns a day, around a mean of 1.
    pub course: Vec<[f64; 2]>,
    /// The noise: after how many minutes each part forgets itself, and its variance, of the logarithm of the rate.
    pub noise: Vec<[f64; 2]>,
}

/// The grid of each part of the noise, in minutes.
const STEPS: [f64; 13] = [1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3840.0];

/// Lags at which γ is fitted, in minutes, with the weight of their squared errors: those that are reported count more.
const LAGS: [(usize, f64); 23] = [
    (0, 10.0),
    (1, 10.0),
    (2, 1.0),
    (3, 1.0),
    (5, 1.0),
    (8, 1.0),
    (13, 1.0),
    (20, 1.0),
    (30, 1.0),
    (45, 1.0),
    (60, 10.0),
    (90, 1.0),
    (120, 1.0),
    (180, 1.0),
    (240, 1.0),
    (360, 1.0),
    (480, 1.0),
    (720, 1.0),
    (1080, 1.0),
    (1440, 10.0),
    (1800, 1.0),
    (2160, 1.0),
    (2880, 1.0),
];

/// Turns a day of the finest part of the daily course: one every hour.
const TURNS: usize = 24;

/// The lowest point of a daily course, where its mean is 1.
const FLOOR: f64 = 0.01;

impl Fit {
    /// Fits a series of requests per minute that starts at midnight.
    ///
    /// A series of less than a day has no daily course; of a single day the course is three turns, as nothing tells it
    /// from noise. An empty cell is left out.
    ///
    /// # Errors
    /// A series without any request, or of less than an hour.
    pub fn of(name: &str, series: &[Option<u32>]) -> Result<Fit, WorkloadError> {
        let known: Vec<f64> = series.iter().flatten().map(|&count| f64::from(count)).collect();
        require(
            known.len() >= 60,
            format!("the series {name:?}"),
            known.len(),
            "at least 60 minutes with data",
        )?;
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        require(mean > 0.0, format!("the series {name:?}"), 0, "at least one request")?;
        let mut fit = Fit { name: name.into(), mean_per_minute: mean, course: Vec::new(), noise: Vec::new() };
        fit.course = course(series, mean);
        let total: f64 = (0..series.len()).filter(|&t| series[t].is_some()).map(|t| fit.hour(t as u64)).sum();
        let expected: Vec<f64> =
            (0..series.len()).map(|t| fit.hour(t as u64) * mean * known.len() as f64 / total).collect();
        fit.noise = noise(series, &expected);
        Ok(fit)
    }

    /// The factor of the time of day at a minute.
    pub fn hour(&self, minute: u64) -> f64 {
        let angle = TAU * (minute % MINUTES as u64) as f64 / MINUTES as f64;
        let turn = |(index, [cos, sin]): (usize, &[f64; 2])| {
            let (s, c) = (angle * (index + 1) as f64).sin_cos();
            cos * c + sin * s
        };
        (1.0 + self.course.iter().enumerate().map(turn).sum::<f64>()).max(FLOOR)
    }

    /// The counts of some days, as one function of [`MinuteCounts`].
    pub fn play(&self, days: impl IntoIterator<Item = u32>, seed: Seed) -> Vec<(u32, Vec<u32>)> {
        // The floor may lift the course, so its mean is taken out.
        let level = (0..MINUTES as u64).map(|minute| self.hour(minute)).sum::<f64>() / MINUTES as f64;
        let half: f64 = self.noise.iter().map(|[_, variance]| variance).sum::<f64>() / 2.0;
        let day = |day: u32| {
            let part = |(index, &[step, variance]): (usize, &[f64; 2])| {
                (SlowNormal::new(seed.derive("noise", index as u64), step), variance.sqrt())
            };
            let mut parts: Vec<_> = self.noise.iter().enumerate().map(part).collect();
            let mut rng = stream(seed.derive("minutes", u64::from(day)));
            let first = u64::from(day) * MINUTES as u64;
            let count = |minute: u64| {
                let z: f64 =
                    parts.iter_mut().map(|(process, deviation)| *deviation * process.at(minute)).sum();
                let mean = self.mean_per_minute * self.hour(minute) / level * (z - half).exp();
                poisson(mean, &mut rng).min(u64::from(MAX_COUNT)) as u32
            };
            (day, (first..first + MINUTES as u64).map(count).collect())
        };
        days.into_iter().map(day).collect()
    }

    /// Checks every number.
    ///
    /// # Errors
    /// The first that makes no sense.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        let field = |part: &str| format!("the fit of {:?}: {part}", self.name);
        let mean = self.mean_per_minute;
        require(mean.is_finite() && mean >= 0.0, field("mean_per_minute"), mean, "a number of at least 0")?;
        for number in self.course.iter().flatten() {
            require(number.is_finite(), field("course"), number, "a number")?;
        }
        for &[step, variance] in &self.noise {
            require(step.is_finite() && step >= 1.0, field("noise"), step, "at least 1 minute")?;
            require((0.0..=25.0).contains(&variance), field("noise"), variance, "a variance from 0 to 25")?;
        }
        Ok(())
    }
}

/// Counts of some days from fits, with the index of each as its name.
///
/// # Errors
/// A fit whose numbers make no sense.
pub fn fitted_counts(
    fits: &[Fit],
    days: impl IntoIterator<Item = u32>,
    seed: Seed,
) -> Result<MinuteCounts, WorkloadError> {
    fits.iter().try_for_each(Fit::validate)?;
    let days: Vec<u32> = days.into_iter().collect();
    let names = (0..fits.len()).map(|index| index.to_string()).collect();
    let mut counts = MinuteCounts { functions: names, days: Default::default() };
    for &day in &days {
        counts.days.insert(day, DayCounts::empty(fits.len()));
    }
    for (index, fit) in fits.iter().enumerate() {
        for (day, series) in fit.play(days.iter().copied(), seed.derive("fit", index as u64)) {
            if let Some(cells) = counts.days.get_mut(&day) {
                series.iter().enumerate().for_each(|(minute, &count)| cells.set(minute, index, Some(count)));
            }
        }
    }
    Ok(counts)
}

/// The daily course: Fourier coefficients of the whole days, shrunk by their spread.
fn course(series: &[Option<u32>], mean: f64) -> Vec<[f64; 2]> {
    let days: Vec<&[Option<u32>]> = series.chunks_exact(MINUTES).collect();
    if days.is_empty() {
        return Vec::new();
    }
    let coefficient = |day: &[Option<u32>], turns: usize| -> [f64; 2] {
        let mut sums = [0.0; 2];
        let known = day.iter().flatten().count().max(1) as f64;
        for (minute, count) in day.iter().enumerate().filter_map(|(minute, count)| Some((minute, (*count)?)))
        {
            let (sin, cos) = (TAU * (turns * minute) as f64 / MINUTES as f64).sin_cos();
            let relative = f64::from(count) / mean - 1.0;
            sums[0] += 2.0 * relative * cos / known;
            sums[1] += 2.0 * relative * sin / known;
        }
        sums
    };
    let turns = if days.len() == 1 { 3 } else { TURNS };
    let shrunk = |turns: usize| {
        let each: Vec<[f64; 2]> = days.iter().map(|day| coefficient(day, turns)).collect();
        let number = each.len() as f64;
        let centre = [0, 1].map(|part| each.iter().map(|found| found[part]).sum::<f64>() / number);
        if each.len() == 1 {
            return centre;
        }
        let spread = |found: &[f64; 2]| (found[0] - centre[0]).powi(2) + (found[1] - centre[1]).powi(2);
        let variance = each.iter().map(spread).sum::<f64>() / (number - 1.0);
        let power = centre[0].powi(2) + centre[1].powi(2);
        let kept = if power > 0.0 { (1.0 - variance / (number * power)).max(0.0).sqrt() } else { 0.0 };
        centre.map(|part| part * kept)
    };
    (1..=turns).map(shrunk).collect()
}

/// The parts of the noise.
fn noise(series: &[Option<u32>], expected: &[f64]) -> Vec<[f64; 2]> {
    let mut rows: Vec<(Vec<f64>, f64, f64)> = Vec::new();
    for (lag, weight) in LAGS {
        if lag > 0 && 2 * lag > series.len() {
            break;
        }
        let (mut found, mut wanted) = (0.0, 0.0);
        for t in 0..series.len() - lag {
            if let (Some(here), Some(there)) = (series[t], series[t + lag]) {
                let (here, there) = (f64::from(here), f64::from(there));
                found += here * if lag == 0 { here - 1.0 } else { there };
                wanted += expected[t] * expected[t + lag];
            }
        }
        let covariance = (found / wanted).max(1e-3).ln();
        rows.push((STEPS.iter().map(|&step| correlation(step, lag)).collect(), covariance, weight));
    }
    let variances = nonnegative_least_squares(&rows);
    STEPS
        .into_iter()
        .zip(variances)
        .filter(|(_, variance)| *variance > 1e-9)
        .map(|(step, v)| [step, v])
        .collect()
}

/// The autocorrelation of [`SlowNormal`] after some minutes, averaged over the phases of whole minutes. `step` is whole.
fn correlation(step: f64, lag: usize) -> f64 {
    let quarter = std::f64::consts::FRAC_PI_2;
    let steps = step as usize;
    let at_phase = |phase: usize| {
        let (here, there) = (phase as f64 / step, (phase + lag) as f64 / step);
        match there.floor() as usize {
            0 => (quarter * (there - here)).cos(),
            1 => (quarter * here).sin() * (quarter * (there - 1.0)).cos(),
            _ => 0.0,
        }
    };
    (0..steps).map(at_phase).sum::<f64>() / step
}

/// The x of at least 0 that minimises the weighted squares of `row x - target`, by turns: each x to its own best.
fn nonnegative_least_squares(rows: &[(Vec<f64>, f64, f64)]) -> Vec<f64> {
    let mut x = vec![0.0; STEPS.len()];
    for _ in 0..20_000 {
        let mut moved = 0.0_f64;
        for k in 0..x.len() {
            let (mut slope, mut curve) = (0.0, 1e-12);
            for (row, target, weight) in rows {
                let rest = target - row.iter().zip(&x).map(|(a, x)| a * x).sum::<f64>();
                slope += weight * row[k] * rest;
                curve += weight * row[k] * row[k];
            }
            let next = (x[k] + slope / curve).max(0.0);
            moved = moved.max((next - x[k]).abs());
            x[k] = next;
        }
        if moved < 1e-10 {
            break;
        }
    }
    x
}

/// What is compared between a real series and a synthetic one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeriesStatistics {
    /// Mean requests per minute.
    pub mean: f64,
    /// Coefficient of variation of the minutes.
    pub cv: f64,
    /// Share of the minutes without a request.
    pub zeros: f64,
    /// Variance over mean of the minutes: 1 for a Poisson process.
    pub dispersion: f64,
    /// Busiest over quietest hour of the day, summed over whole days; none for less than a day, or an hour without any.
    pub peak_to_trough: Option<f64>,
    /// Share of the variance of the minutes that the mean day explains; none for less than two days.
    pub periodicity: Option<f64>,
    /// Autocorrelation after 1, 60 and 1,440 minutes; none where the series is not twice as long.
    pub autocorrelation: [Option<f64>; 3],
}

/// The lags of [`SeriesStatistics::autocorrelation`], in minutes.
pub const REPORTED_LAGS: [usize; 3] = [1, 60, 1440];

impl SeriesStatistics {
    /// Of a series that starts at midnight. Minutes without data are left out.
    pub fn of(series: &[Option<u32>]) -> SeriesStatistics {
        let known: Vec<f64> = series.iter().flatten().map(|&count| f64::from(count)).collect();
        let number = known.len().max(1) as f64;
        let mean = known.iter().sum::<f64>() / number;
        let variance = known.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / number;
        let correlation = |lag: usize| {
            if 2 * lag > series.len() || variance == 0.0 {
                return None;
            }
            let pairs = series.iter().zip(&series[lag..]);
            let products: Vec<f64> = pairs
                .filter_map(|(a, b)| Some((f64::from((*a)?) - mean) * (f64::from((*b)?) - mean)))
                .collect();
            Some(products.iter().sum::<f64>() / products.len().max(1) as f64 / variance)
        };
        let days: Vec<&[Option<u32>]> = series.chunks_exact(MINUTES).collect();
        let mut hours = [(0.0, 0.0); 24];
        let mut day = vec![(0.0, 0.0); MINUTES];
        for (minute, count) in days.iter().flat_map(|day| day.iter().enumerate()) {
            if let Some(count) = count {
                for slot in [&mut hours[minute / 60], &mut day[minute]] {
                    slot.0 += f64::from(*count);
                    slot.1 += 1.0;
                }
            }
        }
        let rate = |&(sum, number): &(f64, f64)| if number > 0.0 { sum / number } else { f64::NAN };
        let (low, high) = hours
            .iter()
            .map(rate)
            .fold((f64::MAX, 0.0_f64), |(low, high), rate| (low.min(rate), high.max(rate)));
        let of_day = days.len() as f64;
        // The mean day of noise alone has 1 / D of its variance: that much is taken off.
        let explained =
            day.iter().map(|slot| (rate(slot) - mean).powi(2)).sum::<f64>() / MINUTES as f64 / variance;
        let periodicity = ((explained - 1.0 / of_day) / (1.0 - 1.0 / of_day)).max(0.0);
        SeriesStatistics {
            mean,
            cv: variance.sqrt() / mean,
            zeros: known.iter().filter(|count| **count == 0.0).count() as f64 / number,
            dispersion: variance / mean,
            peak_to_trough: (!days.is_empty() && low > 0.0).then_some(high / low),
            periodicity: (days.len() > 1 && periodicity.is_finite()).then_some(periodicity),
            autocorrelation: REPORTED_LAGS.map(correlation),
        }
    }

    /// All of them by name; autocorrelations as `acf 1 min`, and so on.
    pub fn named(&self) -> [(&'static str, Option<f64>); 9] {
        let [one, hour, day] = self.autocorrelation;
        [
            ("mean a minute", Some(self.mean)),
            ("CV", Some(self.cv)),
            ("peak to trough", self.peak_to_trough),
            ("acf 1 min", one),
            ("acf 60 min", hour),
            ("acf 1440 min", day),
            ("periodicity", self.periodicity),
            ("dispersion", Some(self.dispersion)),
            ("zeros", Some(self.zeros)),
        ]
    }
}

/// A real series beside synthetic ones of the same length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The real series.
    pub real: SeriesStatistics,
    /// What each of [`SeriesStatistics::named`] is over the synthetic series; none where no series has it.
    pub synthetic: Vec<(&'static str, Option<Drawn>)>,
    /// Mean over the synthetic series of the largest distance between the distributions of counts of a minute
    /// (Kolmogorov-Smirnov, 0-1).
    pub ks: f64,
    /// How many synthetic series there are.
    pub draws: u32,
}

/// One number over all synthetic series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drawn {
    /// Mean.
    pub mean: f64,
    /// Standard deviation: how far one series is from the next.
    pub deviation: f64,
    /// Share (0-1) of the series that each for itself has a number within [`NEAR`] of the real one. A mean can be close
    /// where hardly a series is.
    pub near: f64,
}

/// How far a synthetic number may be from the real one to be near it, relative to that.
pub const NEAR: f64 = 0.15;

/// Compares a series with `draws` synthetic ones of its fit, over the same minutes.
pub fn compare(fit: &Fit, series: &[Option<u32>], draws: u32, seed: Seed) -> Comparison {
    let real = SeriesStatistics::of(series);
    let days = series.len().div_ceil(MINUTES) as u32;
    let (mut values, mut ks): (Vec<Vec<f64>>, f64) = (vec![Vec::new(); 9], 0.0);
    for draw in 0..draws {
        let made = synthetic(fit, series, days, seed.derive("draw", u64::from(draw)));
        let found = SeriesStatistics::of(&made);
        for (slot, (_, value)) in values.iter_mut().zip(found.named()) {
            slot.extend(value);
        }
        ks += kolmogorov_smirnov(series, &made) / f64::from(draws);
    }
    let summary = |(values, (name, real)): (&Vec<f64>, (&'static str, Option<f64>))| {
        let number = values.len() as f64;
        let mean = values.iter().sum::<f64>() / number;
        let variance =
            values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (number - 1.0).max(1.0);
        let is_near = |value: &&f64| real.is_some_and(|real| (*value - real).abs() <= NEAR * real.abs());
        let near = values.iter().filter(is_near).count() as f64 / f64::from(draws);
        (name, (!values.is_empty()).then(|| Drawn { mean, deviation: variance.sqrt(), near }))
    };
    Comparison { real, synthetic: values.iter().zip(real.named()).map(summary).collect(), ks, draws }
}

/// A synthetic series of the same minutes, without data where the real one has none.
pub fn synthetic(fit: &Fit, series: &[Option<u32>], days: u32, seed: Seed) -> Vec<Option<u32>> {
    let made = fit.play(0..days, seed).into_iter().flat_map(|(_, counts)| counts);
    series.iter().zip(made).map(|(real, count)| real.map(|_| count)).collect()
}

/// The largest distance between two distributions of counts.
fn kolmogorov_smirnov(a: &[Option<u32>], b: &[Option<u32>]) -> f64 {
    let sorted = |series: &[Option<u32>]| {
        let mut values: Vec<u32> = series.iter().flatten().copied().collect();
        values.sort_unstable();
        values
    };
    let (a, b) = (sorted(a), sorted(b));
    let upto = |values: &[u32], limit: u32| {
        values.partition_point(|value| *value <= limit) as f64 / values.len().max(1) as f64
    };
    let gap = |limit: &u32| (upto(&a, *limit) - upto(&b, *limit)).abs();
    a.iter().chain(&b).map(gap).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::huawei_folder;
    use crate::huawei::read_folder;

    /// A process with the autocorrelation that the fit thinks it has: by simulation.
    #[test]
    fn the_noise_has_the_correlation_that_is_fitted() {
        for step in [1.0, 4.0, 30.0] {
            let series: Vec<f64> = {
                let mut process = SlowNormal::new(Seed(1), step);
                (0..400_000).map(|minute| process.at(minute)).collect()
            };
            for lag in [0, 1, 3, 20, 45, 70] {
                let products = series.iter().zip(&series[lag..]).map(|(a, b)| a * b);
                let found = products.sum::<f64>() / (series.len() - lag) as f64;
                assert!((found - correlation(step, lag)).abs() < 0.03, "step {step}, lag {lag}: {found}");
            }
        }
    }

    /// min (x + y - 3)² + (x - y - 5)² with x, y >= 0 is x = 4, y = 0: without the bound y would be -1.
    #[test]
    fn least_squares_stay_nonnegative() {
        let row = |x: f64, y: f64, target| {
            let mut row = vec![0.0; STEPS.len()];
            (row[0], row[1]) = (x, y);
            (row, target, 1.0)
        };
        let x = nonnegative_least_squares(&[row(1.0, 1.0, 3.0), row(1.0, -1.0, 5.0)]);
        assert!((x[0] - 4.0).abs() < 1e-6 && x[1..].iter().all(|x| *x == 0.0), "{x:?}");
    }

    /// A known model is found again: 40 days of it give its own mean, course and variance.
    #[test]
    fn a_fit_finds_its_own_model() {
        let truth = Fit {
            name: "f".into(),
            mean_per_minute: 50.0,
            course: vec![[-0.5, 0.3]],
            noise: vec![[15.0, 0.1], [1.0, 0.02]],
        };
        let series: Vec<Option<u32>> =
            truth.play(0..40, Seed(3)).into_iter().flat_map(|(_, counts)| counts).map(Some).collect();
        let found = Fit::of("f", &series).expect("a fit");
        assert!((found.mean_per_minute / 50.0 - 1.0).abs() < 0.03, "{found:?}");
        assert!(
            (found.course[0][0] + 0.5).abs() < 0.03 && (found.course[0][1] - 0.3).abs() < 0.03,
            "{found:?}"
        );
        assert!(found.course[1..].iter().flatten().all(|part| part.abs() < 0.04), "{found:?}");
        let variance: f64 = found.noise.iter().map(|[_, variance]| variance).sum();
        assert!((variance - 0.12).abs() < 0.015, "{found:?}");
    }

    #[test]
    fn days_do_not_depend_on_their_company() {
        let fit = Fit {
            name: "f".into(),
            mean_per_minute: 9.0,
            course: vec![],
            noise: vec![[60.0, 0.3], [3840.0, 0.1]],
        };
        let (all, one) = (fit.play(0..5, Seed(7)), fit.play([3], Seed(7)));
        assert_eq!(all[3], one[0]);
        assert_ne!(all[2].1, all[3].1);
        assert_ne!(one, fit.play([3], Seed(8)));
    }

    #[test]
    fn what_cannot_be_fitted_is_said() {
        let check = |series: &[Option<u32>], expected: &str| {
            let message = Fit::of("f", series).expect_err(expected).to_string();
            assert_eq!(message, expected);
        };
        check(&[Some(1); 59], "the series \"f\": 59: expected at least 60 minutes with data");
        check(&[Some(0); 1440], "the series \"f\": 0: expected at least one request");
        check(&[None; 1440], "the series \"f\": 0: expected at least 60 minutes with data");
    }

    /// The acceptance test of the generator: on every real series of whole days the fit gives mean, CV, peak to trough
    /// and the three autocorrelations within 15 %, on average over 40 synthetic series.
    #[test]
    fn the_real_series_are_reproduced() {
        let Some(root) = huawei_folder() else { return };
        let mut failures = Vec::new();
        for (folder, column) in [("private_dataset", 0), ("private_dataset", 1), ("public_dataset", 0)] {
            let (counts, _) =
                read_folder(&root.join(folder).join("requests_minute"), 0..5).expect("five days");
            let series: Vec<Option<u32>> = counts.days.values().flat_map(|day| day.series(column)).collect();
            let name = format!("{folder}/{}", counts.functions[column]);
            let fit = Fit::of(&name, &series).expect("a fit");
            let found = compare(&fit, &series, 40, Seed(11));
            println!("{name}: noise {:?}; KS {:.3}", fit.noise, found.ks);
            for ((what, real), (_, made)) in found.real.named().into_iter().zip(&found.synthetic) {
                let (real, Drawn { mean: made, deviation, near }) = (real.expect(what), made.expect(what));
                println!(
                    "  {what:<16} real {real:>10.4}  synthetic {made:>10.4} +- {deviation:.4}  {:+.1} %; {:.0} % near",
                    100.0 * (made / real - 1.0),
                    100.0 * near
                );
                let wanted =
                    ["mean a minute", "CV", "peak to trough", "acf 1 min", "acf 60 min", "acf 1440 min"];
                if wanted.contains(&what) && (made / real - 1.0).abs() > 0.15 {
                    failures.push(format!("{name}: {what}: {real} and {made}"));
                }
            }
        }
        assert!(failures.is_empty(), "{failures:#?}");
    }
}
