//! Quantities with their units, and only the operations that mean something. Every conversion factor stands here once.
//!
//! What is *measured* (time, data, rates) is an `f64`. What is *counted against a capacity* ([`Cores`], [`Memory`]) is
//! an integer of the smallest unit that platforms sell (a thousandth of a core, a megabyte), so that sums are exact:
//! the order of placements never decides whether the last one fits, and no comparison needs an epsilon.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A duration in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Milliseconds(pub f64);

/// An instant: milliseconds since the start of the workload. Ordered by `f64::total_cmp`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub f64);

/// An amount of data in megabytes (10^6 bytes): images, inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Megabytes(pub f64);

/// A transmission rate in megabytes a second (8 Mbit/s).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MegabytesPerSecond(pub f64);

/// A clock frequency in GHz.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gigahertz(pub f64);

/// An amount of work: milliseconds on one core.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CoreMilliseconds(pub f64);

/// A share of a node's processors, counted in thousandths of a core. Written and read as cores: `0.45`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cores {
    /// Thousandths of a core.
    pub milli: u32,
}

/// Memory of a node or a container, counted in whole megabytes (10^6 bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory {
    /// Megabytes.
    pub mb: u32,
}

impl Div<MegabytesPerSecond> for Megabytes {
    type Output = Milliseconds;
    /// The time that a transfer takes. An infinite rate takes none.
    ///
    /// ```
    /// use scale_model::{Megabytes, MegabytesPerSecond, Milliseconds};
    /// // 25 MB at 100 MB/s take a quarter of a second.
    /// assert_eq!(Megabytes(25.0) / MegabytesPerSecond(100.0), Milliseconds(250.0));
    /// assert_eq!(Megabytes(25.0) / MegabytesPerSecond(f64::INFINITY), Milliseconds(0.0));
    /// ```
    #[inline]
    fn div(self, rate: MegabytesPerSecond) -> Milliseconds {
        Milliseconds(self.0 * 1000.0 / rate.0)
    }
}

impl Div<Cores> for CoreMilliseconds {
    type Output = Milliseconds;
    /// The time that work takes on a share of a node.
    ///
    /// ```
    /// use scale_model::{CoreMilliseconds, Cores, Milliseconds};
    /// // 90 core-milliseconds on half a core last 180 ms.
    /// assert_eq!(CoreMilliseconds(90.0) / Cores { milli: 500 }, Milliseconds(180.0));
    /// ```
    #[inline]
    fn div(self, cores: Cores) -> Milliseconds {
        Milliseconds(self.0 * 1000.0 / f64::from(cores.milli))
    }
}

impl Mul<Milliseconds> for Cores {
    type Output = CoreMilliseconds;
    /// The work that a share of a node does in a time.
    #[inline]
    fn mul(self, time: Milliseconds) -> CoreMilliseconds {
        CoreMilliseconds(f64::from(self.milli) / 1000.0 * time.0)
    }
}

impl Add for Milliseconds {
    type Output = Milliseconds;
    #[inline]
    fn add(self, other: Milliseconds) -> Milliseconds {
        Milliseconds(self.0 + other.0)
    }
}

impl AddAssign for Milliseconds {
    #[inline]
    fn add_assign(&mut self, other: Milliseconds) {
        self.0 += other.0;
    }
}

impl Add<Milliseconds> for Time {
    type Output = Time;
    #[inline]
    fn add(self, duration: Milliseconds) -> Time {
        Time(self.0 + duration.0)
    }
}

impl Sub for Time {
    type Output = Milliseconds;
    #[inline]
    fn sub(self, earlier: Time) -> Milliseconds {
        Milliseconds(self.0 - earlier.0)
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Time) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Time {}
impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Time {
    #[inline]
    fn cmp(&self, other: &Time) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Cores {
    /// The nearest thousandth to a number of cores, or `None` if it is negative, not finite or above four million.
    ///
    /// ```
    /// use scale_model::Cores;
    /// assert_eq!(Cores::nearest(0.45), Some(Cores { milli: 450 }));
    /// assert_eq!(Cores::nearest(-1.0), None);
    /// assert_eq!(Cores::nearest(f64::NAN), None);
    /// ```
    #[must_use]
    pub fn nearest(cores: f64) -> Option<Cores> {
        let milli = (cores * 1000.0).round();
        (cores >= 0.0 && milli <= f64::from(u32::MAX)).then_some(Cores { milli: milli as u32 })
    }

    /// As a number of cores.
    #[inline]
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.milli) / 1000.0
    }

    /// The sum, or the largest number there is: above every capacity, see `Platform::validate`.
    #[inline]
    #[must_use]
    pub fn saturating_add(self, other: Cores) -> Cores {
        Cores { milli: self.milli.saturating_add(other.milli) }
    }

    /// The difference, or `None` if it would be negative.
    #[inline]
    #[must_use]
    pub fn checked_sub(self, other: Cores) -> Option<Cores> {
        Some(Cores { milli: self.milli.checked_sub(other.milli)? })
    }
}

