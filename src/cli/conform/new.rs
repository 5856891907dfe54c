//! `loa-conform new`: the files of a new case, with what only its author knows left open.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::New;
use super::data::printed;
use super::suite;
use crate::cli::console::print;
use crate::cli::{ExitStatus, Failure};
use crate::conform::spec::{Clause, Column, Level, ProfileName, RuntimeProfile};
use crate::conform::suite::{FILL_IN, Suite, variant_folder};
use crate::diag::closest;
use crate::system::files::{self, Privacy};

/// Longest ledger that is added to, in bytes.
const LONGEST: u64 = 1 << 20;

pub(super) fn new(wish: &New) -> Result<ExitStatus, Failure> {
    if wish.profile == ProfileName::Agent {
        let failure = Failure::new(ExitStatus::Usage, "there is no scaffold for cases of agents");
        return Err(failure.hint("copy a case of the same column; contract-tests/agent/README.md explains the format"));
    }
    let suite = suite::open::<RuntimeProfile>(Some(&wish.suite))?;
    let scaffold = Scaffold::of(&suite, wish)?;
    let files = scaffold.files(&suite, wish)?;
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists() && !scaffold.is_ledger(path)) {
        let failure = Failure::new(ExitStatus::WriteFailed, format!("{} is there already", path.display()));
        return Err(failure.hint("nothing was written; give the case another --name"));
    }
    for (path, text) in &files {
        files::write_durably(path, text.as_bytes(), Privacy::Shared)
            .map_err(|error| Failure::new(ExitStatus::WriteFailed, error))?;
    }
    let paths: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    let left = scaffold.left(&suite);
    if wish.json {
        return printed(&json!({ "written": paths, "left": left }));
    }
    let wrote = paths.iter().map(|path| format!("wrote {path}"));
    let lines: Vec<String> = wrote.chain(left.iter().map(|left| format!("to do: {left}"))).collect();
    print(&format!("{}\n", lines.join("\n")))?;
    Ok(ExitStatus::Success)
}

/// What is to be written.
struct Scaffold {
    clause: String,
    column: Column,
    /// The case and the variant: the clause in lower case, then words.
    id: String,
    variant: String,
    needs: Vec<String>,
    suite: PathBuf,
    ledger: PathBuf,
    /// Whether the clause is not in the ledger yet.
    is_new: bool,
}

