// SPDX-License-Identifier: Apache-2.0
// Compact, fill and iota: three forms of each.
#include "call/form.h"
#include "elements/order.h"
#include "gather/gather_plan.h"

#include <masu/gather.h>

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace masu {

namespace {

using call::Operand;

void check_rows(std::string_view function, std::uint64_t rows) {
  if (rows != 1) call::refuse(function, fmt::format("there are no rows here, got {}", rows));
}

// Tiles of the smallest work-groups that a device may want.
std::uint64_t notes_for(const Device& device, std::uint64_t count) {
  return gather_plan::compact_bytes(count, gather_plan::make(device.info(), 1, 0).tile());
}

class Compaction final : public call::Primitive {
 public:
  // `number`: where the caller wants to have it on the device, or none.
  Compaction(const Operand& in, const Operand& flags, const Operand& out, const std::optional<Operand>& number,
             const GatherOptions& options)
      : Primitive("compact", options.times, options.workspace),
        out_(writes("the output", out)),
        in_(reads("the input", in)),
        flags_(reads("the flags", flags)),
        number_there_(number ? &returns("the number", *number) : nullptr),
        rows_(options.rows) {}
  [[nodiscard]] std::uint64_t result() const noexcept { return number_; }

 private:
  void check() override {
    check_rows(function_name(), rows_);
    if (in_.element_bytes() != out_.element_bytes()) {
      refuse(
          fmt::format("elements must have one size, got {} and {} bytes", in_.element_bytes(), out_.element_bytes()));
    }
    if (flags_.element_bytes() != 1) refuse(fmt::format("flags are u8, got {}", to_string(flags_.dtype())));
    if (flags_.count() != in_.count()) {
      refuse(fmt::format("as many flags as elements, got {} for {}", flags_.count(), in_.count()));
    }
    if (number_there_ != nullptr) check_result(*number_there_, 1);
  }
  [[nodiscard]] bool is_empty() const override { return in_.count() == 0; }
  [[nodiscard]] std::uint64_t workspace_bytes(const Device& device) override { return notes_for(device, in_.count()); }
  void run_on_cpu() override {
    number_ = compact_cpu(in_.element_bytes(), in_.count(), in_.data(), flags_.data(), out_.data(), out_.count());
    if (number_there_ != nullptr) std::memcpy(number_there_->data(), &number_, sizeof number_);
  }
  void enqueue(Stream& stream) override {
    const BufferBase& in = in_.buffer();
    const BufferBase& out = out_.buffer();
    const auto plan =
        gather_plan::make(stream.device().info(), in_.element_bytes(), call::place_of(in) | call::place_of(out));
    time(compact_on_device(stream, in_.count(), in, flags_.buffer(), out, out_.count(), workspace(), plan,
                           number_there_ != nullptr ? &number_there_->buffer() : nullptr));
  }
  bool enqueue_empty(Stream& stream) override {
    if (number_there_ == nullptr) return false;
    call::clear(stream, number_there_->buffer(), 0, sizeof number_);
    return true;
  }
  void finish() override {
    if (number_there_ != nullptr) return;
    if (has_workspace()) workspace().slice(0, sizeof number_).read(std::as_writable_bytes(std::span(&number_, 1)));
    if (number_ > out_.count()) {
      refuse(fmt::format("the output must have room for all that is selected, {} elements, got {}", number_,
                         out_.count()));
    }
    bring_back(number_ * out_.element_bytes());
  }

  const Operand& out_;
  const Operand& in_;
  const Operand& flags_;
  const Operand* number_there_;
  std::uint64_t rows_;
  std::uint64_t number_ = 0;
};

// An element as 64 bits: of floats the bits of f64, of integers the value modulo 2^64.
std::uint64_t as_word(Dtype dtype, const void* element) {
  return dispatch(dtype, [&]<class T>(TypeTag<T>) {
    T value;
    std::memcpy(&value, element, sizeof value);
    if constexpr (std::is_integral_v<T>) return static_cast<std::uint64_t>(value);
    else return std::bit_cast<std::uint64_t>(to_f64(value));
  });
}

class Filling final : public call::Primitive {
 public:
  Filling(const Operand& out, const void* element, const GatherOptions& options)
      : Primitive("fill", options.times), out_(writes("the output", out)), element_(element), rows_(options.rows) {}

 private:
  void check() override { check_rows(function_name(), rows_); }
  [[nodiscard]] bool is_empty() const override { return out_.count() == 0; }
  void run_on_cpu() override {
    Stream stream(device(), Timing::off);
    enqueue(stream);
  }
  void enqueue(Stream& stream) override { time(call::fill(stream, out_.buffer(), element_, out_.element_bytes())); }

  const Operand& out_;
  const void* element_;
  std::uint64_t rows_;
};

class Iota final : public call::Primitive {
 public:
  Iota(const Operand& out, const void* start, const void* step, const GatherOptions& options)
      : Primitive("iota", options.times),
        out_(writes("the output", out)),
        start_(start),
        step_(step),
        rows_(options.rows) {}

 private:
  void check() override {
    check_rows(function_name(), rows_);
    if (!is_float(out_.dtype()) || device().info().fp64) return;
    throw Error(ErrorCode::unsupported, fmt::format("iota: {} needs double precision, which {} does not have",
                                                    to_string(out_.dtype()), device().id()));
  }
  [[nodiscard]] bool is_empty() const override { return out_.count() == 0; }
  void run_on_cpu() override { iota_cpu(out_.dtype(), out_.count(), out_.data(), word_of(start_), word_of(step_)); }
  void enqueue(Stream& stream) override {
    const BufferBase& out = out_.buffer();
    const auto plan = gather_plan::make(stream.device().info(), out_.element_bytes(), out.byte_offset());
    time(iota_on_device(stream, out_.dtype(), out_.count(), out, word_of(start_), word_of(step_), plan));
  }

  // In masu's floating-point environment, so not in the constructor.
  [[nodiscard]] std::uint64_t word_of(const void* element) const { return as_word(out_.dtype(), element); }

  const Operand& out_;
  const void* start_;
  const void* step_;
  std::uint64_t rows_;
};

}  // namespace

std::uint64_t compact_workspace(const Device& device, std::uint64_t count) noexcept {
  return call::on_cpu(device) ? 0 : notes_for(device, count);
}

std::uint64_t compact(const Device& device, const ConstRecordsView& in, const ArrayView& flags, const RecordsView& out,
                      const GatherOptions& options) {
  return call::run_on<Compaction>(device, in, flags, out, std::nullopt, options);
}

std::uint64_t compact(const BufferBase& in, std::size_t element_bytes, const BufferBase& flags, BufferBase& out,
                      const GatherOptions& options) {
  return call::run<Compaction>(Operand(in, element_bytes), Operand(flags, 1), Operand(out, element_bytes), std::nullopt,
                               options);
}

Pending<std::uint64_t> compact(Stream& stream, const BufferBase& in, std::size_t element_bytes, const BufferBase& flags,
                               BufferBase& out, const GatherOptions& options) {
  return call::start<Compaction>(stream, Operand(in, element_bytes), Operand(flags, 1), Operand(out, element_bytes),
                                 std::nullopt, options);
}

Pending<void> compact(Stream& stream, const BufferBase& in, std::size_t element_bytes, const BufferBase& flags,
                      BufferBase& out, const BufferBase& number, const GatherOptions& options) {
  return call::start_into<Compaction>(stream, Operand(in, element_bytes), Operand(flags, 1),
                                      Operand(out, element_bytes), Operand(number, Dtype::u64), options);
}

void fill(BufferBase& out, const void* element, std::size_t element_bytes, const GatherOptions& options) {
  call::run<Filling>(Operand(out, element_bytes), element, options);
}

Pending<void> fill(Stream& stream, BufferBase& out, const void* element, std::size_t element_bytes,
                   const GatherOptions& options) {
  return call::start<Filling>(stream, Operand(out, element_bytes), element, options);
}

void iota(const Device& device, MutableArrayView out, const void* start, const void* step,
          const GatherOptions& options) {
  call::run_on<Iota>(device, out, start, step, options);
}

void iota(BufferBase& out, Dtype dtype, const void* start, const void* step, const GatherOptions& options) {
  call::run<Iota>(Operand(out, dtype), start, step, options);
}

Pending<void> iota(Stream& stream, BufferBase& out, Dtype dtype, const void* start, const void* step,
                   const GatherOptions& options) {
  return call::start<Iota>(stream, Operand(out, dtype), start, step, options);
}

}  // namespace masu
