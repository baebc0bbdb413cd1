//! From an experiment to figures and a report, and the built-in experiments in one go.

use crate::batches::{self, BatchRecords, CAPACITY_FREE, LP};
use crate::draw::{
    self, BOOTSTRAP_SEED, BoxChart, BoxRow, Caption, Line, LineChart, MapNode, Panel, Scale, Style,
    TornadoChart, TornadoRow, Words,
};
use crate::experiment::{Experiment, Figure, Metric, Point, Sweep, built_in};
use crate::measure::{self, Share};
use crate::record::{self, Key, Records};
use crate::report::{self, Block, Parameter, ReportInput, Subject};
use crate::roster::ROSTER;
use crate::stats::{LEVEL, RESAMPLES, bootstrap_mean_ci, paired_ratio};
use crate::train::{self, CurvePoint, Curves};
use anyhow::{Context, Result, anyhow, bail, ensure};
use scale_topology::NODE_TYPES;
use std::path::{Path, PathBuf};

/// How much is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// `quick` alone: the head of `paper` on embedded data.
    Quick,
    /// What two cores do in about 30 minutes.
    Default,
    /// Everything.
    Full,
}

/// A built-in experiment in the sets.
struct Planned {
    name: &'static str,
    /// The smallest set that has it.
    least: Set,
    /// About how long one core takes, in seconds: CPU time on two cores of a server, training included. The estimate at the
    /// start rests on it and says so.
    core_seconds: u32,
    /// What the other seeds of its slow algorithms take on top, in seconds.
    slow_seconds: u32,
}

const fn planned(name: &'static str, least: Set, core_seconds: u32, slow_seconds: u32) -> Planned {
    Planned { name, least, core_seconds, slow_seconds }
}

/// Which experiments each set has, in the order in which they are made.
const PLAN: [Planned; 14] = [
    planned("paper", Set::Default, 2800, 7500),
    planned("burst", Set::Default, 140, 0),
    planned("gap", Set::Default, 170, 0),
    planned("foresight", Set::Default, 15, 0),
    planned("load", Set::Full, 250, 0),
    planned("nodes", Set::Full, 680, 0),
    planned("convergence", Set::Default, 80, 0),
    planned("slo", Set::Default, 35, 0),
    planned("memory", Set::Full, 400, 0),
    planned("generalisation", Set::Default, 300, 0),
    planned("sensitivity", Set::Full, 400, 0),
    planned("tight", Set::Default, 40, 0),
    planned("ablation", Set::Full, 3000, 0),
    planned("quick", Set::Quick, 5, 0),
];

/// What [`reproduce`] is asked for.
pub struct Reproduce {
    /// Figures and experiments by name, such as `fig6`, `cdf` or `load`; all of the set if empty. What is named is made
    /// even if it belongs to a larger set.
    pub wanted: Vec<String>,
    /// Which experiments.
    pub set: Set,
    /// Where everything goes.
    pub out: PathBuf,
    /// How many cells are played at once.
    pub threads: usize,
    /// What of it is measured; a shard measures and draws nothing.
    pub share: Share,
}

/// What is to be drawn of one experiment.
struct Task {
    experiment: Experiment,
    figures: Vec<Figure>,
    core_seconds: u32,
}

