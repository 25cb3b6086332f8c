//! Link handshake: detects that both ends of a link are running.
//!
//! A link is a lossless stream, except at the start. An emulator may silently drop data sent before it has connected
//! the stream, which happens in the background while the machine already boots. Therefore a link is used only after
//! both ends have completed the handshake:
//!
//! ```text
//! end      sends                                    when
//! any      hello, with a flag: received yours       at its start, then after 1, 2, 4, 8 .. ms without a reply
//! any      the same                                 after it has received a hello
//! An end that receives the flag knows that its own direction works, sends one more hello, and is done.
//! ```
//!
//! The end that starts later sends its hello immediately, which wakes the other end. So the earlier end's repetitions
//! only matter until the stream is connected, and they may become rare. Their number grows with the logarithm of the
//! waiting time, and they delay the boot at most by the time that the connection took.
#![forbid(unsafe_code)]

use net_torus::wire::FRAME_HEADER_BYTES;

/// Time until an unanswered hello is first repeated, in nanoseconds; it doubles with each repetition.
pub const FIRST_REPEAT_NS: u64 = 1_000_000;
/// Maximum number of doublings, which makes the interval 12 days.
const MAX_DOUBLINGS: u8 = 40;
/// Size of a handshake frame in bytes: smaller than any frame of the torus.
pub const HELLO_BYTES: usize = 2;
const _: () = assert!(HELLO_BYTES < FRAME_HEADER_BYTES);

/// First byte of a handshake frame; the second specifies whether the sender has received the receiver's hello.
const HELLO: u8 = b'H';

/// Checks whether a frame belongs to the handshake.
pub fn is_greeting(frame: &[u8]) -> bool {
    matches!(frame, [HELLO, _])
}

/// Handshake state of one end of a link, from its start until the link is up. Time is in nanoseconds, by any clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkHandshake {
    /// The neighbour's hello was received.
    heard: bool,
    /// The neighbour has confirmed our hello.
    was_heard: bool,
    /// The last received frame requests a hello.
    asked: bool,
    /// The last hello was sent.
    up: bool,
    /// Repetitions so far, including the first hello.
    repeats: u8,
    count: u16,
    repeat_ns: u64,
}

impl LinkHandshake {
    /// First byte of each handshake frame.
    pub const FIRST_BYTE: u8 = HELLO;

    /// Creates the state before any frame was sent or received.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether received frames may belong to the handshake. Frames after its last one belong to the torus.
    pub fn is_listening(&self) -> bool {
        !self.was_heard
    }

    /// Handles a received frame.
    pub fn on_frame(&mut self, frame: &[u8]) {
        if let [HELLO, flag] = *frame {
            self.heard = true;
            self.was_heard = flag != 0;
            self.asked = true;
        }
    }

    /// Returns the hello to send now, if any. The caller must then call [`LinkHandshake::tried`].
    pub fn due(&self, now_ns: u64) -> Option<[u8; HELLO_BYTES]> {
        let due = !self.up && (self.asked || now_ns >= self.repeat_ns);
        due.then_some([HELLO, self.heard.into()])
    }

    /// Records that the pending hello was sent, or that the link was full and it must be sent later.
    pub fn tried(&mut self, now_ns: u64, was_said: bool) {
        if was_said {
            self.count = self.count.saturating_add(1);
            self.asked = false;
            // The last hello must be sent: the neighbour waits for it.
            self.up = self.was_heard;
        }
        if now_ns >= self.repeat_ns {
            self.repeat_ns = now_ns.saturating_add(FIRST_REPEAT_NS << self.repeats);
            self.repeats = (self.repeats + 1).min(MAX_DOUBLINGS);
        }
    }

    /// Returns the time of the next hello if nothing is received before, or `None` if the link is up.
    pub fn next_ns(&self) -> Option<u64> {
        (!self.up).then_some(self.repeat_ns)
    }

