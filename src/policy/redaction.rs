//! What must not be written down: secrets of known shapes, and the values of variables that the configuration names.
//!
//! The contract is silent about secrets. A stage prints what it likes, and what it prints ends in logs, summaries and
//! reports that people pass on. Only what looks like a secret by its prefix or its surroundings is taken out: a commit's
//! hash or a UUID is as random, and is needed. It is a best effort: whoever wants to hide a secret finds a form that is not known.

use std::fmt;
use std::sync::Arc;

use memchr::memmem;

mod known;
mod shapes;

use known::{Found, Known};
use shapes::{has_key_id, is_of_a_word, may_hold_a_shape, without_shapes};

/// The shortest value of a named variable that is taken out: `1` or `true` would be found everywhere.
const SHORTEST_VALUE: usize = 6;
/// The most bytes of a line that are held until its end is seen; a longer line is cut between two words.
const LONGEST_LINE: usize = 64 * 1024;
/// The most bytes of one word that are kept together at such a cut, so the longest secret that is found there.
const LONGEST_SECRET: usize = 8 * 1024;

/// Knows what to take out.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Names and values, the longest value first: one may be a part of another.
    named: Vec<(String, Vec<u8>)>,
    /// The same values in all their forms.
    known: Option<Arc<Known>>,
}

impl PartialEq for Redactor {
    fn eq(&self, other: &Self) -> bool {
        self.named == other.named
    }
}

impl Eq for Redactor {}

/// Shows names only: the values are the secrets.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.named.iter().map(|(name, _)| name)).finish()
    }
}

impl Redactor {
    /// Takes out the known shapes and these values, whose names stand in their place, also where they are escaped, encoded or
    /// divided. A value of several lines is taken out line by line; what is shorter than six bytes is left.
    #[must_use]
    pub fn new<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let lines = variables.into_iter().flat_map(|(name, value)| value.lines().map(move |line| (name, line.trim())));
        let long = lines.filter(|(_, line)| line.len() >= SHORTEST_VALUE);
        let mut named: Vec<_> = long.map(|(name, line)| (name.to_owned(), line.as_bytes().to_vec())).collect();
        named.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        let known = Known::new(named.iter().map(|(_, value)| value.as_slice())).map(Arc::new);
        Self { named, known }
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

    fn bytes(&self, bytes: Vec<u8>, beside_key_id: bool) -> Vec<u8> {
        let named = |bytes: Vec<u8>, (name, value): &(String, Vec<u8>)| replaced(bytes, value, &mark(name));
        without_shapes(self.named.iter().fold(bytes, named), beside_key_id)
    }
}

/// What stands in the place of a known value.
fn mark(name: &str) -> Vec<u8> {
    format!("[REDACTED:${name}]").into_bytes()
}

/// A stream whose secrets are taken out as it passes, wherever its pieces are cut.
#[derive(Debug, Default)]
pub struct RedactedStream {
    /// A line that has not ended.
    held: Vec<u8>,
    /// Lines in whose end a known value may have begun.
    begun: Vec<u8>,
    /// The last bytes that were given out, laid bare.
    last: Vec<u8>,
    /// Lines of a private key's text follow.
    in_key: bool,
    /// The line before holds the id of a key, and this one may hold the key.
    after_key_id: bool,
}

impl RedactedStream {
    /// Takes in the next piece and gives out what is safe to write: whole lines, and of an endless one what is long past.
    pub fn push(&mut self, redactor: &Redactor, piece: &[u8]) -> Vec<u8> {
        let begun = self.held.len();
        self.held.extend_from_slice(piece);
        let whole = piece.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| begun + end + 1);
        let mut safe = self.next(redactor, whole);
        if self.held.len() > LONGEST_LINE {
            safe.extend(self.next(redactor, cut(&self.held)));
        }
        safe
    }

    /// The stream is over: gives out the rest.
    pub fn finish(&mut self, redactor: &Redactor) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        let rest = self.without_known(redactor, rest, true);
        self.lines(redactor, rest)
    }

    /// Gives out the first bytes of what is held.
    fn next(&mut self, redactor: &Redactor, length: usize) -> Vec<u8> {
        let rest = self.held.split_off(length);
        let text = std::mem::replace(&mut self.held, rest);
        let text = self.without_known(redactor, text, false);
        self.lines(redactor, text)
    }

    /// The text without known values in any of their forms, but for lines in whose end one may have begun: those wait for
    /// what follows.
    fn without_known(&mut self, redactor: &Redactor, text: Vec<u8>, is_last: bool) -> Vec<u8> {
        let Some(known) = redactor.known.as_deref().filter(|_| !text.is_empty() || !self.begun.is_empty()) else {
            return text;
        };
        let mut text = if self.begun.is_empty() { text } else { [std::mem::take(&mut self.begun), text].concat() };
        let Found { places, begun, last } = known.found(&self.last, &text);
        let wait = begun.filter(|at| !is_last && text.len() - at <= LONGEST_SECRET).map(|at| {
            let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
            let from = if text.len() - line <= LONGEST_SECRET { line } else { at };
            // What was found in the line that waits is gone from it.
            places.last().map_or(from, |(found, _)| from.max(found.end))
        });
        match wait {
            Some(0) => {}
            Some(_) => self.last.clear(),
            None => self.last = last,
        }
        self.begun = wait.map(|from| text.split_off(from)).unwrap_or_default();
        let mut safe = Vec::with_capacity(text.len());
        let mut from = 0;
        for (place, value) in places {
            safe.extend_from_slice(&text[from..place.start]);
            safe.extend(mark(&redactor.named[value].0));
            from = place.end;
        }
        safe.extend_from_slice(&text[from..]);
        safe
    }

    fn lines(&mut self, redactor: &Redactor, lines: Vec<u8>) -> Vec<u8> {
        if !self.in_key && !self.after_key_id && redactor.has_nothing_to_do_with(&lines) {
            return lines;
        }
        let mut safe = Vec::with_capacity(lines.len());
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            safe.extend(self.line(redactor, line));
        }
        safe
    }

    fn line(&mut self, redactor: &Redactor, line: &[u8]) -> Vec<u8> {
        let has_key_id = has_key_id(line);
        let beside = std::mem::replace(&mut self.after_key_id, has_key_id) || has_key_id;
        if self.in_key {
            if is_of_a_key(line) {
                return Vec::new();
            }
            self.in_key = false;
            if let Some(end) = after_key(line) {
                return redactor.bytes(line[end..].to_vec(), beside);
            }
        }
        self.in_key = ends_in_a_key(line);
        let mut bytes = redactor.bytes(line.to_vec(), beside);
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
