//! Records: what one cell of an experiment measured, on disk so that a kill loses nothing.
//!
//! A *cell* is one algorithm at one sweep point with one seed. It is four small files below
//! `<out>/records/<experiment>/cells/`: `<id>.csv` (one [`Row`]), `<id>.cdf.csv` (its latencies, cumulative),
//! `<id>.sha256` (the sums of these two, for `sha256sum -c` too) and `<id>.timing.csv` (one [`TimingRow`]). All that
//! depends on the machine or the clock stands in the timing file, so the others have the same bytes on every run of one
//! revision. [`save`] writes each file beside its place and renames it, the row last: a cell with a row is whole, and
//! without one it does not exist. Beside the cells stands `plan.csv`, the [`Key`]s of all of them.
//!
//! Reading order: [`Row`], [`TimingRow`], [`Cell`], [`save`], [`reusable`], [`collect`], [`Records`], [`write_tables`],
//! [`compare`].

use crate::stats::Cdf;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// What a cell measured, time on our own clock aside. An absent value is an empty cell, never NaN.
///
/// Latencies and their parts are over finished requests: a rejected one has none, and counts as an SLO violation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Name of the experiment.
    pub experiment: String,
    /// Hash of the scenario at this sweep point, 16 hexadecimal digits.
    pub scenario: String,
    /// Roster name of the algorithm.
    pub algorithm: String,
    /// Its parameters, as text; may be empty.
    pub parameters: String,
    /// Label of the sweep point; empty without a sweep.
    pub sweep: String,
    /// Seed of the workload and of every random choice.
    pub seed: u64,
    /// Which data: `EUA`, `embedded`, ...
    pub data: String,
    /// Git revision that measured it.
    pub revision: String,
    /// Compiler that built it.
    pub toolchain: String,
    /// Measured requests, those of the warm-up not among them.
    pub requests: u64,
    /// Requests that finished.
    pub finished: u64,
    /// Requests that were rejected: too large for every node, out of patience, or starved.
    pub rejected: u64,
    /// Decisions that said "not now".
    pub deferred_decisions: u64,
    /// Batches that held a measured request.
    pub batches: u64,
    /// Mean size of a batch.
    pub requests_per_batch_mean: Option<f64>,
    /// Mean end-to-end latency.
    pub latency_ms_mean: Option<f64>,
    /// Median latency (R-7, as the other percentiles).
    pub latency_ms_p50: Option<f64>,
    /// 95th percentile of the latency.
    pub latency_ms_p95: Option<f64>,
    /// 99th percentile of the latency.
    pub latency_ms_p99: Option<f64>,
    /// Longest latency.
    pub latency_ms_max: Option<f64>,
    /// Mean T_cold, Eq. (1).
    pub cold_ms_mean: Option<f64>,
    /// Mean T_comp, Eq. (2).
    pub comp_ms_mean: Option<f64>,
    /// Mean T_comm, Eq. (3).
    pub comm_ms_mean: Option<f64>,
    /// Mean time between arrival and placement.
    pub wait_ms_mean: Option<f64>,
    /// Requests that took longer than their SLO, and rejected ones.
    pub slo_violations: u64,
    /// Their share, in `[0, 1]`.
    pub slo_violation_rate: Option<f64>,
    /// Requests that needed a new container.
    pub cold_starts: u64,
    /// Their share, in `[0, 1]`.
    pub cold_start_rate: Option<f64>,
    /// Mean share of the cluster's cores that is busy.
    pub cpu_utilisation: Option<f64>,
    /// Mean share of the cluster's memory that busy containers hold.
    pub memory_utilisation: Option<f64>,
    /// Share of the requests that are not on the node that would be cheapest for them alone.
    pub not_cheapest_rate: Option<f64>,
    /// Idle containers removed for their memory.
    pub evictions: u64,
    /// Idle containers removed for their age.
    pub expirations: u64,
    /// Mean objective J of a batch.
    pub objective_mean: Option<f64>,
}

/// How long a cell's decisions took. It never has the same bytes twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimingRow {
    /// As in [`Row`].
    pub experiment: String,
    /// As in [`Row`].
    pub scenario: String,
    /// As in [`Row`].
    pub algorithm: String,
    /// As in [`Row`].
    pub parameters: String,
    /// As in [`Row`].
    pub sweep: String,
    /// As in [`Row`].
    pub seed: u64,
    /// As in [`Row`].
    pub data: String,
    /// Processor, cores and system.
    pub machine: String,
    /// Threads that ran cells while this one was timed.
    pub threads: u64,
    /// Decisions that were timed.
    pub decisions: u64,
    /// Mean time of a decision (for a solver: a batch's time over its requests).
    pub decision_us_mean: Option<f64>,
    /// Median time of a decision.
    pub decision_us_p50: Option<f64>,
    /// 99th percentile of the time of a decision.
    pub decision_us_p99: Option<f64>,
    /// Wall time of the whole cell.
    pub wall_s: Option<f64>,
}

/// What makes a cell that cell. Two cells with equal keys measured the same thing.
///
/// Keys have the canonical order, that of readers: experiment, algorithm, sweep point (by number), seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// As in [`Row`].
    pub experiment: String,
    /// As in [`Row`].
    pub scenario: String,
    /// As in [`Row`].
    pub algorithm: String,
    /// As in [`Row`].
    pub parameters: String,
    /// As in [`Row`].
    pub sweep: String,
    /// As in [`Row`].
    pub seed: u64,
    /// As in [`Row`].
    pub data: String,
}

/// What built the program that measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Git revision.
    pub revision: String,
    /// Compiler.
    pub toolchain: String,
}

/// A whole cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What it measured.
    pub row: Row,
    /// Its latencies on the grid; a request that never finished counts above the grid.
    pub cdf: Cdf,
    /// Its timings.
    pub timing: TimingRow,
}

