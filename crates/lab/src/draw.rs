//! The figures: pure functions from records to pictures, each as SVG and PNG.
//!
//! They never simulate, and they know no algorithm: label, colour and mark come with the data ([`Style`]), so that an
//! algorithm looks the same everywhere. Reading order: [`Series`] and [`series`], then one function a figure: [`map`],
//! [`cdf`], [`percentiles`], [`violations`], [`decision_time`], [`parts`], [`pareto`]; then charts of anything: [`lines`],
//! [`bars`], [`boxes`], [`tornado`]. A new figure is a file in `draw/` that fills a scene.

mod axis;
mod bars;
mod boxes;
pub mod curves;
mod distribution;
mod legend;
mod lines;
mod marker;
mod nodes;
mod scatter;
mod scene;
mod stack;
mod text;
mod time;
mod tornado;

pub use bars::{BarChart, BarRow};
pub(crate) use boxes::percent;
pub use boxes::{BoxChart, BoxRow};
pub use lines::{Line, LineChart, Panel, Scale};
pub use scene::Rgb;
pub(crate) use scene::escape;
pub(crate) use time::duration;
pub use tornado::{TornadoChart, TornadoRow};

use crate::record::{Cell, Records};
use crate::stats::{Cdf, Estimate, LEVEL, RESAMPLES, bootstrap_mean_ci};
use scene::{Align, FAINT, INK, SMALL, Scene, TEXT, WIDTH, wrap};
use std::fs;
use std::path::{Path, PathBuf};

/// How an algorithm looks, in every figure of every experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// Its roster name, as in the records.
    pub algorithm: String,
    /// What readers see.
    pub label: String,
    /// Its colour, one of [`PALETTE`].
    pub color: Rgb,
    /// Its place in the roster: chooses marker and line style, for those who see no colours.
    pub mark: usize,
}

/// What one algorithm showed at one sweep point.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// How it looks.
    pub style: Style,
    /// How many seeds it was measured with.
    pub seeds: usize,
    /// Measured requests of all seeds.
    pub requests: u64,
    /// Timed decisions of the timed seed that has the fewest.
    pub decisions: u64,
    /// Latencies of all seeds.
    pub cdf: Cdf,
    /// Mean latency, over seeds.
    pub latency_ms_mean: Option<Estimate>,
    /// Median latency, over seeds.
    pub latency_ms_p50: Option<Estimate>,
    /// 99th percentile of the latency, over seeds.
    pub latency_ms_p99: Option<Estimate>,
    /// SLO violation rate in `[0, 1]`, over seeds.
    pub slo_violation_rate: Option<Estimate>,
    /// Its parts, over seeds: cold start, computation, communication, waiting.
    pub parts_ms: Option<[f64; 4]>,
    /// Mean decision time, over seeds.
    pub decision_us_mean: Option<Estimate>,
    /// Median decision time, over seeds.
    pub decision_us_p50: Option<Estimate>,
    /// 99th percentile of the decision time, over seeds.
    pub decision_us_p99: Option<Estimate>,
}

/// The series of those `styles` that the records of one experiment have at sweep point `sweep`, in the order of `styles`.
pub fn series(records: &Records, sweep: &str, styles: &[Style]) -> Vec<Series> {
    let of = |style: &Style| {
        let estimate =
            |value: &dyn Fn(&Cell) -> Option<f64>| over_seeds(records, &style.algorithm, sweep, value);
        let part = |value: fn(&Cell) -> Option<f64>| Some(estimate(&value)?.mean);
        let parts = || {
            let cold = part(|cell| cell.row.cold_ms_mean)?;
            let comp = part(|cell| cell.row.comp_ms_mean)?;
            let comm = part(|cell| cell.row.comm_ms_mean)?;
            Some([cold, comp, comm, part(|cell| cell.row.wait_ms_mean)?])
        };
        let cells = || records.cells_of(&style.algorithm, sweep);
        (cells().count() > 0).then(|| Series {
            style: style.clone(),
            seeds: cells().count(),
            requests: cells().map(|cell| cell.row.requests).sum(),
            decisions: cells()
                .map(|cell| cell.timing.decisions)
                .filter(|count| *count > 0)
                .min()
                .unwrap_or(0),
            cdf: records.pooled_cdf(&style.algorithm, sweep),
            latency_ms_mean: estimate(&|cell| cell.row.latency_ms_mean),
            latency_ms_p50: estimate(&|cell| cell.row.latency_ms_p50),
            latency_ms_p99: estimate(&|cell| cell.row.latency_ms_p99),
            slo_violation_rate: estimate(&|cell| cell.row.slo_violation_rate),
            parts_ms: parts(),
            decision_us_mean: estimate(&|cell| cell.timing.decision_us_mean),
            decision_us_p50: estimate(&|cell| cell.timing.decision_us_p50),
            decision_us_p99: estimate(&|cell| cell.timing.decision_us_p99),
        })
    };
    styles.iter().filter_map(of).collect()
}

