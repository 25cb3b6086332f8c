/* ---- Functions of the program that MPI calls: an adapter converts their arguments (mpi-adi/c/src/adapters.rs). ---- */

static void adapt_op(const void *function, void *invec, void *inoutvec, long long length, MPI_Datatype datatype) {
    typedef void op_function(void *, void *, int *, int *);
    int count = (int)length, handle = from_datatype(datatype);
    ((op_function *)function)(invec, inoutvec, &count, &handle);
}

static void adapt_large_op(const void *function, void *invec, void *inoutvec, long long length,
                           MPI_Datatype datatype) {
    typedef void op_function(void *, void *, MPI_Count *, int *);
    MPI_Count count = length;
    int handle = from_datatype(datatype);
    ((op_function *)function)(invec, inoutvec, &count, &handle);
}

#define CREATE_OP(name, type, adapter)                                                                             \
    ENTRY(int, name, (type * user_fn, int commute, int *op)) {                                                     \
        MPI_Op created = UNWRITTEN;                                                                                \
        int result = midplane_abi_##name(user_fn, commute, op ? &created : 0);                                     \
        if (result == MPI_SUCCESS) {                                                                               \
            midplane_adapt_operation(created, adapter);                                                            \
            *op = from_op(created);                                                                                \
        }                                                                                                          \
        return from_code(result);                                                                                  \
    }
CREATE_OP(MPI_Op_create, MPI_User_function, adapt_op)
CREATE_OP(MPI_Op_create_c, MPI_User_function_c, adapt_large_op)

/* Error handlers. A handler may change the code that the call returns. */
#define ADAPT_ERROR(name, type, from)                                                                              \
    static void name(const void *function, void *object, int *code) {                                              \
        type handle = from(object);                                                                                \
        int converted = from_code(*code);                                                                          \
        ((void (*)(type *, int *, ...))function)(&handle, &converted);                                             \
        *code = to_code(converted);                                                                                \
    }
ADAPT_ERROR(adapt_comm_error, int, from_comm)
ADAPT_ERROR(adapt_win_error, int, from_win)
ADAPT_ERROR(adapt_session_error, int, from_session)
ADAPT_ERROR(adapt_file_error, MPI_File, from_file)

#define CREATE_ERRHANDLER(name, type, adapter)                                                                     \
    ENTRY(int, name, (type * function, int *errhandler)) {                                                         \
        MPI_Errhandler created = UNWRITTEN;                                                                        \
        int result = midplane_abi_##name(function, errhandler ? &created : 0);                                     \
        if (result == MPI_SUCCESS) {                                                                               \
            midplane_adapt_errhandler(created, adapter);                                                           \
            *errhandler = from_errhandler(created);                                                                \
        }                                                                                                          \
        return from_code(result);                                                                                  \
    }
CREATE_ERRHANDLER(MPI_Errhandler_create, MPI_Handler_function, adapt_comm_error)
CREATE_ERRHANDLER(MPI_Comm_create_errhandler, MPI_Comm_errhandler_function, adapt_comm_error)
CREATE_ERRHANDLER(MPI_Win_create_errhandler, MPI_Win_errhandler_function, adapt_win_error)
CREATE_ERRHANDLER(MPI_File_create_errhandler, MPI_File_errhandler_function, adapt_file_error)
CREATE_ERRHANDLER(MPI_Session_create_errhandler, MPI_Session_errhandler_function, adapt_session_error)

/* Attributes. MPI_COMM_DUP_FN and the like are addresses of MPIR_Dup_fn in MPICH. */
int MPIR_Dup_fn(int object, int keyval, void *extra_state, void *value, void *copy, int *flag);
int MPIR_Dup_fn(int object, int keyval, void *extra_state, void *value, void *copy, int *flag) {
    (void)object, (void)keyval, (void)extra_state;
    *(void **)copy = value;
    *flag = 1;
    return 0;
}

