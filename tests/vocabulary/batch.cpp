// SPDX-License-Identifier: Apache-2.0
#include "batch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <masu/program.h>

#include "known_faults.h"
#include "runtime/program_cache.h"
#include "tally.h"

#include <cmath>
#include <iterator>
#include <utility>

namespace masu::vocabulary {
namespace {

constexpr std::size_t alignment = 128;
constexpr std::size_t most_texts = 3;  // of failing cases in one batch

constexpr std::string_view opencl_head = R"(#define MASU_LOCAL_POINTER(type, name)
#pragma OPENCL FP_CONTRACT OFF
)";
constexpr std::string_view fp64_head = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";

std::size_t room(const Case& one) {
  return (one.expected.size() + alignment - 1) / alignment * alignment;
}

bool is_nan(Match match, std::span<const std::byte> bytes) {
  if (match == Match::f64) return std::isnan(value_at<double>(bytes, 0));
  if (match == Match::f32) return std::isnan(value_at<float>(bytes, 0));
  return match == Match::f16 && (value_at<std::uint16_t>(bytes, 0) & 0x7fffU) > 0x7c00U;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (std::size_t i = bytes.size(); i-- > 0;) text += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  return text;
}

// What differs from the expected, or "".
std::string compare(const Case& one, std::span<const std::byte> got) {
  constexpr std::size_t sizes[] = {1, 2, 4, 8};
  const std::size_t size = sizes[static_cast<std::size_t>(one.match)];
  std::size_t wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < one.expected.size() / size; ++i) {
    const auto want = element(one.expected, size, i);
    const auto have = element(got, size, i);
    if (std::ranges::equal(want, have) || (is_nan(one.match, want) && is_nan(one.match, have))) continue;
    if (wrong++ > 0) continue;
    first = fmt::format("element {} of {} bytes: expected 0x{}, got 0x{}", i, size, hex(want), hex(have));
  }
  return wrong < 2 ? first : fmt::format("{} ({} such)", first, wrong);
}

class Runner {
 public:
  Runner(const Device& device, const Batch& batch) : device_(device), batch_(batch) {}

  // What is wrong with each case, or "".
  std::vector<std::string> run(const std::vector<Case>& cases) {
    if (cases.empty()) return {};
    std::string why;
    try {
      const Bytes all = launch(cases);
      std::vector<std::string> complaints;
      std::size_t at = 0;
      for (const Case& one : cases) {
        complaints.push_back(compare(one, std::span(all).subspan(at, one.expected.size())));
        at += room(one);
      }
      return complaints;
    } catch (const Error& error) {
      why = error.what();
    }
    if (cases.size() == 1) return {why.substr(0, 1000)};
    const auto middle = cases.begin() + static_cast<std::ptrdiff_t>(cases.size() / 2);
    std::vector<std::string> complaints = run({cases.begin(), middle});
    std::ranges::move(run({middle, cases.end()}), std::back_inserter(complaints));
    return complaints;
  }

 private:
  Bytes launch(const std::vector<Case>& cases) {
    const std::string text = kernel_text(batch_, cases, device_.info().fp64, device_.kind() == DeviceKind::cuda);
    Kernel kernel = build(text);
    Bytes initial;
    for (const Case& one : cases) {
      Bytes own = one.initial.empty() ? Bytes(one.expected.size(), std::byte{0xa5}) : one.initial;
      own.resize(room(one), std::byte{0xa5});
      append_bytes(initial, own);
    }
    Buffer<std::uint8_t> in = upload(batch_.input);
    Buffer<std::uint8_t> constants = upload(batch_.constant_input);
    Buffer<std::uint8_t> out = upload(initial);
    Stream stream(device_);
    kernel(stream, {batch_.lanes * batch_.groups, batch_.lanes}, in, constants, out, LocalMemory{batch_.local_bytes});
    stream.finish();
    const std::vector<std::uint8_t> bytes = out.read();
    return bytes_of(bytes);
  }

  Kernel build(const std::string& text) {
    if (batch_.language == Language::opencl) {
      return Program::from_source(device_, text, batch_.options).kernel("vocabulary");
    }
    runtime::Device& device = *device_.implementation();
    const std::string whole = std::string(device.prelude()) + text;
    return Kernel(runtime::cached_program(device, whole, device.kernel_options())->kernel("vocabulary"));
  }

  Buffer<std::uint8_t> upload(const Bytes& bytes) const {
    std::vector<std::uint8_t> copy(bytes.size() + 1);  // never empty
    for (std::size_t i = 0; i < bytes.size(); ++i) copy[i] = std::to_integer<std::uint8_t>(bytes[i]);
    return device_.upload(copy);
  }

