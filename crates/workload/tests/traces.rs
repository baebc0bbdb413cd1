//! Bad and odd input of every reader, as users of public traces met it: each test names the public issue it comes from.
//! Files are made here; the real ones are read in `real.rs`.

use scale_model::{Cores, Memory, Seed};
use scale_workload::collect::{Collector, adopt, busiest};
use scale_workload::describe::Describer;
use scale_workload::trace::read;
use scale_workload::write_azure::AzureWriter;
use scale_workload::{CatalogueSpec, Lognormal, Pool, Tally, catalogue};
use scale_workload::{Fault, Format, Gap, Note, OnBad, Origin, Quantity, Row, Rules, Trace, WorkloadError};
use std::fs;
use std::path::Path;

/// Files of a trace: path and text.
type Files<'a> = &'a [(&'a str, String)];

fn write(folder: &Path, files: Files<'_>) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}

fn load(files: Files<'_>, format: Format, rules: &Rules) -> Result<(Trace, Vec<Row>), WorkloadError> {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), files);
    let mut rows = Vec::new();
    let trace = read(folder.path(), format, rules, &mut |row| {
        rows.push(row);
        Ok(())
    })?;
    Ok((trace, rows))
}

fn good(files: Files<'_>, format: Format, rules: &Rules) -> (Trace, Vec<Row>) {
    load(files, format, rules).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(files: Files<'_>, format: Format) -> String {
    load(files, format, &Rules::default()).expect_err("a fault").to_string()
}

/// In `error` mode the message ends with `error`; `skip` and `repair` go on with so many requests, and count one fault.
fn check(files: Files<'_>, format: Format, fault: Fault, error: &str, [skip, repair]: [u64; 2]) {
    let message = refused(files, format);
    assert!(message.ends_with(error), "{message}\nexpected the end {error}");
    for (on_bad, requests) in [(OnBad::Skip, skip), (OnBad::Repair, repair)] {
        let (trace, rows) = good(files, format, &Rules { on_bad, gap: Gap::Zero, ..Rules::default() });
        assert_eq!(trace.requests, requests, "{on_bad:?} after {message}\n{}", trace.tally);
        assert_eq!(rows.iter().filter_map(|row| row.requests).sum::<u64>(), requests);
        assert_eq!(trace.tally.faults.keys().collect::<Vec<_>>(), [&fault], "{on_bad:?} after {message}");
        let (first, place) = (&trace.tally.faults[&fault].first, error.trim_start_matches(':'));
        assert!(first.ends_with(place), "{first}: the first example is not the error");
    }
}

fn minutes(count: impl Fn(usize) -> String) -> String {
    (1..=1440).map(|minute| format!(",{}", count(minute))).collect()
}

/// A table of invocations; each row is owner, app, function, trigger, and its count of each minute.
fn invocations(rows: &[(&str, &str)]) -> String {
    let header = format!("HashOwner,HashApp,HashFunction,Trigger{}\n", minutes(|minute| minute.to_string()));
    rows.iter().fold(header, |text, (names, count)| text + names + &minutes(|_| count.to_string()) + "\n")
}

const DURATIONS: &str = "HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,percentile_Average_0,\
                         percentile_Average_1,percentile_Average_25,percentile_Average_50,percentile_Average_75,\
                         percentile_Average_99,percentile_Average_100\n";
const MEMORY: &str = "HashOwner,HashApp,SampleCount,AverageAllocatedMb,AverageAllocatedMb_pct1\n";

/// One function called once a minute, with these rows of durations and memory.
fn azure(durations: &str, memory: &str) -> Vec<(&'static str, String)> {
    vec![
        ("invocations_per_function_md.anon.d01.csv", invocations(&[("o,a,f,http", "1")])),
        ("function_durations_percentiles.anon.d01.csv", DURATIONS.to_string() + durations),
        ("app_memory_percentiles.anon.d01.csv", MEMORY.to_string() + memory),
    ]
}

const SOUND: &str = "o,a,f,100,1440,50,300,50,60,80,90,120,250,300\n";

/// A day of a Huawei table: `line` gives the cells of each minute.
fn day(day: u32, header: &str, line: impl Fn(u64) -> String) -> String {
    let start = u64::from(day) * 86_400;
    (0..1440).fold(format!("day,time,{header}\n"), |text, minute| {
        text + &format!("{day},{},{}\n", start + 60 * minute, line(minute))
    })
}

fn huawei(text: String) -> Vec<(&'static str, String)> {
    vec![("requests_minute/day_000.csv", text)]
}

/// Replaces the line of this number (the header is 1).
fn edit(text: String, line: usize, by: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines[line - 1] = by;
    lines.join("\n") + "\n"
}

const REQUESTS_2025: &str = "time_worker,time_frontend,requestID,clusterName,funcName,podID,userID,totalCost_worker,\
                             workerCost,runtimeCost,totalCost_frontend,frontendCost,busCost,readBodyCost,\
                             writeRspCost,cpu_usage,memory_usage,requestBodySize\n";
const COLD_2025: &str = "day,time,clusterName,funcName,userID,requestID,totalCost_cold_start,podAllocationCost,\
                         deployCodeCost,deployDependencyCost,schedulingCost,podID\n";

fn request(time: &str, cost: &str) -> String {
    format!("{time},{time},r,1,7,pool22-300-128-0001,9,{cost},0,0,0,0,0,0,0,0.15,64,2000000\n")
}

/// Azure/AzurePublicDataset#23: a day with a duplicate function, a function without durations, an app without memory.
#[test]
fn what_a_day_of_azure_2019_lacks_is_counted() {
    let files = [
        (
            "invocations_per_function_md.anon.d01.csv",
            invocations(&[("o,a,f,http", "1"), ("o,b,g,timer", "2")]),
        ),
        ("function_durations_percentiles.anon.d01.csv", format!("{DURATIONS}{SOUND}")),
        ("app_memory_percentiles.anon.d01.csv", format!("{MEMORY}o,b,5,200,200\no,gone,5,100,100\n")),
    ];
    let (trace, _) = good(&files, Format::Auto, &Rules::default());
    assert_eq!((trace.requests, trace.functions.len()), (3 * 1440, 2));
    let noted = [Note::NoDurations, Note::NoMemory, Note::NoRequests].map(|note| trace.tally.noted(note));
    assert_eq!(noted, [1, 1, 1]);
    assert_eq!(trace.tally.notes[&Note::NoDurations].first, "o/b/g");
    assert_eq!(trace.tally.notes[&Note::NoMemory].first, "o/a/f");
    assert_eq!(trace.functions[1].origin(Quantity::Duration), Origin::Profile);
    let twice = [("invocations.csv", invocations(&[("o,a,f,http", "1"), ("o,a,f,queue", "2")]))];
    let place = ":3:3: HashFunction: \"f\": expected each function once a day";
    check(&twice, Format::Auto, Fault::DuplicateFunction, place, [1440, 3 * 1440]);
}

/// Azure/AzurePublicDataset#40: the same function twice in one day's durations.
#[test]
fn the_second_row_of_durations_has_a_rule() {
    let files = azure(
        "o,a,f,100,30,50,300,50,60,80,90,120,250,300\no,a,f,200,10,50,300,50,60,80,90,120,250,300\n",
        "o,a,5,100,100\n",
    );
    let place = ":3:3: HashFunction: \"f\": expected each function once a day";
    check(&files, Format::Azure2019, Fault::DuplicateRow, place, [1440, 1440]);
    let duration = |on_bad| {
        let (trace, _) = good(&files, Format::Azure2019, &Rules { on_bad, ..Rules::default() });
        trace.functions[0].get(Quantity::Duration)
    };
    // (100 x 30 + 200 x 10) / 40.
    assert_eq!((duration(OnBad::Skip), duration(OnBad::Repair)), (Some(100.0), Some(125.0)));
}

/// Azure/AzurePublicDataset#39: a function whose trigger changes from one day to the next is one function.
#[test]
fn the_trigger_is_no_part_of_a_function() {
    let files = [
        ("invocations_per_function_md.anon.d01.csv", invocations(&[("o,a,f,http", "1")])),
        ("invocations_per_function_md.anon.d02.csv", invocations(&[("o,a,f,queue", "2")])),
    ];
    let (trace, _) = good(&files, Format::Auto, &Rules::default());
    assert_eq!((trace.functions.len(), trace.functions[0].requests), (1, 3 * 1440));
    assert_eq!((trace.functions[0].from_s, trace.functions[0].until_s), (0.0, 2.0 * 86_400.0));
}

/// Azure/AzurePublicDataset#46: 8.65 % of the durations of 2021 are 0. They are kept, and nothing is divided by them.
#[test]
fn durations_of_zero_are_kept() {
    let text = "app,func,end_timestamp,duration\na,f,1,0\na,f,1,0\na,f,1,0\na,f,4,2\n".to_string();
    let files = [("trace.csv", text)];
    let (trace, rows) = good(&files, Format::Auto, &Rules::default());
    assert_eq!((trace.requests, trace.tally.noted(Note::ZeroDuration)), (4, 3));
    assert_eq!(trace.functions[0].get(Quantity::Duration), Some(500.0));
    let mut describer = Describer::default();
    rows.iter().for_each(|&row| describer.row(row));
    let description = describer.finish(&trace);
    assert_eq!(description.durations.quantile(0.5), Some(0.0));
    assert!(description.gap_cvs.iter().all(|cv| cv.is_finite()), "{:?}", description.gap_cvs);
}

/// Azure/AzurePublicDataset#25: a duration does not hold the cold start, so the cold start is counted once, on its own.
#[test]
fn a_cold_start_is_no_part_of_a_duration() {
    let cold = format!("{COLD_2025}0,0.1,1,7,9,r,1.5,0.5,0.2,0.3,0.5,pool22-300-128-0001\n");
    let files = [("requests.csv", format!("{REQUESTS_2025}{}", request("10", "0.2"))), ("cold.csv", cold)];
    let (trace, _) = good(&files, Format::Huawei2025, &Rules::default());
    let [function] = &trace.functions[..] else { panic!("{:?}", trace.functions) };
    assert_eq!(function.name, "7---9---pool22-300-128");
    let get = |quantity| (function.get(quantity).expect("a value"), function.origin(quantity));
    assert_eq!(get(Quantity::Duration), (200.0, Origin::Measured));
    // Allocation and scheduling; 0.5 s of deployment at 100 MB/s; 0.15 cores for 200 ms.
    assert_eq!(get(Quantity::Init), (1000.0, Origin::Measured));
    assert_eq!(get(Quantity::Image), (50.0, Origin::Derived));
    assert_eq!(get(Quantity::CpuTime), (30.0, Origin::Derived));
    assert_eq!(get(Quantity::Cores), (0.3, Origin::Measured));
    assert_eq!(get(Quantity::Memory), (128.0, Origin::Measured));
    assert_eq!(get(Quantity::Input), (2.0, Origin::Measured));
}

/// Azure/AzurePublicDataset#4: times that are no multiples of the period. A table per minute refuses them; our own layout
/// keeps them to the bit; and what lies across minutes is not rounded into one.
#[test]
fn times_off_the_grid_are_not_rounded() {
    let text = edit(day(0, "4", |_| "1".into()), 3, "0,61,1");
    let place = ":3:2: time: \"61\": expected 60 (one row every 60 s, in order)";
    check(&huawei(text), Format::Huawei2023, Fault::BadTime, place, [1439, 1439]);
    let own = [(
        "requests.csv",
        "start_s,span_s,function,requests\n61.51234567890123,0,f,1\n90.5,60,f,3\n".to_string(),
    )];
    let (trace, rows) = good(&own, Format::Auto, &Rules::default());
    assert_eq!((trace.requests, rows[0].start_s, rows[1].start_s), (4, 61.512_345_678_901_23, 90.5));
    let mut collector = Collector::default();
    collector.row(rows[0]).expect("one minute");
    let message = collector.row(rows[1]).expect_err("two minutes").to_string();
    let expected = "a row within one minute, or of whole minutes: nothing is rounded in silence";
    assert_eq!(message, format!("start_s, span_s: 90.5, 60: expected {expected}"));
}

/// Azure/AzurePublicDataset#35: links to data die, and the data is not there. The message names the place.
#[test]
fn data_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in Format::ALL {
        let gone = folder.path().join("gone");
        let message =
            read(&gone, format, &Rules::default(), &mut |_| Ok(())).expect_err("nothing").to_string();
        assert!(message.starts_with(&gone.display().to_string()), "{}: {message}", format.name());
    }
    let message =
        read(folder.path(), Format::Auto, &Rules::default(), &mut |_| Ok(())).expect_err("empty").to_string();
    assert!(message.contains("no tables: expected a trace"), "{message}");
}

/// vhive-serverless/invitro#278: an average of 0 ms with a count above 0; and averages and percentiles that disagree.
#[test]
fn averages_must_agree_with_counts_and_percentiles() {
    let check_row = |row: &str, fault, place: &str, durations: [Option<f64>; 2]| {
        let files = azure(row, "o,a,5,100,100\n");
        check(&files, Format::Azure2019, fault, place, [1440, 1440]);
        let modes = [OnBad::Skip, OnBad::Repair].map(|on_bad| {
            let (trace, _) = good(&files, Format::Azure2019, &Rules { on_bad, ..Rules::default() });
            trace.functions[0].get(Quantity::Duration)
        });
        assert_eq!(modes, durations, "{row}");
    };
    let zero = ": expected an average above 0 ms, as the function ran";
    let row = |average: &str, rest: &str| format!("o,a,f,{average},1440,{rest}\n");
    let sound = "50,300,50,60,80,90,120,250,300";
    check_row(
        &row("0", sound),
        Fault::ZeroAverage,
        &format!(":2:4: Average: \"0\"{zero}"),
        [None, Some(90.0)],
    );
    check_row(
        &row("-3", sound),
        Fault::ZeroAverage,
        &format!(":2:4: Average: \"-3\"{zero}"),
        [None, Some(90.0)],
    );
    check_row(
        &row("NaN", sound),
        Fault::ZeroAverage,
        &format!(":2:4: Average: \"NaN\"{zero}"),
        [None, Some(90.0)],
    );
    check_row(
        &row("0", "0,0,0,0,0,0,0,0,0"),
        Fault::ZeroAverage,
        &format!(":2:4: Average: \"0\"{zero}"),
        [None, None],
    );
    let falls = ":2:11: percentile_Average_50: \"70\": expected no less than the percentile before";
    check_row(&row("100", "50,300,50,60,80,70,120,250,300"), Fault::Inconsistent, falls, [None, Some(100.0)]);
    let outside = ":2:4: Average: \"400\": expected between Minimum 50 and Maximum 300";
    check_row(&row("400", sound), Fault::Inconsistent, outside, [None, Some(300.0)]);
    // A function that did not run has no average, and that is no fault.
    let (trace, _) = good(
        &azure("o,a,f,0,0,0,0,0,0,0,0,0,0,0\n", "o,a,5,100,100\n"),
        Format::Azure2019,
        &Rules::default(),
    );
    assert!(trace.tally.faults.is_empty() && trace.tally.noted(Note::NoDurations) == 1);
}

/// vhive-serverless/invitro PR#39 and #90: memory is of an app, and is divided over its functions, not given to each.
#[test]
fn the_memory_of_an_app_is_divided() {
    let files = [
        ("invocations.csv", invocations(&[("o,a,f,http", "1"), ("o,a,g,http", "1"), ("o,b,h,http", "1")])),
        ("memory.csv", format!("{MEMORY}o,a,5,300,300\no,b,5,100,100\n")),
    ];
    let (trace, _) = good(&files, Format::Azure2019, &Rules::default());
    let memory = |index: usize| {
        let function = &trace.functions[index];
        (function.get(Quantity::Memory), function.origin(Quantity::Memory))
    };
    assert_eq!(
        [memory(0), memory(1), memory(2)],
        [(Some(150.0), Origin::Derived), (Some(150.0), Origin::Derived), (Some(100.0), Origin::Measured)]
    );
    let check_memory = |mb: &str| {
        let files = azure(SOUND, &format!("o,a,5,{mb},100\n"));
        let place = format!(":2:4: AverageAllocatedMb: \"{mb}\": expected memory above 0 MB");
        check(&files, Format::Azure2019, Fault::BadMemory, &place, [1440, 1440]);
    };
    ["0", "-1", "NaN", "", "much"].into_iter().for_each(check_memory);
    let (trace, _) = good(&azure(SOUND, "o,a,5,128.5,128.5\n"), Format::Azure2019, &Rules::default());
    assert_eq!(trace.functions[0].get(Quantity::Memory), Some(128.5));
}

/// vhive-serverless/invitro PR#766: delays are not requests, a missing day is named, and blank is not 0.
#[test]
fn huawei_tables_are_what_they_say() {
    let delays = [("function_delay_minute/day_000.csv", day(0, "4", |_| "250.5".into()))];
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &delays);
    let path = folder.path().join("function_delay_minute");
    let message =
        read(&path, Format::Huawei2023, &Rules::default(), &mut |_| Ok(())).expect_err("delays").to_string();
    assert!(
        message.ends_with("a file of function_delay_minute: expected one of requests_minute"),
        "{message}"
    );
    // Moved to another folder they still have fractions.
    let fraction = "or nothing where there is no data (a fraction is of another metric: is this the folder requests_minute?)";
    let place = format!(":2:3: 4: \"250.5\": expected a whole number from 0 to 4294967294, {fraction}");
    let text = edit(day(0, "4", |_| "1".into()), 2, "0,0,250.5");
    check(&huawei(text), Format::Huawei2023, Fault::Fraction, &place, [1439, 1439]);

    let days = [0, 1, 3]
        .map(|number| (format!("requests_minute/day_{number:03}.csv"), day(number, "4", |_| "1".into())));
    let files: Vec<(&str, String)> = days.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let message = refused(&files, Format::Huawei2023);
    assert!(message.ends_with("no day 2; there are the days 0-1, 3"), "{message}");

    let (trace, rows) = good(
        &huawei(day(0, "4,28", |minute| if minute == 700 { ",0".into() } else { "0,".into() })),
        Format::Auto,
        &Rules::default(),
    );
    // Function 28 is known for one minute only, in which it had no request; function 4 lacks that minute.
    assert_eq!(
        (trace.requests, trace.no_data, rows.iter().filter(|row| row.requests.is_none()).count()),
        (0, 1440, 740)
    );
    let known = |index: usize| (trace.functions[index].from_s, trace.functions[index].until_s);
    assert_eq!([known(0), known(1)], [(0.0, 86_400.0), (42_000.0, 42_060.0)]);
    let mut collector = Collector::default();
    rows.iter().try_for_each(|&row| collector.row(row)).expect("minutes");
    let counts = collector.finish(&trace, &[0, 1], [0]).expect("a day");
    let cells = |function| [699, 700, 701].map(|minute| counts.days[&0].get(minute, function));
    assert_eq!([cells(0), cells(1)], [[Some(0), None, Some(0)], [None, Some(0), None]]);
}

/// vhive-serverless/invitro PR#748: the trace of 2021 has no memory; that the profile's is used is in the output.
#[test]
fn memory_from_the_profile_is_said_by_column() {
    let files = [("trace.csv", "app,func,end_timestamp,duration\na,f,1,0.5\n".to_string())];
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &files);
    let mut writer = scale_workload::own::Writer::new(&folder.path().join("out")).expect("a folder");
    let trace = read(folder.path(), Format::Azure2021, &Rules::default(), &mut |row| writer.row(row))
        .expect("a trace");
    writer.finish(&trace).expect("written");
    let text = fs::read_to_string(folder.path().join("out/functions.csv")).expect("a table");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (header, row) = (lines.next().expect("a header"), lines.next().expect("a row"));
    let of = |name: &str| row[header.iter().position(|found| *found == name).expect(name)];
    assert_eq!((of("memory_mb"), of("memory_mb_from")), ("", "profile"));
    assert_eq!((of("duration_ms"), of("duration_ms_from")), ("500", "measured"));
    assert_eq!(trace.tally.noted(Note::NoMemory), 1);
}

/// atlarge-research/opendc PR#39: gaps are filled by a rule that is asked for, and a timestamp may be the end.
#[test]
fn gaps_are_filled_by_the_rule_that_is_asked_for() {
    let lines: Vec<String> =
        day(0, "4", |minute| (minute % 7 + 1).to_string()).lines().map(String::from).collect();
    // Minutes 3, 4 and 5 are missing: 4, 5 and 6 requests. Minute 2 has 3.
    let text = [&lines[..4], &lines[7..]].concat().join("\n");
    let all: u64 = (0..1440).map(|minute| minute % 7 + 1).sum();
    let place = ":5:2: time: \"360\": expected 180 (one row every 60 s, in order; or a rule for gaps)";
    assert!(refused(&huawei(text.clone()), Format::Huawei2023).ends_with(place));
    for (gap, requests) in [(Gap::Zero, all - 15), (Gap::Hold, all - 15 + 9)] {
        let (trace, _) = good(&huawei(text.clone()), Format::Huawei2023, &Rules { gap, ..Rules::default() });
        assert_eq!((trace.requests, trace.tally.noted(Note::FilledMinute)), (requests, 3), "{gap:?}");
        assert_eq!(trace.functions[0].until_s, 86_400.0);
    }
    // A day that ends early, and a whole day that is missing.
    let short = huawei(lines[..1440].join("\n"));
    assert!(
        refused(&short, Format::Huawei2023)
            .ends_with("a day that ends after 1439 rows: expected 1440, one every 60 s (or a rule for gaps)")
    );
    let days = [0, 2]
        .map(|number| (format!("requests_minute/day_{number:03}.csv"), day(number, "4", |_| "2".into())));
    let files: Vec<(&str, String)> = days.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    for (gap, requests) in [(Gap::Zero, 5760), (Gap::Hold, 8640)] {
        let (trace, _) = good(&files, Format::Huawei2023, &Rules { gap, ..Rules::default() });
        assert_eq!((trace.requests, trace.tally.noted(Note::FilledMinute)), (requests, 1440), "{gap:?}");
    }
    let azure = ["invocations_per_function_md.anon.d01.csv", "invocations_per_function_md.anon.d03.csv"]
        .map(|name| (name, invocations(&[("o,a,f,http", "2")])));
    assert!(refused(&azure, Format::Azure2019).ends_with("no day 1; there are the days 0, 2"));
    for (gap, requests) in [(Gap::Zero, 5760), (Gap::Hold, 8640)] {
        let (trace, _) = good(&azure, Format::Azure2019, &Rules { gap, ..Rules::default() });
        assert_eq!((trace.requests, trace.tally.noted(Note::FilledMinute)), (requests, 1440), "{gap:?}");
    }
    // The timestamp of 2021 is the end.
    let (_, rows) = good(
        &[("t.csv", "app,func,end_timestamp,duration\na,f,10,4\n".into())],
        Format::Auto,
        &Rules::default(),
    );
    assert_eq!((rows[0].start_s, rows[0].span_s, rows[0].duration_ms), (6.0, 0.0, Some(4000.0)));
}

/// alibaba/clusterdata#29: a request before the trace starts.
#[test]
fn negative_times_are_moved_or_left_out() {
    let azure = [("t.csv", "app,func,end_timestamp,duration\na,f,10,4\na,f,1,4\n".to_string())];
    let place = ":3:3: end_timestamp: \"1\": expected an end not before the duration, so that the request starts at 0 or later";
    check(&azure, Format::Azure2021, Fault::NegativeStart, place, [1, 2]);
    let own = [("requests.csv", "start_s,function\n5,f\n-1,f\n".to_string())];
    check(
        &own,
        Format::Scale,
        Fault::NegativeStart,
        ":3:1: start_s: \"-1\": expected a time of at least 0",
        [1, 2],
    );
    let huawei = [("r.csv", format!("{REQUESTS_2025}{}{}", request("5", "1"), request("-1", "1")))];
    check(
        &huawei,
        Format::Huawei2025,
        Fault::NegativeStart,
        ":3:1: time_worker: \"-1\": expected a time of at least 0",
        [1, 2],
    );
    let (_, rows) = good(&own, Format::Scale, &Rules { on_bad: OnBad::Repair, ..Rules::default() });
    assert_eq!(rows[1].start_s, 0.0);
}

/// alibaba/clusterdata#167: a request that ends before it starts, with the number of its line.
#[test]
fn an_end_before_the_start_names_its_line() {
    let azure = [("t.csv", "app,func,end_timestamp,duration\na,f,10,4\n\na,f,11,-2\n".to_string())];
    let place = ":4:4: duration: \"-2\": expected at least 0, as a request does not end before it starts";
    check(&azure, Format::Azure2021, Fault::EndBeforeStart, place, [1, 2]);
    let (trace, rows) = good(&azure, Format::Azure2021, &Rules { on_bad: OnBad::Repair, ..Rules::default() });
    assert_eq!((rows[1].duration_ms, trace.functions[0].get(Quantity::Duration)), (None, Some(4000.0)));
    let own = [("requests.csv", "start_s,function,duration_ms\n5,f,1\n6,f,-1\n".to_string())];
    check(
        &own,
        Format::Scale,
        Fault::EndBeforeStart,
        ":3:3: duration_ms: \"-1\": expected a duration in ms, of at least 0, or nothing",
        [1, 2],
    );
    // An end of 0 is not "unknown": the request would have started before the trace.
    let zero = [("t.csv", "app,func,end_timestamp,duration\na,f,10,4\na,f,0,3\n".to_string())];
    let place = ":3:3: end_timestamp: \"0\": expected an end not before the duration, so that the request starts at 0 or later";
    check(&zero, Format::Azure2021, Fault::NegativeStart, place, [1, 2]);
    let no_number = [("t.csv", "app,func,end_timestamp,duration\na,f,10,4\na,f,11,NaN\n".to_string())];
    let place = ":3:4: duration: \"NaN\": expected the duration of the request, in seconds";
    check(&no_number, Format::Azure2021, Fault::BadDuration, place, [1, 2]);
}

/// alibaba/clusterdata#33 (and lioncruise/alibaba-clusterdata-analysis#1): the same thing twice. What is larger than
/// every node is tested with `adopt`, below.
#[test]
fn a_second_description_of_a_function_has_a_rule() {
    let functions = "function,memory_mb\nf,100\nf,999\n".to_string();
    let files = [("requests.csv", "start_s,function\n5,f\n".to_string()), ("functions.csv", functions)];
    check(
        &files,
        Format::Scale,
        Fault::DuplicateRow,
        ":3:1: function: \"f\": expected each function once",
        [1, 1],
    );
    let (trace, _) = good(&files, Format::Scale, &Rules { on_bad: OnBad::Repair, ..Rules::default() });
    assert_eq!(trace.functions[0].get(Quantity::Memory), Some(100.0));
    let ids = "funcID,cpu_request\n1---2---pool22-300-128,100\n1---2---pool22-300-128,100\n".to_string();
    let place = ":3:1: funcID: \"1---2---pool22-300-128\": expected each function once";
    check(&[("f.csv", ids)], Format::Huawei2025, Fault::DuplicateRow, place, [0, 0]);
    let twice = edit(day(0, "4", |_| "1".into()), 3, "0,0,1");
    let place = ":3:2: time: \"0\": expected 60 (that time was read already)";
    check(&huawei(twice), Format::Huawei2023, Fault::DuplicateTime, place, [1439, 1439]);
}

/// alibaba/clusterdata#12: a trace that is shorter than it says, and starts late: span and offset are what the rows say.
#[test]
fn span_and_offset_are_those_of_the_rows() {
    let text = "app,func,end_timestamp,duration\na,f,39601,1\na,f,82441,1\n".to_string();
    let (trace, rows) = good(&[("t.csv", text)], Format::Auto, &Rules::default());
    let mut describer = Describer::default();
    rows.iter().for_each(|&row| describer.row(row));
    let description = describer.finish(&trace);
    assert_eq!((description.offset_s, description.end_s), (39_600.0, 82_440.0));
}

/// BurntSushi/rust-csv#81: a byte order mark before the first header; with it CRLF, and every packing.
#[test]
fn marks_line_ends_and_packings_are_accepted_everywhere() {
    let cold = format!("{COLD_2025}0,0.1,1,7,9,r,1.5,0.5,0.2,0.3,0.5,pool22-300-128-0001\n");
    let cases: [(Format, &str, String, u64); 8] = [
        (Format::Azure2019, "invocations.csv", invocations(&[("o,a,f,http", "1")]), 1440),
        (Format::Azure2021, "t.csv", "app,func,end_timestamp,duration\na,f,10,4\n".into(), 1),
        (Format::Huawei2023, "requests_minute/day_000.csv", day(0, "4,28", |_| "2.0,".into()), 2880),
        (Format::Huawei2023, "series.csv", "10\n3\n4.0\n\n5\n".into(), 12),
        (Format::Huawei2025, "r.csv", format!("{REQUESTS_2025}{}", request("5", "1")), 1),
        (Format::Huawei2025, "minutes.csv", day(30, "1---2---pool22-300-128", |_| "3".into()), 4320),
        (Format::Huawei2025, "cold.csv", cold, 0),
        (Format::Scale, "requests.csv", "start_s,function,requests\n5,f,7\n".into(), 7),
    ];
    for (format, name, text, requests) in cases {
        let marked = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        let quoted = text.lines().map(|line| {
            line.split(',')
                .map(|field| if field.is_empty() { String::new() } else { format!("\"{field}\"") })
                .collect::<Vec<_>>()
                .join(",")
                + "\n"
        });
        let quoted: String = quoted.collect();
        for (what, bytes) in
            [("plain", text.into_bytes()), ("marked", marked.into_bytes()), ("quoted", quoted.into_bytes())]
        {
            for packing in ["", ".gz", ".zst", ".zip"] {
                let folder = tempfile::tempdir().expect("a folder");
                let path = folder.path().join(format!("{name}{packing}"));
                fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
                fs::write(&path, pack(&bytes, packing)).expect("a file");
                for format in [format, Format::Auto] {
                    // A bare series is a file, not a folder.
                    let place = if name == "series.csv" { &path } else { folder.path() };
                    let trace = read(place, format, &Rules::default(), &mut |_| Ok(()));
                    let trace = trace.unwrap_or_else(|error| panic!("{what} {name}{packing}: {error}"));
                    assert_eq!(
                        (trace.requests, !trace.functions.is_empty()),
                        (requests, true),
                        "{what} {name}{packing}"
                    );
                }
            }
        }
    }
}

fn pack(bytes: &[u8], packing: &str) -> Vec<u8> {
    use std::io::Write;
    match packing {
        ".gz" => {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(bytes).expect("memory");
            packer.finish().expect("memory")
        }
        ".zst" => {
            // Two frames, as parallel packers write them.
            let half = bytes.len() / 2;
            let frame = |bytes: &[u8]| {
                ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
            };
            [frame(&bytes[..half]), frame(&bytes[half..])].concat()
        }
        ".zip" => {
            let mut packer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            packer.start_file("inside.csv", zip::write::SimpleFileOptions::default()).expect("memory");
            packer.write_all(bytes).expect("memory");
            packer.finish().expect("memory").into_inner()
        }
        _ => bytes.to_vec(),
    }
}

/// A file that was cut or spoiled is an error, not a shorter trace.
#[test]
fn packed_files_that_are_damaged_are_refused() {
    let text = day(0, "4", |minute| minute.to_string()).into_bytes();
    for packing in [".gz", ".zst", ".zip"] {
        let whole = pack(&text, packing);
        let cut = whole[..whole.len() - 9].to_vec();
        let mut spoiled = whole.clone();
        spoiled[whole.len() / 2] ^= 0x55;
        for (what, bytes) in [("cut", cut), ("spoiled", spoiled)] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join(format!("day_000.csv{packing}"));
            fs::write(&path, bytes).expect("a file");
            let result = read(folder.path(), Format::Huawei2023, &Rules::default(), &mut |_| Ok(()));
            assert!(result.is_err(), "{what} {packing}");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("two.zip");
    let mut packer = zip::ZipWriter::new(fs::File::create(&path).expect("a file"));
    for name in ["a.csv", "b.csv"] {
        packer.start_file(name, zip::write::SimpleFileOptions::default()).expect("a file");
    }
    packer.finish().expect("a file");
    let message =
        read(&path, Format::Scale, &Rules::default(), &mut |_| Ok(())).expect_err("two").to_string();
    assert_eq!(
        message,
        format!(
            "{}: a zip archive of 2 files: expected an archive of one file (unpack the others into a folder)",
            path.display()
        )
    );
}

/// EdgeSimPy/edgesimpy-tutorials#2: a missing field is named, with those that there are.
#[test]
fn missing_fields_are_named() {
    let table = |header: &str| vec![("t.csv", format!("{header}\n1,2,3\n"))];
    let check = |files: Files<'_>, format, expected: &str| {
        let message = refused(files, format);
        assert!(message.ends_with(expected), "{message}");
    };
    check(
        &table("app,func,end"),
        Format::Azure2021,
        "t.csv:1:4: header: \"app, func, end\": expected a column \"end_timestamp\"",
    );
    check(
        &[("requests.csv", "start,function\n".into())],
        Format::Scale,
        "requests.csv:1:3: header: \"start, function\": expected a column \"start_s\"",
    );
    check(
        &[("invocations.csv", "HashOwner,HashApp,1\n".into())],
        Format::Azure2019,
        "invocations.csv:1:4: header: \"HashOwner, HashApp, 1\": expected a column \"HashFunction\"",
    );
    check(
        &[("cold.csv", "totalCost_cold_start,funcName,userID\n".into())],
        Format::Huawei2025,
        "cold.csv:1:4: header: \"totalCost_cold_start, funcName, userID\": expected a column \"podID\"",
    );
    check(
        &huawei("day,4\n".into()),
        Format::Huawei2023,
        "day_000.csv:1:2: header: \"4\": expected \"time\" (the header is day,time,0,1,...)",
    );
    check(
        &table("a,b,c"),
        Format::Auto,
        "expected one of the layouts scale, azure-2019, azure-2021, huawei-2023, huawei-2025 (docs/traces.md)",
    );
    // Nothing forgives a missing column.
    let lenient = Rules { on_bad: OnBad::Repair, gap: Gap::Zero, ..Rules::default() };
    assert!(load(&table("app,func,end"), Format::Azure2021, &lenient).is_err());
}

/// What DSLab's readers panic on or accept in silence, as users report it: each is an error with its place, or a counted
/// repair.
#[test]
fn cells_that_are_no_counts_are_named() {
    const COUNT: &str = "expected a whole number from 0 to 4294967294, or nothing where there is no data";
    let base = invocations(&[("o,a,f,http", "1")]);
    let with = |cell: &str| {
        let row =
            format!("o,a,f,http{}", minutes(|minute| if minute == 2 { cell.into() } else { "1".into() }));
        [("invocations.csv", edit(base.clone(), 2, &row))]
    };
    let check_cell = |cell: &str, fault, expected: &str, [skip, repair]: [u64; 2]| {
        check(
            &with(cell),
            Format::Azure2019,
            fault,
            &format!(":2:6: 2: {cell:?}: {expected}"),
            [skip, repair],
        );
    };
    check_cell("NaN", Fault::NotANumber, COUNT, [1439, 1439]);
    check_cell("many", Fault::NotANumber, COUNT, [1439, 1439]);
    check_cell("1e300", Fault::NotANumber, COUNT, [1439, 1439]);
    check_cell("-2", Fault::NegativeCount, COUNT, [1439, 1439]);
    let fraction = format!("{COUNT} (a fraction is of another metric: is this the folder requests_minute?)");
    check_cell("2.5", Fault::Fraction, &fraction, [1439, 1439]);
    for (cell, requests, no_data) in [("3.0", 1442, 0), ("", 1439, 1), ("1e1", 1449, 0)] {
        let (trace, _) = good(&with(cell), Format::Azure2019, &Rules::default());
        assert_eq!(
            (trace.requests, trace.no_data, trace.tally.faults.len()),
            (requests, no_data, 0),
            "{cell:?}"
        );
    }
    // A day with fewer minutes than it should have.
    let short: String =
        base.lines().map(|line| line.rsplitn(3, ',').last().expect("a field").to_string() + "\n").collect();
    let place = ":1:1443: header: \"HashOwner, ..., 1438\": expected a column for minute 1439 of 1440";
    check(&[("invocations.csv", short)], Format::Azure2019, Fault::ShortDay, place, [0, 1438]);
    // A row that is too short, or too long.
    let row = |fields: usize| {
        format!("o,a,f,http{}", minutes(|_| "1".into()).split_inclusive(',').take(fields).collect::<String>())
    };
    let cut = [("invocations.csv", edit(base.clone(), 2, row(3).trim_end_matches(',')))];
    check(
        &cut,
        Format::Azure2019,
        Fault::RowLength,
        ":2:7: row: \"6 fields\": expected 1444, as in the header",
        [0, 2],
    );
    let long = [("invocations.csv", edit(base.clone(), 2, &(row(9999) + ",7,7")))];
    check(
        &long,
        Format::Azure2019,
        Fault::RowLength,
        ":2:1445: row: \"1446 fields\": expected 1444, as in the header",
        [0, 1440],
    );
    // Durations that are all -1 or NaN are no 1 ms, and an app without memory is not dropped.
    let files = azure("o,a,f,NaN,1440,-1,-1,-1,-1,-1,-1,-1,-1,-1\n", "");
    check(
        &files,
        Format::Azure2019,
        Fault::ZeroAverage,
        ": expected an average above 0 ms, as the function ran",
        [1440, 1440],
    );
}

#[test]
fn metrics_of_huawei_give_what_functions_need() {
    let metric =
        |name: &str, line: &str| (format!("{name}_minute/day_000.csv"), day(0, "28,4", |_| line.to_string()));
    // Delays of function 4: 100 ms in minute 0 with 30 requests, 200 ms else with 10 requests in minute 1 and none later.
    let requests = day(0, "4,28", |minute| format!("{},", [30, 10].get(minute as usize).unwrap_or(&0)));
    let delay = day(0, "28,4", |minute| format!(",{}", if minute == 0 { 100 } else { 200 }));
    let named = [
        ("requests_minute/day_000.csv".to_string(), requests),
        ("function_delay_minute/day_000.csv".to_string(), delay),
        metric("cpu_usage", ",0.5"),
        metric("cpu_limit", ",0.95"),
        metric("memory_limit", ",256"),
        metric("memory_usage", ",0.25"),
        metric("instances", ",3.0"),
        metric("platform_delay", ",7"),
    ];
    let files: Vec<(&str, String)> = named.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let (trace, rows) = good(&files, Format::Huawei2023, &Rules::default());
    let function = &trace.functions[0];
    let close = |quantity, expected: f64, origin| {
        let found = function.get(quantity).expect("a value");
        assert!(
            (found - expected).abs() < 1e-9 && function.origin(quantity) == origin,
            "{quantity:?}: {found}"
        );
    };
    // (100 x 30 + 200 x 10) / 40 = 125 ms, half of 0.95 cores.
    close(Quantity::Duration, 125.0, Origin::Measured);
    close(Quantity::CpuTime, 125.0 * 0.5 * 0.95, Origin::Derived);
    close(Quantity::Cores, 0.95, Origin::Measured);
    close(Quantity::Memory, 256.0, Origin::Measured);
    close(Quantity::MemoryShare, 0.25, Origin::Measured);
    close(Quantity::Instances, 3.0, Origin::Measured);
    close(Quantity::PlatformDelay, 7.0, Origin::Measured);
    assert_eq!(trace.functions[1].values, [None; 11]);
    assert_eq!(rows.iter().map(|row| row.duration_ms).collect::<Vec<_>>(), [Some(100.0), Some(200.0)]);
    // The unit of delays is a setting.
    let (trace, _) = good(&files, Format::Huawei2023, &Rules { delay_unit_ms: 1000.0, ..Rules::default() });
    assert_eq!(trace.functions[0].get(Quantity::Duration), Some(125_000.0));
    // A share above 1 and a limit of 0 are faults, with their place.
    let spoil = |name: &str, by: &str| -> Vec<(&str, String)> {
        files
            .iter()
            .map(|(file, text)| {
                (*file, if file.starts_with(name) { edit(text.clone(), 2, by) } else { text.clone() })
            })
            .collect()
    };
    check(
        &spoil("cpu_usage", "0,0,,1.5"),
        Format::Huawei2023,
        Fault::BadShare,
        "day_000.csv:2:4: 4: \"1.5\": expected a share from 0 to 1",
        [40, 40],
    );
    check(
        &spoil("cpu_limit", "0,0,,0"),
        Format::Huawei2023,
        Fault::BadValue,
        "day_000.csv:2:4: 4: \"0\": expected a limit above 0",
        [40, 40],
    );
    check(
        &spoil("memory_limit", "0,0,,x"),
        Format::Huawei2023,
        Fault::BadValue,
        "day_000.csv:2:4: 4: \"x\": expected a number, or nothing where there is no data",
        [40, 40],
    );
}

#[test]
fn requests_per_second_are_read_as_such() {
    let text = (0..86_400)
        .fold("day,time,28\n".to_string(), |text, second| text + &format!("0,{second},{}.0\n", second % 3));
    let (trace, rows) = good(&[("requests_second/day_000.csv", text)], Format::Auto, &Rules::default());
    assert_eq!((trace.requests, trace.rows, rows.len()), (86_400, 86_400, 57_600));
    assert!(rows.iter().all(|row| row.span_s == 1.0));
    let mut collector = Collector::default();
    rows.iter().try_for_each(|&row| collector.row(row)).expect("minutes");
    let counts = collector.finish(&trace, &[0], [0]).expect("a day");
    assert!(counts.days[&0].series(0).all(|count| count == Some(60)));
}

#[test]
fn bad_rows_of_cold_starts_have_rules() {
    let row = |costs: &str| {
        format!(
            "{COLD_2025}0,0.1,1,7,9,r,{costs},pool22-300-128-0001\n0,1,1,7,9,r,1,0.5,0,0,0.5,pool22-300-128-0001\n"
        )
    };
    let check_costs = |costs: &str, fault, place: &str, init: [f64; 2]| {
        let files = [("cold.csv", row(costs))];
        check(&files, Format::Huawei2025, fault, place, [0, 0]);
        let modes = [OnBad::Skip, OnBad::Repair].map(|on_bad| {
            let (trace, _) = good(&files, Format::Huawei2025, &Rules { on_bad, ..Rules::default() });
            trace.functions[0].get(Quantity::Init).expect("a value")
        });
        assert_eq!(modes, init);
    };
    // Scaled to the total, allocation and scheduling of the first row take 2 s: the mean with the other row is 1.5 s.
    check_costs(
        "4,0.5,0.5,0.5,0.5",
        Fault::Inconsistent,
        ":2:7: totalCost_cold_start: \"4\": expected 2, the sum of its parts",
        [1000.0, 1500.0],
    );
    check_costs(
        "1,-0.5,0,0,1.5",
        Fault::BadDuration,
        ":2:8: podAllocationCost: \"-0.5\": expected a cost in seconds, of at least 0",
        [1000.0, 1000.0],
    );
}

/// What is written is read again as the same trace.
#[test]
fn our_own_layout_goes_round() {
    let metric = |name: &str, line: &str| {
        (format!("{name}_minute/day_001.csv"), day(1, "4,28,5", |_| line.to_string()))
    };
    let requests = day(1, "4,28,5", |minute| match minute % 5 {
        0 => ",0,".into(),
        1 => format!("{minute},,"),
        2 => ",,".into(),
        _ => "7,0,".into(),
    });
    let named =
        [("requests_minute/day_001.csv".to_string(), requests), metric("function_delay", "12.5,0.25,")];
    let huawei: Vec<(&str, String)> =
        named.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let azure21 = vec![(
        "t.csv",
        "app,func,end_timestamp,duration\na,f,10.1,4.7\nb,f,10.2,0\na,f,200000.3,0.1\n".to_string(),
    )];
    let azure19 = vec![
        ("invocations.csv", invocations(&[("o,a,f,http", "1"), ("o,a,g,http", "")])),
        ("memory.csv", format!("{MEMORY}o,a,5,300,300\n")),
    ];
    for files in [huawei, azure21, azure19] {
        let folder = tempfile::tempdir().expect("a folder");
        write(&folder.path().join("in"), &files);
        let go = |from: &str, to: &str| {
            let mut writer = scale_workload::own::Writer::new(&folder.path().join(to)).expect("a folder");
            let (mut rows, mut collector) = (Vec::new(), Collector::default());
            let trace = read(&folder.path().join(from), Format::Auto, &Rules::default(), &mut |row| {
                rows.extend(row.requests.map(|_| row));
                collector.row(row)?;
                writer.row(row)
            });
            let trace = trace.unwrap_or_else(|error| panic!("{from}: {error}"));
            writer.finish(&trace).expect("written");
            let chosen: Vec<usize> = (0..trace.functions.len()).collect();
            let days = (trace.functions[0].from_s / 86_400.0) as u32
                ..=((trace.functions[0].until_s - 0.01) / 86_400.0) as u32;
            (collector.finish(&trace, &chosen, days).expect("days"), rows, trace)
        };
        let (counts, rows, trace) = go("in", "out");
        let (again_counts, again_rows, again) = go("out", "again");
        assert!(again_counts == counts, "the counts differ");
        assert!(again_rows == rows, "the rows differ");
        assert_eq!((again.functions, again.requests), (trace.functions, trace.requests));
        // Rows without data are written when they end, so their place may differ.
        for table in ["requests.csv", "functions.csv"] {
            let sorted = |place: &str| {
                let text = fs::read_to_string(folder.path().join(place).join(table)).expect("a table");
                let mut lines: Vec<String> = text.lines().map(String::from).collect();
                lines.sort();
                lines
            };
            assert!(sorted("out") == sorted("again"), "{table} differs");
        }
    }
}

/// What [`Collector`] makes of rows: of each function the cells of some minutes of a day.
fn cells(
    rows: &[Row],
    trace: &Trace,
    day: u32,
    minutes: &[usize],
) -> Result<Vec<Vec<Option<u32>>>, WorkloadError> {
    let mut collector = Collector::default();
    rows.iter().try_for_each(|&row| collector.row(row))?;
    let chosen: Vec<usize> = (0..trace.functions.len()).collect();
    let counts = collector.finish(trace, &chosen, [day])?;
    let of = |function| minutes.iter().map(|&minute| counts.days[&day].get(minute, function)).collect();
    Ok((0..chosen.len()).map(of).collect())
}

/// Of a row that spans days, the days that are asked for are read: neither nothing nor all of it. What it has by then is
/// rounded down, so that days add up.
#[test]
fn a_row_that_spans_days_is_cut() {
    type Cut = (f64, f64, Option<u64>);
    let check = |row: &str, days: [u32; 2], expected: &[Cut]| {
        let files = [("requests.csv", format!("start_s,span_s,function,requests\n{row}\n"))];
        let (trace, rows) = good(&files, Format::Scale, &Rules { days: Some(days), ..Rules::default() });
        let found: Vec<Cut> = rows.iter().map(|row| (row.start_s, row.span_s, row.requests)).collect();
        assert_eq!(found, expected, "{row} on the days {days:?}");
        let requests: u64 = expected.iter().filter_map(|(.., requests)| *requests).sum();
        let no_data = expected.iter().filter(|(.., requests)| requests.is_none()).count() as u64;
        assert_eq!((trace.requests, trace.no_data), (requests, no_data), "{row} on the days {days:?}");
    };
    const DAY: f64 = 86_400.0;
    let two = "0,172800,f,2880";
    check(two, [0, 1], &[(0.0, 2.0 * DAY, Some(2880))]);
    check(two, [0, 0], &[(0.0, DAY, Some(1440))]);
    check(two, [1, 1], &[(DAY, DAY, Some(1440))]);
    check(two, [1, 9], &[(DAY, DAY, Some(1440))]);
    check(two, [2, 9], &[]);
    check("0,172800,f,", [1, 1], &[(DAY, DAY, None)]);
    // 10 in three days: by their ends 3.3, 6.7 and 10.
    for (day, requests) in [(0, 3), (1, 3), (2, 4)] {
        check("0,259200,f,10", [day, day], &[(f64::from(day) * DAY, DAY, Some(requests))]);
    }
    check("0,259200,f,10", [1, 2], &[(DAY, 2.0 * DAY, Some(7))]);
    // A quarter of a minute before midnight, and three quarters behind it.
    check("86385,60,f,4", [0, 0], &[(86_385.0, 15.0, Some(1))]);
    check("86385,60,f,4", [1, 1], &[(DAY, 45.0, Some(3))]);
    check("86385,60,f,4294967294", [1, 1], &[(DAY, 45.0, Some(3_221_225_471))]);
    // A day ends where the next one starts, and an instant is on one day only.
    check("0,86400,f,5", [1, 1], &[]);
    check("86400,60,f,5", [0, 0], &[]);
    check("86400,0,f,1", [0, 0], &[]);
    check("86400,0,f,1", [1, 1], &[(DAY, 0.0, Some(1))]);
}

/// No data stays no data: from Huawei's layout into our own, where neighbouring cells are one row, and from there a day.
#[test]
fn no_data_across_midnight_is_still_none_on_the_second_day() {
    // One request in the first minute of day 0 and one in the last of day 1; between them nothing is known.
    let ends = [(0, 0), (1, 1439)];
    let cell = |day, minute| if ends.contains(&(day, minute)) { "1".to_string() } else { String::new() };
    let known = |number: u32| day(number, "4", |minute| cell(number, minute));
    let files = [("requests_minute/day_000.csv", known(0)), ("requests_minute/day_001.csv", known(1))];
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder.path().join("in"), &files);
    let mut writer = scale_workload::own::Writer::new(&folder.path().join("own")).expect("a folder");
    let trace = read(&folder.path().join("in"), Format::Auto, &Rules::default(), &mut |row| writer.row(row));
    writer.finish(&trace.expect("a trace")).expect("written");
    for (place, format) in [("in", Format::Huawei2023), ("own", Format::Scale)] {
        let (mut rows, rules) = (Vec::new(), Rules { days: Some([1, 1]), ..Rules::default() });
        let trace = read(&folder.path().join(place), format, &rules, &mut |row| {
            rows.push(row);
            Ok(())
        });
        let found = cells(&rows, &trace.expect("a trace"), 1, &[1438, 1439]).expect("a day");
        assert_eq!(found, [[None, Some(1)]], "{place}");
    }
}