/// The mean of a value over seeds, with the interval that all tables and figures show.
pub fn over_seeds(
    records: &Records,
    algorithm: &str,
    sweep: &str,
    value: impl Fn(&Cell) -> Option<f64>,
) -> Option<Estimate> {
    let values: Vec<f64> =
        records.values(algorithm, sweep, value).into_iter().map(|(_, value)| value).collect();
    bootstrap_mean_ci(&values, LEVEL, RESAMPLES, BOOTSTRAP_SEED)
}

/// Seed of every bootstrap: the intervals belong to the records, so the same records give the same intervals.
pub const BOOTSTRAP_SEED: u64 = 0;

/// What a figure says about where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Caption {
    /// Name of the experiment, with the sweep point if there is one.
    pub experiment: String,
    /// Where the data comes from: `embedded default topology and synthetic workload`, `EUA + Huawei`.
    pub data: String,
}

/// A node on the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapNode {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// Index of its type.
    pub node_type: usize,
}

/// What every chart says besides its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// File name without its ending, such as `figure-8-load`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// How to read it, in a sentence.
    pub reading: String,
    /// Notes below the chart.
    pub notes: Vec<String>,
}

impl Words {
    /// The figure of a drawn chart.
    fn figure(&self, alt: String, scene: Scene) -> Figure {
        let Words { name, title, reading, .. } = self.clone();
        Figure { name, title, reading, alt, scene }
    }
}

/// A finished figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// File name without its ending, such as `figure-2-latency-cdf`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// How to read it, in a sentence or two.
    pub reading: String,
    /// What it shows, in words with the main numbers, for those who cannot see it.
    pub alt: String,
    scene: Scene,
}

/// Why a figure could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The file system said no.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file or folder.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The drawing library said no.
    #[error("the figure cannot be rendered: {reason}")]
    Backend {
        /// What it said.
        reason: String,
    },
    /// There is nothing to draw.
    #[error("figure `{figure}` needs at least one {what}, there is none")]
    Empty {
        /// Name of the figure.
        figure: String,
        /// What it is made of.
        what: &'static str,
    },
}

impl Figure {
    /// Its number, which is the second word of its name.
    pub fn number(&self) -> &str {
        self.name.split('-').nth(1).unwrap_or_default()
    }

    /// The figure as an SVG document.
    pub fn svg(&self) -> Result<String, DrawError> {
        self.scene.svg(&self.title, &self.alt)
    }

    /// Writes `<name>.svg` and `<name>.png` (two pixels a unit) into `folder`, and returns their paths.
    pub fn write(&self, folder: &Path) -> Result<[PathBuf; 2], DrawError> {
        fs::create_dir_all(folder).map_err(|source| DrawError::Io { file: folder.to_path_buf(), source })?;
        let [svg, png] = ["svg", "png"].map(|ending| folder.join(format!("{}.{ending}", self.name)));
        let half = folder.join(format!(".{}.{}.half.svg", self.name, std::process::id()));
        let io = |source| DrawError::Io { file: svg.clone(), source };
        fs::write(&half, self.svg()?).map_err(io)?;
        fs::rename(&half, &svg).map_err(io)?;
        self.scene.write_png(&png)?;
        Ok([svg, png])
    }
}

