// SPDX-License-Identifier: Apache-2.0
// Bins whose edges are NumPy's beyond doubt: even ones over the range of data, and between given edges.
#pragma once

#include <masu/dtype.h>
#include <masu/histogram.h>
#include <masu/version.h>

#include <cstdint>
#include <optional>

namespace masu {

// An element of an integer dtype, from its bits.
MASU_EXPORT std::int64_t integer_of(Dtype dtype, std::uint64_t bits) noexcept;

// Even bins from the element with the bits `least` to that with the bits `greatest`, as NumPy's rule is known to have
// them: of f32, f64 and integers that f64 holds, with a step far from where numbers overflow or lose digits. None for
// all else.
MASU_EXPORT std::optional<Bins> ordinary_bins(Dtype dtype, std::uint64_t bins, std::uint64_t least,
                                              std::uint64_t greatest);

// The bins between given edges; none where these are fewer than two, not in order, NaN, or integers that f64 lacks.
MASU_EXPORT std::optional<Bins> bins_at(const ArrayView& edges);

}  // namespace masu
