//! The backend that needs no model, on the suite.

use std::fs;
use std::path::Path;

use guildhall_runner::backend::script::Script;
use guildhall_runner::backend::{Backend, Capabilities, Setting};
use guildhall_testkit::FakeModel;

use crate::suite::{Bench, Model, behaviours};

behaviours!(crate::script::bench());

/// The words that mean something to it.
const KNOWN: [&str; 9] = ["run:", "ask:", "big:", "loop:", "slow", "boom", "r401", "r429", "cut"];

fn bench() -> Bench {
    let capabilities = Capabilities {
        name: "script",
        steers: true,
        interrupts: true,
        resumes: true,
        asks: true,
        unplugs: false,
        lives_apart: false,
    };
    Bench { make, capabilities, words, told }
}

fn make(_base_url: &str, setting: Setting) -> Box<dyn Backend> {
    Box::new(Script::new(setting))
}

fn words(words: &str, model: Model) -> String {
    match model {
        Model::IsAway => format!("away:{words}"),
        Model::Answers if KNOWN.iter().any(|known| words.starts_with(known)) => words.to_owned(),
        Model::Answers => format!("echo:{words}"),
    }
}

/// Reads what it remembers of its one thread.
fn told(_model: &FakeModel, state: &Path) -> Vec<String> {
    let entries = fs::read_dir(state).into_iter().flatten().flatten().map(|entry| entry.path());
    let threads = entries.filter(|path| path.extension().is_some_and(|it| it == "thread"));
    threads.map(|path| fs::read_to_string(path).expect("a record")).collect()
}
