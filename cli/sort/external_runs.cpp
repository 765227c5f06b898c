// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/external_runs.h"

#include "cli/sort/external_merge.h"

#include <algorithm>

namespace masu::cli {
namespace {

constexpr std::uint64_t least_memory = std::uint64_t{64} << 10U;
constexpr std::uint64_t least_block = std::uint64_t{4} << 10U;
constexpr std::uint64_t good_block = std::uint64_t{256} << 10U;  // from which on reading is as fast as it gets
constexpr std::uint64_t most_merged = 1024;

}  // namespace

ExternalRuns::ExternalRuns(const RecordShape& shape, Order order, std::uint64_t memory, const std::string& folder)
    : shape_(shape), order_(order), memory_(std::max(memory, least_memory)), keys_(folder), payload_(folder) {}

// Three quarters of the memory are for the runs, the rest for what is made of them.
std::uint64_t ExternalRuns::block_bytes() const {
  return std::clamp(memory_ / 64, least_block, good_block);
}

std::uint64_t ExternalRuns::most_runs() const {
  return std::clamp<std::uint64_t>(memory_ / 4 * 3 / block_bytes(), 2, most_merged);
}

// Returns the place of the first record in both files.
std::uint64_t ExternalRuns::append(const Records& records) {
  const std::uint64_t first = keys_.size() / size_of(shape_.keys);
  keys_.append(records.keys.data, records.keys.count * size_of(shape_.keys));
  if (shape_.payload_bytes > 0) payload_.append(records.payload, records.keys.count * shape_.payload_bytes);
  return first;
}

void ExternalRuns::add(const Records& run) {
  if (run.keys.count == 0) return;
  runs_.push_back({append(run), run.keys.count});
  records_ += run.keys.count;
}

void ExternalRuns::merge_some(std::span<const Run> runs, const RecordSink& sink) {
  const std::uint64_t for_runs = memory_ / 4 * 3 / runs.size();
  ExternalMerge merge({shape_, order_, for_runs, memory_ / 8}, keys_, payload_);
  for (const Run& run : runs) merge.add(run.first, run.count);
  merge.run(sink);
}

// Merges neighbours until all that are left can be merged at once.
void ExternalRuns::reduce(const std::function<void(std::uint64_t)>& done) {
  for (std::size_t at = 0; runs_.size() > most_runs(); ++at) {
    const auto group = static_cast<std::size_t>(std::min(most_runs(), runs_.size() - most_runs() + 1));
    if (at + group > runs_.size()) at = 0;
    const std::span<const Run> some(runs_.data() + at, group);
    Run merged{keys_.size() / size_of(shape_.keys), 0};
    merge_some(some, [&](const Records& block) {
      (void)append(block);
      merged.count += block.keys.count;
      done(block.keys.count * shape_.bytes());
    });
    for (const Run& run : some) {
      keys_.release(run.count * size_of(shape_.keys), run.first * size_of(shape_.keys));
      if (shape_.payload_bytes > 0)
        payload_.release(run.count * shape_.payload_bytes, run.first * shape_.payload_bytes);
    }
    const auto begin = runs_.begin() + static_cast<std::ptrdiff_t>(at);
    runs_.erase(begin + 1, begin + static_cast<std::ptrdiff_t>(group));
    *begin = merged;
  }
}

void ExternalRuns::merge(const RecordSink& sink, const std::function<void(std::uint64_t)>& done) {
  reduce(done);
  if (runs_.empty()) return;
  merge_some(runs_, [&](const Records& block) {
    sink(block);
    done(block.keys.count * shape_.bytes());
  });
}

}  // namespace masu::cli
