// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"

#include "io/numbers.h"
#include "program.h"
#include "runtime/parallel.h"
#include "text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace masu::cli {

namespace {
constexpr std::size_t lines_bytes = std::size_t{1} << 14U;
constexpr std::uint64_t lines_of_task = std::uint64_t{1} << 12U;
constexpr std::uint64_t most_tasks = 16;
}  // namespace

void write_texts(std::uint64_t count, const MakeTexts& make, const Lines& to) {
  struct Made {
    std::string room;
    std::size_t bytes = 0;
  };
  std::array<std::array<Made, most_tasks>, 2> rounds;
  const auto write = [&](std::uint64_t round) {
    for (Made& made : rounds[round % 2])
      if (made.bytes != 0) to(std::string_view(made.room).substr(0, std::exchange(made.bytes, 0)));
  };
  const bool beside = !ranks().several();  // ranks talk on one thread
  std::uint64_t round = 0;
  for (std::uint64_t done = 0; done < count; done += lines_of_task * most_tasks, ++round) {
    const std::uint64_t first = beside && round != 0 ? 1 : 0;
    const std::uint64_t some = std::min(count - done, lines_of_task * most_tasks);
    runtime::parallel_tasks(first + (some - 1) / lines_of_task + 1, [&](std::uint64_t task) {
      if (task < first) return write(round - 1);
      const std::uint64_t begin = (task - first) * lines_of_task;
      Made& made = rounds[round % 2][task - first];
      made.bytes = make(done + begin, done + std::min(begin + lines_of_task, some), made.room);
    });
    if (!beside) write(round);
  }
  if (round != 0) write(round - 1);
}

void write_lines(const ArrayView& array, const Lines& to, LineForm* form) {
  dispatch(array.dtype, [&]<class T>(TypeTag<T>) {
    const auto* values = static_cast<const T*>(array.data);
    const auto make = [&](std::uint64_t first, std::uint64_t end, std::string& room) {
      room.resize(std::max<std::size_t>(room.size(), (end - first) * io::number_room));
      std::size_t length = 0;
      for (std::uint64_t i = first; i < end; ++i) {
        length += io::put_number(room.data() + length, io::number_room - 1, values[i]);
        const bool within = form != nullptr && (form->written + i + 1) % form->columns != 0;
        room[length++] = within ? form->delimiter : '\n';
      }
      return length;
    };
    write_texts(array.count, make, to);
    if (form != nullptr) form->written += array.count;
  });
}

bool is_standard_output(const std::string& path) {
  return path.empty() || path == "-";
}

bool is_same_output(const std::string& a, const std::string& b) {
  // Behind symbolic links, also where the file does not exist yet.
  const auto file = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(io::resolved(path), ignored), ignored);
  };
  return !a.empty() && !b.empty() && (a == b || file(a) == file(b));
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
  check_ending(option, path, ".npy .txt .csv .tsv");
}

namespace {

constexpr std::size_t sent_bytes = std::size_t{4} << 20U;

ResultForm array_form(const std::string& path, const io::SourceInfo& from) {
  if (const auto form = form_of_path(path)) return *form;
  const bool text = is_standard_output(path) && (from.format == "text" || is_terminal(STDOUT_FILENO));
  return text ? ResultForm::table : ResultForm::raw;
}

bool is_text(ResultForm form) {
  return form == ResultForm::table || form == ResultForm::csv || form == ResultForm::tsv;
}

struct FormName {
  std::string_view name;
  ResultForm form;
  std::string_view ending;
};
constexpr std::array<FormName, 6> form_names = {{{"table", ResultForm::table, ".txt"},
                                                 {"csv", ResultForm::csv, ".csv"},
                                                 {"tsv", ResultForm::tsv, ".tsv"},
                                                 {"json", ResultForm::json, ".json"},
                                                 {"npy", ResultForm::npy, ".npy"},
                                                 {"raw", ResultForm::raw, ""}}};

}  // namespace

std::optional<ResultForm> form_of_path(const std::string& path) {
  for (const FormName& each : form_names) {
    if (!each.ending.empty() && path.ends_with(each.ending)) return each.form;
  }
  return std::nullopt;
}

