//! The judge on placements made by hand: for each the exact list of violations.

use crate::common::{by_hand, request, run};
use scale_model::Container::{New, Reuse};
use scale_model::Decision::Defer;
use scale_model::{
    Cores, Decision, FunctionId, Instance, Memory, Milliseconds, NodeId, Objective, Placement, Solution,
    SolveError, Violation, violations,
};

fn judge(instance: &Instance, decisions: &[Decision]) -> Vec<Violation> {
    violations(&instance.problem(), &Placement { decisions: decisions.to_vec() })
}

fn no_cores(node: u32, used: u32, capacity: u32) -> Violation {
    Violation::Cores { node: NodeId(node), used: Cores { milli: used }, capacity: Cores { milli: capacity } }
}

fn no_memory(node: u32, used: u32, capacity: u32) -> Violation {
    Violation::Memory { node: NodeId(node), used: Memory { mb: used }, capacity: Memory { mb: capacity } }
}

fn late(index: usize, latency: f64, slo: f64) -> Violation {
    Violation::Late { index, latency: Milliseconds(latency), slo: Milliseconds(slo) }
}

fn none_idle(node: u32, function: u32, reuses: u32, idle: u32) -> Violation {
    Violation::NoIdleContainer { node: NodeId(node), function: FunctionId(function), reuses, idle }
}

/// Requests 0 and 1 call f, request 2 calls g; all enter at a. On a: f cold 150, g cold 70; 25 ms of CPU make 50 ms on
/// f's half core and 25 ms on g's core; 1 MB takes 40 ms to b.
/// T on a: f 50 warm, 200 cold; g 95 cold. T on b: f 250 + 50 + 40 = 340 cold; g 120 + 25 + 40 = 185 cold.
fn three(objective: Objective, slos: [f64; 3]) -> Instance {
    let [f, also_f, g] = slos;
    let requests = vec![
        request(0, 0, 0, 25.0, 1.0, f),
        request(1, 0, 0, 25.0, 1.0, also_f),
        request(2, 1, 0, 25.0, 1.0, g),
    ];
    by_hand(objective, requests)
}

#[test]
fn elastic_table() {
    let instance = three(Objective::ELASTIC, [1.0, 1.0, 1.0]);
    let check = |decisions: [Decision; 3], expected: &[Violation]| {
        assert_eq!(judge(&instance, &decisions), expected, "{decisions:?}");
    };
    // Late and deferred requests cost, but are allowed.
    check([Defer, Defer, Defer], &[]);
    // Exactly full is allowed: two halves are a's core, though the idle container's memory would make 400 of 300.
    check([run(0, New), run(0, New), Defer], &[]);
    check([run(0, Reuse), run(0, New), Defer], &[]);
    // f twice holds all 200 MB of b and one of its two cores.
    check([run(1, New), run(1, New), Defer], &[]);
    check([run(0, Reuse), run(0, New), run(1, New)], &[]);
    // One core is all that a has: 1.5 are too many, and 250 MB still fit.
    check([run(0, New), Defer, run(0, New)], &[no_cores(0, 1500, 1000)]);
    // Two cores of b suffice for 1.5, 250 MB do not fit into 200.
    check([run(1, New), Defer, run(1, New)], &[no_memory(1, 250, 200)]);
    // Both at once, and cores come first.
    check([run(0, New), run(0, New), run(0, New)], &[no_cores(0, 2000, 1000), no_memory(0, 350, 300)]);
    // One idle container of f on a serves one request; none is on b; that of f does not serve g.
    check([run(0, Reuse), run(0, Reuse), Defer], &[none_idle(0, 0, 2, 1)]);
    check([run(1, Reuse), Defer, Defer], &[none_idle(1, 0, 1, 0)]);
    check([Defer, Defer, run(0, Reuse)], &[none_idle(0, 1, 1, 0)]);
    // Several rules and both nodes: in the order of the constraints, then of the nodes.
    check(
        [run(0, New), run(1, Reuse), run(0, Reuse)],
        &[no_cores(0, 1500, 1000), none_idle(0, 1, 1, 0), none_idle(1, 0, 1, 0)],
    );
    // A node that does not exist hides the rest, and every such request is named.
    let unknown = |index, node| Violation::UnknownNode { index, node: NodeId(node) };
    check([run(2, New), run(0, New), run(u32::MAX, Reuse)], &[unknown(0, 2), unknown(2, u32::MAX)]);
}

#[test]
fn hard_table() {
    let check = |slos: [f64; 3], decisions: [Decision; 3], expected: &[Violation]| {
        assert_eq!(judge(&three(Objective::HARD, slos), &decisions), expected, "{slos:?} {decisions:?}");
    };
    let not_placed = |index| Violation::NotPlaced { index };
    check([1.0, 1.0, 1.0], [Defer, Defer, Defer], &[not_placed(0), not_placed(1), not_placed(2)]);
    // T = O exactly is in time: 50 warm on a, 200 cold on a, 185 cold on b.
    let placed = [run(0, Reuse), run(0, New), run(1, New)];
    check([50.0, 200.0, 185.0], placed, &[]);
    // One ulp less is late.
    check([50.0_f64.next_down(), 200.0, 185.0], placed, &[late(0, 50.0, 50.0_f64.next_down())]);
    check(
        [50.0, 200.0_f64.next_down(), 1.0],
        placed,
        &[late(1, 200.0, 200.0_f64.next_down()), late(2, 185.0, 1.0)],
    );
    check([50.0, 1.0, 185.0], [run(0, Reuse), Defer, run(1, New)], &[not_placed(1)]);
    check(
        [339.0, 1000.0, 1.0],
        [run(1, New), Defer, run(1, New)],
        &[not_placed(1), no_memory(1, 250, 200), late(0, 340.0, 339.0), late(2, 185.0, 1.0)],
    );
}

