//! Rules over the files of one folder: what no single one can show.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;

use super::lint::{ONE_EXECUTION, TIME_ORDER};
use super::memories::{self, MemoryTrace};
use super::{Subject, artifacts};
use crate::contract::{ArtifactAction, Phase};
use crate::diag::{Diagnostic, Node, Span, Value};

/// What is kept of a file for the rules over several.
#[derive(Debug)]
pub enum Trace {
    /// Of a checkpoint that lies in a `.loa-checkpoint/` under its phase's name.
    Checkpoint(CheckpointTrace),
    /// Of one of the five files of a memory folder.
    Memories(MemoryTrace),
}

/// What is kept of a checkpoint.
#[derive(Debug)]
pub struct CheckpointTrace {
    pub(super) path: Utf8PathBuf,
    pub(super) phase: Phase,
    execution: Option<(String, Span)>,
    created: Option<(Timestamp, Span)>,
    exit: Option<i128>,
    pub(super) artifacts: Vec<Claim>,
}

/// What a checkpoint says about a file.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) path: String,
    pub(super) span: Span,
    pub(super) pointer: String,
    pub(super) action: ArtifactAction,
    pub(super) size: Option<(i128, Span)>,
    /// `sha256`, which the contract does not know and some runtimes write: in hexadecimal.
    pub(super) hash: Option<(String, Span)>,
}

/// The trace of a checkpoint; `None` where no runtime would look for it.
pub(super) fn trace(subject: &Subject<'_>) -> Option<Trace> {
    let folder = subject.path.parent()?.file_name()?;
    let phase: Phase = subject.path.file_stem().filter(|_| folder == ".loa-checkpoint")?.parse().ok()?;
    let root = subject.document.root();
    let text = |key: &str| root.get(key).and_then(|node| Some((node.as_str()?.to_owned(), node.span)));
    let items = match root.get("artifacts").map(|node| &node.value) {
        Some(Value::Seq(items)) => items.as_slice(),
        _ => &[],
    };
    Some(Trace::Checkpoint(CheckpointTrace {
        path: subject.path.to_owned(),
        phase,
        execution: text("execution_id"),
        created: text("created_at").and_then(|(text, span)| Some((text.parse().ok()?, span))),
        exit: root.get("exit_code").and_then(whole),
        artifacts: items.iter().enumerate().filter_map(|(at, item)| claim(at, item)).collect(),
    }))
}

fn claim(at: usize, item: &Node) -> Option<Claim> {
    let path = item.get("path")?;
    Some(Claim {
        path: path.as_str()?.to_owned(),
        span: path.span,
        pointer: format!("/artifacts/{at}/path"),
        action: item.get("action")?.as_str()?.parse().ok()?,
        size: item.get("size_bytes").and_then(|node| Some((whole(node)?, node.span))),
        hash: item.get("sha256").and_then(|node| Some((node.as_str()?.to_ascii_lowercase(), node.span))),
    })
}

fn whole(node: &Node) -> Option<i128> {
    if let Value::Int(number) = node.value { Some(number) } else { None }
}

/// What the files of each folder say against each other, as findings by the place of the trace in `traces`.
#[must_use]
pub fn together(traces: &[Trace]) -> Vec<(usize, Diagnostic)> {
    let all = || traces.iter().enumerate();
    let mut found = checkpoints(all().filter_map(|(at, trace)| match trace {
        Trace::Checkpoint(trace) => Some((at, trace)),
        Trace::Memories(_) => None,
    }));
    found.extend(memories::ids_twice(all().filter_map(|(at, trace)| match trace {
        Trace::Memories(trace) => Some((at, trace)),
        Trace::Checkpoint(_) => None,
    })));
    found
}

/// The rules over checkpoints. The workspace is asked only where every checkpoint that lies in a folder is among them:
/// without a later one nobody knows what became of a file.
fn checkpoints<'t>(traces: impl Iterator<Item = (usize, &'t CheckpointTrace)>) -> Vec<(usize, Diagnostic)> {
    let mut folders: BTreeMap<&Utf8Path, Vec<(usize, &CheckpointTrace)>> = BTreeMap::new();
    for (at, trace) in traces {
        folders.entry(trace.path.parent().unwrap_or(Utf8Path::new(""))).or_default().push((at, trace));
    }
    let mut found = Vec::new();
    for (folder, mut members) in folders {
        members.sort_by_key(|(_, trace)| trace.phase);
        found.extend(one_execution(&members));
        found.extend(time_order(&members));
        let is_among = |phase: &Phase| members.iter().any(|(_, trace)| trace.phase == *phase);
        let complete = Phase::ALL.iter().all(|phase| is_among(phase) || !folder.join(format!("{phase}.yaml")).exists());
        if complete {
            found.extend(artifacts::lies(&members, folder.parent().unwrap_or(Utf8Path::new(""))));
        }
    }
    found
}

type Members<'a> = [(usize, &'a CheckpointTrace)];

/// The id that most checkpoints have is the execution's; of equals the earliest phase's.
fn one_execution(members: &Members<'_>) -> Vec<(usize, Diagnostic)> {
    let ids = || members.iter().filter_map(|(at, trace)| Some((*at, trace, trace.execution.as_ref()?)));
    let votes = |id: &str| ids().filter(|(_, _, (other, _))| other == id).count();
    let most = ids().map(|(_, _, (id, _))| votes(id)).max().unwrap_or(0);
    let Some((_, elected, (own, _))) = ids().find(|(_, _, (id, _))| votes(id) == most) else { return Vec::new() };
    let strangers = ids().filter(|(_, _, (id, _))| id != own);
    let finding = |id: &str, span: Span| {
        Diagnostic::error(ONE_EXECUTION.text.id, "the checkpoint belongs to another execution than its neighbours")
            .at(span)
            .of("/execution_id")
            .expected(format!("the text {own:?}, as in {}", elected.path.file_name().unwrap_or_default()))
            .found(format!("the text {id:?}"))
            .help("move the checkpoints of the other execution away; a resume would build on work that is not there")
    };
    strangers.map(|(at, _, (id, span))| (at, finding(id, *span))).collect()
}

/// Each checkpoint against the newest of the phases before it. An audit that failed is older than the implementation that
/// mends it, and a phase that did not end well is about to run again.
fn time_order(members: &Members<'_>) -> Vec<(usize, Diagnostic)> {
    let mut found = Vec::new();
    let mut newest: Option<(&CheckpointTrace, Timestamp)> = None;
    for (at, trace) in members {
        let Some((time, span)) = trace.created else { continue };
        match newest {
            Some((earlier, other)) if other > time => {
                if trace.exit == Some(0) {
                    found.push((*at, too_early(time, span, earlier, other)));
                }
            }
            _ => newest = Some((trace, time)),
        }
    }
    found
}

fn too_early(time: Timestamp, span: Span, earlier: &CheckpointTrace, other: Timestamp) -> Diagnostic {
    let message = format!("the checkpoint is older than that of `{}`, a phase before it", earlier.phase);
    Diagnostic::warning(TIME_ORDER.text.id, message)
        .at(span)
        .of("/created_at")
        .expected(format!("{other} or later, as in {}", earlier.path.file_name().unwrap_or_default()))
        .found(format!("the time {time}"))
        .help(format!("if `{}` ran again, what came after it is to run again too", earlier.phase))
}
