/* Loaded before the C library (LD_PRELOAD): one call of a kind fails, as it would on a machine in trouble.
 *   FAIL_CALL   allocation, open, read, write, fsync or rename
 *   FAIL_AT     which one, from 1; 0: none, they are only counted
 *   FAIL_ON     given: every one after it fails too
 *   FAIL_STALL  given: it does not fail but never returns, so that a test can do something meanwhile
 *   FAIL_COUNT  a file for the number of calls there were
 * Counted from the beginning of main() to its end, and only where the caller is the program, the C++ library, fmt or a
 * codec. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int active;
static atomic_long calls;
static long at;
static int on, stall;
static const char* kind = "";

struct range {
  unsigned long begin, end;
};
static struct range excused[64];
static int excused_count;

static int note_library(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  static const char* const names[] = {"ld-linux"};
  for (unsigned k = 0; k < sizeof names / sizeof *names; ++k) {
    if (strstr(info->dlpi_name, names[k]) == NULL) continue;
    for (int p = 0; p < info->dlpi_phnum && excused_count < 64; ++p) {
      if (info->dlpi_phdr[p].p_type != PT_LOAD) continue;
      const unsigned long begin = info->dlpi_addr + info->dlpi_phdr[p].p_vaddr;
      excused[excused_count++] = (struct range){begin, begin + info->dlpi_phdr[p].p_memsz};
    }
    return 0;
  }
  return 0;
}

/* Whether this call, made from `caller`, is one that fails. */
static int fails(const char* what, const void* caller) {
  if (!active || strcmp(what, kind) != 0) return 0;
  for (int k = 0; k < excused_count; ++k) {
    if ((unsigned long)caller >= excused[k].begin && (unsigned long)caller < excused[k].end) return 0;
  }
  const long number = ++calls;
  const int chosen = at > 0 && (number == at || (on && number > at));
  while (chosen && stall) pause();
  return chosen;
}

#define FAILS(what) fails(what, __builtin_return_address(0))
#define REAL(name)                                         \
  static __typeof__(&name) real;                           \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* dlsym() itself may ask for memory, so allocation goes through the C library's other names. */
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static void* out_of_memory(void) {
  errno = ENOMEM;
  return NULL;
}

void* malloc(size_t size) {
  return FAILS("allocation") ? out_of_memory() : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  return FAILS("allocation") ? out_of_memory() : __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  return FAILS("allocation") ? out_of_memory() : __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  return FAILS("allocation") ? out_of_memory() : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return FAILS("allocation") ? out_of_memory() : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* memory = FAILS("allocation") ? NULL : __libc_memalign(alignment, size);
  if (memory == NULL) return ENOMEM;
  *out = memory;
  return 0;
}

static int with_errno(int error) {
  errno = error;
  return -1;
}

static int mode_of(int flags, va_list* rest) {
  return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(*rest, int) : 0;
}
#define OPENS(name)                                                 \
  int name(const char* path, int flags, ...) {                      \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    const int mode = mode_of(flags, &rest);                         \
    va_end(rest);                                                   \
    REAL(name);                                                     \
    return FAILS("open") ? with_errno(EMFILE) : real(path, flags, mode); \
  }
OPENS(open)
OPENS(open64)

FILE* fopen(const char* path, const char* how) {
  REAL(fopen);
  return FAILS("open") ? (with_errno(EMFILE), NULL) : real(path, how);
}
FILE* fopen64(const char* path, const char* how) {
  REAL(fopen64);
  return FAILS("open") ? (with_errno(EMFILE), NULL) : real(path, how);
}

ssize_t read(int file, void* to, size_t count) {
  REAL(read);
  return FAILS("read") ? with_errno(EIO) : real(file, to, count);
}
ssize_t pread(int file, void* to, size_t count, off_t offset) {
  REAL(pread);
  return FAILS("read") ? with_errno(EIO) : real(file, to, count, offset);
}
ssize_t pread64(int file, void* to, size_t count, off64_t offset) {
  REAL(pread64);
  return FAILS("read") ? with_errno(EIO) : real(file, to, count, offset);
}
ssize_t write(int file, const void* from, size_t count) {
  REAL(write);
  return FAILS("write") ? with_errno(ENOSPC) : real(file, from, count);
}
int fsync(int file) {
  REAL(fsync);
  return FAILS("fsync") ? with_errno(EIO) : real(file);
}
int rename(const char* from, const char* to) {
  REAL(rename);
  return FAILS("rename") ? with_errno(EIO) : real(from, to);
}
/* Results on standard output: the C library's own calls of write() cannot be seen from outside. */
size_t fwrite(const void* from, size_t size, size_t count, FILE* stream) {
  REAL(fwrite);
  return stream == stdout && FAILS("write") ? (with_errno(ENOSPC), 0) : real(from, size, count, stream);
}
int fflush(FILE* stream) {
  REAL(fflush);
  return stream == stdout && FAILS("write") ? with_errno(ENOSPC) : real(stream);
}

static int (*real_main)(int, char**, char**);

static void finish(void) {
  active = 0;
  const char* path = getenv("FAIL_COUNT");
  if (path == NULL) return;
  char text[32];
  const int size = snprintf(text, sizeof text, "%ld", (long)calls);
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0 || write(file, text, (size_t)size) != size) abort();
  close(file);
}

static int watched_main(int argc, char** argv, char** environment) {
  kind = getenv("FAIL_CALL") != NULL ? getenv("FAIL_CALL") : "";
  at = getenv("FAIL_AT") != NULL ? atol(getenv("FAIL_AT")) : 0;
  on = getenv("FAIL_ON") != NULL;
  stall = getenv("FAIL_STALL") != NULL;
  dl_iterate_phdr(note_library, NULL);
  active = 1;
  const int code = real_main(argc, argv, environment);
  finish();
  return code;
}

int __libc_start_main(int (*program)(int, char**, char**), int argc, char** argv, int (*init)(int, char**, char**),
                      void (*fini)(void), void (*unload)(void), void* stack) {
  REAL(__libc_start_main);
  real_main = program;
  return real(watched_main, argc, argv, init, fini, unload, stack);
}
