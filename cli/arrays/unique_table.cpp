// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/unique_table.h"

#include "elements/order.h"
#include "ranks.h"
#include "times.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

namespace masu::cli {
namespace {

constexpr std::uint64_t table_block_entries = 4096;                  // that merging gives at a time
constexpr std::uint64_t gathered_entries = std::uint64_t{1} << 20U;  // that are sent at a time

// Whether two values are one: neither comes before the other.
bool same_value(const ArrayView& a, std::uint64_t i, const void* b) {
  return dispatch(a.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T left;
    T right;
    std::memcpy(&left, static_cast<const std::byte*>(a.data) + i * sizeof(T), sizeof(T));
    std::memcpy(&right, b, sizeof(T));
    return ordered_key(left) == ordered_key(right);
  });
}

const std::byte* at(const ArrayView& values, std::uint64_t i) {
  return static_cast<const std::byte*>(values.data) + i * size_of(values.dtype);
}

}  // namespace

UniqueTable::UniqueTable(Request request)
    : request_(std::move(request)),
      runs_({request_.dtype, sizeof(std::uint64_t)}, Order::ascending, request_.memory, request_.tmpdir) {}

void UniqueTable::add(const ArrayView& piece) {
  if (!accumulator_) accumulator_.emplace(request_.device, request_.dtype);
  accumulator_->add(piece);
  count_ += piece.count;
  // Merging holds them twice, and the result is a copy. Narrow types have a table of fixed size instead.
  if (size_of(request_.dtype) > 2 && accumulator_->memory_bytes() > request_.memory / 4) spill();
}

void UniqueTable::add_times() {
  times_.transfer += accumulator_->times().transfer;
  times_.compute += accumulator_->times().compute;
}

void UniqueTable::spill() {
  const UniqueArrays found = accumulator_->result();
  add_times();
  accumulator_.reset();
  const auto began = Clock::now();
  runs_.add({found.values.view(), reinterpret_cast<const std::byte*>(found.counts.data())});
  ++run_count_;
  times_.compute += since(began);
}

// Runs come in the order of the input, so the first of equal values is the one that represents them.
void UniqueTable::merge_runs(const Sink& sink) {
  const std::size_t element = size_of(request_.dtype);
  std::vector<std::byte> values;
  std::vector<std::uint64_t> counts;
  const auto flush = [&](std::size_t keep) {
    const std::size_t full = counts.size() - keep;
    sink({request_.dtype, values.data(), full}, counts.data());
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(full * element));
    counts.erase(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(full));
  };
  runs_.merge(
      [&](const Records& block) {
        for (std::uint64_t i = 0; i < block.keys.count; ++i) {
          std::uint64_t count = 0;
          std::memcpy(&count, block.payload + i * sizeof count, sizeof count);
          if (!counts.empty() && same_value(block.keys, i, values.data() + values.size() - element)) {
            counts.back() += count;
            continue;
          }
          if (counts.size() > table_block_entries) flush(1);
          values.insert(values.end(), at(block.keys, i), at(block.keys, i + 1));
          counts.push_back(count);
        }
      },
      [](std::uint64_t) {});
  if (!counts.empty()) flush(0);
}

void UniqueTable::give_all(const Sink& sink) {
  if (runs_.count() > 0) {
    if (accumulator_) spill();
    merge_runs(sink);
  } else if (accumulator_) {
    const UniqueArrays found = accumulator_->result();
    add_times();
    sink(found.values.view(), found.counts.data());
  }
}

// In memory, where all fits into that of each; else each rank's values become runs of the first one's.
void UniqueTable::gather() {
  if (!accumulator_ && run_count_ == 0) accumulator_.emplace(request_.device, request_.dtype);
  std::array<std::uint64_t, 2> all{run_count_, accumulator_ ? accumulator_->memory_bytes() : 0};
  const bool narrow = size_of(request_.dtype) <= 2;
  ranks().add("memory", all);
  // The least memory of all ranks decides.
  const std::uint64_t fits = all[0] == 0 && (narrow || all[1] <= request_.memory / 4) ? 1 : 0;
  if (ranks().sum("room", fits) == static_cast<std::uint64_t>(ranks().size())) {
    add_times();
    merge_states("distinct values", request_.device, *accumulator_);
    return;
  }
  if (ranks().first() && accumulator_) spill();
  const std::size_t element = size_of(request_.dtype);
  const auto give = [&](const Ranks::Send& send) {
    Ranks::Bytes message;
    give_all([&](const ArrayView& values, const std::uint64_t* counts) {
      for (std::uint64_t done = 0; done < values.count;) {
        const std::uint64_t some = std::min<std::uint64_t>(values.count - done, gathered_entries);
        message.assign(reinterpret_cast<const std::byte*>(counts + done),
                       reinterpret_cast<const std::byte*>(counts + done + some));
        message.insert(message.end(), at(values, done), at(values, done + some));
        send(message);
        done += some;
      }
    });
  };
  const auto take = [&](int /*rank*/, std::span<const std::byte> message) {
    const std::uint64_t count = message.size() / (element + sizeof(std::uint64_t));
    runs_.add({{request_.dtype, message.data() + count * sizeof(std::uint64_t), count}, message.data()});
    ++run_count_;
  };
  ranks().to_first("distinct values", give, take);
}

UniqueTable::Result UniqueTable::finish(bool by_count, std::uint64_t limit) {
  Result result{NumberedValues(request_.dtype, request_.memory / 4, request_.tmpdir), 0};
  if (ranks().several()) gather();
  if (!ranks().first()) return result;
  const auto keep = [&](const ArrayView& values, const std::uint64_t* counts) {
    const std::uint64_t some = std::min(values.count, limit - result.entries.size());
    result.entries.append({values.dtype, values.data, some}, counts);
  };
  if (!by_count) {
    give_all([&](const ArrayView& values, const std::uint64_t* counts) {
      result.distinct += values.count;
      keep(values, counts);
    });
    return result;
  }
  // Equal counts stay in the order of the values.
  const std::size_t element = size_of(request_.dtype);
  ExternalSort sorter({request_.device,
                       {Dtype::u64, element},
                       ExternalSort::Payload::given,
                       Order::descending,
                       SortAlgorithm::automatic,
                       request_.memory / 2,
                       request_.tmpdir,
                       std::nullopt});
  give_all([&](const ArrayView& values, const std::uint64_t* counts) {
    result.distinct += values.count;
    for (std::uint64_t done = 0; done < values.count;) {
      const ExternalSort::Room room = sorter.room();
      const std::uint64_t some = std::min(room.count, values.count - done);
      std::memcpy(room.keys, counts + done, some * sizeof(std::uint64_t));
      std::memcpy(room.payload, at(values, done), some * element);
      sorter.filled(some);
      done += some;
    }
  });
  accumulator_.reset();
  sorter.finish([&](const Records& block) {
    keep({request_.dtype, block.payload, block.keys.count}, static_cast<const std::uint64_t*>(block.keys.data));
  });
  times_.transfer += sorter.times().transfer;
  times_.compute += sorter.times().compute;
  return result;
}

}  // namespace masu::cli
