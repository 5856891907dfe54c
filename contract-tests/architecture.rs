//! The house holds: arrows point down, waiting and host effects stay in their rooms.
//!
//! The walk reads tokens, not lines, so grouped `use`, `super`, re-exports and paths inside macros count like any other.
//! Add a module by giving it a level in [`LEVELS`]; no other exception exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Every room of the house, with its level. Rooms that do not exist yet have their level already.
const LEVELS: &[(&str, u8)] = &[
    ("text", 0),
    ("contract", 1),
    ("diag", 1),
    ("draw", 1),
    ("system", 1),
    ("policy", 2),
    ("schema", 2),
    ("config", 3),
    ("events", 3),
    ("store", 4),
    ("stream", 4),
    ("runner", 5),
    ("backend", 6),
    ("monitor", 6),
    ("hub", 6),
    ("conform", 6),
    ("report", 7),
    ("cli", 8),
];

/// The judge shares the contract's words with the runner, and nothing else.
const CONFORM_MAY_NAME: &[&str] = &["contract", "diag", "draw", "schema", "system", "text"];

/// Where something may wait: files or folders below `src/`, without their ending.
const MAY_AWAIT: &[&str] = &[
    "system/process",
    "runner/agent",
    "runner/dispatch/drive",
    "runner/human",
    "runner/notify",
    "runner/stage",
    "backend",
    "stream",
    "conform/observe/driver",
    "conform/model",
    "monitor/app",
    "hub/server",
    "cli/main",
];

/// Paths that reach the host: the clock, the environment, other processes, written files. Clippy's `disallowed-methods`
/// guard the same door with resolved names; this list also sees what is imported and never called.
const HOST: &[&[&str]] = &[
    &["Timestamp", "now"],
    &["Zoned", "now"],
    &["Instant", "now"],
    &["SystemTime", "now"],
    &["Uuid", "new_v4"],
    &["std", "env", "var"],
    &["std", "env", "var_os"],
    &["std", "env", "vars"],
    &["std", "env", "vars_os"],
    &["std", "env", "current_dir"],
    &["std", "env", "current_exe"],
    &["std", "env", "temp_dir"],
    &["std", "env", "set_current_dir"],
    &["std", "process", "Command"],
    &["std", "process", "id"],
    &["std", "process", "exit"],
    &["tokio", "process"],
    &["tokio", "fs"],
    &["fs", "write"],
    &["fs", "rename"],
    &["fs", "copy"],
    &["fs", "hard_link"],
    &["fs", "remove_file"],
    &["fs", "remove_dir"],
    &["fs", "remove_dir_all"],
    &["fs", "create_dir"],
    &["fs", "create_dir_all"],
    &["fs", "set_permissions"],
    &["fs", "OpenOptions"],
    &["OpenOptions", "new"],
    &["File", "create"],
    &["File", "create_new"],
];

/// One breach: where, and what.
#[derive(Debug, PartialEq, Eq)]
struct Breach {
    line: usize,
    what: String,
}

/// A source file of the house, by its module path: `["runner", "engine"]`.
struct Source<'a> {
    module: Vec<&'a str>,
    text: &'a str,
}

impl<'a> Source<'a> {
    /// `name` is the path below `src/`, such as `runner/engine.rs`.
    fn new(name: &'a str, text: &'a str) -> Self {
        let stem = name.strip_suffix(".rs").expect("a Rust file");
        let module = stem.split('/').filter(|part| !matches!(*part, "mod" | "lib")).collect();
        Self { module, text }
    }

    fn room(&self) -> Option<&'a str> {
        self.module.first().copied()
    }

    fn may_await(&self) -> bool {
        let path = self.module.join("/");
        MAY_AWAIT.iter().any(|place| path == *place || path.starts_with(&format!("{place}/")))
    }

    /// A file of tests, by its name: `foo/tests.rs`.
    fn is_tests(&self) -> bool {
        self.module.last() == Some(&"tests")
    }

    fn breaches(&self) -> Vec<Breach> {
        let tokens: TokenStream = self.text.parse().expect("the compiler parsed it too");
        let mut walk = Walk { source: self, inline: 0, in_tests: self.is_tests(), found: Vec::new() };
        walk.tokens(tokens);
        walk.found
    }
}

