//! Reader of the Azure Functions trace of 2019. What it reads, and what becomes of it, stands at
//! [`Format::Azure2019`](crate::Format::Azure2019).

use crate::counts::{MINUTES, NO_DATA};
use crate::error::{WorkloadError, ranges};
use crate::input::Table;
use crate::trace::{
    Fault, Gap, MAX_DAYS, Mean, Note, Origin, Quantity, Reading, Row, Tally, Visit, files_below, is_table,
    number, stem,
};
use crate::wide::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub(crate) fn read(
    path: &Path,
    reading: &mut Reading<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), WorkloadError> {
    let days = Day::find(path)?;
    let mut state = State::default();
    // A table with a column of days has them all in one file.
    if let (1, Some(Day { invocations: Some(file), says_day: true, .. })) = (days.len(), days.values().next())
    {
        state.invocations(file, 0, reading, visit)?;
        state.finish(reading);
        return Ok(());
    }
    let wanted: Vec<u32> = days.keys().copied().filter(|&day| reading.rules.wants(day)).collect();
    let missing = |wanted: u32| WorkloadError::MissingDay {
        place: path.display().to_string(),
        wanted,
        available: ranges(days.keys().copied()),
    };
    let [first, last] = match (reading.rules.days, &wanted[..]) {
        (Some(days), _) => days,
        (None, [first, .., last]) => [*first, *last],
        (None, [only]) => [*only, *only],
        (None, []) => return Err(missing(0)),
    };
    for number in first..=last {
        let Some(day) = days.get(&number) else {
            if reading.rules.gap == Gap::Error {
                return Err(missing(number));
            }
            state.fill_day(number, reading, visit, || missing(number).to_string())?;
            continue;
        };
        if let Some(file) = &day.durations {
            state.durations(file, reading)?;
        }
        if let Some(file) = &day.memory {
            state.memory(file, reading)?;
        }
        if let Some(file) = &day.invocations {
            state.invocations(file, number, reading, visit)?;
        }
    }
    state.finish(reading);
    Ok(())
}

/// The tables of a day.
#[derive(Default)]
struct Day {
    invocations: Option<PathBuf>,
    durations: Option<PathBuf>,
    memory: Option<PathBuf>,
    says_day: bool,
}

impl Day {
    fn find(path: &Path) -> Result<BTreeMap<u32, Day>, WorkloadError> {
        let files = if path.is_dir() { files_below(path)? } else { vec![path.to_path_buf()] };
        let mut days: BTreeMap<u32, Day> = BTreeMap::new();
        for file in files {
            let stem = stem(&file);
            let number = stem.rsplit('.').find_map(|part| part.strip_prefix('d')?.parse::<u32>().ok());
            let number = number.map_or(0, |number| number.saturating_sub(1));
            if number >= MAX_DAYS {
                let expected = format!("one of at most {MAX_DAYS}, counted from the trace's first");
                return Err(WorkloadError::File { file, found: format!("a day {}", number + 1), expected });
            }
            let day = days.entry(number);
            let single = file == path;
            let slot = match stem.as_str() {
                _ if !is_table(&file) && !single => continue,
                name if name.starts_with("function_durations") || name.starts_with("durations") => {
                    &mut day.or_default().durations
                }
                name if name.starts_with("app_memory") || name.starts_with("memory") => {
                    &mut day.or_default().memory
                }
                name if name.starts_with("invocations") || single => {
                    let day = day.or_default();
                    day.says_day =
                        Table::open(&file, "HashOwner,HashApp,HashFunction")?.optional("day").is_some();
                    &mut day.invocations
                }
                _ => continue,
            };
            if let Some(first) = slot {
                let expected = format!("one such table a day (the first is {})", first.display());
                return Err(WorkloadError::File { file, found: "a day a second time".into(), expected });
            }
            *slot = Some(file);
        }
        days.retain(|_, day| day.invocations.is_some() || day.durations.is_some() || day.memory.is_some());
        Ok(days)
    }
}

