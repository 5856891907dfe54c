//! A red without the judge: one shell script that lays the workspace and the plan, has each phase do what the case says, does
//! what the judge did, and prints what came of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::CaseReport;
use crate::conform::observe::RigOptions;
use crate::conform::observe::driver::{given, knob_keys};
use crate::conform::observe::workspace::{GIT_CONFIG, configuration};
use crate::conform::spec::draw::{Script, draw};
use crate::conform::spec::{Act, Argv, Case, Clause, DrawError, Drive, Manifest, Step, UsageWay, Verb, names};
use crate::contract::Phase;
use crate::text::quoted;

/// How long a phase stays that the judge holds until the runtime has heeded a halt, in milliseconds.
const UNTIL_HALTED: u64 = 3000;
/// What every phase does before its acts.
const PHASE_HEAD: &str = include_str!("reproducer/phase.sh");
/// What the script does before its steps.
const HEAD: &str = include_str!("reproducer/head.sh");
/// What it shows at its end.
const TAIL: &str = include_str!("reproducer/tail.sh");

/// What a reproducer is made of.
#[derive(Debug, Clone, Copy)]
pub struct Reproducer<'a> {
    /// The case.
    pub case: &'a Case,
    /// The first case of its scenario: what is drawn depends on it.
    pub leader: &'a Case,
    /// The clause.
    pub clause: &'a Clause,
    /// The runtime's manifest.
    pub manifest: &'a Manifest,
    /// The manifest's folder, absolute; or the files of it, when the script must bring them along.
    pub dir: Dir<'a>,
    /// The folder in which the judge's program lies, for what is looked up beside it.
    pub judge_dir: &'a str,
    /// The seed.
    pub seed: u64,
    /// What the judge found, when it is known.
    pub found: Option<&'a CaseReport>,
}

