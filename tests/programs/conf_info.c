/* Conformance: info objects (MPI-3.1, chapter 9, section 6.4.4) and memory for messages (section 8.2). */
#include "check.h"

static void keys(void)
{
    char text[MPI_MAX_INFO_VAL], longer[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY];
    MPI_Info info, twin;
    int flag = -1, length = -1, keys = -1, i;

    OK(MPI_Info_create(&info));
    CHECK(info != MPI_INFO_NULL);
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys == 0);
    OK(MPI_Info_set(info, "first", "1"));
    OK(MPI_Info_set(info, "second", "a longer value"));
    OK(MPI_Info_set(info, "first", "one"));
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys == 2);
    OK(MPI_Info_get(info, "first", MPI_MAX_INFO_VAL - 1, text, &flag));
    CHECK(flag && strcmp(text, "one") == 0);
    OK(MPI_Info_get_valuelen(info, "second", &length, &flag));
    CHECK(flag && length == 14);
    length = -7;
    strcpy(text, "unchanged");
    OK(MPI_Info_get_valuelen(info, "third", &length, &flag));
    CHECK(!flag && length == -7);
    OK(MPI_Info_get(info, "third", 20, text, &flag));
    CHECK(!flag && strcmp(text, "unchanged") == 0);

    /* What does not fit is cut. */
    memset(text, 'x', 10);
    if (!IS_MPICH) { /* It makes an error of it, and cuts none the less. */
        OK(MPI_Info_get(info, "second", 3, text, &flag));
        CHECK(flag && strcmp(text, "a l") == 0 && text[4] == 'x');
    }

    OK(MPI_Info_dup(info, &twin));
    OK(MPI_Info_delete(info, "first"));
    FAILS(MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "first"));
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys == 1);
    OK(MPI_Info_get_nkeys(twin, &keys));
    CHECK(keys == 2);
    for (i = 0; i < keys; i++) {
        OK(MPI_Info_get_nthkey(twin, i, key));
        CHECK(strcmp(key, i == 0 ? "first" : "second") == 0);
    }
    FAILS(MPI_ERR_ARG, MPI_Info_get_nthkey(twin, keys, key));
    FAILS(MPI_ERR_ARG, MPI_Info_get_nthkey(twin, -1, key));

    /* The longest that fit, and one more. */
    memset(longer, 'k', sizeof longer);
    longer[MPI_MAX_INFO_KEY - 1] = '\0';
    OK(MPI_Info_set(twin, longer, "v"));
    OK(MPI_Info_get_nthkey(twin, 2, key));
    CHECK(strcmp(key, longer) == 0);
    longer[MPI_MAX_INFO_KEY - 1] = 'k';
    longer[MPI_MAX_INFO_VAL - 1] = '\0';
    FAILS(MPI_ERR_INFO_KEY, MPI_Info_set(twin, longer, "v"));
    OK(MPI_Info_set(twin, "long", longer));
    OK(MPI_Info_get(twin, "long", MPI_MAX_INFO_VAL - 1, text, &flag));
    CHECK(flag && strcmp(text, longer) == 0);
    longer[MPI_MAX_INFO_VAL - 1] = 'k';
    longer[MPI_MAX_INFO_VAL] = '\0';
    if (!IS_MPICH) /* It cuts it. */
        FAILS(MPI_ERR_INFO_VALUE, MPI_Info_set(twin, "long", longer));
    FAILS(MPI_ERR_INFO_KEY, MPI_Info_set(twin, "", "v"));
    OK(MPI_Info_free(&twin));
    CHECK(twin == MPI_INFO_NULL);
    OK(MPI_Info_free(&info));
    if (!IS_MPICH) /* By MPI_ERR_ARG. */
        FAILS(MPI_ERR_INFO, MPI_Info_free(&info));
    if (!IS_MPICH) /* By MPI_ERR_ARG. */
        FAILS(MPI_ERR_INFO, MPI_Info_get_nkeys(MPI_INFO_NULL, &keys));
}

/* What MPI_INFO_ENV has is there to be read. */
static void environment(void)
{
    char key[MPI_MAX_INFO_KEY], text[MPI_MAX_INFO_VAL];
    int keys = -1, flag, i;

    OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &keys));
    CHECK(keys >= 0);
    for (i = 0; i < keys; i++) {
        OK(MPI_Info_get_nthkey(MPI_INFO_ENV, i, key));
        OK(MPI_Info_get(MPI_INFO_ENV, key, MPI_MAX_INFO_VAL - 1, text, &flag));
        CHECK(flag && strlen(text) > 0);
    }
    OK(MPI_Info_get(MPI_INFO_ENV, "no such key", 9, text, &flag));
    CHECK(!flag);
}

static void communicators(void)
{
    MPI_Info info, used = MPI_INFO_NULL;
    MPI_Comm comm;
    int keys = -1, result;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "a_hint_that_no_library_has", "true"));
    OK(MPI_Comm_set_info(MPI_COMM_WORLD, info));
    OK(MPI_Comm_get_info(MPI_COMM_WORLD, &used));
    CHECK(used != MPI_INFO_NULL);
    OK(MPI_Info_get_nkeys(used, &keys));
    CHECK(keys >= 0);
    OK(MPI_Info_free(&used));
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_compare(MPI_COMM_WORLD, comm, &result));
    CHECK(result == MPI_CONGRUENT);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_dup_with_info(MPI_COMM_SELF, MPI_INFO_NULL, &comm));
    OK(MPI_Comm_free(&comm));
}

static void memory(void)
{
    unsigned char *memory = NULL, *all[20];
    int i;

    OK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory));
    CHECK(memory != NULL && (size_t)memory % sizeof(double) == 0);
    check_fill(memory, 1000, check_rank, 1);
    for (i = 0; i < 20; i++) {
        OK(MPI_Alloc_mem(i * 37, MPI_INFO_NULL, &all[i]));
        check_fill(all[i], (size_t)i * 37, check_rank, i);
    }
    for (i = 0; i < 20; i++) {
        CHECK(check_wrong(all[i], (size_t)i * 37, check_rank, i) == 0);
        OK(MPI_Free_mem(all[i]));
    }
    CHECK(check_wrong(memory, 1000, check_rank, 1) == 0);
    OK(MPI_Free_mem(memory));
    /* Far more than fits, again and again: each is free by the next. */
    for (i = 0; i < 2000; i++) {
        OK(MPI_Alloc_mem(100000, MPI_INFO_NULL, &memory));
        memory[0] = memory[99999] = 1;
        OK(MPI_Free_mem(memory));
    }
#ifndef MPICH_VERSION /* MPICH hands these to malloc and free. */
    FAILS(MPI_ERR_ARG, MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory));
    FAILS(MPI_ERR_NO_MEM, MPI_Alloc_mem((MPI_Aint)1 << 50, MPI_INFO_NULL, &memory));
    FAILS(MPI_ERR_BASE, MPI_Free_mem(NULL));
    all[0] = check_room(64);
    memset(all[0], 0, 64);
    FAILS(MPI_ERR_BASE, MPI_Free_mem(all[0] + 32));
    free(all[0]);
#endif
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    keys();
    environment();
    communicators();
    memory();
    return check_end("conf_info");
}
