//! Asks one agent, outside of a run: once, in a session that is given a name, in an earlier session, or, where an agent
//! has no sessions, anew with what it said earlier (backend layer: Public API).
//!
//! `invocation` is one of them; `printed` is what it writes for people. What may pass is
//! tried again, in the session that the attempt before worked in: an id that was used up once names no second session.

mod invocation;
mod printed;

use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use self::printed::Printed;
use super::driver::{TICK, ended, left, millis};
use super::port::{AgentEnd, Backend, Capabilities, Session, Surroundings};
use super::unreached::Unreached;
use crate::contract::{ContextLimits, EffortLevel};
use crate::events::{AgentActivity, Begins};
use crate::policy::{Backoff, Class, RedactedStream, Redactor, Repeat, Repeats, next_look, next_probe};
use crate::runner::session::{SESSION_VARIABLE, new_session};
use crate::system::clock::Moment;
use crate::system::guard::Guard;
use crate::system::process::{Interrupt, Interrupts, Piece};
use crate::system::{clock, orphans, sweep};

/// The most bytes of what an agent said earlier that it is told again: of a longer text the end.
const LONGEST_RETOLD: usize = 64 * 1024;

/// Whoever watches while an agent is asked.
pub trait AskListener {
    /// The agent did something.
    fn on(&mut self, activity: &AgentActivity);

    /// The agent wrote something that is for people, without its secrets.
    fn wrote(&mut self, piece: &Piece);
}

/// What is asked, of whom, and within which bounds.
#[derive(Debug)]
pub struct Question {
    /// The agent.
    pub backend: Rc<dyn Backend>,
    /// What it is told.
    pub prompt: String,
    /// What stands before that, with the weight that the program gives to such a text.
    pub system: Option<String>,
    /// Most turns of one invocation; otherwise what the configuration says.
    pub max_turns: Option<u32>,
    /// Longest duration of all of it, waits included.
    pub timeout: Option<Duration>,
    /// How hard it should think; its own default without one.
    pub effort: Option<EffortLevel>,
    /// Limits of its context.
    pub limits: ContextLimits,
    /// Where and with what it runs.
    pub surroundings: Surroundings,
    /// What it belongs to.
    pub thread: Thread,
    /// Repetitions of what may pass.
    pub retries: u32,
    /// The pauses before them.
    pub backoff: Backoff,
    /// How long to wait in all for a provider's limits to be lifted.
    pub patience: Duration,
    /// How long to wait for the end of one outage of a provider; not at all, it is a failure that may pass like others.
    pub outage_patience: Duration,
    /// Codes with which an agent that has nothing else to tell its ends apart by says that there is one.
    pub outage_codes: Vec<u8>,
    /// How long a process may take to obey TERM before it is killed.
    pub grace: Duration,
    /// What must not be shown.
    pub redactor: Redactor,
    /// Our own program, to be started as the guard.
    pub program: PathBuf,
}

/// What a question belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thread {
    /// Nothing: a new session.
    New,
    /// A new session that is to have this id, where the agent can be told one.
    Named(String),
    /// An earlier session.
    Earlier(String),
    /// What the agent said earlier, in a session that it cannot go on with: a new session is told it again.
    Retold(String),
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// How the last invocation ended.
    pub end: AgentEnd,
    /// The session that it worked in, where the agent can go on with one.
    pub session: Option<String>,
    /// What the agent said last; of one whose output is text for people, all of it.
    pub text: Option<String>,
    /// A signal to us ended it.
    pub interrupted: Option<Interrupt>,
    /// It was not allowed to use this many tools that it wanted, in the last invocation.
    pub denied: usize,
}

impl Answer {
    /// Whether it got nowhere because of tools that it was not allowed to use.
    #[must_use]
    pub fn is_stopped_by_denials(&self) -> bool {
        stopped_by_denials(&self.end.class, self.denied)
    }
}

