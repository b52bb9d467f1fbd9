//! Client commands against a real server.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use guildhall_testkit::Stopwatch;
use serde_json::Value;

use crate::support::user::{CliUser, DevServer, stderr, stdout};

#[test]
fn key_creation_and_revocation_are_in_the_audit_log() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    let me = user.json(&["whoami"]);
    assert_eq!((me["kind"].as_str(), me["operator"].as_bool()), (Some("user"), Some(true)));

    let tenant = user.json(&["tenants", "create", "acme", "--name", "Acme Inc."]);
    assert_eq!(user.json(&["tenants", "show", "acme"]), tenant);
    assert_eq!(user.json(&["tenants", "ls"])["tenants"][0]["tenant"], tenant);
    let key = user.json(&["keys", "create", "ci", "--role", "developer", "--tenant", "acme"]);
    let (id, secret) = (key["id"].as_str().expect("an id"), key["secret"].as_str().expect("a secret"));
    let by_id = tenant["id"].as_str().expect("an id");
    user.json(&["keys", "revoke", id, "--tenant", by_id]);
    let keys = user.json(&["keys", "ls", "--tenant", "acme"]);
    assert!(keys["keys"][0]["revokedAt"].is_string(), "{keys}");

    let tail = user.run(&["audit", "tail", "--tenant", "acme"]);
    let text = stdout(&tail);
    assert!(text.contains("key.created") && text.contains("key.revoked") && text.contains(id), "{text}");
    assert!(!text.contains(secret), "the audit log contains a secret");
    let installation = stdout(&user.run(&["audit", "tail", "--installation"]));
    assert!(
        installation.contains("login.created") && !installation.contains("key.created"),
        "{installation}"
    );
    let last = stdout(&user.run(&["audit", "tail", "-n", "1", "--json", "--tenant", "acme"]));
    let last: Value = serde_json::from_str(&last).expect("one entry");
    assert_eq!((last["action"].as_str(), last["body"]["object"].as_str()), (Some("key.revoked"), Some(id)));
}

#[test]
fn users_are_created_given_a_role_and_removed() {
    let (server, admin, ada) = (DevServer::ephemeral(), CliUser::new(), CliUser::new());
    admin.login(&server);
    admin.json(&["tenants", "create", "acme"]);
    let password = "a password of twenty-nine chars";
    let created = admin.run_with_stdin(&["users", "create", "ada", "--password-stdin", "--json"], password);
    let created: Value = serde_json::from_slice(&created.stdout).expect("JSON");
    let principal = created["principal"].as_str().expect("an id");
    let added = admin.json(&["members", "add", "ada", "--role", "viewer", "--tenant", "acme"]);
    assert_eq!(added["principal"], principal);
    let unknown = admin.run(&["members", "add", "nobody", "--role", "viewer", "--tenant", "acme"]);
    assert_eq!(unknown.status.code(), Some(4), "{}", stderr(&unknown));
    admin.json(&["members", "set", "ada", "--role", "developer", "--tenant", "acme"]);
    let members = stdout(&admin.run(&["members", "ls", "--tenant", "acme"]));
    assert!(members.lines().any(|line| line.starts_with("ada ") && line.contains("developer")), "{members}");

    admin.json(&["keys", "create", "ada", "--role", "viewer", "--tenant", "acme"]);
    let ambiguous = admin.run(&["members", "rm", "ada", "--tenant", "acme"]);
    assert_eq!(ambiguous.status.code(), Some(2), "{}", stderr(&ambiguous));

    let login = ["login", "--url", &server.url, "--name", "ada", "--password-stdin"];
    assert_eq!(ada.run_with_stdin(&login, password).status.code(), Some(0));
    let forbidden = ada.run(&["audit", "tail", "--tenant", "acme"]);
    assert_eq!(forbidden.status.code(), Some(4), "{}", stderr(&forbidden));
    assert!(stderr(&forbidden).contains("audit:read"), "{}", stderr(&forbidden));
    admin.json(&["members", "rm", principal, "--tenant", "acme"]);
    let gone = ada.run(&["tenants", "show", "acme"]);
    assert_eq!(gone.status.code(), Some(4));
    assert!(stderr(&gone).contains("next: `guildhall tenants ls`"), "{}", stderr(&gone));
}

