//! Agents from the experiment's file to their records: trained once, on the training days, the same for any number of
//! threads, and refused where they do not fit.

use scale_agents::scale::Method;
use scale_lab::experiment::Experiment;
use scale_lab::train::{Agents, Learned, School, Tables, curve, kind_of};
use scale_lab::{measure, roster};
use std::path::Path;

/// The built-in tables, made small.
fn tables() -> Tables {
    let mut tables = Tables::built_in().expect("the built-in tables");
    for table in [&mut tables.scale, &mut tables.scale_imitation, &mut tables.scale_gradient] {
        (table.warmup_minutes, table.minutes, table.workloads) = (30, 30, 1);
        table.learner.generations = 3;
        table.learner.check_every = 1;
        match &mut table.learner.method {
            Method::Evolution(settings) => settings.pairs = 2,
            Method::Imitation(settings) => settings.requests = 30,
            Method::Gradient(settings) => (settings.requests, settings.horizon) = (30, 30),
        }
    }
    for (days, steps) in [
        (&mut tables.scale_ppo.warmup_minutes, &mut tables.scale_ppo.learner.total_steps),
        (&mut tables.m_dqn.warmup_minutes, &mut tables.m_dqn.learner.total_steps),
    ] {
        (*days, *steps) = (30, 600);
    }
    tables.scale_ppo.learner.rollout_steps = 256;
    tables.m_dqn.learner.report_every = 256;
    tables
}

/// A small version of a built-in experiment.
fn small(sites: &str) -> Experiment {
    let text = include_str!("../../../experiments/quick.toml");
    let text = text
        .replace("sites = \"embedded\"", &format!("sites = {sites}"))
        .replace("warmup_minutes = 200", "warmup_minutes = 60");
    let mut experiment = Experiment::parse(&text).expect("an experiment");
    experiment.scenario.arrivals.minutes = Some(40);
    experiment
}

fn played(experiment: &Experiment, agents: &Agents, name: &str) -> (f64, u64) {
    let built = experiment.scenario.build().expect("a scenario");
    let generated = built.workload(1).expect("requests");
    let entry = roster::find(name).expect("an entry");
    let played = measure::play(&built, &generated, entry, agents, 1, true).expect("it plays");
    (played.summary.objective, played.summary.measured)
}

#[test]
fn each_agent_is_trained_once_and_plays() {
    let folder = tempfile::tempdir().expect("a folder");
    let experiment = small("{ rule = 12 }");
    let school = School::new(&experiment.scenario, &tables()).expect("days to train on");
    for (learned, kind) in [
        (Learned::Scale, Learned::Scale),
        (Learned::ScaleMlp, Learned::Scale),
        (Learned::ScaleImitation, Learned::Scale),
        (Learned::ScaleGradient, Learned::Scale),
        (Learned::Ppo, Learned::Ppo),
        (Learned::MDqn, Learned::MDqn),
    ] {
        let path = school.train(learned, 1, folder.path()).expect("it trains");
        let bytes = std::fs::read(&path).expect("its file");
        let written = path.metadata().and_then(|data| data.modified()).expect("a time");
        assert_eq!(school.train(learned, 1, folder.path()).expect("it is there"), path);
        assert_eq!(
            path.metadata().and_then(|data| data.modified()).expect("a time"),
            written,
            "trained again"
        );
        assert_eq!(kind_of(&path).expect("an agent"), kind);
        assert!(!curve(&path).expect("a curve").is_empty());
        let agents = Agents::from_file(learned, &path).expect("an agent");
        let (objective, measured) = played(&experiment, &agents, learned.name());
        assert!(measured > 100 && objective.is_finite() && objective > 0.0);

        // Another folder, another number of threads: the same bytes. Another seed: another file.
        let elsewhere = tempfile::tempdir().expect("a folder");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        let again = pool.install(|| school.train(learned, 1, elsewhere.path())).expect("it trains");
        assert_eq!(std::fs::read(&again).expect("its file"), bytes, "{}", learned.name());
        assert_eq!(again.file_name(), path.file_name());
        let other = school.train(learned, 2, folder.path()).expect("it trains");
        assert_ne!(std::fs::read(&other).expect("its file"), bytes);
    }
}

