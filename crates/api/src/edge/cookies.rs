//! Cookies of browsers. The prefix `__Host-` makes a browser take them over a safe connection alone, for this host
//! alone, and keeps pages of neighbouring hosts from planting their own.

use axum::http::{HeaderMap, HeaderValue, header};
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretString};

/// A browser session.
pub(crate) const SESSION: &str = "__Host-guildhall";

/// A sign-in on its way through an identity provider.
pub(crate) const SIGN_IN: &str = "__Host-guildhall-signin";

/// `Lax`: the browser comes back from an identity provider by a link, and must be known then. What changes something is
/// guarded by the origin and the CSRF token.
const ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Lax";

/// Returns the header that gives a browser a cookie; none if the value cannot stand in one.
pub(crate) fn set(name: &str, value: &SecretString, lives: SignedDuration) -> Option<HeaderValue> {
    let (value, seconds) = (value.expose_secret(), lives.as_secs());
    let mut header =
        HeaderValue::try_from(format!("{name}={value}; Max-Age={seconds}; {ATTRIBUTES}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// Returns the header that takes a cookie away.
pub(crate) fn clear(name: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("{name}=; Max-Age=0; {ATTRIBUTES}")).ok()
}

/// Finds a cookie of a request. Two of one name are none: nobody can tell which is the browser's own.
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
    fn a_cookie_is_found_among_others_by_its_whole_name() {
        assert_eq!(found(&["a=1; __Host-guildhall=x; b=2"]).as_deref(), Some("x"));
        assert_eq!(found(&["a=1", "__Host-guildhall=x=y"]).as_deref(), Some("x=y"));
        assert_eq!(found(&["__Host-guildhall-signin=x; guildhall=y"]), None);
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn of_two_cookies_of_one_name_neither_is_believed() {
        assert_eq!(found(&["__Host-guildhall=x; __Host-guildhall=y"]), None);
        assert_eq!(found(&["__Host-guildhall=x", "__Host-guildhall=x"]), None);
    }

    #[test]
    fn a_cookie_is_set_for_this_host_alone_and_for_no_script() {
        let header = set(SESSION, &SecretString::from("x"), SignedDuration::from_secs(60)).expect("fits");
        assert!(header.is_sensitive());
        let text = header.to_str().expect("text");
        assert_eq!(text, "__Host-guildhall=x; Max-Age=60; Path=/; Secure; HttpOnly; SameSite=Lax");
        assert!(set(SESSION, &SecretString::from("x\r\ny"), SignedDuration::ZERO).is_none());
    }
}
