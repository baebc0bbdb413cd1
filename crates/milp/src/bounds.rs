//! Lower bounds on J over all placements: how far from the optimum a result can be at most.
//!
//! - [`capacity_free`]: each request at its cheapest, as if it were alone.
//! - [`lagrangian`]: the same, but room and idle containers have prices, and what is free of them is paid back. Valid for
//!   any prices that are not negative, whoever made them.
//! - [`lp_relaxation`]: requests may be split. Solved by column generation: HiGHS sees only columns that were worth it
//!   at some prices. The value is the Lagrangian bound at the last duals, priced here over all columns, so that it does
//!   not rest on the tolerances of HiGHS; it lies below the optimum of the LP by less than one part in a million unless the
//!   budget ends before.
//!
//! All are sums of floats and are lowered by far more than their rounding (1e-11 of the sum of the magnitudes).
//! Under [`Slo::Hard`](scale_model::Slo::Hard) a bound can be infinite: no placement exists.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use scale_model::{BatchProblem, Budget, SolveError};

use crate::ascent::{self, ascend};
use crate::batch::{Batch, UNLIMITED};
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
    let capacity_free = finished(&batch, price(&batch, &Prices::free(&batch)).bound);
    let relaxed = relax(&batch, &[], &Limits::of(budget, 0, None)).map_err(backend)?;
    Ok(LowerBounds { capacity_free, lp: finished(&batch, relaxed.pricing.bound).max(capacity_free) })
}

/// Each request at its cheapest, as if it were alone.
pub fn capacity_free(problem: &BatchProblem<'_>) -> f64 {
    let batch = Batch::new(problem);
    finished(&batch, price(&batch, &Prices::free(&batch)).bound)
}

/// Each request at its cheapest with the prices of the room that it takes, less the price of all room.
///
/// # Panics
/// If there are not as many prices as the batch has nodes, or nodes times functions.
pub fn lagrangian(problem: &BatchProblem<'_>, prices: &Prices) -> f64 {
    let batch = Batch::new(problem);
    let not_negative = |prices: &[f64]| prices.iter().map(|price| price.max(0.0)).collect();
    let mut prices = Prices {
        cores: not_negative(&prices.cores),
        memory: not_negative(&prices.memory),
        idle: not_negative(&prices.idle),
    };
    assert_eq!(prices.idle.len(), batch.idle.len(), "one price for each function and node");
    // What cannot run out has no price: nothing of it is paid back.
    let unlimited = prices.idle.iter_mut().zip(&batch.idle).filter(|(_, idle)| **idle == UNLIMITED);
    unlimited.for_each(|(price, _)| *price = 0.0);
    finished(&batch, price(&batch, &prices).bound)
}

