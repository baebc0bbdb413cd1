//! The masked hierarchical distribution and the multilayer perceptron in candle, for learners that differentiate
//! automatically, and as what the tests hold the rest against. Feature `candle`, on by default; nothing else in this crate
//! needs it, so that a policy runs and trains without.

use crate::net::{Activation, Mlp};
use crate::observe::{Action, Open};
use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::ops::log_softmax;
use scale_model::Container;

impl Mlp {
    /// [`Mlp::forward`] in candle: `parameters` is the flat buffer, (P,), `input` (B, inputs); returns (B, outputs).
    ///
    /// # Errors
    /// What candle says of wrong shapes.
    pub fn candle(&self, parameters: &Tensor, input: &Tensor) -> Result<Tensor> {
        let mut x = input.clone();
        for layer in self.layers() {
            let count = layer.inputs * layer.outputs;
            let weights = parameters.narrow(0, layer.at, count)?.reshape((layer.inputs, layer.outputs))?;
            let biases = parameters.narrow(0, layer.at + count, layer.outputs)?;
            x = x.matmul(&weights)?.broadcast_add(&biases)?;
            if !layer.last {
                x = match self.activation {
                    Activation::Tanh => x.tanh()?,
                    Activation::Relu => x.relu()?,
                };
            }
        }
        Ok(x)
    }
}

/// What stands in the place of masked logits: finite, so that 0 times it is 0, and far below any real one.
const MASKED: f64 = -1e30;

/// log pi and H of a batch in candle.
///
/// `scores` and `reuse` are s and u, (B, N) each; `new_open` and `reuse_open` the mask as 0 or 1, (B, N), type `u8`;
/// `nodes` and `containers` the actions, (B,), type `u32`, 1 for a reuse. Returns log pi and H, (B,) each. Rows where
/// nothing is valid give 0 for both, and no gradient. Every gradient is finite, whatever the mask.
///
/// # Errors
/// What candle says of wrong shapes and types.
pub fn log_prob_and_entropy(
    scores: &Tensor,
    reuse: &Tensor,
    new_open: &Tensor,
    reuse_open: &Tensor,
    nodes: &Tensor,
    containers: &Tensor,
) -> Result<(Tensor, Tensor)> {
    let kind = scores.dtype();
    let open = new_open.maximum(reuse_open)?;
    let any = open.max_keepdim(1)?;
    // A row without a valid node is opened, so that its softmax exists, and multiplied by 0 at the end.
    let opened = open.maximum(&any.eq(0.0)?.broadcast_as(open.shape())?)?;
    let any = any.squeeze(1)?.to_dtype(kind)?;
    let (first, pi1, h1) = factor(scores, &opened, 1)?;
    // The second factor: logits 0 (new) and u (reuse); a node without either is opened like a row above.
    let pair = Tensor::stack(&[&reuse.zeros_like()?, reuse], 2)?;
    let pair_open = Tensor::stack(&[new_open, reuse_open], 2)?;
    let none = pair_open.max_keepdim(2)?.eq(0.0)?.broadcast_as(pair_open.shape())?;
    let (second, _, h2) = factor(&pair, &pair_open.maximum(&none)?, 2)?;
    let entropy = (h1 + (pi1 * h2)?.sum(1)?)?;
    let nodes = nodes.unsqueeze(1)?;
    let first = first.gather(&nodes, 1)?.squeeze(1)?;
    let side = containers.reshape((containers.elem_count(), 1, 1))?;
    let side = side.broadcast_as((containers.elem_count(), scores.dim(1)?, 1))?.contiguous()?;
    let second = second.gather(&side, 2)?.squeeze(2)?.gather(&nodes, 1)?.squeeze(1)?;
    Ok((((first + second)? * &any)?, (entropy * any)?))
}

/// Masked log-softmax, its probabilities and its entropy along one dimension. The masked log-probabilities are set to
/// 0 before they are multiplied: afterwards would be too late for the gradient.
fn factor(logits: &Tensor, open: &Tensor, dim: usize) -> Result<(Tensor, Tensor, Tensor)> {
    let fill = Tensor::full(MASKED, logits.shape(), logits.device())?.to_dtype(logits.dtype())?;
    let masked = open.where_cond(logits, &fill)?;
    let log = log_softmax(&masked, dim)?;
    let log = open.where_cond(&log, &log.zeros_like()?)?;
    let open = open.to_dtype(logits.dtype())?;
    let probability = (log.exp()? * open)?;
    let entropy = (&probability * &log)?.sum(D::Minus1)?.neg()?;
    debug_assert_eq!(dim + 1, logits.rank(), "the last dimension");
    Ok((log, probability, entropy))
}

/// The mask and actions of a batch as the tensors that [`log_prob_and_entropy`] takes.
///
/// # Errors
/// What candle says of wrong shapes.
pub fn tensors(rows: &[(Open<'_>, Action)], device: &Device) -> Result<[Tensor; 4]> {
    let nodes = rows.first().map_or(0, |(mask, _)| mask.new.len());
    let bytes = |side: fn(&Open<'_>) -> Vec<u8>| -> Result<Tensor> {
        let all: Vec<u8> = rows.iter().flat_map(|(mask, _)| side(mask)).collect();
        Tensor::from_vec(all, (rows.len(), nodes), device)
    };
    let new = bytes(|mask| mask.new.iter().map(|&open| u8::from(open)).collect())?;
    let reuse = bytes(|mask| mask.reuse.iter().map(|&open| u8::from(open)).collect())?;
    let chosen: Vec<u32> = rows.iter().map(|(_, action)| action.node.0).collect();
    let side: Vec<u32> =
        rows.iter().map(|(_, action)| u32::from(action.container == Container::Reuse)).collect();
    let device = device.clone();
    Ok([
        new,
        reuse,
        Tensor::from_vec(chosen, rows.len(), &device)?.to_dtype(DType::U32)?,
        Tensor::from_vec(side, rows.len(), &device)?.to_dtype(DType::U32)?,
    ])
}
