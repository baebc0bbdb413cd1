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
//! | crossover | binomial between segments and exponential within (both Storn, Price 1997): a coordinate that is crossed takes the next one along with probability 1/2 | neighbours are often related; with the binomial one alone, node and container of a request never change together |
//! | F and CR | success history of SHADE and L-SHADE (Tanabe, Fukunaga 2014): memories of 6, weighted Lehmer means, terminal value for CR | the CR memory starts at 0 to 0.9, not at 0.5, and CR is drawn with a deviation of at most half its mean: with hundreds of whole variables only a low CR helps, with few real ones only a high one; ants have memories of their own |
//! | weight of the p-best term | jSO (Brest, Maucec, Boskovic 2017): 0.7, 0.8, 1.2 times F | jSO's floors under CR and caps on F are left out |
//! | population | L-SHADE: 18 n at first, shrinks linearly to 4 | at first at most [`POPULATION`], and at most one member for 50 evaluations a variable, but at least 8 |
//! | ants | Gaussian mixture over the best [`KERNELS`], linear weights by rank, deviation (largest - least distance) / generation, for whole variables at least 1 / generation and (1 - 1 / sqrt(whole variables)) / 2: Schlueter et al. 2009 | an ant draws the coordinates that its CR selects and takes the others from its parent; CR = 1 is the published ant. It replaces its parent, not the worst. The least distance is taken over the other kernels |
//! | mutation | integer mutation instead of rounding: fcmaes (Wolz 2022, `modify`) | an operator of its own, on one of the best 11 %: one coordinate and its followers drawn anew, or exchanged with others of the same bounds. A trial of the others that equals its parent is mutated too |
//! | who makes the trial | by success rates: SaDE (Qin, Suganthan 2005) | rates decay instead of a window; each at least 1 in 20 |
//! | constraints | extended oracle penalty, Omega from 10^9 down to the best feasible objective | updated at once, as in pagmo's gaco, not between runs |
//! | restarts | MIDACO restarts | when the population is one point, or after [`PATIENCE`] evaluations a variable without a better one |

use crate::batch::BlackBox;
use crate::draw::Draw;
use crate::oracle::Oracle;
use crate::problem::{Problem, Value, Variable};
use scale_model::{BatchProblem, Budget, Seed, Solution, SolveError, Solver, Stop};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Members at the start of a run, at most; less for few variables.
pub const POPULATION: usize = 100;
/// Solutions that ants gather around.
pub const KERNELS: usize = 10;
/// Evaluations a variable without a better point before a restart; at least 20,000 in all.
pub const PATIENCE: u64 = 100;
/// Members when the budget ends: current-to-pbest/1 needs four different ones.
const SMALLEST: usize = 4;
/// Length of the success histories.
const HISTORY: usize = 6;
/// Least share of the trials that each operator makes.
const LEAST_SHARE: f64 = 0.05;
/// Probability that a mutation tries to exchange two coordinates.
const EXCHANGE: f64 = 0.5;
/// Probability that mutation and crossover go on to the next coordinate.
const MORE: f64 = 0.5;
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
pub fn minimise(problem: &mut impl Problem, settings: &Settings) -> Run {
    let variables = problem.variables().to_vec();
    let mut search = Search {
        problem,
        draw: Draw::new(settings.seed.derive("midaco", 0)),
        settings,
        oracle: Oracle::UNKNOWN,
        best: None,
        trace: Vec::new(),
        evaluations: 0,
    };
    let mut restarts = 0;
    if variables.iter().all(|variable| variable.lower >= variable.upper) {
        // One point only.
        let point: Vec<f64> = variables.iter().map(|variable| variable.lower).collect();
        search.evaluate(&point);
    } else {
        while search.descend(&variables).is_some() {
            restarts += 1;
        }
    }
    let cancelled = search.cancelled();
    let Search { best, trace, evaluations, oracle, .. } = search;
    let stop = if cancelled {
        Stop::Cancelled
    } else if evaluations >= settings.evaluations {
        Stop::Evaluations
    } else {
        Stop::Finished
    };
    Run { best, trace, evaluations, restarts, oracle, stop }
}

/// What outlives a restart.
struct Search<'a, P> {
    problem: &'a mut P,
    draw: Draw,
    settings: &'a Settings,
    oracle: Oracle,
    best: Option<Found>,
    trace: Vec<Step>,
    evaluations: u64,
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