    /// Returns the number of hello frames sent.
    pub fn count(&self) -> u32 {
        self.count.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = FIRST_REPEAT_NS;

    /// Simulates a link whose ends start at these times, and whose stream is connected at `connected_ns`. Earlier
    /// frames are buffered until then, or dropped. Returns the time when both ends are up, and the hello frames of
    /// each.
    fn greet(starts: [u64; 2], connected_ns: u64, keeps: bool) -> (u64, [u32; 2]) {
        let mut ends = [LinkHandshake::new(); 2];
        let mut under_way: [Vec<[u8; HELLO_BYTES]>; 2] = Default::default();
        let mut now = 0;
        loop {
            let mut moved = true;
            while std::mem::take(&mut moved) {
                for at in [0, 1].into_iter().filter(|&at| starts[at] <= now) {
                    if now >= connected_ns {
                        under_way[at].drain(..).for_each(|hello| ends[at].on_frame(&hello));
                    }
                    if let Some(hello) = ends[at].due(now) {
                        ends[at].tried(now, true);
                        moved = true;
                        if keeps || now >= connected_ns {
                            under_way[1 - at].push(hello);
                        }
                    }
                }
            }
            let due = ends.iter().filter_map(LinkHandshake::next_ns);
            let others = starts.into_iter().chain([connected_ns]);
            match due.clone().chain(others).filter(|&at| at > now).min() {
                Some(next) if due.count() > 0 => now = next,
                _ => return (now, ends.map(|end| end.count())),
            }
        }
    }

    #[test]
    fn ends_that_are_connected_need_three_greetings_whoever_is_first() {
        for starts in [[0, 0], [0, MS / 2], [MS / 2, 0]] {
            let (up, counts) = greet(starts, 0, true);
            assert_eq!(up, starts[0].max(starts[1]));
            assert!(counts.into_iter().all(|count| count <= 3), "{counts:?}");
        }
    }

    /// The waiting end sends its first hello, its replies, and one hello for each doubling of its wait.
    #[test]
    fn greetings_grow_with_the_logarithm_of_the_wait_only() {
        for keeps in [true, false] {
            for (wait_ms, repeats) in [(1, 1), (1_000, 10), (1_000_000, 20), (3_600_000, 22)] {
                let later = wait_ms * MS;
                let (_, [early, late]) = greet([0, later], later, keeps);
                assert!(early <= repeats + 3 && late <= 3, "{wait_ms} ms: {early}, {late}");
            }
        }
    }

    /// A ring of 512 nodes, each started 10 ms after the previous one: with one hello per millisecond the earlier ends
    /// alone sent 10,220.
    #[test]
    fn nodes_that_start_one_after_the_other_greet_a_few_times_each() {
        let starts: Vec<u64> = (0..512).map(|node| node * 10 * MS).collect();
        let total: u32 = (0..512)
            .map(|node| {
                let ends = [starts[node], starts[(node + 1) % 512]];
                let later = ends[0].max(ends[1]);
                let (up, counts) = greet(ends, later, false);
                assert_eq!(up, later, "the later end's greeting is heard at once");
                counts.iter().sum::<u32>()
            })
            .sum();
        assert_eq!(total, 512 * 8 + 9);
    }

    #[test]
    fn a_full_link_is_tried_again_later_and_the_last_greeting_is_said() {
        let mut end = LinkHandshake::new();
        end.tried(0, false);
        assert_eq!((end.due(0), end.next_ns()), (None, Some(MS)));
        end.on_frame(&[HELLO, 1]);
        assert_eq!(end.due(1), Some([HELLO, 1]));
        end.tried(1, false);
        assert!(end.next_ns().is_some(), "the neighbour waits for it");
        end.tried(2, true);
        assert_eq!((end.due(9 * MS), end.next_ns(), end.count()), (None, None, 1));
    }

    #[test]
    fn a_slow_connection_at_most_doubles_the_wait_for_it() {
        for keeps in [true, false] {
            for connected in [MS - 1, 3 * MS, 77 * MS + 5, 100_000 * MS] {
                let (up, counts) = greet([0, MS / 3], connected, keeps);
                assert!(up >= connected && up <= 2 * connected + MS);
                assert!(counts.into_iter().all(|count| count <= 3 + 17), "{counts:?}");
            }
        }
    }
}
