//! The roster: every algorithm that an experiment may name, once. A new one is an entry here.

use crate::train::{Agents, Learned};
use anyhow::Result;
use scale_agents::scale::Scale;
use scale_agents::scorer::Scorer;
use scale_evolve::{Fitted, Hybrid, Midaco, Polish};
use scale_heuristics::{
    GreedyLatency, GreedyRegret, Hermod, K8sDefault, LeastLoaded, Nearest, OpenWhiskSharding, PowerOfTwo,
    RandomFeasible, RoundRobin, WarmFirstFit,
};
use scale_milp::{Formulation, Milp};
use scale_model::{Budget, OneByOne, Platform, Scheduler, Seed, Solver};

/// An algorithm ready to play one run.
pub enum Player {
    /// Decides request by request.
    Scheduler(Box<dyn Scheduler + Send>),
    /// Decides batch by batch within a budget.
    Solver(Box<dyn Solver + Send>, Budget),
}

impl Player {
    /// As something that decides batch by batch.
    pub fn solver(self) -> (Box<dyn Solver + Send>, Budget) {
        match self {
            Player::Scheduler(scheduler) => (Box::new(OneByOne(scheduler)), Budget::default()),
            Player::Solver(solver, budget) => (solver, budget),
        }
    }
}

/// What an entry of the roster makes.
pub enum Algorithm {
    /// An algorithm that needs no training.
    Ready(Player),
    /// An agent, and what is made of it once it is trained, with a seed for whatever that draws.
    Learned(Learned, fn(Player, Seed) -> Player),
}

/// An entry of the roster.
pub struct Entry {
    /// The name that experiments and commands use.
    pub name: &'static str,
    /// The name that figures use.
    pub label: &'static str,
    /// Its colour, in every figure: red, green, blue.
    pub color: (u8, u8, u8),
    /// One line for `scale list`.
    pub about: &'static str,
    /// Its parameters, for the record; empty if it has none.
    pub parameters: &'static str,
    /// Makes it, with a seed for whatever it draws.
    pub make: fn(Seed) -> Algorithm,
}

impl Entry {
    /// Which agent it needs, if it needs one.
    pub fn learned(&self) -> Option<Learned> {
        match (self.make)(Seed(0)) {
            Algorithm::Learned(learned, _) => Some(learned),
            Algorithm::Ready(_) => None,
        }
    }

    /// The algorithm ready to play the workload of `seed` on a platform; `draws` is for whatever it draws.
    ///
    /// # Errors
    /// An agent that is not among `agents`, or does not fit the platform.
    pub fn player(&self, draws: Seed, agents: &Agents, platform: &Platform, seed: u64) -> Result<Player> {
        match (self.make)(draws) {
            Algorithm::Ready(player) => Ok(player),
            Algorithm::Learned(learned, then) => Ok(then(agents.player(learned, platform, seed)?, draws)),
        }
    }
}

