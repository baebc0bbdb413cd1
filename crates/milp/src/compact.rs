//! The compact program: the same optimum as the paper's, much faster.
//!
//! Groups of identical requests become integer flows, x is split into y_warm and y_cold, and a late pair is a dearer
//! column, so (8) needs no row; see `batch.rs` for the columns that are left out. What is left:
//!
//! - min sum of c_gs y_gs over groups g and slots s (a node with an idle or a new container, or deferral)
//! - (5) sum over s of y_gs = number of requests in g
//! - (6), (7) cores and memory of each node
//! - sum over g of function j of y_warm(g, v) <= idle(j, v)
//!
//! # The search
//! 1. A solution from regret and annealing (`start.rs`).
//! 2. The LP by column generation ([`bounds`](crate::bounds)), tightened by rounded rows (`cuts.rs`) where patterns do not come
//!    first, or the solution is poor. Its duals price every column: one whose reduced cost is above the gap between solution and
//!    bound is in no better solution, and goes.
//! 3. Where nodes hold only a few requests, the knapsack bound (`knapsack.rs`), which there is far closer than the LP;
//!    a better solution from its patterns; again columns go.
//! 4. Elsewhere, a better solution from the LP's: what it does not split stays, annealing and a small program do the rest; again rows
//!    come and columns go; then the columns with the least reduced costs, which prove a part of the gap.
//! 5. What is left is solved by branch and bound, over patterns if they can be listed, else over columns, with the rows that made
//!    the LP close: the rounded ones, or one for each node, by which the sum of (pi_g - cost) over what it holds is at most its best
//!    pattern's.
//!
//! # What is proved
//! `Proof::Optimal` means that no placement is cheaper by more than 1e-6 (ms of J), the tolerance of HiGHS. A
//! bound that stands next to a limit rests on prices and on sums made here, or on the bound of HiGHS less
//! that tolerance. Removing a column is always by a bound made here.

use scale_model::{BatchProblem, Budget, Proof, Solution, SolveError, Stop, evaluate, violations};
use tracing::debug;

use crate::batch::Batch;
use crate::bounds::{Layout, Limits, Relaxed, Tolls, backend, cheapest, each_column, relax};
use crate::highs::{MilpError, ModelStatus};
use crate::knapsack::{self, Choice, Knapsacks, SPLIT};
use crate::progress::{Told, Watch};
use crate::raw::{Columns, Rows};
use crate::start::{self, Slots};

/// What counts as equal in J, in ms: the tolerance of HiGHS, and what sums of floats may lose.
const TOLERANCE: f64 = 1e-6;

/// Solves a batch.
pub(crate) fn solve(
    problem: &BatchProblem<'_>,
    budget: &Budget,
    random_seed: u32,
    told: &mut Told<'_>,
) -> Result<Solution, SolveError> {
    solve_by(PLAN, problem, budget, random_seed, told)
}

fn solve_by(
    plan: Plan,
    problem: &BatchProblem<'_>,
    budget: &Budget,
    random_seed: u32,
    told: &mut Told<'_>,
) -> Result<Solution, SolveError> {
    let batch = Batch::new(problem);
    let dearest = batch.dearest();
    let watch = Watch::new(told, if batch.hard { dearest } else { f64::INFINITY });
    let limits = Limits::of(budget, random_seed, Some(&watch));
    let best = if a_node(&batch) <= plan.patterns {
        let moves = FEW_A_NODE_MOVES * batch.requests() as u64;
        start::search(&batch, u64::from(random_seed), moves, &limits)
    } else {
        start::rush(&batch)
    };
    let cost = batch.total(&best);
    let deferred = best.iter().flatten().filter(|slot| **slot == batch.deferral()).count();
    debug!(cost, deferred, requests = batch.requests(), groups = batch.groups.len(), "start");
    let mut search = Search {
        plan,
        batch,
        limits,
        knapsacks: None,
        seed: u64::from(random_seed),
        best,
        cost,
        bound: f64::NEG_INFINITY,
    };
    search.tell();
    let stop = search.run().map_err(backend);
    watch.resume_panic();
    let stop = stop?;
    let Search { batch, limits, best, bound, .. } = search;

    if batch.hard && best.iter().flatten().any(|&slot| slot == batch.deferral()) {
        // Only "no place" costs more than the dearest placement.
        return Err(match bound > dearest {
            true => SolveError::Infeasible { hopeless: problem.hopeless() },
            false => SolveError::NothingFound,
        });
    }
    let placement = batch.placement(&best);
    if let Some(violation) = violations(problem, &placement).into_iter().next() {
        return Err(SolveError::NotAllowed(violation));
    }
    let objective = evaluate(problem, &placement).objective;
    let proof = match objective - bound {
        gap if gap <= TOLERANCE + 1e-12 * objective.abs() => Proof::Optimal,
        gap if gap.is_finite() => Proof::Bounded,
        _ => Proof::Feasible,
    };
    let stop = match stop {
        _ if proof == Proof::Optimal => Stop::Finished,
        _ if limits.close(objective, bound) => Stop::Gap,
        stop => stop,
    };
    // The sums are rounded, in different orders; a bound above a known objective would only be that.
    let bound = bound.is_finite().then(|| bound.min(objective));
    Ok(Solution { placement, objective, bound, proof, stop })
}

