//! Which request gets which answer: a script made ready to be played. Pure.

use std::collections::BTreeSet;

use regex::{Captures, Regex};

use super::answer::Answer;
use super::fault::Fault;
use super::script::{Route, Script, Step, Then};
use super::seen::By;

/// What is said after the last step.
const DONE: &str = "Done.";

/// A script whose every answer is known to be one.
#[derive(Debug)]
pub(super) struct Playbook {
    routes: Vec<Played>,
    /// Each step's answer, and how many requests have been answered when it is over.
    steps: Vec<(Answer, u64)>,
    then: Then,
}

#[derive(Debug)]
struct Played {
    name: String,
    pattern: Regex,
    reply: Answer,
}

impl Playbook {
    /// Makes a script ready.
    ///
    /// # Errors
    /// Everything that is wrong with it, in its order.
    pub(super) fn new(script: &Script) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut over = 0;
        let mut steps = Vec::new();
        for (at, step) in script.steps.iter().enumerate() {
            over += u64::from(step.times);
            match Answer::of(step, &format!("/steps/{at}")) {
                Ok(answer) => steps.push((answer, over)),
                Err(found) => faults.extend(found),
            }
        }
        if script.then == Then::Repeat && script.steps.is_empty() {
            faults.push(Fault::new("/then", "there is no step to repeat", "add a step, or remove `then`"));
        }
        let mut names = BTreeSet::new();
        let mut routes = Vec::new();
        for (at, route) in script.routes.iter().enumerate() {
            let at = format!("/routes/{at}");
            if !names.insert(&route.name) {
                let message = format!("another route is called `{}` too", route.name);
                faults.push(Fault::new(format!("{at}/name"), message, "the record tells routes apart by their names"));
            }
            match Played::new(route, &at) {
                Ok(route) => routes.push(route),
                Err(found) => faults.extend(found),
            }
        }
        if faults.is_empty() { Ok(Self { routes, steps, then: script.then }) } else { Err(faults) }
    }

    /// The answer to a request whose last message says `last_text`, after so many requests that no route took.
    pub(super) fn answer(&self, last_text: &str, before: u64) -> (By, Answer) {
        let routed = self.routes.iter().find_map(|route| Some((route, route.pattern.captures(last_text)?)));
        if let Some((route, captures)) = routed {
            let reply = route.reply.rewritten(|text| filled(text, &captures));
            return (By::Route(route.name.clone()), reply);
        }
        let at = self.steps.partition_point(|(_, over)| *over <= before);
        match (self.steps.get(at), self.steps.last(), self.then) {
            (Some((answer, _)), _, _) => (By::Step(at), answer.clone()),
            (None, Some((last, _)), Then::Repeat) => (By::Step(self.steps.len() - 1), last.clone()),
            _ => (By::After, Answer::text(DONE)),
        }
    }
}

impl Played {
    fn new(route: &Route, at: &str) -> Result<Self, Vec<Fault>> {
        let pattern = Regex::new(&route.r#match).map_err(|error| {
            let message = format!("the pattern does not compile: {}", last_line(&error.to_string()));
            vec![Fault::new(format!("{at}/match"), message, "it is a regular expression of the Rust crate `regex`")]
        })?;
        let groups: Vec<&str> = pattern.capture_names().flatten().collect();
        let faults = missing(&route.reply, &groups, at);
        if !faults.is_empty() {
            return Err(faults);
        }
        let reply = Answer::of(&route.reply, &format!("{at}/reply"))?;
        if route.reply.times != 1 {
            let help = "a route gives its answer every time; remove `times`";
            return Err(vec![Fault::new(format!("{at}/reply/times"), "the reply of a route has `times`", help)]);
        }
        Ok(Self { name: route.name.clone(), pattern, reply })
    }
}

/// The names in a reply that the pattern has no group for.
fn missing(reply: &Step, groups: &[&str], at: &str) -> Vec<Fault> {
    let texts = [("text".to_owned(), reply.text.as_ref()), ("shell".to_owned(), reply.shell.as_ref())];
    let shells = reply.shells.iter().enumerate().map(|(n, text)| (format!("shells/{n}"), Some(text)));
    let texts = texts.into_iter().chain(shells).filter_map(|(key, text)| Some((key, text?)));
    let unknown = texts
        .flat_map(|(key, text)| names(text).filter(|name| !groups.contains(name)).map(move |name| (key.clone(), name)));
    let fault = |(key, name): (String, &str)| {
        let help = match groups {
            [] => format!("name a group in `match`, as in `(?<{name}>.+)`"),
            _ => format!("the groups are {}", groups.join(", ")),
        };
        Fault::new(format!("{at}/reply/{key}"), format!("the pattern has no group `{name}`"), help)
    };
    unknown.map(fault).collect()
}

/// Every `name` that stands as `{{name}}` in a text. Braces around anything else are only braces.
fn names(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|(_, name)| name)
}

/// The text with every `{{name}}` filled in.
fn filled(text: &str, captures: &Captures<'_>) -> String {
    let value = |name| captures.name(name).map_or("", |found| found.as_str());
    pieces(text).flat_map(|(literal, name)| [literal, name.map_or("", value)]).collect()
}

/// A text, cut into literals, each followed by a name or by the end.
fn pieces(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut from = 0;
        while let Some(open) = text[from..].find("{{").map(|at| from + at) {
            let after = &text[open + 2..];
            if let Some(name) = after.split_once("}}").map(|(name, _)| name).filter(|name| is_name(name)) {
                rest = Some(&after[name.len() + 2..]);
                return Some((&text[..open], Some(name)));
            }
            from = open + 1;
        }
        rest = None;
        Some((text, None))
    })
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Of an error over several lines, the one that says what is wrong.
fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}

#[cfg(test)]
mod tests;
