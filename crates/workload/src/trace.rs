//! A trace as every reader gives it: functions, and rows that say how many requests each had and when.
//!
//! [`read`] reads any of the public layouts, and our own, row by row: memory grows with the functions, never with the
//! length of the trace. What is wrong with a file is a [`Fault`]: by default the first one is an error that names file,
//! line, column, field, value and what was expected; [`OnBad::Skip`] and [`OnBad::Repair`] go on by a stated rule, and
//! the [`Tally`] says how often, with the first example. The same table stands in `docs/traces.md`. What each layout is, and
//! what becomes of its tables, stands at the variants of [`Format`].

use crate::error::WorkloadError;
use crate::input::Table;
use crate::{azure_2019, azure_2021, huawei_2023, huawei_2025, own};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Reads a trace: a file, or the folder that its publisher's archive unpacks to. Each row goes to `visit`; the functions
/// and the tally come at the end.
///
/// # Errors
/// Everything that the rules do not forgive, and what `visit` returns.
pub fn read(
    path: &Path,
    format: Format,
    rules: &Rules,
    visit: &mut Visit<'_>,
) -> Result<Trace, WorkloadError> {
    rules.validate()?;
    let mut reading = Reading::new(rules);
    let format = match format {
        Format::Auto => detect(path)?,
        other => other,
    };
    match format {
        Format::Auto | Format::Scale => own::read(path, &mut reading, visit)?,
        Format::Azure2019 => azure_2019::read(path, &mut reading, visit)?,
        Format::Azure2021 => azure_2021::read(path, &mut reading, visit)?,
        Format::Huawei2023 => huawei_2023::read(path, &mut reading, visit)?,
        Format::Huawei2025 => huawei_2025::read(path, &mut reading, visit)?,
    }
    Ok(reading.finish(format))
}

/// What takes the rows.
pub type Visit<'a> = dyn FnMut(Row) -> Result<(), WorkloadError> + 'a;

/// How a trace is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Told from the names of the files and their first lines.
    #[default]
    Auto,
    /// Our own: `requests.csv` and, if wanted, `functions.csv`; see [`own`].
    Scale,
    /// Azure Functions 2019 (Shahrad et al., USENIX ATC 2020; `Azure/AzurePublicDataset`, CC BY 4.0).
    ///
    /// The path is the folder of the three tables of each day, or one table of invocations:
    /// - `invocations_per_function_md.anon.dNN.csv`: `HashOwner,HashApp,HashFunction,Trigger,1,...,1440`,
    /// - `function_durations_percentiles.anon.dNN.csv`: `...,Average,Count,Minimum,Maximum,percentile_Average_0,...`, in
    ///   ms,
    /// - `app_memory_percentiles.anon.dNN.csv`: `HashOwner,HashApp,SampleCount,AverageAllocatedMb,...`, in MB **per app**.
    ///
    /// Day NN is number NN - 1. Names without a day (`invocations.csv`) are day 0, and so is a table with a column `day`
    /// whose rows say it themselves. A function is owner, app and function, never its trigger: that changes between days.
    /// The memory of an app is divided over those of its functions that the trace has; a memory table that names functions
    /// is not divided. Durations do not hold the cold start.
    #[serde(rename = "azure-2019")]
    Azure2019,
    /// Azure Functions 2021 (Zhang et al., SOSP 2021; `Azure/AzurePublicDataset`, CC BY 4.0): one row a request,
    /// `app,func,end_timestamp,duration`, in seconds.
    ///
    /// A function is an app **and** a func: the same func hash under two apps is two functions. A request starts at its end
    /// less its duration. The trace has no memory: it comes from the profile. A duration of 0 is kept (8.65 % of the
    /// published rows). Durations do not hold the cold start.
    #[serde(rename = "azure-2021")]
    Azure2021,
    /// Huawei 2023, private and public, per minute and per second, with all metrics (Joosen et al., SoCC 2023;
    /// `sir-lab/data-release`, CC BY 4.0): one table a metric and a day, one column a function.
    ///
    /// The layout is `<metric>_minute/day_DDD.csv` or `<metric>_second/...`, header `day,time,0,1,...`. The path may be the
    /// data set's folder (requests per minute are taken before requests per second), one folder of requests, one day's
    /// file, or a bare series: one column of counts, a row a minute, from second 0. Metrics are read from the folders beside
    /// that of the requests; those that are missing leave their quantities to the profile.
    ///
    /// | metric | what becomes of it |
    /// |---|---|
    /// | requests | rows |
    /// | function_delay | duration of a row and, weighted by requests, of a function; the unit is a setting |
    /// | cpu_usage, cpu_limit | with function_delay p_k = delay x usage x limit, weighted by requests; f_k = mean limit |
    /// | memory_limit | c_k = mean limit; the unit is a setting |
    /// | platform_delay, memory_usage, instances | means by function |
    #[serde(rename = "huawei-2023")]
    Huawei2023,
    /// Huawei 2025 (Joosen et al., EuroSys 2025; `sir-lab/data-release`, CC BY 4.0): request tables, cold-start tables,
    /// requests per minute and the table of functions, in one folder or one file; each is told by its header.
    ///
    /// A function is `funcName---userID---poolName`; the pool's name says the limits of a container, in millicores and MB:
    /// `pool22-300-128`.
    ///
    /// | table | what becomes of it |
    /// |---|---|
    /// | requests (`time_worker`, ...) | a row each, at `time_worker`; duration = `totalCost_worker`; p_k = `cpu_usage` (cores of the whole container) x duration; d_k = `requestBodySize` |
    /// | cold starts (`totalCost_cold_start`, ...) | alpha_k = allocation + scheduling; s_k = time to deploy code and dependencies x `registry_mb_s` |
    /// | requests per minute (`day,time,<functions>`) | rows |
    /// | functions (`funcID`, ...) | their names, f_k and c_k |
    ///
    /// Costs are in seconds. The cold start is never part of a duration.
    #[serde(rename = "huawei-2025")]
    Huawei2025,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 6] = [
        Format::Auto,
        Format::Scale,
        Format::Azure2019,
        Format::Azure2021,
        Format::Huawei2023,
        Format::Huawei2025,
    ];

    /// Its name, as in experiments and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Auto => "auto",
            Format::Scale => "scale",
            Format::Azure2019 => "azure-2019",
            Format::Azure2021 => "azure-2021",
            Format::Huawei2023 => "huawei-2023",
            Format::Huawei2025 => "huawei-2025",
        }
    }
}

