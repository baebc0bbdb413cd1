//! A figure before it has pixels: shapes on a page whose unit is 1/480 of a column's width.
//!
//! Each figure is a pure function from data to a [`Scene`]; SVG and PNG are two renderings of the same shapes, so they
//! cannot tell different stories.

use super::DrawError;
use super::text::{FAMILY, Setting, text_width};
use plotters::backend::{BitMapBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea as _};
use plotters::element::{PathElement, Polygon, Rectangle, Text};
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color as _, FontDesc, FontFamily, FontStyle, FontTransform, RGBColor, ShapeStyle, TextStyle, WHITE,
};
use std::fs;
use std::path::Path;

/// A point; x to the right, y down.
pub(super) type Point = (f64, f64);

/// Red, green, blue.
pub type Rgb = (u8, u8, u8);

/// Width of every figure. In a column of an A4 page (8.5 cm) the unit is half a typographic point.
pub(super) const WIDTH: f64 = 480.0;
/// Size of titles and labels: 7 pt in a column.
pub(super) const TEXT: f64 = 14.0;
/// Size of ticks and notes: 6 pt in a column.
pub(super) const SMALL: f64 = 12.0;
/// Text and axes.
pub(super) const INK: Rgb = (0x1a, 0x1a, 0x1a);
/// Notes.
pub(super) const FAINT: Rgb = (0x59, 0x59, 0x59);
/// Grid lines.
pub(super) const GRID: Rgb = (0xdd, 0xdd, 0xdd);

/// Where the given point lies in the text, horizontally.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Align {
    Left,
    Centre,
    Right,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Line { points: Vec<Point>, width: f64, color: Rgb },
    Area { points: Vec<Point>, color: Rgb, opacity: f64 },
    Rectangle { corners: [Point; 2], color: Rgb },
    Text { at: Point, text: String, size: f64, bold: bool, align: Align, upward: bool, color: Rgb },
}

/// Shapes in the order in which they cover each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scene {
    /// Height of the page; its width is [`WIDTH`].
    pub(super) height: f64,
    shapes: Vec<Shape>,
}

impl Scene {
    /// A line through points. Points that are far too many for the page are welcome.
    pub(super) fn line(&mut self, points: Vec<Point>, width: f64, color: Rgb) {
        if points.len() > 1 {
            self.shapes.push(Shape::Line { points, width, color });
        }
    }

    /// A line with gaps: lengths of ink and gap in turn; an empty pattern is a whole line.
    pub(super) fn dashed(&mut self, points: &[Point], pattern: &[f64], width: f64, color: Rgb) {
        if pattern.is_empty() {
            self.line(points.to_vec(), width, color);
        } else {
            dashes(points, pattern).into_iter().for_each(|dash| self.line(dash, width, color));
        }
    }

    /// A filled polygon.
    pub(super) fn area(&mut self, points: Vec<Point>, color: Rgb) {
        self.shapes.push(Shape::Area { points, color, opacity: 1.0 });
    }

    /// A filled polygon that what is below shines through.
    pub(super) fn veil(&mut self, points: Vec<Point>, color: Rgb, opacity: f64) {
        self.shapes.push(Shape::Area { points, color, opacity });
    }

    /// A filled rectangle between two opposite corners.
    pub(super) fn rectangle(&mut self, a: Point, b: Point, color: Rgb) {
        let corners = [(a.0.min(b.0), a.1.min(b.1)), (a.0.max(b.0), a.1.max(b.1))];
        self.shapes.push(Shape::Rectangle { corners, color });
    }