/// Why nothing was asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The session cannot be resumed, because the agent has none.
    #[error("the backend `{0}` cannot go on with an earlier session")]
    NoSessions(String),
    /// The host refuses what we need for ourselves.
    #[error("cannot start the guard process")]
    Host(#[source] io::Error),
}

/// Asks, and tries again what may pass. Leaves no process behind.
///
/// # Errors
/// [`AskError`]; nothing was started then, and nobody was told anything. An agent that fails is an [`Answer`].
pub async fn ask(
    question: &Question,
    interrupts: &mut Interrupts,
    listener: &mut dyn AskListener,
) -> Result<Answer, AskError> {
    let capabilities = question.backend.capabilities();
    if matches!(question.thread, Thread::Earlier(_)) && !capabilities.resumes {
        return Err(AskError::NoSessions(question.backend.name().to_owned()));
    }
    let mark = new_session();
    orphans::adopt();
    let guard = Guard::start(&question.program, (SESSION_VARIABLE, mark.as_str())).map_err(AskError::Host)?;
    let mut surroundings = question.surroundings.clone();
    surroundings.variables.push((SESSION_VARIABLE.to_owned(), mark.as_str().into()));
    let mut asking = Asking {
        question,
        capabilities,
        surroundings,
        interrupts,
        listener,
        guard,
        began: clock::now(),
        thread: question.thread.clone(),
        told: false,
        guessed: false,
        attempts: 0,
        turns: 0,
        session: None,
        announced: None,
        said: None,
        printed: Printed::default(),
        complaints: RedactedStream::default(),
        unreached: Unreached::default(),
        denied: 0,
        patience: question.patience,
        limits_met: 0,
        outage: None,
    };
    let (end, interrupted) = asking.until_over().await;
    let answer = asking.answer(end, interrupted);
    let _ = sweep::end_processes_with(SESSION_VARIABLE, mark.as_str()) + orphans::end();
    let over = ended(&answer.end, answer.session.clone(), answer.text.clone(), None);
    asking.listener.on(&over);
    // On the way out by a panic it is not dismissed, and ends what is left.
    asking.guard.dismiss();
    Ok(answer)
}

/// A question that is being asked.
struct Asking<'a> {
    question: &'a Question,
    capabilities: Capabilities,
    surroundings: Surroundings,
    interrupts: &'a mut Interrupts,
    listener: &'a mut dyn AskListener,
    guard: Guard,
    began: Moment,
    /// What the next invocation belongs to.
    thread: Thread,
    /// In that thread, the agent was told its prompt before.
    told: bool,
    /// That thread may have begun under the id that was given, or not: the agent did not say.
    guessed: bool,
    attempts: u32,
    turns: u32,
    /// The session that was worked in last.
    session: Option<String>,
    /// The session of the invocation at hand.
    announced: Option<String>,
    said: Option<String>,
    /// What an agent printed that writes for people.
    printed: Printed,
    complaints: RedactedStream,
    /// What the invocation at hand says of not reaching its provider.
    unreached: Unreached,
    denied: usize,
    patience: Duration,
    /// How often a limit was met.
    limits_met: u32,
    /// The outage that is waited for: since when, and how many probes there were.
    outage: Option<(Moment, u32)>,
}

/// What follows an invocation.
enum Step {
    Over(AgentEnd),
    AtOnce,
    After(AgentEnd, jiff::Timestamp),
}

