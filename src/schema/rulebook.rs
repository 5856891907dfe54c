//! The words for every rule that reading a document and checking it against its schema can break, and those of the
//! contract's kinds: each with its reason, its remedy and an example.

use super::artifacts::ARTIFACT_LIES;
use super::{Example, Explanation, contract_kinds};

/// The rules of this module, in the order in which `loa-validate rules` shows them: reading, schema, lint.
#[must_use]
pub fn schema_rules() -> Vec<Explanation> {
    let mut rules: Vec<Explanation> = READING.iter().chain(SCHEMA).chain(LENIENT).copied().collect();
    for kind in contract_kinds() {
        rules.extend(kind.explanations());
    }
    rules.push(ARTIFACT_LIES);
    let mut seen = std::collections::HashSet::new();
    rules.retain(|rule| seen.insert(rule.id));
    rules
}

/// An example among the results of a phase, our own smallest format.
const fn result(wrong: &'static str, right: &'static str) -> Example {
    Example { kind: "phase-result", path: "result.yaml", wrong, right }
}

const READING: &[Explanation] = &[
    Explanation {
        id: "empty",
        about: "the file holds a document",
        why: "An empty checkpoint is what a writer leaves that died between opening the file and writing it.",
        mend: "Remove the file, or write the document.",
        example: Some(result("# nothing\n", "summary: Done\n")),
    },
    Explanation {
        id: "syntax",
        about: "the file is YAML 1.2, JSON, or JSON lines, as its kind and its extension say",
        why: "What a reader cannot parse it cannot resume from.",
        mend: "Mend the text at the place that is shown; the cause often stands a line above it.",
        example: Some(result("summary: \"Done\n", "summary: \"Done\"\n")),
    },
    Explanation {
        id: "encoding",
        about: "the file is UTF-8",
        why: "Readers guess otherwise, and guess differently.",
        mend: "Save the file as UTF-8.",
        example: None,
    },
    Explanation {
        id: "binary",
        about: "the file is a text",
        why: "Probably another file was meant.",
        mend: "Check the name of the file.",
        example: None,
    },
    Explanation {
        id: "control-character",
        about: "no control characters but tab and line ends stand in the file",
        why: "YAML forbids them; terminals obey them, so a document could change what its reader sees.",
        mend: "Remove the character, or write it as an escape inside double quotes.",
        example: Some(result("summary: Do\u{7}ne\n", "summary: \"Do\\ane\"\n")),
    },
    Explanation {
        id: "duplicate-key",
        about: "no key stands twice in a mapping",
        why: "Some readers take the first, some the last: two programs then act on two different documents.",
        mend: "Keep one of the two.",
        example: Some(result("summary: a\nsummary: b\n", "summary: a\n")),
    },
    Explanation {
        id: "many-documents",
        about: "a YAML file holds one document",
        why: "Readers that expect one take the first and drop the rest without a word.",
        mend: "Put each document into its own file, or remove the `---` line.",
        example: Some(result("summary: a\n---\nsummary: b\n", "---\nsummary: a\n")),
    },
    Explanation {
        id: "merge-key",
        about: "no `<<` merges one mapping into another",
        why: "`<<` merges in YAML 1.1 and is a plain key in YAML 1.2, so two readers see two documents.",
        mend: "Write the merged keys out.",
        example: Some(result("<<: {summary: a}\n", "summary: a\n")),
    },
    Explanation {
        id: "complex-key",
        about: "every key is a plain text",
        why: "JSON and the contract know no other keys.",
        mend: "Put quotes around the key, or write the value as a list.",
        example: Some(result("outputs:\n  [a, b]: 1\n", "outputs:\n  \"[a, b]\": 1\n")),
    },
    Explanation {
        id: "tag",
        about: "no tag stands there but those of YAML's core schema that agree with their value",
        why: "Tags ask a reader to build an object of its own; that is how YAML files come to run programs.",
        mend: "Remove the tag.",
        example: Some(result("summary: !shout Done\n", "summary: Done\n")),
    },
    Explanation {
        id: "alias",
        about: "no alias repeats a value that it stands in itself",
        why: "Such a document has no end.",
        mend: "Write the value out.",
        example: Some(result("outputs: &a {again: *a}\n", "outputs: {again: {}}\n")),
    },
    Explanation {
        id: "budget",
        about: "the document stays below the limits of depth, values, bytes and aliases",
        why: "A few hundred bytes of YAML can ask for gigabytes of memory. The limits let a checkpoint of 5 MB with 40,000 \
              artifacts pass.",
        mend: "If the document is meant to be so, raise the limit that is named: `--limit depth=128`.",
        example: Some(result(
            "outputs: {a: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\
             ]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}\n",
            "outputs: {a: [[[[]]]]}\n",
        )),
    },
    Explanation {
        id: "too-many",
        about: "the file has no more findings than anybody wants to read",
        why: "A file that is wrong all over must not cost more than a good one.",
        mend: "Mend the first ones, and check again.",
        example: None,
    },
];

