// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcuda.so.1, for tests on machines without a GPU: host memory plays the device's, every command runs
// at once, and two kernels are there. It is strict where the driver is: without a current context, with a misaligned
// fill or an event that was never recorded it returns the driver's error.
//
// The environment sets how it is broken: FAKE_CUDA_INIT is what cuInit returns, FAKE_CUDA_DEVICES the number of devices
// (1 unless set). Built with FAKE_CUDA_OLD it lacks a function, as an old driver does. Built with FAKE_CUDA_ANY it has
// every kernel that is asked for; they do nothing, and nobody knows their parameters.
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long long Address;
typedef struct {
  int recorded;
  double seconds;
} Event;
typedef struct Block {
  Address first;
  size_t bytes;
  struct Block* next;
} Block;

enum { ok = 0, invalid_value = 1, out_of_memory = 2, invalid_image = 200, invalid_context = 201 };
enum { invalid_handle = 400, not_found = 500, misaligned = 716 };
enum { already_registered = 712, not_registered = 713, not_supported = 801, capture_unsupported = 900 };
enum { capture_relaxed = 2 };

enum { most_devices = 4, most_pushed = 64 };
static int contexts[most_devices];  // one for each device
static int retained;
static int live;  // allocations, streams, events and registrations
static __thread int depth;
static __thread int* pushed[most_pushed];
static Block* allocated;
static Block* registered;
static Block* host_allocated;
static int allocations;

int fake_cuda_live(void) {
  return live + retained;
}
int fake_cuda_depth(void) {
  return depth;
}

static int number(const char* name, int otherwise) {
  const char* value = getenv(name);
  return value != NULL ? atoi(value) : otherwise;
}

static Block* find(Block* list, Address address) {
  while (list != NULL && (address < list->first || address - list->first >= list->bytes)) list = list->next;
  return list;
}

static void add(Block** list, Address first, size_t bytes) {
  Block* block = malloc(sizeof *block);
  block->first = first;
  block->bytes = bytes;
  block->next = *list;
  *list = block;
  ++live;
}

static int take(Block** list, Address first) {
  for (; *list != NULL; list = &(*list)->next) {
    if ((*list)->first != first) continue;
    Block* block = *list;
    *list = block->next;
    free(block);
    --live;
    return 1;
  }
  return 0;
}

static void* host(Address address) {
  return (void*)(uintptr_t)address;
}

int cuInit(unsigned flags) {
  return flags == 0 ? number("FAKE_CUDA_INIT", ok) : invalid_value;
}

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return ok;
}

int cuGetErrorName(int code, const char** name) {
  *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : code == 999 ? "CUDA_ERROR_UNKNOWN" : NULL;
  return *name != NULL ? ok : invalid_value;
}

int cuGetErrorString(int code, const char** text) {
  *text = code == 100 ? "no CUDA-capable device is detected" : code == 999 ? "unknown error" : NULL;
  return *text != NULL ? ok : invalid_value;
}

int cuDeviceGetCount(int* count) {
  *count = number("FAKE_CUDA_DEVICES", 1);
  return ok;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ok;
}

int cuDeviceGetName(char* name, int size, int device) {
  (void)device;
  strncpy(name, "Fake", (size_t)size);
  return ok;
}

int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = (size_t)1 << 30;
  return ok;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 8: *value = 48 << 10; return ok;
    case 10: *value = 32; return ok;
    case 16: *value = 132; return ok;
    case 20: *value = 0; return ok;
    case 75: *value = 9; return ok;
    case 76: *value = 0; return ok;
    case 81: *value = 228 << 10; return ok;
    case 97: *value = 227 << 10; return ok;
    case 99: *value = 1; return ok;
    case 113: *value = 0; return ok;
#ifdef FAKE_CUDA_ANY
    case 5: *value = 0x7fffffff; return ok;
#endif
    default: *value = attribute <= 7 ? 1024 : 0; return ok;
  }
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  --retained;
  return ok;
}

#ifndef FAKE_CUDA_OLD
int cuDevicePrimaryCtxRetain(void** context, int device) {
  ++retained;
  *context = &contexts[device % most_devices];
  return ok;
}
#endif

int cuCtxPushCurrent_v2(void* context) {
  int* const one = context;
  if (one < contexts || one >= contexts + most_devices || depth == most_pushed) return invalid_context;
  pushed[depth++] = one;
  return ok;
}

int cuCtxPopCurrent_v2(void** context) {
  if (depth == 0) return invalid_context;
  *context = pushed[--depth];
  return ok;
}

