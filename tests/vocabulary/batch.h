// SPDX-License-Identifier: Apache-2.0
// Cases of a family, run in one kernel: compiling is what takes the time. A case is some statements of a kernel and the
// bytes that they must leave. A batch that does not build or run is halved until the case at fault stands alone.
#pragma once

#include <masu/device.h>

#include "types.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace masu::vocabulary {

// How results are compared. A NaN matches every NaN of its type.
enum class Match { bits, f16, f32, f64 };

struct Case {
  std::string name;    // what it tries: known_faults.cpp and the reports call it so
  std::string code{};  // its statements
  Bytes expected{};    // what they leave at `out`
  Bytes initial{};     // what is there before them, as long as `expected`; 0xa5 in every byte where there is none
  Match match = Match::bits;
};

enum class Language {
  opencl,   // OpenCL C, as any user writes it
  prelude,  // what masu's own kernels are written in: OpenCL C behind masu's prelude, on CUDA too
};

// The kernel has the parameters and variables
//   in, constants, pool   `input`, `constant_input` and `local_bytes` bytes, as uchar pointers, aligned to 128
//   out                   the room of the case, aligned to 128
//   lane, lanes, group    of this work-item
struct Batch {
  std::string family;
  std::string type{};
  std::string preamble{};  // before the kernel
  std::string prologue{};  // its first statements
  Bytes input{};
  Bytes constant_input{};
  std::size_t lanes = 4;
  std::size_t groups = 1;
  std::size_t local_bytes = 16384;
  std::vector<Case> cases{};
  Language language = Language::opencl;
  std::string options{};
};

// The whole text of the kernel "vocabulary" for some cases.
std::string kernel_text(const Batch& batch, const std::vector<Case>& cases, bool fp64, bool cuda);

// What is wrong with each of some cases of a batch, or "".
std::vector<std::string> complaints(const Device& device, const Batch& batch, const std::vector<Case>& cases);

// Runs every case. What is wrong and not a known fault of this device fails the test; where known faults show, the test
// is skipped with their texts.
void run(const Device& device, const Batch& batch);

// For a batch that the device cannot run: counts its cases as lacking and skips the test.
void skip_lacking(const Device& device, const Batch& batch, std::string_view why);

// One line that a case without a batch passed or failed; a failure fails the test.
void judge(const Device& device, std::string_view family, std::string_view type, std::string_view name,
           const std::string& complaint);

}  // namespace masu::vocabulary
