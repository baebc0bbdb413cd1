//! Our own layout: `requests.csv` and, beside it, `functions.csv`. `docs/traces.md` documents both, and
//! [`SCHEMA`] is their JSON schema.
//!
//! `requests.csv` needs two columns, `start_s` and `function`: a row each is a request. With `span_s` and `requests` a row
//! is so many requests, evenly in `[start_s, start_s + span_s)`; an empty `requests` is *no data*. Rows may come in any
//! order. Of a row that lies on days that are not wanted too, the part on those that are is taken, with its share of the
//! requests. `functions.csv` says what is known of each function and, column by column, where it comes from: `measured`,
//! `derived` or `profile` (unknown: the calibrated profile fills it in). What no row of a function covers between its
//! `from_s` and its `until_s` is 0 requests; without `functions.csv` that is the span of the whole trace, which ends after
//! its last request.

use crate::counts::MAX_COUNT;
use crate::error::WorkloadError;
use crate::input::Table;
use crate::trace::{
    Fault, MAX_DAYS, Mean, Note, Origin, Quantity, Reading, Row, Tally, Trace, Visit, instant_after,
    is_table, number, stem, within_days,
};
use crate::wide::whole;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The JSON schema of a row of `requests.csv` and of one of `functions.csv`.
pub const SCHEMA: &str = include_str!("../schema/trace.schema.json");

/// The columns of `requests.csv`.
pub const REQUEST_COLUMNS: [&str; 6] =
    ["start_s", "span_s", "function", "requests", "duration_ms", "input_mb"];

/// The columns of `functions.csv` before those of the quantities.
pub const FUNCTION_COLUMNS: [&str; 5] = ["function", "name", "from_s", "until_s", "requests"];

pub(crate) fn read(
    path: &Path,
    reading: &mut Reading<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), WorkloadError> {
    let (requests, functions) = find(path)?;
    let mut keys = Keys::default();
    if let Some(file) = &functions {
        keys.read(file, reading)?;
    }
    let mut table = Table::open(&requests, "start_s,function,...")?;
    let columns = Columns::of(&table)?;
    reading.files += 1;
    let mut means: Vec<Mean> = Vec::new();
    let (mut first, mut until) = (f64::INFINITY, f64::NEG_INFINITY);
    while table.next()? {
        let tally = &mut reading.tally;
        if !table.right_length() && !tally.repairs(Fault::RowLength, table.wrong_length())? {
            continue;
        }
        let Some((start_s, span_s)) = columns.time(&table, tally)? else { continue };
        let requests = columns.requests(&table, tally)?;
        let all = Row { function: 0, start_s, span_s, requests, duration_ms: None, input_mb: None };
        let Some(part) = on_days(all, reading.rules.days) else { continue };
        let Some(duration_ms) = columns.duration_ms(&table, tally)? else { continue };
        let input_mb = columns.input_mb(&table, tally)?;
        if duration_ms == Some(0.0) && part.requests.is_some_and(|requests| requests > 0) {
            let line = table.lines.number();
            tally.note(Note::ZeroDuration, 1, || format!("{}:{line}", table.lines.path().display()));
        }
        let known = functions.is_some().then_some(&keys);
        let Some(function) = columns.function(&table, known, reading)? else { continue };
        reading.rows += 1;
        means.resize(reading.functions.len(), Mean::default());
        if let (Some(ms), Some(requests)) = (duration_ms, part.requests) {
            means[function].add(ms, requests as f64);
        }
        let row = Row { function, duration_ms, input_mb, ..part };
        (first, until) = (first.min(row.start_s), until.max(row.until_s()));
        reading.visit(row, visit)?;
    }
    means.resize(reading.functions.len(), Mean::default());
    let name = requests_name(&requests_path(path));
    for (index, mean) in means.iter().enumerate() {
        let told = keys.told.get(&index).zip(functions.as_deref());
        if let Some((told, file)) = told.filter(|(told, _)| told.window.is_some()) {
            told.widen(index, file, &name, reading)?;
        } else if first < until {
            let function = &mut reading.functions[index];
            (function.from_s, function.until_s) = (first, until);
        }
        let function = &mut reading.functions[index];
        if function.get(Quantity::Duration).is_none()
            && let Some(mean) = mean.get()
        {
            function.set(Quantity::Duration, mean, Origin::Measured);
        }
        if let (Some((told, file)), None) = (told, reading.rules.days) {
            told.check_sum(index, file, &name, reading)?;
        }
    }
    Ok(())
}

