// SPDX-License-Identifier: Apache-2.0
// Results of columns: tables, CSV, JSON, .npy and raw; and values with numbers, kept in memory or in files.
#include "cli/arrays/array_stream.h"

#include "io/numbers.h"
#include "program.h"
#include "ranks.h"
#include "text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace masu::cli {

namespace {

constexpr std::size_t widest_text = 60;           // for which the others of a table are moved to the right
constexpr std::uint64_t measured_entries = 1000;  // of a table: later ones may be wider than their column

void write_json_column(const ColumnsResult& result, std::size_t column, io::OutputFile& to) {
  const ColumnsResult::Head& head = result.heads[column];
  const std::vector<std::uint64_t>& rows = result.rows;
  const bool nested = !rows.empty() && !result.flat && !head.same;
  std::uint64_t entry = 0;
  std::uint64_t row = 0;
  std::uint64_t within = 0;  // entries of the row so far
  const auto end_rows = [&] {
    for (; row < rows.size() && within == rows[row]; ++row, within = 0)
      if (nested) to.write(row + 1 < rows.size() ? "],[" : "]");
  };
  to.write(fmt::format("\"{}\":{}", head.json, result.one ? "" : nested ? "[[" : "["));
  end_rows();
  result.pieces([&](std::span<const ArrayView> piece) {
    for (std::uint64_t i = 0; i < piece[column].count; ++i) {
      if (head.same && row > 0) return;
      if (within > 0 || (result.flat && row > 0)) to.write(",");
      const io::ValueNames* names = head.names_at(entry++);
      to.write(names == no_value() ? "null" : json_element(piece[column], i, names));
      ++within;
      end_rows();
    }
  });
  to.write(result.one ? "," : "],");
}

// "groups":{"city":["Rome",…]}
void write_json_labels(const ColumnsResult& result, io::OutputFile& to) {
  if (result.labels.empty() || !result.json_labels) return;
  std::string_view open = "\"groups\":{";
  for (const ColumnsResult::Label& label : result.labels) {
    to.write(fmt::format("{}{}:[", open, json_string(label.name)));
    for (std::uint64_t row = 0; row < result.rows.size(); ++row) {
      to.write((row == 0 ? "" : ",") + json_string(label.text(row)));
    }
    to.write("]");
    open = ",";
  }
  to.write("},");
}

void json_columns(const ColumnsResult& result, io::OutputFile& to) {
  to.write("{");
  write_json_labels(result, to);
  for (std::size_t column = 0; column < result.heads.size(); ++column) write_json_column(result, column, to);
  to.write(result.json_rest + "}\n");
}

// The texts of entries: what the row is called comes first, made by `label`; then the columns, made by `text`.
template <class Text, class LabelText>
class EntryTexts {
 public:
  EntryTexts(const ColumnsResult& result, const Text& text, const LabelText& label)
      : result_(result), text_(text), label_(label), ends_(result.rows.size()) {
    std::partial_sum(result.rows.begin(), result.rows.end(), ends_.begin());
  }
  // The texts of entry `i` of a piece.
  void make(std::span<const ArrayView> piece, std::uint64_t i, std::vector<std::string>& texts) const {
    texts.clear();
    const auto row =
        static_cast<std::uint64_t>(std::upper_bound(ends_.begin(), ends_.end(), before_ + i) - ends_.begin());
    if (!result_.rows.empty() && result_.labels.empty()) texts.push_back(std::to_string(row));
    for (const ColumnsResult::Label& label : result_.labels) texts.push_back(label_(label.text(row)));
    for (std::size_t column = 0; column < piece.size(); ++column) {
      const io::ValueNames* names = result_.heads[column].names_at(before_ + i);
      texts.push_back(names == nullptr ? text_(piece[column], i) : label_(value_text(piece[column], i, names)));
    }
  }
  // Writes what line(texts, lines) makes of the entries of a piece from `first` on. Threads make the lines.
  template <class Line>
  void write(std::span<const ArrayView> piece, std::uint64_t first, const Line& line, io::OutputFile& to) {
    const std::uint64_t count = piece.front().count;
    const auto lines_of = [&](std::uint64_t begin, std::uint64_t end, std::string& lines) {
      lines.clear();
      std::vector<std::string> texts;
      for (std::uint64_t i = first + begin; i < first + end; ++i) {
        make(piece, i, texts);
        line(texts, lines);
      }
      return lines.size();
    };
    write_texts(count - first, lines_of, [&](std::string_view lines) { to.write(lines); });
    before_ += count;
  }
  template <class Line>
  void write_all(const Line& line, io::OutputFile& to) {
    result_.pieces([&](std::span<const ArrayView> piece) { write(piece, 0, line, to); });
  }

