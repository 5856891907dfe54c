//! `loa-conform`: see `loa::cli`.

fn main() -> std::process::ExitCode {
    loa::cli::judge()
}
