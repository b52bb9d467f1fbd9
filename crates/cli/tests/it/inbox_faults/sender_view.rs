//! Devices that keep one cursor for each sender, as newer clients do: what they read, and what the checker says to it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::device::{SimulatedDevice, number_of};
use super::history::{DeviceRecord, Principal, ReadRow, StoredInbox, Violation};

/// A page of one sender. It has all messages of the sender in `after + 1..=covered`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SenderPage {
    /// The time of the test when it was asked for.
    pub(super) asked_at: u64,
    pub(super) after: i64,
    pub(super) covered: i64,
    pub(super) rows: Vec<ReadRow>,
}

/// What a device has read and was told of each sender.
#[derive(Debug, Clone, Default)]
pub(super) struct SenderViews {
    /// Pages that follow each other. A restart of the client begins the next reading at the confirmed seqs.
    pub(super) readings: Vec<BTreeMap<Principal, Vec<SenderPage>>>,
    /// The read positions, as the server told them, in order.
    pub(super) cursors: BTreeMap<Principal, Vec<i64>>,
}

impl SenderViews {
    fn read_to(&self, sender: Principal) -> i64 {
        let pages = self.readings.last().and_then(|reading| reading.get(&sender));
        pages.and_then(|pages| pages.last()).map_or_else(|| self.confirmed(sender), |page| page.covered)
    }

    fn confirmed(&self, sender: Principal) -> i64 {
        self.cursors.get(&sender).and_then(|told| told.last()).copied().unwrap_or_default()
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = &SenderPage> {
        self.readings.iter().flat_map(BTreeMap::values).flatten()
    }

    /// Begins again where the device has confirmed.
    pub(super) fn restart(&mut self) {
        self.readings.push(BTreeMap::new());
    }
}

impl SimulatedDevice {
    /// Reads the next page of a sender that has something for this device.
    pub(super) async fn read_a_sender(&mut self) {
        let pending = self.pending_senders().await;
        if !pending.is_empty() {
            let sender = pending[self.rounds.random_index(pending.len())];
            let _has_more = self.read_sender(sender).await;
        }
    }

    /// Reads all senders to the end and confirms them. Nobody sends any more.
    pub(super) async fn finish_senders(&mut self) {
        for sender in self.pending_senders().await {
            while self.read_sender(sender).await {}
            self.confirm_sender(sender, self.senders().read_to(sender)).await;
        }
        assert_eq!(self.pending_senders().await, Vec::<Principal>::new(), "all were read and confirmed");
    }

    /// Confirms what was read of a sender, or less: that moves nothing.
    pub(super) async fn confirm_a_sender(&mut self) {
        let known: Vec<Principal> =
            self.senders().readings.last().into_iter().flat_map(BTreeMap::keys).copied().collect();
        if known.is_empty() {
            return;
        }
        let sender = known[self.rounds.random_index(known.len())];
        let read_to = self.senders().read_to(sender);
        let seq = if self.rounds.random_index(4) == 0 { read_to / 2 } else { read_to };
        self.confirm_sender(sender, seq).await;
    }

    async fn confirm_sender(&mut self, sender: Principal, seq: i64) {
        let params = json!({ "cursor_scope": "peer", "sender_aid": self.aid_of(sender), "up_to_seq": seq });
        let answer = self.connection.call("message.v2.ack", &params).await;
        let confirmed = self.record_sender_cursor(sender, &answer["effective_ack_seq"]);
        assert!(confirmed >= seq, "{seq} of {sender} is confirmed, but the answer is {answer}");
    }

    async fn pending_senders(&mut self) -> Vec<Principal> {
        let answer = self.connection.call("message.peers", &json!({ "filter": "pending" })).await;
        let rows = answer["peers"].as_array().expect("peers");
        let mut senders = Vec::new();
        for row in rows {
            let sender = self.principal_of(&row["sender_aid"]);
            self.record_sender_cursor(sender, &row["server_ack_seq"]);
            senders.push(sender);
        }
        senders
    }

