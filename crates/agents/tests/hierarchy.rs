//! The masked hierarchical distribution against one flat masked softmax in double precision, against candle's gradients,
//! and against the mistakes that others have made (the numbers are those of the public issue trackers).

use candle_core::{DType, Device, Tensor, Var};
use proptest::prelude::*;
use scale_agents::autograd::{log_prob_and_entropy, tensors};
use scale_agents::draw::Draw;
use scale_agents::hierarchy::Row;
use scale_agents::{Action, Mask};
use scale_model::Seed;

/// Logits (s, then u) and a mask.
#[derive(Clone, Debug)]
struct Case {
    logits: Vec<f32>,
    mask: Mask,
}

impl Case {
    fn nodes(&self) -> usize {
        self.mask.new.len()
    }

    fn valid(&self) -> Vec<Action> {
        let all = (0..2 * self.nodes()).map(|flat| Action::of_flat(flat, self.nodes()));
        all.filter(|&action| self.mask.open().allows(action)).collect()
    }

    /// A random one: scores of the given size, each side of each node open with its probability.
    fn random(draw: &mut Draw, nodes: usize, size: f64, new: f64, reuse: f64) -> Case {
        let logits = (0..2 * nodes).map(|_| (size * draw.normal()) as f32).collect();
        let mut open = |share: f64| (0..nodes).map(|_| draw.unit() < share).collect();
        Case { logits, mask: Mask { new: open(new), reuse: open(reuse) } }
    }
}

/// The oracle: log-probabilities of all 2 N flat actions, by the definition of one masked softmax over pairs whose logits
/// are chosen so that the scores are their log-sum-exp and the reuse logits their differences.
fn flat_softmax(case: &Case) -> Vec<Option<f64>> {
    let n = case.nodes();
    let logit = |flat: usize| {
        let action = Action::of_flat(flat, n);
        let v = action.node.index();
        if !case.mask.open().allows(action) {
            return None;
        }
        let (s, u) = (f64::from(case.logits[v]), f64::from(case.logits[n + v]));
        // With both open: l_new = s - log(1 + e^u), l_reuse = l_new + u; then LSE(l_new, l_reuse) = s.
        let new = s - if u > 0.0 { u + (-u).exp().ln_1p() } else { u.exp().ln_1p() };
        Some(match (case.mask.new[v] && case.mask.reuse[v], flat < n) {
            (false, _) => s,
            (true, true) => new,
            (true, false) => new + u,
        })
    };
    let logits: Vec<Option<f64>> = (0..2 * n).map(logit).collect();
    let most = logits.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = logits.iter().flatten().map(|l| (l - most).exp()).sum::<f64>().ln() + most;
    logits.into_iter().map(|l| l.map(|l| l - total)).collect()
}

fn flat_entropy(log_probs: &[Option<f64>]) -> f64 {
    -log_probs.iter().flatten().map(|l| l.exp() * l).sum::<f64>()
}

/// Probabilities to 1e-6, entropy to 1e-5 of its size, and the sum of all probabilities.
fn check(case: &Case) {
    let mut scratch = vec![0.0; case.nodes()];
    let Some(row) = Row::new(&case.logits, case.mask.open(), &mut scratch) else {
        assert!(case.valid().is_empty(), "only a row without valid actions has no distribution");
        return;
    };
    let oracle = flat_softmax(case);
    let mut sum = 0.0;
    for action in case.valid() {
        let exact = oracle[action.flat(case.nodes())].expect("valid");
        let own = f64::from(row.log_prob(action));
        assert!((own.exp() - exact.exp()).abs() < 1e-6, "{action:?}: {own} and {exact}");
        assert!((own - exact).abs() < 1e-5 * (1.0 + exact.abs()), "{action:?}: {own} and {exact}");
        sum += own.exp();
    }
    assert!((sum - 1.0).abs() < 1e-5, "probabilities sum to {sum}");
    let (own, exact) = (f64::from(row.entropy()), flat_entropy(&oracle));
    assert!((own - exact).abs() < 1e-5 * (1.0 + exact), "entropy {own} and {exact}");
    assert!(case.mask.open().allows(row.argmax()));
}

