//! Reader of the Huawei traces of 2023, with all metrics. What it reads, and what becomes of it, stands at
//! [`Format::Huawei2023`](crate::Format::Huawei2023).

use crate::counts::NO_DATA;
use crate::error::{WorkloadError, ranges};
use crate::huawei::{day_files, number_in_name, refuse_other_metrics};
use crate::input::Table;
use crate::trace::{
    Fault, Gap, MAX_DAYS, Mean, Note, Origin, Quantity, Reading, Row, Tally, TraceFunction, Visit, number,
};
use crate::wide::{Cell, Names, Wide};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Seconds in a day.
const DAY: u64 = 86_400;

pub(crate) fn read(
    path: &Path,
    reading: &mut Reading<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), WorkloadError> {
    if path.is_file() && is_series(path)? {
        return read_series(path, reading, visit);
    }
    let Requests { step, files, metrics, place } = Requests::find(path)?;
    let wanted: Vec<u32> = files.keys().copied().filter(|&day| reading.rules.wants(day)).collect();
    let missing = |wanted: u32| WorkloadError::MissingDay {
        place: place.display().to_string(),
        wanted,
        available: ranges(files.keys().copied()),
    };
    let [first, last] = match (reading.rules.days, &wanted[..]) {
        (Some(days), _) => days,
        (None, [first, .., last]) => [*first, *last],
        (None, [only]) => [*only, *only],
        (None, []) => return Err(missing(0)),
    };
    if last >= MAX_DAYS {
        let found = format!("a day {last}");
        let expected = format!("days below {MAX_DAYS}, counted from the trace's first");
        return Err(WorkloadError::File { file: place, found, expected });
    }
    let mut state = State { step, ..State::default() };
    for day in first..=last {
        match files.get(&day) {
            Some(file) => {
                let mut beside = Metrics::open(&metrics, day, reading)?;
                let wide = Wide::open(file, Names::Numbers, &mut reading.tally)?;
                state.day(wide, Some(day), &mut beside, reading, visit)?;
            }
            None => {
                if reading.rules.gap == Gap::Error || state.columns.is_empty() {
                    return Err(missing(day));
                }
                let from = u64::from(day) * DAY;
                state.fill(from, from + DAY, || missing(day), reading, visit)?;
            }
        }
    }
    state.finish(reading);
    Ok(())
}

/// Where the tables are.
struct Requests {
    /// Seconds of a row.
    step: u64,
    files: BTreeMap<u32, PathBuf>,
    /// The folders of the other metrics.
    metrics: Vec<(Metric, PathBuf)>,
    place: PathBuf,
}

impl Requests {
    fn find(path: &Path) -> Result<Requests, WorkloadError> {
        let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (folder, files) = if path.is_file() {
            let other_seconds = name_of(path.parent().unwrap_or(path)) == "requests_second";
            if !other_seconds {
                refuse_other_metrics(path)?;
            }
            (
                path.parent().unwrap_or(path).to_path_buf(),
                [(number_in_name(path).unwrap_or(0), path.into())].into(),
            )
        } else {
            let inner = ["requests_minute", "requests_second"].map(|name| path.join(name));
            let folder =
                inner.into_iter().find(|folder| folder.is_dir()).unwrap_or_else(|| path.to_path_buf());
            let files = day_files(&folder)?;
            (folder, files)
        };
        let name = name_of(&folder);
        let step = if name.ends_with("_second") { 1 } else { 60 };
        let mut metrics = Vec::new();
        if let (Some(unit), Some(parent)) = (name.strip_prefix("requests_"), folder.parent()) {
            for metric in Metric::ALL {
                let folder = parent.join(format!("{}_{unit}", metric.name()));
                if folder.is_dir() {
                    metrics.push((metric, folder));
                }
            }
        } else if path.is_dir() && !files.is_empty() && name.ends_with("_minute") {
            // A folder of another metric, by its name.
            for file in files.values().take(1) {
                refuse_other_metrics(file)?;
            }
        }
        Ok(Requests { step, files, metrics, place: path.into() })
    }
}

