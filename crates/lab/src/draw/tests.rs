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
            parts_ms: (i != 14).then_some([0.2 * mean, 0.6 * mean, 0.15 * mean, 0.05 * mean]),
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
        parts(&series, &caption),
        pareto("figure-12-pareto".into(), &series, &caption),
        lines(&fake_sweep(&series), &caption),
        lines(&fake_convergence(&series), &caption),
        boxes(&fake_boxes(&series), &caption),
        tornado(&fake_tornado(seeds), &caption),
        bars(&fake_bars(&series), &caption),
    ];
    figures.into_iter().map(|figure| figure.expect("a figure")).collect()
}

fn estimate(mean: f64, half: f64, seeds: usize) -> Estimate {
    let interval = (seeds > 1).then_some(Interval { low: mean - half, high: mean + half });
    Estimate { mean, n: seeds, interval }
}

/// A load sweep whose last point is overload.
fn fake_sweep(series: &[Series]) -> LineChart {
    let panel = |axis: &str, scale, unit: f64| Panel {
        axis: axis.into(),
        scale,
        lines: series
            .iter()
            .map(|s| {
                let value = |load: f64| {
                    let wait =
                        if load > 0.2 { 900.0 * (load - 0.2) * (1.0 + s.style.mark as f64) } else { 0.0 };
                    let mean = unit * (170.0 + 2.0 * s.style.mark as f64 + 40.0 * load + wait);
                    (load, estimate(mean, 0.02 * mean, s.seeds))
                };
                let points = [0.1, 0.13, 0.16, 0.2, 0.25, 0.6].map(value).to_vec();
                Line { style: s.style.clone(), points }
            })
            .collect(),
    };
    LineChart {
        words: Words {
            name: "figure-8-load".into(),
            title: "How the load changes latency, violations and decision time".into(),
            reading: "Lower is better.".into(),
            notes: vec![extent(series)],
        },
        x_axis: "load (demand of a window over the cluster's cores)".into(),
        x_logarithmic: false,
        panels: vec![
            panel("mean latency (ms)", Scale::Linear, 1.0),
            panel("SLO violations (%)", Scale::Linear, 0.02),
            panel("decision time", Scale::Time, 0.1),
        ],
    }
}

fn fake_convergence(series: &[Series]) -> LineChart {
    let line = |s: &Series| {
        let value = |power: i32| {
            let gap = 30.0 * 10f64.powf(-0.4 * f64::from(power) - 0.05 * s.style.mark as f64);
            (10f64.powi(power), estimate(gap, 0.2 * gap, s.seeds))
        };
        Line { style: s.style.clone(), points: (2..=6).map(value).collect() }
    };
    LineChart {
        words: Words {
            name: "figure-11-convergence".into(),
            title: "How fast a search comes close to the optimum".into(),
            reading: "Lower is better.".into(),
            notes: Vec::new(),
        },
        x_axis: "evaluations (log scale)".into(),
        x_logarithmic: true,
        panels: vec![Panel {
            axis: "gap to the optimum (%)".into(),
            scale: Scale::Logarithmic,
            lines: series.iter().map(line).collect(),
        }],
    }
}

fn fake_boxes(series: &[Series]) -> BoxChart {
    let row = |s: &Series| BoxRow {
        label: s.style.label.clone(),
        color: s.style.color,
        values: (0..40).map(|i| 0.004 * 1.35f64.powi(s.style.mark as i32) * 1.2f64.powi(i)).collect(),
        reference: s.style.mark == 3,
    };
    BoxChart {
        words: Words {
            name: "figure-6-gap".into(),
            title: "Gap to the proven bound, batch by batch".into(),
            reading: "Further left is better.".into(),
            notes: vec!["400 batches.".into()],
        },
        axis: "gap (%, log scale)".into(),
        floor: 0.01,
        rows: series.iter().map(row).collect(),
    }
}