/// Requests of one function: `requests` of them, evenly in `[start_s, start_s + span_s)`, or one at `start_s` sharp if
/// `span_s` is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Index of the function in [`Trace::functions`].
    pub function: usize,
    /// When it starts, in seconds since the start of the trace's first day.
    pub start_s: f64,
    /// How long it lasts, in seconds.
    pub span_s: f64,
    /// How many requests there were; `None` if the trace has no data, which is not 0. Rows of 0 are left out.
    pub requests: Option<u64>,
    /// Their mean execution time, in ms, if the trace says it by row.
    pub duration_ms: Option<f64>,
    /// Their mean input, in MB, if the trace says it by row.
    pub input_mb: Option<f64>,
}

impl Row {
    /// The instant after it, in seconds: the end of its span; for a request at an instant, the next number.
    ///
    /// ```
    /// use scale_workload::Row;
    /// let row = |start_s, span_s| {
    ///     Row { function: 0, start_s, span_s, requests: Some(1), duration_ms: None, input_mb: None }
    /// };
    /// assert_eq!(row(120.0, 60.0).until_s(), 180.0);
    /// // What is known until then includes the instant itself.
    /// assert!(row(120.0, 0.0).until_s() > 120.0);
    /// ```
    #[must_use]
    pub fn until_s(&self) -> f64 {
        (self.start_s + self.span_s).max(instant_after(self.start_s))
    }
}

/// A microsecond after a time, so that what is known until then includes the instant: the next number would do, and have all digits in
/// a table.
pub(crate) fn instant_after(time_s: f64) -> f64 {
    (time_s + 1e-6).max(time_s.next_up())
}

/// What a trace is about, once it has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The layout that it had.
    pub format: Format,
    /// Its functions, in the order in which they were met.
    pub functions: Vec<TraceFunction>,
    /// Files read.
    pub files: u64,
    /// Rows of these files, without headers.
    pub rows: u64,
    /// All requests.
    pub requests: u64,
    /// Cells without data.
    pub no_data: u64,
    /// What was wrong, and what was done about it.
    pub tally: Tally,
}

