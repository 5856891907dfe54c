//! What an agent is told, at first and when it goes on.

/// What an agent is told when it goes on in its own session.
const GO_ON: &str = "You were stopped before the task was done. Go on where you stopped, and finish the task.";
/// What the agent is told.
pub(in crate::runner) fn prompt(task: &str, goes_on: bool, trouble: Option<&str>) -> String {
    let trouble = trouble.map(|trouble| format!("The last attempt did not succeed: {trouble}"));
    match (goes_on, trouble) {
        (false, None) => task.to_owned(),
        (false, Some(trouble)) => format!("{task}\n\n{trouble}"),
        (true, None) => GO_ON.to_owned(),
        (true, Some(trouble)) => format!("{trouble}\n\nMend that, and finish the task."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_goes_on_is_not_told_its_task_again() {
        assert_eq!(prompt("Build it.", false, None), "Build it.");
        assert_eq!(prompt("Build it.", true, None), GO_ON);
        for goes_on in [true, false] {
            let told = prompt("Build it.", goes_on, Some("exit 1: two tests fail"));
            assert!(told.contains("two tests fail"));
            assert_eq!(told.contains("Build it."), !goes_on);
        }
    }
}
