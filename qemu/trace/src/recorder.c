/* Recorder of the MPI calls of a C or Fortran program. `midplane` compiles stream.c and this file, followed by a wrapper for
 * each MPI function, and links it with a program for --trace and --check. A wrapper records its call and calls the
 * function by its profiling name (MPI-3.1 section 14.2). A program without these options contains none of it. */

#include <mpi.h>
#include <pmpi.h>

enum {
    MIDPLANE_ENTER = 1,
    MIDPLANE_LEAVE = 2,
    MIDPLANE_COMMUNICATOR = 3,
    MIDPLANE_GROUP = 4,
    MIDPLANE_COUNTERS = 5,
    MIDPLANE_ACCESS = 6,
    MIDPLANE_DATATYPE = 7
};

/* Maximum number of recorded elements of an array argument. */
#define MIDPLANE_MAX_ELEMENTS 16384

#if defined(__linux__)
/* Set in the thread that has initialized MPI: the recorder does not observe the others. */
static __thread int midplane_is_observed;
#else
static int midplane_is_observed;
#endif

/* Returns the time of MPI_Wtime in nanoseconds. */
#if defined(__riscv)
/* Nanoseconds per tick of the clock, with 32 fractional bits (kernel-rt/src/records.rs). */
extern volatile const uint64_t MIDPLANE_NS_PER_TICK;

/* Inlined: beside a call, a wrapper saves all arguments once more. */
static inline uint64_t midplane_time_ns(void)
{
    uint64_t ticks;

    __asm__ volatile("rdtime %0" : "=r"(ticks));
    return (uint64_t)(((unsigned __int128)ticks * MIDPLANE_NS_PER_TICK) >> 32);
}
#else
uint64_t midplane_time_ns(void); /* environment.rs in mpi-adi/c */
#endif

/* A number, or a handle: its value with the sign. */
#define MIDPLANE_WORD(value) ((uint64_t)(int64_t)(value))
#define MIDPLANE_ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

/* ---- Callers in Fortran ---- */

#if defined(MIDPLANE_FORTRAN)
/* The entry points of Fortran call C's functions, whose caller is then the runtime. The public names of the entry points
 * are weak there. Here each stores the address of its own caller, for the next record, and continues with the entry
 * point by its profiling name. */
void *midplane_fortran_caller;

static inline void *midplane_caller(void *caller)
{
    void *fortran = midplane_fortran_caller;
    midplane_fortran_caller = NULL;
    return fortran != NULL ? fortran : caller;
}

#if defined(__x86_64__)
#define MIDPLANE_STORE_CALLER "movq (%rsp), %r11\n movq %r11, midplane_fortran_caller(%rip)\n jmp "
#elif defined(__aarch64__)
#define MIDPLANE_STORE_CALLER                                                                                          \
    "adrp x16, midplane_fortran_caller\n str x30, [x16, :lo12:midplane_fortran_caller]\n b "
#elif defined(__riscv)
#define MIDPLANE_STORE_CALLER "la t0, midplane_fortran_caller\n sd ra, 0(t0)\n tail "
#else
#error "no entry points of Fortran for this processor"
#endif

/* A section of its own for each, so that a node's image contains only those that the program calls. */
#define MIDPLANE_FORTRAN_ENTRY(name, entry)                                                                            \
    __asm__(".pushsection .text." name ", \"ax\", %progbits\n .globl " name "\n .type " name ", %function\n" name ":\n "  \
            MIDPLANE_STORE_CALLER entry "\n .size " name ", . - " name "\n .popsection");
#else
#define midplane_caller(caller) (caller)
#endif

/* ---- Records ---- */

/* Elements of a list, and statuses, for which a chunk has space beside the other fields of a record (a test of recorder.rs
 * counts them). Longer lists reserve more. */
#define MIDPLANE_FEW_ELEMENTS 4
#define MIDPLANE_FEW_RECORDED_STATUSES 2

