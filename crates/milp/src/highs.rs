//! A model in MPS format, solved by HiGHS; and what HiGHS can be told and can answer.

use std::ffi::CString;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use highs_sys as ffi;
use highs_sys::HighsInt;
use thiserror::Error;

use crate::raw::Highs;

/// How HiGHS searches. It always uses one thread and prints nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct HighsOptions {
    /// Seed of its tie-breaking, at most 2^31 - 1.
    pub random_seed: u32,
    /// Stop when |objective - bound| / |objective| is at most this. Zero where optimality is claimed: the default of
    /// HiGHS, 1e-4, says "optimal" for less.
    pub mip_rel_gap: f64,
    /// Nodes of the branch-and-bound tree after which to stop; `None` for no limit.
    pub node_limit: Option<u32>,
    /// Wall time after which to stop; `None` for no limit. HiGHS looks at the clock now and then, so it can overrun.
    pub time_limit: Option<Duration>,
}

/// Why there is no result.
#[derive(Debug, Error)]
pub enum MilpError {
    /// HiGHS reads models from files only, and the file could not be written.
    #[error("cannot write the model to {path}: {source}")]
    TemporaryFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The folder for temporary files has a name that C cannot take.
    #[error("HiGHS cannot read files below {path}: the path must be UTF-8 without a NUL")]
    TemporaryPath {
        /// The file.
        path: PathBuf,
    },
    /// HiGHS would overrun its own buffers with such a name.
    #[error("the model has a name of {length} bytes ({start}...): expected at most {NAME_LIMIT}")]
    NameTooLong {
        /// Its length.
        length: usize,
        /// How it begins.
        start: String,
    },
    /// HiGHS does not take the text for a model in MPS format, or only with a repair of its own.
    #[error("HiGHS cannot read the model as MPS")]
    NotAModel,
    /// A coefficient, side or bound is NaN (a name may not be either).
    #[error("the model has a NaN: expected a number")]
    NotANumber,
    /// HiGHS refuses the value of an option.
    #[error("HiGHS refuses the option {name} = {value}")]
    Option {
        /// Its name in HiGHS.
        name: &'static str,
        /// The value.
        value: String,
    },
    /// HiGHS could not be created, or a call that has no reason to fail has failed.
    #[error("HiGHS failed in {call}")]
    Failed {
        /// The function of its C interface.
        call: &'static str,
    },
}

/// What HiGHS says of a model after a run, one to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelStatus {
    /// Nothing has been set.
    NotSet,
    /// The model was not loaded.
    LoadError,
    /// The model is in error.
    ModelError,
    /// The presolve failed.
    PresolveError,
    /// The solver failed.
    SolveError,
    /// The postsolve failed.
    PostsolveError,
    /// The model has no columns.
    ModelEmpty,
    /// Optimal within the gap that was asked for.
    Optimal,
    /// No assignment keeps all constraints.
    Infeasible,
    /// One of the two, not known which.
    UnboundedOrInfeasible,
    /// The objective has no limit.
    Unbounded,
    /// The bound on the objective was reached.
    ObjectiveBound,
    /// The target of the objective was reached.
    ObjectiveTarget,
    /// Out of time.
    TimeLimit,
    /// Out of iterations.
    IterationLimit,
    /// HiGHS does not know.
    Unknown,
    /// Out of solutions; this is also the answer when it is out of nodes.
    SolutionLimit,
    /// Stopped by the user.
    Interrupt,
    /// Out of memory.
    MemoryLimit,
    /// Stopped by HiGHS itself.
    HighsInterrupt,
    /// A status that this version of HiGHS did not have when the list was made.
    Other(i32),
}

