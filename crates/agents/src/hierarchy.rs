//! The paper's correlated action as one distribution: first the node, then new container or reuse, each masked.
//!
//! A network gives 2 N numbers: s_v, the score of node v, and u_v, the logit of reuse against new on it. With
//! pi1 = softmax of s over the nodes that take the request, and pi2(. | v) = the two sides of sigma(u_v), or a certainty
//! where only one of them is valid,
//!
//! - log pi(v, z) = log pi1(v) + log pi2(z | v),
//! - H = H(pi1) + sum over v of pi1(v) H(pi2(. | v)), exactly.
//!
//! It equals one masked softmax over all 2 N pairs whose logits are s_v + log pi2(z | v); independent masks for a1 and
//! a2, the usual way, cannot express it. [`Row`] is for acting and for the hand-written gradients; `autograd` has the same in
//! candle.

use crate::math::{exp, ln};
use crate::observe::{Action, Open};
use scale_model::{Container, NodeId};

/// The distribution for one state.
#[derive(Debug)]
pub struct Row<'a> {
    scores: &'a [f32],
    reuse: &'a [f32],
    mask: Open<'a>,
    /// pi1(v) times `total`: e^(s_v - largest), 0 where masked.
    weights: &'a [f32],
    total: f32,
    largest: f32,
}