/// Moves of annealing for each request where nodes hold only a few. More are no use on an easy batch, where the patterns
/// lead to a better solution in less time.
const FEW_A_NODE_MOVES: u64 = 200;
/// The same once more where the gap to the LP is above this share of J: with fewer, dozens of requests stay deferred.
const POOR: f64 = 0.02;
const POOR_MOVES: u64 = 2000;
/// Moves of annealing elsewhere, after the LP: a tenth of a second, and the LP is the better guide there.
const MOVES: u64 = 400_000;
/// What decides the way of a search.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// Requests for each node with room up to which patterns are tried, and the same where the start is poor.
    patterns: f64,
    patterns_if_poor: f64,
    /// Columns for each group that a search for a better solution looks at, about.
    few: usize,
    /// Columns of the first program over all groups, about; if that is less, a fourth of `few` for each.
    likely: usize,
}

/// With two or three requests a node the LP is percents below the optimum, and patterns are not. With more a pattern's search takes
/// longer, and rounded rows come as close in less time: of 700 requests on 125 nodes at load 0.7 patterns leave 0.5 and 0.9 % after ten
/// seconds, rounded rows 0 and 0.1 %. HiGHS takes some five seconds for the root of 40,000 columns.
const PLAN: Plan = Plan { patterns: 4.0, patterns_if_poor: 3.0, few: 12, likely: 40_000 };
/// With a poor start and no more requests a node than this, dives through patterns find better solutions than annealing by the prices of
/// the LP.
const DIVES_ALONE: f64 = 2.0;
/// Shares of J above which annealing goes on, and above which it goes on for longer.
const NARROW: f64 = 1e-3;
const WIDE: f64 = 5e-3;
/// Moves of annealing for each request then, and at most so many: one or two seconds.
const MORE_MOVES: u64 = 10_000;
const MOST_MOVES: u64 = 8_000_000;
/// Dives while the gap stays wide, and their share of the time.
const DIVES: u64 = 8;
const FOR_DIVES: f64 = 0.6;
/// So many times as many where the gap stays wide.
const LONGER: u64 = 3;
/// So often at most, and in this share of the time that is left.
const ANNEALINGS: u64 = 8;
const FOR_ANNEALING: f64 = 0.5;
/// Share of the time that is left for rounded rows, each time.
const FOR_ROWS: f64 = 0.5;
/// Share of the time for the LP: what it has come to is worth more with a solution from it.
const FOR_LP: f64 = 0.7;
/// Patterns that are listed at most: with more, the tree ends at its limit anyway.
const MOST_PATTERNS: usize = 4_000;
/// So few that a tree over all of them takes no longer than one over the known ones.
const FEW_PATTERNS: usize = 1_000;
/// Where they are more: the next part of the gap to try, and where that ends.
const NEXT_SHARE: f64 = 0.7;
const LEAST_SHARE: f64 = 0.2;
/// The part of the gap that the first program over all groups is to prove.
const LOWER: f64 = 0.35;

/// When a branch and bound may end before the budget does.
#[derive(Clone, Copy, Debug)]
struct Effort {
    relative_gap: f64,
    nodes: Option<u64>,
    /// Share of the time for the heuristics of HiGHS.
    heuristics: f64,
}

/// To find a better solution: it need not prove anything.
const QUICK: Effort = Effort { relative_gap: 1e-4, nodes: Some(100), heuristics: 0.0 };
/// The same where the start is not good.
const QUICK_WITH_HEURISTICS: Effort = Effort { heuristics: 0.05, ..QUICK };
/// To the end.
const FULL: Effort = Effort { relative_gap: 0.0, nodes: None, heuristics: 0.0 };

/// Requests for each node that can take anything.
fn a_node(batch: &Batch) -> f64 {
    let with_room =
        batch.cores.iter().zip(&batch.memory).filter(|(cores, memory)| **cores > 0 && **memory > 0);
    batch.requests() as f64 / (with_room.count() as f64).max(1.0)
}

struct Search<'a> {
    plan: Plan,
    batch: Batch,
    limits: Limits<'a>,
    knapsacks: Option<Knapsacks>,
    seed: u64,
    best: Slots,
    cost: f64,
    bound: f64,
}

/// A program to solve, and where to start.
struct Program<'a> {
    rows: &'a Rows,
    columns: &'a Columns,
    start: &'a [f64],
    /// What is left out costs more than this.
    limit: f64,
    effort: Effort,
    /// Whether HiGHS may begin again with what is left after the root. Of patterns nothing goes that is not gone already,
    /// by reduced cost, and the rounds of cuts take longer than the tree.
    restart: bool,
}

