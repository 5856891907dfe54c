//! What an execution that is over left in the workspace, put aside for the next one.

use std::path::PathBuf;

use super::{Layout, StoreError, make_folder};
use crate::contract::{ExecutionId, Phase};

/// Puts what lies in the workspace of an execution that is over aside. Nothing is deleted.
///
/// # Errors
/// [`StoreError`].
///
/// # Panics
/// Never: an endless sequence of names has a free one.
pub fn archive(layout: &Layout, execution: Option<&ExecutionId>) -> Result<(), StoreError> {
    let named = execution.map_or_else(|| "unnamed".to_owned(), ExecutionId::file_name);
    let candidates = (1_u32..).map(|n| layout.archived(&if n == 1 { named.clone() } else { format!("{named}.{n}") }));
    let there = |path: PathBuf| layout.disk().kind(&path).is_some();
    let mut free = candidates.filter(|folder| !there(folder.join("run.yaml")) && !there(folder.join("logs")));
    let folder = free.next().expect("an endless sequence of names has a free one");
    let run = layout.run();
    let checkpoints = Phase::ALL.iter().map(|phase| layout.checkpoint(*phase));
    let others = ["stages", "sessions", "logs", "history.jsonl", "history.1.jsonl", "note.yaml", "run.yaml"];
    let sources = checkpoints.chain([layout.context_state()]).chain(others.into_iter().map(|name| run.join(name)));
    let left = sources.filter(|source| layout.disk().kind(source).is_some());
    let moves: Vec<(PathBuf, PathBuf)> =
        left.map(|source| (source.clone(), folder.join(source.file_name().unwrap_or_default()))).collect();
    if moves.is_empty() {
        return Ok(());
    }
    make_folder(layout, &folder)?;
    Ok(layout.disk().rename_all(&moves)?)
}

/// Removes what was put aside of an execution.
///
/// # Errors
/// [`StoreError`].
pub fn remove_archive(layout: &Layout, execution: &ExecutionId) -> Result<(), StoreError> {
    let named = execution.file_name();
    for folder in layout.disk().list(&layout.archive())? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = name.strip_prefix(&named).and_then(|behind| behind.strip_prefix('.'));
        if name == named || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
            layout.disk().remove_tree(&folder)?;
        }
    }
    Ok(())
}
