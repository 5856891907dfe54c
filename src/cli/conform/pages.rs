//! `loa-conform pages`: the pages of `reports/` are written by the program, from what is committed.

use std::path::Path;

use super::args::Pages;
use super::measured::Reports;
use super::stored::{LONGEST, document};
use crate::cli::{ExitStatus, Failure};
use crate::conform::score::ConformanceReport;
use crate::conform::spec::{RuntimeProfile, unmatched};
use crate::conform::suite::{CONTRACT_DEFECTS, Defects};
use crate::report::{self, Chapter};
use crate::system::files::{self, Privacy};

pub(super) fn pages(wish: &Pages) -> Result<ExitStatus, Failure> {
    put(&wish.into.join("contract-defects.md"), &defects(wish)?, wish.check)?;
    put(&wish.into.join("index.html"), &index(&Reports::gather(&wish.measured)?)?, wish.check)?;
    Ok(ExitStatus::Success)
}

/// Writes a page, or says that it is stale.
fn put(path: &Path, text: &str, check: bool) -> Result<(), Failure> {
    if !check {
        let failed = |error| Failure::new(ExitStatus::WriteFailed, error);
        return files::write_durably(path, text.as_bytes(), Privacy::Shared).map_err(failed);
    }
    let there = files::read(path, LONGEST).map_err(|error| {
        Failure::new(ExitStatus::NoInput, error).hint("run `loa-conform pages` and commit what it writes")
    })?;
    if there == text.as_bytes() {
        return Ok(());
    }
    let line = text.as_bytes().split(|byte| *byte == b'\n').zip(there.split(|byte| *byte == b'\n'));
    let same = line.take_while(|(new, old)| new == old).count();
    let message = format!("{} is stale from line {} on", path.display(), same + 1);
    Err(Failure::new(ExitStatus::NotConforming, message).hint("run `loa-conform pages` and commit what it writes"))
}

fn defects(wish: &Pages) -> Result<String, Failure> {
    let suite = super::suite::open::<RuntimeProfile>(wish.measured.place.suite.as_deref())?;
    let Defects(defects) = document(&CONTRACT_DEFECTS, &wish.defects, "the list of defects")?;
    let wrong = unmatched(&defects, &suite.clauses);
    if !wrong.is_empty() {
        let message = format!("{} and the ledger do not agree", wish.defects.display());
        return Err(wrong.into_iter().fold(Failure::new(ExitStatus::Config, message), Failure::hint));
    }
    Ok(report::defects(&defects, &suite.clauses, &suite.claims.edition))
}

/// One page; no two profiles share a table on it, and neither do programs alone and programs with an agent inside.
fn index(reports: &Reports) -> Result<String, Failure> {
    let mut chapters = vec![Chapter {
        id: "bundled",
        title: "Runtimes",
        lead: "The runtimes that come with this project, judged by the runtime contract.",
        report: &reports.bundled,
    }];
    let ids = |kind: &'static str, count: usize| (1..=count).map(move |number| format!("{kind}-{number}"));
    let driven: Vec<(String, &ConformanceReport)> = ids("driven", reports.driven.len()).zip(&reports.driven).collect();
    chapters.extend(driven.iter().map(|(id, report)| Chapter {
        id,
        title: "Runtimes in which a real agent does every phase",
        lead: "A loop starts the agent once a phase and reads its exit code; nothing else stands around it.",
        report,
    }));
    let names = |report: &ConformanceReport| {
        let names: Vec<&str> = report.runtimes.iter().map(|agent| agent.runtime.as_str()).collect();
        format!("{}: an agent at its own command line", names.join(", "))
    };
    let agents = ids("agents", reports.agents.len()).zip(&reports.agents);
    let agents: Vec<_> = agents.map(|(id, report)| (id, names(report), report)).collect();
    chapters.extend(agents.iter().map(|(id, title, report)| Chapter {
        id,
        title,
        lead: "By the agent profile, which is this project's own and no part of the contract; the model is a script.",
        report,
    }));
    Ok(report::page("Who keeps Loa's runtime contract", Some(&reports.joined()?), &chapters))
}
