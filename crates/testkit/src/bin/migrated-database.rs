//! Makes sure that a migrated database exists on the test engines and prints its address, for `cargo xtask sqlx`.

#![expect(clippy::print_stdout, reason = "the address is this program's result")]

use guildhall_testkit::TestDb;
use secrecy::ExposeSecret;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("{}", TestDb::template_url().await.expose_secret());
}
