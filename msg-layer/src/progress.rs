//! Progress step: passes packets from the reception FIFOs to their handlers, and sends the replies.

use net_torus::coord::Coord;

use crate::handler::{HandlerResult, HandlerTable, MalformedPacket, ReceivedPacket, ReplyPacket, RequestHandler};
use crate::header::{Header, HeaderPrefix, TargetOffset};
use crate::port::{Port, TrafficClass};
use crate::tx;

/// Statistics of the layer, in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LayerStats {
    /// Packets passed to a request handler.
    pub requests: u64,
    /// Packets passed to a reply handler.
    pub answers: u64,
    /// Packets discarded because no handler is registered with their ID.
    pub unknown_handler: u64,
    /// Packets discarded because they are no messages of this layer, or because their handler returned [`MalformedPacket`].
    pub malformed: u64,
}

/// State that handlers operate on. It contains the layer's statistics.
pub trait LayerContext {
    /// Returns the layer's statistics.
    fn stats(&mut self) -> &mut LayerStats;

    /// Handles a packet whose ID has no handler in the table: a request, or a reply, which cannot be replied to.
    /// Returns `None` if the ID is unknown.
    fn handle_other(&mut self, class: TrafficClass, number: u8, arrival: &ReceivedPacket<'_>) -> Option<HandlerResult> {
        let _ = (class, number, arrival);
        None
    }
}

/// Passes up to `budget` packets to their handlers, replies first, and sends the replies of request handlers. Returns
/// the number of packets dequeued from the reception FIFOs. Does not block.
///
/// A request stays in its FIFO until there is space for its potential reply.
#[inline]
pub fn progress<P: Port, C: LayerContext>(
    port: &mut P,
    here: Coord,
    handlers: &HandlerTable<C>,
    context: &mut C,
    budget: usize,
) -> usize {
    let mut taken = 0;
    while taken < budget {
        taken += if handle_reply(port, handlers, context) {
            1
        } else {
            match handle_requests(port, here, handlers, context, budget - taken) {
                0 => break,
                requests => requests,
            }
        };
    }
    taken
}

#[inline]
fn handle_reply<P: Port, C: LayerContext>(port: &mut P, handlers: &HandlerTable<C>, context: &mut C) -> bool {
    let Some(body) = port.head(TrafficClass::Priority) else {
        return false;
    };
    match parse_packet(port, body) {
        Some((number, arrival)) => match handlers.reply_at(number) {
            Some(handler) => {
                context.stats().answers += 1;
                if let Err(MalformedPacket) = handler(context, &arrival) {
                    context.stats().malformed += 1;
                }
            }
            None => {
                pass_to_context(context, TrafficClass::Priority, number, &arrival);
            }
        },
        None => context.stats().malformed += 1,
    }
    port.pop(TrafficClass::Priority);
    true
}

/// Handles one request, or up to `most` consecutive ones if the first is a long message's packet. Returns their number.
#[inline]
fn handle_requests<P: Port, C: LayerContext>(
    port: &mut P,
    here: Coord,
    handlers: &HandlerTable<C>,
    context: &mut C,
    most: usize,
) -> usize {
    // An empty FIFO requires no space for a reply.
    let Some(body) = port.head(TrafficClass::Normal) else {
        return 0;
    };
    if !port.can_inject(TrafficClass::Priority) {
        return 0;
    }
    if Header::is_long(body) {
        return handle_run(port, here, handlers, context, most);
    }
    let reply = handle_request(port, handlers, context, body, &mut None);
    port.pop(TrafficClass::Normal);
    if let Some((dest, answer)) = reply {
        send_reply(port, here, dest, &answer);
    }
    1
}

/// Handles up to `most` consecutive requests, until one has a reply, for which there is space. Returns their number.
// Outlined, as short messages are handled one by one.
#[inline(never)]
fn handle_run<P: Port, C: LayerContext>(
    port: &mut P,
    here: Coord,
    handlers: &HandlerTable<C>,
    context: &mut C,
    most: usize,
) -> usize {
    let (mut reply, mut known) = (None, None);
    let taken = port.receive_run(most, |port, body| {
        match handle_request(port, handlers, context, body, &mut known) {
            None => true,
            answer => {
                reply = answer;
                false
            }
        }
    });
    if let Some((dest, answer)) = reply {
        send_reply(port, here, dest, &answer);
    }
    taken
}

/// First header word, sender rank and handler of the preceding packet.
type KnownSender<C> = (HeaderPrefix, u32, RequestHandler<C>);