const SCHEMA: &[Explanation] = &[
    Explanation {
        id: "required",
        about: "every key that the format asks for is there",
        why: "The contract's five keys are all that a runtime has to decide by.",
        mend: "Add the key; look for a misspelt one first.",
        example: Some(result(
            "findings:\n  - {severity: low, category: style, description: a}\n",
            "findings:\n  - {id: F-1, severity: low, category: style, description: a}\n",
        )),
    },
    Explanation {
        id: "unknown-key",
        about: "no key stands there that the format does not have",
        why: "In formats of our own a key that nobody reads is an error, because it is nearly always a slip. In the \
              contract's documents it is tolerated, and a warning under `--strict`.",
        mend: "Mend the spelling, or remove the key.",
        example: Some(result("sumary: Done\n", "summary: Done\n")),
    },
    Explanation {
        id: "type",
        about: "every value has the type that is asked for; null is no value",
        why: "`\"0\"` is a text and not a success, and `execution_id: 20260131` is a number that YAML readers print in \
              different ways.",
        mend: "Add or remove quotes; leave a key without value out. `--fix` does the quotes.",
        example: Some(result("summary: 5\n", "summary: \"5\"\n")),
    },
    Explanation {
        id: "enum",
        about: "a value that has a vocabulary is one of its words",
        why: "Nobody can act on a word that the contract does not have, such as the phase `quality`.",
        mend: "Take one of the words that are listed. `--fix` mends capitals, `--lenient` takes Loa's other names.",
        example: Some(result(
            "findings:\n  - {id: F-1, severity: bad, category: style, description: a}\n",
            "findings:\n  - {id: F-1, severity: high, category: style, description: a}\n",
        )),
    },
    Explanation {
        id: "format",
        about: "a time is a timestamp of RFC 3339 with its zone",
        why: "A time without zone, or with a blank for the `T`, is read as two different moments by two programs.",
        mend: "Write `2026-01-31T14:00:00Z`. `--fix` puts the `T` in.",
        example: Some(Example {
            kind: "operator-type",
            path: "operator-type.yaml",
            wrong: "operator_type: AI_OPERATOR\ndetected_at: yesterday\ndetection_method: tty\nconfidence: low\n",
            right: "operator_type: AI_OPERATOR\ndetected_at: \"2026-11-20T09:30:00Z\"\ndetection_method: tty\nconfidence: low\n",
        }),
    },
    Explanation {
        id: "range",
        about: "a number lies in its range",
        why: "A negative duration or a progress of 120 % is a defect of whoever counted.",
        mend: "Write a number in the range that is shown.",
        example: Some(result("metrics: {tokens_used: -1}\n", "metrics: {tokens_used: 1}\n")),
    },
    Explanation {
        id: "length",
        about: "a text or a list is neither too short nor too long",
        why: "An empty id identifies nothing, an empty command starts nothing.",
        mend: "Fill it in, or leave the key out.",
        example: Some(Example {
            kind: "plan",
            path: "plan.yaml",
            wrong: "phases: []\n",
            right: "phases:\n  - {id: design, command: make}\n",
        }),
    },
    Explanation {
        id: "pattern",
        about: "a text has the form that is asked for",
        why: "Ids are looked up by their form, such as `MEM-20261120-001`.",
        mend: "Write it in the form that is shown.",
        example: Some(Example {
            kind: "memory",
            path: "memory.yaml",
            wrong: "id: MEM-1\ncategory: fact\ncontent: a\nsource: {session_id: s, timestamp: \"2026-11-20T09:30:00Z\"}\n",
            right: "id: MEM-20261120-001\ncategory: fact\ncontent: a\n\
                    source: {session_id: s, timestamp: \"2026-11-20T09:30:00Z\"}\n",
        }),
    },
    Explanation {
        id: "schema",
        about: "the document passes the JSON Schema of its kind",
        why: "`loa-validate schema KIND` prints it; this rule stands for the keywords that have no rule of their own.",
        mend: "Do what the message asks.",
        example: None,
    },
    Explanation {
        id: "unknown-kind",
        about: "the kind of a file can be told from its path or its keys",
        why: "A file that nobody can assign is checked by nothing, and would count as valid.",
        mend: "Name the kind: `loa-validate KIND FILE`; `loa-validate list` shows the kinds.",
        example: None,
    },
];

const LENIENT: &[Explanation] = &[
    Explanation {
        id: "phase-alias",
        about: "a phase has the contract's name; with `--lenient` Loa's other names are taken",
        why: "Loa's own texts say quality and review for audit, deployment for deploy, architecture and planning for \
              design. A runtime that keeps to the contract knows none of them.",
        mend: "Write the contract's word; `--lenient --fix` does it.",
        example: None,
    },
    Explanation {
        id: "word-case",
        about: "the contract's words are in small letters; with `--lenient` capitals are taken",
        why: "Loa's templates write severities in capitals, the contract in small letters.",
        mend: "Write the word as the contract does; `--fix` does it.",
        example: None,
    },
    Explanation {
        id: "time-without-zone",
        about: "a time has a zone; with `--lenient` one without is taken",
        why: "Without a zone nobody knows which moment is meant.",
        mend: "Add the zone, such as `Z`.",
        example: None,
    },
];
