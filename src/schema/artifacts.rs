//! What checkpoints say about files, against the files.

use std::collections::BTreeMap;
use std::fs;

use base16ct::lower::encode_string;
use camino::{Utf8Component, Utf8Path};
use sha2::{Digest, Sha256};

use super::together::{CheckpointTrace, Claim};
use super::{Example, Explanation};
use crate::contract::ArtifactAction;
use crate::diag::Diagnostic;
use crate::system::beneath::leads_out;
use crate::system::files;

/// A claim that the workspace contradicts.
pub(super) const ARTIFACT_LIES: Explanation = Explanation {
    id: "artifact-lies",
    about: "what the checkpoints of a folder say last about a file holds: it is there or gone, and has that size and hash",
    why: "A resume trusts the artifacts of the phases that it passes over. If they are not there, the next phase works on \
          nothing.",
    mend: "Run the phase again, or bring the file back. In a checkout without the artifacts, pass the checkpoints one by one.",
    example: Some(Example {
        kind: "checkpoint",
        path: ".loa-checkpoint/design.yaml",
        wrong: "execution_id: exec-1\nphase: design\ncreated_at: \"2026-11-20T09:30:00Z\"\nexit_code: 0\nsummary: Done\n\
                artifacts:\n  - {path: nowhere/design.md, action: created}\n",
        right: "execution_id: exec-1\nphase: design\ncreated_at: \"2026-11-20T09:30:00Z\"\nexit_code: 0\nsummary: Done\n\
                artifacts:\n  - {path: nowhere/design.md, action: deleted}\n",
    }),
};

/// The last claim about each file, where it does not hold. Paths that leave the workspace are not looked at.
pub(super) fn lies(members: &[(usize, &CheckpointTrace)], workspace: &Utf8Path) -> Vec<(usize, Diagnostic)> {
    let mut last: BTreeMap<&str, (usize, &Claim)> = BTreeMap::new();
    for (at, trace) in members {
        for claim in &trace.artifacts {
            last.insert(&claim.path, (*at, claim));
        }
    }
    let inside = last.into_values().filter(|(_, claim)| stays_inside(&claim.path));
    inside.filter_map(|(at, claim)| Some((at, lie(claim, workspace)?))).collect()
}

fn stays_inside(path: &str) -> bool {
    !path.is_empty()
        && Utf8Path::new(path).components().all(|part| matches!(part, Utf8Component::Normal(_) | Utf8Component::CurDir))
}

fn lie(claim: &Claim, workspace: &Utf8Path) -> Option<Diagnostic> {
    let path = workspace.join(&claim.path);
    let here = if workspace == "" { Utf8Path::new(".") } else { workspace };
    if Utf8Path::new(&claim.path).parent().is_some_and(|folder| leads_out(here.as_std_path(), folder.as_std_path())) {
        return None;
    }
    // A link may lead out of the workspace; what it leads to is nobody's artifact.
    let there = fs::symlink_metadata(&path).ok();
    let finding = |message: String| Diagnostic::warning(ARTIFACT_LIES.id, message);
    match (claim.action, there) {
        (ArtifactAction::Deleted, None) => None,
        (ArtifactAction::Deleted, Some(_)) => Some(
            finding(format!("`{}` is said to be deleted and is there", claim.path))
                .at(claim.span)
                .of(&claim.pointer)
                .expected("no such file")
                .found(format!("{path}")),
        ),
        (_, None) => Some(
            finding(format!("`{}` is said to be {} and is not there", claim.path, claim.action))
                .at(claim.span)
                .of(&claim.pointer)
                .expected("the file")
                .found("no such file")
                .help("run the phase again, or bring the file back"),
        ),
        (_, Some(there)) if there.is_file() => size_lie(claim, there.len()).or_else(|| hash_lie(claim, &path)),
        _ => None,
    }
}

fn size_lie(claim: &Claim, length: u64) -> Option<Diagnostic> {
    let (size, span) = claim.size.filter(|(size, _)| *size != i128::from(length))?;
    Some(
        Diagnostic::warning(ARTIFACT_LIES.id, format!("`{}` has another size than the checkpoint says", claim.path))
            .at(span)
            .of(claim.pointer.replace("/path", "/size_bytes"))
            .expected(format!("{length}, the size on disk"))
            .found(format!("the number {size}"))
            .help("somebody changed the file after the phase"),
    )
}

fn hash_lie(claim: &Claim, path: &Utf8Path) -> Option<Diagnostic> {
    /// A larger file is not read.
    const LARGEST: u64 = 256 << 20;
    let (said, span) = claim.hash.as_ref()?;
    let content = files::read(path.as_std_path(), LARGEST).ok()?;
    let hash = encode_string(&Sha256::digest(&content));
    (hash != *said).then(|| {
        Diagnostic::warning(ARTIFACT_LIES.id, format!("`{}` has another content than the checkpoint says", claim.path))
            .at(*span)
            .of(claim.pointer.replace("/path", "/sha256"))
            .expected(format!("{hash}, the SHA-256 on disk"))
            .found(format!("{said:?}"))
            .help("somebody changed the file after the phase")
    })
}
