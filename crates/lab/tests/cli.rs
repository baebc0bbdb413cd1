//! The binary `scale`, from outside: what it says to bad input, what it prints and writes, and that a kill loses nothing.

use assert_cmd::Command;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const QUICK: &str = include_str!("../../../experiments/quick.toml");

/// A folder that a program works in, with an experiment of a second's length in it.
struct Place {
    folder: TempDir,
}

/// What a program said.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs `scale` here. Data sets are looked for below `data`, which is empty unless a test fills it.
    fn scale(&self, arguments: &[&str]) -> Said {
        self.scale_with(&self.path("data"), arguments)
    }

    fn scale_with(&self, data: &Path, arguments: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scale"));
        command.current_dir(self.folder.path()).env("SCALE_DATASETS", data).env("RUST_LOG", "info");
        command.env("RUST_BACKTRACE", "0").timeout(Duration::from_secs(120));
        let output = command.args(arguments).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        let said = Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) };
        assert!(!said.err.contains("panicked"), "{arguments:?}: {}", said.err);
        said
    }

    /// Runs `scale`, which must refuse, and say all of `wanted`.
    fn refuses(&self, arguments: &[&str], wanted: &[&str]) {
        let said = self.scale(arguments);
        assert!(matches!(said.code, Some(1 | 2)), "{arguments:?} is accepted: {}", said.out);
        for text in wanted {
            assert!(said.err.contains(text), "{arguments:?}: no {text:?} in {}", said.err);
        }
        // Each cause once: no line is told twice.
        let error = said.err.split("error: ").last().expect("a message");
        if let Some((before, after)) = error.trim_end().rsplit_once(": ") {
            assert!(!before.ends_with(after), "{arguments:?} says it twice: {error}");
        }
    }

    /// Runs `scale`, which must succeed.
    fn does(&self, arguments: &[&str]) -> Said {
        self.ends(arguments, 0)
    }

    /// Runs `scale`, which must end with this exit code.
    fn ends(&self, arguments: &[&str], code: i32) -> Said {
        let said = self.scale(arguments);
        assert_eq!(said.code, Some(code), "{arguments:?}: {}", said.err);
        said
    }
}

