//! What the doctor finds before a night is lost: scripts, commands of prompts, the stop before deploy.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Workspace;

/// A workspace that skips every phase but these.
fn workspace(head: &str, phases: &[(&str, &str)]) -> Workspace {
    let workspace = Workspace::only(&[]);
    let section = |phase: &str| {
        let own = phases.iter().find(|(name, _)| *name == phase).map_or("skip: true", |(_, section)| *section);
        format!("    {phase}: {{ {own} }}\n")
    };
    let sections = super::workspace::PHASES.map(section).concat();
    workspace.config(&format!("{head}\nruntime:\n  phases:\n{sections}"));
    workspace
}

#[test]
fn a_script_that_is_not_there_is_found_missing_wherever_it_is_named() {
    for section in [
        "command: sh ./missing.sh",
        "command: [sh, ./missing.sh]",
        "command: 'true', verify: sh ./missing.sh",
        "command: ./missing.sh && git add -A",
        "command: 'sh -e ./missing.sh; true'",
        "command: [timeout, '10', ./missing.sh]",
        "command: . ./missing.sh && true",
        "command: [bash, -c, 'source ./missing.sh']",
        "command: 'true', verify: '. ./missing.sh'",
    ] {
        let workspace = workspace("", &[("design", section)]);
        let found = workspace.loa(&["doctor"]).exits(2).stdout;
        assert!(found.contains("BAD   design") && found.contains("`./missing.sh`"), "{section}\n{found}");
        workspace.write("missing.sh", "#!/bin/sh\n");
        fs::set_permissions(workspace.path("missing.sh"), fs::Permissions::from_mode(0o755)).expect("ours");
        workspace.loa(&["doctor"]).exits(0);
    }
}

#[test]
fn a_folder_that_a_command_enters_and_a_program_behind_another_are_looked_at() {
    let line = "command: 'cd sub && ./work.sh; no-such-program x'";
    let workspace = workspace("", &[("design", line)]);
    let found = workspace.loa(&["doctor"]).exits(2).stdout;
    assert!(found.contains("BAD   design: `sub`, which `cd` is given, is no folder"), "{found}");
    fs::create_dir(workspace.path("sub")).expect("made");
    let found = workspace.loa(&["doctor"]).exits(2).stdout;
    assert!(found.contains("BAD   design: `./work.sh` is not found"), "{found}");
    workspace.write("sub/work.sh", "#!/bin/sh\n");
    fs::set_permissions(workspace.path("sub/work.sh"), fs::Permissions::from_mode(0o755)).expect("ours");
    let found = workspace.loa(&["doctor"]).exits(0).stdout;
    assert!(found.contains("warn  design: `no-such-program` is not found"), "it may be made before: {found}");
}

#[test]
fn a_second_script_in_one_line_is_looked_for_too() {
    for line in ["sh a.sh && sh nope.sh", "sh a.sh; . ./nope.sh", "sh a.sh && timeout 9 sh nope.sh"] {
        let workspace = workspace("", &[("design", &format!("command: '{line}'"))]);
        workspace.write("a.sh", "#!/bin/sh\n");
        let found = workspace.loa(&["doctor"]).exits(0).stdout;
        let named = found.lines().any(|line| line.starts_with("warn  design: ") && line.contains("nope.sh`, which "));
        assert!(named && found.contains("unless what stands before it makes it"), "{line}\n{found}");
        workspace.write("nope.sh", "");
        let found = workspace.loa(&["doctor"]).exits(0).stdout;
        assert!(!found.contains("nope.sh"), "{line}\n{found}");
    }
}

