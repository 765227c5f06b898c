// SPDX-License-Identifier: Apache-2.0
// masu convert, scan and transpose: one array becomes another.
#include "cli/arrays/array_stream.h"
#include "cli/verify/references.h"

#include <fmt/format.h>
#include <masu/convert.h>
#include <masu/scan.h>
#include <masu/transpose.h>
#include <algorithm>

namespace masu::cli {
namespace {

// Numbers as another element type.

constexpr const char* convert_examples = R"(Examples:
  masu convert samples.npy --to f16 -o half.npy
  masu convert samples.npy --to f16 --rounding zero -o half.npy
  masu convert readings.txt --to u8 --saturate -o readings.raw
  masu convert big.raw --dtype u32 --endian big --to u32 -o little.raw)";

struct ConvertCommandOptions : ArrayOptions {
  std::string to;
  std::string rounding = std::string(to_string(Rounding::nearest_even));
  bool saturate = false;
  bool wrap = false;
};

ConvertOptions conversion(const ConvertCommandOptions& asked) {
  ConvertOptions how;
  if (asked.saturate && asked.wrap) usage_error("--saturate and --wrap exclude each other");
  how.overflow = asked.saturate ? Overflow::saturate : asked.wrap ? Overflow::wrap : Overflow::error;
  how.rounding = named("--rounding", words_of("ROUNDING"), asked.rounding, rounding_from_name);
  return how;
}

void compare(const ArrayView& piece, const ArrayView& result, const ConvertOptions& how) {
  for (std::uint64_t i = 0; i < piece.count; ++i) {
    std::uint64_t expected = 0;
    const bool fits = reference_convert(piece, i, result.dtype, how.overflow, how.rounding, expected);
    if (fits && bits_of(result, i) == expected) continue;
    differs("element {} differs from the reference's", how.first_position + i);
  }
}

// An array keeps its shape, and its order.
std::vector<std::uint64_t> shape_of(ArrayStream& stream, const CommonOptions& common) {
  return stream.info().shape.empty() ? flat_shape(stream, common) : stream.info().shape;
}

Exit run_command(ConvertCommandOptions& asked) {
  const CommonOptions& common = apply(asked.common);
  check_array_output(common);
  const Dtype to = named("--to", words_of("DTYPE"), asked.to, dtype_from_name);
  if (asked.to == "bool") usage_error("--to takes " + words_of("DTYPE") + ", got 'bool'");
  ConvertOptions how = conversion(asked);
  ArrayStream stream(asked, Work::moving, "convert");
  ArrayOutput output(common, stream.info());
  output.begin(to, shape_of(stream, common), stream.info().fortran_order);
  ArrayDone done;
  std::vector<std::byte> result;
  stream.each([&](const ArrayView& piece) {
    Times times;
    how.times = &times;
    how.first_position = done.count;
    result.resize(piece.count * size_of(to));
    const MutableArrayView target(to, result.data(), piece.count);
    with_data(stream.info().name, [&] { convert(stream.device(), piece, target, how); });
    done.times += times;
    const auto began = Clock::now();
    if (common.verify) compare(piece, target, how);
    done.verifying += since(began);
    output.write(target);
    done.count += piece.count;
  });
  output.commit();
  done.json_more = fmt::format(R"("to":"{}",)", to_string(to));
  tell_array(stream, common, done);
  return Exit::done;
}

// Running sums, minima and maxima.

constexpr const char* scan_examples = R"(Examples:
  masu scan lengths.npy --exclusive -o starts.npy
  masu scan balances.csv --header --column change -o balance.txt
  masu scan table.raw --dtype f32 --rows 1000 --op max -o peaks.npy)";

constexpr std::uint64_t scan_row_copies = 4;  // of a whole row and its result, that memory has to hold

struct ScanCommandOptions : ArrayOptions {
  std::string op = "sum";
  bool exclusive = false;
};

class ScanJob {
 public:
  ScanJob(ArrayStream& stream, const ScanOptions& how, const CommonOptions& common)
      : stream_(stream), how_(how), verify_(common.verify), output_(common, stream.info()) {}

