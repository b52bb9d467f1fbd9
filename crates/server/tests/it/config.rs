use std::path::PathBuf;

use guildhall_server::Config;
use guildhall_server::config::{ConfigError, Sources, example};
use tempfile::TempDir;

fn file(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("guildhall.toml");
    std::fs::write(&path, text).expect("written");
    (folder, path)
}

fn set(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let (_folder, path) =
        file("[http]\nmax_body_bytes = 1\nmax_connections = 1\nmax_concurrent_requests = 1\n");
    let sources = Sources {
        file: Some(path),
        environment: vec![
            set("GUILDHALL_HTTP_MAX_CONNECTIONS", "2"),
            set("GUILDHALL_HTTP_MAX_CONCURRENT_REQUESTS", "2"),
        ],
        defaults: Vec::new(),
        flags: vec![("http.max_concurrent_requests", "3".to_owned())],
    };
    let http = Config::load(&sources).expect("fine").http;
    let set = (http.max_body_bytes.get(), http.max_connections.get(), http.max_concurrent_requests.get());
    assert_eq!(set, (1, 2, 3));
    assert_eq!(http.request_timeout.as_secs(), 10, "what nobody sets keeps its default");
}

#[test]
fn other_defaults_win_over_the_usual_ones_and_lose_to_a_file() {
    let defaults = vec![("telemetry.log_filter", "warn".to_owned()), ("http.drain_delay", "0s".to_owned())];
    let (_folder, path) = file("[http]\ndrain_delay = \"7s\"\n");
    let config = Config::load(&Sources { file: Some(path), defaults, ..Sources::default() }).expect("fine");
    assert_eq!((config.telemetry.log_filter.as_str(), config.http.drain_delay.as_secs()), ("warn", 7));
}

#[test]
fn an_unknown_key_is_refused_with_its_place_and_the_nearest_known_one() {
    let (_folder, path) = file("[postgres]\nurll = \"postgres://me:hunter2@db/x\"\n");
    let shown = path.display().to_string();
    let error = refused(Sources { file: Some(path), ..Sources::default() });
    assert_eq!(
        error,
        format!(
            "unknown key `postgres.urll` in {shown}: did you mean `postgres.url`?\n  `guildhall config example` lists every key"
        )
    );
}

#[test]
fn an_unknown_section_and_an_unknown_variable_are_refused_too() {
    let (_folder, path) = file("[potsgres]\nurl = \"\"\n");
    let error = refused(Sources { file: Some(path), ..Sources::default() });
    assert!(
        error.starts_with("unknown key `potsgres`") && error.contains("did you mean `postgres`?"),
        "{error}"
    );
    let environment = vec![set("GUILDHALL_HTTP_LISTENS", "127.0.0.1:1")];
    let error = refused(Sources { environment, ..Sources::default() });
    assert!(
        error.contains("`GUILDHALL_HTTP_LISTENS` in the environment: did you mean `GUILDHALL_HTTP_LISTEN`?"),
        "{error}"
    );
}

#[test]
fn variables_that_kubernetes_makes_for_a_service_of_our_name_do_no_harm() {
    let environment = vec![
        set("GUILDHALL_SERVICE_HOST", "10.0.0.1"),
        set("GUILDHALL_NATS_SERVICE_HOST", "10.0.0.2"),
        set("GUILDHALL_NATS_PORT_4222_TCP_ADDR", "10.0.0.2"),
        set("GUILDHALL_PORT_7117_TCP", "tcp://10.0.0.1:7117"),
    ];
    Config::load(&Sources { environment, ..Sources::default() }).expect("fine");
}

#[test]
fn a_list_is_written_with_commas_in_the_environment() {
    let environment = vec![set("GUILDHALL_ACCESS_ALLOW_HOSTS", "a.example.org, b.example.org")];
    let config = Config::load(&Sources { environment, ..Sources::default() }).expect("fine");
    assert_eq!(config.access.allow_hosts, ["a.example.org", "b.example.org"]);
    let (_folder, path) = file("[access]\nallow_origins = [\"https://a.example.org\"]\n");
    let config = Config::load(&Sources { file: Some(path), ..Sources::default() }).expect("fine");
    assert_eq!(config.access.allow_origins, ["https://a.example.org"]);
}

#[test]
fn a_value_of_the_wrong_kind_names_its_key() {
    let environment = vec![set("GUILDHALL_HTTP_REQUEST_TIMEOUT", "soon")];
    let error = refused(Sources { environment, ..Sources::default() });
    assert!(error.contains("http.request_timeout"), "{error}");
}

#[test]
fn a_named_file_that_is_missing_is_an_error() {
    let error = refused(Sources { file: Some("no/such/file.toml".into()), ..Sources::default() });
    assert!(error.contains("no/such/file.toml"), "{error}");
}

#[test]
fn secrets_do_not_print() {
    let environment = vec![set("GUILDHALL_POSTGRES_URL", "postgres://me:hunter2@db/x")];
    let config = Config::load(&Sources { environment, ..Sources::default() }).expect("fine");
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn the_committed_example_is_what_the_fields_say_and_can_be_used() {
    assert_eq!(include_str!("../../../../guildhall.example.toml"), example(), "run `cargo xtask schemas`");
    let uncommented: String = example()
        .lines()
        .filter(|line| !line.starts_with("#") || line.contains(" = "))
        .map(|line| format!("{}\n", line.trim_start_matches("# ")))
        .collect();
    let (_folder, path) = file(&uncommented);
    let from_example = Config::load(&Sources { file: Some(path), ..Sources::default() }).expect("fine");
    let from_defaults = Config::load(&Sources::default()).expect("fine");
    assert_eq!(format!("{from_example:?}"), format!("{from_defaults:?}"));
}

fn refused(sources: Sources) -> String {
    let error: ConfigError = Config::load(&sources).expect_err("refused");
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        words = format!("{words}; {inner}");
        cause = inner.source();
    }
    words
}

#[test]
fn a_line_that_is_not_toml_is_named_by_its_number_and_not_repeated() {
    let (_folder, path) = file("[http]\n\n[postgres]\nurl = postgres://me:hunter2@db/x\n");
    let error = refused(Sources { file: Some(path), ..Sources::default() });
    assert!(error.contains("is not TOML at line 4") && !error.contains("hunter2"), "{error}");
}

#[test]
fn a_limit_of_zero_is_refused() {
    let environment = vec![set("GUILDHALL_HTTP_MAX_CONNECTIONS", "0")];
    let error = refused(Sources { environment, ..Sources::default() });
    assert!(error.contains("http.max_connections"), "{error}");
}
