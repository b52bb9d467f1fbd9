//! People and programs that talk to a server.

use guildhall_testkit::TestDb;
use reqwest::Method;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{Answer, Setup, TestServer, read};

pub(crate) const PASSWORD: &str = "correct horse battery";

/// Somebody with a token.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) principal: String,
    pub(crate) access: String,
    pub(crate) refresh: String,
}

impl TestServer {
    /// Sends a request as a bearer; with a body it is a JSON one.
    pub(crate) async fn ask(&self, method: Method, path: &str, bearer: &str, body: Option<Value>) -> Answer {
        let mut request = self.client.request(method, self.url(path)).bearer_auth(bearer);
        if let Some(body) = body {
            request = request.json(&body);
        }
        read(request.send().await.expect("an answer")).await
    }

    pub(crate) async fn get_as(&self, path: &str, bearer: &str) -> Answer {
        self.ask(Method::GET, path, bearer, None).await
    }

    pub(crate) async fn post_as(&self, path: &str, bearer: &str, body: Value) -> Answer {
        self.ask(Method::POST, path, bearer, Some(body)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        read(self.client.post(self.url(path)).json(&body).send().await.expect("an answer")).await
    }

    pub(crate) async fn try_sign_in(&self, name: &str, password: &str) -> Answer {
        self.post("/api/v1/auth/login", json!({ "name": name, "password": password })).await
    }

    pub(crate) async fn sign_in(&self, name: &str) -> Person {
        let answer = self.try_sign_in(name, PASSWORD).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        person(&answer.body)
    }
}

pub(crate) fn person(tokens: &Value) -> Person {
    let text = |name: &str| tokens[name].as_str().expect(name).to_owned();
    Person { principal: text("principal"), access: text("accessToken"), refresh: text("refreshToken") }
}

/// Two replicas and the one who operates them.
pub(crate) struct World {
    pub(crate) one: TestServer,
    pub(crate) other: TestServer,
    pub(crate) operator: Person,
    // Last, so that the servers are gone before their database.
    pub(crate) db: TestDb,
}

impl World {
    pub(crate) async fn new() -> Self {
        let db = TestDb::new().await;
        Self::on(Setup::on(&db), db).await
    }

    pub(crate) async fn on(setup: Setup, db: TestDb) -> Self {
        Self::under(setup.clone(), setup, db).await
    }

    /// Two replicas that are set up differently.
    pub(crate) async fn under(one: Setup, other: Setup, db: TestDb) -> Self {
        let (one, other) = tokio::join!(one.start(), other.start());
        let made =
            one.server.create_first_user("operator", &SecretString::from(PASSWORD)).await.expect("made");
        assert!(made, "the database is new");
        let operator = one.sign_in("operator").await;
        Self { one, other, operator, db }
    }

    /// Makes a user and signs them in.
    pub(crate) async fn user(&self, name: &str) -> Person {
        let body = json!({ "name": name, "password": PASSWORD });
        let answer = self.one.post_as("/api/v1/users", &self.operator.access, body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        self.other.sign_in(name).await
    }

    /// Makes a tenant that the operator owns, and returns its id.
    pub(crate) async fn tenant(&self, slug: &str) -> String {
        let body = json!({ "slug": slug, "name": slug });
        let answer = self.one.post_as("/api/v1/tenants", &self.operator.access, body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.body["id"].as_str().expect("an id").to_owned()
    }

    /// Gives somebody a role in a tenant.
    pub(crate) async fn member(&self, tenant: &str, person: &Person, role: &str) {
        let path = format!("/api/v1/tenants/{tenant}/members/{}", person.principal);
        let answer =
            self.one.ask(Method::PUT, &path, &self.operator.access, Some(json!({ "role": role }))).await;
        assert_eq!(answer.status, 204, "{}", answer.text);
    }

    /// Makes an enrolment, and returns its id and its secret.
    pub(crate) async fn enrolment(&self, tenant: &str) -> (String, String) {
        let path = format!("/api/v1/tenants/{tenant}/enrolments");
        let answer = self.one.post_as(&path, &self.operator.access, json!({ "name": "runners" })).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        let text = |name: &str| answer.body[name].as_str().expect(name).to_owned();
        (text("id"), text("secret"))
    }

    /// Makes a project, and returns its id.
    pub(crate) async fn project(&self, tenant: &str, slug: &str) -> String {
        let (path, body) =
            (format!("/api/v1/tenants/{tenant}/projects"), json!({ "slug": slug, "name": slug }));
        let answer = self.one.post_as(&path, &self.operator.access, body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.body["id"].as_str().expect("an id").to_owned()
    }

    /// Mints a token for an external subject with a service key.
    pub(crate) async fn subject_token(&self, tenant: &str, key: &str, subject: &str) -> Answer {
        let path = format!("/api/v1/tenants/{tenant}/subject-tokens");
        self.one.post_as(&path, key, json!({ "subject": subject })).await
    }

    /// Makes a service key, and returns its id and its secret.
    pub(crate) async fn key(&self, tenant: &str, role: &str) -> (String, String) {
        let path = format!("/api/v1/tenants/{tenant}/keys");
        let answer =
            self.one.post_as(&path, &self.operator.access, json!({ "name": "ci", "role": role })).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        let text = |name: &str| answer.body[name].as_str().expect(name).to_owned();
        (text("id"), text("secret"))
    }

    /// Makes an invitation, and returns its id and its secret.
    pub(crate) async fn invitation(&self, tenant: &str, role: &str) -> (String, String) {
        let path = format!("/api/v1/tenants/{tenant}/invitations");
        let body = json!({ "role": role, "email": "somebody@example.org" });
        let answer = self.one.post_as(&path, &self.operator.access, body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        let text = |name: &str| answer.body[name].as_str().expect(name).to_owned();
        (text("id"), text("secret"))
    }
}