    /// Reads the next page of a sender. Returns whether there are more.
    async fn read_sender(&mut self, sender: Principal) -> bool {
        let after = self.senders().read_to(sender);
        let (asked_at, limit) = (self.next_time(), 1 + self.rounds.random_index(20));
        let params = json!({
            "cursor_scope": "peer", "sender_aid": self.aid_of(sender), "after_seq": after, "limit": limit,
        });
        let page = self.connection.call("message.v2.pull", &params).await;
        self.record_sender_cursor(sender, &page["server_ack_seq"]);
        let rows = page["messages"].as_array().expect("rows").iter().map(|row| self.read_row(row)).collect();
        let covered = number_of(&page["covered_through_seq"]);
        let read = SenderPage { asked_at, after, covered, rows };
        let reading = self.senders_mut().readings.last_mut().expect("a reading");
        reading.entry(sender).or_default().push(read);
        page["has_more"] == true
    }

    fn record_sender_cursor(&mut self, sender: Principal, seq: &Value) -> i64 {
        let seq = number_of(seq);
        self.senders_mut().cursors.entry(sender).or_default().push(seq);
        seq
    }

    fn senders(&self) -> &SenderViews {
        self.record.senders.as_ref().expect("a device with one cursor for each sender")
    }

    pub(super) fn senders_mut(&mut self) -> &mut SenderViews {
        self.record.senders.as_mut().expect("a device with one cursor for each sender")
    }
}

impl DeviceRecord {
    /// Returns the violations of a device that keeps one cursor for each sender.
    pub(super) fn sender_violations(&self, inbox: &StoredInbox) -> Vec<Violation> {
        let Some(views) = &self.senders else { return Vec::new() };
        let mut violations = Vec::new();
        for (sender, pages) in views.readings.iter().flatten() {
            violations.extend(self.sender_page_violations(*sender, pages, inbox));
        }
        for (sender, told) in &views.cursors {
            violations.extend(self.back_violations(told));
            let told = told.iter().copied().max().unwrap_or_default();
            let stored = inbox.sender_cursors.get(&(self.device.number, *sender)).copied();
            if stored.unwrap_or_default() < told {
                violations.push(Violation::CursorLost { device: self.device, told });
            }
        }
        let mut last: BTreeMap<Principal, i64> = BTreeMap::new();
        for message in &inbox.messages {
            let seq = last.entry(message.sender).or_default();
            *seq = message.seq.max(*seq);
        }
        for (sender, last) in last {
            let pages = views.readings.iter().filter_map(|reading| reading.get(&sender)).flatten();
            let read = pages.map(|page| page.covered).max().unwrap_or_default();
            if read < last {
                violations.push(Violation::NotReadToEnd { device: self.device, read });
            }
        }
        violations
    }

    fn sender_page_violations(
        &self,
        sender: Principal,
        pages: &[SenderPage],
        inbox: &StoredInbox,
    ) -> Vec<Violation> {
        let (device, mut violations, mut ids) = (self.device, Vec::new(), BTreeSet::new());
        let mut next = pages.first().map_or(0, |page| page.after);
        for page in pages {
            let of_sender = inbox.messages.iter().filter(|message| message.sender == sender);
            let stored: Vec<i64> = of_sender
                .map(|message| message.seq)
                .filter(|seq| page.after < *seq && *seq <= page.covered)
                .collect();
            let read: Vec<i64> = page.rows.iter().map(|row| row.seq).collect();
            if read != stored || page.after != next || page.covered < page.after {
                let same = read.iter().zip(&stored).take_while(|(read, stored)| read == stored).count();
                let seq = stored.get(same).or(read.get(same)).copied().unwrap_or(page.after);
                violations.push(Violation::PageGap { device, seq });
            }
            for row in &page.rows {
                if !ids.insert(&row.id) {
                    violations.push(Violation::ReadTwice { device, id: row.id.clone() });
                }
            }
            next = page.covered;
        }
        violations
    }
}
