/* Processes that come and go (MPI-3.1 chapter 10): spawned ones run this program too, and do what its argument says.
 *
 * Where no process can be started (nodes, the simulator, another MPI's limits), the calls report it, and the rest is
 * checked: ports among the processes of one world. */
#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LONG = 100000 };

static int buffer[LONG];

/* The spawned program's part of `talk`, with the parent's group of `parents` processes: a child adds its rank to what it
 * gets. */
static void answer(MPI_Comm parent)
{
    int rank, parents, value, sum;
    MPI_Status status;
    MPI_Comm all;

    OK(MPI_Comm_rank(parent, &rank));
    OK(MPI_Comm_remote_size(parent, &parents));
    OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, parent, &status));
    value += rank;
    OK(MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, 6, parent));
    OK(MPI_Recv(buffer, LONG, MPI_INT, 0, 7, parent, MPI_STATUS_IGNORE));
    OK(MPI_Send(buffer, LONG, MPI_INT, 0, 8, parent));
    OK(MPI_Bcast(&value, 1, MPI_INT, 0, parent));
    CHECK(value == 77);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, parent));
    CHECK(sum == parents * (parents - 1) / 2);
    OK(MPI_Barrier(parent));
    OK(MPI_Intercomm_merge(parent, 1, &all));
    OK(MPI_Comm_rank(all, &sum));
    CHECK(sum == parents + rank);
    OK(MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_MAX, all));
    OK(MPI_Comm_free(&all));
}

/* Messages and collectives between this group and the processes of `inter`, which are in `answer`. */
static void talk(MPI_Comm inter, int children)
{
    int rank, size, value, sum;
    MPI_Comm all;

    OK(MPI_Comm_rank(inter, &rank));
    OK(MPI_Comm_size(inter, &size));
    OK(MPI_Comm_remote_size(inter, &value));
    CHECK(value == children);
    if (rank == 0) {
        for (int child = 0; child < children; child++) {
            value = 100;
            OK(MPI_Send(&value, 1, MPI_INT, child, 5, inter));
        }
        for (int child = children - 1; child >= 0; child--) {
            OK(MPI_Recv(&value, 1, MPI_INT, child, 6, inter, MPI_STATUS_IGNORE));
            CHECK(value == 100 + child);
        }
        for (int child = 0; child < children; child++) {
            for (int i = 0; i < LONG; i++)
                buffer[i] = i ^ child;
            OK(MPI_Send(buffer, LONG, MPI_INT, child, 7, inter));
            memset(buffer, 0, sizeof buffer);
            OK(MPI_Recv(buffer, LONG, MPI_INT, child, 8, inter, MPI_STATUS_IGNORE));
            for (int i = 0; i < LONG; i++)
                if (buffer[i] != (i ^ child)) {
                    CHECK(buffer[i] == (i ^ child));
                    break;
                }
        }
    }
    value = 77;
    OK(MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK(sum == children * (children - 1) / 2);
    OK(MPI_Barrier(inter));
    OK(MPI_Intercomm_merge(inter, 0, &all));
    OK(MPI_Comm_size(all, &value));
    CHECK(value == size + children);
    OK(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, all));
    OK(MPI_Comm_free(&all));
}

static int appnum(void)
{
    int *value, flag;

    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    return flag ? *value : -1;
}

/* Collects the counts of the children, which end then. */
static void leave(MPI_Comm *inter)
{
    long counts[2] = {0, 0};

    OK(MPI_Reduce(NULL, counts, 2, MPI_LONG, MPI_SUM, check_rank == 0 ? MPI_ROOT : MPI_PROC_NULL, *inter));
    check_done += counts[0];
    check_failed += counts[1];
    OK(MPI_Comm_disconnect(inter));
    CHECK(*inter == MPI_COMM_NULL);
}

/* One process of a spawned world. */
static int child(MPI_Comm parent, int argc, char **argv)
{
    char name[MPI_MAX_OBJECT_NAME], port[MPI_MAX_PORT_NAME];
    int length;
    MPI_Comm gone = parent, server;

    OK(MPI_Comm_get_name(parent, name, &length));
    CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
    CHECK(argc > 1);
    if (strcmp(argv[1], "talk") == 0) {
        CHECK(argc == 4 && strcmp(argv[2], "a b") == 0 && strcmp(argv[3], "") == 0);
        answer(parent);
    } else if (strcmp(argv[1], "program") == 0) {
        CHECK(argc == 3 && appnum() == atoi(argv[2]));
        answer(parent);
    } else if (strcmp(argv[1], "connect") == 0) {
        OK(MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, parent, MPI_STATUS_IGNORE));
        OK(MPI_Comm_disconnect(&gone));
        OK(MPI_Comm_get_parent(&gone));
        CHECK(gone == MPI_COMM_NULL);
        OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &server));
        answer(server);
        OK(MPI_Comm_disconnect(&server));
    } else if (strcmp(argv[1], "again") == 0) {
        /* A grandchild, from one process. */
        if (check_rank == 0) {
            char *arguments[] = {"talk", "a b", "", NULL};

            OK(MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &server, MPI_ERRCODES_IGNORE));
            talk(server, 1);
            leave(&server);
        }
    }
    if (gone != MPI_COMM_NULL) {
        long failed[2] = {check_done, check_failed};

        OK(MPI_Reduce(failed, NULL, 2, MPI_LONG, MPI_SUM, 0, parent));
        OK(MPI_Comm_disconnect(&parent));
    }
    OK(MPI_Finalize());
    return check_failed != 0;
}

