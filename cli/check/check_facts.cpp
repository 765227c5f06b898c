// SPDX-License-Identifier: Apache-2.0
#include "cli/check/check_facts.h"

#include "cli/check/check.h"

#include <masu/io.h>
#include <masu/program.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

namespace masu::cli {
namespace {

using FactsJson = nlohmann::json;

// In Oclgrind a pointer is a number: which buffer in the upper bits, where in it in the lower ones.
constexpr const char* address_text = R"(
kernel void masu_address(global ulong* address, global const uchar* buffer) {
  *address = (ulong)buffer;
}
)";

class Addresses {
 public:
  explicit Addresses(const Device& device)
      : stream_(device),
        kernel_(Program::from_source(device, address_text).kernel("masu_address")),
        address_(device.upload(std::array<std::uint64_t, 1>{})) {}

  std::uint64_t of(const BufferBase& buffer) {
    const std::array<KernelArgument, 2> arguments{address_, buffer};
    kernel_.launch(stream_, NDRange(1, 1), arguments).wait();
    return address_.read().front();
  }

 private:
  Stream stream_;
  Kernel kernel_;
  Buffer<std::uint64_t> address_;
};

}  // namespace

void tell_check(const std::string& file, const Device& device, const CheckedLaunch& launch) {
  if (device.info().name.find("Oclgrind") == std::string::npos) {
    throw Error(ErrorCode::unsupported,
                "run: --check: Oclgrind could not be loaded, the device is " + device.info().name);
  }
  Addresses addresses(device);
  FactsJson arguments = FactsJson::array();
  for (const CheckedLaunch::Argument& argument : launch.arguments) {
    FactsJson told{{"name", argument.name}, {"buffer", argument.buffer != nullptr}};
    if (argument.buffer != nullptr) {
      told["address"] = argument.buffer->size_bytes() == 0 ? 0 : addresses.of(*argument.buffer);
      told["bytes"] = argument.buffer->size_bytes();
    }
    arguments.push_back(std::move(told));
  }
  const FactsJson facts{{"kernel", launch.kernel},
                        {"source", launch.source},
                        {"build_log", launch.build_log},
                        {"work_items", launch.work_items},
                        {"arguments", std::move(arguments)}};
  std::ofstream stream(file);
  stream << facts.dump(-1, ' ', false, FactsJson::error_handler_t::replace) << std::flush;
  if (!stream) throw Error(ErrorCode::io, "run: cannot write '" + file + "', which --under-oclgrind names");
}

std::optional<CheckFacts> parse_facts(std::string_view text) {
  const FactsJson json = FactsJson::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  CheckFacts facts;
  facts.kernel = json.value("kernel", "");
  facts.source = json.value("source", "");
  facts.build_log = json.value("build_log", "");
  facts.work_items = json.value("work_items", std::uint64_t{0});
  for (const FactsJson& argument : json.value("arguments", FactsJson::array())) {
    facts.arguments.push_back({argument.value("name", ""), argument.value("buffer", false),
                               argument.value("address", std::uint64_t{0}), argument.value("bytes", std::uint64_t{0})});
  }
  return facts;
}

}  // namespace masu::cli
