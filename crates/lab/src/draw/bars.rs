//! Figures 3 and 4: horizontal bars, so that any number of names can be read.

use super::axis::{self, Axis, number, round_end};
use super::scene::{Align, FAINT, INK, Point, Rgb, SMALL, Scene, WIDTH, tint};
use super::{Caption, DrawError, Figure, MARGIN, Series, extent, foot, head, intervals, label_width};
use crate::stats::Estimate;

pub(super) fn percentiles(series: &[Series], caption: &Caption) -> Result<Figure, DrawError> {
    let rows = series.iter().map(|s| vec![(s.latency_ms_p50, Fill::Full), (s.latency_ms_p99, Fill::Light)]);
    let chart = Chart {
        name: "figure-3-p50-p99",
        title: "P50 and P99 of the end-to-end latency",
        axis: "end-to-end latency (ms)",
        reading: "Half of the requests are not slower than P50, all but one in a hundred not slower than P99: shorter is better.",
        legend: &[("P50", Fill::Full), ("P99", Fill::Light)],
        write: |value| format!("{value:.0}"),
        rows: rows.collect(),
    };
    let words = |s: &Series| {
        let text = |e: Option<Estimate>| e.map_or("n/a".to_string(), |e| format!("{:.0} ms", e.mean));
        format!("{} {} and {}", s.style.label, text(s.latency_ms_p50), text(s.latency_ms_p99))
    };
    chart.figure(series, caption, words)
}

pub(super) fn violations(series: &[Series], caption: &Caption) -> Result<Figure, DrawError> {
    let percent = |e: Estimate| Estimate {
        mean: 100.0 * e.mean,
        n: e.n,
        interval: e.interval.map(|i| crate::stats::Interval { low: 100.0 * i.low, high: 100.0 * i.high }),
    };
    let rows = series.iter().map(|s| vec![(s.slo_violation_rate.map(percent), Fill::Full)]);
    let chart = Chart {
        name: "figure-4-slo-violations",
        title: "SLO violation rate",
        axis: "requests that miss their SLO (%)",
        reading: "The share of the requests that took longer than their SLO allows or were rejected: shorter is better.",
        legend: &[],
        write: |value| {
            if value < 99.995 { format!("{value:.2} %") } else { format!("{value:.0} %") }
        },
        rows: rows.collect(),
    };
    let words = |s: &Series| {
        let rate = s.slo_violation_rate.map_or("n/a".to_string(), |e| format!("{:.2} %", 100.0 * e.mean));
        format!("{} {rate}", s.style.label)
    };
    chart.figure(series, caption, words)
}

/// How a bar shows which of a row's values it is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fill {
    Full,
    Light,
}

struct Chart<'a> {
    name: &'static str,
    title: &'a str,
    axis: &'a str,
    reading: &'static str,
    legend: &'a [(&'a str, Fill)],
    write: fn(f64) -> String,
    /// The bars of each series.
    rows: Vec<Vec<(Option<Estimate>, Fill)>>,
}

impl Chart<'_> {
    fn figure(
        &self,
        series: &[Series],
        caption: &Caption,
        words: impl Fn(&Series) -> String,
    ) -> Result<Figure, DrawError> {
        if series.is_empty() {
            return Err(DrawError::Empty { figure: self.name, what: "series" });
        }
        let mut scene = Scene::default();
        let mut top = head(&mut scene, self.title, caption);
        let left = MARGIN + label_width(series) + 10.0;
        // Room for the longest value behind the longest bar.
        let right = WIDTH - MARGIN - 58.0;
        if !self.legend.is_empty() {
            for (i, (text, fill)) in self.legend.iter().enumerate() {
                let x = left + 70.0 * i as f64;
                bar(&mut scene, (x, top - 5.0), (x + 20.0, top + 5.0), FAINT, *fill);
                scene.text((x + 26.0, top), text, SMALL, Align::Left, INK);
            }
            top += 16.0;
        }
        let bars = self.rows.iter().map(Vec::len).max().unwrap_or(1) as f64;
        let thick = if bars > 1.0 { 12.0 } else { 13.0 };
        let pitch = bars * thick + bars + 8.0;
        let bottom = top + pitch * series.len() as f64;

        let all = || self.rows.iter().flatten().filter_map(|(estimate, _)| *estimate);
        let (end, is_cut) = axis_end(all());
        let x = Axis { values: (0.0, end), places: (left, right), logarithmic: false };
        axis::horizontal(&mut scene, &x, (top, bottom), 5, self.axis, number);

        for (i, (one, row)) in series.iter().zip(&self.rows).enumerate() {
            let middle = top + pitch * (i as f64 + 0.5);
            scene.text((left - 7.0, middle), &one.style.label, SMALL, Align::Right, INK);
            for (j, (estimate, fill)) in row.iter().enumerate() {
                let y = middle + (j as f64 - (row.len() as f64 - 1.0) / 2.0) * (thick + 1.0);
                self.row(&mut scene, &x, y, thick, *estimate, *fill, one.style.color);
            }
        }
        scene.line(vec![(left, top), (left, bottom)], 1.0, INK);

        let mut notes = vec![format!("{}; {}.", extent(series), intervals(series, "whiskers"))];
        if is_cut {
            notes.push(format!(
                "Bars with a gap go on beyond {}; the number beside them is their length.",
                number(end)
            ));
        }
        foot(&mut scene, &notes, bottom + 52.0);
        let alt = format!("{}: {}.", self.title, series.iter().map(words).collect::<Vec<_>>().join("; "));
        Ok(Figure { name: self.name, title: self.title.to_string(), reading: self.reading, alt, scene })
    }

    #[allow(clippy::too_many_arguments)]
    fn row(
        &self,
        scene: &mut Scene,
        x: &Axis,
        y: f64,
        thick: f64,
        estimate: Option<Estimate>,
        fill: Fill,
        color: Rgb,
    ) {
        let (start, end) = x.places;
        let Some(estimate) = estimate else {
            scene.text((start + 5.0, y), "n/a", SMALL, Align::Left, FAINT);
            return;
        };
        let length = x.at(estimate.mean);
        bar(scene, (start, y - thick / 2.0), (length, y + thick / 2.0), color, fill);
        let mut reach = length;
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
        scene.text((reach + 5.0, y), &(self.write)(estimate.mean), SMALL, Align::Left, INK);
    }
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
