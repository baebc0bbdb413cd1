//! Joins the records of several folders, such as those of shards, after it has verified that they belong together.
//!
//! The folders must hold the same plan (`plan.csv`: scenario hash, algorithms with their parameters, seeds, data), come
//! from the same program file (`build.sha256`), and have every cell of the plan between them; a cell that stands in two
//! of them must be the same in both, timings aside. Only then is anything written: the cells and the tables, with the
//! bytes of a single run, timings aside. An experiment with `[batches]` has a file a seed instead of cells.
//!
//! A timing row is taken as it is: it names the machine it was taken on. [`Merged::machines`] and [`Merged::untimed`] say
//! whether decision times can be compared; those that are absent are measured by [`crate::measure::measure`] in the
//! merged folder, all on one machine.

use crate::batches;
use crate::record::{self, Cell, Key, RecordError, Records};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What was joined of one experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Its name.
    pub experiment: String,
    /// How many cells it has; none with `[batches]`.
    pub cells: usize,
    /// How many seeds of `[batches]` it has; none without.
    pub batches: usize,
    /// The folders that had some of them, in the order given.
    pub folders: Vec<PathBuf>,
    /// The kinds of machine that timed decisions.
    pub machines: Vec<String>,
    /// How many cells have no decision times.
    pub untimed: usize,
}

/// Why folders were not joined. Then nothing is written.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A record that cannot be read or written, or is not what was saved.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A folder without records.
    #[error("{}: no records: expected a folder that `scale measure --out` or `scale reproduce --out` wrote", folder.display())]
    Nothing {
        /// The folder.
        folder: PathBuf,
    },
    /// Two folders of two programs.
    #[error(
        "{}: {experiment} was recorded by another build (SHA-256 {}) or with other agents or batches than in {} ({}): all shards need \
         the same program file and the same settings",
        folder.display(),
        one_line(found),
        first.display(),
        one_line(expected)
    )]
    OtherBuild {
        /// The experiment.
        experiment: String,
        /// The folder.
        folder: PathBuf,
        /// Its stamp: the SHA-256 of its program, and settings.
        found: String,
        /// The folder it is compared with.
        first: PathBuf,
        /// The stamp of that one.
        expected: String,
    },
    /// Two cells of two revisions or compilers, whatever their folders say.
    #[error("{}: recorded by {found}, expected {expected} as in {}", file.display(), first.display())]
    OtherProvenance {
        /// The cell's file.
        file: PathBuf,
        /// What recorded it.
        found: String,
        /// The file it is compared with.
        first: PathBuf,
        /// What recorded that one.
        expected: String,
    },
    /// Two folders of two versions of an experiment, or of two states of its data.
    #[error(
        "{}: {experiment} is another version of the experiment, or was played on other data, than in {}: {difference}",
        folder.display(),
        first.display()
    )]
    OtherPlan {
        /// The experiment.
        experiment: String,
        /// The folder.
        folder: PathBuf,
        /// The folder it is compared with.
        first: PathBuf,
        /// The first difference.
        difference: String,
    },
    /// A cell that the experiment does not have.
    #[error("{}: {cell} (scenario {scenario}) is not in the plan of its experiment: remove it", file.display())]
    Stray {
        /// The cell's file.
        file: PathBuf,
        /// The cell.
        cell: String,
        /// The hash of its scenario.
        scenario: String,
    },
    /// The same cell with two contents.
    #[error(
        "{}: {cell}: {what} differs from that in {}: one of them is wrong, measure both again",
        file.display(),
        first.display()
    )]
    Twice {
        /// The cell.
        cell: String,
        /// One file.
        file: PathBuf,
        /// The other file.
        first: PathBuf,
        /// What is different.
        what: String,
    },
    /// An agent, or a seed's batches, with two contents.
    #[error("{}: differs from {}: one of them is wrong, measure both again", file.display(), first.display())]
    FilesDiffer {
        /// One file.
        file: PathBuf,
        /// The other file.
        first: PathBuf,
    },
    /// Batches that no folder has.
    #[error("{experiment}: the batches of {} of {planned} seeds are missing: {missing:?}", missing.len())]
    MissingBatches {
        /// The experiment.
        experiment: String,
        /// The seeds.
        missing: Vec<u64>,
        /// How many seeds the experiment has.
        planned: usize,
    },
    /// Joined batches that cannot be read or written.
    #[error("{experiment}: the tables of its batches: {why}")]
    BatchTables {
        /// The experiment.
        experiment: String,
        /// Why.
        why: String,
    },
    /// Cells that no folder has.
    #[error("{experiment}: {} of {planned} cells are missing:{}", missing.len(), list(missing))]
    Missing {
        /// The experiment.
        experiment: String,
        /// The cells.
        missing: Vec<Key>,
        /// How many cells the experiment has.
        planned: usize,
    },
}

