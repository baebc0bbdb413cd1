//! The binary `scale`: experiments as data, from the command line.

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, Parser, Subcommand, ValueEnum};
use rayon::prelude::*;
use scale_lab::experiment::{self, Experiment};
use scale_lab::measure::{Shard, Share};
use scale_lab::merge::Merged;
use scale_lab::reproduce::{self, Reproduce, Set};
use scale_lab::roster::{self, ROSTER};
use scale_lab::scenario::Built;
use scale_lab::train::{self, Agents, School, Tables};
use scale_lab::{datasets, measure, merge, record, stats, topology, trace};
use scale_model::linear::LinearProgram;
use scale_model::{
    BatchProblem, Budget, Decision, Instance, Outcome, Proof, Seed, Slo, Solution, SolveError, Stop, evaluate,
};
use scale_sim::Observer;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// SLO-aware container scheduling for serverless edge computing: simulate, solve, compare.
#[derive(Parser)]
#[command(version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists the algorithms and the built-in experiments.
    List,
    /// Measures, draws and reports the built-in experiments: the paper's five figures and those beyond.
    Reproduce(ReproduceArgs),
    /// Plays an experiment and writes its records; goes on where it was killed.
    Measure {
        #[command(flatten)]
        experiment: RecordedArgs,
        #[command(flatten)]
        threads: Threads,
        #[command(flatten)]
        share: ShareArgs,
    },
    /// Joins the records of several folders, as shards write them, into one; or says why they do not belong together.
    ///
    /// They must come from the same program, experiment and data, and have all cells between them. The tables have the
    /// bytes of a single run, timings aside.
    Merge {
        /// Where the records go; may be one of the folders, and what it holds already counts as one.
        out: PathBuf,
        /// The folders that records were written to (`--out`).
        #[arg(required = true)]
        inputs: Vec<PathBuf>,
    },
    /// Draws the figures of an experiment from its records.
    Draw(RecordedArgs),
    /// Writes the report of an experiment from its records.
    Report(RecordedArgs),
    /// Plays one algorithm once and prints what it showed.
    Simulate(SimulateArgs),
    /// Trains an agent on the training days of an experiment's scenario; goes on where it was killed (`scale`).
    Train(TrainArgs),
    /// Plays a trained agent and greedy-latency on the same workloads and prints the paired differences.
    Evaluate(EvaluateArgs),
    /// Writes one batch of an experiment to a file: JSON, MPS or LP.
    Export(ExportArgs),
    /// Decides one batch from a JSON file and prints the placement.
    ///
    /// The exit code is 0 if the placement is proved optimal (or within --gap), 3 if it is only allowed, 4 if there is
    /// proved to be none, 5 if none was found; 1 is any other error.
    Solve(SolveArgs),
    /// Compares records with a golden table, timings aside.
    Compare {
        /// The golden table.
        golden: PathBuf,
        /// The folder that records were written to (`--out`).
        out: PathBuf,
        /// How far numbers with a fraction may differ, relative to the larger; not at all if not given.
        #[arg(long)]
        tolerance: Option<f64>,
    },
    /// Describes a file of sites in numbers and as a map.
    Topology {
        #[command(subcommand)]
        command: topology::Command,
    },
    /// Says which data sets there are, where they are found, and whether they are intact; downloads them.
    Datasets {
        #[command(subcommand)]
        command: datasets::Command,
    },
    /// Says what is in a trace, writes it in another layout, fits a generator to it.
    Trace {
        #[command(subcommand)]
        command: trace::Command,
    },
}

#[derive(Args)]
struct ReproduceArgs {
    /// Only these figures and experiments, such as fig6, cdf or load.
    wanted: Vec<String>,
    /// A short version on embedded data.
    #[arg(long)]
    quick: bool,
    /// What takes hours too: every experiment.
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// Where records, figures and reports go.
    #[arg(long, default_value = "target/reproduce")]
    out: PathBuf,
    /// Compare the records with this table at the end. Counts must be equal, numbers with a fraction to nine digits:
    /// the last ones depend on the machine's mathematical library.
    #[arg(long)]
    golden: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    share: ShareArgs,
}

