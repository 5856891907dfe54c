//! The report as JSON, as `schemas/conformance-report.schema.json` describes it.
//!
//! What lies deep, such as a check or a mark of a timeline, stands on one line: a report is read, compared and committed.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::conform::score::ConformanceReport;

/// What stands inside so many brackets stands on one line. The list of a case's checks is the eighth: report, runtimes, one,
/// its clauses, one, its cases, one, its checks.
const FLAT: usize = 8;

/// The report, indented, with a line end.
///
/// # Panics
/// Never: a report is plain data.
#[must_use]
pub fn json(report: &ConformanceReport) -> String {
    let mut bytes = Vec::new();
    report.serialize(&mut Serializer::with_formatter(&mut bytes, Shallow::default())).expect("a report is plain data");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// Indented down to a depth, and in one line below it.
#[derive(Default)]
struct Shallow {
    pretty: PrettyFormatter<'static>,
    depth: usize,
}

impl Shallow {
    fn opens<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        bracket: &[u8],
        pretty: impl FnOnce(&mut PrettyFormatter<'static>, &mut W) -> io::Result<()>,
    ) -> io::Result<()> {
        self.depth += 1;
        if self.depth > FLAT { to.write_all(bracket) } else { pretty(&mut self.pretty, to) }
    }

    fn closes<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        bracket: &[u8],
        pretty: impl FnOnce(&mut PrettyFormatter<'static>, &mut W) -> io::Result<()>,
    ) -> io::Result<()> {
        self.depth -= 1;
        if self.depth >= FLAT { to.write_all(bracket) } else { pretty(&mut self.pretty, to) }
    }

    fn between<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        first: bool,
        pretty: impl FnOnce(&mut PrettyFormatter<'static>, &mut W) -> io::Result<()>,
    ) -> io::Result<()> {
        match (self.depth > FLAT, first) {
            (false, _) => pretty(&mut self.pretty, to),
            (true, true) => Ok(()),
            (true, false) => to.write_all(b", "),
        }
    }
}

impl Formatter for Shallow {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.opens(to, b"[", PrettyFormatter::begin_array)
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.closes(to, b"]", PrettyFormatter::end_array)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.between(to, first, |pretty, to| pretty.begin_array_value(to, first))
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.end_array_value(to)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.opens(to, b"{", PrettyFormatter::begin_object)
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.closes(to, b"}", PrettyFormatter::end_object)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.between(to, first, |pretty, to| pretty.begin_object_key(to, first))
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(to)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.pretty.end_object_value(to)
    }
}
