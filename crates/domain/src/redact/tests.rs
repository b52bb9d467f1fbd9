//! Tests of redaction.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A credential of each kind, with the text before and after it. Generated at run time, so that secret scanners do not
/// report this file.
fn credential() -> impl Strategy<Value = (CredentialKind, String, String, String)> {
    // Weighted by the number of patterns.
    prop_oneof![14 => other_credential(), 9 => provider_key()]
}

fn other_credential() -> impl Strategy<Value = (CredentialKind, String, String, String)> {
    let pattern = |kind: CredentialKind, before: &'static str, secret: &'static str, after: &'static str| {
        (before, secret, after).prop_map(move |(before, secret, after)| (kind, before, secret, after)).boxed()
    };
    prop_oneof![
        pattern(
            CredentialKind::Url,
            "(https|postgres|nats|redis)://",
            "[a-z]{0,8}:[A-Za-z0-9%!@:]{1,20}",
            "@db\\.example:5432/x"
        ),
        pattern(CredentialKind::Url, "https://", "[A-Za-z0-9]{20}", "@git\\.example/r\\.git"),
        pattern(CredentialKind::Password, "host=db password=", "[A-Za-z0-9!;&]{1,20}", " dbname=x"),
        pattern(CredentialKind::Password, "Server=db;Pwd=", "[A-Za-z0-9!]{1,20}", "\n"),
        pattern(CredentialKind::Password, "(PG_|\"db_)?[Pp]assword\"?: \"", "[A-Za-z0-9 !,]{1,20}", "\","),
        pattern(
            CredentialKind::Authorization,
            "[Aa]uthorization: (Bearer|Basic|token) ",
            "[A-Za-z]{6}[0-9][A-Za-z0-9+/]{0,20}=?",
            "\r\n"
        ),
        pattern(CredentialKind::Authorization, "-H 'authorization: ", "[A-Za-z0-9]{8,40}", "' "),
        pattern(
            CredentialKind::Authorization,
            "sent bearer ",
            "[A-Za-z]{8}[0-9][A-Za-z0-9._~+/-]{0,30}",
            " to it"
        ),
        pattern(
            CredentialKind::Jwt,
            "",
            "eyJ[A-Za-z0-9_-]{10,40}\\.eyJ[A-Za-z0-9_-]{10,60}\\.[A-Za-z0-9_-]{0,43}",
            ""
        ),
        pattern(
            CredentialKind::PrivateKey,
            "-----BEGIN (RSA |EC |OPENSSH |ENCRYPTED )?PRIVATE KEY-----",
            "(\n[A-Za-z0-9+/]{64}){1,4}\n[A-Za-z0-9+/]{10}==\n",
            "-----END PRIVATE KEY-----"
        ),
        pattern(CredentialKind::Guildhall, "", "gh[krieb]_[0-9a-f]{32}_[A-Za-z0-9_-]{43}", ""),
        pattern(
            CredentialKind::Field,
            "(OPENAI_API_KEY|GITHUB_TOKEN|client_secret|access-key)=",
            "[A-Za-z0-9/+]{8,40}",
            "\n"
        ),
        pattern(
            CredentialKind::Field,
            "(apiKey|token|x-api-key): ",
            "[A-Za-z0-9/+]{4,20}[0-9][A-Za-z0-9/+]{3,20}",
            "\n"
        ),
        pattern(
            CredentialKind::Field,
            "\\{\"(api_key|refresh_token)\" ?: ?\"",
            "[A-Za-z0-9/+ ,]{4,20}[0-9][A-Za-z0-9/+ ,]{3,20}",
            "\"\\}"
        ),
    ]
}

