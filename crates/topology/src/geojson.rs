//! Sites from GeoJSON (RFC 7946): a `FeatureCollection` of `Point` features.
//!
//! ```json
//! {"type": "FeatureCollection", "features": [
//!     {"type": "Feature", "id": "roof-1", "geometry": {"type": "Point", "coordinates": [144.95, -37.81]},
//!      "properties": {"node_type": 3, "cores": 8, "memory_mb": 32000}}]}
//! ```
//!
//! - A position is longitude, latitude, and perhaps a height, in this order.
//! - A site is named by the `id` of its feature, else by its property `name`, else by its row, `row-0001` the first.
//! - The properties `node_type` (0 to 9, or a name of [`NODE_TYPES`](crate::NODE_TYPES)), `cores` and `memory_mb` say what the
//!   node has; what is not given, or `null`, is drawn. All other properties are listed in the report.
//! - A feature without geometry has no position: [`Unplaced`] says what then.
//!
//! Everything else is an error: other geometries, coordinates of another reference system, a member that is there twice.

use crate::build::{Given, Site};
use crate::error::TopologyError;
use crate::eua::{ReadReport, row_name};
use crate::input::{self, Collected, Document, GIVEN, Unplaced};
use scale_model::Position;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// Reads sites.
///
/// # Errors
/// The first fault, with file, line, column, field, value and what was expected.
pub fn read(path: impl AsRef<Path>, unplaced: Unplaced) -> Result<(Vec<Site>, ReadReport), TopologyError> {
    parse(path.as_ref(), &input::bytes(path.as_ref())?, unplaced)
}

/// As [`read`], from the bytes of a file.
///
/// # Errors
/// As [`read`].
pub fn parse(
    file: &Path,
    bytes: &[u8],
    unplaced: Unplaced,
) -> Result<(Vec<Site>, ReadReport), TopologyError> {
    let text = input::text(file, bytes, input::line_at)?;
    let json = Json(Document { file, text: &text });
    let root = json.object("file", &text)?;
    json.expect_type("type", &text, &root, "FeatureCollection")?;
    if let Some(crs) = root.get("crs").filter(|crs| crs.get() != "null") {
        // Longitude and latitude on WGS 84 is all that RFC 7946 knows; metres of some grid would be read as degrees.
        if !["CRS84", "EPSG::4326", "EPSG:4326"].iter().any(|known| crs.get().contains(known)) {
            return Err(json.fault("crs", crs.get(), "longitude and latitude (CRS84)"));
        }
    }
    let features = json.list("features", json.member("features", &text, &root, "features")?)?;
    let mut collected = Collected::new();
    let mut unused = BTreeSet::new();
    for (index, feature) in features.iter().map(|feature| feature.get()).enumerate() {
        let field = |name: &str| format!("features[{index}]{name}");
        let members = json.object(&field(""), feature)?;
        json.expect_type(&field(".type"), feature, &members, "Feature")?;
        let properties = match members.get("properties").filter(|properties| properties.get() != "null") {
            Some(properties) => json.object(&field(".properties"), properties.get())?,
            None => Members::default(),
        };
        let property = |name: &str| properties.get(name).filter(|value| value.get() != "null");
        let name = match (members.get("id"), property("name")) {
            (Some(id), _) => json.scalar(&field(".id"), id.get())?,
            (None, Some(name)) => json.scalar(&field(".properties.name"), name.get())?,
            (None, None) => row_name(index),
        };
        let at = members.get("id").or(property("name")).map_or(feature, |value| value.get());
        if name.trim().is_empty() {
            return Err(json.fault(field(".id"), at, "the name of the site"));
        }
        if let Some(first) = collected.name(&name, json.line(at)) {
            return Err(json.fault(field(".id"), at, format!("a name of its own (line {first} has it too)")));
        }
        let mut given = Given::default();
        for (key, value) in &properties.0 {
            if GIVEN.contains(&key.as_str()) {
                if value.get() != "null" {
                    let field = field(&format!(".properties.{key}"));
                    let text = json.scalar(&field, value.get())?;
                    input::give(&mut given, key, &text)
                        .map_err(|expected| json.fault(field, value.get(), expected))?;
                }
            } else if key != "name" {
                unused.insert(key.clone());
            }
        }
        let geometry = members.get("geometry").filter(|geometry| geometry.get() != "null");
        match (geometry, unplaced) {
            (Some(geometry), _) => {
                let position = json.point(&field(".geometry"), geometry.get())?;
                collected.push(Site { name, position, given });
            }
            (None, Unplaced::Skip) => collected.report.unplaced += 1,
            (None, Unplaced::Error) => {
                return Err(json.fault(field(".geometry"), feature, "a Point (or leave such sites out)"));
            }
        }
    }
    let Collected { sites, mut report, .. } = collected;
    if sites.is_empty() {
        return Err(json.fault("features", &text, "at least one site with a position"));
    }
    (report.rows, report.unused) = (features.len(), unused.into_iter().collect());
    Ok((sites, report))
}

