// SPDX-License-Identifier: Apache-2.0
// Every rank runs every test, in the same order; rank 0 tells how it went, the others what failed on them. With
// --single MPI is initialised for one thread alone, and what a call says then is all that is tested.
#include "waits.h"

#include <gmock/gmock.h>
#include <masu/mpi/group.h>
#include <masu/mpi/sort.h>
#include <masu/mpi/sum.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

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

// 0 where a call is refused with these words.
int refused(const std::string& words) {
  std::string found = "no error";
  try {
    (void)masu::mpi::sum(MPI_COMM_WORLD, std::vector<float>(3));
  } catch (const masu::Error& error) {
    found = error.what();
  }
  if (found == words) return 0;
  std::printf("must be: %s; got: %s\n", words.c_str(), found.c_str());
  return 1;
}

int of_one_thread() {
  MPI_Init(nullptr, nullptr);
  int level = 0;
  MPI_Query_thread(&level);
  const int failed = level > MPI_THREAD_SINGLE  // an MPI may give more than it is asked for
                         ? 0
                         : refused(
                               "mpi: MPI must be initialised by MPI_Init_thread with MPI_THREAD_FUNNELED or more, "
                               "got MPI_THREAD_SINGLE");
  MPI_Finalize();
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--single") return of_one_thread();
  testing::InitGoogleMock(&argc, argv);
  const int before = refused("mpi: MPI must be initialised by MPI_Init_thread before the call, got none");
  setenv("MASU_NCCL", MASU_FAKE_NCCL, 0);  // the stand-in, unless the environment names another
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int crowded = static_cast<unsigned>(size) > std::thread::hardware_concurrency() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &crowded, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  masu::mpi::test::crowded = crowded == 1;
  // Several rounds of few bytes: what 2^31 bytes would need.
  masu::mpi::detail::round_bytes = 65536;
  masu::mpi::detail::host_piece = 1000;
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new Failures);
  }
  int failed = RUN_ALL_TESTS() + before;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed + refused("mpi: the call must come before MPI_Finalize, got one after it");
}