struct Walk<'a> {
    source: &'a Source<'a>,
    /// How many inline `mod x { … }` surround the token.
    inline: usize,
    in_tests: bool,
    found: Vec<Breach>,
}

impl Walk<'_> {
    fn tokens(&mut self, stream: TokenStream) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        let mut test_next = false;
        while at < tokens.len() {
            test_next |= is_cfg_test(&tokens[at..]);
            self.waiting(&tokens[at..]);
            self.host(&tokens[at..]);
            self.arrow(&tokens, at);
            if let TokenTree::Group(group) = &tokens[at] {
                let module = is_inline_module(&tokens, at);
                let was = self.in_tests;
                self.inline += usize::from(module);
                self.in_tests |= test_next && group.delimiter() == Delimiter::Brace;
                self.tokens(group.stream());
                self.in_tests = was;
                self.inline -= usize::from(module);
            }
            test_next &= !ends_item(&tokens[at]);
            at += 1;
        }
    }

    fn waiting(&mut self, tokens: &[TokenTree]) {
        if let [TokenTree::Punct(dot), TokenTree::Ident(word), ..] = tokens
            && dot.as_char() == '.'
            && word == "await"
            && !self.in_tests
            && !self.source.may_await()
        {
            self.report(&tokens[0], "waits outside the rooms that may wait".to_owned());
        }
    }

    fn host(&mut self, tokens: &[TokenTree]) {
        if self.in_tests || self.source.room() == Some("system") {
            return;
        }
        for path in HOST {
            if is_path(tokens, path) {
                self.report(&tokens[0], format!("reaches the host by `{}`", path.join("::")));
            }
        }
    }

    fn arrow(&mut self, tokens: &[TokenTree], at: usize) {
        let TokenTree::Ident(word) = &tokens[at] else { return };
        if at >= 2 && is_colons(&tokens[at - 2..]) {
            return;
        }
        let mut rest = &tokens[at + 1..];
        let mut path = self.module_here();
        match word.to_string().as_str() {
            "crate" => path.clear(),
            "loa" if is_colons(rest) && self.source.room() != Some("bin") => path.clear(),
            "super" => {
                path.pop();
                while let [_, _, TokenTree::Ident(up), more @ ..] = rest
                    && is_colons(rest)
                    && up == "super"
                {
                    path.pop();
                    rest = more;
                }
            }
            _ => return,
        }
        match rest {
            _ if !path.is_empty() => {}
            [TokenTree::Ident(word), ..] if word == "as" => {
                self.report(&tokens[at], "gives the crate another name".to_owned());
            }
            _ if is_colons(rest) => self.heads(&tokens[at], &rest[2..]),
            _ => {}
        }
    }

    /// Checks the first name after `crate::`, or each first name of a group.
    fn heads(&mut self, at: &TokenTree, rest: &[TokenTree]) {
        match rest.first() {
            Some(TokenTree::Ident(name)) => self.name(at, &name.to_string()),
            Some(TokenTree::Group(group)) => {
                let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
                for item in tokens.split(is_comma) {
                    if !item.is_empty() {
                        self.heads(at, item);
                    }
                }
            }
            _ => self.report(at, "names the whole crate at once".to_owned()),
        }
    }

    fn name(&mut self, at: &TokenTree, target: &str) {
        let Some(room) = self.source.room() else { return };
        let Some(level) = level(target) else {
            self.report(at, format!("names `{target}`, which is no room of the house"));
            return;
        };
        let allowed = target == room
            || (room == "conform" && CONFORM_MAY_NAME.contains(&target))
            || (room != "conform" && level_of(room) > level);
        if !allowed {
            self.report(at, format!("`{room}` names `{target}`: an arrow up or sideways"));
        }
    }

    fn module_here(&self) -> Vec<String> {
        let mut path: Vec<String> = self.source.module.iter().map(ToString::to_string).collect();
        path.extend((0..self.inline).map(|_| "inline".to_owned()));
        path
    }

    fn report(&mut self, at: &TokenTree, what: String) {
        self.found.push(Breach { line: at.span().start().line, what });
    }
}

fn level(room: &str) -> Option<u8> {
    LEVELS.iter().find(|(name, _)| *name == room).map(|(_, level)| *level)
}

fn level_of(room: &str) -> u8 {
    level(room).unwrap_or_else(|| panic!("src/{room} has no level: give it one, or another place"))
}

