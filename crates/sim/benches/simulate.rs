//! Decisions a second of whole runs, one thread: 125 nodes, 200 functions, about 100,000 requests; in windows of 50 ms
//! with some 60 requests each, and with every request a batch of its own. `cargo bench -p scale-sim`

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
const REQUESTS: u32 = 100_000;
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

/// Functions by Zipf with exponent 1, 40 to 240 ms of computation each.
fn workload(platform: &Platform, rng: &mut ChaCha8Rng) -> Workload {
    let sums: Vec<f64> = (1..=FUNCTIONS)
        .scan(0.0, |sum, rank| {
            *sum += 1.0 / f64::from(rank);
            Some(*sum)
        })
        .collect();
    let all = *sums.last().expect("functions");
    let mut now = 0.0;
    let requests = (0..REQUESTS)
        .map(|id| {
            now += -(1.0 - rng.random::<f64>()).ln() * GAP_MS;
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
    let workload = workload(&platform, &mut rng);
    let config = SimConfig {
        keep_alive: Milliseconds(60_000.0),
        patience: None,
        warmup_until: Time(0.0),
        objective: Objective::ELASTIC,
        verify: false,
    };
    let schedulers: [(&str, Make); 2] =
        [("warm-first-fit", || Box::new(WarmFirstFit)), ("greedy-latency", || Box::new(GreedyLatency))];
    for (window, name) in [(50.0, "simulate 50 ms"), (0.0, "simulate 0 ms")] {
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
                "{name}: {} batches, {} decisions, {} deferred, load {:.2}, {} cold, {} evicted, mean {:?}",
                summary.batches,
                summary.decisions,
                summary.deferrals,
                summary.busy_core_ms / (summary.span.0 * platform.topology.total_cores()),
                summary.cold_starts,
                summary.evictions,
                summary.latency_mean(),
            );
            group.throughput(Throughput::Elements(summary.decisions));
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| bencher.iter(run));
        }
        group.finish();
    }
}

criterion_group!(benches, runs);
criterion_main!(benches);
