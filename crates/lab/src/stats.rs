//! Statistics of small samples: quantiles, means, bootstrap intervals, pooled distributions.
//!
//! One percentile method is used in every table and figure: Hyndman-Fan type 7 ([`quantile_r7`]), the default of R and
//! NumPy. What a sample cannot answer is `None`, never NaN and never 0.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// The quantile `q` in `[0, 1]` of an ascending sample by Hyndman-Fan type 7: linear between the order statistics,
/// at position `(n - 1) q`. `None` for an empty sample or a `q` outside `[0, 1]`.
///
/// It is monotone in `q`, its `q = 0` is the minimum and its `q = 1` the maximum.
///
/// ```
/// # use scale_lab::stats::quantile_r7;
/// // n = 4: P50 stands at position 3 * 0.5 = 1.5, halfway between the second and the third value.
/// assert_eq!(quantile_r7(&[10.0, 20.0, 40.0, 80.0], 0.5), Some(30.0));
/// // P95 stands at 3 * 0.95 = 2.85: 40 + 0.85 * (80 - 40) = 74.
/// assert!((quantile_r7(&[10.0, 20.0, 40.0, 80.0], 0.95).unwrap() - 74.0).abs() < 1e-9);
/// assert_eq!(quantile_r7(&[500.0], 0.99), Some(500.0));
/// assert_eq!(quantile_r7(&[], 0.5), None);
/// ```
pub fn quantile_r7(sorted: &[f64], q: f64) -> Option<f64> {
    debug_assert!(sorted.is_sorted_by(|a, b| a.total_cmp(b).is_le()), "a quantile needs an ascending sample");
    let last = sorted.len().checked_sub(1)?;
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    let position = last as f64 * q;
    let below = position.floor() as usize;
    let (low, high) = (sorted[below], sorted[last.min(below + 1)]);
    let share = position - below as f64;
    // The guard keeps `0 * infinity` out; the minimum keeps rounding from passing the next order statistic.
    let value = if share == 0.0 || low == high { low } else { (low + share * (high - low)).min(high) };
    (!value.is_nan()).then_some(value)
}

/// The arithmetic mean; `None` for an empty sample and for one whose mean is not finite.
///
/// ```
/// # use scale_lab::stats::mean;
/// assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
/// assert_eq!(mean(&[]), None);
/// ```
pub fn mean(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    mean.is_finite().then_some(mean)
}

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A mean over seeds, with its interval where the number of seeds allows one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// How many values (seeds, or pairs of seeds) it is the mean of.
    pub n: usize,
    /// The bootstrap interval; `None` with a single value, which says nothing about its own spread.
    pub interval: Option<Interval>,
}

/// Resamples of each bootstrap in this project: enough that the ends of a 95 % interval stand still to about 1 %.
pub const RESAMPLES: usize = 10_000;

/// Confidence level of every interval in this project.
pub const LEVEL: f64 = 0.95;

/// The mean with its percentile-bootstrap interval at `level`, from `resamples` resamples drawn by ChaCha8 from `seed`.
/// `None` for an empty sample, or one with a value that is not finite.
///
/// Below about ten values this interval is too narrow: with three it is their range, which covers the mean of a
/// symmetric distribution in 75 % of the cases, not 95 %. Whoever prints it prints [`Estimate::n`] as well.
///
/// ```
/// # use scale_lab::stats::{bootstrap_mean_ci, LEVEL, RESAMPLES};
/// let estimate = bootstrap_mean_ci(&[1.0, 2.0, 3.0], LEVEL, RESAMPLES, 7).unwrap();
/// // All three draws are the smallest value in one of 27 resamples, more often than 2.5 %: the interval is the range.
/// assert_eq!((estimate.mean, estimate.n), (2.0, 3));
/// assert_eq!(estimate.interval.map(|i| (i.low, i.high)), Some((1.0, 3.0)));
/// assert_eq!(bootstrap_mean_ci(&[4.0], LEVEL, RESAMPLES, 7).unwrap().interval, None);
/// assert_eq!(bootstrap_mean_ci(&[], LEVEL, RESAMPLES, 7), None);
/// ```
pub fn bootstrap_mean_ci(values: &[f64], level: f64, resamples: usize, seed: u64) -> Option<Estimate> {
    let (n, mean) = (values.len(), mean(values)?);
    let interval = (n > 1).then(|| bootstrap_interval(values, level, resamples, seed)).flatten();
    Some(Estimate { mean, n, interval })
}

