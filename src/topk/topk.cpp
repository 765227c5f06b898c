// SPDX-License-Identifier: Apache-2.0
// The public functions: validate, plan, select, hand over.
#include "call/launcher.h"
#include "call/operands.h"
#include "call/staging.h"
#include "call/state_bytes.h"
#include "call/timer.h"
#include "topk/topk_cpu.h"
#include "topk/topk_device.h"

#include <masu/histogram.h>
#include <masu/topk.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

namespace masu {

namespace {

constexpr std::string_view topk_name = "topk";
constexpr call::StateName topk_state{"TopkAccumulator", "MTOP"};
constexpr std::uint64_t most_rows = std::uint64_t{1} << 32;
constexpr std::uint64_t no_index = ~std::uint64_t{0};

[[noreturn]] void refuse(const std::string& rule) {
  call::refuse(topk_name, rule);
}

// Elements of a row.
std::uint64_t check_shape(std::uint64_t count, std::uint64_t k, const TopkOptions& options) {
  if (options.rows == 0 || options.rows > most_rows || count % options.rows != 0) {
    refuse(fmt::format("rows must be 1 to 2^32 and divide the {} elements, got {}", count, options.rows));
  }
  call::check_nan(topk_name, options.nan, NanPolicy::last);
  const std::uint64_t row = count / options.rows;
  if (k < 1 || k > row) {
    refuse(fmt::format("k must be 1 to {}, the elements{}, got {}", row, options.rows == 1 ? "" : " of a row", k));
  }
  return row;
}

void check_target(const BufferBase& target, std::string_view what, std::uint64_t bytes, const BufferBase& data) {
  call::check_one_device(topk_name, data, target);
  call::check_writable(topk_name, target, what);
  if (target.size_bytes() != bytes) {
    refuse(fmt::format("{} must have {} bytes, got {}", what, bytes, target.size_bytes()));
  }
  if (call::overlap(target, data)) call::refuse_overlap(topk_name, fmt::format("{} and the data", what));
}

// A call on the rows of one buffer must fit the kernels' 32-bit numbers.
bool fits_one_launch(std::uint64_t row, const TopkOptions& options) {
  return row <= topk_plan::most_elements && options.rows < std::uint64_t{1} << 32;
}

Ranking ranking_of(Dtype dtype, const TopkOptions& options) {
  return {dtype, options.largest, options.nan};
}

[[noreturn]] void no_memory(std::uint64_t k, std::uint64_t rows) {
  throw Error(ErrorCode::out_of_memory,
              fmt::format("topk: results of {} elements in {} rows do not fit host memory", k, rows));
}

}  // namespace

// Makes results.
struct TopkParts {
  static TopkResult make(Dtype dtype, std::uint64_t rows, std::uint64_t k) try {
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

  static cpu::RowsTarget target(TopkResult& result) {
    return {result.indices_.data(), result.values_.data(), result.found_.data(), result.skipped_.data()};
  }

  static TopkResult of(Dtype dtype, const std::vector<cpu::TopkEntry>& entries, std::uint64_t skipped) {
    TopkResult result = make(dtype, 1, entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      result.indices_[i] = entries[i].index;
      std::memcpy(result.values_.data() + i * size_of(dtype), &entries[i].bits, size_of(dtype));
    }
    result.skipped_[0] = skipped;
    return result;
  }

  // Waits for a job that was started (where `queued`, for one that was enqueued), and fetches its results.
  static TopkResult finish(Stream& stream, DeviceTopk& job, Dtype dtype, std::uint64_t rows, std::uint64_t k,
                           bool queued, Times* times = nullptr) {
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
};

void TopkResult::check_row(std::uint64_t row) const {
  if (row >= found_.size()) refuse(fmt::format("the result has {} rows, got row {}", found_.size(), row));
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
  if (dtype != dtype_) refuse(fmt::format("the values are {}, got {}", to_string(dtype_), to_string(dtype)));
  check_row(row);
  return values_.data() + row * stride_ * size_of(dtype_);
}

std::uint64_t TopkResult::skipped(std::uint64_t row) const {
  check_row(row);
  return skipped_[row];
}

struct TopkAccumulator::State {
  Device device;
  Dtype dtype;
  std::uint64_t k;
  TopkOptions options;
  cpu::TopkList list;
  std::uint64_t count = 0;
  Times times;
  std::optional<call::Staging> staging;

  State(const Device& on, Dtype type, std::uint64_t first, const TopkOptions& asked)
      : device(on), dtype(type), k(first), options(asked), list(type, ranking_of(type, asked), first) {
    options.times = nullptr;
    options.workspace = nullptr;  // pieces of different sizes need different memory
  }

  void add_here(const ArrayView& data) {
    const call::Timer timer(&times, &Times::compute);
    list.add(data, count);
    count += data.count;
  }

  // The first of a piece that lies on the device go to the list. `timed`: the stream has events that tell times.
  void add_there(Stream& stream, const BufferBase& data, std::uint64_t byte_offset, std::uint64_t elements,
                 bool timed) {
    for (std::uint64_t first = 0; first < elements; first += topk_plan::most_elements) {
      const std::uint64_t length = std::min(topk_plan::most_elements, elements - first);
      const std::uint64_t wanted = std::min(k, length);
      DeviceTopk job(data, dtype, options, 1, length, wanted, false);
      job.start(stream, byte_offset + first * size_of(dtype));
      const TopkResult found = TopkParts::finish(stream, job, dtype, 1, wanted, false, timed ? &times : nullptr);
      std::vector<cpu::TopkEntry> entries(found.size());
      const Ranking ranking = ranking_of(dtype, options);
      dispatch(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto* values = static_cast<const T*>(found.view().data);
        for (std::size_t i = 0; i < entries.size(); ++i) {
          entries[i] = {ranking(values[i]), count + first + found.indices()[i], std::bit_cast<KeyOf<T>>(values[i])};
        }
      });
      list.add(entries, found.skipped());
    }
    count += elements;
  }
};

TopkAccumulator::TopkAccumulator(const Device& device, Dtype dtype, std::uint64_t k, const TopkOptions& options) {
  if (k < 1) refuse("k must be at least 1, got 0");
  if (options.rows != 1) refuse(fmt::format("rows must be 1 where data comes in pieces, got {}", options.rows));
  call::check_nan(topk_name, options.nan, NanPolicy::last);
  state_ = std::make_unique<State>(device, dtype, k, options);
}

TopkAccumulator::TopkAccumulator(TopkAccumulator&&) noexcept = default;
TopkAccumulator& TopkAccumulator::operator=(TopkAccumulator&&) noexcept = default;
TopkAccumulator::~TopkAccumulator() = default;

void TopkAccumulator::add(const ArrayView& data) {
  State& s = *state_;
  call::check_dtype(topk_name, s.dtype, data.dtype);
  if (data.count == 0) return;
  if (call::on_cpu(s.device)) return s.add_here(data);
  if (!s.staging) s.staging.emplace(s.device, 0);
  s.staging->pieces(data, 1, [&](Stream& stream, const BufferBase& buffer, std::uint64_t elements) {
    s.add_there(stream, buffer, buffer.byte_offset(), elements, true);
  });
}

void TopkAccumulator::add_buffer(const BufferBase& data, Dtype dtype) {
  State& s = *state_;
  call::check_dtype(topk_name, s.dtype, dtype);
  call::check_device(topk_name, s.device, data);
  const std::uint64_t elements = call::count_of(topk_name, data, dtype);
  if (elements == 0) return;
  if (call::on_cpu(s.device)) return s.add_here(call::host_view(data, dtype));
  const call::Timer timer(&s.times, &Times::compute);
  Stream stream = call::timed_stream(s.device, false);
  s.add_there(stream, data, data.byte_offset(), elements, false);
}

void TopkAccumulator::merge(const TopkAccumulator& later) {
  State& s = *state_;
  const State& other = *later.state_;
  if (other.dtype != s.dtype || other.k != s.k || other.options.largest != s.options.largest ||
      other.options.nan != s.options.nan) {
    const auto text = [](const State& of) {
      return fmt::format("the {} {} of {}, NaN {}", of.k, of.options.largest ? "largest" : "smallest",
                         to_string(of.dtype), to_string(of.options.nan));
    };
    refuse(fmt::format("accumulators that are merged must find the same, got {} and {}", text(s), text(other)));
  }
  (void)call::elements_of_both("TopkAccumulator::merge", s.count, other.count);
  std::vector<cpu::TopkEntry> entries = other.list.result();
  for (cpu::TopkEntry& entry : entries) entry.index += s.count;
  s.list.add(entries, other.list.skipped());
  s.count += other.count;
}

std::vector<std::byte> TopkAccumulator::bytes() const {
  const State& s = *state_;
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
  return state_->count;
}

TopkResult TopkAccumulator::result() const {
  return TopkParts::of(state_->dtype, state_->list.result(), state_->list.skipped());
}

Times TopkAccumulator::times() const {
  Times times = state_->times;
  if (state_->staging) times.transfer += state_->staging->seconds();
  return times;
}

namespace {

TopkResult topk_here(const ArrayView& data, std::uint64_t k, const TopkOptions& options) {
  const call::Timer timer(options.times, &Times::compute);
  TopkResult result = TopkParts::make(data.dtype, options.rows, k);
  cpu::topk_rows(data, options.rows, k, ranking_of(data.dtype, options), TopkParts::target(result));
  return result;
}

// Rows beyond what one launch takes: each is cut into pieces.
TopkResult topk_in_pieces(const BufferBase& data, Dtype dtype, std::uint64_t row, std::uint64_t k,
                          const TopkOptions& options) {
  TopkResult result = TopkParts::make(dtype, options.rows, k);
  const cpu::RowsTarget target = TopkParts::target(result);
  TopkOptions one = options;
  one.rows = 1;
  for (std::uint64_t r = 0; r < options.rows; ++r) {
    TopkAccumulator accumulator(data.device(), dtype, k, one);
    const std::uint64_t bytes = row * size_of(dtype);
    accumulator.add_buffer(Buffer<const std::byte>(data.device(), data.memory(), data.byte_offset() + r * bytes, bytes),
                           dtype);
    const TopkResult found = accumulator.result();
    std::copy(found.indices().begin(), found.indices().end(), target.indices + r * k);
    std::copy_n(static_cast<const std::byte*>(found.view().data), found.size() * size_of(dtype),
                static_cast<std::byte*>(target.values) + r * k * size_of(dtype));
    target.found[r] = found.size();
    target.skipped[r] = found.skipped();
    call::add_times(options.times, accumulator.times());
  }
  return result;
}

}  // namespace

TopkResult topk(const Device& device, const ArrayView& data, std::uint64_t k, const TopkOptions& options) {
  check_shape(data.count, k, options);
  call::start_times(options.times);
  if (call::on_cpu(device)) return topk_here(data, k, options);
  if (options.rows == 1) {
    TopkAccumulator accumulator(device, data.dtype, k, options);
    accumulator.add(data);
    call::add_times(options.times, accumulator.times());
    return accumulator.result();
  }
  const double start = call::now();
  const Buffer<std::byte> buffer = call::upload(device, data);
  const double brought = call::now() - start;
  TopkResult result = topk(buffer, data.dtype, k, options);
  call::add_times(options.times, {brought, 0});
  return result;
}

TopkResult topk(const BufferBase& data, Dtype dtype, std::uint64_t k, const TopkOptions& options) {
  const std::uint64_t row = check_shape(call::count_of(topk_name, data, dtype), k, options);
  call::start_times(options.times);
  if (call::on_cpu(data.device())) return topk_here(call::host_view(data, dtype), k, options);
  if (!fits_one_launch(row, options)) return topk_in_pieces(data, dtype, row, k, options);
  Stream stream = call::timed_stream(data.device(), options.times != nullptr);
  DeviceTopk job(data, dtype, options, options.rows, row, k, false);
  job.start(stream, data.byte_offset());
  return TopkParts::finish(stream, job, dtype, options.rows, k, false, options.times);
}

Pending<TopkResult> topk(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t k,
                         const TopkOptions& options) {
  const std::uint64_t row = check_shape(call::count_of(topk_name, data, dtype), k, options);
  call::check_stream(topk_name, stream, data);
  TopkOptions quiet = options;
  quiet.times = nullptr;
  if (call::on_cpu(stream.device())) {
    stream.finish();  // what was given to it before may still change the data
    auto result = std::make_shared<TopkResult>(topk_here(call::host_view(data, dtype), k, quiet));
    return {stream.record(), [result] { return std::move(*result); }};
  }
  if (!fits_one_launch(row, options)) {
    return {stream.record(), [&data, dtype, row, k, quiet] { return topk_in_pieces(data, dtype, row, k, quiet); }};
  }
  call::check_capture(topk_name, stream, options.workspace,
                      DeviceTopk::bytes(data.device(), dtype, quiet, options.rows, row, k, true, true));
  auto job = std::make_shared<DeviceTopk>(data, dtype, quiet, options.rows, row, k, true);
  job->enqueue(stream, data.byte_offset());
  const std::uint64_t rows = options.rows;
  return {stream.record(),
          [job, &stream, dtype, rows, k] { return TopkParts::finish(stream, *job, dtype, rows, k, true); }};
}

namespace {

// Elements of a row.
std::uint64_t check_targets(const BufferBase& data, Dtype dtype, std::uint64_t k, const BufferBase& values,
                            const BufferBase& indices, const TopkOptions& options) {
  const std::uint64_t row = check_shape(call::count_of(topk_name, data, dtype), k, options);
  check_target(values, "values", options.rows * k * size_of(dtype), data);
  check_target(indices, "indices", options.rows * k * sizeof(std::uint64_t), data);
  call::check_apart(topk_name, "values and indices", values, indices);
  return row;
}

}  // namespace

void topk(const BufferBase& data, Dtype dtype, std::uint64_t k, BufferBase& values, BufferBase& indices,
          const TopkOptions& options) {
  const std::uint64_t row = check_targets(data, dtype, k, values, indices, options);
  const std::uint64_t places = options.rows * k;
  const bool here = call::on_cpu(data.device());
  Stream stream = call::timed_stream(data.device(), options.times != nullptr && !here);
  if (!here && fits_one_launch(row, options)) {
    call::start_times(options.times);
    DeviceTopk job(data, dtype, options, options.rows, row, k, false, &indices, &values);
    job.start(stream, data.byte_offset());
    job.finish(stream);
    if (options.times != nullptr) options.times->compute += job.seconds();
    return;
  }
  const TopkResult result = topk(data, dtype, k, options);
  std::vector<std::uint64_t> all_indices(places, no_index);
  std::vector<std::byte> all_values(places * size_of(dtype), std::byte{0xff});
  for (std::uint64_t r = 0; r < options.rows; ++r) {
    std::copy(result.indices(r).begin(), result.indices(r).end(),
              all_indices.begin() + static_cast<std::ptrdiff_t>(r * k));
    std::copy_n(static_cast<const std::byte*>(result.view(r).data), result.size(r) * size_of(dtype),
                all_values.data() + r * k * size_of(dtype));
  }
  stream.write_bytes(values, 0, all_values.data(), all_values.size());
  stream.write_bytes(indices, 0, all_indices.data(), places * sizeof(std::uint64_t));
  stream.finish();
}

Pending<void> topk(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t k, BufferBase& values,
                   BufferBase& indices, const TopkOptions& options) {
  call::check_stream(topk_name, stream, data);
  const std::uint64_t row = check_targets(data, dtype, k, values, indices, options);
  TopkOptions quiet = options;
  quiet.times = nullptr;
  if (!call::on_cpu(data.device()) && fits_one_launch(row, quiet)) {
    call::check_capture(topk_name, stream, options.workspace,
                        DeviceTopk::bytes(data.device(), dtype, quiet, quiet.rows, row, k, true, false));
    auto job = std::make_shared<DeviceTopk>(data, dtype, quiet, quiet.rows, row, k, true, &indices, &values);
    job->enqueue(stream, data.byte_offset());
    return {stream.record(), [job] {}};
  }
  stream.finish();  // what was given to it before may still change the data
  topk(data, dtype, k, values, indices, quiet);
  return {Event(), [] {}};
}

std::uint64_t topk_workspace(const Device& device, Dtype dtype, std::uint64_t count, std::uint64_t k,
                             const TopkOptions& options) {
  const std::uint64_t row = check_shape(count, k, options);
  if (call::on_cpu(device)) return 0;
  const std::uint64_t length = std::min(row, topk_plan::most_elements);
  const std::uint64_t rows = fits_one_launch(row, options) ? options.rows : 1;
  return DeviceTopk::bytes(device, dtype, options, rows, length, std::min(k, length), true, true);
}

}  // namespace masu
