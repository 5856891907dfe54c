//! `loa-conform`: see `loa::cli`.

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((word, rest)) if word == "probe" => loa::conform::probe(rest).into(),
        _ => std::process::ExitCode::SUCCESS,
    }
}
