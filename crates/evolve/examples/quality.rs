//! How good both presets are: the gap to the best known objective at 50,000, 100,000 and 200,000 evaluations, on
//! seeded batches of 125 nodes that have a placement in time for (nearly) all.
//!
//! `cargo run --release -p scale-evolve --example quality [batches] [evaluations of the best known]`, by default 5
//! batches of each kind, from batch 1 on, and 20,000,000 evaluations. The best known is the best that any run here found, the hybrid's
//! long run included: an upper bound on the optimum, so true gaps are at least as large. Each budget is a run of its
//! own: both presets plan for the budget that they are given.

#[path = "../tests/common/mod.rs"]
mod common;

use scale_evolve::{Hybrid, Midaco};
use scale_model::{BatchProblem, Budget, Seed, Solver};

const BUDGETS: [u64; 4] = [50_000, 100_000, 200_000, 2_000_000];

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| match arguments.next() {
        None => default,
        Some(Ok(number)) => number,
        Some(Err(error)) => {
            eprintln!("{error}: expected [batches] [evaluations of the best known]");
            std::process::exit(2);
        }
    };
    let (batches, long) = (next(5), next(20_000_000));
    println!("gap to the best known, %: mean over batches (worst); - where a batch has no feasible answer");
    println!(
        "{:>8} {:>5} {:>7}  {:>16} {:>16} {:>16} {:>16}",
        "requests", "load", "preset", "50k", "100k", "200k", "2M"
    );
    for requests in [50, 200, 1000] {
        for load in [0.3, 0.7, 0.95] {
            let mut midaco = Gaps::default();
            let mut hybrid = Gaps::default();
            for batch in 1..=batches {
                let instance = common::planted(batch, requests, load);
                let problem = instance.problem();
                let seed = Seed(batch).derive("quality", 0);
                let mut best = solve(&mut Hybrid { evaluations: long, seed }, &problem);
                // Two million full evaluations are no question that anyone asks.
                let black: Vec<Option<f64>> = BUDGETS[..3]
                    .iter()
                    .map(|&evaluations| solve(&mut Midaco { evaluations, seed }, &problem))
                    .collect();
                let ours: Vec<Option<f64>> = BUDGETS
                    .iter()
                    .map(|&evaluations| solve(&mut Hybrid { evaluations, seed }, &problem))
                    .collect();
                for found in black.iter().chain(&ours).flatten() {
                    best = Some(best.map_or(*found, |best| best.min(*found)));
                }
                midaco.add(&black, best);
                hybrid.add(&ours, best);
            }
            midaco.print(requests, load, "midaco");
            hybrid.print(requests, load, "hybrid");
        }
    }
}

fn solve(solver: &mut dyn Solver, problem: &BatchProblem<'_>) -> Option<f64> {
    solver.solve(problem, &Budget::default()).ok().map(|solution| solution.objective)
}

/// Gaps by budget, %, one for each batch.
#[derive(Default)]
struct Gaps(Vec<Vec<f64>>);

impl Gaps {
    fn add(&mut self, found: &[Option<f64>], best: Option<f64>) {
        let gap = |found: &Option<f64>| match (found, best) {
            (Some(found), Some(best)) => (found / best - 1.0) * 100.0,
            _ => f64::INFINITY,
        };
        self.0.resize(found.len(), Vec::new());
        self.0.iter_mut().zip(found).for_each(|(gaps, found)| gaps.push(gap(found)));
    }

    fn print(&self, requests: usize, load: f64, preset: &str) {
        let cell = |gaps: &Vec<f64>| {
            let worst = gaps.iter().copied().fold(0.0, f64::max);
            let mean = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
            if worst.is_finite() { format!("{mean:.3} ({worst:.3})") } else { "-".into() }
        };
        let cells: Vec<String> = self.0.iter().map(|gaps| format!("{:>16}", cell(gaps))).collect();
        println!("{requests:>8} {load:>5} {preset:>7}  {}", cells.join(" "));
    }
}