typedef int copy_function(int, int, void *, void *, void *, int *);
typedef int delete_function(int, int, void *, void *);
#define ADAPT_ATTRIBUTE(kind)                                                                                      \
    static int copy_##kind(void *function, void *object, int keyval, void *extra, void *value, void *copy,         \
                           int *flag) {                                                                            \
        return to_code(                                                                                            \
            ((copy_function *)function)(from_##kind(object), from_keyval(keyval), extra, value, copy, flag));      \
    }                                                                                                              \
    static int delete_##kind(void *function, void *object, int keyval, void *value, void *extra) {                 \
        return to_code(((delete_function *)function)(from_##kind(object), from_keyval(keyval), value, extra));     \
    }
ADAPT_ATTRIBUTE(comm)
ADAPT_ATTRIBUTE(datatype)
ADAPT_ATTRIBUTE(win)

#define CREATE_KEYVAL(name, copy_type, delete_type, kind)                                                          \
    ENTRY(int, name, (copy_type * copy, delete_type * delete, int *keyval, void *extra_state)) {                   \
        int result = midplane_abi_##name(copy, delete, keyval, extra_state);                                       \
        if (result == MPI_SUCCESS) {                                                                               \
            midplane_adapt_keyval(*keyval, copy_##kind, delete_##kind);                                            \
            *keyval = from_keyval(*keyval);                                                                        \
        }                                                                                                          \
        return from_code(result);                                                                                  \
    }
CREATE_KEYVAL(MPI_Keyval_create, MPI_Copy_function, MPI_Delete_function, comm)
CREATE_KEYVAL(MPI_Comm_create_keyval, MPI_Comm_copy_attr_function, MPI_Comm_delete_attr_function, comm)
CREATE_KEYVAL(MPI_Type_create_keyval, MPI_Type_copy_attr_function, MPI_Type_delete_attr_function, datatype)
CREATE_KEYVAL(MPI_Win_create_keyval, MPI_Win_copy_attr_function, MPI_Win_delete_attr_function, win)

/* Generalized requests: `extra_state` is this memory, which ends with the request. */
struct grequest {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *extra_state;
};

static int query_grequest(void *extra_state, MPI_Status *status) {
    struct grequest *request = extra_state;
    mpich_status converted = {0};
    from_status(&converted, status);
    int code = ((int (*)(void *, mpich_status *))request->query)(request->extra_state, &converted);
    to_status(status, &converted);
    return to_code(code);
}

static int free_grequest(void *extra_state) {
    struct grequest request = *(struct grequest *)extra_state;
    free(extra_state);
    return to_code(request.free(request.extra_state));
}

static int cancel_grequest(void *extra_state, int complete) {
    struct grequest *request = extra_state;
    return to_code(request->cancel(request->extra_state, complete));
}

ENTRY(int, MPI_Grequest_start,
      (MPI_Grequest_query_function * query_fn, MPI_Grequest_free_function *free_fn,
       MPI_Grequest_cancel_function *cancel_fn, void *extra_state, int *request)) {
    struct grequest *callbacks = malloc(sizeof *callbacks);
    if (!callbacks)
        return no_memory();
    *callbacks = (struct grequest){query_fn, free_fn, cancel_fn, extra_state};
    MPI_Request started = UNWRITTEN;
    int result = midplane_abi_MPI_Grequest_start(query_fn ? query_grequest : 0, free_fn ? free_grequest : 0,
                                                 cancel_fn ? cancel_grequest : 0, callbacks, request ? &started : 0);
    if (result == MPI_SUCCESS)
        *request = from_request(started);
    else
        free(callbacks);
    return from_code(result);
}

/* Representations of files, which exist until the end of the job. */
struct representation {
    void *read;
    void *write;
    MPI_Datarep_extent_function *extent;
    void *extra_state;
};

static int adapt_extent(MPI_Datatype datatype, MPI_Aint *extent, void *extra_state) {
    struct representation *representation = extra_state;
    int (*function)(int, MPI_Aint *, void *) = (int (*)(int, MPI_Aint *, void *))representation->extent;
    return to_code(function(from_datatype(datatype), extent, representation->extra_state));
}

#define ADAPT_CONVERSION(name, type, member)                                                                       \
    static int name(void *userbuf, MPI_Datatype datatype, type count, void *filebuf, MPI_Offset position,          \
                    void *extra_state) {                                                                           \
        struct representation *representation = extra_state;                                                      \
        int (*function)(void *, int, type, void *, MPI_Offset, void *) = representation->member;                   \
        return to_code(function(userbuf, from_datatype(datatype), count, filebuf, position,                        \
                                representation->extra_state));                                                     \
    }
ADAPT_CONVERSION(adapt_read, int, read)
ADAPT_CONVERSION(adapt_write, int, write)
ADAPT_CONVERSION(adapt_large_read, MPI_Count, read)
ADAPT_CONVERSION(adapt_large_write, MPI_Count, write)

#define REGISTER_DATAREP(name, type, adapted_read, adapted_write)                                                  \
    ENTRY(int, name,                                                                                               \
          (const char *datarep, type *read, type *write, MPI_Datarep_extent_function *extent, void *extra_state)) { \
        struct representation *callbacks = malloc(sizeof *callbacks);                                              \
        if (!callbacks)                                                                                            \
            return no_memory();                                                                                    \
        *callbacks = (struct representation){(void *)read, (void *)write, extent, extra_state};                    \
        int result = midplane_abi_##name(datarep, read ? adapted_read : 0, write ? adapted_write : 0,              \
                                         extent ? adapt_extent : 0, callbacks);                                    \
        if (result != MPI_SUCCESS)                                                                                 \
            free(callbacks);                                                                                       \
        return from_code(result);                                                                                  \
    }
REGISTER_DATAREP(MPI_Register_datarep, MPI_Datarep_conversion_function, adapt_read, adapt_write)
REGISTER_DATAREP(MPI_Register_datarep_c, MPI_Datarep_conversion_function_c, adapt_large_read, adapt_large_write)
