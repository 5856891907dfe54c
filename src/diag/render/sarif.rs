//! SARIF 2.1.0, the OASIS format that code scanning reads: one run, its rules, a result a finding.

use serde_json::{Value, json};

use super::text::in_full;
use super::{Checked, Renderer, RuleWords, Summary, Tool};
use crate::diag::{Diagnostic, Edit, Fix, Severity, Span};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The results, until the last file is known.
#[derive(Debug)]
pub(super) struct Sarif {
    tool: Tool,
    rules: Vec<&'static str>,
    results: Vec<Value>,
}

impl Sarif {
    pub(super) fn new(tool: Tool) -> Self {
        Self { tool, rules: Vec::new(), results: Vec::new() }
    }

    /// The place of a rule in the list of those that were met.
    fn rule(&mut self, code: &'static str) -> usize {
        self.rules.iter().position(|rule| *rule == code).unwrap_or_else(|| {
            self.rules.push(code);
            self.rules.len() - 1
        })
    }

    fn result(&mut self, checked: &Checked<'_>, finding: &Diagnostic) -> Value {
        let level = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut result = json!({
            "ruleId": finding.code,
            "ruleIndex": self.rule(finding.code),
            "level": level,
            "message": {"text": in_full(finding).join("\n")},
            "locations": [location(checked.file, finding.span)],
            "properties": {"kind": checked.kind},
        });
        if let Some(pointer) = &finding.pointer {
            result["properties"]["pointer"] = pointer.as_str().into();
        }
        let related: Vec<Value> = finding
            .related
            .iter()
            .map(|related| {
                let mut place = location(checked.file, Some(related.span));
                place["message"] = json!({"text": related.label});
                place
            })
            .collect();
        if !related.is_empty() {
            result["relatedLocations"] = related.into();
        }
        if let Some(fix) = &finding.fix {
            result["fixes"] = json!([change(checked.file, fix)]);
        }
        result
    }

    fn driver(&self) -> Value {
        let rules = self.rules.iter().map(|code| match (self.tool.rule)(code) {
            Some(RuleWords { about, why, mend }) => json!({
                "id": code,
                "shortDescription": {"text": about},
                "fullDescription": {"text": why},
                "help": {"text": mend},
            }),
            None => json!({"id": code}),
        });
        json!({
            "name": self.tool.name,
            "semanticVersion": self.tool.version,
            "informationUri": self.tool.url,
            "rules": rules.collect::<Vec<_>>(),
        })
    }
}

impl Renderer for Sarif {
    fn file(&mut self, checked: &Checked<'_>) -> String {
        for finding in checked.findings {
            let result = self.result(checked, finding);
            self.results.push(result);
        }
        String::new()
    }

    fn end(&mut self, summary: &Summary) -> String {
        let notifications = summary.unread.iter().map(|unread| {
            json!({
                "level": "error",
                "message": {"text": unread.message},
                "locations": [location(&unread.file, None)],
            })
        });
        let invocation = json!({
            "executionSuccessful": summary.unread.is_empty(),
            "toolExecutionNotifications": notifications.collect::<Vec<_>>(),
        });
        let run = json!({
            "tool": {"driver": self.driver()},
            // Ours are Unicode scalar values; the standard counts in UTF-16 unless told.
            "columnKind": "unicodeCodePoints",
            "invocations": [invocation],
            "results": std::mem::take(&mut self.results),
        });
        format!("{:#}\n", json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}))
    }
}

/// A mending, as an editor can make it.
fn change(file: &str, fix: &Fix) -> Value {
    let replacement = |edit: &Edit| json!({"deletedRegion": region(edit.span), "insertedContent": {"text": edit.text}});
    json!({
        "description": {"text": fix.title},
        "artifactChanges": [{
            "artifactLocation": {"uri": uri(file)},
            "replacements": fix.edits.iter().map(replacement).collect::<Vec<_>>(),
        }],
    })
}

fn location(file: &str, span: Option<Span>) -> Value {
    let mut place = json!({"artifactLocation": {"uri": uri(file)}});
    if let Some(span) = span {
        place["region"] = region(span);
    }
    json!({"physicalLocation": place})
}

fn region(Span { start, end }: Span) -> Value {
    json!({"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column})
}

/// A path as a URI reference (RFC 3986): relative, so that whoever reads it puts his root before it, or `file://`.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let path = path.strip_prefix("./").unwrap_or(path);
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    let encoded = path.bytes().map(|byte| match byte {
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    std::iter::once(scheme.to_owned()).chain(encoded).collect()
}
