//! One TOML file, one experiment: a question, a scenario, algorithms, seeds, a sweep, figures.

use crate::record::Cell;
use crate::roster;
use crate::scenario::{Built, Scenario};
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// An experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its name: that of the file, without `.toml`.
    pub name: String,
    /// One line for titles.
    pub title: String,
    /// What it asks.
    pub question: String,
    /// Names from the roster.
    pub algorithms: Vec<String>,
    /// One run of every algorithm for each.
    pub seeds: Vec<u64>,
    /// Those that play some of the seeds only.
    pub slow: Option<Slow>,
    /// How many requests of each run are played again to time decisions.
    pub timing_requests: usize,
    /// What is drawn.
    pub figures: Vec<Figure>,
    /// The number of its figures whose kind has none of its own.
    pub number: Option<u32>,
    /// What the panels of [`Figure::Sweep`] show, from above.
    pub metrics: Vec<Metric>,
    /// Values of the scenario that take several values, one after the other. With more than one sweep the unchanged
    /// scenario is played too, as the point with the empty label.
    pub sweeps: Vec<Sweep>,
    /// Instead of whole runs: single batches, the same for every algorithm.
    pub batches: Option<Batches>,
    /// The built-in experiment on whose scenario agents are trained; on this one's, without the sweep, if not given.
    pub trained_on: Option<String>,
    /// The algorithm that all others are held against, beside the yardsticks of every report.
    pub against: Option<String>,
    /// What is played.
    pub scenario: Scenario,
}

/// The experiments that come with the program, as (name, TOML).
pub const BUILT_IN: [(&str, &str); 14] = [
    ("paper", include_str!("../../../experiments/paper.toml")),
    ("burst", include_str!("../../../experiments/burst.toml")),
    ("gap", include_str!("../../../experiments/gap.toml")),
    ("foresight", include_str!("../../../experiments/foresight.toml")),
    ("load", include_str!("../../../experiments/load.toml")),
    ("nodes", include_str!("../../../experiments/nodes.toml")),
    ("convergence", include_str!("../../../experiments/convergence.toml")),
    ("slo", include_str!("../../../experiments/slo.toml")),
    ("memory", include_str!("../../../experiments/memory.toml")),
    ("generalisation", include_str!("../../../experiments/generalisation.toml")),
    ("sensitivity", include_str!("../../../experiments/sensitivity.toml")),
    ("tight", include_str!("../../../experiments/tight.toml")),
    ("ablation", include_str!("../../../experiments/ablation.toml")),
    ("quick", include_str!("../../../experiments/quick.toml")),
];

/// The TOML of a built-in experiment.
pub fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(built_in, _)| *built_in == name).map(|(_, text)| *text)
}

/// An experiment as it stands in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    title: String,
    question: String,
    algorithms: Vec<String>,
    seeds: Vec<u64>,
    slow: Option<Slow>,
    timing_requests: usize,
    figures: Vec<Figure>,
    number: Option<u32>,
    #[serde(default)]
    metrics: Vec<Metric>,
    #[serde(default)]
    sweep: Vec<Sweep>,
    batches: Option<Batches>,
    trained_on: Option<String>,
    against: Option<String>,
    /// The built-in experiment whose scenario is taken, with what `set` changes; or else `scenario`.
    base: Option<String>,
    #[serde(default)]
    set: toml::Table,
    scenario: Option<Scenario>,
}

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// The nodes and their types; figure 1 of the paper.
    Map,
    /// The distribution of end-to-end latency; figure 2.
    Cdf,
    /// Its median and 99th percentile; figure 3.
    Percentiles,
    /// The SLO violation rate; figure 4.
    Violations,
    /// How long a decision takes; figure 5.
    DecisionTime,
    /// How far from the proven bound each algorithm ends, batch by batch; needs `[batches]`.
    Gap,
    /// What the latency is made of; figure 10.
    Parts,
    /// How fast a search comes close to the optimum; needs `[batches]` with `evaluations`.
    Convergence,
    /// Quality against decision time.
    Pareto,
    /// What the agents reach in the course of their training; figure 7.
    Learning,
    /// Metrics over the values of a sweep, one figure a sweep.
    Sweep,
    /// How far the ratio of two algorithms moves with each sweep.
    Tornado,
}

