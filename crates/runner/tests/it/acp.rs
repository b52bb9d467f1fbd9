//! Qwen Code 0.24.4 by the Agent Client Protocol, on the suite and on what is its own.

use std::collections::BTreeMap;
use std::time::Duration;

use guildhall_runner::backend::acp::{Acp, Profile};
use guildhall_runner::backend::{Backend, Capabilities, Setting};

use crate::suite::{Bench, behaviours};

behaviours!(crate::acp::bench());

fn bench() -> Bench {
    let capabilities = Capabilities {
        name: "acp",
        steers: false,
        interrupts: true,
        resumes: true,
        asks: true,
        unplugs: false,
    };
    Bench { make, capabilities }
}

fn profile(base_url: &str) -> Profile {
    Profile {
        command: vec![guildhall_testkit::qwen().to_string_lossy().into_owned(), "--acp".to_owned()],
        model: Some("fake-model".to_owned()),
        base_url: Some(base_url.to_owned()),
        env: BTreeMap::new(),
        settings: BTreeMap::new(),
        silent_at_most: Duration::from_secs(10),
    }
}

fn make(base_url: &str, mut setting: Setting) -> Box<dyn Backend> {
    for (name, _) in &mut setting.secrets {
        "OPENAI_API_KEY".clone_into(name);
    }
    Box::new(Acp::new(setting, profile(base_url)))
}
