# SPDX-License-Identifier: BSD-3-Clause
# canary.cmake: rules that are removed: of calls, and of the mount if libfuse3 is here.
get_target_property(mount rpm-fs SOURCES)
list(FILTER mount INCLUDE REGEX "/mount/")
list(TRANSFORM mount PREPEND ${PROJECT_SOURCE_DIR}/fs/program/)
pkg_check_modules(LIBRPM_FUSE IMPORTED_TARGET fuse3)
set(programs $<TARGET_FILE:fs_canary_test>)
if(LIBRPM_FUSE_FOUND)
    add_executable(fs_canary_mount canary_mount.cpp ${mount})
    target_link_libraries(fs_canary_mount PRIVATE rpmfs_core_testing PkgConfig::LIBRPM_FUSE rpm_build)
    add_dependencies(rpm_short_tests fs_canary_mount rpm-fs rpm-server)
    list(APPEND programs $<TARGET_FILE:fs_canary_mount> $<TARGET_FILE:rpm-fs> $<TARGET_FILE:rpm-server>)
endif()
rpm_script_test(fs_canaries LABEL canary short COMMAND ${CMAKE_CURRENT_LIST_DIR}/canary_test ${programs})
