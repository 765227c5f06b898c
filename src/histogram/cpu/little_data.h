// SPDX-License-Identifier: Apache-2.0
// Counts of few elements, and bins between edges of NumPy's. The Python package of the same version calls these beside
// the public functions; they are no public API.
#pragma once

#include <masu/bins.h>
#include <masu/device.h>
#include <masu/dtype.h>

#include <cstdint>
#include <optional>
#include <span>

namespace masu {

// Even bins over a range, `of_data` or given, where their edges in data of the dtype are `edges`, which NumPy has
// computed; else the bins between those. Nothing where edges do not tell where values go: NumPy's arithmetic of stored
// floats decides, which is known for own edges only. `joint`: of a column of several.
MASU_EXPORT std::optional<Bins> bins_with_edges(const ValueRange& range, bool of_data, std::span<const double> edges,
                                                Dtype dtype, bool joint);

// The greatest of these numbers; a negative one, as i64, is greater than all others.
MASU_EXPORT std::uint64_t greatest_of(std::span<const std::uint64_t> numbers) noexcept;
// Adds how often each number occurs.
MASU_EXPORT void count_numbers(std::span<const std::uint64_t> numbers, std::int64_t* counts) noexcept;

}  // namespace masu