#[test]
fn waiting_counts_towards_the_slo() {
    let mut instance = three(Objective::HARD, [60.0, 200.0, 185.0]);
    let placed = [run(0, Reuse), run(0, New), run(1, New)];
    instance.requests[0].arrival.0 = 990.0;
    assert_eq!(judge(&instance, &placed), []);
    instance.requests[0].arrival.0 = 989.0;
    assert_eq!(judge(&instance, &placed), [late(0, 61.0, 60.0)]);
}

#[test]
fn what_is_busy_counts_and_what_is_idle_does_not() {
    let mut instance = three(Objective::ELASTIC, [1.0; 3]);
    instance.state.start(&instance.platform, FunctionId(0), NodeId(0), New);
    // Busy f: half of a's core is left: one more f, not two, and no g.
    assert_eq!(judge(&instance, &[run(0, New), Defer, Defer]), []);
    assert_eq!(judge(&instance, &[run(0, Reuse), run(0, New), Defer]), [no_cores(0, 1500, 1000)]);
    assert_eq!(judge(&instance, &[Defer, Defer, run(0, New)]), [no_cores(0, 1500, 1000)]);
    // b is full of idle containers; two busy ones still fit, in place of them.
    let mut instance = three(Objective::ELASTIC, [1.0; 3]);
    instance.state.add_idle(&instance.platform, FunctionId(1), NodeId(1), 1);
    assert_eq!(judge(&instance, &[run(1, New), run(1, New), Defer]), []);
}

/// Of a placement that breaks several rules, the first that binds under any objective is the one that is named.
#[test]
fn a_defect_is_named_before_what_only_a_hard_slo_forbids() {
    let check = |slos: [f64; 3], decisions: &[Decision], expected: Result<f64, SolveError>| {
        let instance = three(Objective::HARD, slos);
        let solution = Solution::feasible(&instance.problem(), Placement { decisions: decisions.to_vec() });
        assert_eq!(solution.map(|solution| solution.objective), expected, "{slos:?} {decisions:?}");
    };
    let broken = |violation| Err(SolveError::NotAllowed(violation));
    let placed = [run(0, Reuse), run(0, New), run(1, New)];
    check([50.0, 200.0, 185.0], &placed, Ok(435.0));
    check([49.0, 200.0, 185.0], &placed, Err(SolveError::NothingFound));
    check([50.0, 200.0, 185.0], &[run(0, Reuse), run(0, New), Defer], Err(SolveError::NothingFound));
    check([1.0; 3], &[Defer, run(1, New), run(1, New)], broken(no_memory(1, 250, 200)));
    check([1.0; 3], &[Defer, run(1, Reuse), Defer], broken(none_idle(1, 0, 1, 0)));
    check([1.0; 3], &[Defer; 2], broken(Violation::Length { decisions: 2, requests: 3 }));
    check(
        [1.0; 3],
        &[Defer, Defer, run(2, New)],
        broken(Violation::UnknownNode { index: 2, node: NodeId(2) }),
    );
}

#[test]
fn as_many_decisions_as_requests() {
    let instance = three(Objective::HARD, [1.0; 3]);
    let length = |decisions| [Violation::Length { decisions, requests: 3 }];
    assert_eq!(judge(&instance, &[]), length(0));
    assert_eq!(judge(&instance, &[Defer; 2]), length(2));
    assert_eq!(judge(&instance, &[run(9, New); 4]), length(4));
    assert_eq!(judge(&by_hand(Objective::HARD, vec![]), &[]), []);
}

#[test]
fn violations_read_well() {
    let instance = three(Objective::HARD, [10.0; 3]);
    let text = |decisions: &[Decision]| {
        judge(&instance, decisions).iter().map(|v| format!("{v}\n")).collect::<String>()
    };
    expect_test::expect![[r#"
        (5): request 1 of the batch is not placed
        (7): node 1 would hold 250 MB of 200 MB
        (8): request 0 of the batch takes 340 ms, more than its SLO of 10 ms
        (8): request 2 of the batch takes 65 ms, more than its SLO of 10 ms
        1 requests reuse a container of function 1 on node 1, where 0 are idle
    "#]]
    .assert_eq(&text(&[run(1, New), Defer, run(1, Reuse)]));
    expect_test::expect![[r#"
        (6): node 0 would hold 1.5 cores of 1 cores
        (8): request 0 of the batch takes 340 ms, more than its SLO of 10 ms
        (8): request 1 of the batch takes 200 ms, more than its SLO of 10 ms
        (8): request 2 of the batch takes 95 ms, more than its SLO of 10 ms
    "#]]
    .assert_eq(&text(&[run(1, New), run(0, New), run(0, New)]));
    expect_test::expect!["request 1 of the batch runs on node 7, which does not exist\n"]
        .assert_eq(&text(&[Defer, run(7, New), Defer]));
    expect_test::expect!["1 decisions for 3 requests\n"].assert_eq(&text(&[Defer]));
}
