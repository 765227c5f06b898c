// SPDX-License-Identifier: Apache-2.0
// A stand-in for libnccl.so.2, for tests on machines without a GPU: host memory plays the device's, and MPI moves it.
// It is as NCCL with a communicator that does not block: calls return "in progress", and a group of messages has ended
// when ncclCommGetAsyncError says so. Ranks are those of MPI_COMM_WORLD.
//
// The environment sets how it is broken. FAKE_NCCL names a function, or functions with spaces between them: "id",
// "init", "send", "receive", "group_end" return an error; "async" is an error that ncclCommGetAsyncError reports after
// a group has begun; "lost" are messages of this rank that are never sent.
#include <mpi.h>

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char bytes[128];
} UniqueId;
typedef struct {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
} Config;
typedef struct Comm {
  int tag;
  int polls;  // until it says that it is there
  int failed;
  int sent;  // a group has begun
  int count;
  MPI_Request* requests;
} Comm;

enum { success = 0, system_error = 2, internal_error = 3, invalid_argument = 4, invalid_usage = 5, remote_error = 6 };
enum { in_progress = 7, most_requests = 4096, first_tag = 1000 };

static int made;
static int live;
static int in_group;
static uint64_t moved;

// What tests look at: communicators that are not aborted, bytes that were sent, communicators that were ever made.
int fake_nccl_live(void) {
  return live;
}
uint64_t fake_nccl_moved(void) {
  return moved;
}
int fake_nccl_made(void) {
  return made;
}

static int broken(const char* what) {
  const char* names = getenv("FAKE_NCCL");
  const size_t length = strlen(what);
  for (const char* at = names; at != NULL && (at = strstr(at, what)) != NULL; at += length) {
    if ((at == names || at[-1] == ' ') && (at[length] == 0 || at[length] == ' ')) return 1;
  }
  return 0;
}

const char* ncclGetErrorString(int code) {
  return code == system_error ? "unhandled system error" : code == remote_error ? "remote process exited" : "other error";
}

int ncclGetUniqueId(UniqueId* id) {
  if (broken("id")) return system_error;
  memset(id, 7, sizeof *id);
  return success;
}

int ncclCommInitRankConfig(Comm** comm, int ranks, UniqueId id, int rank, Config* config) {
  int world = 0;
  int self = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  // Every rank has the id of rank 0, and a communicator that does not block is wanted.
  for (size_t i = 0; i < sizeof id; ++i) {
    if (id.bytes[i] != 7) return invalid_argument;
  }
  if (ranks != world || rank != self) return invalid_argument;
  if (config->size != sizeof(Config) || config->magic != 0xcafebeefU || config->version != 21400 || config->blocking != 0) {
    return invalid_argument;
  }
  ++made;
  if (broken("init")) return system_error;
  *comm = calloc(1, sizeof **comm);
  (*comm)->requests = malloc(most_requests * sizeof(MPI_Request));
  (*comm)->tag = first_tag + made;
  (*comm)->polls = 3;
  ++live;
  return in_progress;
}

int ncclCommGetAsyncError(Comm* comm, int* status) {
  *status = in_progress;
  if (comm->failed != success) {
    *status = comm->failed;
  } else if (comm->polls > 0) {
    --comm->polls;
  } else if (comm->sent && broken("async")) {
    *status = comm->failed = remote_error;
  } else {
    int all = 0;
    MPI_Testall(comm->count, comm->requests, &all, MPI_STATUSES_IGNORE);
    if (all) {
      comm->count = 0;
      *status = success;
    }
  }
  return success;
}

int ncclCommAbort(Comm* comm) {
  for (int i = 0; i < comm->count; ++i) {
    if (comm->requests[i] == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&comm->requests[i]);
    MPI_Request_free(&comm->requests[i]);
  }
  free(comm->requests);
  free(comm);
  --live;
  return success;
}

int ncclGroupStart(void) {
  ++in_group;
  return success;
}

int ncclGroupEnd(void) {
  if (in_group == 0) return invalid_usage;
  --in_group;
  return broken("group_end") ? internal_error : in_progress;
}

int ncclSend(const void* data, size_t count, int type, int to, Comm* comm, void* stream) {
  (void)stream;
  if (in_group == 0 || comm->polls != 0 || type != 1 || comm->count == most_requests) return invalid_usage;
  if (broken("send")) return system_error;
  comm->sent = 1;
  moved += count;
  if (broken("lost")) return success;
  MPI_Isend(data, (int)count, MPI_BYTE, to, comm->tag, MPI_COMM_WORLD, &comm->requests[comm->count++]);
  return success;
}

int ncclRecv(void* data, size_t count, int type, int from, Comm* comm, void* stream) {
  (void)stream;
  if (in_group == 0 || comm->polls != 0 || type != 1 || comm->count == most_requests) return invalid_usage;
  if (broken("receive")) return system_error;
  comm->sent = 1;
  MPI_Irecv(data, (int)count, MPI_BYTE, from, comm->tag, MPI_COMM_WORLD, &comm->requests[comm->count++]);
  return success;
}
