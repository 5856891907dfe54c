//! What a value must be: literals, types and ranges over a parsed document. Numbers compare as numbers, texts as texts,
//! and neither as the other.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;

use super::Evidence;
use super::document::{read, show};
use crate::conform::judge::{Check, Outcome};
use crate::conform::observe::FileSeen;
use crate::conform::spec::{Matcher, Reason, ValueType};

/// JSON pointer to matcher.
pub(super) type Fields = BTreeMap<String, Matcher>;

/// A document under judgement and what it is compared with.
pub(super) struct Scene<'a> {
    pub(super) evidence: &'a Evidence<'a>,
    /// The checkpoints on disk at the same moment.
    pub(super) checkpoints: &'a BTreeMap<String, FileSeen>,
}

/// By what a value passed, besides the clause's own words.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) readings: BTreeSet<String>,
    zoneless: bool,
}

/// Where and how a value failed.
#[derive(Debug)]
pub(super) struct Mismatch {
    pub(super) reason: Reason,
    pub(super) pointer: String,
    pub(super) expected: String,
    pub(super) observed: String,
}

impl Scene<'_> {
    /// Holds every field of a document against its matcher; the first that fails is reported.
    pub(super) fn fields(&self, fields: &Fields, document: &Value) -> Result<Taken, Mismatch> {
        let mut taken = Taken::default();
        self.all(fields, document, "", &mut taken)?;
        Ok(taken)
    }

    fn all(&self, fields: &Fields, document: &Value, prefix: &str, taken: &mut Taken) -> Result<(), Mismatch> {
        for (pointer, matcher) in fields {
            let pointer = self.evidence.text(pointer);
            self.one(matcher, document.pointer(&pointer), &format!("{prefix}{pointer}"), taken)?;
        }
        Ok(())
    }

    fn one(&self, matcher: &Matcher, found: Option<&Value>, pointer: &str, taken: &mut Taken) -> Result<(), Mismatch> {
        let fail = |reason, expected: String, observed: String| {
            Err(Mismatch { reason, pointer: pointer.to_owned(), expected, observed })
        };
        let Some(found) = found else {
            return match matcher {
                Matcher::Absent | Matcher::Optional(_) => Ok(()),
                // A run may be over before there is one.
                Matcher::LatestCheckpoint if self.latest().is_empty() => Ok(()),
                _ => fail(Reason::FieldMissing, self.wanted(matcher), "nothing there".to_owned()),
            };
        };
        let verdict = match matcher {
            Matcher::Absent => Err(Reason::FieldPresent),
            Matcher::Is(literal) => holds(equal(found, &self.evidence.value(literal)), Reason::WrongValue),
            Matcher::OneOf(literals) => {
                let any = literals.iter().any(|literal| equal(found, &self.evidence.value(literal)));
                holds(any, Reason::WrongValue)
            }
            Matcher::Accept { is, or } => self.accept(is, or, found, taken),
            Matcher::Contains(part) => match found {
                Value::String(text) => holds(text.contains(&self.evidence.text(part)), Reason::WrongValue),
                _ => Err(Reason::WrongType),
            },
            Matcher::Between([low, high]) => match found.as_f64() {
                Some(number) => holds((*low..=*high).contains(&number), Reason::WrongValue),
                None => Err(Reason::WrongType),
            },
            Matcher::Type(kind) => is_of(*kind, found, taken),
            Matcher::Matches(pattern) => match found {
                Value::String(text) => holds(self.is_match(pattern, text), Reason::WrongValue),
                _ => Err(Reason::WrongType),
            },
            Matcher::Has(fields) => match found {
                Value::Array(items) => holds(self.any(fields, items, taken), Reason::WrongValue),
                _ => Err(Reason::WrongType),
            },
            Matcher::Optional(inner) => return self.one(inner, Some(found), pointer, taken),
            Matcher::Each { at_least, fields } => return self.each(*at_least, fields, found, pointer, taken),
            Matcher::SameAs(reference) => match self.elsewhere(reference) {
                Some(other) => holds(equal(found, &other), Reason::WrongValue),
                None => Err(Reason::NoCheckpoint),
            },
            Matcher::LatestCheckpoint => match self.latest() {
                newest if newest.is_empty() => holds(found.is_null(), Reason::NoCheckpoint),
                newest => holds(newest.iter().any(|checkpoint| equal(found, checkpoint)), Reason::WrongValue),
            },
        };
        verdict.or_else(|reason| fail(reason, self.wanted(matcher), show(found)))
    }

    fn accept(
        &self,
        is: &Value,
        or: &[crate::conform::spec::AcceptedValue],
        found: &Value,
        taken: &mut Taken,
    ) -> Result<(), Reason> {
        if equal(found, &self.evidence.value(is)) {
            return Ok(());
        }
        let other = or.iter().find(|other| equal(found, &self.evidence.value(&other.value)));
        let other = other.ok_or(Reason::WrongValue)?;
        taken.readings.insert(other.reading.clone());
        Ok(())
    }

    fn each(
        &self,
        at_least: usize,
        fields: &Fields,
        found: &Value,
        pointer: &str,
        taken: &mut Taken,
    ) -> Result<(), Mismatch> {
        let fail = |reason, expected: String, observed: String| {
            Err(Mismatch { reason, pointer: pointer.to_owned(), expected, observed })
        };
        let Value::Array(items) = found else {
            return fail(Reason::WrongType, "a list".to_owned(), show(found));
        };
        if items.len() < at_least {
            return fail(Reason::TooFewItems, format!("at least {at_least} items"), format!("{} items", items.len()));
        }
        for (index, item) in items.iter().enumerate() {
            self.all(fields, item, &format!("{pointer}/{index}"), taken)?;
        }
        Ok(())
    }

    /// Whether one item keeps all of the fields; the readings that it took are kept.
    fn any(&self, fields: &Fields, items: &[Value], taken: &mut Taken) -> bool {
        let holding = items.iter().find_map(|item| self.fields(fields, item).ok());
        holding.map(|more| taken.merge(more)).is_some()
    }

    fn is_match(&self, pattern: &str, text: &str) -> bool {
        Regex::new(&self.evidence.text(pattern)).is_ok_and(|pattern| pattern.is_match(text))
    }

    /// The value that `<phase>#<pointer>` names, in the phase's checkpoint on disk.
    fn elsewhere(&self, reference: &str) -> Option<Value> {
        let reference = self.evidence.text(reference);
        let (phase, pointer) = reference.split_once('#')?;
        let file = self.checkpoints.get(&format!("{phase}.yaml"))?;
        read(&file.text).ok()?.pointer(pointer).cloned()
    }

    /// The newest checkpoints on disk; several when they were written within one tick of the file system.
    fn latest(&self) -> Vec<Value> {
        let checkpoints = || self.checkpoints.iter().filter(|(name, _)| super::checkpoint::is_of_a_phase(name));
        let newest = checkpoints().map(|(_, file)| file.modified).max();
        let files = checkpoints().filter(|(_, file)| Some(file.modified) == newest);
        files.filter_map(|(_, file)| read(&file.text).ok()).collect()
    }

    fn listing(&self, fields: &Fields) -> String {
        let parts = fields.iter().map(|(pointer, matcher)| format!("{pointer} is {}", self.wanted(matcher)));
        parts.collect::<Vec<_>>().join(" and ")
    }

    /// A matcher in words.
    fn wanted(&self, matcher: &Matcher) -> String {
        let list = |values: &[Value]| values.iter().map(|value| show(&self.evidence.value(value))).collect::<Vec<_>>();
        match matcher {
            Matcher::Is(literal) => show(&self.evidence.value(literal)),
            Matcher::Type(kind) => in_words(*kind).to_owned(),
            Matcher::OneOf(literals) => format!("one of {}", list(literals).join(", ")),
            Matcher::Accept { is, or } => {
                let others = or.iter().map(|other| format!(" or {} ({})", show(&other.value), other.reading));
                format!("{}{}", show(&self.evidence.value(is)), others.collect::<String>())
            }
            Matcher::Contains(part) => format!("a text with \"{}\"", self.evidence.text(part)),
            Matcher::Absent => "nothing there".to_owned(),
            Matcher::Optional(inner) => format!("nothing, or {}", self.wanted(inner)),
            Matcher::Matches(pattern) => format!("a text that matches /{}/", self.evidence.text(pattern)),
            Matcher::Has(fields) => format!("a list with an item in which {}", self.listing(fields)),
            Matcher::Between([low, high]) => format!("a number from {low} to {high}"),
            Matcher::Each { at_least, .. } => format!("a list of at least {at_least}"),
            Matcher::SameAs(reference) => match self.elsewhere(reference) {
                Some(other) => format!("{}, as in {}", show(&other), self.evidence.text(reference)),
                None => format!("the same as in {}, which is not there", self.evidence.text(reference)),
            },
            Matcher::LatestCheckpoint => match self.latest().first() {
                Some(newest) => format!("the newest checkpoint, {}", show(newest)),
                None => "the newest checkpoint, of which there is none".to_owned(),
            },
        }
    }
}

