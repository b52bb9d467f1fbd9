//! Writes the streams of generated journals for the official verifier.

use std::fs::File;
use std::io::{BufWriter, Write};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::generated::{journal, steps};
use super::properties::folds;
use crate::agui::event::AguiVersion;

/// Writes one JSON line for each stream, `{"journal", "version", "events"}`, to the file that `AGUI_DUMP` names; the number of
/// journals is in `AGUI_DUMP_JOURNALS`. Without them it does nothing.
#[test]
fn streams_of_generated_journals_can_be_dumped() {
    let variable = |name: &str| std::env::var_os(name).map(|value| value.into_string().expect("text"));
    let Some(path) = variable("AGUI_DUMP") else { return };
    let count: u32 = variable("AGUI_DUMP_JOURNALS").map_or(100, |count| count.parse().expect("a number"));
    let mut file = BufWriter::new(File::create(path).expect("a writable file"));
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for number in 0..count {
        let journal = journal(&steps().new_tree(&mut runner).expect("a journal").current());
        for (name, version) in [("1.0", AguiVersion::V1), ("0.0", AguiVersion::V0)] {
            for fold in folds(&journal, version) {
                let events = journal.fold(fold);
                let events: Vec<Value> = events.iter().map(|frame| json!(frame)).collect();
                writeln!(file, "{}", json!({ "journal": number, "version": name, "events": events }))
                    .expect("written");
            }
        }
    }
    file.flush().expect("written");
}