/// Why a record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system said no.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file or directory.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A value is not what its column holds.
    #[error("{}, line {line}, column `{column}`: found `{value}`, expected {expected}", file.display())]
    Value {
        /// The file.
        file: PathBuf,
        /// Line, the header is 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// What stands there.
        value: String,
        /// What should.
        expected: String,
    },
    /// The file is not what was saved, though it reads well.
    #[error("{}: the SHA-256 of these bytes is {found}, expected {expected} as in {}", file.display(), sums.display())]
    Changed {
        /// The file.
        file: PathBuf,
        /// Where its sum stands.
        sums: PathBuf,
        /// The sum of the bytes that are there.
        found: String,
        /// The sum of the bytes that were saved.
        expected: String,
    },
    /// The file is not a table of this kind.
    #[error("{}, line {line}: {found}, expected {expected}", file.display())]
    Shape {
        /// The file.
        file: PathBuf,
        /// Line, the header is 1.
        line: u64,
        /// What is wrong.
        found: String,
        /// What should be there.
        expected: String,
    },
}

impl Row {
    /// The cell it belongs to.
    pub fn key(&self) -> Key {
        Key {
            experiment: self.experiment.clone(),
            scenario: self.scenario.clone(),
            algorithm: self.algorithm.clone(),
            parameters: self.parameters.clone(),
            sweep: self.sweep.clone(),
            seed: self.seed,
            data: self.data.clone(),
        }
    }

    /// What built the program that measured it.
    pub fn provenance(&self) -> Provenance {
        Provenance { revision: self.revision.clone(), toolchain: self.toolchain.clone() }
    }

    /// The first value that contradicts the others: `(column, value, expectation)`.
    ///
    /// The parts must add up to the latency (a report without its queue makes overload look healthy), and percentiles
    /// must rise.
    fn contradiction(&self) -> Option<Contradiction> {
        let places = self.finished.checked_add(self.rejected);
        if places != Some(self.requests) {
            return Some(contradiction("requests", self.requests, "finished + rejected"));
        }
        let at_most_all = [("slo_violations", self.slo_violations), ("cold_starts", self.cold_starts)];
        if let Some((column, value)) = at_most_all.into_iter().find(|(_, value)| *value > self.requests) {
            return Some(contradiction(column, value, "at most `requests`"));
        }
        let rates = [
            ("slo_violation_rate", self.slo_violation_rate),
            ("cold_start_rate", self.cold_start_rate),
            ("not_cheapest_rate", self.not_cheapest_rate),
        ];
        if let Some((column, value)) = outside(&rates, 0.0..=1.0) {
            return Some(contradiction(column, value, "a share in [0, 1]"));
        }
        let others = [
            ("requests_per_batch_mean", self.requests_per_batch_mean),
            ("cpu_utilisation", self.cpu_utilisation),
            ("memory_utilisation", self.memory_utilisation),
            ("latency_ms_mean", self.latency_ms_mean),
            ("cold_ms_mean", self.cold_ms_mean),
            ("comp_ms_mean", self.comp_ms_mean),
            ("comm_ms_mean", self.comm_ms_mean),
            ("wait_ms_mean", self.wait_ms_mean),
        ];
        if let Some((column, value)) = outside(&others, 0.0..=f64::MAX) {
            return Some(contradiction(column, value, "a number not below 0"));
        }
        if let Some(value) = self.objective_mean.filter(|value| !value.is_finite()) {
            return Some(contradiction("objective_mean", value, "a finite number, or nothing"));
        }
        let parts = [self.cold_ms_mean, self.comp_ms_mean, self.comm_ms_mean, self.wait_ms_mean];
        if let (Some(mean), [Some(cold), Some(comp), Some(comm), Some(wait)]) = (self.latency_ms_mean, parts)
        {
            let sum = cold + comp + comm + wait;
            // A sum of millions of f64 in another order; anything larger is a lost part.
            if (mean - sum).abs() > 1e-6 * mean.abs().max(1.0) {
                let expected = format!("the sum of cold, comp, comm and wait, {sum}");
                return Some(contradiction("latency_ms_mean", mean, &expected));
            }
        }
        rising(&[
            ("latency_ms_p50", self.latency_ms_p50),
            ("latency_ms_p95", self.latency_ms_p95),
            ("latency_ms_p99", self.latency_ms_p99),
            ("latency_ms_max", self.latency_ms_max),
        ])
    }
}

impl TimingRow {
    /// The cell it belongs to.
    pub fn key(&self) -> Key {
        Key {
            experiment: self.experiment.clone(),
            scenario: self.scenario.clone(),
            algorithm: self.algorithm.clone(),
            parameters: self.parameters.clone(),
            sweep: self.sweep.clone(),
            seed: self.seed,
            data: self.data.clone(),
        }
    }

    fn contradiction(&self) -> Option<Contradiction> {
        let times = [("decision_us_mean", self.decision_us_mean), ("wall_s", self.wall_s)];
        if let Some((column, value)) = outside(&times, 0.0..=f64::MAX) {
            return Some(contradiction(column, value, "a number not below 0"));
        }
        rising(&[("decision_us_p50", self.decision_us_p50), ("decision_us_p99", self.decision_us_p99)])
    }
}

/// Column, value, expectation.
type Contradiction = (&'static str, String, String);

fn contradiction(column: &'static str, value: impl ToString, expected: &str) -> Contradiction {
    (column, value.to_string(), expected.to_string())
}

type Named = (&'static str, Option<f64>);

fn outside(values: &[Named], range: std::ops::RangeInclusive<f64>) -> Option<(&'static str, f64)> {
    values.iter().find_map(|(column, value)| value.filter(|v| !range.contains(v)).map(|v| (*column, v)))
}

fn rising(values: &[Named]) -> Option<Contradiction> {
    if let Some((column, value)) = outside(values, 0.0..=f64::MAX) {
        return Some(contradiction(column, value, "a number not below 0"));
    }
    values.windows(2).find_map(|pair| match (pair[0], pair[1]) {
        ((below, Some(low)), (column, Some(high))) if high < low => {
            Some(contradiction(column, high, &format!("at least `{below}`, {low}")))
        }
        _ => None,
    })
}

impl Key {
    /// The cell's file name without its ending: readable, and safe and unique on every file system.
    pub fn id(&self) -> String {
        let sweep = if self.sweep.is_empty() { String::new() } else { format!("_{}", self.sweep) };
        let plain = format!("{}{sweep}_seed{}", self.algorithm, self.seed);
        let safe: String = plain.chars().map(|c| if is_safe(c) { c } else { '-' }).collect();
        // An underscore inside a name could make two cells one, and some file systems ignore case.
        if safe == plain && !self.algorithm.contains('_') && !self.sweep.contains('_') {
            return safe;
        }
        let mut hasher = Sha256::new();
        hasher.update(self.algorithm.as_bytes());
        hasher.update([0]);
        hasher.update(self.sweep.as_bytes());
        if safe.chars().count() > LONGEST {
            // What is cut off may be the seed.
            hasher.update(self.seed.to_le_bytes());
        }
        let hash = hex(&hasher.finalize()[..4]);
        format!("{}_{hash}", safe.chars().take(LONGEST).collect::<String>())
    }
}

/// Characters of a file's name, its hash not counted.
const LONGEST: usize = 100;

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        self.experiment
            .cmp(&other.experiment)
            .then_with(|| self.algorithm.cmp(&other.algorithm))
            .then_with(|| sweep_order(&self.sweep, &other.sweep))
            .then_with(|| self.seed.cmp(&other.seed))
            .then_with(|| self.parameters.cmp(&other.parameters))
            .then_with(|| self.scenario.cmp(&other.scenario))
            .then_with(|| self.data.cmp(&other.data))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.experiment, self.algorithm)?;
        if !self.sweep.is_empty() {
            write!(f, " at {}", self.sweep)?;
        }
        write!(f, ", seed {}", self.seed)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_safe(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '_' | '=')
}

