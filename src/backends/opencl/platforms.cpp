// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/device.h"

#include <fmt/format.h>

#include "backends/opencl/api.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

namespace masu::opencl {
namespace {

constexpr cl_uint vendor_nvidia = 0x10DE;
// Queries of the extensions cl_nv_device_attribute_query and cl_amd_device_attribute_query.
constexpr cl_device_info compute_capability_major_nv = 0x4000;
constexpr cl_device_info compute_capability_minor_nv = 0x4001;
constexpr cl_device_info warp_size_nv = 0x4003;
constexpr cl_device_info wavefront_width_amd = 0x4043;

// A variable of the environment as it was. Khronos' loader cuts the list of drivers up where it lies, so that programs
// which this one starts would find the first of them alone.
class KeptVariable {
 public:
  explicit KeptVariable(const char* name) : value_(std::getenv(name)), kept_(value_ != nullptr ? value_ : "") {}
  KeptVariable(const KeptVariable&) = delete;
  KeptVariable& operator=(const KeptVariable&) = delete;
  ~KeptVariable() {
    if (value_ != nullptr) std::memcpy(value_, kept_.data(), kept_.size());
  }

 private:
  char* value_;
  std::string kept_;
};

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \n") + 1 - first);
}

std::string platform_text(cl_platform_id platform, cl_platform_info name) {
  return trimmed(info_text(api().clGetPlatformInfo, platform, name));
}

// "OpenCL 1.2 …" as 102; 0 for a text of another form.
int version_of(const std::string& text) {
  int major = 0;
  int minor = 0;
  return std::sscanf(text.c_str(), "OpenCL %d.%d", &major, &minor) == 2 ? major * 100 + minor : 0;
}

std::string why_not(cl_device_id device, cl_device_type type, const std::string& version) {
  if ((type & CL_DEVICE_TYPE_CUSTOM) != 0) return "a custom device, which runs no kernels";
  if (!device_value<cl_bool>(device, CL_DEVICE_AVAILABLE)) return "the driver says that it is not available";
  if (!device_value<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE)) return "its driver has no compiler";
  if (!device_value<cl_bool>(device, CL_DEVICE_ENDIAN_LITTLE, CL_TRUE)) return "it is big-endian";
  if (version_of(version) < 102) return fmt::format("OpenCL 1.2 is needed, it has \"{}\"", version);
  return {};
}

std::uint32_t warp_size(cl_device_id device, const std::string& extensions) {
  if (extensions.find("cl_nv_device_attribute_query") != std::string::npos) {
    return device_value<cl_uint>(device, warp_size_nv, 32);
  }
  if (extensions.find("cl_amd_device_attribute_query") != std::string::npos) {
    return device_value<cl_uint>(device, wavefront_width_amd, 64);
  }
  return device_value<cl_uint>(device, CL_DEVICE_VENDOR_ID) == vendor_nvidia ? 32 : 1;
}

DeviceInfo unusable(std::string name, std::string why) {
  DeviceInfo info;
  info.id = "opencl";
  info.kind = DeviceKind::opencl;
  info.name = std::move(name);
  info.usable = false;
  info.why = std::move(why);
  return info;
}

void add_platform(cl_platform_id platform, Found& found) {
  const std::string name = platform_text(platform, CL_PLATFORM_NAME);
  cl_uint count = 0;
  cl_int code = api().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  std::vector<cl_device_id> devices(code == CL_SUCCESS ? count : 0);
  if (!devices.empty()) code = api().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
  if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && devices.empty())) {
    found.unusable.push_back(unusable(name, "the platform has no device"));
  } else if (code != CL_SUCCESS) {
    found.unusable.push_back(unusable(name, fmt::format("clGetDeviceIDs failed with {}", error_name(code))));
  } else {
    for (cl_device_id device : devices) {
      DeviceInfo info = describe(device);
      if (info.usable) {
        found.usable.push_back({platform, device, std::move(info)});
      } else {
        info.id = "opencl";
        found.unusable.push_back(std::move(info));
      }
    }
  }
}

int rank(const FoundDevice& device) {
  if (device.info.gpu) return 0;
  return (device_value<cl_device_type>(device.device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0 ? 1 : 2;
}

Found find() {
  Found found;
  if (!library().why.empty()) {
    found.unusable.push_back(unusable({}, library().why));
    return found;
  }
  const KeptVariable files("OCL_ICD_FILENAMES");
  const KeptVariable vendors("OCL_ICD_VENDORS");
  cl_uint count = 0;
  cl_int code = api().clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(code == CL_SUCCESS ? count : 0);
  if (!platforms.empty()) code = api().clGetPlatformIDs(count, platforms.data(), nullptr);
  if (code != CL_SUCCESS || platforms.empty()) {
    found.unusable.push_back(unusable(
        {}, fmt::format("libOpenCL finds no platform{}", code == CL_SUCCESS ? "" : " (" + error_name(code) + ")")));
    return found;
  }
  for (cl_platform_id platform : platforms) add_platform(platform, found);
  std::ranges::stable_sort(found.usable, {}, rank);
  for (std::size_t number = 0; number < found.usable.size(); ++number) {
    found.usable[number].info.id = fmt::format("opencl:{}", number);
  }
  return found;
}

}  // namespace

std::string device_text(cl_device_id device, cl_device_info name) {
  return trimmed(info_text(api().clGetDeviceInfo, device, name));
}

DeviceInfo describe(cl_device_id device) {
  DeviceInfo info;
  const std::string version = device_text(device, CL_DEVICE_VERSION);
  const std::string extensions = device_text(device, CL_DEVICE_EXTENSIONS);
  const auto type = device_value<cl_device_type>(device, CL_DEVICE_TYPE);
  const auto platform = device_value<cl_platform_id>(device, CL_DEVICE_PLATFORM);
  info.kind = DeviceKind::opencl;
  info.name = device_text(device, CL_DEVICE_NAME);
  info.vendor = device_text(device, CL_DEVICE_VENDOR);
  info.driver = fmt::format("{}, {} {}", device_text(device, CL_DRIVER_VERSION),
                            platform == nullptr ? "" : platform_text(platform, CL_PLATFORM_NAME), version);
  info.architecture = device_text(device, CL_DEVICE_OPENCL_C_VERSION);
  if (const auto major = device_value<cl_uint>(device, compute_capability_major_nv);
      major != 0 && extensions.find("cl_nv_device_attribute_query") != std::string::npos) {
    info.architecture += fmt::format(", sm_{}{}", major, device_value<cl_uint>(device, compute_capability_minor_nv));
  }
  info.why = why_not(device, type, version);
  info.usable = info.why.empty();
  info.gpu = (type & CL_DEVICE_TYPE_GPU) != 0 && (type & CL_DEVICE_TYPE_CPU) == 0;
  info.fp64 = device_value<cl_device_fp_config>(device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  info.memory_bytes = device_value<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.local_bytes = device_value<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE);
  info.max_allocation_bytes = device_value<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info.compute_units = device_value<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS, 1);
  info.max_work_group_size =
      static_cast<std::uint32_t>(device_value<std::size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, 1));
  info.warp_size = warp_size(device, extensions);
  return info;
}

const Found& found_devices() {
  static const Found found = find();
  return found;
}

}  // namespace masu::opencl
