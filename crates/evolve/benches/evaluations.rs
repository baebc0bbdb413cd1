//! How fast the presets evaluate: 125 nodes, load 0.7, one thread.
//!
//! `cargo bench -p scale-evolve`. `full/*` is one evaluation of the whole vector of `midaco`, over 256 different
//! vectors; `full/midaco-*` is the whole search, its own work included. `delta/*` is the whole search of `hybrid`, a
//! trial being an evaluation; the tables and seeds that it begins with are in it, and apart in `delta/start-*`. All of it takes
//! about a minute and a half.

#[path = "../tests/common/mod.rs"]
mod common;

use common::planted;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scale_evolve::{BlackBox, Hybrid, Midaco, Problem};
use scale_model::{Budget, Seed};
use std::hint::black_box;
use std::time::Duration;

fn full(c: &mut Criterion) {
    let mut group = c.benchmark_group("full");
    group.sample_size(20);
    for requests in [50, 200, 1000] {
        let instance = planted(1, requests, 0.7);
        let problem = instance.problem();
        let mut batch = BlackBox::of(&problem);
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        let points: Vec<Vec<f64>> = (0..256)
            .map(|_| {
                let whole = |upper: f64| f64::from(rng.random_range(0..=upper as u32));
                batch.variables().iter().map(|variable| variable.upper).map(whole).collect()
            })
            .collect();
        group.throughput(Throughput::Elements(points.len() as u64));
        group.bench_function(requests.to_string(), |b| {
            b.iter(|| points.iter().map(|point| batch.evaluate(black_box(point)).objective).sum::<f64>());
        });
        let evaluations = 5_000;
        group.throughput(Throughput::Elements(evaluations));
        group.bench_function(format!("midaco-{requests}"), |b| {
            b.iter(|| Midaco { evaluations, seed: Seed(1) }.run(black_box(&problem), &Budget::default()));
        });
    }
    group.finish();
}

fn delta(c: &mut Criterion) {
    let mut group = c.benchmark_group("delta");
    group.sample_size(10);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread pool");
    for requests in [50, 200, 1000] {
        let instance = planted(1, requests, 0.7);
        let problem = instance.problem();
        // So many that tables and seeds, a few per mille of the time, do not matter.
        let evaluations = 3_000_000;
        let search = |evaluations| {
            one.install(|| Hybrid { evaluations, seed: Seed(1) }.run(black_box(&problem), &Budget::default()))
        };
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("start-{requests}"), |b| b.iter(|| search(0)));
        group.throughput(Throughput::Elements(evaluations));
        group.bench_function(requests.to_string(), |b| b.iter(|| search(evaluations)));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    targets = full, delta
}
criterion_main!(benches);