#[derive(Args)]
struct ShareArgs {
    /// Measures only this part of the cells, such as 3/16, counted from 0/16 to 15/16, and draws nothing: see `scale
    /// merge`. Shards may share one folder.
    #[arg(long)]
    shard: Option<Shard>,
    /// Without the pass that times decisions. A later run without this flag makes up for it.
    #[arg(long)]
    untimed: bool,
}

impl ShareArgs {
    fn share(&self) -> Share {
        Share { shard: self.shard, untimed: self.untimed }
    }
}

#[derive(Args)]
struct Threads {
    /// How many cells are played at once; as many as the machine has cores if not given.
    #[arg(long)]
    threads: Option<usize>,
}

impl Threads {
    fn count(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }
}

#[derive(Args)]
struct RecordedArgs {
    /// A file, or the name of a built-in experiment.
    experiment: String,
    /// Where records, figures and reports go.
    #[arg(long, default_value = "target/scale")]
    out: PathBuf,
}

#[derive(Args)]
struct SimulateArgs {
    /// A file, or the name of a built-in experiment.
    experiment: String,
    /// A name from the roster.
    #[arg(long)]
    algorithm: String,
    /// Seed of the workload.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Check the simulator's invariants after every batch: capacities, conservation, clock, one state a container.
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    agent: AgentArgs,
}

#[derive(Args)]
struct TrainArgs {
    /// A file, or the name of a built-in experiment.
    experiment: String,
    /// Which: an algorithm of the roster that learns, such as scale, scale-ppo or m-dqn.
    #[arg(long, default_value = "scale")]
    agent: String,
    /// Seed of the training.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A file in place of the `experiments/agents.toml` that is built in.
    #[arg(long)]
    tables: Option<PathBuf>,
    /// Where agents are kept, in the folder `agents`.
    #[arg(long, default_value = "target/scale")]
    out: PathBuf,
    #[command(flatten)]
    threads: Threads,
}

#[derive(Args)]
struct EvaluateArgs {
    /// A file, or the name of a built-in experiment.
    experiment: String,
    /// The file that `scale train` wrote.
    #[arg(long)]
    agent: PathBuf,
    /// How many workloads: those of seeds 1, 2, ...
    #[arg(long, default_value_t = 10)]
    seeds: u64,
    #[command(flatten)]
    threads: Threads,
}

/// Where a learned algorithm comes from.
#[derive(Args)]
struct AgentArgs {
    /// For a learned algorithm: the file that `scale train` wrote. Trained, or found trained, below `--out` if not given.
    #[arg(long)]
    agent: Option<PathBuf>,
    /// Where agents are kept, in the folder `agents`.
    #[arg(long, default_value = "target/scale")]
    out: PathBuf,
}

impl AgentArgs {
    /// The agent that one run needs, if it needs one.
    fn agents(&self, experiment: &Experiment, algorithm: &str, seed: u64) -> Result<Agents> {
        let learned = roster::find(algorithm).map_err(|error| anyhow!(error))?.learned();
        match (learned, &self.agent) {
            (Some(learned), Some(file)) => Agents::from_file(learned, file),
            (None, Some(file)) => bail!("--agent {}: {algorithm} is not learned", file.display()),
            (_, None) => {
                let threads = std::thread::available_parallelism().map_or(1, usize::from);
                Agents::prepare(experiment, &[(algorithm, seed)], &self.out.join("agents"), threads)
            }
        }
    }
}

#[derive(Args)]
struct ExportArgs {
    /// A file, or the name of a built-in experiment.
    experiment: String,
    /// Which batch, counted from 0 at the end of the warm-up.
    #[arg(long, default_value_t = 0)]
    batch: u64,
    /// Who plays up to that batch.
    #[arg(long, default_value = "greedy-latency")]
    algorithm: String,
    /// Seed of the workload.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The file; its ending chooses the format: .json, .mps or .lp.
    #[arg(long)]
    to: PathBuf,
    #[command(flatten)]
    agent: AgentArgs,
}

