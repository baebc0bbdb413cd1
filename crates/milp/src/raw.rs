//! An instance of HiGHS behind its C interface.
//!
//! The safe crates above `highs-sys` hide what a proof consists of (the bound, the number of nodes, the exact status)
//! and cannot add columns to a model that is solved already, hence this file, the only one of the workspace with
//! `unsafe` in it.
#![allow(unsafe_code)] // The C interface is the reason for this file; each block says why it is sound.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{NonNull, null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};

use highs_sys as ffi;
use highs_sys::HighsInt;

use crate::highs::{ColumnValue, HighsOptions, Incumbent, MilpError, ModelStatus};

/// An instance of HiGHS, freed at the end.
///
/// A raw pointer is neither `Send` nor `Sync`, so an instance stays on its thread.
pub(crate) struct Highs(NonNull<c_void>);

impl Drop for Highs {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from Highs_create, and nobody else has it.
        unsafe { ffi::Highs_destroy(self.0.as_ptr()) }
    }
}

impl Highs {
    pub(crate) fn new() -> Result<Highs, MilpError> {
        // SAFETY: no precondition.
        let pointer = unsafe { ffi::Highs_create() };
        NonNull::new(pointer).map(Highs).ok_or(MilpError::Failed { call: "Highs_create" })
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
        let status =
            unsafe { ffi::Highs_setBoolOptionValue(self.0.as_ptr(), key.as_ptr(), HighsInt::from(value)) };
        accepted(status, name, value)
    }

    pub(crate) fn set_int(&mut self, name: &'static str, key: &CStr, value: i64) -> Result<(), MilpError> {
        let Ok(number) = HighsInt::try_from(value) else {
            return Err(MilpError::Option { name, value: value.to_string() });
        };
        // SAFETY: as above.
        let status = unsafe { ffi::Highs_setIntOptionValue(self.0.as_ptr(), key.as_ptr(), number) };
        accepted(status, name, value)
    }

    pub(crate) fn set_double(&mut self, name: &'static str, key: &CStr, value: f64) -> Result<(), MilpError> {
        // HiGHS compares with its limits, and every comparison with NaN is false.
        if value.is_nan() {
            return Err(MilpError::Option { name, value: value.to_string() });
        }
        // SAFETY: as above.
        let status = unsafe { ffi::Highs_setDoubleOptionValue(self.0.as_ptr(), key.as_ptr(), value) };
        accepted(status, name, value)
    }

    /// Reads a model from a file.
    pub(crate) fn read(&mut self, path: &CStr) -> Result<(), MilpError> {
        // SAFETY: a live instance, and a string with its NUL that is only read during the call.
        let status = unsafe { ffi::Highs_readModel(self.0.as_ptr(), path.as_ptr()) };
        // A warning means that HiGHS has left something out, so it would solve another model.
        if status == ffi::STATUS_OK { Ok(()) } else { Err(MilpError::NotAModel) }
    }

    pub(crate) fn run(&mut self) -> Result<(), MilpError> {
        // SAFETY: a live instance.
        let status = unsafe { ffi::Highs_run(self.0.as_ptr()) };
        // A run that reaches a limit ends with a warning.
        if status == ffi::STATUS_ERROR { Err(MilpError::Failed { call: "Highs_run" }) } else { Ok(()) }
    }

    pub(crate) fn status(&self) -> ModelStatus {
        // SAFETY: a live instance.
        ModelStatus::of(unsafe { ffi::Highs_getModelStatus(self.0.as_ptr()) })
    }

    pub(crate) fn int_info(&self, name: &CStr) -> Result<HighsInt, MilpError> {
        let mut value = 0;
        // SAFETY: a live instance, a string with its NUL, and a place for the value that HiGHS writes.
        let status = unsafe { ffi::Highs_getIntInfoValue(self.0.as_ptr(), name.as_ptr(), &mut value) };
        done(status, "Highs_getIntInfoValue").map(|()| value)
    }

    pub(crate) fn int64_info(&self, name: &CStr) -> Result<i64, MilpError> {
        let mut value = 0;
        // SAFETY: as above; the header gives int64_t here, whatever HighsInt is.
        let status = unsafe { ffi::Highs_getInt64InfoValue(self.0.as_ptr(), name.as_ptr(), &mut value) };
        done(status, "Highs_getInt64InfoValue").map(|()| value)
    }

    pub(crate) fn double_info(&self, name: &CStr) -> Result<f64, MilpError> {
        let mut value = 0.0;
        // SAFETY: as above.
        let status = unsafe { ffi::Highs_getDoubleInfoValue(self.0.as_ptr(), name.as_ptr(), &mut value) };
        done(status, "Highs_getDoubleInfoValue").map(|()| value)
    }

    pub(crate) fn incumbent(&self) -> Result<Incumbent, MilpError> {
        // SAFETY: a live instance.
        let count = unsafe { ffi::Highs_getNumCol(self.0.as_ptr()) };
        let size = usize::try_from(count).map_err(|_| MilpError::Failed { call: "Highs_getNumCol" })?;
        let mut values = vec![0.0; size];
        let nowhere = std::ptr::null_mut();
        // SAFETY: the buffer has room for a value of each column; HiGHS skips the arrays that are null.
        let status = unsafe {
            ffi::Highs_getSolution(self.0.as_ptr(), values.as_mut_ptr(), nowhere, nowhere, nowhere)
        };
        done(status, "Highs_getSolution")?;
        let columns = (0..count).zip(values).map(|(column, value)| {
            let name = self.column_name(column)?;
            Ok(ColumnValue { name, value })
        });
        let columns = columns.collect::<Result<_, MilpError>>()?;
        // SAFETY: a live instance.
        let objective = unsafe { ffi::Highs_getObjectiveValue(self.0.as_ptr()) };
        Ok(Incumbent { objective, columns })
    }

    fn column_name(&self, column: HighsInt) -> Result<String, MilpError> {
        let mut buffer: [c_char; 512] = [0; 512];
        // SAFETY: the buffer has the 512 bytes that the header asks for, and no name comes near them: `solve_mps` has
        // refused those above NAME_LIMIT.
        let status = unsafe { ffi::Highs_getColName(self.0.as_ptr(), column, buffer.as_mut_ptr()) };
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

