// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace masu::cuda {

LoadedImage::LoadedImage(std::shared_ptr<Context> context, Image image, const LaunchLimits& limits)
    : context_(std::move(context)), image_(std::move(image)), limits_(limits) {
  const ContextScope scope(*context_);
  std::array<char, 4096> log{};
  std::array<int, 2> options{jit_error_log_buffer, jit_error_log_buffer_size_bytes};
  std::array<void*, 2> values{log.data(),
                              reinterpret_cast<void*>(log.size())};  // the size itself stands in the pointer
  const CUresult code = context_->driver().module_load_data_ex(
      &handle_, image_.bytes.c_str(), static_cast<unsigned>(options.size()), options.data(), values.data());
  if (code == success) return;
  log.back() = '\0';
  if (log.front() == '\0') context_->check(code, "cuModuleLoadDataEx");
  throw Error(error_code(code), fmt::format("cuModuleLoadDataEx: {}: {}\n{}", context_->device_name(),
                                            error_text(context_->driver(), code), log.data()));
}

LoadedImage::~LoadedImage() {
  if (stays_loaded_) {
    context_->keep_module(handle_);
    return;
  }
  const ContextScope scope(*context_, std::nothrow);
  const BesideCaptures beside(context_->driver());
  if (scope.current()) context_->driver().module_unload(handle_);
}

Module::Module(std::shared_ptr<LoadedImage> image, std::string log) : image_(std::move(image)) {
  notes_.log = std::move(log);
  for (std::string& symbol : entry_names(image_->image())) {
    EntrySignature signature = entry_signature(symbol);
    entries_.push_back({std::move(symbol), std::move(signature), true});
  }
  for (Entry& entry : entries_) {
    entry.alone = std::count_if(entries_.begin(), entries_.end(),
                                [&](const Entry& other) { return other.signature.name == entry.signature.name; }) == 1;
  }
}

std::vector<std::string> Module::kernel_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.alone ? entry.signature.name : entry.symbol);
  return names;
}

std::shared_ptr<runtime::Kernel> Module::kernel(std::string_view name) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [name](const Entry& entry) {
    return entry.symbol == name || (entry.alone && entry.signature.name == name);
  });
  if (found == entries_.end()) refuse_name(name);
  return std::make_shared<Kernel>(image_, found->symbol, found->signature);
}

Kernel::Kernel(std::shared_ptr<LoadedImage> image, const std::string& symbol, const EntrySignature& entry)
    : image_(std::move(image)), name_(entry.name) {
  const Context& context = image_->context();
  const Driver& driver = context.driver();
  const ContextScope scope(context);
  context.check(driver.module_get_function(&function_, image_->handle(), symbol.c_str()), "cuModuleGetFunction");

  const auto attribute = [&](int which) {
    int value = 0;
    context.check(driver.func_get_attribute(&value, which, function_), "cuFuncGetAttribute");
    return static_cast<std::uint64_t>(std::max(value, 0));
  };
  max_threads_ = attribute(function_max_threads_per_block);
  const std::uint64_t declared = attribute(function_shared_size_bytes);
  local_limit_ = image_->limits().local_bytes - std::min(image_->limits().local_bytes, declared);
  local_allowed_ = attribute(function_max_dynamic_shared_size_bytes);

  std::vector<std::size_t> sizes;
  const bool told = driver.func_get_param_info != nullptr;
  std::size_t offset = 0;
  std::size_t size = 0;
  while (told && driver.func_get_param_info(function_, sizes.size(), &offset, &size) == success) sizes.push_back(size);
  if (told || entry.typed) signature_ = runtime::KernelSignature(parameters_of(entry, told ? &sizes : nullptr));
}

}  // namespace masu::cuda
