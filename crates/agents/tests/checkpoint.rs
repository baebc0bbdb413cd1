//! Checkpoints: what is read is what was written, a resumed training ends in the same bytes, and a bad file says why.

mod common;

use common::{Game, Toy, day};
use scale_agents::dqn::{self, DqnConfig};
use scale_agents::ppo::{self, PpoConfig};
use scale_agents::{LearnError, Network, Reward, SimEnv, observe};
use scale_model::Seed;
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