/// A request at an instant is known of, also if it is the last of its trace and starts a minute or a day.
#[test]
fn the_last_instant_is_known() {
    let azure = |rows: &str| vec![("t.csv", format!("app,func,end_timestamp,duration\n{rows}"))];
    let own = |rows: &str| vec![("requests.csv", format!("start_s,function\n{rows}"))];
    let told = |rows: &str, functions: &str| {
        vec![own(rows).remove(0), ("functions.csv", format!("function,from_s,until_s\n{functions}"))]
    };
    let huawei = |times: &[&str]| {
        let rows: String = times.iter().map(|time| request(time, "0.5")).collect();
        vec![("r.csv", format!("{REQUESTS_2025}{rows}"))]
    };
    let check = |files: Files<'_>, day: u32, expected: &[[Option<u32>; 4]]| {
        let (trace, rows) = good(files, Format::Auto, &Rules::default());
        let found =
            cells(&rows, &trace, day, &[0, 1, 2, 3]).unwrap_or_else(|error| panic!("{error}: {files:?}"));
        assert_eq!(found, expected, "{files:?}");
    };
    let first_only = [Some(1), None, None, None];
    check(&own("0,f\n"), 0, &[first_only]);
    check(&azure("a,f,0,0\n"), 0, &[first_only]);
    check(&huawei(&["0"]), 0, &[first_only]);
    // The third minute starts with the last request: all functions are known in it, and none in the fourth.
    let until_third = [[Some(1), Some(0), Some(0), None], [Some(0), Some(0), Some(1), None]];
    check(&own("5,f\n120,g\n"), 0, &until_third);
    check(&azure("a,f,5,0\na,g,120.5,0.5\n"), 0, &until_third);
    check(&huawei(&["5", "120"]), 0, &[[Some(1), Some(0), Some(1), None]]);
    // By its table a function is known until its last request, which is no fault, nor is it lost.
    check(&told("5,f\n120,g\n", "f,0,60\ng,0,120\n"), 0, &[[Some(1), None, None, None], until_third[1]]);
    check(&told("0,f\n", "f,0,0\n"), 0, &[first_only]);
    // A day that starts with the last request.
    check(&own("86340,f\n86400,f\n"), 1, &[first_only]);

    // The tables of Azure 2019 have every function that is known of on a day.
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder.path().join("in"), &own("5,f\n86400,g\n"));
    let mut writer = AzureWriter::new(&folder.path().join("out")).expect("a folder");
    let trace = read(&folder.path().join("in"), Format::Auto, &Rules::default(), &mut |row| writer.row(row));
    writer.finish(&trace.expect("a trace")).expect("written");
    let second = fs::read_to_string(folder.path().join("out/invocations_per_function_md.anon.d02.csv"));
    assert_eq!(second.expect("a table").lines().count(), 3, "a header, f and g");

    // What is written says the same of it, from the first instant there is to the last.
    for time in ["0", "0.1", "120", "61.51234567890123", "3155760000"] {
        let folder = tempfile::tempdir().expect("a folder");
        write(&folder.path().join("in"), &own(&format!("{time},f\n")));
        let mut writer = scale_workload::own::Writer::new(&folder.path().join("out")).expect("a folder");
        let trace =
            read(&folder.path().join("in"), Format::Auto, &Rules::default(), &mut |row| writer.row(row));
        let trace = trace.expect("a trace");
        writer.finish(&trace).expect("written");
        let again = read(&folder.path().join("out"), Format::Auto, &Rules::default(), &mut |_| Ok(()));
        assert_eq!(again.expect("a trace").functions, trace.functions, "{time}");
    }
}

