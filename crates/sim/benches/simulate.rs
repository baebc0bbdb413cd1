//! Requests a second of whole runs, one thread: 125 nodes, 200 functions. First 100,000 requests at a low load, in
//! windows of 50 ms with some 60 requests each, and with every request a batch of its own. Then a medium load that comes
//! in waves, so that some are deferred, and one above the capacity, where most of the time goes into those that wait.
//! `cargo bench -p scale-sim`

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scale_heuristics::{GreedyLatency, WarmFirstFit};
use scale_model::{
    CoreMilliseconds, Cores, Function, FunctionId, Gigahertz, Links, Megabytes, MegabytesPerSecond, Memory,
    Milliseconds, Node, NodeId, Objective, Platform, Position, Request, RequestId, Scheduler, Time, Topology,
    Workload,
};
use scale_sim::{Policy, SimConfig, simulate};
use std::time::Duration;

const NODES: usize = 125;
const FUNCTIONS: u32 = 200;
/// What a request takes about, as measured at the low load: 140 ms of computation, transfers and cold starts.
const SERVICE_MS: f64 = 200.0;
/// Sixty in 50 ms.
const GAP_MS: f64 = 50.0 / 60.0;

fn platform(rng: &mut ChaCha8Rng) -> Platform {
    let nodes = (0..NODES)
        .map(|index| Node {
            name: format!("node{index}"),
            kind: 0,
            position: Position { latitude: 0.0, longitude: 0.0 },
            frequency: Gigahertz(3.0),
            cores: Cores { milli: rng.random_range(2400..=3600) },
            memory: Memory { mb: rng.random_range(10_000..=30_000) },
            registry_bandwidth: MegabytesPerSecond(rng.random_range(60.0..125.0)),
        })
        .collect();
    let functions = (0..FUNCTIONS)
        .map(|index| Function {
            name: format!("f{index}"),
            image: Megabytes(rng.random_range(2.0..20.0)),
            init: Milliseconds(rng.random_range(20.0..100.0)),
            memory: Memory { mb: rng.random_range(128..=512) },
            cores: Cores { milli: [450, 450, 950][rng.random_range(0..3)] },
        })
        .collect();
    let links =
        Links::from_fn(NODES, |_, _| MegabytesPerSecond(rng.random_range(5.0..50.0))).expect("rates above 0");
    Platform { topology: Topology { nodes, links }, functions }
}

/// The mean time between two requests, by Zipf as in [`workload`], that need this part of all cores.
fn gap_ms(platform: &Platform, load: f64) -> f64 {
    let weights = (1..=FUNCTIONS).map(|rank| 1.0 / f64::from(rank));
    let cores = weights.clone().zip(&platform.functions).map(|(weight, f)| weight * f.cores.as_f64());
    let work = cores.sum::<f64>() / weights.sum::<f64>() * SERVICE_MS;
    work / (load * platform.topology.total_cores())
}

/// Functions by Zipf with exponent 1, 40 to 240 ms of computation each. In one second of five requests come `peak` times
/// as often as on the average.
fn workload(platform: &Platform, count: u32, gap_ms: f64, peak: f64, rng: &mut ChaCha8Rng) -> Workload {
    let sums: Vec<f64> = (1..=FUNCTIONS)
        .scan(0.0, |sum, rank| {
            *sum += 1.0 / f64::from(rank);
            Some(*sum)
        })
        .collect();
    let all = *sums.last().expect("functions");
    let mut now = 0.0;
    let requests = (0..count)
        .map(|id| {
            let rate = if now % 5000.0 < 1000.0 { peak } else { (5.0 - peak) / 4.0 };
            now += -(1.0 - rng.random::<f64>()).ln() * gap_ms / rate;
            let draw = rng.random::<f64>() * all;
            let function = FunctionId(sums.partition_point(|&sum| sum < draw) as u32);
            let lasts = rng.random_range(40.0..240.0);
            Request {
                id: RequestId(id),
                function,
                source: NodeId(rng.random_range(0..NODES as u32)),
                arrival: Time(now),
                cpu_time: CoreMilliseconds(lasts * platform.function(function).cores.as_f64()),
                input: Megabytes(rng.random_range(0.1..2.0)),
                slo: Milliseconds(rng.random_range(200.0..400.0)),
            }
        })
        .collect();
    Workload { requests }
}

type Make = fn() -> Box<dyn Scheduler>;

fn runs(criterion: &mut Criterion) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let platform = platform(&mut rng);
    let low = workload(&platform, 100_000, GAP_MS, 1.0, &mut rng);
    let medium = workload(&platform, 100_000, gap_ms(&platform, 0.65), 1.6, &mut rng);
    let high = workload(&platform, 20_000, gap_ms(&platform, 1.1), 1.0, &mut rng);
    let config = |patience| SimConfig {
        keep_alive: Milliseconds(60_000.0),
        patience,
        warmup_until: Time(0.0),
        objective: Objective::ELASTIC,
        verify: false,
    };
    let schedulers: [(&str, Make); 2] =
        [("warm-first-fit", || Box::new(WarmFirstFit)), ("greedy-latency", || Box::new(GreedyLatency))];
    let cases = [
        ("simulate 50 ms", &low, 50.0, config(None)),
        ("simulate 0 ms", &low, 0.0, config(None)),
        ("simulate load 0.65", &medium, 50.0, config(None)),
        ("simulate load 1.1", &high, 50.0, config(Some(Milliseconds(5000.0)))),
    ];
    for (name, workload, window, config) in cases {
        let workload = workload.clone().windowed(Milliseconds(window));
        let mut group = criterion.benchmark_group(name);
        group.sampling_mode(SamplingMode::Flat).sample_size(10).measurement_time(Duration::from_secs(3));
        group.warm_up_time(Duration::from_secs(1));
        for (name, scheduler) in schedulers {
            let run = || {
                let mut scheduler = scheduler();
                simulate(&platform, &workload, &config, Policy::Scheduler(&mut *scheduler), &mut ())
                    .expect("rules that keep the rules")
            };
            let summary = run();
            println!(
                "{name}: {} batches, {} decisions, {} deferred, {:?} rejected, load {:.2}, {} cold, {} evicted, mean {:?}",
                summary.batches,
                summary.decisions,
                summary.deferrals,
                summary.rejected,
                summary.busy_core_ms / (summary.span.0 * platform.topology.total_cores()),
                summary.cold_starts,
                summary.evictions,
                summary.latency_mean(),
            );
            group.throughput(Throughput::Elements(summary.offered));
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| bencher.iter(run));
        }
        group.finish();
    }
}

criterion_group!(benches, runs);
criterion_main!(benches);
