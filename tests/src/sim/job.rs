//! Runs a program over real devices: a scheduler that draws every choice from one seed.

use mpi_adi::envelope::{Pattern, Rank};
use mpi_adi::memory::Span;
use mpi_adi::recv::Probed;
use mpi_adi::request::RequestId;
use mpi_adi::send::SendTo;
use mpi_adi::{Adi, Config, Memory, NoMemory, Outcome, Stats};
use net_torus::{Shape, Sizes};

use super::check::{self, Violation};
use super::memory::Buffers;
use super::net::{Capacity, Carrier, Net, Order};
use super::program::{Op, Program};
use super::torus::{Machine, Room};
use crate::random::{Random, Stream};

/// How a job is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// Bytes of MPI memory of each rank.
    pub mpi_memory: usize,
    /// Greatest number of request slots of each rank.
    pub request_slots: usize,
    /// The programs' heaps lend MPI up to so many blocks, now more and now less.
    pub lends: u32,
    /// Greatest message that is sent eagerly, in bytes.
    pub eager: usize,
    /// Real routers and bad links in place of the network that the next two describe.
    pub bad_links: bool,
    /// The network's FIFOs.
    pub capacity: Capacity,
    /// The network's order.
    pub order: Order,
    /// The seed of every choice.
    pub seed: u64,
}

/// What one receive got.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Got {
    /// Its place among its rank's receives, in order of posting.
    pub posted: u64,
    /// What it asked for when it was posted.
    pub pattern: Pattern,
    /// What the device says of it, once it has completed.
    pub outcome: Option<Outcome>,
    /// The buffer afterwards.
    pub bytes: Vec<u8>,
    /// What a probe had said, if one had been asked.
    pub probed: Option<Probed>,
}

/// A call that could not be made for want of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Short {
    /// Whose.
    pub rank: Rank,
    /// The operation's number.
    pub at: usize,
    /// What ran out, as the device said.
    pub what: NoMemory,
}

/// The heaps of the programs, from which devices allocate during calls.
pub trait Heap {
    /// `rank` makes a call that may allocate.
    fn enter(&self, rank: Rank);
    /// The call has returned.
    fn leave(&self, rank: Rank);
    /// Nothing can move for want of memory. True: there is more now, go on.
    fn extend(&self) -> bool;
}

/// Heaps without a bound.
#[derive(Clone, Copy, Debug)]
pub struct Plenty;

impl Heap for Plenty {
    fn enter(&self, _: Rank) {}
    fn leave(&self, _: Rank) {}
    fn extend(&self) -> bool {
        false
    }
}

/// What a finished job leaves behind.
#[derive(Clone, Debug)]
pub struct Report {
    /// The job did not complete: nothing could move any more without the memory for this call.
    pub short: Option<Short>,
    /// By receive.
    pub got: Vec<Option<Got>>,
    /// By message: its place among its rank's sends, in order.
    pub sent: Vec<u64>,
    /// By rank: what the device counted.
    pub stats: Vec<Stats>,
    /// Choices made.
    pub steps: u64,
}

/// A job that can be run.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The program of all ranks.
    pub program: &'a Program,
    /// How it is run.
    pub setup: Setup,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Live {
    id: RequestId,
    span: Span,
}

/// One rank: its device, its buffers and how far its program is.
struct Process<'a> {
    rank: Rank,
    program: &'a Program,
    adi: Adi,
    buffers: Buffers,
    at: usize,
    /// Within an operation of several steps.
    begun: bool,
    computing: u32,
    /// Sends and receives under way.
    sends: Vec<(u32, Live)>,
    receives: Vec<(u32, Live)>,
    calls: u64,
    heap: &'a dyn Heap,
    /// Why the operation at `at` could not be started when it was last tried.
    short: Option<NoMemory>,
}

/// What all ranks share: the records for the checker.
struct Records {
    got: Vec<Option<Got>>,
    sent: Vec<u64>,
}

