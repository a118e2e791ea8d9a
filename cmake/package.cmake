# `cpack --config build/release/CPackConfig.cmake` makes a Debian package of the program, its man page and completions,
# and of the library with headers and CMake's configuration.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES third_party/NOTICES DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "the topwolf authors")
set(CPACK_PACKAGE_CONTACT "the topwolf authors <topwolf@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What a program that is linked with the library needs besides.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "libfmt-dev, zlib1g-dev, libbz2-dev, liblzma-dev, libzstd-dev, libzip-dev, pkg-config")
include(CPack)
