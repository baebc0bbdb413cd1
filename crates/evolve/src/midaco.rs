//! Preset `midaco`: a black-box mixed-integer search under the oracle penalty, after the paper's baseline.
//!
//! MIDACO itself is closed: what is published is its ant-colony kernel (Schlueter, Egea, Banga, "Extended ant colony
//! optimization for non-convex mixed integer nonlinear programming", Computers & Operations Research 36, 2009), its
//! penalty ([`oracle`](crate::oracle)), and that it restarts. A kernel of that kind alone does badly on assignment
//! problems: it draws every coordinate anew. The paper calls its baseline "evolutionary hybrid"; so is this one.
//!
//! | part | after | deviation |
//! |---|---|---|
//! | trial vector | current-to-pbest/1 with an archive: JADE (Zhang, Sanderson 2009), SHADE (Tanabe, Fukunaga 2013) | a trial replaces its parent at once, not at the end of the generation |
//! | crossover | binomial (Storn, Price 1997) | the coordinate that is crossed for certain is drawn as in a mutation |
//! | F and CR | success history of SHADE and L-SHADE (Tanabe, Fukunaga 2014): memories of 6, weighted Lehmer means, terminal value for CR | the CR memory starts at 0 to 0.9, not at 0.5, and CR is drawn with a deviation of at most half its mean: with hundreds of whole variables only a low CR helps, with few real ones only a high one; ants have memories of their own |
//! | weight of the p-best term | jSO (Brest, Maucec, Boskovic 2017): 0.7, 0.8, 1.2 times F | jSO's floors under CR and caps on F are left out |
//! | population | L-SHADE: 18 n at first, shrinks linearly to 4 | at first at most [`POPULATION`], and at most one member for 50 evaluations a variable, but at least 8 |
//! | ants | Gaussian mixture over the best [`KERNELS`], linear weights by rank, deviation (largest - least distance) / generation, for whole variables at least 1 / generation and (1 - 1 / sqrt(whole variables)) / 2: Schlueter et al. 2009 | an ant draws the coordinates that its CR selects and takes the others from its parent; CR = 1 is the published ant. It replaces its parent, not the worst. The least distance is taken over the other kernels |
//! | mutation | integer mutation instead of rounding: fcmaes (Wolz 2022, `modify`) | an operator of its own, on one of the best 11 %: one coordinate drawn anew, or exchanged with one of the same bounds. A coordinate is drawn in proportion to its values, up to [`VALUES`]: a flag has one other value, and half of all trials on the flags of a batch would be wasted. A trial of the others that equals its parent is mutated too |
//! | who makes the trial | by success rates: SaDE (Qin, Suganthan 2005) | rates decay instead of a window; each operator at least 15 %. Only a trial that is better than the best of its generation counts: to improve a bad member is easy |
//! | constraints | extended oracle penalty, Omega from 10^9 down to the best feasible objective | updated at once, as in pagmo's gaco, not between runs |
//! | restarts | MIDACO restarts | when the population is one point, or after [`PATIENCE`] evaluations a variable without a better one |
//! | islands | MIDACO runs several instances | populations of their own; at the end of each of [`EPOCHS`] the island with the worst oracle penalty gets the best point of all in place of its worst member |

use crate::batch::BlackBox;
use crate::draw::Draw;
use crate::islands::{self, EPOCHS, LARGE, Watch};
use crate::oracle::Oracle;
use crate::problem::{Problem, Value, Variable};
use rayon::prelude::*;
use scale_model::{BatchProblem, Budget, Seed, Solution, SolveError, Solver, Stop};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Members at the start of a run, at most; less for few variables.
pub const POPULATION: usize = 100;
/// Solutions that ants gather around.
pub const KERNELS: usize = 10;
/// Evaluations a variable without a better point before a restart; at least 20,000 in all.
pub const PATIENCE: u64 = 100;
/// A mutation draws a coordinate in proportion to its other values, at most so many. A real one counts as so many.
pub const VALUES: f64 = 16.0;
/// Members when the budget ends: current-to-pbest/1 needs four different ones.
const SMALLEST: usize = 4;
/// Length of the success histories.
const HISTORY: usize = 6;
/// Least share of the trials that each operator makes.
const LEAST_SHARE: f64 = 0.15;
/// Probability that a mutation tries to exchange two coordinates.
const EXCHANGE: f64 = 0.5;
/// Share of the population that a p-best is drawn from.
const ELITE: f64 = 0.11;