/// Every algorithm, in the order in which figures show them.
pub const ROSTER: &[Entry] = &[
    Entry {
        name: "greedy-latency",
        label: "Greedy latency",
        color: (0, 114, 178),
        about: "the node and container with the least latency of this request; SLO first",
        parameters: "",
        make: |_| scheduler(GreedyLatency),
    },
    Entry {
        name: "greedy-regret",
        label: "Greedy regret",
        color: (213, 94, 0),
        about: "whole batch: always the request that loses most without its best node",
        parameters: "",
        make: |_| solver(GreedyRegret),
    },
    Entry {
        name: "milp",
        label: "Optimum (MILP)",
        color: (0, 0, 0),
        about: "whole batch: Eqs. (4)-(8) in split form, solved to proven optimality by HiGHS",
        parameters: "gap=0",
        make: |_| milp(Formulation::Compact),
    },
    Entry {
        name: "milp-paper",
        label: "Optimum (MILP as printed)",
        color: (68, 68, 68),
        about: "whole batch: Eqs. (4)-(8) as printed, solved to proven optimality by HiGHS",
        parameters: "gap=0",
        make: |_| milp(Formulation::Paper),
    },
    Entry {
        name: "midaco-50k",
        label: "Midaco, 50k",
        color: (68, 170, 153),
        about: "whole batch: black-box evolution with the oracle penalty, 50k evaluations",
        parameters: "evaluations=50000",
        make: |seed| solver(Fitted(Midaco { evaluations: 50_000, seed })),
    },
    Entry {
        name: "midaco-100k",
        label: "Midaco, 100k",
        color: (204, 102, 119),
        about: "whole batch: black-box evolution with the oracle penalty, 100k evaluations",
        parameters: "evaluations=100000",
        make: |seed| solver(Fitted(Midaco { evaluations: 100_000, seed })),
    },
    Entry {
        name: "midaco-200k",
        label: "Midaco, 200k",
        color: (153, 153, 51),
        about: "whole batch: black-box evolution with the oracle penalty, 200k evaluations",
        parameters: "evaluations=200000",
        make: |seed| solver(Fitted(Midaco { evaluations: 200_000, seed })),
    },
    Entry {
        name: "hybrid-200k",
        label: "Hybrid, 200k",
        color: (170, 68, 153),
        about: "whole batch: evolution by single moves from greedy starts, 200k evaluations",
        parameters: "evaluations=200000",
        make: |seed| solver(Hybrid { evaluations: 200_000, seed }),
    },
    Entry {
        name: "scale",
        label: "Scale (ours)",
        color: (238, 51, 119),
        about: "learned: a scorer with foresight on top of greedy, trained by evolution strategies",
        parameters: "training=agents.toml",
        make: |_| agent(Learned::Scale),
    },
    Entry {
        name: "scale+polish",
        label: "Scale, polished",
        color: (122, 92, 214),
        about: "scale, and then a hundred moves a request towards the batch's optimum",
        parameters: "training=agents.toml evaluations_a_request=100",
        make: |_| Algorithm::Learned(Learned::Scale, polished),
    },
    Entry {
        name: "greedy-late-last",
        label: "Greedy, late last",
        color: (210, 180, 140),
        about: "ablation of scale: without weights, so greedy latency in the order in which scale decides",
        parameters: "",
        make: |_| solver(Scale::new(Scorer::greedy(0))),
    },
    Entry {
        name: "scale-mlp",
        label: "Scale, hidden layer",
        color: (153, 0, 0),
        about: "ablation of scale: with 16 hidden units",
        parameters: "training=agents.toml",
        make: |_| agent(Learned::ScaleMlp),
    },
    Entry {
        name: "scale-blind",
        label: "Scale, no memory",
        color: (255, 170, 204),
        about: "ablation of scale: without what it remembers of past requests",
        parameters: "training=agents.toml",
        make: |_| agent(Learned::ScaleBlind),
    },
    Entry {
        name: "scale-alone",
        label: "Scale, no batch",
        color: (0, 77, 64),
        about: "ablation of scale: without what it knows of the rest of the batch",
        parameters: "training=agents.toml",
        make: |_| agent(Learned::ScaleAlone),
    },
    Entry {
        name: "scale-imitation",
        label: "Scale, by imitation",
        color: (102, 166, 30),
        about: "comparison with scale: the same scorer, trained to imitate the optimum of every batch",
        parameters: "training=agents.toml",
        make: |_| agent(Learned::ScaleImitation),
    },
    Entry {
        name: "scale-gradient",
        label: "Scale, by policy gradient",
        color: (27, 158, 180),
        about: "comparison with scale: the same scorer, trained by the policy gradient with an input-driven baseline",
        parameters: "training=agents.toml",
        make: |_| agent(Learned::ScaleGradient),
    },
    Entry {
        name: "scale-ppo",
        label: "Scale (the paper's PPO)",
        color: (238, 136, 102),
        about: "learned: the paper's actor-critic on the flat state, trained by PPO",
        parameters: "training=agents.toml",
        make: |_| agent(Learned::Ppo),
    },
    Entry {
        name: "m-dqn",
        label: "m-DQN",
        color: (119, 170, 221),
        about: "learned: the paper's baseline, multi-step DQN on the flat state",
        parameters: "training=agents.toml",
        make: |_| agent(Learned::MDqn),
    },
    Entry {
        name: "nearest",
        label: "Nearest",
        color: (0, 158, 115),
        about: "the source node, else the closest that fits",
        parameters: "",
        make: |_| scheduler(Nearest),
    },
    Entry {
        name: "warm-first-fit",
        label: "Warm first fit",
        color: (230, 159, 0),
        about: "the first node with an idle container that fits, else the first that fits",
        parameters: "",
        make: |_| scheduler(WarmFirstFit),
    },
    Entry {
        name: "k8s-default",
        label: "Kubernetes default",
        color: (86, 180, 233),
        about: "LeastAllocated + BalancedAllocation + ImageLocality, in Kubernetes' integer arithmetic",
        parameters: "",
        make: |seed| scheduler(K8sDefault::new(seed)),
    },
    Entry {
        name: "openwhisk-sharding",
        label: "OpenWhisk sharding",
        color: (204, 121, 167),
        about: "the function's home node by hash, then on by a coprime step",
        parameters: "",
        make: |_| scheduler(OpenWhiskSharding::default()),
    },
    Entry {
        name: "hermod",
        label: "Hermod",
        color: (51, 34, 136),
        about: "packs onto busy nodes, warm before cold; the least loaded once all are full",
        parameters: "",
        make: |_| scheduler(Hermod),
    },
    Entry {
        name: "least-loaded",
        label: "Least loaded",
        color: (136, 34, 85),
        about: "the least loaded node that fits, warm before cold",
        parameters: "",
        make: |_| scheduler(LeastLoaded),
    },
    Entry {
        name: "power-of-two",
        label: "Power of two",
        color: (127, 127, 127),
        about: "the less loaded of two nodes drawn at random",
        parameters: "",
        make: |seed| scheduler(PowerOfTwo::new(seed)),
    },
    Entry {
        name: "round-robin",
        label: "Round robin",
        color: (194, 178, 26),
        about: "the next node in turn that fits",
        parameters: "",
        make: |_| scheduler(RoundRobin::default()),
    },
    Entry {
        name: "random-feasible",
        label: "Random",
        color: (140, 90, 43),
        about: "a node drawn evenly from those that fit",
        parameters: "",
        make: |seed| scheduler(RandomFeasible::new(seed)),
    },
];

fn milp(formulation: Formulation) -> Algorithm {
    solver(Milp { formulation, random_seed: 0 })
}

fn solver(solver: impl Solver + Send + 'static) -> Algorithm {
    Algorithm::Ready(Player::Solver(Box::new(solver), Budget::default()))
}

fn scheduler(scheduler: impl Scheduler + Send + 'static) -> Algorithm {
    Algorithm::Ready(Player::Scheduler(Box::new(scheduler)))
}

fn agent(learned: Learned) -> Algorithm {
    Algorithm::Learned(learned, |player, _| player)
}

fn polished(player: Player, seed: Seed) -> Player {
    let (first, budget) = player.solver();
    Player::Solver(Box::new(Polish { first, evaluations_a_request: 100, seed }), budget)
}

/// The entry with this name.
///
/// # Errors
/// A text that lists the names there are.
pub fn find(name: &str) -> Result<&'static Entry, String> {
    ROSTER.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<&str> = ROSTER.iter().map(|entry| entry.name).collect();
        format!("{name:?} is not in the roster: expected one of {}", names.join(", "))
    })
}
