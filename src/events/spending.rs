//! What agents used, by their own word: tokens and their price.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Millionths of a US dollar in one.
const DOLLAR: u64 = 1_000_000;
/// And in a cent.
const CENT: u64 = DOLLAR / 100;

/// What an agent used, as far as it says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// Tokens, those that came from a cache among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Their price, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// All that its session used so far, earlier invocations among them; otherwise what this invocation used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_session: bool,
}

impl Spent {
    /// A price in US dollars, as programs write it, in millionths; `None` where it is no price.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is finite, and not negative")]
    pub fn micro(usd: f64) -> Option<u64> {
        (usd.is_finite() && usd >= 0.0).then(|| (usd * 1e6).round() as u64)
    }

    /// Whether nothing is known of it.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.tokens.is_none() && self.micro_usd.is_none()
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    fn with(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        let both = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(join(one, other)),
            (one, other) => one.or(other),
        };
        Self {
            tokens: both(self.tokens, other.tokens),
            micro_usd: both(self.micro_usd, other.micro_usd),
            of_session: self.of_session,
        }
    }
}

/// For people: `38000 tokens, $0.42`; empty where nothing is known. A price of nothing is not one: agents write 0 where they
/// know no prices.
impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = self.tokens.filter(|tokens| *tokens > 0).map(|tokens| format!("{tokens} tokens"));
        let price = self.micro_usd.filter(|micro| *micro > 0).map(|micro| {
            let cents = micro.saturating_add(CENT / 2) / CENT;
            if micro < CENT { "less than $0.01".to_owned() } else { format!("${}.{:02}", cents / 100, cents % 100) }
        });
        f.write_str(&tokens.into_iter().chain(price).collect::<Vec<_>>().join(", "))
    }
}

/// What the agents of a phase used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// By the session, of agents that count over all of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    sessions: BTreeMap<String, Spent>,
    /// The sum over the invocations of all others.
    #[serde(default)]
    others: Spent,
}

impl Spending {
    /// An invocation that worked in this session ended.
    pub(super) fn add(&mut self, session: Option<&str>, spent: Spent) {
        match session.filter(|_| spent.of_session) {
            // It was counted before, up to where it stood then.
            Some(session) => {
                let before = self.sessions.entry(session.to_owned()).or_default();
                *before = before.with(spent, u64::max);
            }
            None => self.others = self.others.and(spent),
        }
    }

    /// All of it.
    #[must_use]
    pub fn total(&self) -> Spent {
        self.sessions.values().fold(self.others, |sum, spent| sum.and(*spent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(tokens: u64, micro_usd: u64, of_session: bool) -> Spent {
        Spent { tokens: Some(tokens), micro_usd: Some(micro_usd), of_session }
    }

    #[test]
    fn a_session_that_is_gone_on_with_is_counted_once_and_an_invocation_each_time() {
        for (told, tokens, micro_usd) in [
            (vec![], None, None),
            (vec![(Some("a"), spent(5, 10, true)), (Some("a"), spent(8, 16, true))], Some(8), Some(16)),
            (vec![(Some("a"), spent(5, 10, true)), (Some("b"), spent(8, 16, true))], Some(13), Some(26)),
            (vec![(Some("a"), spent(5, 10, false)), (Some("a"), spent(8, 16, false))], Some(13), Some(26)),
            (vec![(None, spent(5, 10, true)), (Some("a"), spent(8, 16, true))], Some(13), Some(26)),
            // One of them knows no price.
            (vec![(None, Spent { tokens: Some(5), ..Spent::default() }), (None, spent(1, 2, false))], Some(6), Some(2)),
        ] {
            let mut spending = Spending::default();
            for (session, spent) in &told {
                spending.add(*session, *spent);
            }
            let total = spending.total();
            assert_eq!((total.tokens, total.micro_usd), (tokens, micro_usd), "{told:?}");
        }
    }

    #[test]
    fn a_price_is_read_and_shown_in_cents() {
        for (usd, shown) in [
            (0.0, ""),
            (0.004, "less than $0.01"),
            (0.015_135, "$0.02"),
            (0.994_9, "$0.99"),
            (1.995, "$2.00"),
            (12.3, "$12.30"),
            (f64::NAN, ""),
            (-1.0, ""),
            (f64::INFINITY, ""),
        ] {
            let spent = Spent { micro_usd: Spent::micro(usd), ..Spent::default() };
            assert_eq!(spent.to_string(), shown, "{usd}");
        }
        assert_eq!(spent(38_000, 420_000, false).to_string(), "38000 tokens, $0.42");
    }
}
