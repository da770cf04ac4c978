/* Calls that a process makes on files below FAIL_ROOT, and the processes it begins, counted; the n-th of a kind fails.
   `fail_arm` says which, `fail_calls` how many there were. Without it everything works as ever. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITES = 1, OPENS = 2, READS = 4, PROCESSES = 8 };
enum { REFUSED = 0, NOT_RUN = 1, KILLED = 2 };

static char root[PATH_MAX];
static size_t root_length;
static int kinds, code, fate, doomed;
static long position, calls;

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
    const char *top = getenv("FAIL_ROOT");
    if (top && realpath(top, root)) root_length = strlen(root);
}

void fail_arm(int which, int error, int how, long at) { kinds = which; code = error; fate = how; position = at; calls = 0; }
long fail_calls(void) { return calls; }

static int is_hit(int kind) {
    if (!(kinds & kind)) return 0;
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) != position) return 0;
    errno = code;
    return 1;
}

static int is_below(const char *path) {
    char buffer[PATH_MAX];
    if (!kinds || !root_length || !path) return 0;
    if (path[0] != '/') return 0;
    snprintf(buffer, PATH_MAX, "%s", path);
    return !strncmp(buffer, root, root_length);
}

static int is_ours(int fd) {
    char link[64], target[PATH_MAX];
    if (!kinds || fd < 3) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, target, PATH_MAX - 1);
    if (length <= 0) return 0;
    target[length] = 0;
    return is_below(target);
}

/* A name relative to an open folder is below the root if that is. */
static int is_at(int folder, const char *path) { return path && path[0] == '/' ? is_below(path) : folder != AT_FDCWD && is_ours(folder); }

static int opens(int flags) { return is_hit(flags & (O_CREAT | O_WRONLY | O_RDWR) ? WRITES | OPENS : OPENS); }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return is_below(path) && opens(flags) ? -1 : real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        return is_at(folder, path) && opens(flags) ? -1 : real(folder, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *data, size_t count) {
    REAL(write);
    return is_ours(fd) && is_hit(WRITES) ? -1 : real(fd, data, count);
}
ssize_t pwrite64(int fd, const void *data, size_t count, off64_t at) {
    REAL(pwrite64);
    return is_ours(fd) && is_hit(WRITES) ? -1 : real(fd, data, count, at);
}
ssize_t read(int fd, void *data, size_t count) {
    REAL(read);
    return is_ours(fd) && is_hit(READS) ? -1 : real(fd, data, count);
}
int fsync(int fd) { REAL(fsync); return is_ours(fd) && is_hit(WRITES) ? -1 : real(fd); }
int fdatasync(int fd) { REAL(fdatasync); return is_ours(fd) && is_hit(WRITES) ? -1 : real(fd); }
int ftruncate64(int fd, off64_t length) { REAL(ftruncate64); return is_ours(fd) && is_hit(WRITES) ? -1 : real(fd, length); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); return is_below(path) && is_hit(WRITES | OPENS) ? -1 : real(path, mode); }
int chmod(const char *path, mode_t mode) { REAL(chmod); return is_below(path) && is_hit(OPENS) ? -1 : real(path, mode); }
int rmdir(const char *path) { REAL(rmdir); return is_below(path) && is_hit(OPENS) ? -1 : real(path); }
int unlink(const char *path) { REAL(unlink); return is_below(path) && is_hit(OPENS) ? -1 : real(path); }
int unlinkat(int folder, const char *path, int flags) {
    REAL(unlinkat);
    return is_at(folder, path) && is_hit(OPENS) ? -1 : real(folder, path, flags);
}
int rename(const char *from, const char *to) {
    REAL(rename);
    return is_below(to) && is_hit(WRITES | OPENS) ? -1 : real(from, to);
}
DIR *opendir(const char *path) { REAL(opendir); return is_below(path) && is_hit(OPENS) ? NULL : real(path); }
DIR *fdopendir(int fd) { REAL(fdopendir); return is_ours(fd) && is_hit(OPENS) ? NULL : real(fd); }

/* A process does not begin, can't become its program, or is killed before it does anything. */
pid_t fork(void) {
    REAL(fork);
    int hit = is_hit(PROCESSES);
    if (hit && fate == REFUSED) return -1;
    pid_t child = real();
    if (child == 0) {
        kinds = 0;
        doomed = hit;
        if (doomed && fate == KILLED) _exit(137);
    }
    return child;
}
pid_t vfork(void) { return fork(); }
int execve(const char *path, char *const *arguments, char *const *environment) {
    REAL(execve);
    if (doomed) { errno = code; return -1; }
    return real(path, arguments, environment);
}
