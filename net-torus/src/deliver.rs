//! The way out: reception FIFOs.

use crate::queue;
use crate::route;
use crate::router::{LOCAL, RECEPTION, Router, next_after};
use crate::wire::{self, Fifo, HEADER_BYTES};

impl Router<'_> {
    /// Body of the oldest packet in a reception FIFO, exactly as long as it was injected.
    pub fn head(&self, fifo: Fifo) -> Option<&[u8]> {
        let (start, chunks, body) = self.reception_front(fifo)?;
        let bytes = queue::bytes(self.memory, start, chunks);
        bytes.get(HEADER_BYTES..HEADER_BYTES + body)
    }

    /// Frees the packet that [`Router::head`] shows, and takes the next that waited for room. Does nothing
    /// when the FIFO is empty.
    pub fn pop(&mut self, fifo: Fifo) {
        if let Some((_, chunks, _)) = self.reception_front(fifo) {
            self.queues[RECEPTION + fifo as usize].pop(chunks as u16);
            self.deliver(fifo);
        }
    }

    /// Where the oldest packet in a reception FIFO starts, its chunks, and the bytes of its body.
    fn reception_front(&self, fifo: Fifo) -> Option<(usize, usize, usize)> {
        let start = self.queues[RECEPTION + fifo as usize].front()?;
        let (chunks, body) = wire::size(self.memory[start].first_chunk()?);
        Some((start, chunks, body))
    }

    /// Reserves room for a packet in a reception FIFO and counts it as delivered: where its chunks start.
    pub(crate) fn reserve_reception(&mut self, fifo: Fifo, chunks: usize) -> Option<usize> {
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

    /// Moves packets that are at their destination, or that leave a copy here, into a reception FIFO, in
    /// turn among the sources, until it is full or nothing waits.
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
            let chunks = head.repr.chunks();
            // No smaller packet goes before it: a great one would wait forever.
            let Some(to) = self.reserve_reception(fifo, chunks) else {
                return;
            };
            let carried = self.carried(chunks);
            self.memory.copy_within(from..from + carried, to);
            self.last[output] = source as u8;
            match route::dimension_order(head.left) {
                // A deposit packet leaves its copy and goes on.
                Some(d) => {
                    self.stats.deposits += 1;
                    self.leave(source, 1 << output);
                    self.enter(source, head.repr, head.left, 1 << d as u8);
                }
                None => self.remove(source, &head),
            }
        }
    }
}
