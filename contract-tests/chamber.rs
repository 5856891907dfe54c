//! Chambers: what an agent can reach, what is counted when it has left, and what survives the judge.
//!
//! A test that needs a network without a way out starts itself again inside one.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use loa::conform::observe::{AgentRun, Call, Happening, Isolation, Spec, environment};
use loa::system::process::{ProcessExit, Stream};
use rustix::process::Signal;
use tempfile::TempDir;

/// The judge's program, as it was built for these tests.
const JUDGE: &str = env!("CARGO_BIN_EXE_loa-conform");
const LIMIT: Duration = Duration::from_secs(30);

struct Case {
    root: TempDir,
    is_hermetic: bool,
}

/// What one chamber showed.
#[derive(Debug, Default)]
struct Seen {
    stdout: Vec<String>,
    stderr: Vec<String>,
    exit: Option<ProcessExit>,
    out_of_time: bool,
    left: Option<Vec<String>>,
}

impl Case {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        for name in ["home", "tmp", "work"] {
            std::fs::create_dir(root.path().join(name)).expect("made");
        }
        Self { root, is_hermetic: false }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    fn place(&self) -> Spec {
        Spec {
            judge: JUDGE.into(),
            root: self.root.path().to_path_buf(),
            temporary: self.path("tmp"),
            writable: Vec::new(),
            kept: Vec::new(),
            shown: Vec::new(),
            is_hermetic: self.is_hermetic,
        }
    }

    fn call(&self, script: &str) -> Call {
        Call {
            argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
            env: environment(&self.path("home"), &self.path("tmp")),
            folder: self.path("work"),
        }
    }

