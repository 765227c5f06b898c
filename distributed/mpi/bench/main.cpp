// SPDX-License-Identifier: Apache-2.0
// What masu/mpi.h takes on several ranks, against one process with all the data: `mpirun -n 2 masu-mpi-bench`. Each
// rank works on the GPU of its number, with --device cpu on its share of the CPU (mpirun --bind-to none). Rank 0 prints
// a table, and JSON where --json names a file; both name the versions of the driver, of NCCL and of MPI.
#include <masu/masu.h>
#include <masu/mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace masu;

enum class Kind : std::uint32_t { uniform, zipf, sorted };
constexpr std::array<const char*, 3> kind_names = {"uniform", "zipf", "sorted"};

// Element i of all data; the same on the host and in the kernel.
#define MASU_BENCH_ELEMENT                                                                              \
  unsigned long long h = (i + 1) * 0x9e3779b97f4a7c15ull;                                               \
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;                                                          \
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;                                                          \
  h ^= h >> 31;                                                                                         \
  const double u = (double)(h >> 11) * 0x1p-53;                                                         \
  const double part = kind == 0 ? u : kind == 1 ? exp2(20.0 * u) * 0x1p-20 : (double)i / (double)count; \
  const double floored = kind == 1 ? floor(part * 0x1p20) : part;

#define MASU_BENCH_TEXT_OF(...) #__VA_ARGS__
#define MASU_BENCH_TEXT(...) MASU_BENCH_TEXT_OF(__VA_ARGS__)

constexpr const char* fill_kernel =
    "extern \"C\" __global__ void fill(unsigned char* data, unsigned long long first, unsigned long long many,\n"
    "    unsigned long long count, unsigned kind, unsigned type) {\n"
    "  for (unsigned long long k = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; k < many;\n"
    "       k += gridDim.x * (unsigned long long)blockDim.x) {\n"
    "    const unsigned long long i = first + k;\n" MASU_BENCH_TEXT(MASU_BENCH_ELEMENT)
    "\n"
    "    if (type == 0) ((unsigned*)data)[k] = kind == 1 ? (unsigned)floored : (unsigned)(floored * 4294967295.0);\n"
    "    else if (type == 1) ((float*)data)[k] = (float)floored;\n"
    "    else ((unsigned long long*)data)[k] = kind == 1 ? (unsigned long long)floored\n"
    "        : (unsigned long long)(floored * 9007199254740991.0) << 11;\n"
    "  }\n"
    "}\n";

template <class T>
T element(std::uint64_t i, std::uint64_t count, unsigned kind) {
  MASU_BENCH_ELEMENT
  if constexpr (std::is_same_v<T, float>) return static_cast<float>(floored);
  else if constexpr (sizeof(T) == 4) return static_cast<T>(kind == 1 ? floored : floored * 4294967295.0);
  else return kind == 1 ? static_cast<T>(floored) : static_cast<T>(floored * 9007199254740991.0) << 11;
}

template <class T>
constexpr unsigned type_number = std::is_same_v<T, float> ? 1
                                 : sizeof(T) == 4         ? 0
                                                          : 2;

template <class T>
void fill(Buffer<T>& data, std::uint64_t first, std::uint64_t count, Kind kind) {
  if (data.device().kind() == DeviceKind::cpu) {
    T* const to = static_cast<T*>(data.native()) + data.byte_offset() / sizeof(T);
    for (std::uint64_t k = 0; k < data.size(); ++k) to[k] = element<T>(first + k, count, static_cast<unsigned>(kind));
    return;
  }
  Stream stream(data.device());
  static Kernel kernel = Program::from_source(data.device(), fill_kernel).kernel("fill");
  kernel(stream, {std::size_t{132 * 16 * 256}, 256}, data, first, data.size(), count, static_cast<std::uint32_t>(kind),
         type_number<T>);
  stream.finish();
}

int rank() {
  int number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  return number;
}

