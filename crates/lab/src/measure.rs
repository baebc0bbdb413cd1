//! Plays an experiment and writes its records. Never draws.
//!
//! Two passes. The first plays every cell, several at once, and keeps all that does not depend on a clock. The second
//! plays the head of every cell again, one at a time on one core of a process that does nothing else, and times its
//! decisions. A cell is saved after each pass, so that a run that is killed goes on where it stopped and ends with the same bytes.
//!
//! A [`Shard`] is a part of the cells, for a process of its own. Several may write into one folder, as each writes
//! other cells; nobody but [`crate::merge`] writes the tables then. A cell is timed by the shard that played it, on the
//! machine that its timing row names, unless the share is [`untimed`](Share::untimed): then [`measure`] times all of
//! them on one machine, once they are merged.

use crate::clock::{self, Timed};
use crate::experiment::{Batches, Experiment, Point};
use crate::merge;
use crate::record::{self, Cell, Key, Records, Row, TimingRow};
use crate::roster::{self, Entry, Player};
use crate::scenario::Built;
use crate::stats::{self, Cdf};
use crate::train::{self, Agents};
use anyhow::{Context, Result, anyhow, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use scale_heuristics::GreedyLatency;
use scale_model::{
    BatchProblem, Budget, Container, OneByOne, Outcome, Platform, Request, Scheduler, Seed, Solution,
    SolveError, Solver, Time, Workload, evaluate, latency, violations,
};
use scale_sim::simulate::placement_of;
use scale_sim::{Observer, Policy, Rejection, SimConfig, Summary, simulate};
use scale_workload::Generated;
use sha2::{Digest, Sha256};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One of several parts of an experiment, such as 3 of 16; they are counted from 0, as the engines count that start them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one.
    pub index: usize,
    /// How many there are.
    pub of: usize,
}

impl Shard {
    /// Whether it measures the cell that stands at this place in canonical order, where the cells of an algorithm
    /// follow each other: dealt out in turn, every shard gets as many of a slow algorithm's cells as the others, or one
    /// more.
    pub fn has(self, place: usize) -> bool {
        place % self.of == self.index
    }
}

impl std::str::FromStr for Shard {
    type Err = String;
    /// Reads `3/16`.
    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((index, of)) if index < of => Ok(Shard { index, of }),
            _ => Err(format!("{text:?}: expected a shard such as 3/16, counted from 0/16 to 15/16")),
        }
    }
}

/// What of an experiment is measured: all of it by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Only this part of the cells; then no tables are written and no records of another build removed.
    pub shard: Option<Shard>,
    /// Without the second pass, that of decision times.
    pub untimed: bool,
}

/// Plays what is not recorded yet at the points of an experiment (see [`Experiment::build`]), and returns all records of
/// the experiment in canonical order.
///
/// # Errors
/// An experiment that makes no sense, records that cannot be written, or an algorithm that breaks a rule: then
/// nothing is recorded of that cell.
pub fn measure(experiment: &Experiment, points: &[Point], out: &Path, threads: usize) -> Result<Records> {
    measure_share(experiment, points, out, threads, Share::default())
}

