//! Reader of the Azure Functions trace of 2021. What it reads, and what becomes of it, stands at
//! [`Format::Azure2021`](crate::Format::Azure2021).

use crate::error::WorkloadError;
use crate::input::Table;
use crate::trace::{
    Fault, MAX_DAYS, Mean, Note, Origin, Quantity, Reading, Row, Visit, files_below, is_table, number,
    within_days,
};
use std::path::Path;

pub(crate) fn read(
    path: &Path,
    reading: &mut Reading<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), WorkloadError> {
    let files = if path.is_dir() { files_below(path)? } else { vec![path.to_path_buf()] };
    let mut means: Vec<Mean> = Vec::new();
    let (mut first, mut until) = (f64::INFINITY, f64::NEG_INFINITY);
    for file in files.iter().filter(|file| is_table(file) || *file == path) {
        let mut table = Table::open(file, "app,func,end_timestamp,duration")?;
        let columns = ["app", "func", "end_timestamp", "duration"].map(|name| table.column(name));
        let [app, func, end, duration] = columns;
        let (app, func, end, duration) = (app?, func?, end?, duration?);
        reading.files += 1;
        let mut name = String::new();
        while table.next()? {
            let tally = &mut reading.tally;
            if !table.right_length() && !tally.repairs(Fault::RowLength, table.wrong_length())? {
                continue;
            }
            let Some(end_s) = number(table.fields.get(end)).filter(|end| within_days(*end)) else {
                let expected = format!("the end of the request, in seconds, within {MAX_DAYS} days");
                tally.bad(Fault::BadTime, table.wrong(end, expected))?;
                continue;
            };
            if let Some(&column) = [app, func].iter().find(|&&column| table.fields.get(column).is_empty()) {
                tally.bad(Fault::BadValue, table.wrong(column, "a name"))?;
                continue;
            }
            let lasted = match number(table.fields.get(duration)) {
                None => {
                    let error = table.wrong(duration, "the duration of the request, in seconds");
                    if !tally.repairs(Fault::BadDuration, error)? {
                        continue;
                    }
                    None
                }
                Some(lasted) if lasted < 0.0 => {
                    let error =
                        table.wrong(duration, "at least 0, as a request does not end before it starts");
                    if !tally.repairs(Fault::EndBeforeStart, error)? {
                        continue;
                    }
                    None
                }
                known => known,
            };
            let mut start_s = end_s - lasted.unwrap_or(0.0);
            // Half a microsecond is what the published timestamps are rounded by.
            if start_s < -5e-7 {
                let error = table
                    .wrong(end, "an end not before the duration, so that the request starts at 0 or later");
                if !tally.repairs(Fault::NegativeStart, error)? {
                    continue;
                }
            }
            start_s = start_s.max(0.0);
            let wanted = reading.rules.wants((start_s / 86_400.0) as u32);
            if !wanted {
                continue;
            }
            name.clear();
            name.push_str(&table.fields.text(app));
            name.push('/');
            name.push_str(&table.fields.text(func));
            if lasted == Some(0.0) {
                let line = table.lines.number();
                tally.note(Note::ZeroDuration, 1, || format!("{}:{line}", table.lines.path().display()));
            }
            let function = reading.function(&name);
            means.resize(reading.functions.len(), Mean::default());
            reading.rows += 1;
            let duration_ms = lasted.map(|lasted| lasted * 1000.0);
            if let Some(duration_ms) = duration_ms {
                means[function].add(duration_ms, 1.0);
            }
            let row = Row { function, start_s, span_s: 0.0, requests: Some(1), duration_ms, input_mb: None };
            (first, until) = (first.min(start_s), until.max(row.until_s()));
            reading.visit(row, visit)?;
        }
    }
    for (function, mean) in reading.functions.iter_mut().zip(&means) {
        // Between the first and the last request of the trace every function is known.
        (function.from_s, function.until_s) = (first, until);
        if let Some(mean) = mean.get() {
            function.set(Quantity::Duration, mean, Origin::Measured);
        }
    }
    let nameless = reading.functions.len() as u64;
    reading.tally.note(Note::NoMemory, nameless, || "the trace of 2021 has no memory".into());
    Ok(())
}
