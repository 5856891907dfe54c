//! The page of a report in a real browser: filter, drill-down, keyboard, both colour schemes, a phone's width; nothing on the
//! console, and no request but the file's own.

mod browser;

use std::io::Write as _;
use std::path::Path;

use assert_cmd::Command;
use browser::{Browser, ENTER, ESCAPE, TAB};
use serde_json::{Value, json};

const REPORT: &str = "fixtures/documents/conformance-report/valid/with-timelines.json";

/// The clauses that are in sight of the filter.
const SHOWN: &str =
    "return [...document.querySelectorAll('details.clause:not([hidden]) .id')].map((it) => it.textContent)";

#[test]
fn a_person_can_use_the_page() {
    let Some(browser) = Browser::start() else {
        // Past the harness, which keeps what a test that passes prints: nobody must take silence for a pass.
        let word = "skipped: no chromium with its chromedriver is there, so nobody has looked at the page\n";
        std::io::stderr().write_all(word.as_bytes()).expect("standard error is there");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("report.html");
    written(&page);
    let url = format!("file://{}", page.display());
    browser.open(&url);
    it_filters(&browser);
    what_it_found_is_shown_and_can_be_sent(&browser, &url);
    it_opens_down_to_the_evidence(&browser);
    it_is_readable_everywhere(&browser);
    it_keeps_to_itself(&browser, &url);
}

fn written(page: &Path) {
    let report = Path::new(env!("CARGO_MANIFEST_DIR")).join(REPORT);
    let mut command = Command::new(env!("CARGO_BIN_EXE_loa-conform"));
    command.arg("report").arg(report).args(["--format", "html", "--out"]).arg(page).assert().success();
}

fn it_filters(browser: &Browser) {
    let shown = || browser.run(SHOWN);
    let everything = json!(["EXIT-001", "EXIT-003", "CKPT-010"]);
    assert_eq!(shown(), everything);
    browser.press("/");
    assert_eq!(browser.run("return document.activeElement.id"), "search");
    browser.press("started TWICE");
    assert_eq!(shown(), json!(["EXIT-003"]), "every word, in whatever case, also in the evidence");
    assert_eq!(browser.run("return document.getElementById('shown').textContent"), "1 of 3 clauses");
    browser.press(ESCAPE);
    assert_eq!(shown(), everything);
    browser.click("#filter .chip:has([value=untested])");
    assert_eq!(shown(), json!(["CKPT-010"]));
    browser.click("#filter .chip:has([value=fail])");
    assert_eq!(shown(), json!(["EXIT-003", "CKPT-010"]), "either outcome");
    browser.click("#level option[value=MUST]");
    assert_eq!(shown(), json!(["EXIT-003"]), "and the level");
    browser.click("#filter button[type=reset]");
    browser.click("#column option[value=checkpoints]");
    assert_eq!(shown(), json!(["CKPT-010"]));
    browser.press(ESCAPE);
    // With the focus on a choice too, nothing is left of the filter.
    assert_eq!(shown(), everything);
    browser.press("/");
    browser.press("no such words");
    assert_eq!(browser.run("return document.getElementById('nothing').checkVisibility()"), true);
    browser.press(ESCAPE);
}

/// What is found is in sight, however far down it stands, and the address leads others to the same.
fn what_it_found_is_shown_and_can_be_sent(browser: &Browser, url: &str) {
    // As low as on a page of many candidates.
    browser.run("document.querySelector('main').style.paddingTop = '3000px'; scrollTo(0, 0)");
    browser.press("/");
    browser.press("ckpt-010");
    let below = "const it = document.querySelector('details.clause:not([hidden])').getBoundingClientRect();
                 const filter = document.getElementById('filter').getBoundingClientRect();
                 return it.top >= filter.bottom && it.bottom <= innerHeight";
    assert_eq!(browser.run(below), true, "the first hit is in sight, below the filter");
    browser.click("#level option[value=SHOULD]");
    let address = browser.run("return location.hash");
    assert_eq!(address, "#?q=ckpt-010&level=SHOULD");
    browser.press(ESCAPE);
    assert_eq!(browser.run("return location.hash"), "");
    browser.open("about:blank");
    browser.open(&format!("{url}#?q=started+TWICE&outcome=fail"));
    assert_eq!(browser.run(SHOWN), json!(["EXIT-003"]));
    assert_eq!(browser.run("return document.querySelector('[value=fail]').checked"), true);
    browser.open(&format!("{url}#?level=MAY"));
    assert_eq!(browser.run(SHOWN), json!([]), "also where the page is open already");
    browser.open("about:blank");
    browser.open(url);
}

fn it_opens_down_to_the_evidence(browser: &Browser) {
    let visible =
        |selector: &str| browser.run(&format!("return document.querySelector('{selector}').checkVisibility()"));
    let evidence = "[data-o~=fail] dl.check.bad";
    assert_eq!(visible(evidence), false);
    browser.click("a.cell[href=\"#runtime-mine-exit-codes\"]");
    let opened = browser.waits_for("document.querySelector('[data-o~=fail] summary').checkVisibility()");
    assert!(opened, "the matrix leads to the column and opens it");
    browser.run("document.querySelector('#runtime-mine-exit-codes > summary').focus()");
    browser.press(TAB);
    browser.press(TAB);
    assert_eq!(browser.run("return document.activeElement.querySelector('.id').textContent"), "EXIT-003");
    let outline = "return getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(browser.run(outline), "solid", "the focus is in sight");
    browser.press(ENTER);
    assert_eq!(visible(evidence), true);
    let height = "return document.querySelector('[data-o~=fail] svg.timeline').getBoundingClientRect().height";
    assert!(browser.run(height).as_f64().is_some_and(|height| height > 100.0), "the timeline is drawn");
    browser.press(ENTER);
    assert_eq!(visible(evidence), false);
    browser.run("document.activeElement.blur()");
    browser.press("n");
    assert_eq!(visible(evidence), true, "n goes to the next red and opens it");
}

fn it_is_readable_everywhere(browser: &Browser) {
    let paper = |scheme: &str| {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        browser.command("Emulation.setEmulatedMedia", &features);
        browser.run("return getComputedStyle(document.body).backgroundColor")
    };
    assert_eq!(paper("light"), "rgb(255, 255, 255)");
    assert_eq!(paper("dark"), "rgb(13, 17, 23)");
    let phone = json!({"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": true});
    browser.command("Emulation.setDeviceMetricsOverride", &phone);
    assert_eq!(browser.run("return document.documentElement.scrollWidth"), 390, "nothing pushes the page wider");
    browser.command("Emulation.clearDeviceMetricsOverride", &json!({}));
}

fn it_keeps_to_itself(browser: &Browser, url: &str) {
    assert_eq!(browser.run("return window.pwned ?? null"), Value::Null, "the words of a runtime were executed");
    assert_eq!(browser.log("browser"), Vec::<Value>::new(), "something stands on the console");
    let mut asked = Vec::new();
    for entry in browser.log("performance") {
        let entry: Value = serde_json::from_str(entry["message"].as_str().expect("a text")).expect("JSON");
        let parameters = &entry["message"]["params"];
        // The browser's own first page asks for much before ours is opened.
        let ours = parameters["documentURL"].as_str().is_some_and(|document| document.starts_with(url));
        if ours && entry["message"]["method"] == "Network.requestWillBeSent" {
            asked.extend(parameters["request"]["url"].as_str().map(str::to_owned));
        }
    }
    assert!(asked.iter().any(|it| it == url), "the log knows of the page itself: {asked:?}");
    let strangers: Vec<&String> =
        asked.iter().filter(|it| it.split('#').next() != Some(url) && !it.starts_with("data:")).collect();
    assert!(strangers.is_empty(), "{strangers:?}");
}