/* Returns the word of a new record behind its head. */
static MIDPLANE_INLINE uint64_t *midplane_begin(int kind, int function)
{
    uint64_t *at = midplane_first_word();

    at[0] = (uint64_t)kind | (uint64_t)function << 8;
    at[1] = midplane_time_ns();
    return at + 2;
}

/* Number of recorded elements of an array argument. */
static int midplane_kept(const void *elements, int count)
{
    return elements == NULL || count < 0 ? 0 : count > MIDPLANE_MAX_ELEMENTS ? MIDPLANE_MAX_ELEMENTS : count;
}

/* A handle of any type in an array. */
typedef void *midplane_handle __attribute__((may_alias));

/* Functions that write a list at a word, and return the word behind it. */
#define MIDPLANE_LIST_FUNCTION(name, type)                                                      \
    static MIDPLANE_RARE uint64_t *name##_of_many(uint64_t *at, const type *elements, int kept) \
    {                                                                                           \
        *at++ = MIDPLANE_WORD(kept);                                                            \
        for (int i = 0; i < kept; i++) {                                                        \
            *at++ = MIDPLANE_WORD(elements[i]);                                                 \
            at = midplane_reserve(at);                                                          \
        }                                                                                       \
        return at;                                                                              \
    }                                                                                           \
                                                                                                \
    static uint64_t *name(uint64_t *at, const type *elements, int count)                        \
    {                                                                                           \
        int kept = midplane_kept(elements, count);                                              \
                                                                                                \
        if (kept > MIDPLANE_FEW_ELEMENTS)                                                       \
            return name##_of_many(at, elements, kept);                                          \
        *at++ = MIDPLANE_WORD(kept);                                                            \
        for (int i = 0; i < kept; i++)                                                          \
            *at++ = MIDPLANE_WORD(elements[i]);                                                 \
        return at;                                                                              \
    }

MIDPLANE_LIST_FUNCTION(midplane_put_ints, int)
MIDPLANE_LIST_FUNCTION(midplane_put_handles, midplane_handle)
MIDPLANE_LIST_FUNCTION(midplane_put_aints, MPI_Aint)
MIDPLANE_LIST_FUNCTION(midplane_put_counts, MPI_Count)

static inline uint64_t *midplane_put_status(uint64_t *at, const MPI_Status *status)
{
    static const MPI_Status none;
    MPI_Count bytes;

    if (status == NULL)
        status = &none;
    /* Behind an integer that is 1 for a cancelled request (types.rs in mpi-adi/c). */
    memcpy(&bytes, &status->MPI_internal[1], sizeof bytes);
    at[0] = MIDPLANE_WORD(status->MPI_SOURCE);
    at[1] = MIDPLANE_WORD(status->MPI_TAG);
    at[2] = (uint64_t)(uint32_t)status->MPI_ERROR | (uint64_t)(status->MPI_internal[0] != 0) << 32;
    at[3] = MIDPLANE_WORD(bytes);
    return at + 4;
}

static MIDPLANE_RARE uint64_t *midplane_put_many_statuses(uint64_t *at, const MPI_Status *statuses, int kept)
{
    *at++ = MIDPLANE_WORD(4 * kept);
    for (int i = 0; i < kept; i++)
        at = midplane_reserve(midplane_put_status(at, &statuses[i]));
    return at;
}

static uint64_t *midplane_put_statuses(uint64_t *at, const MPI_Status *statuses, int count)
{
    int kept = midplane_kept(statuses, count);

    if (kept > MIDPLANE_FEW_RECORDED_STATUSES)
        return midplane_put_many_statuses(at, statuses, kept);
    *at++ = MIDPLANE_WORD(4 * kept);
    for (int i = 0; i < kept; i++)
        at = midplane_put_status(at, &statuses[i]);
    return at;
}

/* Number of statuses that a wrapper has space for. */
#define MIDPLANE_FEW_STATUSES 8

/* A receive buffer for statuses that the program ignores: these few, or memory from the heap. NULL if the heap is full:
 * they are not recorded then. */
static inline MPI_Status *midplane_statuses(MPI_Status *few, int count)
{
    static const MPI_Status none;

    if (count <= MIDPLANE_FEW_STATUSES) {
        for (int i = 0; i < count; i++)
            few[i] = none;
        return few;
    }
    return calloc((size_t)count, sizeof(MPI_Status));
}

