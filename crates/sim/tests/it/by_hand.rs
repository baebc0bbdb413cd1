//! Tables worked by hand. Unless told otherwise: half a core and 100 MB a container, 100 ms for a cold start, 100 ms
//! of computation, so 200 ms cold and 100 ms warm; keep-alive 1000 ms.

use crate::common::{
    CONFIG, Event, Recorder, Rule, arrivals, first_allowed, first_fit, function, half, node, platform, play,
    request, story, workload,
};
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, CoreMilliseconds, Decision, Function, FunctionId,
    Milliseconds, Node, NodeId, OneByOne, Outcome, Platform, Scheduler, Solution, SolveError, Solver, Time,
    Workload,
};
use scale_sim::{Policy, SimConfig, Simulation, Summary, simulate};

fn check(platform: &Platform, workload: &Workload, config: SimConfig, expected: &[&str]) -> Summary {
    let (summary, events) = play(platform, workload, &config, &mut first_fit()).unwrap();
    assert_eq!(story(&events), expected);
    summary
}

fn check_story(platform: &Platform, workload: &Workload, expected: &[&str]) {
    check(platform, workload, CONFIG, expected);
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
    check(&platform, &calls(199.0), CONFIG, &["0: 0c0=200", "200: 1c0+1=201"]);
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
    // No room at 50, so nothing to decide. The next completion is sooner than the next arrival.
    check(&[0.0, 50.0, 1000.0], 0, &["0: 0c0=200", "200: 1w0+150=250", "1000: 2w0=100"]);
    // Two wait, in order of arrival; the first takes all of the room, and the second is deferred in that batch.
    check(&[0.0, 50.0, 100.0], 1, &["0: 0c0=200", "200: 1w0+150=250 2-", "300: 2w0+200=300"]);
    // Who waits and who arrives at one instant: one batch, completions before it.
    check(&[0.0, 50.0, 200.0], 1, &["0: 0c0=200", "200: 1w0+150=250 2-", "300: 2w0+100=200"]);
}

#[test]
fn who_is_deferred_by_choice_joins_the_next_decision() {
    let platform = one(node(1000, 1000), half());
    let check = |times: &[f64], patient: fn(f64, u32) -> bool, expected: &[&str]| {
        let mut rule = Rule(|batch: &BatchProblem<'_>, state: &ClusterState, next: usize| {
            match patient(batch.now().0, batch.requests[next].id.0) {
                true => Decision::Defer,
                false => first_allowed(batch, state, next),
            }
        });
        let (_, events) = play(&platform, &arrivals(times), &CONFIG, &mut rule).unwrap();
        assert_eq!(story(&events), expected);
    };
    // The next arrival is sooner than a completion; who waited is decided first. The third has no room then.
    check(
        &[0.0, 50.0, 120.0],
        |now, _| now < 100.0,
        &["0: 0-", "50: 0- 1-", "120: 0c0+120=320 1c0+70=270 2-", "320: 2w0+200=300"],
    );
    // The next completion is sooner; it offers room again to one that had some all the time.
    check(
        &[0.0, 50.0, 1000.0],
        |now, _| now == 50.0,
        &["0: 0c0=200", "50: 1-", "200: 1w0+150=250", "1000: 2w0=100"],
    );
}

#[test]
fn who_waits_is_not_offered_at_a_completion_that_frees_too_little() {
    // Two of f fill the node until 200 and 300. A big one at 150 needs all of it, by cores or by memory: nothing to
    // decide at 150 or at 200, and its turn comes at 300.
    let check = |node, big, last: &str| {
        let platform = platform(vec![node], vec![half(), big]);
        let workload = workload(vec![request(0.0, 0), request(100.0, 0), request(150.0, 1)]);
        let summary = check(&platform, &workload, CONFIG, &["0: 0c0=200", "100: 1c0=200", last]);
        assert_eq!((summary.batches, summary.decisions, summary.deferrals), (3, 3, 0));
    };
    check(node(1000, 1000), function(1000, 100, 5.0, 50.0), "300: 2c0+150=300");
    check(node(2000, 200), function(500, 200, 5.0, 50.0), "300: 2c0+150=350");
    // What is freed at one instant is freed together: both end at 300.
    let platform = platform(vec![node(1000, 1000)], vec![half(), function(1000, 100, 5.0, 50.0)]);
    let workload = workload(vec![request(100.0, 0), request(100.0, 0), request(150.0, 1)]);
    check_story(&platform, &workload, &["100: 0c0=200 1c0=200", "300: 2c0+150=300"]);
    // Half a core on each of two nodes, free from 200 and 320 on, is not a whole one; node 1 has it at 380. Node 0 has the
    // other half again only at 1050.
    let platform = crate::common::platform(
        vec![node(1000, 1000), node(1000, 1000)],
        vec![half(), function(1000, 100, 5.0, 50.0)],
    );
    let calls = [(0.0, 0), (50.0, 0), (100.0, 0), (160.0, 0), (170.0, 1)];
    let mut workload =
        crate::common::workload(calls.map(|(time, function)| request(time, function)).to_vec());
    workload.requests[1].cpu_time = CoreMilliseconds(450.0);
    check_story(
        &platform,
        &workload,
        &["0: 0c0=200", "50: 1c0=1000", "100: 2c1=220", "160: 3c1=220", "380: 4c1+210=380"],
    );
}