  // Rows of `row_length` elements, or all as one.
  ArrayDone operator()(std::uint64_t row_length, const std::vector<std::uint64_t>& shape) {
    output_.begin(stream_.info().dtype, shape);
    const std::uint64_t memory = stream_.memory();
    const std::uint64_t row_bytes = row_length * size_of(stream_.info().dtype);
    const bool whole = row_bytes <= memory / scan_row_copies;
    if (row_length > 0 && whole) stream_.limit_pieces(memory / scan_row_copies);
    Rows rows(
        row_length, whole, [&](const ArrayView& some, std::uint64_t count) { scan_rows(some, count, row_length); },
        [&](const ArrayView& part, bool ends) {
          add(part);
          if (ends) end_row();
        });
    stream_.each([&](const ArrayView& piece) { rows.add(piece); });
    end_row();
    output_.commit();
    return done_;
  }

 private:
  void scan_rows(const ArrayView& rows, std::uint64_t count, std::uint64_t row_length) {
    Times times;
    ScanOptions how = how_;
    how.rows = count;
    how.times = &times;
    const MutableArrayView result = room_for(rows);
    scan(stream_.device(), rows, result, how);
    done_.times += times;
    finish(rows, result, row_length);
  }

  MutableArrayView room_for(const ArrayView& piece) {
    result_.resize(piece.count * size_of(piece.dtype));
    return {piece.dtype, result_.data(), piece.count};
  }
  void add(const ArrayView& piece) {
    if (!accumulator_) accumulator_.emplace(stream_.device(), piece.dtype, how_);
    const MutableArrayView result = room_for(piece);
    accumulator_->scan(piece, result);
    finish(piece, result, 0);
  }
  void end_row() {
    if (accumulator_) done_.times += accumulator_->times();
    accumulator_.reset();
    reference_.reset();
  }
  // Compares where that is asked, with a new reference for each whole row, and writes.
  void finish(const ArrayView& piece, const ArrayView& result, std::uint64_t row_length) {
    const auto began = Clock::now();
    for (std::uint64_t i = 0; verify_ && i < piece.count; ++i) {
      if (!reference_ || (row_length > 0 && i % row_length == 0)) {
        reference_.emplace(piece.dtype, how_.op, how_.exclusive);
      }
      if (reference_->next(piece, i) == bits_of(result, i)) continue;
      differs("element {} differs from the reference's", done_.count + i);
    }
    done_.verifying += since(began);
    done_.count += piece.count;
    output_.write(result);
  }

  ArrayStream& stream_;
  ScanOptions how_;
  bool verify_;
  ArrayOutput output_;
  std::optional<ScanAccumulator> accumulator_;  // of the row that is read
  std::optional<ReferenceScan> reference_;
  std::vector<std::byte> result_;
  ArrayDone done_;
};

Exit run_command(ScanCommandOptions& asked) {
  const CommonOptions& common = apply(asked.common);
  check_array_output(common);
  ScanOptions how;
  how.op = named("--op", "sum, min or max", asked.op, scan_op_from_name);
  how.exclusive = asked.exclusive;
  ArrayStream stream(asked, Work::moving, "scan");
  const std::uint64_t row_length = stream.row_length().value_or(0);
  ArrayDone done = ScanJob(stream, how, common)(row_length, flat_shape(stream, common));
  done.json_more = fmt::format(R"("op":"{}","exclusive":{},"rows":{},)", asked.op, asked.exclusive, stream.rows());
  tell_array(stream, common, done);
  return Exit::done;
}

// Rows become columns.

constexpr std::uint64_t least_piece = std::uint64_t{16} << 10;  // bytes

constexpr const char* transpose_examples = R"(Examples:
  masu transpose table.npy -o transposed.npy
  masu transpose photo.png -o transposed.npy
  masu transpose table.csv -o transposed.csv
  masu transpose samples.raw --dtype f32 --shape 1000,250 -o channels.raw)";

struct TransposeCommandOptions : ArrayOptions {
  std::string shape;
};

// A matrix of `rows` rows; an element of it has `depth` elements of the dtype.
struct Matrix {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 1;
  bool by_columns = false;  // columns come one after the other
  [[nodiscard]] std::vector<std::uint64_t> turned_shape() const {
    return depth == 1 ? std::vector{columns, rows} : std::vector{columns, rows, depth};
  }
};

