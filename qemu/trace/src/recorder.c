/* Recorder of MPI calls. `midplane` compiles this file, followed by a wrapper for each MPI function, and links it with a
 * program for --trace and --check. A wrapper records its call and calls the function by its profiling name (MPI-3.1
 * section 14.2). A program without these options contains none of it.
 *
 * The records of a rank are a stream of 64-bit words; record.rs describes them. A process appends them to a file that it
 * maps. A node has no file: it writes them to a ring buffer, which the tool empties, and waits while the buffer is full. */

#include <mpi.h>
#include <pmpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

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

static int midplane_is_open;
#if defined(__linux__)
/* Set in the thread that has initialized MPI: the recorder does not observe the others. */
static __thread int midplane_is_observed;
#else
static int midplane_is_observed;
#endif

#define MIDPLANE_WORD(value) ((uint64_t)(int64_t)(value))
#define MIDPLANE_ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

#if defined(__linux__)

/* ---- A mapped file ---- */

/* The first page contains the number of complete words, which follow it, and whether the rest of them is missing. */
#define MIDPLANE_HEADER_BYTES 4096
#define MIDPLANE_WINDOW_BYTES (1 << 20)

static struct {
    int file;
    uint64_t *count;     /* Of complete words, in the header; then 1 if the rest is missing. */
    uint64_t *window;    /* Mapped part of the file. */
    uint64_t words;      /* Words written so far, complete records or not. */
} midplane_stream;

static void midplane_map_window(void)
{
    off_t start = MIDPLANE_HEADER_BYTES + (off_t)(midplane_stream.words * 8);

    if (midplane_stream.window != NULL)
        munmap(midplane_stream.window, MIDPLANE_WINDOW_BYTES);
    midplane_stream.window = NULL;
    if (midplane_stream.words >= MIDPLANE_MAX_STREAM_WORDS) {
        midplane_stream.count[1] = 1;
        midplane_is_open = 0;
        return;
    }
    if (ftruncate(midplane_stream.file, start + MIDPLANE_WINDOW_BYTES) == 0) {
        void *window = mmap(NULL, MIDPLANE_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, midplane_stream.file, start);

        if (window != MAP_FAILED)
            midplane_stream.window = window;
    }
    if (midplane_stream.window == NULL) {
        fputs("midplane: the record of MPI calls cannot grow: the disk may be full\n", stderr);
        midplane_stream.count[1] = 1;
        midplane_is_open = 0;
    }
}

static inline void midplane_reserve(uint32_t words)
{
    (void)words;
}

static inline void midplane_put(uint64_t word)
{
    uint64_t at = midplane_stream.words % (MIDPLANE_WINDOW_BYTES / 8);

    if (at == 0)
        midplane_map_window();
    if (midplane_stream.window != NULL) {
        midplane_stream.window[at] = word;
        midplane_stream.words++;
    }
}

static inline void midplane_commit(void)
{
    if (midplane_stream.window != NULL)
        __atomic_store_n(midplane_stream.count, midplane_stream.words, __ATOMIC_RELEASE);
}

static int midplane_open_stream(int rank)
{
    const char *directory = getenv("MIDPLANE_CALLS");
    char path[4096];
    void *header;

    if (directory == NULL || snprintf(path, sizeof path, "%s/%d", directory, rank) >= (int)sizeof path)
        return 0;
    midplane_stream.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (midplane_stream.file < 0 || ftruncate(midplane_stream.file, MIDPLANE_HEADER_BYTES) != 0)
        return 0;
    header = mmap(NULL, MIDPLANE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, midplane_stream.file, 0);
    if (header == MAP_FAILED)
        return 0;
    midplane_stream.count = header;
    return 1;
}

#else

/* ---- A ring buffer that the tool reads ---- */

#define MIDPLANE_RING_WORDS (1 << 16)

/* The tool finds it by its symbol, and writes `read` only. */
struct {
    uint32_t magic;
    uint32_t capacity;       /* In words. */
    volatile uint32_t count; /* Words of complete records since the start, modulo 2^32. */
    volatile uint32_t read;  /* Words that the tool has read, modulo 2^32. */
    uint64_t words[MIDPLANE_RING_WORDS];
} MIDPLANE_CALLS;

