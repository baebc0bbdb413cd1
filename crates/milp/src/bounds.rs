//! Lower bounds on J over all placements: how far from the optimum a result can be at most.
//!
//! - [`capacity_free`]: each request at its cheapest, as if it were alone.
//! - [`lagrangian`]: the same, but room and idle containers have prices, and what is free of them is paid back. Valid for
//!   any prices that are not negative, whoever made them.
//! - [`lp_relaxation`]: requests may be split. Solved by column generation: HiGHS sees only columns that were worth it
//!   at some prices. The value is the Lagrangian bound at the best duals, priced here over all columns, so that it does
//!   not rest on the tolerances of HiGHS; it lies below the optimum of the LP by less than one part in a million unless the
//!   budget ends before.
//!
//! The exact solver goes on from there: the same LP with rounded rows (`cuts.rs`), whose duals are prices too.
//!
//! All are sums of floats and are lowered by far more than their rounding (1e-11 of the sum of the magnitudes).
//! Under [`Slo::Hard`](scale_model::Slo::Hard) a bound can be infinite: no placement exists.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use scale_model::{BatchProblem, Budget, SolveError};

use crate::ascent::{self, ascend};
use crate::batch::{Batch, UNLIMITED};
use crate::cuts::{self, Cut};
use crate::highs::{HighsOptions, MilpError, ModelStatus};
use crate::knapsack::Knapsacks;
use crate::progress::Watch;
use crate::raw::{Columns, Highs, Listener, Rows};

/// What room costs. No price is negative.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// ms for a thousandth of a core, a node.
    pub cores: Vec<f64>,
    /// ms for a MB, a node.
    pub memory: Vec<f64>,
    /// ms for an idle container: one list of nodes for each function of the batch, in the order in which they first occur.
    pub idle: Vec<f64>,
}

/// A bound and the prices that give it.
#[derive(Clone, Debug, PartialEq)]
pub struct Relaxation {
    /// No placement has a lower J.
    pub bound: f64,
    /// The duals.
    pub prices: Prices,
}

/// Two bounds on a batch, as plain numbers: what a figure shows next to every algorithm's J.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LowerBounds {
    /// [`capacity_free`], ms: each request at its cheapest.
    pub capacity_free: f64,
    /// [`lp_relaxation`], ms: requests may be split. At least `capacity_free`, at most the optimum.
    pub lp: f64,
}

/// Both bounds on J, in ms. They are infinite if they prove that no placement is allowed, which can be under
/// [`Slo::Hard`](scale_model::Slo::Hard) only. Without a limit on time it is the same on every machine.
///
/// # Errors
/// HiGHS failed.
///
/// ```
/// # use scale_model::*;
/// # let node = Node { name: "a".into(), kind: 0, position: Position { latitude: 0.0, longitude: 0.0 },
/// #     frequency: Gigahertz(3.0), cores: Cores { milli: 750 }, memory: Memory { mb: 1000 },
/// #     registry_bandwidth: MegabytesPerSecond(100.0) };
/// # let links = Links::from_fn(1, |_, _| MegabytesPerSecond(1.0)).unwrap();
/// # let function = Function { name: "f".into(), image: Megabytes(5.0), init: Milliseconds(50.0),
/// #     memory: Memory { mb: 128 }, cores: Cores { milli: 500 } };
/// # let platform = Platform { topology: Topology { nodes: vec![node], links }, functions: vec![function] };
/// # let state = ClusterState::empty(&platform);
/// # let request = |id| Request { id: RequestId(id), function: FunctionId(0), source: NodeId(0), arrival: Time(0.0),
/// #     cpu_time: CoreMilliseconds(75.0), input: Megabytes(0.5), slo: Milliseconds(300.0) };
/// # let requests = [request(0), request(1)];
/// # let problem =
/// #     BatchProblem { platform: &platform, state: &state, requests: &requests, objective: Objective::ELASTIC };
/// use scale_milp::bounds::lower_bounds;
///
/// // One node with 0.75 cores, two requests that take 100 + 150 = 250 ms and half a core each; deferral costs 2000 ms.
/// // Alone, each takes 250 ms. The optimum places one and defers the other: 250 + 2000 ms.
/// let bounds = lower_bounds(&problem, &Budget::default())?;
/// assert!((bounds.capacity_free - 500.0).abs() < 1e-6);
/// assert!(bounds.capacity_free <= bounds.lp && bounds.lp <= 2250.0 + 1e-6);
/// # Ok::<(), SolveError>(())
/// ```
pub fn lower_bounds(problem: &BatchProblem<'_>, budget: &Budget) -> Result<LowerBounds, SolveError> {
    let batch = Batch::new(problem);
    let capacity_free = free(&batch);
    let relaxed = relax(&batch, &[], &Limits::of(budget, 0, None)).map_err(backend)?;
    Ok(LowerBounds { capacity_free, lp: finished(&batch, relaxed.best.pricing.bound).max(capacity_free) })
}