    async fn start(&self, call: &Call, limit: Duration) -> AgentRun {
        AgentRun::start(&self.place(), call, limit).await.expect("a chamber")
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

/// Runs a chamber to its end; sends `signal` when the agent says `ready`.
async fn watch(case: &Case, call: &Call, limit: Duration, signal: Option<Signal>) -> Seen {
    let mut agent = case.start(call, limit).await;
    let mut seen = Seen::default();
    while let Some(happening) = agent.next().await {
        match happening {
            Happening::Said { stream, line } => {
                if line == "ready"
                    && let Some(signal) = signal
                {
                    agent.signal(signal);
                }
                let lines = if stream == Stream::Stdout { &mut seen.stdout } else { &mut seen.stderr };
                lines.push(line);
            }
            Happening::OutOfTime => seen.out_of_time = true,
            Happening::Ended(exit) => seen.exit = Some(exit),
            Happening::Left(left) => seen.left = Some(left.into_iter().map(|process| process.command).collect()),
        }
    }
    seen
}

fn run(case: &Case, script: &str) -> Seen {
    block_on(watch(case, &case.call(script), LIMIT, None))
}

/// Whether any process on this host has the word in its command line.
fn lives(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("Linux").flatten();
    processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok()).any(|words| {
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        words.contains(word)
    })
}

/// Waits until no process has the word in its command line.
fn dies(word: &str) -> bool {
    let begun = Instant::now();
    while lives(word) && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    !lives(word)
}

/// A number of seconds that stands in the command line of this test's sleepers alone.
fn nap(number: u32) -> String {
    format!("{number}.{}", std::process::id())
}

#[test]
fn what_it_says_and_how_it_ends_is_told_in_full() {
    let case = Case::new();
    let seen = run(&case, "echo one; echo two >&2; printf half; exit 7");
    assert_eq!((seen.stdout, seen.stderr), (vec!["one".to_owned(), "half".to_owned()], vec!["two".to_owned()]));
    assert!(matches!(seen.exit, Some(ProcessExit::Exited(7))), "{:?}", seen.exit);
    assert_eq!(seen.left, Some(Vec::new()));
}

#[test]
fn a_program_that_is_not_there_has_ended_before_it_began() {
    let case = Case::new();
    let call = Call { argv: vec!["/no/such/agent".to_owned()], ..case.call("") };
    let seen = block_on(watch(&case, &call, LIMIT, None));
    assert!(matches!(seen.exit, Some(ProcessExit::SpawnFailed(_))), "{:?}", seen.exit);
}

#[test]
fn its_world_is_its_own() {
    let case = Case::new();
    let secret = tempfile::NamedTempFile::with_prefix("chamber-secret-").expect("a file of the host");
    let name = format!("{}-mine", secret.path().file_name().expect("a name").display());
    let script = format!(
        "env | sed 's/=.*//' | sort | tr '\\n' ' '; echo; ls {secret} 2>/dev/null; echo mine > /tmp/{name}; echo $$; cat; \
         tty >&2; tr '\\0' '\\n' 2>/dev/null 2>/dev/null < /proc/1/environ | grep -c CARGO",
        secret = secret.path().display()
    );
    let seen = run(&case, &script);
    let processes = block_on(Isolation::here()).processes;
    assert_eq!(seen.stdout[0].trim(), "HOME LANG PATH PWD TERM TMPDIR", "{seen:?}");
    if processes {
        assert_eq!(seen.stdout[1], "2", "the second process of its own world, and no secret before it: {seen:?}");
        assert_eq!(seen.stdout[2], "0", "its keeper carries nothing of our environment: {seen:?}");
        assert_eq!(std::fs::read_to_string(case.path("tmp").join(&name)).expect("the judge sees it"), "mine\n");
        assert!(!Path::new("/tmp").join(&name).exists());
    }
    assert_eq!(seen.stderr, ["not a tty"]);
}

#[test]
fn the_machine_is_out_of_reach() {
    if !block_on(Isolation::here()).processes {
        return;
    }
    let ours = ["ipc", "uts"].map(|name| std::fs::read_link(format!("/proc/self/ns/{name}")).expect("Linux"));
    let script = "for file in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/drop_caches \
        /proc/sysrq-trigger /dev/kmsg; do (: >> $file) 2>/dev/null && echo \"$file can be written\"; done
        LC_ALL=C ls /dev | tr '\\n' ' '; echo; readlink /proc/self/ns/ipc /proc/self/ns/uts
        echo x > /dev/null && head -c 1 /dev/urandom | wc -c; echo 0 > /proc/self/oom_score_adj && echo mine
        python3 -c 'import os, pty; print(os.ttyname(pty.openpty()[1]))'";
    let seen = run(&Case::new(), script);
    let [devices, ipc, uts, rest @ ..] = seen.stdout.as_slice() else { panic!("{seen:?}") };
    assert_eq!(devices.trim(), "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero");
    assert!(ours.iter().all(|ours| [ipc, uts].iter().all(|its| Path::new(its) != ours)), "{seen:?}");
    assert_eq!(rest, ["1", "mine", "/dev/pts/0"], "what is its own it has: {seen:?}");
}

#[test]
fn shared_memory_does_not_outlive_a_case() {
    if !block_on(Isolation::here()).processes {
        return;
    }
    for _ in 0..2 {
        let seen = run(&Case::new(), "ipcmk -M 64 > /dev/null; sed 1d /proc/sysvipc/shm | wc -l");
        assert_eq!(seen.stdout, ["1"], "{seen:?}");
    }
}

#[test]
fn what_the_judge_has_open_is_not_handed_down() {
    let outside = tempfile::NamedTempFile::with_prefix("chamber-open-").expect("a file of the host");
    rustix::io::fcntl_setfd(outside.as_file(), rustix::io::FdFlags::empty()).expect("anybody may inherit it");
    let seen = run(&Case::new(), "ls -l /proc/self/fd");
    assert!(seen.stdout.len() > 3 && seen.stdout.iter().all(|line| !line.contains("chamber-open-")), "{seen:?}");
}

#[test]
fn a_pipe_of_the_host_is_open_unless_it_is_to_be_closed() {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    if !block_on(Isolation::here()).processes {
        return;
    }
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder that a chamber sees");
    let pipe = place.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut open = std::fs::OpenOptions::new();
    let mut end = open.read(true).write(true).custom_flags(nonblocking).open(&pipe).expect("opened");
    for (is_hermetic, heard) in [(false, "heard\n"), (true, "")] {
        let case = Case { is_hermetic, ..Case::new() };
        let seen = run(&case, &format!("echo heard > {}", pipe.display()));
        assert!(seen.stderr.is_empty(), "{seen:?}");
        let mut bytes = [0; 16];
        let length = end.read(&mut bytes).unwrap_or_default();
        assert_eq!(String::from_utf8_lossy(&bytes[..length]), heard, "hermetic: {is_hermetic}");
    }
}

#[test]
fn a_daemon_is_counted_and_does_not_survive() {
    let case = Case::new();
    let nap = nap(61);
    // Forked twice, in a session of its own, with nothing in its environment.
    let seen = run(&case, &format!("(setsid env -i sleep {nap} >/dev/null 2>&1 &) ; exit 0"));
    assert_eq!(seen.left.expect("counted"), [format!("sleep {nap}")]);
    assert!(dies(&nap));
}

#[test]
fn what_ends_soon_after_it_is_no_leftover_and_what_holds_its_output_is() {
    let case = Case::new();
    let nap = nap(62);
    assert_eq!(run(&case, "sleep 0.2 & exit 0").left.expect("counted"), [""; 0]);
    let seen = run(&case, &format!("sleep {nap} & echo done"));
    assert_eq!(seen.left.expect("counted"), [format!("sleep {nap}")]);
    assert_eq!(seen.stdout, ["done"]);
    assert!(dies(&nap));
}

#[test]
fn signals_reach_the_agent_at_their_defaults() {
    let case = Case::new();
    for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1), (Signal::KILL, 9)] {
        let seen = block_on(watch(&case, &case.call("echo ready; exec sleep 63"), LIMIT, Some(signal)));
        assert!(
            matches!(seen.exit, Some(ProcessExit::Signalled(found)) if found == number),
            "{signal:?}: {:?}",
            seen.exit
        );
    }
    let call = case.call("trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done");
    let seen = block_on(watch(&case, &call, LIMIT, Some(Signal::TERM)));
    assert!(matches!(seen.exit, Some(ProcessExit::Exited(3))), "{:?}", seen.exit);
}

