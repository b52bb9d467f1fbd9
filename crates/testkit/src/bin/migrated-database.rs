//! Creates a migrated database on the test engines if needed and prints its URL, for `cargo xtask sqlx`.

#![expect(clippy::print_stdout, reason = "the URL is the output of this program")]

use guildhall_testkit::TestDb;
use secrecy::ExposeSecret;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("{}", TestDb::template_url().await.expose_secret());
}