fn bootstrap_interval(values: &[f64], level: f64, resamples: usize, seed: u64) -> Option<Interval> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let n = values.len();
    let means = (0..resamples)
        .map(|_| (0..n).map(|_| values[rng.random_range(0..n)]).sum::<f64>() / n as f64)
        .collect();
    percentile_interval(means, level)
}

/// The middle `level` of what the resamples gave.
fn percentile_interval(mut resampled: Vec<f64>, level: f64) -> Option<Interval> {
    resampled.sort_by(f64::total_cmp);
    let tail = (1.0 - level) / 2.0;
    Some(Interval { low: quantile_r7(&resampled, tail)?, high: quantile_r7(&resampled, 1.0 - tail)? })
}

/// The mean of `ours - theirs` over the seeds that both have, with its bootstrap interval. Each slice holds
/// `(seed, value)` in any order. `None` if no seed is in both.
///
/// Two algorithms on one seed see the same requests, so the difference is far less noisy than either value.
///
/// ```
/// # use scale_lab::stats::{paired_difference, LEVEL, RESAMPLES};
/// let ours = [(1, 9.0), (2, 109.0), (3, 5.0)];
/// let theirs = [(2, 110.0), (1, 10.0)];
/// let difference = paired_difference(&ours, &theirs, LEVEL, RESAMPLES, 0).unwrap();
/// assert_eq!((difference.mean, difference.n), (-1.0, 2));
/// ```
pub fn paired_difference(
    ours: &[(u64, f64)],
    theirs: &[(u64, f64)],
    level: f64,
    resamples: usize,
    seed: u64,
) -> Option<Estimate> {
    let differences: Vec<f64> =
        ours.iter().filter_map(|(a, x)| theirs.iter().find(|(b, _)| a == b).map(|(_, y)| x - y)).collect();
    bootstrap_mean_ci(&differences, level, resamples, seed)
}

/// The ratio of the mean of `ours` to that of `theirs` over the seeds that both have, with its bootstrap interval: seeds
/// are drawn, and both means are taken over the same draw. `None` if no seed is in both, or if theirs sum to zero.
///
/// ```
/// # use scale_lab::stats::{paired_ratio, LEVEL, RESAMPLES};
/// // Twice as much on every seed is twice as much in every resample.
/// let ratio = paired_ratio(&[(1, 20.0), (2, 60.0)], &[(1, 10.0), (2, 30.0)], LEVEL, RESAMPLES, 0).unwrap();
/// assert_eq!((ratio.mean, ratio.n), (2.0, 2));
/// assert_eq!(ratio.interval.map(|i| (i.low, i.high)), Some((2.0, 2.0)));
/// // (20 + 30) / (10 + 30) = 1.25; a resample of one seed alone gives 2 or 1.
/// let ratio = paired_ratio(&[(1, 20.0), (2, 30.0)], &[(1, 10.0), (2, 30.0)], LEVEL, RESAMPLES, 0).unwrap();
/// assert_eq!(ratio.mean, 1.25);
/// assert_eq!(ratio.interval.map(|i| (i.low, i.high)), Some((1.0, 2.0)));
/// ```
pub fn paired_ratio(
    ours: &[(u64, f64)],
    theirs: &[(u64, f64)],
    level: f64,
    resamples: usize,
    seed: u64,
) -> Option<Estimate> {
    let pairs: Vec<(f64, f64)> =
        ours.iter().filter_map(|(a, x)| theirs.iter().find(|(b, _)| a == b).map(|(_, y)| (*x, *y))).collect();
    let ratio = |pairs: &mut dyn Iterator<Item = &(f64, f64)>| {
        let (ours, theirs) = pairs.fold((0.0, 0.0), |(x, y), pair| (x + pair.0, y + pair.1));
        Some(ours / theirs).filter(|ratio: &f64| ratio.is_finite())
    };
    let (n, mean) = (pairs.len(), ratio(&mut pairs.iter())?);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut draw =
        || ratio(&mut (0..n).map(|_| &pairs[rng.random_range(0..n)]).collect::<Vec<_>>().into_iter());
    let interval = (n > 1).then(|| (0..resamples).map(|_| draw()).collect()).flatten();
    let interval = interval.and_then(|ratios| percentile_interval(ratios, level));
    Some(Estimate { mean, n, interval })
}

