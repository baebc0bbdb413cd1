//! Steps a second of PPO and m-DQN on a synthetic environment: 512 numbers, 125 nodes of which 30 % are masked.
//! `experiments/peers/ppo/throughput.py` runs it beside Stable-Baselines3 with the same networks and hyper-parameters.
//!
//! `cargo run --release -p scale-agents --example throughput -- <ppo1|ppo8|dqn> <steps>`

use scale_agents::dqn::DqnConfig;
use scale_agents::draw::Draw;
use scale_agents::ppo::PpoConfig;
use scale_agents::{Action, End, Env, LearnError, Mask, Step, dqn, ppo};
use scale_model::Seed;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WIDTH: usize = 512;
const NODES: usize = 125;
/// States that are drawn beforehand and taken in turn, so that the environment itself costs next to nothing.
const STATES: usize = 1024;
/// Length of an episode.
const EPISODE: u64 = 200;

/// The environment.
struct Table {
    observations: Vec<f32>,
    masks: Vec<Mask>,
    at: usize,
    steps: u64,
}

impl Table {
    fn new(seed: u64) -> Table {
        let mut draw = Draw::new(Seed(seed));
        let observations = (0..STATES * WIDTH).map(|_| (2.0 * draw.unit() - 1.0) as f32).collect();
        let mut mask = || {
            let new: Vec<bool> = (0..NODES).map(|_| draw.unit() >= 0.3).collect();
            let reuse = new.iter().map(|&open| open && draw.unit() < 0.5).collect();
            Mask { new, reuse }
        };
        Table { observations, masks: (0..STATES).map(|_| mask()).collect(), at: 0, steps: 0 }
    }
}

impl Env for Table {
    fn width(&self) -> usize {
        WIDTH
    }

    fn nodes(&self) -> usize {
        NODES
    }

    fn restart(&mut self, index: u64) -> Result<(), LearnError> {
        self.at = index as usize % STATES;
        Ok(())
    }

    fn reset(&mut self) -> Result<(), LearnError> {
        Ok(())
    }

    fn observe(&self, out: &mut [f32]) {
        out.copy_from_slice(&self.observations[self.at * WIDTH..][..WIDTH]);
    }

    fn mask(&self, mask: &mut Mask) {
        mask.clone_from(&self.masks[self.at]);
    }

    fn step(&mut self, action: Action) -> Result<Step, LearnError> {
        let reward = f64::from(self.observations[self.at * WIDTH + action.node.index()]);
        self.at = (self.at + 1) % STATES;
        self.steps += 1;
        let end = self.steps.is_multiple_of(EPISODE).then_some(End::Terminated);
        Ok(Step { reward, end, latency_ms: 0.0, late: false })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (what, steps) = (words.next().unwrap_or_default(), words.next().unwrap_or_default().parse()?);
    let mut envs: Vec<Table> = (0..if what == "ppo8" { 8 } else { 1 }).map(Table::new).collect();
    #[expect(clippy::disallowed_methods, reason = "to measure is what this program is for")]
    let start = std::time::Instant::now();
    let done = match what.as_str() {
        "ppo1" => ppo::train(&PpoConfig::paper(steps), &mut envs, Seed(1), &mut |_| ())?.steps,
        "ppo8" => {
            let config = PpoConfig { rollout_steps: 256, minibatch: 256, ..PpoConfig::paper(steps) };
            ppo::train(&config, &mut envs, Seed(1), &mut |_| ())?.steps
        }
        // One step, as the library's default is.
        "dqn" => {
            let config = DqnConfig { n_steps: 1, ..DqnConfig::paper(steps) };
            dqn::train(&config, &mut envs, Seed(1), &mut |_| ())?.steps
        }
        _ => return Err(format!("{what:?}: expected ppo1, ppo8 or dqn").into()),
    };
    println!("{done} {}", start.elapsed().as_secs_f64());
    Ok(())
}