int cuCtxGetCurrent(void** context) {
  *context = depth == 0 ? 0 : pushed[depth - 1];
  return ok;
}

#define NEEDS_CONTEXT \
  if (depth == 0) return invalid_context

// While somebody captures a graph in the global mode, what the driver forbids then ends the capture, but in threads
// whose mode is relaxed.
static __thread int capture_mode;
static int captures;
static int ended_captures;
int fake_cuda_begin_capture(void) {
  captures = 1;
  return ok;
}
int fake_cuda_end_capture(void) {  // how often it was ended by others
  const int ended = ended_captures;
  captures = ended_captures = 0;
  return ended;
}
static int unsafe(void) {
  if (!captures || capture_mode == capture_relaxed) return ok;
  ++ended_captures;
  return capture_unsupported;
}
#define UNSAFE_IN_CAPTURES \
  NEEDS_CONTEXT;           \
  if (unsafe() != ok) return capture_unsupported

int cuCtxGetDevice(int* device) {
  NEEDS_CONTEXT;
  *device = (int)(pushed[depth - 1] - contexts);
  return ok;
}

int cuCtxSynchronize(void) {
  NEEDS_CONTEXT;
  ended_captures += captures;  // whatever the thread's mode is
  return ok;
}

int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  NEEDS_CONTEXT;
  *free_bytes = (size_t)1 << 20;
  *total = (size_t)1 << 30;
  return ok;
}

int cuMemAlloc_v2(Address* address, size_t bytes) {
  UNSAFE_IN_CAPTURES;
  if (bytes == 0) return invalid_value;
  if (bytes > (size_t)1 << 30) return out_of_memory;
  ++allocations;
  *address = (uintptr_t)aligned_alloc(512, (bytes + 511) / 512 * 512);
  add(&allocated, *address, bytes);
  return ok;
}

int cuMemFree_v2(Address address) {
  UNSAFE_IN_CAPTURES;
  if (!take(&allocated, address)) return invalid_value;
  free(host(address));
  return ok;
}

int cuMemHostAlloc(void** data, size_t bytes, unsigned flags) {
  UNSAFE_IN_CAPTURES;
  if (bytes == 0 || flags != 1) return invalid_value;
  if (bytes > (size_t)1 << 28) return out_of_memory;
  *data = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  add(&host_allocated, (uintptr_t)*data, bytes);
  return ok;
}

int cuMemFreeHost(void* data) {
  UNSAFE_IN_CAPTURES;
  if (!take(&host_allocated, (uintptr_t)data)) return invalid_value;
  free(data);
  return ok;
}

int cuMemHostRegister_v2(void* data, size_t bytes, unsigned flags) {
  UNSAFE_IN_CAPTURES;
  if (flags != 3) return invalid_value;
  const Address first = (uintptr_t)data;
  if (find(host_allocated, first) != NULL) return already_registered;
  if (find(registered, first) != NULL || find(registered, first + bytes - 1) != NULL) return already_registered;
  add(&registered, first, bytes);
  return ok;
}

int cuMemHostUnregister(void* data) {
  UNSAFE_IN_CAPTURES;
  return take(&registered, (uintptr_t)data) ? ok : not_registered;
}

int cuMemHostGetDevicePointer_v2(Address* address, void* data, unsigned flags) {
  NEEDS_CONTEXT;
  *address = (uintptr_t)data;
  const int reached = find(registered, *address) != NULL || find(host_allocated, *address) != NULL;
  return flags == 0 && reached ? ok : invalid_value;
}

int cuPointerGetAttribute(void* value, int attribute, Address address) {
  NEEDS_CONTEXT;
  const unsigned host_memory = 1;
  const unsigned device_memory = 2;
  const unsigned* type = &device_memory;
  const Block* block = find(allocated, address);
  if (block == NULL) {
    type = &host_memory;
    block = find(host_allocated, address);
  }
  if (block == NULL) block = find(registered, address);
  if (block == NULL) return invalid_value;
  const unsigned managed = 0;
  if (attribute == 2) memcpy(value, type, sizeof *type);
  else if (attribute == 8) memcpy(value, &managed, sizeof managed);
  else if (attribute == 11) memcpy(value, &block->first, sizeof block->first);
  else if (attribute == 12) memcpy(value, &block->bytes, sizeof block->bytes);
  else return invalid_value;
  return ok;
}

