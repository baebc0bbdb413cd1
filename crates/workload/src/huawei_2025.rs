//! Reader of the Huawei traces of 2025. What it reads, and what becomes of it, stands at
//! [`Format::Huawei2025`](crate::Format::Huawei2025).

use crate::error::WorkloadError;
use crate::huawei_2023::read_months;
use crate::input::Table;
use crate::trace::{
    Fault, MAX_DAYS, Mean, Note, Origin, Quantity, Reading, Row, TraceFunction, Visit, files_below, is_table,
    number, within_days,
};
use crate::wide::{Names, Wide};
use std::path::Path;

pub(crate) fn read(
    path: &Path,
    reading: &mut Reading<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), WorkloadError> {
    let files = if path.is_dir() { files_below(path)? } else { vec![path.to_path_buf()] };
    let mut means: Vec<Means> = Vec::new();
    let (mut first, mut until) = (f64::INFINITY, f64::NEG_INFINITY);
    for file in files.iter().filter(|file| is_table(file) || *file == path) {
        let table = Table::open(file, "of a table of 2025 (docs/traces.md)")?;
        if table.optional("time_worker").is_some() {
            let [from, to] = requests(table, &mut means, reading, visit)?;
            (first, until) = (first.min(from), until.max(to));
        } else if table.optional("totalCost_cold_start").is_some() {
            cold_starts(table, &mut means, reading)?;
        } else if table.optional("funcID").is_some() {
            functions(table, reading)?;
        } else {
            read_months(Wide::new(table, Names::FunctionIds, &mut reading.tally)?, reading, visit)?;
        }
    }
    means.resize(reading.functions.len(), Means::default());
    for (function, means) in reading.functions.iter_mut().zip(&means) {
        if first < until {
            (function.from_s, function.until_s) = (function.from_s.min(first), function.until_s.max(until));
        }
        means.give(function, reading.rules.registry_mb_s);
        if let Some([cores, mb]) = limits(&function.name) {
            function.set(Quantity::Cores, cores, Origin::Measured);
            function.set(Quantity::Memory, mb, Origin::Measured);
        }
    }
    Ok(())
}

/// The means of a function.
#[derive(Clone, Copy, Default)]
struct Means {
    duration_ms: Mean,
    cpu_core_ms: Mean,
    cpu_cores: Mean,
    memory_mb: Mean,
    input_mb: Mean,
    init_ms: Mean,
    deploy_s: Mean,
}

impl Means {
    fn give(&self, function: &mut TraceFunction, registry_mb_s: f64) {
        let limits = limits(&function.name);
        let mut set = |quantity, value: Option<f64>, origin| {
            if let Some(value) = value {
                function.set(quantity, value, origin);
            }
        };
        set(Quantity::Duration, self.duration_ms.get(), Origin::Measured);
        set(Quantity::CpuTime, self.cpu_core_ms.get(), Origin::Derived);
        set(Quantity::Input, self.input_mb.get(), Origin::Measured);
        set(Quantity::Init, self.init_ms.get(), Origin::Measured);
        set(Quantity::Image, self.deploy_s.get().map(|seconds| seconds * registry_mb_s), Origin::Derived);
        let [cores, mb] = limits.map_or([None, None], |[cores, mb]| [Some(cores), Some(mb)]);
        let share = |used: Mean, limit: Option<f64>| used.get().zip(limit).map(|(used, limit)| used / limit);
        set(Quantity::CpuShare, share(self.cpu_cores, cores), Origin::Derived);
        set(Quantity::MemoryShare, share(self.memory_mb, mb), Origin::Derived);
    }
}

/// Cores and memory of a container, from the name of its pool: `pool22-300-128` is 0.3 cores and 128 MB.
fn limits(name: &str) -> Option<[f64; 2]> {
    let pool = name.rsplit("---").next()?;
    let mut parts = pool.split('-').skip(1);
    let (milli, mb): (u32, u32) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    (milli > 0 && mb > 0).then(|| [f64::from(milli) / 1000.0, f64::from(mb)])
}