fn is_colons(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Punct(a), TokenTree::Punct(b), ..] if a.as_char() == ':' && b.as_char() == ':')
}

/// Whether the tokens begin with the path, also through the groups of a `use`.
fn is_path(tokens: &[TokenTree], path: &[&str]) -> bool {
    let (Some(TokenTree::Ident(word)), [first, deeper @ ..]) = (tokens.first(), path) else { return false };
    if word != first || deeper.is_empty() {
        return word == first;
    }
    is_colons(&tokens[1..])
        && match tokens.get(3) {
            Some(TokenTree::Group(group)) => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                inside.split(is_comma).any(|item| is_path(item, deeper))
            }
            _ => is_path(&tokens[3..], deeper),
        }
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',')
}

fn is_cfg_test(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Punct(hash), TokenTree::Group(attribute), ..]
        if hash.as_char() == '#' && attribute.stream().to_string().replace(' ', "") == "cfg(test)")
}

fn is_inline_module(tokens: &[TokenTree], at: usize) -> bool {
    at >= 2
        && matches!(&tokens[at - 2..], [TokenTree::Ident(word), TokenTree::Ident(_), TokenTree::Group(body), ..]
            if word == "mod" && body.delimiter() == Delimiter::Brace)
}

fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    }
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("src/ can be listed") {
        let path = entry.expect("src/ can be listed").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

fn sources() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    files.sort();
    let name = |path: &Path| path.strip_prefix(&src).expect("below src/").to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), fs::read_to_string(path).expect("UTF-8"))).collect()
}

#[test]
fn the_house_holds() {
    let sources = sources();
    assert!(sources.len() > 20, "the walk found only {} files", sources.len());
    let mut report = Vec::new();
    for (name, text) in &sources {
        if name.starts_with("bin/") {
            continue;
        }
        for breach in Source::new(name, text).breaches() {
            report.push(format!("src/{name}:{}: {}", breach.line, breach.what));
        }
    }
    assert!(report.is_empty(), "{}", report.join("\n"));
}

/// What the decisions of the runner may name of the host: the form of a reading of its clocks, and the name of a signal.
const DECIDING_MAY_NAME: &[&str] = &["use crate::system::clock::Moment;", "use crate::system::process::Interrupt;"];

/// What is decided is decided without a clock, a file, a process or a random number.
#[test]
fn deciding_knows_no_host() {
    let mut looked_at = 0;
    for (path, text) in sources().into_iter().filter(|(path, _)| path.starts_with("runner/decide")) {
        looked_at += 1;
        let of_host = text.lines().filter(|line| line.contains("system::"));
        let mut others = of_host.filter(|line| !DECIDING_MAY_NAME.contains(line));
        assert_eq!(others.next(), None, "{path} names the host");
        let rooms = ["store::", "stage::", "dispatch::", "human::", "notify::"];
        let host = [
            "tokio",
            "fastrand",
            "async ",
            "clock::now",
            "std::fs",
            "std::env",
            "std::process",
            "Instant",
            "SystemTime",
            "::now()",
        ];
        for word in rooms.into_iter().chain(host) {
            assert!(!text.contains(word), "{path} names {word}");
        }
    }
    assert!(looked_at > 4, "the decisions have a room");
}

/// What is pure has nothing to log, and what is logged is shown by the command line alone.
#[test]
fn the_log_is_written_by_rooms_with_effects_and_shown_by_one() {
    let pure = ["text/", "contract/", "diag/", "draw/", "policy/", "schema/", "events/", "config/", "runner/decide/"];
    let mut logging = 0;
    for (path, text) in sources() {
        let tokens = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        logging += usize::from(tokens.contains("use tracing::"));
        assert!(
            !tokens.contains("tracing") || !pure.iter().any(|room| path.starts_with(room)),
            "src/{path} is pure and names tracing"
        );
        assert!(
            !tokens.contains("tracing_subscriber") || path == "cli/run/log.rs",
            "src/{path} names a subscriber: the command line installs it"
        );
    }
    assert!(logging > 4, "only {logging} files log");
}

