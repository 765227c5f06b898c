// SPDX-License-Identifier: Apache-2.0
// The numbers of a text whose dtype they decide themselves, and where numbers were left out.
#pragma once

#include "io/fields.h"
#include "io/numbers.h"
#include "io/reader.h"

#include <fmt/format.h>
#include <masu/dtype.h>
#include <masu/io.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu::io {

// Parsed once and kept: i64 where all are whole, u64 where some lie beyond it, f64 where some have a fraction or no
// integer type holds all. What no such dtype holds exactly is an error.
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
  void check_together();
  void push(std::uint64_t word);
  void settle(std::uint64_t first, std::uint64_t* words, std::uint64_t count) const noexcept;
  template <class... Values>
  [[noreturn]] void fail(fmt::format_string<Values...> reason, Values&&... values) const {
    fail_io(name_, fmt::format(reason, std::forward<Values>(values)...));
  }

  std::string name_;
  std::uint64_t limit_;  // words in memory
  bool spool_;
  bool kept_ = true;
  bool settled_ = false;  // the words in memory are elements of dtype_
  Dtype dtype_ = Dtype::i64;
  std::uint64_t count_ = 0;
  // Words: integers up to the number that made f64 needed, f64 from it on. In front of the first number beyond 2^53,
  // the least i64 stands for -0, which is 0 or -0.0 in the end.
  std::unique_ptr<std::uint64_t[], Free> words_;
  std::uint64_t room_ = 0;
  std::uint64_t held_ = 0;
  SpoolFile file_;
  std::optional<std::uint64_t> floats_from_;
  std::optional<std::uint64_t> wide_from_;  // the first whole one beyond 2^53
  std::optional<Place> decimal_;            // the first one
  std::optional<Place> inexact_;            // whole, and not as it is in f64
  std::optional<Place> negative_;           // whole, below 0
  std::optional<Place> unsigned_;           // whole, beyond i64
};

// Where entries of a text were left out. Many gaps go to a file.
class Gaps {
 public:
  Gaps(std::string tmpdir, std::uint64_t memory);

  // `places` more of them behind the first `numbers` numbers.
  void add(std::uint64_t numbers, std::uint64_t places);
  void clear();
  [[nodiscard]] std::uint64_t missing() const noexcept { return missing_; }
  void to_places(std::span<std::uint64_t> indices);
  std::uint64_t read(std::uint64_t first, std::span<Source::Gap> target) const;

 private:
  [[nodiscard]] std::uint64_t in_file() const noexcept { return file_.size() / sizeof(Source::Gap); }
  std::uint64_t before(std::uint64_t number);
  std::string tmpdir_;
  std::uint64_t most_;  // in memory
  SpoolFile file_;
  std::vector<std::uint64_t> blocks_;  // the first number of each block of gaps in the file
  std::vector<Source::Gap> gaps_;
  std::vector<Source::Gap> block_;  // that was read last
  std::uint64_t block_number_ = 0;
  std::uint64_t missing_ = 0;
};

}  // namespace masu::io