#[derive(Default)]
struct State {
    /// Durations by function.
    durations: BTreeMap<String, Mean>,
    /// Memory by app, or by function where the table names functions.
    memory: BTreeMap<String, Mean>,
    /// The last count of each function, for gaps.
    last: Vec<u32>,
    /// On which days each function has a row, so that a second one is seen: the last of them.
    last_day: Vec<Option<u32>>,
}

/// The columns that name a function.
struct Names {
    parts: Vec<usize>,
}

impl Names {
    /// `function`: whether the function is part of the name.
    fn of(table: &Table, function: bool) -> Result<Names, WorkloadError> {
        let mut parts: Vec<usize> =
            ["HashOwner", "HashApp"].into_iter().filter_map(|name| table.optional(name)).collect();
        if function {
            parts.push(table.column("HashFunction")?);
        } else if parts.is_empty() {
            parts.push(table.column("HashApp")?);
        }
        Ok(Names { parts })
    }

    fn read(&self, table: &Table) -> String {
        let parts: Vec<_> = self.parts.iter().map(|&index| table.fields.text(index)).collect();
        parts.join("/")
    }
}

/// A table of invocations.
struct Invocations {
    table: Table,
    names: Names,
    /// The column of the day, if the rows say it.
    day: Option<usize>,
    /// The columns of the minutes, and the counts of the row at hand.
    minutes: Vec<usize>,
    counts: Vec<u32>,
}

impl Invocations {
    /// `None`: the table lacks minutes, and is left out.
    fn open(file: &Path, reading: &mut Reading<'_>) -> Result<Option<Invocations>, WorkloadError> {
        let table = Table::open(file, "HashOwner,HashApp,HashFunction,Trigger,1,...,1440")?;
        let names = Names::of(&table, true)?;
        let day = table.optional("day");
        let minutes: Vec<usize> = (1..=MINUTES).map_while(|minute| table.optional_at(minute)).collect();
        if minutes.len() < MINUTES {
            let error = table.missing_minute(minutes.len() + 1);
            if !reading.tally.repairs(Fault::ShortDay, error)? {
                return Ok(None);
            }
            if reading.rules.gap == Gap::Error {
                return Err(table.missing_minute(minutes.len() + 1));
            }
        }
        if minutes.is_empty() {
            return Err(table.missing_minute(1));
        }
        let counts = vec![0; minutes.len()];
        Ok(Some(Invocations { table, names, day, minutes, counts }))
    }

    /// Whether the rows say their day.
    fn says_day(&self) -> bool {
        self.day.is_some()
    }

    /// The day of a row: that of the file, unless the row says it. `None`: the row is left out.
    fn day(&self, of_file: u32, tally: &mut Tally) -> Result<Option<u32>, WorkloadError> {
        let Some(column) = self.day else { return Ok(Some(of_file)) };
        let sound = |day: &f64| day.fract() == 0.0 && (0.0..f64::from(MAX_DAYS)).contains(day);
        let day = number(self.table.fields.get(column)).filter(sound);
        if day.is_none() {
            let expected = format!("the number of a day, below {MAX_DAYS}");
            tally.bad(Fault::BadTime, self.table.wrong(column, expected))?;
        }
        Ok(day.map(|day| day as u32))
    }

    /// The counts of a row, minute by minute.
    fn counts(&mut self, tally: &mut Tally) -> Result<&[u32], WorkloadError> {
        let Invocations { table, minutes, counts, .. } = self;
        // The minutes stand in a row at the end, so the rest of the line is theirs.
        let rest: usize = (0..minutes[0]).map(|index| table.fields.get(index).len() + 1).sum();
        let plain = minutes.last() == Some(&(table.header.len() - 1)) && table.right_length();
        if plain && table.lines.line().get(rest..).is_some_and(|rest| u32::fast(rest, counts)) {
            return Ok(counts);
        }
        for (cell, &column) in counts.iter_mut().zip(minutes.iter()) {
            *cell = match table.fields.get(column) {
                [] => NO_DATA,
                field => match u32::parse(field) {
                    Ok(count) => count,
                    Err((fault, expected, repaired)) => {
                        let error = table.wrong(column, expected);
                        if tally.repairs(fault, error)? { repaired } else { NO_DATA }
                    }
                },
            };
        }
        Ok(counts)
    }
}

