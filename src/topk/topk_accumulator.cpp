// SPDX-License-Identifier: Apache-2.0
// The top k of data that comes in pieces.
#include "call/launcher.h"
#include "call/operands.h"
#include "call/staging.h"
#include "call/state_bytes.h"
#include "topk/topk_cpu.h"
#include "topk/topk_plan.h"

#include <masu/topk.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

namespace masu {

namespace {

[[noreturn]] void no_memory(std::uint64_t k, std::uint64_t rows) {
  throw Error(ErrorCode::out_of_memory,
              fmt::format("topk: results of {} elements in {} rows do not fit host memory", k, rows));
}

}  // namespace

TopkResult TopkParts::make(Dtype dtype, std::uint64_t rows, std::uint64_t k) try {
  TopkResult result;
  result.dtype_ = dtype;
  result.stride_ = k;
  result.found_.assign(rows, k);
  result.skipped_.assign(rows, 0);
  result.indices_.resize(rows * k);
  result.values_.resize(rows * k * size_of(dtype));
  return result;
} catch (const std::bad_alloc&) {
  no_memory(k, rows);
} catch (const std::length_error&) {
  no_memory(k, rows);
}

cpu::RowsTarget TopkParts::target(TopkResult& result) {
  return {result.indices_.data(), result.values_.data(), result.found_.data(), result.skipped_.data()};
}

TopkResult TopkParts::of(Dtype dtype, const std::vector<cpu::TopkEntry>& entries, std::uint64_t skipped) {
  TopkResult result = make(dtype, 1, entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    result.indices_[i] = entries[i].index;
    std::memcpy(result.values_.data() + i * size_of(dtype), &entries[i].bits, size_of(dtype));
  }
  result.skipped_[0] = skipped;
  return result;
}

TopkResult TopkParts::finish(Stream& stream, DeviceTopk& job, Dtype dtype, std::uint64_t rows, std::uint64_t k,
                             bool queued, Times* times) {
  TopkResult result = make(dtype, rows, k);
  std::vector<std::uint32_t> nans(rows);
  const DeviceTopk::HostTarget target{result.indices_.data(), result.values_.data(), nans};
  const bool fetched = !queued && job.finish(stream, &target);
  if (times != nullptr) times->compute += job.seconds();
  if (!fetched) {
    const call::Timer timer(times, &Times::transfer);
    job.fetch(stream, target);
  }
  for (std::uint64_t row = 0; row < rows; ++row) {
    result.skipped_[row] = nans[row];
    if (result.skipped_[row] == 0) continue;
    const auto first = result.indices_.begin() + static_cast<std::ptrdiff_t>(row * k);
    result.found_[row] =
        static_cast<std::uint64_t>(std::find(first, first + static_cast<std::ptrdiff_t>(k), no_index) - first);
  }
  return result;
}

void TopkResult::check_row(std::uint64_t row) const {
  if (row >= found_.size())
    call::refuse(topk_name, fmt::format("the result has {} rows, got row {}", found_.size(), row));
}

std::uint64_t TopkResult::size(std::uint64_t row) const {
  check_row(row);
  return found_[row];
}

std::span<const std::uint64_t> TopkResult::indices(std::uint64_t row) const {
  const std::uint64_t length = size(row);
  return std::span(indices_).subspan(row * stride_, length);
}

const void* TopkResult::values(Dtype dtype, std::uint64_t row) const {
  if (dtype != dtype_)
    call::refuse(topk_name, fmt::format("the values are {}, got {}", to_string(dtype_), to_string(dtype)));
  check_row(row);
  return values_.data() + row * stride_ * size_of(dtype_);
}

std::uint64_t TopkResult::skipped(std::uint64_t row) const {
  check_row(row);
  return skipped_[row];
}

namespace {

constexpr call::StateName topk_state{"TopkAccumulator", "MTOP"};

}  // namespace

struct TopkAccumulator::State {
  Device device;
  Dtype dtype;
  std::uint64_t k;
  TopkOptions options;
  cpu::TopkList list;
  std::uint64_t count = 0;
  Times times;
  std::optional<call::Staging> staging;
  // A piece that a device looks at.
  struct Started {
    Stream& stream;
    std::unique_ptr<DeviceTopk> job;
    std::uint64_t elements;
    bool timed;  // the stream has events that tell times
  };
  std::optional<Started> started;