static inline void midplane_free_statuses(MPI_Status *few, MPI_Status *statuses)
{
    if (statuses != few)
        free(statuses);
}

/* Number of elements of an array argument with one for each process of the other side. */
static int midplane_peers(MPI_Comm comm)
{
    int is_inter = 0, size = 0;

    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        PMPI_Comm_remote_size(comm, &size);
    else
        PMPI_Comm_size(comm, &size);
    return size;
}

/* The same for an array that only the root passes. */
static int midplane_peers_at_root(MPI_Comm comm, int root)
{
    int is_inter = 0, rank = -1;

    PMPI_Comm_test_inter(comm, &is_inter);
    if (is_inter)
        return root == MPI_ROOT ? midplane_peers(comm) : 0;
    PMPI_Comm_rank(comm, &rank);
    return root == rank ? midplane_peers(comm) : 0;
}

static int midplane_own_size(MPI_Comm comm)
{
    int size = 0;

    PMPI_Comm_size(comm, &size);
    return size;
}

/* Ranks in MPI_COMM_WORLD of the members of a group: their number, and then each. */
static uint64_t *midplane_put_members(uint64_t *at, MPI_Group group)
{
    MPI_Group world;
    int size = 0;

    PMPI_Group_size(group, &size);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    *at++ = MIDPLANE_WORD(size);
    for (int i = 0; i < size; i++) {
        int member = MPI_UNDEFINED;

        PMPI_Group_translate_ranks(group, 1, &i, world, &member);
        at = midplane_reserve(at);
        *at++ = MIDPLANE_WORD(member);
    }
    PMPI_Group_free(&world);
    return midplane_reserve(at);
}

static void midplane_record_group(MPI_Group group)
{
    uint64_t *at;

    if (group == MPI_GROUP_NULL || !midplane_is_open)
        return;
    at = midplane_begin(MIDPLANE_GROUP, 0);
    *at++ = MIDPLANE_WORD(group);
    midplane_commit(midplane_put_members(at, group));
}

static void midplane_record_communicator(MPI_Comm comm)
{
    MPI_Group group;
    int is_inter = 0, rank = 0;
    uint64_t *at;

    if (comm == MPI_COMM_NULL || !midplane_is_open)
        return;
    PMPI_Comm_test_inter(comm, &is_inter);
    PMPI_Comm_rank(comm, &rank);
    at = midplane_begin(MIDPLANE_COMMUNICATOR, 0);
    *at++ = MIDPLANE_WORD(comm);
    *at++ = MIDPLANE_WORD(rank);
    PMPI_Comm_group(comm, &group);
    at = midplane_put_members(at, group);
    PMPI_Group_free(&group);
    if (is_inter) {
        PMPI_Comm_remote_group(comm, &group);
        at = midplane_put_members(at, group);
        PMPI_Group_free(&group);
    } else {
        *at++ = 0;
    }
    midplane_commit(at);
}

/* Size and extent of a new datatype, so that the analysis needs no layout rules of this machine. */
static void midplane_record_datatype(MPI_Datatype datatype)
{
    MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    MPI_Count size = 0;
    uint64_t *at;

    if (datatype == MPI_DATATYPE_NULL || !midplane_is_open)
        return;
    PMPI_Type_size_x(datatype, &size);
    PMPI_Type_get_extent(datatype, &lower, &extent);
    PMPI_Type_get_true_extent(datatype, &true_lower, &true_extent);
    at = midplane_begin(MIDPLANE_DATATYPE, 0);
    *at++ = MIDPLANE_WORD(datatype);
    *at++ = MIDPLANE_WORD(size);
    *at++ = MIDPLANE_WORD(lower);
    *at++ = MIDPLANE_WORD(extent);
    *at++ = MIDPLANE_WORD(true_lower);
    *at++ = MIDPLANE_WORD(true_extent);
    midplane_commit(at);
}

