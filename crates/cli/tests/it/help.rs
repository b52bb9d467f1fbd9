//! Snapshots of the help text of each client command.

use crate::support::guildhall;

fn help(args: &[&str]) -> String {
    // A fixed width: the terminal must not change the snapshot.
    let output =
        guildhall().args(args).arg("--help").env("COLUMNS", "100").output().expect("the command runs");
    assert!(output.status.success(), "{args:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const COMMANDS: &[&[&str]] = &[
    &["login"],
    &["logout"],
    &["passwd"],
    &["whoami"],
    &["context"],
    &["tenants"],
    &["tenants", "create"],
    &["tenants", "bounds"],
    &["users"],
    &["users", "create"],
    &["users", "ls"],
    &["users", "disable"],
    &["users", "reset-password"],
    &["members"],
    &["members", "add"],
    &["members", "set"],
    &["invitations"],
    &["invitations", "create"],
    &["keys"],
    &["keys", "create"],
    &["projects"],
    &["projects", "create"],
    &["projects", "setup"],
    &["enrolments"],
    &["enrolments", "create"],
    &["runners"],
    &["profiles"],
    &["profiles", "set"],
    &["profiles", "check"],
    &["run"],
    &["runs"],
    &["runs", "create"],
    &["runs", "ls"],
    &["runs", "events"],
    &["runs", "send"],
    &["runs", "cancel"],
    &["approvals"],
    &["approvals", "ls"],
    &["approvals", "watch"],
    &["approvals", "policy"],
    &["approvals", "policy", "set"],
    &["git-credentials"],
    &["git-credentials", "set"],
    &["aid"],
    &["aid", "create"],
    &["aid", "login"],
    &["rpc"],
    &["send"],
    &["inbox"],
    &["chat"],
    &["transparency"],
    &["transparency", "verify"],
    &["webhooks"],
    &["webhooks", "add"],
    &["webhooks", "deliveries"],
    &["webhooks", "resend"],
    &["listen"],
    &["trigger"],
    &["sessions"],
    &["sessions", "ls"],
    &["sessions", "output"],
    &["audit"],
    &["audit", "tail"],
    &["audit", "export"],
    &["audit", "public-key"],
    &["audit", "verify"],
    &["manifest"],
    &["manifest", "lint"],
    &["manifest", "diff"],
    &["manifest", "push"],
    &["completions"],
    &["doctor"],
];

#[test]
fn client_command_help_matches_snapshot() {
    for args in COMMANDS {
        insta::with_settings!({ snapshot_suffix => args.join("_"), description => args.join(" ") }, {
            insta::assert_snapshot!(help(args));
        });
    }
}

#[test]
fn client_command_help_has_an_example() {
    for args in COMMANDS.iter().filter(|args| args.len() == 1) {
        assert!(help(args).contains("Examples:"), "{args:?}");
    }
}

#[test]
fn shell_completions_contain_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let output = guildhall().args(["completions", shell]).output().expect("the command runs");
        let script = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && script.contains("tenants") && script.contains("verify"),
            "{shell}"
        );
    }
    assert_eq!(
        guildhall().args(["completions", "csh"]).output().expect("the command runs").status.code(),
        Some(2)
    );
}
