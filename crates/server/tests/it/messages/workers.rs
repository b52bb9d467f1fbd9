//! Which worker gets the messages of the mode `queue`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use guildhall_domain::identity::{Aid, ClientSlot};
use guildhall_domain::messages::preferred_instance;
use serde_json::{Value, json};

use super::{pull, text};
use crate::support::aun_client::{AunIdentity, AunSocket};
use crate::support::gateway::Gateway;

/// So many that each worker has some of them.
const SENDERS: usize = 8;

const WORKERS: [&str; 3] = ["worker-1", "worker-2", "worker-3"];

/// The workers of one AID by device, each with what it has read.
struct Pool {
    gateway: Gateway,
    owner: AunIdentity,
    workers: BTreeMap<&'static str, (AunSocket, i64)>,
}

impl Pool {
    async fn start() -> Self {
        let gateway = Gateway::start().await;
        let owner = gateway.register("bobby").await;
        let mut workers = BTreeMap::new();
        for (number, device) in WORKERS.into_iter().enumerate() {
            let connect = json!({
                "device": { "id": device, "type": "sdk" }, "delivery_mode": { "mode": "queue" },
            });
            let socket = owner.connected_with(gateway.cluster_address(number), connect).await;
            workers.insert(device, (socket, 0));
        }
        Self { gateway, owner, workers }
    }

    async fn send(&self, sender: &mut AunSocket) {
        let to = &self.owner.aid;
        let params = json!({ "to": to, "payload": text("work"), "delivery_mode": { "mode": "queue" } });
        sender.call("message.send", params).await.expect("sent");
    }

    /// Reads what is new at each worker. Returns which workers got messages of each sender, once for each message.
    async fn read_new(&mut self) -> BTreeMap<String, Vec<&'static str>> {
        let mut found: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
        for (device, (socket, after)) in &mut self.workers {
            let page = pull(socket, *after).await;
            assert_eq!(page["has_more"], false);
            *after = page["latest_seq"].as_i64().expect("a seq");
            for row in page["messages"].as_array().expect("rows") {
                found.entry(sender_of(row)).or_default().push(*device);
            }
        }
        found
    }

    /// Returns the workers that the hash picks for senders.
    fn preferred(&self, senders: &[AunIdentity]) -> BTreeMap<String, Vec<&'static str>> {
        let slot = |device: &&'static str| ClientSlot::new(device, "default").expect("a slot");
        let slots: Vec<(&'static str, ClientSlot)> =
            self.workers.keys().map(|device| (*device, slot(device))).collect();
        let pick = |sender: &AunIdentity| {
            let aid: Aid = sender.aid.parse().expect("an AID");
            let picked = preferred_instance(&aid, slots.iter().map(|(_, slot)| slot)).expect("a worker");
            let device = slots.iter().find(|(_, slot)| slot == picked).expect("one of them").0;
            (sender.aid.clone(), vec![device])
        };
        senders.iter().map(pick).collect()
    }
}

fn sender_of(row: &Value) -> String {
    row["from_aid"].as_str().expect("an AID").to_owned()
}

// covers: A3
#[tokio::test]
async fn lost_worker_moves_only_its_own_senders() {
    let mut pool = Pool::start().await;
    let (mut senders, mut sockets) = (Vec::new(), Vec::new());
    for number in 0..SENDERS {
        let sender = pool.gateway.register(&format!("sender-{number}")).await;
        let (first, second) = (pool.gateway.cluster_address(0), pool.gateway.cluster_address(1));
        sockets.push([sender.connected(first).await, sender.connected(second).await]);
        senders.push(sender);
    }
    // At both replicas: both pick the same worker.
    for replica in [0, 1] {
        for sockets in &mut sockets {
            pool.send(&mut sockets[replica]).await;
        }
        let found = pool.read_new().await;
        assert_eq!(found, pool.preferred(&senders), "replica {replica}");
    }
    let before = pool.preferred(&senders);
    let lost = *before[&senders[0].aid].first().expect("a worker");
    assert!(before.values().any(|workers| workers[0] != lost), "all senders have one worker");

    pool.workers.remove(lost);
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        pool.send(&mut sockets[0][0]).await;
        if !pool.read_new().await.is_empty() {
            break;
        }
        assert!(Instant::now() < deadline, "the replica still counts on {lost}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for replica in [0, 1] {
        for sockets in &mut sockets {
            pool.send(&mut sockets[replica]).await;
        }
        let found = pool.read_new().await;
        assert_eq!(found, pool.preferred(&senders), "replica {replica}");
        let moved = found.iter().filter(|(sender, workers)| before[*sender] != **workers);
        assert!(moved.clone().all(|(sender, _)| before[sender] == [lost]), "{before:?} {found:?}");
    }
}
