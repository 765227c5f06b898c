// SPDX-License-Identifier: Apache-2.0
// A program with masu::mpi: each rank has 1, 2, 3.
#include <masu/mpi.h>

#include <vector>

int main(int argc, char** argv) {
  int level = 0;
  int ranks = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::vector<double> mine{1, 2, 3};
  const bool right = masu::mpi::sum(MPI_COMM_WORLD, mine).value() == 6 * ranks;
  MPI_Finalize();
  return right ? 0 : 1;
}
