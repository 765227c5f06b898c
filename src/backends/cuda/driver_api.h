// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API and of NVRTC that masu calls, declared against their documented C interfaces, so that
// building masu needs no CUDA toolkit: abi_test.cpp compares it with cuda.h and nvrtc.h where those are present. Both
// are opened at run time, once in the life of the process, and never closed. The results of the driver as masu::Error.
#pragma once

#include <masu/error.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace masu::cuda {

// Handles and enumerations of the driver. Enumerations of C are ints in its interface.
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct Context_*;
using CUmodule = struct Module_*;
using CUfunction = struct Function_*;
using CUstream = struct Stream_*;
using CUevent = struct Event_*;
using OccupancyCallback = std::size_t (*)(int block_size);

// Results that the backend tells apart; the names of all others come from the driver.
inline constexpr CUresult success = 0;
inline constexpr CUresult error_invalid_value = 1;
inline constexpr CUresult error_out_of_memory = 2;
inline constexpr CUresult error_not_found = 500;
inline constexpr CUresult error_not_ready = 600;
inline constexpr CUresult error_host_memory_already_registered = 712;

// CUdevice_attribute
inline constexpr int device_max_threads_per_block = 1;
inline constexpr int device_max_block_dim_x = 2;  // y and z follow
inline constexpr int device_max_grid_dim_x = 5;   // y and z follow
inline constexpr int device_max_shared_memory_per_block = 8;
inline constexpr int device_warp_size = 10;
inline constexpr int device_multiprocessor_count = 16;
inline constexpr int device_compute_mode = 20;
inline constexpr int device_compute_capability_major = 75;
inline constexpr int device_compute_capability_minor = 76;
inline constexpr int device_max_shared_memory_per_multiprocessor = 81;
inline constexpr int device_max_shared_memory_per_block_optin = 97;
inline constexpr int device_host_register_supported = 99;
inline constexpr int device_read_only_host_register_supported = 113;
inline constexpr int compute_mode_prohibited = 2;

// CUfunction_attribute
inline constexpr int function_max_threads_per_block = 0;
inline constexpr int function_shared_size_bytes = 1;
inline constexpr int function_max_dynamic_shared_size_bytes = 8;

// CUpointer_attribute
inline constexpr int pointer_memory_type = 2;
inline constexpr int pointer_is_managed = 8;
inline constexpr int pointer_range_start = 11;
inline constexpr int pointer_range_size = 12;

// CUmemorytype
inline constexpr unsigned memory_type_host = 1;

// CUstreamCaptureStatus, CUstreamCaptureMode
inline constexpr int capture_active = 1;
inline constexpr int capture_mode_relaxed = 2;

// Flags and options
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_default = 0;
inline constexpr unsigned host_alloc_portable = 1;
inline constexpr unsigned host_register_portable = 1;
inline constexpr unsigned host_register_device_map = 2;
inline constexpr unsigned host_register_read_only = 8;
inline constexpr int jit_error_log_buffer = 5;
inline constexpr int jit_error_log_buffer_size_bytes = 6;

