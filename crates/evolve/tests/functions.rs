//! The black-box search on problems that have nothing to do with scheduling, with known optima.

use scale_evolve::{Problem, Run, Settings, Value, Variable, minimise};
use scale_model::{Seed, Stop};
use std::f64::consts::{E, TAU};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A problem from a function.
struct Test<F> {
    variables: Vec<Variable>,
    value: F,
    calls: u64,
}

impl<F: FnMut(&[f64]) -> (f64, f64)> Problem for Test<F> {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn evaluate(&mut self, point: &[f64]) -> Value {
        self.calls += 1;
        assert_eq!(point.len(), self.variables.len());
        for (&x, variable) in point.iter().zip(&self.variables) {
            assert!((variable.lower..=variable.upper).contains(&x), "{x} is out of {variable:?}");
            assert!(!variable.integer || x == x.round(), "{x} is not whole");
        }
        let (objective, residual) = (self.value)(point);
        Value { objective, residual }
    }
}

fn run(
    variables: Vec<Variable>,
    evaluations: u64,
    seed: u64,
    value: impl FnMut(&[f64]) -> (f64, f64) + Send,
) -> Run {
    let mut test = Test { variables, value, calls: 0 };
    let run =
        minimise(&mut test, &Settings { evaluations, seed: Seed(seed), cancel: None, time_limit: None });
    assert_eq!(run.evaluations, test.calls, "every call is counted");
    assert!(run.evaluations <= evaluations);
    for pair in run.trace.windows(2) {
        let [before, after] = [pair[0], pair[1]];
        assert!(before.evaluations < after.evaluations);
        let (was, is) = (before.value.residual, after.value.residual);
        assert!(after.value.feasible() || was.is_nan() || is < was);
        assert!(!before.value.feasible() || after.value.objective < before.value.objective);
    }
    // As text, since what is no number differs from itself.
    let text = |value: Option<Value>| format!("{value:?}");
    assert_eq!(text(run.trace.last().map(|step| step.value)), text(run.best.as_ref().map(|best| best.value)));
    run
}

/// Reaches the optimum within a tolerance, from each of three seeds.
fn check(
    name: &str,
    variables: &[Variable],
    evaluations: u64,
    optimum: f64,
    tolerance: f64,
    value: impl Fn(&[f64]) -> (f64, f64) + Sync,
) {
    for seed in 1..=3 {
        let run = run(variables.to_vec(), evaluations, seed, &value);
        let best = run.best.expect("at least one evaluation");
        assert!(best.value.feasible(), "{name}: residual {}", best.value.residual);
        let gap = best.value.objective - optimum;
        assert!(gap.abs() <= tolerance, "{name}, seed {seed}: {} for {optimum}", best.value.objective);
    }
}

fn reals(count: usize, lower: f64, upper: f64) -> Vec<Variable> {
    vec![Variable::real(lower, upper); count]
}

/// What a constraint g <= 0 adds to the residual.
fn broken(g: f64) -> f64 {
    g.max(0.0)
}

#[test]
fn smooth_and_rugged_functions() {
    check("sphere", &reals(10, -5.0, 5.0), 50_000, 0.0, 1e-8, |x| (x.iter().map(|x| x * x).sum(), 0.0));
    check("rosenbrock", &reals(5, -5.0, 5.0), 100_000, 0.0, 1e-6, |x| {
        let term = |w: &[f64]| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2);
        (x.windows(2).map(term).sum(), 0.0)
    });
    check("rastrigin", &reals(10, -5.12, 5.12), 100_000, 0.0, 1e-6, |x| {
        (x.iter().map(|x| x * x - 10.0 * (TAU * x).cos() + 10.0).sum(), 0.0)
    });
    check("ackley", &reals(10, -32.0, 32.0), 100_000, 0.0, 1e-6, |x| {
        let n = x.len() as f64;
        let squares = x.iter().map(|x| x * x).sum::<f64>() / n;
        let cosines = x.iter().map(|x| (TAU * x).cos()).sum::<f64>() / n;
        (-20.0 * (-0.2 * squares.sqrt()).exp() - cosines.exp() + 20.0 + E, 0.0)
    });
    // Hard for this search: in 200,000 evaluations it restarts some twenty times and ends in one of the lowest local
    // minima (0.0074, 0.0099, 0.0197 and so on), rarely in the global one.
    check("griewank", &reals(10, -600.0, 600.0), 200_000, 0.0, 6e-2, |x| {
        let sum = x.iter().map(|x| x * x / 4000.0).sum::<f64>();
        let product: f64 = x.iter().enumerate().map(|(i, x)| (x / (i as f64 + 1.0).sqrt()).cos()).product();
        (sum - product + 1.0, 0.0)
    });
}

