//! Whether the agents learn what is known to be best, and guard against what is not a number.

mod common;

use common::{Game, Toy, day};
use proptest::prelude::*;
use scale_agents::dqn::{self, DqnConfig, Replay};
use scale_agents::draw::Draw;
use scale_agents::ppo::{self, PpoConfig};
use scale_agents::{Action, Agent, End, Env, LearnError, Mask, Network, Reward, SimEnv, observe};
use scale_model::Seed;
use scale_sim::{Policy, simulate};

fn quick_ppo(total_steps: u64) -> PpoConfig {
    PpoConfig {
        rollout_steps: 128,
        minibatch: 64,
        learning_rate: 3e-3,
        gamma: 0.5,
        ..PpoConfig::paper(total_steps)
    }
}

fn quick_dqn(total_steps: u64) -> DqnConfig {
    DqnConfig {
        learning_rate: 2e-3,
        gamma: 0.5,
        target_every: 200,
        buffer: 2000,
        ..DqnConfig::paper(total_steps)
    }
}

/// Mean reward of the greedy policy in a fresh game.
fn play(network: &Network, toy: &mut Toy) -> f64 {
    let (mut observation, mut mask) = (vec![0.0; toy.width()], Mask::closed(toy.nodes));
    let (mut scratch, mut weights) = (vec![0.0; network.mlp.scratch()], vec![0.0; toy.nodes]);
    let mut sum = 0.0;
    for _ in 0..2000 {
        toy.observe(&mut observation);
        toy.mask(&mut mask);
        let best = network.best(&observation, mask.open(), &mut scratch, &mut weights);
        sum += toy.step(best.expect("something is valid")).expect("it is valid").reward;
    }
    sum / 2000.0
}

/// Both agents come within 0.01 of the best mean reward (of 2000 steps, so chance has its share in the bandit).
fn check(game: Game, nodes: usize) {
    let fresh = || [Toy::new(game, nodes, 1), Toy::new(game, nodes, 2)];
    let slack = if game == Game::Bandit { 0.01 } else { 0.0 };
    let reached = |name: &str, network: &Network| {
        let mut toy = Toy::new(game, nodes, 99);
        let mean = play(network, &mut toy);
        assert!(mean >= toy.best() - slack, "{name}, {game:?}: {mean}, best {}", toy.best());
    };
    for lambda in [0.0, 0.95, 1.0] {
        let config = PpoConfig { gae_lambda: lambda, ..quick_ppo(8000) };
        let learner = ppo::train(&config, &mut fresh(), Seed(5), &mut |_| ()).expect("it learns");
        reached(&format!("PPO, lambda {lambda}"), &learner.network());
    }
    for (double, dueling) in [(false, false), (true, false), (false, true), (true, true)] {
        let config = DqnConfig { double, dueling, ..quick_dqn(8000) };
        let learner = dqn::train(&config, &mut fresh(), Seed(5), &mut |_| ()).expect("it learns");
        reached(&format!("m-DQN, double {double}, dueling {dueling}"), &learner.network());
    }
}

#[test]
fn both_learn_the_identity() {
    check(Game::Identity, 4);
}

/// Also row 18 of the bug table: masks, double and dueling are there.
#[test]
fn both_learn_the_two_node_bandit() {
    check(Game::Bandit, 2);
}

