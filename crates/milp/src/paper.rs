//! Eqs. (4)-(8) as the paper prints them: x_kv and z_kv, one function for each constraint.
//!
//! It is the reference, not the fast way: 2 |K| |V| binaries, and a row for each pair of request and node.
//!
//! # Deviations
//! - The paper lets z float freely. The row that it implies is `idle_containers`: on (v, j), of the requests that run
//!   there all but the idle containers need a new one; and `new_where_placed`, z_kv <= x_kv.
//! - (5) has an overflow column under [`Slo::Elastic`]: a request may be deferred, at its price.
//! - (8) is a row of zeros and ones. T_k takes one of 2 |V| values, which are known beforehand, so each is compared with
//!   O_k when the row is built, exactly. The printed row would hold only up to HiGHS's tolerance of 1e-6 ms and, with
//!   a late column, need a big-M.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use good_lp::{Constraint, Expression, ProblemVariables, SolverModel, Variable, variable};
use highs::{HighsModelStatus, HighsSolutionStatus, Model};
use scale_model::{
    BatchProblem, Budget, Container, Decision, FunctionId, Latency, NodeId, Placement, Proof, Request, Slo,
    Solution, SolveError, Solver, Stop, evaluate, latency, violations,
};

use crate::bounds::backend;
use crate::progress::{Progress, Told, Watch};
use crate::raw::{Listener, solve};

/// How a batch becomes a mixed-integer program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formulation {
    /// Eqs. (4)-(8) as printed, with x_kv and z_kv.
    Paper,
    /// The same optimum, much faster: see [`compact`](crate::compact).
    Compact,
}

/// Solves a batch by branch and bound, and proves the answer.
///
/// Of the [`Budget`] it knows the nodes, the gap, the time and `cancel`; `evaluations` does not bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milp {
    /// The program to solve.
    pub formulation: Formulation,
    /// Seed of HiGHS's tie-breaking, at most 2^31 - 1.
    pub random_seed: u32,
}

impl Solver for Milp {
    fn solve(&mut self, problem: &BatchProblem<'_>, budget: &Budget) -> Result<Solution, SolveError> {
        self.solve_telling(problem, budget, &mut |_| ControlFlow::Continue(()))
    }
}

