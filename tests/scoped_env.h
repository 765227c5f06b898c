// SPDX-License-Identifier: Apache-2.0
// An environment variable for the length of a scope. Not while other threads read the environment.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace masu::test {

class ScopedEnv {
 public:
  // A null value takes the variable away.
  ScopedEnv(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~ScopedEnv() { set(old_ ? old_->c_str() : nullptr); }
  ScopedEnv(const ScopedEnv&) = delete;
  ScopedEnv& operator=(const ScopedEnv&) = delete;

 private:
  void set(const char* value) const {
    if (value != nullptr) ::setenv(name_, value, 1);
    else ::unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace masu::test