impl Taken {
    /// By one reading, or by the clause's own words.
    pub(super) fn by(reading: Option<&str>) -> Self {
        Self { readings: reading.map(str::to_owned).into_iter().collect(), zoneless: false }
    }

    /// Adds what another document took.
    pub(super) fn merge(&mut self, other: Self) {
        self.readings.extend(other.readings);
        self.zoneless |= other.zoneless;
    }

    /// The check of a document that holds: a pass, or a warning where a reading or a missing zone asks for one.
    pub(super) fn into_check(self, evidence: &Evidence<'_>, expected: &str, observed: &str) -> Check {
        let warns = self.readings.iter().any(|reading| evidence.warns(reading));
        let reason = match (self.zoneless, self.readings.is_empty()) {
            (true, _) => Reason::NoZone,
            (false, true) => Reason::AsExpected,
            (false, false) => Reason::AnotherReading,
        };
        let outcome = if warns || self.zoneless { Outcome::Warn } else { Outcome::Pass };
        Check { readings: self.readings.into_iter().collect(), ..Check::new(outcome, reason, expected, observed) }
    }
}

impl Mismatch {
    /// The check of a document that does not hold.
    pub(super) fn into_check(self) -> Check {
        Check::fail(self.reason, self.expected, self.observed).at_pointer(self.pointer)
    }
}

