// SPDX-License-Identifier: Apache-2.0
// masu cache: kernels that are compiled before a program needs them.
#include "cli/cache/cache.h"
#include "cli/program.h"
#include "options.h"
#include "runtime/environment.h"
#include "runtime/packaged_kernels.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <set>

namespace masu::cli {
namespace {

struct CacheOptions {
  std::string action;
  std::vector<std::string> architectures;
  std::vector<std::string> devices;
  std::string output;
  std::string size = "8Mi";
};

// Compiles what the calls launch for an architecture, the first calls first, until a file of at most `most_bytes` is
// full. Writes it and returns a line about it.
std::string build_package(const std::shared_ptr<runtime::Device>& compiler, const std::string& folder,
                          std::uint64_t most_bytes) {
  const std::string name = fmt::format("{}/{}.kernels", folder, compiler->info().architecture);
  io::OutputFile file(name);
  std::set<std::string> known;
  runtime::PackageMaker package(compiler->info().architecture, most_bytes);
  run_common_calls(Device(compiler), [&] {
    for (const auto& [key, program] : compiler->kept().programs) {
      if (!known.insert(key).second) continue;
      runtime::Module& module = *program.get();
      if (!package.add(key, runtime::pack(module.notes(), module.binary()))) break;
    }
    compiler->kept().programs.clear();  // it may drop some of too many before they are seen here
    return !package.full();
  });
  const std::string content = package.file();
  file.write(content);
  file.commit();
  return fmt::format("{}: {} kernels{}, {:.1f} MiB\n", name, package.count(), package.full() ? ", as many as fit" : "",
                     static_cast<double>(content.size()) / (1 << 20));
}

Exit build_packages(const CacheOptions& options) {
  if (!options.devices.empty()) usage_error("cache: --arch and --device exclude each other");
  setenv("MASU_PACKAGED_KERNELS", "off", 1);  // which an older compiler may have made
  setenv("MASU_CACHE", "off", 1);
  const std::string folder = options.output.empty() ? "." : options.output;
  std::error_code error;  // then a file cannot be written
  std::filesystem::create_directories(folder, error);
  std::vector<std::shared_ptr<runtime::Device>> compilers;
  for (const std::string& architecture : std::set(options.architectures.begin(), options.architectures.end())) {
    compilers.push_back(runtime::compile_only_device(architecture));
  }
  const std::uint64_t most_bytes = whole_number("--size", options.size, 4096, std::uint64_t{256} << 20);
  std::vector<std::future<std::string>> lines;
  for (auto& each : compilers) lines.push_back(std::async(std::launch::async, build_package, each, folder, most_bytes));
  for (auto& line : lines) print_text(line.get());
  return Exit::done;
}

Exit fill_cache(const CacheOptions& options) {
  if (options.size != "8Mi") usage_error("cache: --size needs --arch: it is a file's");
  if (!options.output.empty()) usage_error("cache: -o needs --arch: kernels of this machine go to the user's cache");
  if (runtime::environment().cache_directory.empty()) {
    usage_error("cache: MASU_CACHE must not be off, and HOME or XDG_CACHE_HOME must be set");
  }
  std::vector<std::string> devices = options.devices;
  for (const DeviceInfo& info : Device::list()) {
    if (options.devices.empty() && info.usable && info.kind != DeviceKind::cpu) devices.push_back(info.id);
  }
  if (devices.empty()) throw Error(ErrorCode::unsupported, "cache: no OpenCL or CUDA device is usable (masu devices)");
  for (const std::string& id : devices) {
    const Device device = Device::open(id);
    if (device.kind() != DeviceKind::cpu) run_common_calls(device, [] { return true; });
    print_text(device.id() + ": done\n");
  }
  return Exit::done;
}

}  // namespace

void add_cache(CommandLine& line) {
  auto options = std::make_shared<CacheOptions>();
  const Subcommand app =
      line.add("cache", "Compile the kernels of common calls before a program needs them", [options] {
        if (options->action != "build") usage_error("cache takes build, got '" + options->action + "'");
        return options->architectures.empty() ? fill_cache(*options) : build_packages(*options);
      });
  app.add_option("ACTION", options->action, "build", "build: compile them").required();
  app.add_option("--arch", options->architectures, "ARCH",
                 "Compile with NVRTC for GPUs that need not be here, to a file for each: sm_80, sm_90, sm_100, sm_120")
      .delimiter(',');
  app.add_option("-o,--output", options->output, "DIR", "With --arch: the folder of the files (.)");
  app.add_option("--size", options->size, "BYTES", "With --arch: the most that a file has (8Mi)");
  app.add_option("--device", options->devices, "ID",
                 "Without --arch: fill the user's cache for this device; repeatable (every OpenCL and CUDA device)")
      .delimiter(',');
  app.footer(
      "Examples:\n  masu cache build\n  masu cache build --device cuda:0\n"
      "  masu cache build --arch sm_80,sm_90 -o kernels");
}

}  // namespace masu::cli