/// As [`measure()`], but a part of it. The records are those of the share.
///
/// # Errors
/// As [`measure()`]. For a shard also a folder with records of another build, or of another version of the experiment:
/// other shards may be writing there, so nothing is removed.
pub fn measure_share(
    experiment: &Experiment,
    points: &[Point],
    out: &Path,
    threads: usize,
    share: Share,
) -> Result<Records> {
    ensure!(threads > 0, "threads: 0: expected at least 1");
    let build = Build::of_this_program()?;
    let groups = groups(experiment, points);
    let mut jobs = jobs(experiment, &groups)?;
    // What a slow algorithm has played beyond its seeds counts; shards need the same plan everywhere.
    let played = |job: &Job| record::reusable(out, &job.key, &build.provenance()).is_some();
    jobs.retain(|job| job.planned(experiment) || (share.shard.is_none() && played(job)));
    let plan = plan_of(&jobs);
    if let Some(shard) = share.shard {
        jobs.retain(|job| plan.binary_search(&job.key).is_ok_and(|place| shard.has(place)));
    }
    let stamp = stamp(experiment, &build)?;
    claim(out, experiment, &stamp, &plan, share)?;
    let own: Vec<Key> = jobs.iter().map(|job| job.key.clone()).collect();
    let halves = record::remove_halves(out, &experiment.name, share.shard.map(|_| own.as_slice()))?;
    if halves > 0 {
        tracing::info!("{}: removed {halves} files that a kill left half-written", out.display());
    }
    let provenance = build.provenance();

    let progress = Progress::new(&format!("{}: play", experiment.name), jobs.len());
    // Agents of cells that are recorded and timed need not be there: a merge may have left them behind.
    let timed = experiment.timing_requests > 0 && !share.untimed;
    let open = |job: &&Job| {
        record::reusable(out, &job.key, &provenance).is_none_or(|cell| timed && cell.timing.wall_s.is_none())
    };
    let cells: Vec<(&str, u64)> =
        jobs.iter().filter(open).map(|job| (job.entry.name, job.group.seed)).collect();
    let agents = Agents::prepare(experiment, &cells, &out.join("agents"), threads)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    // One by one, and what takes minutes first, the longest of it (the largest budget) before the others: no thread should have
    // it for itself at the end.
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&index| match experiment.is_slow(jobs[index].entry.name) {
        true => (0, jobs.len() - index),
        false => (1, index),
    });
    enter(&jobs);
    let cells: Result<Vec<(usize, Cell)>> = pool.install(|| {
        let play = |index: usize| {
            let job = &jobs[index];
            let cell = match record::reusable(out, &job.key, &provenance) {
                Some(cell) => cell,
                None => {
                    let cell = job.play(&build, &agents).with_context(|| job.name())?;
                    record::save(out, &cell)?;
                    cell
                }
            };
            job.group.leave();
            progress.step(&job.name());
            Ok((index, cell))
        };
        order.into_iter().par_bridge().map(play).collect()
    });
    let mut cells = cells?;
    cells.sort_by_key(|(index, _)| *index);
    let mut cells: Vec<Cell> = cells.into_iter().map(|(_, cell)| cell).collect();
    progress.finish();

    let progress = Progress::new(&format!("{}: time", experiment.name), jobs.len());
    enter(&jobs);
    // Asked before the thread below sees but one core.
    let machine = machine();
    let time_all = || -> Result<()> {
        clock::stay_on_one_core();
        for (job, cell) in jobs.iter().zip(&mut cells) {
            if timed && cell.timing.wall_s.is_none() {
                job.time(cell, experiment.timing_requests, &agents, &machine).with_context(|| job.name())?;
                record::save(out, cell)?;
            }
            job.group.leave();
            progress.step(&job.name());
        }
        Ok(())
    };
    std::thread::scope(|scope| scope.spawn(time_all).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    progress.finish();
    let records = Records::new(cells);
    match share.shard {
        None => drop(record::write_tables(out, &records)?),
        // Two that began at once may both have found the folder empty.
        Some(_) => check_claim(out, experiment, &stamp, &plan)?,
    }
    Ok(records)
}

/// The keys of all cells of an experiment, and whether each is needed or belongs to a slow algorithm's further seeds.
/// Records with other keys belong to an older version of the experiment.
///
/// # Errors
/// An algorithm that is not in the roster.
pub fn keys(experiment: &Experiment, points: &[Point]) -> Result<Vec<(Key, bool)>> {
    let groups = groups(experiment, points);
    let with_need = |job: Job<'_>| {
        let needed = job.planned(experiment);
        (job.key, needed)
    };
    Ok(jobs(experiment, &groups)?.into_iter().map(with_need).collect())
}

/// Makes the folder of an experiment with `[batches]` that of this build and of its plan (see [`claim`]), or, when a shard
/// is `done`, looks whether it still is.
///
/// # Errors
/// As [`measure_share`].
pub(crate) fn claim_batches(
    out: &Path,
    experiment: &Experiment,
    points: &[Point],
    build: &Build,
    share: Share,
    done: bool,
) -> Result<()> {
    let (stamp, plan) = (stamp(experiment, build)?, plan_of(&jobs(experiment, &groups(experiment, points))?));
    match done {
        true => check_claim(out, experiment, &stamp, &plan),
        false => claim(out, experiment, &stamp, &plan, share),
    }
}

