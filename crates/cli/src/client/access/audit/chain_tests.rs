use proptest::prelude::*;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::*;

/// The rule once more, from its words in docs and API document: a checker that shared a fault with it would agree.
fn sha256(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

fn entry_hash(previous: &str, entry: &Line<'_>, body_hash: &str) -> String {
    let sealed = json!({
        "action": entry.action,
        "bodyHash": body_hash,
        "id": entry.id,
        "recordedAt": entry.recorded_at,
        "seq": entry.seq,
    });
    sha256(&format!("{previous}\n{sealed}"))
}

fn line_of(seq: i64, body: &str, hashes: Option<(&str, Option<&str>)>) -> String {
    let mut text = format!(
        r#"{{"v":1,"seq":{seq},"id":"ent_{seq:032x}","action":"key.created","body":{body},"recordedAt":"2026-01-02T03:04:05.{seq:06}Z""#
    );
    if let Some((body_hash, hash)) = hashes {
        text.push_str(&format!(r#","bodyHash":"{body_hash}""#));
        match hash {
            Some(hash) => text.push_str(&format!(r#","hash":"{hash}""#)),
            None => text.push_str(r#","hash":null"#),
        }
    }
    text.push('}');
    text
}

fn body(seq: i64) -> String {
    json!({ "actor": "prn_1", "object": format!("key_{seq}"), "detail": { "name": "ci \u{1f} ü", "n": seq } })
        .to_string()
}

/// A log of the given length whose last entries are not sealed yet; the erased ones have lost their bodies.
fn log(from: i64, entries: i64, unsealed: i64, erased: &[i64]) -> Vec<String> {
    let mut previous = "0".repeat(64);
    (1..from + entries)
        .map(|seq| {
            let (body, body_hash) = (body(seq), sha256(&body(seq)));
            let line = line_of(seq, &body, None);
            let entry: Line<'_> = serde_json::from_str(&line).expect("an entry");
            let hash = entry_hash(&previous, &entry, &body_hash);
            previous.clone_from(&hash);
            let sealed = (seq < from + entries - unsealed).then_some(hash.as_str());
            let body = if erased.contains(&seq) { "null" } else { &body };
            line_of(seq, body, Some((&body_hash, sealed)))
        })
        .skip(usize::try_from(from - 1).expect("small"))
        .collect()
}

fn check(lines: &[impl AsRef<[u8]>]) -> Result<Verdict, (usize, String)> {
    let mut checker = Checker::default();
    for (index, line) in lines.iter().enumerate() {
        checker.take(line.as_ref()).map_err(|fault| (index + 1, fault))?;
    }
    Ok(checker.end())
}

#[test]
fn a_hash_is_that_of_the_written_rule() {
    let sealed = r#"{"action":"key.created","bodyHash":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","id":"ent_00000000000000000000000000000001","recordedAt":"2026-01-02T03:04:05.000001Z","seq":1}"#;
    let expected = sha256(&format!("{}\n{sealed}", "0".repeat(64)));
    let line = line_of(1, "{}", Some((&sha256("{}"), Some(&expected))));
    let verdict = Verdict { proved: 1, head: Some(expected), ..Verdict::default() };
    assert_eq!(check(&[line]), Ok(verdict));
}

#[test]
fn entries_are_counted_as_proved_or_not_sealed_yet() {
    let verdict = check(&log(1, 9, 2, &[3])).expect("whole");
    assert_eq!((verdict.proved, verdict.unsealed, verdict.begins_within), (7, 2, false));
}

#[test]
fn a_file_without_hashes_proves_nothing() {
    let lines: Vec<String> = (1..4).map(|seq| line_of(seq, &body(seq), None)).collect();
    let verdict = check(&lines).expect("in order");
    assert_eq!(verdict, Verdict { unsealed: 3, ..Verdict::default() });
}

#[test]
fn a_file_that_begins_within_a_log_takes_its_first_hash_on_trust() {
    let verdict = check(&log(5, 4, 0, &[])).expect("whole");
    assert_eq!((verdict.proved, verdict.begins_within), (3, true));
}

#[test]
fn a_removed_added_or_moved_line_is_named() {
    let whole = log(1, 6, 0, &[]);
    let mut removed = whole.clone();
    removed.remove(2);
    assert_eq!(check(&removed).expect_err("removed").0, 3);
    let mut moved = whole.clone();
    moved.swap(3, 4);
    assert_eq!(check(&moved).expect_err("moved").0, 4);
    let mut added = whole;
    let again = added[1].clone();
    added.insert(2, again);
    assert_eq!(check(&added).expect_err("added").0, 3);
}

#[test]
fn an_entry_that_is_not_sealed_may_only_stand_at_the_end() {
    let mut lines = log(1, 4, 0, &[]);
    lines[1] = line_of(2, &body(2), Some((&sha256(&body(2)), None)));
    assert_eq!(check(&lines), Err((3, "it is sealed, but an entry before it is not".to_owned())));
}

#[test]
fn what_no_hash_covers_is_refused() {
    let mut lines = log(1, 2, 0, &[]);
    lines[1] = lines[1].replace(r#""v":1"#, r#""v":1,"note":"approved""#);
    let (line, fault) = check(&lines).expect_err("not covered");
    assert!(line == 2 && fault.contains("note"), "{fault}");
}

#[test]
fn an_id_or_a_time_that_is_written_otherwise_is_refused() {
    for (as_exported, otherwise) in
        [("05.000002Z", "05.0000020Z"), ("05.000002Z", "05.000002+00:00"), ("ent_", "ENT_")]
    {
        let mut lines = log(1, 3, 0, &[]);
        lines[1] = lines[1].replace(as_exported, otherwise);
        assert_eq!(check(&lines).map_err(|(line, _)| line), Err(2), "{otherwise}");
    }
}

#[test]
fn a_body_that_was_written_otherwise_is_told_from_a_changed_one() {
    let mut lines = log(1, 2, 0, &[]);
    lines[1] = lines[1].replace(r#""n":2"#, r#""n": 2"#);
    let (line, fault) = check(&lines).expect_err("not as exported");
    assert!(line == 2 && fault.contains("written otherwise"), "{fault}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_flipped_bit_is_found_in_its_line(at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let lines: Vec<Vec<u8>> = log(1, 8, 0, &[5]).into_iter().map(String::into_bytes).collect();
        let line = at.index(lines.len());
        let byte = at.index(lines[line].len());
        let mut changed = lines;
        changed[line][byte] ^= 1 << bit;
        prop_assert_eq!(check(&changed).map_err(|(line, _)| line), Err(line + 1));
    }

    #[test]
    fn any_other_byte_is_found_in_its_line(line in 0usize..8, at in any::<prop::sample::Index>(), other in any::<u8>()) {
        let mut lines: Vec<Vec<u8>> = log(1, 8, 0, &[5]).into_iter().map(String::into_bytes).collect();
        let byte = at.index(lines[line].len());
        prop_assume!(lines[line][byte] != other);
        lines[line][byte] = other;
        prop_assert_eq!(check(&lines).map_err(|(line, _)| line), Err(line + 1));
    }
}
