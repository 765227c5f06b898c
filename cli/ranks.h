// SPDX-License-Identifier: Apache-2.0
// The processes that share the work of a command: this one alone, or the ranks of masu-mpi. Each reads its part of the
// inputs; states are merged in the order of the ranks; rank 0 writes what is one for all.
#pragma once

#include "program.h"

#include <masu/device.h>
#include <masu/io.h>
#include <masu/sort.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace masu::cli {

// All but the first functions are collective: every rank calls the same in the same order, `what` says which. What went
// wrong on one rank meanwhile is an Error on all of them.
class Ranks {
 public:
  using Bytes = std::vector<std::byte>;

  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  [[nodiscard]] virtual int rank() const { return 0; }
  [[nodiscard]] virtual int size() const { return 1; }
  [[nodiscard]] bool several() const { return size() > 1; }
  [[nodiscard]] bool first() const { return rank() == 0; }
  // The rank's number among those on this machine, and how many these are.
  [[nodiscard]] virtual int local_rank() const { return 0; }
  [[nodiscard]] virtual int local_size() const { return 1; }
  // Whether standard output and standard error are the user's, and not a launcher's.
  [[nodiscard]] virtual bool has_terminal() const { return true; }

  // Merged by merge(before, after) of neighbours; on every rank.
  using Merge = std::function<Bytes(const Bytes& before, const Bytes& after)>;
  virtual Bytes merge(std::string_view /*what*/, Bytes mine, const Merge& /*merge*/) { return mine; }
  // By rank, on every rank.
  virtual std::vector<Bytes> from_each(std::string_view /*what*/, Bytes mine) { return {std::move(mine)}; }
  // Nothing but that all ranks come here.
  virtual void agree(std::string_view /*what*/) {}
  // In place: the sum of each number.
  virtual void add(std::string_view /*what*/, std::span<std::uint64_t> /*numbers*/) {}
  // give(send) of every rank but the first calls send(bytes) as often as it likes, and the first rank's take(rank,
  // bytes) gets these in the order of the ranks.
  using Send = std::function<void(std::span<const std::byte>)>;
  using Take = std::function<void(int rank, std::span<const std::byte>)>;
  virtual void to_first(std::string_view /*what*/, const std::function<void(const Send&)>& /*give*/,
                        const Take& /*take*/) {}
  // The end of the program, to which each rank comes with what became of it: what it says, and the status of all.
  virtual Ending end(Ending mine) { return mine; }
  // Sorts the elements of all ranks; each rank ends with as many as it gave. `values` go with them, unless it is null.
  virtual void sort(const Device& device, MutableArrayView keys, const RecordsView* values, const SortOptions& options);
  // Where each element of that order was, counted over all ranks; the keys stay.
  virtual void order(const Device& device, const ArrayView& keys, std::span<std::uint64_t> indices,
                     const SortOptions& options);

  // Made of those: the numbers of all ranks together, and of those before this one.
  std::uint64_t sum(std::string_view what, std::uint64_t mine);
  std::uint64_t before(std::string_view what, std::uint64_t mine);
  // Text or bytes of rank 0, on every rank.
  Bytes of_first(std::string_view what, Bytes mine);
};

// Those of this process: it alone, unless masu-mpi said otherwise.
Ranks& ranks();

// While it lives, ranks() are others; none: this process alone.
class RanksScope {
 public:
  explicit RanksScope(Ranks* others = nullptr);
  RanksScope(const RanksScope&) = delete;
  RanksScope& operator=(const RanksScope&) = delete;
  ~RanksScope();

 private:
  Ranks* before_;
};

// Merges what accumulators of all ranks hold: `mine` becomes an accumulator of all of it, on the device where it has
// one.
template <class Accumulator, class... OnDevice>
void merge_states(std::string_view what, Accumulator& mine, const OnDevice&... device) {
  if (!ranks().several()) return;
  const auto both = [&](const Ranks::Bytes& before, const Ranks::Bytes& after) {
    Accumulator merged = Accumulator::from_bytes(device..., before);
    merged.merge(Accumulator::from_bytes(device..., after));
    return merged.bytes();
  };
  mine = Accumulator::from_bytes(device..., ranks().merge(what, mine.bytes(), both));
}

// The values of all ranks, one rank after the other, on every rank.
template <class T>
std::vector<T> join_ranks(std::string_view what, std::vector<T> mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (!ranks().several()) return mine;
  const auto bytes = std::as_bytes(std::span(mine));
  std::vector<T> all;
  for (const Ranks::Bytes& part : ranks().from_each(what, {bytes.begin(), bytes.end()})) {
    const std::size_t before = all.size();
    all.resize(before + part.size() / sizeof(T));
    if (!part.empty()) std::memcpy(all.data() + before, part.data(), part.size());
  }
  return all;
}

// The sum of the numbers of all ranks, as many on each.
std::vector<std::int64_t> sum_of_ranks(std::vector<std::int64_t> numbers);

// The device of this rank for work on so many bytes: the one that was asked for, or else what device_for() says, unless
// there are others of its kind and no number was given: they are dealt out to the ranks of a machine. All ranks compute
// on the CPU where some of them would not.
Device device_of_rank(const std::string& asked, Work work, std::uint64_t bytes);

// What ranks send of a text, and the text.
Ranks::Bytes bytes_of(std::string_view text);
std::string text_in(std::span<const std::byte> bytes);

// Inputs that the ranks share: each reads its part. Files of raw and .npy and generators are cut by elements, text
// files by lines; of all else (standard input, pipes, images) rank 0 reads all, and the others nothing. Alone, a
// process reads all of everything.

// How the ranks share a source. `first`: rank 0 has all of it.
enum class Way { elements, lines, first };

struct SharedSource {
  std::unique_ptr<io::Source> source;
  Way way = Way::first;
};

// All of these are collective.

// Not cut yet, but for text by lines, where `lines` allows it: texts whose entries need not stay beside those of
// another source. Texts that decide their dtype have the same one on every rank.
SharedSource open_shared(const std::string& input, const io::SourceOptions& options, bool lines);
// What open() returns on the first rank alone, `name` is that of its input; `dtype_fixed`: its dtype may not change.
SharedSource open_for_first(const std::string& name, const std::function<std::unique_ptr<io::Source>()>& open,
                            bool dtype_fixed);
// The elements of the whole source, where they are known before reading. Before it is cut.
std::optional<std::uint64_t> shared_count(const io::Source& source, Way way);
// The same, read through to the end and back again where they are not known; not of one that is shared by lines.
std::uint64_t measure_shared(io::Source& source, Way way);

struct Cut {
  std::uint64_t multiple = 1;  // elements that stay together
  std::uint64_t rows = 0;      // of equal length, that stay whole; 0: there are none
};
// Cuts sources alike, before they are read: equally long ones. Where one of them cannot be cut, the first rank keeps
// all of all. Returns how many rows this rank has.
std::uint64_t cut_shared(std::span<std::unique_ptr<io::Source>> sources, std::span<const Way> ways,
                         const Cut& cut = {});

}  // namespace masu::cli
