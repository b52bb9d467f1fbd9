//! The command on a small repository of its own.

use super::*;

const REPORT: &str = r#"<testsuite name="guildhall-x"><testcase name="good"/><testcase name="bad"><failure/></testcase></testsuite>"#;

/// A repository with one crate, `source` as its library, and the report of a run in which `good` passed.
fn repository(source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        (LEDGER, "## R. Runs\n- **R1** one\n- **R2** two\n"),
        ("crates/x/Cargo.toml", "[package]\nname = \"guildhall-x\"\n"),
        ("crates/x/src/lib.rs", source),
        ("target/nextest/ci/junit.xml", REPORT),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn page_of(repository: &tempfile::TempDir) -> Option<String> {
    fs::read_to_string(repository.path().join(CONFORMANCE)).ok()
}

#[test]
fn a_written_page_passes_its_check() {
    let repository = repository("// covers: R1\n#[test]\nfn good() {}\n");
    for mode in [Mode::Write, Mode::Check] {
        let examined = examine(repository.path(), mode).unwrap();
        assert_eq!(examined.faults, [] as [String; 0]);
        assert!(examined.summary.ends_with("\nledger_covered=1/2"), "{}", examined.summary);
    }
    assert!(page_of(&repository).unwrap().contains("| R1 | one | `guildhall-x good` |"));
}

#[test]
fn a_stale_page_is_refused_and_left_alone() {
    let repository = repository("");
    for planted in [None, Some("planted".to_owned())] {
        if let Some(text) = &planted {
            fs::write(repository.path().join(CONFORMANCE), text).unwrap();
        }
        let examined = examine(repository.path(), Mode::Check).unwrap();
        assert_eq!(examined.faults, ["docs/conformance.md is stale: run `cargo xtask ledger` and commit it"]);
        assert_eq!(page_of(&repository), planted);
    }
}

#[test]
fn a_claim_of_an_unknown_number_fails_the_run() {
    let repository = repository("// covers: R7\n#[test]\nfn good() {}\n");
    let examined = examine(repository.path(), Mode::Write).unwrap();
    let fault = "unknown numbers are claimed: correct the claims, or add the numbers to docs/ledger.md";
    assert_eq!(examined.faults, [fault]);
    assert!(
        examined.summary.contains("R7\tguildhall-x good (crates/x/src/lib.rs:1)"),
        "{}",
        examined.summary
    );
}

#[test]
fn a_claim_of_a_failed_test_fails_the_run_and_writes_nothing() {
    let repository = repository("// covers: R1\n#[test]\nfn bad() {}\n");
    let examined = examine(repository.path(), Mode::Write).unwrap();
    assert!(
        examined.faults[0].contains("tests with claims did not pass: run the whole suite"),
        "{:?}",
        examined.faults
    );
    assert!(examined.summary.ends_with("\nledger_covered=0/2"), "{}", examined.summary);
    assert_eq!(page_of(&repository), None);
}

#[test]
fn a_claim_that_cannot_be_read_fails_the_run_with_its_place() {
    let repository = repository("// covers: nine\n#[test]\nfn good() {}\n");
    let error = examine(repository.path(), Mode::Write).unwrap_err().to_string();
    assert!(error.contains("crates/x/src/lib.rs:1: `nine` is not a number of the ledger"), "{error}");
}
