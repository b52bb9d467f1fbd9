//! A simulated browser: it stores cookies and sends request headers as a browser does.

use std::collections::BTreeMap;

use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::cluster::PASSWORD;
use super::{TestResponse, TestServer, read_response};

pub(crate) const SESSION_COOKIE: &str = "__Host-guildhall";

/// A browser with its cookies. Like a real one, it ignores the port: cookies are sent to every replica.
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
        let response =
            browser.send(server, Method::POST, path, &[("origin", &origin_of(server))], Some(body)).await;
        assert_eq!(response.status, 200, "{}", response.text);
        (browser, response.body["csrfToken"].as_str().expect("a token").to_owned())
    }

    /// Sends a GET request.
    pub(crate) async fn get(&mut self, server: &TestServer, path: &str) -> TestResponse {
        self.send(server, Method::GET, path, &[], None).await
    }

    pub(crate) async fn send(
        &mut self,
        server: &TestServer,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> TestResponse {
        let mut request =
            server.client.request(method, server.url(path)).header("cookie", self.cookie_header());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = read_response(request.send().await.expect("a response")).await;
        self.store_cookies(&response);
        response
    }

    /// Opens a URL of any server without following redirects.
    pub(crate) async fn open(
        &mut self,
        client: &reqwest::Client,
        url: &Url,
        form: Option<&str>,
    ) -> TestResponse {
        let mut request = match form {
            Some(_) => client.post(url.clone()),
            None => client.get(url.clone()),
        };
        request = request.header("cookie", self.cookie_header());
        if let Some(form) = form {
            let kind = "application/x-www-form-urlencoded";
            request = request.header("content-type", kind).body(form.to_owned());
        }
        let response = read_response(request.send().await.expect("a response")).await;
        self.store_cookies(&response);
        response
    }

    /// Submits a form as a page of `origin` does. Does not follow redirects.
    pub(crate) async fn submit_form(
        &mut self,
        client: &reqwest::Client,
        url: &str,
        origin: Option<&str>,
        form: String,
    ) -> TestResponse {
        let headers: Vec<(&str, &str)> = origin.map(|origin| ("origin", origin)).into_iter().collect();
        self.submit_form_with(client, url, &headers, form).await
    }

    /// The same with any headers.
    pub(crate) async fn submit_form_with(
        &mut self,
        client: &reqwest::Client,
        url: &str,
        headers: &[(&str, &str)],
        form: String,
    ) -> TestResponse {
        let kind = "application/x-www-form-urlencoded";
        let request = client.post(url).header("cookie", self.cookie_header()).header("content-type", kind);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = read_response(request.body(form).send().await.expect("a response")).await;
        self.store_cookies(&response);
        response
    }

    pub(crate) fn cookie_header(&self) -> String {
        let pairs: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }

    fn store_cookies(&mut self, response: &TestResponse) {
        for line in response.headers.get_all("set-cookie") {
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

/// Returns the origin of the pages that a server serves.
pub(crate) fn origin_of(server: &TestServer) -> String {
    server.url("")
}