/// A function, and what the trace knows of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceFunction {
    /// Its name: the parts that the trace names it by, with `/` between them.
    pub name: String,
    /// The first instant that the trace knows of, in seconds. Between this and `until_s` a minute without a row had no
    /// request.
    pub from_s: f64,
    /// The instant after the last that the trace knows of, in seconds; not above `from_s` if it knows of none.
    pub until_s: f64,
    /// Its requests.
    pub requests: u64,
    /// What it needs, by [`Quantity`]; `None` is for the calibrated profile to fill in.
    pub values: [Option<Value>; Quantity::ALL.len()],
}

impl TraceFunction {
    /// What the trace says of a quantity.
    pub fn get(&self, quantity: Quantity) -> Option<f64> {
        self.values[quantity as usize].map(|value| value.value)
    }

    /// Where a quantity comes from.
    pub fn origin(&self, quantity: Quantity) -> Origin {
        self.values[quantity as usize].map_or(Origin::Profile, |value| value.origin)
    }

    pub(crate) fn set(&mut self, quantity: Quantity, value: f64, origin: Origin) {
        self.values[quantity as usize] = Some(Value { value, origin });
    }
}

/// A number, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The number, in the unit of its [`Quantity`].
    pub value: f64,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The trace says it.
    Measured,
    /// It follows from what the trace says with one assumption, which `docs/traces.md` states.
    Derived,
    /// The trace does not say it: the calibrated profile does.
    Profile,
}

impl Origin {
    /// Its name in a table.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Measured => "measured",
            Origin::Derived => "derived",
            Origin::Profile => "profile",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Origin> {
        [Origin::Measured, Origin::Derived, Origin::Profile].into_iter().find(|origin| origin.name() == text)
    }
}

/// What a trace may say of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Mean execution time of a request, in ms, without the cold start.
    Duration,
    /// p_k, mean CPU time of a request, in core-milliseconds.
    CpuTime,
    /// f_k, cores of a container.
    Cores,
    /// c_k, memory of a container, in MB.
    Memory,
    /// s_k, size of the image, in MB.
    Image,
    /// alpha_k, time to initialise a container, in ms.
    Init,
    /// d_k, mean input of a request, in MB.
    Input,
    /// Mean delay that the platform adds to a request, in ms; not part of the model.
    PlatformDelay,
    /// Mean share of a container's cores that is used, 0-1.
    CpuShare,
    /// Mean share of a container's memory that is used, 0-1.
    MemoryShare,
    /// Mean number of containers.
    Instances,
}

impl Quantity {
    /// All of them, in the order of our table's columns.
    pub const ALL: [Quantity; 11] = [
        Quantity::Duration,
        Quantity::CpuTime,
        Quantity::Cores,
        Quantity::Memory,
        Quantity::Image,
        Quantity::Init,
        Quantity::Input,
        Quantity::PlatformDelay,
        Quantity::CpuShare,
        Quantity::MemoryShare,
        Quantity::Instances,
    ];

    /// The name of its column; the column after it has `_from` behind the name.
    pub fn column(self) -> &'static str {
        match self {
            Quantity::Duration => "duration_ms",
            Quantity::CpuTime => "cpu_time_core_ms",
            Quantity::Cores => "cores",
            Quantity::Memory => "memory_mb",
            Quantity::Image => "image_mb",
            Quantity::Init => "init_ms",
            Quantity::Input => "input_mb",
            Quantity::PlatformDelay => "platform_delay_ms",
            Quantity::CpuShare => "cpu_share",
            Quantity::MemoryShare => "memory_share",
            Quantity::Instances => "instances",
        }
    }
}

/// A trace has fewer days than a hundred years have. A time behind them is a fault: it is in milliseconds, or spoiled, and
/// filling in what lies before it would take as long as it looks.
pub const MAX_DAYS: u32 = 36_525;

/// Whether a time in seconds lies within [`MAX_DAYS`], the end included.
pub(crate) fn within_days(time_s: f64) -> bool {
    time_s <= f64::from(MAX_DAYS) * 86_400.0
}

