//! What a solve says while it runs, and how it is stopped from there.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// How far a solve has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// J of the best placement so far, ms; `None` while there is none.
    pub objective: Option<f64>,
    /// No placement has a lower J, ms; `None` while nothing is proved.
    pub bound: Option<f64>,
    /// Nodes of branch-and-bound trees that were solved.
    pub nodes: u64,
    /// Wall time since the solve began.
    pub time: Duration,
}

/// Who hears of the progress; `Break` cancels the solve.
pub(crate) type Told<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;

/// At most so often someone hears of it, apart from news.
const OFTEN: Duration = Duration::from_millis(100);

/// Passes on how far a solve has come.
pub(crate) struct Watch<'a> {
    told: RefCell<&'a mut Told<'a>>,
    start: Instant,
    last: Cell<Progress>,
    /// Nodes of the trees that are through.
    nodes: Cell<u64>,
    /// What the tree that is searched now leaves out costs more than this; its bound says nothing beyond.
    pub(crate) limit: Cell<f64>,
    /// Dearer than this is no placement: see `Batch::dearest`.
    dearest: f64,
    stopped: Cell<bool>,
    panicked: RefCell<Option<Box<dyn Any + Send>>>,
}

impl<'a> Watch<'a> {
    #[allow(clippy::disallowed_methods)] // The time is part of what is told; nothing is decided by it.
    pub(crate) fn new(told: &'a mut Told<'a>, dearest: f64) -> Watch<'a> {
        let last = Progress { objective: None, bound: None, nodes: 0, time: Duration::ZERO };
        Watch {
            told: RefCell::new(told),
            start: Instant::now(),
            last: Cell::new(last),
            nodes: Cell::new(0),
            limit: Cell::new(f64::NEG_INFINITY),
            dearest,
            stopped: Cell::new(false),
            panicked: RefCell::new(None),
        }
    }

    /// News: a better placement, or a better bound.
    pub(crate) fn know(&self, objective: f64, bound: f64) {
        let known = self.last.get();
        self.update(objective, bound);
        let Progress { objective, bound, .. } = self.last.get();
        if (objective, bound) != (known.objective, known.bound) {
            self.tell();
        }
    }

    fn update(&self, objective: f64, bound: f64) {
        let mut last = self.last.get();
        if objective.is_finite() && objective <= self.dearest {
            last.objective = Some(last.objective.map_or(objective, |known| known.min(objective)));
        }
        if bound.is_finite() {
            last.bound = Some(last.bound.map_or(bound, |known| known.max(bound)));
        }
        // Sums in different orders; a bound above a known objective would only be that.
        if let (Some(objective), Some(bound)) = (last.objective, last.bound) {
            last.bound = Some(bound.min(objective));
        }
        self.last.set(last);
    }

    /// What a tree says of itself. Whether to stop.
    pub(crate) fn hear(&self, nodes: u64, objective: f64, bound: f64) -> bool {
        let known = self.last.get();
        // The bounds of a tree are those of LPs in floats.
        self.update(objective, bound.min(self.limit.get()) - 1e-6 - 1e-9 * bound.abs());
        let last = Progress { nodes: self.nodes.get() + nodes, ..self.last.get() };
        self.last.set(last);
        if last.objective != known.objective || known.bound.is_none() && last.bound.is_some() {
            self.tell();
        }
        self.tick()
    }

    /// A tree is through.
    pub(crate) fn spend(&self, nodes: u64) {
        self.nodes.set(self.nodes.get() + nodes);
        self.last.set(Progress { nodes: self.nodes.get(), ..self.last.get() });
        self.limit.set(f64::NEG_INFINITY);
    }

    /// Tells how far it is, if that was long ago. Whether to stop.
    pub(crate) fn tick(&self) -> bool {
        if !self.stopped.get() && self.elapsed().saturating_sub(self.last.get().time) >= OFTEN {
            self.tell();
        }
        self.stopped.get()
    }

    fn tell(&self) {
        self.last.set(Progress { time: self.elapsed(), ..self.last.get() });
        // Below this may lie a call from C++, through which a panic must not go.
        let told = catch_unwind(AssertUnwindSafe(|| (self.told.borrow_mut())(&self.last.get())));
        match told {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => self.stopped.set(true),
            Err(panic) => {
                self.stopped.set(true);
                *self.panicked.borrow_mut() = Some(panic);
            }
        }
    }

    /// Goes on with a panic of who was told.
    pub(crate) fn resume_panic(&self) {
        if let Some(panic) = self.panicked.borrow_mut().take() {
            resume_unwind(panic);
        }
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