/// Orders sweep labels such as `load=0.5` and `load=10` by name and then by number.
pub fn sweep_order(a: &str, b: &str) -> Ordering {
    let split = |label: &str| {
        let (name, value) = label.rsplit_once('=').unwrap_or(("", label));
        (name.to_string(), value.trim().parse::<f64>().unwrap_or(f64::INFINITY))
    };
    let ((name_a, value_a), (name_b, value_b)) = (split(a), split(b));
    name_a.cmp(&name_b).then(value_a.total_cmp(&value_b)).then(a.cmp(b))
}

/// Writes a cell below `<out>/records/`. The row appears last, so a kill leaves a whole cell or none.
pub fn save(out: &Path, cell: &Cell) -> Result<(), RecordError> {
    let files = Files::of(out, &cell.row.key());
    check(&files, cell)?;
    // A cell that is measured again must not pass for whole while its parts change.
    match fs::remove_file(&files.row) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            return Err(RecordError::Io { file: files.row, source });
        }
        _ => {}
    }
    let (row, cdf) = (table_text(&files.row, [&cell.row])?, cdf_text(&cell.cdf));
    write_atomically(&files.cdf, &cdf)?;
    write_atomically(&files.timing, &table_text(&files.timing, [&cell.timing])?)?;
    let sums = [(&files.row, &row), (&files.cdf, &cdf)].map(|(file, bytes)| sum_line(file, bytes));
    write_atomically(&files.sums, sums.concat().as_bytes())?;
    write_atomically(&files.row, &row)
}

/// A line as `sha256sum` writes it.
fn sum_line(file: &Path, bytes: &[u8]) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    format!("{}  {name}\n", hex(&Sha256::digest(bytes)))
}

/// The cell `key` if it stands below `<out>/records/`, whole, readable, from this build and with exactly this key; else
/// `None`, and it has to be measured (again).
pub fn reusable(out: &Path, key: &Key, build: &Provenance) -> Option<Cell> {
    let cell = load(&Files::of(out, key)).ok()?;
    (cell.row.key() == *key && cell.row.provenance() == *build).then_some(cell)
}

/// Reads all cells of all experiments below `<out>/records/`, in canonical order. Files that a kill left half-made are
/// passed over; a row that cannot be read, or whose companions are missing, is an error.
pub fn collect(out: &Path) -> Result<Records, RecordError> {
    let mut cells = Vec::new();
    for experiment in experiments(out)? {
        cells.extend(cells_of(out, &experiment)?.into_iter().map(|(_, cell)| cell));
    }
    Ok(Records::new(cells))
}

/// Names of the experiments with a folder below `<out>/records/`, ascending.
pub fn experiments(out: &Path) -> Result<Vec<String>, RecordError> {
    let folders = entries(&out.join("records"))?.into_iter().filter(|path| path.is_dir());
    Ok(folders.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect())
}

/// All cells of one experiment below `<out>/records/`, each with the file of its row; otherwise as [`collect`].
pub fn cells_of(out: &Path, experiment: &str) -> Result<Vec<(PathBuf, Cell)>, RecordError> {
    let files = entries(&folder(out, experiment).join("cells"))?.into_iter().filter_map(Files::with_row);
    files.map(|files| load(&files).map(|cell| (files.row, cell))).collect()
}

/// Where the records of an experiment stand: `<out>/records/<experiment>`.
pub fn folder(out: &Path, experiment: &str) -> PathBuf {
    out.join("records").join(experiment)
}

/// Writes `plan.csv`, the keys of all cells that an experiment has, so that a folder with a part of them says what is
/// missing.
pub fn write_plan(out: &Path, experiment: &str, plan: &[Key]) -> Result<(), RecordError> {
    let file = folder(out, experiment).join("plan.csv");
    write_atomically(&file, &table_text(&file, plan)?)
}

/// Reads what [`write_plan`] wrote.
pub fn read_plan(out: &Path, experiment: &str) -> Result<Vec<Key>, RecordError> {
    read_table(&folder(out, experiment).join("plan.csv"))
}

/// Writes `build.sha256`: the SHA-256 of the program that records an experiment, then a line for each setting that the
/// keys of its cells do not hold.
pub fn write_stamp(out: &Path, experiment: &str, stamp: &str) -> Result<(), RecordError> {
    write_atomically(&folder(out, experiment).join("build.sha256"), format!("{stamp}\n").as_bytes())
}

