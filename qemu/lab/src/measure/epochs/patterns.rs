//! The inefficiency patterns: two or three processes, one of which is late.

use midplane_device::rma::epochs::{WindowSequence, WindowEvent};

use super::{Calls, Process, run};
use crate::Failure;
use crate::measure::timed::Costs;

/// The inefficiency patterns: six of Kuehnal et al., and two of the thesis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// A target posts late; measures the start of the origin's next activity.
    LatePost,
    /// A target posts late; measures the end of the origin's operation.
    EarlyTransfer,
    /// A target waits before the end of the transfer, and has a computation; measures the end of both.
    EarlyWait,
    /// An origin completes late; measures the target's epoch.
    LateComplete,
    /// A fence is called before the end of the transfer, and the origin has a computation; measures the end of both.
    EarlyFence,
    /// One process calls a fence late; measures the other's epoch.
    WaitAtFence,
    /// A lock is held longer than it is used; measures the epoch of the process that waits for it.
    LateUnlock,
    /// The first of two targets posts late; measures the epoch of the second, with reordered access epochs.
    LateTarget,
}

impl Pattern {
    /// All patterns.
    pub const ALL: [Pattern; 8] = [
        Pattern::LatePost,
        Pattern::EarlyTransfer,
        Pattern::EarlyWait,
        Pattern::LateComplete,
        Pattern::EarlyFence,
        Pattern::WaitAtFence,
        Pattern::LateUnlock,
        Pattern::LateTarget,
    ];

    fn measured(self) -> usize {
        match self {
            Pattern::LatePost | Pattern::EarlyTransfer | Pattern::EarlyFence => 0,
            Pattern::EarlyWait
            | Pattern::LateComplete
            | Pattern::WaitAtFence
            | Pattern::LateUnlock => 1,
            Pattern::LateTarget => 2,
        }
    }
}

/// Returns the time of a pattern in nanoseconds; one process is late by `late`.
pub fn pattern(
    pattern: Pattern,
    calls: Calls,
    (bytes, late): (usize, u64),
    costs: Costs,
) -> Result<u64, Failure> {
    let play = Play { bytes, late };
    let program = |process: &Process<'_, '_, '_>| match pattern {
        Pattern::LatePost | Pattern::EarlyTransfer => play.late_post(process, pattern),
        Pattern::EarlyWait | Pattern::LateComplete => play.late_complete(process, pattern),
        Pattern::EarlyFence | Pattern::WaitAtFence => play.late_fence(process, pattern),
        Pattern::LateUnlock => play.late_unlock(process),
        Pattern::LateTarget => play.late_target(process),
    };
    let measured = run([3, 1, 1], calls, costs, program)?;
    Ok(measured[pattern.measured()])
}

/// Process 0 is the origin, process 1 the target; process 2 exists where a third is required.
struct Play {
    bytes: usize,
    late: u64,
}

impl Play {
    fn late_post(&self, process: &Process<'_, '_, '_>, pattern: Pattern) -> u64 {
        match process.node.rank() {
            0 => {
                let epoch = process.start(1);
                process.put(epoch, 1, self.bytes);
                let transferred = process.elapsed();
                process.close(epoch);
                let next = process.elapsed();
                process.wait(WindowEvent::Closed(epoch));
                match pattern {
                    Pattern::EarlyTransfer => transferred,
                    _ => next,
                }
            }
            1 => {
                process.compute(self.late);
                let epoch = process.post(0);
                process.close(epoch);
                process.wait(WindowEvent::Closed(epoch));
                0
            }
            _ => 0,
        }
    }

    /// Computes and closes the epoch, in this order if `is_late`; otherwise closes it, computes and waits.
    fn compute_and_close(&self, process: &Process<'_, '_, '_>, epoch: WindowSequence, is_late: bool) {
        if is_late {
            process.compute(self.late);
            process.close(epoch);
        } else {
            process.close(epoch);
            process.compute(self.late);
            process.wait(WindowEvent::Closed(epoch));
        }
    }

    /// The origin computes after its transfer, the target after its epoch, for the same time. Nonblocking calls close
    /// the epoch first.
    fn late_complete(&self, process: &Process<'_, '_, '_>, pattern: Pattern) -> u64 {
        match process.node.rank() {
            0 => {
                let epoch = process.start(1);
                process.put(epoch, 1, self.bytes);
                let is_late = pattern == Pattern::LateComplete && process.blocks();
                self.compute_and_close(process, epoch, is_late);
                0
            }
            1 => {
                let epoch = process.post(0);
                process.close(epoch);
                if pattern == Pattern::EarlyWait {
                    process.compute(self.late);
                }
                process.wait(WindowEvent::Closed(epoch));
                process.elapsed()
            }
            _ => 0,
        }
    }