/// Rooms that show something to people. A message of an error is shown by others, and is one more.
const SHOWS: &[&str] = &["cli/", "report/", "runner/notify/", "runner/error.rs", "store/markdown.rs", "diag/render/"];
/// Where such a room has a text of others as it was written: to take secrets out of it, and not to show it.
const TAKES_RAW: &[&str] = &["runner/notify/send.rs"];
/// What only an escaper does: `text` has each of them once.
const ESCAPERS: &[&str] = &[
    "strip_str",
    "&lt;",
    "%0A",
    "%0D",
    r#"r"'\''""#,
    r#""'\\''""#,
    "is_control()",
    "char::is_control",
    "WinconBytes",
    r"\u{202e}",
];
/// Where that is something else: what is refused instead of shown, and the words of Slack.
const NO_ESCAPERS: &[&str] = &["diag/read/text.rs", "config/notify.rs", "cli/run/unit.rs", "runner/notify/render.rs"];

/// Text of others is shown by the escapers of `text` alone: whoever shows something does not ask for it as it was written, and
/// nobody has an escaper of his own.
#[test]
fn what_others_wrote_is_shown_by_escapers_alone() {
    let all = sources();
    let code = |text: &str| {
        let lines = text.split("#[cfg(test)]").next().unwrap_or_default().lines();
        lines.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
    };
    let (mut shows, mut raw) = (0, 0);
    for (path, text) in all.iter().filter(|(path, _)| !path.ends_with("tests.rs") && !path.starts_with("text/")) {
        let code = code(text);
        raw += usize::from(code.contains(".raw()"));
        if SHOWS.iter().any(|room| path.starts_with(room)) && !TAKES_RAW.contains(&path.as_str()) {
            shows += 1;
            assert!(!code.contains(".raw()"), "src/{path} shows something, and takes a text as others wrote it");
        }
        if !NO_ESCAPERS.iter().any(|room| path.starts_with(room)) {
            let own = ESCAPERS.iter().find(|escaper| code.contains(**escaper));
            assert_eq!(own, None, "src/{path} has an escaper of its own: `text` has them");
        }
    }
    assert!(shows > 20 && raw > 3, "{shows} rooms show something, {raw} files decide by what others wrote");
    let (_, untrusted) = all.iter().find(|(path, _)| path == "text/mod.rs").expect("it has a room");
    for open in
        ["Display for Untrusted", "Deref for Untrusted", "AsRef<str> for Untrusted", "Borrow<str> for Untrusted"]
    {
        assert!(!untrusted.contains(open), "text/mod.rs: `{open}` would show it as it is");
    }
}

/// The rooms of the runner; each names only those before it.
const RUNNER: &[&str] = &[
    "session",
    "operator",
    "plan_error",
    "plan_file",
    "selection",
    "plan",
    "receivers",
    "bounds",
    "weaker",
    "shell_line",
    "scripts",
    "programs",
    "recorded_files",
    "changed_files",
    "error",
    "decide",
    "agent",
    "stage",
    "notify",
    "dispatch",
    "human",
];

/// The rooms of the judge, the lowest first: each names only those before it.
const JUDGE: &[&str] = &["model", "spec", "suite", "observe", "judge", "score"];

/// The names of the rooms of a part of the house that one of its files names, also by what the part re-exports of them.
fn rooms_named(
    part: &str,
    rooms: &[&str],
    (path, text): (&str, &str),
    exported: &BTreeMap<String, String>,
) -> BTreeSet<String> {
    let below = path.trim_end_matches("/mod.rs").trim_end_matches(".rs").matches('/').count();
    let up = "super::".repeat(below);
    let mut named = BTreeSet::new();
    for prefix in [format!("crate::{part}::").as_str(), up.as_str()] {
        for (at, _) in text.match_indices(prefix) {
            // `super::super::x` is not `super::x`.
            if prefix == up && (text[..at].ends_with("super::") || text[at + prefix.len()..].starts_with("super::")) {
                continue;
            }
            let rest = &text[at + prefix.len()..];
            let words = match rest.strip_prefix('{') {
                Some(group) => group.split('}').next().unwrap_or_default(),
                None => rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default(),
            };
            for word in words.split(',') {
                let word = word.trim().split("::").next().unwrap_or_default();
                let room = exported.get(word).map_or(word, String::as_str);
                named.extend(rooms.contains(&room).then(|| room.to_owned()));
            }
        }
    }
    named
}