impl Asking<'_> {
    async fn until_over(&mut self) -> (AgentEnd, Option<Interrupt>) {
        let allowed = self.question.retries;
        let mut repeats = Repeats { allowed, ..Repeats::default() };
        loop {
            let (end, interrupted) = match self.out_of_quota() {
                Some(end) => (end, None),
                None => self.invoke().await,
            };
            if interrupted.is_some() {
                return (end, interrupted);
            }
            match self.step(end, &mut repeats) {
                Step::Over(end) => return (end, None),
                Step::AtOnce => {}
                Step::After(end, until) => {
                    if let Some(interrupt) = self.wait(&end, until).await {
                        return (end, Some(interrupt));
                    }
                }
            }
        }
    }

    /// The end that is met before anything is started, when the configuration's own bound is reached.
    fn out_of_quota(&self) -> Option<AgentEnd> {
        let resets_at = self.question.backend.used_up(&self.surroundings, clock::now().wall())?;
        Some(AgentEnd {
            class: Class::Limit { resets_at: Some(resets_at) },
            code: None,
            signal: None,
            evidence: "the quota that the configuration sets is used up".to_owned(),
            session_refused: false,
            spent: None,
        })
    }

    /// Decides what follows, and in which thread.
    fn step(&mut self, end: AgentEnd, repeats: &mut Repeats) -> Step {
        let mut end = end.with_outage_codes(self.capabilities.structured, &self.question.outage_codes);
        if self.question.outage_patience.is_zero() {
            end.class = end.class.without_outages();
        }
        if end.class != Class::Outage {
            self.outage = None;
        }
        if end.session_refused {
            return self.without_session(end);
        }
        let repeat = if self.is_final(&end) { Repeat::Never } else { end.class.repeat(*repeats) };
        let until = match repeat {
            Repeat::Never => return Step::Over(end),
            Repeat::Later(asked) => {
                let delay = self.question.backoff.delay(repeats.made, fastrand::f64());
                *repeats = repeats.and_one(&end.class);
                let delay = delay.max(asked.unwrap_or_default());
                clock::now().later(Duration::from_millis(millis(delay))).wall()
            }
            Repeat::Probe => match self.next_probe() {
                Some(until) => until,
                None => return Step::Over(end),
            },
            Repeat::Reset(known) => {
                let until = next_look(known, self.limits_met, clock::now().wall());
                self.limits_met = self.limits_met.saturating_add(1);
                if left(until) > self.patience {
                    return Step::Over(end);
                }
                self.patience -= left(until);
                until
            }
        };
        if self.time_left().is_some_and(|time| left(until) > time) {
            return Step::Over(end);
        }
        self.go_on();
        Step::After(end, until)
    }

    /// When the provider is asked again after it was found out of order or out of reach; `None` when patience is spent.
    fn next_probe(&mut self) -> Option<jiff::Timestamp> {
        let (since, probes) = self.outage.unwrap_or((clock::now(), 0));
        let left = self.question.outage_patience.saturating_sub(clock::now().since(since));
        let pause = next_probe(probes, left, fastrand::f64())?;
        self.outage = Some((since, probes + 1));
        Some(clock::now().later(Duration::from_millis(millis(pause))).wall())
    }

    /// Whether nothing follows, whatever its class: a bound that was asked for is a bound.
    fn is_final(&self, end: &AgentEnd) -> bool {
        let bounded = self.question.max_turns.is_some() && end.class == Class::TimedOut;
        bounded || self.time_left() == Some(Duration::ZERO) || stopped_by_denials(&end.class, self.denied)
    }

    /// What is left of the time that it may take.
    fn time_left(&self) -> Option<Duration> {
        let took = clock::now().since(self.began);
        Some(self.question.timeout?.saturating_sub(took))
    }

    /// Takes the thread for the next invocation from where this one came to.
    fn go_on(&mut self) {
        if !self.capabilities.resumes {
            return;
        }
        match (self.announced.take(), &self.thread) {
            (Some(session), _) => (self.thread, self.told, self.guessed) = (Thread::Earlier(session), true, false),
            // It may have begun, and then the id is taken.
            (None, Thread::Named(id)) if self.capabilities.names_sessions => {
                (self.thread, self.guessed) = (Thread::Earlier(id.clone()), true);
            }
            (None, _) => {}
        }
    }

    /// The session to go on with is not there.
    fn without_session(&mut self, end: AgentEnd) -> Step {
        match &self.question.thread {
            Thread::Named(id) if self.guessed => self.thread = Thread::Named(id.clone()),
            Thread::Earlier(_) => {
                let evidence = format!("the session is not there: {}", end.evidence);
                return Step::Over(AgentEnd { class: Class::Permanent, evidence, ..end });
            }
            Thread::Retold(_) => self.thread = self.question.thread.clone(),
            Thread::New | Thread::Named(_) => self.thread = Thread::New,
        }
        (self.told, self.guessed, self.session) = (false, false, None);
        Step::AtOnce
    }

    async fn wait(&mut self, end: &AgentEnd, until: jiff::Timestamp) -> Option<Interrupt> {
        let (class, evidence) = (end.class.name(), end.evidence.clone());
        self.listener.on(&AgentActivity::Waiting { class, evidence, until });
        while !left(until).is_zero() {
            tokio::select! {
                interrupt = self.interrupts.next() => return Some(interrupt),
                // In steps, because somebody may set the clock.
                () = tokio::time::sleep(TICK.min(left(until))) => {}
            }
        }
        None
    }

    /// How the next invocation begins, and the session that it is told of.
    fn beginning(&self) -> (Begins, Session<'_>) {
        match &self.thread {
            Thread::Retold(_) => (Begins::Retold, Session::New),
            Thread::Named(id) if self.capabilities.names_sessions => (Begins::Named, Session::Named(id)),
            Thread::New | Thread::Named(_) => (Begins::New, Session::New),
            Thread::Earlier(id) => (Begins::Resumed, Session::Earlier(id)),
        }
    }

    fn answer(&mut self, end: AgentEnd, interrupted: Option<Interrupt>) -> Answer {
        let redactor = &self.question.redactor;
        let text = if self.capabilities.structured {
            self.said.take()
        } else {
            let printed = redactor.text(&std::mem::take(&mut self.printed).text());
            Some(printed.trim_end().to_owned()).filter(|text| !text.is_empty())
        };
        let end = match interrupted {
            Some(_) => AgentEnd { class: Class::Cancelled, evidence: "it was interrupted".to_owned(), ..end },
            None => AgentEnd { evidence: redactor.text(&end.evidence), ..end },
        };
        let session = self.session.take().filter(|_| self.capabilities.resumes);
        Answer { end, session, text, interrupted, denied: self.denied }
    }
}

