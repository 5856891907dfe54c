//! The commands of a line for the shell, as far as they can be read before it runs. Pure.

/// Programs that run such a line, and files of them.
pub const SHELLS: &[&str] = &["sh", "bash", "dash", "ksh", "zsh", "ash"];

/// How a command is joined to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// It is the first, or comes behind it: `;`, `&&`, `&`, a line end.
    After,
    /// It runs beside it: `|`.
    Beside,
    /// It runs in place of it: `||`.
    Instead,
}

/// One command.
#[derive(Debug, PartialEq, Eq)]
pub struct Simple {
    /// How it is joined to the one before it.
    pub join: Join,
    /// Its words, and the files that it reads its input from.
    pub words: Vec<Word>,
    /// Its output goes to a file, which is there afterwards.
    pub writes: bool,
    /// Neither it nor anything before it is more than a command: a loop, a function, a choice. Behind such a thing, what is
    /// read as a command need not be one.
    pub is_certain: bool,
}

/// A word of a command, without its quotes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// What stands there.
    pub text: String,
    /// The shell makes something else of it: it holds a variable, a pattern, another command's output.
    pub is_expanded: bool,
    /// It names the file that input is read from.
    pub is_input: bool,
}

/// The commands of a line, in their order.
#[must_use]
pub fn commands(line: &str) -> Vec<Simple> {
    let letters = line.chars().peekable();
    let mut reader = Reader { letters, all: Vec::new(), word: None, target: None, is_certain: true };
    reader.begin(Join::After);
    while let Some(letter) = reader.letters.next() {
        reader.take(letter);
    }
    reader.end_word();
    let mut all = reader.all;
    let is_more = |simple: &Simple| simple.words.first().is_some_and(|word| MORE.contains(&word.text.as_str()));
    let certain = all.iter().position(|simple| !simple.is_certain || is_more(simple)).unwrap_or(all.len());
    all[certain..].iter_mut().for_each(|simple| simple.is_certain = false);
    all.retain(|simple| !simple.words.is_empty());
    all
}

/// The folder that a `cd` is given; `None` where the command is none, or where it leads is not plain.
#[must_use]
pub fn folder_of_cd(words: &[String]) -> Option<&str> {
    match words {
        [cd, name] if cd == "cd" && !name.is_empty() && !name.starts_with('-') => Some(name),
        _ => None,
    }
}

/// Words with which more than a command begins.
const MORE: [&str; 12] = ["if", "then", "for", "while", "until", "case", "select", "function", "{", "}", "!", "[["];

/// What a word behind `<` or `>` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Input,
    Output,
}

struct Reader<'a> {
    letters: std::iter::Peekable<std::str::Chars<'a>>,
    all: Vec<Simple>,
    /// The word that is being read.
    word: Option<Word>,
    /// What it names, where it is no word of the command itself.
    target: Option<Target>,
    /// Nothing that is more than a command came yet.
    is_certain: bool,
}