/// Each request at its cheapest, as if it were alone.
pub fn capacity_free(problem: &BatchProblem<'_>) -> f64 {
    let batch = Batch::new(problem);
    free(&batch)
}

/// Each request at its cheapest with the prices of the room that it takes, less the price of all room.
///
/// # Panics
/// If a price is negative, infinite or no number, or there are not as many as the batch has nodes, or nodes times functions.
pub fn lagrangian(problem: &BatchProblem<'_>, prices: &Prices) -> f64 {
    let batch = Batch::new(problem);
    let mut prices = prices.clone();
    for (list, count) in
        [(&prices.cores, batch.nodes), (&prices.memory, batch.nodes), (&prices.idle, batch.idle.len())]
    {
        assert_eq!(list.len(), count, "one price for each node, or for each function and node");
        assert!(list.iter().all(|price| (0.0..f64::INFINITY).contains(price)), "a price is at least 0");
    }
    // What cannot run out has no price: nothing of it is paid back.
    let unlimited = prices.idle.iter_mut().zip(&batch.idle).filter(|(_, idle)| **idle == UNLIMITED);
    unlimited.for_each(|(price, _)| *price = 0.0);
    finished(&batch, price(&batch, &Tolls::of(&batch, &prices)).bound)
}

/// The bound of the LP: requests may be split between columns. Of the budget it knows time and cancellation.
///
/// # Errors
/// HiGHS failed.
pub fn lp_relaxation(problem: &BatchProblem<'_>, budget: &Budget) -> Result<Relaxation, SolveError> {
    let batch = Batch::new(problem);
    let limits = Limits::of(budget, 0, None);
    let relaxed = relax(&batch, &[], &limits).map_err(backend)?;
    let Priced { prices, pricing, .. } = relaxed.best;
    Ok(Relaxation { bound: finished(&batch, pricing.bound), prices })
}

/// The capacity-free bound.
fn free(batch: &Batch) -> f64 {
    finished(batch, price(batch, &Tolls::of(batch, &Prices::free(batch))).bound)
}

/// Under `Slo::Hard`, a bound that only "no place" can reach says that there is no placement.
fn finished(batch: &Batch, bound: f64) -> f64 {
    if batch.hard && bound > batch.dearest() { f64::INFINITY } else { bound }
}

pub(crate) fn backend(error: MilpError) -> SolveError {
    SolveError::Backend(error.to_string())
}

/// What is left of a budget.
#[derive(Clone)]
pub(crate) struct Limits<'a> {
    deadline: Option<Instant>,
    pub(crate) nodes: Option<u64>,
    pub(crate) cancel: Option<Arc<AtomicBool>>,
    random_seed: u32,
    pub(crate) relative_gap: f64,
    pub(crate) watch: Option<&'a Watch<'a>>,
}

