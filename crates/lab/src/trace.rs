//! `scale trace`: what is in a trace, the same trace in another layout, and a generator that is fitted to it.
//!
//! The layouts, and what is done about bad data, stand in `docs/traces.md`.

use crate::draw::Figure;
use crate::draw::curves::{Chart, Curve, Scale, lines};
use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand, ValueEnum};
use scale_model::Seed;
use scale_workload::calibrate::{Comparison, Drawn, Fit, NEAR, compare, synthetic};
use scale_workload::collect::{Collector, busiest};
use scale_workload::counts::MINUTES;
use scale_workload::describe::{Describer, Description, Histogram};
use scale_workload::trace::{Visit, read};
use scale_workload::write_azure::AzureWriter;
use scale_workload::{Format, Gap, OnBad, Rules, Trace, own};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// `scale trace ...`
#[allow(missing_docs, reason = "a doc of a flattened field would go to the help of the command")]
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub enum Command {
    /// Write a trace in our own layout, or in that of Azure 2019.
    Convert {
        #[command(flatten)]
        input: Input,
        /// The folder that is written; made if it is not there.
        #[arg(long)]
        to: PathBuf,
        /// The layout that is written.
        #[arg(long = "as", value_enum, default_value_t = Target::Scale)]
        target: Target,
    },
    /// Print what is in a trace, and draw it if a folder is given.
    Describe {
        #[command(flatten)]
        input: Input,
        /// Where the figures go, as PNG and SVG.
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Fit a generator to the busiest functions of a trace, and print and draw how well it does.
    Calibrate {
        #[command(flatten)]
        input: Input,
        /// How many functions.
        #[arg(long, default_value_t = 10)]
        functions: usize,
        /// How many synthetic series stand beside each real one.
        #[arg(long, default_value_t = 20)]
        draws: u32,
        /// Seed of the synthetic series.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Where the fits (calibration.json, to be played by an experiment) and the figures go.
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Print the JSON schema of our own layout.
    Schema,
}

/// What is read, and how.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Input {
    /// A file or a folder.
    path: PathBuf,
    /// How it is laid out.
    #[arg(long, value_parser = format_of, default_value = "auto")]
    format: Format,
    /// What happens to what is wrong: see docs/traces.md.
    #[arg(long, value_enum, default_value_t = Bad::Error)]
    on_bad: Bad,
    /// What stands in for minutes and days that are missing.
    #[arg(long, value_enum, default_value_t = Missing::Error)]
    gap: Missing,
    /// Only these days, such as 3 or 0-4.
    #[arg(long, value_parser = days_of)]
    days: Option<[u32; 2]>,
    /// Huawei 2023: the unit of delays, in ms.
    #[arg(long, default_value_t = 1.0)]
    delay_unit_ms: f64,
    /// Huawei 2023: the unit of memory limits, in MB.
    #[arg(long, default_value_t = 1.0)]
    memory_unit_mb: f64,
    /// Huawei 2025: the rate at which code and dependencies arrive, in MB/s.
    #[arg(long, default_value_t = 100.0)]
    registry_mb_s: f64,
}

/// The layouts that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// Our own.
    Scale,
    /// Azure Functions 2019.
    #[value(name = "azure-2019")]
    Azure2019,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Bad {
    Error,
    Skip,
    Repair,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Missing {
    Zero,
    Hold,
    Error,
}

fn format_of(text: &str) -> Result<Format, String> {
    let names = Format::ALL.map(Format::name);
    let found = Format::ALL.into_iter().find(|format| format.name() == text);
    found.ok_or_else(|| format!("{text:?}: expected one of {}", names.join(", ")))
}

fn days_of(text: &str) -> Result<[u32; 2], String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok([first, last]),
        _ => Err(format!("{text:?}: expected a day or a range of days, such as 3 or 0-4")),
    }
}

