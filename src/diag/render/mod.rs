//! Renderers: one file a format. They take the text of the document beside the finding and only format.

mod full;
mod json;

pub use full::full;
pub use json::json;

/// The file that a finding is about.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its name, as the reader of the finding knows it.
    pub name: &'a str,
    /// Its text; bytes that are no UTF-8 replaced, empty when the file was too large to be read.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// A line, counted from 1, without its end.
    fn line(&self, number: u32) -> Option<&'a str> {
        self.lines(number, number).next()
    }

    /// Lines from `first` to `last`, both counted from 1. They end in LF, CR LF or CR.
    fn lines(&self, first: u32, last: u32) -> impl Iterator<Item = &'a str> + use<'a> {
        let mut rest = Some(self.text.strip_prefix('\u{feff}').unwrap_or(self.text));
        let lines = std::iter::from_fn(move || {
            let text = rest?;
            let Some(end) = text.find(['\n', '\r']) else { return rest.take() };
            let after = if text[end..].starts_with("\r\n") { end + 2 } else { end + 1 };
            rest = Some(&text[after..]);
            Some(&text[..end])
        });
        lines.skip(first.saturating_sub(1) as usize).take((last + 1).saturating_sub(first) as usize)
    }
}

#[cfg(test)]
mod tests;
