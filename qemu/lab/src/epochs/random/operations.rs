//! Operations of an epoch, each with its expected result.

use midplane_device::rma::wire::PacketKind;

use super::dynamic::name;
use super::large::{LargeSize, source, sums};
use super::{CLAIM, DrawnPut, JobDraw, TICKET, byte, reach};
use crate::epochs::memory::{DYNAMIC, part};
use crate::epochs::script::{ADD, REPLACE, ScriptCall, TargetOp};

impl JobDraw {
    pub(super) fn operate(&mut self, rank: u32, window: usize, epoch: usize, target: u32) {
        if window == DYNAMIC {
            return self.operate_dynamically(rank, epoch, target);
        }
        for _ in 0..self.random.below(4) {
            match self.random.below(10) {
                0..4 => self.draw_put(rank, window, epoch, target),
                4 => self.draw_sum(rank, window, epoch, target),
                5 => self.draw_ordered(rank, window, epoch, target),
                6 => self.draw_ticket(rank, window, epoch, target),
                7 => self.draw_claim(rank, window, epoch, target),
                _ => self.draw_get(rank, window, epoch),
            }
        }
    }

    pub(super) fn perform(&mut self, rank: u32, what: TargetOp) {
        self.defer(rank, ScriptCall::Operation(what));
    }

    /// Adds an operation or a flush, and returns its index.
    pub(super) fn defer(&mut self, rank: u32, call: ScriptCall) -> usize {
        self.scripts[rank as usize].push(call);
        self.deferred[rank as usize] += 1;
        self.deferred[rank as usize] - 1
    }

    /// Allocates `len` unused bytes of a window.
    fn place(&mut self, window: usize, target: u32, len: usize) -> Option<usize> {
        let free = self.memory[window][target as usize].1;
        let place = match window {
            DYNAMIC => self.exposed_from(target, free, len)?,
            _ => free,
        };
        (place + len <= part(window).len()).then(|| {
            self.memory[window][target as usize].1 = place + len;
            place
        })
    }

    pub(super) fn expect(&mut self, rank: u32, epoch: usize, at: usize, wanted: Vec<u8>) {
        let expects = &mut self.opened[rank as usize][epoch].expects;
        expects.push(ScriptCall::Expect(at, wanted));
    }

    /// Expects these bytes, `stride` apart.
    fn expect_strided(&mut self, rank: u32, epoch: usize, at: usize, stride: usize, wanted: &[u8]) {
        match stride {
            1 => self.expect(rank, epoch, at, wanted.to_vec()),
            _ => wanted
                .iter()
                .enumerate()
                .for_each(|(i, byte)| self.expect(rank, epoch, at + stride * i, vec![*byte])),
        }
    }

    pub(super) fn draw_put(&mut self, rank: u32, window: usize, epoch: usize, target: u32) {
        let LargeSize { len, unit, is_strided } = self.draw_size(window);
        let (is_straight, from) = (self.random.chance(0.5), self.draw_from(window));
        let kind = self
            .random
            .pick(&[PacketKind::Put, PacketKind::Put, PacketKind::Accumulate]);
        let Some(place) = self.place(window, target, reach(len, is_strided)) else {
            return;
        };
        let (memory, _) = &mut self.memory[window][target as usize];
        let stride = if is_strided { 2 } else { 1 };
        for i in 0..len {
            // Unused memory is zero, so that an added value is the result.
            memory[place + stride * i] = byte(rank, from + stride * i);
        }
        self.put[rank as usize].push(DrawnPut {
            epoch,
            window,
            target,
            place,
            from,
            len,
            is_strided,
        });
        let (there, here) = (name(window, place), source(window) + from);
        let what = TargetOp {
            unit,
            is_strided,
            is_straight,
            ..TargetOp::new(epoch, target, kind, there, here, len)
        };
        self.perform(rank, what);
    }

    /// Draws a sum, with or without a fetch.
    fn draw_sum(&mut self, rank: u32, window: usize, epoch: usize, target: u32) {
        let (sums, most) = sums(window);
        let r = &mut self.random;
        let len = 1 + r.index(most);
        let place = sums.start + r.index(sums.len() - len);
        let (from, is_straight) = (r.index(8), r.chance(0.5));
        let fetches = r.chance(0.5);
        let other = if fetches { self.result(rank, window, len) } else { None };
        let (memory, _) = &mut self.memory[window][target as usize];
        for i in 0..len {
            memory[place + i] = memory[place + i].wrapping_add(byte(rank, from + i));
        }
        let kind = other.map_or(PacketKind::Accumulate, |_| PacketKind::Fetch);
        let what = TargetOp {
            other: other.unwrap_or(0),
            is_straight,
            ..TargetOp::new(epoch, target, kind, place, source(window) + from, len)
        };
        self.perform(rank, what);
    }

