//! The configuration that `loa-run init` writes.

/// A configuration with every value of this runtime at its default, and comments that explain them. An example is
/// commented out by a `#` in the first column; without it, it is valid as it stands.
pub const TEMPLATE: &str = include_str!("template.yaml");

#[cfg(test)]
mod tests {
    use super::super::{Origin, Source, resolve};
    use super::*;

    fn settings(text: &str) -> super::super::Settings {
        let source = Source { path: ".loa.config.yaml".into(), bytes: text.into() };
        resolve(Some(source), Vec::new()).expect("the template is valid")
    }

    #[test]
    fn the_template_says_every_default_and_nothing_else() {
        let (written, default) = (settings(TEMPLATE), resolve(None, Vec::new()).expect("the defaults are valid"));
        assert_eq!(written.config, default.config);
        for value in written.explain() {
            assert!(matches!(value.origin, Origin::File { .. }), "{} is missing", value.key);
        }
    }

    #[test]
    fn every_example_in_the_template_may_be_uncommented() {
        let uncommented = |line: &str| match line.strip_prefix('#') {
            Some(rest) if rest.starts_with("  ") || rest.starts_with("effort") => format!("{rest}\n"),
            _ => format!("{line}\n"),
        };
        let text: String = TEMPLATE.lines().map(uncommented).collect();
        let settings = settings(&text);
        assert!(settings.effort().is_some());
        assert!(settings.compaction().is_some());
        let implementation = settings.phase(crate::contract::Phase::Implementation);
        assert!(implementation.verify.is_some() && implementation.timeout.is_some());
        assert_eq!(implementation.retry.max, 1);
    }
}
