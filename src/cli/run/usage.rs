//! `loa-run usage`: what subscriptions were used for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use jiff::tz::TimeZone;
use serde::Serialize;

use super::show::print_json;
use crate::backend::every_backend;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::config::Settings;
use crate::policy::{Tally, Usage};
use crate::runner::Surroundings;
use crate::system::clock;

/// The usage of one backend, and what the configuration allows.
#[derive(Debug, Serialize)]
struct Used {
    #[serde(flatten)]
    usage: Usage,
    /// Most prompts in a cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<u64>,
}

/// Shows every backend whose program keeps a record.
pub(super) fn usage(settings: &Settings, workspace: &Path, json: bool) -> Result<ExitStatus, Failure> {
    let surroundings = Surroundings { workspace: workspace.to_path_buf(), ..Surroundings::default() };
    let now = clock::now().wall();
    let used: BTreeMap<String, Used> = every_backend(settings)
        .iter()
        .filter_map(|it| {
            let usage = it.usage(&surroundings, now)?;
            Some((it.name().to_owned(), Used { usage, quota: it.quota() }))
        })
        .collect();
    if json {
        print_json(&used)?;
    } else {
        print(&used.iter().map(|(name, used)| text(name, used, &clock::zone())).collect::<String>())?;
    }
    Ok(ExitStatus::Success)
}

fn text(name: &str, used: &Used, zone: &TimeZone) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_usage(&mut text, name, used, zone);
    text
}

fn write_usage(text: &mut String, name: &str, used: &Used, zone: &TimeZone) -> std::fmt::Result {
    writeln!(text, "{name}")?;
    let quota = used.quota.map_or(String::new(), |most| format!(" of {most}"));
    write_tally(text, "this cycle", &quota, &used.usage.cycle, zone)?;
    write_tally(text, "this week", "", &used.usage.week, zone)?;
    if let Some(until) = used.quota.and_then(|most| used.usage.used_up(most)) {
        writeln!(text, "  the quota is used up until {}", until.to_zoned(zone.clone()).strftime("%F %H:%M"))?;
    }
    if used.usage.unread > 0 {
        writeln!(text, "  lines and files that could not be read, and count as nothing: {}", used.usage.unread)?;
    }
    Ok(())
}

fn write_tally(text: &mut String, what: &str, quota: &str, tally: &Tally, zone: &TimeZone) -> std::fmt::Result {
    let moment = |at: jiff::Timestamp| at.to_zoned(zone.clone()).strftime("%a %F %H:%M").to_string();
    let window = format!("{} to {}", moment(tally.window.start), moment(tally.window.end));
    writeln!(text, "  {what:<11} {window}: prompts {}{quota}, sessions {}", tally.prompts, tally.sessions)?;
    for (model, answers) in &tally.models {
        let (input, output) = (answers.input_tokens, answers.output_tokens);
        writeln!(text, "    {model}: answers {}, tokens read {input}, written {output}", answers.answers)?;
    }
    Ok(())
}
