// SPDX-License-Identifier: Apache-2.0
#include "runtime/backend.h"
#include "runtime/environment.h"
#include "runtime/program_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <masu/program.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace masu {

std::shared_ptr<runtime::Kernel> runtime::Module::take_idle(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(idle_, [name](const auto& kernel) { return kernel->name() == name; });
  if (found == idle_.end()) return nullptr;
  std::shared_ptr<Kernel> kernel = std::move(*found);
  idle_.erase(found);
  return kernel;
}

std::shared_ptr<runtime::Kernel> runtime::Module::take_kernel(std::string_view name) {
  std::shared_ptr<Kernel> idle = take_idle(name);
  return idle != nullptr ? std::move(idle) : kernel(name);
}

void runtime::Module::give_kernel(std::shared_ptr<Kernel> kernel) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(kernel));
  } catch (...) {  // no memory to keep it
  }
}

void runtime::Module::refuse_name(std::string_view name) {
  const std::vector<std::string> names = kernel_names();
  if (std::ranges::find(names, name) != names.end()) {
    throw Error(
        ErrorCode::build_failed,
        fmt::format("Program::kernel: the driver compiles the kernel {} but does not make it: the kernel may call a "
                    "function that the driver does not have",
                    name));
  }
  throw Error(ErrorCode::invalid_argument,
              names.empty() ? fmt::format("Program::kernel: the program has no kernels, got \"{}\"", name)
                            : fmt::format("Program::kernel: the program has the kernels {}, got \"{}\"",
                                          fmt::join(names, ", "), name));
}

bool runtime::waits_for_launches() {
  return environment().sync;
}

void runtime::settle(Stream& stream, const Kernel& kernel) {
  if (!waits_for_launches() || stream.capturing()) return;
  try {
    stream.finish();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("MASU_SYNC: the kernel {}: {}", kernel.name(), error.what()));
  }
}

NDRange NDRange::of(std::span<const std::size_t> global, std::span<const std::size_t> local) {
  if (global.empty() || global.size() > 3 || (!local.empty() && local.size() != global.size())) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("NDRange::of: 1 to 3 sizes, as many local as global ones or none, got {} and {}",
                            global.size(), local.size()));
  }
  NDRange range(1);
  range.dimensions = static_cast<unsigned>(global.size());
  std::copy(global.begin(), global.end(), range.global.begin());
  std::copy(local.begin(), local.end(), range.local.begin());
  return range;
}

KernelArgument::KernelArgument(const BufferBase& buffer, ArgumentType element)
    : kind_(Kind::buffer),
      type_(element),
      size_(buffer.size_bytes()),
      offset_(buffer.byte_offset()),
      memory_(buffer.memory()) {}

KernelArgument KernelArgument::whole_memory(const BufferBase& buffer) {
  KernelArgument argument(LocalMemory{0});
  argument.kind_ = Kind::buffer;
  argument.memory_ = buffer.memory();
  argument.size_ = argument.memory_->bytes();
  return argument;
}

KernelArgument KernelArgument::value(ArgumentType type, const void* elements) {
  constexpr std::array<std::uint8_t, 6> widths{1, 2, 3, 4, 8, 16};
  if (std::ranges::find(widths, type.width) == widths.end()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("KernelArgument::value: a width is 1, 2, 3, 4, 8 or 16, got {}", type.width));
  }
  KernelArgument argument(LocalMemory{0});
  argument.kind_ = Kind::value;
  argument.type_ = type;
  argument.size_ = size_of(type.dtype) * (type.width == 3 ? 4U : type.width);
  std::memcpy(argument.bytes_, elements, size_of(type.dtype) * type.width);
  return argument;
}

const std::string& Kernel::name() const noexcept {
  return implementation_->name();
}

std::size_t Kernel::max_work_group_size() const {
  return implementation_->max_work_group_size();
}

const std::vector<KernelParameter>& Kernel::parameters() const noexcept {
  return implementation_->signature().parameters();
}

Event Kernel::launch(Stream& stream, const NDRange& range, std::span<const KernelArgument> arguments) {
  if (range.dimensions < 1 || range.dimensions > 3) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("Kernel::launch: dimensions must be 1 to 3, got {}", range.dimensions));
  }
  for (unsigned i = 0; i < range.dimensions; ++i) {
    if (range.global[i] == 0 || (range.local[i] == 0 && range.local[0] != 0)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("Kernel::launch: sizes must be >= 1, got global {} and local {} in dimension {}",
                              range.global[i], range.local[i], i));
    }
  }
  Event done(stream.implementation().launch(*implementation_, range, arguments, runtime::Mark::yes));
  runtime::settle(stream.implementation(), *implementation_);
  return done;
}

