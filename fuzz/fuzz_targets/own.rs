//! libFuzzer on the reader `own`.
#![no_main]
#![allow(missing_docs, reason = "the macro makes functions without docs")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| scale_fuzz::run("own", bytes));