/// How many latencies lie at or below each whole millisecond up to 2000 ms, and above.
///
/// Counts are integers, so distributions of several seeds add up exactly, in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cdf {
    /// `counts[i]` latencies in `(i, i + 1]` ms (the first also holds those at or below 0); the last is the overflow.
    counts: Vec<u64>,
}

impl Cdf {
    /// The last finite point of the grid, in ms.
    pub const LIMIT_MS: usize = 2000;

    /// A distribution of nothing.
    pub fn new() -> Cdf {
        Cdf { counts: vec![0; Self::LIMIT_MS + 1] }
    }

    /// Counts one latency. What never ended (infinite), and whatever is not a number, counts as above the grid.
    pub fn add(&mut self, latency_ms: f64) {
        let bin = if latency_ms <= Self::LIMIT_MS as f64 {
            latency_ms.ceil().max(1.0) as usize - 1
        } else {
            Self::LIMIT_MS
        };
        self.counts[bin] += 1;
    }

    /// Adds the counts of another distribution.
    pub fn pool(&mut self, other: &Cdf) {
        for (ours, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *ours += theirs;
        }
    }

    /// How many latencies it counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The grid points where the distribution rises, as `(latency_ms, how many lie at or below)`, ascending;
    /// the point `None` stands for plus infinity.
    pub fn steps(&self) -> impl Iterator<Item = (Option<u32>, u64)> {
        let mut sum = 0;
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(move |(bin, count)| {
            sum += count;
            ((bin < Self::LIMIT_MS).then_some(bin as u32 + 1), sum)
        })
    }

    /// The inverse of [`Cdf::steps`]. `None` unless points and counts both rise strictly, inside the grid.
    pub fn from_steps(steps: impl IntoIterator<Item = (Option<u32>, u64)>) -> Option<Cdf> {
        let mut cdf = Cdf::new();
        let (mut next_bin, mut sum) = (0, 0);
        for (point, count) in steps {
            let bin = point.map_or(Some(Self::LIMIT_MS), |ms| {
                (ms as usize).checked_sub(1).filter(|b| *b < Self::LIMIT_MS)
            })?;
            if bin < next_bin || count <= sum {
                return None;
            }
            cdf.counts[bin] = count - sum;
            (next_bin, sum) = (bin + 1, count);
        }
        Some(cdf)
    }

    /// The largest difference of the shares at any point (the statistic of Kolmogorov and Smirnov); `None` if either has counted
    /// nothing.
    ///
    /// ```
    /// # use scale_lab::stats::Cdf;
    /// let of = |latencies: &[f64]| {
    ///     let mut cdf = Cdf::new();
    ///     latencies.iter().for_each(|&latency| cdf.add(latency));
    ///     cdf
    /// };
    /// // At 100 ms a half against three quarters, at 200 ms a half against all.
    /// assert_eq!(of(&[90.0, 90.0, 300.0, 300.0]).distance(&of(&[90.0, 90.0, 90.0, 200.0])), Some(0.5));
    /// assert_eq!(of(&[90.0]).distance(&Cdf::new()), None);
    /// ```
    pub fn distance(&self, other: &Cdf) -> Option<f64> {
        let (ours, theirs) = (self.total() as f64, other.total() as f64);
        let (mut one, mut two, mut most) = (0, 0, 0.0_f64);
        for (a, b) in self.counts.iter().zip(&other.counts) {
            (one, two) = (one + a, two + b);
            most = most.max((one as f64 / ours - two as f64 / theirs).abs());
        }
        (ours > 0.0 && theirs > 0.0).then_some(most)
    }

