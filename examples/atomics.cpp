// SPDX-License-Identifier: Apache-2.0
// Atomic functions on int, uint, long, ulong and float, in local and global memory, compared with plain C++. Where the
// result does not depend on the order it is compared as a number; for exchanges, what every order must leave.
//
//   atomics [--device ID] [--n N] [--items N]      N work-items, in groups of `items`
#include "options.h"

#include <atomics_cl.h>
#include <atomics_cu.h>

#include <array>
#include <limits>
#include <span>
#include <type_traits>

namespace {

struct Settings {
  std::string device = "opencl";
  std::uint64_t n = 10000;
  std::uint64_t items = 64;
};

// The cells of a set, in the order of the kernels.
constexpr std::array names = {"add", "sub", "inc", "dec", "min", "max", "and", "or", "xor", "xchg", "cmpxchg"};
constexpr std::size_t in_any_order = 9;  // so many of them end the same whatever the order is
constexpr std::size_t exchanged = 9;
constexpr std::size_t claimed = 10;
template <class T>
using Cells = std::array<T, names.size()>;

template <class T>
constexpr Cells<T> start = {
    0, 0, 0, 0, std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest(), static_cast<T>(~T{0}), 0, 0, 0, 0};

// Values over the whole range; signed ones small, as C leaves the overflow of signed sums open.
template <class T>
std::vector<T> values_of(std::uint64_t n) {
  const std::vector<std::uint32_t> bits = example::made_up(n);
  std::vector<T> values(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    if constexpr (std::is_signed_v<T>) values[i] = static_cast<T>(bits[i] % 2001) - 1000;
    else values[i] = static_cast<T>(bits[i] * 0x9e3779b97f4a7c15U >> (64 - 8 * sizeof(T)));
  }
  return values;
}

template <class T>
Cells<T> plain(std::span<const T> values) {
  using U = std::make_unsigned_t<T>;
  Cells<T> cells = start<T>;
  const auto add = [](T& cell, T value) { cell = static_cast<T>(static_cast<U>(cell) + static_cast<U>(value)); };
  for (const T value : values) {
    add(cells[0], value);
    add(cells[1], static_cast<T>(U{0} - static_cast<U>(value)));
    add(cells[2], 1);
    add(cells[3], static_cast<T>(~U{0}));
    cells[4] = std::min(cells[4], value);
    cells[5] = std::max(cells[5], value);
    cells[6] &= value;
    cells[7] |= value;
    cells[8] ^= value;
  }
  return cells;
}

template <class T>
bool each_once(std::vector<T> got, T first) {
  std::sort(got.begin(), got.end());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] != static_cast<T>(first + static_cast<T>(i))) return false;
  }
  return true;
}

// Whether a set of cells holds what the work-items with these values leave there, in whatever order they came.
template <class T>
bool right(std::span<const T> values, std::span<const T> cells, std::span<const T> olds) {
  const Cells<T> expected = plain(values);
  if (!std::equal(expected.begin(), expected.begin() + in_any_order, cells.begin())) return false;
  std::vector<T> tickets;
  std::vector<T> chain = {cells[exchanged]};
  for (std::size_t i = 0; i < values.size(); ++i) {
    tickets.push_back(olds[3 * i]);
    chain.push_back(olds[3 * i + 1]);
    // The one that came first found 0; all others found its number, which is still there.
    const bool first = cells[claimed] == static_cast<T>(i + 1);
    if (olds[3 * i + 2] != (first ? T{0} : cells[claimed])) return false;
  }
  const T most = static_cast<T>(values.size());
  const bool one_first = values.empty() ? cells[claimed] == 0 : cells[claimed] >= 1 && cells[claimed] <= most;
  return each_once<T>(tickets, 0) && each_once<T>(chain, 0) && one_first;
}

bool report(const std::string& type, const std::string& space, bool good) {
  std::cout << type << " in " << space << " memory: " << (good ? "right" : "wrong") << '\n';
  return good;
}

template <class T>
void print(const std::string& type, std::span<const T> cells) {
  std::cout << type << ':';
  for (std::size_t i = 0; i < in_any_order; ++i) std::cout << ' ' << names[i] << ' ' << cells[i];
  std::cout << '\n';
}

struct Job {
  masu::Device device;
  std::string_view text;
  Settings settings;
};

// What a launch left: the cells of each set, of `set` work-items each, and the answers of each work-item.
template <class T>
struct Outcome {
  std::uint64_t set = 1;
  std::vector<T> cells;
  std::vector<T> olds;
  [[nodiscard]] std::uint64_t first(std::uint64_t s, std::uint64_t n) const { return std::min(s * set, n); }
};