#[derive(Args)]
struct SolveArgs {
    /// A batch, as `scale export` writes it.
    instance: PathBuf,
    /// A name from the roster; `midaco` and `hybrid` stand for their 200k versions.
    #[arg(long)]
    solver: String,
    /// For `--solver milp`: the program as printed in the paper, or the compact one with the same optimum.
    #[arg(long, value_enum)]
    formulation: Option<Formulation>,
    /// Stop once this relative gap is proved.
    #[arg(long)]
    gap: Option<f64>,
    /// Stop after so many evaluations of the objective.
    #[arg(long)]
    evaluations: Option<u64>,
    /// Stop after so many nodes of the branch-and-bound tree.
    #[arg(long)]
    nodes: Option<u64>,
    /// Stop after this time, such as `10s` or `250ms`.
    #[arg(long, value_parser = seconds)]
    time_limit: Option<Duration>,
    /// Every request is placed, and in time: constraints (5) and (8) as printed, whatever the file says.
    #[arg(long)]
    hard: bool,
    /// For a learned solver: the file that `scale train` wrote.
    #[arg(long)]
    agent: Option<PathBuf>,
    /// Seed of whatever the algorithm draws.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How the placement is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Formulation {
    Paper,
    Compact,
}

/// Reads `10s` and `250ms`.
fn seconds(text: &str) -> Result<Duration, String> {
    let (number, scale) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    let value: f64 = number.parse().map_err(|_| format!("{text:?}: expected a time such as 10s or 250ms"))?;
    Duration::try_from_secs_f64(value * scale).map_err(|error| format!("{text:?}: {error}"))
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Json,
}

fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            // `scale solve ... | head` has seen enough.
            let broken_pipe = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
            if error.downcast_ref().is_some_and(broken_pipe) {
                return ExitCode::SUCCESS;
            }
            eprintln!("error: {}", message(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error and its causes, each once: many errors of ours repeat their cause in their own words.
fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        let cause = cause.trim_end();
        if text.is_empty() || !text.ends_with(cause) {
            let colon = if text.is_empty() { "" } else { ": " };
            text = format!("{text}{colon}{cause}");
        }
    }
    text
}

fn run(command: Command) -> Result<ExitCode> {
    let done = match command {
        Command::List => list(),
        Command::Reproduce(ReproduceArgs { wanted, quick, full, out, golden, threads, share }) => {
            let set = match (quick, full) {
                (true, _) => Set::Quick,
                (_, true) => Set::Full,
                _ => Set::Default,
            };
            let (threads, share) = (threads.count(), share.share());
            reproduce::reproduce(&Reproduce { wanted, set, out: out.clone(), threads, share })?;
            golden.map_or(Ok(()), |golden| compare(&golden, &out, Some(1e-9)))
        }
        Command::Measure { experiment: RecordedArgs { experiment: name, out }, threads, share } => {
            let experiment = load(&name)?;
            let measured = reproduce::measure(&experiment, &out, threads.count(), share.share())
                .with_context(|| name.clone())?;
            println!("{} below {}", measured.text(), out.join("records").join(&experiment.name).display());
            Ok(())
        }
        Command::Merge { out, inputs } => merge(&out, &inputs),
        Command::Draw(RecordedArgs { experiment, out }) => {
            let experiment = load(&experiment)?;
            for path in reproduce::draw(&experiment, &experiment.figures, &out, &out)? {
                println!("{}", path.display());
            }
            Ok(())
        }
        Command::Report(RecordedArgs { experiment, out }) => {
            let experiment = load(&experiment)?;
            let command = format!("scale report {} --out {}", experiment.name, out.display());
            for path in reproduce::report(&experiment, &experiment.figures, &out, &out, &command)? {
                println!("{}", path.display());
            }
            Ok(())
        }
        Command::Simulate(arguments) => simulate_one(&arguments),
        Command::Train(arguments) => train_one(&arguments),
        Command::Evaluate(arguments) => evaluate_agent(&arguments),
        Command::Export(arguments) => export(&arguments),
        Command::Solve(arguments) => return solve(&arguments),
        Command::Compare { golden, out, tolerance } => compare(&golden, &out, tolerance),
        Command::Topology { command } => topology::run(&command),
        Command::Datasets { command } => datasets::run(&command),
        Command::Trace { command } => trace::run(&command),
    };
    done.map(|()| ExitCode::SUCCESS)
}

fn load(name: &str) -> Result<Experiment> {
    match experiment::built_in(name) {
        Some(text) => Experiment::parse(text).with_context(|| format!("the built-in experiment {name}")),
        None => Experiment::read(Path::new(name)),
    }
}