#[test]
fn one_set_of_weights_serves_any_network_and_the_flat_ones_say_that_they_do_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let school = School::new(&small("{ rule = 12 }").scenario, &tables()).expect("days to train on");
    let scale = school.train(Learned::Scale, 1, folder.path()).expect("it trains");
    let ppo = school.train(Learned::Ppo, 1, folder.path()).expect("it trains");
    for sites in ["{ rule = 5 }", "{ rule = 40 }"] {
        let experiment = small(sites);
        let agents = Agents::from_file(Learned::Scale, &scale).expect("an agent");
        assert!(played(&experiment, &agents, "scale").1 > 0);
        let refused = Agents::from_file(Learned::MDqn, &ppo).expect_err("another agent");
        assert!(format!("{refused:#}").contains("holds scale-ppo, expected m-dqn"), "{refused:#}");
        let agents = Agents::from_file(Learned::Ppo, &ppo).expect("an agent");
        let built = experiment.scenario.build().expect("a scenario");
        let Err(refused) = agents.player(Learned::Ppo, &built.platform, 1) else { panic!("it fits") };
        assert!(format!("{refused:#}").contains("expected 12"), "{refused:#}");
    }
}

#[test]
fn an_interrupted_training_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let school = |generations: u64| {
        let mut tables = tables();
        tables.scale.learner.generations = generations;
        School::new(&small("{ rule = 12 }").scenario, &tables).expect("days to train on")
    };
    let whole = school(3).train(Learned::Scale, 1, folder.path()).expect("it trains");
    let bytes = std::fs::read(&whole).expect("its file");
    // What a kill after the second generation leaves: the file beside, in the state of that moment. Marked, so that a training that
    // began anew would show.
    let shorter = school(2).train(Learned::Scale, 1, folder.path()).expect("it trains");
    let mut learner = scale_agents::scale::Learner::load(&shorter).expect("a training");
    assert_eq!(learner.curve.len(), 2);
    learner.config.generations = 3;
    learner.curve[0].cost_ms += 1.0;
    let unfinished = whole.with_extension("unfinished");
    learner.save(&unfinished).expect("it is saved");
    std::fs::remove_file(&whole).expect("it was there");
    assert_eq!(school(3).train(Learned::Scale, 1, folder.path()).expect("it trains"), whole);
    let went_on = scale_agents::scale::Learner::load(&whole).expect("a training");
    assert_eq!((went_on.curve.len(), &went_on.curve[..2]), (3, &learner.curve[..]));
    assert!(!unfinished.exists());
    // A file that is cut off is trained again, not believed.
    std::fs::write(&whole, &bytes[..bytes.len() / 2]).expect("a file");
    school(3).train(Learned::Scale, 1, folder.path()).expect("it trains");
    assert_eq!(std::fs::read(&whole).expect("its file"), bytes);
}

#[test]
fn tables_and_scenarios_that_make_no_sense_are_refused() {
    let text = include_str!("../../../experiments/agents.toml");
    for (from, to, wanted) in [
        ("pairs = 16", "pears = 16", "unknown field `pears`"),
        ("workloads = 4", "workloads = -4", "invalid value"),
        ("m-dqn", "mdqn", "unknown field `mdqn`"),
    ] {
        let Err(refused) = Tables::parse(&text.replace(from, to)) else { panic!("{to}: accepted") };
        let said = format!("{refused:#}");
        assert!(said.contains(wanted) && said.contains("line"), "{said}");
    }
    let mut scenario = small("{ rule = 12 }").scenario;
    scenario.train_days = vec![1];
    let Err(refused) = School::new(&scenario, &tables()) else { panic!("a single day") };
    assert!(refused.to_string().contains("expected at least 2"), "{refused}");
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    let Err(refused) = Agents::from_file(Learned::Scale, file) else { panic!("an agent") };
    assert!(format!("{refused:#}").contains("not safetensors"), "{refused:#}");
}