impl Figure {
    /// All kinds.
    pub const ALL: [Figure; 12] = [
        Figure::Map,
        Figure::Cdf,
        Figure::Percentiles,
        Figure::Violations,
        Figure::DecisionTime,
        Figure::Gap,
        Figure::Parts,
        Figure::Convergence,
        Figure::Pareto,
        Figure::Learning,
        Figure::Sweep,
        Figure::Tornado,
    ];

    /// The number that every figure of this kind has: 1 to 5 in the paper, 7 for learning curves, 10 for the
    /// latency's parts.
    pub fn number(self) -> Option<u32> {
        match self {
            Figure::Map => Some(1),
            Figure::Cdf => Some(2),
            Figure::Percentiles => Some(3),
            Figure::Violations => Some(4),
            Figure::DecisionTime => Some(5),
            Figure::Learning => Some(7),
            Figure::Parts => Some(10),
            Figure::Gap | Figure::Convergence | Figure::Pareto | Figure::Sweep | Figure::Tornado => None,
        }
    }

    /// Its name in experiments and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Map => "map",
            Figure::Cdf => "cdf",
            Figure::Percentiles => "percentiles",
            Figure::Violations => "violations",
            Figure::DecisionTime => "decision-time",
            Figure::Gap => "gap",
            Figure::Parts => "parts",
            Figure::Convergence => "convergence",
            Figure::Pareto => "pareto",
            Figure::Learning => "learning",
            Figure::Sweep => "sweep",
            Figure::Tornado => "tornado",
        }
    }
}

/// What a panel of [`Figure::Sweep`] shows: a value of a cell, over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Mean end-to-end latency, ms.
    Latency,
    /// 99th percentile of the end-to-end latency, ms.
    P99,
    /// SLO violations, percent.
    Violations,
    /// Cold starts, percent of the requests.
    ColdStarts,
    /// Busy cores, percent of the cluster's.
    CpuUse,
    /// Mean decision time a request, microseconds.
    DecisionTime,
}

impl Metric {
    /// What a cell measured of it.
    pub fn of(self, cell: &Cell) -> Option<f64> {
        let percent = |share: Option<f64>| share.map(|share| 100.0 * share);
        match self {
            Metric::Latency => cell.row.latency_ms_mean,
            Metric::P99 => cell.row.latency_ms_p99,
            Metric::Violations => percent(cell.row.slo_violation_rate),
            Metric::ColdStarts => percent(cell.row.cold_start_rate),
            Metric::CpuUse => percent(cell.row.cpu_utilisation),
            Metric::DecisionTime => cell.timing.decision_us_mean,
        }
    }

    /// Quantity and unit, for a sentence.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Metric::DecisionTime => (self.name(), "µs"),
            _ => self.name().trim_end_matches(')').split_once(" (").unwrap_or((self.name(), "")),
        }
    }

    /// Its name, with the unit; decision times are drawn in the unit that suits them.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Latency => "mean latency (ms)",
            Metric::P99 => "P99 latency (ms)",
            Metric::Violations => "SLO violations (%)",
            Metric::ColdStarts => "cold starts (%)",
            Metric::CpuUse => "CPU use (%)",
            Metric::DecisionTime => "decision time",
        }
    }
}

/// One value of the scenario that takes several values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Path of the value below `scenario`, such as `arrivals.load`; with `scale` a name and no path.
    pub parameter: String,
    /// The values; with `scale`, factors.
    pub values: Vec<f64>,
    /// Paths of numbers that are multiplied by each value. A path that leads to a list means everything in it.
    #[serde(default)]
    pub scale: Vec<String>,
    /// Title of the axis; the parameter's name if not given.
    pub axis: Option<String>,
    /// Whether equal ratios of the values are equally long on the axis.
    #[serde(default)]
    pub logarithmic: bool,
}

impl Sweep {
    /// What readers see.
    pub fn title(&self) -> &str {
        self.axis.as_deref().unwrap_or(&self.parameter)
    }

    /// The label of a value in records.
    pub fn label(&self, value: f64) -> String {
        format!("{}={value}", self.parameter)
    }
}

