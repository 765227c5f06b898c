// SPDX-License-Identifier: Apache-2.0
// The command masu-mpi: subcommands of masu whose work the ranks of an MPI program share.
#include "cli/program.h"
#include "cli/ranks.h"
#include "cli/text.h"

#include <masu/mpi/call.h>
#include <masu/mpi/sort.h>

#include <sched.h>
#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace masu::cli {
namespace {

constexpr std::uint64_t no_more = ~std::uint64_t{0};

// The ranks of MPI_COMM_WORLD.
class MpiRanks final : public Ranks {
 public:
  // After MPI_Init_thread.
  MpiRanks();
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int local_rank() const override { return local_rank_; }
  [[nodiscard]] int local_size() const override { return local_size_; }
  // Open MPI's launcher gives each rank a terminal of its own, whatever the user's standard output is.
  [[nodiscard]] bool has_terminal() const override { return false; }

  Bytes merge(std::string_view what, Bytes mine, const Merge& merge) override;
  std::vector<Bytes> from_each(std::string_view what, Bytes mine) override;
  void agree(std::string_view what) override;
  void add(std::string_view what, std::span<std::uint64_t> numbers) override;
  void to_first(std::string_view what, const std::function<void(const Send&)>& give, const Take& take) override;
  Ending end(Ending mine) override;
  void sort(const Device& device, MutableArrayView keys, const RecordsView* values,
            const SortOptions& options) override;
  void order(const Device& device, const ArrayView& keys, std::span<std::uint64_t> indices,
             const SortOptions& options) override;

 private:
  void share_processors(MPI_Comm here) const;
  template <class F>
  auto together(std::string_view function, std::string_view what, const F& work);
  template <class F>
  auto noted(const F& work);

  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  bool agreed_ = false;  // all ranks have the error that was thrown
};

MpiRanks::MpiRanks() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &here);
  MPI_Comm_rank(here, &local_rank_);
  MPI_Comm_size(here, &local_size_);
  share_processors(here);
  MPI_Comm_free(&here);
}

// Ranks that the launcher has bound to the same processors, or not at all, divide them.
void MpiRanks::share_processors(MPI_Comm here) const {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  (void)sched_getaffinity(0, sizeof mine, &mine);
  const std::uint64_t hash = mpi::detail::hash_of(&mine, sizeof mine);
  std::array<std::uint64_t, 2> words{hash, ~hash};
  MPI_Allreduce(MPI_IN_PLACE, words.data(), 2, MPI_UINT64_T, MPI_MIN, here);
  if (words[0] != ~words[1]) return;
  set_cpu_threads(std::max(1U, cpu_threads() / static_cast<unsigned>(local_size_)));
}

template <class F>
auto MpiRanks::noted(const F& work) {
  try {
    return work();
  } catch (const Error&) {
    agreed_ = true;
    throw;
  }
}

// What all ranks do at the same place of the program.
template <class F>
auto MpiRanks::together(std::string_view function, std::string_view what, const F& work) {
  return noted([&] {
    mpi::detail::Call call(MPI_COMM_WORLD, [&] { return mpi::detail::Text(function).with(what); });
    call.agree();
    return work(call);
  });
}

Ranks::Bytes MpiRanks::merge(std::string_view what, Bytes mine, const Merge& merge) {
  return together("merge", what, [&](mpi::detail::Call& call) {
    Bytes all = call.combine(std::move(mine), merge);
    return call.finish([&] { return std::move(all); });
  });
}

std::vector<Ranks::Bytes> MpiRanks::from_each(std::string_view what, Bytes mine) {
  return together("from_each", what, [&](mpi::detail::Call& call) {
    std::vector<Bytes> all = call.from_each(mine);
    return call.finish([&] { return std::move(all); });
  });
}

void MpiRanks::agree(std::string_view what) {
  together("masu-mpi", what, [](const mpi::detail::Call&) {});
}

void MpiRanks::add(std::string_view what, std::span<std::uint64_t> numbers) {
  together("add", std::string(what) + ", " + std::to_string(numbers.size()),
           [&](mpi::detail::Call& call) { call.group().sum(numbers); });
}

void MpiRanks::to_first(std::string_view what, const std::function<void(const Send&)>& give, const Take& take) {
  together("to_first", what, [&](mpi::detail::Call& call) {
    const mpi::detail::Group& group = call.group();
    if (!first()) {
      call.attempt([&] {
        give([&](std::span<const std::byte> message) {
          const std::uint64_t length = message.size();
          group.send(&length, sizeof length, 0);
          group.send(message.data(), length, 0);
        });
      });
      group.send(&no_more, sizeof no_more, 0);
    }
    Bytes message;
    for (int from = 1; first() && from < size_; ++from) {
      while (true) {
        std::uint64_t length = 0;
        group.receive(&length, sizeof length, from);
        if (length == no_more) break;
        try {
          message.resize(length);
        } catch (const std::bad_alloc&) {  // what comes can't be taken, nor be stopped
          note("masu-mpi: out of memory");
          MPI_Abort(MPI_COMM_WORLD, static_cast<int>(Exit::failed));
        }
        group.receive(message.data(), length, from);
        call.attempt([&] { take(from, message); });
      }
    }
    call.agree();
  });
}

void MpiRanks::sort(const Device& device, MutableArrayView keys, const RecordsView* values,
                    const SortOptions& options) {
  noted([&] {
    if (values != nullptr) mpi::sort_by_key(MPI_COMM_WORLD, device, keys, *values, options);
    else mpi::sort(MPI_COMM_WORLD, device, keys, options);
  });
}

void MpiRanks::order(const Device& device, const ArrayView& keys, std::span<std::uint64_t> indices,
                     const SortOptions& options) {
  noted([&] { mpi::argsort(MPI_COMM_WORLD, mpi::Part(device, keys), indices, options); });
}

Ending MpiRanks::end(Ending mine) {
  // An error that the others do not know yet comes to them at the next place where all ranks meet, or here.
  const bool own = !mine.message.empty() && !agreed_;
  if (!agreed_) {
    mpi::detail::Call call(MPI_COMM_WORLD, [] { return mpi::detail::Text("end"); });
    call.attempt([&] {
      if (own) throw Error(ErrorCode::io, mine.message);
    });
    try {
      call.agree();
    } catch (const Error& error) {
      // Some rank has failed, or is at another place.
      if (!own) mine.message = error.what();
    }
  }
  // All ranks are here. The first one of those that failed says it, for all where all say the same.
  const auto rank = static_cast<std::uint64_t>(rank_);
  const auto nobody = static_cast<std::uint64_t>(size_);
  const std::uint64_t hash = own ? mpi::detail::hash_of(mine.message.data(), mine.message.size()) : rank;
  std::array<std::uint64_t, 4> words{own ? rank : nobody, hash, ~hash, ~static_cast<std::uint64_t>(mine.status)};
  MPI_Allreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()), MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
  mine.status = static_cast<Exit>(~words[3]);
  const bool tells = words[0] == nobody ? first() : words[0] == rank;
  if (!tells) mine.message.clear();
  if (own && tells && size_ > 1 && words[1] != ~words[2]) {
    const std::size_t begin = mine.message.starts_with(' ') ? 1 : 0;
    mine.message = "rank " + std::to_string(rank_) + ": " + mine.message.substr(begin);
  }
  return mine;
}

}  // namespace
}  // namespace masu::cli

int main(int argc, char** argv) {
  using namespace masu::cli;
  int level = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) return static_cast<int>(Exit::failed);
  constexpr void (*commands[])(CommandLine & line) = {add_histogram, add_reduce, add_dot,     add_sort,
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