// The least time of some runs, in seconds: from a moment at which all ranks are there to that at which all are done.
template <class Prepare, class F>
double together(int runs, const Prepare& prepare, const F& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs + 1; ++run) {
    prepare();
    MPI_Barrier(MPI_COMM_WORLD);
    const auto start = std::chrono::steady_clock::now();
    work();
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (run != 0) least = std::min(least, seconds);
  }
  return least;
}
template <class F>
double together(int runs, const F& work) {
  return together(
      runs, [] {}, work);
}
// The same on rank 0 alone, with the cores of all ranks: the others sleep.
template <class Prepare, class F>
double alone(int runs, const Prepare& prepare, const F& work) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const unsigned threads = cpu_threads();
  set_cpu_threads(threads * static_cast<unsigned>(ranks));
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; rank() == 0 && run < runs + 1; ++run) {
    prepare();
    const auto start = std::chrono::steady_clock::now();
    work();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (run != 0) least = std::min(least, seconds);
  }
  set_cpu_threads(threads);
  MPI_Request done = MPI_REQUEST_NULL;
  MPI_Ibcast(&least, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, &done);
  int flag = 0;
  for (MPI_Test(&done, &flag, MPI_STATUS_IGNORE); flag == 0; MPI_Test(&done, &flag, MPI_STATUS_IGNORE)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return least;
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string version(text, static_cast<std::size_t>(length));
  version.resize(std::min(version.find_first_of(",\n"), version.size()));
  std::replace(version.begin(), version.end(), '\t', ' ');
  return version;
}
// None where there is no library.
std::string nccl_version() {
  const char* const named = std::getenv("MASU_NCCL");
  int (*get)(int*) = nullptr;
  int version = 0;
  mpi::detail::RuntimeLibrary(named != nullptr ? named : "libnccl.so.2").find(get, "ncclGetVersion");
  if (get == nullptr || get(&version) != 0) return "none";
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

struct Row {
  std::string name;
  double one;              // one process with all the data, or what the bound is made of
  double several;          // all ranks
  double bound;            // what `several` must not exceed
  std::string text;        // more
  mpi::SortReport sort{};  // of rank 0, of sorts
};

class Bench {
 public:
  Bench(const Device& device, unsigned log2, int runs)
      : device_(device), all_(std::uint64_t{1} << log2), runs_(runs), cpu_(device.kind() == DeviceKind::cpu) {
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    if (cpu_) set_cpu_threads(std::max(1U, std::thread::hardware_concurrency() / static_cast<unsigned>(ranks_)));
    mine_ = all_ / static_cast<std::uint64_t>(ranks_);
    first_ = mine_ * static_cast<std::uint64_t>(rank());
  }

  void functions() {
    Buffer<float> part(device_, mine_);
    fill(part, first_, all_, Kind::uniform);
    Buffer<float> whole(device_, rank() == 0 ? all_ : 0);
    if (rank() == 0) fill(whole, 0, all_, Kind::uniform);
    const Bins bins = Bins::even(100, 0, 1);
    const std::vector<double> q{0.25, 0.5, 0.999};
    // One process with all the data, and all ranks; of GPUs also each rank's own part, to see which of them is slower.
    const auto add = [&](const char* name, double extra, const auto& one, const auto& several) {
      const double a = alone(
          runs_, [] {}, [&] { one(whole); });
      const double b = together(runs_, several);
      if (cpu_) return add_row(name, a, b, a / 0.95);
      char text[100];
      std::snprintf(text, sizeof text, "own part %.3f", 1e3 * together(runs_, [&] { one(part); }));
      add_row(name, a, b, a / ranks_ + extra, text);
    };
    using Data = Buffer<float>;
    add(
        "histogram", 60e-6, [&](const Data& data) { (void)masu::histogram(data, bins); },
        [&] { (void)mpi::histogram(MPI_COMM_WORLD, part, bins); });
    add(
        "sum", 60e-6, [](const Data& data) { (void)masu::sum(data); }, [&] { (void)mpi::sum(MPI_COMM_WORLD, part); });
    add(
        "topk 100", 60e-6, [](const Data& data) { (void)masu::topk(data, 100); },
        [&] { (void)mpi::topk(MPI_COMM_WORLD, part, 100); });
    add(
        "quantile", 250e-6, [&](const Data& data) { (void)masu::quantiles(data, q); },
        [&] { (void)mpi::quantiles(MPI_COMM_WORLD, part, q); });
    // Beside the counting: this rank's part, alone.
    const double own = together(runs_, [&] { (void)masu::histogram(part, bins); });
    const double collective = together(runs_, [&] { (void)mpi::histogram(MPI_COMM_WORLD, part, bins); });
    add_row("histogram, overhead", own, collective, own + 50e-6);
    Buffer<float> few(device_, 1000);
    fill(few, 0, 1000, Kind::uniform);
    const double little = together(10 * runs_, [&] { (void)masu::histogram(few, bins); });
    const double with_ranks = together(10 * runs_, [&] { (void)mpi::histogram(MPI_COMM_WORLD, few, bins); });
    add_row("histogram of 1000, overhead", little, with_ranks, little + 50e-6);
    const double first = together(10 * runs_, [&] { (void)masu::topk(few, 100); });
    const double first_of_all = together(10 * runs_, [&] { (void)mpi::topk(MPI_COMM_WORLD, few, 100); });
    add_row("topk of 1000, overhead", first, first_of_all, first + 50e-6);
  }

  // NCCL alone, from GPU to GPU.
  void transfers() {
    if (cpu_ || ranks_ != 2) return;
    Buffer<std::byte> memory(device_, std::uint64_t{2} << 30);
    for (const unsigned log2 : {10U, 20U, 24U, 26U, 28U, 30U}) {
      for (const std::uint64_t messages : {1U, 2U}) {
        const double seconds = exchange(memory, std::uint64_t{1} << log2, messages);
        if (seconds == 0) return;
        char text[100];
        std::snprintf(text, sizeof text, "%.1f GB/s each way", std::exp2(log2) * 1e-9 / seconds);
        add_row("NCCL 2^" + std::to_string(log2) + " bytes in " + std::to_string(messages), seconds, seconds, seconds,
                text);
      }
    }
  }

  template <class K>
  void sort(const char* name, Kind kind, bool with_values) {
    Buffer<K> keys(device_, mine_);
    Buffer<std::uint32_t> values(device_, with_values ? mine_ : 0);
    const auto fill_part = [&] {
      fill(keys, first_, all_, kind);
      if (with_values) fill(values, first_, all_, Kind::sorted);
    };
    const auto sort_here = [&] {
      if (with_values) masu::sort_by_key(keys, values);
      else masu::sort(keys);
    };
    fill_part();
    const std::uint64_t before = bits_added(keys);
    mpi::SortReport report;
    const double several = together(runs_, fill_part, [&] {
      report = with_values ? mpi::sort_by_key(MPI_COMM_WORLD, keys, values) : mpi::sort(MPI_COMM_WORLD, keys);
    });
    verify(keys, before);
    const std::string label = std::string("sort ") + name + ' ' + kind_names[static_cast<std::size_t>(kind)];
    char text[200];
    std::snprintf(text, sizeof text, "own %.3f, exchange %.3f, merge %.3f; %s", 1e3 * report.sort,
                  1e3 * report.exchange, 1e3 * report.merge,
                  cpu_                  ? "MPI"
                  : report.note.empty() ? "NCCL"
                                        : report.note.c_str());
    if (cpu_) {
      Buffer<K> whole(device_, rank() == 0 ? all_ : 0);
      Buffer<std::uint32_t> moved(device_, rank() == 0 && with_values ? all_ : 0);
      const double one = alone(
          runs_,
          [&] {
            fill(whole, 0, all_, kind);
            if (with_values) fill(moved, 0, all_, Kind::sorted);
          },
          [&] {
            if (with_values) masu::sort_by_key(whole, moved);
            else masu::sort(whole);
          });
      return add_row(label, one, several, one / 0.7, text, report);
    }
    // What the bound is made of: the sort of this rank's part, NCCL's exchange of what crosses, a copy of the share.
    const double own = together(runs_, fill_part, sort_here);
    const std::uint64_t sent = report.sent_bytes;
    Buffer<std::byte> there(device_, mine_ * (sizeof(K) + (with_values ? sizeof(std::uint32_t) : 0)));
    double crossing = 0;
    if (ranks_ == 2 && report.note.empty()) crossing = exchange(there, sent);
    Stream stream(device_);
    const double copy = together(runs_, [&] {
      Buffer<K> to(there.device(), there.memory(), 0, mine_ * sizeof(K));
      stream.copy(to, keys);
      if (with_values) {
        Buffer<std::uint32_t> rest(there.device(), there.memory(), mine_ * sizeof(K), mine_ * sizeof(std::uint32_t));
        stream.copy(rest, values);
      }
      stream.finish();
    });
    char parts[400];
    std::snprintf(parts, sizeof parts, "%s; bound of sort %.3f, all-to-all %.3f, copy %.3f", text, 1e3 * own,
                  1e3 * crossing, 1e3 * copy);
    add_row(label, own + crossing + copy, several, 1.15 * (own + crossing + copy), parts, report);
  }

  void print(const std::string& json) const {
    if (rank() != 0) return;
    const DeviceInfo& info = device_.info();
    const std::string mpi = mpi_version();
    const std::string nccl = cpu_ ? "none" : nccl_version();
    std::printf("%d ranks, %s, driver %s, NCCL %s, %s, masu %s, 2^%d elements in all, times in ms\n", ranks_,
                info.name.c_str(), info.driver.c_str(), nccl.c_str(), mpi.c_str(), std::string(version()).c_str(),
                static_cast<int>(std::log2(static_cast<double>(all_))));
    std::printf("%-28s %10s %10s %10s  %s\n", "", cpu_ ? "one" : "one/bound", "ranks", "must", "");
    for (const Row& row : rows_) {
      std::printf("%-28s %10.3f %10.3f %10.3f  %s %s\n", row.name.c_str(), 1e3 * row.one, 1e3 * row.several,
                  1e3 * row.bound, row.several <= row.bound ? "met" : "NOT", row.text.c_str());
    }
    if (json.empty()) return;
    std::ofstream out(json);
    out << "[\n";
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      out << "  {\"name\": \"" << row.name << "\", \"device\": \"" << info.name << "\", \"driver\": \"" << info.driver
          << "\", \"nccl\": \"" << nccl << "\", \"mpi\": \"" << mpi << "\", \"ranks\": " << ranks_
          << ", \"elements\": " << all_ << ", \"one_seconds\": " << row.one << ", \"ranks_seconds\": " << row.several
          << ", \"must_seconds\": " << row.bound << ", \"own_seconds\": " << row.sort.sort
          << ", \"exchange_seconds\": " << row.sort.exchange << ", \"merge_seconds\": " << row.sort.merge
          << ", \"sent_bytes\": " << row.sort.sent_bytes << "}" << (i + 1 < rows_.size() ? "," : "") << "\n";
    }
    out << "]\n";
  }

 private:
  void add_row(std::string name, double one, double several, double bound, std::string text = {},
               const mpi::SortReport& sort = {}) {
    rows_.push_back({std::move(name), one, several, bound, std::move(text), sort});
  }

  // Bytes to the other rank and as many from it, in messages of as many; 0 where NCCL does not do it.
  double exchange(Buffer<std::byte>& memory, std::uint64_t bytes, std::uint64_t messages = 1) {
    mpi::detail::Call call(MPI_COMM_WORLD, [] { return mpi::detail::Text("bench"); });
    std::string why;
    mpi::detail::GpuLink* const link = mpi::detail::GpuLinks::of(call, device_, why);
    const std::uint64_t each = std::min(bytes, memory.size() / 2) / messages;
    if (link == nullptr || each == 0) return 0;
    return together(runs_, [&] {
      mpi::detail::GpuExchange exchange(*link);
      exchange.start([&](const auto& send, const auto& receive) {
        for (std::uint64_t m = 0; m < messages; ++m) {
          send(memory, m * each, each, 1 - rank());
          receive(memory, memory.size() / 2 + m * each, each, 1 - rank());
        }
      });
      exchange.finish();
    });
  }

  // The bits of all elements as unsigned integers, added modulo 2^64.
  template <class K>
  static std::uint64_t bits_added(const Buffer<K>& keys) {
    constexpr Dtype bits = sizeof(K) == 4 ? Dtype::u32 : Dtype::u64;
    return masu::sum(static_cast<const BufferBase&>(keys), bits, {.wrap = true}).unsigned_integer();
  }

  // The keys of each rank are sorted, ranks are in order, and all bits together are those before.
  template <class K>
  void verify(const Buffer<K>& keys, std::uint64_t before) {
    const bool sorted = masu::is_sorted(keys);
    std::vector<K> ends(2);
    keys.read(std::span(ends).first(1), 0);
    keys.read(std::span(ends).last(1), keys.size() - 1);
    std::vector<K> all(2 * static_cast<std::size_t>(ranks_));
    MPI_Allgather(ends.data(), static_cast<int>(2 * sizeof(K)), MPI_BYTE, all.data(), static_cast<int>(2 * sizeof(K)),
                  MPI_BYTE, MPI_COMM_WORLD);
    std::array<std::uint64_t, 2> sums{before, bits_added(keys)};
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (!sorted || sums[0] != sums[1] || !std::ranges::is_sorted(all)) {
      std::printf("rank %d: WRONG: sorted %d, bits that were %llx are %llx\n", rank(), sorted,
                  static_cast<unsigned long long>(sums[0]), static_cast<unsigned long long>(sums[1]));
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }

  Device device_;
  std::uint64_t all_;
  int runs_;
  bool cpu_;
  int ranks_ = 1;
  std::uint64_t mine_ = 0;
  std::uint64_t first_ = 0;
  std::vector<Row> rows_;
};

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  std::string kind = "cuda";
  std::string json;
  unsigned log2 = 31;
  int runs = 3;
  bool sorts = true;
  bool functions = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--device") kind = value;
    else if (name == "--log2") log2 = static_cast<unsigned>(std::atoi(value));
    else if (name == "--runs") runs = std::atoi(value);
    else if (name == "--json") json = value;
    else if (name == "--only") functions = (sorts = std::string_view(value) == "sort") ? false : true;
    else {
      std::fprintf(
          stderr,
          "usage: masu-mpi-bench [--device cuda|cpu] [--log2 N] [--runs N] [--only sort|functions] [--json FILE]\n");
      MPI_Finalize();
      return 2;
    }
    ++i;
  }
  try {
    const Device device = Device::open(kind == "cpu" ? "cpu" : kind + ":" + std::to_string(rank()));
    Bench bench(device, log2, runs);
    if (functions) bench.transfers();
    if (functions) bench.functions();
    for (const Kind data : {Kind::uniform, Kind::zipf, Kind::sorted}) {
      if (!sorts) break;
      bench.sort<std::uint32_t>("u32", data, false);
      bench.sort<float>("f32", data, false);
      bench.sort<std::uint64_t>("u64", data, false);
      bench.sort<std::uint32_t>("u32+u32", data, true);
    }
    bench.print(json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank(), error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
