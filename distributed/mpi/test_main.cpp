// SPDX-License-Identifier: Apache-2.0
// Every rank runs every test, in the same order; rank 0 tells how it went, the others what failed on them.
#include <gmock/gmock.h>
#include <masu/mpi/group.h>
#include <masu/mpi/sort.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace {

class Failures : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::printf("rank %d: %s:%d: %s\n", rank, result.file_name() != nullptr ? result.file_name() : "?",
                result.line_number(), result.message());
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  setenv("MASU_NCCL", MASU_FAKE_NCCL, 0);  // the stand-in, unless the environment names another
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // Several rounds of few bytes: what 2^31 bytes would need.
  masu::mpi::detail::round_bytes = 65536;
  masu::mpi::detail::host_piece = 1000;
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Failures);
  }
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
