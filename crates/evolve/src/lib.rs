//! Mixed-integer black-box optimisation, the paper's baseline "Midaco-solver": differential evolution and an ant-colony
//! kernel under the oracle penalty method (Schlueter and Gerdts 2010).
//!
//! The search itself is not here yet. What is here is what it will search: [`Problem`], small enough to be implemented
//! for problems that have nothing to do with scheduling.

/// A minimisation problem of which nothing is known but its bounds and its values.
pub trait Problem {
    /// The variables, in order.
    fn variables(&self) -> &[Variable];

    /// The value of a point, one coordinate a variable, each within its bounds and whole where it must be.
    fn evaluate(&self, point: &[f64]) -> Value;
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variable {
    /// Least value.
    pub lower: f64,
    /// Largest value.
    pub upper: f64,
    /// Whether it takes whole values only.
    pub integer: bool,
}

/// The value of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// What is minimised.
    pub objective: f64,
    /// How much the constraints are broken, summed, in the objective's unit; 0 if the point is feasible.
    pub residual: f64,
}
