//! What may lie where documents are looked for, and what may come while they are: pipes, links, names that are no text, a
//! wish to end.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use assert_cmd::cargo::CommandCargoExt as _;
use predicates::prelude::*;
use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};

const GOOD: &str = "execution_id: e-1\nphase: design\ncreated_at: 2026-11-20T09:30:00Z\nexit_code: 0\nsummary: ok\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join(".loa-checkpoint")).expect("a folder");
    fs::write(folder.path().join(".loa-checkpoint/design.yaml"), GOOD).expect("a file");
    folder
}

fn pipe(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
}

fn run(folder: &Path, arguments: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = assert_cmd::Command::cargo_bin("loa-validate").expect("the program is built");
    // A program that waits for a pipe that nobody writes to is a failure and not a wait.
    command.current_dir(folder).timeout(Duration::from_secs(30)).args(arguments).assert()
}

#[test]
fn a_walk_is_stopped_by_nothing_and_passes_over_nothing_in_silence() {
    let folder = folder();
    let lies = folder.path().join("lies");
    fs::create_dir_all(lies.join("folder.yaml")).expect("a folder");
    fs::write(lies.join("folder.yaml/inside.yaml"), GOOD).expect("a file");
    pipe(&lies.join("pipe.yaml"));
    symlink("pipe.yaml", lies.join("to-pipe.yaml")).expect("a link");
    symlink("self.yaml", lies.join("self.yaml")).expect("a link");
    symlink("..", lies.join("up")).expect("a link");
    symlink("/dev/zero", lies.join("zero.yaml")).expect("a link");
    fs::write(lies.join(OsStr::from_bytes(b"no-text-\xff.yaml")), GOOD).expect("a file");
    run(folder.path(), &["."]).code(66).stderr(
        contains("2 files, no findings")
            .and(contains("`./lies/pipe.yaml` is a pipe"))
            .and(contains("`./lies/to-pipe.yaml` is a pipe"))
            .and(contains("failed to read `./lies/self.yaml`"))
            .and(contains("`./lies/zero.yaml` is neither a file nor a pipe"))
            .and(contains("the name of `./lies/no-text-\u{fffd}.yaml` is no UTF-8"))
            .and(contains("hint: rename it")),
    );
    run(folder.path(), &["checkpoint", "lies/no*.yaml"]).code(66).stderr(contains("nothing matches"));
}

#[test]
fn a_name_acts_on_no_terminal() {
    let folder = folder();
    let name = ".loa-checkpoint/\u{1b}[2Jx\n::error::y.yaml";
    fs::write(folder.path().join(name), GOOD.replace("phase: design", "phase: desing")).expect("a file");
    for arguments in [&[".loa-checkpoint"][..], &["checkpoint", name, "gone\u{1b}[2J.yaml"], &["auto", name]] {
        for shape in ["full", "concise", "json-lines", "github", "junit", "sarif"] {
            let output = run(folder.path(), &[arguments, &["--format", shape]].concat()).get_output().clone();
            for text in [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8")) {
                assert!(!text.contains('\u{1b}') && !text.contains("\n::error::y"), "{arguments:?} {shape}: {text}");
            }
        }
    }
}

#[test]
fn an_empty_word_is_no_file() {
    run(folder().path(), &["checkpoint", ""]).code(66).stderr(contains("failed to read ``"));
    run(folder().path(), &[""]).code(66);
}

