//! Documents that somebody made to hurt their reader: an answer with its place, under limits of memory and processor time.
//!
//! The limits here are those of the operating system, so that they hold on a busy machine too; how long each takes is
//! measured by `contract-tests/bench/hostile`, which runs [`measured`] with the optimised program.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::Instant;

use assert_cmd::cargo::CommandCargoExt as _;

/// One document and what must be said about it.
struct Row {
    name: &'static str,
    file: &'static str,
    bytes: Vec<u8>,
    /// `code line:column` of the first finding as `concise` shows it, or empty where the document is valid.
    answer: &'static str,
    /// The budget that it meets, which the answer must name together with the way to raise it.
    budget: Option<&'static str>,
}

const GOOD: &str = "execution_id: e-1\nphase: design\ncreated_at: 2026-11-20T09:30:00Z\nexit_code: 0\nsummary: ok\n";

fn yaml(name: &'static str, text: impl Into<Vec<u8>>, answer: &'static str) -> Row {
    Row { name, file: "a.yaml", bytes: text.into(), answer, budget: None }
}

fn json(name: &'static str, text: impl Into<Vec<u8>>, answer: &'static str) -> Row {
    Row { file: "a.json", ..yaml(name, text, answer) }
}

impl Row {
    fn meets(self, budget: &'static str) -> Self {
        Self { budget: Some(budget), ..self }
    }
}

/// A checkpoint with something in its `extra`.
fn with(extra: &str) -> String {
    format!("{GOOD}extra: {extra}\n")
}

fn depth() -> Vec<Row> {
    let block = |levels: usize| {
        (0..levels).fold(String::new(), |mut text, level| {
            let _ = writeln!(text, "{}a:", " ".repeat(level));
            text
        })
    };
    vec![
        yaml("200,000 opening brackets", "[".repeat(200_000), "budget 1:256").meets("depth"),
        yaml("10,000 opening brackets", "[".repeat(10_000), "budget 1:256").meets("depth"),
        yaml("200,000 opening braces", "{a: ".repeat(200_000), "budget 1:1021").meets("depth"),
        yaml("200,000 dashes on a line", "- ".repeat(200_000), "budget 1:129").meets("depth"),
        yaml("200,000 question marks on a line", "? ".repeat(200_000), "complex-key 1:3"),
        yaml("a block 2,000 levels deep", block(2000), "budget 65:65").meets("depth"),
        yaml("brackets that close again", with(&format!("{}{}", "[".repeat(200), "]".repeat(200))), "budget 6:71")
            .meets("depth"),
        json("200,000 opening brackets, JSON", "[".repeat(200_000), "budget 1:65").meets("depth"),
        json("200,000 opening braces, JSON", "{\"a\":".repeat(200_000), "budget 1:321").meets("depth"),
    ]
}

fn aliases() -> Vec<Row> {
    let laughs = (1..10).fold("a0: &a0 [x, x]\n".to_owned(), |text, level| {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        format!("{text}a{level}: &a{level} [{aliases}]\n")
    });
    let merges = (1..30).fold("a0: &a0 {k: v}\n".to_owned(), |text, level| {
        format!("{text}a{level}: &a{level}\n  <<: [*a{0}, *a{0}]\n", level - 1)
    });
    let quadratic = format!("a: &a [{}]\nb: [{}]\n", vec!["x"; 3000].join(", "), vec!["*a"; 3000].join(", "));
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), vec!["*a"; 1000].join(", "));
    let anchors: String = (0..300_000).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "- &a{number} x");
        text
    });
    let deep = (1..70).fold("- &a0 [x]\n".to_owned(), |text, level| format!("{text}- &a{level} [*a{}]\n", level - 1));
    vec![
        yaml("a billion laughs", laughs, "budget 6:30").meets("aliases"),
        yaml("3,000 aliases of 3,000 items", quadratic, "budget 2:173").meets("aliases"),
        yaml("1,000 aliases of a megabyte", long, "budget 2:33").meets("aliases"),
        yaml("a tower of merges", merges, "merge-key 3:3"),
        yaml("300,000 anchors", anchors, "budget 129056:3").meets("aliases"),
        yaml("a tower of aliases", deep, "budget 64:9").meets("depth"),
        yaml("an alias of itself", "a: &a [*a]\n", "alias 1:8"),
    ]
}

