//! The preset `scale`: its options against what the state allows and against greedy over all nodes, its memory against a
//! sum over the past, its network against candle, its training against a case whose best policy is known.

mod common;

use candle_core::{Device, Tensor};
use common::day;
use proptest::prelude::*;
use scale_agents::evolution::Evolution;
use scale_agents::features::{FEATURES, Features, MEMORY, NAMES, NEAR_MS, OPTIONS, Options};
use scale_agents::gradient::Gradient;
use scale_agents::imitation::Imitation;
use scale_agents::lookahead::{self, LookAhead};
use scale_agents::scale::{Learner, Method, Scale, ScaleConfig, train};
use scale_agents::scorer::Scorer;
use scale_agents::{Day, LearnError};
use scale_model::*;
use scale_sim::{Observer, Policy, SimConfig, Simulation, simulate};

fn config(generations: u64) -> ScaleConfig {
    ScaleConfig {
        generations,
        days: 1,
        learning_rate: 0.1,
        slo_penalty_ms: 0.0,
        hidden: 2,
        without: vec![],
        check_every: 2,
        method: evolution(),
    }
}

fn evolution() -> Method {
    Method::Evolution(Evolution { pairs: 8, sigma: 0.1 })
}

fn imitation() -> Method {
    Method::Imitation(Imitation { requests: 200, temperature_ms: 10.0, epochs: 4, minibatch: 8 })
}

fn gradient() -> Method {
    Method::Gradient(Gradient {
        replicas: 16,
        requests: 100,
        horizon: 100,
        temperature_ms: 40.0,
        clip_range: 0.2,
        epochs: 3,
        minibatch: 64,
    })
}

/// A teacher that knows where everybody should go.
struct Everyone(NodeId);

impl Solver for Everyone {
    fn solve(&mut self, problem: &BatchProblem<'_>, _: &Budget) -> Result<Solution, SolveError> {
        let mut state = problem.state.clone();
        let mut place = |request: &Request| {
            let idle = state.idle(request.function, self.0) > 0;
            let container = if idle { Container::Reuse } else { Container::New };
            if !state.allows(problem.platform, request.function, self.0, container) {
                return Decision::Defer;
            }
            state.start(problem.platform, request.function, self.0, container);
            Decision::Run { node: self.0, container }
        };
        Solution::feasible(
            problem,
            Placement { decisions: problem.requests.iter().map(&mut place).collect() },
        )
    }
}

