//! The pages in `reports/coverage/` name only places and tests that are there.

use std::fs;
use std::path::Path;

use regex::Regex;

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What a page names that is not there.
fn missing(page: &str) -> Vec<String> {
    let quoted = Regex::new("`([^`]+)`").expect("a pattern");
    let named = quoted.captures_iter(page).map(|found| found.get(1).expect("a group").as_str().to_owned());
    named
        .filter(|name| name.starts_with("src/") || name.starts_with("contract-tests/"))
        .filter(|name| !is_there(name))
        .collect()
}

/// Whether there is such a path, or such a function that is a test in it.
fn is_there(name: &str) -> bool {
    let (path, test) = name.split_once("::").map_or((name, None), |(path, test)| (path, Some(test)));
    let path = top().join(path);
    match test {
        None => path.exists(),
        Some(test) => {
            let source = fs::read_to_string(path).unwrap_or_default();
            source.contains(&format!("#[test]\nfn {test}()")) || source.contains(&format!("#[test]\n    fn {test}()"))
        }
    }
}

#[test]
fn every_place_and_every_test_that_a_page_names_is_there() {
    let pages = fs::read_dir(top().join("reports/coverage")).expect("a folder");
    for page in pages.map(|page| page.expect("listed").path()) {
        let text = fs::read_to_string(&page).expect("a page");
        assert!(text.matches("::").count() > 10, "{}: it shows nothing", page.display());
        assert_eq!(missing(&text), Vec::<String>::new(), "{}", page.display());
        // A row that shows nothing says so.
        let rows = text
            .lines()
            .filter(|line| line.starts_with("| ") && !line.starts_with("| name") && !line.starts_with("| there"));
        let bare: Vec<&str> = rows.filter(|row| !row.contains("::") && !row.contains("| – | – | ")).collect();
        assert_eq!(bare, Vec::<&str>::new(), "{}", page.display());
    }
}

#[test]
fn what_is_not_there_is_found() {
    let page = "`src/lib.rs` `src/nowhere.rs` `contract-tests/coverage.rs::what_is_not_there_is_found` \
                `contract-tests/coverage.rs::is_there` `contract-tests/coverage.rs::nobody` `elsewhere/x.rs`";
    let expected = ["src/nowhere.rs", "contract-tests/coverage.rs::is_there", "contract-tests/coverage.rs::nobody"];
    assert_eq!(missing(page), expected);
}
