//! Who is online: a question to all replicas, answered by those that hold connections. Nothing is stored.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_bus::{Bus, Subscription};
use guildhall_domain::identity::{Aid, ClientSlot};
use guildhall_domain::messages::{DeliveryMode, InboxId};
use guildhall_runtime::Tasks;
use guildhall_store::{Store, replicas};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tracing::debug;
use uuid::Uuid;

use super::InboxClient;
use super::error::MessageError;
use super::hub::{Hub, LiveInstance};
use crate::ServiceError;
use crate::messages::addresses::Addresses;

const QUESTIONS: &str = "presence.ask";

/// How long the answers of other replicas are waited for. One that does not answer counts as one without connections.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(300);

/// How often the number of replicas is read. A replica that was heard of counts until then, registered or not.
const COUNT_INTERVAL: Duration = Duration::from_secs(5);

/// Replicas that answer a question at most.
const MAX_REPLICAS: u32 = 1_000;

/// AIDs in one question.
const MAX_AIDS: usize = 100;

/// Questions that wait for answers.
const MAX_WAITING: usize = 1_000;

/// Answers that wait for one question.
const MAX_ANSWERS: usize = 64;

/// Asks replicas for connections. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Presence {
    hub: Hub,
    bus: Bus,
    waiting: Arc<Mutex<HashMap<Uuid, mpsc::Sender<Answer>>>>,
    other_replicas: Arc<Mutex<OtherReplicas>>,
}

/// The replicas that are expected to answer.
#[derive(Debug, Default)]
struct OtherReplicas {
    registered: usize,
    heard: HashMap<Uuid, Instant>,
}

impl OtherReplicas {
    fn count(&self) -> usize {
        self.registered.max(self.heard.len())
    }

    fn hear(&mut self, replica: Uuid) {
        self.heard.insert(replica, Instant::now());
    }

    fn register(&mut self, count: usize) {
        self.registered = count;
        self.heard.retain(|_, heard_at| heard_at.elapsed() < COUNT_INTERVAL);
    }
}