/// The solver of the paper's baseline.
#[derive(Clone, Copy, Debug)]
pub struct Midaco {
    /// Evaluations, unless the budget names another number.
    pub evaluations: u64,
    /// Seed of all that is drawn.
    pub seed: Seed,
}

/// How long to search.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Evaluations.
    pub evaluations: u64,
    /// Seed of all that is drawn.
    pub seed: Seed,
    /// Set from outside to stop early.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Wall time. The search plans for its evaluations; time only cuts it short, and makes the answer depend on the
    /// machine if it does.
    pub time_limit: Option<Duration>,
}

/// A point and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The point.
    pub point: Vec<f64>,
    /// Its value.
    pub value: Value,
}

/// The best point became better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// After so many evaluations.
    pub evaluations: u64,
    /// The value of the new best.
    pub value: Value,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The best feasible point; without one, the point with the least residual. None without an evaluation.
    pub best: Option<Found>,
    /// Each time that the best became better.
    pub trace: Vec<Step>,
    /// Evaluations spent.
    pub evaluations: u64,
    /// How often the population was drawn anew.
    pub restarts: u64,
    /// Omega at the end.
    pub oracle: Oracle,
    /// Why it ended.
    pub stop: Stop,
}

/// Searches a black box for its least feasible value.
pub fn minimise(problem: &mut (impl Problem + Send), settings: &Settings) -> Run {
    minimise_on_islands(std::slice::from_mut(problem), settings)
}

/// The same on islands, one for each copy of the problem, which share the evaluations. The answer depends on the number
/// of copies, not on that of the threads.
pub fn minimise_on_islands<P: Problem + Send>(copies: &mut [P], settings: &Settings) -> Run {
    let watch = Watch::new(settings.time_limit, settings.cancel.clone());
    let count = copies.len() as u64;
    let mut search: Vec<Island<'_, P>> = copies
        .iter_mut()
        .zip(0..)
        .map(|(problem, index)| {
            let draw = Draw::new(settings.seed.derive("midaco", index));
            Island::new(problem, draw, &watch, islands::share(settings.evaluations, count, index))
        })
        .collect();
    let mut finished = true;
    match search.first_mut() {
        // One point only.
        Some(first) if first.variables.iter().all(|variable| variable.lower >= variable.upper) => {
            let point: Vec<f64> = first.variables.iter().map(|variable| variable.lower).collect();
            finished = first.evaluate(&point).is_some();
        }
        Some(_) => {
            finished = false;
            for epoch in 1..=EPOCHS {
                search.par_iter_mut().for_each(|island| {
                    let end = islands::end_of(epoch, island.budget);
                    island.advance(end);
                });
                migrate(&mut search);
            }
        }
        None => {}
    }

    let evaluations = search.iter().map(|island| island.evaluations).sum();
    let traces: Vec<&[(u64, Value)]> = search.iter().map(|island| island.trace.as_slice()).collect();
    let trace = islands::join(&traces, evaluations, better);
    let mut oracle = Oracle::UNKNOWN;
    search.iter().filter_map(|island| island.best.as_ref()).for_each(|best| _ = oracle.update(best.value));
    Run {
        trace: trace.into_iter().map(|(evaluations, value)| Step { evaluations, value }).collect(),
        evaluations,
        restarts: search.iter().map(|island| island.restarts).sum(),
        oracle,
        stop: if finished { Stop::Finished } else { islands::stop(search.iter().map(|island| island.cut)) },
        best: search
            .into_iter()
            .filter_map(|island| island.best)
            .reduce(|best, other| if better(other.value, best.value) { other } else { best }),
    }
}

/// The best point of all goes to the island with the worst; all learn what it is worth.
fn migrate<P: Problem>(search: &mut [Island<'_, P>]) {
    let found = |island: &Island<'_, P>| island.best.as_ref().map(|best| best.value);
    let Some(best) = (0..search.len()).filter(|&index| search[index].best.is_some()).reduce(|a, b| {
        let lower = found(&search[b]).zip(found(&search[a])).is_some_and(|(b, a)| better(b, a));
        if lower { b } else { a }
    }) else {
        return;
    };
    let Some(Found { point, value }) = search[best].best.clone() else { return };
    search.iter_mut().for_each(|island| _ = island.oracle.update(value));
    let penalty =
        |island: &Island<'_, P>| found(island).map_or(f64::INFINITY, |value| island.oracle.penalty(value));
    let worst = (0..search.len()).max_by(|&a, &b| penalty(&search[a]).total_cmp(&penalty(&search[b])));
    if let Some(worst) = worst.filter(|&worst| worst != best) {
        let Island { descent, oracle, .. } = &mut search[worst];
        let members = descent.iter_mut().flat_map(|descent| &mut descent.members);
        let last = members.max_by(|a, b| oracle.penalty(a.value).total_cmp(&oracle.penalty(b.value)));
        if let Some(last) = last {
            *last = Member { point, value };
        }
    }
}

/// One member of the population.
#[derive(Clone, Debug)]
struct Member {
    point: Vec<f64>,
    value: Value,
}

/// Who made a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Evolution,
    Ants,
    Mutation,
}

