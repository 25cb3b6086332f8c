//! Lines that lose, change and insert bytes.

use super::*;
use net_torus::reliable::ReliableLink;
use oorandom::Rand32;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::vec::Vec;

/// Errors per byte of a line, in thousandths.
#[derive(Clone, Copy)]
struct LineNoise {
    lost: u32,
    changed: u32,
    invented: u32,
}

const CLEAN: LineNoise = LineNoise {
    lost: 0,
    changed: 0,
    invented: 0,
};

type ByteQueue = Rc<RefCell<VecDeque<u8>>>;

/// One end of a line in memory. It has the capacity of a UART, and corrupts its transmitted bytes.
struct TestLine {
    comes: ByteQueue,
    goes: ByteQueue,
    random: Rand32,
    noise: LineNoise,
    room: usize,
}

impl TestLine {
    fn happens(&mut self, thousandths: u32) -> bool {
        self.random.rand_range(0..1000) < thousandths
    }
}

impl SerialLine for TestLine {
    fn read_byte(&mut self) -> Option<u8> {
        self.comes.borrow_mut().pop_front()
    }

    fn has_frame(&self) -> bool {
        self.comes.borrow().contains(&DELIMITER)
    }

    fn room(&self) -> usize {
        self.room - self.goes.borrow().len().min(self.room)
    }

    fn put(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.room(), "more than there is room for");
        for &byte in bytes {
            while self.happens(self.noise.invented) {
                let invented = self.random.rand_u32() as u8;
                self.goes.borrow_mut().push_back(invented);
            }
            if self.happens(self.noise.lost) {
                continue;
            }
            let turned = if self.happens(self.noise.changed) {
                1 << self.random.rand_range(0..8)
            } else {
                0
            };
            self.goes.borrow_mut().push_back(byte ^ turned);
        }
    }
}

impl RecordedLine for TestLine {
    fn find_end(&self, from: usize) -> Result<usize, usize> {
        let comes = self.comes.borrow();
        let end = (from..comes.len()).find(|at| comes[*at] == DELIMITER);
        end.ok_or(comes.len())
    }
}

type TestLink = SerialLink<TestLine>;

fn pair(noise: LineNoise, seed: u64) -> [TestLink; 2] {
    let bytes: [ByteQueue; 2] = Default::default();
    [0, 1].map(|end| {
        SerialLink::new(TestLine {
            comes: bytes[end].clone(),
            goes: bytes[1 - end].clone(),
            random: Rand32::new(2 * seed + end as u64),
            noise,
            room: 2 * LINE_BYTES,
        })
    })
}

/// Returns a frame of any size, often full of the bytes that are stuffed.
fn frame(random: &mut Rand32) -> Vec<u8> {
    let size = random.rand_range(1..MTU as u32 + 1);
    let zeros = random.rand_range(0..4);
    let byte = |random: &mut Rand32| {
        if random.rand_range(0..4) < zeros {
            0
        } else {
            random.rand_u32() as u8
        }
    };
    let mut frame: Vec<u8> = (0..size).map(|_| byte(random)).collect();
    // Not a hello.
    frame[0] |= 0x80;
    frame
}

fn send(link: &mut TestLink, frame: &[u8]) -> bool {
    link.say(frame)
}

fn received(link: &mut TestLink) -> Option<Vec<u8>> {
    let mut got = None;
    link.receive(|frame| got = Some(frame.to_vec()));
    got
}

#[test]
fn every_frame_comes_out_as_it_went_in() {
    let [mut a, mut b] = pair(CLEAN, 1);
    let mut random = Rand32::new(5);
    for size in (1..=MTU).chain([1, MTU]) {
        for fill in [0, 1, 0xFF] {
            let mut frame = std::vec![fill; size];
            frame[0] = 0x52;
            assert!(send(&mut a, &frame));
            assert_eq!(received(&mut b), Some(frame));
        }
    }
    for _ in 0..3000 {
        let frame = frame(&mut random);
        assert!(send(&mut a, &frame));
        assert_eq!(received(&mut b), Some(frame));
    }
    assert_eq!(b.stats().damaged, 0);
}