fn provider_key() -> impl Strategy<Value = (CredentialKind, String, String, String)> {
    let key = |secret: &'static str| {
        secret.prop_map(|secret| (CredentialKind::ProviderKey, String::new(), secret, String::new()))
    };
    prop_oneof![
        key("sk-(ant-api03-|proj-|or-v1-)?[A-Za-z0-9]{15}[0-9][A-Za-z0-9_-]{8,40}"),
        key("gh[pousr]_[A-Za-z0-9]{36}"),
        key("github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
        key("glpat-[A-Za-z0-9_-]{20}"),
        key("(AKIA|ASIA)[A-Z0-9]{16}"),
        key("AIza[A-Za-z0-9_-]{35}"),
        key("xox[abp]-[0-9]{10}-[A-Za-z0-9]{12,24}"),
        key("hf_[A-Za-z0-9]{34}"),
        key("npm_[A-Za-z0-9]{36}"),
    ]
}

/// Text without credentials that ends at a word boundary.
fn ordinary() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[A-Z]?[a-z]{1,9}",
        Just("a basic understanding of bearer authentication".to_owned()),
        Just("the password, the token and the secret are checked".to_owned()),
        Just("\"max_tokens\": 40960000, \"secretScope\": {\"allowCredentialEcho\": false}".to_owned()),
        Just("risk-assessment task-scheduling-for-everyone sk-circle-fade-dot-animation".to_owned()),
        Just("https://example.org:8443/a@b?c=d#e ssh://git@example.org/r.git me@example.org".to_owned()),
        Just("npm_config_registry PWD=/home/someone token::Kind::from_str tokens=123456789".to_owned()),
        Just("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----".to_owned()),
        "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
        "(commit |sha256:)?([0-9a-f]{40}|[0-9a-f]{64})",
        "(run|ten|prn|cmd|ses|key|ent)_[0-9a-f]{32}",
        "data:image/png;base64,[A-Za-z0-9+/]{200,400}==",
        "[äöü→…“”]{1,4}",
    ];
    proptest::collection::vec((piece, "[ \n]|[.,] "), 0..6)
        .prop_map(|pieces| pieces.into_iter().map(|(piece, end)| piece + &end).collect())
}

/// Random sequences of pattern fragments, as a faulty or malicious runner might send.
fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        (0..CredentialKind::ALL.len()).prop_map(|kind| CredentialKind::ALL[kind].marker().to_owned()),
        prop_oneof![
            Just("password"),
            Just("pwd"),
            Just("token"),
            Just("secret"),
            Just("api_key"),
            Just("authorization"),
            Just("bearer "),
            Just("Basic "),
            Just("://"),
            Just("http"),
            Just("@"),
            Just(":"),
            Just("="),
            Just("=>"),
            Just("\""),
            Just("'"),
            Just("\\"),
            Just("\\\""),
            Just("\\n"),
            Just("\n"),
            Just(" "),
            Just("/"),
            Just("."),
            Just("-----BEGIN PRIVATE KEY-----"),
            Just("-----END PRIVATE KEY-----"),
            Just("["),
            Just("]"),
            Just("_"),
            Just("sk-"),
            Just("eyJ"),
            Just("ghk_"),
            Just("ghp_"),
            Just("glpat-"),
            Just("git-"),
            Just("é"),
        ]
        .prop_map(str::to_owned),
        "[a-z]{1,12}",
        "[A-Za-z0-9]{20,44}",
        "[0-9a-f]{32}_",
    ];
    proptest::collection::vec(fragment, 0..24).prop_map(|fragments| fragments.concat())
}

/// Credentials mixed with fragments.
fn mixed() -> impl Strategy<Value = String> {
    let whole = credential().prop_map(|(_, before, secret, after)| before + &secret + &after);
    let truncated = credential().prop_map(|(_, before, secret, _)| before + &secret);
    proptest::collection::vec(prop_oneof![whole, truncated, fragments()], 1..5)
        .prop_map(|parts| parts.concat())
}

