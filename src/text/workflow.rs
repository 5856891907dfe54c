//! Text in the log of a GitHub workflow, where a line may be a command to the runner.

/// The text after the second `::` of a command.
#[must_use]
pub fn workflow_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property of a command, in which a colon or a comma would end it.
#[must_use]
pub fn workflow_property(text: &str) -> String {
    workflow_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_ends_no_command() {
        assert_eq!(workflow_data("50 %\r\n::error::x"), "50 %25%0D%0A::error::x");
        assert_eq!(workflow_property("a,b:c\n"), "a%2Cb%3Ac%0A");
    }
}
