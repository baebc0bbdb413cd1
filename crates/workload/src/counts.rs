//! Requests per minute and function, day by day: what a trace says and what the generator makes.

use crate::error::{WorkloadError, ranges};
use scale_model::{FunctionId, Invalid};
use std::collections::BTreeMap;

/// Minutes in a day.
pub const MINUTES: usize = 1440;

/// Requests per minute of each function, for some days.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MinuteCounts {
    /// Names of the functions, the same for all days. A trace of Huawei names them by number, from "0".
    pub functions: Vec<String>,
    /// The days, by number. A trace may have holes.
    pub days: BTreeMap<u32, DayCounts>,
}

/// Requests per minute of each function, for one day.
///
/// A count is a whole number by its type: a trace with fractions is refused where it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayCounts {
    functions: usize,
    /// Minute by minute, one cell a function; [`NO_DATA`] is not a count. Private because of its length and of that
    /// value: an `Option<u32>` would take twice the space, and a trace has 40 million cells.
    cells: Vec<u32>,
}

/// The cell of a minute for which the trace has no data.
pub(crate) const NO_DATA: u32 = u32::MAX;

/// The largest count of a cell.
pub const MAX_COUNT: u32 = NO_DATA - 1;

impl MinuteCounts {
    /// One day.
    ///
    /// # Errors
    /// If it is missing: the message names the days that exist.
    pub fn day(&self, day: u32) -> Result<&DayCounts, WorkloadError> {
        self.days.get(&day).ok_or_else(|| WorkloadError::MissingDay {
            place: "the counts".into(),
            wanted: day,
            available: ranges(self.days.keys().copied()),
        })
    }

    /// The functions by number, column by column, out of a catalogue of `known` functions.
    ///
    /// # Errors
    /// If a name is not the number of one of them.
    pub fn function_ids(&self, known: usize) -> Result<Vec<FunctionId>, WorkloadError> {
        let id = |(column, name): (usize, &String)| {
            name.parse().ok().map(FunctionId).filter(|id| id.index() < known).ok_or_else(|| {
                let field = format!("counts.functions[{column}]");
                let expected = "the number of a function of the catalogue";
                Invalid { field, value: format!("{name:?}"), expected }.into()
            })
        };
        self.functions.iter().enumerate().map(id).collect()
    }

    /// All requests of all days.
    pub fn total(&self) -> u64 {
        self.days.values().map(DayCounts::total).sum()
    }
}

impl DayCounts {
    /// A day without data.
    #[must_use]
    pub fn empty(functions: usize) -> DayCounts {
        DayCounts { functions, cells: vec![NO_DATA; MINUTES * functions] }
    }

    /// How many functions there are.
    pub fn functions(&self) -> usize {
        self.functions
    }

    /// Requests in a minute of the day (0-1439), or `None` if the trace has no data, which is not the same as 0.
    ///
    /// # Panics
    /// If there is no such minute or function.
    #[inline]
    pub fn get(&self, minute: usize, function: usize) -> Option<u32> {
        let count = self.row(minute)[function];
        (count != NO_DATA).then_some(count)
    }

    /// Sets the count of a minute; more than [`MAX_COUNT`] counts as [`MAX_COUNT`].
    ///
    /// # Panics
    /// If there is no such minute or function.
    #[inline]
    pub fn set(&mut self, minute: usize, function: usize, count: Option<u32>) {
        assert!(function < self.functions, "function {function} of {}", self.functions);
        self.cells[minute * self.functions + function] = count.map_or(NO_DATA, |count| count.min(MAX_COUNT));
    }

    /// The counts of a minute, function by function.
    ///
    /// # Panics
    /// If there is no such minute.
    pub fn minute(&self, minute: usize) -> impl ExactSizeIterator<Item = Option<u32>> + '_ {
        self.row(minute).iter().map(|&count| (count != NO_DATA).then_some(count))
    }

    /// The counts of a function, minute by minute.
    ///
    /// # Panics
    /// If there is no such function.
    pub fn series(&self, function: usize) -> impl ExactSizeIterator<Item = Option<u32>> + '_ {
        (0..MINUTES).map(move |minute| self.get(minute, function))
    }

    /// All requests of the day.
    pub fn total(&self) -> u64 {
        self.cells.iter().filter(|&&count| count != NO_DATA).map(|&count| u64::from(count)).sum()
    }

    /// All requests of a function on this day.
    ///
    /// # Panics
    /// If there is no such function.
    pub fn function_total(&self, function: usize) -> u64 {
        self.series(function).flatten().map(u64::from).sum()
    }

    /// Requests per minute of a function, over the minutes that have data; `None` if none has.
    ///
    /// # Panics
    /// If there is no such function.
    pub fn mean_per_minute(&self, function: usize) -> Option<f64> {
        let known = self.series(function).flatten().count();
        (known > 0).then(|| self.function_total(function) as f64 / known as f64)
    }

    /// How many cells have no data.
    pub fn no_data(&self) -> u64 {
        self.cells.iter().filter(|&&count| count == NO_DATA).count() as u64
    }

    fn row(&self, minute: usize) -> &[u32] {
        &self.cells[minute * self.functions..][..self.functions]
    }

    /// The counts of a minute for a reader to fill in, as they are stored.
    pub(crate) fn row_mut(&mut self, minute: usize) -> &mut [u32] {
        &mut self.cells[minute * self.functions..][..self.functions]
    }
}
