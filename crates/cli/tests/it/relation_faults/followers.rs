//! Users who follow their relations while a server is killed.

use std::time::{Duration, Instant};

use guildhall_testkit::spawn_task;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::support::cluster::{Cluster, PASSWORD};

/// Followers, half of them on each replica.
const FOLLOWERS: usize = 6;

/// A stream that is silent for as long is opened again.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// A user who follows their relations, and goes on after each lost connection.
pub(super) struct Follower {
    client: reqwest::Client,
    url: String,
    access: String,
    /// The types of the events, once the relation has ended.
    events: JoinHandle<Vec<String>>,
}

impl Follower {
    /// Creates users who grant a scope to an agent and follow their relations.
    pub(super) async fn connect_all(cluster: &Cluster, operator: &str, agent: &str) -> Vec<Self> {
        let mut followers = Vec::new();
        for number in 0..FOLLOWERS {
            followers.push(Self::connect(cluster, operator, agent, number).await);
        }
        followers
    }

    async fn connect(cluster: &Cluster, operator: &str, agent: &str, number: usize) -> Self {
        let login = json!({ "name": format!("follower-{number}"), "password": PASSWORD });
        let key = format!("follower-{number}");
        cluster.create(0, "/api/v1/users", operator, &key, &login).await.expect("created");
        let signed_in = cluster.client.post(cluster.url(0, "/api/v1/auth/login")).json(&login).send().await;
        let tokens: Value = signed_in.expect("a response").json().await.expect("tokens");
        let access = tokens["accessToken"].as_str().expect("a token").to_owned();
        let grant = json!({ "agent_id": agent, "granted_scopes": ["filesystem:read"] });
        let relation = cluster.create(0, "/h2a/relations", &access, "grant", &grant).await.expect("granted");
        let id = relation["id"].as_str().expect("an id");
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let (connected, is_connected) = oneshot::channel();
        let stream = RelationStream {
            client: client.clone(),
            url: cluster.url(number, "/api/v1/relations/events"),
            access: access.clone(),
            connected: Some(connected),
        };
        let events = spawn_task(stream.follow());
        is_connected.await.expect("connected");
        Self { client, url: cluster.url(0, &format!("/h2a/relations/{id}")), access, events }
    }

    /// Ends the relation, which is the last event, and checks that the user was asked once before.
    pub(super) async fn assert_asked_once(self) {
        let ended = self.client.request(Method::DELETE, &self.url).bearer_auth(&self.access).send().await;
        assert_eq!(ended.expect("a response").status(), 200);
        let events = self.events.await.expect("a stream");
        let asked = events.iter().filter(|name| *name == "h2a.reauth_required").count();
        assert_eq!(asked, 1, "{events:?}");
    }
}

struct RelationStream {
    client: reqwest::Client,
    url: String,
    access: String,
    connected: Option<oneshot::Sender<()>>,
}

impl RelationStream {
    /// Follows until the relation has ended. Returns the types of the events.
    async fn follow(mut self) -> Vec<String> {
        let (mut events, mut cursor) = (Vec::new(), None::<String>);
        let limit = Instant::now() + Duration::from_secs(1800);
        loop {
            assert!(Instant::now() < limit, "the relation does not end: {events:?}");
            let mut request = self.client.get(&self.url).bearer_auth(&self.access);
            if let Some(cursor) = &cursor {
                request = request.header("last-event-id", cursor);
            }
            if let Ok(mut response) = request.send().await {
                if let Some(connected) = self.connected.take() {
                    connected.send(()).expect("a test that waits");
                }
                let mut text = String::new();
                while let Ok(Ok(Some(chunk))) = tokio::time::timeout(READ_TIMEOUT, response.chunk()).await {
                    text.push_str(&String::from_utf8_lossy(&chunk));
                    while let Some((frame, rest)) = text.split_once("\n\n") {
                        let event = read_frame(frame, &mut cursor);
                        text = rest.to_owned();
                        let Some(event) = event else { continue };
                        events.push(event["type"].as_str().expect("a type").to_owned());
                        if event["payload"]["status"] == "ended" {
                            return events;
                        }
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Returns the event of a frame, and takes its cursor. A frame without data keeps the connection open.
fn read_frame(frame: &str, cursor: &mut Option<String>) -> Option<Value> {
    let member = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
    if let Some(id) = member("id: ").or_else(|| member("id:")) {
        *cursor = Some(id.to_owned());
    }
    let data = member("data: ").or_else(|| member("data:"))?;
    let event: Value = serde_json::from_str(data).expect("JSON");
    event["payload"].is_object().then_some(event)
}
