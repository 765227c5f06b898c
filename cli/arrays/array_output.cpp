// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"

#include "io/numbers.h"
#include "program.h"
#include "text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

namespace masu::cli {

namespace {
constexpr std::size_t lines_bytes = std::size_t{1} << 14U;
}

void write_lines(const ArrayView& array, const Lines& to, LineForm* form) {
  dispatch(array.dtype, [&]<class T>(TypeTag<T>) {
    const auto* values = static_cast<const T*>(array.data);
    std::array<char, lines_bytes> lines;
    std::size_t length = 0;
    for (std::uint64_t i = 0; i < array.count; ++i) {
      if (lines.size() - length < io::number_room) to({lines.data(), std::exchange(length, 0)});
      length += io::put_number(lines.data() + length, io::number_room - 1, values[i]);
      const bool within = form != nullptr && ++form->written % form->columns != 0;
      lines[length++] = within ? form->delimiter : '\n';
    }
    if (length != 0) to({lines.data(), length});
  });
}

bool is_standard_output(const std::string& path) {
  return path.empty() || path == "-";
}

namespace {
// Behind symbolic links, also where the file does not exist yet.
std::filesystem::path file_of(const std::string& path) {
  constexpr int most_links = 40;  // as Linux has it
  std::error_code ignored;
  std::filesystem::path file = std::filesystem::absolute(path, ignored);
  for (int links = 0; links < most_links && std::filesystem::is_symlink(file, ignored); ++links) {
    file = file.parent_path() / std::filesystem::read_symlink(file, ignored);
  }
  return std::filesystem::weakly_canonical(file, ignored);
}
}  // namespace

bool is_same_output(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && (a == b || file_of(a) == file_of(b));
}

void check_ending(std::string_view option, const std::string& path, std::string_view written) {
  constexpr std::string_view formats =
      " .npy .npz .txt .csv .tsv .json .jsonl .gz .zst .xz .bz2 .zip .tar .png .jpg .jpeg .tif .tiff .webp .bmp .gif "
      ".pnm .pbm "
      ".pgm .ppm .pam .svg .pdf .html .md .xml .yaml .yml .toml .xlsx .ods .parquet .arrow .feather .h5 .hdf5 .nc .mat "
      ".pkl ";
  const std::size_t dot = path.find_last_of("./");
  if (is_standard_output(path) || dot == std::string::npos || path[dot] == '/') return;
  std::string ending = path.substr(dot);
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto among = [&](std::string_view list) {
    return fmt::format(" {} ", list).find(fmt::format(" {} ", ending)) != std::string::npos;
  };
  if (!among(formats) || (among(written) && path.ends_with(ending))) return;
  usage_error("{}: cannot write the format that the ending {} means, only {}; got {}", option, ending, written, path);
}

void check_array_ending(std::string_view option, const std::string& path) {
  check_ending(option, path, ".npy .txt .csv");
}

namespace {

constexpr std::size_t sent_bytes = std::size_t{4} << 20U;

ArrayForm array_form(const std::string& path, const io::SourceInfo& from) {
  if (is_standard_output(path))
    return from.format == "text" || is_terminal(STDOUT_FILENO) ? ArrayForm::text : ArrayForm::raw;
  if (path.ends_with(".npy")) return ArrayForm::npy;
  return path.ends_with(".txt") || path.ends_with(".csv") ? ArrayForm::text : ArrayForm::raw;
}

}  // namespace

ArrayOutput::ArrayOutput(const std::string& path, const io::SourceInfo& from)
    : form_(array_form(path, from)), csv_(path.ends_with(".csv")) {
  if (ranks().first()) file_.emplace(is_standard_output(path) ? "-" : path);
  if (ranks().several()) open_part();
}

// Without a name of the file where all ranks find it so: then nothing is left of it however they end.
void ArrayOutput::open_part() {
  for (const bool named : {false, true}) {
    const Ranks::Bytes bytes = ranks().of_first("output", file_ ? bytes_of(file_->place(named)) : Ranks::Bytes());
    in_place_ = bytes.empty();
    if (!in_place_ && !ranks().first()) {
      try {
        part_.emplace(text_in(bytes));
      } catch (const Error&) {
        if (named) throw;
      }
    }
    const std::uint64_t opened = in_place_ || ranks().first() || part_ ? 1 : 0;
    if (ranks().sum("opened", opened) == static_cast<std::uint64_t>(ranks().size())) return;
    part_.reset();
  }
}

void ArrayOutput::set_columns(std::uint64_t columns, const io::TextReport& from) {
  lines_ = {std::max<std::uint64_t>(columns, 1), from.delimiter != '\0' ? from.delimiter : csv_ ? ',' : ' ', 0};
}

void ArrayOutput::begin(Dtype dtype, std::span<const std::uint64_t> shape, bool fortran_order) {
  if (form_ == ArrayForm::npy) head_ = io::npy_header(dtype, shape, fortran_order);
  if (!ranks().several()) file_->write(head_);
}

void ArrayOutput::each_bytes(const ArrayView& piece, const Lines& take) {
  if (form_ == ArrayForm::text) write_lines(piece, take, &lines_);
  else take({static_cast<const char*>(piece.data), piece.count * size_of(piece.dtype)});
}

void ArrayOutput::write(const ArrayView& piece) {
  if (ranks().several()) return write_part(piece);
  each_bytes(piece, [&](std::string_view bytes) { file_->write(bytes); });
}

void ArrayOutput::write_part(const ArrayView& mine) {
  if (in_place_) {
    if (file_) file_->write(head_);
    if (file_) each_bytes(mine, [&](std::string_view bytes) { file_->write(bytes); });
    const auto give = [&](const Ranks::Send& send) {
      each_bytes(mine, [&](std::string_view bytes) {
        for (std::size_t done = 0; done < bytes.size(); done += sent_bytes) {
          const std::string_view some = bytes.substr(done, sent_bytes);
          send(std::as_bytes(std::span(some)));
        }
      });
    };
    return ranks().to_first("output", give, [&](int /*rank*/, std::span<const std::byte> bytes) {
      file_->write(bytes.data(), bytes.size());
    });
  }
  // Text is made twice, as its length has to be known first.
  std::uint64_t length = 0;
  each_bytes(mine, [&](std::string_view bytes) { length += bytes.size(); });
  std::uint64_t position = head_.size() + ranks().before("output", length);
  each_bytes(mine, [&](std::string_view bytes) {
    if (file_) file_->write_at(position, bytes.data(), bytes.size());
    else part_->write_at(position, bytes.data(), bytes.size());
    position += bytes.size();
  });
  if (file_) file_->write_at(0, head_.data(), head_.size());
  if (part_) part_->finish();
}

void ArrayOutput::commit() {
  ranks().agree("output");
  if (file_) file_->commit();
}

void check_array_output(const CommonOptions& common) {
  check_array_ending("-o", common.output);
  if (common.json && is_standard_output(common.output)) usage_error("--json needs standard output; give -o FILE");
}

std::vector<std::uint64_t> flat_shape(ArrayStream& stream, const CommonOptions& common) {
  const bool is_counted = stream.info().count || common.output.ends_with(".npy");
  const std::uint64_t count = is_counted ? stream.count() : 0;
  const std::uint64_t rows = stream.rows();
  return rows == 1 ? std::vector{count} : std::vector{rows, count / rows};
}

void tell_array(const ArrayStream& stream, const CommonOptions& common, const ArrayDone& done) {
  Seconds seconds = stream.seconds(done.times);
  seconds.total -= done.verifying;
  if (common.json) {
    print_text(fmt::format("{{\"n\":{},\"dtype\":\"{}\",{}{}}}\n", done.count, to_string(stream.info().dtype),
                           done.json_more, stream.json_end(seconds)));
  }
  stream.tell(done.count, seconds);
}

namespace {

constexpr std::uint64_t measured_entries = 1000;  // of a table: later ones may be wider than their column

// Which row the next entry is of.
class RowCursor {
 public:
  explicit RowCursor(const std::vector<std::uint64_t>& lengths) : lengths_(lengths) {}
  [[nodiscard]] std::uint64_t row() const { return row_; }
  // Whether the row has no more entries.
  [[nodiscard]] bool ended() const { return row_ < lengths_.size() && within_ == lengths_[row_]; }
  [[nodiscard]] bool at_begin() const { return within_ == 0; }
  void advance() { ++within_; }
  void next_row() {
    ++row_;
    within_ = 0;
  }

