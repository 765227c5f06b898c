// SPDX-License-Identifier: Apache-2.0
// DLPack 1.x in C, as https://dmlc.github.io/dlpack declares it, and its types as masu's dtypes.
#pragma once

#include "elements/dtypes.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

namespace masu_python::dlpack {

inline constexpr std::int32_t host = 1;
inline constexpr std::int32_t cuda = 2;
inline constexpr std::int32_t cuda_managed = 13;
inline constexpr std::uint64_t flag_read_only = 1;
inline constexpr std::uint8_t unsigned_integer = 1;
inline constexpr std::uint8_t boolean = 6;

using Device = nanobind::dlpack::device;
using Type = nanobind::dlpack::dtype;
// Strides are in elements; null where they are contiguous.
struct Array : nanobind::dlpack::dltensor {
  [[nodiscard]] bool is_contiguous() const noexcept;
};
struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};
// Before version 1, and since.
struct Plain {
  Array array;
  void* context;
  void (*deleter)(Plain*);
};
struct Managed {
  Version version;
  void* context;
  void (*deleter)(Managed*);
  std::uint64_t flags;
  Array array;
};
using SetError = void (*)(void*, const char* kind, const char* message);

// What a type has as __dlpack_c_exchange_api__. 0 is success.
struct Exchange {
  Version version;
  Exchange* previous;  // of an older version
  int (*allocate)(Array* prototype, Managed** made, void* context, SetError set_error);
  int (*managed_of)(void* object, Managed** managed);
  int (*object_of)(Managed* managed, void** object);
  int (*array_of)(void* object, Array* array);  // borrowed; may be null
  int (*current_stream)(std::int32_t type, std::int32_t id, void** stream);
};

// False for a type that masu lacks. bool is u8.
bool dtype_of(Type type, masu::Dtype& dtype, bool& boolean) noexcept;
inline Type type_of(masu::Dtype dtype, bool is_boolean) noexcept {
  const std::uint8_t code = is_boolean ? boolean : masu::names_of(dtype).dlpack_code;
  return {code, static_cast<std::uint8_t>(8 * masu::size_of(dtype)), 1};
}

}  // namespace masu_python::dlpack
