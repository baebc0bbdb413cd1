//! Every entry of the roster plays real scenarios with all checks on, and the yardstick beats chance.

use crate::common::{Auditor, is_rule, play, small};
use scale_lab::roster::{ROSTER, find};
use scale_lab::scenario::Scenario;
use scale_sim::{SimConfig, Summary};

/// Every batch of every entry is allowed, and every request is accounted for.
fn judge_all(name: &str, scenario: &Scenario, wanted: impl Fn(&str) -> bool) -> Vec<(&'static str, Summary)> {
    let built = scenario.build().expect("a scenario");
    let generated = built.workload(1).expect("requests");
    let config = SimConfig { verify: true, ..built.sim(generated.warmup_until) };
    let mut summaries = Vec::new();
    for entry in ROSTER.iter().filter(|entry| wanted(entry.name)) {
        let case = format!("{name}, {}", entry.name);
        let mut auditor = Auditor::new(&built.platform);
        let summary = play(&built, &generated, &config, entry, 1, &mut auditor);
        assert_eq!(auditor.objections, Vec::<String>::new(), "{case}");
        assert!(auditor.batches() >= 100, "{case}: {} batches", auditor.batches());
        let rejected: u64 = summary.rejected.iter().sum();
        assert_eq!(summary.offered, generated.workload.requests.len() as u64, "{case}");
        assert_eq!(summary.offered, summary.placed + rejected, "{case}");
        assert!(summary.measured > 500, "{case}: {} requests", summary.measured);
        summaries.push((entry.name, summary));
    }
    summaries
}

#[test]
fn at_the_papers_load() {
    let summaries = judge_all("paper's load", &small(30, 200, 0.176, 200), is_rule);
    let mean = |name| {
        let (_, summary) = summaries.iter().find(|(found, _)| *found == name).expect("in the roster");
        summary.latency_mean().expect("requests").0
    };
    let (greedy, random) = (mean("greedy-latency"), mean("random-feasible"));
    assert!(greedy < 0.9 * random, "greedy-latency {greedy} ms, random-feasible {random} ms");
    // It minimises latency first, so no rule of the roster is much better.
    for (name, _) in &summaries {
        assert!(greedy < mean(name) + 5.0, "greedy-latency {greedy} ms, {name} {} ms", mean(name));
    }
}

/// More work than cores: requests are deferred, lose patience, and memory is short.
#[test]
fn under_overload() {
    let mut scenario = small(12, 40, 0.35, 120);
    scenario.cluster.patience_ms = Some(400.0);
    for pool in &mut scenario.functions.pools {
        pool.memory.mb *= 20;
    }
    let summaries = judge_all("overload", &scenario, is_rule);
    for (name, summary) in &summaries {
        let [too_large, patience, starved] = summary.rejected;
        assert!(patience > 0 && too_large == 0 && starved == 0, "{name}: rejected {:?}", summary.rejected);
        assert!(summary.evictions > 0, "{name}: no evictions");
        assert!(summary.violation_rate().expect("requests") > 0.1, "{name}");
    }
    let total = |name| &summaries.iter().find(|(found, _)| *found == name).expect("in the roster").1;
    assert!(total("greedy-latency").measured > 0 && total("random-feasible").deferrals > 0);
}

/// Containers that hardly stay: cold starts everywhere.
#[test]
fn with_a_short_keep_alive() {
    let mut scenario = small(30, 60, 0.12, 120);
    scenario.cluster.keep_alive_ms = 60.0;
    for (name, summary) in judge_all("short keep-alive", &scenario, is_rule) {
        assert!(summary.expirations > 0, "{name}");
        assert!(summary.cold_starts as f64 > 0.1 * summary.measured as f64, "{name}: {summary:?}");
    }
}

/// The optimum of each batch, by proof: it plays by the rules, and no rule of thumb of one batch's view is below it on the
/// objective that it minimises by more than the course of a run can explain.
#[test]
fn the_searches() {
    let scenario = small(10, 40, 0.15, 200);
    let some = ["milp", "milp-paper", "midaco-50k", "hybrid-200k", "greedy-latency", "greedy-regret"];
    let exact = |name: &str| some.contains(&name);
    let summaries = judge_all("exact", &scenario, exact);
    let objective = |name| {
        let (_, summary) = summaries.iter().find(|(found, _)| *found == name).expect("in the roster");
        summary.objective / summary.measured as f64
    };
    let (optimum, greedy) = (objective("milp-paper"), objective("greedy-latency"));
    assert!(optimum <= 1.01 * greedy, "optimum {optimum} ms a request, greedy-latency {greedy}");
    for name in ["milp", "hybrid-200k"] {
        let other = objective(name);
        assert!((other / optimum - 1.0).abs() < 0.01, "{name}: {other}, optimum {optimum} ms a request");
    }
}

#[test]
fn a_name_that_is_not_there() {
    let Err(error) = find("nearst") else { panic!("found") };
    for entry in ROSTER {
        assert!(error.contains(entry.name), "{error}");
    }
}