std::optional<ResultForm> asked_form(const CommonOptions& common) {
  if (common.format.empty()) return form_of_path(common.output);
  for (const FormName& each : form_names) {
    if (common.format == each.name) return each.form;
  }
  usage_error("--format takes table, csv, tsv, json, npy or raw, got '{}'", common.format);
}

ArrayOutput::ArrayOutput(const std::string& path, const io::SourceInfo& from, std::optional<ResultForm> form)
    : form_(form.value_or(array_form(path, from))), explicit_(form.has_value()) {
  if (form_ == ResultForm::json && ranks().several()) {
    usage_error("--format json: ranks write an array together as table, csv, tsv, npy or raw");
  }
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

void ArrayOutput::set_names(std::shared_ptr<const io::ValueNames> names) {
  names_ = std::move(names);
  if (!names_ || names_->kind() != io::ValueNames::Kind::texts || form_ == ResultForm::json || is_text(form_)) return;
  if (explicit_ || form_ == ResultForm::npy)
    usage_error("-o: npy and raw have numbers, and these are texts; write .txt, .csv or .json");
  form_ = ResultForm::table;  // wherever they go
}

void ArrayOutput::set_columns(std::uint64_t columns, const io::TextReport& from) {
  const char own = form_ == ResultForm::csv ? ',' : form_ == ResultForm::tsv ? '\t' : ' ';
  lines_ = {std::max<std::uint64_t>(columns, 1), from.delimiter != '\0' && !explicit_ ? from.delimiter : own, 0};
}

void ArrayOutput::begin(Dtype dtype, std::span<const std::uint64_t> shape, bool fortran_order) {
  if (form_ == ResultForm::npy) head_ = io::npy_header(dtype, shape, fortran_order);
  if (form_ == ResultForm::json) {
    head_ = "[";
    std::uint64_t elements = 1;
    for (std::size_t i = shape.size(); i-- > 1 && !fortran_order;) lists_.push_back(elements *= shape[i]);
  }
  if (!ranks().several()) file_->write(head_);
}

void ArrayOutput::each_bytes(const ArrayView& piece, const Lines& take) {
  if (is_text(form_) && names_) {
    // What the elements stand for, a line each.
    const auto make = [&](std::uint64_t first, std::uint64_t end, std::string& lines) {
      lines.clear();
      for (std::uint64_t i = first; i < end; ++i) {
        const std::string text = value_text(piece, i, names_.get());
        (lines += form_ != ResultForm::table ? csv_field(text) : text) += '\n';
      }
      return lines.size();
    };
    return write_texts(piece.count, make, take);
  }
  if (is_text(form_)) write_lines(piece, take, &lines_);
  else take({static_cast<const char*>(piece.data), piece.count * size_of(piece.dtype)});
}

void ArrayOutput::write(const ArrayView& piece) {
  if (ranks().several()) return write_part(piece);
  if (form_ == ResultForm::json) return write_json(piece);
  each_bytes(piece, [&](std::string_view bytes) { file_->write(bytes); });
}

// Lists in lists, as deep as the array has dimensions.
void ArrayOutput::write_json(const ArrayView& piece) {
  std::string text;
  for (std::uint64_t i = 0; i < piece.count; ++i, ++listed_) {
    if (listed_ != 0) text += ',';
    for (const std::uint64_t elements : lists_) text.append(listed_ % elements == 0 ? 1 : 0, '[');
    text += json_element(piece, i, names_.get());
    for (const std::uint64_t elements : lists_) text.append((listed_ + 1) % elements == 0 ? 1 : 0, ']');
    if (text.size() < lines_bytes) continue;
    file_->write(text);
    text.clear();
  }
  file_->write(text);
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
  if (form_ == ResultForm::json) file_->write("]\n");
  if (file_) file_->commit();
}

void check_array_format(const CommonOptions& common) {
  if (common.format.empty()) check_array_ending("-o", common.output);
  else (void)asked_form(common);
}

void check_array_output(const CommonOptions& common) {
  check_array_format(common);
  if (common.json && is_standard_output(common.output)) usage_error("--json needs standard output; give -o FILE");
}

std::vector<std::uint64_t> flat_shape(ArrayStream& stream, const CommonOptions& common) {
  const bool is_counted = stream.info().count || asked_form(common) == ResultForm::npy;
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

}  // namespace masu::cli
