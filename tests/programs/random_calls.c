/* Calls of all kinds at random, all checked: a program that differs with each seed.
 *
 *     random_calls [STEPS [SEED]]      (default: 40 steps of seed 1)
 *
 * All ranks draw the same plan: which communicators there are, who sends what to whom, which collectives follow each
 * other. Each rank draws for itself what the standard leaves to it: the datatype by which it lays the same elements
 * out, the mode of a send, how it waits. Each element's value says where it comes from, and what lies between a
 * datatype's elements must stay as it was. A step is one of
 *
 *     messages        to any rank of a communicator, with wildcards, probes, persistent requests, in partitions
 *     collectives     one that blocks, or some that do not, persistent or not, with messages beside them
 *     reductions      of predefined operations and of one that does not commute
 *     communicators   dup, idup, split, create, create_group, grids and their parts, merged intercommunicators
 *     windows         puts, gets and accumulates between fences and under locks
 *     neighbours      of a grid
 *     two groups      messages and collectives of an intercommunicator
 *     packing
 *
 * Any number of processes from 1. Two runs with the same arguments do the same, but for timing.
 */
#include "check.h"
#include "draw.h"

#include <stddef.h>

enum { SLOTS = 4, MOST_OPS = 4, MOST_MESSAGES = 12, ARENA = 16 << 20, MOST_UNITS = 1500, DEPTH = 4 };

/* Each step has tags of its own: a rank that is ahead sends nothing that an earlier step's receives from any rank take.
 * Messages have the first three, those beside collectives as many from BESIDE on. */
enum { TAGS = 8, SHIFTED = 3, BESIDE = 4, LEADERS = 7 };

/* What draws datatypes. */
static unsigned long long *layout_state = &own_state;

static unsigned shape(unsigned bound)
{
    return word(layout_state) % bound;
}

static unsigned mix(unsigned a, unsigned b, unsigned c, unsigned d)
{
    unsigned x = a * 2654435761u ^ (b + 77) * 2246822519u ^ (c + 13) * 3266489917u ^ (d + 5) * 668265263u;

    x ^= x >> 15;
    x *= 2246822519u;
    return x ^ x >> 13;
}

static int ints_of(int largest)
{
    switch (plan(6)) {
    case 0:
        return 0;
    case 1:
        return (int)plan(4);
    case 2:
        return (int)plan((unsigned)largest);
    default:
        return (int)plan(60);
    }
}

/* Memory of a step, given back at its end. */

static unsigned char arena[ARENA];
static size_t taken;

static void *take(size_t bytes)
{
    void *at = arena + taken;

    taken += (bytes + 31) / 16 * 16;
    if (taken > ARENA) {
        fprintf(stderr, "rank %d: a step takes too much memory\n", check_rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return at;
}

/* Datatypes. All places are in units: elements of one predefined type, which a step chooses. */

static MPI_Datatype unit;
static int unit_bytes;

static void choose_unit(void)
{
    static const MPI_Datatype units[] = {MPI_INT, MPI_SIGNED_CHAR, MPI_SHORT, MPI_LONG_LONG};
    static const int bytes[] = {4, 1, 2, 8};
    unsigned which = plan(4);

    unit = units[which];
    unit_bytes = bytes[which];
}

typedef struct {
    MPI_Datatype type;
    int is_derived;
    /* Its units, in the order of the type map, and where they are. */
    int units, *at;
    /* Lower and upper bound, and the same of what is there. */
    int low, high, first, last;
    /* The bounds were given by a constructor: those of other components do not count beside them (section 4.1.6). */
    int is_marked;
} Layout;

static Layout basic(void)
{
    Layout l = {unit, 0, 1, take(sizeof(int)), 0, 1, 0, 1, 0};

    l.at[0] = 0;
    return l;
}

static int extent(Layout l)
{
    return l.high - l.low;
}

static void drop(Layout *l)
{
    if (l->is_derived)
        OK(MPI_Type_free(&l->type));
}

/* So many blocks of copies of a layout, behind each other; the type is still to be made. */
static Layout blocks_of(Layout child, int blocks, const int length[], const int place[])
{
    Layout l = {MPI_DATATYPE_NULL, 1, 0, NULL, 0, 0, 0, 0, child.is_marked};
    int b, c, k, copies = 0;

    for (b = 0; b < blocks; b++)
        copies += length[b];
    l.at = take(sizeof(int) * (size_t)(copies * child.units));
    for (b = 0; b < blocks; b++)
        for (c = 0; c < length[b]; c++) {
            int offset = place[b] + c * extent(child);
            int is_first = l.units == 0;

            for (k = 0; k < child.units; k++)
                l.at[l.units++] = offset + child.at[k];
            if (is_first || offset + child.low < l.low)
                l.low = offset + child.low;
            if (is_first || offset + child.high > l.high)
                l.high = offset + child.high;
            if (is_first || offset + child.first < l.first)
                l.first = offset + child.first;
            if (is_first || offset + child.last > l.last)
                l.last = offset + child.last;
        }
    return l;
}

static int divisor(int n)
{
    int d = 1 + (int)shape((unsigned)n), tries;

    for (tries = 0; tries < 20 && n % d != 0; tries++)
        d = 1 + (int)shape((unsigned)n);
    return n % d == 0 ? d : n;
}

static Layout layout(int units, int depth);

/* Copies of a layout at some distance from each other. */
static Layout regular(int units, int depth)
{
    int copies = divisor(units), length = divisor(copies), blocks = copies / length, b;
    Layout child = layout(units / copies, depth - 1), l;
    int *lengths = take(sizeof(int) * (size_t)blocks), *places = take(sizeof(int) * (size_t)blocks);
    int in_units = (int)shape(2), is_down = (int)shape(3) == 0, gap = (int)shape(3), stride;

    stride = length * extent(child) + gap * (in_units ? 1 : extent(child));
    if (is_down)
        stride = -stride;
    for (b = 0; b < blocks; b++) {
        lengths[b] = length;
        places[b] = b * stride;
    }
    l = blocks_of(child, blocks, lengths, places);
    if (in_units)
        OK(MPI_Type_create_hvector(blocks, length, (MPI_Aint)stride * unit_bytes, child.type, &l.type));
    else if (blocks == 1 && shape(2))
        OK(MPI_Type_contiguous(length, child.type, &l.type));
    else
        OK(MPI_Type_vector(blocks, length, stride / extent(child), child.type, &l.type));
    drop(&child);
    return l;
}

/* Blocks of copies in any order. */
static Layout irregular(int units, int depth)
{
    int copies = divisor(units), blocks = 0, left, at = 0, i, kind = (int)shape(4), step;
    Layout child = layout(units / copies, depth - 1), l;
    int *lengths, *places, *counted;
    MPI_Aint *bytes;

    if (copies > 40) {
        drop(&child);
        return regular(units, depth);
    }
    lengths = take(sizeof(int) * (size_t)(2 * copies + 2));
    places = take(sizeof(int) * (size_t)(2 * copies + 2));
    counted = take(sizeof(int) * (size_t)(2 * copies + 2));
    bytes = take(sizeof(MPI_Aint) * (size_t)(2 * copies + 2));
    step = kind % 2 == 0 ? extent(child) : 1;
    if (kind >= 2) {
        int length = divisor(copies);

        for (; blocks * length < copies; blocks++)
            lengths[blocks] = length;
    } else
        for (left = copies; left > 0; blocks++) {
            lengths[blocks] = (int)shape((unsigned)left + 1);
            if (blocks >= 2 * copies)
                lengths[blocks] = left;
            left -= lengths[blocks];
        }
    for (i = 0; i < blocks; i++) {
        places[i] = at;
        at += lengths[i] * extent(child) + (int)shape(3) * step;
    }
    for (i = blocks - 1; i > 0; i--) {
        int j = (int)shape((unsigned)i + 1), length = lengths[i], place = places[i];

        lengths[i] = lengths[j];
        places[i] = places[j];
        lengths[j] = length;
        places[j] = place;
    }
    for (i = 0; i < blocks; i++) {
        bytes[i] = (MPI_Aint)places[i] * unit_bytes;
        counted[i] = places[i] / extent(child);
    }
    l = blocks_of(child, blocks, lengths, places);
    switch (kind) {
    case 0:
        OK(MPI_Type_indexed(blocks, lengths, counted, child.type, &l.type));
        break;
    case 1:
        OK(MPI_Type_create_hindexed(blocks, lengths, bytes, child.type, &l.type));
        break;
    case 2:
        OK(MPI_Type_create_indexed_block(blocks, lengths[0], counted, child.type, &l.type));
        break;
    default:
        OK(MPI_Type_create_hindexed_block(blocks, lengths[0], bytes, child.type, &l.type));
    }
    drop(&child);
    return l;
}

/* The same with these bounds. */
static Layout bounded(Layout child, int low, int high)
{
    Layout l = child;

    l.is_derived = l.is_marked = 1;
    l.low = low;
    l.high = high;
    OK(MPI_Type_create_resized(child.type, (MPI_Aint)low * unit_bytes, (MPI_Aint)(high - low) * unit_bytes, &l.type));
    drop(&child);
    return l;
}

/* Two layouts, one of them behind the other. */
static Layout pair(int units, int depth)
{
    int first = 1 + (int)shape((unsigned)units - 1), lengths[2] = {1, 1}, places[2], i, j;
    Layout children[2], l, *low, *high;
    MPI_Datatype types[2];
    MPI_Aint bytes[2];

    children[0] = layout(first, depth - 1);
    children[1] = layout(units - first, depth - 1);
    for (i = 0; i < 2; i++)
        if (!children[i].is_marked && children[1 - i].is_marked)
            children[i] = bounded(children[i], children[i].low, children[i].high);
    i = (int)shape(2);
    low = &children[i];
    high = &children[1 - i];
    places[i] = (int)shape(5) - 2;
    places[1 - i] = places[i] + low->last - high->first + (int)shape(3);
    l = blocks_of(children[0], 1, lengths, places);
    {
        Layout other = blocks_of(children[1], 1, lengths, places + 1);
        int *at = take(sizeof(int) * (size_t)units);

        for (i = 0; i < l.units; i++)
            at[i] = l.at[i];
        for (j = 0; j < other.units; j++)
            at[i + j] = other.at[j];
        l.at = at;
        l.units += other.units;
        l.low = l.low < other.low ? l.low : other.low;
        l.high = l.high > other.high ? l.high : other.high;
        l.first = l.first < other.first ? l.first : other.first;
        l.last = l.last > other.last ? l.last : other.last;
    }
    for (i = 0; i < 2; i++) {
        types[i] = children[i].type;
        bytes[i] = (MPI_Aint)places[i] * unit_bytes;
    }
    OK(MPI_Type_create_struct(2, lengths, bytes, types, &l.type));
    drop(&children[0]);
    drop(&children[1]);
    /* Copies must not overlap. */
    return extent(l) < l.last - l.first ? bounded(l, l.low, l.low + l.last - l.first) : l;
}

/* Part of an array of two dimensions. */
static Layout part(int units, int depth)
{
    int copies = divisor(units), rows = divisor(copies), columns = copies / rows, i, order = (int)shape(2);
    int sizes[2], subsizes[2], starts[2];
    Layout child = layout(units / copies, depth - 1), l;
    int *lengths = take(sizeof(int) * (size_t)rows), *places = take(sizeof(int) * (size_t)rows);

    subsizes[0] = rows;
    subsizes[1] = columns;
    for (i = 0; i < 2; i++) {
        sizes[i] = subsizes[i] + (int)shape(3);
        starts[i] = (int)shape((unsigned)(sizes[i] - subsizes[i]) + 1);
    }
    for (i = 0; i < rows; i++) {
        lengths[i] = columns;
        places[i] = ((starts[0] + i) * sizes[1] + starts[1]) * extent(child);
    }
    l = blocks_of(child, rows, lengths, places);
    l.low = 0;
    l.high = sizes[0] * sizes[1] * extent(child);
    l.is_marked = 1;
    if (order) {
        int swapped[3][2] = {{sizes[1], sizes[0]}, {subsizes[1], subsizes[0]}, {starts[1], starts[0]}};

        OK(MPI_Type_create_subarray(2, swapped[0], swapped[1], swapped[2], MPI_ORDER_FORTRAN, child.type, &l.type));
    } else
        OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, child.type, &l.type));
    drop(&child);
    return l;
}

