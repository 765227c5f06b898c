// SPDX-License-Identifier: Apache-2.0
// Finds devices by the names that users give them, or by the work that there is.
#include "runtime/backend.h"
#include "runtime/fork.h"

#include <masu/device.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace masu::runtime {
namespace {

// Throws in a process that was forked after the driver was opened.
void refuse_fork(const Backend& backend, std::string_view function) {
  if (!backend.forked()) return;
  throw Error(ErrorCode::device_lost, fmt::format("{}: {}: {}", function, to_string(backend.kind()), forked_why));
}

// A backend's devices, whatever goes wrong in it.
std::vector<DeviceInfo> devices_of(Backend& backend) {
  try {
    if (backend.forked()) throw Error(ErrorCode::device_lost, std::string(forked_why));
    return backend.devices();
  } catch (const std::exception& error) {
    DeviceInfo info;
    info.id = to_string(backend.kind());
    info.kind = backend.kind();
    info.usable = false;
    info.why = error.what();
    return {info};
  }
}

std::vector<DeviceInfo> usable(std::vector<DeviceInfo> devices) {
  std::erase_if(devices, [](const DeviceInfo& info) { return !info.usable; });
  return devices;
}

std::string reasons(const std::vector<DeviceInfo>& devices) {
  std::string text;
  for (const DeviceInfo& info : devices) {
    if (info.usable) continue;
    text += fmt::format("{}{}{}", text.empty() ? ": " : "; ", info.name.empty() ? "" : info.name + ": ", info.why);
  }
  return text;
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const auto equal = [&](char a, char b) { return lower(a) == lower(b); };
  return !part.empty() && std::search(text.begin(), text.end(), part.begin(), part.end(), equal) != text.end();
}

std::optional<std::size_t> number_from(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::shared_ptr<Device> open_best() {
  for (Backend* backend : {&cuda_backend(), &opencl_backend()}) {
    const std::vector<DeviceInfo> devices = usable(devices_of(*backend));
    for (std::size_t number = 0; number < devices.size(); ++number) {
      if (!devices[number].gpu) continue;
      try {
        return backend->open(number);
      } catch (const Error&) {  // listed, but its driver fails: the next one may work
      }
    }
  }
  return cpu_backend().open(0);
}

// `which` is what follows the colon: a number or a part of a name; empty for number 0.
std::shared_ptr<Device> open_of(Backend& backend, std::string_view id, std::string_view which) {
  refuse_fork(backend, "Device::open");
  const std::vector<DeviceInfo> listed = devices_of(backend);
  const std::vector<DeviceInfo> devices = usable(listed);
  if (devices.empty()) {
    throw Error(ErrorCode::unsupported, fmt::format("Device::open: no usable {} device is present, got \"{}\"{}",
                                                    to_string(backend.kind()), id, reasons(listed)));
  }
  if (which.empty() || all_digits(which)) {
    const std::optional<std::size_t> number = which.empty() ? 0 : number_from(which);
    if (number && *number < devices.size()) return backend.open(*number);
    throw Error(ErrorCode::unsupported,
                fmt::format("Device::open: {} devices have the numbers 0 to {} here, got \"{}\"{}",
                            to_string(backend.kind()), devices.size() - 1, id, reasons(listed)));
  }
  for (const auto field : {&DeviceInfo::name, &DeviceInfo::vendor, &DeviceInfo::driver}) {
    const auto found = std::ranges::find_if(
        devices, [&](const DeviceInfo& info) { return contains_ignoring_case(info.*field, which); });
    if (found != devices.end()) return backend.open(static_cast<std::size_t>(found - devices.begin()));
  }
  std::vector<std::string> names;
  for (const DeviceInfo& info : devices) names.push_back(fmt::format("\"{}\"", info.name));
  throw Error(ErrorCode::unsupported,
              fmt::format("Device::open: the {} devices here are {}, got \"{}\"{}", to_string(backend.kind()),
                          fmt::join(names, ", "), id, reasons(listed)));
}

}  // namespace

MASU_EXPORT std::vector<DeviceInfo> list_devices(DeviceKind kind) {
  return devices_of(kind == DeviceKind::cpu      ? cpu_backend()
                    : kind == DeviceKind::opencl ? opencl_backend()
                                                 : cuda_backend());
}

}  // namespace masu::runtime