/// The experiments and figures of a wish, in the order of [`BUILT_IN`].
///
/// # Errors
/// A word that is neither a figure nor an experiment.
fn tasks(wanted: &[String], set: Set) -> Result<Vec<Task>> {
    let (mut tasks, mut known, mut found) = (Vec::new(), Vec::new(), vec![false; wanted.len()]);
    for Planned { name, least, mut core_seconds, slow_seconds } in PLAN {
        if (least == Set::Quick) != (set == Set::Quick) {
            continue;
        }
        let text = built_in(name).ok_or_else(|| anyhow!("{name} is not built in"))?;
        let mut experiment = Experiment::parse(text).with_context(|| name.to_string())?;
        let mut figures = Vec::new();
        for &figure in &experiment.figures {
            let number = experiment.number_of(figure).map(|number| format!("fig{number}"));
            let names = [Some(name.to_string()), Some(figure.name().to_string()), number];
            let mut asked = wanted.is_empty() && (least != Set::Full || set == Set::Full);
            for (word, found) in wanted.iter().zip(&mut found) {
                if names.iter().flatten().any(|name| name == word) {
                    (asked, *found) = (true, true);
                }
            }
            if asked {
                figures.push(figure);
            }
            known.extend(names.into_iter().flatten().filter(|name| !name.starts_with("fig")));
            known.extend(experiment.number_of(figure).map(|number| format!("fig{number}")));
        }
        if set == Set::Full {
            experiment.slow = None;
            core_seconds += slow_seconds;
        }
        if !figures.is_empty() {
            tasks.push(Task { experiment, figures, core_seconds });
        }
    }
    if let Some(at) = found.iter().position(|found| !found) {
        let mut names: Vec<String> = Vec::new();
        known.into_iter().for_each(|name| {
            if !names.contains(&name) {
                names.push(name);
            }
        });
        bail!("{:?} is neither a figure nor an experiment: expected one of {}", wanted[at], names.join(", "));
    }
    Ok(tasks)
}

/// What an experiment has measured.
pub struct Measured {
    /// Its scenarios.
    pub points: Vec<Point>,
    /// Its whole runs; none with `[batches]`.
    pub records: Records,
    /// Its batches; none without.
    pub batches: BatchRecords,
    /// How its agents learned; none without [`Figure::Learning`].
    pub curves: Curves,
}

/// Measures what is not recorded yet below `out`, or a share of it.
///
/// # Errors
/// As [`measure::measure_share`] and [`batches::measure`].
pub fn measure(experiment: &Experiment, out: &Path, threads: usize, share: Share) -> Result<Measured> {
    let points = experiment.build()?;
    let mut measured = Measured {
        points,
        records: Records::default(),
        batches: BatchRecords::default(),
        curves: Vec::new(),
    };
    let points = &measured.points;
    match experiment.batches {
        Some(_) => measured.batches = batches::measure(experiment, points, out, threads, share)?,
        None => measured.records = measure::measure_share(experiment, points, out, threads, share)?,
    }
    if experiment.figures.contains(&Figure::Learning) && share.shard.is_none() {
        measured.curves = train::curves(experiment, out, threads)?;
    }
    Ok(measured)
}

impl Measured {
    /// How much there is, for people.
    pub fn text(&self) -> String {
        match self.batches.gaps.len() {
            0 => format!("{} cells", self.records.cells.len()),
            rows => format!("{rows} rows of batches"),
        }
    }
}

/// Measures, draws and reports built-in experiments. The figures of the paper's own stand in `out` itself, those of any other in
/// a folder of its name. The report of a whole set is `report.html`; of what is named it is, for example, `report-load-nodes.html`.
///
/// # Errors
/// Whatever keeps a step from being done.
pub fn reproduce(options: &Reproduce) -> Result<()> {
    let tasks = tasks(&options.wanted, options.set)?;
    announce(&tasks, options.threads);
    let (mut blocks, mut cells) = (Vec::new(), Vec::new());
    for Task { experiment, figures, .. } in &tasks {
        let measured = measure(experiment, &options.out, options.threads, options.share)?;
        if options.share.shard.is_some() {
            continue;
        }
        let figure_folder = if of_paper(experiment) { "." } else { &experiment.name };
        let folder = if of_paper(experiment) { options.out.clone() } else { options.out.join(figure_folder) };
        let drawn = draw_measured(experiment, figures, &measured, &folder)?;
        for (_, paths) in &drawn {
            tracing::info!("{}", paths[0].with_extension("{svg,png}").display());
        }
        let command = match options.set {
            Set::Quick => "cargo xtask reproduce --quick".to_string(),
            _ => format!("cargo xtask reproduce {}", experiment.name),
        };
        blocks.push(block(experiment, &measured, drawn, figure_folder, &command));
        cells.extend(measured.records.cells);
    }
    if options.share.shard.is_some() {
        println!("records: {}", options.out.join("records").display());
        return Ok(());
    }
    let introduction = "The evaluation of \"Scale: Deep Reinforcement Learning for Container Scheduling in Serverless Edge \
                        Computing\" (arXiv:2605.15704v1, section V), made again by simulation.";
    let input = input("Scale: reproduction report".into(), vec![introduction.into()], blocks);
    let names: Vec<&str> = tasks.iter().map(|task| task.experiment.name.as_str()).collect();
    let stem =
        if options.wanted.is_empty() { "report".to_string() } else { format!("report-{}", names.join("-")) };
    let [_, html] = report::render(&input, &Records::new(cells))?.write(&options.out, &stem)?;
    println!("figures and report: {}", html.display());
    Ok(())
}