    /// The origin computes after the fence, or before it, which is late then. Nonblocking calls issue the fence first.
    fn late_fence(&self, process: &Process<'_, '_, '_>, pattern: Pattern) -> u64 {
        let first = process.fence(None);
        let is_origin = process.node.rank() == 0;
        if is_origin {
            process.put(first, 1, self.bytes);
        }
        let is_late = is_origin && pattern == Pattern::WaitAtFence && process.blocks();
        if is_late {
            process.compute(self.late);
        }
        let last = process.fence(Some(first));
        if is_origin && !is_late {
            process.compute(self.late);
        }
        process.wait(WindowEvent::Opened(last));
        process.elapsed()
    }

    /// Process 2 is the target; process 1 starts a little later than process 0.
    fn late_unlock(&self, process: &Process<'_, '_, '_>) -> u64 {
        match process.node.rank() {
            0 => {
                let epoch = process.lock(2);
                process.put(epoch, 2, self.bytes);
                self.compute_and_close(process, epoch, process.blocks());
                0
            }
            1 => {
                process.compute(self.late / 50);
                let began = process.elapsed();
                let epoch = process.lock(2);
                process.put(epoch, 2, self.bytes);
                process.close(epoch);
                process.wait(WindowEvent::Closed(epoch));
                process.elapsed() - began
            }
            _ => 0,
        }
    }

    fn late_target(&self, process: &Process<'_, '_, '_>) -> u64 {
        let rank = process.node.rank();
        if rank == 0 {
            let access = |target| {
                let epoch = process.start(target);
                process.put(epoch, target, self.bytes);
                process.close(epoch);
                epoch
            };
            for epoch in [1, 2].map(access) {
                process.wait(WindowEvent::Closed(epoch));
            }
            return 0;
        }
        if rank == 1 {
            process.compute(self.late);
        }
        let epoch = process.post(0);
        process.close(epoch);
        process.wait(WindowEvent::Closed(epoch));
        process.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: u64 = 1_000_000;
    const COSTS: Costs = Costs::BLUE_GENE;
    /// A call, and the packets that one transmits immediately.
    const CALL: u64 = COSTS.call_ns + 2 * COSTS.packet_ns;

    fn with(what: Pattern, calls: Calls, bytes: usize) -> u64 {
        pattern(what, calls, (bytes, LATE), COSTS).expect("a run")
    }

    fn of(what: Pattern, calls: Calls) -> u64 {
        with(what, calls, 8)
    }

    #[test]
    fn behind_a_late_post_the_next_activity_begins_at_the_cost_of_the_calls() {
        // Start, put and complete; for an early transfer, without complete.
        for (what, calls) in [(Pattern::LatePost, 3), (Pattern::EarlyTransfer, 2)] {
            let (waits, goes_on) = (of(what, Calls::Blocking), of(what, Calls::Nonblocking));
            assert!(waits > LATE, "{what:?}: {waits}");
            assert!(goes_on <= calls * CALL, "{what:?}: {goes_on}");
        }
    }

    #[test]
    fn none_of_the_time_that_a_process_is_late_reaches_its_peer() {
        for (what, most) in [
            (Pattern::LateComplete, 6 * CALL),
            (Pattern::WaitAtFence, 12 * CALL),
            (Pattern::LateUnlock, 9 * CALL),
        ] {
            let (waits, goes_on) = (of(what, Calls::Blocking), of(what, Calls::Nonblocking));
            assert!(waits > LATE * 9 / 10, "{what:?}: {waits}");
            assert!(goes_on < most, "{what:?}: {goes_on}");
        }
    }

    #[test]
    fn a_late_target_holds_up_another_unless_access_may_pass_access() {
        let what = Pattern::LateTarget;
        assert!(of(what, Calls::Nonblocking) > LATE);
        assert!(of(what, Calls::Reordered) < 9 * CALL);
    }

    /// The processor handles each packet and its interrupts; the rest is hidden.
    #[test]
    fn transfers_are_hidden_behind_what_is_computed() {
        const BYTES: usize = 64 << 10;
        for what in [Pattern::EarlyWait, Pattern::EarlyFence] {
            let of = |calls| with(what, calls, BYTES);
            let (waits, goes_on) = (of(Calls::Blocking), of(Calls::Nonblocking));
            let wire = (BYTES as f64 * COSTS.link_ns_per_byte) as u64;
            assert!(waits > LATE + wire, "{what:?}: {waits}");
            assert!(goes_on < waits - wire / 8, "{what:?}: {goes_on}, {waits}");
        }
    }
}