namespace masu {

std::string_view to_string(DeviceKind kind) noexcept {
  constexpr std::string_view names[] = {"cpu", "opencl", "cuda"};
  return names[static_cast<std::size_t>(kind)];
}

Device::Device(std::shared_ptr<runtime::Device> implementation) noexcept : implementation_(std::move(implementation)) {}

Device Device::open(std::string_view id) {
  const FloatingPointScope usual;
  if (id.empty()) {
    const char* preset = std::getenv("MASU_DEVICE");
    id = preset != nullptr && *preset != '\0' ? preset : "auto";
  }
  if (id == "auto") return Device(runtime::open_best());
  if (id == "cpu") return Device(runtime::cpu_backend().open(0));
  const std::string_view kind = id.substr(0, id.find(':'));
  const std::string_view which = kind.size() < id.size() ? id.substr(kind.size() + 1) : std::string_view{};
  if (kind.size() == id.size() || !which.empty()) {
    if (kind == "opencl") return Device(runtime::open_of(runtime::opencl_backend(), id, which));
    if (kind == "cuda") return Device(runtime::open_of(runtime::cuda_backend(), id, which));
  }
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("Device::open: a device is auto, cpu, opencl, cuda, opencl:N, cuda:N or a part of a name as in "
                  "opencl:NAME, got \"{}\"",
                  id));
}

std::vector<DeviceInfo> Device::list() {
  const FloatingPointScope usual;
  std::vector<DeviceInfo> all;
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::opencl, DeviceKind::cuda}) {
    std::ranges::move(runtime::list_devices(kind), std::back_inserter(all));
  }
  return all;
}

Device Device::wrap_opencl(void* cl_context, void* cl_device_id) {
  const FloatingPointScope usual;
  if (cl_context == nullptr || cl_device_id == nullptr) {
    throw Error(ErrorCode::invalid_argument, "Device::wrap_opencl: context and device must not be null, got null");
  }
  runtime::refuse_fork(runtime::opencl_backend(), "Device::wrap_opencl");
  return Device(runtime::opencl_backend().wrap(cl_context, cl_device_id));
}

Device Device::wrap_cuda(void* cu_context) {
  const FloatingPointScope usual;
  if (cu_context == nullptr) {
    throw Error(ErrorCode::invalid_argument, "Device::wrap_cuda: the context must not be null, got null");
  }
  runtime::refuse_fork(runtime::cuda_backend(), "Device::wrap_cuda");
  return Device(runtime::cuda_backend().wrap(cu_context, nullptr));
}

const DeviceInfo& Device::info() const noexcept {
  return implementation_->info();
}

void Device::synchronize() const {
  implementation_->synchronize();
}

void Device::trim() const {
  implementation_->trim();
}

void* Device::native_context() const noexcept {
  return implementation_->native_context();
}

void* Device::native_device() const noexcept {
  return implementation_->native_device();
}

Device device_for(Work work, std::uint64_t bytes) {
  const FloatingPointScope usual;
  const char* named = std::getenv("MASU_DEVICE");
  if (named != nullptr && *named != '\0') return Device::open(named);
  if (work == Work::moving) return Device::open("cpu");
  // Rough on purpose: what a thread does, what pageable memory moves (for a sort there and back), and what a GPU costs
  // to open (2026-11, H200).
  const double thread_bytes_a_second = work == Work::sorting ? 1e9 : 4e9;
  const double transfer_bytes_a_second = work == Work::sorting ? 4e9 : 10e9;
  constexpr double start_seconds = 0.4;
  const auto amount = static_cast<double>(bytes);
  const double here = amount / (thread_bytes_a_second * cpu_threads());
  if (here <= start_seconds + amount / transfer_bytes_a_second) return Device::open("cpu");
  Device best = Device::open("auto");
  return best.info().gpu ? best : Device::open("cpu");
}

}  // namespace masu