/// What outlives a restart.
struct Island<'a, P> {
    problem: &'a mut P,
    variables: Vec<Variable>,
    /// Whole variables.
    whole: usize,
    /// Sums of the variables' weights in a mutation, up to each.
    weights: Vec<f64>,
    draw: Draw,
    watch: &'a Watch,
    budget: u64,
    oracle: Oracle,
    best: Option<Found>,
    trace: Vec<(u64, Value)>,
    evaluations: u64,
    restarts: u64,
    /// Why it stopped early, if it did.
    cut: Option<Stop>,
    descent: Option<Descent>,
}

/// One run from a random population until nothing moves any more.
struct Descent {
    /// Evaluations before it.
    begin: u64,
    /// Members at first.
    first: usize,
    members: Vec<Member>,
    /// Parents that were replaced.
    past: Vec<Vec<f64>>,
    histories: [History; 2],
    /// Success rates of the operators.
    rates: [f64; 3],
    generation: u64,
    /// The place in the order of the best member, and since when it has it.
    least: (f64, u64),
}

impl<'a, P: Problem> Island<'a, P> {
    fn new(problem: &'a mut P, draw: Draw, watch: &'a Watch, budget: u64) -> Island<'a, P> {
        let variables = problem.variables().to_vec();
        let mut sum = 0.0;
        let weights = variables
            .iter()
            .map(|&Variable { lower, upper, integer }| {
                sum += if integer || upper <= lower { (upper - lower).min(VALUES) } else { VALUES };
                sum
            })
            .collect();
        Island {
            problem,
            whole: variables.iter().filter(|variable| variable.integer).count(),
            variables,
            weights,
            draw,
            watch,
            budget,
            oracle: Oracle::UNKNOWN,
            best: None,
            trace: Vec::new(),
            evaluations: 0,
            restarts: 0,
            cut: None,
            descent: None,
        }
    }

    /// The value of a point, or `None` if the search must stop.
    fn evaluate(&mut self, point: &[f64]) -> Option<Value> {
        if self.evaluations >= self.budget {
            return None;
        }
        // To look at the clock costs a twentieth of an evaluation.
        let cut = if self.evaluations.is_multiple_of(16) {
            self.watch.reason()
        } else {
            self.watch.cancelled().then_some(Stop::Cancelled)
        };
        if cut.is_some() {
            self.cut = cut;
            return None;
        }
        self.evaluations += 1;
        let value = self.problem.evaluate(point);
        if self.best.as_ref().is_none_or(|best| better(value, best.value)) {
            match &mut self.best {
                Some(best) => {
                    best.point.copy_from_slice(point);
                    best.value = value;
                }
                none => *none = Some(Found { point: point.to_vec(), value }),
            }
            self.trace.push((self.evaluations, value));
        }
        self.oracle.update(value);
        Some(value)
    }

    /// Searches until so many evaluations are made, and to the end of that generation.
    fn advance(&mut self, end: u64) {
        while self.evaluations < end && self.cut.is_none() {
            let Some(mut descent) = self.descent.take().or_else(|| self.begin()) else { return };
            match self.generation(&mut descent) {
                Some(true) => self.descent = Some(descent),
                Some(false) => self.restarts += 1,
                None => return,
            }
        }
    }

    /// A random population. `None` if the search must stop.
    fn begin(&mut self) -> Option<Descent> {
        let begin = self.evaluations;
        let count = self.variables.len();
        let affordable = (self.budget - begin) / (50 * count as u64);
        let first = (18 * count).min(affordable.min(POPULATION as u64) as usize).clamp(8, POPULATION);
        let mut members = Vec::with_capacity(first);
        for _ in 0..first {
            let point: Vec<f64> = (0..count).map(|j| self.anywhere(j)).collect();
            let value = self.evaluate(&point)?;
            members.push(Member { point, value });
        }
        Some(Descent {
            begin,
            first,
            members,
            past: Vec::new(),
            histories: [History::new(), History::new()],
            rates: [1.0; 3],
            generation: 0,
            least: (f64::INFINITY, self.evaluations),
        })
    }

    /// One trial for each member. False if nothing moves any more, `None` if the search must stop.
    fn generation(&mut self, descent: &mut Descent) -> Option<bool> {
        let Some(progress) = self.order(descent) else { return Some(false) };
        let mut trial = vec![0.0; self.variables.len()];
        for turn in 0..descent.members.len() {
            let Descent { members, past, histories, rates, generation, .. } = &*descent;
            let operator = self.pick(rates);
            // What is only mutated is among the best: the others learn from them through the other two.
            let index = match operator {
                Operator::Mutation => self.draw.below((ELITE * members.len() as f64).ceil() as usize),
                _ => turn,
            };
            let slot = self.draw.below(HISTORY);
            let (scale, rate) = match operator {
                Operator::Mutation => (0.0, 0.0),
                _ => histories[operator as usize].parameters(slot, &mut self.draw),
            };
            trial.copy_from_slice(&members[index].point);
            match operator {
                Operator::Evolution => {
                    let weight = if progress < 0.2 {
                        0.7 * scale
                    } else if progress < 0.4 {
                        0.8 * scale
                    } else {
                        1.2 * scale
                    };
                    self.evolve(members, index, past, [weight, scale], rate, &mut trial);
                }
                Operator::Ants => self.walk(members, *generation, rate, &mut trial),
                Operator::Mutation => self.mutate(&mut trial),
            }
            // A trial that is its parent would tell nothing. A few tries: some variables may have one value only.
            for _ in 0..8 {
                if trial == members[index].point {
                    self.mutate(&mut trial);
                }
            }
            let value = self.evaluate(&trial)?;
            self.compete(descent, index, operator, [scale, rate], &trial, value);
        }
        descent.histories.iter_mut().for_each(History::learn);
        Some(true)
    }

    /// Sorts the members, best first, and drops those that the population has no more room for. The share of the planned evaluations
    /// that is made, or `None` if nothing moves any more.
    fn order(&self, descent: &mut Descent) -> Option<f64> {
        let Descent { members, past, .. } = descent;
        descent.generation += 1;
        members.sort_by(|a, b| self.oracle.penalty(a.value).total_cmp(&self.oracle.penalty(b.value)));
        let (done, planned) = (self.evaluations - descent.begin, self.budget - descent.begin);
        let progress = done as f64 / planned.max(1) as f64;
        let size = descent.first as f64 + (SMALLEST as f64 - descent.first as f64) * progress;
        members.truncate((size.round() as usize).max(SMALLEST));
        past.truncate(2 * members.len());
        let penalty = |member: &Member| self.oracle.penalty(member.value);
        let (lowest, highest) = (penalty(&members[0]), penalty(&members[members.len() - 1]));
        // The penalty of the best is zero once it is the oracle, so what is followed is its place in the order.
        let order = members[0].value.residual.max(0.0) * 1e9 + members[0].value.objective;
        if order < descent.least.0 {
            descent.least = (order, self.evaluations);
        }
        let patience = (PATIENCE * self.variables.len() as u64).max(20_000);
        let still = highest - lowest <= 1e-12 || self.evaluations - descent.least.1 > patience;
        (!still).then_some(progress)
    }

    /// A trial takes the place of its parent if it is not worse, and what made it is remembered if it is better.
    fn compete(
        &mut self,
        descent: &mut Descent,
        index: usize,
        operator: Operator,
        [scale, rate]: [f64; 2],
        trial: &[f64],
        value: Value,
    ) {
        let Descent { members, past, histories, rates, .. } = descent;
        let penalty = |value| self.oracle.penalty(value);
        let (new, old) = (penalty(value), penalty(members[index].value));
        let success = new < old.min(penalty(members[0].value));
        rates[operator as usize] += 0.002 * (f64::from(success) - rates[operator as usize]);
        if new < old {
            let gain = if old.is_finite() { old - new } else { 1.0 };
            if let Some(history) = histories.get_mut(operator as usize) {
                history.succeeded(scale, rate, gain);
            }
            let parent = members[index].point.clone();
            if past.len() < 2 * members.len() {
                past.push(parent);
            } else {
                let place = self.draw.below(past.len());
                past[place] = parent;
            }
        }
        if new <= old {
            members[index].point.copy_from_slice(trial);
            members[index].value = value;
        }
    }

    /// A value of a variable, all equally likely.
    fn anywhere(&mut self, j: usize) -> f64 {
        let Variable { lower, upper, integer } = self.variables[j];
        let span = upper - lower;
        if integer {
            lower + (self.draw.unit() * (span + 1.0)).floor().min(span)
        } else {
            lower + self.draw.unit() * span
        }
    }

    /// A variable, in proportion to its weight in a mutation.
    fn any(&mut self) -> usize {
        let total = self.weights.last().copied().unwrap_or(0.0);
        let ticket = self.draw.unit() * total;
        self.weights.partition_point(|&sum| sum <= ticket).min(self.weights.len() - 1)
    }

    /// Each variable with probability `rate`, and at least one (DE's j_rand), which comes first.
    fn select(&mut self, rate: f64) -> Vec<usize> {
        let mut chosen = vec![self.any()];
        let mut j = self.draw.gap(rate);
        while j < self.variables.len() {
            if j != chosen[0] {
                chosen.push(j);
            }
            j += 1 + self.draw.gap(rate);
        }
        chosen
    }

    /// current-to-pbest/1: members are sorted, best first.
    fn evolve(
        &mut self,
        members: &[Member],
        index: usize,
        past: &[Vec<f64>],
        [weight, scale]: [f64; 2],
        rate: f64,
        trial: &mut [f64],
    ) {
        let elite = ((ELITE * members.len() as f64).ceil() as usize).max(2).min(members.len());
        let best = &members[self.draw.below(elite)].point;
        let mut one = self.draw.below(members.len());
        while one == index {
            one = self.draw.below(members.len());
        }
        let mut two = self.draw.below(members.len() + past.len());
        while two == index || two == one {
            two = self.draw.below(members.len() + past.len());
        }
        let one = &members[one].point;
        let two = if two < members.len() { &members[two].point } else { &past[two - members.len()] };
        for j in self.select(rate) {
            let Variable { lower, upper, integer } = self.variables[j];
            let here = trial[j];
            let mut value = here + weight * (best[j] - here) + scale * (one[j] - two[j]);
            // Out of bounds: half way between the parent and the bound, as in JADE.
            if value < lower {
                value = (lower + here) / 2.0;
            } else if value > upper {
                value = (upper + here) / 2.0;
            }
            trial[j] = if integer { value.round() } else { value };
        }
    }

    /// An ant: Gaussians around the best members, which are sorted.
    fn walk(&mut self, members: &[Member], generation: u64, rate: f64, trial: &mut [f64]) {
        let kernels = &members[..KERNELS.min(members.len())];
        let count = kernels.len();
        for j in self.select(rate) {
            // Weights count, count - 1, ..., 1 over their sum.
            let mut ticket = self.draw.below(count * (count + 1) / 2);
            let mut kernel = 0;
            while ticket >= count - kernel {
                ticket -= count - kernel;
                kernel += 1;
            }
            let centre = kernels[kernel].point[j];
            let (mut least, mut largest) = (f64::INFINITY, 0.0_f64);
            for (other, member) in kernels.iter().enumerate() {
                if other != kernel {
                    let distance = (member.point[j] - centre).abs();
                    (least, largest) = (least.min(distance), largest.max(distance));
                }
            }
            let mut deviation = (largest - least).max(0.0) / generation as f64;
            let Variable { lower, upper, integer } = self.variables[j];
            if integer {
                let floor = (1.0 - 1.0 / (self.whole as f64).sqrt()) / 2.0;
                deviation = deviation.max(1.0 / generation as f64).max(floor);
            }
            let mut value = centre + deviation * self.draw.normal();
            for _ in 0..10 {
                if (lower..=upper).contains(&value) {
                    break;
                }
                value = centre + deviation * self.draw.normal();
            }
            value = value.clamp(lower, upper);
            trial[j] = if integer { value.round() } else { value };
        }
    }

    /// Draws one coordinate anew, or exchanges two whole ones with the same bounds.
    fn mutate(&mut self, trial: &mut [f64]) {
        let j = self.any();
        if self.draw.unit() < EXCHANGE {
            let i = self.any();
            if self.variables[i].integer && self.variables[i] == self.variables[j] {
                trial.swap(i, j);
                return;
            }
        }
        trial[j] = self.anywhere(j);
    }

    /// Who makes the next trial.
    fn pick(&mut self, rates: &[f64; 3]) -> Operator {
        let sum: f64 = rates.iter().sum();
        let share = |rate: f64| LEAST_SHARE + (1.0 - 3.0 * LEAST_SHARE) * rate / sum.max(1e-300);
        let ticket = self.draw.unit();
        if ticket < share(rates[0]) {
            Operator::Evolution
        } else if ticket < share(rates[0]) + share(rates[1]) {
            Operator::Ants
        } else {
            Operator::Mutation
        }
    }
}

