//! Writes a trace in the layout of Azure Functions 2019: three tables a day.
//!
//! The layout knows no *no data* and no time below a minute. Cells without data become 0, and [`AzureReport`] says how
//! many; requests go to the minute in which they start. A name of three parts (`owner/app/function`) keeps them; any other
//! name is its own owner, app and function, so that no memory is divided. Where durations are known by request, the
//! percentiles are theirs (to 1 %); where only a mean is known, every percentile is that mean.

use crate::collect::minutes;
use crate::counts::{MAX_COUNT, MINUTES};
use crate::describe::Histogram;
use crate::error::WorkloadError;
use crate::trace::{Quantity, Row, Trace, TraceFunction};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Takes rows whose days ascend; two days are held in memory at a time, as requests may be out of order around midnight.
pub struct AzureWriter {
    folder: PathBuf,
    open: BTreeMap<u32, Day>,
    /// Days that are written already, as far as that is possible without the functions' names.
    written: Option<u32>,
    parts: Vec<u32>,
    no_data: u64,
}

/// What the writer did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AzureReport {
    /// Days written.
    pub days: u32,
    /// Cells without data that became 0.
    pub no_data: u64,
    /// Functions without a duration: they have no row in the tables of durations.
    pub without_duration: u64,
    /// Functions without memory: they have no row in the tables of memory.
    pub without_memory: u64,
}

/// The requests of a day, by function.
#[derive(Default)]
struct Day {
    functions: BTreeMap<usize, (Vec<u32>, Histogram, Sums)>,
}

#[derive(Clone, Copy)]
struct Sums {
    sum: f64,
    count: u64,
    least: f64,
    most: f64,
}

impl AzureWriter {
    /// Makes the folder, if it is not there.
    ///
    /// # Errors
    /// What the file system says.
    pub fn new(folder: &Path) -> Result<AzureWriter, WorkloadError> {
        std::fs::create_dir_all(folder)
            .map_err(|source| WorkloadError::Io { path: folder.into(), source })?;
        let (open, parts) = (BTreeMap::new(), Vec::new());
        Ok(AzureWriter { folder: folder.into(), open, written: None, parts, no_data: 0 })
    }

    /// Takes a row.
    ///
    /// # Errors
    /// A row that lies across minutes, or is more than a day earlier than one before; what the file system says.
    pub fn row(&mut self, row: Row) -> Result<(), WorkloadError> {
        for (minute, requests) in minutes(&row)? {
            let Some(requests) = requests else {
                self.no_data += 1;
                continue;
            };
            let day = (minute / MINUTES as u64) as u32;
            if self.written.is_some_and(|written| day <= written) {
                return Err(scale_model::Invalid {
                    field: "start_s".into(),
                    value: row.start_s.to_string(),
                    expected: "rows in the order of days: the tables of this day are written already",
                }
                .into());
            }
            while let Some((&first, _)) = self.open.first_key_value().filter(|(first, _)| **first + 1 < day) {
                self.park(first)?;
            }
            let entry = self.open.entry(day).or_default().functions.entry(row.function);
            let (cells, histogram, sums) = entry.or_insert_with(|| {
                let sums = Sums { sum: 0.0, count: 0, least: f64::INFINITY, most: 0.0 };
                (vec![0; MINUTES], Histogram::default(), sums)
            });
            let cell = &mut cells[(minute % MINUTES as u64) as usize];
            *cell = u64::from(*cell).saturating_add(requests).min(u64::from(MAX_COUNT)) as u32;
            if let Some(ms) = row.duration_ms.filter(|_| requests > 0) {
                histogram.add(ms, requests);
                sums.sum += ms * requests as f64;
                sums.count += requests;
                (sums.least, sums.most) = (sums.least.min(ms), sums.most.max(ms));
            }
        }
        Ok(())
    }

    /// Writes a day without names, as those of its functions may still change: only the invocations' cells.
    fn park(&mut self, day: u32) -> Result<(), WorkloadError> {
        let Some(cells) = self.open.remove(&day) else { return Ok(()) };
        let path = self.part(day);
        write_part(&path, &cells).map_err(|source| WorkloadError::Io { path, source })?;
        self.written = Some(day);
        self.parts.push(day);
        Ok(())
    }

    fn part(&self, day: u32) -> PathBuf {
        self.folder.join(format!(".day_{day:03}.half"))
    }

    /// Writes the tables.
    ///
    /// # Errors
    /// What the file system says.
    pub fn finish(mut self, trace: &Trace) -> Result<AzureReport, WorkloadError> {
        while let Some((&first, _)) = self.open.first_key_value() {
            self.park(first)?;
        }
        let mut report =
            AzureReport { days: self.parts.len() as u32, no_data: self.no_data, ..AzureReport::default() };
        let lacks = |quantity: Quantity| {
            trace.functions.iter().filter(|function| function.get(quantity).is_none()).count() as u64
        };
        (report.without_duration, report.without_memory) =
            (lacks(Quantity::Duration), lacks(Quantity::Memory));
        for &day in &self.parts {
            let part = self.part(day);
            let failed = |source| WorkloadError::Io { path: self.folder.clone(), source };
            write_day(&self.folder, day, &part, trace).map_err(failed)?;
            std::fs::remove_file(&part).map_err(failed)?;
        }
        Ok(report)
    }
}

