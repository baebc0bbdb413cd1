//! Horizontal bars, so that any number of names can be read: figures 3 and 4, and any other.

use super::axis::{self, Axis, number, round_end};
use super::scene::{Align, FAINT, INK, Point, Rgb, SMALL, Scene, WIDTH, tint};
use super::text::text_width;
use super::{Caption, DrawError, Figure, MARGIN, Series, Words, extent, foot, head, intervals};
use crate::stats::Estimate;

/// A chart of horizontal bars with intervals, one row or more a name.
#[derive(Clone, Debug)]
pub struct BarChart {
    /// What it says besides its data.
    pub words: Words,
    /// Title of the axis.
    pub axis: String,
    /// What the bars of a row are, from above, two at most; empty if each row has one that the title explains.
    pub bars: Vec<String>,
    /// How the number beside a bar is written.
    pub write: fn(f64) -> String,
    /// The rows, from above.
    pub rows: Vec<BarRow>,
}

/// The bars of one name.
#[derive(Clone, Debug)]
pub struct BarRow {
    /// Whose they are.
    pub label: String,
    /// Their colour.
    pub color: Rgb,
    /// One estimate a bar.
    pub values: Vec<Option<Estimate>>,
}

pub(super) fn percentiles(series: &[Series], caption: &Caption) -> Result<Figure, DrawError> {
    let words = Words {
        name: "figure-3-p50-p99".into(),
        title: "P50 and P99 of the end-to-end latency".into(),
        reading: "Half of the requests are not slower than P50, all but one in a hundred not slower than P99: shorter is better."
            .into(),
        notes: notes(series),
    };
    let chart = BarChart {
        words,
        axis: "end-to-end latency (ms)".into(),
        bars: vec!["P50".into(), "P99".into()],
        write: |value| format!("{value:.0}"),
        rows: rows(series, |s| vec![s.latency_ms_p50, s.latency_ms_p99]),
    };
    figure(&chart, caption)
}

pub(super) fn violations(series: &[Series], caption: &Caption) -> Result<Figure, DrawError> {
    let percent = |e: Estimate| Estimate {
        mean: 100.0 * e.mean,
        n: e.n,
        interval: e.interval.map(|i| crate::stats::Interval { low: 100.0 * i.low, high: 100.0 * i.high }),
    };
    let words = Words {
        name: "figure-4-slo-violations".into(),
        title: "SLO violation rate".into(),
        reading: "The share of the requests that took longer than their SLO allows or were rejected: shorter is better.".into(),
        notes: notes(series),
    };
    let chart = BarChart {
        words,
        axis: "requests that miss their SLO (%)".into(),
        bars: Vec::new(),
        write: |value| {
            if value < 99.995 { format!("{value:.2} %") } else { format!("{value:.0} %") }
        },
        rows: rows(series, |s| vec![s.slo_violation_rate.map(percent)]),
    };
    figure(&chart, caption)
}

fn rows(series: &[Series], values: impl Fn(&Series) -> Vec<Option<Estimate>>) -> Vec<BarRow> {
    let row = |s: &Series| BarRow { label: s.style.label.clone(), color: s.style.color, values: values(s) };
    series.iter().map(row).collect()
}

fn notes(series: &[Series]) -> Vec<String> {
    vec![format!("{}; {}.", extent(series), intervals(series, "whiskers"))]
}

/// How a bar shows which of a row's values it is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fill {
    Full,
    Light,
}

const FILLS: [Fill; 2] = [Fill::Full, Fill::Light];

