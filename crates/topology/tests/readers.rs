//! GeoJSON and GraphML: what is refused and where, what is read, and the packed, marked and spaced forms of every format.

use flate2::{Compression, write::GzEncoder};
use scale_model::{Cores, Memory, Position};
use scale_topology::{
    Format, Given, HardwareSpec, LinkSpec, ReadReport, Site, TopologyError, Unplaced, build, eua, parse_sites,
};
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};

type Read = Result<(Vec<Site>, ReadReport, Format), TopologyError>;

fn parse(content: impl AsRef<[u8]>) -> Read {
    parse_sites(Path::new("f"), content.as_ref(), Unplaced::Error)
}

/// The message for a content that is refused, without the name of the file.
fn refused(content: impl AsRef<[u8]>) -> String {
    let message = match parse(content.as_ref()) {
        Ok(_) => panic!("read: {}", String::from_utf8_lossy(content.as_ref())),
        Err(error) => error.to_string(),
    };
    message.strip_prefix("f:").expect("the file comes first").to_owned()
}

fn sample(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/samples");
    std::fs::read(folder.join(name)).expect("a sample")
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).expect("memory");
        archive.write_all(content).expect("memory");
    }
    archive.finish().expect("memory").into_inner()
}

/// One feature, on line 2 of a collection.
fn collection(feature: &str) -> String {
    format!("{{\"type\":\"FeatureCollection\",\"features\":[\n{feature}\n]}}")
}

fn point(properties: &str) -> String {
    collection(&format!(
        "{{\"type\":\"Feature\",\"geometry\":{{\"type\":\"Point\",\"coordinates\":[1,2]}},\"properties\":{properties}}}"
    ))
}

