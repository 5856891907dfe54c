//! `loa-run try`: five minutes without a key. A scripted agent does a small task in a scratch repository, by the commands
//! that a person would type; this program types them, and says what came of each.

mod place;
mod told;

use std::path::{Path, PathBuf};

use serde_json::Value;
use tokio::runtime::Runtime;

use super::args::TryArgs;
use super::commands::{program, runtime};
use super::needs::find;
use crate::cli::{ExitStatus, Failure};
use crate::system::env;
use crate::system::process::{Attended, Command, Interrupt, Interrupts, ProcessExit, attend, next_line};
use place::Place;
use told::{Step, Teller};

/// The answer that lets the deployment begin.
const AGREE: &str = "fix_and_resume";
/// More answers than any person gives before it is enough.
const ANSWERS: usize = 20;

/// Does all of it, and removes the place unless it is to be kept.
pub(super) fn try_out(wish: &TryArgs, json: bool) -> Result<ExitStatus, Failure> {
    let runtime = runtime()?;
    let interrupts = {
        let _entered = runtime.enter();
        Interrupts::listen().map_err(|error| Failure::new(ExitStatus::Internal, error))?
    };
    let asks = !wish.yes && !json && env::is_interactive();
    let place = Place::make(wish.into.as_deref(), wish.keep)?;
    let teller = Teller::new(json, asks);
    let mut trial = Trial { runtime, interrupts, program: program()?, place, teller, asks };
    match trial.all(wish.no_open) {
        Ok(()) => Ok(ExitStatus::Success),
        Err(Stop::Interrupted(Interrupt::Interrupt)) => Ok(ExitStatus::Interrupted),
        Err(Stop::Interrupted(Interrupt::Terminate)) => Ok(ExitStatus::Terminated),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

/// Why it does not go on.
enum Stop {
    Interrupted(Interrupt),
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

struct Trial {
    runtime: Runtime,
    interrupts: Interrupts,
    program: PathBuf,
    place: Place,
    teller: Teller,
    /// A person answers.
    asks: bool,
}

impl Trial {
    fn all(&mut self, no_open: bool) -> Result<(), Stop> {
        self.teller.begin(self.place.folder())?;
        self.repository()?;
        self.own(
            &["doctor"],
            &[0],
            "Could a run work here? What is worth a look is said, such as the stop before deploy.",
        )?;
        self.own(
            &["run"],
            &[2],
            "The run. The agent fails its gate once and is started again; before deploy a person is asked, and the run ends.",
        )?;
        self.account()?;
        self.own(
            &["status"],
            &[0, 2],
            "Where it stands, also from another shell. Nothing waits meanwhile but files on a disk.",
        )?;
        self.answered()?;
        let report = self.report(no_open)?;
        self.leave(&report)
    }

    fn repository(&mut self) -> Result<(), Stop> {
        let words = ["git", "init", "--quiet", "project"].map(str::to_owned);
        let what =
            "A scratch repository. TASK.md says what to do, agent.sh stands for a coding agent, check.sh is a gate.";
        let folder = self.place.folder().to_path_buf();
        self.step(Command::new("git"), &words, &folder, &[0], what)?;
        self.place.lay()?;
        let words = ["cat", ".loa.config.yaml"].map(str::to_owned);
        let what =
            "All that loa-run is told: two phases are prompts with a gate, one is a command, the others are skipped.";
        let project = self.place.project();
        self.step(Command::new("cat"), &words, &project, &[0], what)?;
        Ok(())
    }

    /// Asks for an answer and goes on, until nobody is asked any more.
    fn answered(&mut self) -> Result<(), Stop> {
        for _ in 0..ANSWERS {
            let answer = self.answer()?;
            let words: Vec<&str> = ["resolve"].into_iter().chain(answer.split_whitespace()).collect();
            let what =
                if self.asks { "Your answer." } else { "The answer; nobody is here to give it, so this program does." };
            let (code, _) = self.own(&words, &[0, 64], what)?;
            if code == 64 {
                continue;
            }
            if words.contains(&"abort") {
                return Ok(());
            }
            let (code, _) =
                self.own(&["resume"], &[0, 2], "It goes on where it stopped: what is concluded is not done again.")?;
            if code == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<String, Stop> {
        if !self.asks {
            return Ok(AGREE.to_owned());
        }
        let typed =
            self.ask("May it be deployed? Enter or yes agrees, no goes on without it; or type abort, or reset: ")?;
        Ok(understood(&typed).to_owned())
    }

    /// What happened in the run, by its own report.
    fn account(&mut self) -> Result<(), Stop> {
        let (_, text) = self.quietly(&["report", "--json"])?;
        let report: Value = serde_json::from_str(&text).unwrap_or_default();
        self.teller.happened(&report).map_err(Stop::from)
    }

    fn report(&mut self, no_open: bool) -> Result<PathBuf, Stop> {
        self.own(&["report"], &[0], "Every attempt, pause and answer as one page, which needs no network.")?;
        self.account()?;
        let path = self.place.project().join(".loa-run/report.html");
        let display = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var(name).is_some());
        let opens = self.asks && display && !no_open && find("xdg-open", self.place.folder()).is_some();
        let opened = opens && Command::new("xdg-open").args([&path]).leave_beside().is_ok();
        // Where nobody is asked and nothing is kept, it is gone before anybody could open it.
        if self.asks || self.place.is_kept() {
            self.teller.report(&path, opened)?;
        }
        Ok(path)
    }

    /// Says where all of it is, or that it is gone.
    fn leave(&mut self, report: &Path) -> Result<(), Stop> {
        if !self.place.is_kept() && self.asks {
            let question = format!("Enter removes {}; type keep to keep it: ", self.place.folder().display());
            if self.ask(&question)? == "keep" {
                self.place.keep();
            }
        }
        Ok(self.teller.end(&self.place, report)?)
    }

    fn ask(&mut self, question: &str) -> Result<String, Stop> {
        self.teller.ask(question)?;
        let line = self.runtime.block_on(next_line(&mut self.interrupts)).map_err(Stop::Interrupted)?;
        // Without a line to come, nobody is here any more.
        self.asks &= line.is_some();
        Ok(line.unwrap_or_default().trim().to_owned())
    }

    /// A command of ours, as a step. Its code, and what it said.
    fn own(&mut self, words: &[&str], codes: &[u8], what: &str) -> Result<(u8, String), Stop> {
        let shown: Vec<String> = std::iter::once("loa-run").chain(words.iter().copied()).map(str::to_owned).collect();
        let project = self.place.project();
        self.step(Command::new(&self.program), &shown, &project, codes, what)
    }

    fn step(
        &mut self,
        command: Command,
        words: &[String],
        folder: &Path,
        codes: &[u8],
        what: &str,
    ) -> Result<(u8, String), Stop> {
        self.teller.step(&Step { words, folder, what })?;
        let command = self.surrounded(command.args(&words[1..]).folder(folder));
        let teller = &mut self.teller;
        let attended = self.runtime.block_on(attend(&command, &mut self.interrupts, |piece| teller.piece(piece)));
        let said = self.teller.output();
        let code = ended(attended, words, codes, &said)?;
        self.teller.ended(code)?;
        Ok((code, said))
    }

    /// A command of ours that nobody has to see.
    fn quietly(&mut self, words: &[&str]) -> Result<(u8, String), Stop> {
        let command = self.surrounded(Command::new(&self.program).args(words).folder(self.place.project()));
        let mut said = Vec::new();
        let keep = |piece: &crate::system::process::Piece| said.extend_from_slice(&piece.bytes);
        let attended = self.runtime.block_on(attend(&command, &mut self.interrupts, keep));
        let said = String::from_utf8_lossy(&said).into_owned();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Ok((ended(attended, &words, &[0], &said)?, said))
    }

    fn surrounded(&self, command: Command) -> Command {
        let (left_out, given) = self.place.environment();
        let command = left_out.into_iter().fold(command, Command::env_remove);
        given.into_iter().fold(command, |command, (name, value)| command.env(name, value))
    }
}

/// What somebody means who was asked whether it may be deployed: the words of an answer, or yes and no.
fn understood(typed: &str) -> &str {
    match typed.to_lowercase().as_str() {
        "" | "y" | "yes" => AGREE,
        "n" | "no" => "skip_phase",
        _ => typed,
    }
}

#[derive(Debug, thiserror::Error)]
#[error("`{command}` {how}")]
struct Unexpected {
    command: String,
    how: String,
}

/// The code of a command, when it is one of those with which the story goes on.
fn ended(attended: Attended, words: &[String], codes: &[u8], said: &str) -> Result<u8, Stop> {
    let exit = match attended {
        Attended::Interrupted(interrupt) => return Err(Stop::Interrupted(interrupt)),
        Attended::Ended(exit) => exit,
    };
    let code = match &exit {
        ProcessExit::Exited(code) => u8::try_from(*code).ok().filter(|code| codes.contains(code)),
        _ => None,
    };
    code.ok_or_else(|| {
        let how = match exit {
            ProcessExit::SpawnFailed(error) => format!("could not be started: {error}"),
            ProcessExit::Exited(code) => {
                format!("ended with {code}, and this trial expected {codes:?}: {}", said.trim())
            }
            ProcessExit::Signalled(_) => "was ended by a signal".to_owned(),
        };
        let failure = Failure::new(ExitStatus::TryAgain, Unexpected { command: words.join(" "), how });
        Stop::Failed(failure.hint("`loa-run try --into DIR` keeps what is there; git and sh have to be installed"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yes_and_no_are_answers_too() {
        for (typed, meant) in [
            ("", AGREE),
            ("y", AGREE),
            ("Yes", AGREE),
            ("n", "skip_phase"),
            ("NO", "skip_phase"),
            ("abort", "abort"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(understood(typed), meant, "{typed}");
        }
    }
}
