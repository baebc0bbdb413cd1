//! The legend of charts with lines: a piece of each line with its marker, and a text.

use super::marker::{LINE_STYLES, marker};
use super::scene::{Align, INK, Point, SMALL, Scene};
use super::text::text_width;
use super::{MARGIN, Style};

/// Lists the lines from `top` on, in two columns where they fit, and returns where the next row would be.
pub(super) fn legend(scene: &mut Scene, entries: &[(&Style, String)], top: f64) -> f64 {
    let widest = entries.iter().map(|(_, text)| text_width(text, SMALL, false)).fold(0.0, f64::max);
    let columns = if entries.len() > 1 && widest < 192.0 { 2 } else { 1 };
    let rows = entries.len().div_ceil(columns);
    for (i, (style, text)) in entries.iter().enumerate() {
        let at = (MARGIN + 6.0 + 230.0 * (i / rows) as f64, top + 17.0 * (i % rows) as f64);
        sample(scene, style, at);
        scene.text((at.0 + 34.0, at.1), text, SMALL, Align::Left, INK);
    }
    top + 17.0 * rows as f64
}

fn sample(scene: &mut Scene, style: &Style, at: Point) {
    let dashes = LINE_STYLES[style.mark % LINE_STYLES.len()];
    scene.dashed(&[at, (at.0 + 28.0, at.1)], dashes, 1.6, style.color);
    marker(scene, (at.0 + 14.0, at.1), style.mark, 3.8, style.color);
}
