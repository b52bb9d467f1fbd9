use crate::support::guildhall;

fn said(command: &mut std::process::Command) -> String {
    let output = command.output().expect("ran");
    assert!(!output.status.success(), "it should have been refused");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_mistyped_key_is_named_with_the_right_one() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("guildhall.toml"), "[http]\nlisten_on = \"127.0.0.1:0\"\nlistn = 1\n")
        .expect("written");
    let said = said(guildhall().args(["config", "check"]).current_dir(folder.path()));
    assert!(said.contains("unknown key `http.list") && said.contains("guildhall config example"), "{said}");
}

#[test]
fn a_password_among_the_arguments_is_refused_and_not_repeated() {
    let said = said(guildhall().args(["serve", "--pg-url", "postgres://me:hunter2@127.0.0.1/db"]));
    assert!(said.contains("GUILDHALL_POSTGRES_URL"), "{said}");
    assert_eq!(said.matches("hunter2").count(), 0, "{said}");
}

#[test]
fn a_missing_engine_says_how_to_get_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = guildhall();
    let said = said(command.args(["dev", "--ephemeral"]).env("GUILDHALL_ENGINE_PG_BIN", folder.path()));
    for way_out in ["apt-get install postgresql", "GUILDHALL_ENGINE_PG_BIN", "--pg-url"] {
        assert!(said.contains(way_out), "{said}");
    }
}

#[test]
fn help_shows_what_there_is_with_examples() {
    let output = guildhall().arg("--help").output().expect("ran");
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout));
}
