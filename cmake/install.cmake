# What `make install PREFIX=...` puts in place: headers, both libraries, the binary, the pkg-config
# file, the CMake package, man pages and shell completion. The last two are printed by the binary
# itself, from the table its option parser uses.
include(CMakePackageConfigHelpers)

set(man_dir ${CMAKE_BINARY_DIR}/man)
set(completion_dir ${CMAKE_BINARY_DIR}/completion)
add_custom_command(
    OUTPUT ${man_dir}/stamp ${completion_dir}/dsql
    COMMAND ${CMAKE_COMMAND} -E make_directory ${man_dir} ${completion_dir}
    COMMAND dsql_binary help --man-pages=${man_dir}
    COMMAND dsql_binary completion bash > ${completion_dir}/dsql
    COMMAND ${CMAKE_COMMAND} -E touch ${man_dir}/stamp
    DEPENDS dsql_binary
    VERBATIM)
# The public headers as man pages, made from their comments.
file(GLOB public_headers CONFIGURE_DEPENDS include/dsql/*.h)
add_custom_command(
    OUTPUT ${man_dir}/man3/stamp
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/manual.py ${man_dir}/man3 ${public_headers}
    COMMAND ${CMAKE_COMMAND} -E touch ${man_dir}/man3/stamp
    DEPENDS ${public_headers} cmake/manual.py
    VERBATIM)
add_custom_target(dsql_manual ALL DEPENDS ${man_dir}/stamp ${man_dir}/man3/stamp ${completion_dir}/dsql)

# The .pc file finds its prefix from its own place, so that a tree may be installed or moved anywhere.
set(pc_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_to_prefix "${pc_dir}" "${CMAKE_INSTALL_PREFIX}")
file(RELATIVE_PATH pc_to_include "${pc_dir}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file(cmake/libdsql.pc.in ${CMAKE_BINARY_DIR}/libdsql.pc @ONLY)
configure_package_config_file(cmake/dsql-config.cmake.in ${CMAKE_BINARY_DIR}/dsql-config.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dsql)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/dsql-config-version.cmake
    COMPATIBILITY SameMinorVersion)

install(TARGETS dsql_binary RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS dsql_shared dsql_static EXPORT dsql-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT dsql-targets NAMESPACE dsql:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dsql)
install(FILES ${CMAKE_BINARY_DIR}/dsql-config.cmake ${CMAKE_BINARY_DIR}/dsql-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dsql)
install(FILES ${CMAKE_BINARY_DIR}/libdsql.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY include/dsql ${generated}/dsql DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${man_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1"
    PATTERN man3 EXCLUDE)
install(DIRECTORY ${man_dir}/man3/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 FILES_MATCHING PATTERN "*.3")
install(FILES ${completion_dir}/dsql DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
# Last: what the loader needs to know.
install(CODE "set(loader_libdir \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}\")")
install(SCRIPT cmake/loader.cmake)
