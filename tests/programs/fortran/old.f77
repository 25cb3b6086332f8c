C     Fixed form, in a file with an extension that compilers do not know.
      PROGRAM OLD
      INCLUDE 'mpif.h'
      INTEGER IERROR, NPROCS
      CALL MPI_INIT(IERROR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NPROCS, IERROR)
      WRITE (*, '(A, I3)') 'processes',
     &  NPROCS
      CALL MPI_FINALIZE(IERROR)
      END
