//! Every reader of the workspace, with samples of what it reads.
//!
//! A new reader is a line in [`readers`], a file in `fuzz_targets/` and its `[[bin]]`; a test says what is missing.
//!
//! - `cargo xtask fuzz --minutes 20` mutates the samples, on the toolchain of the workspace.
//! - `cargo +nightly fuzz run NAME fuzz/corpus/NAME` is libFuzzer with coverage (`cargo install cargo-fuzz`).

pub mod mutate;

use scale_lab::experiment::Experiment;
use scale_lab::record;
use scale_model::{Instance, Seed};
use scale_topology::{HardwareSpec, LinkSpec, Site, TopologyError, Unplaced};
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
    /// Reads bytes. It must neither panic nor hang, nor take more memory than [`MEMORY`], whatever they are; what it
    /// accepts must make sense, and the closure panics if it does not.
    pub read: fn(&[u8]),
}

/// The most memory of the process while it reads, in bytes: above the 64 MiB that a packed topology may unpack to, with its
/// copies.
pub const MEMORY: usize = 1 << 30;

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
    let f = |name, corpus, read| Reader { name, corpus, read };
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
        f("huawei", days, |bytes| {
            drop(scale_workload::read_day(&file("requests_minute/day_000.csv", bytes)))
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

/// A cell is three files: row, timing and distribution, here with a byte between them that no file has.
fn cell(bytes: &[u8]) {
    let mut parts = bytes.split(|&byte| byte == 0x1e);
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
        for Reader { name, corpus, read } in readers() {
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
        cell(of("record")[0]);
        assert_eq!(record::collect(&folder()).expect("records").cells.len(), 1);
    }
}
