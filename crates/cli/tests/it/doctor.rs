//! `guildhall doctor --config`: each fault is planted in real engines, and the whole report compared.

use std::net::TcpListener;

use guildhall_testkit::{PrivateEngines, TestDb, nats_url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::support::surroundings::{Surroundings, summary};
use crate::support::user::stdout;

/// The server checks in order, and what each needs.
const NEEDS: &[(&str, Option<&str>)] = &[
    ("config", None),
    ("secrets", Some("config")),
    ("postgres-reachable", Some("config")),
    ("postgres-auth", Some("postgres-reachable")),
    ("postgres-version", Some("postgres-auth")),
    ("postgres-durability", Some("postgres-version")),
    ("postgres-schema", Some("postgres-version")),
    ("postgres-clock", Some("postgres-version")),
    ("nats-reachable", Some("config")),
    ("nats-auth", Some("nats-reachable")),
    ("nats-version", Some("nats-auth")),
    ("nats-round-trip", Some("nats-version")),
    ("listener", Some("config")),
];

/// What a report must say when one check fails: what needs it is skipped, everything else is well.
fn expected(failed: Option<(&str, &str, &str)>) -> Value {
    let mut gone: Vec<&str> = Vec::new();
    let checks = NEEDS.iter().map(|(id, need)| match failed {
        Some((root, detail, fix)) if root == *id => {
            gone.push(id);
            json!([id, "failed", detail, fix])
        }
        Some((root, ..)) if need.is_some_and(|need| gone.contains(&need)) => {
            gone.push(id);
            json!([id, "skipped", root])
        }
        Some(_) | None => json!([id, "ok"]),
    });
    let checks: Vec<Value> = checks.collect();
    json!({
        "v": 1, "mode": "server", "ok": failed.is_none(), "rootCause": failed.map(|(root, ..)| root), "checks": checks,
    })
}

fn assert_found(surroundings: &Surroundings, root: &str, detail: &str, fix: &str) {
    let (report, text) = surroundings.examine();
    assert_eq!(summary(&report), expected(Some((root, detail, fix))));
    let said = stdout(&text);
    assert_eq!(text.status.code(), Some(1));
    assert!(said.contains(&format!("✗ {root}")) && said.contains(&format!("fix: {fix}")), "{said}");
    assert!(said.contains(&format!("begin with {root}: 1 failed")) && !said.contains('\u{1b}'), "{said}");
}

fn changed(url: &SecretString, change: impl FnOnce(&mut Url)) -> String {
    let mut url = Url::parse(url.expose_secret()).expect("an address");
    change(&mut url);
    url.to_string()
}

fn place(url: &str) -> String {
    let url = Url::parse(url).expect("an address");
    format!("{}:{}", url.host_str().expect("a host"), url.port().expect("a port"))
}

#[tokio::test]
async fn a_server_in_good_order_passes_every_check() {
    let db = TestDb::new().await;
    let (report, text) = Surroundings::new(&db.url(), &nats_url()).examine();
    assert_eq!(summary(&report), expected(None));
    assert_eq!((text.status.code(), stdout(&text).lines().last()), (Some(0), Some("all is well")));
    let empty = TestDb::empty().await;
    let (report, _) = Surroundings::new(&empty.url(), &nats_url()).examine();
    assert_eq!(summary(&report), expected(None), "an empty database is what a first start finds");
}

/// The whole form, as programs read it. What differs from machine to machine is cut out.
#[tokio::test]
async fn the_report_for_programs_has_its_documented_form() {
    let db = TestDb::new().await;
    let surroundings =
        Surroundings::new(&db.url(), &nats_url()).with("GUILDHALL_NATS_URL", "nats://me:pw-7f3a@127.0.0.1:1");
    let (mut report, _) = surroundings.examine();
    for check in report["checks"].as_array_mut().expect("checks") {
        let volatile = ["config", "postgres-reachable", "postgres-version", "postgres-schema", "listener"];
        if volatile.contains(&check["id"].as_str().expect("an id")) {
            assert!(check["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{check}");
            check["detail"] = json!("[differs from machine to machine]");
        }
    }
    insta::assert_json_snapshot!(report);
}

#[test]
fn an_unknown_key_is_named_and_nothing_else_is_looked_at() {
    let surroundings =
        Surroundings::new(&SecretString::from("postgres://x:pw-51c0@127.0.0.1:1/x"), &nats_url());
    let surroundings = surroundings.with_file("[http]\nlistne = \"127.0.0.1:0\"\n");
    let detail = "unknown key `http.listne` in guildhall.toml: did you mean `http.listen`?";
    assert_found(
        &surroundings,
        "config",
        detail,
        "guildhall config example   # lists every key; then correct it",
    );
}

#[tokio::test]
async fn a_secret_that_is_missing_or_that_others_can_read_is_found() {
    use std::os::unix::fs::PermissionsExt;
    let db = TestDb::new().await;
    let without = Surroundings::new(&db.url(), &nats_url()).with("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "");
    let make = "export GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY=$(openssl rand -hex 32)   # and keep it";
    assert_found(
        &without,
        "secrets",
        "identity.key_encryption_key is not set: no token could be signed",
        make,
    );

    let key = "5eed".repeat(16);
    let open = Surroundings::new(&db.url(), &nats_url())
        .with_file(&format!("[identity]\nkey_encryption_key = \"{key}\"\n"));
    let file = open.folder.path().join("guildhall.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("set");
    let detail = "others on this machine can read guildhall.toml, which holds identity.key_encryption_key";
    assert_found(&open, "secrets", detail, "chmod 600 guildhall.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("set");
    assert_eq!(summary(&open.examine().0), expected(None), "its command repairs it");
}

#[tokio::test]
async fn engines_that_are_down_are_told_apart_from_everything_behind_them() {
    let engines = PrivateEngines::start();
    let addresses = engines.addresses();
    let db = TestDb::migrated(addresses.clone()).await;
    let surroundings = Surroundings::new(&db.url(), &addresses.nats);
    assert_eq!(summary(&surroundings.examine().0), expected(None));
    engines.nats.kill();
    let nats = place(addresses.nats.expose_secret());
    let detail = format!("no NATS answers at {nats}");
    assert_found(
        &surroundings,
        "nats-reachable",
        &detail,
        "systemctl start nats-server   # or correct nats.url",
    );
    engines.nats.up().expect("it starts again");
    engines.postgres.kill();
    let postgres = place(db.url().expose_secret());
    let detail = format!(
        "no PostgreSQL answers at {postgres}: error communicating with database: Connection refused (os error 111)"
    );
    assert_found(
        &surroundings,
        "postgres-reachable",
        &detail,
        "systemctl start postgresql   # or correct postgres.url",
    );
    engines.postgres.up().expect("it starts again");
    engines.postgres.freeze();
    let (report, _) = surroundings.examine();
    engines.postgres.thaw();
    let detail = "no answer within 5 s";
    assert_eq!(
        summary(&report),
        expected(Some(("postgres-reachable", detail, "guildhall doctor"))),
        "it must not hang"
    );
}

#[tokio::test]
async fn a_wrong_password_and_a_missing_database_are_told_apart() {
    let db = TestDb::new().await;
    let wrong = changed(&db.url(), |url| url.set_password(Some("wr0ng-5ecret")).expect("set"));
    let (place, role) = (place(&wrong), Url::parse(&wrong).expect("an address").username().to_owned());
    let surroundings = Surroundings::new(&wrong.into(), &nats_url());
    let detail = format!("PostgreSQL at {place} refuses the role `{role}` or its password");
    let fix = format!("sudo -u postgres psql -c '\\password {role}'   # or correct GUILDHALL_POSTGRES_URL");
    assert_found(&surroundings, "postgres-auth", &detail, &fix);

    let missing = changed(&db.url(), |url| url.set_path("no_such_database"));
    let surroundings = Surroundings::new(&missing.into(), &nats_url());
    let detail = format!("PostgreSQL at {place} has no database `no_such_database`");
    assert_found(&surroundings, "postgres-auth", &detail, "sudo -u postgres createdb no_such_database");

    let wrong = changed(&nats_url(), |url| url.set_password(Some("wr0ng-5ecret")).expect("set"));
    let detail = format!("NATS at {} refuses the name or the password", self::place(&wrong));
    let surroundings = Surroundings::new(&db.url(), &wrong.into());
    let fix = "export GUILDHALL_NATS_URL=nats://user:password@host:4222   # as nats-server has them";
    assert_found(&surroundings, "nats-auth", &detail, fix);
}

#[tokio::test]
async fn a_schema_that_is_too_new_and_settings_that_lose_data_are_found() {
    let db = TestDb::new().await;
    let surroundings = Surroundings::new(&db.url(), &nats_url());
    let mut sql = db.sql().await;
    sql.execute(format!("ALTER DATABASE {} SET synchronous_commit = off", db.name())).await;
    let detail = "fsync is on, synchronous_commit is off: what was confirmed may be lost in a power cut";
    let fix =
        "sudo -u postgres psql -c 'ALTER SYSTEM SET synchronous_commit = on' -c 'SELECT pg_reload_conf()'";
    assert_found(&surroundings, "postgres-durability", detail, fix);
    sql.execute(format!("ALTER DATABASE {} RESET synchronous_commit", db.name())).await;

    let known = sql.number("SELECT max(version) FROM _sqlx_migrations").await;
    sql.execute("UPDATE schema_state SET floor = 999999").await;
    let detail = format!("the database needs a binary that knows migration 999999, this one knows {known}");
    let fix = "guildhall --version   # then install the version that the other servers run";
    assert_found(&surroundings, "postgres-schema", &detail, fix);
}

#[tokio::test]
async fn a_port_that_another_program_has_is_found() {
    let db = TestDb::new().await;
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = other.local_addr().expect("an address");
    // It takes connections, as any server would, and says nothing.
    let surroundings =
        Surroundings::new(&db.url(), &nats_url()).with("GUILDHALL_HTTP_LISTEN", address.to_string());
    std::thread::spawn(move || {
        for stream in other.incoming() {
            drop(stream);
        }
    });
    let fix = format!("ss -ltnp 'sport = :{}'   # then end it, or set http.listen", address.port());
    assert_found(&surroundings, "listener", &format!("{address} is taken by another program"), &fix);
}