#[test]
fn order_of_arrival_is_kept_among_those_with_room_and_those_without() {
    // f takes half of the node, g all of it.
    let platform = platform(vec![node(1000, 1000)], vec![half(), function(1000, 100, 5.0, 50.0)]);
    let queue = |calls: &[(f64, u32)]| {
        workload(calls.iter().map(|&(time, function)| request(time, function)).collect())
    };
    // Two of f until 200 and 250. Then g, f, g, f wait. At 200 there is room for an f: 3 and 5 are offered, in this
    // order, and 5 finds none left. At 250 it is offered alone. At 300 nobody waits for what is free; at 350 all is.
    check_story(
        &platform,
        &queue(&[(0.0, 0), (50.0, 0), (60.0, 1), (70.0, 0), (80.0, 1), (90.0, 0)]),
        &[
            "0: 0c0=200",
            "50: 1c0=200",
            "200: 3w0+130=230 5-",
            "250: 5w0+160=260",
            "350: 2c0+290=440 4-",
            "500: 4w0+420=470",
        ],
    );
    // g until 150, then two functions find room at once.
    check_story(
        &crate::common::platform(
            vec![node(1000, 1000)],
            vec![half(), function(1000, 100, 5.0, 50.0), half()],
        ),
        &queue(&[(0.0, 1), (10.0, 2), (20.0, 0)]),
        &["0: 0c0=150", "150: 1c0+140=340 2c0+130=330"],
    );
    // An f until 1000, and whoever is asked before is deferred: 1 and 3 are offered again and again, 2 and 4 never, and
    // at 1000 all four stand in order of arrival. 2 has no room beside 1, but 3 has.
    let mut workload = queue(&[(0.0, 0), (10.0, 0), (20.0, 1), (30.0, 0), (40.0, 1)]);
    workload.requests[0].cpu_time = CoreMilliseconds(450.0);
    let mut rule = Rule(|batch: &BatchProblem<'_>, state: &ClusterState, next: usize| {
        match (1.0..1000.0).contains(&batch.now().0) {
            true => Decision::Defer,
            false => first_allowed(batch, state, next),
        }
    });
    let (_, events) = play(&platform, &workload, &CONFIG, &mut rule).unwrap();
    assert_eq!(
        story(&events),
        [
            "0: 0c0=1000",
            "10: 1-",
            "20: 1-",
            "30: 1- 3-",
            "40: 1- 3-",
            "1000: 1w0+990=1090 2- 3c0+970=1170 4-",
            "1200: 2c0+1180=1330 4-",
            "1350: 4w0+1310=1360",
        ]
    );
}

#[test]
fn patience_ends_for_who_is_never_offered() {
    // f on half a core of two, g on both: none of g has room while 0 runs, until 1000.
    let platform = platform(vec![node(2000, 1000)], vec![half(), function(2000, 100, 5.0, 50.0)]);
    let calls = [(0.0, 0), (50.0, 1), (60.0, 1), (149.0, 0), (150.0, 0), (160.0, 0)];
    let mut workload = workload(calls.map(|(time, function)| request(time, function)).to_vec());
    workload.requests[0].cpu_time = CoreMilliseconds(450.0);
    let check = |patience, expected: &[&str]| {
        let config = SimConfig { patience: Some(Milliseconds(patience)), ..CONFIG };
        let summary = check(&platform, &workload, config, expected);
        assert_eq!(summary.rejected[1] + summary.placed, 6);
    };
    let (first, third, fourth, fifth) = ("0: 0c0=1000", "149: 3c0=200", "150: 4c0=200", "160: 5c0=200");
    // At the first instant at which 100 ms have passed, before the batch there.
    check(100.0, &[first, third, "1 Patience", fourth, "2 Patience", fifth]);
    check(99.0, &[first, "1 Patience", third, fourth, "2 Patience", fifth]);
    check(90.0, &[first, "1 Patience", third, "2 Patience", fourth, fifth]);
    // Between instants nothing happens: 1 and 2 go at the completion at 349.
    check(110.1, &[first, third, fourth, fifth, "1 Patience", "2 Patience"]);
    // All is free at 1000: they stay for it if they have more than 950 and 940 ms. After 1 has gone, 2 is offered.
    check(940.0, &[first, third, fourth, fifth, "1 Patience", "2 Patience"]);
    check(941.0, &[first, third, fourth, fifth, "1 Patience", "1000: 2c0+940=1065"]);
    check(950.1, &[first, third, fourth, fifth, "1000: 1c0+950=1075 2-", "2 Patience"]);
}

