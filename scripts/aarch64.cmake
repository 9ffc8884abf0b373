# SPDX-License-Identifier: BSD-3-Clause
# aarch64.cmake: the toolchain of the preset aarch64. scripts/cross prepares it: Debian's cross compiler, and
# in build/aarch64-root the libraries and an emulator that runs the programs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(root ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root)
set(CMAKE_SYSROOT ${root}/sysroot)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
# A CPU with DC CVAP and DC CVADP. Emulating its pointer authentication would take half of the time.
set(CMAKE_CROSSCOMPILING_EMULATOR ${root}/qemu-aarch64 -cpu max,pauth-impdef=on -L ${CMAKE_SYSROOT})