impl Milp {
    /// [`Solver::solve`], and `told` hears how far it is: of each better placement and bound, and about ten times a
    /// second between. `Break` cancels the solve: what it has then is the answer, with [`Stop::Cancelled`].
    ///
    /// A panic of `told` ends the solve and goes on from here.
    ///
    /// # Errors
    /// See [`SolveError`].
    pub fn solve_telling(
        &self,
        problem: &BatchProblem<'_>,
        budget: &Budget,
        told: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Solution, SolveError> {
        if budget.cancelled() {
            return Err(SolveError::NothingFound);
        }
        match self.formulation {
            Formulation::Paper => solve_paper(problem, budget, self.random_seed, told),
            Formulation::Compact => crate::compact::solve(problem, budget, self.random_seed, told),
        }
    }
}

fn solve_paper(
    problem: &BatchProblem<'_>,
    budget: &Budget,
    random_seed: u32,
    told: &mut Told<'_>,
) -> Result<Solution, SolveError> {
    // HiGHS calls a model without columns empty, not optimal.
    if problem.requests.is_empty() {
        let placement = Placement { decisions: Vec::new() };
        let objective = evaluate(problem, &placement).objective;
        let bound = Some(objective);
        return Ok(Solution { placement, objective, bound, proof: Proof::Optimal, stop: Stop::Finished });
    }

    let mut variables = ProblemVariables::new();
    let columns = Columns::new(problem, &mut variables);
    let mut program = variables.minimise(eq4_objective(problem, &columns)).using(good_lp::highs);
    let constraints = eq5_placed(&columns)
        .into_iter()
        .chain(eq6_cores(problem, &columns))
        .chain(eq7_memory(problem, &columns))
        .chain(eq8_slo(problem, &columns))
        .chain(new_where_placed(&columns))
        .chain(idle_containers(problem, &columns));
    for constraint in constraints {
        program.add_constraint(constraint);
    }
    // From here on with `highs`: good_lp keeps the bound and the status to itself.
    let mut model = program.try_into_inner().map_err(|error| SolveError::Backend(error.to_string()))?;
    set_options(&mut model, budget, random_seed)?;
    let watch = Watch::new(told, f64::INFINITY);
    watch.limit.set(f64::INFINITY);
    let listener = Listener { cancel: budget.cancel.clone(), watch: Some(&watch) };
    let solved = solve(model, &listener).map_err(backend)?;

    let stop = match solved.status() {
        HighsModelStatus::Optimal if solved.mip_gap() > 0.0 && budget.relative_gap > 0.0 => Stop::Gap,
        HighsModelStatus::Optimal => Stop::Finished,
        HighsModelStatus::ReachedTimeLimit => Stop::Time,
        HighsModelStatus::ReachedInterrupt => Stop::Cancelled,
        // The answer of HiGHS to `mip_max_nodes`; nothing limits the solutions.
        HighsModelStatus::ReachedSolutionLimit => Stop::Nodes,
        // All columns are bounded, so "unbounded or infeasible" can only be the latter.
        HighsModelStatus::Infeasible | HighsModelStatus::UnboundedOrInfeasible => {
            return Err(SolveError::Infeasible { hopeless: problem.hopeless() });
        }
        status => return Err(SolveError::Backend(format!("HiGHS: {status:?}"))),
    };
    if solved.primal_solution_status() != HighsSolutionStatus::Feasible {
        return Err(SolveError::NothingFound);
    }
    let placement = columns.placement(solved.get_solution().columns());
    let claimed = solved.objective_value();
    let bound = solved
        .double_info_value(c"mip_dual_bound")
        .map_err(|status| SolveError::Backend(format!("HiGHS has no bound: {status:?}")))?;
    judged(problem, placement, claimed, bound, stop)
}

/// The solution, once the judge and the evaluation agree with HiGHS.
fn judged(
    problem: &BatchProblem<'_>,
    placement: Placement,
    claimed: f64,
    bound: f64,
    stop: Stop,
) -> Result<Solution, SolveError> {
    if let Some(violation) = violations(problem, &placement).into_iter().next() {
        return Err(SolveError::NotAllowed(violation));
    }
    let objective = evaluate(problem, &placement).objective;
    if (objective - claimed).abs() > 1e-6 * objective.abs().max(1.0) {
        let text = format!("HiGHS says that the objective is {claimed}, but it is {objective}");
        return Err(SolveError::Backend(text));
    }
    let proof = match stop {
        Stop::Finished => Proof::Optimal,
        _ if bound.is_finite() => Proof::Bounded,
        _ => Proof::Feasible,
    };
    // Both sums are rounded, in different orders; a bound above a known objective would only be that.
    let bound = bound.is_finite().then(|| bound.min(objective));
    Ok(Solution { placement, objective, bound, proof, stop })
}

fn set_options(model: &mut Model, budget: &Budget, random_seed: u32) -> Result<(), SolveError> {
    let int = |value: u64| i32::try_from(value).unwrap_or(i32::MAX);
    let refused = |_| SolveError::Backend("HiGHS refuses an option".into());
    let seed = i32::try_from(random_seed)
        .map_err(|_| SolveError::Backend(format!("the random seed {random_seed} is above 2^31 - 1")))?;
    model.try_set_option("threads", 1).map_err(refused)?;
    model.try_set_option("random_seed", seed).map_err(refused)?;
    model.try_set_option("mip_rel_gap", budget.relative_gap).map_err(refused)?;
    // Its default of 1e-6 would end the search where only the relative gap should.
    model.try_set_option("mip_abs_gap", 0.0).map_err(refused)?;
    if let Some(nodes) = budget.nodes {
        model.try_set_option("mip_max_nodes", int(nodes)).map_err(refused)?;
    }
    if let Some(time) = budget.time_limit {
        model.try_set_option("time_limit", time.as_secs_f64()).map_err(refused)?;
    }
    Ok(())
}

/// The variables, all binary. Indices: request k of the batch, node v.
struct Columns {
    /// x_kv: k runs on v.
    x: Vec<Vec<Variable>>,
    /// z_kv: in a new container.
    z: Vec<Vec<Variable>>,
    /// k is deferred, and k is late. None under [`Slo::Hard`], where neither may be.
    elastic: Option<Elastic>,
}

struct Elastic {
    defer: Vec<Variable>,
    late: Vec<Variable>,
}

impl Columns {
    fn new(problem: &BatchProblem<'_>, variables: &mut ProblemVariables) -> Columns {
        let (requests, nodes) = (problem.requests.len(), problem.platform.topology.nodes.len());
        let mut binaries = |count| variables.add_vector(variable().binary(), count);
        // In this order: `placement` counts on it.
        Columns {
            x: (0..requests).map(|_| binaries(nodes)).collect(),
            z: (0..requests).map(|_| binaries(nodes)).collect(),
            elastic: match problem.objective.slo {
                Slo::Hard => None,
                Slo::Elastic { .. } => Some(Elastic { defer: binaries(requests), late: binaries(requests) }),
            },
        }
    }

