! A program that ends as its argument says. Each way out is in a line of its own, which a test looks for.
program fortran_ends
  use mpi
  implicit none
  character(20) :: how
  integer :: rank, error, position
  integer :: list(3)
  integer, pointer :: nowhere(:)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call get_command_argument(1, how)
  position = 3 + command_argument_count()
  list = 0
  if (rank == 0) then
     select case (how)
     case ('stop')
        stop 5
     case ('error')
        error stop 6
     case ('bounds')
        list(position) = 1
     case ('null')
        nullify (nowhere)
        call store(nowhere)
     case ('rank')
        call send_to(99)
     case ('type')
        call send_integers()
     case ('hang')
        call receive()
     case ('read')
        read (how, *) position
     end select
  else if (how == 'type') then
     call receive_reals()
  end if
  print *, 'list', list
  call MPI_Finalize(error)

contains

  subroutine store(to)
    integer, pointer, intent(in) :: to(:)
    to(2) = 1
  end subroutine

  subroutine send_to(other)
    integer, intent(in) :: other
    call MPI_Send(list, 3, MPI_INTEGER, other, 7, MPI_COMM_WORLD, error)
  end subroutine

  subroutine send_integers()
    call MPI_Send(list, 2, MPI_INTEGER, 1, 9, MPI_COMM_WORLD, error)
  end subroutine

  subroutine receive_reals()
    call MPI_Recv(list, 2, MPI_REAL, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end subroutine

  subroutine receive()
    call MPI_Recv(list, 3, MPI_INTEGER, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end subroutine
end program