/// Plays a day; at each decision `look` sees the options and says which to take.
fn walk(
    day: &Day,
    mut look: impl FnMut(&BatchProblem<'_>, &ClusterState, usize, &Features, &Options) -> Decision,
) {
    let mut simulation = Simulation::new(&day.platform, &day.workload, day.sim).expect("it can be played");
    let mut features = Features::new(&day.platform);
    let mut options = Options::none();
    while simulation.advance(&mut ()) {
        features.begin(&simulation.problem());
        for next in 0..simulation.problem().requests.len() {
            let decision = match simulation.has_room() {
                true => {
                    let (problem, state) = (simulation.problem(), simulation.state());
                    features.look(&problem, state, next, &mut options);
                    look(&problem, state, next, &features, &options)
                }
                false => Decision::Defer,
            };
            features.decided(&simulation.problem(), next);
            simulation.apply(decision).expect("it is allowed");
        }
        simulation.commit(&mut ());
        simulation.settle().expect("the simulator is sound");
    }
}

#[test]
fn options_are_allowed_and_all_numbers_finite() {
    for seed in 0..20 {
        let day = day(seed, 3 + seed as usize, 300);
        let mut seen = 0;
        walk(&day, |problem, state, next, _, options| {
            seen += 1;
            let function = problem.requests[next].function;
            let mut taken = Vec::new();
            for option in 0..options.len {
                let Decision::Run { node, container } = options.decisions[option] else {
                    panic!("a deferral")
                };
                assert!(state.allows(problem.platform, function, node, container));
                assert!(!taken.contains(&node), "{node} twice");
                taken.push(node);
            }
            assert!(options.len > 0, "the simulator says that there is room");
            assert!(options.costs[options.len..].iter().all(|&cost| cost == f32::INFINITY));
            assert!(options.rows.iter().flatten().all(|x| x.is_finite()));
            options.decisions[(seed as usize + next) % options.len]
        });
        assert!(seen >= 300, "{seen} decisions");
    }
}

/// What greedy takes is among the candidates, however many nodes there are, so without weights the choice is the least
/// latency over all nodes.
#[test]
fn without_weights_it_is_greedy() {
    let scorer = Scorer::greedy(3);
    for seed in 0..20 {
        let day = day(seed, 2 + 7 * (seed as usize % 9), 600);
        walk(&day, |problem, state, next, _, options| {
            let request = &problem.requests[next];
            let fits = |&node: &NodeId| state.fits(problem.platform, request.function, node);
            let latency = |node| {
                let idle = state.idle(request.function, node) > 0;
                let container = if idle { Container::Reuse } else { Container::New };
                latency::predict(problem.platform, request, node, container, problem.now()).total().0
            };
            let least = problem.platform.node_ids().filter(fits).map(latency).fold(f64::INFINITY, f64::min);
            let best = scorer.best(options).expect("an option");
            // The scorer compares single precision.
            assert!((options.latencies[best].total().0 - least).abs() < 1e-3);
            options.decisions[best]
        });
    }
}

#[test]
fn memory_is_the_faded_sum_of_the_past() {
    let day = day(5, 6, 400);
    let platform = &day.platform;
    let demand = NAMES.iter().position(|&name| name == "demand").expect("it is a feature");
    let mut past: Vec<Request> = Vec::new();
    let mut told: Vec<RequestId> = Vec::new();
    walk(&day, |problem, _, next, _, options| {
        for request in problem.requests {
            if request.arrival == problem.now() && !told.contains(&request.id) {
                told.push(request.id);
                past.push(*request);
            }
        }
        let request = &problem.requests[next];
        for option in 0..options.len {
            let Decision::Run { node, .. } = options.decisions[option] else { panic!("a deferral") };
            let weight = |(age, past): (usize, &Request)| {
                let ms = (Megabytes(1.0) / platform.topology.links.rate(past.source, node)).0;
                let near = f64::from(NEAR_MS) / (f64::from(NEAR_MS) + ms);
                near * (1.0 + 1.0 / f64::from(MEMORY)).powi(-(age as i32))
            };
            let same = past.iter().rev().enumerate().filter(|(_, past)| past.function == request.function);
            let expected = same.map(weight).sum::<f64>().ln_1p() / 8.0;
            let found = f64::from(options.rows[demand][option]);
            assert!((found - expected).abs() < 1e-4, "{found}, by hand {expected}");
        }
        options.decisions[0]
    });
}

/// The scores in candle, operation by operation.
fn by_candle(scorer: &Scorer, options: &Options) -> candle_core::Result<Vec<f32>> {
    let cpu = &Device::Cpu;
    let x = Tensor::from_slice(&options.rows.concat(), (FEATURES, OPTIONS), cpu)?;
    let linear = Tensor::from_slice(&scorer.weights[..FEATURES], (1, FEATURES), cpu)?;
    let mut scores = linear.matmul(&x)?;
    for unit in scorer.weights[FEATURES..].chunks_exact(FEATURES + 2) {
        let w = Tensor::from_slice(&unit[..FEATURES], (1, FEATURES), cpu)?;
        let hidden = (w.matmul(&x)? + f64::from(unit[FEATURES]))?.relu()?;
        scores = (scores + (hidden * f64::from(unit[FEATURES + 1]))?)?;
    }
    scores.flatten_all()?.to_vec1()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn scores_equal_candle(
        weights in prop::collection::vec(-1.0f32..1.0, Scorer::len_of(5)),
        rows in prop::collection::vec(-2.0f32..2.0, FEATURES * OPTIONS),
        costs in prop::collection::vec(0.0f32..5.0, OPTIONS),
    ) {
        let scorer = Scorer { hidden: 5, weights };
        let mut options = Options::none();
        options.len = OPTIONS;
        options.costs.copy_from_slice(&costs);
        for (row, numbers) in options.rows.iter_mut().zip(rows.chunks(OPTIONS)) {
            row.copy_from_slice(numbers);
        }
        let expected = by_candle(&scorer, &options).expect("candle");
        for (option, &score) in scorer.scores(&options).iter().enumerate() {
            prop_assert!((score - costs[option] - expected[option]).abs() < 2e-5);
        }
    }

    /// Options in another order get the same scores in that order.
    #[test]
    fn scores_do_not_depend_on_the_place(
        weights in prop::collection::vec(-1.0f32..1.0, Scorer::len_of(3)),
        rows in prop::collection::vec(-2.0f32..2.0, FEATURES * OPTIONS),
        order in Just((0..OPTIONS).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let scorer = Scorer { hidden: 3, weights };
        let mut options = Options::none();
        options.costs = [1.0; OPTIONS];
        for (row, numbers) in options.rows.iter_mut().zip(rows.chunks(OPTIONS)) {
            row.copy_from_slice(numbers);
        }
        let mut moved = options.clone();
        for (row, old) in moved.rows.iter_mut().zip(&options.rows) {
            for (place, &from) in order.iter().enumerate() {
                row[place] = old[from];
            }
        }
        let (scores, moved) = (scorer.scores(&options), scorer.scores(&moved));
        for (place, &from) in order.iter().enumerate() {
            prop_assert_eq!(moved[place], scores[from]);
        }
    }
}

/// One function, one request at a time: the first from node 1, all others from node 0, 30 ms away. A new container takes
/// 230 ms. Greedy starts one on node 1 and goes there for ever; the best policy starts the first one on node 0 already.
fn commuter() -> Day {
    let node = |name: &str| Node {
        name: name.into(),
        kind: 0,
        position: Position { latitude: 0.0, longitude: 0.0 },
        frequency: Gigahertz(2.0),
        cores: Cores { milli: 4000 },
        memory: Memory { mb: 4096 },
        registry_bandwidth: MegabytesPerSecond(100.0),
    };
    let rate = MegabytesPerSecond(1000.0 / 30.0);
    let platform = Platform {
        topology: Topology {
            nodes: vec![node("near"), node("far")],
            links: Links::from_fn(2, |_, _| rate).expect("positive rates"),
        },
        functions: vec![Function {
            name: "f".into(),
            image: Megabytes(15.0),
            init: Milliseconds(80.0),
            memory: Memory { mb: 128 },
            cores: Cores { milli: 500 },
        }],
    };
    let request = |id: u32| Request {
        id: RequestId(id),
        function: FunctionId(0),
        source: NodeId(u32::from(id == 0)),
        arrival: Time(f64::from(id) * 500.0),
        cpu_time: CoreMilliseconds(50.0),
        input: Megabytes(1.0),
        slo: Milliseconds(1000.0),
    };
    let sim = SimConfig {
        keep_alive: Milliseconds(1e9),
        patience: None,
        warmup_until: Time(0.0),
        objective: Objective::ELASTIC,
        verify: true,
    };
    Day { platform, workload: Workload { requests: (0..200).map(request).collect() }, sim }
}

fn mean_latency(day: &Day, scorer: &Scorer) -> f64 {
    let mut scale = Scale::new(scorer.clone());
    let policy = Policy::Solver(&mut scale, Budget::default());
    let summary = simulate(&day.platform, &day.workload, &day.sim, policy, &mut ()).expect("it plays");
    summary.latency_mean().expect("requests").0
}

/// One idle container on each of two nodes. The first request comes from afar and is late wherever it runs; the second is in time
/// on the near node only. In the batch's order the first would take the near container.
#[test]
fn who_is_late_anyway_comes_last() {
    let mut day = commuter();
    let platform = &mut day.platform;
    platform.topology.nodes.iter_mut().for_each(|node| node.cores = Cores { milli: 500 });
    let request = |id: u32, slo: f64| Request {
        id: RequestId(id),
        source: NodeId(0),
        arrival: Time(0.0),
        slo: Milliseconds(slo),
        ..day.workload.requests[0]
    };
    let mut state = ClusterState::empty(platform);
    for node in [NodeId(0), NodeId(1)] {
        state.start(platform, FunctionId(0), node, Container::New);
        state.finish(platform, FunctionId(0), node);
    }
    let on = |node: u32| Decision::Run { node: NodeId(node), container: Container::Reuse };
    // T_comp is 100 ms, and 30 more on node 1.
    for (slos, expected) in [
        ([90.0, 110.0], [on(1), on(0)]),
        ([110.0, 110.0], [on(0), on(1)]),
        ([110.0, 90.0], [on(0), on(1)]),
        ([90.0, 90.0], [on(0), on(1)]),
    ] {
        let requests = [request(0, slos[0]), request(1, slos[1])];
        let problem =
            BatchProblem { platform, state: &state, requests: &requests, objective: Objective::ELASTIC };
        let solution =
            Scale::new(Scorer::greedy(0)).solve(&problem, &Budget::default()).expect("a placement");
        assert_eq!(solution.placement.decisions, expected, "{slos:?}");
    }
}

/// After a day on another platform the policy does what a fresh one does.
#[test]
fn a_policy_may_go_from_one_platform_to_another() {
    let mut draw = scale_agents::draw::Draw::new(Seed(2));
    let weights = (0..Scorer::len_of(0)).map(|_| draw.normal() as f32).collect();
    let scorer = Scorer { hidden: 0, weights };
    let played = |scale: &mut Scale, day: &Day| {
        let policy = Policy::Solver(scale, Budget::default());
        simulate(&day.platform, &day.workload, &day.sim, policy, &mut ()).expect("it can be played")
    };
    let first = day(1, 6, 300);
    let check = |what: &str, second: &Day| {
        assert!(!Features::new(&first.platform).are_of(&second.platform), "{what}");
        let mut scale = Scale::new(scorer.clone());
        played(&mut scale, &first);
        assert_eq!(played(&mut scale, second), played(&mut Scale::new(scorer.clone()), second), "{what}");
    };
    check("more nodes", &day(2, 9, 300));
    check("fewer nodes", &day(2, 4, 300));
    check("as many other nodes", &day(2, 6, 300));
    let changed = |change: fn(&mut Platform)| {
        let mut day = first.clone();
        change(&mut day.platform);
        day
    };
    let turned = changed(|platform| {
        let old = platform.topology.links.clone();
        platform.topology.links = Links::from_fn(6, |s, v| old.rate(v, s)).expect("positive rates");
    });
    check("the same nodes, the links the other way round", &turned);
    check("larger nodes", &changed(|p| p.topology.nodes[5].cores.milli *= 2));
    check(
        "more functions",
        &changed(|p| p.functions.push(Function { name: "f".into(), ..p.functions[0].clone() })),
    );
    check("another function", &changed(|p| p.functions[2].init.0 += 100.0));
    // A copy is the same platform: what is remembered of it stays.
    assert!(Features::new(&first.platform).are_of(&first.platform.clone()));
    let mut scale = Scale::new(scorer.clone());
    assert_ne!(played(&mut scale, &first), played(&mut scale, &first.clone()));
}

#[test]
fn every_method_learns_to_invest_in_a_cold_start() {
    let day = commuter();
    // T_comp is 100 ms. Greedy pays 230 once and 30 for each of the others, the best policy 230 + 30 once.
    let greedy = 100.0 + (230.0 + 199.0 * 30.0) / 200.0;
    assert!((mean_latency(&day, &Scorer::greedy(0)) - greedy).abs() < 1e-9);
    let best = 100.0 + (230.0 + 30.0) / 200.0;
    let days = [day];
    let check = |method: Method| {
        let config = ScaleConfig { method: method.clone(), ..config(40) };
        // The teacher is there for imitation; that the others do not look at it, the second teacher shows.
        let mut trained = [0, 1].map(|node| {
            let teacher = &mut Everyone(NodeId(node));
            train(&config, &days, &days, teacher, Seed(3), &mut |_| ()).expect("it trains")
        });
        let reached = mean_latency(&days[0], &trained[0].best);
        assert!((reached - best).abs() < 1e-9, "{method:?}: {reached} ms, the best policy {best} ms");
        let validated =
            trained[0].curve.iter().filter_map(|entry| entry.validation).map(|entry| entry.cost_ms);
        assert_eq!(validated.fold(f64::INFINITY, f64::min), reached);
        let asked = matches!(method, Method::Imitation(_));
        assert_eq!(trained[0].scorer != trained[1].scorer, asked, "{method:?}");
        trained[0].scorer.weights.iter().for_each(|weight| assert!(weight.is_finite()));
        trained.reverse();
        if asked {
            let reached = mean_latency(&days[0], &trained[0].scorer);
            assert!((reached - greedy).abs() < 1e-9, "taught to stay near: {reached} ms, greedy {greedy} ms");
        }
    };
    [evolution(), imitation(), gradient()].into_iter().for_each(check);
}

#[test]
fn the_gradient_is_the_slope_of_the_log_probability() {
    let mut draw = scale_agents::draw::Draw::new(Seed(11));
    for hidden in [0, 3] {
        for len in [2, 7, OPTIONS] {
            let mut options = Options::none();
            options.len = len;
            options.costs[..len].iter_mut().for_each(|cost| *cost = draw.unit() as f32);
            for row in &mut options.rows {
                row[..len].iter_mut().for_each(|x| *x = draw.normal() as f32);
            }
            let weights = (0..Scorer::len_of(hidden)).map(|_| 0.3 * draw.normal() as f32).collect();
            let scorer = Scorer { hidden, weights };
            let (choice, temperature) = (len - 1, 0.7);
            let log_probs = scorer.log_probs(&options, temperature);
            assert!((log_probs.iter().map(|x| x.exp()).sum::<f32>() - 1.0).abs() < 1e-5);
            let mut gradient = vec![0.0; scorer.weights.len()];
            scorer.add_gradient(&options, &log_probs, choice, temperature, 2.0, &mut gradient);
            for (index, slope) in gradient.iter().enumerate() {
                let at = |step: f32| {
                    let mut moved = scorer.clone();
                    moved.weights[index] += step;
                    f64::from(moved.log_probs(&options, temperature)[choice])
                };
                let expected = 2.0 * (at(1e-2) - at(-1e-2)) / 2e-2;
                let error = (f64::from(*slope) - expected).abs();
                assert!(
                    error < 2e-2 * expected.abs().max(0.5),
                    "weight {index}: {slope}, by differences {expected}"
                );
            }
        }
    }
}

#[test]
fn features_that_are_left_out_stay_out() {
    let days = [day(1, 20, 300)];
    let mut without =
        ScaleConfig { method: Method::Evolution(Evolution { pairs: 8, sigma: 1.0 }), ..config(6) };
    without.without = vec!["cold".into(), "return".into()];
    let learner =
        train(&without, &days, &days, &mut Everyone(NodeId(0)), Seed(1), &mut |_| ()).expect("it trains");
    let mut moved = 0;
    for (name, index) in NAMES.iter().zip(0..) {
        let units = (0..2).map(|unit| FEATURES + unit * (FEATURES + 2) + index);
        let weights: Vec<f32> =
            std::iter::once(index).chain(units).map(|at| learner.scorer.weights[at]).collect();
        match without.without.iter().any(|without| without == name) {
            true => assert_eq!(weights, [0.0; 3], "{name}"),
            false => moved += usize::from(weights.iter().all(|&weight| weight != 0.0)),
        }
    }
    assert_eq!(moved, FEATURES - 2);
    without.without = vec!["colt".into()];
    let refused = train(&without, &days, &days, &mut Everyone(NodeId(0)), Seed(1), &mut |_| ())
        .expect_err("no such feature");
    assert_eq!(refused.to_string(), "without: colt: expected names of features");
}

#[test]
fn same_seed_same_bytes_and_resumed_or_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let days: Vec<Day> = (0..3).map(|seed| day(seed, 5, 150)).collect();
    let config = |method: &Method| ScaleConfig { method: method.clone(), ..config(9) };
    for method in [evolution(), imitation(), gradient()] {
        let on = |threads: usize, name: &str| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let learner = pool.install(|| {
                train(
                    &config(&method),
                    &days[..2],
                    &days[2..],
                    &mut Everyone(NodeId(2)),
                    Seed(7),
                    &mut |_| (),
                )
            });
            learner.expect("it trains").save(&file(name)).expect("it is saved");
            std::fs::read(file(name)).expect("the file")
        };
        let whole = on(1, "one");
        assert_eq!(whole, on(2, "two"));

        // Saved after the fourth generation, read, and gone on with.
        let _ = train(
            &config(&method),
            &days[..2],
            &days[2..],
            &mut Everyone(NodeId(2)),
            Seed(7),
            &mut |learner| {
                if learner.curve.len() == 4 {
                    learner.save(&file("half")).expect("it is saved");
                }
            },
        );
        let mut resumed = Learner::load(&file("half")).expect("it is read");
        resumed.learn(&days[..2], &days[2..], &mut Everyone(NodeId(2)), &mut |_| ()).expect("it trains");
        resumed.save(&file("resumed")).expect("it is saved");
        assert_eq!(whole, std::fs::read(file("resumed")).expect("the file"), "{method:?}");

        for length in [0, 7, 100, whole.len() / 2, whole.len() - 1] {
            std::fs::write(file("cut"), &whole[..length]).expect("a file");
            let refused = Learner::load(&file("cut")).expect_err("it is cut off");
            assert!(matches!(refused, LearnError::Checkpoint { .. }), "{refused}");
            assert!(refused.to_string().contains("cut"), "{refused}");
        }
        let refused = scale_agents::Network::load(&file("one")).expect_err("another kind");
        assert!(refused.to_string().contains("scale-scorer-2"), "{refused}");
    }
}

