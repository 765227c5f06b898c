// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reading numbers from files, images, text and generators in pieces, and writing results whole or not at all.
/// Target `masu::io`.
#pragma once

#include <masu/dtype.h>
#include <masu/float8.h>
#include <masu/version.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace masu::io {

/// How an input is read. `automatic` detects it by content.
enum class InputFormat { automatic, raw, text, npy, image, json };
/// "auto", "raw", "text", "npy", "image", "json". Throws invalid_argument, listing the names.
MASU_EXPORT InputFormat input_format_from_name(std::string_view name);

enum class Endian { little, big };

/// What the entries of a text are read as. `numbers`: only numbers are, all else is left out. `instants`: the same, but
/// if no entry is a number and one is a date or a time of ISO 8601, instants are read. `any`: the same, but texts if
/// none is. `texts`: as they stand there, numbers too.
enum class Entries { numbers, instants, any, texts };

struct SourceOptions {
  InputFormat format = InputFormat::automatic;
  std::optional<Dtype> dtype;          ///< raw: needed; text: the type of its numbers, else they decide it:
                                       ///< whole ones i64 (u64 beyond), with decimals f64; elsewhere it must agree
  std::optional<Float8> float8{};      ///< raw, .npy of V1: bytes are codes of that format; they are read as f32
  std::uint64_t offset = 0;            ///< raw: bytes to skip
  std::optional<std::uint64_t> count;  ///< raw: elements to read at most
  Endian endian = Endian::little;      ///< raw
  bool boolean = false;                ///< raw of u8: bytes other than 0 are read as 1
  bool alpha = true;                   ///< images: false leaves the alpha channel out
  std::string column;                  ///< text: a name of the header, or a number from 1 (name:X, number:N where it
                                       ///< could be both); empty: every field. JSON: the key, a.b for b of the
                                       ///< object a; empty: the only one
  bool one_column = false;             ///< text without `column`: several columns are an error, those of a header, or
                                       ///< between other delimiters than white space. One line is a list. Lines of
                                       ///< numbers are a matrix where a delimiter is given; whole lines may be texts
  std::string delimiter;               ///< text: one character, or tab, comma, semicolon, pipe, space, or blanks (runs
                                       ///< of white space); empty: the first line decides
  bool header = false;                 ///< text: the first line names the columns
  std::optional<std::string> comment;  ///< text: starts a comment where a line or a field begins; "": nothing does.
                                       ///< Not given: # at the beginning of a line does, in texts without a header
  std::string decimal;                 ///< text: "." or ",", the mark in decimals; empty: "."
  Entries entries = Entries::numbers;  ///< text without a dtype: what is read. Of texts, an entry of `column`, or a
                                       ///< whole line, is one
  bool ignore_case = false;            ///< texts: those that differ only in the case of A to Z are one, spelt as the
                                       ///< first of them is
  bool any_order = false;              ///< texts: the values may come in another order, which takes less memory
  bool strict = false;                 ///< text: an entry or a line that cannot be read is an error
  std::string needed_by;               ///< text: what needs every entry ("--rows"): errors name it, as with `strict`;
                                       ///< with `places` empty entries are left out all the same
  bool places = false;                 ///< text: keeps where they were, for Source::to_places
  bool map = false;                    ///< files: Source::view gives their bytes in place; installs a SIGBUS handler
  std::string tmpdir;                  ///< where a stream that must be read twice is spooled; empty: $TMPDIR or /tmp
  std::uint64_t memory = 0;            ///< text without a dtype: bytes of its numbers kept in memory; 0: 1 GiB
  /// Text without a dtype: called now and then by the thread that opens it. It gets the bytes read so far and those
  /// there are, 0 if that is not known. What it throws ends the opening.
  std::function<void(std::uint64_t read, std::uint64_t all)> reading;
  std::uint64_t part = 0;   ///< text in a file: of `parts` parts of its lines, of about as many bytes each,
  std::uint64_t parts = 1;  ///< reads this one, which may have no number; none from `parts` on. The dtype is
                            ///< that of the part. Of a stream: an error
};

