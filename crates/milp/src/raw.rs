//! An instance of HiGHS behind its C interface.
//!
//! The safe crates above `highs-sys` hide what a proof consists of (the bound, the number of nodes, the exact status)
//! and cannot add columns to a model that is solved already, hence this file, the only one of the workspace with
//! `unsafe` in it.
#![allow(unsafe_code)] // The C interface is the reason for this file; each block says why it is sound.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use highs::{Model, SolvedModel};
use highs_sys as ffi;
use highs_sys::HighsInt;

use crate::highs::{ColumnValue, HighsOptions, Incumbent, MilpError, ModelStatus};
use crate::progress::Watch;

/// An instance of HiGHS, freed at the end.
///
/// A raw pointer is neither `Send` nor `Sync`, so an instance stays on its thread.
pub(crate) struct Highs<'a> {
    pointer: NonNull<c_void>,
    /// What the callback looks at; kept here because HiGHS has its address.
    listener: Option<Box<Listener<'a>>>,
}

/// What HiGHS calls back to.
pub(crate) struct Listener<'a> {
    /// Ends the run soon after it becomes true.
    pub(crate) cancel: Option<Arc<AtomicBool>>,
    /// Hears how far the run is, and may end it.
    pub(crate) watch: Option<&'a Watch<'a>>,
}

/// Columns of a program: costs, bounds 0 and `upper`, and the nonzeros column by column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    cost: Vec<f64>,
    upper: Vec<f64>,
    starts: Vec<HighsInt>,
    rows: Vec<HighsInt>,
    values: Vec<f64>,
}

impl Columns {
    /// Adds a column with (row, coefficient) pairs.
    pub(crate) fn push(&mut self, cost: f64, upper: f64, entries: impl IntoIterator<Item = (usize, f64)>) {
        self.cost.push(cost);
        self.upper.push(upper);
        self.starts.push(self.rows.len() as HighsInt);
        for (row, value) in entries {
            self.rows.push(row as HighsInt);
            self.values.push(value);
        }
    }

    /// Takes the costs out.
    pub(crate) fn for_free(&mut self) {
        self.cost.fill(0.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.cost.len()
    }

    /// What these values of the columns cost.
    pub(crate) fn cost_of(&self, values: &[f64]) -> f64 {
        self.cost.iter().zip(values).map(|(cost, value)| cost * value).sum()
    }
}

/// Sides of the rows of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
}

impl Drop for Highs<'_> {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from Highs_create, and nobody else has it.
        unsafe { ffi::Highs_destroy(self.pointer.as_ptr()) }
    }
}

