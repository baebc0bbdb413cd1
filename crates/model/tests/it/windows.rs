//! Windows: arrivals go up to a grid, counted in microseconds; the oracle counts in integers.

use crate::common::request;
use proptest::prelude::*;
use scale_model::{Milliseconds, RequestId, Time, Workload};

/// Requests that arrive at these microseconds.
fn arrivals(microseconds: &[u64]) -> Workload {
    let requests = microseconds.iter().enumerate().map(|(index, &at)| {
        let mut request = request(index as u32, 0, 0, 1.0, 0.0, 100.0);
        (request.id, request.arrival) = (RequestId(index as u32), Time(at as f64 / 1000.0));
        request
    });
    Workload { requests: requests.collect() }
}

fn times(workload: &Workload) -> Vec<f64> {
    workload.requests.iter().map(|request| request.arrival.0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn onto_the_grid_once_and_for_all(
        mut at in prop::collection::vec(prop_oneof![0..2_000_u64, 0..100_000_000_000_u64], 0..20),
        // Whole microseconds, and what is between them.
        window in prop_oneof![
            (1..500_u64).prop_map(|us| us as f64 / 1000.0),
            (1..10_000_000_u64).prop_map(|us| us as f64 / 1000.0),
            0.0..0.01_f64,
            0.0..1000.0_f64,
        ],
    ) {
        at.sort_unstable();
        let once = arrivals(&at).windowed(Milliseconds(window));
        let grid = (window * 1000.0).round() as u64;
        let expected = match grid {
            0 => at,
            _ => at.iter().map(|at| at.div_ceil(grid) * grid).collect(),
        };
        prop_assert_eq!(&once, &arrivals(&expected));
        prop_assert!(times(&once).is_sorted());
        // Equal instants are equal numbers: a batch is the requests of one window.
        let windows = expected.chunk_by(|a, b| a == b).count();
        prop_assert_eq!(once.batches().count(), windows);
        let twice = once.clone().windowed(Milliseconds(window));
        prop_assert_eq!(twice, once);
    }
}

#[test]
fn windows_by_hand() {
    let check = |window: f64, at: &[f64], expected: &[f64]| {
        let mut workload = arrivals(&vec![0; at.len()]);
        workload.requests.iter_mut().zip(at).for_each(|(request, &at)| request.arrival = Time(at));
        assert_eq!(times(&workload.windowed(Milliseconds(window))), expected, "{window} {at:?}");
    };
    check(50.0, &[0.0, 0.001, 49.999, 50.0, 50.001, 100.0], &[0.0, 50.0, 50.0, 50.0, 100.0, 100.0]);
    // 3 * 0.1 is not 0.3 in binary, and 0.3 / 0.1 is below 3.
    check(0.1, &[0.1, 0.2, 0.3, 0.301, 0.7], &[0.1, 0.2, 0.3, 0.4, 0.7]);
    check(0.0, &[0.123, 4.567], &[0.123, 4.567]);
    // Rounded to 0 and to 1 microsecond.
    check(0.0004, &[0.123, 4.567], &[0.123, 4.567]);
    check(0.0006, &[0.123, 4.567], &[0.123, 4.567]);
    // What is no number stays so, for `validate` to find.
    let mut nowhere = arrivals(&[0]);
    nowhere.requests[0].arrival = Time(f64::NAN);
    assert!(times(&nowhere.windowed(Milliseconds(50.0)))[0].is_nan());
}
