//! Tests of the simulator as one binary: small platforms worked by hand, then random runs against a naive simulator
//! written from DESIGN.md, section 2, and against the closed form.
#![allow(clippy::unwrap_used)]

mod by_hand;
mod closed_form;
mod common;
mod input;
mod naive;
mod parts;
