//! Tests of the model as one binary: oracles in [`common`], then the judge, the program and the files against them.
#![allow(clippy::unwrap_used)]

mod batches;
mod common;
mod json;
mod judge;
mod linear;
mod overflow;
mod windows;
