// SPDX-License-Identifier: Apache-2.0
// Inputs in pieces: one source, or several side by side, and rows of equal length in them; the one input of a command
// that takes its numbers as an array; and arrays and columns as results.
#pragma once

#include "io/reader.h"
#include "options.h"
#include "program.h"
#include "ranks.h"
#include "text.h"

#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/io.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::cli {

// How much of some sources is held at a time: what suits the device for each, but no more than was allowed for all.
std::uint64_t chunk_bytes(const Device& device, std::uint64_t sources, std::optional<std::uint64_t> allowed);

class ChunkReader;  // one source, piece by piece

// One or several sources of equal length, read side by side in pieces.
class Pieces {
 public:
  // The last source has weights: one for each so many values of each of the others, which have that name together.
  struct Weighted {
    std::uint64_t values = 1;
    std::string name;
  };
  // Holds at most `bytes` of the data, but at least one pixel of `channels` values of each source without weights.
  Pieces(std::span<const std::unique_ptr<io::Source>> sources, unsigned channels, std::uint64_t bytes,
         Progress& progress, std::optional<Weighted> weighted = std::nullopt);
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;
  ~Pieces();
  // The next piece of each source, all equally long but for weights, valid until the next call; empty views at the end.
  // Throws io when the sources turn out to be of different length.
  std::span<const ArrayView> next();
  // Back to the first piece.
  void rewind();
  // Time spent in the sources.
  [[nodiscard]] double seconds() const;

 private:
  [[nodiscard]] bool has_weights(std::size_t source) const { return weighted_ && source + 1 == sources_.size(); }
  [[noreturn]] void ends_early() const;
  std::span<const std::unique_ptr<io::Source>> sources_;
  std::optional<Weighted> weighted_;
  std::vector<std::unique_ptr<ChunkReader>> readers_;
  std::vector<ArrayView> ahead_;  // what is left of each reader's piece
  std::vector<ArrayView> views_;
};

// Rows of equal length in data that comes in pieces of any length.

// Gathers pieces into whole rows; one that does not come in one piece is copied. Or parts them at the ends of rows.
class Rows {
 public:
  using Whole = std::function<void(const ArrayView& rows, std::uint64_t count)>;
  // `ends`: nothing of the row comes after the part.
  using Part = std::function<void(const ArrayView& part, bool ends)>;
  // `are_whole` says which of the two takes the data; with a length of 0 all of it is one row, which `part` takes.
  Rows(std::uint64_t length, bool are_whole, Whole whole, Part part)
      : length_(length), are_whole_(are_whole && length > 0), whole_(std::move(whole)), part_(std::move(part)) {}
  void add(const ArrayView& piece);

 private:
  void gather(const ArrayView& piece);
  std::uint64_t length_;
  bool are_whole_;
  Whole whole_;
  Part part_;
  std::uint64_t within_ = 0;    // elements that came of a row in parts
  std::vector<std::byte> row_;  // and of one that is to be whole
};

// The elements from `first` on.
ArrayView part_of(const ArrayView& data, std::uint64_t first, std::uint64_t count);

// The inputs of a command that takes them as one, which the ranks share: texts by lines where `lines` (ranks.h).
// `in_place`: pieces of files may be had without a copy.
SharedSource open_array(const InputOptions& input, const CommonOptions& common, bool in_place, bool lines);
// The same for another file than the input's, read by its content or as `dtype`. Options of texts are the input's.
SharedSource open_array(const std::string& path, const std::string& dtype, const InputOptions& like,
                        const CommonOptions& common);

// Several inputs one after the other, as cat would give them, with one dtype. A header of each is skipped.
std::unique_ptr<io::Source> open_joined(const std::vector<std::string>& inputs, io::SourceOptions options);

// A part of another source: the runs of its elements that `runs` gives, nothing after the last one, which ends at
// `end`. What lies between is read and left; what follows is not read, but with a report of its own.
struct ElementRun {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};
using ElementRuns = std::function<std::optional<ElementRun>(std::uint64_t number)>;
std::unique_ptr<io::Source> runs_source(std::unique_ptr<io::Source> source, io::SourceInfo info, ElementRuns runs,
                                        std::uint64_t end, std::optional<io::TextReport> report = std::nullopt);

// Leaves out each pair that has an empty entry. The two sources lie side by side and keep the places of such entries.
void leave_out_pairs(std::unique_ptr<io::Source>& first, std::unique_ptr<io::Source>& second);

// Bytes of the elements, where their number is known.
std::optional<std::uint64_t> known_bytes(const io::Source& source);

// Fewer than `count` elements only at the end.
std::uint64_t read_elements(io::Source& source, void* target, std::uint64_t count);

// The number of elements, read through to the end and back again where it is not known.
std::uint64_t measure(io::Source& source);