impl Input {
    fn rules(&self) -> Rules {
        Rules {
            on_bad: match self.on_bad {
                Bad::Error => OnBad::Error,
                Bad::Skip => OnBad::Skip,
                Bad::Repair => OnBad::Repair,
            },
            gap: match self.gap {
                Missing::Zero => Gap::Zero,
                Missing::Hold => Gap::Hold,
                Missing::Error => Gap::Error,
            },
            days: self.days,
            delay_unit_ms: self.delay_unit_ms,
            memory_unit_mb: self.memory_unit_mb,
            registry_mb_s: self.registry_mb_s,
        }
    }

    fn read(&self, visit: &mut Visit<'_>) -> Result<Trace> {
        Ok(read(&self.path, self.format, &self.rules(), visit)?)
    }
}

/// Does what a command says, and prints what it found.
///
/// # Errors
/// A trace that cannot be read by the rules that were asked for, or a place that cannot be written.
pub fn run(command: &Command) -> Result<()> {
    match command {
        Command::Convert { input, to, target } => convert(input, to, *target),
        Command::Describe { input, out } => describe(input, out.as_deref()),
        Command::Calibrate { input, functions, draws, seed, out } => {
            calibrate(input, *functions, *draws, Seed(*seed), out.as_deref())
        }
        Command::Schema => say(own::SCHEMA),
    }
}

/// Prints; a reader that has seen enough ends the program quietly, in `main`.
fn say(text: &str) -> Result<()> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

fn convert(input: &Input, to: &Path, target: Target) -> Result<()> {
    let (trace, lost) = match target {
        Target::Scale => {
            let mut writer = own::Writer::new(to)?;
            let trace = input.read(&mut |row| writer.row(row))?;
            writer.finish(&trace)?;
            (trace, String::new())
        }
        Target::Azure2019 => {
            let mut writer = AzureWriter::new(to)?;
            let trace = input.read(&mut |row| writer.row(row))?;
            let report = writer.finish(&trace)?;
            let lost = format!(
                "{} days; {} cells without data became 0; {} functions have no duration and {} no memory, so no row in \
                 those tables\n",
                report.days, report.no_data, report.without_duration, report.without_memory
            );
            (trace, lost)
        }
    };
    say(&format!("{}{lost}{}", head(input, &trace), trace.tally))?;
    say(&format!("written to {}\n", to.display()))?;
    Ok(())
}

/// The first line of every answer.
fn head(input: &Input, trace: &Trace) -> String {
    let Trace { files, rows, requests, functions, .. } = trace;
    let name = trace.format.name();
    format!(
        "{} ({name}): {files} files, {rows} rows, {} functions, {requests} requests\n",
        input.path.display(),
        functions.len()
    )
}

fn describe(input: &Input, out: Option<&Path>) -> Result<()> {
    let mut describer = Describer::default();
    let trace = input.read(&mut |row| {
        describer.row(row);
        Ok(())
    })?;
    let description = describer.finish(&trace);
    say(&format!("{}{}{}", head(input, &trace), text(&description), trace.tally))?;
    if let Some(folder) = out {
        let data = format!("{} ({})", name_of(&input.path), trace.format.name());
        let figures = figures(&description, &data)?;
        ensure!(!figures.is_empty(), "{}: a trace without requests has no figures", input.path.display());
        write(&figures, folder)?;
    }
    Ok(())
}

fn write(figures: &[Figure], folder: &Path) -> Result<()> {
    for figure in figures {
        for path in figure.write(folder)? {
            say(&format!("{}\n", path.display()))?;
        }
    }
    Ok(())
}

/// The last parts of a path: figures do not say where on somebody's machine a trace lies.
fn name_of(path: &Path) -> String {
    let parts: Vec<String> =
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    parts[parts.len().saturating_sub(2)..].join("/")
}

