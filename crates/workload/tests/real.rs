//! Every real file of the data folder (`SCALE_DATASETS`) is read, and what was counted is what the file's text adds up to,
//! computed here by nothing but splitting at commas.

use scale_workload::trace::read;
use scale_workload::{Format, Gap, Note, OnBad, Quantity, Rules, Trace};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> Option<PathBuf> {
    let root = std::env::var_os("SCALE_DATASETS").map(PathBuf::from);
    if root.is_none() {
        eprintln!("SCALE_DATASETS is not set: real files are not read");
    }
    root
}

fn load(path: &Path, rules: &Rules) -> (Trace, u64) {
    let mut requests = 0;
    let trace = read(path, Format::Auto, rules, &mut |row| {
        requests += row.requests.unwrap_or(0);
        Ok(())
    });
    (trace.unwrap_or_else(|error| panic!("{error}")), requests)
}

/// The lines of a text without its header, each split at commas.
fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().skip(1).map(|line| line.split(',').map(|field| field.trim().to_string()).collect()).collect()
}

fn sum(rows: &[Vec<String>], from: usize) -> u64 {
    rows.iter()
        .flat_map(|row| row.iter().skip(from))
        .filter_map(|field| field.parse::<f64>().ok())
        .sum::<f64>() as u64
}

#[test]
fn huawei_2023() {
    let Some(root) = root() else { return };
    for (place, functions) in [("private_dataset", 2), ("public_dataset", 1)] {
        let place = root.join("huawei").join(place);
        let mut files: Vec<PathBuf> = fs::read_dir(place.join("requests_minute"))
            .expect("a folder")
            .map(|entry| entry.expect("a file").path())
            .collect();
        files.sort();
        let expected: u64 = files.iter().map(|file| sum(&rows(file), 2)).sum();
        let (trace, visited) = load(&place, &Rules::default());
        assert_eq!((trace.requests, visited, trace.functions.len()), (expected, expected, functions));
        assert_eq!((trace.files, trace.rows), (files.len() as u64, 1440 * files.len() as u64));
        assert!(trace.tally.is_empty(), "{}", trace.tally);
        for file in &files {
            assert_eq!(load(file, &Rules::default()).0.requests, sum(&rows(file), 2), "{}", file.display());
        }
    }
    for series in ["private_fn10_day0_first360min_bursty.csv", "public_fn43_day0_first200min_sparse.csv"] {
        let file = root.join("huawei").join(series);
        let (trace, _) = load(&file, &Rules::default());
        assert_eq!(
            (trace.requests, trace.rows),
            (sum(&rows(&file), 0), rows(&file).len() as u64),
            "{series}"
        );
    }
}

/// The rows of the notebooks, whose `...` are faults: read with `skip`, and what remains is counted.
#[test]
fn huawei_notebook_rows() {
    let Some(root) = root() else { return };
    let folder = root.join("huawei/notebook_rows");
    let rules = Rules { on_bad: OnBad::Skip, gap: Gap::Zero, ..Rules::default() };
    // Only rows of a table's first day, as its name says no day; the last rows are of another.
    for (name, from, kept) in
        [("private_requests_minute.csv", 3, 0..5), ("public_requests_minute.csv", 3, 0..5)]
    {
        let rows: Vec<Vec<String>> = rows(&folder.join(name))[kept].to_vec();
        let (trace, _) = load(&folder.join(name), &rules);
        assert_eq!(trace.requests, sum(&rows, from), "{name}");
        assert!(!trace.tally.faults.is_empty(), "{name}");
    }
    let rows_of = |name: &str| -> Vec<Vec<String>> {
        rows(&folder.join(name)).into_iter().filter(|row| row[0] != "...").collect()
    };
    let (trace, _) = load(&folder.join("R2_requests.csv"), &rules);
    assert_eq!(trace.requests, sum(&rows_of("R2_requests.csv"), 3));
    let (trace, _) = load(&folder.join("R5_per_request.csv"), &rules);
    let rows = rows_of("R5_per_request.csv");
    assert_eq!((trace.requests, trace.rows), (rows.len() as u64, rows.len() as u64));
    let seconds: f64 = rows.iter().map(|row| row[8].parse::<f64>().expect("a duration")).sum();
    let found: f64 = trace
        .functions
        .iter()
        .map(|f| f.requests as f64 * f.get(Quantity::Duration).expect("a duration"))
        .sum();
    assert!((found / 1000.0 - seconds).abs() < 1e-9, "{found} ms, {seconds} s");
    let (trace, _) = load(&folder.join("cold_start_all_regions.csv"), &rules);
    assert_eq!((trace.rows, trace.requests), (rows_of("cold_start_all_regions.csv").len() as u64, 0));
    assert!(
        trace.functions.iter().all(|f| f.get(Quantity::Init).is_some() && f.get(Quantity::Memory).is_some())
    );
    for name in ["R2_function_totals.csv", "R2_runtime_triggerType.csv"] {
        let (trace, _) = load(&folder.join(name), &rules);
        assert_eq!((trace.rows, trace.functions.len()), (10, 10), "{name}");
    }
    // Tables of other metrics are no requests: fractions are refused where a cell has one.
    for name in ["private_cpu_usage_minute.csv", "private_cpu_limit_minute.csv"] {
        let message = read(
            &folder.join(name),
            Format::Auto,
            &Rules { gap: Gap::Zero, ..Rules::default() },
            &mut |_| Ok(()),
        );
        assert!(message.is_err(), "{name}");
    }
    // Per second: the name of the folder says so.
    let copy = tempfile::tempdir().expect("a folder");
    let file = copy.path().join("requests_second/day_000.csv");
    fs::create_dir_all(file.parent().expect("a parent")).expect("a folder");
    let text = fs::read_to_string(folder.join("private_requests_second.csv")).expect("a file");
    fs::write(&file, text).expect("a file");
    let (trace, _) = load(copy.path(), &rules);
    let first_day: Vec<Vec<String>> = rows_of("private_requests_second.csv").into_iter().take(5).collect();
    assert_eq!(trace.requests, sum(&first_day, 3));
}