/// Whether the scenario is that of the paper's evaluation, of which `quick` is the head.
fn of_paper(experiment: &Experiment) -> bool {
    ["paper", "quick"].contains(&experiment.name.as_str())
}

/// Says what comes and about how long it takes.
fn announce(tasks: &[Task], threads: usize) {
    let minutes = |core_seconds: u32| f64::from(core_seconds) / 60.0 / threads.clamp(1, 2) as f64;
    let list: Vec<String> = tasks
        .iter()
        .map(|task| format!("{} {:.1}", task.experiment.name, minutes(task.core_seconds)))
        .collect();
    let all: u32 = tasks.iter().map(|task| task.core_seconds).sum();
    eprintln!(
        "about {:.0} minutes on this many threads, on a machine like the one of the estimate, if nothing is recorded yet \
         (minutes: {}); what is recorded is not played again",
        minutes(all).max(1.0),
        list.join(", ")
    );
}

/// Draws figures of an experiment from its records below `out` into `folder`, and returns their files.
///
/// # Errors
/// If there are no records, or nothing to draw.
pub fn draw(experiment: &Experiment, figures: &[Figure], out: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let drawn = draw_measured(experiment, figures, &recorded(experiment, out)?, folder)?;
    Ok(drawn.into_iter().flat_map(|(_, paths)| paths).collect())
}

/// Writes the report of an experiment from its records below `out` into `folder`, and returns its files.
///
/// # Errors
/// As [`draw()`].
pub fn report(
    experiment: &Experiment,
    figures: &[Figure],
    out: &Path,
    folder: &Path,
    command: &str,
) -> Result<Vec<PathBuf>> {
    let measured = recorded(experiment, out)?;
    let drawn = draw_measured(experiment, figures, &measured, folder)?;
    let blocks = vec![block(experiment, &measured, drawn, ".", command)];
    let input = input(experiment.title.clone(), Vec::new(), blocks);
    Ok(report::render(&input, &measured.records)?.write(folder, "report")?.to_vec())
}

fn input(title: String, introduction: Vec<String>, blocks: Vec<Block>) -> ReportInput {
    let yardsticks = ["greedy-latency", "greedy-regret", "milp"].map(String::from).to_vec();
    ReportInput { title, introduction, blocks, styles: styles(), yardsticks, notes: notes() }
}

fn recorded(experiment: &Experiment, out: &Path) -> Result<Measured> {
    let points = experiment.build()?;
    if let (Some(_), Some(point)) = (&experiment.batches, points.first()) {
        let batches = batches::recorded(experiment, &point.built, out).context(
            "the batches of this version of the experiment are not recorded: run `scale measure` first",
        )?;
        return Ok(Measured { points, records: Records::default(), batches, curves: Vec::new() });
    }
    let folder = out.join("records").join(&experiment.name);
    let keys = measure::keys(experiment, &points)?;
    let every: Vec<Key> = keys.iter().map(|(key, _)| key.clone()).collect();
    let records =
        if folder.exists() { record::collect(out)?.select(&every) } else { Records::new(Vec::new()) };
    let needed: Vec<Key> = keys.into_iter().filter(|(_, needed)| *needed).map(|(key, _)| key).collect();
    let (found, all) = (records.select(&needed).cells.len(), needed.len());
    ensure!(
        found == all,
        "{}: {found} of {all} cells of this version of the experiment are recorded: run `scale measure` first",
        folder.display()
    );
    measure::check_settings(out, experiment)?;
    let curves = match experiment.figures.contains(&Figure::Learning) {
        true => train::recorded_curves(experiment, out)?,
        false => Vec::new(),
    };
    Ok(Measured { points, records, batches: BatchRecords::default(), curves })
}

