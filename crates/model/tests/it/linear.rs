//! The linear program against the judge: the same placements, the same costs, the same optimum.

use crate::common::{by_hand, placements, request, tiny};
use expect_test::expect;
use proptest::prelude::*;
use scale_model::linear::{LinearProgram, Sense};
use scale_model::{Container, Decision, Instance, Objective, Placement, evaluate, violations};

/// Names of the rows that a point breaks. All numbers of `tiny` are exact, so there is no tolerance.
fn broken<'a>(program: &'a LinearProgram, point: &[f64]) -> Vec<&'a str> {
    let holds = |row: &&scale_model::linear::Row| {
        let left: f64 = row.terms.iter().map(|&(column, value)| value * point[column]).sum();
        match row.sense {
            Sense::AtMost => left <= row.rhs,
            Sense::Equal => left == row.rhs,
        }
    };
    program.rows.iter().filter(|row| !holds(row)).map(|row| row.name.as_str()).collect()
}

fn cost(program: &LinearProgram, point: &[f64]) -> f64 {
    program.columns.iter().zip(point).map(|(column, value)| column.cost * value).sum()
}

/// The column with this name set to 1; `false` if the program has none.
fn set(program: &LinearProgram, point: &mut [f64], name: &str) -> bool {
    let at = program.columns.iter().position(|column| column.name == name);
    if let Some(at) = at {
        point[at] = 1.0;
    }
    at.is_some()
}

/// The placement as a point, with `late_k` as told.
fn point(program: &LinearProgram, placement: &Placement, late: &[bool]) -> Vec<f64> {
    let mut point = vec![0.0; program.columns.len()];
    assert!(set(program, &mut point, "one"));
    for (k, decision) in placement.decisions.iter().enumerate() {
        match *decision {
            Decision::Defer => {
                // Under a hard SLO there is no such column, and `place_k` is then broken.
                set(program, &mut point, &format!("defer_{k}"));
            }
            Decision::Run { node, container } => {
                assert!(set(program, &mut point, &format!("x_{k}_{}", node.0)));
                if container == Container::New {
                    assert!(set(program, &mut point, &format!("z_{k}_{}", node.0)));
                }
            }
        }
        if late[k] {
            set(program, &mut point, &format!("late_{k}"));
        }
    }
    point
}

fn agree(instance: &Instance) -> Result<(), TestCaseError> {
    let problem = instance.problem();
    let program = LinearProgram::of(&problem);
    for placement in placements(instance) {
        let evaluation = evaluate(&problem, &placement);
        let late: Vec<bool> = evaluation
            .latencies
            .iter()
            .zip(&instance.requests)
            .map(|(latency, request)| latency.total() > request.slo)
            .collect();
        let found = violations(&problem, &placement);
        if !found.is_empty() {
            // Broken however late anyone claims to be.
            let point = point(&program, &placement, &vec![true; late.len()]);
            prop_assert!(!broken(&program, &point).is_empty(), "{placement:?} is allowed but {found:?}");
            continue;
        }
        let at = point(&program, &placement, &late);
        prop_assert_eq!(broken(&program, &at), Vec::<&str>::new(), "{:?}", placement);
        let error = (cost(&program, &at) - evaluation.objective).abs();
        prop_assert!(error <= 1e-9 * evaluation.objective.abs(), "{placement:?}: off by {error}");
        // Nobody who is late gets away without paying.
        for k in (0..late.len()).filter(|&k| late[k]) {
            let mut hidden = late.clone();
            hidden[k] = false;
            let rows = [format!("slo_{k}")];
            prop_assert_eq!(broken(&program, &point(&program, &placement, &hidden)), rows, "{:?}", placement);
        }
    }
    Ok(())
}

/// The least cost over every 0/1 point, whatever it means.
fn least_over_points(program: &LinearProgram) -> Option<f64> {
    let columns = program.columns.len();
    (0..1_u32 << columns)
        .map(|bits| (0..columns).map(|c| f64::from(bits >> c & 1)).collect::<Vec<f64>>())
        .filter(|point| program.columns.iter().zip(point).all(|(column, value)| *value >= column.lower))
        .filter(|point| broken(program, point).is_empty())
        .map(|point| cost(program, &point))
        .min_by(f64::total_cmp)
}

