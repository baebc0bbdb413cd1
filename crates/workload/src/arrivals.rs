//! From requests per minute to requests: when each arrives, where, and what it needs.

use crate::catalogue::{Catalogue, Profile};
use crate::counts::{DayCounts, MINUTES, MinuteCounts};
use crate::error::{WorkloadError, require};
use crate::random::{Around, poisson, stream};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;
use scale_model::{
    FunctionId, Invalid, Megabytes, Milliseconds, NodeId, Platform, Request, RequestId, Seed, Time, Workload,
};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Plays the counts of a day, after those of the warm-up.
///
/// Within its minute each request arrives at an even instant, independent of the others: given its count, that is a
/// Poisson process. Without a load, each minute has exactly the requests that the trace counts; with one, their number
/// is Poisson with mean count times factor. Instants are whole microseconds; ties are in order of function.
///
/// Instants, sources, SLOs, CPU times and inputs are separate streams, each by minute of the trace: another range of
/// SLOs leaves all else as it was. A function that fits no node is not left out: the simulator rejects its requests.
///
/// # Errors
/// The first value that makes no sense: a day that `counts` has not, a function that the catalogue has not, a load
/// without a window, more requests than can be numbered.
pub fn generate(
    spec: &ArrivalSpec,
    counts: &MinuteCounts,
    catalogue: &Catalogue,
    platform: &Platform,
    seed: Seed,
) -> Result<Generated, WorkloadError> {
    spec.validate()?;
    catalogue.validate()?;
    platform.validate()?;
    let known = platform.functions.len();
    require(known == catalogue.profiles.len(), "platform.functions", known, "those of the catalogue")?;
    let functions = counts.function_ids(known)?;
    let span = Span::new(spec, counts)?;
    let factors = span.factors(spec, platform, &functions)?;
    let mut requests = span.room(factors.as_deref())?;
    let profiles: Vec<Draws> = catalogue.profiles.iter().map(Draws::new).collect();
    let sources = Sources::new(platform.topology.nodes.len(), spec.zipf_beta, seed)?;
    let [slo_low, slo_high] = spec.slo_ms;
    let minute_us = spec.minute_us();
    let mut no_data = 0;
    // An arrival and its function in one number: microsecond of the minute above, function below.
    let mut arrivals: Vec<u64> = Vec::new();
    for (played, (minute, row)) in span.minutes().enumerate() {
        arrivals.clear();
        for (&function, count) in functions.iter().zip(row) {
            let Some(count) = count else {
                no_data += 1;
                continue;
            };
            if count == 0 {
                continue;
            }
            let mut rng = stream(seed.derive("arrivals", minute).derive("function", u64::from(function.0)));
            let number = match &factors {
                Some(factors) => poisson(f64::from(count) * factors[played], &mut rng),
                None => u64::from(count),
            };
            // From 1: a minute is open at its start, as a window is, so both have their borders in common.
            let instants = (0..number).map(|_| u64::from(rng.random_range(1..=minute_us)));
            arrivals.extend(instants.map(|instant| (instant << 32) | u64::from(function.0)));
        }
        arrivals.sort_unstable();
        let draw = |label: &str| stream(seed.derive(label, minute));
        let (mut source, mut slo) = (draw("sources"), draw("slos"));
        let (mut comp, mut input) = (draw("cpu times"), draw("inputs"));
        let start_us = played as u64 * u64::from(minute_us);
        for &arrival in &arrivals {
            let function = FunctionId(arrival as u32);
            let Draws { mean_comp_ms, comp_around, mean_input_mb, input_around } = profiles[function.index()];
            let comp = Milliseconds(mean_comp_ms * comp_around.sample(&mut comp));
            requests.push(Request {
                id: RequestId(requests.len() as u32),
                function,
                source: sources.sample(&mut source),
                arrival: instant(start_us + (arrival >> 32)),
                cpu_time: platform.function(function).cores * comp,
                input: Megabytes(mean_input_mb * input_around.sample(&mut input)),
                slo: Milliseconds(slo_low + (slo_high - slo_low) * slo.random::<f64>()),
            });
        }
    }
    Ok(Generated {
        workload: Workload { requests }.windowed(Milliseconds(spec.window_ms)),
        warmup_until: instant(u64::from(spec.warmup_minutes) * u64::from(minute_us)),
        factors,
        no_data,
    })
}

/// Requests, and what is worth knowing about how they were made.
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The requests of the warm-up and of the day, on the grid of `window_ms`.
    pub workload: Workload,
    /// A request that arrives later than this belongs to the day; the others are warm-up.
    pub warmup_until: Time,
    /// What the counts of each minute played were multiplied by; `None` if the trace was played as it is.
    pub factors: Option<Vec<f64>>,
    /// Cells (a minute of a function) without data among those played: they give no requests.
    pub no_data: u64,
}

