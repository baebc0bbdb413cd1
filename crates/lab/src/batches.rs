//! Single batches instead of whole runs: the same problems for every algorithm, so that only the decision differs.
//!
//! Over a day two algorithms soon decide different problems, because each leaves other containers behind. Here a run of
//! one algorithm gives the problems, every so many batches one, and each algorithm solves each of them from the same
//! state. The exact solver proves a bound on each; [`GapRow::gap`] says how far above it an algorithm ends. Of the algorithm
//! whose run it is, what counts is what it did there: an agent remembers the requests before, which a batch alone does not
//! tell it.
//!
//! Records stand below `<out>/records/<experiment>/`: `batches/seed<seed>.csv` and `.trace.csv` for each seed, written
//! when all its batches are solved, and all seeds together in `<experiment>.gap.csv` and `<experiment>.trace.csv`. All of
//! them have the same bytes on every run.

use crate::experiment::{Batches, Experiment, Point};
use crate::measure::{self, Build, Share};
use crate::record::{self, RecordError, write_atomically};
use crate::roster::{self, Entry, Player};
use crate::scenario::Built;
use crate::stats::mean;
use crate::train::Agents;
use anyhow::{Context, Result, anyhow, bail, ensure};
use rayon::prelude::*;
use scale_evolve::{Hybrid, Midaco};
use scale_milp::bounds;
use scale_model::{
    BatchProblem, Budget, Instance, Outcome, Placement, Proof, Seed, SolveError, evaluate, violations,
};
use scale_sim::Observer;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::path::{Path, PathBuf};

/// What an algorithm, or a bound, reaches on one batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GapRow {
    /// Name of the experiment.
    pub experiment: String,
    /// Hash of the scenario.
    pub scenario: String,
    /// Roster name of the algorithm, or [`LP`] or [`CAPACITY_FREE`].
    pub algorithm: String,
    /// Its parameters.
    pub parameters: String,
    /// Seed of the workload.
    pub seed: u64,
    /// Number of the batch, from 0 at the end of the warm-up.
    pub batch: u64,
    /// Requests in it.
    pub requests: u64,
    /// Which data.
    pub data: String,
    /// Git revision that measured it.
    pub revision: String,
    /// Compiler that built it.
    pub toolchain: String,
    /// J of its placement in ms; nothing if it found none. Of a bound: the bound.
    pub objective: Option<f64>,
    /// No placement of the batch has a lower J than this.
    pub bound: f64,
    /// Whether the bound is the optimum.
    pub proved: bool,
}

/// The best J that a search had found after so many evaluations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceRow {
    /// As in [`GapRow`].
    pub experiment: String,
    /// As in [`GapRow`].
    pub scenario: String,
    /// As in [`GapRow`].
    pub algorithm: String,
    /// As in [`GapRow`].
    pub seed: u64,
    /// As in [`GapRow`].
    pub batch: u64,
    /// Evaluations spent.
    pub evaluations: u64,
    /// J in ms; nothing as long as no placement was found.
    pub objective: Option<f64>,
    /// As in [`GapRow`].
    pub bound: f64,
}

/// The bound of the linear relaxation, as a row among the algorithms.
pub const LP: &str = "lp-relaxation";
/// The bound of every request at its cheapest, as a row among the algorithms.
pub const CAPACITY_FREE: &str = "capacity-free";

impl GapRow {
    /// How far the objective lies above the proven bound, in percent of it; negative for a weaker bound.
    pub fn gap(&self) -> Option<f64> {
        gap(self.objective, self.bound)
    }
}

impl TraceRow {
    /// As [`GapRow::gap`].
    pub fn gap(&self) -> Option<f64> {
        gap(self.objective, self.bound)
    }
}

fn gap(objective: Option<f64>, bound: f64) -> Option<f64> {
    objective.map(|objective| 100.0 * (objective - bound) / bound).filter(|gap| gap.is_finite())
}

/// All rows of an experiment, by seed, batch and algorithm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchRecords {
    /// One row an algorithm and batch.
    pub gaps: Vec<GapRow>,
    /// Several rows a search and batch.
    pub traces: Vec<TraceRow>,
}

impl BatchRecords {
    /// The rows of all parts, in their order.
    fn joined(parts: Vec<BatchRecords>) -> BatchRecords {
        let mut all = BatchRecords::default();
        for part in parts {
            all.gaps.extend(part.gaps);
            all.traces.extend(part.traces);
        }
        all
    }

