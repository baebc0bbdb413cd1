//! Quality against decision time: one point an algorithm, and the line of those that none beats in both.

use super::axis::{self, Axis, number, round_step};
use super::marker::marker;
use super::scene::{Align, FAINT, INK, Point, SMALL, Scene, WIDTH};
use super::text::text_width;
use super::time::{decades, duration};
use super::{Caption, DrawError, Figure, MARGIN, Series, Style, extent, foot, head};
use crate::stats::Estimate;

struct Spot<'a> {
    style: &'a Style,
    time: Estimate,
    latency: Estimate,
}

pub(super) fn figure(name: String, series: &[Series], caption: &Caption) -> Result<Figure, DrawError> {
    let spot = |s: &'_ Series| s.decision_us_mean.zip(s.latency_ms_mean).filter(|(time, _)| time.mean > 0.0);
    let mut spots: Vec<Spot<'_>> = series
        .iter()
        .filter_map(|s| spot(s).map(|(time, latency)| Spot { style: &s.style, time, latency }))
        .collect();
    if spots.is_empty() {
        return Err(DrawError::Empty { figure: name, what: "timed series" });
    }
    spots.sort_by(|a, b| a.time.mean.total_cmp(&b.time.mean));
    let title = "Mean latency against decision time".to_string();
    let mut scene = Scene::default();
    let top = head(&mut scene, &title, caption);
    let (left, right, bottom) = (60.0, WIDTH - MARGIN - 10.0, top + 340.0);
    let x = Axis {
        values: decades(spots.iter().map(|spot| spot.time.mean)),
        places: (left, right),
        logarithmic: true,
    };
    let (values, cut) = range(&spots);
    // Above the frame of the others a strip for what does not fit among them.
    let strip = if cut { 40.0 } else { 0.0 };
    let y = Axis { values, places: (bottom, top + strip), logarithmic: false };
    let wanted = ((right - left) / 52.0) as usize;
    axis::horizontal(
        &mut scene,
        &x,
        (top, bottom),
        wanted,
        "mean decision time per request (log scale)",
        duration,
    );
    let middle = (MARGIN + 8.0, (top + bottom) / 2.0);
    axis::vertical(&mut scene, &y, (left, right), 6, ("mean latency (ms)", middle), number);
    scene.outline((left, top), (right, bottom), 1.0, INK);
    if cut {
        let line = [(left, top + strip), (right, top + strip)];
        scene.dashed(&line, &[4.0, 3.0], 1.0, FAINT);
    }

    let mut best = f64::INFINITY;
    let mut front: Vec<&Spot<'_>> = Vec::new();
    for spot in &spots {
        if spot.latency.mean < best {
            best = spot.latency.mean;
            front.push(spot);
        }
    }
    let place = |spot: &Spot<'_>| {
        let inside = spot.latency.mean <= y.values.1;
        (x.at(spot.time.mean), if inside { y.at(spot.latency.mean) } else { top + strip / 2.0 })
    };
    let mut steps: Vec<Point> = Vec::new();
    for spot in front.iter().filter(|spot| spot.latency.mean <= y.values.1) {
        let at = place(spot);
        if let Some(last) = steps.last().copied() {
            steps.push((at.0, last.1));
        }
        steps.push(at);
    }
    if let Some(last) = steps.last().copied() {
        steps.push((right, last.1));
    }
    scene.line(steps.clone(), 1.2, FAINT);
    for spot in &spots {
        let at = place(spot);
        if let Some(interval) = spot.latency.interval.filter(|_| spot.latency.mean <= y.values.1) {
            let ends = [y.at(interval.low), y.at(interval.high)].map(|y| (at.0, y));
            scene.line(ends.to_vec(), 1.2, spot.style.color);
        }
        marker(&mut scene, at, spot.style.mark, 4.6, spot.style.color);
    }
    let dots: Vec<Point> = spots.iter().map(place).collect();
    let texts: Vec<String> = spots
        .iter()
        .map(|spot| match spot.latency.mean <= y.values.1 {
            true => spot.style.label.clone(),
            false => format!("{} ({})", spot.style.label, number(spot.latency.mean.round())),
        })
        .collect();
    for (at, (from, text)) in
        labels(&dots, &texts, &steps, (left, right, top, bottom)).into_iter().zip(dots.iter().zip(&texts))
    {
        // A label that had to move away, or is nearer to another point, gets a line back to its own.
        let width = text_width(text, SMALL, false);
        let middle = (at.0 + width / 2.0, at.1);
        let distance = |dot: &Point| {
            let (dx, dy) =
                (dot.0 - dot.0.clamp(at.0, at.0 + width), dot.1 - dot.1.clamp(at.1 - 6.0, at.1 + 6.0));
            dx.hypot(dy)
        };
        let nearest = dots.iter().map(distance).fold(f64::INFINITY, f64::min);
        if (middle.1 - from.1).abs() > 16.0 || distance(from) > nearest + 0.5 {
            let end = if middle.1 > from.1 { middle.1 - 6.0 } else { middle.1 + 6.0 };
            let near = from.0.clamp(at.0, at.0 + width);
            scene.line(vec![*from, (near, end)], 0.6, FAINT);
        }
        scene.text(at, text, SMALL, Align::Left, INK);
    }

    let mut notes =
        vec![format!("{}; lines through points: 95\u{a0}% bootstrap interval of the mean.", extent(series))];
    notes.push("Grey steps: no algorithm is both faster and better than those on them.".into());
    if cut {
        notes.push("Above the broken line: out of scale, with the mean latency in brackets.".into());
    }
    foot(&mut scene, &notes, bottom + 52.0);
    let words = |spot: &Spot<'_>| {
        format!("{} {} and {:.1} ms", spot.style.label, duration(spot.time.mean), spot.latency.mean)
    };
    let all: Vec<String> = spots.iter().map(words).collect();
    let on_front: Vec<&str> = front.iter().map(|spot| spot.style.label.as_str()).collect();
    let alt = format!(
        "Scatter plot of decision time on a logarithmic axis and mean latency, fastest first: {}. Not beaten in both: {}.",
        all.join("; "),
        on_front.join(", ")
    );
    let reading = "Further left decides faster, further down serves faster; who lies above and to the right of another is beaten \
                   in both.";
    Ok(Figure { name, title, reading: reading.into(), alt, scene })
}

