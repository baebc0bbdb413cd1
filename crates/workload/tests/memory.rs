//! Memory does not depend on the length of a trace: the largest amount in use is the same for ten times the rows.
//!
//! A counting allocator watches one reading at a time, so this file has one test.

use peak_alloc::PeakAlloc;
use scale_workload::describe::Describer;
use scale_workload::input::MAX_LINE;
use scale_workload::own::Writer;
use scale_workload::trace::{Visit, read};
use scale_workload::{Format, Gap, OnBad, Rules};
use std::fs;
use std::io::Write;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The most memory that was in use at a time beyond what was before, in bytes.
fn most(work: impl FnOnce()) -> usize {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    work();
    ALLOCATOR.peak_usage() - before
}

/// Makes a trace of so many days.
type Make = fn(&Path, u32);

fn lines(path: &Path, text: impl Iterator<Item = String>) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    let mut file = std::io::BufWriter::new(fs::File::create(path).expect("a file"));
    text.for_each(|line| writeln!(file, "{line}").expect("a file"));
}

#[test]
fn ten_times_the_length_takes_the_same_memory() {
    let huawei: Make = |folder, days| {
        for day in 0..days {
            for metric in ["requests", "function_delay"] {
                let rows = (0..1440)
                    .map(|minute| format!("{day},{}{}", day * 86_400 + 60 * minute, ",7".repeat(200)));
                let header =
                    (0..200).fold("day,time".to_string(), |text, function| format!("{text},{function}"));
                lines(
                    &folder.join(format!("{metric}_minute/day_{day:03}.csv")),
                    std::iter::once(header).chain(rows),
                );
            }
        }
    };
    let azure_2021: Make = |folder, days| {
        let rows =
            (0..days * 20_000).map(|row| format!("a{},f,{},0.5", row % 50, 4.0 * f64::from(row) + 1.0));
        lines(&folder.join("t.csv"), std::iter::once("app,func,end_timestamp,duration".into()).chain(rows));
    };
    let azure_2019: Make = |folder, days| {
        for day in 1..=days {
            let header = (1..=1440)
                .fold("HashOwner,HashApp,HashFunction,Trigger".to_string(), |text, minute| {
                    format!("{text},{minute}")
                });
            let rows = (0..50).map(|row| format!("o,a,f{row},http{}", ",3".repeat(1440)));
            lines(
                &folder.join(format!("invocations_per_function_md.anon.d{day:02}.csv")),
                std::iter::once(header).chain(rows),
            );
        }
    };
    for (name, make) in [("huawei", huawei), ("azure 2021", azure_2021), ("azure 2019", azure_2019)] {
        let used = [1, 10].map(|days| {
            let folder = tempfile::tempdir().expect("a folder");
            make(&folder.path().join("in"), days);
            let go = |format: Format, from: &str, visit: &mut Visit<'_>| {
                read(&folder.path().join(from), format, &Rules::default(), visit).expect("a trace")
            };
            // Read, described and converted, then our own layout read.
            let converted = most(|| {
                let (mut describer, mut writer) =
                    (Describer::default(), Writer::new(&folder.path().join("out")).expect("a folder"));
                let trace = go(Format::Auto, "in", &mut |row| {
                    describer.row(row);
                    writer.row(row)
                });
                writer.finish(&trace).expect("written");
                assert!(describer.finish(&trace).requests > 0);
            });
            let own = most(|| drop(go(Format::Scale, "out", &mut |_| Ok(()))));
            [converted, own]
        });
        println!(
            "{name}: {} and {} KiB for one day, {} and {} KiB for ten",
            used[0][0] / 1024,
            used[0][1] / 1024,
            used[1][0] / 1024,
            used[1][1] / 1024
        );
        for (one, ten) in used[0].iter().zip(used[1]) {
            // The bins of the course double until there are 8192 (64 KiB, and as much while they grow).
            assert!(ten <= one + 200 * 1024, "{name}: {one} bytes for one day, {ten} for ten");
            assert!(ten < 4 << 20, "{name}: {ten} bytes");
        }
    }
    the_longest_line_takes_fifty_times_its_length_at_most();
}

/// A header and a row of nothing but commas are refused, or left out, within the bound that `input` states.
fn the_longest_line_takes_fifty_times_its_length_at_most() {
    let folder = tempfile::tempdir().expect("a folder");
    let commas = ",".repeat(MAX_LINE - 100);
    for head in
        ["start_s,function", "app,func,end_timestamp,duration", "day,time,0", "HashFunction,1", "funcID"]
    {
        let path = folder.path().join("t.csv");
        fs::write(&path, format!("{head}{commas}\n0,0,0{commas}\n")).expect("a file");
        for on_bad in [OnBad::Error, OnBad::Skip] {
            let rules = Rules { on_bad, gap: Gap::Zero, ..Rules::default() };
            let used = most(|| drop(read(&path, Format::Auto, &rules, &mut |_| Ok(()))));
            println!("{head}, {on_bad:?}: {} MiB", used >> 20);
            assert!(used < 50 * MAX_LINE, "{head}, {on_bad:?}: {} MiB", used >> 20);
        }
    }
    fs::write(folder.path().join("t.csv"), ",".repeat(10 * MAX_LINE)).expect("a file");
    let message = read(&folder.path().join("t.csv"), Format::Auto, &Rules::default(), &mut |_| Ok(()))
        .expect_err("a line that is too long")
        .to_string();
    assert!(
        message.ends_with("a line 1 of more than 4194304 bytes: expected a text with line ends"),
        "{message}"
    );
}
