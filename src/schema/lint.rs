//! Rules that a schema cannot say.

use super::{Rule, Subject};
use crate::contract::Phase;
use crate::diag::Diagnostic;

/// A checkpoint in `.loa-checkpoint/` is found by its name.
pub(super) const STEM_EQUALS_PHASE: Rule = Rule {
    id: "stem-equals-phase",
    about: "a checkpoint in `.loa-checkpoint/` is named after its phase",
    check: stem_equals_phase,
};

fn stem_equals_phase(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let folder = subject.path.parent().and_then(|folder| folder.file_name());
    let phase = subject.document.root().get("phase");
    let (Some(".loa-checkpoint"), Some(stem), Some(phase)) = (folder, subject.path.file_stem(), phase) else {
        return Vec::new();
    };
    let Some(word) = phase.as_str().filter(|word| *word != stem && word.parse::<Phase>().is_ok()) else {
        return Vec::new();
    };
    let message = format!("the file is named `{stem}` and its phase is `{word}`");
    vec![
        Diagnostic::error(STEM_EQUALS_PHASE.id, message)
            .at(phase.span)
            .of("/phase")
            .expected(format!("`{stem}`, or the name `{word}.yaml`"))
            .found(phase.describe())
            .help("rename the file or mend the phase: a runtime finds a checkpoint by its name"),
    ]
}
