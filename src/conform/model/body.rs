//! The body of an answer as the HTTP library takes it: piece by piece, and then perhaps nothing more.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::Notify;

use super::exchange::{End, Sent};
use super::record::Ticket;

/// A body that was scripted.
#[derive(Debug)]
pub(super) struct Scripted {
    pieces: VecDeque<Bytes>,
    length: Option<u64>,
    end: End,
    /// Told when everything was handed over and the connection is to be cut.
    cut: Arc<Notify>,
    ticket: Ticket,
}

impl Scripted {
    pub(super) fn new(sent: Sent, cut: Arc<Notify>, mut ticket: Ticket) -> Self {
        let pieces: VecDeque<Bytes> = sent.pieces.into_iter().map(Bytes::from).collect();
        if pieces.iter().all(Bytes::is_empty) && sent.end == End::Orderly {
            // Of an empty body nothing is asked for.
            ticket.keep();
        }
        Self { pieces, length: sent.length.map(|length| length as u64), end: sent.end, cut, ticket }
    }
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        if self.pieces.is_empty() && self.end != End::Stall {
            self.ticket.keep();
        }
        match (piece, self.end) {
            (Some(piece), _) => Poll::Ready(Some(Ok(Frame::data(piece)))),
            (None, End::Orderly) => Poll::Ready(None),
            // Nothing wakes this up again: the client leaves, or the connection is cut.
            (None, End::Stall) => Poll::Pending,
            (None, End::Reset | End::Close) => {
                self.cut.notify_one();
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty() && self.end == End::Orderly
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