/// The keys of jobs in canonical order.
fn plan_of(jobs: &[Job<'_>]) -> Vec<Key> {
    let mut plan: Vec<Key> = jobs.iter().map(|job| job.key.clone()).collect();
    plan.sort();
    plan
}

fn groups<'a>(experiment: &Experiment, points: &'a [Point]) -> Vec<Group<'a>> {
    let group =
        |point, &seed: &u64| Group { point, seed, made: Mutex::new(None), needed: AtomicUsize::new(0) };
    points.iter().flat_map(|point| experiment.seeds.iter().map(move |seed| group(point, seed))).collect()
}

fn jobs<'a>(experiment: &Experiment, groups: &'a [Group<'a>]) -> Result<Vec<Job<'a>>> {
    let mut jobs = Vec::new();
    for group in groups {
        for name in &experiment.algorithms {
            let entry = roster::find(name).map_err(|error| anyhow!(error))?;
            let key = Key {
                experiment: experiment.name.clone(),
                scenario: group.point.built.hash.clone(),
                algorithm: entry.name.into(),
                parameters: entry.parameters.into(),
                sweep: group.point.label.clone(),
                seed: group.seed,
                data: group.point.built.data.clone(),
            };
            jobs.push(Job { group, entry, key });
        }
    }
    Ok(jobs)
}

/// One seed at one sweep point: all algorithms play the same requests.
struct Group<'a> {
    point: &'a Point,
    seed: u64,
    /// The workload while jobs need it, and how many still do: all workloads of a large sweep take gigabytes.
    made: Mutex<Option<Arc<Generated>>>,
    needed: AtomicUsize,
}

impl Group<'_> {
    fn generated(&self) -> Result<Arc<Generated>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(generated) = made.as_ref() {
            return Ok(generated.clone());
        }
        let generated = Arc::new(self.point.built.workload(self.seed)?);
        *made = Some(generated.clone());
        Ok(generated)
    }

    /// Says that a job is through with the workload.
    fn leave(&self) {
        if self.needed.fetch_sub(1, Ordering::Relaxed) == 1 {
            *self.made.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}

/// Says that all these jobs will look at their workloads, and leave.
fn enter(jobs: &[Job<'_>]) {
    jobs.iter().for_each(|job| _ = job.group.needed.fetch_add(1, Ordering::Relaxed));
}

/// One cell.
struct Job<'a> {
    group: &'a Group<'a>,
    entry: &'static Entry,
    key: Key,
}

impl Job<'_> {
    fn name(&self) -> String {
        format!("{} {} seed {}", self.key.algorithm, self.key.sweep, self.key.seed).replace("  ", " ")
    }

    fn planned(&self, experiment: &Experiment) -> bool {
        experiment.plays(self.entry.name, self.group.seed)
    }

    fn play(&self, build: &Build, agents: &Agents) -> Result<Cell> {
        let built = &self.group.point.built;
        let generated = self.group.generated()?;
        let played = play(built, &generated, self.entry, agents, self.group.seed, false)?;
        Ok(played.into_cell(&self.key, built, build))
    }

    fn time(&self, cell: &mut Cell, requests: usize, agents: &Agents, machine: &str) -> Result<()> {
        let built = &self.group.point.built;
        let generated = self.group.generated()?;
        let Generated { workload, warmup_until, .. } = generated.as_ref();
        let head = head(workload, *warmup_until, requests);
        let start = clock::now();
        let mut nanoseconds =
            time(&built.platform, &head, &built.sim(*warmup_until), self.entry, agents, self.group.seed)?;
        let wall = start.elapsed();
        nanoseconds.sort_by(f64::total_cmp);
        let microseconds = |value: Option<f64>| value.map(|nanoseconds| nanoseconds / 1000.0);
        cell.timing = TimingRow {
            machine: machine.to_string(),
            threads: 1,
            decisions: nanoseconds.len() as u64,
            decision_us_mean: microseconds(stats::mean(&nanoseconds)),
            decision_us_p50: microseconds(stats::quantile_r7(&nanoseconds, 0.50)),
            decision_us_p99: microseconds(stats::quantile_r7(&nanoseconds, 0.99)),
            wall_s: Some(wall.as_secs_f64()),
            ..cell.timing.clone()
        };
        Ok(())
    }
}

/// The warm-up and the first `requests` requests after it.
fn head(workload: &Workload, warmup_until: Time, requests: usize) -> Workload {
    let warm = workload.requests.iter().filter(|request| request.arrival < warmup_until).count();
    let end = workload.requests.len().min(warm + requests);
    Workload { requests: workload.requests[..end].to_vec() }
}

