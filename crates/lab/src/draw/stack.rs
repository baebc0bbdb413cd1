//! Figure 10: what the mean latency is made of, one stacked bar an algorithm.

use super::axis::{self, Axis, number, round_end};
use super::scene::{Align, INK, Rgb, SMALL, Scene, WIDTH};
use super::text::text_width;
use super::{Caption, DrawError, Figure, MARGIN, Series, extent, foot, head, label_width};

/// The parts in the order of Eqs. (1)-(3), then waiting: name and fill. Dark to light, so that they stay apart in grey.
const PARTS: [(&str, Rgb); 4] = [
    ("cold start", (0x00, 0x5a, 0x8c)),
    ("computation", (0xe6, 0x9f, 0x00)),
    ("communication", (0x8c, 0xc8, 0xb4)),
    ("waiting", (0xd8, 0xd8, 0xd8)),
];

pub(super) fn figure(series: &[Series], caption: &Caption) -> Result<Figure, DrawError> {
    let name = "figure-10-parts";
    if series.is_empty() {
        return Err(DrawError::Empty { figure: name.into(), what: "series" });
    }
    let title = "What the mean latency is made of".to_string();
    let mut scene = Scene::default();
    let mut top = head(&mut scene, &title, caption);
    let left = MARGIN + label_width(series) + 10.0;
    let right = WIDTH - MARGIN - 58.0;

    let mut x = MARGIN + 2.0;
    for (text, fill) in PARTS {
        scene.rectangle((x, top - 5.0), (x + 18.0, top + 5.0), fill);
        scene.outline((x, top - 5.0), (x + 18.0, top + 5.0), 0.8, INK);
        scene.text((x + 24.0, top), text, SMALL, Align::Left, INK);
        x += 40.0 + text_width(text, SMALL, false);
    }
    top += 16.0;

    let pitch = 22.0;
    let bottom = top + pitch * series.len() as f64;
    let sum = |one: &Series| one.parts_ms.map(|parts| parts.iter().sum::<f64>());
    let mut sums: Vec<f64> = series.iter().filter_map(sum).collect();
    sums.sort_by(f64::total_cmp);
    let (largest, median) =
        (sums.last().copied().unwrap_or(1.0), sums.get(sums.len() / 2).copied().unwrap_or(1.0));
    // One overloaded algorithm must not shrink all others to stumps.
    let end = sums.iter().rev().find(|sum| **sum <= 4.0 * median).copied().unwrap_or(largest);
    let x = Axis { values: (0.0, round_end(end, 5)), places: (left, right), logarithmic: false };
    axis::horizontal(&mut scene, &x, (top, bottom), 5, "mean end-to-end latency (ms)", number);
    for (i, one) in series.iter().enumerate() {
        let y = top + pitch * (i as f64 + 0.5);
        scene.text((left - 7.0, y), &one.style.label, SMALL, Align::Right, INK);
        let Some(parts) = one.parts_ms else {
            scene.text((left + 5.0, y), "n/a", SMALL, Align::Left, INK);
            continue;
        };
        let mut from = 0.0;
        for (part, (_, fill)) in parts.iter().zip(PARTS) {
            let (a, b) = ((x.at(from), y - 7.0), (x.at(from + part), y + 7.0));
            if b.0 - a.0 > 0.3 {
                scene.rectangle(a, b, fill);
                scene.outline(a, b, 0.6, INK);
            }
            from += part;
        }
        scene.text((x.at(from) + 5.0, y), &format!("{from:.0}"), SMALL, Align::Left, INK);
    }
    scene.line(vec![(left, top), (left, bottom)], 1.0, INK);
    let mut notes = vec![format!("Means over {}; the number is the whole.", extent(series))];
    if largest > x.values.1 {
        notes.push(format!("The axis ends at {}; longer bars are cut.", number(x.values.1)));
    }
    foot(&mut scene, &notes, bottom + 52.0);

    let words = |one: &Series| match one.parts_ms {
        Some([cold, comp, comm, wait]) => {
            format!("{} {cold:.0}, {comp:.0}, {comm:.0}, {wait:.0}", one.style.label)
        }
        None => format!("{} n/a", one.style.label),
    };
    let all = series.iter().map(words).collect::<Vec<_>>().join("; ");
    let alt =
        format!("Parts of the mean latency in ms; cold start, computation, communication, waiting: {all}.");
    let reading = "Each bar is the mean latency of an algorithm, and its pieces say where the time goes; waiting is the time \
                   until the request was placed.";
    Ok(Figure { name: name.into(), title, reading: reading.into(), alt, scene })
}