  State(const Device& on, Dtype type, std::uint64_t first, const TopkOptions& asked)
      : device(on), dtype(type), k(first), options(asked), list(type, ranking_of(type, asked), first) {
    options.times = nullptr;
    options.workspace = nullptr;  // pieces of different sizes need different memory
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (!started) return;
    try {
      started->stream.finish();  // the work uses the caller's data
    } catch (...) {              // a lost device: the next call on it tells
    }
  }

  // The elements of a buffer.
  std::uint64_t check(const BufferBase& data, Dtype type) const {
    call::check_dtype(topk_name, dtype, type);
    call::check_device(topk_name, device, data);
    return call::count_of(topk_name, data, type);
  }

  void add_here(const ArrayView& data) {
    const call::Timer timer(&times, &Times::compute);
    list.add(data, count);
    count += data.count;
  }

  // A piece that lies on the device, all but the end of the work, which settle() does.
  void start(Stream& stream, const BufferBase& data, std::uint64_t byte_offset, std::uint64_t elements, bool timed) {
    for (std::uint64_t first = 0; first < elements; first += topk_plan::most_elements) {
      settle();
      const std::uint64_t length = std::min(topk_plan::most_elements, elements - first);
      auto job = std::make_unique<DeviceTopk>(data, dtype, options, 1, length, std::min(k, length), false);
      job->start(stream, byte_offset + first * size_of(dtype));
      started.emplace(Started{stream, std::move(job), length, timed});
    }
  }

  // The first of a piece that was started go to the list.
  void settle() {
    if (!started) return;
    const auto [stream, job, elements, timed] = *std::exchange(started, std::nullopt);
    const TopkResult found =
        TopkParts::finish(stream, *job, dtype, 1, std::min(k, elements), false, timed ? &times : nullptr);
    std::vector<cpu::TopkEntry> entries(found.size());
    const Ranking ranking = ranking_of(dtype, options);
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto* values = static_cast<const T*>(found.view().data);
      const std::span<const std::uint64_t> indices = found.indices();
      for (std::size_t i = 0; i < entries.size(); ++i) {
        entries[i] = {ranking(values[i]), count + indices[i], std::bit_cast<KeyOf<T>>(values[i])};
      }
    });
    list.add(entries, found.skipped());
    count += elements;
  }
};

TopkAccumulator::TopkAccumulator(const Device& device, Dtype dtype, std::uint64_t k, const TopkOptions& options) {
  if (k < 1) call::refuse(topk_name, "k must be at least 1, got 0");
  call::check_one_row(topk_name, options.rows);
  call::check_nan(topk_name, options.nan, NanPolicy::last);
  state_ = std::make_unique<State>(device, dtype, k, options);
}

TopkAccumulator::TopkAccumulator(TopkAccumulator&&) noexcept = default;
TopkAccumulator& TopkAccumulator::operator=(TopkAccumulator&&) noexcept = default;
TopkAccumulator::~TopkAccumulator() = default;

void TopkAccumulator::add(const ArrayView& data) {
  const FloatingPointScope usual;
  State& s = *state_;
  call::check_dtype(topk_name, s.dtype, data.dtype);
  if (data.count == 0) return;
  if (call::on_cpu(s.device)) return s.add_here(data);
  s.settle();
  if (!s.staging) s.staging.emplace(s.device, 0);
  s.staging->pieces(data, 1, [&](Stream& stream, const BufferBase& buffer, std::uint64_t elements) {
    s.start(stream, buffer, buffer.byte_offset(), elements, true);
    s.settle();
  });
}

void TopkAccumulator::add_buffer(const BufferBase& data, Dtype dtype) {
  const FloatingPointScope usual;
  State& s = *state_;
  const std::uint64_t elements = s.check(data, dtype);
  if (elements == 0) return;
  if (call::on_cpu(s.device)) return s.add_here(call::host_view(data, dtype));
  const call::Timer timer(&s.times, &Times::compute);
  Stream stream = call::timed_stream(s.device, false);
  s.start(stream, data, data.byte_offset(), elements, false);
  s.settle();
}

