//! Figures from data that was made up: the same bytes twice, readable SVG, every series in it, any number of series.

use super::*;
use crate::stats::Interval;

/// `count` algorithms; with many, the last is overloaded, and one has no values.
fn fake(count: usize, seeds: usize) -> Vec<Series> {
    let names = [
        "Midaco 200k",
        "Scale (PPO)",
        "m-DQN",
        "greedy-latency",
        "greedy-regret",
        "nearest",
        "warm-first-fit",
        "least-loaded",
        "power-of-two",
        "k8s-default",
        "openwhisk-sharding",
        "hermod",
        "round-robin",
        "MILP <best> & gap",
        "not measured",
        "random-feasible",
    ];
    let one = |i: usize| {
        let slow = if i == 15 { 12.0 } else { 1.0 };
        let mean = (170.0 + 9.0 * i as f64) * slow;
        let estimate = |mean: f64, half: f64| {
            let interval = (seeds > 1).then_some(Interval { low: mean - half, high: mean + half });
            (i != 14).then_some(Estimate { mean, n: seeds, interval })
        };
        let mut cdf = Cdf::new();
        for k in 0..4000 {
            let u = (k as f64 + 0.5) / 4000.0;
            cdf.add(mean + 45.0 * slow * (u / (1.0 - u)).ln() * (1.0 + u * u * 0.6));
        }
        let time = 10f64.powf(0.4 + 0.4 * (15 - i) as f64);
        Series {
            style: Style {
                algorithm: names[i].to_lowercase(),
                label: names[i].to_string(),
                color: PALETTE[i % PALETTE.len()],
                mark: i,
            },
            seeds,
            requests: 60_000 * seeds as u64,
            decisions: 20_000,
            cdf,
            latency_ms_mean: estimate(mean, 3.0),
            latency_ms_p50: estimate(mean - 4.0, 4.0),
            latency_ms_p99: estimate(2.1 * mean, 22.0),
            slo_violation_rate: estimate((0.016 + 0.013 * i as f64) * slow.min(4.0), 0.006),
            decision_us_mean: estimate(time * 1.4, time * 0.1),
            decision_us_p50: estimate(time, time * 0.1),
            decision_us_p99: estimate(time * 5.0, time),
        }
    };
    (0..count).map(one).collect()
}

fn caption() -> Caption {
    let data = "embedded default topology and synthetic workload".to_string();
    Caption { experiment: "paper".to_string(), data }
}

fn fake_nodes() -> (Vec<MapNode>, Vec<String>) {
    // A lattice with a twist: the golden ratio spreads points evenly and the same way every time.
    let node = |i: usize| {
        let u = (i as f64 * 0.618_034).fract();
        let v = (i as f64 * 0.381_966 * 1.7).fract();
        MapNode { latitude: -37.822 + 0.013 * v, longitude: 144.951 + 0.023 * u, node_type: i * 7 % 10 }
    };
    let name = |i: usize| format!("{:.1} GHz, {} GB", 2.4 + 1.2 * i as f64 / 9.0, 10 + 20 * i / 9);
    ((0..125).map(node).collect(), (0..10).map(name).collect())
}

fn all_figures(count: usize, seeds: usize) -> Vec<Figure> {
    let (series, (nodes, names), caption) = (fake(count, seeds), fake_nodes(), caption());
    let figures = [
        map(&nodes, &names, &caption),
        cdf(&series, (200.0, 400.0), &caption),
        percentiles(&series, &caption),
        violations(&series, &caption),
        decision_time(&series, &caption),
    ];
    figures.into_iter().map(|figure| figure.expect("a figure")).collect()
}

