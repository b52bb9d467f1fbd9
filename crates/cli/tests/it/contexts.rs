//! `guildhall context` against a real server.

use serde_json::{Value, json};

use crate::support::user::{CliUser, DevServer, stderr};

#[test]
fn contexts_are_listed_and_switched() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    let second =
        ["login", "--url", &server.url, "--name", "admin", "--context", "second", "--password-stdin"];
    assert_eq!(user.run_with_stdin(&second, &server.password).status.code(), Some(0));
    let contexts = user.json(&["context", "ls"]);
    let current = |contexts: &Value| -> Vec<bool> {
        contexts["contexts"].as_array().expect("a list").iter().map(|it| it["current"] == true).collect()
    };
    assert_eq!(current(&contexts), [false, true]);
    let first = contexts["contexts"][0]["context"].as_str().expect("a name");
    user.json(&["context", "use", first]);
    assert_eq!(current(&user.json(&["context", "ls"])), [true, false]);
    user.json(&["whoami", "--context", "second"]);
    assert_eq!(user.run(&["context", "use", "third"]).status.code(), Some(4));
}

#[test]
fn removed_context_has_no_login_here_or_at_the_server() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    let first = user.json(&["context", "show"])["context"].as_str().expect("a name").to_owned();
    let second =
        ["login", "--url", &server.url, "--name", "admin", "--context", "second", "--password-stdin"];
    assert_eq!(user.run_with_stdin(&second, &server.password).status.code(), Some(0));
    let stored = || std::fs::read_to_string(user.config_path("tokens.json")).expect("tokens");
    let before = stored();

    let current = user.run(&["context", "rm", "second"]);
    assert_eq!(current.status.code(), Some(1), "other contexts would be left without a current one");
    assert!(stderr(&current).contains("next: select another one"), "{}", stderr(&current));
    assert_eq!(user.run(&["context", "rm", "third"]).status.code(), Some(4));

    let removed = user.json(&["context", "rm", &first]);
    assert_eq!(removed, json!({ "context": first, "removed": true, "signedOut": true }));
    let names = |list: Value| list["contexts"].as_array().expect("a list").len();
    assert_eq!(names(user.json(&["context", "ls"])), 1);
    assert!(!stored().contains(&first), "the tokens of the context are deleted");
    user.json(&["whoami"]);

    // Put the tokens and the context back: the server has ended the login.
    std::fs::write(user.config_path("tokens.json"), before).expect("written");
    let contexts = json!({ "current": first, "contexts": {
        first.as_str(): { "url": format!("{}/", server.url), "name": "admin" },
        "second": { "url": format!("{}/", server.url), "name": "admin" },
    }});
    std::fs::write(user.config_path("contexts.json"), contexts.to_string()).expect("written");
    assert_ne!(user.run(&["whoami"]).status.code(), Some(0));
    user.json(&["whoami", "--context", "second"]);
}

#[test]
fn last_context_is_removed_after_its_server_has_stopped() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    let name = user.json(&["context", "show"])["context"].as_str().expect("a name").to_owned();
    drop(server);
    let removed = user.json(&["context", "rm", &name]);
    assert_eq!(removed, json!({ "context": name, "removed": true, "signedOut": false }));
    assert_eq!(user.json(&["context", "ls"]), json!({ "contexts": [] }));
    assert_eq!(std::fs::read_to_string(user.config_path("tokens.json")).expect("tokens"), "{}");
}

#[test]
fn commands_without_tenant_use_the_tenant_of_the_context() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    for tenant in ["acme", "other"] {
        user.json(&["tenants", "create", tenant]);
    }
    let commands: [&[&str]; 5] = [
        &["members", "ls"],
        &["keys", "ls"],
        &["invitations", "ls"],
        &["enrolments", "ls"],
        &["audit", "tail"],
    ];
    for command in commands {
        let ambiguous = user.run(command);
        assert_eq!(ambiguous.status.code(), Some(2), "{command:?}");
        assert!(stderr(&ambiguous).contains("add --tenant"), "{command:?}: {}", stderr(&ambiguous));
    }
    user.json(&["context", "tenant", "other"]);
    let key = user.json(&["keys", "create", "ci", "--role", "viewer"]);
    for command in commands {
        assert_eq!(user.run(command).status.code(), Some(0), "{command:?}");
    }
    let ids = |args: &[&str]| user.json(args)["keys"].as_array().expect("keys").clone();
    assert_eq!(ids(&["keys", "ls", "--tenant", "other"])[0]["id"], key["id"]);
    assert_eq!(ids(&["keys", "ls", "--tenant", "acme"]), Vec::<Value>::new());
    assert_eq!(user.run(&["audit", "tail", "--installation"]).status.code(), Some(0));
    let both = user.run(&["audit", "tail", "--installation", "--tenant", "acme"]);
    assert_eq!(both.status.code(), Some(2));
}
