//! Curves of any two quantities on linear or logarithmic axes: what traces are described with.

use super::axis::{self, Axis, number, round_end};
use super::marker::LINE_STYLES;
use super::scene::{Align, FAINT, INK, Point, SMALL, Scene, TEXT, WIDTH, wrap};
use super::text::text_width;
use super::{DrawError, Figure, MARGIN, PALETTE, foot};

/// A chart of curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// File name without its ending.
    pub name: &'static str,
    /// Its title.
    pub title: String,
    /// Where the data comes from.
    pub data: String,
    /// The horizontal axis.
    pub x: Scale,
    /// The vertical axis.
    pub y: Scale,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
    /// What stands below.
    pub notes: Vec<String>,
    /// How to read it, in a sentence or two.
    pub reading: &'static str,
    /// What it shows, in words with the main numbers, for those who cannot see it.
    pub alt: String,
}

/// What an axis shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Its title, with the unit.
    pub title: String,
    /// Whether equal ratios are equally long; values of 0 and less are left out then.
    pub logarithmic: bool,
    /// Ends that are not left to the data.
    pub ends: Option<(f64, f64)>,
}

/// Points that are joined by a line, or by steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What readers see; no legend if there is only one curve.
    pub label: String,
    /// The points, by ascending x.
    pub points: Vec<(f64, f64)>,
    /// Whether a value holds until the next point.
    pub steps: bool,
}

/// Draws a chart.
///
/// # Errors
/// A chart without any point that its axes can show.
pub fn lines(chart: &Chart) -> Result<Figure, DrawError> {
    let shown = |&(x, y): &(f64, f64)| {
        let fits = |scale: &Scale, value: f64| value.is_finite() && (!scale.logarithmic || value > 0.0);
        fits(&chart.x, x) && fits(&chart.y, y)
    };
    let all = || chart.curves.iter().flat_map(|curve| curve.points.iter().copied()).filter(shown);
    if all().next().is_none() {
        return Err(DrawError::Empty { figure: chart.name.to_string(), what: "point" });
    }
    let mut scene = Scene::default();
    let mut top = MARGIN + 8.0;
    for line in wrap(&chart.title, TEXT + 1.0, true, WIDTH - 2.0 * MARGIN) {
        scene.bold((MARGIN, top), &line, TEXT + 1.0, Align::Left, INK);
        top += 18.0;
    }
    for line in wrap(&chart.data, SMALL, false, WIDTH - 2.0 * MARGIN) {
        scene.text((MARGIN, top), &line, SMALL, Align::Left, FAINT);
        top += 15.0;
    }
    top += 6.0;
    let bottom = top + 230.0;
    let y = Axis {
        values: ends(&chart.y, all().map(|(_, y)| y)),
        places: (bottom, top),
        logarithmic: chart.y.logarithmic,
    };
    // Ticks of many digits need room.
    let widest =
        y.ticks(5).into_iter().map(|tick| text_width(&label(tick), SMALL, false)).fold(0.0, f64::max);
    let (left, right) = (MARGIN + 24.0 + widest + 8.0, WIDTH - MARGIN - 12.0);
    let x = Axis {
        values: ends(&chart.x, all().map(|(x, _)| x)),
        places: (left, right),
        logarithmic: chart.x.logarithmic,
    };
    axis::horizontal(&mut scene, &x, (top, bottom), 7, &chart.x.title, label);
    let middle = (MARGIN + 8.0, (top + bottom) / 2.0);
    axis::vertical(&mut scene, &y, (left, right), 5, (&chart.y.title, middle), label);

    for (index, curve) in chart.curves.iter().enumerate() {
        let mut points: Vec<Point> = Vec::new();
        for (at, value) in curve.points.iter().copied().filter(shown) {
            let point = (x.at(at), y.at(value));
            if let Some(last) = points.last().copied().filter(|_| curve.steps) {
                points.push((point.0, last.1));
            }
            points.push(point);
        }
        if let [only] = points[..] {
            super::marker::marker(&mut scene, only, index, 3.4, PALETTE[index % PALETTE.len()]);
        }
        let pattern = LINE_STYLES[index % LINE_STYLES.len()];
        scene.dashed(
            &points,
            pattern,
            if chart.curves.len() > 1 { 1.6 } else { 1.2 },
            PALETTE[index % PALETTE.len()],
        );
    }
    let mut below = bottom + 54.0;
    if chart.curves.len() > 1 {
        for (index, curve) in chart.curves.iter().enumerate() {
            let at = (MARGIN + 6.0, below);
            let pattern = LINE_STYLES[index % LINE_STYLES.len()];
            scene.dashed(&[at, (at.0 + 28.0, at.1)], pattern, 1.6, PALETTE[index % PALETTE.len()]);
            scene.text((at.0 + 34.0, at.1), &curve.label, SMALL, Align::Left, INK);
            below += 17.0;
        }
        below += 4.0;
    }
    foot(&mut scene, &chart.notes, below);
    Ok(Figure {
        name: chart.name.to_string(),
        title: chart.title.clone(),
        reading: chart.reading.to_string(),
        alt: chart.alt.clone(),
        scene,
    })
}