/// Gradients of a log pi + b H by central differences of the oracle, and by candle in f32 and f64, to 1e-5.
fn check_gradient(case: &Case, action: Action, a: f64, b: f64) {
    let n = case.nodes();
    let objective = |case: &Case| {
        let logs = flat_softmax(case);
        a * logs[action.flat(n)].expect("valid") + b * flat_entropy(&logs)
    };
    let mut own = vec![f32::NAN; 2 * n];
    let mut scratch = vec![0.0; n];
    let row = Row::new(&case.logits, case.mask.open(), &mut scratch).expect("something is valid");
    row.gradient(action, a as f32, b as f32, &mut own);
    for kind in [DType::F32, DType::F64] {
        let by_candle = candle_gradient(case, action, a, b, kind);
        for (index, (own, candle)) in own.iter().zip(&by_candle).enumerate() {
            assert!((f64::from(*own) - candle).abs() < 1e-5, "{kind:?} {index}: {own} and {candle}");
        }
    }
    for (index, &own) in own.iter().enumerate() {
        let shifted = |by: f32| {
            let mut moved = case.clone();
            moved.logits[index] += by;
            (f64::from(moved.logits[index]), objective(&moved))
        };
        let ((x1, up), (x0, down)) = (shifted(1e-3), shifted(-1e-3));
        let slope = (up - down) / (x1 - x0);
        assert!((f64::from(own) - slope).abs() < 1e-4, "{index}: {own} and {slope}");
    }
}

fn candle_gradient(case: &Case, action: Action, a: f64, b: f64, kind: DType) -> Vec<f64> {
    let n = case.nodes();
    let device = Device::Cpu;
    let logits = Tensor::new(&case.logits[..], &device).and_then(|t| t.to_dtype(kind)).expect("a tensor");
    let logits = Var::from_tensor(&logits.reshape((1, 2 * n)).expect("a row")).expect("a variable");
    let [new, reuse, nodes, containers] = tensors(&[(case.mask.open(), action)], &device).expect("tensors");
    let gradient = || -> candle_core::Result<Vec<f64>> {
        let (scores, u) = (logits.narrow(1, 0, n)?, logits.narrow(1, n, n)?);
        let (log_prob, entropy) = log_prob_and_entropy(&scores, &u, &new, &reuse, &nodes, &containers)?;
        let store = ((log_prob * a)? + (entropy * b)?)?.sum_all()?.backward()?;
        let gradient = store.get(&logits).expect("a gradient reaches the logits");
        gradient.flatten_all()?.to_dtype(DType::F64)?.to_vec1()
    };
    gradient().expect("candle computes")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn joint_probabilities_equal_one_flat_softmax(
        seed in 0_u64..1 << 40, nodes in 1_usize..40, size in prop::sample::select(vec![0.1, 1.0, 10.0, 40.0]),
        new in 0.0..1.2_f64, reuse in 0.0..1.2_f64,
    ) {
        check(&Case::random(&mut Draw::new(Seed(seed)), nodes, size, new, reuse));
    }

    #[test]
    fn gradients_equal_candle_and_differences(
        seed in 0_u64..1 << 40, nodes in 1_usize..12, size in prop::sample::select(vec![0.1, 1.0, 4.0]),
        reuse in 0.0..1.2_f64, a in -2.0..2.0_f64, b in -1.0..1.0_f64,
    ) {
        let mut draw = Draw::new(Seed(seed));
        let case = Case::random(&mut draw, nodes, size, 0.7, reuse);
        let valid = case.valid();
        if !valid.is_empty() {
            check_gradient(&case, valid[draw.below(valid.len())], a, b);
        }
    }
}

/// Row 1 of the bug table (sb3-contrib#322): a thousand actions, masked again and again, never a failed simplex check.
#[test]
fn bug_01_a_thousand_actions_sum_to_one_and_masking_again_changes_nothing() {
    let mut draw = Draw::new(Seed(1));
    for _ in 0..50 {
        let mut case = Case::random(&mut draw, 1000, 3.0, 0.6, 0.3);
        check(&case);
        let other = Case::random(&mut draw, 1000, 3.0, 0.2, 0.9);
        let first = flat_of(&case);
        let mask = std::mem::replace(&mut case.mask, other.mask);
        check(&case);
        case.mask = mask;
        assert_eq!(flat_of(&case), first, "nothing is cached");
    }
}