// All of the elements; then the source stands at its beginning again.
std::vector<std::byte> read_and_rewind(io::Source& source);

// Bytes that a command may hold: those of --memory, else most of what the machine has free.
std::uint64_t memory_budget(const CommonOptions& common);

// Prints the notes of an input from number `from` on to standard error; returns how many it has. Readers add notes.
std::size_t tell_notes(const io::SourceInfo& info, std::size_t from = 0);

// Facts about texts besides their numbers (text_report.cpp).

// The report of a text that was read in parts.
io::TextReport join_reports(std::span<const io::TextReport> parts);
// That of several inputs, by their names, which are read one after the other (made_sources.cpp).
io::TextReport join_inputs(std::span<const std::pair<std::string, io::TextReport>> inputs);
// That of all ranks. Collective.
io::TextReport report_of_ranks(const io::TextReport& mine);
// Entries and lines that were left out, of all kinds.
std::uint64_t all_left_out(const io::TextReport& report);
// Prints on standard error what was left out, and which lines were skipped.
void note_report(const std::string& name, const io::TextReport& report);
// Prints this and the notes of an input without an ArrayStream; returns the report of all ranks. Collective.
io::TextReport tell_source(const io::Source& source, const CommonOptions& common);
// What was left out as members of JSON, `,"bad_lines":N,…`, where there are any.
std::string json_report(const io::TextReport& report, std::span<const std::string> notes = {});

// Turns indices of numbers, counted over all ranks, into places in the text. Rows or entries that were left out have
// places too. In other inputs, a number's place is its index.
class Places {
 public:
  // Collective; after all has been read. `numbers`: how many this rank has read. The source was opened with
  // SourceOptions::places.
  Places(io::Source& source, std::uint64_t numbers);
  void apply(std::span<std::uint64_t> indices) const;
  // A copy, of u64 at any address.
  [[nodiscard]] std::vector<std::uint64_t> of(const void* indices, std::uint64_t count) const;

 private:
  io::Source* source_;
  std::vector<io::Source::Gap> gaps_;  // of all ranks, where there are several
};

// A pass, or several, over the one input of a command that takes its numbers piece by piece.
class ArrayStream {
 public:
  // Runs on --device, or on what device_for() says. `asked` must outlive it. With --rows, each rank gets whole rows.
  ArrayStream(const ArrayOptions& asked, Work work, std::string what);
  ArrayStream(const ArrayStream&) = delete;
  ArrayStream& operator=(const ArrayStream&) = delete;
  ~ArrayStream();

  [[nodiscard]] const io::SourceInfo& info() const { return source_->info(); }
  [[nodiscard]] const Device& device() const { return device_; }
  // Where the data of streams must be kept to be read again, this is said before the first pass.
  void keep() { source_->keep_for_rewind(); }
  // All of it in memory, where --verify is given; the time does not count. Rank 0 alone has it.
  [[nodiscard]] std::vector<std::byte> whole();
  // The number of elements of all ranks where it is known; count() reads through where it is not.
  [[nodiscard]] std::optional<std::uint64_t> known_count() const { return known_count_; }
  std::uint64_t count();
  // Elements of each of the rows, where --rows is given; a usage error where they do not come out even.
  std::optional<std::uint64_t> row_length();
  // How many rows there are, 1 where nothing is said, and how many of them this rank has after row_length().
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] std::uint64_t own_rows() const { return own_rows_; }
  // Bytes that the command may hold.
  [[nodiscard]] std::uint64_t memory() const { return memory_budget(asked_.common); }
  // Bytes of the largest piece that next passes give.
  void limit_pieces(std::uint64_t bytes) { piece_bytes_ = std::min(piece_bytes_, bytes); }
  // The same of the smallest, before the first pass, whatever little memory is allowed.
  void least_pieces(std::uint64_t bytes) { piece_bytes_ = std::max(piece_bytes_, bytes); }

  // Gives every piece of this rank's data. A later pass starts from the beginning again.
  void each(const std::function<void(const ArrayView&)>& take);
  // The same, until `take` says false.
  void pass(const std::function<bool(const ArrayView&)>& take);
  // Ends the passes on all ranks: returns the sum of what they counted.
  std::uint64_t settle(std::uint64_t counted);

  // The report of all ranks, once the passes have ended.
  [[nodiscard]] io::TextReport report() const { return report_ ? *report_ : source_->report(); }
  // The places of numbers; this rank has read `numbers` of them. Collective.
  [[nodiscard]] Places places(std::uint64_t numbers) { return {*source_, numbers}; }
  // What was read in all passes.
  [[nodiscard]] std::uint64_t bytes() const { return all_bytes_.value_or(bytes_); }
  // What it took since the beginning.
  [[nodiscard]] Seconds seconds(const Times& times) const;
  // The last members of JSON: the device, `more`, what was left out, the times.
  [[nodiscard]] std::string json_end(const Seconds& seconds, const std::string& more = "") const;
  // Prints what all these commands say on standard error after a result, unless --quiet is given.
  void tell(std::uint64_t count, const Seconds& seconds) const;

 private:
  Clock::time_point began_ = Clock::now();
  const ArrayOptions& asked_;
  std::string what_;
  std::uint64_t rows_;
  InputOptions input_;
  SharedSource shared_;
  std::unique_ptr<io::Source>& source_ = shared_.source;
  double opening_;         // seconds: a text is parsed then
  std::size_t noted_ = 0;  // notes that were printed
  std::optional<std::uint64_t> known_count_;
  Device device_;
  Progress progress_;
  std::uint64_t piece_bytes_;
  std::unique_ptr<ChunkReader> reader_;
  bool cut_ = false;
  std::uint64_t own_rows_ = 0;
  std::uint64_t bytes_ = 0;
  std::optional<std::uint64_t> all_bytes_;  // of all ranks
  std::optional<io::TextReport> report_;    // the same
  double aside_ = 0;
};