/// A tick's label: powers of ten that are far from 1 as such.
fn label(value: f64) -> String {
    let power = value.abs().log10().round();
    if value > 0.0 && (power >= 6.0 || power <= -4.0) && (value.log10() - power).abs() < 1e-9 {
        return format!("1e{power:.0}");
    }
    if value.abs() >= 1e7 { format!("{}e6", number(value / 1e6)) } else { number(value) }
}

/// Where an axis starts and ends.
fn ends(scale: &Scale, values: impl Iterator<Item = f64>) -> (f64, f64) {
    if let Some(ends) = scale.ends {
        return ends;
    }
    let (low, high) =
        values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    if scale.logarithmic {
        let (low, high) = (low.log10().floor(), high.log10().ceil());
        return (10_f64.powf(low), 10_f64.powf(high.max(low + 1.0)));
    }
    (-round_end(-low.min(0.0), 5) * f64::from(u8::from(low < 0.0)), round_end(high, 6))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>, logarithmic: bool) -> Chart {
        let scale = |title: &str| Scale { title: title.into(), logarithmic, ends: None };
        Chart {
            name: "test",
            title: "A title".into(),
            data: "data".into(),
            x: scale("x"),
            y: scale("y"),
            curves: vec![Curve { label: "one".into(), points, steps: false }],
            notes: vec!["a note".into()],
            reading: "",
            alt: "alt".into(),
        }
    }

    #[test]
    fn axes_hold_all_points() {
        let scale = |logarithmic| Scale { title: String::new(), logarithmic, ends: None };
        let check = |logarithmic, values: &[f64], expected: (f64, f64)| {
            let found = ends(&scale(logarithmic), values.iter().copied());
            assert!((found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9, "{found:?}");
        };
        check(false, &[3.0, 97.0], (0.0, 100.0));
        check(false, &[-0.13, 1.0], (-0.15, 1.0));
        check(true, &[3.0, 97.0], (1.0, 100.0));
        check(true, &[10.0], (10.0, 100.0));
    }

    #[test]
    fn every_text_is_on_the_page() {
        for logarithmic in [false, true] {
            for points in
                [vec![(1.0, 54_114.0), (2000.0, 1e9)], vec![(0.5, 1e-5), (3.0, 2.0)], vec![(7.0, 7.0)]]
            {
                let figure = lines(&chart(points, logarithmic)).expect("a figure");
                assert_eq!(figure.scene.texts_outside(), [""; 0]);
            }
        }
    }

    #[test]
    fn a_chart_without_points_is_an_error() {
        assert!(lines(&chart(vec![], false)).is_err());
        let message = lines(&chart(vec![(0.0, 1.0)], true)).expect_err("0 has no place").to_string();
        assert_eq!(message, "figure `test` needs at least one point, there is none");
    }
}
