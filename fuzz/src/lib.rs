//! Every reader of the workspace, with samples of what it reads.
//!
//! A new reader is a line in [`readers`], a file in `fuzz_targets/` and its `[[bin]]`; a test says what is missing.
//!
//! - `cargo xtask fuzz --minutes 20` mutates the samples, on the toolchain of the workspace. Memory is bounded by the allocator
//!   (each reader's [`Reader::memory`]), time by a watchman (60 s an input).
//! - `cargo +nightly fuzz run NAME fuzz/corpus/NAME` is libFuzzer with coverage (`cargo install cargo-fuzz`; it needs clang).
//!
//! What was run: the mutations, for an hour in total, some twenty minutes of it on the readers of traces, and half a minute in
//! every CI. libFuzzer was not: its targets are only compiled (`cargo check --manifest-path fuzz/Cargo.toml --bins`).

pub mod mutate;

use scale_lab::experiment::Experiment;
use scale_lab::record;
use scale_model::{Instance, Seed};
use scale_topology::{HardwareSpec, LinkSpec, Site, TopologyError, Unplaced};
use scale_workload::describe::Describer;
use scale_workload::own::Writer;
use scale_workload::trace::{Visit, read};
use scale_workload::{Format, Gap, OnBad, Row, Rules, Trace};
use sha2::{Digest, Sha256};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A reader and what it reads.
pub struct Reader {
    /// Also the name of its libFuzzer target.
    pub name: &'static str,
    /// Samples, all of them ours.
    pub corpus: Vec<&'static [u8]>,
    /// Reads bytes. It must neither panic nor hang, nor take more memory than is stated, whatever they are; what it
    /// accepts must make sense, and the closure panics if it does not.
    pub read: fn(&[u8]),
    /// The most memory of the process while it reads, in bytes.
    pub memory: usize,
}

/// The most memory of readers that hold what they read: above the 64 MiB that a packed topology may unpack to, with its copies.
pub const MEMORY: usize = 1 << 30;

/// The most memory of readers of traces, which hold a line: the longest takes up to 200 MiB when it is split.
/// (`crates/workload/tests/memory.rs` holds the reading of whole traces to less.)
pub const TRACE_MEMORY: usize = 1 << 28;

/// What stands between the files of an input of several: a byte that no text has.
const BETWEEN: u8 = 0x1e;

macro_rules! samples {
    ($($path:literal),* $(,)?) => { vec![$(include_bytes!(concat!("../../", $path)).as_slice()),*] };
}

/// All readers.
pub fn readers() -> Vec<Reader> {
    let all = samples![
        "datasets/samples/eua-sites.csv",
        "datasets/samples/eua-centers.csv",
        "datasets/samples/eua-users.csv",
        "datasets/samples/sites.geojson",
        "datasets/samples/network.graphml",
        "fuzz/corpus/sites/sites.zip",
        "fuzz/corpus/sites/network.graphml.gz",
    ];
    let (csv, geojson, graphml) = (all[..3].to_vec(), vec![all[3]], vec![all[4]]);
    let days = samples![
        "datasets/samples/huawei/private_dataset/requests_minute/day_000.csv",
        "datasets/samples/huawei/private_dataset/requests_minute/day_001.csv",
    ];
    let experiments = samples!["experiments/paper.toml", "experiments/quick.toml", "experiments/burst.toml"];
    let f = |name, corpus, read| Reader { name, corpus, read, memory: MEMORY };
    let t = |name, corpus, read| Reader { name, corpus, read, memory: TRACE_MEMORY };
    vec![
        f("sites", all, |bytes| {
            sites(scale_topology::parse_sites(here(), bytes, Unplaced::Skip).map(|read| read.0))
        }),
        f("geojson", geojson, |bytes| {
            sites(scale_topology::geojson::parse(here(), bytes, Unplaced::Skip).map(|read| read.0))
        }),
        f("graphml", graphml, |bytes| {
            sites(scale_topology::graphml::parse(here(), bytes, Unplaced::Skip).map(|read| read.0))
        }),
        f("eua", csv, |bytes| {
            sites(scale_topology::eua::parse_sites(here(), bytes).map(|read| read.0));
            sites(scale_topology::eua::parse_centers(here(), bytes).map(|read| read.0));
            let _ = scale_topology::eua::parse_users(here(), bytes);
        }),
        t("huawei", days, |bytes| {
            drop(scale_workload::read_day(&file("requests_minute/day_000.csv", bytes)))
        }),
        t(
            "huawei_2023",
            samples!["fuzz/corpus/huawei_2023/day", "fuzz/corpus/huawei_2023/metrics"],
            |bytes| {
                let metrics = [
                    "requests",
                    "function_delay",
                    "platform_delay",
                    "cpu_usage",
                    "memory_usage",
                    "cpu_limit",
                    "memory_limit",
                    "instances",
                ];
                trace(
                    Format::Huawei2023,
                    &metrics.map(|metric| format!("{metric}_minute/day_000.csv")),
                    bytes,
                );
            },
        ),
        t(
            "huawei_2025",
            samples!["fuzz/corpus/huawei_2025/requests", "fuzz/corpus/huawei_2025/tables"],
            |bytes| {
                trace(Format::Huawei2025, &["a.csv", "b.csv", "c.csv", "d.csv"].map(String::from), bytes);
            },
        ),
        t("azure_2019", samples!["fuzz/corpus/azure_2019/day", "fuzz/corpus/azure_2019/days"], |bytes| {
            let tables = ["invocations.csv", "durations.csv", "memory.csv"];
            trace(Format::Azure2019, &tables.map(String::from), bytes);
        }),
        t(
            "azure_2021",
            samples!["fuzz/corpus/azure_2021/requests", "fuzz/corpus/azure_2021/requests.gz"],
            |bytes| {
                trace(Format::Azure2021, &["requests.csv".to_owned()], bytes);
            },
        ),
        t("own", samples!["fuzz/corpus/own/trace", "fuzz/corpus/own/spans"], |bytes| {
            trace(Format::Scale, &["requests.csv", "functions.csv"].map(String::from), bytes);
        }),
        f("experiment", experiments, |bytes| {
            drop(String::from_utf8(bytes.to_vec()).map(|text| Experiment::parse(&text)))
        }),
        f("instance", samples!["fuzz/corpus/instance/small.json"], instance),
        f("golden", samples!["experiments/golden/quick.csv"], |bytes| {
            let _ =
                record::compare(&file("golden/quick.csv", bytes), &record::Records::default(), Some(1e-9));
        }),
        f("record", samples!["fuzz/corpus/record/cell"], cell),
    ]
}

