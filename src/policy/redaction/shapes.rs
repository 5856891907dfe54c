//! Secrets of known shapes: by their prefix, or by what stands beside them.

use std::borrow::Cow;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use memchr::memmem;
use regex::bytes::{Captures, Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// The shortest run of characters that a shape consists of.
const SHORTEST_RUN: usize = 16;

/// A kind of secret, and the shape that it is known by.
struct Shape {
    name: &'static str,
    pattern: &'static str,
    /// Words of a language have some shapes too.
    is_one: fn(&[u8]) -> bool,
}

const fn shape(name: &'static str, pattern: &'static str) -> Shape {
    Shape { name, pattern, is_one: |_| true }
}

/// Group 1 of each is what stays before the secret, such as `Bearer `, and group 2 what stays behind it. Behind the name of a
/// password, a variable, a placeholder and what was taken out already are no secrets.
const SHAPES: &[Shape] = &[
    Shape { name: "api-key", pattern: r"\b()sk-[A-Za-z0-9_-]{16,}", is_one: is_random },
    shape("api-key", r"\b()(?:[rs]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}"),
    shape("github-token", r"\b()(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})"),
    shape("gitlab-token", r"\b()glpat-[A-Za-z0-9_-]{20,}"),
    shape("hugging-face-token", r"\b()hf_[A-Za-z0-9]{30,}"),
    shape("aws-key", r"\b()(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    shape("google-key", r"\b()AIza[A-Za-z0-9_-]{35}"),
    shape("google-token", r"\b()ya29\.[A-Za-z0-9_-]{20,}"),
    shape("slack-token", r"\b()xox[abeoprs]-[A-Za-z0-9-]{16,}"),
    shape("npm-token", r"\b()npm_[A-Za-z0-9]{36}"),
    shape("jwt", r"\b()eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    shape("password", r#"(?i)((?:password|passwd)=["']?)[^\s"'$<>{}\[\]()*,;&]{6,}"#),
    shape("secret-key", r#"(?i)(secret_?access_?key[\\"']*\s*[=:]\s*[\\"']*)(?:[A-Za-z0-9/+=]|\\/){16,}"#),
    shape("password", r"\b([A-Za-z][A-Za-z0-9+.-]*:\\?/\\?/[^\s:/@]*:)[^\s/@\[$][^\s/@]*(@)"),
    Shape { name: "bearer", pattern: r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/-]{16,}=*", is_one: is_random },
    Shape { name: "basic", pattern: r"(?i)\b(basic\s+)[A-Za-z0-9+/_-]{6,}={0,2}", is_one: is_name_and_password },
    shape("private-key", r"()-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)"),
];

/// What stands beside the id of a key of AWS, or on the next line: nothing else shows what it is.
const BESIDE_A_KEY_ID: Shape = Shape {
    name: "secret-key",
    pattern: r"(^|[^A-Za-z0-9/+=])[A-Za-z0-9/+]{40}($|[^A-Za-z0-9/+=])",
    is_one: |secret| {
        let has = |is: fn(&u8) -> bool| secret.iter().any(is);
        has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
    },
};

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| SHAPES.iter().map(compiled).collect());

static BESIDE: LazyLock<Regex> = LazyLock::new(|| compiled(&BESIDE_A_KEY_ID));

/// Whether any shape is there, in one pass.
static ANY: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSetBuilder::new(SHAPES.iter().map(|shape| shape.pattern)).unicode(false).build().expect(CONSTANT)
});

const CONSTANT: &str = "the shapes are constants that the tests compile";

/// Bytes of any encoding, or of none.
fn compiled(shape: &Shape) -> Regex {
    RegexBuilder::new(shape.pattern).unicode(false).build().expect(CONSTANT)
}

/// A line without what has a known shape. `beside`: it or the line before holds the id of a key of AWS.
pub(super) fn without_shapes(line: Vec<u8>, beside: bool) -> Vec<u8> {
    let mut bytes = line;
    if beside {
        replace(&mut bytes, &BESIDE_A_KEY_ID, &BESIDE);
    }
    if !may_hold_a_shape(&bytes) || !ANY.is_match(&bytes) {
        return bytes;
    }
    for (shape, pattern) in SHAPES.iter().zip(PATTERNS.iter()) {
        replace(&mut bytes, shape, pattern);
    }
    bytes
}

fn replace(bytes: &mut Vec<u8>, shape: &Shape, pattern: &Regex) {
    let word = |found: &Captures<'_>| {
        let behind = found.get(2).map_or(&b""[..], |behind| behind.as_bytes());
        let secret = &found[0][found[1].len()..found[0].len() - behind.len()];
        if (shape.is_one)(secret) {
            [&found[1], format!("[REDACTED:{}]", shape.name).as_bytes(), behind].concat()
        } else {
            found[0].to_vec()
        }
    };
    if let Cow::Owned(without) = pattern.replace_all(bytes, word) {
        *bytes = without;
    }
}

/// Whether no word of a language looks like it: it has a digit, capitals within, or no end.
fn is_random(secret: &[u8]) -> bool {
    let runs = || secret.split(|byte| !byte.is_ascii_alphabetic());
    let is_mixed = |run: &[u8]| {
        run.len() >= SHORTEST_RUN
            && run.iter().any(u8::is_ascii_lowercase)
            && run.iter().skip(1).filter(|byte| byte.is_ascii_uppercase()).count() > 2
    };
    secret.iter().any(u8::is_ascii_digit) || runs().any(|run| run.len() >= 24 || is_mixed(run))
}

/// Whether it is `name:password` in base 64.
fn is_name_and_password(secret: &[u8]) -> bool {
    const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    const ALPHABETS: [GeneralPurpose; 2] =
        [GeneralPurpose::new(&STANDARD, CONFIG), GeneralPurpose::new(&URL_SAFE, CONFIG)];
    let is_one = |text: Vec<u8>| text.contains(&b':') && text.iter().all(|byte| *byte >= 0x20);
    ALPHABETS.iter().any(|alphabet| alphabet.decode(secret).is_ok_and(is_one))
}

/// Whether a line holds the id of a key of AWS.
pub(super) fn has_key_id(line: &[u8]) -> bool {
    let is_id = |at: usize| {
        line.get(at + 4..at + 20).is_some_and(|id| id.iter().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit()))
    };
    [&b"AKIA"[..], b"ASIA"].iter().any(|begin| memmem::find_iter(line, begin).any(is_id))
}

/// Every shape has a long run of such characters, is a private key, or is a password by what stands beside it. Most lines have
/// nothing of that, and cost one look.
pub(super) fn may_hold_a_shape(bytes: &[u8]) -> bool {
    let mut run = 0;
    for byte in bytes {
        run = if is_of_a_word(*byte) { run + 1 } else { 0 };
        if run >= SHORTEST_RUN {
            return true;
        }
    }
    let find = |what: &[u8]| memmem::find(bytes, what).is_some();
    find(b"PRIVATE KEY-----") || find(b"asic ") || find(b"ASIC ") || may_hold_a_password(bytes)
}

/// Whether there is an address with a name in it, or a word that ends like that of a password, before a value.
fn may_hold_a_password(bytes: &[u8]) -> bool {
    let find = |what: &[u8]| memmem::find(bytes, what).is_some();
    let in_address = || memchr::memchr(b'@', bytes).is_some() && (find(b"://") || find(b":\\/"));
    let ends = |before: &[u8], word: &[u8]| {
        before.len() >= word.len() && before[before.len() - word.len()..].eq_ignore_ascii_case(word)
    };
    let is_named = |at: usize| ends(&bytes[..at], b"password") || ends(&bytes[..at], b"passwd");
    let named = || memchr::memchr_iter(b'=', bytes).any(is_named);
    in_address() || named()
}

/// Whether a byte belongs to a word that must not be cut in two.
pub(super) fn is_of_a_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.~+/=".contains(&byte)
}
