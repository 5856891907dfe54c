//! What keeps the stages of a session from its state, from us, and from the network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::config::{self, BoundaryMode};
use crate::contract::{ExecutionId, Phase};
use crate::events::BoundaryDrawn;
use crate::runner::{Backends, Bounds, Plan, RunError, Stage};
use crate::store::Place;
use crate::system::boundary::{Boundary, Network, View};

/// What a boundary is like: the network behind it, and whether known ways out are taken away.
type Kind = (config::Network, bool);

/// The boundaries of a session, one of each kind that its stages have, or why there is none.
pub(super) struct Kept {
    /// Our own program, to be started as their first process.
    program: PathBuf,
    view: View,
    gateway: Option<String>,
    kinds: BTreeMap<Phase, Kind>,
    boundaries: BTreeMap<Kind, Boundary>,
    drawn: BoundaryDrawn,
}

impl Kept {
    /// Draws them, where a stage is to run behind one and the host can.
    pub(super) fn draw(
        program: PathBuf,
        (place, execution): (&Place, &ExecutionId),
        (plan, bounds, backends): (&Plan, &Bounds, &Backends),
    ) -> Result<Self, RunError> {
        let view = View { hidden: place.of_states(), shown: vec![place.make_stages(execution)?], ..View::default() };
        let outside =
            plan.stages().iter().filter(|stage| is_outside(stage, backends)).map(|stage| stage.phase).collect();
        let kinds = plan.stages().iter().map(|stage| (stage.phase, kind(stage))).collect();
        let own = plan.stages().iter().filter(|stage| has_own_network(stage));
        let told = own.map(|stage| (stage.phase, stage.network.as_str().to_owned())).collect();
        let unlimited =
            plan.stages().iter().filter(|stage| is_unlimited(stage, backends)).map(|stage| stage.phase).collect();
        let drawn = BoundaryDrawn { why_not: None, outside, networks: told, unlimited };
        let (gateway, boundaries) = (bounds.gateway.clone(), BTreeMap::new());
        let mut kept = Self { program, view, gateway, kinds, boundaries, drawn };
        if plan.stages().iter().all(|stage| stage.boundary == BoundaryMode::Off) {
            kept.drawn.why_not = Some("runtime.boundary.mode is off".to_owned());
            return Ok(kept);
        }
        for kind in wanted(plan.stages().iter().filter(|stage| stage.boundary != BoundaryMode::Off)) {
            if let Err(why) = kept.open(kind) {
                refuse_without(plan, &why)?;
                kept.boundaries.clear();
                kept.drawn.why_not = Some(why);
                break;
            }
        }
        Ok(kept)
    }

    fn open(&mut self, kind: Kind) -> Result<Boundary, String> {
        let (network, strict) = (to_have(kind.0, self.gateway.as_deref())?, kind.1);
        let boundary = Boundary::open(&self.program, &View { network, strict, ..self.view.clone() })?;
        self.boundaries.insert(kind, boundary.clone());
        Ok(boundary)
    }

    /// What is recorded of them.
    pub(super) fn drawn(&self) -> BoundaryDrawn {
        self.drawn.clone()
    }

    /// The one for a stage. Another one is drawn where its first process was ended from outside.
    pub(super) fn of_stage(&mut self, phase: Phase) -> Result<Option<Boundary>, RunError> {
        if !self.drawn.holds(phase) {
            return Ok(None);
        }
        let kind = self.kinds.get(&phase).copied().unwrap_or_default();
        match self.boundaries.get(&kind).filter(|boundary| boundary.lives()) {
            Some(boundary) => Ok(Some(boundary.clone())),
            None => self.open(kind).map(Some).map_err(|why| RunError::NoBoundary { why }),
        }
    }

    /// Ends everything behind them; how many processes there were.
    pub(super) fn clear(&self) -> usize {
        self.boundaries.values().map(Boundary::clear).sum()
    }
}

/// Whether this host can do what the plan requires, before anything is begun.
///
/// # Errors
/// [`RunError::NoBoundary`] or [`RunError::NoNetwork`]: it cannot.
pub fn boundary_as_required(
    program: &Path,
    place: &Place,
    (plan, bounds, backends): (&Plan, &Bounds, &Backends),
) -> Result<(), RunError> {
    if let Some(stage) = plan.stages().iter().find(|stage| has_own_network(stage) && is_outside(stage, backends)) {
        let (phase, network) = (stage.phase, stage.network.as_str());
        let where_it_is = if stage.boundary == BoundaryMode::Off { "without a boundary" } else { "in a container" };
        let why = format!("its network is to be `{network}`, and it runs {where_it_is}");
        return Err(RunError::NoNetwork { phase, why });
    }
    let required = plan.stages().iter().filter(|stage| requires(stage));
    wanted(required).into_iter().try_for_each(|(network, strict)| {
        let opened = to_have(network, bounds.gateway.as_deref()).and_then(|network| {
            let view = View { hidden: place.of_states(), shown: Vec::new(), network, strict };
            Boundary::open(program, &view)
        });
        opened.map(drop).or_else(|why| refuse_without(plan, &why))
    })
}

/// The network of a boundary, by the word for it and the address of the gateway.
///
/// # Errors
/// Why there is none, in one line: a gateway without an address, or with one that is none.
pub fn to_have(network: config::Network, gateway: Option<&str>) -> Result<Network, String> {
    match (network, gateway) {
        (config::Network::Host, _) => Ok(Network::Host),
        (config::Network::None, _) => Ok(Network::Own),
        (config::Network::Gateway, None) => Err("runtime.boundary.gateway names no address".to_owned()),
        (config::Network::Gateway, Some(address)) => address
            .parse()
            .map(Network::Gateway)
            .map_err(|error| format!("runtime.boundary.gateway: `{address}` is {error}")),
    }
}

fn kind(stage: &Stage) -> Kind {
    (stage.network, stage.boundary == BoundaryMode::Strict)
}

/// Each kind of boundary that one of these stages has, if it is not passed over.
fn wanted<'a>(stages: impl Iterator<Item = &'a Stage>) -> BTreeSet<Kind> {
    stages.filter(|stage| !stage.skip).map(kind).collect()
}

fn refuse_without(plan: &Plan, why: &str) -> Result<(), RunError> {
    let why = why.to_owned();
    match plan.stages().iter().find(|stage| requires(stage)) {
        None => Ok(()),
        Some(stage) if has_own_network(stage) => Err(RunError::NoNetwork { phase: stage.phase, why }),
        Some(_) => Err(RunError::NoBoundary { why }),
    }
}

fn requires(stage: &Stage) -> bool {
    (stage.boundary >= BoundaryMode::Required && !stage.skip) || has_own_network(stage)
}

/// Whether a stage is to have another network than the host's, which without a boundary nothing gives it.
fn has_own_network(stage: &Stage) -> bool {
    stage.network != config::Network::Host && !stage.skip
}

/// Whether a stage runs outside in any case.
fn is_outside(stage: &Stage, backends: &Backends) -> bool {
    !stage.skip && (stage.boundary == BoundaryMode::Off || is_contained(stage, backends))
}

/// Whether a stage has limits that we cannot hold.
fn is_unlimited(stage: &Stage, backends: &Backends) -> bool {
    !stage.skip && !stage.limits.is_empty() && (is_contained(stage, backends) || !cfg!(target_os = "linux"))
}

/// Whether it runs in a container, whose client only brings what is done elsewhere.
fn is_contained(stage: &Stage, backends: &Backends) -> bool {
    stage.agent().and_then(|agent| backends.get(&agent.backend)).is_some_and(|it| it.is_contained())
}
