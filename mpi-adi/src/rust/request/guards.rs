//! Guards: requests that are completed when they are dropped.
#![forbid(unsafe_code)]

use super::{Request, Scope, StaticScope};

/// Waits for its request when it is dropped.
#[derive(Debug)]
pub struct WaitGuard<'a, D: ?Sized, S: Scope<'a> = StaticScope>(Option<Request<'a, D, S>>);

/// Cancels its request, and waits for it, when it is dropped.
#[derive(Debug)]
pub struct CancelGuard<'a, D: ?Sized, S: Scope<'a> = StaticScope>(Option<Request<'a, D, S>>);

impl<'a, D: ?Sized, S: Scope<'a>> Drop for WaitGuard<'a, D, S> {
    fn drop(&mut self) {
        if let Some(request) = self.0.take().filter(Request::can_wait) {
            request.wait();
        }
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> Drop for CancelGuard<'a, D, S> {
    fn drop(&mut self) {
        if let Some(request) = self.0.take().filter(Request::can_wait) {
            request.cancel();
            request.wait();
        }
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> Request<'a, D, S> {
    fn can_wait(&self) -> bool {
        self.look(|ticket| ticket.can_wait())
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> From<Request<'a, D, S>> for WaitGuard<'a, D, S> {
    fn from(request: Request<'a, D, S>) -> Self {
        WaitGuard(Some(request))
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> From<Request<'a, D, S>> for CancelGuard<'a, D, S> {
    fn from(request: Request<'a, D, S>) -> Self {
        CancelGuard(Some(request))
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> From<WaitGuard<'a, D, S>> for Request<'a, D, S> {
    fn from(mut guard: WaitGuard<'a, D, S>) -> Self {
        guard.0.take().expect("taken only here and at the end")
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> From<WaitGuard<'a, D, S>> for CancelGuard<'a, D, S> {
    fn from(mut guard: WaitGuard<'a, D, S>) -> Self {
        CancelGuard(guard.0.take())
    }
}

impl<'a, D: ?Sized, S: Scope<'a>> From<CancelGuard<'a, D, S>> for WaitGuard<'a, D, S> {
    fn from(mut guard: CancelGuard<'a, D, S>) -> Self {
        WaitGuard(guard.0.take())
    }
}
