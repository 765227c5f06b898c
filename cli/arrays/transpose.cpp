// SPDX-License-Identifier: Apache-2.0
// masu transpose: rows become columns.
#include "cli/arrays/array_stream.h"
#include "cli/sort/sort_job.h"
#include "errors.h"

#include <fmt/format.h>
#include <masu/transpose.h>
#include <algorithm>
#include <memory>

namespace masu::cli {
namespace {

constexpr std::uint64_t least_piece = std::uint64_t{16} << 10;  // bytes

constexpr const char* transpose_examples = R"(Examples:
  masu transpose table.npy -o transposed.npy
  masu transpose photo.png -o transposed.npy
  masu transpose samples.raw --dtype f32 --shape 1000,250 -o channels.raw)";

struct TransposeCommandOptions {
  CommonOptions common;
  InputOptions input;
  std::string shape;
};

// A matrix of `rows` rows; an element of it has `depth` elements of the dtype.
struct Matrix {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 1;
  bool by_columns = false;  // columns come one behind the other
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
  if (extents.size() != 2) usage_error(fmt::format("--shape takes two whole numbers R,C, got '{}'", shape));
  Matrix matrix{extents[0], extents[1], 1, false};
  const bool fits = matrix.rows == 0 ? count == 0 : count % matrix.rows == 0 && count / matrix.rows == matrix.columns;
  if (!fits) usage_error(fmt::format("--shape {} is not that of the {} values of {}", shape, count, info.name));
  if (!info.fortran_order || info.shape.size() < 2) return matrix;
  if (info.shape != std::vector{matrix.rows, matrix.columns}) {
    throw Error(ErrorCode::io, fmt::format("{}: is in Fortran order, so --shape must be its own", info.name));
  }
  matrix.by_columns = true;
  return matrix;
}

Matrix own_matrix(const io::SourceInfo& info) {
  const std::vector<std::uint64_t>& shape = info.shape;
  const bool image = !info.channels.empty();
  if (shape.size() != (image ? 3 : 2)) {
    usage_error(fmt::format("--shape R,C is needed: {} has {} dimensions", info.name, shape.size()));
  }
  return {shape[0], shape[1], image ? shape[2] : 1, info.fortran_order};
}

class TransposeJob {
 public:
  TransposeJob(ArrayStream& stream, const Matrix& matrix, const CommonOptions& common)
      : stream_(stream),
        matrix_(matrix),
        output_(common.output, stream.info()),
        pixel_(matrix.depth * size_of(stream.info().dtype)) {
    if (!common.verify) return;
    reference_ = stream.whole();
  }

  // As many columns at a time as memory holds, each time reading all of the data.
  ArrayDone operator()(std::uint64_t memory) {
    output_.begin(stream_.info().dtype, matrix_.turned_shape());
    const bool copied = matrix_.by_columns || matrix_.rows <= 1 || matrix_.columns <= 1;
    if (copied) copy();
    const std::uint64_t column_bytes = std::max<std::uint64_t>(1, matrix_.rows * pixel_);
    const std::uint64_t width = std::max<std::uint64_t>(1, memory / 2 / column_bytes);
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
  // Columns that come one behind the other are the rows of the result.
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
      throw Differs(fmt::format("row {} of column {} differs from the reference's", row, column));
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
  ArrayStream stream(asked.input, common, Work::moving, "transpose");
  const Matrix matrix =
      asked.shape.empty() ? own_matrix(stream.info()) : asked_matrix(asked.shape, stream.info(), stream.count());
  ArrayDone done = TransposeJob(stream, matrix, common)(memory_budget(memory_limit(common)));
  done.json_more = fmt::format(R"("shape":[{}],)", fmt::join(matrix.turned_shape(), ","));
  tell_array(stream, common, done);
  return Exit::done;
}

}  // namespace

Command add_transpose(CommandLine& line) {
  return array_command<TransposeCommandOptions>(
      line, "transpose", "Transpose a matrix", transpose_examples, Printed::nothing, run_command,
      [](const Subcommand& app, TransposeCommandOptions& options) {
        app.add_option("--shape", options.shape, "The rows and columns of the input (those of a .npy file or image)")
            .type_name("R,C");
      });
}

}  // namespace masu::cli