/* ---- Counters of the node, as MPI_T performance variables ---- */

/* The names are those of the list `TRACED` in the crate midplane-abi. */
static const char *const midplane_counter_names[] = {
    MIDPLANE_COUNTER_NAMES
};

#define MIDPLANE_COUNTERS_COUNT ((int)(sizeof midplane_counter_names / sizeof midplane_counter_names[0]))
/* Minimum time between two records of the counters. */
#define MIDPLANE_COUNTERS_INTERVAL_NS 200000

static struct {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handles[MIDPLANE_COUNTERS_COUNT];
    uint64_t next_time;
} midplane_counters;

static void midplane_open_counters(void)
{
    int provided, count = 0;

    if (PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    if (PMPI_T_pvar_session_create(&midplane_counters.session) != MPI_SUCCESS)
        return;
    PMPI_T_pvar_get_num(&count);
    for (int at = 0; at < count; at++) {
        char name[64];
        int length = sizeof name, verbosity, class, binding, readonly, continuous, atomic, elements;
        MPI_Datatype datatype;
        MPI_T_enum enumtype;

        if (PMPI_T_pvar_get_info(at, name, &length, &verbosity, &class, &datatype, &enumtype, NULL, NULL, &binding,
                                 &readonly, &continuous, &atomic) != MPI_SUCCESS)
            continue;
        for (int i = 0; i < MIDPLANE_COUNTERS_COUNT; i++)
            if (strcmp(name, midplane_counter_names[i]) == 0)
                PMPI_T_pvar_handle_alloc(midplane_counters.session, at, NULL, &midplane_counters.handles[i], &elements);
    }
}

static MIDPLANE_RARE void midplane_record_counters(uint64_t time)
{
    uint64_t *at = midplane_begin(MIDPLANE_COUNTERS, 0);

    midplane_counters.next_time = time + MIDPLANE_COUNTERS_INTERVAL_NS;
    *at++ = MIDPLANE_WORD(MIDPLANE_COUNTERS_COUNT);
    for (int i = 0; i < MIDPLANE_COUNTERS_COUNT; i++) {
        unsigned long long value = 0;

        if (midplane_counters.handles[i] != MPI_T_PVAR_HANDLE_NULL)
            PMPI_T_pvar_read(midplane_counters.session, midplane_counters.handles[i], &value);
        *at++ = value;
    }
    midplane_commit(at);
}

/* Publishes a record of a call's end, at this time, and those of the counters if they are due. */
static MIDPLANE_INLINE void midplane_commit_end(uint64_t *end, uint64_t time)
{
    midplane_commit(end);
    if (time >= midplane_counters.next_time)
        midplane_record_counters(time);
}

/* ---- Accesses of the program to memory of pending operations, and to its windows ---- */

#if defined(MIDPLANE_ACCESSES)

/* Maximum number of pending buffers and windows of a rank. Accesses to further ones are not observed. */
#define MIDPLANE_MAX_REGIONS 1024
/* Maximum number of instructions whose accesses to windows are collected between two MPI calls. */
#define MIDPLANE_MAX_SPANS 256

/* Memory that an operation uses. */
struct midplane_region {
    uintptr_t start, end;
    int64_t key;       /* The request, or the window of an operation or of the memory itself. */
    int kind;          /* One of the constants below. */
    int is_written;    /* By the operation. */
    uintptr_t last_pc; /* The last instruction with a record. */
};

enum { MIDPLANE_OF_REQUEST, MIDPLANE_OF_WINDOW_OPERATION, MIDPLANE_WINDOW_MEMORY };

/* Accesses of an instruction to the memory of a window, since the last MPI call. */
struct midplane_span {
    uintptr_t pc, start, end;
    int64_t window;
    int is_write;
};

static struct midplane_region midplane_regions[MIDPLANE_MAX_REGIONS];
static int midplane_region_count;
static uintptr_t midplane_lowest = UINTPTR_MAX, midplane_highest;
static struct midplane_span midplane_spans[MIDPLANE_MAX_SPANS];
static int midplane_span_count;

static void midplane_put_access(uintptr_t start, uintptr_t end, int is_write, uintptr_t pc, int64_t key, int kind)
{
    uint64_t *at = midplane_begin(MIDPLANE_ACCESS, kind);

    *at++ = start;
    *at++ = end - start;
    *at++ = (uint64_t)is_write;
    *at++ = pc;
    *at++ = MIDPLANE_WORD(key);
    midplane_commit(at);
}

/* Records the collected accesses to windows. */
static void midplane_flush_accesses(void)
{
    for (int i = 0; i < midplane_span_count; i++) {
        struct midplane_span *span = &midplane_spans[i];

        midplane_put_access(span->start, span->end, span->is_write, span->pc, span->window, MIDPLANE_WINDOW_MEMORY);
    }
    midplane_span_count = 0;
}

static void midplane_collect(uintptr_t start, uintptr_t end, int is_write, uintptr_t pc, int64_t window)
{
    for (int i = 0; i < midplane_span_count; i++) {
        struct midplane_span *span = &midplane_spans[i];

        if (span->pc == pc && span->is_write == is_write && start <= span->end && end >= span->start) {
            span->start = start < span->start ? start : span->start;
            span->end = end > span->end ? end : span->end;
            return;
        }
    }
    if (midplane_span_count == MIDPLANE_MAX_SPANS)
        midplane_flush_accesses();
    midplane_spans[midplane_span_count++] = (struct midplane_span){pc, start, end, window, is_write};
}

static __attribute__((noinline)) void midplane_find_region(uintptr_t start, uintptr_t end, int is_write, uintptr_t pc)
{
    for (int i = 0; i < midplane_region_count; i++) {
        struct midplane_region *region = &midplane_regions[i];

        if (start >= region->end || end <= region->start)
            continue;
        if (region->kind == MIDPLANE_WINDOW_MEMORY)
            midplane_collect(start, end, is_write, pc, region->key);
        else if ((is_write || region->is_written) && region->last_pc != pc) {
            region->last_pc = pc;
            midplane_put_access(start, end, is_write, pc, region->key, region->kind);
        }
    }
}

static inline void midplane_access(const void *address, size_t bytes, int is_write, void *pc)
{
    uintptr_t start = (uintptr_t)address;

    if (start < midplane_highest && start + bytes > midplane_lowest && midplane_is_open && midplane_is_observed)
        midplane_find_region(start, start + bytes, is_write, (uintptr_t)pc);
}

static void midplane_bound_regions(void)
{
    midplane_lowest = UINTPTR_MAX;
    midplane_highest = 0;
    for (int i = 0; i < midplane_region_count; i++) {
        if (midplane_regions[i].start < midplane_lowest)
            midplane_lowest = midplane_regions[i].start;
        if (midplane_regions[i].end > midplane_highest)
            midplane_highest = midplane_regions[i].end;
    }
}

static void midplane_add_region(const void *start, size_t bytes, int64_t key, int kind, int is_written)
{
    uintptr_t at = (uintptr_t)start;

    if (bytes == 0 || midplane_region_count == MIDPLANE_MAX_REGIONS)
        return;
    midplane_regions[midplane_region_count++] = (struct midplane_region){at, at + bytes, key, kind, is_written, 0};
    midplane_bound_regions();
}

/* Adds a buffer, unless its datatype has gaps: the program may use the memory between the elements. */
static void midplane_add_buffer(const void *buffer, int64_t count, MPI_Datatype datatype, int64_t key, int kind,
                                int is_written)
{
    MPI_Aint lower, extent, true_lower, true_extent;
    MPI_Count size;

    if (buffer == MPI_IN_PLACE || count <= 0 || PMPI_Type_size_x(datatype, &size) != MPI_SUCCESS ||
        PMPI_Type_get_extent(datatype, &lower, &extent) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent(datatype, &true_lower, &true_extent) != MPI_SUCCESS)
        return;
    if (size != true_extent || (count > 1 && size != extent))
        return;
    midplane_add_region((const char *)buffer + true_lower, (size_t)(count * size), key, kind, is_written);
}

/* Adds the parts of a buffer with a count and a displacement for each process. */
static void midplane_add_vector(const void *buffer, const int counts[], const int displacements[], int peers,
                                MPI_Datatype datatype, int64_t request, int is_written)
{
    MPI_Aint lower, extent;

    if (buffer == MPI_IN_PLACE || PMPI_Type_get_extent(datatype, &lower, &extent) != MPI_SUCCESS)
        return;
    for (int i = 0; i < peers; i++)
        midplane_add_buffer((const char *)buffer + displacements[i] * extent, counts[i], datatype, request,
                            MIDPLANE_OF_REQUEST, is_written);
}

/* The same for a large-count form. */
static void midplane_add_vector_c(const void *buffer, const MPI_Count counts[], const MPI_Aint displacements[],
                                  int peers, MPI_Datatype datatype, int64_t request, int is_written)
{
    MPI_Aint lower, extent;

    if (buffer == MPI_IN_PLACE || PMPI_Type_get_extent(datatype, &lower, &extent) != MPI_SUCCESS)
        return;
    for (int i = 0; i < peers; i++)
        midplane_add_buffer((const char *)buffer + displacements[i] * extent, counts[i], datatype, request,
                            MIDPLANE_OF_REQUEST, is_written);
}

static void midplane_remove_regions(int64_t key, int kind)
{
    int kept = 0;

    for (int i = 0; i < midplane_region_count; i++)
        if (midplane_regions[i].key != key || midplane_regions[i].kind != kind)
            midplane_regions[kept++] = midplane_regions[i];
    midplane_region_count = kept;
    midplane_bound_regions();
}

/* Buffers of persistent requests, which are in use between MPI_Start and the completion. */
static struct midplane_region midplane_persistent[MIDPLANE_MAX_REGIONS];
static int midplane_persistent_count;

/* Makes the last regions of a request inactive. */
static void midplane_suspend(int64_t request)
{
    for (int i = 0; i < midplane_region_count; i++)
        if (midplane_regions[i].key == request && midplane_regions[i].kind == MIDPLANE_OF_REQUEST &&
            midplane_persistent_count < MIDPLANE_MAX_REGIONS)
            midplane_persistent[midplane_persistent_count++] = midplane_regions[i];
    midplane_remove_regions(request, MIDPLANE_OF_REQUEST);
}

static void midplane_start(int64_t request)
{
    for (int i = 0; i < midplane_persistent_count; i++) {
        struct midplane_region *region = &midplane_persistent[i];

        if (region->key == request)
            midplane_add_region((void *)region->start, region->end - region->start, request, MIDPLANE_OF_REQUEST,
                                region->is_written);
    }
}

static void midplane_forget(int64_t request)
{
    int kept = 0;

    for (int i = 0; i < midplane_persistent_count; i++)
        if (midplane_persistent[i].key != request)
            midplane_persistent[kept++] = midplane_persistent[i];
    midplane_persistent_count = kept;
    midplane_remove_regions(request, MIDPLANE_OF_REQUEST);
}

static MPI_Request *midplane_copy_requests(const MPI_Request *requests, int count)
{
    MPI_Request *copy = count > 0 && requests != NULL ? malloc((size_t)count * sizeof *copy) : NULL;

    if (copy != NULL)
        memcpy(copy, requests, (size_t)count * sizeof *copy);
    return copy;
}

/* ---- The functions that the compiler calls for each access (gcc -fsanitize=thread) ---- */

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void)
{
}

