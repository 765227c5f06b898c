// SPDX-License-Identifier: Apache-2.0
// A stand-in for libnvrtc.so: it compiles each kernel of a source to a line with its name. For fake_cuda.c built with
// FAKE_CUDA_ANY.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char* source;
  char* ptx;
} Program;

int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return 0;
}
int nvrtcGetSupportedArchs(int* architectures) {
  *architectures = 80;  // older than the device: what is compiled is PTX
  return 0;
}
const char* nvrtcGetErrorString(int code) {
  return code == 0 ? "success" : "error";
}
int nvrtcCreateProgram(Program** program, const char* source, const char* name, int headers, const char* const* texts,
                       const char* const* names) {
  (void)name, (void)headers, (void)texts, (void)names;
  *program = calloc(1, sizeof **program);
  (*program)->source = strdup(source);
  return 0;
}
int nvrtcDestroyProgram(Program** program) {
  free((*program)->source);
  free((*program)->ptx);
  free(*program);
  return 0;
}
// "__kernel ... void name(" of a line that is no define.
int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  (void)count, (void)options;
  const char* head = ".version 8.0\n";
  char* ptx = malloc(2 * strlen(program->source) + 1000);
  char* end = ptx + sprintf(ptx, "%s", head);
  for (const char* at = strstr(program->source, "\n__kernel "); at != NULL; at = strstr(at + 1, "\n__kernel ")) {
    const char* name = strstr(at, " void ");
    if (name == NULL) break;
    name += 6;
    end += sprintf(end, ".visible .entry %.*s(\n)\n", (int)strcspn(name, "("), name);
  }
  program->ptx = ptx;
  return 0;
}
int nvrtcGetPTXSize(const Program* program, size_t* size) {
  *size = strlen(program->ptx) + 1;
  return 0;
}
int nvrtcGetPTX(const Program* program, char* ptx) {
  strcpy(ptx, program->ptx);
  return 0;
}
int nvrtcGetCUBINSize(const Program* program, size_t* size) {
  (void)program;
  *size = 0;
  return 0;
}
int nvrtcGetCUBIN(const Program* program, char* cubin) {
  (void)program, (void)cubin;
  return 0;
}
int nvrtcGetProgramLogSize(const Program* program, size_t* size) {
  (void)program;
  *size = 1;
  return 0;
}
int nvrtcGetProgramLog(const Program* program, char* log) {
  (void)program;
  *log = '\0';
  return 0;
}
