//! The TLS port: which clients trust it, what happens when its files change, and what slow clients can take.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use guildhall_identity::pki::{LocalCertificate, ServerNames};
use guildhall_runtime::Clock;
use guildhall_server::StartError;
use guildhall_testkit::{Stopwatch, TestDb};
use reqwest::{Certificate, Client};
use secrecy::ExposeSecret;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Setup, TestServer, read_response};

const WITHIN: Duration = Duration::from_secs(120);

/// Puts a certificate and its key where the server finds them.
fn write_certificate(folder: &Path) -> LocalCertificate {
    let (names, addresses) =
        (["localhost".to_owned(), "*.guild.example".to_owned()], ["127.0.0.1".parse().expect("an address")]);
    let names = ServerNames { names: &names, addresses: &addresses };
    let made = LocalCertificate::create(names, Clock::system().now()).expect("created");
    std::fs::write(folder.join("tls.crt"), &made.certificate_pem).expect("written");
    let key = folder.join("tls.key");
    std::fs::write(&key, made.key_pem.expose_secret()).expect("written");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("changed");
    made
}

fn tls_setup(db: &TestDb, folder: &TempDir) -> Setup {
    let path = |name: &str| folder.path().join(name).display().to_string();
    Setup::new(db)
        .with("http.tls_listen", "127.0.0.1:0")
        .with("http.tls_certificate_file", path("tls.crt"))
        .with("http.tls_key_file", path("tls.key"))
}

struct TlsServer {
    server: TestServer,
    address: SocketAddr,
    certificate: LocalCertificate,
    folder: TempDir,
    db: TestDb,
}

impl TlsServer {
    async fn start(change: impl Fn(Setup) -> Setup) -> Self {
        let (db, folder) = (TestDb::new().await, tempfile::tempdir().expect("a folder"));
        let certificate = write_certificate(folder.path());
        let server = change(tls_setup(&db, &folder)).start().await;
        let address = server.server.tls_address().expect("a TLS port");
        Self { server, address, certificate, folder, db }
    }

    fn url(&self) -> String {
        format!("https://{}/health/live", self.address)
    }

    /// Returns whether a client with only this root accepts the server.
    async fn is_trusted_with(&self, root_pem: &str) -> bool {
        client_with(root_pem).get(self.url()).send().await.is_ok_and(|response| response.status() == 200)
    }
}

fn client_with(root_pem: &str) -> Client {
    let root = Certificate::from_pem(root_pem.as_bytes()).expect("a certificate");
    Client::builder().tls_certs_only([root]).no_proxy().timeout(WITHIN).build().expect("a client")
}

#[tokio::test]
async fn https_needs_the_right_root_and_offers_http_2() {
    let tls = TlsServer::start(|setup| setup).await;
    let response = client_with(&tls.certificate.root_pem).get(tls.url()).send().await.expect("a response");
    assert_eq!((response.status().as_u16(), response.version()), (200, reqwest::Version::HTTP_2));
    let other = tempfile::tempdir().expect("a folder");
    let other = write_certificate(other.path());
    let refused = client_with(&other.root_pem).get(tls.url()).send().await;
    assert!(refused.is_err_and(|error| error.is_connect()), "another root");
    assert_eq!(tls.server.get("/health/live").await.status, 200, "the other port has no TLS");
}

