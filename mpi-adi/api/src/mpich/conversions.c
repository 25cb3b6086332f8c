/* Value of a handle, which is an int in both ABIs. */
static inline int value_of(const void *handle) { return (int)(intptr_t)handle; }

/* Handle of a predefined object, or of one of the program. The latter is the same in both ABIs except for `flip`. */
static inline int mpich_handle(const void *handle, int flip) {
    int value = value_of(handle);
    return (unsigned)value < sizeof predefined / sizeof *predefined ? predefined[value] : value ^ flip;
}

static inline void *standard_handle(int handle, int flip) { return (void *)(intptr_t)(handle ^ flip); }

/* Initial value of a result that a function may leave as it is; no handle has it. */
#define UNWRITTEN ((void *)((intptr_t)1 << 62))

/* Files are pointers in both. */
static inline MPI_File to_file(MPI_File file) { return file == 0 ? MPI_FILE_NULL : file; }
static inline MPI_File from_file(MPI_File file) { return file == MPI_FILE_NULL ? 0 : file; }

static inline MPI_Datatype to_datatype(int handle) {
    int basic = basic_datatypes[handle & 0xff];
    if (basic != 0 && predefined[basic] == handle)
        return (MPI_Datatype)(intptr_t)basic;
    return to_other_datatype(handle);
}

/* Special addresses of buffers. */
#define IN_PLACE  ((void *)-1)
#define AUTOMATIC ((void *)-2)
static inline void *to_buffer(const void *buffer) {
    if ((uintptr_t)buffer < (uintptr_t)AUTOMATIC)
        return (void *)buffer;
    return buffer == IN_PLACE ? MPI_IN_PLACE : MPI_BUFFER_AUTOMATIC;
}

/* The address that a function has stored is MPI_BUFFER_AUTOMATIC, if the program had attached that. */
static void from_detached(void *address) {
    if (address && *(void **)address == MPI_BUFFER_AUTOMATIC)
        *(void **)address = AUTOMATIC;
}

/* Keys of attributes are converted like handles. */
static int to_keyval(int keyval) {
    int predefined_key = to_predefined_keyval(keyval);
    return predefined_key == keyval ? keyval ^ INT32_MIN : predefined_key;
}
static int from_keyval(int keyval) {
    int predefined_key = from_predefined_keyval(keyval);
    return predefined_key == keyval ? keyval ^ INT32_MIN : predefined_key;
}

static inline MPI_Offset to_displacement(MPI_Offset offset) {
    return offset == -54278278 ? MPI_DISPLACEMENT_CURRENT : offset;
}

/* Error codes: classes, or codes of the program, which follow the last one of the library. */
#define MPICH_LASTCODE 0x3fffffff
static int from_failure(int code) {
    return code > MPI_ERR_LASTCODE ? code - MPI_ERR_LASTCODE + MPICH_LASTCODE : from_error_class(code);
}
static inline int from_code(int code) { return code == MPI_SUCCESS ? 0 : from_failure(code); }
static inline int to_code(int code) {
    if (code == 0)
        return MPI_SUCCESS;
    return code > MPICH_LASTCODE ? code - MPICH_LASTCODE + MPI_ERR_LASTCODE : to_error_class(code);
}

/* Statuses. The standard's has the flag of a cancelled request and the bytes of the message behind its public members. */
static void to_status(MPI_Status *standard, const mpich_status *status) {
    int high = status->count_hi_and_cancelled;
    int64_t bytes = (int64_t)(high >> 1) * ((int64_t)1 << 32) + (uint32_t)status->count_lo;
    memset(standard, 0, sizeof *standard);
    standard->MPI_SOURCE = to_rank(status->MPI_SOURCE);
    standard->MPI_TAG = to_tag(status->MPI_TAG);
    standard->MPI_ERROR = to_code(status->MPI_ERROR);
    standard->MPI_internal[0] = high & 1;
    memcpy(&standard->MPI_internal[1], &bytes, sizeof bytes);
}

static void from_status(mpich_status *status, const MPI_Status *standard) {
    int64_t bytes;
    memcpy(&bytes, &standard->MPI_internal[1], sizeof bytes);
    status->MPI_SOURCE = from_rank(standard->MPI_SOURCE);
    status->MPI_TAG = from_tag(standard->MPI_TAG);
    /* Most functions leave it as it is (MPI-3.1 section 3.2.5), whatever it is. */
    if (standard->MPI_ERROR != to_code(status->MPI_ERROR))
        status->MPI_ERROR = from_code(standard->MPI_ERROR);
    status->count_lo = (int)(uint32_t)bytes;
    status->count_hi_and_cancelled = (int)(bytes >> 32) * 2 + (standard->MPI_internal[0] != 0);
}

/* Whether a function does not store a status here. */
static inline int is_ignored(const mpich_status *status) { return (uintptr_t)status <= 1; }

/* Memory of converted arrays during a call: on the stack, or in the program's heap if it is more. */
struct scratch {
    char *next;
    void *heap;
    char stack[1536];
};
#define BYTES(type, length) ((sizeof(type) * (length) + 7) & ~(size_t)7)

static int open_scratch(struct scratch *scratch, size_t bytes) {
    scratch->heap = bytes > sizeof scratch->stack ? malloc(bytes) : 0;
    scratch->next = scratch->heap ? scratch->heap : scratch->stack;
    return scratch->heap || bytes <= sizeof scratch->stack;
}
static inline void *next_array(struct scratch *scratch, size_t bytes) {
    void *array = scratch->next;
    scratch->next += bytes;
    return array;
}
static inline void close_scratch(struct scratch *scratch) { free(scratch->heap); }

/* Length of an array that the program passes: nothing is read if the standard's function will reject it. */
static inline size_t length_of(const void *array, long long length) {
    return array && length > 0 && length < (long long)1 << 40 ? (size_t)length : 0;
}

/* The heap of the program has no space for an array: as other errors without a communicator. */
static int no_memory(void) {
    midplane_abi_MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    return from_code(MPI_ERR_NO_MEM);
}