/// The bound of the LP: requests may be split between columns. Of the budget it knows time and cancellation.
///
/// # Errors
/// HiGHS failed.
pub fn lp_relaxation(problem: &BatchProblem<'_>, budget: &Budget) -> Result<Relaxation, SolveError> {
    let batch = Batch::new(problem);
    let limits = Limits::of(budget, 0, None);
    let relaxed = relax(&batch, &[], &limits).map_err(backend)?;
    Ok(Relaxation { bound: finished(&batch, relaxed.pricing.bound), prices: relaxed.prices })
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

/// What all columns are worth at given prices.
#[derive(Clone, Debug)]
pub(crate) struct Pricing {
    /// The Lagrangian bound.
    pub(crate) bound: f64,
    /// The cheapest column of each group, prices included.
    pub(crate) least: Vec<f64>,
}

/// Looks at all columns.
pub(crate) fn price(batch: &Batch, prices: &Prices) -> Pricing {
    let (mut bound, mut size) = (0.0, 0.0);
    let mut add = |value: f64| {
        bound += value;
        size += value.abs();
    };
    let mut least = Vec::with_capacity(batch.groups.len());
    for (g, group) in batch.groups.iter().enumerate() {
        let mut low = group.defer;
        each_column(batch, prices, g, |_, reduced| low = low.min(reduced));
        add(low * group.members.len() as f64);
        least.push(low);
    }
    for v in 0..batch.nodes {
        add(-prices.cores[v] * f64::from(batch.cores[v]));
        add(-prices.memory[v] * f64::from(batch.memory[v]));
    }
    for (&price, &idle) in prices.idle.iter().zip(&batch.idle) {
        if idle != UNLIMITED {
            add(-price * f64::from(idle));
        }
    }
    Pricing { bound: bound - 1e-11 * size, least }
}

/// Calls `seen` with the slot and the cost, prices included, of each column of a group but deferral.
pub(crate) fn each_column(batch: &Batch, prices: &Prices, g: usize, mut seen: impl FnMut(usize, f64)) {
    let need = batch.functions[batch.groups[g].function];
    let (cores, memory) = (f64::from(need.cores), f64::from(need.memory));
    let idle = &prices.idle[batch.groups[g].function * batch.nodes..][..batch.nodes];
    for (v, pair) in batch.row(g).chunks_exact(2).enumerate() {
        let room = prices.cores[v] * cores + prices.memory[v] * memory;
        if pair[0].is_finite() {
            seen(2 * v, pair[0] + room + idle[v]);
        }
        if pair[1].is_finite() {
            seen(2 * v + 1, pair[1] + room);
        }
    }
}

/// The rows of the program: one for each group, (6), (7), and one for each limited pair of function and node.
pub(crate) struct Layout {
    groups: usize,
    nodes: usize,
    /// Row of each pair; 0, the row of a group, where there is none.
    idle: Vec<usize>,
    /// First of the rows of `cut`, and the prices that they rest on.
    cuts: Option<usize>,
    prices: Vec<f64>,
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
        Layout { groups: batch.groups.len(), nodes: batch.nodes, idle, cuts: None, prices: Vec::new(), rows }
    }

    /// Adds a row for each node: what it holds is worth no more than its best pattern.
    pub(crate) fn cut(&mut self, knapsacks: &Knapsacks) {
        self.cuts = Some(self.rows.lower.len());
        self.rows.lower.extend(knapsacks.worth.iter().map(|_| f64::NEG_INFINITY));
        self.rows.upper.extend(&knapsacks.worth);
        self.prices.clone_from(&knapsacks.prices);
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
        if let Some(first) = self.cuts {
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
}

/// What the LP has come to.
pub(crate) struct Relaxed {
    pub(crate) prices: Prices,
    pub(crate) pricing: Pricing,
    /// The last solution of the LP: group, slot, how many requests.
    pub(crate) values: Vec<(usize, usize, f64)>,
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
pub(crate) fn relax(
    batch: &Batch,
    known: &[&Vec<Vec<usize>>],
    limits: &Limits<'_>,
) -> Result<Relaxed, MilpError> {
    let pace = if batch.nodes > MANY_NODES { ascent::LONG } else { ascent::SHORT };
    let (prices, pricing) = ascend(batch, pace, limits);
    tracing::debug!(bound = pricing.bound, "ascent");
    let mut relaxed = Relaxed { prices, pricing, values: Vec::new() };
    if batch.groups.is_empty() {
        return Ok(relaxed);
    }
    let mut master = Master::new(batch);
    master.first_columns(&relaxed, known);
    let mut lp = limits.instance()?;
    lp.pass(&master.layout.rows, &std::mem::take(&mut master.new), false)?;
    let (columns, rows) = basis(batch, &relaxed.prices, &master.order, master.layout.rows.lower.len());
    lp.start_with(&columns, &rows)?;
    lp.set_text("presolve", c"presolve", c"off")?;
    master.generate(&mut lp, &mut relaxed)?;
    Ok(relaxed)
}

/// The LP over columns, as far as it has been generated.
struct Master<'a> {
    batch: &'a Batch,
    layout: Layout,
    /// Whether it has the column of group g and slot s, at `[g][s]`.
    held: Vec<Vec<bool>>,
    /// Group and slot of each column.
    order: Vec<(usize, usize)>,
    /// Columns that HiGHS does not have yet.
    new: Columns,
}

impl<'a> Master<'a> {
    fn new(batch: &'a Batch) -> Master<'a> {
        let held = vec![vec![false; 2 * batch.nodes + 1]; batch.groups.len()];
        Master { batch, layout: Layout::of(batch), held, order: Vec::new(), new: Columns::default() }
    }

    fn hold(&mut self, g: usize, slot: usize) {
        if !self.held[g][slot] {
            self.held[g][slot] = true;
            self.order.push((g, slot));
            self.layout.push(self.batch, g, slot, &mut self.new);
        }
    }

    /// Deferral, what is cheap at the first prices, and what the known solutions use.
    fn first_columns(&mut self, first: &Relaxed, known: &[&Vec<Vec<usize>>]) {
        let near = near(self.batch, &first.prices, &first.pricing);
        for g in 0..self.batch.groups.len() {
            self.hold(g, self.batch.deferral());
            for slot in cheapest(self.batch, &first.prices, g, AT_FIRST, first.pricing.least[g] + near) {
                self.hold(g, slot);
            }
        }
        for (g, &slot) in known
            .iter()
            .flat_map(|slots| slots.iter().enumerate())
            .flat_map(|(g, slots)| slots.iter().map(move |slot| (g, slot)))
        {
            self.hold(g, slot);
        }
    }

    /// Solves, adds the columns that are cheaper than the duals say, and again, until there are none. Keeps the best prices
    /// and the last solution.
    fn generate(&mut self, lp: &mut Highs<'_>, relaxed: &mut Relaxed) -> Result<(), MilpError> {
        let mut values = Vec::new();
        let mut first = true;
        loop {
            lp.run()?;
            if lp.status() != ModelStatus::Optimal {
                break;
            }
            let duals = lp.row_duals()?;
            let prices = self.layout.prices(&duals);
            let pricing = price(self.batch, &prices);
            let objective = lp.objective();
            tracing::trace!(objective, bound = pricing.bound, "LP");
            values = lp.values()?;
            if pricing.bound > relaxed.pricing.bound {
                (relaxed.prices, relaxed.pricing) = (prices.clone(), pricing.clone());
            }
            if objective - relaxed.pricing.bound <= CLOSE * objective.abs() {
                break;
            }
            for (g, &dual) in duals.iter().enumerate().take(self.batch.groups.len()) {
                if pricing.least[g] < dual - REDUCED {
                    for slot in cheapest(self.batch, &prices, g, A_ROUND, dual - REDUCED) {
                        self.hold(g, slot);
                    }
                }
            }
            if self.new.len() == 0 {
                break;
            }
            lp.add(&std::mem::take(&mut self.new))?;
            if first {
                // Primal: the last basis stays feasible when columns come.
                lp.set_int("simplex_strategy", c"simplex_strategy", 4)?;
                first = false;
            }
        }
        let columns = self.order.iter().zip(values).filter(|(_, value)| *value > NOTHING);
        relaxed.values = columns.map(|(&(g, slot), value)| (g, slot, value)).collect();
        Ok(())
    }
}

/// A value of the LP that is no more than this is zero.
const NOTHING: f64 = 1e-9;

/// The reduced cost up to which there are about [`IN_MEAN`] columns for each group.
fn near(batch: &Batch, prices: &Prices, pricing: &Pricing) -> f64 {
    let mut reduced: Vec<f64> = Vec::new();
    for (g, least) in pricing.least.iter().enumerate() {
        each_column(batch, prices, g, |_, cost| reduced.push(cost - least));
    }
    let count = IN_MEAN * batch.groups.len();
    if reduced.len() <= count {
        return f64::INFINITY;
    }
    *reduced.select_nth_unstable_by(count, f64::total_cmp).1
}

/// A basis that is almost optimal: the cheapest column of each group at these prices, and the slacks of all rows but those
/// of the groups.
fn basis(batch: &Batch, prices: &Prices, order: &[(usize, usize)], rows: usize) -> (Vec<bool>, Vec<bool>) {
    let mut low = vec![(f64::INFINITY, 0); batch.groups.len()];
    for (column, &(g, slot)) in order.iter().enumerate() {
        let cost = reduced_cost(batch, prices, g, slot);
        if cost < low[g].0 {
            low[g] = (cost, column);
        }
    }
    let mut columns = vec![false; order.len()];
    low.iter().for_each(|&(_, column)| columns[column] = true);
    (columns, (0..rows).map(|row| row >= batch.groups.len()).collect())
}

/// The cost of a column, prices included.
fn reduced_cost(batch: &Batch, prices: &Prices, g: usize, slot: usize) -> f64 {
    if slot == batch.deferral() {
        return batch.groups[g].defer;
    }
    let (v, need) = (slot / 2, batch.functions[batch.groups[g].function]);
    let room = prices.cores[v] * f64::from(need.cores) + prices.memory[v] * f64::from(need.memory);
    let idle = if slot.is_multiple_of(2) { prices.idle[batch.idle_row(g, v)] } else { 0.0 };
    batch.cost(g, slot) + room + idle
}

/// The cheapest columns of a group below a limit, prices included, deferral apart.
pub(crate) fn cheapest(batch: &Batch, prices: &Prices, g: usize, count: usize, below: f64) -> Vec<usize> {
    let mut found: Vec<(f64, usize)> = Vec::new();
    each_column(batch, prices, g, |slot, cost| {
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
