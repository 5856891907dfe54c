//! What an agent prints that writes for people: its answer, and of a very long one the end.

/// The most bytes that are kept: what a file of an answer may hold to be told again.
const LONGEST: usize = 16 << 20;

/// The end of what was printed.
#[derive(Debug, Default)]
pub(super) struct Printed {
    bytes: Vec<u8>,
    left_out: usize,
}

impl Printed {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.take_up_to(bytes, LONGEST);
    }

    fn take_up_to(&mut self, bytes: &[u8], longest: usize) {
        self.bytes.extend_from_slice(bytes);
        // Twice as much is held meanwhile, so that not every piece moves all that is there.
        if self.bytes.len() > 2 * longest {
            self.shorten(longest);
        }
    }

    fn shorten(&mut self, longest: usize) {
        let surplus = self.bytes.len().saturating_sub(longest);
        self.left_out += surplus;
        self.bytes.drain(..surplus);
    }

    /// All of it; where something had to be left out, the first line says so.
    pub(super) fn text(self) -> String {
        self.text_up_to(LONGEST)
    }

    fn text_up_to(mut self, longest: usize) -> String {
        self.shorten(longest);
        let text = String::from_utf8_lossy(&self.bytes);
        match self.left_out {
            0 => text.into_owned(),
            // What is left of a line could be the end of a secret, which nobody would know by its shape.
            left_out => {
                let whole = text.split_once('\n').map_or(&*text, |(_, whole)| whole);
                let left_out = left_out + text.len() - whole.len();
                format!("[{left_out} bytes are left out here: of what is printed, the end is kept]\n{whole}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_end_is_kept_and_it_says_so() {
        let left_out =
            |bytes: usize| format!("[{bytes} bytes are left out here: of what is printed, the end is kept]\n");
        for (pieces, text) in [
            (&["one\n", "two\n"][..], "one\ntwo\n".to_owned()),
            (&["12345678"], "12345678".to_owned()),
            (&["one\n", "two\n", "three\n"], left_out(8) + "three\n"),
            (&["one two three four five\n", "six\n"], left_out(24) + "six\n"),
            (&["one two three\n", "four\n", "five\n", "six\n"], left_out(24) + "six\n"),
            (&["", "one long line"], left_out(5) + "ong line"),
        ] {
            let mut printed = Printed::default();
            for piece in pieces {
                printed.take_up_to(piece.as_bytes(), 8);
                assert!(printed.bytes.len() <= 16, "{pieces:?}");
            }
            assert_eq!(printed.text_up_to(8), text, "{pieces:?}");
        }
    }
}
