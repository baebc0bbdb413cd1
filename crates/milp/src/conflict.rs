//! Why a batch has no placement under [`Slo::Hard`](scale_model::Slo::Hard): a set of requests and nodes that conflict,
//! none of which can be left out.
//!
//! Found by QuickXplain (Junker 2004): halves of the set are tried before single members, so that a small conflict in a
//! large batch takes few tests. A test asks whether some requests can all be placed in time: annealing may find a
//! placement, else HiGHS finds one or proves that there is none.

use std::fmt;

use scale_model::{
    BatchProblem, Budget, Cores, Memory, NodeId, Objective, Platform, Request, RequestId, Slo, SolveError,
};

use crate::batch::Batch;
use crate::bounds::{Layout, Limits, backend};
use crate::highs::{MilpError, ModelStatus};
use crate::raw::Columns;
use crate::start;

/// Why no placement keeps (5)-(8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// These requests cannot all be placed in time, whoever else is left out; without any one of them the others can.
    pub requests: Vec<RequestId>,
    /// Nodes whose room, (6) and (7), matters: with the room of all others without limit the requests cannot be placed
    /// either; with that of any one of these without limit, too, they can. Empty if no room would help.
    pub nodes: Vec<NodeId>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |ids: Vec<u32>| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let requests = list(self.requests.iter().map(|id| id.0).collect());
        write!(
            f,
            "these requests cannot all be placed in time, but without any one of them the others can: {requests}"
        )?;
        match self.nodes.is_empty() {
            true => write!(f, "; more room on the nodes would not help"),
            false => {
                let nodes = list(self.nodes.iter().map(|node| node.0).collect());
                write!(f, "; whatever room the other nodes had, these have too little: {nodes}")
            }
        }
    }
}

/// A smallest set of requests and nodes that conflict, in the sense that nothing can be left out of it; there may be others
/// with fewer members. `None` if there is a placement that keeps (5)-(8), whatever the objective of `problem` says of SLOs.
///
/// If a single request is hopeless (no node could serve it in time even if it were empty), the conflict is the first of
/// them.
///
/// Of the budget it knows time and cancellation, for all tests together.
///
/// # Errors
/// [`SolveError::NothingFound`] if the budget ends first; HiGHS failed.
pub fn conflict(problem: &BatchProblem<'_>, budget: &Budget) -> Result<Option<Conflict>, SolveError> {
    let objective = Objective { slo: Slo::Hard, ..problem.objective };
    let problem = BatchProblem { objective, ..*problem };
    let limits = Limits::of(&Budget { nodes: None, relative_gap: 0.0, ..budget.clone() }, 0, None);
    let hopeless = problem.hopeless();
    let all: Vec<usize> = match hopeless.first() {
        Some(first) => {
            (0..problem.requests.len()).filter(|&k| problem.requests[k].id == *first).take(1).collect()
        }
        None => (0..problem.requests.len()).collect(),
    };
    let nodes: Vec<usize> = (0..problem.platform.topology.nodes.len()).collect();
    if limits.cancelled() || limits.out_of_time() {
        return Err(SolveError::NothingFound);
    }
    if all.is_empty() || can(&problem, &all, &nodes, &limits)? {
        return Ok(None);
    }
    let mut by_requests = |some: &[usize]| can(&problem, some, &nodes, &limits);
    let requests = smallest(&[], false, &all, &mut by_requests)?;
    let mut by_nodes = |some: &[usize]| can(&problem, &requests, some, &limits);
    let nodes = if by_nodes(&[])? { smallest(&[], false, &nodes, &mut by_nodes)? } else { Vec::new() };
    let mut requests: Vec<RequestId> = requests.into_iter().map(|k| problem.requests[k].id).collect();
    let mut nodes: Vec<NodeId> = nodes.into_iter().map(|v| NodeId(v as u32)).collect();
    requests.sort_unstable();
    nodes.sort_unstable();
    Ok(Some(Conflict { requests, nodes }))
}

/// What of `some` conflicts together with `kept`: nothing can be left out. `kept` and `some` together conflict; `test` says
/// whether a set does not. `grown`: `kept` has grown since it was last tested.
fn smallest(
    kept: &[usize],
    grown: bool,
    some: &[usize],
    test: &mut dyn FnMut(&[usize]) -> Result<bool, SolveError>,
) -> Result<Vec<usize>, SolveError> {
    if grown && !test(kept)? {
        return Ok(Vec::new());
    }
    if some.len() <= 1 {
        return Ok(some.to_vec());
    }
    let (left, right) = some.split_at(some.len() / 2);
    let of_right = smallest(&[kept, left].concat(), true, right, test)?;
    let of_left = smallest(&[kept, &of_right].concat(), !of_right.is_empty(), left, test)?;
    Ok([of_left, of_right].concat())
}

/// Moves of annealing of a test, and requests above which it is tried before HiGHS.
const MOVES: u64 = 50_000;
const SMALL: usize = 8;

/// Whether all these requests can be placed in time, if only these nodes have a limited room.
fn can(
    problem: &BatchProblem<'_>,
    requests: &[usize],
    nodes: &[usize],
    limits: &Limits<'_>,
) -> Result<bool, SolveError> {
    let requests: Vec<Request> = requests.iter().map(|&k| problem.requests[k]).collect();
    let platform = with_room(problem, &requests, nodes);
    let batch = Batch::new(&BatchProblem { platform: &platform, requests: &requests, ..*problem });
    if (0..batch.groups.len()).any(|g| batch.row(g).iter().all(|cost| cost.is_infinite())) {
        return Ok(false);
    }
    if requests.len() > SMALL {
        let found = start::search(&batch, 0, MOVES, limits);
        if !found.iter().flatten().any(|&slot| slot == batch.deferral()) {
            return Ok(true);
        }
    }
    match placeable(&batch, limits).map_err(backend)? {
        ModelStatus::Optimal => Ok(true),
        ModelStatus::Infeasible | ModelStatus::UnboundedOrInfeasible => Ok(false),
        ModelStatus::TimeLimit | ModelStatus::Interrupt => Err(SolveError::NothingFound),
        status => Err(SolveError::Backend(format!("HiGHS: {status:?}"))),
    }
}

