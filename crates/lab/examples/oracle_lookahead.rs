//! The look-ahead oracle on one workload of an experiment, beside the agent whose forks it plays.
//!
//! `cargo run --release -p scale-lab --example oracle_lookahead -- EXPERIMENT AGENT SEED HORIZON AROUND [milp]`, where AGENT
//! is a file that `scale train` wrote, HORIZON counts requests and AROUND scorers. With `milp` the proven optimum of the batch
//! is among the placements shown, which takes some ten times as long.

use anyhow::{Context, Result, bail};
use scale_agents::lookahead::{self, LookAhead};
use scale_agents::scale::{self, Scale};
use scale_agents::{Day, scorer::Scorer};
use scale_heuristics::{GreedyLatency, GreedyRegret};
use scale_lab::experiment::Experiment;
use scale_lab::experiment::built_in;
use scale_milp::{Formulation, Milp};
use scale_model::{Budget, OneByOne, Seed, Solver};
use scale_sim::{Policy, Summary, simulate};
use std::path::Path;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [experiment, agent, seed, horizon, around, rest @ ..] = &arguments[..] else {
        bail!("expected EXPERIMENT AGENT SEED HORIZON AROUND [milp]");
    };
    let number = |text: &String| text.parse::<u64>().with_context(|| format!("{text}: expected a number"));
    let (seed, horizon, around) = (number(seed)?, number(horizon)? as usize, number(around)? as usize);
    let experiment = match built_in(experiment) {
        Some(text) => Experiment::parse(text)?,
        None => Experiment::read(Path::new(experiment))?,
    };
    let built = experiment.scenario.build()?;
    let generated = built.workload(seed)?;
    let sim = built.sim(generated.warmup_until);
    let day = Day { platform: built.platform, workload: generated.workload, sim };
    let base: Scorer = scale::Learner::load(Path::new(agent))?.best;

    let alone = |solver: &mut dyn Solver| {
        let policy = Policy::Solver(solver, Budget::default());
        simulate(&day.platform, &day.workload, &day.sim, policy, &mut ())
    };
    report("greedy-latency", &alone(&mut OneByOne(GreedyLatency))?);
    report("scale", &alone(&mut Scale::new(base.clone()))?);
    let mut solvers: Vec<Box<dyn Solver>> = vec![Box::new(OneByOne(GreedyLatency)), Box::new(GreedyRegret)];
    if rest.first().is_some_and(|word| word == "milp") {
        solvers.push(Box::new(Milp { formulation: Formulation::Compact, random_seed: 0 }));
    }
    let look = LookAhead { horizon, around, sigma: 0.1, slo_penalty_ms: 300.0, seed: Seed(seed) };
    let reached = lookahead::play(&day, &base, &mut solvers, &look, &mut ())?;
    report("oracle-lookahead", &reached.summary);
    println!("taken: scale, around it, greedy-latency, greedy-regret, milp: {:?}", reached.taken);
    Ok(())
}

fn report(name: &str, summary: &Summary) {
    let n = summary.measured as f64;
    let latency = summary.latency;
    println!(
        "{name}: mean {:.2} ms (cold {:.2}, comp {:.2}, comm {:.2}, wait {:.2}), {:.2} % late, {:.2} % cold starts, {} evictions",
        summary.latency_mean().map_or(f64::NAN, |mean| mean.0),
        latency.cold.0 / n,
        latency.comp.0 / n,
        latency.comm.0 / n,
        latency.wait.0 / n,
        100.0 * summary.violation_rate().unwrap_or(f64::NAN),
        100.0 * summary.cold_starts as f64 / n,
        summary.evictions
    );
}