/* Other bounds, far enough apart. */
static Layout resized(int units, int depth)
{
    Layout child = layout(units, depth - 1);
    int low = child.first + (int)shape(5) - 2;

    return bounded(child, low, low + child.last - child.first + (int)shape(3));
}

/* So many units, at least one, laid out in some way. */
static Layout layout(int units, int depth)
{
    if (depth > 0)
        switch (shape(6)) {
        case 0:
            return irregular(units, depth);
        case 1:
            if (units > 1)
                return pair(units, depth);
            break;
        case 2:
            return part(units, depth);
        case 3:
            return resized(units, depth);
        }
    if (units == 1 && shape(2))
        return basic();
    return regular(units, depth > 0 ? depth : 1);
}

static void check_layout(Layout l)
{
    MPI_Aint low, bytes, first, span;
    int size;

    OK(MPI_Type_get_extent(l.type, &low, &bytes));
    OK(MPI_Type_get_true_extent(l.type, &first, &span));
    OK(MPI_Type_size(l.type, &size));
    CHECK(low == (MPI_Aint)l.low * unit_bytes && bytes == (MPI_Aint)extent(l) * unit_bytes);
    CHECK(first == (MPI_Aint)l.first * unit_bytes && span == (MPI_Aint)(l.last - l.first) * unit_bytes);
    CHECK(size == l.units * unit_bytes);
}

/* A committed one, in one of several ways of two. */
static Layout any_layout(int units)
{
    Layout l = shape(4) == 0 ? basic() : layout(units, (int)shape(DEPTH));

    if (l.units != units) {
        int length = units, place = 0;
        Layout child = l;

        l = blocks_of(child, 1, &length, &place);
        OK(MPI_Type_contiguous(length, child.type, &l.type));
        drop(&child);
    }
    if (l.is_derived && shape(4) == 0) {
        MPI_Datatype other;

        OK(MPI_Type_dup(l.type, &other));
        OK(MPI_Type_free(&l.type));
        l.type = other;
    }
    if (l.is_derived)
        OK(MPI_Type_commit(&l.type));
    check_layout(l);
    return l;
}

/* Buffers */

enum { MARK = 0x5a };

typedef struct {
    Layout layout;
    /* What there is, what there must be, and how many bytes of both. */
    unsigned char *is, *must;
    size_t bytes;
    /* Where the layout's place 0 is. */
    unsigned char *base;
} Buffer;

/* A buffer of `places` copies of a layout. */
static Buffer buffer_of(Layout l, int places)
{
    Buffer b;
    int last = (places > 0 ? places - 1 : 0) * extent(l), low = l.first, high = l.last;

    if (last < 0)
        low += last;
    else
        high += last;
    b.layout = l;
    b.bytes = (size_t)(high - low) * (size_t)unit_bytes;
    b.is = take(b.bytes);
    b.must = take(b.bytes);
    memset(b.is, MARK, b.bytes);
    memset(b.must, MARK, b.bytes);
    b.base = b.is - (ptrdiff_t)low * unit_bytes;
    return b;
}

static void put(Buffer *b, unsigned char *in, int index, unsigned value)
{
    int place = index / b->layout.units * extent(b->layout) + b->layout.at[index % b->layout.units];
    unsigned long long bits = value * 0x100000001ull;
    signed char c = (signed char)bits;
    short s = (short)bits;
    int i = (int)bits;
    const void *from = &bits;

    if (unit_bytes == 1)
        from = &c;
    else if (unit_bytes == 2)
        from = &s;
    else if (unit_bytes == 4)
        from = &i;
    memcpy(in + (b->base - b->is) + (ptrdiff_t)place * unit_bytes, from, (size_t)unit_bytes);
}

/* The unit of this number has this value now. */
static void has(Buffer *b, int index, unsigned value)
{
    put(b, b->is, index, value);
    put(b, b->must, index, value);
}

/* It must have it at the end. */
static void gets(Buffer *b, int index, unsigned value)
{
    put(b, b->must, index, value);
}

static void ends(Buffer *b)
{
    CHECK(memcmp(b->is, b->must, b->bytes) == 0);
    drop(&b->layout);
}

/* As many units, and how many copies of the layout these are. */
static Buffer message(int units, int *count)
{
    int copies = units > 0 ? divisor(units) : 1;
    Layout l = any_layout(units > 0 ? units / copies : 1 + (int)shape(5));

    *count = units > 0 ? copies : 0;
    return buffer_of(l, copies);
}

/* Communicators */

typedef struct {
    MPI_Comm comm;
    int size, rank;
    /* The ranks of MPI_COMM_WORLD. */
    int *world;
} Slot;

static Slot slots[SLOTS];
static int step_number;

static void name_ranks(Slot *s)
{
    MPI_Group of_slot, of_world;
    int *ranks, i;

    s->size = s->rank = 0;
    s->world = NULL;
    if (s->comm == MPI_COMM_NULL)
        return;
    OK(MPI_Comm_size(s->comm, &s->size));
    OK(MPI_Comm_rank(s->comm, &s->rank));
    ranks = check_room(sizeof(int) * (size_t)s->size);
    s->world = check_room(sizeof(int) * (size_t)s->size);
    for (i = 0; i < s->size; i++)
        ranks[i] = i;
    OK(MPI_Comm_group(s->comm, &of_slot));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &of_world));
    OK(MPI_Group_translate_ranks(of_slot, s->size, ranks, of_world, s->world));
    OK(MPI_Group_free(&of_slot));
    OK(MPI_Group_free(&of_world));
    free(ranks);
    CHECK(s->world[s->rank] == check_rank);
}

static void free_slot(Slot *s)
{
    if (s->comm != MPI_COMM_NULL && s->comm != MPI_COMM_WORLD && s->comm != MPI_COMM_SELF)
        OK(MPI_Comm_free(&s->comm));
    free(s->world);
    s->comm = MPI_COMM_NULL;
    s->world = NULL;
    s->size = 0;
}

