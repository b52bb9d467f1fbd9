//! Links that an agent asks a person to open.

use url::Url;

/// Returns the host that a link leads to; none unless it is a plain web address.
///
/// A browser drops spaces and control characters, and shows what is before an `@` like a host. A link with one of these
/// leads elsewhere than it seems to.
#[must_use]
pub fn link_host(link: &str) -> Option<String> {
    if !link.chars().all(|character| character.is_ascii_graphic() && character != '\\') {
        return None;
    }
    let link = Url::parse(link).ok()?;
    let is_web = matches!(link.scheme(), "http" | "https");
    let has_credentials = !link.username().is_empty() || link.password().is_some();
    link.host_str().filter(|_| is_web && !has_credentials).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_web_address_has_a_host() {
        assert_eq!(link_host("https://example.org/a?b=c#d").as_deref(), Some("example.org"));
        assert_eq!(link_host("http://127.0.0.1:8080/").as_deref(), Some("127.0.0.1"));
        assert_eq!(link_host("HTTPS://Example.ORG").as_deref(), Some("example.org"));
        for link in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "ssh://example.org",
            "example.org",
            "",
            "https://",
            "https://example.org@evil.example/",
            "https://user:secret@evil.example/",
            "https://exa\nmple.org",
            " https://example.org",
            "https:\\\\evil.example",
            "https://ex\u{430}mple.org",
            "https://example.org/\u{202e}",
        ] {
            assert_eq!(link_host(link), None, "{link:?}");
        }
    }
}