impl Process<'_> {
    fn is_finished(&self) -> bool {
        self.at == self.program.ops[self.rank as usize].len()
    }

    /// One step of the program; true when it got on.
    fn step(&mut self, records: &mut Records) -> Result<bool, Violation> {
        if self.computing > 0 {
            self.computing -= 1;
            return Ok(true);
        }
        let Some(op) = self.program.ops[self.rank as usize].get(self.at) else {
            return Ok(false);
        };
        self.short = None;
        let done = match *op {
            Op::Send(message) => self.send(message, records)?,
            Op::CancelSend(message) if !self.begun => {
                self.begun = self.send(message, records)?;
                if let (true, Some(&(_, live))) = (self.begun, self.sends.last()) {
                    self.adi.cancel(live.id);
                }
                return Ok(self.begun);
            }
            Op::CancelSend(message) => self.wait_cancelled(message, records)?,
            Op::Receive(receive) => {
                let pattern = self.program.receives[receive as usize].pattern;
                self.receive(receive, pattern, None, records)?
            }
            Op::ProbeReceive(receive) => self.probe_receive(receive, records)?,
            Op::CancelReceive(receive) if !self.begun => {
                let pattern = self.program.receives[receive as usize].pattern;
                self.begun = self.receive(receive, pattern, None, records)?;
                return Ok(self.begun);
            }
            Op::CancelReceive(receive) => self.cancel_or_keep(receive, records)?,
            Op::WaitSend(message) => {
                self.test_sends(|m| m == message);
                self.sends.iter().all(|&(m, _)| m != message)
            }
            Op::WaitReceive(receive) => {
                self.test_receives(records, |r| r == receive);
                self.receives.iter().all(|&(r, _)| r != receive)
            }
            Op::WaitAll => {
                let before = self.sends.len() + self.receives.len();
                self.test_sends(|_| true);
                self.test_receives(records, |_| true);
                let after = self.sends.len() + self.receives.len();
                if after > 0 {
                    return Ok(after < before);
                }
                true
            }
            Op::TestAll => {
                self.test_sends(|_| true);
                self.test_receives(records, |_| true);
                true
            }
            Op::Probe(pattern) => {
                self.probe(pattern)?;
                self.short.is_none()
            }
            Op::CancelNothing(pattern) => {
                let Some(Live { id, span }) = self.start_receive(pattern, 1)? else {
                    return Ok(false);
                };
                let cancelled = self.adi.cancel(id);
                let outcome = self.adi.test(id);
                self.buffers.give_back(span);
                if !cancelled || outcome.is_none_or(|o| !o.cancelled) {
                    return Err(Violation::Cancel { rank: self.rank });
                }
                true
            }
            Op::Compute(turns) => {
                self.computing = turns;
                true
            }
        };
        if done {
            self.at += 1;
            self.begun = false;
        }
        Ok(done)
    }

    /// Notes what a call returned; `None` when it could not be made for want of memory, which is to be tried
    /// again.
    fn called<T>(&mut self, result: Result<T, NoMemory>) -> Result<Option<T>, Violation> {
        let what = match result {
            Ok(value) => return Ok(Some(value)),
            Err(what) => what,
        };
        let live = (self.sends.len() + self.receives.len()) as u32;
        let is_right = match what {
            NoMemory::Requests { live: said } => said == live,
            NoMemory::ProbeRecord => true,
            NoMemory::Start { .. } => false,
        };
        self.short = Some(what);
        if is_right {
            Ok(None)
        } else {
            Err(Violation::Misnamed {
                rank: self.rank,
                live,
                what,
            })
        }
    }

    fn send(&mut self, number: u32, records: &mut Records) -> Result<bool, Violation> {
        let message = &self.program.messages[number as usize];
        let span = self.buffers.send(number, message.len);
        let to = SendTo {
            dest: message.dest,
            tag: message.envelope.tag,
            context: message.envelope.context,
            mode: message.mode,
        };
        self.heap.enter(self.rank);
        let result = self.adi.isend(to, span);
        self.heap.leave(self.rank);
        let Some(id) = self.called(result)? else {
            self.buffers.give_back(span);
            return Ok(false);
        };
        self.calls += 1;
        records.sent[number as usize] = self.calls;
        self.sends.push((number, Live { id, span }));
        Ok(true)
    }

    /// Waits for the send just cancelled; if that succeeded, sends it again.
    fn wait_cancelled(&mut self, number: u32, records: &mut Records) -> Result<bool, Violation> {
        // When it has been sent again without success, it is no more among the sends.
        let cancelled = match self.sends.last() {
            Some(&(last, Live { id, span })) if last == number => {
                let Some(outcome) = self.adi.test(id) else {
                    return Ok(false);
                };
                self.sends.pop();
                self.buffers.give_back(span);
                outcome.cancelled
            }
            _ => true,
        };
        if cancelled {
            return self.send(number, records);
        }
        Ok(true)
    }

    fn start_receive(
        &mut self,
        pattern: Pattern,
        capacity: usize,
    ) -> Result<Option<Live>, Violation> {
        let span = self.buffers.receive(capacity);
        self.heap.enter(self.rank);
        let result = self.adi.irecv(&mut self.buffers, pattern, span);
        self.heap.leave(self.rank);
        let id = self.called(result)?;
        if id.is_none() {
            self.buffers.give_back(span);
        }
        Ok(id.map(|id| Live { id, span }))
    }

    fn receive(
        &mut self,
        number: u32,
        pattern: Pattern,
        probed: Option<Probed>,
        records: &mut Records,
    ) -> Result<bool, Violation> {
        let capacity = self.program.receives[number as usize].capacity;
        let Some(live) = self.start_receive(pattern, capacity)? else {
            return Ok(false);
        };
        self.calls += 1;
        records.got[number as usize] = Some(Got {
            posted: self.calls,
            pattern,
            outcome: None,
            bytes: Vec::new(),
            probed,
        });
        self.receives.push((number, live));
        Ok(true)
    }

    fn probe(&mut self, pattern: Pattern) -> Result<Option<Probed>, Violation> {
        self.heap.enter(self.rank);
        let result = self.adi.iprobe(pattern);
        self.heap.leave(self.rank);
        match self.called(result)?.flatten() {
            Some(found) if !pattern.matches(&found.envelope) => Err(Violation::Probe {
                rank: self.rank,
                pattern,
                found,
            }),
            found => Ok(found),
        }
    }

    fn probe_receive(&mut self, number: u32, records: &mut Records) -> Result<bool, Violation> {
        let pattern = self.program.receives[number as usize].pattern;
        let Some(found) = self.probe(pattern)? else {
            return Ok(false);
        };
        let exact = Pattern {
            source: Some(found.envelope.source),
            tag: Some(found.envelope.tag),
            context: found.envelope.context,
        };
        self.receive(number, exact, Some(found), records)
    }

    /// The program has taken memory from its heap or freed some, and so many blocks are to spare.
    fn change_heap(&mut self, spare: u32) {
        let spare = spare.saturating_sub(self.buffers.lent());
        let more = spare > self.buffers.spare();
        self.buffers.set_spare(spare);
        if more {
            self.adi.heap_freed(&self.buffers);
        }
    }

    /// Cancels the receive just posted; if that succeeds, posts it again.
    fn cancel_or_keep(&mut self, number: u32, records: &mut Records) -> Result<bool, Violation> {
        let pattern = self.program.receives[number as usize].pattern;
        let &(_, Live { id, span }) = self.receives.last().expect("just posted");
        if self.adi.cancel(id) {
            let outcome = self.adi.test(id);
            if outcome.is_none_or(|o| !o.cancelled) {
                return Err(Violation::Cancel { rank: self.rank });
            }
            self.receives.pop();
            self.buffers.give_back(span);
            // The slot just given back is there for the next receive.
            return self.receive(number, pattern, None, records);
        }
        Ok(true)
    }

    fn test_sends(&mut self, which: impl Fn(u32) -> bool) {
        let Process {
            adi,
            buffers,
            sends,
            ..
        } = self;
        sends.retain(|&(number, live)| {
            let done = which(number) && adi.test(live.id).is_some();
            if done {
                buffers.give_back(live.span);
            }
            !done
        });
    }

    fn test_receives(&mut self, records: &mut Records, which: impl Fn(u32) -> bool) {
        let Process {
            adi,
            buffers,
            receives,
            ..
        } = self;
        receives.retain(|&(number, live)| {
            let Some(outcome) = which(number).then(|| adi.test(live.id)).flatten() else {
                return true;
            };
            let bytes = buffers.give_back(live.span);
            let got = records.got[number as usize]
                .as_mut()
                .expect("noted when it was posted");
            *got = Got {
                outcome: Some(outcome),
                bytes,
                ..got.clone()
            };
            false
        });
    }
}

