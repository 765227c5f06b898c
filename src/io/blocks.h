// SPDX-License-Identifier: Apache-2.0
// Whole lines of a text, cut into blocks that several threads parse. Lines that are not as most lines are (an entry
// that is no number, a comment, a quote that stays open) are left to TextFields, so that only one place knows all the
// rules.
#pragma once

#include "io/fields.h"
#include "io/reader.h"

#include <masu/dtype.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace masu::io {

// How lines are cut, and which of their fields are numbers.
struct LineCut {
  char delimiter = '\0';  // '\0': runs of white space
  char point = '.';
  bool hash = false;           // a line that begins with # is a comment
  std::string comment;         // its mark; "": there is none
  std::uint64_t skip = 0;      // fields in front of the numbers
  std::uint64_t numbers = 0;   // of each line; 0: all that follow
  std::uint64_t fields = 0;    // that each line must have; 0: any number
  std::uint64_t columns = 0;   // where `numbers` is 0: the fields of the text's first line
  std::optional<Dtype> dtype;  // none: the numbers decide it

  LineCut() = default;
  LineCut(const TextFields& fields, const SourceOptions& options, std::optional<std::uint64_t> column);
  // Whether numbers and delimiters differ without a look at the whole field.
  [[nodiscard]] bool clear() const noexcept;
};

// Lines one after another.
struct LineRun {
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  // Something about a number of the run that TextColumn must know.
  struct Fact {
    std::uint64_t index = none;
    std::uint64_t line = 0;  // from the run's beginning
    std::string text;
  };
  bool plain = false;       // their numbers were parsed
  std::uint64_t begin = 0;  // in the text
  std::uint64_t end = 0;
  std::uint64_t lines = 0;            // that end in it
  std::uint64_t filled = 0;           // those with data
  std::uint64_t ragged = none;        // the first one that has another number of fields than LineCut::columns
  const std::byte* values = nullptr;  // of the dtype; without one words: i64, and f64 from floats_from on
  std::uint64_t count = 0;
  std::uint64_t floats_from = none;
  Fact decimal;               // the first number that is not whole, if no run of the block in front has one
  Fact negative;              // the first whole one below 0
  Fact inexact;               // the first whole one that f64 does not hold
  std::uint64_t wide = none;  // the first whole one beyond 2^53
};

class LineBlocks {
 public:
  // `block_bytes`: how long a block is about; 0: what is fastest in `memory` bytes.
  LineBlocks(std::size_t block_bytes, std::uint64_t memory);

  enum class Found { lines, long_line, rest };
  // Parses lines from the reader's position on, none that begins at `limit` or after it. `rest`: no whole line is left;
  // `long_line`: one that is longer than a block is next.
  Found read(Reader& reader, const LineCut& cut, std::uint64_t limit);
  // The first run that ends after a position; null where there is none.
  LineRun* at(std::uint64_t position) noexcept;
  void clear() noexcept { used_ = block_ = run_ = 0; }
  // The same, and gives the memory back.
  void release() {
    clear();
    for (Block& block : list_) block = {};
  }

 private:
  struct Block {
    std::vector<LineRun> runs;
    std::unique_ptr<std::uint64_t[]> words;
    std::size_t room = 0;
  };
  friend class LineParser;

  static constexpr std::size_t most_blocks = 32;  // that are parsed at once
  std::size_t block_bytes_;
  std::size_t blocks_ = 4;  // at first few: a text may be short
  std::vector<Block> list_;
  std::size_t used_ = 0;
  std::size_t block_ = 0;
  std::size_t run_ = 0;
};

}  // namespace masu::io
