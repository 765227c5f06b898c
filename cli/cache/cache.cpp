// SPDX-License-Identifier: Apache-2.0
// masu cache: kernels that are compiled before a program needs them: those of the functions of the Python package as it
// calls them, of the dtypes and shapes that they mostly have.
#include "cli/program.h"
#include "elements/dtypes.h"
#include "options.h"
#include "runtime/environment.h"
#include "runtime/packaged_kernels.h"
#include "scan/scan_device.h"
#include "sort/numpy_order.h"
#include "text.h"
#include "transpose/strided.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <masu/masu.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace masu::cli {
namespace {

using Memory = Buffer<std::byte>;

struct Shape {
  std::uint64_t rows;
  std::uint64_t length;
  bool columns;  // the rows lie as columns
};

struct Even {
  std::uint64_t bins;
  double low;
  double high;
};

// The calls of one dtype and shape. Contents do not matter, and every call waits.
class Calls {
 public:
  Calls(const Device& device, Dtype dtype, const Shape& shape)
      : device_(device), stream_(device, Timing::off), dtype_(dtype), shape_(shape) {}

  // Each row's.
  void along_rows() {
    const std::uint64_t rows = shape_.rows;
    const std::uint64_t length = shape_.length;
    const bool columns = shape_.columns;
    call::Lines lines;
    std::array extents{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(length)};
    if (columns) std::ranges::reverse(extents);
    lines.find(extents, columns ? 1 : 2);
    const std::uint64_t all = rows * length;
    const Memory array = memory(dtype_, all);
    const SumOptions options{
        .rows = rows, .columns = columns ? rows : 1, .result = rounded_, .zeros = &zeros_.emplace(zeros(rows))};
    masu::sum(stream_, array, dtype_, memory(total_, rows), options).get();
    masu::mean(stream_, array, dtype_, memory(rounded_, rows), options).get();
    masu::standard_deviation(stream_, array, dtype_, memory(rounded_, rows), options).get();

    std::optional<Memory> copy;
    const Memory& x = masu::as_rows(stream_, size_of(dtype_), array, lines, copy);
    Memory sums = memory(total_, all);
    if (!masu::running_sums(stream_, array, dtype_, sums, lines.outer, lines.length, lines.inner)) {
      masu::scan(stream_, x, dtype_, sums, {.rows = rows, .result = total_}).get();
    }
    Memory sorted = memory(dtype_, all);
    Memory order = memory(Dtype::u64, all);
    put(sorted, dtype_, lines, length,
        [&](Memory& to) { masu::sort_nans_last(stream_, x, dtype_, to, {.rows = rows}); });
    put(order, Dtype::u64, lines, length,
        [&](Memory& to) { masu::argsort_nans_last(stream_, x, dtype_, to, {.rows = rows}); });
    const Memory found = memory(dtype_, rows);
    const Memory more = memory(dtype_, rows);
    const Memory places = memory(Dtype::u64, rows);
    for (const ReduceTargets& to :
         {ReduceTargets{.min = &found}, ReduceTargets{.max = &found}, ReduceTargets{.min = &found, .max = &more},
          ReduceTargets{.max_indices = &places}, ReduceTargets{.nonzero = &places}}) {
      masu::reduce(stream_, x, dtype_, to, {.rows = rows}).get();
    }
    for (const std::uint64_t k : {1, 8, 50}) {
      if (k > length) continue;
      Memory first = memory(dtype_, rows * k);
      Memory first_places = memory(Dtype::u64, rows * k);
      put(first, dtype_, lines, k,
          [&](Memory& to) { masu::topk(stream_, x, dtype_, k, to, first_places, {.rows = rows}).get(); });
    }
    masu::median(stream_, x, dtype_, memory(rounded_, rows), {.rows = rows}).get();
    constexpr std::array q{0.05, 0.5, 0.95};
    for (const std::size_t points : {1, 3}) {
      masu::quantiles(stream_, x, dtype_,
                      masu::quantile_points(QuantileMethod::linear, length, std::span(q).first(points)),
                      memory(rounded_, rows * points), rounded_, {.rows = rows})
          .get();
    }
  }