/// A description in words.
fn text(description: &Description) -> String {
    let Description { offset_s, end_s, functions, called, requests, no_data, hours, .. } = description;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut line = |what: &str, value: String| {
        let _ = writeln!(text, "{what:<22} {value}");
    };
    line("offset", format!("{offset_s} s ({})", time(*offset_s)));
    line("span", format!("{} s ({})", end_s - offset_s, time(end_s - offset_s)));
    line("functions", format!("{functions}, of which {called} were called"));
    line("requests", format!("{requests}"));
    line("cells without data", format!("{no_data}"));
    let minutes = (end_s - offset_s) / 60.0;
    if minutes > 0.0 {
        line("requests a minute", format!("{:.3} on average", *requests as f64 / minutes));
    }
    if let (Some(first), Some(last)) = (description.ranks.first(), description.ranks.last()) {
        let busiest = 100.0 * *first as f64 / *requests as f64;
        line("by function", format!("from {first} ({busiest:.1} % of all) to {last}"));
    }
    let by = if description.durations_by_function { "mean duration (ms)" } else { "duration (ms)" };
    line(by, quantiles(&description.durations));
    line("memory (MB)", quantiles(&description.memory));
    line("input (MB)", quantiles(&description.inputs));
    let cvs = &description.gap_cvs;
    let cv = |share: f64| cvs[((share * cvs.len() as f64).ceil() as usize).clamp(1, cvs.len()) - 1];
    let none = "unknown: no function has three requests".to_string();
    let some = || {
        let parts = [0.1, 0.5, 0.9].map(|share| format!("P{:.0} {:.3}", 100.0 * share, cv(share)));
        format!("{} over {} functions", parts.join(", "), cvs.len())
    };
    line("inter-arrival CV", if cvs.is_empty() { none } else { some() });
    for (quantity, [measured, derived, profile]) in &description.origins {
        if measured + derived > 0 {
            line(
                quantity.column(),
                format!("{measured} measured, {derived} derived, {profile} from the profile"),
            );
        }
    }
    let days = (end_s / 86_400.0).ceil() - (offset_s / 86_400.0).floor();
    text.push_str("requests by hour of the day\n");
    for (hour, count) in hours.iter().enumerate() {
        let share = if *requests > 0 { 100.0 * *count as f64 / *requests as f64 } else { 0.0 };
        let _ = writeln!(
            text,
            "  {hour:>2} h {count:>14} {share:>6.2} %  {:.3} a minute",
            *count as f64 / (60.0 * days.max(1.0))
        );
    }
    text
}

fn quantiles(histogram: &Histogram) -> String {
    let parts = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0];
    let parts =
        parts.map(|share| Some(format!("P{:.0} {}", 100.0 * share, short(histogram.quantile(share)?))));
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "unknown: from the profile".into() } else { parts.join(", ") }
}

/// Three significant digits.
fn short(value: f64) -> String {
    let digits = if value > 0.0 { (2 - value.log10().floor() as i32).clamp(0, 9) as usize } else { 0 };
    format!("{value:.digits$}")
}

/// Seconds as people say them.
fn time(seconds: f64) -> String {
    let (days, rest) = ((seconds / 86_400.0).floor(), seconds % 86_400.0);
    let (hours, minutes) = ((rest / 3600.0).floor(), (rest % 3600.0 / 60.0).floor());
    format!("{days} d {hours} h {minutes} min")
}

fn scale(title: impl Into<String>, logarithmic: bool) -> Scale {
    Scale { title: title.into(), logarithmic, ends: None }
}

