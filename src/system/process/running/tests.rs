use super::*;
use crate::system::process::{Command, capture};

fn sh(script: &str) -> Command {
    Command::new("sh").args(["-c", script])
}

fn block<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

async fn all(command: &Command) -> (String, ProcessExit) {
    let captured = capture(command, 1 << 20, Duration::from_secs(20)).await;
    assert!(!captured.timed_out);
    (String::from_utf8_lossy(&captured.stdout).into_owned(), captured.exit)
}

#[test]
fn codes_signals_and_failed_starts_are_told_apart() {
    block(async {
        assert!(matches!(all(&sh("exit 137")).await.1, ProcessExit::Exited(137)));
        assert!(matches!(all(&sh("kill -9 $$")).await.1, ProcessExit::Signalled(9)));
        assert!(matches!(all(&Command::new("/nonexistent/program")).await.1, ProcessExit::SpawnFailed(_)));
        let folder = tempfile::tempdir().expect("a folder");
        assert!(
            matches!(all(&Command::new(folder.path())).await.1, ProcessExit::SpawnFailed(_)),
            "a folder does not run"
        );
        let nowhere = sh("true").folder(folder.path().join("none"));
        assert!(matches!(all(&nowhere).await.1, ProcessExit::SpawnFailed(_)));
    });
}

#[test]
fn an_argument_that_is_too_long_is_measured() {
    block(async {
        let ProcessExit::SpawnFailed(error) = all(&sh("true").args(["x".repeat(200_000)])).await.1 else {
            panic!("it started")
        };
        assert_eq!(error.kind(), std::io::ErrorKind::ArgumentListTooLong);
        assert!(error.to_string().ends_with("has 200000 bytes, and Linux takes at most 131071 of one"), "{error}");
        assert!(matches!(all(&sh("true").args(["x".repeat(100_000)])).await.1, ProcessExit::Exited(0)));
    });
}

#[test]
fn output_arrives_in_full_before_the_end() {
    block(async {
        let (text, exit) = all(&sh("echo one; printf two; echo err >&2; exit 3").env("X", "1")).await;
        assert_eq!(text, "one\ntwo");
        assert!(matches!(exit, ProcessExit::Exited(3)));
        let closed = all(&sh("exec >&- 2>&-; exit 1")).await;
        assert!(matches!(closed.1, ProcessExit::Exited(1)));
    });
}

#[test]
fn a_flood_keeps_to_its_limit_and_is_ended_when_its_time_is_over() {
    block(async {
        let captured = capture(&sh("exec yes"), 1000, Duration::from_millis(100)).await;
        assert!(captured.timed_out && captured.truncated);
        assert_eq!(captured.stdout.len(), 1000);
        assert!(matches!(captured.exit, ProcessExit::Signalled(15)), "{}", captured.exit);
    });
}

#[test]
fn a_daemon_that_holds_the_pipe_does_not_hold_us() {
    block(async {
        let started = std::time::Duration::from_secs(10);
        let daemon = sh("setsid sh -c 'echo $$; exec sleep 60' & sleep 0.05; exit 0");
        let captured = tokio::time::timeout(started, capture(&daemon, 100, Duration::from_secs(30))).await;
        let captured = captured.expect("the sixty seconds of the daemon are not waited for");
        assert!(matches!(captured.exit, ProcessExit::Exited(0)));
        let id: u32 = String::from_utf8_lossy(&captured.stdout).trim().parse().expect("the daemon's group");
        assert!(pid(id).is_some_and(group::lives), "it left the group, so it still lives");
        kill_group(id, Duration::ZERO).await;
    });
}

#[test]
fn the_ladder_ends_the_deaf_and_the_whole_group() {
    block(async {
        let mut running = sh("trap '' TERM; sleep 61 & echo up; wait; wait; wait; sleep 62").spawn().expect("sh");
        let group = running.group();
        assert!(matches!(running.next().await, Event::Output(piece) if piece.text() == "up" && piece.ends_line()));
        let exit = running.end(Duration::from_millis(50)).await;
        assert!(matches!(exit, ProcessExit::Signalled(9)), "{exit}");
        let until = Instant::now() + Duration::from_secs(5);
        while pid(group).is_some_and(group::lives) {
            assert!(Instant::now() < until, "somebody of the group still lives");
            sleep(LOOK).await;
        }
    });
}

#[test]
fn a_caller_that_looks_away_often_does_not_prolong_the_silence() {
    block(async {
        let mut running = sh("sleep 60 & exit 0").spawn().expect("sh");
        let begun = Instant::now();
        while timeout(Duration::from_millis(20), running.next()).await.is_err() {}
        assert!(begun.elapsed() < DRAIN / 2, "{:?}", begun.elapsed());
        kill_group(running.group(), Duration::ZERO).await;
    });
}