impl<'a> Limits<'a> {
    #[allow(clippy::disallowed_methods)] // A limit on time needs a clock; without one nothing here looks at it.
    pub(crate) fn of(budget: &Budget, random_seed: u32, watch: Option<&'a Watch<'a>>) -> Limits<'a> {
        Limits {
            // A limit beyond the end of time is none.
            deadline: budget.time_limit.and_then(|time| Instant::now().checked_add(time)),
            nodes: budget.nodes,
            cancel: budget.cancel.clone(),
            random_seed,
            relative_gap: budget.relative_gap,
            watch,
        }
    }

    /// An instance with these limits.
    pub(crate) fn instance(&self) -> Result<Highs<'a>, MilpError> {
        let mut highs = Highs::new()?;
        highs.set(&HighsOptions {
            random_seed: self.random_seed,
            mip_rel_gap: self.relative_gap,
            node_limit: self
                .nodes
                .map(|nodes| u32::try_from(nodes).unwrap_or(i32::MAX as u32).min(i32::MAX as u32)),
            time_limit: self.left(),
        })?;
        // Its default of 1e-6 would end the search where only the relative gap should.
        highs.set_double("mip_abs_gap", c"mip_abs_gap", 0.0)?;
        highs.listen(Listener { cancel: self.cancel.clone(), watch: self.watch })?;
        Ok(highs)
    }

    /// Time that is left.
    #[allow(clippy::disallowed_methods)] // As above.
    fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// With a share of the time that is left.
    pub(crate) fn with_time(&self, share: f64) -> Limits<'a> {
        #[allow(clippy::disallowed_methods)] // As above.
        let deadline = self.left().and_then(|left| Instant::now().checked_add(left.mul_f64(share)));
        Limits { deadline, ..self.clone() }
    }

    /// Takes off the nodes that an instance has used.
    pub(crate) fn spend(&mut self, nodes: u64) {
        self.nodes = self.nodes.map(|left| left.saturating_sub(nodes));
    }

    /// With no more nodes than these.
    pub(crate) fn with_nodes(&self, nodes: Option<u64>) -> Limits<'a> {
        let fewer = nodes.into_iter().chain(self.nodes).min();
        Limits { nodes: fewer, ..self.clone() }
    }

    /// Whether the gap that was asked for is proved.
    pub(crate) fn close(&self, objective: f64, bound: f64) -> bool {
        objective - bound <= self.relative_gap * objective.abs()
    }

    pub(crate) fn out_of_time(&self) -> bool {
        self.left() == Some(Duration::ZERO)
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.load(std::sync::atomic::Ordering::Relaxed))
            || self.watch.is_some_and(Watch::tick)
    }
}

impl Prices {
    pub(crate) fn free(batch: &Batch) -> Prices {
        Prices {
            cores: vec![0.0; batch.nodes],
            memory: vec![0.0; batch.nodes],
            idle: vec![0.0; batch.idle.len()],
        }
    }
}

/// What columns pay at prices of rows.
#[derive(Clone, Debug)]
pub(crate) struct Tolls {
    /// For a container of function j on node v, at `j * nodes + v`, and more if it is an idle one, ms.
    container: Vec<f64>,
    pub(crate) idle: Vec<f64>,
    /// What requests of each group pay more: node and ms, by node.
    more: Vec<Vec<(usize, f64)>>,
    /// The price of all that there is.
    paid: f64,
}

impl Tolls {
    pub(crate) fn of(batch: &Batch, prices: &Prices) -> Tolls {
        let mut container = Vec::with_capacity(batch.idle.len());
        for need in &batch.functions {
            let (cores, memory) = (f64::from(need.cores), f64::from(need.memory));
            let nodes = prices.cores.iter().zip(&prices.memory);
            container.extend(nodes.map(|(core, mb)| core * cores + mb * memory));
        }
        let sum = |prices: &[f64], sides: &[u32]| -> f64 {
            prices.iter().zip(sides).map(|(price, side)| price * f64::from(*side)).sum()
        };
        // Of what cannot run out nothing is paid back; its price is 0.
        let limited: Vec<u32> =
            batch.idle.iter().map(|&idle| if idle == UNLIMITED { 0 } else { idle }).collect();
        Tolls {
            container,
            idle: prices.idle.clone(),
            more: vec![Vec::new(); batch.groups.len()],
            paid: sum(&prices.cores, &batch.cores)
                + sum(&prices.memory, &batch.memory)
                + sum(&prices.idle, &limited),
        }
    }

    /// Adds the price of a rounded row.
    fn add(&mut self, batch: &Batch, cut: &Cut, price: f64) {
        self.paid += price * cut.side;
        for (j, weight) in cut.weights().iter().enumerate() {
            self.container[j * batch.nodes + cut.node] += price * weight;
        }
        for &(g, more) in &cut.more {
            let at = self.more[g].partition_point(|&(node, _)| node < cut.node);
            self.more[g].insert(at, (cut.node, price * more));
        }
    }
}

/// What all columns are worth at given prices.
#[derive(Clone, Debug)]
pub(crate) struct Pricing {
    /// The Lagrangian bound.
    pub(crate) bound: f64,
    /// The cheapest column of each group, prices included.
    pub(crate) least: Vec<f64>,
}

