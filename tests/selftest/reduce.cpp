// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"
#include "cli/verify/references.h"
#include "tests/selftest/selftest.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/reduce.h>
#include <masu/scan.h>
#include <masu/sum.h>
#include <cstring>

namespace masu::cli {
namespace {

bool same(const ArrayView& found, const Column& expected) {
  const ArrayView values = expected.view();
  bool right = found.dtype == values.dtype && found.count == values.count;
  for (std::uint64_t i = 0; right && i < found.count; ++i) right = bits_of(found, i) == bits_of(values, i);
  return right;
}

std::vector<Column> reference(const ArrayView& data, std::uint64_t rows, std::vector<std::string> ops) {
  ReduceRequest request;
  request.ops = std::move(ops);
  request.rows = rows;
  return reference_reduce(data, request);
}

bool extremes(const SelftestData& test) {
  const auto expected = reference(test.data, test.rows, {"min", "argmin", "max", "argmax"});
  ReduceOptions options;
  options.rows = test.rows;
  const ReduceResult both = reduce(test.device, test.data, ReduceOp::minmax, options);
  const ReduceResult least = reduce(test.device, test.data, ReduceOp::min, options);
  const ReduceResult greatest = reduce(test.device, test.data, ReduceOp::max, options);
  return same(both.min_values(), expected[0]) && same(ArrayView(both.min_indices()), expected[1]) &&
         same(both.max_values(), expected[2]) && same(ArrayView(both.max_indices()), expected[3]) &&
         same(least.min_values(), expected[0]) && same(ArrayView(greatest.max_indices()), expected[3]);
}

// The reference of what is left when NaNs are taken away; the places counted among all.
bool extremes_without_nan(const SelftestData& test) {
  ReduceOptions options;
  options.rows = test.rows;
  options.nan = NanPolicy::skip;
  const ReduceResult found = reduce(test.device, test.data, ReduceOp::minmax, options);
  const std::uint64_t length = test.data.count / test.rows;
  for (std::uint64_t row = 0; row < test.rows; ++row) {
    Column kept(test.data.dtype);
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = 0; i < length; ++i) {
      if (is_nan(test.data, row * length + i)) continue;
      kept.append(part_of(test.data, row * length + i, 1));
      places.push_back(i);
    }
    if (places.empty()) continue;
    const auto expected = reference(kept.view(), 1, {"min", "argmin", "max", "argmax"});
    const bool values = bits_of(found.min_values(), row) == bits_of(expected[0].view(), 0) &&
                        bits_of(found.max_values(), row) == bits_of(expected[2].view(), 0);
    const bool indices = found.min_indices()[row] == places[bits_of(expected[1].view(), 0)] &&
                         found.max_indices()[row] == places[bits_of(expected[3].view(), 0)];
    if (!values || !indices) return false;
  }
  return true;
}

bool nonzero(const SelftestData& test) {
  ReduceOptions options;
  options.rows = test.rows;
  const ReduceResult found = reduce(test.device, test.data, ReduceOp::count_nonzero, options);
  return same(ArrayView(found.nonzero()), reference(test.data, test.rows, {"count-nonzero"}).front());
}

bool pieces(const SelftestData& test) {
  ReduceAccumulator first(test.device, test.data.dtype, ReduceOp::minmax);
  ReduceAccumulator second(test.device, test.data.dtype, ReduceOp::minmax);
  const std::uint64_t third = test.data.count / 3;
  first.add(part_of(test.data, 0, third));
  second.add(part_of(test.data, third, third));
  second.add(part_of(test.data, 2 * third, test.data.count - 2 * third));
  first.merge(second);
  const ReduceResult found = first.result();
  const auto expected = reference(test.data, 1, {"min", "argmin", "max", "argmax"});
  return same(found.min_values(), expected[0]) && same(ArrayView(found.min_indices()), expected[1]) &&
         same(found.max_values(), expected[2]) && same(ArrayView(found.max_indices()), expected[3]);
}

constexpr std::array<SelftestShape, 3> reduce_shapes{{{1, 1}, {1, 70001}, {30, 137}}};
constexpr std::array<SelftestCheck, 4> reduce_checks{{{"extremes", extremes},
                                                      {"extremes without NaN", extremes_without_nan},
                                                      {"values that are not zero", nonzero},
                                                      {"extremes of pieces", pieces}}};

}  // namespace

void selftest_reduce(const Device& device, SelftestTally& tally) {
  selftest_each(device, tally, reduce_shapes, reduce_checks, 3);
}