/// Whether it got nowhere because of tools that it was not allowed to use, which it will not be next time either. An end
/// that says itself what was wrong, such as a provider that is overloaded, is taken at its word.
fn stopped_by_denials(class: &Class, denied: usize) -> bool {
    denied > 0 && class.is_blind()
}

/// The prompt of an agent that cannot go on with its session: what it said, and what it is told now.
fn retold(earlier: &str, prompt: &str) -> String {
    let earlier = earlier.trim();
    let start = earlier.len().saturating_sub(LONGEST_RETOLD);
    let start = (start..=earlier.len()).find(|at| earlier.is_char_boundary(*at)).unwrap_or_default();
    let which = if start == 0 { "" } else { ", of which this is the end" };
    format!(
        "You worked on this before, in a session that is gone. What you said then{which}:\n\n{}\n\n\
         What you are told now:\n\n{prompt}",
        &earlier[start..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_again_is_bounded_and_says_so() {
        let told = retold("It is designed.\n", "Build it.");
        assert!(
            told.contains("What you said then:\n\nIt is designed.\n\n") && told.ends_with("\n\nBuild it."),
            "{told}"
        );
        let long = format!("begin{}end", "\u{e9}".repeat(LONGEST_RETOLD));
        let told = retold(&long, "Build it.");
        assert!(told.contains("of which this is the end") && told.contains("end\n\n"), "{}", &told[..200]);
        assert!(!told.contains("begin") && told.len() < LONGEST_RETOLD + 300, "{}", told.len());
    }
}
