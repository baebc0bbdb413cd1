//! What makes a value unfit to be part of a problem: one error type that names the field, the value and what was
//! expected. After validation nothing in this crate can fail.

use thiserror::Error;

/// A value that cannot be part of a problem.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: {value}: expected {expected}")]
pub struct Invalid {
    /// Path of the field, such as `topology.nodes[3].cores`.
    pub field: String,
    /// The offending value as it was given.
    pub value: String,
    /// What would have been right.
    pub expected: &'static str,
}

/// `Ok` if `ok`, else the error.
pub(crate) fn require(
    ok: bool,
    field: impl FnOnce() -> String,
    value: impl ToString,
    expected: &'static str,
) -> Result<(), Invalid> {
    if ok { Ok(()) } else { Err(Invalid { field: field(), value: value.to_string(), expected }) }
}

/// Whether a number is finite and above zero.
pub(crate) fn positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// Whether a number is finite and not negative.
pub(crate) fn not_negative(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}
