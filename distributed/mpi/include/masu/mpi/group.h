// SPDX-License-Identifier: Apache-2.0
/// @file
/// The ranks of a communicator and the messages between them. Part of mpi.h, which says what holds.
#pragma once

#include <masu/error.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace masu::mpi::detail {

using Bytes = std::vector<std::byte>;

/// What one MPI call moves at most: its counts are int. A variable, so that tests can have many rounds of few bytes.
inline std::uint64_t round_bytes = std::uint64_t{1} << 30;

inline void check(int status, const char* function) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(ErrorCode::io,
              std::string("mpi: ") + function + ": " + std::string(text, static_cast<std::size_t>(length)));
}

/// Throws invalid_argument unless this thread may call MPI.
inline void check_ready() {
  const auto refuse = [](const char* rule) { throw Error(ErrorCode::invalid_argument, std::string("mpi: ") + rule); };
  int flag = 0;
  MPI_Initialized(&flag);
  if (flag == 0) refuse("MPI must be initialised by MPI_Init_thread before the call, got none");
  MPI_Finalized(&flag);
  if (flag != 0) refuse("the call must come before MPI_Finalize, got one after it");
  int level = 0;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_FUNNELED) {
    refuse("MPI must be initialised by MPI_Init_thread with MPI_THREAD_FUNNELED or more, got MPI_THREAD_SINGLE");
  }
  if (level == MPI_THREAD_FUNNELED) {
    MPI_Is_thread_main(&flag);
    if (flag == 0) refuse("with MPI_THREAD_FUNNELED the thread that initialised MPI must call, got another");
  }
}

// A communicator as the value of an attribute: no memory that one rank alone may lack.
static_assert(sizeof(MPI_Comm) <= sizeof(void*));
inline void* value_of(MPI_Comm comm) noexcept {
  void* value = nullptr;
  std::memcpy(&value, &comm, sizeof comm);
  return value;
}
inline MPI_Comm comm_in(const void* value) noexcept {
  MPI_Comm comm = MPI_COMM_NULL;
  std::memcpy(&comm, &value, sizeof comm);
  return comm;
}

/// The key of an attribute of communicators, which `free` frees with them.
inline int made_key(MPI_Comm_delete_attr_function* free) {
  int made = MPI_KEYVAL_INVALID;
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free, &made, nullptr), "MPI_Comm_create_keyval");
  return made;
}
/// The value of an attribute, or nothing.
inline std::optional<void*> attribute(MPI_Comm comm, int key) {
  void* value = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm, key, static_cast<void*>(&value), &found), "MPI_Comm_get_attr");
  return found != 0 ? std::optional(value) : std::nullopt;
}

extern "C" inline int masu_mpi_free_duplicate(MPI_Comm, int, void* value, void*) {
  MPI_Comm duplicate = comm_in(value);
  return MPI_Comm_free(&duplicate);
}

/// masu's own duplicate of a communicator, so that its messages meet no others. Made by the first call on the
/// communicator, kept as an attribute of it and freed with it. Its errors come back as codes.
inline MPI_Comm duplicate_of(MPI_Comm comm) {
  static const int key = made_key(&masu_mpi_free_duplicate);
  if (const auto kept = attribute(comm, key)) return comm_in(*kept);
  MPI_Comm made = MPI_COMM_NULL;
  check(MPI_Comm_dup(comm, &made), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_set_attr(comm, key, value_of(made)), "MPI_Comm_set_attr");
  return made;
}

/// The ranks of a communicator. Whatever is longer than round_bytes goes in rounds. Takes no memory: a rank that ran
/// out of it within a step would leave the others waiting.
class Group {
 public:
  explicit Group(MPI_Comm comm) {
    check_ready();
    if (comm == MPI_COMM_NULL)
      throw Error(ErrorCode::invalid_argument, "mpi: there must be a communicator, got MPI_COMM_NULL");
    int between = 0;
    check(MPI_Comm_test_inter(comm, &between), "MPI_Comm_test_inter");
    if (between != 0)
      throw Error(ErrorCode::invalid_argument, "mpi: the communicator must be of one group, got an intercommunicator");
    comm_ = duplicate_of(comm);
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// masu's duplicate of the communicator.
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }

