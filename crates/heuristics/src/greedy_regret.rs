//! `greedy-regret`: of a whole batch, always the request that loses most if it does not get its best option now.
//! Source: project; the regret rule of Potvin and Rousseau (1993) for vehicle routing, on the objective J of the
//! model.
//!
//! The options of a request are the nodes that satisfy constraints (6) and (7), each with a new container and, where
//! there is one, with an idle container, and, under [`Slo::Elastic`], deferral. An option costs what it adds to J.
//! The regret of a request is the cost of its second best option less that of its best, under the capacity and the
//! idle containers that are left. The request with the highest regret takes its best option; ties go to the earlier
//! request and the lower node. So a *warm-only* request, one whose cold start would be late, takes the idle container
//! before another that would only be slower. (Counting only options on other nodes was tried: on random batches of 60
//! to 200 requests it costs 0.0 to 0.1 % less, but it misses warm-only requests when a single node is left.)
//!
//! What an option costs never changes while a batch is placed; options only vanish, when the node is full or its idle
//! containers are gone. A request therefore keeps its few best options, strikes out what has vanished when the node
//! just taken is that of one of the first two, and looks at all nodes again only when it has run out of them.
//!
//! Under [`Slo::Hard`] an option that is late is none, and neither is deferral. A request without an option before
//! anything is placed proves the batch infeasible; one that loses its last option on the way proves nothing
//! ([`SolveError::NothingFound`]). The budget is not looked at: the rule ends by itself.
//!
//! [`Slo::Elastic`]: scale_model::Slo::Elastic
//! [`Slo::Hard`]: scale_model::Slo::Hard

use crate::scan::Scan;
use scale_model::{
    BatchProblem, Budget, ClusterState, Container, Decision, NodeId, Placement, Solution, SolveError, Solver,
};

/// Always the request that loses most if it does not get its best option now.
#[derive(Clone, Copy, Debug, Default)]
pub struct GreedyRegret;

impl Solver for GreedyRegret {
    fn solve(&mut self, problem: &BatchProblem<'_>, _budget: &Budget) -> Result<Solution, SolveError> {
        let mut state = problem.state.clone();
        let mut open: Vec<Open> =
            (0..problem.requests.len()).map(|k| Open::new(problem, &state, k)).collect();
        if open.iter().any(|request| request.options.is_empty()) {
            return Err(SolveError::Infeasible { hopeless: problem.hopeless() });
        }
        let mut decisions = vec![Decision::Defer; problem.requests.len()];
        open.retain(Open::runs);
        while let Some(place) = most_to_lose(&open) {
            let taken = &mut open[place];
            let index = taken.index;
            if let Some(&Choice { decision: Decision::Run { node, container }, .. }) = taken.options.first() {
                decisions[index] = Decision::Run { node, container };
                state.start(problem.platform, problem.requests[index].function, node, container);
                taken.options.clear();
                for request in open.iter_mut().filter(|request| request.looks_at(node)) {
                    request.refresh(problem, &state);
                    if request.options.is_empty() {
                        return Err(SolveError::NothingFound);
                    }
                }
            }
            open.retain(Open::runs);
        }
        Solution::feasible(problem, Placement { decisions })
    }
}

/// How many options a request keeps: two would do, more save looking at all nodes again when many want the same.
const KEPT: usize = 8;

/// A request that is not decided yet, with its best options.
#[derive(Clone, Debug)]
struct Open {
    index: usize,
    /// Cheapest first, of equal ones the one found first; the first two are never out of date.
    options: Vec<Choice>,
    /// Whether there were more options than are kept.
    more: bool,
}

/// An option and what it adds to J.
#[derive(Clone, Copy, Debug)]
struct Choice {
    cost: f64,
    decision: Decision,
}

impl Open {
    fn new(problem: &BatchProblem<'_>, state: &ClusterState, index: usize) -> Open {
        let scan = Scan::of(problem, state, index);
        let (objective, slo) = (problem.objective, scan.request.slo);
        let cost = |node, container| objective.cost_of(scan.latency(node, container).total(), slo);
        let mut open = Open { index, options: Vec::with_capacity(KEPT), more: false };
        for node in scan.fitting() {
            if scan.warm(node) {
                let container = Container::Reuse;
                open.offer(cost(node, container), Decision::Run { node, container });
            }
            let container = Container::New;
            open.offer(cost(node, container), Decision::Run { node, container });
        }
        open.offer(objective.cost_of_deferral(scan.wait, slo), Decision::Defer);
        open
    }

    /// Keeps an option if it is one of the best so far. An infinite cost is none.
    #[inline]
    fn offer(&mut self, cost: f64, decision: Decision) {
        if cost == f64::INFINITY {
            return;
        }
        if self.options.len() == KEPT {
            self.more = true;
            if cost >= self.options[KEPT - 1].cost {
                return;
            }
            self.options.pop();
        }
        let place = self.options.iter().rposition(|option| option.cost <= cost).map_or(0, |last| last + 1);
        self.options.insert(place, Choice { cost, decision });
    }

    /// Strikes out the options that have vanished; at the end of the list, makes a new one.
    fn refresh(&mut self, problem: &BatchProblem<'_>, state: &ClusterState) {
        let function = problem.requests[self.index].function;
        self.options.retain(|option| match option.decision {
            Decision::Run { node, container } => state.allows(problem.platform, function, node, container),
            Decision::Defer => true,
        });
        if self.options.len() < 2 && self.more {
            *self = Open::new(problem, state, self.index);
        }
    }

    /// Whether its best option is a node. Once it is deferral it stays so: options only vanish. (Of thousands that wait in an
    /// overload nearly all are dropped here.)
    fn runs(&self) -> bool {
        self.options.first().is_some_and(|best| best.decision != Decision::Defer)
    }

    fn regret(&self) -> f64 {
        let cost = |rank: usize| self.options.get(rank).map_or(f64::INFINITY, |option| option.cost);
        cost(1) - cost(0)
    }

    fn looks_at(&self, taken: NodeId) -> bool {
        let on = |option: &Choice| matches!(option.decision, Decision::Run { node, .. } if node == taken);
        self.options.iter().take(2).any(on)
    }
}

/// Place of the request with the highest regret, the earliest of equal ones.
fn most_to_lose(open: &[Open]) -> Option<usize> {
    let mut most: Option<(f64, usize)> = None;
    for (place, request) in open.iter().enumerate() {
        let regret = request.regret();
        if most.is_none_or(|(highest, _)| regret > highest) {
            most = Some((regret, place));
        }
    }
    most.map(|(_, place)| place)
}