/// As a shell's background job is, and what `nohup` starts.
#[test]
fn a_judge_that_is_deaf_to_signals_does_not_hand_that_down() {
    let us = std::env::current_exe().expect("a test");
    let script = "trap '' INT TERM HUP; exec \"$0\" --exact chamber::signals_reach_the_agent_at_their_defaults";
    let done = Command::new("sh").args(["-c", script]).arg(us).output().expect("started");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

#[test]
fn the_limit_ends_it() {
    let case = Case::new();
    let nap = nap(64);
    let call = case.call(&format!("trap '' TERM INT; sleep {nap}; sleep {nap}"));
    let seen = block_on(watch(&case, &call, Duration::from_millis(200), None));
    assert!(seen.out_of_time && matches!(seen.exit, Some(ProcessExit::Signalled(9))), "{seen:?}");
    assert_eq!(seen.left.expect("counted"), [format!("sleep {nap}")], "its child is an orphan now");
    assert!(dies(&nap));
}

#[test]
fn a_dropped_chamber_leaves_nothing() {
    let case = Case::new();
    let nap = nap(65);
    block_on(async {
        let mut agent = case.start(&case.call(&format!("setsid sleep {nap} & echo ready; wait")), LIMIT).await;
        assert!(matches!(agent.next().await, Some(Happening::Said { .. })));
    });
    assert!(dies(&nap));
}

/// Part of the next test: a judge that waits to be killed.
#[test]
#[ignore = "started by `the_judges_own_death_leaves_nothing`"]
fn a_judge_with_a_sleeper() {
    let case = Case::new();
    let nap = std::env::var("CHAMBER_NAP").expect("handed over");
    block_on(watch(&case, &case.call(&format!("setsid sleep {nap} & sleep {nap}")), LIMIT, None));
}

#[test]
fn the_judges_own_death_leaves_nothing() {
    let nap = nap(66);
    let us = std::env::current_exe().expect("a test");
    let words = ["--exact", "chamber::a_judge_with_a_sleeper", "--ignored", "--nocapture"];
    let mut judge = Command::new(us).args(words).env("CHAMBER_NAP", &nap).spawn().expect("a second judge");
    let begun = Instant::now();
    while !lives(&format!("sleep {nap}")) {
        assert!(begun.elapsed() < LIMIT, "the sleeper never came");
        std::thread::sleep(Duration::from_millis(10));
    }
    judge.kill().expect("SIGKILL");
    judge.wait().expect("buried");
    assert!(dies(&nap));
}

/// Part of the next test: runs in a network without a way out.
#[test]
#[ignore = "started by `no_agent_calls_out`"]
fn inside_a_network_of_its_own() {
    loa::conform::observe::withdraw().expect("loopback");
    block_on(async {
        assert!(Isolation::here().await.network, "there is a way out");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let port = listener.local_addr().expect("bound").port();
        let script = "import socket, sys\n\
            def call(address):\n    try:\n        socket.create_connection(address, 2); return 'reached'\n    \
            except OSError as error: return type(error).__name__\n\
            print(call(('127.0.0.1', int(sys.argv[1]))), call(('192.0.2.1', 80)), call(('example.org', 80)))";
        let case = Case::new();
        let argv = ["python3", "-c", script, &port.to_string()].map(str::to_owned).to_vec();
        let call = Call { argv, ..case.call("") };
        let begun = Instant::now();
        let seen = watch(&case, &call, LIMIT, None).await;
        assert_eq!(seen.stdout, ["reached OSError gaierror"], "{seen:?}");
        assert!(begun.elapsed() < Duration::from_secs(5), "a name made it wait");
    });
}

#[test]
fn no_agent_calls_out() {
    let us = std::env::current_exe().expect("a test");
    let words = ["--exact", "chamber::inside_a_network_of_its_own", "--ignored", "--nocapture"];
    // It withdraws by itself: the judge's way in is what is tested.
    let done = Command::new(us).args(words).output().expect("started");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

/// Part of the next test: what must hold without namespaces too.
#[test]
#[ignore = "started by `a_machine_without_namespaces_says_so_and_still_cleans_up`"]
fn on_a_machine_without_namespaces() {
    let here = block_on(Isolation::here());
    assert!(!here.processes && here.missing().iter().any(|line| line.contains("/tmp")), "{here:?}");
}

#[test]
fn a_machine_without_namespaces_says_so_and_still_cleans_up() {
    let programs = tempfile::tempdir().expect("a folder");
    for name in ["sh", "sleep", "setsid", "env"] {
        let found =
            ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name)).into_iter().find(|file| file.exists());
        std::os::unix::fs::symlink(found.expect("every Linux has it"), programs.path().join(name)).expect("linked");
    }
    let tests = [
        "on_a_machine_without_namespaces",
        "a_daemon_is_counted_and_does_not_survive",
        "what_ends_soon_after_it_is_no_leftover_and_what_holds_its_output_is",
        "signals_reach_the_agent_at_their_defaults",
        "the_limit_ends_it",
        "a_dropped_chamber_leaves_nothing",
        "the_judges_own_death_leaves_nothing",
    ];
    let names = tests.map(|name| format!("chamber::{name}"));
    let us = std::env::current_exe().expect("a test");
    let mut command = Command::new(us);
    command.args(["--exact", "--include-ignored", "--nocapture"]).args(names).env("PATH", programs.path());
    let done = command.output().expect("started");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("7 passed"), "{said}{}", String::from_utf8_lossy(&done.stderr));
}