  /// One message, whatever round_bytes is; the receiver takes `most` bytes at most.
  void send_message(const void* data, int bytes, int to) const {
    check(MPI_Send(data, bytes, MPI_BYTE, to, tag, comm_), "MPI_Send");
  }
  void receive_message(void* data, int most, int from) const {
    check(MPI_Recv(data, most, MPI_BYTE, from, tag, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
  }
  void send(const void* data, std::uint64_t bytes, int to) const {
    rounds(bytes, [&](std::uint64_t first, int count) {
      send_message(static_cast<const std::byte*>(data) + first, count, to);
    });
  }
  void receive(void* data, std::uint64_t bytes, int from) const {
    rounds(bytes, [&](std::uint64_t first, int count) {
      receive_message(static_cast<std::byte*>(data) + first, count, from);
    });
  }
  /// Sends to one rank what it receives from another; every rank must call it in the same step of the same exchange.
  void exchange(const void* data, std::uint64_t bytes, int to, void* result, std::uint64_t result_bytes,
                int from) const {
    const std::uint64_t most = std::max(bytes, result_bytes);
    for (std::uint64_t first = 0; first < most; first += round_bytes) {
      MPI_Request requests[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      if (first < result_bytes) {
        check(MPI_Irecv(static_cast<std::byte*>(result) + first, length(result_bytes - first), MPI_BYTE, from, tag,
                        comm_, &requests[0]),
              "MPI_Irecv");
      }
      if (first < bytes) {
        check(MPI_Isend(static_cast<const std::byte*>(data) + first, length(bytes - first), MPI_BYTE, to, tag, comm_,
                        &requests[1]),
              "MPI_Isend");
      }
      check(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
    }
  }
  void broadcast(void* data, std::uint64_t bytes, int from) const {
    rounds(bytes, [&](std::uint64_t first, int count) {
      check(MPI_Bcast(static_cast<std::byte*>(data) + first, count, MPI_BYTE, from, comm_), "MPI_Bcast");
    });
  }
  /// In place, of as many numbers on every rank: the least of each, or their sum.
  void least(std::span<std::uint64_t> numbers) const { reduce(numbers, MPI_UINT64_T, MPI_MIN); }
  void sum(std::span<std::uint64_t> numbers) const { reduce(numbers, MPI_UINT64_T, MPI_SUM); }
  /// The sum on one rank alone; the others' numbers are unchanged. Not in place: MPICH 4.0 then crashes from 2 KiB on
  /// where the root is not rank 0.
  void sum_to(std::span<std::uint64_t> numbers, int root) const {
    std::array<std::uint64_t, 4096> own;
    for (std::size_t first = 0; first < numbers.size(); first += own.size()) {
      const std::span<std::uint64_t> some = numbers.subspan(first, std::min(own.size(), numbers.size() - first));
      if (rank_ == root) std::ranges::copy(some, own.begin());
      check(MPI_Reduce(rank_ == root ? own.data() : some.data(), rank_ == root ? some.data() : nullptr,
                       static_cast<int>(some.size()), MPI_UINT64_T, MPI_SUM, root, comm_),
            "MPI_Reduce");
    }
  }
  /// In place: the sum of the numbers of the ranks before this one.
  void sum_before(std::span<std::uint64_t> numbers) const {
    rounds(numbers.size_bytes(), [&](std::uint64_t first, int bytes) {
      check(MPI_Exscan(MPI_IN_PLACE, numbers.data() + first / sizeof(std::uint64_t),
                       bytes / static_cast<int>(sizeof(std::uint64_t)), MPI_UINT64_T, MPI_SUM, comm_),
            "MPI_Exscan");
    });
    if (rank_ == 0) std::fill(numbers.begin(), numbers.end(), 0);  // MPI leaves rank 0's undefined
  }
  /// A number of every rank, by rank: as many as there are ranks.
  void from_each(std::uint64_t mine, std::span<std::uint64_t> result) const {
    check(MPI_Allgather(&mine, 1, MPI_UINT64_T, result.data(), 1, MPI_UINT64_T, comm_), "MPI_Allgather");
  }
  /// The same of as many bytes on every rank.
  void block_from_each(const void* mine, int bytes, void* result) const {
    check(MPI_Allgather(mine, bytes, MPI_BYTE, result, bytes, MPI_BYTE, comm_), "MPI_Allgather");
  }
  /// A number for every rank, by rank, becomes the number of every rank for this one.
  void to_each(std::span<const std::uint64_t> mine, std::span<std::uint64_t> result) const {
    check(MPI_Alltoall(mine.data(), 1, MPI_UINT64_T, result.data(), 1, MPI_UINT64_T, comm_), "MPI_Alltoall");
  }

 private:
  static constexpr int tag = 0;  // messages between two ranks come in the order in which they were sent
  static int length(std::uint64_t bytes) { return static_cast<int>(std::min(bytes, round_bytes)); }
  template <class F>
  static void rounds(std::uint64_t bytes, const F& move) {
    for (std::uint64_t first = 0; first < bytes; first += round_bytes) move(first, length(bytes - first));
  }
  void reduce(std::span<std::uint64_t> numbers, MPI_Datatype type, MPI_Op op) const {
    rounds(numbers.size_bytes(), [&](std::uint64_t first, int bytes) {
      check(MPI_Allreduce(MPI_IN_PLACE, numbers.data() + first / sizeof(std::uint64_t),
                          bytes / static_cast<int>(sizeof(std::uint64_t)), type, op, comm_),
            "MPI_Allreduce");
    });
  }
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace masu::mpi::detail
