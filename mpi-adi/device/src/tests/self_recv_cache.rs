//! Cached self-receive: the program observes the same behaviour with and without it.

use net_torus::Shape;
use oorandom::Rand32;

use super::fixture::DeviceFixture;
use crate::envelope::{Context, MatchPattern, Rank};
use crate::fast_path::FastSend;
use crate::matching::IndexedEngine;
use crate::memory::Span;
use crate::request::{PlainCompletion, RequestId, RequestOutcome, SendMode};
use crate::send::{COPY_BYTES, SendTo};

const HERE: Rank = Rank::new(0);
const TAG: i32 = 7;

fn own(tag: i32) -> MatchPattern {
    MatchPattern::new(Some(HERE), Some(tag), 0)
}

fn to(tag: i32, context: Context) -> SendTo {
    SendTo {
        dest: HERE,
        tag,
        context,
        mode: SendMode::Standard,
    }
}

/// A device that is alone in its job, with or without cached self-receives.
struct LoneProcess {
    rig: DeviceFixture,
    keeps: bool,
}

impl LoneProcess {
    fn new(keeps: bool) -> LoneProcess {
        // An engine that counts cached receives, too.
        let kind = IndexedEngine::KIND;
        let shape = Shape::new([1; 3], [true; 3]).unwrap();
        let rig = DeviceFixture::with_engine(&kind, shape, 64);
        LoneProcess { rig, keeps }
    }

    fn span(&mut self, byte: u8, len: usize) -> Span {
        self.rig.span(vec![byte; len])
    }

    fn receive(&mut self, pattern: MatchPattern, len: usize) -> (RequestId, usize) {
        let span = self.span(0, len);
        let (adi, memory) = (&mut self.rig.adis[0], &mut self.rig.buffers);
        let kept = if self.keeps {
            adi.cache_self_recv(&pattern, span)
        } else {
            None
        };
        let id = kept.unwrap_or_else(|| {
            adi.evict_cached_recv();
            adi.irecv(memory, pattern, span).expect("room")
        });
        (id, span.address())
    }

    fn send(&mut self, to: &SendTo, byte: u8, len: usize) -> FastSend {
        let span = self.span(byte, len);
        let (adi, memory) = (&mut self.rig.adis[0], &mut self.rig.buffers);
        if self.keeps && adi.deliver_to_cached(memory, to, span) {
            return FastSend::Complete;
        }
        adi.evict_cached_recv();
        adi.send_fast(memory, to, span)
    }

    fn conclude(&mut self, id: RequestId) -> Option<PlainCompletion> {
        let adi = &mut self.rig.adis[0];
        if self.keeps
            && let Some(whole) = adi.take_completed_cached(id)
        {
            return Some(whole);
        }
        adi.evict_cached_recv();
        adi.take_plain_completed(id)
    }

    /// Tests as calls on the slow path do.
    fn test(&mut self, id: RequestId) -> Option<RequestOutcome> {
        let adi = &mut self.rig.adis[0];
        adi.evict_cached_recv();
        adi.test(id)
    }

    fn cancel(&mut self, id: RequestId) -> bool {
        let adi = &mut self.rig.adis[0];
        adi.evict_cached_recv();
        adi.cancel(id)
    }

    fn probe(&mut self, pattern: MatchPattern) -> Option<u32> {
        let adi = &mut self.rig.adis[0];
        adi.evict_cached_recv();
        adi.iprobe(pattern).expect("room").map(|found| found.length)
    }

    /// Returns all counters.
    fn counts(&self) -> impl PartialEq + core::fmt::Debug + use<> {
        let adi = &self.rig.adis[0];
        let live = (adi.requests.live(), adi.requests.peak());
        (*adi.stats(), adi.matching(), live)
    }
}

#[test]
fn a_message_to_a_receive_at_hand_takes_no_request() {
    let mut process = LoneProcess::new(true);
    let mut names = Vec::new();
    for len in [8, COPY_BYTES, 1] {
        let (id, key) = process.receive(own(TAG), len);
        assert_eq!(process.rig.adis[0].requests.live(), 0);
        assert_eq!(process.conclude_only(id), None, "nothing has come");
        assert_eq!(process.send(&to(TAG, 0), 5, len), FastSend::Complete);
        assert_eq!(process.rig.adis[0].requests.live(), 0);
        let whole = process.conclude_only(id);
        assert_eq!(whole.map(|whole| (whole.peer, whole.tag)), Some((HERE, TAG)));
        assert_eq!(process.rig.buffers.0[key], vec![5; len]);
        assert_eq!(process.conclude(id), None, "the name is no more");
        names.push(id);
    }
    assert!(names[0] != names[1] && names[1] != names[2]);
    assert_eq!(process.rig.adis[0].stats.messages_received, 3);
}

