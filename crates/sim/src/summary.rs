//! What a run is counted by, streaming: memory does not grow with the number of requests.

use scale_model::{Latency, Milliseconds, Outcome};

/// Counts and sums over a run. "Measured" are the requests that arrive after the warm-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Requests that arrived, warm-up included.
    pub offered: u64,
    /// Requests placed, warm-up included. Their latency is known from then on.
    pub placed: u64,
    /// Requests rejected, warm-up included, by reason: no node is large enough, patience, starved.
    pub rejected: [u64; 3],
    /// Measured requests that were placed.
    pub measured: u64,
    /// Measured requests that were rejected. Each counts as an SLO violation too.
    pub measured_rejected: u64,
    /// Measured requests that were placed and end late.
    pub late: u64,
    /// Measured requests that were placed in a new container.
    pub cold_starts: u64,
    /// Sums of the latency parts of the measured requests.
    pub latency: Latency,
    /// Their totals by size.
    pub histogram: Histogram,
    /// Largest total of a measured request, ms.
    pub latency_max_ms: f64,
    /// Batches decided after the warm-up.
    pub batches: u64,
    /// Requests in those batches; one that is deferred counts in each.
    pub decisions: u64,
    /// Of those, decisions to defer.
    pub deferrals: u64,
    /// J summed over those batches, see [`scale_model::Objective`].
    pub objective: f64,
    /// Idle containers that went, after the warm-up, because their memory was needed.
    pub evictions: u64,
    /// Idle containers that went, after the warm-up, because nobody used them.
    pub expirations: u64,
    /// Busy core-milliseconds between the end of the warm-up and the last arrival.
    pub busy_core_ms: f64,
    /// Busy megabyte-milliseconds in the same time.
    pub busy_mb_ms: f64,
    /// Length of that time.
    pub span: Milliseconds,
}

impl Summary {
    /// A measured request is placed.
    pub(crate) fn place(&mut self, outcome: &Outcome) {
        let Latency { cold, comp, comm, wait } = outcome.latency;
        let total = outcome.latency.total();
        self.measured += 1;
        self.late += u64::from(outcome.late());
        self.cold_starts += u64::from(outcome.cold());
        self.latency.cold += cold;
        self.latency.comp += comp;
        self.latency.comm += comm;
        self.latency.wait += wait;
        self.histogram.add(total.0);
        self.latency_max_ms = self.latency_max_ms.max(total.0);
    }

    /// SLO violations, rejected requests among them, over measured requests; `None` if there are none.
    pub fn violation_rate(&self) -> Option<f64> {
        let all = self.measured + self.measured_rejected;
        (all > 0).then(|| (self.late + self.measured_rejected) as f64 / all as f64)
    }

    /// Mean latency of the measured requests that were placed; `None` if there are none.
    pub fn latency_mean(&self) -> Option<Milliseconds> {
        (self.measured > 0).then(|| Milliseconds(self.latency.total().0 / self.measured as f64))
    }
}

/// A histogram of positive numbers whose buckets are 1/512 of a power of two wide: quantiles are right to 0.2 %.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

const MANTISSA_BITS: u32 = 9;
/// 2^-10 ms, about a microsecond: everything below is in the first bucket.
const SMALLEST: f64 = 1.0 / 1024.0;

impl Histogram {
    /// Counts a value.
    pub fn add(&mut self, value: f64) {
        let bucket = bucket(value);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
    }

    /// How many values were counted.
    pub fn len(&self) -> u64 {
        self.total
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The middle of the bucket that holds the value of rank ceil(q n), or `None` for an empty histogram.
    ///
    /// ```
    /// use scale_sim::Histogram;
    /// let mut histogram = Histogram::default();
    /// (1..=100).for_each(|value| histogram.add(f64::from(value)));
    /// let median = histogram.quantile(0.5).unwrap();
    /// assert!((median - 50.0).abs() < 50.0 * 0.002);
    /// assert_eq!(Histogram::default().quantile(0.5), None);
    /// ```
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let rank = ((q * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
        let mut below = 0;
        let index = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some((edge(index) + edge(index + 1)) / 2.0)
    }
}

fn bucket(value: f64) -> usize {
    // The bits of a positive float, read as an integer, grow with it and are linear within a power of two.
    let bits = value.max(SMALLEST).to_bits() >> (52 - MANTISSA_BITS);
    (bits - (SMALLEST.to_bits() >> (52 - MANTISSA_BITS))) as usize
}

fn edge(bucket: usize) -> f64 {
    let bits = bucket as u64 + (SMALLEST.to_bits() >> (52 - MANTISSA_BITS));
    f64::from_bits(bits << (52 - MANTISSA_BITS))
}