/// Returns the structure of a value without its strings. Keys may change, and with them the order.
fn structure_of(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(structure_of).collect(),
        Value::Object(entries) => {
            let mut structures: Vec<Value> = entries.values().map(structure_of).collect();
            structures.sort_by_cached_key(Value::to_string);
            json!({ "entries": structures })
        }
        Value::String(_) => "".into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn document() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        ordinary(),
        fragments(),
        (ordinary(), credential())
            .prop_map(|(text, (_, before, secret, after))| text + &before + &secret + &after)
    ];
    let name = prop_oneof!["[a-z]{1,8}", "[a-z_]{0,4}(token|password|api_key|Secret)", fragments()];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn prefilter_accepts_every_match(
        (_, before, secret, after) in credential(), uppercase in any::<bool>(),
    ) {
        let text = before + &secret + &after;
        let text = if uppercase { text.to_uppercase() } else { text };
        prop_assert!(pattern::find_next(&text, 0).is_none() || prefilter::may_contain_credential(&text), "{}", text);
    }

    // covers: R14
    #[test]
    fn credential_is_replaced_anywhere_in_a_text(
        (kind, before, secret, after) in credential(), front in ordinary(), back in "( [a-z]{1,8}){0,3}",
    ) {
        let redaction = redact(&format!("{front}{before}{secret}{after} {back}")).text.into_owned();
        prop_assert_eq!(redaction, format!("{front}{before}{}{after} {back}", kind.marker()));
    }

    // covers: R14
    #[test]
    fn credential_in_nested_json_text_is_removed_and_json_stays_valid(
        (_, before, secret, after) in credential(), front in "([a-z]{1,8}[ \n\t\"]){0,4}", levels in 1..4usize,
    ) {
        let mut text = format!("{front}{before}{secret}{after} end");
        for _ in 0..levels {
            text = json!({ "output": [text, "next"] }).to_string();
        }
        let redaction = redact(&text);
        prop_assert!(secret.len() < 8 || !redaction.text.contains(secret.trim()), "{}", redaction.text);
        let parsed: Result<Value, _> = serde_json::from_str(&redaction.text);
        prop_assert!(parsed.is_ok(), "{}", redaction.text);
    }

    #[test]
    fn ordinary_text_is_returned_unchanged(text in ordinary()) {
        let redaction = redact(&text);
        prop_assert!(matches!(redaction.text, Cow::Borrowed(_)), "{}", redaction.text);
        prop_assert!(redaction.found.is_empty());
    }

    #[test]
    fn redaction_is_idempotent(text in prop_oneof![fragments(), mixed(), ".{0,200}"]) {
        let once = redact(&text).text.into_owned();
        prop_assert_eq!(redact(&once), Redaction { text: Cow::Borrowed(&once), found: RedactionCounts::default() });
    }

    #[test]
    fn growth_is_limited(text in prop_oneof![fragments(), mixed(), "(pwd=x[ \"]){1,9}"]) {
        prop_assert!(redact(&text).text.len() <= MAX_GROWTH * text.len());
    }

    // covers: R14
    #[test]
    fn json_structure_is_kept_and_redaction_is_idempotent(mut value in document()) {
        let structure = structure_of(&value);
        redact_json(&mut value);
        prop_assert_eq!(structure_of(&value), structure);
        let once = value.clone();
        prop_assert_eq!(redact_json(&mut value), RedactionCounts::default());
        prop_assert_eq!(value, once);
    }
}

// covers: R14
#[test]
fn values_below_a_secret_key_are_replaced() {
    let mut value = json!({
        "env": { "DB_PASSWORD": "x y", "API-Key": "not shaped at all", "stop_token": "END", "max_tokens": 7 },
        "clientSecret": ["first part", { "kind": "second part" }],
        "note": "nothing here",
    });
    let found = redact_json(&mut value);
    assert_eq!(
        value,
        json!({
            "env": { "DB_PASSWORD": "[redacted:password]", "API-Key": "[redacted:field]", "stop_token": "END", "max_tokens": 7 },
            "clientSecret": ["[redacted:field]", { "kind": "[redacted:field]" }],
            "note": "nothing here",
        })
    );
    assert_eq!(found.iter().collect::<Vec<_>>(), [(CredentialKind::Password, 1), (CredentialKind::Field, 3)]);
}

