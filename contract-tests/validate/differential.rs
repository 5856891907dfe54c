//! Our reader, our verdicts and our types against others': each answers the same question by another way.

use std::collections::BTreeMap;
use std::fs;

use boon::{Compiler, SchemaIndex, Schemas};
use camino::Utf8Path;
use loa::diag::{Budget, Diagnostic, Document, Format};
use loa::schema::{Checker, Kind};
use serde_json::Value;
use serde_yaml::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};

use super::invariants::read_as;
use super::verdicts::documents;
use super::{files, root};

/// Codes of what the schema says, as opposed to the rules beyond it.
const BY_SCHEMA: [&str; 9] =
    ["type", "enum", "format", "range", "length", "pattern", "required", "unknown-key", "schema"];

/// A schema compiled by the other library.
struct Other {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Other {
    fn new(kind: &Kind) -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.enable_format_assertions();
        compiler.add_resource("kind.json", kind.schema()).expect("a schema");
        let index = compiler.compile("kind.json", &mut schemas).expect("it compiles");
        Self { schemas, index }
    }
}

/// One kind, made ready by both.
fn both() -> BTreeMap<&'static str, (Checker, Other)> {
    loa::cli::kinds().iter().map(|kind| (kind.name(), (Checker::new(kind), Other::new(kind)))).collect()
}

fn by_schema(checker: &Checker, text: &str, path: &str) -> Vec<Diagnostic> {
    let mut findings = checker.check(text.as_bytes(), Utf8Path::new(path), &Budget::default());
    findings.retain(|finding| BY_SCHEMA.contains(&finding.code));
    findings
}

#[test]
fn the_table_holds_four_hundred_documents_and_as_many_of_either_verdict_as_matter() {
    let all = documents();
    let invalid = all.iter().filter(|document| !document.valid).count();
    assert!(all.len() >= 400, "{} documents", all.len());
    assert!(invalid >= 300 && all.len() - invalid >= 100, "{invalid} of {} are invalid", all.len());
    let mut names: Vec<&String> = all.iter().map(|document| &document.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all.len(), "no document stands there twice");
}

#[test]
fn ours_and_another_library_give_every_document_the_verdict_of_the_table() {
    let both = both();
    let mut wrong = Vec::new();
    for document in documents() {
        let (checker, other) = &both[document.kind.name()];
        let in_json = by_schema(checker, &format!("{:#}", document.value), "a.json");
        let mut verdicts = vec![
            ("ours in JSON", in_json.is_empty()),
            ("boon", other.schemas.validate(&document.value, other.index).is_ok()),
        ];
        if document.kind.format_of(Utf8Path::new("a.yaml")) == Format::Yaml {
            let yaml = serde_yaml::to_string(&document.value).expect("YAML");
            verdicts.push(("ours in YAML", by_schema(checker, &yaml, "a.yaml").is_empty()));
        }
        for (who, accepts) in verdicts.into_iter().filter(|(_, accepts)| *accepts != document.valid) {
            wrong.push(format!("{}: {who} says {accepts}, not {}", document.name, document.valid));
        }
        if in_json.len() > 1 {
            wrong.push(format!("{}: one thing is wrong, and {} are found: {in_json:#?}", document.name, in_json.len()));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn what_the_schema_accepts_the_type_reads_and_what_only_the_schema_refuses_is_known() {
    let mut known = String::new();
    let mut asked = 0;
    for document in documents() {
        // As the program does it: through our tree, in which 0.0 is the whole number that it is.
        let text = document.value.to_string();
        let tree = Document::read(text.as_bytes(), Format::Json, &Budget::default()).expect("JSON");
        let read = read_as(document.kind.name(), &tree.to_json()).is_ok();
        asked += 1;
        match (document.valid, read) {
            (true, false) => panic!("{}: valid, and not read", document.name),
            (false, true) => known.extend([&document.name, "\n"]),
            _ => {}
        }
    }
    assert!(asked >= 300, "{asked} documents");
    insta::assert_snapshot!("types-are-laxer", known);
}

/// What the other reader of YAML makes of a text, told to be as strict as it can.
fn theirs(text: &str) -> Result<Value, String> {
    let options = serde_yaml::options! {
        strict_booleans: true,
        merge_keys: MergeKeyPolicy::Error,
        duplicate_keys: DuplicateKeyPolicy::Error,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
        emit_comments: false,
        // How often a text may name what it said before is a matter of each reader's own bounds.
        budget: serde_yaml::budget! { enforce_alias_anchor_ratio: false },
    };
    serde_yaml::from_str_with_options(text, options).map_err(|error| error.to_string())
}

/// Every text of YAML that lies in this repository, by its name.
fn texts() -> Vec<(String, String)> {
    let mut folders = vec![root().join("fuzz/seeds/yaml"), root().join("contract-tests/ledger")];
    for kind in loa::cli::kinds() {
        let folder = root().join("fixtures/documents").join(kind.name());
        folders.extend(["valid", "invalid"].map(|sub| folder.join(sub)).into_iter().filter(|sub| sub.is_dir()));
    }
    for column in files(&root().join("contract-tests/cases")) {
        folders.push(column);
    }
    let files = folders.iter().flat_map(|folder| files(folder)).filter(|file| file.is_file());
    let is_yaml = |file: &Utf8Path| !matches!(file.extension(), Some("json" | "jsonl" | "md"));
    let files = files.filter(|file| is_yaml(file));
    let read = |file: camino::Utf8PathBuf| Some((file.to_string(), fs::read_to_string(&file).ok()?));
    files.filter_map(read).collect()
}

#[test]
fn ours_reads_what_serde_saphyr_reads_and_refuses_only_what_it_says_it_refuses() {
    /// What we refuse and it reads: two documents where one is asked for, tags that it drops, keys that are no texts, a
    /// mark too many, and control characters that are legal nowhere.
    const STRICTER: [&str; 8] =
        ["budget", "tag", "complex-key", "many-documents", "control-character", "encoding", "empty", "alias"];
    let (mut agreed, mut wrong) = (0, Vec::new());
    for (name, text) in texts() {
        let ours = Document::read(text.as_bytes(), Format::Yaml, &Budget::default());
        match (ours, theirs(&text)) {
            (Ok(ours), Ok(theirs)) if same(&ours.to_json(), &theirs) => agreed += 1,
            (Ok(ours), Ok(theirs)) => wrong.push(format!("{name}: {} and {theirs}", ours.to_json())),
            (Err(_), Err(_)) => agreed += 1,
            (Err(finding), Ok(_)) if STRICTER.contains(&finding.code) => {}
            (Err(finding), Ok(theirs)) => wrong.push(format!("{name}: {} and {theirs}", finding.message)),
            (Ok(ours), Err(theirs)) => wrong.push(format!("{name}: {} and {theirs}", ours.to_json())),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(agreed >= 250, "{agreed} texts were read alike");
}

/// Equal, a whole number being the same with and without its fraction.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => ours == theirs,
    }
}

#[test]
fn what_is_written_as_yaml_is_read_back_by_us_equal() {
    for document in documents() {
        let yaml = serde_yaml::to_string(&document.value).expect("YAML");
        let read = Document::read(yaml.as_bytes(), Format::Yaml, &Budget::default()).expect("our own YAML");
        assert!(same(&read.to_json(), &document.value), "{}:\n{yaml}", document.name);
    }
}