/// The ends of the vertical axis, and whether something lies above it.
fn range(spots: &[Spot<'_>]) -> ((f64, f64), bool) {
    let ends = |spot: &Spot<'_>| {
        let mean = spot.latency.mean;
        spot.latency.interval.map_or((mean, mean), |i| (i.low.min(mean), i.high.max(mean)))
    };
    let mut tops: Vec<f64> = spots.iter().map(|spot| ends(spot).1).collect();
    tops.sort_by(f64::total_cmp);
    let low = spots.iter().map(|spot| ends(spot).0).min_by(f64::total_cmp).unwrap_or(0.0);
    let largest = tops.last().copied().unwrap_or(1.0);
    let bound = 1.6 * tops.get(tops.len().saturating_sub(1) / 2).copied().unwrap_or(1.0);
    let inside = tops.iter().rev().find(|top| **top <= bound).copied().unwrap_or(largest);
    let (top, cut) =
        if largest > bound && largest > 1.3 * inside { (inside, true) } else { (largest, false) };
    let margin = 0.06 * (top - low).max(0.02 * top);
    let step = round_step((top - low + 2.0 * margin) / 6.0);
    ((((low - margin) / step).floor() * step, ((top + margin) / step).ceil() * step), cut)
}

/// Where each label starts: as near to its point as no other label, point, line or border is in the way.
fn labels(
    dots: &[Point],
    texts: &[String],
    line: &[Point],
    (left, right, top, bottom): (f64, f64, f64, f64),
) -> Vec<Point> {
    // Rectangles that are taken: (x0, y0, x1, y1).
    let mut taken: Vec<[f64; 4]> = dots.iter().map(|(x, y)| [x - 5.0, y - 5.0, x + 5.0, y + 5.0]).collect();
    taken.extend(line.windows(2).map(|ends| {
        let ((x0, y0), (x1, y1)) = (ends[0], ends[1]);
        [x0.min(x1) - 1.0, y0.min(y1) - 1.0, x0.max(x1) + 1.0, y0.max(y1) + 1.0]
    }));
    let meets = |a: &[f64; 4], b: &[f64; 4]| a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
    let mut places = Vec::with_capacity(dots.len());
    for ((x, y), text) in dots.iter().zip(texts) {
        let width = text_width(text, SMALL, false);
        let mut candidates: Vec<Point> =
            vec![(x + 8.0, *y), (x - 8.0 - width, *y), (x + 5.0, y - 9.0), (x - 5.0 - width, y + 9.0)];
        for level in 1..14 {
            let away = 13.0 * f64::from(level);
            for dx in [-width / 2.0, 4.0, -width - 4.0] {
                candidates.extend([(x + dx, y - away), (x + dx, y + away)]);
            }
        }
        let area = |at: &Point| [at.0 - 1.0, at.1 - 6.5, at.0 + width + 1.0, at.1 + 6.5];
        let free = |at: &&Point| {
            let area = area(at);
            area[0] > left + 2.0
                && area[2] < right - 2.0
                && area[1] > top + 1.0
                && area[3] < bottom - 1.0
                && !taken.iter().any(|other| meets(&area, other))
        };
        let at = candidates.iter().find(free).copied().unwrap_or(candidates[0]);
        taken.push(area(&at));
        places.push(at);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_apart() {
        let dots = [(100.0, 100.0), (104.0, 101.0), (98.0, 103.0), (300.0, 100.0), (395.0, 20.0)];
        let texts =
            ["First of all", "Second", "Third and longest", "Fourth", "At the border"].map(String::from);
        let places = labels(&dots, &texts, &[(100.0, 100.0), (300.0, 100.0)], (50.0, 400.0, 10.0, 200.0));
        for (i, a) in places.iter().enumerate() {
            let width = |k: usize| text_width(&texts[k], SMALL, false);
            assert!(a.0 >= 50.0 && a.0 + width(i) <= 400.0, "{}", texts[i]);
            for (j, b) in places.iter().enumerate().skip(i + 1) {
                let apart = a.0 + width(i) < b.0 || b.0 + width(j) < a.0 || (a.1 - b.1).abs() >= 13.0;
                assert!(apart, "{} and {}: {a:?}, {b:?}", texts[i], texts[j]);
            }
        }
    }
}
