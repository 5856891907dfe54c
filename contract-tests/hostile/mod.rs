//! What a hostile or careless phase does to the run that started it, and what must happen instead: with the boundary, and
//! without it, where that can be tried. `SECURITY.md` has the same as a table, which is compared with these.

mod everyday;
mod files;
mod gates;
mod limits;
mod network;
mod processes;
mod state;
mod ways_out;
mod words;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use crate::run::host::not_tested;
use crate::run::workspace::{Ran, Workspace, finished, program};

/// How long a run may take at most, in seconds: one that is frozen is none that holds.
const LIMIT: &str = "60";

/// One attack: what it does, and whether it is held with the boundary and without it; `None` where it is not tried so.
#[derive(Debug, Clone, Copy)]
struct Attack {
    what: &'static str,
    with: Option<bool>,
    without: Option<bool>,
    /// Makes it, and says whether it was held.
    made: fn(Stand) -> bool,
}

/// Makes a test of each attack, and a table of all.
macro_rules! attacks {
    ($($name:ident: $what:literal, $with:expr, $without:expr, $made:expr;)*) => {
        pub(super) const ATTACKS: &[crate::hostile::Attack] =
            &[$(crate::hostile::Attack { what: $what, with: $with, without: $without, made: $made }),*];
        $(
            #[test]
            fn $name() {
                let attack = ATTACKS.iter().find(|attack| attack.what == $what).expect("it is one of them");
                crate::hostile::judge(attack);
            }
        )*
    };
}
use attacks;

/// Where an attack is made: behind the boundary, or without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    Behind,
    Without,
}

impl Stand {
    /// A workspace with these phases alone. A person has to agree before `deploy`.
    fn workspace(self, phases: &[(&str, &str)]) -> Workspace {
        self.configured(phases, "{}")
    }

    /// The same, and the settings of the phases, in YAML.
    fn configured(self, phases: &[(&str, &str)], settings: &str) -> Workspace {
        self.with("", phases, settings)
    }

    /// The same, and more lines of `runtime`.
    fn with(self, lines: &str, phases: &[(&str, &str)], settings: &str) -> Workspace {
        let workspace = Workspace::only(phases);
        let mode = if self == Self::Behind { "required" } else { "off" };
        workspace.config(&format!(
            "runtime:\n  boundary: {{ mode: {mode} }}\n  retry: {{ max: 0, initial_ms: 1 }}\n{lines}  phases: {settings}\n"
        ));
        workspace
    }
}

/// `loa-run`, ended after a minute. Phases find it in `$RUNNER`, and a key in its environment that is none of theirs.
fn command(workspace: &Workspace, arguments: &[&str]) -> Command {
    let runner = env!("CARGO_BIN_EXE_loa-run");
    let mut command =
        program(Path::new("timeout"), &workspace.path(""), &[&["-k", "1", LIMIT, runner], arguments].concat());
    command.env("RUNNER", runner).env("ANTHROPIC_API_KEY", key(workspace));
    command
}

fn loa(workspace: &Workspace, arguments: &[&str]) -> Ran {
    finished(command(workspace, arguments))
}

/// A run of the workspace's plan.
fn run(workspace: &Workspace) -> Ran {
    loa(workspace, &["run", "--plan", "plan.json"])
}

/// What the runner's environment has for agents alone; another one in every workspace.
fn key(workspace: &Workspace) -> String {
    let folder = workspace.path("..").canonicalize().expect("there");
    format!("KEY{}", folder.file_name().expect("a name").to_string_lossy())
}

/// Whether a process works whose command line has this in it.
fn works(words: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("Linux").flatten();
    processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok()).any(|line| {
        // Whoever tells us to look is none of them.
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(words)
    })
}

/// Whether this host can make a boundary; says so when not.
fn can_be_drawn() -> bool {
    static CAN: LazyLock<bool> = LazyLock::new(|| {
        let workspace = Stand::Behind.workspace(&[("design", "true")]);
        run(&workspace).code == Some(0)
    });
    if !*CAN {
        not_tested("this host makes no boundary: `loa-run doctor` says why");
    }
    *CAN
}

#[track_caller]
fn judge(attack: &Attack) {
    let with = attack.with.filter(|_| can_be_drawn());
    for (stand, expected) in [(Stand::Behind, with), (Stand::Without, attack.without)] {
        if let Some(expected) = expected {
            assert_eq!((attack.made)(stand), expected, "{stand:?}: {}", attack.what);
        }
    }
}

#[test]
fn the_table_of_attacks_says_what_was_seen() {
    let word = |held: Option<bool>| held.map_or("not tried", |held| if held { "held" } else { "not held" });
    let all = [
        state::ATTACKS,
        processes::ATTACKS,
        files::ATTACKS,
        gates::ATTACKS,
        words::ATTACKS,
        limits::ATTACKS,
        network::ATTACKS,
        ways_out::ATTACKS,
    ]
    .concat();
    let rows: BTreeSet<String> = all
        .iter()
        .map(|attack| format!("| {} | {} | {} |", attack.what, word(attack.with), word(attack.without)))
        .collect();
    assert_eq!(rows.len(), all.len(), "no two are told in the same words");
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("SECURITY.md")).expect("there");
    let told: BTreeSet<String> =
        page.lines().filter(|line| line.ends_with("held |") || line.ends_with("tried |")).map(str::to_owned).collect();
    let differences: Vec<&String> = rows.symmetric_difference(&told).collect();
    assert!(differences.is_empty(), "{differences:#?}");
}
