// SPDX-License-Identifier: Apache-2.0
// The numbers of a text whose dtype they decide themselves, parsed once and kept: i64 where all are whole, u64 where
// some lie beyond it, f64 where some have a fraction. What no such dtype holds exactly is an error.
#pragma once

#include <masu/dtype.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "io/spool_file.h"
#include "io/text_fields.h"
#include "io/text_numbers.h"

namespace masu::io {

class TextColumn {
 public:
  // Holds about `memory` bytes of the numbers. More of them go to a file in `tmpdir` where `spool` is set, else they
  // are given up: kept() is false then.
  TextColumn(std::string name, std::string tmpdir, std::uint64_t memory, bool spool);

  // Throws io, naming lines and values, for numbers that no dtype holds together.
  void add(const TextNumber& number, const Field& field);
  // After the last one.
  void end();

  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] bool kept() const noexcept { return kept_; }
  // Before the first number is taken: i64, u64 or f64 instead. Throws io where a number does not fit.
  void retype(Dtype dtype);

  // Elements of dtype() from `first` on; fewer only at the end.
  std::uint64_t read(std::uint64_t first, void* target, std::uint64_t count);
  // The same in place; null where they are in a file.
  const std::uint64_t* at(std::uint64_t first);

 private:
  struct Place {
    std::uint64_t index = 0;
    std::uint64_t line = 0;
    std::string text;
  };
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  void check_together() const;
  void push(std::uint64_t word);
  void settle(std::uint64_t first, std::uint64_t* words, std::uint64_t count) const noexcept;
  [[noreturn]] void fail(const std::string& reason) const;

  std::string name_;
  std::uint64_t limit_;  // words in memory
  bool spool_;
  bool kept_ = true;
  bool settled_ = false;  // the words in memory are elements of dtype_
  Dtype dtype_ = Dtype::i64;
  std::uint64_t count_ = 0;
  // Words: two's complement up to the first decimal, f64 from it on. In front of the first number beyond 2^53, the
  // least i64 stands for -0, which is 0 or -0.0 in the end.
  std::unique_ptr<std::uint64_t[], Free> words_;
  std::uint64_t room_ = 0;
  std::uint64_t held_ = 0;
  SpoolFile file_;
  std::optional<Place> decimal_;   // the first one
  std::optional<Place> wide_;      // whole, beyond 2^53
  std::optional<Place> negative_;  // whole, below 0
  std::optional<Place> unsigned_;  // whole, beyond i64
};

}  // namespace masu::io