    /// The decisions that the values of the columns mean. Column i of the program is the i-th variable added, so they
    /// begin with x, request by request, and go on with z.
    fn placement(&self, values: &[f64]) -> Placement {
        let (requests, nodes) = (self.x.len(), self.x[0].len());
        // HiGHS keeps binaries within 1e-6 of 0 and 1.
        let is_set = |value: &f64| *value > 0.5;
        let (x, z) = values.split_at(requests * nodes);
        let decide = |(x, z): (&[f64], &[f64])| match x.iter().position(is_set) {
            None => Decision::Defer,
            Some(node) => {
                let container = if is_set(&z[node]) { Container::New } else { Container::Reuse };
                Decision::Run { node: NodeId(node as u32), container }
            }
        };
        let decisions = x.chunks(nodes).zip(z.chunks(nodes)).map(decide).collect();
        Placement { decisions }
    }
}

/// The latency of request k if it runs on node v.
fn predict(problem: &BatchProblem<'_>, request: &Request, node: NodeId, container: Container) -> Latency {
    latency::predict(problem.platform, request, node, container, problem.now())
}

/// Eq. (4): the sum of T_k, and the prices of late and deferred requests, as `evaluate` adds them up.
fn eq4_objective(problem: &BatchProblem<'_>, columns: &Columns) -> Expression {
    let mut sum = Expression::default();
    for (k, request) in problem.requests.iter().enumerate() {
        for v in problem.platform.node_ids() {
            let warm = predict(problem, request, v, Container::Reuse).total();
            let cold = predict(problem, request, v, Container::New).total();
            sum.add_mul(warm.0, columns.x[k][v.index()]);
            sum.add_mul(cold.0 - warm.0, columns.z[k][v.index()]);
        }
        if let (Some(elastic), Slo::Elastic { penalty_ms }) = (&columns.elastic, problem.objective.slo) {
            let waited = problem.now() - request.arrival;
            sum.add_mul((waited + problem.objective.defer_penalty).0, elastic.defer[k]);
            sum.add_mul(penalty_ms.0, elastic.late[k]);
        }
    }
    sum
}

/// (5): sum over v of x_kv = 1, or the request is deferred.
fn eq5_placed(columns: &Columns) -> Vec<Constraint> {
    let row = |k: usize, x: &Vec<Variable>| {
        let mut sum: Expression = x.iter().sum();
        if let Some(elastic) = &columns.elastic {
            sum += elastic.defer[k];
        }
        sum.eq(1.0)
    };
    columns.x.iter().enumerate().map(|(k, x)| row(k, x)).collect()
}

/// (6): sum over k of f_k x_kv <= F_v, less what is busy already.
fn eq6_cores(problem: &BatchProblem<'_>, columns: &Columns) -> Vec<Constraint> {
    let row = |v: NodeId| {
        let need = |request: &Request| f64::from(problem.platform.function(request.function).cores.milli);
        let free = problem.platform.node(v).cores.milli - problem.state.used_cores(v).milli;
        sum_over_requests(problem, columns, v, need).leq(f64::from(free))
    };
    problem.platform.node_ids().map(row).collect()
}

/// (7): sum over k of c_k x_kv <= C_v, less what is busy already. Idle containers make room.
fn eq7_memory(problem: &BatchProblem<'_>, columns: &Columns) -> Vec<Constraint> {
    let row = |v: NodeId| {
        let need = |request: &Request| f64::from(problem.platform.function(request.function).memory.mb);
        let free = problem.platform.node(v).memory.mb - problem.state.used_memory(v).mb;
        sum_over_requests(problem, columns, v, need).leq(f64::from(free))
    };
    problem.platform.node_ids().map(row).collect()
}

fn sum_over_requests(
    problem: &BatchProblem<'_>,
    columns: &Columns,
    node: NodeId,
    need: impl Fn(&Request) -> f64,
) -> Expression {
    let mut sum = Expression::with_capacity(problem.requests.len());
    for (request, x) in problem.requests.iter().zip(&columns.x) {
        sum.add_mul(need(request), x[node.index()]);
    }
    sum
}

/// (8): T_k <= O_k, or the request is late: sum over v of [warm is late] (x_kv - z_kv) + [cold is late] z_kv <= late_k.
fn eq8_slo(problem: &BatchProblem<'_>, columns: &Columns) -> Vec<Constraint> {
    let row = |(k, request): (usize, &Request)| {
        let is_late = |latency: Latency| f64::from(u8::from(latency.total() > request.slo));
        let mut sum = Expression::default();
        for v in problem.platform.node_ids() {
            let warm = is_late(predict(problem, request, v, Container::Reuse));
            let cold = is_late(predict(problem, request, v, Container::New));
            sum.add_mul(warm, columns.x[k][v.index()]);
            sum.add_mul(cold - warm, columns.z[k][v.index()]);
        }
        if let Some(elastic) = &columns.elastic {
            // A deferred request is late once it has waited for longer than it may take.
            let waited = Latency { wait: problem.now() - request.arrival, ..Latency::default() };
            sum.add_mul(is_late(waited), elastic.defer[k]);
            sum -= elastic.late[k];
        }
        sum.leq(0.0)
    };
    problem.requests.iter().enumerate().map(row).collect()
}

/// z_kv <= x_kv: only a request that runs on v has a new container there.
fn new_where_placed(columns: &Columns) -> Vec<Constraint> {
    let pairs = columns.x.iter().flatten().zip(columns.z.iter().flatten());
    pairs.map(|(x, z)| (*z - *x).leq(0.0)).collect()
}

/// On (v, j), sum over the requests k of j of (x_kv - z_kv) <= idle_jv: each idle container serves one request.
fn idle_containers(problem: &BatchProblem<'_>, columns: &Columns) -> Vec<Constraint> {
    let mut reuses: BTreeMap<(FunctionId, NodeId), Expression> = BTreeMap::new();
    for (k, request) in problem.requests.iter().enumerate() {
        for v in problem.platform.node_ids() {
            let sum = reuses.entry((request.function, v)).or_default();
            *sum += columns.x[k][v.index()];
            *sum -= columns.z[k][v.index()];
        }
    }
    let row =
        |((j, v), sum): ((FunctionId, NodeId), Expression)| sum.leq(f64::from(problem.state.idle(j, v)));
    reuses.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use scale_model::linear::LinearProgram;
    use scale_model::{
        ClusterState, CoreMilliseconds, Cores, Instance, Links, MegabytesPerSecond, Memory, Milliseconds,
        Objective, Time,
    };

    use super::*;
    use crate::oracle::{agrees, brute_force, proven, tiny};
    use crate::{HighsOptions, ModelStatus, solve_mps};

    const SOLVER: Milp = Milp { formulation: Formulation::Paper, random_seed: 1 };

    /// The optimum of the program that the model exports, by a path that shares no row with this file.
    fn exported(problem: &BatchProblem<'_>) -> Option<f64> {
        let options = HighsOptions { random_seed: 1, mip_rel_gap: 0.0, node_limit: None, time_limit: None };
        let solution = solve_mps(&LinearProgram::of(problem).to_mps(), &options).expect("HiGHS runs");
        match solution.status {
            ModelStatus::Optimal => solution.incumbent.map(|incumbent| incumbent.objective),
            ModelStatus::Infeasible => None,
            status => panic!("{status:?}"),
        }
    }

    fn against_brute_force(objective: Objective) -> [usize; 2] {
        let mut feasible = [0, 0];
        for seed in 0..200 {
            let instance = tiny(seed, objective);
            let problem = instance.problem();
            let oracle = brute_force(&problem);
            agrees(&format!("exported program, seed {seed}"), oracle, exported(&problem));
            let found = proven(&format!("seed {seed}"), &problem, SOLVER);
            agrees(&format!("seed {seed}"), oracle, found);
            feasible[usize::from(found.is_some())] += 1;
        }
        feasible
    }

    #[test]
    fn elastic_is_the_best_of_all_placements() {
        let [infeasible, _] = against_brute_force(Objective::ELASTIC);
        assert_eq!(infeasible, 0, "deferring all is always allowed");
        // Prices that make it worth to defer, or to be late.
        for (late, defer) in [(20.0, 2000.0), (1000.0, 60.0), (0.0, 0.0)] {
            let slo = Slo::Elastic { penalty_ms: Milliseconds(late) };
            against_brute_force(Objective { slo, defer_penalty: Milliseconds(defer) });
        }
    }

    #[test]
    fn hard_is_the_best_of_all_placements_in_time_or_infeasible() {
        let [infeasible, feasible] = against_brute_force(Objective::HARD);
        assert!(
            infeasible >= 30 && feasible >= 30,
            "{infeasible} infeasible and {feasible} feasible batches"
        );
    }

    /// One node with one idle container, and one request that takes 100 ms there.
    fn single(slo: f64, objective: Objective) -> Instance {
        let mut instance = tiny(0, objective);
        let Instance { platform, state, requests, .. } = &mut instance;
        platform.topology.nodes.truncate(1);
        platform.topology.nodes[0].cores = Cores { milli: 1000 };
        platform.topology.nodes[0].memory = Memory { mb: 256 };
        platform.topology.links = Links::from_fn(1, |_, _| MegabytesPerSecond(1.0)).expect("no rate at all");
        platform.functions.truncate(1);
        platform.functions[0].cores = Cores { milli: 500 };
        platform.functions[0].init = Milliseconds(500.0);
        *state = ClusterState::empty(platform);
        state.add_idle(platform, FunctionId(0), NodeId(0), 1);
        requests.truncate(1);
        requests[0].function = FunctionId(0);
        requests[0].source = NodeId(0);
        requests[0].arrival = Time(0.0);
        requests[0].cpu_time = CoreMilliseconds(50.0);
        requests[0].slo = Milliseconds(slo);
        instance
    }

    #[test]
    fn the_slo_has_no_tolerance() {
        let solve = |slo, objective| {
            let instance = single(slo, objective);
            let mut solver = SOLVER;
            solver.solve(&instance.problem(), &Budget::default()).map(|solution| solution.objective)
        };
        assert_eq!(solve(100.0, Objective::ELASTIC), Ok(100.0));
        assert_eq!(solve(100.0, Objective::HARD), Ok(100.0));
        // Late by far less than HiGHS would notice.
        assert_eq!(solve(100.0 - 1e-9, Objective::ELASTIC), Ok(1100.0));
        let hopeless = vec![scale_model::RequestId(0)];
        assert_eq!(solve(100.0 - 1e-9, Objective::HARD), Err(SolveError::Infeasible { hopeless }));
    }

    #[test]
    fn an_empty_batch_costs_nothing() {
        for objective in [Objective::ELASTIC, Objective::HARD] {
            let instance = Instance { requests: Vec::new(), ..tiny(0, objective) };
            let mut solver = SOLVER;
            let solution = solver.solve(&instance.problem(), &Budget::default()).expect("nothing to do");
            assert_eq!((solution.objective, solution.proof), (0.0, Proof::Optimal));
        }
    }

    #[test]
    fn a_budget_that_is_spent_proves_nothing() {
        let instance = tiny(1, Objective::ELASTIC);
        let solve = |budget: Budget| {
            let mut solver = SOLVER;
            solver.solve(&instance.problem(), &budget)
        };
        let cancelled = Budget { cancel: Some(std::sync::Arc::new(true.into())), ..Budget::default() };
        assert_eq!(solve(cancelled), Err(SolveError::NothingFound));
        // HiGHS may find a placement before it first looks at the clock, but it cannot claim to be through.
        match solve(Budget { time_limit: Some(std::time::Duration::ZERO), ..Budget::default() }) {
            Err(SolveError::NothingFound) => {}
            Ok(solution) => assert_eq!(solution.stop, Stop::Time),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_seed_that_highs_cannot_take_is_named() {
        let instance = tiny(1, Objective::ELASTIC);
        let mut solver = Milp { random_seed: u32::MAX, ..SOLVER };
        let error = solver.solve(&instance.problem(), &Budget::default()).expect_err("too large");
        assert!(error.to_string().contains("4294967295"), "{error}");
    }
}
