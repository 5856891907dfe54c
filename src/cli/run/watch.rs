//! `loa-run status`, once or as long as the run works: on a terminal drawn over itself, elsewhere a line a change.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::runtime::Runtime;

use super::args::LoaRun;
use super::commands::runtime;
use super::given::{Here, settings_of_the_execution};
use super::refusal::of_run;
use super::service::has_service;
use super::show::{print_json, status_brief, status_line, status_text};
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::config::Settings;
use crate::runner::{Notification, Standing, Status, Vantage, status};
use crate::system::process::{Interrupt, Interrupts};
use crate::system::{clock, env, output};

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Shows where the execution stands, and says by the exit code whether anybody has to do anything.
pub(super) fn show_status(here: &Here, watch: bool, args: &LoaRun) -> Result<ExitStatus, Failure> {
    let settings = settings_of_the_execution(here, args);
    if watch {
        return watched(here, settings.as_ref(), args.json);
    }
    let status = looked(here, settings.as_ref())?;
    if args.json {
        print_json(&status)?;
    } else {
        print(&status_text(&status))?;
        if let Some(hint) = here.elsewhere() {
            print(&format!("\n{hint}\n"))?;
        }
    }
    Ok(exit(status.standing))
}

/// Where it stands now.
pub(super) fn looked(here: &Here, settings: Option<&Settings>) -> Result<Status, Failure> {
    let limit = settings.map(|settings| settings.triggers().timeout);
    let receivers = settings.map(Notification::from).unwrap_or_default().receivers;
    let from = Vantage {
        place: &here.place,
        now: clock::now().wall(),
        limit,
        receivers: &receivers,
        has_service: has_service(here),
    };
    status(&here.layout, &here.store, from).map_err(of_run)
}

fn exit(standing: Standing) -> ExitStatus {
    match standing {
        Standing::Finished | Standing::Working => ExitStatus::Success,
        Standing::Waiting | Standing::Resumable => ExitStatus::TryAgain,
        Standing::HumanNeeded => ExitStatus::HumanNeeded,
    }
}

/// Until nobody works on it any more.
fn watched(here: &Here, settings: Option<&Settings>, json: bool) -> Result<ExitStatus, Failure> {
    let runtime = runtime()?;
    let mut interrupts = {
        let _entered = runtime.enter();
        Interrupts::listen().map_err(|error| Failure::new(ExitStatus::Internal, error))?
    };
    let mut screen = Screen::new(json);
    loop {
        let status = looked(here, settings)?;
        let is_over = status.process.is_none();
        screen.show(&status, is_over)?;
        if is_over {
            return Ok(exit(status.standing));
        }
        if let Some(interrupt) = interrupted(&runtime, &mut interrupts) {
            screen.leave();
            return Ok(match interrupt {
                Interrupt::Interrupt => ExitStatus::Interrupted,
                Interrupt::Terminate => ExitStatus::Terminated,
            });
        }
    }
}

/// Waits for the next look, or less long when a signal comes.
fn interrupted(runtime: &Runtime, interrupts: &mut Interrupts) -> Option<Interrupt> {
    let _entered = runtime.enter();
    runtime.block_on(tokio::time::timeout(LOOK, interrupts.next())).ok()
}

/// What is shown, and where.
struct Screen {
    json: bool,
    /// What was shown last.
    shown: String,
    /// Draws over itself what changed, without a moment in which nothing is there; nothing where there is no terminal.
    bar: Option<ProgressBar>,
}

impl Screen {
    fn new(json: bool) -> Self {
        let bar = (!json && env::is_interactive()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
            bar.set_style(ProgressStyle::with_template("{msg}").expect("the template is well formed"));
            bar
        });
        Self { json, shown: String::new(), bar }
    }

    /// Shows a status where it says something new; the last one stays.
    fn show(&mut self, status: &Status, is_last: bool) -> Result<(), Failure> {
        let text = match (&self.bar, output::size_of_terminal()) {
            (Some(_), Some(size)) if !is_last => fitted(&status_text(status), || status_brief(status), size),
            (Some(_), _) => status_text(status),
            (None, _) => status_line(status),
        };
        if text == self.shown && !is_last {
            return Ok(());
        }
        let is_new = text != self.shown;
        match &self.bar {
            Some(bar) if is_last => {
                bar.finish_and_clear();
                print(&text)?;
            }
            Some(bar) => bar.set_message(text.trim_end().to_owned()),
            None if !is_new => {}
            None if self.json => {
                let line = serde_json::to_string(status).map_err(|error| Failure::new(ExitStatus::Internal, error))?;
                print(&format!("{line}\n"))?;
            }
            None => print(&format!("{text}\n"))?,
        }
        self.shown = text;
        Ok(())
    }

    /// Leaves what is shown, and the cursor below it.
    fn leave(&self) {
        self.bar.iter().for_each(ProgressBar::abandon);
    }
}

/// What a terminal of so many rows and columns shows: all of it where there is room, else as much as there is of what is
/// brief. A line stays for the cursor.
fn fitted(whole: &str, brief: impl FnOnce() -> String, (rows, columns): (usize, usize)) -> String {
    let room = rows.saturating_sub(1).max(1);
    let cut = |line: &str| console::truncate_str(line, columns, "…").into_owned();
    let whole = whole.trim_end();
    let lines: Vec<String> = if whole.lines().count() <= room {
        whole.lines().map(cut).collect()
    } else {
        brief().lines().filter(|line| !line.is_empty()).take(room).map(cut).collect()
    };
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn a_short_terminal_is_shown_what_matters_and_no_line_is_wider_than_it() {
        let whole = "exec-1: running\n\n  preflight completed\n  design in_progress\n\ndesign, attempt 1: runs\n";
        let brief = || "exec-1: running\n\ndesign, attempt 1: runs\n  last output, 0 ago: 日本語\n".to_owned();
        for (size, shown) in [
            ((7, 80), "exec-1: running\n\n  preflight completed\n  design in_progress\n\ndesign, attempt 1: runs"),
            ((6, 80), "exec-1: running\ndesign, attempt 1: runs\n  last output, 0 ago: 日本語"),
            ((4, 25), "exec-1: running\ndesign, attempt 1: runs\n  last output, 0 ago: 日…"),
            ((3, 8), "exec-1:…\ndesign,…"),
            ((0, 8), "exec-1:…"),
        ] {
            assert_eq!(fitted(whole, brief, size), shown, "{size:?}");
        }
    }
}