    /// The share of latencies at or below `latency_ms` (rounded down to the grid); `None` if nothing was counted.
    ///
    /// ```
    /// # use scale_lab::stats::Cdf;
    /// let mut cdf = Cdf::new();
    /// [99.5, 100.0, 100.1, f64::INFINITY].iter().for_each(|&latency| cdf.add(latency));
    /// assert_eq!(cdf.share_within(100), Some(0.5));
    /// assert_eq!(cdf.share_within(2000), Some(0.75));
    /// ```
    pub fn share_within(&self, latency_ms: u32) -> Option<f64> {
        let total = self.total();
        let within: u64 = self.counts.iter().take((latency_ms as usize).min(Self::LIMIT_MS)).sum();
        (total > 0).then(|| within as f64 / total as f64)
    }
}

impl Default for Cdf {
    fn default() -> Cdf {
        Cdf::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_of_small_samples() {
        // Rows 20-24 of the fault table: floor ranks, zeros for small n, fractions cut to integers, median != P50.
        let check = |n: usize, percent: f64, r7: f64| {
            let sample: Vec<f64> = (1..=n).map(|i| i as f64).collect();
            let got = quantile_r7(&sample, percent / 100.0).expect("not empty");
            assert!((got - r7).abs() < 1e-9, "n = {n}, P{percent}: {got}, not {r7}");
        };
        check(1, 0.0, 1.0);
        check(1, 99.0, 1.0);
        check(1, 100.0, 1.0);
        check(2, 50.0, 1.5);
        check(10, 95.0, 9.55);
        check(10, 99.0, 9.91);
        check(100, 99.0, 99.01);
        check(100, 100.0, 100.0);
        check(101, 50.0, 51.0);
        check(101, 99.0, 100.0);
        check(10_000, 99.0, 9900.01);
        check(10_000, 99.9, 9990.001);
    }

    #[test]
    fn absence_is_none() {
        for (sample, q) in [(&[][..], 0.5), (&[1.0][..], -0.01), (&[1.0][..], 1.001), (&[1.0][..], f64::NAN)]
        {
            assert_eq!(quantile_r7(sample, q), None, "{sample:?} at {q}");
        }
        assert_eq!(mean(&[f64::NAN]), None);
        assert_eq!(bootstrap_mean_ci(&[1.0, f64::INFINITY], LEVEL, 10, 0), None);
        assert_eq!(bootstrap_mean_ci(&[1.0, 2.0], LEVEL, 0, 0).and_then(|e| e.interval), None);
        assert_eq!(paired_difference(&[(1, 2.0)], &[(2, 2.0)], LEVEL, 10, 0), None);
        assert_eq!(paired_ratio(&[(1, 2.0)], &[(2, 2.0)], LEVEL, 10, 0), None);
        assert_eq!(paired_ratio(&[(1, 2.0)], &[(1, 0.0)], LEVEL, 10, 0), None);
        // A resample of the first seed alone has no ratio, so nothing is known of the spread.
        let some = paired_ratio(&[(1, 2.0), (2, 2.0)], &[(1, 0.0), (2, 1.0)], LEVEL, 1000, 0);
        assert_eq!(some, Some(Estimate { mean: 4.0, n: 2, interval: None }));
        assert_eq!(Cdf::new().share_within(100), None);
    }

    #[test]
    fn infinite_values_do_not_make_nan() {
        assert_eq!(quantile_r7(&[1.0, f64::INFINITY], 0.0), Some(1.0));
        assert_eq!(quantile_r7(&[1.0, f64::INFINITY], 0.5), Some(f64::INFINITY));
    }

    #[test]
    fn bootstrap_covers_the_mean_about_as_often_as_it_says() {
        // 20 uniform values: the normal theory gives 95 %, the percentile bootstrap is known to be a little narrow.
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let covered = (0..300)
            .filter(|&i| {
                let sample: Vec<f64> = (0..20).map(|_| rng.random::<f64>()).collect();
                let interval =
                    bootstrap_mean_ci(&sample, LEVEL, 500, i).and_then(|e| e.interval).expect("n = 20");
                interval.low <= 0.5 && 0.5 <= interval.high
            })
            .count();
        assert!((265..=295).contains(&covered), "{covered} of 300");
    }

    #[test]
    fn cdf_bins() {
        let check = |latency: f64, first: Option<u32>| {
            let mut cdf = Cdf::new();
            cdf.add(latency);
            assert_eq!(cdf.steps().collect::<Vec<_>>(), [(first, 1)], "{latency} ms");
        };
        check(-1.0, Some(1));
        check(0.0, Some(1));
        check(1.0, Some(1));
        check(1.0 + 1e-9, Some(2));
        check(2000.0, Some(2000));
        check(2000.1, None);
        check(f64::INFINITY, None);
        check(f64::NAN, None);
    }

    #[test]
    fn cdf_refuses_what_is_not_cumulative() {
        for bad in [
            vec![(Some(0), 1)],
            vec![(Some(2001), 1)],
            vec![(Some(5), 0)],
            vec![(Some(5), 2), (Some(5), 3)],
            vec![(Some(5), 2), (Some(6), 2)],
            vec![(None, 2), (Some(6), 3)],
        ] {
            assert_eq!(Cdf::from_steps(bad.clone()), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn quantiles_are_monotone_and_within_the_sample(
            mut sample in prop::collection::vec(-1e9..1e9f64, 1..60),
            mut points in prop::collection::vec(0.0..=1.0f64, 1..20),
        ) {
            sample.sort_by(f64::total_cmp);
            points.sort_by(f64::total_cmp);
            points.push(1.0);
            let values: Vec<f64> = points.iter().map(|&q| quantile_r7(&sample, q).expect("not empty")).collect();
            prop_assert!(values.is_sorted());
            prop_assert!(sample[0] <= values[0]);
            prop_assert_eq!(values.last(), sample.last());
        }

        #[test]
        fn bootstrap_is_a_function_of_its_arguments(sample in prop::collection::vec(0.0..1e3f64, 2..12), seed: u64) {
            let estimate = bootstrap_mean_ci(&sample, LEVEL, 200, seed).expect("not empty");
            prop_assert_eq!(bootstrap_mean_ci(&sample, LEVEL, 200, seed), Some(estimate));
            let interval = estimate.interval.expect("more than one value");
            let (least, most) = sample.iter().fold((f64::MAX, f64::MIN), |(l, m), &x| (l.min(x), m.max(x)));
            prop_assert!(interval.low <= interval.high);
            // The mean of equal values may round by a bit or two.
            prop_assert!(least - 1e-9 <= interval.low && interval.high <= most + 1e-9);
        }

        #[test]
        fn pooled_distribution_is_that_of_all(a in prop::collection::vec(0.0..3e3f64, 0..50), b in prop::collection::vec(0.0..3e3f64, 0..50)) {
            let of = |values: &[f64]| values.iter().fold(Cdf::new(), |mut cdf, &v| { cdf.add(v); cdf });
            let mut pooled = of(&a);
            pooled.pool(&of(&b));
            prop_assert_eq!(&pooled, &of(&[&a[..], &b[..]].concat()));
            prop_assert_eq!(pooled.total(), (a.len() + b.len()) as u64);
            let steps: Vec<_> = pooled.steps().collect();
            prop_assert_eq!(Cdf::from_steps(steps), Some(pooled));
        }
    }
}
