//! A run that uses more of its model than the operator allows.

use std::time::Duration;

use super::agent::Agent;
use super::fixture::RunnerFixture;

/// Each cap ends the command, and the fake model sees no request after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_cap_of_the_model_proxy_ends_its_command() {
    let fixture = RunnerFixture::start().await;
    let cases = [
        (Agent::Codex, "--model-tokens", "1", "the run has used its tokens"),
        (Agent::Codex, "--model-requests", "1", "the run has used its model requests"),
        (Agent::Codex, "--model-bytes", "2000", "the run has used its bytes of model traffic"),
        (Agent::Qwen, "--model-requests", "1", "the run has used its model requests"),
    ];
    for (agent, option, cap, reason) in cases {
        let run = fixture.create_run_for(agent).await;
        let _runner = fixture.start_runner(&run, &[option, cap]);
        let command = fixture.send(&run, "run:echo one").await;
        let result = fixture.wait_for_result(&run, &command, Duration::from_secs(60)).await;
        let shown = (&result["terminalStatus"], &result["failureKind"], &result["blocker"]);
        assert_eq!(
            (shown.0.as_str(), shown.1.as_str()),
            (Some("failed"), Some("budget-exceeded")),
            "{agent:?} {option}: {result}"
        );
        assert!(shown.2.to_string().contains(reason), "{agent:?} {option}: {result}");
    }
}