/// Batches taken out of a run and put to every algorithm: all decide the same problems from the same states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batches {
    /// Whose run they come from.
    pub sampled_by: String,
    /// Every so many batches after the warm-up one is taken.
    pub every: u64,
    /// Nodes of the branch-and-bound tree that the exact solver may spend on each; then its bound stands for the optimum.
    pub nodes: u64,
    /// Evaluations of the evolutionary solvers if other than in the roster; their way to the end is recorded then.
    pub evaluations: Option<u64>,
}

/// Algorithms too slow to play every seed. Only `scale reproduce --full` lets them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    /// Which of the experiment's.
    pub algorithms: Vec<String>,
    /// The seeds that they play, of the experiment's.
    pub seeds: Vec<u64>,
}

/// A scenario of a sweep, with the label of its value; the label is empty without a sweep.
pub struct Point {
    /// Such as `arrivals.load=0.7`.
    pub label: String,
    /// The scenario.
    pub built: Built,
}

impl Experiment {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read; a text that is not an experiment, with line and column; a value that makes no sense.
    pub fn read(path: &Path) -> Result<Experiment> {
        let text = std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
        let experiment = Experiment::parse(&text).with_context(|| format!("{}", path.display()))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        ensure!(
            experiment.name == stem,
            "{}: name: {:?}: expected {stem:?}, the name of the file",
            path.display(),
            experiment.name
        );
        Ok(experiment)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// As [`Experiment::read`].
    pub fn parse(text: &str) -> Result<Experiment> {
        let experiment = Experiment::of_file(toml::from_str(text)?)?;
        let safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let name = &experiment.name;
        ensure!(
            !name.is_empty() && name.chars().all(safe),
            "name: {name:?}: expected lower-case letters, digits and -"
        );
        ensure!(!experiment.algorithms.is_empty(), "algorithms: expected at least one");
        for (index, name) in experiment.algorithms.iter().enumerate() {
            roster::find(name).map_err(|error| anyhow!("algorithms[{index}]: {error}"))?;
            ensure!(
                !experiment.algorithms[..index].contains(name),
                "algorithms[{index}]: {name:?} stands there twice"
            );
        }
        ensure!(!experiment.seeds.is_empty(), "seeds: expected at least one");
        for (index, seed) in experiment.seeds.iter().enumerate() {
            ensure!(!experiment.seeds[..index].contains(seed), "seeds[{index}]: {seed} stands there twice");
        }
        for (index, figure) in experiment.figures.iter().enumerate() {
            let name = figure.name();
            ensure!(
                !experiment.figures[..index].contains(figure),
                "figures[{index}]: {name:?} stands there twice"
            );
        }
        experiment.validate()?;
        experiment.scenarios()?;
        experiment.training_scenario()?;
        Ok(experiment)
    }

    fn of_file(file: File) -> Result<Experiment> {
        let scenario = match (file.base, file.scenario) {
            (None, Some(scenario)) if file.set.is_empty() => scenario,
            (Some(base), None) => {
                let text = built_in(&base)
                    .ok_or_else(|| anyhow!("base: {base:?}: expected a built-in experiment"))?;
                let mut scenario = toml::Table::try_from(Experiment::parse(text)?.scenario)?;
                merge(&mut scenario, file.set);
                toml::Value::Table(scenario).try_into().context("set")?
            }
            _ => bail!("expected either `scenario`, or `base` with changes in `set`"),
        };
        Ok(Experiment {
            name: file.name,
            title: file.title,
            question: file.question,
            algorithms: file.algorithms,
            seeds: file.seeds,
            slow: file.slow,
            timing_requests: file.timing_requests,
            figures: file.figures,
            number: file.number,
            metrics: file.metrics,
            sweeps: file.sweep,
            batches: file.batches,
            trained_on: file.trained_on,
            against: file.against,
            scenario,
        })
    }

    /// Whether all parts belong together.
    fn validate(&self) -> Result<()> {
        let has = |figure| self.figures.contains(&figure);
        if let Some(name) = &self.against {
            ensure!(self.algorithms.contains(name), "against: {name:?}: expected one of `algorithms`");
            ensure!(
                self.batches.is_none() && self.sweeps.is_empty(),
                "against: {name:?}: expected no sweep and no [batches] beside it"
            );
        }
        if let Some(batches) = &self.batches {
            roster::find(&batches.sampled_by).map_err(|error| anyhow!("batches.sampled_by: {error}"))?;
            ensure!(batches.every > 0, "batches.every: 0: expected at least 1");
            for (index, name) in self.algorithms.iter().enumerate() {
                let learned = roster::find(name).is_ok_and(|entry| entry.learned().is_some());
                ensure!(
                    !learned || *name == batches.sampled_by,
                    "algorithms[{index}]: {name:?} remembers the requests before, which a batch alone does not tell: expected \
                     it only as batches.sampled_by"
                );
            }
            ensure!(self.sweeps.is_empty(), "batches: expected no sweep beside them");
        }
        if let Some(slow) = &self.slow {
            ensure!(self.batches.is_none(), "slow: expected no [batches] beside it");
            for (index, name) in slow.algorithms.iter().enumerate() {
                ensure!(
                    self.algorithms.contains(name),
                    "slow.algorithms[{index}]: {name:?}: expected one of `algorithms`"
                );
            }
            ensure!(!slow.seeds.is_empty(), "slow.seeds: expected at least one");
            for (index, seed) in slow.seeds.iter().enumerate() {
                ensure!(self.seeds.contains(seed), "slow.seeds[{index}]: {seed}: expected one of `seeds`");
            }
        }
        for figure in &self.figures {
            let (fits, needs) = match figure {
                Figure::Gap => (self.batches.is_some(), "[batches]"),
                Figure::Convergence => {
                    let evaluations = self.batches.as_ref().and_then(|batches| batches.evaluations);
                    (evaluations.is_some(), "[batches] with evaluations")
                }
                Figure::Sweep => (!self.sweeps.is_empty() && !self.metrics.is_empty(), "a sweep and metrics"),
                Figure::Tornado => (self.sweeps.len() > 1, "at least two sweeps"),
                _ => (self.batches.is_none() || *figure == Figure::Map, "whole runs, not [batches]"),
            };
            ensure!(fits, "figures: {:?} needs {needs}", figure.name());
        }
        ensure!(
            self.number.is_some() || !self.figures.iter().any(|figure| figure.number().is_none()),
            "number: expected one, since a figure's kind has none"
        );
        ensure!(
            !has(Figure::Tornado) || self.algorithms.len() > 1,
            "figures: a tornado compares two algorithms"
        );
        Ok(())
    }

    /// Whether an algorithm plays a seed.
    pub fn plays(&self, algorithm: &str, seed: u64) -> bool {
        !self.is_slow(algorithm) || self.slow.as_ref().is_some_and(|slow| slow.seeds.contains(&seed))
    }

    /// Whether an algorithm is among the [`Slow`] ones.
    pub fn is_slow(&self, algorithm: &str) -> bool {
        self.slow.as_ref().is_some_and(|slow| slow.algorithms.iter().any(|name| name == algorithm))
    }

    /// The number of one of its figures.
    pub fn number_of(&self, figure: Figure) -> Option<u32> {
        figure.number().or(self.number)
    }

    /// The scenario that agents are trained on.
    ///
    /// # Errors
    /// If `trained_on` is not built in.
    pub fn training_scenario(&self) -> Result<Scenario> {
        let Some(name) = &self.trained_on else { return Ok(self.scenario.clone()) };
        let text =
            built_in(name).ok_or_else(|| anyhow!("trained_on: {name:?}: expected a built-in experiment"))?;
        Ok(Experiment::parse(text)?.scenario)
    }

    /// The scenarios of the sweeps with their labels; one without a sweep.
    ///
    /// # Errors
    /// A sweep over a value that does not exist, or a value that does not fit.
    pub fn scenarios(&self) -> Result<Vec<(String, Scenario)>> {
        let mut scenarios = Vec::new();
        if self.sweeps.len() != 1 {
            scenarios.push((String::new(), self.scenario.clone()));
        }
        for (index, sweep) in self.sweeps.iter().enumerate() {
            ensure!(!sweep.values.is_empty(), "sweep[{index}].values: expected at least one");
            for (at, value) in sweep.values.iter().enumerate() {
                let place = format!("sweep[{index}].values[{at}]");
                ensure!(value.is_finite(), "{place}: {value}: expected a finite number");
                let label = sweep.label(*value);
                // Two points of one label would be one record, written twice.
                ensure!(
                    !scenarios.iter().any(|(known, _)| *known == label),
                    "{place}: {value} stands there twice"
                );
                let scenario =
                    self.scenario.swept(sweep, *value).with_context(|| format!("sweep: {label}"))?;
                scenarios.push((label, scenario));
            }
        }
        Ok(scenarios)
    }

    /// The platforms and traces of the sweep.
    ///
    /// # Errors
    /// As [`Scenario::build`].
    pub fn build(&self) -> Result<Vec<Point>> {
        let build = |(label, scenario): (String, Scenario)| Ok(Point { built: scenario.build()?, label });
        self.scenarios()?.into_iter().map(build).collect()
    }
}

/// Puts every value of `changes` into a table, into the tables that it has of the same name.
fn merge(table: &mut toml::Table, changes: toml::Table) {
    for (key, change) in changes {
        match (table.get_mut(&key), change) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(change)) => merge(inner, change),
            (_, change) => _ = table.insert(key, change),
        }
    }
}

