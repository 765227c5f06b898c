// SPDX-License-Identifier: Apache-2.0
/// @file
/// Histograms of floats of 8 bits: the 256 codes are counted as bytes, and their numbers fall into bins of f32.
///
/// **Rule.** That of histogram.h for the same numbers in f32. Both zeros are one number.
/// **Complexity.** O(n + 256 log bins). **Memory.** That of 256 bins on the device, and 8 bytes a bin for the result.
/// **Exceptions.** As `histogram` throws; `bins` must be definite (see Bins::needs_data), the channels 1.
///
/// Example:
/// @code
/// std::vector<std::uint8_t> codes = …;
/// masu::Histogram h = masu::histogram(device, codes, masu::Float8::e4m3fn, masu::Bins::even(100, -448, 448));
/// @endcode
#pragma once

#include <masu/float8.h>
#include <masu/histogram.h>

#include <cstdint>
#include <span>

namespace masu {

/// The histogram of codes in host memory, counted on a device.
MASU_EXPORT Histogram histogram(const Device& device, std::span<const std::uint8_t> codes, Float8 format,
                                const Bins& bins, const HistogramOptions& options = {});
/// The same of codes in device memory, on its device.
MASU_EXPORT Histogram histogram(const Buffer<std::uint8_t>& codes, Float8 format, const Bins& bins,
                                const HistogramOptions& options = {});

}  // namespace masu
