/* C++ where all processes may be in one: static and thread-local objects, streams, and exceptions, of which each process
 * has caught one while the others throw theirs. With an argument nobody catches one. */
#include <exception>
#include <iomanip>
#include <iostream>
#include <mpi.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Speaker {
    Speaker() { std::cout << "begin" << std::endl; }
    ~Speaker() { std::cout << "end" << std::endl; }
} speaker;

struct Local {
    int number = -1;
    ~Local() { std::cout << "end of local" << std::endl; }
};
static thread_local Local local;
static thread_local std::vector<int> unused;

static int &once(int rank)
{
    static int number = rank;
    return number;
}

[[noreturn]] static void fail(int rank)
{
    MPI_Barrier(MPI_COMM_WORLD);
    throw std::runtime_error(std::to_string(rank));
}

int main(int argc, char **argv)
{
    int rank, size, within = -1;
    std::string caught;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1)
        throw std::runtime_error("enough");
    local.number = rank;
    once(rank);
    if (rank == 0)
        std::cout << std::fixed << std::setprecision(1);
    try {
        fail(rank);
    } catch (const std::exception &error) {
        for (int round = 0; round <= rank; round++)
            MPI_Barrier(MPI_COMM_WORLD);
        try {
            throw rank;
        } catch (int) {
            within = static_cast<bool>(std::current_exception());
        }
        caught = error.what();
        for (int round = rank; round < size; round++)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    std::cout << "caught " << caught << " of " << size << ", within " << within << ", then "
              << static_cast<bool>(std::current_exception()) << std::endl;
    std::cout << "local " << local.number << " static " << once(99) << " number " << rank + 0.5 << std::endl;
    MPI_Finalize();
}