/// Reads what [`write_stamp`] wrote; empty if it is not there.
pub fn read_stamp(out: &Path, experiment: &str) -> Result<String, RecordError> {
    match read(&folder(out, experiment).join("build.sha256")) {
        Err(RecordError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(String::new()),
        other => Ok(String::from_utf8_lossy(&other?).trim().to_string()),
    }
}

/// Removes the half-written files that a kill left in `out` and in the records of an experiment, and returns their
/// number. With `only`, none but those of these cells: the others may belong to a process that is alive.
pub fn remove_halves(out: &Path, experiment: &str, only: Option<&[Key]>) -> Result<usize, RecordError> {
    let owned = only.map(|keys| {
        let files = keys.iter().map(|key| Files::of(out, key));
        files.flat_map(|f| [f.row, f.cdf, f.timing, f.sums]).collect::<BTreeSet<PathBuf>>()
    });
    let records = folder(out, experiment);
    let mut removed = 0;
    for directory in [out.to_path_buf(), records.join("cells"), records.join("batches"), records] {
        for half in entries(&directory)? {
            let Some(whole) = whole_of(&half) else { continue };
            if owned.as_ref().is_none_or(|owned| owned.contains(&whole)) {
                fs::remove_file(&half).map_err(|source| RecordError::Io { file: half, source })?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

/// Cells in canonical order: by experiment, algorithm, sweep point, seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// The cells. Whoever changes their order makes a new `Records` of them.
    pub cells: Vec<Cell>,
}

impl Records {
    /// Puts cells in canonical order.
    pub fn new(mut cells: Vec<Cell>) -> Records {
        cells.sort_by_cached_key(|cell| cell.row.key());
        Records { cells }
    }

    /// Only the cells with these keys: without what an earlier version of the experiment left behind.
    pub fn select(&self, keys: &[Key]) -> Records {
        let keys: BTreeSet<&Key> = keys.iter().collect();
        let wanted = |cell: &&Cell| keys.contains(&cell.row.key());
        Records { cells: self.cells.iter().filter(wanted).cloned().collect() }
    }

    /// Only the cells of one experiment.
    pub fn of_experiment(&self, experiment: &str) -> Records {
        let wanted = |cell: &&Cell| cell.row.experiment == experiment;
        Records { cells: self.cells.iter().filter(wanted).cloned().collect() }
    }

    /// Names of the experiments, ascending.
    pub fn experiments(&self) -> Vec<&str> {
        self.distinct(|row| &row.experiment)
    }

    /// Names of the algorithms, ascending.
    pub fn algorithms(&self) -> Vec<&str> {
        self.distinct(|row| &row.algorithm)
    }

    /// Labels of the sweep points, in their order.
    pub fn sweeps(&self) -> Vec<&str> {
        let mut sweeps = self.distinct(|row| &row.sweep);
        sweeps.sort_by(|a, b| sweep_order(a, b));
        sweeps
    }

    fn distinct(&self, column: impl Fn(&Row) -> &String) -> Vec<&str> {
        let set: BTreeSet<&str> = self.cells.iter().map(|cell| column(&cell.row).as_str()).collect();
        set.into_iter().collect()
    }

    /// The cells of one algorithm at one sweep point, by seed.
    pub fn cells_of(&self, algorithm: &str, sweep: &str) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| cell.row.algorithm == algorithm && cell.row.sweep == sweep)
    }

    /// One value a seed, where it is present: `records.values("hermod", "", |cell| cell.row.latency_ms_p99)`.
    pub fn values(
        &self,
        algorithm: &str,
        sweep: &str,
        value: impl Fn(&Cell) -> Option<f64>,
    ) -> Vec<(u64, f64)> {
        self.cells_of(algorithm, sweep).filter_map(|cell| value(cell).map(|v| (cell.row.seed, v))).collect()
    }

    /// The latencies of all seeds together.
    pub fn pooled_cdf(&self, algorithm: &str, sweep: &str) -> Cdf {
        self.cells_of(algorithm, sweep).fold(Cdf::new(), |mut pooled, cell| {
            pooled.pool(&cell.cdf);
            pooled
        })
    }
}

/// Writes `<experiment>.csv` and `<experiment>.timing.csv` into `<out>/records/<experiment>/` and returns their paths.
pub fn write_tables(out: &Path, records: &Records) -> Result<Vec<PathBuf>, RecordError> {
    let mut written = Vec::new();
    for experiment in records.experiments() {
        let cells = || records.cells.iter().filter(|cell| cell.row.experiment == experiment);
        let directory = folder(out, experiment);
        let row = directory.join(format!("{experiment}.csv"));
        write_atomically(&row, &table_text(&row, cells().map(|cell| &cell.row))?)?;
        let timing = directory.join(format!("{experiment}.timing.csv"));
        write_atomically(&timing, &table_text(&timing, cells().map(|cell| &cell.timing))?)?;
        written.extend([row, timing]);
    }
    Ok(written)
}

/// Where records differ from a golden table.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// The golden table has this cell, the records do not.
    Missing {
        /// The cell.
        cell: String,
    },
    /// The records have this cell, the golden table does not.
    Unexpected {
        /// The cell.
        cell: String,
    },
    /// A value differs.
    Value {
        /// The cell.
        cell: String,
        /// The column.
        column: String,
        /// The golden value.
        golden: String,
        /// Our value.
        ours: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Missing { cell } => write!(f, "{cell}: in the golden table only"),
            Difference::Unexpected { cell } => write!(f, "{cell}: not in the golden table"),
            Difference::Value { cell, column, golden, ours } => {
                write!(f, "{cell}: {column} is `{ours}`, golden `{golden}`")
            }
        }
    }
}

/// Compares records with the table `golden` (as [`write_tables`] writes it), revision and toolchain aside; an empty
/// answer means that they are the same. Everything is compared as text, so floats to the last bit, unless
/// `relative_tolerance` lets numbers with a fraction differ by that share of the larger one.
pub fn compare(
    golden: &Path,
    records: &Records,
    relative_tolerance: Option<f64>,
) -> Result<Vec<Difference>, RecordError> {
    let golden_rows: Vec<Row> = read_table(golden)?;
    let ours = index(golden, records.cells.iter().map(|cell| &cell.row))?;
    let theirs = index(golden, &golden_rows)?;
    let mut differences = Vec::new();
    for (cell, golden_values) in &theirs {
        let Some(our_values) = ours.get(cell) else {
            differences.push(Difference::Missing { cell: cell.clone() });
            continue;
        };
        for ((column, golden), (_, ours)) in golden_values.iter().zip(our_values) {
            if !same(golden, ours, relative_tolerance) {
                let (column, golden, ours) = (column.clone(), golden.clone(), ours.clone());
                differences.push(Difference::Value { cell: cell.clone(), column, golden, ours });
            }
        }
    }
    let unexpected = ours.keys().filter(|cell| !theirs.contains_key(*cell));
    differences.extend(unexpected.map(|cell| Difference::Unexpected { cell: cell.clone() }));
    Ok(differences)
}

/// By cell: its columns and their text.
type Index = BTreeMap<String, Vec<(String, String)>>;