#[test]
fn real_functions_with_constraints() {
    // Hock and Schittkowski 71: 17.0140173 at (1, 4.743, 3.821, 1.379).
    check("hs71", &reals(4, 1.0, 5.0), 100_000, 17.014_017_3, 0.02, |x| {
        let objective = x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2];
        let product = broken(25.0 - x.iter().product::<f64>());
        let norm = broken((x.iter().map(|x| x * x).sum::<f64>() - 40.0).abs() - 1e-4);
        (objective, product + norm)
    });
    // g06 of the CEC constrained benchmarks: -6961.81388 in a sliver.
    let bounds = [Variable::real(13.0, 100.0), Variable::real(0.0, 100.0)];
    check("g06", &bounds, 50_000, -6_961.813_88, 0.1, |x| {
        let objective = (x[0] - 10.0).powi(3) + (x[1] - 20.0).powi(3);
        let one = broken(100.0 - (x[0] - 5.0).powi(2) - (x[1] - 5.0).powi(2));
        let two = broken((x[0] - 6.0).powi(2) + (x[1] - 5.0).powi(2) - 82.81);
        (objective, one + two)
    });
    // g08: -0.095825 at (1.2279713, 4.2453733).
    check("g08", &reals(2, 0.0, 10.0), 20_000, -0.095_825_04, 1e-6, |x| {
        let objective =
            -(TAU * x[0]).sin().powi(3) * (TAU * x[1]).sin() / (x[0].powi(3) * (x[0] + x[1])).max(1e-12);
        (objective, broken(x[0] * x[0] - x[1] + 1.0) + broken(1.0 - x[0] + (x[1] - 4.0).powi(2)))
    });
}

#[test]
fn mixed_integer_problems_of_the_literature() {
    // Floudas (1995), problem 12.2.1 in the form of Kocis and Grossmann (1988): 2 at x = 0.5, y = 1.
    let variables = [Variable::real(0.0, 1.6), Variable::whole(0, 1)];
    check("kocis", &variables, 20_000, 2.0, 1e-4, |v| {
        let [x, y] = [v[0], v[1]];
        (2.0 * x + y, broken(1.25 - x * x - y) + broken(x + y - 1.6))
    });
    // Floudas (1995): 1.076543 at x = 0.94194, y = 1, with log constraint.
    let variables = [Variable::real(0.2, 1.0), Variable::real(-2.22554, -1.0), Variable::whole(0, 1)];
    check("floudas", &variables, 20_000, 1.076_543, 1e-4, |v| {
        let [x1, x2, y] = [v[0], v[1], v[2]];
        let objective = 5.0 * (x1 - 0.5).powi(2) + 0.8 - 0.7 * y;
        (objective, broken(-(x1 - 0.2).exp() - x2) + broken(x2 + 1.1 * y + 1.0) + broken(x1 - 1.2 * y - 0.2))
    });
    // Yuan, Zhang, Pibouleau, Domenech (1988): 4.579582 at x = (0.2, 0.8, 1.907878), y = (1, 1, 0, 1).
    let mut variables = vec![Variable::real(0.0, 1.2), Variable::real(0.0, 1.8), Variable::real(0.0, 2.5)];
    variables.extend([Variable::whole(0, 1); 4]);
    check("yuan", &variables, 60_000, 4.579_582, 1e-2, |v| {
        let [x1, x2, x3, y1, y2, y3, y4] = [v[0], v[1], v[2], v[3], v[4], v[5], v[6]];
        let objective = (y1 - 1.0).powi(2) + (y2 - 2.0).powi(2) + (y3 - 1.0).powi(2) - (y4 + 1.0).ln()
            + (x1 - 1.0).powi(2)
            + (x2 - 2.0).powi(2)
            + (x3 - 3.0).powi(2);
        let residual = broken(y1 + y2 + y3 + x1 + x2 + x3 - 5.0)
            + broken(y3 * y3 + x1 * x1 + x2 * x2 + x3 * x3 - 5.5)
            + broken(y1 + x1 - 1.2)
            + broken(y2 + x2 - 1.8)
            + broken(y3 + x3 - 2.5)
            + broken(y4 + x1 - 1.2)
            + broken(y2 * y2 + x2 * x2 - 1.64)
            + broken(y3 * y3 + x3 * x3 - 4.25)
            + broken(y2 * y2 + x3 * x3 - 4.64);
        (objective, residual)
    });
    // Sandgren (1990), gear train: 2.70085715e-12 with teeth (16, 19, 43, 49).
    check("gears", &[Variable::whole(12, 60); 4], 100_000, 0.0, 3e-9, |t| {
        ((1.0 / 6.931 - t[0] * t[1] / (t[2] * t[3])).powi(2), 0.0)
    });
}

#[test]
fn knapsacks() {
    // P07 of Burkardt's collection: 15 items, capacity 750, optimum 1458.
    let profits = [
        135.0, 139.0, 149.0, 150.0, 156.0, 163.0, 173.0, 184.0, 192.0, 201.0, 210.0, 214.0, 221.0, 229.0,
        240.0,
    ];
    let weights =
        [70.0, 73.0, 77.0, 80.0, 82.0, 87.0, 90.0, 94.0, 98.0, 106.0, 110.0, 113.0, 115.0, 118.0, 120.0];
    check("p07", &[Variable::whole(0, 1); 15], 50_000, -1458.0, 1e-9, |x| {
        let dot = |row: &[f64]| row.iter().zip(x).map(|(a, b)| a * b).sum::<f64>();
        (-dot(&profits), broken(dot(&weights) - 750.0))
    });
    // Bounded: each of 40 equal-ratio items up to 9 times; a capacity that every whole number can fill.
    check("bounded", &[Variable::whole(0, 9); 40], 100_000, -500.0, 1e-9, |x| {
        let weight: f64 = x.iter().enumerate().map(|(i, x)| (1.0 + (i % 7) as f64) * x).sum();
        (-weight, broken(weight - 500.0))
    });
}

