//! Checkpoints: what is read is what was written, a resumed training ends in the same bytes, and a bad file says why.

mod common;

use common::{Game, Toy, day};
use scale_agents::dqn::{self, DqnConfig};
use scale_agents::ppo::{self, PpoConfig};
use scale_agents::{LearnError, Network, Reward, SimEnv, checkpoint, observe};
use scale_model::Seed;
use std::error::Error;
use std::path::Path;

fn ppo_config(total_steps: u64) -> PpoConfig {
    PpoConfig {
        rollout_steps: 64,
        hidden: vec![16, 16],
        anneal: true,
        restart_rollouts: 2,
        ..PpoConfig::paper(total_steps)
    }
}

fn dqn_config(total_steps: u64) -> DqnConfig {
    DqnConfig {
        hidden: vec![16],
        target_every: 100,
        report_every: 64,
        restart_steps: 256,
        dueling: true,
        ..DqnConfig::paper(total_steps)
    }
}

fn bytes(save: impl Fn(&Path) -> Result<(), LearnError>) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.safetensors");
    save(&path).expect("it is written");
    std::fs::read(&path).expect("it is there")
}

/// Half a training, saved, loaded and gone on with, against the whole: the same file to the byte, in the simulator.
#[test]
fn a_resumed_training_ends_in_the_same_bytes() {
    let days = [day(1, 4, 300), day(2, 4, 300)];
    let envs = || [0, 1].map(|first| SimEnv::new(&days, first, 20, Reward::PAPER).expect("it plays"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("half.safetensors");

    let whole = ppo::train(&ppo_config(512), &mut envs(), Seed(3), &mut |_| ()).expect("it learns");
    let (width, nodes) = (observe::width(4), 4);
    let mut half = ppo::Learner::new(&ppo_config(512), width, nodes, Seed(3)).expect("a learner");
    let mut first = envs();
    half.iterate(&mut first).expect("it learns");
    half.iterate(&mut first).expect("it learns");
    half.save(&path).expect("it is written");
    let mut again = ppo::Learner::load(&path).expect("it is read");
    again.learn(&mut envs(), &mut |_| ()).expect("it goes on");
    assert_eq!(whole.curve.len(), 4);
    assert_eq!(bytes(|path| again.save(path)), bytes(|path| whole.save(path)));

    let whole = dqn::train(&dqn_config(512), &mut envs(), Seed(3), &mut |_| ()).expect("it learns");
    let mut half = dqn::Learner::new(&dqn_config(512), width, nodes, Seed(3)).expect("a learner");
    let mut first = envs();
    while half.steps < 256 {
        half.iterate(&mut first).expect("it learns");
    }
    half.save(&path).expect("it is written");
    let mut again = dqn::Learner::load(&path).expect("it is read");
    again.learn(&mut envs(), &mut |_| ()).expect("it goes on");
    assert_eq!(bytes(|path| again.save(path)), bytes(|path| whole.save(path)));
}

#[test]
fn what_is_read_is_what_was_written() {
    let mut envs = [Toy::new(Game::Bandit, 2, 1)];
    let ppo = ppo::train(&ppo_config(128), &mut envs, Seed(1), &mut |_| ()).expect("it learns");
    let dqn = dqn::train(&dqn_config(300), &mut envs, Seed(1), &mut |_| ()).expect("it learns");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.safetensors");
    ppo.save(&path).expect("it is written");
    let again = ppo::Learner::load(&path).expect("it is read");
    assert_eq!((&again.parameters, &again.adam, &again.curve), (&ppo.parameters, &ppo.adam, &ppo.curve));
    assert_eq!((&again.config, again.seed, again.steps), (&ppo.config, ppo.seed, ppo.steps));
    assert_eq!(bytes(|path| again.save(path)), bytes(|path| ppo.save(path)));
    assert_eq!(Network::load(&path).expect("it is read"), ppo.network());
    dqn.save(&path).expect("it is written");
    let again = dqn::Learner::load(&path).expect("it is read");
    assert_eq!((&again.parameters, &again.target, &again.adam), (&dqn.parameters, &dqn.target, &dqn.adam));
    assert_eq!(bytes(|path| again.save(path)), bytes(|path| dqn.save(path)));
    assert_eq!(Network::load(&path).expect("it is read"), dqn.network());
    // Any reader of safetensors finds the layers by name.
    let file = std::fs::read(&path).expect("it is there");
    let tensors = safetensors::SafeTensors::deserialize(&file).expect("safetensors");
    assert_eq!(tensors.tensor("q.0.weight").expect("the first layer").shape(), [2, 16]);
}

#[test]
fn a_bad_file_is_an_error_that_says_why() {
    let mut envs = [Toy::new(Game::Bandit, 2, 1)];
    let learner = ppo::train(&ppo_config(64), &mut envs, Seed(1), &mut |_| ()).expect("it learns");
    let good = bytes(|path| learner.save(path));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.safetensors");
    let message = |content: &[u8]| {
        std::fs::write(&path, content).expect("it is written");
        let error = ppo::Learner::load(&path).map(|_| ()).expect_err("it is bad").to_string();
        assert!(error.contains("agent.safetensors"), "{error}");
        error
    };
    // Cut off anywhere.
    for length in [0, 7, 8, 100, good.len() / 2, good.len() - 1] {
        let error = message(&good[..length]);
        assert!(error.contains("cut off"), "{length}: {error}");
    }
    // The same length with other words in the header.
    let swap = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let at = good.windows(from.len()).position(|part| part == from.as_bytes()).expect(from);
        let mut bad = good.clone();
        bad[at..at + from.len()].copy_from_slice(to.as_bytes());
        message(&bad)
    };
    let error = swap("\\\"layout\\\":1", "\\\"layout\\\":7");
    assert!(error.contains("layout of the observation: 7: expected 1"), "{error}");
    let error = swap("scale-agent-2", "scale-agent-9");
    assert!(error.contains("expected \"scale-agent-2\""), "{error}");
    let error = swap("gae_lambda", "gae_lambta");
    assert!(error.contains("gae_lambta"), "{error}");
    let error = swap("critic.1.bias", "critic.9.bias");
    assert!(error.contains("critic.1.bias"), "{error}");
    let error = swap("\"scale\":", "\"scala\":");
    assert!(error.contains("not an agent"), "{error}");
    // A weight that is not a number.
    let mut bad = good.clone();
    let end = bad.len();
    bad[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(message(&bad).contains("expected a finite number"));
    // The other method, and no file.
    let other = dqn::train(&dqn_config(64), &mut envs, Seed(1), &mut |_| ()).expect("it learns");
    assert!(message(&bytes(|path| other.save(path))).contains("it holds m-DQN, expected PPO"));
    std::fs::remove_file(&path).expect("it goes");
    assert!(Network::load(&path).is_err());
}

/// Whoever writes the same file at the same time, all succeed, the file is whole, and nothing is left beside it.
#[test]
fn the_same_training_may_be_saved_by_several_at_once() {
    let learner = ppo::Learner::new(&ppo_config(64), 2, 2, Seed(1)).expect("a learner");
    let expected = bytes(|path| learner.save(path));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.safetensors");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(|_| learner.save(&path).expect("it is written")));
        }
    });
    assert_eq!(std::fs::read(&path).expect("it is there"), expected);
    let left = || std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left(), 1);
    // Nor is there after a write that fails: a folder cannot be replaced by a file.
    let taken = folder.path().join("taken");
    std::fs::create_dir_all(taken.join("inside")).expect("a folder");
    learner.save(&taken).expect_err("it is a folder");
    assert_eq!(left(), 2);
}