#[test]
fn figures_have_the_same_bytes_twice_and_name_every_series() {
    let folder = tempfile::tempdir().expect("a folder");
    // `SCALE_DRAW_TESTS=<folder>` keeps them, to be looked at.
    let kept = std::env::var_os("SCALE_DRAW_TESTS").map(PathBuf::from);
    for (count, seeds) in [(1, 1), (3, 10), (16, 10)] {
        for figure in all_figures(count, seeds) {
            let at = |turn: &str| kept.as_deref().unwrap_or(folder.path()).join(format!("{count}-{turn}"));
            let first = figure.write(&at("a")).expect("written").map(|file| fs::read(file).expect("there"));
            let again = figure.write(&at("b")).expect("written").map(|file| fs::read(file).expect("there"));
            assert!(first == again, "{} with {count} series", figure.name);
            let svg = String::from_utf8(first[0].clone()).expect("UTF-8");
            assert!(
                svg.starts_with("<svg width=\"480\"") && svg.contains("<title>") && svg.contains("<desc>")
            );
            assert!(svg.contains("<text") && svg.contains("sans-serif"));
            if figure.name != "figure-1-map" {
                for series in fake(count, seeds) {
                    assert!(
                        svg.contains(&escape(&series.style.label)),
                        "{}: {}",
                        figure.name,
                        series.style.label
                    );
                }
            }
        }
    }
}

#[test]
fn no_text_leaves_the_page() {
    for count in [1, 3, 16] {
        for figure in all_figures(count, 10) {
            let outside = figure.scene.texts_outside();
            assert!(outside.is_empty(), "{} with {count} series: {outside:?}", figure.name);
        }
    }
}

#[test]
fn every_algorithm_of_the_roster_has_its_own_colour_of_the_palette() {
    let mut seen = Vec::new();
    for entry in crate::roster::ROSTER {
        assert!(PALETTE.contains(&entry.color), "{}: {:?} is not in the palette", entry.name, entry.color);
        assert!(!seen.contains(&entry.color), "{}: {:?} is taken", entry.name, entry.color);
        seen.push(entry.color);
    }
}

#[test]
fn figures_have_the_numbers_of_the_paper() {
    let numbers: Vec<&str> = all_figures(3, 10).iter().map(Figure::number).collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5"]);
}

#[test]
fn nothing_to_draw_is_an_error() {
    assert!(matches!(map(&[], &[], &caption()), Err(DrawError::Empty { .. })));
    for figure in [
        cdf(&[], (200.0, 400.0), &caption()),
        percentiles(&[], &caption()),
        violations(&[], &caption()),
        decision_time(&[], &caption()),
    ] {
        let message = figure.expect_err("no series").to_string();
        assert!(message.contains("needs at least one series"), "{message}");
    }
}

#[test]
fn a_figure_of_nothing_measured_says_so() {
    let mut empty = fake(2, 1);
    for series in &mut empty {
        series.cdf = Cdf::new();
        series.latency_ms_mean = None;
        series.latency_ms_p50 = None;
        series.latency_ms_p99 = None;
        series.slo_violation_rate = None;
        series.decision_us_mean = None;
        series.decision_us_p50 = None;
        series.decision_us_p99 = None;
    }
    for figure in
        [percentiles(&empty, &caption()), violations(&empty, &caption()), decision_time(&empty, &caption())]
    {
        let svg = figure.expect("a figure").svg().expect("an SVG");
        assert!(svg.contains("n/a") && !svg.contains("NaN"), "{svg}");
    }
}

#[test]
fn series_come_in_the_order_of_the_roster() {
    use crate::record::tests::cell;
    let records =
        Records::new(vec![cell("b", "", 1), cell("a", "", 2), cell("a", "", 1), cell("c", "load=2", 1)]);
    let style = |(mark, name): (usize, &str)| Style {
        algorithm: name.to_string(),
        label: name.to_uppercase(),
        color: PALETTE[mark],
        mark,
    };
    let styles: Vec<Style> = ["b", "missing", "a"].into_iter().enumerate().map(style).collect();
    let found = series(&records, "", &styles);
    let summary: Vec<_> = found.iter().map(|s| (s.style.mark, s.seeds, s.requests, s.cdf.total())).collect();
    assert_eq!(summary, [(0, 1, 4, 4), (2, 2, 8, 8)]);
    assert_eq!(found[0].latency_ms_mean.map(|e| e.interval), Some(None));
    assert_eq!(extent(&found), "1 to 2 seeds with 4 measured requests each");
    assert!(intervals(&found, "whiskers").ends_with("none where there is one seed"));
}
