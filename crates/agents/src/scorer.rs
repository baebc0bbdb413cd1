//! The network of the preset `scale`: one small scorer shared by all options, added to what greedy compares.
//!
//! score(option) = c + w . x + sum over the hidden units of u relu(W x + b), with c = (T_cold + T_comm) / 100 ms and x the
//! [`features`](crate::features). The option with the least score is taken. Without weights this is greedy-latency among
//! the candidates, so training starts at the quality of greedy. The scorer does not know an option's place in the list
//! (it is equivariant under permutations) nor how many nodes there are, so one set of weights serves any network.
//!
//! For trainings by gradient the same scores are a random policy: pi(option) is the softmax of -score / temperature.

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

    /// ln pi of every option at a temperature in units of 100 ms; minus infinity where there is none.
    ///
    /// ```
    /// use scale_agents::{features::Options, scorer::Scorer};
    /// let mut options = Options::none();
    /// options.len = 2;
    /// options.costs[..2].copy_from_slice(&[0.5, 0.5 + 3.0_f32.ln()]);
    /// // The second costs ln 3 more: at temperature 1 it is taken one time in four.
    /// let log_probs = Scorer::greedy(0).log_probs(&options, 1.0);
    /// assert!((log_probs[0].exp() - 0.75).abs() < 1e-6 && (log_probs[1].exp() - 0.25).abs() < 1e-6);
    /// assert_eq!(log_probs[2], f32::NEG_INFINITY);
    /// ```
    pub fn log_probs(&self, options: &Options, temperature: f32) -> [f32; OPTIONS] {
        let scores = self.scores(options);
        let least = scores[..options.len].iter().copied().fold(f32::INFINITY, f32::min);
        let mut log_probs = [f32::NEG_INFINITY; OPTIONS];
        for (log_prob, score) in log_probs.iter_mut().zip(&scores[..options.len]) {
            *log_prob = (least - score) / temperature;
        }
        let sum = log_probs.iter().map(|x| x.exp()).sum::<f32>().ln();
        log_probs.iter_mut().for_each(|x| *x -= sum);
        log_probs
    }

    /// Adds to `gradient` the derivative by the weights of `slope` times ln pi(`choice`), where `log_probs` are
    /// [`log_probs`](Self::log_probs) at this temperature.
    pub fn add_gradient(
        &self,
        options: &Options,
        log_probs: &[f32; OPTIONS],
        choice: usize,
        temperature: f32,
        slope: f32,
        gradient: &mut [f32],
    ) {
        // By the score of each option: (pi - 1 for the choice) / temperature.
        let mut back = log_probs.map(|x| x.exp() * slope / temperature);
        back[choice] -= slope / temperature;
        let (linear, hidden) = gradient.split_at_mut(FEATURES);
        add_back(linear, &back, &options.rows);
        let units = self.weights[FEATURES..].chunks_exact(FEATURES + 2);
        for (unit, gradient) in units.zip(hidden.chunks_exact_mut(FEATURES + 2)) {
            let mut sums = [unit[FEATURES]; OPTIONS];
            add(&mut sums, &unit[..FEATURES], &options.rows);
            let mut through = [0.0; OPTIONS];
            for option in 0..options.len {
                gradient[FEATURES + 1] += back[option] * sums[option].max(0.0);
                through[option] = if sums[option] > 0.0 { back[option] * unit[FEATURES + 1] } else { 0.0 };
            }
            gradient[FEATURES] += through.iter().sum::<f32>();
            add_back(&mut gradient[..FEATURES], &through, &options.rows);
        }
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

/// gradient += rows . back.
#[inline]
fn add_back(gradient: &mut [f32], back: &[f32; OPTIONS], rows: &[[f32; OPTIONS]; FEATURES]) {
    for (sum, row) in gradient.iter_mut().zip(rows) {
        *sum += back.iter().zip(row).map(|(back, x)| back * x).sum::<f32>();
    }
}
