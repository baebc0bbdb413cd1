//! How long it takes to prove optimality on planted batches (see `planted`): 125 nodes, 200 functions, elastic.
//! What ends at a limit instead stands in `gaps.rs`.

mod planted;

use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use planted::{Planted, planted};
use scale_milp::{Formulation, Milp};
use scale_model::{Budget, Instance, Objective, Proof, Solver};

fn batch(seed: u64, requests: usize, load: f64) -> Instance {
    planted(&Planted { seed, nodes: 125, functions: 200, requests, load, objective: Objective::ELASTIC })
}

fn prove(instance: &Instance, formulation: Formulation) {
    let mut solver = Milp { formulation, random_seed: 1 };
    let solution = solver.solve(&instance.problem(), &Budget::default()).expect("deferring all is allowed");
    assert_eq!(solution.proof, Proof::Optimal);
}

/// The goal: 50 requests in less than 0.5 s, 200 in less than 2 s.
fn proofs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("proof");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    for (requests, load) in [(50, 0.3), (50, 0.7), (50, 0.95), (200, 0.3), (200, 0.7), (1000, 0.3)] {
        for seed in 1..=3 {
            let instance = batch(seed, requests, load);
            let id = BenchmarkId::new(format!("{requests} at {load}"), seed);
            group.bench_function(id, |bencher| bencher.iter(|| prove(&instance, Formulation::Compact)));
        }
    }
    group.finish();
}

/// The goal: at least ten times the time of the compact program.
fn paper(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("paper");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    let instance = batch(1, 200, 0.7);
    group.bench_function("200 at 0.7/1", |bencher| bencher.iter(|| prove(&instance, Formulation::Paper)));
    group.finish();
}

criterion_group!(benches, proofs, paper);
criterion_main!(benches);
