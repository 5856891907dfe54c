//! Plain scalars of YAML 1.2 by its core schema: `no`, `1:30`, `0777` and dates are not what YAML 1.1 made of them.

use crate::diag::Value;

/// What a scalar without quotes and tag means.
pub(super) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    match text.as_bytes()[0] {
        b'0'..=b'9' | b'+' | b'-' | b'.' => number(text).unwrap_or_else(|| Value::Str(text.to_owned())),
        _ => Value::Str(text.to_owned()),
    }
}

fn number(text: &str) -> Option<Value> {
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" if text.starts_with('-') => return Some(Value::Float(f64::NEG_INFINITY)),
        ".inf" | ".Inf" | ".INF" => return Some(Value::Float(f64::INFINITY)),
        _ => {}
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(Value::Float(f64::NAN));
    }
    if !is_decimal(unsigned) {
        return None;
    }
    // Beyond `i128` a whole number is kept as nearly as a float can.
    text.parse().map(Value::Int).or_else(|_| text.parse().map(Value::Float)).ok()
}

fn radix(digits: &str, radix: u32) -> Option<Value> {
    let all_digits = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    all_digits.then(|| i128::from_str_radix(digits, radix).map_or(Value::Float(f64::INFINITY), Value::Int))
}

/// `[0-9]+(\.[0-9]*)?` or `\.[0-9]+`, then an optional exponent.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_holds = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()) && exponent_holds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_schema_and_nothing_older() {
        let text = |text: &str| Value::Str(text.to_owned());
        for (scalar, expected) in [
            ("", Value::Null),
            ("~", Value::Null),
            ("null", Value::Null),
            ("nULL", text("nULL")),
            ("TRUE", Value::Bool(true)),
            ("no", text("no")),
            ("on", text("on")),
            ("y", text("y")),
            ("0", Value::Int(0)),
            ("-7", Value::Int(-7)),
            ("+7", Value::Int(7)),
            ("0777", Value::Int(777)),
            ("0o17", Value::Int(15)),
            ("0x1F", Value::Int(31)),
            ("0x", text("0x")),
            ("0xG", text("0xG")),
            ("0x+1", text("0x+1")),
            ("1_000", text("1_000")),
            ("1:30", text("1:30")),
            ("2026-01-31", text("2026-01-31")),
            ("1.5", Value::Float(1.5)),
            ("1.", Value::Float(1.0)),
            (".5", Value::Float(0.5)),
            (".", text(".")),
            ("-", text("-")),
            ("1e3", Value::Float(1000.0)),
            ("1e", text("1e")),
            ("e3", text("e3")),
            ("-.inf", Value::Float(f64::NEG_INFINITY)),
            ("inf", text("inf")),
            ("infinity", text("infinity")),
            ("+nan", text("+nan")),
            ("1.2.3", text("1.2.3")),
        ] {
            assert_eq!(plain(scalar), expected, "{scalar}");
        }
        assert!(matches!(plain(".nan"), Value::Float(value) if value.is_nan()));
        assert!(matches!(plain(&"9".repeat(60)), Value::Float(value) if value > 1e58));
    }
}
