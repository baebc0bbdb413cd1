//! Faults that users of other simulators and readers reported in public, held against ours. Each test names the issue.

use scale_model::Position;
use scale_topology::{Unplaced, parse_sites};
use std::path::Path;

fn message(content: &str) -> String {
    match parse_sites(Path::new("f"), content.as_bytes(), Unplaced::Error) {
        Ok(_) => panic!("read: {content}"),
        Err(error) => error.to_string(),
    }
}

/// BurntSushi/rust-csv#81: a byte order mark becomes part of the first column's name. Each first column is looked for here.
#[test]
fn rust_csv_81_a_byte_order_mark_is_no_part_of_the_first_name() {
    for content in [
        "SITE_ID,LATITUDE,LONGITUDE\n1,2,3\n",
        "LATITUDE,LONGITUDE,RADIUS_M\n2,3,4\n",
        "Latitude,Longitude\n2,3\n",
        "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[3,2]}}]}",
        "<graphml><key id=\"a\" attr.name=\"lat\"/><key id=\"o\" attr.name=\"lon\"/><graph><node id=\"1\"><data \
         key=\"a\">2</data><data key=\"o\">3</data></node></graph></graphml>",
    ] {
        for mark in ["", "\u{feff}"] {
            let content = format!("{mark}{content}");
            let (sites, ..) = parse_sites(Path::new("f"), content.as_bytes(), Unplaced::Error)
                .unwrap_or_else(|error| panic!("{content:?}: {error}"));
            assert_eq!(sites[0].position, Position { latitude: 2.0, longitude: 3.0 }, "{content:?}");
        }
    }
}

/// EdgeSimPy/edgesimpy-tutorials#2: what is missing came out as a bare `KeyError`. Here file, line, field and what was expected.
#[test]
fn edgesimpy_tutorials_2_what_is_missing_is_named() {
    for (content, named) in [
        ("SITE_ID,LATITUDE\n1,2\n", "f:1:3: LONGITUDE: \"SITE_ID,LATITUDE\": expected a column LONGITUDE"),
        ("LATITUDE,RADIUS_M\n1,2\n", "f:1:3: LONGITUDE: \"LATITUDE,RADIUS_M\": expected a column LONGITUDE"),
        ("{\"type\":\"FeatureCollection\"}", "expected a member \"features\""),
        (
            "{\"type\":\"FeatureCollection\",\"features\":[{}]}",
            "f:1:41: features[0].type: \"{}\": expected a member \"type\"",
        ),
        (
            "{\"type\":\"FeatureCollection\",\"features\":[{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\"}}]}",
            "features[0].geometry.coordinates: \"{\\\"type\\\":\\\"Point\\\"}\": expected a member \"coordinates\"",
        ),
        (
            "<graphml><graph><node id=\"1\"/></graph></graphml>",
            "expected a key of nodes whose attr.name is latitude",
        ),
    ] {
        let message = message(content);
        assert!(message.contains(named), "{content}: {message}");
    }
}

/// alibaba/clusterdata#33: one id twice, the second time with other values. No format takes either silently.
#[test]
fn clusterdata_33_an_id_that_is_there_twice_is_an_error() {
    for content in [
        "SITE_ID,LATITUDE,LONGITUDE\n1,2,3\n1,4,5\n",
        "{\"type\":\"FeatureCollection\",\"features\":[\n{\"type\":\"Feature\",\"id\":1,\"geometry\":{\"type\":\"Point\",\"coordinates\":[3,2]}},\
         {\"type\":\"Feature\",\"id\":1,\"geometry\":{\"type\":\"Point\",\"coordinates\":[5,4]}}]}",
        "<graphml><key id=\"a\" attr.name=\"lat\"/><key id=\"o\" attr.name=\"lon\"/><graph>\n<node id=\"1\"><data \
         key=\"a\">2</data><data key=\"o\">3</data></node><node id=\"1\"><data key=\"a\">4</data><data \
         key=\"o\">5</data></node></graph></graphml>",
    ] {
        let message = message(content);
        assert!(message.contains("of its own (line 2 has it too)"), "{content}: {message}");
    }
}