    /// The gaps of all batches, in percent, ascending.
    pub fn gaps_of(&self, algorithm: &str) -> Vec<f64> {
        let rows = self.gaps.iter().filter(|row| row.algorithm == algorithm);
        let mut gaps: Vec<f64> = rows.filter_map(GapRow::gap).collect();
        gaps.sort_by(f64::total_cmp);
        gaps
    }

    /// One value a seed: the mean of what `value` says of its rows.
    pub fn by_seed(&self, algorithm: &str, value: impl Fn(&GapRow) -> Option<f64>) -> Vec<(u64, f64)> {
        let rows = self.gaps.iter().filter(|row| row.algorithm == algorithm);
        means(rows.filter_map(|row| value(row).map(|value| (row.seed, value))))
    }

    /// The same for the gap after so many evaluations.
    pub fn traced_by_seed(&self, algorithm: &str, evaluations: u64) -> Vec<(u64, f64)> {
        let at = |row: &&TraceRow| row.algorithm == algorithm && row.evaluations == evaluations;
        means(self.traces.iter().filter(at).filter_map(|row| row.gap().map(|gap| (row.seed, gap))))
    }

    /// Whether every batch has a placement after so many evaluations. A mean over the lucky ones says too little.
    pub fn all_placed(&self, algorithm: &str, evaluations: u64) -> bool {
        let at = |row: &&TraceRow| row.algorithm == algorithm && row.evaluations == evaluations;
        self.traces.iter().filter(at).all(|row| row.objective.is_some())
    }

