//! An approval of a deployment is one for what the deployment runs when it is asked for, and for nothing else.

use super::Workspace;

/// `implementation` and `deploy` do this, with these lines beside and in `runtime`.
fn workspace(implementation: &str, deploy: &str, settings: (&str, &str)) -> Workspace {
    let workspace = Workspace::new(&[]);
    workspace.write("deploy.sh", "echo honest >> deployed\n");
    workspace.write("target.txt", "staging\n");
    workspace.write("../evil", implementation);
    workspace.config(&format!(
        "{}runtime:
{}  phases:
    preflight: {{ skip: true }}
    discovery: {{ skip: true }}
    design: {{ skip: true }}
    implementation: {{ command: [sh, ../evil] }}
    audit: {{ command: 'true' }}
    submit: {{ skip: true }}
    deploy: {{ {deploy} }}
    learning: {{ skip: true }}
",
        settings.0, settings.1
    ));
    workspace
}

const DEPLOY: &str = "command: [sh, deploy.sh, target.txt]";
const EVIL: &str = "echo 'echo evil >> deployed' > deploy.sh";

fn deployed(workspace: &Workspace) -> String {
    workspace.read("deployed")
}

#[test]
fn a_script_that_changed_before_the_approval_is_shown_with_it_and_agreed_to_by_it() {
    let told = "  notify: { patience_ms: 0, receivers: [{ kind: command, command: 'cat > ../told' }] }\n";
    let workspace = workspace(EVIL, DEPLOY, ("", told));
    let words = "file of the deployment changed since the start: deploy.sh";
    workspace.loa(&["run"]).exits(2).says(&["deploy waits for a human's approval", words]);
    let message = workspace.read("../told");
    for line in ["Agree to the deployment", words, "-echo honest >> deployed", "+echo evil >> deployed"] {
        assert!(message.contains(line), "{line}: {message}");
    }
    assert!(workspace.loa(&["status"]).stdout.contains(words));
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(0);
    assert_eq!(deployed(&workspace), "evil\n", "a person has seen it");
}

#[test]
fn what_changes_behind_the_approval_is_asked_about_and_does_not_run() {
    for (file, text) in [("deploy.sh", "echo evil >> deployed\n"), ("target.txt", "production\n")] {
        let workspace = workspace("true", DEPLOY, ("", ""));
        workspace.loa(&["run"]).exits(2).says(&["deploy waits for a human's approval"]);
        workspace.write(file, text);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        let words =
            format!("what it runs is not what was agreed to: file of the deployment changed since the start: {file}");
        workspace.resume().exits(2).says(&[&words, "it was not started"]);
        assert_eq!(deployed(&workspace), "", "{file}");
        workspace.write(file, "echo third >> deployed\n");
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace.resume().exits(2).says(&[&words]);
        assert_eq!(deployed(&workspace), "", "{file}: another one than was asked about");
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        workspace.resume().exits(0);
        assert!(!deployed(&workspace).is_empty(), "{file}");
    }
}

#[test]
fn another_command_than_the_approved_one_is_a_question() {
    for how in [&["--config", "new"][..], &["--set", "runtime.phases.deploy.command=[sh, other.sh]"]] {
        let workspace = workspace("true", DEPLOY, ("", ""));
        let asked = workspace.loa(&["run"]).exits(2);
        asked.says(&["deploy waits for a human's approval of `sh deploy.sh target.txt`"]);
        workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
        if how[0] == "--config" {
            let text = workspace.read(".loa.config.yaml");
            workspace.config(&text.replace(DEPLOY, "command: [sh, other.sh], env: { TARGET: live }"));
        }
        workspace.write("other.sh", "echo other >> deployed\n");
        let resumed = workspace.loa(&[&["resume"], how].concat()).exits(2);
        resumed.says(&["deploy runs `sh ", "other.sh", "; it was `sh deploy.sh target.txt`"]);
        assert_eq!(deployed(&workspace), "", "{how:?}");
    }
}

#[test]
fn the_script_of_an_agent_that_deploys_counts_like_a_command() {
    let agent = "  backends: { mine: { kind: command, run: [sh, ./agent.sh, '{prompt}'] } }\n";
    let workspace = workspace("echo 'echo evil >> deployed' > agent.sh", "prompt: deploy, backend: mine", ("", agent));
    workspace.write("agent.sh", "echo honest >> deployed\n");
    workspace.loa(&["run"]).exits(2).says(&["file of the deployment changed since the start: agent.sh"]);
    workspace.write("agent.sh", "echo again >> deployed\n");
    workspace.loa(&["resolve", "fix_and_resume"]).exits(0);
    workspace.resume().exits(2).says(&["it was not started"]);
    assert_eq!(deployed(&workspace), "");
}

#[test]
fn a_deployment_that_nobody_approves_runs_what_is_there() {
    let workspace = workspace(EVIL, DEPLOY, ("autonomous_agent: { require_human_deploy_approval: false }\n", ""));
    workspace.loa(&["run"]).exits(0).says(&["changed since the start: deploy.sh"]);
    assert_eq!(deployed(&workspace), "evil\n");
}