/// Rate over time, requests by rank, durations; those that there is data for.
fn figures(description: &Description, data: &str) -> Result<Vec<Figure>> {
    let Description { requests, offset_s, end_s, .. } = description;
    let mut charts = Vec::new();
    if *requests > 0 {
        charts.push(rate(description, data));
        let points: Vec<(f64, f64)> =
            (1..).zip(&description.ranks).map(|(rank, count)| (f64::from(rank), *count as f64)).collect();
        let called = description.called;
        charts.push(Chart {
            name: "trace-rank",
            title: "Requests of each function, by rank".into(),
            data: data.into(),
            x: scale("rank of the function (log scale)", true),
            y: scale("requests (log scale)", true),
            notes: vec![format!(
                "{called} functions that were called, of {}; over {}.",
                description.functions,
                time(end_s - offset_s)
            )],
            reading: "How unequal functions are: a straight line is a power law.",
            alt: format!(
                "Requests by rank on logarithmic axes: {called} functions, from {} to {} requests.",
                description.ranks[0],
                description.ranks[called - 1]
            ),
            curves: vec![Curve { label: "functions".into(), points, steps: false }],
        });
    }
    if let (Some(low), Some(median), Some(high)) = (
        description.durations.quantile(0.01),
        description.durations.quantile(0.5),
        description.durations.quantile(1.0),
    ) {
        let zeros =
            description.durations.steps().find(|(value, _)| *value == 0.0).map_or(0.0, |(_, share)| share);
        let mut points: Vec<(f64, f64)> =
            description.durations.steps().filter(|(value, _)| *value > 0.0).collect();
        // The first step rises from what is below it.
        if let Some(&(first, _)) = points.first() {
            points.insert(0, (first / 1.02, zeros));
        }
        let basis = if description.durations_by_function {
            "Each function's mean stands for all its requests, as the trace does not say more."
        } else {
            "By request; where a row holds several, their mean stands for them."
        };
        let zero = format!(
            "{:.1} % have a duration of 0, which has no place on a logarithmic axis: the curve starts there.",
            100.0 * zeros
        );
        let notes = std::iter::once(basis.to_string()).chain((zeros > 0.0).then_some(zero)).collect();
        if points.len() > 1 {
            charts.push(Chart {
                name: "trace-durations",
                title: "Distribution of durations".into(),
                data: data.into(),
                x: scale("duration in ms (log scale)", true),
                y: Scale { ends: Some((0.0, 1.0)), ..scale("share of requests", false) },
                notes,
                reading: "How large a share of the requests takes no longer than a duration.",
                alt: format!(
                    "Cumulative distribution of durations: P1 {} ms, P50 {} ms, longest {} ms.",
                    short(low),
                    short(median),
                    short(high)
                ),
                curves: vec![Curve { label: "requests".into(), points, steps: true }],
            });
        }
    }
    charts.iter().map(|chart| Ok(lines(chart)?)).collect()
}

fn rate(description: &Description, data: &str) -> Chart {
    let Description { course, offset_s, end_s, requests, .. } = description;
    // No more points than the page has pixels: neighbours are added up.
    let first = (offset_s / course.bin_s) as usize;
    let bins = &course.bins[first.min(course.bins.len())..];
    let together = bins.len().div_ceil(720).max(1);
    let width_s = course.bin_s * together as f64;
    let (unit_s, unit) =
        if end_s - offset_s > 3.0 * 86_400.0 { (86_400.0, "days") } else { (3600.0, "hours") };
    let start = |index: usize| (first as f64 * course.bin_s + index as f64 * width_s) / unit_s;
    // The last bin may be cut by the end of the trace, so its rate is over what there is of it.
    let rate = |(index, chunk): (usize, &[u64])| {
        let width = (course.bin_s * chunk.len() as f64).min(end_s - start(index) * unit_s).max(1.0);
        (start(index), chunk.iter().sum::<u64>() as f64 * 60.0 / width)
    };
    let mut points: Vec<(f64, f64)> = bins.chunks(together).enumerate().map(rate).collect();
    let highest = points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let mean = *requests as f64 * 60.0 / (end_s - offset_s).max(1.0);
    if let Some(&(_, last)) = points.last() {
        points.push((end_s / unit_s, last));
    }
    Chart {
        name: "trace-rate",
        title: "Requests over time".into(),
        data: data.into(),
        x: Scale {
            ends: Some((offset_s / unit_s, (end_s / unit_s).max(offset_s / unit_s + 1e-9))),
            ..scale(format!("{unit} since the start of day 0"), false)
        },
        y: scale("requests a minute", false),
        notes: vec![format!("{requests} requests; each step is {} min.", short(width_s / 60.0))],
        reading: "How busy the platform is over the trace.",
        alt: format!(
            "Requests over {}: {} a minute on average, {} at most.",
            time(end_s - offset_s),
            short(mean),
            short(highest)
        ),
        curves: vec![Curve { label: "requests".into(), points, steps: true }],
    }
}

