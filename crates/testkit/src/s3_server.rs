//! A real server with the S3 protocol: `SeaweedFS` on free ports of loopback. It checks signatures.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::agents::tools_folder;

const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The key of the only account, which may use the only bucket.
pub const S3_ACCESS_KEY: &str = "guildhall";
pub const S3_SECRET_KEY: &str = "bucket-secret";
pub const S3_BUCKET: &str = "attachments";

/// A server with one bucket.
#[derive(Debug)]
pub struct S3Server {
    port: u16,
    process: Child,
    folder: TempDir,
}

impl S3Server {
    /// Starts a server, and creates the bucket.
    #[must_use]
    pub fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("guildhall-s3-").tempdir().expect("a folder");
        let account = format!(
            r#"{{"identities":[{{"name":"test","credentials":[{{"accessKey":"{S3_ACCESS_KEY}","secretKey":"{S3_SECRET_KEY}"}}],"actions":["Read:{S3_BUCKET}","Write:{S3_BUCKET}"]}}]}}"#
        );
        std::fs::write(folder.path().join("account.json"), account).expect("write file");
        let [master, master_rpc, volume, volume_rpc, filer, filer_rpc, s3, s3_rpc] = free_ports();
        let program = tools_folder().join("bin/weed");
        assert!(program.is_file(), "no weed at {}: run .ci/setup", program.display());
        let process = Command::new("setpriv")
            // The kernel kills the server if the test process is killed.
            .args(["--pdeathsig=KILL", "--"])
            .arg(program)
            .args(["server", "-dir=.", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false"])
            .args([format!("-master.port={master}"), format!("-master.port.grpc={master_rpc}")])
            .args([format!("-volume.port={volume}"), format!("-volume.port.grpc={volume_rpc}")])
            .args([
                "-filer".to_owned(),
                format!("-filer.port={filer}"),
                format!("-filer.port.grpc={filer_rpc}"),
            ])
            .args(["-s3".to_owned(), format!("-s3.port={s3}"), format!("-s3.port.grpc={s3_rpc}")])
            .args(["-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.config=account.json"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("weed.log")).expect("create file"))
            .spawn()
            .expect("setpriv is installed");
        let server = Self { port: s3, process, folder };
        server.wait_until(|| post(filer, &format!("/buckets/{S3_BUCKET}/")).starts_with("HTTP/1.1 201"));
        server.wait_until(|| TcpStream::connect((Ipv4Addr::LOCALHOST, s3)).is_ok());
        server
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Kills the server. Its clients get errors.
    pub fn kill(&mut self) {
        let _already_gone = self.process.kill();
        let _reaped = self.process.wait();
    }

    fn wait_until(&self, condition: impl Fn() -> bool) {
        let deadline = Instant::now() + START_TIMEOUT;
        while !condition() {
            let log = || std::fs::read_to_string(self.folder.path().join("weed.log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "SeaweedFS does not start: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a request without a body, and returns the response; nothing if there is none.
fn post(port: u16, path: &str) -> String {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return String::new() };
    let request =
        format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let mut response = String::new();
    let _incomplete =
        stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_string(&mut response).map(drop));
    response
}

fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("bound").port())
}