/// A run and what it showed.
pub struct Played {
    /// Counts and sums.
    pub summary: Summary,
    /// Latencies of the measured requests, ascending, ms.
    pub latencies: Vec<f64>,
    /// The same on the grid, with rejected requests above it.
    pub cdf: Cdf,
    /// Measured decisions that placed a request elsewhere than on its cheapest node.
    pub not_cheapest: u64,
    cores: f64,
    memory_mb: f64,
}

/// Plays one cell, and lets the judge look at every batch. With `verify` the simulator checks its own invariants too.
///
/// # Errors
/// If the algorithm breaks a rule, or the simulator disagrees with the closed form.
pub fn play(
    built: &Built,
    generated: &Generated,
    entry: &Entry,
    agents: &Agents,
    seed: u64,
    verify: bool,
) -> Result<Played> {
    let Generated { workload, warmup_until, .. } = generated;
    let mut witness = Witness::default();
    let config = SimConfig { verify, ..built.sim(*warmup_until) };
    let summary = run(&built.platform, workload, &config, entry, agents, seed, &mut witness)?;
    if let Some(objection) = witness.objection {
        bail!("{objection}");
    }
    let mut latencies = witness.latencies;
    latencies.sort_by(f64::total_cmp);
    Ok(Played {
        summary,
        latencies,
        cdf: witness.cdf,
        not_cheapest: witness.not_cheapest,
        cores: built.platform.topology.total_cores(),
        memory_mb: built.platform.topology.total_memory_mb(),
    })
}

fn player(entry: &Entry, agents: &Agents, platform: &Platform, seed: u64) -> Result<Player> {
    entry.player(Seed(seed).derive(entry.name, 0), agents, platform, seed)
}

/// Lets an entry of the roster play a workload.
///
/// # Errors
/// See [`scale_sim::SimError`]; an agent that is not prepared.
pub fn run(
    platform: &Platform,
    workload: &Workload,
    config: &SimConfig,
    entry: &Entry,
    agents: &Agents,
    seed: u64,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    Ok(match player(entry, agents, platform, seed)? {
        Player::Scheduler(mut scheduler) => {
            simulate(platform, workload, config, Policy::Scheduler(scheduler.as_mut()), observer)?
        }
        Player::Solver(mut solver, budget) => {
            simulate(platform, workload, config, Policy::Solver(solver.as_mut(), budget), observer)?
        }
    })
}

/// Nanoseconds of every decision after the warm-up, which greedy-latency plays in place of a solver: in a second pass over
/// seconds of solving only the cluster has to get warm.
fn time(
    platform: &Platform,
    workload: &Workload,
    config: &SimConfig,
    entry: &Entry,
    agents: &Agents,
    seed: u64,
) -> Result<Vec<f64>> {
    match player(entry, agents, platform, seed)? {
        Player::Scheduler(mut scheduler) => {
            let mut timed = Timed::new(scheduler.as_mut() as &mut dyn Scheduler, config.warmup_until);
            simulate(platform, workload, config, Policy::Scheduler(&mut timed), &mut ())?;
            Ok(timed.nanoseconds)
        }
        Player::Solver(mut solver, budget) => {
            let from = config.warmup_until;
            let mut timed = Timed::new(solver.as_mut() as &mut dyn Solver, from);
            let mut player = AfterWarmup { warmup: OneByOne(GreedyLatency), then: &mut timed, from };
            simulate(platform, workload, config, Policy::Solver(&mut player, budget), &mut ())?;
            Ok(timed.nanoseconds)
        }
    }
}

/// A solver that another stands in for until the warm-up ends.
struct AfterWarmup<'a, 'b> {
    warmup: OneByOne<GreedyLatency>,
    then: &'a mut Timed<'b, dyn Solver>,
    from: Time,
}

impl Solver for AfterWarmup<'_, '_> {
    fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
        match problem.now() < self.from {
            true => self.warmup.solve(problem, budget),
            false => self.then.solve(problem, budget),
        }
    }
}

/// Keeps latencies, and holds every batch against the judge and the closed form.
#[derive(Default)]
struct Witness {
    latencies: Vec<f64>,
    cdf: Cdf,
    not_cheapest: u64,
    objection: Option<String>,
}