fn flat_of(case: &Case) -> Vec<u32> {
    let mut scratch = vec![0.0; case.nodes()];
    let row = Row::new(&case.logits, case.mask.open(), &mut scratch).expect("something is valid");
    case.valid().into_iter().map(|action| row.log_prob(action).to_bits()).collect()
}

/// Row 2 (sb3-contrib#81, SB3#1553, #1596): the same with 7830 actions and large logits.
#[test]
fn bug_02_thousands_of_actions_and_large_logits() {
    let mut draw = Draw::new(Seed(2));
    for size in [1e-3, 1.0, 30.0, 1e4] {
        let case = Case::random(&mut draw, 7830, size, 0.5, 0.2);
        let mut scratch = vec![0.0; 7830];
        let row = Row::new(&case.logits, case.mask.open(), &mut scratch).expect("something is valid");
        let sum: f64 = case.valid().iter().map(|&action| f64::from(row.log_prob(action)).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-4, "size {size}: {sum}");
        for _ in 0..200 {
            assert!(case.mask.open().allows(row.sample(draw.unit(), draw.unit())));
        }
    }
}

/// Row 4 (sb3-contrib#200, 8 invalid actions in 350 000): ten million samples, none invalid.
#[test]
fn bug_04_ten_million_samples_and_none_invalid() {
    let mut draw = Draw::new(Seed(4));
    for round in 0..1000 {
        let case = Case::random(&mut draw, 64, [0.1, 3.0, 60.0][round % 3], 0.3, 0.2);
        let mut scratch = vec![0.0; 64];
        let Some(row) = Row::new(&case.logits, case.mask.open(), &mut scratch) else { continue };
        let mask = case.mask.open();
        let invalid = (0..10_000).filter(|_| !mask.allows(row.sample(draw.unit(), draw.unit()))).count();
        assert_eq!(invalid, 0);
        // Both ends of the unit interval, and past it.
        for u in [0.0, f64::EPSILON, 1.0 - f64::EPSILON / 2.0, 1.0] {
            for w in [0.0, 1.0 - f64::EPSILON / 2.0, 1.0] {
                assert!(mask.allows(row.sample(u, w)));
            }
        }
    }
}

#[test]
fn samples_come_as_often_as_their_probability_says() {
    let mut draw = Draw::new(Seed(44));
    let case = Case::random(&mut draw, 6, 1.0, 0.8, 0.6);
    let mut scratch = vec![0.0; 6];
    let row = Row::new(&case.logits, case.mask.open(), &mut scratch).expect("something is valid");
    let (count, mut counts) = (400_000, [0_u32; 12]);
    for _ in 0..count {
        counts[row.sample(draw.unit(), draw.unit()).flat(6)] += 1;
    }
    for action in case.valid() {
        let p = f64::from(row.log_prob(action)).exp();
        let found = f64::from(counts[action.flat(6)]) / f64::from(count);
        let deviation = (p * (1.0 - p) / f64::from(count)).sqrt();
        assert!((found - p).abs() < 5.0 * deviation, "{action:?}: {found} instead of {p}");
    }
}

/// Row 5 (sb3-contrib#242): the mask of the container depends on the node. With a union mask of independent parts a
/// uniform policy would draw 0.5 * 0.7 = 35 % invalid pairs here.
#[test]
fn bug_05_the_container_mask_depends_on_the_node() {
    let nodes = 10;
    let reuse: Vec<bool> = (0..nodes).map(|v| v < 3).collect();
    let case = Case { logits: vec![0.0; 2 * nodes], mask: Mask { new: vec![true; nodes], reuse } };
    let mut scratch = vec![0.0; nodes];
    let row = Row::new(&case.logits, case.mask.open(), &mut scratch).expect("all nodes are valid");
    let logs = flat_softmax(&case);
    for v in 0..nodes {
        let new = Action::of_flat(v, nodes);
        let expected = if v < 3 { 0.05 } else { 0.1 };
        assert!((row.log_prob(new).exp() - expected).abs() < 1e-6);
        assert_eq!(logs[nodes + v].is_some(), v < 3);
    }
}

