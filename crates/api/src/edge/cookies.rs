//! Browser cookies. With the prefix `__Host-`, a browser accepts them only over HTTPS and only from this host, so that
//! sibling hosts cannot set them.

use axum::http::{HeaderMap, HeaderValue, header};
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretString};

/// The cookie of a browser session.
pub(crate) const SESSION: &str = "__Host-guildhall";

/// The cookie of a pending sign-in through an identity provider.
pub(crate) const SIGN_IN: &str = "__Host-guildhall-signin";

/// The cookie of a sign-in for the CLI that waits for confirmation.
pub(crate) const CONFIRMATION: &str = "__Host-guildhall-confirm";

/// `Lax`, because the redirect back from the identity provider must carry the cookie. The origin check and the
/// CSRF token protect requests that change something.
const ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Lax";

/// Returns the `Set-Cookie` header; none if the value is not valid in a header.
pub(crate) fn set(name: &str, value: &SecretString, lifetime: SignedDuration) -> Option<HeaderValue> {
    let (value, seconds) = (value.expose_secret(), lifetime.as_secs());
    let mut header =
        HeaderValue::try_from(format!("{name}={value}; Max-Age={seconds}; {ATTRIBUTES}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// Returns the `Set-Cookie` header that deletes a cookie.
pub(crate) fn clear(name: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("{name}=; Max-Age=0; {ATTRIBUTES}")).ok()
}

/// Finds a cookie of a request. A name that occurs twice counts as absent: either value may be forged.
pub(crate) fn find(headers: &HeaderMap, name: &str) -> Option<SecretString> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(found, _)| *found == name).map(|(_, value)| value);
    let first = values.next()?;
    values.next().is_none().then(|| SecretString::from(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[&'static str]) -> HeaderMap {
        let lines = lines.iter().map(|line| (header::COOKIE, HeaderValue::from_static(line)));
        lines.fold(HeaderMap::new(), |mut headers, (name, value)| {
            headers.append(name, value);
            headers
        })
    }

    fn found(lines: &[&'static str]) -> Option<String> {
        find(&headers(lines), SESSION).map(|value| value.expose_secret().to_owned())
    }

    #[test]
    fn cookie_is_found_by_its_full_name() {
        assert_eq!(found(&["a=1; __Host-guildhall=x; b=2"]).as_deref(), Some("x"));
        assert_eq!(found(&["a=1", "__Host-guildhall=x=y"]).as_deref(), Some("x=y"));
        assert_eq!(found(&["__Host-guildhall-signin=x; guildhall=y"]), None);
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn duplicate_cookie_counts_as_absent() {
        assert_eq!(found(&["__Host-guildhall=x; __Host-guildhall=y"]), None);
        assert_eq!(found(&["__Host-guildhall=x", "__Host-guildhall=x"]), None);
    }

    #[test]
    fn cookie_is_host_only_secure_and_http_only() {
        let header =
            set(SESSION, &SecretString::from("x"), SignedDuration::from_secs(60)).expect("a valid header");
        assert!(header.is_sensitive());
        let text = header.to_str().expect("text");
        assert_eq!(text, "__Host-guildhall=x; Max-Age=60; Path=/; Secure; HttpOnly; SameSite=Lax");
        assert!(set(SESSION, &SecretString::from("x\r\ny"), SignedDuration::ZERO).is_none());
    }
}