/// Whether the first value is the better answer: feasible and lower, or else less infeasible.
fn better(a: Value, b: Value) -> bool {
    // A value that is no number must not hold the place of one that is.
    let missing = |value: Value| {
        let number = value.objective.is_finite() && value.residual.is_finite();
        if number { value.residual } else { f64::INFINITY }
    };
    match (a.feasible(), b.feasible()) {
        (true, true) => a.objective < b.objective,
        (feasible, other) if feasible != other => feasible,
        _ => missing(a) < missing(b),
    }
}

/// The success history of one operator.
#[derive(Clone, Debug)]
struct History {
    /// Memory of F.
    scales: [f64; HISTORY],
    /// Memory of CR; `None` is L-SHADE's terminal value: from then on one coordinate at a time.
    rates: [Option<f64>; HISTORY],
    next: usize,
    /// (F, CR, gain) of this generation's successes.
    successes: Vec<[f64; 3]>,
}

impl History {
    fn new() -> History {
        History {
            scales: [0.5; HISTORY],
            rates: [0.0, 0.02, 0.1, 0.3, 0.6, 0.9].map(Some),
            next: 0,
            successes: Vec::new(),
        }
    }

    /// F and CR for one trial.
    fn parameters(&self, slot: usize, draw: &mut Draw) -> (f64, f64) {
        let mut scale = 0.0;
        while scale <= 0.0 {
            scale = self.scales[slot] + 0.1 * draw.cauchy();
        }
        let rate = self.rates[slot].map_or(0.0, |mean| mean + (0.5 * mean).min(0.1) * draw.normal());
        (scale.min(1.0), rate.clamp(0.0, 1.0))
    }

