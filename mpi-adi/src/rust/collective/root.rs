//! Collectives with a root.
#![forbid(unsafe_code)]

use super::operation::{Operation, combiner};
use super::planner::Planner;
use super::started;
use super::{divided, listed};
use crate::device::memory::area::Area;
use crate::mpi::coll;
use crate::mpi::comm::{self, CommRank};
use crate::mpi::error::Error;
use crate::rust::datatype::lent::{element, lend, lend_mut, lend_parts, lend_parts_mut};
use crate::rust::datatype::{Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut};
use crate::rust::request::{Request, Scope};
use crate::rust::topology::{AsCommunicator, Communicator, Process, Rank, Record};

pub(super) fn record<R: Root + ?Sized>(of: &R) -> &alloc::rc::Rc<Record> {
    &of.as_communicator().as_simple().record
}

pub(super) fn attempt<R: Root + ?Sized>(
    of: &R,
    call: impl FnOnce(comm::Communicator<'_>, CommRank) -> Result<(), Error>,
) -> Result<(), Error> {
    let core = record(of).core()?;
    let root = core.partners().group().rank(of.root_rank().into())?;
    call(core, root)
}

pub(super) fn root<R: Root + ?Sized>(of: &R) -> CommRank {
    CommRank(of.root_rank() as u32)
}

const FORMS: &str = "the root calls the form with `_root`, the others the form without";

/// Fails with [`Error::Argument`] in a process that is to call the other form.
pub(super) fn is_root<R: Root + ?Sized>(of: &R, form: bool) -> Result<(), Error> {
    let rank = of.as_communicator().as_simple().rank();
    match (rank == of.root_rank()) == form {
        true => Ok(()),
        false => Err(Error::Argument { what: FORMS }),
    }
}

/// As [`is_root`], and panics there.
#[track_caller]
pub(super) fn assert_root<R: Root + ?Sized>(of: &R, form: bool) {
    assert!(
        is_root(of, form).is_ok(),
        "rank {} of a collective whose root is rank {}: {FORMS}",
        of.as_communicator().as_simple().rank(),
        of.root_rank()
    );
}

/// The root of collectives: a [`Process`]. The root itself calls the forms with `_root`, all others those without.
/// See the [module](super) for when they block and what they fail with.
///
/// Those of the two forms panic in a process that is to call the other one; with `try_` in front, they fail with
/// [`Error::Argument`] there.
pub trait Root: AsCommunicator<Out: Communicator> {
    /// The root's rank.
    fn root_rank(&self) -> Rank;

    /// Gives the root's `buffer` to all processes (MPI_Bcast, MPI-3.1 section 5.4).
    #[track_caller]
    fn broadcast_into<Buf: BufferMut + ?Sized>(&self, buffer: &mut Buf) {
        let result = self.try_broadcast_into(buffer);
        record(self)
            .here
            .or_fatal("mpi::collective::Root::broadcast_into (MPI_Bcast)", result);
    }

    /// As [`broadcast_into`](Self::broadcast_into), with the error as its result.
    fn try_broadcast_into<Buf: BufferMut + ?Sized>(&self, buffer: &mut Buf) -> Result<(), Error> {
        attempt(self, |core, root| {
            lend_mut(buffer, |data| {
                coll::bcast(core, "MPI_Bcast", data.into(), root)
            })
        })
    }

    /// Gives `sendbuf` to the root (MPI_Gather, MPI-3.1 section 5.5).
    #[track_caller]
    fn gather_into<S: Buffer + ?Sized>(&self, sendbuf: &S) {
        assert_root(self, false);
        let result = self.try_gather_into(sendbuf);
        record(self)
            .here
            .or_fatal("mpi::collective::Root::gather_into (MPI_Gather)", result);
    }

    /// As [`gather_into`](Self::gather_into), with the error as its result.
    fn try_gather_into<S: Buffer + ?Sized>(&self, sendbuf: &S) -> Result<(), Error> {
        is_root(self, false)?;
        attempt(self, |core, root| give(core, "MPI_Gather", sendbuf, root))
    }

    /// Collects all processes' `sendbuf`, in the order of the ranks, in `recvbuf` (MPI_Gather).
    #[track_caller]
    fn gather_into_root<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        assert_root(self, true);
        let result = self.try_gather_into_root(sendbuf, recvbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::gather_into_root (MPI_Gather)",
            result,
        );
    }

    /// As [`gather_into_root`](Self::gather_into_root), with the error as its result.
    fn try_gather_into_root<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        is_root(self, true)?;
        let size = element(recvbuf);
        attempt(self, |core, root| {
            lend(sendbuf, |data| {
                lend_mut(recvbuf, |all| {
                    let place = divided(all.into(), size, core.size() as usize)?;
                    coll::gather(core, "MPI_Gather", data.into(), &place, root)
                })
            })
        })
    }

    /// As [`gather_into`](Self::gather_into), of as many elements as the root's part for this process has (MPI_Gatherv).
    #[track_caller]
    fn gather_varcount_into<S: Buffer + ?Sized>(&self, sendbuf: &S) {
        assert_root(self, false);
        let result = self.try_gather_varcount_into(sendbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::gather_varcount_into (MPI_Gatherv)",
            result,
        );
    }

    /// As [`gather_varcount_into`](Self::gather_varcount_into), with the error as its result.
    fn try_gather_varcount_into<S: Buffer + ?Sized>(&self, sendbuf: &S) -> Result<(), Error> {
        is_root(self, false)?;
        attempt(self, |core, root| give(core, "MPI_Gatherv", sendbuf, root))
    }

    /// As [`gather_into_root`](Self::gather_into_root), into parts (MPI_Gatherv). Takes their list in the program's heap.
    #[track_caller]
    fn gather_varcount_into_root<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        assert_root(self, true);
        let result = self.try_gather_varcount_into_root(sendbuf, recvbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::gather_varcount_into_root (MPI_Gatherv)",
            result,
        );
    }

    /// As [`gather_varcount_into_root`](Self::gather_varcount_into_root), with the error as its result.
    fn try_gather_varcount_into_root<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        is_root(self, true)?;
        attempt(self, |core, root| {
            lend(sendbuf, |data| {
                lend_parts_mut(recvbuf, core.size() as usize, |places| {
                    let place = listed(places);
                    coll::gather(core, "MPI_Gatherv", data.into(), &place, root)
                })
            })
        })
    }

    /// Takes this process's part of the root's buffer (MPI_Scatter, MPI-3.1 section 5.6).
    #[track_caller]
    fn scatter_into<R: BufferMut + ?Sized>(&self, recvbuf: &mut R) {
        assert_root(self, false);
        let result = self.try_scatter_into(recvbuf);
        record(self)
            .here
            .or_fatal("mpi::collective::Root::scatter_into (MPI_Scatter)", result);
    }

    /// As [`scatter_into`](Self::scatter_into), with the error as its result.
    fn try_scatter_into<R: BufferMut + ?Sized>(&self, recvbuf: &mut R) -> Result<(), Error> {
        is_root(self, false)?;
        attempt(self, |core, root| take(core, "MPI_Scatter", recvbuf, root))
    }

    /// Gives each process its part of `sendbuf` (MPI_Scatter).
    #[track_caller]
    fn scatter_into_root<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        assert_root(self, true);
        let result = self.try_scatter_into_root(sendbuf, recvbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::scatter_into_root (MPI_Scatter)",
            result,
        );
    }

    /// As [`scatter_into_root`](Self::scatter_into_root), with the error as its result.
    fn try_scatter_into_root<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        is_root(self, true)?;
        let size = element(sendbuf);
        attempt(self, |core, root| {
            lend(sendbuf, |all| {
                lend_mut(recvbuf, |result| {
                    let of = divided(all.into(), size, core.size() as usize)?;
                    coll::scatter(core, "MPI_Scatter", &of, result.into(), root)
                })
            })
        })
    }

    /// As [`scatter_into`](Self::scatter_into), of as many elements as the root's part for this process has
    /// (MPI_Scatterv).
    #[track_caller]
    fn scatter_varcount_into<R: BufferMut + ?Sized>(&self, recvbuf: &mut R) {
        assert_root(self, false);
        let result = self.try_scatter_varcount_into(recvbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::scatter_varcount_into (MPI_Scatterv)",
            result,
        );
    }

    /// As [`scatter_varcount_into`](Self::scatter_varcount_into), with the error as its result.
    fn try_scatter_varcount_into<R: BufferMut + ?Sized>(
        &self,
        recvbuf: &mut R,
    ) -> Result<(), Error> {
        is_root(self, false)?;
        attempt(self, |core, root| take(core, "MPI_Scatterv", recvbuf, root))
    }

    /// As [`scatter_into_root`](Self::scatter_into_root), of parts (MPI_Scatterv). Takes their list in the program's heap.
    #[track_caller]
    fn scatter_varcount_into_root<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: PartitionedBuffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        assert_root(self, true);
        let result = self.try_scatter_varcount_into_root(sendbuf, recvbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::scatter_varcount_into_root (MPI_Scatterv)",
            result,
        );
    }

    /// As [`scatter_varcount_into_root`](Self::scatter_varcount_into_root), with the error as its result.
    fn try_scatter_varcount_into_root<S, R>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
    ) -> Result<(), Error>
    where
        S: PartitionedBuffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        is_root(self, true)?;
        attempt(self, |core, root| {
            lend_parts(sendbuf, core.size() as usize, |parts| {
                lend_mut(recvbuf, |result| {
                    let of = listed(parts);
                    coll::scatter(core, "MPI_Scatterv", &of, result.into(), root)
                })
            })
        })
    }

    /// Combines all processes' `sendbuf`, place by place, at the root (MPI_Reduce, MPI-3.1 section 5.9.1).
    #[track_caller]
    fn reduce_into<S, O>(&self, sendbuf: &S, op: O)
    where
        S: Buffer + ?Sized,
        O: Operation,
    {
        assert_root(self, false);
        let result = self.try_reduce_into(sendbuf, op);
        record(self)
            .here
            .or_fatal("mpi::collective::Root::reduce_into (MPI_Reduce)", result);
    }

    /// As [`reduce_into`](Self::reduce_into), with the error as its result.
    fn try_reduce_into<S, O>(&self, sendbuf: &S, op: O) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        O: Operation,
    {
        is_root(self, false)?;
        let size = element(sendbuf);
        attempt(self, |core, root| {
            let mut combine = combiner(&op, sendbuf)?;
            let combine: &mut coll::Combine<'_> = &mut |left, right| combine.combine(left, right);
            lend(sendbuf, |data| {
                let areas = (data.into(), Area::EMPTY);
                coll::reduce(core, "MPI_Reduce", areas, size, combine, root)
            })
        })
    }

    /// As [`reduce_into`](Self::reduce_into), with the result in `recvbuf` (MPI_Reduce).
    #[track_caller]
    fn reduce_into_root<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        assert_root(self, true);
        let result = self.try_reduce_into_root(sendbuf, recvbuf, op);
        record(self).here.or_fatal(
            "mpi::collective::Root::reduce_into_root (MPI_Reduce)",
            result,
        );
    }

    /// As [`reduce_into_root`](Self::reduce_into_root), with the error as its result.
    fn try_reduce_into_root<S, R, O>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
        op: O,
    ) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        is_root(self, true)?;
        let size = element(sendbuf);
        attempt(self, |core, root| {
            let mut combine = combiner(&op, sendbuf)?;
            let combine: &mut coll::Combine<'_> = &mut |left, right| combine.combine(left, right);
            lend(sendbuf, |data| {
                lend_mut(recvbuf, |result| {
                    let areas = (data.into(), result.into());
                    coll::reduce(core, "MPI_Reduce", areas, size, combine, root)
                })
            })
        })
    }

    /// As [`broadcast_into`](Self::broadcast_into), without blocking (MPI_Ibcast, MPI-3.1 section 5.12.2).
    #[track_caller]
    fn immediate_broadcast_into<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a mut Buf,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_broadcast_into(scope, buf);
        record(self).here.or_fatal(
            "mpi::collective::Root::immediate_broadcast_into (MPI_Ibcast)",
            request,
        )
    }

    /// As [`immediate_broadcast_into`](Self::immediate_broadcast_into), with the error as its result.
    fn try_immediate_broadcast_into<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a mut Buf,
    ) -> Result<Request<'a, Buf, Sc>, Error>
    where
        Buf: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        started::broadcast(record(self), root(self), scope, buf)
    }

    /// As [`gather_into`](Self::gather_into), without blocking (MPI_Igather, MPI-3.1 section 5.12.3).
    #[track_caller]
    fn immediate_gather_into<'a, Sc, S>(&self, scope: Sc, sendbuf: &'a S) -> Request<'a, S, Sc>
    where
        S: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        assert_root(self, false);
        let request = self.try_immediate_gather_into(scope, sendbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::immediate_gather_into (MPI_Igather)",
            request,
        )
    }

    /// As [`immediate_gather_into`](Self::immediate_gather_into), with the error as its result.
    fn try_immediate_gather_into<'a, Sc, S>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
    ) -> Result<Request<'a, S, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, false)?;
        started::giving(record(self), "MPI_Igather", root(self), scope, sendbuf)
    }

    /// As [`gather_into_root`](Self::gather_into_root), without blocking (MPI_Igather).
    #[track_caller]
    fn immediate_gather_into_root<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        assert_root(self, true);
        let request = self.try_immediate_gather_into_root(scope, sendbuf, recvbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::immediate_gather_into_root (MPI_Igather)",
            request,
        )
    }

    /// As [`immediate_gather_into_root`](Self::immediate_gather_into_root), with the error as its result.
    fn try_immediate_gather_into_root<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, true)?;
        started::gather_root(record(self), root(self), scope, sendbuf, recvbuf)
    }

    /// As [`gather_varcount_into`](Self::gather_varcount_into), without blocking (MPI_Igatherv).
    #[track_caller]
    fn immediate_gather_varcount_into<'a, Sc, S>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
    ) -> Request<'a, S, Sc>
    where
        S: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        assert_root(self, false);
        let request = self.try_immediate_gather_varcount_into(scope, sendbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::immediate_gather_varcount_into (MPI_Igatherv)",
            request,
        )
    }

    /// As [`immediate_gather_varcount_into`](Self::immediate_gather_varcount_into), with the error as its result.
    fn try_immediate_gather_varcount_into<'a, Sc, S>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
    ) -> Result<Request<'a, S, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, false)?;
        started::giving(record(self), "MPI_Igatherv", root(self), scope, sendbuf)
    }

    /// As [`gather_varcount_into_root`](Self::gather_varcount_into_root), without blocking (MPI_Igatherv).
    #[track_caller]
    fn immediate_gather_varcount_into_root<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        assert_root(self, true);
        let request = self.try_immediate_gather_varcount_into_root(scope, sendbuf, recvbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::immediate_gather_varcount_into_root (MPI_Igatherv)",
            request,
        )
    }

    /// As [`immediate_gather_varcount_into_root`](Self::immediate_gather_varcount_into_root), with the error as its result.
    fn try_immediate_gather_varcount_into_root<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, true)?;
        started::gather_varcount_root(record(self), root(self), scope, sendbuf, recvbuf)
    }

    /// As [`scatter_into`](Self::scatter_into), without blocking (MPI_Iscatter, MPI-3.1 section 5.12.4).
    #[track_caller]
    fn immediate_scatter_into<'a, Sc, R>(&self, scope: Sc, recvbuf: &'a mut R) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        assert_root(self, false);
        let request = self.try_immediate_scatter_into(scope, recvbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::immediate_scatter_into (MPI_Iscatter)",
            request,
        )
    }

    /// As [`immediate_scatter_into`](Self::immediate_scatter_into), with the error as its result.
    fn try_immediate_scatter_into<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, false)?;
        started::taking(record(self), "MPI_Iscatter", root(self), scope, recvbuf)
    }

    /// As [`scatter_into_root`](Self::scatter_into_root), without blocking (MPI_Iscatter).
    #[track_caller]
    fn immediate_scatter_into_root<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        assert_root(self, true);
        let request = self.try_immediate_scatter_into_root(scope, sendbuf, recvbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::immediate_scatter_into_root (MPI_Iscatter)",
            request,
        )
    }

    /// As [`immediate_scatter_into_root`](Self::immediate_scatter_into_root), with the error as its result.
    fn try_immediate_scatter_into_root<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, true)?;
        started::scatter_root(record(self), root(self), scope, sendbuf, recvbuf)
    }

    /// As [`scatter_varcount_into`](Self::scatter_varcount_into), without blocking (MPI_Iscatterv).
    #[track_caller]
    fn immediate_scatter_varcount_into<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        assert_root(self, false);
        let request = self.try_immediate_scatter_varcount_into(scope, recvbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::immediate_scatter_varcount_into (MPI_Iscatterv)",
            request,
        )
    }

    /// As [`immediate_scatter_varcount_into`](Self::immediate_scatter_varcount_into), with the error as its result.
    fn try_immediate_scatter_varcount_into<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, false)?;
        started::taking(record(self), "MPI_Iscatterv", root(self), scope, recvbuf)
    }

    /// As [`scatter_varcount_into_root`](Self::scatter_varcount_into_root), without blocking (MPI_Iscatterv).
    #[track_caller]
    fn immediate_scatter_varcount_into_root<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + PartitionedBuffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        assert_root(self, true);
        let request = self.try_immediate_scatter_varcount_into_root(scope, sendbuf, recvbuf);
        record(self).here.or_fatal(
            "mpi::collective::Root::immediate_scatter_varcount_into_root (MPI_Iscatterv)",
            request,
        )
    }

    /// As [`immediate_scatter_varcount_into_root`](Self::immediate_scatter_varcount_into_root), with the error as its result.
    fn try_immediate_scatter_varcount_into_root<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        S: 'a + PartitionedBuffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        is_root(self, true)?;
        started::scatter_varcount_root(record(self), root(self), scope, sendbuf, recvbuf)
    }

    /// As [`reduce_into`](Self::reduce_into), without blocking (MPI_Ireduce, MPI-3.1 section 5.12.7).
    #[track_caller]
    fn immediate_reduce_into<'a, Sc, S, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        op: O,
    ) -> Request<'a, S, Sc>
    where
        S: 'a + Buffer + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        assert_root(self, false);
        let request = self.try_immediate_reduce_into(scope, sendbuf, op);
        record(self).here.or_fatal(
            "mpi::collective::Root::immediate_reduce_into (MPI_Ireduce)",
            request,
        )
    }

    /// As [`immediate_reduce_into`](Self::immediate_reduce_into), with the error as its result.
    fn try_immediate_reduce_into<'a, Sc, S, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        op: O,
    ) -> Result<Request<'a, S, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        is_root(self, false)?;
        started::reduce_to(record(self), root(self), scope, sendbuf, &op)
    }

    /// As [`reduce_into_root`](Self::reduce_into_root), without blocking (MPI_Ireduce).
    #[track_caller]
    fn immediate_reduce_into_root<'a, Sc, S, R, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
        op: O,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        assert_root(self, true);
        let request = self.try_immediate_reduce_into_root(scope, sendbuf, recvbuf, op);
        record(self).here.or_fatal(
            "mpi::collective::Root::immediate_reduce_into_root (MPI_Ireduce)",
            request,
        )
    }

    /// As [`immediate_reduce_into_root`](Self::immediate_reduce_into_root), with the error as its result.
    fn try_immediate_reduce_into_root<'a, Sc, S, R, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
        op: O,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        is_root(self, true)?;
        let (of, root, buffers) = (record(self), root(self), (sendbuf, recvbuf));
        started::reduction(
            of,
            "MPI_Ireduce",
            scope,
            buffers,
            &op,
            |of, areas, elements, combiner| of.reduce(areas, elements, combiner, root),
        )
    }
}

fn give<S: Buffer + ?Sized>(
    core: comm::Communicator<'_>,
    function: &'static str,
    sendbuf: &S,
    root: CommRank,
) -> Result<(), Error> {
    lend(sendbuf, |data| {
        coll::gather(core, function, data.into(), &|_| Area::EMPTY, root)
    })
}

fn take<R: BufferMut + ?Sized>(
    core: comm::Communicator<'_>,
    function: &'static str,
    recvbuf: &mut R,
    root: CommRank,
) -> Result<(), Error> {
    lend_mut(recvbuf, |data| {
        coll::scatter(core, function, &|_| Area::EMPTY, data.into(), root)
    })
}

impl Root for Process<'_> {
    fn root_rank(&self) -> Rank {
        self.rank()
    }
}
