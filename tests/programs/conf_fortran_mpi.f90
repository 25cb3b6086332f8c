! The module mpi: attributes, generalized requests, info objects, topologies, completion of several requests.
module callbacks
  use mpi
  implicit none
  integer :: copies = 0, deletions = 0, frees = 0
contains
  subroutine copy(comm, keyval, extra, value, copied, flag, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value, copied
    logical :: flag
    copies = copies + 1
    copied = value + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete(comm, keyval, value, extra, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    deletions = deletions + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine query(extra, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, 3, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    status(MPI_SOURCE) = int(extra)
    status(MPI_TAG) = 9
    ierror = MPI_SUCCESS
  end subroutine

  subroutine free_request(extra, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    frees = frees + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel_request(extra, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
end module

program conf_fortran_mpi
  use mpi
  use callbacks
  implicit none
  integer :: rank, size, failed, all_failed, ierror, provided
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  failed = 0
  call attributes()
  call requests()
  call infos()
  call topologies()
  call several()
  call structures()
  call MPI_Allreduce(failed, all_failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (rank == 0 .and. all_failed == 0) print '(a)', 'conf_fortran_mpi passed'
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

  subroutine attributes()
    integer :: keyval, comm
    integer(MPI_ADDRESS_KIND) :: value, extra
    logical :: is_set
    extra = 2
    call MPI_Comm_create_keyval(copy, delete, keyval, extra, ierror)
    value = 1000000000001_8
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_get_attr(comm, keyval, value, is_set, ierror)
    call check(is_set .and. value == 1000000000003_8, 'a copied attribute')
    call MPI_Comm_free(comm, ierror)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, ierror)
    call check(copies == 1 .and. deletions == 2, 'callbacks of attributes')
    call MPI_Comm_free_keyval(keyval, ierror)
    call check(keyval == MPI_KEYVAL_INVALID, 'a freed key')
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, extra, ierror)
    value = -7
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
    call MPI_Comm_get_attr(comm, keyval, value, is_set, ierror)
    call check(is_set .and. value == -7, 'an attribute that MPI_COMM_DUP_FN copies')
    call MPI_Comm_free(comm, ierror)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, is_set, ierror)
    call check(is_set .and. value >= 32767, 'MPI_TAG_UB')
  end subroutine

  subroutine requests()
    integer :: request, status(MPI_STATUS_SIZE), count
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: is_done
    extra = 4
    call MPI_Grequest_start(query, free_request, cancel_request, extra, request, ierror)
    call MPI_Test(request, is_done, status, ierror)
    call check(.not. is_done, 'a request in progress')
    call MPI_Grequest_complete(request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    call check(status(MPI_SOURCE) == 4 .and. status(MPI_TAG) == 9 .and. count == 3, 'status of a generalized request')
    call check(frees == 1 .and. request == MPI_REQUEST_NULL, 'a freed generalized request')
  end subroutine

  subroutine infos()
    integer :: info, keys
    character(20) :: value
    character(3) :: short_value
    logical :: is_set
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, '  key ', '  a value ', ierror)
    call MPI_Info_get(info, 'key', 20, value, is_set, ierror)
    call check(is_set .and. value == 'a value', 'a value without blanks')
    call MPI_Info_get(info, ' key', 3, short_value, is_set, ierror)
    call check(is_set .and. short_value == 'a v', 'a truncated value')
    call MPI_Info_get(info, 'other', 20, value, is_set, ierror)
    call check(.not. is_set, 'a missing key')
    call MPI_Info_get_nkeys(info, keys, ierror)
    call check(keys == 1, 'the number of keys')
    call MPI_Info_free(info, ierror)
  end subroutine

  subroutine topologies()
    integer :: comm, dims(2), coords(2), grid_rank
    logical :: periods(2), got(2)
    dims = 0
    call MPI_Dims_create(size, 2, dims, ierror)
    periods = [.true., .false.]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., comm, ierror)
    call MPI_Cart_get(comm, 2, dims, got, coords, ierror)
    call check(got(1) .and. .not. got(2), 'periods')
    call MPI_Cart_rank(comm, coords, grid_rank, ierror)
    call check(grid_rank == rank, 'the rank of the coordinates')
    call MPI_Comm_free(comm, ierror)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [modulo(rank - 1, size)], MPI_UNWEIGHTED, 1, &
      [modulo(rank + 1, size)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., comm, ierror)
    call MPI_Dist_graph_neighbors_count(comm, dims(1), dims(2), got(1), ierror)
    call check(all(dims == 1) .and. .not. got(1), 'a graph without weights')
    call MPI_Comm_free(comm, ierror)
  end subroutine

  subroutine several()
    integer :: request(3), status(MPI_STATUS_SIZE, 3), values(3), got(3), at, done, indices(3), i, total
    do i = 1, 3
      call MPI_Irecv(got(i), 1, MPI_INTEGER, rank, i, MPI_COMM_WORLD, request(i), ierror)
    end do
    values = [10, 20, 30]
    call MPI_Send(values(2), 1, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, ierror)
    call MPI_Waitany(3, request, at, status, ierror)
    call check(at == 2 .and. status(MPI_TAG, 1) == 2 .and. got(2) == 20, 'the index of a completed request')
    call MPI_Send(values(3), 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, ierror)
    call MPI_Send(values(1), 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, ierror)
    total = 0
    do while (total < 2)
      call MPI_Waitsome(3, request, done, indices, status, ierror)
      do i = 1, done
        call check(status(MPI_TAG, i) == indices(i) .and. got(indices(i)) == 10 * indices(i), 'indices')
      end do
      total = total + done
    end do
    call MPI_Waitsome(3, request, done, indices, status, ierror)
    call check(done == MPI_UNDEFINED, 'no active request')
    call MPI_Waitany(3, request, at, status, ierror)
    call check(at == MPI_UNDEFINED, 'no active request of any')
  end subroutine

  ! Datatypes with addresses, relative to MPI_BOTTOM.
  subroutine structures()
    integer :: number, datatype, got_number
    real(8) :: value, got_value
    integer(MPI_ADDRESS_KIND) :: addresses(2)
    number = 5
    value = 2.5d0
    call MPI_Get_address(number, addresses(1), ierror)
    call MPI_Get_address(value, addresses(2), ierror)
    call MPI_Type_create_struct(2, [1, 1], addresses, [MPI_INTEGER, MPI_DOUBLE_PRECISION], datatype, ierror)
    call MPI_Type_commit(datatype, ierror)
    got_number = 0
    got_value = 0
    call MPI_Sendrecv(MPI_BOTTOM, 1, datatype, rank, 6, MPI_BOTTOM, 1, datatype, rank, 6, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, ierror)
    call MPI_Type_free(datatype, ierror)
    got_number = number
    got_value = value
    call check(got_number == 5 .and. got_value == 2.5d0, 'a message relative to MPI_BOTTOM')
  end subroutine
end program