fn list() -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "Algorithms:")?;
    for entry in ROSTER {
        writeln!(out, "  {:<20} {}", entry.name, entry.about)?;
    }
    writeln!(out, "\nBuilt-in experiments:")?;
    for (name, text) in experiment::BUILT_IN {
        writeln!(out, "  {name:<20} {}", Experiment::parse(text)?.question)?;
    }
    Ok(())
}

fn compare(golden: &Path, out: &Path, tolerance: Option<f64>) -> Result<()> {
    let records = record::collect(out)?;
    let differences = record::compare(golden, &records, tolerance)?;
    if differences.is_empty() {
        println!("{} cells equal {}", records.cells.len(), golden.display());
        return Ok(());
    }
    for difference in differences.iter().take(20) {
        eprintln!("{difference}");
    }
    bail!("{} differences from {}", differences.len(), golden.display())
}

fn merge(out: &Path, inputs: &[PathBuf]) -> Result<()> {
    for merged in merge::merge(out, inputs)? {
        let Merged { experiment, cells, batches, folders, machines, untimed } = merged;
        let folder = record::folder(out, &experiment);
        let what = if batches > 0 { format!("batches of {batches} seeds") } else { format!("{cells} cells") };
        println!("{what} of {} folders below {}", folders.len(), folder.display());
        if untimed > 0 {
            tracing::warn!(
                "{experiment}: {untimed} cells without decision times: `scale measure` takes them"
            );
        }
        if machines.len() > 1 {
            let machines = machines.join("; ");
            tracing::warn!(
                "{experiment}: decision times of several kinds of machine ({machines}) do not compare"
            );
        }
    }
    Ok(())
}

/// The only scenario of an experiment without a sweep, else its first.
fn first_point(name: &str) -> Result<(Experiment, Built)> {
    let experiment = load(name)?;
    let built = experiment.scenarios()?.swap_remove(0).1.build().with_context(|| name.to_string())?;
    Ok((experiment, built))
}

fn simulate_one(arguments: &SimulateArgs) -> Result<()> {
    let entry = roster::find(&arguments.algorithm).map_err(|error| anyhow!(error))?;
    let (experiment, built) = first_point(&arguments.experiment)?;
    let agents = arguments.agent.agents(&experiment, &arguments.algorithm, arguments.seed)?;
    let generated = built.workload(arguments.seed)?;
    let start = scale_lab::clock::now();
    let played = measure::play(&built, &generated, entry, &agents, arguments.seed, arguments.verify)?;
    let wall = start.elapsed();
    println!("{}\n{}", built.data, played.text());
    println!(
        "played {} requests in {:.2} s, every batch judged",
        generated.workload.requests.len(),
        wall.as_secs_f64()
    );
    Ok(())
}

fn train_one(arguments: &TrainArgs) -> Result<()> {
    let experiment = load(&arguments.experiment)?;
    let learned =
        roster::find(&arguments.agent).ok().and_then(roster::Entry::learned).with_context(|| {
            let names = ROSTER.iter().filter(|entry| entry.learned().is_some()).map(|entry| entry.name);
            format!("--agent {}: expected one of {}", arguments.agent, names.collect::<Vec<_>>().join(", "))
        })?;
    let tables = match &arguments.tables {
        Some(file) => {
            let text = std::fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
            Tables::parse(&text).with_context(|| format!("{}", file.display()))?
        }
        None => Tables::built_in()?,
    };
    let folder = arguments.out.join("agents");
    std::fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    let school = School::new(&experiment.training_scenario()?, &tables)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(arguments.threads.count()).build()?;
    let path = pool.install(|| school.train(learned, arguments.seed, &folder))?;
    println!("{}", path.display());
    Ok(())
}

