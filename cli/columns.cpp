// SPDX-License-Identifier: Apache-2.0
#include "columns.h"

#include "element_text.h"
#include "errors.h"
#include "text_sink.h"

#include <fmt/format.h>
#include <algorithm>

namespace masu::cli {
namespace {

constexpr std::uint64_t measured_rows = 1000;  // of a table: later entries may be wider than their column

void write_json(const ColumnsResult& result, TextSink& to) {
  to.add("{");
  for (std::size_t column = 0; column < result.heads.size(); ++column) {
    to.add(fmt::format(R"("{}":[)", result.heads[column].json));
    bool first = true;
    result.pieces([&](std::span<const ArrayView> piece) {
      for (std::uint64_t i = 0; i < piece[column].count; ++i) {
        if (!first) to.add(",");
        first = false;
        to.add(json_element(piece[column], i));
      }
    });
    to.add("],");
  }
  to.add(result.json_rest + "}\n");
}

void write_csv(const ColumnsResult& result, TextSink& to) {
  for (std::size_t column = 0; column < result.heads.size(); ++column) {
    to.add((column == 0 ? "" : ",") + result.heads[column].name);
  }
  to.add("\n");
  result.pieces([&](std::span<const ArrayView> piece) {
    for (std::uint64_t i = 0; i < piece.front().count; ++i) {
      for (std::size_t column = 0; column < piece.size(); ++column) {
        if (column > 0) to.add(",");
        to.add(element_text(piece[column], i));
      }
      to.add("\n");
    }
  });
}

// How wide the columns are, as the first piece has them.
std::vector<std::size_t> widths_of(const ColumnsResult& result, std::span<const ArrayView> piece) {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < piece.size(); ++column) {
    widths.push_back(result.heads[column].name.size());
    for (std::uint64_t i = 0; i < std::min(piece[column].count, measured_rows); ++i) {
      widths.back() = std::max(widths.back(), element_text(piece[column], i).size());
    }
  }
  return widths;
}

void write_table(const ColumnsResult& result, TextSink& to) {
  std::vector<std::size_t> widths;
  const auto line = [&](const auto& text) {
    for (std::size_t column = 0; column < widths.size(); ++column) {
      to.add(fmt::format("{}{:>{}}", column == 0 ? "" : "  ", text(column), widths[column]));
    }
    to.add("\n");
  };
  result.pieces([&](std::span<const ArrayView> piece) {
    if (widths.empty()) {
      widths = widths_of(result, piece);
      line([&](std::size_t column) { return result.heads[column].name; });
    }
    for (std::uint64_t i = 0; i < piece.front().count; ++i) {
      line([&](std::size_t column) { return element_text(piece[column], i); });
    }
  });
}

}  // namespace

ColumnsForm columns_form(const CommonOptions& common) {
  const std::string& path = common.output;
  if (common.json) return ColumnsForm::json;
  if (path.ends_with(".npy")) usage_error("-o: a .npy file holds one array; write .json, .csv or .txt, got " + path);
  if (path.ends_with(".json")) return ColumnsForm::json;
  return path.ends_with(".csv") ? ColumnsForm::csv : ColumnsForm::table;
}

void write_columns(const ColumnsResult& result, const CommonOptions& common) {
  constexpr void (*writers[])(const ColumnsResult&, TextSink&) = {write_table, write_csv, write_json};
  io::OutputFile output(common.output.empty() ? "-" : common.output);
  const Sink sink = [&](std::string_view text) { output.write(text); };
  TextSink to(sink);
  writers[static_cast<std::size_t>(columns_form(common))](result, to);
  to.flush();
  output.commit();
}

}  // namespace masu::cli
