! mpi_f08: handles as types, absent ierror, strided arrays, large counts, callbacks, statuses. Two or more ranks.
program conf_fortran_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(MPI_Comm) :: comm
  integer :: rank, size, failed, all_failed

  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, size)
  failed = 0
  call handles()
  call strided_messages()
  call strided_prefix()
  call strided_collectives()
  call large_counts()
  call reductions()
  call windows()
  call sizes()
  call kinds()
  call statuses()
  call errors()
  call MPI_Allreduce(failed, all_failed, 1, MPI_INTEGER, MPI_SUM, comm)
  call MPI_Comm_free(comm)
  if (comm /= MPI_COMM_NULL) all_failed = all_failed + 1
  call MPI_Finalize()
  if (rank == 0 .and. all_failed == 0) print '(a)', 'conf_fortran_f08 passed'
  if (all_failed /= 0) stop 1
contains
  subroutine check(is_right, name)
    logical, intent(in) :: is_right
    character(*), intent(in) :: name
    if (.not. is_right) then
      print '(a,i0,2a)', 'rank ', rank, ' failed: ', name
      failed = failed + 1
    end if
  end subroutine

  subroutine handles()
    type(MPI_Comm) :: other
    type(MPI_Group) :: group
    character(MPI_MAX_OBJECT_NAME) :: name
    integer :: length, relation
    other = comm
    call check(other == comm .and. .not. (other /= comm), 'handles compare')
    call check(comm /= MPI_COMM_WORLD, 'a duplicate differs')
    call MPI_Comm_set_name(comm, 'a name  ')
    call MPI_Comm_get_name(comm, name, length)
    call check(name == 'a name' .and. length == 6, 'name without blanks')
    call MPI_Comm_compare(comm, MPI_COMM_WORLD, relation)
    call check(relation == MPI_CONGRUENT, 'congruent')
    call MPI_Comm_group(comm, group)
    call MPI_Group_free(group)
    call check(group == MPI_GROUP_NULL, 'a freed group')
  end subroutine

  subroutine strided_messages()
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status(2)
    integer :: sent(8, 6), got(8, 6), i, previous, count
    previous = modulo(rank - 1, size)
    sent = reshape([(i + 100 * rank, i = 1, 48)], [8, 6])
    got = -1
    call MPI_Irecv(got(1:8:3, 2:6:2), 9, MPI_INTEGER, previous, 1, comm, requests(1))
    call MPI_Isend(sent(2:8:3, 1:5:2), 9, MPI_INTEGER, modulo(rank + 1, size), 1, comm, requests(2))
    call MPI_Waitall(2, requests, status)
    call MPI_Get_count(status(1), MPI_INTEGER, count)
    call check(count == 9 .and. status(1)%MPI_SOURCE == previous, 'status of a strided message')
    sent = reshape([(i + 100 * previous, i = 1, 48)], [8, 6])
    call check(all(got(1:8:3, 2:6:2) == sent(2:8:3, 1:5:2)), 'strided elements')
    call check(count_of(got, -1) == 39, 'elements between them')
  end subroutine

  integer function count_of(values, value)
    integer, intent(in) :: values(:, :), value
    count_of = count(values == value)
  end function

  ! A count that is smaller than the array: the first elements in array element order.
  subroutine strided_prefix()
    integer :: values(5, 4), got(20), i
    type(MPI_Request) :: request
    values = reshape([(i, i = 1, 20)], [5, 4])
    got = 0
    call MPI_Isend(values(1:5:2, :), 7, MPI_INTEGER, rank, 2, comm, request)
    call MPI_Recv(got, 20, MPI_INTEGER, rank, 2, comm, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(got(1:8) == [1, 3, 5, 6, 8, 10, 11, 0]), 'the first elements of a strided array')
  end subroutine

  subroutine strided_collectives()
    type(MPI_Request) :: request
    integer :: values(8, 3), sums(8, 3)
    values = rank
    sums = 0
    call MPI_Allreduce(values(1:8:2, 1), sums(2:8:2, 3), 4, MPI_INTEGER, MPI_SUM, comm)
    call check(all(sums(2:8:2, 3) == size * (size - 1) / 2), 'a reduction of strided arrays')
    call check(sum(sums) == 4 * (size * (size - 1) / 2), 'elements between the results')
    call MPI_Ibcast(values(2, :), 3, MPI_INTEGER, 0, comm, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(values(2, :) == 0) .and. all(values(1, :) == rank), 'a nonblocking broadcast of a strided array')
  end subroutine

  subroutine large_counts()
    integer(MPI_COUNT_KIND) :: count
    integer :: values(10), next, i
    type(MPI_Status) :: status
    next = modulo(rank + 1, size)
    values = [(i, i = 1, 10)]
    count = 10
    call MPI_Sendrecv_replace(values, count, MPI_INTEGER, next, 3, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 10 .and. status%MPI_TAG == 3, 'a large count')
    call MPI_Type_size(MPI_DOUBLE_PRECISION, count)
    call check(count == 8, 'a large size')
  end subroutine

  subroutine reductions()
    type(MPI_Op) :: operation
    integer :: value
    call MPI_Op_create(add, .true., operation)
    value = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, operation, comm)
    call check(value == size * (size + 1) / 2, 'an operation of the program')
    call MPI_Op_free(operation)
  end subroutine

  subroutine add(in, inout, length, datatype)
    type(c_ptr), value :: in, inout
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: one(:), other(:)
    call c_f_pointer(in, one, [length])
    call c_f_pointer(inout, other, [length])
    if (datatype /= MPI_INTEGER) error stop 'datatype'
    other = one + other
  end subroutine

  subroutine windows()
    type(MPI_Win) :: win
    type(c_ptr) :: base
    integer, pointer :: values(:)
    integer :: own(4), i
    integer(MPI_ADDRESS_KIND) :: bytes
    logical :: has_size
    call MPI_Win_allocate(16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, comm, base, win)
    call c_f_pointer(base, values, [4])
    values = -1
    own = [(10 * rank + i, i = 1, 4)]
    call MPI_Win_fence(0, win)
    call MPI_Put(own(1:4:2), 2, MPI_INTEGER, modulo(rank + 1, size), 1_MPI_ADDRESS_KIND, 2, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    i = 10 * modulo(rank - 1, size)
    call check(all(values == [-1, i + 1, i + 3, -1]), 'a put from a strided array')
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, bytes, has_size)
    call check(has_size .and. bytes == 16, 'the size of a window')
    call MPI_Win_free(win)
  end subroutine

  subroutine sizes()
    real(8) :: number
    complex(8) :: numbers(3)
    integer :: bytes
    call MPI_Sizeof(number, bytes)
    call check(bytes == 8, 'the size of a number')
    call MPI_Sizeof(numbers, bytes)
    call check(bytes == 16, 'the size of an element')
  end subroutine

  subroutine kinds()
    type(MPI_Datatype) :: one, other
    integer :: integers, addresses, datatypes, combiner, bytes
    real(selected_real_kind(12, 100)) :: value, sum_of
    call MPI_Type_create_f90_real(12, 100, one)
    call MPI_Type_create_f90_real(12, 100, other)
    call check(one == other, 'the datatype of a kind exists once')
    call MPI_Type_get_envelope(one, integers, addresses, datatypes, combiner)
    call check(combiner == MPI_COMBINER_F90_REAL .and. integers == 2, 'the envelope of a kind')
    call MPI_Type_size(one, bytes)
    call check(bytes == 8, 'the size of a kind')
    value = 1.5d0
    call MPI_Allreduce(value, sum_of, 1, one, MPI_SUM, comm)
    call check(sum_of == 1.5d0 * size, 'a reduction of a kind')
  end subroutine

  subroutine statuses()
    type(MPI_Status) :: status
    integer :: old(MPI_STATUS_SIZE)
    status%MPI_SOURCE = 1
    status%MPI_TAG = 2
    status%MPI_ERROR = 3
    call MPI_Status_f082f(status, old)
    call check(all([old(MPI_SOURCE), old(MPI_TAG), old(MPI_ERROR)] == [1, 2, 3]), 'a status as integers')
    old(MPI_TAG) = 5
    call MPI_Status_f2f08(old, status)
    call check(status%MPI_TAG == 5, 'integers as a status')
  end subroutine

  subroutine errors()
    integer :: code, error_class, length
    character(MPI_MAX_ERROR_STRING) :: text
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
    call MPI_Send(code, 1, MPI_INTEGER, size, 0, comm, code)
    call MPI_Error_class(code, error_class)
    call check(error_class == MPI_ERR_RANK, 'the class of an error')
    call MPI_Error_string(code, text, length)
    call check(length > 0 .and. text(length + 1:) == ' ', 'the text of an error')
  end subroutine
end program