#[test]
fn user_is_found_disabled_enabled_and_signed_out() {
    let (server, admin, ada) = (DevServer::ephemeral(), CliUser::new(), CliUser::new());
    admin.login(&server);
    let (old, new) = ("a password of twenty-nine chars", "another password, just as long");
    admin.run_with_stdin(&["users", "create", "ada", "--password-stdin"], old);
    let login = ["login", "--url", &server.url, "--name", "ada", "--password-stdin"];
    let sign_in = |password: &str| ada.run_with_stdin(&login, password).status.code();
    assert_eq!(sign_in(old), Some(0));
    let listed = stdout(&admin.run(&["users", "ls", "--prefix", "AD"]));
    assert!(listed.lines().any(|line| line.starts_with("ada ") && line.contains("active")), "{listed}");
    let passwd = ada.run_with_stdin(&["passwd", "--password-stdin", "--json"], &format!("{old}\n{new}\n"));
    assert_eq!(passwd.status.code(), Some(0), "{}", stderr(&passwd));
    assert_eq!(stdout(&passwd), "{\"endedLogins\":0}\n");
    let one_line = ada.run_with_stdin(&["passwd", "--password-stdin"], new);
    assert_eq!(one_line.status.code(), Some(2), "{}", stderr(&one_line));
    assert_eq!(ada.run(&["whoami"]).status.code(), Some(0));

    let disabled = admin.json(&["users", "disable", "ada"]);
    assert!(disabled["disabledAt"].is_string(), "{disabled}");
    assert_eq!(ada.run(&["whoami"]).status.code(), Some(5));
    assert_ne!(sign_in(new), Some(0));
    assert_eq!(admin.json(&["users", "enable", "ada"])["disabledAt"], Value::Null);
    assert_eq!(sign_in(new), Some(0));
    assert_eq!(admin.json(&["users", "end-logins", "ada"])["endedLogins"], 1);
    let reset = admin.run_with_stdin(&["users", "reset-password", "ada", "--password-stdin"], old);
    assert_eq!(reset.status.code(), Some(0), "{}", stderr(&reset));
    assert_eq!((sign_in(new), sign_in(old)), (Some(5), Some(0)));
    assert_eq!(ada.json(&["logout", "--all"])["endedLogins"], 1);
    let shown = stdout(&admin.run(&["users", "show", "ada"]));
    assert!(shown.contains("signs in with  password"), "{shown}");
    let unknown = admin.run(&["users", "unlock", "nobody"]);
    assert_eq!(unknown.status.code(), Some(4), "{}", stderr(&unknown));
    let last = admin.run(&["users", "disable", "admin"]);
    assert!(stderr(&last).contains("last operator"), "{}", stderr(&last));
}

#[test]
fn project_setup_is_set_shown_and_cleared() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    user.json(&["tenants", "create", "acme"]);
    let created = user.json(&["projects", "create", "website", "--tenant", "acme"]);
    let set = user.json(&[
        "projects",
        "setup",
        "website",
        "--command",
        "set -e\nnpm ci",
        "--host",
        "packages.example.com",
        "--host",
        "*.example.org",
        "--cache-file",
        "package-lock.json",
        "--tenant",
        "acme",
    ]);
    let setup = serde_json::json!({
        "command": "set -e\nnpm ci",
        "allowedHosts": ["packages.example.com", "*.example.org"],
        "cacheFiles": ["package-lock.json"],
    });
    assert_eq!(set["setup"], setup);
    let id = created["id"].as_str().expect("an id");
    assert_eq!(user.json(&["projects", "show", id, "--tenant", "acme"]), set);
    let shown = stdout(&user.run(&["projects", "show", "website", "--tenant", "acme"]));
    let lines: Vec<_> = shown.lines().filter(|line| !line.starts_with("created ")).collect();
    let expected = [
        "project        website",
        "name           website",
        &format!("id             {id}"),
        r"setup          set -e\nnpm ci",
        "allowed hosts  packages.example.com, *.example.org",
        "cache files    package-lock.json",
    ];
    assert_eq!(lines, expected);

    let invalid = user.run(&["projects", "setup", "website", "--command", " ", "--tenant", "acme"]);
    assert_eq!(invalid.status.code(), Some(1), "{}", stderr(&invalid));
    assert!(stderr(&invalid).contains("command: use 1 to 4096 bytes"), "{}", stderr(&invalid));
    for incomplete in [&[][..], &["--clear", "--command", "make"], &["--clear", "--host", "example.com"]] {
        let usage = [&["projects", "setup", "website", "--tenant", "acme"], incomplete].concat();
        assert_eq!(user.run(&usage).status.code(), Some(2), "{incomplete:?}");
    }
    let missing = user.run(&["projects", "show", "nothing", "--tenant", "acme"]);
    assert_eq!(missing.status.code(), Some(4), "{}", stderr(&missing));
    assert_eq!(user.json(&["projects", "show", "website", "--tenant", "acme"]), set);
    assert_eq!(user.json(&["projects", "setup", "website", "--clear", "--tenant", "acme"]), created);
}