/// The program, waiting for a pipe that is named after another file, and the end of the pipe that keeps it waiting.
fn waiting(folder: &Path, arguments: &[&str]) -> (Child, fs::File) {
    pipe(&folder.join("pipe.yaml"));
    let mut command = std::process::Command::cargo_bin("loa-validate").expect("the program is built");
    command.current_dir(folder).args(arguments).args(["wrong.yaml", "pipe.yaml"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    // This waits until the program has opened its end.
    let end = fs::OpenOptions::new().write(true).open(folder.join("pipe.yaml")).expect("a pipe");
    (child, end)
}

#[test]
fn an_interrupt_ends_it_at_once_and_leaves_everything_as_it_was() {
    let wrong = GOOD.replace("exit_code: 0", "exit_code: \"0\"");
    for (signal, arguments) in [
        (Signal::INT, &["checkpoint", "--fix"][..]),
        (Signal::TERM, &["checkpoint", "--fix"]),
        (Signal::INT, &["checkpoint", "--json", "--output", "found.json"]),
    ] {
        // A job in the background of a shell ignores SIGINT, and so does whatever it starts.
        if is_ignored(signal) {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("wrong.yaml"), &wrong).expect("a file");
        let (child, _end) = waiting(folder.path(), arguments);
        kill_process(Pid::from_child(&child), signal).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        // What a shell shows as 130 and 143.
        assert_eq!(output.status.signal(), Some(signal.as_raw()), "{arguments:?}");
        assert_eq!(fs::read_to_string(folder.path().join("wrong.yaml")).expect("there"), wrong);
        let names = fs::read_dir(folder.path()).expect("there").count();
        assert_eq!((output.stdout.len(), names), (0, 2), "{arguments:?}: nothing new");
    }
}

fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("a number");
    mask >> (signal.as_raw() - 1) & 1 == 1
}

/// A workspace in which a checkpoint is a link to a file outside, which holds a secret, and that file.
fn leading_out() -> (tempfile::TempDir, std::path::PathBuf) {
    let place = tempfile::tempdir().expect("a folder");
    let (inside, outside) = (place.path().join("inside/.loa-checkpoint"), place.path().join("outside"));
    for folder in [&inside, &outside] {
        fs::create_dir_all(folder).expect("a folder");
    }
    fs::write(outside.join("secret.yaml"), format!("{GOOD}exit_code: \"0\"\ntoken: very-secret\n")).expect("a file");
    fs::write(inside.join("design.yaml"), GOOD).expect("a file");
    symlink("../../outside/secret.yaml", inside.join("audit.yaml")).expect("a link");
    let copy = place.path().join("inside/copy");
    fs::create_dir(&copy).expect("a folder");
    symlink("../.loa-checkpoint/design.yaml", copy.join("design.yaml")).expect("a link");
    symlink("../outside", place.path().join("inside/elsewhere")).expect("a link");
    let workspace = place.path().join("inside");
    (place, workspace)
}

#[test]
fn a_link_that_leads_out_is_read_only_where_that_is_asked_for() {
    let (place, workspace) = leading_out();
    let secret = place.path().join("outside/secret.yaml");
    let before = fs::read(&secret).expect("there");
    let absolute = workspace.join(".loa-checkpoint");
    let absolute = absolute.to_str().expect("UTF-8");
    for words in [
        &[".loa-checkpoint"][..],
        &[absolute],
        &["elsewhere"],
        &["checkpoint", "elsewhere/secret.yaml"],
        &["checkpoint", ".loa-checkpoint/audit.yaml", "--fix"],
        &["checkpoint", ".loa-checkpoint/a*.yaml", "--diff"],
        &["checkpoint", "**/secret.yaml"],
    ] {
        let output = run(&workspace, words).code(66).stderr(contains("that leads out of")).get_output().clone();
        for text in [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8")) {
            assert!(!text.contains("very-secret"), "{words:?}: {text}");
        }
    }
    assert_eq!(fs::read(&secret).expect("there"), before);
    run(&workspace, &["checkpoint", "copy/design.yaml"]).code(0);
    run(&workspace, &["checkpoint", ".loa-checkpoint/audit.yaml", "--follow"]).code(1);
}

#[test]
fn an_artifact_behind_a_link_that_leads_out_is_not_looked_at() {
    let (_place, workspace) = leading_out();
    let artifacts = "artifacts:\n  - {path: elsewhere/secret.yaml, action: created, size_bytes: 1}\n  - \
                     {path: .loa-checkpoint/design.yaml, action: created, size_bytes: 1}\n";
    fs::remove_file(workspace.join(".loa-checkpoint/audit.yaml")).expect("removed");
    fs::write(workspace.join(".loa-checkpoint/design.yaml"), format!("{GOOD}{artifacts}")).expect("a file");
    run(&workspace, &[".loa-checkpoint"]).stdout(
        contains("`.loa-checkpoint/design.yaml` has another size").and(contains("elsewhere/secret.yaml` has").not()),
    );
}

#[test]
fn what_is_mended_keeps_its_mode_and_its_owner() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let folder = folder();
    let path = folder.path().join(".loa-checkpoint/design.yaml");
    for mode in [0o640, 0o755, 0o444] {
        let _ = fs::remove_file(&path);
        fs::write(&path, GOOD.replace("exit_code: 0", "exit_code: \"0\"")).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
        // Only root can give a file away; for everybody else the owner is our own.
        let _ = chown(&path, Some(12_345), Some(12_345));
        let before = fs::metadata(&path).expect("there");
        run(folder.path(), &["checkpoint", ".loa-checkpoint/design.yaml", "--fix"]).code(0);
        let after = fs::metadata(&path).expect("there");
        assert_ne!(before.ino(), after.ino(), "it was mended");
        let of = |about: &fs::Metadata| (about.mode(), about.uid(), about.gid());
        assert_eq!(of(&before), of(&after));
    }
}

#[test]
fn a_list_without_an_end_and_one_that_is_no_text_are_refused() {
    let folder = folder();
    run(folder.path(), &["auto", "@/dev/zero"]).code(66).stderr(contains("neither a file nor a pipe"));
    fs::write(folder.path().join("list"), b"a\xff.yaml\n").expect("a file");
    run(folder.path(), &["auto", "@list"]).code(66).stderr(contains("failed to read `list`"));
    pipe(&folder.path().join(".loa-checkpoint/pipe.yaml"));
    run(folder.path(), &["checkpoint", ".loa-checkpoint/*.yaml"]).code(66).stderr(contains("pipe.yaml` is a pipe"));
}
