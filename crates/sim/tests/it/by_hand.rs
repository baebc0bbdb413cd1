//! Tables worked by hand. Unless told otherwise: half a core and 100 MB a container, 100 ms for a cold start, 100 ms
//! of computation, so 200 ms cold and 100 ms warm; keep-alive 1000 ms.

use crate::common::{
    CONFIG, Event, arrivals, first_fit, function, half, node, platform, play, request, story, workload,
};
use scale_model::{
    BatchProblem, ClusterState, CoreMilliseconds, Decision, Function, Milliseconds, Node, Platform, Time,
    Workload,
};
use scale_sim::{SimConfig, Summary};

fn check(platform: &Platform, workload: &Workload, config: SimConfig, expected: &[&str]) -> Summary {
    let (summary, events) = play(platform, workload, &config, &mut first_fit()).unwrap();
    assert_eq!(story(&events), expected);
    summary
}

/// `c` or `w` for each request, in order.
fn warmth(platform: &Platform, workload: &Workload, config: SimConfig) -> (String, Summary) {
    let (summary, events) = play(platform, workload, &config, &mut first_fit()).unwrap();
    let mut letters = vec!['-'; workload.requests.len()];
    for event in events {
        let Event::Batch { outcomes, .. } = event else {
            continue;
        };
        for outcome in outcomes.iter().filter(|outcome| outcome.decision != Decision::Defer) {
            letters[outcome.request.id.0 as usize] = if outcome.cold() { 'c' } else { 'w' };
        }
    }
    (letters.into_iter().collect(), summary)
}

fn one(node: Node, function: Function) -> Platform {
    platform(vec![node], vec![function])
}

#[test]
fn keep_alive_by_times() {
    let check = |keep_alive: f64, times: &[f64], expected: &str, expirations| {
        let config = SimConfig { keep_alive: Milliseconds(keep_alive), ..CONFIG };
        let (letters, summary) = warmth(&one(node(2000, 1000), half()), &arrivals(times), config);
        assert_eq!(
            (letters.as_str(), summary.expirations),
            (expected, expirations),
            "{keep_alive} {times:?}"
        );
        assert_eq!(summary.cold_starts, expected.matches('c').count() as u64);
    };
    // Busy until 200: a second container.
    check(1000.0, &[0.0, 199.0], "cc", 0);
    // Idle from 200 on, a completion before the arrival at the same instant.
    check(1000.0, &[0.0, 200.0], "cw", 0);
    // Goes when now - since >= keep_alive: at 1200.
    check(1000.0, &[0.0, 1199.0], "cw", 0);
    check(1000.0, &[0.0, 1200.0], "cc", 1);
    check(1000.0, &[0.0, 1201.0], "cc", 1);
    // Each use starts it anew, from its end: 1199 + 100 + 1000 = 2299.
    check(1000.0, &[0.0, 1199.0, 2298.0], "cww", 0);
    check(1000.0, &[0.0, 1199.0, 2299.0], "cwc", 1);
    check(0.0, &[0.0, 200.0], "cc", 1);
    check(1.0, &[0.0, 200.0, 301.0], "cwc", 1);
    check(f64::INFINITY, &[0.0, 1e12], "cw", 0);
}

#[test]
fn keep_alive_does_not_run_while_busy() {
    // 2500 core-ms on half a core: busy from 0 to 5100, far longer than the keep-alive.
    for (second, expected) in [(5099.0, "cc"), (5100.0, "cw"), (6099.0, "cw"), (6100.0, "cc")] {
        let mut workload = arrivals(&[0.0, second]);
        workload.requests[0].cpu_time = CoreMilliseconds(2500.0);
        assert_eq!(warmth(&one(node(2000, 1000), half()), &workload, CONFIG).0, expected, "{second}");
    }
}

#[test]
fn a_reuse_takes_the_container_that_became_idle_last() {
    // Idle since 200 and 250. The request at 300 takes the one since 250 and is back at 400; the other goes at 1200.
    // So one is there at 1210. Were it the first, back at 400, the second would last until 1250: two at 1210.
    let (letters, summary) =
        warmth(&one(node(2000, 1000), half()), &arrivals(&[0.0, 50.0, 300.0, 1210.0, 1210.0]), CONFIG);
    assert_eq!((letters.as_str(), summary.expirations), ("ccwwc", 1));
}