/// Every order of some rows: each in turn at each place.
fn orders<'a>(rows: &[&'a str]) -> Vec<Vec<&'a str>> {
    let Some((last, rest)) = rows.split_last() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for order in orders(rest) {
        all.extend((0..=order.len()).map(|at| [&order[..at], &[*last], &order[at..]].concat()));
    }
    all
}

/// Rows may come in any order, also those of one minute: requests are never hidden by a row without data.
#[test]
fn the_order_of_rows_changes_nothing() {
    let check = |rows: &[&str], expected: [Option<u32>; 2]| {
        for order in orders(rows) {
            // The last row makes the function known until then.
            let text = format!("start_s,span_s,function,requests\n{}\n240,60,f,9\n", order.join("\n"));
            let (trace, rows) = good(&[("requests.csv", text)], Format::Scale, &Rules::default());
            let found = cells(&rows, &trace, 0, &[0, 1]).expect("a day");
            assert_eq!(found, [expected], "{order:?}");
        }
    };
    check(&["0,60,f,5", "0,60,f,"], [Some(5), Some(0)]);
    check(&["0,60,f,5", "0,60,f,", "0,120,f,4"], [Some(7), Some(2)]);
    check(&["0,60,f,", "0,60,f,"], [None, Some(0)]);
    check(&["0,60,f,0", "0,60,f,"], [None, Some(0)]);
    check(&["0,120,f,", "60,0,f,1"], [None, Some(1)]);
    // Two halves without data are a minute without; with a request in it, it has that request.
    check(&["0,30,f,", "30,30,f,"], [None, Some(0)]);
    check(&["0,30,f,", "30,30,f,", "7,0,f,1"], [Some(1), Some(0)]);
    check(&["0,30,f,", "7,0,f,1"], [Some(1), Some(0)]);
    // The first of two minutes has none of one request: that is no count that a row has.
    check(&["0,120,f,1", "0,60,f,"], [None, Some(1)]);
}

