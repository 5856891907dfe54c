//! What must not be written down: secrets of known shapes, and the values of variables that the configuration names.
//!
//! The contract is silent about secrets. A stage prints what it likes, and what it prints ends in logs, summaries and
//! reports that people pass on. Only what looks like a secret by its prefix or its surroundings is taken out: a commit's
//! hash or a UUID is as random, and is needed.

use std::fmt;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::{Captures, Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// The shortest value of a named variable that is taken out: `1` or `true` would be found everywhere.
const SHORTEST_VALUE: usize = 6;
/// The shortest run of characters that a shape consists of.
const SHORTEST_RUN: usize = 16;
/// The most bytes of a line that are held until its end is seen; a longer line is cut between two words.
const LONGEST_LINE: usize = 64 * 1024;
/// The most bytes of one word that are kept together at such a cut, so the longest secret that is found there.
const LONGEST_SECRET: usize = 8 * 1024;

/// A kind of secret, and the shape that it is known by.
struct Shape {
    name: &'static str,
    pattern: &'static str,
    /// Words of a language have the shape too; a secret has a digit in it.
    needs_digit: bool,
}

const fn shape(name: &'static str, pattern: &'static str) -> Shape {
    Shape { name, pattern, needs_digit: false }
}

/// Group 1 of each is what stays before the secret, such as `Bearer `, and group 2 what stays behind it. Behind the name of a
/// password, a variable, a placeholder and what was taken out already are no secrets.
const SHAPES: &[Shape] = &[
    Shape { name: "api-key", pattern: r"\b()sk-[A-Za-z0-9_-]{16,}", needs_digit: true },
    shape("github-token", r"\b()(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})"),
    shape("gitlab-token", r"\b()glpat-[A-Za-z0-9_-]{20,}"),
    shape("aws-key", r"\b()(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    shape("google-key", r"\b()AIza[A-Za-z0-9_-]{35}"),
    shape("slack-token", r"\b()xox[abeoprs]-[A-Za-z0-9-]{16,}"),
    shape("npm-token", r"\b()npm_[A-Za-z0-9]{36}"),
    shape("jwt", r"\b()eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    shape("password", r#"(?i)((?:password|passwd)=["']?)[^\s"'$<>{}\[\]()*,;&]{6,}"#),
    shape("secret-key", r#"(?i)(secret_access_key["']?\s*[=:]\s*["']?)[A-Za-z0-9/+=]{16,}"#),
    shape("password", r"\b([A-Za-z][A-Za-z0-9+.-]*://[^\s:/@]*:)[^\s/@\[$][^\s/@]*(@)"),
    Shape { name: "bearer", pattern: r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/-]{16,}=*", needs_digit: true },
    shape("private-key", r"()-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)"),
];

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    // Bytes of any encoding, or of none.
    let compiled = |shape: &Shape| RegexBuilder::new(shape.pattern).unicode(false).build().expect(CONSTANT);
    SHAPES.iter().map(compiled).collect()
});

/// Whether any shape is there, in one pass.
static ANY: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSetBuilder::new(SHAPES.iter().map(|shape| shape.pattern)).unicode(false).build().expect(CONSTANT)
});

const CONSTANT: &str = "the shapes are constants that the tests compile";

/// Knows what to take out.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redactor {
    /// Names and values, the longest value first: one may be a part of another.
    named: Vec<(String, Vec<u8>)>,
}

/// Shows names only: the values are the secrets.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.named.iter().map(|(name, _)| name)).finish()
    }
}

impl Redactor {
    /// Takes out the known shapes and these values, whose names stand in their place. A value of several lines is taken
    /// out line by line; what is shorter than six bytes is left.
    #[must_use]
    pub fn new<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let lines = variables.into_iter().flat_map(|(name, value)| value.lines().map(move |line| (name, line.trim())));
        let long = lines.filter(|(_, line)| line.len() >= SHORTEST_VALUE);
        let mut named: Vec<_> = long.map(|(name, line)| (name.to_owned(), line.as_bytes().to_vec())).collect();
        named.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Self { named }
    }

    /// The text without its secrets.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut stream = RedactedStream::default();
        let mut bytes = stream.push(self, text.as_bytes());
        bytes.extend(stream.finish(self));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether whole lines may go as they are, which most do; `false` says nothing.
    fn has_nothing_to_do_with(&self, lines: &[u8]) -> bool {
        let named = self.named.iter().any(|(_, value)| find(lines, value).is_some());
        !named && !may_hold_a_shape(lines)
    }

    fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let mut bytes = bytes;
        for (name, value) in &self.named {
            bytes = replaced(bytes, value, format!("[REDACTED:${name}]").as_bytes());
        }
        if !may_hold_a_shape(&bytes) || !ANY.is_match(&bytes) {
            return bytes;
        }
        for (shape, pattern) in SHAPES.iter().zip(PATTERNS.iter()) {
            let word = |found: &Captures<'_>| {
                let spared = shape.needs_digit && !found[0].iter().any(u8::is_ascii_digit);
                if spared {
                    found[0].to_vec()
                } else {
                    let behind = found.get(2).map_or(&b""[..], |behind| behind.as_bytes());
                    [&found[1], format!("[REDACTED:{}]", shape.name).as_bytes(), behind].concat()
                }
            };
            if let std::borrow::Cow::Owned(without) = pattern.replace_all(&bytes, word) {
                bytes = without;
            }
        }
        bytes
    }
}