#[test]
fn bad_geojson_is_refused_where_it_stands() {
    let geometry = |geometry: &str| {
        collection(&format!(
            "{{\"type\":\"Feature\",\"id\":\"a\",\"geometry\":{geometry},\"properties\":null}}"
        ))
    };
    let at = |coordinates: &str| geometry(&format!("{{\"type\":\"Point\",\"coordinates\":{coordinates}}}"));
    let table: [(String, &str); 29] = [
        // Not JSON.
        ("{".into(), "1:1: file: \"{\": expected JSON (EOF while parsing an object)"),
        (collection("{\"type\" \"Feature\"}"), "2:9: file: \"\\\"Feature\\\"}\": expected JSON (expected `:`)"),
        (collection("{\"id\": nul}"), "2:11: file: \"}\": expected JSON (expected ident)"),
        // Not this kind of JSON.
        ("[1]".into(), "1:1: file: \"[1]\": expected an object"),
        ("{\"type\":\"Topology\"}".into(), "1:9: type: \"\\\"Topology\\\"\": expected \"FeatureCollection\""),
        ("{\"features\":[]}".into(), "1:1: type: \"{\\\"features\\\":[]}\": expected a member \"type\""),
        (
            "{\"type\":\"FeatureCollection\"}".into(),
            "1:1: features: \"{\\\"type\\\":\\\"FeatureCollection\\\"}\": expected a member \"features\"",
        ),
        (
            "{\"type\":\"FeatureCollection\",\"features\":{}}".into(),
            "1:40: features: \"{}\": expected a list",
        ),
        (
            "{\"type\":\"FeatureCollection\",\"features\":[]}".into(),
            "1:1: features: \"{\\\"type\\\":\\\"FeatureCollection\\\",\\\"features\\\":[]}\": expected at least one site with a position",
        ),
        (
            "{\"type\":\"FeatureCollection\",\"type\":\"FeatureCollection\",\"features\":[]}".into(),
            "1:36: file.type: \"\\\"FeatureCollection\\\"\": expected one member of this name",
        ),
        (
            "{\"type\":\"FeatureCollection\",\"crs\":{\"properties\":{\"name\":\"EPSG:3857\"}},\"features\":[]}".into(),
            "1:35: crs: \"{\\\"properties\\\":{\\\"name\\\":\\\"EPSG:3857\\\"}}\": expected longitude and latitude (CRS84)",
        ),
        (collection("7"), "2:1: features[0]: \"7\": expected an object"),
        (collection("{\"type\":\"Point\"}"), "2:9: features[0].type: \"\\\"Point\\\"\": expected \"Feature\""),
        // Geometries.
        (geometry("{\"type\":\"LineString\",\"coordinates\":[[1,2],[3,4]]}"),
            "2:47: features[0].geometry.type: \"\\\"LineString\\\"\": expected \"Point\""),
        (geometry("null"), "2:1: features[0].geometry: \"{\\\"type\\\":\\\"Feature\\\",\\\"id\\\":\\\"a\\\",\\\"geometry\\\":null,\\\"properties\\\":null}\": expected a Point (or leave such sites out)"),
        (at("[1]"), "2:69: features[0].geometry.coordinates: \"[1]\": expected longitude, latitude"),
        (at("7"), "2:69: features[0].geometry.coordinates: \"7\": expected a list"),
        (at("[1,91]"), "2:72: features[0].geometry.coordinates[1]: \"91\": expected degrees from -90 to 90"),
        // Latitude first is the usual mistake.
        (at("[-37.8,144.9]"), "2:76: features[0].geometry.coordinates[1]: \"144.9\": expected degrees from -90 to 90"),
        (at("[\"1\",2]"), "2:70: features[0].geometry.coordinates[0]: \"\\\"1\\\"\": expected degrees from -180 to 180"),
        (at("[1e999,2]"), "2:70: features[0].geometry.coordinates[0]: \"1e999\": expected degrees from -180 to 180"),
        (at("[null,2]"), "2:70: features[0].geometry.coordinates[0]: \"null\": expected degrees from -180 to 180"),
        // Properties.
        (point("[]"), "2:80: features[0].properties: \"[]\": expected an object"),
        (point("{\"node_type\":10}"), "2:93: features[0].properties.node_type: \"10\": expected a number from 0 to 9 or a name as in \"2.4 GHz, 14 GB\""),
        (point("{\"cores\":0}"), "2:89: features[0].properties.cores: \"0\": expected a number from 0.001 to 1000000"),
        (point("{\"memory_mb\":128.5}"), "2:93: features[0].properties.memory_mb: \"128.5\": expected a whole number of megabytes from 1 to 1000000000"),
        // More than a platform may have; the fuzzer found that the reader let it pass.
        (point("{\"memory_mb\":2147483648}"), "2:93: features[0].properties.memory_mb: \"2147483648\": expected a whole number of megabytes from 1 to 1000000000"),
        (point("{\"cores\":1000001}"), "2:89: features[0].properties.cores: \"1000001\": expected a number from 0.001 to 1000000"),
        (point("{\"cores\":1,\"cores\":2}"), "2:99: features[0].properties.cores: \"2\": expected one member of this name"),
    ];
    for (content, expected) in table {
        assert_eq!(refused(&content), expected, "{content}");
    }
    let twice = |first: &str, second: &str| {
        let feature = |id: &str| {
            format!("{{\"type\":\"Feature\",{id}\"geometry\":{{\"type\":\"Point\",\"coordinates\":[1,2]}}}}")
        };
        collection(&format!("{},\r\n{}", feature(first), feature(second)))
    };
    assert_eq!(
        refused(twice("\"id\":7,", "\"id\":\"7\",")),
        "3:24: features[1].id: \"\\\"7\\\"\": expected a name of its own (line 2 has it too)"
    );
    // A row's name can be taken.
    assert!(refused(twice("\"id\":\"row-0002\",", "")).contains("(line 2 has it too)"));
    assert!(refused(twice("\"id\":\" \",", "")).contains("expected the name of the site"));
}

