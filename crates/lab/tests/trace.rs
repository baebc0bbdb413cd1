//! `scale trace` from outside, and traces that somebody brings in an experiment: on made-up files in public layouts.

use assert_cmd::Command;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

const QUICK: &str = include_str!("../../../experiments/quick.toml");

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// What `scale` prints; it must succeed or, if `refused`, say why not.
    fn scale(&self, arguments: &[&str], refused: bool) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scale"));
        command
            .current_dir(self.folder.path())
            .env("SCALE_DATASETS", self.path("data"))
            .env("RUST_BACKTRACE", "0");
        let output = command.args(arguments).timeout(Duration::from_secs(120)).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(!err.contains("panicked"), "{arguments:?}: {err}");
        assert_eq!(output.status.code(), Some(i32::from(refused)), "{arguments:?}: {out}{err}");
        if refused { err } else { out + &err }
    }

    fn does(&self, arguments: &[&str]) -> String {
        self.scale(arguments, false)
    }

    fn refuses(&self, arguments: &[&str]) -> String {
        self.scale(arguments, true)
    }
}

/// Three functions of two apps over `days` days of Azure 2019, from day 0: 2, 1 and 0-3 requests a minute.
fn azure(place: &Place, folder: &str, days: u32) {
    for day in 1..=days {
        let header: String = (1..=1440).map(|minute| format!(",{minute}")).collect();
        let row = |name: &str, count: &dyn Fn(u32) -> u32| {
            let counts: String = (0..1440).map(|minute| format!(",{}", count(minute))).collect();
            format!("o,{name},http{counts}\n")
        };
        let rows = row("a,f", &|_| 2) + &row("a,g", &|_| 1) + &row("b,h", &|minute| minute / 60 % 4);
        let name = |kind: &str| format!("{folder}/{kind}.anon.d{day:02}.csv");
        let text = format!("HashOwner,HashApp,HashFunction,Trigger{header}\n{rows}");
        place.write(&name("invocations_per_function_md"), &text);
        let durations = "HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,percentile_Average_50\n\
                         o,a,f,100,2880,50,300,90\no,a,g,10,1440,5,30,9\n";
        place.write(&name("function_durations_percentiles"), durations);
        place.write(
            &name("app_memory_percentiles"),
            "HashOwner,HashApp,SampleCount,AverageAllocatedMb\no,a,9,300\n",
        );
    }
}

#[test]
fn a_trace_is_described_in_words_and_figures() {
    let place = Place::new();
    azure(&place, "in", 2);
    let said = place.does(&["trace", "describe", "in", "--out", "figures"]);
    let requests = 2 * (2880 + 1440 + 6 * 60 * 6);
    for line in [
        "in (azure-2019): 6 files, 12 rows, 3 functions, ".to_string() + &requests.to_string() + " requests",
        "offset                 0 s (0 d 0 h 0 min)".into(),
        "span                   172800 s (2 d 0 h 0 min)".into(),
        "functions              3, of which 3 were called".into(),
        "mean duration (ms)     P1 9.97".into(),
        "memory (MB)            P1 151".into(),
        "1 x a function without durations: the profile's are used".into(),
        "    first: o/b/h".into(),
        "memory_mb              0 measured, 2 derived, 1 from the profile".into(),
    ] {
        assert!(said.contains(&line), "no {line:?} in\n{said}");
    }
    for name in ["trace-rate", "trace-rank", "trace-durations"] {
        for ending in ["svg", "png"] {
            let file = place.path(&format!("figures/{name}.{ending}"));
            assert!(std::fs::metadata(&file).expect("a figure").len() > 1000, "{}", file.display());
        }
    }
}

#[test]
fn a_trace_is_converted_there_and_back() {
    let place = Place::new();
    azure(&place, "in", 2);
    place.does(&["trace", "convert", "in", "--to", "own"]);
    let said = place.does(&["trace", "convert", "own", "--as", "azure-2019", "--to", "again"]);
    assert!(
        said.contains("2 days; 0 cells without data became 0; 1 functions have no duration and 1 no memory"),
        "{said}"
    );
    let text = |name: &str| std::fs::read_to_string(place.path(name)).expect("a file");
    for day in ["d01", "d02"] {
        let name = format!("invocations_per_function_md.anon.{day}.csv");
        // All but the trigger, which is no part of our layout.
        assert_eq!(text(&format!("again/{name}")), text(&format!("in/{name}")).replace(",http,", ",others,"));
    }
    assert!(text("again/app_memory_percentiles.anon.d01.csv").contains("o,a,1,300,"));
    let schema: serde_json::Value = serde_json::from_str(&place.does(&["trace", "schema"])).expect("JSON");
    assert_eq!(schema["title"], "Scale trace");
}