fn evaluate_agent(arguments: &EvaluateArgs) -> Result<()> {
    let learned = train::kind_of(&arguments.agent)?;
    let agents = Agents::from_file(learned, &arguments.agent)?;
    let (_, built) = first_point(&arguments.experiment)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(arguments.threads.count()).build()?;
    let pairs: Result<Vec<_>> = pool.install(|| {
        (1..=arguments.seeds)
            .into_par_iter()
            .map(|seed| {
                let generated = built.workload(seed)?;
                let play = |name: &str| -> Result<_> {
                    let entry = roster::find(name).map_err(|error| anyhow!(error))?;
                    measure::play(&built, &generated, entry, &agents, seed, false)
                };
                Ok((seed, play(learned.name())?, play("greedy-latency")?))
            })
            .collect()
    });
    let mut out = io::stdout().lock();
    writeln!(out, "{}", built.data)?;
    writeln!(out, "seed  {:>10}_ms  late_%  greedy-latency_ms  late_%", learned.name())?;
    let (mut latency, mut late) = (Vec::new(), Vec::new());
    for (seed, agent, greedy) in pairs? {
        let mean = |played: &measure::Played| played.summary.latency_mean().map_or(f64::NAN, |mean| mean.0);
        let rate = |played: &measure::Played| 100.0 * played.summary.violation_rate().unwrap_or(f64::NAN);
        let (a, g) = (mean(&agent), mean(&greedy));
        writeln!(out, "{seed:>4}  {a:>13.2}  {:>6.2}  {g:>17.2}  {:>6.2}", rate(&agent), rate(&greedy))?;
        latency.push(100.0 * (a / g - 1.0));
        late.push(rate(&agent) - rate(&greedy));
    }
    for (what, values) in [("latency, %", latency), ("late, points", late)] {
        let Some(estimate) = stats::bootstrap_mean_ci(&values, stats::LEVEL, stats::RESAMPLES, 0) else {
            continue;
        };
        let interval = estimate
            .interval
            .map_or(String::new(), |interval| format!(" [{:+.2}, {:+.2}]", interval.low, interval.high));
        let mean = estimate.mean;
        writeln!(out, "paired difference in {what}: {mean:+.2}{interval} (95 % bootstrap over workloads)")?;
    }
    Ok(())
}

/// Keeps one batch.
struct Catch {
    skip: u64,
    caught: Option<Instance>,
}

impl Observer for Catch {
    fn batch(&mut self, problem: &BatchProblem<'_>, _outcomes: &[Outcome], measured: bool) {
        if !measured || self.caught.is_some() {
            return;
        }
        match self.skip {
            0 => self.caught = Some(Instance::of(problem)),
            _ => self.skip -= 1,
        }
    }
}

fn export(arguments: &ExportArgs) -> Result<()> {
    let entry = roster::find(&arguments.algorithm).map_err(|error| anyhow!(error))?;
    let extension = arguments.to.extension().unwrap_or_default().to_string_lossy().into_owned();
    ensure!(
        ["json", "mps", "lp"].contains(&extension.as_str()),
        "--to {}: expected a file that ends in .json, .mps or .lp",
        arguments.to.display()
    );
    let (experiment, built) = first_point(&arguments.experiment)?;
    let agents = arguments.agent.agents(&experiment, &arguments.algorithm, arguments.seed)?;
    let generated = built.workload(arguments.seed)?;
    let config = built.sim(generated.warmup_until);
    let mut catch = Catch { skip: arguments.batch, caught: None };
    measure::run(&built.platform, &generated.workload, &config, entry, &agents, arguments.seed, &mut catch)?;
    let instance =
        catch.caught.ok_or_else(|| anyhow!("--batch {}: the run has fewer batches", arguments.batch))?;
    let text = match extension.as_str() {
        "json" => instance.to_json(),
        "mps" => LinearProgram::of(&instance.problem()).to_mps(),
        _ => LinearProgram::of(&instance.problem()).to_lp(),
    };
    std::fs::write(&arguments.to, text).with_context(|| format!("{}", arguments.to.display()))?;
    println!("{}: {} requests at {}", arguments.to.display(), instance.requests.len(), instance.state.time);
    Ok(())
}

/// Exit codes of `scale solve`, beside 0 for a placement that is proved optimal (or within `--gap`).
mod exit {
    pub(crate) const FEASIBLE: u8 = 3;
    pub(crate) const INFEASIBLE: u8 = 4;
    pub(crate) const NOTHING_FOUND: u8 = 5;
}

