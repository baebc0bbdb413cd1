//! Figure 2: the distribution of the end-to-end latency.

use super::axis::{self, Axis, number, round_end};
use super::legend::legend;
use super::marker::{LINE_STYLES, marker};
use super::scene::{Align, FAINT, INK, Point, SMALL, Scene, WIDTH};
use super::{Caption, DrawError, Figure, MARGIN, Series, Style, extent, foot, head};
use crate::stats::Cdf;

/// Curves that are nowhere further apart are drawn as one: no eye tells them apart, and one hides the other.
const TOGETHER: f64 = 0.015;

pub(super) fn figure(series: &[Series], slo_ms: (f64, f64), caption: &Caption) -> Result<Figure, DrawError> {
    let name = "figure-2-latency-cdf";
    let end = axis_end(series, slo_ms.1).ok_or(DrawError::Empty { figure: name.into(), what: "series" })?;
    let title = "CDF of the end-to-end latency".to_string();
    let mut scene = Scene::default();
    let top = head(&mut scene, &title, caption);

    let (left, right, bottom) = (68.0, WIDTH - MARGIN - 12.0, top + 270.0);
    let x = Axis { values: (0.0, end), places: (left, right), logarithmic: false };
    let y = Axis { values: (0.0, 1.0), places: (bottom, top), logarithmic: false };
    scene.rectangle((x.at(slo_ms.0), top), (x.at(slo_ms.1), bottom), (0xf1, 0xf1, 0xec));
    axis::horizontal(&mut scene, &x, (top, bottom), 6, "end-to-end latency (ms)", number);
    let middle = (MARGIN + 8.0, (top + bottom) / 2.0);
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    axis::vertical(&mut scene, &y, (left, right), 5, ("share of requests", middle), percent);

    // By mean, so that the legend has the order of the curves.
    let mut ordered: Vec<&Series> = series.iter().collect();
    let mean = |s: &Series| s.latency_ms_mean.map_or(f64::INFINITY, |estimate| estimate.mean);
    ordered.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    let drawn = drawn_as(&ordered);
    for (one, _) in ordered.iter().zip(&drawn).filter(|(one, drawn)| std::ptr::eq(**one, **drawn)) {
        curve(&mut scene, one, &x, &y);
    }
    let middle = (x.at(slo_ms.0) + x.at(slo_ms.1)) / 2.0;
    scene.text((middle, bottom - 9.0), "SLO range", SMALL, Align::Centre, FAINT);

    let text = |s: &Series| match s.latency_ms_mean {
        Some(estimate) => format!("{}, {:.1}", s.style.label, estimate.mean),
        None => format!("{}, n/a", s.style.label),
    };
    let below = bottom + 54.0;
    scene.text((MARGIN + 6.0, below), "Mean latency (ms), ascending:", SMALL, Align::Left, INK);
    let entries: Vec<(&Style, String)> =
        ordered.iter().zip(&drawn).map(|(s, drawn)| (&drawn.style, text(s))).collect();
    let below = legend(&mut scene, &entries, below + 17.0);

    let mut notes = vec![format!("Pooled over {}.", extent(series))];
    if drawn.iter().zip(&ordered).any(|(drawn, one)| !std::ptr::eq(*drawn, *one)) {
        let points = number(100.0 * TOGETHER);
        notes.push(format!(
            "One line for all that are nowhere more than {points} points apart from the first of them."
        ));
    }
    let cut: Vec<String> = series
        .iter()
        .filter_map(|s| s.cdf.share_within(end as u32).map(|share| (s, share)))
        .filter(|(_, share)| *share < 0.99)
        .map(|(s, share)| format!("{} {:.0}\u{a0}%", s.style.label, 100.0 * share))
        .collect();
    if !cut.is_empty() {
        notes.push(format!(
            "The axis ends at {} ms, where only so much is reached: {}.",
            number(end),
            cut.join(", ")
        ));
    }
    foot(&mut scene, &notes, below + 6.0);

    let means: Vec<String> = ordered.iter().map(|s| text(s)).collect();
    let alt =
        format!("Cumulative distribution of the latency. Means in ms, ascending: {}.", means.join("; "));
    let reading = "How large a share of the requests is not slower than a latency: the higher and the further left a curve, the better.";
    Ok(Figure { name: name.into(), title, reading: reading.into(), alt, scene })
}

/// For each series the one whose curve stands for it: the first that is close enough.
fn drawn_as<'a>(ordered: &[&'a Series]) -> Vec<&'a Series> {
    let mut drawn: Vec<&Series> = Vec::with_capacity(ordered.len());
    for &one in ordered {
        let close = |lead: &&&Series| lead.cdf.distance(&one.cdf).is_some_and(|apart| apart <= TOGETHER);
        drawn.push(drawn.iter().find(close).copied().unwrap_or(one));
    }
    drawn
}

/// Far enough for the tails of most, but not so far that one overloaded algorithm squeezes all others together.
fn axis_end(series: &[Series], slo_ms: f64) -> Option<f64> {
    let mut p99: Vec<f64> = series.iter().filter_map(|s| reach(&s.cdf, 0.99)).collect();
    p99.sort_by(f64::total_cmp);
    let median = p99.get(p99.len().saturating_sub(1) / 2)?;
    let far = p99.iter().rev().find(|value| **value <= 2.5 * median)?;
    Some(round_end(far.max(1.1 * slo_ms), 6).min(Cdf::LIMIT_MS as f64))
}

/// The first grid point at which this share is reached; the end of the grid if it never is.
fn reach(cdf: &Cdf, share: f64) -> Option<f64> {
    let wanted = share * cdf.total() as f64;
    let limit = Cdf::LIMIT_MS as f64;
    cdf.steps().find(|(_, count)| *count as f64 >= wanted).map(|(point, _)| point.map_or(limit, f64::from))
}

fn curve(scene: &mut Scene, series: &Series, x: &Axis, y: &Axis) {
    let total = series.cdf.total().max(1) as f64;
    let (mut points, mut share): (Vec<Point>, f64) = (vec![(x.at(0.0), y.at(0.0))], 0.0);
    for (latency_ms, count) in series.cdf.steps() {
        let Some(latency_ms) = latency_ms.map(f64::from).filter(|ms| *ms <= x.values.1) else {
            break;
        };
        // The count says how many lie within the last millisecond, so the line rises across it.
        let before = x.at(latency_ms - 1.0);
        if points.last().is_some_and(|last| last.0 < before) {
            points.push((before, y.at(share)));
        }
        share = count as f64 / total;
        points.push((x.at(latency_ms), y.at(share)));
    }
    points.push((x.places.1, y.at(share)));
    let points = thinned(points);
    let style = LINE_STYLES[series.style.mark % LINE_STYLES.len()];
    scene.dashed(&points, style, 1.6, series.style.color);
    // Markers at shares that differ from series to series, so that they do not cover each other.
    for base in [0.15, 0.45, 0.75] {
        let share = base + 0.025 * (series.style.mark % 8) as f64;
        if let Some(latency_ms) = reach(&series.cdf, share).filter(|ms| *ms < x.values.1) {
            marker(scene, (x.at(latency_ms), y.at(share)), series.style.mark, 3.4, series.style.color);
        }
    }
}

/// Without the points that are closer to the last one than a pixel or two, which only make a line rough.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    let (mut kept, end): (Vec<Point>, _) = (Vec::new(), points.last().copied());
    for point in points {
        if kept.last().is_none_or(|last| (point.0 - last.0).hypot(point.1 - last.1) >= 2.0) {
            kept.push(point);
        }
    }
    kept.extend(end);
    kept
}