impl ModelStatus {
    pub(crate) fn of(code: HighsInt) -> ModelStatus {
        match code {
            ffi::MODEL_STATUS_NOTSET => ModelStatus::NotSet,
            ffi::MODEL_STATUS_LOAD_ERROR => ModelStatus::LoadError,
            ffi::MODEL_STATUS_MODEL_ERROR => ModelStatus::ModelError,
            ffi::MODEL_STATUS_PRESOLVE_ERROR => ModelStatus::PresolveError,
            ffi::MODEL_STATUS_SOLVE_ERROR => ModelStatus::SolveError,
            ffi::MODEL_STATUS_POSTSOLVE_ERROR => ModelStatus::PostsolveError,
            ffi::MODEL_STATUS_MODEL_EMPTY => ModelStatus::ModelEmpty,
            ffi::MODEL_STATUS_OPTIMAL => ModelStatus::Optimal,
            ffi::MODEL_STATUS_INFEASIBLE => ModelStatus::Infeasible,
            ffi::MODEL_STATUS_UNBOUNDED_OR_INFEASIBLE => ModelStatus::UnboundedOrInfeasible,
            ffi::MODEL_STATUS_UNBOUNDED => ModelStatus::Unbounded,
            ffi::MODEL_STATUS_OBJECTIVE_BOUND => ModelStatus::ObjectiveBound,
            ffi::MODEL_STATUS_OBJECTIVE_TARGET => ModelStatus::ObjectiveTarget,
            ffi::MODEL_STATUS_REACHED_TIME_LIMIT => ModelStatus::TimeLimit,
            ffi::MODEL_STATUS_REACHED_ITERATION_LIMIT => ModelStatus::IterationLimit,
            ffi::MODEL_STATUS_UNKNOWN => ModelStatus::Unknown,
            ffi::MODEL_STATUS_REACHED_SOLUTION_LIMIT => ModelStatus::SolutionLimit,
            ffi::MODEL_STATUS_REACHED_INTERRUPT => ModelStatus::Interrupt,
            ffi::MODEL_STATUS_REACHED_MEMORY_LIMIT => ModelStatus::MemoryLimit,
            ffi::MODEL_STATUS_HIGHS_INTERRUPT => ModelStatus::HighsInterrupt,
            other => ModelStatus::Other(other),
        }
    }
}

/// What a run has found and proved.
#[derive(Clone, Debug, PartialEq)]
pub struct MpsSolution {
    /// How it ended.
    pub status: ModelStatus,
    /// The best assignment that keeps all constraints, if one was found.
    pub incumbent: Option<Incumbent>,
    /// What the branch-and-bound tree proves; `None` for a model without integer columns.
    pub search: Option<Search>,
}

/// An assignment that keeps all constraints within HiGHS's tolerances (1e-6).
#[derive(Clone, Debug, PartialEq)]
pub struct Incumbent {
    /// Its objective.
    pub objective: f64,
    /// The value of every column, in the order of the model.
    pub columns: Vec<ColumnValue>,
}

/// The value of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnValue {
    /// The column's name in the model.
    pub name: String,
    /// Its value.
    pub value: f64,
}

/// How far a branch-and-bound search came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// No assignment has a better objective than this. Infinite while nothing is proved.
    pub bound: f64,
    /// |objective - bound| / |objective|, infinite without an incumbent.
    pub gap: f64,
    /// Nodes of the tree that were solved.
    pub nodes: u64,
}

/// The longest name that is passed on. HiGHS copies names into a buffer of 512 bytes and does not look.
pub(crate) const NAME_LIMIT: usize = 255;

/// Solves a model in (free or fixed) MPS format: an LP, or a MIP.
///
/// A model that is infeasible, or a run that stops early, is a result; see [`MpsSolution::status`]. May be called from
/// several threads at once.
///
/// HiGHS is a lenient reader: without a word it drops an entry of a row that is not in `ROWS`, and adds a column for a
/// bound on one that is not in `COLUMNS`. So the text should come from a program.
///
/// # Errors
/// See [`MilpError`].
///
/// ```
/// use scale_milp::{HighsOptions, ModelStatus, solve_mps};
///
/// // A knapsack of 10 kg: a (5 kg, worth 60), b (4 kg, 40), c (6 kg, 70). By hand: {a, b} weighs 9 and is worth 100,
/// // {b, c} weighs 10 and is worth 110, {a, c} weighs 11. So b and c; HiGHS minimises the negative.
/// let text = "\
/// NAME knapsack
/// ROWS
///  N worth
///  L weight
/// COLUMNS
///  MARKER 'MARKER' 'INTORG'
///  a worth -60 weight 5
///  b worth -40 weight 4
///  c worth -70 weight 6
///  MARKER 'MARKER' 'INTEND'
/// RHS
///  rhs weight 10
/// BOUNDS
///  UP bnd a 1
///  UP bnd b 1
///  UP bnd c 1
/// ENDATA
/// ";
/// let options = HighsOptions { random_seed: 1, mip_rel_gap: 0.0, node_limit: None, time_limit: None };
/// let solution = solve_mps(text, &options)?;
/// assert_eq!(solution.status, ModelStatus::Optimal);
///
/// let incumbent = solution.incumbent.expect("it is optimal");
/// assert_eq!(incumbent.objective.round(), -110.0);
/// let taken: Vec<&str> =
///     incumbent.columns.iter().filter(|column| column.value > 0.5).map(|column| column.name.as_str()).collect();
/// assert_eq!(taken, ["b", "c"]);
/// assert_eq!(solution.search.expect("it has integer columns").bound.round(), -110.0);
/// # Ok::<(), scale_milp::MilpError>(())
/// ```
pub fn solve_mps(text: &str, options: &HighsOptions) -> Result<MpsSolution, MilpError> {
    refuse_traps(text)?;
    let mut highs = Highs::new()?;
    highs.set(options)?;
    let file = TemporaryFile::with(text)?;
    let path = file.path.to_str().and_then(|path| CString::new(path).ok());
    highs.read(&path.ok_or_else(|| MilpError::TemporaryPath { path: file.path.clone() })?)?;
    highs.run()?;

    let status = highs.status();
    let nodes = highs.int64_info(c"mip_node_count")?;
    let search = match u64::try_from(nodes) {
        Ok(nodes) => Some(Search {
            bound: highs.double_info(c"mip_dual_bound")?,
            gap: highs.double_info(c"mip_gap")?,
            nodes,
        }),
        // -1: it was no MIP.
        Err(_) => None,
    };
    let incumbent = if highs.has_solution()? { Some(highs.incumbent()?) } else { None };
    Ok(MpsSolution { status, incumbent, search })
}