impl<'a> Row<'a> {
    /// From the 2 N logits (s, then u) and the mask. `None`: nothing is valid, the request is deferred.
    ///
    /// # Panics
    /// If `logits` has not twice, and `scratch` not exactly, as many numbers as there are nodes.
    pub fn new(logits: &'a [f32], mask: Open<'a>, scratch: &'a mut [f32]) -> Option<Row<'a>> {
        let nodes = mask.new.len();
        assert_eq!((logits.len(), scratch.len(), mask.reuse.len()), (2 * nodes, nodes, nodes), "shapes");
        let (scores, reuse) = logits.split_at(nodes);
        let mut any = false;
        // The largest over valid nodes only: a large score of a masked node must not push the others to 0.
        let mut largest = f32::NEG_INFINITY;
        for ((&score, &a), &b) in scores.iter().zip(mask.new).zip(mask.reuse) {
            let open = a | b;
            any |= open;
            let score = if open { score } else { f32::NEG_INFINITY };
            largest = if score > largest { score } else { largest };
        }
        if !any {
            return None;
        }
        for (((weight, &score), &a), &b) in scratch.iter_mut().zip(scores).zip(mask.new).zip(mask.reuse) {
            let e = exp(score - largest);
            *weight = if a | b { e } else { 0.0 };
        }
        let total = sum(scratch);
        Some(Row { scores, reuse, mask, weights: scratch, total, largest })
    }

    /// Draws an action with two numbers from [0, 1): one for the node, one for the container. Never an invalid one:
    /// where rounding runs past the end, the last valid node is taken.
    pub fn sample(&self, for_node: f64, for_container: f64) -> Action {
        let mut rest = for_node as f32 * self.total;
        let mut chosen = None;
        for (node, &weight) in self.weights.iter().enumerate() {
            if !self.mask.node(node) {
                continue;
            }
            chosen = Some(node);
            rest -= weight;
            if rest < 0.0 {
                break;
            }
        }
        let node = chosen.expect("some node is valid, or there would be no row");
        let reuse = match (self.mask.new[node], self.mask.reuse[node]) {
            (true, true) => for_container < f64::from(sigmoid(self.reuse[node])),
            (_, reuse) => reuse,
        };
        action(node, reuse)
    }

    /// The most probable node, the first of equals, and then its most probable container (a reuse if equal).
    pub fn argmax(&self) -> Action {
        let mut best = None;
        for (node, &score) in self.scores.iter().enumerate() {
            if self.mask.node(node) && best.is_none_or(|(_, top)| score > top) {
                best = Some((node, score));
            }
        }
        let (node, _) = best.expect("some node is valid, or there would be no row");
        let reuse = match (self.mask.new[node], self.mask.reuse[node]) {
            (true, true) => self.reuse[node] >= 0.0,
            (_, reuse) => reuse,
        };
        action(node, reuse)
    }

    /// pi1(v).
    pub fn node_probability(&self, node: usize) -> f32 {
        self.weights[node] / self.total
    }

    /// log pi(v, z) of a valid action.
    pub fn log_prob(&self, chosen: Action) -> f32 {
        debug_assert!(self.mask.allows(chosen), "{chosen:?} is masked");
        let node = chosen.node.index();
        let first = self.scores[node] - self.largest - ln(self.total);
        let both = self.mask.new[node] && self.mask.reuse[node];
        let side = if chosen.container == Container::Reuse { self.reuse[node] } else { -self.reuse[node] };
        if both { first - softplus(-side) } else { first }
    }

    /// H, in nats.
    pub fn entropy(&self) -> f32 {
        let log_total = ln(self.total);
        let term = |node: usize| {
            let weight = self.weights[node];
            // A masked score may be anything, also what is not a number.
            let score = if weight > 0.0 { self.scores[node] - self.largest } else { 0.0 };
            let second = second_entropy(self.reuse[node]);
            let second = if self.mask.new[node] & self.mask.reuse[node] { second } else { 0.0 };
            weight * (log_total - score + second)
        };
        // Eight at a time, from arrays of eight: the compiler makes vector code of that, and not of the plain sum.
        let mut lanes = [0.0; LANES];
        let whole = self.weights.len() / LANES * LANES;
        for start in (0..whole).step_by(LANES) {
            let weights = eight(self.weights, start);
            let (scores, reuse) = (eight(self.scores, start), eight(self.reuse, start));
            let (new, old) = (eight(self.mask.new, start), eight(self.mask.reuse, start));
            for lane in 0..LANES {
                let score = if weights[lane] > 0.0 { scores[lane] - self.largest } else { 0.0 };
                let second = second_entropy(reuse[lane]);
                let second = if new[lane] & old[lane] { second } else { 0.0 };
                lanes[lane] += weights[lane] * (log_total - score + second);
            }
        }
        let rest: f32 = (whole..self.weights.len()).map(term).sum();
        (lanes.iter().sum::<f32>() + rest) / self.total
    }

    /// Writes d(a log pi(chosen) + b H) / d(logits) to `out`: s first, then u. Exactly 0 where masked.
    ///
    /// # Panics
    /// If `out` has not 2 N numbers.
    pub fn gradient(&self, chosen: Action, a: f32, b: f32, out: &mut [f32]) {
        let nodes = self.weights.len();
        assert_eq!(out.len(), 2 * nodes, "the gradient of {nodes} nodes");
        let (scores, reuse) = out.split_at_mut(nodes);
        let per_weight = -a / self.total;
        for (out, weight) in scores.iter_mut().zip(self.weights) {
            *out = per_weight * weight;
        }
        reuse.fill(0.0);
        let node = chosen.node.index();
        scores[node] += a;
        if self.mask.new[node] && self.mask.reuse[node] {
            let z = if chosen.container == Container::Reuse { 1.0 } else { 0.0 };
            reuse[node] = a * (z - sigmoid(self.reuse[node]));
        }
        if b == 0.0 {
            return;
        }
        // dH/ds_v = pi1(v) (H2(v) - log pi1(v) - H), dH/du_v = -pi1(v) u sigma(u) (1 - sigma(u)).
        let entropy = self.entropy();
        let log_total = ln(self.total);
        for v in 0..nodes {
            let weight = self.weights[v];
            let pi = weight / self.total;
            let score = if weight > 0.0 { self.scores[v] - self.largest } else { 0.0 };
            let both = self.mask.new[v] & self.mask.reuse[v];
            let u = if both { self.reuse[v] } else { 0.0 };
            let second = if both { second_entropy(u) } else { 0.0 };
            scores[v] += b * pi * (second - score + log_total - entropy);
            reuse[v] -= b * pi * spread(u);
        }
    }
}

const LANES: usize = 8;

#[inline(always)]
fn eight<T: Copy>(all: &[T], start: usize) -> [T; LANES] {
    std::array::from_fn(|lane| all[start + lane])
}

/// A sum in eight strands, which the compiler keeps in vector registers; the order is fixed.
#[inline]
pub(crate) fn sum(numbers: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let chunks = numbers.chunks_exact(LANES);
    let rest: f32 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for (lane, number) in lanes.iter_mut().zip(chunk) {
            *lane += number;
        }
    }
    lanes.iter().sum::<f32>() + rest
}

#[inline]
fn action(node: usize, reuse: bool) -> Action {
    let container = if reuse { Container::Reuse } else { Container::New };
    Action { node: NodeId(node as u32), container }
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// log(1 + e^x), without overflow.
#[inline(always)]
fn softplus(x: f32) -> f32 {
    let positive = if x > 0.0 { x } else { 0.0 };
    positive + ln(1.0 + exp(-x.abs()))
}

/// Entropy of a coin whose logit is u: log(1 + e^-|u|) + |u| sigma(-|u|). Beyond 80 it is 0, and a product with an
/// infinite u would not be a number.
#[inline(always)]
fn second_entropy(u: f32) -> f32 {
    let size = u.abs();
    let size = if size < 80.0 { size } else { 80.0 };
    let e = exp(-size);
    ln(1.0 + e) + size * e / (1.0 + e)
}

/// u sigma(u) (1 - sigma(u)), which also goes to 0 for large |u|.
#[inline(always)]
fn spread(u: f32) -> f32 {
    let size = u.abs();
    let size = if size < 80.0 { size } else { 80.0 };
    let e = exp(-size);
    let value = size * e / ((1.0 + e) * (1.0 + e));
    if u < 0.0 { -value } else { value }
}