  Device device_;
  const Batch& batch_;
};

}  // namespace

std::string kernel_text(const Batch& batch, const std::vector<Case>& cases, bool fp64, bool cuda) {
  const bool opencl = batch.language == Language::opencl;
  std::string text;
  if (opencl) text += opencl_head;
  if (fp64 && !cuda) text += fp64_head;
  text += batch.preamble;
  const std::string_view pool = cuda ? "uint4" : "ulong16";  // what aligns it most
  fmt::format_to(std::back_inserter(text), R"(
__kernel void vocabulary(__global const uchar *in, __constant uchar *constants, __global uchar *rooms,
                         __local {0} *aligned) {{
  MASU_LOCAL_POINTER({0}, aligned);
  __local uchar *pool = (__local uchar *)aligned;
  const uint lane = (uint)get_local_id(0), lanes = (uint)get_local_size(0), group = (uint)get_group_id(0);
{1}
)",
                 pool, batch.prologue);
  std::size_t at = 0;
  for (const Case& one : cases) {
    fmt::format_to(std::back_inserter(text), "  {{  // {}\n    __global uchar *out = rooms + {};\n{}\n  }}\n", one.name,
                   at, one.code);
    at += room(one);
  }
  return text + "}\n";
}

std::vector<std::string> complaints(const Device& device, const Batch& batch, const std::vector<Case>& cases) {
  return Runner(device, batch).run(cases);
}

void run(const Device& device, const Batch& batch) {
  const DeviceInfo& info = device.info();
  std::vector<Case> sound;
  std::size_t texts = 0;
  std::string known;
  for (const Case& one : batch.cases) {
    const KnownFault* fault = find_known_fault(info, batch.family, batch.type, one.name);
    if (fault == nullptr) {
      sound.push_back(one);
      continue;
    }
    const std::string complaint = complaints(device, batch, {one}).at(0);
    const Verdict right = fault->optimised ? Verdict::passed : Verdict::failed;
    tally().count(info, batch.family, complaint.empty() ? right : Verdict::known_fault);
    if (complaint.empty() && fault->optimised) continue;
    if (complaint.empty()) {
      ADD_FAILURE() << batch.family << ", " << batch.type << ", " << one.name << ": known_faults.cpp is stale, this "
                    << "fault does not show with " << info.driver << ": " << fault->fault;
    } else {
      known += fmt::format("\nknown fault: {}: {} ({})", one.name, fault->fault, complaint);
    }
  }
  const std::vector<std::string> found = complaints(device, batch, sound);
  for (std::size_t i = 0; i < sound.size(); ++i) {
    tally().count(info, batch.family, found[i].empty() ? Verdict::passed : Verdict::failed);
    if (found[i].empty()) continue;
    ADD_FAILURE() << batch.family << ", " << batch.type << ", " << sound[i].name << ": " << found[i]
                  << (texts++ < most_texts ? "\n" + kernel_text(batch, {sound[i]}, info.fp64, false) : "");
  }
  if (!known.empty()) GTEST_SKIP() << "the " << sound.size() << " other cases of this test are right" << known;
}

void skip_lacking(const Device& device, const Batch& batch, std::string_view why) {
  tally().count(device.info(), batch.family, Verdict::lacking, batch.cases.size());
  GTEST_SKIP() << device.id() << " lacks " << batch.family << " of " << batch.type << ": " << why;
}

void judge(const Device& device, std::string_view family, std::string_view type, std::string_view name,
           const std::string& complaint) {
  const DeviceInfo& info = device.info();
  const KnownFault* fault = find_known_fault(info, family, type, name);
  const bool good = complaint.empty();
  const Verdict wrong = fault != nullptr ? Verdict::known_fault : Verdict::failed;
  tally().count(info, family, good && fault == nullptr ? Verdict::passed : good ? Verdict::failed : wrong);
  if (good && fault != nullptr) {
    ADD_FAILURE() << family << ", " << type << ", " << name
                  << ": known_faults.cpp is stale, this fault does not show with " << info.driver << ": "
                  << fault->fault;
  } else if (!good && fault != nullptr) {
    GTEST_SKIP() << "known fault: " << name << ": " << fault->fault << " (" << complaint << ")";
  } else if (!good) {
    ADD_FAILURE() << family << ", " << type << ", " << name << ": " << complaint;
  }
}

}  // namespace masu::vocabulary