/// What `calibration.json` holds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Calibration {
    fits: Vec<Fit>,
}

/// The fits of a file that `scale trace calibrate` wrote.
///
/// # Errors
/// A file that cannot be read, or is none of those.
pub fn read_fits(path: &Path) -> Result<Vec<Fit>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let calibration: Calibration = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    calibration.fits.iter().try_for_each(Fit::validate).with_context(|| path.display().to_string())?;
    Ok(calibration.fits)
}

fn calibrate(input: &Input, functions: usize, draws: u32, seed: Seed, out: Option<&Path>) -> Result<()> {
    ensure!(functions > 0, "--functions 0: expected at least one");
    ensure!(draws > 0, "--draws 0: expected at least one");
    let mut collector = Collector::default();
    let trace = input.read(&mut |row| collector.row(row))?;
    say(&format!("{}{}", head(input, &trace), trace.tally))?;
    let mut chosen = busiest(&trace, functions);
    chosen.retain(|&index| trace.functions[index].requests > 0);
    ensure!(!chosen.is_empty(), "{}: no function was called", input.path.display());
    chosen.sort_by_key(|&index| (std::cmp::Reverse(trace.functions[index].requests), index));
    let window = |bound: fn(f64, f64) -> f64, start: f64, of: &dyn Fn(usize) -> f64| {
        chosen.iter().map(|&index| of(index)).fold(start, bound)
    };
    let from = window(f64::min, f64::MAX, &|index| trace.functions[index].from_s);
    let until = window(f64::max, 0.0, &|index| trace.functions[index].until_s);
    let days = (from / 86_400.0) as u32..=((until / 86_400.0).ceil() as u32).saturating_sub(1);
    let counts = collector.finish(&trace, &chosen, days)?;
    let mut fits = Vec::new();
    let mut figures = Vec::new();
    for (column, &index) in chosen.iter().enumerate() {
        let mut series: Vec<Option<u32>> = counts.days.values().flat_map(|day| day.series(column)).collect();
        while series.last() == Some(&None) {
            series.pop();
        }
        let name = &trace.functions[index].name;
        let fit = match Fit::of(name, &series) {
            Ok(fit) => fit,
            Err(error) => {
                say(&format!("{name}: not fitted: {error}\n"))?;
                continue;
            }
        };
        let seed = seed.derive("calibrate", column as u64);
        let comparison = compare(&fit, &series, draws, seed);
        say(&table(name, &comparison))?;
        if figures.is_empty() && out.is_some() {
            let data = format!("{} ({}), function {name}", name_of(&input.path), trace.format.name());
            figures = comparison_figures(&fit, &series, &comparison, &data, seed)?;
        }
        fits.push(fit);
    }
    if let Some(folder) = out {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let path = folder.join("calibration.json");
        let text = serde_json::to_string_pretty(&Calibration { fits })?;
        std::fs::write(&path, text + "\n").with_context(|| path.display().to_string())?;
        say(&format!("{}\n", path.display()))?;
        write(&figures, folder)?;
    }
    Ok(())
}

/// A comparison as a table.
fn table(name: &str, comparison: &Comparison) -> String {
    let near = 100.0 * NEAR;
    let mut text = format!(
        "\n{name}: real; synthetic, mean +- standard deviation over {} draws; off by; draws that are within {near:.0} %\n",
        comparison.draws
    );
    for ((what, real), (_, made)) in comparison.real.named().into_iter().zip(&comparison.synthetic) {
        let _ = match (real, made) {
            (Some(real), Some(Drawn { mean, deviation, near })) => {
                let change =
                    if real == 0.0 { "".into() } else { format!("{:+.1} %", 100.0 * (mean / real - 1.0)) };
                let near = 100.0 * near;
                writeln!(
                    text,
                    "  {what:<16} {real:>12.4} {mean:>12.4} +- {deviation:<10.4} {change:>9} {near:>5.0} %"
                )
            }
            _ => writeln!(
                text,
                "  {what:<16} unknown: the series is too short, or has an hour without requests"
            ),
        };
    }
    let _ = writeln!(text, "  KS distance      {:>12.4}", comparison.ks);
    let _ = writeln!(
        text,
        "  One synthetic series is one draw: its numbers scatter around these means as the deviations say."
    );
    text
}

