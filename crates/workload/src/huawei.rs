//! Reader of the Huawei traces of requests per minute (Joosen et al., SoCC 2023; `sir-lab/data-release`, CC BY 4.0).
//!
//! The layout is `requests_minute/day_DDD.csv` (private data, 200 functions) or `day_DD.csv` (public data, 5093), with
//! the header `day,time,0,1,...`: the day, the absolute second at which the minute starts, and the requests of each
//! function. A row for each minute, in order. An empty cell means *no data*. Whole numbers may be written `6.0`. There
//! are holes between days.
//!
//! Files may be packed (`.gz`, `.zst`, `.zip`). Nothing is repaired in silence: what does not fit is an error with file, line, column, field and value.
//!
//! What the reader cannot see: a file of another metric (delays, instances) that has been moved into a folder of
//! another name looks the same while its values are whole.

use crate::counts::{DayCounts, MINUTES, MinuteCounts, NO_DATA};
use crate::error::{WorkloadError, ranges};
use crate::input::abridged;
use crate::trace::{Tally, is_table, stem};
use crate::wide::{Names, Wide};
use std::collections::BTreeMap;
use std::fs;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

/// Reads some days of a folder `requests_minute`.
///
/// # Errors
/// A day that is not there (the message names those that are), two files for one day, files with different columns,
/// and everything that [`read_day`] refuses.
pub fn read_folder(
    folder: &Path,
    days: impl IntoIterator<Item = u32>,
) -> Result<(MinuteCounts, ReadReport), WorkloadError> {
    let files = day_files(folder)?;
    let mut counts = MinuteCounts::default();
    let mut report = ReadReport::default();
    for wanted in days {
        if counts.days.contains_key(&wanted) {
            continue;
        }
        let path = files.get(&wanted).ok_or_else(|| WorkloadError::MissingDay {
            place: folder.display().to_string(),
            wanted,
            available: ranges(files.keys().copied()),
        })?;
        let file = read_day(path)?;
        if counts.days.is_empty() {
            counts.functions = file.functions;
        } else if counts.functions != file.functions {
            let columns = |names: &[String]| format!("{} functions ({})", names.len(), abridged(names));
            let expected = format!("the {} of the days before", columns(&counts.functions));
            return Err(WorkloadError::File {
                file: path.clone(),
                found: columns(&file.functions),
                expected,
            });
        }
        counts.days.insert(wanted, file.counts);
        report += file.report;
    }
    Ok((counts, report))
}

/// Reads one file. If its name is `day_` and a number, its rows must be of that day.
///
/// # Errors
/// The first thing that does not fit: a header without `day` and `time`, a column that is no function's number or
/// comes twice, a row that is not of the next minute of the day (missing, twice, out of order), a day of other than
/// 1440 minutes, a cell that is neither empty nor a whole number, a folder named after another metric.
pub fn read_day(path: &Path) -> Result<DayFile, WorkloadError> {
    refuse_other_metrics(path)?;
    // Nothing is forgiven here: `huawei_2023` reads by other rules.
    let mut strict = Tally::default();
    let mut wide = Wide::open(path, Names::Numbers, &mut strict)?;
    let mut day = number_in_name(path);
    let mut counts = DayCounts::empty(wide.functions.len());
    let mut report = ReadReport { files: 1, ..ReadReport::default() };
    let mut surplus = vec![0; wide.functions.len()];
    let mut minute = 0;
    loop {
        let cells = if minute < MINUTES { counts.row_mut(minute) } else { &mut surplus[..] };
        let Some((found, time)) = wide.next(cells, &mut strict)? else { break };
        let this_day = check_day(&mut wide, found, day)?;
        day = Some(this_day);
        check_time(&mut wide, time, this_day, minute)?;
        for &count in counts.row_mut(minute).iter() {
            match count {
                NO_DATA => report.no_data += 1,
                count => {
                    report.counts += 1;
                    report.requests += u64::from(count);
                }
            }
        }
        report.rows += 1;
        minute += 1;
    }
    match day {
        Some(day) if minute == MINUTES => Ok(DayFile { day, functions: wide.functions, counts, report }),
        _ => Err(WorkloadError::File {
            file: path.into(),
            found: format!("{minute} rows"),
            expected: format!("{MINUTES}, one for each minute of the day"),
        }),
    }
}

