// SPDX-License-Identifier: Apache-2.0
// The command masu-mpi: subcommands of masu whose work the ranks of an MPI program share.
#include "cli/program.h"
#include "mpi_ranks.h"

int main(int argc, char** argv) {
  using namespace masu::cli;
  int level = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) return static_cast<int>(Exit::failed);
  constexpr Command (*commands[])(CommandLine & line) = {add_histogram, add_reduce, add_dot,     add_sort,
                                                         add_topk,      add_unique, add_quantile};
  MpiRanks ranks;
  int status = 0;
  {
    const RanksScope together(&ranks);
    status = run_program(
        {"masu-mpi", "The work of masu shared by the ranks of an MPI program, with the same output.", commands,
         std::string("Start it by mpirun -n 8 masu-mpi COMMAND … or srun. Options and results are those of masu\n"
                     "(masu COMMAND --help). ") +
             exit_statuses,
         ranks.first() ? "masu-mpi: interrupted\n" : nullptr},
        argc, argv);
  }
  MPI_Finalize();
  return status;
}