/// The mean day and the autocorrelation, of the real series and of one synthetic one.
fn comparison_figures(
    fit: &Fit,
    series: &[Option<u32>],
    comparison: &Comparison,
    data: &str,
    seed: Seed,
) -> Result<Vec<Figure>> {
    let days = series.len().div_ceil(MINUTES) as u32;
    let made = synthetic(fit, series, days, seed.derive("draw", 0));
    let both = [("real", series), ("synthetic, one draw", &made[..])];
    type Points<'a> = &'a dyn Fn(&[Option<u32>]) -> Vec<(f64, f64)>;
    let curves = |points: Points<'_>| -> Vec<Curve> {
        both.iter()
            .map(|(label, series)| Curve { label: label.to_string(), points: points(series), steps: false })
            .collect()
    };
    let hourly = |series: &[Option<u32>]| -> Vec<(f64, f64)> {
        let chunks = series.chunks(15).enumerate().filter_map(|(index, chunk)| {
            let known: Vec<f64> = chunk.iter().flatten().map(|&count| f64::from(count)).collect();
            (!known.is_empty()).then(|| (index as f64 / 4.0, known.iter().sum::<f64>() / known.len() as f64))
        });
        chunks.collect()
    };
    let longest = (series.len() / 2).min(2 * MINUTES);
    let correlation = |series: &[Option<u32>]| -> Vec<(f64, f64)> {
        let known: Vec<f64> = series.iter().flatten().map(|&count| f64::from(count)).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let covariance = |lag: usize| {
            let pairs = series.iter().zip(&series[lag..]);
            let products: Vec<f64> = pairs
                .filter_map(|(a, b)| Some((f64::from((*a)?) - mean) * (f64::from((*b)?) - mean)))
                .collect();
            products.iter().sum::<f64>() / products.len().max(1) as f64
        };
        let variance = covariance(0);
        (0..=longest).step_by(5).map(|lag| (lag as f64 / 60.0, covariance(lag) / variance)).collect()
    };
    let numbers: Vec<String> = comparison
        .real
        .named()
        .into_iter()
        .zip(&comparison.synthetic)
        .filter_map(|((what, real), (_, made))| {
            Some(format!("{what} {} and {}", short(real?), short((*made)?.mean)))
        })
        .collect();
    let alt = |what: &str| {
        format!("{what}, real and synthetic. Real, and mean of the draws: {}.", numbers.join("; "))
    };
    let charts = [
        Chart {
            name: "calibration-course",
            title: "Requests over time, real and synthetic".into(),
            data: data.into(),
            x: scale("hours since the start of the series", false),
            y: scale("requests a minute", false),
            curves: curves(&hourly),
            notes: vec![
                "Means of 15 minutes. The synthetic series has the real one's statistics, not its accidents."
                    .into(),
            ],
            reading: "Both should look alike: the same days, the same roughness; not the same peaks.",
            alt: alt("Requests over time"),
        },
        Chart {
            name: "calibration-autocorrelation",
            title: "Autocorrelation, real and synthetic".into(),
            data: data.into(),
            x: scale("lag in hours", false),
            y: scale("autocorrelation", false),
            curves: curves(&correlation),
            notes: vec!["Of requests a minute. The fit is held to lags of 1, 60 and 1440 minutes more than to others.".into()],
            reading: "How much a minute says about later ones.",
            alt: alt("Autocorrelation"),
        },
    ];
    charts.iter().map(|chart| Ok(lines(chart)?)).collect()
}
