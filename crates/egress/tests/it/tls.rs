//! Certificate verification.

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

use crate::environment::{assert_passed, child_url, run_in_child};
use crate::support::{ScriptedResolver, ScriptedResponse, Server, dev_options, egress, egress_with};

const NAME: &str = "issuer.example";

/// A TLS server with a certificate for [`NAME`] from its own authority; responds with the HTTP version.
struct TlsServer {
    port: u16,
    authority_pem: String,
    _tasks: Tasks,
}

impl TlsServer {
    async fn start() -> Self {
        let (config, authority_pem) = server_config();
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
                        let service = service_fn(async |request: hyper::Request<hyper::body::Incoming>| {
                            Ok::<_, hyper::Error>(hyper::Response::new(format!("{:?}", request.version())))
                        });
                        let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                        let _closed = server.serve_connection(TokioIo::new(stream), service).await;
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

fn server_config() -> (ServerConfig, String) {
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
async fn certificate_of_an_unknown_authority_is_rejected() {
    let server = TlsServer::start().await;
    let egress = egress_with(&dev_options(), &ScriptedResolver::new(&["127.0.0.1"]));
    let request = Request::get(&server.url_as(NAME)).expect("a URL");
    let error = egress.send(request).await.expect_err("unknown authority");
    assert!(matches!(&error, EgressError::Unreachable { .. }), "{error:?}");
    let causes: Vec<_> =
        std::iter::successors(error.source(), |cause| (*cause).source()).map(ToString::to_string).collect();
    assert!(causes.iter().any(|cause| cause.contains("certificate")), "{causes:?}");
}

/// The connection goes to a checked address, the certificate is verified for the name.
#[tokio::test(flavor = "multi_thread")]
async fn certificate_must_match_the_name_and_http2_is_used() {
    if let Some(url) = child_url() {
        let egress = egress_with(&dev_options(), &ScriptedResolver::new(&["127.0.0.1"]));
        let response = egress.send(Request::get(&url).expect("a URL")).await.expect("a response");
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
    let test = "tls::certificate_must_match_the_name_and_http2_is_used";
    assert_passed(&run_in_child(test, &server.url_as(NAME), &[("SSL_CERT_FILE", bundle.as_os_str())]));
}

/// A server that accepts connections and never starts TLS.
#[tokio::test]
async fn unfinished_handshake_times_out() {
    let server = Server::start(ScriptedResponse::Text("not TLS")).await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let silent = listener.local_addr().expect("bound");
    let limit = Duration::from_millis(200);
    let egress = egress(&EgressOptions { connect_timeout: limit, ..dev_options() });
    let error =
        egress.send(Request::get(&format!("https://{silent}/")).expect("a URL")).await.expect_err("silent");
    assert!(
        matches!(&error, EgressError::TimedOut { limit: reported, .. } if *reported == limit),
        "{error:?}"
    );
    // A server that does not speak TLS is unreachable.
    let url = server.url("/").replace("http:", "https:");
    let error = egress.send(Request::get(&url).expect("a URL")).await.expect_err("not TLS");
    assert!(matches!(error, EgressError::Unreachable { .. } | EgressError::TimedOut { .. }), "{error:?}");
}