/// How every algorithm of the roster looks.
pub fn styles() -> Vec<Style> {
    let style = |(mark, entry): (usize, &crate::roster::Entry)| Style {
        algorithm: entry.name.into(),
        label: entry.label.into(),
        color: entry.color,
        mark,
    };
    ROSTER.iter().enumerate().map(style).collect()
}

/// The styles of an experiment's algorithms, in the order of the roster.
fn styles_of(experiment: &Experiment) -> Vec<Style> {
    let plays = |style: &Style| experiment.algorithms.contains(&style.algorithm);
    styles().into_iter().filter(plays).collect()
}

type Drawn = Vec<(draw::Figure, [PathBuf; 2])>;

/// Figures of whole runs are those of the first point.
fn draw_measured(
    experiment: &Experiment,
    wanted: &[Figure],
    measured: &Measured,
    folder: &Path,
) -> Result<Drawn> {
    let Measured { points, records, batches, curves } = measured;
    let Point { label, built } = points.first().ok_or_else(|| anyhow!("no scenario"))?;
    let caption = |at: &str| {
        let at = if at.is_empty() { String::new() } else { format!(", {at}") };
        Caption { experiment: format!("{}{at}", experiment.name), data: built.data.clone() }
    };
    let series = draw::series(records, label, &styles());
    let mut figures = Vec::new();
    for &kind in experiment.figures.iter().filter(|figure| wanted.contains(figure)) {
        // `figure-8-load`, and without a number `figure-load`.
        let name = |what: &str| match experiment.number_of(kind) {
            Some(number) => format!("figure-{number}-{what}"),
            None => format!("figure-{what}"),
        };
        match kind {
            Figure::Map => {
                let node = |node: &scale_model::Node| MapNode {
                    latitude: node.position.latitude,
                    longitude: node.position.longitude,
                    node_type: usize::from(node.kind),
                };
                let nodes: Vec<MapNode> = built.platform.topology.nodes.iter().map(node).collect();
                let names: Vec<String> = NODE_TYPES.iter().map(|kind| kind.name.to_string()).collect();
                figures.push(draw::map(&nodes, &names, &caption(label))?);
            }
            Figure::Cdf => {
                let [low, high] = built.scenario.arrivals.slo_ms;
                figures.push(draw::cdf(&series, (low, high), &caption(label))?);
            }
            Figure::Percentiles => figures.push(draw::percentiles(&series, &caption(label))?),
            Figure::Violations => figures.push(draw::violations(&series, &caption(label))?),
            Figure::DecisionTime => figures.push(draw::decision_time(&series, &caption(label))?),
            Figure::Parts => figures.push(draw::parts(&series, &caption(label))?),
            Figure::Pareto => figures.push(draw::pareto(name("pareto"), &series, &caption(label))?),
            Figure::Gap => {
                figures.push(draw::boxes(&gap_chart(experiment, batches, name("gap")), &caption(""))?)
            }
            Figure::Convergence => {
                let chart = convergence_chart(experiment, batches, name("convergence"));
                figures.push(draw::lines(&chart, &caption(""))?);
            }
            Figure::Learning => figures.push(draw::lines(&learning_chart(curves), &caption(""))?),
            Figure::Sweep => {
                for sweep in &experiment.sweeps {
                    let what = if experiment.sweeps.len() == 1 {
                        experiment.name.clone()
                    } else {
                        slug(experiment, sweep)
                    };
                    let chart = sweep_chart(experiment, sweep, records, name(&what));
                    figures.push(draw::lines(&chart, &caption(""))?);
                }
            }
            Figure::Tornado => {
                for chart in tornado_charts(experiment, records, &name("tornado")) {
                    figures.push(draw::tornado(&chart, &caption(""))?);
                }
            }
        }
    }
    let write = |figure: draw::Figure| {
        let paths = figure.write(folder).with_context(|| figure.name.clone())?;
        Ok((figure, paths))
    };
    figures.into_iter().map(write).collect()
}