/// The files of a part of the house name only rooms of it that stand before their own, or their own.
fn names_only_those_before(part: &str, rooms: &[&str]) {
    let sources = sources();
    let hub = sources.iter().find(|(path, _)| *path == format!("{part}/mod.rs"));
    let exported = exports(&hub.expect("the part's own file").1);
    let place = |room: &str| rooms.iter().position(|it| *it == room);
    let inside = |path: &str| path.starts_with(&format!("{part}/")) && !path.ends_with("tests.rs");
    let mut arrows = 0;
    for (path, text) in sources.iter().filter(|(path, _)| inside(path)) {
        let room = path.split('/').nth(1).unwrap_or_default().trim_end_matches(".rs");
        if room == "mod" {
            continue;
        }
        let here = place(room).unwrap_or_else(|| panic!("src/{path} is in no room of {part} that has a place"));
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for named in rooms_named(part, rooms, (path, code), &exported) {
            arrows += usize::from(named != room);
            assert!(place(&named) <= Some(here), "src/{path}: `{room}` names `{named}`, which comes after it");
        }
    }
    assert!(arrows > 30, "only {arrows} arrows were seen");
}

/// No circle of files in the runner.
#[test]
fn the_rooms_of_the_runner_name_only_those_before_them() {
    let sources = sources();
    let (_, hub) = sources.iter().find(|(path, _)| path == "runner/mod.rs").expect("the runner");
    assert_eq!(exports(hub).get("RunError").map(String::as_str), Some("error"));
    names_only_those_before("runner", RUNNER);
}

/// Nor in the judge, which has no module that hands out everything.
#[test]
fn the_rooms_of_the_judge_name_only_those_before_them() {
    let sources = sources();
    let (_, hub) = sources.iter().find(|(path, _)| path == "conform/mod.rs").expect("the judge");
    let code: Vec<&str> = hub.lines().filter(|line| !line.starts_with("//") && !line.is_empty()).collect();
    assert!(code.iter().all(|line| line.starts_with("pub mod ")) && code.len() == JUDGE.len(), "{code:?}");
    names_only_those_before("conform", JUDGE);
}

/// What a file of a folder names of it: its other files, also by what the folder re-exports of them; `mod` is the folder.
fn files_named(
    code: &str,
    own: &str,
    files: &BTreeSet<String>,
    exported: &BTreeMap<String, String>,
) -> BTreeSet<String> {
    let is_hub = own == "mod";
    let starts = if is_hub { ["self::", "use "] } else { ["super::", "super::"] };
    let mut named = BTreeSet::new();
    for start in starts {
        for (at, _) in code.match_indices(start) {
            let rest = &code[at + start.len()..];
            let is_hidden =
                code[..at].ends_with("super::") || code[..at].ends_with("pub ") || code[..at].ends_with(") ");
            if is_hidden || rest.starts_with("super::") {
                continue;
            }
            let words = match rest.strip_prefix('{') {
                Some(group) => group.split('}').next().unwrap_or_default(),
                None => rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default(),
            };
            for word in words.split(',').map(|word| word.trim().split("::").next().unwrap_or_default()) {
                let file = exported.get(word).map_or(word, String::as_str);
                match files.contains(file) {
                    true => named.extend((file != own).then(|| file.to_owned())),
                    false if !is_hub => named.extend((!word.is_empty()).then(|| "mod".to_owned())),
                    false => {}
                }
            }
        }
    }
    named
}

/// What a module re-exports, and from which of its own.
fn exports(code: &str) -> BTreeMap<String, String> {
    let lists = code.split("pub").skip(1).filter_map(|it| it.split_once("use ")).filter(|(scope, _)| scope.len() < 12);
    let lists = lists.filter_map(|(_, it)| it.split(';').next()?.split_once("::"));
    let names = lists.flat_map(|(room, names)| {
        let names = names.trim_matches(['{', '}']).split(',').map(|name| name.trim().to_owned());
        names.filter(|name| !name.is_empty()).map(|name| (name, room.to_owned()))
    });
    names.collect()
}

