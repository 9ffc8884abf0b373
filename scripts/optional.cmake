# SPDX-License-Identifier: BSD-3-Clause
# Optional libraries: used if they are installed, and found by the next build if they are installed later.
find_package(PkgConfig REQUIRED)

# rpm_optional_library(NAME MODULE...): NAME_FOUND and PkgConfig::NAME, as pkg_check_modules() has them.
# While one of them is missing, the build depends on each folder that pkg-config searches: installing a
# package changes the folder, and the next build configures itself again first.
function(rpm_optional_library name)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${ARGN})
    set(${name}_FOUND "${${name}_FOUND}" PARENT_SCOPE)
    if(${name}_FOUND)
        return()
    endif()
    execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --variable pc_path pkg-config
        OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(REPLACE ":" ";" folders "$ENV{PKG_CONFIG_PATH}:${folders}")
    foreach(folder IN LISTS folders)
        if(IS_DIRECTORY "${folder}")
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}")
        endif()
    endforeach()
endfunction()

# rpm_peer_stores(SQLITE LMDB): the sources of a program that runs on embedded stores, for comparison. Sets
# peer_sources, peer_libraries and peer_definitions, of the stores that are installed.
function(rpm_peer_stores sqlite lmdb)
    foreach(peer "SQLITE ${sqlite} sqlite3" "LMDB ${lmdb} lmdb")
        string(REPLACE " " ";" peer "${peer}")
        list(POP_FRONT peer name source library)
        rpm_optional_library(LIBRPM_PEER_${name} ${library})
        if(LIBRPM_PEERS AND LIBRPM_PEER_${name}_FOUND)
            list(APPEND sources ${source})
            list(APPEND libraries PkgConfig::LIBRPM_PEER_${name})
            list(APPEND definitions HAVE_${name})
        endif()
    endforeach()
    set(peer_sources ${sources} PARENT_SCOPE)
    set(peer_libraries ${libraries} PARENT_SCOPE)
    set(peer_definitions ${definitions} PARENT_SCOPE)
endfunction()
