//! Function table, ordered by section and name.

/// Calls the macro `$then` with the rows of the table, to generate code for each function at compile time, for example
/// entry points ([`FUNCTIONS`](crate::FUNCTIONS) is the same table as data).
///
/// A row is `"section" result name | large(parameter: kind, ..) state;`. `| large` is the name of the large-count form,
/// of functions that have one; both forms have one body. A documentation comment before it is copied into `mpi.h`. The
/// state is one of these, or nothing for a function that conforms to the standard:
///
/// * `limited "limit"`: it is supported with a limitation, which the documentation and `mpi.h` specify.
/// * `extension MPI_Twin`: no version of MPI contains it; its name may also use the prefix `MPIX_`.
/// * `removed MPI_Other`: MPI-3.0 has removed it in favour of the other one; the compiler reports that.
#[macro_export]
macro_rules! functions {
    ($then:ident) => { $then! {
        "3.2.1" Int MPI_Send | MPI_Send_c(buf: BufferIn, count: Count, datatype: Datatype, dest: Rank, tag: Tag,
            comm: Comm)
            limited "a message has less than 4 GiB";
        "3.2.4" Int MPI_Recv | MPI_Recv_c(buf: BufferOut, count: Count, datatype: Datatype, source: Rank, tag: Tag,
            comm: Comm, status: StatusOut) limited "a message has less than 4 GiB";
        "3.2.5" Int MPI_Get_count | MPI_Get_count_c(status: Status, datatype: Datatype, count: CountOut);
        "3.2.5" Int MPI_Status_get_error(status: Status, err: IntOut);
        "3.2.5" Int MPI_Status_get_source(status: Status, source: RankOut);
        "3.2.5" Int MPI_Status_get_tag(status: Status, tag: IntOut);
        "3.2.5" Int MPI_Status_set_error(status: StatusInOut, err: Int);
        "3.2.5" Int MPI_Status_set_source(status: StatusInOut, source: Rank);
        "3.2.5" Int MPI_Status_set_tag(status: StatusInOut, tag: Tag);
        /// Uses the attached buffer; MPI_ERR_BUFFER if it has no space for the message.
        "3.4" Int MPI_Bsend | MPI_Bsend_c(buf: BufferIn, count: Count, datatype: Datatype, dest: Rank, tag: Tag,
            comm: Comm);
        "3.4" Int MPI_Rsend | MPI_Rsend_c(buf: BufferIn, count: Count, datatype: Datatype, dest: Rank, tag: Tag,
            comm: Comm)
            limited "like MPI_Send: a missing receive is not detected";
        "3.4" Int MPI_Ssend | MPI_Ssend_c(buf: BufferIn, count: Count, datatype: Datatype, dest: Rank, tag: Tag,
            comm: Comm);
        "3.6" Int MPI_Buffer_attach | MPI_Buffer_attach_c(buffer: BufferInOut, size: Count);
        /// Blocks until all messages in the buffer have been sent.
        "3.6" Int MPI_Buffer_detach | MPI_Buffer_detach_c(buffer_addr: AddressOut, size: CountOut);
        "3.6" Int MPI_Buffer_flush();
        "3.6" Int MPI_Buffer_iflush(request: RequestOut);
        "3.6" Int MPI_Comm_attach_buffer | MPI_Comm_attach_buffer_c(comm: Comm, buffer: BufferInOut, size: Count);
        "3.6" Int MPI_Comm_detach_buffer | MPI_Comm_detach_buffer_c(comm: Comm, buffer_addr: AddressOut,
            size: CountOut);
        "3.6" Int MPI_Comm_flush_buffer(comm: Comm);
        "3.6" Int MPI_Comm_iflush_buffer(comm: Comm, request: RequestOut);
        "3.6" Int MPI_Session_attach_buffer | MPI_Session_attach_buffer_c(session: Session, buffer: BufferInOut,
            size: Count);
        "3.6" Int MPI_Session_detach_buffer | MPI_Session_detach_buffer_c(session: Session, buffer_addr: AddressOut,
            size: CountOut);
        "3.6" Int MPI_Session_flush_buffer(session: Session);
        "3.6" Int MPI_Session_iflush_buffer(session: Session, request: RequestOut);
        "3.7.2" Int MPI_Ibsend | MPI_Ibsend_c(buf: BufferIn, count: Count, datatype: Datatype, dest: Rank, tag: Tag,
            comm: Comm, request: RequestOut);
        "3.7.2" Int MPI_Irecv | MPI_Irecv_c(buf: BufferOut, count: Count, datatype: Datatype, source: Rank, tag: Tag,
            comm: Comm, request: RequestOut);
        "3.7.2" Int MPI_Irsend | MPI_Irsend_c(buf: BufferIn, count: Count, datatype: Datatype, dest: Rank, tag: Tag,
            comm: Comm, request: RequestOut) limited "like MPI_Isend: a missing receive is not detected";
        "3.7.2" Int MPI_Isend | MPI_Isend_c(buf: BufferIn, count: Count, datatype: Datatype, dest: Rank, tag: Tag,
            comm: Comm, request: RequestOut);
        "3.7.2" Int MPI_Issend | MPI_Issend_c(buf: BufferIn, count: Count, datatype: Datatype, dest: Rank, tag: Tag,
            comm: Comm, request: RequestOut);
        /// An operation in progress completes, and is then freed.
        "3.7.3" Int MPI_Request_free(request: RequestInOut);
        "3.7.3" Int MPI_Test(request: RequestInOut, flag: LogicalOut, status: StatusOut);
        "3.7.3" Int MPI_Wait(request: RequestInOut, status: StatusOut);
        "3.7.5" Int MPI_Testall(count: Int, array_of_requests: RequestsInOut, flag: LogicalOut,
            array_of_statuses: StatusesOut);
        "3.7.5" Int MPI_Testany(count: Int, array_of_requests: RequestsInOut, index: IndexOut, flag: LogicalOut,
            status: StatusOut);
        "3.7.5" Int MPI_Testsome(incount: Int, array_of_requests: RequestsInOut, outcount: IntOut,
            array_of_indices: IndicesOut, array_of_statuses: StatusesOut);
        "3.7.5" Int MPI_Waitall(count: Int, array_of_requests: RequestsInOut, array_of_statuses: StatusesOut);
        "3.7.5" Int MPI_Waitany(count: Int, array_of_requests: RequestsInOut, index: IndexOut, status: StatusOut);
        "3.7.5" Int MPI_Waitsome(incount: Int, array_of_requests: RequestsInOut, outcount: IntOut,
            array_of_indices: IndicesOut, array_of_statuses: StatusesOut);
        "3.7.6" Int MPI_Request_get_status(request: Request, flag: LogicalOut, status: StatusOut);
        "3.7.6" Int MPI_Request_get_status_all(count: Int, array_of_requests: Requests, flag: LogicalOut,
            array_of_statuses: StatusesOut);
        "3.7.6" Int MPI_Request_get_status_any(count: Int, array_of_requests: Requests, index: IndexOut,
            flag: LogicalOut, status: StatusOut);
        "3.7.6" Int MPI_Request_get_status_some(incount: Int, array_of_requests: Requests, outcount: IntOut,
            array_of_indices: IndicesOut, array_of_statuses: StatusesOut);
        "3.8.1" Int MPI_Iprobe(source: Rank, tag: Tag, comm: Comm, flag: LogicalOut, status: StatusOut);
        "3.8.1" Int MPI_Probe(source: Rank, tag: Tag, comm: Comm, status: StatusOut);
        "3.8.2" Int MPI_Improbe(source: Rank, tag: Tag, comm: Comm, flag: LogicalOut, message: MessageOut,
            status: StatusOut)
            limited "waits for a reply of the sender if the message had been rejected";
        /// Only MPI_Mrecv and MPI_Imrecv can receive the matched message, and one of them must follow. Until then the
        /// sender keeps the data, and cannot cancel the message.
        "3.8.2" Int MPI_Mprobe(source: Rank, tag: Tag, comm: Comm, message: MessageOut, status: StatusOut);
        "3.8.3" Int MPI_Imrecv | MPI_Imrecv_c(buf: BufferOut, count: Count, datatype: Datatype, message: MessageInOut,
            request: RequestOut);
        "3.8.3" Int MPI_Mrecv | MPI_Mrecv_c(buf: BufferOut, count: Count, datatype: Datatype, message: MessageInOut,
            status: StatusOut);
        /// Cancels a receive that no message has matched, and a send whose data has not been transmitted.
        "3.8.4" Int MPI_Cancel(request: RequestInOut)
            limited "a send that a matched probe has found is not cancelled, and completes with MPI_Mrecv; neither \
             is a short one that has left, which completes";
        "3.8.4" Int MPI_Test_cancelled(status: Status, flag: LogicalOut);
        "3.9" Int MPI_Bsend_init | MPI_Bsend_init_c(buf: BufferIn, count: Count, datatype: Datatype, dest: Rank,
            tag: Tag, comm: Comm, request: RequestOut);
        "3.9" Int MPI_Parrived(request: Request, partition: Int, flag: LogicalOut);
        "3.9" Int MPI_Pready(partition: Int, request: Request);
        "3.9" Int MPI_Pready_list(length: Int, array_of_partitions: Ints, request: Request);
        "3.9" Int MPI_Pready_range(partition_low: Int, partition_high: Int, request: Request);
        "3.9" Int MPI_Precv_init | MPI_Precv_init_c(buf: BufferOut, partitions: Int, count: Count,
            datatype: Datatype, source: Rank, tag: Tag, comm: Comm, info: Info, request: RequestOut)
            limited "in elements with gaps, a partition of the sender is a whole number of elements";
        "3.9" Int MPI_Psend_init | MPI_Psend_init_c(buf: BufferIn, partitions: Int, count: Count,
            datatype: Datatype, dest: Rank, tag: Tag, comm: Comm, info: Info, request: RequestOut);
        "3.9" Int MPI_Recv_init | MPI_Recv_init_c(buf: BufferOut, count: Count, datatype: Datatype, source: Rank,
            tag: Tag, comm: Comm, request: RequestOut);
        "3.9" Int MPI_Rsend_init | MPI_Rsend_init_c(buf: BufferIn, count: Count, datatype: Datatype, dest: Rank,
            tag: Tag, comm: Comm, request: RequestOut) limited "like MPI_Send_init: a missing receive is not detected";
        "3.9" Int MPI_Send_init | MPI_Send_init_c(buf: BufferIn, count: Count, datatype: Datatype, dest: Rank, tag: Tag,
            comm: Comm, request: RequestOut) limited "at most 65,536 persistent requests exist";
        "3.9" Int MPI_Ssend_init | MPI_Ssend_init_c(buf: BufferIn, count: Count, datatype: Datatype, dest: Rank,
            tag: Tag, comm: Comm, request: RequestOut);
        "3.9" Int MPI_Start(request: RequestInOut);
        "3.9" Int MPI_Startall(count: Int, array_of_requests: RequestsInOut);
        /// The request completes when both messages have, with the status of the receive. It cannot be cancelled.
        "3.10" Int MPI_Isendrecv | MPI_Isendrecv_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype, dest: Rank,
            sendtag: Tag, recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, source: Rank, recvtag: Tag,
            comm: Comm, request: RequestOut) limited "at most 65,536 of them at one time";
        /// Sends from a copy in the program's heap: MPI_ERR_NO_MEM if it is full.
        "3.10" Int MPI_Isendrecv_replace | MPI_Isendrecv_replace_c(buf: BufferInOut, count: Count, datatype: Datatype,
            dest: Rank, sendtag: Tag, source: Rank, recvtag: Tag, comm: Comm, request: RequestOut);
        "3.10" Int MPI_Sendrecv | MPI_Sendrecv_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype, dest: Rank,
            sendtag: Tag, recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, source: Rank, recvtag: Tag,
            comm: Comm, status: StatusOut);
        "3.10" Int MPI_Sendrecv_replace | MPI_Sendrecv_replace_c(buf: BufferInOut, count: Count, datatype: Datatype,
            dest: Rank, sendtag: Tag, source: Rank, recvtag: Tag, comm: Comm, status: StatusOut);

        /// Allocates the datatype in the program's heap: MPI_ERR_NO_MEM if it is full. Messages are sent from the
        /// buffers without an intermediate copy.
        "4.1.2" Int MPI_Type_contiguous | MPI_Type_contiguous_c(count: TypeCount, oldtype: Datatype, newtype: DatatypeOut)
            limited "at most 262,144 datatype handles exist; at most 64 levels of datatypes";
        "4.1.2" Int MPI_Type_create_hindexed | MPI_Type_create_hindexed_c(count: TypeCount, array_of_blocklengths: Counts,
            array_of_displacements: AintCounts, oldtype: Datatype, newtype: DatatypeOut);
        "4.1.2" Int MPI_Type_create_hindexed_block | MPI_Type_create_hindexed_block_c(count: TypeCount, blocklength: TypeCount,
            array_of_displacements: AintCounts, oldtype: Datatype, newtype: DatatypeOut);
        "4.1.2" Int MPI_Type_create_hvector | MPI_Type_create_hvector_c(count: TypeCount, blocklength: TypeCount,
            stride: AintCount, oldtype: Datatype, newtype: DatatypeOut);
        "4.1.2" Int MPI_Type_create_indexed_block | MPI_Type_create_indexed_block_c(count: TypeCount, blocklength: TypeCount,
            array_of_displacements: ElementDispls, oldtype: Datatype, newtype: DatatypeOut);
        "4.1.2" Int MPI_Type_create_struct | MPI_Type_create_struct_c(count: TypeCount, array_of_blocklengths: Counts,
            array_of_displacements: AintCounts, array_of_types: Datatypes, newtype: DatatypeOut);
        "4.1.2" Int MPI_Type_indexed | MPI_Type_indexed_c(count: TypeCount, array_of_blocklengths: Counts,
            array_of_displacements: ElementDispls, oldtype: Datatype, newtype: DatatypeOut);
        "4.1.2" Int MPI_Type_vector | MPI_Type_vector_c(count: TypeCount, blocklength: TypeCount, stride: TypeCount,
            oldtype: Datatype, newtype: DatatypeOut);
        "4.1.3" Int MPI_Type_create_subarray | MPI_Type_create_subarray_c(ndims: Int, array_of_sizes: Counts,
            array_of_subsizes: Counts, array_of_starts: Counts, order: Int, oldtype: Datatype, newtype: DatatypeOut);
        "4.1.4" Int MPI_Type_create_darray | MPI_Type_create_darray_c(size: Int, rank: Rank, ndims: Int,
            array_of_gsizes: Counts, array_of_distribs: Ints, array_of_dargs: Ints, array_of_psizes: Ints, order: Int,
            oldtype: Datatype, newtype: DatatypeOut);
        "4.1.5" Aint MPI_Aint_add(base: Aint, disp: Aint);
        "4.1.5" Aint MPI_Aint_diff(addr1: Aint, addr2: Aint);
        "4.1.5" Int MPI_Get_address(location: BufferIn, address: AintOut);
        "4.1.5" Int MPI_Type_size | MPI_Type_size_c(datatype: Datatype, size: CountOut);
        "4.1.5" Int MPI_Type_size_x(datatype: Datatype, size: LargeCountOut);
        "4.1.7" Int MPI_Type_create_resized | MPI_Type_create_resized_c(oldtype: Datatype, lb: AintCount,
            extent: AintCount, newtype: DatatypeOut);
        "4.1.7" Int MPI_Type_get_extent | MPI_Type_get_extent_c(datatype: Datatype, lb: AintCountOut,
            extent: AintCountOut);
        "4.1.7" Int MPI_Type_get_extent_x(datatype: Datatype, lb: LargeCountOut, extent: LargeCountOut);
        "4.1.8" Int MPI_Type_get_true_extent | MPI_Type_get_true_extent_c(datatype: Datatype, true_lb: AintCountOut,
            true_extent: AintCountOut);
        "4.1.8" Int MPI_Type_get_true_extent_x(datatype: Datatype, true_lb: LargeCountOut,
            true_extent: LargeCountOut);
        "4.1.9" Int MPI_Type_commit(datatype: DatatypeInOut);
        /// Active requests and derived datatypes that use it remain valid.
        "4.1.9" Int MPI_Type_free(datatype: DatatypeInOut);
        "4.1.10" Int MPI_Type_dup(oldtype: Datatype, newtype: DatatypeOut);
        "4.1.11" Int MPI_Get_elements | MPI_Get_elements_c(status: Status, datatype: Datatype, count: CountOut);
        "4.1.11" Int MPI_Get_elements_x(status: Status, datatype: Datatype, count: LargeCountOut);
        /// Derived datatypes in the result are new handles, which the caller frees.
        "4.1.13" Int MPI_Type_get_contents(datatype: Datatype, max_integers: Int, max_addresses: Int,
            max_datatypes: Int, array_of_integers: IntsOut, array_of_addresses: AintsOut,
            array_of_datatypes: DatatypesOut);
        "4.1.13" Int MPI_Type_get_contents_c(datatype: Datatype, max_integers: LargeCount, max_addresses: LargeCount,
            max_large_counts: LargeCount, max_datatypes: LargeCount, array_of_integers: IntsOut,
            array_of_addresses: AintsOut, array_of_large_counts: LargeCountsOut, array_of_datatypes: DatatypesOut);
        /// MPI_ERR_TYPE for a datatype of a large-count constructor: use the large-count form.
        "4.1.13" Int MPI_Type_get_envelope(datatype: Datatype, num_integers: IntOut, num_addresses: IntOut,
            num_datatypes: IntOut, combiner: IntOut);
        "4.1.13" Int MPI_Type_get_envelope_c(datatype: Datatype, num_integers: LargeCountOut,
            num_addresses: LargeCountOut, num_large_counts: LargeCountOut, num_datatypes: LargeCountOut,
            combiner: IntOut);
        "4.2" Int MPI_Pack | MPI_Pack_c(inbuf: BufferIn, incount: Count, datatype: Datatype, outbuf: BufferOut,
            outsize: Count, position: CountInOut, comm: Comm);
        "4.2" Int MPI_Pack_size | MPI_Pack_size_c(incount: Count, datatype: Datatype, comm: Comm, size: CountOut);
        "4.2" Int MPI_Unpack | MPI_Unpack_c(inbuf: BufferIn, insize: Count, position: CountInOut, outbuf: BufferOut,
            outcount: Count, datatype: Datatype, comm: Comm);
        /// datarep is "external32" (section 13.5.2), in which MPI_LONG has 4 bytes.
        "4.3" Int MPI_Pack_external | MPI_Pack_external_c(datarep: Chars, inbuf: BufferIn, incount: Count,
            datatype: Datatype, outbuf: BufferOut, outsize: AintCount, position: AintCountInOut)
            limited "MPI_C_BOOL has 1 byte, as in later versions of the standard";
        "4.3" Int MPI_Pack_external_size | MPI_Pack_external_size_c(datarep: Chars, incount: Count, datatype: Datatype,
            size: AintCountOut);
        "4.3" Int MPI_Unpack_external | MPI_Unpack_external_c(datarep: Chars, inbuf: BufferIn, insize: AintCount,
            position: AintCountInOut, outbuf: BufferOut, outcount: Count, datatype: Datatype);

        "5.3" Int MPI_Barrier(comm: Comm);
        /// All processes create the persistent collectives of a communicator in the same order, and start them in any
        /// order. Arrays of arguments are copied.
        "5.3" Int MPI_Barrier_init(comm: Comm, info: Info, request: RequestOut)
            limited "hints are ignored; at most 65,536 persistent requests exist";
        "5.4" Int MPI_Bcast | MPI_Bcast_c(buffer: BufferInOut, count: Count, datatype: Datatype, root: Rank,
            comm: Comm);
        "5.4" Int MPI_Bcast_init | MPI_Bcast_init_c(buffer: BufferInOut, count: Count, datatype: Datatype, root: Rank,
            comm: Comm, info: Info, request: RequestOut);
        "5.5" Int MPI_Gather | MPI_Gather_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype, recvbuf: BufferOut,
            recvcount: Count, recvtype: Datatype, root: Rank, comm: Comm);
        "5.5" Int MPI_Gather_init | MPI_Gather_init_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, root: Rank, comm: Comm, info: Info,
            request: RequestOut);
        "5.5" Int MPI_Gatherv | MPI_Gatherv_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcounts: Counts, displs: Displs, recvtype: Datatype, root: Rank, comm: Comm);
        "5.5" Int MPI_Gatherv_init | MPI_Gatherv_init_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcounts: Counts, displs: Displs, recvtype: Datatype, root: Rank, comm: Comm,
            info: Info, request: RequestOut);
        "5.6" Int MPI_Scatter | MPI_Scatter_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, root: Rank, comm: Comm);
        "5.6" Int MPI_Scatter_init | MPI_Scatter_init_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, root: Rank, comm: Comm, info: Info,
            request: RequestOut);
        "5.6" Int MPI_Scatterv | MPI_Scatterv_c(sendbuf: BufferIn, sendcounts: Counts, displs: Displs,
            sendtype: Datatype, recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, root: Rank, comm: Comm);
        "5.6" Int MPI_Scatterv_init | MPI_Scatterv_init_c(sendbuf: BufferIn, sendcounts: Counts, displs: Displs,
            sendtype: Datatype, recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, root: Rank, comm: Comm,
            info: Info, request: RequestOut);
        "5.7" Int MPI_Allgather | MPI_Allgather_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, comm: Comm);
        "5.7" Int MPI_Allgather_init | MPI_Allgather_init_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, comm: Comm, info: Info, request: RequestOut);
        "5.7" Int MPI_Allgatherv | MPI_Allgatherv_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm);
        "5.7" Int MPI_Allgatherv_init | MPI_Allgatherv_init_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm, info: Info,
            request: RequestOut);
        "5.8" Int MPI_Alltoall | MPI_Alltoall_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, comm: Comm);
        "5.8" Int MPI_Alltoall_init | MPI_Alltoall_init_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, comm: Comm, info: Info, request: RequestOut);
        "5.8" Int MPI_Alltoallv | MPI_Alltoallv_c(sendbuf: BufferIn, sendcounts: Counts, sdispls: Displs,
            sendtype: Datatype, recvbuf: BufferOut, recvcounts: Counts, rdispls: Displs, recvtype: Datatype,
            comm: Comm);
        "5.8" Int MPI_Alltoallv_init | MPI_Alltoallv_init_c(sendbuf: BufferIn, sendcounts: Counts, sdispls: Displs,
            sendtype: Datatype, recvbuf: BufferOut, recvcounts: Counts, rdispls: Displs, recvtype: Datatype, comm: Comm,
            info: Info, request: RequestOut);
        "5.8" Int MPI_Alltoallw | MPI_Alltoallw_c(sendbuf: BufferIn, sendcounts: Counts, sdispls: Displs,
            sendtypes: Datatypes, recvbuf: BufferOut, recvcounts: Counts, rdispls: Displs, recvtypes: Datatypes,
            comm: Comm);
        "5.8" Int MPI_Alltoallw_init | MPI_Alltoallw_init_c(sendbuf: BufferIn, sendcounts: Counts, sdispls: Displs,
            sendtypes: Datatypes, recvbuf: BufferOut, recvcounts: Counts, rdispls: Displs, recvtypes: Datatypes,
            comm: Comm, info: Info, request: RequestOut);
        /// Reductions combine the values of the ranks in a fixed order: the same values give the same bits, at every
        /// root and in every run.
        "5.9.1" Int MPI_Reduce | MPI_Reduce_c(sendbuf: BufferIn, recvbuf: BufferOut, count: Count, datatype: Datatype,
            op: Op, root: Rank, comm: Comm)
            limited "more than the standard has, as other MPIs: MPI_CHAR is a whole number, logical operations take \
             numbers with a point";
        "5.9.1" Int MPI_Reduce_init | MPI_Reduce_init_c(sendbuf: BufferIn, recvbuf: BufferOut, count: Count,
            datatype: Datatype, op: Op, root: Rank, comm: Comm, info: Info, request: RequestOut);
        "5.9.4" Int MPI_Type_get_value_index(value_type: Datatype, index_type: Datatype, pair_type: DatatypeOut);
        "5.9.5" Int MPI_Op_create(user_fn: UserFn, commute: Logical, op: OpOut)
            limited "65,536 operations at one time; values are combined in the order of the ranks, but for \
             allreduces by operations that commute";
        "5.9.5" Int MPI_Op_create_c(user_fn: LargeUserFn, commute: Logical, op: OpOut);
        "5.9.5" Int MPI_Op_free(op: OpInOut);
        "5.9.6" Int MPI_Allreduce | MPI_Allreduce_c(sendbuf: BufferIn, recvbuf: BufferOut, count: Count,
            datatype: Datatype, op: Op, comm: Comm);
        "5.9.6" Int MPI_Allreduce_init | MPI_Allreduce_init_c(sendbuf: BufferIn, recvbuf: BufferOut, count: Count,
            datatype: Datatype, op: Op, comm: Comm, info: Info, request: RequestOut);
        "5.9.7" Int MPI_Op_commutative(op: Op, commute: LogicalOut);
        "5.9.7" Int MPI_Reduce_local | MPI_Reduce_local_c(inbuf: BufferIn, inoutbuf: BufferInOut, count: Count,
            datatype: Datatype, op: Op);
        "5.10.1" Int MPI_Reduce_scatter_block | MPI_Reduce_scatter_block_c(sendbuf: BufferIn, recvbuf: BufferOut,
            recvcount: Count, datatype: Datatype, op: Op, comm: Comm);
        "5.10.1" Int MPI_Reduce_scatter_block_init | MPI_Reduce_scatter_block_init_c(sendbuf: BufferIn,
            recvbuf: BufferOut, recvcount: Count, datatype: Datatype, op: Op, comm: Comm, info: Info,
            request: RequestOut);
        "5.10.2" Int MPI_Reduce_scatter | MPI_Reduce_scatter_c(sendbuf: BufferIn, recvbuf: BufferOut,
            recvcounts: Counts, datatype: Datatype, op: Op, comm: Comm);
        "5.10.2" Int MPI_Reduce_scatter_init | MPI_Reduce_scatter_init_c(sendbuf: BufferIn, recvbuf: BufferOut,
            recvcounts: Counts, datatype: Datatype, op: Op, comm: Comm, info: Info, request: RequestOut);
        "5.11.1" Int MPI_Scan | MPI_Scan_c(sendbuf: BufferIn, recvbuf: BufferOut, count: Count, datatype: Datatype,
            op: Op, comm: Comm);
        "5.11.1" Int MPI_Scan_init | MPI_Scan_init_c(sendbuf: BufferIn, recvbuf: BufferOut, count: Count,
            datatype: Datatype, op: Op, comm: Comm, info: Info, request: RequestOut);
        "5.11.2" Int MPI_Exscan | MPI_Exscan_c(sendbuf: BufferIn, recvbuf: BufferOut, count: Count, datatype: Datatype,
            op: Op, comm: Comm);
        "5.11.2" Int MPI_Exscan_init | MPI_Exscan_init_c(sendbuf: BufferIn, recvbuf: BufferOut, count: Count,
            datatype: Datatype, op: Op, comm: Comm, info: Info, request: RequestOut);
        /// Nonblocking collectives allocate memory in the heap at their start: MPI_ERR_NO_MEM if it is full.
        "5.12.1" Int MPI_Ibarrier(comm: Comm, request: RequestOut) limited NOT_BLOCKING;
        "5.12.2" Int MPI_Ibcast | MPI_Ibcast_c(buffer: BufferInOut, count: Count, datatype: Datatype, root: Rank,
            comm: Comm, request: RequestOut) limited NOT_BLOCKING;
        "5.12.3" Int MPI_Igather | MPI_Igather_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, root: Rank, comm: Comm, request: RequestOut)
            limited NOT_BLOCKING;
        "5.12.3" Int MPI_Igatherv | MPI_Igatherv_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcounts: Counts, displs: Displs, recvtype: Datatype, root: Rank, comm: Comm,
            request: RequestOut)
            limited NOT_BLOCKING;
        "5.12.4" Int MPI_Iscatter | MPI_Iscatter_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, root: Rank, comm: Comm, request: RequestOut)
            limited NOT_BLOCKING;
        "5.12.4" Int MPI_Iscatterv | MPI_Iscatterv_c(sendbuf: BufferIn, sendcounts: Counts, displs: Displs,
            sendtype: Datatype, recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, root: Rank, comm: Comm,
            request: RequestOut)
            limited NOT_BLOCKING;
        "5.12.5" Int MPI_Iallgather | MPI_Iallgather_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, comm: Comm, request: RequestOut)
            limited NOT_BLOCKING;
        "5.12.5" Int MPI_Iallgatherv | MPI_Iallgatherv_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm, request: RequestOut)
            limited NOT_BLOCKING;
        "5.12.6" Int MPI_Ialltoall | MPI_Ialltoall_c(sendbuf: BufferIn, sendcount: Count, sendtype: Datatype,
            recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, comm: Comm, request: RequestOut)
            limited NOT_BLOCKING;
        "5.12.6" Int MPI_Ialltoallv | MPI_Ialltoallv_c(sendbuf: BufferIn, sendcounts: Counts, sdispls: Displs,
            sendtype: Datatype, recvbuf: BufferOut, recvcounts: Counts, rdispls: Displs, recvtype: Datatype, comm: Comm,
            request: RequestOut) limited NOT_BLOCKING;
        "5.12.6" Int MPI_Ialltoallw | MPI_Ialltoallw_c(sendbuf: BufferIn, sendcounts: Counts, sdispls: Displs,
            sendtypes: Datatypes, recvbuf: BufferOut, recvcounts: Counts, rdispls: Displs, recvtypes: Datatypes,
            comm: Comm, request: RequestOut) limited NOT_BLOCKING;
        "5.12.7" Int MPI_Ireduce | MPI_Ireduce_c(sendbuf: BufferIn, recvbuf: BufferOut, count: Count,
            datatype: Datatype, op: Op, root: Rank, comm: Comm, request: RequestOut) limited NOT_BLOCKING;
        "5.12.8" Int MPI_Iallreduce | MPI_Iallreduce_c(sendbuf: BufferIn, recvbuf: BufferOut, count: Count,
            datatype: Datatype, op: Op, comm: Comm, request: RequestOut) limited NOT_BLOCKING;
        "5.12.9" Int MPI_Ireduce_scatter_block | MPI_Ireduce_scatter_block_c(sendbuf: BufferIn, recvbuf: BufferOut,
            recvcount: Count, datatype: Datatype, op: Op, comm: Comm, request: RequestOut) limited NOT_BLOCKING;
        "5.12.10" Int MPI_Ireduce_scatter | MPI_Ireduce_scatter_c(sendbuf: BufferIn, recvbuf: BufferOut,
            recvcounts: Counts, datatype: Datatype, op: Op, comm: Comm, request: RequestOut) limited NOT_BLOCKING;
        "5.12.11" Int MPI_Iscan | MPI_Iscan_c(sendbuf: BufferIn, recvbuf: BufferOut, count: Count, datatype: Datatype,
            op: Op, comm: Comm, request: RequestOut) limited NOT_BLOCKING;
        "5.12.12" Int MPI_Iexscan | MPI_Iexscan_c(sendbuf: BufferIn, recvbuf: BufferOut, count: Count,
            datatype: Datatype, op: Op, comm: Comm, request: RequestOut) limited NOT_BLOCKING;

        "6.3.1" Int MPI_Group_compare(group1: Group, group2: Group, result: IntOut);
        "6.3.1" Int MPI_Group_rank(group: Group, rank: RankOut);
        "6.3.1" Int MPI_Group_size(group: Group, size: IntOut);
        "6.3.1" Int MPI_Group_translate_ranks(group1: Group, n: Int, ranks1: Ranks, group2: Group, ranks2: RanksOut);
        "6.3.2" Int MPI_Comm_group(comm: Comm, group: GroupOut);
        "6.3.2" Int MPI_Group_difference(group1: Group, group2: Group, newgroup: GroupOut);
        "6.3.2" Int MPI_Group_excl(group: Group, n: Int, ranks: Ranks, newgroup: GroupOut);
        "6.3.2" Int MPI_Group_from_session_pset(session: Session, pset_name: Text, newgroup: GroupOut);
        "6.3.2" Int MPI_Group_incl(group: Group, n: Int, ranks: Ranks, newgroup: GroupOut)
            limited "at most 4,096 groups of different members exist";
        "6.3.2" Int MPI_Group_intersection(group1: Group, group2: Group, newgroup: GroupOut);
        "6.3.2" Int MPI_Group_range_excl(group: Group, n: Int, ranges: Triplets, newgroup: GroupOut);
        "6.3.2" Int MPI_Group_range_incl(group: Group, n: Int, ranges: Triplets, newgroup: GroupOut);
        "6.3.2" Int MPI_Group_union(group1: Group, group2: Group, newgroup: GroupOut);
        "6.3.3" Int MPI_Group_free(group: GroupInOut);
        "6.4.1" Int MPI_Comm_compare(comm1: Comm, comm2: Comm, result: IntOut);
        "6.4.1" Int MPI_Comm_rank(comm: Comm, rank: RankOut);
        "6.4.1" Int MPI_Comm_size(comm: Comm, size: IntOut);
        "6.4.2" Int MPI_Comm_create(comm: Comm, group: Group, newcomm: CommOut);
        "6.4.2" Int MPI_Comm_create_from_group(group: Group, stringtag: Text, info: Info, errhandler: Errhandler,
            newcomm: CommOut);
        "6.4.2" Int MPI_Comm_create_group(comm: Comm, group: Group, tag: Tag, newcomm: CommOut);
        "6.4.2" Int MPI_Comm_dup(comm: Comm, newcomm: CommOut)
            limited "at most 2,046 communicators exist, with MPI_COMM_WORLD and MPI_COMM_SELF";
        "6.4.2" Int MPI_Comm_dup_with_info(comm: Comm, info: Info, newcomm: CommOut) limited "all hints are ignored";
        /// The variable must exist until the request is complete.
        "6.4.2" Int MPI_Comm_idup(comm: Comm, newcomm: CommOut, request: RequestOut)
            limited "*newcomm is written at completion";
        "6.4.2" Int MPI_Comm_idup_with_info(comm: Comm, info: Info, newcomm: CommOut, request: RequestOut)
            limited "all hints are ignored; *newcomm is written at completion";
        "6.4.2" Int MPI_Comm_split(comm: Comm, color: Int, key: Int, newcomm: CommOut);
        "6.4.2" Int MPI_Comm_split_type(comm: Comm, split_type: Int, key: Int, info: Info, newcomm: CommOut)
            limited "the processes of a host share memory on Linux; nodes and ranks of the simulator share none: \
                MPI_COMM_TYPE_SHARED returns communicators of one rank, and MPI_COMM_NULL for an intercommunicator";
        /// The communicator's slot is reused when no message of it remains.
        "6.4.3" Int MPI_Comm_free(comm: CommInOut);
        "6.4.4" Int MPI_Comm_get_info(comm: Comm, info_used: InfoOut) limited "always an empty info object";
        "6.4.4" Int MPI_Comm_set_info(comm: Comm, info: Info) limited "all hints are ignored";
        "6.6.1" Int MPI_Comm_remote_group(comm: Comm, group: GroupOut);
        "6.6.1" Int MPI_Comm_remote_size(comm: Comm, size: IntOut);
        "6.6.1" Int MPI_Comm_test_inter(comm: Comm, flag: LogicalOut);
        /// The groups have no process in common. Messages go to the remote group; in collectives each group receives
        /// the data of the other one (section 5.2.3). A split or a create returns MPI_COMM_NULL for a part that one
        /// group only has. peer_comm, in which the leaders communicate, can be of either kind.
        "6.6.2" Int MPI_Intercomm_create(local_comm: Comm, local_leader: Rank, peer_comm: Comm, remote_leader: Rank,
            tag: Tag, newintercomm: CommOut);
        "6.6.2" Int MPI_Intercomm_create_from_groups(local_group: Group, local_leader: Rank, remote_group: Group,
            remote_leader: Rank, stringtag: Text, info: Info, errhandler: Errhandler, newintercomm: CommOut);
        /// If both groups specify the same `high`, the group whose rank 0 has the lower rank in MPI_COMM_WORLD is
        /// first.
        "6.6.2" Int MPI_Intercomm_merge(intercomm: Comm, high: Logical, newintracomm: CommOut);
        /// The delete functions of an object's attributes are called in the reverse order of setting; in
        /// MPI_Finalize for MPI_COMM_SELF, then for MPI_COMM_WORLD.
        "6.7.2" Int MPI_Comm_create_keyval(comm_copy_attr_fn: CopyFn, comm_delete_attr_fn: DeleteFn,
            comm_keyval: IntOut, extra_state: ExtraState) limited "at most 4,096 keys exist";
        "6.7.2" Int MPI_Comm_delete_attr(comm: Comm, comm_keyval: Int);
        "6.7.2" Int MPI_Comm_free_keyval(comm_keyval: IntInOut);
        "6.7.2" Int MPI_Comm_get_attr(comm: Comm, comm_keyval: Int, attribute_val: AttributeOut, flag: LogicalOut);
        "6.7.2" Int MPI_Comm_set_attr(comm: Comm, comm_keyval: Int, attribute_val: Attribute);
        "6.7.3" Int MPI_Win_create_keyval(win_copy_attr_fn: WinCopyFn, win_delete_attr_fn: WinDeleteFn,
            win_keyval: IntOut, extra_state: ExtraState);
        "6.7.3" Int MPI_Win_delete_attr(win: Win, win_keyval: Int);
        "6.7.3" Int MPI_Win_free_keyval(win_keyval: IntInOut);
        "6.7.3" Int MPI_Win_get_attr(win: Win, win_keyval: Int, attribute_val: AttributeOut, flag: LogicalOut);
        "6.7.3" Int MPI_Win_set_attr(win: Win, win_keyval: Int, attribute_val: Attribute);
        /// Uses the same keys as communicators; MPI_Type_free deletes the attributes of a datatype.
        "6.7.4" Int MPI_Type_create_keyval(type_copy_attr_fn: TypeCopyFn, type_delete_attr_fn: TypeDeleteFn,
            type_keyval: IntOut, extra_state: ExtraState);
        "6.7.4" Int MPI_Type_delete_attr(datatype: Datatype, type_keyval: Int);
        "6.7.4" Int MPI_Type_free_keyval(type_keyval: IntInOut);
        "6.7.4" Int MPI_Type_get_attr(datatype: Datatype, type_keyval: Int, attribute_val: AttributeOut,
            flag: LogicalOut);
        "6.7.4" Int MPI_Type_set_attr(datatype: Datatype, type_keyval: Int, attribute_val: Attribute);
        "6.8" Int MPI_Comm_get_name(comm: Comm, comm_name: TextOut, resultlen: IntOut);
        "6.8" Int MPI_Comm_set_name(comm: Comm, comm_name: Text) limited "at most 63 bytes; a longer name is truncated";
        "6.8" Int MPI_Type_get_name(datatype: Datatype, type_name: TextOut, resultlen: IntOut);
        "6.8" Int MPI_Type_set_name(datatype: Datatype, type_name: Text) limited "at most 63 bytes; a longer name is truncated";
        "6.8" Int MPI_Win_get_name(win: Win, win_name: TextOut, resultlen: IntOut);
        "6.8" Int MPI_Win_set_name(win: Win, win_name: Text);

        /// With `reorder`, neighbours in a grid of all processes are neighbours in the torus, if each extent is that
        /// of an axis of the torus or a product of several.
        "7.5.1" Int MPI_Cart_create(comm_old: Comm, ndims: Int, dims: Ints, periods: Logicals, reorder: Logical,
            comm_cart: CommOut) limited "16 dimensions";
        "7.5.2" Int MPI_Dims_create(nnodes: Int, ndims: Int, dims: IntsInOut);
        /// Allocates in the program's heap. Ranks are never reordered.
        "7.5.3" Int MPI_Graph_create(comm_old: Comm, nnodes: Int, index: Ints, edges: Ints, reorder: Logical,
            comm_graph: CommOut);
        /// Neighbours are in the order of the ranks that specified the edges, then in the order of the arguments.
        "7.5.4" Int MPI_Dist_graph_create(comm_old: Comm, n: Int, sources: Ranks, degrees: Ints,
            destinations: Ranks, weights: Ints, info: Info, reorder: Logical, comm_dist_graph: CommOut);
        "7.5.4" Int MPI_Dist_graph_create_adjacent(comm_old: Comm, indegree: Int, sources: Ranks,
            sourceweights: Ints, outdegree: Int, destinations: Ranks, destweights: Ints, info: Info,
            reorder: Logical, comm_dist_graph: CommOut);
        "7.5.5" Int MPI_Cart_coords(comm: Comm, rank: Rank, maxdims: Int, coords: IntsOut);
        "7.5.5" Int MPI_Cart_get(comm: Comm, maxdims: Int, dims: IntsOut, periods: LogicalsOut, coords: IntsOut);
        "7.5.5" Int MPI_Cart_rank(comm: Comm, coords: Ints, rank: RankOut);
        "7.5.5" Int MPI_Cartdim_get(comm: Comm, ndims: IntOut);
        "7.5.5" Int MPI_Dist_graph_neighbors(comm: Comm, maxindegree: Int, sources: RanksOut,
            sourceweights: IntsOut, maxoutdegree: Int, destinations: RanksOut, destweights: IntsOut);
        "7.5.5" Int MPI_Dist_graph_neighbors_count(comm: Comm, indegree: IntOut, outdegree: IntOut,
            weighted: LogicalOut);
        "7.5.5" Int MPI_Graph_get(comm: Comm, maxindex: Int, maxedges: Int, index: IntsOut, edges: IntsOut);
        "7.5.5" Int MPI_Graph_neighbors(comm: Comm, rank: Rank, maxneighbors: Int, neighbors: RanksOut);
        "7.5.5" Int MPI_Graph_neighbors_count(comm: Comm, rank: Rank, nneighbors: IntOut);
        "7.5.5" Int MPI_Graphdims_get(comm: Comm, nnodes: IntOut, nedges: IntOut);
        "7.5.5" Int MPI_Topo_test(comm: Comm, status: IntOut);
        "7.5.6" Int MPI_Cart_shift(comm: Comm, direction: Int, disp: Int, rank_source: RankOut, rank_dest: RankOut);
        "7.5.7" Int MPI_Cart_sub(comm: Comm, remain_dims: Logicals, newcomm: CommOut);
        "7.5.8" Int MPI_Cart_map(comm: Comm, ndims: Int, dims: Ints, periods: Logicals, newrank: RankOut);
        "7.5.8" Int MPI_Graph_map(comm: Comm, nnodes: Int, index: Ints, edges: Ints, newrank: RankOut);
        "7.6.1" Int MPI_Neighbor_allgather | MPI_Neighbor_allgather_c(sendbuf: BufferIn, sendcount: Count,
            sendtype: Datatype, recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, comm: Comm);
        "7.6.1" Int MPI_Neighbor_allgather_init | MPI_Neighbor_allgather_init_c(sendbuf: BufferIn, sendcount: Count,
            sendtype: Datatype, recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, comm: Comm, info: Info,
            request: RequestOut);
        "7.6.1" Int MPI_Neighbor_allgatherv | MPI_Neighbor_allgatherv_c(sendbuf: BufferIn, sendcount: Count,
            sendtype: Datatype, recvbuf: BufferOut, recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm);
        "7.6.1" Int MPI_Neighbor_allgatherv_init | MPI_Neighbor_allgatherv_init_c(sendbuf: BufferIn, sendcount: Count,
            sendtype: Datatype, recvbuf: BufferOut, recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm,
            info: Info, request: RequestOut);
        /// If one process is the neighbour on both sides of a dimension of a grid, data sent to the lower side is
        /// received from the upper one.
        "7.6.2" Int MPI_Neighbor_alltoall | MPI_Neighbor_alltoall_c(sendbuf: BufferIn, sendcount: Count,
            sendtype: Datatype, recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, comm: Comm);
        "7.6.2" Int MPI_Neighbor_alltoall_init | MPI_Neighbor_alltoall_init_c(sendbuf: BufferIn, sendcount: Count,
            sendtype: Datatype, recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, comm: Comm, info: Info,
            request: RequestOut);
        "7.6.2" Int MPI_Neighbor_alltoallv | MPI_Neighbor_alltoallv_c(sendbuf: BufferIn, sendcounts: Counts,
            sdispls: Displs, sendtype: Datatype, recvbuf: BufferOut, recvcounts: Counts, rdispls: Displs,
            recvtype: Datatype, comm: Comm);
        "7.6.2" Int MPI_Neighbor_alltoallv_init | MPI_Neighbor_alltoallv_init_c(sendbuf: BufferIn, sendcounts: Counts,
            sdispls: Displs, sendtype: Datatype, recvbuf: BufferOut, recvcounts: Counts, rdispls: Displs,
            recvtype: Datatype, comm: Comm, info: Info, request: RequestOut);
        "7.6.2" Int MPI_Neighbor_alltoallw | MPI_Neighbor_alltoallw_c(sendbuf: BufferIn, sendcounts: Counts,
            sdispls: Aints, sendtypes: Datatypes, recvbuf: BufferOut, recvcounts: Counts, rdispls: Aints,
            recvtypes: Datatypes, comm: Comm);
        "7.6.2" Int MPI_Neighbor_alltoallw_init | MPI_Neighbor_alltoallw_init_c(sendbuf: BufferIn, sendcounts: Counts,
            sdispls: Aints, sendtypes: Datatypes, recvbuf: BufferOut, recvcounts: Counts, rdispls: Aints,
            recvtypes: Datatypes, comm: Comm, info: Info, request: RequestOut);
        "7.7.1" Int MPI_Ineighbor_allgather | MPI_Ineighbor_allgather_c(sendbuf: BufferIn, sendcount: Count,
            sendtype: Datatype, recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, comm: Comm,
            request: RequestOut);
        "7.7.1" Int MPI_Ineighbor_allgatherv | MPI_Ineighbor_allgatherv_c(sendbuf: BufferIn, sendcount: Count,
            sendtype: Datatype, recvbuf: BufferOut, recvcounts: Counts, displs: Displs, recvtype: Datatype, comm: Comm,
            request: RequestOut);
        "7.7.2" Int MPI_Ineighbor_alltoall | MPI_Ineighbor_alltoall_c(sendbuf: BufferIn, sendcount: Count,
            sendtype: Datatype, recvbuf: BufferOut, recvcount: Count, recvtype: Datatype, comm: Comm,
            request: RequestOut);
        "7.7.2" Int MPI_Ineighbor_alltoallv | MPI_Ineighbor_alltoallv_c(sendbuf: BufferIn, sendcounts: Counts,
            sdispls: Displs, sendtype: Datatype, recvbuf: BufferOut, recvcounts: Counts, rdispls: Displs,
            recvtype: Datatype, comm: Comm, request: RequestOut);
        "7.7.2" Int MPI_Ineighbor_alltoallw | MPI_Ineighbor_alltoallw_c(sendbuf: BufferIn, sendcounts: Counts,
            sdispls: Aints, sendtypes: Datatypes, recvbuf: BufferOut, recvcounts: Counts, rdispls: Aints,
            recvtypes: Datatypes, comm: Comm, request: RequestOut);

        "8.1.1" Int MPI_Get_library_version(version: TextOut, resultlen: IntOut);
        "8.1.1" Int MPI_Get_version(version: IntOut, subversion: IntOut);
        "8.1.2" Int MPI_Get_hw_resource_info(hw_info: InfoOut);
        "8.1.2" Int MPI_Get_processor_name(name: TextOut, resultlen: IntOut);
        /// Allocates in the program's heap, aligned to 16 bytes. baseptr: address of the pointer.
        "8.2" Int MPI_Alloc_mem(size: Aint, info: Info, baseptr: AddressOut);
        "8.2" Int MPI_Free_mem(base: BufferInOut);
        "8.3.1" Int MPI_Comm_create_errhandler(comm_errhandler_fn: ErrorFn, errhandler: ErrhandlerOut)
            limited "at most 32 error handlers exist, with those of files";
        "8.3.1" Int MPI_Comm_get_errhandler(comm: Comm, errhandler: ErrhandlerOut);
        "8.3.1" Int MPI_Comm_set_errhandler(comm: Comm, errhandler: Errhandler);
        "8.3.2" Int MPI_Win_create_errhandler(win_errhandler_fn: WinErrorFn, errhandler: ErrhandlerOut);
        "8.3.2" Int MPI_Win_get_errhandler(win: Win, errhandler: ErrhandlerOut);
        "8.3.2" Int MPI_Win_set_errhandler(win: Win, errhandler: Errhandler);
        "8.3.3" Int MPI_File_create_errhandler(file_errhandler_fn: FileErrorFn, errhandler: ErrhandlerOut)
            limited "at most 32 error handlers exist, with those of communicators";
        "8.3.3" Int MPI_File_get_errhandler(file: File, errhandler: ErrhandlerOut)
            limited "the default handler, of MPI_FILE_NULL";
        "8.3.3" Int MPI_File_set_errhandler(file: File, errhandler: Errhandler)
            limited "the default handler, of MPI_FILE_NULL";
        "8.3.4" Int MPI_Errhandler_free(errhandler: ErrhandlerInOut);
        /// The string of a code describes the last failure of a call with it.
        "8.3.4" Int MPI_Error_string(errorcode: Int, string: TextOut, resultlen: IntOut);
        "8.3.4" Int MPI_Session_call_errhandler(session: Session, errorcode: Int);
        "8.3.4" Int MPI_Session_create_errhandler(session_errhandler_fn: SessionErrorFn, errhandler: ErrhandlerOut);
        "8.3.4" Int MPI_Session_get_errhandler(session: Session, errhandler: ErrhandlerOut);
        "8.3.4" Int MPI_Session_set_errhandler(session: Session, errhandler: Errhandler);
        "8.4" Int MPI_Error_class(errorcode: Int, errorclass: IntOut);
        "8.5" Int MPI_Add_error_class(errorclass: IntOut) limited "4,096 classes and codes together";
        "8.5" Int MPI_Add_error_code(errorclass: Int, errorcode: IntOut) limited "4,096 classes and codes together";
        /// A string has at most 511 bytes; a longer one is truncated.
        "8.5" Int MPI_Add_error_string(errorcode: Int, string: Text);
        "8.5" Int MPI_Comm_call_errhandler(comm: Comm, errorcode: Int);
        "8.5" Int MPI_File_call_errhandler(fh: File, errorcode: Int);
        /// A class or a code that is removed can be added again.
        "8.5" Int MPI_Remove_error_class(errorclass: Int);
        "8.5" Int MPI_Remove_error_code(errorcode: Int);
        "8.5" Int MPI_Remove_error_string(errorcode: Int);
        "8.5" Int MPI_Win_call_errhandler(win: Win, errorcode: Int);
        "8.6" Double MPI_Wtick();
        /// Returns the seconds since the start of this node.
        "8.6" Double MPI_Wtime()
            limited "clocks of different nodes are not synchronised (MPI_WTIME_IS_GLOBAL is false)";
        /// Ends the whole job, whatever `comm` is, with the status errorcode; does not return.
        "8.7" Int MPI_Abort(comm: Comm, errorcode: Int);
        /// Blocks until all operations of this rank are complete, and then until all ranks call it.
        "8.7" Int MPI_Finalize();
        "8.7" Int MPI_Finalized(flag: LogicalOut);
        "8.7" Int MPI_Init(argc: IntInOut, argv: Argv);
        "8.7" Int MPI_Initialized(flag: LogicalOut);
        "8.7" Int MPI_Session_finalize(session: SessionInOut);
        "8.7" Int MPI_Session_get_info(session: Session, info_used: InfoOut);
        "8.7" Int MPI_Session_get_nth_pset(session: Session, info: Info, n: Int, pset_len: IntInOut,
            pset_name: TextOut);
        "8.7" Int MPI_Session_get_num_psets(session: Session, info: Info, npset_names: IntOut);
        "8.7" Int MPI_Session_get_pset_info(session: Session, pset_name: Text, info: InfoOut);
        "8.7" Int MPI_Session_init(info: Info, errhandler: Errhandler, session: SessionOut)
            limited "at most 1,024 at one time; the process sets are mpi://WORLD and mpi://SELF; an error on a \
             microcontroller";

        "9" Int MPI_Info_create(info: InfoOut) limited "at most 16,384 info objects exist";
        "9" Int MPI_Info_create_env(argc: Int, argv: Texts, info: InfoOut);
        "9" Int MPI_Info_delete(info: Info, key: Text);
        "9" Int MPI_Info_dup(info: Info, newinfo: InfoOut);
        "9" Int MPI_Info_free(info: InfoInOut);
        "9" Int MPI_Info_get(info: Info, key: Text, valuelen: Int, value: TextOut, flag: LogicalOut);
        "9" Int MPI_Info_get_nkeys(info: Info, nkeys: IntOut);
        "9" Int MPI_Info_get_nthkey(info: Info, n: Int, key: TextOut);
        "9" Int MPI_Info_get_string(info: Info, key: Text, buflen: IntInOut, value: TextOut, flag: LogicalOut);
        "9" Int MPI_Info_get_valuelen(info: Info, key: Text, valuelen: IntOut, flag: LogicalOut);
        "9" Int MPI_Info_set(info: Info, key: Text, value: Text);

        "10.3.2" Int MPI_Comm_get_parent(parent: CommOut);
        "10.3.2" Int MPI_Comm_spawn(command: Text, argv: Texts, maxprocs: Int, info: Info, root: Rank, comm: Comm,
            intercomm: CommOut, array_of_errcodes: IntsOut)
            limited "in processes of midplane run on one Linux host";
        "10.3.3" Int MPI_Comm_spawn_multiple(count: Int, array_of_commands: Texts, array_of_argv: TextLists,
            array_of_maxprocs: Ints, array_of_info: Infos, root: Rank, comm: Comm, intercomm: CommOut,
            array_of_errcodes: IntsOut)
            limited "in processes of midplane run on one Linux host";
        "10.4.2" Int MPI_Close_port(port_name: Text);
        "10.4.2" Int MPI_Comm_accept(port_name: Text, info: Info, root: Rank, comm: Comm, newcomm: CommOut);
        "10.4.2" Int MPI_Open_port(info: Info, port_name: TextOut);
        "10.4.3" Int MPI_Comm_connect(port_name: Text, info: Info, root: Rank, comm: Comm, newcomm: CommOut);
        "10.4.4" Int MPI_Lookup_name(service_name: Text, info: Info, port_name: TextOut)
            limited "in processes of midplane run on one Linux host";
        "10.4.4" Int MPI_Publish_name(service_name: Text, info: Info, port_name: Text)
            limited "in processes of midplane run on one Linux host";
        "10.4.4" Int MPI_Unpublish_name(service_name: Text, info: Info, port_name: Text)
            limited "in processes of midplane run on one Linux host";
        /// Blocks until all operations in the communicator are complete, and then frees it.
        "10.5.4" Int MPI_Comm_disconnect(comm: CommInOut);
        "10.5.5" Int MPI_Comm_join(fd: Int, intercomm: CommOut)
            limited "in processes of midplane run on one Linux host";

        "11.2.1" Int MPI_Win_create | MPI_Win_create_c(base: BufferInOut, size: Aint, disp_unit: DispUnit, info: Info,
            comm: Comm, win: WinOut);
        "11.2.2" Int MPI_Win_allocate | MPI_Win_allocate_c(size: Aint, disp_unit: DispUnit, info: Info, comm: Comm,
            baseptr: AddressOut, win: WinOut);
        "11.2.3" Int MPI_Win_allocate_shared | MPI_Win_allocate_shared_c(size: Aint, disp_unit: DispUnit, info: Info,
            comm: Comm, baseptr: AddressOut, win: WinOut)
            limited "on nodes, in the simulator and in Rust on communicators of one process only";
        "11.2.3" Int MPI_Win_shared_query | MPI_Win_shared_query_c(win: Win, rank: Rank, size: AintOut,
            disp_unit: DispUnitOut, baseptr: AddressOut);
        "11.2.4" Int MPI_Win_attach(win: Win, base: BufferInOut, size: Aint);
        "11.2.4" Int MPI_Win_create_dynamic(info: Info, comm: Comm, win: WinOut);
        "11.2.4" Int MPI_Win_detach(win: Win, base: BufferIn);
        "11.2.5" Int MPI_Win_free(win: WinInOut);
        "11.2.6" Int MPI_Win_get_group(win: Win, group: GroupOut);
        "11.2.7" Int MPI_Win_get_info(win: Win, info_used: InfoOut);
        "11.2.7" Int MPI_Win_set_info(win: Win, info: Info);
        "11.3.1" Int MPI_Put | MPI_Put_c(origin_addr: BufferIn, origin_count: Count, origin_datatype: Datatype,
            target_rank: Rank, target_disp: Aint, target_count: Count, target_datatype: Datatype, win: Win);
        "11.3.2" Int MPI_Get | MPI_Get_c(origin_addr: BufferOut, origin_count: Count, origin_datatype: Datatype,
            target_rank: Rank, target_disp: Aint, target_count: Count, target_datatype: Datatype, win: Win);
        "11.3.4" Int MPI_Accumulate | MPI_Accumulate_c(origin_addr: BufferIn, origin_count: Count,
            origin_datatype: Datatype, target_rank: Rank, target_disp: Aint, target_count: Count,
            target_datatype: Datatype, op: Op, win: Win);
        "11.3.4" Int MPI_Compare_and_swap(origin_addr: BufferIn, compare_addr: BufferIn, result_addr: BufferOut,
            datatype: Datatype, target_rank: Rank, target_disp: Aint, win: Win);
        "11.3.4" Int MPI_Fetch_and_op(origin_addr: BufferIn, result_addr: BufferOut, datatype: Datatype,
            target_rank: Rank, target_disp: Aint, op: Op, win: Win);
        "11.3.4" Int MPI_Get_accumulate | MPI_Get_accumulate_c(origin_addr: BufferIn, origin_count: Count,
            origin_datatype: Datatype, result_addr: BufferOut, result_count: Count, result_datatype: Datatype,
            target_rank: Rank, target_disp: Aint, target_count: Count, target_datatype: Datatype, op: Op, win: Win);
        "11.3.5" Int MPI_Raccumulate | MPI_Raccumulate_c(origin_addr: BufferIn, origin_count: Count,
            origin_datatype: Datatype, target_rank: Rank, target_disp: Aint, target_count: Count,
            target_datatype: Datatype, op: Op, win: Win, request: RequestOut);
        "11.3.5" Int MPI_Rget | MPI_Rget_c(origin_addr: BufferOut, origin_count: Count, origin_datatype: Datatype,
            target_rank: Rank, target_disp: Aint, target_count: Count, target_datatype: Datatype, win: Win,
            request: RequestOut);
        "11.3.5" Int MPI_Rget_accumulate | MPI_Rget_accumulate_c(origin_addr: BufferIn, origin_count: Count,
            origin_datatype: Datatype, result_addr: BufferOut, result_count: Count, result_datatype: Datatype,
            target_rank: Rank, target_disp: Aint, target_count: Count, target_datatype: Datatype, op: Op, win: Win,
            request: RequestOut);
        "11.3.5" Int MPI_Rput | MPI_Rput_c(origin_addr: BufferIn, origin_count: Count, origin_datatype: Datatype,
            target_rank: Rank, target_disp: Aint, target_count: Count, target_datatype: Datatype, win: Win,
            request: RequestOut);
        "11.5.1" Int MPI_Win_fence(assert: Int, win: Win);
        "11.5.1" Int MPI_Win_ifence(assert: Int, win: Win, request: RequestOut) extension MPI_Win_fence;
        "11.5.2" Int MPI_Win_complete(win: Win);
        "11.5.2" Int MPI_Win_icomplete(win: Win, request: RequestOut) extension MPI_Win_complete;
        "11.5.2" Int MPI_Win_ipost(group: Group, assert: Int, win: Win, request: RequestOut) extension MPI_Win_post;
        "11.5.2" Int MPI_Win_istart(group: Group, assert: Int, win: Win, request: RequestOut) extension MPI_Win_start;
        "11.5.2" Int MPI_Win_iwait(win: Win, request: RequestOut) extension MPI_Win_wait;
        "11.5.2" Int MPI_Win_post(group: Group, assert: Int, win: Win);
        "11.5.2" Int MPI_Win_start(group: Group, assert: Int, win: Win);
        "11.5.2" Int MPI_Win_test(win: Win, flag: LogicalOut);
        "11.5.2" Int MPI_Win_wait(win: Win);
        "11.5.3" Int MPI_Win_ilock(lock_type: Int, rank: Rank, assert: Int, win: Win, request: RequestOut)
            extension MPI_Win_lock;
        "11.5.3" Int MPI_Win_ilock_all(assert: Int, win: Win, request: RequestOut) extension MPI_Win_lock_all;
        "11.5.3" Int MPI_Win_iunlock(rank: Rank, win: Win, request: RequestOut) extension MPI_Win_unlock;
        "11.5.3" Int MPI_Win_iunlock_all(win: Win, request: RequestOut) extension MPI_Win_unlock_all;
        "11.5.3" Int MPI_Win_lock(lock_type: Int, rank: Rank, assert: Int, win: Win);
        "11.5.3" Int MPI_Win_lock_all(assert: Int, win: Win);
        "11.5.3" Int MPI_Win_unlock(rank: Rank, win: Win);
        "11.5.3" Int MPI_Win_unlock_all(win: Win);
        "11.5.4" Int MPI_Win_flush(rank: Rank, win: Win);
        "11.5.4" Int MPI_Win_flush_all(win: Win);
        "11.5.4" Int MPI_Win_flush_local(rank: Rank, win: Win);
        "11.5.4" Int MPI_Win_flush_local_all(win: Win);
        "11.5.4" Int MPI_Win_iflush(rank: Rank, win: Win, request: RequestOut) extension MPI_Win_flush;
        "11.5.4" Int MPI_Win_iflush_all(win: Win, request: RequestOut) extension MPI_Win_flush_all;
        "11.5.4" Int MPI_Win_iflush_local(rank: Rank, win: Win, request: RequestOut) extension MPI_Win_flush_local;
        "11.5.4" Int MPI_Win_iflush_local_all(win: Win, request: RequestOut) extension MPI_Win_flush_local_all;
        "11.5.4" Int MPI_Win_sync(win: Win);

        "12.2" Int MPI_Grequest_complete(request: Request);
        /// At most 65,536 exist. The calls that complete the request and MPI_Request_get_status call query_fn; free_fn
        /// is called when the request is freed, cancel_fn by MPI_Cancel.
        "12.2" Int MPI_Grequest_start(query_fn: QueryFn, free_fn: FreeFn, cancel_fn: CancelFn,
            extra_state: ExtraState, request: RequestOut);
        "12.3" Int MPI_Status_set_cancelled(status: StatusInOut, flag: Logical);
        "12.3" Int MPI_Status_set_elements | MPI_Status_set_elements_c(status: StatusInOut, datatype: Datatype,
            count: Count);
        "12.3" Int MPI_Status_set_elements_x(status: StatusInOut, datatype: Datatype, count: LargeCount);
        "12.4.3" Int MPI_Init_thread(argc: IntInOut, argv: Argv, required: Int, provided: IntOut)
            limited "MPI_THREAD_MULTIPLE for C, C++ and Fortran on Linux; elsewhere up to MPI_THREAD_SERIALIZED";
        "12.4.3" Int MPI_Is_thread_main(flag: LogicalOut);
        "12.4.3" Int MPI_Query_thread(provided: IntOut);

        "13.2.1" Int MPI_File_open(comm: Comm, filename: Text, amode: Int, info: Info, fh: FileOut);
        "13.2.2" Int MPI_File_close(fh: FileInOut);
        "13.2.3" Int MPI_File_delete(filename: Text, info: Info);
        "13.2.4" Int MPI_File_set_size(fh: File, size: Offset);
        "13.2.5" Int MPI_File_preallocate(fh: File, size: Offset);
        "13.2.6" Int MPI_File_get_size(fh: File, size: OffsetOut);
        "13.2.7" Int MPI_File_get_amode(fh: File, amode: IntOut);
        "13.2.7" Int MPI_File_get_group(fh: File, group: GroupOut);
        "13.2.8" Int MPI_File_get_info(fh: File, info_used: InfoOut);
        "13.2.8" Int MPI_File_set_info(fh: File, info: Info);
        "13.3" Int MPI_File_get_view(fh: File, disp: OffsetOut, etype: DatatypeOut, filetype: DatatypeOut,
            datarep: TextOut);
        "13.3" Int MPI_File_set_view(fh: File, disp: Offset, etype: Datatype, filetype: Datatype, datarep: Text,
            info: Info);
        "13.4.2" Int MPI_File_iread_at | MPI_File_iread_at_c(fh: File, offset: Offset, buf: BufferOut, count: Count, datatype: Datatype,
            request: RequestOut);
        "13.4.2" Int MPI_File_iread_at_all | MPI_File_iread_at_all_c(fh: File, offset: Offset, buf: BufferOut, count: Count,
            datatype: Datatype, request: RequestOut);
        "13.4.2" Int MPI_File_iwrite_at | MPI_File_iwrite_at_c(fh: File, offset: Offset, buf: BufferIn, count: Count, datatype: Datatype,
            request: RequestOut);
        "13.4.2" Int MPI_File_iwrite_at_all | MPI_File_iwrite_at_all_c(fh: File, offset: Offset, buf: BufferIn, count: Count,
            datatype: Datatype, request: RequestOut);
        "13.4.2" Int MPI_File_read_at | MPI_File_read_at_c(fh: File, offset: Offset, buf: BufferOut, count: Count, datatype: Datatype,
            status: StatusOut);
        "13.4.2" Int MPI_File_read_at_all | MPI_File_read_at_all_c(fh: File, offset: Offset, buf: BufferOut, count: Count,
            datatype: Datatype, status: StatusOut);
        "13.4.2" Int MPI_File_write_at | MPI_File_write_at_c(fh: File, offset: Offset, buf: BufferIn, count: Count, datatype: Datatype,
            status: StatusOut);
        "13.4.2" Int MPI_File_write_at_all | MPI_File_write_at_all_c(fh: File, offset: Offset, buf: BufferIn, count: Count,
            datatype: Datatype, status: StatusOut);
        "13.4.3" Int MPI_File_get_byte_offset(fh: File, offset: Offset, disp: OffsetOut);
        "13.4.3" Int MPI_File_get_position(fh: File, offset: OffsetOut);
        "13.4.3" Int MPI_File_iread | MPI_File_iread_c(fh: File, buf: BufferOut, count: Count, datatype: Datatype, request: RequestOut);
        "13.4.3" Int MPI_File_iread_all | MPI_File_iread_all_c(fh: File, buf: BufferOut, count: Count, datatype: Datatype,
            request: RequestOut);
        "13.4.3" Int MPI_File_iwrite | MPI_File_iwrite_c(fh: File, buf: BufferIn, count: Count, datatype: Datatype, request: RequestOut);
        "13.4.3" Int MPI_File_iwrite_all | MPI_File_iwrite_all_c(fh: File, buf: BufferIn, count: Count, datatype: Datatype,
            request: RequestOut);
        "13.4.3" Int MPI_File_read | MPI_File_read_c(fh: File, buf: BufferOut, count: Count, datatype: Datatype, status: StatusOut);
        "13.4.3" Int MPI_File_read_all | MPI_File_read_all_c(fh: File, buf: BufferOut, count: Count, datatype: Datatype,
            status: StatusOut);
        "13.4.3" Int MPI_File_seek(fh: File, offset: Offset, whence: Int);
        "13.4.3" Int MPI_File_write | MPI_File_write_c(fh: File, buf: BufferIn, count: Count, datatype: Datatype, status: StatusOut);
        "13.4.3" Int MPI_File_write_all | MPI_File_write_all_c(fh: File, buf: BufferIn, count: Count, datatype: Datatype,
            status: StatusOut);
        "13.4.4" Int MPI_File_get_position_shared(fh: File, offset: OffsetOut);
        "13.4.4" Int MPI_File_iread_shared | MPI_File_iread_shared_c(fh: File, buf: BufferOut, count: Count, datatype: Datatype,
            request: RequestOut);
        "13.4.4" Int MPI_File_iwrite_shared | MPI_File_iwrite_shared_c(fh: File, buf: BufferIn, count: Count, datatype: Datatype,
            request: RequestOut);
        "13.4.4" Int MPI_File_read_ordered | MPI_File_read_ordered_c(fh: File, buf: BufferOut, count: Count, datatype: Datatype,
            status: StatusOut);
        "13.4.4" Int MPI_File_read_shared | MPI_File_read_shared_c(fh: File, buf: BufferOut, count: Count, datatype: Datatype,
            status: StatusOut);
        "13.4.4" Int MPI_File_seek_shared(fh: File, offset: Offset, whence: Int);
        "13.4.4" Int MPI_File_write_ordered | MPI_File_write_ordered_c(fh: File, buf: BufferIn, count: Count, datatype: Datatype,
            status: StatusOut);
        "13.4.4" Int MPI_File_write_shared | MPI_File_write_shared_c(fh: File, buf: BufferIn, count: Count, datatype: Datatype,
            status: StatusOut);
        "13.4.5" Int MPI_File_read_all_begin | MPI_File_read_all_begin_c(fh: File, buf: BufferOut, count: Count, datatype: Datatype);
        "13.4.5" Int MPI_File_read_all_end(fh: File, buf: BufferOut, status: StatusOut);
        "13.4.5" Int MPI_File_read_at_all_begin | MPI_File_read_at_all_begin_c(fh: File, offset: Offset, buf: BufferOut, count: Count,
            datatype: Datatype);
        "13.4.5" Int MPI_File_read_at_all_end(fh: File, buf: BufferOut, status: StatusOut);
        "13.4.5" Int MPI_File_read_ordered_begin | MPI_File_read_ordered_begin_c(fh: File, buf: BufferOut, count: Count, datatype: Datatype);
        "13.4.5" Int MPI_File_read_ordered_end(fh: File, buf: BufferOut, status: StatusOut);
        "13.4.5" Int MPI_File_write_all_begin | MPI_File_write_all_begin_c(fh: File, buf: BufferIn, count: Count, datatype: Datatype);
        "13.4.5" Int MPI_File_write_all_end(fh: File, buf: BufferIn, status: StatusOut);
        "13.4.5" Int MPI_File_write_at_all_begin | MPI_File_write_at_all_begin_c(fh: File, offset: Offset, buf: BufferIn, count: Count,
            datatype: Datatype);
        "13.4.5" Int MPI_File_write_at_all_end(fh: File, buf: BufferIn, status: StatusOut);
        "13.4.5" Int MPI_File_write_ordered_begin | MPI_File_write_ordered_begin_c(fh: File, buf: BufferIn, count: Count, datatype: Datatype);
        "13.4.5" Int MPI_File_write_ordered_end(fh: File, buf: BufferIn, status: StatusOut);
        "13.5.1" Int MPI_File_get_type_extent | MPI_File_get_type_extent_c(fh: File, datatype: Datatype, extent: AintCountOut);
        "13.5.3" Int MPI_Register_datarep(datarep: Text, read_conversion_fn: ConversionFn,
            write_conversion_fn: ConversionFn, dtype_file_extent_fn: ExtentFn, extra_state: ExtraState)
            limited "at most 32 representations, with names of up to 63 bytes";
        "13.5.3" Int MPI_Register_datarep_c(datarep: Text, read_conversion_fn: LargeConversionFn,
            write_conversion_fn: LargeConversionFn, dtype_file_extent_fn: ExtentFn, extra_state: ExtraState);
        "13.6.1" Int MPI_File_get_atomicity(fh: File, flag: LogicalOut);
        "13.6.1" Int MPI_File_set_atomicity(fh: File, flag: Logical);
        "13.6.1" Int MPI_File_sync(fh: File);

        "14.2.4" Int MPI_Pcontrol(level: Level) limited "does nothing";
        "14.3.4" Int MPI_T_finalize();
        "14.3.4" Int MPI_T_init_thread(required: Int, provided: IntOut);
        "14.3.5" Int MPI_T_enum_get_info(enumtype: ToolEnum, num: IntOut, name: TextOut, name_len: IntInOut);
        "14.3.5" Int MPI_T_enum_get_item(enumtype: ToolEnum, index: Int, value: IntOut, name: TextOut,
            name_len: IntInOut);
        "14.3.6" Int MPI_T_cvar_get_index(name: Text, cvar_index: IntOut);
        "14.3.6" Int MPI_T_cvar_get_info(cvar_index: Int, name: TextOut, name_len: IntInOut, verbosity: IntOut,
            datatype: DatatypeOut, enumtype: ToolEnumOut, desc: TextOut, desc_len: IntInOut, bind: IntOut,
            scope: IntOut);
        "14.3.6" Int MPI_T_cvar_get_num(num_cvar: IntOut);
        "14.3.6" Int MPI_T_cvar_handle_alloc(cvar_index: Int, obj_handle: ToolObject, handle: CvarHandleOut,
            count: IntOut);
        "14.3.6" Int MPI_T_cvar_handle_free(handle: CvarHandleInOut);
        "14.3.6" Int MPI_T_cvar_read(handle: CvarHandle, buf: BufferOut);
        "14.3.6" Int MPI_T_cvar_write(handle: CvarHandle, buf: BufferIn);
        "14.3.7" Int MPI_T_pvar_get_index(name: Text, var_class: Int, pvar_index: IntOut);
        /// Performance variables count continuously and cannot be set.
        "14.3.7" Int MPI_T_pvar_get_info(pvar_index: Int, name: TextOut, name_len: IntInOut, verbosity: IntOut,
            var_class: IntOut, datatype: DatatypeOut, enumtype: ToolEnumOut, desc: TextOut, desc_len: IntInOut,
            bind: IntOut, readonly: IntOut, continuous: IntOut, atomic: IntOut);
        "14.3.7" Int MPI_T_pvar_get_num(num_pvar: IntOut);
        "14.3.7" Int MPI_T_pvar_handle_alloc(session: PvarSession, pvar_index: Int, obj_handle: ToolObject,
            handle: PvarHandleOut, count: IntOut);
        "14.3.7" Int MPI_T_pvar_handle_free(session: PvarSession, handle: PvarHandleInOut);
        "14.3.7" Int MPI_T_pvar_read(session: PvarSession, handle: PvarHandle, buf: BufferOut);
        "14.3.7" Int MPI_T_pvar_readreset(session: PvarSession, handle: PvarHandle, buf: BufferOut)
            limited "an error: no variable can be set";
        "14.3.7" Int MPI_T_pvar_reset(session: PvarSession, handle: PvarHandle)
            limited "an error: no variable can be set";
        "14.3.7" Int MPI_T_pvar_session_create(session: PvarSessionOut) limited "at most 64 sessions exist";
        "14.3.7" Int MPI_T_pvar_session_free(session: PvarSessionInOut);
        "14.3.7" Int MPI_T_pvar_start(session: PvarSession, handle: PvarHandle)
            limited "an error: all variables count continuously";
        "14.3.7" Int MPI_T_pvar_stop(session: PvarSession, handle: PvarHandle)
            limited "an error: all variables count continuously";
        "14.3.7" Int MPI_T_pvar_write(session: PvarSession, handle: PvarHandle, buf: BufferIn)
            limited "an error: no variable can be set";
        "14.3.8" Int MPI_T_category_changed(stamp: IntOut);
        "14.3.8" Int MPI_T_category_get_categories(cat_index: Int, len: Int, indices: IntsOut);
        "14.3.8" Int MPI_T_category_get_cvars(cat_index: Int, len: Int, indices: IntsOut);
        "14.3.8" Int MPI_T_category_get_events(cat_index: Int, len: Int, indices: IntsOut);
        "14.3.8" Int MPI_T_category_get_index(name: Text, cat_index: IntOut);
        "14.3.8" Int MPI_T_category_get_info(cat_index: Int, name: TextOut, name_len: IntInOut, desc: TextOut,
            desc_len: IntInOut, num_cvars: IntOut, num_pvars: IntOut, num_categories: IntOut);
        "14.3.8" Int MPI_T_category_get_num(num_cat: IntOut);
        "14.3.8" Int MPI_T_category_get_num_events(cat_index: Int, num_events: IntOut);
        "14.3.8" Int MPI_T_category_get_pvars(cat_index: Int, len: Int, indices: IntsOut);
        "14.3.8" Int MPI_T_event_callback_get_info(event_registration: EventRegistration, cb_safety: CallbackSafety,
            info_used: InfoOut);
        "14.3.8" Int MPI_T_event_callback_set_info(event_registration: EventRegistration, cb_safety: CallbackSafety,
            info: Info);
        "14.3.8" Int MPI_T_event_copy(event_instance: EventInstance, buffer: BufferOut);
        "14.3.8" Int MPI_T_event_get_index(name: Text, event_index: IntOut);
        "14.3.8" Int MPI_T_event_get_info(event_index: Int, name: TextOut, name_len: IntInOut, verbosity: IntOut,
            array_of_datatypes: DatatypesOut, array_of_displacements: AintsOut, num_elements: IntInOut,
            enumtype: ToolEnumOut, info: InfoOut, desc: TextOut, desc_len: IntInOut, bind: IntOut);
        "14.3.8" Int MPI_T_event_get_num(num_events: IntOut);
        "14.3.8" Int MPI_T_event_get_source(event_instance: EventInstance, source_index: IntOut);
        "14.3.8" Int MPI_T_event_get_timestamp(event_instance: EventInstance, event_timestamp: LargeCountOut);
        "14.3.8" Int MPI_T_event_handle_alloc(event_index: Int, obj_handle: ToolObject, info: Info,
            event_registration: EventRegistrationOut) limited "at most 128 registrations exist";
        "14.3.8" Int MPI_T_event_handle_free(event_registration: EventRegistration, user_data: ExtraState,
            free_cb_function: EventFreeFn);
        "14.3.8" Int MPI_T_event_handle_get_info(event_registration: EventRegistration, info_used: InfoOut);
        "14.3.8" Int MPI_T_event_handle_set_info(event_registration: EventRegistration, info: Info);
        "14.3.8" Int MPI_T_event_read(event_instance: EventInstance, element_index: Int, buffer: BufferOut);
        "14.3.8" Int MPI_T_event_register_callback(event_registration: EventRegistration, cb_safety: CallbackSafety,
            info: Info, user_data: ExtraState, event_cb_function: EventFn);
        "14.3.8" Int MPI_T_event_set_dropped_handler(event_registration: EventRegistration,
            dropped_cb_function: EventDroppedFn) limited "no event is dropped";
        "14.3.8" Int MPI_T_source_get_info(source_index: Int, name: TextOut, name_len: IntInOut, desc: TextOut,
            desc_len: IntInOut, ordering: SourceOrderOut, ticks_per_second: LargeCountOut, max_ticks: LargeCountOut,
            info: InfoOut);
        "14.3.8" Int MPI_T_source_get_num(num_sources: IntOut) limited "1: the clock of the node";
        "14.3.8" Int MPI_T_source_get_timestamp(source_index: Int, timestamp: LargeCountOut);

        "15.1" Int MPI_Attr_delete(comm: Comm, keyval: Int);
        "15.1" Int MPI_Attr_get(comm: Comm, keyval: Int, attribute_val: AttributeOut, flag: LogicalOut);
        "15.1" Int MPI_Attr_put(comm: Comm, keyval: Int, attribute_val: Attribute);
        "15.1" Int MPI_Errhandler_create(function: OldErrorFn, errhandler: ErrhandlerOut);
        "15.1" Int MPI_Errhandler_get(comm: Comm, errhandler: ErrhandlerOut);
        "15.1" Int MPI_Errhandler_set(comm: Comm, errhandler: Errhandler);
        "15.1" Int MPI_Keyval_create(copy_fn: OldCopyFn, delete_fn: OldDeleteFn, keyval: IntOut,
            extra_state: ExtraState);
        "15.1" Int MPI_Keyval_free(keyval: IntInOut);

        "16.1" Int MPI_Address(location: BufferInOut, address: AintOut) removed MPI_Get_address;
        "16.1" Int MPI_Type_extent(datatype: Datatype, extent: AintOut) removed MPI_Type_get_extent;
        "16.1" Int MPI_Type_hindexed(count: Int, array_of_blocklengths: OldInts, array_of_displacements: OldAints,
            oldtype: Datatype, newtype: DatatypeOut) removed MPI_Type_create_hindexed;
        "16.1" Int MPI_Type_hvector(count: Int, blocklength: Int, stride: Aint, oldtype: Datatype,
            newtype: DatatypeOut) removed MPI_Type_create_hvector;
        "16.1" Int MPI_Type_lb(datatype: Datatype, displacement: AintOut) removed MPI_Type_get_extent;
        "16.1" Int MPI_Type_struct(count: Int, array_of_blocklengths: OldInts, array_of_displacements: OldAints,
            array_of_types: OldDatatypes, newtype: DatatypeOut) removed MPI_Type_create_struct;
        "16.1" Int MPI_Type_ub(datatype: Datatype, displacement: AintOut) removed MPI_Type_get_extent;

        "17.2.3" Int MPI_Abi_get_fortran_booleans(logical_size: Int, logical_true: BufferOut, logical_false: BufferOut,
            is_set: LogicalOut) limited "those of the default LOGICAL: 1 and 0";
        "17.2.3" Int MPI_Abi_get_fortran_info(info: InfoOut);
        "17.2.3" Int MPI_Abi_get_info(info: InfoOut);
        "17.2.3" Int MPI_Abi_get_version(abi_major: IntOut, abi_minor: IntOut);
        "17.2.3" Int MPI_Abi_set_fortran_booleans(logical_size: Int, logical_true: BufferInOut,
            logical_false: BufferInOut)
            limited "an error: they are fixed";
        "17.2.3" Int MPI_Abi_set_fortran_info(info: Info) limited "an error: the sizes are fixed";
        /// The value of the handle, which is an int.
        "17.2.4" Fint MPI_Comm_c2f(comm: Comm);
        "17.2.4" Comm MPI_Comm_f2c(comm: Fint);
        "17.2.4" Comm MPI_Comm_fromint(comm: Int);
        "17.2.4" Int MPI_Comm_toint(comm: Comm);
        "17.2.4" Fint MPI_Errhandler_c2f(errhandler: Errhandler);
        "17.2.4" Errhandler MPI_Errhandler_f2c(errhandler: Fint);
        "17.2.4" Errhandler MPI_Errhandler_fromint(errhandler: Int);
        "17.2.4" Int MPI_Errhandler_toint(errhandler: Errhandler);
        "17.2.4" Fint MPI_File_c2f(file: File);
        "17.2.4" File MPI_File_f2c(file: Fint);
        "17.2.4" File MPI_File_fromint(file: Int);
        "17.2.4" Int MPI_File_toint(file: File);
        "17.2.4" Fint MPI_Group_c2f(group: Group);
        "17.2.4" Group MPI_Group_f2c(group: Fint);
        "17.2.4" Group MPI_Group_fromint(group: Int);
        "17.2.4" Int MPI_Group_toint(group: Group);
        "17.2.4" Fint MPI_Info_c2f(info: Info);
        "17.2.4" Info MPI_Info_f2c(info: Fint);
        "17.2.4" Info MPI_Info_fromint(info: Int);
        "17.2.4" Int MPI_Info_toint(info: Info);
        "17.2.4" Fint MPI_Message_c2f(message: Message);
        "17.2.4" Message MPI_Message_f2c(message: Fint);
        "17.2.4" Message MPI_Message_fromint(message: Int);
        "17.2.4" Int MPI_Message_toint(message: Message);
        "17.2.4" Fint MPI_Op_c2f(op: Op);
        "17.2.4" Op MPI_Op_f2c(op: Fint);
        "17.2.4" Op MPI_Op_fromint(op: Int);
        "17.2.4" Int MPI_Op_toint(op: Op);
        "17.2.4" Fint MPI_Request_c2f(request: Request);
        "17.2.4" Request MPI_Request_f2c(request: Fint);
        "17.2.4" Request MPI_Request_fromint(request: Int);
        "17.2.4" Int MPI_Request_toint(request: Request);
        "17.2.4" Fint MPI_Session_c2f(session: Session);
        "17.2.4" Session MPI_Session_f2c(session: Fint);
        "17.2.4" Session MPI_Session_fromint(session: Int);
        "17.2.4" Int MPI_Session_toint(session: Session);
        "17.2.4" Fint MPI_Type_c2f(datatype: Datatype);
        "17.2.4" Datatype MPI_Type_f2c(datatype: Fint);
        "17.2.4" Datatype MPI_Type_fromint(datatype: Int);
        "17.2.4" Int MPI_Type_toint(datatype: Datatype);
        "17.2.4" Fint MPI_Win_c2f(win: Win);
        "17.2.4" Win MPI_Win_f2c(win: Fint);
        "17.2.4" Win MPI_Win_fromint(win: Int);
        "17.2.4" Int MPI_Win_toint(win: Win);
        "17.2.5" Int MPI_Status_c2f(c_status: Status, f_status: FintsOut);
        "17.2.5" Int MPI_Status_c2f08(c_status: Status, f08_status: F08StatusOut);
        "17.2.5" Int MPI_Status_f082c(f08_status: F08Status, c_status: StatusOut);
        "17.2.5" Int MPI_Status_f082f(f08_status: F08Status, f_status: FintsOut);
        "17.2.5" Int MPI_Status_f2c(f_status: Fints, c_status: StatusOut);
        "17.2.5" Int MPI_Status_f2f08(f_status: Fints, f08_status: F08StatusOut);
        "17.2.6" Int MPI_Type_create_f90_complex(p: Int, r: Int, newtype: DatatypeOut);
        "17.2.6" Int MPI_Type_create_f90_integer(r: Int, newtype: DatatypeOut);
        "17.2.6" Int MPI_Type_create_f90_real(p: Int, r: Int, newtype: DatatypeOut);
        "17.2.6" Int MPI_Type_match_size(typeclass: Int, size: Int, datatype: DatatypeOut);
    } };
}
