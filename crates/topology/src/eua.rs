//! The EUA data set: where Optus has its antennas in Melbourne, and where users are.
//!
//! Lai et al., *Optimal Edge User Allocation in Edge Computing with Variable Sized Vector Bin Packing*, ICSOC 2018;
//! files at <https://github.com/swinedge/eua-dataset>. Three layouts, their columns found by name:
//!
//! | function | header | lines of the real file |
//! |---|---|---|
//! | [`read_sites`] | `SITE_ID,LATITUDE,LONGITUDE,NAME,STATE,...` | 125 (CBD) |
//! | [`read_centers`] | `LATITUDE,LONGITUDE,RADIUS_M` (derived) | 1,464 (metropolitan area) |
//! | [`read_users`] | `Latitude,Longitude` | 816 |
//!
//! A file may be packed with gzip or zip. A byte order mark and CRLF are fine, and blank lines are counted. Everything else that is not as it should be is an
//! error; nothing is repaired. Columns that we do not use (`POSTCODE` and `ELEVATION` are often empty) are not judged.

use crate::build::{Given, Site};
use crate::error::TopologyError;
use crate::input::{self, count, shorten};
use scale_model::Position;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// What a reader saw that is allowed, but worth knowing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadReport {
    /// Rows read, the header not counted.
    pub rows: usize,
    /// Rows at exactly the position of an earlier row. Antennas may share a roof.
    pub same_position: usize,
    /// Lines without anything on them.
    pub blank_lines: usize,
    /// GeoJSON and GraphML: sites without a position, which were left out ([`Unplaced::Skip`](crate::Unplaced)).
    pub unplaced: usize,
    /// GraphML: edges, which were not used: how fast data moves follows from distance ([`links`](crate::links)).
    pub edges: usize,
    /// GeoJSON and GraphML: properties of sites that were not used, in order. A name with a typo stands here.
    pub unused: Vec<String>,
}

/// Reads edge sites in the official layout. Each is named by its `SITE_ID`, which no two share.
///
/// # Errors
/// The first fault, with file, line, column, field, value and what was expected.
pub fn read_sites(path: impl AsRef<Path>) -> Result<(Vec<Site>, ReadReport), TopologyError> {
    parse_sites(path.as_ref(), &input::bytes(path.as_ref())?)
}

/// As [`read_sites`], from the bytes of a file.
///
/// # Errors
/// As [`read_sites`].
pub fn parse_sites(file: &Path, bytes: &[u8]) -> Result<(Vec<Site>, ReadReport), TopologyError> {
    let table = Table::parse(file, bytes, &["SITE_ID", "LATITUDE", "LONGITUDE"])?;
    let mut lines = BTreeMap::new();
    let mut sites = Vec::with_capacity(table.rows.len());
    for row in &table.rows {
        let name = table.cell(row, 0);
        if name.trim().is_empty() {
            return Err(table.fault(row, 0, "the id of the site"));
        }
        if let Some(first) = lines.insert(name, row.line) {
            return Err(table.fault(row, 0, format!("an id of its own (line {first} has it too)")));
        }
        let position = table.position(row, 1, 2)?;
        sites.push(Site { name: name.to_owned(), position, given: Given::default() });
    }
    let report = table.report(sites.iter().map(|site| site.position));
    Ok((sites, report))
}

/// Reads the derived layout of the metropolitan area. It has no ids: a site is named by its row, `row-0001` the first.
///
/// # Errors
/// As [`read_sites`]; also a radius that is not a number above zero, though nothing here uses it.
pub fn read_centers(path: impl AsRef<Path>) -> Result<(Vec<Site>, ReadReport), TopologyError> {
    parse_centers(path.as_ref(), &input::bytes(path.as_ref())?)
}

/// As [`read_centers`], from the bytes of a file.
///
/// # Errors
/// As [`read_centers`].
pub fn parse_centers(file: &Path, bytes: &[u8]) -> Result<(Vec<Site>, ReadReport), TopologyError> {
    let table = Table::parse(file, bytes, &["LATITUDE", "LONGITUDE", "RADIUS_M"])?;
    let mut sites = Vec::with_capacity(table.rows.len());
    for (index, row) in table.rows.iter().enumerate() {
        let position = table.position(row, 0, 1)?;
        let radius: f64 = table.cell(row, 2).parse().unwrap_or(f64::NAN);
        if !(radius.is_finite() && radius > 0.0) {
            return Err(table.fault(row, 2, "metres above 0"));
        }
        sites.push(Site { name: row_name(index), position, given: Given::default() });
    }
    let report = table.report(sites.iter().map(|site| site.position));
    Ok((sites, report))
}

