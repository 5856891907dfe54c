//! Every document of `fixtures/documents/` against what is expected of it.

use std::collections::BTreeMap;
use std::fs;

use camino::Utf8Path;
use loa::conform::{score, spec, suite};
use loa::diag::{Budget, Diagnostic};
use loa::schema::{self, Checker, Kind};
use loa::{contract, runner};

use super::{files, root};

fn folder(kind: &Kind) -> camino::Utf8PathBuf {
    root().join("fixtures/documents").join(kind.name())
}

fn check(checker: &Checker, file: &Utf8Path) -> Vec<Diagnostic> {
    checker.check(&fs::read(file).expect("a readable document"), file, &Budget::default())
}

/// `code line:column` by file name.
fn expected(kind: &Kind) -> BTreeMap<String, String> {
    let table = fs::read_to_string(folder(kind).join("expected.txt")).expect("a table of expectations");
    let rows = table.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [file, code, place] = words[..] else { panic!("{}: three words a line, not {line:?}", kind.name()) };
        (file.to_owned(), format!("{code} {place}"))
    });
    rows.collect()
}

#[test]
fn valid_documents_have_no_finding() {
    for kind in loa::cli::kinds() {
        let checker = Checker::new(&kind);
        let files = files(&folder(&kind).join("valid"));
        assert!(!files.is_empty(), "{} has no valid document", kind.name());
        for file in files {
            assert_eq!(check(&checker, &file), [], "{file}");
        }
    }
}

/// Whatever the schema accepts, the type accepts too.
fn reads<T: serde::de::DeserializeOwned>(kind: &Kind) {
    let checker = Checker::new(kind);
    for file in files(&folder(kind).join("valid")) {
        let bytes = fs::read(&file).expect("a readable document");
        let read = checker.read::<T>(&bytes, &file, &Budget::default());
        assert!(read.is_ok(), "{file}: {:#?}", read.err());
    }
}

#[test]
fn valid_documents_are_read_into_their_types() {
    reads::<contract::Checkpoint>(&schema::CHECKPOINT);
    reads::<contract::EscalationReport>(&schema::ESCALATION_REPORT);
    reads::<contract::ContextState>(&schema::CONTEXT_STATE);
    reads::<contract::OperatorRecord>(&schema::OPERATOR_TYPE);
    reads::<contract::ExecutionState>(&schema::EXECUTION_STATE);
    reads::<contract::PhaseResult>(&schema::PHASE_RESULT);
    reads::<contract::Signal>(&schema::SIGNAL);
    reads::<contract::MemoryDocument>(&schema::MEMORY);
    reads::<contract::TrajectoryLine>(&schema::TRAJECTORY);
    reads::<contract::Message>(&schema::MESSAGES);
    reads::<spec::Manifest>(&spec::RUNTIME_MANIFEST);
    reads::<spec::AdapterAsk>(&spec::ADAPTER_ASK);
    reads::<spec::AdapterAnswer>(&spec::ADAPTER_ANSWER);
    reads::<spec::Case>(&spec::CONTRACT_CASE);
    reads::<spec::AgentManifest>(&spec::AGENT_MANIFEST);
    reads::<spec::AgentCase>(&spec::AGENT_CASE);
    reads::<spec::Claims>(&suite::CONTRACT_CLAIMS);
    reads::<Vec<spec::Clause>>(&suite::CONTRACT_LEDGER);
    reads::<score::ConformanceReport>(&score::CONFORMANCE_REPORT);
    reads::<runner::PlanDocument>(&runner::PLAN);
    reads::<runner::ResolutionDocument>(&runner::RESOLUTION);
    reads::<loa::events::AgentActivity>(&loa::events::AGENT_EVENT);
}

#[test]
fn invalid_documents_have_the_one_finding_that_is_expected_where_it_is_expected() {
    for kind in loa::cli::kinds() {
        let checker = Checker::new(&kind);
        let brief = |finding: &Diagnostic| {
            let place = finding.span.map_or("-".to_owned(), |span| span.start.to_string());
            format!("{} {place}", finding.code)
        };
        let found: BTreeMap<String, String> = files(&folder(&kind).join("invalid"))
            .into_iter()
            .map(|file| {
                let findings: Vec<String> = check(&checker, &file).iter().map(brief).collect();
                (file.file_name().expect("a file").to_owned(), findings.join(" and "))
            })
            .collect();
        assert!(!found.is_empty(), "{} has no invalid document", kind.name());
        let lines = |rows: &BTreeMap<String, String>| {
            let lines: Vec<String> = rows.iter().map(|(file, finding)| format!("{file}: {finding}")).collect();
            lines.join("\n")
        };
        let (expected, found) = (lines(&expected(&kind)), lines(&found));
        let difference = similar::TextDiff::from_lines(expected.as_str(), found.as_str());
        assert!(expected == found, "{}:\n{}", kind.name(), difference.unified_diff().context_radius(0));
    }
}

#[test]
fn every_finding_says_what_was_found_or_expected_and_points_into_the_document() {
    for kind in loa::cli::kinds() {
        let checker = Checker::new(&kind);
        for file in files(&folder(&kind).join("invalid")) {
            let lines = fs::read(&file).expect("a readable document").split(|byte| *byte == b'\n').count();
            for finding in check(&checker, &file) {
                assert!(finding.found.is_some() || finding.code == "syntax", "{file}: {finding:#?}");
                let line = finding.span.map_or(1, |span| span.start.line as usize);
                assert!(line <= lines, "{file}: {finding:#?}");
            }
        }
    }
}