impl Search<'_> {
    /// Searches until the gap is closed or the budget is spent.
    fn run(&mut self) -> Result<Stop, MilpError> {
        let mut relaxed = relax(&self.batch, &[&self.best], &self.limits.with_time(FOR_LP))?;
        self.prove(relaxed.best.pricing.bound);
        debug!(bound = self.bound, cost = self.cost, columns = self.batch.columns(), "LP");
        if let Some(stop) = self.stop() {
            return Ok(stop);
        }
        let a_node = a_node(&self.batch);
        let Plan { patterns, patterns_if_poor, .. } = self.plan;
        if a_node <= patterns && self.gap_above(POOR) {
            self.start_again(&mut relaxed, a_node)?;
            if let Some(stop) = self.stop() {
                return Ok(stop);
            }
        }
        self.drop_by_reduced_cost(&relaxed);
        let by_patterns = a_node <= if self.gap_above(POOR) { patterns_if_poor } else { patterns };
        let stop = if by_patterns { self.by_patterns(&relaxed)? } else { self.by_rounding(&mut relaxed)? };
        if let Some(stop) = stop {
            return Ok(stop);
        }
        self.by_columns(&relaxed, &|_, _, _| true, f64::INFINITY, FULL)
    }

    /// A better solution where nodes hold only a few requests and the first one is poor: more annealing from nothing, and from what
    /// the LP does not split.
    fn start_again(&mut self, relaxed: &mut Relaxed<'_>, a_node: f64) -> Result<(), MilpError> {
        let moves = POOR_MOVES * self.batch.requests() as u64;
        self.offer(start::search(&self.batch, self.seed, moves, &self.limits));
        debug!(cost = self.cost, "second start");
        if a_node > DIVES_ALONE && self.gap_above(POOR) {
            self.tighten(relaxed)?;
            let whole = self.unsplit(relaxed);
            let limits = self.limits.with_time(FOR_ANNEALING);
            self.complete(&whole, &relaxed.best.tolls, self.seed, self.more_moves(), &limits);
        }
        Ok(())
    }

    /// Why to stop now, if there is a reason.
    fn stop(&self) -> Option<Stop> {
        if self.limits.close(self.cost, self.bound) || self.cost - self.bound <= TOLERANCE {
            Some(Stop::Gap)
        } else if self.limits.cancelled() {
            Some(Stop::Cancelled)
        } else if self.limits.out_of_time() {
            Some(Stop::Time)
        } else if self.limits.nodes == Some(0) {
            Some(Stop::Nodes)
        } else {
            None
        }
    }

    /// Whether more than this share of J lies between solution and bound.
    fn gap_above(&self, share: f64) -> bool {
        self.cost - self.bound > share * self.cost
    }

    /// Solutions that are wanted cost no more than this.
    fn limit(&self) -> f64 {
        self.cost + TOLERANCE
    }

    fn prove(&mut self, bound: f64) {
        self.bound = self.bound.max(bound);
        self.tell();
    }

    fn tell(&self) {
        if let Some(watch) = self.limits.watch {
            watch.know(self.cost, self.bound);
        }
    }

    fn offer(&mut self, slots: Slots) {
        let slots = start::descend(&self.batch, &slots);
        let cost = self.batch.total(&slots);
        if cost < self.cost {
            (self.best, self.cost) = (slots, cost);
            self.tell();
        }
    }

    /// Takes out the columns that are in no better solution: using one costs the bound plus its reduced cost.
    fn drop_by_reduced_cost(&mut self, relaxed: &Relaxed<'_>) {
        let slack = self.limit() - relaxed.best.pricing.bound;
        let mut useless = Vec::new();
        for g in 0..self.batch.groups.len() {
            let least = relaxed.best.pricing.least[g];
            each_column(&self.batch, &relaxed.best.tolls, g, |slot, cost| {
                if cost - least > slack {
                    useless.push((g, slot));
                }
            });
        }
        self.drop(&useless);
    }

    fn drop(&mut self, columns: &[(usize, usize)]) {
        for &(g, slot) in columns {
            if !self.best[g].contains(&slot) {
                self.batch.drop(g, slot);
            }
        }
    }

    /// The knapsack bound, dives, and programs over patterns.
    fn by_patterns(&mut self, relaxed: &Relaxed<'_>) -> Result<Option<Stop>, MilpError> {
        let mut knapsacks = self.bound_by_patterns(relaxed)?;
        if let Some(stop) = self.stop() {
            return Ok(Some(stop));
        }
        self.dive(&mut knapsacks)?;
        if let Some(stop) = self.stop() {
            return Ok(Some(stop));
        }
        let limit = self.limit();
        if let Some(all) = Choice::all(&self.batch, &knapsacks, &self.best, limit, FEW_PATTERNS) {
            return self.by_choice(&all, limit, FULL).map(Some);
        }
        let known = Choice::known(&self.batch, &knapsacks, &self.best, limit);
        self.by_choice(&known, f64::NEG_INFINITY, Effort { relative_gap: 1e-6, ..QUICK })?;
        if let Some(stop) = self.stop() {
            return Ok(Some(stop));
        }
        self.drop_useless(relaxed, &knapsacks);
        let stop = self.by_all_patterns(relaxed, &knapsacks)?;
        self.knapsacks = Some(knapsacks);
        Ok(stop)
    }

    /// The knapsack bound by the LP over patterns, and its solution if it splits nothing.
    fn bound_by_patterns(&mut self, relaxed: &Relaxed<'_>) -> Result<Knapsacks, MilpError> {
        let (first, tolls) = (&relaxed.best.pricing.least, &relaxed.best.tolls.idle);
        let mut knapsacks = knapsack::bound(&self.batch, first, tolls, &[&self.best], &self.limits)?;
        self.prove(knapsacks.bound);
        let whole = knapsacks.whole.take();
        let columns = self.batch.columns();
        debug!(bound = knapsacks.bound, cost = self.cost, columns, whole = whole.is_some(), "knapsack bound");
        if let Some(slots) = whole {
            self.offer(slots);
        }
        Ok(knapsacks)
    }

    /// A better solution from the patterns by diving, and by annealing where that is not good.
    fn dive(&mut self, knapsacks: &mut Knapsacks) -> Result<(), MilpError> {
        let limits = self.limits.with_time(FOR_DIVES);
        let moves = MORE_MOVES * self.batch.requests() as u64;
        for number in 0..DIVES {
            self.drop(&knapsacks.useless(&self.batch, self.limit()));
            let Some(slots) = knapsack::dive(&self.batch, knapsacks, number, &limits)? else { break };
            debug!(cost = self.batch.total(&slots), number, "dive");
            let before = self.cost;
            self.offer(slots);
            if self.gap_above(WIDE) && self.cost < before {
                self.offer(start::complete(&self.batch, &self.best, None, self.seed, moves, &limits));
                debug!(cost = self.cost, "annealed");
            }
            if !self.gap_above(WIDE) {
                break;
            }
        }
        Ok(())
    }

    /// Takes out the columns that are in no better solution, by the LP and by the knapsack bound.
    fn drop_useless(&mut self, relaxed: &Relaxed<'_>, knapsacks: &Knapsacks) {
        self.drop_by_reduced_cost(relaxed);
        self.drop(&knapsacks.useless(&self.batch, self.limit()));
        debug!(columns = self.batch.columns(), cost = self.cost, "fixed");
    }

    /// Over all patterns that a better solution can use, to the end. Where they are too many, over those that a solution in
    /// the lower part of the gap can use: they prove that part, and find better solutions, if there are any, than the
    /// patterns that were known.
    fn by_all_patterns(
        &mut self,
        relaxed: &Relaxed<'_>,
        knapsacks: &Knapsacks,
    ) -> Result<Option<Stop>, MilpError> {
        let (mut share, mut partly) = (1.0, false);
        loop {
            let limit = self.bound + share * (self.limit() - self.bound);
            match Choice::all(&self.batch, knapsacks, &self.best, limit, MOST_PATTERNS) {
                Some(all) if share == 1.0 => return self.by_choice(&all, limit, FULL).map(Some),
                Some(some) => {
                    let cost = self.cost;
                    self.by_choice(&some, limit, QUICK)?;
                    if let Some(stop) = self.stop() {
                        return Ok(Some(stop));
                    }
                    if self.cost == cost || partly {
                        return Ok(None);
                    }
                    self.drop_useless(relaxed, knapsacks);
                    (share, partly) = (1.0, true);
                }
                None if share > LEAST_SHARE && !partly => share *= NEXT_SHARE,
                None => return Ok(None),
            }
        }
    }

    fn by_choice(&mut self, choice: &Choice, limit: f64, effort: Effort) -> Result<Stop, MilpError> {
        let Choice { rows, columns, start, .. } = choice;
        let (values, stop) =
            self.branch_and_bound(&Program { rows, columns, start, limit, effort, restart: false })?;
        if let Some(values) = values {
            self.offer(choice.slots(&self.batch, &values));
        }
        Ok(stop)
    }

    /// Without patterns: rounded rows, annealing from what the LP does not split, a program over the rest, and one over the columns with
    /// the least reduced costs.
    fn by_rounding(&mut self, relaxed: &mut Relaxed<'_>) -> Result<Option<Stop>, MilpError> {
        let whole = self.unsplit(relaxed);
        self.complete(&whole, &relaxed.best.tolls, self.seed, MOVES, &self.limits.clone());
        self.tighten(relaxed)?;
        if let Some(stop) = self.stop() {
            return Ok(Some(stop));
        }
        self.anneal(relaxed);
        self.drop_by_reduced_cost(relaxed);
        self.tighten(relaxed)?;
        if let Some(stop) = self.stop() {
            return Ok(Some(stop));
        }
        self.by_split(relaxed)?;
        if let Some(stop) = self.stop() {
            return Ok(Some(stop));
        }
        self.drop_by_reduced_cost(relaxed);
        self.tighten(relaxed)?;
        self.by_best_columns(relaxed)
    }

    /// Anneals for the longer the wider the gap is.
    fn anneal(&mut self, relaxed: &Relaxed<'_>) {
        let (whole, tolls, limits) = (self.unsplit(relaxed), &relaxed.best.tolls, self.limits.clone());
        self.complete(&whole, tolls, self.seed, MOVES, &limits);
        if self.gap_above(NARROW) {
            self.complete(&whole, tolls, self.seed, self.more_moves(), &limits);
        }
        let limits = limits.with_time(FOR_ANNEALING);
        for number in 1..=ANNEALINGS {
            if !self.gap_above(WIDE) || limits.out_of_time() || limits.cancelled() {
                break;
            }
            let best = self.best.clone();
            self.complete(&best, tolls, self.seed + number, LONGER * self.more_moves(), &limits);
        }
    }

    /// Raises the bound by rounded rows.
    fn tighten(&mut self, relaxed: &mut Relaxed<'_>) -> Result<(), MilpError> {
        relaxed.tighten(&self.batch, self.cost, &self.limits.with_time(FOR_ROWS))?;
        self.prove(relaxed.best.pricing.bound);
        debug!(bound = self.bound, cost = self.cost, rows = relaxed.rounded().count(), "rounded rows");
        Ok(())
    }

    /// Completes a solution and anneals it.
    fn complete(&mut self, some: &Slots, tolls: &Tolls, seed: u64, moves: u64, limits: &Limits<'_>) {
        self.offer(start::complete(&self.batch, some, Some(tolls), seed, moves, limits));
        debug!(cost = self.cost, moves, "completed");
    }

    fn more_moves(&self) -> u64 {
        (MORE_MOVES * self.batch.requests() as u64).min(MOST_MOVES)
    }

    /// The program over what the LP splits.
    fn by_split(&mut self, relaxed: &Relaxed<'_>) -> Result<(), MilpError> {
        let mut split = vec![false; self.batch.groups.len()];
        let mut used: Vec<Vec<usize>> = vec![Vec::new(); self.batch.groups.len()];
        for &(g, slot, value) in &relaxed.values {
            used[g].push(slot);
            split[g] |= (value - value.round()).abs() > SPLIT;
        }
        let count = split.iter().filter(|split| **split).count();
        let most = self.reduced_cost_of(relaxed, self.plan.few * count, |g| split[g]);
        debug!(split = count, most, columns = self.batch.columns(), "rounding");
        let chosen =
            |g: usize, slot: usize, reduced: f64| used[g].contains(&slot) || (split[g] && reduced <= most);
        self.by_columns(relaxed, &chosen, f64::NEG_INFINITY, QUICK_WITH_HEURISTICS).map(|_| ())
    }

    /// What the LP does not split; if it was out of time, the cheapest columns at the prices of the ascent.
    fn unsplit(&self, relaxed: &Relaxed<'_>) -> Slots {
        let mut whole: Slots = vec![Vec::new(); self.batch.groups.len()];
        let held = relaxed.values.iter().filter(|&&(g, slot, _)| self.batch.cost(g, slot).is_finite());
        for &(g, slot, value) in held {
            whole[g].extend(std::iter::repeat_n(slot, (value + SPLIT).floor() as usize));
        }
        if relaxed.values.is_empty() {
            for (g, slots) in whole.iter_mut().enumerate() {
                let group = &self.batch.groups[g];
                if let [slot] = cheapest(&self.batch, &relaxed.best.tolls, g, 1, group.defer)[..] {
                    slots.extend(std::iter::repeat_n(slot, group.members.len()));
                }
            }
        }
        whole
    }

    /// The columns that a solution in the lower part of the gap can use, if there are many others: what they come to proves that
    /// part, or is a better solution.
    fn by_best_columns(&mut self, relaxed: &Relaxed<'_>) -> Result<Option<Stop>, MilpError> {
        self.drop_by_reduced_cost(relaxed);
        let few = self.plan.few * self.batch.groups.len();
        if self.batch.columns() <= 2 * few {
            return Ok(None);
        }
        let most = self.reduced_cost_of(relaxed, self.plan.likely.max(few / 4), |_| true);
        let most = most.min(LOWER * (self.cost - relaxed.best.pricing.bound));
        // What is left out costs at least the bound and `most`.
        let limit = relaxed.best.pricing.bound + most;
        debug!(limit, cost = self.cost, columns = self.batch.columns(), "best columns");
        self.by_columns(relaxed, &|_, _, reduced| reduced <= most, limit, QUICK)?;
        if let Some(stop) = self.stop() {
            return Ok(Some(stop));
        }
        self.drop_by_reduced_cost(relaxed);
        Ok(None)
    }

    /// The reduced cost that about so many columns of some groups do not exceed.
    fn reduced_cost_of(&self, relaxed: &Relaxed<'_>, count: usize, wanted: impl Fn(usize) -> bool) -> f64 {
        let mut reduced: Vec<f64> = Vec::new();
        for g in (0..self.batch.groups.len()).filter(|&g| wanted(g)) {
            let least = relaxed.best.pricing.least[g];
            each_column(&self.batch, &relaxed.best.tolls, g, |_, cost| reduced.push(cost - least));
        }
        if reduced.len() <= count {
            return f64::INFINITY;
        }
        *reduced.select_nth_unstable_by(count, f64::total_cmp).1
    }

    /// The program over columns, chosen by group, slot and reduced cost, and those of the best solution. What is left out
    /// costs more than `limit`, or more than the best solution.
    fn by_columns(
        &mut self,
        relaxed: &Relaxed<'_>,
        chosen: &dyn Fn(usize, usize, f64) -> bool,
        limit: f64,
        effort: Effort,
    ) -> Result<Stop, MilpError> {
        let mut layout = Layout::of(&self.batch);
        relaxed.rounded().for_each(|cut| layout.add_rounded(cut.clone()));
        if let Some(knapsacks) = &self.knapsacks {
            layout.add_worths(knapsacks);
        }
        let (mut columns, mut start, mut order) = (Columns::default(), Vec::new(), Vec::new());
        for g in 0..self.batch.groups.len() {
            let mut slots = vec![self.batch.deferral()];
            let least = relaxed.best.pricing.least[g];
            each_column(&self.batch, &relaxed.best.tolls, g, |slot, cost| {
                if chosen(g, slot, cost - least) || self.best[g].contains(&slot) {
                    slots.push(slot);
                }
            });
            for slot in slots {
                layout.push(&self.batch, g, slot, &mut columns);
                start.push(self.best[g].iter().filter(|used| **used == slot).count() as f64);
                order.push((g, slot));
            }
        }
        let limit = limit.min(self.limit());
        let program =
            Program { rows: &layout.rows, columns: &columns, start: &start, limit, effort, restart: true };
        let (values, stop) = self.branch_and_bound(&program)?;
        if let Some(values) = values {
            let mut slots: Slots = vec![Vec::new(); self.batch.groups.len()];
            for (&(g, slot), value) in order.iter().zip(values) {
                slots[g].extend(std::iter::repeat_n(slot, value.round() as usize));
            }
            self.offer(slots);
        }
        Ok(stop)
    }

    fn branch_and_bound(&mut self, program: &Program<'_>) -> Result<(Option<Vec<f64>>, Stop), MilpError> {
        let mut ran = self.run_highs(program, true)?;
        if ran.lies() {
            // HiGHS 1.16, where presolve alone solves the program: objective and bound of the optimum, but the values of
            // the start. Without a start it returns the right ones.
            ran = self.run_highs(program, false)?;
        }
        if ran.lies() {
            return Err(MilpError::Failed { call: "Highs_getSolution" });
        }
        // Of a run that ends early, the bound is that of LPs in floats.
        let proved = match ran.stop {
            Stop::Finished if ran.exact => ran.bound,
            _ => ran.bound - TOLERANCE - 1e-9 * ran.bound.abs(),
        };
        self.prove(proved.min(program.limit));
        debug!(columns = program.columns.len(), stop = ?ran.stop, proved, objective = ran.objective, "branch and bound");
        Ok((ran.found.map(|(values, _)| values), ran.stop))
    }

    fn run_highs(&mut self, program: &Program<'_>, with_start: bool) -> Result<Ran, MilpError> {
        let Program { rows, columns, start, effort, restart, .. } = *program;
        let gap = self.limits.relative_gap.max(effort.relative_gap);
        let mut mip = self.limits.with_nodes(effort.nodes).instance()?;
        mip.set_double("mip_rel_gap", c"mip_rel_gap", gap)?;
        // A good start is better than what its heuristics find, and they take most of its time.
        mip.set_double("mip_heuristic_effort", c"mip_heuristic_effort", effort.heuristics)?;
        let heuristics = effort.heuristics > 0.0;
        mip.set_bool("mip_heuristic_run_rins", c"mip_heuristic_run_rins", heuristics)?;
        mip.set_bool("mip_heuristic_run_rens", c"mip_heuristic_run_rens", heuristics)?;
        let key = c"mip_heuristic_run_feasibility_jump";
        mip.set_bool("mip_heuristic_run_feasibility_jump", key, heuristics)?;
        mip.set_bool("mip_allow_restart", c"mip_allow_restart", restart)?;
        let key = c"mip_heuristic_run_root_reduced_cost";
        mip.set_bool("mip_heuristic_run_root_reduced_cost", key, heuristics)?;
        mip.pass(rows, columns, true)?;
        if with_start {
            mip.start_at(start)?;
        }
        if let Some(watch) = self.limits.watch {
            watch.limit.set(program.limit);
        }
        mip.run()?;
        let searched = u64::try_from(mip.int64_info(c"mip_node_count")?).unwrap_or(0);
        self.limits.spend(searched);
        if let Some(watch) = self.limits.watch {
            watch.spend(searched);
        }
        let stop = match mip.status() {
            ModelStatus::Optimal => Stop::Finished,
            ModelStatus::TimeLimit => Stop::Time,
            ModelStatus::SolutionLimit => Stop::Nodes,
            ModelStatus::Interrupt => Stop::Cancelled,
            // Every program has a solution, the one that it starts with.
            _ => return Err(MilpError::Failed { call: "Highs_run" }),
        };
        let found = if mip.has_solution()? {
            let values = mip.values()?;
            let cost = columns.cost_of(&values);
            Some((values, cost))
        } else {
            None
        };
        Ok(Ran {
            found,
            objective: mip.objective(),
            bound: mip.double_info(c"mip_dual_bound")?,
            stop,
            exact: gap == 0.0,
        })
    }
}