/// `arrivals.load` as a part of a file's name: `load`, or `arrivals-load` where another sweep ends in the same word.
fn slug(experiment: &Experiment, sweep: &Sweep) -> String {
    let last = |parameter: &str| parameter.rsplit('.').next().unwrap_or(parameter).to_lowercase();
    let own = last(&sweep.parameter);
    let alike = experiment.sweeps.iter().filter(|other| last(&other.parameter) == own).count();
    let name = if alike > 1 { sweep.parameter.to_lowercase() } else { own };
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn seeds(experiment: &Experiment) -> String {
    match experiment.seeds.len() {
        1 => "1 seed".into(),
        n => format!("{n} seeds"),
    }
}

/// What lies below this many percent is drawn there.
pub(crate) const GAP_FLOOR: f64 = 0.01;

fn gap_chart(experiment: &Experiment, batches: &BatchRecords, name: String) -> BoxChart {
    let row = |label: &str, color, values: Vec<f64>, reference| BoxRow {
        label: label.into(),
        color,
        values,
        reference,
    };
    let mut rows: Vec<BoxRow> = styles_of(experiment)
        .iter()
        .map(|style| row(&style.label, style.color, batches.gaps_of(&style.algorithm), false))
        .collect();
    let median = |row: &BoxRow| crate::stats::quantile_r7(&row.values, 0.5).unwrap_or(f64::INFINITY);
    rows.sort_by(|a, b| median(a).total_cmp(&median(b)));
    // A bound lies below the optimum: how far, as a length.
    for (bound, label) in [(LP, "LP bound, below"), (CAPACITY_FREE, "Capacity-free bound, below")] {
        let mut values: Vec<f64> = batches.gaps_of(bound).into_iter().map(|gap| gap.abs()).collect();
        values.sort_by(f64::total_cmp);
        rows.push(row(label, (0x59, 0x59, 0x59), values, true));
    }
    let (all, proved) = batches.proved();
    let words = Words {
        name,
        title: "Gap to the proven bound, batch by batch".into(),
        reading: "How far above the best possible objective each algorithm ends, on the same batches: the box holds the middle \
                  half, the whiskers 5 % to 95 %, the thick line is the median; further left is better."
            .into(),
        notes: vec![
            format!("{all} batches of {}; the optimum is proved for {proved} of them.", seeds(experiment)),
            "Hollow: how far below the bound the two relaxations lie.".into(),
        ],
    };
    BoxChart { words, axis: "gap to the bound (%, log scale)".into(), floor: GAP_FLOOR, rows }
}

fn convergence_chart(experiment: &Experiment, batches: &BatchRecords, name: String) -> LineChart {
    let grid = batches.evaluations();
    let estimate = |values: Vec<(u64, f64)>| {
        // On a logarithmic axis there is no zero.
        let values: Vec<f64> = values.into_iter().map(|(_, gap)| gap.max(0.1 * GAP_FLOOR)).collect();
        bootstrap_mean_ci(&values, LEVEL, RESAMPLES, BOOTSTRAP_SEED)
    };
    let ends = grid.first().zip(grid.last());
    let line = |style: &Style| {
        let traced = batches.traces.iter().any(|row| row.algorithm == style.algorithm);
        let points = if traced {
            let whole = |at: &u64| batches.all_placed(&style.algorithm, *at);
            let at = |at: u64| Some((at as f64, estimate(batches.traced_by_seed(&style.algorithm, at))?));
            grid.iter().copied().filter(whole).filter_map(at).collect()
        } else {
            let gap = estimate(batches.by_seed(&style.algorithm, batches::GapRow::gap));
            let level = ends.zip(gap).map(|((from, to), gap)| vec![(*from as f64, gap), (*to as f64, gap)]);
            level.unwrap_or_default()
        };
        // The budget in the label is the roster's, not this one.
        let label = match style.label.split_once(',') {
            Some((label, _)) if traced => label.to_string(),
            _ => style.label.clone(),
        };
        Line { style: Style { label, ..style.clone() }, points }
    };
    let (all, proved) = batches.proved();
    let words = Words {
        name,
        title: "How fast a search comes close to the optimum".into(),
        reading: "The mean gap to the optimum of the best placement found so far, against evaluations of the objective; level \
                  lines belong to rules, which do not search. Lower is better."
            .into(),
        notes: vec![
            format!("{all} batches of {}; the optimum is proved for {proved} of them.", seeds(experiment)),
            "One run of the whole budget each: a search that plans for fewer evaluations can be better at that point. An \
             evaluation of Midaco costs the whole batch, one of Hybrid a single move."
                .into(),
            "What lies at or below 0.001\u{a0}% is drawn there.".into(),
        ],
    };
    LineChart {
        words,
        x_axis: "evaluations (log scale)".into(),
        x_logarithmic: true,
        panels: vec![Panel {
            axis: "mean gap (%, log scale)".into(),
            scale: Scale::Logarithmic,
            lines: styles_of(experiment).iter().map(line).collect(),
        }],
    }
}

/// What the agents reach in the course of their training, over training seeds.
fn learning_chart(curves: &[(String, Vec<CurvePoint>)]) -> LineChart {
    let line = |style: &Style, of: fn(&CurvePoint) -> f64| {
        let own: Vec<&[CurvePoint]> =
            curves.iter().filter(|(name, _)| *name == style.algorithm).map(|(_, curve)| &curve[..]).collect();
        let length = own.iter().map(|curve| curve.len()).min().unwrap_or(0);
        let mut points: Vec<(f64, crate::stats::Estimate)> = Vec::new();
        for index in 0..length {
            let at = own.iter().map(|curve| curve[index].decisions as f64).sum::<f64>() / own.len() as f64;
            // Enough points for a line, on an axis by ratios.
            if index + 1 < length && points.last().is_some_and(|(last, _)| at < 1.1 * last) {
                continue;
            }
            let values: Vec<f64> = own.iter().map(|curve| of(&curve[index])).collect();
            points.extend(
                bootstrap_mean_ci(&values, LEVEL, RESAMPLES, BOOTSTRAP_SEED).map(|estimate| (at, estimate)),
            );
        }
        Line { style: style.clone(), points }
    };
    let styles: Vec<Style> = styles()
        .into_iter()
        .filter(|style| curves.iter().any(|(name, _)| *name == style.algorithm))
        .collect();
    let panel = |axis: &str, of: fn(&CurvePoint) -> f64| Panel {
        axis: axis.into(),
        scale: Scale::Linear,
        lines: styles.iter().map(|style| line(style, of)).collect(),
    };
    let words = Words {
        name: "figure-7-learning".into(),
        title: "What the agents reach in the course of their training".into(),
        reading: "Mean latency and SLO violations against decisions played in training; bands are 95 % intervals over training \
                  seeds. Lower is better."
            .into(),
        notes: vec![
            "Scale (ours) on its validation day; the step-by-step learners on what they play, exploration included.".into(),
        ],
    };
    LineChart {
        words,
        x_axis: "decisions played (log scale)".into(),
        x_logarithmic: true,
        panels: vec![
            panel("mean latency (ms)", |point| point.latency_ms),
            panel("SLO violations (%)", |point| 100.0 * point.late_rate),
        ],
    }
}

fn sweep_chart(experiment: &Experiment, sweep: &Sweep, records: &Records, name: String) -> LineChart {
    let mut values: Vec<(f64, String)> =
        sweep.values.iter().map(|&value| (value, sweep.label(value))).collect();
    // The scenario as it is, which is played once for all sweeps, has the factor 1.
    if experiment.sweeps.len() > 1 && !sweep.scale.is_empty() && !sweep.values.contains(&1.0) {
        values.push((1.0, String::new()));
    }
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let panel = |metric: &Metric| {
        let line = |style: &Style| {
            let point = |(value, label): &(f64, String)| {
                let over = draw::over_seeds(records, &style.algorithm, label, |cell| metric.of(cell));
                over.map(|estimate| (*value, estimate))
            };
            Line { style: style.clone(), points: values.iter().filter_map(point).collect() }
        };
        Panel {
            axis: metric.name().into(),
            scale: if *metric == Metric::DecisionTime { Scale::Time } else { Scale::Linear },
            lines: styles_of(experiment).iter().map(line).collect(),
        }
    };
    let words = Words {
        name,
        title: match experiment.sweeps.len() {
            1 => experiment.title.clone(),
            _ => format!("{}: {}", experiment.title, sweep.title().split(" (").next().unwrap_or_default()),
        },
        reading: "Each line is an algorithm, its mean over seeds; where bands overlap, the table of paired differences decides."
            .into(),
        notes: vec![format!("Means over {}.", seeds(experiment))],
    };
    LineChart {
        words,
        x_axis: sweep.title().into(),
        x_logarithmic: sweep.logarithmic,
        panels: experiment.metrics.iter().map(panel).collect(),
    }
}

/// For each algorithm after the first: the ratio of its latency, and of its violations, to those of the first.
fn tornado_charts(experiment: &Experiment, records: &Records, name: &str) -> Vec<TornadoChart> {
    let Some((first, others)) = experiment.algorithms.split_first() else { return Vec::new() };
    let label = |name: &str| {
        let known = ROSTER.iter().find(|entry| entry.name == name);
        known.map_or(name.to_string(), |entry| entry.label.to_string())
    };
    let mut charts = Vec::new();
    for other in others {
        for (metric, short) in [(Metric::Latency, "latency"), (Metric::Violations, "violations")] {
            let ratio = |at: &str| ratio(records, (other, first), at, metric);
            let Some(baseline) = ratio("") else { continue };
            let row = |sweep: &Sweep| {
                let end = |value: Option<&f64>| match value {
                    Some(value) => (format!("{value} times"), ratio(&sweep.label(*value))),
                    None => (String::new(), None),
                };
                let (low, high) = (end(sweep.values.first()), end(sweep.values.last()));
                TornadoRow { label: sweep.title().into(), low, high }
            };
            let quantity = metric.name().split(" (").next().unwrap_or_default();
            let words = Words {
                name: format!("{name}-{other}-{short}"),
                title: format!("{}: what it rests on, {quantity}", experiment.title),
                reading: "Each choice halved and doubled, all others as they are: the longer a bar, the more the comparison rests \
                          on that choice. Below 1 the order turns."
                    .into(),
                notes: vec![format!(
                    "{}; whiskers and the grey band: 95\u{a0}% bootstrap interval of the ratio.",
                    seeds(experiment)
                )],
            };
            let axis = format!("{quantity}: {} / {}", label(other), label(first));
            let rows = experiment.sweeps.iter().map(row).collect();
            charts.push(TornadoChart { words, axis, baseline, rows });
        }
    }
    charts
}

/// The ratio of the first algorithm's metric to the second's, over the same seeds.
pub(crate) fn ratio(
    records: &Records,
    (ours, theirs): (&str, &str),
    at: &str,
    metric: Metric,
) -> Option<crate::stats::Estimate> {
    let values = |algorithm| records.values(algorithm, at, |cell| metric.of(cell));
    paired_ratio(&values(ours), &values(theirs), LEVEL, RESAMPLES, BOOTSTRAP_SEED)
}

fn block(
    experiment: &Experiment,
    measured: &Measured,
    drawn: Drawn,
    figure_folder: &str,
    command: &str,
) -> Block {
    let has = |figure| experiment.figures.contains(&figure);
    let subject = if experiment.batches.is_some() {
        Subject::Batches(measured.batches.clone())
    } else if has(Figure::Tornado) {
        Subject::Ratios { algorithms: experiment.algorithms.clone(), sweeps: experiment.sweeps.clone() }
    } else if !experiment.sweeps.is_empty() {
        Subject::Sweeps { sweeps: experiment.sweeps.clone(), metrics: experiment.metrics.clone() }
    } else if experiment.figures == [Figure::Pareto] {
        Subject::Tradeoff
    } else {
        Subject::Runs
    };
    Block {
        experiment: experiment.name.clone(),
        question: experiment.question.clone(),
        subject,
        data: measured.points.first().map(|point| point.built.data.clone()).into_iter().collect(),
        commands: vec![command.into()],
        parameters: parameters(experiment),
        figures: drawn.into_iter().map(|(figure, _)| figure).collect(),
        figure_folder: figure_folder.into(),
        compare_with_paper: of_paper(experiment),
        against: experiment.against.clone(),
    }
}

/// Every value of the scenario, with its path as name; what a sweep changes, with the values that it takes.
fn parameters(experiment: &Experiment) -> Vec<Parameter> {
    let mut rows = Vec::new();
    if let Ok(value) = toml::Value::try_from(&experiment.scenario) {
        flatten("", &value, &mut rows);
    }
    let row = |(name, value): (String, String)| {
        let changes = |sweep: &&Sweep| {
            let below = |path: &String| name == *path || name.starts_with(&format!("{path}."));
            sweep.parameter == name || sweep.scale.iter().any(below)
        };
        let mut value = value;
        for sweep in experiment.sweeps.iter().filter(changes) {
            let values: Vec<String> = sweep.values.iter().map(f64::to_string).collect();
            let (values, times) = (values.join(", "), if sweep.scale.is_empty() { "" } else { " times" });
            value = format!("{value}; swept: {values}{times}");
        }
        let source = source_of(&name).into();
        Parameter { name, value, source }
    };
    rows.into_iter().map(row).collect()
}

/// Where the value of a parameter comes from.
fn source_of(name: &str) -> &'static str {
    match name {
        "arrivals.slo_ms" => "paper, section V",
        _ if name.starts_with("generator.") || name.starts_with("functions.burstiness") => {
            "fitted to what is published of the Huawei trace: METHODOLOGY.md, register of interpretations"
        }
        _ => "METHODOLOGY.md, register of interpretations",
    }
}

