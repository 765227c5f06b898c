// SPDX-License-Identifier: Apache-2.0
/// @file
/// Element types: their names, sizes, C++ types, and the one place that turns a run-time dtype into a type.
#pragma once

#include <masu/error.h>
#include <masu/version.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

namespace masu {

/// IEEE binary16 as stored. masu reads and writes it; it does no arithmetic in it.
struct Half {
  std::uint16_t bits;
  friend bool operator==(Half, Half) = default;
};

/// bfloat16 as stored: the upper half of a binary32. masu reads and writes it; it does no arithmetic in it.
struct Bfloat16 {
  std::uint16_t bits;
  friend bool operator==(Bfloat16, Bfloat16) = default;
};

/// The element types of masu, by the table dtypes.def: u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64, bf16.
/// `bool` data is read as u8; f16 (IEEE binary16) and bf16 are storage types. Their numbers stand in saved states and
/// have no other meaning.
enum class Dtype : std::uint8_t {
#define MASU_DTYPE(name, ...) name,
#include <masu/dtypes.def>
};

namespace detail {
enum class DtypeClass : std::uint8_t { unsigned_integer, signed_integer, floating };

struct DtypeForm {
  std::uint8_t bytes;
  DtypeClass kind;
  std::uint8_t exponent_bits;  // of floats
  std::uint8_t fraction_bits;
};
inline constexpr DtypeForm dtype_forms[] = {
#define MASU_DTYPE(name, type, kind, exponent_bits, fraction_bits, ...) \
  {sizeof(type), DtypeClass::kind, exponent_bits, fraction_bits},
#include <masu/dtypes.def>
};
[[nodiscard]] constexpr const DtypeForm& form_of(Dtype dtype) noexcept {
  return dtype_forms[static_cast<std::size_t>(dtype)];
}
}  // namespace detail

/// Maps a Dtype to its C++ type inside `dispatch`.
template <class T>
struct TypeTag {
  using type = T;
};

/// Calls `f(TypeTag<T>{})` with the C++ type of `dtype`. Every branch must return the same type.
template <class F>
decltype(auto) dispatch(Dtype dtype, F&& f) {
#define MASU_DTYPE(name, type, ...) \
  case Dtype::name: return f(TypeTag<type>{});
  switch (dtype) {
#include <masu/dtypes.def>
  }
  throw Error(ErrorCode::invalid_argument, "dtype: not one of the enumerated values");
}

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(Dtype dtype) noexcept {
  return detail::form_of(dtype).bytes;
}
[[nodiscard]] constexpr bool is_float(Dtype dtype) noexcept {
  return detail::form_of(dtype).kind == detail::DtypeClass::floating;
}
[[nodiscard]] constexpr bool is_signed(Dtype dtype) noexcept {
  return detail::form_of(dtype).kind != detail::DtypeClass::unsigned_integer;
}

/// "u8", "i8", … "f64".
MASU_EXPORT std::string_view to_string(Dtype dtype) noexcept;

/// The dtype of that name, masu's ("f32") or NumPy's ("float32"); also "bool" (u8). Throws invalid_argument for any
/// other text.
MASU_EXPORT Dtype dtype_from_name(std::string_view name);

/// What NaNs do. Each function says which of these it takes.
enum class NanPolicy {
  last,       ///< they are greater than all else: the first of the largest, the last of the smallest
  skip,       ///< they are left out
  propagate,  ///< the first one is the result
};
/// "last", "skip", "propagate".
MASU_EXPORT std::string_view to_string(NanPolicy policy) noexcept;
/// Throws invalid_argument, listing the names.
MASU_EXPORT NanPolicy nan_policy_from_name(std::string_view name);

namespace detail {
/// Whether elements of type T are stored as `Stored`: char, long and long long fall on the fixed-width type of their
/// size and sign.
template <class T, class Stored>
consteval bool is_stored_as() {
  if constexpr (std::is_same_v<T, std::byte>) return std::is_same_v<Stored, unsigned char>;
  else if constexpr (std::is_integral_v<T> && std::is_integral_v<Stored>)
    return sizeof(T) == sizeof(Stored) && std::is_signed_v<T> == std::is_signed_v<Stored> &&
           !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>;
  else return std::is_same_v<T, Stored>;
}

/// The number of T's dtype, -1 where there is none.
template <class T>
consteval int dtype_index() {
#define MASU_DTYPE(name, type, ...) \
  if (is_stored_as<T, type>()) return static_cast<int>(Dtype::name);
#include <masu/dtypes.def>
  return -1;
}
}  // namespace detail

/// True for the types that masu has a dtype for.
template <class T>
concept Element = detail::dtype_index<std::remove_cv_t<T>>()
>= 0;

/// The dtype of a C++ type.
template <Element T>
inline constexpr Dtype dtype_of = static_cast<Dtype>(detail::dtype_index<std::remove_cv_t<T>>());

/// A contiguous, sized range in host memory, whatever its element type.
template <class R>
concept HostRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;

/// `count` elements in host memory whose type is known at run time. Does not own them.
struct ArrayView {
  Dtype dtype = Dtype::u8;
  const void* data = nullptr;
  std::uint64_t count = 0;

