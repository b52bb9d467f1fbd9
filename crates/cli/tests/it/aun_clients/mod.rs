//! The official AUN clients, unmodified, against replicas with TLS. The checks are in `interop/aun`.

mod canary;
mod driver;
pub(crate) mod replicas;
pub(crate) mod rust_device;
mod rust_interop;
mod rust_messages;
mod rust_vectors;

use guildhall_testkit::AunClient;

use self::driver::Driver;
use self::replicas::{AunReplicas, Registration};

/// Runs all checks with one client. Each of its lookups names the other replica first, so that the steps of a login reach both.
async fn pass_all_checks(client: AunClient) {
    let replicas = AunReplicas::start(Registration::Open, 2).await;
    let mut driver = Driver::start(client, "checks", replicas.arguments().arg("--pause-before-renewal"));
    // Before a renewal and before another key: the server issues one certificate of an AID in an hour.
    for _ in 0..2 {
        let aid = driver.wait_for("pause ");
        replicas.age_certificate(&aid).await;
        driver.continue_after_pause();
    }
    driver.finish();
}

// covers: A1, A11, A27
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fastaun_passes_all_checks_on_two_replicas() {
    pass_all_checks(AunClient::Fastaun).await;
}

// covers: A1, A11, A27
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_fastaun_passes_all_checks_on_two_replicas() {
    pass_all_checks(AunClient::Fastaun02).await;
}

// covers: A1, A11, A27
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aun_core_passes_all_checks_on_two_replicas() {
    pass_all_checks(AunClient::AunCore).await;
}

/// The newest client and the one of the first version, each once as the one that is asked what it can open.
// covers: A24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_both_versions_exchange_what_the_other_can_open() {
    let replicas = AunReplicas::start(Registration::Open, 2).await;
    let pairs = [(AunClient::Fastaun, AunClient::AunCore), (AunClient::AunCore, AunClient::Fastaun)];
    let drivers = pairs.map(|(client, peer)| {
        let mut arguments = replicas.arguments();
        arguments.arg("--peer-python").arg(peer.python());
        Driver::start(client, "mixed", &arguments)
    });
    for driver in drivers {
        driver.finish();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn official_clients_reconnect_to_the_other_replica_after_a_kill() {
    let replicas = AunReplicas::start(Registration::Open, 2).await;
    let mut drivers = AunClient::ALL.map(|client| Driver::start(client, "hold", &replicas.arguments()));
    for driver in &mut drivers {
        driver.wait_for("connected ");
    }
    replicas.kill_first();
    for mut driver in drivers {
        driver.wait_for("reconnected ");
        driver.finish();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn official_clients_are_refused_where_registration_is_closed() {
    let replicas = AunReplicas::start(Registration::Closed, 1).await;
    for client in AunClient::ALL {
        Driver::start(client, "closed", &replicas.arguments()).finish();
    }
}