/// Looks at all columns.
pub(crate) fn price(batch: &Batch, tolls: &Tolls) -> Pricing {
    let (mut bound, mut size) = (-tolls.paid, tolls.paid);
    let mut least = Vec::with_capacity(batch.groups.len());
    for (g, group) in batch.groups.iter().enumerate() {
        let mut low = group.defer;
        each_column(batch, tolls, g, |_, reduced| low = low.min(reduced));
        let all = low * group.members.len() as f64;
        bound += all;
        size += all.abs();
        least.push(low);
    }
    Pricing { bound: bound - 1e-11 * size, least }
}

/// Calls `seen` with the slot and the cost, prices included, of each column of a group but deferral.
pub(crate) fn each_column(batch: &Batch, tolls: &Tolls, g: usize, mut seen: impl FnMut(usize, f64)) {
    let first = batch.groups[g].function * batch.nodes;
    let (container, idle) = (&tolls.container[first..][..batch.nodes], &tolls.idle[first..][..batch.nodes]);
    let mut more = tolls.more[g].iter().peekable();
    for (v, pair) in batch.row(g).chunks_exact(2).enumerate() {
        let mut toll = container[v];
        while let Some((_, more)) = more.next_if(|(node, _)| *node == v) {
            toll += more;
        }
        if pair[0].is_finite() {
            seen(2 * v, pair[0] + toll + idle[v]);
        }
        if pair[1].is_finite() {
            seen(2 * v + 1, pair[1] + toll);
        }
    }
}

/// The rows of the program: one for each group, (6), (7), one for each limited pair of function and node, and what was added.
pub(crate) struct Layout {
    groups: usize,
    nodes: usize,
    /// Row of each pair; 0, the row of a group, where there is none.
    idle: Vec<usize>,
    /// First of the rows of `add_worths`, and the prices that they rest on.
    worth: Option<usize>,
    prices: Vec<f64>,
    /// The rounded rows, with their places among all, and which of them are of each node.
    rounded: Vec<(usize, Cut)>,
    of_node: Vec<Vec<usize>>,
    pub(crate) rows: Rows,
}

impl Layout {
    pub(crate) fn of(batch: &Batch) -> Layout {
        let mut rows = Rows::default();
        let mut row = |lower: f64, upper: f64| {
            rows.lower.push(lower);
            rows.upper.push(upper);
            rows.lower.len() - 1
        };
        for group in &batch.groups {
            let count = group.members.len() as f64;
            row(count, count);
        }
        for side in batch.cores.iter().chain(&batch.memory) {
            row(f64::NEG_INFINITY, f64::from(*side));
        }
        let limited = |idle: &u32| match *idle {
            0 | UNLIMITED => 0,
            idle => row(f64::NEG_INFINITY, f64::from(idle)),
        };
        let idle = batch.idle.iter().map(limited).collect();
        Layout {
            groups: batch.groups.len(),
            nodes: batch.nodes,
            idle,
            worth: None,
            prices: Vec::new(),
            rounded: Vec::new(),
            of_node: vec![Vec::new(); batch.nodes],
            rows,
        }
    }

    /// Adds a row for each node: what it holds is worth no more than its best pattern.
    pub(crate) fn add_worths(&mut self, knapsacks: &Knapsacks) {
        self.worth = Some(self.rows.lower.len());
        self.rows.lower.extend(knapsacks.worth.iter().map(|_| f64::NEG_INFINITY));
        self.rows.upper.extend(&knapsacks.worth);
        self.prices.clone_from(&knapsacks.prices);
    }

    /// Adds a rounded row.
    pub(crate) fn add_rounded(&mut self, cut: Cut) {
        self.of_node[cut.node].push(self.rounded.len());
        let row = self.rows.lower.len();
        self.rows.lower.push(f64::NEG_INFINITY);
        self.rows.upper.push(cut.side);
        self.rounded.push((row, cut));
    }