/// Its version is how many routes it sees.
const ROUTES: (&str, &str) = (
    "loop",
    "{runtime: loop, version: [sh, -c, 'sed 1d /proc/net/route | wc -l'], run: [sh, '{dir}/loop.sh', '{plan}'], \
     expect: {exit-codes: Full, checkpoints: None, context-signals: None, escalation: None}}",
);

#[test]
fn a_runtime_that_is_judged_hermetically_has_no_way_out() {
    let suite = crate::conform::suite(&[ROUTES]);
    let done = crate::conform::score(&suite, &["loop", "--hermetic", "--json"]).output().expect("started");
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(report["host"]["hermetic"], true);
    assert_eq!(report["runtimes"][0]["version"], "0");
}

/// Without namespaces nothing can be shut off; only a machine that has no network anyway need not refuse.
#[test]
fn what_cannot_be_shut_off_is_refused_and_not_measured_all_the_same() {
    let suite = crate::conform::suite(&[ROUTES]);
    let done =
        crate::conform::score(&suite, &["loop", "--hermetic"]).env("PATH", "/nowhere").output().expect("started");
    let said = String::from_utf8_lossy(&done.stderr);
    if loa::system::isolation::has_way_out() {
        assert_eq!(done.status.code(), Some(3), "{said}");
        assert!(said.contains("--hermetic: this machine lets nobody have a network of his own"), "{said}");
    } else {
        assert!(!said.contains("--hermetic"), "{said}");
    }
}