/// How fast what goes, drawn anew now and then.
struct Tempo {
    deliver: u32,
    poll: u32,
    step: u32,
    /// Ranks that stand still, and channels.
    asleep: u64,
    paused: u64,
    /// Packets that one poll can take and inject at most.
    burst: usize,
}

impl Tempo {
    fn draw(random: &mut Random) -> Tempo {
        let weight = |random: &mut Random| random.pick(&[1, 1, 3, 10, 40]);
        let mask = |random: &mut Random| match random.below(4) {
            0 => random.bits(),
            1 => random.bits() & random.bits(),
            _ => 0,
        };
        Tempo {
            deliver: weight(random),
            poll: weight(random),
            step: weight(random),
            asleep: mask(random),
            paused: mask(random),
            burst: random.pick(&[1, 1, 2, 4, 64]),
        }
    }
}

/// Choices after which a job is given up, and more for each message and each of its packets.
const LEAST_LIMIT: u64 = 200_000;
const LIMIT_PER_MESSAGE: u64 = 20_000;
const BYTES_PER_STEP: u64 = 4;
/// How many times as many with bad links.
const BAD_LINKS: u64 = 20;

impl Job<'_> {
    /// Runs the job to its end and checks all that it left behind. Only the setup's request slots bound what
    /// the programs can start.
    pub fn run(&self) -> Result<Report, Violation> {
        self.run_in(&Plenty)
    }

    /// As [`Job::run`], with the programs' requests out of `heap`.
    pub fn run_in(&self, heap: &dyn Heap) -> Result<Report, Violation> {
        let Job { program, setup } = self;
        let ranks = u16::try_from(program.ops.len()).expect("at most 256 ranks");
        let shape = Shape::new([ranks, 1, 1], [true; 3]).expect("at most 256 ranks");
        let mut records = Records {
            got: vec![None; program.receives.len()],
            sent: vec![0; program.messages.len()],
        };
        let mut processes: Vec<Process<'_>> = (0..u32::from(ranks))
            .map(|rank| {
                let config = Config {
                    shape,
                    rank,
                    request_slots: setup.request_slots,
                };
                let memory =
                    Memory::allocate(setup.mpi_memory, ranks.into()).expect("the host's memory");
                let mut adi = Adi::new(config, memory).expect("a rank of the machine");
                adi.set_eager_limit(setup.eager);
                Process {
                    rank,
                    program,
                    adi,
                    buffers: Buffers::default(),
                    at: 0,
                    begun: false,
                    computing: 0,
                    sends: Vec::new(),
                    receives: Vec::new(),
                    calls: 0,
                    heap,
                    short: None,
                }
            })
            .collect();
        let bytes: usize = program.messages.iter().map(|m| m.len).sum();
        let limit = LEAST_LIMIT
            + LIMIT_PER_MESSAGE * program.messages.len() as u64
            + bytes as u64 / BYTES_PER_STEP;
        let (steps, short) = if setup.bad_links {
            let mut room = Room::new(ranks.into(), Sizes::BLUE_GENE);
            let mut machine = Machine::new(shape, &mut room, setup.seed);
            let limit = BAD_LINKS * limit;
            schedule(&mut processes, &mut machine, &mut records, setup, limit)?
        } else {
            let mut net = Net::new(shape, setup.capacity, setup.order);
            schedule(&mut processes, &mut net, &mut records, setup, limit)?
        };
        let completed = short.is_none();
        let devices = processes.iter().map(|p| (&p.adi, p.buffers.lent()));
        check::at_rest(devices, setup.mpi_memory, completed)?;
        if let Some((rank, what)) = processes
            .iter()
            .find_map(|p| Some((p.rank, p.buffers.fault()?)))
        {
            return Err(Violation::Buffer { rank, what });
        }
        check::matching(program, &records.got, &records.sent, completed)?;
        let stats = processes.iter().map(|p| *p.adi.stats()).collect();
        Ok(Report {
            short,
            got: records.got,
            sent: records.sent,
            stats,
            steps,
        })
    }
}