impl State {
    fn durations(&mut self, file: &Path, reading: &mut Reading<'_>) -> Result<(), WorkloadError> {
        let mut table = Table::open(file, "HashOwner,HashApp,HashFunction,Average,Count,...")?;
        let names = Names::of(&table, true)?;
        let (average, count) = (table.column("Average")?, table.column("Count")?);
        let (minimum, maximum) = (table.column("Minimum")?, table.column("Maximum")?);
        let prefix = "percentile_Average_";
        let percentile = |(_, name): &(usize, &String)| name.starts_with(prefix);
        let percentiles: Vec<usize> =
            table.header.iter().enumerate().filter(percentile).map(|(index, _)| index).collect();
        let median = table.optional("percentile_Average_50");
        reading.files += 1;
        let mut seen: BTreeMap<String, ()> = BTreeMap::new();
        while table.next()? {
            let tally = &mut reading.tally;
            if !table.right_length() && !tally.repairs(Fault::RowLength, table.wrong_length())? {
                continue;
            }
            reading.rows += 1;
            let name = names.read(&table);
            let again = seen.insert(name.clone(), ()).is_some();
            let last_name = names.parts.last().copied().unwrap_or(0);
            if again {
                let error = table.wrong(last_name, "each function once a day");
                if !tally.repairs(Fault::DuplicateRow, error)? {
                    continue;
                }
            }
            let Some(times) = number(table.fields.get(count)).filter(|count| *count >= 0.0) else {
                tally.bad(Fault::NotANumber, table.wrong(count, "how often the function ran"))?;
                continue;
            };
            let mean = number(table.fields.get(average)).filter(|mean| *mean > 0.0);
            let mut value = match mean {
                Some(mean) => mean,
                None if times == 0.0 => continue,
                None => {
                    let error = table.wrong(average, "an average above 0 ms, as the function ran");
                    let instead =
                        median.and_then(|index| number(table.fields.get(index))).filter(|value| *value > 0.0);
                    match (tally.repairs(Fault::ZeroAverage, error)?, instead) {
                        (true, Some(median)) => median,
                        _ => continue,
                    }
                }
            };
            let ends = [minimum, maximum].map(|index| number(table.fields.get(index)));
            let steps: Vec<Option<f64>> =
                percentiles.iter().map(|&index| number(table.fields.get(index))).collect();
            let falls = steps.windows(2).position(|pair| matches!(pair, [Some(a), Some(b)] if b < a));
            if let Some(at) = falls {
                let error = table.wrong(percentiles[at + 1], "no less than the percentile before");
                if !tally.repairs(Fault::Inconsistent, error)? {
                    continue;
                }
            }
            // The published averages are whole or rounded to hundredths, so they may miss their ends by that.
            if let [Some(low), Some(high)] = ends
                && !(low - 0.5..=high + 0.5).contains(&value)
            {
                let error = table.wrong(average, format!("between Minimum {low} and Maximum {high}"));
                if !tally.repairs(Fault::Inconsistent, error)? {
                    continue;
                }
                value = value.min(high).max(low);
            }
            self.durations.entry(name).or_default().add(value, times.max(1.0));
        }
        Ok(())
    }

