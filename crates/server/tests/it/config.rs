use std::path::PathBuf;

use guildhall_server::Config;
use guildhall_server::config::{ConfigError, Sources, example};
use tempfile::TempDir;

fn config_file(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("guildhall.toml");
    std::fs::write(&path, text).expect("a written file");
    (folder, path)
}

fn set(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn flags_override_environment_and_environment_overrides_file() {
    let (_folder, path) =
        config_file("[http]\nmax_body_bytes = 1\nmax_connections = 1\nmax_concurrent_requests = 1\n");
    let sources = Sources {
        file: Some(path),
        environment: vec![
            set("GUILDHALL_HTTP_MAX_CONNECTIONS", "2"),
            set("GUILDHALL_HTTP_MAX_CONCURRENT_REQUESTS", "2"),
        ],
        defaults: Vec::new(),
        flags: vec![("http.max_concurrent_requests", "3".to_owned())],
    };
    let http = Config::load(&sources).expect("a valid configuration").http;
    let set = (http.max_body_bytes.get(), http.max_connections.get(), http.max_concurrent_requests.get());
    assert_eq!(set, (1, 2, 3));
    assert_eq!(http.request_timeout.as_secs(), 10, "an unset key has its default");
}

#[test]
fn overriding_defaults_replace_defaults_but_not_the_file() {
    let defaults = vec![("telemetry.log_filter", "warn".to_owned()), ("http.drain_delay", "0s".to_owned())];
    let (_folder, path) = config_file("[http]\ndrain_delay = \"7s\"\n");
    let config = Config::load(&Sources { file: Some(path), defaults, ..Sources::default() })
        .expect("a valid configuration");
    assert_eq!((config.telemetry.log_filter.as_str(), config.http.drain_delay.as_secs()), ("warn", 7));
}

#[test]
fn unknown_key_error_names_the_file_and_the_nearest_key() {
    let (_folder, path) = config_file("[postgres]\nurll = \"postgres://me:hunter2@db/x\"\n");
    let shown = path.display().to_string();
    let error = load_error(Sources { file: Some(path), ..Sources::default() });
    assert_eq!(
        error,
        format!(
            "unknown key `postgres.urll` in {shown}: did you mean `postgres.url`?\n  `guildhall config example` lists every key"
        )
    );
}

#[test]
fn unknown_section_and_variable_are_refused() {
    let (_folder, path) = config_file("[potsgres]\nurl = \"\"\n");
    let error = load_error(Sources { file: Some(path), ..Sources::default() });
    assert!(
        error.starts_with("unknown key `potsgres`") && error.contains("did you mean `postgres`?"),
        "{error}"
    );
    let environment = vec![set("GUILDHALL_HTTP_LISTENS", "127.0.0.1:1")];
    let error = load_error(Sources { environment, ..Sources::default() });
    assert!(
        error.contains("`GUILDHALL_HTTP_LISTENS` in the environment: did you mean `GUILDHALL_HTTP_LISTEN`?"),
        "{error}"
    );
}

#[test]
fn kubernetes_service_variables_are_ignored() {
    let environment = vec![
        set("GUILDHALL_SERVICE_HOST", "10.0.0.1"),
        set("GUILDHALL_NATS_SERVICE_HOST", "10.0.0.2"),
        set("GUILDHALL_NATS_PORT_4222_TCP_ADDR", "10.0.0.2"),
        set("GUILDHALL_PORT_7117_TCP", "tcp://10.0.0.1:7117"),
    ];
    Config::load(&Sources { environment, ..Sources::default() }).expect("a valid configuration");
}

#[test]
fn list_is_comma_separated_in_the_environment() {
    let environment = vec![set("GUILDHALL_ACCESS_ALLOW_HOSTS", "a.example.org, b.example.org")];
    let config = Config::load(&Sources { environment, ..Sources::default() }).expect("a valid configuration");
    assert_eq!(config.access.allow_hosts, ["a.example.org", "b.example.org"]);
    let (_folder, path) = config_file("[access]\nallow_origins = [\"https://a.example.org\"]\n");
    let config =
        Config::load(&Sources { file: Some(path), ..Sources::default() }).expect("a valid configuration");
    assert_eq!(config.access.allow_origins, ["https://a.example.org"]);
}

#[test]
fn value_of_the_wrong_type_error_names_its_key() {
    let environment = vec![set("GUILDHALL_HTTP_REQUEST_TIMEOUT", "soon")];
    let error = load_error(Sources { environment, ..Sources::default() });
    assert!(error.contains("http.request_timeout"), "{error}");
}

#[test]
fn invalid_value_error_names_the_key_and_no_rust_type() {
    let described =
        "the value is unknown or has the wrong type; `guildhall config example` describes the key";
    for (text, expected) in [
        ("[launcher]\nkind = \"cloud\"", format!("invalid value of `launcher.kind`: {described}")),
        ("[launcher]\nkind = 3", format!("invalid value of `launcher.kind`: {described}")),
        ("[runs]\nprojects = 3", format!("invalid value of `runs.projects`: {described}")),
        ("http = 3", format!("invalid value of `http`: {described}")),
        (
            "[http]\nmax_connections = 0",
            "invalid value of `http.max_connections`: expected a whole number above 0".to_owned(),
        ),
        (
            "[launcher]\nnice = 300",
            "invalid value of `launcher.nice`: the number is too large or too small".to_owned(),
        ),
        (
            "[access]\nrequire_auth = \"perhaps\"",
            "invalid value of `access.require_auth`: expected a boolean".to_owned(),
        ),
    ] {
        let (_folder, path) = config_file(text);
        assert_eq!(load_error(Sources { file: Some(path), ..Sources::default() }), expected, "{text}");
    }
}

#[test]
fn missing_requested_file_is_an_error() {
    let error = load_error(Sources { file: Some("no/such/file.toml".into()), ..Sources::default() });
    assert!(error.contains("no/such/file.toml"), "{error}");
}

#[test]
fn debug_output_hides_secrets() {
    let environment = vec![set("GUILDHALL_POSTGRES_URL", "postgres://me:hunter2@db/x")];
    let config = Config::load(&Sources { environment, ..Sources::default() }).expect("a valid configuration");
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn committed_example_matches_the_fields_and_is_valid() {
    assert_eq!(include_str!("../../../../guildhall.example.toml"), example(), "run `cargo xtask schemas`");
    let uncommented: String = example()
        .lines()
        .filter(|line| !line.starts_with("#") || line.contains(" = "))
        .map(|line| format!("{}\n", line.trim_start_matches("# ")))
        .collect();
    let (_folder, path) = config_file(&uncommented);
    let from_example =
        Config::load(&Sources { file: Some(path), ..Sources::default() }).expect("a valid configuration");
    let from_defaults = Config::load(&Sources::default()).expect("a valid configuration");
    assert_eq!(format!("{from_example:?}"), format!("{from_defaults:?}"));
}

/// Returns the message of a configuration error with all its causes.
fn load_error(sources: Sources) -> String {
    let error: ConfigError = Config::load(&sources).expect_err("an error");
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        message = format!("{message}; {inner}");
        cause = inner.source();
    }
    message
}

#[test]
fn toml_syntax_error_names_the_line_without_its_content() {
    let (_folder, path) = config_file("[http]\n\n[postgres]\nurl = postgres://me:hunter2@db/x\n");
    let error = load_error(Sources { file: Some(path), ..Sources::default() });
    assert!(
        error.contains("invalid TOML in ") && error.contains(" at line 4") && !error.contains("hunter2"),
        "{error}"
    );
}

#[test]
fn limit_of_zero_is_refused() {
    let environment = vec![set("GUILDHALL_HTTP_MAX_CONNECTIONS", "0")];
    let error = load_error(Sources { environment, ..Sources::default() });
    assert!(error.contains("http.max_connections"), "{error}");
}
