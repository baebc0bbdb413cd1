//! How fast traces are read and played: `cargo bench -p scale-workload`.
//!
//! `huawei wide`: bytes of a private (200 columns) and a public (5093 columns, mostly empty) day a second, through
//! `read_day`. `expand`: requests a second that `generate` makes out of counts, with all of their attributes. The others:
//! bytes a second from a reader to a visitor that adds up.
//!
//! Measured is the time that the thread had a core, so that other work on the machine counts less; where the system does not
//! tell it, the time on the clock.

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use scale_model::{
    Cores, Function, Gigahertz, Links, Megabytes, MegabytesPerSecond, Memory, Milliseconds, Node, Platform,
    Position, Seed, Topology,
};
use scale_workload::trace::read;
use scale_workload::{
    ArrivalSpec, Catalogue, Course, DayCounts, Format, MinuteCounts, Profile, Rules, generate, read_day,
};
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

/// Time on a core.
struct CoreTime;

/// On Linux the nanoseconds that this thread has run; elsewhere the clock.
enum Start {
    Core(u64),
    Clock(<WallTime as Measurement>::Intermediate),
}

fn on_core() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

impl Measurement for CoreTime {
    type Intermediate = Start;
    type Value = Duration;

    fn start(&self) -> Start {
        on_core().map_or_else(|| Start::Clock(WallTime.start()), Start::Core)
    }

    fn end(&self, start: Start) -> Duration {
        match start {
            Start::Core(before) => Duration::from_nanos(on_core().unwrap_or(before).saturating_sub(before)),
            Start::Clock(before) => WallTime.end(before),
        }
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

/// A day of `functions` columns, of which every `every`-th has data of the usual size.
fn day(functions: u32, every: u32) -> String {
    let header = (0..functions).fold("day,time".to_string(), |text, function| format!("{text},{function}"));
    (0..1440_u32).fold(header + "\n", |mut text, minute| {
        text += &format!("0,{}", 60 * minute);
        for function in 0..functions {
            text.push(',');
            if function % every == 0 {
                let count = (function * 7919 + minute * 104_729)
                    % [10, 100, 1000, 60_000][function as usize / every as usize % 4];
                text += &if function % 3 == 0 { count.to_string() } else { format!("{count}.0") };
            }
        }
        text + "\n"
    })
}

fn write(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(&path, text).expect("a file");
    path
}

fn wide(criterion: &mut Criterion<CoreTime>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut group = criterion.benchmark_group("huawei wide");
    group.sample_size(20);
    for (name, functions, every) in
        [("private, dense", 200, 1), ("private, half empty", 200, 2), ("public, sparse", 5093, 8)]
    {
        let text = day(functions, every);
        let path = write(folder.path(), &format!("{name}/requests_minute/day_000.csv"), &text);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| read_day(black_box(&path)).expect("a day")));
    }
    group.finish();
}

fn readers(criterion: &mut Criterion<CoreTime>) {
    let folder = tempfile::tempdir().expect("a folder");
    let minutes = (1..=1440).fold("HashOwner,HashApp,HashFunction,Trigger".to_string(), |text, minute| {
        format!("{text},{minute}")
    });
    let hash = |number: u32| format!("{:064x}", u64::from(number) * 0x9e37_79b9_7f4a_7c15);
    let azure_2019 = (0..2000).fold(minutes + "\n", |mut text, row| {
        text += &format!("{},{},{},http", hash(row / 4), hash(row / 2), hash(row));
        (0..1440).for_each(|minute| {
            text += [",0", ",0", ",0", ",0", ",3", ",17"][(row * 31 + minute * 7) as usize % 6]
        });
        text + "\n"
    });
    let azure_2021 = (0..200_000).fold("app,func,end_timestamp,duration\n".to_string(), |text, row| {
        text + &format!("{},{},{}.0794909,0.{}\n", hash(row % 97), hash(row % 401), row / 3 + 60, row % 1000)
    });
    let own = (0..500_000)
        .fold("start_s,span_s,function,requests,duration_ms,input_mb\n".to_string(), |text, row| {
            text + &format!("{},60,f{},{},12.5,\n", row / 100 * 60, row % 100, row % 999)
        });
    let tables = [
        ("azure 2019", "azure-2019/invocations.csv", azure_2019),
        ("azure 2021", "azure-2021/t.csv", azure_2021),
        ("own layout", "own/requests.csv", own),
        ("huawei 2023", "huawei/requests_minute/day_000.csv", day(200, 2)),
    ];
    let mut group = criterion.benchmark_group("reader");
    group.sample_size(10);
    for (name, file, text) in tables {
        let path = write(folder.path(), file, &text);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut sum = 0;
                let trace = read(&path, Format::Auto, &Rules::default(), &mut |row| {
                    sum += row.requests.unwrap_or(0);
                    Ok(())
                });
                assert_eq!(trace.expect("a trace").requests, black_box(sum));
            });
        });
    }
    group.finish();
}

fn expand(criterion: &mut Criterion<CoreTime>) {
    let function = |name: u32| Function {
        name: name.to_string(),
        image: Megabytes(15.0),
        init: Milliseconds(80.0),
        memory: Memory { mb: 128 },
        cores: Cores { milli: 500 },
    };
    let profile = Profile {
        mean_comp_ms: 150.0,
        comp_request_cv: 0.1,
        mean_input_mb: 0.5,
        input_request_cv: 0.3,
        rate_per_minute: 2.0,
        burstiness: 0.0,
    };
    let catalogue = Catalogue { functions: (0..200).map(function).collect(), profiles: vec![profile; 200] };
    let node = |name: u32| Node {
        name: name.to_string(),
        kind: 0,
        position: Position { latitude: 0.0, longitude: 0.0 },
        frequency: Gigahertz(3.0),
        cores: Cores { milli: 3000 },
        memory: Memory { mb: 16_000 },
        registry_bandwidth: MegabytesPerSecond(100.0),
    };
    let links = Links::from_fn(125, |_, _| MegabytesPerSecond(25.0)).expect("links");
    let topology = Topology { nodes: (0..125).map(node).collect(), links };
    let platform = Platform { topology, functions: catalogue.functions.clone() };
    let mut cells = DayCounts::empty(200);
    (0..1440).for_each(|minute| (0..200).for_each(|function| cells.set(minute, function, Some(250))));
    let counts =
        MinuteCounts { functions: (0..200).map(|f| f.to_string()).collect(), days: [(0, cells)].into() };
    let spec = ArrivalSpec {
        day: 0,
        warmup_minutes: 0,
        minutes: Some(40),
        minute_ms: 60_000.0,
        load: None,
        course: Course::Trace,
        window_ms: 50.0,
        zipf_beta: 0.8,
        slo_ms: [200.0, 400.0],
    };
    let mut group = criterion.benchmark_group("expand");
    group.sample_size(10).throughput(Throughput::Elements(40 * 200 * 250));
    group.bench_function("requests", |bencher| {
        bencher.iter_batched(
            || (),
            |()| generate(&spec, &counts, &catalogue, &platform, Seed(1)).expect("requests"),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CoreTime);
    targets = wide, readers, expand
}
criterion_main!(benches);
