//! Bytes to text: UTF-8 without control characters, or a finding that says where it stops being that.

use super::Read;
use crate::diag::{Diagnostic, Place};

const BOM: char = '\u{feff}';

/// The text of a file, without its byte order mark.
pub(super) fn decode(bytes: &[u8]) -> Read<&str> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Diagnostic::error("encoding", "the file is UTF-16")
            .at(Place::START.one())
            .expected("UTF-8")
            .found("the byte order mark of UTF-16")
            .help("save the file as UTF-8")
            .into());
    }
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
    let text = text.strip_prefix(BOM).unwrap_or(text);
    if text.starts_with(BOM) {
        return Err(Diagnostic::error("encoding", "the file begins with two byte order marks")
            .at(Place { line: 1, column: 2 }.one())
            .expected("one mark or none")
            .found("U+FEFF again")
            .help("remove both; UTF-8 needs none")
            .into());
    }
    match control_character(text) {
        None => Ok(text),
        Some((at, character)) => Err(Diagnostic::error("control-character", "a control character stands in the text")
            .at(Place::after(&text[..at]).one())
            .expected("text without control characters other than tab and line ends")
            .found(format!("U+{:04X}", u32::from(character)))
            .help("remove it; inside double quotes it can be written as an escape")
            .into()),
    }
}

fn not_utf8(bytes: &[u8], valid: usize) -> Diagnostic {
    if bytes.contains(&0) {
        return Diagnostic::error("binary", "this is a binary file")
            .expected("a text file in UTF-8")
            .found("bytes that are no text")
            .help("check that the right file was named");
    }
    let before = std::str::from_utf8(&bytes[..valid]).unwrap_or_default();
    let before = before.strip_prefix(BOM).unwrap_or(before);
    Diagnostic::error("encoding", "the file is not UTF-8")
        .at(Place::after(before).one())
        .expected("UTF-8")
        .found(format!("the byte 0x{:02X}", bytes[valid]))
        .help("save the file as UTF-8")
}

/// The first character that YAML 1.2 does not allow in a text, with its byte offset.
///
/// Bytes are looked at first, many at a time, because nearly every file has none of the suspects.
fn control_character(text: &str) -> Option<(usize, char)> {
    const MANY: usize = 64;
    let suspect = |byte: u8| matches!(byte, 0..=8 | 11 | 12 | 14..=31 | 0x7f | 0xc2 | 0xef);
    // Without a branch for each byte, so that the compiler looks at several at once.
    let mut chunks = text.as_bytes().chunks(MANY);
    if !chunks.any(|chunk| chunk.iter().fold(false, |found, byte| found | suspect(*byte))) {
        return None;
    }
    text.char_indices().find(|(_, character)| {
        (character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\u{85}'))
            || matches!(character, '\u{fffe}' | '\u{ffff}')
    })
}
