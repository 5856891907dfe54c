//! `loa-run`: see `loa::cli`.

fn main() -> std::process::ExitCode {
    loa::cli::run().into()
}