impl LoneProcess {
    /// Completes only the cached receive.
    fn conclude_only(&mut self, id: RequestId) -> Option<PlainCompletion> {
        self.rig.adis[0].take_completed_cached(id)
    }
}

#[test]
fn what_the_receive_at_hand_is_not_for_goes_the_whole_way() {
    for (to, len) in [(to(TAG + 1, 0), 8), (to(TAG, 2), 8), (to(TAG, 0), COPY_BYTES + 1)] {
        let mut process = LoneProcess::new(true);
        let (_, key) = process.receive(own(TAG), len);
        let sent = process.send(&to, 5, len);
        assert!(matches!(sent, FastSend::Started(_)), "{to:?}: {sent:?}");
        assert_eq!(process.rig.adis[0].matching().peak_posted, 1);
        assert!(process.rig.buffers.0[key].contains(&0) || len > COPY_BYTES);
    }
}

#[test]
fn nothing_is_at_hand_beside_what_is_posted_recorded_or_probed_for() {
    let any = MatchPattern::new(None, Some(TAG), 0);
    let arrange: [fn(&mut LoneProcess, MatchPattern); 3] = [
        |process, any| _ = process.receive(any, 8),
        |process, _| _ = process.send(&to(TAG, 0), 3, 8),
        |process, _| _ = process.probe(own(TAG + 1)),
    ];
    for (case, arrange) in arrange.into_iter().enumerate() {
        let mut process = LoneProcess::new(true);
        arrange(&mut process, any);
        let span = process.span(0, 8);
        let kept = process.rig.adis[0].cache_self_recv(&own(TAG), span);
        assert_eq!(kept, None, "case {case}");
    }
    for pattern in [any, MatchPattern::new(Some(HERE), None, 0)] {
        let mut process = LoneProcess::new(true);
        let span = process.span(0, 8);
        assert_eq!(process.rig.adis[0].cache_self_recv(&pattern, span), None);
    }
}

/// Random calls return the same results with and without cached receives, including request IDs and all counters.
#[test]
fn a_process_is_the_same_with_receives_at_hand() {
    let mut handed = 0;
    for seed in 0..3000 {
        let mut random = Rand32::new(seed);
        let mut both = [LoneProcess::new(true), LoneProcess::new(false)];
        let mut requests: Vec<(RequestId, usize)> = Vec::new();
        for step in 0..12 {
            let tag = TAG + random.rand_range(0..2) as i32;
            let len = [0, 1, 8, 40][random.rand_range(0..4) as usize];
            let at = random.rand_range(0..1 + requests.len() as u32) as usize;
            let what = random.rand_range(0..16);
            let pattern = match random.rand_range(0..8) {
                0 => MatchPattern::new(None, Some(tag), 0),
                1 => MatchPattern::new(Some(HERE), None, 0),
                _ => own(tag),
            };
            let note = format!("seed {seed}, step {step}");
            match (what, requests.get(at).copied()) {
                (0..5, _) => {
                    let ids = both.each_mut().map(|process| process.receive(pattern, len));
                    assert_eq!(ids[0], ids[1], "{note}");
                    handed += u32::from(both[0].rig.adis[0].requests.live() == 0);
                    requests.push(ids[0]);
                }
                (5..10, _) => {
                    let sent = both
                        .each_mut()
                        .map(|process| process.send(&to(tag, 0), step as u8, len));
                    assert_eq!(sent[0], sent[1], "{note}");
                    if let FastSend::Started(id) = sent[0] {
                        requests.push((id, usize::MAX));
                    }
                }
                (10..14, Some((id, key))) => {
                    let ended = both.each_mut().map(|process| match what {
                        10..13 => (process.conclude(id), None),
                        _ => (None, process.test(id)),
                    });
                    assert_eq!(ended[0], ended[1], "{note}");
                    if ended[0] != (None, None) {
                        requests.remove(at);
                        let bytes = both.each_ref().map(|p| p.rig.buffers.0.get(key).cloned());
                        assert_eq!(bytes[0], bytes[1], "{note}");
                    }
                }
                (14, Some((id, key))) if key != usize::MAX => {
                    let is_cancelled = both.each_mut().map(|process| process.cancel(id));
                    assert_eq!(is_cancelled[0], is_cancelled[1], "{note}");
                }
                _ => {
                    let found = both.each_mut().map(|process| process.probe(pattern));
                    assert_eq!(found[0], found[1], "{note}");
                }
            }
        }
        let counts = both.each_mut().map(|process| {
            process.rig.adis[0].evict_cached_recv();
            process.counts()
        });
        assert_eq!(counts[0], counts[1], "seed {seed}");
    }
    assert!(handed > 500, "{handed} receives were at hand");
}