impl<P: Problem> Search<'_, P> {
    /// The value of a point, or `None` if the search must stop.
    fn evaluate(&mut self, point: &[f64]) -> Option<Value> {
        if self.evaluations >= self.settings.evaluations || self.cancelled() {
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
            self.trace.push(Step { evaluations: self.evaluations, value });
        }
        self.oracle.update(value);
        Some(value)
    }

    fn cancelled(&self) -> bool {
        self.settings.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// One run from a random population until nothing moves any more. `None` if the search must stop.
    fn descend(&mut self, variables: &[Variable]) -> Option<()> {
        let (begin, budget) = (self.evaluations, self.settings.evaluations);
        let count = variables.len();
        let affordable = (budget - begin) / (50 * count as u64);
        let first = (18 * count).min(affordable.min(POPULATION as u64) as usize).clamp(8, POPULATION);
        let mut members = Vec::with_capacity(first);
        for _ in 0..first {
            let point: Vec<f64> = variables.iter().map(|variable| self.anywhere(variable)).collect();
            let value = self.evaluate(&point)?;
            members.push(Member { point, value });
        }
        let whole = variables.iter().filter(|variable| variable.integer).count();
        let mut histories = [History::new(), History::new()];
        let mut rates = [1.0_f64; 3];
        let mut past: Vec<Vec<f64>> = Vec::new();
        let mut trial = vec![0.0; variables.len()];
        let patience = (PATIENCE * variables.len() as u64).max(20_000);
        let (mut least, mut least_at) = (f64::INFINITY, self.evaluations);

        for generation in 1_u64.. {
            members.sort_by(|a, b| self.oracle.penalty(a.value).total_cmp(&self.oracle.penalty(b.value)));
            let progress = (self.evaluations - begin) as f64 / (budget - begin).max(1) as f64;
            let size = first as f64 + (SMALLEST as f64 - first as f64) * progress;
            members.truncate((size.round() as usize).max(SMALLEST));
            past.truncate(2 * members.len());
            let penalty = |member: &Member| self.oracle.penalty(member.value);
            let (lowest, highest) = (penalty(&members[0]), penalty(&members[members.len() - 1]));
            // The penalty of the best is zero once it is the oracle, so what is followed is its place in the order.
            let order = members[0].value.residual.max(0.0) * 1e9 + members[0].value.objective;
            if order < least {
                (least, least_at) = (order, self.evaluations);
            }
            if highest - lowest <= 1e-12 || self.evaluations - least_at > patience {
                return Some(());
            }

            for turn in 0..members.len() {
                let operator = self.pick(&rates);
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
                        self.evolve(&members, index, &past, variables, [weight, scale], rate, &mut trial);
                    }
                    Operator::Ants => self.walk(&members, variables, whole, generation, rate, &mut trial),
                    Operator::Mutation => self.mutate(variables, &mut trial),
                }
                // A trial that is its parent would tell nothing. A few tries: some variables may have one value only.
                for _ in 0..8 {
                    if trial == members[index].point {
                        self.mutate(variables, &mut trial);
                    }
                }
                let value = self.evaluate(&trial)?;
                let (new, old) = (self.oracle.penalty(value), self.oracle.penalty(members[index].value));
                let rate_of = &mut rates[operator as usize];
                *rate_of += 0.002 * (f64::from(new < old) - *rate_of);
                if new <= old {
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
                    members[index].point.copy_from_slice(&trial);
                    members[index].value = value;
                }
            }
            for history in &mut histories {
                history.learn();
            }
        }
        None
    }

    /// A value of a variable, all equally likely.
    fn anywhere(&mut self, variable: &Variable) -> f64 {
        let span = variable.upper - variable.lower;
        if variable.integer {
            variable.lower + (self.draw.unit() * (span + 1.0)).floor().min(span)
        } else {
            variable.lower + self.draw.unit() * span
        }
    }

    /// current-to-pbest/1: members are sorted, best first.
    #[expect(clippy::too_many_arguments, reason = "the terms of one formula")]
    fn evolve(
        &mut self,
        members: &[Member],
        index: usize,
        past: &[Vec<f64>],
        variables: &[Variable],
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
        let mut cross = |j: usize| {
            let Variable { lower, upper, integer } = variables[j];
            let here = trial[j];
            let mut value = here + weight * (best[j] - here) + scale * (one[j] - two[j]);
            // Out of bounds: half way between the parent and the bound, as in JADE.
            if value < lower {
                value = (lower + here) / 2.0;
            } else if value > upper {
                value = (upper + here) / 2.0;
            }
            trial[j] = if integer { value.round() } else { value };
        };
        self.draw.segments(variables.len(), rate, MORE, &mut cross);
    }

    /// An ant: Gaussians around the best members, which are sorted.
    fn walk(
        &mut self,
        members: &[Member],
        variables: &[Variable],
        whole: usize,
        generation: u64,
        rate: f64,
        trial: &mut [f64],
    ) {
        let kernels = &members[..KERNELS.min(members.len())];
        let count = kernels.len();
        let mut chosen = Vec::new();
        self.draw.segments(variables.len(), rate, MORE, &mut |j| chosen.push(j));
        for j in chosen {
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
            let Variable { lower, upper, integer } = variables[j];
            if integer {
                let floor = (1.0 - 1.0 / (whole as f64).sqrt()) / 2.0;
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

    /// Draws one coordinate anew, or exchanges two whole ones with the same bounds, and with falling probability goes on
    /// to those that follow.
    fn mutate(&mut self, variables: &[Variable], trial: &mut [f64]) {
        let mut j = self.draw.below(variables.len());
        if self.draw.unit() < EXCHANGE {
            let mut i = self.draw.below(variables.len());
            while i.max(j) < variables.len() && variables[i].integer && variables[i] == variables[j] {
                trial.swap(i, j);
                if self.draw.unit() >= MORE {
                    return;
                }
                (i, j) = (i + 1, j + 1);
            }
            j %= variables.len();
        }
        loop {
            trial[j] = self.anywhere(&variables[j]);
            if self.draw.unit() >= MORE {
                return;
            }
            j = (j + 1) % variables.len();
        }
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
        let mut batch = BlackBox::of(problem);
        let settings = Settings {
            evaluations: budget.evaluations.unwrap_or(self.evaluations),
            seed: self.seed,
            cancel: budget.cancel.clone(),
        };
        let run = minimise(&mut batch, &settings);
        (batch, run)
    }
}

impl Solver for Midaco {
    /// Looks at the budget's evaluations and cancellation; time would make the answer depend on the machine.
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