fn one_line(stamp: &str) -> String {
    stamp.replace('\n', ", ")
}

fn list(keys: &[Key]) -> String {
    keys.iter().map(|key| format!("\n  {key}")).collect()
}

/// Verifies the records below the folders `inputs` and joins them below `out`. What stands below `out` already is one
/// more input, so that a merge that was killed goes on, and `out` may be the folder that all shards share.
///
/// # Errors
/// See [`MergeError`].
pub fn merge(out: &Path, inputs: &[PathBuf]) -> Result<Vec<Merged>, MergeError> {
    let mut folders: Vec<(PathBuf, Vec<String>)> = Vec::new();
    for folder in inputs {
        let experiments = record::experiments(folder)?;
        if experiments.is_empty() {
            return Err(MergeError::Nothing { folder: folder.clone() });
        }
        folders.push((folder.clone(), experiments));
    }
    // Other experiments below `out` are nobody's business.
    let experiments: BTreeSet<String> =
        folders.iter().flat_map(|(_, experiments)| experiments.clone()).collect();
    let same =
        |folder: &PathBuf| folder.canonicalize().is_ok_and(|f| out.canonicalize().is_ok_and(|o| f == o));
    if !inputs.iter().any(same) {
        folders.push((out.to_path_buf(), record::experiments(out)?));
    }
    let joined = experiments.iter().map(|experiment| {
        let having = folders.iter().filter(|(_, experiments)| experiments.contains(experiment));
        join(experiment, &having.map(|(folder, _)| folder.as_path()).collect::<Vec<_>>())
    });
    let joined = joined.collect::<Result<Vec<Joined<'_>>, MergeError>>()?;
    joined.into_iter().map(|joined| joined.write(out)).collect()
}

/// Files by name: where each was found first, and its bytes.
type Found = BTreeMap<String, (PathBuf, Vec<u8>)>;

/// The verified cells of one experiment.
#[derive(Default)]
struct Joined<'a> {
    experiment: &'a str,
    build: String,
    plan: Vec<Key>,
    cells: Vec<Cell>,
    /// Files of `[batches]` by name: where each was found first, and its bytes.
    batches: Found,
    /// The same for the agents that played.
    agents: Found,
    folders: Vec<PathBuf>,
}