/// Row 13: with gamma 1/2 a reward of 1 that ends the episode is worth 1, one after which it is only cut off 2.
#[test]
fn bug_13_truncation_is_not_termination() {
    for (end, worth) in [(End::Terminated, 1.0), (End::Truncated, 2.0)] {
        let game = Game::One(end);
        let mut envs = [Toy::new(game, 2, 1)];
        let learner = ppo::train(&quick_ppo(6000), &mut envs, Seed(1), &mut |_| ()).expect("it learns");
        let phi = &learner.parameters[learner.actor.parameters()..];
        let mut scratch = vec![0.0; learner.critic.scratch()];
        let value = learner.critic.forward(phi, &[1.0, 0.0], &mut scratch)[0];
        assert!((f64::from(value) - worth).abs() < 0.1, "PPO, {end:?}: {value}, not {worth}");

        let config = DqnConfig { target_every: 50, ..quick_dqn(6000) };
        let mut envs = [Toy::new(game, 2, 1)];
        let learner = dqn::train(&config, &mut envs, Seed(1), &mut |_| ()).expect("it learns");
        let mut scratch = vec![0.0; learner.mlp.scratch()];
        let value = learner.mlp.forward(&learner.parameters, &[1.0, 0.0], &mut scratch)[0];
        assert!((f64::from(value) - worth).abs() < 0.1, "m-DQN, {end:?}: {value}, not {worth}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let envs = || [Toy::new(Game::Bandit, 2, 1), Toy::new(Game::Bandit, 2, 2)];
    let ppo = |seed| ppo::train(&quick_ppo(600), &mut envs(), Seed(seed), &mut |_| ()).expect("it learns");
    assert_eq!((ppo(1).parameters, ppo(1).curve), (ppo(1).parameters, ppo(1).curve));
    assert_ne!(ppo(1).parameters, ppo(2).parameters);
    let dqn = |seed| dqn::train(&quick_dqn(600), &mut envs(), Seed(seed), &mut |_| ()).expect("it learns");
    assert_eq!((dqn(1).parameters, dqn(1).target), (dqn(1).parameters, dqn(1).target));
    assert_ne!(dqn(1).parameters, dqn(2).parameters);
}

/// Row 8 (sb3-contrib#221): what is not a number is an error that says so, and never a weight.
#[test]
fn bug_08_what_is_not_a_number_is_an_error() {
    let cases = [
        (Game::Constant(f64::NAN), "a reward is not a finite number"),
        (Game::Constant(f64::INFINITY), "a reward is not a finite number"),
        (Game::Blind, "an observation is not a finite number"),
        (Game::Closed, "no action is valid"),
    ];
    for (game, message) in cases {
        let envs = || [Toy::new(game, 3, 1)];
        let ppo = ppo::train(&quick_ppo(600), &mut envs(), Seed(1), &mut |_| ()).map(|_| ());
        let dqn = dqn::train(&quick_dqn(600), &mut envs(), Seed(1), &mut |_| ()).map(|_| ());
        for result in [ppo, dqn] {
            let error = result.expect_err(message).to_string();
            assert!(error.contains(message), "{game:?}: {error}");
        }
    }
    // A reward that single precision cannot hold makes the critic's error infinite.
    let mut envs = [Toy::new(Game::Constant(1e30), 3, 1)];
    let error = ppo::train(&quick_ppo(600), &mut envs, Seed(1), &mut |_| ()).expect_err("it diverges");
    assert!(matches!(error, LearnError::NotFinite { .. }), "{error}");
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused_by_name() {
    let mut envs = [Toy::new(Game::Bandit, 2, 1)];
    let bad = [
        (PpoConfig { gamma: 1.5, ..quick_ppo(1) }, "gamma: 1.5: expected a number from 0 to 1"),
        (PpoConfig { minibatch: 0, ..quick_ppo(1) }, "minibatch: 0: expected at least 1"),
        (PpoConfig { clip_range: f64::NAN, ..quick_ppo(1) }, "clip_range: NaN"),
        (PpoConfig { hidden: vec![64, 0], ..quick_ppo(1) }, "hidden: 0"),
    ];
    for (config, message) in bad {
        let error = ppo::train(&config, &mut envs, Seed(1), &mut |_| ()).expect_err(message).to_string();
        assert!(error.contains(message), "{error}");
    }
    let config = DqnConfig { n_steps: 0, ..quick_dqn(1) };
    let error = dqn::train(&config, &mut envs, Seed(1), &mut |_| ()).expect_err("no steps").to_string();
    assert!(error.contains("n_steps: 0"), "{error}");
    let text = serde_json::to_string(&quick_ppo(1)).expect("JSON").replace("gamma", "gama");
    assert!(serde_json::from_str::<PpoConfig>(&text).is_err(), "unknown and missing fields are refused");
    // Nothing to learn in: also of a learner that was made without environments, as one that was read from a file.
    let none: &mut [Toy] = &mut [];
    let ppo = || ppo::Learner::new(&quick_ppo(1), 2, 2, Seed(1)).expect("a learner");
    let dqn = || dqn::Learner::new(&quick_dqn(1), 2, 2, Seed(1)).expect("a learner");
    for refused in [
        ppo::train(&quick_ppo(1), none, Seed(1), &mut |_| ()).map(|_| ()),
        dqn::train(&quick_dqn(1), none, Seed(1), &mut |_| ()).map(|_| ()),
        ppo().iterate(none).map(|_| ()),
        dqn().iterate(none),
        ppo().learn(none, &mut |_| ()),
        dqn().learn(none, &mut |_| ()),
    ] {
        let error = refused.expect_err("no environments").to_string();
        assert_eq!(error, "environment 0: environments: 0, expected 1");
    }
    let mut mixed = [Toy::new(Game::Bandit, 2, 1), Toy::new(Game::Identity, 3, 1)];
    let error = ppo::train(&quick_ppo(1), &mut mixed, Seed(1), &mut |_| ()).expect_err("they differ");
    assert!(error.to_string().contains("environment 1: numbers in an observation: 3, expected 2"), "{error}");
}

/// What happened in one step: reward and end.
type Lived = (f64, Option<End>);

/// The oracle: everything is remembered. The return over m steps from `t` on, where m ends with the episode, at n, or at
/// the newest state; `None` where nothing is known of what follows. Sum, m, whether it goes on after it.
fn n_step(lived: &[Lived], t: usize, n: usize, gamma: f64) -> Option<(f64, usize, bool)> {
    // The state that a truncated episode was cut off in comes after its last step.
    let cut = lived[lived.len() - 1].1 == Some(End::Truncated);
    let newest = lived.len() - usize::from(!cut);
    let mut sum = 0.0;
    for m in 1..=n {
        let (reward, end) = lived[t + m - 1];
        sum += gamma.powi(m as i32 - 1) * reward;
        match end {
            Some(End::Terminated) => return Some((sum, m, false)),
            Some(End::Truncated) => return Some((sum, m, true)),
            None if t + m > newest => return None,
            None if t + m == newest || m == n => return Some((sum, m, true)),
            None => {}
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Row 16 (ray#4626, FastTD3#6, tf-agents#939): the discount is gamma^m with the m of this sequence; none runs into
    /// another episode or over the head of the ring.
    #[test]
    fn bug_16_n_step_returns_equal_brute_force(
        steps in prop::collection::vec((-1.0..1.0_f64, 0_u8..6), 1..60), n in 1_usize..6, capacity in 1_usize..20,
        gamma in 0.0..1.0_f64,
    ) {
        let mut replay = Replay::new(capacity, 1, 1);
        let mask = Mask { new: vec![true], reuse: vec![false] };
        let action = Action::of_flat(0, 1);
        let mut lived: Vec<Lived> = Vec::new();
        // Number of the state of each step; the last states of truncated episodes have numbers of their own.
        let mut states = Vec::new();
        for (t, (reward, kind)) in steps.into_iter().enumerate() {
            let end = match kind { 0 => Some(End::Terminated), 1 => Some(End::Truncated), _ => None };
            let state = replay.push_state(|out| out[0] = t as f32, &mask);
            replay.decide(state, action, reward, end);
            states.push(state);
            lived.push((reward, end));
            if end == Some(End::Truncated) {
                replay.push_state(|out| out[0] = -(t as f32) - 1.0, &mask);
            }
            prop_assert!(replay.len() <= capacity + 1);
        }
        let total = lived.iter().filter(|step| step.1 == Some(End::Truncated)).count() + lived.len();
        let first = total - replay.len();
        for offset in 0..replay.len() {
            let sample = replay.sample(offset, n, gamma);
            let step = states.iter().position(|&state| state == first + offset);
            let expected = step.and_then(|t| n_step(&lived, t, n, gamma));
            match (sample, expected) {
                (None, None) => {}
                (Some(sample), Some((reward, m, goes_on))) => {
                    let t = step.expect("a step");
                    prop_assert!((sample.reward - reward).abs() < 1e-12);
                    prop_assert!((sample.discount - gamma.powi(m as i32)).abs() < 1e-12);
                    prop_assert_eq!(replay.observation(sample.state)[0], t as f32);
                    prop_assert_eq!(sample.next.is_some(), goes_on);
                    if let Some(next) = sample.next {
                        // The state m steps on, or the one that the episode was cut off in.
                        let cut = lived[t + m - 1].1 == Some(End::Truncated);
                        let seen = if cut { -((t + m) as f32) } else { (t + m) as f32 };
                        prop_assert_eq!(replay.observation(next)[0], seen);
                    }
                }
                (sample, expected) => prop_assert!(false, "{offset}: {sample:?}, expected {expected:?}"),
            }
        }
    }
}

/// Row 6 (sb3-contrib#80, #74): masks of any form are one type, and a node may have only one side open.
#[test]
fn bug_06_a_mask_has_one_form() {
    let mask = Mask { new: vec![true, false, false], reuse: vec![false, true, false] };
    let open = mask.open();
    assert!(open.any() && open.node(0) && open.node(1) && !open.node(2));
    let valid: Vec<usize> = (0..6).filter(|&flat| open.allows(Action::of_flat(flat, 3))).collect();
    assert_eq!(valid, [0, 4]);
    assert!((0..6).all(|flat| Action::of_flat(flat, 3).flat(3) == flat));
}

/// Row 7 (sb3-contrib#212, #166): there is no way to decide without the mask. Untrained networks with large random weights
/// play a day in which nodes are full; the simulator refuses any invalid decision, and verifies itself.
#[test]
fn bug_07_no_decision_without_a_mask() {
    for seed in 0..6 {
        let day = day(seed, 5, 300);
        let width = observe::width(5);
        let networks = [
            ppo::Learner::new(&quick_ppo(1), width, 5, Seed(seed)).expect("a learner").network(),
            dqn::Learner::new(&quick_dqn(1), width, 5, Seed(seed)).expect("a learner").network(),
        ];
        for mut network in networks {
            network.parameters.iter_mut().for_each(|p| *p *= 3.0);
            let mut agent = Agent::new(network.clone(), &day.platform).expect("it fits");
            let summary =
                simulate(&day.platform, &day.workload, &day.sim, Policy::Scheduler(&mut agent), &mut ());
            let summary = summary.expect("no decision is refused");
            assert_eq!(summary.placed + summary.rejected.iter().sum::<u64>(), 300);
            assert!(summary.deferrals > 0 || seed > 0, "some day is full");
            assert!(Agent::new(network, &common::day(seed, 4, 10).platform).is_err(), "4 nodes, not 5");
        }
    }
}

/// The environment makes of a random policy what `simulate` makes of it: the same placements, rewards and lateness.
#[test]
fn the_environment_is_the_simulator() {
    for seed in 0..6 {
        let days = [day(seed, 4, 200), day(seed + 100, 4, 150)];
        for episode in [0, 7] {
            let mut env = SimEnv::new(&days, 0, episode, Reward::PAPER).expect("it plays");
            let mut mask = Mask::closed(4);
            let mut draw = Draw::new(Seed(seed));
            let mut out = vec![0.0; env.width()];
            let (mut rewards, mut late, mut steps) = (0.0, 0, 0_u64);
            loop {
                env.mask(&mut mask);
                env.observe(&mut out);
                assert!(out.iter().all(|x| (0.0..=observe::MOST).contains(x)), "{out:?}");
                let valid: Vec<usize> =
                    (0..8).filter(|&flat| mask.open().allows(Action::of_flat(flat, 4))).collect();
                let action = Action::of_flat(valid[draw.below(valid.len())], 4);
                let step = env.step(action).expect("it is valid");
                rewards += step.reward;
                late += u64::from(step.late);
                steps += 1;
                match step.end {
                    Some(End::Terminated) => break,
                    Some(End::Truncated) => {
                        assert!(episode > 0 && steps.is_multiple_of(episode));
                        env.reset().expect("it goes on");
                        assert_eq!(env.day(), 0, "the same day goes on");
                    }
                    None => {}
                }
            }
            let summary = env.simulation().summary().clone();
            assert_eq!((summary.placed, summary.late), (steps, late));
            let scaled = -summary.latency.service().0 / 1000.0;
            assert!((rewards - scaled).abs() < 1e-9, "{rewards} and {scaled}");
            env.reset().expect("the next day");
            assert_eq!(env.day(), 1);
        }
    }
}

#[test]
fn days_without_anything_to_decide_are_an_error() {
    let mut empty = day(1, 3, 0);
    assert!(matches!(
        SimEnv::new(&[empty.clone()], 0, 0, Reward::PAPER),
        Err(LearnError::NothingToDecide { days: 1 })
    ));
    assert!(SimEnv::new(&[], 0, 0, Reward::PAPER).is_err());
    empty.sim.keep_alive.0 = f64::NAN;
    assert!(matches!(SimEnv::new(&[empty], 0, 0, Reward::PAPER), Err(LearnError::Simulation(_))));
    assert!(SimEnv::new(&[day(1, 3, 9), day(1, 4, 9)], 0, 0, Reward::PAPER).is_err(), "3 nodes and 4");
}

/// What an agent does on a platform does not depend on the one before, as long as both have as many nodes as its network.
#[test]
fn an_agent_may_go_from_one_platform_to_another_of_as_many_nodes() {
    let days = [day(1, 4, 200), day(2, 4, 200)];
    let ppo = ppo::Learner::new(&quick_ppo(1), observe::width(4), 4, Seed(1)).expect("a learner").network();
    let dqn = dqn::Learner::new(&quick_dqn(1), observe::width(4), 4, Seed(1)).expect("a learner").network();
    for network in [ppo, dqn] {
        let fresh = || Agent::new(network.clone(), &days[0].platform).expect("it fits");
        let played = |agent: &mut Agent, day: &scale_agents::Day| {
            let policy = Policy::Scheduler(agent);
            simulate(&day.platform, &day.workload, &day.sim, policy, &mut ()).expect("it plays")
        };
        let mut agent = fresh();
        played(&mut agent, &days[0]);
        assert_eq!(played(&mut agent, &days[1]), played(&mut fresh(), &days[1]), "{}", network.name());
        assert!(Agent::new(network.clone(), &day(1, 5, 9).platform).is_err());
    }
}

/// Both improve on the first policy in the simulator: not to a known optimum, but far beyond chance.
#[test]
fn both_learn_in_the_simulator() {
    let days: Vec<_> = (0..4).map(|_| day(7, 4, 400)).collect();
    let mean = |network: Network| {
        let mut agent = Agent::new(network, &days[0].platform).expect("it fits");
        let (platform, workload) = (&days[0].platform, &days[0].workload);
        let summary = simulate(platform, workload, &days[0].sim, Policy::Scheduler(&mut agent), &mut ());
        summary.expect("it plays").latency_mean().expect("some were placed").0
    };
    let env = || [SimEnv::new(&days, 0, 50, Reward::PAPER).expect("it plays")];
    let width = observe::width(4);
    let config = PpoConfig { learning_rate: 1e-3, rollout_steps: 256, ..PpoConfig::paper(15_000) };
    let before = mean(ppo::Learner::new(&config, width, 4, Seed(1)).expect("a learner").network());
    let learner = ppo::train(&config, &mut env(), Seed(1), &mut |_| ()).expect("it learns");
    let after = mean(learner.network());
    assert!(after < 0.97 * before, "PPO: {before} ms before, {after} ms after");
    let config = DqnConfig { learning_rate: 1e-3, target_every: 500, ..DqnConfig::paper(15_000) };
    let before = mean(dqn::Learner::new(&config, width, 4, Seed(1)).expect("a learner").network());
    let learner = dqn::train(&config, &mut env(), Seed(1), &mut |_| ()).expect("it learns");
    let after = mean(learner.network());
    assert!(after < 0.97 * before, "m-DQN: {before} ms before, {after} ms after");
}
