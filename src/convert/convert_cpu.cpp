// SPDX-License-Identifier: Apache-2.0
// Blocks of elements by vectors, from memory to a buffer in the nearest cache and, where the output is large, from
// there past the caches; pairs of dtypes and roundings without a fast way, and blocks in which something does not fit,
// one by one.
#include "convert/convert_plan.h"

#include "elements/order.h"
#include "runtime/parallel.h"
#include "runtime/stream_out.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <optional>

namespace masu {

namespace {

constexpr std::uint64_t task_elements = std::uint64_t{1} << 16;

std::uint64_t load(const std::byte* at, unsigned bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, bytes);
  return bits;
}

// The first position of what does not fit.
std::uint64_t convert_singly(const ConvertRule& rule, const std::byte* in, std::byte* out, std::uint64_t count) {
  const unsigned from = rule.source.bits / 8;
  const unsigned to = rule.target.bits / 8;
  std::uint64_t first = no_position;
  for (std::uint64_t i = 0; i < count; ++i) {
    bool bad = false;
    const std::uint64_t bits = convert_bits(rule, load(in + i * from, from), bad);
    std::memcpy(out + i * to, &bits, to);
    if (bad && first == no_position) first = i;
  }
  return first;
}

// What the codes of floats of 8 bits become.
struct CodeTable {
  std::array<std::uint64_t, 256> bits{};
  std::array<bool, 256> bad{};

  explicit CodeTable(const ConvertRule& rule) {
    for (unsigned code = 0; code < bits.size(); ++code) bits[code] = convert_bits(rule, code, bad[code]);
  }

  // The first position of what does not fit, where that is asked for.
  template <class Bits>
  std::uint64_t convert(const std::byte* in, std::byte* out, std::uint64_t count, bool looks) const {
    std::array<Bits, 256> made;
    std::transform(bits.begin(), bits.end(), made.begin(), [](std::uint64_t each) { return static_cast<Bits>(each); });
    for (std::uint64_t i = 0; i < count; ++i) {
      std::memcpy(out + i * sizeof(Bits), &made[std::to_integer<unsigned>(in[i])], sizeof(Bits));
    }
    if (!looks) return no_position;
    const auto* found =
        std::find_if(in, in + count, [&](std::byte code) { return bad[std::to_integer<unsigned>(code)]; });
    return found == in + count ? no_position : static_cast<std::uint64_t>(found - in);
  }
  std::uint64_t convert(const ConvertRule& rule, const std::byte* in, std::byte* out, std::uint64_t count) const {
    const bool looks = rule.overflow == Overflow::error;
    if (rule.target.bits == 8) return convert<std::uint8_t>(in, out, count, looks);
    if (rule.target.bits == 16) return convert<std::uint16_t>(in, out, count, looks);
    if (rule.target.bits == 32) return convert<std::uint32_t>(in, out, count, looks);
    return convert<std::uint64_t>(in, out, count, looks);
  }
};

// Floats, as unsigned integers of their width.
template <class Bits>
void negate(const std::byte* in, std::byte* out, std::uint64_t count) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  for (std::uint64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, in + i * sizeof bits, sizeof bits);
    bits = static_cast<Bits>(bits ^ sign);
    std::memcpy(out + i * sizeof bits, &bits, sizeof bits);
  }
}

void make_truths(const std::byte* in, std::byte* out, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(in[i] != std::byte{0});
}

}  // namespace

std::uint64_t convert_cpu(const ConvertRule& rule, const void* in, void* out, std::uint64_t count) {
  const auto* from = static_cast<const std::byte*>(in);
  auto* to = static_cast<std::byte*>(out);
  const std::uint64_t in_bytes = rule.source.bits / 8;
  const std::uint64_t out_bytes = rule.target.bits / 8;
  const bool copies = rule.copies();
  const std::optional<CodeTable> codes = rule.float8 ? std::optional<CodeTable>(rule) : std::nullopt;
  const bool fast = !rule.negate && !rule.truth && !codes && has_fast_way(rule);
  const bool streams = count * out_bytes >= runtime::stream_out_bytes;
  std::atomic<std::uint64_t> first{no_position};
  runtime::parallel_parts(count, task_elements, [&](std::uint64_t begin, std::uint64_t end) {
    if (copies) {
      const std::uint64_t bytes = (end - begin) * out_bytes;
      if (streams) runtime::stream_out(to + begin * out_bytes, from + begin * out_bytes, bytes);
      else std::memcpy(to + begin * out_bytes, from + begin * out_bytes, bytes);
      if (streams) runtime::stream_out_end();
      return;
    }
    if (rule.truth) return make_truths(from + begin, to + begin, end - begin);
    if (rule.negate) {
      dispatch(rule.source_dtype, [&](auto tag) {
        negate<KeyOf<typename decltype(tag)::type>>(from + begin * in_bytes, to + begin * out_bytes, end - begin);
      });
      return;
    }
    alignas(64) std::byte buffer[convert_block * sizeof(double)];
    for (std::uint64_t i = begin; i < end; i += convert_block) {
      const std::uint64_t part = std::min<std::uint64_t>(convert_block, end - i);
      const std::byte* source = from + i * in_bytes;
      std::byte* target = to + i * out_bytes;
      std::byte* made = streams ? buffer : target;
      std::uint64_t bad = no_position;
      const bool unfit = fast && convert_fast(rule, source, made, part);  // it has saturated then
      if (codes) bad = codes->convert(rule, source, made, part);
      else if (!fast || (unfit && rule.overflow == Overflow::error)) bad = convert_singly(rule, source, made, part);
      if (streams) runtime::stream_out(target, buffer, part * out_bytes);
      if (bad == no_position || rule.overflow != Overflow::error) continue;
      std::uint64_t known = first.load();
      while (i + bad < known && !first.compare_exchange_weak(known, i + bad)) {
      }
    }
    if (streams) runtime::stream_out_end();
  });
  return first.load();
}

}  // namespace masu
