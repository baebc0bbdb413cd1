//! Instances as JSON: the same bits back, and errors that say where.

use crate::common::{by_hand, request, tiny};
use proptest::prelude::*;
use scale_model::{Instance, Milliseconds, Objective, Slo, Time};
use std::fmt::Write;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_bit_comes_back(
        tape in prop::collection::vec(any::<u8>(), 80),
        numbers in prop::collection::vec(prop::num::f64::POSITIVE | prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL, 12),
        degrees in -90.0..90.0_f64,
    ) {
        let mut instance = tiny(&tape, 3, 3);
        let [cpu, input, slo, image, init, bandwidth, frequency, penalty, defer, rate, early, late] = numbers[..] else {
            unreachable!("twelve numbers");
        };
        instance.state.time = Time(early.max(late));
        for request in &mut instance.requests {
            request.arrival = Time(early.min(late));
            (request.cpu_time.0, request.input.0, request.slo.0) = (cpu, input, slo);
        }
        let platform = &mut instance.platform;
        (platform.functions[0].image.0, platform.functions[0].init.0) = (image, init);
        let nodes = platform.topology.nodes.len();
        let first = &mut platform.topology.nodes[0];
        (first.registry_bandwidth.0, first.frequency.0) = (bandwidth, frequency);
        (first.position.latitude, first.position.longitude) = (degrees, -2.0 * degrees);
        first.name = "na\u{ef}ve \"node\"\n\u{1f600}".into();
        platform.topology.links =
            scale_model::Links::from_fn(nodes, |_, _| scale_model::MegabytesPerSecond(rate)).unwrap();
        if let Slo::Elastic { penalty_ms } = &mut instance.objective.slo {
            *penalty_ms = Milliseconds(penalty);
        }
        instance.objective.defer_penalty = Milliseconds(defer);
        let text = instance.to_json();
        let back = Instance::from_json(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(&back, &instance);
        prop_assert_eq!(back.to_json(), text);
    }
}

#[test]
fn requests_are_named_by_their_place_in_the_file() {
    let check = |ids: [u32; 3], slo, expected: Option<&str>| {
        let mut requests: Vec<_> = ids.into_iter().map(|id| request(id, 0, 0, 25.0, 1.0, 400.0)).collect();
        requests[1].slo = Milliseconds(slo);
        let instance = by_hand(Objective::ELASTIC, requests);
        let error = Instance::from_json(&instance.to_json()).err().map(|e| e.to_string());
        assert_eq!(error.as_deref(), expected);
    };
    // A batch of a run: any ids, in any order.
    check([70, 71, 9], 400.0, None);
    check([70, 71, 72], 0.0, Some("requests[1].slo_ms: 0: expected a number above 0"));
    let twice = "requests[2].id: 70, the id of requests[0] too: expected an id of its own";
    check([70, 71, 70], 400.0, Some(twice));
}

