//! A door before a server that lets requests through, answers some itself, and is closed to others.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::{Failure, FailureKind};
use guildhall_protocol::problem::{CONTENT_TYPE, Problem};

/// Longer than any test waits for.
const HANGS_FOR: Duration = Duration::from_secs(120);

/// What becomes of a request.
pub(super) enum Fate {
    Pass,
    /// The connection is closed without an answer.
    Drop,
    /// The connection stays open, and nobody answers.
    Hang,
    Refuse(FailureKind),
}

/// A request, as far as anybody looks at it.
pub(super) struct Asked {
    pub(super) line: String,
    head: Vec<String>,
    pub(super) body: Vec<u8>,
}

/// Opens a door before a server. Returns its address.
pub(super) fn open(server: &str, fate: impl Fn(&Asked) -> Fate + Send + Sync + 'static) -> String {
    open_on("127.0.0.1", &[server], fate)
}

/// Opens one on an address of this machine, before servers that take turns; one that is away is passed over.
pub(super) fn open_on(
    host: &str,
    servers: &[&str],
    fate: impl Fn(&Asked) -> Fate + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind((host, 0)).expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let mut servers: Vec<String> =
        servers.iter().map(|server| server.trim_start_matches("http://").to_owned()).collect();
    let fate = Arc::new(fate);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            servers.rotate_left(1);
            let (servers, fate) = (servers.clone(), Arc::clone(&fate));
            std::thread::spawn(move || {
                let _somebody_left = serve(stream, &servers, fate.as_ref());
            });
        }
    });
    url
}

/// Serves one request; a connection is not used twice.
fn serve(mut stream: TcpStream, servers: &[String], fate: &dyn Fn(&Asked) -> Fate) -> io::Result<()> {
    let asked = read(&mut BufReader::new(stream.try_clone()?))?;
    match fate(&asked) {
        Fate::Drop => stream.shutdown(Shutdown::Both),
        Fate::Hang => {
            std::thread::sleep(HANGS_FOR);
            Ok(())
        }
        Fate::Refuse(kind) => {
            let failure = Failure::new(kind, "refused at the door");
            let body = serde_json::to_string(&Problem::new(&failure, "0".repeat(32)))?;
            let (status, length) = (kind.row().http_status, body.len());
            write!(
                stream,
                "HTTP/1.1 {status} No\r\ncontent-type: {CONTENT_TYPE}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            )
        }
        Fate::Pass => {
            let reached = servers.iter().find_map(|server| TcpStream::connect(server).ok());
            let mut onward = reached.ok_or(io::ErrorKind::ConnectionRefused)?;
            let kept = asked.head.iter().filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
            let head: String = kept.map(|line| format!("{line}\r\n")).collect();
            write!(onward, "{}\r\n{head}connection: close\r\n\r\n", asked.line)?;
            onward.write_all(&asked.body)?;
            io::copy(&mut onward, &mut stream).map(drop)
        }
    }
}

fn read(reader: &mut impl BufRead) -> io::Result<Asked> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let length = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let mut lines = lines.into_iter();
    Ok(Asked { line: lines.next().unwrap_or_default(), head: lines.collect(), body })
}
