//! Where the preset `hybrid` starts: the rules `greedy-latency` and `greedy-regret`, decision by decision, so that it can
//! never be worse than either. They are written out again because no crate of this floor imports another; a test that
//! crosses crates holds them against the originals.

use crate::ranks::{Need, Ranks};
use scale_model::{BatchProblem, Container, Decision, Milliseconds, NodeId};

/// What is left while a batch is placed, one request after the other.
struct Books<'a> {
    problem: &'a BatchProblem<'a>,
    ranks: &'a Ranks,
    free: Vec<(i64, i64)>,
    idle: Vec<u32>,
}

impl<'a> Books<'a> {
    fn new(problem: &'a BatchProblem<'a>, ranks: &'a Ranks) -> Books<'a> {
        let idle = ranks.groups.iter().map(|&(_, idle)| idle).collect();
        Books { problem, ranks, free: ranks.free.clone(), idle }
    }

    /// The nodes that have room for a request, with what it takes there on (an idle container, a new one) and whether
    /// there is an idle one.
    fn nodes(&self, k: usize) -> impl Iterator<Item = (NodeId, [f64; 2], bool)> + '_ {
        let Need { cores, memory, row } = self.ranks.requests[k];
        let nodes = self.ranks.columns - 1;
        let (totals, idle) = (&self.ranks.totals[k * nodes..][..nodes], &self.idle[row..][..nodes]);
        let all = self.free.iter().zip(totals).zip(idle).zip(0..);
        all.filter(move |(((free, _), _), _)| cores <= free.0 && memory <= free.1)
            .map(|(((_, &totals), &idle), v)| (NodeId(v), totals, idle > 0))
    }

    fn place(&mut self, k: usize, decision: Decision) {
        if let Decision::Run { node, container } = decision {
            let Need { cores, memory, row } = self.ranks.requests[k];
            let free = &mut self.free[node.index()];
            *free = (free.0 - cores, free.1 - memory);
            self.idle[row + node.index()] -= u32::from(container == Container::Reuse);
        }
    }

    /// The options of a request that add least and second least to J, of equal ones the first; infinite if there is
    /// none. Under a hard SLO what is late is no option, nor is deferral.
    fn options(&self, k: usize) -> [Choice; 2] {
        let (request, objective) = (&self.problem.requests[k], self.problem.objective);
        let price = |latency: f64| objective.cost_of(Milliseconds(latency), request.slo);
        let none = Choice { price: f64::INFINITY, decision: Decision::Defer };
        let [mut best, mut second] = [none; 2];
        let mut offer = |price: f64, decision| {
            if price < best.price {
                (best, second) = (Choice { price, decision }, best);
            } else if price < second.price {
                second = Choice { price, decision };
            }
        };
        for (node, [warm, cold], idle) in self.nodes(k) {
            if idle {
                offer(price(warm), Decision::Run { node, container: Container::Reuse });
            }
            offer(price(cold), Decision::Run { node, container: Container::New });
        }
        let waited = self.problem.now() - request.arrival;
        offer(objective.cost_of_deferral(waited, request.slo), Decision::Defer);
        [best, second]
    }
}

/// An option and what it adds to J, ms.
#[derive(Clone, Copy, Debug)]
struct Choice {
    price: f64,
    decision: Decision,
}

impl Choice {
    fn is_on(&self, wanted: NodeId) -> bool {
        matches!(self.decision, Decision::Run { node, .. } if node == wanted)
    }
}

/// `greedy-latency`: in the batch's order, each request where it ends first; deferred only if no node has room.
pub(crate) fn greedy(problem: &BatchProblem<'_>, ranks: &Ranks) -> Vec<Decision> {
    let mut books = Books::new(problem, ranks);
    (0..ranks.requests.len())
        .map(|k| {
            let mut best = (f64::INFINITY, Decision::Defer);
            for (node, [warm, cold], idle) in books.nodes(k) {
                let (total, container) = if idle { (warm, Container::Reuse) } else { (cold, Container::New) };
                if total < best.0 {
                    best = (total, Decision::Run { node, container });
                }
            }
            books.place(k, best.1);
            best.1
        })
        .collect()
}

/// `greedy-regret`: always the request that loses most if it does not get its best option now (Potvin and Rousseau
/// 1993). A request without an option is deferred, and the rest goes on.
pub(crate) fn regret(problem: &BatchProblem<'_>, ranks: &Ranks) -> Vec<Decision> {
    let mut books = Books::new(problem, ranks);
    let mut decisions = vec![Decision::Defer; ranks.requests.len()];
    let mut open: Vec<(usize, [Choice; 2])> = (0..decisions.len()).map(|k| (k, books.options(k))).collect();
    let loss = |(_, [best, second]): &(usize, [Choice; 2])| {
        if best.price.is_finite() { second.price - best.price } else { 0.0 }
    };
    // The earliest of equal ones: `remove` keeps the order.
    while let Some(most) = (0..open.len()).reduce(|a, b| if loss(&open[b]) > loss(&open[a]) { b } else { a })
    {
        let (k, [Choice { decision, .. }, _]) = open.remove(most);
        decisions[k] = decision;
        books.place(k, decision);
        // What an option costs never changes; options only vanish, and only on this node.
        if let Decision::Run { node, .. } = decision {
            for (k, choices) in &mut open {
                if choices.iter().any(|choice| choice.is_on(node)) {
                    *choices = books.options(*k);
                }
            }
        }
    }
    decisions
}
