//! The multilayer perceptron of actor, critic and Q network. Its parameters are one flat buffer: the optimiser, the
//! clipping and the checkpoint need no names.
//!
//! Three ways through the same weights: [`Mlp::forward`] for one state, without candle and without allocating;
//! [`Pass`] for a batch, with the gradient written by hand; `Mlp::candle` in candle, which the tests hold against both
//! (outputs and gradients to 1e-5) and which a learner may use where speed does not matter. By hand because autograd
//! allocates for every operation: measured, it takes 2.2 times as long.

use crate::draw::Draw;
use crate::math::{View, multiply, tanh};
use serde::{Deserialize, Serialize};

/// Shape of a multilayer perceptron. The layers' parameters lie one after the other, each as weights (inputs x outputs,
/// row-major) and then biases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mlp {
    /// Numbers that come in.
    pub inputs: usize,
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// Numbers that come out, without a nonlinearity.
    pub outputs: usize,
    /// After each hidden layer.
    pub activation: Activation,
}

/// The nonlinearity between layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// Stable-Baselines3's for actor-critic policies.
    Tanh,
    /// Its for Q networks.
    Relu,
}

/// A tensor within the flat buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Layer and what it is: `0.weight`, `0.bias`, ...
    pub name: String,
    /// (inputs, outputs) or (outputs).
    pub shape: Vec<usize>,
    /// Where it lies.
    pub range: std::ops::Range<usize>,
}

/// One layer of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    /// Where its weights begin.
    pub(crate) at: usize,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) last: bool,
}

impl Layer {
    fn weights<'a>(&self, parameters: &'a [f32]) -> &'a [f32] {
        &parameters[self.at..][..self.inputs * self.outputs]
    }

    fn biases<'a>(&self, parameters: &'a [f32]) -> &'a [f32] {
        &parameters[self.at + self.inputs * self.outputs..][..self.outputs]
    }
}

impl Mlp {
    pub(crate) fn layers(&self) -> impl DoubleEndedIterator<Item = Layer> + ExactSizeIterator {
        let count = self.hidden.len() + 1;
        let width = move |layer: usize| match layer {
            0 => self.inputs,
            layer if layer == count => self.outputs,
            layer => self.hidden[layer - 1],
        };
        (0..count).map(move |layer| Layer {
            at: (0..layer).map(|before| (width(before) + 1) * width(before + 1)).sum(),
            inputs: width(layer),
            outputs: width(layer + 1),
            last: layer + 1 == count,
        })
    }

    /// The tensors of the flat buffer, in order, without gaps.
    pub fn parts(&self) -> Vec<Part> {
        let both = self.layers().enumerate().flat_map(|(index, layer)| {
            let middle = layer.at + layer.inputs * layer.outputs;
            let weights = Part {
                name: format!("{index}.weight"),
                shape: vec![layer.inputs, layer.outputs],
                range: layer.at..middle,
            };
            let biases = Part {
                name: format!("{index}.bias"),
                shape: vec![layer.outputs],
                range: middle..middle + layer.outputs,
            };
            [weights, biases]
        });
        both.collect()
    }

    /// How many parameters it has.
    ///
    /// ```
    /// use scale_agents::net::{Activation, Mlp};
    /// let mlp = Mlp { inputs: 3, hidden: vec![4], outputs: 2, activation: Activation::Tanh };
    /// assert_eq!(mlp.parameters(), (3 + 1) * 4 + (4 + 1) * 2);
    /// ```
    pub fn parameters(&self) -> usize {
        self.layers().map(|layer| (layer.inputs + 1) * layer.outputs).sum()
    }