/// What is read beside the requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Metric {
    FunctionDelay,
    PlatformDelay,
    CpuUsage,
    MemoryUsage,
    CpuLimit,
    MemoryLimit,
    Instances,
}

impl Metric {
    const ALL: [Metric; 7] = [
        Metric::FunctionDelay,
        Metric::PlatformDelay,
        Metric::CpuUsage,
        Metric::MemoryUsage,
        Metric::CpuLimit,
        Metric::MemoryLimit,
        Metric::Instances,
    ];

    fn name(self) -> &'static str {
        match self {
            Metric::FunctionDelay => "function_delay",
            Metric::PlatformDelay => "platform_delay",
            Metric::CpuUsage => "cpu_usage",
            Metric::MemoryUsage => "memory_usage",
            Metric::CpuLimit => "cpu_limit",
            Metric::MemoryLimit => "memory_limit",
            Metric::Instances => "instances",
        }
    }

    /// What is wrong with a value, and what a repair makes of it.
    fn check(self, value: f64) -> Option<(Fault, &'static str, f64)> {
        match self {
            Metric::CpuUsage | Metric::MemoryUsage if !(0.0..=1.0).contains(&value) => {
                Some((Fault::BadShare, "a share from 0 to 1", value.clamp(0.0, 1.0)))
            }
            Metric::CpuLimit | Metric::MemoryLimit if value <= 0.0 => {
                Some((Fault::BadValue, "a limit above 0", f64::NAN))
            }
            _ if value < 0.0 => Some((Fault::BadValue, "a number of at least 0", f64::NAN)),
            _ => None,
        }
    }
}

/// The tables of the metrics for one day, each read as far as the requests are.
#[derive(Default)]
struct Metrics {
    tables: Vec<MetricTable>,
}

struct MetricTable {
    metric: Metric,
    wide: Wide,
    cells: Vec<f64>,
    /// The time of `cells`; `None` at the end of the table.
    time: Option<u64>,
    /// The column of each function of the requests' table.
    columns: Vec<Option<usize>>,
}

impl Metrics {
    fn open(
        folders: &[(Metric, PathBuf)],
        day: u32,
        reading: &mut Reading<'_>,
    ) -> Result<Metrics, WorkloadError> {
        let mut tables = Vec::new();
        for (metric, folder) in folders {
            let Some(file) = day_files(folder)?.remove(&day) else { continue };
            let wide = Wide::open(&file, Names::Numbers, &mut reading.tally)?;
            reading.files += 1;
            let cells = vec![f64::NAN; wide.functions.len()];
            tables.push(MetricTable { metric: *metric, wide, cells, time: Some(0), columns: Vec::new() });
        }
        Ok(Metrics { tables })
    }

    /// Lets every table know which functions are asked for.
    fn align(&mut self, functions: &[String], tally: &mut Tally) -> Result<(), WorkloadError> {
        for table in &mut self.tables {
            let by_name: BTreeMap<&str, usize> =
                table.wide.functions.iter().enumerate().map(|(index, name)| (name.as_str(), index)).collect();
            table.columns = functions.iter().map(|name| by_name.get(name.as_str()).copied()).collect();
            table.advance(tally)?;
        }
        Ok(())
    }

    fn seek(&mut self, time: u64, tally: &mut Tally, rows: &mut u64) -> Result<(), WorkloadError> {
        for table in &mut self.tables {
            while table.time.is_some_and(|at| at < time) {
                table.advance(tally)?;
                *rows += 1;
            }
        }
        Ok(())
    }

    /// What the metrics say of a function at a time.
    fn at(&self, time: u64, function: usize) -> [f64; 7] {
        let mut values = [f64::NAN; 7];
        for table in self.tables.iter().filter(|table| table.time == Some(time)) {
            if let Some(column) = table.columns[function] {
                values[table.metric as usize] = table.cells[column];
            }
        }
        values
    }
}

