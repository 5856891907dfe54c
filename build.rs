//! Rebuilds the programs when the suite that they carry inside changes.

fn main() {
    for part in ["contract-tests/ledger", "contract-tests/cases", "contract-tests/claims.yaml", "fixtures/runtimes"] {
        println!("cargo:rerun-if-changed={part}");
    }
}