    /// The outline of a rectangle.
    pub(super) fn outline(&mut self, (x0, y0): Point, (x1, y1): Point, width: f64, color: Rgb) {
        self.line(vec![(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], width, color);
    }

    /// A line of text, centred vertically at a point.
    pub(super) fn text(&mut self, at: Point, text: &str, size: f64, align: Align, color: Rgb) {
        let text = text.to_string();
        self.shapes.push(Shape::Text { at, text, size, bold: false, align, upward: false, color });
    }

    /// As [`Scene::text`], in bold.
    pub(super) fn bold(&mut self, at: Point, text: &str, size: f64, align: Align, color: Rgb) {
        let text = text.to_string();
        self.shapes.push(Shape::Text { at, text, size, bold: true, align, upward: false, color });
    }

    /// A line of text that reads upward, centred at a point.
    pub(super) fn upward(&mut self, at: Point, text: &str, size: f64, color: Rgb) {
        let (text, align) = (text.to_string(), Align::Centre);
        self.shapes.push(Shape::Text { at, text, size, bold: false, align, upward: true, color });
    }

    /// Texts that do not fit on the page; there should be none.
    #[cfg(test)]
    pub(super) fn texts_outside(&self) -> Vec<&str> {
        let outside = |shape: &Shape| -> bool {
            let Shape::Text { at, text, size, bold, align, upward, .. } = shape else {
                return false;
            };
            let width = text_width(text, *size, *bold);
            let before = match align {
                Align::Left => 0.0,
                Align::Centre => width / 2.0,
                Align::Right => width,
            };
            let (start, room) = if *upward { (at.1 - before, self.height) } else { (at.0 - before, WIDTH) };
            start < 0.0 || start + width > room || !(0.0..=self.height).contains(&at.1)
        };
        let mut texts = Vec::new();
        for shape in self.shapes.iter().filter(|shape| outside(shape)) {
            if let Shape::Text { text, .. } = shape {
                texts.push(text.as_str());
            }
        }
        texts
    }

    /// The scene as an SVG document with real text, a title and a description for those who cannot see it.
    pub(super) fn svg(&self, title: &str, description: &str) -> Result<String, DrawError> {
        // plotters knows whole pixels only: draw ten times as large, and let the view box scale it back.
        const SCALE: f64 = 10.0;
        let mut text = String::new();
        let size = pixels(self, SCALE);
        self.render(&SVGBackend::with_string(&mut text, size).into_drawing_area(), SCALE, text_in_svg)?;
        let (width, height) = (WIDTH, self.height.ceil());
        let old = format!(r#"<svg width="{}" height="{}" "#, size.0, size.1);
        let new = format!(r#"<svg width="{width}" height="{height}" role="img" "#);
        let head = format!("<title>{}</title>\n<desc>{}</desc>\n", escape(title), escape(description));
        let text = text.replacen(&old, &new, 1);
        let after_tag = text.find(">\n").map_or(0, |at| at + 2);
        Ok(format!("{}{head}{}", &text[..after_tag], &text[after_tag..]))
    }

    /// Writes the scene as a PNG of two pixels a unit.
    pub(super) fn write_png(&self, file: &Path) -> Result<(), DrawError> {
        const SCALE: f64 = 2.0;
        // Written beside its place and renamed; the ending stays, because it tells plotters the format.
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let half = file.with_file_name(format!(".{}.half.{name}", std::process::id()));
        self.render(
            &BitMapBackend::new(&half, pixels(self, SCALE)).into_drawing_area(),
            SCALE,
            text_in_pixels,
        )?;
        fs::rename(&half, file).map_err(|source| DrawError::Io { file: file.to_path_buf(), source })
    }

    fn render<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        scale: f64,
        set_text: SetText<B>,
    ) -> Result<(), DrawError> {
        let at = |(x, y): Point| ((x * scale).round() as i32, (y * scale).round() as i32);
        let all = |points: &[Point]| points.iter().map(|p| at(*p)).collect::<Vec<_>>();
        area.fill(&WHITE).map_err(failed)?;
        for shape in &self.shapes {
            match shape {
                Shape::Line { points, width, color } => {
                    let stroke_width = (width * scale).round().max(1.0) as u32;
                    let style = ShapeStyle { color: rgb(*color).to_rgba(), filled: false, stroke_width };
                    area.draw(&PathElement::new(all(points), style)).map_err(failed)?;
                }
                Shape::Area { points, color, opacity } => {
                    let fill = rgb(*color).mix(*opacity).filled();
                    area.draw(&Polygon::new(all(points), fill)).map_err(failed)?;
                }
                Shape::Rectangle { corners, color } => {
                    area.draw(&Rectangle::new(corners.map(at), rgb(*color).filled())).map_err(failed)?;
                }
                Shape::Text { at: (x, y), text, size, bold, align, upward, color } => {
                    let (size, at) = (size * scale, (x * scale, y * scale));
                    let (bold, align, upward) = (*bold, *align, *upward);
                    set_text(area, &Setting { text, size, bold, align, upward, at }, rgb(*color))?;
                }
            }
        }
        area.present().map_err(failed)
    }
}

/// How a backend sets text.
type SetText<B> = fn(&DrawingArea<B, Shift>, &Setting<'_>, RGBColor) -> Result<(), DrawError>;

/// Real text, which readers can search and copy.
fn text_in_svg(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    setting: &Setting<'_>,
    color: RGBColor,
) -> Result<(), DrawError> {
    let style = if setting.bold { FontStyle::Bold } else { FontStyle::Normal };
    let transform = if setting.upward { FontTransform::Rotate270 } else { FontTransform::None };
    let font =
        FontDesc::new(FontFamily::Name(FAMILY), setting.size * PLOTTERS_EM, style).transform(transform);
    let h_pos = match setting.align {
        Align::Left => HPos::Left,
        Align::Centre => HPos::Center,
        Align::Right => HPos::Right,
    };
    let style = TextStyle::from(font).color(&color).pos(Pos::new(h_pos, VPos::Center));
    let at = (setting.at.0.round() as i32, setting.at.1.round() as i32);
    area.draw(&Text::new(setting.text, at, style)).map_err(failed)
}

fn text_in_pixels(
    area: &DrawingArea<BitMapBackend<'_>, Shift>,
    setting: &Setting<'_>,
    color: RGBColor,
) -> Result<(), DrawError> {
    for (pixel, coverage) in setting.ink()? {
        area.draw_pixel(pixel, &color.mix(coverage)).map_err(failed)?;
    }
    Ok(())
}

fn failed(error: impl std::fmt::Display) -> DrawError {
    DrawError::Backend { reason: error.to_string() }
}

/// plotters takes a font's line height for its size, which is 1.24 em in its SVG.
const PLOTTERS_EM: f64 = 1.24;

/// Breaks a text into lines of at most `width`; a single word may be longer.
pub(super) fn wrap(text: &str, size: f64, bold: bool, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // Not at every kind of space: some are there because they do not break.
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), size, bold) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// Text for XML and HTML, in an element or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The color mixed with white: 0 is the color, 1 is white.
pub(super) fn tint((r, g, b): Rgb, white: f64) -> Rgb {
    let mix = |c: u8| (f64::from(c) * (1.0 - white) + 255.0 * white).round() as u8;
    (mix(r), mix(g), mix(b))
}

fn rgb((r, g, b): Rgb) -> RGBColor {
    RGBColor(r, g, b)
}

fn pixels(scene: &Scene, scale: f64) -> (u32, u32) {
    ((WIDTH * scale) as u32, (scene.height.ceil() * scale) as u32)
}

/// Cuts a line into the pieces that a pattern of ink and gap leaves.
fn dashes(points: &[Point], pattern: &[f64]) -> Vec<Vec<Point>> {
    let mut pieces = Vec::new();
    let mut piece: Vec<Point> = points.iter().take(1).copied().collect();
    let (mut phase, mut left) = (0, pattern[0]);
    for pair in points.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        loop {
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            if length < left {
                left -= length;
                piece.push(to);
                break;
            }
            let share = left / length;
            from = (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
            piece.push(from);
            if phase % 2 == 0 {
                pieces.push(std::mem::take(&mut piece));
            }
            piece = vec![from];
            phase = (phase + 1) % pattern.len();
            left = pattern[phase];
        }
    }
    if phase % 2 == 0 {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_follow_the_pattern_around_corners() {
        let pieces = dashes(&[(0.0, 0.0), (4.0, 0.0), (4.0, 4.0)], &[3.0, 2.0]);
        assert_eq!(
            pieces,
            [vec![(0.0, 0.0), (3.0, 0.0)], vec![(4.0, 1.0), (4.0, 4.0)], vec![(4.0, 4.0)]][..pieces.len()]
        );
    }

    #[test]
    fn lines_break_between_words() {
        let width = text_width("decision time", SMALL, false);
        assert_eq!(wrap("decision time  per request", SMALL, false, width), ["decision time", "per request"]);
        assert_eq!(wrap("", SMALL, false, width), [""; 0]);
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape(r#"a<b> & "c" 'd'"#), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
    }

    #[test]
    fn white_is_the_lightest_tint() {
        assert_eq!((tint((10, 20, 30), 0.0), tint((10, 20, 30), 1.0)), ((10, 20, 30), (255, 255, 255)));
    }
}
