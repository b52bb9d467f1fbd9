//! Routes in the documentation must be those of the API document.

use std::collections::BTreeSet;

use super::markdown::Document;

/// Routes that are not in the API document: pages for browsers, metrics, and the document itself.
const NOT_IN_DOCUMENT: [&str; 13] = [
    "GET /openapi.json",
    "GET /docs",
    "GET /metrics",
    "GET /sign-in/confirm",
    "POST /sign-in/confirm",
    "GET /approve/{approval}",
    "POST /approve/{approval}",
    "GET /approve/{approval}/sign-in",
    "POST /approve/{approval}/sign-in",
    "GET /consent/{agent}",
    "POST /consent/{agent}",
    "GET /consent/{agent}/sign-in",
    "POST /consent/{agent}/sign-in",
];

/// Pages with routes of other documents: notes name old routes, decisions and requirements those of a specification.
const PAGES_OF_OTHER_ROUTES: [&str; 4] = ["changes/", "docs/adr/", "docs/ledger.md", "docs/conformance.md"];

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// Returns the routes of the API document, as `GET /api/v1/runs`.
pub(super) fn of(openapi: &serde_json::Value) -> BTreeSet<String> {
    let paths = openapi["paths"].as_object().into_iter().flatten();
    let routes = paths.flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(move |(method, _)| format!("{} {path}", method.to_uppercase()))
    });
    routes.collect()
}

/// Returns the code spans of a document that are a method and a path, and no route.
pub(super) fn unknown(document: &Document, routes: &BTreeSet<String>) -> Vec<String> {
    if PAGES_OF_OTHER_ROUTES.iter().any(|page| document.path.starts_with(page)) {
        return Vec::new();
    }
    let is_known = |text: &str| {
        let text = text.split('?').next().unwrap_or(text);
        NOT_IN_DOCUMENT.contains(&text) || routes.iter().any(|route| is_instance(text, route))
    };
    let spans = document.spans.iter().filter(|span| is_route(&span.text) && !is_known(&span.text));
    spans.map(|span| format!("{}: there is no route `{}`", document.at(span.line), span.text)).collect()
}

fn is_route(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(method, path)| {
        METHODS.contains(&method) && path.starts_with('/') && !path.contains(' ')
    })
}

/// Returns whether a text is a route, with or without values in place of `{…}`.
fn is_instance(text: &str, route: &str) -> bool {
    let (parts, pattern) = (text.split('/'), route.split('/'));
    parts.clone().count() == pattern.clone().count()
        && parts.zip(pattern).all(|(part, expected)| part == expected || expected.starts_with('{'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BTreeSet<String> {
        of(&serde_json::json!({ "paths": {
            "/api/v1/runs": { "get": {}, "post": {} },
            "/api/v1/runs/{run}": { "get": {} },
            "/ct/sth": { "get": {} },
        } }))
    }

    fn unknown_in(path: &str, text: &str) -> Vec<String> {
        unknown(&Document::parse(path.to_owned(), text), &known())
    }

    #[test]
    fn routes_below_api_and_beside_it_are_read() {
        let expected = ["GET /api/v1/runs", "GET /api/v1/runs/{run}", "GET /ct/sth", "POST /api/v1/runs"];
        assert_eq!(known(), expected.into_iter().map(str::to_owned).collect());
    }

    #[test]
    fn routes_with_values_queries_and_pages_are_known() {
        let text = "`GET /api/v1/runs/run_1` `GET /api/v1/runs?limit=1` `GET /docs` `GET /a b` `/none`";
        assert_eq!(unknown_in("x.md", text), [""; 0]);
        assert_eq!(unknown_in("docs/adr/1.md", "`GET /walks`"), [""; 0]);
    }

    #[test]
    fn wrong_method_and_wrong_path_are_reported() {
        let expected = ["x.md:1: there is no route `PUT /ct/sth`", "x.md:2: there is no route `GET /ct/sht`"];
        assert_eq!(unknown_in("x.md", "`PUT /ct/sth`\n`GET /ct/sht`"), expected);
    }
}
