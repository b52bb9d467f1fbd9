//! Histories with one planted violation each: the checker finds it.

use super::history::{
    AcknowledgedSend, AnsweredRecall, Device, DeviceRecord, InboxHistory, ReadPage, ReadRow, RowContent,
    StoredInbox, StoredMessage, Violation,
};
use super::sender_view::{SenderPage, SenderViews};

const SENDER: Device = Device { principal: 0, number: 0 };
const READER: Device = Device { principal: 1, number: 0 };

/// It keeps one cursor for each sender.
const NEWER_READER: Device = Device { principal: 1, number: 2 };

fn row(seq: i64, id: &str) -> ReadRow {
    ReadRow { seq, id: id.to_owned(), content: RowContent::Text(id.to_owned()) }
}

fn recalled(seq: i64, id: &str) -> ReadRow {
    ReadRow { content: RowContent::Recalled, ..row(seq, id) }
}

fn stored(seq: i64, id: &str, is_recalled: bool) -> StoredMessage {
    StoredMessage { seq, id: id.to_owned(), sender: SENDER.principal, is_recalled }
}

/// Three messages; the second one was read, then recalled at the time 5, and read again after a restart. `r` is the notice.
fn valid_history() -> InboxHistory {
    let sent = |seq: i64, id: &str| AcknowledgedSend { inbox: 1, id: id.to_owned(), seq };
    let recall = AnsweredRecall { id: "b".to_owned(), answered_at: 5, error: None };
    let first = ReadPage { asked_at: 3, after: 0, latest: 2, rows: vec![row(1, "a"), row(2, "b")] };
    let next = ReadPage { asked_at: 7, after: 2, latest: 4, rows: vec![recalled(3, "r"), row(4, "c")] };
    let again = ReadPage {
        asked_at: 9,
        after: 1,
        latest: 4,
        rows: vec![recalled(2, "b"), recalled(3, "r"), row(4, "c")],
    };
    let sender = DeviceRecord {
        sends: vec![sent(1, "a"), sent(2, "b"), sent(4, "c")],
        recalls: vec![recall],
        ..DeviceRecord::new(SENDER)
    };
    let reader = DeviceRecord {
        readings: vec![vec![first, next], vec![again]],
        cursors: vec![0, 1, 1, 4],
        pushes: vec![(1, "a".to_owned()), (4, "c".to_owned())],
        ..DeviceRecord::new(READER)
    };
    let inbox = StoredInbox {
        last_seq: 4,
        messages: vec![
            stored(1, "a", false),
            stored(2, "b", true),
            stored(3, "r", false),
            stored(4, "c", false),
        ],
        cursors: [(0, 4)].into(),
        sender_cursors: [((2, 0), 4)].into(),
    };
    InboxHistory { devices: vec![sender, reader], inboxes: vec![StoredInbox::default(), inbox] }
}

/// Returns what the checker finds after a change of the valid history.
fn violations_after(change: impl FnOnce(&mut InboxHistory)) -> Vec<Violation> {
    let mut history = valid_history();
    change(&mut history);
    history.violations()
}

fn page(history: &mut InboxHistory, reading: usize, number: usize) -> &mut ReadPage {
    &mut history.devices[1].readings[reading][number]
}

#[test]
fn valid_history_has_no_violation() {
    assert_eq!(valid_history().violations(), []);
}

#[test]
fn lost_and_renumbered_messages_are_found() {
    let sent = AcknowledgedSend { inbox: 1, id: "d".to_owned(), seq: 5 };
    let found = violations_after(|history| history.devices[0].sends.push(sent.clone()));
    assert_eq!(found, [Violation::Lost(sent)]);
    let renumbered = AcknowledgedSend { inbox: 1, id: "a".to_owned(), seq: 4 };
    let found = violations_after(|history| history.devices[0].sends[0].seq = 4);
    assert_eq!(found, [Violation::Lost(renumbered)]);
}

#[test]
fn duplicates_and_gaps_of_an_inbox_are_found() {
    let found = violations_after(|history| {
        history.inboxes[1].messages[3].id = "a".to_owned();
        history.devices[0].sends.pop();
        for (reading, page_number) in [(0, 1), (1, 0)] {
            let rows = &mut page(history, reading, page_number).rows;
            *rows.last_mut().expect("a row") = row(4, "a");
        }
        history.devices[1].pushes.pop();
    });
    let twice = Violation::ReadTwice { device: READER, id: "a".to_owned() };
    assert_eq!(found, [Violation::Duplicate { inbox: 1, id: "a".to_owned() }, twice]);
    let found = violations_after(|history| history.inboxes[0].last_seq = 1);
    let unread = Violation::NotReadToEnd { device: SENDER, read: 0 };
    assert_eq!(found, [Violation::Gap { inbox: 0, seq: 1 }, unread]);
}

#[test]
fn seqs_that_a_page_leaves_out_or_repeats_are_found() {
    let found = violations_after(|history| drop(page(history, 0, 1).rows.remove(0)));
    assert_eq!(found, [Violation::PageGap { device: READER, seq: 3 }]);
    let found = violations_after(|history| page(history, 0, 1).rows.push(row(4, "c")));
    let twice = Violation::ReadTwice { device: READER, id: "c".to_owned() };
    assert_eq!(found, [Violation::PageGap { device: READER, seq: 5 }, twice]);
    let found = violations_after(|history| {
        let again = page(history, 0, 1).clone();
        history.devices[1].readings[0].push(again);
    });
    let twice = |id: &str| Violation::ReadTwice { device: READER, id: id.to_owned() };
    assert_eq!(found, [twice("r"), twice("c")]);
}

