// SPDX-License-Identifier: Apache-2.0
// The public functions: forms of one call.
#include "call/form.h"
#include "topk/topk_cpu.h"
#include "topk/topk_plan.h"

#include <masu/topk.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu {

namespace {

using call::Operand;

constexpr std::uint64_t most_rows = std::uint64_t{1} << 32;

// Elements of a row.
std::uint64_t check_shape(std::uint64_t count, std::uint64_t k, const TopkOptions& options) {
  if (options.rows == 0 || options.rows > most_rows || count % options.rows != 0) {
    call::refuse(topk_name,
                 fmt::format("rows must be 1 to 2^32 and divide the {} elements, got {}", count, options.rows));
  }
  call::check_nan(topk_name, options.nan, NanPolicy::last);
  const std::uint64_t row = count / options.rows;
  if (k < 1 || k > row) {
    call::refuse(topk_name, fmt::format("k must be 1 to {}, the elements{}, got {}", row,
                                        options.rows == 1 ? "" : " of a row", k));
  }
  return row;
}

// A call on the rows of one buffer must fit the kernels' 32-bit numbers.
bool fits_one_launch(std::uint64_t row, const TopkOptions& options) {
  return row <= topk_plan::most_elements && options.rows < std::uint64_t{1} << 32;
}

// At most the row's elements.
std::vector<std::uint64_t> clamped(const ArrayView& lengths, std::uint64_t row) {
  std::vector<std::uint64_t> result(lengths.count);
  dispatch(lengths.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      const T* const from = static_cast<const T*>(lengths.data);
      for (std::uint64_t r = 0; r < lengths.count; ++r) {
        result[r] = std::cmp_less(from[r], 0) ? 0 : std::min(static_cast<std::uint64_t>(from[r]), row);
      }
    }
  });
  return result;
}

