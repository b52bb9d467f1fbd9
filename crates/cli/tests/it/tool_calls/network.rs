//! The network between a device and its replica, which a test cuts.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// How a request for the manifest of an agent starts.
const MANIFEST_REQUEST: [u8; 12] = *b"GET /agents/";

/// What passes. The rest waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    Everything,
    /// A guard that asks what may be called gets no answer.
    NoManifests,
    /// The replica gets nothing more from the device, which does not notice.
    NothingFromDevice,
    /// All connections break.
    Nothing,
}

/// Forwards connections to a replica.
pub(super) struct DeviceNetwork {
    url: String,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    passage: Passage,
    connections: Vec<TcpStream>,
}

impl DeviceNetwork {
    /// Starts a network in front of a replica. Everything passes.
    pub(super) fn start(replica: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = State { passage: Passage::Everything, connections: Vec::new() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let network = Self { url, shared: Arc::clone(&shared) };
        let replica = replica.trim_start_matches("http://").to_owned();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (replica, shared) = (replica.clone(), Arc::clone(&shared));
                thread::spawn(move || {
                    let _connection_closed = shared.forward(client, &replica);
                });
            }
        });
        network
    }

    pub(super) fn url(&self) -> String {
        self.url.clone()
    }

    pub(super) fn set(&self, passage: Passage) {
        let mut state = self.shared.lock();
        state.passage = passage;
        if passage == Passage::Nothing {
            for connection in state.connections.drain(..) {
                let _closed_already = connection.shutdown(Shutdown::Both);
            }
        }
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the lock is not poisoned")
    }

    /// Forwards a connection until one side closes it.
    fn forward(&self, client: TcpStream, replica: &str) -> io::Result<()> {
        self.wait_for_passage(&client)?;
        let replica = TcpStream::connect(replica)?;
        let (mut to_client, mut from_replica) = (client.try_clone()?, replica.try_clone()?);
        thread::spawn(move || {
            let _ended = io::copy(&mut from_replica, &mut to_client);
            let _closed_already = to_client.shutdown(Shutdown::Both);
        });
        let (mut from_client, mut to_replica) = (client, replica);
        let _ended = self.copy_from_device(&mut from_client, &mut to_replica);
        to_replica.shutdown(Shutdown::Both)
    }

    fn copy_from_device(&self, from: &mut TcpStream, to: &mut TcpStream) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        loop {
            let count = from.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            let is_held = |state: &mut State| state.passage == Passage::NothingFromDevice;
            drop(self.changed.wait_while(self.lock(), is_held).expect("the lock is not poisoned"));
            to.write_all(&buffer[..count])?;
        }
    }

    /// Waits until a connection passes. From then on it can be cut.
    fn wait_for_passage(&self, client: &TcpStream) -> io::Result<()> {
        let asks_for_manifest = asks_for_manifest(client)?;
        let is_held = |state: &mut State| match state.passage {
            Passage::Everything | Passage::NothingFromDevice => false,
            Passage::NoManifests => asks_for_manifest,
            Passage::Nothing => true,
        };
        let passed = self.changed.wait_while(self.lock(), is_held);
        passed.expect("the lock is not poisoned").connections.push(client.try_clone()?);
        Ok(())
    }
}

/// Looks at the first request of a connection.
fn asks_for_manifest(client: &TcpStream) -> io::Result<bool> {
    let mut start = [0; MANIFEST_REQUEST.len()];
    loop {
        let length = client.peek(&mut start)?;
        if length == 0 || length == start.len() {
            return Ok(start == MANIFEST_REQUEST);
        }
        thread::sleep(Duration::from_millis(1));
    }
}