/// Without inboxes, it tells the others that the asker is there.
#[derive(Debug, Serialize, Deserialize)]
struct Question {
    id: Uuid,
    asker: Uuid,
    inboxes: Vec<i64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Answer {
    question: Uuid,
    replica: Uuid,
    online: Vec<OnlineInstance>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct OnlineInstance {
    inbox: i64,
    device: String,
    slot: String,
    is_queue: bool,
}

impl Presence {
    pub(super) fn start(hub: Hub, store: &Store, bus: &Bus, tasks: &Tasks) -> Self {
        let presence =
            Self { hub, bus: bus.clone(), waiting: Arc::default(), other_replicas: Arc::default() };
        let (running, store, stop) = (presence.clone(), store.clone(), tasks.stop());
        tasks.spawn("presence", async move {
            tokio::select! {
                () = running.exchange() => {}
                () = running.count_replicas(&store) => {}
                () = stop.cancelled() => {}
            }
        });
        presence
    }

    /// Returns which AIDs have a connection. AIDs that do not exist, and those of other issuers, have none.
    pub(super) async fn online(
        &self,
        addresses: &Addresses,
        aids: &BTreeSet<Aid>,
    ) -> Result<BTreeSet<Aid>, ServiceError> {
        let mut inboxes = HashMap::new();
        for aid in aids {
            if let Some(inbox) = addresses.find(aid).await? {
                inboxes.insert(inbox, aid.clone());
            }
        }
        let asked: Vec<InboxId> = inboxes.keys().copied().collect();
        let found = self.ask(&asked, |online| asked.iter().all(|inbox| online.contains_key(inbox))).await;
        Ok(found.keys().filter_map(|inbox| inboxes.get(inbox).cloned()).collect())
    }

    /// Returns the instances of an inbox that are connected to any replica.
    pub(super) async fn instances(&self, inbox: InboxId) -> Vec<LiveInstance> {
        self.ask(&[inbox], |_| false).await.remove(&inbox).unwrap_or_default()
    }

    /// Asks until `is_enough`, or until every replica has answered.
    async fn ask(
        &self,
        inboxes: &[InboxId],
        is_enough: impl Fn(&HashMap<InboxId, Vec<LiveInstance>>) -> bool,
    ) -> HashMap<InboxId, Vec<LiveInstance>> {
        let mut online: HashMap<InboxId, Vec<LiveInstance>> = HashMap::new();
        for inbox in inboxes {
            let own = self.hub.instances(*inbox);
            if !own.is_empty() {
                online.insert(*inbox, own);
            }
        }
        let others = self.others().count();
        if others == 0 || is_enough(&online) {
            return online;
        }
        let Some((id, mut answers)) = self.wait_for_answers() else { return online };
        let inboxes = inboxes.iter().map(|inbox| inbox.get()).collect();
        let question = Question { id, asker: self.hub.replica(), inboxes };
        self.publish_question(&question).await;
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        let mut answered = 0;
        while answered < others
            && !is_enough(&online)
            && let Ok(Some(answer)) = timeout_at(deadline, answers.recv()).await
        {
            answered += 1;
            for instance in answer.online {
                let Some((inbox, live)) = instance.read() else { continue };
                online.entry(inbox).or_default().push(live);
            }
        }
        self.lock().remove(&id);
        online
    }

    fn wait_for_answers(&self) -> Option<(Uuid, mpsc::Receiver<Answer>)> {
        let mut waiting = self.lock();
        if waiting.len() >= MAX_WAITING {
            return None;
        }
        let (id, (sender, answers)) = (Uuid::now_v7(), mpsc::channel(MAX_ANSWERS));
        waiting.insert(id, sender);
        Some((id, answers))
    }

    /// Asks and answers. The first question lets a new replica and the others know each other, before they read who is
    /// registered.
    async fn exchange(&self) {
        let replica = self.hub.replica();
        let (Ok(questions), Ok(answers)) =
            (self.bus.subscribe(QUESTIONS).await, self.bus.subscribe(&answers_to(replica)).await)
        else {
            return std::future::pending().await;
        };
        self.publish_question(&Question { id: Uuid::now_v7(), asker: replica, inboxes: Vec::new() }).await;
        tokio::join!(self.answer(questions), self.receive_answers(answers));
        std::future::pending().await
    }

    async fn publish_question(&self, question: &Question) {
        self.bus.publish(QUESTIONS, serde_json::to_vec(question).unwrap_or_default()).await;
    }

    /// Answers the questions of other replicas, also with an empty answer: the asker then waits no longer.
    async fn answer(&self, mut questions: Subscription) {
        let replica = self.hub.replica();
        while let Some(question) = questions.next().await {
            let Ok(question) = serde_json::from_slice::<Question>(&question) else { continue };
            if question.asker == replica || question.inboxes.len() > MAX_AIDS {
                continue;
            }
            self.others().hear(question.asker);
            let online = question.inboxes.iter().flat_map(|inbox| self.online_instances(*inbox)).collect();
            let answer = Answer { question: question.id, replica, online };
            let answer = serde_json::to_vec(&answer).unwrap_or_default();
            self.bus.publish(&answers_to(question.asker), answer).await;
        }
    }

    fn online_instances(&self, inbox: i64) -> Vec<OnlineInstance> {
        let instances = self.hub.instances(InboxId::new(inbox));
        instances.into_iter().map(|live| OnlineInstance::new(inbox, &live)).collect()
    }

    async fn receive_answers(&self, mut answers: Subscription) {
        while let Some(answer) = answers.next().await {
            let Ok(answer) = serde_json::from_slice::<Answer>(&answer) else { continue };
            self.others().hear(answer.replica);
            let asker = self.lock().get(&answer.question).cloned();
            if let Some(asker) = asker {
                let _asker_has_enough = asker.try_send(answer);
            }
        }
    }

    async fn count_replicas(&self, store: &Store) {
        loop {
            match store.answer(replicas::list(store, MAX_REPLICAS)).await {
                Ok(replicas) => {
                    self.others().register(replicas.len().saturating_sub(1));
                }
                Err(error) => debug!(error = &error as &dyn std::error::Error, "cannot count the replicas"),
            }
            tokio::time::sleep(COUNT_INTERVAL).await;
        }
    }

    fn others(&self) -> MutexGuard<'_, OtherReplicas> {
        self.other_replicas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, mpsc::Sender<Answer>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OnlineInstance {
    fn new(inbox: i64, live: &LiveInstance) -> Self {
        Self {
            inbox,
            device: live.instance.device().to_owned(),
            slot: live.instance.slot().to_owned(),
            is_queue: live.mode == DeliveryMode::Queue,
        }
    }

    fn read(&self) -> Option<(InboxId, LiveInstance)> {
        let instance = ClientSlot::new(&self.device, &self.slot).ok()?;
        let mode = if self.is_queue { DeliveryMode::Queue } else { DeliveryMode::Fanout };
        Some((InboxId::new(self.inbox), LiveInstance { instance, mode }))
    }
}

fn answers_to(replica: Uuid) -> String {
    format!("presence.answer.{}", replica.simple())
}

impl super::Group {
    /// Returns which of some AIDs are online.
    pub async fn query_online(
        &self,
        _client: &InboxClient,
        aids: &BTreeSet<Aid>,
    ) -> Result<BTreeSet<Aid>, ServiceError> {
        if aids.len() > MAX_AIDS {
            return Err(MessageError::TooManyAids.into());
        }
        self.presence.online(&self.addresses, aids).await
    }
}