impl<'a> Highs<'a> {
    pub(crate) fn new() -> Result<Highs<'a>, MilpError> {
        // SAFETY: no precondition.
        let pointer = unsafe { ffi::Highs_create() };
        let pointer = NonNull::new(pointer).ok_or(MilpError::Failed { call: "Highs_create" })?;
        Ok(Highs { pointer, listener: None })
    }

    pub(crate) fn set(&mut self, options: &HighsOptions) -> Result<(), MilpError> {
        let HighsOptions { random_seed, mip_rel_gap, node_limit, time_limit } = options;
        // First of all, so that nothing is printed about the others.
        self.set_bool("output_flag", c"output_flag", false)?;
        self.set_int("threads", c"threads", 1)?;
        self.set_int("random_seed", c"random_seed", i64::from(*random_seed))?;
        self.set_double("mip_rel_gap", c"mip_rel_gap", *mip_rel_gap)?;
        if let Some(nodes) = node_limit {
            self.set_int("mip_max_nodes", c"mip_max_nodes", i64::from(*nodes))?;
        }
        if let Some(time) = time_limit {
            self.set_double("time_limit", c"time_limit", time.as_secs_f64())?;
        }
        Ok(())
    }

    pub(crate) fn set_bool(&mut self, name: &'static str, key: &CStr, value: bool) -> Result<(), MilpError> {
        // SAFETY: a live instance, and a string with its NUL that is only read during the call.
        let status = unsafe {
            ffi::Highs_setBoolOptionValue(self.pointer.as_ptr(), key.as_ptr(), HighsInt::from(value))
        };
        accepted(status, name, value)
    }

    pub(crate) fn set_int(&mut self, name: &'static str, key: &CStr, value: i64) -> Result<(), MilpError> {
        let Ok(number) = HighsInt::try_from(value) else {
            return Err(MilpError::Option { name, value: value.to_string() });
        };
        // SAFETY: as above.
        let status = unsafe { ffi::Highs_setIntOptionValue(self.pointer.as_ptr(), key.as_ptr(), number) };
        accepted(status, name, value)
    }

    pub(crate) fn set_double(&mut self, name: &'static str, key: &CStr, value: f64) -> Result<(), MilpError> {
        // HiGHS compares with its limits, and every comparison with NaN is false.
        if value.is_nan() {
            return Err(MilpError::Option { name, value: value.to_string() });
        }
        // SAFETY: as above.
        let status = unsafe { ffi::Highs_setDoubleOptionValue(self.pointer.as_ptr(), key.as_ptr(), value) };
        accepted(status, name, value)
    }

    pub(crate) fn set_text(&mut self, name: &'static str, key: &CStr, value: &CStr) -> Result<(), MilpError> {
        // SAFETY: a live instance, and strings with their NUL that are only read during the call.
        let status =
            unsafe { ffi::Highs_setStringOptionValue(self.pointer.as_ptr(), key.as_ptr(), value.as_ptr()) };
        accepted(status, name, value.to_string_lossy())
    }

    /// Passes the log of HiGHS on to `tracing`, if anyone reads it there, and listens as the listener says.
    pub(crate) fn listen(&mut self, listener: Listener<'a>) -> Result<(), MilpError> {
        let listener = self.listener.insert(Box::new(listener));
        // SAFETY: a live instance; the box lives as long as it, at the same place.
        unsafe { listen(self.pointer.as_ptr(), listener) }
    }

    /// Time for the runs from now on; those before count no more.
    pub(crate) fn limit_time(&mut self, time: Option<Duration>) -> Result<(), MilpError> {
        // SAFETY: a live instance.
        let status = unsafe { ffi::Highs_zeroAllClocks(self.pointer.as_ptr()) };
        done(status, "Highs_zeroAllClocks")?;
        let seconds = time.map_or(f64::INFINITY, |time| time.as_secs_f64());
        self.set_double("time_limit", c"time_limit", seconds)
    }

    /// Takes a program: min cost, rows within their sides, columns between 0 and their upper bounds.
    pub(crate) fn pass(&mut self, rows: &Rows, columns: &Columns, integer: bool) -> Result<(), MilpError> {
        let zeros = vec![0.0; columns.len()];
        let kinds = vec![HighsInt::from(integer); columns.len()];
        assert_eq!(rows.lower.len(), rows.upper.len());
        // SAFETY: a live instance. Every array has the length that is given for it: one entry a column, a row or a
        // nonzero (`push` keeps the lists of columns equally long, the assertion those of rows); `starts` has one entry a
        // column, all that HiGHS reads. It copies them during the call.
        let status = unsafe {
            ffi::Highs_passMip(
                self.pointer.as_ptr(),
                columns.len() as HighsInt,
                rows.lower.len() as HighsInt,
                columns.rows.len() as HighsInt,
                ffi::kHighsMatrixFormatColwise,
                ffi::kHighsObjSenseMinimize,
                0.0,
                columns.cost.as_ptr(),
                zeros.as_ptr(),
                columns.upper.as_ptr(),
                rows.lower.as_ptr(),
                rows.upper.as_ptr(),
                columns.starts.as_ptr(),
                columns.rows.as_ptr(),
                columns.values.as_ptr(),
                if integer { kinds.as_ptr() } else { null() },
            )
        };
        done(status, "Highs_passMip")
    }

    /// Where the simplex method starts: with these columns and the slacks of these rows, as many as there are rows.
    pub(crate) fn start_with(&mut self, columns: &[bool], rows: &[bool]) -> Result<(), MilpError> {
        self.expect_columns(columns.len())?;
        let basic = |flags: &[bool], other: HighsInt| -> Vec<HighsInt> {
            flags.iter().map(|&basic| if basic { ffi::kHighsBasisStatusBasic } else { other }).collect()
        };
        let columns = basic(columns, ffi::kHighsBasisStatusLower);
        let rows = basic(rows, ffi::kHighsBasisStatusUpper);
        // SAFETY: a live instance; one status for each column and each row.
        let status = unsafe { ffi::Highs_setBasis(self.pointer.as_ptr(), columns.as_ptr(), rows.as_ptr()) };
        done(status, "Highs_setBasis")
    }

    /// Adds columns to the program; the basis of the last run is kept.
    pub(crate) fn add(&mut self, columns: &Columns) -> Result<(), MilpError> {
        let zeros = vec![0.0; columns.len()];
        // SAFETY: as for `pass`.
        let status = unsafe {
            ffi::Highs_addCols(
                self.pointer.as_ptr(),
                columns.len() as HighsInt,
                columns.cost.as_ptr(),
                zeros.as_ptr(),
                columns.upper.as_ptr(),
                columns.rows.len() as HighsInt,
                columns.starts.as_ptr(),
                columns.rows.as_ptr(),
                columns.values.as_ptr(),
            )
        };
        done(status, "Highs_addCols")
    }

    /// Adds rows: the most that each may come to, and (column, coefficient) pairs.
    pub(crate) fn add_rows(
        &mut self,
        rows: impl Iterator<Item = (f64, Vec<(usize, f64)>)>,
    ) -> Result<(), MilpError> {
        let (mut upper, mut starts, mut columns, mut values) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (side, entries) in rows {
            upper.push(side);
            starts.push(columns.len() as HighsInt);
            columns.extend(entries.iter().map(|&(column, _)| column as HighsInt));
            values.extend(entries.iter().map(|&(_, value)| value));
        }
        let lower = vec![f64::NEG_INFINITY; upper.len()];
        // SAFETY: a live instance. Every array has the length that is given for it, one entry a row or a nonzero, and HiGHS answers
        // with an error if there is no such column. It copies them during the call.
        let status = unsafe {
            ffi::Highs_addRows(
                self.pointer.as_ptr(),
                upper.len() as HighsInt,
                lower.as_ptr(),
                upper.as_ptr(),
                columns.len() as HighsInt,
                starts.as_ptr(),
                columns.as_ptr(),
                values.as_ptr(),
            )
        };
        done(status, "Highs_addRows")
    }

    /// Fixes a column at 0.
    pub(crate) fn close(&mut self, column: usize) -> Result<(), MilpError> {
        self.bound(column, 0.0)
    }

    /// Fixes a column at 1.
    pub(crate) fn fix(&mut self, column: usize) -> Result<(), MilpError> {
        self.bound(column, 1.0)
    }

    fn bound(&mut self, column: usize, value: f64) -> Result<(), MilpError> {
        // SAFETY: a live instance; HiGHS answers with an error if there is no such column.
        let status =
            unsafe { ffi::Highs_changeColBounds(self.pointer.as_ptr(), column as HighsInt, value, value) };
        done(status, "Highs_changeColBounds")
    }

    /// Where the search starts: a value for every column.
    pub(crate) fn start_at(&mut self, values: &[f64]) -> Result<(), MilpError> {
        self.expect_columns(values.len())?;
        // SAFETY: a live instance; one value a column, as just checked. HiGHS skips the arrays that are null.
        let status =
            unsafe { ffi::Highs_setSolution(self.pointer.as_ptr(), values.as_ptr(), null(), null(), null()) };
        done(status, "Highs_setSolution")
    }

    /// The values of the columns.
    pub(crate) fn values(&self) -> Result<Vec<f64>, MilpError> {
        // SAFETY: a live instance.
        let count = unsafe { ffi::Highs_getNumCol(self.pointer.as_ptr()) };
        let size = usize::try_from(count).map_err(|_| MilpError::Failed { call: "Highs_getNumCol" })?;
        let mut values = vec![0.0; size];
        // SAFETY: the buffer has room for a value of each column; HiGHS skips the arrays that are null.
        let status = unsafe {
            ffi::Highs_getSolution(
                self.pointer.as_ptr(),
                values.as_mut_ptr(),
                null_mut(),
                null_mut(),
                null_mut(),
            )
        };
        done(status, "Highs_getSolution").map(|()| values)
    }

    /// Whether the last run has found a solution.
    pub(crate) fn has_solution(&self) -> Result<bool, MilpError> {
        Ok(self.int_info(c"primal_solution_status")? == ffi::SOLUTION_STATUS_FEASIBLE)
    }

    /// The duals of the rows of an LP.
    pub(crate) fn row_duals(&self) -> Result<Vec<f64>, MilpError> {
        // SAFETY: a live instance.
        let count = unsafe { ffi::Highs_getNumRow(self.pointer.as_ptr()) };
        let size = usize::try_from(count).map_err(|_| MilpError::Failed { call: "Highs_getNumRow" })?;
        let mut duals = vec![0.0; size];
        // SAFETY: the buffer has room for a value of each row; HiGHS skips the arrays that are null.
        let status = unsafe {
            ffi::Highs_getSolution(
                self.pointer.as_ptr(),
                null_mut(),
                null_mut(),
                null_mut(),
                duals.as_mut_ptr(),
            )
        };
        done(status, "Highs_getSolution").map(|()| duals)
    }

    /// The objective of the last run.
    pub(crate) fn objective(&self) -> f64 {
        // SAFETY: a live instance.
        unsafe { ffi::Highs_getObjectiveValue(self.pointer.as_ptr()) }
    }

    fn expect_columns(&self, expected: usize) -> Result<(), MilpError> {
        // SAFETY: a live instance.
        let count = unsafe { ffi::Highs_getNumCol(self.pointer.as_ptr()) };
        if usize::try_from(count) == Ok(expected) {
            Ok(())
        } else {
            Err(MilpError::Failed { call: "Highs_getNumCol" })
        }
    }

    /// Reads a model from a file.
    pub(crate) fn read(&mut self, path: &CStr) -> Result<(), MilpError> {
        // SAFETY: a live instance, and a string with its NUL that is only read during the call.
        let status = unsafe { ffi::Highs_readModel(self.pointer.as_ptr(), path.as_ptr()) };
        // A warning means that HiGHS has left something out, so it would solve another model.
        if status == ffi::STATUS_OK { Ok(()) } else { Err(MilpError::NotAModel) }
    }

    pub(crate) fn run(&mut self) -> Result<(), MilpError> {
        // SAFETY: a live instance.
        let status = unsafe { ffi::Highs_run(self.pointer.as_ptr()) };
        if let Some(watch) = self.listener.as_ref().and_then(|listener| listener.watch) {
            watch.resume_panic();
        }
        // A run that reaches a limit ends with a warning.
        if status == ffi::STATUS_ERROR { Err(MilpError::Failed { call: "Highs_run" }) } else { Ok(()) }
    }

    pub(crate) fn status(&self) -> ModelStatus {
        // SAFETY: a live instance.
        ModelStatus::of(unsafe { ffi::Highs_getModelStatus(self.pointer.as_ptr()) })
    }

    pub(crate) fn int_info(&self, name: &CStr) -> Result<HighsInt, MilpError> {
        let mut value = 0;
        // SAFETY: a live instance, a string with its NUL, and a place for the value that HiGHS writes.
        let status = unsafe { ffi::Highs_getIntInfoValue(self.pointer.as_ptr(), name.as_ptr(), &mut value) };
        done(status, "Highs_getIntInfoValue").map(|()| value)
    }

    pub(crate) fn int64_info(&self, name: &CStr) -> Result<i64, MilpError> {
        let mut value = 0;
        // SAFETY: as above; the header gives int64_t here, whatever HighsInt is.
        let status =
            unsafe { ffi::Highs_getInt64InfoValue(self.pointer.as_ptr(), name.as_ptr(), &mut value) };
        done(status, "Highs_getInt64InfoValue").map(|()| value)
    }

    pub(crate) fn double_info(&self, name: &CStr) -> Result<f64, MilpError> {
        let mut value = 0.0;
        // SAFETY: as above.
        let status =
            unsafe { ffi::Highs_getDoubleInfoValue(self.pointer.as_ptr(), name.as_ptr(), &mut value) };
        done(status, "Highs_getDoubleInfoValue").map(|()| value)
    }

    pub(crate) fn incumbent(&self) -> Result<Incumbent, MilpError> {
        let values = self.values()?;
        let columns = values.into_iter().enumerate().map(|(column, value)| {
            let name = self.column_name(column as HighsInt)?;
            Ok(ColumnValue { name, value })
        });
        let columns = columns.collect::<Result<_, MilpError>>()?;
        Ok(Incumbent { objective: self.objective(), columns })
    }

    fn column_name(&self, column: HighsInt) -> Result<String, MilpError> {
        let mut buffer: [c_char; 512] = [0; 512];
        // SAFETY: the buffer has the 512 bytes that the header asks for, and no name comes near them: `solve_mps` has
        // refused those above NAME_LIMIT.
        let status = unsafe { ffi::Highs_getColName(self.pointer.as_ptr(), column, buffer.as_mut_ptr()) };
        done(status, "Highs_getColName")?;
        // SAFETY: the buffer ends with a NUL, since it began as NULs and the name is shorter.
        let name = unsafe { CStr::from_ptr(buffer.as_ptr()) };
        Ok(name.to_string_lossy().into_owned())
    }
}