 private:
  const std::vector<std::uint64_t>& lengths_;
  std::uint64_t row_ = 0;
  std::uint64_t within_ = 0;
};

void write_json_column(const ColumnsResult& result, std::size_t column, io::OutputFile& to) {
  const bool nested = !result.rows.empty() && !result.heads[column].same;
  RowCursor cursor(result.rows);
  const auto end_rows = [&] {
    for (; cursor.ended(); cursor.next_row()) to.write(cursor.row() + 1 < result.rows.size() ? "],[" : "]");
  };
  const std::string_view open = result.one ? "" : nested ? "[[" : "[";
  to.write(fmt::format("\"{}\":{}", result.heads[column].json, open));
  if (nested) end_rows();
  result.pieces([&](std::span<const ArrayView> piece) {
    for (std::uint64_t i = 0; i < piece[column].count; ++i) {
      if (!nested && cursor.row() > 0) return;
      if (!cursor.at_begin()) to.write(",");
      to.write(json_element(piece[column], i));
      cursor.advance();
      if (nested) end_rows();
      else if (cursor.ended()) cursor.next_row();
    }
  });
  to.write(result.one ? "," : "],");
}

void json_columns(const ColumnsResult& result, io::OutputFile& to) {
  to.write("{");
  for (std::size_t column = 0; column < result.heads.size(); ++column) write_json_column(result, column, to);
  to.write(result.json_rest + "}\n");
}

// Calls `take` with the texts of each entry, made by `text`, the row's number first where there are rows.
template <class Text, class Take>
void each_entry(const ColumnsResult& result, const Text& text, const Take& take) {
  RowCursor cursor(result.rows);
  std::vector<std::string> texts;
  result.pieces([&](std::span<const ArrayView> piece) {
    for (std::uint64_t i = 0; i < piece.front().count; ++i) {
      texts.clear();
      while (cursor.ended()) cursor.next_row();
      if (!result.rows.empty()) texts.push_back(std::to_string(cursor.row()));
      for (const ArrayView& column : piece) texts.push_back(text(column, i));
      take(texts);
      cursor.advance();
    }
  });
}

std::vector<std::string> names_of(const ColumnsResult& result) {
  std::vector<std::string> names;
  if (!result.rows.empty()) names.emplace_back("row");
  for (const ColumnsResult::Head& head : result.heads) names.push_back(head.name);
  return names;
}

void csv_columns(const ColumnsResult& result, io::OutputFile& to) {
  const auto line = [&](const std::vector<std::string>& texts) {
    to.write(fmt::format("{}\n", fmt::join(texts, ",")));
  };
  line(names_of(result));
  each_entry(result, element_text, line);
}

void table_columns(const ColumnsResult& result, io::OutputFile& to) {
  if (result.bare) {
    return each_entry(result, table_element, [&](const std::vector<std::string>& texts) {
      to.write(fmt::format("{}\n", fmt::join(texts, "\n")));
    });
  }
  if (result.one) {
    std::size_t width = 0;
    for (const ColumnsResult::Head& head : result.heads) width = std::max(width, head.name.size());
    return each_entry(result, table_element, [&](const std::vector<std::string>& texts) {
      for (std::size_t i = 0; i < texts.size(); ++i) {
        to.write(fmt::format("{:<{}}  {}\n", result.heads[i].name, width, texts[i]));
      }
    });
  }
  std::vector<std::vector<std::string>> waiting{names_of(result)};
  std::vector<std::size_t> widths(waiting.front().size());
  const auto line = [&](const std::vector<std::string>& texts) {
    for (std::size_t column = 0; column < texts.size(); ++column) {
      to.write(fmt::format("{}{:>{}}", column == 0 ? "" : "  ", texts[column], widths[column]));
    }
    to.write("\n");
  };
  // The widths are those of the first entries.
  const auto settle = [&] {
    for (const auto& texts : waiting) {
      for (std::size_t i = 0; i < texts.size(); ++i) widths[i] = std::max(widths[i], texts[i].size());
    }
    for (const auto& texts : waiting) line(texts);
    waiting.clear();
  };
  each_entry(result, table_element, [&](const std::vector<std::string>& texts) {
    if (waiting.empty()) return line(texts);
    waiting.push_back(texts);
    if (waiting.size() > measured_entries) settle();
  });
  if (!waiting.empty()) settle();
}

// Rows of one length make a table of two dimensions.
void npy_columns(const ColumnsResult& result, io::OutputFile& to) {
  std::vector<std::uint64_t> shape;
  if (result.rows.empty()) {
    shape.push_back(0);
    result.pieces([&](std::span<const ArrayView> piece) { shape.back() += piece.front().count; });
  } else {
    shape = {result.rows.size(), result.rows.front()};
    if (std::any_of(result.rows.begin(), result.rows.end(), [&](std::uint64_t n) { return n != shape.back(); })) {
      throw Error(ErrorCode::unsupported, "-o: a .npy file needs rows of one length, and these are not; write .json");
    }
  }
  bool begun = false;
  result.pieces([&](std::span<const ArrayView> piece) {
    const ArrayView& column = piece[result.array];
    if (!begun) to.write(io::npy_header(column.dtype, shape));
    begun = true;
    to.write(column.data, column.count * size_of(column.dtype));
  });
}

}  // namespace

ColumnsForm columns_form(const CommonOptions& common, bool has_array) {
  const std::string& path = common.output;
  check_ending("-o", path, has_array ? ".txt .csv .json .npy" : ".txt .csv .json");
  const bool npy = path.ends_with(".npy");
  if (npy && common.json) usage_error("-o: a .npy file is no JSON; give --json or " + path);
  if (npy) return ColumnsForm::npy;
  if (common.json || path.ends_with(".json")) return ColumnsForm::json;
  return path.ends_with(".csv") ? ColumnsForm::csv : ColumnsForm::table;
}

void write_columns(const ColumnsResult& result, ColumnsForm form, const CommonOptions& common) {
  constexpr std::array writers = {table_columns, csv_columns, json_columns, npy_columns};
  io::OutputFile output(common.output.empty() ? "-" : common.output);
  writers[static_cast<std::size_t>(form)](result, output);
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
