//! How long a trained agent takes for one decision, features and masks included: 125 nodes, one thread, no allocation;
//! Scale on 1,464 nodes too.
//!
//! `cargo bench -p scale-agents`. `observe` and `mask` are its parts; `forward` the network alone.

#[path = "../tests/common/mod.rs"]
mod common;

use common::day;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use scale_agents::dqn::{self, DqnConfig};
use scale_agents::ppo::{self, PpoConfig};
use scale_agents::scale::Scale;
use scale_agents::scorer::Scorer;
use scale_agents::{Action, Agent, Env, Mask, Reward, SimEnv, observe};
use scale_model::{BatchProblem, Budget, Request, Scheduler, Seed, Solver};
use std::hint::black_box;

const NODES: usize = 125;

fn decide(c: &mut Criterion) {
    let days = [day(1, NODES, 2000)];
    let width = observe::width(NODES);
    let mut env = SimEnv::new(&days, 0, 0, Reward::PAPER).expect("it plays");
    let mut mask = Mask::closed(NODES);
    for step in 0..1000 {
        env.mask(&mut mask);
        let mut valid = (0..2 * NODES).map(|flat| Action::of_flat((flat + step) % (2 * NODES), NODES)).rev();
        let action = valid.find(|&action| mask.open().allows(action)).expect("one is valid");
        env.step(action).expect("it is valid");
    }
    let simulation = env.simulation();
    let (problem, state, next) = (simulation.problem(), simulation.state(), simulation.outcomes().len());
    let ppo = ppo::Learner::new(&PpoConfig::paper(1), width, NODES, Seed(1)).expect("a learner").network();
    let dqn = dqn::Learner::new(&DqnConfig::paper(1), width, NODES, Seed(1)).expect("a learner").network();
    for (name, network) in [("ppo", &ppo), ("m-dqn", &dqn)] {
        let mut agent = Agent::new(network.clone(), &days[0].platform).expect("it fits");
        c.bench_function(&format!("decide/{name}"), |b| b.iter(|| agent.decide(&problem, state, next)));
    }
    let mut out = vec![0.0; width];
    c.bench_function("observe", |b| b.iter(|| observe::observe(&problem, state, next, black_box(&mut out))));
    let function = problem.requests[next].function;
    c.bench_function("mask", |b| b.iter(|| mask.look(problem.platform, state, black_box(function))));
    let mut scratch = vec![0.0; ppo.mlp.scratch()];
    c.bench_function("forward", |b| {
        b.iter(|| ppo.mlp.forward(&ppo.parameters, black_box(&out), &mut scratch)[0])
    });
}

/// Whole batches, on the paper's network and on a metropolis, the judge's look at the placement included: time a decision. As many requests a node as a window of the paper's scenario has.
fn batch(c: &mut Criterion) {
    let mut group = c.benchmark_group("batch");
    for nodes in [NODES, 1464] {
        let days = [day(1, nodes, 2000)];
        let mut env = SimEnv::new(&days, 0, 0, Reward::PAPER).expect("it plays");
        let mut mask = Mask::closed(nodes);
        for step in 0..1000 {
            env.mask(&mut mask);
            let mut all =
                (0..2 * nodes).map(|flat| Action::of_flat((flat + step) % (2 * nodes), nodes)).rev();
            env.step(all.find(|&action| mask.open().allows(action)).expect("one is valid")).expect("it is");
        }
        let simulation = env.simulation();
        let small = simulation.problem();
        let now = small.requests[0].arrival;
        let at_once = |request: &Request| Request { arrival: now, ..*request };
        let requests: Vec<Request> =
            days[0].workload.requests.iter().cycle().take(nodes * 70 / 125).map(at_once).collect();
        let problem = BatchProblem { requests: &requests, ..small };
        let mut scale = Scale::new(Scorer { hidden: 0, weights: vec![0.01; Scorer::len_of(0)] });
        group.throughput(Throughput::Elements(requests.len() as u64));
        group.bench_function(format!("scale/{nodes}"), |b| {
            b.iter(|| black_box(scale.solve(&problem, &Budget::default())))
        });
    }
    group.finish();
}

criterion_group!(benches, decide, batch);
criterion_main!(benches);
