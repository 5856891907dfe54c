#![no_main]

#[path = "../../contract-tests/validate/invariants.rs"]
mod invariants;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| invariants::kinds(bytes));
