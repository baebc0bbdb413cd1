//! Preset `hybrid`: the same evolution, looking at the problem.
//!
//! | part | what it is |
//! |---|---|
//! | encoding | for each request the rank of its node in the order of its own costs, deferral last (`ranks`): a small step in rank is a small step in cost |
//! | individual | columns with the counts and free capacities that make the exact value of a move O(1) (`assignment`), warm-only requests included |
//! | trial | one request, or two that meet on a node. The target rank comes from an ant's Gaussian around rank 0 or around an elite's rank, with a deviation that shrinks (3 in 4), or from DE's current-to-pbest/1 in rank space (1 in 4). Half of all trials, and all whose node is full or whose idle containers are taken, send a request that is there elsewhere: back to where the first came from, or to a rank of its own |
//! | who moves | any request (9 in 16), one that costs more than its first rank by more than the temperature (6 in 16), or one that is late or deferred (1 in 16) |
//! | selection | annealed: worse by d with probability exp(-d / T), T falling geometrically, from a hotter start where there are more evaluations a request |
//! | capacity | a linear weight on what is missing, 1.03 times while infeasible and 0.98 times while feasible, times a factor for each node that rises by 1.1 while the node is overfull and falls by 0.95 while it is not. Without the second factor loads of 95 % end where they start; with it, within a few per cent |
//! | population | the individual that moves, and up to four elites that DE and ants look at: both seeds at first, then the best of each phase |
//! | seeds | what `greedy-latency` and `greedy-regret` decide (`start`) |
//! | islands | [`ISLANDS`](islands::ISLANDS) from [`LARGE_A_REQUEST`] evaluations a request on, in parallel; at the end of each of [`EPOCHS`] the one with the worst oracle penalty continues from the best placement of all |
//! | room | from `ALONE` epochs on, an island whose best placement lets requests wait although the nodes have enough left makes room for them, whatever it costs, and goes on from there with a firm weight (`pool`) |
//! | chains | the last half of the evaluations, but no more than `CHAINS` a request: while there is a chain of moves that makes the best placement of an island better, such chains are made (`exchange`) |
//! | oracle | Omega is the best feasible objective; the penalty ranks islands and is what the trial weights stand in for inside one: a linear weight can be kept up to date by differences, and on the penalty alone the search does not leave its seed |
//!
//! # What counts as an evaluation
//! One trial: the exact value of one candidate that differs from the individual in one or two requests, O(1) work. What is worked
//! out for chains, O(1) too, is one each: what a request saves where it is, what it costs at the end of a chain, an arc of the graph in which
//! they are found. A seed counts one for each request that it places. The evaluations of [`Midaco`](crate::Midaco) are O(requests) each,
//! so at the same number of evaluations this preset does far less work.
//!
//! # What is promised
//! The answer is never worse than those of `greedy-latency` and `greedy-regret`: they are kept, and at the end the judge
//! chooses between them and what the search found. It is under [`Slo::Elastic`](scale_model::Slo::Elastic) always feasible.
//! Same seed, same bytes, whatever the number of threads. The objective of the answer is `evaluate`'s.

use crate::assignment::{Assignment, placement};
use crate::draw::Draw;
use crate::exchange::Chains;
use crate::islands::{self, EPOCHS, LARGE_A_REQUEST, Watch};
use crate::midaco::Step;
use crate::oracle::Oracle;
use crate::pool;
use crate::problem::Value;
use crate::ranks::Ranks;
use crate::start;
use rayon::prelude::*;
use scale_model::{
    BatchProblem, Budget, Decision, Placement, Proof, Seed, Solution, SolveError, Solver, Stop, evaluate,
    violations,
};
use std::sync::LazyLock;

