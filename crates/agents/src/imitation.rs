//! Imitation of a solver that decides whole batches (DAgger: Ross, Gordon and Bagnell 2011): one of the ways to train
//! [`scale`](mod@crate::scale), to compare with.
//!
//! # One generation
//! 1. A stretch of a training day is played, batch by batch: by the teacher with a probability that falls from 1 to 0 over
//!    the first half of the training, else by the scorer itself, so that the teacher is asked about the states that the
//!    scorer leads to.
//! 2. The teacher solves every batch. Its placement, taken request by request, is the label: which option of each request
//!    lies on the teacher's node. Requests that it places on no option, or that have only one, teach nothing.
//! 3. Some epochs of Adam on the mean cross-entropy, -ln pi(label).
//!
//! Labels of earlier generations are dropped: the weights remember them. DAgger asks for any learner without regret, and
//! gradient steps on one round after the other are one.
//!
//! # What it cannot learn
//! The teacher's foresight is one batch. What is best for the batches to come is not in its placements.

use crate::env::Day;
use crate::error::{LearnError, require};
use crate::features::{Features, Options};
use crate::scale::{Learner, Lesson, Passes, Scale, decide, stretch};
use scale_model::{BatchProblem, Budget, Decision, Placement, Solver};
use serde::{Deserialize, Serialize};

/// What the method depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imitation {
    /// Requests of a stretch.
    pub requests: usize,
    /// Difference of scores at which the better option is e times as likely, in ms.
    pub temperature_ms: f64,
    /// Times that the labels of a generation are gone through.
    pub epochs: usize,
    /// Labels in a mini-batch.
    pub minibatch: usize,
}

impl Imitation {
    pub(crate) fn validate(&self) -> Result<(), LearnError> {
        let temperature = self.temperature_ms;
        let positive = temperature > 0.0 && temperature.is_finite();
        require(self.requests > 0, "requests", self.requests, "at least 1")?;
        require(positive, "temperature_ms", temperature, "a finite number above 0")?;
        require(self.minibatch > 0, "minibatch", self.minibatch, "at least 1")
    }
}

/// A request as the scorer sees it, and the option that the teacher takes.
struct Label {
    options: Options,
    choice: usize,
}

/// One generation.
pub(crate) fn step(
    learner: &mut Learner,
    settings: &Imitation,
    training: &[Day],
    teacher: &mut dyn Solver,
) -> Result<Lesson, LearnError> {
    let share = 1.0 - 2.0 * learner.done();
    let (mut labels, mut decisions, mut cost) = (Vec::new(), 0, 0.0);
    for _ in 0..learner.config.days {
        let Learner { config, scorer, draw, .. } = learner;
        let day = &training[draw.below(training.len())];
        let mut scale = Scale::new(scorer.clone());
        let penalty = config.slo_penalty_ms;
        let Some((mut simulation, mut costs)) = stretch(day, settings.requests, penalty, &mut scale, draw)?
        else {
            continue;
        };
        // Scale looks at the batch as it decides it, and a second pair of eyes as the teacher does.
        let mut eyes = scale.features.clone().unwrap_or_else(|| Features::new(&day.platform));
        while costs.concern(simulation.problem().requests) {
            let problem = simulation.problem();
            let taught = teacher.solve(&problem, &Budget::default())?.placement;
            label(&problem, &taught, &mut eyes, &mut labels);
            let own = scale.solve(&problem, &Budget::default())?.placement;
            let taken = if draw.unit() < share { taught } else { own };
            for decision in taken.decisions {
                simulation.apply(decision)?;
            }
            simulation.commit(&mut costs);
            simulation.settle()?;
            if !simulation.advance(&mut costs) {
                break;
            }
        }
        costs.close(simulation.problem().now());
        decisions += costs.decisions;
        cost += costs.of.iter().sum::<f64>() / (settings.requests * config.days) as f64;
    }
    let passes = Passes::new(settings.epochs, settings.minibatch, settings.temperature_ms);
    // Cross-entropy.
    let loss = learner.fit(
        &passes,
        &labels,
        |label| (&label.options, label.choice),
        |_, log_prob| (-f64::from(log_prob), -1.0),
    );
    Ok(Lesson { decisions, cost_ms: cost, loss })
}

/// The teacher's placement, request by request, in the order in which the policy decides.
fn label(problem: &BatchProblem<'_>, taught: &Placement, eyes: &mut Features, labels: &mut Vec<Label>) {
    decide(eyes, &mut Options::none(), problem, |k, state, options| {
        let decision = taught.decisions[k];
        let Decision::Run { node, container } = decision else { return None };
        if !state.allows(problem.platform, problem.requests[k].function, node, container) {
            return None;
        }
        // By node: the teacher may leave an idle container to a later request of the batch.
        let on_node = |option: &Decision| matches!(*option, Decision::Run { node: on, .. } if on == node);
        let choice = options.decisions[..options.len].iter().position(on_node);
        if let Some(choice) = choice.filter(|_| options.len > 1) {
            labels.push(Label { options: options.clone(), choice });
        }
        Some(decision)
    });
}