/// Row 8 (sb3-contrib#221) and the all-masked row of contrib 2.9.2: no distribution here, zeros in candle, no NaN.
#[test]
fn bug_08_a_row_without_valid_actions_is_no_distribution_and_no_nan() {
    let case = Case { logits: vec![3.0, -2.0, 0.5, 1.0], mask: Mask::closed(2) };
    let mut scratch = vec![0.0; 2];
    assert!(Row::new(&case.logits, case.mask.open(), &mut scratch).is_none());
    for kind in [DType::F32, DType::F64] {
        let gradient = candle_gradient(&case, Action::of_flat(0, 2), 1.0, 1.0, kind);
        assert_eq!(gradient, [0.0; 4]);
    }
}

/// Row 9 (RL.jl#917: 0 times -inf): entropy and its gradient are finite for every mask of three nodes.
#[test]
fn bug_09_entropy_and_gradients_are_finite_for_any_mask() {
    for bits in 0..64_u32 {
        let side = |shift: u32| (0..3).map(|v| bits >> (shift + v) & 1 == 1).collect();
        let mask = Mask { new: side(0), reuse: side(3) };
        let case = Case { logits: vec![0.3, -4.0, 2.0, 1.0, 0.0, -0.5], mask };
        check(&case);
        for action in case.valid() {
            check_gradient(&case, action, 0.7, -0.4);
        }
    }
}

/// Row 10 (ray#21297: KL = inf): logits that spread over hundreds give finite log-probabilities.
#[test]
fn bug_10_a_spread_of_hundreds_stays_finite() {
    for spread in [100.0, 1000.0, 1e6] {
        let case = Case {
            logits: vec![spread, 0.0, -spread, 0.0, spread, -spread],
            mask: Mask { new: vec![true; 3], reuse: vec![true; 3] },
        };
        let mut scratch = vec![0.0; 3];
        let row = Row::new(&case.logits, case.mask.open(), &mut scratch).expect("all valid");
        let mut gradient = [0.0; 6];
        for action in case.valid() {
            assert!(row.log_prob(action).is_finite() && row.log_prob(action) <= 1e-6);
            row.gradient(action, 1.0, 1.0, &mut gradient);
            assert!(gradient.iter().all(|g| g.is_finite()), "{gradient:?}");
        }
        assert!(row.entropy().is_finite() && row.entropy() >= -1e-6);
        // Node 0 has the largest score, and its coin is even: a reuse.
        assert_eq!(row.argmax(), Action::of_flat(3, 3));
    }
}

/// The other edge of contrib 2.9.2: where every valid logit is below the fill value of -10^8, a masked action wins.
#[test]
fn logits_below_any_fill_value_do_not_open_the_mask() {
    let mask = Mask { new: vec![true, false, true], reuse: vec![false; 3] };
    let case = Case { logits: vec![-3e9, 5.0, -3e9, 0.0, 0.0, 0.0], mask };
    check(&case);
    let mut scratch = vec![0.0; 3];
    let row = Row::new(&case.logits, case.mask.open(), &mut scratch).expect("two are valid");
    assert!((row.node_probability(0) - 0.5).abs() < 1e-6 && row.node_probability(1) == 0.0);
    check_gradient(
        &Case { logits: vec![-3.0, 5.0, -3.0, 0.0, 0.0, 0.0], ..case },
        Action::of_flat(2, 3),
        1.0,
        0.5,
    );
}

/// A network that has diverged: whatever it says, no invalid action comes out of it.
#[test]
fn numbers_that_are_none_never_open_the_mask() {
    let mask = Mask { new: vec![false, true, true, false], reuse: vec![false, true, false, false] };
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for at in 0..8 {
            let mut logits = vec![0.5; 8];
            logits[at] = bad;
            let mut scratch = vec![0.0; 4];
            let row = Row::new(&logits, mask.open(), &mut scratch).expect("two nodes are valid");
            for u in [0.0, 0.3, 0.999_999_9, 1.0] {
                assert!(mask.open().allows(row.sample(u, u)), "{bad} at {at}");
            }
            assert!(mask.open().allows(row.argmax()), "{bad} at {at}");
        }
    }
}
