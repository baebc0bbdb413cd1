//! CPU time of this thread: the clock on the wall says little on a machine that is shared.
#![allow(clippy::disallowed_methods)] // A bench looks at the clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// CPU time that this thread has used, as Linux counts it; elsewhere the time on the wall since the first call.
pub(crate) fn time() -> Duration {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|text| text.parse().ok());
    match nanoseconds {
        Some(nanoseconds) => Duration::from_nanos(nanoseconds),
        None => FIRST.get_or_init(Instant::now).elapsed(),
    }
}
