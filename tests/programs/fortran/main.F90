! A program of two Fortran sources and one in C, preprocessed.
program main
  use mpi
  use shapes
  use, intrinsic :: iso_c_binding
  implicit none
  interface
     function twice(number) bind(c)
       import :: c_int
       integer(c_int), value :: number
       integer(c_int) :: twice
     end function
  end interface
  integer :: rank, error
#ifndef LENGTH
#define LENGTH 2.5
#endif
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  if (rank == 0) write (*, '(a, f6.2, i4)') 'perimeter', perimeter(LENGTH), twice(21)
  call MPI_Finalize(error)
end program
