// SPDX-License-Identifier: Apache-2.0
// The top k of data that comes in pieces.
#include "call/accumulator.h"
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
#include <string>
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
                             Times* times) {
  TopkResult result = make(dtype, rows, k);
  std::vector<std::uint32_t> nans(rows);
  const DeviceTopk::HostTarget target{result.indices_.data(), result.values_.data(), nans};
  const bool fetched = job.finish(stream, &target);
  if (times != nullptr) times->compute += job.seconds();
  if (!fetched) {
    const call::Timer timer(times, &Times::transfer);
    job.fetch(stream, target);
  }
  for (std::uint64_t row = 0; row < rows; ++row) {
    result.skipped_[row] = nans[row];
    const auto first = result.indices_.begin() + static_cast<std::ptrdiff_t>(row * k);
    const auto end = first + static_cast<std::ptrdiff_t>(k);
    if (*(end - 1) != topk_plan::no_index) continue;
    result.found_[row] = static_cast<std::uint64_t>(std::find(first, end, topk_plan::no_index) - first);
  }
  return result;
}

void TopkParts::fill_places(TopkResult& result, const TopkOptions& options) {
  const std::uint64_t k = result.stride_;
  dispatch(result.dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T last = ranking_of(result.dtype_, options).template last<T>();
    auto* values = reinterpret_cast<T*>(result.values_.data());
    for (std::uint64_t row = 0; row < result.rows(); ++row) {
      const std::uint64_t found = result.found_[row];
      std::fill_n(result.indices_.data() + row * k + found, k - found, topk_plan::no_index);
      std::fill_n(values + row * k + found, k - found, last);
    }
  });
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

template <>
struct detail::Accumulator<TopkAccumulator>::State : call::AccumulatorState {
  static constexpr call::StateName name{"TopkAccumulator", "MTOP"};
  static constexpr std::string_view function = topk_name;

  // A piece that a device looks at.
  struct Started {
    Stream& stream;
    std::unique_ptr<DeviceTopk> job;
    std::uint64_t elements;
    bool timed;  // the stream has events that tell times
  };

  State(const Device& on, Dtype type, std::uint64_t first, const TopkOptions& given)
      : AccumulatorState(on, type), k(first), options(given), list(type, ranking_of(type, given), first) {
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

  [[nodiscard]] std::uint64_t elements() const noexcept { return count + (started ? started->elements : 0); }

  void add(const ArrayView& data) {
    if (call::on_cpu(device)) {
      const call::Timer timer(&times, &Times::compute);
      list.add(data, count);
      count += data.count;
      return;
    }
    settle();
    stage().pieces(data, 1, [&](Stream& stream, const BufferBase& buffer, std::uint64_t length) {
      start(stream, buffer, length, true);
      settle();
    });
  }

  void add(const BufferBase& data) {
    const call::Timer timer(&times, &Times::compute);
    Stream stream = call::timed_stream(device, false);
    start(stream, data, data.size_bytes() / size_of(dtype), false);
    settle();
  }

  // Queues all the work on a piece in device memory but its end, which settle() does.
  void start(Stream& stream, const BufferBase& data, std::uint64_t elements, bool timed) {
    for (std::uint64_t first = 0; first < elements; first += topk_plan::most_elements) {
      settle();
      const std::uint64_t length = std::min(topk_plan::most_elements, elements - first);
      auto job = std::make_unique<DeviceTopk>(data, dtype, options, 1, length, std::min(k, length), false);
      job->start(stream, data.byte_offset() + first * size_of(dtype));
      started.emplace(Started{stream, std::move(job), length, timed});
    }
  }

  // The first of a piece that was started go to the list.
  void settle() {
    if (!started) return;
    const auto [stream, job, elements, timed] = *std::exchange(started, std::nullopt);
    const TopkResult found = TopkParts::finish(stream, *job, dtype, 1, std::min(k, elements), timed ? &times : nullptr);
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

  [[nodiscard]] std::string text() const {
    return fmt::format("the {} {} of {}, NaN {}", k, options.largest ? "largest" : "smallest", to_string(dtype),
                       to_string(options.nan));
  }

  void merge(State& later) {
    call::check_same(*this, later);
    settle();
    later.settle();
    (void)call::elements_of_both("TopkAccumulator::merge", count, later.count);
    std::vector<cpu::TopkEntry> entries = later.list.result();
    for (cpu::TopkEntry& entry : entries) entry.index += count;
    list.add(entries, later.list.skipped());
    count += later.count;
  }

  void write(call::StateWriter& to) {
    settle();
    const std::vector<cpu::TopkEntry> entries = list.result();
    to.dtype(dtype);
    to.number(options.largest ? 1 : 0, 1);
    to.number(static_cast<std::uint64_t>(options.nan), 1);
    to.number(k);
    to.number(count);
    to.number(list.skipped());
    to.number(entries.size());
    for (const cpu::TopkEntry& entry : entries) {
      to.number(entry.index);
      to.number(entry.bits, size_of(dtype));
    }
  }

  static TopkAccumulator read(const Device& device, call::StateReader& from) {
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
    s.list.add(entries, skipped);
    return result;
  }

  std::uint64_t k;
  TopkOptions options;
  cpu::TopkList list;
  std::optional<Started> started;
};

template class detail::Accumulator<TopkAccumulator>;
template class detail::BufferAccumulator<TopkAccumulator>;

TopkAccumulator::TopkAccumulator(const Device& device, Dtype dtype, std::uint64_t k, const TopkOptions& options) {
  if (k < 1) call::refuse(topk_name, "k must be at least 1, got 0");
  call::check_one_row(topk_name, options.rows);
  if (options.lengths != nullptr) call::refuse(topk_name, "data in pieces must have no lengths, got some");
  call::check_nan(topk_name, options.nan, NanPolicy::last);
  state_ = detail::make_hidden<State>(device, dtype, k, options);
}

void TopkAccumulator::add_buffer(Stream& stream, const BufferBase& data, Dtype dtype) {
  const FloatingPointScope usual;
  State& s = *state_;
  const std::uint64_t elements = s.check_buffer(topk_name, data, dtype);
  call::check_stream(topk_name, stream, data);
  if (elements == 0) return;
  if (!call::on_cpu(s.device)) return s.start(stream, data, elements, false);
  stream.finish();  // earlier work of the stream may still change the data
  s.add(call::host_view(data, dtype));
}

std::uint64_t TopkAccumulator::k() const noexcept {
  return state_->k;
}

TopkResult TopkAccumulator::result() const {
  const FloatingPointScope usual;
  state_->settle();
  return TopkParts::of(state_->dtype, state_->list.result(), state_->list.skipped());
}

}  // namespace masu