#[test]
fn whoever_could_not_be_told_and_a_glob_that_names_nothing_are_found_before_the_night() {
    let workspace = workspace("", &[("design", "command: 'true'")]);
    let text = workspace.read(".loa.config.yaml");
    let receivers = [
        ("{ kind: command, command: [/nonexistent] }", "BAD   notify, command: `/nonexistent` is not found"),
        ("{ kind: slack, url: { env: LOA_NO_SUCH } }", "BAD   notify, slack: the environment variable LOA_NO_SUCH is"),
        ("{ kind: ntfy, url: { file: none } }", "BAD   notify, ntfy: cannot read"),
        ("{ kind: discord, url: { file: other } }", "BAD   notify, discord: the address in other is no address that"),
        ("{ kind: email, to: a@b, command: [no-sendmail] }", "BAD   notify, email: `no-sendmail` is not found"),
        (
            "{ kind: webhook, url: 'http://x/SECRET', token: { env: LOA_NO_SUCH } }",
            "BAD   notify, webhook, its token: ",
        ),
    ];
    let named: Vec<&str> = receivers.iter().map(|(receiver, _)| *receiver).collect();
    let head = format!("runtime:\n  protects: ['test/**']\n  notify: {{ receivers: [{}] }}\n", named.join(", "));
    workspace.config(&text.replace("runtime:\n", &head));
    workspace.write("other", "ftp://example.org/SECRET");
    let found = workspace.loa(&["doctor"]).exits(2).stdout;
    for (_, said) in receivers {
        assert!(found.contains(said), "{said}\n{found}");
    }
    assert!(found.contains("good  notify, webhook: ") && !found.contains("SECRET"), "{found}");
    assert!(found.contains("warn  protects: `test/**` names 0 files"), "{found}");
    fs::create_dir(workspace.path("test")).expect("made");
    workspace.write("test/one", "");
    let found = workspace.loa(&["doctor"]).exits(2).stdout;
    assert!(found.contains("good  protects: `test/**` names 1 files"), "{found}");
}

#[test]
fn a_state_that_cannot_be_looked_at_is_one_bad_line_among_the_others() {
    let workspace = workspace("", &[("design", "command: 'true'")]);
    workspace.write("file", "");
    std::os::unix::fs::symlink("loop", workspace.path("loop")).expect("linked");
    let looked = |state: &str| {
        let mut command = workspace.command(&["doctor"]);
        command.env("LOA_RUN_STATE", workspace.path(state));
        super::workspace::finished(command).exits(2).stdout
    };
    for (state, why) in [("file", "is no folder"), ("loop", "cannot ")] {
        let found = looked(state);
        let bad = found.lines().find(|line| line.starts_with("BAD   state: "));
        assert!(bad.is_some_and(|line| line.contains(why)), "{why}\n{found}");
        assert!(found.contains("runtime.state or LOA_RUN_STATE"), "{found}");
    }
    let found = looked("loop");
    for other in ["good  configuration: valid", "good  design: ", "good  workspace: ", "git: ", "disk: "] {
        assert!(found.contains(other), "{other}\n{found}");
    }
    assert!(!found.contains("nobody works here") && !found.contains("no execution yet"), "nobody knows: {found}");
}

#[test]
fn commands_of_loa_that_a_prompt_names_have_to_be_there() {
    let agent = "backends: { claude: { binary: sh, env: { ANTHROPIC_API_KEY: dummy } } }";
    let workspace =
        workspace("", &[("design", "prompt: 'Run /architect, and look at /tmp.'"), ("audit", "prompt: /mine")]);
    let text = workspace.read(".loa.config.yaml").replace("runtime:\n", &format!("runtime:\n  {agent}\n"));
    workspace.config(&text);
    let found = workspace.loa(&["doctor"]).exits(2).stdout;
    assert!(found.contains("BAD   design, its prompt: its prompt names `/architect`"), "{found}");
    assert!(found.contains("warn  audit, its prompt: its prompt names `/mine`"), "{found}");
    assert!(!found.contains("names `/tmp`"), "a path is no command: {found}");
    fs::create_dir_all(workspace.path(".claude/commands")).expect("made");
    fs::create_dir_all(workspace.path(".claude/skills/mine")).expect("made");
    workspace.write(".claude/commands/architect.md", "Design it.");
    workspace.write(".claude/skills/mine/SKILL.md", "Review it.");
    let found = workspace.loa(&["doctor"]).exits(0).stdout;
    assert!(!found.contains("its prompt"), "{found}");
}

#[test]
fn an_agent_without_a_key_and_without_a_login_is_bad_and_so_is_nobody_who_is_told_a_warning() {
    let agent = |section: &str| {
        let workspace = workspace("", &[("design", "prompt: Go.")]);
        let head = format!("runtime:\n  backends: {{ claude: {{ binary: sh, {section} }} }}\n");
        workspace.config(&workspace.read(".loa.config.yaml").replace("runtime:\n", &head));
        let mut command = workspace.command(&["doctor"]);
        for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"] {
            command.env_remove(name);
        }
        command.env("HOME", workspace.path(""));
        super::workspace::finished(command)
    };
    let found = agent("args: []").exits(2).stdout;
    assert!(found.contains("BAD   claude, login: it has no key, and nobody has logged in: there is no "), "{found}");
    assert!(found.contains("do: log in: start `claude` once"), "{found}");
    assert!(
        found.contains("warn  notify: nobody is told when a run stops\n      do: name who is to be told"),
        "{found}"
    );
    let found = agent("env: { ANTHROPIC_API_KEY: dummy }").exits(0).stdout;
    assert!(!found.contains("claude, login"), "{found}");
    let found = agent("env: { CLAUDE_CODE_USE_BEDROCK: '1' }").exits(0).stdout;
    assert!(found.contains("?     claude, login: not checked: it has no key"), "{found}");
}