impl Memory {
    /// The smallest whole number of megabytes that holds `mb`, or `None` if it is negative, not finite or above
    /// four million gigabytes. Platforms sell memory in whole megabytes: a container that needs 128.5 MB gets 129.
    ///
    /// ```
    /// use scale_model::Memory;
    /// assert_eq!(Memory::at_least(128.5), Some(Memory { mb: 129 }));
    /// assert_eq!(Memory::at_least(f64::INFINITY), None);
    /// ```
    #[must_use]
    pub fn at_least(mb: f64) -> Option<Memory> {
        let whole = mb.ceil();
        (mb >= 0.0 && whole <= f64::from(u32::MAX)).then_some(Memory { mb: whole as u32 })
    }

    /// As a number of megabytes.
    #[inline]
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.mb)
    }

    /// The sum, or the largest number there is: above every capacity, see `Platform::validate`.
    #[inline]
    #[must_use]
    pub fn saturating_add(self, other: Memory) -> Memory {
        Memory { mb: self.mb.saturating_add(other.mb) }
    }

    /// The difference, or `None` if it would be negative.
    #[inline]
    #[must_use]
    pub fn checked_sub(self, other: Memory) -> Option<Memory> {
        Some(Memory { mb: self.mb.checked_sub(other.mb)? })
    }
}

impl Add for Cores {
    type Output = Cores;
    #[inline]
    fn add(self, other: Cores) -> Cores {
        Cores { milli: self.milli + other.milli }
    }
}
impl AddAssign for Cores {
    #[inline]
    fn add_assign(&mut self, other: Cores) {
        self.milli += other.milli;
    }
}
impl SubAssign for Cores {
    #[inline]
    fn sub_assign(&mut self, other: Cores) {
        self.milli -= other.milli;
    }
}
impl Add for Memory {
    type Output = Memory;
    #[inline]
    fn add(self, other: Memory) -> Memory {
        Memory { mb: self.mb + other.mb }
    }
}
impl AddAssign for Memory {
    #[inline]
    fn add_assign(&mut self, other: Memory) {
        self.mb += other.mb;
    }
}
impl SubAssign for Memory {
    #[inline]
    fn sub_assign(&mut self, other: Memory) {
        self.mb -= other.mb;
    }
}

impl Serialize for Cores {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

impl<'de> Deserialize<'de> for Cores {
    /// Reads a number of cores; one that is not a whole number of thousandths is an error, not rounded.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cores, D::Error> {
        let cores = f64::deserialize(deserializer)?;
        match Cores::nearest(cores) {
            // Decimal fractions are not exact in binary: 1e-9 is far below a thousandth and far above the rounding.
            Some(nearest) if (nearest.as_f64() - cores).abs() <= 1e-9 * cores.max(1.0) => Ok(nearest),
            _ => Err(de::Error::custom(format!(
                "{cores}: expected a number of cores from 0 to 4294967.295 with at most three decimals"
            ))),
        }
    }
}

impl Serialize for Memory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.mb)
    }
}

impl<'de> Deserialize<'de> for Memory {
    /// Reads a number of megabytes; one that is not whole is an error, not rounded.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Memory, D::Error> {
        let mb = f64::deserialize(deserializer)?;
        match Memory::at_least(mb) {
            Some(memory) if memory.as_f64() == mb => Ok(memory),
            _ => Err(de::Error::custom(format!("{mb}: expected a whole number of MB from 0 to 4294967295"))),
        }
    }
}

impl fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}
/// ```
/// assert_eq!(scale_model::Megabytes(0.5).to_string(), "0.5 MB");
/// ```
impl fmt::Display for Megabytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MB", self.0)
    }
}
/// ```
/// assert_eq!(scale_model::MegabytesPerSecond(25.0).to_string(), "25 MB/s");
/// assert_eq!(scale_model::MegabytesPerSecond(f64::INFINITY).to_string(), "inf MB/s");
/// ```
impl fmt::Display for MegabytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MB/s", self.0)
    }
}
/// ```
/// assert_eq!(scale_model::Gigahertz(2.4).to_string(), "2.4 GHz");
/// ```
impl fmt::Display for Gigahertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} GHz", self.0)
    }
}
/// ```
/// assert_eq!(scale_model::CoreMilliseconds(75.0).to_string(), "75 core-ms");
/// ```
impl fmt::Display for CoreMilliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} core-ms", self.0)
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t = {} ms", self.0)
    }
}
impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cores", self.as_f64())
    }
}
impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MB", self.mb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_and_memory_are_read_exactly_or_not_at_all() {
        let cores =
            |text: &str| serde_json::from_str::<Cores>(text).map(|c| c.milli).map_err(|e| e.to_string());
        assert_eq!(cores("0.45"), Ok(450));
        assert_eq!(cores("2"), Ok(2000));
        assert_eq!(cores("3.599"), Ok(3599));
        for bad in ["0.4505", "-1", "1e300"] {
            let error = cores(bad).expect_err(bad);
            assert!(error.contains("three decimals"), "{error}");
        }
        let memory =
            |text: &str| serde_json::from_str::<Memory>(text).map(|m| m.mb).map_err(|e| e.to_string());
        assert_eq!(memory("128.0"), Ok(128));
        for bad in ["128.5", "-1", "1e300"] {
            assert!(memory(bad).expect_err(bad).contains("whole number"));
        }
    }

    #[test]
    fn cores_print_as_they_were_written() {
        for milli in 0..10_000 {
            let text = serde_json::to_string(&Cores { milli }).expect("a number");
            assert_eq!(serde_json::from_str::<Cores>(&text).expect("the same number"), Cores { milli });
            assert!(text.len() <= 5, "{text}");
        }
    }
}
