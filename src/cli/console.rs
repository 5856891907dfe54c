//! Standard output and standard error, and their colours. `anstream` drops colours on a pipe and where `NO_COLOR` is set.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use serde_json::json;

use super::{ExitStatus, Failure};
use crate::system::{clock, env};
use crate::text::{plain, sanitized};

pub(super) const RED: Style = AnsiColor::Red.on_default().bold();
pub(super) const CYAN: Style = AnsiColor::Cyan.on_default().bold();

/// Writes text to standard output. When its reader has seen enough and is gone, as `head` is after ten lines, nothing failed:
/// the work goes on unseen, and the exit code still says what came of it.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    is_read(write(anstream::stdout().lock(), text.as_bytes())).map(drop)
}

/// Writes bytes of others to standard output, sanitized on a terminal and elsewhere as they are, and says whether anybody still
/// reads them.
pub(super) fn pass_on(bytes: &[u8]) -> Result<bool, Failure> {
    is_read(write(io::stdout().lock(), &for_output(bytes, &io::stdout())))
}

/// The same to standard error, for whoever reads them.
pub(super) fn pass_on_aside(bytes: &[u8]) {
    let _ = write(io::stderr().lock(), &for_output(bytes, &io::stderr()));
}

/// Bytes of others for an output: sanitized where it is a terminal.
pub(super) fn for_output<'a>(bytes: &'a [u8], output: &impl IsTerminal) -> Cow<'a, [u8]> {
    if output.is_terminal() { Cow::Owned(sanitized(bytes).into_bytes()) } else { Cow::Borrowed(bytes) }
}

/// Whether what was written has a reader: a pipe may have lost its own, and a terminal may have been closed.
pub(super) fn is_read(written: io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe || env::is_closed_terminal(&error) => Ok(false),
        Err(error) => Err(Failure::new(ExitStatus::WriteFailed, NotWritten(error))),
    }
}

fn write(mut out: impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes).and_then(|()| out.flush())
}

#[derive(Debug, thiserror::Error)]
#[error("failed to write to standard output")]
struct NotWritten(#[source] io::Error);

/// Writes a line to standard error, in the form that was asked for. Where it cannot be written nobody listens, and the exit
/// code says the rest.
pub(super) fn say(line: impl Display) {
    let _ = write!(anstream::stderr().lock(), "{}", aside(&format!("{line}\n")));
}

/// Whether standard error is for machines: the program's own log goes there as JSON, and so does all that we say beside it.
static FOR_MACHINES: AtomicBool = AtomicBool::new(false);

/// From here on all that we say on standard error is JSON, one line each.
pub(super) fn speak_to_machines() {
    FOR_MACHINES.store(true, Ordering::Relaxed);
}

/// Whether standard error is for machines.
pub(super) fn is_for_machines() -> bool {
    FOR_MACHINES.load(Ordering::Relaxed)
}

/// What we say to people, as it is to stand on standard error: as it is, or as one event of the log.
pub(super) fn aside(text: &str) -> String {
    if is_for_machines() { event("said", text, None) } else { sanitized(text) }
}

/// What a stage wrote, as an event of the log.
pub(super) fn output_event(phase: &str, stream: &str, bytes: &[u8]) -> String {
    event("output", &String::from_utf8_lossy(bytes), Some((phase, stream)))
}

/// A line in the form of the program's own log.
fn event(target: &str, text: &str, of_stage: Option<(&str, &str)>) -> String {
    let plain = plain(&sanitized(text));
    let mut fields = json!({ "message": plain.trim_matches('\n') });
    if let Some((phase, stream)) = of_stage {
        fields["phase"] = phase.into();
        fields["stream"] = stream.into();
    }
    let timestamp = format!("{:.3}", clock::now().wall());
    format!("{}\n", json!({ "timestamp": timestamp, "level": "INFO", "fields": fields, "target": target }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_machines_is_one_line_without_colours() {
        let text = format!("\n{RED}A human{RED:#} is needed\n  \"now\"\n");
        let line = event("said", &text, None);
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        let read: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(read["fields"], json!({ "message": "A human is needed\n  \"now\"" }));
        assert!(read["timestamp"].is_string() && read["level"] == "INFO" && read["target"] == "said", "{line}");
        let line = output_event("design", "stderr", b"half\xff");
        let read: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let fields = json!({ "message": "half\u{fffd}", "phase": "design", "stream": "stderr" });
        assert_eq!(read["fields"], fields);
    }
}