    /// Evaluations at which traces were read, ascending.
    pub fn evaluations(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self.traces.iter().map(|row| row.evaluations).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// How many batches were solved, and of how many the optimum is proved.
    pub fn proved(&self) -> (usize, usize) {
        let exact = || self.gaps.iter().filter(|row| row.algorithm == LP);
        (exact().count(), exact().filter(|row| row.proved).count())
    }
}

/// The mean of each seed's values, by seed.
fn means(values: impl Iterator<Item = (u64, f64)>) -> Vec<(u64, f64)> {
    let mut seeds: std::collections::BTreeMap<u64, Vec<f64>> = Default::default();
    values.for_each(|(seed, value)| seeds.entry(seed).or_default().push(value));
    seeds.into_iter().filter_map(|(seed, values)| mean(&values).map(|mean| (seed, mean))).collect()
}

/// Solves what is not recorded yet of the first of `points`, and returns all rows. A shard has some of the seeds, and writes no
/// tables of all.
///
/// # Errors
/// An experiment without `[batches]`, an algorithm that breaks a rule, or records that cannot be written; for a shard also
/// records of another build or another plan.
pub fn measure(
    experiment: &Experiment,
    points: &[Point],
    out: &Path,
    threads: usize,
    share: Share,
) -> Result<BatchRecords> {
    ensure!(threads > 0, "threads: 0: expected at least 1");
    let built = &points.first().ok_or_else(|| anyhow!("no scenario"))?.built;
    let build = Build::of_this_program()?;
    measure::claim_batches(out, experiment, points, &build, share, false)?;
    if share.shard.is_none() {
        record::remove_halves(out, &experiment.name, None)?;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let sampler = experiment.batches.as_ref().map_or("", |batches| &batches.sampled_by);
    let own = |index: usize| share.shard.is_none_or(|shard| shard.has(index));
    let seeds: Vec<(usize, u64)> =
        experiment.seeds.iter().copied().enumerate().filter(|(index, _)| own(*index)).collect();
    let there = |seed: u64| {
        let part = Files::of(out, &experiment.name, seed).read().ok();
        part.filter(|part| belongs(part, experiment, built, seed))
    };
    let open = seeds.iter().filter(|&&(_, seed)| there(seed).is_none());
    let runs: Vec<(&str, u64)> = open.map(|&(_, seed)| (sampler, seed)).collect();
    let agents = Agents::prepare(experiment, &runs, &out.join("agents"), threads)?;
    let mut parts = Vec::new();
    for (index, seed) in seeds {
        let files = Files::of(out, &experiment.name, seed);
        let part = match there(seed) {
            Some(part) => part,
            None => {
                let part = pool.install(|| solve_seed(experiment, built, &build, &agents, seed))?;
                files.write(&part)?;
                part
            }
        };
        tracing::info!("{} {}/{}: seed {seed}", experiment.name, index + 1, experiment.seeds.len());
        parts.push(part);
    }
    let records = BatchRecords::joined(parts);
    match share.shard {
        None => Files::of_all(out, &experiment.name).write(&records)?,
        // Two that began at once may both have found the folder empty.
        Some(_) => measure::claim_batches(out, experiment, points, &build, share, true)?,
    }
    Ok(records)
}

/// The names of the files of a seed, in the folder `batches` of an experiment's records.
pub fn files_of(seed: u64) -> [String; 2] {
    [format!("seed{seed}.csv"), format!("seed{seed}.trace.csv")]
}

/// Who recorded a file of a seed's gaps, from its bytes.
///
/// # Errors
/// What is not such a file.
pub fn provenance_of(bytes: &[u8]) -> Result<Option<record::Provenance>, csv::Error> {
    let rows: Result<Vec<GapRow>, csv::Error> = csv::Reader::from_reader(bytes).deserialize().collect();
    let of = |row: &GapRow| record::Provenance {
        revision: row.revision.clone(),
        toolchain: row.toolchain.clone(),
    };
    Ok(rows?.first().map(of))
}

/// Writes the tables of all seeds from those of each.
///
/// # Errors
/// A seed's file that cannot be read, or a table that cannot be written.
pub fn write_tables(out: &Path, experiment: &str, seeds: &[u64]) -> Result<()> {
    let parts: Result<Vec<BatchRecords>> =
        seeds.iter().map(|&seed| Files::of(out, experiment, seed).read()).collect();
    Files::of_all(out, experiment).write(&BatchRecords::joined(parts?))
}

/// What [`measure()`] has recorded.
///
/// # Errors
/// If something is missing, or belongs to another version of the experiment.
pub fn recorded(experiment: &Experiment, built: &Built, out: &Path) -> Result<BatchRecords> {
    measure::check_settings(out, experiment)?;
    let part = |&seed: &u64| -> Result<BatchRecords> {
        let part = Files::of(out, &experiment.name, seed).read()?;
        ensure!(
            belongs(&part, experiment, built, seed),
            "seed {seed}: recorded for another version of the experiment: run `scale measure` first"
        );
        Ok(part)
    };
    Ok(BatchRecords::joined(experiment.seeds.iter().map(part).collect::<Result<_>>()?))
}

/// Whether rows are those of this scenario and these algorithms, all of them.
fn belongs(part: &BatchRecords, experiment: &Experiment, built: &Built, seed: u64) -> bool {
    let known = |name: &str| part.gaps.iter().any(|row| row.algorithm == name);
    let traced = experiment.batches.as_ref().is_some_and(|batches| batches.evaluations.is_some());
    part.gaps.iter().all(|row| row.scenario == built.hash && row.seed == seed)
        && experiment.algorithms.iter().all(|name| known(name))
        && known(LP)
        && traced != part.traces.is_empty()
}

struct Files {
    gaps: PathBuf,
    traces: PathBuf,
}

impl Files {
    fn of(out: &Path, experiment: &str, seed: u64) -> Files {
        let [gaps, traces] =
            files_of(seed).map(|name| record::folder(out, experiment).join("batches").join(name));
        Files { gaps, traces }
    }

    fn of_all(out: &Path, experiment: &str) -> Files {
        let table = |what: &str| record::folder(out, experiment).join(format!("{experiment}.{what}.csv"));
        Files { gaps: table("gap"), traces: table("trace") }
    }

    fn read(&self) -> Result<BatchRecords> {
        Ok(BatchRecords { gaps: read(&self.gaps)?, traces: read(&self.traces)? })
    }

    /// The gaps come last: with them a seed is whole.
    fn write(&self, part: &BatchRecords) -> Result<()> {
        write(&self.traces, &part.traces)?;
        write(&self.gaps, &part.gaps)
    }
}

fn read<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>> {
    let mut reader = csv::Reader::from_path(file).with_context(|| format!("{}", file.display()))?;
    let rows: Result<Vec<T>, csv::Error> = reader.deserialize().collect();
    rows.with_context(|| format!("{}", file.display()))
}

fn write<T: Serialize>(file: &Path, rows: &[T]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    let text = writer
        .into_inner()
        .map_err(|error| RecordError::Io { file: file.to_path_buf(), source: error.into_error() })?;
    Ok(write_atomically(file, &text)?)
}

/// Keeps every so many batches.
struct Sample {
    every: u64,
    seen: u64,
    kept: Vec<Kept>,
}

/// A batch of a run, and what was decided there.
struct Kept {
    batch: u64,
    instance: Instance,
    placement: Placement,
}

impl Observer for Sample {
    fn batch(&mut self, problem: &BatchProblem<'_>, outcomes: &[Outcome], measured: bool) {
        if measured {
            if self.seen % self.every == self.every / 2 {
                let decisions = outcomes.iter().map(|outcome| outcome.decision).collect();
                let (instance, placement) = (Instance::of(problem), Placement { decisions });
                self.kept.push(Kept { batch: self.seen, instance, placement });
            }
            self.seen += 1;
        }
    }
}

fn solve_seed(
    experiment: &Experiment,
    built: &Built,
    build: &Build,
    agents: &Agents,
    seed: u64,
) -> Result<BatchRecords> {
    let batches = experiment.batches.as_ref().ok_or_else(|| anyhow!("expected [batches]"))?;
    let entries: Result<Vec<&Entry>> =
        experiment.algorithms.iter().map(|name| roster::find(name).map_err(|error| anyhow!(error))).collect();
    let entries = entries?;
    let sampler = roster::find(&batches.sampled_by).map_err(|error| anyhow!(error))?;
    let generated = built.workload(seed)?;
    let config = built.sim(generated.warmup_until);
    let mut sample = Sample { every: batches.every, seen: 0, kept: Vec::new() };
    measure::run(&built.platform, &generated.workload, &config, sampler, agents, seed, &mut sample)?;
    ensure!(
        !sample.kept.is_empty(),
        "batches.every: {}: expected at most twice the batches of the run, which are {}",
        batches.every,
        sample.seen
    );
    let parts: Result<Vec<BatchRecords>> = sample
        .kept
        .par_iter()
        .with_max_len(1)
        .map(|kept| {
            let Kept { batch, instance, .. } = kept;
            let row = GapRow {
                experiment: experiment.name.clone(),
                scenario: built.hash.clone(),
                algorithm: String::new(),
                parameters: String::new(),
                seed,
                batch: *batch,
                requests: instance.requests.len() as u64,
                data: built.data.clone(),
                revision: build.revision.clone(),
                toolchain: build.toolchain.clone(),
                objective: None,
                bound: 0.0,
                proved: false,
            };
            solve_batch(batches, &entries, kept, &row).with_context(|| format!("seed {seed}, batch {batch}"))
        })
        .collect();
    Ok(BatchRecords::joined(parts?))
}

/// Every algorithm on one batch. `row` has what its rows have in common.
fn solve_batch(batches: &Batches, entries: &[&Entry], kept: &Kept, row: &GapRow) -> Result<BatchRecords> {
    let problem = &kept.instance.problem();
    let exact = roster::find("milp").map_err(|error| anyhow!(error))?;
    let seed = |entry: &Entry| Seed(row.seed).derive(entry.name, row.batch);
    let (mut solver, budget) = player(exact, seed(exact), problem, row.seed)?.solver();
    let optimum = solver.solve(problem, &Budget { nodes: Some(batches.nodes), ..budget }).context("milp")?;
    judge(problem, &optimum.placement).context("milp")?;
    let relaxed = bounds::lp_relaxation(problem, &Budget::default())?.bound;
    let proved = optimum.proof == Proof::Optimal;
    let bound = if proved { optimum.objective } else { optimum.bound.unwrap_or(relaxed).max(relaxed) };
    let row = GapRow { bound, proved, ..row.clone() };

    let mut records = BatchRecords::default();
    for entry in entries {
        let (placement, trace, parameters) = match batches.evaluations {
            Some(evaluations) if search(entry).is_some() => {
                let (placement, trace) = traced(entry, seed(entry), problem, evaluations);
                (placement, trace, format!("evaluations={evaluations}"))
            }
            _ if entry.name == exact.name => {
                (Some(optimum.placement.clone()), Vec::new(), format!("nodes={}", batches.nodes))
            }
            _ if entry.name == batches.sampled_by => {
                (Some(kept.placement.clone()), Vec::new(), entry.parameters.to_string())
            }
            _ => {
                let player = player(entry, seed(entry), problem, row.seed)?;
                let placement = decide(player, problem).context(entry.name)?;
                (placement, Vec::new(), entry.parameters.to_string())
            }
        };
        let objective = match &placement {
            Some(placement) => Some(judge(problem, placement).with_context(|| entry.name)?),
            None => None,
        };
        let algorithm = entry.name.to_string();
        records.gaps.push(GapRow { algorithm, parameters, objective, ..row.clone() });
        records.traces.extend(trace.into_iter().map(|(evaluations, objective)| TraceRow {
            experiment: row.experiment.clone(),
            scenario: row.scenario.clone(),
            algorithm: entry.name.into(),
            seed: row.seed,
            batch: row.batch,
            evaluations,
            objective,
            bound,
        }));
    }
    for (name, value) in [(LP, relaxed), (CAPACITY_FREE, bounds::capacity_free(problem))] {
        records.gaps.push(GapRow { algorithm: name.into(), objective: Some(value), ..row.clone() });
    }
    Ok(records)
}

/// J of a placement that keeps all constraints.
fn judge(problem: &BatchProblem<'_>, placement: &Placement) -> Result<f64> {
    match violations(problem, placement).first() {
        Some(violation) => bail!("not allowed: {violation}"),
        None => Ok(evaluate(problem, placement).objective),
    }
}

fn player(entry: &Entry, draws: Seed, problem: &BatchProblem<'_>, seed: u64) -> Result<Player> {
    entry.player(draws, &Agents::none(), problem.platform, seed)
}

/// An algorithm on a batch; nothing if it finds no placement.
fn decide(player: Player, problem: &BatchProblem<'_>) -> Result<Option<Placement>> {
    let (mut solver, budget) = player.solver();
    match solver.solve(problem, &budget) {
        Ok(solution) => Ok(Some(solution.placement)),
        Err(SolveError::NothingFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The searches whose way can be traced.
#[derive(Clone, Copy)]
enum Search {
    Midaco,
    Hybrid,
}

fn search(entry: &Entry) -> Option<Search> {
    match entry.name.split_once('-')?.0 {
        "midaco" => Some(Search::Midaco),
        "hybrid" => Some(Search::Hybrid),
        _ => None,
    }
}

/// What a search found, and the best that it had at each point of [`grid`].
fn traced(
    entry: &Entry,
    seed: Seed,
    problem: &BatchProblem<'_>,
    evaluations: u64,
) -> (Option<Placement>, Vec<(u64, Option<f64>)>) {
    let budget = Budget { evaluations: Some(evaluations), ..Budget::default() };
    let (placement, steps) = match search(entry) {
        Some(Search::Midaco) => {
            let (batch, run) = Midaco { evaluations, seed }.run(problem, &budget);
            let best = run.best.filter(|found| found.value.feasible());
            (best.map(|found| batch.placement(&found.point)), run.trace)
        }
        Some(Search::Hybrid) => {
            let run = Hybrid { evaluations, seed }.run(problem, &budget);
            (Some(run.placement), run.trace)
        }
        None => (None, Vec::new()),
    };
    let best_at = |at: u64| {
        let until = steps.iter().filter(|step| step.evaluations <= at && step.value.feasible());
        (at, until.map(|step| step.value.objective).min_by(f64::total_cmp))
    };
    (placement, grid(evaluations).into_iter().map(best_at).collect())
}

/// 100, 200, 500, 1000, ... and the end.
fn grid(end: u64) -> Vec<u64> {
    let decades = std::iter::successors(Some(100u64), |power| power.checked_mul(10)).take_while(|p| *p < end);
    let steps = decades.flat_map(|power| [1, 2, 5].map(|digit| digit * power));
    steps.filter(|at| *at < end).chain([end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Figure;
    use crate::experiment::built_in;

    #[test]
    fn the_grid_ends_where_the_budget_ends() {
        assert_eq!(grid(1000), [100, 200, 500, 1000]);
        assert_eq!(grid(700), [100, 200, 500, 700]);
        assert_eq!(grid(50), [50]);
    }

    #[test]
    fn a_gap_is_in_percent_of_the_bound() {
        assert_eq!(gap(Some(110.0), 100.0).map(|gap| gap.round()), Some(10.0));
        assert_eq!(gap(Some(95.0), 100.0).map(|gap| gap.round()), Some(-5.0));
        assert_eq!(gap(None, 100.0), None);
        assert_eq!(gap(Some(1.0), 0.0), None);
    }

    /// A few batches of the quick scenario: the optimum is nobody's upper bound, and the bounds lie below it.
    #[test]
    fn nobody_beats_the_proven_bound_and_the_records_resume() {
        let text = built_in("quick").expect("built in");
        let mut experiment = Experiment::parse(text).expect("valid");
        experiment.name = "few".into();
        experiment.figures = vec![Figure::Map];
        experiment.seeds = vec![1, 2];
        experiment.algorithms = ["milp", "greedy-latency", "power-of-two", "hybrid-200k", "midaco-50k"]
            .map(String::from)
            .to_vec();
        experiment.scenario.arrivals.warmup_minutes = 60;
        experiment.scenario.arrivals.minutes = Some(6);
        experiment.batches = Some(Batches {
            sampled_by: "greedy-latency".into(),
            every: 3,
            nodes: 1000,
            evaluations: Some(2000),
        });
        let points = experiment.build().expect("a platform");
        let built = &points[0].built;
        let out = tempfile::tempdir().expect("a folder");
        assert!(recorded(&experiment, built, out.path()).is_err());
        let records = measure(&experiment, &points, out.path(), 2, Share::default()).expect("measured");
        let (batches, proved) = records.proved();
        assert!(batches >= 4 && proved == batches, "{proved} of {batches}");
        assert_eq!(records.gaps.len(), 7 * batches);
        for row in &records.gaps {
            // So few evaluations are not enough for a black box.
            let Some(gap) = row.gap() else {
                assert_eq!((row.algorithm.as_str(), row.objective), ("midaco-50k", None));
                continue;
            };
            match row.algorithm.as_str() {
                "milp" => assert_eq!(gap, 0.0),
                LP => assert!((-5.0..=1e-6).contains(&gap), "{gap}"),
                CAPACITY_FREE => assert!(gap <= 1e-6, "{gap}"),
                other => assert!(gap >= -1e-6, "{other}: {gap}"),
            }
        }
        // Each trace falls, and ends at what the search returned.
        for name in ["hybrid-200k", "midaco-50k"] {
            for row in records.gaps.iter().filter(|row| row.algorithm == name) {
                let own = |trace: &&TraceRow| {
                    (trace.algorithm.as_str(), trace.seed, trace.batch) == (name, row.seed, row.batch)
                };
                let way: Vec<Option<f64>> = records.traces.iter().filter(own).map(|t| t.objective).collect();
                assert_eq!(way.len(), grid(2000).len());
                assert!(way.iter().flatten().is_sorted_by(|a, b| a >= b), "{name}: {way:?}");
                let (last, end) = (way.last().copied().flatten(), row.objective);
                let close = |(a, b): (f64, f64)| (a - b).abs() < 1e-2;
                assert!(
                    last.zip(end).is_none_or(close) && last.is_some() == end.is_some(),
                    "{last:?}, {end:?}"
                );
            }
        }
        // A second run reads what the first has written.
        assert_eq!(
            measure(&experiment, &points, out.path(), 1, Share::default()).expect("measured"),
            records
        );
        assert_eq!(recorded(&experiment, built, out.path()).expect("recorded"), records);
        // Other batches are other records, though no key says so; and a run that has too few is refused.
        let often = Experiment {
            batches: experiment.batches.clone().map(|batches| Batches { every: 2, ..batches }),
            ..experiment.clone()
        };
        assert!(recorded(&often, built, out.path()).is_err());
        let more = measure(&often, &points, out.path(), 2, Share::default()).expect("measured");
        assert!(more.proved().0 > batches, "{:?}", more.proved());
        let rare = Experiment {
            batches: experiment.batches.clone().map(|batches| Batches { every: 1_000_000, ..batches }),
            ..experiment.clone()
        };
        let refused = measure(&rare, &points, out.path(), 2, Share::default()).expect_err("no batch");
        assert!(format!("{refused:#}").contains("batches.every: 1000000"), "{refused:#}");
        experiment.algorithms.push("nearest".into());
        assert!(recorded(&experiment, built, out.path()).is_err());
    }
}
