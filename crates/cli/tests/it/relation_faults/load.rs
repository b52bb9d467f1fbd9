//! Requests of other clients, and how long they take.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use reqwest::Method;
use serde_json::Value;

use crate::support::cluster::Cluster;

/// Clients that send requests at once, each one after the other.
const CLIENTS: usize = 4;

/// The pause of a client between two requests.
const PAUSE: Duration = Duration::from_millis(5);

/// Sends requests to the first replica, each route in turn, until it is enough. Returns their latencies.
pub(super) async fn run_clients(
    cluster: &Cluster,
    access: &str,
    routes: &[(Method, String, Option<Value>)],
    count: usize,
    is_done: &AtomicBool,
) -> Vec<Duration> {
    let client = async |first: usize| {
        let mut latencies = Vec::new();
        for (method, path, body) in routes.iter().cycle().skip(first) {
            if latencies.len() >= count / CLIENTS || is_done.load(Ordering::SeqCst) {
                break;
            }
            let began = Instant::now();
            let mut request = cluster.request(0, method.clone(), path, access);
            if let Some(body) = body {
                request = request.json(body);
            }
            let response = request.send().await.expect("a response");
            assert_eq!(response.status(), 200, "{method} {path}");
            let _body = response.bytes().await.expect("a body");
            latencies.push(began.elapsed());
            tokio::time::sleep(PAUSE).await;
        }
        latencies
    };
    join_all((0..CLIENTS).map(client)).await.concat()
}

pub(super) fn percentile(latencies: &[Duration], percent: usize) -> Duration {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or_default()
}
