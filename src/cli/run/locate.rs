//! Where an agent's program lies: on this host, or in the container that it is started in.

use std::path::Path;
use std::time::Duration;

use super::commands::{program, runtime};
use super::needs::find;
use crate::config::{BackendSettings, DockerSection};
use crate::system::guard::Guard;
use crate::system::ids;
use crate::system::process::{Captured, Command, ProcessExit, capture};

/// The variable that marks what we start, so that it ends with us.
pub(super) const MARK: &str = "LOA_SESSION_ID";
/// How long a container may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of that which are read.
const LONGEST: usize = 64 * 1024;
/// Looks for a program in a container, and for what ends it there when we are gone.
const LOOK: &str = "command -v grep >/dev/null || exit 4; command -v \"$1\" || exit 3";

/// What is not there, and what would help.
pub(super) struct Missing {
    pub(super) found: String,
    pub(super) remedy: String,
}

/// Where the program of an agent lies.
pub(super) fn locate(known: &BackendSettings, workspace: &Path) -> Result<String, Missing> {
    let (name, wanted) = (&known.name, known.program());
    let missing = |found: String, remedy: String| Missing { found, remedy };
    let Some(docker) = &known.section.docker else {
        let remedy = format!("install it, or say where it is: runtime.backends.{name}.binary");
        return find(wanted, workspace).ok_or_else(|| missing(format!("`{wanted}` is not found"), remedy));
    };
    let client = docker.program();
    if find(client, workspace).is_none() {
        let remedy = format!("install it, or say where it is: runtime.backends.{name}.docker.program");
        return Err(missing(format!("`{client}` is not found"), remedy));
    }
    let looked = look(known, docker, workspace).map_err(|why| missing(why, "try again".to_owned()))?;
    located(&looked, docker, wanted).map_err(|found| {
        let container = &docker.container;
        missing(
            found,
            format!("start the container, install in it what is missing, and try `{client} exec {container} true`"),
        )
    })
}

/// Looks into the container, as its agent would be started there.
fn look(known: &BackendSettings, docker: &DockerSection, workspace: &Path) -> Result<Captured, String> {
    let path = known.section.env.get("PATH").map(|path| ["-e".to_owned(), format!("PATH={path}")]);
    let user = docker.user.iter().flat_map(|user| ["-u", user]);
    let mark = ids::session();
    let command = Command::new(docker.program()).args(["exec"]).args(user).args(path.into_iter().flatten());
    let command = command.args(["-w".as_ref(), docker.workdir(workspace).as_os_str()]).args([&docker.container]);
    let command = command.args(["sh", "-c", LOOK, "sh", known.program()]).folder(workspace).env(MARK, &mark);
    let runtime = runtime().map_err(|failure| failure.text())?;
    let ours = program().map_err(|failure| failure.text())?;
    let guard =
        Guard::start(&ours, (MARK, &mark)).map_err(|error| format!("cannot start the guard process: {error}"))?;
    let captured = runtime.block_on(capture(&command, LONGEST, PATIENCE));
    guard.dismiss();
    Ok(captured)
}

/// What a look into the container found.
fn located(looked: &Captured, docker: &DockerSection, wanted: &str) -> Result<String, String> {
    let container = &docker.container;
    let first = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().trim().to_owned();
    match (&looked.exit, looked.timed_out) {
        (_, true) => Err(format!("the container `{container}` said nothing for {} s", PATIENCE.as_secs())),
        (ProcessExit::Exited(0), _) => Ok(format!("{} in the container `{container}`", first(&looked.stdout))),
        (ProcessExit::Exited(3), _) => Err(format!("`{wanted}` is not found in the container `{container}`")),
        (ProcessExit::Exited(4), _) => {
            Err(format!("`grep`, by which it is ended, is not found in the container `{container}`"))
        }
        (exit, _) => Err(format!("the container `{container}` cannot be used: {exit}: {}", first(&looked.stderr))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_container_lacks_is_named() {
        let docker = DockerSection { container: "box".to_owned(), user: None, workdir: None, program: None };
        for (exit, timed_out, located_as) in [
            (ProcessExit::Exited(0), false, Ok("/usr/bin/mine in the container `box`")),
            (ProcessExit::Exited(1), false, Err("the container `box` cannot be used: exit 1: No such container: box")),
            (ProcessExit::Exited(3), false, Err("`mine` is not found in the container `box`")),
            (ProcessExit::Exited(4), false, Err("`grep`, by which it is ended, is not found in the container `box`")),
            (ProcessExit::Signalled(9), true, Err("the container `box` said nothing for 10 s")),
        ] {
            let (stdout, stderr) = (b"/usr/bin/mine\n".to_vec(), b"No such container: box\nmore".to_vec());
            let looked = Captured { exit, stdout, stderr, truncated: false, timed_out };
            let expected = located_as.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(located(&looked, &docker, "mine"), expected);
        }
    }
}
