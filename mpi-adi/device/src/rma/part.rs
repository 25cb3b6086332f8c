//! One-sided communication as an [extension](crate::parts) of the device.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use msg_layer::header::SHORT_BYTES;
use msg_layer::{Arrival, Class, Malformed, Taken};

use crate::adi::Adi;
use crate::envelope::Rank;
use crate::memory::UserMemory;
use crate::parts::{Name, Part, Step};
use crate::protocol::Rules;
use crate::rma::{OneSided, Request, wire};

impl<R: Rules> Adi<R> {
    /// Enables one-sided communication.
    pub fn set_one_sided(&mut self, one_sided: Box<OneSided>) {
        self.extras.one_sided = Some(one_sided);
        self.extras.parts.begin(Name::OneSided, Part { take, next });
    }

    /// Runs `f` on one-sided communication, if this process has or had windows.
    #[inline]
    pub fn with_one_sided<T>(&mut self, f: impl FnOnce(&mut OneSided) -> T) -> Option<T> {
        let all = self.extras.one_sided.as_deref_mut()?;
        let result = f(all);
        self.extras.parts.set_due(Name::OneSided, all.due());
        Some(result)
    }
}

fn take<R: Rules>(
    adi: &mut Adi<R>,
    memory: Option<&mut dyn UserMemory>,
    class: Class,
    arrival: &Arrival<'_>,
) -> Taken {
    let memory = memory.ok_or(Malformed)?;
    let request = Request {
        source: Rank::new(arrival.rank),
        argument: arrival.argument,
        place: arrival.place,
        bytes: arrival.bytes,
    };
    let take = |all: &mut OneSided| match class {
        Class::Normal => all.take_request(memory, request),
        Class::Priority => all.take_answer(memory, request).map(|()| None),
    };
    adi.with_one_sided(take).unwrap_or(Err(Malformed))
}

fn next<R: Rules>(
    adi: &mut Adi<R>,
    memory: Option<&mut dyn UserMemory>,
    out: &mut [u8; SHORT_BYTES],
) -> Step {
    let step = |all: &mut OneSided| {
        // Discards earlier changes: they have been reported.
        let _ = all.take_moved();
        let leaving = all.next(memory?, out);
        match leaving {
            Some(leaving) => Some(Step::Packet(wire::ONE_SIDED, leaving)),
            None => all.take_moved().then_some(Step::Moved),
        }
    };
    adi.with_one_sided(step).flatten().unwrap_or(Step::Nothing)
}