#[test]
fn a_gate_of_which_nobody_knows_what_it_runs_is_told_where_nothing_is_protected() {
    let gate = [("design", "command: 'true', verify: cd sub && make test")];
    let workspace = workspace("", &gate);
    fs::create_dir(workspace.path("sub")).expect("made");
    let says = "?     protects: not checked: which files the gates of design run";
    let found = workspace.loa(&["doctor"]).stdout;
    assert!(found.contains(says) && found.contains("do: name what decides in runtime.protects"), "{found}");
    workspace.write("Makefile", "");
    let config = workspace.read(".loa.config.yaml").replace("runtime:\n", "runtime:\n  protects: [Makefile]\n");
    workspace.config(&config);
    let found = workspace.loa(&["doctor"]).stdout;
    assert!(!found.contains(says), "{found}");
}

#[test]
fn the_stop_before_deploy_is_said_where_there_is_one() {
    let says = "warn  approval: the run stops before deploy";
    let deploy = [("deploy", "command: 'true'")];
    let asks = workspace("", &deploy);
    let found = asks.loa(&["doctor"]).exits(0).stdout;
    assert!(found.contains(says) && found.contains("require_human_deploy_approval"), "{found}");
    asks.loa(&["run"]).exits(2);
    asks.loa(&["resolve", "fix_and_resume"]).exits(0);
    let asked = [
        asks,
        workspace("autonomous_agent: { require_human_deploy_approval: false }", &deploy),
        workspace("", &[("design", "command: 'true'")]),
    ];
    for workspace in asked {
        let found = workspace.loa(&["doctor"]).exits(0).stdout;
        assert!(!found.contains("approval"), "{found}");
    }
}

#[test]
fn every_phase_without_anything_to_run_is_named_at_once() {
    let found = Workspace::only(&[]).loa(&["doctor"]).exits(2).stdout;
    assert!(found.contains("no command and no prompt: preflight, discovery, design, implementation, audit"), "{found}");
}

#[test]
fn phases_that_are_not_asked_for_need_nothing_and_the_others_are_looked_at_whatever_else_is_wrong() {
    let workspace = Workspace::only(&[]);
    workspace.config(
        "runtime:\n  phases:\n    design: { command: [sh, -c, 'true'] }\n    audit: { command: missing-program }\n",
    );
    let found = workspace.loa(&["doctor"]).exits(2).stdout;
    assert!(found.contains("no command and no prompt: preflight, discovery, implementation"), "{found}");
    assert!(found.contains("good  design: ") && found.contains("BAD   audit: `missing-program`"), "{found}");
    let found = workspace.loa(&["doctor", "--phase", "design"]).exits(0).stdout;
    assert!(found.contains("good  design: ") && !found.contains("audit"), "{found}");
    let found = workspace.loa(&["doctor", "--from", "audit", "--until", "audit"]).exits(2).stdout;
    assert!(found.contains("BAD   audit: ") && !found.contains("design"), "{found}");
    let range = ["doctor", "--from", "design", "--until", "audit", "--skip", "implementation", "--skip", "audit"];
    let found = workspace.loa(&range).exits(0).stdout;
    assert!(found.contains("good  design: ") && !found.contains("missing-program"), "{found}");
}

#[test]
fn a_program_that_may_not_be_run_is_told_from_one_that_is_not_there() {
    let workspace = workspace("", &[("design", "command: ./work.sh")]);
    workspace.write("work.sh", "#!/bin/sh\n");
    fs::set_permissions(workspace.path("work.sh"), fs::Permissions::from_mode(0o644)).expect("ours");
    let found = workspace.loa(&["doctor"]).exits(2).stdout;
    assert!(found.contains("BAD   design: `./work.sh` is not executable\n      do: chmod +x ./work.sh"), "{found}");
    fs::set_permissions(workspace.path("work.sh"), fs::Permissions::from_mode(0o755)).expect("ours");
    workspace.loa(&["doctor"]).exits(0);
}