#[test]
fn what_is_gone_already_is_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.unfinished");
    std::fs::write(&path, "anything").expect("it is written");
    for _ in 0..2 {
        checkpoint::remove(&path).expect("it is gone");
        assert!(!path.exists());
    }
    let refused = checkpoint::remove(folder.path()).expect_err("it is a folder");
    assert!(refused.to_string().contains(&folder.path().display().to_string()), "{refused}");
}

/// The error below can be asked for, where there is one.
#[test]
fn a_fault_names_its_cause() {
    let learner = ppo::Learner::new(&ppo_config(64), 2, 2, Seed(1)).expect("a learner");
    let good = bytes(|path| learner.save(path));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.safetensors");
    let changed = |from: &str, to: &str| {
        let at = good.windows(from.len()).position(|part| part == from.as_bytes()).expect(from);
        let mut bad = good.clone();
        bad[at..at + from.len()].copy_from_slice(to.as_bytes());
        bad
    };
    let check = |content: Option<Vec<u8>>, is: fn(Option<&(dyn Error + 'static)>) -> bool| {
        match &content {
            Some(content) => std::fs::write(&path, content).expect("it is written"),
            None => std::fs::remove_file(&path).expect("it was there"),
        }
        let refused = ppo::Learner::load(&path).map(|_| ()).expect_err("it is bad");
        assert!(is(refused.source()), "{refused}: {:?}", refused.source());
        // It is told in the message too.
        let cause = refused.source().map_or(String::new(), ToString::to_string);
        assert!(refused.to_string().contains(&cause), "{refused}: {cause}");
    };
    check(Some(good[..100].to_vec()), |cause| {
        cause.is_some_and(|cause| cause.is::<safetensors::SafeTensorError>())
    });
    check(Some(changed("critic.1.bias", "critic.9.bias")), |cause| {
        cause.is_some_and(|cause| cause.is::<safetensors::SafeTensorError>())
    });
    check(Some(changed("gae_lambda", "gae_lambta")), |cause| {
        cause.is_some_and(|cause| cause.is::<serde_json::Error>())
    });
    check(Some(changed("scale-agent-2", "scale-agent-9")), |cause| cause.is_none());
    check(None, |cause| {
        let kind = cause.and_then(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
        kind == Some(std::io::ErrorKind::NotFound)
    });
}
