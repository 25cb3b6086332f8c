/* Recorder of the MPI calls of a Rust program. The Rust binding, compiled with its feature `options`, passes each record to
 * these functions (mpi-adi/rust/src/recording). */

/* Names of MPI's functions, by their numbers in the records. */
static const char *const midplane_functions[] = { MIDPLANE_FUNCTION_NAMES };

/* Indices of the recorded counters among those of a node. */
const uint32_t midplane_counters[] = { MIDPLANE_COUNTER_INDICES };
const uint32_t midplane_counter_count = sizeof midplane_counters / sizeof midplane_counters[0];

/* Opens the stream of a rank. Returns 0 if no tool reads it. */
int midplane_record_open(int rank)
{
    midplane_is_open = midplane_open_stream(rank);
    return midplane_is_open;
}

/* Returns the number of a function of MPI, or UINT32_MAX. The name does not end with a null byte. */
uint32_t midplane_record_function(const char *name, size_t length)
{
    for (uint32_t at = 0; at < sizeof midplane_functions / sizeof midplane_functions[0]; at++)
        if (strlen(midplane_functions[at]) == length && memcmp(midplane_functions[at], name, length) == 0)
            return at;
    return UINT32_MAX;
}

/* First word of the current chunk. */
MIDPLANE_STATE uint64_t *midplane_chunk;

/* Begins a record. Returns the address of its first chunk, of MIDPLANE_CHUNK_WORDS. The caller composes the record in
 * place. */
uint64_t *midplane_record_begin(void)
{
    return midplane_chunk = midplane_first_word();
}

/* Continues a record whose current chunk contains this number of words. Returns the address of its next chunk. */
uint64_t *midplane_record_continue(size_t count)
{
    return midplane_chunk = midplane_reserve(midplane_chunk + count);
}

/* Ends a record whose current chunk contains this number of words. */
void midplane_record_end(size_t count)
{
    midplane_commit(midplane_chunk + count);
}
