//! The ways out of a boundary that are known by name: sockets of programs that run outside and do what they are told, and folders
//! whose files such programs run.

use std::path::{Path, PathBuf};

/// Sockets of the host, and folders with such sockets or with what is run later.
const OF_THE_HOST: [&str; 18] = [
    "/run/dbus/system_bus_socket",
    "/var/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd",
    "/run/podman",
    "/run/crio",
    "/run/screen",
    "/var/run/screen",
    "/run/screens",
    "/tmp/screens",
    "/tmp/.X11-unix",
    "/var/spool/cron",
    "/var/spool/at",
    "/var/spool/atjobs",
    "/var/spool/cron/atjobs",
    "/etc/cron.d",
];
/// The same below the folder of a user's session.
const OF_A_SESSION: [&str; 9] =
    ["bus", "systemd", "docker.sock", "podman", "containerd-rootless", "emacs", "zellij", "wayland-0", "wayland-1"];
/// Variables that name a socket, by its path or by an address with a path in it.
const NAMED: [&str; 9] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "TMUX",
    "NVIM",
    "VSCODE_IPC_HOOK_CLI",
    "KITTY_LISTEN_ON",
    "WEZTERM_UNIX_SOCKET",
];

/// What is to be taken away, there or not, for a user with these variables.
pub(super) fn known(user: u32, var: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let own = format!("tmux-{user}");
    let session = var("XDG_RUNTIME_DIR").unwrap_or_else(|| format!("/run/user/{user}"));
    let temporary =
        var("TMUX_TMPDIR").into_iter().chain(["/tmp".to_owned()]).map(|folder| Path::new(&folder).join(&own));
    let display = var("WAYLAND_DISPLAY").map(|name| Path::new(&session).join(name));
    let screen =
        var("SCREENDIR").map(PathBuf::from).into_iter().chain(var("HOME").map(|home| Path::new(&home).join(".screen")));
    let named = NAMED.iter().filter_map(|name| var(name)).filter_map(|address| path_in(&address));
    OF_THE_HOST
        .iter()
        .map(PathBuf::from)
        .chain(OF_A_SESSION.iter().map(|name| Path::new(&session).join(name)))
        .chain(temporary)
        .chain(display)
        .chain(screen)
        .chain(named)
        .filter(|path| path.is_absolute())
        .collect()
}

/// The path in an address: `/run/x`, `unix:///run/x`, `unix:path=/run/x,guid=1`, `/tmp/x,1,0`.
fn path_in(address: &str) -> Option<PathBuf> {
    let path = address.get(address.find('/')?..)?.split([',', ';']).next()?;
    let path = path.trim_start_matches('/');
    (!path.is_empty()).then(|| Path::new("/").join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_any_form_leads_to_its_path() {
        for (address, path) in [
            ("/run/x", Some("/run/x")),
            ("unix:///run/x", Some("/run/x")),
            ("unix:path=/run/x,guid=1", Some("/run/x")),
            ("unix:path=/run/x;unix:path=/run/y", Some("/run/x")),
            ("/tmp/tmux-0/default,12,0", Some("/tmp/tmux-0/default")),
            ("unix:@mykitty", None),
            ("unix:///", None),
        ] {
            assert_eq!(path_in(address), path.map(PathBuf::from), "{address}");
        }
    }

    #[test]
    fn what_variables_name_is_known_and_nothing_relative_is() {
        let var = |name: &str| match name {
            "XDG_RUNTIME_DIR" => Some("/s".to_owned()),
            "TMUX_TMPDIR" => Some("relative".to_owned()),
            "SCREENDIR" => Some("/screens".to_owned()),
            "DOCKER_HOST" => Some("unix:///d.sock".to_owned()),
            _ => None,
        };
        let known = known(7, var);
        for path in ["/s/bus", "/tmp/tmux-7", "/screens", "/d.sock", "/run/docker.sock"] {
            assert!(known.contains(&PathBuf::from(path)), "{path}");
        }
        assert!(known.iter().all(|path| path.is_absolute()));
    }
}