/// How counts are played.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrivalSpec {
    /// Number of the day that is played.
    pub day: u32,
    /// Minutes of the trace before that day's first one that are played too, but kept out of statistics.
    pub warmup_minutes: u32,
    /// How many minutes of the day are played, from its first; the whole day (1440) if not given.
    pub minutes: Option<u32>,
    /// How long one minute of the trace lasts, in ms of simulated time: 60000 is real time.
    pub minute_ms: f64,
    /// Mean CPU demand of the requests of one window over the cluster's cores, without a unit: counts are multiplied
    /// by what gives it, as `course` says; over the first half of the warm-up it rises from zero. If not given, the
    /// trace's own counts are played exactly.
    pub load: Option<f64>,
    /// Whether the load is that of the whole day or of every minute.
    pub course: Course,
    /// Arrivals are rounded up to whole multiples of this, in ms; 0 keeps each instant.
    pub window_ms: f64,
    /// Exponent of the Zipf distribution of source nodes, without a unit; 0 makes all nodes equally busy.
    pub zipf_beta: f64,
    /// SLOs are drawn evenly from this range, in ms.
    pub slo_ms: [f64; 2],
}

/// What the load means over a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// The mean over the minutes played after the warm-up is the load: one factor for all counts, and the day's peaks
    /// and troughs stay.
    Trace,
    /// Each minute has the load: a factor for each. The trace gives which functions are called, not how many calls
    /// there are.
    Level,
}

impl ArrivalSpec {
    /// The days whose counts are played: the day itself and those that the warm-up reaches back into.
    ///
    /// # Errors
    /// If the warm-up reaches back beyond day 0.
    ///
    /// ```
    /// # use scale_workload::{ArrivalSpec, Course};
    /// let spec = ArrivalSpec { day: 7, warmup_minutes: 30, minutes: Some(60), minute_ms: 60_000.0, load: None,
    ///     course: Course::Trace, window_ms: 50.0, zipf_beta: 0.8, slo_ms: [200.0, 400.0] };
    /// assert_eq!(spec.days()?, 6..=7);
    /// # Ok::<(), scale_workload::WorkloadError>(())
    /// ```
    pub fn days(&self) -> Result<RangeInclusive<u32>, WorkloadError> {
        let back = self.warmup_minutes.div_ceil(MINUTES as u32);
        let first = self.day.checked_sub(back);
        require(
            first.is_some(),
            "warmup_minutes",
            self.warmup_minutes,
            "no more than the days before `day` have",
        )?;
        Ok(self.day - back..=self.day)
    }

    /// Minutes of the day that are played.
    fn played(&self) -> u32 {
        self.minutes.unwrap_or(MINUTES as u32)
    }

    /// The length of a minute in microseconds.
    fn minute_us(&self) -> u32 {
        // Rounded, not cut: 1.001 ms are 1000.9999999999999 microseconds in floating point.
        (self.minute_ms * 1000.0).round() as u32
    }

    /// Checks every field.
    ///
    /// # Errors
    /// The first value that makes no sense.
    pub fn validate(&self) -> Result<(), WorkloadError> {
        let played = self.played();
        require((1..=MINUTES as u32).contains(&played), "minutes", played, "a number from 1 to 1440")?;
        let minute = self.minute_ms;
        // Microseconds of a minute must fit 32 bits; an hour does.
        let length = minute > 0.0 && minute <= 3_600_000.0 && f64::from(self.minute_us()) / 1000.0 == minute;
        require(length, "minute_ms", minute, "whole microseconds, more than 0 and up to 3600000 ms")?;
        let window = self.window_ms;
        let whole = window.is_finite() && (window * 1000.0).round() / 1000.0 == window;
        require(window >= 0.0 && whole, "window_ms", window, "whole microseconds of at least 0 ms")?;
        if let Some(load) = self.load {
            require(load.is_finite() && load > 0.0, "load", load, "a number above 0")?;
            require(
                window > 0.0,
                "window_ms",
                window,
                "a number above 0, as `load` is the demand of one window",
            )?;
        }
        let beta = self.zipf_beta;
        require(beta.is_finite() && beta >= 0.0, "zipf_beta", beta, "a number of at least 0")?;
        let [low, high] = self.slo_ms;
        require(low.is_finite() && low > 0.0, "slo_ms[0]", low, "a number above 0")?;
        require(high.is_finite() && high >= low, "slo_ms[1]", high, "a number not below the first")
    }
}

/// The instant of a whole number of microseconds.
fn instant(us: u64) -> Time {
    Time(us as f64 / 1000.0)
}

/// The minutes of the trace that are played.
struct Span<'a> {
    /// The days, from the first that the warm-up reaches into.
    days: Vec<&'a DayCounts>,
    /// Number of the first of these days.
    first_day: u32,
    /// The first minute played, counted from the start of the first day.
    start: usize,
    /// The first minute after the warm-up, counted likewise.
    measured: usize,
    /// The minute after the last, counted likewise.
    end: usize,
}

