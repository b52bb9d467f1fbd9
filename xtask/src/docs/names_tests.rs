use super::*;

fn page(path: &str, text: &str) -> Document {
    Document::parse(path.to_owned(), text)
}

fn names(names: &[&str]) -> Names {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const EXAMPLE: &str = "# Server.\n[http]\n# Address.\n# listen = \"\"\n";

#[test]
fn wrong_configuration_key_is_reported() {
    let keys = generated::keys(EXAMPLE);
    let right =
        page("x.md", "`http.listen = \"a\"` `http.rs` `other.key`\n```toml\n[http]\nlisten = 1\n```\n");
    assert_eq!(unknown_keys(&right, &keys), [""; 0]);
    let wrong = page("x.md", "`http.listens`\n\n```toml\n[http]\nport = 1\n```\n");
    assert_eq!(
        unknown_keys(&wrong, &keys),
        [
            "x.md:1: there is no configuration key `http.listens`",
            "x.md:5: there is no configuration key `http.port`"
        ]
    );
}

#[test]
fn wrong_configuration_section_is_reported() {
    let keys = generated::keys(EXAMPLE);
    let text = "`[http]` `[TEXT]` `[redacted]` `run.started`\n```toml\n[http]\nlisten = 1\n```\n";
    let right = page("x.md", text);
    assert_eq!(unknown_sections(&right, &keys), [""; 0]);
    assert_eq!(unknown_keys(&right, &keys), [""; 0]);
    let wrong = page("x.md", "`[htpp]` `htpp.listen`\n\n```toml\n[htpp]\nlisten = 1\n```\n");
    assert_eq!(
        unknown_sections(&wrong, &keys),
        [
            "x.md:1: there is no configuration section `htpp`",
            "x.md:4: there is no configuration section `htpp`"
        ]
    );
    assert_eq!(unknown_keys(&wrong, &keys), ["x.md:1: there is no configuration key `htpp.listen`"]);
}

#[test]
fn wrong_environment_variable_is_reported() {
    let known = names(&["GUILDHALL_HTTP_LISTEN"]);
    let text = "`GUILDHALL_HTTP_LISTEN` `GUILDHALL_<SECTION>_<KEY>`\n\n```console\n$ GUILDHALL_HTTP_PORT=1 guildhall serve\n```\n";
    let expected = ["x.md:4: there is no environment variable `GUILDHALL_HTTP_PORT`"];
    assert_eq!(unknown_variables(&page("x.md", text), &known), expected);
}

#[test]
fn metrics_are_found_in_the_source_and_compared_both_ways() {
    let source = "counter!(\"guildhall_a_total\", \"x\" => y); gauge!(\n    \"guildhall_b\"\n)";
    let known = metrics(source);
    assert_eq!(known, names(&["guildhall_a_total", "guildhall_b"]));
    let path = "docs/reference/metrics.md";
    let metrics_page = page(path, "`guildhall_a_total`\n`guildhall_c`");
    assert_eq!(
        unknown_metrics(&metrics_page, &known),
        [format!("{path}:2: there is no metric `guildhall_c`")]
    );
    let missing = undocumented(&[&metrics_page], path, "metric", &known);
    assert_eq!(missing, [format!("{path} does not describe the metric `guildhall_b`")]);
    // Crates of ours are no metrics.
    let other = page("x.md", "`guildhall_sdk::runner` `guildhall_x_total`");
    assert_eq!(unknown_metrics(&other, &known), ["x.md:1: there is no metric `guildhall_x_total`"]);
}

#[test]
fn event_types_and_failure_kinds_are_read_from_the_source() {
    let events = "pub const USAGE: &str = \"usage\";\nconst PRIVATE: &str = \"no\";\npub const N: usize = 1;";
    assert_eq!(event_types(events), names(&["usage"]));
    let table = "failure_table! {\n    NotFound: \"not-found\", 404, -32050, Never, \"No such object\";\n}\nlet x: \"y\"";
    assert_eq!(failure_kinds(table), names(&["not-found"]));
    let index = page("docs/errors/README.md", "[conflict](conflict.md)");
    let expected = ["docs/errors/README.md does not link the page of `not-found`"];
    assert_eq!(missing_error_pages(&[&index], &failure_kinds(table)), expected);
}

#[test]
fn path_of_a_missing_file_is_reported() {
    let exists = |path: &str| path == "crates/api/src/lib.rs";
    let right = page("x.md", "`crates/api/src/lib.rs` `api/src/lib.rs` `crates/<name>/src` `a/b/c`");
    assert_eq!(missing_paths(&right, exists), [""; 0]);
    let wrong = page("x.md", "`api/src/main.rs`");
    assert_eq!(missing_paths(&wrong, exists), ["x.md:1: there is no file `crates/api/src/main.rs`"]);
}