// An array written in pieces, whole or not at all, in the form that its path's ending says: .npy, .txt or .csv (one
// number a line), else raw. On a terminal, and where the input is text, standard output is text.

// Whether a command prints numbers as tables or lines, so that --digits is for it.
enum class Printed { nothing, numbers };

// A command of INPUT: `add` adds its own options, between those of the input and those of all; `run` gets what was
// read.
template <class Options, class Add>
void array_command(CommandLine& line, const char* name, const char* description, const char* examples, Printed printed,
                   Exit (*run)(Options&), const Add& add, const char* alias = "",
                   const char* formats = result_formats) {
  auto options = std::make_shared<Options>();
  const Subcommand app = line.add(
      name, description, [options, run] { return run(*options); }, alias);
  add_input_options(app, options->input);
  add(app, *options);
  add_common_options(app, options->common, formats);
  if (printed == Printed::numbers) add_digits_option(app, options->common);
  app.footer(examples);
}

// One number a line, in the shortest form that reads back; given piece by piece.
using Lines = std::function<void(std::string_view)>;
// Lines of several numbers each.
struct LineForm {
  std::uint64_t columns = 1;
  char delimiter = ',';
  std::uint64_t written = 0;  // numbers so far
};
void write_lines(const ArrayView& array, const Lines& to, LineForm* form = nullptr);
// Gives `to` what make(first, end, room) puts at the beginning of the room, for parts of `count` entries, in their
// order; it returns how many bytes these are. Threads make some texts while one writes those in front.
using MakeTexts = std::function<std::size_t(std::uint64_t first, std::uint64_t end, std::string& room)>;
void write_texts(std::uint64_t count, const MakeTexts& make, const Lines& to);

// How results are written. Of an array, `table` is one number a line.
enum class ResultForm { table, csv, tsv, json, npy, raw };
// What --format says, else the ending of -o; nothing where neither does.
std::optional<ResultForm> asked_form(const CommonOptions& common);
std::optional<ResultForm> form_of_path(const std::string& path);

// Several ranks write each its part of a file at its place, and the first one gives the file its name when all have.
// Output that is no named file, such as standard output, is written by the first rank. All of it is collective then
// (ranks.h).
class ArrayOutput {
 public:
  // In that form, else as the path says; "" and "-" are standard output. `from` is the input that it is made of.
  ArrayOutput(const std::string& path, const io::SourceInfo& from, std::optional<ResultForm> form = std::nullopt);
  // Where -o says, in the form that --format says.
  ArrayOutput(const CommonOptions& common, const io::SourceInfo& from)
      : ArrayOutput(common.output, from, common.format.empty() ? std::nullopt : asked_form(common)) {}
  // Before the first piece: what the elements stand for. Texts are written as text, or as JSON.
  void set_names(std::shared_ptr<const io::ValueNames> names);
  // Before the first piece. `fortran_order`: the pieces come in that order of an array of the shape.
  void begin(Dtype dtype, std::span<const std::uint64_t> shape, bool fortran_order = false);
  // With several ranks once: the elements of this rank, after those of the ranks before.
  void write(const ArrayView& piece);
  // Called before the first piece: text gets rows of so many numbers, with the input's delimiter.
  void set_columns(std::uint64_t columns, const io::TextReport& from);
  // For several outputs that appear together: each is finished before the first is committed.
  void finish() {
    if (file_) file_->finish();
  }
  void commit();

