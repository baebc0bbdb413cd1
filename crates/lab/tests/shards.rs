//! Shards and their merge, from outside: several processes give the bytes of one, killed or not; what does not belong
//! together is refused; and the commands in `deploy/` do what they are for.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Container, PersistentVolumeClaim, PodSpec};
use scale_lab::measure::Shard;
use scale_lab::record;
use serde::{Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const QUICK: &str = include_str!("../../../experiments/quick.toml");
const ALGORITHMS: [&str; 3] = ["greedy-latency", "nearest", "random-feasible"];

const FIGURES: &str =
    "figures = [\"map\", \"cdf\", \"percentiles\", \"violations\", \"decision-time\", \"parts\"]";

/// The quick experiment under the name `small`, much shorter: 3 algorithms x 6 seeds, with one text replaced by another.
fn experiment(from: &str, to: &str) -> String {
    let list = QUICK.split_once("algorithms = [").and_then(|(_, rest)| rest.split_once(']'));
    let list = list.expect("a list of algorithms").0;
    let mut text = QUICK.replace("\r\n", "\n");
    for (from, to) in [
        ("name = \"quick\"", "name = \"small\""),
        (list, ALGORITHMS.map(|name| format!("\"{name}\"")).join(", ").as_str()),
        ("seeds = [1, 2, 3]", "seeds = [1, 2, 3, 4, 5, 6]"),
        ("timing_requests = 5_000", "timing_requests = 50"),
        ("warmup_minutes = 200", "warmup_minutes = 20"),
        ("minutes = 300", "minutes = 20"),
        (from, to),
    ] {
        assert_eq!(text.matches(from).count(), 1, "{from:?}");
        text = text.replace(from, to);
    }
    text
}

/// A folder with the experiment in `small.toml`.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a folder") };
        place.write("small.toml", &experiment("[scenario]\n", "[scenario]\n"));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    fn cells(&self, out: &str) -> PathBuf {
        self.path(out).join("records/small/cells")
    }

    /// The program with these arguments, one cell at a time.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scale"));
        command.args(arguments).current_dir(self.folder.path());
        command.env("SCALE_DATASETS", self.path("data")).env("RUST_LOG", "info").env("RUST_BACKTRACE", "0");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start_shard(&self, shard: &str, out: &str) -> Child {
        let arguments = ["measure", "small.toml", "--threads", "1", "--shard", shard, "--out", out];
        self.command(&arguments).spawn().expect("it runs")
    }

    /// Runs the program, which must succeed, and returns what it said: standard output and error.
    fn does(&self, arguments: &[&str]) -> String {
        succeeded(&self.command(arguments).output().expect("it runs"), &format!("{arguments:?}"))
    }

    /// Runs the program, which must refuse and say all of `wanted`.
    fn refuses(&self, arguments: &[&str], wanted: &[&str]) {
        let output = self.command(arguments).output().expect("it runs");
        let said = said(&output);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}: {said}");
        for text in wanted {
            assert!(said.contains(text), "{arguments:?}: no {text:?} in {said}");
        }
    }

    /// The folders `0` to `3`, each with a shard.
    fn four_shards(&self) {
        let shards: Vec<Child> =
            (0..4).map(|index| self.start_shard(&format!("{index}/4"), &index.to_string())).collect();
        for shard in shards {
            succeeded(&shard.wait_with_output().expect("it ends"), "a shard");
        }
    }
}

fn said(output: &Output) -> String {
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let said = said.concat();
    assert!(!said.contains("panicked"), "{said}");
    said
}

fn succeeded(output: &Output, what: &str) -> String {
    let said = said(output);
    assert!(output.status.success(), "{what}: {said}");
    said
}

/// All files of an experiment's records but timings.
fn records(out: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let records = out.join("records/small");
    for folder in [records.join("cells"), records.clone()] {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_file() && !path.to_string_lossy().ends_with(".timing.csv") {
                let name = path.strip_prefix(&records).expect("below it").to_path_buf();
                files.insert(name, std::fs::read(&path).expect("a file"));
            }
        }
    }
    files
}

fn assert_same(one: &Path, other: &Path) {
    let (one, other) = (records(one), records(other));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        assert!(*bytes == other[name], "{} differs", name.display());
    }
}