 private:
  const ColumnsResult& result_;
  const Text& text_;
  const LabelText& label_;
  std::vector<std::uint64_t> ends_;  // of the rows, in entries
  std::uint64_t before_ = 0;         // entries of the pieces before
};

template <class LabelText>
std::vector<std::string> names_of(const ColumnsResult& result, const LabelText& label_text) {
  std::vector<std::string> names;
  if (!result.rows.empty() && result.labels.empty()) names.emplace_back("row");
  for (const ColumnsResult::Label& label : result.labels) names.push_back(label_text(label.name));
  for (const ColumnsResult::Head& head : result.heads) names.push_back(head.name);
  return names;
}

template <char between>
void csv_columns(const ColumnsResult& result, io::OutputFile& to) {
  const auto line = [](const std::vector<std::string>& texts, std::string& lines) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (i != 0) lines += between;
      lines += texts[i];
    }
    lines += '\n';
  };
  std::string head;
  line(names_of(result, csv_field), head);
  to.write(head);
  EntryTexts(result, element_text, csv_field).write_all(line, to);
}

void table_columns(const ColumnsResult& result, io::OutputFile& to, bool on_terminal) {
  const auto shown = [&](std::string text) { return on_terminal ? visible(text) : std::move(text); };
  EntryTexts entries(result, table_element, shown);
  if (result.bare) {
    return entries.write_all(
        [](const std::vector<std::string>& texts, std::string& lines) {
          for (const std::string& text : texts) (lines += text) += '\n';
        },
        to);
  }
  if (result.one) {
    std::size_t width = 0;
    for (const ColumnsResult::Head& head : result.heads) width = std::max(width, head.name.size());
    return entries.write_all(
        [&](const std::vector<std::string>& texts, std::string& lines) {
          for (std::size_t i = 0; i < texts.size(); ++i)
            lines += fmt::format("{:<{}}  {}\n", result.heads[i].name, width, texts[i]);
        },
        to);
  }
  std::vector<std::vector<std::string>> waiting{names_of(result, shown)};
  std::vector<std::size_t> widths(waiting.front().size());
  // Texts stand left, numbers and the numbers of rows right.
  const std::size_t before = waiting.front().size() - result.heads.size();
  const auto line = [&](const std::vector<std::string>& texts, std::string& lines) {
    for (std::size_t column = 0; column < texts.size(); ++column) {
      const bool left = column < before ? !result.labels.empty() : result.heads[column - before].names != nullptr;
      const std::size_t blanks = widths[column] - std::min(widths[column], columns_of_text(texts[column]));
      if (column != 0) lines += "  ";
      if (!left) lines.append(blanks, ' ');
      lines += texts[column];
      if (left) lines.append(blanks, ' ');
    }
    lines.erase(lines.find_last_not_of(' ') + 1);
    lines += '\n';
  };
  // The widths are those of the first entries.
  const auto settle = [&] {
    for (const auto& texts : waiting) {
      for (std::size_t i = 0; i < texts.size(); ++i)
        widths[i] = std::max(widths[i], std::min(columns_of_text(texts[i]), widest_text));
    }
    std::string lines;
    for (const auto& texts : waiting) line(texts, lines);
    to.write(lines);
    waiting.clear();
  };
  result.pieces([&](std::span<const ArrayView> piece) {
    std::uint64_t first = 0;
    for (; first < piece.front().count && !waiting.empty(); ++first) {
      entries.make(piece, first, waiting.emplace_back());
      if (waiting.size() > measured_entries) settle();
    }
    entries.write(piece, first, line, to);
  });
  if (!waiting.empty()) settle();
}

void refuse_texts(const ColumnsResult::Head& head) {
  if (head.names == nullptr || head.names->kind() != io::ValueNames::Kind::texts) return;
  throw Error(ErrorCode::unsupported, "-o: npy and raw have numbers, and these are texts; write .txt, .csv or .json");
}

void refuse_missing(const ColumnsResult::Head& head, Dtype dtype) {
  if (is_float(dtype) || std::ranges::count(head.each, no_value()) == 0) return;
  throw Error(ErrorCode::unsupported,
              "-o: npy and raw have no integer for a result without values; write .txt, .csv or .json");
}

void raw_columns(const ColumnsResult& result, io::OutputFile& to) {
  refuse_texts(result.heads[result.array]);
  result.pieces([&](std::span<const ArrayView> piece) {
    const ArrayView& column = piece[result.array];
    refuse_missing(result.heads[result.array], column.dtype);
    to.write(column.data, column.count * size_of(column.dtype));
  });
}

// Rows of one length make a table of two dimensions.
void npy_columns(const ColumnsResult& result, io::OutputFile& to) {
  refuse_texts(result.heads[result.array]);
  std::vector<std::uint64_t> shape;
  if (result.rows.empty() || result.flat) {
    shape.push_back(0);
    result.pieces([&](std::span<const ArrayView> piece) { shape.back() += piece.front().count; });
  } else {
    shape = {result.rows.size(), result.rows.front()};
    if (std::any_of(result.rows.begin(), result.rows.end(), [&](std::uint64_t n) { return n != shape.back(); })) {
      throw Error(ErrorCode::unsupported, "-o: a .npy file needs rows of one length, and these are not; write .json");
    }
  }
  std::optional<Dtype> dtype;
  result.pieces([&](std::span<const ArrayView> piece) { dtype = piece[result.array].dtype; });
  to.write(io::npy_header(*dtype, shape));
  raw_columns(result, to);
}

}  // namespace

