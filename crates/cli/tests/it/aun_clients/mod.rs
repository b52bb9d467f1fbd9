//! The official AUN clients, unmodified, against replicas with TLS. The checks are in `interop/aun`.

mod canary;
mod driver;
pub(crate) mod replicas;
mod rust_device;
mod rust_interop;
mod rust_messages;
mod rust_vectors;

use guildhall_testkit::AunClient;

use self::driver::Driver;
use self::replicas::{AunReplicas, Registration};

// covers: A1, A11, A27
/// Each lookup of the clients names the other replica first, so that the steps of a login reach both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn official_clients_pass_all_checks_on_two_replicas() {
    let replicas = AunReplicas::start(Registration::Open, 2).await;
    let mut drivers = AunClient::ALL
        .map(|client| Driver::start(client, "checks", replicas.arguments().arg("--pause-before-renewal")));
    // Before a renewal and before another key: the server issues one certificate of an AID in an hour.
    for _ in 0..2 {
        for driver in &mut drivers {
            let aid = driver.wait_for("pause ");
            replicas.age_certificate(&aid).await;
            driver.continue_after_pause();
        }
    }
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
