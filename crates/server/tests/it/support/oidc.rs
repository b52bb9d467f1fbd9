//! Two replicas with an identity provider, and the steps of a sign-in through it.

use std::net::TcpListener;

use guildhall_testkit::{NodeProcess, NodeScript, SqlConnection, TestDb};
use reqwest::Url;
use serde_json::{Value, json};

use super::browser::{Browser, origin_of};
use super::cluster::Cluster;
use super::{Setup, TestResponse, read_response};

pub(crate) const CLIENT_SECRET: &str = "known only to tests & to the server";

/// Two replicas with one public URL, and their identity provider.
pub(crate) struct OidcFixture {
    pub(crate) cluster: Cluster,
    pub(crate) sql: SqlConnection,
    pub(crate) tenant: String,
    /// Does not follow redirects: tests check every step.
    pub(crate) client: reqwest::Client,
    pub(crate) provider: NodeProcess,
}

impl OidcFixture {
    /// Uses a real provider.
    pub(crate) async fn with_real_provider() -> Self {
        let db = TestDb::new().await;
        Self::with_provider(NodeScript::Provider, Setup::new(&db), db).await
    }

    /// Uses a provider that can be made to misbehave.
    pub(crate) async fn with_faulty_provider() -> Self {
        let db = TestDb::new().await;
        Self::with_provider(NodeScript::FaultyProvider, Setup::new(&db), db).await
    }

    /// Uses the same provider, and the limits of sign-ins that an installation has by default.
    pub(crate) async fn with_default_limits() -> Self {
        let db = TestDb::new().await;
        Self::with_provider(NodeScript::FaultyProvider, Setup::with_default_limits(&db), db).await
    }

    async fn with_provider(script: NodeScript, setup: Setup, db: TestDb) -> Self {
        let sql = db.sql().await;
        // The first replica listens on the public address.
        let listen =
            TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a free port");
        let public = format!("http://{listen}");
        let callback = format!("{public}/api/v1/auth/oidc/callback");
        let provider = NodeProcess::start(script, &json!({ "redirectUris": [callback] }));
        let issuer = provider.output["issuer"].as_str().expect("an issuer").to_owned();
        let setup = setup
            .with("http.public_url", &public)
            .with("oidc.issuer", issuer)
            .with("oidc.client_id", "guildhall")
            .with("oidc.client_secret", CLIENT_SECRET)
            .with("egress.allow", "127.0.0.0/8,::1/128");
        let cluster = Cluster::with_setups(setup.clone().with("http.listen", listen), setup, db).await;
        let tenant = cluster.create_tenant("acme").await;
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        Self { cluster, sql, tenant, client: client.build().expect("a client"), provider }
    }

    /// Starts a sign-in on the first replica. Returns the URL of the provider.
    pub(crate) async fn start_sign_in(&self, browser: &mut Browser, query: &str) -> Url {
        let url = self.cluster.first.url(&format!("/api/v1/auth/oidc/start?{query}"));
        let response = browser.open(&self.client, &url.parse().expect("a URL"), None).await;
        assert_eq!(response.status, 303, "{}", response.text);
        location(&response)
    }

    /// Signs in at the provider as a user. Returns the callback URL that the provider redirects to.
    pub(crate) async fn authenticate(&self, browser: &mut Browser, mut url: Url, login: &str) -> Url {
        let mut form: Option<String> = None;
        for _ in 0..12 {
            let response = browser.open(&self.client, &url, form.take().as_deref()).await;
            if response.status.is_redirection() {
                url = url.join(response.header("location")).expect("a URL");
                if url.as_str().starts_with(&self.cluster.first.url("/")) {
                    return url;
                }
                continue;
            }
            assert_eq!(response.status, 200, "{}", response.text);
            let prompt =
                if response.text.contains("name=\"prompt\" value=\"login\"") { "login" } else { "consent" };
            let action = response.text.split("action=\"").nth(1).and_then(|rest| rest.split('"').next());
            url = action.expect("a form").parse().expect("a URL");
            form = Some(format!("prompt={prompt}&login={login}&password=any"));
        }
        panic!("the provider does not redirect back: {url}");
    }

    /// Opens the callback URL on the second replica.
    pub(crate) async fn follow_callback(&self, browser: &mut Browser, callback: &Url) -> TestResponse {
        let path = format!("{}?{}", callback.path(), callback.query().unwrap_or_default());
        let url = self.cluster.second.url(&path).parse().expect("a URL");
        browser.open(&self.client, &url, None).await
    }

    /// Runs all steps of a sign-in.
    pub(crate) async fn sign_in(&self, browser: &mut Browser, query: &str, login: &str) -> TestResponse {
        let provider_url = self.start_sign_in(browser, query).await;
        let callback = self.authenticate(browser, provider_url, login).await;
        self.follow_callback(browser, &callback).await
    }

    /// Opens the confirmation page of a sign-in for the CLI on the first replica.
    pub(crate) async fn open_confirmation(&self, browser: &mut Browser) -> TestResponse {
        let url = self.cluster.first.url("/sign-in/confirm").parse().expect("a URL");
        browser.open(&self.client, &url, None).await
    }

    /// Submits the form of the confirmation page to the second replica.
    pub(crate) async fn submit_confirmation(
        &self,
        browser: &mut Browser,
        csrf: &str,
        choice: &str,
    ) -> TestResponse {
        let second = &self.cluster.second;
        let (url, origin) = (second.url("/sign-in/confirm"), origin_of(second));
        browser.submit_form(&self.client, &url, Some(&origin), format!("csrf={csrf}&choice={choice}")).await
    }

    /// Makes the faulty provider misbehave from now on.
    pub(crate) async fn inject_fault(&self, fault: &Value) {
        let issuer = self.provider.output["issuer"].as_str().expect("an issuer");
        let request = self.client.post(format!("{issuer}/fault")).json(fault);
        let response = request.send().await.expect("a response");
        assert_eq!(read_response(response).await.status, 200);
    }

    /// Returns the row counts of all tables that a sign-in can change.
    pub(crate) async fn account_counts(&mut self) -> Vec<i64> {
        let mut counts = Vec::new();
        for table in
            ["principals", "logins", "login_methods", "memberships", "handoffs", "handoff_confirmations"]
        {
            counts.push(self.sql.number(format!("SELECT count(*) FROM {table}")).await);
        }
        counts.push(self.sql.number("SELECT count(*) FROM invitations WHERE accepted_at IS NOT NULL").await);
        counts
    }

    /// Returns the reasons of refused sign-ins from the audit log.
    pub(crate) async fn refusal_reasons(&mut self) -> Vec<String> {
        let sql = "SELECT body FROM journal_entries WHERE kind = 'login.refused' ORDER BY recorded_at, seq";
        let bodies = self.sql.texts(sql).await;
        let bodies = bodies.iter().map(|body| serde_json::from_str::<Value>(body).expect("JSON"));
        bodies.map(|body| body["detail"]["from"].as_str().expect("a reason").to_owned()).collect()
    }
}

/// Returns the CSRF token of the confirmation page.
pub(crate) fn csrf_of(page: &TestResponse) -> String {
    let token = page.text.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    token.unwrap_or_else(|| panic!("no form: {}", page.text)).to_owned()
}

pub(crate) fn location(response: &TestResponse) -> Url {
    response.header("location").parse().unwrap_or_else(|_| panic!("no location header: {}", response.text))
}