/* Whether collectives that do not block are persistent ones, which are started once; drawn for each step by all. */
static int are_persistent;

static void wait_for(int count, MPI_Request requests[]);

/* A group of those of the slot's processes that this draws. */
static MPI_Group group_of(const Slot *s, unsigned drawn, int *count)
{
    MPI_Group all, some;
    int *ranks = check_room(sizeof(int) * (size_t)s->size), i;

    *count = 0;
    for (i = 0; i < s->size; i++)
        if (mix(drawn, (unsigned)s->world[i], 0, 0) % 3 > 0)
            ranks[(*count)++] = i;
    if (*count > 1 && drawn % 2) {
        i = ranks[0];
        ranks[0] = ranks[*count - 1];
        ranks[*count - 1] = i;
    }
    OK(MPI_Comm_group(s->comm, &all));
    OK(MPI_Group_incl(all, *count, ranks, &some));
    OK(MPI_Group_free(&all));
    free(ranks);
    return some;
}

/* Two halves of the slot's processes and the communicator of both; `is_low`: this one is in the half that has its
 * rank 0. */
static MPI_Comm inter_of(const Slot *s, unsigned drawn, int *is_low, MPI_Comm *local)
{
    MPI_Comm inter = MPI_COMM_NULL;
    int cut = 1 + (int)(drawn % (unsigned)(s->size - 1));

    *is_low = s->rank < cut;
    OK(MPI_Comm_split(s->comm, *is_low, s->rank, local));
    OK(MPI_Intercomm_create(*local, 0, s->comm, *is_low ? cut : 0, TAGS * step_number + LEADERS, &inter));
    return inter;
}

static void communicators(void)
{
    Slot *to = &slots[1 + plan(SLOTS - 1)], *from = &slots[plan(SLOTS)], made;
    unsigned kind = plan(9), a = plan(1 << 20), b = plan(1 << 20);
    int count, dims[3] = {0, 0, 0}, periods[3], remain[3], i, is_low, included;
    MPI_Request request;
    MPI_Group group;
    MPI_Comm other;

    made.comm = MPI_COMM_NULL;
    if (from->comm != MPI_COMM_NULL) {
        switch (kind) {
        case 0:
            OK(MPI_Comm_dup(from->comm, &made.comm));
            break;
        case 1:
            OK(MPI_Comm_idup(from->comm, &made.comm, &request));
            wait_for(1, &request);
            break;
        case 2:
        case 3: {
            unsigned color = mix(a, (unsigned)check_rank, 1, 0) % 4;

            OK(MPI_Comm_split(from->comm, color == 3 ? MPI_UNDEFINED : (int)color,
                              (int)(mix(b, (unsigned)check_rank, 2, 0) % 5), &made.comm));
            CHECK((made.comm == MPI_COMM_NULL) == (color == 3));
            break;
        }
        case 4:
        case 5:
            group = group_of(from, a, &count);
            OK(MPI_Group_rank(group, &included));
            if (kind == 4)
                OK(MPI_Comm_create(from->comm, group, &made.comm));
            else if (included != MPI_UNDEFINED)
                OK(MPI_Comm_create_group(from->comm, group, (int)(b % 1000), &made.comm));
            CHECK((made.comm == MPI_COMM_NULL) == (included == MPI_UNDEFINED));
            OK(MPI_Group_free(&group));
            break;
        case 6:
        case 7:
            OK(MPI_Dims_create(from->size, 3, dims));
            for (i = 0; i < 3; i++) {
                periods[i] = a >> i & 1;
                remain[i] = b >> i & 1;
            }
            OK(MPI_Cart_create(from->comm, 3, dims, periods, a >> 3 & 1, &made.comm));
            if (kind == 7) {
                OK(MPI_Cart_sub(made.comm, remain, &other));
                OK(MPI_Comm_free(&made.comm));
                made.comm = other;
            }
            break;
        default:
            if (from->size > 1) {
                MPI_Comm local, inter = inter_of(from, a, &is_low, &local);

                OK(MPI_Intercomm_merge(inter, is_low == (int)(b & 1), &made.comm));
                OK(MPI_Comm_free(&inter));
                OK(MPI_Comm_free(&local));
            }
        }
    }
    name_ranks(&made);
    if (made.size > 0 && kind == 8 && from->size > 1) {
        int first = made.world[0], cut = 1 + (int)(a % (unsigned)(from->size - 1));

        CHECK(made.size == from->size && first == from->world[b & 1 ? cut : 0]);
    }
    free_slot(to);
    *to = made;
}

/* Completion */

