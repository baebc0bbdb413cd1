//! Sites from GraphML, as the Internet Topology Zoo publishes networks: nodes whose latitude and longitude are attributes.
//!
//! ```xml
//! <graphml xmlns="http://graphml.graphdrawing.org/xmlns">
//!   <key id="d1" for="node" attr.name="Latitude" attr.type="double"/>
//!   <key id="d2" for="node" attr.name="Longitude" attr.type="double"/>
//!   <graph edgedefault="undirected">
//!     <node id="0"><data key="d1">-37.81</data><data key="d2">144.95</data></node>
//!   </graph>
//! </graphml>
//! ```
//!
//! - A site is named by the `id` of its node: labels are not unique in the Zoo, and every node has an id.
//! - Attributes are found by `attr.name`, whatever its case: `Latitude` or `lat`; `Longitude`, `lon`, `lng` or `long`;
//!   `node_type`, `cores` and `memory_mb` as in [`geojson`](crate::geojson). A `<default>` of a key counts.
//! - A node without latitude and longitude has no position: [`Unplaced`] says what then. Many networks of the Zoo have some.
//! - Edges are counted and not used: how fast data moves follows from distance ([`links`](crate::links)).
//!
//! A document type definition is refused: it can make a text of any size out of a small one.

use crate::build::{Given, Site};
use crate::error::TopologyError;
use crate::eua::ReadReport;
use crate::input::{self, Collected, Document, GIVEN, Unplaced};
use roxmltree::{Node, ParsingOptions};
use scale_model::Position;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The most elements and texts of a file; each takes about 100 bytes of memory.
const MAX_XML_NODES: u32 = 2_000_000;

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
    let document = Document { file, text: &text };
    let options = ParsingOptions { nodes_limit: MAX_XML_NODES, ..ParsingOptions::default() };
    let xml = roxmltree::Document::parse_with_options(&text, options).map_err(|error| {
        let place = error.pos();
        let line = text.lines().nth(place.row.saturating_sub(1) as usize).unwrap_or_default();
        TopologyError::Cell {
            file: file.to_owned(),
            line: u64::from(place.row),
            column: place.col as usize,
            field: "text".into(),
            value: input::shorten(line),
            expected: format!("XML ({error})"),
        }
    })?;
    let root = xml.root_element();
    if root.tag_name().name() != "graphml" {
        let name = root.tag_name().name();
        return Err(document.fault(root.range().start, "root", name, "an element graphml"));
    }
    let keys = Keys::read(&document, root)?;
    let mut collected = Collected::new();
    for node in elements(root, "node") {
        let at = node.range().start;
        let id = node.attribute("id").unwrap_or_default();
        if id.trim().is_empty() {
            return Err(document.fault(at, "node.id", id, "the id of the node"));
        }
        if let Some(first) = collected.name(id, document.place(at).0) {
            let expected = format!("an id of its own (line {first} has it too)");
            return Err(document.fault(at, "node.id", id, expected));
        }
        collected.report.rows += 1;
        let values = keys.values(&document, node)?;
        let mut given = Given::default();
        for field in GIVEN {
            if let Some((text, at)) = values.get(field) {
                input::give(&mut given, field, text)
                    .map_err(|expected| document.fault(*at, format!("node {id}: {field}"), text, expected))?;
            }
        }
        let degrees = |field: &str, limit: f64| match values.get(field) {
            Some((text, at)) => input::degrees(text, limit)
                .map_err(|expected| document.fault(*at, format!("node {id}: {field}"), text, expected)),
            None => {
                Err(document.fault(at, format!("node {id}: {field}"), "", "a position, or no part of it"))
            }
        };
        match (values.contains_key(LATITUDE) || values.contains_key(LONGITUDE), unplaced) {
            (true, _) => {
                let position =
                    Position { latitude: degrees(LATITUDE, 90.0)?, longitude: degrees(LONGITUDE, 180.0)? };
                collected.push(Site { name: id.to_owned(), position, given });
            }
            (false, Unplaced::Skip) => collected.report.unplaced += 1,
            (false, Unplaced::Error) => {
                let field = format!("node {id}: {LATITUDE}");
                return Err(document.fault(at, field, "", "a position (or leave such nodes out)"));
            }
        }
    }
    let Collected { sites, mut report, .. } = collected;
    if sites.is_empty() {
        return Err(document.fault(root.range().start, "node", "", "at least one node with a position"));
    }
    report.edges = elements(root, "edge").count();
    report.unused = keys.unused.into_iter().collect();
    Ok((sites, report))
}

