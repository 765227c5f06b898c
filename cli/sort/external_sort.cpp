// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/external_merge.h"
#include "cli/sort/sort_job.h"

#include "text.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace masu::cli {
namespace {

constexpr std::uint64_t least_memory = std::uint64_t{64} << 10U;
constexpr std::uint64_t least_block = std::uint64_t{4} << 10U;
constexpr std::uint64_t good_block = std::uint64_t{256} << 10U;  // from which on reading is as fast as it gets
constexpr std::uint64_t most_merged = 1024;

}  // namespace

ExternalRuns::ExternalRuns(const RecordShape& shape, Order order, std::uint64_t memory, const std::string& folder)
    : shape_(shape),
      order_(order),
      memory_(std::max(memory, least_memory)),
      keys_(folder),
      payload_(folder),
      text_(folder) {}

// Three quarters of the memory are for the runs, the rest for what is made of them.
std::uint64_t ExternalRuns::block_bytes() const {
  return std::clamp(memory_ / 64, least_block, good_block);
}

std::uint64_t ExternalRuns::most_runs() const {
  return std::clamp<std::uint64_t>(memory_ / 4 * 3 / block_bytes(), 2, most_merged);
}

// A run of nothing, after all others.
ExternalRuns::Run ExternalRuns::end() const {
  return {keys_.size() / size_of(shape_.keys), 0, 0, text_.size()};
}

void ExternalRuns::append(Run& run, const Records& records) {
  keys_.append(records.keys.data, records.keys.count * size_of(shape_.keys));
  if (shape_.payload_bytes > 0) payload_.append(records.payload, records.keys.count * shape_.payload_bytes);
  if (shape_.text) text_.append(records.text.data(), records.text.size());
  run.count += records.keys.count;
  run.text += records.text.size();
}

void ExternalRuns::add(const Records& run) {
  runs_.push_back(end());
  add_to_last(run);
}

void ExternalRuns::add_to_last(const Records& more) {
  append(runs_.back(), more);
  records_ += more.keys.count;
}

void ExternalRuns::merge_some(std::span<const Run> runs, const RecordSink& sink) {
  const std::uint64_t for_runs = memory_ / 4 * 3 / runs.size();
  ExternalMerge merge({shape_, order_, for_runs, memory_ / 8}, keys_, payload_, text_);
  for (const Run& run : runs) merge.add(run.first, run.count, run.text_first, run.text);
  merge.run(sink);
}

// Merges neighbours until all that are left can be merged at once.
void ExternalRuns::reduce(const std::function<void(std::uint64_t)>& done) {
  for (std::size_t at = 0; runs_.size() > most_runs(); ++at) {
    const auto group = static_cast<std::size_t>(std::min(most_runs(), runs_.size() - most_runs() + 1));
    if (at + group > runs_.size()) at = 0;
    const std::span<const Run> some(runs_.data() + at, group);
    Run merged = end();
    merge_some(some, [&](const Records& block) {
      append(merged, block);
      done(block.keys.count * shape_.bytes() + block.text.size());
    });
    for (const Run& run : some) {
      keys_.release(run.count * size_of(shape_.keys), run.first * size_of(shape_.keys));
      if (shape_.payload_bytes > 0)
        payload_.release(run.count * shape_.payload_bytes, run.first * shape_.payload_bytes);
      if (shape_.text) text_.release(run.text, run.text_first);
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
    done(block.keys.count * shape_.bytes() + block.text.size());
  });
}

namespace {

constexpr std::uint64_t first_reserve = std::uint64_t{1} << 20U;
constexpr std::uint64_t least_run = 4096;  // records: less is not parted when a device has no memory for it

}  // namespace

// Sorting takes a copy of the records and a quarter more, beside the records themselves.
std::uint64_t ExternalSort::capacity(const Device& device, const RecordShape& shape, std::uint64_t memory) {
  if (device.kind() != DeviceKind::cpu) memory = std::min(memory, device.info().memory_bytes / 8 * 7);
  return std::max<std::uint64_t>(1, memory / 9 * 4 / shape.bytes());
}

ExternalSort::ExternalSort(Request request)
    : request_(std::move(request)),
      capacity_(capacity(request_.device, request_.shape, request_.memory)),
      runs_(request_.shape, request_.order, request_.memory, request_.tmpdir) {
  if (request_.count) capacity_ = std::clamp<std::uint64_t>(*request_.count, 1, capacity_);
}

