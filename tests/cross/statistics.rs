//! Every number of a record, computed a second time from what an observer saw, by code of its own.

use crate::common::{experiment, play, small};
use scale_lab::experiment::Experiment;
use scale_lab::measure::measure;
use scale_lab::record::Row;
use scale_lab::roster::find;
use scale_model::{BatchProblem, Container, Decision, Latency, Outcome, Request, Time};
use scale_sim::{Observer, Rejection};

/// All that the records are made from.
#[derive(Default)]
struct Seen {
    latencies: Vec<Latency>,
    late: u64,
    cold: u64,
    rejected: u64,
    batches: u64,
    decisions: u64,
    deferrals: u64,
    elsewhere: u64,
    /// (start, end, cores, memory in MB) of every placed request, warm-up included.
    busy: Vec<(f64, f64, f64, f64)>,
}

impl Observer for Seen {
    fn batch(&mut self, problem: &BatchProblem<'_>, outcomes: &[Outcome], measured: bool) {
        let platform = problem.platform;
        for Outcome { request, decision, latency } in outcomes {
            let function = platform.function(request.function);
            let placed = *decision != Decision::Defer;
            if placed {
                let end = problem.now().0 + latency.cold.0 + latency.comm.0 + latency.comp.0;
                let cores = f64::from(function.cores.milli) / 1000.0;
                self.busy.push((problem.now().0, end, cores, f64::from(function.memory.mb)));
            }
            if !measured {
                continue;
            }
            self.decisions += 1;
            self.deferrals += u64::from(!placed);
            // Eqs. (1)-(3), a second time, for every node as if the request were alone.
            let alone = |node| {
                let idle = problem.state.idle(request.function, node) > 0;
                let download = function.image.0 * 1000.0 / platform.node(node).registry_bandwidth.0;
                let cold = if idle { 0.0 } else { download + function.init.0 };
                let comp = request.cpu_time.0 * 1000.0 / f64::from(function.cores.milli);
                let rate = platform.topology.links.rate(request.source, node).0;
                let comm = if node == request.source { 0.0 } else { request.input.0 * 1000.0 / rate };
                (problem.now().0 - request.arrival.0) + cold + comp + comm
            };
            let took = latency.cold.0 + latency.comp.0 + latency.comm.0 + latency.wait.0;
            // The order of a sum is not the model's; a node that is cheaper is so by more than its last bits.
            let cheaper = platform.node_ids().any(|node| alone(node) < took - 1e-9);
            self.elsewhere += u64::from(placed && cheaper);
        }
        self.batches += u64::from(measured);
    }

    fn placed(&mut self, outcome: &Outcome, measured: bool) {
        if measured {
            self.latencies.push(outcome.latency);
            let took = outcome.latency.total().0;
            self.late += u64::from(took > outcome.request.slo.0);
            let new = matches!(outcome.decision, Decision::Run { container: Container::New, .. });
            self.cold += u64::from(new);
        }
    }

    fn rejected(&mut self, _request: &Request, _why: Rejection, measured: bool) {
        self.rejected += u64::from(measured);
    }
}

/// Hyndman and Fan's type 7 in the words of their paper: with g the fraction of 1 + (n - 1) p, between the order
/// statistics of that rank and the next.
fn type_7(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = 1.0 + (sorted.len() - 1) as f64 * p;
    let (j, g) = (rank.trunc() as usize, rank.fract());
    let next = sorted[j.min(sorted.len() - 1)];
    (1.0 - g) * sorted[j - 1] + g * next
}

/// Mean of a quantity that busy containers hold from `from` to `to`, by walking along its changes in time.
fn mean_held(busy: &[(f64, f64, f64)], from: f64, to: f64) -> f64 {
    let mut changes: Vec<(f64, f64)> = Vec::new();
    for &(start, end, amount) in busy {
        changes.extend([(start, amount), (end, -amount)]);
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut area, mut level, mut at) = (0.0, 0.0, from);
    for (time, change) in changes {
        let time = time.clamp(from, to);
        area += level * (time - at);
        at = time;
        level += change;
    }
    area / (to - from)
}

fn near(what: &str, recorded: Option<f64>, expected: f64) {
    let Some(recorded) = recorded else { panic!("{what}: nothing recorded, expected {expected}") };
    let error = (recorded - expected).abs() / expected.abs().max(1e-9);
    assert!(error < 1e-9, "{what}: {recorded} recorded, expected {expected}");
}

