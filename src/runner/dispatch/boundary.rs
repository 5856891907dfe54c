//! What keeps the stages of a session from its state, and from us.

use std::path::{Path, PathBuf};

use crate::config::BoundaryMode;
use crate::contract::{ExecutionId, Phase};
use crate::events::BoundaryDrawn;
use crate::runner::{Backends, Plan, RunError, Stage};
use crate::store::Place;
use crate::system::boundary::{Boundary, View};

/// The boundary of a session, or why there is none.
pub(super) struct Kept {
    /// Our own program, to be started as its first process.
    program: PathBuf,
    view: View,
    boundary: Option<Boundary>,
    drawn: BoundaryDrawn,
}

impl Kept {
    /// Draws it, where a stage is to run behind it and the host can.
    pub(super) fn draw(
        program: PathBuf,
        (place, execution): (&Place, &ExecutionId),
        (plan, backends): (&Plan, &Backends),
    ) -> Result<Self, RunError> {
        let view = View { hidden: place.of_states(), shown: vec![place.make_stages(execution)?] };
        let outside =
            plan.stages().iter().filter(|stage| is_outside(stage, backends)).map(|stage| stage.phase).collect();
        let mut kept = Self { program, view, boundary: None, drawn: BoundaryDrawn { why_not: None, outside } };
        if plan.stages().iter().all(|stage| stage.boundary == BoundaryMode::Off) {
            kept.drawn.why_not = Some("runtime.boundary.mode is off".to_owned());
            return Ok(kept);
        }
        match Boundary::open(&kept.program, &kept.view) {
            Ok(boundary) => kept.boundary = Some(boundary),
            Err(why) => {
                refuse_without(plan, &why)?;
                kept.drawn.why_not = Some(why);
            }
        }
        Ok(kept)
    }

    /// What is recorded of it.
    pub(super) fn drawn(&self) -> BoundaryDrawn {
        self.drawn.clone()
    }

    /// The one for a stage. Another one is drawn where its first process was ended from outside.
    pub(super) fn of_stage(&mut self, phase: Phase) -> Result<Option<Boundary>, RunError> {
        if self.boundary.as_ref().is_some_and(|boundary| !boundary.lives()) {
            self.boundary = None;
            let drawn = Boundary::open(&self.program, &self.view).map_err(|why| RunError::NoBoundary { why })?;
            self.boundary = Some(drawn);
        }
        Ok(self.boundary.clone().filter(|_| self.drawn.holds(phase)))
    }

    /// Ends everything behind it; how many processes there were.
    pub(super) fn clear(&self) -> usize {
        self.boundary.as_ref().map_or(0, Boundary::clear)
    }
}

/// Whether this host can do what the plan requires, before anything is begun.
///
/// # Errors
/// [`RunError::NoBoundary`]: it cannot.
pub fn boundary_as_required(program: &Path, place: &Place, plan: &Plan) -> Result<(), RunError> {
    if !plan.stages().iter().any(requires) {
        return Ok(());
    }
    let view = View { hidden: place.of_states(), shown: Vec::new() };
    Boundary::open(program, &view).map(drop).or_else(|why| refuse_without(plan, &why))
}

fn refuse_without(plan: &Plan, why: &str) -> Result<(), RunError> {
    let required = plan.stages().iter().any(requires);
    if required { Err(RunError::NoBoundary { why: why.to_owned() }) } else { Ok(()) }
}

fn requires(stage: &Stage) -> bool {
    stage.boundary == BoundaryMode::Required && !stage.skip
}

/// Whether a stage runs outside in any case: the client of a container only brings what is done elsewhere.
fn is_outside(stage: &Stage, backends: &Backends) -> bool {
    let contained = || stage.agent().and_then(|agent| backends.get(&agent.backend)).is_some_and(|it| it.is_contained());
    !stage.skip && (stage.boundary == BoundaryMode::Off || contained())
}