/// Trials after which temperature and weights change; a 400th of the search if that is less, so that a short one has
/// time to find the weights too.
const ROUND: u64 = 1024;
const ROUNDS: u64 = 400;
/// Temperature at the start and at the end, ms. What has more than [`PATIENT`] evaluations a request starts hotter, in proportion, up
/// to the third. At load 0.95, 2,000 a request end 0.7 % lower from 80 ms than from 20; at 200 a request and loads below that, 20 are
/// as good as any. Beyond 80 nothing is gained.
const HEAT: [f64; 3] = [20.0, 0.3, 80.0];
const PATIENT: f64 = 500.0;
/// Deviation of an ant in ranks, at the start and at the end.
const DEVIATION: [f64; 2] = [6.0, 2.0];
/// Capacity weight at the start: ms for the cores or the memory of a mean request; and its range.
const WEIGHT: f64 = 100.0;
const WEIGHTS: [f64; 2] = [0.01, 1e4];
/// Temperature and capacity weight at the start of [`Hybrid::improve`], ms. A warmer search would first lose what the start is worth,
/// and a softer weight spends most of a short one beyond the capacities: with 5,000 evaluations for 70 requests at load 0.7, from
/// `greedy-latency`, it ends 1.2 % above the best known, with [`WEIGHT`] 11 %.
const COLD: f64 = 3.0;
const FIRM: f64 = 1000.0;
/// Factors on the capacity weight for each round that ends feasible and infeasible.
const EASE: f64 = 0.98;
const PRESS: f64 = 1.03;
/// The same for the factor of one node, and the most that it becomes.
const NODE_EASE: f64 = 0.95;
const NODE_PRESS: f64 = 1.1;
const NODE_MOST: f64 = 30.0;
/// Of 256 tickets, those below the first draw the request from the late and deferred, those below the second from the
/// ones that could gain, and the others from all.
const UNHAPPY: u32 = 16;
const RESTLESS: u32 = 112;
/// Evaluations a request that chains get at the end, if that is not more than half of all. They take 10 to 15 where the search before
/// them has converged, and 100 after 100 a request.
const CHAINS: u64 = 150;
/// Epochs before islands make room for requests that still wait: before, the search has not found what it can do by itself; after more
/// of them it is too cold to repair what that costs.
const ALONE: u64 = 4;
/// The part of an island's evaluations that it may spend on that each time.
const ROOM: u64 = 8;
/// Elites kept.
const ELITES: usize = 4;

/// The solver of our own.
#[derive(Clone, Copy, Debug)]
pub struct Hybrid {
    /// Evaluations, unless the budget names another number. The seeds are made in any case.
    pub evaluations: u64,
    /// Seed of all that is drawn.
    pub seed: Seed,
}

/// What the search found.
#[derive(Clone, Debug, PartialEq)]
pub struct HybridRun {
    /// The best placement, as far as the search can tell; under [`Slo::Hard`](scale_model::Slo::Hard) the judge has the
    /// last word.
    pub placement: Placement,
    /// Each time that the best became better; the first step is the better seed. Objectives are
    /// off by some 10^-6 ms a request, and under [`Slo::Hard`](scale_model::Slo::Hard) hold the search's own prices for
    /// late and deferred requests.
    pub trace: Vec<Step>,
    /// Evaluations spent.
    pub evaluations: u64,
    /// Omega at the end.
    pub oracle: Oracle,
    /// Why it ended.
    pub stop: Stop,
}

impl Hybrid {
    /// The same search from a given placement, cold and on one island: for a few evaluations a request after another scheduler. Never
    /// worse than the placement by the judge: what is allowed comes first, then the objective. A placement that fills a node with
    /// more than it holds, or is not one of this batch, comes back as it is.
    ///
    /// All evaluations go into trials. Before the first, the costs of every request on every node are worked out and sorted: 0.15 ms
    /// for 70 requests on 125 nodes on a processor of 2.1 GHz, where a thousand trials take 0.09 ms.
    ///
    /// Of the budget, time and cancellation cut it short; the number of evaluations is its own.
    pub fn improve(&self, problem: &BatchProblem<'_>, start: &Placement, budget: &Budget) -> Placement {
        self.improve_while(problem, start, &Watch::of(budget)).0
    }