#define MIDPLANE_ACCESS_FUNCTIONS(bytes)                                          \
    void __tsan_read##bytes(void *address)                                        \
    {                                                                             \
        midplane_access(address, bytes, 0, __builtin_return_address(0));          \
    }                                                                             \
    void __tsan_write##bytes(void *address)                                       \
    {                                                                             \
        midplane_access(address, bytes, 1, __builtin_return_address(0));          \
    }                                                                             \
    void __tsan_unaligned_read##bytes(void *address)                              \
    {                                                                             \
        midplane_access(address, bytes, 0, __builtin_return_address(0));          \
    }                                                                             \
    void __tsan_unaligned_write##bytes(void *address)                             \
    {                                                                             \
        midplane_access(address, bytes, 1, __builtin_return_address(0));          \
    }                                                                             \
    void __tsan_volatile_read##bytes(void *address)                               \
    {                                                                             \
        midplane_access(address, bytes, 0, __builtin_return_address(0));          \
    }                                                                             \
    void __tsan_volatile_write##bytes(void *address)                              \
    {                                                                             \
        midplane_access(address, bytes, 1, __builtin_return_address(0));          \
    }

MIDPLANE_ACCESS_FUNCTIONS(1)
MIDPLANE_ACCESS_FUNCTIONS(2)
MIDPLANE_ACCESS_FUNCTIONS(4)
MIDPLANE_ACCESS_FUNCTIONS(8)
MIDPLANE_ACCESS_FUNCTIONS(16)