/// Members of an object, as they stand in the text.
#[derive(Default)]
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(key, _)| key == name).map(|&(_, value)| value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'a>, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Members::default();
                while let Some(member) = map.next_entry()? {
                    members.0.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// JSON whose parts know where they stand: every part is a slice of the text.
struct Json<'a>(Document<'a>);

impl<'a> Json<'a> {
    fn offset(&self, part: &str) -> usize {
        part.as_ptr().addr().saturating_sub(self.0.text.as_ptr().addr())
    }

    fn line(&self, part: &str) -> u64 {
        self.0.place(self.offset(part)).0
    }

    fn fault(&self, field: impl Into<String>, part: &str, expected: impl Into<String>) -> TopologyError {
        self.0.fault(self.offset(part), field, part, expected)
    }

    /// A part that is not JSON of the kind that was asked for.
    fn refuse(&self, field: &str, part: &str, expected: &str, error: &serde_json::Error) -> TopologyError {
        if error.is_data() {
            return self.fault(field, part, expected);
        }
        // Line and column are counted from the start of the part; the column is that of the byte.
        let line_start = match error.line() {
            0 | 1 => 0,
            line => part.match_indices('\n').nth(line - 2).map_or(0, |(end, _)| end + 1),
        };
        let at = (line_start + error.column().saturating_sub(1)).min(part.len());
        let at = part.floor_char_boundary(at);
        let line = part[at..].lines().next().unwrap_or_default();
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default();
        self.0.fault(self.offset(part) + at, field, line, format!("JSON ({reason})"))
    }

    fn object<'p>(&self, field: &str, part: &'p str) -> Result<Members<'p>, TopologyError> {
        let members: Members<'p> =
            serde_json::from_str(part).map_err(|error| self.refuse(field, part, "an object", &error))?;
        let mut names: Vec<(&str, &RawValue)> =
            members.0.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        names.sort_by_key(|&(name, _)| name);
        if let Some([_, (name, again)]) =
            names.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| [pair[0], pair[1]])
        {
            return Err(self.fault(format!("{field}.{name}"), again.get(), "one member of this name"));
        }
        Ok(members)
    }

    fn list<'p>(&self, field: &str, part: &'p str) -> Result<Vec<&'p RawValue>, TopologyError> {
        serde_json::from_str(part).map_err(|error| self.refuse(field, part, "a list", &error))
    }

    /// A string or a number.
    fn scalar(&self, field: &str, part: &str) -> Result<String, TopologyError> {
        match part.as_bytes().first() {
            Some(b'-' | b'0'..=b'9') => Ok(part.to_owned()),
            _ => serde_json::from_str(part)
                .map_err(|error| self.refuse(field, part, "a string or a number", &error)),
        }
    }

    /// `part` is the object that should have the member.
    fn member<'p>(
        &self,
        field: &str,
        part: &str,
        members: &Members<'p>,
        name: &str,
    ) -> Result<&'p str, TopologyError> {
        let value = members.get(name).map(RawValue::get);
        value.ok_or_else(|| self.fault(field, part, format!("a member {name:?}")))
    }

    fn expect_type(
        &self,
        field: &str,
        part: &str,
        members: &Members<'_>,
        wanted: &str,
    ) -> Result<(), TopologyError> {
        let found = self.member(field, part, members, "type")?;
        let is_wanted = serde_json::from_str::<String>(found).is_ok_and(|found| found == wanted);
        if is_wanted { Ok(()) } else { Err(self.fault(field, found, format!("{wanted:?}"))) }
    }

    fn point(&self, field: &str, part: &str) -> Result<Position, TopologyError> {
        let members = self.object(field, part)?;
        self.expect_type(&format!("{field}.type"), part, &members, "Point")?;
        let field = format!("{field}.coordinates");
        let list = self.member(&field, part, &members, "coordinates")?;
        let numbers = self.list(&field, list)?;
        let [longitude, latitude, ..] = numbers.as_slice() else {
            return Err(self.fault(field, list, "longitude, latitude"));
        };
        let degrees = |place: usize, value: &RawValue, limit: f64| {
            input::degrees(value.get(), limit)
                .map_err(|expected| self.fault(format!("{field}[{place}]"), value.get(), expected))
        };
        Ok(Position { longitude: degrees(0, longitude, 180.0)?, latitude: degrees(1, latitude, 90.0)? })
    }
}
