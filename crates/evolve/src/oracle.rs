//! The extended oracle penalty function of Schlueter and Gerdts, "The oracle penalty method", Journal of Global
//! Optimization 47 (2010), 293-325: one parameter, Omega, a guess of the feasible optimum.
//!
//! With d = |f - Omega| and the residual res (an L1 norm here, as in MIDACO):
//!
//! ```text
//! p = alpha d + (1 - alpha) res        if f > Omega or res > 0
//!   = -d                               else
//! alpha = (d (6 sqrt3 - 2) / (6 sqrt3) - res) / (d - res)   if f > Omega and res < d / 3
//!       = 1 - 1 / (2 sqrt(d / res))                         if f > Omega and d / 3 <= res <= d
//!       = sqrt(d / res) / 2                                 if f > Omega and res > d
//!       = 0                                                 if f <= Omega
//! ```
//!
//! Objective and residual meet on one scale, so a residual must be given in the objective's unit.
//!
//! The update rule of the paper, Omega <- f of the best feasible point if that is below Omega, stands in
//! [`Oracle::update`]. The paper applies it between runs; pagmo's gaco and this crate apply it whenever the best
//! improves, and then score again whatever is still to be compared.

use crate::problem::Value;

/// Omega: what the optimum is believed to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oracle {
    /// The belief.
    pub omega: f64,
}

impl Oracle {
    /// No belief: so large that feasibility comes first, as the paper advises for a first run (10^9).
    pub const UNKNOWN: Oracle = Oracle { omega: 1e9 };

    /// The penalty p of a value: the lower the better. Infinite if the value is not made of finite numbers.
    ///
    /// ```
    /// use scale_evolve::{Oracle, Value};
    /// let oracle = Oracle { omega: 100.0 };
    /// // Feasible and below the oracle: the distance, negative.
    /// assert_eq!(oracle.penalty(Value { objective: 90.0, residual: 0.0 }), -10.0);
    /// // Infeasible and below the oracle: only the residual counts.
    /// assert_eq!(oracle.penalty(Value { objective: 90.0, residual: 7.0 }), 7.0);
    /// ```
    #[inline]
    pub fn penalty(&self, value: Value) -> f64 {
        let Value { objective, residual } = value;
        if !objective.is_finite() || !residual.is_finite() {
            return f64::INFINITY;
        }
        let residual = residual.max(0.0);
        let distance = (objective - self.omega).abs();
        if objective <= self.omega {
            return if residual > 0.0 { residual } else { -distance };
        }
        // From here on d > 0.
        let alpha = if residual < distance / 3.0 {
            // (6 sqrt3 - 2) / (6 sqrt3), the largest alpha.
            let largest = 1.0 - 1.0 / (3.0 * 3.0_f64.sqrt());
            (distance * largest - residual) / (distance - residual)
        } else if residual <= distance {
            1.0 - 0.5 / (distance / residual).sqrt()
        } else {
            0.5 * (distance / residual).sqrt()
        };
        alpha * distance + (1.0 - alpha) * residual
    }

    /// Learns of a point: if it is feasible and below the belief, its objective is the new belief. Says whether it was;
    /// penalties worked out before are then out of date.
    pub fn update(&mut self, value: Value) -> bool {
        let better = value.feasible() && value.objective < self.omega;
        if better {
            self.omega = value.objective;
        }
        better
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn penalty(omega: f64, objective: f64, residual: f64) -> f64 {
        Oracle { omega }.penalty(Value { objective, residual })
    }

    fn close(left: f64, right: f64) {
        assert!((left - right).abs() <= 1e-9 * (1.0 + right.abs()), "{left} is not {right}");
    }

    #[test]
    fn closed_forms() {
        let sqrt3 = 3.0_f64.sqrt();
        // At or below the oracle.
        close(penalty(10.0, 10.0, 0.0), 0.0);
        close(penalty(10.0, 4.0, 0.0), -6.0);
        close(penalty(10.0, 10.0, 5.0), 5.0);
        close(penalty(10.0, -1e6, 5.0), 5.0);
        // Above it and feasible: alpha d.
        close(penalty(10.0, 16.0, 0.0), 6.0 * (6.0 * sqrt3 - 2.0) / (6.0 * sqrt3));
        // res < d / 3: alpha = (6 * 0.80755 - 1) / 5.
        let alpha = (6.0 * (6.0 * sqrt3 - 2.0) / (6.0 * sqrt3) - 1.0) / 5.0;
        close(penalty(10.0, 16.0, 1.0), alpha * 6.0 + (1.0 - alpha));
        // d / 3 <= res <= d, d = 8, res = 4... alpha = 1 - 1 / (2 sqrt 2).
        let alpha = 1.0 - 1.0 / (2.0 * 2.0_f64.sqrt());
        close(penalty(0.0, 8.0, 4.0), alpha * 8.0 + (1.0 - alpha) * 4.0);
        // res > d, d = 1, res = 4: alpha = 1 / 4.
        close(penalty(0.0, 1.0, 4.0), 0.25 + 3.0);
    }

    #[test]
    fn continuous_at_the_borders_of_the_cases() {
        for distance in [1e-3, 1.0, 7.5, 1e6] {
            for border in [distance / 3.0, distance] {
                let below = penalty(-2.0, distance - 2.0, border * (1.0 - 1e-9));
                let above = penalty(-2.0, distance - 2.0, border * (1.0 + 1e-9));
                assert!((below - above).abs() <= 1e-7 * distance, "{distance} {border}: {below} {above}");
            }
            // From above the oracle down to it, feasible: alpha d goes to zero.
            assert!(penalty(0.0, distance * 1e-12, 0.0).abs() <= distance * 1e-11);
            // The same, infeasible: the residual is left, at the speed of a square root.
            let left = penalty(0.0, distance * 1e-12, distance);
            assert!((left - distance).abs() <= 1e-6 * distance, "{left}");
        }
    }

    #[test]
    fn grows_with_the_residual_above_res_of_d_and_with_the_objective_when_feasible() {
        let mut last = f64::NEG_INFINITY;
        for step in -50..50 {
            let now = penalty(0.0, f64::from(step), 0.0);
            assert!(now > last);
            last = now;
        }
        for step in 10..100 {
            assert!(penalty(0.0, 10.0, f64::from(step)) < penalty(0.0, 10.0, f64::from(step + 1)));
        }
    }

    #[test]
    fn what_is_no_number_is_worst() {
        for (objective, residual) in
            [(f64::NAN, 0.0), (f64::INFINITY, 0.0), (1.0, f64::NAN), (1.0, f64::INFINITY)]
        {
            assert_eq!(penalty(0.0, objective, residual), f64::INFINITY);
        }
    }

    #[test]
    fn the_oracle_learns_from_feasible_points_only() {
        let mut oracle = Oracle::UNKNOWN;
        assert!(!oracle.update(Value { objective: 5.0, residual: 1e-9 }));
        assert!(!oracle.update(Value { objective: f64::NAN, residual: 0.0 }));
        assert!(oracle.update(Value { objective: 5.0, residual: 0.0 }));
        assert!(!oracle.update(Value { objective: 5.0, residual: 0.0 }));
        assert_eq!(oracle.omega, 5.0);
    }
}
