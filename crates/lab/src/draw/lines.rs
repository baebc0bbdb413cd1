//! Lines with bands over a number: sweeps, learning curves, convergence.

use super::axis::{self, Axis, number, round_step};
use super::legend::legend;
use super::marker::{LINE_STYLES, marker};
use super::scene::{Point, Scene, WIDTH};
use super::time::duration;
use super::{Caption, DrawError, Figure, MARGIN, Style, Words, foot, head};
use crate::stats::Estimate;

/// A chart of one or more panels above each other that share their horizontal axis.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// What it says besides its data.
    pub words: Words,
    /// Title of the horizontal axis.
    pub x_axis: String,
    /// Whether equal ratios of x are equally long.
    pub x_logarithmic: bool,
    /// The panels, from above.
    pub panels: Vec<Panel>,
}

/// One panel.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Title of the vertical axis.
    pub axis: String,
    /// How it is divided.
    pub scale: Scale,
    /// The lines.
    pub lines: Vec<Line>,
}

/// How a vertical axis is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From zero, unless the values keep far from it.
    Linear,
    /// By ratios.
    Logarithmic,
    /// By ratios, of microseconds.
    Time,
}

/// A line, with a band where its estimates have intervals.
#[derive(Clone, Debug)]
pub struct Line {
    /// How it looks.
    pub style: Style,
    /// x, and the estimate there; ascending in x.
    pub points: Vec<(f64, Estimate)>,
}

const PANEL: f64 = 190.0;
const GAP: f64 = 22.0;

pub(super) fn figure(chart: &LineChart, caption: &Caption) -> Result<Figure, DrawError> {
    let empty = || DrawError::Empty { figure: chart.words.name.clone(), what: "point" };
    let points = || chart.panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
    let xs: Vec<f64> = points().map(|(x, _)| *x).filter(|x| !chart.x_logarithmic || *x > 0.0).collect();
    let (Some(low), Some(high)) =
        (xs.iter().copied().min_by(f64::total_cmp), xs.iter().copied().max_by(f64::total_cmp))
    else {
        return Err(empty());
    };
    let mut scene = Scene::default();
    let mut top = head(&mut scene, &chart.words.title, caption);
    let (left, right) = (80.0, WIDTH - MARGIN - 16.0);
    let x = Axis {
        values: if chart.x_logarithmic { widened(low, high) } else { span(low, high) },
        places: (left, right),
        logarithmic: chart.x_logarithmic,
    };
    // One panel alone gets the height of two.
    let height = if chart.panels.len() == 1 { 1.4 * PANEL } else { PANEL };
    let mut cut = false;
    for (index, panel) in chart.panels.iter().enumerate() {
        let bottom = top + height;
        let (values, is_cut) = range(panel);
        cut |= is_cut;
        let y = Axis { values, places: (bottom, top), logarithmic: panel.scale != Scale::Linear };
        let last = index + 1 == chart.panels.len();
        let title = if last { chart.x_axis.as_str() } else { "" };
        let few = xs.iter().all(|x| x.fract() == 0.0) && high - low <= 7.0;
        let wanted = match chart.x_logarithmic {
            true => 8,
            // Numbers of things, and seeds, have no halves.
            false if few => (high - low).max(1.0) as usize,
            false => 7,
        };
        let powers =
            chart.x_logarithmic && x.ticks(wanted).into_iter().all(|value| exponent(value).is_some());
        axis::horizontal(&mut scene, &x, (top, bottom), wanted, title, |value| {
            if powers { power(value) } else { number(value) }
        });
        let write = |value: f64| match panel.scale {
            Scale::Linear => number(value),
            Scale::Logarithmic => number(value),
            Scale::Time => duration(value),
        };
        let middle = (MARGIN + 8.0, (top + bottom) / 2.0);
        axis::vertical(&mut scene, &y, (left, right), 5, (&panel.axis, middle), write);
        for line in &panel.lines {
            band(&mut scene, line, &x, &y);
        }
        for line in &panel.lines {
            path(&mut scene, line, &x, &y);
        }
        top = bottom + if last { 52.0 } else { GAP + 8.0 };
    }

    let mut styles: Vec<&Style> = Vec::new();
    for line in chart.panels.iter().flat_map(|panel| &panel.lines) {
        if !styles.iter().any(|style| style.algorithm == line.style.algorithm) {
            styles.push(&line.style);
        }
    }
    let entries: Vec<(&Style, String)> = styles.iter().map(|style| (*style, style.label.clone())).collect();
    let below = legend(&mut scene, &entries, top);
    let mut notes = chart.words.notes.clone();
    let interval = points().any(|(_, estimate)| estimate.interval.is_some());
    notes.push(if interval {
        "Bands: 95\u{a0}% bootstrap interval of the mean over seeds.".into()
    } else {
        "One seed, so no interval.".into()
    });
    if cut {
        notes.push("Lines that leave a panel go on beyond it; the table has their values.".into());
    }
    foot(&mut scene, &notes, below + 6.0);
    let alt = format!(
        "{}. {}",
        chart.words.title,
        chart.panels.iter().map(|p| words(p, chart)).collect::<Vec<_>>().join(" ")
    );
    Ok(chart.words.figure(alt, scene))
}