  // All elements are one row.
  void of_all() {
    const std::uint64_t length = shape_.length;
    const Memory x = memory(dtype_, length);
    const Memory values = memory(dtype_, length);
    const Memory counts = memory(Dtype::u64, length);
    Memory places = memory(Dtype::u64, length);
    masu::dot(stream_, x, values, dtype_, memory(total_, 1), {.result = rounded_, .zeros = &zeros_.emplace(zeros(1))})
        .get();
    if (!is_float(dtype_) && total_ != dtype_) {
      Memory narrow = memory(dtype_, 1);
      masu::convert(stream_, memory(total_, 1), total_, narrow, dtype_, {.overflow = Overflow::wrap}).get();
    }
    const Memory two = memory(Dtype::u64, 2);
    masu::partition(stream_, x, dtype_, {values, two}, length / 2).get();
    masu::argpartition(stream_, x, dtype_, {places, two}, Dtype::u64, length / 2).get();
    const Memory number = memory(Dtype::u64, 1);
    masu::unique(stream_, x, dtype_, {values, number}).get();
    masu::unique(stream_, x, dtype_, {values, number, &counts}).get();
    masu::unique(stream_, x, dtype_, {.values = values, .number = number, .inverse = &counts}).get();
    masu::searchsorted(stream_, x, values, dtype_, places, Dtype::u64).get();
    // Which bin a value falls into is computed in a few ways, by the edges.
    for (const auto& [bins, low, high] : {Even{10, 0, 1}, {10, -0.5, 0.5}, {10, 0.1, 0.7}, {100, 0, 1}, {256, 0, 1}}) {
      count(x, Bins::even(bins, low, high), bins);
      count(x, Bins::even(bins, ValueRange{low, high, false}), bins);  // as found in the data
      if (!is_float(dtype_)) count(x, Bins::integers(bins), bins);
    }
    if (!is_float(dtype_)) count(x, Bins::integers(1000), 1000);
  }

 private:
  template <class Work>
  void put(Memory& to, Dtype dtype, const call::Lines& lines, std::uint64_t results, const Work& work) {
    masu::put_rows(stream_, size_of(dtype), to, lines, results, work);
    stream_.finish();
  }
  void count(const Memory& x, const Bins& bins, std::uint64_t number) {
    PreparedHistogram prepared(device_, dtype_, bins);
    Memory counts = memory(Dtype::u64, number + 3);
    const Memory edges = memory(Dtype::f64, number + 1);
    Memory given = memory(Dtype::f64, number + 1);
    masu::histogram(stream_, x, prepared, counts).get();
    masu::histogram(stream_, x, prepared, counts, edges, given).get();
  }
  [[nodiscard]] Memory memory(Dtype dtype, std::uint64_t count) const { return {device_, count * size_of(dtype)}; }
  // With them work-groups share a row.
  [[nodiscard]] Memory zeros(std::uint64_t rows) {
    Memory made = memory(Dtype::u32, rows);
    stream_.fill(made, std::byte{0});
    return made;
  }

