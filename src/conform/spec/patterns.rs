//! The patterns of a runtime's manifest: what can find nothing, or finds everything, is said before anything is judged.

use regex::Regex;

use super::manifest::Manifest;
use crate::diag::{Diagnostic, Node};
use crate::schema::{Example, Explanation, Rule, Subject};

/// Patterns that can be read, and that tell one thing from another.
pub(super) const PATTERNS: Rule = Rule {
    text: Explanation {
        id: "runtime-patterns",
        about: "the globs and regular expressions of a runtime manifest can find what they are for, and nothing else",
        why: "With a pattern that finds nothing the runtime is blamed for what it did, and with one that finds everything a \
              clause is kept by whoever does nothing.",
        mend: "Write `report` as a path from the workspace on, with `*`, `?` and `**`; have `surface` name {phase} and \
               {trigger}; give `warn` and `compact` a group `level`.",
        example: Some(Example {
            kind: "runtime-manifest",
            path: "mine.yaml",
            wrong: "runtime: mine\nversion: [mine, --version]\nrun: [mine, '{plan}']\nreport: /etc/*\n",
            right: "runtime: mine\nversion: [mine, --version]\nrun: [mine, '{plan}']\nreport: reports/*.yaml\n",
        }),
    },
    check: patterns,
};

/// What a phase and a trigger are called where a pattern is tried: no runtime prints it.
const NOBODY: &str = "\u{e000}";

fn patterns(subject: &Subject<'_>) -> Vec<Diagnostic> {
    let root = subject.document.root();
    let at = |path: &[&str]| path.iter().try_fold(root, |node, key| node.get(key));
    let sight = |key: &'static str| (vec![key, "output"], sight as Check);
    let all = [(vec!["report"], report as Check), (vec!["surface"], surface), sight("warn"), sight("compact")];
    let wrong = |(path, check): &(Vec<&str>, Check)| {
        let node: &Node = at(path)?;
        let message = check(node.as_str()?)?;
        let finding = Diagnostic::error(PATTERNS.text.id, format!("`{}`: {message}", path[0]));
        Some(finding.at(node.head()).of(format!("/{}", path.join("/"))).help(PATTERNS.text.mend))
    };
    all.iter().filter_map(wrong).collect()
}

/// Why a pattern is none, if so.
type Check = fn(&str) -> Option<String>;

/// Paths are matched as they are named from the workspace on.
fn report(glob: &str) -> Option<String> {
    if glob.starts_with(['/', '~', '$']) {
        return Some(format!("`{glob}` is no path from the workspace on, so it finds nothing"));
    }
    if let Some(part) = glob.split('/').find(|part| matches!(*part, "" | "." | "..")) {
        return Some(format!("no path that is found has the part `{part}`, so `{glob}` finds nothing"));
    }
    let strange = glob.chars().find(|letter| "[]{}\\".contains(*letter))?;
    Some(format!("`{strange}` is no pattern here and would stand for itself"))
}

fn surface(pattern: &str) -> Option<String> {
    match Regex::new(&Manifest::surfaced(pattern, NOBODY, NOBODY)) {
        Err(error) => Some(unreadable(&error)),
        Ok(regex) if ["x", "0", " "].iter().all(|line| regex.is_match(line)) || regex.is_match("") => {
            Some(format!("`{pattern}` matches every line, so that no human need be called"))
        }
        Ok(_) => None,
    }
}

fn sight(pattern: &str) -> Option<String> {
    match Regex::new(pattern) {
        Err(error) => Some(unreadable(&error)),
        Ok(regex) if regex.capture_names().flatten().all(|name| name != "level") => {
            Some(format!("`{pattern}` has no group `level`, so it shows none"))
        }
        Ok(_) => None,
    }
}

/// The last line of what is said of a regular expression names the fault.
fn unreadable(error: &regex::Error) -> String {
    let said = error.to_string();
    let last = said.lines().last().unwrap_or_default().trim();
    format!("it is no regular expression: {}", last.strip_prefix("error: ").unwrap_or(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_find_nothing_or_finds_everything_is_no_pattern() {
        for (check, pattern, is_wrong) in [
            (report as Check, "[[[", true),
            (report, "/etc/*", true),
            (report, "../*", true),
            (report, "a//b", true),
            (report, "reports/", true),
            (report, "./reports/*", true),
            (report, "", true),
            (report, "{a,b}.yaml", true),
            (report, ".loa-run/**/r?.yaml", false),
            (report, "**", false),
            (surface, "(", true),
            (surface, "{phase}{trigger}|.", true),
            (surface, ".*", true),
            (surface, "", true),
            (surface, "{phase} needs a human: {trigger}", false),
            (surface, "human needed", false),
            (sight, "level (", true),
            (sight, "soft|hard", true),
            (sight, "level (?P<level>soft|hard)", false),
        ] {
            assert_eq!(check(pattern).is_some(), is_wrong, "{pattern}: {:?}", check(pattern));
        }
    }
}
