//! Where findings go, and the status that they come to.

use std::fs;

use camino::Utf8PathBuf;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::check::Checked;
use super::input::Unreadable;
use super::show::catalogue;
use super::write;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure, kinds};
use crate::diag::in_one_line;
use crate::diag::render::{self, Renderer, RuleWords, Shape, Summary, Tool, Unread};
use crate::system::files::Privacy;
use crate::text::plain;

/// How findings are written, and where to.
#[derive(Debug, Args)]
pub(super) struct OutputFlags {
    /// How findings are written
    #[arg(long, global = true, value_name = "NAME", default_value = "full", value_parser = shapes())]
    format: Shape,
    /// The same as --format json
    #[arg(long, global = true, conflicts_with = "format")]
    json: bool,
    /// Write to a file instead of standard output; it is replaced as a whole, once the check is done
    #[arg(long, global = true, value_name = "FILE")]
    output: Option<Utf8PathBuf>,
}

impl OutputFlags {
    /// Whether one JSON document was asked for, which the lists can be written as too.
    pub(super) fn is_json(&self) -> bool {
        self.json || self.format == Shape::Json
    }
}

fn shapes() -> impl TypedValueParser<Value = Shape> {
    let values = Shape::ALL.map(|shape| PossibleValue::new(shape.name()).help(shape.about()));
    PossibleValuesParser::new(values).map(|name| Shape::named(&name).expect("clap admits only the names of formats"))
}

/// Takes the findings of one file after the other.
pub(super) struct Output {
    shape: Shape,
    renderer: Box<dyn Renderer>,
    /// The file to write to; `None` is standard output.
    file: Option<Utf8PathBuf>,
    /// What is not written yet: all of it for a file, a piece for standard output.
    pending: String,
    summary: Summary,
    unreadable: Vec<Unreadable>,
}

impl Output {
    pub(super) fn new(flags: &OutputFlags) -> Self {
        let shape = if flags.is_json() { Shape::Json } else { flags.format };
        Self {
            shape,
            renderer: shape.renderer(TOOL),
            file: flags.output.clone(),
            pending: String::new(),
            summary: Summary::default(),
            unreadable: Vec::new(),
        }
    }

    /// A file that was checked.
    pub(super) fn file(&mut self, checked: &Checked) -> Result<(), Failure> {
        let Checked { name, kind, why, bytes, findings, .. } = checked;
        let checked = render::Checked { file: name, kind, because: why.as_deref(), bytes, findings };
        self.summary.add(&checked);
        let text = self.renderer.file(&checked);
        self.write(&text)
    }

    /// A file that could not be read.
    pub(super) fn unreadable(&mut self, error: Unreadable) {
        self.summary.unread.push(Unread { file: error.path().as_str().to_owned(), message: in_one_line(&error) });
        self.unreadable.push(error);
    }

    /// Says what could not be read, sums up, and chooses the status: unread input weighs more than a finding, because
    /// nobody knows what would have been found in it.
    pub(super) fn end(mut self) -> Result<ExitStatus, Failure> {
        let rest = self.renderer.end(&self.summary);
        self.write(&rest)?;
        self.flush()?;
        if self.file.is_some() || !self.shape.is_one_document() {
            say(in_short(&self.summary));
        }
        let status = if self.summary.invalid > 0 { ExitStatus::Findings } else { ExitStatus::Success };
        Ok(self.unread().unwrap_or(status))
    }

    /// Says what could not be read, and the status that this comes to, if anything could not.
    pub(super) fn unread(self) -> Option<ExitStatus> {
        let status = (!self.unreadable.is_empty()).then_some(ExitStatus::NoInput);
        for error in self.unreadable {
            let hint = error.hint();
            let failure = Failure::new(ExitStatus::NoInput, error);
            hint.into_iter().fold(failure, Failure::hint).print();
        }
        status
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        /// One call of the system for many files.
        const PIECE: usize = 64 << 10;
        self.pending.push_str(text);
        if self.file.is_none() && self.pending.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    /// Writes what is pending; a file is replaced as a whole and has no colours.
    fn flush(&mut self) -> Result<(), Failure> {
        let text = std::mem::take(&mut self.pending);
        match &self.file {
            Some(path) => replace(path, &plain(&text)),
            None if text.is_empty() => Ok(()),
            None => print(&text),
        }
    }
}

const TOOL: Tool = Tool {
    name: "loa-validate",
    version: env!("CARGO_PKG_VERSION"),
    url: "https://crates.io/crates/loa-conformance",
    rule,
};

fn rule(code: &str) -> Option<RuleWords> {
    let rule = catalogue(&kinds()).into_iter().find(|rule| rule.id == code)?;
    Some(RuleWords { about: rule.about, why: rule.why, mend: rule.mend })
}

/// Replaces a file. What is no file, such as a pipe or `/dev/stdout`, cannot be replaced and is left alone.
fn replace(path: &Utf8PathBuf, text: &str) -> Result<(), Failure> {
    if fs::metadata(path).is_ok_and(|data| !data.is_file()) {
        let error = format!("`{path}` is no file that could be replaced");
        return Err(
            Failure::new(ExitStatus::WriteFailed, error).hint("leave --output out and redirect standard output")
        );
    }
    write::whole(path.as_std_path(), text.as_bytes(), Privacy::Shared)
}

fn in_short(summary: &Summary) -> String {
    let findings = match summary.findings {
        0 => "no findings".to_owned(),
        number => count(number, "finding"),
    };
    format!("{}, {findings}", count(summary.files, "file"))
}

/// `1 file`, `2 files`.
pub(super) fn count(number: usize, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}
