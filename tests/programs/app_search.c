/* Breadth-first search of a graph whose vertices are divided among the processes: an edge to another process is a
 * message of its own, unexpected as a rule, and a level ends when as many have come as were sent. Distances are
 * compared with a search in one process. */
#include "check.h"

enum { EACH = 40, DEGREE = 4, VISIT = 1 };

static int vertices;

static int neighbour(int vertex, int edge)
{
    unsigned x = (unsigned)vertex * 2654435761u + (unsigned)edge * 40503u;

    x ^= x >> 13;
    x *= 2246822519u;
    x ^= x >> 16;
    return edge == 0 ? (vertex + 1) % vertices : (int)(x % (unsigned)vertices);
}

static void alone(int *distance)
{
    int *queue = check_room(sizeof(int) * (size_t)vertices), head = 0, tail = 0, i;

    for (i = 0; i < vertices; i++)
        distance[i] = -1;
    distance[0] = 0;
    queue[tail++] = 0;
    while (head < tail) {
        int vertex = queue[head++];

        for (i = 0; i < DEGREE; i++) {
            int next = neighbour(vertex, i);

            if (distance[next] < 0) {
                distance[next] = distance[vertex] + 1;
                queue[tail++] = next;
            }
        }
    }
    free(queue);
}

int main(int argc, char **argv)
{
    int distance[EACH], *expected, *given, level, found, i, e;
    MPI_Request *requests;
    int (*sent)[1];

    check_start(&argc, &argv);
    vertices = EACH * check_size;
    expected = check_room(sizeof(int) * (size_t)vertices);
    given = check_room(sizeof(int) * (size_t)check_size);
    requests = check_room(sizeof(MPI_Request) * EACH * DEGREE);
    sent = check_room(sizeof *sent * EACH * DEGREE);
    alone(expected);
    for (i = 0; i < EACH; i++)
        distance[i] = check_rank == 0 && i == 0 ? 0 : -1;
    found = 1;
    for (level = 0; found > 0; level++) {
        int count = 0, coming = 0, came, mine = 0;

        memset(given, 0, sizeof(int) * (size_t)check_size);
        for (i = 0; i < EACH; i++)
            for (e = 0; e < DEGREE && distance[i] == level; e++) {
                int next = neighbour(check_rank * EACH + i, e), owner = next / EACH;

                sent[count][0] = next;
                OK(MPI_Isend(sent[count], 1, MPI_INT, owner, VISIT, MPI_COMM_WORLD, &requests[count]));
                given[owner]++;
                count++;
            }
        OK(MPI_Reduce_scatter_block(given, &coming, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        for (came = 0; came < coming; came++) {
            int vertex = -1;

            OK(MPI_Recv(&vertex, 1, MPI_INT, MPI_ANY_SOURCE, VISIT, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(vertex / EACH == check_rank);
            if (vertex / EACH == check_rank && distance[vertex % EACH] < 0) {
                distance[vertex % EACH] = level + 1;
                mine++;
            }
        }
        OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
        OK(MPI_Allreduce(&mine, &found, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    }
    for (i = 0; i < EACH; i++)
        CHECK(distance[i] == expected[check_rank * EACH + i]);
    free(expected);
    free(given);
    free(requests);
    free(sent);
    return check_end("app_search");
}
