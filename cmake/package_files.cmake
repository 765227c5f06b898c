# SPDX-License-Identifier: Apache-2.0
# Run by CPack when the files of a package lie in its folder: adds what Debian wants in each. CPACK_MASU_NOTICES is a file with
# the licences of what is compiled in.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} key)
  set(folder ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share)
  file(READ ${CPACK_MASU_NOTICES} notices)
  file(WRITE ${folder}/doc/${CPACK_DEBIAN_${key}_PACKAGE_NAME}/copyright "${notices}")
  file(GLOB manuals ${folder}/man/man1/*.1)
  if(manuals)
    execute_process(COMMAND gzip -9nf ${manuals} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