    /// Orthogonal weights with gain sqrt(2), `last_gain` in the last layer, and biases of 0: what Stable-Baselines3 does.
    /// Drawn from our stream, because candle's on the processor cannot be seeded.
    pub fn orthogonal(&self, last_gain: f64, draw: &mut Draw) -> Vec<f32> {
        let mut parameters = vec![0.0; self.parameters()];
        for layer in self.layers() {
            let gain = if layer.last { last_gain } else { std::f64::consts::SQRT_2 };
            let weights = orthogonal(layer.inputs, layer.outputs, draw);
            for (parameter, weight) in parameters[layer.at..].iter_mut().zip(weights) {
                *parameter = (gain * weight) as f32;
            }
        }
        parameters
    }

    /// Weights and biases uniform in +-1 / sqrt(inputs): PyTorch's default, which Stable-Baselines3 keeps for Q networks.
    pub fn uniform(&self, draw: &mut Draw) -> Vec<f32> {
        let mut parameters = Vec::with_capacity(self.parameters());
        for layer in self.layers() {
            let bound = 1.0 / (layer.inputs as f64).sqrt();
            let count = (layer.inputs + 1) * layer.outputs;
            parameters.extend((0..count).map(|_| ((2.0 * draw.unit() - 1.0) * bound) as f32));
        }
        parameters
    }

    /// Numbers of scratch that [`forward`](Self::forward) needs.
    pub fn scratch(&self) -> usize {
        self.layers().map(|layer| layer.outputs).sum()
    }

    /// The outputs for one input. Nothing is allocated; inputs that are 0 cost nothing.
    ///
    /// # Panics
    /// If a slice has the wrong length.
    pub fn forward<'a>(&self, parameters: &[f32], input: &[f32], scratch: &'a mut [f32]) -> &'a [f32] {
        assert_eq!(parameters.len(), self.parameters(), "the parameters of the network");
        assert_eq!((input.len(), scratch.len()), (self.inputs, self.scratch()), "input and scratch");
        let mut done = 0;
        for layer in self.layers() {
            let (before, rest) = scratch.split_at_mut(done);
            let before = if done == 0 { input } else { &before[done - layer.inputs..] };
            let out = &mut rest[..layer.outputs];
            out.copy_from_slice(layer.biases(parameters));
            for (&x, row) in before.iter().zip(layer.weights(parameters).chunks_exact(layer.outputs)) {
                if x != 0.0 {
                    out.iter_mut().zip(row).for_each(|(out, w)| *out += x * w);
                }
            }
            if !layer.last {
                self.activation.apply(out);
            }
            done += layer.outputs;
        }
        &scratch[done - self.outputs..]
    }
}

impl Activation {
    #[inline]
    fn apply(self, values: &mut [f32]) {
        match self {
            Activation::Tanh => values.iter_mut().for_each(|x| *x = tanh(*x)),
            Activation::Relu => values.iter_mut().for_each(|x| *x = if *x > 0.0 { *x } else { 0.0 }),
        }
    }

    /// Multiplies the gradient by the slope at the values that came out.
    #[inline]
    fn slope(self, out: &[f32], gradient: &mut [f32]) {
        let pairs = gradient.iter_mut().zip(out);
        match self {
            Activation::Tanh => pairs.for_each(|(g, y)| *g *= 1.0 - y * y),
            Activation::Relu => pairs.for_each(|(g, y)| *g = if *y > 0.0 { *g } else { 0.0 }),
        }
    }
}

/// A batch on its way forward and back. Keeps its buffers from one batch to the next.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    rows: usize,
    /// What came out of each layer, (rows, outputs).
    out: Vec<Vec<f32>>,
    /// The gradient with respect to it.
    back: Vec<Vec<f32>>,
}

