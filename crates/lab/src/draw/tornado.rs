//! A tornado: how far a value moves when each choice is halved and doubled, the one that moves it most on top.

use super::axis::{self, Axis, number};
use super::scene::{Align, FAINT, INK, Rgb, SMALL, Scene, TEXT, WIDTH};
use super::text::text_width;
use super::{Caption, DrawError, Figure, MARGIN, Words, foot, head};
use crate::stats::Estimate;

/// A chart of bars to both sides of a value.
#[derive(Clone, Debug)]
pub struct TornadoChart {
    /// What it says besides its data.
    pub words: Words,
    /// Title of the axis.
    pub axis: String,
    /// The value with every choice as it is.
    pub baseline: Estimate,
    /// One row a choice, in any order.
    pub rows: Vec<TornadoRow>,
}

/// What one choice does.
#[derive(Clone, Debug)]
pub struct TornadoRow {
    /// The choice.
    pub label: String,
    /// Its name for the lower value, such as `half`, and what comes out.
    pub low: (String, Option<Estimate>),
    /// The same for the higher value.
    pub high: (String, Option<Estimate>),
}

impl TornadoRow {
    /// How far the value moves at most.
    pub fn swing(&self, baseline: f64) -> f64 {
        [&self.low, &self.high]
            .into_iter()
            .filter_map(|(_, estimate)| *estimate)
            .map(|estimate| (estimate.mean - baseline).abs())
            .fold(0.0, f64::max)
    }
}

const LOW: Rgb = (0x56, 0xb4, 0xe9);
const HIGH: Rgb = (0xd5, 0x5e, 0x00);

pub(super) fn figure(chart: &TornadoChart, caption: &Caption) -> Result<Figure, DrawError> {
    if chart.rows.is_empty() {
        return Err(DrawError::Empty { figure: chart.words.name.clone(), what: "choice" });
    }
    let base = chart.baseline.mean;
    let mut rows: Vec<&TornadoRow> = chart.rows.iter().collect();
    rows.sort_by(|a, b| b.swing(base).total_cmp(&a.swing(base)));
    let mut scene = Scene::default();
    let mut top = head(&mut scene, &chart.words.title, caption);
    let widths = rows.iter().map(|row| text_width(&row.label, SMALL, false));
    let left = MARGIN + widths.fold(0.0, f64::max).min(0.4 * WIDTH) + 10.0;
    let right = WIDTH - MARGIN - 14.0;
    for (i, (text, color)) in [("halved", LOW), ("doubled", HIGH)].into_iter().enumerate() {
        let x = left + 90.0 * i as f64;
        scene.rectangle((x, top - 5.0), (x + 20.0, top + 5.0), color);
        scene.outline((x, top - 5.0), (x + 20.0, top + 5.0), 0.8, INK);
        scene.text((x + 26.0, top), text, SMALL, Align::Left, INK);
    }
    top += 18.0;

    let ends = |estimate: Estimate| estimate.interval.map_or([estimate.mean; 2], |i| [i.low, i.high]);
    let estimates = || rows.iter().flat_map(|row| [row.low.1, row.high.1]).flatten();
    let mut values: Vec<f64> = estimates().flat_map(ends).collect();
    values.extend(ends(chart.baseline));
    values.sort_by(f64::total_cmp);
    let (low, high) = (values[0].min(base), values[values.len() - 1].max(base));
    // A choice under which one algorithm breaks down must not hide what the others do.
    let most = quantile_of_swings(&rows, base).max(1e-3 * base.abs());
    let (low, high) = (low.max(base - 3.0 * most), high.min(base + 3.0 * most));
    let step = axis::round_step(((high - low) / 6.0).max(f64::MIN_POSITIVE));
    let values = ((low / step).floor() * step, (high / step).ceil() * step);
    let x = Axis { values, places: (left, right), logarithmic: false };
    let pitch = 24.0;
    let bottom = top + pitch * rows.len() as f64;
    axis::horizontal(&mut scene, &x, (top, bottom), 6, "", number);
    // It may be longer than the axis: what is left of that is rather the labels'.
    scene.text((right, bottom + 30.0), &chart.axis, TEXT, Align::Right, INK);
    if let Some(interval) = chart.baseline.interval {
        let (a, b) = (x.at(interval.low), x.at(interval.high));
        scene.veil(vec![(a, top), (b, top), (b, bottom), (a, bottom)], INK, 0.1);
    }
    let mut cut = false;
    for (i, row) in rows.iter().enumerate() {
        let y = top + pitch * (i as f64 + 0.5);
        scene.text((left - 7.0, y), &row.label, SMALL, Align::Right, INK);
        for ((_, estimate), color, dy) in [(&row.low, LOW, -4.5), (&row.high, HIGH, 4.5)] {
            let Some(estimate) = estimate else {
                scene.text((x.at(base) + 5.0, y + dy), "n/a", SMALL - 3.0, Align::Left, FAINT);
                continue;
            };
            let (a, b) = (x.at(base), x.at(estimate.mean));
            scene.rectangle((a, y + dy - 4.0), (b, y + dy + 4.0), color);
            scene.outline((a, y + dy - 4.0), (b, y + dy + 4.0), 0.6, INK);
            if !(x.values.0..=x.values.1).contains(&estimate.mean) {
                cut = true;
                let (inner, sign) = if b > a { (b - 8.0, 1.0) } else { (b + 8.0, -1.0) };
                let text = format!("{:.2}", estimate.mean);
                scene.area(vec![(b + sign * 4.0, y + dy), (b, y + dy - 4.0), (b, y + dy + 4.0)], color);
                let align = if sign > 0.0 { Align::Right } else { Align::Left };
                scene.text((inner, y + dy), &text, SMALL - 3.0, align, (255, 255, 255));
            } else if let Some(interval) = estimate.interval {
                let (low, high) = (x.at(interval.low), x.at(interval.high));
                scene.line(vec![(low, y + dy), (high, y + dy)], 1.2, INK);
                for end in [low, high] {
                    scene.line(vec![(end, y + dy - 2.5), (end, y + dy + 2.5)], 1.2, INK);
                }
            }
        }
    }
    scene.line(vec![(x.at(base), top - 4.0), (x.at(base), bottom)], 1.4, INK);
    let mut notes = chart.words.notes.clone();
    let interval =
        chart.baseline.interval.map_or(String::new(), |i| format!(" [{:.3}, {:.3}]", i.low, i.high));
    notes.push(format!("Vertical line: everything as chosen, {base:.3}{interval}."));
    if cut {
        notes.push("Bars with a pointed end go on beyond the axis, to the number inside.".into());
    }
    foot(&mut scene, &notes, bottom + 52.0);
    let text = |(name, estimate): &(String, Option<Estimate>)| {
        format!("{name} {}", estimate.map_or("n/a".to_string(), |e| format!("{:.3}", e.mean)))
    };
    let words: Vec<String> =
        rows.iter().map(|row| format!("{} {}, {}", row.label, text(&row.low), text(&row.high))).collect();
    let alt = format!("{}; as chosen {base:.3}; {}.", chart.words.title, words.join("; "));
    Ok(chart.words.figure(alt, scene))
}

/// The swing that three quarters of the choices stay below.
fn quantile_of_swings(rows: &[&TornadoRow], base: f64) -> f64 {
    let mut swings: Vec<f64> = rows.iter().map(|row| row.swing(base)).collect();
    swings.sort_by(f64::total_cmp);
    crate::stats::quantile_r7(&swings, 0.75).unwrap_or(0.0)
}
