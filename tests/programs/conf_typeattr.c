/* Attributes of datatypes (section 6.7.4): set, got, copied by MPI_Type_dup, deleted by MPI_Type_free. */
#include "check.h"

static int copies, deletes, copy_says, delete_says;
static MPI_Datatype deleted_of;
static void *last_deleted;

static int copy(MPI_Datatype old, int keyval, void *extra, void *value, void *new_value, int *flag)
{
    (void)old;
    (void)keyval;
    copies++;
    *(void **)new_value = (char *)value + *(int *)extra;
    *flag = 1;
    return copy_says;
}

static int delete_it(MPI_Datatype datatype, int keyval, void *value, void *extra)
{
    (void)keyval;
    (void)extra;
    deletes++;
    deleted_of = datatype;
    last_deleted = value;
    return delete_says;
}

static char bytes[100];

static void life(void)
{
    MPI_Datatype type, twin, predefined = MPI_INT;
    int key, duplicated, gone, flag, step = 7;
    void *value;

    OK(MPI_Type_create_keyval(copy, delete_it, &key, &step));
    OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &duplicated, NULL));
    OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &gone, NULL));
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Type_get_attr(type, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Type_set_attr(type, key, bytes));
    OK(MPI_Type_set_attr(type, duplicated, bytes + 1));
    OK(MPI_Type_set_attr(type, gone, bytes + 2));
    OK(MPI_Type_get_attr(type, key, &value, &flag));
    CHECK(flag && value == bytes);
    OK(MPI_Type_dup(type, &twin));
    CHECK(copies == 1 && deletes == 0);
    OK(MPI_Type_get_attr(twin, key, &value, &flag));
    CHECK(flag && value == bytes + 7);
    OK(MPI_Type_get_attr(twin, duplicated, &value, &flag));
    CHECK(flag && value == bytes + 1);
    OK(MPI_Type_get_attr(twin, gone, &value, &flag));
    CHECK(!flag);
    OK(MPI_Type_set_attr(type, key, bytes + 50));
    CHECK(deletes == 1 && last_deleted == bytes && deleted_of == type);
    OK(MPI_Type_delete_attr(twin, key));
    CHECK(deletes == 2 && last_deleted == bytes + 7 && deleted_of == twin);
    OK(MPI_Type_free(&twin));
    CHECK(deletes == 2);
    OK(MPI_Type_free(&type));
    CHECK(deletes == 3 && last_deleted == bytes + 50);
    OK(MPI_Type_set_attr(predefined, key, bytes + 3));
    OK(MPI_Type_get_attr(MPI_INT, key, &value, &flag));
    CHECK(flag && value == bytes + 3);
    OK(MPI_Type_get_attr(MPI_CHAR, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Type_delete_attr(predefined, key));
    CHECK(deletes == 4);
    OK(MPI_Type_free_keyval(&key));
    OK(MPI_Type_free_keyval(&duplicated));
    OK(MPI_Type_free_keyval(&gone));
    CHECK(key == MPI_KEYVAL_INVALID);
}

static void many(void)
{
    MPI_Datatype types[100];
    int key, i, round, flag;
    void *value;

    OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
    for (round = 0; round < 50; round++) {
        for (i = 0; i < 100; i++) {
            POLL(MPI_Type_contiguous(i + 1, MPI_CHAR, &types[i]));
            POLL(MPI_Type_set_attr(types[i], key, bytes + i));
        }
        for (i = 99; i >= 0; i--) {
            POLL(MPI_Type_get_attr(types[i], key, &value, &flag));
            CHECK(flag && value == bytes + i);
            POLL(MPI_Type_free(&types[i]));
        }
    }
    OK(MPI_Type_free_keyval(&key));
}

static void errors(void)
{
    MPI_Datatype type, twin = MPI_INT;
    int key, comm_key, flag, step = 0;
    void *value;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Type_create_keyval(copy, delete_it, &key, &step));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL));
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    FAILS(MPI_ERR_KEYVAL, MPI_Type_set_attr(type, comm_key, bytes));
    FAILS(MPI_ERR_KEYVAL, MPI_Type_get_attr(type, MPI_KEYVAL_INVALID, &value, &flag));
    FAILS(MPI_ERR_TYPE, MPI_Type_set_attr(MPI_DATATYPE_NULL, key, bytes));
    OK(MPI_Type_set_attr(type, key, bytes));
    copy_says = MPI_ERR_OTHER;
    FAILS(MPI_ERR_OTHER, MPI_Type_dup(type, &twin));
    copy_says = MPI_SUCCESS;
    delete_says = MPI_ERR_OTHER;
    FAILS(MPI_ERR_OTHER, MPI_Type_delete_attr(type, key));
    OK(MPI_Type_get_attr(type, key, &value, &flag));
    CHECK(flag && value == bytes);
    delete_says = MPI_SUCCESS;
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free_keyval(&key));
    OK(MPI_Comm_free_keyval(&comm_key));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    life();
    many();
    errors();
    return check_end("conf_typeattr");
}