// Room for all where the count is known; else it grows with what comes.
void ExternalSort::reserve() {
  if (filled_ < reserved_ || reserved_ == capacity_) return;
  const std::uint64_t more = std::max(first_reserve / request_.shape.bytes() + 1, reserved_ * 2);
  reserved_ = request_.count ? capacity_ : std::min(capacity_, more);
  const auto grow = [&](std::unique_ptr<std::byte[], Free>& memory, std::uint64_t bytes) {
    if (bytes == 0) return;
    void* grown = std::realloc(memory.get(), bytes);
    if (grown == nullptr) throw std::bad_alloc();
    (void)memory.release();
    memory.reset(static_cast<std::byte*>(grown));
  };
  grow(keys_, reserved_ * size_of(request_.shape.keys));
  grow(payload_, reserved_ * request_.shape.payload_bytes);
}

std::byte* ExternalSort::keys(std::uint64_t record) const {
  return keys_.get() + record * size_of(request_.shape.keys);
}

std::byte* ExternalSort::payload(std::uint64_t record) const {
  return payload_.get() + record * request_.shape.payload_bytes;
}

ExternalSort::Room ExternalSort::room() {
  reserve();
  if (filled_ == capacity_) spill(0, std::exchange(filled_, 0));
  return {keys(filled_), request_.payload == Payload::given ? payload(filled_) : nullptr, reserved_ - filled_};
}

void ExternalSort::filled(std::uint64_t count) {
  filled_ += count;
}

void ExternalSort::add(const Records& records) {
  const std::size_t key_bytes = size_of(request_.shape.keys);
  const std::size_t payload_bytes = request_.shape.payload_bytes;
  const auto* from = static_cast<const std::byte*>(records.keys.data);
  for (std::uint64_t done = 0; done < records.keys.count;) {
    const Room here = room();
    const std::uint64_t some = std::min(here.count, records.keys.count - done);
    std::memcpy(here.keys, from + done * key_bytes, some * key_bytes);
    if (here.payload != nullptr) {
      std::memcpy(here.payload, records.payload + done * payload_bytes, some * payload_bytes);
    }
    filled(some);
    done += some;
  }
}

SortOptions ExternalSort::options(std::uint64_t rows, Times& times) const {
  SortOptions options;
  options.order = request_.order;
  options.algorithm = request_.algorithm;
  options.rows = rows;
  options.times = &times;
  return options;
}

void ExternalSort::sort_in_memory(std::uint64_t first, std::uint64_t count, std::uint64_t rows, bool index_only) {
  Times took;
  const SortOptions how = options(rows, took);
  const MutableArrayView sorted(request_.shape.keys, keys(first), count);
  if (request_.payload == Payload::none) {
    masu::sort(request_.device, sorted, how);
  } else if (index_only) {
    masu::argsort(request_.device, sorted, MutableArrayView(Dtype::u64, payload(first), count), how);
  } else {
    masu::sort_by_key(request_.device, sorted, RecordsView(payload(first), request_.shape.payload_bytes, count), how);
  }
  times_ += took;
}

void ExternalSort::number(std::uint64_t first, std::uint64_t count) {
  if (request_.payload != Payload::index && request_.payload != Payload::number) return;
  std::uint64_t number = spilled_;
  for (std::uint64_t i = first; i < first + count; ++i, ++number) std::memcpy(payload(i), &number, sizeof number);
}

// A run, or several where the device has no memory for so much.
void ExternalSort::spill(std::uint64_t first, std::uint64_t count) {
  number(first, count);
  try {
    sort_in_memory(first, count, 1, false);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory || count < 2 * least_run) throw;
    spill(first, count / 2);
    spill(first + count / 2, count - count / 2);
    return;
  }
  const auto began = Clock::now();
  runs_.add({{request_.shape.keys, keys(first), count}, payload(first)});
  times_.compute += since(began);
  spilled_ += count;
  ++run_count_;
  progress(count * request_.shape.bytes());
}

void ExternalSort::finish(const RecordSink& sink, std::uint64_t rows) {
  const bool index_only = request_.payload == Payload::index;
  if (runs_.count() == 0) {  // without records too: the device may lack the algorithm
    if (!index_only) number(0, filled_);
    try {
      sort_in_memory(0, filled_, rows, index_only);
      sink({{request_.shape.keys, keys_.get(), filled_}, payload_.get()});
      spilled_ = std::exchange(filled_, 0);
      return;
    } catch (const Error& error) {  // a device with less memory than it says: keys are as they were
      if (error.code() != ErrorCode::out_of_memory || rows > 1 || filled_ < 2 * least_run) throw;
    }
  }
  if (filled_ > 0) spill(0, std::exchange(filled_, 0));
  keys_.reset();
  payload_.reset();
  const auto began = Clock::now();
  double outside = 0;  // time that the caller took
  const RecordSink timed = [&](const Records& block) {
    const auto start = Clock::now();
    sink(block);
    outside += since(start);
  };
  runs_.merge(timed, progress);
  times_.compute += since(began) - outside;
}

}  // namespace masu::cli