fn accepted(status: HighsInt, name: &'static str, value: impl ToString) -> Result<(), MilpError> {
    match status {
        ffi::STATUS_OK => Ok(()),
        _ => Err(MilpError::Option { name, value: value.to_string() }),
    }
}

/// For calls that return a value: HiGHS warns when there is none, and then the value means nothing.
fn done(status: HighsInt, call: &'static str) -> Result<(), MilpError> {
    if status == ffi::STATUS_OK { Ok(()) } else { Err(MilpError::Failed { call }) }
}

/// Sets the callback.
///
/// # Safety
/// `pointer` is a live instance, and the listener stays where it is until that has ended its last run.
unsafe fn listen(pointer: *mut c_void, listener: &Listener<'_>) -> Result<(), MilpError> {
    let log = tracing::enabled!(target: LOG, tracing::Level::DEBUG);
    let mut kinds = Vec::new();
    if log {
        kinds.push(ffi::kHighsCallbackLogging);
    }
    if listener.cancel.is_some() || listener.watch.is_some() {
        kinds.extend([ffi::kHighsCallbackMipInterrupt, ffi::kHighsCallbackSimplexInterrupt]);
    }
    if kinds.is_empty() {
        return Ok(());
    }
    let data = std::ptr::from_ref(listener).cast_mut().cast::<c_void>();
    // SAFETY: as this function demands; the callback only reads the listener.
    done(unsafe { ffi::Highs_setCallback(pointer, Some(called), data) }, "Highs_setCallback")?;
    for (name, key, value) in
        [("log_to_console", c"log_to_console", false), ("output_flag", c"output_flag", log)]
    {
        // SAFETY: a live instance, and a string with its NUL that is only read during the call.
        let status = unsafe { ffi::Highs_setBoolOptionValue(pointer, key.as_ptr(), HighsInt::from(value)) };
        accepted(status, name, value)?;
    }
    for kind in kinds {
        // SAFETY: a live instance that has a callback.
        done(unsafe { ffi::Highs_startCallback(pointer, kind) }, "Highs_startCallback")?;
    }
    Ok(())
}

