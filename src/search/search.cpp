// SPDX-License-Identifier: Apache-2.0
// The public functions: three forms of one call.
#include "call/form.h"
#include "search/search_plan.h"

#include <masu/search.h>

#include <fmt/format.h>

namespace masu {

namespace {

using call::Operand;

constexpr std::uint64_t most_of_u32 = std::uint64_t{1} << 32;

class Search final : public call::Primitive {
 public:
  Search(const Operand& sorted, const Operand& values, const Operand& positions, const SearchOptions& options)
      : Primitive("searchsorted", options.times),
        positions_(writes("positions", positions)),
        sorted_(reads("sorted data", sorted)),
        values_(reads("values", values)),
        options_(options) {}

 private:
  void check() override {
    if (sorted_.dtype() != values_.dtype()) {
      refuse(fmt::format("sorted data and values must be of one type, got {} and {}", to_string(sorted_.dtype()),
                         to_string(values_.dtype())));
    }
    if (positions_.dtype() != Dtype::u64 && positions_.dtype() != Dtype::u32) {
      refuse(fmt::format("positions are u64 or u32, got {}", to_string(positions_.dtype())));
    }
    if (positions_.dtype() == Dtype::u32 && sorted_.count() >= most_of_u32) {
      refuse(fmt::format("positions of type u32 serve less than 2^32 elements, got {}", sorted_.count()));
    }
    if (positions_.count() != values_.count()) {
      refuse(fmt::format("as many positions as values, got {} for {}", positions_.count(), values_.count()));
    }
  }
  [[nodiscard]] bool is_empty() const override { return values_.count() == 0; }
  void run_on_cpu() override { search_cpu(sorted_.view(), values_.view(), positions_.mutable_view(), options_); }
  void enqueue(Stream& stream) override {
    const auto plan = search_plan::make(stream.device().info(), values_.dtype(), sorted_.count(), values_.count());
    time(search_on_device(stream, sorted_.buffer(), values_.buffer(), values_.dtype(), positions_.buffer(),
                          positions_.dtype(), options_, plan));
  }

  const Operand& positions_;
  const Operand& sorted_;
  const Operand& values_;
  SearchOptions options_;
};

}  // namespace

void searchsorted(const Device& device, const ArrayView& sorted, const ArrayView& values, MutableArrayView positions,
                  const SearchOptions& options) {
  call::run_on<Search>(device, sorted, values, positions, options);
}

void searchsorted(const BufferBase& sorted, const BufferBase& values, Dtype dtype, BufferBase& positions,
                  Dtype position_dtype, const SearchOptions& options) {
  call::run<Search>(Operand(sorted, dtype), Operand(values, dtype), Operand(positions, position_dtype), options);
}

Pending<void> searchsorted(Stream& stream, const BufferBase& sorted, const BufferBase& values, Dtype dtype,
                           BufferBase& positions, Dtype position_dtype, const SearchOptions& options) {
  return call::start<Search>(stream, Operand(sorted, dtype), Operand(values, dtype), Operand(positions, position_dtype),
                             options);
}

}  // namespace masu
