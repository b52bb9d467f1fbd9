//! Approval policies on the command line.

use serde_json::json;

use crate::support::runner::string_field;
use crate::support::user::{CliUser, DevServer, stderr, stdout};

#[test]
fn policy_is_shown_and_replaced() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    user.json(&["tenants", "create", "acme"]);
    let shown = stdout(&user.run(&["approvals", "policy", "show", "--tenant", "acme"]));
    let expected = "version        1\nmode           first-responder\nexpires after  24h\non expiry      deny\n\
                    held for       10m\nreused within  24h\n";
    assert_eq!(shown, expected);

    let set = ["approvals", "policy", "set", "consensus", "--quorum", "2", "--veto", "--expires-after", "1h"];
    let more = ["--on-expiry", "escalate", "--hold-for", "90s", "--reuse-within", "2h", "--tenant", "acme"];
    let set = user.json(&[&set[..], &more[..]].concat());
    let expected = json!({
        "version": 2, "mode": "consensus", "approverId": null, "quorum": 2, "veto": true, "expiresAfterMs": 3_600_000,
        "onExpiry": "escalate", "holdForMs": 90_000, "reuseWithinMs": 7_200_000,
    });
    assert_eq!(set, expected);
    assert_eq!(user.json(&["approvals", "policy", "show", "--tenant", "acme"]), expected);

    // An option that is not given has its default; the approver is a member by name.
    let me = string_field(&user.json(&["whoami"]), "principal");
    let name = string_field(&user.json(&["members", "ls", "--tenant", "acme"])["members"][0], "name");
    let set = ["approvals", "policy", "set", "designated", "--approver", &name, "--if-version", "2"];
    let set = user.json(&[&set[..], &["--tenant", "acme"]].concat());
    let expected = json!({
        "version": 3, "mode": "designated", "approverId": me, "quorum": null, "veto": null,
        "expiresAfterMs": 86_400_000, "onExpiry": "deny", "holdForMs": 600_000, "reuseWithinMs": 86_400_000,
    });
    assert_eq!(set, expected);
    for (args, message) in [
        (&["designated", "--if-version", "2"][..], "the policy has been changed: it has version 3"),
        (&["first-responder", "--quorum", "2"][..], "quorum, veto: only for the mode consensus"),
        (&["designated", "--approver", "nobody"][..], "nobody"),
    ] {
        let args = [&["approvals", "policy", "set"], args, &["--tenant", "acme"]].concat();
        let refused = user.run(&args);
        assert!(!refused.status.success() && stderr(&refused).contains(message), "{}", stderr(&refused));
    }
    assert_eq!(user.json(&["approvals", "policy", "show", "--tenant", "acme"]), expected);
}
