//! What the devices were told, what the database holds, and the checker that compares the two.

use std::collections::{BTreeMap, BTreeSet};

use super::sender_view::SenderViews;

/// The number of an AID of the test.
pub(super) type Principal = usize;

/// A device of an AID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Device {
    pub(super) principal: Principal,
    pub(super) number: usize,
}

/// A send that was answered. The sender chose the id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AcknowledgedSend {
    pub(super) inbox: Principal,
    pub(super) id: String,
    pub(super) seq: i64,
}

/// What a row of a page shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowContent {
    /// The content of the message, which is its id.
    Text(String),
    /// The message was recalled, or it is the notice of a recall.
    Recalled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadRow {
    pub(super) seq: i64,
    pub(super) id: String,
    pub(super) content: RowContent,
}

/// A page that a device has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadPage {
    /// The time of the test when it was asked for.
    pub(super) asked_at: u64,
    pub(super) after: i64,
    pub(super) latest: i64,
    pub(super) rows: Vec<ReadRow>,
}

/// A recall that was answered: from then on nobody may read the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnsweredRecall {
    pub(super) id: String,
    pub(super) answered_at: u64,
    /// None where the message was recalled.
    pub(super) error: Option<String>,
}

/// Everything that one device knows.
#[derive(Debug, Clone)]
pub(super) struct DeviceRecord {
    pub(super) device: Device,
    pub(super) sends: Vec<AcknowledgedSend>,
    /// How many of them were sealed.
    pub(super) sealed: usize,
    pub(super) recalls: Vec<AnsweredRecall>,
    /// Pages that follow each other. A restart of the client begins the next reading at the confirmed seq.
    pub(super) readings: Vec<Vec<ReadPage>>,
    /// The read position of this device, as the server told it, in order.
    pub(super) cursors: Vec<i64>,
    /// Messages that were pushed: seq and id.
    pub(super) pushes: Vec<(i64, String)>,
    /// Of a device that keeps one cursor for each sender; it has no other reading.
    pub(super) senders: Option<SenderViews>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredMessage {
    pub(super) seq: i64,
    pub(super) id: String,
    pub(super) sender: Principal,
    pub(super) is_recalled: bool,
}

/// An inbox in the database.
#[derive(Debug, Clone, Default)]
pub(super) struct StoredInbox {
    pub(super) last_seq: i64,
    pub(super) messages: Vec<StoredMessage>,
    /// The read positions by the number of the device.
    pub(super) cursors: BTreeMap<usize, i64>,
    /// Those of single senders, by the number of the device.
    pub(super) sender_cursors: BTreeMap<(usize, Principal), i64>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct InboxHistory {
    pub(super) devices: Vec<DeviceRecord>,
    pub(super) inboxes: Vec<StoredInbox>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Violation {
    /// An acknowledged message is not in the inbox at the seq that the sender was told.
    Lost(AcknowledgedSend),
    /// A message is in an inbox twice.
    Duplicate { inbox: Principal, id: String },
    /// The seqs of an inbox are not 1 to its last one, each once.
    Gap { inbox: Principal, seq: i64 },
    /// A page leaves out a seq after its beginning, or has one twice.
    PageGap { device: Device, seq: i64 },
    /// A device read a message twice without a restart.
    ReadTwice { device: Device, id: String },
    /// A device read or got another message than is stored at this seq, or other content.
    Altered { device: Device, seq: i64, found: String },
    /// A device has not read up to the end of its inbox.
    NotReadToEnd { device: Device, read: i64 },
    /// A read position went back.
    CursorBack { device: Device, from: i64, to: i64 },
    /// The stored read position is behind what the server has told.
    CursorLost { device: Device, told: i64 },
    /// The content of a message was read by a request that began after its recall was answered.
    ReadAfterRecall { device: Device, id: String },
    /// A recalled message still has its content.
    NotRecalled { id: String },
    /// An acknowledged message of the caller could not be recalled.
    RecallRefused { id: String, error: String },
}

impl InboxHistory {
    /// Returns the violations, at most 100.
    pub(super) fn violations(&self) -> Vec<Violation> {
        let mut violations: Vec<Violation> = Vec::new();
        for (inbox, stored) in self.inboxes.iter().enumerate() {
            violations.extend(stored.violations(inbox));
        }
        violations.extend(self.send_violations());
        violations.extend(self.recall_violations());
        for record in &self.devices {
            let inbox = &self.inboxes[record.device.principal];
            violations.extend(record.page_violations());
            violations.extend(record.cursor_violations(inbox));
            violations.extend(record.sender_violations(inbox));
            violations.extend(record.content_violations(inbox));
        }
        violations.truncate(100);
        violations
    }

    fn send_violations(&self) -> Vec<Violation> {
        let stored: Vec<BTreeMap<i64, &str>> = self.inboxes.iter().map(StoredInbox::ids).collect();
        let sends = self.devices.iter().flat_map(|record| &record.sends);
        let lost = sends.filter(|sent| stored[sent.inbox].get(&sent.seq) != Some(&sent.id.as_str()));
        lost.cloned().map(Violation::Lost).collect()
    }

    fn recall_violations(&self) -> Vec<Violation> {
        let recalls = self.devices.iter().flat_map(|record| &record.recalls);
        let mut answered_at: BTreeMap<&str, u64> = BTreeMap::new();
        let mut violations = Vec::new();
        for recall in recalls {
            match &recall.error {
                None => {
                    answered_at.insert(&recall.id, recall.answered_at);
                }
                Some(error) => {
                    let (id, error) = (recall.id.clone(), error.clone());
                    violations.push(Violation::RecallRefused { id, error });
                }
            }
        }
        for stored in self.inboxes.iter().flat_map(|inbox| &inbox.messages) {
            if answered_at.contains_key(stored.id.as_str()) && !stored.is_recalled {
                violations.push(Violation::NotRecalled { id: stored.id.clone() });
            }
        }
        for record in &self.devices {
            for (asked_at, rows) in record.pages() {
                let is_late = |row: &&ReadRow| {
                    let recalled_at = answered_at.get(row.id.as_str());
                    row.content != RowContent::Recalled && recalled_at.is_some_and(|at| *at < asked_at)
                };
                violations.extend(
                    rows.iter()
                        .filter(is_late)
                        .map(|row| Violation::ReadAfterRecall { device: record.device, id: row.id.clone() }),
                );
            }
        }
        violations
    }
}

impl StoredInbox {
    fn ids(&self) -> BTreeMap<i64, &str> {
        self.messages.iter().map(|message| (message.seq, message.id.as_str())).collect()
    }

    fn violations(&self, inbox: Principal) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut ids = BTreeSet::new();
        for message in &self.messages {
            if !ids.insert(&message.id) {
                violations.push(Violation::Duplicate { inbox, id: message.id.clone() });
            }
        }
        let mut seqs: Vec<i64> = self.messages.iter().map(|message| message.seq).collect();
        seqs.sort_unstable();
        let gap = first_difference(&seqs, 1, self.last_seq);
        violations.extend(gap.map(|seq| Violation::Gap { inbox, seq }));
        violations
    }
}

impl DeviceRecord {
    pub(super) fn new(device: Device) -> Self {
        Self {
            device,
            sends: Vec::new(),
            sealed: 0,
            recalls: Vec::new(),
            readings: vec![Vec::new()],
            cursors: Vec::new(),
            pushes: Vec::new(),
            senders: None,
        }
    }