/// Of every cell, how many decisions were timed, from the table of timings.
fn timed(out: &Path) -> Vec<u64> {
    let mut reader = csv::Reader::from_path(out.join("records/small/small.timing.csv")).expect("a table");
    let rows = reader.deserialize::<record::TimingRow>().map(|row| row.expect("a row"));
    rows.map(|row| if row.wall_s.is_some() { row.decisions } else { 0 }).collect()
}

/// Two shards that share a folder want the same agents at once: each is trained once, the merge takes them along, and the times
/// of decisions are those of the agents that played.
#[test]
fn shards_train_an_agent_once() {
    let place = Place::new();
    let small =
        experiment("random-feasible", "scale").replace("seeds = [1, 2, 3, 4, 5, 6]", "seeds = [1, 2, 6]");
    place.write("small.toml", &small);
    let shards = ["0/2", "1/2"].map(|shard| {
        let arguments =
            ["measure", "small.toml", "--threads", "1", "--untimed", "--shard", shard, "--out", "records"];
        place.command(&arguments).spawn().expect("it runs")
    });
    let said: String =
        shards.map(|shard| succeeded(&shard.wait_with_output().expect("it ends"), "a shard")).concat();
    // Seeds 1 and 6 share the first training.
    assert_eq!(said.matches("trained in").count(), 2, "{said}");
    place.does(&["merge", "merged", "records"]);
    let said = place.does(&["measure", "small.toml", "--out", "merged"]);
    assert!(!said.contains("trained in"), "{said}");
    assert!(timed(&place.path("merged")).iter().all(|&decisions| decisions > 0));
    let agents = |out: &str| -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(place.path(out).join("agents")).expect("a folder");
        let files = entries.map(|entry| entry.expect("an entry").path());
        let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "safetensors"));
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.map(|path| (name(&path), std::fs::read(&path).expect("a file"))).collect()
    };
    assert_eq!(agents("merged"), agents("records"));
    assert_eq!(agents("merged").len(), 2);
}

#[test]
fn every_cell_has_one_shard_and_slow_algorithms_are_spread() {
    for shards in 1..=20 {
        for (algorithms, cells_each) in [(1, 1), (3, 6), (11, 10), (2, 17), (16, 80)] {
            let places = algorithms * cells_each;
            let dealt = |place: &usize| {
                (0..shards).filter(|&index| Shard { index, of: shards }.has(*place)).collect::<Vec<usize>>()
            };
            assert!((0..places).all(|place| dealt(&place).len() == 1), "{shards} shards of {places}");
            // Neither of all cells nor of one algorithm's does a shard have two more than another.
            let blocks = (0..algorithms).map(|a| a * cells_each..(a + 1) * cells_each);
            for block in std::iter::once(0..places).chain(blocks) {
                let size =
                    |index| block.clone().filter(|&place| Shard { index, of: shards }.has(place)).count();
                let sizes: Vec<usize> = (0..shards).map(size).collect();
                assert!(sizes.iter().max() <= sizes.iter().min().map(|min| min + 1).as_ref(), "{sizes:?}");
            }
        }
    }
}

#[test]
fn shards_are_read() {
    let check = |text: &str, shard: Option<(usize, usize)>| {
        assert_eq!(text.parse::<Shard>().ok().map(|shard| (shard.index, shard.of)), shard, "{text}");
    };
    check("0/1", Some((0, 1)));
    check("3/16", Some((3, 16)));
    check("15/16", Some((15, 16)));
    for text in ["16/16", "0/0", "1/0", "-1/4", "1", "1/", "/4", "1/4/2", "a/b", "", "1.0/4"] {
        check(text, None);
    }
    let refused = Place::new();
    let arguments = ["measure", "small.toml", "--shard", "4/4", "--out", "out"];
    refused.refuses(&arguments, &["\"4/4\"", "expected a shard such as 3/16, counted from 0/16 to 15/16"]);
}