fn least_over_placements(instance: &Instance) -> Option<f64> {
    let problem = instance.problem();
    placements(instance)
        .filter(|placement| violations(&problem, placement).is_empty())
        .map(|placement| evaluate(&problem, &placement).objective)
        .min_by(f64::total_cmp)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn rows_and_costs_agree_with_the_judge(tape in prop::collection::vec(any::<u8>(), 80)) {
        agree(&tiny(&tape, 3, 2))?;
        agree(&tiny(&tape, 2, 3))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_optimum_is_that_of_the_placements(tape in prop::collection::vec(any::<u8>(), 80)) {
        let instance = tiny(&tape, 2, 2);
        let program = LinearProgram::of(&instance.problem());
        let (points, direct) = (least_over_points(&program), least_over_placements(&instance));
        prop_assert_eq!(points.is_some(), direct.is_some());
        if let (Some(points), Some(direct)) = (points, direct) {
            prop_assert!((points - direct).abs() <= 1e-9 * direct.abs(), "{points} and {direct}");
        }
    }
}

/// Request 0 calls f from a, request 1 calls g from b and has waited for 100 of its 180 ms; f is idle on a.
fn printed(objective: Objective) -> LinearProgram {
    let mut requests = vec![request(0, 0, 0, 25.0, 1.0, 400.0), request(1, 1, 1, 25.0, 0.5, 180.0)];
    requests[1].arrival.0 = 900.0;
    LinearProgram::of(&by_hand(objective, requests).problem())
}

#[test]
fn lp_text() {
    expect![[r#"
        Minimize
         objective: + 100 one + 50 x_0_0 + 150 z_0_0 + 90 x_0_1 + 250 z_0_1 + 2000 defer_0 + 45 x_1_0 + 70 z_1_0 + 25 x_1_1 + 120 z_1_1 + 2000 defer_1 + 1000 late_1
        Subject To
         new_0_0: + 1 z_0_0 - 1 x_0_0 <= 0
         new_0_1: + 1 z_0_1 - 1 x_0_1 <= 0
         place_0: + 1 x_0_0 + 1 x_0_1 + 1 defer_0 = 1
         new_1_0: + 1 z_1_0 - 1 x_1_0 <= 0
         new_1_1: + 1 z_1_1 - 1 x_1_1 <= 0
         slo_1: + 45 x_1_0 + 70 z_1_0 + 25 x_1_1 + 120 z_1_1 - 65 late_1 <= 80
         place_1: + 1 x_1_0 + 1 x_1_1 + 1 defer_1 = 1
         cores_0: + 500 x_0_0 + 1000 x_1_0 <= 1000
         memory_0: + 100 x_0_0 + 150 x_1_0 <= 300
         cores_1: + 500 x_0_1 + 1000 x_1_1 <= 2000
         memory_1: + 100 x_0_1 + 150 x_1_1 <= 200
         idle_0_0: + 1 x_0_0 - 1 z_0_0 <= 1
         idle_0_1: + 1 x_0_1 - 1 z_0_1 <= 0
         idle_1_0: + 1 x_1_0 - 1 z_1_0 <= 0
         idle_1_1: + 1 x_1_1 - 1 z_1_1 <= 0
        Bounds
         one = 1
        Binaries
         x_0_0
         z_0_0
         x_0_1
         z_0_1
         defer_0
         x_1_0
         z_1_0
         x_1_1
         z_1_1
         defer_1
         late_1
        End
    "#]]
    .assert_eq(&printed(Objective::ELASTIC).to_lp());
    expect![[r#"
        Minimize
         objective: + 100 one + 50 x_0_0 + 150 z_0_0 + 90 x_0_1 + 250 z_0_1 + 45 x_1_0 + 70 z_1_0 + 25 x_1_1 + 120 z_1_1
        Subject To
         new_0_0: + 1 z_0_0 - 1 x_0_0 <= 0
         new_0_1: + 1 z_0_1 - 1 x_0_1 <= 0
         slo_0: + 50 x_0_0 + 150 z_0_0 + 90 x_0_1 + 250 z_0_1 <= 400
         place_0: + 1 x_0_0 + 1 x_0_1 = 1
         new_1_0: + 1 z_1_0 - 1 x_1_0 <= 0
         new_1_1: + 1 z_1_1 - 1 x_1_1 <= 0
         slo_1: + 45 x_1_0 + 70 z_1_0 + 25 x_1_1 + 120 z_1_1 <= 80
         place_1: + 1 x_1_0 + 1 x_1_1 = 1
         cores_0: + 500 x_0_0 + 1000 x_1_0 <= 1000
         memory_0: + 100 x_0_0 + 150 x_1_0 <= 300
         cores_1: + 500 x_0_1 + 1000 x_1_1 <= 2000
         memory_1: + 100 x_0_1 + 150 x_1_1 <= 200
         idle_0_0: + 1 x_0_0 - 1 z_0_0 <= 1
         idle_0_1: + 1 x_0_1 - 1 z_0_1 <= 0
         idle_1_0: + 1 x_1_0 - 1 z_1_0 <= 0
         idle_1_1: + 1 x_1_1 - 1 z_1_1 <= 0
        Bounds
         one = 1
        Binaries
         x_0_0
         z_0_0
         x_0_1
         z_0_1
         x_1_0
         z_1_0
         x_1_1
         z_1_1
        End
    "#]]
    .assert_eq(&printed(Objective::HARD).to_lp());
}

#[test]
fn mps_text() {
    expect![[r#"
        NAME scale
        ROWS
         N objective
         L new_0_0
         L new_0_1
         E place_0
         L new_1_0
         L new_1_1
         L slo_1
         E place_1
         L cores_0
         L memory_0
         L cores_1
         L memory_1
         L idle_0_0
         L idle_0_1
         L idle_1_0
         L idle_1_1
        COLUMNS
         MARKER 'MARKER' 'INTORG'
         one objective 100
         x_0_0 objective 50
         x_0_0 new_0_0 -1
         x_0_0 place_0 1
         x_0_0 cores_0 500
         x_0_0 memory_0 100
         x_0_0 idle_0_0 1
         z_0_0 objective 150
         z_0_0 new_0_0 1
         z_0_0 idle_0_0 -1
         x_0_1 objective 90
         x_0_1 new_0_1 -1
         x_0_1 place_0 1
         x_0_1 cores_1 500
         x_0_1 memory_1 100
         x_0_1 idle_0_1 1
         z_0_1 objective 250
         z_0_1 new_0_1 1
         z_0_1 idle_0_1 -1
         defer_0 objective 2000
         defer_0 place_0 1
         x_1_0 objective 45
         x_1_0 new_1_0 -1
         x_1_0 slo_1 45
         x_1_0 place_1 1
         x_1_0 cores_0 1000
         x_1_0 memory_0 150
         x_1_0 idle_1_0 1
         z_1_0 objective 70
         z_1_0 new_1_0 1
         z_1_0 slo_1 70
         z_1_0 idle_1_0 -1
         x_1_1 objective 25
         x_1_1 new_1_1 -1
         x_1_1 slo_1 25
         x_1_1 place_1 1
         x_1_1 cores_1 1000
         x_1_1 memory_1 150
         x_1_1 idle_1_1 1
         z_1_1 objective 120
         z_1_1 new_1_1 1
         z_1_1 slo_1 120
         z_1_1 idle_1_1 -1
         defer_1 objective 2000
         defer_1 place_1 1
         late_1 objective 1000
         late_1 slo_1 -65
         MARKER 'MARKER' 'INTEND'
        RHS
         rhs place_0 1
         rhs slo_1 80
         rhs place_1 1
         rhs cores_0 1000
         rhs memory_0 300
         rhs cores_1 2000
         rhs memory_1 200
         rhs idle_0_0 1
        BOUNDS
         FX bnd one 1
         UP bnd x_0_0 1
         UP bnd z_0_0 1
         UP bnd x_0_1 1
         UP bnd z_0_1 1
         UP bnd defer_0 1
         UP bnd x_1_0 1
         UP bnd z_1_0 1
         UP bnd x_1_1 1
         UP bnd z_1_1 1
         UP bnd defer_1 1
         UP bnd late_1 1
        ENDATA
    "#]]
    .assert_eq(&printed(Objective::ELASTIC).to_mps());
}