/// No circle of files in a room of the runner.
#[test]
fn the_files_of_a_room_of_the_runner_name_each_other_one_way() {
    let mut folders: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| path.starts_with("runner/") && !path.contains("tests"))
    {
        let (folder, file) = path.rsplit_once('/').expect("in a folder");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
        folders.entry(folder.to_owned()).or_default().insert(file.trim_end_matches(".rs").to_owned(), code);
    }
    let mut arrows = 0;
    for (folder, files) in folders.iter().filter(|(folder, _)| *folder != "runner") {
        let exported = exports(files.get("mod").map_or("", String::as_str));
        let names: BTreeSet<String> = files.keys().filter(|name| *name != "mod").cloned().collect();
        let mut left: BTreeMap<&String, BTreeSet<String>> =
            files.iter().map(|(name, code)| (name, files_named(code, name, &names, &exported))).collect();
        arrows += left.values().map(BTreeSet::len).sum::<usize>();
        // Whoever names nobody that is left is taken away, until nobody is.
        while let Some(free) = left.iter().find(|(_, named)| named.is_empty()).map(|(name, _)| (*name).clone()) {
            left.remove(&free);
            for named in left.values_mut() {
                named.retain(|name| *name != free);
            }
        }
        assert!(left.is_empty(), "src/{folder}: a circle of files: {left:?}");
    }
    assert!(arrows > 30, "only {arrows} arrows were seen");
}

/// What changes files, by the names that do it.
const WRITES: &[&str] = &[
    "write_durably",
    "create_durably",
    "files::replace",
    "files::copy",
    "files::rename",
    "files::remove",
    "ensure_folder",
    "ensure_private_folder",
    "empty_folder",
    "remove_tree",
    "Appender",
    ".rename(",
    "rename_all",
];

/// Files of a stage that are no truth: what it exchanges with its processes, its log, and the copy of that.
const OF_A_STAGE: &[&str] =
    &["runner/stage/attempt.rs", "runner/stage/context.rs", "runner/stage/files.rs", "runner/stage/log.rs"];

/// The runner changes files through the store alone, but for those.
#[test]
fn only_the_store_writes() {
    let runner = |path: &str| path.starts_with("runner/") && !OF_A_STAGE.contains(&path);
    let mut looked_at = 0;
    for (path, text) in sources().into_iter().filter(|(path, _)| runner(path) && !path.ends_with("tests.rs")) {
        looked_at += 1;
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let written: Vec<&&str> = WRITES.iter().filter(|name| code.contains(**name)).collect();
        assert!(written.is_empty(), "src/{path} writes by itself: {written:?}");
    }
    assert!(looked_at > 20, "the runner has rooms");
}

/// Whoever owns the state takes in one fact after the other and waits for nothing meanwhile: in the dispatcher's room only
/// the driving waits, and by no function that holds what it belongs to.
#[test]
fn the_dispatcher_is_not_held_while_something_is_waited_for() {
    let in_room = |path: &str| path.starts_with("runner/dispatch/");
    let mut waiting = Vec::new();
    for (path, text) in sources().into_iter().filter(|(path, _)| in_room(path)) {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (at, _) in code.match_indices("async fn ") {
            let parameters = code[at..].split([')', ',']).next().unwrap_or_default();
            assert!(
                !parameters.contains("&mut self"),
                "src/{path}: `{parameters}` is held while something is waited for"
            );
        }
        waiting.extend(code.contains(".await").then_some(path));
    }
    assert_eq!(waiting, ["runner/dispatch/drive.rs"], "what waits in the dispatcher's room");
}

#[test]
fn every_room_has_a_level_and_no_room_is_empty() {
    for (name, text) in sources() {
        if name == "lib.rs" || name.starts_with("bin/") {
            continue;
        }
        let room = name.split('/').next().expect("split yields one part at least");
        assert!(level(room).is_some(), "src/{name}: `{room}` has no level");
        assert!(text.lines().any(|line| !line.trim().is_empty() && !line.starts_with("//")), "src/{name} is empty");
    }
}

#[test]
fn the_library_has_no_second_door() {
    let (_, text) = sources().into_iter().find(|(name, _)| name == "lib.rs").expect("there is a library");
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//")) {
        let plain = line.trim_start_matches("#![").len() < line.len() || line.starts_with("pub mod ");
        assert!(plain, "lib.rs declares rooms and re-exports nothing, but says: {line}");
    }
}

#[test]
fn programs_only_open_the_command_line() {
    for (name, text) in sources().into_iter().filter(|(name, _)| name.starts_with("bin/")) {
        let code: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//")).collect();
        assert!(code.len() <= 10, "src/{name} has {} lines of code", code.len());
        let named = |what: &str| code.iter().map(|line| line.matches(what).count()).sum::<usize>();
        assert!(named("loa::cli::") > 0, "src/{name} does not open the command line");
        assert_eq!(named("loa::"), named("loa::cli::"), "src/{name} names another room");
    }
}