static void spawn(char *self)
{
    char *arguments[] = {"talk", "a b", "", NULL};
    MPI_Comm inter;

    for (int root = 0; root < check_size && root < 2; root++) {
        int codes[3] = {-1, -1, -1};
        int children = 3 - root, is_root = check_rank == root;

        /* The other arguments are significant at the root only. */
        OK(MPI_Comm_spawn(is_root ? self : NULL, is_root ? arguments : NULL, is_root ? children : -1, MPI_INFO_NULL, root,
                          MPI_COMM_WORLD, &inter, codes));
        for (int i = 0; i < children; i++)
            CHECK(codes[i] == MPI_SUCCESS);
        talk(inter, children);
        leave(&inter);
    }
}

static void spawn_multiple(char *self)
{
    char *first[] = {"program", "0", NULL}, *second[] = {"program", "1", NULL};
    char *commands[2] = {self, self}, **arguments[2] = {first, second};
    int most[2] = {1, 2}, codes[3] = {-1, -1, -1};
    MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter;

    OK(MPI_Comm_spawn_multiple(2, commands, arguments, most, infos, 0, MPI_COMM_WORLD, &inter, codes));
    CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && codes[2] == MPI_SUCCESS);
    talk(inter, 3);
    leave(&inter);
}

static void spawn_again_and_again(char *self)
{
    char *leaves[] = {"leave", NULL}, *nested[] = {"again", NULL};
    MPI_Comm inter;

    for (int round = 0; round < 6; round++) {
        OK(MPI_Comm_spawn(self, leaves, 1 + round % 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
        leave(&inter);
    }
    OK(MPI_Comm_spawn(self, nested, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    leave(&inter);
}

static void connect_children(char *self)
{
    char *arguments[] = {"connect", NULL}, port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter, client;

    if (check_rank == 0)
        OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    if (check_rank == 0)
        for (int i = 0; i < 2; i++)
            OK(MPI_Send(port, sizeof port, MPI_CHAR, i, 0, inter));
    OK(MPI_Comm_disconnect(&inter));
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &client));
    talk(client, 2);
    OK(MPI_Comm_disconnect(&client));
    if (check_rank == 0)
        OK(MPI_Close_port(port));
}

static void spawn_in_vain(char *self)
{
    int codes[4];
    char *nothing[] = {"./there_is_no_such_program"}, *leaves[] = {"leave", NULL};
    MPI_Comm inter;
    MPI_Info info;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    codes[0] = codes[1] = MPI_SUCCESS;
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn(nothing[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes));
    CHECK(codes[0] != MPI_SUCCESS && codes[1] != MPI_SUCCESS && inter == MPI_COMM_NULL);
    /* More than there are, and as many as there are. */
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn(self, leaves, 100000, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                                        MPI_ERRCODES_IGNORE));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "soft", "1:100:3"));
    OK(MPI_Info_set(info, "nobody_knows", "this"));
    OK(MPI_Comm_spawn(self, leaves, 3, info, 0, MPI_COMM_WORLD, &inter, codes));
    CHECK(codes[0] == MPI_SUCCESS && codes[1] != MPI_SUCCESS && codes[2] != MPI_SUCCESS);
    leave(&inter);
    OK(MPI_Info_set(info, "soft", "3"));
    OK(MPI_Info_set(info, "wdir", "/there/is/no/such/directory"));
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn(self, leaves, 3, info, 0, MPI_COMM_WORLD, &inter, codes));
    OK(MPI_Info_free(&info));
    if (check_rank == 0)
        FAILS(MPI_ERR_ARG, MPI_Comm_spawn(self, leaves, -1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, codes));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* Ports among the processes of one world: even ranks accept, odd ones connect. */
