//! A person who reads and answers questions of agents on their page.

use reqwest::Method;

use super::browser::{Browser, origin_of};
use super::oidc::csrf_of;
use super::{TestResponse, TestServer};

/// A person in front of a browser.
pub(crate) struct PageReader {
    pub(crate) browser: Browser,
    /// Does not follow redirects.
    pub(crate) client: reqwest::Client,
}

impl PageReader {
    /// A person without a session.
    pub(crate) fn anonymous() -> Self {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        Self { browser: Browser::default(), client: client.build().expect("a client") }
    }

    pub(crate) async fn signed_in(server: &TestServer, name: &str) -> Self {
        Self { browser: Browser::sign_in(server, name).await.0, ..Self::anonymous() }
    }

    pub(crate) async fn read(&mut self, server: &TestServer, approval: &str) -> TestResponse {
        self.browser.get(server, &format!("/approve/{approval}")).await
    }

    pub(crate) async fn read_with(
        &mut self,
        server: &TestServer,
        approval: &str,
        headers: &[(&str, &str)],
    ) -> TestResponse {
        self.browser.send(server, Method::GET, &format!("/approve/{approval}"), headers, None).await
    }

    /// Presses the button of an option on a page that was read.
    pub(crate) async fn press(
        &mut self,
        server: &TestServer,
        approval: &str,
        page: &TestResponse,
        option: &str,
    ) -> TestResponse {
        self.submit(server, approval, answer_form(page, option)).await
    }

    /// Sends a form to the page, from a page of the same server.
    pub(crate) async fn submit(&mut self, server: &TestServer, approval: &str, form: String) -> TestResponse {
        let url = server.url(&format!("/approve/{approval}"));
        self.browser.submit_form(&self.client, &url, Some(&origin_of(server)), form).await
    }

    /// Reads the page and presses the button of an option. Returns the status of the response.
    pub(crate) async fn answer(&mut self, server: &TestServer, approval: &str, option: &str) -> u16 {
        let page = self.read(server, approval).await;
        self.press(server, approval, &page, option).await.status.as_u16()
    }
}

/// Returns the form of an option, as the page has it.
pub(crate) fn answer_form(page: &TestResponse, option: &str) -> String {
    let digest = page.text.split("name=\"digest\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let digest = digest.unwrap_or_else(|| panic!("no form: {}", page.text));
    let field = format!("name=\"option\" value=\"{option}\"");
    assert!(page.text.contains(&field), "no option {option}: {}", page.text);
    // As a browser encodes the value.
    let option = option.replace('%', "%25").replace('+', "%2B");
    format!("csrf={}&digest={digest}&option={option}", csrf_of(page))
}

/// Returns the number of buttons that answer.
pub(crate) fn buttons(page: &TestResponse) -> usize {
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8", "{}", page.text);
    page.text.matches("name=\"digest\"").count()
}
