// SPDX-License-Identifier: Apache-2.0
// Every rank runs every test, in the same order; rank 0 tells how it went, the others what failed on them. With
// --single MPI is initialised for one thread alone, and what a call says then is all that is tested.
#include <gmock/gmock.h>
#include <masu/mpi/group.h>
#include <masu/mpi/sort.h>
#include <masu/mpi/sum.h>
#include <mpi.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

// Where there are more ranks than cores, a rank that waits gives its core away. MPICH's ranks do not: each message
// would cost a slice of time of every rank. These are the calls of MPI that wait, by its profiling interface.

namespace {

bool crowded = false;  // the same on every rank, as MPI_Iallreduce does not meet MPI_Allreduce

int wait_for(int status, MPI_Request request) {
  for (int done = 0; status == MPI_SUCCESS && done == 0;) {
    status = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) sched_yield();
  }
  return status;
}

}  // namespace

// Calls the function, or with the same arguments the one that does not wait.
#define MASU_WAITING(name, without, parameters, ...)          \
  extern "C" int MPI_##name parameters {                      \
    if (!crowded) return PMPI_##name(__VA_ARGS__);            \
    MPI_Request request = MPI_REQUEST_NULL;                   \
    const int status = PMPI_##without(__VA_ARGS__, &request); \
    return wait_for(status, request);                         \
  }

MASU_WAITING(Send, Isend, (const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm), data, n, type,
             to, tag, comm)
MASU_WAITING(Bcast, Ibcast, (void* data, int n, MPI_Datatype type, int root, MPI_Comm comm), data, n, type, root, comm)
MASU_WAITING(Allreduce, Iallreduce,
             (const void* data, void* result, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm), data, result, n,
             type, op, comm)
MASU_WAITING(Reduce, Ireduce,
             (const void* data, void* result, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm), data,
             result, n, type, op, root, comm)
MASU_WAITING(Exscan, Iexscan, (const void* data, void* result, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
             data, result, n, type, op, comm)
MASU_WAITING(Allgather, Iallgather,
             (const void* data, int n, MPI_Datatype type, void* result, int m, MPI_Datatype other, MPI_Comm comm), data,
             n, type, result, m, other, comm)
MASU_WAITING(Alltoall, Ialltoall,
             (const void* data, int n, MPI_Datatype type, void* result, int m, MPI_Datatype other, MPI_Comm comm), data,
             n, type, result, m, other, comm)

#undef MASU_WAITING

extern "C" int MPI_Recv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!crowded || status != MPI_STATUS_IGNORE) return PMPI_Recv(data, n, type, from, tag, comm, status);
  MPI_Request request = MPI_REQUEST_NULL;
  const int found = PMPI_Irecv(data, n, type, from, tag, comm, &request);
  return wait_for(found, request);
}

extern "C" int MPI_Waitall(int n, MPI_Request* requests, MPI_Status* statuses) {
  if (!crowded) return PMPI_Waitall(n, requests, statuses);
  int status = MPI_SUCCESS;
  for (int done = 0; status == MPI_SUCCESS && done == 0;) {
    status = PMPI_Testall(n, requests, &done, statuses);
    if (done == 0) sched_yield();
  }
  return status;
}

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
  int more = static_cast<unsigned>(size) > std::thread::hardware_concurrency() ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  crowded = more == 1;
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