void TopkAccumulator::add_buffer(Stream& stream, const BufferBase& data, Dtype dtype) {
  const FloatingPointScope usual;
  State& s = *state_;
  const std::uint64_t elements = s.check(data, dtype);
  call::check_stream(topk_name, stream, data);
  if (elements == 0) return;
  if (!call::on_cpu(s.device)) return s.start(stream, data, data.byte_offset(), elements, false);
  stream.finish();  // what was given to it before may still change the data
  s.add_here(call::host_view(data, dtype));
}

void TopkAccumulator::merge(const TopkAccumulator& later) {
  const FloatingPointScope usual;
  State& s = *state_;
  State& other = *later.state_;
  if (other.dtype != s.dtype || other.k != s.k || other.options.largest != s.options.largest ||
      other.options.nan != s.options.nan) {
    const auto text = [](const State& of) {
      return fmt::format("the {} {} of {}, NaN {}", of.k, of.options.largest ? "largest" : "smallest",
                         to_string(of.dtype), to_string(of.options.nan));
    };
    call::refuse(topk_name,
                 fmt::format("accumulators that are merged must find the same, got {} and {}", text(s), text(other)));
  }
  s.settle();
  other.settle();
  (void)call::elements_of_both("TopkAccumulator::merge", s.count, other.count);
  std::vector<cpu::TopkEntry> entries = other.list.result();
  for (cpu::TopkEntry& entry : entries) entry.index += s.count;
  s.list.add(entries, other.list.skipped());
  s.count += other.count;
}

std::vector<std::byte> TopkAccumulator::bytes() const {
  State& s = *state_;
  s.settle();
  const std::vector<cpu::TopkEntry> entries = s.list.result();
  call::StateWriter to(topk_state);
  to.dtype(s.dtype);
  to.number(s.options.largest ? 1 : 0, 1);
  to.number(static_cast<std::uint64_t>(s.options.nan), 1);
  to.number(s.k);
  to.number(s.count);
  to.number(s.list.skipped());
  to.number(entries.size());
  for (const cpu::TopkEntry& entry : entries) {
    to.number(entry.index);
    to.number(entry.bits, size_of(s.dtype));
  }
  return to.finish();
}

TopkAccumulator TopkAccumulator::from_bytes(const Device& device, std::span<const std::byte> bytes) {
  const FloatingPointScope usual;
  call::StateReader from(topk_state, bytes);
  const Dtype dtype = from.dtype();
  TopkOptions options;
  options.largest = from.flag();
  options.nan = from.flag() ? NanPolicy::skip : NanPolicy::last;
  const std::uint64_t k = from.number();
  from.require(k >= 1);
  TopkAccumulator result(device, dtype, k, options);
  State& s = *result.state_;
  s.count = from.elements();
  const std::uint64_t skipped = from.below(s.count + 1);
  const std::uint64_t found = from.number();
  from.require((skipped == 0 || (is_float(dtype) && options.nan == NanPolicy::skip)) &&
               found == std::min(k, s.count - skipped));
  const Ranking ranking = ranking_of(dtype, options);
  std::vector<cpu::TopkEntry> entries;
  entries.reserve(std::min(found, from.left() / sizeof(std::uint64_t)));
  for (std::uint64_t i = 0; i < found; ++i) {
    const std::uint64_t index = from.below(s.count);
    const std::uint64_t bits = from.number(size_of(dtype));
    const std::uint64_t rank = dispatch(dtype, [&](auto tag) -> std::uint64_t {
      using T = typename decltype(tag)::type;
      return ranking(std::bit_cast<T>(static_cast<KeyOf<T>>(bits)));
    });
    from.require(!(ranking.skip && rank == 0));
    const cpu::TopkEntry entry{rank, index, bits};
    from.require(entries.empty() || entries.back() < entry);
    entries.push_back(entry);
  }
  from.end();
  s.list.add(entries, skipped);
  return result;
}

Dtype TopkAccumulator::dtype() const noexcept {
  return state_->dtype;
}

std::uint64_t TopkAccumulator::k() const noexcept {
  return state_->k;
}

std::uint64_t TopkAccumulator::count() const noexcept {
  return state_->count + (state_->started ? state_->started->elements : 0);
}

TopkResult TopkAccumulator::result() const {
  const FloatingPointScope usual;
  state_->settle();
  return TopkParts::of(state_->dtype, state_->list.result(), state_->list.skipped());
}

Times TopkAccumulator::times() const {
  Times times = state_->times;
  if (state_->staging) times.transfer += state_->staging->seconds();
  return times;
}

}  // namespace masu
