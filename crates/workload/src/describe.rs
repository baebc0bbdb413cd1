//! What a trace is like, from its rows: span, rates, percentiles, gaps between requests. Memory grows with the functions,
//! not with the trace's length.

use crate::trace::{Quantity, Row, Trace};
use std::collections::BTreeMap;

/// Takes the rows of a trace, and describes it at the end.
#[derive(Default)]
pub struct Describer {
    first_s: Option<f64>,
    last_s: f64,
    hours: [u64; 24],
    course: Course,
    durations: Histogram,
    inputs: Histogram,
    gaps: Vec<Gaps>,
}

/// What a trace is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Start of the first row with requests, in seconds since the start of day 0: the offset of the trace.
    pub offset_s: f64,
    /// End of the last row with requests, in seconds.
    pub end_s: f64,
    /// All functions.
    pub functions: usize,
    /// Functions with at least one request.
    pub called: usize,
    /// All requests.
    pub requests: u64,
    /// Cells without data.
    pub no_data: u64,
    /// Requests by hour of the day, summed over the days.
    pub hours: [u64; 24],
    /// Requests over time.
    pub course: Course,
    /// Requests of each function that was called, most first.
    pub ranks: Vec<u64>,
    /// Durations in ms, by request; from rows, or (see `durations_by_function`) from the functions' means.
    pub durations: Histogram,
    /// Whether each function's mean stands for all its requests, because the rows do not say more.
    pub durations_by_function: bool,
    /// Memory of containers in MB, by function.
    pub memory: Histogram,
    /// Inputs in MB, by request.
    pub inputs: Histogram,
    /// Coefficient of variation of the times between the requests of a function, by function with at least three requests,
    /// sorted.
    pub gap_cvs: Vec<f64>,
    /// Functions by origin (measured, derived, profile) of each quantity.
    pub origins: Vec<(Quantity, [usize; 3])>,
}

impl Describer {
    /// Takes a row.
    pub fn row(&mut self, row: Row) {
        let Row { function, start_s, span_s, requests, duration_ms, input_mb } = row;
        let Some(requests) = requests.filter(|requests| *requests > 0) else { return };
        self.first_s = Some(self.first_s.map_or(start_s, |first| first.min(start_s)));
        self.last_s = self.last_s.max(start_s + span_s);
        self.hours[(start_s / 3600.0) as usize % 24] += requests;
        self.course.add(start_s, requests);
        if let Some(ms) = duration_ms {
            self.durations.add(ms, requests);
        }
        if let Some(mb) = input_mb {
            self.inputs.add(mb, requests);
        }
        if self.gaps.len() <= function {
            self.gaps.resize(function + 1, Gaps::default());
        }
        self.gaps[function].add(start_s, span_s, requests);
    }

    /// Describes the trace whose rows were taken.
    pub fn finish(self, trace: &Trace) -> Description {
        let mut ranks: Vec<u64> = trace
            .functions
            .iter()
            .map(|function| function.requests)
            .filter(|requests| *requests > 0)
            .collect();
        ranks.sort_unstable_by(|a, b| b.cmp(a));
        let mut durations = self.durations;
        let durations_by_function = durations.total == 0;
        let (mut memory, mut inputs) = (Histogram::default(), self.inputs);
        let inputs_by_row = inputs.total > 0;
        for function in &trace.functions {
            if let Some(ms) = function.get(Quantity::Duration).filter(|_| durations_by_function) {
                durations.add(ms, function.requests);
            }
            if let Some(mb) = function.get(Quantity::Input).filter(|_| !inputs_by_row) {
                inputs.add(mb, function.requests);
            }
            if let Some(mb) = function.get(Quantity::Memory) {
                memory.add(mb, 1);
            }
        }
        let mut gap_cvs: Vec<f64> = self.gaps.iter().filter_map(Gaps::cv).collect();
        gap_cvs.sort_by(f64::total_cmp);
        let origins = Quantity::ALL.map(|quantity| {
            let mut counts = [0; 3];
            trace.functions.iter().for_each(|function| counts[function.origin(quantity) as usize] += 1);
            (quantity, counts)
        });
        Description {
            offset_s: self.first_s.unwrap_or(0.0),
            end_s: self.last_s,
            functions: trace.functions.len(),
            called: ranks.len(),
            requests: trace.requests,
            no_data: trace.no_data,
            hours: self.hours,
            course: self.course,
            ranks,
            durations_by_function: durations_by_function && durations.total > 0,
            durations,
            memory,
            inputs,
            gap_cvs,
            origins: origins.to_vec(),
        }
    }
}

/// Requests over time in at most [`Course::BINS`] bins. They start as minutes and double when they would become too many.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Length of a bin in seconds: 60 times a power of two.
    pub bin_s: f64,
    /// Requests of each bin, from second 0. A row counts where it starts.
    pub bins: Vec<u64>,
}

impl Default for Course {
    fn default() -> Course {
        Course { bin_s: 60.0, bins: Vec::new() }
    }
}

impl Course {
    /// The most bins that there are.
    pub const BINS: usize = 8192;

