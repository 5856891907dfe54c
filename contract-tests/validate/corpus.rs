//! The committed seeds and corpora of the fuzz targets, and all documents beside them, replayed without a fuzzer.

use std::fs;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::{files, invariants, root};

type Check = fn(&[u8]);

/// Says what the bytes were when the check fails.
fn held(name: &str, check: Check, bytes: &[u8]) {
    let held = std::panic::catch_unwind(|| check(bytes));
    assert!(held.is_ok(), "{name}: {:?}", String::from_utf8_lossy(bytes));
}

fn replay(target: &str, check: Check) {
    let folder = |name: &str| root().join("fuzz").join(name).join(target);
    let seeds = files(&folder("seeds"));
    assert!(seeds.len() >= 5, "{} seeds", seeds.len());
    // What a run of the fuzzer found worth keeping; nothing before the first.
    let found = folder("corpus");
    let found = if found.is_dir() { files(&found) } else { Vec::new() };
    for file in seeds.into_iter().chain(found) {
        held(file.as_str(), check, &fs::read(&file).expect("a readable seed"));
    }
}

#[test]
fn seeds_of_the_readers() {
    replay("yaml", invariants::yaml);
    replay("json", invariants::json);
    replay("json-lines", invariants::json_lines);
}

#[test]
fn seeds_of_the_kinds() {
    replay("kinds", invariants::kinds);
}

#[test]
fn every_document_through_every_reader_and_its_kind() {
    for kind in loa::cli::kinds() {
        let folder = root().join("fixtures/documents").join(kind.name());
        for file in [files(&folder.join("valid")), files(&folder.join("invalid"))].concat() {
            if file.is_dir() {
                continue;
            }
            let bytes = fs::read(&file).expect("a readable document");
            for check in [invariants::yaml, invariants::json, invariants::json_lines] {
                held(file.as_str(), check, &bytes);
            }
            held(file.as_str(), invariants::kinds, &[kind.name().as_bytes(), b"\n", &bytes].concat());
        }
    }
}

/// Pieces of text that lead readers astray.
const PIECES: [&str; 30] = [
    "\n",
    "\r",
    "\t",
    " ",
    "  ",
    "- ",
    ": ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a ",
    "*a",
    "!!int ",
    "! ",
    "|\n",
    ">-\n",
    "\"",
    "\\u",
    "'",
    "#",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "<<",
    "\u{feff}",
    "\u{85}",
    "null",
];

/// The bytes with something done to them.
fn shaken(bytes: &[u8], other: &[u8], draw: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..draw.usize(1..6) {
        let at = draw.usize(0..=bytes.len());
        let end = draw.usize(at..=bytes.len().min(at + 20));
        match draw.u8(0..6) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, PIECES[draw.usize(0..PIECES.len())].bytes())),
            2 => drop(bytes.splice(at..end, PIECES[draw.usize(0..PIECES.len())].bytes())),
            3 if at < bytes.len() => bytes[at] = draw.u8(..),
            4 => {
                let piece = bytes[at..end].repeat(draw.usize(1..30));
                drop(bytes.splice(at..at, piece));
            }
            _ => {
                let from = draw.usize(0..=other.len());
                drop(bytes.splice(at..end, other[from..].iter().copied().take(draw.usize(0..40))));
            }
        }
    }
    bytes
}

/// The seeds, shaken under a fixed seed, two thousand times; with `LOA_SHAKE_SECONDS` for so long and under another seed.
#[test]
fn shaken_seeds() {
    let seconds = std::env::var("LOA_SHAKE_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let limit = seconds.map(Duration::from_secs);
    let mut draw = if limit.is_some() { Rng::new() } else { Rng::with_seed(7) };
    let (begin, mut runs) = (Instant::now(), 0_u64);
    let targets: [(&str, Check); 4] = [
        ("yaml", invariants::yaml),
        ("json", invariants::json),
        ("json-lines", invariants::json_lines),
        ("kinds", invariants::kinds),
    ];
    let seeds = targets.map(|(name, check)| {
        let seeds = files(&root().join("fuzz/seeds").join(name)).into_iter();
        (name, check, seeds.map(|file| fs::read(file).expect("a readable seed")).collect::<Vec<_>>())
    });
    while limit.map_or(runs < 2_000, |limit| begin.elapsed() < limit) {
        let (name, check, seeds) = &seeds[draw.usize(0..seeds.len())];
        let (one, other) = (&seeds[draw.usize(0..seeds.len())], &seeds[draw.usize(0..seeds.len())]);
        let bytes = shaken(one, other, &mut draw);
        held(name, *check, &bytes);
        runs += 1;
    }
    if limit.is_some() {
        writeln!(io::stderr(), "{runs} runs in {} s", begin.elapsed().as_secs()).expect("standard error");
    }
}
