//! What the program prints without looking at a document: kinds, schemas, rules, completions.

use std::collections::HashSet;

use camino::Utf8Path;
use clap::{ArgMatches, Command as CommandLine};
use clap_complete::Shell;
use serde_json::{Map, Value, json};

use super::write;
use crate::cli::console::{print, say};
use crate::cli::{ExitStatus, Failure};
use crate::schema::{Explanation, Kind, schema_rules};
use crate::system::files::{self, Privacy};
use crate::text::harmless;

/// Every rule, each once.
pub(super) fn catalogue(kinds: &[Kind]) -> Vec<Explanation> {
    let mut rules = schema_rules();
    rules.extend(kinds.iter().flat_map(Kind::explanations));
    let mut seen = HashSet::new();
    rules.retain(|rule| seen.insert(rule.id));
    rules
}

pub(super) fn list(kinds: &[Kind], json: bool) -> Result<ExitStatus, Failure> {
    let title = |kind: &Kind| kind.schema()["title"].as_str().unwrap_or_default().to_owned();
    if json {
        let kind = |kind: &Kind| json!({"name": kind.name(), "title": title(kind), "place": kind.where_found()});
        return done(&format!("{:#}\n", Value::Array(kinds.iter().map(kind).collect())));
    }
    let line = |kind: &Kind| format!("{:<20} {:<20} {}\n", kind.name(), title(kind), kind.where_found());
    done(&kinds.iter().map(line).collect::<String>())
}

pub(super) fn schema(kinds: &[Kind], matches: &ArgMatches) -> Result<ExitStatus, Failure> {
    let name = matches.get_one::<String>("kind");
    let asked: Vec<&Kind> = kinds.iter().filter(|kind| name.is_none_or(|name| name == kind.name())).collect();
    if let Some(folder) = matches.get_one::<String>("write") {
        return write_schemas(&asked, Utf8Path::new(folder));
    }
    if let (Some(_), [kind]) = (name, asked.as_slice()) {
        return done(&kind.schema_file());
    }
    let all: Map<String, Value> = asked.iter().map(|kind| (kind.name().to_owned(), kind.schema())).collect();
    done(&format!("{:#}\n", Value::Object(all)))
}

fn write_schemas(kinds: &[&Kind], folder: &Utf8Path) -> Result<ExitStatus, Failure> {
    files::ensure_folder(folder.as_std_path()).map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
    for kind in kinds {
        let path = folder.join(format!("{}.schema.json", kind.name()));
        write::whole(path.as_std_path(), kind.schema_file().as_bytes(), Privacy::Shared)?;
    }
    say(format_args!("{} schemas in {folder}", kinds.len()));
    Ok(ExitStatus::Success)
}

pub(super) fn rules(kinds: &[Kind], json: bool) -> Result<ExitStatus, Failure> {
    let rules = catalogue(kinds);
    if json {
        let rule = |rule: &Explanation| json!({"id": rule.id, "about": rule.about, "why": rule.why, "mend": rule.mend, "kinds": kinds_of(kinds, rule)});
        return done(&format!("{:#}\n", Value::Array(rules.iter().map(rule).collect())));
    }
    let lines: Vec<String> = rules.iter().map(|rule| format!("{:<26} {}\n", rule.id, rule.about)).collect();
    done(&lines.concat())
}

/// The kinds that a rule belongs to; none when it holds for all.
fn kinds_of(kinds: &[Kind], rule: &Explanation) -> Vec<&'static str> {
    let has = |kind: &&Kind| kind.explanations().iter().any(|own| own.id == rule.id);
    kinds.iter().filter(has).map(Kind::name).collect()
}

pub(super) fn explain(kinds: &[Kind], matches: &ArgMatches) -> Result<ExitStatus, Failure> {
    let id = matches.get_one::<String>("rule").expect("clap requires a rule");
    let rules = catalogue(kinds);
    let rule = rules.iter().find(|rule| rule.id == id).expect("clap admits only rules");
    let about = format!("{}{}", rule.about[..1].to_uppercase(), &rule.about[1..]);
    let mut page = vec![format!("{id}\n\n  {about}.\n\nWhy:\n  {}\n\nHow to mend:\n  {}\n", rule.why, rule.mend)];
    let own = kinds_of(kinds, rule);
    if !own.is_empty() {
        page.push(format!("\nKinds: {}\n", own.join(", ")));
    }
    if let Some(example) = rule.example {
        page.push(format!("\nFor example, a {} at {}:\n", example.kind, example.path));
        page.push(format!("\n  Wrong:\n{}\n  Right:\n{}", indented(example.wrong), indented(example.right)));
    }
    done(&page.concat())
}

/// A document as a block, its control characters as escapes.
fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| harmless(line).into_owned());
    lines.flat_map(|line| ["    ".to_owned(), line, "\n".to_owned()]).collect()
}

pub(super) fn completions(mut command: CommandLine, matches: &ArgMatches) -> Result<ExitStatus, Failure> {
    let shell = *matches.get_one::<Shell>("shell").expect("clap requires a shell");
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "loa-validate", &mut script);
    done(&String::from_utf8_lossy(&script))
}

fn done(text: &str) -> Result<ExitStatus, Failure> {
    print(text).map(|()| ExitStatus::Success)
}