/// Figure 1: where the nodes stand, in metres from their south-west corner, and of which type they are.
/// `type_names[i]` describes type `i`, as in `2.4 GHz, 10 GB`.
pub fn map(nodes: &[MapNode], type_names: &[String], caption: &Caption) -> Result<Figure, DrawError> {
    nodes::figure(nodes, type_names, caption)
}

/// Figure 2: the distribution of the end-to-end latency; `slo_ms` is the range of the SLOs, lightly shaded.
pub fn cdf(series: &[Series], slo_ms: (f64, f64), caption: &Caption) -> Result<Figure, DrawError> {
    distribution::figure(series, slo_ms, caption)
}

/// Figure 3: P50 and P99 of the end-to-end latency.
pub fn percentiles(series: &[Series], caption: &Caption) -> Result<Figure, DrawError> {
    bars::percentiles(series, caption)
}

/// Figure 4: the SLO violation rate.
pub fn violations(series: &[Series], caption: &Caption) -> Result<Figure, DrawError> {
    bars::violations(series, caption)
}

/// Figure 5: the decision time a request, on a logarithmic axis.
pub fn decision_time(series: &[Series], caption: &Caption) -> Result<Figure, DrawError> {
    time::figure(series, caption)
}

/// Figure 10: what the mean latency is made of.
pub fn parts(series: &[Series], caption: &Caption) -> Result<Figure, DrawError> {
    stack::figure(series, caption)
}

/// Mean latency against decision time; `name` is that of its files.
pub fn pareto(name: String, series: &[Series], caption: &Caption) -> Result<Figure, DrawError> {
    scatter::figure(name, series, caption)
}

/// Lines with bands over a number.
///
/// ```
/// # use scale_lab::draw::{Caption, Line, LineChart, PALETTE, Panel, Scale, Style, Words, lines};
/// # use scale_lab::stats::{Estimate, Interval};
/// let estimate = |mean| Estimate { mean, n: 5, interval: Some(Interval { low: mean - 9.0, high: mean + 9.0 }) };
/// let style = Style { algorithm: "ppo".into(), label: "PPO".into(), color: PALETTE[0], mark: 0 };
/// let line = Line { style, points: vec![(1e4, estimate(300.0)), (1e5, estimate(220.0)), (1e6, estimate(190.0))] };
/// let chart = LineChart {
///     words: Words { name: "figure-7-learning".into(), title: "Learning curves".into(), ..Words::default() },
///     x_axis: "decisions seen in training".into(),
///     x_logarithmic: true,
///     panels: vec![Panel { axis: "mean latency (ms)".into(), scale: Scale::Linear, lines: vec![line] }],
/// };
/// let caption = Caption { experiment: "learning".into(), data: "embedded".into() };
/// assert!(lines(&chart, &caption)?.svg()?.contains("Learning curves"));
/// # Ok::<(), scale_lab::draw::DrawError>(())
/// ```
pub fn lines(chart: &LineChart, caption: &Caption) -> Result<Figure, DrawError> {
    lines::figure(chart, caption)
}

/// Horizontal bars with intervals.
pub fn bars(chart: &BarChart, caption: &Caption) -> Result<Figure, DrawError> {
    bars::figure(chart, caption)
}

/// Distributions by row on a logarithmic axis.
pub fn boxes(chart: &BoxChart, caption: &Caption) -> Result<Figure, DrawError> {
    boxes::figure(chart, caption)
}

/// How far a value moves when choices are halved and doubled.
pub fn tornado(chart: &TornadoChart, caption: &Caption) -> Result<Figure, DrawError> {
    tornado::figure(chart, caption)
}