#[test]
fn a_full_line_takes_no_frame_and_asks_for_none() {
    let [mut a, mut b] = pair(CLEAN, 1);
    assert!(send(&mut a, &[1; MTU]));
    assert!(send(&mut a, &[2; 20]));
    assert!(!a.transmit(|_| unreachable!("there is no room")));
    assert_eq!(received(&mut b), Some([1; MTU].to_vec()));
    assert!(send(&mut a, &[3; MTU]));
}

/// A frame received before the node slept prevents the sleep, and an idle line keeps no node awake.
#[test]
fn a_frame_that_waits_is_something_to_do() {
    let [mut a, mut b] = pair(CLEAN, 1);
    assert!(b.prepare_sleep());
    assert!(send(&mut a, &[1; 20]));
    assert!(!b.prepare_sleep());
    assert!(received(&mut b).is_some());
    assert!(received(&mut b).is_none());
    assert!(b.prepare_sleep());
}

/// After any garbage: behind one zero, or one frame that is lost with it, reception works again.
#[test]
fn any_garbage_costs_the_frame_that_it_touches() {
    for seed in 0..2000 {
        let [mut a, mut b] = pair(CLEAN, seed);
        let mut random = Rand32::new(seed);
        for _ in 0..random.rand_range(0..700) {
            a.line.goes.borrow_mut().push_back(random.rand_u32() as u8);
        }
        let mut waiting = a.line.goes.borrow().len();
        // None of it is received as a frame, as far as 16 bits can detect.
        while received(&mut b).is_some() {}
        assert!(b.stats().damaged <= waiting as u64);
        waiting = 0;
        let first = frame(&mut random);
        send(&mut a, &first);
        if let Some(got) = received(&mut b) {
            assert_eq!(got, first, "seed {seed}");
        }
        for _ in 0..3 {
            let next = frame(&mut random);
            send(&mut a, &next);
            assert_eq!(received(&mut b), Some(next), "seed {seed}, {waiting}");
        }
    }
}

/// A line with nothing but noise neither ends the node nor fills its memory.
#[test]
fn noise_is_no_frame() {
    let [a, mut b] = pair(CLEAN, 1);
    let mut random = Rand32::new(9);
    let mut taken = 0;
    for _ in 0..200_000 {
        a.line.goes.borrow_mut().push_back(random.rand_u32() as u8);
        taken += u32::from(received(&mut b).is_some());
    }
    // About 780 pieces; each is accepted with a probability of 1 in 65,536.
    assert!(taken <= 1, "{taken}");
    assert!(b.stats().damaged > 500);
}

const NOISES: [LineNoise; 4] = [
    CLEAN,
    LineNoise { lost: 2, ..CLEAN },
    LineNoise { changed: 2, ..CLEAN },
    LineNoise {
        lost: 1,
        changed: 1,
        invented: 1,
    },
];

type CleanLink = ReliableLink<'static, TestLink, 2>;

fn reliable(link: TestLink) -> CleanLink {
    let retry = RetryConfig {
        timeout_ns: 50,
        retries: 100,
    };
    ReliableLink::with_frames(link, retry, std::vec![0; 2 * MTU].leak()).unwrap()
}

/// Performs the handshake of two ends over a bad line; the links are then up at both.
fn greeted(noise: LineNoise, seed: u64) -> [TestLink; 2] {
    let mut ends = pair(noise, seed);
    let mut now = 0;
    loop {
        let mut up = 0;
        for end in &mut ends {
            match end.handshake.next_ns() {
                Some(_) => up += usize::from(end.greet(now).is_none()),
                // Like a node whose other links are up, too.
                None => {
                    up += 1;
                    end.receive(|_| ());
                    end.poll(now);
                }
            }
        }
        if up == 2 {
            return ends;
        }
        now += 1_000_000;
        assert!(now < 1 << 42, "seed {seed}");
    }
}

#[test]
fn both_ends_come_up_whatever_is_lost() {
    for seed in 0..500 {
        for noise in NOISES {
            greeted(noise, seed);
        }
        let bad = LineNoise {
            lost: 20,
            changed: 20,
            invented: 20,
        };
        greeted(bad, seed);
    }
}