fn flatten(path: &str, value: &toml::Value, rows: &mut Vec<(String, String)>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flatten(&path, value, rows);
            }
        }
        value => rows.push((path.into(), value.to_string())),
    }
}

fn notes() -> Vec<String> {
    let overhead = crate::clock::overhead();
    vec![
        format!("An empty reading of the clock takes {} ns; decision times contain one.", overhead.as_nanos()),
        "Every batch that a number here rests on was held against constraints (5)-(8) by a judge that is not the \
         simulator, and its latencies against the closed form, bit for bit."
            .into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::BUILT_IN;

    #[test]
    fn what_is_named_is_made() {
        let check = |wanted: &[&str], set: Set, expected: &[(&str, usize)]| {
            let wanted: Vec<String> = wanted.iter().map(|word| word.to_string()).collect();
            let made = tasks(&wanted, set).expect("known words");
            let found: Vec<(&str, usize)> =
                made.iter().map(|task| (task.experiment.name.as_str(), task.figures.len())).collect();
            assert_eq!(found, expected, "{wanted:?}");
        };
        check(&["fig6"], Set::Default, &[("gap", 1)]);
        check(&["fig9"], Set::Default, &[("nodes", 1)]);
        check(&["cdf"], Set::Default, &[("paper", 1), ("burst", 1), ("tight", 1)]);
        check(&["load", "fig2"], Set::Default, &[("paper", 1), ("burst", 1), ("load", 1), ("tight", 1)]);
        check(&["fig12"], Set::Default, &[("paper", 1)]);
        check(&[], Set::Quick, &[("quick", 6)]);
        let names = |set| tasks(&[], set).expect("valid").into_iter().map(|task| task.experiment.name);
        let (default, full): (Vec<String>, Vec<String>) =
            (names(Set::Default).collect(), names(Set::Full).collect());
        assert!(default.iter().all(|name| full.contains(name)) && !default.contains(&"sensitivity".into()));
        assert_eq!(full.len() + 1, BUILT_IN.len());
        let error = tasks(&["fig99".into()], Set::Default).err().expect("unknown").to_string();
        assert!(error.contains("\"fig99\"") && error.contains("fig6") && error.contains("load"), "{error}");
    }

    #[test]
    fn every_built_in_experiment_has_a_place_in_the_plan_and_a_number_of_its_own() {
        let planned: Vec<&str> = PLAN.iter().map(|planned| planned.name).collect();
        assert_eq!(planned, BUILT_IN.map(|(name, _)| name));
        let mut numbers = Vec::new();
        for (name, text) in BUILT_IN {
            let experiment = Experiment::parse(text).expect(name);
            assert_eq!(experiment.name, name);
            numbers.extend(experiment.number);
        }
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers, [6, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18]);
    }
}
