//! What can go wrong: a file that cannot be read, a cell that makes no sense, a spec that makes no sense.

use scale_model::Invalid;
use std::path::PathBuf;
use thiserror::Error;

/// Why there is no topology.
#[derive(Debug, Error)]
pub enum TopologyError {
    /// The file cannot be opened or read.
    #[error("{}: cannot be read: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A place in a file holds something else than it should.
    #[error("{}:{line}:{column}: {field}: {value:?}: expected {expected}", file.display())]
    Cell {
        /// The file.
        file: PathBuf,
        /// Line, from 1.
        line: u64,
        /// From 1: of a CSV the number of the cell in its line, of GeoJSON and GraphML that of the character.
        column: usize,
        /// Name of the column, or what is missing.
        field: String,
        /// What stands there.
        value: String,
        /// What would have been right.
        expected: String,
    },
    /// A field of a spec, or of the topology made from it, makes no sense.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}