/// Ends that are up send nothing more.
#[test]
fn greetings_come_to_an_end() {
    let [mut a, mut b] = greeted(CLEAN, 3);
    for _ in 0..10 {
        for end in [&mut a, &mut b] {
            assert!(!end.receive(|_| unreachable!("no frame was sent")));
            end.poll(0);
        }
    }
    assert!(a.line.goes.borrow().is_empty() && b.line.goes.borrow().is_empty());
}

/// With the reliable layer every frame arrives, once, in order and undamaged.
#[test]
fn nothing_is_lost_over_bad_lines() {
    for (seed, noise) in (0..40).flat_map(|seed| NOISES.map(|noise| (seed, noise))) {
        let mut ends = greeted(noise, seed).map(reliable);
        let mut random = [0, 1].map(|end| Rand32::new(100 + 2 * seed + end));
        let mut expected = [1, 0].map(|end| Rand32::new(100 + 2 * seed + end));
        let fits = ends[0].mtu();
        let (mut sent, mut got) = ([0; 2], [0; 2]);
        let mut now = 0;
        while got != [60; 2] {
            now += 1;
            assert!(now < 2_000_000, "seed {seed}: {got:?}");
            for at in [0, 1] {
                let end = &mut ends[at];
                end.poll(now);
                while end.receive(|bytes| {
                    let mut frame = frame(&mut expected[at]);
                    frame.truncate(fits);
                    assert_eq!(bytes, frame, "seed {seed}");
                    got[at] += 1;
                }) {}
                if sent[at] < 60 {
                    let next = &mut random[at];
                    let taken = end.transmit(|buffer| {
                        let mut frame = frame(next);
                        frame.truncate(fits);
                        buffer[..frame.len()].copy_from_slice(&frame);
                        frame.len()
                    });
                    sent[at] += i32::from(taken);
                }
                end.poll(now);
                assert!(!end.is_dead(), "seed {seed}");
            }
        }
    }
}

#[test]
fn the_window_covers_the_answer() {
    for (baud, frames) in [(115_200, 2), (1_000_000, 2), (2_625_000, 2), (10_500_000, 2)] {
        assert_eq!(window(baud), frames, "{baud}");
        let retry = retry(baud);
        assert!(retry.timeout_ns >= 2 * window(baud) as u64 * line_ns(LINE_BYTES, baud));
        // At least three minutes, but finite.
        let doubled: u64 = (0..=u64::from(retry.retries))
            .map(|n| retry.timeout_ns << n.min(4))
            .sum();
        assert!((60_000_000_000..1_200_000_000_000).contains(&doubled), "{doubled}");
    }
}

#[test]
fn a_ring_keeps_bytes_in_order_and_counts_those_it_has_no_room_for() {
    let ring = ByteRing::<8>::new();
    for round in 0..50u8 {
        for byte in 0..8 {
            assert!(ring.put(byte ^ round));
        }
        assert!(!ring.put(9));
        assert_eq!((ring.room(), ring.waiting()), (0, 8));
        for byte in 0..8 {
            assert_eq!(ring.pop(), Some(byte ^ round));
        }
        assert_eq!(ring.pop(), None);
    }
    assert_eq!(ring.lost(), 50);
}

/// A device that writes the ring's memory circularly, like a DMA controller: it reports its position, not its data.
struct CircularDevice<'a> {
    ring: &'a ByteRing<8>,
    at: usize,
}

impl CircularDevice<'_> {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.ring.bytes[self.at].store(*byte, Ordering::Relaxed);
            self.at = (self.at + 1) % 8;
        }
    }
}

fn all_of(ring: &ByteRing<8>) -> Vec<u8> {
    std::iter::from_fn(|| ring.pop()).collect()
}