const LATITUDE: &str = "latitude";
const LONGITUDE: &str = "longitude";

/// The attributes of nodes.
struct Keys<'a> {
    /// What we call it, by the id of its key; `None` for what is not used.
    fields: BTreeMap<&'a str, Option<&'static str>>,
    /// What nodes have that do not say it themselves: value and place.
    defaults: BTreeMap<&'static str, (String, usize)>,
    /// Names of the attributes that are not used.
    unused: BTreeSet<String>,
}

impl<'a> Keys<'a> {
    fn read(document: &Document<'_>, root: Node<'a, 'a>) -> Result<Keys<'a>, TopologyError> {
        let (mut fields, mut defaults) = (BTreeMap::new(), BTreeMap::new());
        let (mut unused, mut names) = (BTreeSet::new(), BTreeMap::new());
        let children = root.children().filter(|child| child.tag_name().name() == "key");
        for key in children {
            let at = key.range().start;
            let id = key.attribute("id").unwrap_or_default();
            let name = key.attribute("attr.name").unwrap_or_default();
            // Keys of edges and graphs are known too, so that a key nobody declared can be told; they are not ours.
            let of_nodes = matches!(key.attribute("for"), None | Some("node" | "all"));
            let field = field(name).filter(|_| of_nodes);
            if fields.insert(id, field).is_some() {
                return Err(document.fault(at, "key.id", id, "an id of its own"));
            }
            let Some(field) = field else {
                if of_nodes && !name.is_empty() {
                    unused.insert(name.to_owned());
                }
                continue;
            };
            if let Some(first) = names.insert(field, name) {
                return Err(document.fault(
                    at,
                    "key.attr.name",
                    name,
                    format!("one key of {field}; {first:?} is one"),
                ));
            }
            if let Some(default) = key.children().find(|child| child.tag_name().name() == "default") {
                let text = text_of(default);
                if !text.is_empty() {
                    defaults.insert(field, (text, default.range().start));
                }
            }
        }
        for wanted in [LATITUDE, LONGITUDE] {
            if !names.contains_key(wanted) {
                let expected = format!("a key of nodes whose attr.name is {wanted}");
                return Err(document.fault(root.range().start, "key.attr.name", "", expected));
            }
        }
        Ok(Keys { fields, defaults, unused })
    }

    /// What a node says, by what we call it: value and place. Empty values say nothing.
    fn values(
        &self,
        document: &Document<'_>,
        node: Node<'a, 'a>,
    ) -> Result<BTreeMap<&'static str, (String, usize)>, TopologyError> {
        let mut values = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for data in node.children().filter(|child| child.tag_name().name() == "data") {
            let (at, key) = (data.range().start, data.attribute("key").unwrap_or_default());
            let Some(field) = self.fields.get(key) else {
                return Err(document.fault(at, "data.key", key, "the id of a key"));
            };
            if !seen.insert(key) {
                return Err(document.fault(at, "data.key", key, "one value of this key"));
            }
            if let Some(field) = field {
                values.insert(*field, (text_of(data), at));
            }
        }
        for (field, default) in &self.defaults {
            values.entry(field).or_insert_with(|| default.clone());
        }
        values.retain(|_, (text, _)| !text.is_empty());
        Ok(values)
    }
}

/// What we call an attribute; `None` if we do not use it.
fn field(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "latitude" | "lat" => Some(LATITUDE),
        "longitude" | "lon" | "lng" | "long" => Some(LONGITUDE),
        other => GIVEN.into_iter().find(|given| *given == other),
    }
}

/// All elements of this name, whatever their namespace and depth.
fn elements<'a>(root: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    root.descendants().filter(move |node| node.is_element() && node.tag_name().name() == name)
}

/// The text of an element without its comments, and without the spaces around it.
fn text_of(element: Node<'_, '_>) -> String {
    let texts = element.children().filter(Node::is_text).filter_map(|child| child.text());
    texts.collect::<String>().trim().to_owned()
}
