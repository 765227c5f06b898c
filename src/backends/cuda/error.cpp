// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace masu::cuda {

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
  constexpr CUresult stub_library = 34;  // every function of the toolkit's stub returns it
  const char* name = nullptr;
  const char* text = nullptr;
  const bool named = driver.get_error_name(code, &name) == success && name != nullptr;
  const bool described = driver.get_error_string(code, &text) == success && text != nullptr;
  if (!named) name = code == stub_library ? "CUDA_ERROR_STUB_LIBRARY" : "CUDA error";
  return fmt::format("{} ({}, {})", described ? text : "unknown error", name, code);
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