/// Colours that stay apart for colour-blind readers and in print: Okabe and Ito's eight, their yellow darkened for white
/// paper, eight of Paul Tol's muted scheme, and others that are rarely drawn beside them. Markers and line styles repeat every difference.
pub const PALETTE: [Rgb; 27] = [
    (0x00, 0x72, 0xb2), // blue
    (0xd5, 0x5e, 0x00), // vermilion
    (0x00, 0x9e, 0x73), // bluish green
    (0xcc, 0x79, 0xa7), // reddish purple
    (0xe6, 0x9f, 0x00), // orange
    (0x56, 0xb4, 0xe9), // sky blue
    (0x00, 0x00, 0x00), // black
    (0xc2, 0xb2, 0x1a), // yellow, darkened
    (0x88, 0x22, 0x55), // wine
    (0x33, 0x22, 0x88), // indigo
    (0x7f, 0x7f, 0x7f), // grey
    (0x44, 0xaa, 0x99), // teal
    (0x8c, 0x5a, 0x2b), // brown
    (0xcc, 0x66, 0x77), // rose
    (0x99, 0x99, 0x33), // olive
    (0xaa, 0x44, 0x99), // purple
    (0x44, 0x44, 0x44), // dark grey
    (0x00, 0x4d, 0x40), // dark green
    (0xee, 0x88, 0x66), // salmon
    (0xee, 0x33, 0x77), // magenta
    (0x77, 0xaa, 0xdd), // light blue
    (0x99, 0x00, 0x00), // dark red
    (0xff, 0xaa, 0xcc), // pink
    (0x66, 0xa6, 0x1e), // leaf green
    (0x1b, 0x9e, 0xb4), // petrol
    (0x7a, 0x5c, 0xd6), // violet
    (0xd2, 0xb4, 0x8c), // tan
];

/// Distance between the page's edge and what is on it.
const MARGIN: f64 = 10.0;

/// Writes title and source, and returns where the drawing may begin.
fn head(scene: &mut Scene, title: &str, caption: &Caption) -> f64 {
    let mut y = MARGIN + 8.0;
    for line in wrap(title, TEXT + 1.0, true, WIDTH - 2.0 * MARGIN) {
        scene.bold((MARGIN, y), &line, TEXT + 1.0, Align::Left, INK);
        y += 18.0;
    }
    // The data names its parts itself, as in `sites: EUA; trace: Huawei`.
    let source = format!("experiment: {}; {}", caption.experiment, caption.data);
    for line in wrap(&source, SMALL, false, WIDTH - 2.0 * MARGIN) {
        scene.text((MARGIN, y), &line, SMALL, Align::Left, FAINT);
        y += 15.0;
    }
    y + 6.0
}

/// Writes the notes below the drawing, and ends the page.
fn foot(scene: &mut Scene, notes: &[String], mut y: f64) {
    for note in notes {
        for line in wrap(note, SMALL, false, WIDTH - 2.0 * MARGIN) {
            scene.text((MARGIN, y), &line, SMALL, Align::Left, FAINT);
            y += 15.0;
        }
    }
    scene.height = y - 15.0 + 8.0 + MARGIN;
}

/// How much was measured: `10 seeds with 60 000 measured requests each on average`.
fn extent(series: &[Series]) -> String {
    let seeds = range(series.iter().map(|s| s.seeds as u64));
    let each = range(series.iter().map(|s| s.requests / (s.seeds as u64).max(1)));
    match seeds.as_str() {
        "1" => format!("1 seed with {each} measured requests"),
        _ => format!("{seeds} seeds with {each} measured requests each on average"),
    }
}

/// Whether the whiskers that readers look for are there.
fn intervals(series: &[Series], whiskers: &str) -> String {
    let interval = format!("{whiskers}: 95\u{a0}% bootstrap interval of the mean over seeds");
    let single = series.iter().filter(|s| s.seeds < 2).count();
    match single {
        0 => interval,
        all if all == series.len() => "one seed, so no interval".to_string(),
        _ => format!("{interval}, none where there is one seed"),
    }
}

fn range(values: impl Iterator<Item = u64> + Clone) -> String {
    let text = |value: Option<u64>| axis::number(value.unwrap_or(0) as f64);
    let (low, high) = (values.clone().min(), values.max());
    if low == high { text(low) } else { format!("{} to {}", text(low), text(high)) }
}

/// The widest label, but never more than two fifths of the page.
fn label_width(series: &[Series]) -> f64 {
    let widths = series.iter().map(|s| text::text_width(&s.style.label, SMALL, false));
    widths.fold(0.0, f64::max).min(0.4 * WIDTH)
}

#[cfg(test)]
mod tests;