#[test]
fn other_messages_and_other_content_are_found() {
    let altered =
        |seq: i64, found: &str| vec![Violation::Altered { device: READER, seq, found: found.to_owned() }];
    let found = violations_after(|history| page(history, 0, 0).rows[0] = row(1, "x"));
    assert_eq!(found, altered(1, "x"));
    let found =
        violations_after(|history| page(history, 0, 0).rows[0].content = RowContent::Text("x".to_owned()));
    assert_eq!(found, altered(1, "x"));
    let found = violations_after(|history| history.devices[1].pushes[1] = (4, "x".to_owned()));
    assert_eq!(found, altered(4, "x"));
}

#[test]
fn unread_messages_are_found() {
    let found = violations_after(|history| drop(history.devices[1].readings.pop()));
    assert_eq!(found, [], "the first reading reached the end too");
    let found = violations_after(|history| {
        history.devices[1].readings.pop();
        history.devices[1].readings[0].pop();
    });
    assert_eq!(found, [Violation::NotReadToEnd { device: READER, read: 2 }]);
}

#[test]
fn cursors_that_go_back_or_are_lost_are_found() {
    let found = violations_after(|history| history.devices[1].cursors = vec![2, 1, 4]);
    assert_eq!(found, [Violation::CursorBack { device: READER, from: 2, to: 1 }]);
    let found = violations_after(|history| history.inboxes[1].cursors = [(0, 3)].into());
    assert_eq!(found, [Violation::CursorLost { device: READER, told: 4 }]);
}

#[test]
fn content_after_a_recall_is_found() {
    let found = violations_after(|history| page(history, 1, 0).rows[0] = row(2, "b"));
    assert_eq!(found, [Violation::ReadAfterRecall { device: READER, id: "b".to_owned() }]);
    let found = violations_after(|history| history.inboxes[1].messages[1].is_recalled = false);
    assert_eq!(found, [Violation::NotRecalled { id: "b".to_owned() }]);
    let error = "not_found".to_owned();
    let found = violations_after(|history| history.devices[0].recalls[0].error = Some(error.clone()));
    assert_eq!(found, [Violation::RecallRefused { id: "b".to_owned(), error }]);
}

/// The same, and a device that keeps one cursor for each sender.
fn violations_of_newer_reader_after(change: impl FnOnce(&mut InboxHistory)) -> Vec<Violation> {
    let mut history = valid_history();
    let first = SenderPage { asked_at: 3, after: 0, covered: 2, rows: vec![row(1, "a"), row(2, "b")] };
    let next = SenderPage { asked_at: 7, after: 2, covered: 4, rows: vec![recalled(3, "r"), row(4, "c")] };
    let views = SenderViews {
        readings: vec![[(SENDER.principal, vec![first, next])].into()],
        cursors: [(SENDER.principal, vec![0, 2, 4])].into(),
    };
    let newer = DeviceRecord { senders: Some(views), ..DeviceRecord::new(NEWER_READER) };
    history.devices.push(newer);
    assert_eq!(history.violations(), []);
    change(&mut history);
    history.violations()
}

fn views(history: &mut InboxHistory) -> &mut SenderViews {
    history.devices[2].senders.as_mut().expect("one cursor for each sender")
}

fn sender_page(history: &mut InboxHistory, number: usize) -> &mut SenderPage {
    &mut views(history).readings[0].get_mut(&SENDER.principal).expect("pages")[number]
}

#[test]
fn violations_of_devices_with_a_cursor_for_each_sender_are_found() {
    let device = NEWER_READER;
    let found = violations_of_newer_reader_after(|history| drop(sender_page(history, 1).rows.remove(0)));
    assert_eq!(found, [Violation::PageGap { device, seq: 3 }]);
    let found = violations_of_newer_reader_after(|history| sender_page(history, 1).after = 3);
    assert_eq!(found, [Violation::PageGap { device, seq: 4 }]);
    let found = violations_of_newer_reader_after(|history| sender_page(history, 1).rows[1] = row(4, "x"));
    assert_eq!(found, [Violation::Altered { device, seq: 4, found: "x".to_owned() }]);
    let found = violations_of_newer_reader_after(|history| {
        let again = sender_page(history, 1).clone();
        views(history).readings[0].get_mut(&SENDER.principal).expect("pages").push(again);
    });
    let twice = |id: &str| Violation::ReadTwice { device, id: id.to_owned() };
    assert_eq!(found, [Violation::PageGap { device, seq: 2 }, twice("r"), twice("c")]);
    let found = violations_of_newer_reader_after(|history| {
        views(history).readings[0].get_mut(&SENDER.principal).expect("pages").truncate(1);
    });
    assert_eq!(found, [Violation::NotReadToEnd { device, read: 2 }]);
    let found = violations_of_newer_reader_after(|history| {
        views(history).cursors.insert(SENDER.principal, vec![2, 0, 4]);
    });
    assert_eq!(found, [Violation::CursorBack { device, from: 2, to: 0 }]);
    let found = violations_of_newer_reader_after(|history| history.inboxes[1].sender_cursors.clear());
    assert_eq!(found, [Violation::CursorLost { device, told: 4 }]);
    let found = violations_of_newer_reader_after(|history| sender_page(history, 0).asked_at = 6);
    assert_eq!(found, [Violation::ReadAfterRecall { device, id: "b".to_owned() }]);
}