#[test]
fn records_hold_what_an_observer_sees() {
    let mut scenario = small(20, 40, 0.3, 120);
    scenario.cluster.patience_ms = Some(300.0);
    let experiment = Experiment {
        name: "counted".into(),
        algorithms: ["greedy-latency", "greedy-regret", "nearest", "random-feasible"]
            .map(String::from)
            .to_vec(),
        seeds: vec![1, 5],
        timing_requests: 100,
        scenario,
        ..experiment("quick")
    };
    let points = experiment.build().expect("a scenario");
    let out = tempfile::tempdir().expect("a folder");
    let records = measure(&experiment, &points, out.path(), 2).expect("records");
    assert_eq!(records.cells.len(), 8);
    let built = &points[0].built;
    let (mut late, mut rejected, mut deferrals) = (0, 0, 0);
    for cell in &records.cells {
        let row = &cell.row;
        let case = format!("{} seed {}", row.algorithm, row.seed);
        let generated = built.workload(row.seed).expect("requests");
        let mut seen = Seen::default();
        let entry = find(&row.algorithm).expect("in the roster");
        play(built, &generated, &built.sim(generated.warmup_until), entry, row.seed, &mut seen);
        check(&case, row, &seen);
        let held = |amount: fn(&(f64, f64, f64, f64)) -> f64| -> Vec<(f64, f64, f64)> {
            seen.busy.iter().map(|busy| (busy.0, busy.1, amount(busy))).collect()
        };
        let Time(from) = generated.warmup_until;
        let to = generated.workload.requests.last().expect("requests").arrival.0;
        let nodes = &built.platform.topology.nodes;
        let cores: u32 = nodes.iter().map(|node| node.cores.milli).sum();
        let memory: u32 = nodes.iter().map(|node| node.memory.mb).sum();
        let cpu = mean_held(&held(|busy| busy.2), from, to) * 1000.0 / f64::from(cores);
        near(&format!("{case}: CPU utilisation"), row.cpu_utilisation, cpu);
        assert!((0.3..1.0).contains(&cpu), "{case}: {cpu}");
        let memory = mean_held(&held(|busy| busy.3), from, to) / f64::from(memory);
        near(&format!("{case}: memory utilisation"), row.memory_utilisation, memory);

        // The warm-up is out, and nothing else.
        let warm = generated.workload.requests.iter().filter(|r| r.arrival < generated.warmup_until).count();
        assert_eq!(row.requests as usize + warm, generated.workload.requests.len(), "{case}");
        // The distribution counts each latency at the whole millisecond above it.
        for limit in [150, 200, 400, 1000, 2000] {
            let within = seen.latencies.iter().filter(|l| l.total().0 <= f64::from(limit)).count();
            let share = within as f64 / row.requests as f64;
            near(&format!("{case}: within {limit} ms"), cell.cdf.share_within(limit), share);
        }
        assert!(cell.timing.decision_us_mean.is_some_and(|mean| mean > 0.0), "{case}");
        (late, rejected, deferrals) =
            (late + seen.late, rejected + seen.rejected, deferrals + seen.deferrals);
    }
    assert!(late > 100 && rejected > 100 && deferrals > 100, "{late} late, {rejected} rejected, {deferrals}");
}

fn check(case: &str, row: &Row, seen: &Seen) {
    let n = seen.latencies.len();
    let counts = [
        ("finished", row.finished, n as u64),
        ("rejected", row.rejected, seen.rejected),
        ("requests", row.requests, n as u64 + seen.rejected),
        ("violations", row.slo_violations, seen.late + seen.rejected),
        ("cold starts", row.cold_starts, seen.cold),
        ("batches", row.batches, seen.batches),
        ("deferrals", row.deferred_decisions, seen.deferrals),
    ];
    for (what, recorded, expected) in counts {
        assert_eq!(recorded, expected, "{case}: {what}");
    }
    let rate = |count: u64, of: u64| count as f64 / of as f64;
    let violations = rate(seen.late + seen.rejected, row.requests);
    near(&format!("{case}: violation rate"), row.slo_violation_rate, violations);
    near(&format!("{case}: cold start rate"), row.cold_start_rate, rate(seen.cold, row.finished));
    let placed = seen.decisions - seen.deferrals;
    near(&format!("{case}: not cheapest"), row.not_cheapest_rate, rate(seen.elsewhere, placed));
    let size = rate(seen.decisions, seen.batches);
    near(&format!("{case}: batch"), row.requests_per_batch_mean, size);

    let totals: Vec<f64> = seen.latencies.iter().map(|l| l.cold.0 + l.comp.0 + l.comm.0 + l.wait.0).collect();
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / n as f64;
    near(&format!("{case}: mean"), row.latency_ms_mean, mean(&mut totals.iter().copied()));
    type Part = fn(&Latency) -> f64;
    let parts: [(&str, Option<f64>, Part); 4] = [
        ("cold", row.cold_ms_mean, |latency| latency.cold.0),
        ("comp", row.comp_ms_mean, |latency| latency.comp.0),
        ("comm", row.comm_ms_mean, |latency| latency.comm.0),
        ("wait", row.wait_ms_mean, |latency| latency.wait.0),
    ];
    for (what, recorded, part) in parts {
        near(&format!("{case}: {what}"), recorded, mean(&mut seen.latencies.iter().map(part)));
    }
    for (p, recorded) in [
        (0.50, row.latency_ms_p50),
        (0.95, row.latency_ms_p95),
        (0.99, row.latency_ms_p99),
        (1.00, row.latency_ms_max),
    ] {
        near(&format!("{case}: P{}", 100.0 * p), recorded, type_7(&totals, p));
    }
}
