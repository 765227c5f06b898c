// SPDX-License-Identifier: Apache-2.0
/// @file
/// Your own kernels, OpenCL C on OpenCL devices, CUDA C++ on CUDA devices; their parameters and arguments.
#pragma once

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace masu {

/// A vector of OpenCL C or CUDA as an argument or an element of a buffer: `Vector<float, 4>{1, 2, 3, 4}` for `float4`.
/// Aligned to its size, as in OpenCL C; one of 3 elements takes the space of 4. CUDA's vectors of 3 take the space of
/// 3: as an argument both fit, in a buffer they do not.
template <Element T, std::size_t N>
requires(N == 2 || N == 3 || N == 4 || N == 8 || N == 16) struct alignas(sizeof(T) * (N == 3 ? 4 : N)) Vector {
  using value_type = T;
  T elements[N];

  [[nodiscard]] static constexpr std::size_t size() noexcept { return N; }
  [[nodiscard]] constexpr T& operator[](std::size_t i) noexcept { return elements[i]; }
  [[nodiscard]] constexpr const T& operator[](std::size_t i) const noexcept { return elements[i]; }
  friend constexpr bool operator==(const Vector&, const Vector&) = default;
};

/// The known type of an argument: none, or a dtype and the width of a vector of it.
struct ArgumentType {
  Dtype dtype = Dtype::u8;
  std::uint8_t width = 0;  ///< 1 for a scalar, 2 3 4 8 16 for a vector, 0 when nothing is known
  [[nodiscard]] constexpr bool known() const noexcept { return width != 0; }
  friend constexpr bool operator==(ArgumentType, ArgumentType) = default;
};

namespace detail {
template <class T>
struct ArgumentTypeOf {
  static consteval ArgumentType value() {
    constexpr bool byte = std::is_same_v<T, std::byte>;  // an enumeration, of no type that a kernel has
    if constexpr (std::is_enum_v<T> && !byte) return ArgumentTypeOf<std::underlying_type_t<T>>::value();
    else if constexpr (Element<T> && !byte) return {dtype_of<T>, 1};
    else return {};
  }
};
template <class T, std::size_t N>
struct ArgumentTypeOf<Vector<T, N>> {
  static consteval ArgumentType value() {
    if constexpr (std::is_same_v<T, std::byte>) return {};
    else return {dtype_of<T>, N};
  }
};
}  // namespace detail

/// The type of T as an argument. Not known of std::byte and of structures.
template <class T>
inline constexpr ArgumentType argument_type_of = detail::ArgumentTypeOf<std::remove_cv_t<T>>::value();

/// A kernel argument of `bytes` bytes of local memory. It is a `__local` pointer in OpenCL C, dynamic shared memory in
/// CUDA (where it takes no parameter, and only one may be given).
struct LocalMemory {
  std::size_t bytes;
};

/// One kernel argument: made from a Buffer, a LocalMemory or any trivially copyable value of up to 128 bytes. It
/// carries the type that it was made from. A launch compares it with the kernel's declaration, where that is known (see
/// Kernel::parameters):
/// - a value fits a parameter of the same size, class (integer or floating-point) and vector width. Integers may differ
///   in sign, as the literals of C++ are int; nothing is converted, so `1.0` does not fit `float`, nor `1` `ulong`;
/// - a buffer fits a pointer whose scalar has the size and class of the buffer's: Buffer<float> fits `float *` and
///   `float4 *`;
/// - a structure fits whatever has its size; std::byte, an untyped buffer, `void *` and pointers to structures fit
///   anything.
class MASU_EXPORT KernelArgument {
 public:
  enum class Kind : std::uint8_t { buffer, value, local };
  static constexpr std::size_t most_bytes = 128;  ///< of a value

  KernelArgument(const BufferBase& buffer) : KernelArgument(buffer, ArgumentType{}) {}
  template <class T>
  KernelArgument(const Buffer<T>& buffer) : KernelArgument(buffer, argument_type_of<T>) {}
  /// A buffer whose element type is known at run time.
  KernelArgument(const BufferBase& buffer, ArgumentType element);

  KernelArgument(LocalMemory local) noexcept : kind_(Kind::local), size_(local.bytes) {}

  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_base_of_v<BufferBase, T> && !std::is_pointer_v<T>)
      KernelArgument(const T& value)
  noexcept : kind_(Kind::value), type_(argument_type_of<T>), size_(sizeof(T)) {
    static_assert(sizeof(T) <= most_bytes, "masu::KernelArgument: a value holds at most 128 bytes");
    std::memcpy(bytes_, &value, sizeof(T));
  }
  /// A value whose type is known at run time: copies `type.width` elements. Throws invalid_argument for a width that is
  /// not 1, 2, 3, 4, 8 or 16.
  static KernelArgument value(ArgumentType type, const void* elements);

  /// The memory that a buffer lies in, from its beginning on.
  static KernelArgument whole_memory(const BufferBase& buffer);

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  /// The type of the value, or of an element of the buffer.
  [[nodiscard]] ArgumentType type() const noexcept { return type_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< in bytes
  [[nodiscard]] const void* bytes() const noexcept { return bytes_; }
  [[nodiscard]] runtime::Memory* memory() const noexcept { return memory_.get(); }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  Kind kind_ = Kind::value;
  ArgumentType type_;
  std::size_t size_ = 0;
  std::uint64_t offset_ = 0;
  std::shared_ptr<runtime::Memory> memory_;
  alignas(16) std::byte bytes_[most_bytes] = {};
};

/// A parameter of a kernel, as far as the driver reports it. OpenCL drivers usually report all but the sizes of
/// structures. CUDA reports the size, and of a kernel that is not `extern "C"` the type too.
struct KernelParameter {
  /// other: an image, a sampler, or nothing is known.
  enum class Kind : std::uint8_t { buffer, value, local, other };
  Kind kind = Kind::other;
  std::string type;       ///< as the source has it, "float4" or "uint*"; empty when it is not known
  std::string name;       ///< empty when it is not known
  std::size_t bytes = 0;  ///< of a value, or what the driver says; 0 when it is not known
  friend bool operator==(const KernelParameter&, const KernelParameter&) = default;
};

namespace runtime {
class Module;
class Kernel;
}  // namespace runtime

/// Global and local sizes in work-items, in 1 to 3 dimensions, on OpenCL and on CUDA alike.
/// A local size of 0 in the first dimension leaves the choice to the device.
struct MASU_EXPORT NDRange {
  std::array<std::size_t, 3> global{1, 1, 1};
  std::array<std::size_t, 3> local{0, 1, 1};
  unsigned dimensions = 1;

  NDRange(std::size_t global_x, std::size_t local_x = 0) : global{global_x, 1, 1}, local{local_x, 1, 1} {}
  /// NDRange::of({width, height}, {16, 16}): 1 to 3 sizes each, as many local as global ones, or no local ones.
  /// Throws invalid_argument for another number of sizes.
  static NDRange of(std::initializer_list<std::size_t> global, std::initializer_list<std::size_t> local = {}) {
    return of(std::span(global.begin(), global.size()), std::span(local.begin(), local.size()));
  }
  /// The same from lists whose length is known at run time.
  static NDRange of(std::span<const std::size_t> global, std::span<const std::size_t> local = {});
};

/// A compiled kernel. Keeps its program alive. Cheap to copy, but a copy is the same kernel. Used by one thread at a
/// time: threads that launch at once take one each from the program.
class MASU_EXPORT Kernel {
 public:
  explicit Kernel(std::shared_ptr<runtime::Kernel> implementation) noexcept
      : implementation_(std::move(implementation)) {}
  [[nodiscard]] const std::string& name() const noexcept;
  /// The largest work-group that this kernel can run with on its device.
  [[nodiscard]] std::size_t max_work_group_size() const;
  /// The kernel's parameters, in order; empty where the driver does not report their number.
  [[nodiscard]] const std::vector<KernelParameter>& parameters() const noexcept;
  /// Launches on the stream: `kernel(stream, {global, local}, buffer, 3, LocalMemory{1024})`. Returns at once.
  /// Throws invalid_argument, before anything runs, for a wrong number, kind, type or size of arguments (see
  /// KernelArgument). So it does for sizes that the device cannot run, and too much local memory.
  template <class... Arguments>
  Event operator()(Stream& stream, const NDRange& range, const Arguments&... arguments) {
    const std::array<KernelArgument, sizeof...(Arguments)> list{KernelArgument(arguments)...};
    return launch(stream, range, list);
  }
  Event launch(Stream& stream, const NDRange& range, std::span<const KernelArgument> arguments);

 private:
  std::shared_ptr<runtime::Kernel> implementation_;
};

/// Kernel source compiled for one device. Cheap to copy; safe to use from many threads.
class MASU_EXPORT Program {
 public:
  /// Compiles `text` (OpenCL C on OpenCL devices, CUDA C++ on CUDA devices) with the compiler's own options, through
  /// the program cache. Text that includes files is compiled anew each time, since they may have changed. Throws
  /// build_failed with the compiler's log, unsupported on `cpu` and where a device has no compiler.
  static Program from_source(const Device& device, std::string_view text, std::string_view options = "");
  /// A CUDA kernel that is not `extern "C"` is found by its name in the source, "scale<float>" for a template's
  /// instance. Where several have that name, it is found by its symbol. Throws invalid_argument and lists the names.
  [[nodiscard]] Kernel kernel(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> kernel_names() const;
  /// The compiler's log, with warnings; also of a program from the cache.
  [[nodiscard]] const std::string& log() const noexcept;

 private:
  explicit Program(std::shared_ptr<runtime::Module> implementation) noexcept;
  std::shared_ptr<runtime::Module> implementation_;
};

}  // namespace masu