/// Each in a folder of its own, and all in one folder, one of them killed: the same bytes as one process gives.
#[test]
fn four_shards_give_the_bytes_of_a_single_run() {
    let place = Place::new();
    // Long enough to be killed in the middle.
    place.write("small.toml", &experiment("minutes = 20\nminute_ms", "minutes = 300\nminute_ms"));
    place.does(&["measure", "small.toml", "--threads", "2", "--out", "single"]);
    assert_eq!(timed(&place.path("single")).len(), 18);

    place.four_shards();
    for index in 0..4 {
        let rows = record::cells_of(&place.path(&index.to_string()), "small").expect("cells");
        assert!((4..=5).contains(&rows.len()), "{} cells", rows.len());
        assert!(!place.path(&format!("{index}/records/small/small.csv")).exists());
    }
    let said = place.does(&["merge", "merged", "0", "1", "2", "3"]);
    assert!(said.contains("18 cells of 4 folders") && !said.contains("WARN"), "{said}");
    assert_same(&place.path("single"), &place.path("merged"));
    // Timings are those of the shards, and as many decisions as in the single run.
    assert_eq!(timed(&place.path("merged")), timed(&place.path("single")));
    // Once more, and one folder less as its cells are there: nothing changes.
    place.does(&["merge", "merged", "3", "0", "1"]);
    assert_same(&place.path("single"), &place.path("merged"));

    // One folder. Shard 1 is killed in the middle, and leaves half a file as a kill at the worst instant would.
    let others: Vec<Child> =
        [0, 2, 3].map(|index| place.start_shard(&format!("{index}/4"), "shared")).into_iter().collect();
    let own = |cells: &[(PathBuf, record::Cell)]| {
        let plan = record::read_plan(&place.path("shared"), "small").unwrap_or_default();
        let is_own = |cell: &record::Cell| {
            plan.iter().position(|key| *key == cell.row.key()).is_some_and(|place| place % 4 == 1)
        };
        cells.iter().filter(|(_, cell)| is_own(cell)).map(|(file, _)| file.clone()).collect::<Vec<_>>()
    };
    let mut killed = place.start_shard("1/4", "shared");
    let mut whole = loop {
        // A cell may be about to appear or be replaced.
        let whole = own(&record::cells_of(&place.path("shared"), "small").unwrap_or_default());
        if !whole.is_empty() {
            break whole;
        }
        let ended = killed.try_wait().expect("its status");
        assert!(ended.is_none(), "it was done before it could be killed: {ended:?}");
        std::thread::sleep(Duration::from_millis(1));
    };
    killed.kill().expect("killed");
    assert!(!killed.wait().expect("it ends").success(), "it was done before it could be killed");
    for shard in others {
        succeeded(&shard.wait_with_output().expect("it ends"), "a shard");
    }
    whole.truncate(1);
    let first = whole[0].file_name().expect("a name").to_string_lossy().into_owned();
    let half = place.cells("shared").join(format!(".{first}.0.half"));
    std::fs::write(&half, "experiment,sce").expect("a file");
    let of_another = place.cells("shared").join(".greedy-latency_seed1.csv.7.half");
    std::fs::write(&of_another, "experiment").expect("a file");
    place.refuses(&["merge", "joined", "shared"], &["small: ", " of 18 cells are missing:\n  small/"]);

    let again = place.start_shard("1/4", "shared").wait_with_output().expect("it ends");
    let said = succeeded(&again, "the shard that was killed");
    assert!(said.contains("removed") && said.contains("that a kill left half-written"), "{said}");
    assert!(!half.exists() && of_another.exists(), "a shard removes its own halves and no others");
    place.does(&["merge", "joined", "shared"]);
    assert_same(&place.path("single"), &place.path("joined"));
    // Into the folder itself: there are the tables too, and the last half is gone.
    place.does(&["merge", "shared", "shared"]);
    assert_same(&place.path("single"), &place.path("shared"));
}

/// Decision times are left to one machine, after the merge; nothing is played again.
#[test]
fn what_is_not_timed_is_timed_after_the_merge() {
    let place = Place::new();
    for shard in ["0/2", "1/2"] {
        place.does(&["measure", "small.toml", "--shard", shard, "--untimed", "--out", "shards"]);
    }
    let said = place.does(&["merge", "merged", "shards"]);
    assert!(said.contains("18 cells without decision times"), "{said}");
    assert_eq!(timed(&place.path("merged")), [0; 18]);
    let before = records(&place.path("merged"));
    place.does(&["measure", "small.toml", "--out", "merged"]);
    let decisions = timed(&place.path("merged"));
    assert!(decisions.len() == 18 && decisions.iter().all(|&decisions| decisions >= 50), "{decisions:?}");
    assert_eq!(records(&place.path("merged")), before);

    // Where both are there, the timed one is taken; and several machines are pointed out.
    place.does(&["merge", "once-more", "shards", "merged"]);
    assert_eq!(timed(&place.path("once-more")), decisions);
    let (_, mut cell) = record::cells_of(&place.path("merged"), "small").expect("cells").remove(0);
    cell.timing.machine = "Another, 64 cores, linux".into();
    record::save(&place.path("merged"), &cell).expect("saved");
    let said = place.does(&["merge", "mixed", "merged"]);
    assert!(said.contains("of several kinds of machine (") && said.contains("Another, 64 cores"), "{said}");
}