impl Scaffold {
    fn of(suite: &Suite, wish: &New) -> Result<Self, Failure> {
        let clause = wish.clause.to_uppercase();
        let known = suite.clause(&clause);
        let column = known.map_or_else(|| column_of_new(suite, &clause), |known| Ok(known.column))?;
        let name = wish.name.to_lowercase();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            return Err(Failure::new(ExitStatus::Usage, format!("--name {name}: letters, digits and dashes")));
        }
        let mut needs = vec!["EXIT-001".to_owned()];
        needs.extend(known.iter().flat_map(|known| known.presupposes.clone()).filter(|need| need != "EXIT-001"));
        needs.retain(|need| *need != clause && suite.cases_of(need).next().is_some());
        Ok(Self {
            id: format!("{}-{name}", clause.to_lowercase()),
            variant: name,
            suite: wish.suite.clone(),
            ledger: wish.suite.join("ledger").join(format!("{column}.yaml")),
            is_new: known.is_none(),
            clause,
            column,
            needs,
        })
    }

    fn is_ledger(&self, path: &Path) -> bool {
        path == self.ledger
    }

    fn files(&self, suite: &Suite, wish: &New) -> Result<Vec<(PathBuf, String)>, Failure> {
        let case = wish.suite.join("cases").join(self.column.as_str()).join(format!("{}.yaml", self.id));
        let folder = variant_folder(&wish.suite, "faulty", ProfileName::Runtime);
        let folder = folder.unwrap_or_else(|| wish.suite.join("faulty"));
        let variant = folder.join(format!("{}.yaml", self.variant));
        let mut files = vec![(case, self.case()), (variant, self.variant(suite, wish)?)];
        if self.is_new {
            let before =
                files::read(&self.ledger, LONGEST).map_err(|error| Failure::new(ExitStatus::NoInput, error))?;
            let before = String::from_utf8_lossy(&before).into_owned();
            files.push((self.ledger.clone(), format!("{}\n\n{}", before.trim_end(), self.row())));
        }
        Ok(files)
    }

    fn case(&self) -> String {
        format!(
            "id: {}\nclause: {}\ntitle: '{FILL_IN}: one sentence that is true of a runtime that keeps the clause.'\n\
             needs: [{}]\ndraw:\n  p: {{phase: [discovery, design, implementation, submit]}}\nphases:\n  $p:\n    - [exit: 0]\n\
             steps:\n  - run: {{}}\nexpect:\n  - starts: {{phase: $p, count: 1}}\n",
            self.id,
            self.clause,
            self.needs.join(", ")
        )
    }

    fn variant(&self, suite: &Suite, wish: &New) -> Result<String, Failure> {
        if !suite.bundled().any(|name| name == wish.base) {
            let failure = Failure::new(ExitStatus::NoInput, format!("there is no bundled runtime `{}`", wish.base));
            let bundled: Vec<&str> = suite.bundled().collect();
            return Err(failure.hint(format!("bundled are {}", bundled.join(", "))));
        }
        Ok(format!(
            "variant: {}\nbase: {}\nabout: '{FILL_IN}: what is broken, in one sentence.'\nchange:\n  - file: runtime.sh\n\
             \x20   find: '{FILL_IN}: what stands in the file exactly once'\n    replace: '{FILL_IN}'\n\
             kills: {{ case: {}, reason: started-too-often }}\n",
            self.variant, wish.base, self.id
        ))
    }

    fn row(&self) -> String {
        format!(
            "- id: {}\n  column: {}\n  level: EXT\n  source: [gap]\n  sections: [{FILL_IN}]\n\
             \x20 text: '{FILL_IN}: one sentence about the runtime that can be true or false of it.'\n\
             \x20 presupposes: [{}]\n  how: '{FILL_IN}: how it is judged, and what that leaves open.'\n",
            self.clause,
            self.column,
            self.needs.join(", ")
        )
    }

    /// What its author has to do, and no scaffold can.
    fn left(&self, suite: &Suite) -> Vec<String> {
        let mut left = vec![format!(
            "replace every `{FILL_IN}`; `loa-conform lint --suite {}` names the files",
            self.suite.display()
        )];
        let untested = |clause: &Clause| clause.untested.is_some();
        if suite.clause(&self.clause).is_some_and(untested) {
            left.push(format!("in {} replace `untested` of {} by `how`", self.ledger.display(), self.clause));
        }
        if suite.clause(&self.clause).is_some_and(|clause| clause.level == Level::Must) || self.is_new {
            left.push(format!("watch it die: `loa-conform variants {} --suite …`", self.variant));
        }
        left
    }
}

/// The column of a clause that is not there yet: that of its family, whose next free number it must have.
fn column_of_new(suite: &Suite, clause: &str) -> Result<Column, Failure> {
    let unknown = || Failure::new(ExitStatus::NoInput, format!("the ledger has no clause {clause}"));
    let family = |id: &str| id.split_once('-').map(|(family, _)| family.to_owned());
    let kin: Vec<&Clause> = suite.clauses.iter().filter(|it| family(&it.id) == family(clause)).collect();
    let number = |id: &str| id.split_once('-').and_then(|(_, number)| number.parse::<u32>().ok());
    let last = kin.iter().filter_map(|it| number(&it.id)).max();
    match (kin.first(), last, family(clause)) {
        (Some(first), Some(last), _) if number(clause) == Some(last + 1) => Ok(first.column),
        (Some(_), Some(last), Some(family)) => {
            Err(unknown().hint(format!("the next free number is {family}-{:03}", last + 1)))
        }
        _ => Err(match closest(clause, suite.clauses.iter().map(|it| it.id.as_str())) {
            Some(similar) => unknown().hint(format!("did you mean {similar}?")),
            None => unknown().hint("`loa-conform ledger` prints every clause"),
        }),
    }
}
