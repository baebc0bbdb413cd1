//! What a solve says while it runs, and how it is cancelled from there.

#[path = "../benches/planted/mod.rs"]
mod planted;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use planted::{Planted, planted};
use scale_milp::{Formulation, Milp, Progress};
use scale_model::{Budget, Instance, Objective, Proof, Stop, evaluate, violations};

/// Hard enough for a tree, so that HiGHS calls back.
fn batch() -> Instance {
    planted(&Planted {
        seed: 2,
        nodes: 20,
        functions: 20,
        requests: 40,
        load: 0.8,
        objective: Objective::ELASTIC,
    })
}

const FORMULATIONS: [Formulation; 2] = [Formulation::Paper, Formulation::Compact];

#[test]
fn what_is_told_is_true_and_gets_better() {
    let instance = batch();
    for formulation in FORMULATIONS {
        let mut told: Vec<Progress> = Vec::new();
        let solution = Milp { formulation, random_seed: 1 }
            .solve_telling(&instance.problem(), &Budget::default(), &mut |progress| {
                told.push(*progress);
                ControlFlow::Continue(())
            })
            .expect("deferring all is allowed");
        assert_eq!(solution.proof, Proof::Optimal);
        assert!(told.len() >= 2, "{formulation:?}: {told:?}");
        assert!(told.iter().any(|progress| progress.objective.is_some() && progress.bound.is_some()));
        for progress in &told {
            let (low, high) = (progress.bound.unwrap_or(0.0), progress.objective.unwrap_or(f64::INFINITY));
            assert!(low <= solution.objective + 1e-6, "{formulation:?}: {progress:?}");
            assert!(high >= solution.objective - 1e-4, "{formulation:?}: {progress:?}");
        }
        for pair in told.windows(2) {
            assert!(pair[0].time <= pair[1].time && pair[0].nodes <= pair[1].nodes, "{pair:?}");
            assert!(pair[0].bound <= pair[1].bound, "{pair:?}");
            let objective = |progress: &Progress| progress.objective.unwrap_or(f64::INFINITY);
            assert!(objective(&pair[0]) >= objective(&pair[1]), "{pair:?}");
        }
    }
}

#[test]
fn who_is_told_can_cancel() {
    let instance = batch();
    let problem = instance.problem();
    for formulation in FORMULATIONS {
        let mut calls = 0;
        let solved = Milp { formulation, random_seed: 1 }.solve_telling(
            &problem,
            &Budget::default(),
            &mut |progress| {
                calls += 1;
                match progress.objective {
                    Some(_) => ControlFlow::Break(()),
                    None => ControlFlow::Continue(()),
                }
            },
        );
        let solution = solved.expect("there was a placement");
        assert_eq!(solution.stop, Stop::Cancelled, "{formulation:?}");
        assert_ne!(solution.proof, Proof::Optimal, "{formulation:?}");
        assert_eq!(violations(&problem, &solution.placement), []);
        assert_eq!(solution.objective, evaluate(&problem, &solution.placement).objective);
        assert!(calls >= 1);
    }
}

#[test]
fn a_panic_of_who_is_told_goes_on_to_the_caller() {
    let instance = batch();
    for formulation in FORMULATIONS {
        let solve = || {
            Milp { formulation, random_seed: 1 }.solve_telling(
                &instance.problem(),
                &Budget::default(),
                &mut |_| panic!("on purpose"),
            )
        };
        let panic = catch_unwind(AssertUnwindSafe(solve)).expect_err("it panics");
        assert_eq!(panic.downcast_ref(), Some(&"on purpose"));
    }
}