fn index<'a>(file: &Path, rows: impl IntoIterator<Item = &'a Row>) -> Result<Index, RecordError> {
    let mut index = BTreeMap::new();
    for row in rows {
        let text = table_text(file, [row])?;
        let mut reader = csv::Reader::from_reader(text.as_slice());
        let header = reader.headers().map_err(|e| csv_error(file, e, None))?.clone();
        for values in reader.records() {
            let values = values.map_err(|e| csv_error(file, e, None))?;
            let columns =
                header.iter().zip(&values).filter(|(column, _)| !["revision", "toolchain"].contains(column));
            index.insert(
                row.key().to_string(),
                columns.map(|(c, v)| (c.to_string(), v.to_string())).collect(),
            );
        }
    }
    Ok(index)
}

fn same(golden: &str, ours: &str, relative_tolerance: Option<f64>) -> bool {
    let (Some(tolerance), true) = (relative_tolerance, golden.contains('.') && ours.contains('.')) else {
        return golden == ours;
    };
    match (golden.parse::<f64>(), ours.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= tolerance * a.abs().max(b.abs()),
        _ => golden == ours,
    }
}

/// Where a cell's files stand.
struct Files {
    row: PathBuf,
    cdf: PathBuf,
    timing: PathBuf,
    sums: PathBuf,
}

impl Files {
    fn of(out: &Path, key: &Key) -> Files {
        let stem = folder(out, &key.experiment).join("cells").join(key.id());
        Files::with_stem(&stem.to_string_lossy())
    }

    fn with_stem(stem: &str) -> Files {
        let file = |ending: &str| PathBuf::from(format!("{stem}.{ending}"));
        Files { row: file("csv"), cdf: file("cdf.csv"), timing: file("timing.csv"), sums: file("sha256") }
    }

    /// The files of the cell whose row this is; `None` if the path is no row.
    fn with_row(path: PathBuf) -> Option<Files> {
        let text = path.to_string_lossy();
        let stem = text.strip_suffix(".csv")?;
        let companion = stem.ends_with(".cdf") || stem.ends_with(".timing");
        (!companion).then(|| Files::with_stem(stem))
    }
}

fn load(files: &Files) -> Result<Cell, RecordError> {
    let row: Row = read_single(&files.row)?;
    let timing: TimingRow = read_single(&files.timing)?;
    let cell = Cell { row, cdf: read_cdf(&files.cdf)?, timing };
    check(files, &cell)?;
    // What contradicts itself has been named; the sums find the rest.
    let sums = String::from_utf8_lossy(&read(&files.sums)?).into_owned();
    for file in [&files.row, &files.cdf] {
        let line = sum_line(file, &read(file)?);
        if !sums.contains(&line) {
            let sum = |line: &str| line.split(' ').next().unwrap_or_default().to_string();
            let name = line.split_once("  ").map_or("", |(_, name)| name.trim_end());
            let expected = sums.lines().find(|line| line.ends_with(&format!("  {name}")));
            let (found, expected) = (sum(&line), expected.map_or("none".to_string(), sum));
            let (file, sums) = (file.clone(), files.sums.clone());
            return Err(RecordError::Changed { file, sums, found, expected });
        }
    }
    Ok(cell)
}

fn read(file: &Path) -> Result<Vec<u8>, RecordError> {
    fs::read(file).map_err(|source| RecordError::Io { file: file.to_path_buf(), source })
}

/// The three parts of a cell agree with each other and within themselves.
fn check(files: &Files, cell: &Cell) -> Result<(), RecordError> {
    let Cell { row, cdf, timing } = cell;
    for (file, contradiction) in [(&files.row, row.contradiction()), (&files.timing, timing.contradiction())]
    {
        if let Some((column, value, expected)) = contradiction {
            let (file, column) = (file.clone(), column.to_string());
            return Err(RecordError::Value { file, line: 2, column, value, expected });
        }
    }
    if timing.key() != row.key() {
        let (found, expected) = (format!("timings of {}", timing.key()), format!("those of {}", row.key()));
        return Err(RecordError::Shape { file: files.timing.clone(), line: 2, found, expected });
    }
    if !(row.finished..=row.requests).contains(&cdf.total()) {
        let found = format!("{} latencies", cdf.total());
        let expected = format!("one a request: {} finished of {}", row.finished, row.requests);
        return Err(RecordError::Shape { file: files.cdf.clone(), line: 1, found, expected });
    }
    Ok(())
}

/// The text above the grid in a distribution's file.
const ABOVE: &str = "inf";

fn cdf_text(cdf: &Cdf) -> Vec<u8> {
    let mut text = String::from("latency_ms,count\n");
    for (point, count) in cdf.steps() {
        let point = point.map_or(ABOVE.to_string(), |ms| ms.to_string());
        text.push_str(&format!("{point},{count}\n"));
    }
    text.into_bytes()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    latency_ms: String,
    count: u64,
}

fn read_cdf(file: &Path) -> Result<Cdf, RecordError> {
    let rows: Vec<Step> = read_table(file)?;
    let mut steps = Vec::with_capacity(rows.len());
    for (line, Step { latency_ms, count }) in (2..).zip(rows) {
        let point = match latency_ms.as_str() {
            ABOVE => None,
            number => Some(number.parse::<u32>().map_err(|_| RecordError::Value {
                file: file.to_path_buf(),
                line,
                column: "latency_ms".to_string(),
                value: latency_ms.clone(),
                expected: format!("whole milliseconds or `{ABOVE}`"),
            })?),
        };
        steps.push((point, count));
        if Cdf::from_steps(steps.iter().copied().skip(steps.len().saturating_sub(2))).is_none() {
            return Err(RecordError::Value {
                file: file.to_path_buf(),
                line,
                column: "count".to_string(),
                value: format!("{latency_ms},{count}"),
                expected: format!(
                    "latencies in 1..={} that rise, and cumulative counts that rise",
                    Cdf::LIMIT_MS
                ),
            });
        }
    }
    Cdf::from_steps(steps).ok_or_else(|| RecordError::Shape {
        file: file.to_path_buf(),
        line: 1,
        found: "no distribution".to_string(),
        expected: "cumulative counts".to_string(),
    })
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let io = |source| RecordError::Io { file: directory.to_path_buf(), source };
    let read = match fs::read_dir(directory) {
        Err(source) if source.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(io)?,
    };
    let mut paths = read.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>().map_err(io)?;
    paths.sort();
    Ok(paths)
}

