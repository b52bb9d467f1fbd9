//! A backend that does not begin.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use super::agent::Agent;
use super::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_backend_says_while_it_cannot_begin_is_in_the_run() {
    let mut world = World::start().await;
    world.codex = world.folder.path().join("codex");
    fs::write(&world.codex, "#!/bin/sh\necho 'no such luck' >&2\nexit 3\n").expect("written");
    fs::set_permissions(&world.codex, fs::Permissions::from_mode(0o700)).expect("set");
    let run = world.run_of(Agent::Codex).await;
    let _runner = world.runner(&run, &[]);
    let command = world.send(&run, "hello").await;
    let result = world.ended(&run, &command, Duration::from_secs(30)).await;
    assert_eq!(
        (&result["terminalStatus"], &result["failureKind"]),
        (&"failed".into(), &"backend-failed".into())
    );
    let said = world.phase(&run, "backend-ended", Duration::from_secs(1)).await;
    assert_eq!(said["detail"]["stderr"], "no such luck\n", "{said}");
}