#[test]
fn what_a_device_writes_round_and_round_is_taken_in_order() {
    let ring = ByteRing::<8>::new();
    let mut device = CircularDevice { ring: &ring, at: 0 };
    assert!(!ring.put_up_to(0), "nothing has come");
    let mut next = 0..=u8::MAX;
    for count in [3, 7, 1, 5, 7, 2, 0, 6].into_iter().cycle().take(40) {
        let bytes: Vec<u8> = next.by_ref().take(count).collect();
        device.write(&bytes);
        assert_eq!(ring.put_up_to(device.at), !bytes.is_empty());
        assert_eq!(all_of(&ring), bytes);
        // The end of a ring is its beginning: controllers count down and restart.
        assert!(!ring.put_up_to(if device.at == 0 { 8 } else { device.at }));
    }
}

#[test]
fn of_what_is_taken_too_late_as_much_is_left_as_there_is_room_for() {
    let ring = ByteRing::<8>::new();
    let mut device = CircularDevice { ring: &ring, at: 0 };
    for bytes in [&[1, 2, 3, 4, 5][..], &[6, 7, 8, 9, 10], &[11]] {
        device.write(bytes);
        assert!(ring.put_up_to(device.at));
    }
    assert_eq!(all_of(&ring), [4, 5, 6, 7, 8, 9, 10, 11]);
    device.write(&[12]);
    assert!(ring.put_up_to(device.at));
    assert_eq!(all_of(&ring), [12]);
}

#[test]
fn a_ring_of_any_length_goes_on_where_its_counters_begin_again() {
    type OddRing = ByteRing<5>;
    let ring = OddRing::new();
    let start = OddRing::TURN - 7;
    assert_eq!(OddRing::TURN % 5, 0);
    ring.put.store(start, Ordering::Relaxed);
    ring.taken.store(start, Ordering::Relaxed);
    for round in 0..8 {
        for byte in 0..5 {
            assert!(ring.put(byte ^ round));
        }
        assert!(!ring.put(9));
        for byte in 0..3 {
            assert_eq!(ring.pop(), Some(byte ^ round));
        }
        let (_, count) = ring.row();
        ring.took(count);
        assert_eq!(ring.waiting(), 2 - count);
        ring.took(2 - count);
        assert_eq!((ring.room(), ring.pop()), (5, None));
    }
    for byte in [1, 2, 0, 3, 0] {
        assert!(ring.put(byte));
    }
    let zeros = [ring.find_zero(0), ring.find_zero(3), ring.find_zero(5)];
    assert_eq!(zeros, [Ok(2), Ok(4), Err(5)]);
    ring.took(5);
    assert_eq!((ring.find_zero(0), ring.find_zero(3)), (Err(0), Err(0)));
    // Of the bytes that a device has written without a reader, the last remain.
    ring.put.store(OddRing::TURN - 2, Ordering::Relaxed);
    ring.taken.store(OddRing::TURN - 2, Ordering::Relaxed);
    let mut at = (OddRing::TURN - 2) % 5;
    for byte in 0..8 {
        ring.bytes[at].store(byte, Ordering::Relaxed);
        at = (at + 1) % 5;
        assert!(ring.put_up_to(at));
    }
    ring.bytes[(at + 1) % 5].store(0, Ordering::Relaxed);
    assert_eq!(ring.find_zero(0), Ok(1));
    let left: Vec<u8> = std::iter::from_fn(|| ring.pop()).collect();
    assert_eq!(left, [3, 0, 5, 6, 7]);
}

#[test]
fn what_a_device_is_to_take_stands_side_by_side() {
    let ring = ByteRing::<8>::new();
    let place = |at: *const u8| at.addr() - ring.address().addr();
    let row = || {
        let (at, count) = ring.row();
        (place(at), count)
    };
    assert_eq!(row(), (0, 0));
    for byte in 0..6 {
        assert!(ring.put(byte));
    }
    assert_eq!(row(), (0, 6));
    ring.took(6);
    for byte in 6..11 {
        assert!(ring.put(byte));
    }
    // Up to the ring's end, and then from its beginning.
    assert_eq!((row(), ring.room()), ((6, 2), 3));
    ring.took(2);
    assert_eq!(row(), (0, 3));
    ring.took(3);
    assert_eq!((row(), ring.room()), ((3, 0), 8));
}
