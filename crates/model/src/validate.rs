//! What makes a value unfit to be part of a problem: one error type that names the field, the value and what was
//! expected. After validation nothing in this crate can fail.

use thiserror::Error;

/// A value that cannot be part of a problem.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: {value}: expected {expected}")]
pub struct Invalid {
    /// Path of the field, such as `topology.nodes[3].cores`.
    pub field: String,
    /// The offending value as it was given, and what one must know to see why it is wrong: `3 (there are 3, from 0)`.
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

/// `Ok` if `id` is the index of one of `count` things.
pub(crate) fn require_known(
    id: u32,
    count: usize,
    field: impl FnOnce() -> String,
    expected: &'static str,
) -> Result<(), Invalid> {
    let value = match count {
        0 => format!("{id} (there are none)"),
        1 => format!("{id} (there is only 0)"),
        _ => format!("{id} (there are {count}, from 0)"),
    };
    require((id as usize) < count, field, value, expected)
}

/// Whether a number is finite and above zero.
pub(crate) fn positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// Whether a number is finite and not negative.
pub(crate) fn not_negative(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}
