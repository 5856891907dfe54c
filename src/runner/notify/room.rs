//! Shares the room of a message between its parts, so that none of them crowds out another, and says of each how much of it
//! was left out and where that is.

/// What stands between two parts, in bytes.
const BETWEEN: usize = 2;

/// A part of a message: lines under a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// What stands above the lines; empty where nothing does.
    pub(super) head: String,
    /// The lines that may be shown.
    pub(super) lines: Vec<String>,
    /// How many there are besides.
    pub(super) more: usize,
    /// Which lines matter most.
    pub(super) keeps: End,
    /// Where all of it is.
    pub(super) rest: String,
}

/// An end of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its first lines.
    First,
    /// Its last ones.
    Last,
}

impl Part {
    /// So many of its lines, and a line that says how many are left out.
    pub(super) fn body(&self, shown: usize) -> String {
        let hidden = self.lines.len() - shown;
        let left = match hidden + self.more {
            0 => None,
            1 => Some(format!("… 1 more line: {}", self.rest)),
            left => Some(format!("… {left} more lines: {}", self.rest)),
        };
        let lines: Vec<&str> = match self.keeps {
            End::First => self.lines[..shown].iter().chain(&left).map(String::as_str).collect(),
            End::Last => left.iter().chain(&self.lines[hidden..]).map(String::as_str).collect(),
        };
        lines.join("\n")
    }

    /// As many of its lines as fit, at the least how many there are.
    pub(super) fn within(&self, fits: impl Fn(&str) -> bool) -> String {
        (0..=self.lines.len())
            .rev()
            .map(|shown| self.body(shown))
            .find(|body| fits(body))
            .unwrap_or_else(|| self.body(0))
    }

    /// All of its lines.
    pub(super) fn whole(&self) -> String {
        self.body(self.lines.len())
    }
}

/// The parts as texts, together in so many bytes: line by line the shortest text is given one more, until nothing fits.
/// `dressed` is a part with this body as it will be read.
pub(super) fn shared(parts: &[Part], most: usize, dressed: impl Fn(&Part, &str) -> String) -> Vec<String> {
    let text = |at: usize, shown| dressed(&parts[at], &parts[at].body(shown));
    let mut shown = vec![0; parts.len()];
    let mut texts: Vec<String> = (0..parts.len()).map(|at| text(at, 0)).collect();
    let mut open: Vec<usize> = (0..parts.len()).collect();
    while let Some(next) = open.iter().copied().min_by_key(|at| texts[*at].len()) {
        let others: usize = texts.iter().map(|text| text.len() + BETWEEN).sum::<usize>() - texts[next].len();
        let longer = (shown[next] < parts[next].lines.len()).then(|| text(next, shown[next] + 1));
        match longer.filter(|longer| others + longer.len() <= most) {
            Some(longer) => {
                shown[next] += 1;
                texts[next] = longer;
            }
            None => open.retain(|at| *at != next),
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(head: &str, lines: usize, keeps: End) -> Part {
        let lines = (1..=lines).map(|number| format!("{head} {number:02}")).collect();
        Part { head: head.to_owned(), lines, more: 0, keeps, rest: "look there".to_owned() }
    }

    fn plain(_: &Part, body: &str) -> String {
        body.to_owned()
    }

    #[test]
    fn what_is_left_out_is_counted_at_the_end_where_it_is_missing() {
        let (log, diff) = (part("log", 3, End::Last), part("diff", 3, End::First));
        for (part, shown, text) in [
            (&log, 3, "log 01\nlog 02\nlog 03"),
            (&log, 2, "… 1 more line: look there\nlog 02\nlog 03"),
            (&log, 0, "… 3 more lines: look there"),
            (&diff, 1, "diff 01\n… 2 more lines: look there"),
            (&Part { more: 40, ..diff.clone() }, 3, "diff 01\ndiff 02\ndiff 03\n… 40 more lines: look there"),
            (&Part { more: 40, ..diff.clone() }, 2, "diff 01\ndiff 02\n… 41 more lines: look there"),
        ] {
            assert_eq!(part.body(shown), text, "{shown}");
        }
        assert_eq!(log.within(|body| !body.contains("log 01")), "… 1 more line: look there\nlog 02\nlog 03");
        assert_eq!(log.within(|_| false), "… 3 more lines: look there");
    }

    #[test]
    fn a_long_part_takes_no_room_from_the_others_and_a_short_one_is_whole() {
        let parts = [part("a", 100, End::First), part("b", 30, End::Last), part("c", 2, End::First)];
        for most in [200, 300, 500, 1000] {
            let texts = shared(&parts, most, plain);
            assert!(texts.iter().map(|text| text.len() + BETWEEN).sum::<usize>() <= most, "{most}: {texts:?}");
            assert_eq!(texts[2], "c 01\nc 02", "{most}");
            let [first, second] = [&texts[0], &texts[1]].map(String::len);
            let is_whole = !texts[1].contains("more line");
            assert!(is_whole || first.abs_diff(second) < 12, "{most}: {first} {second}");
            assert!(texts[0].starts_with("a 01") && texts[1].ends_with("b 30"), "{most}: {texts:?}");
        }
        assert!(shared(&parts, 100_000, plain).iter().all(|text| !text.contains("more line")));
        assert_eq!(shared(&parts, 0, plain)[1], "… 30 more lines: look there", "what is there is said in any case");
    }
}