    /// Adds the column of a group and a slot.
    pub(crate) fn push(&self, batch: &Batch, g: usize, slot: usize, columns: &mut Columns) {
        let group = &batch.groups[g];
        let cost = batch.cost(g, slot);
        let upper = group.members.len() as f64;
        if slot == batch.deferral() {
            columns.push(cost, upper, [(g, 1.0)]);
            return;
        }
        let (v, need) = (slot / 2, batch.functions[group.function]);
        let (cores, memory) = (f64::from(need.cores), f64::from(need.memory));
        let idle = if slot.is_multiple_of(2) { self.idle[batch.idle_row(g, v)] } else { 0 };
        let mut entries = vec![(g, 1.0), (self.groups + v, cores), (self.groups + self.nodes + v, memory)];
        if idle > 0 {
            entries.push((idle, 1.0));
        }
        for (row, cut) in self.of_node[v].iter().map(|&at| &self.rounded[at]) {
            entries.extend(cut.entry(batch, g).map(|weight| (*row, weight)));
        }
        if let Some(first) = self.worth {
            let worth = self.prices[g] - cost;
            // HiGHS refuses coefficients that are almost zero; without one the row holds too.
            if worth > 1e-4 {
                entries.push((first + v, worth));
            }
        }
        columns.push(cost, upper, entries);
    }

    /// Prices from the duals of the rows.
    fn prices(&self, duals: &[f64]) -> Prices {
        // The dual of a row "at most" is not positive, up to the tolerance of HiGHS.
        let price = |row: usize| (-duals[row]).max(0.0);
        Prices {
            cores: (0..self.nodes).map(|v| price(self.groups + v)).collect(),
            memory: (0..self.nodes).map(|v| price(self.groups + self.nodes + v)).collect(),
            idle: self.idle.iter().map(|&row| if row > 0 { price(row) } else { 0.0 }).collect(),
        }
    }

    /// What columns pay at these prices, and at the duals of the rounded rows.
    fn tolls(&self, batch: &Batch, prices: &Prices, duals: &[f64]) -> Tolls {
        let mut tolls = Tolls::of(batch, prices);
        for (row, cut) in self.rounded.iter().filter(|(row, _)| duals[*row] < 0.0) {
            tolls.add(batch, cut, -duals[*row]);
        }
        tolls
    }
}

/// Prices, and what follows from them.
#[derive(Clone, Debug)]
pub(crate) struct Priced {
    /// Of room and of idle containers.
    pub(crate) prices: Prices,
    /// What columns pay, rounded rows included.
    pub(crate) tolls: Tolls,
    pub(crate) pricing: Pricing,
}

/// What the LP has come to.
pub(crate) struct Relaxed<'w> {
    /// The prices with the highest bound.
    pub(crate) best: Priced,
    /// The last solution of the LP: group, slot, how many requests, in this order.
    pub(crate) values: Vec<(usize, usize, f64)>,
    /// The LP itself; none without requests.
    lp: Option<Lp<'w>>,
}

/// Columns of a group that the LP starts with, at most and in the mean: an optimum of it uses little more than one a group.
const AT_FIRST: usize = 12;
const IN_MEAN: usize = 3;
/// Columns of a group that a round adds at most. Few rounds matter more than a small LP.
const A_ROUND: usize = 6;
/// Nodes above which the ascent is a long one: there the simplex method alone takes minutes.
const MANY_NODES: usize = 500;
/// The bound is close enough to the LP, as a share of it: the tolerance of the duals of HiGHS is no better.
const CLOSE: f64 = 1e-7;
/// The least reduced cost that counts, ms: the same tolerance.
const REDUCED: f64 = 1e-7;

/// Solves the LP by column generation. It starts with the columns that are good at the prices of the ascent and
/// those of `known` solutions.
pub(crate) fn relax<'w>(
    batch: &Batch,
    known: &[&Vec<Vec<usize>>],
    limits: &Limits<'w>,
) -> Result<Relaxed<'w>, MilpError> {
    let pace = if batch.nodes > MANY_NODES { ascent::LONG } else { ascent::SHORT };
    let (prices, pricing) = ascend(batch, pace, limits);
    tracing::debug!(bound = pricing.bound, "ascent");
    let tolls = Tolls::of(batch, &prices);
    let mut relaxed = Relaxed { best: Priced { prices, tolls, pricing }, values: Vec::new(), lp: None };
    if batch.groups.is_empty() {
        return Ok(relaxed);
    }
    let mut lp = Lp {
        layout: Layout::of(batch),
        held: vec![vec![false; 2 * batch.nodes + 1]; batch.groups.len()],
        order: Vec::new(),
        closed: Vec::new(),
        new: Columns::default(),
        priced: Vec::new(),
        solved: false,
        highs: limits.instance()?,
    };
    lp.first_columns(batch, &relaxed.best, known);
    lp.highs.pass(&lp.layout.rows, &std::mem::take(&mut lp.new), false)?;
    let (columns, rows) = basis(batch, &relaxed.best.tolls, &lp.order, lp.layout.rows.lower.len());
    lp.highs.start_with(&columns, &rows)?;
    lp.highs.set_text("presolve", c"presolve", c"off")?;
    relaxed.lp = Some(lp);
    relaxed.generate(batch, limits)?;
    Ok(relaxed)
}