/// The part of a row that lies on the days that are wanted, if it has one. Its requests are even in time: up to an instant
/// there were as many as that share of them, rounded down, so that the parts of a row add up to it.
fn on_days(row: Row, days: Option<[u32; 2]>) -> Option<Row> {
    let Some([first, last]) = days else { return Some(row) };
    let (from, until) = (f64::from(first) * 86_400.0, f64::from(last + 1) * 86_400.0);
    if row.start_s >= until || row.until_s() <= from {
        return None;
    }
    let end = row.start_s + row.span_s;
    let (start_s, end_s) = (row.start_s.max(from), end.min(until));
    if start_s == row.start_s && end_s == end {
        return Some(row);
    }
    let upto = |requests: u64, time_s: f64| match time_s {
        _ if time_s >= end => requests,
        _ => (requests as f64 * (time_s - row.start_s) / row.span_s) as u64,
    };
    let requests = row.requests.map(|requests| upto(requests, end_s) - upto(requests, start_s));
    Some(Row { start_s, span_s: end_s - start_s, requests, ..row })
}

/// Where the columns of `requests.csv` are, and what their fields say.
struct Columns {
    start: usize,
    function: usize,
    span: Option<usize>,
    requests: Option<usize>,
    duration: Option<usize>,
    input: Option<usize>,
}

impl Columns {
    fn of(table: &Table) -> Result<Columns, WorkloadError> {
        Ok(Columns {
            start: table.column("start_s")?,
            function: table.column("function")?,
            span: table.optional("span_s"),
            requests: table.optional("requests"),
            duration: table.optional("duration_ms"),
            input: table.optional("input_mb"),
        })
    }

    /// A column and its field; nothing if there is no such column, or nothing in it.
    fn field(table: &Table, column: Option<usize>) -> Option<(usize, &[u8])> {
        column.map(|column| (column, table.fields.get(column))).filter(|(_, field)| !field.is_empty())
    }

    /// Start and span, in seconds; `None`: the row is left out.
    fn time(&self, table: &Table, tally: &mut Tally) -> Result<Option<(f64, f64)>, WorkloadError> {
        let start = number(table.fields.get(self.start)).filter(|time| within_days(*time));
        let Some(mut start_s) = start else {
            let expected = format!("a time in seconds, within {MAX_DAYS} days");
            tally.bad(Fault::BadTime, table.wrong(self.start, expected))?;
            return Ok(None);
        };
        if start_s < 0.0 {
            if !tally.repairs(Fault::NegativeStart, table.wrong(self.start, "a time of at least 0"))? {
                return Ok(None);
            }
            start_s = 0.0;
        }
        let Some((column, field)) = Columns::field(table, self.span) else { return Ok(Some((start_s, 0.0))) };
        let span = number(field).filter(|span| *span >= 0.0 && within_days(start_s + span));
        if span.is_none() {
            let expected = format!("a span in seconds, of at least 0, that ends within {MAX_DAYS} days");
            tally.bad(Fault::BadTime, table.wrong(column, expected))?;
        }
        Ok(span.map(|span_s| (start_s, span_s)))
    }

    /// How many requests; `None`: no data.
    fn requests(&self, table: &Table, tally: &mut Tally) -> Result<Option<u64>, WorkloadError> {
        if self.requests.is_none() {
            return Ok(Some(1));
        }
        let Some((column, field)) = Columns::field(table, self.requests) else { return Ok(None) };
        if let Some(requests) = whole(field).filter(|requests| *requests <= u64::from(MAX_COUNT)) {
            return Ok(Some(requests));
        }
        let fault = match number(field) {
            Some(value) if value.fract() != 0.0 => Fault::Fraction,
            Some(value) if value < 0.0 => Fault::NegativeCount,
            _ => Fault::NotANumber,
        };
        let expected = format!("a whole number from 0 to {MAX_COUNT}, or nothing for no data");
        let repair = tally.repairs(fault, table.wrong(column, expected))?;
        Ok((repair && fault == Fault::NegativeCount).then_some(0))
    }

    /// Their mean duration, if it is known; `None`: the row is left out.
    fn duration_ms(&self, table: &Table, tally: &mut Tally) -> Result<Option<Option<f64>>, WorkloadError> {
        let Some((column, field)) = Columns::field(table, self.duration) else { return Ok(Some(None)) };
        let fault = match number(field) {
            Some(ms) if ms >= 0.0 => return Ok(Some(Some(ms))),
            Some(_) => Fault::EndBeforeStart,
            None => Fault::BadDuration,
        };
        let error = table.wrong(column, "a duration in ms, of at least 0, or nothing");
        Ok(tally.repairs(fault, error)?.then_some(None))
    }