    fn memory(&mut self, file: &Path, reading: &mut Reading<'_>) -> Result<(), WorkloadError> {
        let mut table = Table::open(file, "HashOwner,HashApp,SampleCount,AverageAllocatedMb,...")?;
        let by_function = table.optional("HashFunction").is_some();
        let names = Names::of(&table, by_function)?;
        let (samples, average) = (table.column("SampleCount")?, table.column("AverageAllocatedMb")?);
        reading.files += 1;
        let mut seen: BTreeMap<String, ()> = BTreeMap::new();
        while table.next()? {
            let tally = &mut reading.tally;
            if !table.right_length() && !tally.repairs(Fault::RowLength, table.wrong_length())? {
                continue;
            }
            reading.rows += 1;
            let name = names.read(&table);
            if seen.insert(name.clone(), ()).is_some() {
                let error = table.wrong(names.parts.last().copied().unwrap_or(0), "each app once a day");
                if !tally.repairs(Fault::DuplicateRow, error)? {
                    continue;
                }
            }
            let Some(mb) = number(table.fields.get(average)).filter(|mb| *mb > 0.0) else {
                tally.bad(Fault::BadMemory, table.wrong(average, "memory above 0 MB"))?;
                continue;
            };
            let weight = number(table.fields.get(samples)).unwrap_or(1.0).max(1.0);
            self.memory.entry(name).or_default().add(mb, weight);
        }
        Ok(())
    }

