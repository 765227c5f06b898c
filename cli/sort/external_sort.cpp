// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/external_sort.h"

#include "ranks.h"
#include "runtime/cpu_limits.h"
#include "times.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace masu::cli {
namespace {

constexpr std::uint64_t least_sort_memory = std::uint64_t{64} << 10U;
constexpr std::uint64_t unknown_memory = std::uint64_t{1} << 30U;
constexpr std::uint64_t first_reserve = std::uint64_t{1} << 20U;
constexpr std::uint64_t least_run = 4096;  // records: less is not parted when a device has no memory for it

}  // namespace

std::uint64_t memory_budget(std::optional<std::uint64_t> allowed) {
  if (allowed) return std::max(*allowed, least_sort_memory);
  const std::uint64_t available = runtime::available_memory();
  if (available == 0) return unknown_memory;
  return std::max(available / 4 * 3 / static_cast<std::uint64_t>(ranks().local_size()), least_sort_memory);
}

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
  times_.transfer += took.transfer;
  times_.compute += took.compute;
}

// A run, or several where the device has no memory for so much.
void ExternalSort::spill(std::uint64_t first, std::uint64_t count) {
  if (request_.payload == Payload::index) {
    std::uint64_t number = spilled_;
    for (std::uint64_t i = first; i < first + count; ++i, ++number) std::memcpy(payload(i), &number, sizeof number);
  }
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
  if (runs_.count() == 0 && filled_ > 0) {
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