    fn add(&mut self, start_s: f64, requests: u64) {
        while start_s / self.bin_s >= Course::BINS as f64 {
            self.bins = self.bins.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.bin_s *= 2.0;
        }
        let bin = (start_s / self.bin_s) as usize;
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += requests;
    }
}

/// Numbers of at least 0 in bins of equal ratio: what it says is within 1 % of the truth. 0 has a bin of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    bins: BTreeMap<i32, u64>,
    /// How many numbers there are.
    pub total: u64,
}

impl Histogram {
    /// Bins to a factor of e: neighbours differ by 2 %, so a bin's middle is within 1 %.
    const PER_E: f64 = 50.0;

    /// Takes a number `times` times; one that is negative or no number counts as 0.
    pub fn add(&mut self, value: f64, times: u64) {
        if times > 0 {
            let bin = if value > 0.0 { (Histogram::PER_E * value.ln()).round() as i32 } else { i32::MIN };
            *self.bins.entry(bin).or_default() += times;
            self.total += times;
        }
    }

    /// The smallest number that at least this share (0-1) of the numbers does not exceed; `None` if there is none.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        self.steps().find(|(_, upto)| *upto >= share).or_else(|| self.steps().last()).map(|(value, _)| value)
    }

    /// Each value that occurs, ascending, with the share (0-1) of the numbers up to it.
    pub fn steps(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let mut sum = 0;
        self.bins.iter().map(move |(&bin, &count)| {
            sum += count;
            let value = if bin == i32::MIN { 0.0 } else { (f64::from(bin) / Histogram::PER_E).exp() };
            (value, sum as f64 / self.total as f64)
        })
    }
}

/// The times between the requests of one function: their number, sum and sum of squares, in seconds.
///
/// Where a row is n requests in a span, they are thought to be independent and even in it, as
/// [`generate`](crate::generate) plays them, and the expected values are added: n - 1 gaps within the span with mean square
/// 2 / ((n + 1)(n + 2)), and a rest at each end with mean 1 / (n + 1) and that same mean square, all in units of the span.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    number: f64,
    sum: f64,
    squares: f64,
    /// The end of the row before, and mean and mean square of the rest behind its last request.
    last: Option<(f64, f64, f64)>,
}

impl Gaps {
    fn add(&mut self, start_s: f64, span_s: f64, requests: u64) {
        let n = requests as f64;
        let (rest, square) = (span_s / (n + 1.0), 2.0 * span_s * span_s / ((n + 1.0) * (n + 2.0)));
        if let Some((end, before, before_square)) = self.last {
            // Rows out of order have no gap between them that means anything.
            let between = (start_s - end).max(0.0);
            self.number += 1.0;
            self.sum += before + between + rest;
            self.squares += before_square
                + square
                + between * between
                + 2.0 * (between * (before + rest) + before * rest);
        }
        self.number += n - 1.0;
        self.sum += (n - 1.0) * rest;
        self.squares += (n - 1.0) * square;
        self.last = Some((start_s + span_s, rest, square));
    }

    fn cv(&self) -> Option<f64> {
        let mean = self.sum / self.number;
        let variance = (self.squares / self.number - mean * mean).max(0.0);
        (self.number >= 2.0 && mean > 0.0).then(|| variance.sqrt() / mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four requests at 0, 10, 20 and 60 s: gaps 10, 10, 40, mean 20, standard deviation sqrt(200).
    #[test]
    fn gaps_of_instants_are_exact() {
        let mut gaps = Gaps::default();
        [0.0, 10.0, 20.0, 60.0].into_iter().for_each(|at| gaps.add(at, 0.0, 1));
        assert!((gaps.cv().expect("three gaps") - 200_f64.sqrt() / 20.0).abs() < 1e-12);
    }

    /// Many minutes with a Poisson number of requests are a Poisson process: its gaps have a CV of 1.
    #[test]
    fn gaps_of_poisson_counts_have_cv_one() {
        for mean in [0.2, 3.0, 400.0] {
            let mut rng = crate::random::stream(scale_model::Seed(1));
            let mut gaps = Gaps::default();
            for minute in 0..200_000 {
                let count = crate::random::poisson(mean, &mut rng);
                if count > 0 {
                    gaps.add(60.0 * f64::from(minute), 60.0, count);
                }
            }
            let cv = gaps.cv().expect("gaps");
            assert!((cv - 1.0).abs() < 0.02, "mean {mean}: {cv}");
        }
    }

    #[test]
    fn quantiles_are_within_one_per_cent() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|value| histogram.add(f64::from(value), 1));
        histogram.add(0.0, 1000);
        for (share, exact) in [(0.25, 0.0), (0.5, 0.0), (0.75, 500.0), (0.995, 990.0), (1.0, 1000.0)] {
            let found = histogram.quantile(share).expect("numbers");
            assert!((found - exact).abs() <= 0.011 * exact, "{share}: {found}");
        }
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn bins_double_when_there_are_too_many() {
        let mut course = Course::default();
        for minute in 0..100_000 {
            course.add(60.0 * f64::from(minute), 1);
        }
        assert_eq!((course.bin_s, course.bins.len()), (960.0, 6250));
        assert!(course.bins.iter().all(|&count| count == 16));
    }
}
