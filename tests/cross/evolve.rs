//! The evolutionary presets against the rules that they must not lose to, on batches of real runs.

use crate::common::{caught, decide, small};
use scale_lab::roster::find;
use scale_model::{Budget, Instance, Objective, Seed, Solver, evaluate, violations};

/// `hybrid` starts from what `greedy-latency` and `greedy-regret` decide, so it is never worse than either: not by a
/// rounding error, not with hardly any evaluations, and under a hard SLO wherever they find an answer.
#[test]
fn the_hybrid_is_never_worse_than_the_rules() {
    let mut instances = caught(&small(30, 60, 0.2, 300), 1, 5..=60, 12);
    instances.extend(caught(&small(12, 30, 0.35, 300), 2, 5..=60, 12));
    assert!(instances.len() >= 20, "{} batches", instances.len());
    let rules = ["greedy-latency", "greedy-regret"].map(|name| find(name).expect("in the roster"));
    let (mut compared, mut better) = (0, 0);
    for (number, instance) in instances.iter().enumerate() {
        for objective in [Objective::ELASTIC, Objective::HARD] {
            let instance = Instance { objective, ..instance.clone() };
            let problem = instance.problem();
            for rule in rules {
                // Under a hard SLO a rule may find nothing that is allowed.
                let Ok(answer) = decide(rule, &problem) else { continue };
                if !violations(&problem, &answer.placement).is_empty() {
                    continue;
                }
                let bar = evaluate(&problem, &answer.placement).objective;
                for evaluations in [0, 300, 20_000] {
                    let case = format!("batch {number}, {:?}, {}, {evaluations}", objective.slo, rule.name);
                    let mut hybrid = scale_evolve::Hybrid { evaluations, seed: Seed(1) };
                    let found = hybrid.solve(&problem, &Budget::default());
                    let found = found.unwrap_or_else(|error| panic!("{case}: {error}"));
                    assert!(found.objective <= bar, "{case}: {} for {bar}", found.objective);
                    compared += 1;
                    better += usize::from(found.objective < bar);
                }
            }
        }
    }
    assert!(compared >= 120 && better > 0, "{compared} compared, {better} better");
}
