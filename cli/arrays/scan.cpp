// SPDX-License-Identifier: Apache-2.0
// masu scan: of each element what all up to it come to.
#include "cli/arrays/array_stream.h"
#include "cli/chunks.h"
#include "cli/selftest/references.h"
#include "cli/sort/sort_job.h"
#include "errors.h"
#include "json.h"

#include <fmt/format.h>
#include <masu/scan.h>

namespace masu::cli {
namespace {

constexpr const char* scan_examples = R"(Examples:
  masu scan lengths.npy --exclusive -o starts.npy
  masu scan balances.csv --header --column change -o balance.txt
  masu scan table.raw --dtype f32 --rows 1000 --op max -o peaks.npy)";

constexpr std::uint64_t scan_row_copies = 4;  // of a whole row and its result, that memory has to hold

struct ScanCommandOptions {
  CommonOptions common;
  InputOptions input;
  std::string op = "sum";
  std::string rows;
  bool exclusive = false;
};

class ScanJob {
 public:
  ScanJob(ArrayStream& stream, const ScanOptions& how, const CommonOptions& common)
      : stream_(stream), how_(how), verify_(common.verify), output_(common.output, stream.info()) {}

  // Rows of `row_length` elements, or all as one.
  ArrayDone operator()(std::uint64_t row_length, std::uint64_t memory, std::vector<std::uint64_t> shape) {
    output_.begin(stream_.info().dtype, shape);
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
      throw Differs(fmt::format("element {} differs from the reference's", done_.count + i));
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
  const std::uint64_t rows = row_count(asked.rows);
  ArrayStream stream(asked.input, common, Work::moving, "scan");
  const std::uint64_t row_length = asked.rows.empty() ? 0 : stream.row_length(rows);
  const std::vector<std::uint64_t> shape = flat_shape(stream, common, rows);
  ArrayDone done = ScanJob(stream, how, common)(row_length, memory_budget(memory_limit(common)), shape);
  done.json_more = fmt::format(R"("op":"{}","exclusive":{},"rows":{},)", asked.op, asked.exclusive, rows);
  tell_array(stream, common, done);
  return Exit::done;
}

}  // namespace

Command add_scan(CommandLine& line) {
  return array_command<ScanCommandOptions>(
      line, "scan", "Running sums, minima or maxima", scan_examples, Printed::nothing, run_command,
      [](const Subcommand& app, ScanCommandOptions& options) {
        app.add_option("--op", options.op, "The operation over all elements up to each one (sum)")
            .type_name("sum|min|max");
        app.add_flag("--exclusive", options.exclusive, "Leave out the element itself: the elements before it");
        app.add_option("--rows", options.rows, "Scan each of N equal blocks of the input by itself").type_name("N");
      });
}

}  // namespace masu::cli