/// How a trace is read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// What happens to what is wrong.
    pub on_bad: OnBad,
    /// What stands in for minutes and days that are missing.
    pub gap: Gap,
    /// First and last day that are read, from 0; all if not given.
    pub days: Option<[u32; 2]>,
    /// The unit of Huawei's `function_delay` and `platform_delay`, in ms. The publisher does not say it; a mean of 250
    /// fits milliseconds only.
    pub delay_unit_ms: f64,
    /// The unit of Huawei's `memory_limit`, in MB.
    pub memory_unit_mb: f64,
    /// The rate at which code and dependencies are thought to arrive, in MB/s: with it the time that a cold start takes
    /// to deploy them gives s_k.
    pub registry_mb_s: f64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            on_bad: OnBad::Error,
            gap: Gap::Error,
            days: None,
            delay_unit_ms: 1.0,
            memory_unit_mb: 1.0,
            registry_mb_s: 100.0,
        }
    }
}

impl Rules {
    fn validate(&self) -> Result<(), WorkloadError> {
        use crate::error::require;
        if let Some([first, last]) = self.days {
            let sound = first <= last && last < MAX_DAYS;
            let expected = "the first not after the last, and both below 36525";
            require(sound, "days", format!("{first}-{last}"), expected)?;
        }
        for (name, value) in [
            ("delay_unit_ms", self.delay_unit_ms),
            ("memory_unit_mb", self.memory_unit_mb),
            ("registry_mb_s", self.registry_mb_s),
        ] {
            require(value.is_finite() && value > 0.0, name, value, "a number above 0")?;
        }
        Ok(())
    }

    pub(crate) fn wants(&self, day: u32) -> bool {
        self.days.is_none_or(|[first, last]| (first..=last).contains(&day))
    }
}

/// What happens to what is wrong with a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBad {
    /// The first fault ends the reading.
    #[default]
    Error,
    /// What is wrong is left out, and counted.
    Skip,
    /// What is wrong is put right where there is a rule for it, else left out; both are counted.
    Repair,
}

/// What stands in for minutes and days that a trace lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// No requests.
    Zero,
    /// The requests of the last minute before the gap, in each minute of it.
    Hold,
    /// A gap ends the reading.
    #[default]
    Error,
}

macro_rules! faults {
    ($($name:ident: $what:literal, $skip:literal, $repair:literal;)*) => {
        /// A kind of fault. The doc of each is what is wrong; what is done about it is in [`Fault::rule`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fault { $(#[doc = $what] $name),* }

        impl Fault {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Fault] = &[$(Fault::$name),*];

            /// What is wrong, what [`OnBad::Skip`] does, and what [`OnBad::Repair`] does.
            pub fn rule(self) -> [&'static str; 3] {
                match self { $(Fault::$name => [$what, $skip, $repair]),* }
            }
        }
    };
}

faults! {
    NotANumber: "a count that is no number (NaN, inf, text)", "no data", "no data";
    Fraction: "a count with a fraction (perhaps another metric)", "no data", "no data";
    NegativeCount: "a count below 0", "no data", "0";
    RowLength: "a row with fewer or more fields than the header", "row left out", "missing fields are no data, surplus ones left out";
    BadColumn: "a column that names no function, or one that was named before", "column left out", "column left out";
    ShortDay: "a day with fewer columns than it has minutes", "day left out", "the missing minutes are a gap";
    BadTime: "a day or time that is no number, of another day, off the grid or behind day 36525 (a hundred years)", "row left out", "row left out";
    DuplicateTime: "a minute that was read before, or is out of order", "row left out", "row left out";
    DuplicateFunction: "a function with a second row of counts for the same day", "later rows left out", "counts added";
    DuplicateRow: "a second row of durations or memory for the same function or app, or of a function's table", "later rows left out", "mean of both, weighted by their counts (durations, memory); later rows left out (others)";
    NegativeStart: "a request before the start of the trace", "row left out", "moved to the start";
    EndBeforeStart: "a request that ends before it starts", "row left out", "kept, duration unknown";
    BadDuration: "a duration that is no number", "row left out", "kept, duration unknown";
    ZeroAverage: "an average duration of 0 or less, or no number, with a count above 0", "row left out", "the median, if it is above 0, else row left out";
    Inconsistent: "percentiles that fall, an average outside minimum and maximum, costs or requests that do not add up to their total, requests outside of the time that their function is known for", "row left out; the requests are taken as they are", "average moved to the nearer end; costs scaled to their total; the requests are taken as they are";
    BadMemory: "memory of 0 or less, or no number", "row left out", "row left out";
    BadShare: "a usage outside 0 to 1, or no number", "no data", "the nearer end, if it is a number";
    BadValue: "another value that makes no sense (a limit of 0, a negative size, text, a function without a name)", "no data; a row without its function is left out", "no data; a row without its function is left out";
    TooLarge: "a function whose container is larger than every node", "not played", "memory and cores cut to the largest node";
}