#[test]
fn penalties_are_numbers_of_at_least_0() {
    let soft =
        |penalty| Objective { slo: Slo::Elastic { penalty_ms: Milliseconds(penalty) }, ..Objective::ELASTIC };
    let defer = |penalty, objective| Objective { defer_penalty: Milliseconds(penalty), ..objective };
    let check = |objective: Objective, expected: Option<&str>| {
        let error = objective.validate().err().map(|error| error.to_string());
        assert_eq!(
            error,
            expected.map(|place| format!("objective.{place}: expected a number of at least 0"))
        );
    };
    for good in [Objective::ELASTIC, Objective::HARD, soft(0.0), defer(0.0, Objective::HARD)] {
        check(good, None);
    }
    for (bad, text) in [(-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        check(soft(bad), Some(&format!("slo.penalty_ms: {text}")));
        for slo in [Objective::ELASTIC, Objective::HARD] {
            check(defer(bad, slo), Some(&format!("defer_penalty_ms: {text}")));
        }
    }
}

#[test]
fn broken_files_say_what_is_wrong() {
    let mut instance = by_hand(Objective::ELASTIC, vec![request(0, 0, 0, 25.0, 1.0, 400.0)]);
    instance.state.start(
        &instance.platform,
        scale_model::FunctionId(1),
        scale_model::NodeId(1),
        scale_model::Container::New,
    );
    let good = instance.to_json();
    assert_eq!(Instance::from_json(&good).unwrap(), instance);
    // (what is wrong, text, its replacement)
    let table = [
        ("typo in a field", r#""slo_ms": 400.0"#, r#""slo_msec": 400.0"#),
        ("field missing", r#""input_mb": 1.0,"#, ""),
        ("negative capacity", r#""cores": 2.0"#, r#""cores": -2.0"#),
        ("zero capacity", r#""cores": 2.0"#, r#""cores": 0"#),
        ("NaN", r#""slo_ms": 400.0"#, r#""slo_ms": NaN"#),
        ("null", r#""slo_ms": 400.0"#, r#""slo_ms": null"#),
        ("out of range", r#""slo_ms": 400.0"#, r#""slo_ms": 1e999"#),
        ("zero SLO", r#""slo_ms": 400.0"#, r#""slo_ms": 0.0"#),
        ("text for a number", r#""slo_ms": 400.0"#, r#""slo_ms": "400""#),
        ("unknown function", "\"function\": 0,\n      \"source\"", "\"function\": 2,\n      \"source\""),
        ("unknown source", r#""source": 0"#, r#""source": 2"#),
        ("negative id", r#""source": 0"#, r#""source": -1"#),
        ("arrives after now", r#""arrival_ms": 1000.0"#, r#""arrival_ms": 1000.5"#),
        ("negative arrival", r#""arrival_ms": 1000.0"#, r#""arrival_ms": -1.0"#),
        ("unknown node in the state", r#""node": 1"#, r#""node": 2"#),
        (
            "unknown function in the state",
            "\"node\": 1,\n        \"function\": 1",
            "\"node\": 1,\n        \"function\": 7",
        ),
        ("busier than the node's cores", r#""busy": 1"#, r#""busy": 3"#),
        ("busier than its memory", r#""busy": 1"#, r#""busy": 2"#),
        (
            "more idle than busy ones leave",
            "\"idle\": 0,\n        \"busy\": 1",
            "\"idle\": 1,\n        \"busy\": 1",
        ),
        ("more idle than memory", r#""idle": 1"#, r#""idle": 4"#),
        ("negative idle", r#""idle": 1"#, r#""idle": -1"#),
        ("duplicate node name", r#""name": "b""#, r#""name": "a""#),
        ("duplicate function name", r#""name": "g""#, r#""name": "f""#),
        (
            "links not square",
            "          null,\n          25.0",
            "          null,\n          25.0,\n          25.0",
        ),
        ("diagonal not null", "          null,\n          25.0", "          25.0,\n          25.0"),
        ("null beside the diagonal", "          null,\n          25.0", "          null,\n          null"),
        ("negative rate", "          null,\n          25.0", "          null,\n          -25.0"),
        ("fractional memory", r#""memory_mb": 300"#, r#""memory_mb": 300.5"#),
        ("too fine cores", r#""cores": 2.0"#, r#""cores": 2.0005"#),
        ("text for cores", r#""cores": 2.0"#, r#""cores": "2""#),
        ("null for memory", r#""memory_mb": 300"#, r#""memory_mb": null"#),
        ("latitude", r#""latitude_deg": -37.8"#, r#""latitude_deg": -137.8"#),
        ("longitude", r#""longitude_deg": 144.9"#, r#""longitude_deg": 190"#),
        ("wrong format", "scale-instance-1", "scale-instance-2"),
        (
            "wrong format, and other fields",
            "\"format\": \"scale-instance-1\",",
            "\"format\": \"scale-instance-2\", \"seed\": 7,",
        ),
        ("no format", "\"format\": \"scale-instance-1\",", ""),
        ("format twice", "\"format\"", "\"format\": \"scale-instance-1\", \"format\""),
        ("a number for the format", "\"scale-instance-1\"", "1"),
        ("mode misspelt", r#""mode": "elastic""#, r#""mode": "soft""#),
        ("penalty beside hard", r#""mode": "elastic""#, r#""mode": "hard""#),
        ("negative penalty", r#""penalty_ms": 1000.0"#, r#""penalty_ms": -1.0"#),
        ("no key", "\"format\"", ""),
    ];
    let mut errors = String::new();
    for (what, old, new) in table {
        assert!(good.contains(old), "{what}: {old} is not in {good}");
        let error = match Instance::from_json(&good.replacen(old, new, 1)) {
            Ok(_) => "ACCEPTED".into(),
            Err(error) => error.to_string(),
        };
        writeln!(errors, "{what}: {error}").unwrap();
    }
    expect_test::expect![[r#"
        typo in a field: not an instance: unknown field `slo_msec`, expected one of `id`, `function`, `source`, `arrival_ms`, `cpu_time_core_ms`, `input_mb`, `slo_ms` at line 18 column 16
        field missing: not an instance: missing field `input_mb` at line 19 column 5
        negative capacity: not an instance: cores: -2: expected a number of cores from 0 to 4294967.295 with at most three decimals at line 61 column 23
        zero capacity: topology.nodes[1] (b).cores: 0: expected a number above 0 and at most 1000000
        NaN: not an instance: expected value at line 18 column 17
        null: not an instance: invalid type: null, expected f64 at line 18 column 20
        out of range: not an instance: number out of range at line 18 column 21
        zero SLO: requests[0].slo_ms: 0: expected a number above 0
        text for a number: not an instance: invalid type: string "400", expected f64 at line 18 column 21
        unknown function: requests[0].function: 2 (there are 2, from 0): expected a known function
        unknown source: requests[0].source: 2 (there are 2, from 0): expected a known node
        negative id: not an instance: invalid value: integer `-1`, expected u32 at line 14 column 18
        arrives after now: requests[0].arrival_ms: 1000.5: expected at most state.time_ms, the instant of the decision
        negative arrival: requests[0].arrival_ms: -1: expected a number of at least 0
        unknown node in the state: state.containers[1].node: 2 (there are 2, from 0): expected a known node
        unknown function in the state: state.containers[1].function: 7 (there are 2, from 0): expected a known function
        busier than the node's cores: state.containers[1].busy: 3 with 1 cores each, while 2 cores are free: expected no more busy containers than the node has cores for
        busier than its memory: state.containers[1].busy: 2 with 150 MB each, while 200 MB are free: expected no more busy containers than the node has memory for
        more idle than busy ones leave: state.containers[1].idle: 1 with 150 MB each, while 50 MB are free: expected no more idle containers than the node has memory for
        more idle than memory: state.containers[0].idle: 4 with 100 MB each, while 300 MB are free: expected no more idle containers than the node has memory for
        negative idle: not an instance: invalid value: integer `-1`, expected u32 at line 27 column 18
        duplicate node name: topology.nodes[1].name: "a", the name of topology.nodes[0] too: expected a name of its own
        duplicate function name: functions[1].name: "f", the name of functions[0] too: expected a name of its own
        links not square: not an instance: links[0]: 3 rates: expected 2 at line 77 column 5
        diagonal not null: not an instance: links[0][0]: 25: expected null (no transfer within a node) at line 76 column 5
        null beside the diagonal: not an instance: links[0][1]: null: expected a rate in MB/s above 0 at line 76 column 5
        negative rate: not an instance: topology.links[0][1]: -25: expected a rate in MB/s above 0 at line 76 column 5
        fractional memory: not an instance: memory_mb: 300.5: expected a whole number of MB from 0 to 4294967295 at line 50 column 28
        too fine cores: not an instance: cores: 2.0005: expected a number of cores from 0 to 4294967.295 with at most three decimals at line 61 column 25
        text for cores: not an instance: cores: invalid type: string "2", expected f64 at line 61 column 22
        null for memory: not an instance: memory_mb: invalid type: null, expected f64 at line 50 column 27
        latitude: topology.nodes[0] (a).position.latitude_deg: -137.8: expected degrees from -90 to 90
        longitude: topology.nodes[0] (a).position.longitude_deg: 190: expected degrees from -180 to 180
        wrong format: format: scale-instance-2: expected scale-instance-1
        wrong format, and other fields: format: scale-instance-2: expected scale-instance-1
        no format: not an instance: missing field `format` at line 94 column 1
        format twice: not an instance: duplicate field `format` at line 2 column 40
        a number for the format: not an instance: invalid type: integer `1`, expected a string at line 2 column 13
        mode misspelt: not an instance: unknown variant `soft`, expected `hard` or `elastic` at line 5 column 20
        penalty beside hard: not an instance: unknown field `penalty_ms`, there are no fields at line 7 column 5
        negative penalty: objective.slo.penalty_ms: -1: expected a number of at least 0
        no key: not an instance: key must be a string at line 2 column 3
    "#]]
    .assert_eq(&errors);
}
