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

/// Shows claims as `number binary path line`.
fn claimed(source: &str) -> Vec<String> {
    let Claims { claims, faults } = read_source(source);
    assert!(faults.is_empty(), "{faults:?}");
    claims.iter().map(|claim| format!("{} {} {}", claim.number, claim.test, claim.place)).collect()
}

#[test]
fn a_claim_belongs_to_the_test_below_it() {
    let source = "// covers: R9, A4\n#[test]\nfn seq_grows() {}\n";
    let expected = [
        "A4 guildhall-x a::seq_grows crates/x/src/a.rs:1",
        "R9 guildhall-x a::seq_grows crates/x/src/a.rs:1",
    ];
    assert_eq!(claimed(source), expected);
}

#[test]
fn attributes_and_comments_may_stand_between() {
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
    assert_eq!(claimed(source), expected);
}

#[test]
fn inline_modules_are_part_of_the_name_and_texts_are_not_code() {
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
    assert_eq!(claimed(source), expected);
}

#[test]
fn a_claim_without_a_test_below_is_a_fault() {
    for (below, why) in [
        ("fn helper() {}\n", "`fn helper` is no test"),
        ("\n#[test]\nfn x() {}\n", "an empty line follows"),
        ("#[test]\n\nfn x() {}\n", "an empty line follows"),
        ("struct X;\n#[test]\nfn x() {}\n", "something else follows"),
        ("mod tests {}\n", "a module follows"),
        ("", "the file ends"),
    ] {
        let fault = format!(
            "crates/x/src/a.rs:2: this claim has no test below it ({why}): put it directly above a test, or remove it"
        );
        let expected = Claims { claims: Vec::new(), faults: vec![fault] };
        assert_eq!(read_source(&format!("\n// covers: R9, A4\n{below}")), expected, "{below}");
    }
}

#[test]
fn a_malformed_number_is_a_fault() {
    let expected = "crates/x/src/a.rs:1: `A4 R9` is not a number of the ledger: write one like R9 or M17a, with commas between";
    assert_eq!(read_source("// covers: A4 R9\n#[test]\nfn x() {}\n").faults, [expected]);
    assert_eq!(read_source("// covers: R1,\n#[test]\nfn x() {}\n").faults.len(), 1);
}

#[test]
fn a_claim_in_another_form_is_a_fault_and_not_passed_over() {
    let expected =
        "crates/x/src/a.rs:1: a claim is a line of its own: write `// covers: R9, A4` above the test";
    for form in [
        "/// covers: R9",
        "//covers: R9",
        "// Covers: R9",
        "// covers:R9",
        "/* covers: R9 */",
        "use a; // covers: R9",
    ] {
        assert_eq!(read_source(&format!("{form}\n#[test]\nfn x() {{}}\n")).faults, [expected], "{form}");
    }
}

#[test]
fn a_test_of_a_binary_cannot_claim() {
    let mut found = Claims::default();
    found.read_file("crates/x/src/main.rs", "// covers: R9\n#[test]\nfn x() {}\n", None);
    let fault = "crates/x/src/main.rs:1: a binary's own tests cannot claim: move the test to the library or to tests/it";
    assert_eq!(found, Claims { claims: Vec::new(), faults: vec![fault.to_owned()] });
}