/// Who sees nothing but its own placement is itself. Who sees others, and every arrival to come, is never worse.
#[test]
fn the_oracle_improves_on_what_it_starts_from() {
    let mut better = 0;
    for seed in 0..6 {
        let day = day(seed, 6, 200);
        let base = Scorer::greedy(0);
        let mut scale = Scale::new(base.clone());
        let policy = Policy::Solver(&mut scale, Budget::default());
        let alone = simulate(&day.platform, &day.workload, &day.sim, policy, &mut ());
        let alone = alone.expect("it can be played");
        let reached = |around| {
            let look = LookAhead { horizon: 1000, around, sigma: 2.0, slo_penalty_ms: 0.0, seed: Seed(seed) };
            lookahead::play(&day, &base, &mut [], &look, &mut ()).expect("it can be played")
        };
        let itself = reached(0);
        assert_eq!((itself.summary.latency, itself.taken), (alone.latency, vec![alone.batches, 0]));
        let oracle = reached(4);
        let mean = |summary: &scale_sim::Summary| summary.latency_mean().expect("requests").0;
        assert!(mean(&oracle.summary) <= mean(&alone) + 1e-6, "seed {seed}");
        better += usize::from(mean(&oracle.summary) < mean(&alone) - 1e-3);
    }
    assert!(better >= 2, "better on {better} of 6 days");
}

