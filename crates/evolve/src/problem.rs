//! What the black-box search knows of a problem: bounds, integrality, and the value of a point. Small enough to be
//! implemented for problems that have nothing to do with scheduling.

/// A minimisation problem of which nothing is known but its bounds and its values.
///
/// ```
/// use scale_evolve::{Problem, Settings, Value, Variable, minimise};
/// /// Minimise (x - 0.3)^2 + (n - 4)^2 over 0 <= x <= 1 and n in 0..=9, subject to x + n >= 4.6.
/// struct Example([Variable; 2]);
/// impl Problem for Example {
///     fn variables(&self) -> &[Variable] {
///         &self.0
///     }
///     fn evaluate(&mut self, point: &[f64]) -> Value {
///         let [x, n] = [point[0], point[1]];
///         Value { objective: (x - 0.3).powi(2) + (n - 4.0).powi(2), residual: (4.6 - x - n).max(0.0) }
///     }
/// }
/// let mut example = Example([Variable::real(0.0, 1.0), Variable::whole(0, 9)]);
/// let settings =
///     Settings { evaluations: 5_000, seed: scale_model::Seed(1), cancel: None, time_limit: None };
/// let run = minimise(&mut example, &settings);
/// // n = 4, x = 0.6 (0.09) is optimal, n = 5, x = 0.3 (1.0) locally so.
/// let best = run.best.expect("five thousand evaluations find a feasible point");
/// assert!((best.value.objective - 0.09).abs() < 1e-6, "{}", best.value.objective);
/// ```
pub trait Problem {
    /// The variables, in order.
    fn variables(&self) -> &[Variable];

    /// The value of a point, one coordinate a variable, each within its bounds and whole where it must be. The problem
    /// is borrowed mutably so that it may keep its working memory from one evaluation to the next; the value must
    /// depend on the point alone.
    fn evaluate(&mut self, point: &[f64]) -> Value;
}

/// A variable. Made by [`real`](Self::real) and [`whole`](Self::whole), which see to it that it has a value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Variable {
    /// Least value.
    pub lower: f64,
    /// Largest value.
    pub upper: f64,
    /// Whether it takes whole values only.
    pub integer: bool,
}

impl Variable {
    /// A variable that takes every value from `lower` to `upper`.
    ///
    /// # Panics
    /// If the lower bound is above the upper one, or their distance is not a finite number.
    pub fn real(lower: f64, upper: f64) -> Variable {
        Variable::between(lower, upper, false)
    }

    /// A variable that takes the whole values from `lower` to `upper`.
    ///
    /// # Panics
    /// If the lower bound is above the upper one.
    pub fn whole(lower: i32, upper: i32) -> Variable {
        Variable::between(f64::from(lower), f64::from(upper), true)
    }

    fn between(lower: f64, upper: f64, integer: bool) -> Variable {
        let sound = lower <= upper && (upper - lower).is_finite();
        assert!(
            sound,
            "a variable from {lower} to {upper}: expected the lower bound first, and a finite distance"
        );
        Variable { lower, upper, integer }
    }
}

/// The value of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// What is minimised. What is not a number counts as infinite.
    pub objective: f64,
    /// How much the constraints are broken, summed, in the objective's unit; 0 if the point is feasible.
    pub residual: f64,
}

impl Value {
    /// Whether the point breaks no constraint and has an objective.
    pub fn feasible(&self) -> bool {
        self.residual <= 0.0 && self.objective.is_finite()
    }
}
