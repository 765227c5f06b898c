// SPDX-License-Identifier: Apache-2.0
#include "known_faults.h"

#include <vector>

namespace masu::vocabulary {
namespace {

// Whether `text` is `pattern`, in which `*` stands for any text and `?` for a character.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
  }
  return !text.empty() && (pattern.front() == '?' || pattern.front() == text.front()) &&
         matches(pattern.substr(1), text.substr(1));
}

constexpr std::string_view pocl_3_1 = "3.1+debian, Portable Computing Language";
constexpr std::string_view oclgrind_21_10 = "Oclgrind 21.10";
constexpr std::string_view nvidia_580 = "580.";
constexpr std::string_view intel_2026 = "2026.22.10.0.01_160000, Intel(R) OpenCL";
constexpr std::string_view intel_any = "Intel(R) ";  // 2021.4 to 2026.2, and the FPGA emulator
constexpr std::string_view literal_of_high_bits = "what a literal mask names by high bits is not there";
constexpr std::string_view lost_text = "what stands before a vector in the format is not printed";
constexpr std::string_view high_mask_bits = "mask bits above the lowest two change which half of an element is taken";
constexpr std::string_view other_end = "some results beyond 64 bits are saturated at the other end";
constexpr std::string_view narrow_product = "the product is cut to the width of its factors before it is saturated";
constexpr std::string_view scalar_as_vector = "the scalar is read as if it were a vector";
constexpr std::string_view one_for_true = "a comparison with a scalar that is spread gives 1 for true, not -1";
constexpr std::string_view no_dimension = "of a dimension that there is not the size is 0 instead of 1";

const std::vector<KnownFault> table{
    {"", pocl_3_1, "printf", "", "\"%.15g\" of *", "a double without the modifier l is rounded to float first"},
    {"pthread-haswell", pocl_3_1, "printf", "", "\"%v16hlg\" of *", "without AVX-512 sixteen floats are shifted"},
    {"", pocl_3_1, "work-items", "", "get_global_size(3)", no_dimension},
    {"", pocl_3_1, "work-items", "", "get_local_size(3)", no_dimension},
    {"", pocl_3_1, "work-items", "", "get_num_groups(3)", no_dimension},
    {"", intel_any, "shuffle", "", "shuffle of * by a literal of high bits", literal_of_high_bits},
    {"", intel_2026, "shuffle", "", "shuffle of *4 by ulong4", high_mask_bits},
    {"", intel_2026, "shuffle", "", "shuffle of *4 by ulong8", high_mask_bits},
    {"", intel_2026, "shuffle", "", "shuffle of *4 by ulong16", high_mask_bits},
    {"", intel_2026, "integers", "int", "mad_sat of int?*", narrow_product},
    {"", intel_2026, "integers", "uint", "mad_sat of uint?*", narrow_product},
    {"", intel_2026, "integers", "long", "mad_sat of *", narrow_product},
    {"NVIDIA", nvidia_580, "printf", "", "\"before *", lost_text},
    {"NVIDIA", nvidia_580, "printf", "", "\"%5v2hld|*", lost_text},
    {"NVIDIA", nvidia_580, "integers", "long", "mad_sat of *", other_end},
    {"Oclgrind", oclgrind_21_10, "work-items", "", "get_global_size(3)", no_dimension},
    {"Oclgrind", oclgrind_21_10, "work-items", "", "get_local_size(3)", no_dimension},
    {"Oclgrind", oclgrind_21_10, "work-items", "", "get_num_groups(3)", no_dimension},
    {"Oclgrind", oclgrind_21_10, "integers", "long", "mad_sat of *", "some sums that fit are saturated"},
    {"Oclgrind", oclgrind_21_10, "min and max", "", "* scalar* of *char*", scalar_as_vector},
    {"Oclgrind", oclgrind_21_10, "min and max", "", "* scalar* of *short*", scalar_as_vector},
    {"Oclgrind", oclgrind_21_10, "min and max", "", "* scalar* of *int*", scalar_as_vector},
    {"Oclgrind", oclgrind_21_10, "min and max", "", "* scalar* of *long*", scalar_as_vector},
    {"Oclgrind", oclgrind_21_10, "operators", "", "count of *", one_for_true, true},
    {"Oclgrind", oclgrind_21_10, "relational", "float", "isnormal of *", "a subnormal float counts as normal"},
};

}  // namespace

std::span<const KnownFault> known_faults() {
  return table;
}

const KnownFault* find_known_fault(const DeviceInfo& device, std::string_view family, std::string_view type,
                                   std::string_view name) {
  for (const KnownFault& fault : known_faults()) {
    if (device.name.find(fault.device) == std::string::npos || device.driver.find(fault.driver) == std::string::npos) {
      continue;
    }
    if (fault.family == family && (fault.type.empty() || fault.type == type) && matches(fault.name, name)) {
      return &fault;
    }
  }
  return nullptr;
}

}  // namespace masu::vocabulary
