//! Builds a [`Workload`](scale_model::Workload): from a trace (Azure 2019 and 2021, Huawei 2023 and 2025, or a table of
//! your own), or from synthetic counts with the same statistics, or from both.
//!
//! # Reading order
//! 1. [`counts`]: requests per minute and function, the form in which a trace and the generator meet.
//! 2. [`trace`]: every layout as rows, with a rule for every fault; [`own`] is our own layout, [`input`] opens files.
//!    [`collect`]: from rows to counts. [`describe`]: what a trace is like. [`write_azure`]: a trace as Azure 2019.
//! 3. [`catalogue`](mod@catalogue): functions and how their requests behave. [`generator`]: synthetic counts, and how real
//!    ones replace them. [`calibrate`]: a generator that is fitted to a trace.
//! 4. [`huawei`]: the counts of Huawei's traces of 2023 at once, without rows, as the experiments of the paper want them.
//! 5. [`arrivals`]: from counts to requests, each with its instant, source, SLO, CPU time and input.
//! 6. [`error`]: what can be wrong.
//!
//! Every number comes from a seed, in streams with labels of their own. Train and test take different days: a day's
//! counts do not depend on which other days are made, and its arrivals only on its counts.
//!
//! ```
//! use scale_model::{
//!     Cores, CoreMilliseconds, Function, Gigahertz, Links, Megabytes, MegabytesPerSecond, Memory, Milliseconds, Node,
//!     Platform, Position, Seed, Time, Topology,
//! };
//! use scale_workload::{ArrivalSpec, Catalogue, Course, DayCounts, MinuteCounts, Profile, generate};
//!
//! // One function on one node. In the first two minutes of day 3 it is called three times and once.
//! let function = Function {
//!     name: "f".into(),
//!     image: Megabytes(15.0),
//!     init: Milliseconds(80.0),
//!     memory: Memory { mb: 128 },
//!     cores: Cores { milli: 500 },
//! };
//! let profile = Profile {
//!     mean_comp_ms: 150.0,
//!     comp_request_cv: 0.0,
//!     mean_input_mb: 0.5,
//!     input_request_cv: 0.0,
//!     rate_per_minute: 2.0,
//!     burstiness: 0.0,
//! };
//! let catalogue = Catalogue { functions: vec![function], profiles: vec![profile] };
//! let node = Node {
//!     name: "a".into(),
//!     kind: 0,
//!     position: Position { latitude: 0.0, longitude: 0.0 },
//!     frequency: Gigahertz(3.0),
//!     cores: Cores { milli: 3000 },
//!     memory: Memory { mb: 16_000 },
//!     registry_bandwidth: MegabytesPerSecond(100.0),
//! };
//! let links = Links::from_fn(1, |_, _| MegabytesPerSecond(25.0))?;
//! let topology = Topology { nodes: vec![node], links };
//! let platform = Platform { topology, functions: catalogue.functions.clone() };
//! let mut day = DayCounts::empty(1);
//! day.set(0, 0, Some(3));
//! day.set(1, 0, Some(1));
//! let counts = MinuteCounts { functions: vec!["0".into()], days: [(3, day)].into() };
//!
//! // The trace's own counts, in real time, on a grid of 50 ms.
//! let spec = ArrivalSpec {
//!     day: 3,
//!     warmup_minutes: 0,
//!     minutes: Some(3),
//!     minute_ms: 60_000.0,
//!     load: None,
//!     course: Course::Trace,
//!     window_ms: 50.0,
//!     zipf_beta: 0.8,
//!     slo_ms: [200.0, 400.0],
//! };
//! let made = generate(&spec, &counts, &catalogue, &platform, Seed(1))?;
//! let requests = &made.workload.requests;
//! assert_eq!(requests.iter().filter(|request| request.arrival <= Time(60_000.0)).count(), 3);
//! assert_eq!(requests.len(), 4);
//! assert!(requests.iter().all(|request| request.cpu_time == CoreMilliseconds(75.0))); // 150 ms on half a core
//! assert_eq!(made.no_data, 1); // the third minute
//!
//! // A load instead: in each minute of three, 0.9 of 3 cores are 2.7 cores or 5.4 requests, where the trace has 4 / 3.
//! let spec = ArrivalSpec { load: Some(0.9), minute_ms: 50.0, ..spec };
//! let made = generate(&spec, &counts, &catalogue, &platform, Seed(1))?;
//! assert_eq!(made.factors, Some(vec![5.4 / (4.0 / 3.0); 3]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod arrivals;
mod azure_2019;
mod azure_2021;
pub mod calibrate;
pub mod catalogue;
pub mod collect;
pub mod counts;
pub mod describe;
pub mod error;
#[cfg(test)]
mod fixtures;
pub mod generator;
pub mod huawei;
mod huawei_2023;
mod huawei_2025;
pub mod input;
pub mod own;
mod random;
pub mod trace;
mod wide;
pub mod write_azure;

pub use arrivals::{ArrivalSpec, Course, Generated, generate};
pub use catalogue::{Catalogue, CatalogueSpec, Lognormal, Pool, Profile, catalogue};
pub use counts::{DayCounts, MinuteCounts};
pub use error::WorkloadError;
pub use generator::{GeneratorSpec, overlay, synthetic_counts};
pub use huawei::{DayFile, ReadReport, read_day, read_folder};
pub use trace::{
    Fault, Format, Gap, Note, OnBad, Origin, Quantity, Row, Rules, Tally, Trace, TraceFunction, Value,
};
