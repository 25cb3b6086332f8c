//! Delivery of packets from the reception FIFOs.

use crate::profile::PACKET_CHUNKS;
use crate::queue;
use crate::route;
use crate::router::{LOCAL, RECEPTION, Router, alike, next_after};
use crate::wire::{Fifo, HEADER_BYTES, HeaderWord};

/// Contiguous packets with the same header in a reception FIFO.
pub(crate) struct PacketRun {
    fifo: Fifo,
    start: usize,
    chunks: usize,
    body: usize,
    count: usize,
}

impl PacketRun {
    /// Calls `take` with the index of each packet until it returns false. Returns the number of calls.
    #[inline]
    pub fn hand_out(&self, take: impl FnMut(usize) -> bool) -> usize {
        let taken = (0..self.count).map(take).take_while(|goes_on| *goes_on).count();
        (taken + 1).min(self.count)
    }
}

impl Router<'_> {
    /// Returns the body of the oldest packet in a reception FIFO, exactly as long as injected (or only its stored
    /// part).
    #[inline]
    pub fn head(&self, fifo: Fifo) -> Option<&[u8]> {
        // The usual result of repeated polls is an empty FIFO.
        if self.queues[RECEPTION + fifo as usize].is_empty() {
            None
        } else {
            self.body_at_head(fifo)
        }
    }

    #[inline(never)]
    fn body_at_head(&self, fifo: Fifo) -> Option<&[u8]> {
        let (start, chunks, body) = self.reception_front(fifo)?;
        let bytes = queue::bytes(self.memory, start, self.copied_chunks(chunks));
        bytes.get(HEADER_BYTES..bytes.len().min(HEADER_BYTES + body))
    }

    /// Returns the chunks of the oldest packet in a reception FIFO, or 0 if it is empty.
    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn head_chunks(&self, fifo: Fifo) -> usize {
        let front = self.reception_front(fifo);
        front.map_or(0, |(_, chunks, _)| chunks)
    }

    /// Removes the packet that [`Router::head`] returns, and moves the next ones that waited for space into the FIFO.
    /// Does nothing when the FIFO is empty.
    pub fn pop(&mut self, fifo: Fifo) {
        if let Some((_, chunks, _)) = self.reception_front(fifo) {
            self.queues[RECEPTION + fifo as usize].pop(chunks as u16);
            self.deliver(fifo);
        }
    }

    /// Passes the bodies of the oldest packets in a reception FIFO, at most `most`, to `take` and removes them. Returns
    /// how many.
    ///
    /// The result is that of [`Router::head`] and [`Router::pop`] at a lower cost. The run contains the oldest packet
    /// and the contiguous maximum-size packets with the same header behind it; it ends when `take` returns false.
    /// Returns 0 if there is no packet, or `most` is 0.
    pub fn take_run(&mut self, fifo: Fifo, most: usize, mut take: impl FnMut(&Self, &[u8]) -> bool) -> usize {
        let Some(run) = self.received_run(fifo, most) else {
            return 0;
        };
        let taken = run.hand_out(|at| take(self, self.received(&run, at)));
        self.free_run(&run, taken);
        taken
    }

    /// Returns the run, of at most `most` packets, for [`Router::take_run`].
    pub(crate) fn received_run(&self, fifo: Fifo, most: usize) -> Option<PacketRun> {
        let (start, chunks, body) = self.reception_front(fifo).filter(|_| most > 0)?;
        let count = match chunks {
            PACKET_CHUNKS => {
                let run = self.queues[RECEPTION + fifo as usize].run() * PACKET_CHUNKS;
                alike(queue::bytes(self.memory, start, run), most)
            }
            _ => 1,
        };
        Some(PacketRun {
            fifo,
            start,
            chunks,
            body,
            count,
        })
    }

    /// Returns the body of a packet in a run.
    #[inline]
    pub(crate) fn received(&self, run: &PacketRun, at: usize) -> &[u8] {
        let start = run.start + at * run.chunks;
        let packet = queue::bytes(self.memory, start, run.chunks);
        &packet[HEADER_BYTES..HEADER_BYTES + run.body]
    }

    /// Removes the first `taken` packets of a run.
    pub(crate) fn free_run(&mut self, run: &PacketRun, taken: usize) {
        self.queues[RECEPTION + run.fifo as usize].pop((taken * run.chunks) as u16);
        self.deliver(run.fifo);
    }

    /// Returns the index of the oldest packet in a reception FIFO, its chunks, and its body in bytes.
    fn reception_front(&self, fifo: Fifo) -> Option<(usize, usize, usize)> {
        let start = self.queues[RECEPTION + fifo as usize].front()?;
        let word = HeaderWord::read(self.memory[start].first_chunk()?);
        Some((start, word.chunks(), word.body()))
    }

    fn reserve_reception(&mut self, fifo: Fifo, chunks: usize) -> Option<usize> {
        let queue = &mut self.queues[RECEPTION + fifo as usize];
        if queue.free() < chunks as u16 {
            return None;
        }
        let start = queue.push(chunks as u16);
        let stats = &mut self.stats.fifos[fifo as usize];
        stats.delivered.add(chunks);
        stats.reception_high_water = queue.high();
        Some(start)
    }

    /// Moves packets that are at their destination, or deposit a copy here, into a reception FIFO. Sources are served
    /// round robin until the FIFO is full or no packet waits.
    #[inline]
    pub(crate) fn deliver(&mut self, fifo: Fifo) {
        if self.want[LOCAL + fifo as usize] != 0 {
            self.deliver_waiting(fifo);
        }
    }

    fn deliver_waiting(&mut self, fifo: Fifo) {
        let output = LOCAL + fifo as usize;
        while let Some(source) = next_after(self.want[output], self.last[output])
            && let Some(head) = self.heads[source]
            && let Some(from) = self.queues[source].front()
        {
            let chunks = head.word.chunks();
            // No smaller packet overtakes it: otherwise a large packet would starve.
            let Some(to) = self.reserve_reception(fifo, chunks) else {
                return;
            };
            let copied_chunks = self.copied_chunks(chunks);
            self.memory.copy_within(from..from + copied_chunks, to);
            self.last[output] = source as u8;
            match route::dimension_order(head.left) {
                // A deposit packet is copied here and continues.
                Some(d) => {
                    self.stats.deposits += 1;
                    self.remove_wants(source, 1 << output);
                    self.enter(source, head.word, head.left, 1 << d as u8);
                }
                None => self.remove(source, &head, 1),
            }
        }
    }
}