impl Observer for Witness {
    fn batch(&mut self, problem: &BatchProblem<'_>, outcomes: &[Outcome], measured: bool) {
        let placement = placement_of(outcomes);
        if self.objection.is_none() {
            if let Some(violation) = violations(problem, &placement).first() {
                self.objection = Some(format!("{}: not allowed: {violation}", problem.now()));
            }
            let closed = evaluate(problem, &placement);
            if !closed.latencies.iter().eq(outcomes.iter().map(|outcome| &outcome.latency)) {
                self.objection =
                    Some(format!("{}: the simulator's latencies differ from evaluate's", problem.now()));
            }
        }
        if measured {
            self.not_cheapest +=
                outcomes.iter().filter(|outcome| not_cheapest(problem, outcome)).count() as u64;
        }
    }

    fn placed(&mut self, outcome: &Outcome, measured: bool) {
        if measured {
            let total = outcome.latency.total().0;
            self.latencies.push(total);
            self.cdf.add(total);
        }
    }

    fn rejected(&mut self, _request: &Request, _why: Rejection, measured: bool) {
        if measured {
            self.cdf.add(f64::INFINITY);
        }
    }
}

/// Whether some node would serve a placed request sooner, were it alone: each node with an idle container, if it has
/// one, and without regard to capacity.
fn not_cheapest(problem: &BatchProblem<'_>, outcome: &Outcome) -> bool {
    let Outcome { request, latency, .. } = outcome;
    let alone = |node| {
        let container = match problem.state.idle(request.function, node) {
            0 => Container::New,
            _ => Container::Reuse,
        };
        latency::predict(problem.platform, request, node, container, problem.now()).total()
    };
    let total = latency.total();
    outcome.decision != scale_model::Decision::Defer
        && problem.platform.node_ids().any(|node| alone(node) < total)
}

impl Played {
    fn into_cell(self, key: &Key, built: &Built, build: &Build) -> Cell {
        let Played { summary, latencies, cdf, not_cheapest, cores, memory_mb } = self;
        let share = |count: u64, of: u64| (of > 0).then(|| count as f64 / of as f64);
        let mean = |sum: f64| (summary.measured > 0).then(|| sum / summary.measured as f64);
        let utilisation = |busy: f64, capacity: f64| {
            let span = summary.span.0;
            (span > 0.0).then(|| busy / (capacity * span))
        };
        let quantile = |q: f64| stats::quantile_r7(&latencies, q);
        let requests = summary.measured + summary.measured_rejected;
        let row = Row {
            experiment: key.experiment.clone(),
            scenario: key.scenario.clone(),
            algorithm: key.algorithm.clone(),
            parameters: key.parameters.clone(),
            sweep: key.sweep.clone(),
            seed: key.seed,
            data: built.data.clone(),
            revision: build.revision.clone(),
            toolchain: build.toolchain.clone(),
            requests,
            finished: summary.measured,
            rejected: summary.measured_rejected,
            deferred_decisions: summary.deferrals,
            batches: summary.batches,
            requests_per_batch_mean: share(summary.decisions, summary.batches),
            latency_ms_mean: stats::mean(&latencies),
            latency_ms_p50: quantile(0.50),
            latency_ms_p95: quantile(0.95),
            latency_ms_p99: quantile(0.99),
            latency_ms_max: latencies.last().copied(),
            cold_ms_mean: mean(summary.latency.cold.0),
            comp_ms_mean: mean(summary.latency.comp.0),
            comm_ms_mean: mean(summary.latency.comm.0),
            wait_ms_mean: mean(summary.latency.wait.0),
            slo_violations: summary.late + summary.measured_rejected,
            slo_violation_rate: summary.violation_rate(),
            cold_starts: summary.cold_starts,
            cold_start_rate: share(summary.cold_starts, summary.measured),
            cpu_utilisation: utilisation(summary.busy_core_ms, cores),
            memory_utilisation: utilisation(summary.busy_mb_ms, memory_mb),
            not_cheapest_rate: share(not_cheapest, summary.decisions - summary.deferrals),
            evictions: summary.evictions,
            expirations: summary.expirations,
            objective_mean: (summary.batches > 0).then(|| summary.objective / summary.batches as f64),
        };
        let timing = TimingRow {
            experiment: row.experiment.clone(),
            scenario: row.scenario.clone(),
            algorithm: row.algorithm.clone(),
            parameters: row.parameters.clone(),
            sweep: row.sweep.clone(),
            seed: row.seed,
            data: row.data.clone(),
            machine: machine(),
            threads: 1,
            decisions: 0,
            decision_us_mean: None,
            decision_us_p50: None,
            decision_us_p99: None,
            wall_s: None,
        };
        Cell { row, cdf, timing }
    }
}

