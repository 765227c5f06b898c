// SPDX-License-Identifier: Apache-2.0
/// @file
/// Distinct values: which they are, the count and the first position of each; and runs of equal neighbours.
///
/// **Rule.** Two elements are one value when neither sorts before the other in the order of sort.h. -0 and +0 are one,
/// and all NaNs (any sign, any payload) are one. A value is represented by the bits of its first element in the input.
/// `unique` gives the distinct values ascending, NaN last; `run_length` gives one entry for each longest run of equal
/// neighbours, in input order. Results are functions of the input alone, with the same bits on every device.
/// Empty input is valid and gives empty results.
/// **Limits.** Every dtype; 64-bit sizes; counts and places are u64.
/// **Complexity.** run_length: O(n), the data is read once. unique: a sort (sort.h) and a run_length. Data of 8
/// bits, and much data of 16, are counted instead. They are sorted, if positions are requested on a device. So are
/// floats of 16 bits that are given to a stream or have several zeros or NaNs.
/// **Memory.** run_length: n / 8 bytes and a little in addition to the result. unique: a sorted copy of the data, and
/// what the sort needs. With indices or inverse an order too (4 bytes an element, 8 above 2^32). Where data are
/// counted, a histogram's memory. unique_workspace() and run_length_workspace() return the bytes.
/// **Exceptions.** Error with invalid_argument, unsupported, out_of_memory or device_lost; the caller's data is
/// unchanged then. All functions may be called from many threads at once.
///
/// Example:
/// @code
/// masu::Unique<float> u = masu::unique(samples);        // u.values[i] occurs u.counts[i] times
/// masu::Runs<std::uint8_t> runs = masu::run_length(pixels);
/// masu::DeviceUnique<float> on_device = masu::unique(buffer);   // stays on the device
/// @endcode
#pragma once

#include <masu/accumulator.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace masu {

struct UniqueOptions {
  bool counts = true;    ///< how often each value occurs
  bool indices = false;  ///< where each value is first: numpy.unique's return_index
  bool inverse = false;  ///< for each element, where its value is among the distinct ones: return_inverse
  /// Temporary memory to use instead of allocating: at least unique_workspace() bytes on the device, aligned to 16
  /// bytes. Not used on `cpu` and by host data.
  const BufferBase* workspace = nullptr;
  Times* times = nullptr;  ///< where not null, receives the times of the call
};

struct RunOptions {
  bool lengths = true;
  bool starts = true;  ///< where each run begins
  /// As UniqueOptions::workspace: at least run_length_workspace() bytes.
  const BufferBase* workspace = nullptr;
  Times* times = nullptr;
};

/// The distinct values of host data, ascending. Results that the options do not request are empty.
template <class T>
struct Unique {
  std::vector<T> values;
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> indices;
  std::vector<std::uint64_t> inverse;  ///< one for each element of the input: values[inverse[i]] equals element i
};

/// The runs of host data, in input order. Results that the options do not request are empty.
template <class T>
struct Runs {
  std::vector<T> values;
  std::vector<std::uint64_t> lengths;
  std::vector<std::uint64_t> starts;
};

/// Elements in host memory whose dtype is known at run time.
struct HostArray {
  Dtype dtype = Dtype::u8;
  std::vector<std::byte> bytes;
  [[nodiscard]] std::uint64_t size() const noexcept { return bytes.size() / size_of(dtype); }
  [[nodiscard]] ArrayView view() const noexcept { return {dtype, bytes.data(), size()}; }
};

/// The same for data whose dtype is known at run time.
struct UniqueArrays {
  HostArray values;
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> indices;
  std::vector<std::uint64_t> inverse;
  [[nodiscard]] std::uint64_t size() const noexcept { return values.size(); }
};
struct RunArrays {
  HostArray values;
  std::vector<std::uint64_t> lengths;
  std::vector<std::uint64_t> starts;
  [[nodiscard]] std::uint64_t size() const noexcept { return values.size(); }
};