  Device device_;
  Stream stream_;
  Dtype dtype_;
  Shape shape_;
  Dtype rounded_ = is_float(dtype_) ? dtype_ : Dtype::f64;
  Dtype total_ = is_float(dtype_) ? dtype_ : is_signed(dtype_) ? Dtype::i64 : Dtype::u64;
  std::optional<Memory> zeros_;
};

// Runs the calls on the device, in the order of how often programs make them; while `go_on`, asked after some of them,
// says so.
void run_common_calls(const Device& device, const std::function<bool()>& go_on) {
  const bool large = device.info().gpu && device.info().memory_bytes >= std::uint64_t{8} << 30;
  const unsigned most = large ? 25 : 20;  // log2 of the elements
  std::vector<Shape> shapes;
  for (const unsigned log2 : {20U, 10U, 11U, 12U, 13U, 14U, 16U, 18U, 22U, most}) {
    if (log2 <= most) shapes.push_back({1, std::uint64_t{1} << log2, false});
  }
  for (const unsigned all : {20U, most - 3}) {
    for (const unsigned length : {3, 6, 8, 10, 13, 16}) {
      for (const bool columns : {false, true}) {
        shapes.push_back({std::uint64_t{1} << (all - length), std::uint64_t{1} << length, columns});
      }
    }
  }
  std::vector<Dtype> dtypes{Dtype::f32, Dtype::i64, Dtype::f64, Dtype::i32};
  std::ranges::copy_if(all_dtypes, std::back_inserter(dtypes), is_stored_float);
  dtypes.push_back(Dtype::u8);
  for (const Dtype dtype : dtypes) {
    if (dtype == Dtype::f64 && !device.info().fp64) continue;
    for (const Shape& shape : shapes) {
      Calls calls(device, dtype, shape);
      calls.along_rows();
      if (!go_on()) return;
      if (shape.rows == 1) calls.of_all();
      if (!go_on()) return;
    }
  }
}

struct CacheOptions {
  std::string action;
  std::vector<std::string> architectures;
  std::vector<std::string> devices;
  std::string output;
  std::string size = "8Mi";
};

// Compiles what the calls launch for an architecture, the first calls first, until a file of at most `most_bytes` is
// full. Writes it and returns a line about it.
std::string build_package(const std::shared_ptr<runtime::Device>& compiler, const std::string& folder,
                          std::uint64_t most_bytes) {
  const std::string name = fmt::format("{}/{}.kernels", folder, compiler->info().architecture);
  io::OutputFile file(name);
  std::set<std::string> known;
  runtime::PackageMaker package(compiler->info().architecture, most_bytes);
  run_common_calls(Device(compiler), [&] {
    for (const auto& [key, program] : compiler->kept().programs) {
      if (!known.insert(key).second) continue;
      runtime::Module& module = *program.get();
      if (!package.add(key, runtime::pack(module.notes(), module.binary()))) break;
    }
    compiler->kept().programs.clear();  // it may drop some of too many before they are seen here
    return !package.full();
  });
  const std::string content = package.file();
  file.write(content);
  file.commit();
  return fmt::format("{}: {} kernels{}, {:.1f} MiB\n", name, package.count(), package.full() ? ", as many as fit" : "",
                     static_cast<double>(content.size()) / (1 << 20));
}

Exit build_packages(const CacheOptions& options) {
  if (!options.devices.empty()) usage_error("cache: --arch and --device exclude each other");
  setenv("MASU_PACKAGED_KERNELS", "off", 1);  // which an older compiler may have made
  setenv("MASU_CACHE", "off", 1);
  const std::string folder = options.output.empty() ? "." : options.output;
  std::error_code error;  // then a file cannot be written
  std::filesystem::create_directories(folder, error);
  std::vector<std::shared_ptr<runtime::Device>> compilers;
  for (const std::string& architecture : std::set(options.architectures.begin(), options.architectures.end())) {
    compilers.push_back(runtime::compile_only_device(architecture));
  }
  const std::uint64_t most_bytes = whole_number("--size", options.size, 4096, std::uint64_t{256} << 20);
  std::vector<std::future<std::string>> lines;
  for (auto& each : compilers) lines.push_back(std::async(std::launch::async, build_package, each, folder, most_bytes));
  for (auto& line : lines) print_text(line.get());
  return Exit::done;
}

Exit fill_cache(const CacheOptions& options) {
  if (options.size != "8Mi") usage_error("cache: --size needs --arch: it is a file's");
  if (!options.output.empty()) usage_error("cache: -o needs --arch: kernels of this machine go to the user's cache");
  if (runtime::environment().cache_directory.empty()) {
    usage_error("cache: MASU_CACHE must not be off, and HOME or XDG_CACHE_HOME must be set");
  }
  std::vector<std::string> devices = options.devices;
  for (const DeviceInfo& info : Device::list()) {
    if (options.devices.empty() && info.usable && info.kind != DeviceKind::cpu) devices.push_back(info.id);
  }
  if (devices.empty()) throw Error(ErrorCode::unsupported, "cache: no OpenCL or CUDA device is usable (masu devices)");
  for (const std::string& id : devices) {
    const Device device = Device::open(id);
    if (device.kind() != DeviceKind::cpu) run_common_calls(device, [] { return true; });
    print_text(device.id() + ": done\n");
  }
  return Exit::done;
}

}  // namespace

void add_cache(CommandLine& line) {
  auto options = std::make_shared<CacheOptions>();
  const Subcommand app =
      line.add("cache", "Compile the kernels of common calls before a program needs them", [options] {
        if (options->action != "build") usage_error("cache takes build, got '" + options->action + "'");
        return options->architectures.empty() ? fill_cache(*options) : build_packages(*options);
      });
  app.add_option("ACTION", options->action, "build", "build: compile them").required();
  app.add_option("--arch", options->architectures, "ARCH",
                 "Compile with NVRTC for GPUs that need not be here, to a file for each: sm_80, sm_90, sm_100, sm_120")
      .delimiter(',');
  app.add_option("-o,--output", options->output, "DIR", "With --arch: the folder of the files (.)");
  app.add_option("--size", options->size, "BYTES", "With --arch: the most that a file has (8Mi)");
  app.add_option("--device", options->devices, "ID",
                 "Without --arch: fill the user's cache for this device; repeatable (every OpenCL and CUDA device)")
      .delimiter(',');
  app.footer(
      "Examples:\n  masu cache build\n  masu cache build --device cuda:0\n"
      "  masu cache build --arch sm_80,sm_90 -o kernels");
}

}  // namespace masu::cli
