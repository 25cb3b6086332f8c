//! The progress step: packets from the reception FIFOs to their handlers, answers back.

use net_torus::coord::Coord;

use crate::handler::{Arrival, Handlers, Malformed};
use crate::header::{Header, HeaderError};
use crate::port::{Class, Port};
use crate::tx;

/// What the layer has seen, in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Handed to a request handler.
    pub requests: u64,
    /// Handed to an answer handler.
    pub answers: u64,
    /// Discarded: no handler is registered under the packet's number.
    pub unknown_handler: u64,
    /// Discarded: not a message of this layer, or [`Malformed`] in the eyes of its handler.
    pub malformed: u64,
}

/// Hands up to `budget` packets to their handlers, answers first, and sends what request handlers
/// answer. Returns the number of packets taken out of the reception FIFOs. Does not block.
///
/// A request stays in its FIFO for as long as there is no room for the answer it may cause.
pub fn progress<P: Port, C>(
    port: &mut P,
    here: Coord,
    handlers: &Handlers<C>,
    context: &mut C,
    stats: &mut Stats,
    budget: usize,
) -> usize {
    let mut taken = 0;
    while taken < budget {
        if take_answer(port, handlers, context, stats)
            || take_request(port, here, handlers, context, stats)
        {
            taken += 1;
        } else {
            break;
        }
    }
    taken
}

fn take_answer<P: Port, C>(
    port: &mut P,
    handlers: &Handlers<C>,
    context: &mut C,
    stats: &mut Stats,
) -> bool {
    let Some(body) = port.head(Class::Priority) else {
        return false;
    };
    if let Some((header, arrival)) = arrival(port, body, stats) {
        match handlers.answer_at(header.handler) {
            Some(handler) => {
                stats.answers += 1;
                if let Err(Malformed) = handler(context, &arrival) {
                    stats.malformed += 1;
                }
            }
            None => stats.unknown_handler += 1,
        }
    }
    port.pop(Class::Priority);
    true
}

fn take_request<P: Port, C>(
    port: &mut P,
    here: Coord,
    handlers: &Handlers<C>,
    context: &mut C,
    stats: &mut Stats,
) -> bool {
    if !port.can_inject(Class::Priority) {
        return false;
    }
    let Some(body) = port.head(Class::Normal) else {
        return false;
    };
    let mut reply = None;
    if let Some((header, arrival)) = arrival(port, body, stats) {
        match handlers.request_at(header.handler) {
            Some(handler) => {
                stats.requests += 1;
                match handler(context, &arrival) {
                    Ok(answer) => reply = answer.map(|answer| (header.source, answer)),
                    Err(Malformed) => stats.malformed += 1,
                }
            }
            None => stats.unknown_handler += 1,
        }
    }
    port.pop(Class::Normal);
    if let Some((dest, answer)) = reply {
        let header = Header {
            handler: answer.handler,
            source: here,
            argument: answer.argument,
            place: None,
        };
        let sent = tx::short(
            port,
            Class::Priority,
            dest,
            header,
            answer.bytes.len(),
            |b| {
                b.copy_from_slice(&answer.bytes);
            },
        );
        assert!(sent, "room was there before the request was taken");
    }
    true
}

fn arrival<'b, P: Port>(
    port: &P,
    body: &'b [u8],
    stats: &mut Stats,
) -> Option<(Header, Arrival<'b>)> {
    match Header::parse(body) {
        Ok((header, bytes)) if port.has_node(header.source) => {
            let Header {
                source,
                argument,
                place,
                ..
            } = header;
            Some((
                header,
                Arrival {
                    source,
                    argument,
                    place,
                    bytes,
                },
            ))
        }
        Ok(_) | Err(HeaderError::Truncated | HeaderError::Kind) => {
            stats.malformed += 1;
            None
        }
    }
}