fn solve(arguments: &SolveArgs) -> Result<ExitCode> {
    let name = match (arguments.solver.as_str(), arguments.formulation) {
        ("midaco", None) => "midaco-200k",
        ("hybrid", None) => "hybrid-200k",
        ("milp", Some(Formulation::Paper)) => "milp-paper",
        (name, None) | (name @ "milp", Some(Formulation::Compact)) => name,
        (name, Some(_)) => bail!("--formulation belongs to --solver milp, not to {name}"),
    };
    let entry = roster::find(name).map_err(|error| anyhow!(error))?;
    let file = arguments.instance.display();
    let text = std::fs::read_to_string(&arguments.instance).with_context(|| format!("{file}"))?;
    // Some editors write a byte order mark.
    let mut instance = Instance::from_json(text.strip_prefix('\u{feff}').unwrap_or(&text))
        .with_context(|| format!("{file}"))?;
    if arguments.hard {
        instance.objective.slo = Slo::Hard;
    }
    let gap = arguments.gap.unwrap_or(0.0);
    ensure!(gap >= 0.0 && gap.is_finite(), "--gap {gap}: expected a number of at least 0");
    let problem = instance.problem();
    let limited = Budget { time_limit: arguments.time_limit, ..Budget::default() };
    let agents = match (entry.learned(), &arguments.agent) {
        (Some(learned), Some(file)) => Agents::from_file(learned, file)?,
        (Some(_), None) => bail!("--solver {name}: expected --agent with a file that `scale train` wrote"),
        (None, _) => Agents::none(),
    };
    let draws = Seed(arguments.seed).derive(entry.name, 0);
    let (mut solver, budget) = entry.player(draws, &agents, problem.platform, arguments.seed)?.solver();
    let SolveArgs { evaluations, nodes, time_limit, .. } = *arguments;
    let budget = Budget {
        evaluations: evaluations.or(budget.evaluations),
        nodes: nodes.or(budget.nodes),
        time_limit: time_limit.or(budget.time_limit),
        relative_gap: gap,
        ..budget
    };
    let solved = solver.solve(&problem, &budget);
    let solution = match solved {
        Ok(solution) => solution,
        Err(error @ (SolveError::Infeasible { .. } | SolveError::NothingFound)) => {
            eprintln!("{error}");
            if matches!(&error, SolveError::Infeasible { hopeless } if hopeless.is_empty())
                // Without a conflict in time the answer stays: nothing is feasible.
                && let Ok(Some(conflict)) = scale_milp::conflict(&problem, &limited)
            {
                eprintln!("{conflict}");
            }
            let infeasible = error != SolveError::NothingFound;
            return Ok(ExitCode::from(if infeasible { exit::INFEASIBLE } else { exit::NOTHING_FOUND }));
        }
        Err(error) => return Err(error.into()),
    };
    match arguments.format {
        Format::Json => writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&solution.placement)?)?,
        Format::Table => write!(io::stdout(), "{}", table(&problem, &solution))?,
    }
    let proved = solution.proof == Proof::Optimal || (gap > 0.0 && solution.stop == Stop::Gap);
    Ok(if proved { ExitCode::SUCCESS } else { ExitCode::from(exit::FEASIBLE) })
}

/// A solution for people.
fn table(problem: &BatchProblem<'_>, solution: &Solution) -> String {
    let evaluation = evaluate(problem, &solution.placement);
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "request  node  container  cold_ms  comp_ms  comm_ms  wait_ms  total_ms  slo_ms");
    let rows = problem.requests.iter().zip(&solution.placement.decisions).zip(&evaluation.latencies);
    for ((request, decision), latency) in rows {
        let (node, container) = match decision {
            Decision::Run { node, container } => {
                (node.0.to_string(), format!("{container:?}").to_lowercase())
            }
            Decision::Defer => ("-".into(), "deferred".into()),
        };
        let _ = writeln!(
            text,
            "{:>7}  {node:>4}  {container:<9}  {:>7.2}  {:>7.2}  {:>7.2}  {:>7.2}  {:>8.2}  {:>6.1}",
            request.id.0,
            latency.cold.0,
            latency.comp.0,
            latency.comm.0,
            latency.wait.0,
            latency.total().0,
            request.slo.0
        );
    }
    let _ = writeln!(
        text,
        "objective {:.3} ms, {} late, {} deferred; bound {}{}; {:?}, stopped: {:?}",
        solution.objective,
        evaluation.late,
        evaluation.deferred,
        solution.bound.map_or("none".into(), |bound| format!("{bound:.3} ms")),
        solution.bound.map_or(String::new(), |bound| {
            format!(
                ", gap {:.4} %",
                100.0 * (solution.objective - bound) / solution.objective.abs().max(1e-9)
            )
        }),
        solution.proof,
        solution.stop
    );
    text
}