/// Rounds of rounded rows at most, and the share of the gap to a solution that one has to close for another to come.
const ROUNDS: usize = 40;
const ENOUGH: f64 = 0.01;
/// Rounded rows in all at most: what more of them gain is less than what they cost the LP.
const MOST_ROUNDED: usize = 20_000;

impl Relaxed<'_> {
    /// Raises the bound towards the cost of a solution by rounded rows. What has been dropped from the batch since the last time
    /// leaves the LP first.
    pub(crate) fn tighten(&mut self, batch: &Batch, cost: f64, limits: &Limits<'_>) -> Result<(), MilpError> {
        let Some(lp) = &mut self.lp else { return Ok(()) };
        if lp.close_dropped(batch)? || !lp.solved {
            self.generate(batch, limits)?;
        }
        for round in 0..ROUNDS {
            let before = self.best.pricing.bound;
            if limits.close(cost, before) || limits.out_of_time() || limits.cancelled() {
                break;
            }
            let Some(lp) = self.lp.as_mut().filter(|lp| lp.solved) else { break };
            let cuts = cuts::separate(batch, &self.values, &self.best.prices);
            let (rows, columns) = (lp.layout.rounded.len(), lp.order.len());
            tracing::debug!(round, bound = before, new = cuts.len(), rows, columns, "rounded rows");
            if cuts.is_empty() || rows + cuts.len() > MOST_ROUNDED {
                break;
            }
            lp.add_rounded(batch, cuts)?;
            self.generate(batch, limits)?;
            if self.best.pricing.bound - before <= ENOUGH * (cost - before) {
                break;
            }
        }
        Ok(())
    }

    /// The rounded rows that have a price in the last LP.
    pub(crate) fn rounded(&self) -> impl Iterator<Item = &Cut> {
        self.lp.iter().flat_map(|lp| lp.priced.iter().map(|&at| &lp.layout.rounded[at].1))
    }

    /// Solves the LP, adds the columns that are cheaper than the duals say, and again, until there are none. Keeps the best prices
    /// and the last solution.
    fn generate(&mut self, batch: &Batch, limits: &Limits<'_>) -> Result<(), MilpError> {
        let Some(lp) = &mut self.lp else { return Ok(()) };
        let mut values = Vec::new();
        lp.solved = false;
        // Dual, then primal: prices stay feasible when rows come, and values when columns do.
        lp.highs.set_int("simplex_strategy", c"simplex_strategy", 1)?;
        while !limits.out_of_time() && !limits.cancelled() && lp.run(limits)? {
            let duals = lp.highs.row_duals()?;
            let now = lp.priced(batch, &duals);
            let objective = lp.highs.objective();
            tracing::trace!(objective, bound = now.pricing.bound, "LP");
            values = lp.highs.values()?;
            if now.pricing.bound > self.best.pricing.bound {
                self.best = now.clone();
            }
            if objective - self.best.pricing.bound <= CLOSE * objective.abs() {
                lp.solved = true;
                break;
            }
            for (g, &dual) in duals.iter().enumerate().take(batch.groups.len()) {
                if now.pricing.least[g] < dual - REDUCED {
                    for slot in cheapest(batch, &now.tolls, g, A_ROUND, dual - REDUCED) {
                        lp.hold(batch, g, slot);
                    }
                }
            }
            if lp.new.len() == 0 {
                lp.solved = true;
                break;
            }
            lp.highs.add(&std::mem::take(&mut lp.new))?;
            lp.highs.set_int("simplex_strategy", c"simplex_strategy", 4)?;
        }
        // Without an optimum of this program, that of the one before says more than nothing.
        if !values.is_empty() {
            let columns = lp.order.iter().zip(values).filter(|(_, value)| *value > NOTHING);
            self.values = columns.map(|(&(g, slot), value)| (g, slot, value)).collect();
            self.values.sort_unstable_by_key(|&(g, slot, _)| (g, slot));
        }
        Ok(())
    }
}