#[test]
fn huawei_region_2() {
    let Some(root) = root() else { return };
    let file = root.join("huawei/region2_functions.csv");
    let (trace, _) = load(&file, &Rules::default());
    let rows = rows(&file);
    assert_eq!((trace.functions.len(), trace.rows), (rows.len(), 2418));
    let small = |row: &&Vec<String>| row[0].ends_with("-300-128");
    let expected = rows.iter().filter(small).count();
    let found = trace.functions.iter();
    let found = found
        .filter(|f| f.get(Quantity::Cores) == Some(0.3) && f.get(Quantity::Memory) == Some(128.0))
        .count();
    assert_eq!(found, expected);
    assert!(expected * 100 > 85 * rows.len());
}

#[test]
fn azure_2019() {
    let Some(root) = root() else { return };
    let folder = root.join("azure/2019");
    let (trace, visited) = load(&folder, &Rules::default());
    let invocations = rows(&folder.join("invocations.csv"));
    let expected = sum(&invocations, 4);
    assert_eq!((trace.requests, visited, trace.functions.len()), (expected, expected, invocations.len()));
    let durations = rows(&folder.join("durations.csv"));
    for (function, row) in trace.functions.iter().zip(&invocations) {
        assert_eq!(function.requests, sum(std::slice::from_ref(row), 4));
        let of = |table: &[Vec<String>], column: usize| {
            let row = table.iter().find(|found| found[..3] == row[..3]);
            row.map(|row| row[column].parse::<f64>().expect("a number"))
        };
        assert_eq!(function.get(Quantity::Duration), of(&durations, 3));
        assert_eq!(function.get(Quantity::Memory), of(&rows(&folder.join("memory.csv")), 4));
    }
    let five = root.join("azure/azure2019_5functions_5days.csv");
    let (trace, visited) = load(&five, &Rules::default());
    let rows = rows(&five);
    assert_eq!((trace.requests, visited), (sum(&rows, 2), sum(&rows, 2)));
    assert_eq!((trace.functions.len(), trace.rows), (5, rows.len() as u64));
    let (third, _) = load(&five, &Rules { days: Some([2, 2]), ..Rules::default() });
    let of_day: Vec<Vec<String>> = rows.into_iter().filter(|row| row[1] == "2").collect();
    assert_eq!(third.requests, sum(&of_day, 2));
}

#[test]
fn azure_2021() {
    let Some(root) = root() else { return };
    let file = root.join("azure/2021/Azure2021_200.csv");
    let mut starts = Vec::new();
    let trace = read(&file, Format::Auto, &Rules::default(), &mut |row| {
        starts.push((row.start_s, row.duration_ms));
        Ok(())
    });
    let trace = trace.unwrap_or_else(|error| panic!("{error}"));
    let rows = rows(&file);
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let expected: Vec<(f64, Option<f64>)> = rows
        .iter()
        .map(|row| ((number(&row[2]) - number(&row[3])).max(0.0), Some(1000.0 * number(&row[3]))))
        .collect();
    assert_eq!(trace.requests, rows.len() as u64);
    assert_eq!(starts, expected);
    let mut names: Vec<String> = rows.iter().map(|row| format!("{}/{}", row[0], row[1])).collect();
    names.sort();
    names.dedup();
    assert_eq!(trace.functions.len(), names.len());
    let zeros = rows.iter().filter(|row| number(&row[3]) == 0.0).count() as u64;
    assert_eq!(trace.tally.noted(Note::ZeroDuration), zeros);
}