/// Single batches are shared out by seed; merged, they have the bytes of a single run, and a wrong mix is refused.
#[test]
fn batches_are_shared_out_by_seed() {
    let place = Place::new();
    let text = experiment(FIGURES, "figures = [\"map\"]");
    let batches = "[batches]\nsampled_by = \"nearest\"\nevery = 20\nnodes = 100\n\n[scenario]\n";
    place.write("small.toml", &text.replacen("[scenario]\n", batches, 1));
    place.does(&["measure", "small.toml", "--out", "single"]);
    for shard in ["0/4", "1/4", "2/4"] {
        place.does(&["measure", "small.toml", "--shard", shard, "--out", &shard[..1]]);
    }
    let files = |out: &str| {
        let folder = place.path(out).join("records/small");
        let mut files = BTreeMap::new();
        for name in ["small.gap.csv", "small.trace.csv", "plan.csv", "build.sha256"].map(String::from) {
            files.insert(name.clone(), std::fs::read(folder.join(name)).ok());
        }
        for entry in std::fs::read_dir(folder.join("batches")).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            files.insert(name, std::fs::read(path).ok());
        }
        files
    };
    assert_eq!(files("0").len(), 4 + 2 * 2, "seeds 1 and 5");
    assert_eq!(files("0")["small.gap.csv"], None, "a shard writes no tables");
    place.refuses(&["merge", "out", "0", "1", "2"], &["small: the batches of 1 of 6 seeds are missing: [4]"]);
    assert!(!place.path("out").exists());
    // The last one into the folder of another.
    place.does(&["measure", "small.toml", "--shard", "3/4", "--out", "2"]);
    let said = place.does(&["merge", "merged", "0", "1", "2"]);
    assert!(said.contains("batches of 6 seeds of 3 folders"), "{said}");
    assert_eq!(files("merged"), files("single"));

    let spoilt = place.path("1").join("records/small/batches/seed2.csv");
    let text = std::fs::read_to_string(&spoilt).expect("a file");
    std::fs::write(&spoilt, text.replacen(",true", ",false", 1)).expect("a file");
    place.refuses(&["merge", "merged", "1"], &["seed2.csv: differs from "]);
}

