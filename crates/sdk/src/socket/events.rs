//! What a socket client tells its consumers: bounded queues, one for each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};

use futures::task::AtomicWaker;
use guildhall_protocol::rpc::auth::ConnectResult;
use serde_json::Value;

use super::SocketError;

/// Notifications that wait for one consumer. One that reads later than that pulls instead.
const MAX_EVENTS: usize = 256;

/// Bytes of the notifications that wait for one consumer: two of the largest.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Something that happened on the socket.
#[derive(Debug, Clone)]
pub enum SocketEvent {
    /// A connection is open. Notifications may have been missed before it: pull what is new. It comes before all
    /// notifications of this connection, and first to a consumer that subscribes later.
    Connected(Arc<ConnectResult>),
    /// The connection is lost. The client connects again by itself.
    Disconnected(SocketError),
    /// A notification of the server, such as `event/message.received`.
    Notification(Arc<ServerNotification>),
    /// The consumer was too slow: the notifications since the last event were dropped. Pull what is new.
    Missed,
    /// The client does not connect again. Nothing comes after it.
    Ended(SocketError),
}

/// A notification of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerNotification {
    pub method: String,
    pub params: Value,
}

/// The consumers of a client.
#[derive(Debug, Default)]
pub(super) struct EventBus(Mutex<Consumers>);

#[derive(Debug, Default)]
struct Consumers {
    queues: Vec<Weak<EventQueue>>,
    /// What a new consumer is told first.
    current: Option<SocketEvent>,
}

impl EventBus {
    pub(super) fn subscribe(&self) -> Arc<EventQueue> {
        let queue = Arc::new(EventQueue::default());
        let mut consumers = lock(&self.0);
        if let Some(current) = &consumers.current {
            queue.push(current.clone(), 0);
        }
        consumers.queues.retain(|queue| queue.strong_count() > 0);
        consumers.queues.push(Arc::downgrade(&queue));
        queue
    }

    /// Tells all consumers of a change of the connection.
    pub(super) fn publish_state(&self, event: &SocketEvent) {
        let mut consumers = lock(&self.0);
        consumers.current = match event {
            SocketEvent::Connected(_) | SocketEvent::Ended(_) => Some(event.clone()),
            SocketEvent::Disconnected(_) | SocketEvent::Notification(_) | SocketEvent::Missed => None,
        };
        consumers.push(event, 0);
    }

    /// Tells all consumers of a notification that had this many bytes.
    pub(super) fn publish(&self, notification: ServerNotification, bytes: usize) {
        lock(&self.0).push(&SocketEvent::Notification(Arc::new(notification)), bytes);
    }
}

impl Consumers {
    fn push(&self, event: &SocketEvent, bytes: usize) {
        for queue in self.queues.iter().filter_map(Weak::upgrade) {
            queue.push(event.clone(), bytes);
        }
    }
}

/// The events that wait for one consumer.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    waiting: Mutex<WaitingEvents>,
    waker: AtomicWaker,
}

#[derive(Debug, Default)]
struct WaitingEvents {
    events: VecDeque<(SocketEvent, usize)>,
    bytes: usize,
    ended: bool,
}

impl EventQueue {
    fn push(&self, event: SocketEvent, bytes: usize) {
        let mut waiting = lock(&self.waiting);
        if waiting.events.len() >= MAX_EVENTS || waiting.bytes + bytes > MAX_BYTES {
            // A part of the notifications would be of no use: the consumer has to pull anyway.
            waiting.events.clear();
            waiting.bytes = 0;
            waiting.events.push_back((SocketEvent::Missed, 0));
        }
        waiting.bytes += bytes;
        waiting.events.push_back((event, bytes));
        drop(waiting);
        self.waker.wake();
    }

    pub(super) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<SocketEvent>> {
        // Before the queue is read: an event that comes in between wakes.
        self.waker.register(cx.waker());
        let mut waiting = lock(&self.waiting);
        match waiting.events.pop_front() {
            Some((event, bytes)) => {
                waiting.bytes -= bytes;
                waiting.ended = matches!(event, SocketEvent::Ended(_));
                Poll::Ready(Some(event))
            }
            None if waiting.ended => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

/// No code that holds a lock can panic in the middle of a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use serde_json::json;

    use super::*;

    fn notification(seq: usize) -> ServerNotification {
        ServerNotification { method: "event/message.received".to_owned(), params: json!({ "seq": seq }) }
    }

    /// Returns the events that wait, as short texts.
    fn drain(queue: &EventQueue) -> Vec<String> {
        let mut events = Vec::new();
        while let Some(Some(event)) = std::future::poll_fn(|cx| queue.poll_next(cx)).now_or_never() {
            events.push(match event {
                SocketEvent::Connected(_) => "connected".to_owned(),
                SocketEvent::Disconnected(_) => "disconnected".to_owned(),
                SocketEvent::Notification(notification) => notification.params["seq"].to_string(),
                SocketEvent::Missed => "missed".to_owned(),
                SocketEvent::Ended(_) => "ended".to_owned(),
            });
        }
        events
    }

    #[test]
    fn every_consumer_gets_every_notification_in_order() {
        let bus = EventBus::default();
        let (first, second) = (bus.subscribe(), bus.subscribe());
        for seq in 1..=3 {
            bus.publish(notification(seq), 10);
        }
        assert_eq!(drain(&first), ["1", "2", "3"]);
        assert_eq!(drain(&second), ["1", "2", "3"]);
        assert_eq!(drain(&bus.subscribe()), Vec::<String>::new());
    }

    #[test]
    fn slow_consumer_misses_events_and_is_told() {
        let bus = EventBus::default();
        let (slow, fast) = (bus.subscribe(), bus.subscribe());
        for seq in 0..=MAX_EVENTS {
            bus.publish(notification(seq), 10);
            assert_eq!(drain(&fast), [seq.to_string()]);
        }
        assert_eq!(drain(&slow), ["missed".to_owned(), MAX_EVENTS.to_string()]);
        bus.publish(notification(7), MAX_BYTES - 1);
        bus.publish(notification(8), 2);
        assert_eq!(drain(&slow), ["missed", "8"], "the bytes are bounded too");
        assert_eq!(lock(&slow.waiting).bytes, 0);
    }

    #[test]
    fn consumer_that_comes_late_is_told_the_end() {
        let bus = EventBus::default();
        bus.publish_state(&SocketEvent::Disconnected(SocketError::Closed));
        let early = bus.subscribe();
        bus.publish_state(&SocketEvent::Ended(SocketError::Closed));
        for queue in [early, bus.subscribe()] {
            assert_eq!(drain(&queue), ["ended"]);
            let next = std::future::poll_fn(|cx| queue.poll_next(cx)).now_or_never();
            assert!(matches!(next, Some(None)), "nothing comes after it");
        }
    }

    #[test]
    fn queue_of_a_consumer_that_is_gone_is_dropped() {
        let bus = EventBus::default();
        drop(bus.subscribe());
        let _one = bus.subscribe();
        assert_eq!(lock(&bus.0).queues.len(), 1);
    }
}