/// What is written as Azure 2019 is read again with the same counts, durations and memory.
#[test]
fn the_azure_layout_goes_round() {
    let azure19 = vec![
        (
            "invocations_per_function_md.anon.d01.csv",
            invocations(&[("o,a,f,http", "1"), ("o,a,g,http", "0"), ("o,b,h,http", "5")]),
        ),
        (
            "invocations_per_function_md.anon.d02.csv",
            invocations(&[("o,a,f,http", "2"), ("o,a,g,http", "7"), ("o,b,h,http", "0")]),
        ),
        ("function_durations_percentiles.anon.d01.csv", format!("{DURATIONS}{SOUND}")),
        ("app_memory_percentiles.anon.d01.csv", format!("{MEMORY}o,a,5,300,300\no,b,5,64.5,64.5\n")),
    ];
    let requests = day(1, "4,28", |minute| if minute % 5 == 0 { ",0".into() } else { format!("{minute},0") });
    let named = [
        ("requests_minute/day_001.csv".to_string(), requests),
        ("memory_limit_minute/day_001.csv".to_string(), day(1, "4,28", |_| "256,".into())),
    ];
    let huawei: Vec<(&str, String)> =
        named.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    // An end before midnight comes after a start behind it.
    let text = "app,func,end_timestamp,duration\na,f,86401,0.5\na,f,86400,60\na,f,86402,0.25\n".to_string();
    for (files, lost, days) in [(azure19, 0, 0..2), (huawei, 287, 1..2), (vec![("t.csv", text)], 0, 0..2)] {
        let folder = tempfile::tempdir().expect("a folder");
        write(&folder.path().join("in"), &files);
        let go = |from: &str, to: &str| {
            let mut writer = AzureWriter::new(&folder.path().join(to)).expect("a folder");
            let mut collector = Collector::default();
            let trace = read(&folder.path().join(from), Format::Auto, &Rules::default(), &mut |row| {
                collector.row(row)?;
                writer.row(row)
            });
            let trace = trace.unwrap_or_else(|error| panic!("{from}: {error}"));
            let report = writer.finish(&trace).expect("written");
            let chosen: Vec<usize> = (0..trace.functions.len()).collect();
            (collector.finish(&trace, &chosen, days.clone()).expect("days"), trace, report)
        };
        let (counts, trace, report) = go("in", "out");
        let (again_counts, again, _) = go("out", "again");
        // The first cells of function 4 are outside of what the trace knows, so they are not lost.
        assert_eq!((report.days, report.no_data), (days.len() as u32, lost));
        assert_eq!((again.requests, again.functions.len()), (trace.requests, trace.functions.len()));
        for day in days.clone() {
            for function in 0..trace.functions.len() {
                let cells = |counts: &scale_workload::MinuteCounts| -> Vec<u32> {
                    counts.days[&day].series(function).map(|count| count.unwrap_or(0)).collect()
                };
                assert!(cells(&counts) == cells(&again_counts), "day {day}, function {function}");
            }
        }
        for (before, after) in trace.functions.iter().zip(&again.functions) {
            for quantity in [Quantity::Duration, Quantity::Memory] {
                let (before, after) = (before.get(quantity), after.get(quantity));
                let close = before.zip(after).map_or(before == after, |(a, b)| (a - b).abs() <= 1e-9 * a);
                assert!(close, "{quantity:?}: {before:?} and {after:?}");
            }
        }
        for name in fs::read_dir(folder.path().join("out")).expect("a folder") {
            let name = name.expect("a file").file_name().into_string().expect("a name");
            assert!(name.ends_with(".csv") && !name.starts_with('.'), "{name} was left");
        }
    }
}