  ArrayView() = default;
  ArrayView(Dtype type, const void* elements, std::uint64_t size) : dtype(type), data(elements), count(size) {}

  template <HostRange R>
  explicit ArrayView(const R& range) {
    using T = std::ranges::range_value_t<R>;
    static_assert(Element<T>,
                  "masu: element types are bool, u8 i8 u16 i16 u32 i32 u64 i64 (the integers of C++), masu::Half, "
                  "masu::Bfloat16, float and double");
    if constexpr (Element<T>) {
      dtype = dtype_of<T>;
      data = std::ranges::data(range);
      count = std::ranges::size(range);
    }
  }
};

/// The same, writable. A range of const elements is refused at compile time.
struct MutableArrayView {
  Dtype dtype = Dtype::u8;
  void* data = nullptr;
  std::uint64_t count = 0;

  MutableArrayView() = default;
  MutableArrayView(Dtype type, void* elements, std::uint64_t size) : dtype(type), data(elements), count(size) {}

  template <HostRange R>
  explicit MutableArrayView(R&& range) {
    const ArrayView view(range);
    dtype = view.dtype;
    data = std::ranges::data(range);
    count = view.count;
  }
  operator ArrayView() const noexcept { return {dtype, data, count}; }
};

/// `count` records of `record_bytes` bytes each in host memory, whatever they mean. Does not own them.
struct RecordsView {
  void* data = nullptr;
  std::size_t record_bytes = 1;
  std::uint64_t count = 0;

  RecordsView() = default;
  RecordsView(void* records, std::size_t size, std::uint64_t number)
      : data(records), record_bytes(size), count(number) {}

  template <HostRange R>
  explicit RecordsView(R&& range)
      : data(std::ranges::data(range)),
        record_bytes(sizeof(std::ranges::range_value_t<R>)),
        count(std::ranges::size(range)) {
    static_assert(std::is_trivially_copyable_v<std::ranges::range_value_t<R>>,
                  "masu: values that are moved with keys must be trivially copyable");
  }
  explicit RecordsView(const MutableArrayView& view)
      : data(view.data), record_bytes(size_of(view.dtype)), count(view.count) {}
};

/// The same, only to be read.
struct ConstRecordsView {
  const void* data = nullptr;
  std::size_t record_bytes = 1;
  std::uint64_t count = 0;

  ConstRecordsView() = default;
  ConstRecordsView(const void* records, std::size_t size, std::uint64_t number)
      : data(records), record_bytes(size), count(number) {}
  ConstRecordsView(const RecordsView& view) noexcept
      : data(view.data), record_bytes(view.record_bytes), count(view.count) {}
  explicit ConstRecordsView(const ArrayView& view)
      : data(view.data), record_bytes(size_of(view.dtype)), count(view.count) {}

  template <HostRange R>
  explicit ConstRecordsView(const R& range)
      : data(std::ranges::data(range)),
        record_bytes(sizeof(std::ranges::range_value_t<R>)),
        count(std::ranges::size(range)) {
    static_assert(std::is_trivially_copyable_v<std::ranges::range_value_t<R>>,
                  "masu: elements that are moved must be trivially copyable");
  }
};

}  // namespace masu