    /// The same, and why it was cut short, if it was.
    pub(crate) fn improve_while(
        &self,
        problem: &BatchProblem<'_>,
        start: &Placement,
        watch: &Watch,
    ) -> (Placement, Option<Stop>) {
        let as_it_is = || (start.clone(), None);
        let count = problem.requests.len();
        if self.evaluations == 0 || count == 0 || start.decisions.len() != count {
            return as_it_is();
        }
        let known = |decision: &Decision| match decision {
            Decision::Run { node, .. } => node.index() < problem.platform.topology.nodes.len(),
            Decision::Defer => true,
        };
        if !start.decisions.iter().all(known) {
            return as_it_is();
        }
        // The tables are not worth making if it is over already.
        let cut = watch.reason();
        if cut.is_some() {
            return (start.clone(), cut);
        }
        let ranks = Ranks::of(problem);
        let state = Assignment::of(&ranks, &ranks.columns_of(&start.decisions));
        if !state.feasible() {
            return as_it_is();
        }
        let draw = Draw::new(self.seed.derive("improve", 0));
        let mut island = Island::new(&ranks, draw, state, COLD, self.evaluations);
        island.weight = FIRM * ranks.ticks;
        island.advance(self.evaluations, watch);
        let found = placement(problem, &island.best.1);
        (judged(problem, [start.decisions.clone(), found.decisions].into_iter()), island.cut)
    }

    /// The search on a batch, with its trace. `budget` as in [`Solver::solve`].
    pub fn run(&self, problem: &BatchProblem<'_>, budget: &Budget) -> HybridRun {
        let ranks = Ranks::of(problem);
        let count = ranks.requests.len() as u64;
        let seeded = 2 * count;
        let evaluations = budget.evaluations.unwrap_or(self.evaluations).max(seeded) - seeded;
        let watch = Watch::of(budget);
        let decided = [start::regret(problem, &ranks), start::greedy(problem, &ranks)];
        let mut seeds = [0, 1].map(|index: usize| Assignment::of(&ranks, &ranks.columns_of(&decided[index])));
        seeds.sort_by_key(|seed| seed.cost);
        let chains = (evaluations / 2).min(CHAINS * count);
        let mut search = self.islands(&ranks, &seeds, seeded + evaluations, evaluations - chains);
        let mut oracle = Oracle::UNKNOWN;
        if count > 0 {
            (1..=EPOCHS).for_each(|epoch| advance_all(&mut search, epoch, &watch, &mut oracle));
        }
        let mut spent = search.iter().map(|island| island.spent).sum();
        let traces: Vec<&[(u64, i64)]> = search.iter().map(|island| island.trace.as_slice()).collect();
        let mut trace = vec![(0, seeds[0].cost)];
        trace.extend(islands::join(&traces, spent, |a, b| a < b));
        let (cost, place) = chain_all(&mut search, &mut spent, evaluations, &watch, &mut trace);

        let value = |cost: i64| Value { objective: cost as f64 / ranks.ticks, residual: 0.0 };
        oracle.update(value(cost));
        let found = placement(problem, &place);
        let step = |(at, cost)| Step { evaluations: seeded + at, value: value(cost) };
        let cut = islands::stop(search.iter().map(|island| island.cut));
        let finished = cut == Stop::Evaluations && (count == 0 || spent < evaluations);
        HybridRun {
            placement: judged(problem, std::iter::once(found.decisions).chain(decided)),
            trace: trace.into_iter().map(step).collect(),
            evaluations: seeded + spent,
            oracle,
            stop: if finished { Stop::Finished } else { cut },
        }
    }

    /// The islands of a search, all at the better seed. Their number and temperature go by all evaluations, their budgets by those
    /// that are annealed.
    fn islands<'a>(
        &self,
        ranks: &'a Ranks,
        [first, second]: &[Assignment; 2],
        evaluations: u64,
        annealed: u64,
    ) -> Vec<Island<'a>> {
        let count = ranks.requests.len() as u64;
        let islands = islands::count(evaluations, LARGE_A_REQUEST * count);
        let patience = evaluations as f64 / (PATIENT * count.max(1) as f64);
        let heat = (HEAT[0] * patience).clamp(HEAT[0], HEAT[2]);
        let island = |index| {
            let draw = Draw::new(self.seed.derive("hybrid", index));
            let budget = islands::share(annealed, islands, index);
            let mut island = Island::new(ranks, draw, first.clone(), heat, budget);
            island.elites.push((second.cost, second.place.clone()));
            island
        };
        (0..islands).map(island).collect()
    }
}