/// What is normal in a public trace but worth knowing: it is counted, and no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// A duration of 0: kept as it is.
    ZeroDuration,
    /// A function without durations: its times come from the profile.
    NoDurations,
    /// A function without memory (its app has none): it comes from the profile.
    NoMemory,
    /// Durations or memory of a function or app without requests: left out.
    NoRequests,
    /// A missing minute that was filled in by the rule for gaps.
    FilledMinute,
}

impl Note {
    /// What it is.
    pub fn text(self) -> &'static str {
        match self {
            Note::ZeroDuration => "a duration of 0: kept",
            Note::NoDurations => "a function without durations: the profile's are used",
            Note::NoMemory => "a function without memory: the profile's is used",
            Note::NoRequests => "durations or memory of a function without requests: left out",
            Note::FilledMinute => "a missing minute: filled in by the rule for gaps",
        }
    }
}

/// What was wrong or worth knowing, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The rule by which faults were treated.
    pub on_bad: OnBad,
    /// How often each fault was met, and its first example.
    pub faults: BTreeMap<Fault, Count>,
    /// How often each note was made, and its first example.
    pub notes: BTreeMap<Note, Count>,
}

/// How often, and the first example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How often.
    pub count: u64,
    /// The first example: for a fault the message that would have been the error.
    pub first: String,
}

impl Tally {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty() && self.notes.is_empty()
    }

    /// How often a fault was met.
    pub fn of(&self, fault: Fault) -> u64 {
        self.faults.get(&fault).map_or(0, |count| count.count)
    }

    /// How often a note was made.
    pub fn noted(&self, note: Note) -> u64 {
        self.notes.get(&note).map_or(0, |count| count.count)
    }

    /// Ends with the error, or counts the fault and says how to go on.
    pub(crate) fn bad(&mut self, fault: Fault, error: WorkloadError) -> Result<OnBad, WorkloadError> {
        if self.on_bad == OnBad::Error {
            return Err(error);
        }
        let entry = self.faults.entry(fault).or_default();
        if entry.count == 0 {
            entry.first = error.to_string();
        }
        entry.count += 1;
        Ok(self.on_bad)
    }

    /// As [`Tally::bad`], where a repair differs from leaving out: whether to repair.
    pub(crate) fn repairs(&mut self, fault: Fault, error: WorkloadError) -> Result<bool, WorkloadError> {
        Ok(self.bad(fault, error)? == OnBad::Repair)
    }

    pub(crate) fn note(&mut self, note: Note, times: u64, example: impl FnOnce() -> String) {
        if times == 0 {
            return;
        }
        let entry = self.notes.entry(note).or_default();
        if entry.count == 0 {
            entry.first = example();
        }
        entry.count += times;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return writeln!(f, "nothing was wrong");
        }
        for (fault, Count { count, first }) in &self.faults {
            let [what, skip, repair] = fault.rule();
            let done = if self.on_bad == OnBad::Repair { repair } else { skip };
            writeln!(f, "{count} x {what}: {done}\n    first: {first}")?;
        }
        for (note, Count { count, first }) in &self.notes {
            writeln!(f, "{count} x {}\n    first: {first}", note.text())?;
        }
        Ok(())
    }
}