/// alibaba/clusterdata#33: a container of 0.9999 of a machine, and more. What is larger than every node is an error that
/// names the function, is not played, or is cut down; what the trace knows replaces what the catalogue drew.
#[test]
fn what_fits_no_node_has_a_rule() {
    let functions = "function,name,cores,memory_mb,cpu_time_core_ms,init_ms,image_mb,input_mb\n\
                     0,small,0.5,100,50,7,8,9\n1,large,0.5,64001,,,,\n2,wide,5,100,,,,\n3,plain,,,,,,\n";
    let files = [
        ("requests.csv", "start_s,function\n5,0\n6,1\n7,2\n8,3\n".to_string()),
        ("functions.csv", functions.into()),
    ];
    let spec = CatalogueSpec {
        count: 4,
        pools: vec![Pool { cores: Cores { milli: 950 }, memory: Memory { mb: 256 }, weight: 1.0 }],
        comp_ms: Lognormal { median: 150.0, sigma: 0.0, min: 150.0, max: 150.0 },
        comp_request_cv: 0.1,
        image_mb: Lognormal { median: 15.0, sigma: 0.0, min: 15.0, max: 15.0 },
        input_mb: Lognormal { median: 0.3, sigma: 0.0, min: 0.3, max: 0.3 },
        input_request_cv: 0.3,
        init_ms_at_128_mb: 80.0,
        rate: Lognormal { median: 25.0, sigma: 0.0, min: 25.0, max: 25.0 },
        burstiness: Lognormal { median: 0.3, sigma: 0.0, min: 0.3, max: 0.3 },
    };
    let (trace, _) = good(&files, Format::Scale, &Rules::default());
    let play = |on_bad: OnBad| {
        let mut drawn = catalogue(&spec, Seed(1)).expect("a catalogue");
        let (mut chosen, mut tally) = (busiest(&trace, 4), Tally { on_bad, ..Tally::default() });
        let largest = (Cores { milli: 3000 }, Memory { mb: 16_000 });
        adopt(&mut drawn, &trace, &mut chosen, largest, &mut tally)
            .map(|adopted| (drawn, chosen, adopted, tally))
    };
    let message = play(OnBad::Error).expect_err("too large").to_string();
    assert_eq!(
        message,
        "the function \"large\" of the trace: 0.5 cores, 64001 MB: expected a container that fits the largest node"
    );
    let (drawn, chosen, adopted, tally) = play(OnBad::Skip).expect("two functions");
    assert_eq!((chosen, tally.of(Fault::TooLarge)), (vec![0, 3], 2));
    let (first, profile) = (&drawn.functions[0], &drawn.profiles[0]);
    assert_eq!((first.name.as_str(), first.cores.milli, first.memory.mb), ("small", 500, 100));
    assert_eq!((first.init.0, first.image.0, profile.mean_input_mb), (7.0, 8.0, 9.0));
    // 50 core-ms on half a core.
    assert_eq!(profile.mean_comp_ms, 100.0);
    assert_eq!((drawn.functions[1].memory.mb, drawn.profiles[1].mean_comp_ms), (256, 150.0));
    assert_eq!(
        adopted.to_string(),
        "p_k 1 measured, 1 profile; f_k 1 measured, 1 profile; c_k 1 measured, 1 profile; s_k 1 measured, 1 profile; alpha_k 1 measured, 1 profile; d_k 1 measured, 1 profile"
    );
    let (drawn, chosen, _, tally) = play(OnBad::Repair).expect("four functions");
    assert_eq!((chosen.len(), tally.of(Fault::TooLarge)), (4, 2));
    assert_eq!((drawn.functions[1].memory.mb, drawn.functions[2].cores.milli), (16_000, 3000));
}