/// Handles the request with this body. Returns the reply and its destination.
// Inlining avoids storing the result, usually `None`.
#[inline(always)]
fn handle_request<P: Port, C: LayerContext>(
    port: &P,
    handlers: &HandlerTable<C>,
    context: &mut C,
    body: &[u8],
    known: &mut Option<KnownSender<C>>,
) -> Option<(Coord, ReplyPacket)> {
    let Some((first, place, bytes)) = read(body) else {
        context.stats().malformed += 1;
        return None;
    };
    let header = first.header(place);
    let (rank, handler) = match *known {
        Some((before, rank, handler)) if before == first => (rank, handler),
        _ => {
            let Some(rank) = port.rank(header.source) else {
                context.stats().malformed += 1;
                return None;
            };
            let Some(handler) = handlers.request_at(header.handler) else {
                let arrival = packet_from(header, rank, bytes);
                let answer = pass_to_context(context, TrafficClass::Normal, header.handler, &arrival)?;
                return Some((header.source, answer));
            };
            *known = Some((first, rank, handler));
            (rank, handler)
        }
    };
    let arrival = packet_from(header, rank, bytes);
    context.stats().requests += 1;
    match handler(context, &arrival) {
        Ok(answer) => answer.map(|answer| (header.source, answer)),
        Err(MalformedPacket) => {
            context.stats().malformed += 1;
            None
        }
    }
}

/// Passes a packet without a registered handler to the context. Returns the reply.
// One copy for both classes, since such packets are rare.
#[inline(never)]
fn pass_to_context<C: LayerContext>(
    context: &mut C,
    class: TrafficClass,
    number: u8,
    arrival: &ReceivedPacket<'_>,
) -> Option<ReplyPacket> {
    let taken = context.handle_other(class, number, arrival);
    let stats = context.stats();
    match (&taken, class) {
        (None, _) => stats.unknown_handler += 1,
        (_, TrafficClass::Normal) => stats.requests += 1,
        (_, TrafficClass::Priority) => stats.answers += 1,
    }
    match taken? {
        Ok(answer) => answer,
        Err(MalformedPacket) => {
            stats.malformed += 1;
            None
        }
    }
}

#[inline]
fn packet_from(header: Header, rank: u32, bytes: &[u8]) -> ReceivedPacket<'_> {
    ReceivedPacket {
        source: header.source,
        rank,
        argument: header.argument,
        place: header.place,
        bytes,
    }
}

#[inline]
fn read(body: &[u8]) -> Option<(HeaderPrefix, Option<TargetOffset>, &[u8])> {
    let first = HeaderPrefix::read(body).ok()?;
    let (place, bytes) = first.rest(body).ok()?;
    Some((first, place, bytes))
}

fn send_reply<P: Port>(port: &mut P, here: Coord, dest: Coord, answer: &ReplyPacket) {
    let header = Header {
        handler: answer.handler,
        source: here,
        argument: answer.argument,
        place: None,
    };
    let len = answer.bytes.len();
    let sent = tx::send_short(port, TrafficClass::Priority, dest, header, len, |body| {
        body.copy_from_slice(&answer.bytes);
    });
    assert!(sent, "room was there before the request was taken");
}