#[test]
fn projects_and_enrolments_are_created_listed_and_revoked() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    user.json(&["tenants", "create", "acme"]);
    let project = user.json(&["projects", "create", "website", "--name", "The website", "--tenant", "acme"]);
    assert_eq!(project["name"], "The website");
    assert_eq!(user.json(&["projects", "ls", "--tenant", "acme"])["projects"][0], project);
    let again = user.run(&["projects", "create", "website", "--tenant", "acme"]);
    assert_eq!(again.status.code(), Some(1), "{}", stderr(&again));

    let create =
        ["enrolments", "create", "gpu machines", "--profile", "gpu", "--days", "30", "--tenant", "acme"];
    let created = user.json(&create);
    let (id, secret) = (created["id"].as_str().expect("an id"), created["secret"].as_str().expect("a token"));
    let list = stdout(&user.run(&["enrolments", "ls", "--tenant", "acme"]));
    assert!(list.contains(id) && list.contains("gpu") && !list.contains(secret), "{list}");
    user.json(&["enrolments", "revoke", id, "--tenant", "acme"]);
    let list = user.json(&["enrolments", "ls", "--tenant", "acme"]);
    assert!(list["enrolments"][0]["revokedAt"].is_string(), "{list}");
    let too_long = user.run(&["enrolments", "create", "x", "--days", "366", "--tenant", "acme"]);
    assert_eq!(too_long.status.code(), Some(2), "{}", stderr(&too_long));
}

#[test]
fn invitation_is_accepted_and_its_secret_is_never_listed() {
    let (server, admin, ada) = (DevServer::ephemeral(), CliUser::new(), CliUser::new());
    admin.login(&server);
    admin.json(&["tenants", "create", "acme"]);
    let password = "a password of twenty-nine chars";
    admin.run_with_stdin(&["users", "create", "ada", "--password-stdin", "--json"], password);
    ada.run_with_stdin(&["login", "--url", &server.url, "--name", "ada", "--password-stdin"], password);
    let args =
        ["invitations", "create", "--role", "developer", "--email", "ada@example.org", "--tenant", "acme"];
    let (created, revoked) = (admin.json(&args), admin.json(&args));
    let id = revoked["id"].as_str().expect("an id");
    admin.json(&["invitations", "revoke", id, "--tenant", "acme"]);
    let refused =
        ada.run_with_stdin(&["invitations", "accept"], revoked["secret"].as_str().expect("a secret"));
    assert_eq!(refused.status.code(), Some(4), "{}", stderr(&refused));
    let secret = created["secret"].as_str().expect("a secret");
    let joined = ada.run_with_stdin(&["invitations", "accept", "--json"], secret);
    let joined: Value = serde_json::from_slice(&joined.stdout).expect("JSON");
    assert_eq!(joined["role"], "developer");
    let listed = stdout(&admin.run(&["invitations", "ls", "--tenant", "acme"]));
    assert!(
        listed.contains("accepted by prn_") && listed.contains("revoked ") && !listed.contains(secret),
        "{listed}"
    );
}

#[test]
fn command_without_login_exits_3_with_next_step() {
    let user = CliUser::new();
    for args in [&["whoami"][..], &["tenants", "ls"], &["audit", "tail", "--tenant", "acme"], &["logout"]] {
        let output = user.run(args);
        assert_eq!(output.status.code(), Some(5), "{args:?}");
        assert_eq!(
            stderr(&output),
            "error: you are not signed in\n  next: `guildhall login` signs you in\n",
            "{args:?}"
        );
    }
}