/// A doctor for whom `home` is the home folder, with no key in its environment.
fn examined(workspace: &Workspace, home: &str, arguments: &[&str]) -> super::workspace::Ran {
    let mut command = workspace.command(arguments);
    command.env("HOME", workspace.path(home)).env_remove("CLAUDE_CONFIG_DIR");
    for key in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"] {
        command.env_remove(key);
    }
    super::workspace::finished(command)
}

#[test]
fn a_login_that_has_ended_is_found_and_its_tokens_are_never_told() {
    let workspace = workspace("", &[("design", "prompt: Design it., backend: claude")]);
    let text = workspace.read(".loa.config.yaml");
    workspace.config(&text.replace("runtime:\n", "runtime:\n  backends: { claude: { binary: sh } }\n"));
    fs::create_dir_all(workspace.path("home/.claude")).expect("made");
    workspace.write("home/.claude/.credentials.json", "{}");
    let found = examined(&workspace, "home", &["doctor"]).exits(0).stdout;
    assert!(found.contains("?     claude, login: not checked: "), "{found}");
    let log_in = |ends: &str, renews: &str| {
        let login = format!(r#"{{"accessToken":"tok-secret-1","refreshToken":"{renews}","expiresAt":{ends}}}"#);
        workspace.write("home/.claude/.credentials.json", &format!(r#"{{"claudeAiOauth":{login}}}"#));
    };
    log_in("1000", "");
    let found = examined(&workspace, "home", &["doctor"]).exits(2).stdout;
    assert!(found.contains("BAD   claude, login: it ended ") && found.contains("do: log in again"), "{found}");
    log_in("1000", "tok-secret-2");
    let warned = examined(&workspace, "home", &["doctor", "--json"]).exits(0).stdout;
    let told: serde_json::Value = serde_json::from_str(&warned).expect("JSON");
    let check = told["checks"].as_array().expect("a list").iter().find(|check| check["name"] == "claude, login");
    assert_eq!(check.expect("one")["state"], "warning", "{warned}");
    log_in("99999999999999", "");
    let good = examined(&workspace, "home", &["doctor"]).exits(0).stdout;
    assert!(good.contains("good  claude, login: it lasts for"), "{good}");
    assert!([found, warned, good].iter().all(|said| !said.contains("tok-secret")), "a token was told");
    let mut command = workspace.command(&["doctor"]);
    command.env("HOME", workspace.path("home")).env("ANTHROPIC_API_KEY", "key-1234567890");
    let found = super::workspace::finished(command).exits(0).stdout;
    assert!(!found.contains("claude, login"), "with a key there is no login: {found}");
}

/// The doctor in a mount namespace of its own, behind some mounts; `None` where this host allows none.
fn mounted(workspace: &Workspace, mounts: &str) -> Option<super::workspace::Ran> {
    let line = format!("{mounts} && exec '{}' doctor", env!("CARGO_BIN_EXE_loa-run"));
    let tried = super::workspace::program("unshare".as_ref(), &workspace.path(""), &["-rm", "true"]).status();
    if !tried.is_ok_and(|status| status.success()) {
        super::host::not_tested("unshare is missing or may not mount here");
        return None;
    }
    let mut command = super::workspace::program("unshare".as_ref(), &workspace.path(""), &["-rm", "sh", "-c", &line]);
    command.env("TMPDIR", workspace.path("small"));
    Some(super::workspace::finished(command))
}

#[test]
fn a_disk_without_room_or_without_files_and_a_folder_that_cannot_be_written_are_found() {
    let workspace = workspace("", &[("design", "command: 'true'")]);
    fs::create_dir(workspace.path("small")).expect("made");
    fs::create_dir_all(super::workspace::state_home(&workspace.path(""))).expect("made");
    for (mounts, said) in [
        ("mount -t tmpfs -o size=1m none small", "BAD   disk, tmp: 1 MiB are free\n      do: make room where "),
        ("mount -t tmpfs -o size=2g,nr_inodes=50 none small", " files can be made\n      do: make room where "),
        ("mount --bind . . && mount -o remount,bind,ro .", "BAD   workspace: "),
        ("s=../work.state && mount --bind $s $s && mount -o remount,bind,ro $s", "BAD   state: "),
    ] {
        let Some(ran) = mounted(&workspace, mounts) else { return };
        let found = ran.exits(2).stdout;
        assert!(found.contains(said), "{mounts}\n{found}");
    }
    let found = mounted(&workspace, "true").expect("it may").exits(0).stdout;
    for good in ["disk: ", "disk, state: ", "disk, tmp: "] {
        assert!(
            found.contains(&format!("good  {good}")) || found.contains(&format!("warn  {good}")),
            "{good}\n{found}"
        );
    }
}
