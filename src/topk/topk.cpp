// SPDX-License-Identifier: Apache-2.0
// The public functions: validate, plan, select, hand over.
#include "histogram/histogram_checks.h"
#include "histogram/staging.h"
#include "topk/topk_cpu.h"
#include "topk/topk_device.h"

#include <masu/topk.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <optional>

namespace masu {

namespace {

constexpr std::array<std::string_view, 2> policy_names = {"last", "skip"};
constexpr std::uint64_t most_rows = std::uint64_t{1} << 32;
constexpr std::uint64_t no_index = ~std::uint64_t{0};

[[noreturn]] void refuse(const std::string& rule) {
  throw Error(ErrorCode::invalid_argument, "topk: " + rule);
}

// Elements of a row.
std::uint64_t check_shape(std::uint64_t count, std::uint64_t k, const TopkOptions& options) {
  if (options.rows == 0 || options.rows > most_rows || count % options.rows != 0) {
    refuse(fmt::format("rows must be 1 to 2^32 and divide the {} elements, got {}", count, options.rows));
  }
  const std::uint64_t row = count / options.rows;
  if (k < 1 || k > row) {
    refuse(fmt::format("k must be 1 to {}, the elements{}, got {}", row, options.rows == 1 ? "" : " of a row", k));
  }
  return row;
}

std::uint64_t check_buffer(const BufferBase& data, Dtype dtype) {
  if (data.size_bytes() % size_of(dtype) != 0) {
    refuse(fmt::format("{} bytes are no whole number of elements of {} bytes", data.size_bytes(), size_of(dtype)));
  }
  return data.size_bytes() / size_of(dtype);
}

bool overlap(const BufferBase& a, const BufferBase& b) {
  return a.native() == b.native() && a.byte_offset() < b.byte_offset() + b.size_bytes() &&
         b.byte_offset() < a.byte_offset() + a.size_bytes();
}

void check_target(const BufferBase& target, std::string_view name, std::uint64_t bytes, const BufferBase& data) {
  if (!(target.device() == data.device()) || target.memory()->read_only() || target.size_bytes() != bytes) {
    refuse(fmt::format("{} must be {} writable bytes on {}, got {} on {}", name, bytes, data.device().id(),
                       target.size_bytes(), target.device().id()));
  }
  if (overlap(target, data)) refuse(fmt::format("{} and the data must not overlap", name));
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

std::string_view to_string(NanPolicy policy) noexcept {
  return policy_names[static_cast<std::size_t>(policy)];
}

NanPolicy nan_policy_from_name(std::string_view name) {
  const auto found = std::find(policy_names.begin(), policy_names.end(), name);
  if (found != policy_names.end()) return static_cast<NanPolicy>(found - policy_names.begin());
  refuse(fmt::format("the NaN policy is one of last skip, got \"{}\"", name));
}

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

  static TopkResult fetch(Stream& stream, const DeviceTopk& job, Dtype dtype, std::uint64_t rows, std::uint64_t k) {
    TopkResult result = make(dtype, rows, k);
    job.fetch(stream, result.indices_.data(), result.values_.data());
    for (std::uint64_t row = 0; row < rows; ++row) {
      result.skipped_[row] = job.skipped()[row];
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
  TopkTimes times;
  std::optional<Staging> staging;

  State(const Device& on, Dtype type, std::uint64_t first, const TopkOptions& asked)
      : device(on), dtype(type), k(first), options(asked), list(type, ranking_of(type, asked), first) {
    options.times = nullptr;
    options.workspace = nullptr;  // pieces of different sizes need different memory
  }

  void add_here(const ArrayView& data) {
    const double start = now();
    list.add(data, count);
    count += data.count;
    times.compute += now() - start;
  }

  // The first of a piece that lies on the device go to the list.
  void add_there(Stream& stream, const BufferBase& data, std::uint64_t byte_offset, std::uint64_t elements) {
    for (std::uint64_t first = 0; first < elements; first += topk_plan::most_elements) {
      const std::uint64_t length = std::min(topk_plan::most_elements, elements - first);
      const std::uint64_t wanted = std::min(k, length);
      DeviceTopk job(device, dtype, options, 1, length, wanted, true);
      job.start(stream, data, byte_offset + first * size_of(dtype), job.own_target());
      job.finish(stream);
      times.compute += job.seconds();
      const double start = now();
      const TopkResult found = TopkParts::fetch(stream, job, dtype, 1, wanted);
      times.transfer += now() - start;
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
  state_ = std::make_unique<State>(device, dtype, k, options);
}

TopkAccumulator::TopkAccumulator(TopkAccumulator&&) noexcept = default;
TopkAccumulator& TopkAccumulator::operator=(TopkAccumulator&&) noexcept = default;
TopkAccumulator::~TopkAccumulator() = default;

void TopkAccumulator::add(const ArrayView& data) {
  State& s = *state_;
  check_dtype("topk", s.dtype, data.dtype);
  if (data.count == 0) return;
  if (s.device.kind() == DeviceKind::cpu) return s.add_here(data);
  if (!s.staging) s.staging.emplace(s.device, 0);
  const std::size_t size = size_of(s.dtype);
  const std::uint64_t bytes = data.count * size;
  const std::uint64_t most = s.staging->piece_bytes() / size * size;
  const auto* from = static_cast<const std::byte*>(data.data);
  for (std::uint64_t first = 0; first < bytes; first += most) {
    const std::span piece(from + first, std::min(most, bytes - first));
    s.staging->piece({&piece, 1}, [&](Stream& stream, const BufferBase& buffer, auto) {
      s.add_there(stream, buffer, buffer.byte_offset(), piece.size() / size);
    });
  }
  s.staging->release();
}

void TopkAccumulator::add_buffer(const BufferBase& data, Dtype dtype) {
  State& s = *state_;
  check_dtype("topk", s.dtype, dtype);
  check_device("topk", s.device, data, nullptr);
  const std::uint64_t elements = check_buffer(data, dtype);
  if (elements == 0) return;
  if (s.device.kind() == DeviceKind::cpu) return s.add_here(host_view(data, dtype));
  Stream stream(s.device);
  s.add_there(stream, data, data.byte_offset(), elements);
}

std::uint64_t TopkAccumulator::count() const noexcept {
  return state_->count;
}

TopkResult TopkAccumulator::result() const {
  return TopkParts::of(state_->dtype, state_->list.result(), state_->list.skipped());
}

TopkTimes TopkAccumulator::times() const {
  TopkTimes times = state_->times;
  if (state_->staging) times.transfer += state_->staging->seconds();
  return times;
}

namespace {

TopkResult topk_here(const ArrayView& data, std::uint64_t k, const TopkOptions& options) {
  const double start = now();
  TopkResult result = TopkParts::make(data.dtype, options.rows, k);
  cpu::topk_rows(data, options.rows, k, ranking_of(data.dtype, options), TopkParts::target(result));
  if (options.times != nullptr) options.times->compute += now() - start;
  return result;
}

void start_times(const TopkOptions& options) {
  if (options.times != nullptr) *options.times = {};
}

void add_times(const TopkOptions& options, const TopkTimes& times) {
  if (options.times == nullptr) return;
  options.times->transfer += times.transfer;
  options.times->compute += times.compute;
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
    add_times(options, accumulator.times());
  }
  return result;
}

}  // namespace

TopkResult topk(const Device& device, const ArrayView& data, std::uint64_t k, const TopkOptions& options) {
  const std::uint64_t row = check_shape(data.count, k, options);
  start_times(options);
  if (device.kind() == DeviceKind::cpu) return topk_here(data, k, options);
  if (options.rows == 1) {
    TopkAccumulator accumulator(device, data.dtype, k, options);
    accumulator.add(data);
    add_times(options, accumulator.times());
    return accumulator.result();
  }
  const double start = now();
  const std::span bytes(static_cast<const std::byte*>(data.data), row * options.rows * size_of(data.dtype));
  const Buffer<std::byte> buffer = device.upload(bytes);
  const double brought = now() - start;
  TopkResult result = topk(buffer, data.dtype, k, options);
  add_times(options, {brought, 0});
  return result;
}

TopkResult topk(const BufferBase& data, Dtype dtype, std::uint64_t k, const TopkOptions& options) {
  const std::uint64_t row = check_shape(check_buffer(data, dtype), k, options);
  start_times(options);
  if (data.device().kind() == DeviceKind::cpu) return topk_here(host_view(data, dtype), k, options);
  if (!fits_one_launch(row, options)) return topk_in_pieces(data, dtype, row, k, options);
  Stream stream(data.device(), options.times != nullptr ? Timing::on : Timing::off);
  DeviceTopk job(data.device(), dtype, options, options.rows, row, k, true);
  job.start(stream, data, data.byte_offset(), job.own_target());
  job.finish(stream);
  const double start = now();
  TopkResult result = TopkParts::fetch(stream, job, dtype, options.rows, k);
  if (options.times != nullptr) add_times(options, {now() - start, job.seconds()});
  return result;
}

Pending<TopkResult> topk(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t k,
                         const TopkOptions& options) {
  const std::uint64_t row = check_shape(check_buffer(data, dtype), k, options);
  check_device("topk", stream.device(), data, &stream);
  TopkOptions quiet = options;
  quiet.times = nullptr;
  if (stream.device().kind() == DeviceKind::cpu) {
    stream.finish();  // what was given to it before may still change the data
    auto result = std::make_shared<TopkResult>(topk_here(host_view(data, dtype), k, quiet));
    return {stream.record(), [result] { return std::move(*result); }};
  }
  if (!fits_one_launch(row, options)) {
    return {stream.record(), [&data, dtype, row, k, quiet] { return topk_in_pieces(data, dtype, row, k, quiet); }};
  }
  auto job = std::make_shared<DeviceTopk>(stream.device(), dtype, quiet, options.rows, row, k, true);
  job->start(stream, data, data.byte_offset(), job->own_target());
  const std::uint64_t rows = options.rows;
  return {stream.record(), [job, &stream, dtype, rows, k] {
            job->finish(stream);
            return TopkParts::fetch(stream, *job, dtype, rows, k);
          }};
}

void topk(const BufferBase& data, Dtype dtype, std::uint64_t k, BufferBase& values, BufferBase& indices,
          const TopkOptions& options) {
  const std::uint64_t row = check_shape(check_buffer(data, dtype), k, options);
  const std::uint64_t places = options.rows * k;
  check_target(values, "values", places * size_of(dtype), data);
  check_target(indices, "indices", places * sizeof(std::uint64_t), data);
  if (overlap(values, indices)) refuse("values and indices must not overlap");
  const bool here = data.device().kind() == DeviceKind::cpu;
  Stream stream(data.device(), options.times != nullptr && !here ? Timing::on : Timing::off);
  if (!here && fits_one_launch(row, options)) {
    start_times(options);
    DeviceTopk job(data.device(), dtype, options, options.rows, row, k, false);
    job.start(stream, data, data.byte_offset(), {&indices, indices.byte_offset(), &values, values.byte_offset()});
    job.finish(stream);
    if (options.times != nullptr) add_times(options, {0, job.seconds()});
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

std::uint64_t topk_workspace(const Device& device, Dtype dtype, std::uint64_t count, std::uint64_t k,
                             const TopkOptions& options) {
  const std::uint64_t row = check_shape(count, k, options);
  if (device.kind() == DeviceKind::cpu) return 0;
  const std::uint64_t length = std::min(row, topk_plan::most_elements);
  const std::uint64_t rows = fits_one_launch(row, options) ? options.rows : 1;
  return DeviceTopk::bytes(device, dtype, options, rows, length, std::min(k, length), true);
}

Device device_for_topk(std::uint64_t bytes) {
  // As for counting: to read and to move the data is what takes the time.
  return device_for_histogram(bytes);
}

}  // namespace masu
