//! The pool against a list that is searched, the histogram against sorting.

use crate::common::{half, node, platform};
use proptest::prelude::*;
use scale_model::{FunctionId, NodeId, Time};
use scale_sim::Histogram;
use scale_sim::pool::{Idle, IdlePool};

const NODES: u32 = 3;
const FUNCTIONS: u32 = 2;

#[derive(Clone, Copy, Debug)]
enum Step {
    Push { function: u32, node: u32, later: f64 },
    Reuse { function: u32, node: u32 },
    Evict { node: u32 },
    Expire,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (node, function) = (0..NODES, 0..FUNCTIONS);
    let push = (function.clone(), node.clone(), prop::sample::select(vec![0.0, 1.0, 2.5]))
        .prop_map(|(function, node, later)| Step::Push { function, node, later });
    let reuse = (function, node.clone()).prop_map(|(function, node)| Step::Reuse { function, node });
    let evict = node.prop_map(|node| Step::Evict { node });
    prop::collection::vec(prop_oneof![5 => push, 3 => reuse, 1 => evict, 1 => Just(Step::Expire)], 0..120)
}

/// Removes and returns the last entry that is meant.
fn take_last(list: &mut Vec<Idle>, mut meant: impl FnMut(&Idle) -> bool) -> Option<Idle> {
    let at = list.iter().rposition(&mut meant)?;
    Some(list.remove(at))
}

fn take_first(list: &mut Vec<Idle>, meant: impl FnMut(&Idle) -> bool) -> Option<Idle> {
    let at = list.iter().position(meant)?;
    Some(list.remove(at))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn the_pool_is_a_list_in_order_of_time(steps in steps()) {
        let platform = platform(vec![node(1000, 1000); NODES as usize], vec![half(); FUNCTIONS as usize]);
        let (mut pool, mut list, mut now) = (IdlePool::new(&platform), Vec::<Idle>::new(), 0.0);
        for step in steps {
            match step {
                Step::Push { function, node, later } => {
                    now += later;
                    let idle = Idle { function: FunctionId(function), node: NodeId(node), since: Time(now) };
                    pool.push(idle);
                    list.push(idle);
                }
                Step::Reuse { function, node } => {
                    let (function, node) = (FunctionId(function), NodeId(node));
                    let expected = take_last(&mut list, |idle| (idle.function, idle.node) == (function, node));
                    prop_assert_eq!(pool.reuse(function, node), expected);
                }
                Step::Evict { node } => {
                    let node = NodeId(node);
                    prop_assert_eq!(pool.evict(node), take_first(&mut list, |idle| idle.node == node));
                }
                Step::Expire => {
                    prop_assert_eq!(pool.expire(), take_first(&mut list, |_| true));
                }
            }
            prop_assert_eq!((pool.len(), pool.is_empty()), (list.len(), list.is_empty()));
            prop_assert_eq!(pool.oldest(), list.first().copied());
        }
        // Whatever is left comes out in order.
        for expected in list {
            prop_assert_eq!(pool.expire(), Some(expected));
        }
        prop_assert_eq!(pool.expire(), None);
    }

    #[test]
    fn quantiles_are_right_to_a_fifth_of_a_percent(
        exponents in prop::collection::vec(-9.0..30.0_f64, 1..300),
        q in 0.0..=1.0_f64,
    ) {
        let mut values: Vec<f64> = exponents.into_iter().map(f64::exp2).collect();
        let mut histogram = Histogram::default();
        values.iter().for_each(|&value| histogram.add(value));
        values.sort_by(f64::total_cmp);
        prop_assert_eq!(histogram.len(), values.len() as u64);
        for q in [q, 0.0, 0.5, 0.95, 0.99, 1.0] {
            let rank = ((q * values.len() as f64).ceil() as usize).max(1);
            let (exact, got) = (values[rank - 1], histogram.quantile(q).unwrap());
            prop_assert!((got - exact).abs() <= 0.002 * exact, "{q}: {got} for {exact}");
        }
    }
}

#[test]
fn extremes_of_the_histogram() {
    let check = |value: f64, expected: f64| {
        let mut histogram = Histogram::default();
        histogram.add(value);
        let got = histogram.quantile(0.5).unwrap();
        assert!((got - expected).abs() <= 0.002 * expected, "{got} for {value}");
    };
    // Nothing below a microsecond is told apart.
    check(0.0, 1.0 / 1024.0);
    check(1e-300, 1.0 / 1024.0);
    check(1.0 / 1024.0, 1.0 / 1024.0);
    // Both sides of a power of two.
    check(256.0, 256.0);
    check(256.0_f64.next_down(), 256.0);
    check(1e12, 1e12);
    assert_eq!(Histogram::default().quantile(1.0), None);
    assert!(Histogram::default().is_empty());
}
