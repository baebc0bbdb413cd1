"""Training throughput: scale-agents against Stable-Baselines3 and sb3-contrib, one thread each, in one run.

Same sizes (512 numbers in, 125 nodes, 30 % masked), networks (64 x 64), hyper-parameters and numbers of steps, epochs and
mini-batches. Ours decides node *and* container (250 outputs), so beside the flat MaskablePPO (125 outputs) stands the one
with MultiDiscrete [125, 2]. Programs take turns, so that whatever else the machine does disturbs all of them; compare
the ratios.

    pip install -r requirements.txt
    cargo build --release -p scale-agents --example throughput
    python throughput.py PATH/TO/release/examples/throughput [repetitions]
"""

import os
import resource
import statistics
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import DQN
from stable_baselines3.common.vec_env import DummyVecEnv

WIDTH, NODES, STATES, EPISODE = 512, 125, 1024, 200


class Table(gymnasium.Env):
    """States drawn beforehand and taken in turn, so that the environment itself costs next to nothing."""

    def __init__(self, seed, multi):
        rng = np.random.default_rng(seed)
        self.multi = multi
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (WIDTH,), np.float32)
        sizes = [NODES, 2] if multi else None
        self.action_space = gymnasium.spaces.MultiDiscrete(sizes) if multi else gymnasium.spaces.Discrete(NODES)
        self.observations = rng.uniform(-1, 1, (STATES, WIDTH)).astype(np.float32)
        new = rng.random((STATES, NODES)) >= 0.3
        self.masks = np.concatenate([new, np.ones((STATES, 2), bool)], axis=1) if multi else new
        self.at = self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observations[self.at], {}

    def action_masks(self):
        return self.masks[self.at]

    def step(self, action):
        reward = float(self.observations[self.at, action[0] if self.multi else action])
        self.at = (self.at + 1) % STATES
        self.steps += 1
        return self.observations[self.at], reward, self.steps % EPISODE == 0, False, {}


def peer(make, envs, multi, steps):
    """Wall and processor seconds a step."""
    model = make(DummyVecEnv([lambda seed=seed: Table(seed, multi) for seed in range(envs)]))
    wall, cpu = time.perf_counter(), time.process_time()
    model.learn(steps)
    return (time.perf_counter() - wall) / model.num_timesteps, (time.process_time() - cpu) / model.num_timesteps


def ours(program, what, steps):
    """The same of the Rust program, its start included in the processor time."""
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    before = used()
    done, wall = subprocess.run([program, what, str(steps)], capture_output=True, text=True, check=True).stdout.split()
    return float(wall) / int(done), (used() - before) / int(done)


def maskable(**settings):
    return lambda env: MaskablePPO("MlpPolicy", env, device="cpu", seed=1, **settings)


def main():
    program, repetitions = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    torch.set_num_threads(1)
    eight = {"n_steps": 256, "batch_size": 256}
    cases = [
        ("PPO, 1 environment, defaults", "ppo1", 6144, [
            ("MaskablePPO Discrete(125)", maskable(), 1, False),
            ("MaskablePPO MultiDiscrete[125, 2]", maskable(), 1, True),
        ]),
        ("PPO, 8 environments x 256, batch 256", "ppo8", 12288, [
            ("MaskablePPO Discrete(125)", maskable(**eight), 8, False),
            ("MaskablePPO MultiDiscrete[125, 2]", maskable(**eight), 8, True),
        ]),
        ("DQN, 1 environment, defaults", "dqn", 8192, [
            ("DQN Discrete(125), no mask", lambda env: DQN("MlpPolicy", env, device="cpu", seed=1, buffer_size=100_000), 1, False),
        ]),
    ]
    print("| case | program | steps/s (wall) | steps/s (processor) | ours is faster by (wall, processor) |")
    print("|---|---|---|---|---|")
    for case, what, steps, peers in cases:
        times = {name: [] for name, *_ in peers} | {"scale-agents": []}
        for _ in range(repetitions):
            times["scale-agents"].append(ours(program, what, steps))
            for name, make, envs, multi in peers:
                times[name].append(peer(make, envs, multi, steps))
        median = {name: [statistics.median(part) for part in zip(*all)] for name, all in times.items()}
        own = median["scale-agents"]
        for name, (wall, cpu) in median.items():
            print(f"| {case} | {name} | {1 / wall:.0f} | {1 / cpu:.0f} | {wall / own[0]:.2f}, {cpu / own[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