/// The quick experiment under another name and much shorter, with one text replaced by another.
fn experiment(name: &str, from: &str, to: &str) -> String {
    let list =
        QUICK.split_once("algorithms = [").and_then(|(_, rest)| rest.split_once(']')).expect("a list").0;
    let mut text = QUICK.replace("\r\n", "\n");
    for (from, to) in [
        ("name = \"quick\"", format!("name = \"{name}\"").as_str()),
        (list, "\"greedy-latency\", \"nearest\", \"random-feasible\""),
        ("seeds = [1, 2, 3]", "seeds = [1, 2]"),
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

fn unchanged(name: &str) -> String {
    experiment(name, "[scenario]\n", "[scenario]\n")
}

/// The line and column, from 1, of the first place where a text stands.
fn place_of(text: &str, what: &str) -> String {
    let at = text.find(what).expect("it stands there");
    let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    format!("line {}, column {}", text[..at].matches('\n').count() + 1, at - line_start + 1)
}

/// What a person may put into `datasets/data` of the workspace stands behind every other place; then nothing can be absent.
fn workspace_has_data() -> bool {
    let has = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/data").exists();
    if has {
        println!("skipped: datasets/data has data, so that none is absent");
    }
    has
}

#[test]
fn a_word_that_is_no_field_has_line_and_column() {
    let place = Place::new();
    for (from, to, field) in [
        ("keep_alive_ms = ", "keep_alife_ms = ", "keep_alife_ms"),
        ("timing_requests = ", "timing_request = ", "timing_request"),
        ("zipf_beta = ", "zipf_alpha = ", "zipf_alpha"),
        ("median = 150.0, ", "mean = 150.0, ", "mean"),
    ] {
        let text = experiment("typo", from, to);
        place.write("typo.toml", &text);
        let place_of = place_of(&text, to);
        place.refuses(
            &["measure", "typo.toml"],
            &["typo.toml", &place_of, &format!("unknown field `{field}`"), "expected"],
        );
    }
}

#[test]
fn a_value_of_the_wrong_kind_has_line_and_column() {
    let place = Place::new();
    for (from, to, what, wanted) in [
        ("seeds = [1, 2]", "seeds = [1, -2]", "-2", "`-2`"),
        ("cores = 0.45", "cores = -0.45", "-0.45", "cores from 0 to"),
        ("memory_mb = 128", "memory_mb = -128", "-128", "expected a whole number"),
        ("memory_mb = 128", "memory_mb = 128.5", "128.5", "expected a whole number"),
        ("\"cdf\"", "\"cfd\"", "\"cfd\"", "unknown variant `cfd`, expected one of `map`, `cdf`"),
        ("\"level\"", "\"flat\"", "\"flat\"", "unknown variant `flat`, expected `trace` or `level`"),
        ("trace = \"synthetic\"", "trace = \"azure\"", "\"azure\"", "unknown variant `azure`"),
        ("day = 4", "day = \"four\"", "\"four\"", "string \"four\""),
    ] {
        let text = experiment("kind", from, to);
        place.write("kind.toml", &text);
        place.refuses(&["measure", "kind.toml"], &["kind.toml", &place_of(&text, what), wanted]);
    }
}

#[test]
fn a_value_that_makes_no_sense_is_named() {
    let place = Place::new();
    let sweep = |parameter: &str, values: &str| {
        format!("[[sweep]]\nparameter = \"{parameter}\"\nvalues = {values}\n[scenario]\n")
    };
    let cases: Vec<(&str, String, Vec<&str>)> = vec![
        (
            "\"nearest\"",
            "\"nearst\"".into(),
            vec!["algorithms[1]: \"nearst\"", "greedy-latency, greedy-regret", "random-feasible"],
        ),
        ("\"nearest\"", "\"greedy-latency\"".into(), vec!["algorithms[1]: \"greedy-latency\"", "twice"]),
        ("seeds = [1, 2]", "seeds = [7, 7]".into(), vec!["seeds[1]: 7", "twice"]),
        ("seeds = [1, 2]", "seeds = []".into(), vec!["seeds: expected at least one"]),
        ("\"cdf\"", "\"map\"".into(), vec!["figures[1]: \"map\"", "twice"]),
        ("name = \"sense\"", "name = \"other\"".into(), vec!["name: \"other\": expected \"sense\""]),
        ("name = \"sense\"", "name = \"../up\"".into(), vec!["name: \"../up\": expected lower-case letters"]),
        (
            "keep_alive_ms = 60_000.0",
            "keep_alive_ms = -1.0".into(),
            vec!["scenario.cluster.keep_alive_ms: -1: expected"],
        ),
        (
            "keep_alive_ms = 60_000.0",
            "keep_alive_ms = nan".into(),
            vec!["scenario.cluster.keep_alive_ms: NaN: expected"],
        ),
        ("cores_per_ghz = 1.0", "cores_per_ghz = -1.0".into(), vec!["hardware.cores_per_ghz: -1: expected"]),
        ("line_mb_s = 25.0", "line_mb_s = 0.0".into(), vec!["line_mb_s: 0: expected"]),
        (
            "count = 200",
            "count = 0".into(),
            vec!["scenario.functions", "count: 0: expected at least one function"],
        ),
        (
            "burst_minutes = 15.0",
            "burst_minutes = -15.0".into(),
            vec!["scenario.generator", "burst_minutes: -15: expected"],
        ),
        (
            "load = 0.176",
            "load = 0.0".into(),
            vec!["scenario.arrivals", "load: 0: expected a number above 0"],
        ),
        (
            "window_ms = 50.0",
            "window_ms = -50.0".into(),
            vec!["scenario.arrivals", "window_ms: -50: expected"],
        ),
        (
            "slo_ms = [200.0, 400.0]",
            "slo_ms = [400.0, 200.0]".into(),
            vec!["scenario.arrivals", "slo_ms[1]: 200: expected"],
        ),
        (
            "minutes = 20\nminute_ms",
            "minutes = 1441\nminute_ms".into(),
            vec!["minutes: 1441: expected a number from 1 to 1440"],
        ),
        (
            "day = 4",
            "day = 3".into(),
            vec!["scenario.train_days: [0, 1, 2, 3]: expected not to hold day 3, which is played"],
        ),
        (
            "sites = \"embedded\"",
            "sites = { rule = 0 }".into(),
            vec!["scenario.sites: rule = 0: expected at least one site"],
        ),
        ("[scenario]\n", sweep("arrivals.lod", "[0.1]"), vec!["arrivals.lod: the scenario has no \"lod\""]),
        ("[scenario]\n", sweep("sites", "[1.0]"), vec!["sites: 1: expected a value like \"embedded\""]),
        ("[scenario]\n", sweep("arrivals.day", "[4.5]"), vec!["arrivals.day: 4.5: expected a value like 4"]),
        ("[scenario]\n", sweep("arrivals.load", "[]"), vec!["sweep[0].values: expected at least one"]),
        ("[scenario]\n", sweep("arrivals.load", "[0.1, 0.2, 0.1]"), vec!["sweep[0].values[2]: 0.1", "twice"]),
        (
            "[scenario]\n",
            sweep("arrivals.load", "[inf]"),
            vec!["sweep[0].values[0]: inf: expected a finite number"],
        ),
        (
            "[scenario]\n",
            sweep("arrivals.day", "[4.0, 2.0]"),
            vec!["expected not to hold day 2, which is played"],
        ),
    ];
    for (from, to, wanted) in &cases {
        place.write("sense.toml", experiment("sense", from, to));
        let mut all = vec!["sense.toml"];
        all.extend(wanted);
        place.refuses(&["measure", "sense.toml", "--out", "out"], &all);
    }
    // Nothing was recorded of any of them.
    assert!(!place.path("out/records/sense/cells").exists());
}

#[test]
fn what_is_not_there_is_named() {
    let place = Place::new();
    place.write("ok.toml", unchanged("ok"));
    for (arguments, wanted) in [
        (&["measure", "absent.toml"][..], &["absent.toml", "(os error 2)"][..]),
        (&["simulate", "quick", "--algorithm", "nearst"], &["\"nearst\"", "greedy-latency", "nearest"]),
        (&["simulate", "absent", "--algorithm", "nearest"], &["absent"]),
        (&["measure", "ok.toml", "--threads", "0"], &["threads: 0: expected at least 1"]),
        (&["reproduce", "fig99"], &["\"fig99\" is neither a figure", "fig1", "decision-time"]),
        (&["reproduce", "cfd"], &["\"cfd\" is neither a figure", "cdf", "fig2"]),
        (&["draw", "ok.toml", "--out", "never"], &["never", "scale measure"]),
        (&["report", "ok.toml", "--out", "never"], &["never", "scale measure"]),
        (&["export", "ok.toml", "--to", "batch.txt"], &["--to batch.txt", ".json, .mps or .lp"]),
        (&["export", "ok.toml", "--to", "batch"], &["--to batch", ".json, .mps or .lp"]),
        (&["export", "ok.toml", "--batch", "100000", "--to", "batch.lp"], &["--batch 100000"]),
        (&["export", "ok.toml", "--to", "no/such/folder/batch.lp"], &["no/such/folder/batch.lp"]),
        (
            &["solve", "absent.json", "--solver", "nearest", "--formulation", "paper"],
            &["--formulation belongs to --solver milp"],
        ),
        (&["solve", "absent.json", "--solver", "nearest"], &["absent.json", "(os error 2)"]),
        (&["solve", "absent.json", "--solver", "nearst"], &["\"nearst\"", "greedy-latency"]),
        (&["compare", "absent.csv", "."], &["absent.csv"]),
        (&["datasets", "where", "eua-site"], &["\"eua-site\"", "eua-sites, eua-users"]),
    ] {
        place.refuses(arguments, wanted);
    }
    assert!(!place.path("batch.lp").exists() && !place.path("batch.txt").exists());
}

#[test]
fn data_that_is_wanted_and_not_there() {
    if workspace_has_data() {
        return;
    }
    let place = Place::new();
    place.write("huawei.toml", experiment("huawei", "trace = \"synthetic\"", "trace = \"huawei\""));
    place.refuses(
        &["measure", "huawei.toml"],
        &["huawei.toml", "scenario.trace", "scale datasets where huawei-private", "\"synthetic\""],
    );
    place.write("eua.toml", experiment("eua", "sites = \"embedded\"", "sites = \"eua\""));
    place.refuses(
        &["measure", "eua.toml"],
        &["eua.toml", "scenario.sites", "scale datasets where eua-sites", "\"embedded\""],
    );
    place.refuses(
        &["datasets", "where", "huawei-private"],
        &["data set huawei-private is not here", "looked for:", "how to get it:", "licence: CC BY 4.0"],
    );
    // `auto` goes on with what is embedded, and says so.
    let auto = experiment(
        "auto",
        "sites = \"embedded\"\ntrace = \"synthetic\"",
        "sites = \"auto\"\ntrace = \"auto\"",
    );
    place.write("auto.toml", auto);
    let said = place.does(&["simulate", "auto.toml", "--algorithm", "nearest"]);
    let label = "sites: embedded default (made by rule); trace: synthetic (calibrated generator)";
    assert_eq!(said.out.lines().next(), Some(label));
}

/// The same file plays real data where it is, and says so; without the variable it plays the embedded default.
#[test]
fn data_that_is_there_is_used() {
    let Some(real) = std::env::var_os("SCALE_DATASETS").filter(|folder| !folder.is_empty()) else {
        println!("skipped: SCALE_DATASETS is not set");
        return;
    };
    let place = Place::new();
    let auto = experiment(
        "auto",
        "sites = \"embedded\"\ntrace = \"synthetic\"",
        "sites = \"auto\"\ntrace = \"auto\"",
    );
    place.write("auto.toml", auto);
    let said = place.scale_with(Path::new(&real), &["measure", "auto.toml", "--out", "real"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.err.contains("125 rows") && said.err.contains("read the Huawei trace"), "{}", said.err);
    let table = place.read("real/records/auto/auto.csv");
    assert_eq!(table.matches("sites: EUA; trace: Huawei (").count(), 6, "{table}");
    assert_eq!(table.matches("embedded").count(), 0, "{table}");
    if workspace_has_data() {
        return;
    }
    place.does(&["measure", "auto.toml", "--out", "embedded"]);
    let embedded = place.read("embedded/records/auto/auto.csv");
    assert_eq!(embedded.matches("sites: embedded default (made by rule); trace: synthetic").count(), 6);
    // Other data is another scenario, though the file is the same: records of one are not taken for the other's.
    let hash =
        |table: &str| table.lines().nth(1).expect("a row").split(',').nth(1).expect("a hash").to_string();
    assert_ne!(hash(&table), hash(&embedded));
    place.does(&["measure", "auto.toml", "--out", "real"]);
    assert_eq!(place.read("real/records/auto/auto.csv"), embedded);
}

/// A day file of the functions 4 and 28, where `edit` may spoil its lines; the header is line 0.
fn day_file(day: u64, edit: impl Fn(&mut Vec<String>)) -> String {
    let mut lines = vec!["day,time,4,28".to_string()];
    lines.extend((0..1440).map(|minute| format!("{day},{},{},3", day * 86_400 + minute * 60, minute % 7)));
    edit(&mut lines);
    lines.join("\n") + "\n"
}

#[test]
fn faults_of_a_trace_are_named() {
    let place = Place::new();
    place.write("trace.toml", experiment("trace", "trace = \"synthetic\"", "trace = \"huawei\""));
    let folder = "data/huawei/private_dataset/requests_minute";
    place.write(&format!("{folder}/day_003.csv"), day_file(3, |_| {}));
    let file = format!("{folder}/day_004.csv");
    type Edit = fn(&mut Vec<String>);
    let start = 4 * 86_400;
    let cases: [(Edit, Vec<String>); 13] = [
        (
            |l| l[11] = l[11].replace(",3,3", ",NaN,3"),
            vec!["day_004.csv:12:3: 4: \"NaN\": expected a whole number".into()],
        ),
        (
            |l| l[11] = l[11].replace(",3,3", ",3.5,3"),
            vec!["day_004.csv:12:3: 4: \"3.5\"".into(), "another metric".into()],
        ),
        (|l| l[11] = l[11].replace(",3,3", ",-3,3"), vec!["day_004.csv:12:3: 4: \"-3\"".into()]),
        (|l| l[11] = l[11].replace(",3,3", ",many,3"), vec!["day_004.csv:12:3: 4: \"many\"".into()]),
        (
            |l| l[11] = l[11].replace(",3,3", ",3"),
            vec!["day_004.csv:12:".into(), "\"3 fields\": expected 4".into()],
        ),
        (|l| l.truncate(1001), vec!["day_004.csv: 1000 rows: expected 1440".into()]),
        (
            |l| drop(l.remove(500)),
            vec!["day_004.csv:501:2: time".into(), format!("expected {}", start + 499 * 60)],
        ),
        (|l| l.insert(500, l[499].clone()), vec!["day_004.csv:501:2: time".into(), "read already".into()]),
        (
            |l| l[0] = "day,time,4,4".into(),
            vec!["day_004.csv:1:4: header: \"4\": expected each function once".into()],
        ),
        (
            |l| l[0] = "day,time,4,4.1".into(),
            vec!["day_004.csv:1:4: header: \"4.1\": expected the number of a function".into()],
        ),
        (|l| l[0] = "time,4,28".into(), vec!["day_004.csv:1:1: header: \"time\": expected \"day\"".into()]),
        (
            |l| l[0] = "day,time,4,29".into(),
            vec!["day_004.csv".into(), "(4, 29): expected the 2 functions (4, 28)".into()],
        ),
        (|l| l[7] = l[7].replacen('4', "5", 1), vec!["day_004.csv:8:1: day: \"5\": expected 4".into()]),
    ];
    for (edit, wanted) in &cases {
        place.write(&file, day_file(4, edit));
        let mut all = vec!["trace.toml"];
        all.extend(wanted.iter().map(String::as_str));
        place.refuses(&["measure", "trace.toml"], &all);
    }
    place.write(&file, "");
    place.refuses(&["measure", "trace.toml"], &["day_004.csv: an empty file: expected a header day,time"]);
    place.write(&file, [&day_file(4, |_| {}).into_bytes()[..], b"4,\xff\xfe,1,1\n"].concat());
    place.refuses(&["measure", "trace.toml"], &["day_004.csv:1442:"]);
    std::fs::remove_file(place.path(&file)).expect("removed");
    place.refuses(&["measure", "trace.toml"], &["requests_minute: no day 4; there are the days 3"]);
}

#[test]
fn harmless_forms_of_a_trace_are_read() {
    let place = Place::new();
    place.write("trace.toml", experiment("trace", "trace = \"synthetic\"", "trace = \"huawei\""));
    let folder = "data/huawei/private_dataset/requests_minute";
    place.write(&format!("{folder}/day_003.csv"), day_file(3, |_| {}));
    let file = format!("{folder}/day_004.csv");
    place.write(&file, day_file(4, |_| {}));
    let simulate = || place.does(&["simulate", "trace.toml", "--algorithm", "nearest"]);
    // What is printed ends with how long it took.
    let figures = |said: &Said| said.out.rsplit_once("played ").expect("a last line").0.to_string();
    let plain = simulate();
    assert!(
        plain.out.starts_with("sites: embedded default (made by rule); trace: Huawei (2 of 200 functions)"),
        "{}",
        plain.out
    );
    // A byte order mark, CRLF, and whole numbers as pandas writes them change nothing.
    let crlf = day_file(4, |_| {}).replace('\n', "\r\n");
    for text in [
        "\u{feff}".to_string() + &day_file(4, |_| {}),
        crlf,
        day_file(4, |l| l.iter_mut().skip(1).for_each(|l| *l = format!("{l}.0"))),
    ] {
        place.write(&file, text);
        assert_eq!(figures(&simulate()), figures(&plain));
    }
    // An empty cell is no data: not 0, not an error, and counted.
    place.write(&file, day_file(4, |l| l[5] = l[5].replacen(",4,3", ",,3", 1)));
    let holes = simulate();
    assert!(holes.err.contains("no_data: 1,"), "{}", holes.err);
}

const SITES: &str =
    "SITE_ID,LATITUDE,LONGITUDE,NAME,STATE,LICENSING_AREA_ID,POSTCODE,SITE_PRECISION,ELEVATION,HCIS_L2\n";

fn sites(row: &str) -> String {
    let rows: String = (0..20).map(|site| format!("{site},-37.8{site:02},144.96,n,VIC,6,,x,,k\n")).collect();
    format!("{SITES}{rows}{row}")
}

#[test]
fn faults_of_the_sites_are_named() {
    let place = Place::new();
    place.write("sites.toml", experiment("sites", "sites = \"embedded\"", "sites = \"eua\""));
    let file = "data/eua/site-optus-melbCBD.csv";
    for (text, wanted) in [
        (sites("20,NaN,144.9,n,VIC,6,,x,,k\n"), ":22:2: LATITUDE: \"NaN\": expected degrees from -90 to 90"),
        (sites("20,,144.9,n,VIC,6,,x,,k\n"), ":22:2: LATITUDE: \"\": expected degrees"),
        (
            sites("20,-37.8,1449,n,VIC,6,,x,,k\n"),
            ":22:3: LONGITUDE: \"1449\": expected degrees from -180 to 180",
        ),
        (sites("20,\"-37,8\",144.9,n,VIC,6,,x,,k\n"), ":22:2: LATITUDE: \"-37,8\""),
        (
            sites("7,-37.8,144.9,n,VIC,6,,x,,k\n"),
            ":22:1: SITE_ID: \"7\": expected an id of its own (line 9 has it too)",
        ),
        (
            sites("20,-37.8,144.9\n"),
            ":22:4: NAME: \"20,-37.8,144.9\": expected 10 cells as in the header, found 3",
        ),
        (sites("").replace("LATITUDE", "LAT"), ":1:11: LATITUDE: "),
        (
            sites("").replace("STATE", "LATITUDE"),
            ":1:5: LATITUDE: \"LATITUDE\": expected one column LATITUDE",
        ),
        (SITES.to_string(), ":2:1: SITE_ID: \"\": expected at least one row below the header"),
        (
            String::new(),
            ":1:1: header: \"\": expected a header with SITE_ID,LATITUDE,LONGITUDE, found an empty file",
        ),
    ] {
        place.write(file, text);
        place
            .refuses(&["measure", "sites.toml"], &["sites.toml", &format!("site-optus-melbCBD.csv{wanted}")]);
    }
    // A byte order mark and CRLF are harmless; blank lines are counted.
    let mut figures = Vec::new();
    for text in [sites(""), format!("\u{feff}{}\r\n", sites("").replace('\n', "\r\n"))] {
        place.write(file, text);
        let said = place.does(&["simulate", "sites.toml", "--algorithm", "nearest"]);
        assert!(said.err.contains("20 rows;"), "{}", said.err);
        assert_eq!(said.err.contains("blank lines: 1"), !figures.is_empty(), "{}", said.err);
        figures.push(said.out.rsplit_once("played ").expect("a last line").0.to_string());
    }
    assert!(figures[0].starts_with("sites: EUA; ") && figures[0] == figures[1], "{figures:?}");
}

/// Requests that no node could ever hold: said, counted, and the run ends.
#[test]
fn what_is_too_large_is_rejected_and_counted() {
    let place = Place::new();
    place.write(
        "large.toml",
        experiment("large", "cores = 1.95, memory_mb = 512", "cores = 9.0, memory_mb = 512"),
    );
    let said = place.does(&["simulate", "large.toml", "--algorithm", "greedy-latency"]);
    assert!(said.err.contains("of 200 functions fit no node: their requests are rejected"), "{}", said.err);
    let line = said.out.lines().find(|line| line.starts_with("requests ")).expect("a line");
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [all, rejected] = numbers[..2] else { panic!("{line}") };
    assert!(rejected > 20 && rejected < all, "{line}");
    // The records agree with the summary, and count each rejection as a violation.
    place.does(&["measure", "large.toml", "--out", "out"]);
    let row = &table(&place.read("out/records/large/large.csv"))[0];
    assert_eq!(row["rejected"], rejected.to_string());
    assert_eq!(row["requests"], all.to_string());
    let violations: u64 = row["slo_violations"].parse().expect("a number");
    assert!(violations >= rejected);

    // Nothing fits at all: no number is made up, and figures and report are drawn.
    let none = experiment("none", "cores_per_ghz = 1.0", "cores_per_ghz = 0.1");
    place.write("none.toml", none);
    let said = place.does(&["simulate", "none.toml", "--algorithm", "nearest"]);
    assert!(said.out.contains("mean none ms") && !said.out.contains("NaN"), "{}", said.out);
    place.does(&["measure", "none.toml", "--out", "out"]);
    for row in table(&place.read("out/records/none/none.csv")) {
        assert_eq!((row["finished"].as_str(), row["latency_ms_mean"].as_str()), ("0", ""));
        assert_eq!((row["rejected"] == row["requests"], row["slo_violation_rate"].as_str()), (true, "1.0"));
    }
    place.does(&["report", "none.toml", "--out", "out"]);
    let report = place.read("out/report.md");
    assert!(!report.contains("NaN") && !report.contains("inf "), "{report}");
}

/// The rows of a CSV file, by column.
fn table(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let row = |record: csv::StringRecord| {
        header.iter().map(String::from).zip(record.iter().map(String::from)).collect()
    };
    reader.records().map(|record| row(record.expect("a row"))).collect()
}

#[test]
fn a_batch_goes_out_and_comes_back() {
    let place = Place::new();
    // Twelve nodes: the exact solver is part of it.
    place.write("batch.toml", experiment("batch", "sites = \"embedded\"", "sites = { rule = 12 }"));
    for file in ["batch.json", "batch.mps", "batch.lp"] {
        let said = place.does(&["export", "batch.toml", "--batch", "3", "--to", file]);
        assert!(
            said.out.starts_with(&format!("{file}: ")) && said.out.contains(" requests at t = "),
            "{}",
            said.out
        );
    }
    assert!(place.read("batch.mps").starts_with("NAME scale\nROWS\n N objective\n"));
    assert!(place.read("batch.lp").starts_with("Minimize\n objective: "));
    let instance = scale_model::Instance::from_json(&place.read("batch.json")).expect("an instance");
    assert_eq!(instance.to_json(), place.read("batch.json"), "written and read again it is the same");
    // The three files are one batch.
    let program = scale_model::linear::LinearProgram::of(&instance.problem());
    assert_eq!(program.to_mps(), place.read("batch.mps"));
    assert_eq!(program.to_lp(), place.read("batch.lp"));

    let mut objectives = BTreeMap::new();
    // What is proved ends with 0, what is only allowed with 3.
    let solvers = [
        ("greedy-latency", 3),
        ("greedy-regret", 3),
        ("milp", 0),
        ("milp-paper", 0),
        ("midaco-50k", 3),
        ("hybrid", 3),
        ("random-feasible", 3),
    ];
    for (solver, code) in solvers {
        let json = place.ends(&["solve", "batch.json", "--solver", solver, "--format", "json"], code).out;
        let placement: scale_model::Placement = serde_json::from_str(&json).expect("a placement");
        assert_eq!(scale_model::violations(&instance.problem(), &placement), [], "{solver}");
        let objective = scale_model::evaluate(&instance.problem(), &placement).objective;
        let table = place.ends(&["solve", "batch.json", "--solver", solver], code).out;
        assert_eq!(table.lines().count(), instance.requests.len() + 2, "{table}");
        assert!(
            table.contains(&format!("objective {objective:.3} ms, ")),
            "{solver}: {objective} in {table}"
        );
        assert_eq!(table.contains("Optimal, stopped: Finished"), code == 0, "{table}");
        objectives.insert(solver, objective);
    }
    for (solver, objective) in &objectives {
        assert!(objectives["milp-paper"] <= objective + 1e-6, "{solver}: {objectives:?}");
    }
    assert!((objectives["milp-paper"] - objectives["milp"]).abs() < 1e-6, "{objectives:?}");
    // A gap that is asked for and proved is enough.
    place.does(&["solve", "batch.json", "--solver", "milp", "--formulation", "paper", "--gap", "0.1"]);
    // With an SLO that cannot be met there is no hard solution, and the answer names the request.
    let mut hopeless = instance.clone();
    hopeless.requests[0].slo = scale_model::Milliseconds(1e-3);
    place.write("hopeless.json", hopeless.to_json());
    for solver in ["milp", "milp-paper", "greedy-regret"] {
        let said = place.ends(&["solve", "hopeless.json", "--solver", solver, "--hard"], 4);
        let first = format!("no node can serve in time: requests {}", hopeless.requests[0].id.0);
        assert!(said.err.contains(&first), "{}", said.err);
    }
    // A file that an editor has marked is the same file.
    place.write("marked.json", "\u{feff}".to_string() + &place.read("batch.json"));
    place.ends(&["solve", "marked.json", "--solver", "greedy-latency"], 3);
}

#[test]
fn a_broken_batch_is_named() {
    let place = Place::new();
    place.write("batch.toml", experiment("batch", "sites = \"embedded\"", "sites = { rule = 5 }"));
    place.does(&["export", "batch.toml", "--to", "batch.json"]);
    let text = place.read("batch.json");
    let refuses = |broken: &str, wanted: &[&str]| {
        place.write("broken.json", broken);
        let mut all = vec!["broken.json"];
        all.extend(wanted);
        place.refuses(&["solve", "broken.json", "--solver", "greedy-latency"], &all);
    };
    refuses("", &["line 1 column 0"]);
    refuses("[1, 2]", &["line 1 column"]);
    let half = &text[..text.len() / 2];
    refuses(half, &[&format!("line {}", half.matches('\n').count() + 1)]);
    let with = |edit: &dyn Fn(&mut serde_json::Value)| {
        let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        edit(&mut value);
        serde_json::to_string_pretty(&value).expect("JSON")
    };
    let request = |field: &str| format!("requests[1].{field}");
    let cases: Vec<(String, Vec<String>)> = vec![
        (
            with(&|v| v["format"] = "scale-instance-9".into()),
            vec!["format: scale-instance-9: expected scale-instance-1".into()],
        ),
        (with(&|v| v["requests"][1]["slo_ms"] = (-1.0).into()), vec![request("slo_ms: -1: expected")]),
        (
            with(&|v| v["requests"][1]["function"] = 999.into()),
            vec![request("function: 999"), "expected a known function".into()],
        ),
        (
            with(&|v| v["requests"][1]["source"] = 5.into()),
            vec![request("source: 5"), "expected a known node".into()],
        ),
        (
            with(&|v| v["requests"][1]["arrival_ms"] = 1e9.into()),
            vec![request("arrival_ms: 1000000000"), "state.time_ms".into()],
        ),
        (
            with(&|v| v["requests"][1]["slo"] = 1.into()),
            vec!["unknown field `slo`".into(), "`slo_ms`".into(), " at line ".into()],
        ),
        (
            with(&|v| v["requests"][1]["input_mb"] = "one".into()),
            vec!["string \"one\"".into(), " at line ".into()],
        ),
        (
            with(&|v| v["platform"]["topology"]["nodes"][2]["cores"] = (-3).into()),
            vec!["-3".into(), "cores from 0 to".into(), " at line ".into()],
        ),
        (
            with(&|v| v["platform"]["topology"]["nodes"][2]["cores"] = 0.into()),
            vec!["topology.nodes[2]".into(), "cores: 0: expected a number above 0".into()],
        ),
        (
            with(&|v| v["platform"]["topology"]["nodes"][2]["memory_mb"] = 99.5.into()),
            vec!["99.5".into(), "expected a whole number".into()],
        ),
        (
            with(&|v| v["platform"]["topology"]["links"][0][1] = serde_json::Value::Null),
            vec!["links[0][1]: null: expected a rate".into()],
        ),
        (
            with(&|v| v["objective"]["defer_penalty_ms"] = (-2).into()),
            vec!["objective.defer_penalty_ms: -2: expected".into()],
        ),
    ];
    for (broken, wanted) in &cases {
        refuses(broken, &wanted.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn lists_say_what_there_is() {
    let place = Place::new();
    let said = place.does(&["list"]);
    for entry in scale_lab::roster::ROSTER {
        let line = format!("  {:<20} {}\n", entry.name, entry.about);
        assert_eq!(said.out.matches(&line).count(), 1, "{}", said.out);
    }
    for (name, _) in scale_lab::experiment::BUILT_IN {
        assert!(said.out.contains(&format!("\n  {name:<20} ")), "{}", said.out);
    }
    let all = scale_lab::datasets::manifest().expect("the manifest");
    let said = place.does(&["datasets", "list"]);
    assert_eq!(said.out.lines().count(), all.len() + 1);
    for dataset in &all {
        assert!(said.out.contains(&format!("\n{} ", dataset.name)), "{}", said.out);
    }

    // A file with other bytes is wrong, and the exit code says so too.
    place.write("data/eua/site-optus-melbCBD.csv", sites(""));
    place.write("data/huawei/private_dataset/requests_minute/day_000.csv", "another excerpt");
    let said = place.scale(&["datasets", "verify"]);
    assert!(said.code == Some(1) && said.err.contains("1 files have wrong bytes"), "{}", said.err);
    assert!(said.out.contains("eua-sites       WRONG") && said.out.contains("c1031a8ff0f1"), "{}", said.out);
    assert!(said.out.contains("huawei-private  unchecked"), "{}", said.out);
    let said = place.does(&["datasets", "where", "eua-sites"]);
    assert_eq!(Path::new(said.out.trim()), place.path("data/eua/site-optus-melbCBD.csv"));
    assert!(place.does(&["datasets", "list"]).out.contains("eua-sites       yes"));
    std::fs::remove_file(place.path("data/eua/site-optus-melbCBD.csv")).expect("removed");
    place.does(&["datasets", "verify"]);
}

#[test]
fn compare_says_what_differs() {
    let place = Place::new();
    place.write("ours.toml", unchanged("ours"));
    place.does(&["measure", "ours.toml", "--out", "out"]);
    let golden = place.read("out/records/ours/ours.csv");
    place.write("golden.csv", &golden);
    let said = place.does(&["compare", "golden.csv", "out"]);
    assert!(said.out.contains("6 cells equal golden.csv"), "{}", said.out);

    // One value, one row that is gone, one that is new. Revision and compiler are not part of the comparison.
    let mut lines: Vec<String> = golden.lines().map(String::from).collect();
    let columns: Vec<&str> = golden.lines().next().expect("a header").split(',').collect();
    let at = |name: &str| columns.iter().position(|column| *column == name).expect("a column");
    let edit = |line: &mut String, column: usize, value: &str| {
        let mut cells: Vec<&str> = line.split(',').collect();
        cells[column] = value;
        *line = cells.join(",");
    };
    edit(&mut lines[1], at("cold_starts"), "1");
    edit(&mut lines[2], at("revision"), "another");
    edit(&mut lines[3], at("seed"), "9");
    drop(lines.remove(4));
    place.write("golden.csv", lines.join("\n") + "\n");
    let said = place.scale(&["compare", "golden.csv", "out"]);
    assert_eq!(said.code, Some(1));
    for wanted in [
        "ours/greedy-latency, seed 1: cold_starts is `",
        "golden `1`",
        "ours/nearest, seed 9: in the golden table only",
        "ours/nearest, seed 1: not in the golden table",
        "ours/nearest, seed 2: not in the golden table",
        "4 differences from golden.csv",
    ] {
        assert!(said.err.contains(wanted), "no {wanted:?} in {}", said.err);
    }
    assert!(!said.err.contains("another"), "{}", said.err);

    // A table that is none: file, line, column and value.
    let mut lines: Vec<String> = golden.lines().map(String::from).collect();
    edit(&mut lines[2], at("cold_starts"), "few");
    place.write("golden.csv", lines.join("\n") + "\n");
    place.refuses(&["compare", "golden.csv", "out"], &["golden.csv, line 3", "`few`"]);
    place.write("golden.csv", "");
    place.refuses(&["compare", "golden.csv", "out"], &["golden.csv"]);
}

/// Records of an earlier version of an experiment are not drawn.
#[test]
fn only_what_an_experiment_asks_for_is_drawn() {
    let place = Place::new();
    place.write("drawn.toml", unchanged("drawn"));
    place.does(&["measure", "drawn.toml", "--out", "out"]);
    place.write("drawn.toml", experiment("drawn", "keep_alive_ms = 60_000.0", "keep_alive_ms = 100.0"));
    place.refuses(&["draw", "drawn.toml", "--out", "out"], &["scale measure"]);
    place.refuses(&["report", "drawn.toml", "--out", "out"], &["scale measure"]);
    let fewer = experiment("drawn", "\"greedy-latency\", \"nearest\", ", "\"greedy-latency\", ");
    place.write("drawn.toml", fewer.replace("seeds = [1, 2]", "seeds = [2]"));
    let said = place.does(&["report", "drawn.toml", "--out", "out"]);
    assert!(said.out.lines().count() >= 2, "{}", said.out);
    let report = place.read("out/report.md");
    assert!(report.contains("Greedy latency") && !report.contains("| Nearest |"), "{report}");
}

/// `scale list | head -1`: who has seen enough closes the pipe, and that is no defect.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_defect() {
    use std::io::Read as _;
    let place = Place::new();
    place.write("batch.toml", unchanged("batch"));
    place.does(&["export", "batch.toml", "--to", "batch.json"]);
    for arguments in [&["list"][..], &["solve", "batch.json", "--solver", "nearest", "--format", "json"]] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_scale"));
        command.args(arguments).current_dir(place.folder.path());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
        child.wait().expect("it ends");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
}

/// All files of an experiment's records but timings, and but what a kill left half-written (`.name.half`), which nothing
/// reads.
fn records(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for folder in [folder.to_path_buf(), folder.join("cells")] {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_file() && !name.ends_with(".timing.csv") && !name.starts_with('.') {
                files.insert(name, std::fs::read(&path).expect("a file"));
            }
        }
    }
    files
}

/// The rows of cells that are there, and when each was written.
fn rows(cells: &Path) -> BTreeMap<String, SystemTime> {
    let Ok(entries) = std::fs::read_dir(cells) else { return BTreeMap::new() };
    let mut rows = BTreeMap::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_row = name.ends_with(".csv")
            && !name.starts_with('.')
            && !name.ends_with(".cdf.csv")
            && !name.ends_with(".timing.csv");
        // It may be replaced between the two questions.
        if let (true, Ok(time)) = (is_row, entry.metadata().and_then(|data| data.modified())) {
            rows.insert(name, time);
        }
    }
    rows
}

/// Killed with SIGKILL in the first pass and in the second, it goes on where it was and ends with the same bytes.
#[test]
fn a_kill_loses_nothing() {
    let place = Place::new();
    let text = experiment("killed", "seeds = [1, 2]", "seeds = [1, 2, 3, 4, 5, 6]")
        .replace("minutes = 20\nminute_ms", "minutes = 300\nminute_ms");
    let untimed = text.replace("timing_requests = 50", "timing_requests = 0");
    let text = text.replace("timing_requests = 50", "timing_requests = 10_000");
    let start = |out: &str, threads: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_scale"));
        command.args(["measure", "killed.toml", "--out", out, "--threads", threads]);
        command.current_dir(place.folder.path()).env("SCALE_DATASETS", place.path("data"));
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        command.spawn().expect("it runs")
    };
    let kill_after = |out: &str, enough: &dyn Fn(&Path) -> bool| {
        let cells = place.path(out).join("records/killed/cells");
        let mut child = start(out, "1");
        let ended = loop {
            if enough(&cells) {
                break None;
            }
            if let Some(status) = child.try_wait().expect("its status") {
                break Some(status);
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        child.kill().expect("killed");
        let status = child.wait().expect("it ends");
        assert!(ended.is_none() && !status.success(), "it was done before it could be killed: {status}");
        cells
    };

    // The first pass alone: cells that are there are not measured again.
    place.write("killed.toml", &untimed);
    place.does(&["measure", "killed.toml", "--out", "whole", "--threads", "1"]);
    let whole = records(&place.path("whole/records/killed"));
    let cells = kill_after("killed", &|cells| rows(cells).len() >= 3);
    let before = rows(&cells);
    assert!((3..18).contains(&before.len()), "{} of 18 cells before the kill", before.len());
    place.does(&["measure", "killed.toml", "--out", "killed", "--threads", "2"]);
    let after = rows(&cells);
    assert_eq!(after.len(), 18);
    for (name, time) in &before {
        assert_eq!(after[name], *time, "{name} was measured again");
    }
    same(&whole, &records(&place.path("killed/records/killed")));

    // Both passes, killed in each, and half a file left behind as a kill at the worst instant would.
    place.write("killed.toml", &text);
    let timed = |cells: &Path| {
        let Ok(entries) = std::fs::read_dir(cells) else { return 0 };
        let is_timed = |path: PathBuf| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            path.to_string_lossy().ends_with(".timing.csv")
                && text.lines().nth(1).is_some_and(|row| !row.ends_with(",,,,"))
        };
        entries.flatten().filter(|entry| is_timed(entry.path())).count()
    };
    let cells = kill_after("twice", &|cells| rows(cells).len() >= 5);
    let kept = rows(&cells).into_keys().next().expect("a cell");
    let distribution = cells.join(kept.replace(".csv", ".cdf.csv"));
    let bytes = std::fs::read(&distribution).expect("a file");
    std::fs::write(&distribution, &bytes[..bytes.len() / 2]).expect("a file");
    kill_after("twice", &|cells| timed(cells) >= 4);
    let measured: BTreeMap<String, SystemTime> = rows(&cells)
        .into_iter()
        .filter(|(name, _)| {
            let timing = std::fs::read_to_string(cells.join(name.replace(".csv", ".timing.csv")));
            timing.is_ok_and(|text| text.lines().nth(1).is_some_and(|row| !row.ends_with(",,,,")))
        })
        .collect();
    assert!((1..18).contains(&measured.len()), "{} of 18 cells timed before the kill", measured.len());
    place.does(&["measure", "killed.toml", "--out", "twice", "--threads", "2"]);
    let after = rows(&cells);
    for (name, time) in &measured {
        assert_eq!(after[name], *time, "{name} was timed again");
    }
    same(&whole, &records(&place.path("twice/records/killed")));
    let timings = table(&place.read("twice/records/killed/killed.timing.csv"));
    assert_eq!(timings.len(), 18);
    for row in timings {
        assert!(row["decisions"].parse::<u64>().expect("a number") > 0, "{row:?}");
    }
}

fn same(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, bytes) in one {
        assert!(*bytes == other[name], "{name} differs");
    }
}

/// An experiment on the quick scenario, much shorter.
fn based(name: &str, figures: &str, rest: &str) -> String {
    format!(
        "name = \"{name}\"\ntitle = \"T\"\nquestion = \"Q?\"\nalgorithms = [\"greedy-latency\", \"nearest\"]\n\
         seeds = [1, 2]\ntiming_requests = 0\nfigures = [{figures}]\nnumber = 99\nmetrics = [\"latency\"]\n\
         base = \"quick\"\n[set]\narrivals.warmup_minutes = 20\narrivals.minutes = 10\n{rest}"
    )
}

/// Every kind of experiment goes from its file to figures, tables and an answer, and what is recorded is not played again.
#[test]
fn sweeps_ratios_and_batches_are_drawn_and_answered() {
    let place = Place::new();
    let sweep = |parameter: &str| {
        format!("[[sweep]]\nparameter = \"{parameter}\"\nscale = [\"{parameter}\"]\nvalues = [0.5, 2]\n")
    };
    let sweeps = [sweep("arrivals.load"), sweep("cluster.keep_alive_ms")].concat();
    let batches = "[batches]\nsampled_by = \"nearest\"\nevery = 5\nnodes = 100\n";
    let cases = [
        (
            "swept",
            "\"sweep\"",
            sweeps.as_str(),
            ["figure-99-load", "figure-99-keep-alive-ms"],
            "swept-results",
        ),
        (
            "ratios",
            "\"tornado\"",
            sweeps.as_str(),
            ["figure-99-tornado-nearest-latency", "figure-99-tornado-nearest-violations"],
            "ratios-ratios",
        ),
        ("single", "\"gap\"", batches, ["figure-99-gap"; 2], "single-gap"),
    ];
    for (name, figures, rest, stems, table) in cases {
        let file = format!("{name}.toml");
        place.write(&file, based(name, figures, rest));
        place.refuses(&["draw", &file, "--out", "out"], &["scale measure"]);
        place.does(&["measure", &file, "--out", "out"]);
        let said = place.does(&["report", &file, "--out", "out"]);
        assert!(said.out.contains("report.html"), "{}", said.out);
        for stem in stems {
            assert!(place.read(&format!("out/{stem}.svg")).contains("<desc>"), "{stem}");
            assert!(place.path(&format!("out/{stem}.png")).exists(), "{stem}");
        }
        let page = place.read("out/report.md");
        assert!(page.contains("### Answer\n") && !page.contains("NaN"), "{page}");
        assert!(place.read(&format!("out/tables/{table}.csv")).lines().count() > 2);
        assert!(place.read(&format!("out/tables/{table}.tex")).contains(r"\toprule"));
    }
    let gaps = place.read("out/records/single/single.gap.csv");
    // For each batch two algorithms and two bounds; what waits makes more batches than the two windows that are sampled.
    let rows = gaps.lines().count() - 1;
    assert!(rows >= 2 * 2 * 4 && rows.is_multiple_of(4), "{gaps}");
    place.does(&["measure", "single.toml", "--out", "out"]);
    assert_eq!(place.read("out/records/single/single.gap.csv"), gaps);
    place
        .refuses(&["reproduce", "fig98", "--out", "out"], &["\"fig98\" is neither a figure", "fig6", "load"]);
}
