//! A defect of ours ends a program with one line and 70, not with Rust's own report and 101.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, set_hook};

use super::ExitStatus;
use super::console::{RED, say};
use super::failure::{asks_for_json, print_error};

/// Runs a whole program. A panic unwinds it, so that whatever guards children or holds a lock lets go on the way out.
pub(super) fn guarded<T: From<ExitStatus>>(program: impl FnOnce() -> T) -> T {
    set_hook(Box::new(|panic| {
        say(sentence(panic.payload(), panic.location()));
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            say(backtrace);
        }
    }));
    caught(program)
}

fn caught<T: From<ExitStatus>>(program: impl FnOnce() -> T) -> T {
    // Nothing of the program is looked at afterwards.
    catch_unwind(AssertUnwindSafe(program)).unwrap_or_else(|payload| {
        if asks_for_json(std::env::args_os()) {
            let message = format!("a defect of this program: {}", words(payload.as_ref()));
            print_error(ExitStatus::Internal, &message, &[]);
        }
        ExitStatus::Internal.into()
    })
}

fn sentence(payload: &dyn Any, location: Option<&Location<'_>>) -> String {
    let words = words(payload);
    let place = location.map(|place| format!(" ({}:{})", place.file(), place.line())).unwrap_or_default();
    format!("{RED}error:{RED:#} a defect of this program: {words}{place}")
}

fn words(payload: &dyn Any) -> &str {
    let words = payload.downcast_ref::<&str>().copied();
    words.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason was given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_as_70_and_anything_else_as_it_is() {
        assert_eq!(caught(|| -> ExitStatus { panic!("the tests wanted it") }), ExitStatus::Internal);
        assert_eq!(caught(|| ExitStatus::HumanNeeded), ExitStatus::HumanNeeded);
    }

    #[test]
    fn a_panic_is_told_in_one_line() {
        let place = Location::caller();
        for payload in [&"it broke" as &dyn Any, &"it broke".to_owned()] {
            let told = sentence(payload, Some(place));
            assert!(told.contains("a defect of this program: it broke (src/cli/defect.rs:"), "{told}");
            assert!(!told.contains('\n'));
        }
        assert!(sentence(&7, None).ends_with("no reason was given"));
    }
}