    /// Their mean input, if it is known.
    fn input_mb(&self, table: &Table, tally: &mut Tally) -> Result<Option<f64>, WorkloadError> {
        let Some((column, field)) = Columns::field(table, self.input) else { return Ok(None) };
        let input = number(field).filter(|mb| *mb >= 0.0);
        if input.is_none() {
            tally.bad(Fault::BadValue, table.wrong(column, "a size in MB, of at least 0, or nothing"))?;
        }
        Ok(input)
    }

    /// The index of the function: by its key in `functions.csv`, if there is one, else by its name, new or not. `None`: the
    /// row is left out.
    fn function(
        &self,
        table: &Table,
        keys: Option<&Keys>,
        reading: &mut Reading<'_>,
    ) -> Result<Option<usize>, WorkloadError> {
        let key = table.fields.text(self.function);
        if key.is_empty() {
            reading.tally.bad(Fault::BadValue, table.wrong(self.function, "the name of a function"))?;
            return Ok(None);
        }
        let Some(keys) = keys else { return Ok(Some(reading.function(&key))) };
        let index = keys.find(&key);
        if index.is_none() {
            let error = table.wrong(self.function, "a function of functions.csv");
            reading.tally.bad(Fault::BadValue, error)?;
        }
        Ok(index)
    }
}

fn requests_path(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("requests.csv") } else { path.to_path_buf() }
}

fn requests_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The two files of a trace, packed or not.
fn find(path: &Path) -> Result<(PathBuf, Option<PathBuf>), WorkloadError> {
    let named = |folder: &Path, wanted: &str| -> Result<Option<PathBuf>, WorkloadError> {
        let failed = |source| WorkloadError::Io { path: folder.into(), source };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if is_table(&path) && stem(&path) == wanted {
                found.push(path);
            }
        }
        found.sort();
        match &found[..] {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            [one, two, ..] => Err(WorkloadError::File {
                file: two.clone(),
                found: "a second table of the same kind".into(),
                expected: format!("one (the first is {})", one.display()),
            }),
        }
    };
    if path.is_dir() {
        let requests = named(path, "requests")?.ok_or_else(|| WorkloadError::File {
            file: path.into(),
            found: "no table of requests".into(),
            expected: "requests.csv, or requests.csv.gz, .zst or .zip".into(),
        })?;
        return Ok((requests, named(path, "functions")?));
    }
    let beside = match path.parent() {
        Some(folder) if stem(path) == "requests" => {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            named(folder, "functions")?
        }
        _ => None,
    };
    Ok((path.to_path_buf(), beside))
}

/// What `functions.csv` says.
#[derive(Default)]
struct Keys {
    by_key: BTreeMap<String, usize>,
    /// By index of the function.
    told: BTreeMap<usize, Told>,
}

/// What it says beside the quantities.
struct Told {
    window: Option<[f64; 2]>,
    /// With the index of its column.
    requests: Option<(u64, usize)>,
    line: u64,
    window_column: usize,
}

impl Told {
    /// Lets a function be known for as long as the table says, and for its rows: what they say is known, whatever the table
    /// says, else requests would be lost in silence. Rows outside are a fault.
    fn widen(
        &self,
        index: usize,
        file: &Path,
        rows_name: &str,
        reading: &mut Reading<'_>,
    ) -> Result<(), WorkloadError> {
        let Some([from, until]) = self.window else { return Ok(()) };
        let function = &mut reading.functions[index];
        let (rows_from, rows_until) = (function.from_s, function.until_s);
        (function.from_s, function.until_s) = (from.min(rows_from), until.max(rows_until));
        // A request at `until_s` sharp is within: who writes the table by hand puts the last one there.
        if rows_from >= from && rows_until <= instant_after(until) {
            return Ok(());
        }
        // As a reader of the rows would say it: without the microsecond after the last instant.
        let rows_until = (rows_until * 1e5).round() / 1e5;
        let error = WorkloadError::Cell {
            file: file.into(),
            line: self.line,
            column: self.window_column + 1,
            field: "from_s, until_s".into(),
            value: format!("{from}, {until}"),
            expected: format!("its rows in {rows_name} within, which are from {rows_from} to {rows_until}"),
        };
        reading.tally.bad(Fault::Inconsistent, error)?;
        Ok(())
    }