fn table_text<'a, T: Serialize + 'a>(
    file: &Path,
    rows: impl IntoIterator<Item = &'a T>,
) -> Result<Vec<u8>, RecordError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).map_err(|e| csv_error(file, e, None))?;
    }
    writer.into_inner().map_err(|e| RecordError::Io { file: file.to_path_buf(), source: e.into_error() })
}

fn read_single<T: DeserializeOwned>(file: &Path) -> Result<T, RecordError> {
    let mut rows: Vec<T> = read_table(file)?;
    match (rows.pop(), rows.len()) {
        (Some(row), 0) => Ok(row),
        (last, before) => Err(RecordError::Shape {
            file: file.to_path_buf(),
            line: 2,
            found: format!("{} rows", before + usize::from(last.is_some())),
            expected: "one".to_string(),
        }),
    }
}

fn read_table<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>, RecordError> {
    let text = read(file)?;
    let mut reader = csv::Reader::from_reader(text.as_slice());
    let header = reader.headers().map_err(|e| csv_error(file, e, None))?.clone();
    let mut rows = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|e| csv_error(file, e, None))? {
        rows.push(
            record.deserialize(Some(&header)).map_err(|e| csv_error(file, e, Some((&header, &record))))?,
        );
    }
    Ok(rows)
}

/// Says where and what: the csv crate knows the number of a field, a reader wants its name and its text.
fn csv_error(
    file: &Path,
    error: csv::Error,
    place: Option<(&csv::StringRecord, &csv::StringRecord)>,
) -> RecordError {
    let file = file.to_path_buf();
    let line = error.position().map_or(1, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(source) => RecordError::Io { file, source },
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => RecordError::Shape {
            file,
            line,
            found: format!("{len} fields"),
            expected: format!("{expected_len} as in the header"),
        },
        csv::ErrorKind::Deserialize { err, .. } => {
            let line = place.and_then(|(_, record)| record.position()).map_or(line, csv::Position::line);
            let field = err.field().and_then(|field| usize::try_from(field).ok());
            let text = |record: &csv::StringRecord| field.and_then(|f| record.get(f)).map(str::to_string);
            match place.and_then(|(header, record)| Some((text(header)?, text(record)?))) {
                Some((column, value)) => {
                    RecordError::Value { file, line, column, value, expected: err.kind().to_string() }
                }
                None => RecordError::Shape {
                    file,
                    line,
                    found: err.kind().to_string(),
                    expected: "the columns of a record".to_string(),
                },
            }
        }
        other => RecordError::Shape {
            file,
            line,
            found: format!("{other:?}"),
            expected: "a CSV table".to_string(),
        },
    }
}

/// Writes beside the target and renames, so that a kill leaves the whole file or none, and maybe half of one beside it:
/// see [`remove_halves`]. Several processes may write at once, on several machines too: each has a half of its own.
pub(crate) fn write_atomically(file: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    let io = |source| RecordError::Io { file: file.to_path_buf(), source };
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory).map_err(io)?;
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut number = 0_u64;
    let (half, mut free) = loop {
        let half = file.with_file_name(format!(".{name}.{number}.half"));
        match fs::File::create_new(&half) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            created => break (half, created.map_err(io)?),
        }
    };
    free.write_all(bytes).map_err(io)?;
    fs::rename(&half, file).map_err(io)
}

