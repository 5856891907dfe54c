//! The commands of a line for the shell, as far as they are certain before it runs: pure, and none where the line is more
//! than a list of commands.

/// How a command is joined to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    /// It is the first, or comes behind it: `;`, `&&`, `&`, a line end.
    After,
    /// It runs beside it: `|`.
    Beside,
    /// It runs in place of it: `||`.
    Instead,
}

/// One command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) join: Join,
    /// Its words without their quotes; `None` for one that the shell makes something else of.
    pub(super) words: Vec<Option<String>>,
    /// Its output goes to a file, which is there afterwards.
    pub(super) writes: bool,
}

/// The commands of a line, up to the first thing that is more than a command: a loop, a function, a choice.
pub(super) fn commands(line: &str) -> Vec<Simple> {
    let mut reader = Reader { letters: line.chars().peekable(), all: Vec::new(), word: None, target: false };
    reader.begin(Join::After);
    while let Some(letter) = reader.letters.next() {
        if !reader.take(letter) {
            break;
        }
    }
    reader.end_word();
    let is_more = |simple: &Simple| matches!(simple.words.first(), Some(Some(word)) if MORE.contains(&word.as_str()));
    let kept = reader.all.iter().position(is_more).unwrap_or(reader.all.len());
    reader.all.truncate(kept);
    reader.all.retain(|simple| !simple.words.is_empty());
    reader.all
}

/// Words with which more than a command begins.
const MORE: [&str; 12] = ["if", "then", "for", "while", "until", "case", "select", "function", "{", "}", "!", "[["];

/// A word as it is read.
enum Word {
    Plain(String),
    /// The shell makes something else of it.
    Other,
}

impl Word {
    fn text(self) -> Option<String> {
        if let Self::Plain(text) = self { Some(text) } else { None }
    }
}

struct Reader<'a> {
    letters: std::iter::Peekable<std::str::Chars<'a>>,
    all: Vec<Simple>,
    /// The word that is being read.
    word: Option<Word>,
    /// The word names where output goes, or where input is from.
    target: bool,
}

impl Reader<'_> {
    fn begin(&mut self, join: Join) {
        self.end_word();
        self.all.push(Simple { join, words: Vec::new(), writes: false });
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if !std::mem::take(&mut self.target) {
            self.all.last_mut().expect("begun").words.push(word.text());
        }
    }

    fn push(&mut self, letter: char) {
        if let Word::Plain(word) = self.word.get_or_insert_with(|| Word::Plain(String::new())) {
            word.push(letter);
        }
    }

    /// Takes a letter; `false` at one with which more than commands begins.
    fn take(&mut self, letter: char) -> bool {
        match letter {
            '(' | ')' => {
                // What a name before it means is said by what stands here.
                self.word = None;
                self.all.pop();
                self.all.push(Simple { join: Join::After, words: Vec::new(), writes: false });
                return false;
            }
            ';' | '\n' => self.begin(Join::After),
            '&' => {
                self.letters.next_if_eq(&'&');
                self.begin(Join::After);
            }
            '|' => {
                let join = if self.letters.next_if_eq(&'|').is_some() { Join::Instead } else { Join::Beside };
                self.letters.next_if_eq(&'&');
                self.begin(join);
            }
            '<' | '>' => return self.redirect(letter),
            '\'' | '"' => self.quoted(letter),
            '\\' => match self.letters.next() {
                Some('\n') | None => {}
                Some(next) => self.push(next),
            },
            '#' if self.word.is_none() => while self.letters.next_if(|next| *next != '\n').is_some() {},
            '$' | '`' | '*' | '?' | '[' if letter != '[' || self.word.is_some() => self.word = Some(Word::Other),
            '~' if self.word.is_none() => self.word = Some(Word::Other),
            letter if letter.is_whitespace() => self.end_word(),
            letter => self.push(letter),
        }
        true
    }

    /// `>`, `2>`, `>>`, `>&1`, `<`; not a text that follows.
    fn redirect(&mut self, letter: char) -> bool {
        // The number of an output is no word.
        if matches!(&self.word, Some(Word::Plain(word)) if word.chars().all(|digit| digit.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        let twice = self.letters.next_if_eq(&letter).is_some();
        if letter == '<' && (twice || self.letters.peek() == Some(&'(')) {
            return false;
        }
        self.letters.next_if_eq(&'&');
        self.target = true;
        self.all.last_mut().expect("begun").writes |= letter == '>';
        true
    }

    fn quoted(&mut self, quote: char) {
        self.word.get_or_insert_with(|| Word::Plain(String::new()));
        while let Some(letter) = self.letters.next() {
            match letter {
                letter if letter == quote => return,
                '$' | '`' if quote == '"' => self.word = Some(Word::Other),
                '\\' if quote == '"' => {
                    if let Some(next) = self.letters.next() {
                        self.push(next);
                    }
                }
                letter => self.push(letter),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_its_commands_up_to_what_is_more() {
        for (line, expected) in [
            ("", ""),
            ("sh ./a.sh", "; sh ./a.sh"),
            ("A=1 ./a.sh 'b c' \"d\"; e", "; A=1 ./a.sh b c d | ; e"),
            ("cd sub && ./a.sh || b", "; cd sub | ; ./a.sh | || b"),
            ("./a --x 2>&1 | tee log", "; ./a --x > | | tee log"),
            ("echo hi > out; cat < out", "; echo hi > | ; cat"),
            ("$TOOL run *.c ~/x", "; ? run ? ?"),
            ("a \"$b\" '$c'", "; a ? $c"),
            ("a # b; c\nd", "; a | ; d"),
            ("a; for x in y; do b; done", "; a"),
            ("(a); b", ""),
            ("a; f() { b; }; f", "; a"),
            ("cat <<X\nno-command\nX", "; cat"),
            ("[ -e x ] && a", "; [ -e x ] | ; a"),
            ("a \\\n b", "; a b"),
        ] {
            let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "?".to_owned());
            let shown = |simple: &Simple| {
                let join = match simple.join {
                    Join::After => ";",
                    Join::Beside => "|",
                    Join::Instead => "||",
                };
                let words: Vec<String> = simple.words.iter().map(word).collect();
                format!("{join} {}{}", words.join(" "), if simple.writes { " >" } else { "" })
            };
            let found: Vec<String> = commands(line).iter().map(shown).collect();
            assert_eq!(found.join(" | "), expected, "{line:?}");
        }
    }
}