/// What values of a source stand for that are no numbers. Instants are i64, microseconds since 1970-01-01T00:00Z. Texts
/// are u32: their places in the order of all different ones by bytes, from 0.
class MASU_EXPORT ValueNames {
 public:
  enum class Kind { texts, instants };
  ValueNames(const ValueNames&) = delete;
  ValueNames& operator=(const ValueNames&) = delete;
  virtual ~ValueNames();
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  /// The text, any bytes; an instant as 2026-01-31, 2026-01-31T12:30:45Z or 2026-01-31T12:30:45.123456Z: as fine as the
  /// finest entry, or as it is itself.
  [[nodiscard]] virtual std::string operator()(std::int64_t value) const = 0;
  /// Texts: how often each occurs, in their order. Empty for instants.
  [[nodiscard]] virtual std::span<const std::uint64_t> counts() const noexcept { return {}; }

 protected:
  explicit ValueNames(Kind kind) noexcept : kind_(kind) {}

 private:
  Kind kind_;
};

struct SourceInfo {
  std::string name;    ///< as the caller gave it, for messages ("-" is "standard input")
  std::string format;  ///< "hdf5", "fits", "bmp", "jpeg", "png", "pnm", "pfm", "tiff", "webp", "npy", "raw", "text",
                       ///< "random", "iota", "zeros"
  Dtype dtype = Dtype::u8;
  std::optional<std::uint64_t> count;  ///< elements, where known before reading
  std::vector<std::uint64_t> shape;    ///< .npy, HDF5, FITS: its shape; images: height, width, channels
  bool fortran_order = false;          ///< .npy; the elements come in the file's order
  bool boolean = false;                ///< .npy, raw: the elements, u8, are 0 and 1 and stand for truth values
  std::vector<std::string> channels;   ///< images: gray, red, green, blue, alpha; cyan, magenta, yellow, black; or
                                       ///< numbers from 0 for what has no name; elsewhere empty
  std::uint64_t largest = 0;           ///< images: the greatest possible sample, where the dtype holds more; else 0
  std::vector<std::string> notes;  ///< facts that the values do not show, a sentence each: "read image 1 of 3". More
                                   ///< may follow while the source is read
  std::shared_ptr<const ValueNames> names;  ///< what the values stand for; null: they are numbers
};

/// Why an entry of a text, or a line, was not read.
enum class LeftOut { empty, not_a_number, wrong_fields, no_column, too_long };

/// Facts about the part of a text that was read so far.
struct TextReport {
  struct Kind {
    std::uint64_t count = 0;
    std::uint64_t line = 0;  ///< of the first of them
    std::string first;       ///< what it has: "'1.#QNAN'"
  };
  std::array<Kind, 5> left_out;     ///< by LeftOut
  std::uint64_t places = 0;         ///< rows of one column, else entries: those read and those left out
  bool rows = true;                 ///< whether places are rows
  std::uint64_t lines = 0;          ///< with data
  std::uint64_t columns = 0;        ///< fields of each line (of a part's first one), or columns read; 0: they differ
  std::uint64_t begin_line = 1;     ///< where the data begin
  std::uint64_t end_line = 1;       ///< and where they end
  bool lines_known = true;          ///< else they count from the beginning of a part
  std::uint64_t ragged_line = 0;    ///< the first line that has another number of fields than the first one; 0: none
  std::uint64_t comment_lines = 0;  ///< that begin with #, where no comment mark was given
  bool row_names = false;           ///< the header is one name short: the first column has names of rows
  bool instants = false;            ///< what is not_a_number is no date and no time
  bool texts = false;               ///< SourceOptions::entries selects what the entries are
  char delimiter = '\0';            ///< '\0': runs of white space
  std::string how_cut;              ///< "the delimiter is comma, the first line has 'place', 'price'"
  [[nodiscard]] const Kind& operator[](LeftOut kind) const { return left_out[static_cast<std::size_t>(kind)]; }
};