/// What HiGHS says of a program.
struct Ran {
    /// The values of the columns, and what they cost.
    found: Option<(Vec<f64>, f64)>,
    objective: f64,
    bound: f64,
    stop: Stop,
    /// Whether no gap was allowed.
    exact: bool,
}

impl Ran {
    /// Whether the values do not cost what the objective says.
    fn lies(&self) -> bool {
        let off = |(_, cost): &(Vec<f64>, f64)| (cost - self.objective).abs() > 1e-3 + 1e-7 * cost.abs();
        self.found.as_ref().is_some_and(off)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use scale_model::{
        Cores, Decision, Instance, Memory, Milliseconds, Objective, Placement, RequestId, Slo, Solver,
    };

    use super::*;
    use crate::bounds::{Prices, capacity_free, lagrangian, lp_relaxation};
    use crate::oracle::{agrees, brute_force, proven, tiny};
    use crate::{Formulation, Milp};

    const SOLVER: Milp = Milp { formulation: Formulation::Compact, random_seed: 1 };

    /// A tiny batch; in every other one two requests are the same but for their ids.
    fn twins(seed: u64, objective: Objective) -> Instance {
        let mut instance = tiny(seed, objective);
        if seed % 2 == 1 {
            let id = instance.requests[1].id;
            instance.requests[1] = instance.requests[0];
            instance.requests[1].id = id;
        }
        instance
    }

    fn elastic(late: f64, defer: f64) -> Objective {
        let slo = Slo::Elastic { penalty_ms: Milliseconds(late) };
        Objective { slo, defer_penalty: Milliseconds(defer) }
    }

    fn against_brute_force(objective: Objective, seeds: std::ops::Range<u64>) -> [usize; 2] {
        let mut feasible = [0, 0];
        for seed in seeds {
            let instance = twins(seed, objective);
            let problem = instance.problem();
            let oracle = brute_force(&problem);
            let case = format!("seed {seed}");
            let found = proven(&case, &problem, SOLVER);
            agrees(&case, oracle, found);
            feasible[usize::from(found.is_some())] += 1;

            // No bound is above the optimum, and each is at least the one before.
            let optimum = oracle.unwrap_or(f64::INFINITY);
            let free = capacity_free(&problem);
            let lp = lp_relaxation(&problem, &Budget::default()).expect("HiGHS runs");
            let priced = lagrangian(&problem, &lp.prices);
            assert!(free <= lp.bound + 1e-6 && lp.bound <= optimum + 1e-9, "{case}: {free}, {}", lp.bound);
            assert_eq!(priced, lp.bound, "{case}");
            let any = |len: usize| (0..len).map(|index| (index % 3) as f64 * 0.1).collect();
            let Prices { cores, memory, idle } = &lp.prices;
            let any = Prices { cores: any(cores.len()), memory: any(memory.len()), idle: any(idle.len()) };
            assert!(lagrangian(&problem, &any) <= optimum + 1e-9, "{case}");
        }
        feasible
    }

    #[test]
    fn elastic_is_the_best_of_all_placements() {
        let [infeasible, _] = against_brute_force(Objective::ELASTIC, 0..1000);
        assert_eq!(infeasible, 0, "deferring all is always allowed");
        // Prices that make it worth to defer, or to be late.
        for (late, defer) in [(20.0, 2000.0), (1000.0, 60.0), (0.0, 0.0), (1000.0, 300.0)] {
            against_brute_force(elastic(late, defer), 0..250);
        }
    }

    #[test]
    fn hard_is_the_best_of_all_placements_in_time_or_infeasible() {
        let [infeasible, feasible] = against_brute_force(Objective::HARD, 0..1000);
        assert!(infeasible >= 150 && feasible >= 150, "{infeasible} and {feasible}");
    }

    /// The way of large batches, step by step, on tiny ones.
    const ROUNDING: Plan = Plan { patterns: 0.0, patterns_if_poor: 0.0, few: 1, likely: 1 };

    fn by_rounding(problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
        solve_by(ROUNDING, problem, budget, 1, &mut |_| std::ops::ControlFlow::Continue(()))
    }

    #[test]
    fn the_way_of_large_batches_ends_at_the_same_optimum() {
        for (objective, seeds) in
            [(Objective::ELASTIC, 0..150), (elastic(20.0, 2000.0), 0..150), (Objective::HARD, 0..150)]
        {
            for seed in seeds {
                let instance = twins(seed, objective);
                let problem = instance.problem();
                let found = match by_rounding(&problem, &Budget::default()) {
                    Ok(solution) => {
                        assert_eq!(violations(&problem, &solution.placement), [], "seed {seed}");
                        assert_eq!(solution.proof, Proof::Optimal, "seed {seed}");
                        Some(solution.objective)
                    }
                    Err(SolveError::Infeasible { .. }) => None,
                    Err(error) => panic!("seed {seed}: {error}"),
                };
                agrees(&format!("seed {seed}"), brute_force(&problem), found);
            }
        }
    }

    #[test]
    fn the_way_of_large_batches_ends_when_it_should() {
        for seed in 0..30 {
            let instance = tiny(seed, Objective::ELASTIC);
            let problem = instance.problem();
            let optimum = brute_force(&problem).expect("elastic");
            let soon = Budget { time_limit: Some(Duration::from_micros(500)), ..Budget::default() };
            let wide = Budget { relative_gap: 0.5, ..Budget::default() };
            let cancelled = Budget { cancel: Some(Arc::new(true.into())), ..Budget::default() };
            for budget in [soon, wide, cancelled] {
                let solution = by_rounding(&problem, &budget).expect("a placement");
                let cancelled = budget.cancel.is_some() && solution.proof != Proof::Optimal;
                assert_eq!(solution.stop == Stop::Cancelled, cancelled, "seed {seed}: {solution:?}");
                assert!(solution.objective >= optimum - 1e-6, "seed {seed}");
                assert!(solution.bound.is_none_or(|bound| bound <= optimum + 1e-6), "seed {seed}");
            }
        }
    }

    #[test]
    fn a_batch_without_requests_and_a_single_node() {
        for objective in [Objective::ELASTIC, Objective::HARD] {
            let instance = Instance { requests: Vec::new(), ..tiny(0, objective) };
            assert_eq!(proven("empty", &instance.problem(), SOLVER), Some(0.0));
            let mut instance = tiny(3, objective);
            instance.platform.topology.nodes.truncate(1);
            instance.platform.topology.links =
                scale_model::Links::from_fn(1, |_, _| scale_model::MegabytesPerSecond(1.0)).expect("no rate");
            instance.state = scale_model::ClusterState::empty(&instance.platform);
            instance.state.time = scale_model::Time(1000.0);
            for request in &mut instance.requests {
                request.source = scale_model::NodeId(0);
            }
            for (cores, memory) in [(500, 128), (1000, 1000), (100_000, 100_000)] {
                instance.platform.topology.nodes[0].cores = Cores { milli: cores };
                instance.platform.topology.nodes[0].memory = Memory { mb: memory };
                let problem = instance.problem();
                agrees("one node", brute_force(&problem), proven("one node", &problem, SOLVER));
            }
        }
    }

    #[test]
    fn a_budget_that_is_spent_leaves_a_placement_and_a_true_bound() {
        for seed in 0..50 {
            let instance = tiny(seed, Objective::ELASTIC);
            let problem = instance.problem();
            let optimum = brute_force(&problem).expect("elastic");
            let budgets = [
                Budget { time_limit: Some(Duration::ZERO), ..Budget::default() },
                Budget { nodes: Some(0), ..Budget::default() },
                Budget { relative_gap: 0.5, ..Budget::default() },
            ];
            for budget in budgets {
                let solution = { SOLVER }.solve(&problem, &budget).expect("a placement");
                assert!(solution.objective >= optimum - 1e-6);
                assert!(
                    solution.bound.is_none_or(|bound| bound <= optimum + 1e-6),
                    "seed {seed} {solution:?}"
                );
                if solution.proof == Proof::Optimal {
                    assert!(solution.objective <= optimum + 1e-5);
                }
            }
            let cancelled = Budget { cancel: Some(Arc::new(true.into())), ..Budget::default() };
            assert_eq!({ SOLVER }.solve(&problem, &cancelled), Err(SolveError::NothingFound));
        }
    }

    #[test]
    fn who_is_hopeless_is_named() {
        let mut instance = tiny(1, Objective::HARD);
        instance.requests[0].slo = Milliseconds(1e-9);
        let error =
            { SOLVER }.solve(&instance.problem(), &Budget::default()).expect_err("no node is as quick");
        let SolveError::Infeasible { hopeless } = error else { panic!("{error}") };
        assert!(hopeless.contains(&RequestId(0)));
    }

    #[test]
    fn groups_go_back_to_their_requests() {
        let instance = twins(1, Objective::ELASTIC);
        let batch = Batch::new(&instance.problem());
        let group = batch.groups.iter().position(|group| group.members == [0, 1]).expect("twins");
        let mut slots: Slots =
            batch.groups.iter().map(|group| vec![batch.deferral(); group.members.len()]).collect();
        slots[group][1] = 3;
        let Placement { decisions } = batch.placement(&slots);
        let node = scale_model::NodeId(1);
        assert_eq!(decisions[0], Decision::Defer);
        assert_eq!(decisions[1], Decision::Run { node, container: scale_model::Container::New });
    }
}
