//! Where the preset `hybrid` starts: two rules of thumb on its tables. They place one request after the other, each
//! where it adds least to J at that moment, and leave capacities alone, so what they give is feasible.

use crate::assignment::Assignment;
use crate::ranks::Ranks;

/// A column and what a request adds to it.
#[derive(Clone, Copy, Debug)]
struct Choice {
    price: i64,
    column: u32,
}

/// The cheapest and the second cheapest column that has room.
fn options(ranks: &Ranks, assignment: &Assignment, k: usize) -> [Choice; 2] {
    let none = Choice { price: i64::MAX, column: ranks.defer() };
    let [mut best, mut second] = [none; 2];
    for &column in ranks.row(k) {
        // The warm cost is the least that a request can add.
        if ranks.cost(k, column).warm() >= second.price || !assignment.fits(ranks, k, column) {
            continue;
        }
        let price = assignment.price(ranks, k, column);
        if price < best.price {
            second = best;
            best = Choice { price, column };
        } else if price < second.price {
            second = Choice { price, column };
        }
    }
    [best, second]
}

/// In the batch's order.
pub(crate) fn greedy(ranks: &Ranks) -> Assignment {
    let mut assignment = Assignment::deferred(ranks);
    for k in 0..ranks.requests.len() {
        let [best, _] = options(ranks, &assignment, k);
        assignment.shift(ranks, k, best.column);
    }
    assignment
}

/// Always the request that loses most if it does not get its best option now (Potvin and Rousseau 1993).
pub(crate) fn regret(ranks: &Ranks) -> Assignment {
    let mut assignment = Assignment::deferred(ranks);
    let mut open: Vec<(usize, [Choice; 2])> =
        (0..ranks.requests.len()).map(|k| (k, options(ranks, &assignment, k))).collect();
    let loss = |(_, [best, second]): &(usize, [Choice; 2])| second.price.saturating_sub(best.price);
    while let Some(most) = (0..open.len()).reduce(|a, b| if loss(&open[b]) > loss(&open[a]) { b } else { a })
    {
        let (k, [Choice { column: taken, .. }, _]) = open.swap_remove(most);
        assignment.shift(ranks, k, taken);
        // Prices and room changed on this column only, and for the worse.
        for (k, choices) in &mut open {
            if choices.iter().any(|choice| choice.column == taken) {
                *choices = options(ranks, &assignment, *k);
            }
        }
    }
    assignment
}