/// The distinct values of device data, in memory of that device. Results that the options do not request have no
/// elements.
template <class T>
struct DeviceUnique {
  Buffer<T> values;
  Buffer<std::uint64_t> counts;
  Buffer<std::uint64_t> indices;
  Buffer<std::uint64_t> inverse;
  /// A copy in host memory.
  [[nodiscard]] Unique<T> read() const { return {values.read(), counts.read(), indices.read(), inverse.read()}; }
};
template <class T>
struct DeviceRuns {
  Buffer<T> values;
  Buffer<std::uint64_t> lengths;
  Buffer<std::uint64_t> starts;
  [[nodiscard]] Runs<T> read() const { return {values.read(), lengths.read(), starts.read()}; }
};

/// Bytes of temporary memory that the forms for device data allocate when options.workspace is null. 0 on `cpu`.
MASU_EXPORT std::uint64_t unique_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                           const UniqueOptions& options = {});
MASU_EXPORT std::uint64_t run_length_workspace(const Device& device, Dtype dtype, std::uint64_t count);

/// The distinct values of host data, computed on a device.
MASU_EXPORT UniqueArrays unique(const Device& device, const ArrayView& data, const UniqueOptions& options = {});
/// The distinct values of device memory, where it is. `values` are the bytes of elements of the dtype.
MASU_EXPORT DeviceUnique<std::byte> unique(const BufferBase& data, Dtype dtype, const UniqueOptions& options = {});
/// The same for runs.
MASU_EXPORT RunArrays run_length(const Device& device, const ArrayView& data, const RunOptions& options = {});
MASU_EXPORT DeviceRuns<std::byte> run_length(const BufferBase& data, Dtype dtype, const RunOptions& options = {});

/// The same on a stream of the memory's device without waiting. Before get() only the device knows how many values
/// there are, so get() does the last part of the work. Buffers and stream must outlive it; options.times is not filled.
MASU_EXPORT Pending<DeviceUnique<std::byte>> unique(Stream& stream, const BufferBase& data, Dtype dtype,
                                                    const UniqueOptions& options = {});
MASU_EXPORT Pending<DeviceRuns<std::byte>> run_length(Stream& stream, const BufferBase& data, Dtype dtype,
                                                      const RunOptions& options = {});

/// Memory for distinct values on the device of the data, apart from it and each other. Null: not wanted.
struct UniqueTargets {
  const BufferBase& values;             ///< as many elements of the dtype as the data has; the first ones are written
  const BufferBase& number;             ///< u64: how many those are
  const BufferBase* counts = nullptr;   ///< u64, as many as elements; how often each value occurs
  const BufferBase* indices = nullptr;  ///< u64, as many as elements; where each value is first
  const BufferBase* inverse = nullptr;  ///< u64, as many as elements; for each, where its value is: all are written
};
/// The distinct values of device memory, to memory there; nothing waits. `workspace`: null, or unique_workspace()
/// bytes for the options that request the same.
MASU_EXPORT Pending<void> unique(Stream& stream, const BufferBase& data, Dtype dtype, const UniqueTargets& to,
                                 const BufferBase* workspace = nullptr);

/// Memory for runs on the device of the data, apart from it and each other. Null: not wanted.
struct RunTargets {
  const BufferBase& values;             ///< as many elements of the dtype as the data has; the first ones are written
  const BufferBase& number;             ///< u64: how many those are
  const BufferBase* lengths = nullptr;  ///< u64, as many as elements
  const BufferBase* starts = nullptr;   ///< u64, as many as elements
};
/// The runs of device memory, to memory there; nothing waits. `workspace`: null, or run_length_workspace() bytes.
MASU_EXPORT Pending<void> run_length(Stream& stream, const BufferBase& data, Dtype dtype, const RunTargets& to,
                                     const BufferBase* workspace = nullptr);

/// Distinct values with counts of data that comes in pieces. Memory: the distinct values so far with their counts,
/// twice while they are merged, and what `unique` needs for a piece. 8- and 16-bit data: a table of fixed size. The
/// result is that of `unique` on all pieces one after the other, wherever they are cut. After an exception it holds an
/// unspecified part of the piece: only destroy it then.
class MASU_EXPORT UniqueAccumulator : public detail::Accumulator<UniqueAccumulator> {
 public:
  UniqueAccumulator(const Device& device, Dtype dtype);

