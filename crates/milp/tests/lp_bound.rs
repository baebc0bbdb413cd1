//! The LP bound against an LP that is built here, from the paper and from what `batch.rs` says that it leaves out, and
//! solved by microlp.

#[path = "../benches/planted/mod.rs"]
mod planted;

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};
use planted::{Planted, planted};
use scale_milp::bounds::lower_bounds;
use scale_model::{BatchProblem, Budget, Container, FunctionId, NodeId, Objective, Request, Slo, latency};

/// One way to serve a request.
struct Column {
    k: usize,
    v: NodeId,
    container: Container,
    cost: f64,
}

/// Whether what no placement loses by is left out, or only what does not fit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Plain,
    Tight,
}

/// How many containers of j fit on v, as the state is.
fn fit(problem: &BatchProblem<'_>, j: FunctionId, v: NodeId) -> u32 {
    let (platform, state) = (problem.platform, problem.state);
    let (node, function) = (platform.node(v), platform.function(j));
    let cores = (node.cores.milli - state.used_cores(v).milli) / function.cores.milli;
    cores.min((node.memory.mb - state.used_memory(v).mb) / function.memory.mb)
}

fn of_function<'a>(problem: &BatchProblem<'a>, j: FunctionId) -> impl Iterator<Item = &'a Request> {
    problem.requests.iter().filter(move |request| request.function == j)
}

fn columns(problem: &BatchProblem<'_>, form: Form) -> Vec<Column> {
    let Slo::Elastic { penalty_ms } = problem.objective.slo else { panic!("late is a price here") };
    let defer = problem.objective.defer_penalty.0;
    let mut columns = Vec::new();
    for (k, request) in problem.requests.iter().enumerate() {
        for v in problem.platform.node_ids() {
            let idle = problem.state.idle(request.function, v);
            let room = fit(problem, request.function, v);
            let cost = |container| {
                let time = latency::predict(problem.platform, request, v, container, problem.now()).total();
                time.0 + if time > request.slo { penalty_ms.0 } else { 0.0 }
            };
            let most = room.min(of_function(problem, request.function).count() as u32);
            let mut add = |container, wanted: bool| {
                let cost = cost(container);
                if room > 0 && (form == Form::Plain || wanted && cost < defer) {
                    columns.push(Column { k, v, container, cost });
                }
            };
            if idle > 0 {
                add(Container::Reuse, idle >= most || cost(Container::Reuse) < cost(Container::New));
            }
            add(Container::New, idle < most);
        }
    }
    columns
}

/// The largest sum of needs that is at most `side`, one need for each request that can be there.
fn filled(side: u32, needs: &[u32]) -> u32 {
    let sums = 0..1_u32 << needs.len();
    let sum =
        |set: u32| (0..needs.len()).filter(|bit| set >> bit & 1 == 1).map(|bit| needs[bit]).sum::<u32>();
    sums.map(sum).filter(|sum| *sum <= side).max().unwrap_or(0)
}

fn by_microlp(problem: &BatchProblem<'_>, form: Form) -> f64 {
    let (platform, state) = (problem.platform, problem.state);
    let columns = columns(problem, form);
    let mut lp = Problem::new(OptimizationDirection::Minimize);
    let variables: Vec<Variable> =
        columns.iter().map(|column| lp.add_var(column.cost, (0.0, f64::INFINITY))).collect();
    for k in 0..problem.requests.len() {
        let deferral = lp.add_var(problem.objective.defer_penalty.0, (0.0, f64::INFINITY));
        let own = columns.iter().zip(&variables).filter(|(column, _)| column.k == k);
        let terms: Vec<_> = own.map(|(_, &x)| (x, 1.0)).chain([(deferral, 1.0)]).collect();
        lp.add_constraint(terms, ComparisonOp::Eq, 1.0);
    }
    for v in platform.node_ids() {
        let here = || columns.iter().zip(&variables).filter(|(column, _)| column.v == v);
        let able: Vec<usize> =
            (0..problem.requests.len()).filter(|k| here().any(|(column, _)| column.k == *k)).collect();
        let function = |k: usize| platform.function(problem.requests[k].function);
        let cores = |k| function(k).cores.milli;
        let memory = |k| function(k).memory.mb;
        let free_cores = platform.node(v).cores.milli - state.used_cores(v).milli;
        let free_memory = platform.node(v).memory.mb - state.used_memory(v).mb;
        let sides: [(&dyn Fn(usize) -> u32, u32); 2] = [(&cores, free_cores), (&memory, free_memory)];
        for (need, free) in sides {
            let all: Vec<u32> = able.iter().map(|&k| need(k)).collect();
            let side = match form {
                Form::Tight if all.iter().sum::<u32>() > free => filled(free, &all),
                _ => free,
            };
            let terms: Vec<_> = here().map(|(column, &x)| (x, f64::from(need(column.k)))).collect();
            lp.add_constraint(terms, ComparisonOp::Le, f64::from(side));
        }
        for j in platform.function_ids() {
            let warm = |column: &Column| {
                column.container == Container::Reuse && problem.requests[column.k].function == j
            };
            let terms: Vec<_> = here().filter(|(column, _)| warm(column)).map(|(_, &x)| (x, 1.0)).collect();
            let side = match form {
                Form::Plain => state.idle(j, v),
                Form::Tight => state.idle(j, v).min(fit(problem, j, v)),
            };
            lp.add_constraint(terms, ComparisonOp::Le, f64::from(side));
        }
    }
    lp.solve().expect("deferring all is allowed").into_solution().expect("no limit was set").objective()
}

#[test]
fn the_lp_bound_is_the_lp() {
    let (mut tighter, mut above_free) = (0, 0);
    for seed in 0..80_u64 {
        // A node holds one to three requests, and one request in two is the same as the one before.
        let what = Planted {
            seed,
            nodes: 3 + (seed % 4) as usize,
            functions: 2 + (seed % 3) as usize,
            requests: 6 + (seed % 5) as usize,
            load: [0.7, 0.95, 1.2][(seed % 3) as usize],
            objective: Objective::ELASTIC,
        };
        let mut instance = planted(&what);
        for k in (1..instance.requests.len()).step_by(2) {
            let id = instance.requests[k].id;
            instance.requests[k] = Request { id, ..instance.requests[k - 1] };
        }
        let problem = instance.problem();
        let bounds = lower_bounds(&problem, &Budget::default()).expect("HiGHS runs");
        let [plain, tight] = [Form::Plain, Form::Tight].map(|form| by_microlp(&problem, form));
        let off = (bounds.lp - tight).abs();
        assert!(off <= 1e-6 * tight, "{what:?}: {} instead of {tight}, plain {plain}", bounds.lp);
        assert!(bounds.lp >= plain * (1.0 - 1e-6), "{what:?}: {} below {plain}", bounds.lp);
        tighter += usize::from(tight > plain * (1.0 + 1e-6));
        above_free += usize::from(bounds.lp > bounds.capacity_free * (1.0 + 1e-6));
    }
    assert!(
        tighter >= 20 && above_free >= 60,
        "{tighter} tighter, {above_free} above the capacity-free bound"
    );
}
