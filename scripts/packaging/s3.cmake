# SPDX-License-Identifier: BSD-3-Clause
# s3.cmake: librpm-s3, a component of its own because it brings libcurl.
if(NOT LIBRPM_S3)
    return()
endif()
configure_file(librpm-s3.pc.in librpm-s3.pc @ONLY)
install(TARGETS rpm_s3 EXPORT librpm-targets COMPONENT librpm-s3)
if(LIBRPM_STATIC)
    install(TARGETS rpm_s3_static EXPORT librpm-targets COMPONENT librpm-s3)
endif()
install(FILES ${made}/librpm-s3.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