impl<'a> Span<'a> {
    fn new(spec: &ArrivalSpec, counts: &'a MinuteCounts) -> Result<Span<'a>, WorkloadError> {
        let range = spec.days()?;
        let first_day = *range.start();
        let days = range.map(|day| counts.day(day)).collect::<Result<Vec<_>, _>>()?;
        let measured = (days.len() - 1) * MINUTES;
        let (start, end) = (measured - spec.warmup_minutes as usize, measured + spec.played() as usize);
        Ok(Span { days, first_day, start, measured, end })
    }

    /// Each minute played: its number in the trace and its counts.
    fn minutes(&self) -> impl Iterator<Item = (u64, impl Iterator<Item = Option<u32>> + 'a)> + '_ {
        let first = u64::from(self.first_day) * MINUTES as u64;
        (self.start..self.end).map(move |minute| (first + minute as u64, self.row(minute)))
    }

    fn row(&self, minute: usize) -> impl Iterator<Item = Option<u32>> + use<'a> {
        self.days[minute / MINUTES].minute(minute % MINUTES)
    }

    /// What the counts of each minute played are multiplied by, so that the mean demand of a window is `load` times the
    /// cluster's cores.
    fn factors(
        &self,
        spec: &ArrivalSpec,
        platform: &Platform,
        functions: &[FunctionId],
    ) -> Result<Option<Vec<f64>>, WorkloadError> {
        let Some(load) = spec.load else { return Ok(None) };
        // Whole numbers until the last step: the order of summation does not matter.
        let demand = |minute: usize| -> u128 {
            let milli = |(&function, count): (&FunctionId, Option<u32>)| {
                u128::from(count.unwrap_or(0)) * u128::from(platform.function(function).cores.milli)
            };
            functions.iter().zip(self.row(minute)).map(milli).sum()
        };
        let factor = |milli: u128, minutes: usize| {
            let windows = minutes as f64 * spec.minute_ms / spec.window_ms;
            load * platform.topology.total_cores() * windows / (milli as f64 / 1000.0)
        };
        let played = self.start..self.end;
        let mut factors: Vec<f64> = match spec.course {
            Course::Trace => {
                let milli = (self.measured..self.end).map(demand).sum();
                require(
                    milli > 0,
                    "counts",
                    0,
                    "a request in the minutes played, as `load` multiplies them",
                )?;
                vec![factor(milli, self.end - self.measured); played.len()]
            }
            Course::Level => {
                let level = |minute| {
                    let milli = demand(minute);
                    let expected = "a request in every minute played, as `load` multiplies them";
                    require(milli > 0, "counts", format!("0 in minute {}", minute % MINUTES), expected)?;
                    Ok(factor(milli, 1))
                };
                played.map(level).collect::<Result<_, WorkloadError>>()?
            }
        };
        // The load rises over the first half of the warm-up: an empty cluster at full load begins with cold starts only,
        // which hold cores for longer, and some loads never recover from that.
        let ramp = (self.measured - self.start) / 2;
        for (played, factor) in factors.iter_mut().take(ramp).enumerate() {
            *factor *= (played + 1) as f64 / (ramp + 1) as f64;
        }
        Ok(Some(factors))
    }

    /// Room for all requests, or an error if they cannot be numbered or held.
    fn room(&self, factors: Option<&[f64]>) -> Result<Vec<Request>, WorkloadError> {
        let total = |minute: usize| self.row(minute).flatten().map(f64::from).sum::<f64>();
        let factor = |played: usize| factors.map_or(1.0, |factors| factors[played]);
        let expected: f64 =
            (self.start..self.end).enumerate().map(|(played, minute)| total(minute) * factor(played)).sum();
        // Eight standard deviations of a Poisson number, and some.
        let most = if factors.is_some() { expected + 8.0 * expected.sqrt() + 16.0 } else { expected };
        let mut requests = Vec::new();
        let room = most <= f64::from(u32::MAX) && requests.try_reserve_exact(most as usize).is_ok();
        let advice = "fewer than 2^32 that fit the memory: play fewer minutes, or set a lower load";
        require(room, "requests", format!("{expected:.4e}"), advice)?;
        Ok(requests)
    }
}

/// What varies from request to request of one function.
#[derive(Clone, Copy)]
struct Draws {
    mean_comp_ms: f64,
    comp_around: Around,
    mean_input_mb: f64,
    input_around: Around,
}

impl Draws {
    fn new(profile: &Profile) -> Draws {
        let Profile { mean_comp_ms, comp_request_cv, mean_input_mb, input_request_cv, .. } = *profile;
        let (comp_around, input_around) = (Around::new(comp_request_cv), Around::new(input_request_cv));
        Draws { mean_comp_ms, comp_around, mean_input_mb, input_around }
    }
}

/// Where requests enter the network: Zipf-beta over the nodes, in an order of popularity that the seed gives.
struct Sources {
    by_popularity: Vec<NodeId>,
    rank: WeightedAliasIndex<f64>,
}

impl Sources {
    fn new(nodes: usize, beta: f64, seed: Seed) -> Result<Sources, WorkloadError> {
        let mut by_popularity: Vec<NodeId> = (0..nodes as u32).map(NodeId).collect();
        by_popularity.shuffle(&mut stream(seed.derive("popularity", 0)));
        let weights = (1..=nodes).map(|rank| (rank as f64).powf(-beta)).collect();
        let rank = WeightedAliasIndex::new(weights).map_err(|error| Invalid {
            field: "topology.nodes".into(),
            value: format!("{nodes} ({error})"),
            expected: "between 1 and 2^32 nodes",
        })?;
        Ok(Sources { by_popularity, rank })
    }

