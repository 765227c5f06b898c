// SPDX-License-Identifier: Apache-2.0
// Where there are more ranks than cores, a rank that waits gives its core away. MPICH's ranks do not: each message
// would cost a slice of time of every rank. These are the calls of MPI that wait, by its profiling interface.
#pragma once

#include <mpi.h>
#include <sched.h>

namespace masu::mpi::test {

inline bool crowded = false;  // the same on every rank, as MPI_Iallreduce does not meet MPI_Allreduce

inline int wait_for(int status, MPI_Request request) {
  for (int done = 0; status == MPI_SUCCESS && done == 0;) {
    status = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) sched_yield();
  }
  return status;
}

}  // namespace masu::mpi::test

// Calls the function, or with the same arguments the one that does not wait.
#define MASU_WAITING(name, without, parameters, ...)                \
  extern "C" int MPI_##name parameters {                            \
    if (!masu::mpi::test::crowded) return PMPI_##name(__VA_ARGS__); \
    MPI_Request request = MPI_REQUEST_NULL;                         \
    const int status = PMPI_##without(__VA_ARGS__, &request);       \
    return masu::mpi::test::wait_for(status, request);              \
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
  if (!masu::mpi::test::crowded || status != MPI_STATUS_IGNORE)
    return PMPI_Recv(data, n, type, from, tag, comm, status);
  MPI_Request request = MPI_REQUEST_NULL;
  const int found = PMPI_Irecv(data, n, type, from, tag, comm, &request);
  return masu::mpi::test::wait_for(found, request);
}

extern "C" int MPI_Waitall(int n, MPI_Request* requests, MPI_Status* statuses) {
  if (!masu::mpi::test::crowded) return PMPI_Waitall(n, requests, statuses);
  int status = MPI_SUCCESS;
  for (int done = 0; status == MPI_SUCCESS && done == 0;) {
    status = PMPI_Testall(n, requests, &done, statuses);
    if (done == 0) sched_yield();
  }
  return status;
}
