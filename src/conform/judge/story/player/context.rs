//! How a runtime in memory watches the context: what it tells of each usage that a phase reports.

use serde_json::{Value, json};

use super::Player;
use crate::conform::judge::story::documents::spoil;
use crate::conform::judge::story::words::{Cause, Deed, Field};
use crate::conform::observe::{EventSeen, UsageSeen};
use crate::conform::spec::Case;
use crate::contract::Phase;

/// The limits of the contract, where none are set.
const USUAL: Limits = Limits { soft: 80_000, hard: 150_000 };

/// The limits of the context, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    soft: u64,
    hard: u64,
}

impl Limits {
    fn level(self, tokens: u64) -> Level {
        match tokens {
            tokens if tokens >= self.hard => Level::Hard,
            tokens if tokens >= self.soft => Level::Soft,
            _ => Level::None,
        }
    }

    /// The share that is in use, in percent: of the hard limit from there on, and of the soft one below it.
    fn share(self, tokens: u64, level: Level) -> u64 {
        let limit = if level == Level::Hard { self.hard } else { self.soft };
        (tokens * 100 + limit / 2) / limit
    }
}

/// Where the limits in force come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The configuration repeats the contract's.
    Usual,
    Configured,
    Default,
}

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    None,
    Soft,
    Hard,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Soft => "soft",
            Self::Hard => "hard",
        }
    }

    fn other(self) -> Self {
        if self == Self::Hard { Self::Soft } else { Self::Hard }
    }

    fn recommendation(self) -> &'static str {
        match self {
            Self::None => "Nothing needs to be done.",
            Self::Soft => "Compact the context soon.",
            Self::Hard => "Compact the context at once.",
        }
    }
}

/// What is told of a usage: the level, and whether it is warned of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Telling {
    level: Level,
    warns: bool,
}

impl Telling {
    /// A limit is warned of when it is reached.
    fn of(before: Level, level: Level) -> Self {
        Self { level, warns: level > before }
    }
}

/// What a runtime knows of the context while it runs.
#[derive(Debug)]
pub(super) struct Context {
    limits: Limits,
    origin: Origin,
    tokens: u64,
    level: Level,
    /// What its mutant tells when the next usage is reported.
    late: Vec<Value>,
}

impl Context {
    pub(super) fn of(case: &Case) -> Self {
        let limit = |which: &str| {
            case.config.get(&format!("autonomous_agent.context.{which}_limit_tokens")).and_then(Value::as_u64)
        };
        let (limits, origin) = match (limit("soft"), limit("hard")) {
            (Some(soft), Some(hard)) => {
                let limits = Limits { soft, hard };
                (limits, if limits == USUAL { Origin::Usual } else { Origin::Configured })
            }
            _ => (USUAL, Origin::Default),
        };
        Self { limits, origin, tokens: 0, level: Level::None, late: Vec::new() }
    }

    /// The runtime starts, and knows of no usage.
    pub(super) fn begins(&mut self) {
        (self.tokens, self.level) = (0, Level::None);
        self.late.clear();
    }

    /// What a usage comes to; nothing where it fell and is above a limit still, since it is open what follows of that.
    fn cause(&self, before: Level, level: Level) -> Option<Cause> {
        let by_origin = |usual, configured, default| match self.origin {
            Origin::Usual => usual,
            Origin::Configured => configured,
            Origin::Default => default,
        };
        match level {
            Level::None => Some(by_origin(Cause::UsageBelow, Cause::UsageBelowConfigured, Cause::UsageBelowDefault)),
            level if level == before => {
                Some(by_origin(Cause::UsageStays, Cause::UsageStaysConfigured, Cause::UsageStaysDefault))
            }
            level if level < before => None,
            Level::Soft => Some(by_origin(Cause::UsageSoft, Cause::UsageSoftConfigured, Cause::UsageSoftDefault)),
            Level::Hard => Some(by_origin(Cause::UsageHard, Cause::UsageHardConfigured, Cause::UsageHardDefault)),
        }
    }

    /// The limits that a mutant goes by which has others.
    fn other_limits(&self) -> Limits {
        let Limits { soft, hard } = self.limits;
        if self.origin == Origin::Configured {
            USUAL
        } else {
            Limits { soft: soft + soft / 10, hard: hard + hard / 10 }
        }
    }

    fn warning(&self, level: Level) -> Value {
        json!({
            "type": "CONTEXT_WARNING",
            "level": level.word(),
            "current_tokens": self.tokens,
            "percent_used": self.limits.share(self.tokens, level),
            "recommendation": level.recommendation(),
        })
    }

    /// What stands in the file that tells the state of the context.
    fn state(&self, warning: &Value, figure: &Value) -> Value {
        let mut state = json!({ "soft_limit": self.limits.soft, "hard_limit": self.limits.hard });
        let named =
            [("level", "warning_level"), ("percent_used", "percent_used"), ("recommendation", "recommendation")];
        for (key, name) in named {
            if let Some(value) = warning.get(key) {
                state[name] = value.clone();
            }
        }
        // A mutant is wrong about one of them at most.
        let own = json!(self.tokens);
        let told = [figure.get("current_tokens"), warning.get("current_tokens")];
        if let Some(tokens) = told.into_iter().find(|it| *it != Some(&own)).unwrap_or(Some(&own)) {
            state["current_tokens"] = tokens.clone();
        }
        state
    }
}

