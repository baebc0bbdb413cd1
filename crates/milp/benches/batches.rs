//! How long it takes to prove optimality on planted batches (see `planted`): 125 nodes, 200 functions, elastic. In CPU time,
//! a minute or two in all. What ends at a limit instead stands in `gaps.rs`.

mod cpu;
mod planted;

use std::cell::OnceCell;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use planted::{Planted, planted};
use scale_milp::{Formulation, Milp};
use scale_model::{Budget, Instance, Objective, Proof, Solver};

fn batch(seed: u64, requests: usize, load: f64) -> Instance {
    planted(&Planted { seed, nodes: 125, functions: 200, requests, load, objective: Objective::ELASTIC })
}

/// Proves the optimum so often; the CPU time that it takes.
fn prove_often(times: u64, instance: &Instance, formulation: Formulation) -> Duration {
    let start = cpu::time();
    (0..times).for_each(|_| prove(instance, formulation));
    cpu::time() - start
}

fn prove(instance: &Instance, formulation: Formulation) {
    let mut solver = Milp { formulation, random_seed: 1 };
    let solution = solver.solve(&instance.problem(), &Budget::default()).expect("deferring all is allowed");
    assert_eq!(solution.proof, Proof::Optimal);
}

/// The goal: 50 requests in less than 0.5 s, 200 in less than 2 s.
fn proofs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("proof");
    group.sampling_mode(SamplingMode::Flat);
    for (requests, load) in [(50, 0.3), (50, 0.7), (50, 0.95), (200, 0.3), (200, 0.7)] {
        for seed in 1..=3 {
            let instance = batch(seed, requests, load);
            let id = BenchmarkId::new(format!("{requests} at {load}"), seed);
            let often = |times| prove_often(times, &instance, Formulation::Compact);
            group.bench_function(id, |bencher| bencher.iter_custom(often));
        }
    }
    group.finish();
}

/// The goal: the paper's program takes at least ten times as long as the compact one, on the same batch in the same run. The
/// paper's is solved once, half a minute, and all samples have its time.
fn ratio(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ratio");
    group.sampling_mode(SamplingMode::Flat);
    let instance = batch(1, 200, 0.7);
    let often = |times| prove_often(times, &instance, Formulation::Compact);
    group.bench_function("200 at 0.7, compact", |bencher| bencher.iter_custom(often));
    let once = OnceCell::new();
    let time = || *once.get_or_init(|| prove_often(1, &instance, Formulation::Paper));
    group.bench_function("200 at 0.7, paper", |bencher| bencher.iter_custom(|times| time() * times as u32));
    group.finish();
}

/// Few samples: a solve takes from a hundredth of a second to seconds.
fn few_samples() -> Criterion {
    let second = Duration::from_secs(1);
    Criterion::default().sample_size(10).warm_up_time(second / 100).measurement_time(second)
}

criterion_group!(name = benches; config = few_samples(); targets = proofs, ratio);
criterion_main!(benches);
