//! Adam (Kingma and Ba, 2015) on one flat buffer, as PyTorch computes it, with moments that can be saved. Candle's AdamW
//! hides its moments, so a training that uses it cannot be resumed.

use serde::{Deserialize, Serialize};

/// The optimiser's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    /// Decaying mean of the gradients.
    pub first: Vec<f32>,
    /// Decaying mean of their squares.
    pub second: Vec<f32>,
    /// Steps taken.
    pub steps: u64,
}

/// What one step depends on besides gradient and state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Step size.
    pub learning_rate: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
}

impl Adam {
    /// No step taken yet.
    pub fn new(parameters: usize) -> Adam {
        Adam { first: vec![0.0; parameters], second: vec![0.0; parameters], steps: 0 }
    }

    /// One step against the gradient:
    /// p -= rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon).
    ///
    /// # Panics
    /// If the lengths differ.
    ///
    /// ```
    /// use scale_agents::adam::{Adam, Rates};
    /// let rates = Rates { learning_rate: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
    /// let (mut adam, mut parameters) = (Adam::new(2), [1.0, 1.0]);
    /// // The first step is the learning rate against the sign of the gradient, however large it is.
    /// adam.step(&rates, &mut parameters, &[4.0, -0.01]);
    /// assert!((parameters[0] - 0.9).abs() < 1e-6 && (parameters[1] - 1.1).abs() < 1e-6);
    /// ```
    pub fn step(&mut self, rates: &Rates, parameters: &mut [f32], gradient: &[f32]) {
        let length = self.first.len();
        assert_eq!((parameters.len(), gradient.len()), (length, length), "one gradient for each parameter");
        self.steps += 1;
        let t = self.steps as f64;
        let size = (rates.learning_rate / (1.0 - rates.beta1.powf(t))) as f32;
        let root = (1.0 / (1.0 - rates.beta2.powf(t)).sqrt()) as f32;
        let (keep1, keep2, epsilon) = (rates.beta1 as f32, rates.beta2 as f32, rates.epsilon as f32);
        // From the doubles: 1 - 0.999 in single precision is off in the fifth place.
        let (take1, take2) = ((1.0 - rates.beta1) as f32, (1.0 - rates.beta2) as f32);
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((parameter, &g), (m, v)) in parameters.iter_mut().zip(gradient).zip(moments) {
            *m = keep1 * *m + take1 * g;
            *v = keep2 * *v + take2 * (g * g);
            *parameter -= size * *m / (v.sqrt() * root + epsilon);
        }
    }
}

/// Scales the gradient so that its Euclidean norm over all parameters is at most `most`, as PyTorch does: by
/// most / (norm + 10^-6) if that is below 1. Returns the norm before.
///
/// ```
/// use scale_agents::adam::clip_norm;
/// let mut gradient = [3.0, 4.0];
/// assert_eq!(clip_norm(&mut gradient, 10.0), 5.0);
/// assert_eq!(gradient, [3.0, 4.0]);
/// clip_norm(&mut gradient, 0.5);
/// assert!((gradient[0] - 0.3).abs() < 1e-6 && (gradient[1] - 0.4).abs() < 1e-6);
/// ```
pub fn clip_norm(gradient: &mut [f32], most: f64) -> f64 {
    let norm = square_sum(gradient).sqrt();
    let scale = most / (norm + 1e-6);
    if scale < 1.0 {
        let scale = scale as f32;
        gradient.iter_mut().for_each(|g| *g *= scale);
    }
    norm
}

/// Sum of squares: in single precision and eight strands within blocks, in double over them. The order is fixed.
fn square_sum(numbers: &[f32]) -> f64 {
    let block = |block: &[f32]| {
        let mut lanes = [0.0_f32; 8];
        let chunks = block.chunks_exact(8);
        let rest: f32 = chunks.remainder().iter().map(|x| x * x).sum();
        for chunk in chunks {
            for (lane, x) in lanes.iter_mut().zip(chunk) {
                *lane += x * x;
            }
        }
        f64::from(lanes.iter().sum::<f32>() + rest)
    };
    numbers.chunks(1024).map(block).sum()
}
