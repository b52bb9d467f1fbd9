//! The model routes of the wire APIs, and the check of a requested path.

use hyper::Method;

/// A request that an agent may send to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelRoute {
    pub method: RouteMethod,
    /// Path below the base URL. The segment `{id}` stands for one model id.
    pub path: &'static str,
    pub purpose: RoutePurpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteMethod {
    Get,
    Post,
}

/// Whether a request consumes tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutePurpose {
    /// The model generates text: its tokens are counted.
    Generation,
    /// The provider answers from its catalogue.
    Information,
}

/// The OpenAI Responses API.
pub const RESPONSES_ROUTES: &[ModelRoute] =
    &[generation("/responses"), generation("/responses/compact"), information("/models")];

/// The OpenAI Chat Completions API.
pub const CHAT_ROUTES: &[ModelRoute] = &[generation("/chat/completions"), information("/models")];

/// The Anthropic Messages API.
pub const ANTHROPIC_ROUTES: &[ModelRoute] = &[
    generation("/messages"),
    ModelRoute {
        method: RouteMethod::Post,
        path: "/messages/count_tokens",
        purpose: RoutePurpose::Information,
    },
    information("/models"),
    information("/models/{id}"),
];

/// The Gemini API. A method follows the model id.
pub const GEMINI_ROUTES: &[ModelRoute] = &[
    generation("/models/{id}:generateContent"),
    generation("/models/{id}:streamGenerateContent"),
    ModelRoute {
        method: RouteMethod::Post,
        path: "/models/{id}:countTokens",
        purpose: RoutePurpose::Information,
    },
    information("/models"),
    information("/models/{id}"),
];

const MODEL_ID: &str = "{id}";

/// Longer than the id of any model.
const MAX_MODEL_ID_BYTES: usize = 128;

const fn generation(path: &'static str) -> ModelRoute {
    ModelRoute { method: RouteMethod::Post, path, purpose: RoutePurpose::Generation }
}

const fn information(path: &'static str) -> ModelRoute {
    ModelRoute { method: RouteMethod::Get, path, purpose: RoutePurpose::Information }
}

/// Finds the route of a request. `base_path` is the path of the base URL without a slash at the end.
///
/// The path is compared byte by byte and never decoded: a path with a percent sign, an empty segment or a dot segment
/// equals no route.
#[must_use]
pub fn find_route<'a>(
    routes: &'a [ModelRoute],
    base_path: &str,
    method: &Method,
    path: &str,
) -> Option<&'a ModelRoute> {
    let path = path.strip_prefix(base_path)?;
    routes.iter().find(|route| route.method.matches(method) && path_matches(route.path, path))
}

/// Returns whether a request may have this query. The Gemini API takes keys and response masks as parameters, so only
/// those that its clients need pass. Agents of other APIs send their version.
#[must_use]
pub(super) fn allows_query(routes: &[ModelRoute], query: Option<&str>) -> bool {
    const GEMINI_PARAMETERS: [&str; 3] = ["alt=sse", "pageSize=", "pageToken="];
    let is_gemini = routes == GEMINI_ROUTES;
    let mut parameters = query.unwrap_or_default().split('&').filter(|parameter| !parameter.is_empty());
    !is_gemini
        || parameters.all(|parameter| {
            GEMINI_PARAMETERS.iter().any(|allowed| match allowed.strip_suffix('=') {
                Some(_) => parameter.starts_with(allowed),
                None => parameter == *allowed,
            })
        })
}

impl RouteMethod {
    fn matches(self, method: &Method) -> bool {
        match self {
            Self::Get => method == Method::GET,
            Self::Post => method == Method::POST,
        }
    }
}

fn path_matches(route: &str, path: &str) -> bool {
    let (mut expected, mut requested) = (route.split('/'), path.split('/'));
    loop {
        match (expected.next(), requested.next()) {
            (None, None) => return true,
            (Some(expected), Some(requested)) if segment_matches(expected, requested) => {}
            (None | Some(_), None | Some(_)) => return false,
        }
    }
}

fn segment_matches(expected: &str, requested: &str) -> bool {
    match expected.strip_prefix(MODEL_ID) {
        // A model id may have a colon, but the last one is that of the method.
        Some("") => is_model_id(requested),
        Some(method) => requested.strip_suffix(method).is_some_and(is_model_id),
        None => expected == requested,
    }
}

