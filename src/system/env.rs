//! The process's own environment: variables, folders, whether a person is there.
#![expect(clippy::disallowed_methods, reason = "this is where the environment is read")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use super::keys;

/// The `PATH` that counts instead of the one that this process was started with.
static SEARCH_PATH: RwLock<Option<String>> = RwLock::new(None);

/// From here on programs are found by this `PATH`, by us and by whatever we start, as if this process had been started with
/// it. [`vars`] still tells what it was started with.
pub fn search_by(path: &str) {
    *SEARCH_PATH.write().unwrap_or_else(PoisonError::into_inner) = Some(path.to_owned());
}

/// The `PATH` that counts instead of our own; `None` where that counts.
pub(in crate::system) fn search_path() -> Option<String> {
    SEARCH_PATH.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The variable's value; `None` when it is unset, empty or not UTF-8. A key that was taken out of our environment counts as set.
#[must_use]
pub fn var(name: &str) -> Option<String> {
    let instead = if name == "PATH" { search_path() } else { None };
    let held = || keys::held_for(name).and_then(|value| value.clone().into_string().ok());
    instead.or_else(held).or_else(|| std::env::var(name).ok()).filter(|value| !value.is_empty())
}

/// Every variable that this process was started with whose name and value are UTF-8, sorted by name, with the keys that were
/// taken out of our environment.
#[must_use]
pub fn vars() -> BTreeMap<String, String> {
    let utf8 = |text: OsString| text.into_string().ok();
    let held = keys::held().map(|(name, value)| (name.clone(), value.clone()));
    handed_down().into_iter().chain(held).filter_map(|(name, value)| Some((utf8(name)?, utf8(value)?))).collect()
}

/// What a program that helps us needs of our environment, such as git or one that tells people: where programs and files are,
/// who the user is, how people read, and the user's own agents for keys and desktops. Whatever else we were started with, keys
/// of agents among it, is none of its business.
const FOR_HELPERS: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_TTY",
    "GNUPGHOME",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "LOA_RUN_STATE",
];

fn is_for_helpers(name: &str) -> bool {
    FOR_HELPERS.contains(&name) || ["LC_", "XDG_"].iter().any(|beginning| name.starts_with(beginning))
}

/// The part of our environment that a helper is given.
pub(in crate::system) fn for_helpers() -> BTreeMap<OsString, OsString> {
    let mut given = handed_down();
    given.retain(|name, _| name.to_str().is_some_and(is_for_helpers));
    given.extend(search_path().map(|path| ("PATH".into(), path.into())));
    given
}

/// Every variable that this process hands down to those that it starts.
pub(in crate::system) fn handed_down() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().filter(|(name, _)| name != keys::HANDED).collect()
}

/// The folder that the process was started in.
///
/// # Errors
/// When that folder is gone or may not be read.
pub fn current_dir() -> io::Result<PathBuf> {
    std::env::current_dir()
}

/// The running program's own file.
///
/// # Errors
/// When the host does not say.
pub fn current_exe() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The user's home folder, from `HOME`.
#[must_use]
pub fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// The number of the user whose process this is.
#[must_use]
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The folder of the user's configurations: `XDG_CONFIG_HOME` when it is an absolute path, else `.config` in the home
/// folder.
#[must_use]
pub fn config_home() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| home().map(|home| home.join(".config")))
}

/// The folder of what the user's programs remember: `XDG_STATE_HOME` when it is an absolute path, else `.local/state` in
/// the home folder.
#[must_use]
pub fn state_home() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| home().filter(|home| home.is_absolute()).map(|home| home.join(".local/state")))
}

/// Whether standard input and standard output are both a terminal: somebody may be watching.
#[must_use]
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether standard output could not be written because its terminal was closed: not a disk that fails.
#[must_use]
pub fn is_closed_terminal(error: &io::Error) -> bool {
    let failed = error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error());
    let output = || io::stdout().as_fd().try_clone_to_owned().and_then(|output| File::from(output).metadata());
    failed && output().is_ok_and(|data| data.file_type().is_char_device())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_is_given_no_key_of_an_agent() {
        for name in ["PATH", "HOME", "LC_ALL", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "https_proxy"] {
            assert!(is_for_helpers(name), "{name}");
        }
        for name in [
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "GIT_DIR",
            "LD_PRELOAD",
            "",
        ] {
            assert!(!is_for_helpers(name), "{name}");
        }
    }
}
