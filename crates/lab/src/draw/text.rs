//! Text in pixels: DejaVu Sans from the crate `dejavu`, so a machine without fonts draws the same bytes.
//!
//! plotters can set text as well, but drops each glyph's left bearing, which makes words uneven.

use super::DrawError;
use super::scene::{Align, Point};
use ab_glyph::{Font as _, FontRef, Glyph, PxScale, ScaleFont as _, point};
use std::sync::OnceLock;

/// The family in the SVG: what was measured with, then what looks most like it.
pub(super) const FAMILY: &str = "DejaVu Sans, Verdana, Noto Sans, Helvetica, Arial, sans-serif";

/// Height of an x in em, which SVG calls `1ex`: text is centred on half of it.
const X_HEIGHT: f64 = 0.547;

/// A text and how it is set: size in pixels an em, and the place that its middle, start or end has.
pub(super) struct Setting<'a> {
    pub(super) text: &'a str,
    pub(super) size: f64,
    pub(super) bold: bool,
    pub(super) align: Align,
    pub(super) upward: bool,
    pub(super) at: Point,
}

/// A pixel, and the share of it that is covered.
pub(super) type Inked = ((i32, i32), f64);

impl Setting<'_> {
    /// Every pixel that the text touches, with how much of it is covered.
    pub(super) fn ink(&self) -> Result<Vec<Inked>, DrawError> {
        let unreadable = || DrawError::Backend { reason: "the embedded font cannot be read".to_string() };
        let font = font(self.bold).ok_or_else(unreadable)?;
        let (glyphs, width) = glyphs(font, self.text, self.size);
        let start = match self.align {
            Align::Left => 0.0,
            Align::Centre => -width / 2.0,
            Align::Right => -width,
        };
        let baseline = X_HEIGHT / 2.0 * self.size;
        let (x, y) = (self.at.0.round() as i32, self.at.1.round() as i32);
        let mut pixels = Vec::new();
        for mut glyph in glyphs {
            glyph.position.x += start as f32;
            glyph.position.y += baseline as f32;
            let Some(outline) = font.outline_glyph(glyph) else {
                continue;
            };
            let corner = outline.px_bounds().min;
            outline.draw(|dx, dy, coverage| {
                let (dx, dy) = (corner.x as i32 + dx as i32, corner.y as i32 + dy as i32);
                let pixel = if self.upward { (x + dy, y - dx) } else { (x + dx, y + dy) };
                pixels.push((pixel, f64::from(coverage).min(1.0)));
            });
        }
        Ok(pixels)
    }
}

/// How wide a text is, in the unit of `size`.
pub(super) fn text_width(text: &str, size: f64, bold: bool) -> f64 {
    // Without its font (which is part of the program) only the layout would suffer.
    font(bold).map_or(text.chars().count() as f64 * size * 0.6, |font| glyphs(font, text, size).1)
}

/// The glyphs one behind the other from 0 on, and where the next would stand.
fn glyphs(font: &FontRef<'static>, text: &str, size: f64) -> (Vec<Glyph>, f64) {
    let em = font.units_per_em().unwrap_or(2048.0);
    let scaled = font.as_scaled(PxScale::from(size as f32 * font.height_unscaled() / em));
    let (mut glyphs, mut x, mut before) = (Vec::new(), 0.0, None);
    for c in text.chars() {
        let id = scaled.glyph_id(c);
        x += before.map_or(0.0, |before| scaled.kern(before, id));
        glyphs.push(id.with_scale_and_position(scaled.scale(), point(x, 0.0)));
        x += scaled.h_advance(id);
        before = Some(id);
    }
    (glyphs, f64::from(x))
}

fn font(bold: bool) -> Option<&'static FontRef<'static>> {
    static REGULAR: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
    static BOLD: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
    let parsed = if bold {
        BOLD.get_or_init(|| FontRef::try_from_slice(dejavu::sans::bold()).ok())
    } else {
        REGULAR.get_or_init(|| FontRef::try_from_slice(dejavu::sans::regular()).ok())
    };
    parsed.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        // DejaVu Sans: `0` is 1303 of 2048 units wide, `i` 569.
        assert!((text_width("00", 20.48, false) - 26.06).abs() < 0.01, "{}", text_width("00", 20.48, false));
        assert!((text_width("i", 20.48, false) - 5.69).abs() < 0.01);
        assert!(text_width("wide", 10.0, true) > text_width("wide", 10.0, false));
        assert_eq!(text_width("", 10.0, false), 0.0);
    }

    #[test]
    fn text_stands_where_it_is_put() {
        let setting = |align, upward| Setting {
            text: "xxxx",
            size: 20.0,
            bold: false,
            align,
            upward,
            at: (100.0, 50.0),
        };
        let range = |align, upward| {
            let ink = setting(align, upward).ink().expect("a font");
            let xs = || ink.iter().filter(|(_, c)| *c > 0.0).map(|((x, _), _)| *x);
            let ys = || ink.iter().filter(|(_, c)| *c > 0.0).map(|((_, y), _)| *y);
            (xs().min(), xs().max(), ys().min(), ys().max())
        };
        let width = text_width("xxxx", 20.0, false).round() as i32;
        for (align, upward) in
            [(Align::Left, false), (Align::Centre, false), (Align::Right, false), (Align::Centre, true)]
        {
            let (Some(left), Some(right), Some(top), Some(bottom)) = range(align, upward) else {
                panic!("no ink")
            };
            let (start, end, middle) =
                if upward { (top, bottom, left + right) } else { (left, right, top + bottom) };
            let (place, across) = if upward { (50, 100) } else { (100, 50) };
            let (want_start, want_end) = match align {
                Align::Left => (place, place + width),
                Align::Centre => (place - width / 2, place + width / 2),
                Align::Right => (place - width, place),
            };
            assert!(
                (start - want_start).abs() <= 1 && (end - want_end).abs() <= 1,
                "{align:?}: {start} to {end}"
            );
            assert!((middle - 2 * across).abs() <= 2, "{align:?}: {top} to {bottom}");
        }
    }
}
