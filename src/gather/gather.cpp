// SPDX-License-Identifier: Apache-2.0
// Gather, scatter, permute and reverse: three forms of each.
#include "call/form.h"
#include "gather/gather_plan.h"

#include <masu/gather.h>

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

namespace masu {

namespace {

using call::Operand;
using gather_plan::Move;
using gather_plan::Operation;

constexpr std::array<std::string_view, 4> names = {"gather", "scatter", "permute", "reverse"};

class Movement final : public call::Primitive {
 public:
  // No indices: reverse.
  Movement(Operation operation, const Operand& in, const std::optional<Operand>& indices, const Operand& out,
           const GatherOptions& options)
      : Primitive(names[static_cast<std::size_t>(operation)], options.times, indices ? options.workspace : nullptr,
                  indices ? options.status : nullptr),
        // Scatter may leave a part of the output as it was.
        out_(operation == Operation::scatter ? changes("the output", out) : writes("the output", out)),
        in_(reads("the input", in)),
        indices_(reads("the indices", indices)) {
    if (operation == Operation::reverse) allow_in_place(in_);
    move_.operation = operation;
    move_.rows = options.rows;
  }

 private:
  void check() override {
    if (in_.element_bytes() != out_.element_bytes()) {
      refuse(
          fmt::format("elements must have one size, got {} and {} bytes", in_.element_bytes(), out_.element_bytes()));
    }
    if (indices_ != nullptr && indices_->dtype() != Dtype::u32 && indices_->dtype() != Dtype::u64) {
      refuse(fmt::format("indices are u32 or u64, got {}", to_string(indices_->dtype())));
    }
    move_.element_bytes = in_.element_bytes();
    move_.in_row = row_of("elements", in_.count());
    move_.out_row = row_of("elements out", out_.count());
    move_.in_place = indices_ == nullptr && in_.is_same(out_);
    if (indices_ != nullptr) check_indices(indices_->count());
    else if (in_.count() != out_.count()) refuse_counts("as many elements out as in", out_.count(), in_.count());
  }
  void check_indices(std::uint64_t count) {
    move_.indices = count;
    move_.index_dtype = indices_->dtype();
    if (move_.operation == Operation::permute) {
      if (move_.in_row != count || move_.out_row != count) {
        refuse(fmt::format("rows have as many elements as the mask, got {} in and {} out for {}", move_.in_row,
                           move_.out_row, count));
      }
    } else {
      const bool scatters = move_.operation == Operation::scatter;
      const std::uint64_t elements = scatters ? in_.count() : out_.count();
      if (elements != count) {
        refuse_counts(scatters ? "as many elements as indices" : "as many elements out as indices", elements, count);
      }
      move_.index_row = count / move_.rows;
    }
    if (count != 0 && move_.limit() == 0) refuse(fmt::format("indices must be below 0, got {} of them", count));
  }
  [[noreturn]] void refuse_counts(std::string_view rule, std::uint64_t got, std::uint64_t expected) const {
    refuse(fmt::format("{}, got {} for {}", rule, got, expected));
  }
  [[nodiscard]] std::uint64_t row_of(std::string_view what, std::uint64_t count) const {
    if (move_.rows == 0) refuse("rows must be >= 1, got 0");
    if (count % move_.rows != 0) refuse(fmt::format("{} rows must divide the {} {}", move_.rows, count, what));
    return count / move_.rows;
  }

  // Nothing moves, and no index can be wrong.
  [[nodiscard]] bool is_empty() const override { return (indices_ == nullptr ? in_ : *indices_).count() == 0; }
  [[nodiscard]] std::uint64_t workspace_bytes(const Device& /*device*/) override {
    if (indices_ == nullptr) return 0;
    return move_.operation == Operation::scatter ? gather_plan::scatter_bytes(out_.count())
                                                 : gather_plan::notes_bytes();
  }
  void run_on_cpu() override {
    if (indices_ == nullptr) return move_cpu(move_, in_.data(), nullptr, out_.data());
    const void* indices = indices_->data();
    const std::uint64_t bad = first_bad_index_cpu(indices, move_.index_dtype, move_.indices, move_.limit());
    if (bad == move_.indices) return move_cpu(move_, in_.data(), indices, out_.data());
    fault_ = {bad, move_.index_dtype == Dtype::u32 ? static_cast<const std::uint32_t*>(indices)[bad]
                                                   : static_cast<const std::uint64_t*>(indices)[bad]};
  }
  void enqueue(Stream& stream) override {
    const auto plan = gather_plan::make(stream.device().info(), move_.element_bytes,
                                        call::place_of(in_.buffer()) | call::place_of(out_.buffer()));
    if (indices_ == nullptr) return time(reverse_on_device(stream, move_, in_.buffer(), out_.buffer(), plan));
    time(move_on_device(stream, move_, in_.buffer(), indices_->buffer(), out_.buffer(), workspace(), plan, status()));
  }
  void finish() override {
    if (has_workspace()) {
      fault_ = call::first_fault(
          workspace().slice(gather_plan::flag_bytes, gather_plan::notes_bytes() - gather_plan::flag_bytes));
    }
    if (!fault_.found()) return;
    refuse(
        fmt::format("indices must be below {}, got {} at position {}", move_.limit(), fault_.element, fault_.position));
  }

  const Operand& out_;
  const Operand& in_;
  const Operand* indices_;
  Move move_;
};

}  // namespace

std::uint64_t gather_workspace(const Device& device) noexcept {
  return call::on_cpu(device) ? 0 : gather_plan::notes_bytes();
}

std::uint64_t scatter_workspace(const Device& device, std::uint64_t out_count) noexcept {
  return call::on_cpu(device) ? 0 : gather_plan::scatter_bytes(out_count);
}

// The forms of each function; `WITH` leaves out the indices where there are none.
#define MASU_MOVEMENT_FORMS(name, WITH, on_host, on_device)                                                            \
  void name(const Device& device, const ConstRecordsView& in WITH(, const ArrayView& indices), const RecordsView& out, \
            const GatherOptions& options) {                                                                            \
    call::run_on<Movement>(device, Operation::name, in, on_host, out, options);                                        \
  }                                                                                                                    \
  void name(const BufferBase& in, std::size_t element_bytes WITH(, const BufferBase& indices, Dtype index_dtype),      \
            BufferBase& out, const GatherOptions& options) {                                                           \
    call::run<Movement>(Operation::name, Operand(in, element_bytes), on_device, Operand(out, element_bytes), options); \
  }                                                                                                                    \
  Pending<void> name(Stream& stream, const BufferBase& in,                                                             \
                     std::size_t element_bytes WITH(, const BufferBase& indices, Dtype index_dtype), BufferBase& out,  \
                     const GatherOptions& options) {                                                                   \
    return call::start<Movement>(stream, Operation::name, Operand(in, element_bytes), on_device,                       \
                                 Operand(out, element_bytes), options);                                                \
  }
#define MASU_INDICES(...) __VA_ARGS__
#define MASU_NO_INDICES(...)
MASU_MOVEMENT_FORMS(gather, MASU_INDICES, Operand(indices), Operand(indices, index_dtype))
MASU_MOVEMENT_FORMS(scatter, MASU_INDICES, Operand(indices), Operand(indices, index_dtype))
MASU_MOVEMENT_FORMS(permute, MASU_INDICES, Operand(indices), Operand(indices, index_dtype))
MASU_MOVEMENT_FORMS(reverse, MASU_NO_INDICES, std::nullopt, std::nullopt)
#undef MASU_MOVEMENT_FORMS
#undef MASU_INDICES
#undef MASU_NO_INDICES

}  // namespace masu
