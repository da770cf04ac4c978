/* Writes down what a process does to files below DISK_ROOT, in the order it happens, at the end of DISK_LOG: one record
   per call, with the bytes. What was written and when it was synced can then be told apart, as a disk without power does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct head { char op; uint8_t pad[3]; uint32_t path; uint64_t offset, length, process; };

static int logfd = -1;
static char root[PATH_MAX];
static size_t root_length;

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
    const char *log = getenv("DISK_LOG"), *top = getenv("DISK_ROOT");
    if (!log || !top || !realpath(top, root)) return;
    root_length = strlen(root);
    logfd = open(log, O_WRONLY | O_APPEND | O_CLOEXEC);
}

/* The path below the root, or nothing. */
static const char *below(const char *path, char *buffer) {
    if (logfd < 0) return NULL;
    if (path[0] != '/') {
        if (!getcwd(buffer, PATH_MAX)) return NULL;
        size_t length = strlen(buffer);
        snprintf(buffer + length, PATH_MAX - length, "/%s", path[0] == '.' && path[1] == '/' ? path + 2 : path);
    } else snprintf(buffer, PATH_MAX, "%s", path);
    if (strncmp(buffer, root, root_length) || buffer[root_length] != '/') return NULL;
    return buffer + root_length + 1;
}

static const char *path_of(int fd, char *buffer) {
    char link[64], target[PATH_MAX];
    if (logfd < 0 || fd == logfd) return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, target, PATH_MAX - 1);
    if (length <= 0) return NULL;
    target[length] = 0;
    return below(target, buffer);
}

static void note(char op, const char *path, uint64_t offset, const void *data, uint64_t length) {
    int kept = errno;
    struct head head = {op, {0}, strlen(path), offset, length, getpid()};
    struct iovec parts[3] = {{&head, sizeof head}, {(void *)path, head.path}, {(void *)data, data ? length : 0}};
    static ssize_t (*append)(int, const struct iovec *, int);
    if (!append) append = dlsym(RTLD_NEXT, "writev");
    append(logfd, parts, 3);
    errno = kept;
}

ssize_t write(int fd, const void *data, size_t count) {
    REAL(write);
    char buffer[PATH_MAX];
    const char *path = fd > 2 ? path_of(fd, buffer) : NULL;
    off_t at = path ? lseek(fd, 0, SEEK_CUR) : 0;
    if (path && fcntl(fd, F_GETFL) & O_APPEND) at = lseek(fd, 0, SEEK_END);
    ssize_t done = real(fd, data, count);
    if (path && done > 0 && at >= 0) note('W', path, at, data, done);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t count, off_t at) {
    REAL(pwrite);
    char buffer[PATH_MAX];
    ssize_t done = real(fd, data, count, at);
    const char *path = done > 0 ? path_of(fd, buffer) : NULL;
    if (path) note('W', path, at, data, done);
    return done;
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
    REAL(pwritev);
    char buffer[PATH_MAX];
    ssize_t done = real(fd, parts, count, at), left = done;
    const char *path = done > 0 ? path_of(fd, buffer) : NULL;
    for (int n = 0; path && n < count && left > 0; n++) {
        ssize_t length = (ssize_t)parts[n].iov_len < left ? (ssize_t)parts[n].iov_len : left;
        note('W', path, at, parts[n].iov_base, length);
        at += length;
        left -= length;
    }
    return done;
}

/* Only what was written before a sync began is sure to be on the disk when it ends. */
static int synced(int fd, int (*sync)(int)) {
    char buffer[PATH_MAX];
    const char *path = path_of(fd, buffer);
    if (path) note('S', path, 0, NULL, 0);
    int failed = sync(fd);
    if (path && !failed) note('F', path, 0, NULL, 0);
    return failed;
}

int fsync(int fd) { REAL(fsync); return synced(fd, real); }
int fdatasync(int fd) { REAL(fdatasync); return synced(fd, real); }

int ftruncate(int fd, off_t length) {
    REAL(ftruncate);
    char buffer[PATH_MAX];
    int failed = real(fd, length);
    const char *path = failed ? NULL : path_of(fd, buffer);
    if (path) note('T', path, length, NULL, 0);
    return failed;
}

int posix_fallocate(int fd, off_t at, off_t length) {
    REAL(posix_fallocate);
    char buffer[PATH_MAX];
    int failed = real(fd, at, length);
    const char *path = failed ? NULL : path_of(fd, buffer);
    if (path) note('E', path, at + length, NULL, 0);
    return failed;
}

int open(const char *name, int flags, ...) {
    REAL(open);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    char buffer[PATH_MAX];
    const char *path = flags & (O_CREAT | O_TRUNC) ? below(name, buffer) : NULL;
    int there = path ? !access(name, F_OK) : 1;
    int fd = real(name, flags, mode);
    if (path && fd >= 0) {
        if (!there) note('C', path, 0, NULL, 0);
        else if (flags & O_TRUNC) note('T', path, 0, NULL, 0);
    }
    return fd;
}

int rename(const char *from, const char *to) {
    REAL(rename);
    char one[PATH_MAX], other[PATH_MAX];
    const char *old = below(from, one), *new = below(to, other);
    int failed = real(from, to);
    if (!failed && old && new) note('R', old, 0, new, strlen(new));
    return failed;
}

int unlink(const char *name) {
    REAL(unlink);
    char buffer[PATH_MAX];
    const char *path = below(name, buffer);
    int failed = real(name);
    if (!failed && path) note('U', path, 0, NULL, 0);
    return failed;
}