pub(super) fn figure(chart: &BarChart, caption: &Caption) -> Result<Figure, DrawError> {
    if chart.rows.is_empty() {
        return Err(DrawError::Empty { figure: chart.words.name.clone(), what: "series" });
    }
    let mut scene = Scene::default();
    let mut top = head(&mut scene, &chart.words.title, caption);
    let widths = chart.rows.iter().map(|row| text_width(&row.label, SMALL, false));
    let left = MARGIN + widths.fold(0.0, f64::max).min(0.4 * WIDTH) + 10.0;
    // Room for the longest value behind the longest bar.
    let right = WIDTH - MARGIN - 58.0;
    if !chart.bars.is_empty() {
        let mut x = left;
        for (text, fill) in chart.bars.iter().zip(FILLS) {
            bar(&mut scene, (x, top - 5.0), (x + 20.0, top + 5.0), FAINT, fill);
            scene.text((x + 26.0, top), text, SMALL, Align::Left, INK);
            x += 46.0 + text_width(text, SMALL, false);
        }
        top += 16.0;
    }
    let bars = chart.rows.iter().map(|row| row.values.len()).max().unwrap_or(1) as f64;
    let thick = if bars > 1.0 { 12.0 } else { 13.0 };
    let pitch = bars * thick + bars + 8.0;
    let bottom = top + pitch * chart.rows.len() as f64;

    let all = || chart.rows.iter().flat_map(|row| &row.values).filter_map(|estimate| *estimate);
    let (end, is_cut) = axis_end(all());
    let least = all().map(|e| e.interval.map_or(e.mean, |i| i.low.min(e.mean))).fold(0.0, f64::min);
    let start = if least < 0.0 { -round_end(-least, 3) } else { 0.0 };
    let x = Axis { values: (start, end), places: (left, right), logarithmic: false };
    axis::horizontal(&mut scene, &x, (top, bottom), 5, &chart.axis, number);

    for (i, row) in chart.rows.iter().enumerate() {
        let middle = top + pitch * (i as f64 + 0.5);
        scene.text((left - 7.0, middle), &row.label, SMALL, Align::Right, INK);
        for (j, (estimate, fill)) in row.values.iter().zip(FILLS).enumerate() {
            let y = middle + (j as f64 - (row.values.len() as f64 - 1.0) / 2.0) * (thick + 1.0);
            draw_row(&mut scene, &x, (y, thick), *estimate, (fill, row.color), chart.write);
        }
    }
    scene.line(vec![(x.at(0.0), top), (x.at(0.0), bottom)], 1.0, INK);

    let mut notes = chart.words.notes.clone();
    if is_cut {
        notes.push(format!(
            "Bars with a gap go on beyond {}; the number beside them is their length.",
            number(end)
        ));
    }
    foot(&mut scene, &notes, bottom + 52.0);
    let words = |row: &BarRow| {
        let value = |e: &Option<Estimate>| e.map_or("n/a".to_string(), |e| (chart.write)(e.mean));
        format!("{} {}", row.label, row.values.iter().map(value).collect::<Vec<_>>().join(" and "))
    };
    let alt =
        format!("{}: {}.", chart.words.title, chart.rows.iter().map(words).collect::<Vec<_>>().join("; "));
    Ok(chart.words.figure(alt, scene))
}

fn draw_row(
    scene: &mut Scene,
    x: &Axis,
    (y, thick): (f64, f64),
    estimate: Option<Estimate>,
    (fill, color): (Fill, Rgb),
    write: fn(f64) -> String,
) {
    let (start, end) = (x.at(0.0), x.places.1);
    let Some(estimate) = estimate else {
        scene.text((start + 5.0, y), "n/a", SMALL, Align::Left, FAINT);
        return;
    };
    let length = x.at(estimate.mean);
    let (from, to) = (start.min(length), start.max(length));
    bar(scene, (from, y - thick / 2.0), (to, y + thick / 2.0), color, fill);
    let mut reach = to;
    if estimate.mean > x.values.1 {
        let gap = end - 16.0;
        let slant = |x: f64| [(x + 3.0, y - thick / 2.0 - 1.0), (x - 3.0, y + thick / 2.0 + 1.0)];
        let ([a, b], [d, c]) = (slant(gap), slant(gap + 5.0));
        scene.area(vec![a, b, c, d], (255, 255, 255));
    } else if let Some(interval) = estimate.interval {
        let (low, high) = (x.at(interval.low), x.at(interval.high));
        whisker(scene, (low, y), (high, y), thick * 0.25);
        reach = reach.max(high);
    }
    scene.text((reach + 5.0, y), &write(estimate.mean), SMALL, Align::Left, INK);
}

fn bar(scene: &mut Scene, from: Point, to: Point, color: Rgb, fill: Fill) {
    let light = match fill {
        Fill::Full => color,
        Fill::Light => tint(color, 0.6),
    };
    scene.rectangle(from, to, light);
    scene.outline(from, to, 0.8, color);
}

/// A line with caps at both ends and a white rim, so that it shows on a dark bar.
fn whisker(scene: &mut Scene, from: Point, to: Point, cap: f64) {
    for (width, color) in [(3.0, (255, 255, 255)), (1.2, INK)] {
        scene.line(vec![from, to], width, color);
        for end in [from, to] {
            scene.line(vec![(end.0, end.1 - cap), (end.0, end.1 + cap)], width, color);
        }
    }
}

/// Where the axis ends, and whether a bar goes beyond. One overloaded algorithm must not shrink all others to stumps.
fn axis_end(estimates: impl Iterator<Item = Estimate>) -> (f64, bool) {
    let mut ends: Vec<f64> = estimates.map(|e| e.interval.map_or(e.mean, |i| i.high.max(e.mean))).collect();
    ends.sort_by(f64::total_cmp);
    let (Some(longest), median) = (ends.last(), ends.get(ends.len().saturating_sub(1) / 2)) else {
        return (1.0, false);
    };
    let bound = 4.0 * median.copied().unwrap_or(0.0);
    match ends.iter().rev().find(|end| **end <= bound && **end > 0.0) {
        Some(end) if *longest > bound && *longest > 2.0 * end => (round_end(1.15 * end, 5), true),
        _ => (round_end(*longest, 5), false),
    }
}