Program::Program(std::shared_ptr<runtime::Module> implementation) noexcept
    : implementation_(std::move(implementation)) {}

Program Program::from_source(const Device& device, std::string_view text, std::string_view options) {
  if (text.empty()) throw Error(ErrorCode::build_failed, "Program: the source must not be empty, got 0 bytes");
  // A compiler that is given the start of the text alone would stop at the byte, without a word.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw Error(ErrorCode::build_failed, fmt::format("Program: the source must not have zero bytes, got one in line {}",
                                                     1 + std::ranges::count(text.substr(0, zero), '\n')));
  }
  if (const std::size_t zero = options.find('\0'); zero != std::string_view::npos) {
    throw Error(
        ErrorCode::build_failed,
        fmt::format("Program: the options must not have zero bytes, got one after \"{}\"", options.substr(0, zero)));
  }
  return Program(runtime::cached_program(*device.implementation(), text, options));
}

Kernel Program::kernel(std::string_view name) const {
  return Kernel(implementation_->kernel(name));
}

std::vector<std::string> Program::kernel_names() const {
  return implementation_->kernel_names();
}

const std::string& Program::log() const noexcept {
  return implementation_->notes().log;
}

}  // namespace masu

// Each field is its length, a colon, and its bytes. Numbers are fields of digits.

namespace masu::runtime {
namespace {

constexpr std::string_view mark = "masu-program-1\n";

void add(std::string& text, std::string_view field) {
  text += fmt::format("{}:", field.size());
  text += field;
}

void add(std::string& text, std::uint64_t number) {
  add(text, std::string_view(fmt::format("{}", number)));
}

// Reads fields from the front of a text; `good` is false from the first one that is not there.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  std::string_view text() {
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
    const auto digits = static_cast<std::size_t>(end - rest_.data());
    good_ = good_ && error == std::errc{} && digits < rest_.size() && rest_[digits] == ':' &&
            size <= rest_.size() - digits - 1;
    if (!good_) return {};
    const std::string_view field = rest_.substr(digits + 1, size);
    rest_.remove_prefix(digits + 1 + size);
    return field;
  }

  std::uint64_t number() {
    const std::string_view field = text();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    good_ = good_ && error == std::errc{} && end == field.data() + field.size();
    return good_ ? value : 0;
  }

  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] bool at_end() const noexcept { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

MASU_EXPORT std::string pack(const ProgramNotes& notes, std::string_view binary) {
  std::string text(mark);
  add(text, notes.log);
  add(text, notes.parameters.size());
  for (const auto& [kernel, parameters] : notes.parameters) {
    add(text, kernel);
    add(text, parameters.size());
    for (const KernelParameter& parameter : parameters) {
      add(text, static_cast<std::uint64_t>(parameter.kind));
      add(text, parameter.type);
      add(text, parameter.name);
      add(text, parameter.bytes);
    }
  }
  add(text, binary);
  return text;
}

std::optional<NotedBinary> unpack(std::string_view text) {
  if (!text.starts_with(mark)) return std::nullopt;
  Fields fields(text.substr(mark.size()));
  NotedBinary result;
  result.notes.log = fields.text();
  for (std::uint64_t kernels = fields.number(); kernels != 0 && fields.good(); --kernels) {
    std::vector<KernelParameter>& parameters = result.notes.parameters[std::string(fields.text())];
    for (std::uint64_t left = fields.number(); left != 0 && fields.good(); --left) {
      KernelParameter& parameter = parameters.emplace_back();
      const std::uint64_t kind = fields.number();
      if (kind > static_cast<std::uint64_t>(KernelParameter::Kind::other)) return std::nullopt;
      parameter.kind = static_cast<KernelParameter::Kind>(kind);
      parameter.type = fields.text();
      parameter.name = fields.text();
      parameter.bytes = fields.number();
    }
  }
  result.binary = fields.text();
  if (!fields.at_end()) return std::nullopt;
  return result;
}

}  // namespace masu::runtime