/// Refuses what HiGHS takes without a word, and to its ruin.
///
/// In free MPS a name is a word, in fixed MPS it has at most eight characters; so no name is longer than a word.
fn refuse_traps(text: &str) -> Result<(), MilpError> {
    for word in text.split_ascii_whitespace() {
        if word.len() > NAME_LIMIT {
            let start = word.chars().take(20).collect();
            return Err(MilpError::NameTooLong { length: word.len(), start });
        }
        // With such a coefficient HiGHS answers "optimal", and the objective is NaN.
        if word.trim_start_matches(['+', '-']).eq_ignore_ascii_case("nan") {
            return Err(MilpError::NotANumber);
        }
    }
    Ok(())
}

/// A model file, removed at the end.
struct TemporaryFile {
    path: PathBuf,
}

impl TemporaryFile {
    fn with(text: &str) -> Result<TemporaryFile, MilpError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let folder = std::env::temp_dir();
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            // HiGHS tells the format by the ending.
            let path = folder.join(format!("scale-milp-{}-{number}.mps", std::process::id()));
            match write_new(&path, text) {
                Ok(()) => return Ok(TemporaryFile { path }),
                // Someone else's, which must not be overwritten: take the next number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(source) => return Err(MilpError::TemporaryFile { path, source }),
            }
        }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // A file that stays in the folder for temporary files harms nobody.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Writes a file that must not exist yet, whole or not at all.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes()).inspect_err(|_| {
        let _ = std::fs::remove_file(path);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: HighsOptions =
        HighsOptions { random_seed: 1, mip_rel_gap: 0.0, node_limit: None, time_limit: None };

    /// min `objective` over one column, `kind` of bounds, at most `weight` after the row x <= rhs.
    fn model(integer: bool, cost: f64, rhs: f64, bounds: &str) -> String {
        let (begin, end) = match integer {
            true => (" M 'MARKER' 'INTORG'\n", " M 'MARKER' 'INTEND'\n"),
            false => ("", ""),
        };
        format!(
            "NAME t\nROWS\n N o\n L r\nCOLUMNS\n{begin} x o {cost} r 2\n{end}RHS\n rhs r {rhs}\nBOUNDS\n{bounds}\nENDATA\n"
        )
    }

    #[test]
    fn status_and_value() {
        let check = |text: &str, status, value: Option<f64>| {
            let solution = solve_mps(text, &OPTIONS).expect("HiGHS runs");
            let found = solution.incumbent.map(|incumbent| incumbent.columns[0].value);
            assert_eq!((solution.status, found), (status, value), "{text}");
        };
        // min -x with 2x <= 7: 3.5, or 3 as an integer.
        check(&model(false, -1.0, 7.0, " UP b x 10"), ModelStatus::Optimal, Some(3.5));
        check(&model(true, -1.0, 7.0, " UP b x 10"), ModelStatus::Optimal, Some(3.0));
        // 2x <= 7 and x >= 4.
        check(&model(true, -1.0, 7.0, " LO b x 4"), ModelStatus::Infeasible, None);
        check(&model(false, -1.0, 7.0, " LO b x 4"), ModelStatus::Infeasible, None);
    }

    #[test]
    fn what_a_search_proves() {
        let solution = solve_mps(&model(true, -1.0, 7.0, " UP b x 10"), &OPTIONS).expect("HiGHS runs");
        let search = solution.search.expect("an integer column makes it a MIP");
        assert_eq!((search.bound, search.gap), (-3.0, 0.0));
        let linear = solve_mps(&model(false, -1.0, 7.0, " UP b x 10"), &OPTIONS).expect("HiGHS runs");
        assert_eq!(linear.search, None);
    }

    /// A market split problem (Cornuejols and Dawande): tiny, and no presolve or root cut solves it.
    fn market_split() -> String {
        let (rows, columns) = (3u64, 20u64);
        let weight = |row: u64, column: u64| (row * 7919 + column * 104_729 + row * column * 31) % 100;
        let mut text = String::from("NAME split\nROWS\n N o\n");
        let mut body = String::from("COLUMNS\n M 'MARKER' 'INTORG'\n");
        let (mut rhs, mut bounds) = (String::from("RHS\n"), String::from("BOUNDS\n"));
        for row in 0..rows {
            text += &format!(" E r{row}\n");
            let half = (0..columns).map(|column| weight(row, column)).sum::<u64>() / 2;
            rhs += &format!(" rhs r{row} {half}\n");
        }
        for column in 0..columns {
            for row in 0..rows {
                body += &format!(" x{column} r{row} {}\n", weight(row, column));
            }
            bounds += &format!(" UP b x{column} 1\n");
        }
        body += " M 'MARKER' 'INTEND'\n";
        for row in 0..rows {
            body += &format!(" over{row} o 1 r{row} -1\n under{row} o 1 r{row} 1\n");
        }
        text + &body + &rhs + &bounds + "ENDATA\n"
    }

    #[test]
    fn a_node_limit_ends_the_search_with_a_bound() {
        let limited = HighsOptions { node_limit: Some(1), ..OPTIONS };
        let solution = solve_mps(&market_split(), &limited).expect("HiGHS runs");
        assert_eq!(solution.status, ModelStatus::SolutionLimit);
        let search = solution.search.expect("a MIP");
        let incumbent = solution.incumbent.expect("every choice is feasible");
        assert!(search.bound < incumbent.objective, "{search:?}, {}", incumbent.objective);
        assert!(search.gap > 0.0);
    }

    #[test]
    fn the_same_seed_gives_the_same_answer_on_any_thread() {
        let limited = HighsOptions { node_limit: Some(50), ..OPTIONS };
        let solve = || solve_mps(&market_split(), &limited).expect("HiGHS runs");
        let expected = solve();
        let solutions = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(solve)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        assert!(solutions.iter().all(|solution| *solution == expected));
    }

    #[test]
    fn what_is_no_model_is_an_error() {
        let check = |text: &str, expected: &str| {
            let error = solve_mps(text, &OPTIONS).expect_err(text);
            assert!(error.to_string().contains(expected), "{text}: {error}");
        };
        check("min x", "cannot read the model");
        check(&model(true, f64::NAN, 7.0, " UP b x 10"), "a NaN");
        check(&model(true, 1.0, -f64::NAN, " UP b x 10"), "a NaN");
        check(&model(true, 1.0, 7.0, " UP b x 10").replace('x', &"x".repeat(600)), "600 bytes");
    }

    #[test]
    fn options_out_of_range_are_errors() {
        let check = |options: HighsOptions, expected: &str| {
            let error = solve_mps(&model(true, 1.0, 7.0, " UP b x 10"), &options).expect_err(expected);
            assert!(error.to_string().contains(expected), "{error}");
        };
        check(HighsOptions { random_seed: u32::MAX, ..OPTIONS }, "random_seed = 4294967295");
        check(HighsOptions { mip_rel_gap: -0.5, ..OPTIONS }, "mip_rel_gap = -0.5");
        check(HighsOptions { mip_rel_gap: f64::NAN, ..OPTIONS }, "mip_rel_gap = NaN");
    }

    #[test]
    fn every_status_of_highs_has_its_name() {
        for code in ffi::MODEL_STATUS_MIN..=ffi::MODEL_STATUS_MAX {
            assert!(!matches!(ModelStatus::of(code), ModelStatus::Other(_)), "status {code}");
        }
        assert_eq!(ModelStatus::of(99), ModelStatus::Other(99));
    }
}
