//! Real data where it is: the sites of EUA and the columns of the Huawei trace, as they stand in the files.

use crate::common::experiment;
use scale_lab::scenario::{Built, Scenario, Sites, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

fn real() -> Option<PathBuf> {
    let folder = std::env::var_os("SCALE_DATASETS").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: SCALE_DATASETS is not set");
    }
    folder
}

fn build(sites: Sites, trace: Trace) -> Built {
    let paper = experiment("paper").scenario;
    Scenario { sites, trace, ..paper }.build().expect("a scenario")
}

#[test]
fn the_sites_are_those_of_the_file() {
    let Some(folder) = real() else { return };
    let built = build(Sites::Eua, Trace::Synthetic);
    let text = std::fs::read_to_string(folder.join("eua/site-optus-melbCBD.csv")).expect("the EUA sites");
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().expect("a header");
    let column = |name| header.iter().position(|found| *found == name).expect("a column");
    let (id, latitude, longitude) = (column("SITE_ID"), column("LATITUDE"), column("LONGITUDE"));
    let sites: BTreeMap<&str, (f64, f64)> = rows
        .filter(|row| row.len() > 1)
        .map(|row| {
            let degrees = |column: usize| row[column].parse().expect("degrees");
            (row[id], (degrees(latitude), degrees(longitude)))
        })
        .collect();
    let nodes = &built.platform.topology.nodes;
    assert_eq!((nodes.len(), sites.len()), (125, 125));
    for node in nodes {
        assert_eq!(
            (node.position.latitude, node.position.longitude),
            sites[node.name.as_str()],
            "{}",
            node.name
        );
    }
    assert_eq!(built.data, "sites: EUA; trace: synthetic (calibrated generator)");
}

#[test]
fn real_columns_replace_synthetic_ones_and_nothing_else() {
    let Some(folder) = real() else { return };
    let (mixed, synthetic) = (build(Sites::Eua, Trace::Huawei), build(Sites::Eua, Trace::Synthetic));
    let day = mixed.scenario.arrivals.day;
    let days: Vec<u32> = mixed.counts.days.keys().copied().collect();
    assert!(days.len() > 1 && days.contains(&day), "{days:?}");
    for day in days {
        let file = folder.join(format!("huawei/private_dataset/requests_minute/day_{day:03}.csv"));
        let text = std::fs::read_to_string(file).expect("a day of the trace");
        let mut lines = text.lines();
        let columns: Vec<&str> = lines.next().expect("a header").split(',').skip(2).collect();
        let rows: Vec<Vec<Option<f64>>> =
            lines.map(|line| line.split(',').skip(2).map(|cell| cell.parse().ok()).collect()).collect();
        assert_eq!(rows.len(), 1440);
        let real: BTreeSet<usize> = columns.iter().map(|name| name.parse().expect("a number")).collect();
        let counts = mixed.counts.day(day).expect("a day");
        let generated = synthetic.counts.day(day).expect("a day");
        assert_eq!(counts.functions(), 200);
        let mut changed = 0;
        for function in 0..200 {
            let ours: Vec<Option<f64>> = counts.series(function).map(|count| count.map(f64::from)).collect();
            match columns.iter().position(|name| *name == function.to_string()) {
                Some(column) => {
                    let theirs: Vec<Option<f64>> = rows.iter().map(|row| row[column]).collect();
                    assert_eq!(ours, theirs, "day {day}, function {function}");
                    changed += usize::from(!counts.series(function).eq(generated.series(function)));
                }
                None => assert!(
                    counts.series(function).eq(generated.series(function)),
                    "day {day}, function {function} is not in the trace, and changed"
                ),
            }
        }
        assert_eq!(changed, real.len(), "day {day}");
    }
    let label = "sites: EUA; trace: Huawei (2 of 200 functions), the others synthetic";
    if mixed.counts.functions.len() == 200 && mixed.data != label {
        // A folder with the whole trace says so.
        assert!(mixed.data.starts_with("sites: EUA; trace: Huawei ("), "{}", mixed.data);
    }
    assert_ne!(mixed.hash, synthetic.hash, "other data is another scenario");
    // What is drawn for the functions is the same with and without the trace.
    assert_eq!(mixed.platform, synthetic.platform);
}

/// `auto` takes what there is and says which; the word of the scenario is not part of what is played.
#[test]
fn auto_takes_what_is_there() {
    let auto = build(Sites::Auto, Trace::Auto);
    let (eua, huawei) = (auto.data.contains("sites: EUA;"), auto.data.contains("trace: Huawei ("));
    let sites = if eua { Sites::Eua } else { Sites::Embedded };
    let trace = if huawei { Trace::Huawei } else { Trace::Synthetic };
    let named = build(sites, trace);
    assert_eq!((&auto.platform, &auto.counts, &auto.data), (&named.platform, &named.counts, &named.data));
    if real().is_some() {
        assert!(eua && huawei, "{}", auto.data);
    }
}

#[test]
fn embedded_data_says_so() {
    let built = build(Sites::Embedded, Trace::Synthetic);
    assert_eq!(built.data, "sites: embedded default (made by rule); trace: synthetic (calibrated generator)");
    assert_eq!(built.platform.topology.nodes.len(), 125);
    assert_eq!(built.platform.functions.len(), 200);
}
