//! Both programs against microlp, a solver in pure Rust that shares no code with HiGHS, on the program that the model
//! exports.

#[path = "../benches/planted/mod.rs"]
mod planted;

use microlp::{ComparisonOp, Error, OptimizationDirection, Problem};
use planted::{Planted, planted};
use scale_milp::{Formulation, Milp};
use scale_model::linear::{LinearProgram, Sense};
use scale_model::{BatchProblem, Budget, Milliseconds, Objective, Proof, Slo, SolveError, Solver};

/// The optimum by microlp, `None` if there is no placement.
fn by_microlp(program: &LinearProgram) -> Option<f64> {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let columns: Vec<_> = program
        .columns
        .iter()
        .map(|column| problem.add_integer_var(column.cost, (column.lower as i32, 1)))
        .collect();
    for row in &program.rows {
        let sense = match row.sense {
            Sense::AtMost => ComparisonOp::Le,
            Sense::Equal => ComparisonOp::Eq,
        };
        problem.add_constraint(
            row.terms.iter().map(|&(column, value)| (columns[column], value)),
            sense,
            row.rhs,
        );
    }
    match problem.solve() {
        Ok(outcome) => Some(outcome.into_solution().expect("no limit was set").objective()),
        Err(Error::Infeasible) => None,
        Err(error) => panic!("{error}"),
    }
}

fn by_milp(problem: &BatchProblem<'_>, formulation: Formulation) -> Option<f64> {
    match { Milp { formulation, random_seed: 1 } }.solve(problem, &Budget::default()) {
        Ok(solution) => {
            assert_eq!(solution.proof, Proof::Optimal);
            Some(solution.objective)
        }
        Err(SolveError::Infeasible { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn another_solver_has_the_same_optimum() {
    let elastic = Objective {
        slo: Slo::Elastic { penalty_ms: Milliseconds(200.0) },
        defer_penalty: Milliseconds(500.0),
    };
    let objectives = [Objective::ELASTIC, Objective::HARD, elastic];
    let [mut feasible, mut infeasible] = [0, 0];
    for seed in 0..60_u64 {
        let what = Planted {
            seed,
            nodes: 3 + (seed % 3) as usize,
            functions: 2 + (seed % 4) as usize,
            requests: 3 + (seed * 7 % 6) as usize,
            load: [0.5, 0.8, 0.95, 1.2][(seed % 4) as usize],
            objective: objectives[(seed / 4 % 3) as usize],
        };
        let instance = planted(&what);
        let problem = instance.problem();
        let other = by_microlp(&LinearProgram::of(&problem));
        for formulation in [Formulation::Paper, Formulation::Compact] {
            match (other, by_milp(&problem, formulation)) {
                (Some(other), Some(own)) => {
                    assert!((other - own).abs() <= 1e-4, "{what:?} {formulation:?}: {other} and {own}");
                }
                (None, None) => {}
                both => panic!("{what:?} {formulation:?}: {both:?}"),
            }
        }
        feasible += usize::from(other.is_some());
        infeasible += usize::from(other.is_none());
    }
    assert!(feasible >= 30 && infeasible >= 3, "{feasible} feasible, {infeasible} infeasible");
}