/// The platform, but all nodes that are not named have room for all requests.
fn with_room(problem: &BatchProblem<'_>, requests: &[Request], nodes: &[usize]) -> Platform {
    let mut platform = problem.platform.clone();
    let needs = || requests.iter().map(|request| problem.platform.function(request.function));
    let cores = needs().fold(0_u32, |sum, need| sum.saturating_add(need.cores.milli));
    let memory = needs().fold(0_u32, |sum, need| sum.saturating_add(need.memory.mb));
    let mut limited = vec![false; platform.topology.nodes.len()];
    nodes.iter().for_each(|&v| limited[v] = true);
    for (v, node) in platform.topology.nodes.iter_mut().enumerate().filter(|(v, _)| !limited[*v]) {
        let id = NodeId(v as u32);
        node.cores = Cores { milli: problem.state.used_cores(id).milli.saturating_add(cores) };
        node.memory = Memory { mb: problem.state.used_memory(id).mb.saturating_add(memory) };
    }
    platform
}

/// Solves the program without deferral and without costs: is there anything?
fn placeable(batch: &Batch, limits: &Limits<'_>) -> Result<ModelStatus, MilpError> {
    let layout = Layout::of(batch);
    let mut columns = Columns::default();
    for g in 0..batch.groups.len() {
        for (slot, cost) in batch.row(g).iter().enumerate() {
            if cost.is_finite() {
                layout.push(batch, g, slot, &mut columns);
            }
        }
    }
    columns.for_free();
    let mut mip = limits.instance()?;
    mip.pass(&layout.rows, &columns, true)?;
    mip.run()?;
    Ok(mip.status())
}

#[cfg(test)]
mod tests {
    use scale_model::{Instance, Milliseconds};

    use super::*;
    use crate::oracle::{brute_force, tiny};

    /// Whether some requests can be placed in time if only some nodes have a limited room, by trying all placements.
    fn can_by_trying(instance: &Instance, requests: &[RequestId], nodes: &[NodeId]) -> bool {
        let problem = instance.problem();
        let some: Vec<Request> =
            instance.requests.iter().filter(|request| requests.contains(&request.id)).copied().collect();
        let mut platform = instance.platform.clone();
        for (v, node) in platform.topology.nodes.iter_mut().enumerate() {
            if !nodes.contains(&NodeId(v as u32)) {
                node.cores = Cores { milli: 1_000_000 };
                node.memory = Memory { mb: 1_000_000 };
            }
        }
        brute_force(&BatchProblem { platform: &platform, requests: &some, ..problem }).is_some()
    }

    fn without<T: PartialEq + Copy>(list: &[T], member: T) -> Vec<T> {
        list.iter().copied().filter(|other| *other != member).collect()
    }

    #[test]
    fn a_conflict_is_one_and_nothing_can_be_left_out() {
        let [mut none, mut single, mut several, mut of_nodes] = [0, 0, 0, 0];
        for seed in 0..600 {
            let mut instance = tiny(seed, Objective::HARD);
            // In every other batch nobody is late anywhere, so that only room is short.
            if seed % 2 == 0 {
                instance.requests.iter_mut().for_each(|request| request.slo = Milliseconds(1e6));
            }
            let problem = instance.problem();
            let found = conflict(&problem, &Budget::default()).expect("HiGHS runs");
            assert_eq!(found.is_none(), brute_force(&problem).is_some(), "seed {seed}");
            let Some(Conflict { requests, nodes }) = found else {
                none += 1;
                continue;
            };
            assert!(!can_by_trying(&instance, &requests, &nodes), "seed {seed}: {requests:?} {nodes:?}");
            for &id in &requests {
                assert!(can_by_trying(&instance, &without(&requests, id), &nodes), "seed {seed}: {id:?}");
            }
            for &v in &nodes {
                assert!(can_by_trying(&instance, &requests, &without(&nodes, v)), "seed {seed}: {v}");
            }
            single += usize::from(requests.len() == 1);
            several += usize::from(requests.len() > 1);
            of_nodes += usize::from(nodes.len() > 1);
        }
        assert!(
            none >= 50 && single >= 50 && several >= 50 && of_nodes >= 50,
            "{none} {single} {several} {of_nodes}"
        );
    }

    #[test]
    fn smallest_sets_are_found_in_any_place() {
        // Sets that conflict if they hold all of a list.
        for list in [vec![0], vec![9], vec![0, 9], vec![3, 4, 5], vec![1, 5, 8], (0..10).collect()] {
            let all: Vec<usize> = (0..10).collect();
            let mut test = |some: &[usize]| Ok(!list.iter().all(|member| some.contains(member)));
            let mut found = smallest(&[], false, &all, &mut test).expect("no error");
            found.sort_unstable();
            assert_eq!(found, list);
        }
    }

    #[test]
    fn a_budget_that_is_spent_is_no_proof() {
        let mut instance = tiny(0, Objective::HARD);
        instance.requests.iter_mut().for_each(|request| request.slo = Milliseconds(1e6));
        let cancelled = Budget { cancel: Some(std::sync::Arc::new(true.into())), ..Budget::default() };
        assert_eq!(conflict(&instance.problem(), &cancelled), Err(SolveError::NothingFound));
    }
}