/// One line a function: its index, mean, least and most, seven percentiles, number, 1440 counts.
fn write_part(path: &Path, day: &Day) -> std::io::Result<()> {
    let mut table = csv::Writer::from_path(path)?;
    for (function, (cells, histogram, sums)) in &day.functions {
        let known = sums.count > 0;
        let text = |value: f64| if known { value.to_string() } else { String::new() };
        let mut record = vec![function.to_string(), text(sums.sum / sums.count.max(1) as f64)];
        record.extend([text(sums.least), text(sums.most), sums.count.to_string()]);
        for share in PERCENTILES {
            let value = histogram.quantile(f64::from(share) / 100.0).unwrap_or(0.0);
            record.push(text(value.clamp(sums.least.min(sums.most), sums.most)));
        }
        record.extend(cells.iter().map(u32::to_string));
        table.write_record(&record)?;
    }
    table.flush()
}

const PERCENTILES: [u32; 7] = [0, 1, 25, 50, 75, 99, 100];
const MEMORY_PERCENTILES: [u32; 8] = [1, 5, 25, 50, 75, 95, 99, 100];

fn write_day(folder: &Path, day: u32, part: &Path, trace: &Trace) -> std::io::Result<()> {
    let name = |kind: &str| folder.join(format!("{kind}.anon.d{:02}.csv", day + 1));
    let mut invocations = csv::Writer::from_path(name("invocations_per_function_md"))?;
    let mut durations = csv::Writer::from_path(name("function_durations_percentiles"))?;
    let mut memory = csv::Writer::from_path(name("app_memory_percentiles"))?;
    let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let mut header = owned(&["HashOwner", "HashApp", "HashFunction", "Trigger"]);
    header.extend((1..=MINUTES).map(|minute| minute.to_string()));
    invocations.write_record(&header)?;
    let mut header =
        owned(&["HashOwner", "HashApp", "HashFunction", "Average", "Count", "Minimum", "Maximum"]);
    header.extend(PERCENTILES.map(|share| format!("percentile_Average_{share}")));
    durations.write_record(&header)?;
    let mut header = owned(&["HashOwner", "HashApp", "SampleCount", "AverageAllocatedMb"]);
    header.extend(MEMORY_PERCENTILES.map(|share| format!("AverageAllocatedMb_pct{share}")));
    memory.write_record(&header)?;

    let start = f64::from(day) * 86_400.0;
    let known = |function: &TraceFunction| function.from_s < start + 86_400.0 && function.until_s > start;
    let mut apps: BTreeMap<[&str; 2], f64> = BTreeMap::new();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(part)?;
    let mut rows = reader.records().peekable();
    for (index, function) in trace.functions.iter().enumerate() {
        let at = |record: &csv::StringRecord| record.get(0).and_then(|text| text.parse::<usize>().ok());
        let own = rows.next_if(|row| row.as_ref().is_ok_and(|record| at(record) == Some(index)));
        let row = own.transpose()?;
        if row.is_none() && !known(function) {
            continue;
        }
        let [owner, app, name] = parts(&function.name);
        let cells: Vec<&str> = match &row {
            Some(row) => row.iter().skip(5 + PERCENTILES.len()).collect(),
            None => vec!["0"; MINUTES],
        };
        invocations.write_record([owner, app, name, "others"].into_iter().chain(cells))?;
        let told = row.as_ref().filter(|row| !row[1].is_empty());
        if let Some(row) = told {
            let fields = [owner, app, name, &row[1], &row[4], &row[2], &row[3]];
            durations.write_record(fields.into_iter().chain(row.iter().skip(5).take(PERCENTILES.len())))?;
        } else if let Some(mean) = function.get(Quantity::Duration) {
            let requests: u64 =
                row.iter().flat_map(|row| row.iter().skip(12)).filter_map(|c| c.parse::<u64>().ok()).sum();
            let (mean, requests) = (mean.to_string(), requests.to_string());
            let fields = [owner, app, name, &mean, &requests, &mean, &mean];
            durations.write_record(fields.into_iter().chain([mean.as_str(); 7]))?;
        }
        if let Some(mb) = function.get(Quantity::Memory) {
            *apps.entry([owner, app]).or_default() += mb;
        }
    }
    for ([owner, app], mb) in apps {
        let mb = mb.to_string();
        memory.write_record([owner, app, "1"].into_iter().chain([mb.as_str(); 9]))?;
    }
    invocations.flush()?;
    durations.flush()?;
    memory.flush()
}

/// Owner, app and function of a name.
fn parts(name: &str) -> [&str; 3] {
    let mut parts = name.split('/');
    match [parts.next(), parts.next(), parts.next(), parts.next()] {
        [Some(owner), Some(app), Some(function), None] => [owner, app, function],
        _ => [name; 3],
    }
}
