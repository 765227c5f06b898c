// SPDX-License-Identifier: Apache-2.0
// Compares driver_api.h with NVIDIA's own headers where a toolkit is installed. The headers come last, because cuda.h
// maps the plain names of the functions to versioned ones.
#include "backends/cuda/driver_api.h"

#include <gtest/gtest.h>

#include <type_traits>

#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#include <cuda.h>
#include <nvrtc.h>
#define MASU_HAS_CUDA_HEADERS 1
#elif __has_include("/usr/local/cuda/include/cuda.h") && __has_include("/usr/local/cuda/include/nvrtc.h")
#include "/usr/local/cuda/include/cuda.h"
#include "/usr/local/cuda/include/nvrtc.h"
#define MASU_HAS_CUDA_HEADERS 1
#endif

namespace masu::cuda {
namespace {

#if MASU_HAS_CUDA_HEADERS

// The same for a caller: a pointer for a pointer, a number of the same size for a number or an enumeration.
template <class Ours, class Theirs>
constexpr bool same_value = sizeof(Ours) == sizeof(Theirs) &&
                            std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>&& std::is_floating_point_v<Ours> ==
                                std::is_floating_point_v<Theirs>;

template <class Ours, class Theirs>
constexpr bool same_function = false;
template <class R1, class... A1, class R2, class... A2>
constexpr bool same_function<R1 (*)(A1...), R2 (*)(A2...)> = [] {
  if constexpr (sizeof...(A1) != sizeof...(A2)) return false;
  else return same_value<R1, R2> && (same_value<A1, A2> && ...);
}();

#define MASU_SAME_DRIVER(member, symbol, parameters) \
  static_assert(same_function<decltype(Driver::member), decltype(&::symbol)>, #symbol);
#define MASU_SAME_NVRTC(member, symbol, parameters) \
  static_assert(same_function<decltype(Nvrtc::member), decltype(&::symbol)>, #symbol);
MASU_CUDA_DRIVER_FUNCTIONS(MASU_SAME_DRIVER)
MASU_CUDA_DRIVER_OPTIONAL_FUNCTIONS(MASU_SAME_DRIVER)
MASU_NVRTC_FUNCTIONS(MASU_SAME_NVRTC)
MASU_SAME_NVRTC(get_error_string, nvrtcGetErrorString, )

static_assert(error_invalid_value == ::CUDA_ERROR_INVALID_VALUE && error_out_of_memory == ::CUDA_ERROR_OUT_OF_MEMORY);
static_assert(error_not_found == ::CUDA_ERROR_NOT_FOUND && error_not_ready == ::CUDA_ERROR_NOT_READY);
static_assert(error_host_memory_already_registered == ::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
static_assert(device_max_threads_per_block == ::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(device_max_block_dim_x == ::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
static_assert(device_max_block_dim_x + 2 == ::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
static_assert(device_max_grid_dim_x == ::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
static_assert(device_max_grid_dim_x + 2 == ::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
static_assert(device_max_shared_memory_per_block == ::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
static_assert(device_max_shared_memory_per_block_optin == ::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(device_max_shared_memory_per_multiprocessor ==
              ::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
static_assert(device_warp_size == ::CU_DEVICE_ATTRIBUTE_WARP_SIZE);
static_assert(device_multiprocessor_count == ::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(device_compute_mode == ::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
static_assert(compute_mode_prohibited == ::CU_COMPUTEMODE_PROHIBITED);
static_assert(device_compute_capability_major == ::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(device_compute_capability_minor == ::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(device_host_register_supported == ::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
static_assert(device_read_only_host_register_supported == ::CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED);
static_assert(function_max_threads_per_block == ::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(function_shared_size_bytes == ::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
static_assert(function_max_dynamic_shared_size_bytes == ::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(pointer_memory_type == ::CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(pointer_is_managed == ::CU_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(memory_type_host == ::CU_MEMORYTYPE_HOST && host_alloc_portable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(pointer_range_start == ::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
static_assert(pointer_range_size == ::CU_POINTER_ATTRIBUTE_RANGE_SIZE);
static_assert(stream_non_blocking == ::CU_STREAM_NON_BLOCKING && event_default == ::CU_EVENT_DEFAULT);
static_assert(host_register_portable == CU_MEMHOSTREGISTER_PORTABLE);
static_assert(host_register_device_map == CU_MEMHOSTREGISTER_DEVICEMAP);
static_assert(host_register_read_only == CU_MEMHOSTREGISTER_READ_ONLY);
static_assert(jit_error_log_buffer == ::CU_JIT_ERROR_LOG_BUFFER);
static_assert(jit_error_log_buffer_size_bytes == ::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(nvrtc_success == ::NVRTC_SUCCESS && nvrtc_out_of_memory == ::NVRTC_ERROR_OUT_OF_MEMORY);
static_assert(nvrtc_invalid_option == ::NVRTC_ERROR_INVALID_OPTION && nvrtc_compilation == ::NVRTC_ERROR_COMPILATION);

TEST(CudaAbiTest, DeclarationsAreThoseOfTheToolkit) {
  SUCCEED() << "compared while compiling, with CUDA " << CUDA_VERSION;
}

#else

TEST(CudaAbiTest, DeclarationsAreThoseOfTheToolkit) {
  GTEST_SKIP() << "cuda.h and nvrtc.h are not here: no CUDA toolkit in the include path or in /usr/local/cuda";
}

#endif

}  // namespace
}  // namespace masu::cuda
