//! `loa-validate`: see `loa::cli`.

fn main() -> std::process::ExitCode {
    loa::cli::validate().into()
}
