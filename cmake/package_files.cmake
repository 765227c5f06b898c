# SPDX-License-Identifier: Apache-2.0
# Run by CPack when the files of a package lie in its folder: adds what Debian wants in each. CPACK_MASU_NOTICES is a file with
# the licences of what is compiled in, and masu's own first, which Debian has as a file. The date is SOURCE_DATE_EPOCH's.
file(READ ${CMAKE_CURRENT_LIST_DIR}/../LICENSE license)
file(READ ${CPACK_MASU_NOTICES} notices)
string(REPLACE "${license}" "/usr/share/common-licenses/Apache-2.0\n" notices "${notices}")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(changes "masu (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n  * Version ${CPACK_PACKAGE_VERSION}; CHANGELOG.md of the sources says what is new.\n\n")
string(APPEND changes " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} key)
  set(folder ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share)
  set(documents ${folder}/doc/${CPACK_DEBIAN_${key}_PACKAGE_NAME})
  file(WRITE ${documents}/copyright "${notices}")
  file(WRITE ${documents}/changelog "${changes}")
  file(GLOB manuals ${folder}/man/man1/*.1)
  execute_process(COMMAND gzip -9nf ${manuals} ${documents}/changelog COMMAND_ERROR_IS_FATAL ANY)
endforeach()