static uint32_t midplane_words;

static inline void midplane_publish(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    MIDPLANE_CALLS.count = midplane_words;
}

/* Waits for space. A record that is longer than the buffer is published in parts. */
static inline void midplane_reserve(uint32_t words)
{
    while (midplane_words + words - MIDPLANE_CALLS.read > MIDPLANE_RING_WORDS)
        midplane_publish();
}

static inline void midplane_put(uint64_t word)
{
    MIDPLANE_CALLS.words[midplane_words++ % MIDPLANE_RING_WORDS] = word;
}

static inline void midplane_commit(void)
{
    midplane_publish();
}

static int midplane_open_stream(int rank)
{
    (void)rank;
    MIDPLANE_CALLS.capacity = MIDPLANE_RING_WORDS;
    MIDPLANE_CALLS.magic = 0x3143504d; /* "MPC1" */
    return 1;
}

#endif

/* ---- Records ---- */

/* Maximum number of words of a record without its lists. */
#define MIDPLANE_MAX_RECORD_WORDS 64

/* Time of the last record in nanoseconds. */
static uint64_t midplane_time;

static inline void midplane_begin(int kind, int function)
{
    midplane_time = (uint64_t)(PMPI_Wtime() * 1e9);
    midplane_reserve(MIDPLANE_MAX_RECORD_WORDS);
    midplane_put((uint64_t)kind | (uint64_t)function << 8);
    midplane_put(midplane_time);
}

static void midplane_put_ints(const int *elements, int count)
{
    int kept = elements == NULL || count < 0 ? 0 : count > MIDPLANE_MAX_ELEMENTS ? MIDPLANE_MAX_ELEMENTS : count;

    midplane_put(MIDPLANE_WORD(kept));
    for (int i = 0; i < kept; i++) {
        midplane_reserve(MIDPLANE_MAX_RECORD_WORDS);
        midplane_put(MIDPLANE_WORD(elements[i]));
    }
}

static void midplane_put_aints(const MPI_Aint *elements, int count)
{
    int kept = elements == NULL || count < 0 ? 0 : count > MIDPLANE_MAX_ELEMENTS ? MIDPLANE_MAX_ELEMENTS : count;

    midplane_put(MIDPLANE_WORD(kept));
    for (int i = 0; i < kept; i++) {
        midplane_reserve(MIDPLANE_MAX_RECORD_WORDS);
        midplane_put(MIDPLANE_WORD(elements[i]));
    }
}

static void midplane_put_status(const MPI_Status *status)
{
    static const MPI_Status none;

    if (status == NULL)
        status = &none;
    midplane_put(MIDPLANE_WORD(status->MPI_SOURCE));
    midplane_put(MIDPLANE_WORD(status->MPI_TAG));
    midplane_put((uint64_t)(uint32_t)status->MPI_ERROR | (uint64_t)(status->midplane_cancelled != 0) << 32);
    midplane_put(MIDPLANE_WORD(status->midplane_bytes));
}

static void midplane_put_statuses(const MPI_Status *statuses, int count)
{
    int kept = statuses == NULL || count < 0 ? 0 : count > MIDPLANE_MAX_ELEMENTS ? MIDPLANE_MAX_ELEMENTS : count;

    midplane_put(MIDPLANE_WORD(4 * kept));
    for (int i = 0; i < kept; i++) {
        midplane_reserve(MIDPLANE_MAX_RECORD_WORDS);
        midplane_put_status(&statuses[i]);
    }
}

