//! Random legal programs over the real device, for every amount of MPI memory from none to plenty, and for
//! every amount of memory for requests.
//!
//! A failure names its seed; `cargo midplane soak --seed SEED --jobs 1` replays it and tells what the job
//! was.
#![forbid(unsafe_code)]

use midplane_device::request::CHUNK_SLOTS;
use midplane_lab::sim::{Job, Op, POLLING, Seeded};

/// Jobs in a bounded run; `cargo midplane soak` goes on.
const JOBS: u64 = 4000;

#[test]
fn random_jobs_complete_as_mpi_says() {
    let failures: Vec<String> = (0..JOBS)
        .filter_map(|seed| Some((seed, Seeded::draw(seed).run().err()?)))
        .map(|(seed, failure)| format!("seed {seed}: {failure}"))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Receives that are polled (posted, cancelled, and posted again) get their messages, whatever the memory.
#[test]
fn random_jobs_that_poll_complete() {
    let polls = |seed: u64| POLLING | seed;
    let failures: Vec<String> = (0..JOBS / 4)
        .filter_map(|seed| Some((seed, Seeded::draw(polls(seed)).run().err()?)))
        .map(|(seed, failure)| format!("seed {}: {failure}", polls(seed)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let is_poll = |op: &Op| matches!(op, Op::PollReceive(..));
    let drawn = (0..JOBS / 4).map(|seed| Seeded::draw(polls(seed)).program.ops);
    let polled = drawn.filter(|ops| ops.iter().flatten().any(is_poll));
    assert!(polled.count() > JOBS as usize / 8);
}

/// Of processes under locks of all, each had the lock of one and waited for that of another behind an exclusive one.
#[test]
fn locks_of_all_do_not_wait_for_each_other() {
    let failure = Seeded::draw(200_957_841).run().err();
    assert_eq!(failure.map(|failure| failure.to_string()), None);
}

/// A step of progress says that it has moved where all it did was to give a process its own lock, and what waited for
/// that: in these jobs the program slept after it for ever.
#[test]
fn no_program_sleeps_while_its_own_lock_has_come_free() {
    for seed in [15_069, 200_277_255, 200_521_977, 200_799_078] {
        let failure = Seeded::draw(seed).run().err();
        assert_eq!(failure.map(|failure| failure.to_string()), None, "{seed}");
    }
}

/// Jobs have collectives that interrupts let go on.
#[test]
fn collectives_go_on_while_programs_compute() {
    let reports =
        (0..JOBS / 4).map(|seed| Seeded::draw(seed).run().expect("a job without a failure"));
    let gone_on: Vec<u64> = reports.map(|report| report.meanwhile).collect();
    let jobs = gone_on.iter().filter(|count| **count > 0).count();
    assert!(
        jobs > 50 && gone_on.iter().sum::<u64>() > 500,
        "in {jobs} jobs: {}",
        gone_on.iter().sum::<u64>()
    );
}

/// Collectives of one communicator that overlap get each other's messages when they have no numbers: jobs find it.
#[test]
fn collectives_that_are_not_told_apart_are_found() {
    let (mut found, mut across) = (0, 0);
    for seed in 0..JOBS / 4 {
        let mut job = Seeded::draw(seed);
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
        let jobs = [Seeded::draw(seed), Seeded::draw(seed)];
        assert_eq!(jobs[0], jobs[1]);
        let [one, other] = jobs.map(|job| job.run().expect("a job without a failure"));
        assert_eq!((one.steps, one.stats), (other.steps, other.stats));
        assert_eq!(one.got, other.got);
    }
}

/// Each amount of requests in turn, from none at all: a job completes, or it comes to rest with everything
/// that was begun in good order and an error that says what ran out.
#[test]
fn with_every_number_of_request_slots_a_job_completes_or_says_what_ran_out() {
    let (mut short, mut complete) = (0, 0);
    for seed in 0..300 {
        let Seeded { program, mut setup } = Seeded::draw(seed);
        for slots in (0..).step_by(CHUNK_SLOTS) {
            setup.request_slots = slots;
            let job = Job {
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