/// One epoch of all islands. At its end the one with the worst oracle penalty continues from the best placement of all, unless it
/// has just made room: then it is dear because nobody waits, and on its way down.
fn advance_all(search: &mut [Island<'_>], epoch: u64, watch: &Watch, oracle: &mut Oracle) {
    let together = search.len() > 1;
    search.par_iter_mut().for_each(|island| {
        // A single island finds its best late, and would lose more than it gains; so would any in the last epoch.
        if together && epoch > ALONE && epoch < EPOCHS {
            island.make_room();
        }
        island.advance(islands::end_of(epoch, island.budget), watch);
    });
    let best = search.iter().map(|island| &island.best).min_by_key(|best| best.0).cloned();
    let Some((cost, place)) = best else { return };
    oracle.update(Value { objective: cost as f64 / search[0].ranks.ticks, residual: 0.0 });
    let penalty = |island: &Island<'_>| oracle.penalty(island.value());
    // The last of equal ones, so that a single island is never touched and the first keeps its own.
    let worst = (1..search.len()).max_by(|&a, &b| penalty(&search[a]).total_cmp(&penalty(&search[b])));
    if let Some(worst) = worst.filter(|&worst| !search[worst].packed) {
        search[worst].restart(cost, place);
    }
}

/// Chains on what each island found, the best one first, while there are evaluations. The best of all.
fn chain_all(
    search: &mut [Island<'_>],
    spent: &mut u64,
    evaluations: u64,
    watch: &Watch,
    trace: &mut Vec<(u64, i64)>,
) -> (i64, Vec<u32>) {
    search.sort_by_key(|island| island.best.0);
    let mut best = search.first().map_or((0, Vec::new()), |island| island.best.clone());
    for island in search {
        if *spent >= evaluations || island.cut.is_some() {
            break;
        }
        let begun = *spent;
        let state = Assignment::of(island.ranks, &island.best.1);
        let mut chains = Chains::new(island.ranks, state, evaluations - begun);
        island.cut = chains.descend(watch, |more, state| {
            if state.cost < best.0 {
                best = (state.cost, state.place.clone());
                trace.push((begun + more, state.cost));
            }
        });
        *spent = begun + chains.spent;
    }
    best
}

/// The best placement by the judge: allowed first, then the least objective, then the earliest.
fn judged(problem: &BatchProblem<'_>, answers: impl Iterator<Item = Vec<Decision>>) -> Placement {
    let key = |placement: &Placement| {
        (!violations(problem, placement).is_empty(), evaluate(problem, placement).objective)
    };
    let least = answers
        .map(|decisions| Placement { decisions })
        .map(|placement| (key(&placement), placement))
        .reduce(|best, other| if other.0 < best.0 { other } else { best });
    least.map_or(Placement { decisions: Vec::new() }, |(_, placement)| placement)
}

impl Solver for Hybrid {
    /// Looks at the budget's evaluations, time and cancellation. The search plans for its evaluations; time only cuts it
    /// short, and makes the answer depend on the machine if it does.
    fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
        let HybridRun { placement, stop, .. } = self.run(problem, budget);
        if !violations(problem, &placement).is_empty() {
            return Err(SolveError::NothingFound);
        }
        let objective = evaluate(problem, &placement).objective;
        Ok(Solution { placement, objective, bound: None, proof: Proof::Feasible, stop })
    }
}

/// One annealed individual with its elites.
struct Island<'a> {
    ranks: &'a Ranks,
    tables: &'a Tables,
    draw: Draw,
    state: Assignment,
    /// The best feasible columns.
    best: (i64, Vec<u32>),
    /// Best first.
    elites: Vec<(i64, Vec<u32>)>,
    /// Capacity weight, in ticks for a mean request, and the factor of each node.
    weight: f64,
    factors: Vec<f64>,
    /// What a mean request is, in (thousandths of a core, MB).
    units: (f64, f64),
    /// Temperature at the start, ms.
    heat: f64,
    budget: u64,
    spent: u64,
    trace: Vec<(u64, i64)>,
    /// Whether it has made room for requests that waited.
    packed: bool,
    /// Why it stopped early, if it did.
    cut: Option<Stop>,
}