 private:
  void open_part();
  void each_bytes(const ArrayView& piece, const Lines& take);
  void write_part(const ArrayView& mine);
  void write_json(const ArrayView& piece);
  ResultForm form_;
  bool explicit_;  // the form was asked for, so its delimiter goes before the input's
  LineForm lines_;
  std::shared_ptr<const io::ValueNames> names_;
  std::vector<std::uint64_t> lists_;  // JSON: elements of each list in the outermost one
  std::uint64_t listed_ = 0;
  std::string head_;
  std::optional<io::OutputFile> file_;  // of the first rank
  std::optional<io::OutputPart> part_;  // of another
  bool in_place_ = false;               // no file to which the other ranks have a way
};

// Whether that path is standard output.
bool is_standard_output(const std::string& path);
// Whether they are one file.
bool is_same_output(const std::string& a, const std::string& b);

// A usage error where the path's ending means a format that is not among those that `option` writes (".npy .csv").
void check_ending(std::string_view option, const std::string& path, std::string_view written);
// As arrays are written.
void check_array_ending(std::string_view option, const std::string& path);
// The same of -o, unless --format says the form.
void check_array_format(const CommonOptions& common);

// What the commands share that turn one array into another: where it goes, and what is said of it.

// Wrong use: --json where standard output has the array, an ending that no array has.
void check_array_output(const CommonOptions& common);

// The shape of an array without one: the number of its elements, or rows of equal length. Reads streams through where a
// .npy file wants to know it first.
std::vector<std::uint64_t> flat_shape(ArrayStream& stream, const CommonOptions& common);

struct ArrayDone {
  std::uint64_t count = 0;
  Times times;
  double verifying = 0;   // does not count in the total
  std::string json_more;  // `"op":"sum",` and the like
};
// JSON, notes and times, after the output was committed.
void tell_array(const ArrayStream& stream, const CommonOptions& common, const ArrayDone& done);

// Elements of one dtype in memory.
struct Column {
  Dtype dtype = Dtype::f64;
  std::vector<std::byte> bytes;

  Column() = default;
  explicit Column(Dtype type) : dtype(type) {}
  explicit Column(const ArrayView& values) : dtype(values.dtype) { append(values); }
  void append(const ArrayView& values) {
    const auto* from = static_cast<const std::byte*>(values.data);
    bytes.insert(bytes.end(), from, from + values.count * size_of(values.dtype));
  }
  [[nodiscard]] ArrayView view() const { return {dtype, bytes.data(), bytes.size() / size_of(dtype)}; }
};

// A result of columns of equal length: a table for people, CSV, JSON, or one of the columns as .npy.

struct ColumnsResult {
  struct Head {
    std::string name;  // in tables and CSV
    std::string json;
    bool same = false;                             // the same for each row: JSON has it once
    const io::ValueNames* names = nullptr;         // what its values stand for; null: they are numbers
    std::vector<const io::ValueNames*> each = {};  // the same of each entry; empty: all have `names`
    [[nodiscard]] const io::ValueNames* names_at(std::uint64_t entry) const {
      return each.empty() ? names : each[entry];
    }
  };
  std::vector<Head> heads;
  // Gives equally long pieces of all columns, one after the other; is called several times.
  using Taker = std::function<void(std::span<const ArrayView>)>;
  std::function<void(const Taker&)> pieces;
  // Where the entries are those of several rows, how many each has: tables and CSV get a column for the row's number
  // (from 0), JSON a list for each row.
  std::vector<std::uint64_t> rows;
  // What the rows are called, instead of by a number; JSON has it in "groups".
  struct Label {
    std::string name;
    std::function<std::string(std::uint64_t row)> text;
  };
  std::vector<Label> labels;
  bool json_labels = true;
  bool flat = false;      // each row has one entry, so JSON has no list for it
  std::size_t array = 0;  // the column that .npy has
  bool one = false;       // there is one entry: JSON has no lists, and the table a line for each column
  bool bare = false;      // the table is one number a line, without names
  std::string json_rest;  // the other members of JSON
};

// The names of an entry that has no value: an empty text, null in JSON. Of floats, .npy and raw have NaN; of integers
// nothing.
const io::ValueNames* no_value();

// As --format, --json or the ending of -o says, else a table. Throws for .npy and raw where the result is not one
// array.
using ColumnsForm = ResultForm;
ColumnsForm columns_form(const CommonOptions& common, bool has_array);

// To -o, or standard output.
void write_columns(const ColumnsResult& result, ColumnsForm form, const CommonOptions& common);

// Values, each with a number: how often it occurs, or where it was.
using NumberedSink = std::function<void(const ArrayView& values, const std::uint64_t* numbers)>;

// give(sink) of every rank but the first gives blocks of them, which the first rank's `take` gets in the order of the
// ranks. Collective.
void send_to_first(std::string_view what, Dtype dtype, const std::function<void(const NumberedSink&)>& give,
                   const NumberedSink& take);

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