// Rows beyond what one launch takes: each is cut into pieces. `lengths`: of all rows, or none.
TopkResult topk_in_pieces(const BufferBase& data, Dtype dtype, std::uint64_t row, std::uint64_t k,
                          const TopkOptions& options, std::span<const std::uint64_t> lengths) {
  TopkResult result = TopkParts::make(dtype, options.rows, k);
  const cpu::RowsTarget target = TopkParts::target(result);
  TopkOptions one = options;
  one.rows = 1;
  one.lengths = nullptr;
  for (std::uint64_t r = 0; r < options.rows; ++r) {
    TopkAccumulator accumulator(data.device(), dtype, k, one);
    const std::uint64_t begin = data.byte_offset() + r * row * size_of(dtype);
    const std::uint64_t bytes = (lengths.empty() ? row : lengths[r]) * size_of(dtype);
    accumulator.add_buffer(Buffer<const std::byte>(data.device(), data.memory(), begin, bytes), dtype);
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

// Puts them closer, as u32.
void narrow(std::uint64_t* indices, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint32_t>(indices[i]);
    std::memcpy(reinterpret_cast<std::byte*>(indices) + i * sizeof index, &index, sizeof index);
  }
}

// Lengths are where the data are, or in memory of `cpu` where these are the host's.
std::optional<Operand> lengths_beside(const Operand& data, const TopkOptions& options) {
  if (options.lengths == nullptr) return std::nullopt;
  const Dtype dtype = options.lengths_dtype;
  if (!data.is_on_host()) return Operand(*options.lengths, dtype);
  if (!call::on_cpu(options.lengths->device())) {
    call::refuse(topk_name,
                 fmt::format("lengths of host data must lie on cpu, got {}", options.lengths->device().id()));
  }
  return Operand(call::host_view(*options.lengths, dtype));
}

// The top k of each row, for the host, or to memory of the caller's.
class Selection final : public call::Primitive {
 public:
  Selection(const Operand& data, std::uint64_t k, const TopkOptions& options, BufferBase* values = nullptr,
            BufferBase* indices = nullptr)
      : Primitive(topk_name, options.times), k_(k), options_(options), values_(values), indices_(indices) {
    if (values != nullptr) writes("values", Operand(*values, 1));
    if (indices != nullptr) writes("indices", Operand(*indices, 1));
    data_ = &reads("the data", data);
    lengths_ = reads("lengths", lengths_beside(data, options));
  }
  [[nodiscard]] TopkResult result() { return std::move(result_); }

 private:
  void check() override {
    row_ = check_shape(data_->count(), k_, options_);
    check_integers("index_dtype", options_.index_dtype);
    check_integers("lengths_dtype", options_.lengths_dtype);
    check_size("values", values_, places(), size_of(data_->dtype()));
    check_size("indices", indices_, places(), size_of(options_.index_dtype));
    check_size("lengths", options_.lengths, options_.rows, size_of(options_.lengths_dtype));
    if (size_of(options_.index_dtype) < sizeof(std::uint64_t) && row_ > topk_plan::most_elements) {
      refuse(fmt::format("index_dtype must be u64 or i64 for rows of more than 2^31 elements, got {}",
                         to_string(options_.index_dtype)));
    }
  }
  void check_integers(std::string_view name, Dtype dtype) const {
    if (!is_float(dtype) && size_of(dtype) >= sizeof(std::uint32_t)) return;
    refuse(fmt::format("{} must be u32, i32, u64 or i64, got {}", name, to_string(dtype)));
  }
  void check_size(std::string_view name, const BufferBase* memory, std::uint64_t count,
                  std::size_t element_bytes) const {
    if (memory == nullptr) return;
    if (memory->size_bytes() != count * element_bytes) {
      refuse(fmt::format("{} must have {} bytes, got {}", name, count * element_bytes, memory->size_bytes()));
    }
    call::check_begin(topk_name, name, *memory, element_bytes);
  }
  [[nodiscard]] bool is_empty() const override { return false; }
  [[nodiscard]] std::uint64_t places() const { return options_.rows * k_; }

  void run_on_cpu() override {
    result_ = TopkParts::make(data_->dtype(), options_.rows, k_);
    const cpu::RowsTarget found = TopkParts::target(result_);
    std::vector<std::uint64_t> lengths;
    if (lengths_ != nullptr) lengths = clamped(lengths_->view(), row_);
    cpu::topk_rows(data_->view(), options_.rows, k_, ranking_of(data_->dtype(), options_), lengths, found);
    fill_places();
    if (values_ == nullptr) return;
    std::memcpy(call::host_address(*values_), found.values, values_->size_bytes());
    std::memcpy(call::host_address(*indices_), found.indices, indices_->size_bytes());
  }
  // Makes the result what the caller's memory gets.
  void fill_places() {
    TopkParts::fill_places(result_, options_);
    if (indices_ != nullptr && size_of(options_.index_dtype) < sizeof(std::uint64_t)) {
      narrow(TopkParts::target(result_).indices, places());
    }
  }

  void enqueue(Stream& stream) override {
    stream_ = &stream;
    options_.times = times();
    if (lengths_ != nullptr) options_.lengths = &lengths_->buffer();
    const BufferBase& data = data_->buffer();
    if (!fits_one_launch(row_, options_)) {
      if (waits() || values_ != nullptr) select_in_pieces(stream);
      return;
    }
    if (!waits()) {
      call::check_capture(topk_name, stream, options_.workspace,
                          DeviceTopk::bytes(data.device(), data_->dtype(), options_, options_.rows, row_, k_, true,
                                            values_ == nullptr));
    }
    job_.emplace(data, data_->dtype(), options_, options_.rows, row_, k_, !waits(), indices_, values_);
    job_->start(stream, data.byte_offset());
    if (!waits()) return;
    if (values_ == nullptr) return finish_job();
    job_->finish(stream);
    if (times() != nullptr) times()->compute += job_->seconds();
  }
  void select_in_pieces(Stream& stream) {
    if (!waits()) stream.finish();  // what was given to it before may still change the data
    std::vector<std::uint64_t> lengths;
    if (lengths_ != nullptr) {
      std::vector<std::byte> bytes(lengths_->bytes());
      call::fetch(stream, lengths_->buffer(), lengths_->buffer().byte_offset(), bytes.data(), bytes.size());
      stream.finish();
      lengths = clamped({lengths_->dtype(), bytes.data(), lengths_->count()}, row_);
    }
    result_ = topk_in_pieces(data_->buffer(), data_->dtype(), row_, k_, options_, lengths);
    fill_places();
    if (values_ == nullptr) return;
    const cpu::RowsTarget found = TopkParts::target(result_);
    stream.write_bytes(*values_, 0, found.values, values_->size_bytes());
    stream.write_bytes(*indices_, 0, found.indices, indices_->size_bytes());
    stream.finish();
  }
  void finish() override {
    if (waits() || values_ != nullptr || stream_ == nullptr) return;
    if (job_) finish_job();
    else select_in_pieces(*stream_);
  }
  void finish_job() { result_ = TopkParts::finish(*stream_, *job_, data_->dtype(), options_.rows, k_, times()); }

  const Operand* data_;
  const Operand* lengths_;
  std::uint64_t k_;
  TopkOptions options_;
  BufferBase* values_;
  BufferBase* indices_;
  std::uint64_t row_ = 0;
  TopkResult result_;
  std::optional<DeviceTopk> job_;
  Stream* stream_ = nullptr;
};

}  // namespace

TopkResult topk(const Device& device, const ArrayView& data, std::uint64_t k, const TopkOptions& options) {
  if (call::on_cpu(device) || options.rows != 1 || options.lengths != nullptr)
    return call::run_on<Selection>(device, data, k, options);
  // One row goes in pieces, so that copies go on beside the kernels.
  const FloatingPointScope usual;
  check_shape(data.count, k, options);
  call::start_times(options.times);
  TopkAccumulator accumulator(device, data.dtype, k, options);
  accumulator.add(data);
  call::add_times(options.times, accumulator.times());
  return accumulator.result();
}

TopkResult topk(const BufferBase& data, Dtype dtype, std::uint64_t k, const TopkOptions& options) {
  return call::run<Selection>(Operand(data, dtype), k, options);
}

Pending<TopkResult> topk(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t k,
                         const TopkOptions& options) {
  return call::start<Selection>(stream, Operand(data, dtype), k, options);
}

void topk(const BufferBase& data, Dtype dtype, std::uint64_t k, BufferBase& values, BufferBase& indices,
          const TopkOptions& options) {
  (void)call::run<Selection>(Operand(data, dtype), k, options, &values, &indices);
}

Pending<void> topk(Stream& stream, const BufferBase& data, Dtype dtype, std::uint64_t k, BufferBase& values,
                   BufferBase& indices, const TopkOptions& options) {
  return call::start_into<Selection>(stream, Operand(data, dtype), k, options, &values, &indices);
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
