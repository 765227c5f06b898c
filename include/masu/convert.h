// SPDX-License-Identifier: Apache-2.0
/// @file
/// Converting elements from any dtype to any other, with the same bits on every device.
///
/// **To an integer.** From a float the fraction is cut off (towards zero), as C and NumPy do. A value fits if the rest
/// is a value of the type: 255.9 and -0.9 fit u8. NaN and infinities fit no integer.
/// **To a float.** The value is rounded once, as Rounding says, with subnormal results. It fits unless it overflows as
/// IEEE 754 says: rounded with an unbounded exponent, it exceeds the greatest finite number. Being inexact, or
/// becoming zero, is not an overflow. NaN and infinities fit every float; a NaN keeps its sign and the leading bits of
/// its payload and is quiet then.
/// **Values that do not fit**, by Overflow:
/// - `error`: the call throws, naming the first one's position and value. Elements are then as with `saturate`.
/// - `saturate`: the nearest number that the type holds (of a float the greatest finite one of that sign); NaN gives 0.
/// - `wrap`: to an integer the value modulo 2^bits (two's complement), NaN and infinities 0. To a float what IEEE 754
/// gives: infinity, or the greatest finite number, depending on the rounding.
/// **To the same dtype** elements are copied, bit by bit; with ConvertOptions::negate floats get the other sign, with
/// ConvertOptions::truth bytes become truth values.
/// **Floats of 8 bits** are bytes that ConvertOptions::float8 says the format of; they are input only. Every float
/// dtype holds each of their numbers.
/// **Limits.** Every pair of dtypes; up to 2^48 elements. No device needs fp64 for it.
/// **Overlap** of `in` and `out` is an error.
/// **Complexity.** O(n). **Memory.** On a device a few KiB in addition to the data; on `cpu` none.
/// **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost; an error found before the
/// work begins leaves `out` untouched. All functions may be called from many threads at once.
///
/// Example:
/// @code
/// std::vector<float> samples = …;
/// std::vector<masu::Half> half = masu::convert<masu::Half>(samples);
/// std::vector<std::uint8_t> bytes = masu::convert<std::uint8_t>(samples, {.overflow = masu::Overflow::saturate});
/// @endcode
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/float8.h>
#include <masu/stream.h>

#include <cstdint>
#include <optional>
#include <ranges>
#include <string_view>
#include <vector>

namespace masu {

/// How a value that does not fit is treated; see above.
enum class Overflow { error, saturate, wrap };
/// How a value between two floats is rounded (OpenCL's rte, rtz, rtp and rtn). Only float results are rounded.
enum class Rounding {
  nearest_even,  ///< to the nearer; in the middle to the one whose last bit is 0
  zero,          ///< towards zero
  up,            ///< towards +infinity
  down,          ///< towards -infinity
};
/// "error", "saturate", "wrap".
MASU_EXPORT std::string_view to_string(Overflow overflow) noexcept;
/// "nearest-even", "zero", "up", "down".
MASU_EXPORT std::string_view to_string(Rounding rounding) noexcept;
/// Throws invalid_argument, listing the names.
MASU_EXPORT Rounding rounding_from_name(std::string_view name);

struct ConvertOptions {
  Overflow overflow = Overflow::error;
  Rounding rounding = Rounding::nearest_even;
  /// From floats to the same dtype only: flips the sign bit of every element, zeros and NaNs included. Every value
  /// fits. The ascending order of the result is the descending order of the data with NaNs last.
  bool negate = false;
  /// From u8 to u8 only: writes 1 for each element that is not 0, and 0 for the others.
  bool truth = false;
  /// From u8 only: the bytes are codes of that format, and the numbers they stand for are converted.
  std::optional<Float8> float8{};
  /// Temporary memory to use instead of allocating: at least convert_workspace() bytes on the device, aligned to
  /// 16 bytes. Not used on `cpu`.
  const BufferBase* workspace = nullptr;
  /// For Overflow::error on a stream: two u64 of the device, aligned to 8 bytes. They get the position of the first
  /// value that does not fit and its bits, or twice 2^64 - 1 if there is none. get() throws nothing of
  /// them then.
  const BufferBase* status = nullptr;
  /// Added to positions in errors: where this data begins in the whole, for data in pieces.
  std::uint64_t first_position = 0;
  Times* times = nullptr;  ///< where not null, receives the times of the call
};

/// Bytes of temporary device memory for a conversion with Overflow::error; 0 on `cpu`.
MASU_EXPORT std::uint64_t convert_workspace(const Device& device) noexcept;

/// Converts host data, on a device. Both views have the same count.
MASU_EXPORT void convert(const Device& device, const ArrayView& in, MutableArrayView out,
                         const ConvertOptions& options = {});
/// The same of device memory, where it is: both on one device, with the same number of elements.
MASU_EXPORT void convert(const BufferBase& in, Dtype in_dtype, BufferBase& out, Dtype out_dtype,
                         const ConvertOptions& options = {});
/// The same on a stream of that device without waiting; get() throws for a value that does not fit. Buffers,
/// workspace and stream must outlive the result's `get()`; options.times is not filled.
MASU_EXPORT Pending<void> convert(Stream& stream, const BufferBase& in, Dtype in_dtype, BufferBase& out,
                                  Dtype out_dtype, const ConvertOptions& options = {});

/// The elements of a contiguous host range as T, on a device: `convert<float>(device, bytes)`.
template <Element T, HostRange R>
std::vector<T> convert(const Device& device, const R& in, const ConvertOptions& options = {}) {
  std::vector<T> out(std::ranges::size(in));
  convert(device, ArrayView(in), MutableArrayView(out), options);
  return out;
}
/// The same on the device that device_for names.
template <Element T, HostRange R>
std::vector<T> convert(const R& in, const ConvertOptions& options = {}) {
  return convert<T>(device_for(Work::moving), in, options);
}
/// The elements of a buffer as T, on its device.
template <Element T, Element S>
Buffer<T> convert(const Buffer<S>& in, const ConvertOptions& options = {}) {
  Buffer<T> out(in.device(), in.size());
  convert(in, dtype_of<S>, out, dtype_of<T>, options);
  return out;
}

}  // namespace masu
