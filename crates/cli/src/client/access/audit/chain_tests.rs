use proptest::prelude::*;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::*;

/// Computes hashes independently of the domain crate, from the documentation: a shared bug would stay unnoticed.
fn sha256(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

fn entry_hash(previous: &str, entry: &EntryLine<'_>, body_hash: &str) -> String {
    let sealed = json!({
        "action": entry.action,
        "bodyHash": body_hash,
        "id": entry.id,
        "recordedAt": entry.recorded_at,
        "seq": entry.seq,
    });
    sha256(&format!("{previous}\n{sealed}"))
}

fn entry_line(seq: i64, body: &str, hashes: Option<(&str, Option<&str>)>) -> String {
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

/// A log from number `from`. The last `unsealed` entries have no hash; the `erased` ones have no body.
fn log(from: i64, entries: i64, unsealed: i64, erased: &[i64]) -> Vec<String> {
    let mut previous = "0".repeat(64);
    (1..from + entries)
        .map(|seq| {
            let (body, body_hash) = (body(seq), sha256(&body(seq)));
            let line = entry_line(seq, &body, None);
            let entry: EntryLine<'_> = serde_json::from_str(&line).expect("an entry");
            let hash = entry_hash(&previous, &entry, &body_hash);
            previous.clone_from(&hash);
            let sealed = (seq < from + entries - unsealed).then_some(hash.as_str());
            let body = if erased.contains(&seq) { "null" } else { &body };
            entry_line(seq, body, Some((&body_hash, sealed)))
        })
        .skip(usize::try_from(from - 1).expect("small"))
        .collect()
}

fn verify(lines: &[impl AsRef<[u8]>]) -> Result<VerificationReport, (usize, String)> {
    let mut verifier = ChainVerifier::default();
    for (index, line) in lines.iter().enumerate() {
        verifier.verify_line(line.as_ref()).map_err(|reason| (index + 1, reason))?;
    }
    Ok(verifier.finish())
}

#[test]
fn hash_matches_the_documented_format() {
    let sealed = r#"{"action":"key.created","bodyHash":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","id":"ent_00000000000000000000000000000001","recordedAt":"2026-01-02T03:04:05.000001Z","seq":1}"#;
    let expected = sha256(&format!("{}\n{sealed}", "0".repeat(64)));
    let line = entry_line(1, "{}", Some((&sha256("{}"), Some(&expected))));
    let report = VerificationReport { proved: 1, head: Some(expected), ..VerificationReport::default() };
    assert_eq!(verify(&[line]), Ok(report));
}

#[test]
fn report_counts_proved_unsealed_and_erased_entries() {
    let report = verify(&log(1, 9, 2, &[3])).expect("whole");
    assert_eq!((report.proved, report.unsealed, report.erased, report.begins_within), (7, 2, 1, false));
}

#[test]
fn file_without_hashes_proves_nothing() {
    let lines: Vec<String> = (1..4).map(|seq| entry_line(seq, &body(seq), None)).collect();
    let report = verify(&lines).expect("in order");
    assert_eq!(report, VerificationReport { unsealed: 3, ..VerificationReport::default() });
}

#[test]
fn first_hash_of_a_partial_log_is_not_proved() {
    let report = verify(&log(5, 4, 0, &[])).expect("whole");
    assert_eq!((report.proved, report.begins_within), (3, true));
}

#[test]
fn removed_added_or_moved_line_is_reported() {
    let whole = log(1, 6, 0, &[]);
    let mut removed = whole.clone();
    removed.remove(2);
    assert_eq!(verify(&removed).expect_err("removed").0, 3);
    let mut moved = whole.clone();
    moved.swap(3, 4);
    assert_eq!(verify(&moved).expect_err("moved").0, 4);
    let mut added = whole;
    let again = added[1].clone();
    added.insert(2, again);
    assert_eq!(verify(&added).expect_err("added").0, 3);
}

#[test]
fn unsealed_entry_before_a_sealed_one_is_rejected() {
    let mut lines = log(1, 4, 0, &[]);
    lines[1] = entry_line(2, &body(2), Some((&sha256(&body(2)), None)));
    assert_eq!(verify(&lines), Err((3, "it has a hash, but an earlier entry has none".to_owned())));
}

#[test]
fn unknown_field_is_rejected() {
    let mut lines = log(1, 2, 0, &[]);
    lines[1] = lines[1].replace(r#""v":1"#, r#""v":1,"note":"approved""#);
    let (line, reason) = verify(&lines).expect_err("not covered");
    assert!(line == 2 && reason.contains("note"), "{reason}");
}

#[test]
fn id_or_time_in_another_form_is_rejected() {
    for (canonical, other_form) in
        [("05.000002Z", "05.0000020Z"), ("05.000002Z", "05.000002+00:00"), ("ent_", "ENT_")]
    {
        let mut lines = log(1, 3, 0, &[]);
        lines[1] = lines[1].replace(canonical, other_form);
        assert_eq!(verify(&lines).map_err(|(line, _)| line), Err(2), "{other_form}");
    }
}

#[test]
fn reformatted_body_is_distinguished_from_a_changed_one() {
    let mut lines = log(1, 2, 0, &[]);
    lines[1] = lines[1].replace(r#""n":2"#, r#""n": 2"#);
    let (line, reason) = verify(&lines).expect_err("reformatted");
    assert!(line == 2 && reason.contains("canonical form"), "{reason}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn flipped_bit_is_found_in_its_line(at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let lines: Vec<Vec<u8>> = log(1, 8, 0, &[5]).into_iter().map(String::into_bytes).collect();
        let line = at.index(lines.len());
        let byte = at.index(lines[line].len());
        let mut changed = lines;
        changed[line][byte] ^= 1 << bit;
        prop_assert_eq!(verify(&changed).map_err(|(line, _)| line), Err(line + 1));
    }

    #[test]
    fn changed_byte_is_found_in_its_line(line in 0usize..8, at in any::<prop::sample::Index>(), other in any::<u8>()) {
        let mut lines: Vec<Vec<u8>> = log(1, 8, 0, &[5]).into_iter().map(String::into_bytes).collect();
        let byte = at.index(lines[line].len());
        prop_assume!(lines[line][byte] != other);
        lines[line][byte] = other;
        prop_assert_eq!(verify(&lines).map_err(|(line, _)| line), Err(line + 1));
    }
}
