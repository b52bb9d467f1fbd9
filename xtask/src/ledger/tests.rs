//! Runs the command on a small temporary repository.

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
fn written_page_passes_the_check() {
    let repository = repository("// covers: R1\n#[test]\nfn good() {}\n");
    for mode in [Mode::Write, Mode::Check] {
        let report = build_report(repository.path(), mode).unwrap();
        assert_eq!(report.errors, [] as [String; 0]);
        assert!(report.summary.ends_with("\nledger_covered=1/2"), "{}", report.summary);
    }
    assert!(page_of(&repository).unwrap().contains("| R1 | one | `guildhall-x good` |"));
}

#[test]
fn outdated_page_is_an_error_and_stays_unchanged() {
    let repository = repository("");
    for planted in [None, Some("planted".to_owned())] {
        if let Some(text) = &planted {
            fs::write(repository.path().join(CONFORMANCE), text).unwrap();
        }
        let report = build_report(repository.path(), Mode::Check).unwrap();
        assert_eq!(
            report.errors,
            ["docs/conformance.md is out of date: run `cargo xtask ledger` and commit it"]
        );
        assert_eq!(page_of(&repository), planted);
    }
}

#[test]
fn claim_of_an_unknown_requirement_is_an_error() {
    let repository = repository("// covers: R7\n#[test]\nfn good() {}\n");
    let report = build_report(repository.path(), Mode::Write).unwrap();
    let expected = "tests claim unknown requirements: correct the claims, or add them to docs/ledger.md";
    assert_eq!(report.errors, [expected]);
    assert!(report.summary.contains("R7\tguildhall-x good (crates/x/src/lib.rs:1)"), "{}", report.summary);
}

#[test]
fn claim_of_a_failed_test_is_an_error_and_writes_nothing() {
    let repository = repository("// covers: R1\n#[test]\nfn bad() {}\n");
    let report = build_report(repository.path(), Mode::Write).unwrap();
    assert!(
        report.errors[0].contains("tests that claim requirements did not pass: run the whole suite"),
        "{:?}",
        report.errors
    );
    assert!(report.summary.ends_with("\nledger_covered=0/2"), "{}", report.summary);
    assert_eq!(page_of(&repository), None);
}

#[test]
fn invalid_claim_is_an_error_with_its_position() {
    let repository = repository("// covers: nine\n#[test]\nfn good() {}\n");
    let error = build_report(repository.path(), Mode::Write).unwrap_err().to_string();
    assert!(error.contains("crates/x/src/lib.rs:1: `nine` is not a requirement id"), "{error}");
}