#[test]
fn bad_graphml_is_refused_where_it_stands() {
    let keys = "<key id=\"y\" for=\"node\" attr.name=\"lat\"/><key id=\"x\" for=\"node\" attr.name=\"Lon\"/>\
                <key id=\"c\" for=\"node\" attr.name=\"cores\"/><key id=\"l\" for=\"edge\" attr.name=\"Latitude\"/>";
    let graph = |nodes: &str| format!("<graphml>{keys}<graph>\n{nodes}\n</graph></graphml>");
    let node = |data: &str| graph(&format!("<node id=\"n\">{data}</node>"));
    let (y, x) = ("<data key=\"y\">1</data>", "<data key=\"x\">2</data>");
    let table: [(String, &str); 19] = [
        // Not XML, or XML that could grow.
        (
            "<graphml>\n<graph".into(),
            "1:1: text: \"<graphml>\": expected XML (the root node was opened but never closed)",
        ),
        (
            "<graphml>\n</graph>".into(),
            "2:1: text: \"</graph>\": expected XML (expected 'graphml' tag, not 'graph' at 2:1)",
        ),
        (
            "<!DOCTYPE a [<!ENTITY b \"c\">]>\n<graphml>&b;</graphml>".into(),
            "1:1: text: \"<!DOCTYPE a [<!ENTITY b \\\"c\\\">]>\": expected XML (XML with DTD detected)",
        ),
        ("<gml/>".into(), "1:1: root: \"gml\": expected an element graphml"),
        // Keys.
        (
            "<graphml><key id=\"y\" attr.name=\"lat\"/></graphml>".into(),
            "1:1: key.attr.name: \"\": expected a key of nodes whose attr.name is longitude",
        ),
        (
            "<graphml>\n <key id=\"l\" for=\"edge\" attr.name=\"lat\"/></graphml>".into(),
            "1:1: key.attr.name: \"\": expected a key of nodes whose attr.name is latitude",
        ),
        (
            format!("<graphml>{keys}\n<key id=\"z\" for=\"all\" attr.name=\"Latitude\"/></graphml>"),
            "2:1: key.attr.name: \"Latitude\": expected one key of latitude; \"lat\" is one",
        ),
        (
            format!("<graphml>{keys}\n<key id=\"c\" for=\"node\" attr.name=\"d\"/></graphml>"),
            "2:1: key.id: \"c\": expected an id of its own",
        ),
        // Nodes.
        (graph(""), "1:1: node: \"\": expected at least one node with a position"),
        (graph("<node/>"), "2:1: node.id: \"\": expected the id of the node"),
        (
            graph(&format!("<node id=\"n\">{x}{y}</node>\n<node id=\"n\"/>")),
            "3:1: node.id: \"n\": expected an id of its own (line 2 has it too)",
        ),
        (node(""), "2:1: node n: latitude: \"\": expected a position (or leave such nodes out)"),
        (node(y), "2:1: node n: longitude: \"\": expected a position, or no part of it"),
        (
            node(&format!("{y}<data key=\"x\"> </data>")),
            "2:1: node n: longitude: \"\": expected a position, or no part of it",
        ),
        (
            node(&format!("{y}<data key=\"x\">180.5</data>")),
            "2:36: node n: longitude: \"180.5\": expected degrees from -180 to 180",
        ),
        (
            node("<data key=\"y\">NaN</data>"),
            "2:14: node n: latitude: \"NaN\": expected degrees from -90 to 90",
        ),
        (node(&format!("{x}{y}{y}")), "2:58: data.key: \"y\": expected one value of this key"),
        (node(&format!("{x}{y}<data key=\"q\"/>")), "2:58: data.key: \"q\": expected the id of a key"),
        (
            node(&format!("{x}{y}<data key=\"c\">-1</data>")),
            "2:58: node n: cores: \"-1\": expected a number from 0.001 to 1000000",
        ),
    ];
    for (content, expected) in table {
        assert_eq!(refused(&content), expected, "{content}");
    }
}