    /// Draws ordered accumulates on the same bytes.
    pub(super) fn draw_ordered(&mut self, rank: u32, window: usize, epoch: usize, target: u32) {
        let LargeSize { len, unit, is_strided } = self.draw_ordered_size(window);
        let stride = if is_strided { 2 } else { 1 };
        let reach = reach(len, is_strided);
        let Some(place) = self.place(window, target, reach) else {
            return;
        };
        let mut there = vec![0; len];
        for _ in 0..2 + self.random.index(4) {
            let from = self.random.index(8);
            let operation = self.random.pick(&[ADD, REPLACE]);
            let own: Vec<u8> = (0..len).map(|i| byte(rank, from + stride * i)).collect();
            let mut what = TargetOp {
                operation,
                unit,
                is_strided,
                is_straight: self.random.chance(0.5),
                ..TargetOp::new(
                    epoch,
                    target,
                    PacketKind::Accumulate,
                    name(window, place),
                    source(window) + from,
                    len,
                )
            };
            let before = there.clone();
            let comes = match self.random.below(4) {
                0 | 1 => None,
                2 if !is_strided && len <= 3 => self.draw_compared(rank, &mut what, &before),
                _ => self.result(rank, window, reach).inspect(|at| {
                    (what.kind, what.other) = (PacketKind::Fetch, *at);
                }),
            };
            let is_refused = what.kind == PacketKind::Compare && what.operation == ADD;
            for (there, own) in there.iter_mut().zip(&own).filter(|_| !is_refused) {
                *there = if what.operation == ADD {
                    there.wrapping_add(*own)
                } else {
                    *own
                };
            }
            self.perform(rank, what);
            if let Some(at) = comes {
                self.expect_strided(rank, epoch, at, stride, &before);
            }
        }
        let (memory, _) = &mut self.memory[window][target as usize];
        for (i, there) in there.into_iter().enumerate() {
            memory[place + stride * i] = there;
        }
    }

    /// Converts the operation to a compare-and-swap that succeeds if it replaces, and fails if it adds. Returns the
    /// location of its result.
    fn draw_compared(&mut self, rank: u32, what: &mut TargetOp, there: &[u8]) -> Option<usize> {
        let at = self.result(rank, 0, 2 * what.len)?;
        let is_equal = what.operation == REPLACE;
        let compare = there.iter().map(|byte| byte ^ u8::from(!is_equal));
        self.scripts[rank as usize].push(ScriptCall::Write(at, compare.collect()));
        (what.kind, what.other) = (PacketKind::Compare, at);
        Some(at + what.len)
    }

    /// Draws a fetch of a unique counter value.
    fn draw_ticket(&mut self, rank: u32, window: usize, epoch: usize, target: u32) {
        let race = window * self.size as usize + target as usize;
        let Some(at) = self.result(rank, 0, 2) else {
            return;
        };
        self.scripts[rank as usize].push(ScriptCall::Write(at, vec![1]));
        let what = TargetOp {
            other: at + 1,
            ..TargetOp::new(epoch, target, PacketKind::Fetch, TICKET, at, 1)
        };
        self.perform(rank, what);
        self.races[race].tickets.push((rank, at + 1));
        self.memory[window][target as usize].0[TICKET] += 1;
    }

    /// Draws a compare-and-swap that sets a mark if there is none.
    fn draw_claim(&mut self, rank: u32, window: usize, epoch: usize, target: u32) {
        let race = window * self.size as usize + target as usize;
        let Some(at) = self.result(rank, 0, 3) else {
            return;
        };
        let mark = self.races[race].claims.len() as u8 + 1;
        self.scripts[rank as usize].push(ScriptCall::Write(at, vec![0, 0, mark]));
        let what = TargetOp {
            other: at,
            ..TargetOp::new(epoch, target, PacketKind::Compare, CLAIM, at + 2, 1)
        };
        self.perform(rank, what);
        self.races[race].claims.push((rank, mark, at + 1));
    }

    /// Draws a get of the process's own data.
    pub(super) fn draw_get(&mut self, rank: u32, window: usize, epoch: usize) {
        let targets = match self.target_of(rank, epoch) {
            Some(targets) => targets,
            None => (0..self.size).collect(),
        };
        let known: Vec<DrawnPut> = self.put[rank as usize]
            .iter()
            .filter(|put| put.window == window && put.epoch != epoch)
            .filter(|put| targets.contains(&put.target))
            .filter(|put| {
                let end = put.place + reach(put.len, put.is_strided);
                self.is_exposed(window, put.target, put.place..end)
            })
            .filter(|put| self.opened[rank as usize][put.epoch].is_waited)
            .cloned()
            .collect();
        if known.is_empty() {
            return;
        }
        let put = known[self.random.index(known.len())].clone();
        for _ in 0..self.draw_times(window) {
            self.get_back(rank, epoch, &put);
        }
    }

    /// Gets data that the process has put.
    fn get_back(&mut self, rank: u32, epoch: usize, put: &DrawnPut) {
        let Some(at) = self.result(rank, put.window, reach(put.len, put.is_strided)) else {
            return;
        };
        let what = TargetOp {
            is_strided: put.is_strided,
            ..TargetOp::new(
                epoch,
                put.target,
                PacketKind::Get,
                name(put.window, put.place),
                at,
                put.len,
            )
        };
        self.perform(rank, what);
        let stride = if put.is_strided { 2 } else { 1 };
        let wanted: Vec<u8> = (0..put.len).map(|i| byte(rank, put.from + stride * i)).collect();
        self.expect_strided(rank, epoch, at, stride, &wanted);
    }
}
