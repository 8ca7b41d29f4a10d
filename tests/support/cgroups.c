/* Stands in for the kernel's control groups: where the real ones must be left alone, a manager of services gets
   an empty folder that says it is a cgroup2, and whose new folders hold the files the kernel would give them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define ROOT "/sys/fs/cgroup"
#define CGROUP2 0x63677270

static const char *const FILES[] = {"cgroup.procs", "cgroup.threads", "cgroup.events", "cgroup.controllers",
                                    "cgroup.subtree_control", "cgroup.type"};

static int is_ours(const char *path) { return !strncmp(path, ROOT, sizeof ROOT - 1); }

int statfs64(const char *path, struct statfs64 *out) {
    int (*real)(const char *, struct statfs64 *) = dlsym(RTLD_NEXT, "statfs64");
    int done = real(path, out);
    if (!done && is_ours(path)) out->f_type = CGROUP2;
    return done;
}

int mkdir(const char *path, mode_t mode) {
    int (*real)(const char *, mode_t) = dlsym(RTLD_NEXT, "mkdir");
    int done = real(path, mode);
    if (!done && is_ours(path))
        for (unsigned i = 0; i < sizeof FILES / sizeof *FILES; i++) {
            char file[4096];
            snprintf(file, sizeof file, "%s/%s", path, FILES[i]);
            int at = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
            if (at >= 0) {
                if (i == 2 && write(at, "populated 0\nfrozen 0\n", 21) < 0) { }
                close(at);
            }
        }
    return done;
}

int rmdir(const char *path) {
    int (*real)(const char *) = dlsym(RTLD_NEXT, "rmdir");
    if (is_ours(path))
        for (unsigned i = 0; i < sizeof FILES / sizeof *FILES; i++) {
            char file[4096];
            snprintf(file, sizeof file, "%s/%s", path, FILES[i]);
            unlink(file);
        }
    return real(path);
}
