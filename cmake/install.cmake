# find_package(topwolf CONFIG) gives topwolf::topwolf; only include/topwolf is installed.
set(_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/topwolf)

install(TARGETS topwolf EXPORT topwolfTargets)
install(TARGETS topwolf_cli RUNTIME)
install(DIRECTORY include/topwolf DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_BINARY_DIR}/generated/topwolf/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/topwolf)
install(EXPORT topwolfTargets NAMESPACE topwolf:: DESTINATION ${_package_dir})

configure_package_config_file(cmake/topwolfConfig.cmake.in topwolfConfig.cmake INSTALL_DESTINATION ${_package_dir})
write_basic_package_version_file(topwolfConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/topwolfConfig.cmake ${PROJECT_BINARY_DIR}/topwolfConfigVersion.cmake
        DESTINATION ${_package_dir})
