//! Values that are known, in the forms that programs give them: with characters escaped as in JSON, in a shell or in an
//! address, in base 64 or hexadecimal, with line ends and colours in between.
//!
//! Text and values are both laid bare, so that one search finds every mixture of these: what is escaped is decoded, what only
//! divides is left out, and the letters in which the two alphabets of base 64 differ are made the same.

use std::collections::HashSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The shortest form that is looked for.
const SHORTEST: usize = 6;
/// The shortest form that is found with something in between: six digits stand in many a column of numbers.
const SHORTEST_DIVIDED: usize = 12;
/// The fewest bytes of a form that make a line wait for the next one.
const BEGUN: usize = 4;

/// The forms of known values.
pub(super) struct Known {
    finder: AhoCorasick,
    /// Each form, and the value that it is one of.
    forms: Vec<(Vec<u8>, usize)>,
    /// Whatever stands within a form that may be divided: most lines end in none of it.
    within: HashSet<[u8; BEGUN]>,
}

/// What is to be taken out of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Where, and which value it is, in order.
    pub(super) places: Vec<(Range<usize>, usize)>,
    /// Where a form begins that may end in what follows.
    pub(super) begun: Option<usize>,
    /// The last bytes behind all that was found, laid bare: fewer than make a line wait.
    pub(super) last: Vec<u8>,
}

impl Known {
    /// The forms of these values; `None` where there are none.
    pub(super) fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let all = values.into_iter().enumerate();
        let forms: Vec<(Vec<u8>, usize)> =
            all.flat_map(|(value, bytes)| forms(bytes).into_iter().map(move |form| (form, value))).collect();
        if forms.is_empty() {
            return None;
        }
        let mut finder = AhoCorasick::builder();
        finder.match_kind(MatchKind::LeftmostLongest);
        let finder = finder.build(forms.iter().map(|(form, _)| form)).ok()?;
        let divided = forms.iter().filter(|(form, _)| form.len() >= SHORTEST_DIVIDED);
        let within =
            divided.flat_map(|(form, _)| form.windows(BEGUN).filter_map(|part| part.try_into().ok())).collect();
        Some(Self { finder, forms, within })
    }

    /// What is to be taken out of a text that follows on `before`.
    pub(super) fn found(&self, before: &[u8], text: &[u8]) -> Found {
        let mut bare = Vec::with_capacity(before.len() + text.len());
        bare.extend_from_slice(before);
        lay_bare(text, |bytes, _| bare.extend_from_slice(bytes));
        let hits: Vec<(Range<usize>, usize)> =
            self.finder.find_iter(&bare).map(|hit| (hit.range(), hit.pattern().as_usize())).collect();
        let last = hits.last().map_or(0, |(hit, _)| hit.end);
        let begun = self.begun(&bare[last..]);
        let last = bare[last.max(bare.len().saturating_sub(BEGUN - 1))..].to_vec();
        if hits.is_empty() && begun == 0 {
            return Found { last, ..Found::default() };
        }
        let mut places = vec![0..0; before.len()];
        lay_bare(text, |bytes, place| places.extend(bytes.iter().map(|_| place.clone())));
        let begun = (begun > 0).then(|| places[places.len() - begun].start);
        let whole = |hit: &Range<usize>| {
            hit.start >= before.len()
                && places[hit.clone()].windows(2).all(|two| two[1] == two[0] || two[1].start == two[0].end)
        };
        let hits = hits.into_iter().filter(|(hit, _)| hit.len() >= SHORTEST_DIVIDED || whole(hit));
        let places = hits.map(|(hit, form)| (places[hit.start].start..places[hit.end - 1].end, self.forms[form].1));
        Found { places: places.collect(), begun, last }
    }

    /// How many of the last bytes are the beginning of a form that may be divided.
    fn begun(&self, bare: &[u8]) -> usize {
        let is_within = bare.last_chunk::<BEGUN>().is_some_and(|end| self.within.contains(end));
        if !is_within {
            return 0;
        }
        let of_form = |(form, _): &(Vec<u8>, usize)| {
            let lengths = (BEGUN..form.len().min(bare.len() + 1)).rev();
            lengths.into_iter().find(|length| bare.ends_with(&form[..*length])).unwrap_or(0)
        };
        self.forms.iter().filter(|(form, _)| form.len() >= SHORTEST_DIVIDED).map(of_form).max().unwrap_or(0)
    }
}

/// All that is looked for of a value, laid bare.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let hexadecimal = [base16ct::lower::encode_string(value), base16ct::upper::encode_string(value)];
    let encoded = hexadecimal.into_iter().chain((0..3).map(|offset| base_64(value, offset))).map(String::into_bytes);
    // What looks escaped in a value is so in a text that escapes each byte of it.
    let literal = value.iter().flat_map(|byte| Symbol::byte(*byte, 1).bytes().to_vec()).collect();
    let mut forms: Vec<Vec<u8>> = std::iter::once(value.to_vec()).chain(encoded).map(|form| bare(&form)).collect();
    forms.push(literal);
    forms.retain(|form| form.len() >= SHORTEST);
    forms.sort();
    forms.dedup();
    forms
}

/// What a value is in base 64 where so many bytes stand before it in a group of three: without what depends on others.
fn base_64(value: &[u8], offset: usize) -> String {
    let encoded = STANDARD_NO_PAD.encode([&[0; 2][..offset], value].concat());
    let (from, to) = ([0, 2, 3][offset], (offset + value.len()) * 8 / 6);
    encoded[from..to].to_owned()
}

