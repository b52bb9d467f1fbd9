use super::*;

/// Reads `source` as crates/x/src/a.rs.
fn read_source(source: &str) -> Claims {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crates/x/src/a.rs");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, source).unwrap();
    fs::write(folder.path().join("crates/x/Cargo.toml"), "[package]\nname = \"guildhall-x\"\n").unwrap();
    scan(folder.path()).unwrap()
}

/// Returns the claims as `id binary path position`.
fn claims_of(source: &str) -> Vec<String> {
    let Claims { claims, errors } = read_source(source);
    assert!(errors.is_empty(), "{errors:?}");
    claims.iter().map(|claim| format!("{} {} {}", claim.id, claim.test, claim.position)).collect()
}

#[test]
fn claim_belongs_to_the_test_below() {
    let source = "// covers: R9, A4\n#[test]\nfn seq_grows() {}\n";
    let expected = [
        "A4 guildhall-x a::seq_grows crates/x/src/a.rs:1",
        "R9 guildhall-x a::seq_grows crates/x/src/a.rs:1",
    ];
    assert_eq!(claims_of(source), expected);
}

#[test]
fn attributes_and_comments_between_claim_and_test_are_allowed() {
    let source = "\
/// Why.
// covers: R9
// More.
/// Why again.
#[tokio::test(
    flavor = \"multi_thread\"
)]
#[expect(clippy::unwrap_used, reason = \"fn ] }\")]
// covers: M17a
async fn it_holds() {}
";
    let expected = [
        "M17a guildhall-x a::it_holds crates/x/src/a.rs:9",
        "R9 guildhall-x a::it_holds crates/x/src/a.rs:2",
    ];
    assert_eq!(claims_of(source), expected);
}

#[test]
fn inline_modules_are_in_the_name_and_strings_are_not_code() {
    let source = "\
fn code() -> char { '{' }
mod closed { fn x() {} }
mod elsewhere;
#[cfg(test)]
mod tests {
    const BODY: &str = r#\"
}
mod fake {
// covers: R99
\"#;
    mod deep {
        // covers: R1
        #[test]
        fn first() { if true {} }
    }
    proptest! {
        // covers: R2
        #[test]
        fn second(a in 0..5) {}
    }
}
";
    let expected = [
        "R1 guildhall-x a::tests::deep::first crates/x/src/a.rs:12",
        "R2 guildhall-x a::tests::second crates/x/src/a.rs:17",
    ];
    assert_eq!(claims_of(source), expected);
}

#[test]
fn claim_without_a_test_below_is_an_error() {
    for (below, reason) in [
        ("fn helper() {}\n", "`fn helper` is not a test"),
        ("\n#[test]\nfn x() {}\n", "an empty line follows"),
        ("#[test]\n\nfn x() {}\n", "an empty line follows"),
        ("struct X;\n#[test]\nfn x() {}\n", "something else follows"),
        ("mod tests {}\n", "a module follows"),
        ("", "the file ends"),
    ] {
        let error = format!(
            "crates/x/src/a.rs:2: this claim has no test below it ({reason}): put it directly above a test, or remove it"
        );
        let expected = Claims { claims: Vec::new(), errors: vec![error] };
        assert_eq!(read_source(&format!("\n// covers: R9, A4\n{below}")), expected, "{below}");
    }
}

#[test]
fn malformed_id_is_an_error() {
    let expected = "crates/x/src/a.rs:1: `A4 R9` is not a requirement id: write one like R9 or M17a, separated by commas";
    assert_eq!(read_source("// covers: A4 R9\n#[test]\nfn x() {}\n").errors, [expected]);
    assert_eq!(read_source("// covers: R1,\n#[test]\nfn x() {}\n").errors.len(), 1);
}

#[test]
fn claim_in_another_form_is_an_error() {
    let expected =
        "crates/x/src/a.rs:1: a claim needs its own line: write `// covers: R9, A4` above the test";
    for form in [
        "/// covers: R9",
        "//covers: R9",
        "// Covers: R9",
        "// covers:R9",
        "/* covers: R9 */",
        "use a; // covers: R9",
    ] {
        assert_eq!(read_source(&format!("{form}\n#[test]\nfn x() {{}}\n")).errors, [expected], "{form}");
    }
}

#[test]
fn test_in_a_binary_cannot_claim() {
    let mut found = Claims::default();
    found.read_file("crates/x/src/main.rs", "// covers: R9\n#[test]\nfn x() {}\n", None);
    let error = "crates/x/src/main.rs:1: tests in a binary's sources cannot claim requirements: move the test to the library or to tests/it";
    assert_eq!(found, Claims { claims: Vec::new(), errors: vec![error.to_owned()] });
}