fn poll(process: &mut Process<'_>, net: &mut impl Carrier, take: usize, inject: usize) -> bool {
    let Process {
        rank, adi, buffers, ..
    } = process;
    net.poll(*rank as usize, take, inject, adi, buffers)
}

/// Runs until every program has ended and nothing moves any more: the number of choices made, and the call
/// that could not be made when nothing could move without the memory for it.
fn schedule(
    processes: &mut [Process<'_>],
    net: &mut impl Carrier,
    records: &mut Records,
    setup: &Setup,
    limit: u64,
) -> Result<(u64, Option<Short>), Violation> {
    let random = &mut Random::new(setup.seed, Stream::Schedule);
    let mut tempo = Tempo::draw(random);
    let mut steps = 0;
    let mut in_vain = 0;
    loop {
        steps += 1;
        if steps > limit {
            return Err(Violation::Endless { steps });
        }
        if steps % 64 == 0 && random.chance(0.3) {
            tempo = Tempo::draw(random);
        }
        if setup.lends > 0 && random.chance(0.02) {
            let at = random.index(processes.len());
            processes[at].change_heap(random.below(setup.lends + 1));
        }
        let drawn = random.below(tempo.deliver + tempo.poll + tempo.step);
        let moved = if drawn < tempo.deliver {
            net.deliver(random, tempo.paused)
        } else {
            let at = random.index(processes.len());
            if tempo.asleep >> (at % 64) & 1 != 0 {
                false
            } else if drawn < tempo.deliver + tempo.poll {
                let take = random.index(tempo.burst + 1);
                let inject = random.index(tempo.burst + 1);
                poll(&mut processes[at], net, take, inject)
            } else {
                processes[at].step(records)?
            }
        };
        in_vain = if moved { 0 } else { in_vain + 1 };
        if in_vain > 100 {
            in_vain = 0;
            // Everybody has a turn; if nothing moves now, nothing ever will.
            tempo = Tempo::draw(random);
            let mut moved = false;
            for process in processes.iter_mut() {
                moved |= process.step(records)?;
                moved |= poll(process, net, 1, usize::MAX);
            }
            moved |= net.deliver_all();
            if moved {
                continue;
            }
            let short = processes.iter().find_map(|p| {
                let (rank, at) = (p.rank, p.at);
                p.short.map(|what| Short { rank, at, what })
            });
            if short.is_some() {
                if processes[0].heap.extend() {
                    continue;
                }
                return Ok((steps, short));
            }
            return match processes.iter().find(|p| !p.is_finished()) {
                None => Ok((steps, None)),
                Some(stuck) => Err(Violation::Stuck {
                    rank: stuck.rank,
                    at: stuck.at,
                    op: stuck.program.ops[stuck.rank as usize][stuck.at].clone(),
                }),
            };
        }
    }
}