#[test]
fn the_least_recently_used_are_evicted_at_commit_after_all_reuses() {
    // Four functions on a node for three. f, g, h idle since 200, 210, 220.
    // 1000: k needs room: f goes. k idle since 1200.
    // 1500: f starts, g is reused although it is the least recently used and decided after f: h goes.
    //       g idle since 1600, f since 1700.
    // 3000: h starts, k is reused: g goes. k idle since 3100, h since 3200.
    // 5000: g starts: f goes.
    let platform = platform(vec![node(2000, 300)], vec![half(); 4]);
    let config = SimConfig { keep_alive: Milliseconds(1e6), ..CONFIG };
    let calls =
        [(0.0, 0), (10.0, 1), (20.0, 2), (1000.0, 3), (1500.0, 0), (1500.0, 1), (3000.0, 2), (3000.0, 3)];
    let calls = calls.into_iter().chain([(5000.0, 1)]);
    let workload = workload(calls.map(|(time, function)| request(time, function)).collect());
    let (letters, summary) = warmth(&platform, &workload, config);
    assert_eq!((letters.as_str(), summary.evictions, summary.expirations), ("cccccwcwc", 4, 0));
}

#[test]
fn idle_memory_never_blocks_and_busy_memory_does() {
    let platform = platform(vec![node(2000, 100)], vec![half(); 2]);
    // g at 200: f's container is idle since this instant and makes room. g at 199 waits for it.
    let calls = |second| workload(vec![request(0.0, 0), request(second, 1)]);
    let summary = check(&platform, &calls(200.0), CONFIG, &["0: 0c0=200", "200: 1c0=200"]);
    assert_eq!(summary.evictions, 1);
    check(&platform, &calls(199.0), CONFIG, &["0: 0c0=200", "199: 1-", "200: 1c0+1=201"]);
}

#[test]
fn who_waits_joins_the_next_decision() {
    let platform = one(node(500, 1000), half());
    let check = |times: &[f64], deferrals, expected: &[&str]| {
        let summary = check(&platform, &arrivals(times), CONFIG, expected);
        assert_eq!(summary.deferrals, deferrals);
        let waits: f64 = expected
            .iter()
            .flat_map(|line| line.split(' '))
            .filter_map(|word| word.split_once('+'))
            .map(|(_, rest)| rest.split_once('=').unwrap().0.parse::<f64>().unwrap())
            .sum();
        assert_eq!(summary.latency.wait, Milliseconds(waits), "waiting is a part of latency");
    };
    // The next completion is sooner than the next arrival.
    check(&[0.0, 50.0, 1000.0], 1, &["0: 0c0=200", "50: 1-", "200: 1w0+150=250", "1000: 2w0=100"]);
    // The next arrival is sooner; who waited is decided first.
    check(
        &[0.0, 50.0, 100.0],
        4,
        &["0: 0c0=200", "50: 1-", "100: 1- 2-", "200: 1w0+150=250 2-", "300: 2w0+200=300"],
    );
    // Both at one instant: one batch, completions before it.
    check(&[0.0, 50.0, 200.0], 2, &["0: 0c0=200", "50: 1-", "200: 1w0+150=250 2-", "300: 2w0+100=200"]);
}

#[test]
fn waiting_can_make_a_request_late() {
    // SLO 250: the wait of 150 and 100 ms are just in time, one more are not.
    let platform = one(node(500, 1000), half());
    for (second, late) in [(50.0, 0), (49.0, 1)] {
        let (summary, _) = play(&platform, &arrivals(&[0.0, second]), &CONFIG, &mut first_fit()).unwrap();
        assert_eq!((summary.late, summary.violation_rate()), (late, Some(late as f64 / 2.0)));
    }
}

#[test]
fn patience_ends_at_the_first_decision_after_it() {
    let platform = one(node(500, 1000), half());
    let check = |patience, expected: &[&str], rejected| {
        let config = SimConfig { patience: Some(Milliseconds(patience)), ..CONFIG };
        let summary = check(&platform, &arrivals(&[0.0, 50.0]), config, expected);
        assert_eq!((summary.rejected, summary.measured_rejected), ([0, rejected, 0], rejected));
        assert_eq!(summary.violation_rate(), Some(rejected as f64 / 2.0));
    };
    check(149.0, &["0: 0c0=200", "50: 1-", "1 Patience"], 1);
    check(150.0, &["0: 0c0=200", "50: 1-", "1 Patience"], 1);
    check(151.0, &["0: 0c0=200", "50: 1-", "200: 1w0+150=250"], 0);
    check(0.0, &["0: 0c0=200", "50: 1-", "1 Patience"], 1);
}