    fn invocations(
        &mut self,
        file: &Path,
        day: u32,
        reading: &mut Reading<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<(), WorkloadError> {
        let Some(mut invocations) = Invocations::open(file, reading)? else { return Ok(()) };
        reading.files += 1;
        let known = invocations.minutes.len();
        let mut seen: BTreeSet<(usize, u32)> = BTreeSet::new();
        while invocations.table.next()? {
            let Invocations { table, names, .. } = &invocations;
            let tally = &mut reading.tally;
            if !table.right_length() && !tally.repairs(Fault::RowLength, table.wrong_length())? {
                continue;
            }
            let Some(day) = invocations.day(day, tally)?.filter(|&day| reading.rules.wants(day)) else {
                continue;
            };
            let nameless = names.parts.last().filter(|&&column| table.fields.get(column).is_empty());
            if let Some(&column) = nameless {
                tally.bad(Fault::BadValue, table.wrong(column, "the name of a function"))?;
                continue;
            }
            let function = reading.function(&names.read(table));
            if self.last_day.len() < reading.functions.len() {
                self.last_day.resize(reading.functions.len(), None);
                self.last.resize(reading.functions.len(), 0);
            }
            let again = if invocations.says_day() {
                !seen.insert((function, day))
            } else {
                self.last_day[function].replace(day) == Some(day)
            };
            if again {
                let error = table.wrong(names.parts.last().copied().unwrap_or(0), "each function once a day");
                if !reading.tally.repairs(Fault::DuplicateFunction, error)? {
                    continue;
                }
            }
            reading.rows += 1;
            let row = |minute: usize, minutes: usize, requests: Option<u64>| Row {
                function,
                start_s: f64::from(day) * 86_400.0 + 60.0 * minute as f64,
                span_s: 60.0 * minutes as f64,
                requests,
                duration_ms: None,
                input_mb: None,
            };
            // The day is known, minute by minute, whether or not there were requests.
            reading.visit(row(0, known, Some(0)), visit)?;
            let counts = invocations.counts(&mut reading.tally)?;
            for (minute, &count) in counts.iter().enumerate().filter(|(_, count)| **count != 0) {
                reading.visit(row(minute, 1, (count != NO_DATA).then_some(u64::from(count))), visit)?;
            }
            let last = counts.last().copied().unwrap_or(0);
            self.last[function] = last;
            if known < MINUTES {
                let example = || invocations.table.missing_minute(known + 1).to_string();
                fill(function, last, (day, known, MINUTES), reading, visit, example)?;
            }
        }
        Ok(())
    }

    fn fill_day(
        &mut self,
        day: u32,
        reading: &mut Reading<'_>,
        visit: &mut Visit<'_>,
        example: impl Fn() -> String,
    ) -> Result<(), WorkloadError> {
        for function in 0..self.last.len() {
            fill(function, self.last[function], (day, 0, MINUTES), reading, visit, &example)?;
        }
        Ok(())
    }

    fn finish(self, reading: &mut Reading<'_>) {
        let app_of = |name: &str| name.rsplit_once('/').map_or(String::new(), |(app, _)| app.to_string());
        let mut functions_of: BTreeMap<String, u32> = BTreeMap::new();
        for function in &reading.functions {
            *functions_of.entry(app_of(&function.name)).or_default() += 1;
        }
        let mut without = [(0, String::new()), (0, String::new())];
        for function in &mut reading.functions {
            let app = app_of(&function.name);
            match self.durations.get(&function.name).and_then(|mean| mean.get()) {
                Some(mean) => function.set(Quantity::Duration, mean, Origin::Measured),
                None => miss(&mut without[0], &function.name),
            }
            let own = self.memory.get(&function.name).and_then(|mean| mean.get());
            let of_app = self.memory.get(&app).and_then(|mean| mean.get());
            let sharing = functions_of.get(&app).copied().unwrap_or(1);
            match (own, of_app) {
                (Some(mb), _) => function.set(Quantity::Memory, mb, Origin::Measured),
                (None, Some(mb)) if sharing == 1 => function.set(Quantity::Memory, mb, Origin::Measured),
                (None, Some(mb)) => function.set(Quantity::Memory, mb / f64::from(sharing), Origin::Derived),
                (None, None) => miss(&mut without[1], &function.name),
            }
        }
        let [durations, memory] = without;
        reading.tally.note(Note::NoDurations, durations.0, || durations.1);
        reading.tally.note(Note::NoMemory, memory.0, || memory.1);
        let unused = |name: &&String| reading.known(name).is_none() && !functions_of.contains_key(*name);
        let names: Vec<String> =
            self.durations.keys().chain(self.memory.keys()).filter(unused).cloned().collect();
        reading.tally.note(Note::NoRequests, names.len() as u64, || names[0].clone());
    }
}

/// Counts a function that lacks something.
fn miss((count, first): &mut (u64, String), name: &str) {
    if *count == 0 {
        *first = name.to_string();
    }
    *count += 1;
}

/// Fills in the minutes `from..to` of a day by the rule for gaps.
fn fill(
    function: usize,
    last: u32,
    (day, from, to): (u32, usize, usize),
    reading: &mut Reading<'_>,
    visit: &mut Visit<'_>,
    example: impl Fn() -> String,
) -> Result<(), WorkloadError> {
    reading.tally.note(Note::FilledMinute, (to - from) as u64, example);
    let start = |minute: usize| f64::from(day) * 86_400.0 + 60.0 * minute as f64;
    let row = |minute: usize, minutes: usize, requests: u64| Row {
        function,
        start_s: start(minute),
        span_s: 60.0 * minutes as f64,
        requests: Some(requests),
        duration_ms: None,
        input_mb: None,
    };
    if reading.rules.gap == Gap::Zero || last == 0 || last == NO_DATA {
        return reading.visit(row(from, to - from, 0), visit);
    }
    for minute in from..to {
        reading.visit(row(minute, 1, u64::from(last)), visit)?;
    }
    Ok(())
}

impl Table {
    /// Where the column of a minute is, from 1.
    fn optional_at(&self, minute: usize) -> Option<usize> {
        // In every published table the columns of the minutes stand in a row at the end.
        let first = self.header.iter().position(|name| name == "1")?;
        let index = first + minute - 1;
        self.header.get(index).is_some_and(|name| name.parse() == Ok(minute)).then_some(index)
    }

    #[cold]
    fn missing_minute(&self, minute: usize) -> WorkloadError {
        WorkloadError::Cell {
            file: self.lines.path().into(),
            line: 1,
            column: self.header.len() + 1,
            field: "header".into(),
            value: crate::input::abridged(&self.header),
            expected: format!("a column for minute {minute} of {MINUTES}"),
        }
    }
}
