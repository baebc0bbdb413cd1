//! What can be wrong with a trace or a specification: one error type for the crate, which names the file, the line,
//! the column, the field, the value and what was expected.

use scale_model::Invalid;
use std::path::PathBuf;
use thiserror::Error;

/// Why there is no workload.
#[derive(Debug, Error)]
pub enum WorkloadError {
    /// A file or folder that cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A field that is not what its column promises.
    #[error("{}:{line}:{column}: {field}: {value:?}: expected {expected}", file.display())]
    Cell {
        /// The file.
        file: PathBuf,
        /// Line in the file, from 1.
        line: u64,
        /// Number of the field in its line, from 1.
        column: usize,
        /// Name of the column, or "header".
        field: String,
        /// The field as it stands in the file.
        value: String,
        /// What would have been right.
        expected: String,
    },
    /// A file that is wrong as a whole: it is empty, has too few rows or a name that says something else.
    #[error("{}: {found}: expected {expected}", file.display())]
    File {
        /// The file or folder.
        file: PathBuf,
        /// What was found.
        found: String,
        /// What would have been right.
        expected: String,
    },
    /// A day that is not there.
    #[error("{place}: no day {wanted}; there are the days {available}")]
    MissingDay {
        /// Where it was looked for.
        place: String,
        /// The day that was asked for.
        wanted: u32,
        /// The days that exist, as ranges: `0-18, 28-60`.
        available: String,
    },
    /// A value of a specification that makes no sense.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// `Ok` if `ok`, else [`WorkloadError::Invalid`].
pub(crate) fn require(
    ok: bool,
    field: impl Into<String>,
    value: impl ToString,
    expected: &'static str,
) -> Result<(), WorkloadError> {
    if ok { Ok(()) } else { Err(Invalid { field: field.into(), value: value.to_string(), expected }.into()) }
}

/// Days as people write them: `0-18, 28-60`, or `none`.
pub(crate) fn ranges(days: impl Iterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for day in days {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(day) => *last = day,
            _ => runs.push((day, day)),
        }
    }
    let text = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    if runs.is_empty() { "none".into() } else { runs.iter().map(text).collect::<Vec<_>>().join(", ") }
}
