//! What reading one document may cost. A hostile file meets a limit long before it costs memory or time.

use super::{Diagnostic, Span};

/// The limits under which a document is read.
///
/// The defaults let a document of 5 MB with 40,000 artifacts pass and keep the worst file below about 200 MB of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Levels of lists and mappings inside each other. Default 64. The tree is walked recursively, so nobody should ask
    /// for more than [`Budget::DEEPEST`].
    pub depth: u64,
    /// Values of a document, keys not counted. Default 500,000.
    pub nodes: u64,
    /// Bytes of a file. Default 16 MiB.
    pub bytes: u64,
    /// Bytes that anchors and aliases may copy, each value counting 64 besides its text. Default 8 MiB.
    pub aliases: u64,
}

/// One of the limits, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`Budget::depth`].
    Depth,
    /// [`Budget::nodes`].
    Nodes,
    /// [`Budget::bytes`].
    Bytes,
    /// [`Budget::aliases`].
    Aliases,
}

impl Default for Budget {
    fn default() -> Self {
        Self { depth: 64, nodes: 500_000, bytes: 16 << 20, aliases: 8 << 20 }
    }
}

impl Budget {
    /// The greatest depth that is safe on every thread's stack.
    pub const DEEPEST: u64 = 512;

    /// The value of a limit.
    #[must_use]
    pub fn get(&self, limit: Limit) -> u64 {
        match limit {
            Limit::Depth => self.depth,
            Limit::Nodes => self.nodes,
            Limit::Bytes => self.bytes,
            Limit::Aliases => self.aliases,
        }
    }

    /// Changes a limit; a depth above [`Budget::DEEPEST`] becomes that.
    pub fn set(&mut self, limit: Limit, value: u64) {
        match limit {
            Limit::Depth => self.depth = value.min(Self::DEEPEST),
            Limit::Nodes => self.nodes = value,
            Limit::Bytes => self.bytes = value,
            Limit::Aliases => self.aliases = value,
        }
    }

    /// What to say when a document met a limit.
    #[must_use]
    pub fn exceeded(&self, limit: Limit, span: Option<Span>) -> Diagnostic {
        let (name, most) = (limit.name(), self.get(limit));
        let mut finding = Diagnostic::error("budget", format!("the document exceeds the budget `{name}`"))
            .expected(format!("at most {most} {}", limit.unit()))
            .help(format!("if the document is meant to be so, `loa-validate --limit {name}=N` raises the budget"));
        finding.span = span;
        finding
    }
}

impl Limit {
    /// Every limit.
    pub const ALL: [Self; 4] = [Self::Depth, Self::Nodes, Self::Bytes, Self::Aliases];

    /// Its name, as the command line takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Depth => "depth",
            Self::Nodes => "nodes",
            Self::Bytes => "bytes",
            Self::Aliases => "aliases",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Depth => "levels of lists and mappings",
            Self::Nodes => "values",
            Self::Bytes => "bytes",
            Self::Aliases => "bytes copied by anchors and aliases",
        }
    }
}
