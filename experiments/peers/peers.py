"""Other people's evolutionary solvers on the black box of the preset `midaco`, next to ours.

Reads the files that the example `export` of the crate scale-evolve writes, and prints the gap of each solver to the
best known objective. Every solver gets the same vector (node and flag of each request), the same objective and
residual, and the same number of evaluations. README.md beside this file says how to run it and what came out.
"""

import argparse
import json
import pathlib
import time

import numba
import numpy as np
import pygmo

# What a millisecond of residual weighs for solvers that know no constraints. With 1 it pays to overfill a node rather
# than defer a small request (2000 ms); with 10 it never does.
WEIGHT = 10.0


@numba.njit(cache=False)
def value(x, totals, slo, cores, memory, function, free_cores, free_memory, idle, late_ms, defer_ms):
    """Objective and residual of a vector; coordinates that are not whole are rounded."""
    nodes = free_cores.shape[0]
    left_cores, left_memory, left_idle = free_cores.copy(), free_memory.copy(), idle.copy()
    objective = 0.0
    for k in range(slo.shape[0]):
        v = int(np.rint(x[2 * k]))
        if v == nodes:
            waited = totals[k, 0, v]
            objective += waited + defer_ms + (late_ms if waited > slo[k] else 0.0)
            continue
        j = function[k]
        new = 1
        if x[2 * k + 1] < 0.5 and left_idle[j, v] > 0:
            new = 0
            left_idle[j, v] -= 1
        total = totals[k, new, v]
        objective += total + (late_ms if total > slo[k] else 0.0)
        left_cores[v] -= cores[k]
        left_memory[v] -= memory[k]
    residual = 0.0
    for v in range(nodes):
        residual += max(0, -left_cores[v]) + max(0, -left_memory[v])
    return objective, residual


class Batch:
    """A problem for pagmo that counts evaluations and keeps the best feasible objective that it has seen.

    With `flags` the vector is that of `midaco`: node and flag of each request. Without, it holds the nodes alone and all
    flags are 0, "reuse if one is left": half as many variables, which is kinder to a search that tries all of them.
    """

    def __init__(self, data, constrained, flags):
        self.constrained = constrained
        self.flags = flags
        self.point = np.zeros(2 * data["requests"])
        self.tables = (
            np.array(data["totals"]),
            np.array(data["slo"]),
            *(np.array(data[name], dtype=np.int64) for name in ("cores", "memory", "function")),
            *(np.array(data[name], dtype=np.int64) for name in ("free_cores", "free_memory", "idle")),
            float(data["late_ms"]),
            float(data["defer_ms"]),
        )
        self.size = data["requests"] * (2 if flags else 1)
        self.nodes = len(data["free_cores"])
        # A list, so that it is shared by all copies that pagmo makes: evaluations, best feasible objective.
        self.seen = [0, np.inf]

    def __deepcopy__(self, memo):
        return self

    def fitness(self, x):
        if not self.flags:
            self.point[::2] = x
            x = self.point
        objective, residual = value(x, *self.tables)
        self.seen[0] += 1
        if residual == 0.0 and objective < self.seen[1]:
            self.seen[1] = objective
        return [objective, residual] if self.constrained else [objective + WEIGHT * residual]

    def get_bounds(self):
        upper = [float(self.nodes), 1.0] if self.flags else [float(self.nodes)]
        return [0.0] * self.size, upper * (self.size // len(upper))

    def get_nix(self):
        # `de` and `sade` refuse whole variables: they get real ones, rounded in `value`.
        return self.size if self.constrained else 0

    def get_nic(self):
        return 1 if self.constrained else 0


def gaco(generations, seed):
    return pygmo.gaco(gen=generations, ker=63, oracle=1e9, seed=seed)


def de(generations, seed):
    return pygmo.de(gen=generations, ftol=0.0, xtol=0.0, seed=seed)


def de_low(generations, seed):
    return pygmo.de(gen=generations, F=0.5, CR=0.1, variant=7, ftol=0.0, xtol=0.0, seed=seed)


def sade(generations, seed):
    return pygmo.sade(gen=generations, ftol=0.0, xtol=0.0, seed=seed)


def sade_ide(generations, seed):
    return pygmo.sade(gen=generations, variant_adptv=2, ftol=0.0, xtol=0.0, seed=seed)


# Name: constructor, members, whether it takes constraints, whether the vector has flags.
PEERS = {
    "gaco": (gaco, 100, True, True),
    "de": (de, 20, False, True),
    "de CR 0.1": (de_low, 20, False, True),
    "sade": (sade, 20, False, True),
    "sade iDE": (sade_ide, 20, False, True),
    "gaco, nodes": (gaco, 100, True, False),
    "de, nodes": (de, 20, False, False),
    "sade, nodes": (sade, 20, False, False),
}


def run(data, make, members, constrained, flags):
    """The best feasible objective, infinite without one, and evaluations a second."""
    batch = Batch(data, constrained, flags)
    generations = data["evaluations"] // members - 1
    start = time.process_time()
    population = pygmo.population(pygmo.problem(batch), size=members, seed=data["batch"])
    pygmo.algorithm(make(generations, data["batch"])).evolve(population)
    spent = time.process_time() - start
    evaluations, best = batch.seen
    assert evaluations <= data["evaluations"] + 1, (evaluations, data["evaluations"])
    return best, evaluations / spent


def check(data, path):
    """The tables mean here what they mean there."""
    tables = Batch(data, False, True).tables
    for point, expected in zip(data["points"], data["values"]):
        found = value(np.array(point), *tables)
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-9), (path, found, expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path, help="where the example `export` wrote to")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    arguments = parser.parse_args()

    kinds = {}
    for path in sorted(arguments.directory.glob("*.json")):
        data = json.loads(path.read_text())
        check(data, path)
        kinds.setdefault((data["requests"], data["load"]), []).append(data)
    assert kinds, f"{arguments.directory}: no batches"

    print("gap to the best known, %: mean (worst); f/n: feasible in f of n batches only; thousands of evaluations a second")
    for (requests, load), batches in kinds.items():
        found = {name: [] for name in ("midaco", "hybrid", *arguments.peers)}
        for data in batches:
            for name in ("midaco", "hybrid"):
                objective, seconds = data[name]
                objective = np.inf if objective is None else objective
                found[name].append((objective, data["evaluations"] / seconds))
            for name in arguments.peers:
                found[name].append(run(data, *PEERS[name]))
        for name, runs in found.items():
            gaps = np.array([100.0 * (objective / data["best"] - 1.0) for (objective, _), data in zip(runs, batches)])
            feasible = np.isfinite(gaps)
            text = f"{gaps.mean():8.2f} ({gaps.max():.2f})" if feasible.all() else f"{feasible.sum()}/{len(gaps)}"
            speed = np.mean([speed for _, speed in runs]) / 1000.0
            print(f"{requests:5} {load:5} {name:10} {text:>20} {speed:10.1f}", flush=True)


if __name__ == "__main__":
    main()
