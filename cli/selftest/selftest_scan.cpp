// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/pieces.h"
#include "cli/selftest/reference_scan.h"
#include "cli/selftest/selftest.h"
#include "element_text.h"

#include <fmt/format.h>
#include <masu/scan.h>

namespace masu::cli {
namespace {

constexpr std::array scan_distributions = {"uniform", "few", "sorted", "reversed"};
constexpr std::array ops = {ScanOp::sum, ScanOp::min, ScanOp::max};

struct ScanCase {
  Dtype dtype;
  ScanOp op;
  bool exclusive;
  std::uint64_t rows;
  std::uint64_t length;
  bool flags;  // segments begin at some elements
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
  for (const Dtype dtype : selftest_dtypes) {
    for (const ScanOp op : ops) {
      const std::uint64_t turn = static_cast<std::uint64_t>(dtype) + static_cast<std::uint64_t>(op);
      if (!all && op != ScanOp::sum && turn % 3 != 0) continue;
      for (const ScanCase& shape : {ScanCase{dtype, op, false, 1, 1, false},
                                    {dtype, op, false, 1, 9001, false},
                                    {dtype, op, false, 40, 137, false},
                                    {dtype, op, false, 2, 4100, true}}) {
        const char* const distribution = scan_distributions[++number % scan_distributions.size()];
        ScanCase test = shape;
        test.exclusive = (all ? number + number / 4 : turn) % 2 == 0;
        const std::string name = fmt::format("{} scan by {} of {} rows of {} {} {} values{}",
                                             test.exclusive ? "exclusive" : "inclusive", to_string(op), test.rows,
                                             test.length, distribution, to_string(dtype), test.flags ? ", flags" : "");
        selftest_case(device, tally, name, Strategy::automatic, [&] {
          const std::uint64_t count = test.rows * test.length;
          const std::vector<std::byte> bytes = number % 3 == 0
                                                   ? selftest_special_data(dtype, distribution, count, number)
                                                   : selftest_data(dtype, distribution, count, number);
          return run(device, {dtype, bytes.data(), count}, test);
        });
      }
    }
  }
}

}  // namespace masu::cli