    #[inline]
    fn sample(&self, rng: &mut ChaCha8Rng) -> NodeId {
        self.by_popularity[self.rank.sample(rng)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{CatalogueSpec, catalogue};
    use crate::fixtures::{
        arrival_spec, catalogue_spec, generator_spec, kolmogorov_smirnov, mean_and_cv, plain_catalogue,
        platform,
    };
    use crate::generator::synthetic_counts;
    use proptest::prelude::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};
    use std::collections::BTreeMap;

    /// Some days of counts: the functions are 0, 1, ..., the cells what the rule says.
    fn counts(
        functions: usize,
        days: &[u32],
        rule: impl Fn(u32, usize, usize) -> Option<u32>,
    ) -> MinuteCounts {
        let day = |&day: &u32| {
            let mut cells = DayCounts::empty(functions);
            for (minute, function) in (0..MINUTES).flat_map(|minute| (0..functions).map(move |f| (minute, f)))
            {
                cells.set(minute, function, rule(day, minute, function));
            }
            (day, cells)
        };
        let names = (0..functions).map(|function| function.to_string()).collect();
        MinuteCounts { functions: names, days: days.iter().map(day).collect() }
    }

    /// Requests by minute played (from 0) and function.
    fn recount(generated: &Generated, minute_ms: f64) -> BTreeMap<(u32, u32), u32> {
        let mut found = BTreeMap::new();
        for request in &generated.workload.requests {
            let minute = (request.arrival.0 / minute_ms).ceil() as u32 - 1;
            *found.entry((minute, request.function.0)).or_insert(0) += 1;
        }
        found
    }

    /// Row 27 of the list of public issues: as many requests in each minute as the trace counts, none where it has no
    /// data, and the warm-up is the end of the day before.
    #[test]
    fn without_a_load_every_minute_has_exactly_its_count() {
        let rule = |day, minute, function| match (minute + function) % 5 {
            0 => None,
            rest => Some((rest as u32 - 1) * (day + 1)),
        };
        let counts = counts(3, &[3, 4], rule);
        let catalogue = plain_catalogue(&[(1.0, 0.0); 3]);
        let platform = platform(5, &catalogue.functions);
        let spec = ArrivalSpec { day: 4, warmup_minutes: 30, minutes: Some(50), ..arrival_spec() };
        let generated = generate(&spec, &counts, &catalogue, &platform, Seed(1)).expect("a workload");
        generated.workload.validate(&platform).expect("a valid workload");
        let mut found = recount(&generated, 60_000.0);
        let mut no_data = 0;
        for (played, function) in (0..80).flat_map(|played| (0..3).map(move |function| (played, function))) {
            let (day, minute) = if played < 30 { (3, 1410 + played) } else { (4, played - 30) };
            match rule(day, minute, function) {
                None => no_data += 1,
                Some(0) => {}
                Some(count) => assert_eq!(found.remove(&(played as u32, function as u32)), Some(count)),
            }
        }
        assert!(found.is_empty(), "{found:?}");
        assert_eq!((generated.no_data, generated.factors), (no_data, None));
        assert_eq!(generated.warmup_until, Time(30.0 * 60_000.0));
    }

    /// Row 27 too: a Poisson process, given its count, has even instants; its gaps are exponential.
    #[test]
    fn instants_within_a_minute_are_even_and_gaps_exponential() {
        let counts = counts(2, &[0], |_, _, function| Some(if function == 0 { 20_000 } else { 500 }));
        let catalogue = plain_catalogue(&[(1.0, 0.0); 2]);
        let platform = platform(5, &catalogue.functions);
        // A window of a microsecond moves nothing; in one, the cluster's 15 cores see about 1e-5 of their capacity.
        for (seed, load, window_ms) in [(1, None, 0.0), (2, None, 0.0), (3, Some(1e-5), 0.001)] {
            let spec = ArrivalSpec { minutes: Some(1), load, window_ms, ..arrival_spec() };
            let generated = generate(&spec, &counts, &catalogue, &platform, Seed(seed)).expect("a workload");
            let instants: Vec<f64> =
                generated.workload.requests.iter().map(|request| request.arrival.0).collect();
            assert!((16_000..22_000).contains(&instants.len()), "{}", instants.len());
            let even = kolmogorov_smirnov(instants.clone(), |instant| instant / 60_000.0);
            assert!(even < 1.63, "even: {even}");
            let gaps: Vec<f64> = instants.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let (mean, _) = mean_and_cv(&gaps);
            let exponential = kolmogorov_smirnov(gaps, |gap| 1.0 - (-gap / mean).exp());
            assert!(exponential < 1.63, "exponential: {exponential}");
        }
    }

    /// With a load, counts are Poisson with mean count times factor.
    #[test]
    fn with_a_load_counts_vary_as_poisson_numbers() {
        let counts = counts(1, &[0], |_, _, _| Some(40));
        let catalogue = plain_catalogue(&[(1.0, 0.0)]);
        let platform = platform(10, &catalogue.functions);
        let spec = ArrivalSpec { load: Some(0.5), minute_ms: 50.0, window_ms: 50.0, ..arrival_spec() };
        let generated = generate(&spec, &counts, &catalogue, &platform, Seed(1)).expect("a workload");
        // Half of 30 cores are 15; a request has half a core: 30 requests a window, which is a minute here.
        let factors = generated.factors.as_deref().expect("factors");
        assert!(factors.len() == 1440 && factors.iter().all(|&factor| factor == 0.75));
        let sizes: Vec<f64> = generated.workload.batches().map(|batch| batch.len() as f64).collect();
        let (mean, cv) = mean_and_cv(&sizes);
        assert!((mean - 30.0).abs() < 0.5, "{mean}");
        assert!((mean * cv * cv - 1.0).abs() < 0.1, "variance over mean {}", mean * cv * cv);
    }

    /// With a level course every minute has the load, however much the counts vary, and the mix is the minute's own.
    #[test]
    fn with_a_level_course_every_minute_has_the_load() {
        // Function 0 is called in even minutes and function 1 in odd ones, a hundred times as often.
        let counts = counts(2, &[0], |_, minute, function| {
            Some(if minute % 2 == function { [3, 300][function] } else { 0 })
        });
        let catalogue = plain_catalogue(&[(1.0, 0.0); 2]);
        let platform = platform(10, &catalogue.functions);
        let spec = ArrivalSpec {
            load: Some(0.5),
            course: Course::Level,
            minute_ms: 50.0,
            window_ms: 50.0,
            ..arrival_spec()
        };
        let generated = generate(&spec, &counts, &catalogue, &platform, Seed(1)).expect("a workload");
        // Half of 30 cores are 15; a request has half a core: 30 requests a window, which is a minute here.
        let factors = generated.factors.as_deref().expect("factors");
        assert_eq!(factors[..2], [10.0, 0.1]);
        for batch in generated.workload.batches() {
            let minute = (batch[0].arrival.0 / 50.0) as u32 - 1;
            assert!(batch.iter().all(|request| request.function.0 == minute % 2));
            assert!((5..70).contains(&batch.len()), "{}", batch.len());
        }
        let spec = ArrivalSpec { minutes: Some(2), ..spec };
        let silent = self::counts(2, &[0], |_, minute, _| Some(u32::from(minute == 0)));
        let error =
            generate(&spec, &silent, &catalogue, &platform, Seed(1)).expect_err("no request in minute 1");
        let text =
            "counts: 0 in minute 1: expected a request in every minute played, as `load` multiplies them";
        assert_eq!(error.to_string(), text);
    }

    /// Over a day the mean demand of a window is the load, within 2 %, for skewed and bursty counts.
    #[test]
    fn the_mean_demand_of_a_window_is_the_load() {
        for (seed, load, minutes) in [(1, 0.7, None), (2, 0.25, Some(300))] {
            let spec = CatalogueSpec { count: 50, ..catalogue_spec() };
            let catalogue = catalogue(&spec, Seed(seed)).expect("a catalogue");
            let platform = platform(125, &catalogue.functions);
            let counts = synthetic_counts(&generator_spec(), &catalogue, 0..2, Seed(seed)).expect("counts");
            let spec = ArrivalSpec {
                day: 1,
                warmup_minutes: 100,
                minutes,
                minute_ms: 50.0,
                load: Some(load),
                window_ms: 50.0,
                ..arrival_spec()
            };
            let generated = generate(&spec, &counts, &catalogue, &platform, Seed(seed)).expect("a workload");
            let day = |request: &&Request| request.arrival > generated.warmup_until;
            let demand = |request: &Request| platform.function(request.function).cores.as_f64();
            let cores: f64 = generated.workload.requests.iter().filter(day).map(demand).sum();
            let found = cores / f64::from(minutes.unwrap_or(1440)) / platform.topology.total_cores();
            println!("load {load}: {found}");
            assert!((found / load - 1.0).abs() < 0.02, "load {load}, found {found}");
        }
    }

    /// Frequencies of the sources, in the order of popularity, are proportional to rank to the power of -beta.
    #[test]
    fn sources_follow_the_zipf_distribution() {
        const DRAWS: u32 = 200_000;
        for (beta, nodes) in [(0.0, 125), (0.8, 125), (2.0, 40), (0.8, 1)] {
            let sources = Sources::new(nodes, beta, Seed(5)).expect("nodes");
            let mut found = vec![0.0; nodes];
            let mut rng = stream(Seed(6));
            (0..DRAWS).for_each(|_| found[sources.sample(&mut rng).index()] += 1.0);
            let total: f64 = (1..=nodes).map(|rank| (rank as f64).powf(-beta)).sum();
            let term = |(rank, node): (usize, &NodeId)| {
                let expected = f64::from(DRAWS) * ((rank + 1) as f64).powf(-beta) / total;
                (found[node.index()] - expected).powi(2) / expected
            };
            let chi_square: f64 = sources.by_popularity.iter().enumerate().map(term).sum();
            if let Ok(exact) = ChiSquared::new((nodes - 1) as f64) {
                let probability = exact.sf(chi_square);
                assert!(
                    probability > 0.001,
                    "beta {beta}: chi-square {chi_square} has probability {probability}"
                );
            }
        }
        let order = |seed| Sources::new(125, 0.8, Seed(seed)).expect("nodes").by_popularity;
        assert_ne!(order(1), order(2));
        let mut sorted = order(1);
        sorted.sort();
        assert_eq!(sorted, (0..125).map(NodeId).collect::<Vec<_>>());
    }

    fn two_days() -> (MinuteCounts, Catalogue, Platform) {
        let catalogue = plain_catalogue(&[(30.0, 0.3), (5.0, 0.8), (300.0, 0.2)]);
        let counts = synthetic_counts(&generator_spec(), &catalogue, 0..2, Seed(9)).expect("counts");
        let platform = platform(20, &catalogue.functions);
        (counts, catalogue, platform)
    }

    #[test]
    fn each_choice_has_its_own_stream() {
        let (counts, catalogue, platform) = two_days();
        let base = ArrivalSpec { day: 1, minutes: Some(30), ..arrival_spec() };
        let run = |spec: &ArrivalSpec, seed| {
            generate(spec, &counts, &catalogue, &platform, Seed(seed)).expect("a workload").workload.requests
        };
        let first = run(&base, 1);
        assert_eq!(first, run(&base, 1));
        assert_ne!(first, run(&base, 2));
        assert_ne!(first, run(&ArrivalSpec { day: 0, ..base }, 1));
        // Another range of SLOs changes nothing but SLOs; another beta nothing but sources.
        let other_slos = run(&ArrivalSpec { slo_ms: [100.0, 150.0], ..base }, 1);
        assert_eq!(first.len(), other_slos.len());
        for (a, b) in first.iter().zip(&other_slos) {
            assert_eq!(Request { slo: a.slo, ..*b }, *a);
            assert!((200.0..=400.0).contains(&a.slo.0) && (100.0..=150.0).contains(&b.slo.0));
        }
        let other_beta = run(&ArrivalSpec { zipf_beta: 0.0, ..base }, 1);
        assert!(first.iter().zip(&other_beta).all(|(a, b)| Request { source: a.source, ..*b } == *a));
        // Fewer minutes are the beginning, and a warm-up only shifts ids and clock.
        let fewer = run(&ArrivalSpec { minutes: Some(10), ..base }, 1);
        assert_eq!(fewer[..], first[..fewer.len()]);
        let warm = ArrivalSpec { warmup_minutes: 60, ..base };
        let generated = generate(&warm, &counts, &catalogue, &platform, Seed(1)).expect("a workload");
        let all = &generated.workload.requests;
        let day: Vec<&Request> =
            all.iter().filter(|request| request.arrival > generated.warmup_until).collect();
        assert_eq!(day.len(), first.len());
        for (cold, warm) in first.iter().zip(day) {
            let arrival = Time((warm.arrival.0 - generated.warmup_until.0) * 1000.0);
            assert_eq!(arrival.0.round(), (cold.arrival.0 * 1000.0).round());
            assert_eq!(Request { id: cold.id, arrival: cold.arrival, ..*warm }, *cold);
        }
        // A function's arrivals do not depend on the others'.
        let mut others = counts.clone();
        (0..MINUTES).for_each(|minute| others.days.get_mut(&1).expect("day 1").set(minute, 2, None));
        let without = generate(&base, &others, &catalogue, &platform, Seed(1)).expect("a workload").workload;
        let instants = |requests: &[Request]| -> Vec<Time> {
            requests.iter().filter(|request| request.function.0 < 2).map(|request| request.arrival).collect()
        };
        assert_eq!(instants(&without.requests), instants(&first));
    }

    #[test]
    fn profiles_give_cpu_time_and_input() {
        let (counts, mut catalogue, _) = two_days();
        catalogue.functions[2].cores.milli = 2000;
        let platform = platform(20, &catalogue.functions);
        let spec = ArrivalSpec { day: 1, ..arrival_spec() };
        let generated = generate(&spec, &counts, &catalogue, &platform, Seed(1)).expect("a workload");
        let of = |function: u32, value: fn(&Request) -> f64| {
            let requests =
                generated.workload.requests.iter().filter(|request| request.function.0 == function);
            mean_and_cv(&requests.map(value).collect::<Vec<_>>())
        };
        for (function, cores) in [(0, 0.5), (2, 2.0)] {
            let (mean, cv) = of(function, |request| request.cpu_time.0);
            assert!((mean / (150.0 * cores) - 1.0).abs() < 0.01 && (cv - 0.2).abs() < 0.01, "{mean} {cv}");
            let (mean, cv) = of(function, |request| request.input.0);
            assert!((mean / 0.5 - 1.0).abs() < 0.01 && (cv - 0.3).abs() < 0.01, "{mean} {cv}");
        }
        let (mean, _) = of(2, |request| request.slo.0);
        assert!((mean - 300.0).abs() < 1.0, "{mean}");
    }

    /// Windows make batches; as a minute is a whole number of windows, none spans two minutes.
    #[test]
    fn windows_make_batches() {
        let (counts, catalogue, platform) = two_days();
        let spec =
            ArrivalSpec { day: 1, minutes: Some(60), minute_ms: 500.0, warmup_minutes: 7, ..arrival_spec() };
        let run = |window_ms| {
            let spec = ArrivalSpec { window_ms, ..spec };
            generate(&spec, &counts, &catalogue, &platform, Seed(1)).expect("a workload")
        };
        let (instants, windowed) = (run(0.0), run(50.0));
        windowed.workload.validate(&platform).expect("a valid workload");
        assert_eq!(recount(&instants, 500.0), recount(&windowed, 500.0));
        let warm = |generated: &Generated| {
            generated.workload.requests.iter().filter(|r| r.arrival <= generated.warmup_until).count()
        };
        assert_eq!(warm(&instants), warm(&windowed));
        assert!(windowed.workload.requests.iter().all(|request| request.arrival.0 % 50.0 == 0.0));
        let batches = windowed.workload.batches().count();
        assert!(batches <= 670 && batches < instants.workload.batches().count(), "{batches}");
        let per_request = |generated: &Generated| -> Vec<(FunctionId, NodeId)> {
            generated.workload.requests.iter().map(|request| (request.function, request.source)).collect()
        };
        assert_eq!(per_request(&instants), per_request(&windowed));
    }

    /// The simulator rejects what fits nowhere, with a reason; to leave it out here would hide it.
    #[test]
    fn functions_that_fit_no_node_keep_their_requests() {
        let counts = counts(1, &[0], |_, _, _| Some(2));
        let mut catalogue = plain_catalogue(&[(1.0, 0.0)]);
        catalogue.functions[0].cores.milli = 100_000;
        let platform = platform(2, &catalogue.functions);
        assert!(!platform.can_ever_run(FunctionId(0)));
        let spec = ArrivalSpec { minutes: Some(4), ..arrival_spec() };
        let generated = generate(&spec, &counts, &catalogue, &platform, Seed(1)).expect("a workload");
        assert_eq!(generated.workload.requests.len(), 8);
    }

    #[test]
    fn senseless_values_are_refused() {
        type Edit = fn(&mut ArrivalSpec);
        let (counts, catalogue, platform) = two_days();
        let cases: [(Edit, &str); 14] = [
            (|s| s.day = 5, "the counts: no day 5; there are the days 0-1"),
            (|s| s.warmup_minutes = 1, "warmup_minutes: 1: expected no more than the days before `day` have"),
            (|s| s.minutes = Some(0), "minutes: 0: expected a number from 1 to 1440"),
            (|s| s.minutes = Some(1441), "minutes: 1441: expected a number from 1 to 1440"),
            (
                |s| s.minute_ms = 0.0,
                "minute_ms: 0: expected whole microseconds, more than 0 and up to 3600000 ms",
            ),
            (
                |s| s.minute_ms = 0.0005,
                "minute_ms: 0.0005: expected whole microseconds, more than 0 and up to 3600000 ms",
            ),
            (
                |s| s.minute_ms = f64::NAN,
                "minute_ms: NaN: expected whole microseconds, more than 0 and up to 3600000 ms",
            ),
            (
                |s| s.load = Some(0.5),
                "window_ms: 0: expected a number above 0, as `load` is the demand of one window",
            ),
            (|s| (s.load, s.window_ms) = (Some(-1.0), 50.0), "load: -1: expected a number above 0"),
            (|s| s.window_ms = f64::INFINITY, "window_ms: inf: expected whole microseconds of at least 0 ms"),
            (|s| s.zipf_beta = -0.8, "zipf_beta: -0.8: expected a number of at least 0"),
            (|s| s.slo_ms = [0.0, 400.0], "slo_ms[0]: 0: expected a number above 0"),
            (|s| s.slo_ms = [400.0, 200.0], "slo_ms[1]: 200: expected a number not below the first"),
            (
                |s| (s.load, s.window_ms, s.minute_ms) = (Some(1e9), 1e-3, 60_000.0),
                "requests: 1.0368e22: expected fewer than 2^32 that fit the memory: play fewer minutes, or \
                 set a lower load",
            ),
        ];
        for (edit, expected) in cases {
            let mut spec = arrival_spec();
            edit(&mut spec);
            let error = generate(&spec, &counts, &catalogue, &platform, Seed(1)).expect_err(expected);
            assert_eq!(error.to_string(), expected);
        }
    }

    /// 16.001 ms, among others, are not 16001 microseconds if they are multiplied and cut.
    #[test]
    fn minutes_of_any_whole_number_of_microseconds_are_accepted() {
        for us in (1..100_000).chain([60_000_000, 3_600_000_000]) {
            let spec = ArrivalSpec { minute_ms: f64::from(us) / 1000.0, ..arrival_spec() };
            spec.validate().expect("a length");
            assert_eq!(spec.minute_us(), us);
        }
    }

    #[test]
    fn counts_catalogue_and_platform_must_fit_together() {
        let (mut counts, catalogue, platform) = two_days();
        let fewer = plain_catalogue(&[(1.0, 0.0); 2]);
        let run = |counts: &MinuteCounts, catalogue: &Catalogue| {
            let spec = ArrivalSpec { load: Some(1.0), window_ms: 50.0, ..arrival_spec() };
            generate(&spec, counts, catalogue, &platform, Seed(1)).expect_err("no fit").to_string()
        };
        assert_eq!(run(&counts, &fewer), "platform.functions: 3: expected those of the catalogue");
        counts.functions[1] = "7".into();
        let unknown = "counts.functions[1]: \"7\": expected the number of a function of the catalogue";
        assert_eq!(run(&counts, &catalogue), unknown);
        counts.functions[1] = "1".into();
        counts.days.insert(0, DayCounts::empty(3));
        let nothing = "counts: 0: expected a request in the minutes played, as `load` multiplies them";
        assert_eq!(run(&counts, &catalogue), nothing);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever the counts and the settings: a valid workload with as many requests as the trace counts.
        #[test]
        fn workloads_are_valid_and_conserve_counts(
            seed in any::<u64>(),
            cells in proptest::collection::vec(proptest::option::of(0_u32..20), 2 * 12),
            warmup in 0_u32..6,
            minutes in 1_u32..6,
            minute_us in 1_u32..2_000_000,
            window_us in prop_oneof![Just(0_u32), 1_u32..500_000],
            beta in 0.0..3.0,
        ) {
            let window_ms = f64::from(window_us) / 1000.0;
            // Twelve minutes around midnight have counts: six of day 0 and six of day 1.
            let rule = |day: u32, minute: usize, function: usize| {
                let index = (day as usize * MINUTES + minute).checked_sub(MINUTES - 6)?;
                cells.get(2 * index + function).copied().flatten()
            };
            let counts = counts(2, &[0, 1], rule);
            let catalogue = plain_catalogue(&[(1.0, 0.0); 2]);
            let platform = platform(3, &catalogue.functions);
            let minute_ms = f64::from(minute_us) / 1000.0;
            let spec = ArrivalSpec {
                day: 1, warmup_minutes: warmup, minutes: Some(minutes), minute_ms, window_ms, zipf_beta: beta,
                ..arrival_spec()
            };
            let generated = generate(&spec, &counts, &catalogue, &platform, Seed(seed)).expect("a workload");
            prop_assert!(generated.workload.validate(&platform).is_ok());
            let played = &cells[2 * (6 - warmup as usize)..2 * (6 + minutes as usize)];
            let total: u32 = played.iter().flatten().sum();
            prop_assert_eq!(generated.workload.requests.len() as u32, total);
            prop_assert_eq!(generated.no_data, played.iter().filter(|cell| cell.is_none()).count() as u64);
            // The last window may end after the last minute; the millionth is for rounding.
            let end = f64::from(warmup + minutes) * minute_ms + window_ms + 1e-6;
            prop_assert!(generated.workload.requests.iter().all(|request| request.arrival.0 <= end));
        }
    }
}