#[test]
fn what_no_node_can_hold_is_rejected_at_once_and_the_run_ends() {
    // Too many cores; too much memory; both fit, but on no single node.
    for giant in
        [function(2001, 100, 0.0, 0.0), function(500, 1001, 0.0, 0.0), function(2000, 1000, 0.0, 0.0)]
    {
        let platform = platform(vec![node(2000, 500), node(1000, 1000)], vec![half(), giant]);
        let workload = workload(vec![request(0.0, 1), request(0.0, 0), request(9.0, 1)]);
        let summary = check(&platform, &workload, CONFIG, &["0 TooLarge", "0: 1c0=200", "2 TooLarge"]);
        assert_eq!((summary.offered, summary.placed, summary.rejected), (3, 1, [2, 0, 0]));
    }
    let exact = platform(vec![node(2000, 500)], vec![function(2000, 500, 0.0, 0.0)]);
    check(&exact, &arrivals(&[0.0]), CONFIG, &["0: 0c0=25"]);
}

#[test]
fn who_is_never_taken_starves_and_the_run_ends() {
    let mut never = crate::common::Rule(|_: &BatchProblem<'_>, _: &ClusterState, _| Decision::Defer);
    let platform = one(node(2000, 1000), half());
    let (summary, events) = play(&platform, &arrivals(&[0.0, 10.0]), &CONFIG, &mut never).unwrap();
    assert_eq!(story(&events), ["0: 0-", "10: 0- 1-", "0 Starved", "1 Starved"]);
    assert_eq!((summary.rejected, summary.deferrals, summary.latency_mean()), ([0, 0, 2], 3, None));
    // J: two penalties of 2000, one of them twice, and 10 ms that request 0 has waited at 10.
    assert_eq!(summary.objective, 6010.0);
}

#[test]
fn warm_up_is_played_but_not_measured() {
    let platform = one(node(500, 1000), half());
    let config = SimConfig { warmup_until: Time(1000.0), ..CONFIG };
    // 950: warm and unmeasured, until 1050. 1000: measured, waits for 50. 2300: the last arrival.
    let workload = arrivals(&[0.0, 950.0, 1000.0, 2300.0]);
    let summary = check(
        &platform,
        &workload,
        config,
        &["0: 0c0=200", "950: 1w0=100", "1000: 2-", "1050: 2w0+50=150", "2300: 3c0=200"],
    );
    assert_eq!((summary.offered, summary.placed, summary.measured), (4, 4, 2));
    assert_eq!((summary.cold_starts, summary.expirations, summary.span.0), (1, 1, 1300.0));
    assert_eq!((summary.batches, summary.decisions, summary.deferrals), (3, 3, 1));
    assert_eq!(summary.latency_mean(), Some(Milliseconds(175.0)));
    // Half a core from 1000 to 1050 and from 1050 to 1150; what starts at the last arrival is outside.
    assert_eq!((summary.busy_core_ms, summary.busy_mb_ms), (75.0, 15_000.0));
    // Deferred: 2000. Placed: 150 and 200.
    assert_eq!(summary.objective, 2350.0);
    // The boundary belongs to what is measured; a warm-up longer than the workload measures nothing.
    let config = SimConfig { warmup_until: Time(1000.0_f64.next_up()), ..CONFIG };
    assert_eq!(play(&platform, &workload, &config, &mut first_fit()).unwrap().0.measured, 1);
    let config = SimConfig { warmup_until: Time(9000.0), ..CONFIG };
    let summary = play(&platform, &workload, &config, &mut first_fit()).unwrap().0;
    assert_eq!((summary.measured, summary.violation_rate(), summary.span.0), (0, None, 0.0));
    assert_eq!((summary.busy_core_ms, summary.batches, summary.placed), (0.0, 0, 4));
}

#[test]
fn utilisation_is_the_work_until_the_last_arrival() {
    // Cold from 0 to 200, warm from 300 to 400, and what ends after the last arrival at 1000 is cut: 900 to 1000.
    let platform = one(node(1000, 1000), half());
    let summary = check(
        &platform,
        &arrivals(&[0.0, 300.0, 900.0, 950.0, 1000.0]),
        CONFIG,
        &["0: 0c0=200", "300: 1w0=100", "900: 2w0=100", "950: 3c0=200", "1000: 4w0=100"],
    );
    let busy = 200.0 + 100.0 + 100.0 + 50.0;
    assert_eq!(
        (summary.busy_core_ms, summary.busy_mb_ms, summary.span.0),
        (busy * 0.5, busy * 100.0, 1000.0)
    );
}

#[test]
fn no_time_at_all() {
    // No image, no initialisation, no work, no transfer: ends when it starts.
    let platform = one(node(500, 100), function(500, 100, 0.0, 0.0));
    let mut workload = arrivals(&[7.0, 7.0, 7.0]);
    workload.requests.iter_mut().for_each(|request| request.cpu_time.0 = 0.0);
    check(&platform, &workload, CONFIG, &["7: 0c0=0 1- 2-", "7: 1w0=0 2-", "7: 2w0=0"]);
    let config = SimConfig { keep_alive: Milliseconds(0.0), ..CONFIG };
    check(&platform, &workload, config, &["7: 0c0=0 1- 2-", "7: 1c0=0 2-", "7: 2c0=0"]);
}

#[test]
fn nothing_to_do() {
    let summary = check(&one(node(500, 100), half()), &arrivals(&[]), CONFIG, &[]);
    assert_eq!(summary, Summary::default());
    assert_eq!(
        (summary.latency_mean(), summary.violation_rate(), summary.histogram.quantile(0.5)),
        (None, None, None)
    );
}

#[test]
fn a_burst_never_exceeds_a_node() {
    // 100 requests at one instant on nodes for 2 (by memory) and 3 (by cores): 5 at a time, twenty rounds.
    let platform = platform(vec![node(4000, 299), node(1999, 4000)], vec![half()]);
    let (summary, events) = play(&platform, &arrivals(&[0.0; 100]), &CONFIG, &mut first_fit()).unwrap();
    assert_eq!((summary.placed, summary.cold_starts, summary.measured), (100, 5, 100));
    let mut busy: Vec<(f64, f64)> = Vec::new();
    for event in &events {
        let Event::Batch { time, outcomes } = event else {
            continue;
        };
        let placed = outcomes.iter().filter(|outcome| outcome.decision != Decision::Defer);
        busy.extend(placed.map(|outcome| (*time, time + outcome.latency.service().0)));
        let running = busy.iter().filter(|(start, end)| start <= time && time < end).count();
        // Five while somebody waits, never more.
        let waits = outcomes.iter().any(|outcome| outcome.decision == Decision::Defer);
        assert!(running == 5 || (running < 5 && !waits), "{running} at {time}");
    }
    assert_eq!(busy.len(), 100);
}

#[test]
fn thirty_containers_of_32_gb_on_a_node_of_70() {
    let platform = one(node(64_000, 70_000), function(500, 32_000, 5.0, 50.0));
    let (_, events) = play(&platform, &arrivals(&[0.0; 30]), &CONFIG, &mut first_fit()).unwrap();
    let first = &story(&events)[0];
    assert_eq!((first.matches('c').count(), first.matches('-').count()), (2, 28));
}

#[test]
fn a_big_and_a_small_node() {
    // Two on the big one, one on the small one with 20 ms of transfer, the fourth waits for the first to end.
    let platform = platform(vec![node(1000, 1000), node(500, 1000)], vec![half()]);
    check(&platform, &arrivals(&[0.0; 4]), CONFIG, &["0: 0c0=200 1c0=200 2c1=220 3-", "200: 3w0+200=300"]);
}

#[test]
fn latency_parts_add_up_once() {
    // On node 1: 100 ms cold, 100 ms computation, 20 ms transfer, no wait; the cold start is counted once.
    let platform = platform(vec![node(400, 1000), node(500, 1000)], vec![half()]);
    let summary =
        check(&platform, &arrivals(&[0.0, 100.0]), CONFIG, &["0: 0c1=220", "100: 1-", "220: 1w1+120=240"]);
    let latency = summary.latency;
    let parts = [latency.cold, latency.comp, latency.comm, latency.wait].map(|part| part.0);
    assert_eq!(parts, [100.0, 200.0, 40.0, 120.0]);
    assert_eq!((summary.cold_starts, summary.latency_max_ms, summary.late), (1, 240.0, 0));
    // 220, then a deferral, then 240: 220 + 2000 + 240, none is late.
    assert_eq!(summary.objective, 2460.0);
}