/// The columns that name a function in a table of events.
struct Key {
    function: usize,
    user: usize,
    pod: usize,
}

impl Key {
    fn of(table: &Table) -> Result<Key, WorkloadError> {
        Ok(Key {
            function: table.column("funcName")?,
            user: table.column("userID")?,
            pod: table.column("podID")?,
        })
    }

    /// `funcName---userID---poolName`, where the pod is `poolName-<number>`.
    fn read(&self, table: &Table) -> Option<String> {
        let (function, user, pod) =
            (table.fields.text(self.function), table.fields.text(self.user), table.fields.text(self.pod));
        let (pool, _) = pod.rsplit_once('-')?;
        let name = format!("{function}---{user}---{pool}");
        (!function.is_empty() && limits(&name).is_some()).then_some(name)
    }

    fn wrong(&self, table: &Table) -> WorkloadError {
        table.wrong(self.pod, "a pod of a pool, such as pool22-300-128-0000618412")
    }
}

/// A field that may be empty: `Ok(None)` if it is, or if it is wrong and the rules go on.
fn optional(table: &Table, column: usize, reading: &mut Reading<'_>) -> Result<Option<f64>, WorkloadError> {
    let field = table.fields.get(column);
    if field.is_empty() {
        return Ok(None);
    }
    let value = number(field).filter(|value| *value >= 0.0);
    if value.is_none() {
        reading.tally.bad(Fault::BadValue, table.wrong(column, "a number of at least 0, or nothing"))?;
    }
    Ok(value)
}

/// Reads a request table; its first instant, and the one after its last.
fn requests(
    mut table: Table,
    means: &mut Vec<Means>,
    reading: &mut Reading<'_>,
    visit: &mut Visit<'_>,
) -> Result<[f64; 2], WorkloadError> {
    let key = Key::of(&table)?;
    let (time, cost) = (table.column("time_worker")?, table.column("totalCost_worker")?);
    let (cpu, memory) = (table.column("cpu_usage")?, table.column("memory_usage")?);
    let size = table.column("requestBodySize")?;
    reading.files += 1;
    let (mut first, mut until) = (f64::INFINITY, f64::NEG_INFINITY);
    while table.next()? {
        let tally = &mut reading.tally;
        if !table.right_length() && !tally.repairs(Fault::RowLength, table.wrong_length())? {
            continue;
        }
        let Some(mut start_s) = number(table.fields.get(time)).filter(|time| within_days(*time)) else {
            let expected = format!("a time in seconds, within {MAX_DAYS} days");
            tally.bad(Fault::BadTime, table.wrong(time, expected))?;
            continue;
        };
        if start_s < 0.0 {
            if !tally.repairs(Fault::NegativeStart, table.wrong(time, "a time of at least 0"))? {
                continue;
            }
            start_s = 0.0;
        }
        let Some(name) = key.read(&table) else {
            tally.bad(Fault::BadValue, key.wrong(&table))?;
            continue;
        };
        let lasted = match number(table.fields.get(cost)) {
            Some(lasted) if lasted >= 0.0 => Some(lasted),
            other => {
                let fault = if other.is_some() { Fault::EndBeforeStart } else { Fault::BadDuration };
                if !tally.repairs(fault, table.wrong(cost, "a duration in seconds, of at least 0"))? {
                    continue;
                }
                None
            }
        };
        if !reading.rules.wants((start_s / 86_400.0) as u32) {
            continue;
        }
        if lasted == Some(0.0) {
            let line = table.lines.number();
            tally.note(Note::ZeroDuration, 1, || format!("{}:{line}", table.lines.path().display()));
        }
        let [cpu, memory, size] = [
            optional(&table, cpu, reading)?,
            optional(&table, memory, reading)?,
            optional(&table, size, reading)?,
        ];
        let function = reading.function(&name);
        means.resize(reading.functions.len(), Means::default());
        let mean = &mut means[function];
        let (duration_ms, input_mb) = (lasted.map(|lasted| lasted * 1000.0), size.map(|bytes| bytes / 1e6));
        let add = |mean: &mut Mean, value: Option<f64>| {
            if let Some(value) = value {
                mean.add(value, 1.0);
            }
        };
        add(&mut mean.duration_ms, duration_ms);
        add(&mut mean.cpu_core_ms, cpu.zip(duration_ms).map(|(cores, ms)| cores * ms));
        add(&mut mean.cpu_cores, cpu);
        add(&mut mean.memory_mb, memory);
        add(&mut mean.input_mb, input_mb);
        reading.rows += 1;
        let row = Row { function, start_s, span_s: 0.0, requests: Some(1), duration_ms, input_mb };
        (first, until) = (first.min(start_s), until.max(row.until_s()));
        reading.visit(row, visit)?;
    }
    Ok([first, until])
}