    fn succeeded(&mut self, scale: f64, rate: f64, gain: f64) {
        self.successes.push([scale, rate, gain]);
    }

    /// Moves one slot of the memories to the Lehmer means of what succeeded, weighted by gain.
    fn learn(&mut self) {
        let sum = |term: &dyn Fn(&[f64; 3]) -> f64| self.successes.iter().map(term).sum::<f64>();
        let total = sum(&|s| s[2]);
        if total > 0.0 && total.is_finite() {
            let lehmer = |i: usize| {
                let linear = sum(&|s| s[2] * s[i]);
                (linear > 0.0).then(|| sum(&|s| s[2] * s[i] * s[i]) / linear)
            };
            let (scale, rate) = (lehmer(0), lehmer(1));
            self.scales[self.next] = scale.unwrap_or(self.scales[self.next]);
            self.rates[self.next] = self.rates[self.next].and(rate);
            self.next = (self.next + 1) % HISTORY;
        }
        self.successes.clear();
    }
}

impl Midaco {
    /// The search on a batch, with its trace. `budget` as in [`Solver::solve`].
    pub fn run(&self, problem: &BatchProblem<'_>, budget: &Budget) -> (BlackBox, Run) {
        let batch = BlackBox::of(problem);
        let settings = Settings {
            evaluations: budget.evaluations.unwrap_or(self.evaluations),
            seed: self.seed,
            cancel: budget.cancel.clone(),
            time_limit: budget.time_limit,
        };
        let mut copies = vec![batch.clone(); islands::count(settings.evaluations, LARGE) as usize];
        let run = minimise_on_islands(&mut copies, &settings);
        (batch, run)
    }
}

impl Solver for Midaco {
    /// Looks at the budget's evaluations, time and cancellation.
    fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
        let (batch, run) = self.run(problem, budget);
        match run.best {
            Some(Found { point, value }) if value.feasible() => {
                let solution = Solution::feasible(problem, batch.placement(&point))?;
                Ok(Solution { stop: run.stop, ..solution })
            }
            _ => Err(SolveError::NothingFound),
        }
    }
}
