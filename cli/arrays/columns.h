// SPDX-License-Identifier: Apache-2.0
// A result of columns of equal length: a table for people, CSV, JSON, or one of the columns as .npy.
#pragma once

#include "io/reader.h"
#include "options.h"

#include <masu/dtype.h>
#include <masu/io.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace masu::cli {

struct ColumnsResult {
  struct Head {
    std::string name;  // in tables and CSV
    std::string json;
    bool same = false;  // the same for each row: JSON has it once
  };
  std::vector<Head> heads;
  // Gives equally long pieces of all columns, one behind the other; is called several times.
  using Taker = std::function<void(std::span<const ArrayView>)>;
  std::function<void(const Taker&)> pieces;
  // Where the entries are those of several rows, how many each has: tables and CSV get a column for the row's number
  // (from 0), JSON a list for each row.
  std::vector<std::uint64_t> rows;
  std::size_t array = 0;  // the column that .npy has
  std::string json_rest;  // the other members of JSON
};

// How results are written: JSON with --json or a file's ending .json, CSV with .csv, .npy, else a table. Throws for
// .npy where the result is not one array.
enum class ColumnsForm { table, csv, json, npy };
ColumnsForm columns_form(const CommonOptions& common, bool has_array);

// To -o, or standard output.
void write_columns(const ColumnsResult& result, ColumnsForm form, const CommonOptions& common);

// Values, each with a number: how often it occurs, or where it was.

// Held in memory, or in files when they are many. They may be read several times.
class NumberedValues {
 public:
  NumberedValues(Dtype dtype, std::uint64_t memory, const std::string& tmpdir);
  void append(const ArrayView& values, const std::uint64_t* numbers);
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Gives blocks of them, in order; one empty block where there are none.
  void each(const std::function<void(const ArrayView& values, const ArrayView& numbers)>& take) const;

 private:
  void flush();
  Dtype dtype_;
  std::uint64_t most_;  // in memory
  std::uint64_t size_ = 0;
  std::vector<std::byte> values_;
  std::vector<std::uint64_t> numbers_;
  io::SpoolFile value_file_;
  io::SpoolFile number_file_;
};

}  // namespace masu::cli