/// The schema and the tables have the same columns.
#[test]
fn the_schema_describes_what_is_written() {
    use scale_workload::own::{FUNCTION_COLUMNS, REQUEST_COLUMNS, SCHEMA};
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).expect("JSON");
    let columns = |table: &str| -> Vec<String> {
        let properties = schema["$defs"][table]["properties"].as_object().expect("properties");
        let mut names: Vec<String> = properties.keys().cloned().collect();
        names.sort();
        names
    };
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(columns("request"), sorted(REQUEST_COLUMNS.map(String::from).to_vec()));
    let quantities = Quantity::ALL
        .iter()
        .flat_map(|quantity| [quantity.column().to_string(), format!("{}_from", quantity.column())]);
    assert_eq!(
        columns("function"),
        sorted(FUNCTION_COLUMNS.map(String::from).into_iter().chain(quantities).collect())
    );
}

/// A sum that `functions.csv` states is held against the rows.
#[test]
fn the_sum_in_the_functions_table_is_checked() {
    let files = [
        ("requests.csv", "start_s,function\n5,f\n6,f\n".to_string()),
        ("functions.csv", "function,requests\nf,3\n".to_string()),
    ];
    let place = "functions.csv:2:2: requests: \"3\": expected 2, the sum of its rows in requests.csv";
    check(&files, Format::Scale, Fault::Inconsistent, place, [2, 2]);
}