/// Whatever does not belong together is refused with its place, and nothing is written.
#[test]
fn a_wrong_mix_is_refused() {
    let place = Place::new();
    place.four_shards();
    let refuses = |inputs: &[&str], wanted: &[&str]| {
        place.refuses(&[&["merge", "out"], inputs].concat(), wanted);
        assert!(!place.path("out").exists(), "{inputs:?}: something was written");
    };
    // Copies the folder `3`, changes the copy and puts it in its place.
    let spoilt = |change: &dyn Fn(&Path), wanted: &[&str]| {
        copy(&place.path("3"), &place.path("spoilt"));
        change(&place.path("spoilt"));
        refuses(&["0", "1", "2", "spoilt"], wanted);
        std::fs::remove_dir_all(place.path("spoilt")).expect("removed");
    };
    let first = |out: &Path| record::cells_of(out, "small").expect("cells").remove(0);
    let edit = |file: &Path, from: &str, to: &str| {
        let text = std::fs::read_to_string(file).expect("a file");
        assert!(text.contains(from), "{from:?} in {text}");
        std::fs::write(file, text.replacen(from, to, 1)).expect("a file");
    };

    // Something is missing: all of it is listed.
    refuses(&["absent"], &["absent: no records"]);
    refuses(&["0", "1", "absent"], &["absent: no records"]);
    let all = record::read_plan(&place.path("0"), "small").expect("a plan");
    let missing: Vec<String> = all.iter().skip(3).step_by(4).map(|key| format!("\n  {key}")).collect();
    assert_eq!(missing.len(), 4);
    let mut wanted = vec!["small: 4 of 18 cells are missing:"];
    wanted.extend(missing.iter().map(String::as_str));
    refuses(&["0", "1", "2"], &wanted);
    spoilt(
        &|out| std::fs::remove_file(first(out).0).expect("removed"),
        &["1 of 18 cells are missing:\n  small/greedy-latency, seed 4\n"],
    );

    // Another build: by the program's sum, and by what the cells themselves say.
    let stamp = "records/small/build.sha256";
    spoilt(
        &|out| std::fs::write(out.join(stamp), format!("{}\n", "ab".repeat(32))).expect("written"),
        &["spoilt: small was recorded by another build (SHA-256 ababab", "than in 0 ("],
    );
    spoilt(
        &|out| std::fs::remove_file(out.join(stamp)).expect("removed"),
        &["spoilt: small was recorded by another build (SHA-256 )"],
    );
    let other_revision = |out: &Path| {
        let (_, mut cell) = first(out);
        cell.row.revision = "0123456789ab".into();
        record::save(out, &cell).expect("saved");
    };
    spoilt(&other_revision, &["greedy-latency_seed4.csv: recorded by revision 0123456789ab with rustc"]);

    // A cell that was changed after it was saved: by one digit, cut off, or gone.
    let row = |out: &Path| first(out).0;
    let distribution = |out: &Path| first(out).0.with_extension("cdf.csv");
    let (_, cell) = first(&place.path("3"));
    let batches = |delta: u64| format!(",{},{},", cell.row.deferred_decisions, cell.row.batches + delta);
    spoilt(
        &|out| edit(&row(out), &batches(0), &batches(1)),
        &["greedy-latency_seed4.csv: the SHA-256 of these bytes is", "greedy-latency_seed4.sha256"],
    );
    spoilt(&|out| edit(&distribution(out), "\n", "\n1,0\n"), &["greedy-latency_seed4.cdf.csv"]);
    let cut = |file: &Path| {
        let bytes = std::fs::read(file).expect("a file");
        std::fs::write(file, &bytes[..bytes.len() / 2]).expect("a file");
    };
    spoilt(&|out| cut(&row(out)), &["greedy-latency_seed4.csv"]);
    spoilt(&|out| cut(&distribution(out)), &["greedy-latency_seed4.cdf.csv"]);
    spoilt(
        &|out| cut(&first(out).0.with_extension("timing.csv")),
        &["greedy-latency_seed4.timing.csv, line 2"],
    );
    spoilt(
        &|out| std::fs::remove_file(distribution(out)).expect("removed"),
        &["greedy-latency_seed4.cdf.csv: "],
    );

    // The same cell with two contents, each in itself without fault.
    let twice = |out: &Path| {
        let (_, mut cell) = first(&place.path("0"));
        cell.row.evictions += 1;
        record::save(out, &cell).expect("saved");
    };
    spoilt(&twice, &["small/greedy-latency, seed 1: its row differs from that in 0/records/small/cells/"]);
    // A cell that nobody asked for.
    let stray = |out: &Path| {
        let (_, mut cell) = first(out);
        (cell.row.seed, cell.timing.seed) = (99, 99);
        record::save(out, &cell).expect("saved");
    };
    spoilt(
        &stray,
        &["greedy-latency_seed99.csv: small/greedy-latency, seed 99 (scenario ", "not in the plan"],
    );
    // A folder without a plan.
    let plan = "records/small/plan.csv";
    spoilt(
        &|out| std::fs::remove_file(out.join(plan)).expect("removed"),
        &["spoilt/records/small/plan.csv: "],
    );

    // Another version of the experiment, under the same name.
    let other = [
        ("keep_alive_ms = 60_000.0", "keep_alive_ms = 50_000.0", ": scenario \""),
        ("seeds = [1, 2, 3, 4, 5, 6]", "seeds = [1, 2, 3, 4, 5, 7]", "it has small/greedy-latency, seed 7"),
        ("seeds = [1, 2, 3, 4, 5, 6]", "seeds = [1, 2, 3, 4]", "it has small/nearest, seed 1"),
        ("\"random-feasible\"", "\"random-feasible\", \"round-robin\"", "it has 24 cells, expected 18"),
    ];
    for (from, to, difference) in other {
        place.write("small.toml", &experiment("[scenario]\n", "[scenario]\n").replace(from, to));
        place.does(&["measure", "small.toml", "--shard", "3/4", "--untimed", "--out", "other"]);
        let wanted =
            "other: small is another version of the experiment, or was played on other data, than in 0";
        refuses(&["0", "1", "2", "other"], &[wanted, difference]);
        // Nor does a shard write into a folder of another version, or remove what is there.
        let before = records(&place.path("0"));
        let arguments = ["measure", "small.toml", "--shard", "1/4", "--out", "0"];
        place.refuses(
            &arguments,
            &["recorded for another version of the experiment", "choose another with --out"],
        );
        assert_eq!(records(&place.path("0")), before);
        std::fs::remove_dir_all(place.path("other")).expect("removed");
    }
    // Nor into one of another build.
    place.write("small.toml", &experiment("[scenario]\n", "[scenario]\n"));
    std::fs::write(place.path("1").join(stamp), "another\n").expect("written");
    let before = records(&place.path("1"));
    let arguments = ["measure", "small.toml", "--shard", "1/4", "--out", "1"];
    place.refuses(&arguments, &["recorded by another build of this program (SHA-256 another, this one is "]);
    assert_eq!(records(&place.path("1")), before);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("copied");
        }
    }
}

