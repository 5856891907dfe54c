//! The document kind `config`.

use super::{ConfigDocument, check};
use crate::diag::{Diagnostic, Document};

pub(super) fn findings(document: &Document) -> Vec<Diagnostic> {
    let _ = document;
    Vec::new()
}
