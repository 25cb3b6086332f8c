/* ---- Functions that require more than a conversion of arguments. ---- */

/* Programs ask a library whether it has the standard ABI. */
ENTRY(int, MPI_Abi_get_version, (int *abi_major, int *abi_minor)) {
    int result = midplane_abi_MPI_Abi_get_version(abi_major, abi_minor);
    if (result == MPI_SUCCESS)
        *abi_major = *abi_minor = -1;
    return from_code(result);
}

/* The library has no Fortran interfaces. */
ENTRY(int, MPI_Abi_get_fortran_info, (int *info)) {
    if (info)
        *info = from_info(MPI_INFO_NULL);
    return 0;
}

/* Attributes whose values differ are variables with MPICH's values. */
static void from_attribute(int keyval, void *attribute) {
    static const int flavors[] = {0, 1, 2, 3, 4}, models[] = {0, 1, 2}, ranks[] = {-1, -2};
    static int last_code;
    const int *value = *(int **)attribute, *converted = value;
    switch (keyval) {
    case MPI_WIN_CREATE_FLAVOR:
        converted = &flavors[from_flavor(*value)];
        break;
    case MPI_WIN_MODEL:
        converted = &models[from_model(*value)];
        break;
    case MPI_HOST:
    case MPI_IO:
        if (*value < 0)
            converted = &ranks[*value == MPI_ANY_SOURCE];
        break;
    case MPI_LASTUSEDCODE:
        last_code = from_code(*value);
        converted = &last_code;
        break;
    }
    *(const int **)attribute = converted;
}

#define GET_ATTRIBUTE(name, kind)                                                                                  \
    ENTRY(int, name, (int object, int keyval, void *attribute, int *flag)) {                                       \
        int result = midplane_abi_##name(to_##kind(object), to_keyval(keyval), attribute, flag);                   \
        if (result == MPI_SUCCESS && *flag)                                                                        \
            from_attribute(to_keyval(keyval), attribute);                                                          \
        return from_code(result);                                                                                  \
    }
GET_ATTRIBUTE(MPI_Attr_get, comm)
GET_ATTRIBUTE(MPI_Comm_get_attr, comm)
GET_ATTRIBUTE(MPI_Win_get_attr, win)

/* The handle is stored when the request completes. */
static void store_comm(int *place, MPI_Comm comm) { *place = from_comm(comm); }

static int duplicate(int comm, const MPI_Info *info, int *newcomm, int *request) {
    MPI_Request started = MPI_REQUEST_NULL;
    int locks = midplane_threads_are_enabled;
    if (!newcomm || !request) {
        midplane_abi_MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_ARG);
        return from_code(MPI_ERR_ARG);
    }
    if (locks)
        midplane_thread_enter(1);
    int result = midplane_comm_idup(to_comm(comm), info, newcomm, &started, store_comm);
    if (locks)
        midplane_thread_leave();
    *request = from_request(started);
    return from_code(result);
}
ENTRY(int, MPI_Comm_idup, (int comm, int *newcomm, int *request)) { return duplicate(comm, 0, newcomm, request); }
ENTRY(int, MPI_Comm_idup_with_info, (int comm, int info, int *newcomm, int *request)) {
    MPI_Info hints = to_info(info);
    return duplicate(comm, &hints, newcomm, request);
}

/* MPICH's buffers for these strings are shorter. */
#define MPICH_MAX_PROCESSOR_NAME 128
#define MPICH_MAX_PORT_NAME      256
ENTRY(int, MPI_Get_processor_name, (char *name, int *resultlen)) {
    char text[MPI_MAX_PROCESSOR_NAME];
    int length = 0, result = midplane_abi_MPI_Get_processor_name(name ? text : 0, resultlen ? &length : 0);
    if (result != MPI_SUCCESS)
        return from_code(result);
    if (length >= MPICH_MAX_PROCESSOR_NAME)
        length = MPICH_MAX_PROCESSOR_NAME - 1;
    memcpy(name, text, length);
    name[length] = 0;
    *resultlen = length;
    return 0;
}