    /// Holds the number of requests that the table says, if it does, against the rows.
    fn check_sum(
        &self,
        index: usize,
        file: &Path,
        rows_name: &str,
        reading: &mut Reading<'_>,
    ) -> Result<(), WorkloadError> {
        let found = reading.functions[index].requests;
        let Some((requests, column)) = self.requests.filter(|(requests, _)| *requests != found) else {
            return Ok(());
        };
        let error = WorkloadError::Cell {
            file: file.into(),
            line: self.line,
            column: column + 1,
            field: "requests".into(),
            value: requests.to_string(),
            expected: format!("{found}, the sum of its rows in {rows_name}"),
        };
        reading.tally.bad(Fault::Inconsistent, error)?;
        Ok(())
    }
}

impl Keys {
    fn find(&self, key: &str) -> Option<usize> {
        self.by_key.get(key).copied()
    }

    fn read(&mut self, file: &Path, reading: &mut Reading<'_>) -> Result<(), WorkloadError> {
        let mut table = Table::open(file, "function,...")?;
        let key = table.column("function")?;
        let [name, from, until, requests] =
            ["name", "from_s", "until_s", "requests"].map(|name| table.optional(name));
        let columns: Vec<(Quantity, usize, Option<usize>)> = (Quantity::ALL.into_iter())
            .filter_map(|quantity| {
                let origin = table.optional(&format!("{}_from", quantity.column()));
                Some((quantity, table.optional(quantity.column())?, origin))
            })
            .collect();
        reading.files += 1;
        while table.next()? {
            if !table.right_length() && !reading.tally.repairs(Fault::RowLength, table.wrong_length())? {
                continue;
            }
            let own = table.fields.text(key).into_owned();
            if own.is_empty() {
                reading.tally.bad(Fault::BadValue, table.wrong(key, "the key of a function"))?;
                continue;
            }
            let full = name.map(|column| table.fields.text(column).into_owned());
            let full = full.filter(|name| !name.is_empty()).unwrap_or_else(|| own.clone());
            if self.by_key.contains_key(&own) || reading.known(&full).is_some() {
                reading.tally.bad(Fault::DuplicateRow, table.wrong(key, "each function once"))?;
                continue;
            }
            let index = reading.function(&full);
            self.by_key.insert(own, index);
            let mut ends = [None; 2];
            for (slot, column) in ends.iter_mut().zip([from, until]) {
                let Some(column) = column.filter(|&column| !table.fields.get(column).is_empty()) else {
                    continue;
                };
                // What comes after an instant at the very end of time is still a time.
                let end = instant_after(f64::from(MAX_DAYS) * 86_400.0);
                let sound = |time: &f64| (0.0..=end).contains(time);
                *slot = number(table.fields.get(column)).filter(sound);
                if slot.is_none() {
                    let expected = format!("a time in seconds, within {MAX_DAYS} days, or nothing");
                    reading.tally.bad(Fault::BadValue, table.wrong(column, expected))?;
                }
            }
            let window = ends[0].zip(ends[1]).map(|(from, until)| [from, until]);
            let mut sum = None;
            if let Some(column) = requests.filter(|&column| !table.fields.get(column).is_empty()) {
                sum = whole(table.fields.get(column)).map(|sum| (sum, column));
                if sum.is_none() {
                    let error = table.wrong(column, "a whole number, or nothing");
                    reading.tally.bad(Fault::BadValue, error)?;
                }
            }
            let (line, window_column) = (table.lines.number(), from.unwrap_or(0));
            self.told.insert(index, Told { window, requests: sum, line, window_column });
            for &(quantity, column, origin) in &columns {
                let field = table.fields.get(column);
                if field.is_empty() {
                    continue;
                }
                let positive = matches!(quantity, Quantity::Cores | Quantity::Memory);
                let sound = |value: &f64| if positive { *value > 0.0 } else { *value >= 0.0 };
                let Some(value) = number(field).filter(sound) else {
                    let fault = if quantity == Quantity::Memory { Fault::BadMemory } else { Fault::BadValue };
                    let expected = if positive {
                        "a number above 0, or nothing"
                    } else {
                        "a number of at least 0, or nothing"
                    };
                    reading.tally.bad(fault, table.wrong(column, expected))?;
                    continue;
                };
                let origin = match origin.map(|column| (column, table.fields.text(column))) {
                    None => Origin::Measured,
                    Some((column, text)) => match Origin::parse(&text) {
                        Some(origin) => origin,
                        None => {
                            let error = table.wrong(column, "measured, derived or profile");
                            reading.tally.bad(Fault::BadValue, error)?;
                            continue;
                        }
                    },
                };
                reading.functions[index].set(quantity, value, origin);
            }
        }
        Ok(())
    }
}