/// Reads positions of users.
///
/// # Errors
/// As [`read_sites`].
pub fn read_users(path: impl AsRef<Path>) -> Result<(Vec<Position>, ReadReport), TopologyError> {
    parse_users(path.as_ref(), &input::bytes(path.as_ref())?)
}

/// As [`read_users`], from the bytes of a file.
///
/// # Errors
/// As [`read_users`].
pub fn parse_users(file: &Path, bytes: &[u8]) -> Result<(Vec<Position>, ReadReport), TopologyError> {
    let table = Table::parse(file, bytes, &["Latitude", "Longitude"])?;
    let users = table.rows.iter().map(|row| table.position(row, 0, 1)).collect::<Result<Vec<_>, _>>()?;
    let report = table.report(users.iter().copied());
    Ok((users, report))
}

impl fmt::Display for ReadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadReport { rows, same_position, blank_lines, unplaced, edges, unused } = self;
        write!(
            f,
            "{rows} rows; at the position of an earlier one: {same_position}; blank lines: {blank_lines}"
        )?;
        if *unplaced > 0 {
            write!(f, "; left out for want of a position: {unplaced}")?;
        }
        if *edges > 0 {
            write!(f, "; edges, not used: {edges}")?;
        }
        if !unused.is_empty() {
            write!(f, "; properties, not used: {}", unused.join(", "))?;
        }
        Ok(())
    }
}

/// The name of a site that has none: that of its row, from 0.
pub(crate) fn row_name(index: usize) -> String {
    format!("row-{:04}", index + 1)
}

/// The header of a CSV, its cells as they stand there; empty if there is none.
pub(crate) fn header(text: &str) -> Vec<String> {
    let first = split(text.lines().find(|line| !line.is_empty()).unwrap_or_default());
    let cells = |rows: Vec<Row>| rows.first().map(|row| row.cells.iter().map(str::to_owned).collect());
    first.ok().and_then(cells).unwrap_or_default()
}

/// A CSV file whose rows all have as many cells as its header, and whose header has the columns asked for.
struct Table<'a> {
    path: &'a Path,
    /// Name and index of each column asked for.
    columns: Vec<(&'static str, usize)>,
    rows: Vec<Row>,
    blank_lines: usize,
}

struct Row {
    line: u64,
    cells: csv::StringRecord,
}

impl<'a> Table<'a> {
    fn parse(path: &'a Path, bytes: &[u8], names: &[&'static str]) -> Result<Table<'a>, TopologyError> {
        let fault = |line, column, field: &str, value: &str, expected: String| TopologyError::Cell {
            file: path.to_owned(),
            line,
            column,
            field: field.to_owned(),
            value: shorten(value),
            expected,
        };
        let text = input::text(path, bytes, cell_at)?;
        let text = text.as_str();

        // What csv can still complain about is I/O and UTF-8, and a `str` in memory has neither fault.
        let mut rows = split(text).map_err(|error| fault(1, 1, "text", "", format!("CSV ({error})")))?;
        if rows.is_empty() {
            let expected = format!("a header with {}, found an empty file", names.join(","));
            return Err(fault(1, 1, "header", "", expected));
        }
        let header = rows.remove(0);
        let mut columns = Vec::with_capacity(names.len());
        for &name in names {
            let mut places = (0..header.cells.len()).filter(|&place| &header.cells[place] == name);
            match (places.next(), places.next()) {
                (Some(place), None) => columns.push((name, place)),
                (Some(_), Some(again)) => {
                    return Err(fault(header.line, again + 1, name, name, format!("one column {name}")));
                }
                (None, _) => {
                    let (column, expected) = (header.cells.len() + 1, format!("a column {name}"));
                    return Err(fault(header.line, column, name, &header.text(), expected));
                }
            }
        }
        let width = header.cells.len();
        if let Some(row) = rows.iter().find(|row| row.cells.len() != width) {
            let found = row.cells.len();
            let field = header.cells.get(found).unwrap_or("row");
            let expected = format!("{width} cells as in the header, found {found}");
            return Err(fault(row.line, found.min(width) + 1, field, &row.text(), expected));
        }
        if rows.is_empty() {
            let expected = "at least one row below the header".into();
            return Err(fault(header.line + 1, 1, names[0], "", expected));
        }
        Ok(Table { path, columns, rows, blank_lines: blank_lines(text) })
    }

    fn cell<'r>(&self, row: &'r Row, column: usize) -> &'r str {
        // `read` has seen that every row is as wide as the header.
        &row.cells[self.columns[column].1]
    }

    fn position(&self, row: &Row, latitude: usize, longitude: usize) -> Result<Position, TopologyError> {
        let degrees = |column, limit| {
            input::degrees(self.cell(row, column), limit)
                .map_err(|expected| self.fault(row, column, expected))
        };
        Ok(Position { latitude: degrees(latitude, 90.0)?, longitude: degrees(longitude, 180.0)? })
    }

    fn fault(&self, row: &Row, column: usize, expected: impl Into<String>) -> TopologyError {
        let (field, place) = self.columns[column];
        TopologyError::Cell {
            file: self.path.to_owned(),
            line: row.line,
            column: place + 1,
            field: field.to_owned(),
            value: shorten(self.cell(row, column)),
            expected: expected.into(),
        }
    }

    fn report(&self, positions: impl Iterator<Item = Position>) -> ReadReport {
        // Adding 0.0 makes one zero of the two: -0 and 0 degrees are the same place.
        let bits = |p: Position| ((p.latitude + 0.0).to_bits(), (p.longitude + 0.0).to_bits());
        let places: BTreeSet<(u64, u64)> = positions.map(bits).collect();
        let rows = self.rows.len();
        let same_position = rows - places.len();
        ReadReport { rows, same_position, blank_lines: self.blank_lines, ..ReadReport::default() }
    }
}

