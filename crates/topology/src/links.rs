//! How fast data moves between two sites, eps_{s,v}: the paper leaves it open, and no published rate is specific to
//! the EUA sites.
//!
//! # The model
//! Data is stored and forwarded over a path whose number of hops grows with the distance: one line out of the
//! source, and one more for every `hop_m` metres. Each hop takes d / line, one after the other, so
//!
//! ```text
//! rate(s, v) = line / (1 + distance(s, v) / hop)
//! ```
//!
//! The number of hops is not rounded: where the switches stand is unknown, and steps would make ties between nodes that
//! are not equally far. Two sites at one position have the line rate; within a node the rate is infinite, since
//! local execution needs no transfer ([`Links`](scale_model::Links) sees to that).

use scale_model::{Invalid, MegabytesPerSecond, Position};
use serde::{Deserialize, Serialize};

/// Mean radius of the earth.
pub const EARTH_RADIUS_M: f64 = 6_371_000.0;

/// What a scenario says about the links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Rate of one line, in MB/s.
    pub line_mb_s: f64,
    /// Distance that adds one hop, in metres.
    pub hop_m: f64,
}

impl LinkSpec {
    /// Checks every field.
    ///
    /// # Errors
    /// The first that is not a finite number above zero.
    pub fn validate(&self) -> Result<(), Invalid> {
        for (field, value) in [("links.line_mb_s", self.line_mb_s), ("links.hop_m", self.hop_m)] {
            if !(value.is_finite() && value > 0.0) {
                let (field, value) = (field.to_owned(), value.to_string());
                return Err(Invalid { field, value, expected: "a number above 0" });
            }
        }
        Ok(())
    }

    /// The rate between two different nodes at these positions.
    ///
    /// ```
    /// use scale_model::Position;
    /// use scale_topology::LinkSpec;
    /// let links = LinkSpec { line_mb_s: 100.0, hop_m: 500.0 };
    /// let here = Position { latitude: 0.0, longitude: 0.0 };
    /// assert_eq!(links.rate(here, here).0, 100.0);
    /// // A degree of longitude on the equator is 6371 km * pi / 180 = 111,194.93 m: 100 / (1 + 222.39) MB/s.
    /// let there = Position { latitude: 0.0, longitude: 1.0 };
    /// assert!((links.rate(here, there).0 - 0.44765).abs() < 1e-5);
    /// ```
    pub fn rate(&self, source: Position, target: Position) -> MegabytesPerSecond {
        MegabytesPerSecond(self.line_mb_s / (1.0 + haversine(source, target) / self.hop_m))
    }
}

/// Distance along the surface of the earth, in metres.
///
/// ```
/// use scale_model::Position;
/// use scale_topology::haversine;
/// let pole = Position { latitude: 90.0, longitude: 0.0 };
/// let equator = Position { latitude: 0.0, longitude: 17.0 };
/// // A quarter of a great circle: 6,371,000 * pi / 2.
/// assert!((haversine(pole, equator) - 10_007_543.398).abs() < 1e-3);
/// ```
pub fn haversine(a: Position, b: Position) -> f64 {
    let half_latitude = ((b.latitude - a.latitude) / 2.0).to_radians();
    let half_longitude = ((b.longitude - a.longitude) / 2.0).to_radians();
    let cosines = a.latitude.to_radians().cos() * b.latitude.to_radians().cos();
    let h = half_latitude.sin().powi(2) + cosines * half_longitude.sin().powi(2);
    // Rounding can lift h above 1 for antipodes. Not `min`, which would make a distance of NaN.
    2.0 * EARTH_RADIUS_M * (if h > 1.0 { 1.0 } else { h }).sqrt().asin()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::PI;

    fn at(latitude: f64, longitude: f64) -> Position {
        Position { latitude, longitude }
    }

    /// Angles between the two places, in closed form.
    #[test]
    fn haversine_agrees_with_closed_forms() {
        let table = [
            (at(0.0, 0.0), at(0.0, 0.0), 0.0),
            (at(0.0, 0.0), at(0.0, 1.0), PI / 180.0),
            (at(10.0, 5.0), at(25.0, 5.0), PI / 12.0),
            (at(0.0, 0.0), at(0.0, 180.0), PI),
            (at(90.0, 0.0), at(-90.0, 77.0), PI),
            (at(0.0, 0.0), at(90.0, 123.0), PI / 2.0),
            // A meridian's width at 60 degrees: cos = sin^2 60 + cos^2 60 cos 90 = 3/4.
            (at(60.0, 0.0), at(60.0, 90.0), 0.75_f64.acos()),
            // Across the pole and across the 180th meridian.
            (at(80.0, 0.0), at(80.0, 180.0), PI / 9.0),
            (at(0.0, 179.0), at(0.0, -179.0), PI / 90.0),
        ];
        for (a, b, angle) in table {
            let difference = haversine(a, b) - EARTH_RADIUS_M * angle;
            // Near antipodes asin is flat: half of the digits are lost, and 0.2 m are left.
            assert!(difference.abs() < 0.2, "{a:?} {b:?}: {difference} m");
        }
    }

    #[test]
    fn a_spec_that_makes_no_sense_is_refused() {
        for (line_mb_s, hop_m, message) in [
            (0.0, 1.0, "links.line_mb_s: 0: expected a number above 0"),
            (f64::NAN, 1.0, "links.line_mb_s: NaN: expected a number above 0"),
            (1.0, -500.0, "links.hop_m: -500: expected a number above 0"),
            (1.0, f64::INFINITY, "links.hop_m: inf: expected a number above 0"),
        ] {
            let error = LinkSpec { line_mb_s, hop_m }.validate().expect_err(message);
            assert_eq!(error.to_string(), message);
        }
        let typo = toml::from_str::<LinkSpec>("line_mb_s = 100.0\nhop = 500.0").expect_err("hop");
        assert!(typo.to_string().contains("unknown field `hop`, expected `line_mb_s` or `hop_m`"), "{typo}");
    }

    fn anywhere() -> impl Strategy<Value = Position> {
        (-90.0..=90.0, -180.0..=180.0).prop_map(|(latitude, longitude)| at(latitude, longitude))
    }

    proptest! {
        #[test]
        fn distance_is_a_metric(a in anywhere(), b in anywhere(), c in anywhere()) {
            prop_assert_eq!(haversine(a, b).to_bits(), haversine(b, a).to_bits());
            prop_assert_eq!(haversine(a, a), 0.0);
            prop_assert!(haversine(a, c) <= haversine(a, b) + haversine(b, c) + 0.2);
        }

        #[test]
        fn the_rate_is_symmetric_and_falls_with_distance(
            a in anywhere(), b in anywhere(), c in anywhere(), line_mb_s in 0.1..1e4, hop_m in 1.0..1e6,
        ) {
            let links = LinkSpec { line_mb_s, hop_m };
            prop_assert_eq!(links.rate(a, b), links.rate(b, a));
            prop_assert_eq!(links.rate(a, a).0, line_mb_s);
            if haversine(a, b) <= haversine(a, c) {
                prop_assert!(links.rate(a, b) >= links.rate(a, c));
            }
        }
    }
}
