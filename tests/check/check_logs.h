// SPDX-License-Identifier: Apache-2.0
// Messages as Oclgrind 21.10 writes them.
#pragma once

namespace masu::cli {

inline constexpr const char* invalid_read = R"(
Invalid read of size 4 at global memory address 0x1000000000010
	Kernel: f
	Entity: Global(5,1,2) Local(1,1,2) Group(2,0,0)
	  %1 = load i32, i32 addrspace(1)* %arrayidx, align 4, !dbg !39
	At line 3 (column 12) of input.cl:
	  uint x = in[i + 4];
	
)";

inline constexpr const char* invalid_write = R"(
Invalid write of size 4 at global memory address 0x1000000000010
	Kernel: f
	Entity: Global(6,0,0) Local(2,0,0) Group(1,0,0)
	  call spir_func i32 @_Z10atomic_incPU3AS1Vj(i32 addrspace(1)* noundef %add.ptr5) #10, !dbg !71
	At line 3 (column 12) of input.cl:
	  uint x = in[i + 4];
	
)";

inline constexpr const char* never_set = R"(
Uninitialized value written to global memory address 0x2000000000000
	Kernel: f
	Entity: Global(5,0,0) Local(1,0,0) Group(2,0,0)
	  store i32 %3, i32 addrspace(1)* %arrayidx1, align 4, !dbg !71
	At line 3 (column 14) of input.cl:
	  out[i / 2] = x;
	
)";

inline constexpr const char* race = R"(
Read-write data race at local memory address 0x1000000000074
	Kernel: f
	
	First entity:  Global(60,0,0) Local(28,0,0) Group(1,0,0)
	  store i32 1, i32 addrspace(3)* %arrayidx, align 4, !dbg !62, !tbaa !63
	At line 4 (column 22) of input.cl:
	  t[get_local_id(0)] = 1;
	
	Second entity: Global(61,0,0) Local(29,0,0) Group(1,0,0)
	  %0 = load i32, i32 addrspace(3)* %arrayidx3, align 4, !dbg !72, !tbaa !63
	At line 6 (column 27) of input.cl:
	  (source not available)
	
)";

inline constexpr const char* race_of_copy = R"(
Read-write data race at local memory address 0x1000000000000
	Kernel: f
	
	First entity:  Group(3,0,0)
	(location unknown)
	
	Second entity: Global(0,0,0) Local(0,0,0) Group(3,0,0)
	  %1 = load i32, i32 addrspace(3)* getelementptr inbounds (i32, i64 0), align 4, !dbg !63
	At line 7 (column 12) of input.cl:
	  out[0] = t[0];
	
)";

inline constexpr const char* few_at_barrier = R"(
Work-group divergence detected (barrier)
	Kernel:     f
	Work-group: (1,2,3)
	Only 5 out of 32 work-items executed barrier
	  call spir_func void @_Z7barrierj(i32 noundef 1) #9, !dbg !67
	At line 8 (column 28) of input.cl:
	  if (get_local_id(0) < 5) barrier(CLK_LOCAL_MEM_FENCE);
	
)";

inline constexpr const char* two_barriers = R"(
Work-group divergence detected (barrier)
	Kernel:     f
	Work-group: (4,0,0)
	
	Work-item:  Global(5,0,0) Local(5,0,0) Group(4,0,0)
	  call spir_func void @_Z7barrierj(i32 noundef 2) #9, !dbg !66
	At line 12 (column 5) of input.cl:
	  barrier(CLK_GLOBAL_MEM_FENCE);
	fence=0x2, num_events=0
	
	Previous work-items executed:
	  call spir_func void @_Z7barrierj(i32 noundef 1) #9, !dbg !65
	At line 10 (column 5) of input.cl:
	  Kernel: a line of the source that looks like another
	fence=0x1, num_events=0
	
)";

inline constexpr const char* fatal = R"(
OCLGRIND FATAL ERROR (./src/core/WorkItem.cpp:271)
Encountered unreachable instruction
	Kernel: f
	Entity: Global(0,0,0) Local(0,0,0) Group(0,0,0)
	  unreachable, !dbg !65
	At line 14 (column 5) of input.cl:
	  *p = 1;
	
)";

inline constexpr const char* no_more = R"(
Oclgrind: 20000 errors generated - suppressing further errors

)";

}  // namespace masu::cli