// X(member, exported symbol, parameters): what must be there. A name with _v2 is what cuda.h maps the plain name to;
// the plain symbol is an older function with other types. The newest of these came with CUDA 11.0.
#define MASU_CUDA_DRIVER_FUNCTIONS(X)                                                                             \
  X(init, cuInit, (unsigned))                                                                                     \
  X(driver_get_version, cuDriverGetVersion, (int*))                                                               \
  X(get_error_name, cuGetErrorName, (CUresult, const char**))                                                     \
  X(get_error_string, cuGetErrorString, (CUresult, const char**))                                                 \
  X(device_get_count, cuDeviceGetCount, (int*))                                                                   \
  X(device_get, cuDeviceGet, (CUdevice*, int))                                                                    \
  X(device_get_name, cuDeviceGetName, (char*, int, CUdevice))                                                     \
  X(device_total_mem, cuDeviceTotalMem_v2, (std::size_t*, CUdevice))                                              \
  X(device_get_attribute, cuDeviceGetAttribute, (int*, int, CUdevice))                                            \
  X(primary_ctx_retain, cuDevicePrimaryCtxRetain, (CUcontext*, CUdevice))                                         \
  X(primary_ctx_release, cuDevicePrimaryCtxRelease_v2, (CUdevice))                                                \
  X(ctx_push_current, cuCtxPushCurrent_v2, (CUcontext))                                                           \
  X(ctx_pop_current, cuCtxPopCurrent_v2, (CUcontext*))                                                            \
  X(ctx_get_current, cuCtxGetCurrent, (CUcontext*))                                                               \
  X(ctx_get_device, cuCtxGetDevice, (CUdevice*))                                                                  \
  X(ctx_synchronize, cuCtxSynchronize, ())                                                                        \
  X(mem_get_info, cuMemGetInfo_v2, (std::size_t*, std::size_t*))                                                  \
  X(mem_alloc, cuMemAlloc_v2, (CUdeviceptr*, std::size_t))                                                        \
  X(mem_free, cuMemFree_v2, (CUdeviceptr))                                                                        \
  X(mem_host_alloc, cuMemHostAlloc, (void**, std::size_t, unsigned))                                              \
  X(mem_free_host, cuMemFreeHost, (void*))                                                                        \
  X(mem_host_register, cuMemHostRegister_v2, (void*, std::size_t, unsigned))                                      \
  X(mem_host_unregister, cuMemHostUnregister, (void*))                                                            \
  X(mem_host_get_device_pointer, cuMemHostGetDevicePointer_v2, (CUdeviceptr*, void*, unsigned))                   \
  X(pointer_get_attribute, cuPointerGetAttribute, (void*, int, CUdeviceptr))                                      \
  X(memcpy_htod_async, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void*, std::size_t, CUstream))                   \
  X(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2, (void*, CUdeviceptr, std::size_t, CUstream))                         \
  X(memcpy_dtod_async, cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, std::size_t, CUstream))                   \
  X(memset_d8_async, cuMemsetD8Async, (CUdeviceptr, unsigned char, std::size_t, CUstream))                        \
  X(memset_d16_async, cuMemsetD16Async, (CUdeviceptr, unsigned short, std::size_t, CUstream))                     \
  X(memset_d32_async, cuMemsetD32Async, (CUdeviceptr, unsigned, std::size_t, CUstream))                           \
  X(stream_create, cuStreamCreate, (CUstream*, unsigned))                                                         \
  X(stream_destroy, cuStreamDestroy_v2, (CUstream))                                                               \
  X(stream_synchronize, cuStreamSynchronize, (CUstream))                                                          \
  X(stream_wait_event, cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                          \
  X(stream_get_ctx, cuStreamGetCtx, (CUstream, CUcontext*))                                                       \
  X(stream_is_capturing, cuStreamIsCapturing, (CUstream, int*))                                                   \
  X(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode, (int*))                               \
  X(event_create, cuEventCreate, (CUevent*, unsigned))                                                            \
  X(event_record, cuEventRecord, (CUevent, CUstream))                                                             \
  X(event_query, cuEventQuery, (CUevent))                                                                         \
  X(event_synchronize, cuEventSynchronize, (CUevent))                                                             \
  X(event_destroy, cuEventDestroy_v2, (CUevent))                                                                  \
  X(event_elapsed_time, cuEventElapsedTime, (float*, CUevent, CUevent))                                           \
  X(module_load_data_ex, cuModuleLoadDataEx, (CUmodule*, const void*, unsigned, int*, void**))                    \
  X(module_unload, cuModuleUnload, (CUmodule))                                                                    \
  X(module_get_function, cuModuleGetFunction, (CUfunction*, CUmodule, const char*))                               \
  X(func_get_attribute, cuFuncGetAttribute, (int*, int, CUfunction))                                              \
  X(func_set_attribute, cuFuncSetAttribute, (CUfunction, int, int))                                               \
  X(occupancy_max_potential_block_size, cuOccupancyMaxPotentialBlockSize,                                         \
    (int*, int*, CUfunction, OccupancyCallback, std::size_t, int))                                                \
  X(launch_kernel, cuLaunchKernel,                                                                                \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**, void**)) \
  X(launch_cooperative_kernel, cuLaunchCooperativeKernel,                                                         \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**))

