//! The judge on trial: every faulty variant dies of its named case for its named reason, every lawful one lives, and
//! runtimes that do nothing pass nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use loa::conform::{Manifest, Variant};

fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn variants(folder: &str) -> Vec<Variant> {
    Variant::read_all(&fixtures(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"))
}

fn lay_out(variant: &Variant, into: &Path) -> Manifest {
    variant.lay_out(&fixtures("runtimes"), into).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_variant_fits_its_base() {
    for folder in ["faulty", "lawful"] {
        for variant in variants(folder) {
            assert_eq!(variant.is_faulty(), folder == "faulty", "{} lies in the wrong folder", variant.variant);
            let into = tempfile::tempdir().expect("a folder");
            let manifest = lay_out(&variant, into.path());
            assert_eq!(manifest.runtime, format!("{}+{}", variant.base, variant.variant));
        }
    }
}

#[test]
fn there_are_enough_of_them_and_no_two_die_of_the_same() {
    let faulty = variants("faulty");
    let of = |base: &str| faulty.iter().filter(|variant| variant.base == base).count();
    assert!(of("sh") >= 12 && of("loa-run") >= 4, "sh {}, loa-run {}", of("sh"), of("loa-run"));
    assert!(variants("lawful").len() >= 4);
    let deaths: BTreeSet<_> = faulty.iter().filter_map(|variant| Some(&variant.kills.as_ref()?.case)).collect();
    assert_eq!(deaths.len(), faulty.len(), "two variants name the same case");
}
