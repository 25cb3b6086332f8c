/* Conformance: attributes of communicators (MPI-3.1, sections 6.7 and 8.1.2; the names of MPI-1, section 15.1). */
#include "check.h"

static int copies, deletions, refuse, order[8], orders;
static int extra = 42, at_finalize[4], finalized_with = -1;

static int copy(MPI_Comm comm, int keyval, void *extra_state, void *value, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    CHECK(extra_state == &extra);
    copies++;
    if (refuse)
        return MPI_ERR_OTHER;
    *(void **)out = (char *)value + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int leave_out(MPI_Comm comm, int keyval, void *extra_state, void *value, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)extra_state;
    (void)value;
    (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    int size;

    (void)keyval;
    CHECK(extra_state == &extra);
    OK(MPI_Comm_size(comm, &size));
    if (refuse)
        return MPI_ERR_OTHER;
    deletions++;
    if (orders < 8)
        order[orders++] = *(char *)value;
    return MPI_SUCCESS;
}

static char values[8] = {0, 1, 2, 3, 4, 5, 6, 7};

static int value_of(MPI_Comm comm, int keyval)
{
    char *value = NULL;
    int flag = -1;

    OK(MPI_Comm_get_attr(comm, keyval, &value, &flag));
    return flag ? *value : -1;
}

static void setting(void)
{
    int keyval = MPI_KEYVAL_INVALID, again, freed, flag;
    MPI_Comm comm;
    void *value;

    OK(MPI_Comm_create_keyval(copy, delete, &keyval, &extra));
    CHECK(keyval != MPI_KEYVAL_INVALID);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK(value_of(comm, keyval) == -1);
    OK(MPI_Comm_set_attr(comm, keyval, &values[1]));
    CHECK(value_of(comm, keyval) == 1 && value_of(MPI_COMM_WORLD, keyval) == -1);
    deletions = 0;
    OK(MPI_Comm_set_attr(comm, keyval, &values[2]));
    CHECK(deletions == 1 && value_of(comm, keyval) == 2);
    OK(MPI_Comm_delete_attr(comm, keyval));
    CHECK(deletions == 2 && value_of(comm, keyval) == -1);

    /* A null value is a value. */
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &again, NULL));
    OK(MPI_Comm_set_attr(comm, again, NULL));
    value = &values[0];
    OK(MPI_Comm_get_attr(comm, again, &value, &flag));
    CHECK(flag && value == NULL);
    OK(MPI_Comm_delete_attr(comm, again));
    OK(MPI_Comm_free_keyval(&again));
    CHECK(again == MPI_KEYVAL_INVALID);

    /* A delete function that says no keeps the attribute, and the communicator. */
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_attr(comm, keyval, &values[3]));
    refuse = 1;
    FAILS(MPI_ERR_OTHER, MPI_Comm_delete_attr(comm, keyval));
    FAILS(MPI_ERR_OTHER, MPI_Comm_set_attr(comm, keyval, &values[4]));
    FAILS(MPI_ERR_OTHER, MPI_Comm_free(&comm));
    CHECK(comm != MPI_COMM_NULL);
    refuse = 0;
    CHECK(IS_MPICH /* It sets all the same. */ || value_of(comm, keyval) == 3);

    /* A freed key stays for as long as an attribute has it, which can be deleted by it. */
    deletions = 0;
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &values[1]));
    freed = keyval;
    OK(MPI_Comm_free_keyval(&keyval));
    CHECK(keyval == MPI_KEYVAL_INVALID && deletions == 0);
    again = freed;
    OK(MPI_Comm_free_keyval(&again));
    CHECK(again == MPI_KEYVAL_INVALID && deletions == 0);
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, freed));
    CHECK(deletions == 1);
    OK(MPI_Comm_free(&comm));
    CHECK(IS_MPICH /* It has lost the attribute above. */ || deletions == 2);
    if (!IS_MPICH) { /* It does not look whether a key was freed. */
        FAILS(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(MPI_COMM_WORLD, freed));
        FAILS(MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&freed));
    }
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, NULL));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&keyval));
}