void __tsan_read_range(void *address, unsigned long bytes)
{
    midplane_access(address, bytes, 0, __builtin_return_address(0));
}

void __tsan_write_range(void *address, unsigned long bytes)
{
    midplane_access(address, bytes, 1, __builtin_return_address(0));
}

void __tsan_vptr_read(void **address)
{
    (void)address;
}

void __tsan_vptr_update(void **address, void *value)
{
    (void)address;
    (void)value;
}

/* Atomic operations, which the compiler replaces as well. */
#define MIDPLANE_ATOMIC_UPDATE(bits, name)                                                       \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t v, int order) \
    {                                                                                            \
        (void)order;                                                                             \
        return __atomic_##name(at, v, __ATOMIC_SEQ_CST);                                         \
    }

#define MIDPLANE_ATOMIC_FUNCTIONS(bits)                                                          \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order)      \
    {                                                                                            \
        (void)order;                                                                             \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                            \
    }                                                                                            \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t v, int order)   \
    {                                                                                            \
        (void)order;                                                                             \
        __atomic_store_n(at, v, __ATOMIC_SEQ_CST);                                               \
    }                                                                                            \
    uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t *at, uint##bits##_t v, int order) \
    {                                                                                            \
        (void)order;                                                                             \
        return __atomic_exchange_n(at, v, __ATOMIC_SEQ_CST);                                     \
    }                                                                                            \
    MIDPLANE_ATOMIC_UPDATE(bits, fetch_add)                                                      \
    MIDPLANE_ATOMIC_UPDATE(bits, fetch_sub)                                                      \
    MIDPLANE_ATOMIC_UPDATE(bits, fetch_and)                                                      \
    MIDPLANE_ATOMIC_UPDATE(bits, fetch_or)                                                       \
    MIDPLANE_ATOMIC_UPDATE(bits, fetch_xor)                                                      \
    MIDPLANE_ATOMIC_UPDATE(bits, fetch_nand)                                                     \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *at, uint##bits##_t *expected, \
                                                      uint##bits##_t v, int order, int failure)  \
    {                                                                                            \
        (void)order;                                                                             \
        (void)failure;                                                                           \
        return __atomic_compare_exchange_n(at, expected, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }                                                                                            \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t *at, uint##bits##_t *expected, \
                                                    uint##bits##_t v, int order, int failure)    \
    {                                                                                            \
        return __tsan_atomic##bits##_compare_exchange_strong(at, expected, v, order, failure);   \
    }

MIDPLANE_ATOMIC_FUNCTIONS(8)
MIDPLANE_ATOMIC_FUNCTIONS(16)
MIDPLANE_ATOMIC_FUNCTIONS(32)
MIDPLANE_ATOMIC_FUNCTIONS(64)

void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#else

static inline void midplane_flush_accesses(void)
{
}

#endif

/* ---- Start and end ---- */

static void midplane_open(void)
{
    int rank = 0;

    if (PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || !midplane_open_stream(rank))
        return;
    midplane_is_open = 1;
    midplane_is_observed = 1;
    midplane_record_communicator(MPI_COMM_WORLD);
    midplane_open_counters();
}
