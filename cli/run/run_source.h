// SPDX-License-Identifier: Apache-2.0
// The text of a kernel, and its language.
#pragma once

#include <masu/device.h>

#include <string>

namespace masu::cli {

struct KernelText {
  std::string name;  // for messages: the path, or "<stdin>"
  std::string text;
  DeviceKind language = DeviceKind::opencl;  // the kind of device that runs it
};

// The language is --language's, or the ending's (.cl, .cu), or that of the device asked for; wrong usage where none
// tells it.
DeviceKind kernel_language(const std::string& path, const std::string& language, const std::string& device);
// Reads a file, or standard input for "-".
KernelText read_kernel(const std::string& path, DeviceKind language);

// The text as the compiler gets it: its messages name the file.
std::string with_file_name(const KernelText& kernel);

// Whether the text includes others, which a cache of compiled programs would not see change.
bool includes_files(const KernelText& kernel);

// The id of the device to run it on: `asked`, or MASU_DEVICE where that runs the language, or the first that does.
// Wrong usage where `asked` runs another language.
std::string device_for(DeviceKind language, const std::string& asked, const std::string& file);

}  // namespace masu::cli
