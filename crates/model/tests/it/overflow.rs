//! Sums at the limits of `u32` and numbers just below zero.

use crate::common::{by_hand, function, node, request, run};
use scale_model::{Container, Cores, Memory, Objective, Placement, Violation, violations};

#[test]
fn just_below_zero_is_negative() {
    assert_eq!(Cores::nearest(-0.0001), None);
    assert_eq!(Memory::at_least(-0.5), None);
    assert_eq!(
        (Cores::nearest(0.0), Memory::at_least(0.0)),
        (Some(Cores { milli: 0 }), Some(Memory { mb: 0 }))
    );
    assert_eq!(Cores::nearest(4_294_967.295), Some(Cores { milli: u32::MAX }));
    assert_eq!(Cores::nearest(4_294_967.296), None);
    assert_eq!(Memory::at_least(4_294_967_295.5), None);
}

#[test]
fn a_batch_larger_than_u32_is_judged_right() {
    // Five containers of 10^9 MB and 10^6 cores on a node that holds one: 5 * 10^9 is below 10^9 modulo 2^32.
    let most = 1_000_000_000;
    let mut instance =
        by_hand(Objective::ELASTIC, (0..5).map(|k| request(k, 0, 0, 1.0, 0.0, 100.0)).collect());
    instance.platform.topology.nodes[0] = node("a", most, most, 100.0);
    instance.platform.functions[0] = function("f", most, most, 1.0, 1.0);
    instance.state = scale_model::ClusterState::empty(&instance.platform);
    instance.platform.validate().unwrap();
    let placement = Placement { decisions: vec![run(0, Container::New); 5] };
    let found = violations(&instance.problem(), &placement);
    assert!(matches!(found[..], [Violation::Cores { .. }, Violation::Memory { .. }]), "{found:?}");
    instance.state.start(
        &instance.platform,
        instance.requests[0].function,
        scale_model::NodeId(0),
        Container::New,
    );
    assert!(!instance.state.fits(&instance.platform, instance.requests[0].function, scale_model::NodeId(0)));
}

#[test]
fn capacities_are_bounded_so_that_no_sum_in_a_state_overflows() {
    let check = |cores, memory, expected: Option<&str>| {
        let mut instance = by_hand(Objective::ELASTIC, vec![]);
        instance.platform.topology.nodes[1] = node("b", cores, memory, 1.0);
        let error = instance.platform.validate().err().map(|e| e.to_string());
        assert_eq!(error.as_deref(), expected);
        let mut instance = by_hand(Objective::ELASTIC, vec![]);
        instance.platform.functions[1] = function("g", cores, memory, 1.0, 1.0);
        assert_eq!(instance.platform.validate().is_err(), expected.is_some());
    };
    check(1, 1, None);
    check(1_000_000_000, 1_000_000_000, None);
    let cores = "topology.nodes[1] (b).cores: 1000000.001: expected a number above 0 and at most 1000000";
    check(1_000_000_001, 1, Some(cores));
    let memory =
        "topology.nodes[1] (b).memory_mb: 1000000001: expected a number above 0 and at most 1000000000";
    check(1, 1_000_000_001, Some(memory));
}
