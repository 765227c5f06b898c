# SPDX-License-Identifier: Apache-2.0
# masu_fmt: fmt as masu uses it. What is compiled of it stands in src/runtime/fmt.cpp, hidden in masu's libraries and in a
# namespace of its own, so that there is no library to link and a program may use any fmt beside it.
add_library(masu_fmt INTERFACE)
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  get_target_property(masu_fmt_include fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(masu_fmt SYSTEM INTERFACE ${masu_fmt_include})
  target_compile_definitions(masu_fmt INTERFACE "FMT_BEGIN_NAMESPACE=namespace fmt { inline namespace masu_v9 {"
                                                "FMT_END_NAMESPACE=}}")
else()
  target_link_libraries(masu_fmt INTERFACE fmt::fmt-header-only)  # the parts of other versions are others
endif()
add_library(masu_fmt_objects OBJECT ${PROJECT_SOURCE_DIR}/src/runtime/fmt.cpp)
set_target_properties(masu_fmt_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(masu_fmt_objects PRIVATE masu_build masu_fmt)
