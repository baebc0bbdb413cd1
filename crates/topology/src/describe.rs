//! A topology in numbers, and its positions in metres for a map.

use crate::links::{EARTH_RADIUS_M, haversine};
use scale_model::{Position, Topology};
use std::fmt;

/// A topology in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Nodes.
    pub nodes: usize,
    /// South-west corner of the bounding box.
    pub south_west: Position,
    /// North-east corner of the bounding box.
    pub north_east: Position,
    /// Distances between nodes; `None` for a single node.
    pub distances: Option<Distances>,
    /// All cores together.
    pub cores: f64,
    /// All memory together, in MB.
    pub memory_mb: f64,
}

/// Distances between sites, in metres. Quantiles are R-7, as everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distances {
    /// Mean over all pairs.
    pub mean_m: f64,
    /// Median over all pairs.
    pub median_m: f64,
    /// The two that are farthest apart.
    pub max_m: f64,
    /// Mean over all sites of the distance to the nearest other site.
    pub nearest_mean_m: f64,
    /// Median over all sites of the distance to the nearest other site.
    pub nearest_median_m: f64,
}

impl Statistics {
    /// Of a topology; `None` if it has no node.
    pub fn of(topology: &Topology) -> Option<Statistics> {
        let positions: Vec<Position> = topology.nodes.iter().map(|node| node.position).collect();
        let (south_west, north_east) = bounding_box(&positions)?;
        Some(Statistics {
            nodes: positions.len(),
            south_west,
            north_east,
            distances: Distances::of(&positions),
            cores: topology.total_cores(),
            memory_mb: topology.total_memory_mb(),
        })
    }
}

impl Distances {
    /// Of these positions; `None` if there are fewer than two.
    ///
    /// ```
    /// use scale_model::Position;
    /// use scale_topology::Distances;
    /// // On a line, in degrees of latitude of 111,194.93 m: pairs 1, 2 and 3 apart, nearest neighbours 1, 1 and 2.
    /// let line = [0.0, 1.0, 3.0].map(|latitude| Position { latitude, longitude: 0.0 });
    /// let distances = Distances::of(&line).expect("three positions");
    /// let degrees = |metres: f64| (metres / 111_194.93 * 1e4).round() / 1e4;
    /// assert_eq!(degrees(distances.mean_m), 2.0);
    /// assert_eq!(degrees(distances.median_m), 2.0);
    /// assert_eq!(degrees(distances.max_m), 3.0);
    /// assert_eq!(degrees(distances.nearest_mean_m), 1.3333);
    /// assert_eq!(degrees(distances.nearest_median_m), 1.0);
    /// assert_eq!(Distances::of(&line[..1]), None);
    /// ```
    pub fn of(positions: &[Position]) -> Option<Distances> {
        if positions.len() < 2 {
            return None;
        }
        let mut pairs = Vec::with_capacity(positions.len() * (positions.len() - 1) / 2);
        let mut nearest = vec![f64::INFINITY; positions.len()];
        for (i, &a) in positions.iter().enumerate() {
            for (j, &b) in positions.iter().enumerate().take(i) {
                let distance = haversine(a, b);
                pairs.push(distance);
                nearest[i] = nearest[i].min(distance);
                nearest[j] = nearest[j].min(distance);
            }
        }
        Some(Distances {
            mean_m: mean(&pairs),
            max_m: pairs.iter().copied().fold(0.0, f64::max),
            median_m: median(&mut pairs),
            nearest_mean_m: mean(&nearest),
            nearest_median_m: median(&mut nearest),
        })
    }
}

/// South-west and north-east corner; `None` of nothing. A box across the 180th meridian comes out too wide.
pub fn bounding_box(positions: &[Position]) -> Option<(Position, Position)> {
    let first = *positions.first()?;
    Some(positions.iter().fold((first, first), |(low, high), p| {
        (
            Position { latitude: low.latitude.min(p.latitude), longitude: low.longitude.min(p.longitude) },
            Position { latitude: high.latitude.max(p.latitude), longitude: high.longitude.max(p.longitude) },
        )
    }))
}

