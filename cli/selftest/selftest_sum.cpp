// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/pieces.h"
#include "cli/arrays/reduce_job.h"
#include "cli/selftest/reference_exact.h"
#include "cli/selftest/selftest.h"
#include "element_text.h"

#include <fmt/format.h>
#include <masu/sum.h>
#include <cstring>

namespace masu::cli {
namespace {

struct Data {
  ArrayView view;
  std::uint64_t rows;
  Dtype result;
};

bool same(const SumResult& found, const std::vector<ReduceColumn>& expected) {
  const ArrayView values = expected.front().view();
  if (found.rows() != values.count) return false;
  for (std::uint64_t row = 0; row < values.count; ++row) {
    std::uint64_t bits = 0;
    if (found.dtype() == Dtype::i64) bits = static_cast<std::uint64_t>(found.signed_integer(row));
    else if (found.dtype() == Dtype::u64) bits = found.unsigned_integer(row);
    else bits = bits_of(found.value(row), found.dtype());
    if (found.dtype() != values.dtype || bits != bits_of(values, row)) return false;
  }
  return true;
}

std::vector<ReduceColumn> reference(const Data& data, const char* op, std::uint64_t ddof = 0) {
  ReduceRequest request;
  request.ops = {op};
  request.result = data.result;
  request.ddof = ddof;
  request.rows = data.rows;
  return reference_reduce(data.view, request);
}

SumOptions options_of(const Data& data) {
  SumOptions options;
  options.rows = data.rows;
  options.result = data.result;
  return options;
}

bool sums(const Device& device, const Data& data) {
  return same(sum(device, data.view, options_of(data)), reference(data, "sum"));
}

bool means(const Device& device, const Data& data) {
  if (data.view.count == 0) return true;
  return same(mean(device, data.view, options_of(data)), reference(data, "mean"));
}

bool norms(const Device& device, const Data& data) {
  return same(norm2(device, data.view, options_of(data)), reference(data, "norm2"));
}

bool variances(const Device& device, const Data& data) {
  SumOptions options = options_of(data);
  options.ddof = data.rows > 1 ? 1 : 0;
  if (data.view.count / data.rows <= options.ddof) return true;
  return same(variance(device, data.view, options), reference(data, "variance", options.ddof)) &&
         same(standard_deviation(device, data.view, options), reference(data, "std", options.ddof));
}

// The data with itself backwards.
bool dots(const Device& device, const Data& data) {
  const std::size_t size = size_of(data.view.dtype);
  const auto* from = static_cast<const std::byte*>(data.view.data);
  std::vector<std::byte> backwards(data.view.count * size);
  for (std::uint64_t i = 0; i < data.view.count; ++i) {
    std::memcpy(backwards.data() + i * size, from + (data.view.count - 1 - i) * size, size);
  }
  const ArrayView other(data.view.dtype, backwards.data(), data.view.count);
  const std::uint64_t length = data.view.count / data.rows;
  const bool integers = !is_float(data.view.dtype);
  const bool with_sign = is_signed(data.view.dtype);
  ReduceColumn column(integers ? with_sign ? Dtype::i64 : Dtype::u64 : data.result);
  for (std::uint64_t row = 0; row < data.rows; ++row) {
    ReferenceSum products;
    for (std::uint64_t i = row * length; i < (row + 1) * length; ++i) products.add_product(data.view, i, other, i);
    std::uint64_t bits = 0;
    if (integers && !products.integer(with_sign, bits)) return false;
    if (!integers) bits = bits_of(products.sum(data.result), data.result);
    column.append({column.dtype, &bits, 1});
  }
  return same(dot(device, data.view, other, options_of(data)), {column});
}

// In two accumulators, one of which goes through bytes, and merged.
bool sums_of_pieces(const Device& device, const Data& data) {
  const std::uint64_t third = data.view.count / 3;
  SumAccumulator first(device, data.view.dtype, SumKind::squares);
  SumAccumulator second(device, data.view.dtype, SumKind::squares);
  first.add(part_of(data.view, 0, third));
  second.add(part_of(data.view, third, third));
  second.add(part_of(data.view, 2 * third, data.view.count - 2 * third));
  SumAccumulator all = SumAccumulator::from_bytes(device, first.bytes());
  all.merge(second);
  const Data whole{data.view, 1, data.result};
  return same(all.sum(data.result), reference(whole, "sum")) && same(all.norm2(data.result), reference(whole, "norm2"));
}

struct SumShape {
  std::uint64_t rows;
  std::uint64_t length;
};

struct SumOperation {
  const char* name;
  bool (*run)(const Device& device, const Data& data);
};
constexpr std::array<SumOperation, 6> sum_operations{{{"sum", sums},
                                                      {"mean", means},
                                                      {"norm2", norms},
                                                      {"variance", variances},
                                                      {"dot product", dots},
                                                      {"sum of pieces", sums_of_pieces}}};

// Finite floats of every exponent: random bits, where those of infinities and NaNs lose one.
std::vector<std::byte> every_exponent(Dtype dtype, std::uint64_t count, std::uint64_t seed) {
  const std::size_t size = size_of(dtype);
  std::vector<std::byte> bytes(count * size);
  std::uint64_t state = seed;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(state >> 56U);
  }
  const unsigned exponent = dtype == Dtype::f16 ? 0x7c : 0x7f;  // the part of it in the highest byte
  for (std::uint64_t i = 0; i < count; ++i) {
    std::byte& highest = bytes[(i + 1) * size - 1];
    if ((std::to_integer<unsigned>(highest) & exponent) == exponent) highest &= std::byte{0xbf};
  }
  return bytes;
}

}  // namespace

// Kinds of data and types of results take turns.
void selftest_sum(const Device& device, SelftestTally& tally) {
  std::uint64_t number = 0;
  for (const Dtype dtype : selftest_dtypes) {
    for (const SumShape& shape : {SumShape{1, 0}, {1, 1}, {1, 20011}, {30, 137}}) {
      for (const SumOperation& operation : sum_operations) {
        ++number;
        const std::uint64_t count = shape.rows * shape.length;
        const Dtype result = number % 4 == 0 ? Dtype::f32 : number % 4 == 2 ? Dtype::f16 : Dtype::f64;
        const bool special = is_float(dtype) && number % 5 == 0;
        const bool wide = is_float(dtype) && !special && number % 2 == 0;
        const std::string name =
            fmt::format("{} of {} rows of {} {} {} values, to {}", operation.name, shape.rows, shape.length,
                        special ? "special"
                        : wide  ? "any"
                                : "uniform",
                        to_string(dtype), to_string(result));
        selftest_case(device, tally, name, Strategy::automatic, [&] {
          const std::vector<std::byte> bytes = special ? selftest_special_data(dtype, "uniform", count, number)
                                               : wide  ? every_exponent(dtype, count, number)
                                                       : selftest_data(dtype, "uniform", count, number);
          return operation.run(device, {{dtype, bytes.data(), count}, shape.rows, result});
        });
      }
    }
  }
}

}  // namespace masu::cli
