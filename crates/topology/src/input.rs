//! A file of sites as text: plain, `.gz` or `.zip`, with or without a byte order mark.
//!
//! What a file is packed with is told by its first bytes, not by its name. At most [`MAX_BYTES`] are unpacked, so that no
//! file of a few kilobytes can fill the memory.

use crate::build::{Given, Site};
use crate::error::TopologyError;
use crate::eua::ReadReport;
use crate::hardware::NODE_TYPES;
use scale_model::{Cores, Memory, Position};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Cursor, Read};
use std::path::Path;

/// The largest file of sites, unpacked: 64 MiB, some seven times the file of all 95,562 sites of Australia.
pub const MAX_BYTES: u64 = 64 << 20;

/// What happens to a site that has a name and no position, as many networks of the Internet Topology Zoo have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unplaced {
    /// The file is refused, and the first such site is named.
    #[default]
    Error,
    /// It is left out, and the report counts it.
    Skip,
}

/// The bytes of a file, still packed.
pub(crate) fn bytes(file: &Path) -> Result<Vec<u8>, TopologyError> {
    let read = || std::fs::File::open(file).and_then(limited);
    read().map_err(|source| TopologyError::File { file: file.to_owned(), source })
}

/// The text in these bytes, without byte order mark; `cell` finds line, column and text around a byte that is not UTF-8.
pub(crate) fn text(
    file: &Path,
    bytes: &[u8],
    cell: fn(&[u8], usize) -> (u64, usize, String),
) -> Result<String, TopologyError> {
    let bytes = unpack(bytes).map_err(|source| TopologyError::File { file: file.to_owned(), source })?;
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let (line, column, value) = cell(error.as_bytes(), at);
        let (file, value) = (file.to_owned(), shorten(&value));
        TopologyError::Cell { file, line, column, field: "text".into(), value, expected: "UTF-8".into() }
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    match bytes {
        [0x1f, 0x8b, ..] => limited(flate2::read::MultiGzDecoder::new(bytes)),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => {
            let mut archive = zip::ZipArchive::new(Cursor::new(bytes))?;
            let names = archive.file_names().map(|name| name.map(Cow::into_owned));
            let mut names = names.collect::<Result<Vec<String>, _>>()?;
            // Folders, and what macOS puts beside each file, are no data.
            names.retain(|name| !name.ends_with('/') && !name.starts_with("__MACOSX/"));
            let [name] = names.as_slice() else {
                let names = shorten(&names.join(", "));
                return Err(io::Error::other(format!("expected a zip archive of one file, found {names:?}")));
            };
            limited(archive.by_name(name)?)
        }
        _ => Ok(bytes.to_vec()),
    }
}

fn limited(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("expected at most {} MiB, unpacked", MAX_BYTES >> 20)));
    }
    Ok(bytes)
}

/// A text whose faults are found by their place in it: GeoJSON and GraphML.
pub(crate) struct Document<'a> {
    pub(crate) file: &'a Path,
    pub(crate) text: &'a str,
}

impl Document<'_> {
    /// A fault at a byte of the text. Lines count from 1, and so do the characters of a line.
    pub(crate) fn fault(
        &self,
        at: usize,
        field: impl Into<String>,
        value: &str,
        expected: impl Into<String>,
    ) -> TopologyError {
        let (line, column) = self.place(at);
        let (file, value) = (self.file.to_owned(), shorten(value));
        TopologyError::Cell { file, line, column, field: field.into(), value, expected: expected.into() }
    }

    pub(crate) fn place(&self, at: usize) -> (u64, usize) {
        let before = &self.text[..self.text.floor_char_boundary(at)];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        (1 + count(before.as_bytes(), b'\n') as u64, 1 + before[line_start..].chars().count())
    }
}

/// As [`cell_at`](crate::eua) of CSV, for texts without cells: the line up to the byte.
pub(crate) fn line_at(bytes: &[u8], at: usize) -> (u64, usize, String) {
    let start = bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let before = String::from_utf8_lossy(&bytes[start..at]);
    let tail: String = before.chars().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect();
    (1 + count(&bytes[..at], b'\n') as u64, 1 + before.chars().count(), tail)
}

/// Sites as they are read: names of their own, positions on the globe, positions that two of them share.
pub(crate) struct Collected {
    pub(crate) sites: Vec<Site>,
    pub(crate) report: ReadReport,
    lines: BTreeMap<String, u64>,
    places: BTreeSet<(u64, u64)>,
}

impl Collected {
    pub(crate) fn new() -> Collected {
        let (sites, report) = (Vec::new(), ReadReport::default());
        Collected { sites, report, lines: BTreeMap::new(), places: BTreeSet::new() }
    }

    /// The line of the site that has this name already, if there is one.
    pub(crate) fn name(&mut self, name: &str, line: u64) -> Option<u64> {
        self.lines.insert(name.to_owned(), line)
    }

    pub(crate) fn push(&mut self, site: Site) {
        // Adding 0.0 makes one zero of the two: -0 and 0 degrees are the same place.
        let Position { latitude, longitude } = site.position;
        if !self.places.insert(((latitude + 0.0).to_bits(), (longitude + 0.0).to_bits())) {
            self.report.same_position += 1;
        }
        self.sites.push(site);
    }
}

/// Degrees from `-limit` to `limit`; what was expected if they are not.
pub(crate) fn degrees(text: &str, limit: f64) -> Result<f64, String> {
    // Rust reads "NaN" and "inf" as numbers; neither is within the limit.
    match text.parse::<f64>() {
        Ok(value) if value.abs() <= limit => Ok(value),
        _ => Err(format!("degrees from -{limit} to {limit}")),
    }
}

/// The properties that say what a node has: the same names in every format.
pub(crate) const GIVEN: [&str; 3] = ["node_type", "cores", "memory_mb"];

/// The most thousandths of a core and megabytes that a node may have, as in `Topology::validate`: sums of them stay exact.
const MOST: u32 = 1_000_000_000;

/// Takes one of [`GIVEN`]; what was expected if the text is no such value.
pub(crate) fn give(given: &mut Given, field: &str, text: &str) -> Result<(), String> {
    match field {
        "node_type" => {
            let number = text.parse::<usize>().ok().filter(|&kind| kind < NODE_TYPES.len());
            let kind = number.or_else(|| NODE_TYPES.iter().position(|class| class.name == text));
            let last = NODE_TYPES.len() - 1;
            let expected = || format!("a number from 0 to {last} or a name as in {:?}", NODE_TYPES[0].name);
            given.kind = Some(kind.ok_or_else(expected)? as u16);
        }
        "cores" => {
            let cores = text.parse::<f64>().ok().and_then(Cores::nearest);
            let cores = cores.filter(|cores| (1..=MOST).contains(&cores.milli));
            given.cores = Some(cores.ok_or("a number from 0.001 to 1000000")?);
        }
        _ => {
            let mb = text.parse::<u32>().ok().filter(|mb| (1..=MOST).contains(mb));
            given.memory = Some(Memory { mb: mb.ok_or("a whole number of megabytes from 1 to 1000000000")? });
        }
    }
    Ok(())
}

/// A quote that is never closed makes one cell of the rest of the file; a message should not repeat it.
pub(crate) fn shorten(value: &str) -> String {
    const LIMIT: usize = 120;
    match value.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.to_owned(),
    }
}

pub(crate) fn count(bytes: &[u8], wanted: u8) -> usize {
    bytes.iter().filter(|&&byte| byte == wanted).count()
}
