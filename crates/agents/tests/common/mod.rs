//! Environments with a known best policy, and a small day for the simulator.
#![allow(dead_code, missing_docs, reason = "each test file uses some of it")]

use scale_agents::draw::Draw;
use scale_agents::{Action, Day, End, Env, LearnError, Mask, Step};
use scale_model::*;
use scale_sim::SimConfig;

/// What a [`Toy`] rewards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Game {
    /// The observation names a node; 1 for choosing it.
    Identity,
    /// Two nodes, the observation says nothing. New on node 0 costs 0.4, new on node 1 0.3, a reuse on node 1 0.1, but it
    /// can be reused only half of the time; reuse on node 0 is never valid.
    Bandit,
    /// Reward 1 and the end, whatever is done.
    One(End),
    /// The reward is this number.
    Constant(f64),
    /// The observation is not a number from the third step on.
    Blind,
    /// No action is valid.
    Closed,
}

/// A game with `nodes` nodes; the observation has as many numbers.
pub(crate) struct Toy {
    pub(crate) game: Game,
    pub(crate) nodes: usize,
    draw: Draw,
    shown: usize,
    reuse: bool,
    steps: u64,
}

impl Toy {
    pub(crate) fn new(game: Game, nodes: usize, seed: u64) -> Toy {
        let mut toy = Toy { game, nodes, draw: Draw::new(Seed(seed)), shown: 0, reuse: false, steps: 0 };
        toy.next();
        toy
    }

    fn next(&mut self) {
        self.shown = self.draw.below(self.nodes);
        self.reuse = self.draw.unit() < 0.5;
    }

    /// Mean reward of the best policy.
    pub(crate) fn best(&self) -> f64 {
        match self.game {
            Game::Identity | Game::One(_) => 1.0,
            Game::Bandit => -0.2,
            _ => f64::NAN,
        }
    }
}

impl Env for Toy {
    fn width(&self) -> usize {
        self.nodes
    }

    fn nodes(&self) -> usize {
        self.nodes
    }

    fn restart(&mut self, index: u64) -> Result<(), LearnError> {
        *self = Toy::new(self.game, self.nodes, index);
        Ok(())
    }

    fn reset(&mut self) -> Result<(), LearnError> {
        Ok(())
    }

    fn observe(&self, out: &mut [f32]) {
        out.fill(0.0);
        match self.game {
            Game::Identity => out[self.shown] = 1.0,
            Game::Blind if self.steps > 2 => out[0] = f32::NAN,
            _ => out[0] = 1.0,
        }
    }

    fn mask(&self, mask: &mut Mask) {
        mask.new.fill(self.game != Game::Closed);
        mask.reuse.fill(false);
        if self.game == Game::Bandit {
            mask.reuse[1] = self.reuse;
        }
    }

    fn step(&mut self, action: Action) -> Result<Step, LearnError> {
        let mut mask = Mask::closed(self.nodes);
        self.mask(&mut mask);
        assert!(mask.open().allows(action), "{action:?} is not valid");
        let reward = match (self.game, action.node.0, action.container) {
            (Game::Identity, node, _) => f64::from(u8::from(node as usize == self.shown)),
            (Game::Bandit, 0, _) => -0.4,
            (Game::Bandit, _, Container::New) => -0.3,
            (Game::Bandit, _, Container::Reuse) => -0.1,
            (Game::Constant(reward), ..) => reward,
            _ => 1.0,
        };
        self.steps += 1;
        self.next();
        let end = match self.game {
            Game::One(end) => Some(end),
            _ => self.steps.is_multiple_of(10).then_some(End::Truncated),
        };
        Ok(Step { reward, end, latency_ms: -reward, late: reward < 0.0 })
    }
}

/// A day on a small random cluster: some nodes fill up, containers are reused, and some requests wait.
pub(crate) fn day(seed: u64, nodes: usize, requests: u32) -> Day {
    let mut draw = Draw::new(Seed(seed));
    let mut between = |low: f64, high: f64| low + (high - low) * draw.unit();
    let rates: Vec<f64> = (0..nodes * nodes).map(|_| between(5.0, 50.0)).collect();
    let links = Links::from_fn(nodes, |s, v| MegabytesPerSecond(rates[s.index() * nodes + v.index()]));
    let node = |index: usize, between: &mut dyn FnMut(f64, f64) -> f64| Node {
        name: format!("n{index}"),
        kind: 0,
        position: Position { latitude: 0.0, longitude: 0.0 },
        frequency: Gigahertz(3.0),
        cores: Cores { milli: 500 * (1 + between(0.0, 3.0) as u32) },
        memory: Memory { mb: 256 * (1 + between(0.0, 4.0) as u32) },
        registry_bandwidth: MegabytesPerSecond(between(50.0, 200.0)),
    };
    let function = |index: usize, between: &mut dyn FnMut(f64, f64) -> f64| Function {
        name: format!("f{index}"),
        image: Megabytes(between(5.0, 30.0)),
        init: Milliseconds(between(20.0, 100.0)),
        memory: Memory { mb: 128 },
        cores: Cores { milli: 250 * (1 + index as u32) },
    };
    let platform = Platform {
        topology: Topology {
            nodes: (0..nodes).map(|index| node(index, &mut between)).collect(),
            links: links.expect("positive rates"),
        },
        functions: (0..3).map(|index| function(index, &mut between)).collect(),
    };
    let mut now = 0.0;
    let request = |id: u32, between: &mut dyn FnMut(f64, f64) -> f64, now: &mut f64| {
        // Every third joins the batch before it.
        *now += if id.is_multiple_of(3) { between(0.0, 60.0) } else { 0.0 };
        Request {
            id: RequestId(id),
            function: FunctionId(between(0.0, 3.0) as u32),
            source: NodeId(between(0.0, nodes as f64) as u32),
            arrival: Time(*now),
            cpu_time: CoreMilliseconds(between(10.0, 80.0)),
            input: Megabytes(between(0.1, 1.0)),
            slo: Milliseconds(between(100.0, 400.0)),
        }
    };
    let requests = (0..requests).map(|id| request(id, &mut between, &mut now)).collect();
    let sim = SimConfig {
        keep_alive: Milliseconds(500.0),
        patience: None,
        warmup_until: Time(0.0),
        objective: Objective::ELASTIC,
        verify: true,
    };
    Day { platform, workload: Workload { requests }, sim }
}