#[test]
fn other_files_are_refused_by_what_they_are_not() {
    let layouts = "expected GeoJSON, GraphML, or CSV with SITE_ID,LATITUDE,LONGITUDE or LATITUDE,LONGITUDE,RADIUS_M or \
                   Latitude,Longitude";
    assert_eq!(refused("a,b\n1,2\n"), format!("1:1: header: \"a,b\": {layouts}"));
    assert_eq!(refused(""), format!("1:1: header: \"\": {layouts}"));
    assert_eq!(refused(b"\xff\xfe{\0"), "1:1: text: \"\u{fffd}\u{fffd}{\\0\": expected UTF-8");
    let two = zip(&[("a.csv", b"1"), ("b.csv", b"2")]);
    assert_eq!(refused(two), " cannot be read: expected a zip archive of one file, found \"a.csv, b.csv\"");
    let cut = gzip(&sample("eua-sites.csv"));
    assert!(refused(&cut[..cut.len() / 2]).starts_with(" cannot be read: "));
    assert!(refused(b"PK\x03\x04 and no more").starts_with(" cannot be read: "));
    // 65 MiB of zeros are 65 kB.
    let bomb = gzip(&vec![b'0'; 65 << 20]);
    assert!(bomb.len() < 1 << 20);
    assert_eq!(refused(bomb), " cannot be read: expected at most 64 MiB, unpacked");
}

#[test]
fn the_samples_are_read() {
    let (sites, report, format) = parse(sample("sites.geojson")).expect("GeoJSON");
    assert_eq!(format, Format::GeoJson);
    let names: Vec<&str> = sites.iter().map(|site| site.name.as_str()).collect();
    assert_eq!(names, ["roof-1", "roof-2", "3", "Depot", "row-0005", "roof-6"]);
    assert_eq!(sites[1].position, Position { latitude: -37.801, longitude: 144.952 });
    let given = |kind, milli, mb| Given {
        kind,
        cores: Some(milli).map(|milli| Cores { milli }).filter(|cores| cores.milli > 0),
        memory: Some(mb).map(|mb| Memory { mb }).filter(|memory| memory.mb > 0),
    };
    let expected = [given(Some(3), 8000, 32_000), given(Some(9), 0, 0), given(None, 500, 0)];
    assert_eq!(sites.iter().take(3).map(|site| site.given).collect::<Vec<_>>(), expected);
    assert!(sites[3..].iter().all(|site| site.given == Given::default()));
    let unused = vec!["owner".to_owned()];
    assert_eq!(report, ReadReport { rows: 6, same_position: 1, unused, ..ReadReport::default() });

    assert!(refused(sample("network.graphml")).starts_with("29:5: node 3: latitude: \"\""));
    let network = sample("network.graphml");
    let (sites, report, format) = parse_sites(Path::new("f"), &network, Unplaced::Skip).expect("GraphML");
    assert_eq!(format, Format::GraphMl);
    let expected = [given(None, 16_000, 0), given(None, 4000, 8000), given(None, 16_000, 0)];
    assert_eq!(sites.iter().map(|site| site.given).collect::<Vec<_>>(), expected);
    assert_eq!(sites[2].name, "2");
    assert_eq!(sites[2].position, Position { latitude: -37.5622, longitude: 143.8503 });
    assert_eq!(
        report.to_string(),
        "4 rows; at the position of an earlier one: 0; blank lines: 0; left out for want of a position: 1; edges, not used: \
         3; properties, not used: label"
    );
}

