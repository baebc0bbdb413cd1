//! Same seed, same bytes: with one thread, with two, twice, and whatever else an experiment measures.

use crate::common::{experiment, small};
use scale_lab::experiment::{Experiment, Sweep};
use scale_lab::measure::measure;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

fn tiny() -> Experiment {
    let algorithms = ["greedy-latency", "greedy-regret", "random-feasible"];
    let mut scenario = small(40, 60, 0.2, 60);
    scenario.cluster.patience_ms = Some(500.0);
    Experiment {
        name: "tiny".into(),
        algorithms: algorithms.map(String::from).to_vec(),
        seeds: vec![1, 2],
        timing_requests: 200,
        scenario,
        ..experiment("quick")
    }
}

fn run(experiment: &Experiment, out: &Path, threads: usize) {
    let points = experiment.build().expect("scenarios");
    measure(experiment, &points, out, threads).expect("records");
}

/// All files of the records but timings, by name.
fn records(out: &Path, experiment: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = out.join("records").join(experiment);
    let mut files = BTreeMap::new();
    for folder in [folder.clone(), folder.join("cells")] {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_file() && !name.ends_with(".timing.csv") {
                files.insert(name, std::fs::read(&path).expect("a file"));
            }
        }
    }
    files
}

fn same(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, bytes) in one {
        assert!(*bytes == other[name], "{name} differs");
    }
}

#[test]
fn threads_and_repetition_change_no_byte() {
    let experiment = tiny();
    let mut first: Option<BTreeMap<String, Vec<u8>>> = None;
    for threads in [1, 2, 1, 2] {
        let out = tempfile::tempdir().expect("a folder");
        run(&experiment, out.path(), threads);
        let files = records(out.path(), "tiny");
        // A row, a distribution and their checksums for each of six cells; the table, the plan, and what built them.
        assert_eq!(files.len(), 3 * 6 + 3, "{:?}", files.keys());
        match &first {
            Some(first) => same(first, &files),
            None => first = Some(files),
        }
    }
    // What is equal above is not equal because it is empty, or because seeds and algorithms do nothing.
    let files = first.expect("four runs");
    let distributions: Vec<_> = files.iter().filter(|(name, _)| name.ends_with(".cdf.csv")).collect();
    for (index, (name, bytes)) in distributions.iter().enumerate() {
        assert!(bytes.len() > 200, "{name}");
        for (other, others) in &distributions[..index] {
            assert!(bytes != others, "{name} equals {other}");
        }
    }
}

/// A cell depends on its scenario, its algorithm and its seed; not on what else the experiment asks for.
#[test]
fn a_cell_does_not_depend_on_its_neighbours() {
    let (all, some) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    run(&tiny(), all.path(), 2);
    let alone = Experiment { algorithms: vec!["random-feasible".into()], seeds: vec![2], ..tiny() };
    run(&alone, some.path(), 1);
    let (all, some) = (records(all.path(), "tiny"), records(some.path(), "tiny"));
    for name in ["random-feasible_seed2.csv", "random-feasible_seed2.cdf.csv"] {
        assert!(all[name] == some[name], "{name} differs");
    }
}

/// A second run measures nothing again, and one with more seeds only what is new.
#[test]
fn what_is_recorded_stays() {
    let out = tempfile::tempdir().expect("a folder");
    let cells = out.path().join("records/tiny/cells");
    let times = || -> BTreeMap<String, SystemTime> {
        let entries = std::fs::read_dir(&cells).expect("a folder").map(|entry| entry.expect("an entry"));
        entries
            .map(|entry| {
                let changed = entry.metadata().and_then(|data| data.modified()).expect("a time");
                (entry.file_name().to_string_lossy().into_owned(), changed)
            })
            .collect()
    };
    run(&tiny(), out.path(), 2);
    let (first, before) = (records(out.path(), "tiny"), times());
    run(&tiny(), out.path(), 2);
    same(&first, &records(out.path(), "tiny"));
    assert_eq!(before, times());

    run(&Experiment { seeds: vec![1, 2, 3], ..tiny() }, out.path(), 2);
    let after = times();
    assert_eq!(after.len(), before.len() / 2 * 3);
    for (name, time) in &before {
        assert_eq!(after[name], *time, "{name} was measured again");
    }
}

/// Points of a sweep are scenarios of their own, and a changed scenario makes new cells of the same names.
#[test]
fn a_changed_scenario_is_measured_again() {
    let out = tempfile::tempdir().expect("a folder");
    let one = Experiment { algorithms: vec!["nearest".into()], seeds: vec![1], ..tiny() };
    run(&one, out.path(), 1);
    let before = records(out.path(), "tiny");
    let mut other = one.clone();
    other.scenario.cluster.keep_alive_ms = 100.0;
    run(&other, out.path(), 1);
    let after = records(out.path(), "tiny");
    assert_ne!(before["nearest_seed1.csv"], after["nearest_seed1.csv"]);

    let sweep = Sweep {
        parameter: "cluster.keep_alive_ms".into(),
        values: vec![100.0, 60_000.0],
        scale: vec![],
        axis: None,
        logarithmic: false,
    };
    run(&Experiment { sweeps: vec![sweep], ..one }, out.path(), 2);
    let swept = records(out.path(), "tiny");
    let distribution = |value: &str| {
        let wanted = format!("cluster.keep_alive_ms={value}");
        let name = swept.keys().find(|name| {
            name.ends_with(".csv")
                && !name.ends_with(".cdf.csv")
                && String::from_utf8_lossy(&swept[*name]).contains(&format!(",{wanted},"))
                && *name != "tiny.csv"
        });
        let name = name.unwrap_or_else(|| panic!("{wanted} in {:?}", swept.keys()));
        swept[&name.replace(".csv", ".cdf.csv")].clone()
    };
    assert!(distribution("100") == after["nearest_seed1.cdf.csv"]);
    assert!(distribution("60000") == before["nearest_seed1.cdf.csv"]);
}
