#define _GNU_SOURCE
/* Files: each rank works in its own directory inside the one of the argument (/ on nodes, which `--files` selects), and
 * then all access one file. Without an argument there must be no files at all. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

#define MISSES(call, error)                      \
    do {                                         \
        errno = 0;                               \
        CHECK((call) == -1 && errno == (error)); \
    } while (0)

static char root[512], names[8][600];

/* A path inside this rank's directory; eight of them at a time. */
static const char *in(const char *name)
{
    static int turn;

    turn = (turn + 1) % 8;
    snprintf(names[turn], sizeof names[turn], "%s/rank%d/%s", root, check_rank, name);
    return names[turn];
}

static void streams(void)
{
    FILE *file = fopen(in("text"), "w");
    char line[64], big[20000];
    size_t i;
    int a = 0;
    double b = 0;

    CHECK(file != NULL);
    if (file == NULL)
        return;
    CHECK(fprintf(file, "%d %.3f\n", 42, 1.5) == 9);
    CHECK(fputs("second line\n", file) >= 0 && ftell(file) == 21);
    CHECK(fclose(file) == 0);
    file = fopen(in("text"), "a");
    CHECK(file != NULL && fputs("third\n", file) >= 0 && fclose(file) == 0);
    file = fopen(in("text"), "r");
    CHECK(file != NULL && fscanf(file, "%d %lf ", &a, &b) == 2 && a == 42 && b == 1.5);
    CHECK(fgets(line, sizeof line, file) == line && strcmp(line, "second line\n") == 0);
    CHECK(fgets(line, sizeof line, file) == line && strcmp(line, "third\n") == 0);
    CHECK(fgets(line, sizeof line, file) == NULL && feof(file) && !ferror(file));
    rewind(file);
    CHECK(fseek(file, -6, SEEK_END) == 0 && fgetc(file) == 't' && fclose(file) == 0);

    for (i = 0; i < sizeof big; i++)
        big[i] = (char)(i * 31 % 251);
    file = fopen(in("big"), "w+b");
    CHECK(file != NULL && fwrite(big, 1, sizeof big, file) == sizeof big);
    CHECK(fseek(file, 0, SEEK_SET) == 0);
    memset(big, 0, sizeof big);
    CHECK(fread(big, 1, sizeof big, file) == sizeof big);
    for (i = 0; i < sizeof big && big[i] == (char)(i * 31 % 251); i++)
        ;
    CHECK(i == sizeof big && fgetc(file) == EOF && fclose(file) == 0);
    CHECK(fopen(in("none"), "r") == NULL && errno == ENOENT);
    CHECK(fopen(in("none/none"), "w") == NULL && errno == ENOENT);
    CHECK(fopen(in("text/none"), "w") == NULL && errno == ENOTDIR);
    CHECK(fopen(in(""), "w") == NULL && errno == EISDIR);
    CHECK(remove(in("big")) == 0);
}

static void descriptors(void)
{
    char bytes[100000], seen[100000];
    struct stat status;
    int file, again;
    size_t i;

    for (i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + i / 256);
    file = open(in("data"), O_RDWR | O_CREAT | O_EXCL, 0640);
    CHECK(file >= 3);
    MISSES(open(in("data"), O_RDWR | O_CREAT | O_EXCL, 0640), EEXIST);
    CHECK(write(file, bytes, sizeof bytes) == (ssize_t)sizeof bytes);
    CHECK(lseek(file, 0, SEEK_CUR) == (off_t)sizeof bytes);
    CHECK(lseek(file, 0, SEEK_SET) == 0);
    CHECK(read(file, seen, sizeof seen) == (ssize_t)sizeof seen && memcmp(bytes, seen, sizeof seen) == 0);
    CHECK(read(file, seen, sizeof seen) == 0);
    CHECK(lseek(file, -10, SEEK_END) == (off_t)sizeof bytes - 10 && read(file, seen, 100) == 10);
    MISSES(lseek(file, -1, SEEK_SET), EINVAL);
    CHECK(fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == (off_t)sizeof bytes);
    CHECK((status.st_mode & 0700) == 0600 && status.st_nlink == 1 && status.st_mtime > 1000000000);
    CHECK(ftruncate(file, 10) == 0 && fstat(file, &status) == 0 && status.st_size == 10);
    CHECK(fsync(file) == 0 && close(file) == 0);
    MISSES(close(file), EBADF);
    MISSES(read(file, seen, 1), EBADF);
    MISSES(write(-1, seen, 1), EBADF);
    file = open(in("data"), O_RDONLY);
    MISSES(write(file, bytes, 1), EBADF);
    again = open(in("data"), O_WRONLY | O_APPEND);
    CHECK(again > file && write(again, "x", 1) == 1 && lseek(file, 0, SEEK_END) == 11);
    CHECK(close(again) == 0 && close(file) == 0);
    file = open(in("data"), O_WRONLY | O_TRUNC);
    CHECK(stat(in("data"), &status) == 0 && status.st_size == 0 && close(file) == 0);
    MISSES(open(in("data"), O_RDONLY | O_DIRECTORY), ENOTDIR);
    CHECK(access(in("data"), R_OK | W_OK) == 0);
    MISSES(access(in("none"), F_OK), ENOENT);
}