/// The LP over columns, as far as it has been generated.
struct Lp<'w> {
    layout: Layout,
    /// Whether it has the column of group g and slot s, at `[g][s]`.
    held: Vec<Vec<bool>>,
    /// Group and slot of each column, and of the first of them whether it is closed because the batch has dropped it.
    order: Vec<(usize, usize)>,
    closed: Vec<bool>,
    /// Columns that HiGHS does not have yet.
    new: Columns,
    /// Which of the rounded rows had a price in the last run.
    priced: Vec<usize>,
    /// Whether the last run has come to its end, and no column was missing.
    solved: bool,
    highs: Highs<'w>,
}

impl Lp<'_> {
    /// Whether there is an optimum.
    fn run(&mut self, limits: &Limits<'_>) -> Result<bool, MilpError> {
        self.highs.limit_time(limits.left())?;
        self.highs.run()?;
        Ok(self.highs.status() == ModelStatus::Optimal)
    }

    /// The duals as prices.
    fn priced(&mut self, batch: &Batch, duals: &[f64]) -> Priced {
        let rounded = &self.layout.rounded;
        self.priced = (0..rounded.len()).filter(|&at| duals[rounded[at].0] < -REDUCED).collect();
        let prices = self.layout.prices(duals);
        let tolls = self.layout.tolls(batch, &prices, duals);
        let pricing = price(batch, &tolls);
        Priced { prices, tolls, pricing }
    }

    fn hold(&mut self, batch: &Batch, g: usize, slot: usize) {
        if !self.held[g][slot] {
            self.held[g][slot] = true;
            self.order.push((g, slot));
            self.layout.push(batch, g, slot, &mut self.new);
        }
    }

    /// Deferral, what is cheap at the first prices, and what the known solutions use.
    fn first_columns(&mut self, batch: &Batch, first: &Priced, known: &[&Vec<Vec<usize>>]) {
        let near = near(batch, &first.tolls, &first.pricing);
        for g in 0..batch.groups.len() {
            self.hold(batch, g, batch.deferral());
            for slot in cheapest(batch, &first.tolls, g, AT_FIRST, first.pricing.least[g] + near) {
                self.hold(batch, g, slot);
            }
        }
        for (g, &slot) in known
            .iter()
            .flat_map(|slots| slots.iter().enumerate())
            .flat_map(|(g, slots)| slots.iter().map(move |slot| (g, slot)))
        {
            self.hold(batch, g, slot);
        }
    }

    /// Closes the columns that the batch has no more; whether there are any that were open.
    fn close_dropped(&mut self, batch: &Batch) -> Result<bool, MilpError> {
        self.closed.resize(self.order.len(), false);
        let mut any = false;
        for (column, (&(g, slot), closed)) in self.order.iter().zip(&mut self.closed).enumerate() {
            if !*closed && slot != batch.deferral() && !batch.cost(g, slot).is_finite() {
                self.highs.close(column)?;
                (*closed, any) = (true, true);
            }
        }
        Ok(any)
    }

    /// Adds rounded rows.
    fn add_rounded(&mut self, batch: &Batch, cuts: Vec<Cut>) -> Result<(), MilpError> {
        let mut on: Vec<Vec<(usize, usize)>> = vec![Vec::new(); batch.nodes];
        for (column, &(g, slot)) in self.order.iter().enumerate() {
            if slot != batch.deferral() {
                on[slot / 2].push((column, g));
            }
        }
        let entries = |cut: &Cut| -> Vec<(usize, f64)> {
            let columns = on[cut.node].iter();
            columns.filter_map(|&(column, g)| cut.entry(batch, g).map(|weight| (column, weight))).collect()
        };
        self.highs.add_rows(cuts.iter().map(|cut| (cut.side, entries(cut))))?;
        cuts.into_iter().for_each(|cut| self.layout.add_rounded(cut));
        Ok(())
    }
}

/// A value of the LP that is no more than this is zero.
const NOTHING: f64 = 1e-9;

/// The reduced cost up to which there are about [`IN_MEAN`] columns for each group.
fn near(batch: &Batch, tolls: &Tolls, pricing: &Pricing) -> f64 {
    let mut reduced: Vec<f64> = Vec::new();
    for (g, least) in pricing.least.iter().enumerate() {
        each_column(batch, tolls, g, |_, cost| reduced.push(cost - least));
    }
    let count = IN_MEAN * batch.groups.len();
    if reduced.len() <= count {
        return f64::INFINITY;
    }
    *reduced.select_nth_unstable_by(count, f64::total_cmp).1
}

