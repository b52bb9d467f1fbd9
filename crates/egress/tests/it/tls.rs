//! Certificates: a name is called only where it is proved.

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use guildhall_egress::{EgressError, EgressOptions, Request};
use guildhall_runtime::Tasks;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::environment::{again, assert_passed, handed_over};
use crate::support::{Answer, Script, Server, dev_options, egress, egress_with};

const NAME: &str = "issuer.example";

/// A TLS server with a certificate for [`NAME`] under an authority of its own; says which HTTP it was asked in.
struct TlsServer {
    port: u16,
    authority_pem: String,
    _tasks: Tasks,
}

impl TlsServer {
    async fn start() -> Self {
        let (config, authority_pem) = certified();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let tasks = Tasks::new();
        tasks.spawn("accept", {
            let tasks = tasks.clone();
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let acceptor = acceptor.clone();
                    tasks.spawn("connection", async move {
                        let Ok(stream) = acceptor.accept(stream).await else { return };
                        let answer = service_fn(async |request: hyper::Request<hyper::body::Incoming>| {
                            Ok::<_, hyper::Error>(hyper::Response::new(format!("{:?}", request.version())))
                        });
                        let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                        let _closed = server.serve_connection(TokioIo::new(stream), answer).await;
                    });
                }
            }
        });
        Self { port, authority_pem, _tasks: tasks }
    }

    fn url_as(&self, host: &str) -> String {
        format!("https://{host}:{}/", self.port)
    }
}

fn certified() -> (ServerConfig, String) {
    let mut params = CertificateParams::new(Vec::new()).expect("valid");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority =
        CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("signed");
    let key = KeyPair::generate().expect("a key");
    let leaf = CertificateParams::new(vec![NAME.to_owned()]).expect("a name").signed_by(&key, &authority);
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.expect("signed").der().clone()],
            key.serialize_der().try_into().expect("a key"),
        )
        .expect("a pair");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    (config, authority.pem())
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_no_proof() {
    let server = TlsServer::start().await;
    let egress = egress_with(&dev_options(), &Script::new(&["127.0.0.1"]));
    let request = Request::get(&server.url_as(NAME)).expect("a URL");
    let error = egress.send(request).await.expect_err("not proved");
    assert!(matches!(&error, EgressError::Unreachable { .. }), "{error:?}");
    let causes: Vec<_> =
        std::iter::successors(error.source(), |cause| (*cause).source()).map(ToString::to_string).collect();
    assert!(causes.iter().any(|cause| cause.contains("certificate")), "{causes:?}");
}

/// The connection goes to a judged address, the proof is asked for the name.
#[tokio::test(flavor = "multi_thread")]
async fn a_proved_name_is_called_over_http2_and_another_name_is_not() {
    if let Some(url) = handed_over() {
        let egress = egress_with(&dev_options(), &Script::new(&["127.0.0.1"]));
        let response = egress.send(Request::get(&url).expect("a URL")).await.expect("answered");
        assert_eq!(response.body, b"HTTP/2.0");
        for other in ["other.example", "127.0.0.1"] {
            let request = Request::get(&url.replace(NAME, other)).expect("a URL");
            let error = egress.send(request).await.expect_err(other);
            assert!(matches!(error, EgressError::Unreachable { .. }), "{other}: {error:?}");
        }
        return;
    }
    let server = TlsServer::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("authority.pem");
    std::fs::write(&bundle, &server.authority_pem).expect("written");
    let test = "tls::a_proved_name_is_called_over_http2_and_another_name_is_not";
    assert_passed(&again(test, &server.url_as(NAME), &[("SSL_CERT_FILE", bundle.as_os_str())]));
}

/// A server that accepts and never says a word of TLS.
#[tokio::test]
async fn a_handshake_that_never_ends_times_out() {
    let server = Server::start(Answer::Text("not TLS")).await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let mute = listener.local_addr().expect("bound");
    let limit = Duration::from_millis(200);
    let egress = egress(&EgressOptions { connect_timeout: limit, ..dev_options() });
    let error =
        egress.send(Request::get(&format!("https://{mute}/")).expect("a URL")).await.expect_err("mute");
    assert!(matches!(&error, EgressError::TimedOut { limit: said, .. } if *said == limit), "{error:?}");
    // And one that speaks something else is unreachable, not misread.
    let url = server.url("/").replace("http:", "https:");
    let error = egress.send(Request::get(&url).expect("a URL")).await.expect_err("not TLS");
    assert!(matches!(error, EgressError::Unreachable { .. } | EgressError::TimedOut { .. }), "{error:?}");
}