Matrix asked_matrix(const std::string& shape, const io::SourceInfo& info, std::uint64_t count) {
  std::vector<std::uint64_t> extents;
  try {
    for (const std::string& part : split(shape)) extents.push_back(io::parse_size(part));
  } catch (const Error&) {
    extents.clear();
  }
  if (extents.size() != 2) usage_error("--shape takes two whole numbers R,C, got '{}'", shape);
  Matrix matrix{extents[0], extents[1], 1, false};
  const bool fits = matrix.rows == 0 ? count == 0 : count % matrix.rows == 0 && count / matrix.rows == matrix.columns;
  if (!fits) usage_error("--shape {} is not that of the {} values of {}", shape, count, info.name);
  if (!info.fortran_order || info.shape.size() < 2) return matrix;
  if (info.shape != std::vector{matrix.rows, matrix.columns}) {
    data_error("{}: is in Fortran order, so --shape must be its own", info.name);
  }
  matrix.by_columns = true;
  return matrix;
}

// The matrix of a text whose lines have equally many fields.
Matrix text_matrix(ArrayStream& stream) {
  const std::uint64_t count = stream.count();
  const io::TextReport report = stream.report();
  if (report.columns == 0) {
    data_error("{}: transpose needs as many fields in each line, but line {} has more or fewer than the first; {}",
               stream.info().name, report.ragged_line, report.how_cut);
  }
  return {count / report.columns, report.columns, 1, false};
}

Matrix own_matrix(const io::SourceInfo& info) {
  const std::vector<std::uint64_t>& shape = info.shape;
  const bool image = !info.channels.empty();
  if (shape.size() != (image ? 3 : 2)) {
    usage_error("--shape R,C is needed: {} has {} dimensions", info.name, shape.size());
  }
  return {shape[0], shape[1], image ? shape[2] : 1, info.fortran_order};
}

class TransposeJob {
 public:
  TransposeJob(ArrayStream& stream, const Matrix& matrix, const CommonOptions& common)
      : stream_(stream),
        matrix_(matrix),
        output_(common, stream.info()),
        pixel_(matrix.depth * size_of(stream.info().dtype)),
        reference_(stream.whole()) {}

  // As many columns at a time as memory holds, each time reading all of the data.
  ArrayDone operator()() {
    output_.begin(stream_.info().dtype, matrix_.turned_shape());
    output_.set_columns(matrix_.rows * matrix_.depth, stream_.report());
    const bool copied = matrix_.by_columns || matrix_.rows <= 1 || matrix_.columns <= 1;
    if (copied) copy();
    const std::uint64_t column_bytes = std::max<std::uint64_t>(1, matrix_.rows * pixel_);
    const std::uint64_t width = std::max<std::uint64_t>(1, stream_.memory() / 2 / column_bytes);
    if (!copied && width < matrix_.columns) {
      stream_.keep();
      stream_.least_pieces(least_piece);  // by single elements so many passes would take hours
    }
    for (std::uint64_t first = 0; !copied && first < matrix_.columns; first += width) {
      turn(first, std::min(width, matrix_.columns - first));
    }
    output_.commit();
    done_.count = matrix_.rows * matrix_.columns * matrix_.depth;
    return done_;
  }

 private:
  // Columns that come one after the other are the rows of the result.
  void copy() {
    stream_.each([&](const ArrayView& piece) { write(piece); });
  }

  void turn(std::uint64_t first, std::uint64_t width) {
    const std::uint64_t values = matrix_.rows * width * matrix_.depth;
    const Dtype dtype = stream_.info().dtype;
    band_.clear();
    band_.reserve(values * size_of(dtype));
    gather(first * pixel_, width * pixel_);
    if (band_.size() != values * size_of(dtype))
      throw Error(ErrorCode::io, "transpose: the input changed while it was read");
    turned_.resize(band_.size());
    Times times;
    const std::uint64_t pixels = matrix_.rows * width;
    transpose(stream_.device(), ConstRecordsView(band_.data(), pixel_, pixels), matrix_.rows, width,
              RecordsView(turned_.data(), pixel_, pixels), {&times});
    done_.times += times;
    write({dtype, turned_.data(), values});
  }

  // Reads the data, and keeps of each row `bytes` from byte `first` on.
  void gather(std::uint64_t first, std::uint64_t bytes) {
    const std::uint64_t row_bytes = matrix_.columns * pixel_;
    std::uint64_t at = 0;
    stream_.each([&](const ArrayView& piece) {
      const auto* from = static_cast<const std::byte*>(piece.data);
      const std::uint64_t end = at + piece.count * size_of(piece.dtype);
      for (std::uint64_t row = at / row_bytes; row * row_bytes < end; ++row) {
        const std::uint64_t kept = row * row_bytes + first;
        const std::uint64_t begin = std::max(at, kept);
        const std::uint64_t stop = std::min(end, kept + bytes);
        if (begin < stop) band_.insert(band_.end(), from + (begin - at), from + (stop - at));
      }
      at = end;
    });
  }