static void directories(void)
{
    char name[300];
    struct stat status;
    struct dirent *entry;
    DIR *dir;
    int found = 0, i;

    CHECK(mkdir(in("sub"), 0755) == 0);
    MISSES(mkdir(in("sub"), 0755), EEXIST);
    MISSES(mkdir(in("none/sub"), 0755), ENOENT);
    CHECK(stat(in("sub"), &status) == 0 && S_ISDIR(status.st_mode));
    for (i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "sub/file %d", i);
        CHECK(close(open(in(name), O_CREAT | O_WRONLY, 0644)) == 0);
    }
    dir = opendir(in("sub"));
    CHECK(dir != NULL);
    for (i = 0; i < 2 && dir != NULL; i++) {
        while ((entry = readdir(dir)) != NULL)
            found += strncmp(entry->d_name, "file ", 5) == 0;
        rewinddir(dir);
    }
    CHECK(found == 40 && dir != NULL && closedir(dir) == 0);
    MISSES(rmdir(in("sub")), ENOTEMPTY);
    MISSES(unlink(in("sub")), EISDIR);
    MISSES(rmdir(in("text")), ENOTDIR);
    CHECK(rename(in("sub/file 0"), in("moved")) == 0);
    MISSES(rename(in("sub/file 0"), in("moved")), ENOENT);
    CHECK(lstat(in("moved"), &status) == 0 && S_ISREG(status.st_mode));
    for (i = 1; i < 20; i++) {
        snprintf(name, sizeof name, "sub/file %d", i);
        CHECK(unlink(in(name)) == 0);
    }
    MISSES(unlink(in("none")), ENOENT);
    CHECK(rmdir(in("sub")) == 0);
    MISSES(rmdir(in("sub")), ENOENT);
    CHECK(opendir(in("sub")) == NULL && errno == ENOENT);
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = 0;
    MISSES(open(in(name), O_RDONLY), ENAMETOOLONG);
}

/* Every rank writes its part of one file, and reads the next one's. */
static void together(void)
{
    char path[600];
    int file, value = check_rank, next = (check_rank + 1) % check_size, seen = -1;

    snprintf(path, sizeof path, "%s/shared", root);
    file = open(path, O_RDWR | O_CREAT, 0644);
    CHECK(file >= 0 && lseek(file, check_rank * 4L, SEEK_SET) == check_rank * 4L);
    CHECK(write(file, &value, 4) == 4);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(lseek(file, next * 4L, SEEK_SET) == next * 4L && read(file, &seen, 4) == 4 && seen == next);
    CHECK(close(file) == 0);
}

static void no_files(void)
{
    struct stat status;

    CHECK(fopen("file", "r") == NULL && errno == EROFS);
    CHECK(fopen("file", "w") == NULL && errno == EROFS);
    CHECK(opendir("/") == NULL && errno == EROFS);
    MISSES(mkdir("directory", 0755), EROFS);
    MISSES(stat("file", &status), ENOENT);
    MISSES(close(3), EBADF);
}