/// The day of a row, which must be `known` if that is.
fn check_day(wide: &mut Wide, found: Option<u64>, known: Option<u32>) -> Result<u32, WorkloadError> {
    let found = found.and_then(|day| u32::try_from(day).ok());
    match (found, known) {
        (Some(found), Some(known)) if found != known => {
            Err(wide.wrong(wide.day, format!("{known}, the day of the file")))
        }
        (Some(found), _) => Ok(found),
        (None, _) => Err(wide.wrong(wide.day, "the number of a day".into())),
    }
}

/// Refuses every row but the one of `minute`: so none is missing, none comes twice, and they are in order.
fn check_time(wide: &mut Wide, found: Option<u64>, day: u32, minute: usize) -> Result<(), WorkloadError> {
    let start = u64::from(day) * 86_400;
    let expected = start + 60 * minute as u64;
    if minute < MINUTES && found == Some(expected) {
        return Ok(());
    }
    let read_before = found.is_some_and(|time| time >= start && time < expected && (time - start) % 60 == 0);
    Err(wide.wrong(
        wide.day + 1,
        match (minute < MINUTES, read_before) {
            (false, _) => format!("the end of the file, as a day has {MINUTES} minutes"),
            (true, true) => format!("{expected} (that minute was read already)"),
            (true, false) => format!("{expected} (one row for each minute, in order)"),
        },
    ))
}

/// One file of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayFile {
    /// Number of the day.
    pub day: u32,
    /// Names of the functions, in the order of the columns.
    pub functions: Vec<String>,
    /// Requests per minute.
    pub counts: DayCounts,
    /// What the reader met.
    pub report: ReadReport,
}

/// What the reader met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadReport {
    /// Files.
    pub files: u64,
    /// Rows below the headers.
    pub rows: u64,
    /// Cells with a count.
    pub counts: u64,
    /// Empty cells: the trace has no data there, which is not the same as 0.
    pub no_data: u64,
    /// Sum of all counts.
    pub requests: u64,
}

impl AddAssign for ReadReport {
    fn add_assign(&mut self, other: ReadReport) {
        let ReadReport { files, rows, counts, no_data, requests } = other;
        self.files += files;
        self.rows += rows;
        self.counts += counts;
        self.no_data += no_data;
        self.requests += requests;
    }
}

