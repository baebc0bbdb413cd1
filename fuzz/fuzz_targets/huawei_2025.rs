//! libFuzzer on the reader `huawei_2025`.
#![no_main]
#![allow(missing_docs, reason = "the macro makes functions without docs")]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| scale_fuzz::run("huawei_2025", bytes));
