//! `loa-conform`: see the room `cli` of the library.

fn main() -> std::process::ExitCode {
    loa::cli::judge()
}