fn sizes() -> Vec<Row> {
    let quoted = |text: &str| format!("{GOOD}extra: \"{text}\"\n");
    vec![
        yaml("a plain text of 5 MB", with(&"x".repeat(5_000_000)), ""),
        yaml("a quoted text of 15 MB", quoted(&"x".repeat(15_000_000)), ""),
        yaml("a million escapes", quoted(&"\\u00e9".repeat(1_000_000)), ""),
        yaml("a folded text of a million lines", format!("{GOOD}extra: >\n{}", "  x\n".repeat(1_000_000)), ""),
        yaml("a plain text of a million lines", format!("{GOOD}extra:\n{}", "  x\n".repeat(1_000_000)), ""),
        yaml("a key of 5 MB", format!("{}: 1\n", "k".repeat(5_000_000)), "syntax 1:5000001"),
        yaml("a quote that never ends", format!("a: \"{}", "x".repeat(5_000_000)), "syntax 1:4"),
        yaml(
            "a number of a million digits",
            GOOD.replace("code: 0", &format!("code: {}", "9".repeat(1_000_000))),
            "type 4:12",
        ),
        yaml("a number beyond all others", GOOD.replace("code: 0", "code: 1e999999999"), "type 4:12"),
        yaml("17 MB", with(&"x".repeat(17 << 20)), "budget -").meets("bytes"),
        yaml("600,000 values", with(&format!("[{}]", "1,".repeat(600_000))), "budget 6:999995").meets("nodes"),
        yaml(
            "400,000 keys",
            (0..400_000).fold(GOOD.to_owned(), |mut text, number| {
                let _ = writeln!(text, "k{number}: 1");
                text
            }),
            "",
        ),
        yaml("5 MB of comments", format!("{GOOD}{}", "# x\n".repeat(1_250_000)), ""),
        yaml("5 MB of blank lines", format!("{GOOD}{}", "\n".repeat(5_000_000)), ""),
        yaml("5 MB of carriage returns", format!("{GOOD}{}", "\r".repeat(5_000_000)), ""),
        yaml("5 MB of tabs", format!("{GOOD}{}", "\t".repeat(5_000_000)), ""),
        yaml("a million colons", ": ".repeat(1_000_000), "budget 1:129").meets("depth"),
        yaml("200,000 wrong items", format!("{}artifacts:\n{}", GOOD, "  - 1\n".repeat(200_000)), "type 7:5"),
        yaml("a list of 200,000 instead", "- 1\n".repeat(200_000), "type 1:1"),
        yaml("40,000 artifacts in 5 MB", honest(), ""),
        json("a string of 15 MB, JSON", format!("[\"{}\"]", "x".repeat(15_000_000)), "type 1:1"),
        json("a million escapes, JSON", format!("[\"{}\"]", "\\u00e9".repeat(1_000_000)), "type 1:1"),
    ]
}

/// The largest document that a run of ours could leave.
fn honest() -> String {
    let artifact = "  - path: src/generated/module/a_file_with_a_rather_long_name_and_its_tests_00000.rs\n    action: created\n    size_bytes: 12450\n";
    format!("{GOOD}artifacts:\n{}", artifact.repeat(40_000))
}