  void write(const ArrayView& piece) {
    const auto began = Clock::now();
    if (!reference_.empty()) compare(piece);
    done_.verifying += since(began);
    written_ += piece.count * size_of(piece.dtype);
    output_.write(piece);
  }

  void compare(const ArrayView& piece) const {
    const auto* got = static_cast<const std::byte*>(piece.data);
    const std::uint64_t bytes = piece.count * size_of(piece.dtype);
    for (std::uint64_t i = 0; i < bytes; ++i) {
      const std::uint64_t place = (written_ + i) / pixel_;
      const std::uint64_t within = (written_ + i) % pixel_;
      const std::uint64_t row = place % matrix_.rows;
      const std::uint64_t column = place / matrix_.rows;
      const std::uint64_t source = matrix_.by_columns ? place : row * matrix_.columns + column;
      if (got[i] == reference_[source * pixel_ + within]) continue;
      differs("row {} of column {} differs from the reference's", row, column);
    }
  }

  ArrayStream& stream_;
  Matrix matrix_;
  ArrayOutput output_;
  std::uint64_t pixel_;  // bytes of an element of the matrix
  std::vector<std::byte> reference_;
  std::vector<std::byte> band_;
  std::vector<std::byte> turned_;
  std::uint64_t written_ = 0;
  ArrayDone done_;
};

Exit run_command(TransposeCommandOptions& asked) {
  const CommonOptions& common = apply(asked.common);
  check_array_output(common);
  if (asked.input.inputs.size() > 1) usage_error("takes one INPUT, got {}", asked.input.inputs.size());
  asked.input.needed_by = "transpose";
  ArrayStream stream(asked, Work::moving, "transpose");
  const bool text = stream.info().format == "text";
  const Matrix matrix = !asked.shape.empty() ? asked_matrix(asked.shape, stream.info(), stream.count())
                        : text               ? text_matrix(stream)
                                             : own_matrix(stream.info());
  ArrayDone done = TransposeJob(stream, matrix, common)();
  done.json_more = fmt::format(R"("shape":[{}],)", fmt::join(matrix.turned_shape(), ","));
  tell_array(stream, common, done);
  return Exit::done;
}

}  // namespace

void add_convert(CommandLine& line) {
  array_command<ConvertCommandOptions>(
      line, "convert", "Convert numbers to another element type", convert_examples, Printed::nothing, run_command,
      [](const Subcommand& app, ConvertCommandOptions& options) {
        options.input.every_column = true;
        app.add_option("--to", options.to, "DTYPE", "The element type of the result").required();
        app.add_flag("--saturate", options.saturate, "A value that does not fit becomes the nearest that does");
        app.add_flag("--wrap", options.wrap,
                     "A value that does not fit is taken modulo 2^bits; floats become infinite");
        app.more().add_option("--rounding", options.rounding, "ROUNDING",
                              "Where a value between two floats goes (nearest-even): " + words_of("ROUNDING"));
      });
}

void add_scan(CommandLine& line) {
  array_command<ScanCommandOptions>(
      line, "scan", "Running sums, minima or maxima", scan_examples, Printed::nothing, run_command,
      [](const Subcommand& app, ScanCommandOptions& options) {
        app.add_option("--op", options.op, "sum|min|max", "The operation over all elements up to each one (sum)");
        app.add_flag("--exclusive", options.exclusive, "Leave out the element itself: the elements before it");
        app.more().add_option("--rows", options.rows, "N", "Scan each of N equal blocks of the input by itself");
        add_alpha_option(app, options.input);
      });
}

void add_transpose(CommandLine& line) {
  array_command<TransposeCommandOptions>(
      line, "transpose", "Transpose a matrix", transpose_examples, Printed::nothing, run_command,
      [](const Subcommand& app, TransposeCommandOptions& options) {
        options.input.every_column = true;
        app.add_option(
            "--shape", options.shape, "R,C",
            "The rows and columns of the input (those of a .npy file or image, the lines and fields of a text)");
      });
}

}  // namespace masu::cli