namespace {

struct Data {
  ArrayView view;
  std::uint64_t rows;
  Dtype result;
};

bool same(const SumResult& found, const std::vector<Column>& expected) {
  const ArrayView values = expected.front().view();
  bool right = found.dtype() == values.dtype && found.rows() == values.count;
  for (std::uint64_t row = 0; right && row < values.count; ++row) right = bits_of(found, row) == bits_of(values, row);
  return right;
}

std::vector<Column> reference(const Data& data, const char* op, std::uint64_t ddof = 0) {
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
  Column column(integers ? with_sign ? Dtype::i64 : Dtype::u64 : data.result);
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
  for (const Dtype dtype : all_dtypes) {
    for (const SelftestShape& shape : {SelftestShape{1, 0}, {1, 1}, {1, 20011}, {30, 137}}) {
      for (const SumOperation& operation : sum_operations) {
        ++number;
        const std::uint64_t count = shape.rows * shape.length;
        const Dtype result = number % 4 == 0   ? Dtype::f32
                             : number % 8 == 2 ? Dtype::f16
                             : number % 8 == 6 ? Dtype::bf16
                                               : Dtype::f64;
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

namespace {

constexpr std::array scan_distributions = {"uniform", "few", "sorted", "reversed"};
constexpr std::array ops = {ScanOp::sum, ScanOp::min, ScanOp::max};

struct ScanCase {
  Dtype dtype;
  ScanOp op;
  bool exclusive;
  std::uint64_t rows;
  std::uint64_t length;
  bool flags;         // segments begin at some elements
  bool wide = false;  // sums of 64 bits
};

bool right(const ArrayView& found, const ArrayView& data, const ScanCase& test, std::span<const std::uint8_t> flags) {
  ReferenceScan reference(test.dtype, test.op, test.exclusive);
  for (std::uint64_t i = 0; i < data.count; ++i) {
    const bool begins = i % test.length == 0 || (!flags.empty() && flags[i] != 0);
    if (begins) reference = ReferenceScan(test.dtype, test.op, test.exclusive);
    if (reference.next(data, i) != bits_of(found, i)) return false;
  }
  return true;
}

// Integers as sums of 64 bits.
bool run_wide(const Device& device, const ArrayView& data, const ScanCase& narrow) {
  ScanCase test = narrow;
  test.dtype = is_signed(data.dtype) ? Dtype::i64 : Dtype::u64;
  std::vector<std::uint64_t> elements(data.count);
  std::vector<std::uint64_t> sums(data.count);
  for (std::uint64_t i = 0; i < data.count; ++i) {
    static_cast<void>(reference_convert(data, i, test.dtype, Overflow::wrap, Rounding::nearest_even, elements[i]));
  }
  const ScanOptions options{.exclusive = test.exclusive, .rows = test.rows, .result = test.dtype};
  scan(device, data, {test.dtype, sums.data(), sums.size()}, options);
  return right({test.dtype, sums.data(), sums.size()}, {test.dtype, elements.data(), elements.size()}, test, {});
}

// At once, and where it is one row in three pieces.
bool run(const Device& device, const ArrayView& data, const ScanCase& test) {
  std::vector<std::byte> result(data.count * size_of(data.dtype));
  const MutableArrayView found(data.dtype, result.data(), data.count);
  std::vector<std::uint8_t> flags(test.flags ? data.count : 0);
  for (std::uint64_t i = 0; i < flags.size(); ++i) flags[i] = i * i % 61 == 4 ? 1 : 0;
  ScanOptions options;
  options.op = test.op;
  options.exclusive = test.exclusive;
  if (!test.flags && test.rows == 1) {
    ScanAccumulator accumulator(device, data.dtype, options);
    const std::uint64_t third = data.count / 3;
    const std::uint64_t ends[] = {third, 2 * third, data.count};
    std::uint64_t at = 0;
    for (const std::uint64_t end : ends) {
      accumulator.scan(part_of(data, at, end - at), {data.dtype, result.data() + at * size_of(data.dtype), end - at});
      at = end;
    }
    if (!right(found, data, test, {})) return false;
  }
  options.rows = test.rows;
  if (test.flags) options.flags = ArrayView(flags);
  scan(device, data, found, options);
  return right(found, data, test, flags);
}

}  // namespace

// Distributions take turns; every third case has NaNs and zeros of both signs. A device has to compile a program for
// each choice, so there extremes are those of every third dtype.
void selftest_scan(const Device& device, SelftestTally& tally) {
  const bool all = device.kind() == DeviceKind::cpu;
  std::uint64_t number = 0;
  for (const Dtype dtype : all_dtypes) {
    for (const ScanOp op : ops) {
      const std::uint64_t turn = static_cast<std::uint64_t>(dtype) + static_cast<std::uint64_t>(op);
      if (!all && op != ScanOp::sum && turn % 3 != 0) continue;
      for (const ScanCase& shape : {ScanCase{dtype, op, false, 1, 1, false},
                                    {dtype, op, false, 1, 9001, false},
                                    {dtype, op, false, 40, 137, false},
                                    {dtype, op, false, 2, 4100, true},
                                    {dtype, op, false, 3, 1367, false, true}}) {
        const bool widened = op == ScanOp::sum && !is_float(dtype) && (all || dtype == Dtype::i16);
        if (shape.wide && !widened) continue;
        const char* const distribution = scan_distributions[++number % scan_distributions.size()];
        ScanCase test = shape;
        test.exclusive = (all ? number + number / 4 : turn) % 2 == 0;
        const std::string name =
            fmt::format("{} scan by {} of {} rows of {} {} {} values{}", test.exclusive ? "exclusive" : "inclusive",
                        to_string(op), test.rows, test.length, distribution, to_string(dtype),
                        test.flags  ? ", flags"
                        : test.wide ? ", in 64 bits"
                                    : "");
        selftest_case(device, tally, name, Strategy::automatic, [&] {
          const std::uint64_t count = test.rows * test.length;
          const auto make = number % 3 == 0 ? selftest_special_data : selftest_data;
          const std::vector<std::byte> bytes = make(dtype, distribution, count, number);
          const ArrayView data(dtype, bytes.data(), count);
          return test.wide ? run_wide(device, data, test) : run(device, data, test);
        });
      }
    }
  }
}

}  // namespace masu::cli