/// Numbers that are read in pieces, in native byte order. One thread at a time.
class MASU_EXPORT Source {
 public:
  virtual ~Source();
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] virtual const SourceInfo& info() const noexcept = 0;
  /// Reads up to `count` elements of info().dtype into `target`; fewer only at the end, 0 when nothing is left.
  /// Throws io, naming the file and the reason.
  virtual std::uint64_t read(void* target, std::uint64_t count) = 0;
  /// The next elements in place, without a copy: up to `count`, fewer only at the end, none when nothing is left.
  /// Nothing where they cannot be had so: read() gives them. Raw and .npy files of this machine's byte order can, with
  /// SourceOptions::map. The memory is valid as long as the source, and must not be written. A file that shrinks
  /// meanwhile, or whose disk fails, reads as zeros there, and the next call of a member throws io. So what was made of
  /// a view counts once view() has been called again.
  virtual std::optional<ArrayView> view(std::uint64_t /*count*/) { return std::nullopt; }
  /// Goes back to the first element. A stream that cannot is spooled to a temporary file from its first read on when
  /// `keep_for_rewind` was called before.
  virtual void rewind() = 0;
  /// Says before the first read that rewind() will be called.
  virtual void keep_for_rewind() {}
  /// Text without a dtype, before the first read: gives its numbers as i64, u64 or f64 instead of the dtype that they
  /// decided. False, and no change, where the dtype is fixed. Throws io where a number does not fit exactly.
  virtual bool retype(Dtype /*dtype*/) { return false; }
  /// Before the first read: `count` elements from `first` on become all that there is, and info().count says so. False,
  /// and no change, where a part cannot be taken: files of raw and .npy, arrays of .npz and generators can. What is
  /// compressed is decompressed up to the part. Throws invalid_argument for a part beyond the elements.
  virtual bool take_part(std::uint64_t /*first*/, std::uint64_t /*count*/) { return false; }
  /// Text: entries and lines so far that were left out, as TextReport::left_out counts them.
  [[nodiscard]] virtual std::uint64_t bad_lines() const noexcept { return 0; }
  [[nodiscard]] virtual TextReport report() const { return {}; }
  /// Text with SourceOptions::places: turns indices of numbers that were read, from 0, into their places in the text.
  /// These are data rows of one column from 0, else fields line by line. What was left out has places, empty lines have
  /// none.
  virtual void to_places(std::span<std::uint64_t> /*indices*/) {}
  /// From number `number` on, the place of a number is its index + `missing`.
  struct Gap {
    std::uint64_t number = 0;
    std::uint64_t missing = 0;
  };
  /// The gaps that to_places() looks up, by number, from gap `first` on: as many as `target` has room for, fewer only
  /// at the end.
  virtual std::uint64_t gaps(std::uint64_t /*first*/, std::span<Gap> /*target*/) { return 0; }
};

/// Opens a file, "-" (standard input) or a generator (`random:DTYPE:N[:…]`, `iota:DTYPE:N`, `zeros:DTYPE:N`). Files
/// compressed by gzip, zstd, xz or bzip2 are decompressed as they are read. `FILE.npz:NAME` is an array of a .npz,
/// `FILE.h5:/path` a dataset, `FILE.fits:N` an image of HDU N, the primary one being 0. Without it, the only one.
/// Only headers are read, but of text. Throws io for what cannot be opened or is malformed, invalid_argument for
/// options or generator texts that are wrong. Text without a dtype is parsed to its end, on cpu_threads() threads: a
/// stream, once. Text without a number, or else what SourceOptions::entries allows, is an error.
MASU_EXPORT std::unique_ptr<Source> open(const std::string& input, const SourceOptions& options = {});

/// A column of several.
struct ColumnChoice {
  std::string column;                  ///< as SourceOptions::column
  Entries entries = Entries::numbers;  ///< as SourceOptions::entries
};
/// Opens several columns of a table, a source for each, as open() would with each column alone. The text is read once
/// for all of them, and their entries are kept in memory. Columns are read alone where lines lack some of them, with a
/// dtype and with parts. So they are where the file is larger than `memory`, half of the free memory where that is 0.
/// For a stream that is an error.
MASU_EXPORT std::vector<std::unique_ptr<Source>> open_columns(const std::string& input, const SourceOptions& options,
                                                              std::span<const ColumnChoice> columns);

