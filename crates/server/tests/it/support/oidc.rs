//! An identity provider beside two replicas, and people who sign in through it.

use std::net::TcpListener;

use guildhall_testkit::{Node, Script, Sql, TestDb};
use reqwest::Url;
use serde_json::{Value, json};

use super::browser::Browser;
use super::people::World;
use super::{Answer, Setup, read};

pub(crate) const CLIENT_SECRET: &str = "known only to tests & to the server";

/// Two replicas under one public address, and their provider.
pub(crate) struct Parties {
    pub(crate) world: World,
    pub(crate) sql: Sql,
    pub(crate) tenant: String,
    /// Follows nothing: every step is looked at.
    pub(crate) client: reqwest::Client,
    pub(crate) provider: Node,
}

impl Parties {
    /// With a real provider.
    pub(crate) async fn real() -> Self {
        Self::with(Script::Provider).await
    }

    /// With one that lies when it is told to.
    pub(crate) async fn lying() -> Self {
        Self::with(Script::Twin).await
    }

    async fn with(script: Script) -> Self {
        let db = TestDb::new().await;
        let sql = db.sql().await;
        // The first replica listens where browsers know the server.
        let listen =
            TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a free port");
        let public = format!("http://{listen}");
        let callback = format!("{public}/api/v1/auth/oidc/callback");
        let provider = Node::start(script, &json!({ "redirectUris": [callback] }));
        let issuer = provider.said["issuer"].as_str().expect("an issuer").to_owned();
        let setup = Setup::on(&db)
            .with("http.public_url", &public)
            .with("oidc.issuer", issuer)
            .with("oidc.client_id", "guildhall")
            .with("oidc.client_secret", CLIENT_SECRET)
            .with("egress.allow", "127.0.0.0/8,::1/128");
        let world = World::under(setup.clone().with("http.listen", listen), setup, db).await;
        let tenant = world.tenant("acme").await;
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        Self { world, sql, tenant, client: client.build().expect("a client"), provider }
    }

    /// Begins a sign-in on the first replica. Returns where the provider is to be asked.
    pub(crate) async fn begin(&self, browser: &mut Browser, query: &str) -> Url {
        let url = self.world.one.url(&format!("/api/v1/auth/oidc/start?{query}"));
        let answer = browser.open(&self.client, &url.parse().expect("an address"), None).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        location(&answer)
    }

    /// Signs in at the provider under a name. Returns where the provider sends the browser back to.
    pub(crate) async fn at_provider(&self, browser: &mut Browser, mut url: Url, login: &str) -> Url {
        let mut form: Option<String> = None;
        for _ in 0..12 {
            let answer = browser.open(&self.client, &url, form.take().as_deref()).await;
            if answer.status.is_redirection() {
                url = url.join(answer.header("location")).expect("an address");
                if url.as_str().starts_with(&self.world.one.url("/")) {
                    return url;
                }
                continue;
            }
            assert_eq!(answer.status, 200, "{}", answer.text);
            let prompt =
                if answer.text.contains("name=\"prompt\" value=\"login\"") { "login" } else { "consent" };
            let action = answer.text.split("action=\"").nth(1).and_then(|rest| rest.split('"').next());
            url = action.expect("a form").parse().expect("an address");
            form = Some(format!("prompt={prompt}&login={login}&password=any"));
        }
        panic!("the provider does not come to an end at {url}");
    }

    /// Comes back from the provider, to the second replica.
    pub(crate) async fn come_back(&self, browser: &mut Browser, callback: &Url) -> Answer {
        let path = format!("{}?{}", callback.path(), callback.query().unwrap_or_default());
        let url = self.world.other.url(&path).parse().expect("an address");
        browser.open(&self.client, &url, None).await
    }

    /// Signs in from the beginning to the end.
    pub(crate) async fn sign_in(&self, browser: &mut Browser, query: &str, login: &str) -> Answer {
        let asked = self.begin(browser, query).await;
        let callback = self.at_provider(browser, asked, login).await;
        self.come_back(browser, &callback).await
    }

    /// Tells the twin what to do wrong from now on.
    pub(crate) async fn fault(&self, fault: &Value) {
        let issuer = self.provider.said["issuer"].as_str().expect("an issuer");
        let told = self.client.post(format!("{issuer}/fault")).json(fault).send().await.expect("an answer");
        assert_eq!(read(told).await.status, 200);
    }

    /// Counts what a sign-in could have changed.
    pub(crate) async fn facts(&mut self) -> Vec<i64> {
        let mut counts = Vec::new();
        for table in ["principals", "logins", "login_methods", "memberships", "handoffs"] {
            counts.push(self.sql.number(format!("SELECT count(*) FROM {table}")).await);
        }
        counts.push(self.sql.number("SELECT count(*) FROM invitations WHERE accepted_at IS NOT NULL").await);
        counts
    }

    /// Returns why sign-ins through the provider were refused, from the audit log.
    pub(crate) async fn reasons(&mut self) -> Vec<String> {
        let sql = "SELECT body FROM journal_entries WHERE kind = 'login.refused' ORDER BY recorded_at, seq";
        let bodies = self.sql.texts(sql).await;
        let bodies = bodies.iter().map(|body| serde_json::from_str::<Value>(body).expect("JSON"));
        bodies.map(|body| body["detail"]["from"].as_str().expect("a reason").to_owned()).collect()
    }
}

pub(crate) fn location(answer: &Answer) -> Url {
    answer.header("location").parse().unwrap_or_else(|_| panic!("no address: {}", answer.text))
}