/// First fit that writes down what it is asked and told: time and request, time and size of the batch.
#[derive(Default)]
struct Asked {
    decide: Vec<(f64, u32)>,
    observe: Vec<(f64, usize)>,
}

impl Scheduler for Asked {
    fn decide(&mut self, batch: &BatchProblem<'_>, state: &ClusterState, next: usize) -> Decision {
        self.decide.push((batch.now().0, batch.requests[next].id.0));
        first_allowed(batch, state, next)
    }
    fn observe(&mut self, batch: &BatchProblem<'_>, outcomes: &[Outcome]) {
        assert_eq!(batch.requests.len(), outcomes.len());
        self.observe.push((batch.now().0, outcomes.len()));
    }
}

/// The same, a batch at a time.
#[derive(Default)]
struct AskedAtOnce(Vec<(f64, usize)>);

impl Solver for AskedAtOnce {
    fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
        self.0.push((problem.now().0, problem.requests.len()));
        OneByOne(first_fit()).solve(problem, budget)
    }
}

#[test]
fn nobody_is_asked_while_there_is_no_room() {
    // One at a time. 1 has no room after 0, nor have 2 and 3 when they arrive; each is asked for once.
    let (platform, workload) = (one(node(500, 1000), half()), arrivals(&[0.0, 0.0, 50.0, 100.0]));
    let mut asked = Asked::default();
    let (summary, events) = play(&platform, &workload, &CONFIG, &mut asked).unwrap();
    let expected = ["0: 0c0=200 1-", "200: 1w0+200=300 2- 3-", "300: 2w0+250=350 3-", "400: 3w0+300=400"];
    assert_eq!(story(&events), expected);
    assert_eq!(asked.decide, [(0.0, 0), (200.0, 1), (300.0, 2), (400.0, 3)]);
    // It is told all: also what was decided without it.
    let batches = [(0.0, 2), (200.0, 3), (300.0, 2), (400.0, 1)];
    assert_eq!(asked.observe, batches);
    assert_eq!((summary.batches, summary.decisions, summary.deferrals), (4, 8, 4));
    let mut solver = AskedAtOnce::default();
    let policy = Policy::Solver(&mut solver, Budget::default());
    assert_eq!(simulate(&platform, &workload, &CONFIG, policy, &mut ()).unwrap(), summary);
    assert_eq!(solver.0, batches);
}

#[test]
fn who_never_has_room_starves_and_nobody_is_asked() {
    // A busy container of the given state never ends.
    let (platform, workload) = (one(node(500, 1000), half()), arrivals(&[0.0, 10.0]));
    let mut state = ClusterState::empty(&platform);
    state.start(&platform, FunctionId(0), NodeId(0), Container::New);
    let mut simulation = Simulation::from_state(&platform, &workload, CONFIG, state).unwrap();
    let mut recorder = Recorder::default();
    assert!(!simulation.advance(&mut recorder));
    assert_eq!(story(&recorder.0), ["0 Starved", "1 Starved"]);
    let summary = simulation.into_summary();
    assert_eq!((summary.offered, summary.rejected, summary.batches), (2, [0, 0, 2], 0));
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
    check(149.0, &["0: 0c0=200", "1 Patience"], 1);
    check(150.0, &["0: 0c0=200", "1 Patience"], 1);
    check(151.0, &["0: 0c0=200", "200: 1w0+150=250"], 0);
    check(0.0, &["0: 0c0=200", "1 Patience"], 1);
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
    let mut never = Rule(|_: &BatchProblem<'_>, _: &ClusterState, _| Decision::Defer);
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
        &["0: 0c0=200", "950: 1w0=100", "1050: 2w0+50=150", "2300: 3c0=200"],
    );
    assert_eq!((summary.offered, summary.placed, summary.measured), (4, 4, 2));
    assert_eq!((summary.cold_starts, summary.expirations, summary.span.0), (1, 1, 1300.0));
    assert_eq!((summary.batches, summary.decisions, summary.deferrals), (2, 2, 0));
    assert_eq!(summary.latency_mean(), Some(Milliseconds(175.0)));
    // Half a core from 1000 to 1050 and from 1050 to 1150; what starts at the last arrival is outside.
    assert_eq!((summary.busy_core_ms, summary.busy_mb_ms), (75.0, 15_000.0));
    // Placed: 150 and 200. Waiting without room is no decision, so it costs time and no penalty.
    assert_eq!(summary.objective, 350.0);
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
    let summary = check(&platform, &arrivals(&[0.0, 100.0]), CONFIG, &["0: 0c1=220", "220: 1w1+120=240"]);
    let latency = summary.latency;
    let parts = [latency.cold, latency.comp, latency.comm, latency.wait].map(|part| part.0);
    assert_eq!(parts, [100.0, 200.0, 40.0, 120.0]);
    assert_eq!((summary.cold_starts, summary.latency_max_ms, summary.late), (1, 240.0, 0));
    // 220 and 240, none is late, none was deferred by a decision.
    assert_eq!(summary.objective, 460.0);
}