/// The file that this one is a half of; `None` if it is none.
fn whole_of(half: &Path) -> Option<PathBuf> {
    let name = half.file_name()?.to_string_lossy();
    let (whole, number) = name.strip_prefix('.')?.strip_suffix(".half")?.rsplit_once('.')?;
    number.parse::<u64>().is_ok().then(|| half.with_file_name(whole))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A cell that agrees with itself.
    pub(crate) fn cell(algorithm: &str, sweep: &str, seed: u64) -> Cell {
        let text = |s: &str| s.to_string();
        let row = Row {
            experiment: text("paper"),
            scenario: text("0123456789abcdef"),
            algorithm: text(algorithm),
            parameters: text("k=2, \"quoted\""),
            sweep: text(sweep),
            seed,
            data: text("embedded"),
            revision: text("abc"),
            toolchain: text("rustc 1.95.0"),
            requests: 4,
            finished: 3,
            rejected: 1,
            deferred_decisions: 5,
            batches: 2,
            requests_per_batch_mean: Some(2.0),
            latency_ms_mean: Some(100.0 + 0.1 + 0.2),
            latency_ms_p50: Some(90.0),
            latency_ms_p95: Some(150.0),
            latency_ms_p99: Some(160.5),
            latency_ms_max: Some(1.0 / 3.0 * 1e3),
            cold_ms_mean: Some(0.1),
            comp_ms_mean: Some(100.0),
            comm_ms_mean: Some(0.2),
            wait_ms_mean: Some(0.0),
            slo_violations: 1,
            slo_violation_rate: Some(0.25),
            cold_starts: 1,
            cold_start_rate: Some(0.25),
            cpu_utilisation: Some(0.7),
            memory_utilisation: None,
            not_cheapest_rate: None,
            evictions: 0,
            expirations: 0,
            objective_mean: Some(1e-7),
        };
        let timing = TimingRow {
            experiment: row.experiment.clone(),
            scenario: row.scenario.clone(),
            algorithm: row.algorithm.clone(),
            parameters: row.parameters.clone(),
            sweep: row.sweep.clone(),
            seed,
            data: row.data.clone(),
            machine: text("2 cores"),
            threads: 1,
            decisions: 9,
            decision_us_mean: Some(3.5),
            decision_us_p50: Some(3.0),
            decision_us_p99: None,
            wall_s: Some(0.25),
        };
        let mut cdf = Cdf::new();
        [90.0, 90.0, 1500.0, f64::INFINITY].iter().for_each(|&latency| cdf.add(latency));
        Cell { row, cdf, timing }
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary folder")
    }

    fn edit(file: &Path, from: &str, to: &str) {
        let text = fs::read_to_string(file).expect("the file");
        assert!(text.contains(from), "{from} is not in {text}");
        fs::write(file, text.replacen(from, to, 1)).expect("writable");
    }

    #[test]
    fn cells_come_back_as_they_were_and_in_order() {
        let out = folder();
        let cells =
            [("b", "load=10", 1), ("a", "", 2), ("b", "load=9.5", 11), ("b", "load=9.5", 2), ("a", "", 1)]
                .map(|(algorithm, sweep, seed)| cell(algorithm, sweep, seed));
        for cell in &cells {
            save(out.path(), cell).expect("saved");
        }
        let records = collect(out.path()).expect("collected");
        let order: Vec<_> = records.cells.iter().map(|c| (c.row.sweep.as_str(), c.row.seed)).collect();
        assert_eq!(order, [("", 1), ("", 2), ("load=9.5", 2), ("load=9.5", 11), ("load=10", 1)]);
        assert_eq!(records, Records::new(cells.to_vec()));
        assert_eq!(records.algorithms(), ["a", "b"]);
        assert_eq!(records.sweeps(), ["", "load=9.5", "load=10"]);
        assert_eq!(records.pooled_cdf("a", "").total(), 8);

        let tables = write_tables(out.path(), &records).expect("written");
        let text = fs::read_to_string(&tables[0]).expect("the table");
        assert_eq!(text.lines().count(), 6);
        assert!(!text.contains("machine") && !text.contains("wall_s"));
        assert_eq!(compare(&tables[0], &records, None).expect("comparable"), []);
        // The tables stand beside the cells and are not taken for cells.
        assert_eq!(collect(out.path()).expect("collected"), records);
    }

    #[test]
    fn absent_values_are_empty_cells() {
        let text = String::from_utf8(table_text(Path::new("x"), [&cell("a", "", 1).row]).expect("text"))
            .expect("UTF-8");
        let values: Vec<&str> = text.lines().nth(1).expect("a row").rsplit(',').take(5).collect();
        assert_eq!(values, ["1e-7", "0", "0", "", ""]);
    }

    #[test]
    fn a_cell_is_reused_only_if_all_of_it_fits() {
        let reused = |change: &dyn Fn(&Files, &mut Key)| {
            let out = folder();
            let cell = cell("a", "", 1);
            save(out.path(), &cell).expect("saved");
            let mut key = cell.row.key();
            change(&Files::of(out.path(), &key), &mut key);
            reusable(out.path(), &key, &cell.row.provenance()).is_some()
        };
        assert!(reused(&|_, _| {}));
        assert!(!reused(&|_, key| key.scenario = "fedcba9876543210".to_string()));
        assert!(!reused(&|_, key| key.parameters.clear()));
        assert!(!reused(&|_, key| key.data = "EUA".to_string()));
        assert!(!reused(&|_, key| key.seed = 2));
        assert!(!reused(&|files, _| fs::remove_file(&files.cdf).expect("removed")));
        assert!(!reused(&|files, _| fs::remove_file(&files.timing).expect("removed")));
        assert!(!reused(&|files, _| edit(&files.row, ",100.0,", ",1oo,")));
        assert!(!reused(&|files, _| edit(&files.cdf, "90,2", "90,9")));
        assert!(!reused(&|files, _| edit(&files.timing, "abcdef", "abcdff")));
        assert!(!reused(&|files, _| fs::write(&files.timing, "").expect("written")));
        assert!(!reused(&|files, _| fs::remove_file(&files.sums).expect("removed")));
        // A value that is as likely as the one that was saved.
        assert!(!reused(&|files, _| edit(&files.row, ",5,2,2.0,", ",6,2,2.0,")));
        assert!(!reused(&|files, _| edit(&files.cdf, "1500,3", "1501,3")));

        let out = folder();
        let cell = cell("a", "", 1);
        save(out.path(), &cell).expect("saved");
        let mut build = cell.row.provenance();
        assert!(reusable(out.path(), &cell.row.key(), &build).is_some());
        build.revision = "def".to_string();
        assert!(reusable(out.path(), &cell.row.key(), &build).is_none());
    }

    #[test]
    fn a_kill_between_the_files_leaves_no_cell() {
        let out = folder();
        let cell = cell("a", "", 1);
        let files = Files::of(out.path(), &cell.row.key());
        write_atomically(&files.cdf, &cdf_text(&cell.cdf)).expect("written");
        fs::write(files.row.with_file_name(".a_seed1.csv.7.half"), "experiment,sce").expect("written");
        assert_eq!(reusable(out.path(), &cell.row.key(), &cell.row.provenance()), None);
        assert_eq!(collect(out.path()).expect("collected"), Records::default());
        assert_eq!(collect(&out.path().join("nothing")).expect("collected"), Records::default());
    }

    #[test]
    fn errors_say_where_and_what() {
        let message = |change: &dyn Fn(&Files)| {
            let out = folder();
            let cell = cell("a", "", 1);
            save(out.path(), &cell).expect("saved");
            change(&Files::of(out.path(), &cell.row.key()));
            let error = collect(out.path()).expect_err("an error").to_string();
            error.replace(&out.path().join("records/paper/cells/").to_string_lossy().to_string(), "")
        };
        let check = |change: &dyn Fn(&Files), wanted: &str| {
            let got = message(change);
            assert!(got.contains(wanted), "{got}\n{wanted}");
        };
        check(
            &|f| edit(&f.row, ",4,3,1,", ",4,x,1,"),
            "a_seed1.csv, line 2, column `finished`: found `x`, expected",
        );
        check(
            &|f| edit(&f.row, ",4,3,1,", ",4,2,1,"),
            "column `requests`: found `4`, expected finished + rejected",
        );
        check(
            &|f| edit(&f.row, ",0.7,", ",NaN,"),
            "column `cpu_utilisation`: found `NaN`, expected a number not below 0",
        );
        check(
            &|f| edit(&f.row, ",150.0,", ",80.0,"),
            "column `latency_ms_p95`: found `80`, expected at least `latency_ms_p50`, 90",
        );
        check(&|f| edit(&f.row, ",0.1,100.0,", ",0.1,90.0,"), "the sum of cold, comp, comm and wait");
        check(&|f| edit(&f.row, "finished", "fnished"), "line 2: unknown field `fnished`");
        check(&|f| edit(&f.row, ",0.25,", ","), "fields, expected");
        check(
            &|f| edit(&f.cdf, "1500,3", "15oo,3"),
            "a_seed1.cdf.csv, line 3, column `latency_ms`: found `15oo`",
        );
        check(
            &|f| edit(&f.cdf, "1500,3", "1500,1"),
            "a_seed1.cdf.csv, line 3, column `count`: found `1500,1`",
        );
        check(
            &|f| edit(&f.cdf, "inf,4\n", "inf,5\n"),
            "5 latencies, expected one a request: 3 finished of 4",
        );
        check(&|f| fs::remove_file(&f.timing).expect("removed"), "a_seed1.timing.csv: ");
        check(&|f| fs::write(&f.row, "").expect("written"), "0 rows, expected one");
        check(&|f| edit(&f.row, ",5,2,2.0,", ",6,2,2.0,"), "a_seed1.csv: the SHA-256 of these bytes is ");
        check(&|f| edit(&f.cdf, "1500,3", "1501,3"), "a_seed1.cdf.csv: the SHA-256 of these bytes is ");
        check(&|f| fs::write(&f.sums, "").expect("written"), "expected none as in a_seed1.sha256");
    }

    #[test]
    fn halves_are_told_from_all_else() {
        let check = |name: &str, whole: Option<&str>| {
            let path = Path::new("cells").join(name);
            assert_eq!(whole_of(&path), whole.map(|whole| Path::new("cells").join(whole)), "{name}");
        };
        check(".a_seed1.csv.0.half", Some("a_seed1.csv"));
        check(".a_load=0.7_seed1.cdf.csv.4711.half", Some("a_load=0.7_seed1.cdf.csv"));
        check("a_seed1.csv", None);
        check("a_seed1.csv.0.half", None);
        check(".a_seed1.csv.half", None);
        check(".a_seed1.csv.x.half", None);
        check(".half", None);
    }

    #[test]
    fn halves_are_removed_and_nothing_else() {
        let left = |only: Option<&[Key]>| {
            let out = folder();
            let (a, b) = (cell("a", "", 1), cell("b", "load=0.5", 2));
            save(out.path(), &a).expect("saved");
            save(out.path(), &b).expect("saved");
            let before = collect(out.path()).expect("collected");
            let cells = super::folder(out.path(), "paper").join("cells");
            let halves = [
                out.path().join(".report.md.0.half"),
                cells.with_file_name(".paper.csv.0.half"),
                cells.join(".a_seed1.csv.0.half"),
                cells.join(".a_seed1.sha256.1.half"),
                cells.join(".b_load=0.5_seed2.timing.csv.9.half"),
            ];
            halves.iter().for_each(|half| fs::write(half, "half").expect("written"));
            // One that stands in the way of nobody.
            save(out.path(), &a).expect("saved");
            let removed = remove_halves(out.path(), "paper", only).expect("removed");
            let left = halves.iter().filter(|half| half.exists()).count();
            assert_eq!(removed + left, halves.len());
            assert_eq!(collect(out.path()).expect("collected"), before);
            left
        };
        assert_eq!(left(None), 0);
        assert_eq!(left(Some(&[cell("a", "", 1).row.key()])), 3);
        assert_eq!(left(Some(&[])), 5);
    }

    #[test]
    fn a_plan_comes_back() {
        let out = folder();
        let plan = [cell("a", "load=9.5", 2), cell("a", "load=10", 1)].map(|cell| cell.row.key());
        assert!(plan.is_sorted());
        write_plan(out.path(), "paper", &plan).expect("written");
        assert_eq!(read_plan(out.path(), "paper").expect("read"), plan);
        assert_eq!(experiments(out.path()).expect("read"), ["paper"]);
        // It is not taken for a cell.
        assert_eq!(collect(out.path()).expect("collected"), Records::default());
    }

    #[test]
    fn nothing_that_is_not_a_number_is_saved() {
        let mut cell = cell("a", "", 1);
        cell.row.latency_ms_p99 = Some(f64::NAN);
        let error = save(folder().path(), &cell).expect_err("refused").to_string();
        assert!(error.contains("column `latency_ms_p99`: found `NaN`"), "{error}");
    }

    #[test]
    fn names_of_cells_do_not_meet() {
        let id = |algorithm: &str, sweep: &str| cell(algorithm, sweep, 3).row.key().id();
        assert_eq!(id("greedy-latency", ""), "greedy-latency_seed3");
        assert_eq!(id("greedy-latency", "load=0.7"), "greedy-latency_load=0.7_seed3");
        let names = [
            ("a", "b"),
            ("a_b", ""),
            ("A", "b"),
            ("a", "B"),
            ("a/", "b"),
            ("a:", "b"),
            ("a", "../b"),
            ("a_", "b"),
        ];
        let mut ids: Vec<String> = names.iter().map(|(a, s)| id(a, s).to_lowercase()).collect();
        assert!(ids.iter().all(|id| !id.contains('/') && !id.contains(':')), "{ids:?}");
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), names.len(), "{ids:?}");
    }

    #[test]
    fn comparison_names_each_difference() {
        let out = folder();
        let golden = Records::new(vec![cell("a", "", 1), cell("b", "", 1)]);
        let table = write_tables(out.path(), &golden).expect("written").remove(0);
        let mut ours = Records::new(vec![cell("a", "", 1), cell("c", "", 1)]);
        ours.cells[0].row.revision = "another".to_string();
        ours.cells[0].row.latency_ms_p50 = Some(90.000001);
        ours.cells[0].row.evictions = 7;
        let found: Vec<String> =
            compare(&table, &ours, None).expect("comparable").iter().map(Difference::to_string).collect();
        assert_eq!(
            found,
            [
                "paper/a, seed 1: latency_ms_p50 is `90.000001`, golden `90.0`",
                "paper/a, seed 1: evictions is `7`, golden `0`",
                "paper/b, seed 1: in the golden table only",
                "paper/c, seed 1: not in the golden table",
            ]
        );
        assert_eq!(compare(&table, &ours, Some(1e-6)).expect("comparable").len(), 3);
    }

    proptest! {
        #[test]
        fn any_row_survives_the_disk(seed: u64, parameters in ".{0,20}", sweep in "[a-z=0-9. /]{0,8}", p50 in 0.0..150.0f64) {
            let out = folder();
            let mut cell = cell("a", &sweep, seed);
            cell.row.latency_ms_p50 = Some(p50);
            cell.row.parameters = parameters.clone();
            cell.timing.parameters = parameters;
            save(out.path(), &cell).expect("saved");
            prop_assert_eq!(reusable(out.path(), &cell.row.key(), &cell.row.provenance()), Some(cell));
        }
    }
}
