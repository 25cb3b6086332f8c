//! Random legal programs over the real device, for every amount of MPI memory and of request memory, from none to
//! plenty.
//!
//! A failure reports its seed; `cargo midplane soak --seed SEED --jobs 1` replays it and prints the job.
#![forbid(unsafe_code)]

use midplane_device::request::CHUNK_SLOTS;
use midplane_lab::sim::{POLLING, RankOp, SeededJob, SimJob};

/// Jobs of a bounded run; `cargo midplane soak` runs more.
const JOBS: u64 = 4000;

#[test]
fn random_jobs_complete_as_mpi_says() {
    let failures: Vec<String> = (0..JOBS)
        .filter_map(|seed| Some((seed, SeededJob::draw(seed).run().err()?)))
        .map(|(seed, failure)| format!("seed {seed}: {failure}"))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Polled receives (posted, cancelled and posted again) receive their messages with any amount of memory.
#[test]
fn random_jobs_that_poll_complete() {
    let polls = |seed: u64| POLLING | seed;
    let failures: Vec<String> = (0..JOBS / 4)
        .filter_map(|seed| Some((seed, SeededJob::draw(polls(seed)).run().err()?)))
        .map(|(seed, failure)| format!("seed {}: {failure}", polls(seed)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let is_poll = |op: &RankOp| matches!(op, RankOp::PollReceive(..));
    let drawn = (0..JOBS / 4).map(|seed| SeededJob::draw(polls(seed)).program.ops);
    let polled = drawn.filter(|ops| ops.iter().flatten().any(is_poll));
    assert!(polled.count() > JOBS as usize / 8);
}

/// Regression: several processes with locks of all windows each held a lock and waited for another behind an exclusive
/// one.
#[test]
fn locks_of_all_do_not_wait_for_each_other() {
    let failure = SeededJob::draw(200_957_841).run().err();
    assert_eq!(failure.map(|failure| failure.to_string()), None);
}

/// Regression: a progress step that only granted a process its own lock, and completed the operations waiting for it,
/// must report progress; in these jobs the program then slept forever.
#[test]
fn no_program_sleeps_while_its_own_lock_has_come_free() {
    for seed in [15_069, 200_277_255, 200_521_977, 200_799_078] {
        let failure = SeededJob::draw(seed).run().err();
        assert_eq!(failure.map(|failure| failure.to_string()), None, "{seed}");
    }
}

/// Jobs contain collectives that interrupts advance.
#[test]
fn collectives_go_on_while_programs_compute() {
    let reports = (0..JOBS / 4).map(|seed| SeededJob::draw(seed).run().expect("a job without a failure"));
    let gone_on: Vec<u64> = reports.map(|report| report.meanwhile).collect();
    let jobs = gone_on.iter().filter(|count| **count > 0).count();
    assert!(
        jobs > 50 && gone_on.iter().sum::<u64>() > 500,
        "in {jobs} jobs: {}",
        gone_on.iter().sum::<u64>()
    );
}

/// Overlapping collectives of one communicator receive each other's messages without sequence numbers, and the jobs
/// detect it.
#[test]
fn collectives_that_are_not_told_apart_are_found() {
    let (mut found, mut across) = (0, 0);
    for seed in 0..JOBS / 4 {
        let mut job = SeededJob::draw(seed);
        job.setup.numbers_alike = true;
        found += usize::from(job.run().is_err());
        let groups = job.program.collectives.iter().map(|c| &c.group);
        across += groups.filter(|group| group.first.is_some()).count();
    }
    assert!(
        found > 10 && across > 100,
        "{found} jobs failed, {across} collectives of two groups"
    );
}

#[test]
fn a_job_is_the_same_each_time_it_is_drawn_from_its_seed() {
    for seed in 0..50 {
        let jobs = [SeededJob::draw(seed), SeededJob::draw(seed)];
        assert_eq!(jobs[0], jobs[1]);
        let [one, other] = jobs.map(|job| job.run().expect("a job without a failure"));
        assert_eq!((one.steps, one.stats), (other.steps, other.stats));
        assert_eq!(one.got, other.got);
    }
}

/// For each number of request slots, from zero on: a job completes, or it stops with everything that was started in a
/// valid state and an error that names the missing resource.
#[test]
fn with_every_number_of_request_slots_a_job_completes_or_says_what_ran_out() {
    let (mut short, mut complete) = (0, 0);
    for seed in 0..300 {
        let SeededJob { program, mut setup } = SeededJob::draw(seed);
        for slots in (0..).step_by(CHUNK_SLOTS) {
            setup.request_slots = slots;
            let job = SimJob {
                program: &program,
                setup: setup.clone(),
            };
            let report = job
                .run()
                .unwrap_or_else(|violation| panic!("seed {seed}, {slots} slots: {violation}"));
            if report.short.is_none() {
                complete += 1;
                break;
            }
            short += 1;
        }
    }
    assert!(
        short > 300 && complete == 300,
        "{short} jobs ran short, {complete} completed"
    );
}
