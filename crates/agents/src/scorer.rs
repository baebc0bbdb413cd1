//! The network of the preset `scale`: one small scorer shared by all options, added to what greedy compares.
//!
//! score(option) = c + w . x + sum over the hidden units of u relu(W x + b), with c = (T_cold + T_comm) / 100 ms and x the
//! [`features`](crate::features). The option with the least score is taken. Without weights this is greedy-latency among
//! the candidates, so training starts at the quality of greedy. The scorer does not know an option's place in the list
//! (it is equivariant under permutations) nor how many nodes there are, so one set of weights serves any network.

use crate::features::{FEATURES, OPTIONS, Options};

/// A scorer.
#[derive(Clone, Debug, PartialEq)]
pub struct Scorer {
    /// Hidden units; 0: linear.
    pub hidden: usize,
    /// [`Scorer::len_of`] numbers: w, then for each hidden unit its row of W, its b and its u.
    pub weights: Vec<f32>,
}

impl Scorer {
    /// How many weights a scorer has.
    ///
    /// ```
    /// use scale_agents::{features::FEATURES, scorer::Scorer};
    /// assert_eq!(Scorer::len_of(0), FEATURES);
    /// assert_eq!(Scorer::len_of(16), FEATURES + 16 * (FEATURES + 2));
    /// ```
    pub fn len_of(hidden: usize) -> usize {
        FEATURES + hidden * (FEATURES + 2)
    }

    /// Greedy: all weights zero.
    pub fn greedy(hidden: usize) -> Scorer {
        Scorer { hidden, weights: vec![0.0; Scorer::len_of(hidden)] }
    }

    /// The score of every option; infinite where there is none.
    #[inline]
    pub fn scores(&self, options: &Options) -> [f32; OPTIONS] {
        let (linear, hidden) = self.weights.split_at(FEATURES);
        let mut scores = options.costs;
        add(&mut scores, linear, &options.rows);
        for unit in hidden.chunks_exact(FEATURES + 2) {
            let mut sums = [unit[FEATURES]; OPTIONS];
            add(&mut sums, &unit[..FEATURES], &options.rows);
            for (score, sum) in scores.iter_mut().zip(sums) {
                *score += unit[FEATURES + 1] * sum.max(0.0);
            }
        }
        scores
    }

    /// The option with the least score, of equal ones the first; `None` if there is no option.
    #[inline]
    pub fn best(&self, options: &Options) -> Option<usize> {
        let scores = self.scores(options);
        (0..options.len).min_by(|&a, &b| scores[a].total_cmp(&scores[b]))
    }
}

/// sums += weights . rows.
#[inline]
fn add(sums: &mut [f32; OPTIONS], weights: &[f32], rows: &[[f32; OPTIONS]; FEATURES]) {
    for (&weight, row) in weights.iter().zip(rows) {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += weight * x;
        }
    }
}
