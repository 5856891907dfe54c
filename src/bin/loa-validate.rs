//! `loa-validate`: see `loa::cli`.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
