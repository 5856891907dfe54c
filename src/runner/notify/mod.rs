//! Tells people who do not look at the terminal that a human is needed. Bounded in time, and never a reason to fail: the
//! report is on disk before, and whoever is not reached finds it there.

mod call;

use std::time::Duration;

use serde_json::json;

pub use self::call::Call;

use crate::contract::ExecutionId;
use crate::events::Event;
use crate::runner::session::SESSION_VARIABLE;
use crate::runner::{Bounds, Notification};
use crate::store::Layout;
use crate::system::process::{Command, ProcessExit, capture};
use crate::system::webhook;

/// Tells people of the calls of one execution.
#[derive(Debug, Clone, Copy)]
pub struct Notifier<'a> {
    /// Where it works.
    pub layout: &'a Layout,
    /// The execution.
    pub execution: &'a ExecutionId,
    /// How people are told, and what must not be said.
    pub bounds: &'a Bounds,
    /// Variables that are not for the command.
    pub withheld: &'a [String],
}

impl Notifier<'_> {
    /// Tells them of a call, by every means that is configured; what came of each.
    pub async fn tell(&self, call: &Call) -> Vec<Event> {
        let Notification { command, webhook, time } = self.bounds.notification.clone();
        let mut told = Vec::new();
        if let Some(argv) = command {
            let failed = self.by_command(&argv, call, time).await.err();
            told.push(Event::Notified { means: "command".to_owned(), failed });
        }
        if let Some(url) = webhook {
            let posted = tokio::time::timeout(time, webhook::post(url, self.message(call), time)).await;
            let failed = match posted {
                Ok(Ok(answered)) => answered.err(),
                Ok(Err(_)) => Some("the client failed".to_owned()),
                Err(_) => Some(format!("no answer within {} ms", time.as_millis())),
            };
            let failed = failed.map(|reason| self.bounds.redactor.text(&reason));
            told.push(Event::Notified { means: "webhook".to_owned(), failed });
        }
        told
    }

    async fn by_command(&self, argv: &[String], call: &Call, time: Duration) -> Result<(), String> {
        let (program, arguments) = argv.split_first().ok_or("nothing to run")?;
        let command = Command::new(program)
            .args(arguments)
            .folder(self.layout.workspace())
            .env_remove(SESSION_VARIABLE)
            .env("LOA_EXECUTION_ID", self.execution.as_str())
            .env("LOA_PHASE", call.phase.as_str())
            .env("LOA_WORKSPACE", self.layout.workspace())
            .env("LOA_ESCALATION_TRIGGER", call.trigger.as_str())
            .env("LOA_ESCALATION_REASON", &call.reason)
            .env("LOA_ESCALATION_REPORT", &call.report.markdown)
            .env("LOA_ESCALATION_REPORT_YAML", &call.report.yaml);
        let command = self.withheld.iter().fold(command, Command::env_remove);
        let captured = capture(&command, 4096, time).await;
        let said = String::from_utf8_lossy(&captured.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).map(|line| format!(": {}", line.trim()));
        match captured.exit {
            _ if captured.timed_out => Err(format!("it took more than {} ms", time.as_millis())),
            ProcessExit::Exited(0) => Ok(()),
            exit => Err(self.bounds.redactor.text(&format!("{exit}{}", last.unwrap_or_default()))),
        }
    }

    /// The message: `text` for services that show one line, the rest for programs.
    fn message(&self, call: &Call) -> String {
        let text = format!("loa-run: a human is needed: {} in {}: {}", call.trigger, call.phase, call.reason);
        let document = json!({
            "event": "escalation",
            "text": text,
            "execution_id": self.execution,
            "phase": call.phase,
            "trigger": call.trigger,
            "reason": call.reason,
            "report": call.report.markdown,
            "workspace": self.layout.workspace(),
        });
        document.to_string()
    }
}
