//! The committed schemas are what the types say.

use std::fs;

use super::{files, root};

#[test]
fn the_committed_schemas_are_what_is_generated() {
    let folder = root().join("schemas");
    let bless = std::env::var_os("LOA_BLESS").is_some();
    for kind in loa::cli::kinds() {
        let path = folder.join(format!("{}.schema.json", kind.name()));
        let generated = kind.schema_file();
        if bless {
            fs::write(&path, &generated).expect("the schema can be written");
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == generated,
            "{path} is not what the types say; `LOA_BLESS=1 cargo test --test contract schemas` writes it:\n{}",
            similar::TextDiff::from_lines(committed.as_str(), generated.as_str()).unified_diff()
        );
    }
}

#[test]
fn no_schema_is_left_of_a_kind_that_is_gone() {
    let names: Vec<String> = loa::cli::kinds().iter().map(|kind| format!("{}.schema.json", kind.name())).collect();
    for file in files(&root().join("schemas")) {
        let name = file.file_name().expect("a file");
        assert!(name == "README.md" || names.iter().any(|kind| kind == name), "{file} belongs to no kind");
    }
}

#[test]
fn every_schema_is_complete_and_its_examples_pass_it() {
    for kind in loa::cli::kinds() {
        let (name, schema) = (kind.name(), kind.schema());
        jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        for key in ["$schema", "$id", "title", "description"] {
            assert!(schema[key].as_str().is_some_and(|text| !text.is_empty()), "{name} has no {key}");
        }
        let validator = jsonschema::options().should_validate_formats(true).build(&schema).expect("it compiles");
        let examples = schema["examples"].as_array().expect("examples");
        assert!(!examples.is_empty(), "{name} has no example");
        for example in examples {
            assert!(validator.is_valid(example), "{name}: {example}");
        }
    }
}