impl Scenario {
    /// The scenario at one value of a sweep.
    fn swept(&self, sweep: &Sweep, value: f64) -> Result<Scenario> {
        if sweep.scale.is_empty() {
            return self.with(&sweep.parameter, value);
        }
        let mut root = toml::Value::try_from(self)?;
        for path in &sweep.scale {
            change(&mut root, path, &mut |number| number * value).with_context(|| path.clone())?;
        }
        Ok(root.try_into()?)
    }

    /// The scenario with one number replaced.
    ///
    /// # Errors
    /// If there is no number at that path.
    pub fn with(&self, parameter: &str, value: f64) -> Result<Scenario> {
        let mut root = toml::Value::try_from(self)?;
        let mut place = &mut root;
        for key in parameter.split('.') {
            place = place.get_mut(key).ok_or_else(|| anyhow!("{parameter}: the scenario has no {key:?}"))?;
        }
        *place = match place {
            toml::Value::Integer(_) if value.fract() == 0.0 => toml::Value::Integer(value as i64),
            toml::Value::Float(_) => toml::Value::Float(value),
            other => bail!("{parameter}: {value}: expected a value like {other}"),
        };
        Ok(root.try_into()?)
    }
}

/// Changes every number at a path; whole ones stay whole, rounded.
fn change(place: &mut toml::Value, path: &str, new: &mut impl FnMut(f64) -> f64) -> Result<()> {
    match place {
        toml::Value::Array(items) => items.iter_mut().try_for_each(|item| change(item, path, new)),
        toml::Value::Integer(number) if path.is_empty() => {
            *number = new(*number as f64).round() as i64;
            Ok(())
        }
        toml::Value::Float(number) if path.is_empty() => {
            *number = new(*number);
            Ok(())
        }
        toml::Value::Table(table) if !path.is_empty() => {
            let (key, rest) = path.split_once('.').unwrap_or((path, ""));
            let inner = table.get_mut(key).ok_or_else(|| anyhow!("the scenario has no {key:?}"))?;
            change(inner, rest, new)
        }
        other => bail!("expected a path to numbers, found {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str) -> Result<Experiment> {
        let text = format!(
            "name = \"x\"\ntitle = \"x\"\nquestion = \"x?\"\nalgorithms = [\"nearest\"]\nseeds = [1]\n\
             timing_requests = 0\n{head}"
        );
        Experiment::parse(&text)
    }

    #[test]
    fn a_base_gives_its_scenario_with_changes() {
        let paper = Experiment::parse(built_in("paper").expect("built in")).expect("valid").scenario;
        let head = "figures = []\nbase = \"paper\"\n[set]\nsites = { rule = 20 }\narrivals.minutes = 30\n";
        let changed = parse(head).expect("valid").scenario;
        assert_eq!((paper.arrivals.minutes, changed.arrivals.minutes), (None, Some(30)));
        assert_eq!(changed.arrivals.load, paper.arrivals.load);
        assert_eq!(changed.sites, crate::scenario::Sites::Rule(20));
    }

    #[test]
    fn sweeps_replace_or_scale() {
        let head = "figures = []\nbase = \"paper\"\n[[sweep]]\nparameter = \"arrivals.load\"\nvalues = [0.1]\n\
                    [[sweep]]\nparameter = \"memory\"\nscale = [\"functions.pools.memory_mb\", \
                    \"arrivals.slo_ms\"]\nvalues = [0.5, 2.0]\n";
        let experiment = parse(head).expect("valid");
        let all = experiment.scenarios().expect("valid");
        let labels: Vec<&str> = all.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["", "arrivals.load=0.1", "memory=0.5", "memory=2"]);
        assert_eq!(all[0].1, experiment.scenario);
        assert_eq!(all[1].1.arrivals.load, Some(0.1));
        let memory: Vec<u32> = all[2].1.functions.pools.iter().map(|pool| pool.memory.mb).collect();
        assert_eq!((memory, all[3].1.arrivals.slo_ms), (vec![64, 128, 256], [400.0, 800.0]));
    }

    #[test]
    fn what_does_not_belong_together_is_named() {
        let check = |head: &str, wanted: &str| {
            let error = format!("{:#}", parse(head).expect_err(head));
            assert!(error.contains(wanted), "{head}: {error}");
        };
        check("figures = []\n", "expected either `scenario`, or `base`");
        check("figures = []\nbase = \"papr\"\n", "base: \"papr\"");
        check("figures = []\nbase = \"paper\"\nagainst = \"milp\"\n", "against: \"milp\": expected one of");
        check(
            "figures = []\nbase = \"paper\"\nagainst = \"nearest\"\n[[sweep]]\nparameter = \"arrivals.load\"\nvalues = [0.1]\n",
            "against: \"nearest\": expected no sweep",
        );
        check("figures = []\nbase = \"paper\"\n[set]\narrivals.lod = 1.0\n", "unknown field `lod`");
        check("figures = [\"gap\"]\nnumber = 6\nbase = \"paper\"\n", "\"gap\" needs [batches]");
        check("figures = [\"sweep\"]\nbase = \"paper\"\n", "\"sweep\" needs a sweep and metrics");
        check(
            "figures = [\"pareto\"]\nbase = \"paper\"\n",
            "number: expected one, since a figure's kind has none",
        );
        let sweep = |scale: &str| {
            format!(
                "figures = []\nbase = \"paper\"\n[[sweep]]\nparameter = \"x\"\nvalues = [2]\nscale = [{scale:?}]\n"
            )
        };
        let slow = |algorithm: &str, seed: u64| {
            let slow = format!("[slow]\nalgorithms = [{algorithm:?}]\nseeds = [{seed}]\n");
            format!("figures = []\nbase = \"paper\"\n{slow}")
        };
        check(&slow("milp", 1), "slow.algorithms[0]: \"milp\": expected one of `algorithms`");
        check(&slow("nearest", 2), "slow.seeds[0]: 2: expected one of `seeds`");
        assert!(parse(&slow("nearest", 1)).is_ok());
        check(&sweep("arrivals.lod"), "arrivals.lod: the scenario has no \"lod\"");
        check(&sweep("arrivals"), "expected a path to numbers");
    }

    /// The guide's example is an experiment, and its tables name every figure, metric and field.
    #[test]
    fn the_guide_is_true() {
        let guide = include_str!("../../../docs/experiments.md").replace("\r\n", "\n");
        let example = guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        let experiment = Experiment::parse(example.expect("an example")).expect("valid");
        assert_eq!((experiment.name.as_str(), experiment.number), ("my", Some(20)));
        assert!(!experiment.plays("midaco-50k", 2) && experiment.plays("scale", 2));
        for figure in Figure::ALL {
            assert!(guide.contains(&format!("`{}`", figure.name())), "{}", figure.name());
        }
        let paper = Experiment::parse(built_in("paper").expect("built in")).expect("valid").scenario;
        let scenario = toml::Table::try_from(paper).expect("a table");
        for key in scenario.keys() {
            assert!(guide.contains(&format!("`{key}")), "{key}");
        }
    }

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        for (index, kind) in Figure::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            let read: Figure = toml::Value::String(kind.name().into()).try_into().expect("its own name");
            assert_eq!(read, kind);
        }
    }
}