fn is_model_id(segment: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    (1..=MAX_MODEL_ID_BYTES).contains(&segment.len())
        && segment.bytes().all(is_allowed)
        && segment.bytes().any(|byte| byte != b'.')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    const ALL: [&[ModelRoute]; 4] = [RESPONSES_ROUTES, CHAT_ROUTES, ANTHROPIC_ROUTES, GEMINI_ROUTES];

    fn found(routes: &[ModelRoute], method: Method, path: &str) -> bool {
        find_route(routes, "/v1", &method, path).is_some()
    }

    #[test]
    fn routes_of_the_wire_apis_are_found() {
        for (routes, method, path) in [
            (RESPONSES_ROUTES, Method::POST, "/v1/responses"),
            (RESPONSES_ROUTES, Method::POST, "/v1/responses/compact"),
            (RESPONSES_ROUTES, Method::GET, "/v1/models"),
            (CHAT_ROUTES, Method::POST, "/v1/chat/completions"),
            (ANTHROPIC_ROUTES, Method::POST, "/v1/messages"),
            (ANTHROPIC_ROUTES, Method::POST, "/v1/messages/count_tokens"),
            (ANTHROPIC_ROUTES, Method::GET, "/v1/models/claude-sonnet-4.5:latest"),
            (GEMINI_ROUTES, Method::POST, "/v1/models/gemini-2.5-pro:generateContent"),
            (GEMINI_ROUTES, Method::POST, "/v1/models/gemini-2.5-pro:streamGenerateContent"),
            (GEMINI_ROUTES, Method::POST, "/v1/models/gemini-2.5-pro:countTokens"),
        ] {
            assert!(found(routes, method, path), "{path}");
        }
        assert!(find_route(CHAT_ROUTES, "", &Method::GET, "/models").is_some());
    }

    #[test]
    fn gemini_requests_have_no_keys_or_masks_in_their_query() {
        for query in [None, Some(""), Some("alt=sse"), Some("pageSize=50&pageToken=abc")] {
            assert!(allows_query(GEMINI_ROUTES, query), "{query:?}");
        }
        for query in
            ["key=x", "alt=sse&key=x", "%24key=x", "fields=candidates", "alt=json", "$alt=sse", "KEY=x"]
        {
            assert!(!allows_query(GEMINI_ROUTES, Some(query)), "{query}");
            assert!(allows_query(CHAT_ROUTES, Some(query)), "{query}");
        }
    }

    #[test]
    fn other_paths_are_not_found() {
        for path in [
            "/v1/files",
            "/v1/organization/api_keys",
            "/v1/fine_tuning/jobs",
            "/v1/responses/",
            "/v1//responses",
            "//v1/responses",
            "/v1/./responses",
            "/v1/models/../responses",
            "/v1/models/..",
            "/v1/models/.",
            "/v1/models/%2e%2e",
            "/v1/models/a%2Fb",
            "/v1/models/a/b",
            "/v1/models/a\\b",
            "/v1/models/",
            "/v1/%72esponses",
            "/V1/responses",
            "/v1/Responses",
            "/v2/responses",
            "/v1responses",
            "/responses",
            "/v1/responses;a=b",
            "/v1/models/{id}",
            "/v1/models/a/b:generateContent",
            "/v1/models/a:batchGenerateContent/x",
            "/v1",
            "/",
            "*",
            "",
        ] {
            for routes in ALL {
                for method in [Method::GET, Method::POST] {
                    assert!(!found(routes, method.clone(), path), "{method} {path}");
                }
            }
        }
    }

    #[test]
    fn other_methods_are_not_found() {
        for method in
            [Method::DELETE, Method::PUT, Method::PATCH, Method::HEAD, Method::OPTIONS, Method::TRACE]
        {
            assert!(!found(RESPONSES_ROUTES, method.clone(), "/v1/models"), "{method}");
            assert!(!found(RESPONSES_ROUTES, method.clone(), "/v1/responses"), "{method}");
        }
        assert!(!found(RESPONSES_ROUTES, Method::GET, "/v1/responses"));
        assert!(!found(ANTHROPIC_ROUTES, Method::POST, "/v1/models/x"));
        for path in
            ["x:batchGenerateContent", ":generateContent", "..:generateContent", "x/y:generateContent"]
        {
            assert!(!found(GEMINI_ROUTES, Method::POST, &format!("/v1/models/{path}")), "{path}");
        }
    }

    proptest! {
        /// A provider may normalize a path. Whatever is found must be in normal form already, and below the base path.
        #[test]
        fn found_paths_are_in_normal_form(
            path in r"(/v1)?(/{1,2}(responses|compact|chat|completions|messages|count_tokens|models|files|x:generateContent|\.{1,2}|%2[eEfF]|[a-z.%2Ff:;\\]{0,6})){0,4}/?",
            post: bool,
        ) {
            let method = if post { Method::POST } else { Method::GET };
            for routes in ALL {
                if let Some(route) = find_route(routes, "/v1", &method, &path) {
                    let url = Url::parse(&format!("http://provider.example{path}")).expect("a URL");
                    prop_assert_eq!(url.path(), path.as_str());
                    prop_assert!(!path.contains('%') && !path.contains("//") && !path.contains('\\'));
                    let fixed = route.path.split(MODEL_ID).next().unwrap_or_default();
                    let expected_start = format!("/v1{fixed}");
                    prop_assert!(path.starts_with(&expected_start));
                }
            }
        }

        #[test]
        fn found_paths_without_an_id_equal_their_route(path in r"\PC{0,24}") {
            for routes in ALL {
                for method in [Method::GET, Method::POST] {
                    if let Some(route) = find_route(routes, "", &method, &path)
                        && !route.path.contains(MODEL_ID)
                    {
                        prop_assert_eq!(route.path, path.as_str());
                    }
                }
            }
        }
    }
}
