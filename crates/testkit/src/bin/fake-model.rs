//! Serves the fake model until standard input is closed, for `cargo xtask attack`. Prints its URL and the paths of the
//! agents that `.ci/setup` installs as one line of JSON.

#![expect(clippy::print_stdout, reason = "the URL is the output of this program")]

use guildhall_testkit::{FakeModel, codex_program, qwen_program};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let model = FakeModel::start().await;
    println!("{}", json!({ "baseUrl": model.base_url(), "codex": codex_program(), "qwen": qwen_program() }));
    let _closed = tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin())).await;
}