/// What would lose requests, or make a reader or a player run for ever: each is a fault with its place.
#[test]
fn times_that_no_trace_has_and_rows_that_nobody_knows_are_faults() {
    let own = |rows: &str, functions: &str| {
        let mut files = vec![("requests.csv", format!("start_s,span_s,function,requests\n5,0,f,1\n{rows}"))];
        if !functions.is_empty() {
            files.push(("functions.csv", format!("function,from_s,until_s,requests\n{functions}")));
        }
        files
    };
    let check = |files: Files<'_>, format, fault, place: &str, [skip, repair]: [u64; 2]| {
        check(files, format, fault, place, [skip, repair]);
    };
    // Seconds since 1970 are a time, milliseconds are none.
    assert_eq!(good(&own("1700000000,60,f,2\n", ""), Format::Scale, &Rules::default()).0.requests, 3);
    let late = "start_s: \"1700000000000\": expected a time in seconds, within 36525 days";
    check(
        &own("1700000000000,60,f,2\n", ""),
        Format::Scale,
        Fault::BadTime,
        &format!(":3:1: {late}"),
        [1, 1],
    );
    let span =
        ":3:2: span_s: \"1e14\": expected a span in seconds, of at least 0, that ends within 36525 days";
    check(&own("60,1e14,f,2\n", ""), Format::Scale, Fault::BadTime, span, [1, 1]);
    let count = ":3:4: requests: \"4294967295\": expected a whole number from 0 to 4294967294, or nothing for no data";
    check(&own("60,60,f,4294967295\n", ""), Format::Scale, Fault::NotANumber, count, [1, 1]);
    let name = ":3:3: function: \"\": expected the name of a function";
    check(&own("60,60,,2\n", ""), Format::Scale, Fault::BadValue, name, [1, 1]);
    // Requests that the table of functions puts where the function is not known are taken, and said.
    let window = "functions.csv:2:2: from_s, until_s: \"10, 50\": expected its rows in requests.csv within, which are from 5 to 5";
    check(&own("", "f,10,50,\n"), Format::Scale, Fault::Inconsistent, window, [1, 1]);
    let lenient = Rules { on_bad: OnBad::Skip, ..Rules::default() };
    let (trace, _) = good(&own("", "f,10,50,\n"), Format::Scale, &lenient);
    assert_eq!((trace.functions[0].from_s, trace.functions[0].until_s), (5.0, 50.0));
    let end =
        "functions.csv:2:3: until_s: \"soon\": expected a time in seconds, within 36525 days, or nothing";
    check(&own("", "f,0,soon,\n"), Format::Scale, Fault::BadValue, end, [1, 1]);
    let sum = "functions.csv:2:4: requests: \"1.5\": expected a whole number, or nothing";
    check(&own("", "f,0,50,1.5\n"), Format::Scale, Fault::BadValue, sum, [1, 1]);
    let key = "functions.csv:3:1: function: \"\": expected the key of a function";
    check(&own("", "f,0,50,1\n,0,50,1\n"), Format::Scale, Fault::BadValue, key, [1, 1]);

    let azure = |row: &str| [("t.csv", format!("app,func,end_timestamp,duration\na,f,10,4\n{row}\n"))];
    let end = ":3:3: end_timestamp: \"1700000000000\": expected the end of the request, in seconds, within 36525 days";
    check(&azure("a,f,1700000000000,1"), Format::Azure2021, Fault::BadTime, end, [1, 1]);
    check(&azure("a,,11,1"), Format::Azure2021, Fault::BadValue, ":3:2: func: \"\": expected a name", [1, 1]);
    let endless = ":3:4: duration: \"1e308\": expected the duration of the request, in seconds";
    check(&azure("a,f,11,1e308"), Format::Azure2021, Fault::BadDuration, endless, [1, 2]);
    let nameless = [("invocations.csv", invocations(&[("o,a,f,http", "1"), ("o,a,,http", "2")]))];
    let place = ":3:3: HashFunction: \"\": expected the name of a function";
    check(&nameless, Format::Azure2019, Fault::BadValue, place, [1440, 1440]);
    let request = [("r.csv", format!("{REQUESTS_2025}{}{}", request("5", "1"), request("1e13", "1")))];
    let time = ":3:1: time_worker: \"1e13\": expected a time in seconds, within 36525 days";
    check(&request, Format::Huawei2025, Fault::BadTime, time, [1, 1]);
    // The day times its seconds would not fit a number of 64 bits.
    let months = edit(day(0, "1---2---pool22-300-128", |_| "1".into()), 3, "999999999999999,60,1");
    let place = ":3:1: day: \"999999999999999\": expected the number of a day, below 36525";
    check(&[("m.csv", months)], Format::Huawei2025, Fault::BadTime, place, [1439, 1439]);

    // Days in the names of files, and those that are asked for.
    let days = ["requests_minute/day_000.csv", "requests_minute/day_20190715.csv"]
        .map(|name| (name, day(0, "4", |_| "1".into())));
    assert!(
        refused(&days, Format::Huawei2023)
            .ends_with("a day 20190715: expected days below 36525, counted from the trace's first")
    );
    let days = [("invocations.d20190715.csv", invocations(&[("o,a,f,http", "1")]))];
    assert!(
        refused(&days, Format::Azure2019)
            .ends_with("a day 20190715: expected one of at most 36525, counted from the trace's first")
    );
    let all = Rules { days: Some([0, u32::MAX]), ..Rules::default() };
    let message = load(&own("", ""), Format::Scale, &all).expect_err("too many days").to_string();
    assert_eq!(message, "days: 0-4294967295: expected the first not after the last, and both below 36525");
}

