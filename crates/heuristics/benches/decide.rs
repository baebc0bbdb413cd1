//! How fast the rules decide: 125 nodes, 200 functions, a half-loaded state, one thread.
//!
//! `cargo bench -p scale-heuristics`. `decide/*` is a pass over 20,000 requests (so many that no branch predictor
//! learns them) in a fixed state, so that the time is that of the rule alone; `reference` is greedy-latency written
//! through `latency::predict`, nothing taken out of the loop.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Shape, random};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use scale_heuristics::{
    GreedyLatency, GreedyRegret, Hermod, K8sDefault, LeastLoaded, Nearest, OpenWhiskSharding, PowerOfTwo,
    RandomFeasible, RoundRobin, WarmFirstFit,
};
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, Decision, Instance, Scheduler, Seed, Solver, latency,
};
use std::hint::black_box;

/// Decisions in a pass.
const PASS: usize = 20_000;

/// greedy-latency as one would write it first.
struct Reference;

impl Scheduler for Reference {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        let request = &batch.requests[next];
        let mut best = Decision::Defer;
        let mut least = f64::INFINITY;
        for node in batch.platform.node_ids() {
            for container in [Container::Reuse, Container::New] {
                if state.allows(batch.platform, request.function, node, container) {
                    let total =
                        latency::predict(batch.platform, request, node, container, batch.now()).total().0;
                    if total < least {
                        (best, least) = (Decision::Run { node, container }, total);
                    }
                }
            }
        }
        best
    }
}

fn half_loaded(requests: usize) -> Instance {
    random(1, Shape { nodes: 125, functions: 200, requests, load: 0.5, idle: 10 })
}

fn decide(c: &mut Criterion) {
    let instance = half_loaded(PASS);
    let problem = instance.problem();
    let seed = Seed(7);
    let rules: [(&str, Box<dyn Scheduler>); 11] = [
        ("random-feasible", Box::new(RandomFeasible::new(seed))),
        ("round-robin", Box::new(RoundRobin::new())),
        ("nearest", Box::new(Nearest)),
        ("warm-first-fit", Box::new(WarmFirstFit)),
        ("least-loaded", Box::new(LeastLoaded)),
        ("power-of-two", Box::new(PowerOfTwo::new(seed))),
        ("k8s-default", Box::new(K8sDefault::new(seed))),
        ("openwhisk-sharding", Box::new(OpenWhiskSharding::new())),
        ("hermod", Box::new(Hermod)),
        ("greedy-latency", Box::new(GreedyLatency)),
        ("reference", Box::new(Reference)),
    ];
    let mut group = c.benchmark_group("decide");
    group.throughput(Throughput::Elements(PASS as u64));
    for (name, mut rule) in rules {
        group.bench_function(name, |b| {
            b.iter(|| {
                for next in 0..problem.requests.len() {
                    black_box(rule.decide(&problem, problem.state, next));
                }
            });
        });
    }
    group.finish();
}

fn regret(c: &mut Criterion) {
    let mut group = c.benchmark_group("greedy-regret");
    let mut bench = |name: &str, instance: &Instance| {
        group.bench_function(name, |b| {
            b.iter(|| GreedyRegret.solve(black_box(&instance.problem()), &Budget::default()));
        });
    };
    bench("60", &half_loaded(60));
    bench("200", &half_loaded(200));
    // The worst case for keeping two options a request: all want the same nodes, so all look again at each step.
    let mut crowd = half_loaded(200);
    let first = crowd.requests[0];
    crowd.requests.fill(first);
    bench("200-equal", &crowd);
    group.finish();
}

criterion_group!(benches, decide, regret);
criterion_main!(benches);
