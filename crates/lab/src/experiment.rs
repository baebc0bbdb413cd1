//! One TOML file, one experiment: a question, a scenario, algorithms, seeds, a sweep, figures.

use crate::reproduce::built_in;
use crate::roster;
use crate::scenario::{Built, Scenario};
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// An experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// How many requests of each run are played again to time decisions.
    pub timing_requests: usize,
    /// What is drawn.
    pub figures: Vec<Figure>,
    /// One value of the scenario that takes several values.
    pub sweep: Option<Sweep>,
    /// The built-in experiment on whose scenario agents are trained; on this one's, without the sweep, if not given.
    pub trained_on: Option<String>,
    /// What is played.
    pub scenario: Scenario,
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
}

impl Figure {
    /// All kinds, in the paper's order.
    pub const ALL: [Figure; 5] =
        [Figure::Map, Figure::Cdf, Figure::Percentiles, Figure::Violations, Figure::DecisionTime];

    /// Its number in the paper, from 1.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    /// Its name in experiments and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Map => "map",
            Figure::Cdf => "cdf",
            Figure::Percentiles => "percentiles",
            Figure::Violations => "violations",
            Figure::DecisionTime => "decision-time",
        }
    }

    /// The name of its files, without extension.
    pub fn file_stem(self) -> String {
        format!("fig{}-{}", self.number(), self.name())
    }
}

impl std::str::FromStr for Figure {
    type Err = String;
    /// Reads `cdf` and `fig2` alike.
    fn from_str(text: &str) -> Result<Figure, String> {
        let is = |figure: &&Figure| text == figure.name() || text == format!("fig{}", figure.number());
        Figure::ALL.iter().find(is).copied().ok_or_else(|| {
            let names: Vec<String> = Figure::ALL
                .iter()
                .map(|figure| format!("fig{} ({})", figure.number(), figure.name()))
                .collect();
            format!("{text:?} is not a figure: expected one of {}", names.join(", "))
        })
    }
}

/// One value of the scenario that takes several values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Path of the value below `scenario`, such as `arrivals.load`.
    pub parameter: String,
    /// The values.
    pub values: Vec<f64>,
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
        let experiment: Experiment = toml::from_str(text)?;
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
        experiment.scenarios()?;
        experiment.training_scenario()?;
        Ok(experiment)
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

    /// The scenarios of the sweep with their labels; one without a sweep.
    ///
    /// # Errors
    /// A sweep over a value that does not exist, or a value that does not fit.
    pub fn scenarios(&self) -> Result<Vec<(String, Scenario)>> {
        let Some(sweep) = &self.sweep else {
            return Ok(vec![(String::new(), self.scenario.clone())]);
        };
        ensure!(!sweep.values.is_empty(), "sweep.values: expected at least one");
        for (index, value) in sweep.values.iter().enumerate() {
            ensure!(value.is_finite(), "sweep.values[{index}]: {value}: expected a finite number");
            // Two points of one label would be one record, written twice.
            ensure!(
                !sweep.values[..index].contains(value),
                "sweep.values[{index}]: {value} stands there twice"
            );
        }
        let varied = sweep.values.iter().map(|&value| {
            let label = format!("{}={value}", sweep.parameter);
            let scenario =
                self.scenario.with(&sweep.parameter, value).with_context(|| format!("sweep: {label}"))?;
            Ok((label, scenario))
        });
        varied.collect()
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

impl Scenario {
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
