//! The networks by hand against candle: outputs and gradients to 1e-5; and what initial weights look like.

use candle_core::{DType, Device, Tensor, Var};
use proptest::prelude::*;
use scale_agents::draw::Draw;
use scale_agents::net::{Activation, Mlp, Pass};
use scale_model::Seed;

/// One batch three ways.
fn check(mlp: &Mlp, rows: usize, seed: u64) {
    let mut draw = Draw::new(Seed(seed));
    let mut parameters = mlp.orthogonal(1.0, &mut draw);
    // Biases of 0 would hide a bias that is forgotten.
    parameters.iter_mut().for_each(|p| *p += 0.1 * draw.normal() as f32);
    let mut number = || if draw.unit() < 0.2 { 0.0 } else { draw.normal() as f32 };
    let input: Vec<f32> = (0..rows * mlp.inputs).map(|_| number()).collect();
    let toward: Vec<f32> = (0..rows * mlp.outputs).map(|_| number()).collect();

    let candle = || -> candle_core::Result<(Vec<f32>, Vec<f32>)> {
        let device = Device::Cpu;
        let variable = Var::from_slice(&parameters, parameters.len(), &device)?;
        let x = Tensor::from_slice(&input, (rows, mlp.inputs), &device)?;
        let out = mlp.candle(&variable, &x)?;
        let weight = Tensor::from_slice(&toward, (rows, mlp.outputs), &device)?;
        let store = (&out * weight)?.sum_all()?.backward()?;
        let gradient = store.get(&variable).expect("a gradient reaches every parameter");
        Ok((out.flatten_all()?.to_vec1()?, gradient.to_dtype(DType::F32)?.to_vec1()?))
    };
    let (out, gradient) = candle().expect("candle computes");

    let mut scratch = vec![f32::NAN; mlp.scratch()];
    let mut pass = Pass::default();
    let batch = pass.forward(mlp, &parameters, &input, rows).to_vec();
    for row in 0..rows {
        let one = mlp.forward(&parameters, &input[row * mlp.inputs..][..mlp.inputs], &mut scratch);
        for (column, &one) in one.iter().enumerate() {
            let index = row * mlp.outputs + column;
            assert!((one - out[index]).abs() < 1e-5 * (1.0 + out[index].abs()), "{one} and {}", out[index]);
            assert!((batch[index] - out[index]).abs() < 1e-5 * (1.0 + out[index].abs()));
        }
    }
    pass.ends().1.copy_from_slice(&toward);
    let mut own = vec![f32::NAN; parameters.len()];
    pass.backward(mlp, &parameters, &input, &mut own);
    let size = gradient.iter().fold(1.0_f32, |most, g| most.max(g.abs()));
    for (own, candle) in own.iter().zip(&gradient) {
        assert!((own - candle).abs() < 1e-5 * size, "{own} and {candle}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn outputs_and_gradients_equal_candle(
        inputs in 1_usize..60, hidden in prop::collection::vec(1_usize..40, 0..3), outputs in 1_usize..30,
        rows in 1_usize..20, tanh in any::<bool>(), seed in 0_u64..1 << 40,
    ) {
        let activation = if tanh { Activation::Tanh } else { Activation::Relu };
        check(&Mlp { inputs, hidden, outputs, activation }, rows, seed);
    }
}

#[test]
fn the_paper_network_equals_candle() {
    let mlp = Mlp { inputs: 634, hidden: vec![64, 64], outputs: 250, activation: Activation::Tanh };
    check(&mlp, 64, 5);
    check(&mlp, 1, 6);
}

#[test]
fn initial_weights_are_orthogonal_with_their_gain_and_come_from_the_seed() {
    for (inputs, outputs) in [(7, 7), (30, 8), (8, 30)] {
        let mlp = Mlp { inputs, hidden: vec![], outputs, activation: Activation::Tanh };
        let weights = mlp.orthogonal(0.5, &mut Draw::new(Seed(1)));
        assert_eq!(weights, mlp.orthogonal(0.5, &mut Draw::new(Seed(1))));
        assert_ne!(weights, mlp.orthogonal(0.5, &mut Draw::new(Seed(2))));
        let at = |row: usize, column: usize| f64::from(weights[row * outputs + column]);
        let short = inputs.min(outputs);
        for a in 0..short {
            for b in 0..short {
                let dot: f64 = match inputs >= outputs {
                    true => (0..inputs).map(|i| at(i, a) * at(i, b)).sum(),
                    false => (0..outputs).map(|j| at(a, j) * at(b, j)).sum(),
                };
                let expected = if a == b { 0.25 } else { 0.0 };
                assert!((dot - expected).abs() < 1e-6, "{inputs} x {outputs}: ({a}, {b}) {dot}");
            }
        }
        assert!(weights[inputs * outputs..].iter().all(|&bias| bias == 0.0));
    }
}
