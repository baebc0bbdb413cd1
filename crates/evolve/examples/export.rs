//! Writes the black box that `midaco` sees, and what our presets find in it, for solvers of other languages:
//! `experiments/peers/` reads it.
//!
//! `cargo run --release -p scale-evolve --example export -- DIRECTORY [evaluations] [first batch] [batches]`, by default
//! 200,000 evaluations on batches 1 to 3 of each kind; with 0 evaluations only the batches themselves. Two files a batch: one
//! that `scale solve` reads (`.batch`), and a JSON file for others: tables (costs in ms by request, column, and
//! 0 for an idle container and 1 for a new one), capacities in thousandths of a core and megabytes, points with the
//! values that they have here, and our answers with their seconds. `best` is the best objective that any run here found,
//! a long run of `hybrid` included: an upper bound on the optimum.

#[path = "../tests/common/mod.rs"]
mod common;

use scale_evolve::{BlackBox, Hybrid, Midaco, Problem};
use scale_model::{BatchProblem, Budget, Container, Seed, Slo, Solver, Time, latency};
use std::fmt::Write;
use std::time::Instant;

/// Evaluations of the run that the others are held against.
const LONG: u64 = 5_000_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        stop("expected DIRECTORY [evaluations] [first batch] [batches]")
    };
    let mut next = |default: u64| match arguments.next().map(|argument| argument.parse()) {
        None => default,
        Some(Ok(number)) => number,
        Some(Err(error)) => {
            stop(&format!("{error}: expected DIRECTORY [evaluations] [first batch] [batches]"))
        }
    };
    let (evaluations, first, batches) = (next(200_000), next(1), next(3));
    let write = |path: String, text: String| {
        if let Err(error) = std::fs::write(&path, text) {
            stop(&format!("{path}: {error}"));
        }
    };
    for requests in [50, 200, 1000] {
        for load in [0.3, 0.7, 0.95] {
            for batch in first..first + batches {
                let instance = common::planted(batch, requests, load);
                let name = format!("{directory}/{requests:04}-{load:.2}-{batch:03}");
                write(format!("{name}.batch"), instance.to_json());
                if evaluations > 0 {
                    let text = export(&instance.problem(), evaluations, batch, requests, load);
                    write(format!("{name}.json"), text);
                }
            }
        }
    }
}

fn stop(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(2)
}

/// The file of one batch. `{:?}` writes numbers and lists of them as JSON does, with all digits.
fn export(problem: &BatchProblem<'_>, evaluations: u64, batch: u64, requests: usize, load: f64) -> String {
    let (platform, state) = (problem.platform, problem.state);
    let Slo::Elastic { penalty_ms } = problem.objective.slo else { stop("expected an elastic SLO") };
    let mut functions: Vec<_> = problem.requests.iter().map(|request| request.function).collect();
    functions.sort_unstable();
    functions.dedup();

    let mut text = String::from("{\n");
    let mut field = |name: &str, value: &dyn std::fmt::Debug| _ = writeln!(text, "\"{name}\": {value:?},");
    field("requests", &requests);
    field("load", &load);
    field("batch", &batch);
    field("evaluations", &evaluations);
    field("late_ms", &penalty_ms.0);
    field("defer_ms", &problem.objective.defer_penalty.0);
    let totals = |request, container| -> Vec<f64> {
        let total = |node| latency::predict(platform, request, node, container, Time(state.time.0)).total().0;
        platform.node_ids().map(total).chain([(problem.now() - request.arrival).0]).collect()
    };
    let both = |request| [Container::Reuse, Container::New].map(|container| totals(request, container));
    field("totals", &problem.requests.iter().map(both).collect::<Vec<_>>());
    field("slo", &problem.requests.iter().map(|request| request.slo.0).collect::<Vec<_>>());
    let function = |of: fn(&scale_model::Function) -> u32| -> Vec<u32> {
        problem.requests.iter().map(|request| of(platform.function(request.function))).collect()
    };
    field("cores", &function(|function| function.cores.milli));
    field("memory", &function(|function| function.memory.mb));
    let index = |request: &scale_model::Request| functions.partition_point(|&other| other < request.function);
    field("function", &problem.requests.iter().map(index).collect::<Vec<_>>());
    let free = |node| platform.node(node).cores.milli - state.used_cores(node).milli;
    field("free_cores", &platform.node_ids().map(free).collect::<Vec<_>>());
    let free = |node| platform.node(node).memory.mb - state.used_memory(node).mb;
    field("free_memory", &platform.node_ids().map(free).collect::<Vec<_>>());
    field("idle", &functions.iter().map(|&function| state.idle_row(function)).collect::<Vec<_>>());

    // Points that any other program can check itself against: a full-period sequence over the bounds.
    let mut black_box = BlackBox::of(problem);
    let mut word = 1_u32;
    let mut points = Vec::new();
    for _ in 0..5 {
        let point: Vec<f64> = black_box
            .variables()
            .iter()
            .map(|variable| {
                word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                f64::from((word >> 16) % (variable.upper as u32 + 1))
            })
            .collect();
        let value = black_box.evaluate(&point);
        points.push((point, value.objective, value.residual));
    }
    field("points", &points.iter().map(|(point, ..)| point).collect::<Vec<_>>());
    field(
        "values",
        &points.iter().map(|&(_, objective, residual)| [objective, residual]).collect::<Vec<_>>(),
    );

    let seed = Seed(batch).derive("quality", 0);
    let midaco = timed(&mut Midaco { evaluations, seed }, problem);
    let hybrid = timed(&mut Hybrid { evaluations, seed }, problem);
    let long = timed(&mut Hybrid { evaluations: LONG, seed }, problem);
    let best = midaco[0].min(hybrid[0]).min(long[0]);
    let number = |value: f64| if value.is_finite() { format!("{value:?}") } else { "null".into() };
    for (name, [objective, seconds]) in [("midaco", midaco), ("hybrid", hybrid)] {
        _ = writeln!(text, "\"{name}\": [{}, {seconds:?}],", number(objective));
    }
    _ = writeln!(text, "\"best\": {}\n}}", number(best));
    text
}

/// The objective that a preset finds, infinite if it finds nothing, and its seconds.
#[expect(clippy::disallowed_methods, reason = "seconds are what is measured here")]
fn timed(solver: &mut dyn Solver, problem: &BatchProblem<'_>) -> [f64; 2] {
    let start = Instant::now();
    let objective =
        solver.solve(problem, &Budget::default()).map_or(f64::INFINITY, |solution| solution.objective);
    [objective, start.elapsed().as_secs_f64()]
}
