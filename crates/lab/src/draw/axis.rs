//! Axes: from values to places on the page, and where the ticks go.

use super::scene::{Align, GRID, INK, Point, SMALL, Scene, TEXT};

/// One axis of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    /// The values at its two ends.
    pub(super) values: (f64, f64),
    /// The places of its two ends on the page.
    pub(super) places: (f64, f64),
    /// Whether equal ratios, not differences, are equally long.
    pub(super) logarithmic: bool,
}

impl Axis {
    /// The place of a value; what lies outside is put at the nearer end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let (a, b) = self.places;
        self.beyond(value).clamp(a.min(b), a.max(b))
    }

    /// The place of a value, wherever it is.
    pub(super) fn beyond(&self, value: f64) -> f64 {
        let scale = |v: f64| {
            if self.logarithmic { v.max(f64::MIN_POSITIVE).log10() } else { v }
        };
        let (low, high) = (scale(self.values.0), scale(self.values.1));
        let share = (scale(value) - low) / (high - low);
        self.places.0 + share * (self.places.1 - self.places.0)
    }

    /// The values that get a tick: about `wanted` round numbers, or at most so many powers of ten; where the axis holds fewer
    /// than three of these, their doubles and fivefold too.
    pub(super) fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.logarithmic {
            let (low, high) = self.values;
            let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
            let inside = |value: &f64| *value >= low * (1.0 - 1e-9) && *value <= high * (1.0 + 1e-9);
            let times = |digits: &'static [f64]| -> Vec<f64> {
                let all = powers.clone().flat_map(|power| digits.iter().map(move |d| d * 10f64.powi(power)));
                all.filter(inside).collect()
            };
            let ticks = Some(times(&[1.0]))
                .filter(|ticks| ticks.len() > 2)
                .unwrap_or_else(|| times(&[1.0, 2.0, 5.0]));
            let step = ticks.len().div_ceil(wanted.max(1)).max(1);
            return ticks.into_iter().step_by(step).collect();
        }
        let step = round_step((self.values.1 - self.values.0) / wanted as f64);
        let (first, last) =
            ((self.values.0 / step).ceil() as i64, (self.values.1 / step + 1e-9).floor() as i64);
        (first..=last).map(|i| i as f64 * step).collect()
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `least`.
pub(super) fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(least)
}

/// The least end of an axis from 0 that has round ticks and holds `value`.
pub(super) fn round_end(value: f64, ticks: usize) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let step = round_step(value / ticks as f64);
    (value / step - 1e-9).ceil() * step
}

/// A number as a reader writes it: no trailing zeros, and spaces between thousands.
pub(super) fn number(value: f64) -> String {
    let text = if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    let digits = text.trim_start_matches('-').split('.').next().unwrap_or("").len();
    if digits < 5 || text.contains('.') {
        return text.to_string();
    }
    let mut grouped = String::new();
    for (i, c) in text.chars().enumerate() {
        if c.is_ascii_digit() && i > 0 && (text.len() - i) % 3 == 0 {
            // A narrow space that does not break.
            grouped.push('\u{202f}');
        }
        grouped.push(c);
    }
    grouped
}

/// The frame of a chart with a horizontal axis below: grid lines, ticks and the axis' title.
pub(super) fn horizontal(
    scene: &mut Scene,
    axis: &Axis,
    (top, bottom): (f64, f64),
    wanted: usize,
    title: &str,
    label: impl Fn(f64) -> String,
) {
    for value in axis.ticks(wanted) {
        let x = axis.at(value);
        scene.line(vec![(x, top), (x, bottom)], 0.6, GRID);
        scene.line(vec![(x, bottom), (x, bottom + 4.0)], 1.0, INK);
        scene.text((x, bottom + 12.0), &label(value), SMALL, Align::Centre, INK);
    }
    scene.line(vec![(axis.places.0, bottom), (axis.places.1, bottom)], 1.0, INK);
    scene.text(((axis.places.0 + axis.places.1) / 2.0, bottom + 30.0), title, TEXT, Align::Centre, INK);
}

/// The same for a vertical axis on the left.
pub(super) fn vertical(
    scene: &mut Scene,
    axis: &Axis,
    (left, right): (f64, f64),
    wanted: usize,
    title: (&str, Point),
    label: impl Fn(f64) -> String,
) {
    for value in axis.ticks(wanted) {
        let y = axis.at(value);
        scene.line(vec![(left, y), (right, y)], 0.6, GRID);
        scene.line(vec![(left - 4.0, y), (left, y)], 1.0, INK);
        scene.text((left - 7.0, y), &label(value), SMALL, Align::Right, INK);
    }
    scene.line(vec![(left, axis.places.0), (left, axis.places.1)], 1.0, INK);
    scene.upward(title.1, title.0, TEXT, INK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_places() {
        let linear = Axis { values: (0.0, 200.0), places: (50.0, 150.0), logarithmic: false };
        let powers = Axis { values: (0.1, 1000.0), places: (0.0, 400.0), logarithmic: true };
        let check =
            |axis: &Axis, value: f64, place: f64| assert!((axis.at(value) - place).abs() < 1e-9, "{value}");
        check(&linear, 0.0, 50.0);
        check(&linear, 50.0, 75.0);
        check(&linear, 900.0, 150.0);
        check(&powers, 1.0, 100.0);
        check(&powers, 0.0, 0.0);
        check(&powers, 100.0, 300.0);
        assert!((linear.beyond(400.0) - 250.0).abs() < 1e-9);
        assert_eq!(linear.ticks(5), [0.0, 50.0, 100.0, 150.0, 200.0]);
        assert_eq!((powers.ticks(5).len(), powers.ticks(4).len()), (5, 3));
        // None outside: its label would stand at the end of the axis.
        let nodes = Axis { values: (20.0, 1464.0), ..powers };
        assert_eq!(nodes.ticks(8), [20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
        let decisions = Axis { values: (2048.0, 1.2e8), ..nodes };
        assert_eq!(decisions.ticks(8), [1e4, 1e5, 1e6, 1e7, 1e8]);
    }

    #[test]
    fn ends_and_numbers_are_round() {
        let ends = [(0.0, 1.0), (3.2, 4.0), (97.0, 100.0), (101.0, 120.0), (1234.0, 1500.0), (0.013, 0.015)];
        for (value, end) in ends {
            assert!((round_end(value, 6) - end).abs() < 1e-9, "{value}: {}, not {end}", round_end(value, 6));
        }
        let numbers =
            [(0.0, "0"), (0.25, "0.25"), (171.23, "171"), (9.0, "9"), (1200.0, "1200"), (-5.5, "-5.5")];
        for (value, text) in numbers {
            assert_eq!(number(value), text);
        }
        assert_eq!(number(1234567.0), "1\u{202f}234\u{202f}567");
    }
}
