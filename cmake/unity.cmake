# SPDX-License-Identifier: Apache-2.0
# masu_unity(TARGET)   compiles the files of one folder together, about MASU_UNITY_BYTES at a time, so that headers are read
# once for all of them. No two files of a folder may then give one name to two things.
set(MASU_UNITY_BYTES 60000 CACHE STRING "How many bytes of a folder's sources are compiled together")

# A local name may be that of something in another file, and a class of a source looks like one of a header that has members
# of an anonymous namespace. Linked last, since the last option counts.
add_library(masu_together INTERFACE)
target_compile_options(masu_together INTERFACE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)

function(masu_unity target)
  if(NOT MASU_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
    cmake_path(GET source PARENT_PATH room)
    set(marks "")
    if(EXISTS ${source})
      file(STRINGS ${source} marks REGEX "foreach_target|<nlohmann/json\\.hpp>")
    endif()
    if(NOT EXISTS ${source} OR marks MATCHES "foreach_target")  # Highway has such a file include itself
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    file(SIZE ${source} bytes)
    string(MAKE_C_IDENTIFIER "${room}" room)
    if(marks)
      set(room "${target}_json")  # compiles for seconds wherever it is used
    elseif(source MATCHES "_plan\\.cpp$")
      set(room "${target}_plans")  # short, and each in a namespace of its own
    endif()
    math(EXPR part "0${bytes_${room}} / ${MASU_UNITY_BYTES}")
    math(EXPR bytes_${room} "0${bytes_${room}} + ${bytes}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room}_${part})
  endforeach()
  cmake_language(EVAL CODE "cmake_language(DEFER CALL target_link_libraries ${target} PRIVATE masu_together)")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_BATCH_SIZE 0)
endfunction()
