//! From an experiment to figures and a report, and all built-in experiments in one go.

use crate::draw::{self, Caption, MapNode, Style};
use crate::experiment::{Experiment, Figure, Point};
use crate::measure::{self, Share, measure_share};
use crate::record::{self, Records};
use crate::report::{self, Block, Parameter, ReportInput};
use crate::roster::ROSTER;
use crate::scenario::Scenario;
use anyhow::{Context, Result, anyhow, ensure};
use scale_topology::NODE_TYPES;
use std::path::{Path, PathBuf};

/// The experiments that come with the program, as (name, TOML).
pub const BUILT_IN: [(&str, &str); 3] = [
    ("paper", include_str!("../../../experiments/paper.toml")),
    ("burst", include_str!("../../../experiments/burst.toml")),
    ("quick", include_str!("../../../experiments/quick.toml")),
];

/// The TOML of a built-in experiment.
pub fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(built_in, _)| *built_in == name).map(|(_, text)| *text)
}

/// What [`reproduce`] is asked for.
pub struct Reproduce {
    /// Which figures.
    pub figures: Vec<Figure>,
    /// The short version on embedded data: `quick` instead of `paper` and `burst`.
    pub quick: bool,
    /// Where everything goes.
    pub out: PathBuf,
    /// How many cells are played at once.
    pub threads: usize,
    /// What of it is measured; a shard measures and draws nothing.
    pub share: Share,
}

/// Measures, draws and reports the built-in experiments. The figures of the paper stand in `out` itself, those of any
/// other experiment in a folder of its name.
///
/// # Errors
/// Whatever keeps a step from being done.
pub fn reproduce(options: &Reproduce) -> Result<()> {
    let names: &[&str] = if options.quick { &["quick"] } else { &["paper", "burst"] };
    let mut blocks = Vec::new();
    let mut cells = Vec::new();
    let mut introduction = String::new();
    for (index, name) in names.iter().enumerate() {
        let text = built_in(name).ok_or_else(|| anyhow!("{name} is not built in"))?;
        let experiment = Experiment::parse(text)?;
        let points = experiment.build()?;
        let records = measure_share(&experiment, &points, &options.out, options.threads, options.share)?;
        if options.share.shard.is_some() {
            continue;
        }
        let folder = if index == 0 { options.out.clone() } else { options.out.join(name) };
        let figures = draw_records(&experiment, &points, &options.figures, &records, &folder)?;
        for (_, paths) in &figures {
            tracing::info!("{}", paths[0].with_extension("{svg,png}").display());
        }
        cells.extend(records.cells);
        let quick = if options.quick { " --quick" } else { "" };
        let command = format!("cargo xtask reproduce{quick}");
        let figure_folder = if index == 0 { "." } else { name };
        blocks.push(block(&experiment, &points, figures, figure_folder, &command));
        if index == 0 {
            introduction = "The evaluation of \"Scale: Deep Reinforcement Learning for Container Scheduling in Serverless Edge \
                            Computing\" (arXiv:2605.15704v1, section V), made again by simulation."
                .into();
        }
    }
    if options.share.shard.is_some() {
        println!("records: {}", options.out.join("records").display());
        return Ok(());
    }
    let records = Records::new(cells);
    let input = ReportInput {
        title: "Scale: reproduction report".into(),
        introduction: vec![introduction],
        blocks,
        styles: styles(),
        yardstick: "greedy-latency".into(),
        notes: notes(),
    };
    for path in report::render(&input, &records)?.write(&options.out)? {
        tracing::info!("{}", path.display());
    }
    println!("figures and report: {}", options.out.join("report.html").display());
    Ok(())
}

/// Draws figures of an experiment from its records below `out` into `folder`, and returns their files.
///
/// # Errors
/// If there are no records, or nothing to draw.
pub fn draw(experiment: &Experiment, figures: &[Figure], out: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let points = experiment.build()?;
    let records = recorded(experiment, &points, out)?;
    let drawn = draw_records(experiment, &points, figures, &records, folder)?;
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
    let points = experiment.build()?;
    let records = recorded(experiment, &points, out)?;
    let drawn = draw_records(experiment, &points, figures, &records, folder)?;
    let input = ReportInput {
        title: experiment.title.clone(),
        introduction: vec![experiment.question.clone()],
        blocks: vec![block(experiment, &points, drawn, ".", command)],
        styles: styles(),
        yardstick: "greedy-latency".into(),
        notes: notes(),
    };
    Ok(report::render(&input, &records)?.write(folder)?.to_vec())
}

