// SPDX-License-Identifier: Apache-2.0
#include "topk/digit_counter.h"

#include "call/launcher.h"

#include <algorithm>
#include <array>

namespace masu {

using topk_plan::digit_bits;
using topk_plan::most_prefixes;

DigitCounter::DigitCounter(const topk_plan::Plan& plan, const Device& device)
    : plan_(plan), device_(device), totals_(device, std::uint64_t{most_prefixes} << digit_bits) {}

std::vector<std::uint64_t> DigitCounter::count(Stream& stream, const BufferBase& data, std::uint64_t byte_offset,
                                               std::uint64_t count, unsigned shift, unsigned width,
                                               std::span<const std::uint64_t> prefixes) {
  const unsigned tables = prefixes.size() == 1 ? 1 : prefixes.size() == 2 ? 2 : most_prefixes;
  constexpr std::uint64_t none = ~std::uint64_t{0};  // no rank has it
  std::array<std::uint64_t, most_prefixes> wanted{none, none, none, none};
  std::copy(prefixes.begin(), prefixes.end(), wanted.begin());
  constexpr auto part = topk_plan::Part::digits;
  call::Kernels kernels(device_, plan_.files(part), plan_.defines(part, tables), plan_.work_items(part));
  stream.fill(totals_, std::uint64_t{0});
  const std::uint64_t unit = std::uint64_t{plan_.digit_group} * plan_.unroll * (16 / size_of(plan_.dtype));
  const std::size_t local = (sizeof(std::uint32_t) << digit_bits) * tables * std::max(1U, plan_.digit_copies / tables);
  // A work-group, and the kernel's element numbers, count in 32 bits.
  for (std::uint64_t first = 0; first < count; first += topk_plan::most_elements) {
    const std::uint64_t length = std::min(topk_plan::most_elements, count - first);
    const std::uint64_t groups = std::clamp<std::uint64_t>(length / unit, 1, std::uint64_t{plan_.compute_units} * 2);
    static_cast<void>(kernels.launch(
        stream, "topk_digits", groups, call::At{data, byte_offset + first * size_of(plan_.dtype)},
        static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(shift), static_cast<std::uint32_t>(width),
        wanted[0], wanted[1], wanted[2], wanted[3], KernelArgument(totals_, ArgumentType{}), LocalMemory{local}));
  }
  std::vector<std::uint64_t> result(prefixes.size() << digit_bits);
  stream.read(totals_, std::span(result));
  stream.finish();
  return result;
}

}  // namespace masu
