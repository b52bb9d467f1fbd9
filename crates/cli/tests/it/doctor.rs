//! `guildhall doctor --config`: injects each fault into real engines and compares the whole report.

use std::net::TcpListener;

use guildhall_testkit::{PrivateEngines, TestDb, nats_url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::support::doctor::{DoctorFixture, report_summary};
use crate::support::user::stdout;

/// The server checks in order, with the check that each depends on.
const CHECKS: &[(&str, Option<&str>)] = &[
    ("config", None),
    ("secrets", Some("config")),
    ("postgres-reachable", Some("config")),
    ("postgres-auth", Some("postgres-reachable")),
    ("postgres-version", Some("postgres-auth")),
    ("postgres-durability", Some("postgres-version")),
    ("postgres-schema", Some("postgres-version")),
    ("audit-protection", Some("postgres-schema")),
    ("postgres-clock", Some("postgres-version")),
    ("nats-reachable", Some("config")),
    ("nats-auth", Some("nats-reachable")),
    ("nats-version", Some("nats-auth")),
    ("nats-round-trip", Some("nats-version")),
    ("sandbox", Some("config")),
    ("listener", Some("config")),
];

/// The expected report when one check fails: its dependents are skipped, all others are ok.
fn expected(failed: Option<(&str, &str, &str)>) -> Value {
    let mut unmet: Vec<&str> = Vec::new();
    let checks = CHECKS.iter().map(|(id, dependency)| match failed {
        Some((root, detail, fix)) if root == *id => {
            unmet.push(id);
            json!([id, "failed", detail, fix])
        }
        Some((root, ..)) if dependency.is_some_and(|dependency| unmet.contains(&dependency)) => {
            unmet.push(id);
            json!([id, "skipped", root])
        }
        // The role of the tests owns the tables.
        Some(_) | None if *id == "audit-protection" => json!([id, "warning"]),
        Some(_) | None => json!([id, "ok"]),
    });
    let checks: Vec<Value> = checks.collect();
    json!({
        "v": 1, "mode": "server", "ok": failed.is_none(), "rootCause": failed.map(|(root, ..)| root), "checks": checks,
    })
}

fn assert_root_cause(fixture: &DoctorFixture, root: &str, detail: &str, fix: &str) {
    let (report, text) = fixture.run_doctor();
    assert_eq!(report_summary(&report), expected(Some((root, detail, fix))));
    let output = stdout(&text);
    assert_eq!(text.status.code(), Some(1));
    assert!(output.contains(&format!("✗ {root}")) && output.contains(&format!("fix: {fix}")), "{output}");
    assert!(
        output.contains("1 failed")
            && output.contains(&format!("fix {root} first"))
            && !output.contains('\u{1b}'),
        "{output}"
    );
}

fn with_change(url: &SecretString, change: impl FnOnce(&mut Url)) -> String {
    let mut url = Url::parse(url.expose_secret()).expect("a valid address");
    change(&mut url);
    url.to_string()
}

fn host_and_port(url: &str) -> String {
    let url = Url::parse(url).expect("a valid address");
    format!("{}:{}", url.host_str().expect("a host"), url.port().expect("a port"))
}

#[tokio::test]
async fn healthy_server_passes_every_check() {
    let db = TestDb::new().await;
    let (report, text) = DoctorFixture::new(&db.url(), &nats_url()).run_doctor();
    assert_eq!(report_summary(&report), expected(None));
    assert_eq!(
        (text.status.code(), stdout(&text).lines().last()),
        (Some(0), Some("no check failed; warnings: 1"))
    );
    let empty = TestDb::empty().await;
    let (report, _) = DoctorFixture::new(&empty.url(), &nats_url()).run_doctor();
    assert_eq!(report_summary(&report), expected(None), "an empty database is valid before the first start");
}

/// Snapshot of the JSON report without machine-dependent details.
#[tokio::test]
async fn json_report_matches_the_documented_format() {
    let db = TestDb::new().await;
    let fixture = DoctorFixture::new(&db.url(), &nats_url())
        .with("GUILDHALL_NATS_URL", "nats://me:pw-7f3a@127.0.0.1:1");
    let (mut report, _) = fixture.run_doctor();
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
fn unknown_config_key_is_named_and_other_checks_are_skipped() {
    let fixture = DoctorFixture::new(&SecretString::from("postgres://x:pw-51c0@127.0.0.1:1/x"), &nats_url());
    let fixture = fixture.with_file("[http]\nlistne = \"127.0.0.1:0\"\n");
    let detail = "unknown key `http.listne` in guildhall.toml: did you mean `http.listen`?";
    assert_root_cause(
        &fixture,
        "config",
        detail,
        "guildhall config example   # lists every key; then correct it",
    );
}

#[tokio::test]
async fn missing_or_world_readable_secret_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let db = TestDb::new().await;
    let without_key =
        DoctorFixture::new(&db.url(), &nats_url()).with("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "");
    let generate_fix =
        "export GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY=$(openssl rand -hex 32)   # and store it";
    assert_root_cause(
        &without_key,
        "secrets",
        "identity.key_encryption_key is not set: the server cannot sign tokens",
        generate_fix,
    );

    let key = "5eed".repeat(16);
    let world_readable = DoctorFixture::new(&db.url(), &nats_url())
        .with_file(&format!("[identity]\nkey_encryption_key = \"{key}\"\n"));
    let file = world_readable.folder.path().join("guildhall.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("set");
    let detail =
        "other users of this machine can read guildhall.toml, which contains identity.key_encryption_key";
    assert_root_cause(&world_readable, "secrets", detail, "chmod 600 guildhall.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("set");
    assert_eq!(report_summary(&world_readable.run_doctor().0), expected(None), "the suggested fix works");
}

#[tokio::test]
async fn stopped_engine_is_reported_as_the_root_cause() {
    let engines = PrivateEngines::start();
    let urls = engines.urls();
    let db = TestDb::migrated(urls.clone()).await;
    let fixture = DoctorFixture::new(&db.url(), &urls.nats);
    assert_eq!(report_summary(&fixture.run_doctor().0), expected(None));
    engines.nats.kill();
    let nats = host_and_port(urls.nats.expose_secret());
    let detail = format!("cannot reach NATS at {nats}");
    assert_root_cause(
        &fixture,
        "nats-reachable",
        &detail,
        "systemctl start nats-server   # or correct nats.url",
    );
    engines.nats.restart().expect("the engine restarts");
    engines.postgres.kill();
    let postgres = host_and_port(db.url().expose_secret());
    let detail = format!(
        "cannot reach PostgreSQL at {postgres}: error communicating with database: Connection refused (os error 111)"
    );
    assert_root_cause(
        &fixture,
        "postgres-reachable",
        &detail,
        "systemctl start postgresql   # or correct postgres.url",
    );
    engines.postgres.restart().expect("the engine restarts");
    engines.postgres.pause();
    let (report, _) = fixture.run_doctor();
    engines.postgres.resume();
    let detail = "timed out after 5 s";
    assert_eq!(
        report_summary(&report),
        expected(Some(("postgres-reachable", detail, "guildhall doctor"))),
        "doctor must not hang"
    );
}

#[tokio::test]
async fn wrong_password_and_missing_database_are_distinguished() {
    let db = TestDb::new().await;
    let wrong_url = with_change(&db.url(), |url| url.set_password(Some("wr0ng-5ecret")).expect("set"));
    let (host_and_port, role) =
        (host_and_port(&wrong_url), Url::parse(&wrong_url).expect("a valid address").username().to_owned());
    let fixture = DoctorFixture::new(&wrong_url.into(), &nats_url());
    let detail = format!("PostgreSQL at {host_and_port} rejected the role `{role}` or its password");
    let fix = format!("sudo -u postgres psql -c '\\password {role}'   # or correct GUILDHALL_POSTGRES_URL");
    assert_root_cause(&fixture, "postgres-auth", &detail, &fix);

    let missing_url = with_change(&db.url(), |url| url.set_path("no_such_database"));
    let fixture = DoctorFixture::new(&missing_url.into(), &nats_url());
    let detail = format!("PostgreSQL at {host_and_port} has no database `no_such_database`");
    assert_root_cause(&fixture, "postgres-auth", &detail, "sudo -u postgres createdb no_such_database");

    let wrong_url = with_change(&nats_url(), |url| url.set_password(Some("wr0ng-5ecret")).expect("set"));
    let detail = format!("NATS at {} rejected the user name or password", self::host_and_port(&wrong_url));
    let fixture = DoctorFixture::new(&db.url(), &wrong_url.into());
    let fix = "export GUILDHALL_NATS_URL=nats://user:password@host:4222   # credentials of nats-server";
    assert_root_cause(&fixture, "nats-auth", &detail, fix);
}

#[tokio::test]
async fn too_new_schema_and_unsafe_durability_are_reported() {
    let db = TestDb::new().await;
    let fixture = DoctorFixture::new(&db.url(), &nats_url());
    let mut sql = db.sql().await;
    sql.execute(format!("ALTER DATABASE {} SET synchronous_commit = off", db.name())).await;
    let detail = "fsync is on, synchronous_commit is off: committed data can be lost in a power failure";
    let fix =
        "sudo -u postgres psql -c 'ALTER SYSTEM SET synchronous_commit = on' -c 'SELECT pg_reload_conf()'";
    assert_root_cause(&fixture, "postgres-durability", detail, fix);
    sql.execute(format!("ALTER DATABASE {} RESET synchronous_commit", db.name())).await;

    let newest_migration = sql.number("SELECT max(version) FROM _sqlx_migrations").await;
    sql.execute("UPDATE schema_state SET floor = 999999").await;
    let detail =
        format!("the database requires a guildhall with migration 999999; this one has {newest_migration}");
    let fix = "guildhall --version   # then install the version of the other servers";
    assert_root_cause(&fixture, "postgres-schema", &detail, fix);
}

#[tokio::test]
async fn occupied_port_is_reported() {
    let db = TestDb::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("a valid address");
    // It accepts connections like any server, but never responds.
    let fixture =
        DoctorFixture::new(&db.url(), &nats_url()).with("GUILDHALL_HTTP_LISTEN", address.to_string());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            drop(stream);
        }
    });
    let fix = format!("ss -ltnp 'sport = :{}'   # then stop it, or set http.listen", address.port());
    assert_root_cause(&fixture, "listener", &format!("{address} is used by another program"), &fix);
}
