# SPDX-License-Identifier: BSD-3-Clause
# targets.cmake: the fuzz targets.
set(all media message pool preset service sock steps stream_answer text)
if(TARGET rpm_tool)
    list(APPEND all server_config)
endif()
if(TARGET rpmfs_core)
    list(APPEND all fs_rows fs_volume_file)
endif()
foreach(name IN LISTS all ITEMS shm_accept stream_session)
    add_executable(fuzz_${name} ${name}_fuzz.cpp)
    target_link_libraries(fuzz_${name} PRIVATE fuzz_run rpm_testing $<TARGET_NAME_IF_EXISTS:rpm_tool>)
    add_dependencies(rpm_quick_tests fuzz_${name})
    rpm_script_test(fuzz_${name} LABEL fuzz quick COMMAND fuzz_${name} ${replay}
        ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
endforeach()
# With the sources of what they test, so that these are built for libFuzzer as well.
if(TARGET rpmfs_core)
    set(fs ${PROJECT_SOURCE_DIR}/fs)
    target_sources(fuzz_fs_rows PRIVATE ${fs}/core/format/keys.cc ${fs}/core/format/pointer.cc
        ${fs}/core/format/rows.cc ${fs}/core/format/sizes.cc ${fs}/core/format/xattr_stream.cc)
    target_sources(fuzz_fs_volume_file PRIVATE ${fs}/program/volume_file.cc)
    foreach(name fs_rows fs_volume_file)
        target_include_directories(fuzz_${name} PRIVATE ${fs} ${PROJECT_SOURCE_DIR}/dtx/include
            ${LIBRPM_XXHASH_INCLUDE})
        set_target_properties(fuzz_${name} PROPERTIES CXX_STANDARD 20)
        target_link_libraries(fuzz_${name} PRIVATE xxhash)
    endforeach()
endif()
