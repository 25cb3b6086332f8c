C     mpif.h in fixed form: functions of MPI-1 with default integers,
C     MPI_WTIME, a message around the ring.
      program conf77
      implicit none
      include 'mpif.h'
      integer rank, size, ierr, failed, total, token
      integer status(MPI_STATUS_SIZE), keyval, comm, value, lengths(2)
      integer offsets(2), types(2), datatype, extent, lb, ub
      logical flag
      double precision start, finish
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      failed = 0
      start = MPI_WTIME()
      token = 0
      if (rank .ne. 0) then
        call MPI_RECV(token, 1, MPI_INTEGER, rank - 1, 7,
     &    MPI_COMM_WORLD, status, ierr)
        if (status(MPI_SOURCE) .ne. rank - 1) failed = failed + 1
      end if
      token = token + rank
      call MPI_SEND(token, 1, MPI_INTEGER, mod(rank + 1, size), 7,
     &  MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) then
        call MPI_RECV(token, 1, MPI_INTEGER, size - 1, 7,
     &    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
        if (token .ne. size * (size - 1) / 2) failed = failed + 1
      end if
      finish = MPI_WTIME()
      if (finish .lt. start) failed = failed + 1
C     Attributes of MPI-1.
      call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, keyval,
     &  0, ierr)
      call MPI_ATTR_PUT(MPI_COMM_WORLD, keyval, -3, ierr)
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierr)
      call MPI_ATTR_GET(comm, keyval, value, flag, ierr)
      if (.not. flag .or. value .ne. -3) failed = failed + 1
      call MPI_ATTR_DELETE(MPI_COMM_WORLD, keyval, ierr)
      call MPI_ATTR_GET(MPI_COMM_WORLD, keyval, value, flag, ierr)
      if (flag) failed = failed + 1
      call MPI_KEYVAL_FREE(keyval, ierr)
      call MPI_COMM_FREE(comm, ierr)
C     Datatypes of MPI-1.
      lengths(1) = 1
      lengths(2) = 2
      offsets(1) = 0
      offsets(2) = 8
      types(1) = MPI_DOUBLE_PRECISION
      types(2) = MPI_INTEGER
      call MPI_TYPE_STRUCT(2, lengths, offsets, types, datatype, ierr)
      call MPI_TYPE_EXTENT(datatype, extent, ierr)
      call MPI_TYPE_LB(datatype, lb, ierr)
      call MPI_TYPE_UB(datatype, ub, ierr)
      if (extent .ne. 16 .or. lb .ne. 0 .or. ub .ne. 16) then
        failed = failed + 1
      end if
      call MPI_TYPE_FREE(datatype, ierr)
      call MPI_ALLREDUCE(failed, total, 1, MPI_INTEGER, MPI_SUM,
     &  MPI_COMM_WORLD, ierr)
      call MPI_FINALIZE(ierr)
      if (rank .eq. 0 .and. total .eq. 0) then
        print '(a)', 'conf_fortran_f77 passed'
      end if
      if (total .ne. 0) stop 1
      end