fn words() -> Vec<Row> {
    let code = |scalar: &str| GOOD.replace("exit_code: 0", &format!("exit_code: {scalar}"));
    let error = |word: &str| format!("{GOOD}errors: [{{code: E, message: m, recoverable: {word}}}]\n");
    vec![
        yaml("a duplicate key", format!("{GOOD}phase: audit\n"), "duplicate-key 6:1"),
        yaml("a duplicate key in quotes", format!("{GOOD}\"phase\": audit\n"), "duplicate-key 6:1"),
        yaml("a duplicate key in an escape", format!("{GOOD}\"ph\\x61se\": audit\n"), "duplicate-key 6:1"),
        yaml("300,000 duplicates", "a: 1\n".repeat(300_000), "duplicate-key 2:1"),
        json("a duplicate key, JSON", "{\"phase\": \"audit\", \"ph\\u0061se\": 1}", "duplicate-key 1:20"),
        yaml("a merge key", format!("a: &a {{phase: design}}\n<<: *a\n{GOOD}"), "merge-key 2:1"),
        yaml("a tag of its own", GOOD.replace("ok", "!custom ok"), "tag 5:10"),
        yaml("a tag of Python", GOOD.replace("ok", "!!python/object/apply:os.system [id]"), "tag 5:10"),
        yaml("a tag that does not agree", code("!!int x"), "tag 4:12"),
        yaml("a binary tag", GOOD.replace("ok", "!!binary aGk="), "tag 5:10"),
        yaml(
            "a tag under a directive",
            format!("%TAG ! tag:x,2026:\n---\n{}", GOOD.replace("ok", "!y ok")),
            "tag 7:10",
        ),
        yaml("no, on, off, y, 1:30, 0777 and a date are texts", "- [no, on, off, y, 1:30, 2026-11-20]\n", "type 1:1"),
        yaml("a summary of no", GOOD.replace("ok", "no"), ""),
        yaml("yes for true", error("yes"), "type 6:45"),
        yaml("true for true", error("true"), ""),
        yaml("an octal of YAML 1.1", code("0777"), "enum 4:12"),
        yaml("an octal of YAML 1.2", code("0o1"), ""),
        yaml("a number in base sixty", code("0:1"), "type 4:12"),
        yaml("infinity", code(".inf"), "type 4:12"),
        yaml("not a number", code(".nan"), "type 4:12"),
    ]
}

