//! From the rows of a trace to requests per minute, and from its functions to those of an experiment.

use crate::catalogue::Catalogue;
use crate::counts::{DayCounts, MAX_COUNT, MINUTES, MinuteCounts, NO_DATA};
use crate::error::WorkloadError;
use crate::trace::{Fault, OnBad, Origin, Quantity, Row, Tally, Trace, TraceFunction};
use scale_model::{Cores, FunctionId, Invalid, Memory};
use std::collections::BTreeMap;

/// Adds the rows of a trace up to requests per minute, in any order. A minute for which one row has no data and another
/// has requests, has those requests. Memory: 5760 bytes a function and day with requests.
#[derive(Default)]
pub struct Collector {
    /// By day and function; a day is there once one of its functions is.
    days: BTreeMap<u32, BTreeMap<usize, Vec<u32>>>,
    /// Seconds without data of a minute, where rows are shorter than that.
    part: BTreeMap<(usize, u64), f64>,
}

impl Collector {
    /// Takes a row.
    ///
    /// # Errors
    /// A row that lies across minutes without being whole minutes: it is not rounded in silence.
    pub fn row(&mut self, row: Row) -> Result<(), WorkloadError> {
        for (minute, requests) in minutes(&row)? {
            let (day, at) = ((minute / MINUTES as u64) as u32, (minute % MINUTES as u64) as usize);
            if requests.is_none() && row.span_s < 60.0 {
                let lacking = self.part.entry((row.function, minute)).or_default();
                *lacking += row.span_s;
                if *lacking < 60.0 {
                    continue;
                }
            }
            let cells =
                self.days.entry(day).or_default().entry(row.function).or_insert_with(|| vec![0; MINUTES]);
            let cell = &mut cells[at];
            match requests {
                None if *cell == 0 => *cell = NO_DATA,
                None | Some(0) => {}
                Some(more) => {
                    let before = if *cell == NO_DATA { 0 } else { u64::from(*cell) };
                    *cell = before.saturating_add(more).min(u64::from(MAX_COUNT)) as u32;
                }
            }
        }
        Ok(())
    }

    /// The counts of the chosen functions, with their index in `chosen` for a name, on the given days. Where a trace does
    /// not know a function, there is no data; where it has no row, there are 0 requests.
    ///
    /// # Errors
    /// A day on which no function of the trace has any data.
    pub fn finish(
        self,
        trace: &Trace,
        chosen: &[usize],
        days: impl IntoIterator<Item = u32>,
    ) -> Result<MinuteCounts, WorkloadError> {
        let names = (0..chosen.len()).map(|column| column.to_string()).collect();
        let mut counts = MinuteCounts { functions: names, days: BTreeMap::new() };
        let known = |day: u32| {
            let (start, end) = (f64::from(day) * 86_400.0, f64::from(day + 1) * 86_400.0);
            trace.functions.iter().any(|function| function.from_s < end && function.until_s > start)
        };
        for day in days {
            if !known(day) {
                let last = trace.functions.iter().map(|function| function.until_s).fold(0.0, f64::max);
                let there = (0..(last / 86_400.0).ceil() as u32).filter(|&day| known(day));
                return Err(WorkloadError::MissingDay {
                    place: "the trace".into(),
                    wanted: day,
                    available: crate::error::ranges(there),
                });
            }
            let mut cells = DayCounts::empty(chosen.len());
            for (column, &function) in chosen.iter().enumerate() {
                let found = self.days.get(&day).and_then(|day| day.get(&function));
                let TraceFunction { from_s, until_s, .. } = trace.functions[function];
                for minute in 0..MINUTES {
                    let start = f64::from(day) * 86_400.0 + 60.0 * minute as f64;
                    let count = found.map_or(0, |cells| cells[minute]);
                    if count != NO_DATA && start < until_s && start + 60.0 > from_s {
                        cells.set(minute, column, Some(count));
                    }
                }
            }
            counts.days.insert(day, cells);
        }
        Ok(counts)
    }
}

/// The minutes of a row, counted from the start of the trace, with the requests of each. Requests of several whole minutes
/// are dealt out evenly.
///
/// # Errors
/// A row that lies across minutes without being whole minutes.
pub fn minutes(row: &Row) -> Result<impl Iterator<Item = (u64, Option<u64>)> + use<>, WorkloadError> {
    let Row { start_s, span_s, requests, .. } = *row;
    let first = (start_s / 60.0).floor();
    let end = ((start_s + span_s) / 60.0).ceil().max(first + 1.0);
    let whole = start_s % 60.0 == 0.0 && span_s % 60.0 == 0.0;
    if !whole && end - first > 1.0 {
        return Err(Invalid {
            field: "start_s, span_s".into(),
            value: format!("{start_s}, {span_s}"),
            expected: "a row within one minute, or of whole minutes: nothing is rounded in silence",
        }
        .into());
    }
    let (first, number) = (first as u64, (end - first) as u64);
    let share = move |index: u64| {
        requests.map(|requests| {
            let upto = |index: u64| (u128::from(requests) * u128::from(index) / u128::from(number)) as u64;
            upto(index + 1) - upto(index)
        })
    };
    Ok((0..number).map(move |index| (first + index, share(index))))
}

