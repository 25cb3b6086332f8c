//! The inefficiency patterns: two or three processes, one of which is late.

use midplane_device::rma::epochs::{WindowEvent, WindowSequence};

use super::{CallKind, MeasuredProcess, run};
use crate::JobFailure;
use crate::measure::timed::OperationCosts;

/// The inefficiency patterns: six of Kuehnal et al., and two of the thesis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InefficiencyPattern {
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

impl InefficiencyPattern {
    /// All patterns.
    pub const ALL: [InefficiencyPattern; 8] = [
        InefficiencyPattern::LatePost,
        InefficiencyPattern::EarlyTransfer,
        InefficiencyPattern::EarlyWait,
        InefficiencyPattern::LateComplete,
        InefficiencyPattern::EarlyFence,
        InefficiencyPattern::WaitAtFence,
        InefficiencyPattern::LateUnlock,
        InefficiencyPattern::LateTarget,
    ];

    fn measured(self) -> usize {
        match self {
            InefficiencyPattern::LatePost | InefficiencyPattern::EarlyTransfer | InefficiencyPattern::EarlyFence => 0,
            InefficiencyPattern::EarlyWait
            | InefficiencyPattern::LateComplete
            | InefficiencyPattern::WaitAtFence
            | InefficiencyPattern::LateUnlock => 1,
            InefficiencyPattern::LateTarget => 2,
        }
    }
}

/// Returns the time of a pattern in nanoseconds; one process is late by `late`.
pub fn pattern(
    pattern: InefficiencyPattern,
    calls: CallKind,
    bytes: usize,
    late: u64,
    costs: OperationCosts,
) -> Result<u64, JobFailure> {
    let play = PatternRun { bytes, late };
    let program = |process: &MeasuredProcess<'_, '_, '_>| match pattern {
        InefficiencyPattern::LatePost | InefficiencyPattern::EarlyTransfer => play.late_post(process, pattern),
        InefficiencyPattern::EarlyWait | InefficiencyPattern::LateComplete => play.late_complete(process, pattern),
        InefficiencyPattern::EarlyFence | InefficiencyPattern::WaitAtFence => play.late_fence(process, pattern),
        InefficiencyPattern::LateUnlock => play.late_unlock(process),
        InefficiencyPattern::LateTarget => play.late_target(process),
    };
    let measured = run([3, 1, 1], calls, costs, program)?;
    Ok(measured[pattern.measured()])
}

/// Process 0 is the origin, process 1 the target; process 2 exists where a third is required.
struct PatternRun {
    bytes: usize,
    late: u64,
}

impl PatternRun {
    fn late_post(&self, process: &MeasuredProcess<'_, '_, '_>, pattern: InefficiencyPattern) -> u64 {
        match process.node.rank() {
            0 => {
                let epoch = process.start(1);
                process.put(epoch, 1, self.bytes);
                let transferred = process.elapsed();
                process.close(epoch);
                let next = process.elapsed();
                process.wait(WindowEvent::Closed(epoch));
                match pattern {
                    InefficiencyPattern::EarlyTransfer => transferred,
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
    fn compute_and_close(&self, process: &MeasuredProcess<'_, '_, '_>, epoch: WindowSequence, is_late: bool) {
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
    fn late_complete(&self, process: &MeasuredProcess<'_, '_, '_>, pattern: InefficiencyPattern) -> u64 {
        match process.node.rank() {
            0 => {
                let epoch = process.start(1);
                process.put(epoch, 1, self.bytes);
                let is_late = pattern == InefficiencyPattern::LateComplete && process.blocks();
                self.compute_and_close(process, epoch, is_late);
                0
            }
            1 => {
                let epoch = process.post(0);
                process.close(epoch);
                if pattern == InefficiencyPattern::EarlyWait {
                    process.compute(self.late);
                }
                process.wait(WindowEvent::Closed(epoch));
                process.elapsed()
            }
            _ => 0,
        }
    }

    /// The origin computes after the fence, or before it, which is late then. Nonblocking calls issue the fence first.
    fn late_fence(&self, process: &MeasuredProcess<'_, '_, '_>, pattern: InefficiencyPattern) -> u64 {
        let first = process.fence(None);
        let is_origin = process.node.rank() == 0;
        if is_origin {
            process.put(first, 1, self.bytes);
        }
        let is_late = is_origin && pattern == InefficiencyPattern::WaitAtFence && process.blocks();
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
    fn late_unlock(&self, process: &MeasuredProcess<'_, '_, '_>) -> u64 {
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

    fn late_target(&self, process: &MeasuredProcess<'_, '_, '_>) -> u64 {
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
    const COSTS: OperationCosts = OperationCosts::BLUE_GENE;
    /// A call, and the packets that one transmits immediately.
    const CALL: u64 = COSTS.call_ns + 2 * COSTS.packet_ns;

    fn with(what: InefficiencyPattern, calls: CallKind, bytes: usize) -> u64 {
        pattern(what, calls, bytes, LATE, COSTS).expect("a run")
    }

    fn run_pattern(what: InefficiencyPattern, calls: CallKind) -> u64 {
        with(what, calls, 8)
    }

    #[test]
    fn behind_a_late_post_the_next_activity_begins_at_the_cost_of_the_calls() {
        // Start, put and complete; for an early transfer, without complete.
        for (what, calls) in [
            (InefficiencyPattern::LatePost, 3),
            (InefficiencyPattern::EarlyTransfer, 2),
        ] {
            let (waits, goes_on) = (
                run_pattern(what, CallKind::Blocking),
                run_pattern(what, CallKind::Nonblocking),
            );
            assert!(waits > LATE, "{what:?}: {waits}");
            assert!(goes_on <= calls * CALL, "{what:?}: {goes_on}");
        }
    }

    #[test]
    fn none_of_the_time_that_a_process_is_late_reaches_its_peer() {
        for (what, most) in [
            (InefficiencyPattern::LateComplete, 6 * CALL),
            (InefficiencyPattern::WaitAtFence, 12 * CALL),
            (InefficiencyPattern::LateUnlock, 9 * CALL),
        ] {
            let (waits, goes_on) = (
                run_pattern(what, CallKind::Blocking),
                run_pattern(what, CallKind::Nonblocking),
            );
            assert!(waits > LATE * 9 / 10, "{what:?}: {waits}");
            assert!(goes_on < most, "{what:?}: {goes_on}");
        }
    }

    #[test]
    fn a_late_target_holds_up_another_unless_access_may_pass_access() {
        let what = InefficiencyPattern::LateTarget;
        assert!(run_pattern(what, CallKind::Nonblocking) > LATE);
        assert!(run_pattern(what, CallKind::Reordered) < 9 * CALL);
    }

    /// The processor handles each packet and its interrupts; the rest is hidden.
    #[test]
    fn transfers_are_hidden_behind_what_is_computed() {
        const BYTES: usize = 64 << 10;
        for what in [InefficiencyPattern::EarlyWait, InefficiencyPattern::EarlyFence] {
            let run = |calls| with(what, calls, BYTES);
            let (waits, goes_on) = (run(CallKind::Blocking), run(CallKind::Nonblocking));
            let wire = (BYTES as f64 * COSTS.link_ns_per_byte) as u64;
            assert!(waits > LATE + wire, "{what:?}: {waits}");
            assert!(goes_on < waits - wire / 8, "{what:?}: {goes_on}, {waits}");
        }
    }
}