fn join<'a>(experiment: &'a str, folders: &[&Path]) -> Result<Joined<'a>, MergeError> {
    // Never empty: the experiment was found in one of them.
    let empty = Joined { experiment, ..Joined::default() };
    let Some(&first) = folders.first() else { return Ok(empty) };
    let (build, plan) = (record::read_stamp(first, experiment)?, record::read_plan(first, experiment)?);
    let mut cells: BTreeMap<Key, (PathBuf, Cell)> = BTreeMap::new();
    let (mut batches, mut agents) = (Found::new(), Found::new());
    for &folder in folders {
        let found = record::read_stamp(folder, experiment)?;
        if found != build {
            let (experiment, expected) = (experiment.to_string(), build);
            let (folder, first) = (folder.to_path_buf(), first.to_path_buf());
            return Err(MergeError::OtherBuild { experiment, folder, found, first, expected });
        }
        if let Some(difference) = difference(&record::read_plan(folder, experiment)?, &plan) {
            let (experiment, folder, first) =
                (experiment.to_string(), folder.to_path_buf(), first.to_path_buf());
            return Err(MergeError::OtherPlan { experiment, folder, first, difference });
        }
        for (file, cell) in record::cells_of(folder, experiment)? {
            add(&mut cells, &plan, file, cell)?;
        }
        let names = seeds(&plan).into_iter().flat_map(batches::files_of);
        add_files(&mut batches, names, &record::folder(folder, experiment).join("batches"))?;
        let names = build.lines().filter(|line| line.ends_with(".safetensors")).map(str::to_string);
        add_files(&mut agents, names, &folder.join("agents"))?;
    }
    let folders = folders.iter().map(|folder| folder.to_path_buf()).collect();
    if !batches.is_empty() {
        let all = seeds(&plan);
        let there = |seed: &u64| batches::files_of(*seed).iter().all(|name| batches.contains_key(name));
        let missing: Vec<u64> = all.iter().filter(|seed| !there(seed)).copied().collect();
        let (experiment, planned) = (experiment.to_string(), all.len());
        if !missing.is_empty() {
            return Err(MergeError::MissingBatches { experiment, missing, planned });
        }
        check_batches(&experiment, &batches)?;
        return Ok(Joined { build, plan, batches, agents, folders, ..empty });
    }
    let missing: Vec<Key> = plan.iter().filter(|key| !cells.contains_key(key)).cloned().collect();
    if !missing.is_empty() {
        return Err(MergeError::Missing { experiment: experiment.to_string(), missing, planned: plan.len() });
    }
    let cells = cells.into_values().map(|(_, cell)| cell).collect();
    Ok(Joined { build, plan, cells, agents, folders, ..empty })
}

/// The seeds of a plan.
fn seeds(plan: &[Key]) -> Vec<u64> {
    plan.iter().map(|key| key.seed).collect::<BTreeSet<u64>>().into_iter().collect()
}

/// Adds those of the named files that a folder has; they have the same bytes wherever they were made.
fn add_files(
    found: &mut Found,
    names: impl Iterator<Item = String>,
    folder: &Path,
) -> Result<(), MergeError> {
    for name in names {
        let file = folder.join(&name);
        let bytes = match std::fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(source) => return Err(RecordError::Io { file, source }.into()),
        };
        match found.get(&name) {
            Some((first, known)) if *known != bytes => {
                return Err(MergeError::FilesDiffer { file, first: first.clone() });
            }
            Some(_) => {}
            None => _ = found.insert(name, (file, bytes)),
        }
    }
    Ok(())
}

/// Whether all batches can be read and come from one revision and compiler.
fn check_batches(experiment: &str, batches: &Found) -> Result<(), MergeError> {
    let mut known: Option<(&Path, record::Provenance)> = None;
    for (name, (file, bytes)) in batches.iter().filter(|(name, _)| !name.ends_with(".trace.csv")) {
        let unreadable = |why: String| MergeError::BatchTables { experiment: experiment.to_string(), why };
        let of = batches::provenance_of(bytes)
            .map_err(|error| unreadable(format!("{}: {error}", file.display())))?;
        let of = of.ok_or_else(|| unreadable(format!("{name}: no rows")))?;
        match &known {
            Some((first, expected)) if *expected != of => {
                let text = |p: &record::Provenance| format!("revision {} with {}", p.revision, p.toolchain);
                let (found, expected, first) = (text(&of), text(expected), first.to_path_buf());
                return Err(MergeError::OtherProvenance { file: file.clone(), found, first, expected });
            }
            _ => known = Some((file, of)),
        }
    }
    Ok(())
}