/// The first and the last value of every line.
fn words(panel: &Panel, chart: &LineChart) -> String {
    let write = |value: f64| if panel.scale == Scale::Time { duration(value) } else { short(value) };
    let line = |line: &Line| match (line.points.first(), line.points.last()) {
        (Some((a, first)), Some((b, last))) => format!(
            "{} {} at {} and {} at {}",
            line.style.label,
            write(first.mean),
            short(*a),
            write(last.mean),
            short(*b)
        ),
        _ => format!("{} n/a", line.style.label),
    };
    let lines: Vec<String> = panel.lines.iter().map(line).collect();
    format!("{} over {}: {}.", panel.axis, chart.x_axis, lines.join("; "))
}

/// Three digits.
fn short(value: f64) -> String {
    let digits = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

fn band(scene: &mut Scene, line: &Line, x: &Axis, y: &Axis) {
    let ends = |high: bool| {
        line.points.iter().filter_map(move |(at, estimate)| {
            estimate.interval.map(|i| (x.at(*at), y.beyond(if high { i.high } else { i.low })))
        })
    };
    let mut points: Vec<Point> = ends(true).collect();
    points.extend(ends(false).collect::<Vec<_>>().into_iter().rev());
    if points.len() > 3 {
        scene.veil(below(&points, y.places.1), line.style.color, 0.2);
    }
}

/// The part of a polygon that does not reach above a height of the page (Sutherland and Hodgman's clipping, one edge).
fn below(points: &[Point], top: f64) -> Vec<Point> {
    let mut kept = Vec::new();
    for (i, &b) in points.iter().enumerate() {
        let a = points[(i + points.len() - 1) % points.len()];
        if (a.1 < top) != (b.1 < top) {
            kept.push((a.0 + (top - a.1) / (b.1 - a.1) * (b.0 - a.0), top));
        }
        if b.1 >= top {
            kept.push(b);
        }
    }
    kept
}

fn path(scene: &mut Scene, line: &Line, x: &Axis, y: &Axis) {
    let inside = |value: f64| value <= y.values.1;
    // A line that leaves the panel ends at its border, where it crosses it, and comes back in the same way.
    let mut pieces: Vec<Vec<Point>> = vec![Vec::new()];
    let mut before: Option<(f64, f64)> = None;
    for (at, estimate) in &line.points {
        let here = (*at, estimate.mean);
        if let Some(last) = before.filter(|last| inside(last.1) != inside(here.1)) {
            let border = crossing(x, y, last, here);
            match inside(last.1) {
                true => pieces.last_mut().into_iter().for_each(|piece| piece.push(border)),
                false => pieces.push(vec![border]),
            }
        }
        if inside(here.1) {
            pieces.last_mut().into_iter().for_each(|piece| piece.push((x.at(here.0), y.at(here.1))));
        }
        before = Some(here);
    }
    let style = LINE_STYLES[line.style.mark % LINE_STYLES.len()];
    for piece in pieces.iter().filter(|piece| piece.len() > 1) {
        scene.dashed(piece, style, 1.6, line.style.color);
    }
    // Not more markers than a reader can tell apart.
    let step = line.points.len().div_ceil(14).max(1);
    for (at, estimate) in line.points.iter().step_by(step).filter(|(_, estimate)| inside(estimate.mean)) {
        marker(scene, (x.at(*at), y.at(estimate.mean)), line.style.mark, 3.4, line.style.color);
    }
}

/// Where the way between two points meets the upper border of a panel, straight on the page.
fn crossing(x: &Axis, y: &Axis, a: (f64, f64), b: (f64, f64)) -> Point {
    let scale = |value: f64| if y.logarithmic { value.max(f64::MIN_POSITIVE).log10() } else { value };
    let (from, to, border) = (scale(a.1), scale(b.1), scale(y.values.1));
    let share = ((border - from) / (to - from)).clamp(0.0, 1.0);
    (x.at(a.0) + share * (x.at(b.0) - x.at(a.0)), y.places.1)
}

/// The values at the ends of a linear axis: its data, or a little around a single one.
fn span(low: f64, high: f64) -> (f64, f64) {
    if low < high { (low, high) } else { (low - 0.5, high + 0.5) }
}

fn widened(low: f64, high: f64) -> (f64, f64) {
    if low < high { (low, high) } else { (low / 2.0, high * 2.0) }
}

/// The ends of a panel's axis, and whether a line goes beyond: one algorithm that breaks down must not flatten all others.
fn range(panel: &Panel) -> ((f64, f64), bool) {
    let all = || panel.lines.iter().flat_map(|line| line.points.iter().map(|(_, estimate)| *estimate));
    let mut tops: Vec<f64> = all().map(|e| e.interval.map_or(e.mean, |i| i.high.max(e.mean))).collect();
    let bottoms = all().map(|e| e.interval.map_or(e.mean, |i| i.low.min(e.mean)));
    tops.sort_by(f64::total_cmp);
    let largest = tops.last().copied().unwrap_or(1.0);
    if panel.scale != Scale::Linear {
        let positive = |values: &mut dyn Iterator<Item = f64>| {
            values.filter(|value| *value > 0.0).min_by(f64::total_cmp).unwrap_or(1.0)
        };
        let low = 10f64.powf(positive(&mut bottoms.filter(|v| *v > 0.0)).log10().floor());
        let high = 10f64.powf(largest.max(low * 1.01).log10().ceil());
        return ((low, high), false);
    }
    let low = bottoms.min_by(f64::total_cmp).unwrap_or(0.0);
    let middle = tops.get(tops.len() / 2).copied().unwrap_or(1.0);
    // Where the values keep far from zero, small differences are what matters.
    let factor = if low > 0.6 * middle { 1.6 } else { 4.0 };
    let bound = factor * middle;
    let (top, cut) = match tops.iter().rev().find(|value| **value <= bound && **value > 0.0) {
        Some(inside) if largest > bound && largest > 0.5 * factor * inside => (*inside * 1.1, true),
        _ => (largest, false),
    };
    // From zero, unless that would waste most of the panel.
    let from = if low > 0.6 * top { low - 0.15 * (top - low).max(0.02 * top) } else { low.min(0.0) };
    let step = round_step(((top - from) / 5.0).max(f64::MIN_POSITIVE));
    let (first, last) = ((from / step + 1e-9).floor() * step, (top / step - 1e-9).ceil() * step);
    ((first, if last > first { last } else { first + step }), cut)
}

/// The exponent of a power of ten.
fn exponent(value: f64) -> Option<i32> {
    let exponent = value.log10().round() as i32;
    ((value / 10f64.powi(exponent) - 1.0).abs() < 1e-9).then_some(exponent)
}

/// `1000`, `10⁴`: powers of ten from ten thousand on as such.
fn power(value: f64) -> String {
    let Some(exponent) = exponent(value).filter(|&exponent| exponent >= 4) else { return number(value) };
    let digit = |c: char| match c {
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        other => char::from_u32(other as u32 - '0' as u32 + '⁰' as u32).unwrap_or(other),
    };
    format!("10{}", exponent.to_string().chars().map(digit).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::super::scene::INK;
    use super::*;
    use crate::stats::Interval;

    #[test]
    fn ends_of_panels_hold_the_values() {
        let panel = |values: &[f64], scale| Panel {
            axis: String::new(),
            scale,
            lines: vec![Line {
                style: Style { algorithm: "a".into(), label: "A".into(), color: INK, mark: 0 },
                points: values
                    .iter()
                    .map(|&mean| {
                        (0.0, Estimate { mean, n: 2, interval: Some(Interval { low: mean, high: mean }) })
                    })
                    .collect(),
            }],
        };
        let check = |values: &[f64], scale, expected| assert_eq!(range(&panel(values, scale)), expected);
        check(&[0.0, 4.0], Scale::Linear, ((0.0, 4.0), false));
        check(&[170.0, 177.0, 178.0], Scale::Linear, ((168.0, 178.0), false));
        check(&[1.0, 2.0, 3.0, 900.0], Scale::Linear, ((0.0, 4.0), true));
        check(&[170.0, 177.0, 178.0, 300.0], Scale::Linear, ((160.0, 200.0), true));
        check(&[0.3, 40.0], Scale::Logarithmic, ((0.1, 100.0), false));
        check(&[5.0], Scale::Time, ((1.0, 10.0), false));
    }

    #[test]
    fn bands_end_at_the_border() {
        // A square from 0 to 10, cut at 4 from above: y grows downward.
        let square = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0)];
        assert_eq!(below(&square, 4.0), [(0.0, 4.0), (10.0, 4.0), (10.0, 10.0), (0.0, 10.0)]);
        assert_eq!(below(&square, -1.0).len(), 4);
        assert_eq!(below(&square, 11.0), []);
    }

    #[test]
    fn powers_are_short() {
        let texts = [10.0, 1000.0, 1e4, 2e5, 1e12].map(power);
        assert_eq!(texts, ["10", "1000", "10⁴", "200\u{202f}000", "10¹²"]);
    }
}