static int from_port(int result, char *port_name, const char *port) {
    if (result != MPI_SUCCESS)
        return from_code(result);
    size_t length = strlen(port);
    if (!port_name || length >= MPICH_MAX_PORT_NAME) {
        midplane_abi_MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_PORT);
        return from_code(MPI_ERR_PORT);
    }
    memcpy(port_name, port, length + 1);
    return 0;
}
ENTRY(int, MPI_Open_port, (int info, char *port_name)) {
    char port[MPI_MAX_PORT_NAME] = "";
    return from_port(midplane_abi_MPI_Open_port(to_info(info), port), port_name, port);
}
ENTRY(int, MPI_Lookup_name, (const char *service_name, int info, char *port_name)) {
    char port[MPI_MAX_PORT_NAME] = "";
    return from_port(midplane_abi_MPI_Lookup_name(service_name, to_info(info), port), port_name, port);
}

/* Constants among the integers of a constructor (MPI-3.1 section 4.1.13). */
static void from_integers(int combiner, int is_large, int *integers) {
    int count;
    if (combiner == MPI_COMBINER_SUBARRAY) {
        int *order = is_large ? &integers[1] : &integers[3 * integers[0] + 1];
        *order = from_order(*order);
    } else if (combiner == MPI_COMBINER_DARRAY) {
        count = integers[2];
        int *distributions = &integers[is_large ? 3 : 3 + count];
        for (int at = 0; at < count; at++) {
            distributions[at] = from_distribution(distributions[at]);
            distributions[count + at] = from_distribution_argument(distributions[count + at]);
        }
        distributions[3 * count] = from_order(distributions[3 * count]);
    }
}

static void from_datatypes(int *datatypes, const MPI_Datatype *converted, size_t length) {
    for (size_t at = 0; at < length && converted[at] != UNWRITTEN; at++)
        datatypes[at] = from_datatype(converted[at]);
}

static MPI_Datatype *unwritten_datatypes(struct scratch *scratch, size_t length) {
    if (!open_scratch(scratch, BYTES(MPI_Datatype, length)))
        return 0;
    MPI_Datatype *datatypes = next_array(scratch, BYTES(MPI_Datatype, length));
    for (size_t at = 0; at < length; at++)
        datatypes[at] = UNWRITTEN;
    return datatypes;
}

ENTRY(int, MPI_Type_get_contents,
      (int datatype, int max_integers, int max_addresses, int max_datatypes, int *integers, MPI_Aint *addresses,
       int *datatypes)) {
    struct scratch scratch;
    int counts[3], combiner;
    size_t length = length_of(datatypes, max_datatypes);
    MPI_Datatype *converted = unwritten_datatypes(&scratch, length);
    if (!converted)
        return no_memory();
    int result = midplane_abi_MPI_Type_get_contents(to_datatype(datatype), max_integers, max_addresses,
                                                    max_datatypes, integers, addresses, datatypes ? converted : 0);
    if (result == MPI_SUCCESS) {
        midplane_abi_MPI_Type_get_envelope(to_datatype(datatype), &counts[0], &counts[1], &counts[2], &combiner);
        from_integers(combiner, 0, integers);
        from_datatypes(datatypes, converted, length);
    }
    close_scratch(&scratch);
    return from_code(result);
}

ENTRY(int, MPI_Type_get_contents_c,
      (int datatype, MPI_Count max_integers, MPI_Count max_addresses, MPI_Count max_large_counts,
       MPI_Count max_datatypes, int *integers, MPI_Aint *addresses, MPI_Count *large_counts, int *datatypes)) {
    struct scratch scratch;
    MPI_Count counts[4];
    int combiner;
    size_t length = length_of(datatypes, max_datatypes);
    MPI_Datatype *converted = unwritten_datatypes(&scratch, length);
    if (!converted)
        return no_memory();
    int result = midplane_abi_MPI_Type_get_contents_c(to_datatype(datatype), max_integers, max_addresses,
                                                      max_large_counts, max_datatypes, integers, addresses,
                                                      large_counts, datatypes ? converted : 0);
    if (result == MPI_SUCCESS) {
        midplane_abi_MPI_Type_get_envelope_c(to_datatype(datatype), &counts[0], &counts[1], &counts[2], &counts[3],
                                             &combiner);
        from_integers(combiner, counts[2] > 0, integers);
        from_datatypes(datatypes, converted, length);
    }
    close_scratch(&scratch);
    return from_code(result);
}

/* Fortran's statuses have the same integers as C's. */
#define COPY_STATUS(name)                                                                                          \
    ENTRY(int, name, (const mpich_status *from, mpich_status *to)) {                                               \
        if (is_ignored(from) || is_ignored(to)) {                                                                  \
            midplane_abi_MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_ARG);                                    \
            return from_code(MPI_ERR_ARG);                                                                         \
        }                                                                                                          \
        *to = *from;                                                                                               \
        return 0;                                                                                                  \
    }
