//! Open descriptors that one process of ours hands to another one, with bytes, over a socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// The most descriptors that are handed over at once.
const MOST: usize = 3;
/// How much is read at once.
const BLOCK: usize = 16 * 1024;

/// Keeps every descriptor that we were started with, but the three of standard input and output, from whatever we start.
pub fn hand_nothing_down() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// Sends bytes, and descriptors with the first of them.
///
/// # Errors
/// When nobody is at the other end.
///
/// # Panics
/// With more than three descriptors.
pub async fn hand_over(stream: &UnixStream, bytes: &[u8], descriptors: &[OwnedFd]) -> io::Result<()> {
    let handed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    let (mut sent, mut with) = (0, handed.as_slice());
    while sent < bytes.len() {
        sent += stream.async_io(Interest::WRITABLE, || send(stream, &bytes[sent..], with)).await?;
        with = &[];
    }
    Ok(())
}

fn send(stream: &UnixStream, bytes: &[u8], descriptors: &[std::os::fd::BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        assert!(with.push(SendAncillaryMessage::ScmRights(descriptors)), "at most three");
    }
    Ok(sendmsg(stream, &[IoSlice::new(bytes)], &mut with, SendFlags::NOSIGNAL)?)
}

/// Appends what has come, and the descriptors that came with it; `false` when the other end is gone. May be dropped and called
/// again.
///
/// # Errors
/// When the socket fails.
pub async fn take_over(stream: &UnixStream, bytes: &mut Vec<u8>, descriptors: &mut Vec<OwnedFd>) -> io::Result<bool> {
    stream
        .async_io(Interest::READABLE, || {
            let mut block = [0; BLOCK];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
            let mut with = RecvAncillaryBuffer::new(&mut space);
            let got = recvmsg(stream, &mut [IoSliceMut::new(&mut block)], &mut with, RecvFlags::CMSG_CLOEXEC)?;
            for message in with.drain() {
                if let RecvAncillaryMessage::ScmRights(handed) = message {
                    descriptors.extend(handed);
                }
            }
            bytes.extend_from_slice(&block[..got.bytes]);
            Ok(got.bytes > 0)
        })
        .await
}

/// Waits for one descriptor, and whatever bytes come with it.
///
/// # Errors
/// When the socket fails, or what comes brings none.
pub fn take_one(stream: &std::os::unix::net::UnixStream) -> io::Result<OwnedFd> {
    let mut block = [0; 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut with = RecvAncillaryBuffer::new(&mut space);
    recvmsg(stream, &mut [IoSliceMut::new(&mut block)], &mut with, RecvFlags::CMSG_CLOEXEC)?;
    let handed = with.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut handed) => handed.next(),
        _ => None,
    });
    handed.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