/// A trace that is being read.
pub(crate) struct Reading<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) tally: Tally,
    pub(crate) functions: Vec<TraceFunction>,
    by_name: BTreeMap<String, usize>,
    pub(crate) files: u64,
    pub(crate) rows: u64,
    pub(crate) no_data: u64,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(rules: &'a Rules) -> Reading<'a> {
        Reading {
            rules,
            tally: Tally { on_bad: rules.on_bad, ..Tally::default() },
            functions: Vec::new(),
            by_name: BTreeMap::new(),
            files: 0,
            rows: 0,
            no_data: 0,
        }
    }

    /// The index of a function, known or new.
    pub(crate) fn function(&mut self, name: &str) -> usize {
        if let Some(&index) = self.by_name.get(name) {
            return index;
        }
        let index = self.functions.len();
        self.by_name.insert(name.to_string(), index);
        let function = TraceFunction {
            name: name.into(),
            from_s: f64::INFINITY,
            until_s: f64::NEG_INFINITY,
            ..Default::default()
        };
        self.functions.push(function);
        index
    }

    /// The index of a function that is known.
    pub(crate) fn known(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Hands on a row, and counts it.
    pub(crate) fn visit(&mut self, row: Row, visit: &mut Visit<'_>) -> Result<(), WorkloadError> {
        let function = &mut self.functions[row.function];
        match row.requests {
            Some(requests) => {
                function.requests += requests;
                function.from_s = function.from_s.min(row.start_s);
                function.until_s = function.until_s.max(row.until_s());
                if requests == 0 {
                    return Ok(());
                }
            }
            None => self.no_data += 1,
        }
        visit(row)
    }

    fn finish(mut self, format: Format) -> Trace {
        for function in &mut self.functions {
            if function.from_s > function.until_s {
                (function.from_s, function.until_s) = (0.0, 0.0);
            }
        }
        Trace {
            format,
            requests: self.functions.iter().map(|function| function.requests).sum(),
            functions: self.functions,
            files: self.files,
            rows: self.rows,
            no_data: self.no_data,
            tally: self.tally,
        }
    }
}

/// A mean with weights.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    #[inline]
    pub(crate) fn add(&mut self, value: f64, weight: f64) {
        self.sum += value * weight;
        self.weight += weight;
    }

    pub(crate) fn get(self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }
}

/// A number below 10^15, with or without spaces around it: sums and products of such numbers stay finite.
pub(crate) fn number(field: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(field).ok()?.trim();
    text.parse::<f64>().ok().filter(|number| number.abs() < 1e15)
}

/// The layout of a file or folder.
fn detect(path: &Path) -> Result<Format, WorkloadError> {
    let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = if path.is_dir() {
        let files = files_below(path)?;
        let wanted = |file: &&std::path::PathBuf| {
            let name = name_of(file);
            [".csv", ".gz", ".zst", ".zip"].iter().any(|end| name.ends_with(end))
        };
        // Requests come before what describes functions.
        let chosen = files.iter().filter(wanted).min_by_key(|file| {
            let name = name_of(file);
            let folder = file.parent().map(name_of).unwrap_or_default();
            let requests = name.starts_with("requests")
                || name.starts_with("invocations")
                || folder.starts_with("requests");
            (!requests, file.components().count(), (*file).clone())
        });
        let expected = "a trace: files that end in .csv, .gz, .zst or .zip".to_string();
        chosen.cloned().ok_or(WorkloadError::File {
            file: path.into(),
            found: "no tables".into(),
            expected,
        })?
    } else {
        path.to_path_buf()
    };
    let table = Table::open(&file, "of one of the layouts in docs/traces.md")?;
    let has = |name: &str| table.optional(name).is_some();
    if has("start_s") && has("function") {
        Ok(Format::Scale)
    } else if has("HashFunction") {
        Ok(Format::Azure2019)
    } else if has("end_timestamp") {
        Ok(Format::Azure2021)
    } else if has("funcName") || has("funcID") || table.header.iter().any(|name| name.contains("---")) {
        Ok(Format::Huawei2025)
    } else if (has("day") && has("time"))
        || (table.header.len() == 1 && number(table.header[0].as_bytes()).is_some())
    {
        Ok(Format::Huawei2023)
    } else {
        let names: Vec<&str> = Format::ALL.iter().skip(1).map(|format| format.name()).collect();
        Err(WorkloadError::Cell {
            file,
            line: table.lines.number(),
            column: 1,
            field: "header".into(),
            value: crate::input::abridged(&table.header),
            expected: format!("one of the layouts {} (docs/traces.md)", names.join(", ")),
        })
    }
}

/// All files below a folder, sorted: the order of a folder differs between machines.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<std::path::PathBuf>, WorkloadError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let failed = |source| WorkloadError::Io { path: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

/// The name of a file without the ending of its packing, and `.csv`.
pub(crate) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut stem = name.as_str();
    for end in [".gz", ".zst", ".zip", ".csv"] {
        stem = stem.strip_suffix(end).unwrap_or(stem);
    }
    stem.to_string()
}

/// Whether a file is a table by its name: `.csv`, or `.csv` and a packing, or a packing.
pub(crate) fn is_table(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    !name.starts_with('.') && [".csv", ".gz", ".zst", ".zip"].iter().any(|end| name.ends_with(end))
}