/// Metres east and north of the south-west corner of the bounding box, for a map: an equirectangular projection, true
/// to scale at the middle latitude. Over the Melbourne CBD it is off by less than 0.1 m from the haversine, over the
/// metropolitan area by less than 1 %.
///
/// ```
/// use scale_model::Position;
/// use scale_topology::to_metres;
/// let at = |latitude, longitude| Position { latitude, longitude };
/// // A degree of latitude is 111,194.93 m, and so is a degree of longitude at the equator (the middle latitude).
/// let metres = to_metres(&[at(-1.0, 10.0), at(1.0, 10.5)]);
/// assert_eq!(metres[0], (0.0, 0.0));
/// assert!((metres[1].0 - 55_597.46).abs() < 0.01);
/// assert!((metres[1].1 - 222_389.85).abs() < 0.01);
/// ```
pub fn to_metres(positions: &[Position]) -> Vec<(f64, f64)> {
    let Some((south_west, north_east)) = bounding_box(positions) else {
        return Vec::new();
    };
    let scale = ((south_west.latitude + north_east.latitude) / 2.0).to_radians().cos();
    let metres = |degrees: f64| degrees.to_radians() * EARTH_RADIUS_M;
    let project = |p: &Position| {
        (metres(p.longitude - south_west.longitude) * scale, metres(p.latitude - south_west.latitude))
    };
    positions.iter().map(project).collect()
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = (self.south_west, self.north_east);
        writeln!(f, "nodes                 {}", self.nodes)?;
        writeln!(f, "latitude              {} to {}", low.latitude, high.latitude)?;
        writeln!(f, "longitude             {} to {}", low.longitude, high.longitude)?;
        match &self.distances {
            Some(d) => {
                writeln!(
                    f,
                    "site to site          mean {:.1} m, median {:.1} m, max {:.1} m",
                    d.mean_m, d.median_m, d.max_m
                )?;
                writeln!(
                    f,
                    "nearest neighbour     mean {:.1} m, median {:.1} m",
                    d.nearest_mean_m, d.nearest_median_m
                )?;
            }
            None => writeln!(f, "site to site          a single node has no distances")?,
        }
        writeln!(f, "cores                 {:.3}", self.cores)?;
        write!(f, "memory                {} MB", self.memory_mb)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Reorders the values, of which there is at least one.
fn median(values: &mut [f64]) -> f64 {
    let half = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, &mut upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if odd { upper } else { (below.iter().copied().fold(f64::MIN, f64::max) + upper) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{self, Area};
    use crate::{HardwareSpec, LinkSpec, build};
    use scale_model::Seed;

    /// How far the map is off, over all pairs: the bounds that the docs of `to_metres` state.
    #[test]
    fn the_projection_is_true_to_scale() {
        let table = [
            (Area::MELBOURNE_CBD, 125, 0.1, f64::INFINITY),
            (Area::MELBOURNE_METRO, 300, f64::INFINITY, 0.01),
        ];
        for (area, nodes, metres, share) in table {
            let positions: Vec<Position> =
                rule::sites(&area, nodes, Seed(1)).iter().map(|site| site.position).collect();
            let map = to_metres(&positions);
            assert!(map.iter().all(|&(x, y)| x >= 0.0 && y >= 0.0));
            for (i, (&a, &(ax, ay))) in positions.iter().zip(&map).enumerate() {
                for (&b, &(bx, by)) in positions.iter().zip(&map).take(i) {
                    let distance = haversine(a, b);
                    let error = ((ax - bx).hypot(ay - by) - distance).abs();
                    assert!(error < metres && error <= share * distance + 1e-6, "{error} m of {distance} m");
                }
            }
        }
        assert_eq!(to_metres(&[]), []);
    }

    #[test]
    fn a_single_node_has_no_distances() {
        let sites = rule::sites(&Area::MELBOURNE_CBD, 1, Seed(1));
        let links = LinkSpec { line_mb_s: 100.0, hop_m: 500.0 };
        let topology =
            build(&sites, &HardwareSpec { cores_per_ghz: 1.0 }, &links, Seed(1)).expect("a topology");
        let statistics = Statistics::of(&topology).expect("a node");
        assert_eq!(statistics.distances, None);
        assert!(!statistics.to_string().contains("NaN"), "{statistics}");
    }
}