fn characters() -> Vec<Row> {
    let utf16 = |text: &str, mark: bool, swap: bool| -> Vec<u8> {
        let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
        units.flat_map(|unit| if swap { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let bytes = |tail: &[u8]| [GOOD.as_bytes(), tail].concat();
    vec![
        yaml("a bell", GOOD.replace("ok", "o\u{7}k"), "control-character 5:11"),
        yaml("an escape", GOOD.replace("ok", "o\u{1b}[2Jk"), "control-character 5:11"),
        yaml("a delete", GOOD.replace("ok", "o\u{7f}k"), "control-character 5:11"),
        yaml("a control character above 0x80", GOOD.replace("ok", "o\u{9b}k"), "control-character 5:11"),
        yaml("a bell in an escape", GOOD.replace("ok", "\"o\\ak\""), ""),
        yaml("NUL", GOOD.replace("ok", "o\0k"), "control-character 5:11"),
        yaml("NUL at the end", bytes(b"\0\0\0"), "control-character 6:1"),
        yaml("nothing but NUL", vec![0; 5_000_000], "control-character 1:1"),
        yaml("a byte order mark alone", "\u{feff}", "empty 1:1"),
        yaml("a byte order mark, then a checkpoint", [b"\xef\xbb\xbf", GOOD.as_bytes()].concat(), ""),
        yaml("two byte order marks", ["\u{feff}\u{feff}", GOOD].concat(), "encoding 1:2"),
        yaml("UTF-16, little end first", utf16(GOOD, true, false), "encoding 1:1"),
        yaml("UTF-16, big end first", utf16(GOOD, true, true), "encoding 1:1"),
        yaml("UTF-16 without its mark", utf16(GOOD, false, false), "control-character 1:2"),
        yaml("Latin-1", bytes(b"extra: caf\xe9\n"), "encoding 6:11"),
        yaml("UTF-8 in more bytes than it needs", bytes(b"extra: \xc0\xaf\n"), "encoding 6:8"),
        yaml("half a pair of surrogates", bytes(b"extra: \xed\xa0\x80\n"), "encoding 6:8"),
        yaml("half a character at the end", bytes(b"extra: \xf0\x9f\x98"), "encoding 6:8"),
        yaml("a program", b"\x7fELF\x02\x01\x01\0\0\xff\xfe\0".to_vec(), "binary -"),
    ]
}

fn documents() -> Vec<Row> {
    vec![
        yaml("two documents", format!("{GOOD}---\n{GOOD}"), "many-documents 6:1"),
        yaml("a million documents", "---\n".repeat(1_000_000), "many-documents 2:1"),
        yaml("a checkpoint, then a marker", format!("---\n{GOOD}...\n"), ""),
        yaml("nothing", "", "empty 1:1"),
        yaml("blanks", " \n\n  \n", "empty 1:1"),
        yaml("comments", "# a\n# b\n", "empty 1:1"),
        yaml("a marker alone", "---\n", "type 2:1"),
        yaml("an end alone", "...\n", "empty 1:1"),
        yaml("a version of YAML that is not known", format!("%YAML 9.9\n---\n{GOOD}"), ""),
        json("nothing, JSON", "", "empty 1:1"),
        json("two values, JSON", "{}\n{}\n", "syntax 2:1"),
    ]
}

fn table() -> Vec<Row> {
    [depth(), aliases(), sizes(), words(), characters(), documents()].into_iter().flatten().collect()
}

/// The first finding as `code line:column`; empty when there is none.
fn answer(output: &str, file: &str) -> String {
    let Some(line) = output.lines().next() else { return String::new() };
    let (head, _) = line.strip_prefix(file).and_then(|rest| rest.split_once(']')).unwrap_or((line, ""));
    let (place, code) = head.rsplit_once(": error[").unwrap_or((head, ""));
    format!("{code} {}", place.strip_prefix(':').unwrap_or("-"))
}

#[test]
fn every_hostile_document_is_answered_within_200_megabytes_with_its_place_and_its_budget() {
    /// Of address space: all memory that the program could ever touch, its own code included.
    const KIBIBYTES: u32 = 200 << 10;
    /// Of processor time, for a program that was not optimised; it ends one that hangs.
    const SECONDS: u32 = 30;
    let program = Command::cargo_bin("loa-validate").expect("the program is built");
    let mut wrong = Vec::new();
    for row in table() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(row.file), &row.bytes).expect("a file");
        let run = |shape: &str| {
            let limits = format!("ulimit -v {KIBIBYTES}; ulimit -t {SECONDS}; exec \"$0\" \"$@\"");
            let mut command = Command::new("sh");
            command.args(["-c", &limits]).arg(program.get_program()).args(["checkpoint", "--format", shape, row.file]);
            command.current_dir(folder.path()).output().expect("a shell")
        };
        let output = run("concise");
        let said = answer(&String::from_utf8_lossy(&output.stdout), row.file);
        let code = i32::from(!row.answer.is_empty());
        if said != row.answer || output.status.code() != Some(code) {
            let error = String::from_utf8_lossy(&output.stderr);
            wrong.push(format!("{}: {said:?} and {}, not {:?}; {error:.300}", row.name, output.status, row.answer));
        }
        if let Some(budget) = row.budget {
            let text = String::from_utf8(run("full").stdout).expect("UTF-8");
            for part in [&format!("the budget `{budget}`"), "at most ", &format!("--limit {budget}=N")] {
                if !text.contains(part) {
                    wrong.push(format!("{}: no {part:?} in {text:.600}", row.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Prints a table of what each takes; `LOA_VALIDATE` is the program to measure.
#[test]
#[expect(clippy::print_stdout, reason = "the table is what it is for")]
#[ignore = "it measures; contract-tests/bench/hostile runs it"]
fn measured() {
    let program = std::env::var("LOA_VALIDATE").expect("LOA_VALIDATE names the program");
    println!("| document | bytes | answer | wall, ms | MB |\n|---|---|---|---|---|");
    for row in table() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(row.file), &row.bytes).expect("a file");
        let mut command = Command::new("/usr/bin/time");
        command.args(["-o", "peak", "-f", "%M", &program, "checkpoint", "--format", "concise", row.file]);
        let begin = Instant::now();
        let output = command.current_dir(folder.path()).output().expect("GNU time is installed");
        let milliseconds = begin.elapsed().as_millis();
        let peak = fs::read_to_string(folder.path().join("peak")).expect("what time wrote");
        let kibibytes: f64 = peak.lines().last().and_then(|line| line.parse().ok()).expect("a number");
        let said = answer(&String::from_utf8_lossy(&output.stdout), row.file);
        let said = if said.is_empty() { "valid" } else { said.as_str() };
        println!("| {} | {} | {said} | {milliseconds} | {:.0} |", row.name, row.bytes.len(), kibibytes / 1024.0);
    }
}