impl<'a> Island<'a> {
    /// An island that begins at a feasible individual, at a temperature in ms.
    fn new(ranks: &'a Ranks, draw: Draw, state: Assignment, heat: f64, budget: u64) -> Island<'a> {
        let best = (state.cost, state.place.clone());
        Island {
            ranks,
            tables: &TABLES,
            draw,
            elites: vec![best.clone()],
            best,
            state,
            weight: WEIGHT * ranks.ticks,
            factors: vec![1.0; ranks.columns],
            units: ranks.units(),
            heat,
            budget,
            spent: 0,
            trace: Vec::new(),
            packed: false,
            cut: None,
        }
    }

    /// Searches until so many evaluations are made.
    fn advance(&mut self, end: u64, watch: &Watch) {
        let round = (self.budget / ROUNDS).clamp(64, ROUND);
        while self.spent < end && self.cut.is_none() {
            self.cut = watch.reason();
            if self.cut.is_some() {
                return;
            }
            let trials = round.min(end - self.spent);
            self.round(trials);
            if self.spent / (16 * round) != (self.spent - trials) / (16 * round) {
                self.keep_elite();
            }
        }
    }

    /// Continues from other columns, which are feasible.
    fn restart(&mut self, cost: i64, place: Vec<u32>) {
        self.state.become_like(self.ranks, &place);
        if cost < self.best.0 {
            self.best = (cost, place);
        }
        self.keep_elite();
    }

    /// If requests wait in the best placement although nodes have as much left as all need: goes on from a placement where fewer do,
    /// whatever it costs, if the pool finds one. Once.
    fn make_room(&mut self) {
        let waiting = |place: &[u32]| place.iter().filter(|&&to| to == self.ranks.defer()).count();
        let before = waiting(&self.best.1);
        if self.packed || before == 0 || !self.ranks.might_hold_all() || self.cut.is_some() {
            return;
        }
        let mut state = Assignment::of(self.ranks, &self.best.1);
        self.spent += pool::empty(&mut state, self.ranks, &mut self.draw, self.budget / ROOM);
        if waiting(&state.place) < before {
            self.packed = true;
            self.state = state;
            self.factors.fill(1.0);
            self.weight = self.weight.max(FIRM * self.ranks.ticks);
            self.note();
        }
    }

    /// What the individual is worth, in ms: what the oracle penalty takes.
    fn value(&self) -> Value {
        let (cores, memory) = self.state.over;
        Value { objective: self.state.cost as f64 / self.ranks.ticks, residual: (cores + memory) as f64 }
    }

    fn keep_elite(&mut self) {
        if self.elites.iter().all(|(cost, _)| *cost != self.best.0) {
            self.elites.push(self.best.clone());
            self.elites.sort_by_key(|elite| elite.0);
            self.elites.truncate(ELITES);
        }
    }

    /// Notes the individual if it is the best feasible one so far.
    #[inline]
    fn note(&mut self) {
        if self.state.cost < self.best.0 && self.state.feasible() {
            self.best.0 = self.state.cost;
            self.best.1.copy_from_slice(&self.state.place);
            self.trace.push((self.spent, self.best.0));
        }
    }

    /// Trials at one temperature and with one set of weights.
    fn round(&mut self, trials: u64) {
        let ranks = self.ranks;
        let progress = self.spent as f64 / self.budget.max(1) as f64;
        let falling = |[from, to]: [f64; 2]| from * (to / from).powf(progress);
        let heat = falling([self.heat, HEAT[1]]) * ranks.ticks;
        let deviation = falling(DEVIATION) as f32;
        self.weigh();
        let (unhappy, restless) = self.who_could_gain(heat);
        for _ in 0..trials {
            self.spent += 1;
            let bits = self.draw.wide();
            let (who, bits) = (bits as u32, (bits >> 32) as u32);
            let (k, eager) = self.mover(who, &unhappy, &restless);
            let row = ranks.row(k);
            let here = ranks.rank(k, self.state.place[k]) as usize;
            let mut rank = self.target(k, here, row.len(), bits, deviation);
            if eager && here > 0 {
                rank = self.draw.below(here);
            }
            if let Some(&to) = row.get(rank)
                && to != self.state.place[k]
            {
                self.try_column(k, to, bits, heat, deviation);
            }
        }
        self.weight = (self.weight * if self.state.feasible() { EASE } else { PRESS })
            .clamp(WEIGHTS[0] * ranks.ticks, WEIGHTS[1] * ranks.ticks);
    }

    /// The request that a trial moves, and whether it should try any rank that is better: one that is late or deferred does so every
    /// other time.
    #[inline(always)]
    fn mover(&self, ticket: u32, unhappy: &[u32], restless: &[u32]) -> (usize, bool) {
        let scaled = |length: usize| ((u64::from(ticket >> 8) * length as u64) >> 24) as usize;
        let lottery = ticket & 255;
        let list = match lottery {
            0..UNHAPPY => unhappy,
            UNHAPPY..RESTLESS => restless,
            _ => &[],
        };
        let k = match list {
            [] => scaled(self.ranks.requests.len()),
            _ => list[scaled(list.len())] as usize,
        };
        (k, lottery < UNHAPPY / 2)
    }

    /// One trial: request k to a column where it is not, alone or with one that is there going elsewhere.
    #[inline(always)]
    fn try_column(&mut self, k: usize, to: u32, bits: u32, heat: f64, deviation: f32) {
        let (ranks, from) = (self.ranks, self.state.place[k]);
        let crowded = self.state.crowded(ranks, k, to);
        let pair = bits & 4 != 0 || crowded || !self.state.fits(ranks, k, to);
        if pair && !self.state.on(to).is_empty() {
            let bits = self.draw.wide();
            let (other, bits) = (self.guest(k, to, crowded, bits as u32), (bits >> 32) as u32);
            let third = if bits & 1 == 0 { from } else { self.refuge(other, to, from, bits, deviation) };
            let change = self.state.change_of_two(ranks, k, other, third);
            if change.value() <= heat * self.tables.patience(bits >> 2) {
                self.state.accept_two(ranks, change, k, other, third);
                self.note();
            }
        } else {
            let change = self.state.change(ranks, k, to);
            let value = change.value();
            if value <= 0.0 || value <= heat * self.tables.patience(self.draw.bits()) {
                self.state.accept(ranks, change, k, to);
                self.note();
            }
        }
    }

    /// Brings the weights of all nodes up to date.
    fn weigh(&mut self) {
        for (column, factor) in self.factors.iter_mut().enumerate() {
            let step = if self.state.overfull(column) { NODE_PRESS } else { NODE_EASE };
            *factor = (*factor * step).clamp(1.0, NODE_MOST);
            let weight = self.weight * *factor;
            self.state.weigh(column, (weight / self.units.0, weight / self.units.1));
        }
    }

    /// The requests that are late or deferred without need, and those that cost more than they might by more than the
    /// temperature.
    fn who_could_gain(&self, heat: f64) -> (Vec<u32>, Vec<u32>) {
        let bar = (self.ranks.late / 2).max(1);
        let (mut unhappy, mut restless) = (Vec::new(), Vec::new());
        for k in 0..self.ranks.requests.len() {
            let loss = self.state.saving(self.ranks, k) - self.ranks.first[k];
            if loss > bar {
                unhappy.push(k as u32);
            }
            if loss as f64 > heat {
                restless.push(k as u32);
            }
        }
        (unhappy, restless)
    }

    /// The rank that request k, now at rank `here` of `count`, should try; `count` or more for none.
    #[inline]
    fn target(&self, k: usize, here: usize, count: usize, bits: u32, deviation: f32) -> usize {
        let ranks = self.ranks;
        let elite = |ticket: u32| {
            let index = ((ticket as usize & 15) * self.elites.len()) >> 4;
            ranks.rank(k, self.elites[index].1[k]) as f32
        };
        let normal = self.tables.normal(bits >> 20);
        let wanted = if bits & 3 == 0 {
            // current-to-pbest/1; F is half a normal number above 0.5, so that any step can happen.
            let (here, scale) = (here as f32, 0.5 + 0.5 * normal.abs());
            here + scale * (elite(0) - here) + scale * (elite(bits >> 8) - elite(bits >> 12))
        } else {
            let centre = if bits & 8 == 0 { 0.0 } else { elite(bits >> 8) };
            centre + deviation * normal
        };
        // Below rank 0 there is nothing: reflected for ants, and harmless for DE.
        let rank = nearest(wanted).min(count - 1);
        match rank == here {
            false => rank,
            true if here == 0 || bits & 16 == 0 => here + 1,
            true => here - 1,
        }
    }

    /// A request on a column, which is not empty; if its idle containers are what k lacks, one of k's function.
    #[inline]
    fn guest(&self, k: usize, column: u32, crowded: bool, bits: u32) -> usize {
        let guests = self.state.on(column);
        let begin = ((u64::from(bits) * guests.len() as u64) >> 32) as usize;
        if crowded {
            let same = |&&guest: &&u32| self.ranks.requests[guest as usize].row == self.ranks.requests[k].row;
            let (before, after) = guests.split_at(begin);
            if let Some(&guest) = after.iter().chain(before).find(same) {
                return guest as usize;
            }
        }
        guests[begin] as usize
    }

    /// A column for a request that is sent away from `to`; `from` if the draw says that it should stay.
    #[inline]
    fn refuge(&self, other: usize, to: u32, from: u32, bits: u32, deviation: f32) -> u32 {
        let row = self.ranks.row(other);
        let centre = if bits & 2 == 0 { 0.0 } else { self.ranks.rank(other, to) as f32 };
        let rank = nearest(centre + deviation * self.tables.normal(bits >> 20));
        let third = row[rank.min(row.len() - 1)];
        if third == to { from } else { third }
    }
}

/// The whole number nearest to the magnitude of a rank: `round` is a call into a library on many processors, and a
/// fourteenth of the time of a trial.
#[inline(always)]
fn nearest(rank: f32) -> usize {
    (rank.abs() + 0.5) as usize
}

/// The same for all searches: to work them out costs as much as some hundred trials.
static TABLES: LazyLock<Tables> = LazyLock::new(Tables::new);

/// Quantiles, so that a trial costs no logarithm.
struct Tables {
    normal: Vec<f32>,
    exponential: Vec<f64>,
}

impl Tables {
    const SIZE: usize = 4096;

    fn new() -> Tables {
        let size = Tables::SIZE as f64;
        let middle = |index: usize| (index as f64 + 0.5) / size;
        // Box and Muller over a grid of 64 by 64 quantiles.
        let normal = |index: usize| {
            let radius = (-2.0 * ((index / 64) as f64 / 64.0 + 0.5 / 64.0).ln()).sqrt();
            (radius * (std::f64::consts::TAU * ((index % 64) as f64 + 0.5) / 64.0).cos()) as f32
        };
        Tables {
            normal: (0..Tables::SIZE).map(normal).collect(),
            exponential: (0..Tables::SIZE).map(|index| -middle(index).ln()).collect(),
        }
    }

    /// A standard normal number from 12 bits.
    #[inline(always)]
    fn normal(&self, bits: u32) -> f32 {
        self.normal[bits as usize % Tables::SIZE]
    }

    /// An exponential number of mean 1 from 12 bits: how much worse, in temperatures, a trial may be.
    #[inline(always)]
    fn patience(&self, bits: u32) -> f64 {
        self.exponential[bits as usize % Tables::SIZE]
    }
}