// What may be absent; the pointer is null then. cuFuncGetParamInfo came with CUDA 12.4.
#define MASU_CUDA_DRIVER_OPTIONAL_FUNCTIONS(X) \
  X(func_get_param_info, cuFuncGetParamInfo, (CUfunction, std::size_t, std::size_t*, std::size_t*))

#define MASU_CUDA_MEMBER(member, symbol, parameters) CUresult(*member) parameters = nullptr;

// The driver's functions, found with dlsym.
struct Driver {
  MASU_CUDA_DRIVER_FUNCTIONS(MASU_CUDA_MEMBER)
  MASU_CUDA_DRIVER_OPTIONAL_FUNCTIONS(MASU_CUDA_MEMBER)
};

// NVRTC. The CUBIN functions came with CUDA 11.1, the list of architectures with 11.2.
using nvrtcResult = int;
using nvrtcProgram = struct Program_*;
inline constexpr nvrtcResult nvrtc_success = 0;
inline constexpr nvrtcResult nvrtc_out_of_memory = 1;
inline constexpr nvrtcResult nvrtc_invalid_option = 5;
inline constexpr nvrtcResult nvrtc_compilation = 6;

#define MASU_NVRTC_FUNCTIONS(X)                                                             \
  X(version, nvrtcVersion, (int*, int*))                                                    \
  X(get_num_supported_archs, nvrtcGetNumSupportedArchs, (int*))                             \
  X(get_supported_archs, nvrtcGetSupportedArchs, (int*))                                    \
  X(create_program, nvrtcCreateProgram,                                                     \
    (nvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*)) \
  X(destroy_program, nvrtcDestroyProgram, (nvrtcProgram*))                                  \
  X(compile_program, nvrtcCompileProgram, (nvrtcProgram, int, const char* const*))          \
  X(get_ptx_size, nvrtcGetPTXSize, (nvrtcProgram, std::size_t*))                            \
  X(get_ptx, nvrtcGetPTX, (nvrtcProgram, char*))                                            \
  X(get_cubin_size, nvrtcGetCUBINSize, (nvrtcProgram, std::size_t*))                        \
  X(get_cubin, nvrtcGetCUBIN, (nvrtcProgram, char*))                                        \
  X(get_program_log_size, nvrtcGetProgramLogSize, (nvrtcProgram, std::size_t*))             \
  X(get_program_log, nvrtcGetProgramLog, (nvrtcProgram, char*))

// The compiler's functions. nvrtcGetErrorString returns text, not a result, so it stands apart.
struct Nvrtc {
  MASU_NVRTC_FUNCTIONS(MASU_CUDA_MEMBER)
  const char* (*get_error_string)(nvrtcResult) = nullptr;
};

#undef MASU_CUDA_MEMBER

// A library that was looked for: its functions, or why they are not there.
template <class Functions>
struct Loaded {
  Functions functions;
  std::string path;     // the name that opened
  std::string why;      // empty when it is usable
  bool forked = false;  // this process is a child of the one that opened it
  [[nodiscard]] bool usable() const noexcept { return why.empty(); }
};

// The driver after cuInit: libcuda.so.1, or the file that MASU_CUDA_LIBRARY names.
const Loaded<Driver>& driver();

// NVRTC: what MASU_NVRTC names (a file, or a folder that holds it), else the loader's search path, else the usual
// folders of the toolkit.
const Loaded<Nvrtc>& nvrtc();

// The same searches, done anew: for tests, and with the environment's values as arguments.
Loaded<Driver> load_driver(const char* library);
Loaded<Nvrtc> load_nvrtc(const char* place);

// The CUDA version that the driver supports, as 1000 * major + 10 * minor; 0 without a driver.
int driver_version();

// "13.0" from 13000.
std::string version_text(int version);

// "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, 700)".
std::string error_text(const Driver& driver, CUresult code);

// What kind of failure a result is. Errors after which a context cannot be used any more are device_lost.
ErrorCode error_code(CUresult code) noexcept;

// Throws "FUNCTION: DEVICE: TEXT".
[[noreturn]] void throw_error(const Driver& driver, CUresult code, std::string_view function, std::string_view device);

inline void check(const Driver& driver, CUresult code, std::string_view function, std::string_view device) {
  if (code != success) throw_error(driver, code, function, device);
}

}  // namespace masu::cuda
