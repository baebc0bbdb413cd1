//! The rules against oracles: brute force through `latency::predict`, tables by hand, and frequencies that are known.

mod common;

use common::{Shape, busy, idle, instance, platform, random, request};
use proptest::prelude::*;
use scale_heuristics::{
    GreedyLatency, Hermod, K8sDefault, LeastLoaded, Nearest, OpenWhiskSharding, PowerOfTwo, RandomFeasible,
    RoundRobin, WarmFirstFit,
};
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, Decision, Instance, Links, Megabytes, MegabytesPerSecond,
    Milliseconds, NodeId, Objective, OneByOne, Placement, Scheduler, Seed, SolveError, Solver, decide_batch,
    latency,
};

fn rules(seed: Seed) -> [(&'static str, Box<dyn Scheduler>); 10] {
    [
        ("random-feasible", Box::new(RandomFeasible::new(seed))),
        ("round-robin", Box::new(RoundRobin::new())),
        ("nearest", Box::new(Nearest)),
        ("warm-first-fit", Box::new(WarmFirstFit)),
        ("least-loaded", Box::new(LeastLoaded)),
        ("power-of-two", Box::new(PowerOfTwo::new(seed))),
        ("k8s-default", Box::new(K8sDefault::new(seed))),
        ("openwhisk-sharding", Box::new(OpenWhiskSharding::new())),
        ("hermod", Box::new(Hermod)),
        ("greedy-latency", Box::new(GreedyLatency)),
    ]
}

fn cases() -> impl Strategy<Value = Instance> {
    (any::<u64>(), 1..12_usize, 1..5_usize, 1..12_usize, 0.0..1.0, 0..3_usize).prop_map(
        |(seed, nodes, functions, requests, load, idle)| {
            random(seed, Shape { nodes, functions, requests, load, idle })
        },
    )
}

/// Lets a rule decide the batch and calls `check` with the state before each decision.
fn each_decision(
    instance: &Instance,
    rule: &mut dyn Scheduler,
    mut check: impl FnMut(&BatchProblem<'_>, &ClusterState, usize, Decision),
) {
    let problem = instance.problem();
    let mut state = instance.state.clone();
    for (next, request) in instance.requests.iter().enumerate() {
        let decision = rule.decide(&problem, &state, next);
        check(&problem, &state, next, decision);
        if let Decision::Run { node, container } = decision {
            state.start(&instance.platform, request.function, node, container);
        }
    }
}

/// The node of the first request's decision.
fn first_node(instance: &Instance, rule: &mut dyn Scheduler) -> Option<u32> {
    match rule.decide(&instance.problem(), &instance.state, 0) {
        Decision::Run { node, .. } => Some(node.0),
        Decision::Defer => None,
    }
}

/// How often a rule takes each node for the first request.
fn frequencies(instance: &Instance, rule: &mut dyn Scheduler, draws: u32) -> Vec<u32> {
    let mut counts = vec![0; instance.platform.topology.nodes.len()];
    for _ in 0..draws {
        counts[first_node(instance, rule).expect("a node that fits") as usize] += 1;
    }
    counts
}

/// Counts within five standard deviations of a binomial distribution: a fair rule fails once in two million seeds.
fn assert_frequencies(counts: &[u32], expected: &[f64]) {
    assert_eq!(counts.len(), expected.len());
    let draws = f64::from(counts.iter().sum::<u32>());
    for (node, (&count, &share)) in counts.iter().zip(expected).enumerate() {
        let tolerance = 5.0 * (draws * share * (1.0 - share)).sqrt();
        let off = (f64::from(count) - draws * share).abs();
        assert!(off <= tolerance, "node {node}: {count} of {draws}, expected a share of {share}: {counts:?}");
    }
}

proptest! {
    #[test]
    fn every_decision_is_allowed_reuses_where_it_can_and_defers_only_where_nothing_fits(
        instance in cases(), seed in any::<u64>(),
    ) {
        for (name, mut rule) in rules(Seed(seed)) {
            each_decision(&instance, rule.as_mut(), |problem, state, next, decision| {
                let (platform, function) = (problem.platform, problem.requests[next].function);
                match decision {
                    Decision::Run { node, container } => {
                        assert!(state.allows(platform, function, node, container), "{name}: {decision:?}");
                        let reuse = state.idle(function, node) > 0;
                        assert_eq!(container == Container::Reuse, reuse, "{name}: {decision:?}");
                    }
                    Decision::Defer => {
                        let fits = |node| state.fits(platform, function, node);
                        assert!(!platform.node_ids().any(fits), "{name} defers a request that fits");
                    }
                }
            });
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_decisions(instance in cases(), seed in any::<u64>()) {
        let problem = instance.problem();
        let twice = rules(Seed(seed)).into_iter().zip(rules(Seed(seed)));
        for ((name, mut one), (_, mut two)) in twice {
            let first: Result<Placement, _> = decide_batch(&problem, one.as_mut());
            prop_assert_eq!(first, decide_batch(&problem, two.as_mut()), "{}", name);
        }
    }

    #[test]
    fn greedy_takes_the_true_argmin(instance in cases()) {
        each_decision(&instance, &mut GreedyLatency, |problem, state, next, decision| {
            let request = &problem.requests[next];
            let total = |node, container| {
                latency::predict(problem.platform, request, node, container, problem.now()).total()
            };
            // Brute force over nodes and {reuse, new}; a strict comparison keeps the lowest id of equal ones.
            let mut best: Option<(bool, f64, NodeId)> = None;
            for node in problem.platform.node_ids() {
                for container in [Container::Reuse, Container::New] {
                    if state.allows(problem.platform, request.function, node, container) {
                        let latency = total(node, container);
                        let key = (latency > request.slo, latency.0);
                        if best.is_none_or(|(late, least, _)| key < (late, least)) {
                            best = Some((key.0, key.1, node));
                        }
                    }
                }
            }
            match decision {
                Decision::Run { node, container } => {
                    let (_, least, argmin) = best.expect("a node that fits");
                    assert_eq!((node, total(node, container).0.to_bits()), (argmin, least.to_bits()));
                }
                Decision::Defer => assert_eq!(best, None),
            }
        });
    }

    #[test]
    fn nearest_takes_the_source_else_the_best_link_that_fits(instance in cases()) {
        each_decision(&instance, &mut Nearest, |problem, state, next, decision| {
            let Decision::Run { node, .. } = decision else { return };
            let request = &problem.requests[next];
            let source_fits = state.fits(problem.platform, request.function, request.source);
            assert_eq!(node == request.source, source_fits);
            let links = &problem.platform.topology.links;
            let rate = links.rate(request.source, node).0;
            for other in problem.platform.node_ids().filter(|&v| state.fits(problem.platform, request.function, v)) {
                let other_rate = links.rate(request.source, other).0;
                assert!(other_rate < rate || (other_rate == rate && other >= node), "{other} before {node}");
            }
        });
    }
}

#[test]
fn nearest_goes_outwards_as_nodes_fill_up() {
    let mut platform = platform(&[(1000, 1000); 4], &[(1000, 100, 10.0)]);
    // From node 0, node 2 is the closest, then 3, then 1.
    let rates = [0.0, 10.0, 40.0, 20.0];
    platform.topology.links = Links::from_fn(4, |s, v| MegabytesPerSecond(rates[s.index().max(v.index())]))
        .expect("positive rates");
    let requests: Vec<_> = (0..5).map(|id| request(id, 0)).collect();
    let instance = instance(platform, requests);
    let placement = decide_batch(&instance.problem(), &mut Nearest).expect("allowed");
    let run = |node| Decision::Run { node: NodeId(node), container: Container::New };
    assert_eq!(placement.decisions, [run(0), run(2), run(3), run(1), Decision::Defer]);
}

#[test]
fn greedy_weighs_a_cold_start_against_the_way() {
    // Cold at the source: 10 MB / 100 MB/s + 80 ms = 180 ms. Warm at node 1: the way, 0.5 MB / 25 MB/s = 20 ms.
    let mut near = instance(platform(&[(1000, 1000); 2], &[(500, 100, 10.0)]), vec![request(0, 0)]);
    idle(&mut near, 0, 1, 1);
    let reuse = Decision::Run { node: NodeId(1), container: Container::Reuse };
    assert_eq!(GreedyLatency.decide(&near.problem(), &near.state, 0), reuse);
    // With 5 MB to send the way takes 200 ms, and the cold start at the source is the better one.
    near.requests[0].input = Megabytes(5.0);
    let new = Decision::Run { node: NodeId(0), container: Container::New };
    assert_eq!(GreedyLatency.decide(&near.problem(), &near.state, 0), new);
}

/// The outcome of greedy-latency on its own: allowed, or nothing found; that it defers or is late is no defect of its.
#[test]
fn under_a_hard_slo_greedy_latency_finds_nothing_where_it_defers_or_is_late() {
    // 75 ms of CPU on the whole core and 180 ms of cold start.
    let solve = |requests: u32, slo: f64| {
        let patient = |id| scale_model::Request { slo: Milliseconds(slo), ..request(id, 0) };
        let batch =
            instance(platform(&[(1000, 1000)], &[(1000, 100, 10.0)]), (0..requests).map(patient).collect());
        let hard = Instance { objective: Objective::HARD, ..batch };
        OneByOne(GreedyLatency).solve(&hard.problem(), &Budget::default()).map(|found| found.objective)
    };
    assert_eq!(solve(1, 255.0), Ok(255.0));
    assert_eq!(solve(1, 254.0), Err(SolveError::NothingFound));
    assert_eq!(solve(2, 255.0), Err(SolveError::NothingFound));
}

#[test]
fn warm_first_fit_prefers_any_warm_node_that_fits() {
    let mut case =
        instance(platform(&[(1000, 1000); 4], &[(600, 100, 10.0), (500, 100, 10.0)]), vec![request(0, 0)]);
    assert_eq!(first_node(&case, &mut WarmFirstFit), Some(0));
    idle(&mut case, 0, 1, 1);
    idle(&mut case, 0, 2, 1);
    assert_eq!(first_node(&case, &mut WarmFirstFit), Some(1));
    // A warm node that is full is passed over; then the first that fits, though cold.
    busy(&mut case, 1, 1, 1);
    assert_eq!(first_node(&case, &mut WarmFirstFit), Some(2));
    busy(&mut case, 1, 2, 1);
    assert_eq!(first_node(&case, &mut WarmFirstFit), Some(0));
    busy(&mut case, 1, 0, 1);
    assert_eq!(first_node(&case, &mut WarmFirstFit), Some(3));
}

#[test]
fn least_loaded_is_lexicographic_in_fit_load_and_warmth() {
    // Node 0 is the emptiest but too small; 1 and 2 are at 500/1000 and 1000/2000, equal; 3 is at 1500/2000.
    let nodes = [(400, 1000), (1000, 1000), (2000, 1000), (2000, 1000)];
    let mut case = instance(platform(&nodes, &[(500, 100, 10.0)]), vec![request(0, 0)]);
    busy(&mut case, 0, 1, 1);
    busy(&mut case, 0, 2, 2);
    busy(&mut case, 0, 3, 3);
    idle(&mut case, 0, 3, 1);
    assert_eq!(first_node(&case, &mut LeastLoaded), Some(1));
    // Between equal loads the warm node wins, though a warm node with more load never does.
    idle(&mut case, 0, 2, 1);
    assert_eq!(first_node(&case, &mut LeastLoaded), Some(2));
    busy(&mut case, 0, 1, 1);
    busy(&mut case, 0, 2, 1);
    assert_eq!(first_node(&case, &mut LeastLoaded), Some(2));
}

#[test]
fn hermod_has_four_classes_and_then_balances() {
    // Two cores a node, so one running invocation leaves a node with spare cores and two do not.
    let mut case = instance(platform(&[(2000, 4000); 6], &[(500, 100, 10.0)]), vec![request(0, 0)]);
    let check = |case: &Instance, expected| assert_eq!(first_node(case, &mut Hermod), Some(expected));
    check(&case, 0); // empty: the first
    idle(&mut case, 0, 2, 1);
    check(&case, 2); // empty and warm before empty
    busy(&mut case, 0, 3, 1);
    check(&case, 3); // busy before empty and warm
    idle(&mut case, 0, 4, 1);
    busy(&mut case, 0, 4, 1);
    check(&case, 4); // busy and warm before busy
    busy(&mut case, 0, 4, 1);
    check(&case, 3); // two invocations on two cores: node 4 is saturated, though it fits
    for (node, count) in [(0, 3), (1, 3), (2, 2), (3, 2), (5, 3)] {
        busy(&mut case, 0, node, count);
    }
    check(&case, 2); // all saturated: 2, 3 (3 invocations), 4; the least loaded is 2 or 4, both warm, the first wins
    busy(&mut case, 0, 2, 1);
    check(&case, 4);
}

#[test]
fn round_robin_is_fair_and_passes_over_full_nodes() {
    let mut case = instance(platform(&[(1000, 1000); 5], &[(500, 100, 10.0)]), vec![request(0, 0)]);
    assert_eq!(frequencies(&case, &mut RoundRobin::new(), 35), [7; 5]);
    busy(&mut case, 0, 1, 2);
    busy(&mut case, 0, 4, 2);
    let mut rule = RoundRobin::new();
    let order: Vec<_> = (0..7).map(|_| first_node(&case, &mut rule).expect("a node that fits")).collect();
    assert_eq!(order, [0, 2, 3, 0, 2, 3, 0]);
    // The same rule on a smaller platform starts over instead of running off its end.
    rule = RoundRobin::new();
    assert_eq!(frequencies(&case, &mut rule, 3), [1, 0, 1, 1, 0]);
    let small = instance(platform(&[(1000, 1000); 2], &[(500, 100, 10.0)]), vec![request(0, 0)]);
    assert_eq!(first_node(&small, &mut rule), Some(0));
}

#[test]
fn random_feasible_draws_each_node_that_fits_equally_often() {
    let mut case = instance(platform(&[(1000, 1000); 5], &[(500, 100, 10.0)]), vec![request(0, 0)]);
    busy(&mut case, 0, 1, 2);
    let counts = frequencies(&case, &mut RandomFeasible::new(Seed(1)), 20_000);
    assert_frequencies(&counts, &[0.25, 0.0, 0.25, 0.25, 0.25]);
}

#[test]
fn power_of_two_draws_pairs_uniformly_and_takes_the_less_loaded() {
    // Loads 0, 1/8, ..., 4/8, node 2 the emptiest. Of n(n-1)/2 pairs the node of rank r (from 1) wins n - r.
    let mut case = instance(platform(&[(4000, 8000); 5], &[(500, 100, 10.0)]), vec![request(0, 0)]);
    for (node, count) in [(0, 4), (1, 2), (2, 0), (3, 1), (4, 3)] {
        busy(&mut case, 0, node, count);
    }
    let counts = frequencies(&case, &mut PowerOfTwo::new(Seed(1)), 20_000);
    assert_frequencies(&counts, &[0.0, 0.2, 0.4, 0.3, 0.1]);
    // Equal loads: each node equally often.
    let empty = instance(platform(&[(4000, 8000); 5], &[(500, 100, 10.0)]), vec![request(0, 0)]);
    assert_frequencies(&frequencies(&empty, &mut PowerOfTwo::new(Seed(2)), 20_000), &[0.2; 5]);
}

#[test]
fn power_of_two_takes_the_one_that_fits_and_else_any() {
    // Nodes 2, 3 and 4 are full: of ten pairs one is (0, 1), three hold 0 alone and three hold 1 alone; the other
    // three are all full, and then 0 and 1 are drawn equally often. Node 0 is the emptier.
    let mut case = instance(platform(&[(1000, 8000); 5], &[(250, 100, 10.0)]), vec![request(0, 0)]);
    for (node, count) in [(0, 0), (1, 1), (2, 4), (3, 4), (4, 4)] {
        busy(&mut case, 0, node, count);
    }
    let counts = frequencies(&case, &mut PowerOfTwo::new(Seed(3)), 20_000);
    assert_frequencies(&counts, &[0.55, 0.45, 0.0, 0.0, 0.0]);
    let single = instance(platform(&[(1000, 8000)], &[(250, 100, 10.0)]), vec![request(0, 0)]);
    assert_eq!(first_node(&single, &mut PowerOfTwo::new(Seed(4))), Some(0));
}

#[test]
fn openwhisk_keeps_a_function_at_home_until_it_is_full() {
    let case = instance(
        platform(&[(1000, 1000); 10], &[(500, 100, 10.0), (500, 100, 10.0)]),
        (0..21).map(|id| request(id, 0)).collect(),
    );
    let placement = decide_batch(&case.problem(), &mut OpenWhiskSharding::new()).expect("allowed");
    let nodes: Vec<_> = placement
        .decisions
        .iter()
        .map(|decision| match decision {
            Decision::Run { node, .. } => Some(node.0),
            Decision::Defer => None,
        })
        .collect();
    // Two fit on each node: the probe order shows up in pairs, every node once, and then the request waits.
    let order: Vec<_> = nodes[..20].chunks(2).map(|pair| pair[0]).collect();
    assert!(nodes[..20].chunks(2).all(|pair| pair[0] == pair[1]));
    let mut sorted = order.clone();
    sorted.sort();
    assert_eq!(sorted, (0..10).map(Some).collect::<Vec<_>>());
    assert_eq!(nodes[20], None);
    let step = |pair: &[Option<u32>]| (pair[1].expect("placed") + 10 - pair[0].expect("placed")) % 10;
    assert!(order.windows(2).all(|pair| step(pair) == step(&order[..2])), "{order:?}");
}

#[test]
fn k8s_takes_the_highest_score_and_breaks_ties_evenly() {
    // Equal nodes, one half full: the other four share the requests.
    let mut case = instance(platform(&[(1000, 1000); 5], &[(500, 500, 10.0)]), vec![request(0, 0)]);
    busy(&mut case, 0, 1, 1);
    let counts = frequencies(&case, &mut K8sDefault::new(Seed(1)), 20_000);
    assert_frequencies(&counts, &[0.25, 0.0, 0.25, 0.25, 0.25]);
    // A large image tips the balance: node 1 holds it, though it is fuller. 3000 MB on one node of five: 600 MB are
    // worth (600 - 24.1) * 100 / (1048.6 - 24.1) = 56, and half a node is worth 50 of 100 points.
    case.platform.functions[0].image = Megabytes(3000.0);
    assert_eq!(first_node(&case, &mut K8sDefault::new(Seed(2))), Some(1));
}