/// Who was placed where.
#[derive(Default)]
struct Placed(Vec<(RequestId, Decision)>);

impl Observer for Placed {
    fn placed(&mut self, outcome: &Outcome, _measured: bool) {
        self.0.push((outcome.request.id, outcome.decision));
    }
}

/// The first request ends 50 ms sooner on node 0, until 200 ms. The second, at 10, can run only there, for 150 ms; its SLO is 160. A
/// third comes at 190. Who looks no farther than the first takes node 0, and whoever sees the second wait takes node 1, although the
/// second is in no batch before the third arrives.
#[test]
fn the_oracle_sees_who_finds_no_room() {
    let mut day = commuter();
    let platform = &mut day.platform;
    platform.topology.links = Links::from_fn(2, |_, _| MegabytesPerSecond(20.0)).expect("a positive rate");
    platform.topology.nodes.iter_mut().for_each(|node| node.cores = Cores { milli: 1000 });
    platform.topology.nodes[1].memory = Memory { mb: 1024 };
    let function = |name: &str, mb: u32| Function {
        name: name.into(),
        image: Megabytes(0.0),
        init: Milliseconds(100.0),
        memory: Memory { mb },
        cores: Cores { milli: 1000 },
    };
    platform.functions = vec![function("small", 128), function("large", 2048)];
    let request = |id: u32, function: u32, source: u32, arrival: f64, work: f64, slo: f64| Request {
        id: RequestId(id),
        function: FunctionId(function),
        source: NodeId(source),
        arrival: Time(arrival),
        cpu_time: CoreMilliseconds(work),
        input: Megabytes(1.0),
        slo: Milliseconds(slo),
    };
    day.workload.requests = vec![
        request(0, 0, 0, 0.0, 100.0, 1000.0),
        request(1, 1, 0, 10.0, 50.0, 160.0),
        request(2, 0, 1, 190.0, 100.0, 1000.0),
    ];
    for (horizon, node) in [(0, 0), (1, 1), (2, 1), (usize::MAX, 1)] {
        let look = LookAhead { horizon, around: 0, sigma: 0.0, slo_penalty_ms: 300.0, seed: Seed(1) };
        let mut placed = Placed::default();
        let solvers: &mut [Box<dyn Solver>] = &mut [Box::new(Everyone(NodeId(1)))];
        lookahead::play(&day, &Scorer::greedy(0), solvers, &look, &mut placed).expect("it can be played");
        let expected = Decision::Run { node: NodeId(node), container: Container::New };
        assert_eq!(placed.0[0], (RequestId(0), expected), "horizon {horizon}");
        assert_eq!(placed.0.len(), 3);
    }
}
