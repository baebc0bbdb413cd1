//! Distributions of a ratio by row, on a logarithmic axis: how far from the optimum each algorithm ends.

use super::axis::{self, Axis};
use super::scene::{Align, FAINT, INK, SMALL, Scene, WIDTH, tint};
use super::text::text_width;
use super::{Caption, DrawError, Figure, MARGIN, Rgb, Words, foot, head};
use crate::stats::quantile_r7;

/// A chart of boxes.
#[derive(Clone, Debug)]
pub struct BoxChart {
    /// What it says besides its data.
    pub words: Words,
    /// Title of the axis, in percent.
    pub axis: String,
    /// What is not above this, in percent, stands at the left end: on a logarithmic axis there is no zero.
    pub floor: f64,
    /// The rows, from above.
    pub rows: Vec<BoxRow>,
}

/// One distribution.
#[derive(Clone, Debug)]
pub struct BoxRow {
    /// Whose.
    pub label: String,
    /// Its colour.
    pub color: Rgb,
    /// In percent, ascending.
    pub values: Vec<f64>,
    /// Whether it is a reference and no competitor: drawn hollow.
    pub reference: bool,
}

pub(super) fn figure(chart: &BoxChart, caption: &Caption) -> Result<Figure, DrawError> {
    let largest = chart.rows.iter().filter_map(|row| quantile_r7(&row.values, 0.95)).max_by(f64::total_cmp);
    let largest =
        largest.ok_or_else(|| DrawError::Empty { figure: chart.words.name.clone(), what: "value" })?;
    let mut scene = Scene::default();
    let mut top = head(&mut scene, &chart.words.title, caption);
    let widths = chart.rows.iter().map(|row| text_width(&row.label, SMALL, false));
    let left = MARGIN + widths.fold(0.0, f64::max).min(0.4 * WIDTH) + 10.0;
    let right = WIDTH - MARGIN - 84.0;
    scene.text((WIDTH - MARGIN, top), "median / P95", SMALL, Align::Right, FAINT);
    top += 14.0;
    let pitch = 22.0;
    let bottom = top + pitch * chart.rows.len() as f64;
    let high = 10f64.powf(largest.max(chart.floor * 10.0).log10().ceil());
    let x = Axis { values: (chart.floor, high), places: (left, right), logarithmic: true };
    axis::horizontal(&mut scene, &x, (top, bottom), ((right - left) / 28.0) as usize, &chart.axis, |value| {
        let at_most = if value <= chart.floor * 1.001 { "≤\u{202f}" } else { "" };
        format!("{at_most}{}", super::axis::number(value))
    });
    let mut words = Vec::new();
    for (i, row) in chart.rows.iter().enumerate() {
        let y = top + pitch * (i as f64 + 0.5);
        scene.text((left - 7.0, y), &row.label, SMALL, Align::Right, INK);
        let at = |q: f64| quantile_r7(&row.values, q);
        let (Some(p5), Some(p25), Some(p50), Some(p75), Some(p95)) =
            (at(0.05), at(0.25), at(0.5), at(0.75), at(0.95))
        else {
            scene.text((left + 5.0, y), "n/a", SMALL, Align::Left, FAINT);
            words.push(format!("{} n/a", row.label));
            continue;
        };
        scene.line(vec![(x.at(p5), y), (x.at(p95), y)], 1.2, row.color);
        for end in [p5, p95] {
            scene.line(vec![(x.at(end), y - 4.0), (x.at(end), y + 4.0)], 1.2, row.color);
        }
        let (a, b) = ((x.at(p25), y - 6.0), (x.at(p75), y + 6.0));
        let fill = if row.reference { (255, 255, 255) } else { tint(row.color, 0.55) };
        // A box without width still has to be seen.
        if b.0 - a.0 > 1.0 {
            scene.rectangle(a, b, fill);
            scene.outline(a, b, 1.0, row.color);
        }
        scene.line(vec![(x.at(p50), y - 7.0), (x.at(p50), y + 7.0)], 2.4, row.color);
        let text = format!("{} / {}\u{202f}%", percent(p50, chart.floor), percent(p95, chart.floor));
        scene.text((WIDTH - MARGIN, y), &text, SMALL, Align::Right, INK);
        words.push(format!("{} {text}", row.label));
    }
    scene.line(vec![(left, top), (left, bottom)], 1.0, INK);
    foot(&mut scene, &chart.words.notes, bottom + 52.0);
    let alt = format!("{}; median and P95: {}.", chart.words.title, words.join("; "));
    Ok(chart.words.figure(alt, scene))
}

/// Two digits, and what lies below the floor as such.
pub(crate) fn percent(value: f64, floor: f64) -> String {
    match value {
        value if value <= floor => format!("≤\u{202f}{floor}"),
        value if value < 0.995 => format!("{value:.2}"),
        value if value < 9.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}