/// A stream whose secrets are taken out as it passes, wherever its pieces are cut.
#[derive(Debug, Default)]
pub struct RedactedStream {
    held: Vec<u8>,
    /// Lines of a private key's text follow.
    in_key: bool,
}

impl RedactedStream {
    /// Takes in the next piece and gives out what is safe to write: whole lines, and of an endless one what is long past.
    pub fn push(&mut self, redactor: &Redactor, piece: &[u8]) -> Vec<u8> {
        let begun = self.held.len();
        self.held.extend_from_slice(piece);
        let whole = piece.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| begun + end + 1);
        let rest = self.held.split_off(whole);
        let lines = std::mem::replace(&mut self.held, rest);
        let mut safe = self.lines(redactor, lines);
        if self.held.len() > LONGEST_LINE {
            let rest = self.held.split_off(cut(&self.held));
            let begun = std::mem::replace(&mut self.held, rest);
            safe.extend(self.line(redactor, &begun));
        }
        safe
    }

    /// The stream is over: gives out the rest.
    pub fn finish(&mut self, redactor: &Redactor) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        self.line(redactor, &rest)
    }

    fn lines(&mut self, redactor: &Redactor, lines: Vec<u8>) -> Vec<u8> {
        if !self.in_key && redactor.has_nothing_to_do_with(&lines) {
            return lines;
        }
        let mut safe = Vec::with_capacity(lines.len());
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            safe.extend(self.line(redactor, line));
        }
        safe
    }

    fn line(&mut self, redactor: &Redactor, line: &[u8]) -> Vec<u8> {
        if self.in_key {
            if is_of_a_key(line) {
                return Vec::new();
            }
            self.in_key = false;
            if let Some(end) = after_key(line) {
                return redactor.bytes(line[end..].to_vec());
            }
        }
        self.in_key = ends_in_a_key(line);
        let mut bytes = redactor.bytes(line.to_vec());
        if self.in_key && line.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        bytes
    }
}

/// Where to cut a line that is too long: behind its last word, unless that is longer than a secret may be.
fn cut(line: &[u8]) -> usize {
    let earliest = line.len() - LONGEST_SECRET;
    let boundary = line[earliest..].iter().rposition(|byte| !is_of_a_word(*byte));
    boundary.map_or(earliest, |at| earliest + at)
}

fn is_of_a_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.~+/=".contains(&byte)
}

/// Every shape has a long run of such characters, is a private key, or is a password by what stands beside it. Most lines have
/// nothing of that, and cost one look.
fn may_hold_a_shape(bytes: &[u8]) -> bool {
    let mut run = 0;
    for byte in bytes {
        run = if is_of_a_word(*byte) { run + 1 } else { 0 };
        if run >= SHORTEST_RUN {
            return true;
        }
    }
    find(bytes, b"PRIVATE KEY-----").is_some() || may_hold_a_password(bytes)
}

/// Whether there is an address with a name in it, or a word that ends like that of a password, before a value.
fn may_hold_a_password(bytes: &[u8]) -> bool {
    let in_address = || memchr::memchr(b'@', bytes).is_some() && find(bytes, b"://").is_some();
    let ends = |before: &[u8], word: &[u8]| {
        before.len() >= word.len() && before[before.len() - word.len()..].eq_ignore_ascii_case(word)
    };
    let is_named = |at: usize| ends(&bytes[..at], b"password") || ends(&bytes[..at], b"passwd");
    let named = || memchr::memchr_iter(b'=', bytes).any(is_named);
    in_address() || named()
}

fn ends_in_a_key(line: &[u8]) -> bool {
    let begin = find(line, b"-----BEGIN ").filter(|at| find(&line[*at..], b"PRIVATE KEY-----").is_some());
    begin.is_some_and(|at| find(&line[at..], b"-----END ").is_none())
}

/// Whether a line within a private key belongs to it: letters and digits of base 64, a header, or nothing.
fn is_of_a_key(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let header = [&b"Proc-Type:"[..], b"DEK-Info:"].iter().any(|name| line.starts_with(name));
    header || line.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte))
}

fn after_key(line: &[u8]) -> Option<usize> {
    let end = find(line, b"-----END ")?;
    let behind = find(&line[end..], b"PRIVATE KEY-----")?;
    Some(end + behind + b"PRIVATE KEY-----".len())
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    memmem::find(bytes, what)
}

fn replaced(bytes: Vec<u8>, what: &[u8], with: &[u8]) -> Vec<u8> {
    if find(&bytes, what).is_none() {
        return bytes;
    }
    let (mut rest, mut result) = (&bytes[..], Vec::with_capacity(bytes.len()));
    while let Some(at) = find(rest, what) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(with);
        rest = &rest[at + what.len()..];
    }
    result.extend_from_slice(rest);
    result
}

#[cfg(test)]
mod tests;
