//! The compact program against the paper's, on batches that are too large to try all placements.

#[path = "../benches/planted/mod.rs"]
mod planted;

use planted::{Planted, planted};
use scale_milp::bounds::{capacity_free, lp_relaxation};
use scale_milp::{Formulation, Milp};
use scale_model::{
    BatchProblem, Budget, Milliseconds, Objective, Proof, Slo, SolveError, Solver, Time, evaluate, violations,
};

fn optimum(case: &str, problem: &BatchProblem<'_>, formulation: Formulation) -> Option<f64> {
    let mut solver = Milp { formulation, random_seed: 1 };
    match solver.solve(problem, &Budget::default()) {
        Ok(solution) => {
            assert_eq!(solution.proof, Proof::Optimal, "{case} {formulation:?}");
            assert_eq!(violations(problem, &solution.placement), [], "{case} {formulation:?}");
            let objective = evaluate(problem, &solution.placement).objective;
            assert_eq!(solution.objective, objective, "{case} {formulation:?}");
            Some(objective)
        }
        Err(SolveError::Infeasible { .. }) => None,
        Err(error) => panic!("{case} {formulation:?}: {error}"),
    }
}

/// 200 batches of 10 to 40 requests on 5 to 40 nodes: loads from 0.2 to 1.3, elastic with several prices and hard, every
/// third with requests that have waited.
#[test]
fn both_programs_have_the_same_optimum() {
    let elastic = |late: f64, defer: f64| Objective {
        slo: Slo::Elastic { penalty_ms: Milliseconds(late) },
        defer_penalty: Milliseconds(defer),
    };
    let objectives = [Objective::ELASTIC, Objective::HARD, elastic(200.0, 500.0), elastic(1000.0, 250.0)];
    let [mut feasible, mut infeasible] = [0, 0];
    for seed in 0..200_u64 {
        let what = Planted {
            seed,
            nodes: 5 + (seed * 7 % 36) as usize,
            functions: 3 + (seed * 5 % 20) as usize,
            requests: 10 + (seed * 11 % 31) as usize,
            load: [0.2, 0.5, 0.7, 0.85, 0.95, 1.3][(seed % 6) as usize],
            objective: objectives[(seed / 6 % 4) as usize],
        };
        let mut instance = planted(&what);
        if seed % 3 == 0 {
            instance.state.time = Time(60.0);
            for (k, request) in instance.requests.iter_mut().enumerate() {
                request.arrival = Time([60.0, 40.0, 0.0][k % 3]);
            }
        }
        let problem = instance.problem();
        let case = format!("{what:?}");
        let (paper, compact) =
            (optimum(&case, &problem, Formulation::Paper), optimum(&case, &problem, Formulation::Compact));
        match (paper, compact) {
            (Some(paper), Some(compact)) => {
                assert!((paper - compact).abs() <= 1e-5, "{case}: paper {paper}, compact {compact}");
                let lp = lp_relaxation(&problem, &Budget::default()).expect("HiGHS runs").bound;
                assert!(capacity_free(&problem) <= lp + 1e-6 && lp <= compact + 1e-6, "{case}");
                feasible += 1;
            }
            (None, None) => infeasible += 1,
            other => panic!("{case}: {other:?}"),
        }
    }
    assert!(feasible >= 100 && infeasible >= 10, "{feasible} feasible, {infeasible} infeasible");
}
