// SPDX-License-Identifier: Apache-2.0
// The public functions: three forms of one call.
#include "call/form.h"
#include "transpose/transpose_plan.h"

#include <masu/transpose.h>

#include <fmt/format.h>

namespace masu {

namespace {

// What a kernel multiplies with to divide numbers below 2^16.
std::uint32_t inverse(std::uint64_t divisor) {
  return static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + divisor - 1) / divisor);
}

}  // namespace

Event transpose_on_device(Stream& stream, const BufferBase& in, const transpose_plan::Matrix& matrix,
                          const BufferBase& out, const transpose_plan::Plan& plan) {
  call::Arguments arguments;
  if (plan.strategy == transpose_plan::Strategy::tiles) {
    for (const BufferBase* buffer : {&in, &out}) {
      const std::uint64_t skip = call::place_of(*buffer) % plan.unit;
      arguments.add(call::At{*buffer, buffer->byte_offset() - skip});
      arguments.add(static_cast<std::uint32_t>(skip / matrix.element_bytes));
    }
    arguments.add(call::Arguments(matrix.rows, matrix.columns));
  } else {
    const std::uint64_t row_units = plan.tile_rows * plan.units;
    const std::uint64_t column_units = plan.tile_columns * plan.units;
    arguments.add(call::Arguments(in, out, matrix.rows, matrix.columns, static_cast<std::uint32_t>(plan.tile_rows),
                                  static_cast<std::uint32_t>(plan.tile_columns), inverse(row_units),
                                  inverse(column_units), static_cast<std::uint32_t>(column_units | 1)));
  }
  call::Kernels kernels(stream.device(), transpose_plan::files, plan.defines(), plan.group);
  return kernels.launch(stream, plan.kernel(), plan.groups, arguments, call::local<std::byte>(plan.local_bytes()));
}

namespace {

using call::Operand;

class Transpose final : public call::Primitive {
 public:
  Transpose(const Operand& in, std::uint64_t rows, std::uint64_t columns, const Operand& out,
            const TransposeOptions& options)
      : Primitive("transpose", options.times),
        out_(writes("the output", out)),
        in_(reads("the input, unless they are the same,", in)),
        rows_(rows),
        columns_(columns) {
    allow_in_place(in_);
  }

 private:
  void check() override {
    if (in_.element_bytes() != out_.element_bytes()) {
      refuse(
          fmt::format("elements must have one size, got {} and {} bytes", in_.element_bytes(), out_.element_bytes()));
    }
    if (rows_ != 0 && columns_ > call::most_elements / rows_) {
      refuse(fmt::format("at most 2^48 elements, got {} x {}", rows_, columns_));
    }
    if (in_.count() != rows_ * columns_ || out_.count() != rows_ * columns_) {
      refuse(fmt::format("{} x {} matrices have {} elements, got {} in and {} out", rows_, columns_, rows_ * columns_,
                         in_.count(), out_.count()));
    }
    if (rows_ != columns_ && in_.overlaps(out_) && in_.is_same(out_)) {
      refuse(fmt::format("a matrix must be square to be transposed in place, got {} x {}", rows_, columns_));
    }
  }
  [[nodiscard]] bool is_empty() const override { return in_.count() == 0; }
  void run_on_cpu() override { transpose_cpu(in_.data(), out_.data(), in_.element_bytes(), rows_, columns_); }
  void enqueue(Stream& stream) override {
    const BufferBase& in = in_.buffer();
    const BufferBase& out = out_.buffer();
    const bool in_place = in_.is_same(out_);
    if (rows_ <= 1 || columns_ <= 1) {  // the elements stay in their order
      if (!in_place) time(call::copy(stream, in, out));
      return;
    }
    const transpose_plan::Matrix matrix{rows_,   columns_, in_.element_bytes(), call::place_of(in), call::place_of(out),
                                        in_place};
    time(transpose_on_device(stream, in, matrix, out, transpose_plan::make(stream.device().info(), matrix)));
  }

  const Operand& out_;
  const Operand& in_;
  std::uint64_t rows_;
  std::uint64_t columns_;
};

}  // namespace

void transpose(const Device& device, const ConstRecordsView& in, std::uint64_t rows, std::uint64_t columns,
               const RecordsView& out, const TransposeOptions& options) {
  call::run_on<Transpose>(device, in, rows, columns, out, options);
}

void transpose(const BufferBase& in, std::size_t element_bytes, std::uint64_t rows, std::uint64_t columns,
               BufferBase& out, const TransposeOptions& options) {
  call::run<Transpose>(Operand(in, element_bytes), rows, columns, Operand(out, element_bytes), options);
}

Pending<void> transpose(Stream& stream, const BufferBase& in, std::size_t element_bytes, std::uint64_t rows,
                        std::uint64_t columns, BufferBase& out, const TransposeOptions& options) {
  return call::start<Transpose>(stream, Operand(in, element_bytes), rows, columns, Operand(out, element_bytes),
                                options);
}

}  // namespace masu