/// A shard of a reproduction measures and draws nothing; after the merge there is nothing left to play.
#[test]
fn a_reproduction_in_shards() {
    let place = Place::new();
    for shard in ["0/2", "1/2"] {
        let said = place.does(&["reproduce", "--quick", "--shard", shard, "--untimed", "--out", "shards"]);
        assert!(said.contains("records: "), "{said}");
    }
    assert!(!place.path("shards/report.html").exists());
    place.does(&["merge", "merged", "shards"]);
    let files = || record::cells_of(&place.path("merged"), "quick").expect("cells").into_iter();
    let written = |file: PathBuf| file.metadata().and_then(|data| data.modified()).expect("a time");
    let before: Vec<_> = files().map(|(file, _)| written(file)).collect();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/golden/quick.csv");
    let golden = golden.to_string_lossy();
    let said =
        place.does(&["reproduce", "--quick", "--untimed", "--out", "merged", "--golden", golden.as_ref()]);
    assert!(said.contains("33 cells equal "), "{said}");
    assert_eq!(files().map(|(file, _)| written(file)).collect::<Vec<_>>(), before, "played again");
    assert!(place.path("merged/report.html").exists());
}

fn deploy(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(file)
}

/// Reads a manifest as the type that Kubernetes has for it. What it does not know, or knows as another type, is lost or
/// refused on the way.
fn manifest<T: Serialize + DeserializeOwned>(file: &str) -> T {
    let text = std::fs::read_to_string(deploy(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let value: serde_json::Value = serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{file}: {e}"));
    let typed: T = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert_eq!(serde_json::to_value(&typed).expect("JSON"), value, "{file}: right is what stands there");
    typed
}

fn pod(job: &Job) -> &PodSpec {
    job.spec.as_ref().and_then(|spec| spec.template.spec.as_ref()).expect("a pod")
}

/// The arguments of a container as a kubelet would expand them, with other variables and another root for `/scale`.
fn arguments(container: &Container, variables: &[(&str, &str)], root: &Path) -> Vec<String> {
    let own = container.env.iter().flatten();
    let own = own.map(|variable| (variable.name.as_str(), variable.value.as_deref().expect("a value")));
    let all: Vec<(&str, &str)> = variables.iter().copied().chain(own).collect();
    let expand = |argument: &String| {
        let expanded = all
            .iter()
            .fold(argument.clone(), |text, (name, value)| text.replace(&format!("$({name})"), value));
        assert!(!expanded.contains("$("), "{argument}: no such variable");
        match expanded.strip_prefix("/scale/") {
            Some(path) => root.join(path).to_string_lossy().into_owned(),
            None => expanded,
        }
    };
    container.args.iter().flatten().map(expand).collect()
}

/// What can be said of the manifests without a cluster: they are of the types of the API (k8s-openapi is generated from
/// its specification), keep the rules that the documentation of a Job states, and their commands work.
#[test]
fn the_kubernetes_manifests_hold_together_and_their_commands_work() {
    let shards: Job = manifest("kubernetes/shards.yaml");
    let merge: Job = manifest("kubernetes/merge.yaml");
    let volume: PersistentVolumeClaim = manifest("kubernetes/volume.yaml");

    for job in [&shards, &merge] {
        let pod = pod(job);
        // Both limits by index and failure policies ask for this.
        assert_eq!(pod.restart_policy.as_deref(), Some("Never"));
        let volumes = pod.volumes.as_deref().expect("volumes");
        let claim = volumes[0].persistent_volume_claim.as_ref().expect("a claim");
        assert_eq!(Some(&claim.claim_name), volume.metadata.name.as_ref());
        for container in pod.containers.iter().chain(pod.init_containers.iter().flatten()) {
            let mounts = container.volume_mounts.as_deref().expect("a mount");
            assert_eq!(
                (mounts[0].name.as_str(), mounts[0].mount_path.as_str()),
                (volumes[0].name.as_str(), "/scale")
            );
            assert_eq!(container.image, pod.containers[0].image, "one program for all");
        }
    }
    let spec = shards.spec.as_ref().expect("a spec");
    assert_eq!(spec.completion_mode.as_deref(), Some("Indexed"));
    let container = &pod(&shards).containers[0];
    let count = container.env.iter().flatten().find(|variable| variable.name == "SHARDS");
    let count = count.and_then(|variable| variable.value.as_deref()).expect("SHARDS");
    assert_eq!(spec.completions.map(|n| n.to_string()).as_deref(), Some(count), "completions and SHARDS");
    for rule in spec.pod_failure_policy.iter().flat_map(|policy| &policy.rules) {
        assert!(rule.on_exit_codes.is_some() != rule.on_pod_conditions.is_some(), "one of the two: {rule:?}");
        assert!(rule.action != "FailIndex" || spec.backoff_limit_per_index.is_some());
        assert!(["Ignore", "FailIndex", "FailJob", "Count"].contains(&rule.action.as_str()));
    }

    let place = Place::new();
    place.does(&["measure", "small.toml", "--out", "single"]);
    let run = |container: &Container, variables: &[(&str, &str)]| {
        let arguments = arguments(container, variables, place.folder.path());
        place.does(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    };
    for index in ["0", "1", "2", "3"] {
        let variables = [("EXPERIMENT", "small.toml"), ("SHARDS", "4"), ("JOB_COMPLETION_INDEX", index)];
        run(container, &variables);
    }
    let steps = pod(&merge).init_containers.iter().flatten().chain(&pod(&merge).containers);
    steps.for_each(|step| run(step, &[("EXPERIMENT", "small.toml")]));
    assert_same(&place.path("single"), &place.path("merged"));
    assert_eq!(timed(&place.path("merged")), timed(&place.path("single")));
    assert!(place.path("merged/report.html").exists());
}

/// The scripts as Slurm would run them, one task after the other.
#[cfg(unix)]
#[test]
fn the_slurm_scripts_work() {
    let place = Place::new();
    place.does(&["measure", "small.toml", "--out", "single"]);
    let run = |script: &str, variables: &[(&str, &str)]| {
        let mut command = Command::new("bash");
        command.arg(deploy(script)).current_dir(place.folder.path()).envs(variables.iter().copied());
        command.env("SCALE", env!("CARGO_BIN_EXE_scale")).env("EXPERIMENT", "small.toml");
        command.env("SCALE_DATASETS", place.path("data")).env("SHARDS", "4");
        command.output().expect("it runs")
    };
    for task in ["0", "1", "2"] {
        succeeded(&run("slurm/shards.sh", &[("SLURM_ARRAY_TASK_ID", task)]), task);
    }
    // A task is missing: the script ends where the merge refuses.
    let refused = run("slurm/merge.sh", &[]);
    assert!(!refused.status.success() && said(&refused).contains("4 of 18 cells are missing"));
    assert!(!place.path("merged").exists());
    succeeded(&run("slurm/shards.sh", &[("SLURM_ARRAY_TASK_ID", "3")]), "3");
    succeeded(&run("slurm/merge.sh", &[]), "merge");
    assert_same(&place.path("single"), &place.path("merged"));
    assert!(place.path("merged/report.html").exists());
    // The array of the script is that of its default.
    let text = std::fs::read_to_string(deploy("slurm/shards.sh")).expect("a script");
    assert!(text.contains("#SBATCH --array=0-15\n") && text.contains("${SHARDS:=16}"));
}
