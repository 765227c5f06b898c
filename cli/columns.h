// SPDX-License-Identifier: Apache-2.0
// A result of columns of equal length: a table for people, CSV or JSON.
#pragma once

#include "options.h"

#include <masu/dtype.h>
#include <masu/io.h>

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
  };
  std::vector<Head> heads;
  // Gives equally long pieces of all columns, one behind the other; is called several times.
  using Taker = std::function<void(std::span<const ArrayView>)>;
  std::function<void(const Taker&)> pieces;
  std::string json_rest;  // the other members of JSON
};

// How results are written: JSON with --json or a file's ending .json, CSV with .csv, else a table. Throws for what
// holds one array only.
enum class ColumnsForm { table, csv, json };
ColumnsForm columns_form(const CommonOptions& common);

// To -o, or standard output.
void write_columns(const ColumnsResult& result, const CommonOptions& common);

}  // namespace masu::cli