/* A receive buffer for statuses that the program ignores. NULL if the heap is full: they are not recorded then. */
static MPI_Status *midplane_statuses(int count)
{
    return count > 0 ? calloc((size_t)count, sizeof(MPI_Status)) : NULL;
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
static void midplane_put_members(MPI_Group group)
{
    MPI_Group world;
    int size = 0;

    PMPI_Group_size(group, &size);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    midplane_put(MIDPLANE_WORD(size));
    for (int i = 0; i < size; i++) {
        int member = MPI_UNDEFINED;

        PMPI_Group_translate_ranks(group, 1, &i, world, &member);
        midplane_reserve(MIDPLANE_MAX_RECORD_WORDS);
        midplane_put(MIDPLANE_WORD(member));
    }
    PMPI_Group_free(&world);
}

static void midplane_record_group(MPI_Group group)
{
    if (group == MPI_GROUP_NULL || !midplane_is_open)
        return;
    midplane_begin(MIDPLANE_GROUP, 0);
    midplane_put(MIDPLANE_WORD(group));
    midplane_put_members(group);
    midplane_commit();
}

static void midplane_record_communicator(MPI_Comm comm)
{
    MPI_Group group;
    int is_inter = 0, rank = 0;

    if (comm == MPI_COMM_NULL || !midplane_is_open)
        return;
    PMPI_Comm_test_inter(comm, &is_inter);
    PMPI_Comm_rank(comm, &rank);
    midplane_begin(MIDPLANE_COMMUNICATOR, 0);
    midplane_put(MIDPLANE_WORD(comm));
    midplane_put(MIDPLANE_WORD(rank));
    PMPI_Comm_group(comm, &group);
    midplane_put_members(group);
    PMPI_Group_free(&group);
    if (is_inter) {
        PMPI_Comm_remote_group(comm, &group);
        midplane_put_members(group);
        PMPI_Group_free(&group);
    } else {
        midplane_put(0);
    }
    midplane_commit();
}

/* Size and extent of a new datatype, so that the analysis needs no layout rules of this machine. */
static void midplane_record_datatype(MPI_Datatype datatype)
{
    MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    MPI_Count size = 0;

    if (datatype == MPI_DATATYPE_NULL || !midplane_is_open)
        return;
    PMPI_Type_size_x(datatype, &size);
    PMPI_Type_get_extent(datatype, &lower, &extent);
    PMPI_Type_get_true_extent(datatype, &true_lower, &true_extent);
    midplane_begin(MIDPLANE_DATATYPE, 0);
    midplane_put(MIDPLANE_WORD(datatype));
    midplane_put(MIDPLANE_WORD(size));
    midplane_put(MIDPLANE_WORD(lower));
    midplane_put(MIDPLANE_WORD(extent));
    midplane_put(MIDPLANE_WORD(true_lower));
    midplane_put(MIDPLANE_WORD(true_extent));
    midplane_commit();
}

/* ---- Counters of the node, as MPI_T performance variables ---- */

/* The order is that of `Counters` in record.rs. */
static const char *const midplane_counter_names[] = {
    MIDPLANE_COUNTER_NAMES
};

#define MIDPLANE_COUNTERS_COUNT ((int)(sizeof midplane_counter_names / sizeof midplane_counter_names[0]))
/* Minimum time between two records of the counters. */
#define MIDPLANE_COUNTERS_INTERVAL_NS 200000

static struct {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handles[MIDPLANE_COUNTERS_COUNT];
    uint64_t last_time;
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

static void midplane_read_counters(void)
{
    midplane_counters.last_time = midplane_time;
    midplane_begin(MIDPLANE_COUNTERS, 0);
    midplane_put(MIDPLANE_WORD(MIDPLANE_COUNTERS_COUNT));
    for (int i = 0; i < MIDPLANE_COUNTERS_COUNT; i++) {
        unsigned long long value = 0;

        if (midplane_counters.handles[i] != MPI_T_PVAR_HANDLE_NULL)
            PMPI_T_pvar_read(midplane_counters.session, midplane_counters.handles[i], &value);
        midplane_put(value);
    }
    midplane_commit();
}

static inline void midplane_record_counters(int is_last)
{
    if (is_last || midplane_time - midplane_counters.last_time >= MIDPLANE_COUNTERS_INTERVAL_NS)
        midplane_read_counters();
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
    midplane_begin(MIDPLANE_ACCESS, kind);
    midplane_put(start);
    midplane_put(end - start);
    midplane_put((uint64_t)is_write);
    midplane_put(pc);
    midplane_put(MIDPLANE_WORD(key));
    midplane_commit();
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