/// What this program was built from.
pub(crate) struct Build {
    pub(crate) revision: String,
    pub(crate) toolchain: String,
    /// SHA-256 of the program itself: records of another build are measured again, even if nothing was committed.
    program: String,
}

impl Build {
    pub(crate) fn of_this_program() -> Result<Build> {
        let program = std::env::current_exe().context("the path of this program")?;
        let bytes = std::fs::read(&program).with_context(|| format!("{}", program.display()))?;
        let digest = Sha256::digest(&bytes);
        Ok(Build {
            revision: env!("SCALE_REVISION").into(),
            toolchain: env!("SCALE_TOOLCHAIN").into(),
            program: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    fn provenance(&self) -> record::Provenance {
        record::Provenance { revision: self.revision.clone(), toolchain: self.toolchain.clone() }
    }
}

/// What the records of an experiment rest on besides their keys: the program file in the first line, then the settings of
/// `[batches]`, and the agents that play, by the names of their files, which hold a digest of all that a training depends on.
fn stamp(experiment: &Experiment, build: &Build) -> Result<String> {
    let mut lines = vec![build.program.clone()];
    lines.extend(settings(experiment)?);
    Ok(lines.join("\n"))
}

/// The lines of a stamp after the first.
fn settings(experiment: &Experiment) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut players: Vec<&str> = experiment.algorithms.iter().map(String::as_str).collect();
    if let Some(batches) = &experiment.batches {
        let Batches { sampled_by, every, nodes, evaluations } = batches;
        let evaluations =
            evaluations.map_or(String::new(), |evaluations| format!(", evaluations {evaluations}"));
        lines.push(format!("batches: sampled by {sampled_by}, every {every}, nodes {nodes}{evaluations}"));
        players = vec![sampled_by];
    }
    let cells: Vec<(&str, u64)> =
        players.into_iter().flat_map(|name| experiment.seeds.iter().map(move |&seed| (name, seed))).collect();
    lines.extend(train::files(experiment, &cells)?);
    Ok(lines)
}

/// Whether what is recorded of an experiment rests on its settings as they are; an error that says so if it does not.
///
/// # Errors
/// Another setting, or a stamp that cannot be read.
pub(crate) fn check_settings(out: &Path, experiment: &Experiment) -> Result<()> {
    let found = record::read_stamp(out, &experiment.name)?;
    let found: Vec<&str> = found.lines().skip(1).collect();
    let expected = settings(experiment)?;
    ensure!(
        found == expected,
        "{}: recorded with {found:?}, expected {expected:?}: run `scale measure` first",
        record::folder(out, &experiment.name).display()
    );
    Ok(())
}

/// Makes the folder of an experiment's records that of a stamp and a plan. What was recorded there under another stamp is
/// removed, and this is said; a shard refuses instead, because others may be writing.
fn claim(out: &Path, experiment: &Experiment, stamp: &str, plan: &[Key], share: Share) -> Result<()> {
    let folder = record::folder(out, &experiment.name);
    if share.shard.is_some() && (folder.join("cells").exists() || folder.join("batches").exists()) {
        return check_claim(out, experiment, stamp, plan);
    }
    forget_others(out, experiment, stamp)?;
    // Before the first cell, so that where there are cells there are these.
    Ok(record::write_plan(out, &experiment.name, plan)?)
}

/// Removes the cells and batches that were recorded under another stamp, and says so.
///
/// # Errors
/// If they cannot be removed, or the stamp cannot be read or written.
fn forget_others(out: &Path, experiment: &Experiment, stamp: &str) -> Result<()> {
    let folder = record::folder(out, &experiment.name);
    if record::read_stamp(out, &experiment.name)? != stamp {
        for old in ["cells", "batches"].map(|name| folder.join(name)).into_iter().filter(|old| old.exists()) {
            tracing::info!(
                "{}: recorded by another build of this program, or with other agents or batches: measuring again",
                old.display()
            );
            std::fs::remove_dir_all(&old).with_context(|| format!("{}", old.display()))?;
        }
        train::forget_curves(out, experiment)?;
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    record::write_stamp(out, &experiment.name, stamp)?;
    Ok(())
}

/// Whether the folder of an experiment's records is that of this stamp and of this plan.
fn check_claim(out: &Path, experiment: &Experiment, stamp: &str, plan: &[Key]) -> Result<()> {
    let folder = record::folder(out, &experiment.name);
    let found = record::read_stamp(out, &experiment.name)?;
    let (program, settings) = (found.lines().next(), found.lines().skip(1).collect::<Vec<_>>());
    ensure!(
        program == stamp.lines().next(),
        "{}: recorded by another build of this program (SHA-256 {}, this one is {}): all shards need the same \
         program file; remove the folder or choose another with --out",
        folder.display(),
        program.unwrap_or("unknown"),
        stamp.lines().next().unwrap_or("unknown")
    );
    ensure!(
        found == stamp,
        "{}: recorded with {settings:?}, expected {:?}; remove the folder or choose another with --out",
        folder.display(),
        stamp.lines().skip(1).collect::<Vec<_>>()
    );
    if let Some(difference) = merge::difference(&record::read_plan(out, &experiment.name)?, plan) {
        bail!(
            "{}: recorded for another version of the experiment or with other data ({difference}); remove the folder or \
             choose another with --out",
            folder.display()
        );
    }
    Ok(())
}

/// Processor and system, as far as they can be told.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_string())
    });
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.into());
    format!("{model}, {cores} cores, {}", std::env::consts::OS)
}