impl Pass {
    /// The outputs, (rows, outputs), for `rows` inputs.
    ///
    /// # Panics
    /// If a slice has the wrong length.
    pub fn forward(&mut self, mlp: &Mlp, parameters: &[f32], input: &[f32], rows: usize) -> &[f32] {
        assert_eq!(parameters.len(), mlp.parameters(), "the parameters of the network");
        let layers = mlp.layers().len();
        self.rows = rows;
        self.out.resize(layers, Vec::new());
        self.back.resize(layers, Vec::new());
        for (index, layer) in mlp.layers().enumerate() {
            let (before, rest) = self.out.split_at_mut(index);
            let before = before.last().map_or(input, |before| before);
            let out = &mut rest[0];
            out.resize(rows * layer.outputs, 0.0);
            let biases = layer.biases(parameters);
            out.chunks_exact_mut(layer.outputs).for_each(|row| row.copy_from_slice(biases));
            let weights = View::new(layer.weights(parameters), layer.inputs, layer.outputs);
            multiply(out, View::new(before, rows, layer.inputs), weights, true);
            if !layer.last {
                mlp.activation.apply(out);
            }
        }
        &self.out[layers - 1]
    }

    /// The outputs of the last [`forward`](Self::forward) and, to be filled, the gradient with respect to them.
    ///
    /// # Panics
    /// If nothing went forward before.
    pub fn ends(&mut self) -> (&[f32], &mut [f32]) {
        let out = self.out.last().expect("something went forward");
        let back = self.back.last_mut().expect("something went forward");
        back.resize(out.len(), 0.0);
        (out, back)
    }

    /// Writes the gradient with respect to the parameters, summed over the batch, given that with respect to the outputs
    /// (see [`ends`](Self::ends)). `input` is that of the last [`forward`](Self::forward).
    ///
    /// # Panics
    /// If a slice has the wrong length.
    pub fn backward(&mut self, mlp: &Mlp, parameters: &[f32], input: &[f32], gradient: &mut [f32]) {
        assert_eq!(gradient.len(), mlp.parameters(), "one gradient for each parameter");
        let rows = self.rows;
        for (index, layer) in mlp.layers().enumerate().rev() {
            let (earlier, rest) = self.back.split_at_mut(index);
            let back = &rest[0];
            let count = layer.inputs * layer.outputs;
            let (weights, biases) = gradient[layer.at..][..count + layer.outputs].split_at_mut(count);
            let before = if index == 0 { input } else { &self.out[index - 1] };
            let back_view = View::new(back, rows, layer.outputs);
            multiply(weights, View::new(before, rows, layer.inputs).transposed(), back_view, false);
            biases.fill(0.0);
            for row in back.chunks_exact(layer.outputs) {
                biases.iter_mut().zip(row).for_each(|(bias, g)| *bias += g);
            }
            if let Some(earlier) = earlier.last_mut() {
                earlier.resize(rows * layer.inputs, 0.0);
                let weights = View::new(layer.weights(parameters), layer.inputs, layer.outputs);
                multiply(earlier, back_view, weights.transposed(), false);
                mlp.activation.slope(before, earlier);
            }
        }
    }
}

/// A matrix (rows x columns, row-major) whose rows, or columns if there are fewer of those, are orthonormal: Gram-Schmidt
/// (twice, for accuracy) on normal numbers. It has the distribution of the Q of a QR decomposition with positive diagonal.
fn orthogonal(rows: usize, columns: usize, draw: &mut Draw) -> Vec<f64> {
    let (long, short) = (rows.max(columns), rows.min(columns));
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(short);
    while basis.len() < short {
        let mut vector: Vec<f64> = (0..long).map(|_| draw.normal()).collect();
        for _ in 0..2 {
            for earlier in &basis {
                let along: f64 = earlier.iter().zip(&vector).map(|(a, b)| a * b).sum();
                vector.iter_mut().zip(earlier).for_each(|(x, e)| *x -= along * e);
            }
        }
        let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        // Normal vectors are independent with certainty; a draw that rounding made dependent is drawn again.
        if length > 1e-6 {
            vector.iter_mut().for_each(|x| *x /= length);
            basis.push(vector);
        }
    }
    let at =
        |row: usize, column: usize| if rows >= columns { basis[column][row] } else { basis[row][column] };
    (0..rows * columns).map(|index| at(index / columns, index % columns)).collect()
}
