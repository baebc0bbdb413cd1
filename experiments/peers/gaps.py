"""How far both presets end above the proven optimum, on batches that the example `export` of scale-evolve writes.

Runs `scale solve` on every `.batch` of a directory: `milp` for the optimum, or the bound that it has proved when its time
is over, then the rules and the presets at each budget. A gap is (objective / bound - 1), so where a bound is not the
optimum the true gap is smaller. What was run is kept in `gaps.csv` in the directory, and not run again.
README.md beside this file says how to run it and what came out.
"""

import argparse
import csv
import os
import pathlib
import re
import subprocess

BUDGETS = {"midaco": [50_000, 100_000, 200_000], "hybrid": [50_000, 100_000, 200_000, 2_000_000]}
SUMMARY = re.compile(r"objective ([\d.]+) ms, (\d+) late, (\d+) deferred; bound (none|-?[\d.]+)")
COLUMNS = ["requests", "load", "batch", "solver", "evaluations", "objective", "bound", "late", "deferred"]


def solve(scale, path, solver, *options):
    """Objective, bound, late and deferred requests; empty where there is none."""
    command = [scale, "solve", path, "--solver", solver, *options]
    # One thread, as for the peers; the answer does not depend on it.
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "RAYON_NUM_THREADS": "1"})
    # 0: proved optimal, 3: allowed, 5: nothing found.
    if done.returncode not in (0, 3, 5):
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    found = SUMMARY.search(done.stdout)
    if found is None:
        return "", "", "", ""
    objective, late, deferred, bound = found.groups()
    return objective, "" if bound == "none" else bound, late, deferred


def runs(limit):
    yield "milp", 0, ["--time-limit", limit]
    yield "greedy-latency", 0, []
    yield "greedy-regret", 0, []
    for solver, budgets in BUDGETS.items():
        for budget in budgets:
            yield solver, budget, ["--evaluations", str(budget)]


def measure(directory, scale, limit):
    """All rows, by (requests, load, batch) and then (solver, evaluations)."""
    log = directory / "gaps.csv"
    if not log.exists():
        log.write_text(",".join(COLUMNS) + "\n")
    with log.open() as file:
        known = {tuple(row[column] for column in COLUMNS[:5]): row for row in csv.DictReader(file)}
    with log.open("a", newline="") as file:
        writer = csv.writer(file)
        for path in sorted(directory.glob("*.batch")):
            batch = path.stem.split("-")
            for solver, budget, options in runs(limit):
                key = (*batch, solver, str(budget))
                if key not in known:
                    row = [*key, *solve(scale, path, solver, *options)]
                    writer.writerow(row)
                    file.flush()
                    known[key] = dict(zip(COLUMNS, row))
    return known


def show(known):
    kinds = {}
    for (requests, load, batch, solver, budget), row in known.items():
        kinds.setdefault((requests, load), {}).setdefault((solver, budget), {})[batch] = row
    print("gap to the proven bound, %: mean (worst); f/n: an answer in f of n batches only")
    for (requests, load), solvers in sorted(kinds.items()):
        proof = solvers[("milp", "0")]
        bound = {batch: float(row["bound"]) for batch, row in proof.items() if row["bound"]}
        proved = sum(float(row["objective"] or "inf") <= bound.get(batch, -1) * (1 + 1e-6) for batch, row in proof.items())
        print(f"{int(requests)} requests, load {load}: {proved} of {len(proof)} proved optimal")
        rules = {batch: min(float(solvers[(rule, "0")][batch]["objective"]) for rule in ("greedy-latency", "greedy-regret")) for batch in proof}
        for (solver, budget), rows in solvers.items():
            found = [(float(row["objective"]) / bound[batch] - 1) * 100 for batch, row in rows.items() if row["objective"] and batch in bound]
            text = f"{sum(found) / len(found):8.3f} ({max(found):.3f})" if len(found) == len(rows) else f"{len(found)}/{len(rows)}"
            worse = sum(float(row["objective"] or "inf") > rules[batch] + 1e-3 for batch, row in rows.items())
            deferred = sum(int(row["deferred"] or 0) for row in rows.values())
            print(f"  {solver:15} {int(budget):>9,} {text:>20}   worse than a rule in {worse}, {deferred} deferred")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path, help="where the example `export` wrote to")
    parser.add_argument("--scale", default="target/release/scale", help="the program")
    parser.add_argument("--limit", default="60s", help="time that `milp` has for a batch")
    arguments = parser.parse_args()
    show(measure(arguments.directory, arguments.scale, arguments.limit))


if __name__ == "__main__":
    main()