/// Reads with one reader; for libFuzzer's targets.
///
/// # Panics
/// If the reader is at fault, or there is none of this name.
pub fn run(name: &str, bytes: &[u8]) {
    let reader = readers().into_iter().find(|reader| reader.name == name).expect("a reader of this name");
    (reader.read)(bytes);
}

/// The name of a file that there is not.
fn here() -> &'static Path {
    Path::new("fuzz")
}

/// What is accepted has names of its own and can be built.
fn sites(read: Result<Vec<Site>, TopologyError>) {
    let Ok(sites) = read else { return };
    let names: BTreeSet<&str> = sites.iter().map(|site| site.name.as_str()).collect();
    assert_eq!(names.len(), sites.len(), "names of their own");
    let (hardware, links) =
        (HardwareSpec { cores_per_ghz: 1.0 }, LinkSpec { line_mb_s: 100.0, hop_m: 500.0 });
    if sites.len() < 100 {
        scale_topology::build(&sites, &hardware, &links, Seed(1)).expect("what is read can be built");
    }
}

/// What is accepted is the same after it was written and read again.
fn instance(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Ok(instance) = Instance::from_json(text) {
        let again = Instance::from_json(&instance.to_json()).expect("what is written can be read");
        assert_eq!(instance, again);
    }
}

/// A trace of one layout, its files one after the other, by each rule for what is wrong: what is told at the end is what the
/// rows add up to, and the same trace comes back after it was written in our own layout.
fn trace(format: Format, names: &[String], bytes: &[u8]) {
    let place = folder().join(format.name());
    // The last file may hold any byte, as a packed one does.
    let mut parts = bytes.splitn(names.len(), |&byte| byte == BETWEEN);
    for name in names {
        match parts.next() {
            Some(part) => drop(file(&format!("{}/{name}", format.name()), part)),
            // Of the input before.
            None => drop(fs::remove_file(place.join(name))),
        }
    }
    for (on_bad, gap, days) in [
        (OnBad::Error, Gap::Error, None),
        (OnBad::Skip, Gap::Zero, None),
        // A gap of years that is to be held takes as long as it sounds.
        (OnBad::Repair, Gap::Hold, Some([0, 40])),
    ] {
        let rules = Rules { on_bad, gap, days, ..Rules::default() };
        let mut describer = Describer::default();
        let mut describe = |row: Row| {
            describer.row(row);
            Ok(())
        };
        let Some((trace, plain)) = told(&place, format, &rules, &mut describe) else { continue };
        let described = describer.finish(&trace);
        assert_eq!(described.requests, described.hours.iter().sum::<u64>(), "by hour");
        assert_eq!(described.requests, described.ranks.iter().sum::<u64>(), "by function");
        assert!(described.offset_s <= described.end_s || described.requests == 0, "span");
        if !plain {
            continue;
        }
        let again = folder().join("again");
        let mut writer = Writer::new(&again).expect("a folder");
        let written = told(&place, format, &rules, &mut |row| writer.row(row));
        assert_eq!(written.as_ref().map(|(trace, _)| trace), Some(&trace), "read twice");
        writer.finish(&trace).expect("written");
        let (own, _) =
            told(&again, Format::Scale, &Rules::default(), &mut |_| Ok(())).expect("what was written");
        assert_eq!((own.functions, own.requests), (trace.functions, trace.requests));
    }
}