// Launches the kernel with a work-item for each value. All of them share one set of cells, or each group has its own in
// local memory.
template <class T>
Outcome<T> launch(const Job& job, const masu::Program& program, const std::string& name, bool local,
                  const std::vector<T>& values, std::span<const T> cells_at_first, std::uint64_t answers) {
  masu::Kernel kernel = program.kernel(name);
  const std::uint64_t n = values.size();
  const std::uint64_t items = example::items_for(job.device, kernel, job.settings.items);
  const std::uint64_t groups = std::max<std::uint64_t>(example::pieces(n, items), 1);
  Outcome<T> result;
  result.set = local ? items : groups * items;
  for (std::uint64_t s = 0; s < (local ? groups : 1); ++s) {
    result.cells.insert(result.cells.end(), cells_at_first.begin(), cells_at_first.end());
  }
  masu::Stream stream(job.device);
  const auto input = job.device.upload(values);
  auto cells = job.device.upload(result.cells);
  auto olds = job.device.allocate<T>(answers * n);
  const masu::NDRange range(groups * items, items);
  if (local) kernel(stream, range, input, n, cells, olds, masu::LocalMemory{cells_at_first.size_bytes()});
  else kernel(stream, range, input, n, cells, olds);
  stream.finish();
  result.cells = cells.read();
  result.olds = olds.read();
  return result;
}

// All functions on one integer type, or a line that the device has none for it.
template <class T>
bool integers(const Job& job, const std::string& type) {
  const std::string wide = sizeof(T) == 8 ? " -DLONG_NUMBERS" : "";
  const masu::Program program = masu::Program::from_source(job.device, job.text, "-DNUMBER=" + type + wide);
  const std::vector<std::string> kernels = program.kernel_names();
  if (std::find(kernels.begin(), kernels.end(), "in_global") == kernels.end()) {
    std::cout << type << ": no atomic functions on this device\n";
    return true;
  }
  const std::vector<T> values = values_of<T>(job.settings.n);
  const std::uint64_t n = values.size();
  bool good = true;
  for (const std::string space : {"global", "local"}) {
    const Outcome<T> got = launch<T>(job, program, "in_" + space, space == "local", values, start<T>, 3);
    bool same = true;
    for (std::uint64_t s = 0; s < got.cells.size() / names.size(); ++s) {
      const std::uint64_t first = got.first(s, n);
      const std::uint64_t count = got.first(s + 1, n) - first;
      same = same && right<T>(std::span(values).subspan(first, count),
                              std::span(got.cells).subspan(s * names.size(), names.size()),
                              std::span(got.olds).subspan(3 * first, 3 * count));
    }
    if (space == "global") print<T>(type, got.cells);
    good = report(type, space, same) && good;
  }
  return good;
}

// Exchange and addition of floats. The values are 1 and 0, and the sum is exact: with values that are rounded it would
// depend on the order.
bool floats(const Job& job) {
  const masu::Program program = masu::Program::from_source(job.device, job.text, "-DNUMBER=uint");
  const std::uint64_t n = job.settings.n;
  constexpr std::uint64_t most = 1 << 24;  // up to this, every whole number is a float
  constexpr std::array at_first = {-1.0F, 0.0F};
  std::vector<float> values(n, 0.0F);
  std::fill_n(values.begin(), std::min(n, most), 1.0F);
  bool good = true;
  for (const std::string space : {"global", "local"}) {
    const Outcome<float> got = launch<float>(job, program, "floats_in_" + space, space == "local", values, at_first, 1);
    bool same = true;
    for (std::uint64_t s = 0; s < got.cells.size() / 2; ++s) {
      const auto begin = static_cast<std::ptrdiff_t>(got.first(s, n));
      const auto end = static_cast<std::ptrdiff_t>(got.first(s + 1, n));
      std::vector<float> given(values.begin() + begin, values.begin() + end);
      std::vector<float> found(got.olds.begin() + begin, got.olds.begin() + end);
      const auto ones = static_cast<float>(std::count(given.begin(), given.end(), 1.0F));
      given.push_back(at_first[0]);  // what was there and what came are what was found and what is left
      found.push_back(got.cells[2 * s]);
      std::sort(given.begin(), given.end());
      std::sort(found.begin(), found.end());
      same = same && given == found && got.cells[2 * s + 1] == ones;
    }
    if (space == "global") std::cout << "float: add " << got.cells[1] << '\n';
    good = report("float", space, same) && good;
  }
  return good;
}

int run(const Settings& settings) {
  const masu::Device device = masu::Device::open(settings.device);
  const bool cuda = device.kind() == masu::DeviceKind::cuda;
  const Job job{device, cuda ? atomics_cu : atomics_cl, settings};
  bool good = integers<std::int32_t>(job, "int");
  good = integers<std::uint32_t>(job, "uint") && good;
  good = floats(job) && good;
  if (!cuda) good = integers<std::int64_t>(job, "long") && good;  // CUDA has few functions of signed 64 bits
  good = integers<std::uint64_t>(job, "ulong") && good;
  return example::end("atomics", good, std::to_string(settings.n) + " work-items: ", device);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  return example::main_of(argc, argv, "atomics", settings, run,
                          {{"--n", &settings.n, 0}, {"--items", &settings.items}});
}