/// What a day ended with is held over the gap that the next one starts with; the days that are read are those that were
/// asked for, of a bare series too.
#[test]
fn a_gap_at_midnight_holds_the_day_before() {
    let late: String = day(1, "4", |_| "2".into())
        .lines()
        .enumerate()
        .filter(|(line, _)| !(1..=3).contains(line))
        .map(|(_, text)| text.to_string() + "\n")
        .collect();
    let files =
        [("requests_minute/day_000.csv", day(0, "4", |_| "7".into())), ("requests_minute/day_001.csv", late)];
    for (gap, requests) in [(Gap::Zero, 0), (Gap::Hold, 21)] {
        let (trace, _) = good(&files, Format::Huawei2023, &Rules { gap, ..Rules::default() });
        assert_eq!(trace.requests, 1440 * 7 + 1437 * 2 + requests, "{gap:?}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("series.csv");
    fs::write(&path, "10\n".to_string() + &"3\n".repeat(2000)).expect("a file");
    let second = Rules { days: Some([1, 1]), ..Rules::default() };
    let trace = read(&path, Format::Auto, &second, &mut |_| Ok(())).expect("a series");
    assert_eq!((trace.requests, trace.functions[0].from_s), (560 * 3, 86_400.0));
}

/// The table in the documentation is the one that the program follows.
#[test]
fn the_documented_rules_are_the_programs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/traces.md");
    let text = fs::read_to_string(&path).expect("docs/traces.md");
    for fault in Fault::ALL {
        let [what, skip, repair] = fault.rule();
        let line = format!("| {what} | {skip} | {repair} |");
        assert!(text.contains(&line), "docs/traces.md lacks: {line}");
    }
    for note in [Note::ZeroDuration, Note::NoDurations, Note::NoMemory, Note::NoRequests, Note::FilledMinute]
    {
        assert!(text.contains(&format!("- {}\n", note.text())), "docs/traces.md lacks: {}", note.text());
    }
    for format in Format::ALL {
        assert!(text.contains(&format!("`{}`", format.name())), "docs/traces.md lacks {}", format.name());
    }
}