/// The names of a table's columns. Those of a text are the fields of its first line. Those of JSON are the keys of
/// the first object that have values, with a.b for b of the object a. Throws as open() does, and io for what is no
/// text.
MASU_EXPORT std::vector<std::string> columns(const std::string& input, const SourceOptions& options = {});

/// A format, or a family of them, and whether this machine can read it.
struct FormatSupport {
  std::string name;     ///< "PNG"
  std::string endings;  ///< of files, without the dot: "jpg jpeg"
  std::string missing;  ///< why not: the library, and Debian's package of it; empty where it can
};
/// Opens the libraries to know.
MASU_EXPORT std::vector<FormatSupport> formats();

/// Gives texts without a dtype one that all of the sources have, before the first read. It is that of the others where
/// there are any. Else it is f64, u64 or i64, the first of them that one of the texts needs. Throws io where a number
/// does not fit. Sources whose dtype is fixed stay as they are.
MASU_EXPORT void unify_dtypes(std::span<const std::unique_ptr<Source>> sources);

/// Reads what a source has left, whole. `limit_bytes` bounds the memory (0: none); a source of unknown length grows it.
MASU_EXPORT std::vector<std::byte> read_all(Source& source, std::uint64_t limit_bytes = 0);

/// "64Ki", "100M", "1GiB", "1e6", "42" as a number: Ki Mi Gi Ti are powers of 1024, k M G T of 1000, B may follow.
/// Throws invalid_argument.
MASU_EXPORT std::uint64_t parse_size(std::string_view text);

/// A number in the shortest form that reads back to the same value of its dtype; nan, inf, -inf for what is not finite.
MASU_EXPORT std::string format_number(double value, Dtype dtype = Dtype::f64);

/// A file that appears whole or not at all. It is written without a name in its target's folder, where the file
/// system can (Linux's O_TMPFILE), else under another name beside the target. `commit` gives it its name. Destroyed
/// without it, nothing remains. "-" is standard output. Files with another name are also removed when a signal ends the
/// process through `remove_unfinished`. Those without a name end with the process, however it ends.
class MASU_EXPORT OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();
  void write(const void* data, std::uint64_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// For processes that write one file together. This one makes it, commits it and writes what comes first. The others
  /// write their parts of it as an OutputPart(place()), before commit(). Processes of other machines, or of other
  /// namespaces, need `named`: the file has a (temporary) name from then on. Empty for what is written in place:
  /// standard output, devices, pipes.
  [[nodiscard]] std::string place(bool named);
  /// Writes at a position of a file with a place(). Do not call write() after it.
  void write_at(std::uint64_t position, const void* data, std::uint64_t bytes);
  /// Writes to the disk what has been written, so that commit() only gives the file its name. Several files appear
  /// together, if it is called for each before the first commit(). Throws io (a full disk too); the target is untouched
  /// then.
  void finish();
  /// The same, closes the file and gives it its name.
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A file that another process makes as an OutputFile. A temporary name of it is also removed when a signal ends this
/// process through `remove_unfinished`.
class MASU_EXPORT OutputPart {
 public:
  /// Throws io where the file cannot be opened from here, or is another one.
  explicit OutputPart(const std::string& place);
  OutputPart(OutputPart&&) noexcept;
  OutputPart& operator=(OutputPart&&) = delete;
  ~OutputPart();
  void write_at(std::uint64_t position, const void* data, std::uint64_t bytes);
  /// Writes to the disk what has been written. Throws io.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Removes the temporary files of every OutputFile and spool of this process. Async-signal-safe.
MASU_EXPORT void remove_unfinished() noexcept;

/// The header of a version 1.0 .npy file, ready to be followed by the elements in C order, or in Fortran order.
MASU_EXPORT std::string npy_header(Dtype dtype, std::span<const std::uint64_t> shape, bool fortran_order = false);

/// Writes an array by the ending of `path`: .npy, .txt or .csv (one number a line), else raw.
/// "-" is standard output: raw, or text when that is a terminal.
MASU_EXPORT void write_array(const std::string& path, const ArrayView& array,
                             std::span<const std::uint64_t> shape = {});

}  // namespace masu::io
