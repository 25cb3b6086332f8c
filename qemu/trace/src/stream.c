/* Stream of a rank's records, on their way to the tool. The recorder of C programs (recorder.c) and that of Rust programs
 * (rust.c) follow this text.
 *
 * The records of a rank are a stream of 64-bit words; record.rs describes them. A process appends them to a file that it
 * maps. A node has no file: it writes them to a ring buffer, which the tool empties, and waits while the buffer is full. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

/* Storage of the state of a rank. All ranks of the simulator share the variables of a Rust program that are not
 * thread-local. */
#if !defined(MIDPLANE_STATE)
#define MIDPLANE_STATE static
#endif

MIDPLANE_STATE int midplane_is_open;

/* A part of a function that runs rarely, so that the function saves no registers for it. */
#define MIDPLANE_RARE __attribute__((noinline, cold))
/* A part of each wrapper: a call would take a tenth of the recorder's instructions. */
#define MIDPLANE_INLINE inline __attribute__((always_inline))

/* A record is composed in place. This number of words from its beginning, and from each call of midplane_reserve on, is
 * contiguous memory. */
#define MIDPLANE_CHUNK_WORDS 64

#if defined(__linux__)

/* ---- A mapped file ---- */

/* The first page contains the number of complete words, which follow it, and whether the rest of them is missing. */
#define MIDPLANE_PAGE_BYTES 4096
#define MIDPLANE_WINDOW_WORDS (1 << 17)
/* The last page is the first one of the next window as well: a chunk may begin at the end of a window. */
#define MIDPLANE_WINDOW_BYTES (8 * MIDPLANE_WINDOW_WORDS + MIDPLANE_PAGE_BYTES)

/* Marks an executable that contains the recorder. */
const char MIDPLANE_CALLS = 1;

MIDPLANE_STATE struct {
    int file;
    uint64_t *count;     /* Of complete words, in the header; then 1 if the rest is missing. */
    uint64_t *window;    /* Mapped part of the file. */
    uint64_t *end;       /* Of the window. */
    uint64_t *next;      /* First word after the last record. */
    uint64_t words;      /* Before the window. */
    uint64_t sink[MIDPLANE_CHUNK_WORDS]; /* In place of a window, if there is no space for one. */
} midplane_stream;

/* Maps the window with the word at this address behind the end of the current one. */
static MIDPLANE_RARE uint64_t *midplane_map_window(uint64_t *at)
{
    uint64_t offset = (uint64_t)(at - midplane_stream.end);
    off_t start;

    if (midplane_stream.window != NULL) {
        munmap(midplane_stream.window, MIDPLANE_WINDOW_BYTES);
        midplane_stream.words += MIDPLANE_WINDOW_WORDS;
    }
    midplane_stream.window = NULL;
    start = MIDPLANE_PAGE_BYTES + (off_t)(midplane_stream.words * 8);
    if (midplane_is_open && midplane_stream.words < MIDPLANE_MAX_STREAM_WORDS) {
        if (ftruncate(midplane_stream.file, start + MIDPLANE_WINDOW_BYTES) == 0) {
            void *window =
                mmap(NULL, MIDPLANE_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, midplane_stream.file, start);

            if (window != MAP_FAILED)
                midplane_stream.window = window;
        }
        if (midplane_stream.window == NULL)
            fputs("midplane: the record of MPI calls cannot grow: the disk may be full\n", stderr);
    }
    if (midplane_stream.window == NULL) {
        midplane_stream.count[1] = 1;
        midplane_is_open = 0;
        midplane_stream.end = midplane_stream.sink;
        return midplane_stream.sink;
    }
    midplane_stream.end = midplane_stream.window + MIDPLANE_WINDOW_WORDS;
    return midplane_stream.window + offset;
}

/* Continues a record at this word. Returns the word's address in memory with space for a chunk. */
static MIDPLANE_INLINE uint64_t *midplane_reserve(uint64_t *at)
{
    return at < midplane_stream.end ? at : midplane_map_window(at);
}

/* Returns the first word of a new record. */
static MIDPLANE_INLINE uint64_t *midplane_first_word(void)
{
    return midplane_reserve(midplane_stream.next);
}

/* Publishes a record that ends before this word. */
static MIDPLANE_INLINE void midplane_commit(uint64_t *end)
{
    midplane_stream.next = end;
    if (midplane_stream.window != NULL)
        __atomic_store_n(midplane_stream.count, midplane_stream.words + (uint64_t)(end - midplane_stream.window),
                         __ATOMIC_RELEASE);
}

static int midplane_open_stream(int rank)
{
    const char *directory = getenv("MIDPLANE_CALLS");
    char path[4096];
    void *header;

    if (directory == NULL || snprintf(path, sizeof path, "%s/%d", directory, rank) >= (int)sizeof path)
        return 0;
    midplane_stream.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (midplane_stream.file < 0 || ftruncate(midplane_stream.file, MIDPLANE_PAGE_BYTES) != 0)
        return 0;
    header = mmap(NULL, MIDPLANE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, midplane_stream.file, 0);
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
    uint64_t *next;          /* First word after those counted. */
    /* A chunk that begins at the end continues behind it, until those words are copied to the start. */
    uint64_t words[MIDPLANE_RING_WORDS + MIDPLANE_CHUNK_WORDS];
} MIDPLANE_CALLS;

/* Moves the words before this one that are behind the end to the start. */
static MIDPLANE_RARE void midplane_wrap(uint64_t *at)
{
    size_t count = (size_t)(at - MIDPLANE_CALLS.words) - MIDPLANE_RING_WORDS;

    memcpy(MIDPLANE_CALLS.words, MIDPLANE_CALLS.words + MIDPLANE_RING_WORDS, count * sizeof *at);
    MIDPLANE_CALLS.next = MIDPLANE_CALLS.words + count;
}

/* Publishes the words before this one: a record, or the beginning of a record with a long list. */
static MIDPLANE_INLINE void midplane_commit(uint64_t *end)
{
    uint32_t count = (uint32_t)(end - MIDPLANE_CALLS.next);

    MIDPLANE_CALLS.next = end;
    if (end >= MIDPLANE_CALLS.words + MIDPLANE_RING_WORDS)
        midplane_wrap(end);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    MIDPLANE_CALLS.count += count;
}

static MIDPLANE_INLINE int midplane_has_space(void)
{
    return MIDPLANE_CALLS.count + MIDPLANE_CHUNK_WORDS - MIDPLANE_CALLS.read <= MIDPLANE_RING_WORDS;
}

static MIDPLANE_RARE void midplane_wait_for_space(void)
{
    while (!midplane_has_space())
        ;
}

/* Returns the first word of a new record. */
static MIDPLANE_INLINE uint64_t *midplane_first_word(void)
{
    if (!midplane_has_space())
        midplane_wait_for_space();
    return MIDPLANE_CALLS.next;
}

/* Continues a record at this word. Returns the word's address in memory with space for a chunk. */
static MIDPLANE_INLINE uint64_t *midplane_reserve(uint64_t *at)
{
    midplane_commit(at);
    return midplane_first_word();
}

static int midplane_open_stream(int rank)
{
    (void)rank;
    /* Without it, no tool reads the buffer. */
    if (getenv("MIDPLANE_CALLS") == NULL)
        return 0;
    MIDPLANE_CALLS.next = MIDPLANE_CALLS.words;
    MIDPLANE_CALLS.capacity = MIDPLANE_RING_WORDS;
    MIDPLANE_CALLS.magic = 0x3143504d; /* "MPC1" */
    return 1;
}

#endif