/// The data, not its wrapping: byte order mark, CRLF, gzip, zip, and a zip with what macOS adds.
#[test]
fn every_format_is_read_in_every_wrapping() {
    for name in ["eua-sites.csv", "eua-centers.csv", "eua-users.csv", "sites.geojson", "network.graphml"] {
        let plain = sample(name);
        let read = |content: &[u8]| {
            let (sites, _, format) = parse_sites(Path::new("f"), content, Unplaced::Skip)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            (sites, format)
        };
        let expected = read(&plain);
        let text = String::from_utf8(plain.clone()).expect("text").replace("\r\n", "\n");
        let crlf = text.replace('\n', "\r\n");
        let marked = [b"\xef\xbb\xbf", crlf.as_bytes()].concat();
        let mac = zip(&[("a/", b""), ("a/sites", &marked), ("__MACOSX/a/._sites", b"x")]);
        let wrapped = [
            text.into_bytes(),
            crlf.into_bytes(),
            marked.clone(),
            gzip(&plain),
            gzip(&marked),
            zip(&[("s", &plain)]),
            mac,
        ];
        for (index, content) in wrapped.iter().enumerate() {
            assert_eq!(read(content), expected, "{name}, wrapping {index}");
        }
    }
}

/// Line, column and value of a fault in a packed file are those of the text in it.
#[test]
fn faults_in_packed_files_stand_where_they_stand_in_the_text() {
    let text = "SITE_ID,LATITUDE,LONGITUDE\r\n1,x,2\r\n";
    assert_eq!(refused(gzip(text.as_bytes())), refused(text));
    assert_eq!(refused(text), "2:2: LATITUDE: \"x\": expected degrees from -90 to 90");
}

fn datasets() -> Option<PathBuf> {
    let folder = std::env::var_os("SCALE_DATASETS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: SCALE_DATASETS is not set");
    }
    folder
}

/// Every real file of positions, against a count that shares no code with the readers: lines that are not empty, less one.
#[test]
fn counts_of_the_real_files_equal_those_of_their_lines() {
    let Some(folder) = datasets() else { return };
    let hardware = HardwareSpec { cores_per_ghz: 1.0 };
    let links = LinkSpec { line_mb_s: 100.0, hop_m: 500.0 };
    let mut files = 0;
    for entry in std::fs::read_dir(folder.join("eua")).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "csv") {
            continue;
        }
        files += 1;
        let bytes = std::fs::read(&path).expect("the file");
        let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !matches!(**line, [] | [b'\r'])).count();
        let (sites, report, _) = scale_topology::read_sites(&path, Unplaced::Error).expect("sites");
        assert_eq!((sites.len(), report.rows), (lines - 1, lines - 1), "{}", path.display());
        // Sums too: the cells of a line without quotes are what stands between its commas.
        let text = String::from_utf8(bytes).expect("text");
        let header: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
        for (column, of) in [("latitude", 0), ("longitude", 1)] {
            let place = header.iter().position(|name| name.eq_ignore_ascii_case(column)).expect("a column");
            let cell = |line: &str| line.split(',').nth(place).map(str::parse::<f64>);
            let sum: f64 =
                text.lines().skip(1).map(|line| cell(line).expect("a cell").expect("a number")).sum();
            let read: f64 =
                sites.iter().map(|site| [site.position.latitude, site.position.longitude][of]).sum();
            assert_eq!(read.to_bits(), sum.to_bits(), "{column} of {}", path.display());
        }
        let topology = build(&sites, &hardware, &links, scale_model::Seed(1)).expect("a topology");
        assert_eq!(topology.nodes.len(), lines - 1);
    }
    assert_eq!(files, 3, "expected sites, users and centres of EUA");
}

/// What the users' numbers must agree with, whoever reads them.
#[test]
fn eua_users_are_sites_too() {
    let (sites, report, format) = parse(sample("eua-users.csv")).expect("users");
    let (users, of_users) = eua::parse_users(Path::new("f"), &sample("eua-users.csv")).expect("users");
    assert_eq!(format, Format::EuaUsers);
    assert_eq!(report, of_users);
    assert_eq!(sites.iter().map(|site| site.position).collect::<Vec<_>>(), users);
    assert_eq!(sites[23].name, "row-0024");
}