/// Reads a trace, and holds what it says at the end against its rows; also whether all its numbers are below 10^15, as all
/// that is read must be, which products of them need not.
fn told(place: &Path, format: Format, rules: &Rules, visit: &mut Visit<'_>) -> Option<(Trace, bool)> {
    let (mut requests, mut functions, mut plain) = (0, 0, true);
    let read = read(place, format, rules, &mut |row| {
        let Row { function, start_s, span_s, duration_ms, input_mb, .. } = row;
        let end = start_s + span_s;
        assert!(start_s >= 0.0 && span_s >= 0.0 && end.is_finite(), "{row:?}");
        for value in [duration_ms, input_mb].into_iter().flatten() {
            assert!(value.is_finite() && value >= 0.0, "{row:?}");
            plain &= value < 1e15;
        }
        requests += row.requests.unwrap_or(0);
        functions = functions.max(function + 1);
        visit(row)
    });
    let trace = read.ok()?;
    assert_eq!(trace.requests, requests, "requests");
    assert!(functions <= trace.functions.len(), "a function that there is not");
    assert!(rules.on_bad != OnBad::Error || trace.tally.faults.is_empty(), "{}", trace.tally);
    for function in &trace.functions {
        assert!(0.0 <= function.from_s && function.from_s <= function.until_s, "{function:?}");
        assert!(function.until_s.is_finite() && !function.name.is_empty(), "{function:?}");
        for value in function.values.iter().flatten() {
            assert!(value.value.is_finite() && value.value >= 0.0, "{function:?}");
            plain &= value.value < 1e15;
        }
    }
    Some((trace, plain))
}

/// A cell is three files: row, timing and distribution.
fn cell(bytes: &[u8]) {
    let mut parts = bytes.split(|&byte| byte == BETWEEN);
    let mut sums = String::new();
    for name in ["cell.csv", "cell.timing.csv", "cell.cdf.csv"] {
        let part = parts.next().unwrap_or_default();
        file(&format!("records/fuzz/cells/{name}"), part);
        if name != "cell.timing.csv" {
            // With the right sums, or the reader would stop at them.
            let digest: String = Sha256::digest(part).iter().map(|byte| format!("{byte:02x}")).collect();
            sums += &format!("{digest}  {name}\n");
        }
    }
    file("records/fuzz/cells/cell.sha256", sums.as_bytes());
    let _ = record::collect(&folder());
}

/// For readers that take a path: the bytes as a file of this name, until the next one.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).expect("a folder");
    }
    overwrite(&path, bytes).expect("a file");
    path
}

/// As `fs::write`, without cutting the file to nothing first: some file systems then wait for the disk at every close.
///
/// # Errors
/// A file that cannot be written.
pub fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

/// Where files live for the time of one input: in memory where the system has a folder for that.
pub fn scratch() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

/// A folder of this thread, removed with it.
fn folder() -> PathBuf {
    thread_local! {
        static FOLDER: OnceCell<tempfile::TempDir> = const { OnceCell::new() };
    }
    FOLDER.with(|folder| {
        folder.get_or_init(|| tempfile::tempdir_in(scratch()).expect("a folder")).path().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The samples are fine: else the mutations would all fail at the first fault.
    #[test]
    fn every_reader_has_a_target_and_reads_its_samples() {
        let manifest = include_str!("../Cargo.toml");
        for Reader { name, corpus, read, .. } in readers() {
            assert!(!corpus.is_empty(), "{name}");
            corpus.iter().for_each(|bytes| read(bytes));
            let target = format!("{}/fuzz_targets/{name}.rs", env!("CARGO_MANIFEST_DIR"));
            let text = fs::read_to_string(&target).unwrap_or_else(|error| panic!("{target}: {error}"));
            assert!(text.contains(&format!("run({name:?}, ")), "{target}");
            assert!(
                manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")),
                "{name} has no [[bin]]"
            );
        }
    }

    #[test]
    fn the_samples_are_accepted() {
        let of =
            |name: &str| readers().into_iter().find(|reader| reader.name == name).expect("a reader").corpus;
        for bytes in of("sites") {
            scale_topology::parse_sites(here(), bytes, Unplaced::Skip).expect("sites");
        }
        for bytes in of("instance") {
            Instance::from_json(str::from_utf8(bytes).expect("text")).expect("an instance");
        }
        scale_workload::read_day(&file("requests_minute/day_000.csv", of("huawei")[0])).expect("a day");
        for (name, layout) in [
            ("huawei_2023", Format::Huawei2023),
            ("huawei_2025", Format::Huawei2025),
            ("azure_2019", Format::Azure2019),
            ("azure_2021", Format::Azure2021),
            ("own", Format::Scale),
        ] {
            for bytes in of(name) {
                readers()
                    .into_iter()
                    .filter(|reader| reader.name == name)
                    .for_each(|reader| (reader.read)(bytes));
                // The sample of a day is its first half hour.
                let rules = Rules { gap: Gap::Zero, ..Rules::default() };
                let read = read(&folder().join(layout.name()), layout, &rules, &mut |_| Ok(()));
                assert!(read.unwrap_or_else(|error| panic!("{name}: {error}")).requests > 0, "{name}");
            }
        }
        cell(of("record")[0]);
        assert_eq!(record::collect(&folder()).expect("records").cells.len(), 1);
    }
}
