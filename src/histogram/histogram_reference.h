// SPDX-License-Identifier: Apache-2.0
// The plain sequential histogram: the oracle of --verify, of selftest and of the tests. It takes the edges as given and
// looks each value up in them; it shares no code with the fast paths.
#pragma once

#include <masu/dtype.h>
#include <masu/histogram.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace masu::reference {

struct Counts {
  std::vector<std::uint64_t> counts;
  std::uint64_t below = 0;
  std::uint64_t above = 0;
  std::uint64_t nan = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

// Adds `data` (interleaved channels) to `result`, one entry a channel, whose counts have edges.size() - 1 zeros or
// earlier counts. `half_open` says that the last bin does not hold x = e[n]: right_open, and always for Bins::integers.
inline void histogram(const ArrayView& data, std::span<const double> edges, bool half_open, Outside outside,
                      std::span<Counts> result) {
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, Half>) {
      for (std::uint64_t i = 0; i < data.count; ++i) {
        T value;
        std::memcpy(&value, static_cast<const char*>(data.data) + i * sizeof(T), sizeof(T));
        Counts& to = result[i % result.size()];
        const auto x = static_cast<double>(value);
        const bool clamp = outside == Outside::clamp;
        if (std::isnan(x)) {
          ++to.nan;
        } else if (x < edges.front()) {
          ++(clamp ? to.counts.front() : to.below);
        } else if (x > edges.back() || (half_open && x == edges.back())) {
          ++(clamp ? to.counts.back() : to.above);
        } else {
          const auto bin = std::upper_bound(edges.begin(), edges.end() - 1, x) - edges.begin() - 1;
          ++to.counts[static_cast<std::size_t>(bin)];
        }
      }
    } else {
      throw Error(ErrorCode::unsupported, "histogram: f16 data is not supported in this version");
    }
  });
}

// The histograms of `data` from scratch, one for each channel.
inline std::vector<Counts> histogram(const ArrayView& data, std::span<const double> edges, bool half_open = false,
                                     Outside outside = Outside::drop, unsigned channels = 1) {
  std::vector<Counts> result(channels);
  for (Counts& counts : result) counts.counts.resize(edges.size() - 1);
  histogram(data, edges, half_open, outside, result);
  return result;
}

}  // namespace masu::reference