/* Completes and frees all, in one of several ways. */
static void wait_for(int count, MPI_Request requests[])
{
    int i, flag = 0, index, some, left = count, indices[64];

    switch (own(6)) {
    case 0:
        while (!flag)
            POLL(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
        break;
    case 1:
        for (i = 0; i < count; i++)
            OK(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
        break;
    case 2:
        while (left > 0) {
            POLL(MPI_Testsome(count, requests, &some, indices, MPI_STATUSES_IGNORE));
            if (some == MPI_UNDEFINED)
                break;
            left -= some;
        }
        break;
    case 3:
        for (i = count - 1; i >= 0; i--)
            OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        break;
    default:
        OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    }
    for (i = 0; i < count; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL || are_persistent);
        if (requests[i] != MPI_REQUEST_NULL)
            OK(MPI_Request_free(&requests[i]));
    }
}

/* Messages */

typedef struct {
    int source, dest, tag, units;
} Planned;

static unsigned sent_value(const Slot *s, int number, const Planned *m, int k)
{
    return mix((unsigned)(step_number * 64 + number), (unsigned)s->world[m->source], (unsigned)s->world[m->dest],
               (unsigned)k);
}

static void check_status(const MPI_Status *status, const Planned *m, Layout l)
{
    int count = -1, elements = -1;

    CHECK(status->MPI_SOURCE == m->source && status->MPI_TAG == m->tag);
    OK(MPI_Get_elements(status, l.type, &elements));
    OK(MPI_Get_count(status, l.type, &count));
    CHECK(elements == m->units);
    CHECK(m->units % l.units != 0 ? count == MPI_UNDEFINED : count == m->units / l.units);
}

/* How many of the messages that have the same destination are like this one. */
static int alike(const Planned all[], int messages, int number, int by_source, int by_tag)
{
    int i, like = 0;

    for (i = 0; i < messages; i++)
        like += all[i].dest == all[number].dest && (!by_source || all[i].source == all[number].source) &&
                (!by_tag || all[i].tag == all[number].tag);
    return like;
}

typedef struct {
    int sends, receives;
    MPI_Request requests[2 * MOST_MESSAGES];
    int count;
    int is_persistent;
    Buffer buffers[2 * MOST_MESSAGES];
    int used;
} Exchange;

static void start_sends(const Slot *s, const Planned all[], int messages, Exchange *x, int tag)
{
    int i, k, count;

    for (i = 0; i < messages; i++) {
        const Planned *m = &all[i];
        Buffer *b = &x->buffers[x->used];
        MPI_Request *r = &x->requests[x->count];

        if (m->source != s->rank)
            continue;
        *b = message(m->units, &count);
        for (k = 0; k < m->units; k++)
            has(b, k, sent_value(s, i, m, k));
        switch (own(x->is_persistent ? 4 : 2)) {
        case 0:
            OK(MPI_Isend(b->base, count, b->layout.type, m->dest, tag + m->tag, s->comm, r));
            break;
        case 1:
            OK(MPI_Issend(b->base, count, b->layout.type, m->dest, tag + m->tag, s->comm, r));
            break;
        case 2:
            OK(MPI_Send_init(b->base, count, b->layout.type, m->dest, tag + m->tag, s->comm, r));
            OK(MPI_Start(r));
            break;
        default:
            OK(MPI_Ssend_init(b->base, count, b->layout.type, m->dest, tag + m->tag, s->comm, r));
            OK(MPI_Startall(1, r));
        }
        x->used++;
        x->count++;
    }
}

static void start_receives(const Slot *s, const Planned all[], int messages, Exchange *x, int tag)
{
    int i, k, count, source, tagged;

    for (i = 0; i < messages; i++) {
        const Planned *m = &all[i];
        Buffer *b = &x->buffers[x->used];
        MPI_Request *r = &x->requests[x->count];

        if (m->dest != s->rank)
            continue;
        *b = message(m->units, &count);
        for (k = 0; k < m->units; k++)
            gets(b, k, sent_value(s, i, m, k));
        source = alike(all, messages, i, 0, 1) == 1 && own(2) ? MPI_ANY_SOURCE : m->source;
        tagged = tag == 0 && source != MPI_ANY_SOURCE && alike(all, messages, i, 1, 0) == 1 && own(2) ? MPI_ANY_TAG
                                                                                                      : tag + m->tag;
        if (x->is_persistent && own(2)) {
            OK(MPI_Recv_init(b->base, count, b->layout.type, source, tagged, s->comm, r));
            OK(MPI_Start(r));
        } else
            OK(MPI_Irecv(b->base, count, b->layout.type, source, tagged, s->comm, r));
        x->used++;
        x->count++;
    }
}

/* Receives what has been sent, in the order of each source. */
static void probe_receives(const Slot *s, const Planned all[], int messages)
{
    int i, k, count, flag;

    for (i = 0; i < messages; i++) {
        const Planned *m = &all[i];
        MPI_Message found = MPI_MESSAGE_NULL;
        MPI_Status status;
        Buffer b;

        if (m->dest != s->rank)
            continue;
        b = message(m->units, &count);
        for (k = 0; k < m->units; k++)
            gets(&b, k, sent_value(s, i, m, k));
        switch (own(5)) {
        case 0:
            OK(MPI_Recv(b.base, count, b.layout.type, m->source, m->tag, s->comm, &status));
            break;
        case 1:
            OK(MPI_Probe(m->source, m->tag, s->comm, &status));
            check_status(&status, m, b.layout);
            OK(MPI_Recv(b.base, count, b.layout.type, m->source, m->tag, s->comm, &status));
            break;
        case 2:
            OK(MPI_Mprobe(m->source, m->tag, s->comm, &found, &status));
            check_status(&status, m, b.layout);
            OK(MPI_Mrecv(b.base, count, b.layout.type, &found, &status));
            CHECK(found == MPI_MESSAGE_NULL);
            break;
        case 3: {
            MPI_Request request;

            for (flag = 0; !flag;)
                POLL(MPI_Improbe(m->source, m->tag, s->comm, &flag, &found, &status));
            check_status(&status, m, b.layout);
            OK(MPI_Imrecv(b.base, count, b.layout.type, &found, &request));
            OK(MPI_Wait(&request, &status));
            break;
        }
        default:
            for (flag = 0; !flag;)
                POLL(MPI_Iprobe(m->source, m->tag, s->comm, &flag, &status));
            OK(MPI_Recv(b.base, count, b.layout.type, m->source, m->tag, s->comm, &status));
        }
        check_status(&status, m, b.layout);
        ends(&b);
    }
}

static int plan_messages(const Slot *s, Planned all[], int largest)
{
    int messages = (int)plan(MOST_MESSAGES) + 1, i;

    for (i = 0; i < messages; i++) {
        unsigned source = plan(1 << 16), dest = plan(1 << 16), tag = plan(3);
        int units = ints_of(largest);

        if (s->size > 0) {
            Planned m = {(int)(source % (unsigned)s->size), (int)(dest % (unsigned)s->size),
                         TAGS * step_number + (int)tag, units};

            all[i] = m;
        }
    }
    return s->size > 0 ? messages : 0;
}

static void finish(Exchange *x)
{
    int i;

    if (x->is_persistent) {
        OK(MPI_Waitall(x->count, x->requests, MPI_STATUSES_IGNORE));
        for (i = 0; i < x->count; i++)
            if (x->requests[i] != MPI_REQUEST_NULL)
                OK(MPI_Request_free(&x->requests[i]));
    } else
        wait_for(x->count, x->requests);
    for (i = 0; i < x->used; i++)
        ends(&x->buffers[i]);
}

static void messages(void)
{
    const Slot *s = &slots[plan(SLOTS)];
    Planned all[MOST_MESSAGES];
    int count;
    Exchange x;

    choose_unit();
    count = plan_messages(s, all, MOST_UNITS);
    x.count = x.used = 0;
    x.is_persistent = (int)own(2);
    switch (own(3)) {
    case 0:
        start_receives(s, all, count, &x, 0);
        start_sends(s, all, count, &x, 0);
        break;
    case 1:
        start_sends(s, all, count, &x, 0);
        start_receives(s, all, count, &x, 0);
        break;
    default:
        start_sends(s, all, count, &x, 0);
        probe_receives(s, all, count);
    }
    finish(&x);
}

/* Everybody to the one `by` places on, and in place. */
static void shifts(void)
{
    const Slot *s = &slots[plan(SLOTS)];
    unsigned by = plan(1 << 16);
    int units = ints_of(MOST_UNITS), in_place = (int)plan(2), k, given, taken_count;
    Planned out, in;
    MPI_Request request;
    MPI_Status status;
    Buffer to, from;

    choose_unit();
    if (s->size == 0)
        return;
    out.source = in.dest = s->rank;
    out.dest = (int)(((unsigned)s->rank + by) % (unsigned)s->size);
    in.source = (int)(((unsigned)s->rank + (unsigned)s->size - by % (unsigned)s->size) % (unsigned)s->size);
    out.tag = in.tag = TAGS * step_number + SHIFTED;
    out.units = in.units = units;
    to = message(units, &given);
    for (k = 0; k < units; k++)
        has(&to, k, sent_value(s, 0, &out, k));
    if (in_place) {
        for (k = 0; k < units; k++)
            gets(&to, k, sent_value(s, 0, &in, k));
        if (own(2)) {
            OK(MPI_Isendrecv_replace(to.base, given, to.layout.type, out.dest, out.tag, in.source, in.tag, s->comm,
                                     &request));
            OK(MPI_Wait(&request, &status));
        } else
            OK(MPI_Sendrecv_replace(to.base, given, to.layout.type, out.dest, out.tag, in.source, in.tag, s->comm,
                                    &status));
        check_status(&status, &in, to.layout);
    } else {
        from = message(units, &taken_count);
        for (k = 0; k < units; k++)
            gets(&from, k, sent_value(s, 0, &in, k));
        if (own(2)) {
            OK(MPI_Isendrecv(to.base, given, to.layout.type, out.dest, out.tag, from.base, taken_count,
                             from.layout.type, in.source, in.tag, s->comm, &request));
            OK(MPI_Wait(&request, &status));
        } else
            OK(MPI_Sendrecv(to.base, given, to.layout.type, out.dest, out.tag, from.base, taken_count,
                            from.layout.type, in.source, in.tag, s->comm, &status));
        check_status(&status, &in, from.layout);
        ends(&from);
    }
    ends(&to);
}

/* The same in partitions, which get ready in any order; the message is sent twice. A side may have one partition only. */
static void partitions(void)
{
    const Slot *s = &slots[plan(SLOTS)];
    unsigned by = plan(1 << 16);
    int parts = 1 + (int)plan(5), units = 1 + (int)plan(100), mine = own(2) ? parts : 1, theirs = own(2) ? parts : 1;
    int k, copies, first, round, flag;
    Planned out, in;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    Buffer to, from;

    choose_unit();
    if (s->size == 0)
        return;
    out.source = in.dest = s->rank;
    out.dest = (int)(((unsigned)s->rank + by) % (unsigned)s->size);
    in.source = (int)(((unsigned)s->rank + (unsigned)s->size - by % (unsigned)s->size) % (unsigned)s->size);
    out.tag = in.tag = TAGS * step_number + SHIFTED;
    out.units = in.units = units * parts;
    copies = divisor(units);
    to = buffer_of(any_layout(units / copies), copies * parts);
    OK(MPI_Psend_init(to.base, mine, copies * parts / mine, to.layout.type, out.dest, out.tag, s->comm, MPI_INFO_NULL,
                      &requests[0]));
    copies = divisor(units);
    from = buffer_of(any_layout(units / copies), copies * parts);
    OK(MPI_Precv_init(from.base, theirs, copies * parts / theirs, from.layout.type, in.source, in.tag, s->comm,
                      MPI_INFO_NULL, &requests[1]));
    for (round = 0; round < 2; round++) {
        for (k = 0; k < out.units; k++)
            has(&to, k, sent_value(s, round, &out, k));
        for (k = 0; k < in.units; k++)
            gets(&from, k, sent_value(s, round, &in, k));
        OK(MPI_Startall(2, requests));
        first = (int)own((unsigned)mine);
        for (k = 0; k < mine; k++)
            OK(MPI_Pready((first + k) % mine, requests[0]));
        if (own(2))
            for (k = 0; k < theirs; k++)
                for (flag = 0; !flag;)
                    POLL(MPI_Parrived(requests[1], k, &flag));
        OK(MPI_Waitall(2, requests, statuses));
        check_status(&statuses[1], &in, from.layout);
        CHECK(memcmp(from.is, from.must, from.bytes) == 0);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    ends(&to);
    ends(&from);
}

/* Collectives that move data */

typedef struct {
    Buffer given, taken;
    int has_given, has_taken;
    /* Of all peers, where each has a buffer of its own. */
    Buffer *both[2];
    int peers;
} Operation;

static unsigned part_value(const Slot *s, int number, int from, int to, int k)
{
    return mix((unsigned)(step_number * 64 + number) ^ 0x1234, (unsigned)s->world[from],
               (unsigned)(to < 0 ? 999 : s->world[to]), (unsigned)k);
}

/* What each rank of the slot gives, in copies of a layout of so many units; and where it stands in the others' buffers,
 * in copies of theirs. */
typedef struct {
    int *count, *place, units, places;
} Parts;

static Parts parts_of(const Slot *s, unsigned drawn, int own_side, int units)
{
    Parts p;
    int i, at = 0, shift = (int)(drawn % (unsigned)s->size);

    p.count = take(sizeof(int) * (size_t)s->size);
    p.place = take(sizeof(int) * (size_t)s->size);
    p.units = units;
    for (i = 0; i < s->size; i++) {
        int who = (i + shift) % s->size;

        p.count[who] = (int)(mix(drawn, (unsigned)who, (unsigned)own_side, 3) % 5);
        p.place[who] = at;
        at += p.count[who] + (int)shape(2);
    }
    p.places = at + 1;
    return p;
}

/* Of `number`, of its part for or from rank `other`: its units begin at copy `place` of the buffer. */
static void own_part(Buffer *b, const Slot *s, int number, int from, int to, int place, int units, int is_given)
{
    int k;

    for (k = 0; k < units; k++) {
        unsigned value = part_value(s, number, from, to, k);

        if (is_given)
            has(b, place * b->layout.units + k, value);
        else
            gets(b, place * b->layout.units + k, value);
    }
}

static int started(int code, MPI_Request *request)
{
    return code == MPI_SUCCESS ? MPI_Start(request) : code;
}

#define LATER(Name, name, later, ...)                                                          \
    (are_persistent ? started(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, later), (later)) \
                    : MPI_I##name(__VA_ARGS__, later))
#define EITHER(Name, name, later, ...) \
    ((later) != NULL ? LATER(Name, name, later, __VA_ARGS__) : MPI_##Name(__VA_ARGS__))

/* Starts one that the plan draws, or does it where `request` is NULL. */
static void collective(const Slot *s, int number, MPI_Request *request, Operation *o)
{
    unsigned kind = plan(11), drawn = plan(1 << 20), rooted = plan(1 << 16), in_place = plan(3) == 0;
    int units = ints_of(200), each = 1 + (int)plan(4), root, i, count, is_root;
    Parts p;
    Layout l;

    o->has_given = o->has_taken = o->peers = 0;
    if (s->size == 0)
        return;
    if (request != NULL)
        *request = MPI_REQUEST_NULL;
    root = (int)(rooted % (unsigned)s->size);
    is_root = s->rank == root;
    switch (kind) {
    case 0:
        o->taken = message(units, &count);
        o->has_taken = 1;
        own_part(&o->taken, s, number, root, -1, 0, units, is_root);
        OK(EITHER(Bcast, bcast, request, o->taken.base, count, o->taken.layout.type, root, s->comm));
        return;
    case 1:
    case 2:
        /* gather, scatter: as many units of each, by `count` copies of the root's layout. */
        count = units > 0 ? divisor(units) : 0;
        l = any_layout(count > 0 ? units / count : 2);
        o->taken = buffer_of(l, is_root ? (count > 0 ? count : 1) * s->size : 1);
        o->has_taken = 1;
        o->given = message(units, &i);
        o->has_given = 1;
        if (kind == 1) {
            own_part(&o->given, s, number, s->rank, -1, 0, units, 1);
            if (is_root) {
                int r;

                for (r = 0; r < s->size; r++)
                    own_part(&o->taken, s, number, r, -1, r * count, units, in_place && r == root);
            }
            OK(EITHER(Gather, gather, request, is_root && in_place ? MPI_IN_PLACE : (void *)o->given.base, i,
                      o->given.layout.type, o->taken.base, count, l.type, root, s->comm));
        } else {
            if (is_root) {
                int r;

                for (r = 0; r < s->size; r++)
                    own_part(&o->taken, s, number, root, r, r * count, units, 1);
            }
            if (!(is_root && in_place))
                own_part(&o->given, s, number, root, s->rank, 0, units, 0);
            OK(EITHER(Scatter, scatter, request, o->taken.base, count, l.type,
                      is_root && in_place ? MPI_IN_PLACE : (void *)o->given.base, i, o->given.layout.type, root,
                      s->comm));
        }
        return;
    case 3:
    case 4:
        /* gatherv, scatterv */
        p = parts_of(s, drawn, 0, each);
        l = any_layout(each);
        o->taken = buffer_of(l, p.places);
        o->has_taken = 1;
        o->given = message(p.count[s->rank] * each, &i);
        o->has_given = 1;
        if (kind == 3) {
            own_part(&o->given, s, number, s->rank, -1, 0, p.count[s->rank] * each, 1);
            if (is_root) {
                int r;

                for (r = 0; r < s->size; r++)
                    own_part(&o->taken, s, number, r, -1, p.place[r], p.count[r] * each, in_place && r == root);
            }
            OK(EITHER(Gatherv, gatherv, request, is_root && in_place ? MPI_IN_PLACE : (void *)o->given.base, i,
                      o->given.layout.type, o->taken.base, p.count, p.place, l.type, root, s->comm));
        } else {
            if (is_root) {
                int r;

                for (r = 0; r < s->size; r++)
                    own_part(&o->taken, s, number, root, r, p.place[r], p.count[r] * each, 1);
            }
            if (!(is_root && in_place))
                own_part(&o->given, s, number, root, s->rank, 0, p.count[s->rank] * each, 0);
            OK(EITHER(Scatterv, scatterv, request, o->taken.base, p.count, p.place, l.type,
                      is_root && in_place ? MPI_IN_PLACE : (void *)o->given.base, i, o->given.layout.type, root,
                      s->comm));
        }
        return;
    case 5: {
        int r;

        /* allgather */
        count = units > 0 ? divisor(units) : 0;
        l = any_layout(count > 0 ? units / count : 2);
        o->taken = buffer_of(l, (count > 0 ? count : 1) * s->size);
        o->given = message(units, &i);
        o->has_taken = o->has_given = 1;
        own_part(&o->given, s, number, s->rank, -1, 0, units, 1);
        for (r = 0; r < s->size; r++)
            own_part(&o->taken, s, number, r, -1, r * count, units, in_place && r == s->rank);
        OK(EITHER(Allgather, allgather, request, in_place ? MPI_IN_PLACE : (void *)o->given.base, i,
                  o->given.layout.type, o->taken.base, count, l.type, s->comm));
        return;
    }
    case 6: {
        int r;

        /* allgatherv */
        p = parts_of(s, drawn, 0, each);
        l = any_layout(each);
        o->taken = buffer_of(l, p.places);
        o->given = message(p.count[s->rank] * each, &i);
        o->has_taken = o->has_given = 1;
        own_part(&o->given, s, number, s->rank, -1, 0, p.count[s->rank] * each, 1);
        for (r = 0; r < s->size; r++)
            own_part(&o->taken, s, number, r, -1, p.place[r], p.count[r] * each, in_place && r == s->rank);
        OK(EITHER(Allgatherv, allgatherv, request, in_place ? MPI_IN_PLACE : (void *)o->given.base, i,
                  o->given.layout.type, o->taken.base, p.count, p.place, l.type, s->comm));
        return;
    }
    case 7: {
        int r;

        /* alltoall */
        units %= 60;
        count = units > 0 ? divisor(units) : 0;
        l = any_layout(count > 0 ? units / count : 2);
        o->taken = buffer_of(l, (count > 0 ? count : 1) * s->size);
        o->has_taken = 1;
        if (in_place) {
            for (r = 0; r < s->size; r++) {
                own_part(&o->taken, s, number, s->rank, r, r * count, units, 1);
                own_part(&o->taken, s, number, r, s->rank, r * count, units, 0);
            }
            OK(EITHER(Alltoall, alltoall, request, MPI_IN_PLACE, 0, MPI_INT, o->taken.base, count, l.type, s->comm));
            return;
        }
        i = units > 0 ? divisor(units) : 0;
        o->given = buffer_of(any_layout(i > 0 ? units / i : 2), (i > 0 ? i : 1) * s->size);
        o->has_given = 1;
        for (r = 0; r < s->size; r++) {
            own_part(&o->given, s, number, s->rank, r, r * i, units, 1);
            own_part(&o->taken, s, number, r, s->rank, r * count, units, 0);
        }
        OK(EITHER(Alltoall, alltoall, request, o->given.base, i, o->given.layout.type, o->taken.base, count, l.type,
                  s->comm));
        return;
    }
    case 8: {
        int r, *counts[2], *places[2], side, places_used[2] = {0, 0};

        /* alltoallv: of `each` units a copy at both sides */
        for (side = 0; side < 2; side++) {
            counts[side] = take(sizeof(int) * (size_t)s->size);
            places[side] = take(sizeof(int) * (size_t)s->size);
            for (r = s->size - 1; r >= 0; r--) {
                int from = side == 0 ? s->rank : r, to = side == 0 ? r : s->rank;

                counts[side][r] = (int)(mix(drawn, (unsigned)from, (unsigned)to, 9) % 4);
                places[side][r] = places_used[side];
                places_used[side] += counts[side][r] + (int)own(2);
            }
        }
        o->given = buffer_of(any_layout(each), places_used[0] + 1);
        o->taken = buffer_of(any_layout(each), places_used[1] + 1);
        o->has_given = o->has_taken = 1;
        for (r = 0; r < s->size; r++) {
            own_part(&o->given, s, number, s->rank, r, places[0][r], counts[0][r] * each, 1);
            own_part(&o->taken, s, number, r, s->rank, places[1][r], counts[1][r] * each, 0);
        }
        OK(EITHER(Alltoallv, alltoallv, request, o->given.base, counts[0], places[0], o->given.layout.type,
                  o->taken.base, counts[1], places[1], o->taken.layout.type, s->comm));
        return;
    }
    case 9: {
        int r, side, *counts[2], *places[2];
        MPI_Datatype *types[2];

        /* alltoallw */
        o->peers = s->size;
        for (side = 0; side < 2; side++) {
            counts[side] = take(sizeof(int) * (size_t)s->size);
            places[side] = take(sizeof(int) * (size_t)s->size);
            types[side] = take(sizeof(MPI_Datatype) * (size_t)s->size);
            o->both[side] = take(sizeof(Buffer) * (size_t)s->size);
            for (r = 0; r < s->size; r++) {
                int from = side == 0 ? s->rank : r, to = side == 0 ? r : s->rank;
                int many = (int)(mix(drawn, (unsigned)from, (unsigned)to, 10) % 30);
                Buffer *b = &o->both[side][r];

                *b = message(many, &counts[side][r]);
                own_part(b, s, number, from, to, 0, many, side == 0);
                places[side][r] = (int)(b->base - arena);
                types[side][r] = b->layout.type;
            }
        }
        OK(EITHER(Alltoallw, alltoallw, request, arena, counts[0], places[0], types[0], arena, counts[1], places[1],
                  types[1], s->comm));
        return;
    }
    default:
        if (request != NULL)
            OK(MPI_Ibarrier(s->comm, request));
        else
            OK(MPI_Barrier(s->comm));
    }
}

static void end_collective(Operation *o)
{
    int r;

    if (o->has_given)
        ends(&o->given);
    if (o->has_taken)
        ends(&o->taken);
    for (r = 0; r < o->peers; r++) {
        ends(&o->both[0][r]);
        ends(&o->both[1][r]);
    }
}

static void one_collective(void)
{
    const Slot *s = &slots[plan(SLOTS)];
    Operation o;

    choose_unit();
    collective(s, 0, NULL, &o);
    end_collective(&o);
}

/* Some at once, with messages between their beginnings and their ends. */
static void some_collectives(void)
{
    const Slot *s = &slots[plan(SLOTS)];
    Operation operations[MOST_OPS];
    MPI_Request requests[MOST_OPS];
    int count = 1 + (int)plan(MOST_OPS), i, beside = (int)plan(2), many = 0;
    Planned all[MOST_MESSAGES];
    Exchange x;

    choose_unit();
    x.count = x.used = x.is_persistent = 0;
    if (beside)
        many = plan_messages(s, all, 100);
    if (own(2))
        start_receives(s, all, many, &x, BESIDE);
    else
        beside = -beside;
    for (i = 0; i < count; i++)
        collective(s, i, &requests[i], &operations[i]);
    start_sends(s, all, many, &x, BESIDE);
    if (beside < 0 || (beside == 0 && many > 0))
        start_receives(s, all, many, &x, BESIDE);
    if (s->size == 0)
        return;
    if (own(2)) {
        finish(&x);
        wait_for(count, requests);
    } else {
        wait_for(count, requests);
        finish(&x);
    }
    for (i = 0; i < count; i++)
        end_collective(&operations[i]);
}

/* Reductions */

typedef struct {
    MPI_Datatype type;
    MPI_Op op;
    size_t bytes;
    /* `b` becomes `a` with `b`. */
    void (*combine)(const void *a, void *b);
    void (*value)(void *to, unsigned random, int rank);
} Reduction;

typedef struct {
    unsigned factor, offset;
} Affine;

typedef struct {
    int value, place;
} Located;

#define COMBINES(name, type, expression)                                                                               \
    static void name(const void *left, void *right)                                                                    \
    {                                                                                                                  \
        type a, b;                                                                                                     \
                                                                                                                       \
        memcpy(&a, left, sizeof a);                                                                                    \
        memcpy(&b, right, sizeof b);                                                                                   \
        b = expression;                                                                                                \
        memcpy(right, &b, sizeof b);                                                                                   \
    }
#define VALUES(name, type, expression)                                                                                 \
    static void name(void *to, unsigned random, int rank)                                                              \
    {                                                                                                                  \
        type value = expression;                                                                                       \
                                                                                                                       \
        (void)rank;                                                                                                    \
        memcpy(to, &value, sizeof value);                                                                              \
    }

static Affine composed(Affine a, Affine b)
{
    Affine c = {a.factor * b.factor, a.factor * b.offset + a.offset};

    return c;
}

static Affine affine(unsigned random)
{
    Affine a = {random | 1, random >> 7};

    return a;
}

static Located greater(Located a, Located b)
{
    return a.value > b.value || (a.value == b.value && a.place < b.place) ? a : b;
}

static Located located(unsigned random, int rank)
{
    Located l = {(int)(random % 7), rank};

    return l;
}

COMBINES(sum_unsigned, unsigned, a + b)
COMBINES(max_int, int, a > b ? a : b)
COMBINES(min_short, short, a < b ? a : b)
COMBINES(xor_char, unsigned char, (unsigned char)(a ^ b))
COMBINES(sum_double, double, a + b)
COMBINES(and_long, unsigned long, a &b)
COMBINES(prod_longlong, unsigned long long, a *b)
COMBINES(greatest, Located, greater(a, b))
COMBINES(compose, Affine, composed(a, b))
VALUES(any_unsigned, unsigned, random)
VALUES(any_int, int, (int)random)
VALUES(any_short, short, (short)random)
VALUES(any_char, unsigned char, (unsigned char)random)
VALUES(whole_double, double, (double)(random % 100000))
VALUES(any_long, unsigned long, random | 0xff0f0000ul)
VALUES(odd_longlong, unsigned long long, random * 2ull + 1)
VALUES(any_located, Located, located(random, rank))
VALUES(any_affine, Affine, affine(random))

static MPI_Datatype affine_type;
static MPI_Op affine_op, own_sum;

static void compose_all(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int i;

    /* A persistent collective has a handle of its own, because the program may free the datatype. */
    CHECK(*type == affine_type || are_persistent);
    for (i = 0; i < *len; i++)
        compose((char *)in + (size_t)i * sizeof(Affine), (char *)inout + (size_t)i * sizeof(Affine));
}

static void add_all(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int i;

    CHECK(*type == MPI_UNSIGNED);
    for (i = 0; i < *len; i++)
        sum_unsigned((char *)in + (size_t)i * sizeof(unsigned), (char *)inout + (size_t)i * sizeof(unsigned));
}

static Reduction reduction(unsigned which)
{
    const Reduction all[] = {
        {MPI_UNSIGNED, MPI_SUM, sizeof(unsigned), sum_unsigned, any_unsigned},
        {MPI_INT, MPI_MAX, sizeof(int), max_int, any_int},
        {MPI_SHORT, MPI_MIN, sizeof(short), min_short, any_short},
        {MPI_UNSIGNED_CHAR, MPI_BXOR, 1, xor_char, any_char},
        {MPI_DOUBLE, MPI_SUM, sizeof(double), sum_double, whole_double},
        {MPI_UNSIGNED_LONG, MPI_BAND, sizeof(unsigned long), and_long, any_long},
        {MPI_UNSIGNED_LONG_LONG, MPI_PROD, sizeof(unsigned long long), prod_longlong, odd_longlong},
        {MPI_2INT, MPI_MAXLOC, sizeof(Located), greatest, any_located},
        {MPI_UNSIGNED, own_sum, sizeof(unsigned), sum_unsigned, any_unsigned},
        {affine_type, affine_op, sizeof(Affine), compose, any_affine},
    };

    return all[which % (sizeof all / sizeof all[0])];
}

static void value_of(const Reduction *r, const Slot *s, int rank, int k, void *to)
{
    r->value(to, mix((unsigned)step_number ^ 0x77, (unsigned)s->world[rank], 0, (unsigned)k), rank);
}

/* What the values of ranks `from` to `to` come to, in their order. */
static void total(const Reduction *r, const Slot *s, int from, int to, int k, void *result)
{
    unsigned char next[16];
    int rank;

    value_of(r, s, from, k, result);
    for (rank = from + 1; rank <= to; rank++) {
        value_of(r, s, rank, k, next);
        r->combine(result, next);
        memcpy(result, next, r->bytes);
    }
}

static void reductions(void)
{
    const Slot *s = &slots[plan(SLOTS)];
    Reduction r = reduction(plan(100));
    unsigned kind = plan(6), rooted = plan(1 << 16), in_place = plan(3) == 0, drawn = plan(1 << 20);
    int count = plan(8) == 0 ? (int)plan(3000) : ints_of(100), is_immediate = (int)plan(2), root, k, i, blocks, *counts;
    int first = 0, many, from = 0, to = s->size - 1;
    unsigned char *given, *result, *must;
    MPI_Request request, *later = is_immediate ? &request : NULL;
    void *in;

    if (s->size == 0)
        return;
    root = (int)(rooted % (unsigned)s->size);
    counts = take(sizeof(int) * (size_t)s->size);
    blocks = count;
    many = count;
    if (kind >= 4) {
        /* The counts are those of all ranks' parts. */
        for (count = i = 0; i < s->size; i++) {
            counts[i] = kind == 4 ? blocks % 50 : (int)(mix(drawn, (unsigned)i, 0, 0) % 40);
            if (i == s->rank)
                first = count;
            count += counts[i];
        }
        many = counts[s->rank];
    }
    given = take(r.bytes * (size_t)(count + 1));
    result = take(r.bytes * (size_t)(count + 1));
    must = take(r.bytes * (size_t)(count + 1));
    for (k = 0; k < count; k++)
        value_of(&r, s, s->rank, k, given + (size_t)k * r.bytes);
    memset(result, MARK, r.bytes * (size_t)(count + 1));
    in_place = in_place && (kind != 0 || s->rank == root);
    if (in_place)
        memcpy(result, given, r.bytes * (size_t)count);
    memcpy(must, result, r.bytes * (size_t)(count + 1));
    in = in_place ? MPI_IN_PLACE : (void *)given;
    switch (kind) {
    case 0:
        if (s->rank != root)
            many = 0;
        OK(EITHER(Reduce, reduce, later, in, result, count, r.type, r.op, root, s->comm));
        break;
    case 1:
        OK(EITHER(Allreduce, allreduce, later, in, result, count, r.type, r.op, s->comm));
        break;
    case 2:
        to = s->rank;
        OK(EITHER(Scan, scan, later, in, result, count, r.type, r.op, s->comm));
        break;
    case 3:
        to = s->rank - 1;
        if (s->rank == 0)
            many = 0;
        OK(EITHER(Exscan, exscan, later, in, result, count, r.type, r.op, s->comm));
        break;
    case 4:
        OK(EITHER(Reduce_scatter_block, reduce_scatter_block, later, in, result, blocks % 50, r.type, r.op, s->comm));
        break;
    default:
        OK(EITHER(Reduce_scatter, reduce_scatter, later, in, result, counts, r.type, r.op, s->comm));
    }
    if (is_immediate)
        wait_for(1, &request);
    for (k = 0; k < many; k++)
        total(&r, s, from, to, first + k, must + (size_t)k * r.bytes);
    /* In place, what is behind a part of the result means nothing. */
    k = kind >= 4 && in_place ? many : count + 1;
    if (kind == 3 && in_place && s->rank == 0)
        k = 0;
    CHECK(memcmp(result, must, r.bytes * (size_t)k) == 0);
}

/* Windows: each origin has cells of its own at each target, and all add to one. */

enum { CELLS = 64, MOST_OPERATIONS = 10 };

static void windows(void)
{
    const Slot *s = &slots[plan(SLOTS)];
    int with = (int)plan(3), count = (int)plan(MOST_OPERATIONS + 1), i, k, made, is_allocated = (int)plan(2);
    unsigned shared = plan(1 << 20);
    int *memory, *must, held = 0, cells;
    Buffer kept[MOST_OPERATIONS];
    MPI_Win win;

    unit = MPI_INT;
    unit_bytes = 4;
    if (s->size == 0)
        return;
    cells = CELLS * s->size + 1;
    must = take(sizeof(int) * (size_t)cells);
    if (is_allocated)
        OK(MPI_Win_allocate((MPI_Aint)sizeof(int) * cells, 4, MPI_INFO_NULL, s->comm, &memory, &win));
    else {
        memory = take(sizeof(int) * (size_t)cells);
        OK(MPI_Win_create(memory, (MPI_Aint)sizeof(int) * cells, 4, MPI_INFO_NULL, s->comm, &win));
    }
    if (with > 0)
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, s->rank, 0, win));
    for (i = 0; i < cells; i++)
        memory[i] = must[i] = (int)mix((unsigned)step_number, (unsigned)check_rank, (unsigned)i, 8);
    if (with > 0)
        OK(MPI_Win_unlock(s->rank, win));
    OK(MPI_Barrier(s->comm));
    if (with == 0)
        OK(MPI_Win_fence(0, win));
    if (with == 2)
        OK(MPI_Win_lock_all(0, win));
    /* All ranks go through the operations of all, since each is a target, too. */
    for (i = 0; i < count; i++) {
        unsigned drawn = mix(shared, (unsigned)i, 0, 1);
        int origin;

        for (origin = 0; origin < s->size; origin++) {
            unsigned w = mix(drawn, (unsigned)origin, 2, 2);
            int target = (int)(w % (unsigned)s->size), kind = (int)(w >> 12) % 3, units = 1 + (int)(w >> 16) % 12;
            /* Each operation of an origin has cells that no other has. */
            int here = origin * CELLS + i * (CELLS / MOST_OPERATIONS), room = CELLS / MOST_OPERATIONS, at;
            unsigned long long state = w;
            Layout there;

            if (units > room)
                units = room;
            layout_state = &state;
            there = any_layout(units);
            layout_state = &own_state;
            if (there.last - there.first > room || there.first > here || kind == 2) {
                /* Too wide for its cells: units one behind the other. */
                drop(&there);
                there = basic();
                made = units;
            } else
                made = 1;
            at = here - there.first;
            if (kind == 2)
                at = cells - 1;
            if (s->rank == target && kind != 1)
                for (k = 0; k < (kind == 2 ? 1 : units); k++) {
                    unsigned value = mix(w, (unsigned)k, 3, 3);
                    int cell = at + (made == 1 && kind != 2 ? there.at[k] : k);

                    if (kind == 2)
                        must[cell] = (int)((unsigned)must[cell] + value);
                    else
                        must[cell] = (int)value;
                }
            if (s->rank == origin) {
                int many, copies;
                Buffer b;

                if (kind == 2)
                    units = made = 1;
                copies = made;
                b = message(units, &many);
                for (k = 0; k < units; k++) {
                    if (kind != 1)
                        has(&b, k, mix(w, (unsigned)k, 3, 3));
                    else
                        gets(&b, k,
                             mix((unsigned)step_number, (unsigned)s->world[target],
                                 (unsigned)(at + (copies == 1 ? there.at[k] : k)), 8));
                }
                if (with == 1)
                    OK(MPI_Win_lock(own(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win));
                switch (kind) {
                case 0:
                    OK(MPI_Put(b.base, many, b.layout.type, target, at, copies, there.type, win));
                    break;
                case 1:
                    OK(MPI_Get(b.base, many, b.layout.type, target, at, copies, there.type, win));
                    break;
                default:
                    OK(MPI_Accumulate(b.base, many, b.layout.type, target, at, copies, there.type, MPI_SUM, win));
                }
                if (with == 1)
                    OK(MPI_Win_unlock(target, win));
                else if (with == 2)
                    OK(own(2) ? MPI_Win_flush(target, win) : MPI_Win_flush_all(win));
                kept[held++] = b;
            }
            drop(&there);
        }
    }
    if (with == 0)
        OK(MPI_Win_fence(0, win));
    if (with == 2)
        OK(MPI_Win_unlock_all(win));
    for (i = 0; i < held; i++)
        ends(&kept[i]);
    OK(MPI_Barrier(s->comm));
    if (with > 0)
        OK(MPI_Win_lock(MPI_LOCK_SHARED, s->rank, 0, win));
    CHECK(memcmp(memory, must, sizeof(int) * (size_t)cells) == 0);
    if (with > 0)
        OK(MPI_Win_unlock(s->rank, win));
    OK(MPI_Win_free(&win));
}

/* Neighbours of a grid */

static void neighbours(void)
{
    const Slot *s = &slots[plan(SLOTS)];
    unsigned around = plan(8), kind = plan(4);
    int is_immediate = (int)plan(2), units = ints_of(60), dims[3] = {0, 0, 0}, periods[3], beside[6], i, k, count, many;
    int counts[2][6], places[2][6];
    MPI_Request request, *later = is_immediate ? &request : NULL;
    Buffer given, got;
    MPI_Comm grid;

    choose_unit();
    if (s->size == 0)
        return;
    OK(MPI_Dims_create(s->size, 3, dims));
    for (i = 0; i < 3; i++)
        periods[i] = around >> i & 1;
    OK(MPI_Cart_create(s->comm, 3, dims, periods, 0, &grid));
    for (i = 0; i < 3; i++)
        OK(MPI_Cart_shift(grid, i, 1, &beside[2 * i], &beside[2 * i + 1]));
    count = units > 0 ? divisor(units) : 0;
    got = buffer_of(any_layout(count > 0 ? units / count : 2), 6 * (count > 0 ? count : 1));
    if (kind < 2) {
        given = message(units, &many);
        for (k = 0; k < units; k++)
            has(&given, k, part_value(s, 0, s->rank, -1, k));
    } else {
        many = units > 0 ? divisor(units) : 0;
        given = buffer_of(any_layout(many > 0 ? units / many : 2), 6 * (many > 0 ? many : 1));
        for (i = 0; i < 6; i++)
            for (k = 0; k < units; k++)
                if (beside[i] != MPI_PROC_NULL)
                    has(&given, i * units + k, part_value(s, 0, s->rank, beside[i], k));
    }
    for (i = 0; i < 6; i++)
        for (k = 0; k < units; k++)
            if (beside[i] != MPI_PROC_NULL)
                gets(&got, i * units + k, part_value(s, 0, beside[i], kind < 2 ? -1 : s->rank, k));
    if (kind == 0)
        OK(EITHER(Neighbor_allgather, neighbor_allgather, later, given.base, many, given.layout.type, got.base, count,
                  got.layout.type, grid));
    else if (kind == 2)
        OK(EITHER(Neighbor_alltoall, neighbor_alltoall, later, given.base, many, given.layout.type, got.base, count,
                  got.layout.type, grid));
    else {
        for (i = 0; i < 6; i++) {
            counts[0][i] = many;
            counts[1][i] = count;
            places[0][i] = i * many;
            places[1][i] = i * count;
        }
        if (kind == 1)
            OK(EITHER(Neighbor_allgatherv, neighbor_allgatherv, later, given.base, many, given.layout.type, got.base,
                      counts[1], places[1], got.layout.type, grid));
        else
            OK(EITHER(Neighbor_alltoallv, neighbor_alltoallv, later, given.base, counts[0], places[0],
                      given.layout.type, got.base, counts[1], places[1], got.layout.type, grid));
    }
    if (is_immediate)
        wait_for(1, &request);
    ends(&given);
    ends(&got);
    OK(MPI_Comm_free(&grid));
}

/* Two groups */

static void two_groups(void)
{
    const Slot *s = &slots[plan(SLOTS)];
    unsigned drawn = plan(1 << 20), kind = plan(5), rooted = plan(1 << 16);
    int units = ints_of(100), is_immediate = (int)plan(2), is_low, remote, i, k, count, many, cut, here, first;
    MPI_Request request, *later = is_immediate ? &request : NULL, both[2];
    MPI_Comm local, inter;
    Buffer given, got;

    choose_unit();
    if (s->size < 2)
        return;
    cut = 1 + (int)(drawn % (unsigned)(s->size - 1));
    inter = inter_of(s, drawn, &is_low, &local);
    OK(MPI_Comm_remote_size(inter, &remote));
    OK(MPI_Comm_rank(inter, &here));
    CHECK(remote == (is_low ? s->size - cut : cut) && here == (is_low ? s->rank : s->rank - cut));
    /* The rank in the slot of the first of the others. */
    first = is_low ? cut : 0;
    {
        /* A message to the remote rank of the same number, where there is one. */
        int peer = here < remote ? here : MPI_PROC_NULL;

        given = message(units, &many);
        got = message(units, &count);
        for (k = 0; k < units; k++) {
            if (peer != MPI_PROC_NULL)
                gets(&got, k, part_value(s, 1, first + here, s->rank, k));
            has(&given, k, part_value(s, 1, s->rank, peer == MPI_PROC_NULL ? -1 : first + here, k));
        }
        OK(MPI_Irecv(got.base, count, got.layout.type, peer, 3, inter, &both[0]));
        OK(MPI_Isend(given.base, many, given.layout.type, peer, 3, inter, &both[1]));
        wait_for(2, both);
        ends(&given);
        ends(&got);
    }
    switch (kind) {
    case 0: {
        /* bcast from a rank of the lower group */
        int root = (int)(rooted % (unsigned)cut), role = is_low ? (here == root ? MPI_ROOT : MPI_PROC_NULL) : root;

        got = message(units, &count);
        if (!is_low || role == MPI_ROOT)
            own_part(&got, s, 0, root, -1, 0, units, is_low);
        OK(EITHER(Bcast, bcast, later, got.base, count, got.layout.type, role, inter));
        if (is_immediate)
            wait_for(1, &request);
        ends(&got);
        break;
    }
    case 1:
    case 2:
        /* allgather, alltoall */
        count = units > 0 ? divisor(units) : 0;
        got = buffer_of(any_layout(count > 0 ? units / count : 2), (count > 0 ? count : 1) * remote);
        if (kind == 1) {
            given = message(units, &many);
            own_part(&given, s, 0, s->rank, -1, 0, units, 1);
            for (i = 0; i < remote; i++)
                own_part(&got, s, 0, first + i, -1, i * count, units, 0);
            OK(EITHER(Allgather, allgather, later, given.base, many, given.layout.type, got.base, count,
                      got.layout.type, inter));
        } else {
            many = units > 0 ? divisor(units) : 0;
            given = buffer_of(any_layout(many > 0 ? units / many : 2), (many > 0 ? many : 1) * remote);
            for (i = 0; i < remote; i++) {
                own_part(&given, s, 0, s->rank, first + i, i * many, units, 1);
                own_part(&got, s, 0, first + i, s->rank, i * count, units, 0);
            }
            OK(EITHER(Alltoall, alltoall, later, given.base, many, given.layout.type, got.base, count, got.layout.type,
                      inter));
        }
        if (is_immediate)
            wait_for(1, &request);
        ends(&given);
        ends(&got);
        break;
    case 3: {
        /* allreduce: each group gets the other's total */
        Reduction r = reduction(rooted);
        unsigned char *mine = take(r.bytes * (size_t)(units + 1)), *theirs = take(r.bytes * (size_t)(units + 1));
        unsigned char must[16];

        for (k = 0; k < units; k++)
            value_of(&r, s, s->rank, k, mine + (size_t)k * r.bytes);
        OK(EITHER(Allreduce, allreduce, later, mine, theirs, units, r.type, r.op, inter));
        if (is_immediate)
            wait_for(1, &request);
        for (k = 0; k < units; k++) {
            total(&r, s, first, first + remote - 1, k, must);
            CHECK(memcmp(must, theirs + (size_t)k * r.bytes, r.bytes) == 0);
        }
        break;
    }
    default:
        if (is_immediate) {
            OK(MPI_Ibarrier(inter, &request));
            wait_for(1, &request);
        } else
            OK(MPI_Barrier(inter));
    }
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
}

/* Packing: out of one layout, and into another. */

static void packing(void)
{
    int units = ints_of(MOST_UNITS), given, got, k, size, at = 0, back = 0;
    unsigned char *packed;
    Buffer from, to;

    choose_unit();
    from = message(units, &given);
    to = message(units, &got);
    for (k = 0; k < units; k++) {
        has(&from, k, mix((unsigned)k, (unsigned)check_rank, 5, 5));
        gets(&to, k, mix((unsigned)k, (unsigned)check_rank, 5, 5));
    }
    OK(MPI_Pack_size(given, from.layout.type, MPI_COMM_WORLD, &size));
    packed = take((size_t)size);
    OK(MPI_Pack(from.base, given, from.layout.type, packed, size, &at, MPI_COMM_WORLD));
    CHECK(at == units * unit_bytes || IS_MPICH);
    if (own(2)) {
        MPI_Request request;

        /* By way of this rank itself. */
        OK(MPI_Irecv(to.base, got, to.layout.type, 0, 5, MPI_COMM_SELF, &request));
        OK(MPI_Send(packed, at, MPI_PACKED, 0, 5, MPI_COMM_SELF));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else
        OK(MPI_Unpack(packed, at, &back, to.base, got, to.layout.type, MPI_COMM_WORLD));
    ends(&from);
    ends(&to);
}

int main(int argc, char **argv)
{
    int steps, seed, i;

    check_start(&argc, &argv);
    steps = argc > 1 ? atoi(argv[1]) : 40;
    seed = argc > 2 ? atoi(argv[2]) : 1;
    if (steps < 1 || seed < 0 || argc > 3) {
        if (check_rank == 0)
            fprintf(stderr, "usage: random_calls [STEPS [SEED]]\n");
        MPI_Finalize();
        return 2;
    }
    plan_state = mix((unsigned)seed, 1, 2, 3);
    own_state = mix((unsigned)seed, (unsigned)check_rank, 4, 5);
    OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &affine_type));
    OK(MPI_Type_commit(&affine_type));
    OK(MPI_Op_create(compose_all, 0, &affine_op));
    OK(MPI_Op_create(add_all, 1, &own_sum));
    for (i = 0; i < SLOTS; i++) {
        slots[i].comm = i == 1 ? MPI_COMM_SELF : i == 0 ? MPI_COMM_WORLD : MPI_COMM_NULL;
        name_ranks(&slots[i]);
    }
    for (step_number = 0; step_number < steps; step_number++) {
        static void (*const kinds[])(void) = {messages,       messages,       messages,         shifts,
                                              partitions,
                                              one_collective, one_collective, some_collectives, some_collectives,
                                              reductions,     reductions,     communicators,    communicators,
                                              windows,        neighbours,     two_groups,       packing};

        are_persistent = plan(3) == 0;
        kinds[plan(sizeof kinds / sizeof kinds[0])]();
        taken = 0;
    }
    for (i = 1; i < SLOTS; i++)
        free_slot(&slots[i]);
    free(slots[0].world);
    OK(MPI_Op_free(&affine_op));
    OK(MPI_Op_free(&own_sum));
    OK(MPI_Type_free(&affine_type));
    return check_end("random_calls");
}