impl MetricTable {
    /// Reads the next row; rows whose time is no number are left out.
    fn advance(&mut self, tally: &mut Tally) -> Result<(), WorkloadError> {
        loop {
            let Some((_, time)) = self.wide.next(&mut self.cells, tally)? else {
                self.time = None;
                return Ok(());
            };
            let Some(time) = time else {
                let error = self.wide.wrong(self.wide.day + 1, "a time in seconds".into());
                tally.bad(Fault::BadTime, error)?;
                continue;
            };
            for column in 0..self.cells.len() {
                let value = self.cells[column];
                if let Some((fault, expected, repaired)) =
                    self.metric.check(value).filter(|_| !value.is_nan())
                {
                    let error = self.wide.wrong(self.wide.day + 2 + column, expected.into());
                    self.cells[column] = if tally.repairs(fault, error)? { repaired } else { f64::NAN };
                }
            }
            self.time = Some(time);
            return Ok(());
        }
    }
}

/// What is carried from row to row.
struct State {
    /// Seconds of a row.
    step: u64,
    /// The function of each column of the table that is being read.
    columns: Vec<usize>,
    /// The counts of the row before.
    last: Vec<u32>,
    /// What the table adds up to, column by column.
    sums: Vec<Sum>,
    means: Vec<Means>,
}

impl Default for State {
    fn default() -> State {
        State { step: 60, columns: Vec::new(), last: Vec::new(), sums: Vec::new(), means: Vec::new() }
    }
}

/// Requests of a function, and the first and last instant that it is known at.
#[derive(Clone, Copy)]
struct Sum {
    requests: u64,
    from_s: f64,
    until_s: f64,
}

/// The means of a function.
#[derive(Clone, Copy, Default)]
struct Means {
    values: [Mean; 7],
    cpu_time: Mean,
}

