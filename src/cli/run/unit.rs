//! A systemd unit for the runs of one workspace, as a text. Nothing is written here.
//!
//! What a line of a unit means depends on its key: `%` begins a specifier in all of them, `$` a variable in `ExecStart=`
//! alone, and quotes with escapes of C are read in `ExecStart=` and `Environment=`, but not in `EnvironmentFile=`, where the
//! rest of the line is the path, and `*`, `?` and `[` look for others.

use base16ct::lower::encode_string;
use sha2::{Digest, Sha256};

/// The first line of what we write, by which it is known to be ours.
pub(super) const MARK: &str = "# Written by `loa-run service install`, format 1";

/// What a unit is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// `loa-run-<folder>-<digest>.service`.
    pub(super) name: String,
    pub(super) text: String,
}

/// Why a unit cannot be written.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} cannot stand in a systemd unit: {why}: {value:?}")]
pub(super) struct Unspeakable {
    what: String,
    why: &'static str,
    value: String,
}

/// What the unit starts, and with what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'a> {
    /// Our own program.
    pub(super) program: &'a str,
    pub(super) workspace: &'a str,
    /// Variables that are no secrets.
    pub(super) variables: &'a [(String, String)],
    /// A file with others, which may be secrets.
    pub(super) environment_file: Option<&'a str>,
}

/// Puts a unit together.
pub(super) fn unit(parts: Parts<'_>) -> Result<Unit, Unspeakable> {
    let Parts { program, workspace, variables, environment_file } = parts;
    speakable("the path of loa-run", program, &['"', '\'', '\\', '$'])?;
    speakable("the path of the workspace", workspace, &[])?;
    let mut environment = Vec::new();
    for (name, value) in variables {
        speakable(&format!("the value of {name}"), value, &[])?;
        environment.push(format!("Environment={}\n", quoted(&format!("{name}={value}"))));
    }
    if let Some(file) = environment_file {
        speakable("the path of the environment file", file, &['*', '?', '[', '\\', '"', '\''])?;
        environment.push(format!("EnvironmentFile={}\n", file.replace('%', "%%")));
    }
    let environment = environment.concat();
    let argument = quoted(workspace).replace('$', "$$");
    let program = quoted(program);
    let shown = workspace.replace('%', "%%");
    let text = format!(
        "{MARK}. It is written anew by that, and taken away by `loa-run service remove`.\n\
         [Unit]\n\
         Description=loa-run ({shown})\n\
         # A run that dies again and again calls a human by itself; this bounds what cannot even begin.\n\
         StartLimitIntervalSec=12h\n\
         StartLimitBurst=30\n\
         \n\
         [Service]\n\
         Type=notify\n\
         NotifyAccess=main\n\
         ExecStart={program} --workspace {argument} service run\n\
         {environment}\
         # 1: trying again may help. 2: a human is needed. 64, 66, 78: it would be the same again.\n\
         Restart=on-failure\n\
         RestartSec=2min\n\
         RestartPreventExitStatus=2 64 66 78\n\
         # Ended by a signal, children ended and state saved: so it ends when the machine goes down.\n\
         SuccessExitStatus=130 143\n\
         WatchdogSec=5min\n\
         # loa-run asks its stages to end by itself; what is left after that is killed.\n\
         KillMode=mixed\n\
         TimeoutStopSec=2min\n\
         # A stage that runs out of memory fails by itself, without the run.\n\
         OOMPolicy=continue\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    );
    Ok(Unit { name: name(workspace), text })
}

/// The name of a workspace's unit: nobody else's, and told by people.
pub(super) fn name(workspace: &str) -> String {
    let folder = workspace.rsplit('/').find(|part| !part.is_empty()).unwrap_or("root");
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "._".contains(letter) { letter } else { '-' };
    let folder: String = folder.chars().take(40).map(plain).collect();
    let digest = encode_string(&Sha256::digest(workspace.as_bytes()));
    format!("loa-run-{folder}-{}.service", &digest[..12])
}

/// Whether a unit was written by us.
pub(super) fn is_ours(text: &str) -> bool {
    text.starts_with(MARK)
}

/// The environment file of a unit that we wrote.
pub(super) fn environment_file(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix("EnvironmentFile="));
    line.map(|path| path.replace("%%", "%"))
}

fn speakable(what: &str, value: &str, refused: &[char]) -> Result<(), Unspeakable> {
    let unspeakable = |why| Unspeakable { what: what.to_owned(), why, value: value.to_owned() };
    if value.chars().any(char::is_control) {
        return Err(unspeakable("it has a line break or another control character"));
    }
    if value.contains(refused) {
        return Err(unspeakable("it has a character that systemd does not take for itself there"));
    }
    if value.trim() != value && !refused.is_empty() {
        return Err(unspeakable("it begins or ends with a blank"));
    }
    Ok(())
}

/// In double quotes; what is special inside is escaped. Specifiers are read inside of quotes, too.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(workspace: &str) -> Result<Unit, Unspeakable> {
        let variables = [("PATH".to_owned(), "/usr/bin:/opt/a b/50%/$x".to_owned())];
        let environment_file = Some("/home/me/keys 100%");
        unit(Parts { program: "/opt/my programs/loa-run", workspace, variables: &variables, environment_file })
    }

    #[test]
    fn what_is_special_to_systemd_is_escaped() {
        let unit = of("/home/ada/a b/$HOME \"x\" %h\\").expect("a unit");
        for line in [
            "Description=loa-run (/home/ada/a b/$HOME \"x\" %%h\\)",
            r#"ExecStart="/opt/my programs/loa-run" --workspace "/home/ada/a b/$$HOME \"x\" %%h\\" service run"#,
            r#"Environment="PATH=/usr/bin:/opt/a b/50%%/$x""#,
            "EnvironmentFile=/home/me/keys 100%%",
        ] {
            assert!(unit.text.lines().any(|other| other == line), "{line}\n{}", unit.text);
        }
        assert_eq!(environment_file(&unit.text).as_deref(), Some("/home/me/keys 100%"));
        assert!(is_ours(&unit.text) && !is_ours("[Unit]\n"));
    }

    #[test]
    fn what_no_escape_saves_is_refused() {
        assert!(of("/home/ada/a\nExecStartPre=rm").is_err());
        assert!(of("/home/ada/a\u{7f}").is_err());
        let parts = Parts { program: "/bin/loa-run", workspace: "/w", variables: &[], environment_file: None };
        for program in ["/bin/$loa", "/bin/lo\\a", "/bin/\"loa\""] {
            let error = unit(Parts { program, ..parts }).expect_err("refused");
            assert!(error.to_string().contains("the path of loa-run"), "{error}");
        }
        for file in ["/keys*", "/k\\", "/keys ", "/k\u{0}"] {
            assert!(unit(Parts { environment_file: Some(file), ..parts }).is_err(), "{file}");
        }
        let variables = [("PATH".to_owned(), "/bin\n/usr/bin".to_owned())];
        assert!(unit(Parts { variables: &variables, ..parts }).is_err());
        assert!(unit(parts).is_ok());
    }

    #[test]
    fn every_workspace_has_a_name_of_its_own() {
        let names = ["/a/work", "/b/work", "/a/work ", "/a/wörk", "/"].map(name);
        for (at, one) in names.iter().enumerate() {
            assert!(!names[..at].contains(one), "{names:?}");
            assert!(one.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter)), "{one}");
        }
        assert!(names[0].starts_with("loa-run-work-") && names[4].starts_with("loa-run-root-"));
        assert_eq!(name("/a/work"), names[0]);
        assert!(name(&format!("/{}", "x".repeat(300))).len() < 80);
    }
}