static void ports(void)
{
    char port[2][MPI_MAX_PORT_NAME];
    int is_client = check_rank % 2, clients = check_size / 2, servers = check_size - clients, rank;
    MPI_Comm half, other, all;

    if (check_size < 2)
        return;
    memset(port, 0, sizeof port);
    if (check_rank == 0) {
        OK(MPI_Open_port(MPI_INFO_NULL, port[0]));
        OK(MPI_Open_port(MPI_INFO_NULL, port[1]));
        CHECK(strcmp(port[0], port[1]) != 0);
        OK(MPI_Send(port, sizeof port, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
    } else if (check_rank == 1) {
        OK(MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Comm_split(MPI_COMM_WORLD, is_client, 0, &half));
    OK(MPI_Comm_rank(half, &rank));
    for (int round = 0; round < 4; round++) {
        if (is_client)
            OK(MPI_Comm_connect(port[round % 2], MPI_INFO_NULL, 0, half, &other));
        else
            OK(MPI_Comm_accept(port[round % 2], MPI_INFO_NULL, 0, half, &other));
        if (is_client)
            answer(other);
        else
            talk(other, clients);
        OK(MPI_Intercomm_merge(other, is_client, &all));
        OK(MPI_Comm_rank(all, &rank));
        CHECK(rank == check_rank / 2 + (is_client ? servers : 0));
        OK(MPI_Comm_free(&all));
        OK(MPI_Comm_disconnect(&other));
    }
    OK(MPI_Comm_free(&half));
    if (check_rank == 0) {
        OK(MPI_Close_port(port[0]));
        OK(MPI_Close_port(port[1]));
    }
}

static void wrong_ports(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm other;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_PORT, MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &other));
    CHECK(other == MPI_COMM_NULL);
    FAILS(MPI_ERR_PORT, MPI_Comm_accept("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &other));
    FAILS(MPI_ERR_PORT, MPI_Close_port("no port"));
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Close_port(port));
    FAILS(MPI_ERR_PORT, MPI_Close_port(port));
    FAILS(MPI_ERR_PORT, MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* Names of ports. Returns whether there is a name service. */
static int names(void)
{
    char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME];
    int class = MPI_SUCCESS;
    MPI_Comm other;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MPI_Error_class(MPI_Lookup_name("nobody's", MPI_INFO_NULL, found), &class);
    CHECK(class == MPI_ERR_NAME || class == MPI_ERR_UNSUPPORTED_OPERATION);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (class == MPI_ERR_NAME && check_rank == 0) {
        OK(MPI_Open_port(MPI_INFO_NULL, port));
        OK(MPI_Publish_name("the service", MPI_INFO_NULL, port));
        FAILS(MPI_ERR_SERVICE, MPI_Publish_name("the service", MPI_INFO_NULL, port));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (class == MPI_ERR_NAME) {
        OK(MPI_Lookup_name("the service", MPI_INFO_NULL, found));
        CHECK(check_rank > 0 || strcmp(port, found) == 0);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (class == MPI_ERR_NAME && check_rank == 0) {
        FAILS(MPI_ERR_SERVICE, MPI_Unpublish_name("another service", MPI_INFO_NULL, port));
        OK(MPI_Unpublish_name("the service", MPI_INFO_NULL, port));
        FAILS(MPI_ERR_SERVICE, MPI_Unpublish_name("the service", MPI_INFO_NULL, port));
        FAILS(MPI_ERR_NAME, MPI_Lookup_name("the service", MPI_INFO_NULL, found));
        OK(MPI_Close_port(port));
        FAILS(MPI_ERR_PORT, MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other));
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    return class == MPI_ERR_NAME;
}

/* Ranks 0 and 1 join over a connection of their own. */
static void join(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    int value = check_rank, other_rank = 1 - check_rank, connection;
    MPI_Comm other;

    if (check_rank > 1 || check_size < 2)
        return;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection = socket(AF_INET, SOCK_STREAM, 0);
    if (check_rank == 0) {
        int door = connection;

        CHECK(bind(door, (struct sockaddr *)&address, sizeof address) == 0 && listen(door, 1) == 0);
        CHECK(getsockname(door, (struct sockaddr *)&address, &length) == 0);
        OK(MPI_Send(&address, sizeof address, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        connection = accept(door, NULL, NULL);
        close(door);
    } else {
        OK(MPI_Recv(&address, sizeof address, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(connect(connection, (struct sockaddr *)&address, sizeof address) == 0);
    }
    for (int round = 0; round < 2; round++) {
        OK(MPI_Comm_join(connection, &other));
        value = check_rank;
        OK(MPI_Sendrecv_replace(&value, 1, MPI_INT, 0, 1, 0, 1, other, MPI_STATUS_IGNORE));
        CHECK(value == other_rank);
        OK(MPI_Comm_disconnect(&other));
    }
    close(connection);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;

    check_start(&argc, &argv);
    OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL)
        return child(parent, argc, argv);
    ports();
    wrong_ports();
    if (names()) {
        spawn(argv[0]);
        spawn_multiple(argv[0]);
        spawn_again_and_again(argv[0]);
        connect_children(argv[0]);
        join();
        spawn_in_vain(argv[0]);
    } else {
        MPI_Comm inter;

        OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                                            MPI_ERRCODES_IGNORE));
        OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    }
    return check_end("conf_dynamic");
}
