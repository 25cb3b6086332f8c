//! Generalized requests: user-defined steps, completed together with messages.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use mpi::point_to_point::Status;
use mpi::request::{
    Completion, GeneralizedOperation, Request, StaticScope, start_generalized, start_generalized_with_data,
    wait_any,
};
use mpi::traits::*;

kernel_rt::program!(main);

/// Operation that the program advances in steps.
#[derive(Default)]
struct Steps {
    made: Cell<i32>,
    cancelled: Cell<bool>,
    freed: Cell<bool>,
    completion: RefCell<Option<Completion>>,
}

struct Going<'s>(&'s Steps);

impl GeneralizedOperation for Going<'_> {
    fn query(&self) -> Result<Status, mpi::Error> {
        let status = Status::empty().with_tag(7).with_source_rank(3);
        let status = status.with_cancelled(self.0.cancelled.get());
        status.with_elements(u16::equivalent_datatype(), self.0.made.get())
    }

    fn cancel(&self, is_over: bool) {
        if !is_over {
            self.0.cancelled.set(true);
            let completion = self.0.completion.take();
            completion.into_iter().for_each(Completion::complete);
        }
    }
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        self.0.freed.set(true);
    }
}

fn alone() {
    let (steps, other) = (Steps::default(), Steps::default());
    mpi::request::scope(|scope| {
        let (request, completion) = start_generalized(scope, Going(&steps));
        assert!(request.get_status().is_none() && !request.is_complete());
        let request = request.test().unwrap_err();
        steps.made.set(5);
        completion.complete();
        // The status can be read before completion; a cancel after that has no effect.
        let seen = request.get_status().unwrap().unwrap();
        request.cancel();
        assert!(!steps.freed.get());
        let status = request.test().unwrap();
        assert_eq!(status, seen);
        assert!(steps.freed.get() && !status.is_cancelled());
        assert_eq!(
            (status.tag(), status.source_rank(), status.bytes()),
            (7, 3, 10)
        );
        assert_eq!(status.elements(u16::equivalent_datatype()), 5);

        // A cancelled operation completes itself, and so does one whose completion is dropped.
        let (request, completion) = start_generalized(scope, Going(&other));
        *other.completion.borrow_mut() = Some(completion);
        request.cancel();
        assert!(request.wait().is_cancelled() && other.freed.get());
        let (request, completion) = start_generalized(scope, || unreachable!("not asked"));
        drop(completion);
        assert!(request.wait().is_cancelled());

        // Completed at the end of the scope.
        let (request, completion) = start_generalized(scope, || Ok(Status::empty()));
        completion.complete();
        drop(request);
    });
    // A freed request.
    let (request, completion) = start_generalized(StaticScope, || unreachable!("not asked"));
    drop(request);
    completion.complete();
    // The call that completes the request returns its error.
    let refused = mpi::Error::Argument { what: "refused" };
    let (request, completion) = start_generalized(StaticScope, move || Err(refused));
    completion.complete();
    assert_eq!(request.get_status(), Some(Err(refused)));
    assert_eq!(request.try_wait(), Err(refused));
}

/// Completes the requests in one list with a message to the right and one from the left.
fn among_messages(world: &impl Communicator) {
    let (rank, size) = (world.rank(), world.size());
    let right = world.process_at_rank((rank + 1) % size);
    let left = world.process_at_rank((rank + size - 1) % size);
    let (mine, own) = (vec![rank; 300], [-7; 1]);
    let mut theirs = vec![-1; 300];
    let steps = Steps::default();
    mpi::request::multiple_scope(3, |scope, list| {
        let (request, completion) = start_generalized_with_data(scope, &own[..], Going(&steps));
        let ours = list.add(request);
        let sent = list.add(right.immediate_send(scope, &mine[..]));
        let got = list.add(left.immediate_receive_into(scope, &mut theirs[..]));
        let mut over: Vec<usize> = Vec::new();
        let mut some = Vec::new();
        while over.len() < 2 {
            list.wait_some(&mut some);
            over.extend(some.iter().map(|(place, _, _)| *place));
            steps.made.set(steps.made.get() + 1);
        }
        over.sort();
        assert_eq!(over, [sent, got]);
        assert!(list.test_any().is_none() && !list.test_all(&mut some));
        completion.complete();
        assert!(list.test_all(&mut some));
        let (place, status, data) = some[0];
        assert_eq!((place, status.tag(), data), (ours, 7, &own[..]));
    });
    assert!(steps.freed.get() && theirs.iter().all(|from| *from == left.rank()));
}

/// Operation whose query calls MPI, concurrent with a barrier, in either order of completion.
fn with_a_barrier(world: &impl Communicator) {
    let asked = Cell::new(0);
    mpi::request::scope(|scope| {
        let (own, completion) = start_generalized(scope, || {
            asked.set(asked.get() + 1);
            let (this, mut got) = (world.this_process(), 0);
            mpi::request::scope(|scope| {
                let receive = this.immediate_receive_into(scope, &mut got);
                this.send(&asked.get());
                receive.wait();
            });
            Ok(Status::empty())
        });
        let barrier = world.immediate_barrier();
        let mut requests: Vec<Request<'_, (), _>> = vec![barrier.shrink_scope_to(scope), own];
        assert_eq!(wait_any(&mut requests).unwrap().0, 0);
        assert_eq!(asked.get(), 0);
        completion.complete();
        requests[0].get_status().unwrap().unwrap();
        assert_eq!(wait_any(&mut requests).unwrap().0, 0);
        assert!(wait_any(&mut requests).is_none());
    });
    assert_eq!(asked.get(), 2);
}

fn main() {
    let before = mpi::request::try_start_generalized(StaticScope, || Ok(Status::empty()));
    assert!(before.is_err());
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    alone();
    among_messages(&world);
    with_a_barrier(&world);
}