fn holds(it: bool, otherwise: Reason) -> Result<(), Reason> {
    if it { Ok(()) } else { Err(otherwise) }
}

/// Deep equality in which 2 and 2.0 are one number.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a.total_cmp(&b).is_eq())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => left == right,
    }
}

fn is_of(kind: ValueType, found: &Value, taken: &mut Taken) -> Result<(), Reason> {
    let number = found.as_f64().filter(|number| number.is_finite());
    let texts = |items: &Vec<Value>| items.iter().all(Value::is_string);
    match (kind, found) {
        (ValueType::Present, Value::Null) => Err(Reason::WrongType),
        (ValueType::Present, _)
        | (ValueType::String, Value::String(_))
        | (ValueType::Boolean, Value::Bool(_))
        | (ValueType::List, Value::Array(_))
        | (ValueType::Mapping, Value::Object(_)) => Ok(()),
        (ValueType::NonEmptyString, Value::String(text)) => holds(!text.is_empty(), Reason::WrongValue),
        (ValueType::Strings, Value::Array(items)) if texts(items) => holds(!items.is_empty(), Reason::TooFewItems),
        (ValueType::Number, Value::Number(_)) => holds(number.is_some_and(|n| n >= 0.0), Reason::WrongValue),
        (ValueType::Integer, Value::Number(_)) => {
            holds(number.is_some_and(|n| n >= 0.0 && n.fract() == 0.0), Reason::WrongValue)
        }
        (ValueType::Timestamp, Value::String(text)) => timestamp(text, taken),
        _ => Err(Reason::WrongType),
    }
}

/// An ISO 8601 date and time; one without a zone is remembered.
fn timestamp(text: &str, taken: &mut Taken) -> Result<(), Reason> {
    let has_time = text.contains(':');
    if has_time && text.parse::<jiff::Timestamp>().is_ok() {
        return Ok(());
    }
    taken.zoneless |= has_time && text.parse::<jiff::civil::DateTime>().is_ok();
    holds(taken.zoneless, Reason::WrongValue)
}

fn in_words(kind: ValueType) -> &'static str {
    match kind {
        ValueType::Present => "a value",
        ValueType::String => "a text",
        ValueType::NonEmptyString => "a text of at least one character",
        ValueType::Number => "a number that is not negative",
        ValueType::Integer => "an integer that is not negative",
        ValueType::Boolean => "true or false",
        ValueType::List => "a list",
        ValueType::Strings => "a list of texts, at least one",
        ValueType::Mapping => "a mapping",
        ValueType::Timestamp => "an ISO 8601 date and time",
    }
}
