//! What is proved of large and of tight planted batches after a limit: `cargo bench -p scale-milp --bench gaps`, or with
//! the numbers of one case, `-- REQUESTS LOAD SECONDS [SEED [NODES]]`; `paper` after them takes the paper's
//! program. With `RUST_LOG=scale_milp=debug` it says what the search does, and at which CPU time.
//!
//! The limit of a budget is on the wall. Where the machine has other work, a case that reaches it has had less of the CPU; it
//! then runs again with a longer one, until it has had the seconds of the case, by CPU time.
#![allow(clippy::disallowed_methods)] // A bench looks at the clock.

mod cpu;
mod planted;

use std::time::{Duration, Instant};

use planted::{Planted, planted};
use scale_milp::{Formulation, Milp};
use scale_model::{BatchProblem, Budget, Objective, Solution, Solver};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// Requests, load, seconds, seed, nodes.
const CASES: [[f64; 5]; 12] = [
    [200.0, 0.95, 10.0, 1.0, 125.0],
    [200.0, 0.95, 10.0, 2.0, 125.0],
    [200.0, 0.95, 10.0, 3.0, 125.0],
    [1000.0, 0.3, 5.0, 1.0, 125.0],
    [1000.0, 0.7, 10.0, 1.0, 125.0],
    [1000.0, 0.95, 30.0, 1.0, 125.0],
    [5000.0, 0.3, 1.0, 1.0, 125.0],
    [5000.0, 0.3, 5.0, 1.0, 125.0],
    [5000.0, 0.7, 3.0, 1.0, 125.0],
    [5000.0, 0.7, 10.0, 1.0, 125.0],
    [5000.0, 0.95, 10.0, 1.0, 125.0],
    [10_000.0, 0.7, 30.0, 1.0, 1000.0],
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` starts benches too, without this word.
    if !words.iter().any(|word| word == "--bench") {
        return;
    }
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_timer(Cpu);
    log.with_writer(std::io::stderr).init();
    let formulation = match words.iter().any(|word| word == "paper") {
        true => Formulation::Paper,
        false => Formulation::Compact,
    };
    let numbers: Vec<f64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    if numbers.len() < 3 {
        CASES.iter().for_each(|case| measure(case, formulation));
        return;
    }
    let mut case = [0.0, 0.0, 0.0, 1.0, 125.0];
    case.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
    measure(&case, formulation);
}

/// The log's clock.
struct Cpu;

impl FormatTime for Cpu {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{:8.3}", cpu::time().as_secs_f64())
    }
}

fn measure(&[requests, load, seconds, seed, nodes]: &[f64; 5], formulation: Formulation) {
    let instance = planted(&Planted {
        seed: seed as u64,
        nodes: nodes as usize,
        functions: 200,
        requests: requests as usize,
        load,
        objective: Objective::ELASTIC,
    });
    let problem = instance.problem();
    let mut stretch = 1.0;
    let (mut solution, mut took, mut cpu) = run(&problem, formulation, seconds);
    for _ in 0..RETRIES {
        let waited_for_others = took >= 0.98 * stretch * seconds && cpu < 0.95 * seconds;
        if !waited_for_others && cpu <= 1.05 * seconds {
            break;
        }
        stretch *= (seconds / cpu).clamp(0.25, 4.0);
        (solution, took, cpu) = run(&problem, formulation, stretch * seconds);
    }
    let gap = solution.bound.map_or(f64::INFINITY, |bound| 1.0 - bound / solution.objective);
    println!(
        "{requests} requests at {load} on {nodes} nodes, seed {seed}: {:?}, J {:.3}, gap {:.4} %, CPU {cpu:.2} s of {seconds} s, {took:.2} s on the wall",
        solution.proof,
        solution.objective,
        100.0 * gap
    );
}

/// Runs at most, after the first, until a case has had its CPU time.
const RETRIES: usize = 4;

/// A solve within a limit on the wall, as a budget is: the solution, seconds on the wall, seconds of CPU time.
fn run(problem: &BatchProblem<'_>, formulation: Formulation, seconds: f64) -> (Solution, f64, f64) {
    let budget = Budget { time_limit: Some(Duration::from_secs_f64(seconds)), ..Budget::default() };
    let mut solver = Milp { formulation, random_seed: 1 };
    let (start, cpu_start) = (Instant::now(), cpu::time());
    let solution = solver.solve(problem, &budget).expect("deferring all is allowed");
    (solution, start.elapsed().as_secs_f64(), (cpu::time() - cpu_start).as_secs_f64())
}
