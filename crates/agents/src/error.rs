//! What can go wrong when an agent is trained, saved, loaded or put to work.

use scale_model::SolveError;
use scale_sim::SimError;
use thiserror::Error;

/// Why there is no agent.
#[derive(Debug, Error)]
pub enum LearnError {
    /// A value of a configuration makes no sense.
    #[error("{field}: {value}: expected {expected}")]
    Config {
        /// The field, as it stands in the file.
        field: &'static str,
        /// What stands there.
        value: String,
        /// What should.
        expected: &'static str,
    },
    /// The environments do not fit together, or not with the agent.
    #[error("environment {index}: {what}: {found}, expected {expected}")]
    Shape {
        /// Which environment.
        index: usize,
        /// What does not fit.
        what: &'static str,
        /// What it is.
        found: usize,
        /// What it should be.
        expected: usize,
    },
    /// The training days have nothing to learn from.
    #[error("no request of the {days} training days can ever be placed")]
    NothingToDecide {
        /// How many days there are.
        days: usize,
    },
    /// The simulator refused.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// The solver that is imitated has no placement.
    #[error("the teacher: {0}")]
    Teacher(#[from] SolveError),
    /// An environment asks for a decision where no action is valid.
    #[error("environment {index}, after {steps} steps: no action is valid")]
    Closed {
        /// Which environment.
        index: usize,
        /// Environment steps taken.
        steps: u64,
    },
    /// A number is NaN or infinite: the training has diverged, or a reward or an observation was not a number.
    #[error("after {steps} steps: {what} is not a finite number")]
    NotFinite {
        /// What.
        what: &'static str,
        /// Environment steps taken.
        steps: u64,
    },
    /// A checkpoint cannot be used.
    #[error("{path}: {what}")]
    Checkpoint {
        /// The file.
        path: String,
        /// What is wrong with it, in the cause's words where there is one.
        what: String,
        /// The error below, if it is not one of this crate's own checks.
        #[source]
        cause: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

/// Refuses a value of a configuration.
pub(crate) fn require(
    holds: bool,
    field: &'static str,
    value: impl ToString,
    expected: &'static str,
) -> Result<(), LearnError> {
    match holds {
        true => Ok(()),
        false => Err(LearnError::Config { field, value: value.to_string(), expected }),
    }
}
