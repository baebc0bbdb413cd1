//! Figure 5: the decision time a request.

use super::axis::{self, Axis, number};
use super::marker::marker;
use super::scene::{Align, FAINT, INK, Point, Rgb, SMALL, Scene, WIDTH};
use super::{Caption, DrawError, Figure, MARGIN, Series, foot, head, label_width, range};
use crate::stats::Estimate;

pub(super) fn figure(series: &[Series], caption: &Caption) -> Result<Figure, DrawError> {
    let name = "figure-5-decision-time";
    if series.is_empty() {
        return Err(DrawError::Empty { figure: name.into(), what: "series" });
    }
    let title = "Decision time per request".to_string();
    let mut scene = Scene::default();
    let mut top = head(&mut scene, &title, caption);
    let left = MARGIN + label_width(series) + 10.0;
    let right = WIDTH - MARGIN - 64.0;

    marker(&mut scene, (left + 6.0, top), 0, 4.0, FAINT);
    tail(&mut scene, (left + 6.0, top), (left + 40.0, top), FAINT);
    scene.text((left + 48.0, top), "P50 to P99", SMALL, Align::Left, INK);
    mean_mark(&mut scene, (left + 142.0, top + 6.0));
    scene.text((left + 152.0, top), "mean", SMALL, Align::Left, INK);
    scene.text((right + 8.0, top), "mean", SMALL, Align::Left, INK);
    top += 14.0;

    let pitch = 25.0;
    let bottom = top + pitch * series.len() as f64;
    let all =
        || series.iter().flat_map(|s| [s.decision_us_mean, s.decision_us_p50, s.decision_us_p99]).flatten();
    let x = Axis { values: decades(all().map(|e| e.mean)), places: (left, right), logarithmic: true };
    axis::horizontal(
        &mut scene,
        &x,
        (top, bottom),
        ((right - left) / 52.0) as usize,
        "decision time per request (log scale)",
        duration,
    );

    for (i, one) in series.iter().enumerate() {
        let y = top + pitch * (i as f64 + 0.5) + 2.0;
        scene.text((left - 7.0, y), &one.style.label, SMALL, Align::Right, INK);
        row(&mut scene, &x, y, one);
        let text = one.decision_us_mean.map_or("n/a".to_string(), |e| duration(e.mean));
        scene.text((right + 8.0, y), &text, SMALL, Align::Left, INK);
    }
    scene.line(vec![(left, top), (left, bottom)], 1.0, INK);
    let seeds = range(series.iter().map(|s| s.seeds as u64));
    let decisions = number(series.iter().map(|s| s.decisions).min().unwrap_or(0) as f64);
    let notes = [format!(
        "Means over {seeds} {} with at least {decisions} timed decisions each. One cell at a time; a batch solver's time is \
         shared by its requests.",
        if seeds == "1" { "seed" } else { "seeds" }
    )];
    foot(&mut scene, &notes, bottom + 52.0);

    let words = |s: &Series| {
        let text = |e: Option<Estimate>| e.map_or("n/a".to_string(), |e| duration(e.mean));
        format!(
            "{} {}, {}, {}",
            s.style.label,
            text(s.decision_us_mean),
            text(s.decision_us_p50),
            text(s.decision_us_p99)
        )
    };
    let all = series.iter().map(words).collect::<Vec<_>>().join("; ");
    let alt = format!("Decision time per request on a logarithmic axis; mean, P50, P99: {all}.");
    let reading = "From the median (marker) to the slowest but one in a hundred (end of the line), and the mean (pointer): further left \
                   is faster, and the axis is logarithmic.";
    Ok(Figure { name: name.into(), title, reading: reading.into(), alt, scene })
}

fn row(scene: &mut Scene, x: &Axis, y: f64, series: &Series) {
    let color = series.style.color;
    let place = |estimate: Option<Estimate>| estimate.filter(|e| e.mean > 0.0).map(|e| (x.at(e.mean), y));
    if let (Some(p50), Some(p99)) = (place(series.decision_us_p50), place(series.decision_us_p99)) {
        tail(scene, p50, p99, color);
    }
    if let Some(p50) = place(series.decision_us_p50) {
        marker(scene, p50, series.style.mark, 4.2, color);
    }
    if let Some(mean) = place(series.decision_us_mean) {
        mean_mark(scene, mean);
    }
}

/// A line that ends in a cap.
fn tail(scene: &mut Scene, from: Point, to: Point, color: Rgb) {
    scene.line(vec![from, to], 1.6, color);
    scene.line(vec![(to.0, to.1 - 5.0), (to.0, to.1 + 5.0)], 1.6, color);
}

/// A small pointer from above, so that it does not cover what is close to it.
fn mean_mark(scene: &mut Scene, (x, y): Point) {
    scene.area(vec![(x, y - 3.0), (x - 4.0, y - 11.0), (x + 4.0, y - 11.0)], INK);
}

/// The powers of ten around the values, two at least.
pub(super) fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let powers: Vec<f64> = values.filter(|v| *v > 0.0).map(f64::log10).collect();
    let low = powers.iter().copied().min_by(f64::total_cmp).unwrap_or(0.0).floor();
    let high = powers.iter().copied().max_by(f64::total_cmp).unwrap_or(1.0).ceil().max(low + 1.0);
    (10f64.powf(low), 10f64.powf(high))
}

/// Microseconds with the unit in which they are short.
pub(crate) fn duration(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 0.9995 => (us * 1e3, "ns"),
        us if us < 999.5 => (us, "µs"),
        us if us < 999_500.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    let digits = if value < 9.95 {
        2
    } else if value < 99.5 {
        1
    } else {
        0
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let check = |us: f64, text: &str| assert_eq!(duration(us), text);
        check(0.0, "0 ns");
        check(0.04, "40 ns");
        check(1.0, "1 µs");
        check(3.456, "3.46 µs");
        check(100.0, "100 µs");
        check(20_000.0, "20 ms");
        check(12_580_000.0, "12.6 s");
    }

    #[test]
    fn an_axis_of_decades_is_never_empty() {
        assert_eq!(decades([].into_iter()), (1.0, 10.0));
        assert_eq!(decades([0.0, 10.0].into_iter()), (10.0, 100.0));
        assert_eq!(decades([3.0, 2000.0].into_iter()), (1.0, 10_000.0));
    }
}