  /// Bytes that the distinct values so far and their counts take.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
  /// Values and counts so far. More pieces may be added after it.
  [[nodiscard]] UniqueArrays result();
};

/// Runs of data that comes in pieces: those of all pieces one after the other, wherever they are cut. Memory: the runs
/// so far. After an exception it holds what it held before.
class MASU_EXPORT RunAccumulator : public detail::Accumulator<RunAccumulator> {
 public:
  RunAccumulator(const Device& device, Dtype dtype);

  /// The runs so far, with lengths and starts. More pieces may be added after it.
  [[nodiscard]] RunArrays result() const;
};

namespace detail {
/// Returns memory for `count` elements of the result.
using ResultMemory = std::function<void*(std::uint64_t count)>;
/// std::vector<bool> holds no bools that have addresses.
template <class T>
using StoredElement = std::conditional_t<std::is_same_v<std::remove_cv_t<T>, bool>, std::uint8_t, std::remove_cv_t<T>>;
template <class T>
ResultMemory memory_of(std::vector<T>& vector) {
  return [&vector](std::uint64_t count) {
    vector.resize(count);
    return static_cast<void*>(vector.data());
  };
}
/// Memory for each result that the options request, in u64 but for the values.
struct UniqueMemory {
  ResultMemory values;
  ResultMemory counts;
  ResultMemory indices;
  ResultMemory inverse;
};
MASU_EXPORT void unique_into(const Device& device, const ArrayView& data, const UniqueOptions& options,
                             const UniqueMemory& results);
MASU_EXPORT void run_length_into(const Device& device, const ArrayView& data, const RunOptions& options,
                                 const ResultMemory& values, std::vector<std::uint64_t>& lengths,
                                 std::vector<std::uint64_t>& starts);
/// The same bytes as elements of T.
template <class T>
Buffer<T> typed(const Buffer<std::byte>& bytes) {
  return Buffer<T>(bytes.device(), bytes.memory(), bytes.byte_offset(), bytes.size_bytes());
}
}  // namespace detail

/// The distinct values of a contiguous host range, computed on a device.
template <HostRange R>
auto unique(const Device& device, const R& data, const UniqueOptions& options = {}) {
  Unique<detail::StoredElement<std::ranges::range_value_t<R>>> result;
  detail::unique_into(device, ArrayView(data), options,
                      {detail::memory_of(result.values), detail::memory_of(result.counts),
                       detail::memory_of(result.indices), detail::memory_of(result.inverse)});
  return result;
}
/// The same on the device that device_for names.
template <HostRange R>
auto unique(const R& data, const UniqueOptions& options = {}) {
  return unique(device_for(Work::sorting, ArrayView(data).count * sizeof(std::ranges::range_value_t<R>)), data,
                options);
}
/// The distinct values of a buffer, on its device.
template <Element T>
DeviceUnique<std::remove_cv_t<T>> unique(const Buffer<T>& data, const UniqueOptions& options = {}) {
  DeviceUnique<std::byte> result = unique(data, dtype_of<T>, options);
  return {detail::typed<std::remove_cv_t<T>>(result.values), std::move(result.counts), std::move(result.indices),
          std::move(result.inverse)};
}

/// The runs of a contiguous host range, computed on a device.
template <HostRange R>
auto run_length(const Device& device, const R& data, const RunOptions& options = {}) {
  Runs<detail::StoredElement<std::ranges::range_value_t<R>>> result;
  detail::run_length_into(device, ArrayView(data), options, detail::memory_of(result.values), result.lengths,
                          result.starts);
  return result;
}
/// The same on the device that device_for names.
template <HostRange R>
auto run_length(const R& data, const RunOptions& options = {}) {
  return run_length(device_for(Work::moving), data, options);
}
/// The runs of a buffer, on its device.
template <Element T>
DeviceRuns<std::remove_cv_t<T>> run_length(const Buffer<T>& data, const RunOptions& options = {}) {
  DeviceRuns<std::byte> result = run_length(data, dtype_of<T>, options);
  return {detail::typed<std::remove_cv_t<T>>(result.values), std::move(result.lengths), std::move(result.starts)};
}

}  // namespace masu