COPY_STATUS(MPI_Status_c2f)
COPY_STATUS(MPI_Status_f2c)
COPY_STATUS(MPI_Status_c2f08)
COPY_STATUS(MPI_Status_f082c)
COPY_STATUS(MPI_Status_f2f08)
COPY_STATUS(MPI_Status_f082f)

/* Processes are started with codes: one for each. They and the null communicator are also results of a failure. */
static void from_codes(int *codes, int count) {
    for (int at = 0; codes && at < count; at++)
        codes[at] = from_code(codes[at]);
}
static void from_created(int *intercomm, MPI_Comm created) {
    if (intercomm && created != UNWRITTEN)
        *intercomm = from_comm(created);
}
static int has_codes(int result) {
    int class = MPI_SUCCESS;
    return result == MPI_SUCCESS ||
           (midplane_abi_MPI_Error_class(result, &class) == MPI_SUCCESS && class == MPI_ERR_SPAWN);
}
ENTRY(int, MPI_Comm_spawn,
      (const char *command, char *argv[], int maxprocs, int info, int root, int comm, int *intercomm,
       int *array_of_errcodes)) {
    MPI_Comm created = UNWRITTEN;
    int rank, result = midplane_abi_MPI_Comm_spawn(command, argv, maxprocs, to_info(info), root, to_comm(comm),
                                                   intercomm ? &created : 0, array_of_errcodes);
    from_created(intercomm, created);
    if (has_codes(result) && midplane_abi_MPI_Comm_rank(to_comm(comm), &rank) == MPI_SUCCESS && rank == root)
        from_codes(array_of_errcodes, maxprocs);
    return from_code(result);
}
ENTRY(int, MPI_Comm_spawn_multiple,
      (int count, char *commands[], char **argvs[], const int maxprocs[], const int infos[], int root, int comm,
       int *intercomm, int *array_of_errcodes)) {
    struct scratch scratch;
    MPI_Comm created = UNWRITTEN;
    int rank = -1;
    midplane_abi_MPI_Comm_rank(to_comm(comm), &rank);
    size_t length = rank == root ? length_of(infos, count) : 0;
    if (!open_scratch(&scratch, BYTES(MPI_Info, length)))
        return no_memory();
    MPI_Info *hints = next_array(&scratch, BYTES(MPI_Info, length));
    for (size_t at = 0; at < length; at++)
        hints[at] = to_info(infos[at]);
    int result = midplane_abi_MPI_Comm_spawn_multiple(count, commands, argvs, maxprocs, hints, root, to_comm(comm),
                                                      intercomm ? &created : 0, array_of_errcodes);
    close_scratch(&scratch);
    from_created(intercomm, created);
    for (int at = 0, first = 0; has_codes(result) && rank == root && at < count; first += maxprocs[at++])
        from_codes(array_of_errcodes ? &array_of_errcodes[first] : 0, maxprocs[at]);
    return from_code(result);
}

/* ---- Variables of MPICH, which programs refer to. ---- */
#define VARIABLE(type, name, symbol, value)                                                                        \
    extern type name __asm__(symbol);                                                                              \
    type name = value
VARIABLE(int *const, mpich_unweighted, "MPI_UNWEIGHTED", MPI_UNWEIGHTED);
VARIABLE(int *const, mpich_weights_empty, "MPI_WEIGHTS_EMPTY", MPI_WEIGHTS_EMPTY);
VARIABLE(MPI_T_pvar_handle const, mpich_all_handles, "MPI_T_PVAR_ALL_HANDLES", MPI_T_PVAR_ALL_HANDLES);
VARIABLE(MPI_Fint *, mpich_status_ignore, "MPI_F_STATUS_IGNORE", (MPI_Fint *)1);
VARIABLE(MPI_Fint *, mpich_statuses_ignore, "MPI_F_STATUSES_IGNORE", (MPI_Fint *)1);
VARIABLE(mpich_status *, mpich_status_ignore_08, "MPI_F08_STATUS_IGNORE", (mpich_status *)1);
VARIABLE(mpich_status *, mpich_statuses_ignore_08, "MPI_F08_STATUSES_IGNORE", (mpich_status *)1);