#[test]
fn faults_are_errors_or_counted() {
    let place = Place::new();
    place.write("t.csv", "app,func,end_timestamp,duration\na,f,10,4\na,f,11,NaN\na,f,12,-1\n");
    let said = place.refuses(&["trace", "describe", "t.csv"]);
    assert_eq!(
        said,
        "error: t.csv:3:4: duration: \"NaN\": expected the duration of the request, in seconds\n"
    );
    let said = place.does(&["trace", "describe", "t.csv", "--on-bad", "skip"]);
    for line in [
        "1 rows, 1 functions, 1 requests",
        "1 x a duration that is no number: row left out\n    first: t.csv:3:4:",
        "1 x a request that ends before it starts: row left out\n    first: t.csv:4:4:",
    ] {
        assert!(said.contains(line), "no {line:?} in\n{said}");
    }
    let said = place.does(&["trace", "describe", "t.csv", "--on-bad", "repair"]);
    assert!(said.contains("3 requests") && said.contains("kept, duration unknown"), "{said}");
    for (arguments, expected) in [
        (vec!["trace", "describe", "gone.csv"], "gone.csv: "),
        (
            vec!["trace", "calibrate", "t.csv", "--on-bad", "skip", "--functions", "0"],
            "--functions 0: expected at least one",
        ),
        (
            vec!["trace", "describe", "t.csv", "--on-bad", "skip", "--delay-unit-ms", "0"],
            "delay_unit_ms: 0: expected a number above 0",
        ),
    ] {
        let said = place.refuses(&arguments);
        assert!(said.contains(expected), "no {expected:?} in {said}");
    }
}

/// An experiment on a trace that somebody brings: its functions and counts are used, and the record says how far.
#[test]
fn an_experiment_plays_a_trace_that_is_brought() {
    let place = Place::new();
    azure(&place, "data/mine", 5);
    let played = |trace: &str| {
        let quick = QUICK
            .replace("name = \"quick\"", "name = \"mine\"")
            .replace("trace = \"synthetic\"", &format!("trace = {trace}"));
        let mut text = quick
            .replace("count = 200", "count = 3")
            .replace("load = 0.176\n", "")
            .replace("\"level\"", "\"trace\"");
        // Days 3 and 4 are played: the warm-up is the end of day 3.
        text =
            text.replace("minutes = 300", "minutes = 100").replace("minute_ms = 50.0", "minute_ms = 1000.0");
        place.write("mine.toml", &text);
        ["simulate", "mine.toml", "--algorithm", "warm-first-fit"]
    };
    let said = place.does(&played("{ file = { path = \"mine\" } }"));
    let expected = "(3 of 3 functions: p_k 2 derived, 1 profile; f_k 3 profile; c_k 2 derived, 1 profile; s_k 3 profile; \
                    alpha_k 3 profile; d_k 3 profile), the others synthetic";
    assert!(said.contains("trace: azure-2019 ") && said.contains(expected), "{said}");
    assert!(said.contains("1 x a function without memory"), "{said}");
    assert_eq!(
        said.replace(char::is_numeric, ""),
        place.does(&played("{ file = { path = \"mine\" } }")).replace(char::is_numeric, "")
    );
    let said = place.refuses(&played("{ file = { path = \"other\" } }"));
    assert!(said.contains("scenario.trace: \"other\" is not found; looked for: other, "), "{said}");
    std::fs::remove_file(place.path("data/mine/invocations_per_function_md.anon.d04.csv")).expect("a file");
    for kind in ["function_durations_percentiles", "app_memory_percentiles"] {
        std::fs::remove_file(place.path(&format!("data/mine/{kind}.anon.d04.csv"))).expect("a file");
    }
    let said = place.refuses(&played("{ file = { path = \"mine\" } }"));
    assert!(said.contains("no day 3; there are the days 0-2, 4"), "{said}");
    place.does(&played("{ file = { path = \"mine\", rules = { gap = \"hold\" } } }"));
}

/// A fit is written, drawn, and played by an experiment.
#[test]
fn a_generator_is_fitted_and_played() {
    let place = Place::new();
    azure(&place, "in", 3);
    let said = place.does(&["trace", "calibrate", "in", "--functions", "2", "--draws", "3", "--out", "fit"]);
    assert!(said.contains("o/b/h: real; synthetic, mean") && said.contains("acf 1440 min"), "{said}");
    for name in ["calibration-course.svg", "calibration-autocorrelation.png"] {
        assert!(place.path("fit").join(name).exists(), "{name}");
    }
    let text = QUICK
        .replace("name = \"quick\"", "name = \"mine\"")
        .replace("trace = \"synthetic\"", "trace = { fitted = { path = \"fit/calibration.json\" } }");
    place.write("mine.toml", &text.replace("count = 200", "count = 5"));
    let said = place.does(&["simulate", "mine.toml", "--algorithm", "warm-first-fit"]);
    assert!(said.contains("trace: fitted (2 of 5 functions, SHA-256 "), "{said}");
    place.write(
        "fit/calibration.json",
        "{\"fits\": [{\"name\": \"f\", \"mean_per_minute\": -1, \"course\": [], \"noise\": []}]}",
    );
    let said = place.refuses(&["simulate", "mine.toml", "--algorithm", "warm-first-fit"]);
    assert!(said.contains("mean_per_minute: -1: expected a number of at least 0"), "{said}");
}