fn bare(text: &[u8]) -> Vec<u8> {
    let mut bare = Vec::with_capacity(text.len());
    lay_bare(text, |bytes, _| bare.extend_from_slice(bytes));
    bare
}

/// Hands on what the text is when nothing in it is escaped or divided, each character with its place.
fn lay_bare(text: &[u8], mut take: impl FnMut(&[u8], Range<usize>)) {
    let mut at = 0;
    while at < text.len() {
        let symbol = Symbol::first(&text[at..]);
        if symbol.count > 0 {
            take(symbol.bytes(), at..at + symbol.length);
        }
        at += symbol.length;
    }
}

/// What a few bytes of a text stand for: nothing where they only divide.
struct Symbol {
    bytes: [u8; 4],
    count: usize,
    length: usize,
}

impl Symbol {
    #[inline]
    fn first(text: &[u8]) -> Self {
        match text[0] {
            b'\\' => Self::escaped(text),
            b'%' => Self::of_an_address(text),
            0x1b => Self::nothing(1 + control_sequence(&text[1..])),
            byte => Self::byte(byte, 1),
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.count]
    }

    fn nothing(length: usize) -> Self {
        Self { bytes: [0; 4], count: 0, length }
    }

    /// A byte: control characters divide, and the letters in which forms differ are the same.
    fn byte(byte: u8, length: usize) -> Self {
        let byte = match byte {
            0..0x20 | 0x7f => return Self::nothing(length),
            b' ' | b'+' => b'-',
            b'/' => b'_',
            other => other,
        };
        Self { bytes: [byte, 0, 0, 0], count: 1, length }
    }

    /// The same, for a byte that was escaped: it may begin a sequence of a terminal.
    fn decoded(byte: u8, length: usize, rest: &[u8]) -> Self {
        if byte == 0x1b { Self::nothing(length + control_sequence(rest)) } else { Self::byte(byte, length) }
    }

    /// What stands behind backslashes, however often it was escaped.
    fn escaped(text: &[u8]) -> Self {
        let run = text.iter().take_while(|byte| **byte == b'\\').count();
        let rest = &text[run..];
        let number = |digits: Range<usize>, base| {
            let digits = rest.get(digits)?;
            let is_number = digits.iter().all(|digit| char::from(*digit).is_digit(base));
            u32::from_str_radix(std::str::from_utf8(digits).ok().filter(|_| is_number)?, base).ok()
        };
        let byte = |code: Option<u32>| code.and_then(|code| u8::try_from(code).ok());
        match rest.first() {
            None => Self::nothing(run),
            Some(b'n' | b'r' | b't') => Self::nothing(run + 1),
            Some(b'u') if number(1..5, 16).is_some() => Self::unicode(text, run),
            Some(b'x') if number(1..3, 16).is_some() => {
                Self::decoded(byte(number(1..3, 16)).unwrap_or_default(), run + 3, &rest[3..])
            }
            Some(b'0'..=b'3') if number(0..3, 8).is_some() => {
                Self::decoded(byte(number(0..3, 8)).unwrap_or_default(), run + 3, &rest[3..])
            }
            Some(_) => {
                let symbol = Self::first(rest);
                Self { length: run + symbol.length, ..symbol }
            }
        }
    }

    /// `\u` and four digits, or two of them that are one character.
    fn unicode(text: &[u8], run: usize) -> Self {
        let unit = |text: &[u8]| {
            let digits = text.strip_prefix(b"u").and_then(|rest| rest.get(..4))?;
            u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        let first = unit(&text[run..]).unwrap_or_default();
        let next = text.get(run + 5..).and_then(|rest| rest.strip_prefix(&text[..run])).and_then(unit);
        let units = [first, next.unwrap_or_default()];
        let is_pair = (0xd800..0xdc00).contains(&first);
        let length = if is_pair && next.is_some() { 2 * (run + 5) } else { run + 5 };
        let Some(Ok(letter)) = char::decode_utf16(units).next() else { return Self::nothing(run + 5) };
        if letter.is_ascii() {
            return Self::decoded(u8::try_from(letter).unwrap_or_default(), length, &text[length..]);
        }
        let mut bytes = [0; 4];
        let count = letter.encode_utf8(&mut bytes).len();
        Self { bytes, count, length }
    }

    /// `%` and two digits, however often the `%` itself was escaped.
    fn of_an_address(text: &[u8]) -> Self {
        let hex = |at: usize| text.get(at..at + 2).filter(|two| two.iter().all(u8::is_ascii_hexdigit));
        let mut at = 1;
        while hex(at) == Some(b"25") && hex(at + 2).is_some() {
            at += 2;
        }
        let byte = hex(at).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        byte.map_or_else(|| Self::byte(b'%', 1), |byte| Self::decoded(byte, at + 2, &text[at + 2..]))
    }
}

/// How long a sequence of a terminal is, behind its escape character.
fn control_sequence(rest: &[u8]) -> usize {
    /// The longest title or address that is looked through.
    const LONGEST: usize = 512;
    match rest.first() {
        Some(b'[') => {
            let body = rest[1..].iter().take_while(|byte| (0x20..0x40).contains(*byte)).count();
            (1 + body + 1).min(rest.len())
        }
        Some(b']' | b'P' | b'_' | b'^') => {
            let end = rest.iter().take(LONGEST).position(|byte| matches!(byte, 0x07 | 0x1b));
            end.map_or(1, |end| end + 1)
        }
        Some(0x20..0x7f) => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
