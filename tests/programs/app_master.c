/* Master and workers: tasks and answers are structures with a datatype of their own, answers come from any source under
 * any tag, and the tag says what they are. Each task's answer is checked. With one process the master works itself. */
#include "check.h"

#include <stddef.h>

enum { TASKS = 60, TASK = 1, ANSWER = 2, SICK = 3, STOP = 4 };

typedef struct {
    char kind;
    int number;
    double from, to;
} Task;

typedef struct {
    int number;
    short parts;
    double value;
    char note[11];
} Answer;

static MPI_Datatype struct_type(int count, const int lengths[], const MPI_Aint places[], const MPI_Datatype types[],
                                size_t bytes)
{
    MPI_Datatype packed, made;

    OK(MPI_Type_create_struct(count, lengths, places, types, &packed));
    OK(MPI_Type_create_resized(packed, 0, (MPI_Aint)bytes, &made));
    OK(MPI_Type_free(&packed));
    OK(MPI_Type_commit(&made));
    return made;
}

static MPI_Datatype task_type(void)
{
    int lengths[] = {1, 1, 2};
    MPI_Aint places[] = {offsetof(Task, kind), offsetof(Task, number), offsetof(Task, from)};
    MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};

    return struct_type(3, lengths, places, types, sizeof(Task));
}

static MPI_Datatype answer_type(void)
{
    int lengths[] = {1, 1, 1, 11};
    MPI_Aint places[] = {offsetof(Answer, number), offsetof(Answer, parts), offsetof(Answer, value),
                         offsetof(Answer, note)};
    MPI_Datatype types[] = {MPI_INT, MPI_SHORT, MPI_DOUBLE, MPI_CHAR};

    return struct_type(4, lengths, places, types, sizeof(Answer));
}

static Task task_of(int number)
{
    Task task = {(char)('a' + number % 3), number, number, 2.0 * number + 1};

    return task;
}

static Answer work(const Task *task)
{
    Answer answer;
    int i;

    memset(&answer, 0, sizeof answer);
    answer.number = task->number;
    answer.parts = (short)(10 + task->number % 7);
    for (i = 0; i < answer.parts; i++)
        answer.value += task->from + (task->to - task->from) * i / answer.parts;
    snprintf(answer.note, sizeof answer.note, "%c-%d", task->kind, task->number);
    return answer;
}

static void is_right(const Answer *answer, int done[TASKS])
{
    Task task = task_of(answer->number);
    Answer expected = work(&task);

    CHECK(answer->number >= 0 && answer->number < TASKS && !done[answer->number]++);
    CHECK(answer->parts == expected.parts && answer->value == expected.value);
    CHECK(strcmp(answer->note, expected.note) == 0);
}

static void master(MPI_Datatype task_t, MPI_Datatype answer_t)
{
    int done[TASKS] = {0}, next = 0, out = 0, i, sick = 0;
    Answer answer;
    Task task;

    for (i = 1; i < check_size; i++) {
        task = task_of(next < TASKS ? next : 0);
        OK(MPI_Send(&task, 1, task_t, i, next < TASKS ? TASK : STOP, MPI_COMM_WORLD));
        out += next < TASKS;
        next += next < TASKS;
    }
    while (out > 0) {
        MPI_Status status;
        int count = -1;

        OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, status.MPI_TAG == ANSWER ? answer_t : MPI_INT, &count));
        CHECK(count == 1);
        if (status.MPI_TAG == SICK) {
            int number = -1;

            /* The worker gives its task back, and gets another. */
            OK(MPI_Recv(&number, 1, MPI_INT, status.MPI_SOURCE, SICK, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            task = task_of(number);
            answer = work(&task);
            sick++;
        } else {
            OK(MPI_Recv(&answer, 1, answer_t, status.MPI_SOURCE, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        is_right(&answer, done);
        out--;
        task = task_of(next < TASKS ? next : 0);
        OK(MPI_Send(&task, 1, task_t, status.MPI_SOURCE, next < TASKS ? TASK : STOP, MPI_COMM_WORLD));
        out += next < TASKS;
        next += next < TASKS;
    }
    while (next < TASKS) {
        task = task_of(next++);
        answer = work(&task);
        is_right(&answer, done);
    }
    for (i = 0; i < TASKS; i++)
        CHECK(done[i] == 1);
    CHECK(check_size == 1 || sick > 0);
}

static void worker(MPI_Datatype task_t, MPI_Datatype answer_t)
{
    for (;;) {
        MPI_Status status;
        Answer answer;
        Task task;

        OK(MPI_Recv(&task, 1, task_t, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        if (status.MPI_TAG == STOP)
            return;
        if (task.number % 11 == 5) {
            OK(MPI_Send(&task.number, 1, MPI_INT, 0, SICK, MPI_COMM_WORLD));
            continue;
        }
        answer = work(&task);
        OK(MPI_Send(&answer, 1, answer_t, 0, ANSWER, MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype task_t, answer_t;

    check_start(&argc, &argv);
    task_t = task_type();
    answer_t = answer_type();
    if (check_rank == 0)
        master(task_t, answer_t);
    else
        worker(task_t, answer_t);
    OK(MPI_Type_free(&task_t));
    OK(MPI_Type_free(&answer_t));
    return check_end("app_master");
}