fn add(
    cells: &mut BTreeMap<Key, (PathBuf, Cell)>,
    plan: &[Key],
    file: PathBuf,
    cell: Cell,
) -> Result<(), MergeError> {
    let key = cell.row.key();
    if plan.binary_search(&key).is_err() {
        return Err(MergeError::Stray { file, cell: key.to_string(), scenario: key.scenario });
    }
    if let Some((first, any)) = cells.values().next()
        && any.row.provenance() != cell.row.provenance()
    {
        let text = |cell: &Cell| format!("revision {} with {}", cell.row.revision, cell.row.toolchain);
        let (found, expected) = (text(&cell), text(any));
        return Err(MergeError::OtherProvenance { file, found, first: first.clone(), expected });
    }
    let Some((first, known)) = cells.get_mut(&key) else {
        cells.insert(key, (file, cell));
        return Ok(());
    };
    let what = match (known.row == cell.row, known.cdf == cell.cdf) {
        (true, true) => {
            if known.timing.wall_s.is_none() {
                known.timing = cell.timing;
            }
            return Ok(());
        }
        (true, false) => "the distribution of its latencies",
        (false, _) => "its row",
    };
    Err(MergeError::Twice { cell: key.to_string(), file, first: first.clone(), what: what.to_string() })
}

impl Joined<'_> {
    fn write(self, out: &Path) -> Result<Merged, MergeError> {
        let Joined { experiment, build, plan, cells, batches, agents, folders } = self;
        record::remove_halves(out, experiment, None)?;
        record::write_plan(out, experiment, &plan)?;
        record::write_stamp(out, experiment, &build)?;
        for (name, (_, bytes)) in &agents {
            record::write_atomically(&out.join("agents").join(name), bytes)?;
        }
        if !batches.is_empty() {
            for (name, (_, bytes)) in &batches {
                let file = record::folder(out, experiment).join("batches").join(name);
                record::write_atomically(&file, bytes)?;
            }
            let seeds = seeds(&plan);
            batches::write_tables(out, experiment, &seeds).map_err(|error| MergeError::BatchTables {
                experiment: experiment.to_string(),
                why: format!("{error:#}"),
            })?;
            let (experiment, batches) = (experiment.to_string(), seeds.len());
            return Ok(Merged { experiment, cells: 0, batches, folders, machines: Vec::new(), untimed: 0 });
        }
        for cell in &cells {
            let there = record::reusable(out, &cell.row.key(), &cell.row.provenance());
            if there.as_ref() != Some(cell) {
                record::save(out, cell)?;
            }
        }
        let timed = || cells.iter().map(|cell| &cell.timing).filter(|timing| timing.wall_s.is_some());
        let machines: BTreeSet<String> = timed().map(|timing| timing.machine.clone()).collect();
        let untimed = cells.len() - timed().count();
        let merged = Merged {
            experiment: experiment.to_string(),
            cells: cells.len(),
            batches: 0,
            folders,
            machines: machines.into_iter().collect(),
            untimed,
        };
        record::write_tables(out, &Records::new(cells))?;
        Ok(merged)
    }
}

/// The first difference of a plan from the one that is expected; `None` if there is none.
pub fn difference(found: &[Key], expected: &[Key]) -> Option<String> {
    if found == expected {
        return None;
    }
    if let Some((found, expected)) = found.iter().zip(expected).find(|(found, expected)| found != expected) {
        let parts = [
            ("scenario", &found.scenario, &expected.scenario),
            ("parameters", &found.parameters, &expected.parameters),
            ("data", &found.data, &expected.data),
        ];
        if found.to_string() != expected.to_string() {
            return Some(format!("it has {found}, expected {expected}"));
        }
        // The data is part of the scenario's hash, and says more than it.
        let (part, found_value, expected_value) =
            parts.into_iter().rev().find(|(_, found, expected)| found != expected)?;
        return Some(format!("{found}: {part} {found_value:?}, expected {expected_value:?}"));
    }
    Some(format!("it has {} cells, expected {}", found.len(), expected.len()))
}
