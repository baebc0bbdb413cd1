//! Figure 1: the map of the nodes.

use super::axis::{self, Axis, number, round_step};
use super::marker::marker;
use super::scene::{Align, INK, Point, SMALL, Scene, WIDTH};
use super::{Caption, DrawError, Figure, MARGIN, MapNode, PALETTE, foot, head};

pub(super) fn figure(
    nodes: &[MapNode],
    type_names: &[String],
    caption: &Caption,
) -> Result<Figure, DrawError> {
    let name = "figure-1-map";
    let places = metres(nodes).ok_or(DrawError::Empty { figure: name.into(), what: "node" })?;
    let title = format!("The {} edge nodes and their types", nodes.len());
    let mut scene = Scene::default();
    // The scale bar has the strip above the map, where no node can be.
    let strip = head(&mut scene, &title, caption);
    let top = strip + 22.0;

    let (left, right) = (66.0, WIDTH - MARGIN - 8.0);
    let extent = |axis: fn(&Point) -> f64| places.iter().map(axis).fold(1.0, f64::max);
    let (east, north) = (extent(|p| p.0), extent(|p| p.1));
    // A margin of 3 % around the nodes, and the same metres a unit in both directions.
    let border = 0.03 * east.max(north);
    let metre = ((right - left) / (east + 2.0 * border)).min(1.2 * WIDTH / (north + 2.0 * border));
    let width = metre * (east + 2.0 * border);
    let bottom = top + metre * (north + 2.0 * border);
    let x = Axis { values: (-border, east + border), places: (left, left + width), logarithmic: false };
    let y = Axis { values: (-border, north + border), places: (bottom, top), logarithmic: false };
    axis::horizontal(&mut scene, &x, (top, bottom), 6, "metres east of the south-west corner", number);
    let middle = (MARGIN + 8.0, (top + bottom) / 2.0);
    axis::vertical(&mut scene, &y, (left, left + width), 6, ("metres north", middle), number);
    scene.outline((left, top), (left + width, bottom), 1.0, INK);

    let page: Vec<Point> = places.iter().map(|p| (x.at(p.0), y.at(p.1))).collect();
    for (node, at) in nodes.iter().zip(&page) {
        marker(&mut scene, *at, node.node_type, 4.0, color(node.node_type));
    }
    scale_bar(&mut scene, metre, (left + width, strip + 6.0));

    let mut used: Vec<usize> = nodes.iter().map(|node| node.node_type).collect();
    used.sort_unstable();
    used.dedup();
    let entries: Vec<(usize, String)> = used
        .into_iter()
        .map(|kind| {
            let count = nodes.iter().filter(|node| node.node_type == kind).count();
            let unnamed = || format!("type {}", kind + 1);
            (kind, format!("{} ({count})", type_names.get(kind).cloned().unwrap_or_else(unnamed)))
        })
        .collect();
    let below = bottom + 52.0;
    let rows = entries.len().div_ceil(2);
    for (i, (kind, text)) in entries.iter().enumerate() {
        let at = (left + 230.0 * (i / rows) as f64 - 40.0, below + 17.0 * (i % rows) as f64);
        marker(&mut scene, at, *kind, 4.5, color(*kind));
        scene.text((at.0 + 12.0, at.1), text, SMALL, Align::Left, INK);
    }
    let note = "In brackets: number of nodes of the type.".to_string();
    foot(&mut scene, &[note], below + 17.0 * rows as f64 + 6.0);

    let types = entries.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("; ");
    let alt = format!(
        "Map of {} edge nodes within {} by {} metres. Node types and their numbers: {types}.",
        nodes.len(),
        number(east.round()),
        number(north.round())
    );
    let reading = "Where the nodes stand; shape and colour tell the type, which is clock rate and memory.";
    Ok(Figure { name: name.into(), title, reading: reading.into(), alt, scene })
}

fn color(node_type: usize) -> super::Rgb {
    PALETTE[node_type % PALETTE.len()]
}

/// Metres east and north of the south-west corner, on the sphere flattened at the nodes' mean latitude; at the scale of
/// a city this is exact to about a part in a thousand. `None` without nodes.
fn metres(nodes: &[MapNode]) -> Option<Vec<Point>> {
    const METRES_PER_DEGREE: f64 = 6_371_000.0 * std::f64::consts::PI / 180.0;
    let south = nodes.iter().map(|node| node.latitude).min_by(f64::total_cmp)?;
    let west = nodes.iter().map(|node| node.longitude).min_by(f64::total_cmp)?;
    let latitude = nodes.iter().map(|node| node.latitude).sum::<f64>() / nodes.len() as f64;
    let narrowing = latitude.to_radians().cos();
    let place = |node: &MapNode| {
        ((node.longitude - west) * narrowing * METRES_PER_DEGREE, (node.latitude - south) * METRES_PER_DEGREE)
    };
    Some(nodes.iter().map(place).collect())
}

/// A round number of metres, ending at a point.
fn scale_bar(scene: &mut Scene, metre: f64, (to, y): Point) {
    const SHORTEST: f64 = 60.0;
    let length = round_step(SHORTEST / metre);
    let from = to - length * metre;
    scene.line(vec![(from, y), (to, y)], 2.0, INK);
    for end in [from, to] {
        scene.line(vec![(end, y - 4.0), (end, y + 4.0)], 1.2, INK);
    }
    scene.text((from - 8.0, y), &format!("{} m", number(length)), SMALL, Align::Right, INK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metres_are_right_at_melbourne() {
        let node = |latitude, longitude| MapNode { latitude, longitude, node_type: 0 };
        // 0.01 degrees are 1111.95 m to the north, and at 37.81 degrees south 878.5 m to the east.
        let places = metres(&[node(-37.815, 144.95), node(-37.805, 144.96)]).expect("two nodes");
        assert_eq!(places[0], (0.0, 0.0));
        assert!((places[1].0 - 878.5).abs() < 0.5 && (places[1].1 - 1111.95).abs() < 0.1, "{places:?}");
        assert_eq!(metres(&[]), None);
    }
}