impl Row {
    fn text(&self) -> String {
        self.cells.iter().collect::<Vec<_>>().join(",")
    }
}

/// The rows, the header first, each with its line as an editor counts.
fn split(text: &str) -> Result<Vec<Row>, csv::Error> {
    let bytes = text.as_bytes();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut rows = Vec::new();
    let (mut line, mut counted) = (1, 0);
    let mut cells = csv::StringRecord::new();
    while reader.read_record(&mut cells)? {
        // To the csv crate blank lines, and the second half of a CRLF, belong to the row that follows them.
        let start = cells.position().map_or(counted, |position| position.byte() as usize);
        let breaks = bytes[start..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        line += count(&bytes[counted..start + breaks], b'\n') as u64;
        counted = start + breaks;
        rows.push(Row { line, cells: cells.clone() });
    }
    Ok(rows)
}

/// Lines without anything on them, those within quotes not counted.
fn blank_lines(text: &str) -> usize {
    let mut quoted = false;
    let is_blank = |line: &&str| {
        let blank = line.is_empty() && !quoted;
        quoted ^= count(line.as_bytes(), b'"') % 2 == 1;
        blank
    };
    text.lines().filter(is_blank).count()
}

/// Line, number and text of the cell around a byte of a file that is not text, so quotes are not looked at.
pub(crate) fn cell_at(bytes: &[u8], at: usize) -> (u64, usize, String) {
    let (before, after) = bytes.split_at(at);
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let cell_start = before[line_start..].iter().rposition(|&byte| byte == b',').map_or(0, |end| end + 1);
    let is_end = |byte: &u8| matches!(byte, b',' | b'\r' | b'\n');
    let cell_end = at + after.iter().position(is_end).unwrap_or(after.len());
    (
        1 + count(before, b'\n') as u64,
        1 + count(&before[line_start..], b','),
        String::from_utf8_lossy(&bytes[line_start + cell_start..cell_end]).into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const HEADER: &str =
        "SITE_ID,LATITUDE,LONGITUDE,NAME,STATE,LICENSING_AREA_ID,POSTCODE,SITE_PRECISION,ELEVATION,HCIS_L2";

    fn write(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sites.csv");
        std::fs::write(&path, content).expect("a file");
        (folder, path)
    }

    fn message<T: fmt::Debug>(content: &[u8], read: fn(PathBuf) -> Result<T, TopologyError>) -> String {
        let (folder, path) = write(content);
        let error = read(path).expect_err("bad input").to_string();
        let folder = format!("{}{}", folder.path().display(), std::path::MAIN_SEPARATOR);
        error.strip_prefix(&folder).expect("the file comes first").to_owned()
    }

    #[test]
    fn bad_sites_are_refused_where_they_stand() {
        let row = "1,-37.8,144.9,A,VIC,2,3000.0,Within 10 meters,,KX3P";
        let second = |row2: &str| format!("{HEADER}\r\n{row}\r\n{row2}\r\n");
        let latitude = "expected degrees from -90 to 90";
        let table = [
            // Coordinates.
            (second("2,,144.9,B,,,,,,"), format!("3:2: LATITUDE: \"\": {latitude}")),
            (second("2,NaN,144.9,B,,,,,,"), format!("3:2: LATITUDE: \"NaN\": {latitude}")),
            (second("2,-inf,144.9,B,,,,,,"), format!("3:2: LATITUDE: \"-inf\": {latitude}")),
            (second("2,144.9,-37.8,B,,,,,,"), format!("3:2: LATITUDE: \"144.9\": {latitude}")),
            (second("2,\"-37,8\",144.9,B,,,,,,"), format!("3:2: LATITUDE: \"-37,8\": {latitude}")),
            (
                second("2,-37.8,180.5,B,,,,,,"),
                "3:3: LONGITUDE: \"180.5\": expected degrees from -180 to 180".into(),
            ),
            (
                second("2,-37.8, 144.9,B,,,,,,"),
                "3:3: LONGITUDE: \" 144.9\": expected degrees from -180 to 180".into(),
            ),
            // Lines are those of an editor, whatever stands before: blank lines, line breaks in quotes, no CR.
            (
                format!("{HEADER}\r\n\r\n{row}\r\n\r\n2,x,1,B,,,,,,"),
                format!("5:2: LATITUDE: \"x\": {latitude}"),
            ),
            (
                format!("{HEADER}\n1,-37.8,144.9,\"A\nB\",,,,,,\n2,x,1,B,,,,,,\n"),
                format!("4:2: LATITUDE: \"x\": {latitude}"),
            ),
            (format!("\u{feff}{HEADER}\n2,x,1,B,,,,,,\n"), format!("2:2: LATITUDE: \"x\": {latitude}")),
            // Rows.
            (
                second("2,-37.8"),
                "3:3: LONGITUDE: \"2,-37.8\": expected 10 cells as in the header, found 2".into(),
            ),
            (
                second("2,-37.8,144.9,,,,,,,,"),
                "3:11: row: \"2,-37.8,144.9,,,,,,,,\": expected 10 cells as in the header, found 11".into(),
            ),
            // A quote that is never closed takes the rest of the file with it; its row is named, not the end.
            (
                second(&format!("2,-37.8,144.9,\"{}", "B".repeat(1000))),
                format!(
                    "3:5: STATE: \"2,-37.8,144.9,{}...\": expected 10 cells as in the header, found 4",
                    "B".repeat(106)
                ),
            ),
            // Ids.
            (
                second("1,-37.9,144.9,B,,,,,,"),
                "3:1: SITE_ID: \"1\": expected an id of its own (line 2 has it too)".into(),
            ),
            (second(",-37.9,144.9,B,,,,,,"), "3:1: SITE_ID: \"\": expected the id of the site".into()),
            // Header.
            (
                "SITE_ID,LONGITUDE\r\n1,144.9\r\n".into(),
                "1:3: LATITUDE: \"SITE_ID,LONGITUDE\": expected a column LATITUDE".into(),
            ),
            (
                "SITE_ID,LATITUDE,LONGITUDE,LATITUDE\r\n1,1,1,1\r\n".into(),
                "1:4: LATITUDE: \"LATITUDE\": expected one column LATITUDE".into(),
            ),
            (
                format!("{HEADER}\r\n"),
                "2:1: SITE_ID: \"\": expected at least one row below the header".into(),
            ),
            (
                String::new(),
                "1:1: header: \"\": expected a header with SITE_ID,LATITUDE,LONGITUDE, found an empty file"
                    .into(),
            ),
        ];
        for (content, expected) in table {
            assert_eq!(message(content.as_bytes(), read_sites), format!("sites.csv:{expected}"), "{content}");
        }
    }

    #[test]
    fn text_that_is_not_utf8_is_refused_where_it_stands() {
        // Latin-1: an e with an acute accent.
        let content = b"SITE_ID,LATITUDE,LONGITUDE,NAME\r\n1,-37.8,144.9,Caf\xe9 Collins St\r\n";
        let expected = "sites.csv:2:4: text: \"Caf\u{fffd} Collins St\": expected UTF-8";
        assert_eq!(message(content, read_sites), expected);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = read_sites("no/such/file.csv").expect_err("no file").to_string();
        assert!(error.starts_with("no/such/file.csv: cannot be read: "), "{error}");
    }

    #[test]
    fn bad_centres_and_users_are_refused() {
        let centres =
            |row: &str| message(format!("LATITUDE,LONGITUDE,RADIUS_M\n{row}\n").as_bytes(), read_centers);
        assert_eq!(centres("-37.8,144.9,0"), "sites.csv:2:3: RADIUS_M: \"0\": expected metres above 0");
        assert_eq!(centres("-37.8,144.9,inf"), "sites.csv:2:3: RADIUS_M: \"inf\": expected metres above 0");
        assert_eq!(centres("-37.8,,9"), "sites.csv:2:2: LONGITUDE: \"\": expected degrees from -180 to 180");
        let users = message(b"Latitude,Longitude\n-37.8,181\n", read_users);
        assert_eq!(users, "sites.csv:2:2: Longitude: \"181\": expected degrees from -180 to 180");
        // The wrong layout is a missing column.
        let users = message(b"LATITUDE,LONGITUDE\n-37.8,144.9\n", read_users);
        assert_eq!(users, "sites.csv:1:3: Latitude: \"LATITUDE,LONGITUDE\": expected a column Latitude");
    }

    #[test]
    fn columns_are_found_by_name_and_oddities_counted() {
        let content = "\u{feff}NAME,LONGITUDE,SITE_ID,LATITUDE\r\n\"Corner, A and B\",144.9,7,-37.8\r\n\r\n,144.9,8,-37.8\r\n";
        let (_folder, path) = write(content.as_bytes());
        let (sites, report) = read_sites(path).expect("good sites");
        let position = Position { latitude: -37.8, longitude: 144.9 };
        assert_eq!(
            sites,
            ["7", "8"].map(|name| Site { name: name.into(), position, given: Given::default() })
        );
        assert_eq!(report, ReadReport { rows: 2, same_position: 1, blank_lines: 1, ..ReadReport::default() });
        assert_eq!(report.to_string(), "2 rows; at the position of an earlier one: 1; blank lines: 1");
    }

    #[test]
    fn the_sample_is_read() {
        let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../datasets/samples/eua-sites.csv");
        let (sites, report) = read_sites(sample).expect("the sample");
        assert_eq!(sites.len(), 12);
        assert_eq!(report, ReadReport { rows: 12, same_position: 1, ..ReadReport::default() });
    }

    #[test]
    fn the_real_files_are_read() {
        let Some(folder) = std::env::var_os("SCALE_DATASETS").map(PathBuf::from) else {
            println!("skipped: SCALE_DATASETS is not set");
            return;
        };
        let eua = folder.join("eua");
        let clean = |rows| ReadReport { rows, ..ReadReport::default() };
        let (sites, report) = read_sites(eua.join("site-optus-melbCBD.csv")).expect("sites");
        assert_eq!(report, clean(125));
        assert_eq!(sites[0].name, "10003026");
        let hardware = crate::HardwareSpec { cores_per_ghz: 1.0 };
        let links = crate::LinkSpec { line_mb_s: 100.0, hop_m: 500.0 };
        let topology = crate::build(&sites, &hardware, &links, scale_model::Seed(1)).expect("a topology");
        assert_eq!(topology.nodes.len(), 125);
        let (centers, report) = read_centers(eua.join("derived-optus-metro-centers.csv")).expect("centres");
        assert_eq!(report, clean(1464));
        for site in &sites {
            // The two files round differently, in the last bits.
            let close = |center: &Site| crate::haversine(center.position, site.position) < 1e-3;
            assert!(centers.iter().any(close), "{site:?}");
        }
        let (users, report) = read_users(eua.join("users-melbcbd-generated.csv")).expect("users");
        assert_eq!(report, clean(816));
        let nearest = |user: &Position| {
            sites.iter().map(|site| crate::haversine(*user, site.position)).fold(f64::INFINITY, f64::min)
        };
        let mut distances: Vec<f64> = users.iter().map(nearest).collect();
        distances.sort_by(f64::total_cmp);
        assert_eq!(((distances[407] + distances[408]) / 2.0).round(), 62.0);
        assert_eq!(distances[815].round(), 185.0);
    }
}
