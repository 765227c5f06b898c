// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

namespace masu::cuda {

namespace {

// The names of all results of CUDA 13.0 and of its NVRTC, for when there is no driver to ask, or an older one.

struct NamedCode {
  int code;
  std::string_view name;
};

constexpr NamedCode driver_codes[] = {
    {0, "CUDA_SUCCESS"},
    {1, "CUDA_ERROR_INVALID_VALUE"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, "CUDA_ERROR_NOT_INITIALIZED"},
    {4, "CUDA_ERROR_DEINITIALIZED"},
    {5, "CUDA_ERROR_PROFILER_DISABLED"},
    {6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED"},
    {7, "CUDA_ERROR_PROFILER_ALREADY_STARTED"},
    {8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED"},
    {34, "CUDA_ERROR_STUB_LIBRARY"},
    {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    {100, "CUDA_ERROR_NO_DEVICE"},
    {101, "CUDA_ERROR_INVALID_DEVICE"},
    {102, "CUDA_ERROR_DEVICE_NOT_LICENSED"},
    {200, "CUDA_ERROR_INVALID_IMAGE"},
    {201, "CUDA_ERROR_INVALID_CONTEXT"},
    {202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT"},
    {205, "CUDA_ERROR_MAP_FAILED"},
    {206, "CUDA_ERROR_UNMAP_FAILED"},
    {207, "CUDA_ERROR_ARRAY_IS_MAPPED"},
    {208, "CUDA_ERROR_ALREADY_MAPPED"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {210, "CUDA_ERROR_ALREADY_ACQUIRED"},
    {211, "CUDA_ERROR_NOT_MAPPED"},
    {212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY"},
    {213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT"},
    {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
    {218, "CUDA_ERROR_INVALID_PTX"},
    {219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED"},
    {224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY"},
    {225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC"},
    {226, "CUDA_ERROR_CONTAINED"},
    {300, "CUDA_ERROR_INVALID_SOURCE"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND"},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM"},
    {400, "CUDA_ERROR_INVALID_HANDLE"},
    {401, "CUDA_ERROR_ILLEGAL_STATE"},
    {402, "CUDA_ERROR_LOSSY_QUERY"},
    {500, "CUDA_ERROR_NOT_FOUND"},
    {600, "CUDA_ERROR_NOT_READY"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {710, "CUDA_ERROR_ASSERT"},
    {711, "CUDA_ERROR_TOO_MANY_PEERS"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE"},
    {718, "CUDA_ERROR_INVALID_PC"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
    {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK"},
    {800, "CUDA_ERROR_NOT_PERMITTED"},
    {801, "CUDA_ERROR_NOT_SUPPORTED"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED"},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE"},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY"},
    {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED"},
    {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED"},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED"},
    {811, "CUDA_ERROR_CDP_NOT_SUPPORTED"},
    {812, "CUDA_ERROR_CDP_VERSION_MISMATCH"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
    {907, "CUDA_ERROR_CAPTURED_EVENT"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
    {909, "CUDA_ERROR_TIMEOUT"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE"},
    {913, "CUDA_ERROR_FUNCTION_NOT_LOADED"},
    {914, "CUDA_ERROR_INVALID_RESOURCE_TYPE"},
    {915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION"},
    {916, "CUDA_ERROR_KEY_ROTATION"},
    {999, "CUDA_ERROR_UNKNOWN"},
};

constexpr NamedCode nvrtc_codes[] = {
    {0, "NVRTC_SUCCESS"},
    {1, "NVRTC_ERROR_OUT_OF_MEMORY"},
    {2, "NVRTC_ERROR_PROGRAM_CREATION_FAILURE"},
    {3, "NVRTC_ERROR_INVALID_INPUT"},
    {4, "NVRTC_ERROR_INVALID_PROGRAM"},
    {5, "NVRTC_ERROR_INVALID_OPTION"},
    {6, "NVRTC_ERROR_COMPILATION"},
    {7, "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"},
    {8, "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION"},
    {9, "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION"},
    {10, "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID"},
    {11, "NVRTC_ERROR_INTERNAL_ERROR"},
    {12, "NVRTC_ERROR_TIME_FILE_WRITE_FAILED"},
    {13, "NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED"},
    {14, "NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED"},
    {15, "NVRTC_ERROR_PCH_CREATE"},
    {16, "NVRTC_ERROR_CANCELLED"},
    {17, "NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED"},
};

std::string_view name_in(std::span<const NamedCode> codes, int code) noexcept {
  const auto found = std::ranges::find(codes, code, &NamedCode::code);
  return found != codes.end() ? found->name : std::string_view();
}

}  // namespace

std::string_view error_name(CUresult code) noexcept {
  return name_in(driver_codes, code);
}

std::string_view nvrtc_error_name(nvrtcResult code) noexcept {
  return name_in(nvrtc_codes, code);
}

namespace {

struct CodeRange {
  CUresult first;
  CUresult last;
  ErrorCode code;
};

// In ascending order; what is not listed is `unsupported`.
constexpr CodeRange code_ranges[] = {
    {1, 1, ErrorCode::invalid_argument},      // invalid value
    {2, 2, ErrorCode::out_of_memory},         //
    {3, 4, ErrorCode::device_lost},           // not initialised, shut down
    {46, 46, ErrorCode::device_lost},         // device unavailable
    {200, 200, ErrorCode::build_failed},      // invalid image
    {201, 202, ErrorCode::invalid_argument},  // invalid context
    {209, 209, ErrorCode::build_failed},      // no binary for this device
    {214, 214, ErrorCode::device_lost},       // uncorrectable ECC error
    {218, 218, ErrorCode::build_failed},      // invalid PTX
    {220, 220, ErrorCode::device_lost},       // uncorrectable NVLink error
    {221, 223, ErrorCode::build_failed},      // no JIT compiler, PTX too new, JIT disabled
    {226, 226, ErrorCode::device_lost},       // contained error
    {300, 300, ErrorCode::build_failed},      // invalid source
    {400, 401, ErrorCode::invalid_argument},  // invalid handle or state
    {500, 500, ErrorCode::invalid_argument},  // not found
    {700, 700, ErrorCode::device_lost},       // illegal address
    {701, 701, ErrorCode::invalid_argument},  // launch out of resources
    {702, 702, ErrorCode::device_lost},       // launch timeout
    {709, 710, ErrorCode::device_lost},       // context destroyed, assertion in a kernel
    {712, 713, ErrorCode::invalid_argument},  // host memory already or not registered
    {714, 719, ErrorCode::device_lost},       // stack, instruction, alignment, address, launch failure
    {720, 720, ErrorCode::invalid_argument},  // cooperative launch too large
    {721, 721, ErrorCode::device_lost},       // tensor memory leak
    {810, 810, ErrorCode::device_lost},       // MPS client terminated
    {911, 911, ErrorCode::device_lost},       // external device
    {999, 999, ErrorCode::device_lost},       // unknown
};

}  // namespace

std::string error_text(const Driver& driver, CUresult code) {
  const char* told = nullptr;
  const char* text = nullptr;
  std::string_view name = error_name(code);
  if (name.empty() && driver.get_error_name(code, &told) == success && told != nullptr) name = told;
  const bool described = driver.get_error_string(code, &text) == success && text != nullptr;
  return fmt::format("{} ({}, {})", described ? text : "unknown error", name.empty() ? "CUDA error" : name, code);
}

ErrorCode error_code(CUresult code) noexcept {
  const auto* range = std::find_if(std::begin(code_ranges), std::end(code_ranges),
                                   [code](const CodeRange& r) { return r.first <= code && code <= r.last; });
  return range != std::end(code_ranges) ? range->code : ErrorCode::unsupported;
}

void throw_error(const Driver& driver, CUresult code, std::string_view function, std::string_view device) {
  throw Error(error_code(code), fmt::format("{}: {}: {}", function, device, error_text(driver, code)));
}

}  // namespace masu::cuda