/// The functions of a trace with the most requests, at most `most`, in the order of the trace.
#[must_use]
pub fn busiest(trace: &Trace, most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..trace.functions.len()).collect();
    // Of equals the first.
    order.sort_by_key(|&index| (std::cmp::Reverse(trace.functions[index].requests), index));
    order.truncate(most);
    order.sort_unstable();
    order
}

/// Lets the functions of a trace replace the first ones of a catalogue, as far as the trace knows what they need; the
/// rest comes from the catalogue. A function that fits no node (of `largest` cores and memory) is a fault: it is not
/// played (`skip`) or cut down to that node (`repair`).
///
/// # Errors
/// A function that fits no node, if faults are errors.
pub fn adopt(
    catalogue: &mut Catalogue,
    trace: &Trace,
    chosen: &mut Vec<usize>,
    largest: (Cores, Memory),
    tally: &mut Tally,
) -> Result<Adopted, WorkloadError> {
    let mut adopted = Adopted::default();
    let mut kept = Vec::new();
    for &index in chosen.iter().take(catalogue.functions.len()) {
        let source = &trace.functions[index];
        let (function, profile) = (&mut catalogue.functions[kept.len()], &mut catalogue.profiles[kept.len()]);
        let mut cores = source.get(Quantity::Cores).map_or(function.cores, |cores| Cores {
            milli: (1000.0 * cores).round().clamp(1.0, f64::from(u32::MAX)) as u32,
        });
        let mut memory = source
            .get(Quantity::Memory)
            .map_or(function.memory, |mb| Memory { mb: mb.ceil().clamp(1.0, f64::from(u32::MAX)) as u32 });
        if cores.milli > largest.0.milli || memory.mb > largest.1.mb {
            let error = Invalid {
                field: format!("the function {:?} of the trace", source.name),
                value: format!("{} cores, {} MB", cores.as_f64(), memory.mb),
                expected: "a container that fits the largest node",
            };
            if tally.bad(Fault::TooLarge, error.into())? != OnBad::Repair {
                continue;
            }
            (cores.milli, memory.mb) = (cores.milli.min(largest.0.milli), memory.mb.min(largest.1.mb));
        }
        function.name = source.name.clone();
        (function.cores, function.memory) = (cores, memory);
        let take =
            |quantity: Quantity, slot: &mut f64, count: &mut Counted, of: &dyn Fn(f64) -> f64| match source
                .get(quantity)
            {
                Some(value) => {
                    *slot = of(value);
                    count.add(source.origin(quantity));
                }
                None => count.add(Origin::Profile),
            };
        let plain = |value: f64| value;
        take(Quantity::Init, &mut function.init.0, &mut adopted.init, &plain);
        take(Quantity::Image, &mut function.image.0, &mut adopted.image, &plain);
        take(Quantity::Input, &mut profile.mean_input_mb, &mut adopted.input, &plain);
        // p_k / f_k is what the model calls the execution time.
        if source.get(Quantity::CpuTime).is_some() {
            let on_own_cores = |core_ms: f64| core_ms / cores.as_f64();
            take(Quantity::CpuTime, &mut profile.mean_comp_ms, &mut adopted.cpu_time, &on_own_cores);
        } else if source.get(Quantity::Duration).is_some() {
            take(Quantity::Duration, &mut profile.mean_comp_ms, &mut Counted::default(), &plain);
            adopted.cpu_time.add(Origin::Derived);
        } else {
            adopted.cpu_time.add(Origin::Profile);
        }
        adopted.cores.add(source.origin(Quantity::Cores));
        adopted.memory.add(source.origin(Quantity::Memory));
        let known_s = (source.until_s - source.from_s).max(60.0);
        profile.rate_per_minute = source.requests as f64 * 60.0 / known_s;
        kept.push(index);
    }
    *chosen = kept;
    adopted.functions = (0..chosen.len() as u32).map(FunctionId).collect();
    Ok(adopted)
}

/// Which functions of the catalogue come from the trace, and where their numbers come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adopted {
    /// The functions.
    pub functions: Vec<FunctionId>,
    /// p_k. From a duration alone it is derived: all cores are thought to be busy.
    pub cpu_time: Counted,
    /// f_k.
    pub cores: Counted,
    /// c_k.
    pub memory: Counted,
    /// s_k.
    pub image: Counted,
    /// alpha_k.
    pub init: Counted,
    /// d_k.
    pub input: Counted,
}

/// How many functions have a number from where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The trace says it.
    pub measured: u32,
    /// It follows from the trace.
    pub derived: u32,
    /// The calibrated profile says it.
    pub profile: u32,
}

impl Counted {
    fn add(&mut self, origin: Origin) {
        match origin {
            Origin::Measured => self.measured += 1,
            Origin::Derived => self.derived += 1,
            Origin::Profile => self.profile += 1,
        }
    }
}

impl std::fmt::Display for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [(self.measured, "measured"), (self.derived, "derived"), (self.profile, "profile")];
        let text: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        write!(f, "{}", if text.is_empty() { "none".into() } else { text.join(", ") })
    }
}

impl std::fmt::Display for Adopted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Adopted { cpu_time, cores, memory, image, init, input, .. } = self;
        write!(f, "p_k {cpu_time}; f_k {cores}; c_k {memory}; s_k {image}; alpha_k {init}; d_k {input}")
    }
}