/// What the walk must find: file, source, what the breach says. An empty text stands for silence.
const VECTORS: &[(&str, &str, &str)] = &[
    ("policy/exit.rs", "use crate::contract::Phase;", ""),
    ("policy/exit.rs", "use crate::runner::Engine;", "`policy` names `runner`"),
    ("policy/exit.rs", "use crate::{contract::Phase, store::Layout};", "`policy` names `store`"),
    ("policy/exit.rs", "use crate::{contract::{Phase, Action}};", ""),
    ("policy/exit.rs", "pub use crate::schema::Kind;", "`policy` names `schema`"),
    ("policy/exit.rs", "use super::backoff::Backoff;", ""),
    ("policy/exit.rs", "use super::super::runner::Engine;", "`policy` names `runner`"),
    ("policy/exit.rs", "mod tests { use super::super::super::cli::main; }", "`policy` names `cli`"),
    ("policy/mod.rs", "use super::runner::Engine;", "`policy` names `runner`"),
    ("policy/mod.rs", "use super::{contract, runner::Engine};", "`policy` names `runner`"),
    ("policy/exit.rs", "fn f() { loa::runner::go() }", "`policy` names `runner`"),
    ("policy/exit.rs", "macro_rules! m { () => { $crate::runner::go() } }", "`policy` names `runner`"),
    ("policy/exit.rs", "fn f() { println!(\"{}\", crate::cli::x()) }", "`policy` names `cli`"),
    ("policy/exit.rs", "use crate::*;", "names the whole crate"),
    ("policy/exit.rs", "use crate as house;", "another name"),
    ("policy/exit.rs", "pub(crate) fn f() {}", ""),
    ("policy/exit.rs", "use crate::Engine;", "no room of the house"),
    ("diag/yaml.rs", "use crate::contract::Phase;", "`diag` names `contract`"),
    ("conform/observe/rig.rs", "use crate::system::clock;", ""),
    ("conform/observe/rig.rs", "use crate::policy::Backoff;", "`conform` names `policy`"),
    ("conform/observe/rig.rs", "use crate::store::Layout;", "`conform` names `store`"),
    ("runner/stage/attempt.rs", "async fn f() { g().await }", ""),
    ("runner/decide/mod.rs", "async fn f() { g().await }", "waits"),
    ("policy/exit.rs", "async fn f() { g().await }", "waits"),
    ("cli/main.rs", "async fn f() { g().await }", ""),
    ("cli/run.rs", "async fn f() { g().await }", "waits"),
    ("policy/exit.rs", "fn f() { jiff::Timestamp::now(); }", "`Timestamp::now`"),
    ("system/clock.rs", "fn f() { jiff::Timestamp::now(); }", ""),
    ("store/format.rs", "fn f() { std::fs::write(a, b); }", "`fs::write`"),
    ("store/format.rs", "use std::fs::{read, write};", "`fs::write`"),
    ("store/format.rs", "use std::{env::{args, var}, io};", "`std::env::var`"),
    ("store/format.rs", "use std::process::{Command, ExitCode};", "`std::process::Command`"),
    ("store/format.rs", "use std::{process::Command};", "`std::process::Command`"),
    ("store/format.rs", "use std::process::ExitCode;", ""),
    ("runner/attempt.rs", "use crate::system::{env, process::Command}; fn f() { env::vars(); Command::new(); }", ""),
    ("store/format.rs", "#[cfg(test)] mod tests { fn f() { std::fs::write(a, b); } }", ""),
    ("store/format.rs", "#[cfg(test)] mod tests { } fn f() { std::fs::write(a, b); }", "`fs::write`"),
    ("store/format.rs", "#[cfg(test)] mod tests { use crate::runner::Engine; }", "`store` names `runner`"),
    ("store/format/tests.rs", "fn f() { std::fs::write(a, b); }", ""),
];

#[test]
fn the_walk_sees_what_it_must() {
    for (name, text, expected) in VECTORS {
        let found = Source::new(name, text).breaches();
        let said: Vec<&str> = found.iter().map(|breach| breach.what.as_str()).collect();
        if expected.is_empty() {
            assert!(said.is_empty(), "{name}: {text}: {said:?}");
        } else {
            assert!(said.iter().any(|what| what.contains(expected)), "{name}: {text}: {said:?}");
        }
    }
}