/// A bar on a terminal, lines elsewhere.
struct Progress {
    bar: Option<ProgressBar>,
    name: String,
    total: usize,
    done: std::sync::atomic::AtomicUsize,
}

impl Progress {
    fn new(name: &str, total: usize) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total as u64).with_prefix(name.to_string());
            let style = "{prefix} [{bar:30}] {pos}/{len} {elapsed}<{eta} {msg}";
            bar.with_style(
                ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
            )
        });
        Progress { bar, name: name.into(), total, done: Default::default() }
    }

    fn step(&self, what: &str) {
        let done = 1 + self.done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        match &self.bar {
            Some(bar) => {
                bar.set_message(what.to_string());
                bar.inc(1);
            }
            // About twenty lines in all, and the last one always.
            None if done == self.total || done.is_multiple_of(self.total.div_ceil(20)) => {
                tracing::info!("{} {done}/{}: {what}", self.name, self.total);
            }
            None => {}
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Played {
    /// A few lines for people.
    pub fn text(&self) -> String {
        let Played { summary, latencies, not_cheapest, cores, .. } = self;
        let number = |value: Option<f64>| value.map_or("none".into(), |value| format!("{value:.2}"));
        let percent =
            |value: Option<f64>| value.map_or("none".into(), |value| format!("{:.2} %", 100.0 * value));
        let share = |count: u64, of: u64| percent((of > 0).then(|| count as f64 / of as f64));
        let part = |sum: f64| number((summary.measured > 0).then(|| sum / summary.measured as f64));
        let quantile = |q: f64| number(stats::quantile_r7(latencies, q));
        let busy = (summary.span.0 > 0.0).then(|| summary.busy_core_ms / (cores * summary.span.0));
        format!(
            "requests         {} measured, {} rejected, {:.1} in a batch\n\
             latency          mean {} ms, P50 {}, P95 {}, P99 {}\n\
             parts            cold {} ms, comp {}, comm {}, wait {}\n\
             SLO violations   {}\n\
             cold starts      {}\n\
             not on cheapest  {}\n\
             deferrals        {}\n\
             CPU utilisation  {}\n\
             evictions        {}, expirations {}",
            summary.measured + summary.measured_rejected,
            summary.measured_rejected,
            summary.decisions as f64 / summary.batches.max(1) as f64,
            number(stats::mean(latencies)),
            quantile(0.5),
            quantile(0.95),
            quantile(0.99),
            part(summary.latency.cold.0),
            part(summary.latency.comp.0),
            part(summary.latency.comm.0),
            part(summary.latency.wait.0),
            percent(summary.violation_rate()),
            share(summary.cold_starts, summary.measured),
            share(*not_cheapest, summary.decisions - summary.deferrals),
            summary.deferrals,
            percent(busy),
            summary.evictions,
            summary.expirations,
        )
    }
}
