// SPDX-License-Identifier: Apache-2.0
// What a kernel declares, made ready to be compared with what a launch gives it.
#pragma once

#include <masu/program.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace masu::runtime {

// A type as a kernel's source, or a demangled name, writes it.
struct DeclaredType {
  bool pointer = false;
  ArgumentType scalar_or_vector;  // of a pointer: what it points to; not known of void, structures, images
};
DeclaredType declared_type(std::string_view text);

class KernelSignature {
 public:
  // Nothing is known, not even the number.
  KernelSignature() = default;
  explicit KernelSignature(std::vector<KernelParameter> parameters);

  [[nodiscard]] const std::vector<KernelParameter>& parameters() const noexcept { return parameters_; }
  [[nodiscard]] bool known() const noexcept { return known_; }

  // Throw invalid_argument with kernel, argument, what is wanted and what is given.
  void check_count(std::string_view kernel, std::size_t given) const {
    if (known_ && given != rules_.size()) refuse_count(kernel, given);
  }
  void check(std::string_view kernel, std::size_t index, const KernelArgument& argument) const {
    if (known_ && !fits(rules_[index], argument)) refuse(kernel, index, argument);
  }

  // "argument 1 (scale) of saxpy", for messages of others.
  [[nodiscard]] std::string title(std::string_view kernel, std::size_t index) const;

 private:
  // A parameter in numbers: types are read once, not at each launch.
  struct Rule {
    KernelParameter::Kind kind;
    std::uint8_t scalar_bytes;  // 0: any type
    bool floating;
    std::uint8_t width;
    std::size_t bytes;  // of a value, 0: not known
  };
  static bool fits(const Rule& rule, const KernelArgument& argument) noexcept;
  [[noreturn]] void refuse_count(std::string_view kernel, std::size_t given) const;
  [[noreturn]] void refuse(std::string_view kernel, std::size_t index, const KernelArgument& argument) const;

  bool known_ = false;
  std::vector<KernelParameter> parameters_;
  std::vector<Rule> rules_;
};

}  // namespace masu::runtime