/// A basis that is almost optimal: the cheapest column of each group at these prices, and the slacks of all rows but those
/// of the groups.
fn basis(batch: &Batch, tolls: &Tolls, order: &[(usize, usize)], rows: usize) -> (Vec<bool>, Vec<bool>) {
    let mut low = vec![(f64::INFINITY, 0); batch.groups.len()];
    for (column, &(g, slot)) in order.iter().enumerate() {
        let cost = reduced_cost(batch, tolls, g, slot);
        if cost < low[g].0 {
            low[g] = (cost, column);
        }
    }
    let mut columns = vec![false; order.len()];
    low.iter().for_each(|&(_, column)| columns[column] = true);
    (columns, (0..rows).map(|row| row >= batch.groups.len()).collect())
}

/// The cost of a column, prices included.
fn reduced_cost(batch: &Batch, tolls: &Tolls, g: usize, slot: usize) -> f64 {
    if slot == batch.deferral() {
        return batch.groups[g].defer;
    }
    let row = batch.idle_row(g, slot / 2);
    let idle = if slot.is_multiple_of(2) { tolls.idle[row] } else { 0.0 };
    let more: f64 = tolls.more[g].iter().filter(|(node, _)| *node == slot / 2).map(|(_, more)| more).sum();
    batch.cost(g, slot) + tolls.container[row] + more + idle
}

/// The cheapest columns of a group below a limit, prices included, deferral apart.
pub(crate) fn cheapest(batch: &Batch, tolls: &Tolls, g: usize, count: usize, below: f64) -> Vec<usize> {
    let mut found: Vec<(f64, usize)> = Vec::new();
    each_column(batch, tolls, g, |slot, cost| {
        if cost < below {
            found.push((cost, slot));
        }
    });
    let by_cost = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if found.len() > count {
        found.select_nth_unstable_by(count, by_cost);
        found.truncate(count);
    }
    found.sort_unstable_by(by_cost);
    found.into_iter().map(|(_, slot)| slot).collect()
}

#[cfg(test)]
mod tests {
    use scale_model::{Milliseconds, Objective, Slo};

    use super::*;
    use crate::oracle::{brute_force, tiny};

    /// Rounded rows bring the bound towards the optimum and never beyond, also after columns that no better solution uses have
    /// left the batch; and the LP with them is priced as it is solved.
    #[test]
    fn rounded_rows_stay_below_the_optimum() {
        let slo = Slo::Elastic { penalty_ms: Milliseconds(20.0) };
        let mut raised = 0;
        for seed in 0..1000 {
            let objective =
                if seed % 2 == 0 { Objective::ELASTIC } else { Objective { slo, ..Objective::ELASTIC } };
            let instance = tiny(seed, objective);
            let optimum = brute_force(&instance.problem()).expect("elastic");
            let mut batch = Batch::new(&instance.problem());
            let limits = Limits::of(&Budget::default(), 0, None);
            let mut relaxed = relax(&batch, &[], &limits).expect("HiGHS runs");
            let lp = relaxed.best.pricing.bound;
            let mut before = lp;
            for _ in 0..2 {
                relaxed.tighten(&batch, optimum, &limits).expect("HiGHS runs");
                let bound = relaxed.best.pricing.bound;
                assert!(
                    bound >= before && bound <= optimum + 1e-9,
                    "seed {seed}: {before}, {bound}, {optimum}"
                );
                let highs = relaxed.lp.as_ref().expect("requests").highs.objective();
                assert!(
                    (highs - bound).abs() <= 1e-6 * bound.abs(),
                    "seed {seed}: HiGHS {highs}, priced {bound}"
                );
                raised += u32::from(bound > before + 1e-6);
                before = bound;
                let Priced { tolls, pricing, .. } = &relaxed.best;
                let mut useless = Vec::new();
                for g in 0..batch.groups.len() {
                    each_column(&batch, tolls, g, |slot, cost| {
                        if cost - pricing.least[g] > optimum - pricing.bound + 1e-6 {
                            useless.push((g, slot));
                        }
                    });
                }
                useless.iter().for_each(|&(g, slot)| batch.drop(g, slot));
            }
        }
        assert!(raised > 20, "{raised} times");
    }
}
