/* Conformance: error classes, codes and strings of the program's own, the error handlers that get them, and
 * the names of MPI-1 (MPI-3.1, sections 8.3 to 8.5, 15.1). */
#include "check.h"

static int handled, handled_code;

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled++;
    handled_code = *code;
}

static int last_used(void)
{
    int *value = NULL, flag = 0;

    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    return flag ? *value : -1;
}

int main(int argc, char **argv)
{
    char text[MPI_MAX_ERROR_STRING], longer[2 * MPI_MAX_ERROR_STRING];
    int class = -1, other = -1, code = -1, known = -1, got = -1, length = -1, i;
    MPI_Errhandler handler, now;

    check_start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(last_used() == MPI_ERR_LASTCODE);
    OK(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE && last_used() >= class);
    OK(MPI_Add_error_code(class, &code));
    CHECK(IS_MPICH /* Its codes are not counted with the classes. */ || (code > class && last_used() >= code));
    OK(MPI_Add_error_code(MPI_ERR_ARG, &known));
    CHECK(known != code && (IS_MPICH || known > MPI_ERR_LASTCODE));
    OK(MPI_Add_error_class(&other));
    CHECK(other != class && other != code);

    OK(MPI_Error_class(class, &got));
    CHECK(got == class);
    OK(MPI_Error_class(code, &got));
    CHECK(got == class);
    OK(MPI_Error_class(known, &got));
    CHECK(got == MPI_ERR_ARG);

#ifndef MPICH_VERSION /* MPICH's is not its own class. */
    OK(MPI_Error_class(MPI_ERR_LASTCODE, &got));
    CHECK(got == MPI_ERR_LASTCODE);
#endif
    OK(MPI_Error_string(MPI_ERR_LASTCODE, text, &length));
    CHECK(length > 0 && length == (int)strlen(text));

    OK(MPI_Error_string(code, text, &length));
    CHECK(length == 0 && text[0] == '\0');
    OK(MPI_Add_error_string(code, "the first text"));
    OK(MPI_Add_error_string(code, "what the program says"));
    OK(MPI_Add_error_string(class, "a class"));
    OK(MPI_Error_string(code, text, &length));
    CHECK(strcmp(text, "what the program says") == 0 && length == (int)strlen(text));
    OK(MPI_Error_string(class, text, &length));
    CHECK(strcmp(text, "a class") == 0);
    memset(longer, 'e', sizeof longer - 1);
    longer[MPI_MAX_ERROR_STRING - 1] = '\0';
    OK(MPI_Add_error_string(code, longer));
    OK(MPI_Error_string(code, text, &length));
    CHECK(length == MPI_MAX_ERROR_STRING - 1 && strcmp(text, longer) == 0);

    /* The library's own cannot be changed, and there are no others. */
#ifndef MPICH_VERSION /* MPICH does not look. */
    FAILS(MPI_ERR_ARG, MPI_Add_error_string(MPI_ERR_ARG, "no"));
    FAILS(MPI_ERR_ARG, MPI_Add_error_string(MPI_SUCCESS, "no"));
    FAILS(MPI_ERR_ARG, MPI_Add_error_code(code, &got));
    FAILS(MPI_ERR_ARG, MPI_Add_error_string(last_used() + 1, "no"));
    FAILS(MPI_ERR_ARG, MPI_Error_class(last_used() + 1, &got));
#endif

    OK(MPI_Errhandler_create(handle, &handler));
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, handler));
    OK(MPI_Errhandler_get(MPI_COMM_WORLD, &now));
    CHECK(now == handler);
    OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code));
    CHECK(handled == 1 && handled_code == code);
    OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, class));
    CHECK(handled == 2 && handled_code == class);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, known));
    CHECK(handled == 2);

    for (i = 0; i < 100; i++) {
        OK(MPI_Add_error_code(class, &got));
        OK(MPI_Error_class(got, &length));
        CHECK(length == class);
    }
    return check_end("conf_codes");
}