#[tokio::test(flavor = "multi_thread")]
async fn openssl_verifies_the_server_from_tls_1_2_on() {
    let tls = TlsServer::start(|setup| setup).await;
    let root = tls.folder.path().join("root.crt");
    std::fs::write(&root, &tls.certificate.root_pem).expect("written");
    let connect = |arguments: &[&str]| {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-connect", &tls.address.to_string(), "-verify_return_error"]);
        command.args(["-CAfile", &root.display().to_string(), "-x509_strict"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().expect("openssl").success()
    };
    assert!(connect(&["-tls1_3", "-verify_ip", "127.0.0.1"]));
    assert!(connect(&["-tls1_2", "-verify_hostname", "gateway.guild.example"]));
    assert!(!connect(&["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"]), "TLS 1.1");
    assert!(!connect(&["-verify_hostname", "evil.example"]), "another name");
}

#[tokio::test]
async fn certificate_is_replaced_without_restart_and_a_broken_one_is_not_used() {
    let tls = TlsServer::start(|setup| setup).await;
    std::fs::write(tls.folder.path().join("tls.crt"), "not a certificate").expect("written");
    let failed = |text: &str| {
        text.lines().any(|line| {
            line.contains("guildhall_reconcile_rounds_total")
                && line.contains("\"tls-certificate\"")
                && line.contains("\"error\"")
        })
    };
    tls.server.wait_until("/metrics", WITHIN, |metrics| failed(&metrics.text)).await;
    assert!(tls.is_trusted_with(&tls.certificate.root_pem).await, "the old certificate stays");

    let renewed = write_certificate(tls.folder.path());
    let began = Stopwatch::start();
    while !tls.is_trusted_with(&renewed.root_pem).await {
        assert!(began.elapsed() < WITHIN, "the new certificate is not used");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(!tls.is_trusted_with(&tls.certificate.root_pem).await, "the old certificate is gone");
}

#[tokio::test]
async fn request_without_tls_gets_a_clear_answer() {
    let tls = TlsServer::start(|setup| setup).await;
    let url = format!("http://{}/health/live", tls.address);
    let response = tls.server.client.get(url).send().await.expect("a response");
    let response = read_response(response).await;
    assert_eq!(
        (response.status.as_u16(), response.body["failureKind"].as_str()),
        (400, Some("schema-invalid"))
    );
    assert!(response.text.contains("https://"), "{}", response.text);
}

#[tokio::test]
async fn unfinished_handshakes_are_closed() {
    let tls = TlsServer::start(|setup| setup.with("http.header_timeout", "300ms")).await;
    // Nothing; the beginning of a record; the record of a message that never comes.
    for part in [&[][..], &[22], &[22, 3, 1, 2, 0, 1]] {
        let mut slow = TcpStream::connect(tls.address).await.expect("connected");
        slow.write_all(part).await.expect("sent");
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(WITHIN, slow.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "still open after {part:?}");
    }
    assert!(tls.is_trusted_with(&tls.certificate.root_pem).await);
}

#[tokio::test]
async fn handshakes_count_as_connections() {
    let tls = TlsServer::start(|setup| setup.with("http.max_connections", 1)).await;
    let _half_open = TcpStream::connect(tls.address).await.expect("a first connection");
    let began = Stopwatch::start();
    let mut text = String::new();
    while !text.starts_with("HTTP/1.1 503") {
        assert!(began.elapsed() < WITHIN, "the second connection was not refused: {text}");
        text.clear();
        let mut second = TcpStream::connect(tls.server.address).await.expect("a second connection");
        second.read_to_string(&mut text).await.expect("a response");
    }
    let mut third = TcpStream::connect(tls.address).await.expect("a third connection");
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(WITHIN, third.read_to_end(&mut rest)).await;
    assert!(closed.is_ok(), "the third connection stays open");
}

#[tokio::test]
async fn shutdown_does_not_wait_for_handshakes() {
    let tls = TlsServer::start(|setup| setup.with("http.header_timeout", "1000s")).await;
    let _half_open = TcpStream::connect(tls.address).await.expect("connected");
    let TlsServer { server, db: _db, .. } = tls;
    assert!(server.server.shutdown().await, "every request was answered");
}

#[tokio::test]
async fn unusable_settings_do_not_start() {
    let (db, folder) = (TestDb::new().await, tempfile::tempdir().expect("a folder"));
    let is_tls_error = |result: Result<TestServer, StartError>| matches!(result, Err(StartError::Tls(_)));
    assert!(is_tls_error(tls_setup(&db, &folder).try_start().await), "no files");
    write_certificate(folder.path());
    let incomplete = tls_setup(&db, &folder).with("http.tls_key_file", "");
    assert!(is_tls_error(incomplete.try_start().await), "no key");
    let incomplete = tls_setup(&db, &folder).with("http.tls_listen", "");
    assert!(is_tls_error(incomplete.try_start().await), "no port");
    let public = tls_setup(&db, &folder).with("http.tls_listen", "0.0.0.0:0");
    assert!(is_tls_error(public.try_start().await), "no public URL");
    let (key, readable) = (folder.path().join("tls.key"), std::fs::Permissions::from_mode(0o640));
    std::fs::set_permissions(key, readable).expect("changed");
    assert!(is_tls_error(tls_setup(&db, &folder).try_start().await), "others can read the key");
    let other = tempfile::tempdir().expect("a folder");
    write_certificate(folder.path());
    write_certificate(other.path());
    std::fs::copy(other.path().join("tls.key"), folder.path().join("tls.key")).expect("copied");
    assert!(is_tls_error(tls_setup(&db, &folder).try_start().await), "a key of another certificate");
}
