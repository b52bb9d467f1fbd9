//! A bound on what a connection may send before it is trusted.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const UNLIMITED: usize = usize::MAX;

/// What is read at a time once the limit was exceeded.
const DISCARD_BYTES: usize = 2048;

/// How many more bytes are read from a connection. There is no limit until one is set. Once exceeded, it stays so: what
/// the client still sends is discarded, so that it can finish and read the answer.
#[derive(Debug, Clone)]
pub(crate) struct ReadLimit(Arc<AtomicUsize>);

impl ReadLimit {
    fn unlimited() -> Self {
        Self(Arc::new(AtomicUsize::new(UNLIMITED)))
    }

    pub(crate) fn set(&self, bytes: usize) {
        self.replace(bytes);
    }

    pub(crate) fn lift(&self) {
        self.replace(UNLIMITED);
    }

    pub(crate) fn is_exceeded(&self) -> bool {
        self.remaining() == 0
    }

    fn remaining(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Reads and changes are made by the task of the connection, so no change is lost.
    fn replace(&self, bytes: usize) {
        if !self.is_exceeded() {
            self.0.store(bytes, Ordering::Relaxed);
        }
    }
}

/// A connection with a [`ReadLimit`].
pub(crate) struct LimitedStream<S> {
    stream: S,
    limit: ReadLimit,
}

impl<S> LimitedStream<S> {
    pub(crate) fn new(stream: S) -> (Self, ReadLimit) {
        let limit = ReadLimit::unlimited();
        (Self { stream, limit: limit.clone() }, limit)
    }
}

impl<S: AsyncRead + Unpin> LimitedStream<S> {
    /// Reads and drops what the client sends. Ready at its end.
    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut scratch = [0; DISCARD_BYTES];
        loop {
            let mut discarded = ReadBuf::new(&mut scratch);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut discarded))?;
            if discarded.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LimitedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let remaining = self.limit.remaining();
        if remaining == UNLIMITED {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        if remaining > 0 {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
            let read = buffer.filled().len() - before;
            self.limit.set(remaining.saturating_sub(read));
            if !self.limit.is_exceeded() {
                return Poll::Ready(Ok(()));
            }
            buffer.set_filled(before);
        }
        self.poll_discard(cx)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LimitedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn bytes_above_the_limit_are_discarded_until_the_end() {
        let (client, server) = tokio::io::duplex(64 * 1024);
        let (mut server, limit) = LimitedStream::new(server);
        let (_, mut write) = tokio::io::split(client);
        let mut received = [0; 8];

        write.write_all(b"unlimited").await.expect("sent");
        server.read_exact(&mut received[..4]).await.expect("received");
        limit.set(6);
        server.read_exact(&mut received[..5]).await.expect("what is left of the first");
        assert!(!limit.is_exceeded());

        write.write_all(&[b'x'; 5000]).await.expect("sent");
        write.shutdown().await.expect("closed");
        assert_eq!(server.read(&mut received).await.expect("the end"), 0);
        assert!(limit.is_exceeded());
        limit.lift();
        assert!(limit.is_exceeded(), "what was discarded does not come back");
    }

    #[tokio::test]
    async fn limit_is_renewed_by_each_accepted_frame() {
        let (mut client, server) = tokio::io::duplex(1024);
        let (mut server, limit) = LimitedStream::new(server);
        let mut received = [0; 4];
        for _ in 0..3 {
            limit.set(5);
            client.write_all(b"ping").await.expect("sent");
            assert_eq!(server.read(&mut received).await.expect("received"), 4);
        }
        limit.lift();
        client.write_all(&[b'x'; 512]).await.expect("sent");
        let mut rest = [0; 512];
        server.read_exact(&mut rest).await.expect("no limit");
        assert!(!limit.is_exceeded());
    }
}