/// Solves a model of the crate `highs`, and listens meanwhile.
pub(crate) fn solve(mut model: Model, listener: &Listener<'_>) -> Result<SolvedModel, MilpError> {
    // SAFETY: a live instance; its only run is the one below, and the listener outlives this function.
    unsafe { listen(model.as_mut_ptr(), listener) }?;
    let solved = model.try_solve();
    if let Some(watch) = listener.watch {
        watch.resume_panic();
    }
    solved.map_err(|_| MilpError::Failed { call: "Highs_run" })
}

/// The target of HiGHS's log in `tracing`.
const LOG: &str = "scale_milp::highs::log";

/// What HiGHS calls now and then during a run.
unsafe extern "C" fn called(
    kind: c_int,
    message: *const c_char,
    out: *const ffi::HighsCallbackDataOut,
    answer: *mut ffi::HighsCallbackDataIn,
    data: *mut c_void,
) {
    if kind == ffi::kHighsCallbackLogging {
        if !message.is_null() {
            // SAFETY: not null, and a string with its NUL that lives during the call.
            let text = unsafe { CStr::from_ptr(message) }.to_string_lossy();
            for line in text.lines().filter(|line| !line.trim().is_empty()) {
                tracing::debug!(target: LOG, "{}", line.trim_end());
            }
        }
        return;
    }
    // SAFETY: `listen` passed the address of a listener that outlives the run.
    let listener = unsafe { &*data.cast_const().cast::<Listener<'_>>() };
    let mut stop = listener.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed));
    if let Some(watch) = listener.watch {
        stop |= if kind == ffi::kHighsCallbackMipInterrupt && !out.is_null() {
            // SAFETY: not null, and HiGHS passes its own struct.
            let out = unsafe { &*out };
            watch.hear(
                u64::try_from(out.mip_node_count).unwrap_or(0),
                out.mip_primal_bound,
                out.mip_dual_bound,
            )
        } else {
            watch.tick()
        };
    }
    if stop && !answer.is_null() {
        // SAFETY: not null, and HiGHS passes its own struct for the answer.
        unsafe { (*answer).user_interrupt = 1 };
    }
}