impl Reader<'_> {
    fn begin(&mut self, join: Join) {
        self.end_word();
        self.all.push(Simple { join, words: Vec::new(), writes: false, is_certain: self.is_certain });
    }

    fn last(&mut self) -> &mut Simple {
        self.all.last_mut().expect("one was begun")
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.target.take() {
            Some(Target::Output) => {}
            target => self.last().words.push(Word { is_input: target.is_some(), ..word }),
        }
    }

    fn push(&mut self, letter: char) {
        self.word.get_or_insert_default().text.push(letter);
    }

    /// A letter of which the shell makes something else.
    fn push_expanded(&mut self, letter: char) {
        self.push(letter);
        self.word.get_or_insert_default().is_expanded = true;
    }

    fn take(&mut self, letter: char) {
        match letter {
            '(' | ')' => {
                // What a name before it means is said by what stands here.
                self.last().is_certain = false;
                self.is_certain = false;
                self.begin(Join::After);
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
            '<' | '>' => self.redirect(letter),
            '\'' | '"' => self.quoted(letter),
            '\\' => match self.letters.next() {
                Some('\n') | None => {}
                Some(next) => self.push(next),
            },
            '#' if self.word.is_none() => while self.letters.next_if(|next| *next != '\n').is_some() {},
            '[' if self.word.is_none() => self.push(letter),
            '~' if self.word.is_some() => self.push(letter),
            '$' | '`' | '*' | '?' | '[' | '~' => self.push_expanded(letter),
            letter if letter.is_whitespace() => self.end_word(),
            letter => self.push(letter),
        }
    }

    /// `>`, `2>`, `>>`, `>&1`, `<`. Behind a text that follows, and a command whose output is read, nothing is certain.
    fn redirect(&mut self, letter: char) {
        // The number of an output is no word.
        if self.word.as_ref().is_some_and(|word| word.text.chars().all(|digit| digit.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        let twice = self.letters.next_if_eq(&letter).is_some();
        if letter == '<' && self.letters.next_if_eq(&'(').is_some() {
            self.is_certain = false;
            return self.begin(Join::After);
        }
        self.letters.next_if_eq(&'&');
        let is_text = letter == '<' && twice;
        self.is_certain &= !is_text;
        self.target = Some(if letter == '>' || is_text { Target::Output } else { Target::Input });
        self.last().writes |= letter == '>';
    }

    fn quoted(&mut self, quote: char) {
        self.word.get_or_insert_default();
        while let Some(letter) = self.letters.next() {
            match letter {
                letter if letter == quote => return,
                '$' | '`' if quote == '"' => self.push_expanded(letter),
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
            let word = |word: &Word| if word.is_expanded { "?".to_owned() } else { word.text.clone() };
            let shown = |simple: &Simple| {
                let join = match simple.join {
                    Join::After => ";",
                    Join::Beside => "|",
                    Join::Instead => "||",
                };
                let words: Vec<String> = simple.words.iter().filter(|word| !word.is_input).map(word).collect();
                format!("{join} {}{}", words.join(" "), if simple.writes { " >" } else { "" })
            };
            let certain: Vec<Simple> = commands(line).into_iter().take_while(|simple| simple.is_certain).collect();
            assert_eq!(certain.iter().map(shown).collect::<Vec<_>>().join(" | "), expected, "{line:?}");
        }
    }

    #[test]
    fn only_a_cd_with_one_plain_word_leads_somewhere() {
        for (line, folder) in [
            ("cd sub", Some("sub")),
            ("cd 'a b/c'", Some("a b/c")),
            ("cd", None),
            ("cd -", None),
            ("cd -P sub", None),
            ("cd ''", None),
            ("ls sub", None),
        ] {
            let words: Vec<String> = commands(line).remove(0).words.into_iter().map(|word| word.text).collect();
            assert_eq!(folder_of_cd(&words), folder, "{line}");
        }
    }

    #[test]
    fn what_is_not_certain_is_read_all_the_same() {
        for (line, expected) in [
            ("bash <check.sh", "bash <check.sh"),
            ("if a; then \"$PWD/b\" c; fi", "if a | then $PWD/b c | fi"),
            ("(sh d.sh) && x \"$(e f)\"", "sh d.sh | x $(e f)"),
            ("x $(sh e.sh)", "x $ | sh e.sh"),
            ("cat <(sh f.sh) >out", "cat | sh f.sh"),
            ("cat <<X\nsh g.sh\nX", "cat | sh g.sh | X"),
        ] {
            let word = |word: &Word| format!("{}{}", if word.is_input { "<" } else { "" }, word.text);
            let shown = |simple: &Simple| simple.words.iter().map(word).collect::<Vec<_>>().join(" ");
            assert_eq!(commands(line).iter().map(shown).collect::<Vec<_>>().join(" | "), expected, "{line:?}");
        }
    }
}
