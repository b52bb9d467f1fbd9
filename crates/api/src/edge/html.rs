//! HTML pages: their languages, escaped text, and the headers that keep other sites out.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::FailureKind;
use guildhall_domain::approvals::question::show_hidden_characters;
use sha2::{Digest as _, Sha256};

use crate::App;
use crate::edge::access_rules::host_of;
use crate::edge::error::ApiError;
use crate::edge::languages::accepted_languages;

/// A language of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Chinese,
}

impl Language {
    /// Returns the language that the browser prefers. English unless Chinese comes first.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let known = |tag: &str| match tag.split('-').next().unwrap_or_default().to_ascii_lowercase().as_str()
        {
            "zh" => Some(Self::Chinese),
            "en" => Some(Self::English),
            _ => None,
        };
        accepted_languages(headers).find_map(known).unwrap_or(Self::English)
    }

    /// Returns the language that the address names as `lang`.
    fn in_query(query: Option<&str>) -> Option<Self> {
        let mut pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let (_, value) = pairs.find(|(name, _)| name == "lang")?;
        [Self::English, Self::Chinese].into_iter().find(|language| language.tag() == value)
    }

    /// Returns the same language of the manifests' texts.
    pub(crate) const fn of_manifests(self) -> guildhall_domain::agents::diff::Language {
        match self {
            Self::English => guildhall_domain::agents::diff::Language::English,
            Self::Chinese => guildhall_domain::agents::diff::Language::Chinese,
        }
    }

    /// Chooses between the texts of both languages.
    pub(crate) const fn pick(self, english: &'static str, chinese: &'static str) -> &'static str {
        match self {
            Self::English => english,
            Self::Chinese => chinese,
        }
    }

    pub(crate) const fn tag(self) -> &'static str {
        self.pick("en", "zh-CN")
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Language {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::in_query(parts.uri.query()).unwrap_or_else(|| Self::of(&parts.headers)))
    }
}

/// HTML under construction. Markup is always a literal, so text of others cannot become markup.
#[derive(Debug, Clone, Default)]
pub(crate) struct Html(String);

impl Html {
    pub(crate) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds text for people: escaped, and with hidden characters made visible.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.value(&show_hidden_characters(text))
    }

    /// Adds an attribute's value for programs: escaped and else unchanged.
    pub(crate) fn value(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
        self
    }

    /// Adds an element without attributes that contains only text.
    pub(crate) fn element(&mut self, tags: [&'static str; 2], text: &str) -> &mut Self {
        self.markup(tags[0]).text(text).markup(tags[1])
    }

    pub(crate) fn append(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }
}

/// The style of pages for a phone.
pub(crate) const STYLE: &str = include_str!("page.css");

/// A page that no other page can frame, that loads nothing and runs no script, and whose forms lead back here.
#[derive(Debug)]
pub(crate) struct HtmlPage {
    pub(crate) language: Language,
    pub(crate) title: &'static str,
    pub(crate) body: Html,
    /// Goes into the page; none for the style of the browser.
    pub(crate) style: Option<&'static str>,
    /// The port of the CLI on this machine that the form may lead to.
    pub(crate) cli_port: Option<u16>,
}

impl HtmlPage {
    pub(crate) fn into_response(self, status: StatusCode) -> Response {
        let (policy, mut html) = (self.policy(), Html::default());
        html.markup("<!doctype html>\n<html lang=\"").markup(self.language.tag());
        html.markup("\">\n<meta charset=\"utf-8\">\n");
        html.markup("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        html.markup("<title>").text(self.title).markup(" - Guildhall</title>\n");
        if let Some(style) = self.style {
            html.markup("<style>").markup(style).markup("</style>\n");
        }
        html.append(&self.body).markup("\n</html>\n");
        let mut headers = HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            // Not `no-referrer`: with it, browsers send the form with the origin `null`.
            (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
            (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ]);
        headers.extend(HeaderValue::try_from(policy).map(|policy| (CONTENT_SECURITY_POLICY, policy)));
        (status, headers, html.0).into_response()
    }

    fn policy(&self) -> String {
        let style = self.style.map(|style| {
            let hash = STANDARD.encode(Sha256::digest(style));
            format!(" style-src 'sha256-{hash}';")
        });
        let cli = self.cli_port.map(|port| format!(" http://127.0.0.1:{port}"));
        format!(
            "default-src 'none';{} form-action 'self'{}; frame-ancestors 'none'; base-uri 'none'",
            style.unwrap_or_default(),
            cli.unwrap_or_default()
        )
    }
}

/// Denies a form of another site. Browsers send the origin with every form.
pub(crate) fn check_form_origin(app: &App, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    if origin.is_some_and(|origin| app.access_rules.is_own_origin(origin, &host_of(uri, headers))) {
        return Ok(());
    }
    let message = "the form needs the `Origin` of this server, which is missing or different";
    Err(ApiError::new(FailureKind::CsrfRefused, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(accepted: &'static str) -> Language {
        let headers = HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, HeaderValue::from_static(accepted))]);
        Language::of(&headers)
    }

    #[test]
    fn page_is_in_the_preferred_language_that_exists() {
        for chinese in ["zh-CN,zh;q=0.9,en;q=0.8", "zh", "ZH-tw", "fr, zh;q=0.5, en;q=0.4"] {
            assert_eq!(language(chinese), Language::Chinese, "{chinese}");
        }
        for english in ["", "en-GB,zh;q=0.9", "de", "zhx"] {
            assert_eq!(language(english), Language::English, "{english}");
        }
    }

    #[test]
    fn text_is_escaped_and_its_hidden_characters_are_shown() {
        let mut html = Html::default();
        html.markup("<p>").text("<b>Ada</b> & \"'\u{202e}").markup("</p>");
        assert_eq!(html.0, "<p>&lt;b&gt;Ada&lt;/b&gt; &amp; &quot;&#39;\\u{202e}</p>");
        let mut value = Html::default();
        value.value("\"\u{200b}");
        assert_eq!(value.0, "&quot;\u{200b}", "a value is not changed");
    }

    #[test]
    fn policy_allows_only_the_style_of_the_page() {
        let page = |style, cli_port| HtmlPage {
            language: Language::English,
            title: "",
            body: Html::default(),
            style,
            cli_port,
        };
        assert_eq!(
            page(Some("p{}"), None).policy(),
            "default-src 'none'; style-src 'sha256-gG2yISYereRMiG2lMXrbiUgi0Ubw9p7QCeWcroOvy9Y='; form-action 'self'; \
             frame-ancestors 'none'; base-uri 'none'"
        );
        assert_eq!(
            page(None, Some(4321)).policy(),
            "default-src 'none'; form-action 'self' http://127.0.0.1:4321; frame-ancestors 'none'; base-uri 'none'"
        );
    }
}
