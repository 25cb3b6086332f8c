//! Guards that complete a request when they are dropped.
#![forbid(unsafe_code)]

use super::{Request, Scope, StaticScope};

/// A [`WaitGuard`] or a [`CancelGuard`]: its drop waits for its request, and with `CANCELS` cancels it first.
#[derive(Debug)]
pub struct RequestGuard<'a, D: ?Sized, S: Scope<'a>, const CANCELS: bool>(Option<Request<'a, D, S>>);

/// Waits for its request when it is dropped.
pub type WaitGuard<'a, D, S = StaticScope> = RequestGuard<'a, D, S, false>;

/// Cancels its request, and waits for it, when it is dropped.
pub type CancelGuard<'a, D, S = StaticScope> = RequestGuard<'a, D, S, true>;

impl<'a, D: ?Sized, S: Scope<'a>, const CANCELS: bool> Drop for RequestGuard<'a, D, S, CANCELS> {
    fn drop(&mut self) {
        let can_wait = |request: &Request<'a, D, S>| request.inspect(|ticket| ticket.can_wait());
        if let Some(request) = self.0.take().filter(can_wait) {
            if CANCELS {
                request.cancel();
            }
            request.wait();
        }
    }
}

impl<'a, D: ?Sized, S: Scope<'a>, const CANCELS: bool> From<Request<'a, D, S>> for RequestGuard<'a, D, S, CANCELS> {
    fn from(request: Request<'a, D, S>) -> Self {
        RequestGuard(Some(request))
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> From<WaitGuard<'a, D, S>> for Request<'a, D, S> {
    fn from(mut guard: WaitGuard<'a, D, S>) -> Self {
        guard.0.take().expect("taken only here and at the end")
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> From<WaitGuard<'a, D, S>> for CancelGuard<'a, D, S> {
    fn from(mut guard: WaitGuard<'a, D, S>) -> Self {
        RequestGuard(guard.0.take())
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> From<CancelGuard<'a, D, S>> for WaitGuard<'a, D, S> {
    fn from(mut guard: CancelGuard<'a, D, S>) -> Self {
        RequestGuard(guard.0.take())
    }
}