/// Writes a trace in our own layout, row by row.
pub struct Writer {
    folder: PathBuf,
    requests: BufWriter<File>,
    /// The run of no data that each function is in.
    runs: Vec<Option<[f64; 2]>>,
    line: String,
}

impl Writer {
    /// Makes the folder, if it is not there, and starts `requests.csv` in it.
    ///
    /// # Errors
    /// What the file system says.
    pub fn new(folder: &Path) -> Result<Writer, WorkloadError> {
        let failed = |source| WorkloadError::Io { path: folder.into(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let file = File::create(folder.join("requests.csv.half")).map_err(failed)?;
        let mut requests = BufWriter::with_capacity(1 << 18, file);
        writeln!(requests, "{}", REQUEST_COLUMNS.join(",")).map_err(failed)?;
        Ok(Writer { folder: folder.into(), requests, runs: Vec::new(), line: String::new() })
    }

    /// Takes a row. Neighbouring rows without data become one.
    ///
    /// # Errors
    /// What the file system says.
    pub fn row(&mut self, row: Row) -> Result<(), WorkloadError> {
        if self.runs.len() <= row.function {
            self.runs.resize(row.function + 1, None);
        }
        let end = row.start_s + row.span_s;
        let run = &mut self.runs[row.function];
        match (row.requests, &mut *run) {
            (None, Some(known)) if known[1] == row.start_s => known[1] = end,
            (None, _) => {
                let before = run.replace([row.start_s, end]);
                self.no_data(row.function, before)?;
            }
            (Some(_), _) => {
                let before = run.take();
                self.no_data(row.function, before)?;
                self.write(row)?;
            }
        }
        Ok(())
    }

    fn no_data(&mut self, function: usize, run: Option<[f64; 2]>) -> Result<(), WorkloadError> {
        let Some([start_s, end]) = run else { return Ok(()) };
        let row = Row {
            function,
            start_s,
            span_s: end - start_s,
            requests: None,
            duration_ms: None,
            input_mb: None,
        };
        self.write(row)
    }

    fn write(&mut self, row: Row) -> Result<(), WorkloadError> {
        use std::fmt::Write as _;
        let Row { function, start_s, span_s, requests, duration_ms, input_mb } = row;
        self.line.clear();
        // Writing to a string cannot fail.
        let _ = write!(self.line, "{start_s},{span_s},{function},");
        if let Some(requests) = requests {
            let _ = write!(self.line, "{requests}");
        }
        for value in [duration_ms, input_mb] {
            self.line.push(',');
            if let Some(value) = value {
                let _ = write!(self.line, "{value}");
            }
        }
        self.line.push('\n');
        let written = self.requests.write_all(self.line.as_bytes());
        written.map_err(|source| WorkloadError::Io { path: self.folder.join("requests.csv"), source })
    }

    /// Writes `functions.csv`, and gives `requests.csv` its name.
    ///
    /// # Errors
    /// What the file system says.
    pub fn finish(mut self, trace: &Trace) -> Result<(), WorkloadError> {
        for (index, function) in trace.functions.iter().enumerate() {
            // A run at the end says nothing, but zeros may have come after it.
            let run = self.runs.get_mut(index).and_then(Option::take);
            self.no_data(index, run.filter(|[start, _]| *start < function.until_s))?;
        }
        let path = self.folder.join("functions.csv");
        let failed = |source| WorkloadError::Io { path: self.folder.clone(), source };
        self.requests.flush().map_err(failed)?;
        write_functions(&path, trace).map_err(|source| WorkloadError::Io { path, source })?;
        std::fs::rename(self.folder.join("requests.csv.half"), self.folder.join("requests.csv"))
            .map_err(failed)
    }
}

fn write_functions(path: &Path, trace: &Trace) -> io::Result<()> {
    let mut table = csv::Writer::from_path(path)?;
    let quantities = || {
        Quantity::ALL
            .iter()
            .flat_map(|quantity| [quantity.column().into(), format!("{}_from", quantity.column())])
    };
    let header: Vec<String> =
        FUNCTION_COLUMNS.iter().map(|name| name.to_string()).chain(quantities()).collect();
    table.write_record(&header)?;
    for (index, function) in trace.functions.iter().enumerate() {
        let mut record = vec![
            index.to_string(),
            function.name.clone(),
            function.from_s.to_string(),
            function.until_s.to_string(),
            function.requests.to_string(),
        ];
        for quantity in Quantity::ALL {
            record.push(function.get(quantity).map_or(String::new(), |value| value.to_string()));
            record.push(function.origin(quantity).name().into());
        }
        table.write_record(&record)?;
    }
    table.flush()
}