impl Player {
    /// A phase reports so many tokens; whether the context was full before and stays so.
    pub(super) fn uses(&mut self, phase: Phase, tokens: u64) -> bool {
        self.now += 1;
        let at = self.now;
        let (before, old) = (self.context.level, self.context.tokens);
        let level = self.context.limits.level(tokens);
        (self.context.level, self.context.tokens) = (level, tokens);
        let late = std::mem::take(&mut self.context.late);
        let cause = self.context.cause(before, level);
        let lawful = Telling::of(before, level);
        let telling = cause.map_or(lawful, |cause| self.telling(cause, phase, before, lawful));
        let figure = self.figure(cause, phase, old);
        let warning = self.warning(cause.filter(|_| lawful.warns), phase, telling);
        let compaction = cause.filter(|_| lawful.warns).and_then(|cause| self.compaction(cause, phase, level));
        let context_state = Some(self.context.state(&warning, &figure));
        let twice = lawful.warns && cause.is_some_and(|cause| self.does(Deed::WarnsTwice, cause, phase));
        let warnings = std::iter::repeat_n(warning, usize::from(telling.warns) + usize::from(twice));
        let told = std::iter::once(figure).chain(late).chain(warnings).chain(compaction);
        self.seen.events.extend(told.map(|line| EventSeen { at, line }));
        self.now += 1;
        self.seen.usages.push(UsageSeen { tokens, at, context_state, until: self.now });
        before == Level::Hard && level == Level::Hard
    }

    /// What is told of a usage, as far as its mutant lets it.
    fn telling(&mut self, cause: Cause, phase: Phase, before: Level, lawful: Telling) -> Telling {
        let Context { limits, tokens, .. } = self.context;
        let above = Limits { soft: limits.soft + 1, hard: limits.hard + 1 };
        for (deed, limits) in [(Deed::OffByOne, above), (Deed::OtherLimits, self.context.other_limits())] {
            let other = Telling::of(before, limits.level(tokens));
            let differs = (other.warns, other.warns.then_some(other.level))
                != (lawful.warns, lawful.warns.then_some(lawful.level));
            if differs && self.does(deed, cause, phase) {
                return other;
            }
        }
        let silent = Telling { level: before, warns: false };
        let warns = |level| Telling { level, warns: true };
        match lawful {
            Telling { warns: true, .. } if self.does(Deed::Silent, cause, phase) => silent,
            Telling { warns: true, level } if self.does(Deed::LateWarning, cause, phase) => {
                self.context.late.push(self.context.warning(level));
                silent
            }
            Telling { warns: true, level } if self.does(Deed::OtherLevel, cause, phase) => warns(level.other()),
            Telling { warns: false, level } if self.does(Deed::Warns, cause, phase) => warns(level.max(Level::Soft)),
            Telling { warns: false, level: Level::Soft } if self.does(Deed::OtherLevel, cause, phase) => {
                warns(Level::Hard)
            }
            lawful => lawful,
        }
    }

    /// The tokens in use.
    fn figure(&mut self, cause: Option<Cause>, phase: Phase, old: u64) -> Value {
        let tokens = self.context.tokens;
        let figure = |tokens: u64| json!({ "type": "CONTEXT_CURRENT", "current_tokens": tokens });
        let Some(cause) = cause else { return figure(tokens) };
        if old != tokens && self.does_to(Some(Field::Figure), Deed::Stale, cause, phase) {
            return figure(old);
        }
        let spoilt = self.spoils("figure", &figure(tokens), cause, phase);
        spoilt.map_or(figure(tokens), |(field, deed)| spoil(figure(tokens), field, deed))
    }

    /// What a warning says, where one is due after a cause.
    fn warning(&mut self, due: Option<Cause>, phase: Phase, telling: Telling) -> Value {
        let mut warning = self.context.warning(telling.level);
        let spoilt = due.and_then(|cause| self.spoils("warning", &warning, cause, phase));
        match spoilt {
            Some((Field::Share, Deed::OfAnother)) => {
                let Context { limits, tokens, .. } = self.context;
                warning["percent_used"] = json!(limits.share(tokens, telling.level.other()));
                warning
            }
            Some((field, deed)) => spoil(warning, field, deed),
            None => warning,
        }
    }

    /// The compaction that a limit leads to.
    fn compaction(&mut self, cause: Cause, phase: Phase, level: Level) -> Option<Value> {
        let kind = if level == Level::Hard { "emergency" } else { "standard" };
        let compaction = json!({ "type": "COMPACTION", "level": kind });
        if self.does(Deed::NoCompaction, cause, phase) {
            return None;
        }
        if self.does(Deed::LateCompaction, cause, phase) {
            self.context.late.push(compaction);
            return None;
        }
        match self.spoils("compaction", &compaction, cause, phase) {
            Some((field, deed)) => Some(spoil(compaction, field, deed)),
            None => Some(compaction),
        }
    }
}
