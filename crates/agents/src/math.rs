//! The arithmetic under the networks: a matrix product without threads, and exp, ln and tanh in `f32` without branches,
//! so that the compiler makes vector code of the loops around them. `f32::tanh` of the C library takes ten times as long.

use gemm::Parallelism;

/// A matrix that lies in a slice: `rows x columns`, row-major, or the transpose of such a one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    /// Distance between rows and between columns.
    strides: (isize, isize),
}

impl<'a> View<'a> {
    /// A row-major matrix.
    ///
    /// # Panics
    /// If `data` has not `rows * columns` numbers.
    pub(crate) fn new(data: &'a [f32], rows: usize, columns: usize) -> View<'a> {
        assert_eq!(data.len(), rows * columns, "a matrix of {rows} x {columns}");
        View { data, rows, columns, strides: (columns as isize, 1) }
    }

    /// Its transpose, without moving anything.
    pub(crate) fn transposed(self) -> View<'a> {
        View { rows: self.columns, columns: self.rows, strides: (self.strides.1, self.strides.0), ..self }
    }
}

/// `out = left * right`, or `out += left * right` if `add`; `out` is row-major. One thread: the caller spreads environments
/// and seeds over threads, and the sums are then the same for any number of them. The library chooses its kernel by the
/// processor, so another kind of processor may give other last bits.
///
/// # Panics
/// If the shapes do not fit.
pub(crate) fn multiply(out: &mut [f32], left: View<'_>, right: View<'_>, add: bool) {
    assert_eq!(left.columns, right.rows, "the inner sizes of a product");
    assert_eq!(out.len(), left.rows * right.columns, "the size of a product");
    let (m, n, k) = (left.rows, right.columns, left.columns);
    #[expect(
        unsafe_code,
        reason = "the library takes pointers; `View` and the assertions above keep them inside"
    )]
    // SAFETY: all three matrices lie within their slices: `View::new` and the two assertions check the lengths, and
    // `out` is borrowed mutably, so it overlaps neither of the others.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            n as isize,
            add,
            left.data.as_ptr(),
            left.strides.1,
            left.strides.0,
            right.data.as_ptr(),
            right.strides.1,
            right.strides.0,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// e^x to 2 units in the last place; below -87 and above 88 it stays at their values, so it is never 0 and never
/// infinite. The polynomial is that of the Cephes library (S. Moshier).
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23: adding it rounds to a whole number, which then stands in the low bits.
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 in two parts, the first of which has few bits, so that n times it is exact.
    let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let p = 1.987_569_2e-4_f32;
    let p = p * r + 1.398_2e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let y = p * (r * r) + r + 1.0;
    y * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// Natural logarithm of a normal positive number. The polynomial is that of the Cephes library (S. Moshier).
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = (bits >> 23) as i32 - 126;
    let mantissa = f32::from_bits((bits & 0x007f_ffff) | 0x3f00_0000);
    let low = mantissa < std::f32::consts::FRAC_1_SQRT_2;
    let e = (exponent - i32::from(low)) as f32;
    let m = if low { mantissa + mantissa - 1.0 } else { mantissa - 1.0 };
    let z = m * m;
    let p = 7.037_683_6e-2_f32;
    let p = p * m - 1.151_461e-1;
    let p = p * m + 1.167_7e-1;
    let p = p * m - 1.242_014_1e-1;
    let p = p * m + 1.424_932_3e-1;
    let p = p * m - 1.666_805_8e-1;
    let p = p * m + 2.000_071_5e-1;
    let p = p * m - 2.499_999_4e-1;
    let p = p * m + 3.333_333e-1;
    let y = p * m * z - 2.121_944_4e-4 * e - 0.5 * z;
    m + y + 0.693_359_4 * e
}

/// Hyperbolic tangent. The polynomial near 0 is that of the Cephes library (S. Moshier).
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let z = x * x;
    let p = -5.704_988_7e-3_f32;
    let p = p * z + 2.063_909e-2;
    let p = p * z - 5.373_971_6e-2;
    let p = p * z + 1.333_144_2e-1;
    let p = p * z - 3.333_328e-1;
    let near = p * z * x + x;
    let far = 1.0 - 2.0 / (exp(2.0 * x) + 1.0);
    if z < 0.390_625 { near } else { far }
}

/// Whether every number is finite. A sum would do, but overflows where the numbers do not.
pub(crate) fn all_finite(numbers: &[f32]) -> bool {
    numbers.iter().fold(true, |all, number| all & number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest relative error of `fast` against the C library's double precision.
    fn check(name: &str, range: std::ops::Range<f64>, fast: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64) {
        let steps = 200_000;
        for step in 0..steps {
            let x = (range.start + (range.end - range.start) * f64::from(step) / f64::from(steps)) as f32;
            let (fast, exact) = (f64::from(fast(x)), exact(f64::from(x)));
            let error = (fast - exact).abs() / exact.abs().max(1e-3);
            assert!(error < 3e-7, "{name}({x}) = {fast}, exactly {exact}");
        }
    }

    #[test]
    fn fast_functions_equal_the_library_to_the_last_places() {
        check("exp", -87.0..88.0, exp, f64::exp);
        check("exp", -1.0..1.0, exp, f64::exp);
        check("ln", 1e-6..4.0, ln, f64::ln);
        check("ln", 1.0..1e6, ln, f64::ln);
        check("tanh", -12.0..12.0, tanh, f64::tanh);
        check("tanh", -0.7..0.7, tanh, f64::tanh);
        assert_eq!((tanh(1e30), tanh(-1e30)), (1.0, -1.0));
        assert!(exp(-1e30) > 0.0 && exp(1e30).is_finite());
        assert!(tanh(f32::NAN).is_nan(), "what is not a number stays so, for the guards to find");
    }

    #[test]
    fn products_equal_the_sums_that_they_stand_for() {
        // By hand: (1 2; 3 4) (5; 6) = (17; 39), and the transpose gives (23; 34).
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0]);
        let mut out = [100.0, 100.0];
        multiply(&mut out, View::new(&a, 2, 2), View::new(&b, 2, 1), false);
        assert_eq!(out, [17.0, 39.0]);
        multiply(&mut out, View::new(&a, 2, 2).transposed(), View::new(&b, 2, 1), true);
        assert_eq!(out, [17.0 + 23.0, 39.0 + 34.0]);
        for (m, k, n) in [(1, 1, 1), (3, 5, 2), (64, 37, 130), (7, 512, 64)] {
            let number = |i: usize| ((i * 7919 % 1000) as f32 - 500.0) / 500.0;
            let left: Vec<f32> = (0..m * k).map(number).collect();
            let right: Vec<f32> = (0..k * n).map(|i| number(i + 3)).collect();
            let mut out = vec![1.0; m * n];
            multiply(&mut out, View::new(&left, m, k), View::new(&right, k, n), true);
            let mut turned = vec![f32::NAN; n * m];
            let (l, r) = (View::new(&left, m, k).transposed(), View::new(&right, k, n).transposed());
            multiply(&mut turned, r, l, false);
            for i in 0..m {
                for j in 0..n {
                    let sum: f64 =
                        (0..k).map(|x| f64::from(left[i * k + x]) * f64::from(right[x * n + j])).sum();
                    assert!((f64::from(out[i * n + j]) - 1.0 - sum).abs() < 1e-4);
                    assert!((f64::from(turned[j * m + i]) - sum).abs() < 1e-4);
                }
            }
        }
    }
}