/// The files `day_<number>.csv`, packed or not, of a folder, by number.
pub(crate) fn day_files(folder: &Path) -> Result<BTreeMap<u32, PathBuf>, WorkloadError> {
    let failed = |source| WorkloadError::Io { path: folder.into(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    // The order of a folder differs between machines; of two files for one day the same one must be named.
    paths.sort();
    let mut files: BTreeMap<u32, PathBuf> = BTreeMap::new();
    for path in paths {
        if !is_table(&path) {
            continue;
        }
        let Some(day) = number_in_name(&path) else {
            continue;
        };
        if let Some(first) = files.get(&day) {
            let found = format!("day {day} a second time");
            let expected = format!("one file a day (the first is {})", first.display());
            return Err(WorkloadError::File { file: path, found, expected });
        }
        files.insert(day, path);
    }
    Ok(files)
}

/// The number in `day_<number>.csv`, packed or not.
pub(crate) fn number_in_name(path: &Path) -> Option<u32> {
    let stem = stem(path);
    let digits = stem.strip_prefix("day_")?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Fails if the folder is the official one of another metric, or of seconds.
pub(crate) fn refuse_other_metrics(path: &Path) -> Result<(), WorkloadError> {
    const OTHERS: [&str; 7] = [
        "function_delay",
        "platform_delay",
        "cpu_usage",
        "memory_usage",
        "cpu_limit",
        "memory_limit",
        "instances",
    ];
    let Some(folder) = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()) else {
        return Ok(());
    };
    let metric = folder.strip_suffix("_minute").or_else(|| folder.strip_suffix("_second"));
    if folder == "requests_second" || metric.is_some_and(|metric| OTHERS.contains(&metric)) {
        let found = format!("a file of {folder}");
        return Err(WorkloadError::File {
            file: path.into(),
            found,
            expected: "one of requests_minute".into(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::huawei_folder;
    use crate::wide::whole;
    use proptest::prelude::*;

    /// A day file of functions 4 and 28 with the counts `minute % 7` and no data, where `edit` may spoil the lines
    /// (the header is line 0) and the bytes are written to `name`.
    fn day_file(folder: &Path, name: &str, day: u32, edit: impl Fn(&mut Vec<String>)) -> PathBuf {
        let mut lines = vec!["day,time,4,28".to_string()];
        let start = u64::from(day) * 86_400;
        lines.extend(
            (0..MINUTES as u64).map(|minute| format!("{day},{},{}.0,", start + 60 * minute, minute % 7)),
        );
        edit(&mut lines);
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, lines.join("\n") + "\n").expect("a file");
        path
    }

    #[test]
    fn a_good_file_is_read_in_every_form() {
        type Edit = fn(&mut Vec<String>);
        let bare: Edit = |_| ();
        let bom: Edit = |lines| lines[0].insert(0, '\u{feff}');
        let crlf: Edit = |lines| lines.iter_mut().for_each(|line| line.push('\r'));
        let pandas: Edit = |lines| {
            lines[0].insert(0, ',');
            lines
                .iter_mut()
                .enumerate()
                .skip(1)
                .for_each(|(index, line)| *line = format!("{},{line}", index - 1));
        };
        let integers: Edit = |lines| lines.iter_mut().for_each(|line| *line = line.replace(".0", ""));
        let quoted: Edit = |lines| lines[0] = "\"day\",\"time\",\"4\",\"28\"".into();
        let folder = tempfile::tempdir().expect("a folder");
        for (index, edit) in [bare, bom, crlf, pandas, integers, quoted].into_iter().enumerate() {
            let path = day_file(folder.path(), &format!("{index}/day_003.csv"), 3, edit);
            let file = read_day(&path).unwrap_or_else(|error| panic!("{index}: {error}"));
            assert_eq!((file.day, file.functions.as_slice()), (3, &["4".to_string(), "28".to_string()][..]));
            assert_eq!([0, 8, 1439].map(|minute| file.counts.get(minute, 0)), [Some(0), Some(1), Some(4)]);
            assert_eq!(file.counts.get(0, 1), None);
            let requests = (0..1440).map(|minute| minute % 7).sum();
            let expected = ReadReport { files: 1, rows: 1440, counts: 1440, no_data: 1440, requests };
            assert_eq!(file.report, expected);
            assert_eq!((file.counts.total(), file.counts.no_data()), (requests, 1440));
        }
    }

    #[test]
    fn a_name_without_a_day_takes_the_day_of_its_rows() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = day_file(folder.path(), "part.csv", 12, |_| ());
        assert_eq!(read_day(&path).expect("a day").day, 12);
    }

    /// Checks that a file is refused with these words, which start after the folder.
    fn check_refused(folder: &Path, edit: impl Fn(&mut Vec<String>), expected: &str) {
        let path = day_file(folder, "day_003.csv", 3, edit);
        let message = read_day(&path).expect_err(expected).to_string();
        assert_eq!(message, format!("{}{expected}", path.display()));
    }

    /// Rows 6, 10, 12, 13 and 17 of the list of public issues, and what DSLab panics on or takes in silence.
    #[test]
    fn bad_lines_are_refused_with_place_value_and_expectation() {
        const COUNT: &str = "expected a whole number from 0 to 4294967294, or nothing where there is no data";
        const NEXT: &str = "expected 259380 (one row for each minute, in order)";
        const NUMBER: &str = "expected the number of a function";
        let fraction =
            format!("{COUNT} (a fraction is of another metric: is this the folder requests_minute?)");
        let folder = tempfile::tempdir().expect("a folder");
        // The line that is replaced, from 0; what stands there; the place and the field; what was expected.
        #[rustfmt::skip]
        let cases = [
            (4, "3,259380,NaN,", r#"5:3: 4: "NaN""#, COUNT),
            (4, "3,259380,nan,", r#"5:3: 4: "nan""#, COUNT),
            (4, "3,259380,1,inf", r#"5:4: 28: "inf""#, COUNT),
            (4, "3,259380,-1,", r#"5:3: 4: "-1""#, COUNT),
            (4, "3,259380,-1.5,", r#"5:3: 4: "-1.5""#, &fraction),
            (4, "3,259380,3.5,", r#"5:3: 4: "3.5""#, &fraction),
            (4, "3,259380,0.004,", r#"5:3: 4: "0.004""#, &fraction),
            (4, "3,259380,1e300,", r#"5:3: 4: "1e300""#, COUNT),
            (4, "3,259380,4294967295,", r#"5:3: 4: "4294967295""#, COUNT),
            (4, "3,259380,six,", r#"5:3: 4: "six""#, COUNT),
            (4, "3,259380, 6,", r#"5:3: 4: " 6""#, COUNT),
            (4, "\n\r\n3,259380,six,", r#"7:3: 4: "six""#, COUNT),
            (0, "\u{feff}\n\nday,time,six", r#"3:3: header: "six""#, NUMBER),
            (4, "3,259380,1", r#"5:4: row: "3 fields""#, "expected 4, as in the header"),
            (4, "3,259380,1,2,3", r#"5:5: row: "5 fields""#, "expected 4, as in the header"),
            (4, "4,259380,1,", r#"5:1: day: "4""#, "expected 3, the day of the file"),
            (4, "x,259380,1,", r#"5:1: day: "x""#, "expected the number of a day"),
            (4, "3,180,1,", r#"5:2: time: "180""#, NEXT),
            (4, "3,-60,1,", r#"5:2: time: "-60""#, NEXT),
            (4, "3,259381,1,", r#"5:2: time: "259381""#, NEXT),
            (4, "3,259440,1,", r#"5:2: time: "259440""#, NEXT),
            (4, "3,259320,1,", r#"5:2: time: "259320""#, "expected 259380 (that minute was read already)"),
            (0, "time,day,4,28", r#"1:1: header: "time""#, r#"expected "day" (the header is day,time,0,1,...)"#),
            (0, "3,259200,1,1", r#"1:1: header: "3""#, r#"expected "day" (the header is day,time,0,1,...)"#),
            (0, "day", r#"1:2: header: """#, r#"expected "time" (the header is day,time,0,1,...)"#),
            (0, "day,time", r#"1:3: header: """#, NUMBER),
            (0, "day,time,4,...", r#"1:4: header: "...""#, NUMBER),
            (0, "day,time,4,4.1", r#"1:4: header: "4.1""#, NUMBER),
            (0, "day,time,4,04", r#"1:4: header: "04""#, NUMBER),
            (0, "day,time,4,4", r#"1:4: header: "4""#, "expected each function once (it is column 3 too)"),
        ];
        for (line, text, place, expected) in cases {
            check_refused(folder.path(), |lines| lines[line] = text.into(), &format!(":{place}: {expected}"));
        }
    }

    #[test]
    fn a_day_with_lines_missing_twice_or_out_of_order_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let check = |edit: fn(&mut Vec<String>), expected| check_refused(folder.path(), edit, expected);
        let swapped = r#":5:2: time: "259440": expected 259380 (one row for each minute, in order)"#;
        check(|lines| lines.swap(4, 5), swapped);
        check(|lines| drop(lines.remove(4)), swapped);
        let twice = r#":5:2: time: "259320": expected 259380 (that minute was read already)"#;
        check(|lines| lines.insert(4, lines[3].clone()), twice);
        let surplus = r#":1442:2: time: "345600": expected the end of the file, as a day has 1440 minutes"#;
        check(|lines| lines.push("3,345600,1,".into()), surplus);
        check(|lines| lines.truncate(1440), ": 1439 rows: expected 1440, one for each minute of the day");
        check(|lines| lines.truncate(1), ": 0 rows: expected 1440, one for each minute of the day");
        check(|lines| lines.clear(), ": an empty file: expected a header day,time,0,1,...");
    }

    #[test]
    fn a_folder_of_another_metric_is_refused_by_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        for metric in ["function_delay_minute", "instances_minute", "requests_second"] {
            let path = day_file(folder.path(), &format!("{metric}/day_003.csv"), 3, |_| ());
            let message = read_day(&path).expect_err(metric).to_string();
            let expected = format!("{}: a file of {metric}: expected one of requests_minute", path.display());
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn a_missing_day_is_named_with_the_days_that_exist() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().display();
        let none = read_folder(folder.path(), [1]).expect_err("an empty folder").to_string();
        assert_eq!(none, format!("{place}: no day 1; there are the days none"));
        for day in [0, 1, 2, 5, 7, 8] {
            day_file(folder.path(), &format!("day_{day:03}.csv"), day, |_| ());
        }
        fs::write(folder.path().join("day_004.txt"), "no table").expect("a file");
        let hole = read_folder(folder.path(), 1..4).expect_err("a hole").to_string();
        assert_eq!(hole, format!("{place}: no day 3; there are the days 0-2, 5, 7-8"));
        let (counts, report) = read_folder(folder.path(), [7, 2, 7]).expect("two days");
        assert_eq!(counts.days.keys().copied().collect::<Vec<_>>(), [2, 7]);
        assert_eq!((report.files, report.rows), (2, 2880));
        let missing = counts.day(3).expect_err("not read").to_string();
        assert_eq!(missing, "the counts: no day 3; there are the days 2, 7");
    }

    #[test]
    fn files_that_contradict_each_other_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = day_file(folder.path(), "day_001.csv", 1, |_| ());
        let other = day_file(folder.path(), "day_002.csv", 2, |lines| lines[0] = "day,time,4,29".into());
        let message = read_folder(folder.path(), [1, 2]).expect_err("other columns").to_string();
        let expected = "2 functions (4, 29): expected the 2 functions (4, 28) of the days before";
        assert_eq!(message, format!("{}: {expected}", other.display()));
        let twice = day_file(folder.path(), "day_01.csv", 1, |_| ());
        let message = read_folder(folder.path(), [1]).expect_err("two files").to_string();
        let expected = format!("one file a day (the first is {})", first.display());
        assert_eq!(message, format!("{}: day 1 a second time: expected {expected}", twice.display()));
        let gone = read_folder(&folder.path().join("gone"), [1]).expect_err("no folder").to_string();
        assert!(gone.starts_with(&folder.path().join("gone: ").display().to_string()), "{gone}");
    }

    proptest! {
        /// What pandas may write for a whole number is read as that number, and nothing else is.
        #[test]
        fn whole_numbers_are_read_exactly(number in 0_u64..1_000_000_000_000_000, zeros in 0_usize..4) {
            let plain = number.to_string();
            prop_assert_eq!(whole(plain.as_bytes()), Some(number));
            let float = format!("{number}.{}", "0".repeat(zeros));
            prop_assert_eq!(whole(float.as_bytes()), Some(number));
            let exponent = format!("{:e}", number as f64);
            prop_assert_eq!(whole(exponent.as_bytes()), Some(number));
            let (negative, half) = (format!("-{}", number + 1), format!("{number}.5"));
            prop_assert_eq!(whole(negative.as_bytes()), None);
            prop_assert_eq!(whole(half.as_bytes()), None);
        }

        /// No bytes make the reader panic.
        #[test]
        fn any_bytes_give_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("day_000.csv");
            fs::write(&path, bytes).expect("a file");
            prop_assert!(read_day(&path).is_err());
        }
    }

    /// Sums of the real files, computed by nothing but splitting at commas, equal the reader's.
    #[test]
    fn sums_of_the_real_trace_are_those_of_its_text() {
        let Some(root) = huawei_folder() else { return };
        for (folder, digits) in [("private_dataset", 3), ("public_dataset", 2)] {
            let folder = root.join(folder).join("requests_minute");
            let (counts, report) = read_folder(&folder, 0..5).expect("five days");
            let mut all = 0;
            for day in 0..5_u32 {
                let text =
                    fs::read_to_string(folder.join(format!("day_{day:0digits$}.csv"))).expect("a file");
                for function in 0..counts.functions.len() {
                    let cell =
                        |line: &str| line.split(',').nth(2 + function).map(|cell| cell.trim().to_string());
                    let number = |cell: String| cell.parse::<f64>().expect("a number") as u64;
                    let sum: u64 = text.lines().skip(1).filter_map(cell).map(number).sum();
                    assert_eq!(
                        counts.days[&day].function_total(function),
                        sum,
                        "day {day}, function {function}"
                    );
                    all += sum;
                }
            }
            assert_eq!((report.files, report.rows, report.requests), (5, 7200, all));
            assert_eq!(counts.total(), all);
        }
    }

    /// Of the notebooks' tables, whose `...` stand for what they leave out, none passes for a day.
    #[test]
    fn abridged_tables_are_refused() {
        let Some(root) = huawei_folder() else { return };
        let path = root.join("notebook_rows").join("private_requests_minute.csv");
        let message = read_day(&path).expect_err("abridged").to_string();
        let expected = ":1:12: header: \"...\": expected the number of a function";
        assert!(message.ends_with(expected), "{message}");
    }
}
