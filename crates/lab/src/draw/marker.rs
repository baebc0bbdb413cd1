//! Markers: shapes that tell series apart without colour.

use super::scene::{INK, Point, Rgb, Scene};
use std::f64::consts::TAU;

/// Draws the marker of the series or type with this index, of the same visual weight as a circle of `radius`.
/// There are twelve shapes; from the thirteenth on they come hollow.
pub(super) fn marker(scene: &mut Scene, at: Point, index: usize, radius: f64, color: Rgb) {
    let outline = shape(at, index % SHAPES, radius);
    let closed = outline.iter().chain(outline.first()).copied().collect();
    if (index / SHAPES).is_multiple_of(2) {
        scene.area(outline, color);
        scene.line(closed, 0.6, INK);
    } else {
        scene.area(outline, (255, 255, 255));
        scene.line(closed, 1.6, color);
    }
}

const SHAPES: usize = 12;

fn shape(at: Point, index: usize, radius: f64) -> Vec<Point> {
    match index {
        0 => polygon(at, 24, radius, 0.0),
        1 => polygon(at, 4, radius * 1.25, 0.125),
        2 => polygon(at, 3, radius * 1.4, -0.25),
        3 => polygon(at, 4, radius * 1.3, 0.0),
        4 => polygon(at, 3, radius * 1.4, 0.25),
        5 => star(at, 5, radius * 1.5, 0.42),
        6 => cross(at, radius * 1.25, 0.0),
        7 => polygon(at, 6, radius * 1.15, 0.0),
        8 => cross(at, radius * 1.25, 0.125),
        9 => polygon(at, 3, radius * 1.4, 0.0),
        10 => polygon(at, 3, radius * 1.4, 0.5),
        _ => star(at, 4, radius * 1.6, 0.38),
    }
}

/// `turn` is in whole turns, clockwise; at 0 a corner points to the right.
fn polygon(at: Point, corners: usize, radius: f64, turn: f64) -> Vec<Point> {
    (0..corners).map(|i| on_circle(at, radius, turn + i as f64 / corners as f64)).collect()
}

fn star(at: Point, rays: usize, radius: f64, inner: f64) -> Vec<Point> {
    let corner = |i: usize| {
        let radius = if i.is_multiple_of(2) { radius } else { radius * inner };
        on_circle(at, radius, i as f64 / (2 * rays) as f64 - 0.25)
    };
    (0..2 * rays).map(corner).collect()
}

fn cross(at: Point, radius: f64, turn: f64) -> Vec<Point> {
    let (w, r) = (radius * 0.36, radius);
    let corners = [
        (r, -w),
        (r, w),
        (w, w),
        (w, r),
        (-w, r),
        (-w, w),
        (-r, w),
        (-r, -w),
        (-w, -w),
        (-w, -r),
        (w, -r),
        (w, -w),
    ];
    let (sin, cos) = (turn * TAU).sin_cos();
    corners.map(|(x, y)| (at.0 + x * cos - y * sin, at.1 + x * sin + y * cos)).to_vec()
}

fn on_circle(at: Point, radius: f64, turn: f64) -> Point {
    let (sin, cos) = (turn * TAU).sin_cos();
    (at.0 + radius * cos, at.1 + radius * sin)
}

/// Patterns of ink and gap, one a series in turn.
pub(super) const LINE_STYLES: [&[f64]; 4] = [&[], &[7.0, 3.0], &[2.0, 2.0], &[8.0, 2.5, 2.0, 2.5]];
