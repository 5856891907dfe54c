//! A program that broke down decided nothing. What the runtimes of languages and systems print then, whoever wrote the
//! program, is told from its own words; and where nothing shows that a stop was meant, it is no decision either.

use std::sync::LazyLock;

use regex::Regex;

use super::Evidence;
use super::control::Usual;
use super::document::clip;
use super::report::{ended, words};
use crate::conform::judge::Check;
use crate::conform::judge::occurrence::accused;
use crate::conform::observe::{OutputLine, ProcessEnd};
use crate::conform::spec::Reason;
use crate::system::clock::Millis;

/// The first line of what is printed when a program breaks down, by the runtimes of common languages, by shells and by
/// systems.
static BREAKDOWN: LazyLock<Regex> = LazyLock::new(|| {
    let lines = [
        // Python
        r"^Traceback \(most recent call last\):",
        // Rust
        r"^thread '.*' (\(\d+\) )?panicked at ",
        // Go
        r"^panic: |^goroutine \d+ \[|^fatal error: all goroutines are asleep",
        // JavaScript: the line of its version, and a frame
        r"^Node\.js v\d|^\s+at .+[(:].+:\d+:\d+\)?$|^Uncaught \S*Error",
        // Java and .NET
        r#"^Exception in thread "|^Unhandled exception[.:]|^Unhandled Exception:"#,
        // Ruby, PHP, Perl
        r"^\S+:\d+:in .*\(\w*(Error|Exception)\)|^(PHP )?Fatal error: |\bat \S+ line \d+\.$",
        // C and C++
        r"^terminate called (after throwing|without)|[Ss]egmentation fault|\(core dumped\)|^Aborted$|stack smashing detected",
        // Shells
        r"^\S+: (line )?\d+: .*(unbound variable|parameter not set|[Ss]yntax error|not found|[Bb]ad substitution)",
    ];
    Regex::new(&lines.join("|")).expect("the patterns are fixed")
});

/// The lines of an output but what a breakdown printed: everything on the same stream from its first line on.
pub(super) fn decided_lines<'a>(lines: &[&'a OutputLine]) -> Vec<&'a OutputLine> {
    let mut broken: Vec<&str> = Vec::new();
    let mut kept = Vec::new();
    for line in lines.iter().copied() {
        if broken.contains(&line.stream.as_str()) {
            continue;
        }
        if BREAKDOWN.is_match(&line.text) {
            broken.push(&line.stream);
            continue;
        }
        kept.push(line);
    }
    kept
}

/// After the phase had ended, the runtime did not break down, and something shows that it decided to stop: a report or a
/// line that names the phase, a checkpoint of it, or the exit code by which it asks for a human.
pub(super) fn decided(evidence: &Evidence<'_>, phase: &str) -> Check {
    let phase = evidence.text(phase);
    let expected = format!("the runtime to decide what follows {phase}, and not to break down");
    let (attempt, ended) = match ended(evidence, &phase, &expected) {
        Ok(found) => found,
        Err(check) => return *check,
    };
    let lines: Vec<&OutputLine> = evidence.lines(attempt.step, ended, Millis::MAX).collect();
    let check = match lines.iter().find(|line| BREAKDOWN.is_match(&line.text)) {
        Some(line) => Check::fail(Reason::BrokeDown, expected, clip(&line.text)).at_time(line.at).in_file("output"),
        None => match sign(evidence, attempt.step, &phase, &lines) {
            Some(sign) => Check::pass(expected, sign),
            None => Check::fail(Reason::NoDecision, expected, in_vain(evidence, attempt.step)),
        },
    };
    check.in_step(attempt.step)
}

/// What shows that the stop was meant.
fn sign(evidence: &Evidence<'_>, step: usize, phase: &str, lines: &[&OutputLine]) -> Option<String> {
    let seen = evidence.seen.steps.get(step)?;
    let usual = Usual::of(evidence);
    let named = |line: &&&OutputLine| !usual.has(line) && words(&line.text).contains(&words(phase));
    let report = seen.reports.iter().find(|it| accused(&it.document).is_some_and(|named| named.as_str() == phase));
    match seen.end {
        ProcessEnd::Exited(2) => Some("it ended with 2".to_owned()),
        ProcessEnd::Waiting => Some("it waits for its human".to_owned()),
        _ => report
            .map(|report| format!("{} names it", report.path))
            .or_else(|| {
                seen.checkpoints.contains_key(&format!("{phase}.yaml")).then(|| "it has a checkpoint".to_owned())
            })
            .or_else(|| lines.iter().find(named).map(|line| clip(&line.text))),
    }
}

fn in_vain(evidence: &Evidence<'_>, step: usize) -> String {
    let end = evidence.seen.steps.get(step).map_or_else(String::new, |step| super::ending::in_words(&step.end));
    format!("{end}; no report, no checkpoint and no line of its output names the phase")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(stream: &str, text: &str) -> OutputLine {
        OutputLine { at: 1, stream: stream.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn what_languages_print_when_a_program_breaks_down_is_told_from_words_of_its_own() {
        for (text, is_breakdown) in [
            ("Traceback (most recent call last):", true),
            ("thread 'main' panicked at src/main.rs:3:5:", true),
            ("thread 'main' (4711) panicked at src/main.rs:3:5:", true),
            ("panic: runtime error: index out of range", true),
            ("    at Object.<anonymous> (/w/runtime.js:12:7)", true),
            ("Node.js v22.1.0", true),
            ("Exception in thread \"main\" java.lang.IllegalStateException: 119", true),
            ("Unhandled exception. System.Exception: 119", true),
            ("/w/runtime.rb:12:in `run': unknown (RuntimeError)", true),
            ("runtime.sh: line 12: CODES[119]: unbound variable", true),
            ("runtime.sh: 12: code: parameter not set", true),
            ("Segmentation fault (core dumped)", true),
            ("phase design ended with an unknown exit code 119: stopping", false),
            ("design: code 119 is unknown at this point, a human is needed", false),
            ("error: the phase panicked", false),
            ("0:12 design failed", false),
        ] {
            assert_eq!(BREAKDOWN.is_match(text), is_breakdown, "{text}");
        }
    }

    #[test]
    fn what_follows_a_breakdown_on_its_stream_is_no_word_of_the_program() {
        let all = [
            line("stderr", "design ended with 119"),
            line("stderr", "Traceback (most recent call last):"),
            line("stdout", "bye"),
            line("stderr", "KeyError: unknown exit code 119"),
        ];
        let kept = decided_lines(&all.iter().collect::<Vec<_>>());
        assert_eq!(kept.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["design ended with 119", "bye"]);
    }
}