/* What a duplicate has, and in which order attributes go. */
static void duplicates(void)
{
    int copied, left_out, same, none, i;
    MPI_Comm comm, twin;
    char *value;
    int flag;

    OK(MPI_Comm_create_keyval(copy, delete, &copied, &extra));
    OK(MPI_Comm_create_keyval(leave_out, delete, &left_out, &extra));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, delete, &same, &extra));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &none, &extra));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_attr(comm, same, &values[1]));
    OK(MPI_Comm_set_attr(comm, left_out, &values[2]));
    OK(MPI_Comm_set_attr(comm, none, &values[3]));
    OK(MPI_Comm_set_attr(comm, copied, &values[4]));
    copies = 0;
    OK(MPI_Comm_dup(comm, &twin));
    CHECK(copies == 1);
    CHECK(value_of(twin, same) == 1 && value_of(twin, copied) == 5);
    CHECK(value_of(twin, left_out) == -1 && value_of(twin, none) == -1);
    CHECK(value_of(comm, copied) == 4);
    deletions = 0;
    OK(MPI_Comm_free(&twin));
    CHECK(deletions == 2);
    orders = 0;
    OK(MPI_Comm_free(&comm));
    CHECK(orders == 4 && deletions == 6);
#ifndef MPICH_VERSION /* Any order will do but at the end (section 8.7.1); here it is always the reverse. */
    for (i = 0; i < orders; i++)
        CHECK(order[i] == orders - i);
#else
    (void)i;
#endif

    /* A split has none. A copy function that says no: there is no duplicate. */
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_attr(comm, copied, &values[1]));
    OK(MPI_Comm_split(comm, 0, 0, &twin));
    CHECK(value_of(twin, copied) == -1);
    OK(MPI_Comm_free(&twin));
    refuse = 1;
    twin = MPI_COMM_WORLD;
    FAILS(MPI_ERR_OTHER, MPI_Comm_dup(comm, &twin));
    refuse = 0;
    CHECK(twin == MPI_COMM_NULL);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free_keyval(&none));
    OK(MPI_Comm_free_keyval(&same));
    OK(MPI_Comm_free_keyval(&left_out));
    OK(MPI_Comm_free_keyval(&copied));

    /* The names of MPI-1. */
    OK(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &same, NULL));
    OK(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &none, NULL));
    OK(MPI_Attr_put(MPI_COMM_SELF, same, &values[6]));
    OK(MPI_Attr_put(MPI_COMM_SELF, none, &values[7]));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &twin));
    OK(MPI_Attr_get(twin, same, &value, &flag));
    CHECK(flag && *value == 6);
    OK(MPI_Attr_get(twin, none, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_free(&twin));
    OK(MPI_Attr_delete(MPI_COMM_SELF, same));
    OK(MPI_Attr_delete(MPI_COMM_SELF, none));
    OK(MPI_Keyval_free(&same));
    OK(MPI_Keyval_free(&none));
    CHECK(same == MPI_KEYVAL_INVALID);
}

static void predefined(void)
{
    static const int keyvals[] = {MPI_TAG_UB, MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_LASTUSEDCODE};
    int *value, flag, i;

    for (i = 0; i < 5; i++) {
        value = NULL;
        OK(MPI_Comm_get_attr(MPI_COMM_WORLD, keyvals[i], &value, &flag));
        CHECK(flag && value != NULL);
    }
    CHECK(value != NULL && *value >= MPI_ERR_LASTCODE);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(!flag || *value >= check_size);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(!flag || *value == 0);
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB));
}

/* Far more keys and attributes in turn than there can be at one time. */
static void again(void)
{
    int keyval, i;

    for (i = 0; i < 100000; i++) {
        POLL(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
        POLL(MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &values[i % 8]));
        POLL(MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval));
        POLL(MPI_Comm_free_keyval(&keyval));
        if (i % 100 != 99)
            continue;
        /* Keys that are freed go with their attributes. */
        {
            MPI_Comm comm;

            OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
            OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
            OK(MPI_Comm_set_attr(comm, keyval, NULL));
            OK(MPI_Comm_free_keyval(&keyval));
            OK(MPI_Comm_free(&comm));
        }
    }
}

/* Called in MPI_Finalize, the last one that was set first (section 8.7.1); MPI still works. */
static int last(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    int flag = 1;

    (void)comm;
    (void)keyval;
    (void)extra_state;
    if (MPI_Finalized(&flag) != MPI_SUCCESS || flag || MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS)
        finalized_with = 100;
    if (finalized_with < 3)
        at_finalize[++finalized_with] = *(char *)value;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int keyvals[3], i, result;

    check_start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    setting();
    duplicates();
    predefined();
    again();
    for (i = 0; i < 3; i++) {
        OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last, &keyvals[i], NULL));
        OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyvals[i], &values[i + 1]));
    }
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, keyvals[0], &values[7]));
    result = check_end("conf_attr");
    if (finalized_with < 2 || at_finalize[0] != 3 || at_finalize[1] != 2 || at_finalize[2] != 1)
        result = 1;
#ifndef MPICH_VERSION
    if (finalized_with != 3 || at_finalize[3] != 7)
        result = 1;
#endif
    return result;
}