    /// Returns the rows of each page, with the time when it was asked for.
    pub(super) fn pages(&self) -> impl Iterator<Item = (u64, &[ReadRow])> {
        let of_all = self.readings.iter().flatten().map(|page| (page.asked_at, page.rows.as_slice()));
        let of_senders = self.senders.iter().flat_map(SenderViews::pages);
        of_all.chain(of_senders.map(|page| (page.asked_at, page.rows.as_slice())))
    }

    fn page_violations(&self) -> Vec<Violation> {
        let (device, mut violations) = (self.device, Vec::new());
        for reading in &self.readings {
            let mut ids = BTreeSet::new();
            for page in reading {
                let seqs: Vec<i64> = page.rows.iter().map(|row| row.seq).collect();
                let gap = first_difference(&seqs, page.after + 1, page.latest);
                violations.extend(gap.map(|seq| Violation::PageGap { device, seq }));
                for row in &page.rows {
                    if !ids.insert(&row.id) {
                        violations.push(Violation::ReadTwice { device, id: row.id.clone() });
                    }
                }
            }
        }
        violations
    }

    fn cursor_violations(&self, inbox: &StoredInbox) -> Vec<Violation> {
        let device = self.device;
        let mut violations = self.back_violations(&self.cursors);
        let told = self.cursors.iter().copied().max().unwrap_or_default();
        if inbox.cursors.get(&device.number).copied().unwrap_or_default() < told {
            violations.push(Violation::CursorLost { device, told });
        }
        let last_page = self.readings.last().and_then(|reading| reading.last());
        let read = last_page.map_or(0, |page| page.latest);
        if read != inbox.last_seq && self.senders.is_none() {
            violations.push(Violation::NotReadToEnd { device, read });
        }
        violations
    }

    pub(super) fn back_violations(&self, told: &[i64]) -> Vec<Violation> {
        let back = told.windows(2).filter(|pair| pair[1] < pair[0]);
        back.map(|pair| Violation::CursorBack { device: self.device, from: pair[0], to: pair[1] }).collect()
    }

    fn content_violations(&self, inbox: &StoredInbox) -> Vec<Violation> {
        let (device, stored) = (self.device, inbox.ids());
        let altered = |seq: i64, found: &str| Violation::Altered { device, seq, found: found.to_owned() };
        let mut violations = Vec::new();
        for row in self.pages().flat_map(|(_, rows)| rows) {
            if stored.get(&row.seq) != Some(&row.id.as_str()) {
                violations.push(altered(row.seq, &row.id));
            }
            match &row.content {
                RowContent::Text(text) if *text != row.id => violations.push(altered(row.seq, text)),
                RowContent::Text(_) | RowContent::Recalled => {}
            }
        }
        let pushed = self.pushes.iter().filter(|(seq, id)| stored.get(seq) != Some(&id.as_str()));
        violations.extend(pushed.map(|(seq, id)| altered(*seq, id)));
        violations
    }
}

/// Returns the first place where numbers differ from `first..=last`.
fn first_difference(numbers: &[i64], first: i64, last: i64) -> Option<i64> {
    let expected: Vec<i64> = (first..=last).collect();
    if numbers == expected {
        return None;
    }
    let same = numbers.iter().zip(&expected).take_while(|(found, expected)| found == expected).count();
    Some(first + i64::try_from(same).unwrap_or(i64::MAX))
}