/// Where what a manifest calls `{dir}` comes from.
#[derive(Debug, Clone, Copy)]
pub enum Dir<'a> {
    /// It is there.
    There(&'a str),
    /// The script lays these files: name and text.
    Brought(&'a BTreeMap<String, String>),
}

impl Reproducer<'_> {
    /// The first verb of the case that is asked of the manifest's adapter, if one is. No shell script can hold that
    /// conversation, so there is none to write.
    #[must_use]
    pub fn asked(&self) -> Option<Verb> {
        let verbs = self.case.steps.iter().flat_map(|step| match step {
            Step::Run(drive) => [Some(Verb::Run), drive.halt_during.as_ref().map(|_| Verb::Halt)],
            Step::Resume(drive) => [Some(Verb::Resume), drive.halt_during.as_ref().map(|_| Verb::Halt)],
            Step::Resolve(_) => [Some(Verb::Resolve), None],
            Step::State => [Some(Verb::State), None],
            Step::Write { .. } | Step::Delete(_) | Step::Edit { .. } | Step::Fresh => [None, None],
        });
        verbs.flatten().find(|verb| self.manifest.asks(*verb))
    }

    /// The script, for any POSIX shell; it needs git and the runtime's own program.
    ///
    /// # Errors
    /// [`DrawError`] when the case's values cannot be drawn.
    pub fn script(&self) -> Result<String, DrawError> {
        let drawn = draw(self.leader, self.seed)?;
        let script = Script::new(self.case, &drawn);
        let mut text = self.preamble();
        text.push_str(HEAD);
        self.lay_places(&mut text);
        self.lay_phases(&mut text, &script);
        self.lay_workspace(&mut text, &script);
        self.verbs(&mut text, &script);
        text.push_str("\nfresh\n");
        for (number, step) in script.steps.iter().enumerate() {
            line(&mut text, &format!("STEP={number}"));
            line(&mut text, &self.step(step));
        }
        text.push_str(TAIL);
        line(&mut text, &self.verdict(&drawn));
        Ok(text)
    }

    /// What it is, for whoever opens it.
    fn preamble(&self) -> String {
        let Self { case, clause, manifest, seed, .. } = self;
        let (name, id) = (&manifest.runtime, &case.id);
        let lines = [
            format!("{name}: {id} (seed {seed})"),
            case.title.clone(),
            format!("{} {} ({}): {}", clause.level, clause.id, clause.sections.join(", "), clause.text),
            String::new(),
            "sh THIS-FILE [FOLDER]: does in FOLDER, a fresh one when not given, what the judge did, and shows what"
                .to_owned(),
            "came of it. Needs a POSIX shell, git, and the runtime's own program; not the judge.".to_owned(),
        ];
        let comments = lines.iter().map(|text| format!("# {}\n", text.replace('\n', " ")).replace("# \n", "#\n"));
        format!("#!/bin/sh\n{}", comments.collect::<String>())
    }

    fn lay_places(&self, text: &mut String) {
        line(text, &format!("JUDGE_DIR={}", quoted(self.judge_dir)));
        line(text, &format!("BUDGET={}", self.manifest.budget_seconds.unwrap_or(RigOptions::BUDGET.as_secs())));
        match self.dir {
            Dir::There(dir) => line(text, &format!("DIR={}", quoted(dir))),
            Dir::Brought(files) => {
                line(text, "DIR=$ROOT/runtime");
                for (name, content) in files {
                    line(text, &format!("lay \"$DIR\"/{} {}", quoted(name), quoted(content)));
                    line(text, &format!("chmod +x \"$DIR\"/{}", quoted(name)));
                }
            }
        }
        line(text, &format!("lay \"$ROOT/home/.gitconfig\" {}", quoted(GIT_CONFIG)));
    }

    /// The plan, and a program for each of its phases.
    fn lay_phases(&self, text: &mut String, script: &Script) {
        line(text, "\n# The phases: what each does, attempt by attempt; the last entry serves every later one.");
        line(text, &format!("HEAD={}", quoted(PHASE_HEAD)));
        for phase in Phase::WORDS {
            let attempts = script.phases.get(*phase).map(Vec::as_slice).unwrap_or_default();
            let mut body = String::from("case $n in\n");
            for (number, acts) in attempts.iter().enumerate() {
                let which = if number + 1 == attempts.len() { "*".to_owned() } else { (number + 1).to_string() };
                line(&mut body, &format!("{which})"));
                for act in acts {
                    line(&mut body, &format!("    {}", self.act(act)));
                }
                line(&mut body, "    ;;");
            }
            line(&mut body, "esac\nends 0");
            line(text, &format!("phase {phase} {}", quoted(&body)));
        }
        line(text, "plan");
    }

    fn act(&self, act: &Act) -> String {
        let poll = seconds(self.manifest.poll_ms * 2);
        let signal = |signal: &Value| format!("signal {}; sleep {poll}", quoted(&signal.to_string()));
        match act {
            Act::Stdout(words) => format!("printf '%s\\n' {}", quoted(words)),
            Act::Stderr(words) => format!("printf '%s\\n' {} >&2", quoted(words)),
            Act::Result(result) => format!("result {}", quoted(&result.to_string())),
            Act::Usage(tokens) => match &self.manifest.usage {
                None => ":".to_owned(),
                Some(UsageWay::SignalFile) => signal(&json!({ "type": "USAGE", "context_tokens": tokens })),
                Some(UsageWay::Stdout(template)) => {
                    let words = template.replace("{tokens}", &tokens.to_string());
                    format!("printf '%s\\n' {}; sleep {poll}", quoted(&words))
                }
            },
            Act::Signal(value) => signal(value),
            Act::Write { path, content } => format!("lay \"$WORKSPACE\"/{} {}", quoted(path), quoted(content)),
            Act::Delete(path) => format!("rm -f \"$WORKSPACE\"/{}", quoted(path)),
            Act::Sleep(millis) => format!("reached; sleep {}", seconds(*millis)),
            Act::UntilHalted => format!("reached; sleep {}", seconds(UNTIL_HALTED)),
            Act::Spawn => "sleep 600 </dev/null >/dev/null 2>&1 &".to_owned(),
            Act::Exit(code) => format!("ends {code}"),
            Act::Die(signal) => format!("dies {}", signal.strip_prefix("SIG").unwrap_or(signal)),
            Act::Hang => "hangs".to_owned(),
        }
    }

    /// `files`: what every fresh workspace begins with.
    fn lay_workspace(&self, text: &mut String, script: &Script) {
        let config = configuration(&script.config, &knob_keys(self.case, self.manifest));
        let config = serde_yaml::to_string(&config).expect("a configuration is plain data");
        line(text, "\nfiles() {");
        line(text, &format!("    lay \"$WORKSPACE/.loa.config.yaml\" {}", quoted(&config)));
        for (path, content) in &script.files {
            line(text, &format!("    lay \"$WORKSPACE\"/{} {}", quoted(path), quoted(content)));
        }
        line(text, "}");
    }

    /// `given`: starts something in the environment of a verb. `halting`: asks the runtime to stop.
    fn verbs(&self, text: &mut String, script: &Script) {
        line(text, "\ngiven() {");
        line(text, "    env -i PATH=\"$JUDGE_DIR:$PATH\" LANG=\"${LANG:-C.UTF-8}\" HOME=\"$ROOT/home\" \\");
        line(text, "        TMPDIR=\"$ROOT/tmp\" LOA_OPERATOR=ai WORKSPACE_MARK=\"$ROOT\" \\");
        for (name, value) in given(self.case, self.manifest, &script.config) {
            line(text, &format!("        {}={} \\", variable(&name), word(&value)));
        }
        line(text, "        \"$@\"\n}");
        let halt =
            self.manifest.halt.as_ref().map_or_else(|| ":".to_owned(), |halt| format!("given {}", argv(halt, "")));
        line(text, &format!("halting() {{\n    {halt}\n}}"));
    }

    fn step(&self, step: &Step) -> String {
        let manifest = self.manifest;
        let verb = |name: &str, verb: Option<&Argv>, drive: &Drive, action: &str| match verb {
            None => format!("show 'the manifest has no {name}'"),
            Some(verb) => {
                let (how, phase) = match (drive.kill_during.as_ref().or(drive.kill_after.as_ref()), &drive.halt_during)
                {
                    (Some(phase), _) => ("kill", phase.as_str()),
                    (None, Some(phase)) => ("halt", phase.as_str()),
                    (None, None) => ("''", "''"),
                };
                format!("verb {name} {how} {phase} {}", argv(verb, action))
            }
        };
        let plain = Drive::default();
        match step {
            Step::Run(drive) => {
                let run = unstartable(drive, verb("run", manifest.run.as_ref(), drive, ""));
                match &manifest.prepare {
                    Some(prepare) => format!("{}\n{run}", verb("prepare", Some(prepare), &plain, "")),
                    None => run,
                }
            }
            Step::Resume(drive) => unstartable(drive, verb("resume", manifest.resume.as_ref(), drive, "")),
            Step::Resolve(action) => verb("resolve", manifest.resolve.as_ref(), &plain, action),
            Step::State => verb("state", manifest.state.as_ref(), &plain, ""),
            Step::Write { path, content } => format!("lay \"$WORKSPACE\"/{} {}", quoted(path), quoted(content)),
            Step::Delete(path) => format!("rm -f \"$WORKSPACE\"/{}", quoted(path)),
            Step::Edit { path, set, remove } => {
                let gone: Vec<&str> = set.keys().chain(remove).map(String::as_str).collect();
                let new = set.iter().fold(String::new(), |text, (key, value)| text + &format!("{key}: {value}\n"));
                format!("edit \"$WORKSPACE\"/{} {} {}", quoted(path), quoted(&gone.join(" ")), quoted(&new))
            }
            Step::Fresh => "fresh".to_owned(),
        }
    }

    /// What to look at: expected and, when it is known, observed.
    fn verdict(&self, drawn: &BTreeMap<String, Value>) -> String {
        let mut said = String::from("What is demanded:\n");
        // Writing to a String cannot fail.
        if let Some(found) = self.found {
            for check in found.checks.iter().filter(|check| !check.outcome.is_green()) {
                let _ = writeln!(said, "  expected: {}\n  observed by the judge: {}", check.expected, check.observed);
                let _ = writeln!(said, "    ({}; {})", check.reason, check.place);
            }
        } else {
            let expected = serde_json::to_value(&self.case.expect).expect("an expectation is plain data");
            for expectation in names::value(drawn, &expected).as_array().into_iter().flatten() {
                let _ = writeln!(said, "  {expectation}");
            }
        }
        format!("show {}", quoted(said.trim_end()))
    }
}