fn recorded(experiment: &Experiment, points: &[Point], out: &Path) -> Result<Records> {
    let folder = out.join("records").join(&experiment.name);
    let wanted = measure::keys(experiment, points)?;
    let records =
        if folder.exists() { record::collect(out)?.select(&wanted) } else { Records::new(Vec::new()) };
    let (found, all) = (records.cells.len(), wanted.len());
    ensure!(
        found == all,
        "{}: {found} of {all} cells of this version of the experiment are recorded: run `scale measure` first",
        folder.display()
    );
    Ok(records)
}

/// How every algorithm of the roster looks.
fn styles() -> Vec<Style> {
    let style = |(mark, entry): (usize, &crate::roster::Entry)| Style {
        algorithm: entry.name.into(),
        label: entry.label.into(),
        color: entry.color,
        mark,
    };
    ROSTER.iter().enumerate().map(style).collect()
}

type Drawn = Vec<(draw::Figure, [PathBuf; 2])>;

/// Figures at the first point of a sweep.
fn draw_records(
    experiment: &Experiment,
    points: &[Point],
    wanted: &[Figure],
    records: &Records,
    folder: &Path,
) -> Result<Drawn> {
    let Point { label, built } = points.first().ok_or_else(|| anyhow!("no scenario"))?;
    let at = if label.is_empty() { String::new() } else { format!(", {label}") };
    let caption = Caption { experiment: format!("{}{at}", experiment.name), data: built.data.clone() };
    let series = draw::series(records, label, &styles());
    let mut drawn = Vec::new();
    for &kind in experiment.figures.iter().filter(|figure| wanted.contains(figure)) {
        let figure = match kind {
            Figure::Map => {
                let node = |node: &scale_model::Node| MapNode {
                    latitude: node.position.latitude,
                    longitude: node.position.longitude,
                    node_type: usize::from(node.kind),
                };
                let nodes: Vec<MapNode> = built.platform.topology.nodes.iter().map(node).collect();
                let names: Vec<String> = NODE_TYPES.iter().map(|kind| kind.name.to_string()).collect();
                draw::map(&nodes, &names, &caption)?
            }
            Figure::Cdf => {
                let [low, high] = built.scenario.arrivals.slo_ms;
                draw::cdf(&series, (low, high), &caption)?
            }
            Figure::Percentiles => draw::percentiles(&series, &caption)?,
            Figure::Violations => draw::violations(&series, &caption)?,
            Figure::DecisionTime => draw::decision_time(&series, &caption)?,
        };
        let paths = figure.write(folder).with_context(|| format!("figure {}", kind.name()))?;
        drawn.push((figure, paths));
    }
    Ok(drawn)
}

fn block(
    experiment: &Experiment,
    points: &[Point],
    drawn: Drawn,
    figure_folder: &str,
    command: &str,
) -> Block {
    Block {
        experiment: experiment.name.clone(),
        question: experiment.question.clone(),
        data: points.first().map(|point| point.built.data.clone()).into_iter().collect(),
        commands: vec![command.into()],
        parameters: parameters(&experiment.scenario),
        figures: drawn.into_iter().map(|(figure, _)| figure).collect(),
        figure_folder: figure_folder.into(),
        // The paper's numbers belong to its own scenario, of which `quick` is the head.
        compare_with_paper: ["paper", "quick"].contains(&experiment.name.as_str()),
    }
}

/// Every value of the scenario, with its path as name. Sources stand in the register of interpretations.
fn parameters(scenario: &Scenario) -> Vec<Parameter> {
    let mut rows = Vec::new();
    if let Ok(value) = toml::Value::try_from(scenario) {
        flatten("", &value, &mut rows);
    }
    let source = "METHODOLOGY.md, register of interpretations";
    rows.into_iter().map(|(name, value)| Parameter { name, value, source: source.into() }).collect()
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