/// Decodes a body. Returns the handler ID and the packet, or `None` if it is no message of this layer.
#[inline]
fn parse_packet<'b, P: Port>(port: &P, body: &'b [u8]) -> Option<(u8, ReceivedPacket<'b>)> {
    let (header, bytes) = Header::parse(body).ok()?;
    let rank = port.rank(header.source)?;
    Some((header.handler, packet_from(header, rank, bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{FakePort, FifoSpace};
    use crate::handler::REPLY_BYTES;
    use net_torus::Shape;

    const HERE: Coord = Coord { x: 0, y: 0, z: 0 };
    const THERE: Coord = Coord { x: 1, y: 0, z: 0 };
    const LAST: u8 = crate::handler::HANDLERS as u8 - 1;
    /// Not in the table.
    const OTHER: u8 = 9;

    /// Arguments that the handlers received.
    #[derive(Default)]
    struct SeenArguments {
        requests: Vec<u16>,
        answers: Vec<u16>,
        stats: LayerStats,
    }

    impl LayerContext for SeenArguments {
        fn stats(&mut self) -> &mut LayerStats {
            &mut self.stats
        }

        fn handle_other(
            &mut self,
            class: TrafficClass,
            number: u8,
            arrival: &ReceivedPacket<'_>,
        ) -> Option<HandlerResult> {
            (number == OTHER).then(|| match class {
                TrafficClass::Normal => on_request(self, arrival),
                TrafficClass::Priority => on_answer(self, arrival).map(|()| None),
            })
        }
    }

    fn on_request(
        seen: &mut SeenArguments,
        arrival: &ReceivedPacket<'_>,
    ) -> Result<Option<ReplyPacket>, MalformedPacket> {
        let [reply] = arrival.bytes else {
            return Err(MalformedPacket);
        };
        seen.requests.push(arrival.argument);
        Ok((*reply != 0).then_some(ReplyPacket {
            handler: LAST,
            argument: arrival.argument,
            bytes: [*reply; REPLY_BYTES],
        }))
    }

    fn on_answer(seen: &mut SeenArguments, arrival: &ReceivedPacket<'_>) -> Result<(), MalformedPacket> {
        if arrival.bytes.len() != REPLY_BYTES {
            return Err(MalformedPacket);
        }
        seen.answers.push(arrival.argument);
        Ok(())
    }

    const HANDLERS: HandlerTable<SeenArguments> = HandlerTable::new()
        .request::<0>(on_request)
        .request::<LAST>(on_request)
        .reply::<LAST>(on_answer);

    fn port() -> FakePort {
        FakePort::new(Shape::new([2, 1, 1], [true; 3]).unwrap(), Coord::default())
    }

    fn message(handler: u8, source: Coord, argument: u16, payload: &[u8]) -> Vec<u8> {
        let header = Header {
            handler,
            source,
            argument,
            place: None,
        };
        let mut body = vec![0; header.bytes() + payload.len()];
        header.emit(&mut body, payload.len()).copy_from_slice(payload);
        body
    }

    fn run(port: &mut FakePort, budget: usize) -> (usize, SeenArguments, LayerStats) {
        let mut seen = SeenArguments::default();
        let taken = progress(port, HERE, &HANDLERS, &mut seen, budget);
        let stats = seen.stats;
        (taken, seen, stats)
    }

    #[test]
    fn answers_go_first_and_the_budget_is_kept() {
        let mut port = port();
        port.deliver(TrafficClass::Normal, &message(0, THERE, 1, &[0]));
        port.deliver(TrafficClass::Normal, &message(LAST, THERE, 2, &[0]));
        port.deliver(TrafficClass::Priority, &message(LAST, THERE, 3, &[0; REPLY_BYTES]));
        let (taken, seen, stats) = run(&mut port, 2);
        assert_eq!((taken, seen.requests, seen.answers), (2, vec![1], vec![3]));
        assert_eq!((stats.requests, stats.answers), (1, 1));
        assert_eq!(port.waiting(TrafficClass::Normal), 1);
    }

    #[test]
    fn a_request_waits_until_there_is_room_for_its_answer() {
        let mut port = port();
        port.set_space(TrafficClass::Priority, FifoSpace::Packets(0));
        port.deliver(TrafficClass::Normal, &message(0, THERE, 5, &[9]));
        assert_eq!(run(&mut port, 10).0, 0);
        port.set_space(TrafficClass::Priority, FifoSpace::Packets(1));
        let (taken, seen, _) = run(&mut port, 10);
        assert_eq!((taken, seen.requests), (1, vec![5]));
        let [answer] = &port.take_sent()[..] else {
            panic!("one answer")
        };
        assert_eq!((answer.class, answer.dest), (TrafficClass::Priority, THERE));
        assert_eq!(answer.body, message(LAST, HERE, 5, &[9; REPLY_BYTES]));
    }

    #[test]
    fn what_the_table_has_no_handler_for_goes_to_the_context() {
        let mut port = port();
        port.deliver(TrafficClass::Normal, &message(OTHER, THERE, 1, &[9]));
        port.deliver(TrafficClass::Normal, &message(OTHER, THERE, 2, &[0, 0]));
        port.deliver(TrafficClass::Priority, &message(OTHER, THERE, 3, &[0; REPLY_BYTES]));
        port.deliver(TrafficClass::Priority, &message(OTHER, THERE, 4, &[0]));
        let (taken, seen, stats) = run(&mut port, 10);
        assert_eq!((taken, seen.requests, seen.answers), (4, vec![1], vec![3]));
        let expected = LayerStats {
            requests: 2,
            answers: 2,
            malformed: 2,
            unknown_handler: 0,
        };
        assert_eq!(stats, expected);
        let [answer] = &port.take_sent()[..] else {
            panic!("one answer")
        };
        assert_eq!(answer.body, message(LAST, HERE, 1, &[9; REPLY_BYTES]));
    }

    /// Every rejected packet is counted once, in one of two counters, and dequeued.
    #[test]
    fn what_cannot_be_handled_is_counted_and_not_answered() {
        let mut port = port();
        let outside = Coord { x: 2, y: 0, z: 0 };
        for body in [message(0, THERE, 0, &[1, 1]), message(0, outside, 0, &[1]), vec![0; 3]] {
            port.deliver(TrafficClass::Normal, &body);
        }
        port.deliver(TrafficClass::Priority, &message(LAST, THERE, 0, &[1]));
        for unknown in [1, LAST + 1, u8::MAX] {
            port.deliver(TrafficClass::Normal, &message(unknown, THERE, 0, &[1]));
            port.deliver(TrafficClass::Priority, &message(unknown, THERE, 0, &[1]));
        }
        let (taken, seen, stats) = run(&mut port, 100);
        assert_eq!(taken, 10);
        assert!(seen.requests.is_empty() && seen.answers.is_empty());
        let expected = LayerStats {
            requests: 1,
            answers: 1,
            unknown_handler: 6,
            malformed: 4,
        };
        assert_eq!(stats, expected);
        assert!(port.sent().is_empty());
    }
}