#[test]
fn edges() {
    // Nothing to decide.
    let nothing = run(Vec::new(), 10, 1, |_| (3.0, 0.0));
    assert_eq!((nothing.evaluations, nothing.stop), (1, Stop::Finished));
    // Fixed variables.
    let fixed = run(vec![Variable::whole(2, 2); 3], 10, 1, |x| (x.iter().sum(), 0.0));
    assert_eq!(fixed.best.map(|best| best.value.objective), Some(6.0));
    // No budget, and budgets that end within the first population.
    assert_eq!(run(reals(2, 0.0, 1.0), 0, 1, |_| (0.0, 0.0)).best, None);
    for evaluations in 1..30 {
        assert_eq!(run(reals(2, 0.0, 1.0), evaluations, 1, |x| (x[0], 0.0)).evaluations, evaluations);
    }
    // Infeasible: the least residual.
    let infeasible = run(reals(2, 0.0, 1.0), 5_000, 1, |x| (0.0, 1.0 + x[0] + x[1]));
    let best = infeasible.best.expect("evaluated");
    assert!(!best.value.feasible() && best.value.residual < 1.0 + 1e-6);
    // What is no number is never the best, nor is what is infinite.
    let holes = run(reals(2, -1.0, 1.0), 5_000, 1, |x| {
        let objective = if x[0] < 0.0 {
            f64::NAN
        } else if x[1] < 0.0 {
            f64::NEG_INFINITY
        } else {
            x[0] + x[1]
        };
        (objective, 0.0)
    });
    let best = holes.best.expect("evaluated");
    assert!(best.value.feasible() && best.value.objective < 1e-6, "{best:?}");
    let nowhere = run(reals(2, -1.0, 1.0), 1_000, 1, |_| (f64::NAN, f64::NAN));
    assert!(!nowhere.best.expect("evaluated").value.feasible());
    // Nor does it hold the place of an infeasible number.
    let mut first = true;
    let late = run(reals(1, 0.0, 1.0), 100, 1, |x| {
        let value = if first { (f64::NAN, f64::NAN) } else { (x[0], 1.0 + x[0]) };
        first = false;
        value
    });
    assert!(late.best.expect("evaluated").value.residual.is_finite());
    // A flat function restarts and stops.
    assert!(run(reals(2, 0.0, 1.0), 10_000, 1, |_| (1.0, 0.0)).restarts > 0);
}

/// A variable without a value is refused where it is made.
#[test]
fn bounds_that_hold_no_value_are_refused() {
    let check = |text: &str, make: fn() -> Variable| {
        let refused = std::panic::catch_unwind(make).expect_err("it has no value");
        let message = refused.downcast_ref::<String>().expect("a message");
        assert!(message.contains(text), "{message}");
    };
    check("a variable from 5 to 3: expected the lower bound first", || Variable::whole(5, 3));
    check("a variable from 1 to 0.5: expected", || Variable::real(1.0, 0.5));
    check("from NaN to 1", || Variable::real(f64::NAN, 1.0));
    check("from 0 to NaN", || Variable::real(0.0, f64::NAN));
    check("from 0 to inf", || Variable::real(0.0, f64::INFINITY));
    check("from -inf to inf", || Variable::real(f64::NEG_INFINITY, f64::INFINITY));
    check("a finite distance", || Variable::real(f64::MIN, f64::MAX));
    let widest = [Variable::whole(i32::MIN, i32::MAX), Variable::whole(7, 7), Variable::real(0.5, 0.5)];
    let best = run(widest.to_vec(), 2_000, 1, |x| (x[0].abs(), 0.0)).best.expect("evaluated");
    assert!(best.value.objective < 1e9, "{best:?}");
}

#[test]
fn same_seed_same_answer() {
    let once = |seed| run(reals(6, -5.0, 5.0), 5_000, seed, |x| (x.iter().map(|x| x * x).sum(), 0.0));
    assert_eq!(once(3), once(3));
    assert_ne!(once(3), once(4));
}

#[test]
fn cancelled() {
    let cancel = Arc::new(AtomicBool::new(false));
    let mut calls = 0;
    let flag = cancel.clone();
    let mut test = Test {
        variables: reals(3, 0.0, 1.0),
        value: move |x: &[f64]| {
            calls += 1;
            flag.store(calls == 777, std::sync::atomic::Ordering::Relaxed);
            (x[0], 0.0)
        },
        calls: 0,
    };
    let run = minimise(
        &mut test,
        &Settings { evaluations: 1_000_000, seed: Seed(1), cancel: Some(cancel), time_limit: None },
    );
    assert_eq!((run.evaluations, run.stop), (777, Stop::Cancelled));
    assert!(run.best.is_some());
}
