//! `loa-run runs` and `loa-run prune`: the executions of a workspace, and what becomes of those that are over.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::given::Here;
use super::refusal::of_run;
use super::show::print_json;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::draw::moment;
use crate::events::RunStatus;
use crate::store::{RunStore, Summary, remove_archive};
use crate::system::clock;

const DAY: Duration = Duration::from_hours(24);

/// Lists them, oldest first.
pub(super) fn runs(here: &Here, json: bool) -> Result<ExitStatus, Failure> {
    let known = here.store.executions().map_err(|error| of_run(error.into()))?;
    let works = here.holder()?.is_some();
    if json {
        let folder = here.place.folder();
        let runs: Vec<Value> = known.iter().map(|summary| as_json(summary, works)).collect();
        return print_json(&json!({ "state": folder, "runs": runs })).map(|()| ExitStatus::Success);
    }
    let text =
        if known.is_empty() { "no execution yet; `loa-run run` begins one\n".to_owned() } else { lines(&known, works) };
    print(&text).map(|()| ExitStatus::Success)
}

/// Where it stands, in a word; `None` where nobody can read that. What is not over, and what nobody works on, died.
fn status(summary: &Summary, works: bool) -> Option<&'static str> {
    let died = summary.status == Some(RunStatus::Running) && !(works && summary.is_current);
    if died { Some("died") } else { summary.status.map(RunStatus::as_str) }
}

fn as_json(summary: &Summary, works: bool) -> Value {
    json!({
        "execution_id": summary.execution,
        "present": summary.is_current,
        "status": status(summary, works),
        "never_started": summary.was_never_started(),
        "started_at": summary.started_at,
        "updated_at": summary.updated_at,
        "bytes": summary.bytes,
    })
}

fn lines(summaries: &[Summary], works: bool) -> String {
    summaries.iter().fold(String::new(), |text, summary| text + &line(summary, works) + "\n")
}

fn line(summary: &Summary, works: bool) -> String {
    let mark = if summary.is_current { "*" } else { " " };
    let size = summary.bytes.div_ceil(1024);
    let status = status(summary, works).unwrap_or("unreadable");
    let status = if summary.was_never_started() { "never started" } else { status };
    let [began, seen] = [summary.started_at, summary.updated_at].map(moment);
    format!("{mark} {}  {status:<11} {began} to {seen}  {size} KiB", summary.execution)
}

/// Removes those that are over and old enough, or too many.
pub(super) fn prune(
    mut here: Here,
    older_than: Option<u32>,
    keep: Option<usize>,
    dry_run: bool,
    json: bool,
) -> Result<ExitStatus, Failure> {
    let failed = |error: crate::store::StoreError| of_run(error.into());
    let known = here.store.executions().map_err(failed)?;
    let now = clock::now().wall();
    let gone: Vec<Summary> = chosen(&known, now, older_than, keep).into_iter().cloned().collect();
    if !dry_run && !gone.is_empty() {
        here.store.claim(now, false).map_err(failed)?;
        // Whoever resumes meanwhile waits a moment.
        here.store.say_ending();
        for summary in &gone {
            here.store.remove(&summary.execution).map_err(failed)?;
            remove_archive(&here.layout, &summary.execution).map_err(failed)?;
        }
    }
    // Those that are removed are none that anybody works on.
    let works = false;
    let bytes: u64 = gone.iter().map(|summary| summary.bytes).sum();
    if json {
        let removed: Vec<Value> = gone.iter().map(|summary| as_json(summary, works)).collect();
        print_json(&json!({ "dry_run": dry_run, "removed": removed, "bytes": bytes }))?;
    } else {
        let verb = if dry_run { "would remove" } else { "removed" };
        let lines = lines(&gone, works);
        print(&format!("{lines}{verb} {} of {} executions, {} KiB\n", gone.len(), known.len(), bytes.div_ceil(1024)))?;
    }
    Ok(ExitStatus::Success)
}

/// Which of them are removed: never the present one; of the others those that ended too long ago, and all but the newest.
fn chosen(known: &[Summary], now: Timestamp, older_than: Option<u32>, keep: Option<usize>) -> Vec<&Summary> {
    let mut past: Vec<&Summary> = known.iter().filter(|summary| !summary.is_current).collect();
    past.sort_by_key(|summary| std::cmp::Reverse(summary.updated_at));
    let kept = keep.map(|keep| keep.saturating_sub(known.len() - past.len()));
    let is_old = |summary: &Summary| {
        let age = Duration::try_from(now.duration_since(summary.updated_at)).unwrap_or_default();
        older_than.is_some_and(|days| age > DAY * days)
    };
    let numbered = past.into_iter().enumerate();
    let gone = numbered.filter(|(rank, summary)| kept.is_some_and(|kept| *rank >= kept) || is_old(summary));
    let mut gone: Vec<&Summary> = gone.map(|(_, summary)| summary).collect();
    gone.sort_by_key(|summary| summary.started_at);
    gone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ExecutionId;

    #[test]
    fn the_present_one_stays_and_the_oldest_go_first() {
        let at = |day: i64| Timestamp::from_second(1_769_868_000 + day * 86_400).expect("a time of this century");
        let summary = |day: i64| Summary {
            execution: ExecutionId::new(format!("exec-{day}")).expect("not empty"),
            is_current: day == 0,
            status: Some(RunStatus::Completed),
            started_at: at(day),
            updated_at: at(day),
            bytes: 1,
        };
        let known: Vec<Summary> = [0, 1, 2, 3, 4].map(summary).to_vec();
        let names = |older_than, keep| {
            let gone = chosen(&known, at(5), older_than, keep);
            gone.iter().map(|summary| summary.execution.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(None, Some(3)), ["exec-1", "exec-2"], "the present one counts");
        assert_eq!(names(None, Some(0)), ["exec-1", "exec-2", "exec-3", "exec-4"]);
        assert_eq!(names(None, Some(9)), Vec::<String>::new());
        assert_eq!(names(Some(2), None), ["exec-1", "exec-2"]);
        assert_eq!(names(Some(3), Some(4)), ["exec-1"], "either is reason enough");
    }
}
