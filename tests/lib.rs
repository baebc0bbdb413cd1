//! All tests that cross crates live in `cross/`; this library is empty on purpose.