#[test]
fn secret_keys_become_markers_and_no_entry_is_lost() {
    let key = |letter: &str| format!("ghp_{}", letter.repeat(36));
    let mut value = json!({ key("a"): 1, key("b"): 2, "plain": 3 });
    redact_json(&mut value);
    assert_eq!(value, json!({ "[redacted:provider-key]": 1, "[redacted:provider-key] (2)": 2, "plain": 3 }));
}

/// Lines of programs, logs and prose about secrets that contain none.
const WITHOUT_SECRETS: &str = include_str!("without_secrets.txt");

#[test]
fn lines_of_the_corpus_without_secrets_are_unchanged() {
    let changed = |line: &&str| redact(line).text != *line;
    let changed: Vec<&str> = WITHOUT_SECRETS.lines().filter(changed).collect();
    assert_eq!(changed, [""; 0], "{} of {} lines", changed.len(), WITHOUT_SECRETS.lines().count());
}

#[test]
fn secrets_that_resemble_code_are_still_replaced() {
    for text in [
        "token: abcd1234efgh",
        "token: k9(abcdefg1234",
        "API_KEY=correcthorse",
        "GITHUB_TOKEN=Permission",
        "secret: aBCdEFghIJkl",
        "api_key = \"abcdefgh12345678\"",
        "password: correcthorse",
        "token: https://u:hunter2@example.org",
        "token: f(ghp_abcdefghijklmnopqrstuvwxyz0123456789)",
    ] {
        assert!(!redact(text).found.is_empty(), "{text}");
    }
}

#[test]
fn every_capture_group_is_listed() {
    assert_eq!(pattern::unlisted_groups(), Vec::<String>::new());
}

/// Run with `--release -- --ignored --nocapture`. The results are in the module documentation.
#[test]
#[ignore = "a measurement"]
fn measure() {
    const SIZE: usize = 8 << 20;
    let run = |name: &str, piece: &str| {
        let text = piece.repeat(SIZE / piece.len());
        let began = std::time::Instant::now();
        let found: u32 = redact(&text).found.iter().map(|(_, count)| count).sum();
        let rate = text.len() as f64 / 1e6 / began.elapsed().as_secs_f64();
        println!("{name}: {rate:.0} MB/s, {found} found");
    };
    let key = format!("ghp_{}", "a1".repeat(18));
    run("warm", "x");
    run("prose", "The runner asked for a turn, and the model answered with a plan of three steps.\n");
    run("source", "    let token = self.tokens.get(&id).ok_or(Error::Unknown)?; // basic checks first\n");
    run("log", "2026-01-01T00:00:00Z INFO run_01920000000070008000000000000000 http://127.0.0.1:8080/x ok\n");
    run("json", r#"{"seq":12,"type":"assistant_message","payload":{"text":"some words","tokens":12}}"#);
    run("base64", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk");
    run("a key in each line", &format!("remote: {key} accepted\n"));
    run("hostile: sk-", "sk-");
    run("hostile: eyJ", "eyJ");
    run("hostile: eyJ and keys", &format!("eyJ-{key}"));
    run("hostile: keys after eyJ", &format!("eyJ-AKIA{}-", "A".repeat(16)));
    run("hostile: begin", "-----BEGIN PRIVATE KEY-----");
    run("hostile: begin and keys", &format!("-----BEGIN PRIVATE KEY-----[{key}]"));
    run("hostile: url", "://a:");
    run("hostile: markers in url", "://[redacted:jwt]");
    run("hostile: basic", "basic aaaaaaaaaa ");
    run("hostile: quotes", "token=\"");
}