fn cold_starts(
    mut table: Table,
    means: &mut Vec<Means>,
    reading: &mut Reading<'_>,
) -> Result<(), WorkloadError> {
    let key = Key::of(&table)?;
    let total = table.column("totalCost_cold_start")?;
    let parts = ["podAllocationCost", "deployCodeCost", "deployDependencyCost", "schedulingCost"];
    let parts = parts.map(|name| table.column(name));
    let [allocation, code, dependencies, scheduling] = parts;
    let parts = [allocation?, code?, dependencies?, scheduling?];
    reading.files += 1;
    while table.next()? {
        let tally = &mut reading.tally;
        if !table.right_length() && !tally.repairs(Fault::RowLength, table.wrong_length())? {
            continue;
        }
        let Some(name) = key.read(&table) else {
            tally.bad(Fault::BadValue, key.wrong(&table))?;
            continue;
        };
        let cost = |index: usize| number(table.fields.get(index)).filter(|cost| *cost >= 0.0);
        let mut costs = [0.0; 4];
        let mut wrong = cost(total).is_none().then_some(total);
        for (slot, &index) in costs.iter_mut().zip(&parts) {
            match cost(index) {
                Some(cost) => *slot = cost,
                None => wrong = wrong.or(Some(index)),
            }
        }
        if let Some(index) = wrong {
            tally.bad(Fault::BadDuration, table.wrong(index, "a cost in seconds, of at least 0"))?;
            continue;
        }
        let (told, sum) = (cost(total).unwrap_or(0.0), costs.iter().sum::<f64>());
        // Parts are rounded to milliseconds in the published tables.
        if (told - sum).abs() > 0.002 + 0.01 * told {
            let error = table.wrong(total, format!("{sum}, the sum of its parts"));
            if !tally.repairs(Fault::Inconsistent, error)? {
                continue;
            }
            if sum > 0.0 {
                costs = costs.map(|cost| cost * told / sum);
            }
        }
        reading.rows += 1;
        let function = reading.function(&name);
        means.resize(reading.functions.len(), Means::default());
        let [allocation, code, dependencies, scheduling] = costs;
        means[function].init_ms.add(1000.0 * (allocation + scheduling), 1.0);
        means[function].deploy_s.add(code + dependencies, 1.0);
    }
    Ok(())
}

/// Reads the table of functions: each is known from then on, with or without requests.
fn functions(mut table: Table, reading: &mut Reading<'_>) -> Result<(), WorkloadError> {
    let id = table.column("funcID")?;
    reading.files += 1;
    let mut met = std::collections::BTreeSet::new();
    while table.next()? {
        if !table.right_length() && !reading.tally.repairs(Fault::RowLength, table.wrong_length())? {
            continue;
        }
        let name = table.fields.text(id).into_owned();
        if name.split("---").count() != 3 || limits(&name).is_none() {
            let error = table.wrong(id, "funcName---userID---poolName, such as 400---418---pool22-300-128");
            reading.tally.bad(Fault::BadValue, error)?;
            continue;
        }
        if !met.insert(name.clone()) {
            reading.tally.bad(Fault::DuplicateRow, table.wrong(id, "each function once"))?;
            continue;
        }
        reading.rows += 1;
        reading.function(&name);
    }
    Ok(())
}