int cuMemcpyHtoDAsync_v2(Address target, const void* source, size_t bytes, void* stream) {
  (void)stream;
  NEEDS_CONTEXT;
  memcpy(host(target), source, bytes);
  return ok;
}

int cuMemcpyDtoHAsync_v2(void* target, Address source, size_t bytes, void* stream) {
  (void)stream;
  NEEDS_CONTEXT;
  memcpy(target, host(source), bytes);
  return ok;
}

static int last_device;
static void* last_stream;

static int copies;
int fake_cuda_copies(void) {  // on the device
  return copies;
}
int cuMemcpyDtoDAsync_v2(Address target, Address source, size_t bytes, void* stream) {
  NEEDS_CONTEXT;
  ++copies;
  last_stream = stream;
  last_device = (int)(pushed[depth - 1] - contexts);
  memcpy(host(target), host(source), bytes);
  return ok;
}

static int fills;
int fake_cuda_fills(void) {
  return fills;
}
static int fill(Address target, const void* unit, size_t size, size_t count) {
  NEEDS_CONTEXT;
  ++fills;
  if (target % size != 0) return misaligned;
  for (size_t i = 0; i < count; ++i) memcpy((char*)host(target) + i * size, unit, size);
  return ok;
}

int cuMemsetD8Async(Address target, unsigned char value, size_t count, void* stream) {
  last_stream = stream;
  return fill(target, &value, sizeof value, count);
}

int cuMemsetD16Async(Address target, unsigned short value, size_t count, void* stream) {
  last_stream = stream;
  return fill(target, &value, sizeof value, count);
}

int cuMemsetD32Async(Address target, unsigned value, size_t count, void* stream) {
  last_stream = stream;
  return fill(target, &value, sizeof value, count);
}

int cuStreamCreate(void** stream, unsigned flags) {
  NEEDS_CONTEXT;
  if (flags != 1) return invalid_value;
  *stream = malloc(1);
  ++live;
  return ok;
}

int cuStreamDestroy_v2(void* stream) {
  NEEDS_CONTEXT;
  free(stream);
  --live;
  return ok;
}

static void* synchronized;
void* fake_cuda_synchronized(void) {  // the stream that was waited for last
  return synchronized;
}
static int synchronizations;
int fake_cuda_synchronizations(void) {  // of streams
  return synchronizations;
}
// A stream of the caller's is a number; those from 0x9000 on are captured.
static int is_captured(void* stream) {
  return (uintptr_t)stream >= 0x9000 && (uintptr_t)stream < 0xa000;
}
static int synchronized_captures;
int fake_cuda_synchronized_captures(void) {  // which ends them
  return synchronized_captures;
}
int cuStreamSynchronize(void* stream) {
  UNSAFE_IN_CAPTURES;
  if (is_captured(stream)) {
    ++synchronized_captures;
    return capture_unsupported;
  }
  synchronized = stream;
  ++synchronizations;
  return ok;
}

int cuStreamWaitEvent(void* stream, const Event* event, unsigned flags) {
  (void)stream;
  NEEDS_CONTEXT;
  return event != NULL && flags == 0 ? ok : invalid_handle;
}

int cuStreamGetCtx(void* stream, void** context) {
  (void)stream;
  NEEDS_CONTEXT;
  *context = depth > 0 ? pushed[depth - 1] : &contexts[0];
  return ok;
}

int cuStreamIsCapturing(void* stream, int* status) {
  *status = is_captured(stream);
  return ok;
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  const int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return ok;
}

int cuEventCreate(Event** event, unsigned flags) {
  NEEDS_CONTEXT;
  if (flags != 0) return invalid_value;
  *event = calloc(1, sizeof **event);
  ++live;
  return ok;
}

int cuEventRecord(Event* event, void* stream) {
  (void)stream;
  NEEDS_CONTEXT;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  event->recorded = 1;
  event->seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
  return ok;
}

int cuEventQuery(const Event* event) {
  UNSAFE_IN_CAPTURES;
  return event != NULL ? ok : invalid_handle;
}

static int event_synchronizations;
int fake_cuda_event_synchronizations(void) {
  return event_synchronizations;
}
int cuEventSynchronize(const Event* event) {
  UNSAFE_IN_CAPTURES;
  ++event_synchronizations;
  return event != NULL ? ok : invalid_handle;
}

int cuEventDestroy_v2(Event* event) {
  NEEDS_CONTEXT;
  free(event);
  --live;
  return ok;
}

