//! Rebuilds the programs when the suite that they carry inside changes.

fn main() {
    for part in [
        "contract-tests/agent",
        "contract-tests/cases",
        "contract-tests/claims.yaml",
        "contract-tests/ledger",
        "fixtures/agents",
        "fixtures/faulty",
        "fixtures/lawful",
        "fixtures/runtimes",
    ] {
        println!("cargo:rerun-if-changed={part}");
    }
}