fn fake_tornado(seeds: usize) -> TornadoChart {
    let row = |(i, label): (usize, &str)| {
        let half = 0.3 / (1.0 + i as f64);
        let high = if i == 1 { 9.0 } else { 1.6 + half };
        TornadoRow {
            label: label.into(),
            low: ("half".into(), Some(estimate(1.6 - 0.7 * half, 0.02, seeds))),
            high: ("double".into(), (i != 3).then_some(estimate(high, 0.03, seeds))),
        }
    };
    let labels = ["keep-alive", "load", "input size", "links' rate", "image size", "memory of a function"];
    TornadoChart {
        words: Words {
            name: "figure-17-tornado".into(),
            title: "How the ratio of violations moves with each choice".into(),
            reading: "The longer a bar, the more the result rests on the choice.".into(),
            notes: Vec::new(),
        },
        axis: "SLO violations, nearest over greedy".into(),
        baseline: estimate(1.6, 0.05, seeds),
        rows: labels.into_iter().enumerate().map(row).collect(),
    }
}

/// Differences, below zero too.
fn fake_bars(series: &[Series]) -> BarChart {
    BarChart {
        words: Words {
            name: "figure-16-ablations".into(),
            title: "What each part of the agent is worth".into(),
            reading: "Below zero is better.".into(),
            notes: Vec::new(),
        },
        axis: "difference in mean latency (ms)".into(),
        bars: Vec::new(),
        write: |value| format!("{value:+.1}"),
        rows: series
            .iter()
            .map(|s| BarRow {
                label: s.style.label.clone(),
                color: s.style.color,
                values: vec![Some(estimate(4.0 - 1.5 * s.style.mark as f64, 1.0, s.seeds))],
            })
            .collect(),
    }
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
            if !["figure-1-map", "figure-17-tornado"].contains(&figure.name.as_str()) {
                // What was not timed has no place in a plane of time and quality.
                let timed = |s: &Series| figure.name != "figure-12-pareto" || s.decision_us_mean.is_some();
                for series in fake(count, seeds).into_iter().filter(timed) {
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
    let figures = all_figures(3, 10);
    let numbers: Vec<&str> = figures.iter().map(Figure::number).collect();
    assert_eq!(numbers, ["1", "2", "3", "4", "5", "10", "12", "8", "11", "6", "17", "16"]);
}

#[test]
fn nothing_to_draw_is_an_error() {
    assert!(matches!(map(&[], &[], &caption()), Err(DrawError::Empty { .. })));
    for figure in [
        cdf(&[], (200.0, 400.0), &caption()),
        percentiles(&[], &caption()),
        violations(&[], &caption()),
        decision_time(&[], &caption()),
        parts(&[], &caption()),
    ] {
        let message = figure.expect_err("no series").to_string();
        assert!(message.contains("needs at least one series"), "{message}");
    }
}

#[test]
fn curves_that_cannot_be_told_apart_are_drawn_as_one() {
    let hex = |style: &Style| format!("#{:02X}{:02X}{:02X}", style.color.0, style.color.1, style.color.2);
    let lines = |series: &[Series]| {
        let figure = cdf(series, (200.0, 400.0), &caption()).expect("a figure");
        let svg = figure.svg().expect("an SVG");
        let said = svg.contains("One line for all");
        (series.iter().filter(|s| svg.contains(&hex(&s.style))).count(), said, figure.alt)
    };
    let apart = fake(3, 10);
    assert_eq!((lines(&apart).0, lines(&apart).1), (3, false));
    let mut close = fake(3, 10);
    close[1].cdf = close[0].cdf.clone();
    let (drawn, said, alt) = lines(&close);
    assert_eq!((drawn, said), (2, true));
    // All are named all the same.
    assert!(close.iter().all(|s| alt.contains(&s.style.label)), "{alt}");
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
        series.parts_ms = None;
        series.decision_us_mean = None;
        series.decision_us_p50 = None;
        series.decision_us_p99 = None;
    }
    assert!(matches!(pareto("figure-12-pareto".into(), &empty, &caption()), Err(DrawError::Empty { .. })));
    for figure in [
        percentiles(&empty, &caption()),
        violations(&empty, &caption()),
        decision_time(&empty, &caption()),
        parts(&empty, &caption()),
    ] {
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
    assert_eq!(extent(&found), "1 to 2 seeds with 4 measured requests each on average");
    assert!(intervals(&found, "whiskers").ends_with("none where there is one seed"));
}