fn line(text: &mut String, words: &str) {
    text.push_str(words);
    text.push('\n');
}

/// Milliseconds as a shell's `sleep` takes them.
fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

/// A manifest's argv as words of a shell.
fn argv(argv: &Argv, action: &str) -> String {
    let words: Vec<String> = argv.iter().map(|part| word(&part.replace("{action}", action))).collect();
    words.join(" ")
}

/// One word of a shell: what stands for a place is filled in when the script runs, the rest is as it is.
fn word(template: &str) -> String {
    const PLACES: [(&str, &str); 4] = [
        ("{plan}", "\"$ROOT/plan.json\""),
        ("{workspace}", "\"$WORKSPACE\""),
        ("{dir}", "\"$DIR\""),
        ("{judge_dir}", "\"$JUDGE_DIR\""),
    ];
    let first = PLACES.iter().filter_map(|(name, shell)| Some((template.find(name)?, *name, *shell))).min();
    match first {
        None => quoted(template),
        Some((at, name, shell)) => {
            let before = if at == 0 { String::new() } else { quoted(&template[..at]) };
            let rest = &template[at + name.len()..];
            let after = if rest.is_empty() { String::new() } else { word(rest) };
            before + shell + &after
        }
    }
}

/// The name of a variable as a word of a shell, whatever a manifest calls it.
fn variable(name: &str) -> String {
    let is_plain = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if is_plain { name.to_owned() } else { quoted(name) }
}

/// The lines of a step, in which the program of one phase may not be there.
fn unstartable(drive: &Drive, lines: String) -> String {
    let Some(phase) = &drive.unstartable else { return lines };
    let program = format!("\"$ROOT\"/phases/{}", quoted(phase));
    format!("mv {program} {program}.away\n{lines}\nmv {program}.away {program}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_everything_but_the_places() {
        for (template, expected) in [
            ("plain", "'plain'"),
            ("it's", "'it'\\''s'"),
            ("{dir}/loop.sh", "\"$DIR\"'/loop.sh'"),
            ("--plan={plan}", "'--plan='\"$ROOT/plan.json\""),
            ("{dir}{plan}", "\"$DIR\"\"$ROOT/plan.json\""),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(word(template), expected, "{template}");
        }
        assert_eq!(argv(&vec!["x".to_owned(), "{action}".to_owned()], "abort"), "'x' 'abort'");
        assert_eq!(seconds(1234), "1.234");
        assert_eq!(seconds(50), "0.050");
    }
}
