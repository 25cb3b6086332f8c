/* Tries to get out of its directory, in which lies what the test has put there. Prints what it could read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    char bytes[64];
    int i, file, got;

    MPI_Init(&argc, &argv);
    for (i = 1; i < argc; i++) {
        file = open(argv[i], O_RDONLY);
        got = file < 0 ? -1 : (int)read(file, bytes, sizeof bytes);
        if (got >= 0)
            printf("%s: read %.*s\n", argv[i], got, bytes);
        else
            printf("%s: %s\n", argv[i], strerror(errno));
        if (file >= 0)
            close(file);
    }
    for (i = 1; i < argc; i++) {
        unlink(argv[i]);
        mkdir(argv[i], 0777);
        file = open(argv[i], O_WRONLY | O_CREAT, 0666);
        if (file >= 0)
            close(file);
    }
    /* Descriptors of the tool's are not this program's. */
    for (i = 3; i < 200; i++)
        if (read(i, bytes, 1) != -1 || errno != EBADF)
            printf("descriptor %d is open\n", i);
    printf("done\n");
    MPI_Finalize();
    return 0;
}