impl State {
    /// Reads the table of a day, or of a month if `day` is not given.
    fn day(
        &mut self,
        mut wide: Wide,
        day: Option<u32>,
        metrics: &mut Metrics,
        reading: &mut Reading<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<(), WorkloadError> {
        reading.files += 1;
        metrics.align(&wide.functions, &mut reading.tally)?;
        // A gap at the start of a day holds what the day before ended with.
        let ended: BTreeMap<usize, u32> =
            self.columns.iter().copied().zip(self.last.iter().copied()).collect();
        self.columns = wide.functions.iter().map(|name| reading.function(name)).collect();
        self.means.resize(reading.functions.len(), Means::default());
        self.last = self.columns.iter().map(|of| ended.get(of).copied().unwrap_or(NO_DATA)).collect();
        let start = |&function: &usize| {
            let TraceFunction { from_s, until_s, .. } = reading.functions[function];
            Sum { requests: 0, from_s, until_s }
        };
        self.sums = self.columns.iter().map(start).collect();
        let mut cells = vec![NO_DATA; self.last.len()];
        let step = self.step;
        let mut next = day.map(|day| u64::from(day) * DAY);
        while let Some((row_day, time)) = wide.next(&mut cells, &mut reading.tally)? {
            let of_day = row_day.filter(|&found| day.is_none_or(|day| found == u64::from(day)));
            let Some(row_day) = of_day.filter(|&found| found < u64::from(MAX_DAYS)) else {
                let expected = day.map_or(format!("the number of a day, below {MAX_DAYS}"), |day| {
                    format!("{day}, the day of the file")
                });
                let error = wide.wrong(wide.day, expected);
                reading.tally.bad(Fault::BadTime, error)?;
                continue;
            };
            if !reading.rules.wants(row_day as u32) {
                continue;
            }
            let start = row_day * DAY;
            let on_grid =
                |time: &u64| (start..start + DAY).contains(time) && (time - start).is_multiple_of(step);
            let Some(time) = time.filter(on_grid) else {
                let expected = format!("{} (one row every {step} s, in order)", next.unwrap_or(start));
                let error = wide.wrong(wide.day + 1, expected);
                reading.tally.bad(Fault::BadTime, error)?;
                continue;
            };
            let due = next.unwrap_or(time);
            if time < due {
                let error = wide.wrong(wide.day + 1, format!("{due} (that time was read already)"));
                reading.tally.bad(Fault::DuplicateTime, error)?;
                continue;
            }
            if time > due {
                let place = wide.day + 1;
                let mut error = || {
                    wide.wrong(place, format!("{due} (one row every {step} s, in order; or a rule for gaps)"))
                };
                self.fill(due, time, &mut error, reading, visit)?;
            }
            next = Some(time + step);
            reading.rows += 1;
            metrics.seek(time, &mut reading.tally, &mut reading.rows)?;
            self.row(time, &cells, metrics, reading, visit)?;
            self.last.copy_from_slice(&cells);
        }
        for (&function, sum) in self.columns.iter().zip(&self.sums) {
            let function = &mut reading.functions[function];
            function.requests += sum.requests;
            (function.from_s, function.until_s) =
                (function.from_s.min(sum.from_s), function.until_s.max(sum.until_s));
        }
        let end = day.map(|day| (u64::from(day) + 1) * DAY);
        if let (Some(next), Some(end)) = (next, end)
            && next < end
        {
            let file = wide.table.lines.path().to_path_buf();
            let (found, wanted) = ((next + DAY - end) / step, DAY / step);
            let found = format!("a day that ends after {found} rows");
            let expected = format!("{wanted}, one every {step} s (or a rule for gaps)");
            self.fill(next, end, || WorkloadError::File { file, found, expected }, reading, visit)?;
        }
        Ok(())
    }

    fn row(
        &mut self,
        time: u64,
        cells: &[u32],
        metrics: &Metrics,
        reading: &mut Reading<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<(), WorkloadError> {
        let (start_s, span_s) = (time as f64, self.step as f64);
        for (column, (&function, &count)) in self.columns.iter().zip(cells).enumerate() {
            let mut duration_ms = None;
            if !metrics.tables.is_empty() {
                let values = metrics.at(time, column);
                self.means[function].add(values, count, reading);
                let delay = values[Metric::FunctionDelay as usize];
                duration_ms = (!delay.is_nan()).then_some(delay * reading.rules.delay_unit_ms);
            }
            let sum = &mut self.sums[column];
            if count == NO_DATA {
                reading.no_data += 1;
                // Before its first count a function has nothing that is missing.
                if sum.from_s > sum.until_s {
                    continue;
                }
            } else {
                sum.requests += u64::from(count);
                (sum.from_s, sum.until_s) = (sum.from_s.min(start_s), start_s + span_s);
                if count == 0 {
                    continue;
                }
            }
            let requests = (count != NO_DATA).then_some(u64::from(count));
            visit(Row { function, start_s, span_s, requests, duration_ms, input_mb: None })?;
        }
        Ok(())
    }

    /// Fills in the rows from `from` to `to`.
    fn fill(
        &mut self,
        from: u64,
        to: u64,
        error: impl FnOnce() -> WorkloadError,
        reading: &mut Reading<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<(), WorkloadError> {
        let rule = reading.rules.gap;
        if rule == Gap::Error {
            return Err(error());
        }
        let steps = (to - from) / self.step;
        reading.tally.note(Note::FilledMinute, steps, || error().to_string());
        let zero = |count: u32| if rule == Gap::Zero { 0 } else { count };
        for (&function, &count) in self.columns.iter().zip(&self.last) {
            let (requests, span_s) = match zero(count) {
                _ if count == NO_DATA => continue,
                // Nothing in all of it.
                0 => (0, (to - from) as f64),
                count => (u64::from(count), self.step as f64),
            };
            let mut start_s = from as f64;
            while start_s < to as f64 {
                let row = Row {
                    function,
                    start_s,
                    span_s,
                    requests: Some(requests),
                    duration_ms: None,
                    input_mb: None,
                };
                reading.visit(row, visit)?;
                start_s += span_s;
            }
        }
        Ok(())
    }

    fn finish(self, reading: &mut Reading<'_>) {
        for (function, means) in reading.functions.iter_mut().zip(&self.means) {
            let mut set = |quantity, mean: Mean, unit: f64, origin| {
                if let Some(value) = mean.get() {
                    function.set(quantity, value * unit, origin);
                }
            };
            let rules = reading.rules;
            let of = |metric: Metric| means.values[metric as usize];
            set(Quantity::Duration, of(Metric::FunctionDelay), rules.delay_unit_ms, Origin::Measured);
            set(Quantity::CpuTime, means.cpu_time, rules.delay_unit_ms, Origin::Derived);
            set(Quantity::Cores, of(Metric::CpuLimit), 1.0, Origin::Measured);
            set(Quantity::Memory, of(Metric::MemoryLimit), rules.memory_unit_mb, Origin::Measured);
            set(Quantity::PlatformDelay, of(Metric::PlatformDelay), rules.delay_unit_ms, Origin::Measured);
            set(Quantity::CpuShare, of(Metric::CpuUsage), 1.0, Origin::Measured);
            set(Quantity::MemoryShare, of(Metric::MemoryUsage), 1.0, Origin::Measured);
            set(Quantity::Instances, of(Metric::Instances), 1.0, Origin::Measured);
        }
    }
}

impl Means {
    fn add(&mut self, values: [f64; 7], count: u32, reading: &mut Reading<'_>) {
        let requests = if count == NO_DATA { 0.0 } else { f64::from(count) };
        for metric in Metric::ALL {
            let value = values[metric as usize];
            let weight = match metric {
                Metric::FunctionDelay | Metric::PlatformDelay => requests,
                _ => 1.0,
            };
            if !value.is_nan() {
                self.values[metric as usize].add(value, weight);
            }
        }
        let [delay, usage, limit] =
            [Metric::FunctionDelay, Metric::CpuUsage, Metric::CpuLimit].map(|metric| values[metric as usize]);
        if delay == 0.0 && requests > 0.0 {
            reading.tally.note(Note::ZeroDuration, 1, || "a function_delay of 0".into());
        }
        let product = delay * usage * limit;
        if !product.is_nan() {
            self.cpu_time.add(product, requests);
        }
    }
}

/// Reads a wide table that is not split by days, as the requests per minute of 2025.
pub(crate) fn read_months(
    wide: Wide,
    reading: &mut Reading<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), WorkloadError> {
    State::default().day(wide, None, &mut Metrics::default(), reading, visit)
}

/// Whether a file is a bare series: one column whose header is the number of a function.
fn is_series(path: &Path) -> Result<bool, WorkloadError> {
    let table = Table::open(path, "day,time,0,1,...")?;
    Ok(table.header.len() == 1 && number(table.header[0].as_bytes()).is_some())
}

fn read_series(path: &Path, reading: &mut Reading<'_>, visit: &mut Visit<'_>) -> Result<(), WorkloadError> {
    let mut table = Table::open(path, "the number of a function")?;
    let function = reading.function(&table.header[0].clone());
    reading.files += 1;
    let mut start_s = 0.0;
    while table.next()? {
        reading.rows += 1;
        let count =
            match u32::parse(table.fields.get(0)) {
                Ok(count) => count,
                Err((fault, expected, repaired)) => {
                    if reading.tally.repairs(fault, table.wrong(0, expected))? { repaired } else { NO_DATA }
                }
            };
        let requests = (count != NO_DATA).then_some(u64::from(count));
        let row = Row { function, start_s, span_s: 60.0, requests, duration_ms: None, input_mb: None };
        if reading.rules.wants((start_s / 86_400.0) as u32) {
            reading.visit(row, visit)?;
        }
        start_s += 60.0;
    }
    Ok(())
}