const io::ValueNames* no_value() {
  struct Nothing final : io::ValueNames {
    Nothing() : ValueNames(Kind::instants) {}
    [[nodiscard]] std::string operator()(std::int64_t /*value*/) const override { return {}; }
  };
  static const Nothing nothing;
  return &nothing;
}

ColumnsForm columns_form(const CommonOptions& common, bool has_array) {
  const std::string& path = common.output;
  if (common.format.empty()) check_ending("-o", path, has_array ? ".txt .csv .tsv .json .npy" : ".txt .csv .tsv .json");
  const auto asked = asked_form(common);
  if (common.json && !common.format.empty() && asked != ResultForm::json)
    usage_error("--json and --format {} exclude each other", common.format);
  if (common.json && asked == ResultForm::npy) usage_error("-o: a .npy file is no JSON; give --json or " + path);
  const ResultForm form = common.json ? ResultForm::json : asked.value_or(ResultForm::table);
  if (!common.format.empty() && !has_array && (form == ResultForm::npy || form == ResultForm::raw))
    usage_error("--format {}: the result is not one array", common.format);
  return form;
}

void write_columns(const ColumnsResult& result, ColumnsForm form, const CommonOptions& common) {
  const bool on_terminal = is_standard_output(common.output) && is_terminal(STDOUT_FILENO);
  io::OutputFile output(common.output.empty() ? "-" : common.output);
  switch (form) {
    case ResultForm::table: table_columns(result, output, on_terminal); break;
    case ResultForm::csv: csv_columns<','>(result, output); break;
    case ResultForm::tsv: csv_columns<'\t'>(result, output); break;
    case ResultForm::json: json_columns(result, output); break;
    case ResultForm::npy: npy_columns(result, output); break;
    case ResultForm::raw: raw_columns(result, output); break;
  }
  output.commit();
}

namespace {

constexpr std::uint64_t block_entries = 4096;                    // that are written and read at a time
constexpr std::uint64_t sent_entries = std::uint64_t{1} << 20U;  // at most, at a time

}  // namespace

void send_to_first(std::string_view what, Dtype dtype, const std::function<void(const NumberedSink&)>& give,
                   const NumberedSink& take) {
  const auto send_all = [&](const Ranks::Send& send) {
    give([&](const ArrayView& values, const std::uint64_t* numbers) {
      for (std::uint64_t done = 0; done < values.count;) {
        const std::uint64_t some = std::min(values.count - done, sent_entries);
        const auto bytes = std::as_bytes(std::span(numbers + done, some));
        Ranks::Bytes message(bytes.begin(), bytes.end());
        Column column(part_of(values, done, some));
        message.insert(message.end(), column.bytes.begin(), column.bytes.end());
        send(message);
        done += some;
      }
    });
  };
  ranks().to_first(what, send_all, [&](int /*rank*/, std::span<const std::byte> message) {
    std::vector<std::uint64_t> numbers(message.size() / (size_of(dtype) + sizeof(std::uint64_t)));
    if (!numbers.empty()) std::memcpy(numbers.data(), message.data(), numbers.size() * sizeof(std::uint64_t));
    take({dtype, message.data() + numbers.size() * sizeof(std::uint64_t), numbers.size()}, numbers.data());
  });
}

NumberedValues::NumberedValues(Dtype dtype, std::uint64_t memory, const std::string& tmpdir)
    : dtype_(dtype),
      most_(std::max(block_entries, memory / (size_of(dtype) + sizeof(std::uint64_t)))),
      value_file_(tmpdir),
      number_file_(tmpdir) {}

void NumberedValues::append(const ArrayView& values, const std::uint64_t* numbers) {
  if (values.count == 0) return;
  const auto* first = static_cast<const std::byte*>(values.data);
  values_.insert(values_.end(), first, first + values.count * size_of(dtype_));
  numbers_.insert(numbers_.end(), numbers, numbers + values.count);
  size_ += values.count;
  if (numbers_.size() > most_) flush();
}

void NumberedValues::flush() {
  value_file_.append(values_.data(), values_.size());
  number_file_.append(numbers_.data(), numbers_.size() * sizeof(std::uint64_t));
  values_ = {};
  numbers_ = {};
  most_ = block_entries;
}

void NumberedValues::each(const std::function<void(const ArrayView& values, const ArrayView& numbers)>& take) const {
  const std::size_t element = size_of(dtype_);
  const std::uint64_t in_files = value_file_.size() / element;
  std::vector<std::byte> values(std::min(in_files, block_entries) * element);
  std::vector<std::uint64_t> numbers(std::min(in_files, block_entries));
  for (std::uint64_t done = 0; done < in_files;) {
    const std::uint64_t count = std::min(block_entries, in_files - done);
    value_file_.read(values.data(), count * element, done * element);
    number_file_.read(numbers.data(), count * sizeof(std::uint64_t), done * sizeof(std::uint64_t));
    take({dtype_, values.data(), count}, {Dtype::u64, numbers.data(), count});
    done += count;
  }
  if (!numbers_.empty() || size_ == 0) take({dtype_, values_.data(), numbers_.size()}, ArrayView(numbers_));
}

}  // namespace masu::cli
