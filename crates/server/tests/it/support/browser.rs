//! A browser, as far as a server can tell: it keeps cookies and says where a request comes from.

use std::collections::BTreeMap;

use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::people::PASSWORD;
use super::{Answer, TestServer, read};

pub(crate) const SESSION: &str = "__Host-guildhall";

/// A browser with its cookies. Like real ones it does not tell ports apart, so that they go to every replica.
#[derive(Debug, Clone, Default)]
pub(crate) struct Browser {
    pub(crate) cookies: BTreeMap<String, String>,
}

impl Browser {
    /// Signs in with a password. Returns the browser and its CSRF token.
    pub(crate) async fn sign_in(server: &TestServer, name: &str) -> (Self, String) {
        let mut browser = Self::default();
        let body = json!({ "name": name, "password": PASSWORD });
        let path = "/api/v1/auth/browser-session";
        let answer = browser.send(server, Method::POST, path, &[("origin", &own(server))], Some(body)).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        (browser, answer.body["csrfToken"].as_str().expect("a token").to_owned())
    }

    /// Opens a page.
    pub(crate) async fn get(&mut self, server: &TestServer, path: &str) -> Answer {
        self.send(server, Method::GET, path, &[], None).await
    }

    pub(crate) async fn send(
        &mut self,
        server: &TestServer,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Answer {
        let mut request = server.client.request(method, server.url(path)).header("cookie", self.line());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = read(request.send().await.expect("an answer")).await;
        self.keep(&answer);
        answer
    }

    /// Opens an address of any server, without following where it points.
    pub(crate) async fn open(&mut self, client: &reqwest::Client, url: &Url, form: Option<&str>) -> Answer {
        let mut request = match form {
            Some(_) => client.post(url.clone()),
            None => client.get(url.clone()),
        };
        request = request.header("cookie", self.line());
        if let Some(form) = form {
            let kind = "application/x-www-form-urlencoded";
            request = request.header("content-type", kind).body(form.to_owned());
        }
        let answer = read(request.send().await.expect("an answer")).await;
        self.keep(&answer);
        answer
    }

    fn line(&self) -> String {
        let pairs: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }

    fn keep(&mut self, answer: &Answer) {
        for line in answer.headers.get_all("set-cookie") {
            let line = line.to_str().expect("text");
            let (pair, attributes) = line.split_once(';').unwrap_or((line, ""));
            let (name, value) = pair.split_once('=').expect("a cookie");
            let expired = attributes.contains("Max-Age=0")
                || attributes.to_lowercase().contains("expires=thu, 01 jan 1970");
            if expired {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

/// The origin of a server's own pages.
pub(crate) fn own(server: &TestServer) -> String {
    server.url("")
}
