//! Colours of the terminal. `anstream` drops them on a pipe and where `NO_COLOR` is set.

use anstyle::{AnsiColor, Style};

pub(super) const RED: Style = AnsiColor::Red.on_default().bold();
pub(super) const CYAN: Style = AnsiColor::Cyan.on_default().bold();