#[test]
fn logout_deletes_and_invalidates_the_tokens() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    let tokens = std::fs::read_to_string(user.config_path("tokens.json")).expect("tokens");
    user.json(&["logout"]);
    assert_eq!(user.run(&["whoami"]).status.code(), Some(5));
    assert_eq!(std::fs::read_to_string(user.config_path("tokens.json")).expect("readable"), "{}");
    // Restore the old tokens: the server must reject them.
    std::fs::write(user.config_path("tokens.json"), tokens).expect("written");
    let output = user.run(&["whoami"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    user.expire_tokens();
    let output = user.run(&["whoami"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stderr(&output).contains("has ended\n  next: `guildhall login`"), "{}", stderr(&output));
}

#[test]
fn login_in_the_dev_folder_needs_no_input() {
    let user = CliUser::new();
    let folder = tempfile::Builder::new().prefix("guildhall-cli-").tempdir().expect("a folder");
    let server = DevServer::persistent(&folder.path().join(".guildhall"), "127.0.0.1:0");
    let output = user
        .command(&["login", "--url", &server.url])
        .current_dir(folder.path())
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("as admin (prn_"), "{}", stdout(&output));
    let host = server.url.strip_prefix("http://").expect("http");
    assert_eq!(user.json(&["context", "show"])["context"], format!("admin@{host}"));
}

#[test]
fn secrets_are_not_in_errors_or_world_readable_files() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    let wrong = user.run_with_stdin(
        &["login", "--url", &server.url, "--name", "admin", "--password-stdin"],
        "not-the-password-hunter2",
    );
    assert_eq!(wrong.status.code(), Some(5));
    let message = stdout(&wrong) + &stderr(&wrong);
    assert!(
        message.contains("next: check the name and the password") && !message.contains("hunter2"),
        "{message}"
    );
    let in_url = user.run(&["login", "--url", "http://admin:hunter2@127.0.0.1:1", "--name", "admin"]);
    assert!(!stderr(&in_url).contains("hunter2"), "{}", stderr(&in_url));

    user.login(&server);
    let mode =
        |file: &str| std::fs::metadata(user.config_path(file)).expect("a file").permissions().mode() & 0o777;
    assert_eq!((mode("tokens.json"), mode("contexts.json"), mode("")), (0o600, 0o600, 0o700));
    let stored: Value =
        serde_json::from_slice(&std::fs::read(user.config_path("tokens.json")).expect("tokens"))
            .expect("JSON");
    let stored = stored.as_object().and_then(|contexts| contexts.values().next()).expect("a login").clone();
    let tokens =
        ["accessToken", "refreshToken"].map(|name| stored[name].as_str().expect("a token").to_owned());

    std::fs::set_permissions(user.config_path("tokens.json"), std::fs::Permissions::from_mode(0o644))
        .expect("set");
    let refused = user.run(&["whoami"]);
    assert!(stderr(&refused).contains("chmod 600"), "{}", stderr(&refused));
    std::fs::write(user.config_path("tokens.json"), format!("{{\"x\": {:?}", tokens[0])).expect("written");
    std::fs::set_permissions(user.config_path("tokens.json"), std::fs::Permissions::from_mode(0o600))
        .expect("set");
    let broken = user.run(&["whoami"]);
    assert_eq!(broken.status.code(), Some(1));
    for secret in tokens.iter().chain([&server.password]) {
        assert!(!(stderr(&broken) + &stderr(&refused)).contains(secret), "a secret was shown");
    }
}

#[test]
fn audit_verify_proves_an_export_and_names_a_changed_line() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    user.json(&["tenants", "create", "acme"]);
    for name in ["a", "b", "c"] {
        user.json(&["keys", "create", name, "--role", "viewer", "--tenant", "acme"]);
    }
    let public_key = stdout(&user.run(&["audit", "public-key"]));
    let arguments = ["audit", "verify", "-", "--json", "--public-key", public_key.trim()];
    let verify = |text: &str| user.run_with_stdin(&arguments, text);
    let started = Stopwatch::start();
    let (export, verdict) = loop {
        let export = stdout(&user.run(&["audit", "export", "--tenant", "acme"]));
        let verdict: Value = serde_json::from_slice(&verify(&export).stdout).expect("JSON");
        if verdict["unsealed"] == 0 {
            break (export, verdict);
        }
        assert!(started.elapsed() < Duration::from_secs(30), "not sealed after 30 s: {verdict}");
        std::thread::sleep(Duration::from_millis(200));
    };
    assert_eq!(verdict["ok"], true);
    assert_eq!(verdict["proved"].as_u64(), u64::try_from(export.lines().count()).ok());
    assert_eq!(verdict["signedTo"], verdict["proved"]);
    let lines: Vec<&str> = export.lines().collect();
    let changed = lines[2].replacen("created", "creaped", 1);
    let flipped = export.replace(lines[2], &changed);
    let verdict = verify(&flipped);
    assert_eq!(verdict.status.code(), Some(1));
    let error: Value = serde_json::from_str(&stderr(&verdict)).expect("JSON");
    assert!(error["message"].as_str().is_some_and(|message| message.starts_with("line 3: ")), "{error}");
}

#[test]
fn unreachable_server_is_named_with_next_step() {
    let user = CliUser::new();
    let output = user
        .run_with_stdin(&["login", "--url", "http://127.0.0.1:1", "--name", "me", "--password-stdin"], "x");
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(
        message.contains("cannot reach the server at http://127.0.0.1:1/") && message.contains("next:"),
        "{message}"
    );
}

#[test]
fn rate_limited_command_prints_the_wait_time() {
    // `dev` has created the AID of its user with the first one.
    let (server, user) =
        (DevServer::ephemeral_with(&[("GUILDHALL_LIMITS_MUTATION", "2/24h")]), CliUser::new());
    user.login(&server);
    user.json(&["tenants", "create", "acme"]);
    let refused = user.run(&["tenants", "create", "one-too-many"]);
    assert_eq!(refused.status.code(), Some(1));
    let message = stderr(&refused);
    let wait = message.split_once("next: wait ").and_then(|(_, rest)| rest.split_once(" s, then retry"));
    let seconds: u32 = wait.and_then(|(seconds, _)| seconds.parse().ok()).expect(&message);
    assert!((1..=86_400).contains(&seconds) && message.contains("the tier mutation"), "{message}");
}