/* Reads and writes at a place leave the descriptor where it stands. */
static void at_places(void)
{
    int descriptor = open(in("places"), O_RDWR | O_CREAT | O_TRUNC, 0644);
    char bytes[16] = "", whole[PATH_MAX], expected[PATH_MAX + 600];
    struct iovec pieces[2] = {{"abc", 3}, {"defg", 4}};
    struct pollfd ready = {descriptor, POLLIN | POLLOUT, 0};
    FILE *file;
    fpos_t place;

    CHECK(descriptor >= 3 && dprintf(descriptor, "%s %d", "0123456789", 10) == 13);
    CHECK(pwrite(descriptor, "XY", 2, 4) == 2 && lseek(descriptor, 0, SEEK_CUR) == 13);
    CHECK(pread(descriptor, bytes, 6, 2) == 6 && memcmp(bytes, "23XY67", 6) == 0);
    CHECK(pread(descriptor, bytes, 6, 100) == 0);
    MISSES(pread(descriptor, bytes, 6, -1), EINVAL);
    CHECK(writev(descriptor, pieces, 2) == 7 && lseek(descriptor, 13, SEEK_SET) == 13);
    pieces[0].iov_base = bytes + 3, pieces[1].iov_base = bytes;
    CHECK(readv(descriptor, pieces, 2) == 7 && memcmp(bytes, "defabc", 3) == 0);
    CHECK(memcmp(bytes, "defg", 4) == 0);
    CHECK(poll(&ready, 1, -1) == 1 && ready.revents == (POLLIN | POLLOUT));
    CHECK(fdatasync(descriptor) == 0 && close(descriptor) == 0);
    file = fopen(in("places"), "r");
    CHECK(file != NULL && fgetc(file) == '0' && fgetpos(file, &place) == 0 && fgetc(file) == '1');
    CHECK(fsetpos(file, &place) == 0 && fgetc(file) == '1' && fclose(file) == 0);
    CHECK(realpath(in("./places"), whole) == whole && realpath(in(""), expected) == expected);
    strcat(expected, "/places");
    CHECK(strcmp(whole, expected) == 0);
    MISSES(realpath(in("absent"), whole) == NULL ? -1 : 0, ENOENT);
}

static int is_text(const struct dirent *entry)
{
    return strstr(entry->d_name, ".txt") != NULL;
}

static void searches(void)
{
    static const char *const names[] = {"b.txt", "a.txt", "c.dat"};
    struct dirent **entries, *entry;
    char dir[700], path[900], first[256];
    glob_t found;
    DIR *open_dir;
    int i, count;
    long place;

    snprintf(dir, sizeof dir, "%s", in("searchXXXXXX"));
    CHECK(mkdtemp(dir) == dir && strstr(dir, "XXXXXX") == NULL && access(dir, R_OK) == 0);
    for (i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        CHECK(close(creat(path, 0644)) == 0);
    }
    count = scandir(dir, &entries, is_text, alphasort);
    CHECK(count == 2 && strcmp(entries[0]->d_name, "a.txt") == 0 && strcmp(entries[1]->d_name, "b.txt") == 0);
    while (count-- > 0)
        free(entries[count]);
    free(entries);
    open_dir = opendir(dir);
    place = telldir(open_dir);
    entry = readdir(open_dir);
    CHECK(entry != NULL);
    snprintf(first, sizeof first, "%s", entry->d_name);
    CHECK(readdir(open_dir) != NULL);
    seekdir(open_dir, place);
    entry = readdir(open_dir);
    CHECK(entry != NULL && strcmp(entry->d_name, first) == 0 && closedir(open_dir) == 0);
    snprintf(path, sizeof path, "%s/*.t?t", in("search*"));
    CHECK(glob(path, 0, NULL, &found) == 0 && found.gl_pathc == 2 && found.gl_pathv[2] == NULL);
    CHECK(strstr(found.gl_pathv[0], "/a.txt") != NULL && strstr(found.gl_pathv[1], "/b.txt") != NULL);
    globfree(&found);
    CHECK(glob(in("none*"), 0, NULL, &found) == GLOB_NOMATCH);
    CHECK(glob(in("none*"), GLOB_NOCHECK, NULL, &found) == 0 && found.gl_pathc == 1);
    globfree(&found);
    CHECK(glob(in("search*"), GLOB_MARK, NULL, &found) == 0 && found.gl_pathc == 1);
    CHECK(found.gl_pathv[0][strlen(found.gl_pathv[0]) - 1] == '/');
    globfree(&found);
    for (i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        CHECK(unlink(path) == 0);
    }
    CHECK(rmdir(dir) == 0);
}

int main(int argc, char **argv)
{
    FILE *left;

    check_start(&argc, &argv);
    if (argc > 1) {
        snprintf(root, sizeof root, "%s", argv[1]);
        CHECK(mkdir(in(""), 0755) == 0);
        streams();
        descriptors();
        directories();
        at_places();
        searches();
        together();
        /* What is not closed is written out at the end. */
        left = fopen(in("left"), "w");
        CHECK(left != NULL && fputs("left open\n", left) >= 0);
    } else {
        no_files();
    }
    return check_end("files");
}
