//! Tests that cross crates, one module a question.

mod closed_form;
mod common;
mod data;
mod determinism;
mod evolve;
mod experiments;
mod heuristics;
mod optimum;
mod statistics;
