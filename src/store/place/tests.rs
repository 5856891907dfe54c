use super::*;

fn place(workspace: &Path, base: &Path) -> Place {
    Place::find_in(disk::host(), workspace, (base.to_path_buf(), Basis::Home), None).expect("found")
}

fn established(workspace: &Path, base: &Path) -> String {
    let mut place = place(workspace, base);
    place.establish().expect("made");
    place.id
}

/// A folder with workspaces `one` and, below it, the state.
fn two() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, base) = (folder.path().join("one"), folder.path().join("state"));
    files::ensure_folder(&one).expect("made");
    (folder, one, base)
}

fn run(program: &str, arguments: &[&str]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let command = crate::system::process::Command::new(program).args(arguments);
    let minute = std::time::Duration::from_mins(1);
    let captured = runtime.block_on(crate::system::process::capture(&command, 1 << 16, minute));
    assert!(matches!(captured.exit, crate::system::process::ProcessExit::Exited(0)), "{program} {arguments:?}");
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_workspace_that_was_moved_is_found_and_a_copy_is_told_apart() {
    for git in [false, true] {
        let (folder, one, base) = two();
        if git {
            run("git", &["init", "-q", text(&one)]);
        }
        let id = established(&one, &base);
        assert_eq!(established(&one, &base), id, "the same again");
        let copy = folder.path().join("copy");
        run("cp", &["-a", text(&one), text(&copy)]);
        let of_copy = established(&copy, &base);
        assert_ne!(of_copy, id, "git {git}");
        let two = folder.path().join("two");
        run("mv", &[text(&one), text(&two)]);
        let mut moved = place(&two, &base);
        assert_eq!((moved.id.clone(), moved.establish().expect("made")), (id.clone(), Some(one.clone())));
        assert_eq!(place(&two, &base).moved_from, None, "said once");
        assert_eq!(established(&copy, &base), of_copy);
    }
}

#[test]
fn what_loses_its_id_is_found_by_its_folder_and_a_clone_at_the_same_path_is_another() {
    let (folder, one, base) = two();
    let id = established(&one, &base);
    files::remove_tree(&one.join(".loa-run")).expect("removed");
    assert_eq!(established(&one, &base), id, "rm -rf .loa-run");
    files::replace(&one.join(".loa-run/id"), b"0123456789abcdef0123456789abcdef\n", Privacy::Shared).expect("forged");
    assert_eq!(established(&one, &base), id, "a forged id");
    for nonsense in ["", "../../etc", "ABCDEF", "0123456789abcdef0123456789abcdeg"] {
        files::replace(&one.join(".loa-run/id"), nonsense.as_bytes(), Privacy::Shared).expect("forged");
        assert_eq!(established(&one, &base), id, "{nonsense}");
    }
    // Gone, and another folder at its path; the first inode is kept in use so that the host cannot give it away again.
    let aside = folder.path().join("aside");
    run("mv", &[text(&one), text(&aside)]);
    run("git", &["init", "-q", text(&one)]);
    assert_ne!(established(&one, &base), id);
}

#[test]
fn a_second_worktree_has_a_state_of_its_own() {
    let (folder, one, base) = two();
    run("git", &["init", "-q", text(&one)]);
    let commit = ["-C", text(&one), "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty"];
    run("git", &[&commit[..], &["-m", "first"]].concat());
    let id = established(&one, &base);
    let two = folder.path().join("two");
    run("git", &["-C", text(&one), "worktree", "add", "-q", text(&two)]);
    let other = established(&two, &base);
    assert_ne!(other, id);
    assert!(
        id_file(disk::host().as_ref(), &two).starts_with(one.join(".git/worktrees"))
            && read_id(disk::host().as_ref(), &two) == Some(other)
    );
    run("git", &["-C", text(&one), "clean", "-fdxq"]);
    assert_eq!(established(&one, &base), id);
}

#[test]
fn a_workspace_that_came_back_from_a_backup_is_found() {
    let (folder, one, base) = two();
    let id = established(&one, &base);
    let backup = folder.path().join("backup");
    run("cp", &["-a", text(&one), text(&backup)]);
    run("rm", &["-rf", text(&one)]);
    run("mv", &[text(&backup), text(&one)]);
    assert_eq!(established(&one, &base), id);
}

#[test]
fn the_state_lies_where_it_outlives_a_restart() {
    let path = |text: &str| Some(PathBuf::from(text));
    let rows = [
        (path("/home"), path("/git"), &[][..], "/home", Basis::Home),
        (path("/home"), path("/git"), &["/home"], "/git", Basis::Repository),
        (path("/home"), path("/git"), &["/home", "/git"], "/home", Basis::Home),
        (path("/home"), None, &["/home"], "/home", Basis::Home),
        (None, path("/git"), &[], "/git", Basis::Repository),
        (None, None, &[], "/there/.loa-run/state", Basis::Workspace),
    ];
    for (home, repository, volatile, base, basis) in rows {
        let is_volatile = |path: &Path| Some(volatile.iter().any(|other| path == Path::new(other)));
        let chosen = choose(home.clone(), repository.clone(), Path::new("/there"), is_volatile);
        assert_eq!(chosen, (PathBuf::from(base), basis), "{home:?} {repository:?} {volatile:?}");
    }
}

#[test]
fn folders_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, one, base) = two();
    established(&one, &base);
    let place = place(&one, &base);
    for folder in [base, place.folder()] {
        let mode = std::fs::metadata(folder).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