int cuEventElapsedTime(float* milliseconds, const Event* first, const Event* last) {
  NEEDS_CONTEXT;
  if (first == NULL || last == NULL || !first->recorded || !last->recorded) return invalid_handle;
  *milliseconds = (float)((last->seconds - first->seconds) * 1e3);
  return ok;
}

// Two kernels, whatever the image says: both add their second argument to the elements of the first.
typedef struct {
  const char* symbol;
  size_t sizes[2];
} Function;
static Function functions[] = {{"plain", {sizeof(Address), 4}}, {"_Z3addPjj", {sizeof(Address), 4}}};
static int occupancy_calls;
static int cooperative_launches;
static int launches;
static unsigned last_shared;

int fake_cuda_launches(void) {
  return launches;
}
void* fake_cuda_last_stream(void) {  // of a launch, or a copy or fill on the device
  return last_stream;
}
int fake_cuda_last_device(void) {  // whose context was current at a launch, or a copy on the device
  return last_device;
}
int fake_cuda_allocations(void) {  // so far
  return allocations;
}
int fake_cuda_occupancy_calls(void) {
  return occupancy_calls;
}

int fake_cuda_cooperative_launches(void) {
  return cooperative_launches;
}
int fake_cuda_last_shared(void) {
  return (int)last_shared;
}

int cuModuleLoadDataEx(void** module, const void* image, unsigned count, const int* options, void** values) {
  (void)count, (void)options, (void)values;
  NEEDS_CONTEXT;
  if (strcmp(image, "cubin") == 0) return not_supported;
#ifdef FAKE_CUDA_ANY  // machine code too, which is not run
  const int is_elf = strncmp(image, "\177ELF", 4) == 0;
#else
  const int is_elf = 0;
#endif
  if (!is_elf && strncmp(image, ".version", 8) != 0) return invalid_image;
  *module = malloc(1);
  ++live;
  return ok;
}

int cuModuleUnload(void* module) {
  UNSAFE_IN_CAPTURES;
  free(module);
  --live;
  return ok;
}

int cuModuleGetFunction(Function** function, void* module, const char* symbol) {
  (void)module;
  NEEDS_CONTEXT;
#ifdef FAKE_CUDA_ANY
  *function = calloc(1, sizeof **function);  // as long as the process lives
  (*function)->symbol = strdup(symbol);
  return ok;
#endif
  for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
    if (strcmp(functions[i].symbol, symbol) != 0) continue;
    *function = &functions[i];
    return ok;
  }
  return not_found;
}

int cuFuncGetAttribute(int* value, int attribute, const Function* function) {
  (void)function;
  NEEDS_CONTEXT;
#ifdef FAKE_CUDA_ANY
  const int most_threads = 1024;
#else
  const int most_threads = 256;
#endif
  *value = attribute == 0 ? most_threads : attribute == 8 ? 48 << 10 : 0;
  return ok;
}

int cuFuncSetAttribute(Function* function, int attribute, int value) {
  (void)function;
  NEEDS_CONTEXT;
  return attribute == 8 && value <= 227 << 10 ? ok : invalid_value;
}

#ifndef FAKE_CUDA_ANY
int cuFuncGetParamInfo(const Function* function, size_t index, size_t* offset, size_t* size) {
  NEEDS_CONTEXT;
  if (index >= 2) return invalid_value;
  *offset = index * sizeof(Address);
  *size = function->sizes[index];
  return ok;
}
#endif

int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, const Function* function, const void* callback,
                                     size_t shared, int limit) {
  (void)function, (void)callback, (void)shared, (void)limit;
  NEEDS_CONTEXT;
  ++occupancy_calls;
  *grid = 132;
  *block = 128;
  return ok;
}

int cuLaunchKernel(const Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** arguments, void** extra) {
  (void)function, (void)stream, (void)extra;
  NEEDS_CONTEXT;
  last_shared = shared;
  ++launches;
  last_stream = stream;
  last_device = (int)(pushed[depth - 1] - contexts);
#ifdef FAKE_CUDA_ANY
  return ok;
#endif
  Address address;
  unsigned by;
  memcpy(&address, arguments[0], sizeof address);
  memcpy(&by, arguments[1], sizeof by);
  unsigned* data = host(address);
  const size_t items = (size_t)grid_x * grid_y * grid_z * block_x * block_y * block_z;
  for (size_t i = 0; i < items; ++i) data[i] += by;
  return ok;
}

int cuLaunchCooperativeKernel(const Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, void* stream,
                              void** arguments) {
  ++cooperative_launches;
  return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments, NULL);
}
